//! How far topics are from each other: the Jensen-Shannon divergence of their words, in nats, as pyLDAvis has it.
//!
//! ```text
//! p_k(w) = (phi[w,k]+beta) / (lambda[k]+W*beta)
//! e(x)   = x ln x
//! JS(k,l) = ln 2 + (E(k) + E(l) - G(k,l)) / 2,   E(k) = sum_w e(p_k(w)),   G(k,l) = sum_w e(p_k(w) + p_l(w))
//! ```
//!
//! K*K*W/2 logarithms are too many, and most need not be taken: a topic has most words at the floor `b_k = beta / (lambda[k]+W*beta)`.
//! Where S(k) are the words above it,
//!
//! ```text
//! G(k,l) = W e(b_k+b_l) + A(k,b_l) + A(l,b_k) + sum over w in S(k) and S(l) of
//!              e(p_k+p_l) - e(p_k+b_l) - e(b_k+p_l) + e(b_k+b_l)
//! A(k,b) = sum over w in S(k) of e(p_k+b) - e(b_k+b)
//! ```
//!
//! which is exact. A(k,b) is smooth in ln b (its nearest singularities are pi away from the real line), so it is computed at [`NODES`]
//! Chebyshev points and interpolated, to 1e-8 and better. Words that most topics have above the floor are taken as they are.
//!
//! Words go by in chunks, in order, and each pair of topics belongs to one thread: sums have one order on any number of threads. What
//! is held beside the model: K*K numbers and a chunk.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::model::Model;
use crate::progress::{ProgressCallback, Step};

/// Points at which A is computed.
const NODES: usize = 40;
/// A count of less than this part of beta is none: all of them together move a distance by less than 1e-7.
const NEGLIGIBLE: f32 = 1e-8;
/// Numbers of a chunk of words, about.
const CHUNK: usize = 1 << 18;
/// Topics whose pairs are one piece of work.
const BAND: usize = 8;

/// The natural logarithm of a number above 0, to 1e-13: the same on every machine, and without a branch, so that loops of it are fast.
#[inline]
pub(super) fn ln(x: f64) -> f64 {
    /// The bits of the square root of a half: mantissas lie around 1.
    const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    let bits = x.to_bits();
    let exponent = bits.wrapping_sub(ROOT).cast_signed() >> 52;
    let m = f64::from_bits(bits.wrapping_sub(exponent.cast_unsigned() << 52));
    let r = (m - 1.0) / (m + 1.0);
    let s = r * r;
    let high = 1.0 / 9.0 + s * (1.0 / 11.0 + s * (1.0 / 13.0 + s * (1.0 / 15.0)));
    let series = 1.0 + s * (1.0 / 3.0 + s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * high)));
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * r * series
}

/// x ln x.
#[inline]
fn e(x: f64) -> f64 {
    x * ln(x)
}

/// The distances of all pairs of topics.
#[derive(Debug, Clone, PartialEq)]
pub struct Distances {
    topics: usize,
    /// Row after row.
    values: Vec<f64>,
}

impl Distances {
    /// Between two topics; nothing where there is no such topic.
    pub fn get(&self, k: u32, l: u32) -> Option<f64> {
        let (k, l) = (k as usize, l as usize);
        (k < self.topics && l < self.topics).then(|| self.values[k * self.topics + l])
    }

    pub(super) fn topics(&self) -> usize {
        self.topics
    }

    /// All distances of a topic, its own 0 among them.
    pub(super) fn row(&self, k: usize) -> &[f64] {
        &self.values[k * self.topics..(k + 1) * self.topics]
    }

    #[cfg(test)]
    pub(super) fn of(topics: usize, values: Vec<f64>) -> Distances {
        Distances { topics, values }
    }

    /// The topics nearest to a topic, nearest first, equal ones in their order.
    pub(super) fn nearest(&self, k: usize, most: usize) -> Vec<(u32, f64)> {
        let others = (0u32..).zip(self.row(k)).filter(|&(l, _)| l as usize != k);
        let mut others: Vec<(u32, f64)> = others.map(|(l, &d)| (l, d)).collect();
        others.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        others.truncate(most);
        others
    }
}

/// A word's topics above the floor, or all of them.
enum Row {
    Few(Vec<(u32, f64)>),
    All(Vec<f64>),
}

/// What is summed up of a topic.
#[derive(Clone, Default)]
struct Sums {
    /// E(k) without the words at the floor.
    own: f64,
    /// How many words are above it, of those that are taken by their topics.
    above: u64,
    /// A(k, b) at the nodes, without e(b_k + b).
    nodes: Vec<f64>,
}

/// Bytes of the largest chunk of words that [`distances`] holds: the few topics of a word with their numbers, or all of them.
pub(super) fn chunk_bytes(words: u64, topics: u64) -> u64 {
    let chunk = (CHUNK as u64 / topics.max(1)).max(1).min(words);
    chunk.saturating_mul(topics.saturating_mul(10).saturating_add(size_of::<Row>() as u64 + 16))
}

