//! Finds the words that represent a topic: all words that are among its [`SHOWN`] most relevant
//! words for some weight l in 0, 0.01, ..., 1.
//!
//! Start reading at [`lists`].
//!
//! ```text
//! relevance = l log p(w|k) + (1-l) log(p(w|k)/p(w)) = a + t v
//! a = log p(w|k),   v = -log p(w),   t = 1-l
//! ```
//!
//! The algorithm takes two passes over the words for a band of topics. The first pass finds the
//! best words for a few values of l, which give a lower bound of the score for all values. The
//! second pass collects the best words for every l. Nearly all words are rejected by a few
//! comparisons: the score increases with t, so a word whose score at the largest t of a range does
//! not exceed the lowest threshold of the range is not among the best for any t of the range.

use rayon::prelude::*;

use super::distance::ln;
use crate::model::Model;

/// Number of words that are shown for one weight l.
pub(super) const SHOWN: usize = 30;
/// Number of values of the weight l.
const STEPS: usize = 101;
/// Number of values of the weight l that are rejected together.
const STEPS_PER_RANGE: usize = 11;
/// Number of topics that are processed together: their entries of a row of phi share a cache line.
const TOPICS_PER_BAND: usize = 16;

/// Bytes of the lists of a band of topics.
pub(super) const BAND_BYTES: u64 = (TOPICS_PER_BAND * STEPS * SHOWN * 16) as u64;

/// Values of t in the first pass.
const COARSE_T: [f64; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];

/// Returns the value of t of a step, from 1 (l = 0) down to 0 (l = 1).
fn t(step: usize) -> f64 {
    1.0 - step as f64 / (STEPS - 1) as f64
}

/// The most relevant words of one topic for several values of t, in descending order of t.
struct RelevanceLists {
    limit: usize,
    t: Vec<f64>,
    /// For each value of t the best words so far as (score, word), unordered.
    lists: Vec<Vec<(f64, u32)>>,
    /// For each value of t the score that a word must exceed. Ties are won by the earlier word,
    /// since words come in ascending order of ids.
    threshold: Vec<f64>,
    /// Number of values of t per range.
    range: usize,
    /// For each range its lowest threshold and its largest t.
    ranges: Vec<(f64, f64)>,
}

impl RelevanceLists {
    fn new(limit: usize, t: Vec<f64>, threshold: Vec<f64>, range: usize) -> RelevanceLists {
        let lowest = |some: &[f64]| some.iter().copied().fold(f64::INFINITY, f64::min);
        let ranges = threshold
            .chunks(range)
            .zip(t.chunks(range))
            .map(|(threshold, t)| (lowest(threshold), t[0]))
            .collect();
        RelevanceLists { limit, lists: vec![Vec::new(); t.len()], t, threshold, range, ranges }
    }

    /// Creates the lists of the first pass.
    fn coarse(limit: usize) -> RelevanceLists {
        RelevanceLists::new(limit, COARSE_T.to_vec(), vec![f64::NEG_INFINITY; COARSE_T.len()], 1)
    }

    /// Creates the lists of the second pass. The thresholds are the scores of the last shown word
    /// among the words that the first pass found. `v` returns -log p(w).
    fn fine(first: &RelevanceLists, v: impl Fn(u32) -> f64) -> RelevanceLists {
        let mut found: Vec<(u32, f64, f64)> = Vec::new();
        for (t, list) in first.t.iter().zip(&first.lists) {
            found.extend(list.iter().map(|&(score, word)| (word, score - t * v(word), v(word))));
        }
        found.sort_by_key(|entry| entry.0);
        found.dedup_by_key(|entry| entry.0);
        let threshold = |step: usize| {
            let mut scores: Vec<f64> = found.iter().map(|&(_, a, v)| a + t(step) * v).collect();
            if scores.len() < first.limit || first.limit == 0 {
                return f64::NEG_INFINITY;
            }
            let last = *scores.select_nth_unstable_by(first.limit - 1, |a, b| b.total_cmp(a)).1;
            // a was reconstructed from the score, so its last bits may differ.
            last - 1e-9
        };
        RelevanceLists::new(
            first.limit,
            (0..STEPS).map(t).collect(),
            (0..STEPS).map(threshold).collect(),
            STEPS_PER_RANGE,
        )
    }

    /// Adds a word to all lists for which its score is high enough.
    #[inline]
    fn offer(&mut self, a: f64, v: f64, word: u32) {
        for range in 0..self.ranges.len() {
            let (threshold, t) = self.ranges[range];
            if a + t * v > threshold {
                self.try_range(range, a, v, word);
            }
        }
    }

