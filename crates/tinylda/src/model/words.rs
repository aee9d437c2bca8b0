//! Ranks the words of a topic by probability, relevance, lift or FREX.
//!
//! Start reading at [`WordRanking`] and [`Model::ranked_words`].
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
//! F and E are the ranks of p(w|k) and of the exclusivity among all words of the topic, divided by
//! W; v is the weight of the exclusivity, from 0 to 1. Ties get the mean of their ranks, as in the
//! R package stm; the shrinkage that stm adds for rare words is omitted.
//!
//! Words of equal score are listed in ascending order of their ids. All rankings except FREX take
//! one pass over phi; FREX sorts the words of every topic twice.

use std::cmp::Ordering;
use std::ops::Range;

use super::Model;
use crate::error::{Error, Result};
use crate::threads::Threads;

/// The criterion by which the words of a topic are ranked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WordRanking {
    /// `p(w|k)`, the probability of the word in the topic.
    Probability,
    /// Relevance with the given lambda, from 0 (lift) to 1 (probability).
    Relevance(f64),
    /// `p(w|k) / p(w)`, the ratio to the overall probability of the word.
    Lift,
    /// FREX with the given weight of exclusivity, from 0 (frequency only) to 1 (exclusivity only).
    Frex(f64),
}

impl WordRanking {
    /// Default lambda of relevance, the best value in the study of Sievert and Shirley.
    pub const RELEVANCE: f64 = 0.6;
    /// Default weight of FREX: frequency and exclusivity count equally.
    pub const FREX: f64 = 0.5;

    /// Returns the name of the ranking, for example `relevance`.
    pub fn name(self) -> &'static str {
        match self {
            WordRanking::Probability => "probability",
            WordRanking::Relevance(_) => "relevance",
            WordRanking::Lift => "lift",
            WordRanking::Frex(_) => "frex",
        }
    }

    /// Returns an error if the parameter is not between 0 and 1.
    fn check(self) -> Result<()> {
        let (name, value) = match self {
            WordRanking::Relevance(lambda) => ("lambda", lambda),
            WordRanking::Frex(weight) => ("weight", weight),
            WordRanking::Probability | WordRanking::Lift => return Ok(()),
        };
        if (0.0..=1.0).contains(&value) {
            return Ok(());
        }
        Err(Error::out_of_range(name, value, "a number from 0 to 1")
            .with_remedy("0.6 is usual for relevance and 0.5 for FREX"))
    }
}

/// A word in the ranked list of a topic.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RankedWord {
    /// Id of the word.
    pub word: u32,
    /// `p(w|k)`, the probability of the word in the topic.
    pub probability: f64,
    /// `p(w|k) / p(w)`: how many times more frequent the word is in the topic than overall.
    pub lift: f64,
    /// The score by which the word is ranked.
    pub score: f64,
}

/// Computes `p(w|k)` and `p(w)` of a model.
#[derive(Debug)]
pub(crate) struct Probabilities<'m> {
    model: &'m Model,
    beta: f64,
    /// `1 / (lambda[k] + W beta)` of every topic.
    inverse: Vec<f64>,
    /// `p(k)`, the share of every topic.
    shares: Vec<f64>,
}

