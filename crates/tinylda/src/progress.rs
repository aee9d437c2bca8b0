//! Progress reports of long operations: one callback type for all of them except training, which
//! reports [`Event`](crate::Event)s. This module does not know who calls it.

use std::ops::ControlFlow;

/// The current step of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Step {
    /// Reading an input file or stream, in bytes.
    Reading,
    /// Sorting the entries of an input.
    Sorting,
    /// Reading or writing a corpus, in blocks.
    Blocks,
    /// Inferring the topics of documents, or writing documents.
    Documents,
    /// Drawing the topics of a synthetic corpus.
    Topics,
    /// Counting words that occur together, in blocks of the corpus or bytes of the reference text.
    Coherence,
    /// Computing distances between topics, in words.
    TopicMap,
    /// Looking up the first lines of documents.
    FirstLines,
}

impl Step {
    /// Returns a short name of the step.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Step::Reading => "read",
            Step::Sorting => "entries sorted",
            Step::Blocks => "blocks",
            Step::Documents => "documents",
            Step::Topics => "topics",
            Step::Coherence => "coherence",
            Step::TopicMap => "topic map",
            Step::FirstLines => "first lines",
        }
    }

    /// Returns a progress report of this step.
    pub(crate) fn at(self, done: u64, total: impl Into<Option<u64>>) -> Progress {
        Progress { step: self, done, total: total.into() }
    }
}

/// Progress of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Current step.
    pub step: Step,
    /// Completed part of the step, in the unit of the step.
    pub done: u64,
    /// Total of the step; `None` if it is not known.
    pub total: Option<u64>,
}

impl Progress {
    /// Returns the completed fraction of the step, from 0 to 1; 0 if the total is not known.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.total.map_or(0.0, |total| self.done as f64 / total.max(1) as f64)
    }
}

/// Callback that receives progress from time to time. If it returns `Break`, the operation stops
/// with [`Error::Interrupted`](crate::Error::Interrupted).
pub type ProgressCallback<'p> = &'p mut dyn FnMut(Progress) -> ControlFlow<()>;
