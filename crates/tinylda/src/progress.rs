//! How long operations report their progress: one callback for all of them, except training, which has more to report
//! ([`Event`](crate::Event)).

use std::ops::ControlFlow;

/// What an operation is doing.
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
    /// Returns what is done, in a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Step::Reading => "read",
            Step::Sorting => "entries sorted",
            Step::Blocks => "blocks",
            Step::Documents => "documents",
            Step::Topics => "topics",
            Step::Coherence => "coherence",
            Step::TopicMap => "map of topics",
            Step::FirstLines => "first lines",
        }
    }

    /// Returns the progress of this step.
    pub(crate) fn at(self, done: u64, total: impl Into<Option<u64>>) -> Progress {
        Progress { step: self, done, total: total.into() }
    }
}

/// How far an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What it is doing.
    pub step: Step,
    /// How much of the step is done.
    pub done: u64,
    /// How much there is to do, if that is known.
    pub total: Option<u64>,
}

impl Progress {
    /// Returns the part of the step that is done, from 0 to 1; 0 if the total is not known.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.total.map_or(0.0, |total| self.done as f64 / total.max(1) as f64)
    }
}

/// Receives progress now and then. If it returns `Break`, the operation stops with [`Error::Interrupted`](crate::Error::Interrupted).
pub type ProgressCallback<'p> = &'p mut dyn FnMut(Progress) -> ControlFlow<()>;
