//! What algorithms state about their memory. The training's plan adds it up; each family has the formulas of its own
//! structures beside them (`tbp/memory.rs`, `dense/memory.rs`).

use super::piece::StateKind;
use crate::corpus::{PieceSizes, Shape};
use crate::settings::Active;

/// What the memory of an algorithm depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryInput<'a> {
    pub(crate) shape: Shape,
    pub(crate) sizes: &'a PieceSizes,
    pub(crate) words: &'a WordStatistics,
    pub(crate) topics: u32,
    pub(crate) threads: u64,
    /// What is kept of documents between two visits.
    pub(crate) state: StateKind,
    /// The most topics of a document.
    pub(crate) active: Active,
    /// Matrices of W x K besides those that the algorithm always has.
    pub(crate) more_matrices: u64,
    /// Number of pieces between two updates of the topics.
    pub(crate) step: u64,
    /// Whether there is a folder for what does not fit in memory.
    pub(crate) disk: bool,
}

/// What an algorithm needs, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AlgorithmMemory {
    /// What it holds for every word, apart from the rows of phi.
    pub(crate) words: u64,
    /// What it needs for every word only before the first pass.
    pub(crate) at_start: u64,
    /// phi and other matrices.
    pub(crate) phi: u64,
    /// The part of `phi` that cannot be in a file.
    pub(crate) least_phi: u64,
    /// Buffers of the threads and of documents at work.
    pub(crate) scratch: u64,
    /// Deltas of a step: the least that is useful, what is usual and the worst case. Those that do not fit go to a file.
    pub(crate) deltas: Flexible,
    /// The state of the documents of the largest piece, at most.
    pub(crate) piece_state: u64,
    /// The state of all documents, about.
    pub(crate) state: u64,
    /// What a model in memory takes besides `phi`.
    pub(crate) model: u64,
    /// Whether `scratch` and `deltas` are freed before the model is written.
    pub(crate) freed_at_end: bool,
    /// Whether pieces that leave the memory can be in files.
    pub(crate) state_on_disk: bool,
}

/// Bytes of something that works with more or less memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flexible {
    pub(crate) least: u64,
    pub(crate) usual: u64,
    pub(crate) most: u64,
}

/// How many words have less than two tokens, two or three, four to seven, and so on; the last class has no end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordStatistics {
    pub(crate) classes: [u64; 24],
    /// Topic samples of all words, where an algorithm has them.
    pub(crate) samples: u64,
    /// Heavy words, whose rows are summed in f64.
    pub(crate) heavy: u64,
}

impl WordStatistics {
    /// Counts words; `samples` is the number of topic samples of a word with so many tokens.
    pub(crate) fn new(word_tokens: &[u64], samples: impl Fn(u64) -> u64, heavy: u64) -> WordStatistics {
        let mut classes = [0; 24];
        for &n in word_tokens {
            classes[(n.max(1).ilog2() as usize).min(23)] += 1;
        }
        WordStatistics { classes, samples: word_tokens.iter().map(|&n| samples(n)).sum(), heavy }
    }

    /// The sum over words of bytes that depend on the number of tokens, which is at least and at most so many.
    pub(crate) fn sum(&self, bytes: impl Fn((u64, u64)) -> u64) -> u64 {
        let of_class = |(class, &words): (usize, &u64)| {
            let tokens = if class == 0 { (0, 1) } else { (1 << class, (2 << class) - 1) };
            words.saturating_mul(bytes(tokens))
        };
        self.classes.iter().enumerate().map(of_class).fold(0, u64::saturating_add)
    }
}

/// The sum of parts, which does not wrap.
pub(crate) fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
}
