//! Inference of the topics of documents that a model was not trained on, with each algorithm's own
//! method.
//!
//! Start reading at [`document_inference`].

use std::sync::Arc;

use super::document::{self, DocumentFailure, DocumentUpdater, FrozenTopics};
use super::{bp, gibbs, moving_topics, nmf, vb};
use crate::algorithms::DocumentInference;
use crate::corpus::Document;
use crate::error::Result;
use crate::settings::Algorithm;
use crate::simd::{Kernel, Lanes};
use crate::topics::{Matrix, Topics};

/// Creates the inference of an algorithm.
pub(crate) fn document_inference(
    algorithm: Algorithm,
    topics: &Topics,
    kernel: Kernel,
) -> Result<Box<dyn DocumentInference + '_>> {
    let fixed = FixedPointInference::new(topics, kernel);
    Ok(match algorithm {
        Algorithm::Tbp | Algorithm::Stbp | Algorithm::Atbp => Box::new(fixed),
        Algorithm::Bp | Algorithm::Abp => Box::new(bp::BpInference::new(topics, kernel)),
        Algorithm::Gibbs => Box::new(gibbs::GibbsInference::new(topics, kernel)),
        Algorithm::Vb => {
            Box::new(FixedPointInference { weighting: vb::digamma_weighting, moving: None, ..fixed })
        }
        Algorithm::Ovb => {
            let (rows, inverse_denominators) = vb::expected_rows(topics, kernel)?;
            let rows = Some(Arc::new(rows));
            Box::new(FixedPointInference {
                weighting: vb::digamma_weighting,
                rows,
                inverse: inverse_denominators,
                moving: None,
                ..fixed
            })
        }
        Algorithm::Nmf => {
            let alpha = vec![Lanes::ZERO; topics.alpha.len()];
            Box::new(FixedPointInference { alpha, beta: 0.0, inverse: nmf::inverse(topics), ..fixed })
        }
    })
}

/// Inference with the update of `document`, repeated until theta converges.
#[derive(Debug, Clone)]
pub(crate) struct FixedPointInference<'m> {
    topics: &'m Topics,
    alpha: Vec<Lanes>,
    beta: f32,
    inverse: Vec<Lanes>,
    rows: Option<Arc<Matrix>>,
    weighting: document::Weighting,
    updater: DocumentUpdater,
    /// Updates restricted to the changing topics, if t of a topic depends on this topic alone.
    pub(super) moving: Option<moving_topics::MovingTopics>,
}

impl<'m> FixedPointInference<'m> {
    pub(crate) fn new(topics: &'m Topics, kernel: Kernel) -> FixedPointInference<'m> {
        let mut inverse = Vec::new();
        topics.inverse(&mut inverse);
        FixedPointInference {
            topics,
            alpha: topics.alpha.clone(),
            beta: topics.beta,
            inverse,
            rows: None,
            weighting: document::mean_weighting,
            updater: DocumentUpdater::new(topics.count, kernel),
            moving: Some(moving_topics::MovingTopics::default()),
        }
    }

    /// Disables updates restricted to the changing topics.
    pub(crate) fn with_all_topics(self) -> FixedPointInference<'m> {
        FixedPointInference { moving: None, ..self }
    }
}

impl DocumentInference for FixedPointInference<'_> {
    fn theta(&mut self, _: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), DocumentFailure> {
        let tolerance = document::THETA_TOLERANCE * document.tokens() as f64;
        let plain =
            FrozenTopics::new(self.topics, &self.inverse).with_beta(self.beta).with_weighting(self.weighting);
        let frozen = match &self.rows {
            Some(rows) => plain.with_rows(rows, &self.inverse),
            None => plain.with_alpha(&self.alpha, 0.0),
        };
        let stop = (document::MAX_ITERATIONS, tolerance);
        match &mut self.moving {
            Some(moving) => moving.converge(&mut self.updater, &frozen, document, theta, stop)?,
            None => self.updater.converge(&frozen, document, theta, stop)?,
        }
        Ok(())
    }

    fn boxed_clone<'a>(&self) -> Box<dyn DocumentInference + 'a>
    where
        Self: 'a,
    {
        Box::new(self.clone())
    }
}
