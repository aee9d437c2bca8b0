//! Computes the Jensen-Shannon divergences of all pairs of topics, in nats, as in pyLDAvis.
//!
//! Start reading at [`distances`].
//!
//! ```text
//! p_k(w) = (phi[w,k]+beta) / (lambda[k]+W*beta)
//! e(x)   = x ln x
//! JS(k,l) = ln 2 + (E(k) + E(l) - G(k,l)) / 2
//! E(k)    = sum_w e(p_k(w))
//! G(k,l)  = sum_w e(p_k(w) + p_l(w))
//! ```
//!
//! K*K*W/2 logarithms would take too long, and most are not needed: most words of a topic have the
//! minimum probability, the floor `b_k = beta / (lambda[k]+W*beta)`. With S(k) the set of words
//! above the floor,
//!
//! ```text
//! G(k,l) = W e(b_k+b_l) + A(k,b_l) + A(l,b_k) + sum over w in S(k) and S(l) of
//!              e(p_k+p_l) - e(p_k+b_l) - e(b_k+p_l) + e(b_k+b_l)
//! A(k,b) = sum over w in S(k) of e(p_k+b) - e(b_k+b)
//! ```
//!
//! which is exact. A(k,b) is smooth in ln b (its nearest singularities are pi away from the real
//! line), so it is computed at [`NODES`] Chebyshev points and interpolated, with an error below
//! 1e-8. Words that are above the floor in most topics are summed directly by the definition of G.
//!
//! Words are processed in chunks, in order, and each pair of topics belongs to one thread, so that
//! sums are in the same order for any number of threads. Memory in addition to the model: K*K
//! values and a chunk.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::model::Model;
use crate::progress::{ProgressCallback, Step};

/// Number of points at which A is computed.
const NODES: usize = 40;
/// Counts below this fraction of beta are treated as 0. Together they change a distance by less
/// than 1e-7.
const NEGLIGIBLE: f32 = 1e-8;
/// Approximate number of values of a chunk of words.
const CHUNK_VALUES: usize = 1 << 18;
/// Number of topics whose pairs are one unit of work.
const TOPICS_PER_BAND: usize = 8;

/// Returns the natural logarithm of a positive number, accurate to 1e-13. The result is the same on
/// every machine, and there is no branch, so that loops of it are fast.
#[inline]
pub(super) fn ln(x: f64) -> f64 {
    /// Bits of sqrt(1/2): the mantissa is scaled to the range sqrt(1/2) to sqrt(2).
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

/// Returns x ln x.
#[inline]
fn e(x: f64) -> f64 {
    x * ln(x)
}

/// The distances of all pairs of topics, a symmetric matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Distances {
    topics: usize,
    /// The K*K values in row-major order.
    values: Vec<f64>,
}

impl Distances {
    /// Returns the distance of two topics, or `None` if there is no such topic.
    pub fn get(&self, k: u32, l: u32) -> Option<f64> {
        let (k, l) = (k as usize, l as usize);
        (k < self.topics && l < self.topics).then(|| self.values[k * self.topics + l])
    }

    pub(super) fn topics(&self) -> usize {
        self.topics
    }

    /// Returns the distances of a topic to all topics, including 0 to itself.
    pub(super) fn row(&self, k: usize) -> &[f64] {
        &self.values[k * self.topics..(k + 1) * self.topics]
    }

    #[cfg(test)]
    pub(super) fn of(topics: usize, values: Vec<f64>) -> Distances {
        Distances { topics, values }
    }

    /// Returns the topics nearest to a topic, nearest first, ties by topic number.
    pub(super) fn nearest(&self, k: usize, count: usize) -> Vec<(u32, f64)> {
        let others = (0u32..).zip(self.row(k)).filter(|&(l, _)| l as usize != k);
        let mut others: Vec<(u32, f64)> = others.map(|(l, &d)| (l, d)).collect();
        others.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        others.truncate(count);
        others
    }
}

/// The probabilities of a word: only for the topics above the floor, or for all topics.
enum WordRow {
    Sparse(Vec<(u32, f64)>),
    Dense(Vec<f64>),
}

/// Sums over the words of a topic.
#[derive(Clone, Default)]
struct TopicSums {
    /// E(k) without the words at the floor of sparse rows.
    e_sum: f64,
    /// Number of words above the floor in sparse rows.
    above: u64,
    /// A(k, b) at the nodes, without the terms e(b_k + b).
    nodes: Vec<f64>,
}

