//! The trained model: the topics, their vocabulary and a record of the training.
//!
//! | module | contents |
//! |---|---|
//! | `file` | the model file |
//! | `npz` | export for NumPy |
//! | `words` | ranking the words of a topic |
//!
//! Start reading at [`Model`]. This module must not know how topics are trained or inferred.

mod file;
#[cfg(feature = "npz")]
mod npz;
mod words;

pub use file::ModelSize;
pub(crate) use file::ModelWriter;
#[cfg(feature = "npz")]
pub(crate) use npz::NpzWriter;
pub(crate) use words::Probabilities;
pub use words::{RankedWord, WordRanking};

use serde::{Deserialize, Serialize};

use crate::corpus::ingest::words::Pipeline;
use crate::corpus::{Corpus, Vocabulary, word_name};
use crate::settings::{Active, Digamma, DocumentState, Exclude, Settings};
use crate::simd::{LANES, flat};
use crate::topics::Topics;

/// How a model was trained. Nothing here depends on the machine or the time, so that the same
/// training gives the same file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredRecord")]
#[non_exhaustive]
pub struct TrainingRecord {
    /// The algorithm's name.
    pub algorithm: String,
    /// The options that were set explicitly.
    #[serde(skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// Names and checksums of the options that are lists (`seeds`, `start`, `order`), if they were
    /// set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checksums: Vec<(String, String)>,
    /// Topic number and name of each topic with seed words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topic_names: Vec<(u32, String)>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of passes.
    pub passes: u32,
    /// Convergence tolerance: the change of perplexity at which training stops.
    pub tolerance: f64,
    /// Training perplexity after the last pass.
    pub train_perplexity: f64,
    /// Pairs of a pass and the training perplexity after it.
    pub history: Vec<(u32, f64)>,
    /// The corpus that the model was trained on.
    pub corpus: CorpusIdentity,
    /// How the corpus was tokenized, if it was imported from text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
    /// The update, if the training has updated a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<UpdateRecord>,
}

impl TrainingRecord {
    /// Returns the corpora that the model was trained on, the last one first: more than one if it
    /// was updated.
    pub fn corpora(&self) -> impl Iterator<Item = &CorpusIdentity> {
        let earlier = self.update.iter().flat_map(|update| update.corpora.iter().rev());
        std::iter::once(&self.corpus).chain(earlier)
    }
}

/// Record of the update of a model with new documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UpdateRecord {
    /// Checksum of the topics, priors and words of the model before the update.
    pub model: String,
    /// Weight of the tokens of the model before the update, relative to those of the new
    /// documents.
    pub weight: f64,
    /// Corpora of the earlier trainings, the first one first. The corpus of the update is
    /// [`TrainingRecord::corpus`].
    pub corpora: Vec<CorpusIdentity>,
    /// Number of words that the model did not have before.
    pub new_words: u32,
    /// Cosine between the word distributions of every topic before and after the update, over the
    /// words that the model had before. 1 means that the topic has not changed.
    pub similarities: Vec<f64>,
}

impl UpdateRecord {
    /// Returns the number of documents of the earlier trainings.
    pub fn documents(&self) -> u64 {
        self.corpora.iter().fold(0, |sum, corpus| sum.saturating_add(corpus.documents))
    }

    /// Returns the mean of the similarities.
    pub fn mean_similarity(&self) -> f64 {
        self.similarities.iter().sum::<f64>() / self.similarities.len().max(1) as f64
    }

    /// Returns the topics and their similarities, the least similar first.
    pub fn least_similar(&self) -> Vec<(u32, f64)> {
        let mut all: Vec<(u32, f64)> = (0..).zip(self.similarities.iter().copied()).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    }
}

/// The record as it is stored in files. Earlier versions stored some options outside `settings`.
#[derive(Deserialize)]
struct StoredRecord {
    algorithm: String,
    #[serde(default)]
    settings: Settings,
    exclude: Option<Exclude>,
    active: Option<Active>,
    digamma: Option<Digamma>,
    theta: Option<String>,
    #[serde(default)]
    optimize: bool,
    seed_weight: Option<f64>,
    #[serde(default)]
    checksums: Vec<(String, String)>,
    #[serde(default)]
    topic_names: Vec<(u32, String)>,
    seed: u64,
    passes: u32,
    tolerance: f64,
    train_perplexity: f64,
    history: Vec<(u32, f64)>,
    corpus: CorpusIdentity,
    pipeline: Option<Pipeline>,
    update: Option<UpdateRecord>,
}