    /// Adds a word to the lists of one range for which its score is high enough.
    fn try_range(&mut self, range: usize, a: f64, v: f64, word: u32) {
        let steps = range * self.range..((range + 1) * self.range).min(self.t.len());
        let mut lowest = f64::INFINITY;
        for step in steps {
            let score = a + self.t[step] * v;
            if score > self.threshold[step] {
                let list = &mut self.lists[step];
                if list.len() == self.limit {
                    let last = worst(list);
                    list[last] = (score, word);
                } else {
                    list.push((score, word));
                }
                if list.len() == self.limit {
                    self.threshold[step] = list[worst(list)].0;
                }
            }
            lowest = lowest.min(self.threshold[step]);
        }
        self.ranges[range].0 = lowest;
    }
}

/// Returns the index of the lowest score; among ties that of the largest word id.
fn worst(list: &[(f64, u32)]) -> usize {
    let mut at = 0;
    for (i, entry) in list.iter().enumerate() {
        if entry.0.total_cmp(&list[at].0).then(list[at].1.cmp(&entry.1)).is_lt() {
            at = i;
        }
    }
    at
}

/// Returns the words of every topic, the most probable first, computed on the threads of the
/// current pool. `shares` contains p(w) of every word.
pub(super) fn lists(model: &Model, shares: &[f64]) -> Vec<Vec<u32>> {
    let topics = model.topics() as usize;
    let limit = SHOWN.min(model.words() as usize);
    let beta = f64::from(model.beta());
    let beta_sum = model.topics.beta_sum();
    let lambda = &model.topics.lambda[..topics];
    let neg_log_p: Vec<f64> = shares.iter().map(|&share| -ln(share)).collect();
    let band_lists = |first: usize| -> Vec<Vec<u32>> {
        let band = first..(first + TOPICS_PER_BAND).min(topics);
        let inverse: Vec<f64> = lambda[band.clone()].iter().map(|l| 1.0 / (l + beta_sum)).collect();
        let floor: Vec<f64> = inverse.iter().map(|inverse| ln(beta * inverse)).collect();
        let pass = |best: &mut [RelevanceLists]| {
            for (w, &v) in (0..model.words()).zip(&neg_log_p) {
                for (i, &value) in model.phi(w)[band.clone()].iter().enumerate() {
                    let a = if value > 0.0 { ln((f64::from(value) + beta) * inverse[i]) } else { floor[i] };
                    best[i].offer(a, v, w);
                }
            }
        };
        let mut coarse: Vec<RelevanceLists> = band.clone().map(|_| RelevanceLists::coarse(limit)).collect();
        pass(&mut coarse);
        let mut best: Vec<RelevanceLists> =
            coarse.iter().map(|coarse| RelevanceLists::fine(coarse, |w| neg_log_p[w as usize])).collect();
        drop(coarse);
        pass(&mut best);
        let list = |(k, best): (usize, RelevanceLists)| {
            let mut words: Vec<u32> = best.lists.into_iter().flatten().map(|(_, word)| word).collect();
            words.sort_unstable();
            words.dedup();
            words.sort_by(|&v, &w| model.phi(w)[k].total_cmp(&model.phi(v)[k]));
            words
        };
        band.zip(best).map(list).collect()
    };
    let starts: Vec<usize> = (0..topics).step_by(TOPICS_PER_BAND).collect();
    starts.into_par_iter().flat_map_iter(band_lists).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::model;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_lists_are_those_of_sorting(
            topics in 1u32..20, words in 1u32..200, beta in 0.01f32..1.0,
            counts in prop::collection::vec(prop_oneof![1 => Just(0f32), 2 => 0f32..9.0, 1 => 0f32..900.0], 97),
        ) {
            let model = model(topics, words, beta, |w, k| counts[(w * 13 + k * 29 + w * k) as usize % counts.len()]);
            let shares: Vec<f64> = (0..words).map(|w| model.word_share(w)).collect();
            let found = lists(&model, &shares);
            for k in 0..topics {
                let mut right: Vec<u32> = Vec::new();
                for step in 0..STEPS {
                    let score = |w: u32| ln(model.probability(w, k)) - t(step) * ln(shares[w as usize]);
                    let mut all: Vec<(f64, u32)> = (0..words).map(|w| (score(w), w)).collect();
                    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                    // Scores that differ by rounding errors only may be in either order.
                    let edge = all.get(SHOWN - 1).map_or(f64::NEG_INFINITY, |last| last.0);
                    let sure = all.iter().filter(|entry| entry.0 > edge + 1e-12).map(|entry| entry.1);
                    for w in sure {
                        prop_assert!(found[k as usize].contains(&w), "topic {} word {} step {}", k, w, step);
                    }
                    right.extend(all.iter().filter(|entry| entry.0 >= edge - 1e-12).map(|entry| entry.1));
                }
                for w in &found[k as usize] {
                    prop_assert!(right.contains(w), "topic {} word {}", k, w);
                }
                let p: Vec<f32> = found[k as usize].iter().map(|&w| model.phi(w)[k as usize]).collect();
                prop_assert!(p.windows(2).all(|pair| pair[0] >= pair[1]));
            }
        }
    }
}
