//! Topics of new documents: the update of `algo::document` with the topics held fixed.

use crate::algo::document::{DocumentStep, Frozen};
use crate::corpus::Document;
use crate::error::Result;
use crate::kernel::{Kernel, Lanes};
use crate::model::Model;
use crate::topics::Topics;

/// The paper's number of iterations, at the most.
pub(crate) const ITERATIONS: u32 = 500;
/// theta stands still when an iteration moves less than this share of the document's tokens.
pub(crate) const STILL: f64 = 1e-4;

/// Finds the topics of documents, one after another.
#[derive(Debug)]
pub struct Inferencer<'m> {
    topics: &'m Topics,
    inverse: Vec<Lanes>,
    step: DocumentStep,
    theta: Vec<f32>,
    before: Vec<f32>,
}

impl<'m> Inferencer<'m> {
    /// With the topics of a model.
    pub fn new(model: &'m Model) -> Inferencer<'m> {
        let topics = &model.topics;
        let mut inverse = Vec::new();
        topics.inverse(&mut inverse);
        Inferencer {
            topics,
            inverse,
            step: DocumentStep::new(topics.count, Kernel::best()),
            theta: vec![0.0; topics.count as usize],
            before: vec![0.0; topics.count as usize],
        }
    }

    /// theta\[K\] of document number `d` (from 0, for messages): counts that add up to its tokens.
    ///
    /// From a uniform start until an iteration moves less than 1e-4 of the tokens, at most 500 times.
    /// Word ids must be below the model's; they need not be sorted.
    pub fn theta(&mut self, d: u64, document: Document<'_>) -> Result<&[f32]> {
        let tokens = document.tokens() as f64;
        self.theta.fill((tokens / f64::from(self.topics.count)) as f32);
        let frozen = Frozen::new(self.topics, &self.inverse);
        for _ in 0..ITERATIONS {
            self.before.copy_from_slice(&self.theta);
            self.step
                .update(&frozen, document, &mut self.theta, None)
                .map_err(|bad| bad.in_document(d, "inference"))?;
            let moved: f64 = self.theta.iter().zip(&self.before).map(|(a, b)| f64::from((a - b).abs())).sum();
            if moved < STILL * tokens {
                break;
            }
        }
        Ok(&self.theta)
    }

    /// The log-likelihood of words under the theta that was found last, for a document of `tokens` tokens.
    pub(crate) fn log_likelihood(&mut self, d: u64, scored: Document<'_>, tokens: u64) -> Result<f64> {
        let frozen = Frozen::new(self.topics, &self.inverse);
        self.step
            .log_likelihood(&frozen, scored, &self.theta, tokens)
            .map_err(|bad| bad.in_document(d, "inference"))
    }
}