impl From<StoredRecord> for TrainingRecord {
    fn from(stored: StoredRecord) -> TrainingRecord {
        let mut settings = stored.settings;
        settings.exclude = settings.exclude.or(stored.exclude);
        settings.active = settings.active.or(stored.active);
        settings.digamma = settings.digamma.or(stored.digamma);
        settings.document_state = settings.document_state.or(stored.theta.map(|_| DocumentState::None));
        settings.optimize = settings.optimize.or(stored.optimize.then_some(true));
        settings.seed_weight = settings.seed_weight.or(stored.seed_weight);
        TrainingRecord {
            algorithm: stored.algorithm,
            settings,
            checksums: stored.checksums,
            topic_names: stored.topic_names,
            seed: stored.seed,
            passes: stored.passes,
            tolerance: stored.tolerance,
            train_perplexity: stored.train_perplexity,
            history: stored.history,
            corpus: stored.corpus,
            pipeline: stored.pipeline,
            update: stored.update,
        }
    }
}

/// Identifies the corpus that a model was trained on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusIdentity {
    /// Identifier of the content, as [`Corpus::content_id`] returns it. Empty in models of early
    /// versions, which have `file` and `fingerprint` instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// File name without its folder. Only models of early versions have it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Fingerprint of the corpus file. Only models of early versions have it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// D, the number of documents.
    pub documents: u64,
    /// W, the size of the vocabulary.
    pub words: u32,
    /// Number of non-zero entries of the document-word matrix.
    pub nonzeros: u64,
    /// N, the number of tokens.
    pub tokens: u64,
}

impl CorpusIdentity {
    /// Describes a corpus.
    pub(crate) fn of(corpus: &Corpus) -> CorpusIdentity {
        let shape = corpus.shape();
        CorpusIdentity {
            content: corpus.content_id(),
            file: String::new(),
            fingerprint: String::new(),
            documents: shape.documents,
            words: shape.words,
            nonzeros: shape.nonzeros,
            tokens: shape.tokens,
        }
    }

    /// Returns whether a corpus is the one that the model was trained on.
    pub fn matches(&self, corpus: &Corpus) -> bool {
        if self.content.is_empty() {
            self.fingerprint == corpus.fingerprint()
        } else {
            self.content == corpus.content_id()
        }
    }

    /// Returns whether a corpus is the one that the model was trained on, or has the same size in
    /// every respect, as after another import of the same data.
    pub fn describes(&self, corpus: &Corpus) -> bool {
        let other = CorpusIdentity::of(corpus);
        let size = |of: &CorpusIdentity| (of.documents, of.words, of.nonzeros, of.tokens);
        self.matches(corpus) || size(self) == size(&other)
    }

    /// Returns the identifier of the content; the fingerprint in models of early versions.
    pub fn id(&self) -> &str {
        if self.content.is_empty() { &self.fingerprint } else { &self.content }
    }
}

/// A trained topic model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The topics. lambda contains the column sums of phi, so that the word probabilities of every
    /// topic add up to 1.
    pub(crate) topics: Topics,
    pub(crate) alpha: Vec<f32>,
    pub(crate) vocabulary: Option<Vocabulary>,
    pub(crate) training: TrainingRecord,
}

/// A view of the matrix phi \[W, K\] of a model: for every word K counts, not normalized.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PhiView<'a> {
    /// The rows one after another, `words * stride` values. The values of a row after the first
    /// `topics` are padding.
    pub data: &'a [f32],
    /// W, the number of rows.
    pub words: u32,
    /// K, the number of topics.
    pub topics: u32,
    /// Distance between the starts of two rows in values: K rounded up to a multiple of 16.
    pub stride: usize,
}

impl<'a> PhiView<'a> {
    /// Returns the K counts of a word.
    ///
    /// # Panics
    ///
    /// Panics if `word` is not below `words`.
    pub fn row(&self, word: u32) -> &'a [f32] {
        let start = word as usize * self.stride;
        &self.data[start..start + self.topics as usize]
    }
}

/// A word of a topic and its probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopWord {
    /// Id of the word.
    pub word: u32,
    /// p(w|k), the probability of the word in the topic.
    pub probability: f64,
}

impl Model {
    /// Creates a model and computes lambda from phi.
    pub(crate) fn new(
        mut topics: Topics,
        alpha: Vec<f32>,
        vocabulary: Option<Vocabulary>,
        training: TrainingRecord,
    ) -> Model {
        topics.sum_lambda();
        Model { topics, alpha, vocabulary, training }
    }

