//! Pass schedules: which passes a training makes, and of which kind.
//!
//! The trainer asks a [`Schedule`] for every pass and tells it when the perplexity has converged.
//! The schedule of `tbp` is in `tbp/schedule.rs`; the passes of all other algorithms are alike.
//! Nothing here knows what an algorithm does in a pass.

use serde::{Deserialize, Serialize};

/// Kind of a pass over the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassKind {
    /// An ordinary pass of an algorithm whose passes are all alike.
    Plain,
    /// Adds given messages to the topics.
    Load,
    /// A pass over a subset of the corpus before the first pass.
    WarmUp,
    /// Searches for topics. `left` is the number of passes from this one to the final refinement.
    /// It is `None` if priors are learned, which needs all plain passes.
    Search { pass: u32, left: Option<u32> },
    /// Learns priors from the topics that were found.
    Learn,
    /// Moves the topics once more before the final refinement.
    Perturb,
    /// Refines the topics that were found. `left` counts the passes from this one on.
    Refine { left: u32 },
}

/// Input of a pass schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScheduleInput {
    /// Number of pieces of the corpus.
    pub(crate) pieces: u64,
    /// Number of tokens in the corpus.
    pub(crate) tokens: u64,
    /// Number of topics.
    pub(crate) topics: u32,
    /// Maximum number of passes.
    pub(crate) passes: u32,
    /// Whether alpha and beta are learned.
    pub(crate) optimize: bool,
    /// Whether the user has set the initial topic of every non-zero.
    pub(crate) given_start: bool,
}

/// A stage of the warm-up: `repeats` passes over one piece in every `every`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WarmUpStage {
    pub(crate) every: u64,
    pub(crate) repeats: u32,
}

/// State of a schedule, as stored in a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScheduleState {
    /// Number of the last pass.
    pub(crate) last: u32,
    /// Whether the final refinement has begun.
    pub(crate) refining: bool,
}

impl ScheduleState {
    /// Returns the state at the start of a training of at most `passes` passes.
    pub(crate) fn start(passes: u32) -> ScheduleState {
        ScheduleState { last: passes, refining: false }
    }

    /// Returns the number of passes that follow the first `done` ones.
    pub(crate) fn left(self, done: u32) -> u32 {
        self.last.saturating_sub(done)
    }
}

/// Pass schedule of a training.
pub(crate) trait Schedule: std::fmt::Debug {
    /// Returns the stages of the warm-up, before the first pass over the whole corpus.
    fn warm_up(&self) -> &[WarmUpStage] {
        &[]
    }

    /// Returns the kind of the pass that follows the first `done` ones; `None` if there are no
    /// more.
    fn next(&mut self, done: u32) -> Option<PassKind>;

    /// Plans the end of the training, since the perplexity has converged after `done` passes.
    /// Returns false if the end has begun already.
    fn converge(&mut self, done: u32) -> bool;

    /// Returns whether alpha and beta may be learned after `done` passes.
    fn learns_after(&self, _done: u32) -> bool {
        true
    }

    /// Returns the state for a checkpoint.
    fn state(&self) -> ScheduleState;

    /// Restores the state from a checkpoint.
    fn restore(&mut self, state: ScheduleState);
}

/// Schedule of passes that are all of the same kind.
#[derive(Debug)]
pub(crate) struct UniformSchedule(ScheduleState);

impl UniformSchedule {
    /// Creates the schedule of a training of at most `passes` passes.
    pub(crate) fn new(passes: u32) -> UniformSchedule {
        UniformSchedule(ScheduleState::start(passes))
    }
}

impl Schedule for UniformSchedule {
    fn next(&mut self, done: u32) -> Option<PassKind> {
        (self.0.left(done) > 0).then_some(PassKind::Plain)
    }

    fn converge(&mut self, done: u32) -> bool {
        self.0.last = self.0.last.min(done);
        true
    }

    fn state(&self) -> ScheduleState {
        self.0
    }

    fn restore(&mut self, state: ScheduleState) {
        self.0 = state;
    }
}
