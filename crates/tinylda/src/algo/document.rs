//! The update of one document with the topics held fixed: the heart of sTBP, and all of inference.
//!
//! ```text
//! t[k] = (theta[d,k]+alpha[k]) / (lambda[k]+W*beta)
//! for each word w of the document, x times:
//!     s = dot(phi[w,:], t) + beta*sum(t)      r = x/s
//!     acc += r*phi[w,:]                       G[w,:] += r*t       (G only in training)
//! theta[d,k] = t[k] * (acc[k] + beta*sum r)
//! ```
//! These are the paper's numbers exactly, with three multiply-adds per (non-zero, topic) and one division per
//! non-zero instead of K. The log-likelihood is free: x*log s, less n_d*log(n_d + sum alpha) per document.
//!
//! Legend: K topics, W words; x a count; n_d a document's tokens; `phi[W,K]`, `theta[D,K]` counts; `lambda[K]` column sums.

use crate::corpus::Document;
use crate::error::Error;
use crate::kernel::{Kernel, Lanes, flat, flat_mut, prefetch};
use crate::topics::{Matrix, Topics, stride};

/// How many words ahead rows are asked for.
pub(crate) const AHEAD: usize = 2;

/// Topics that do not change for a while, with what is computed from them once.
#[derive(Debug)]
pub(crate) struct Frozen<'a> {
    topics: &'a Topics,
    inverse: &'a [Lanes],
}

impl<'a> Frozen<'a> {
    /// `inverse` is what [`Topics::inverse`] gave for these topics.
    pub(crate) fn new(topics: &'a Topics, inverse: &'a [Lanes]) -> Frozen<'a> {
        Frozen { topics, inverse }
    }
}

/// A value that is no usable number, in the words' loop of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotANumber(pub(crate) f32);

impl NotANumber {
    /// As the error that a user sees; documents are counted from 0 here and from 1 there.
    pub(crate) fn in_document(self, document: u64, phase: &'static str) -> Error {
        Error::Numeric {
            document: document + 1,
            phase,
            found: self.0.to_string(),
            remedy: "Train with larger values of --alpha and --beta, or leave extreme counts out.",
        }
    }
}

/// Why a document could not be gone through.
#[derive(Debug)]
pub(crate) enum Failed {
    NotANumber(NotANumber),
    /// Something that it needs could not be read.
    Error(Box<Error>),
}

impl From<NotANumber> for Failed {
    fn from(bad: NotANumber) -> Failed {
        Failed::NotANumber(bad)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Error(Box::new(error))
    }
}

impl Failed {
    /// As the error that a user sees.
    pub(crate) fn in_document(self, document: u64, phase: &'static str) -> Error {
        match self {
            Failed::NotANumber(bad) => bad.in_document(document, phase),
            Failed::Error(error) => *error,
        }
    }
}

/// The update and its scratch rows.
#[derive(Debug, Clone)]
pub(crate) struct DocumentStep {
    kernel: Kernel,
    t: Vec<Lanes>,
    acc: Vec<Lanes>,
}

impl DocumentStep {
    pub(crate) fn new(topics: u32, kernel: Kernel) -> DocumentStep {
        DocumentStep { kernel, t: vec![Lanes::ZERO; stride(topics)], acc: vec![Lanes::ZERO; stride(topics)] }
    }

    /// Sets t from `theta[K]`; returns beta * sum(t).
    fn weigh(&mut self, frozen: &Frozen<'_>, theta: &[f32]) -> f32 {
        let (alpha, inverse) = (flat(&frozen.topics.alpha), flat(frozen.inverse));
        for (((t, &theta), &alpha), &inverse) in
            flat_mut(&mut self.t).iter_mut().zip(theta).zip(alpha).zip(inverse)
        {
            *t = (theta + alpha) * inverse;
        }
        frozen.topics.beta * self.kernel.sum(&self.t)
    }

    /// Renews `theta[K]` of a document, adds to `gathered` (G) where there is one, and returns the log-likelihood that
    /// the *old* theta gave the document.
    #[inline]
    pub(crate) fn update(
        &mut self,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &mut [f32],
        mut gathered: Option<&mut Matrix>,
    ) -> Result<f64, NotANumber> {
        let smooth = self.weigh(frozen, theta);
        self.acc.fill(Lanes::ZERO);
        let (mut sum_r, mut log_likelihood, mut tokens) = (0f32, 0f64, 0u64);
        for (i, (&w, &count)) in document.words.iter().zip(document.counts).enumerate() {
            if let Some(&ahead) = document.words.get(i + AHEAD) {
                prefetch(frozen.topics.phi.row(ahead));
                if let Some(g) = &gathered {
                    prefetch(g.row(ahead));
                }
            }
            let phi = frozen.topics.phi.row(w);
            let s = self.kernel.dot(phi, &self.t) + smooth;
            let x = count as f32;
            let r = x / s;
            if !(r.is_finite() && r > 0.0) {
                return Err(NotANumber(s));
            }
            match &mut gathered {
                Some(g) => self.kernel.axpy_two(r, phi, &mut self.acc, &self.t, g.row_mut(w)),
                None => self.kernel.axpy(r, phi, &mut self.acc),
            }
            sum_r += r;
            log_likelihood += f64::from(x) * libm::log(f64::from(s));
            tokens += u64::from(count);
        }
        let smooth = frozen.topics.beta * sum_r;
        for ((theta, &t), &acc) in theta.iter_mut().zip(flat(&self.t)).zip(flat(&self.acc)) {
            *theta = t * (acc + smooth);
        }
        Ok(log_likelihood - normaliser(tokens, frozen.topics))
    }

    /// The log-likelihood of a document under `theta[K]`.
    pub(crate) fn log_likelihood(
        &mut self,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &[f32],
        theta_tokens: u64,
    ) -> Result<f64, NotANumber> {
        let smooth = self.weigh(frozen, theta);
        let mut log_likelihood = 0f64;
        let norm = libm::log(theta_tokens as f64 + frozen.topics.alpha_sum);
        for (&w, &x) in document.words.iter().zip(document.counts) {
            let s = self.kernel.dot(frozen.topics.phi.row(w), &self.t) + smooth;
            if !(s.is_finite() && s > 0.0) {
                return Err(NotANumber(s));
            }
            log_likelihood += f64::from(x) * (libm::log(f64::from(s)) - norm);
        }
        Ok(log_likelihood)
    }
}

/// n_d * log(n_d + sum alpha): what turns the sums of s into probabilities.
fn normaliser(tokens: u64, topics: &Topics) -> f64 {
    tokens as f64 * libm::log(tokens as f64 + topics.alpha_sum)
}
