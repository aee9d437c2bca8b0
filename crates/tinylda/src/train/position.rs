//! How far a training is: what a checkpoint says of it besides the state of the algorithm and the documents.

use serde::{Deserialize, Serialize};

use super::Trainer;
use crate::algorithms::WarmUpStage;
use crate::store::Selection;

/// When a pass began and ended, in seconds of training, and what came out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PassTiming {
    pub(super) began: f64,
    pub(super) ended: f64,
    /// Topics in use per document after the pass.
    pub(super) active_topics: f64,
}

impl PassTiming {
    /// A pass that begins now.
    pub(super) fn starting(now: f64) -> PassTiming {
        PassTiming { began: now, ended: now, active_topics: 0.0 }
    }
}

/// alpha and beta as they were learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LearnedPriors {
    pub(super) alpha: Vec<f32>,
    pub(super) beta: f32,
}

/// How far a training is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Stages of the warm-up that are done.
    pub(super) stage: usize,
    /// Repeats of the current stage that are done.
    pub(super) repeat: u32,
    /// Passes over the whole corpus that are done.
    pub(super) pass: u32,
    /// The pass to end with.
    pub(super) last: u32,
    /// Whether the final refinement has begun.
    pub(super) refining: bool,
    pub(super) converged: bool,
    /// The next visit of the pass.
    pub(super) visit: usize,
    /// Log-likelihood of the visits before, where the algorithm knows it.
    pub(super) log_likelihood: Option<f64>,
    /// Topics in use in this pass so far, summed over the documents that use any.
    pub(super) topics_in_use: u64,
    /// Documents of this pass so far that use any topic.
    pub(super) documents_in_use: u64,
    /// Documents visited in this pass so far.
    pub(super) documents: u64,
    /// (pass, training perplexity).
    pub(super) history: Vec<(u32, f64)>,
    pub(super) timings: Vec<PassTiming>,
    /// Seconds of training.
    pub(super) seconds: f64,
    /// Bytes of messages or labels, of this pass so far.
    pub(super) pass_message_bytes: u64,
    /// Bytes of messages or labels after the last pass.
    pub(super) message_bytes: u64,
    pub(super) learned: Option<LearnedPriors>,
}

impl Position {
    /// The beginning of a training of at most `passes` passes.
    pub(super) fn start(passes: u32) -> Position {
        Position { last: passes, log_likelihood: Some(0.0), ..Position::default() }
    }

    /// Resets what is counted within a pass.
    pub(super) fn begin_pass(&mut self) {
        (self.topics_in_use, self.documents_in_use, self.documents) = (0, 0, 0);
        self.log_likelihood = Some(0.0);
    }

    /// Notes that a pass of a warm-up stage is done.
    pub(super) fn end_stage_pass(&mut self, repeats: u32) {
        self.repeat += 1;
        if self.repeat == repeats {
            (self.stage, self.repeat) = (self.stage + 1, 0);
        }
    }

    /// Topics in use per document in the pass; all of them where the algorithm does not count.
    pub(super) fn active_topics(&self, topics: u32) -> f64 {
        match self.documents_in_use {
            0 => f64::from(topics),
            documents => self.topics_in_use as f64 / documents as f64,
        }
    }

    /// Whether a training can be there: asked of what a file says.
    pub(super) fn possible(
        &self,
        trainer: &Trainer,
        stages: &[WarmUpStage],
        visits: Selection<'_>,
        pieces: usize,
    ) -> bool {
        let (selection, repeats) = match stages.get(self.stage) {
            Some(stage) => (Selection::Every(stage.every), stage.repeats),
            None => (visits, 1),
        };
        self.stage <= stages.len()
            && self.repeat < repeats
            && self.pass <= self.last
            && self.last <= trainer.settings.max_passes()
            && (self.stage == stages.len() || self.pass == 0)
            && self.visit < selection.visits(pieces).max(1)
            && (self.log_likelihood.is_some_and(f64::is_finite)
                || trainer.settings.chosen_algorithm().capabilities().shuffles)
            && self.history.len() <= self.pass as usize
            && self.history.iter().zip(1..).all(|(&(pass, p), n)| pass == n && p.is_finite())
            && self.timings.len() <= self.pass as usize + 1
            && self.seconds.is_finite()
            && self.learned.as_ref().is_none_or(|learned| {
                let sound = |&value: &f32| value > 0.0 && value.is_finite();
                trainer.settings.optimizes()
                    && learned.alpha.len() == trainer.settings.topic_count() as usize
                    && learned.alpha.iter().chain([&learned.beta]).all(sound)
            })
    }
}
