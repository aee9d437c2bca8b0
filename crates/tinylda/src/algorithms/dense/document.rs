//! The update of one document with the topics held fixed: the core of sTBP, VB and NMF, and all of
//! inference.
//!
//! ```text
//! t[k] = (theta[d,k]+alpha[k]) / (lambda[k]+W*beta)
//! for each word w of the document, x times:
//!     s = dot(phi[w,:], t) + beta*sum(t)      r = x/s
//!     acc += r*phi[w,:]                       G[w,:] += r*t       (G in training, by `gather`)
//! theta[d,k] = t[k] * (acc[k] + beta*sum r)
//! ```
//! Other algorithms use another t ([`Weighting`]) or other rows in place of phi + beta. The results
//! are exactly those of the paper, with three multiply-adds per (non-zero, topic) and one division
//! per non-zero instead of K. The log-likelihood is a by-product: the sum of x*log s, less
//! n_d*log(n_d + sum alpha) per document.
//!
//! Nothing here knows pieces, threads or training. Start reading at [`DocumentUpdater`].
//!
//! Legend: K topics, W words; x a count; n_d the number of tokens of a document; `phi[W,K]` and
//! `theta[D,K]` counts; `lambda[K]` column sums of phi.

use crate::corpus::Document;
use crate::error::Error;
use crate::simd::{Kernel, LANES, Lanes, WordRows, flat, flat_mut};
use crate::topics::{Matrix, Topics, stride};

/// Maximum number of updates of theta for a new document, as in the paper.
pub(crate) const MAX_ITERATIONS: u32 = 500;
/// theta has converged when an update moves less than this fraction of the document's tokens.
pub(crate) const THETA_TOLERANCE: f64 = 1e-4;

/// Number of words by which rows are prefetched.
pub(crate) const PREFETCH_DISTANCE: usize = 2;

/// Computes t from theta, alpha and the inverse of lambda + W*beta. Each algorithm has its own
/// formula.
pub(crate) type Weighting = fn(Kernel, &[f32], &[Lanes], &[Lanes], &mut [Lanes]);

/// Computes t as in the paper's TBP and in the definition of p(w|d).
pub(crate) fn mean_weighting(_: Kernel, theta: &[f32], alpha: &[Lanes], inverse: &[Lanes], t: &mut [Lanes]) {
    let others = theta.iter().zip(flat(alpha)).zip(flat(inverse));
    for (t, ((&theta, &alpha), &inverse)) in flat_mut(t).iter_mut().zip(others) {
        *t = (theta + alpha) * inverse;
    }
}

/// Returns an error unless every r = x/s is positive and finite.
pub(super) fn check_ratios(r: &[f32]) -> Result<(), NotANumber> {
    match r.iter().find(|r| !(r.is_finite() && **r > 0.0)) {
        None => Ok(()),
        Some(r) => Err(NotANumber(1.0 / r)),
    }
}

/// Returns the sum of absolute differences. It is computed in one sum per lane: a single sum would
/// be a chain of additions that takes as long as the update.
pub(super) fn l1_distance(now: &[f32], before: &[f32]) -> f64 {
    let mut sums = [0f32; LANES];
    for (now, before) in now.chunks(LANES).zip(before.chunks(LANES)) {
        for ((sum, now), before) in sums.iter_mut().zip(now).zip(before) {
            *sum += (now - before).abs();
        }
    }
    sums.iter().map(|&sum| f64::from(sum)).sum()
}

/// Topics that are held fixed, with values derived from them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrozenTopics<'a> {
    rows: &'a Matrix,
    beta: f32,
    alpha: &'a [Lanes],
    alpha_sum: f64,
    inverse: &'a [Lanes],
    weighting: Weighting,
}

