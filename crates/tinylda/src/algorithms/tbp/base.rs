//! Base counts: counts of a model that is updated, as part of phi.
//!
//! They belong to no document, so they stay the same while the messages of the documents change.
//! Their sums are part of `lambda[k]` as well: a token of the model counts like a token of the
//! corpus, times the weight.

use super::messages::UNITS_PER_TOKEN;
use crate::simd::flat;
use crate::topics::Matrix;

/// Counts of a model, by words of a training.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BaseCounts<'a> {
    /// phi of the model, in tokens.
    pub(crate) phi: &'a Matrix,
    /// Word of the training for each word of the model.
    pub(crate) words: &'a [u32],
    /// Factor of all counts.
    pub(crate) weight: f64,
}

impl BaseCounts<'_> {
    /// Returns the units of a word of the model, as pairs of a topic and its units.
    ///
    /// The running sum of the row is rounded, and not each number, so that many small counts keep
    /// their sum. The counts of `tbp` are whole units, which a weight of 1 does not change.
    pub(super) fn units(&self, word: u32) -> impl Iterator<Item = (u32, i32)> {
        let scale = self.weight * f64::from(UNITS_PER_TOKEN);
        let (mut sum, mut done) = (0f64, 0i64);
        (0..).zip(flat(self.phi.row(word))).filter_map(move |(topic, &n)| {
            sum += f64::from(n) * scale;
            let units = sum.round() as i64 - done;
            done += units;
            (units > 0).then_some((topic, units as i32))
        })
    }

    /// Returns the number of tokens, rounded down.
    pub(crate) fn tokens(&self) -> u64 {
        let units = (0..self.words.len() as u32).map(|word| self.word_units(word));
        units.fold(0, u64::saturating_add) / u64::from(UNITS_PER_TOKEN)
    }

    /// Returns the number of units of a word of the model.
    pub(crate) fn word_units(&self, word: u32) -> u64 {
        let tokens: f64 = flat(self.phi.row(word)).iter().map(|&n| f64::from(n)).sum();
        (tokens * self.weight * f64::from(UNITS_PER_TOKEN)).round() as u64
    }
}
