//! The words of a topic, in every order that people ask for.
//!
//! ```text
//! p(w|k) = (phi[w,k]+beta) / (lambda[k]+W*beta)
//! p(k)   = lambda[k] / sum lambda                      the topic's share of all tokens
//! p(w)   = sum_k p(k) p(w|k)
//! lift        p(w|k) / p(w)
//! relevance   l log p(w|k) + (1-l) log(p(w|k)/p(w))    Sievert and Shirley 2014, l from 0 to 1
//! exclusivity p(w|k) / sum_j p(w|j)
//! FREX        1 / (v/E + (1-v)/F)                      Bischof and Airoldi 2012
//! ```
//!
//! F and E are the ranks of p(w|k) and of the exclusivity among all words of the topic, divided by W: equal ones share the mean
//! of their ranks, as in the R package stm; the shrinkage that stm adds for rare words is left out.
//!
//! Equal words stand in the order of their ids in every list. All orders but FREX take one pass over phi; FREX sorts every topic's words twice.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::Model;
use crate::error::{Error, Result};

/// By what a topic's words are ranked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    /// `p(w|k)`.
    Probability,
    /// Relevance with this lambda, from 0 (lift) to 1 (probability).
    Relevance(f64),
    /// `p(w|k) / p(w)`.
    Lift,
    /// FREX with this weight of exclusivity, from 0 (frequency alone) to 1.
    Frex(f64),
}

impl Order {
    /// The lambda that Sievert and Shirley found best.
    pub const RELEVANCE: f64 = 0.6;
    /// Frequency and exclusivity alike.
    pub const FREX: f64 = 0.5;

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Order::Probability => "probability",
            Order::Relevance(_) => "relevance",
            Order::Lift => "lift",
            Order::Frex(_) => "frex",
        }
    }

    fn check(self) -> Result<()> {
        let (name, value) = match self {
            Order::Relevance(lambda) => ("lambda", lambda),
            Order::Frex(weight) => ("weight", weight),
            Order::Probability | Order::Lift => return Ok(()),
        };
        if (0.0..=1.0).contains(&value) {
            return Ok(());
        }
        Err(Error::out_of_range(name, value, "a number from 0 to 1")
            .with_remedy("0.6 is usual for relevance and 0.5 for FREX"))
    }
}

/// A word in a list of a topic's words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedWord {
    /// Its id.
    pub word: u32,
    /// `p(w|k)`.
    pub probability: f64,
    /// `p(w|k) / p(w)`: how many times more frequent it is in the topic than elsewhere.
    pub lift: f64,
    /// What it is ranked by.
    pub score: f64,
}

/// `p(w|k)` and `p(w)` of a model.
#[derive(Debug)]
pub(crate) struct Probabilities<'m> {
    model: &'m Model,
    beta: f64,
    /// 1 / (lambda + W beta).
    inverse: Vec<f64>,
    /// `p(k)`.
    shares: Vec<f64>,
}

