//! How a corpus was made: what its words went through, and where its texts are.

use serde::{Deserialize, Serialize};

use super::ingest::words::Pipeline;

/// A file or folder that texts came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The path, as it was given. A document of a folder is the file of the document's name in it.
    pub path: String,
    /// The name of the [format](super::ingest::Format::name).
    pub format: String,
    /// The fields of JSON lines that hold the text, where it is not `text`; or the numbers, from 1, of
    /// the columns of a table that do, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// The delimiter of a table with several columns of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Whether quotes have no meaning in a table with several columns of text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_quotes: bool,
}

/// How a corpus was made. Keys that are not known are passed over, so later versions may say more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// From text to words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
    /// What the places of documents refer to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}
