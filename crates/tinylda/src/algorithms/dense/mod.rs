//! The paper's algorithms: updates over rows of K floats.
//!
//! One file per algorithm, its mathematics, memory and cost at the top. They share the update of a document with the topics
//! held fixed (`document`), which is also inference (`inference`); the accumulation by word (`gather`); and the two-phase
//! execution on threads (`phases`).

pub(super) mod atbp;
pub(super) mod bp;
pub(crate) mod document;
mod few;
mod gather;
pub(super) mod gibbs;
pub(crate) mod inference;
pub(super) mod memory;
pub(super) mod nmf;
pub(super) mod ovb;
pub(crate) mod phases;
pub(super) mod stbp;
pub(super) mod vb;

use super::Fault;
use super::piece::PieceView;
use crate::simd::Kernel;
use crate::topics::Topics;
use document::{DocumentStep, Frozen};

/// Adds `sum x log p(w|d)` of a piece's documents to `total`, from theta and phi as they are.
pub(super) fn log_likelihood(topics: &Topics, view: PieceView<'_>, total: &mut f64) -> Result<(), Fault> {
    let mut inverse = Vec::new();
    topics.inverse(&mut inverse);
    let frozen = Frozen::new(topics, &inverse);
    // All instruction sets give the same bits.
    let mut step = DocumentStep::new(topics.count, Kernel::best());
    view.for_each_theta(|d, document, theta| {
        let more = step.log_likelihood(&frozen, document, theta, document.tokens());
        *total += more.map_err(|bad| (d, bad.into()))?;
        Ok(())
    })
}