impl<'m> Probabilities<'m> {
    pub(crate) fn of(model: &'m Model) -> Probabilities<'m> {
        let topics = model.topics() as usize;
        let lambda = &model.topics.lambda[..topics];
        let beta_sum = model.topics.beta_sum();
        let total: f64 = lambda.iter().sum();
        // A model without a single token has topics of equal shares, so that nothing below is divided by zero.
        let shares = lambda.iter().map(|&l| if total > 0.0 { l / total } else { 1.0 / topics as f64 });
        Probabilities {
            model,
            beta: f64::from(model.beta()),
            inverse: lambda.iter().map(|&l| 1.0 / (l + beta_sum)).collect(),
            shares: shares.collect(),
        }
    }

    /// `p(w|k)`.
    pub(crate) fn in_topic(&self, word: u32, topic: usize) -> f64 {
        (f64::from(self.model.phi(word)[topic]) + self.beta) * self.inverse[topic]
    }

    /// `p(w|k)` for every topic.
    pub(crate) fn row(&self, word: u32) -> impl Iterator<Item = f64> {
        let phi = self.model.phi(word).iter().zip(&self.inverse);
        phi.map(|(&value, inverse)| (f64::from(value) + self.beta) * inverse)
    }

    /// `p(w)`.
    pub(crate) fn overall(&self, word: u32) -> f64 {
        self.row(word).zip(&self.shares).map(|(p, share)| p * share).sum()
    }

    /// The sum of `p(w|k)` over topics: what exclusivity is a share of.
    pub(crate) fn across(&self, word: u32) -> f64 {
        self.row(word).sum()
    }
}

/// Best first; equal ones by id.
fn best_first(a: &(f64, u32), b: &(f64, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// The best so far of one topic. The list may grow to twice what is wanted and is then cut back.
#[derive(Debug, Clone)]
struct Best {
    wanted: usize,
    /// What a word must be above to be taken; ids ascend, so an equal one comes too late.
    floor: f64,
    words: Vec<(f64, u32)>,
}

impl Best {
    fn new(wanted: usize) -> Best {
        Best { wanted, floor: f64::NEG_INFINITY, words: Vec::new() }
    }

    #[inline]
    fn offer(&mut self, score: f64, word: u32) {
        if score > self.floor {
            self.words.push((score, word));
            if self.words.len() >= 2 * self.wanted + 16 {
                self.cut();
                self.floor = self.words.last().map_or(f64::INFINITY, |last| last.0);
            }
        }
    }

    fn cut(&mut self) {
        if self.wanted > 0 && self.words.len() > self.wanted {
            self.words.select_nth_unstable_by(self.wanted - 1, best_first);
        }
        self.words.truncate(self.wanted);
    }

    fn sorted(mut self) -> Vec<(f64, u32)> {
        self.cut();
        self.words.sort_unstable_by(best_first);
        self.words
    }
}

impl Model {
    /// `p(w)`: the share of a word among all tokens, as the topics and their shares have it.
    pub fn word_share(&self, word: u32) -> f64 {
        Probabilities::of(self).overall(word)
    }

    /// The n best words of every topic by any order.
    pub fn ranked_words(&self, order: Order, n: usize) -> Result<Vec<Vec<RankedWord>>> {
        order.check()?;
        let p = Probabilities::of(self);
        let n = n.min(self.words() as usize);
        let best = match order {
            Order::Probability => self.best(n, |_| 1.0, 0.0),
            Order::Relevance(lambda) => self.best(n, |w| libm::pow(p.overall(w), lambda - 1.0), p.beta),
            Order::Lift => self.best(n, |w| 1.0 / p.overall(w), p.beta),
            Order::Frex(weight) => frex(&p, n, weight),
        };
        let ranked = |k: usize, (score, word): (f64, u32)| {
            let (probability, overall) = (p.in_topic(word, k), p.overall(word));
            let lift = probability / overall;
            let score = match order {
                Order::Probability => probability,
                Order::Relevance(lambda) => {
                    lambda * libm::log(probability) + (1.0 - lambda) * libm::log(lift)
                }
                Order::Lift => lift,
                Order::Frex(_) => score,
            };
            RankedWord { word, probability, lift, score }
        };
        let lists = best.into_iter().enumerate();
        Ok(lists.map(|(k, list)| list.into_iter().map(|entry| ranked(k, entry)).collect()).collect())
    }

    /// The n words of every topic for which `(phi[w,k] + add) * weight(w)` is highest. That is relevance without its logarithm:
    /// a power of `p(w)` for each word, and a product for each entry of phi.
    pub(super) fn best(
        &self,
        n: usize,
        weight: impl Fn(u32) -> f64 + Sync,
        add: f64,
    ) -> Vec<Vec<(f64, u32)>> {
        let topics = self.topics() as usize;
        // Any division into parts gives the same lists, since no two words are alike in score and id.
        let parts = if n > 1024 { 1 } else { rayon::current_num_threads() as u32 };
        let bound = |part: u32| (u64::from(self.words()) * u64::from(part) / u64::from(parts)) as u32;
        let of_part = |part: u32| {
            let mut best = vec![Best::new(n); topics];
            for w in bound(part)..bound(part + 1) {
                let weight = weight(w);
                for (best, &value) in best.iter_mut().zip(self.phi(w)) {
                    best.offer((f64::from(value) + add) * weight, w);
                }
            }
            best
        };
        let mut found: Vec<Vec<Best>> = (0..parts).into_par_iter().map(of_part).collect();
        let mut all = found.pop().unwrap_or_else(|| vec![Best::new(n); topics]);
        for part in found {
            for (best, other) in all.iter_mut().zip(part) {
                best.words.extend(other.words);
            }
        }
        all.into_iter().map(Best::sorted).collect()
    }
}

/// Topics that are ranked together: their phi of a word lies in one cache line.
const TOGETHER: usize = 16;

fn frex(p: &Probabilities<'_>, n: usize, weight: f64) -> Vec<Vec<(f64, u32)>> {
    let words = p.model.words();
    let topics = p.model.topics() as usize;
    let across: Vec<f64> = (0..words).into_par_iter().map(|w| p.across(w)).collect();
    let mut lists = Vec::with_capacity(topics);
    for first in (0..topics).step_by(TOGETHER) {
        let some = first..(first + TOGETHER).min(topics);
        let of_topic = |k: usize| {
            let frequency: Vec<f64> = (0..words).map(|w| p.in_topic(w, k)).collect();
            let exclusivity = frequency.iter().zip(&across).map(|(p, sum)| p / sum).collect();
            let (frequency, exclusivity) = (ranks(frequency), ranks(exclusivity));
            let mut best = Best::new(n);
            for (w, (f, e)) in (0..words).zip(frequency.iter().zip(&exclusivity)) {
                best.offer(1.0 / (weight / e + (1.0 - weight) / f), w);
            }
            best.sorted()
        };
        lists.extend(some.into_par_iter().map(of_topic).collect::<Vec<_>>());
    }
    lists
}

/// Each value's rank from the lowest, divided by how many there are; equal ones have the mean of theirs.
fn ranks(mut values: Vec<f64>) -> Vec<f64> {
    let count = values.len() as f64;
    let mut order: Vec<(f64, u32)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut before = 0usize;
    for alike in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let rank = (before as f64 + (alike.len() + 1) as f64 / 2.0) / count;
        for &(_, w) in alike {
            values[w as usize] = rank;
        }
        before += alike.len();
    }
    values
}

#[cfg(test)]
mod tests;