impl<'a> FrozenTopics<'a> {
    /// Creates frozen topics. `inverse` must come from [`Topics::inverse`] of these topics.
    pub(crate) fn new(topics: &'a Topics, inverse: &'a [Lanes]) -> FrozenTopics<'a> {
        let Topics { phi, beta, alpha, alpha_sum, .. } = topics;
        FrozenTopics {
            rows: phi,
            beta: *beta,
            alpha,
            alpha_sum: *alpha_sum,
            inverse,
            weighting: mean_weighting,
        }
    }

    /// Replaces the formula for t.
    pub(crate) fn with_weighting(self, weighting: Weighting) -> FrozenTopics<'a> {
        FrozenTopics { weighting, ..self }
    }

    /// Replaces beta.
    pub(crate) fn with_beta(self, beta: f32) -> FrozenTopics<'a> {
        FrozenTopics { beta, ..self }
    }

    /// Replaces alpha.
    pub(crate) fn with_alpha(self, alpha: &'a [Lanes], alpha_sum: f64) -> FrozenTopics<'a> {
        FrozenTopics { alpha, alpha_sum, ..self }
    }

    /// Replaces phi + beta by other rows, and the inverse.
    pub(crate) fn with_rows(self, rows: &'a Matrix, inverse: &'a [Lanes]) -> FrozenTopics<'a> {
        FrozenTopics { rows, beta: 0.0, inverse, ..self }
    }

    pub(super) fn row(&self, w: u32) -> &'a [Lanes] {
        self.rows.row(w)
    }
    pub(super) fn beta(&self) -> f32 {
        self.beta
    }
    pub(super) fn alpha(&self) -> &'a [Lanes] {
        self.alpha
    }
    pub(super) fn inverse(&self) -> &'a [Lanes] {
        self.inverse
    }
}

/// Computes sum x log s with few logarithms: factors are multiplied as long as the product stays
/// well within the range of f64.
#[derive(Debug)]
pub(crate) struct LogSum {
    sum: f64,
    product: f64,
}

impl LogSum {
    pub(crate) fn new() -> LogSum {
        LogSum { sum: 0.0, product: 1.0 }
    }

    /// Adds x log s.
    #[inline]
    pub(crate) fn add(&mut self, x: u32, s: f32) {
        let s = f64::from(s);
        if x > 4 {
            self.sum += f64::from(x) * libm::log(s);
            return;
        }
        // A positive f32 to the fourth power is above 1e-180.
        for _ in 0..x {
            self.product *= s;
        }
        if !(1e-100..1e100).contains(&self.product) {
            self.sum += libm::log(self.product);
            self.product = 1.0;
        }
    }

    pub(crate) fn total(&self) -> f64 {
        self.sum + libm::log(self.product)
    }
}

/// A value in the update of a document that is not positive and finite.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotANumber(pub(crate) f32);

impl NotANumber {
    /// Converts to the error for the user. `document` is counted from 0, and from 1 in the error.
    pub(crate) fn in_document(self, document: u64, phase: &'static str) -> Error {
        Error::Numeric {
            document: document + 1,
            phase,
            found: self.0.to_string(),
            remedy: "train with larger {alpha} and {beta}, or remove extreme counts".into(),
        }
    }
}

/// Reason why a document could not be processed.
#[derive(Debug)]
pub(crate) enum DocumentFailure {
    NotANumber(NotANumber),
    /// Data that the update needs could not be read.
    Error(Box<Error>),
}

impl From<NotANumber> for DocumentFailure {
    fn from(bad: NotANumber) -> DocumentFailure {
        DocumentFailure::NotANumber(bad)
    }
}

impl From<Error> for DocumentFailure {
    fn from(error: Error) -> DocumentFailure {
        DocumentFailure::Error(Box::new(error))
    }
}

impl DocumentFailure {
    /// Converts to the error for the user. `document` is counted from 0.
    pub(crate) fn in_document(self, document: u64, phase: &'static str) -> Error {
        match self {
            DocumentFailure::NotANumber(bad) => bad.in_document(document, phase),
            DocumentFailure::Error(error) => *error,
        }
    }
}

/// The update of a document and its buffers.
#[derive(Debug, Clone)]
pub(crate) struct DocumentUpdater {
    kernel: Kernel,
    t: Vec<Lanes>,
    acc: Vec<Lanes>,
    before: Vec<f32>,
    r: Vec<f32>,
}

impl DocumentUpdater {
    pub(crate) fn new(topics: u32, kernel: Kernel) -> DocumentUpdater {
        let row = vec![Lanes::ZERO; stride(topics)];
        DocumentUpdater { kernel, t: row.clone(), acc: row, before: Vec::new(), r: Vec::new() }
    }

    /// Returns t and r of the last document's words.
    pub(crate) fn last_ratios(&self) -> (&[Lanes], &[f32]) {
        (&self.t, &self.r)
    }

    /// Sets t from `theta[K]` and returns beta * sum(t).
    fn set_weights(&mut self, frozen: &FrozenTopics<'_>, theta: &[f32]) -> f32 {
        (frozen.weighting)(self.kernel, theta, frozen.alpha, frozen.inverse, &mut self.t);
        frozen.beta * self.kernel.sum(&self.t)
    }

