//! Asynchronous tiny belief propagation (aTBP).
//!
//! One set of matrices, renewed at every non-zero, documents in a random order drawn once:
//! ```text
//! theta[d,:] *= (n_d-x)/n_d      phi[w,:] *= (n_w-x)/n_w      lambda *= (N-x)/N
//! eta[k] = (phi[w,k]+beta)/(lambda[k]+W*beta) * (theta[d,k]+alpha[k])
//! theta[d,:], phi[w,:], lambda += x*eta/sum(eta)
//! ```
//! lambda is a quantity of its own here, near to the column sums of phi but not equal to them.
//!
//! Bytes: phi once, theta once, n_w. Cost: K divisions per non-zero, since lambda moves with every one.
//! The log-likelihood is not free: the state changes under the sum.

use super::document::NotANumber;
use crate::corpus::Document;
use crate::kernel::{Kernel, Lanes, flat, flat_mut};
use crate::topics::{Topics, stride};

#[derive(Debug)]
pub(crate) struct Atbp {
    kernel: Kernel,
    word_tokens: Vec<u64>,
    tokens: u64,
    eta: Vec<Lanes>,
}

impl Atbp {
    pub(crate) fn new(topics: &Topics, word_tokens: Vec<u64>, kernel: Kernel) -> Atbp {
        let tokens = word_tokens.iter().sum();
        Atbp { kernel, word_tokens, tokens, eta: vec![Lanes::ZERO; stride(topics.count)] }
    }

    pub(crate) fn document(
        &mut self,
        topics: &mut Topics,
        document: Document<'_>,
        theta: &mut [f32],
    ) -> Result<(), NotANumber> {
        let beta_sum = topics.beta_sum();
        let beta = topics.beta;
        let length = document.tokens();
        // What is left of a total when x of it is taken out, as a factor.
        let rest = |total: u64, x: u64| total.saturating_sub(x) as f64 / total as f64;
        for (&w, &count) in document.words.iter().zip(document.counts) {
            let x = u64::from(count);
            let of_document = rest(length, x) as f32;
            let of_word = rest(self.word_tokens[w as usize], x) as f32;
            let of_all = rest(self.tokens, x);
            let phi = flat_mut(topics.phi.row_mut(w));
            let alpha = flat(&topics.alpha);
            let eta = flat_mut(&mut self.eta);
            for ((((eta, theta), phi), lambda), &alpha) in eta
                .iter_mut()
                .zip(theta.iter_mut())
                .zip(phi.iter_mut())
                .zip(topics.lambda.iter_mut())
                .zip(alpha)
            {
                *theta *= of_document;
                *phi *= of_word;
                *lambda *= of_all;
                *eta = (*phi + beta) * (*theta + alpha) / ((*lambda + beta_sum) as f32);
            }
            let sum = self.kernel.sum(&self.eta);
            let r = x as f32 / sum;
            if !(r.is_finite() && r > 0.0) {
                return Err(NotANumber(sum));
            }
            for (((&eta, theta), phi), lambda) in
                flat(&self.eta).iter().zip(theta.iter_mut()).zip(phi.iter_mut()).zip(topics.lambda.iter_mut())
            {
                let message = r * eta;
                *theta += message;
                *phi += message;
                *lambda += f64::from(message);
            }
        }
        Ok(())
    }
}
