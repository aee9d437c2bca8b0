//! The paper's algorithms: updates of rows of K floats.
//!
//! There is one file per algorithm, with its formulas, memory and cost at the top. The algorithms
//! share the update of a document with the topics held fixed (`document`), which is also inference
//! (`inference`), the accumulation by word (`gather`), and the two-phase execution on threads
//! (`phases`). Nothing here knows files. Start reading at `document`, then `stbp`.

pub(super) mod atbp;
pub(super) mod bp;
pub(crate) mod document;
mod gather;
pub(super) mod gibbs;
pub(crate) mod inference;
pub(super) mod memory;
mod moving_topics;
pub(super) mod nmf;
pub(super) mod ovb;
pub(crate) mod phases;
pub(super) mod stbp;
pub(super) mod vb;

use super::Fault;
use super::piece::PieceView;
use crate::simd::Kernel;
use crate::topics::Topics;
use document::{DocumentUpdater, FrozenTopics};

/// Returns `sum x log p(w|d)` of a piece's documents with the current theta and phi.
pub(super) fn log_likelihood(topics: &Topics, view: PieceView<'_>) -> Result<f64, Fault> {
    let mut inverse = Vec::new();
    topics.inverse(&mut inverse);
    let frozen = FrozenTopics::new(topics, &inverse);
    // All instruction sets give the same bits, so the best one can be used.
    let mut updater = DocumentUpdater::new(topics.count, Kernel::best());
    let mut total = 0f64;
    view.for_each_theta(|d, document, theta| {
        let more = updater.log_likelihood(&frozen, document, theta, document.tokens());
        total += more.map_err(|bad| (d, bad.into()))?;
        Ok(())
    })?;
    Ok(total)
}
