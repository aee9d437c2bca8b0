//! What `tbp` is configured with.

use super::counts::RowStorage;
use super::messages::MAX_DOCUMENT_TOPICS;
use super::seed_words::SeedWord;

/// Limit on the number of topics that a document may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Active {
    /// As many as it needs.
    #[default]
    Auto,
    /// As many as it can have: messages are quantized as finely as they are stored, from the first pass on.
    All,
    /// At most this many.
    AtMost(u32),
}

impl std::fmt::Display for Active {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Active::Auto => f.write_str("auto"),
            Active::All => f.write_str("all"),
            Active::AtMost(n) => write!(f, "{n}"),
        }
    }
}

impl Active {
    /// The most topics of a document, of K.
    pub(crate) fn most(self, topics: u32) -> usize {
        let most = match self {
            Active::Auto | Active::All => MAX_DOCUMENT_TOPICS,
            Active::AtMost(n) => (n as usize).clamp(1, MAX_DOCUMENT_TOPICS),
        };
        most.min(topics as usize)
    }
}

/// Configuration of `tbp`.
#[derive(Debug, Clone)]
pub(crate) struct TbpConfig {
    /// Whether a message is taken out of phi and theta before it is updated.
    pub(crate) exclude: bool,
    pub(crate) active: Active,
    /// Tokens of the corpus.
    pub(crate) tokens: u64,
    /// Whether documents have no messages until they are first visited; otherwise they were given.
    pub(crate) growing: bool,
    /// Where the rows of phi may be.
    pub(crate) storage: RowStorage,
    /// Whether nothing is kept of documents between two visits.
    pub(crate) stateless: bool,
    /// Words that belong to a topic, in the order of the words.
    pub(crate) seeds: Vec<SeedWord>,
}
