//! Asynchronous tiny belief propagation (aTBP).
//!
//! There is one set of matrices, which is updated at every non-zero. Documents are visited in a
//! random order, which is drawn once:
//! ```text
//! theta[d,:] *= (n_d-x)/n_d      phi[w,:] *= (n_w-x)/n_w      lambda *= (N-x)/N
//! eta[k] = (phi[w,k]+beta)/(lambda[k]+W*beta) * (theta[d,k]+alpha[k])
//! theta[d,:], phi[w,:], lambda += x*eta/sum(eta)
//! ```
//! Legend: K topics, W words; x a count; n_d, n_w and N the tokens of the document, the word and
//! the corpus; eta the message before it is normalized.
//!
//! lambda is a separate quantity here, close to the column sums of phi but not equal to them.
//!
//! Memory: phi once, theta once, n_w. Cost: K divisions per non-zero, since lambda changes with
//! every one. The log-likelihood is not a by-product, because the state changes during the sum.
//!
//! A factor such as (n_w-x)/n_w is 1 in f32 if n_w is large. Therefore theta is in f64 while its
//! document is visited, and lambda and the rows of heavy words always are.

use std::collections::HashMap;

use super::document::NotANumber;
use crate::algorithms::piece::{PieceView, StateKind};
use crate::algorithms::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::corpus::Document;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{AsyncRows, Kernel, Lanes, PhiCell, flat, flat_mut};
use crate::topics::{Topics, heavy_words, stride};

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    matrices: 1,
    state: StateKind::Theta,
    shuffles: true,
    threads: false,
    ..Capabilities::PLAIN
};

#[derive(Debug)]
pub(crate) struct Atbp {
    kernel: Kernel,
    word_tokens: Vec<u64>,
    tokens: u64,
    eta: Vec<Lanes>,
    theta: Vec<f64>,
    /// Rows of heavy words in f64; phi has their rounded copies.
    heavy: HashMap<u32, Vec<f64>>,
}

impl Atbp {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Atbp {
        let word_tokens = setup.word_tokens.clone();
        let tokens = word_tokens.iter().sum();
        let row = |w| flat(topics.phi.row(w)).iter().map(|&v| f64::from(v)).collect();
        let heavy = heavy_words(&word_tokens).map(|w| (w, row(w))).collect();
        let theta = vec![0.0; topics.count as usize];
        let eta = vec![Lanes::ZERO; stride(topics.count)];
        Atbp { kernel: setup.kernel, word_tokens, tokens, eta, theta, heavy }
    }

    /// Updates theta of a document, and the topics.
    pub(crate) fn document(
        &mut self,
        topics: &mut Topics,
        document: Document<'_>,
        theta: &mut [f32],
    ) -> Result<(), NotANumber> {
        for (wide, &narrow) in self.theta.iter_mut().zip(theta.iter()) {
            *wide = f64::from(narrow);
        }
        let length = document.tokens();
        for (&w, &x) in document.words.iter().zip(document.counts) {
            if let Some(mut row) = self.heavy.remove(&w) {
                let done = self.visit(topics, &mut row, w, x, length);
                for (narrow, &wide) in flat_mut(topics.phi.row_mut(w)).iter_mut().zip(&row) {
                    *narrow = wide as f32;
                }
                self.heavy.insert(w, row);
                done?;
            } else {
                let mut phi = std::mem::take(&mut topics.phi);
                let done = self.visit(topics, flat_mut(phi.row_mut(w)), w, x, length);
                topics.phi = phi;
                done?;
            }
        }
        for (&wide, narrow) in self.theta.iter().zip(theta) {
            *narrow = wide as f32;
        }
        Ok(())
    }

    /// Updates one non-zero: x tokens of word w, whose row is phi, in a document of `length`
    /// tokens.
    #[inline]
    fn visit<C: PhiCell>(
        &mut self,
        topics: &mut Topics,
        phi: &mut [C],
        w: u32,
        x: u32,
        length: u64,
    ) -> Result<(), NotANumber> {
        // Fraction of a total that remains without x of it.
        let rest = |total: u64| total.saturating_sub(u64::from(x)) as f64 / total as f64;
        let (of_document, of_word, of_all) =
            (rest(length), rest(self.word_tokens[w as usize]), rest(self.tokens));
        let beta_sum = f64::from(self.word_tokens.len() as u32) * f64::from(topics.beta);
        let eta = flat_mut(&mut self.eta);
        let rows = AsyncRows { theta: &mut self.theta, phi, lambda: &mut topics.lambda };
        let factors = (of_document, of_word, of_all);
        self.kernel.decay(eta, rows, factors, flat(&topics.alpha), topics.beta, beta_sum);
        let sum = self.kernel.sum(&self.eta);
        let r = x as f32 / sum;
        if !(r.is_finite() && r > 0.0) {
            return Err(NotANumber(sum));
        }
        let rows = AsyncRows { theta: &mut self.theta, phi, lambda: &mut topics.lambda };
        self.kernel.add_message(r, flat(&self.eta), rows);
        Ok(())
    }
}

impl Updater for Atbp {
    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        view.for_each(|document, theta| Ok(self.document(topics, document, theta)?))?;
        Ok(PieceStats::default())
    }

    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
        topics.save(out)?;
        heavy_words(&self.word_tokens).filter_map(|w| self.heavy.get(&w)).try_for_each(|row| out.numbers(row))
    }

    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
        topics.restore(from)?;
        for w in heavy_words(&self.word_tokens) {
            if let Some(row) = self.heavy.get_mut(&w) {
                from.numbers(row.len(), row)?;
            }
        }
        Ok(())
    }
}