/// All distances, on the threads of a pool. `progress` is told words and may ask to stop.
pub(super) fn distances(
    model: &Model,
    pool: &rayon::ThreadPool,
    progress: ProgressCallback<'_>,
) -> Result<Distances> {
    let topics = model.topics() as usize;
    let words = model.words();
    let beta = f64::from(model.beta());
    let beta_sum = model.topics.beta_sum();
    let inverse: Vec<f64> = model.topics.lambda[..topics].iter().map(|&l| 1.0 / (l + beta_sum)).collect();
    let floor: Vec<f64> = inverse.iter().map(|inverse| beta * inverse).collect();
    let nodes = Nodes::new(&floor);
    let negligible = model.beta() * NEGLIGIBLE;

    let mut pairs: Vec<f64> = crate::memory::room((topics * topics) as u64)?;
    pairs.resize(topics * topics, 0.0);
    let mut sums = vec![Sums { nodes: vec![0.0; nodes.places.len()], ..Sums::default() }; topics];
    let mut sparse = 0u64;
    let chunk = (CHUNK / topics.max(1)).max(1) as u32;
    let row = |w: u32| {
        let phi = model.phi(w);
        let p = |(&value, inverse): (&f32, &f64)| (f64::from(value) + beta) * inverse;
        let above = phi.iter().filter(|&&value| value > negligible).count();
        // Three logarithms a pair of these, against one of every pair.
        if 3 * above * above < topics * topics {
            let some = (0u32..).zip(phi.iter().zip(&inverse)).filter(|(_, (value, _))| **value > negligible);
            Row::Few(some.map(|(k, both)| (k, p(both))).collect())
        } else {
            Row::All(phi.iter().zip(&inverse).map(p).collect())
        }
    };
    for first in (0..words).step_by(chunk as usize) {
        if progress(Step::TopicMap.at(u64::from(first), u64::from(words))).is_break() {
            return Err(Error::Interrupted);
        }
        let some = first..first.saturating_add(chunk).min(words);
        sparse += pool.install(|| {
            let rows: Vec<Row> = some.into_par_iter().map(row).collect();
            let bands = pairs.par_chunks_mut(BAND * topics).zip(sums.par_chunks_mut(BAND)).enumerate();
            bands.for_each(|(band, (pairs, sums))| {
                Band { first: band * BAND, floor: &floor, nodes: &nodes.places, pairs, sums }.add(&rows);
            });
            rows.iter().filter(|row| matches!(row, Row::Few(_))).count() as u64
        });
    }

    // What no word is asked for.
    let own: Vec<f64> =
        sums.iter().zip(&floor).map(|(sum, &b)| sum.own + (sparse - sum.above) as f64 * e(b)).collect();
    let above =
        |k: usize, l: usize| nodes.at(l, &sums[k].nodes) - sums[k].above as f64 * e(floor[k] + floor[l]);
    let row = |k: usize| (0..topics).map(|l| above(k, l)).collect();
    let both: Vec<Vec<f64>> = pool.install(|| (0..topics).into_par_iter().map(row).collect());
    for k in 0..topics {
        for l in k + 1..topics {
            let g = pairs[k * topics + l] + sparse as f64 * e(floor[k] + floor[l]) + both[k][l] + both[l][k];
            let distance = (std::f64::consts::LN_2 + (own[k] + own[l] - g) / 2.0).max(0.0);
            pairs[k * topics + l] = distance;
            pairs[l * topics + k] = distance;
        }
        pairs[k * topics + k] = 0.0;
    }
    Ok(Distances { topics, values: pairs })
}

/// Some topics, and their pairs with all that come after them.
struct Band<'a> {
    first: usize,
    floor: &'a [f64],
    nodes: &'a [f64],
    pairs: &'a mut [f64],
    sums: &'a mut [Sums],
}

impl Band<'_> {
    fn add(&mut self, rows: &[Row]) {
        let topics = self.floor.len();
        // e(b_k + b_l), which every word asks for.
        let lowest: Vec<f64> = (self.first..self.first + self.sums.len())
            .flat_map(|k| self.floor.iter().map(move |l| (k, l)))
            .map(|(k, l)| e(self.floor[k] + l))
            .collect();
        for row in rows {
            match row {
                Row::Few(list) => {
                    let start = list.partition_point(|&(k, _)| (k as usize) < self.first);
                    for (at, &(k, p)) in list.iter().enumerate().skip(start) {
                        let within = k as usize - self.first;
                        let Some(sum) = self.sums.get_mut(within) else { break };
                        sum.own += e(p);
                        sum.above += 1;
                        for (sum, node) in sum.nodes.iter_mut().zip(self.nodes) {
                            *sum += e(p + node);
                        }
                        let b = self.floor[k as usize];
                        let pairs = &mut self.pairs[within * topics..(within + 1) * topics];
                        let lowest = &lowest[within * topics..(within + 1) * topics];
                        for &(l, q) in &list[at + 1..] {
                            let l = l as usize;
                            pairs[l] += e(p + q) - e(p + self.floor[l]) - e(b + q) + lowest[l];
                        }
                    }
                }
                Row::All(p) => {
                    for (within, sum) in self.sums.iter_mut().enumerate() {
                        let k = self.first + within;
                        sum.own += e(p[k]);
                        let pairs = &mut self.pairs[within * topics..(within + 1) * topics];
                        for (pair, q) in pairs[k + 1..].iter_mut().zip(&p[k + 1..]) {
                            *pair += e(p[k] + q);
                        }
                    }
                }
            }
        }
    }
}

