//! Tiny belief propagation in blocks, the document's own share excluded: TBP's memory, BP's accuracy.
//!
//! TBP leaves the message of (w, d) inside theta_d when it renews it, and overfits short documents. BP takes it out, and
//! must store K numbers per non-zero for that. Here it is recomputed and then taken out:
//! ```text
//! m[k]  = b[k]*t[k]/s                                  TBP's message, from what is in memory
//! mu[k] = b[k]*inv[k]*(theta[k]+alpha[k]-x*m[k]) / s2  the own share taken out, then normalised
//! with b = phi[w,:]+beta, inv = 1/(lambda+W*beta), t = (theta+alpha)*inv, u = t*inv,
//!      s = dot(b, t), q = dot(b*b, u), s2 = s - x*q/s, r1 = x/s2, r2 = x*r1/s:
//! x*mu[k] = r1*b[k]*t[k] - r2*b[k]^2*u[k]
//! ```
//! Summed over a document's words that is t*acc1 - u*acc2 with acc1 += r1*b, acc2 += r2*b*b; summed over a word's documents
//! b*(G1 - b*inv*G2) with G1 += r1*t, G2 += r2*t. So a block of documents goes in two phases, each output row with one
//! writer and a fixed order of summation: first the documents (they write theta, t and the two numbers r1, r2 per
//! non-zero), then the words (they read these and write phi):
//! ```text
//! phi[w,:] <- phi[w,:]*(1 - c/n_w) + counts[w,:]       c = tokens of w in the block
//! ```
//! Negative sums are cut to 0 and the row is brought to its known total.
//!
//! Legend: as in `document`; c tokens of a word in a block, n_w in the corpus.

use super::document::{AHEAD, NotANumber};
use crate::corpus::Document;
use crate::kernel::{Kernel, Lanes, flat, flat_mut, prefetch};
use crate::topics::{Topics, stride};

/// What the update of a document or a word needs beside its own rows: the same for a whole block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constants<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) beta: f32,
    /// 1 / (lambda + W*beta).
    pub(crate) inverse: &'a [Lanes],
    /// Whether the own share is taken out (plain TBP otherwise).
    pub(crate) exclude: bool,
}

/// Scratch rows of one thread.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    u: Vec<Lanes>,
    one: Vec<Lanes>,
    two: Vec<Lanes>,
}

impl Scratch {
    pub(crate) fn new(topics: u32) -> Scratch {
        let row = vec![Lanes::ZERO; stride(topics)];
        Scratch { u: row.clone(), one: row.clone(), two: row }
    }
}

/// The document phase: renews `theta[K]`, leaves `t[K]` of the old theta and (r1, r2) of every non-zero for the word phase.
/// Returns the log-likelihood under the old theta.
pub(crate) fn document(
    constants: Constants<'_>,
    topics: &Topics,
    document: Document<'_>,
    theta: &mut [f32],
    t: &mut [Lanes],
    ratios: &mut [(f32, f32)],
    scratch: &mut Scratch,
) -> Result<f64, NotANumber> {
    let Constants { kernel, beta, inverse, exclude } = constants;
    let Scratch { u, one, two } = scratch;
    kernel.weigh(theta, flat(&topics.alpha), flat(inverse), flat_mut(t), flat_mut(u));
    if !exclude {
        u.fill(Lanes::ZERO);
    }
    one.fill(Lanes::ZERO);
    two.fill(Lanes::ZERO);
    let (mut log_likelihood, mut product, mut tokens) = (0f64, 1f64, 0u64);
    for (i, ((&w, &count), ratio)) in document.words.iter().zip(document.counts).zip(ratios).enumerate() {
        if let Some(&ahead) = document.words.get(i + AHEAD) {
            prefetch(topics.phi.row(ahead));
        }
        let phi = topics.phi.row(w);
        let x = count as f32;
        let (s, q) = kernel.excluded_sums(phi, beta, t, u);
        // Where a word is nearly all of its document the own share may leave next to nothing: keep a little.
        let rest = (s - x * q / s).max(1e-3 * s);
        let r1 = x / rest;
        let r2 = x * r1 / s;
        if !(r1.is_finite() && r2.is_finite() && s > 0.0) {
            return Err(NotANumber(s));
        }
        *ratio = (r1, r2);
        kernel.excluded_gather((r1, r2), phi, beta, one, two);
        // A logarithm per non-zero would take a tenth of the time: take it of products instead.
        let s = f64::from(s);
        match count {
            1 => product *= s,
            2 => product *= s * s,
            _ => log_likelihood += f64::from(count) * libm::log(s),
        }
        if !(1e-200..1e200).contains(&product) {
            log_likelihood += libm::log(product);
            product = 1.0;
        }
        tokens += u64::from(count);
    }
    log_likelihood += libm::log(product);
    let factor = if exclude { inverse } else { u };
    let sum = kernel.excluded_counts((t, 0.0), false, factor, one, two);
    let total = tokens as f64;
    let scale = total as f32 / sum;
    if !scale.is_finite() {
        return Err(NotANumber(sum));
    }
    for (theta, &count) in theta.iter_mut().zip(flat(one)) {
        *theta = count * scale;
    }
    Ok(log_likelihood - total * libm::log(total + topics.alpha_sum))
}

/// The word phase: renews a row of phi from the block's documents. `uses` are (t row, (r1, r2)) of the word's documents,
/// `share` = c/n_w and `tokens` = c. Adds to `delta[K]` what the row's change does to lambda.
pub(crate) fn word<'t>(
    constants: Constants<'_>,
    phi: &mut [Lanes],
    uses: impl Iterator<Item = (&'t [Lanes], (f32, f32))>,
    (tokens, share): (u64, f64),
    delta: &mut [f64],
    scratch: &mut Scratch,
) {
    let Constants { kernel, beta, inverse, exclude } = constants;
    let Scratch { one, two, .. } = scratch;
    one.fill(Lanes::ZERO);
    two.fill(Lanes::ZERO);
    for (t, (r1, r2)) in uses {
        kernel.spread((r1, if exclude { r2 } else { 0.0 }), t, one, two);
    }
    let sum = kernel.excluded_counts((phi, beta), true, inverse, one, two);
    let keep = (1.0 - share) as f32;
    let scale = if sum > 0.0 { tokens as f32 / sum } else { 0.0 };
    kernel.renew(flat_mut(phi), keep, flat(one), scale, delta);
}
