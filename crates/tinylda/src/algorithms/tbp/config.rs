//! What `tbp` is configured with.

use super::counts::RowStorage;
use super::cpu::deltas::DeltaStorage;
use super::messages::MAX_DOCUMENT_TOPICS;
use super::seed_words::SeedWord;
use crate::settings::Active;

/// The limit as a number.
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
    /// Where the deltas of a step may be.
    pub(crate) deltas: DeltaStorage,
    /// Whether nothing is kept of documents between two visits.
    pub(crate) stateless: bool,
    /// Words that belong to a topic, in the order of the words.
    pub(crate) seeds: Vec<SeedWord>,
}