/// Where A is computed, and how it is interpolated from there.
struct Nodes {
    places: Vec<f64>,
    /// For each topic the weights of the nodes at its floor.
    weights: Vec<f64>,
}

impl Nodes {
    fn new(floor: &[f64]) -> Nodes {
        if floor.len() <= NODES {
            // Few topics: their floors are the nodes.
            let weights = (0..floor.len() * floor.len())
                .map(|at| f64::from(u8::from(at / floor.len() == at % floor.len())))
                .collect();
            return Nodes { places: floor.to_vec(), weights };
        }
        let logs: Vec<f64> = floor.iter().map(|&b| libm::log(b)).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min) - 1e-3;
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 1e-3;
        let angle = |j: usize| (2 * j + 1) as f64 * std::f64::consts::PI / (2 * NODES) as f64;
        let place = |j: usize| f64::midpoint(low, high) + (high - low) / 2.0 * libm::cos(angle(j));
        let at: Vec<f64> = (0..NODES).map(place).collect();
        // Barycentric weights of Chebyshev points of the first kind.
        let factor = |j: usize| if j.is_multiple_of(2) { libm::sin(angle(j)) } else { -libm::sin(angle(j)) };
        let mut weights = Vec::with_capacity(logs.len() * NODES);
        for &u in &logs {
            let start = weights.len();
            if let Some(exact) = at.iter().position(|&node| node.total_cmp(&u).is_eq()) {
                weights.extend((0..NODES).map(|j| f64::from(u8::from(j == exact))));
                continue;
            }
            weights.extend((0..NODES).map(|j| factor(j) / (u - at[j])));
            let sum: f64 = weights[start..].iter().sum();
            weights[start..].iter_mut().for_each(|weight| *weight /= sum);
        }
        Nodes { places: at.into_iter().map(libm::exp).collect(), weights }
    }

    /// The value at topic l's floor.
    fn at(&self, l: usize, values: &[f64]) -> f64 {
        let n = self.places.len();
        values.iter().zip(&self.weights[l * n..(l + 1) * n]).map(|(value, weight)| value * weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::model;
    use super::*;
    use proptest::prelude::*;
    use std::ops::ControlFlow;

    /// The definition.
    fn plain(model: &Model, k: u32, l: u32) -> f64 {
        let word = |w: u32| {
            let (p, q) = (model.probability(w, k), model.probability(w, l));
            let m = f64::midpoint(p, q);
            f64::midpoint(p * libm::log(p / m), q * libm::log(q / m))
        };
        (0..model.words()).map(word).sum()
    }

    fn agree(model: &Model) {
        let found =
            distances(model, &crate::threads::pool(2).unwrap(), &mut |_| ControlFlow::Continue(())).unwrap();
        for k in 0..model.topics() {
            for l in 0..model.topics() {
                let (one, other) = (found.get(k, l).unwrap(), plain(model, k, l));
                assert!((one - other).abs() < 1e-7, "{k} {l}: {one} {other}");
            }
        }
        assert_eq!(found.get(0, model.topics()), None);
    }

    #[test]
    fn the_logarithm_is_right() {
        for i in -600..600 {
            let x = libm::exp(f64::from(i) * 0.317);
            let (found, right) = (ln(x), libm::log(x));
            assert!((found - right).abs() <= 2e-13 * right.abs().max(1.0), "{x}: {found} {right}");
        }
    }

    #[test]
    fn topics_of_any_size() {
        // Sparse, with topics of no token and of millions: floors far apart, more topics than nodes.
        let topics = 60;
        agree(&model(topics, 300, 0.01, |w, k| {
            let size = libm::powf(10.0, (k % 8) as f32);
            if k == 7 || (w * 7 + k * 13) % 11 > 1 { 0.0 } else { size * (1 + (w * k) % 5) as f32 }
        }));
        // Dense.
        agree(&model(topics, 50, 0.01, |w, k| ((w * 31 + k * 17) % 23) as f32 * 0.1));
        agree(&model(1, 5, 0.1, |w, _| w as f32));
    }

    proptest! {
        #[test]
        fn any_counts(topics in 1u32..50, words in 1u32..30, beta in 0.001f32..2.0,
                      counts in prop::collection::vec(prop_oneof![3 => Just(0f32), 1 => 0f32..1e-9, 2 => 0f32..50.0], 40)) {
            agree(&model(topics, words, beta, |w, k| counts[(w * 7 + k * 11) as usize % counts.len()]));
        }
    }
}
