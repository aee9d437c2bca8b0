//! Inference of theta for a new document with less work: the update of `document` restricted to the
//! few topics that still change.
//!
//! After some updates of all topics, most topics have converged. Further updates only use the
//! others, in rows with one number for each of them and one number for all converged topics
//! together:
//!
//! ```text
//! row[w]  = phi[w,a] for a in moving, rest[w]
//! t       = t[a] for a in moving, 1
//! rest[w] = sum over k not in moving of (phi[w,k]+beta)*t[k]
//! ```
//! Then all topics are updated again. Only such a full update decides whether theta has converged,
//! so the criterion is that of `DocumentUpdater::converge`.
//!
//! Legend: as in `document`. Start reading at [`MovingTopics::converge`].

use super::document::{DocumentUpdater, FrozenTopics, NotANumber, check_ratios, l1_distance, mean_weighting};
use crate::corpus::Document;
use crate::simd::{Kernel, LANES, Lanes, WordRows, flat, flat_mut};

/// Number of full updates at the beginning. Seconds for 33,268 documents of pubmed at K=500: 3.9
/// with 3 updates, 2.9 with 8, 5.1 with full updates only.
const FULL_UPDATES: u32 = 8;
/// A topic is changing if an update changes it by more than this multiple of the tolerance divided
/// by K.
const CHANGE_THRESHOLD: f64 = 20.0;
/// Minimum number of topics for which copying rows pays off: with 100 topics both ways take the
/// same time.
const MIN_TOPICS: usize = 16 * LANES;

/// The rows of the topics that still change, and buffers.
#[derive(Debug, Clone, Default)]
pub(crate) struct MovingTopics {
    topics: Vec<u32>,
    words: Vec<u32>,
    rows: Vec<Lanes>,
    alpha: Vec<Lanes>,
    inverse: Vec<Lanes>,
    t: Vec<Lanes>,
    acc: Vec<Lanes>,
    theta: Vec<f32>,
    before: Vec<f32>,
    r: Vec<f32>,
}

