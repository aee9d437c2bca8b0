//! A new document's theta until it stands still, on the topics that still move.
//!
//! After a few updates most topics of a document hardly change any more. So updates over all topics take turns with many over
//! the few that move, while the others are held where they are:
//!
//! ```text
//! all topics:  theta is renewed as in `document`; moved[k] = |change of theta[k]|
//!              done, when they move less than `still` together
//! the few M:   those that move more than an eighth of the mean; the others move less than an eighth of all
//!              b[w] = sum over the others of (phi[w,k]+beta)*t[k]
//!              until they move less than the others did:
//!              s = b[w] + sum over M of (phi[w,k]+beta)*t[k],  and theta of M is renewed with that
//! ```
//! It is the same ascent, a part of the coordinates at a time, with the same end: an update of *all* topics that moves less than
//! `still`. The few have a column each, over the words of the document, so that sixteen words are met at once, without a sum over lanes
//! or a division for each. Bytes: four per word for each of the few.

use super::document::{DocumentStep, Frozen, NotANumber};
use crate::corpus::Document;
use crate::kernel::{Kernel, LANES, Lanes, flat, flat_mut};

/// The others may move so much of what all move.
const OTHERS: f32 = 0.125;

/// The scratch of it.
#[derive(Debug, Clone)]
pub(crate) struct Settle {
    kernel: Kernel,
    before: Vec<f32>,
    moved: Vec<f32>,
    /// The topics that move.
    few: Vec<Few>,
    /// phi + beta: a column over the words for each of them.
    columns: Vec<Lanes>,
    /// Over the words: what the others give, s, x and x/s.
    b: Vec<Lanes>,
    s: Vec<Lanes>,
    x: Vec<Lanes>,
    r: Vec<Lanes>,
}

/// A topic that moves.
#[derive(Debug, Clone, Copy)]
struct Few {
    topic: u32,
    theta: f32,
    alpha: f32,
    inverse: f32,
}

impl Settle {
    pub(crate) fn new(kernel: Kernel) -> Settle {
        Settle {
            kernel,
            before: Vec::new(),
            moved: Vec::new(),
            few: Vec::new(),
            columns: Vec::new(),
            b: Vec::new(),
            s: Vec::new(),
            x: Vec::new(),
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
        if document.words.is_empty() {
            theta.fill(0.0);
            return Ok(());
        }
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
            let Some(others) = self.choose(frozen, theta, moved as f32) else { continue };
            self.copy(step, frozen, document, theta)?;
            let enough = others.max(still as f32 * 0.5);
            while left > 0 {
                left -= 1;
                if self.renew()? < enough {
                    break;
                }
            }
            for few in &self.few {
                theta[few.topic as usize] = few.theta;
            }
        }
        Ok(())
    }

    /// Chooses the topics that are to go on alone, and returns how much the others have moved; nothing where that would not pay.
    fn choose(&mut self, frozen: &Frozen<'_>, theta: &[f32], moved: f32) -> Option<f32> {
        let least = OTHERS * moved / self.moved.len() as f32;
        let (alpha, inverse) = (flat(frozen.alpha), flat(frozen.inverse));
        let mut others = 0f32;
        self.few.clear();
        for (k, &m) in self.moved.iter().enumerate() {
            if m > least {
                self.few.push(Few { topic: k as u32, theta: theta[k], alpha: alpha[k], inverse: inverse[k] });
            } else {
                others += m;
            }
        }
        (2 * self.few.len() <= theta.len()).then_some(others)
    }

    /// Lays out the columns of the few, and what the others give.
    fn copy(
        &mut self,
        step: &mut DocumentStep,
        frozen: &Frozen<'_>,
        document: Document<'_>,
        theta: &[f32],
    ) -> Result<(), NotANumber> {
        step.meet(frozen, document, theta)?;
        let (t, r) = step.last();
        let words = document.words.len();
        let length = words.div_ceil(LANES);
        for row in [&mut self.b, &mut self.s, &mut self.x, &mut self.r] {
            row.clear();
            row.resize(length, Lanes::ZERO);
        }
        self.columns.clear();
        self.columns.resize(length * self.few.len(), Lanes::ZERO);
        let columns = flat_mut(&mut self.columns);
        for (i, &w) in document.words.iter().enumerate() {
            let phi = flat(frozen.rows.row(w));
            for (column, few) in columns.chunks_exact_mut(length * LANES).zip(&self.few) {
                column[i] = phi[few.topic as usize] + frozen.beta;
            }
        }
        let all = flat_mut(&mut self.b).iter_mut().zip(flat_mut(&mut self.x));
        for ((b, to), (&x, r)) in all.zip(document.counts.iter().zip(r)) {
            (*b, *to) = (x as f32 / r, x as f32);
        }
        for (column, few) in self.columns.chunks_exact(length).zip(&self.few) {
            self.kernel.axpy(-flat(t)[few.topic as usize], column, &mut self.b);
        }
        // What is left by rounding must not be below zero; where there is no word, x = 0 is to be divided by something.
        for (i, b) in flat_mut(&mut self.b).iter_mut().enumerate() {
            *b = if i < words { b.max(0.0) } else { 1.0 };
        }
        Ok(())
    }

    /// An update of the few. Returns how much they moved.
    fn renew(&mut self) -> Result<f32, NotANumber> {
        let Settle { kernel, few, columns, b, s, x, r, .. } = self;
        s.copy_from_slice(b);
        for (column, few) in columns.chunks_exact(b.len()).zip(few.iter()) {
            kernel.axpy((few.theta + few.alpha) * few.inverse, column, s);
        }
        for ((r, &x), &s) in flat_mut(r).iter_mut().zip(flat(x)).zip(flat(s)) {
            *r = x / s;
        }
        let sum = kernel.sum(r);
        if !sum.is_finite() {
            return Err(NotANumber(flat(s).iter().copied().fold(f32::INFINITY, f32::min)));
        }
        let mut moved = 0f32;
        for (column, few) in columns.chunks_exact(b.len()).zip(few.iter_mut()) {
            let new = (few.theta + few.alpha) * few.inverse * kernel.dot(column, r);
            moved += (new - few.theta).abs();
            few.theta = new;
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
