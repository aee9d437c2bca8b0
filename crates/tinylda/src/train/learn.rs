//! Learning alpha and beta during training, if the user asks for it.
//!
//! Decides when to learn and collects the counts; the estimation itself is in `priors`.

use super::position::LearnedPriors;
use super::run::Training;
use crate::error::Result;
use crate::priors::{self, DocumentHistograms, Histogram};
use crate::simd::flat;

impl Training<'_> {
    /// Learns alpha and beta from the documents and topics after a pass, if learning is due.
    pub(super) fn learn_priors(&mut self) -> Result<()> {
        let pass = self.position.pass;
        let due = self.schedule.learns_after(pass) && priors::is_due(pass);
        if !self.trainer.settings.optimizes() || !due {
            return Ok(());
        }
        let count = self.trainer.settings.topic_count() as usize;
        let mut documents = DocumentHistograms::new(self.trainer.settings.topic_count());
        self.store.for_each(false, |_, document, theta| {
            documents.add(document.tokens(), theta);
            Ok(())
        })?;
        let mut alpha = flat(&self.topics.alpha)[..count].to_vec();
        documents.learn(&mut alpha, self.trainer.settings.alpha_value());
        drop(documents);
        let (mut cells, mut lambda, mut row) = (Histogram::default(), vec![0f64; count], vec![0f32; count]);
        for w in 0..self.topics.words() {
            self.updater.topic_row(&self.topics, w, &mut row)?;
            for (lambda, &n) in lambda.iter_mut().zip(&row) {
                if n > 0.0 {
                    cells.add(f64::from(n));
                    *lambda += f64::from(n);
                }
            }
        }
        let beta = priors::learn_beta(self.topics.beta, &cells, &lambda, self.topics.words());
        self.topics.set_priors(&alpha, beta);
        self.position.learned = Some(LearnedPriors { alpha, beta });
        Ok(())
    }

    /// Returns the largest possible beta, if beta was learned and has reached it.
    pub(super) fn learned_beta_limit(&self) -> Option<f64> {
        let reached = |learned: &LearnedPriors| learned.beta >= priors::MAX_BETA as f32;
        self.position.learned.as_ref().filter(|learned| reached(learned)).map(|_| priors::MAX_BETA)
    }

    /// Returns the current alpha and beta.
    pub(super) fn priors(&self) -> LearnedPriors {
        self.position.learned.clone().unwrap_or_else(|| self.trainer.initial_priors())
    }
}
