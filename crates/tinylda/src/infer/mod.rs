//! Infers the topic mixtures of documents with a trained model. The topics stay fixed.
//!
//! | module | contents |
//! |---|---|
//! | `known` | words of a corpus matched to those of a model |
//! | `stream` | the mixtures of all documents of a corpus, on threads |
//! | `typical` | documents typical of a topic or similar to another document |
//! | `write` | proportions as files |
//!
//! Start reading at [`Inferencer`] for single documents and at [`Mixtures`] for a corpus. The
//! update rules belong to `algorithms` (`algorithms::DocumentInference`); this module must not know
//! them.

mod known;
mod stream;
mod typical;
mod write;

pub(crate) use known::DocumentBuffer;
pub use known::{UnknownWords, VocabularyMap};
pub use stream::{Mixture, Mixtures};
pub(crate) use stream::{chunk_limits, fill_proportions};
pub use typical::{
    DocumentDetails, RankedDocument, SimilarDocuments, TypicalDocuments, count_documents_named,
    document_details, document_names, find_document,
};
#[cfg(feature = "compression")]
pub(crate) use write::push_field;
pub use write::{InferenceSummary, ProportionsFormat, ProportionsWriter};

use crate::algorithms::DocumentInference;
use crate::algorithms::dense::document::{DocumentUpdater, FrozenTopics};
use crate::algorithms::dense::inference::FixedPointInference;
use crate::corpus::Document;
use crate::error::Result;
use crate::model::Model;
use crate::settings::{Algorithm, Digamma};
use crate::simd::{Kernel, Lanes};
use crate::topics::Topics;

/// The method by which the topics of new documents are inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inference {
    /// The method of the algorithm that the model was trained with: for example VB with its digamma
    /// function, or Gibbs sampling with samples.
    Own,
    /// The update of TBP, whatever algorithm the model was trained with, so that evaluations
    /// compare the topics only.
    #[default]
    Same,
}

/// Infers the topics of single documents.
#[derive(Debug)]
pub struct Inferencer<'m> {
    topics: &'m Topics,
    update: Box<dyn DocumentInference + 'm>,
    inverse: Vec<Lanes>,
    step: DocumentUpdater,
    theta: Vec<f32>,
}

impl<'m> Inferencer<'m> {
    /// Creates an inferencer for the topics of a model.
    pub fn new(model: &'m Model, inference: Inference) -> Result<Inferencer<'m>> {
        let (topics, kernel) = (&model.topics, Kernel::best());
        let mut inverse = Vec::new();
        topics.inverse(&mut inverse);
        // VB with both digamma functions has the same document update as OVB.
        let own_algorithm = match model.training().settings.digamma {
            Some(Digamma::Both) => Some(Algorithm::Ovb),
            _ => Algorithm::named(&model.training().algorithm),
        }
        .filter(|_| inference == Inference::Own);
        Ok(Inferencer {
            topics,
            update: match own_algorithm {
                Some(algorithm) => algorithm.document_inference(topics, kernel)?,
                // Evaluations follow the definition, with all topics in every iteration.
                None => Box::new(FixedPointInference::new(topics, kernel).with_all_topics()),
            },
            inverse,
            step: DocumentUpdater::new(topics.count, kernel),
            theta: vec![0.0; topics.count as usize],
        })
    }

    /// Returns an inferencer of the same model for another thread.
    pub(crate) fn clone_for_thread(&self) -> Inferencer<'m> {
        Inferencer {
            topics: self.topics,
            update: self.update.boxed_clone(),
            inverse: self.inverse.clone(),
            step: self.step.clone(),
            theta: self.theta.clone(),
        }
    }

    /// Infers theta\[K\] of a document: counts that add up to its tokens.
    ///
    /// Iterates from a uniform start until an iteration moves less than 1e-4 of the tokens, at most
    /// 500 times. `d` is the number of the document from 0, for error messages and random numbers.
    /// Word ids must be below the model's number of words; they need not be sorted.
    pub fn theta(&mut self, d: u64, document: Document<'_>) -> Result<&[f32]> {
        let tokens = document.tokens() as f64;
        self.theta.fill((tokens / f64::from(self.topics.count)) as f32);
        self.update.theta(d, document, &mut self.theta).map_err(|bad| bad.in_document(d, "inference"))?;
        Ok(&self.theta)
    }

    /// Returns theta of a document without words: all zeros.
    pub(crate) fn empty_theta(&mut self) -> &[f32] {
        self.theta.fill(0.0);
        &self.theta
    }

    /// Returns the log-likelihood of words under the theta that was inferred last. `tokens` is the
    /// number of tokens that it was inferred from.
    pub(crate) fn log_likelihood(&mut self, d: u64, scored: Document<'_>, tokens: u64) -> Result<f64> {
        let frozen = FrozenTopics::new(self.topics, &self.inverse);
        self.step
            .log_likelihood(&frozen, scored, &self.theta, tokens)
            .map_err(|bad| bad.in_document(d, "inference"))
    }
}