/// Returns the memory in bytes of the largest chunk of words of [`distances`].
pub(super) fn chunk_bytes(words: u64, topics: u64) -> u64 {
    let chunk = (CHUNK_VALUES as u64 / topics.max(1)).max(1).min(words);
    chunk.saturating_mul(topics.saturating_mul(10).saturating_add(size_of::<WordRow>() as u64 + 16))
}

/// Computes all distances on the threads of a pool. `progress` receives the number of words and can
/// cancel.
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
    let nodes = ChebyshevNodes::new(&floor);
    let negligible = model.beta() * NEGLIGIBLE;

    let mut pairs: Vec<f64> = crate::memory::try_with_capacity((topics * topics) as u64)?;
    pairs.resize(topics * topics, 0.0);
    let mut sums = vec![TopicSums { nodes: vec![0.0; nodes.points.len()], ..TopicSums::default() }; topics];
    let mut sparse_rows = 0u64;
    let chunk = (CHUNK_VALUES / topics.max(1)).max(1) as u32;
    let row = |w: u32| {
        let phi = model.phi(w);
        let p = |(&value, inverse): (&f32, &f64)| (f64::from(value) + beta) * inverse;
        let above = phi.iter().filter(|&&value| value > negligible).count();
        // A sparse row takes three logarithms per pair of its topics, a dense row one per pair of
        // all topics.
        if 3 * above * above < topics * topics {
            let some = (0u32..).zip(phi.iter().zip(&inverse)).filter(|(_, (value, _))| **value > negligible);
            WordRow::Sparse(some.map(|(k, both)| (k, p(both))).collect())
        } else {
            WordRow::Dense(phi.iter().zip(&inverse).map(p).collect())
        }
    };
    for first in (0..words).step_by(chunk as usize) {
        if progress(Step::TopicMap.at(u64::from(first), u64::from(words))).is_break() {
            return Err(Error::Interrupted);
        }
        let range = first..first.saturating_add(chunk).min(words);
        sparse_rows += pool.install(|| {
            let rows: Vec<WordRow> = range.into_par_iter().map(row).collect();
            let bands = pairs
                .par_chunks_mut(TOPICS_PER_BAND * topics)
                .zip(sums.par_chunks_mut(TOPICS_PER_BAND))
                .enumerate();
            bands.for_each(|(band, (pairs, sums))| {
                TopicBand { first: band * TOPICS_PER_BAND, floor: &floor, nodes: &nodes.points, pairs, sums }
                    .add(&rows);
            });
            rows.iter().filter(|row| matches!(row, WordRow::Sparse(_))).count() as u64
        });
    }

    // Add the terms that do not depend on single words.
    let e_sums: Vec<f64> = sums
        .iter()
        .zip(&floor)
        .map(|(sum, &b)| sum.e_sum + (sparse_rows - sum.above) as f64 * e(b))
        .collect();
    let above =
        |k: usize, l: usize| nodes.at(l, &sums[k].nodes) - sums[k].above as f64 * e(floor[k] + floor[l]);
    let row = |k: usize| (0..topics).map(|l| above(k, l)).collect();
    let a_terms: Vec<Vec<f64>> = pool.install(|| (0..topics).into_par_iter().map(row).collect());
    for k in 0..topics {
        for l in k + 1..topics {
            let g = pairs[k * topics + l]
                + sparse_rows as f64 * e(floor[k] + floor[l])
                + a_terms[k][l]
                + a_terms[l][k];
            let distance = (std::f64::consts::LN_2 + (e_sums[k] + e_sums[l] - g) / 2.0).max(0.0);
            pairs[k * topics + l] = distance;
            pairs[l * topics + k] = distance;
        }
        pairs[k * topics + k] = 0.0;
    }
    Ok(Distances { topics, values: pairs })
}

/// A band of consecutive topics, and their pairs with all later topics.
struct TopicBand<'a> {
    first: usize,
    floor: &'a [f64],
    nodes: &'a [f64],
    pairs: &'a mut [f64],
    sums: &'a mut [TopicSums],
}

