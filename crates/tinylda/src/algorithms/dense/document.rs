//! The update of one document with the topics held fixed: the heart of sTBP, VB and NMF, and all of inference.
//!
//! ```text
//! t[k] = (theta[d,k]+alpha[k]) / (lambda[k]+W*beta)
//! for each word w of the document, x times:
//!     s = dot(phi[w,:], t) + beta*sum(t)      r = x/s
//!     acc += r*phi[w,:]                       G[w,:] += r*t       (G in training, by `gather`)
//! theta[d,k] = t[k] * (acc[k] + beta*sum r)
//! ```
//! Other algorithms have the same with another t (`Weigh`), or other rows in the place of phi + beta.
//! These are the paper's numbers exactly, with three multiply-adds per (non-zero, topic) and one division per
//! non-zero instead of K. The log-likelihood is free: x*log s, less n_d*log(n_d + sum alpha) per document.
//!
//! Legend: K topics, W words; x a count; n_d a document's tokens; `phi[W,K]`, `theta[D,K]` counts; `lambda[K]` column sums.

use crate::corpus::Document;
use crate::error::Error;
use crate::simd::{Kernel, LANES, Lanes, Met, flat, flat_mut};
use crate::topics::{Matrix, Topics, stride};

/// A new document's theta is renewed so often at the most: the paper's number.
pub(crate) const ITERATIONS: u32 = 500;
/// theta stands still when an iteration moves less than this share of the document's tokens.
pub(crate) const STILL: f64 = 1e-4;

/// How many words ahead rows are asked for.
pub(crate) const AHEAD: usize = 2;

/// How t is made of theta, alpha and the inverse of lambda + W*beta: each algorithm has its own way.
pub(crate) type Weigh = fn(Kernel, &[f32], &[Lanes], &[Lanes], &mut [Lanes]);

/// t as the paper's TBP has it, and as p(w|d) is defined.
pub(crate) fn mean(_: Kernel, theta: &[f32], alpha: &[Lanes], inverse: &[Lanes], t: &mut [Lanes]) {
    let others = theta.iter().zip(flat(alpha)).zip(flat(inverse));
    for (t, ((&theta, &alpha), &inverse)) in flat_mut(t).iter_mut().zip(others) {
        *t = (theta + alpha) * inverse;
    }
}

/// Whether every r = x/s is a number to go on with.
pub(super) fn usable(r: &[f32]) -> Result<(), NotANumber> {
    match r.iter().find(|r| !(r.is_finite() && **r > 0.0)) {
        None => Ok(()),
        Some(r) => Err(NotANumber(1.0 / r)),
    }
}

/// By how much all numbers together have changed. In as many sums as there are lanes: one would be a chain of additions that
/// takes as long as the update.
pub(super) fn moved(now: &[f32], before: &[f32]) -> f64 {
    let mut sums = [0f32; LANES];
    for (now, before) in now.chunks(LANES).zip(before.chunks(LANES)) {
        for ((sum, now), before) in sums.iter_mut().zip(now).zip(before) {
            *sum += (now - before).abs();
        }
    }
    sums.iter().map(|&sum| f64::from(sum)).sum()
}

/// Topics that do not change for a while, with what is computed from them once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frozen<'a> {
    rows: &'a Matrix,
    beta: f32,
    alpha: &'a [Lanes],
    alpha_sum: f64,
    inverse: &'a [Lanes],
    weigh: Weigh,
}

