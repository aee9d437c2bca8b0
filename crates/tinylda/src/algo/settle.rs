//! A new document's theta until it stands still, on the topics that still move.
//!
//! After a few updates most topics of a document hardly change any more. So updates over all topics take turns with many over
//! the few that move, while the others are held where they are:
//!
//! ```text
//! all topics:  theta is renewed as in `document`; moved[k] = |change of theta[k]|
//!              done, when they move less than `still` together
//! the few M:   those that move most, so that the others move little beside them
//!              b[w] = sum over the others of (phi[w,k]+beta)*t[k]
//!              until they move less than the others did:
//!              s = b[w] + sum over M of (phi[w,k]+beta)*t[k],  and theta of M is renewed with that
//! ```
//! It is the same ascent, a part of the coordinates at a time, with the same end: an update of *all* topics that moves less than
//! `still`. The rows of the few are copied side by side, b as one column more with t = 1, so that the kernels of `document` do the
//! work. Bytes: 64 per word of the document for every 15 topics. Cost: a seventh of an update at K = 100.

use super::document::{DocumentStep, Frozen, NotANumber};
use crate::corpus::Document;
use crate::kernel::{Kernel, LANES, Lanes, Met, flat, flat_mut};

/// The others may move so much of what all move.
const OTHERS: f32 = 0.125;

/// The scratch of it.
#[derive(Debug, Clone)]
pub(crate) struct Settle {
    kernel: Kernel,
    before: Vec<f32>,
    moved: Vec<f32>,
    /// All topics, those that move most first.
    order: Vec<u32>,
    /// The rows of the few: phi + beta, and b.
    rows: Vec<Lanes>,
    /// 0, 1, 2, ...: where the rows are.
    places: Vec<u32>,
    theta: Vec<f32>,
    alpha: Vec<f32>,
    inverse: Vec<f32>,
    t: Vec<Lanes>,
    acc: Vec<Lanes>,
    r: Vec<f32>,
}

impl Settle {
    pub(crate) fn new(kernel: Kernel) -> Settle {
        Settle {
            kernel,
            before: Vec::new(),
            moved: Vec::new(),
            order: Vec::new(),
            rows: Vec::new(),
            places: Vec::new(),
            theta: Vec::new(),
            alpha: Vec::new(),
            inverse: Vec::new(),
            t: Vec::new(),
            acc: Vec::new(),
            r: Vec::new(),
        }
    }

    /// Renews `theta[K]` until an update of all topics moves it by less than `still` tokens, at most so many times. t must be
    /// made of theta by `document::mean`.
    pub(crate) fn run(
        &mut self,
        step: &mut DocumentStep,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &mut [f32],
        (most, still): (u32, f64),
    ) -> Result<(), NotANumber> {
        let mut left = most;
        while left > 0 {
            self.before.clear();
            self.before.extend_from_slice(theta);
            step.renew(frozen, document, theta)?;
            left -= 1;
            self.moved.clear();
            self.moved.extend(theta.iter().zip(&self.before).map(|(a, b)| (a - b).abs()));
            let moved: f64 = self.moved.iter().map(|&m| f64::from(m)).sum();
            if moved < still {
                break;
            }
            let Some((few, others)) = self.few(moved as f32) else { continue };
            self.copy(step, frozen, document, theta, few)?;
            let enough = others.max(still as f32 * 0.5);
            while left > 0 {
                left -= 1;
                if self.renew(document)? < enough {
                    break;
                }
            }
            for (&k, &value) in self.order.iter().zip(&self.theta) {
                theta[k as usize] = value;
            }
        }
        Ok(())
    }

    /// How many topics are to go on alone, and how much the others have moved; nothing where that would not pay.
    fn few(&mut self, moved: f32) -> Option<(usize, f32)> {
        let topics = self.moved.len();
        self.order.clear();
        self.order.extend(0..topics as u32);
        let moves = &self.moved;
        self.order.sort_unstable_by(|&a, &b| {
            moves[b as usize].total_cmp(&moves[a as usize]).then(a.cmp(&b))
        });
        let mut others = moved;
        let mut taken = 0;
        loop {
            // One place of the last sixteen is b's.
            let few = (taken / LANES + 1) * LANES - 1;
            if 2 * (few + 1) > topics {
                return None;
            }
            others -= self.order[taken..few].iter().map(|&k| moves[k as usize]).sum::<f32>();
            if others <= OTHERS * moved {
                return Some((few, others.max(0.0)));
            }
            taken = few + 1;
            others -= moves[self.order[few] as usize];
        }
    }