impl TopicBand<'_> {
    /// Adds the rows of a chunk to the sums of the band.
    fn add(&mut self, rows: &[WordRow]) {
        let topics = self.floor.len();
        // e(b_k + b_l), which is needed for every word.
        let lowest: Vec<f64> = (self.first..self.first + self.sums.len())
            .flat_map(|k| self.floor.iter().map(move |l| (k, l)))
            .map(|(k, l)| e(self.floor[k] + l))
            .collect();
        for row in rows {
            match row {
                WordRow::Sparse(list) => {
                    let start = list.partition_point(|&(k, _)| (k as usize) < self.first);
                    for (at, &(k, p)) in list.iter().enumerate().skip(start) {
                        let within = k as usize - self.first;
                        let Some(sum) = self.sums.get_mut(within) else { break };
                        sum.e_sum += e(p);
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
                WordRow::Dense(p) => {
                    for (within, sum) in self.sums.iter_mut().enumerate() {
                        let k = self.first + within;
                        sum.e_sum += e(p[k]);
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

/// The points at which A is computed, and the weights of the interpolation.
struct ChebyshevNodes {
    points: Vec<f64>,
    /// For each topic the weights of the nodes for the interpolation at its floor.
    weights: Vec<f64>,
}

impl ChebyshevNodes {
    /// Chooses nodes for these floors.
    fn new(floor: &[f64]) -> ChebyshevNodes {
        if floor.len() <= NODES {
            // With few topics the floors themselves are the nodes.
            let weights = (0..floor.len() * floor.len())
                .map(|at| f64::from(u8::from(at / floor.len() == at % floor.len())))
                .collect();
            return ChebyshevNodes { points: floor.to_vec(), weights };
        }
        let logs: Vec<f64> = floor.iter().map(|&b| libm::log(b)).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min) - 1e-3;
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 1e-3;
        let angle = |j: usize| (2 * j + 1) as f64 * std::f64::consts::PI / (2 * NODES) as f64;
        let place = |j: usize| f64::midpoint(low, high) + (high - low) / 2.0 * libm::cos(angle(j));
        let at: Vec<f64> = (0..NODES).map(place).collect();
        // Barycentric weights for Chebyshev points of the first kind.
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
        ChebyshevNodes { points: at.into_iter().map(libm::exp).collect(), weights }
    }

    /// Returns the interpolated value at the floor of topic `l`.
    fn at(&self, l: usize, values: &[f64]) -> f64 {
        let n = self.points.len();
        values.iter().zip(&self.weights[l * n..(l + 1) * n]).map(|(value, weight)| value * weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::model;
    use super::*;
    use proptest::prelude::*;
    use std::ops::ControlFlow;

    /// Returns the distance by its definition.
    fn by_definition(model: &Model, k: u32, l: u32) -> f64 {
        let word = |w: u32| {
            let (p, q) = (model.probability(w, k), model.probability(w, l));
            let m = f64::midpoint(p, q);
            f64::midpoint(p * libm::log(p / m), q * libm::log(q / m))
        };
        (0..model.words()).map(word).sum()
    }

    fn assert_exact(model: &Model) {
        let found =
            distances(model, &crate::threads::pool(2).unwrap(), &mut |_| ControlFlow::Continue(())).unwrap();
        for k in 0..model.topics() {
            for l in 0..model.topics() {
                let (one, other) = (found.get(k, l).unwrap(), by_definition(model, k, l));
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
        // Sparse, with empty topics and topics of millions of tokens: the floors are far apart, and
        // there are more topics than nodes.
        let topics = 60;
        assert_exact(&model(topics, 300, 0.01, |w, k| {
            let size = libm::powf(10.0, (k % 8) as f32);
            if k == 7 || (w * 7 + k * 13) % 11 > 1 { 0.0 } else { size * (1 + (w * k) % 5) as f32 }
        }));
        // Dense.
        assert_exact(&model(topics, 50, 0.01, |w, k| ((w * 31 + k * 17) % 23) as f32 * 0.1));
        assert_exact(&model(1, 5, 0.1, |w, _| w as f32));
    }

    proptest! {
        #[test]
        fn any_counts(topics in 1u32..50, words in 1u32..30, beta in 0.001f32..2.0,
                      counts in prop::collection::vec(prop_oneof![3 => Just(0f32), 1 => 0f32..1e-9, 2 => 0f32..50.0], 40)) {
            assert_exact(&model(topics, words, beta, |w, k| counts[(w * 7 + k * 11) as usize % counts.len()]));
        }
    }
}