    /// Returns K, the number of topics.
    pub fn topics(&self) -> u32 {
        self.topics.count
    }
    /// Returns W, the size of the vocabulary.
    pub fn words(&self) -> u32 {
        self.topics.words()
    }
    /// Returns the Dirichlet parameters of a document's topics, one per topic.
    pub fn alpha(&self) -> &[f32] {
        &self.alpha
    }
    /// Returns the Dirichlet parameter of a topic's words.
    pub fn beta(&self) -> f32 {
        self.topics.beta
    }
    /// Returns the vocabulary, if the words have names.
    pub fn vocabulary(&self) -> Option<&Vocabulary> {
        self.vocabulary.as_ref()
    }
    /// Returns the record of the training.
    pub fn training(&self) -> &TrainingRecord {
        &self.training
    }
    /// Returns how the training text was tokenized, if the model was trained on text. New text must
    /// be tokenized in the same way.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.training.pipeline.as_ref()
    }
    /// Returns a view of the whole matrix phi \[W, K\], without copying it.
    pub fn phi_view(&self) -> PhiView<'_> {
        let (data, lanes) = self.topics.phi.all();
        PhiView { data: flat(data), words: self.words(), topics: self.topics(), stride: lanes * LANES }
    }
    /// Returns phi\[w,:\], the K counts of a word, not normalized.
    pub fn phi(&self, word: u32) -> &[f32] {
        &flat(self.topics.phi.row(word))[..self.topics.count as usize]
    }
    /// Returns p(w|k), the probability of a word in a topic.
    pub fn probability(&self, word: u32, topic: u32) -> f64 {
        let (beta, beta_sum) = (f64::from(self.topics.beta), self.topics.beta_sum());
        let k = topic as usize;
        (f64::from(self.phi(word)[k]) + beta) / (self.topics.lambda[k] + beta_sum)
    }
    /// Returns p(w|k) of a word for every topic k, in order.
    pub fn probabilities(&self, word: u32) -> impl Iterator<Item = f64> {
        let (beta, beta_sum) = (f64::from(self.topics.beta), self.topics.beta_sum());
        self.phi(word)
            .iter()
            .zip(&self.topics.lambda)
            .map(move |(&n, &lambda)| (f64::from(n) + beta) / (lambda + beta_sum))
    }
    /// Returns a checksum of the topics, the priors and the words, whatever the training was.
    pub(crate) fn content_checksum(&self) -> String {
        let mut crc = crc32fast::Hasher::new();
        let mut add = |values: &[f32]| values.iter().for_each(|value| crc.update(&value.to_le_bytes()));
        (0..self.words()).for_each(|w| add(self.phi(w)));
        add(&self.alpha);
        add(&[self.beta()]);
        if let Some((text, ends)) = self.vocabulary.as_ref().map(Vocabulary::parts) {
            crc.update(text.as_bytes());
            for end in ends {
                crc.update(&end.to_le_bytes());
            }
        }
        format!("{:08x}", crc.finalize())
    }
    /// Returns the name of a word.
    pub fn word_name(&self, word: u32) -> std::borrow::Cow<'_, str> {
        word_name(self.vocabulary.as_ref(), word)
    }
    /// Returns the name of a topic, if it was trained with named seed words.
    pub fn topic_name(&self, k: u32) -> Option<&str> {
        self.training.topic_names.iter().find(|&&(topic, _)| topic == k).map(|(_, name)| name.as_str())
    }
    /// Returns whether any topic has a name.
    pub fn has_topic_names(&self) -> bool {
        !self.training.topic_names.is_empty()
    }
    /// Returns the heading of a topic's column in a table: `p_3` for the prefix `p`, or `p_3_sport`
    /// if the topic has a name. Characters of the name other than letters and digits become
    /// underscores.
    pub fn topic_column(&self, prefix: &str, k: u32) -> String {
        match self.topic_name(k) {
            None => format!("{prefix}_{k}"),
            Some(name) => {
                let name = name.replace(|c: char| !c.is_alphanumeric(), "_");
                format!("{prefix}_{k}_{name}")
            }
        }
    }
    /// Returns the share of all tokens that belongs to topic `k`, from 0 to 1.
    pub fn share(&self, k: u32) -> f64 {
        let total: f64 = self.topics.lambda.iter().sum();
        self.topics.lambda.get(k as usize).map_or(0.0, |&lambda| lambda / total.max(f64::MIN_POSITIVE))
    }

    /// Returns the `n` most probable words of every topic, most probable first. Ties are in
    /// ascending order of word ids.
    pub fn top_words(&self, n: usize) -> Vec<Vec<TopWord>> {
        let beta = f64::from(self.topics.beta);
        let beta_sum = self.topics.beta_sum();
        let best = self.highest_scores(n.min(self.words() as usize), |_| 1.0, 0.0);
        let probability = |value: f64, lambda: f64| (value + beta) / (lambda + beta_sum);
        let topic = |(best, &lambda): (Vec<(f64, u32)>, &f64)| {
            best.into_iter()
                .map(|(value, word)| TopWord { word, probability: probability(value, lambda) })
                .collect()
        };
        best.into_iter().zip(&self.topics.lambda).map(topic).collect()
    }
}
