//! How a corpus was made: what its words went through, and where its texts are.

use serde::{Deserialize, Serialize};

use super::ingest::words::Pipeline;

/// A file or folder that texts came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path, as it was given. A document of a folder is the file of the document's name in it.
    pub path: String,
    /// The format it was read in, by its name on the command line.
    pub format: String,
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
