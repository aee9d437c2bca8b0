//! Synchronous tiny belief propagation (sTBP).
//!
//! ```text
//! eta[k] = (phi[w,k]+beta)/(lambda[k]+W*beta) * (theta[d,k]+alpha[k]), normalised over k
//! theta_new[d,:] += x*eta      phi_new[w,:] += x*eta      from the phi, theta, lambda of the last pass
//! ```
//! computed as in `document`: `G[w,:]` gathers r*t, and at the end of the pass phi_new = (phi+beta)*G.
//!
//! Bytes: phi twice (phi and G), theta once (document d reads and writes row d only), no messages.
//! Cost: three multiply-adds per (non-zero, topic). The log-likelihood of the state before the pass is free.

use super::document::Frozen;
use super::gather::Gather;
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::topics::Topics;

pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { matrices: 2, state: StateKind::Theta, ..Capabilities::PLAIN };

#[derive(Debug)]
pub(crate) struct Stbp(Gather);

impl Stbp {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Result<Stbp> {
        Ok(Stbp(Gather::new(topics, setup)?))
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
            .block(topics, view, |job, inverse| {
                Ok(job.step.update(&Frozen::new(topics, inverse), job.document, job.theta)?)
            })
            .map(PieceStats::of)
    }

    fn end(&mut self, topics: &mut Topics) -> Result<()> {
        self.0.end(topics, None, 0.0);
        Ok(())
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
