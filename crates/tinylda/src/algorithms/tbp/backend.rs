//! The interface between the update rule of `tbp` and what executes it.
//!
//! [`Tbp`](super::Tbp) decides what is computed: the schedule, lambda, the smoothing, seed words. A
//! [`Backend`] holds phi and executes the steps: it updates the documents of pieces against phi as
//! it was at the start of the step, collects deltas, and then applies them. All sums are sums of
//! integers, so neither the order nor the place of execution affects the result.

use super::super::Fault;
use super::super::piece::Chunk;
use super::base::BaseCounts;
use super::seed_words::SeedWord;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::Lanes;

/// What to do with the documents of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Update the messages of the documents, or create them if there are none.
    Update,
    /// Add given messages to phi and lambda.
    Load,
    /// Compute the log-likelihood of the documents and change nothing.
    Measure,
}

/// Parameters shared by all documents of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepParams<'a> {
    pub(crate) operation: Operation,
    /// 1 / (lambda + W*beta), per topic.
    pub(crate) inverse: &'a [Lanes],
    /// alpha / (lambda + W*beta), per topic.
    pub(crate) factors: &'a [Lanes],
    /// alpha per topic, in tokens.
    pub(crate) alpha: &'a [Lanes],
    /// Sum of alpha over topics, in tokens.
    pub(crate) alpha_sum: f64,
    /// beta in units.
    pub(crate) beta: f32,
    /// Number of the pass, warm-up included. Random numbers depend on it.
    pub(crate) round: u32,
    /// Whether there are no topics yet, so that documents start at random.
    pub(crate) at_random: bool,
    /// Whether messages are quantized finely and documents keep to the topics they use.
    pub(crate) fine: bool,
    /// How far a message moves beyond its new value, as a multiple of the distance from the old
    /// one.
    pub(crate) over_relaxation: f32,
}

/// Sums over the documents of a chunk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChunkSums {
    pub(crate) log_likelihood: f64,
    /// Topics in use, summed over the documents that use any.
    pub(crate) topics_in_use: u64,
    /// Number of documents that use any topic.
    pub(crate) documents_in_use: u64,
}

/// Executes the steps of `tbp`; the module documentation describes the contract.
pub(crate) trait Backend: std::fmt::Debug {
    /// Runs an operation on the documents of a piece. Deltas are collected until
    /// [`apply`](Backend::apply). `sums` receives one element per chunk, in the order of the
    /// chunks.
    fn documents(
        &mut self,
        params: &StepParams<'_>,
        chunks: &mut [Chunk],
        sums: &mut Vec<ChunkSums>,
    ) -> Result<(), Fault>;

    /// Applies the collected deltas to phi and to `lambda`; with `to_next`, to the phi from which
    /// the next pass starts.
    fn apply(&mut self, lambda: &mut [i64], to_next: bool) -> Result<()>;

    /// Adds units of seed words to phi. `units` has one element per seed word, in order.
    fn add_seed_words(&mut self, seeds: &[SeedWord], units: &[i64]) -> Result<()>;

    /// Adds base counts to phi and `lambda`.
    fn add_base(&mut self, base: BaseCounts<'_>, lambda: &mut [i64]) -> Result<()>;

    /// Recomputes the prior mass of every word, a sum over all topics, and samples topics in
    /// proportion to its terms.
    fn recompute_prior_mass(&mut self, factors: &[Lanes], beta: f32, round: u32) -> Result<()>;

    /// Makes the phi of the next pass the current one and clears the other. Used only without
    /// document state.
    fn swap_buffers(&mut self) -> Result<()>;

    /// Writes phi of a word to `row[K]`, in tokens, seed words included.
    fn topic_row(&mut self, word: u32, row: &mut [f32]) -> Result<()>;

    /// Frees the buffers that are needed only during passes.
    fn finish(&mut self);

    /// Writes phi; with `next`, the phi of the next pass.
    fn save(&self, next: bool, out: &mut SectionWriter) -> Result<()>;

    /// Reads what [`Backend::save`] wrote.
    fn restore(&mut self, next: bool, from: &mut SectionReader) -> Result<()>;
}
