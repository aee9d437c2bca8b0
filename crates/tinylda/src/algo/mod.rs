//! One update rule per file, its mathematics on top. No files, threads, clocks or printing here.
//!
//! An algorithm is driven by `train` as: `begin`, then `block` for every block of documents, then `end`. What it keeps
//! per document is `theta[K]`; `train` and `store` decide where that lives and in which order the documents come.

mod atbp;
pub(crate) mod document;
mod stbp;
pub(crate) mod tbp;

use crate::engine::Engine;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::store::Visited;
use crate::topics::Topics;
use document::NotANumber;

/// The algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Synchronous tiny belief propagation: all messages of a pass from the last pass's topics.
    Stbp,
    /// Asynchronous tiny belief propagation: every message changes the topics at once.
    Atbp,
    /// Tiny belief propagation in blocks, the document's own share excluded.
    Tbp,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 3] = [Algorithm::Stbp, Algorithm::Atbp, Algorithm::Tbp];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Stbp => "stbp",
            Algorithm::Atbp => "atbp",
            Algorithm::Tbp => "tbp",
        }
    }

    /// How many matrices of W x K it needs.
    pub(crate) fn phi_matrices(self) -> u64 {
        match self {
            Algorithm::Stbp => 2,
            Algorithm::Atbp | Algorithm::Tbp => 1,
        }
    }

    /// Whether a block's non-zeros are needed by word too.
    pub(crate) fn by_words(self) -> bool {
        matches!(self, Algorithm::Tbp)
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
    Tbp(Box<Engine>),
}

impl Sweep {
    pub(crate) fn new(
        algorithm: Algorithm,
        topics: &Topics,
        word_tokens: Vec<u64>,
        kernel: Kernel,
        threads: usize,
        exclude: bool,
    ) -> Result<Sweep> {
        Ok(match algorithm {
            Algorithm::Stbp => Sweep::Stbp(stbp::Stbp::new(topics, &word_tokens, kernel)?),
            Algorithm::Atbp => Sweep::Atbp(atbp::Atbp::new(topics, word_tokens, kernel)),
            Algorithm::Tbp => Sweep::Tbp(Box::new(Engine::new(threads, kernel, exclude, word_tokens)?)),
        })
    }

    /// Before the first document of a pass.
    pub(crate) fn begin(&mut self, topics: &Topics) {
        match self {
            Sweep::Stbp(s) => s.begin(topics),
            Sweep::Atbp(_) | Sweep::Tbp(_) => {}
        }
    }

    /// Documents of one block, in the given order or as they lie; their log-likelihood before the pass where the
    /// algorithm knows it. An error comes with the document's number.
    pub(crate) fn block(
        &mut self,
        topics: &mut Topics,
        visit: Visited<'_>,
    ) -> Result<Option<f64>, (u64, NotANumber)> {
        let Visited { block, columns, theta, order } = visit;
        let k = topics.count as usize;
        let mut sum = Some(0f64);
        let mut one = |d: usize| {
            let document = block.document(d);
            if document.words.is_empty() {
                return Ok(());
            }
            let row = &mut theta[d * k..(d + 1) * k];
            let got = match self {
                Sweep::Stbp(s) => s.document(topics, document, row).map(Some),
                Sweep::Atbp(a) => a.document(topics, document, row).map(|()| None),
                Sweep::Tbp(_) => Ok(None),
            };
            let got = got.map_err(|bad| (block.first_document() + d as u64, bad))?;
            sum = sum.zip(got).map(|(sum, one)| sum + one);
            Ok(())
        };
        match order {
            Some(order) => order.iter().try_for_each(|&d| one(d as usize))?,
            None if columns.is_none() => (0..block.documents()).try_for_each(&mut one)?,
            None => {}
        }
        if let (Sweep::Tbp(engine), Some(columns)) = (self, columns) {
            return engine.block(topics, block, columns, theta).map(Some);
        }
        Ok(sum)
    }

    /// After the last document of a pass.
    pub(crate) fn end(&mut self, topics: &mut Topics) {
        match self {
            Sweep::Stbp(s) => s.end(topics),
            Sweep::Atbp(_) | Sweep::Tbp(_) => {}
        }
    }
}
