//! The words that a topic may be shown by: all that are among its [`SHOWN`] most relevant for some lambda in 0, 0.01 ... 1.
//!
//! ```text
//! relevance = l log p(w|k) + (1-l) log(p(w|k)/p(w)) = a + t v,   a = log p(w|k), v = -log p(w), t = 1-l
//! ```
//!
//! Two passes over the words for some topics at a time. The first finds the best for a few values of lambda; they tell for all values how
//! good a word must be at least. The second holds the best for every lambda, and nearly all words are turned away by a few comparisons:
//! the score grows with t, so a word whose score at the end of a range of t is not above the least that counts anywhere in the range
//! is none of the best in it.

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

/// Bytes of the lists of some topics that are gone through together.
pub(super) const BYTES: u64 = (TOGETHER * STEPS * SHOWN * 16) as u64;

/// Values of t for the first pass.
const FEW: [f64; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];

fn t(step: usize) -> f64 {
    1.0 - step as f64 / (STEPS - 1) as f64
}

/// The best words of one topic for some values of t, which descend.
struct Best {
    most: usize,
    t: Vec<f64>,
    /// For each value the best so far, in no order.
    lists: Vec<Vec<(f64, u32)>>,
    /// The least score that a word must be above; equal ones come too late, since ids ascend.
    least: Vec<f64>,
    /// How many values are turned away together; the least of `least` in each such range, and the largest t there.
    range: usize,
    ranges: Vec<(f64, f64)>,
}

impl Best {
    fn new(most: usize, t: Vec<f64>, least: Vec<f64>, range: usize) -> Best {
        let lowest = |some: &[f64]| some.iter().copied().fold(f64::INFINITY, f64::min);
        let ranges =
            least.chunks(range).zip(t.chunks(range)).map(|(least, t)| (lowest(least), t[0])).collect();
        Best { most, lists: vec![Vec::new(); t.len()], t, least, range, ranges }
    }

    /// For the first pass.
    fn of_few(most: usize) -> Best {
        Best::new(most, FEW.to_vec(), vec![f64::NEG_INFINITY; FEW.len()], 1)
    }

    /// For the second: a word must be as good as the last of those that the first has found.
    fn of_all(first: &Best, v: impl Fn(u32) -> f64) -> Best {
        let mut found: Vec<(u32, f64, f64)> = Vec::new();
        for (t, list) in first.t.iter().zip(&first.lists) {
            found.extend(list.iter().map(|&(score, word)| (word, score - t * v(word), v(word))));
        }
        found.sort_by_key(|entry| entry.0);
        found.dedup_by_key(|entry| entry.0);
        let least = |step: usize| {
            let mut scores: Vec<f64> = found.iter().map(|&(_, a, v)| a + t(step) * v).collect();
            if scores.len() < first.most || first.most == 0 {
                return f64::NEG_INFINITY;
            }
            let last = *scores.select_nth_unstable_by(first.most - 1, |a, b| b.total_cmp(a)).1;
            // a is right but for its last bits here.
            last - 1e-9
        };
        Best::new(first.most, (0..STEPS).map(t).collect(), (0..STEPS).map(least).collect(), RANGE)
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
        let steps = range * self.range..((range + 1) * self.range).min(self.t.len());
        let mut lowest = f64::INFINITY;
        for step in steps {
            let score = a + self.t[step] * v;
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
            lowest = lowest.min(self.least[step]);
        }
        self.ranges[range].0 = lowest;
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
    let rare: Vec<f64> = shares.iter().map(|&share| -ln(share)).collect();
    let some = |first: usize| -> Vec<Vec<u32>> {
        let band = first..(first + TOGETHER).min(topics);
        let inverse: Vec<f64> = lambda[band.clone()].iter().map(|l| 1.0 / (l + beta_sum)).collect();
        let floor: Vec<f64> = inverse.iter().map(|inverse| ln(beta * inverse)).collect();
        let pass = |best: &mut [Best]| {
            for (w, &v) in (0..model.words()).zip(&rare) {
                for (i, &value) in model.phi(w)[band.clone()].iter().enumerate() {
                    let a = if value > 0.0 { ln((f64::from(value) + beta) * inverse[i]) } else { floor[i] };
                    best[i].offer(a, v, w);
                }
            }
        };
        let mut few: Vec<Best> = band.clone().map(|_| Best::of_few(most)).collect();
        pass(&mut few);
        let mut best: Vec<Best> = few.iter().map(|few| Best::of_all(few, |w| rare[w as usize])).collect();
        drop(few);
        pass(&mut best);
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
