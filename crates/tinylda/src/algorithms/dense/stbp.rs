//! Synchronous tiny belief propagation (sTBP).
//!
//! ```text
//! eta[k] = (phi[w,k]+beta)/(lambda[k]+W*beta) * (theta[d,k]+alpha[k]), normalized over k,
//!     from the phi, theta and lambda of the last pass
//! theta_new[d,:] += x*eta      phi_new[w,:] += x*eta
//! ```
//! This is computed as in `document`: `G[w,:]` accumulates r*t, and at the end of the pass phi_new
//! = (phi+beta)*G.
//!
//! Memory: phi twice (phi and G), theta once (document d reads and writes row d only), no messages.
//! Cost: three multiply-adds per (non-zero, topic). The log-likelihood of the state before the pass
//! is a by-product.

use super::document::FrozenTopics;
use super::gather::Accumulator;
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::topics::Topics;

pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { matrices: 2, state: StateKind::Theta, ..Capabilities::PLAIN };

#[derive(Debug)]
pub(crate) struct Stbp(Accumulator);

impl Stbp {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Result<Stbp> {
        Ok(Stbp(Accumulator::new(topics, setup)?))
    }
}

impl Updater for Stbp {
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.0.begin(topics);
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let topics = &*topics;
        self.0
            .update_piece(topics, view, |task, inverse| {
                Ok(task.updater.update_with_likelihood(
                    &FrozenTopics::new(topics, inverse),
                    task.document,
                    task.theta,
                )?)
            })
            .map(PieceStats::of)
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.0.end(topics, None, 0.0);
        Ok(())
    }

    fn finish(&mut self) {
        self.0.free_buffers();
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        self.0.save(out)
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        self.0.restore(topics, from)
    }
}
