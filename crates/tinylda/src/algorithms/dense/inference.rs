//! The topics of documents that a model was not trained on: each algorithm's own inference.

use std::sync::Arc;

use super::document::{self, DocumentStep, Failed, Frozen};
use super::{bp, few, gibbs, nmf, vb};
use crate::algorithms::NewDocuments;
use crate::corpus::Document;
use crate::error::Result;
use crate::settings::Algorithm;
use crate::simd::{Kernel, Lanes};
use crate::topics::{Matrix, Topics};

/// Creates the inference of an algorithm.
pub(crate) fn new_documents(
    algorithm: Algorithm,
    topics: &Topics,
    kernel: Kernel,
) -> Result<Box<dyn NewDocuments + '_>> {
    let fixed = Fixed::new(topics, kernel);
    Ok(match algorithm {
        Algorithm::Tbp | Algorithm::Stbp | Algorithm::Atbp => Box::new(fixed),
        Algorithm::Bp | Algorithm::Abp => Box::new(bp::NewDocuments::new(topics, kernel)),
        Algorithm::Gibbs => Box::new(gibbs::NewDocuments::new(topics, kernel)),
        Algorithm::Vb => Box::new(Fixed { weigh: vb::weigh, few: None, ..fixed }),
        Algorithm::Ovb => {
            let (rows, fade) = vb::expected(topics, kernel)?;
            let rows = Some(Arc::new(rows));
            Box::new(Fixed { weigh: vb::weigh, rows, inverse: fade, few: None, ..fixed })
        }
        Algorithm::Nmf => {
            let alpha = vec![Lanes::ZERO; topics.alpha.len()];
            Box::new(Fixed { alpha, beta: 0.0, inverse: nmf::inverse(topics), ..fixed })
        }
    })
}

/// The update of `document`, again and again, until theta stands still.
#[derive(Debug, Clone)]
pub(crate) struct Fixed<'m> {
    topics: &'m Topics,
    alpha: Vec<Lanes>,
    beta: f32,
    inverse: Vec<Lanes>,
    rows: Option<Arc<Matrix>>,
    weigh: document::Weigh,
    step: DocumentStep,
    /// Over few topics, where t of a topic depends on this topic alone.
    pub(super) few: Option<few::Few>,
}

impl<'m> Fixed<'m> {
    pub(crate) fn new(topics: &'m Topics, kernel: Kernel) -> Fixed<'m> {
        let mut inverse = Vec::new();
        topics.inverse(&mut inverse);
        Fixed {
            topics,
            alpha: topics.alpha.clone(),
            beta: topics.beta,
            inverse,
            rows: None,
            weigh: document::mean,
            step: DocumentStep::new(topics.count, kernel),
            few: Some(few::Few::default()),
        }
    }

    /// Every update goes over all topics.
    pub(crate) fn over_all(self) -> Fixed<'m> {
        Fixed { few: None, ..self }
    }
}

impl NewDocuments for Fixed<'_> {
    fn theta(&mut self, _: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), Failed> {
        let still = document::STILL * document.tokens() as f64;
        let plain = Frozen::new(self.topics, &self.inverse).with_beta(self.beta).weighed(self.weigh);
        let frozen = match &self.rows {
            Some(rows) => plain.with_rows(rows, &self.inverse),
            None => plain.with_alpha(&self.alpha, 0.0),
        };
        let stop = (document::ITERATIONS, still);
        match &mut self.few {
            Some(few) => few.settle(&mut self.step, &frozen, document, theta, stop)?,
            None => self.step.settle(&frozen, document, theta, stop)?,
        }
        Ok(())
    }

    fn twin<'a>(&self) -> Box<dyn NewDocuments + 'a>
    where
        Self: 'a,
    {
        Box::new(self.clone())
    }
}