impl<'a> Frozen<'a> {
    /// `inverse` is what [`Topics::inverse`] gave for these topics.
    pub(crate) fn new(topics: &'a Topics, inverse: &'a [Lanes]) -> Frozen<'a> {
        let Topics { phi, beta, alpha, alpha_sum, .. } = topics;
        Frozen { rows: phi, beta: *beta, alpha, alpha_sum: *alpha_sum, inverse, weigh: mean }
    }

    /// With another way to make t.
    pub(crate) fn weighed(self, weigh: Weigh) -> Frozen<'a> {
        Frozen { weigh, ..self }
    }

    /// With another beta.
    pub(crate) fn with_beta(self, beta: f32) -> Frozen<'a> {
        Frozen { beta, ..self }
    }

    /// With another alpha.
    pub(crate) fn with_alpha(self, alpha: &'a [Lanes], alpha_sum: f64) -> Frozen<'a> {
        Frozen { alpha, alpha_sum, ..self }
    }

    /// With other rows in place of phi + beta, and another inverse.
    pub(crate) fn with_rows(self, rows: &'a Matrix, inverse: &'a [Lanes]) -> Frozen<'a> {
        Frozen { rows, beta: 0.0, inverse, ..self }
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

/// sum x log s with few logarithms: a product is taken as long as it stays well inside the range of f64.
#[derive(Debug)]
pub(crate) struct LogSum {
    sum: f64,
    product: f64,
}

impl LogSum {
    pub(crate) fn new() -> LogSum {
        LogSum { sum: 0.0, product: 1.0 }
    }

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
            remedy: "train with larger {alpha} and {beta}, or remove extreme counts".into(),
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
    before: Vec<f32>,
    r: Vec<f32>,
}

impl DocumentStep {
    pub(crate) fn new(topics: u32, kernel: Kernel) -> DocumentStep {
        let row = vec![Lanes::ZERO; stride(topics)];
        DocumentStep { kernel, t: row.clone(), acc: row, before: Vec::new(), r: Vec::new() }
    }

    /// What the last document's words were met with: t, and r of each.
    pub(crate) fn last(&self) -> (&[Lanes], &[f32]) {
        (&self.t, &self.r)
    }

    /// Sets t from `theta[K]`; returns beta * sum(t).
    fn weigh(&mut self, frozen: &Frozen<'_>, theta: &[f32]) -> f32 {
        (frozen.weigh)(self.kernel, theta, frozen.alpha, frozen.inverse, &mut self.t);
        frozen.beta * self.kernel.sum(&self.t)
    }

    /// Sets t from `theta[K]`, but for some topics, where it is 0; returns beta * sum(t).
    pub(super) fn weigh_all_but(&mut self, frozen: &Frozen<'_>, theta: &[f32], topics: &[u32]) -> f32 {
        self.weigh(frozen, theta);
        let t = flat_mut(&mut self.t);
        for &k in topics {
            t[k as usize] = 0.0;
        }
        frozen.beta * self.kernel.sum(&self.t)
    }

    /// The product of a row and t.
    pub(super) fn dot(&self, row: &[Lanes]) -> f32 {
        self.kernel.dot(row, &self.t)
    }

    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Meets every word with t: r of each is kept, and acc gathers where `add` is said. Returns the sum of r.
    #[inline]
    fn absorb(
        &mut self,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        smooth: f32,
        add: bool,
    ) -> Result<f32, NotANumber> {
        let DocumentStep { kernel, t, acc, r, .. } = self;
        acc.fill(Lanes::ZERO);
        r.clear();
        r.resize(document.words.len(), 0.0);
        let (rows, stride) = frozen.rows.all();
        let Document { words, counts } = document;
        let sum = kernel.absorb(Met { rows, stride, words, counts, t, smooth, add, r }, acc);
        usable(r).map(|()| sum)
    }

    /// sum x log s, from the r that were kept.
    fn log_sum(&self, document: Document<'_>) -> f64 {
        let mut sum = LogSum::new();
        document.counts.iter().zip(&self.r).for_each(|(&x, r)| sum.add(x, x as f32 / r));
        sum.total()
    }

    /// Renews `theta[K]` of a document.
    #[inline]
    pub(super) fn renew(
        &mut self,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &mut [f32],
    ) -> Result<(), NotANumber> {
        let smooth = self.weigh(frozen, theta);
        let smooth = frozen.beta * self.absorb(frozen, document, smooth, true)?;
        for ((theta, &t), &acc) in theta.iter_mut().zip(flat(&self.t)).zip(flat(&self.acc)) {
            *theta = t * (acc + smooth);
        }
        Ok(())
    }

    /// Renews `theta[K]` of a document, and returns the log-likelihood that the *old* theta gave the document.
    #[inline]
    pub(crate) fn update(
        &mut self,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &mut [f32],
    ) -> Result<f64, NotANumber> {
        self.renew(frozen, document, theta)?;
        Ok(self.log_sum(document) - normaliser(document.tokens(), frozen.alpha_sum))
    }

    /// Renews `theta[K]` until that moves it by less than `still` tokens, at most so many times.
    pub(crate) fn settle(
        &mut self,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &mut [f32],
        (most, still): (u32, f64),
    ) -> Result<(), NotANumber> {
        for _ in 0..most {
            self.before.clear();
            self.before.extend_from_slice(theta);
            self.renew(frozen, document, theta)?;
            if moved(theta, &self.before) < still {
                break;
            }
        }
        Ok(())
    }

    /// Meets the words with theta as it is: t and r are left for [`last`](DocumentStep::last).
    pub(crate) fn meet(
        &mut self,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &[f32],
    ) -> Result<(), NotANumber> {
        let smooth = self.weigh(frozen, theta);
        self.absorb(frozen, document, smooth, false).map(|_| ())
    }

    /// The log-likelihood of a document under `theta[K]`, for a document of `theta_tokens` tokens.
    pub(crate) fn log_likelihood(
        &mut self,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &[f32],
        theta_tokens: u64,
    ) -> Result<f64, NotANumber> {
        let smooth = self.weigh(&frozen.weighed(mean), theta);
        self.absorb(frozen, document, smooth, false)?;
        Ok(self.log_sum(document)
            - document.tokens() as f64 * libm::log(theta_tokens as f64 + frozen.alpha_sum))
    }
}

/// n_d * log(n_d + sum alpha): what turns the sums of s into probabilities.
fn normaliser(tokens: u64, alpha_sum: f64) -> f64 {
    tokens as f64 * libm::log(tokens as f64 + alpha_sum)
}
