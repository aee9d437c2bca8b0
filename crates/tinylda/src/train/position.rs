//! Position of a training: its progress as stored in a checkpoint, besides the state of the
//! algorithm and of the documents.
//!
//! The file format is in `checkpoint`. Start reading at [`TrainingPosition`].

use serde::{Deserialize, Serialize};

use super::Trainer;
use crate::algorithms::schedule::{ScheduleState, WarmUpStage};
use crate::store::Selection;

/// Start and end of a pass in seconds of training, and its result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PassTiming {
    pub(super) began: f64,
    pub(super) ended: f64,
    /// Mean number of active topics per document after the pass.
    pub(super) active_topics: f64,
}

impl PassTiming {
    /// Creates the timing of a pass that starts now.
    pub(super) fn starting(now: f64) -> PassTiming {
        PassTiming { began: now, ended: now, active_topics: 0.0 }
    }
}

/// Learned alpha and beta.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LearnedPriors {
    pub(super) alpha: Vec<f32>,
    pub(super) beta: f32,
}

/// Progress of a training.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TrainingPosition {
    /// Number of finished warm-up stages.
    pub(super) stage: usize,
    /// Number of finished repeats of the current stage.
    pub(super) repeat: u32,
    /// Number of finished passes over the whole corpus.
    pub(super) pass: u32,
    /// State of the schedule, when the checkpoint was written.
    #[serde(flatten)]
    pub(super) schedule: ScheduleState,
    pub(super) converged: bool,
    /// Number of the next visit in the current pass.
    pub(super) visit: usize,
    /// Log-likelihood of the previous visits of the pass, if the algorithm knows it.
    pub(super) log_likelihood: Option<f64>,
    /// Number of active topics in this pass so far, summed over the documents that use any.
    pub(super) topics_in_use: u64,
    /// Number of documents in this pass so far that use any topic.
    pub(super) documents_in_use: u64,
    /// Number of documents visited in this pass so far.
    pub(super) documents: u64,
    /// Training perplexity by pass: (pass, perplexity).
    pub(super) history: Vec<(u32, f64)>,
    pub(super) timings: Vec<PassTiming>,
    /// Seconds of training.
    pub(super) seconds: f64,
    /// Bytes of messages or labels in this pass so far.
    pub(super) pass_message_bytes: u64,
    /// Bytes of messages or labels after the last pass.
    pub(super) message_bytes: u64,
    pub(super) learned: Option<LearnedPriors>,
}

impl TrainingPosition {
    /// Returns the position at the start of a training.
    pub(super) fn start() -> TrainingPosition {
        TrainingPosition { log_likelihood: Some(0.0), ..TrainingPosition::default() }
    }

    /// Resets the counters of a pass.
    pub(super) fn begin_pass(&mut self) {
        (self.topics_in_use, self.documents_in_use, self.documents) = (0, 0, 0);
        self.log_likelihood = Some(0.0);
    }

    /// Counts a finished pass of a warm-up stage with this number of repeats.
    pub(super) fn end_stage_pass(&mut self, repeats: u32) {
        self.repeat += 1;
        if self.repeat == repeats {
            (self.stage, self.repeat) = (self.stage + 1, 0);
        }
    }

    /// Returns the mean number of active topics per document in the pass; all topics if the
    /// algorithm does not count them.
    pub(super) fn active_topics(&self, topics: u32) -> f64 {
        match self.documents_in_use {
            0 => f64::from(topics),
            documents => self.topics_in_use as f64 / documents as f64,
        }
    }

    /// Returns whether a training can be in this position. Used to validate a position read from a
    /// file.
    pub(super) fn is_possible(
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
            && self.pass <= self.schedule.last
            && self.schedule.last <= trainer.settings.max_passes()
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
