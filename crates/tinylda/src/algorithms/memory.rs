//! Memory that an algorithm needs, as input for the plan of a training.
//!
//! Each family of algorithms has the formulas for its data structures in its own module
//! (`tbp/memory.rs`, `dense/memory.rs`); `train::plan` adds them up. Start reading at
//! [`AlgorithmMemory`].

use super::piece::StateKind;
use super::tbp::counts::topic_sample_count;
use crate::corpus::{PieceSizes, Shape};
use crate::settings::Active;
use crate::topics::heavy_words;

/// Input that the memory of an algorithm depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryInput<'a> {
    pub(crate) shape: Shape,
    pub(crate) sizes: &'a PieceSizes,
    pub(crate) words: &'a WordStatistics,
    pub(crate) topics: u32,
    pub(crate) threads: u64,
    /// State kept per document between visits.
    pub(crate) state: StateKind,
    /// Maximum number of active topics per document.
    pub(crate) active: Active,
    /// Number of W x K matrices besides those that the algorithm always has.
    pub(crate) more_matrices: u64,
    /// Number of pieces between two updates of the topics.
    pub(crate) step: u64,
    /// Whether there is a folder for data that does not fit in memory.
    pub(crate) disk: bool,
}

/// Memory needs of an algorithm, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AlgorithmMemory {
    /// Data per word, apart from the rows of phi.
    pub(crate) words: u64,
    /// Data per word that is only needed before the first pass.
    pub(crate) at_start: u64,
    /// phi and other matrices.
    pub(crate) phi: u64,
    /// Part of `phi` that cannot be in a file.
    pub(crate) min_phi: u64,
    /// Buffers of the threads and of the documents being updated.
    pub(crate) scratch: u64,
    /// Deltas of a step. Those that do not fit are written to a file.
    pub(crate) deltas: FlexibleSize,
    /// Maximum state of the documents of a piece.
    pub(crate) piece_state: u64,
    /// Estimated state of all documents.
    pub(crate) state: u64,
    /// Additional memory of a model in memory, besides `phi`.
    pub(crate) model: u64,
    /// Whether `scratch` and `deltas` are freed before the model is written.
    pub(crate) freed_at_end: bool,
    /// Whether pieces can be kept in files.
    pub(crate) state_on_disk: bool,
}

/// Bytes of a data structure that works with more or less memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FlexibleSize {
    /// Smallest useful size.
    pub(crate) min: u64,
    /// Typical size.
    pub(crate) typical: u64,
    /// Size in the worst case.
    pub(crate) max: u64,
}

/// Numbers of words by class of token count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordStatistics {
    /// Number of words with fewer than 2 tokens, with 2 or 3, with 4 to 7, and so on. The last
    /// class is unbounded.
    pub(crate) classes: [u64; 24],
    /// Number of topic samples of all words, for algorithms that use them.
    pub(crate) samples: u64,
    /// Number of heavy words, whose rows are summed in f64.
    pub(crate) heavy: u64,
}

impl WordStatistics {
    /// Counts words, given the number of tokens of each.
    pub(crate) fn new(word_tokens: &[u64]) -> WordStatistics {
        let mut classes = [0; 24];
        for &n in word_tokens {
            classes[(n.max(1).ilog2() as usize).min(23)] += 1;
        }
        WordStatistics {
            classes,
            samples: word_tokens.iter().map(|&n| topic_sample_count(n)).sum(),
            heavy: heavy_words(word_tokens).count() as u64,
        }
    }

    /// Returns the sum over words of `bytes((min, max))`, where `min` and `max` bound the number of
    /// tokens of the word.
    pub(crate) fn sum(&self, bytes: impl Fn((u64, u64)) -> u64) -> u64 {
        let of_class = |(class, &words): (usize, &u64)| {
            let tokens = if class == 0 { (0, 1) } else { (1 << class, (2 << class) - 1) };
            words.saturating_mul(bytes(tokens))
        };
        self.classes.iter().enumerate().map(of_class).fold(0, u64::saturating_add)
    }
}

/// Returns the saturating sum of parts.
pub(crate) fn saturating_sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
}
