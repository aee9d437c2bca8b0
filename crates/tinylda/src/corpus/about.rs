//! Metadata on how a corpus was made: the text processing and the files of its texts.

use serde::{Deserialize, Serialize};

use super::ingest::words::Pipeline;

/// A file or folder that texts came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Path as the user gave it. In a folder, a document is the file with the document's name.
    pub path: String,
    /// Name of the [format](super::ingest::Format::name).
    pub format: String,
    /// For JSON lines, the fields with the text, unless it is `text`. For a table with several
    /// columns of text, the numbers of these columns, counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// Delimiter of a table with several columns of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Whether quotes are ordinary characters in a table with several columns of text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_quotes: bool,
    /// Name of the encoding, unless it is UTF-8. Positions of texts refer to the text in UTF-8. For
    /// folders and archives, only an encoding that the user gave is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Whether lines end with carriage returns alone, which were replaced by line feeds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub carriage_returns: bool,
    /// Name of the file that was read, if the path is a zip archive with a single file of records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
}

/// Metadata on how a corpus was made. Unknown keys are ignored, so that later versions can add
/// some.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Text processing that produced the words; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
    /// Files and folders that the places of documents refer to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Names of the label columns. It is set by the writer, and empty for a corpus without labels
    /// or with a single label column that has no name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label_columns: Vec<String>,
}