    /// Sets t from `theta[K]`, with 0 for some topics, and returns beta * sum(t).
    pub(super) fn set_weights_except(
        &mut self,
        frozen: &FrozenTopics<'_>,
        theta: &[f32],
        topics: &[u32],
    ) -> f32 {
        self.set_weights(frozen, theta);
        let t = flat_mut(&mut self.t);
        for &k in topics {
            t[k as usize] = 0.0;
        }
        frozen.beta * self.kernel.sum(&self.t)
    }

    /// Returns the dot product of a row and t.
    pub(super) fn dot(&self, row: &[Lanes]) -> f32 {
        self.kernel.dot(row, &self.t)
    }

    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Computes r of every word from t and, if `add` is set, accumulates acc. Returns the sum of r.
    #[inline]
    fn accumulate(
        &mut self,
        frozen: &FrozenTopics<'_>,
        document: Document<'_>,
        smooth: f32,
        add: bool,
    ) -> Result<f32, NotANumber> {
        let DocumentUpdater { kernel, t, acc, r, .. } = self;
        acc.fill(Lanes::ZERO);
        r.clear();
        r.resize(document.words.len(), 0.0);
        let (rows, stride) = frozen.rows.all();
        let Document { words, counts } = document;
        let sum = kernel.accumulate_words(WordRows { rows, stride, words, counts, t, smooth, add, r }, acc);
        check_ratios(r).map(|()| sum)
    }

    /// Returns sum x log s, from the stored r.
    fn log_sum(&self, document: Document<'_>) -> f64 {
        let mut sum = LogSum::new();
        document.counts.iter().zip(&self.r).for_each(|(&x, r)| sum.add(x, x as f32 / r));
        sum.total()
    }

    /// Updates `theta[K]` of a document once.
    #[inline]
    pub(super) fn update_theta(
        &mut self,
        frozen: &FrozenTopics<'_>,
        document: Document<'_>,
        theta: &mut [f32],
    ) -> Result<(), NotANumber> {
        let smooth = self.set_weights(frozen, theta);
        let smooth = frozen.beta * self.accumulate(frozen, document, smooth, true)?;
        for ((theta, &t), &acc) in theta.iter_mut().zip(flat(&self.t)).zip(flat(&self.acc)) {
            *theta = t * (acc + smooth);
        }
        Ok(())
    }

    /// Updates `theta[K]` of a document once and returns the log-likelihood under the *old* theta.
    #[inline]
    pub(crate) fn update_with_likelihood(
        &mut self,
        frozen: &FrozenTopics<'_>,
        document: Document<'_>,
        theta: &mut [f32],
    ) -> Result<f64, NotANumber> {
        self.update_theta(frozen, document, theta)?;
        Ok(self.log_sum(document) - normalizer(document.tokens(), frozen.alpha_sum))
    }

    /// Updates `theta[K]` until an update moves it by less than `tolerance` tokens, at most
    /// `max_updates` times.
    pub(crate) fn converge(
        &mut self,
        frozen: &FrozenTopics<'_>,
        document: Document<'_>,
        theta: &mut [f32],
        (max_updates, tolerance): (u32, f64),
    ) -> Result<(), NotANumber> {
        for _ in 0..max_updates {
            self.before.clear();
            self.before.extend_from_slice(theta);
            self.update_theta(frozen, document, theta)?;
            if l1_distance(theta, &self.before) < tolerance {
                break;
            }
        }
        Ok(())
    }

    /// Computes t and r for the current theta, for [`last_ratios`](DocumentUpdater::last_ratios).
    pub(crate) fn compute_ratios(
        &mut self,
        frozen: &FrozenTopics<'_>,
        document: Document<'_>,
        theta: &[f32],
    ) -> Result<(), NotANumber> {
        let smooth = self.set_weights(frozen, theta);
        self.accumulate(frozen, document, smooth, false).map(|_| ())
    }

    /// Returns the log-likelihood of a document under `theta[K]`, which sums to `theta_tokens`
    /// tokens.
    pub(crate) fn log_likelihood(
        &mut self,
        frozen: &FrozenTopics<'_>,
        document: Document<'_>,
        theta: &[f32],
        theta_tokens: u64,
    ) -> Result<f64, NotANumber> {
        let smooth = self.set_weights(&frozen.with_weighting(mean_weighting), theta);
        self.accumulate(frozen, document, smooth, false)?;
        Ok(self.log_sum(document)
            - document.tokens() as f64 * libm::log(theta_tokens as f64 + frozen.alpha_sum))
    }
}

/// Returns n_d * log(n_d + sum alpha), which normalizes the sums s to probabilities.
fn normalizer(tokens: u64, alpha_sum: f64) -> f64 {
    tokens as f64 * libm::log(tokens as f64 + alpha_sum)
}