    /// Lays the rows of the few first topics of the order side by side, and what belongs to them.
    fn copy(
        &mut self,
        step: &mut DocumentStep,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &[f32],
        few: usize,
    ) -> Result<(), NotANumber> {
        step.meet(frozen, document, theta)?;
        let (t, r) = step.last();
        let stride = few / LANES + 1;
        let order = &self.order[..few];
        let pick = |from: &[f32], to: &mut Vec<f32>| {
            to.clear();
            to.extend(order.iter().map(|&k| from[k as usize]));
        };
        pick(theta, &mut self.theta);
        pick(flat(frozen.alpha), &mut self.alpha);
        pick(flat(frozen.inverse), &mut self.inverse);
        self.t.clear();
        self.t.resize(stride, Lanes::ZERO);
        pick(flat(t), &mut self.before);
        self.rows.resize(document.words.len() * stride, Lanes::ZERO);
        self.places.clear();
        self.places.extend(0..document.words.len() as u32);
        self.r.resize(document.words.len(), 0.0);
        self.acc.resize(stride, Lanes::ZERO);
        let words = document.words.iter().zip(document.counts).zip(r);
        for (row, ((&w, &x), &r)) in self.rows.chunks_exact_mut(stride).zip(words) {
            let phi = flat(frozen.rows.row(w));
            let row = flat_mut(row);
            let mut own = 0f32;
            for ((to, &k), &t) in row.iter_mut().zip(order).zip(&self.before) {
                *to = phi[k as usize] + frozen.beta;
                own += *to * t;
            }
            row[few] = (x as f32 / r - own).max(0.0);
        }
        flat_mut(&mut self.t)[few] = 1.0;
        Ok(())
    }

    /// An update of the few. Returns how much they moved.
    fn renew(&mut self, document: Document<'_>) -> Result<f32, NotANumber> {
        let Settle { kernel, rows, places, theta, alpha, inverse, t, acc, r, .. } = self;
        let own = flat_mut(t).iter_mut().zip(theta.iter()).zip(alpha.iter()).zip(inverse.iter());
        for (((t, &theta), &alpha), &inverse) in own {
            *t = (theta + alpha) * inverse;
        }
        acc.fill(Lanes::ZERO);
        let r = &mut r[..document.words.len()];
        let met = Met {
            rows,
            stride: t.len(),
            words: places,
            counts: document.counts,
            t,
            smooth: 0.0,
            add: true,
            r: &mut *r,
        };
        let sum = kernel.absorb(met, acc);
        if !(sum.is_finite() && sum > 0.0) {
            let bad = r.iter().find(|r| !(r.is_finite() && **r > 0.0));
            return Err(NotANumber(bad.map_or(sum, |r| 1.0 / r)));
        }
        let mut moved = 0f32;
        for ((theta, &t), &acc) in theta.iter_mut().zip(flat(t)).zip(flat(acc)) {
            let new = t * acc;
            moved += (new - *theta).abs();
            *theta = new;
        }
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::mean;
    use super::*;
    use crate::random::{Purpose, Random};
    use crate::topics::Topics;

    /// Topics of random words, a few words each, and a document of two of them.
    fn case(count: u32, seed: u64) -> (Topics, Vec<u32>, Vec<u32>) {
        let mut topics = Topics::new(300, count, &vec![0.05; count as usize], 0.01).unwrap();
        let mut random = Random::new(seed, Purpose::Start, 0);
        for w in 0..300 {
            for _ in 0..6 {
                let k = random.below(u64::from(count)) as usize;
                flat_mut(topics.phi.row_mut(w))[k] += (random.unit() * 20.0) as f32;
            }
        }
        topics.sum_lambda();
        let words: Vec<u32> = (0..300).filter(|_| random.below(4) == 0).collect();
        let counts = words.iter().map(|_| 1 + random.below(3) as u32).collect();
        (topics, words, counts)
    }

    /// The end is the same as that of updates of all topics, and the same bits on every processor.
    #[test]
    fn few_topics_at_a_time_end_where_all_do() {
        for (count, seed) in [(20, 1), (64, 2), (100, 3), (100, 4), (250, 5)] {
            let (topics, words, counts) = case(count, seed);
            let document = Document { words: &words, counts: &counts };
            let mut inverse = Vec::new();
            topics.inverse(&mut inverse);
            let frozen = Frozen::new(&topics, &inverse).weighed(mean);
            let start = vec![document.tokens() as f32 / count as f32; count as usize];
            let stop = (20_000, 1e-5 * document.tokens() as f64);
            let results: Vec<Vec<f32>> = Kernel::all()
                .into_iter()
                .map(|kernel| {
                    let mut theta = start.clone();
                    let mut step = DocumentStep::new(count, kernel);
                    Settle::new(kernel).run(&mut step, &frozen, document, &mut theta, stop).unwrap();
                    theta
                })
                .collect();
            assert!(results.iter().all(|theta| *theta == results[0]), "{count}");
            let mut plain = start;
            DocumentStep::new(count, Kernel::best()).settle(&frozen, document, &mut plain, stop).unwrap();
            let away: f32 = plain.iter().zip(&results[0]).map(|(a, b)| (a - b).abs()).sum();
            assert!(away < 0.02 * document.tokens() as f32, "{count}: {away}");
            let sum: f32 = results[0].iter().sum();
            assert!((sum - document.tokens() as f32).abs() < 1e-3 * document.tokens() as f32);
        }
    }
}
