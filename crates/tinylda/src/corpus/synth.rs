//! Synthetic corpora of any size, sampled as a stream from LDA's generative process.
//!
//! ```text
//! base     word distribution, base[w] ~ 1/(rank+shift)^exponent (Zipf-Mandelbrot),
//!          with ranks shuffled over the word ids
//! phi_k    ~ Dirichlet(concentration * base), mixed with a share `smooth` of base itself
//! theta_d  ~ Dirichlet(alpha), never computed: topics are drawn from a Polya urn, which has the
//!          same distribution and takes a time that does not depend on K
//! n_d      ~ 1 + Gamma(shape, (mean-1)/shape), rounded at random
//! burst    every token but the first repeats, with this probability, an earlier word of its
//!          document that was not itself a repetition (text does; pure LDA does not, and has too
//!          many distinct words per document)
//! ```
//!
//! Document d is determined by (seed, d) and the settings alone. Logarithms come from `libm`, so
//! that every machine draws the same documents. Start with [`Synth`].

use std::path::Path;

use super::{Corpus, CorpusWriter, Vocabulary};
use crate::error::{Error, Result};
use crate::progress::{ProgressCallback, Step};
use crate::random::{Purpose, Random};

/// Settings of a synthetic corpus. The defaults resemble abstracts of PubMed.
#[derive(Debug, Clone, PartialEq)]
pub struct Synth {
    /// Number of documents, D.
    pub documents: u64,
    /// Number of words, W.
    pub words: u32,
    /// Number of topics, K.
    pub topics: u32,
    /// Mean number of tokens per document.
    pub mean_length: f64,
    /// Shape of the gamma distribution of document lengths. Small values make lengths uneven.
    pub length_shape: f64,
    /// Dirichlet parameter of the topic proportions of a document, per topic.
    pub alpha: f64,
    /// Dirichlet concentration of the topics around the word distribution. Small values make topics
    /// more distinct.
    pub concentration: f64,
    /// Exponent of the Zipf-Mandelbrot word distribution.
    pub zipf_exponent: f64,
    /// Shift of the Zipf-Mandelbrot word distribution. It flattens the most frequent words, as
    /// removing stop words does.
    pub zipf_shift: f64,
    /// Share of every topic that is the word distribution itself.
    pub smooth: f64,
    /// Share of tokens that repeat an earlier word of their document.
    pub burst: f64,
    /// Random seed.
    pub seed: u64,
}

impl Default for Synth {
    fn default() -> Self {
        Synth {
            documents: 10_000,
            words: 10_000,
            topics: 50,
            mean_length: 90.0,
            length_shape: 4.0,
            alpha: 0.05,
            concentration: 1000.0,
            zipf_exponent: 1.1,
            zipf_shift: 20.0,
            smooth: 0.05,
            burst: 0.32,
            seed: 1,
        }
    }
}

/// Table for drawing words by weight in constant time (the alias method of Walker and Vose).
#[derive(Debug, Clone)]
struct AliasTable {
    slots: Vec<AliasSlot>,
}

/// A slot of an [`AliasTable`].
#[derive(Debug, Clone)]
struct AliasSlot {
    /// A random 32-bit number below this selects `word`; any other selects `alias`.
    threshold: u32,
    word: u32,
    alias: u32,
}

impl AliasTable {
    /// Builds the table from (word, weight) pairs.
    fn new(weights: &[(u32, f64)]) -> AliasTable {
        let total: f64 = weights.iter().map(|&(_, p)| p).sum();
        let n = weights.len();
        let mut scaled: Vec<f64> = weights.iter().map(|&(_, p)| p / total * n as f64).collect();
        let full = |&(word, _): &(u32, f64)| AliasSlot { threshold: u32::MAX, word, alias: word };
        let mut slots: Vec<AliasSlot> = weights.iter().map(full).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| scaled[i] < 1.0);
        while let (Some(&s), Some(&l)) = (small.last(), large.last()) {
            small.pop();
            let threshold = (scaled[s] * 4_294_967_296.0) as u32;
            slots[s] = AliasSlot { threshold, word: weights[s].0, alias: weights[l].0 };
            scaled[l] -= 1.0 - scaled[s];
            if scaled[l] < 1.0 {
                large.pop();
                small.push(l);
            }
        }
        AliasTable { slots }
    }

    /// Draws a word.
    #[inline]
    fn draw(&self, random: &mut Random) -> u32 {
        let bits = random.bits();
        let slot = ((bits >> 32) * self.slots.len() as u64) >> 32;
        let slot = &self.slots[slot as usize];
        if (bits as u32) < slot.threshold { slot.word } else { slot.alias }
    }
}