impl MovingTopics {
    /// Updates `theta[K]` until a full update moves it by less than `tolerance` tokens, with at
    /// most `max_updates` updates.
    pub(crate) fn converge(
        &mut self,
        updater: &mut DocumentUpdater,
        frozen: &FrozenTopics<'_>,
        document: Document<'_>,
        theta: &mut [f32],
        (max_updates, tolerance): (u32, f64),
    ) -> Result<(), NotANumber> {
        let (mut left, mut dense) = (max_updates, FULL_UPDATES);
        while left > 0 {
            self.before.clear();
            self.before.extend_from_slice(theta);
            updater.update_theta(frozen, document, theta)?;
            left -= 1;
            if l1_distance(theta, &self.before) < tolerance {
                break;
            }
            dense = dense.saturating_sub(1);
            if dense == 0 && theta.len() >= MIN_TOPICS {
                let threshold = (CHANGE_THRESHOLD * tolerance / theta.len() as f64) as f32;
                self.topics.clear();
                let moves = |(now, before): (&f32, &f32)| (now - before).abs() > threshold;
                let changes = theta.iter().zip(&self.before);
                self.topics.extend((0u32..).zip(changes).filter(|&(_, c)| moves(c)).map(|(k, _)| k));
                if self.topics.len() * 2 <= theta.len() {
                    self.gather_rows(updater, frozen, document, theta);
                    self.update_moving(
                        updater.kernel(),
                        frozen.beta(),
                        document.counts,
                        (&mut left, tolerance),
                    )?;
                    for (&k, &own) in self.topics.iter().zip(&self.theta) {
                        theta[k as usize] = own;
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies the values of the changing topics and sums up the others.
    fn gather_rows(
        &mut self,
        updater: &mut DocumentUpdater,
        frozen: &FrozenTopics<'_>,
        document: Document<'_>,
        theta: &[f32],
    ) {
        let MovingTopics { topics, words, rows, alpha, inverse, t, acc, theta: own, r, .. } = self;
        let smooth = updater.set_weights_except(frozen, theta, topics);
        let stride = (topics.len() + 1).div_ceil(LANES);
        let take = |from: &[Lanes], to: &mut Vec<Lanes>| {
            let (from, start) = (flat(from), to.len());
            to.resize(start + stride, Lanes::ZERO);
            for (to, &k) in flat_mut(&mut to[start..]).iter_mut().zip(&*topics) {
                *to = from[k as usize];
            }
        };
        for row in [&mut *alpha, inverse, rows, t, acc] {
            row.clear();
        }
        take(frozen.alpha(), alpha);
        take(frozen.inverse(), inverse);
        for &w in document.words {
            let row = frozen.row(w);
            take(row, rows);
            let start = rows.len() - stride;
            flat_mut(&mut rows[start..])[topics.len()] = updater.dot(row) + smooth;
        }
        t.resize(stride, Lanes::ZERO);
        acc.resize(stride, Lanes::ZERO);
        flat_mut(t)[topics.len()] = 1.0;
        own.clear();
        own.extend(topics.iter().map(|&k| theta[k as usize]));
        words.clear();
        words.extend(0..document.words.len() as u32);
        r.resize(document.words.len(), 0.0);
    }

    /// Updates the changing topics until they have converged.
    fn update_moving(
        &mut self,
        kernel: Kernel,
        beta: f32,
        counts: &[u32],
        (left, tolerance): (&mut u32, f64),
    ) -> Result<(), NotANumber> {
        let MovingTopics { topics, words, rows, alpha, inverse, t, acc, theta, before, r } = self;
        let stride = t.len();
        while *left > 0 {
            *left -= 1;
            before.clear();
            before.extend_from_slice(theta);
            mean_weighting(kernel, theta, alpha, inverse, t);
            let smooth = beta * flat(t)[..topics.len()].iter().sum::<f32>();
            acc.fill(Lanes::ZERO);
            let input = WordRows { rows, stride, words, counts, t, smooth, add: true, r };
            let sum = beta * kernel.accumulate_words(input, acc);
            check_ratios(r)?;
            for ((theta, &t), &acc) in theta.iter_mut().zip(flat(t)).zip(flat(acc)) {
                *theta = t * (acc + sum);
            }
            if l1_distance(theta, before) < tolerance {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::DocumentInference;
    use crate::algorithms::dense::inference::FixedPointInference;
    use crate::topics::Topics;

    /// For documents of a few topics each, the restricted and the full updates give the same theta.
    #[test]
    fn restricted_updates_match_full_updates() {
        let (count, words) = (300u32, 900u32);
        let mut state = 7u64;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(below)) as u32
        };
        // Each word belongs to two topics.
        let homes: Vec<[u32; 2]> = (0..words).map(|w| [w % count, random(count)]).collect();
        let alpha = vec![2.0 / count as f32; count as usize];
        let mut topics = Topics::new(words, count, &alpha, 0.01).unwrap();
        for (w, homes) in (0u32..).zip(&homes) {
            let row = flat_mut(topics.phi.row_mut(w));
            for &k in homes {
                row[k as usize] += 40.0;
            }
        }
        topics.sum_lambda();
        for d in 0..20 {
            let own: Vec<u32> = (0..4).map(|_| random(count)).collect();
            let ids: Vec<u32> =
                (0..words).filter(|&w| homes[w as usize].iter().any(|k| own.contains(k))).collect();
            let counts: Vec<u32> = ids.iter().map(|_| 1 + random(3)).collect();
            let document = Document { words: &ids, counts: &counts };
            let tokens = document.tokens() as f32;
            let even = vec![tokens / count as f32; count as usize];
            let mut first: Option<Vec<f32>> = None;
            for kernel in Kernel::all() {
                let mut by_few = FixedPointInference::new(&topics, kernel);
                let mut by_all = by_few.clone().with_all_topics();
                let (mut few, mut all) = (even.clone(), even.clone());
                by_few.theta(d, document, &mut few).unwrap();
                by_all.theta(d, document, &mut all).unwrap();
                let apart = l1_distance(&few, &all) / f64::from(tokens);
                assert!(apart < 0.005, "{kernel:?} {d} {apart}");
                assert!((few.iter().sum::<f32>() - tokens).abs() < 1e-3 * tokens);
                assert!(!by_few.moving.unwrap().topics.is_empty());
                assert!(first.get_or_insert_with(|| few.clone()) == &few, "{kernel:?} {d}");
            }
        }
    }
}
