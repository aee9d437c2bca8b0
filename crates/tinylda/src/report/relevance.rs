//! The words that a topic may be shown by: all that are among its [`SHOWN`] most relevant for some lambda in 0, 0.01 ... 1.
//!
//! ```text
//! relevance = l log p(w|k) + (1-l) log(p(w|k)/p(w)) = a + t v,   a = log p(w|k), v = -log p(w), t = 1-l
//! ```
//!
//! One pass over the words for some topics at a time. For every lambda the best so far are held, and nearly all words are turned away by
//! a few comparisons: the score grows with t, so a word whose score at the end of a range of t is not above the least that counts anywhere
//! in the range is none of the best in it.

use rayon::prelude::*;

use super::distance::ln;
use crate::model::Model;

/// Words that a list shows for one lambda.
pub(super) const SHOWN: usize = 30;
/// Values of lambda.
const STEPS: usize = 101;
/// Values that are turned away together.
const RANGE: usize = 11;
/// Topics that are gone through together: their phi of a word lies in one cache line.
const TOGETHER: usize = 16;

fn t(step: usize) -> f64 {
    1.0 - step as f64 / (STEPS - 1) as f64
}

/// The best words of one topic for every lambda.
struct Best {
    most: usize,
    /// For each lambda the best so far, in no order.
    lists: Vec<Vec<(f64, u32)>>,
    /// The least score that a word must be above; equal ones come too late, since ids ascend.
    least: [f64; STEPS],
    /// The least of these in each range, and the largest t there.
    ranges: Vec<(f64, f64)>,
}

impl Best {
    fn new(most: usize) -> Best {
        let ranges = (0..STEPS).step_by(RANGE).map(|from| (f64::NEG_INFINITY, t(from))).collect();
        Best { most, lists: vec![Vec::new(); STEPS], least: [f64::NEG_INFINITY; STEPS], ranges }
    }

    #[inline]
    fn offer(&mut self, a: f64, v: f64, word: u32) {
        for range in 0..self.ranges.len() {
            let (least, t) = self.ranges[range];
            if a + t * v > least {
                self.try_range(range, a, v, word);
            }
        }
    }

    fn try_range(&mut self, range: usize, a: f64, v: f64, word: u32) {
        let steps = range * RANGE..((range + 1) * RANGE).min(STEPS);
        for step in steps.clone() {
            let score = a + t(step) * v;
            if score > self.least[step] {
                let list = &mut self.lists[step];
                if list.len() == self.most {
                    let last = worst(list);
                    list[last] = (score, word);
                } else {
                    list.push((score, word));
                }
                if list.len() == self.most {
                    self.least[step] = list[worst(list)].0;
                }
            }
        }
        self.ranges[range].0 = self.least[steps].iter().copied().fold(f64::INFINITY, f64::min);
    }
}

/// The place of the least score; of equal ones the later word.
fn worst(list: &[(f64, u32)]) -> usize {
    let mut at = 0;
    for (i, entry) in list.iter().enumerate() {
        if entry.0.total_cmp(&list[at].0).then(list[at].1.cmp(&entry.1)).is_lt() {
            at = i;
        }
    }
    at
}

/// Every topic's words, the most probable first, on the threads of the current pool. `shares` is p(w).
pub(super) fn lists(model: &Model, shares: &[f64]) -> Vec<Vec<u32>> {
    let topics = model.topics() as usize;
    let most = SHOWN.min(model.words() as usize);
    let beta = f64::from(model.beta());
    let beta_sum = model.topics.beta_sum();
    let lambda = &model.topics.lambda[..topics];
    let some = |first: usize| -> Vec<Vec<u32>> {
        let band = first..(first + TOGETHER).min(topics);
        let inverse: Vec<f64> = lambda[band.clone()].iter().map(|l| 1.0 / (l + beta_sum)).collect();
        let floor: Vec<f64> = inverse.iter().map(|inverse| ln(beta * inverse)).collect();
        let mut best: Vec<Best> = band.clone().map(|_| Best::new(most)).collect();
        for (w, &share) in (0..model.words()).zip(shares) {
            let v = -ln(share);
            for (i, &value) in model.phi(w)[band.clone()].iter().enumerate() {
                let a = if value > 0.0 { ln((f64::from(value) + beta) * inverse[i]) } else { floor[i] };
                best[i].offer(a, v, w);
            }
        }
        let list = |(k, best): (usize, Best)| {
            let mut words: Vec<u32> = best.lists.into_iter().flatten().map(|(_, word)| word).collect();
            words.sort_unstable();
            words.dedup();
            words.sort_by(|&v, &w| model.phi(w)[k].total_cmp(&model.phi(v)[k]));
            words
        };
        band.zip(best).map(list).collect()
    };
    let starts: Vec<usize> = (0..topics).step_by(TOGETHER).collect();
    starts.into_par_iter().flat_map_iter(some).collect()
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
                    // Two scores that differ by rounding alone may stand in either order.
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
