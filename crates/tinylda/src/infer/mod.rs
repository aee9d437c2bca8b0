//! Topics of new documents: the topics are held fixed, and each algorithm has its own way (`algo::NewDocuments`).

mod known;
mod stream;
mod typical;
mod write;

pub(crate) use known::Parts;
pub use known::{Known, Unknown};
pub(crate) use stream::chunks;
pub use stream::{Mixture, Mixtures};
pub(crate) use typical::labels_of;
pub use typical::{Found, Similar, Typical, find_document, names_of};
#[cfg(feature = "compression")]
pub(crate) use write::push_cell;
pub use write::{Inferred, Proportions, ProportionsFormat};

use crate::algorithms::NewDocuments;
use crate::algorithms::dense::document::{DocumentStep, Frozen};
use crate::algorithms::dense::inference::Fixed;
use crate::corpus::Document;
use crate::error::Result;
use crate::model::Model;
use crate::settings::{Algorithm, Digamma};
use crate::simd::{Kernel, Lanes};
use crate::topics::Topics;

/// How the topics of new documents are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inference {
    /// As the algorithm does that the model was trained with: VB with its digamma function, Gibbs sampling by samples, ...
    Own,
    /// By TBP's update, whatever the model was trained with: then figures compare the topics alone.
    #[default]
    Same,
}

/// Finds the topics of documents, one after another.
#[derive(Debug)]
pub struct Inferencer<'m> {
    topics: &'m Topics,
    update: Box<dyn NewDocuments + 'm>,
    inverse: Vec<Lanes>,
    step: DocumentStep,
    theta: Vec<f32>,
}

impl<'m> Inferencer<'m> {
    /// With the topics of a model.
    pub fn new(model: &'m Model, inference: Inference) -> Result<Inferencer<'m>> {
        let (topics, kernel) = (&model.topics, Kernel::best());
        let mut inverse = Vec::new();
        topics.inverse(&mut inverse);
        // With both digammas VB settles a document as OVB does.
        let own = match model.training().settings.digamma {
            Some(Digamma::Both) => Some(Algorithm::Ovb),
            _ => Algorithm::named(&model.training().algorithm),
        }
        .filter(|_| inference == Inference::Own);
        Ok(Inferencer {
            topics,
            update: match own {
                Some(algorithm) => algorithm.new_documents(topics, kernel)?,
                // What is measured is measured by the definition, with all topics to the end.
                None => Box::new(Fixed::new(topics, kernel).over_all()),
            },
            inverse,
            step: DocumentStep::new(topics.count, kernel),
            theta: vec![0.0; topics.count as usize],
        })
    }

    /// The same for another thread.
    pub(crate) fn twin(&self) -> Inferencer<'m> {
        Inferencer {
            topics: self.topics,
            update: self.update.twin(),
            inverse: self.inverse.clone(),
            step: self.step.clone(),
            theta: self.theta.clone(),
        }
    }

    /// theta\[K\] of document number `d` (from 0, for messages): counts that add up to its tokens.
    ///
    /// From a uniform start until an iteration moves less than 1e-4 of the tokens, at most 500 times.
    /// Word ids must be below the model's; they need not be sorted.
    pub fn theta(&mut self, d: u64, document: Document<'_>) -> Result<&[f32]> {
        let tokens = document.tokens() as f64;
        self.theta.fill((tokens / f64::from(self.topics.count)) as f32);
        self.update.theta(d, document, &mut self.theta).map_err(|bad| bad.in_document(d, "inference"))?;
        Ok(&self.theta)
    }

    /// theta of a document without words.
    pub(crate) fn none(&mut self) -> &[f32] {
        self.theta.fill(0.0);
        &self.theta
    }

    /// The log-likelihood of words under the theta that was found last, for a document of `tokens` tokens.
    pub(crate) fn log_likelihood(&mut self, d: u64, scored: Document<'_>, tokens: u64) -> Result<f64> {
        let frozen = Frozen::new(self.topics, &self.inverse);
        self.step
            .log_likelihood(&frozen, scored, &self.theta, tokens)
            .map_err(|bad| bad.in_document(d, "inference"))
    }
}
