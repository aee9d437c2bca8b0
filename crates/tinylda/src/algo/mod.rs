//! One update rule per file, its mathematics on top. No files, threads, clocks or printing here.
//!
//! An algorithm is driven by `train` as: `begin`, then `document` for every document, then `end`. What it keeps per
//! document is `theta[K]`; `train` and `store` decide where that lives and in which order the documents come.

mod atbp;
pub(crate) mod document;
mod stbp;

use crate::corpus::Document;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::topics::Topics;
use document::NotANumber;

/// The algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Synchronous tiny belief propagation: all messages of a pass from the last pass's topics.
    Stbp,
    /// Asynchronous tiny belief propagation: every message changes the topics at once.
    Atbp,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 2] = [Algorithm::Stbp, Algorithm::Atbp];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Stbp => "stbp",
            Algorithm::Atbp => "atbp",
        }
    }

    /// How many matrices of W x K it needs.
    pub(crate) fn phi_matrices(self) -> u64 {
        match self {
            Algorithm::Stbp => 2,
            Algorithm::Atbp => 1,
        }
    }

    /// Whether the documents are visited in a random order, drawn once.
    pub(crate) fn shuffles(self) -> bool {
        matches!(self, Algorithm::Atbp)
    }
}

/// An algorithm at work: its scratch, and the seam to `train`.
#[derive(Debug)]
pub(crate) enum Sweep {
    Stbp(stbp::Stbp),
    Atbp(atbp::Atbp),
}

impl Sweep {
    pub(crate) fn new(
        algorithm: Algorithm,
        topics: &Topics,
        word_tokens: Vec<u64>,
        kernel: Kernel,
    ) -> Result<Sweep> {
        Ok(match algorithm {
            Algorithm::Stbp => Sweep::Stbp(stbp::Stbp::new(topics, &word_tokens, kernel)?),
            Algorithm::Atbp => Sweep::Atbp(atbp::Atbp::new(topics, word_tokens, kernel)),
        })
    }

    /// Before the first document of a pass.
    pub(crate) fn begin(&mut self, topics: &Topics) {
        match self {
            Sweep::Stbp(s) => s.begin(topics),
            Sweep::Atbp(_) => {}
        }
    }

    /// One document; its log-likelihood before the pass where the algorithm knows it.
    pub(crate) fn document(
        &mut self,
        topics: &mut Topics,
        document: Document<'_>,
        theta: &mut [f32],
    ) -> Result<Option<f64>, NotANumber> {
        match self {
            Sweep::Stbp(s) => s.document(topics, document, theta).map(Some),
            Sweep::Atbp(a) => a.document(topics, document, theta).map(|()| None),
        }
    }

    /// After the last document of a pass.
    pub(crate) fn end(&mut self, topics: &mut Topics) {
        match self {
            Sweep::Stbp(s) => s.end(topics),
            Sweep::Atbp(_) => {}
        }
    }
}