impl<'m> Probabilities<'m> {
    /// Computes the normalization of every topic.
    pub(crate) fn new(model: &'m Model) -> Probabilities<'m> {
        let topics = model.topics() as usize;
        let lambda = &model.topics.lambda[..topics];
        let beta_sum = model.topics.beta_sum();
        let total: f64 = lambda.iter().sum();
        // In a model without tokens all topics have the same share, to avoid a division by zero.
        let shares = lambda.iter().map(|&l| if total > 0.0 { l / total } else { 1.0 / topics as f64 });
        Probabilities {
            model,
            beta: f64::from(model.beta()),
            inverse: lambda.iter().map(|&l| 1.0 / (l + beta_sum)).collect(),
            shares: shares.collect(),
        }
    }

    /// Returns `p(w|k)`, the probability of a word in a topic.
    pub(crate) fn in_topic(&self, word: u32, topic: usize) -> f64 {
        (f64::from(self.model.phi(word)[topic]) + self.beta) * self.inverse[topic]
    }

    /// Returns `p(w|k)` of a word for every topic, in order.
    pub(crate) fn row(&self, word: u32) -> impl Iterator<Item = f64> {
        let phi = self.model.phi(word).iter().zip(&self.inverse);
        phi.map(|(&value, inverse)| (f64::from(value) + self.beta) * inverse)
    }

    /// Returns `p(w)`, the overall probability of a word.
    pub(crate) fn marginal(&self, word: u32) -> f64 {
        self.row(word).zip(&self.shares).map(|(p, share)| p * share).sum()
    }

    /// Returns the sum of `p(w|k)` over all topics, the denominator of exclusivity.
    pub(crate) fn sum_over_topics(&self, word: u32) -> f64 {
        self.row(word).sum()
    }
}

/// Orders entries by descending score, ties by ascending id.
fn best_first(a: &(f64, u32), b: &(f64, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// The highest-scoring words of one topic so far. The list grows to about twice the wanted length
/// before it is truncated.
#[derive(Debug, Clone)]
struct TopWordList {
    wanted: usize,
    /// Score that a word must exceed. Words come in ascending order of ids, so a word of equal
    /// score ranks below those in the list.
    floor: f64,
    words: Vec<(f64, u32)>,
}

impl TopWordList {
    fn new(wanted: usize) -> TopWordList {
        TopWordList { wanted, floor: f64::NEG_INFINITY, words: Vec::new() }
    }

    /// Adds a word if its score is high enough.
    #[inline]
    fn offer(&mut self, score: f64, word: u32) {
        if score > self.floor {
            self.words.push((score, word));
            if self.words.len() >= 2 * self.wanted + 16 {
                self.truncate();
                self.floor = self.words.last().map_or(f64::INFINITY, |last| last.0);
            }
        }
    }

    fn truncate(&mut self) {
        if self.wanted > 0 && self.words.len() > self.wanted {
            self.words.select_nth_unstable_by(self.wanted - 1, best_first);
        }
        self.words.truncate(self.wanted);
    }

    fn sorted(mut self) -> Vec<(f64, u32)> {
        self.truncate();
        self.words.sort_unstable_by(best_first);
        self.words
    }
}

impl Model {
    /// Returns `p(w)`, the probability of a word among all tokens according to the model.
    pub fn word_share(&self, word: u32) -> f64 {
        Probabilities::new(self).marginal(word)
    }

    /// Returns the `n` best words of every topic by any ranking, best first.
    pub fn ranked_words(&self, order: WordRanking, n: usize) -> Result<Vec<Vec<RankedWord>>> {
        order.check()?;
        let p = Probabilities::new(self);
        let n = n.min(self.words() as usize);
        let best = match order {
            WordRanking::Probability => self.highest_scores(n, |_| 1.0, 0.0),
            WordRanking::Relevance(lambda) => {
                self.highest_scores(n, |w| libm::pow(p.marginal(w), lambda - 1.0), p.beta)
            }
            WordRanking::Lift => self.highest_scores(n, |w| 1.0 / p.marginal(w), p.beta),
            WordRanking::Frex(weight) => frex(&p, n, weight),
        };
        let ranked = |k: usize, (score, word): (f64, u32)| {
            let (probability, overall) = (p.in_topic(word, k), p.marginal(word));
            let lift = probability / overall;
            let score = match order {
                WordRanking::Probability => probability,
                WordRanking::Relevance(lambda) => {
                    lambda * libm::log(probability) + (1.0 - lambda) * libm::log(lift)
                }
                WordRanking::Lift => lift,
                WordRanking::Frex(_) => score,
            };
            RankedWord { word, probability, lift, score }
        };
        let lists = best.into_iter().enumerate();
        Ok(lists.map(|(k, list)| list.into_iter().map(|entry| ranked(k, entry)).collect()).collect())
    }

    /// Returns the `n` words of every topic for which `(phi[w,k] + add) * weight(w)` is highest,
    /// with that value. This is relevance without the logarithm: it takes one power of `p(w)` per
    /// word and one product per entry of phi.
    pub(super) fn highest_scores(
        &self,
        n: usize,
        weight: impl Fn(u32) -> f64 + Sync,
        add: f64,
    ) -> Vec<Vec<(f64, u32)>> {
        let topics = self.topics() as usize;
        // Any partition gives the same lists, since (score, id) is unique.
        let threads = Threads::per_core();
        let parts = if n > 1024 { 1 } else { threads.count() };
        let rank_part = |part: usize| {
            let mut best = vec![TopWordList::new(n); topics];
            for w in part_of(self.words(), part, parts) {
                let weight = weight(w);
                for (best, &value) in best.iter_mut().zip(self.phi(w)) {
                    best.offer((f64::from(value) + add) * weight, w);
                }
            }
            best
        };
        let mut found = threads.map((0..parts).collect(), || (), |(), part| rank_part(part));
        let mut all = found.pop().unwrap_or_else(|| vec![TopWordList::new(n); topics]);
        for part in found {
            for (best, other) in all.iter_mut().zip(part) {
                best.words.extend(other.words);
            }
        }
        all.into_iter().map(TopWordList::sorted).collect()
    }
}

/// Returns one of several parts of about the same size into which words are divided.
fn part_of(words: u32, part: usize, parts: usize) -> Range<u32> {
    let bound = |part: usize| (u64::from(words) * part as u64 / parts as u64) as u32;
    bound(part)..bound(part + 1)
}

/// Number of topics that are ranked together: their entries of a row of phi share a cache line.
const TOPICS_PER_BAND: usize = 16;

/// Returns the `n` words of highest FREX score of every topic.
fn frex(p: &Probabilities<'_>, n: usize, weight: f64) -> Vec<Vec<(f64, u32)>> {
    let words = p.model.words();
    let topics = p.model.topics() as usize;
    let threads = Threads::per_core();
    let parts = threads.count();
    let sums = |part| part_of(words, part, parts).map(|w| p.sum_over_topics(w)).collect::<Vec<f64>>();
    let across = threads.map((0..parts).collect(), || (), |(), part| sums(part)).concat();
    let mut lists = Vec::with_capacity(topics);
    for first in (0..topics).step_by(TOPICS_PER_BAND) {
        let band = first..(first + TOPICS_PER_BAND).min(topics);
        let rank_topic = |k: usize| {
            let frequency: Vec<f64> = (0..words).map(|w| p.in_topic(w, k)).collect();
            let exclusivity = frequency.iter().zip(&across).map(|(p, sum)| p / sum).collect();
            let (frequency, exclusivity) = (ranks(frequency), ranks(exclusivity));
            let mut best = TopWordList::new(n);
            for (w, (f, e)) in (0..words).zip(frequency.iter().zip(&exclusivity)) {
                best.offer(1.0 / (weight / e + (1.0 - weight) / f), w);
            }
            best.sorted()
        };
        lists.extend(threads.map(band.collect(), || (), |(), k| rank_topic(k)));
    }
    lists
}

/// Returns the rank of each value, from the lowest, divided by the number of values. Ties get the
/// mean of their ranks.
fn ranks(mut values: Vec<f64>) -> Vec<f64> {
    let count = values.len() as f64;
    let mut order: Vec<(f64, u32)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut before = 0usize;
    for ties in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let rank = (before as f64 + (ties.len() + 1) as f64 / 2.0) / count;
        for &(_, w) in ties {
            values[w as usize] = rank;
        }
        before += ties.len();
    }
    values
}

#[cfg(test)]
mod tests;
