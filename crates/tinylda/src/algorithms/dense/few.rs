//! theta of a new document, found with less work: the update of `document` over the few topics that still move.
//!
//! After some updates of all topics most of them stand still. The rest of a document's way goes over the others alone, in rows that
//! have no more than these and one number for all that stand still:
//!
//! ```text
//! row[w] = phi[w,a] for a in moving, rest[w]        rest[w] = sum over k not in moving of (phi[w,k]+beta)*t[k]
//! t      = t[a] for a in moving, 1
//! ```
//! Then comes an update of all topics again, which alone says whether theta stands still: the definition of the end is that of
//! `DocumentStep::settle`.
//!
//! Legend: as in `document`.

use super::document::{DocumentStep, Frozen, NotANumber, mean, moved, usable};
use crate::corpus::Document;
use crate::simd::{Kernel, LANES, Lanes, Met, flat, flat_mut};

/// So many updates of all topics at first. pubmed, K=500, seconds for 33,268 documents: 3 updates 3.9, 8 updates 2.9, all 5.1.
const FIRST: u32 = 8;
/// A topic moves if an update changes it by more than so many Kths of what all together may change.
const MOVES: f64 = 20.0;
/// Fewer topics than this are not worth the copy: with 100 both ways take the same time.
const LEAST: usize = 16 * LANES;

/// The rows of the topics that move, and their scratch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Few {
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

impl Few {
    /// Renews `theta[K]` until that moves it by less than `still` tokens, at most so many times.
    pub(crate) fn settle(
        &mut self,
        step: &mut DocumentStep,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &mut [f32],
        (most, still): (u32, f64),
    ) -> Result<(), NotANumber> {
        let (mut left, mut dense) = (most, FIRST);
        while left > 0 {
            self.before.clear();
            self.before.extend_from_slice(theta);
            step.renew(frozen, document, theta)?;
            left -= 1;
            if moved(theta, &self.before) < still {
                break;
            }
            dense = dense.saturating_sub(1);
            if dense == 0 && theta.len() >= LEAST {
                let least = (MOVES * still / theta.len() as f64) as f32;
                self.topics.clear();
                let moves = |(now, before): (&f32, &f32)| (now - before).abs() > least;
                let changes = theta.iter().zip(&self.before);
                self.topics.extend((0u32..).zip(changes).filter(|&(_, c)| moves(c)).map(|(k, _)| k));
                if self.topics.len() * 2 <= theta.len() {
                    self.gather(step, frozen, document, theta);
                    self.descend(step.kernel(), frozen.beta(), document.counts, (&mut left, still))?;
                    for (&k, &own) in self.topics.iter().zip(&self.theta) {
                        theta[k as usize] = own;
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies what belongs to the topics that move, and sums up the rest.
    fn gather(
        &mut self,
        step: &mut DocumentStep,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &[f32],
    ) {
        let Few { topics, words, rows, alpha, inverse, t, acc, theta: own, r, .. } = self;
        let smooth = step.weigh_all_but(frozen, theta, topics);
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
            flat_mut(&mut rows[start..])[topics.len()] = step.dot(row) + smooth;
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

    /// Updates of the topics that move, until these stand still.
    fn descend(
        &mut self,
        kernel: Kernel,
        beta: f32,
        counts: &[u32],
        (left, still): (&mut u32, f64),
    ) -> Result<(), NotANumber> {
        let Few { topics, words, rows, alpha, inverse, t, acc, theta, before, r } = self;
        let stride = t.len();
        while *left > 0 {
            *left -= 1;
            before.clear();
            before.extend_from_slice(theta);
            mean(kernel, theta, alpha, inverse, t);
            let smooth = beta * flat(t)[..topics.len()].iter().sum::<f32>();
            acc.fill(Lanes::ZERO);
            let met = Met { rows, stride, words, counts, t, smooth, add: true, r };
            let sum = beta * kernel.absorb(met, acc);
            usable(r)?;
            for ((theta, &t), &acc) in theta.iter_mut().zip(flat(t)).zip(flat(acc)) {
                *theta = t * (acc + sum);
            }
            if moved(theta, before) < still {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::NewDocuments;
    use crate::algorithms::dense::inference::Fixed;
    use crate::topics::Topics;

    /// Documents of a few topics each: what is found over few topics is what is found over all.
    #[test]
    fn few_topics_give_what_all_give() {
        let (count, words) = (300u32, 900u32);
        let mut state = 7u64;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(below)) as u32
        };
        // Each word is at home in two topics.
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
                let mut by_few = Fixed::new(&topics, kernel);
                let mut by_all = by_few.clone().over_all();
                let (mut few, mut all) = (even.clone(), even.clone());
                by_few.theta(d, document, &mut few).unwrap();
                by_all.theta(d, document, &mut all).unwrap();
                let apart = moved(&few, &all) / f64::from(tokens);
                assert!(apart < 0.005, "{kernel:?} {d} {apart}");
                assert!((few.iter().sum::<f32>() - tokens).abs() < 1e-3 * tokens);
                assert!(!by_few.few.unwrap().topics.is_empty());
                assert!(first.get_or_insert_with(|| few.clone()) == &few, "{kernel:?} {d}");
            }
        }
    }
}
