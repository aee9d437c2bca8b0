//! The model: topics that training has found, and how it found them.

mod file;
#[cfg(feature = "npz")]
mod npz;
mod words;

pub(crate) use file::Frame;
pub use file::ModelSize;
#[cfg(feature = "npz")]
pub(crate) use npz::Npz;
pub(crate) use words::Probabilities;
pub use words::{Order, RankedWord};

use serde::{Deserialize, Serialize};

use crate::corpus::ingest::words::Pipeline;
use crate::corpus::{Corpus, Vocabulary, word_name};
use crate::settings::{Active, Digamma, DocumentState, Exclude, Settings};
use crate::simd::{LANES, flat};
use crate::topics::Topics;

/// How a model was trained. Nothing here depends on the machine or the time, so the same training gives the same file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredRecord")]
#[non_exhaustive]
pub struct TrainingRecord {
    /// The algorithm's name.
    pub algorithm: String,
    /// The options that were given.
    #[serde(skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// Names of topics that had seed words, by their numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topic_names: Vec<(u32, String)>,
    /// The seed.
    pub seed: u64,
    /// Passes done.
    pub passes: u32,
    /// The change of perplexity at which training would stop.
    pub tolerance: f64,
    /// The training perplexity at the end.
    pub train_perplexity: f64,
    /// (pass, training perplexity after it).
    pub history: Vec<(u32, f64)>,
    /// The corpus it was trained on.
    pub corpus: CorpusName,
    /// What text went through to become the corpus's words, where it came from text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
}

/// The record as it is in files, those of earlier versions included, which had some options beside the others.
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
    topic_names: Vec<(u32, String)>,
    seed: u64,
    passes: u32,
    tolerance: f64,
    train_perplexity: f64,
    history: Vec<(u32, f64)>,
    corpus: CorpusName,
    pipeline: Option<Pipeline>,
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
            topic_names: stored.topic_names,
            seed: stored.seed,
            passes: stored.passes,
            tolerance: stored.tolerance,
            train_perplexity: stored.train_perplexity,
            history: stored.history,
            corpus: stored.corpus,
            pipeline: stored.pipeline,
        }
    }
}

/// Which corpus a model comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusName {
    /// The file's name, without its folder. Empty for a corpus in memory.
    pub file: String,
    /// Stands for the content.
    pub fingerprint: String,
    /// D.
    pub documents: u64,
    /// W.
    pub words: u32,
    /// NNZ.
    pub nonzeros: u64,
    /// N.
    pub tokens: u64,
}

impl CorpusName {
    pub(crate) fn of(corpus: &Corpus) -> CorpusName {
        let shape = corpus.shape();
        CorpusName {
            file: corpus.file_name(),
            fingerprint: corpus.fingerprint(),
            documents: shape.documents,
            words: shape.words,
            nonzeros: shape.nonzeros,
            tokens: shape.tokens,
        }
    }
}

/// Topics as training has left them.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// lambda is the column sums of phi, so that every topic's words add up to 1.
    pub(crate) topics: Topics,
    pub(crate) alpha: Vec<f32>,
    pub(crate) vocabulary: Option<Vocabulary>,
    pub(crate) training: TrainingRecord,
}

/// The matrix phi \[W, K\] of a model, as it is in memory: for every word K counts, not normalized.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PhiView<'a> {
    /// The rows one after another, `words * stride` numbers. Numbers of a row behind the first `topics` are padding.
    pub data: &'a [f32],
    /// W, the number of rows.
    pub words: u32,
    /// K, the number of topics.
    pub topics: u32,
    /// Distance between the beginnings of two rows: K rounded up to a multiple of 16.
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

/// A word of a topic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopWord {
    /// Its id.
    pub word: u32,
    /// p(w|k).
    pub probability: f64,
}

impl Model {
    pub(crate) fn new(
        mut topics: Topics,
        alpha: Vec<f32>,
        vocabulary: Option<Vocabulary>,
        training: TrainingRecord,
    ) -> Model {
        topics.sum_lambda();
        Model { topics, alpha, vocabulary, training }
    }

    /// K.
    pub fn topics(&self) -> u32 {
        self.topics.count
    }
    /// W.
    pub fn words(&self) -> u32 {
        self.topics.words()
    }
    /// Dirichlet parameters of a document's topics, one per topic.
    pub fn alpha(&self) -> &[f32] {
        &self.alpha
    }
    /// Dirichlet parameter of a topic's words.
    pub fn beta(&self) -> f32 {
        self.topics.beta
    }
    /// The words, where they have names.
    pub fn vocabulary(&self) -> Option<&Vocabulary> {
        self.vocabulary.as_ref()
    }
    /// How it was trained.
    pub fn training(&self) -> &TrainingRecord {
        &self.training
    }
    /// What text went through to become words, where the model comes from text: new text is to go the same way.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.training.pipeline.as_ref()
    }
    /// phi\[W, K\] as a whole, without copying it.
    pub fn phi_view(&self) -> PhiView<'_> {
        let (data, lanes) = self.topics.phi.all();
        PhiView { data: flat(data), words: self.words(), topics: self.topics(), stride: lanes * LANES }
    }
    /// phi\[w,:\]: K counts, not normalised.
    pub fn phi(&self, word: u32) -> &[f32] {
        &flat(self.topics.phi.row(word))[..self.topics.count as usize]
    }
    /// p(w|k).
    pub fn probability(&self, word: u32, topic: u32) -> f64 {
        let (beta, beta_sum) = (f64::from(self.topics.beta), self.topics.beta_sum());
        let k = topic as usize;
        (f64::from(self.phi(word)[k]) + beta) / (self.topics.lambda[k] + beta_sum)
    }
    /// The same of a word for every topic.
    pub fn probabilities(&self, word: u32) -> impl Iterator<Item = f64> {
        let (beta, beta_sum) = (f64::from(self.topics.beta), self.topics.beta_sum());
        self.phi(word)
            .iter()
            .zip(&self.topics.lambda)
            .map(move |(&n, &lambda)| (f64::from(n) + beta) / (lambda + beta_sum))
    }
    /// What a word is called.
    pub fn word_name(&self, word: u32) -> std::borrow::Cow<'_, str> {
        word_name(self.vocabulary.as_ref(), word)
    }
    /// What a topic is called, where it was trained from seed words under a name.
    pub fn topic_name(&self, k: u32) -> Option<&str> {
        self.training.topic_names.iter().find(|&&(topic, _)| topic == k).map(|(_, name)| name.as_str())
    }
    /// The share of all tokens that belong to topic k.
    pub fn share(&self, k: u32) -> f64 {
        let total: f64 = self.topics.lambda.iter().sum();
        self.topics.lambda.get(k as usize).map_or(0.0, |&lambda| lambda / total.max(f64::MIN_POSITIVE))
    }

    /// The n words of highest probability of every topic, highest first, equal ones in the order of their ids.
    pub fn top_words(&self, n: usize) -> Vec<Vec<TopWord>> {
        let beta = f64::from(self.topics.beta);
        let beta_sum = self.topics.beta_sum();
        let best = self.best(n.min(self.words() as usize), |_| 1.0, 0.0);
        let probability = |value: f64, lambda: f64| (value + beta) / (lambda + beta_sum);
        let topic = |(best, &lambda): (Vec<(f64, u32)>, &f64)| {
            best.into_iter()
                .map(|(value, word)| TopWord { word, probability: probability(value, lambda) })
                .collect()
        };
        best.into_iter().zip(&self.topics.lambda).map(topic).collect()
    }
}