/// Draws from the standard normal distribution (Marsaglia's polar method).
fn normal(random: &mut Random) -> f64 {
    loop {
        let (u, v) = (2.0 * random.unit() - 1.0, 2.0 * random.unit() - 1.0);
        let s = u * u + v * v;
        if s > 0.0 && s < 1.0 {
            return u * libm::sqrt(-2.0 * libm::log(s) / s);
        }
    }
}

/// Draws from the gamma distribution with scale 1 (Marsaglia and Tsang 2000; for shape < 1 by the
/// power of a uniform number).
fn gamma(random: &mut Random, shape: f64) -> f64 {
    if shape <= 1e-300 {
        return 0.0;
    }
    if shape < 1.0 {
        let u = 1.0 - random.unit();
        return gamma(random, shape + 1.0) * libm::exp(libm::log(u) / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(random);
        let v = 1.0 + c * x;
        if v > 0.0 {
            let v = v * v * v;
            let u = 1.0 - random.unit();
            if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }
}

/// Generator of synthetic documents, with the topics already drawn.
#[derive(Debug, Clone)]
pub struct Synthetic {
    settings: Synth,
    base: AliasTable,
    topics: Vec<AliasTable>,
    /// (word, topic) of the tokens of the current document that are not repetitions.
    fresh: Vec<(u32, u32)>,
    /// Words of all tokens of the current document.
    tokens: Vec<u32>,
}

impl Synth {
    /// Checks the ranges of the settings.
    fn check(&self) -> Result<()> {
        let positive = [
            ("mean_length", self.mean_length),
            ("length_shape", self.length_shape),
            ("alpha", self.alpha),
            ("concentration", self.concentration),
        ];
        for (name, value) in positive {
            if !(value > 0.0 && value < 1e9) {
                return Err(Error::out_of_range(name, value, "a number above 0 and below 1e9"));
            }
        }
        if self.mean_length < 1.0 {
            return Err(Error::out_of_range("mean_length", self.mean_length, "at least 1"));
        }
        for (name, value) in [("zipf_exponent", self.zipf_exponent), ("zipf_shift", self.zipf_shift)] {
            if !(0.0..1e9).contains(&value) {
                return Err(Error::out_of_range(name, value, "a number from 0 to below 1e9"));
            }
        }
        for (name, value) in [("smooth", self.smooth), ("burst", self.burst)] {
            if !(0.0..1.0).contains(&value) {
                return Err(Error::out_of_range(name, value, "a share from 0 to below 1"));
            }
        }
        for (name, value) in [("documents", self.documents), ("topics", u64::from(self.topics))] {
            if value == 0 {
                return Err(Error::out_of_range(name, value, "at least 1"));
            }
        }
        if self.words == 0 || self.words == u32::MAX {
            return Err(Error::out_of_range("words", self.words, "a number from 1 to 4294967294"));
        }
        Ok(())
    }

    /// Returns the Zipf-Mandelbrot word distribution by word id, normalized.
    fn base(&self) -> Vec<f64> {
        // Computed relative to the first word and in logarithms, so that no exponent makes all of
        // them 0.
        let first = libm::log(1.0 + self.zipf_shift);
        let mut base: Vec<f64> = (1..=u64::from(self.words))
            .map(|rank| libm::exp(-self.zipf_exponent * (libm::log(rank as f64 + self.zipf_shift) - first)))
            .collect();
        Random::new(self.seed, Purpose::SynthWords, 0).shuffle(&mut base);
        let total: f64 = base.iter().sum();
        base.into_iter().map(|p| p / total).collect()
    }

    /// Returns topic k before smoothing as (word, weight) pairs, without words of negligible
    /// weight.
    fn topic(&self, base: &[f64], k: u32) -> Vec<(u32, f64)> {
        let mut random = Random::new(self.seed, Purpose::SynthTopic, u64::from(k));
        let drawn: Vec<f64> = base.iter().map(|&b| gamma(&mut random, self.concentration * b)).collect();
        let total = drawn.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let kept: Vec<(u32, f64)> =
            (0..).zip(&drawn).map(|(w, &g)| (w, g / total)).filter(|&(_, p)| p > 1e-12).collect();
        // With a concentration close to 0, all weights can underflow. The topic then has a single
        // word.
        if kept.is_empty() { vec![(random.below(base.len() as u64) as u32, 1.0)] } else { kept }
    }

    /// Draws the topics. `progress` receives the number of topics done.
    pub fn prepare(&self, progress: ProgressCallback<'_>) -> Result<Synthetic> {
        self.check()?;
        let base = self.base();
        let pairs: Vec<(u32, f64)> = (0..).zip(base.iter().copied()).collect();
        Ok(Synthetic {
            settings: self.clone(),
            base: AliasTable::new(&pairs),
            topics: (0..self.topics)
                .map(|k| {
                    if progress(Step::Topics.at(u64::from(k), u64::from(self.topics))).is_break() {
                        return Err(Error::Interrupted);
                    }
                    Ok(AliasTable::new(&self.topic(&base, k)))
                })
                .collect::<Result<_>>()?,
            fresh: Vec::new(),
            tokens: Vec::new(),
        })
    }

    /// Uses the given topics, each a list of (word, weight), and `common` as the word distribution.
    pub fn with_topics(&self, common: &[(u32, f64)], topics: &[Vec<(u32, f64)>]) -> Result<Synthetic> {
        let settings = Synth { topics: topics.len() as u32, ..self.clone() };
        settings.check()?;
        let is_valid = |list: &[(u32, f64)]| {
            list.iter().all(|&(w, p)| w < self.words && p > 0.0 && p.is_finite()) && !list.is_empty()
        };
        if !(is_valid(common) && topics.iter().all(|topic| is_valid(topic))) {
            let expected = "lists of words below W with weights above 0, at least one word per topic";
            return Err(Error::out_of_range("topics", "an empty or invalid list", expected));
        }
        Ok(Synthetic {
            settings,
            base: AliasTable::new(common),
            topics: topics.iter().map(|topic| AliasTable::new(topic)).collect(),
            fresh: Vec::new(),
            tokens: Vec::new(),
        })
    }

    /// Returns the names of the words: `w` and a number, zero-padded to the same width.
    pub fn vocabulary(&self) -> Vocabulary {
        let width = self.words.to_string().len();
        let mut vocabulary = Vocabulary::new();
        for w in 1..=self.words {
            vocabulary.push(&format!("w{w:0width$}"));
        }
        vocabulary
    }

    /// Returns p(word | topic) of the true topics, one row of W numbers per topic, for tests that
    /// recover them.
    pub fn truth(&self) -> Result<Vec<Vec<f64>>> {
        self.check()?;
        let base = self.base();
        Ok((0..self.topics)
            .map(|k| {
                let mut row: Vec<f64> = base.iter().map(|&b| self.smooth * b).collect();
                for (w, p) in self.topic(&base, k) {
                    row[w as usize] += (1.0 - self.smooth) * p;
                }
                row
            })
            .collect())
    }
}

impl Synthetic {
    /// Draws document `d` into `words` and `counts`, which are cleared first.
    pub fn document(&mut self, d: u64, words: &mut Vec<u32>, counts: &mut Vec<u32>) {
        let s = &self.settings;
        let mut random = Random::new(s.seed, Purpose::SynthDocument, d);
        let extra = s.mean_length - 1.0;
        let length = 1 + (gamma(&mut random, s.length_shape) * extra / s.length_shape + random.unit()) as u64;
        let new_topic = f64::from(s.topics) * s.alpha;
        self.fresh.clear();
        self.tokens.clear();
        for i in 0..length {
            if i > 0 && random.unit() < s.burst {
                let (word, _) = self.fresh[random.below(self.fresh.len() as u64) as usize];
                self.tokens.push(word);
                continue;
            }
            let drawn = random.unit() * (new_topic + self.fresh.len() as f64) - new_topic;
            let topic = match self.fresh.get(drawn as usize) {
                Some(&(_, topic)) if drawn >= 0.0 => topic,
                _ => random.below(u64::from(s.topics)) as u32,
            };
            let table = if random.unit() < s.smooth { &self.base } else { &self.topics[topic as usize] };
            let word = table.draw(&mut random);
            self.fresh.push((word, topic));
            self.tokens.push(word);
        }
        self.tokens.sort_unstable();
        words.clear();
        counts.clear();
        for &word in &self.tokens {
            match counts.last_mut() {
                Some(last) if words.last() == Some(&word) => *last += 1,
                _ => {
                    words.push(word);
                    counts.push(1);
                }
            }
        }
    }

    /// Draws all documents and writes them to a corpus file. `progress` receives the number of
    /// documents done and the total.
    pub fn write(
        &mut self,
        path: impl AsRef<Path>,
        vocabulary: &Vocabulary,
        progress: ProgressCallback<'_>,
    ) -> Result<Corpus> {
        self.fill(CorpusWriter::create(path, false)?, vocabulary, progress)
    }

    /// Draws all documents into a corpus in memory. Otherwise like [`write`](Synthetic::write).
    pub fn corpus(&mut self, vocabulary: &Vocabulary, progress: ProgressCallback<'_>) -> Result<Corpus> {
        self.fill(CorpusWriter::in_memory(false)?, vocabulary, progress)
    }

    /// Draws all documents into a writer and completes it.
    fn fill(
        &mut self,
        mut writer: CorpusWriter,
        vocabulary: &Vocabulary,
        progress: ProgressCallback<'_>,
    ) -> Result<Corpus> {
        let (mut words, mut counts) = (Vec::new(), Vec::new());
        let total = self.settings.documents;
        for d in 0..total {
            self.document(d, &mut words, &mut counts);
            writer.push(&words, &counts, None)?;
            if d % 4096 == 4095 && progress(Step::Documents.at(d + 1, total)).is_break() {
                return Err(Error::Interrupted);
            }
        }
        writer.finish(self.settings.words, Some(vocabulary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;

    #[test]
    fn alias_draws_by_weight() {
        let table = AliasTable::new(&[(7, 1.0), (8, 2.0), (9, 5.0)]);
        let mut random = Random::new(1, Purpose::SynthTopic, 0);
        let mut seen = [0; 3];
        for _ in 0..80_000 {
            seen[table.draw(&mut random) as usize - 7] += 1;
        }
        assert!((9_500..10_500).contains(&seen[0]) && (19_300..20_700).contains(&seen[1]), "{seen:?}");
    }

    #[test]
    fn gamma_has_its_mean() {
        let mut random = Random::new(1, Purpose::SynthTopic, 0);
        for shape in [0.05, 0.7, 4.0] {
            let mean = (0..40_000).map(|_| gamma(&mut random, shape)).sum::<f64>() / 40_000.0;
            assert!((mean / shape - 1.0).abs() < 0.06, "{shape}: {mean}");
        }
    }

    #[test]
    fn lengths_and_words_are_as_asked() {
        let settings =
            Synth { documents: 2000, words: 500, topics: 5, mean_length: 40.0, ..Synth::default() };
        let mut synthetic = settings.prepare(&mut |_| ControlFlow::Continue(())).unwrap();
        let (mut words, mut counts, mut tokens) = (Vec::new(), Vec::new(), 0u64);
        for d in 0..2000 {
            synthetic.document(d, &mut words, &mut counts);
            assert!(words.windows(2).all(|w| w[0] < w[1]) && words.last() < Some(&500));
            tokens += counts.iter().map(|&x| u64::from(x)).sum::<u64>();
        }
        assert!((tokens as f64 / 2000.0 - 40.0).abs() < 2.0, "{tokens}");
        let truth = settings.truth().unwrap();
        assert!(truth.iter().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9));
    }
}
