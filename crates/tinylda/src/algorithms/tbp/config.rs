//! Configuration of `tbp`.

use super::counts::RowStorage;
use super::cpu::deltas::DeltaStorage;
use super::messages::MAX_DOCUMENT_TOPICS;
use super::seed_words::SeedWord;
use crate::algorithms::Setup;
use crate::settings::{Active, Exclude};

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
#[allow(clippy::struct_excessive_bools, reason = "independent properties of a training")]
#[derive(Debug, Clone)]
pub(crate) struct TbpConfig {
    /// Whether a message is subtracted from phi and theta before it is updated.
    pub(crate) exclude: bool,
    /// Limit on the topics of a document.
    pub(crate) active: Active,
    /// Number of tokens of the corpus, and of the base counts.
    pub(crate) tokens: u64,
    /// Whether documents have no messages until their first visit. Otherwise messages were given.
    pub(crate) growing: bool,
    /// Where the rows of phi may be stored.
    pub(crate) storage: RowStorage,
    /// Where the deltas of a step may be stored.
    pub(crate) deltas: DeltaStorage,
    /// Whether no state of documents is kept between two visits.
    pub(crate) stateless: bool,
    /// Whether phi starts with base counts, so that there are topics before the first pass.
    pub(crate) base: bool,
    /// Seed words, in the order of the words.
    pub(crate) seeds: Vec<SeedWord>,
}

impl TbpConfig {
    /// Returns the configuration for the settings and the storage of a training.
    pub(super) fn new(setup: &Setup) -> TbpConfig {
        let Setup { settings, storage, .. } = setup;
        let stateless = settings.is_stateless();
        // Two copies of phi are needed if no document state is kept.
        let copies = if stateless { 2 } else { 1 };
        TbpConfig {
            exclude: settings.excluded() == Exclude::Own,
            active: settings.active_topics(),
            tokens: setup.shape.tokens.saturating_add(setup.base_tokens.unwrap_or(0)),
            growing: !setup.given_start,
            base: setup.base_tokens.is_some(),
            storage: RowStorage {
                memory: storage.phi.map_or(u64::MAX, |bytes| bytes / copies),
                folder: storage.folder.clone().filter(|_| storage.phi.is_some()),
            },
            deltas: DeltaStorage { memory: storage.deltas, folder: storage.folder.clone() },
            stateless,
            seeds: setup.seeds.clone(),
        }
    }
}
