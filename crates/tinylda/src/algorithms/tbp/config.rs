//! Configuration of `tbp`.

use super::counts::RowStorage;
use super::cpu::deltas::DeltaStorage;
use super::messages::MAX_DOCUMENT_TOPICS;
use super::seed_words::SeedWord;
use crate::settings::Active;

/// Conversion of the setting to a number.
impl Active {
    /// Returns the largest number of topics of a document, given K.
    pub(crate) fn max_topics(self, topics: u32) -> usize {
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
    /// Whether a message is subtracted from phi and theta before it is updated.
    pub(crate) exclude: bool,
    /// Limit on the topics of a document.
    pub(crate) active: Active,
    /// Number of tokens of the corpus.
    pub(crate) tokens: u64,
    /// Whether documents have no messages until their first visit. Otherwise messages were given.
    pub(crate) growing: bool,
    /// Where the rows of phi may be stored.
    pub(crate) storage: RowStorage,
    /// Where the deltas of a step may be stored.
    pub(crate) deltas: DeltaStorage,
    /// Whether no state of documents is kept between two visits.
    pub(crate) stateless: bool,
    /// Seed words, in the order of the words.
    pub(crate) seeds: Vec<SeedWord>,
}
