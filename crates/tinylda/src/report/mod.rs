//! Computes the data of a report: the topic map, the words of the topics, the topics of the words,
//! documents, labels and the training run. `docs/REPORT.md` specifies the format.
//!
//! | question | module |
//! |---|---|
//! | how different are two topics? | `distance` |
//! | where is a topic in the plane? | `map` |
//! | where is its circle, without overlaps? | `layout` |
//! | which words represent a topic? | `relevance` |
//! | which documents are shown? | `documents`, their texts by `texts` |
//! | how is it written? | `json` |
//! | how much memory does it need? | `memory` |
//!
//! Start reading at [`Report::data`]. The page belongs to the program: this module must not know
//! about HTML, except that `<` and similar characters are escaped. The result does not depend on
//! the number of threads.

mod distance;
mod documents;
mod json;
mod layout;
mod map;
mod memory;
mod relevance;
mod text_access;
#[cfg(feature = "text")]
mod texts;

pub use crate::model::ModelSize;
pub use distance::Distances;
pub use documents::{OmittedLabels, TrainedDocuments};
pub use text_access::{DocumentTexts, TextAccess, TextSummary};
#[cfg(feature = "text")]
pub use texts::document_texts;

use crate::corpus::Corpus;
use crate::error::Result;
use crate::eval::{Coherence, Measure, word_measures};
use crate::format::grouped;
use crate::infer::{Mixtures, document_details, document_names};
use crate::memory::trim_heap;
use crate::model::{Model, Probabilities};
use crate::progress::ProgressCallback;
use crate::threads::pool;
use documents::{DocumentFindings, documents};
use json::JsonWriter;
use layout::CircleLayout;

/// Version of the data format, the JSON key `form`.
const FORMAT_VERSION: u64 = 1;
/// Number of nearest topics that are listed for each topic.
const NEAREST_TOPICS: usize = 5;
/// Number of words from which the coherence and exclusivity of a topic are computed.
const TOP_WORDS: usize = 10;
/// Maximum number of topics that are listed for a word.
const MAX_TOPICS_PER_WORD: usize = 10;
/// Smallest share p(k|w) of a topic that is listed for a word.
const MIN_WORD_SHARE: f64 = 0.01;
/// Maximum number of characters of a word, a name or a label. Longer ones are truncated.
const MAX_NAME_CHARS: usize = 200;

/// A pass of the training, for the plot of its progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassRecord {
    /// Number of the pass, from 1.
    pub pass: u32,
    /// Training perplexity after the pass.
    pub perplexity: f64,
    /// Seconds since the training started, if known.
    pub seconds: Option<f64>,
    /// Resident memory in bytes after the pass, if known.
    pub memory: Option<u64>,
}

/// Information about the training run that is not stored in the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunInfo {
    /// Title of the report.
    pub title: String,
    /// The documents as the user knows them, for example a file name; may be empty.
    pub input: String,
    /// Command line of the training.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// The passes. If empty, the history in the model is used.
    pub passes: Vec<PassRecord>,
    /// Memory limit in bytes, if there was one.
    pub memory: Option<u64>,
}

/// Settings of a report, and its computation.
#[derive(Debug, Clone)]
pub struct Report {
    /// Number of threads. The result does not depend on it.
    pub threads: usize,
    /// The first lines of documents to show, and where they may be read; `None` to omit them.
    pub texts: Option<TextAccess>,
    /// Information about the training run.
    pub run: RunInfo,
}

/// The topics as points in a plane.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicMap {
    /// Coordinates along the first principal axis, one per topic.
    pub x: Vec<f64>,
    /// Coordinates along the second principal axis, one per topic.
    pub y: Vec<f64>,
    /// Jensen-Shannon divergences of all pairs of topics, in nats.
    pub distances: Distances,
}

/// Computes the map of a model's topics: the principal coordinates of their Jensen-Shannon
/// divergences, as in pyLDAvis. The sign of each axis is chosen so that its farthest topic is on
/// the positive side.
pub fn topic_map(model: &Model, threads: usize, progress: ProgressCallback<'_>) -> Result<TopicMap> {
    let pool = pool(threads)?;
    let distances = distance::distances(model, &pool, progress)?;
    let (x, y) = pool.install(|| map::coordinates(&distances));
    Ok(TopicMap { x, y, distances })
}

/// Returns for every topic all words that are among the most relevant for some lambda. `prevalence`
/// contains the share p(k) of each topic, from which p(w) is computed.
pub fn relevant_words(model: &Model, prevalence: &[f64], threads: usize) -> Result<Vec<Vec<u32>>> {
    let shares = word_shares(model, prevalence);
    Ok(pool(threads)?.install(|| relevance::lists(model, &shares)))
}

/// Returns p(w) = sum_k p(k) p(w|k) of every word.
fn word_shares(model: &Model, prevalence: &[f64]) -> Vec<f64> {
    let p = Probabilities::new(model);
    let share = |w: u32| p.row(w).zip(prevalence).map(|(p, share)| p * share).sum::<f64>();
    // With beta every share is positive, but it may be rounded to 0.
    (0..model.words()).map(|w| share(w).max(f64::MIN_POSITIVE)).collect()
}

/// Truncates a text to `max_chars` characters, including an ellipsis.
fn truncate_chars(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    text.chars().take(max_chars - 1).chain(['…']).collect()
}

/// The data of a report before it is written as JSON.
struct ReportData<'a> {
    model: &'a Model,
    corpus: Option<&'a Corpus>,
    prevalence: Vec<f64>,
    coherence: Option<Vec<f64>>,
    exclusivity: Vec<f64>,
    map: TopicMap,
    shares: Vec<f64>,
    /// The words of each topic that are shown for some lambda.
    top: Vec<Vec<u32>>,
    documents: Option<DocumentFindings>,
    texts: Option<Vec<String>>,
}

/// The data of a report, and what it had to leave out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WrittenReport {
    /// JSON that can be embedded in an HTML page.
    pub json: String,
    /// Numbers of texts that were shown and left out; `None` if no texts were requested.
    pub texts: Option<TextSummary>,
    /// Label columns that were left out.
    pub omitted_labels: Vec<OmittedLabels>,
}

impl Report {
    /// Computes the report of a model and, if given, its corpus. The topics of the documents are
    /// inferred. `progress` can cancel.
    pub fn data(
        &self,
        model: &Model,
        corpus: Option<&Corpus>,
        progress: ProgressCallback<'_>,
    ) -> Result<WrittenReport> {
        self.data_with(model, corpus, None, progress)
    }

    /// Computes a report like [`data`](Report::data), with the topics of documents that were
    /// collected during training. If `trained` is `None` or empty, they are inferred.
    pub fn data_with(
        &self,
        model: &Model,
        corpus: Option<&Corpus>,
        trained: Option<TrainedDocuments<'_>>,
        progress: ProgressCallback<'_>,
    ) -> Result<WrittenReport> {
        let ranked = model.top_words(TOP_WORDS);
        let top_words: Vec<Vec<u32>> =
            ranked.iter().map(|words| words.iter().map(|w| w.word).collect()).collect();
        let mut coherence = None;
        let mut found = None;
        let mut texts = None;
        if let Some(corpus) = corpus {
            let coherence_settings =
                Coherence { measures: vec![Measure::CNpmi], threads: self.threads, ..Coherence::default() };
            coherence = coherence_settings
                .of_corpus(model, &top_words, corpus, progress)?
                .measures
                .pop()
                .map(|measured| measured.topics);
            // The memory plan assumes that a step has returned its memory when the next one starts.
            trim_heap();
            let all = if let Some(documents) = trained.filter(|documents| !documents.is_empty()) {
                documents.finish()?
            } else {
                let mixtures = Mixtures::new(model, corpus)?.threads(self.threads).with_labels();
                documents(&mixtures, progress)?
            };
            if let Some(access) = &self.texts {
                let numbers: Vec<u64> = all.shown.iter().map(|document| document.number).collect();
                texts = Some(document_texts(corpus, &numbers, access, progress)?);
            }
            found = Some(all);
            trim_heap();
        }
        let prevalence: Vec<f64> = (0..model.topics()).map(|k| model.share(k)).collect();
        let map = topic_map(model, self.threads, progress)?;
        let shares = word_shares(model, &prevalence);
        let top = pool(self.threads)?.install(|| relevance::lists(model, &shares));
        let exclusivity = word_measures(model, &top_words).exclusivity;
        let data = ReportData {
            model,
            corpus,
            prevalence,
            coherence,
            exclusivity,
            map,
            shares,
            top,
            documents: found,
            texts: texts.as_mut().map(|found| std::mem::take(&mut found.texts)),
        };
        Ok(WrittenReport {
            json: data.write(&self.run)?,
            texts: texts.map(|texts| texts.summary),
            omitted_labels: data.documents.map(|found| found.omitted_labels).unwrap_or_default(),
        })
    }
}

/// Returns no texts: reading them needs the parser of the feature `text`.
#[cfg(not(feature = "text"))]
#[allow(clippy::unnecessary_wraps, reason = "fails with the feature")]
pub fn document_texts(
    _corpus: &Corpus,
    numbers: &[u64],
    _access: &TextAccess,
    _progress: ProgressCallback<'_>,
) -> Result<DocumentTexts> {
    let unknown = numbers.len() as u64;
    let summary = TextSummary { unknown, ..TextSummary::default() };
    Ok(DocumentTexts { texts: vec![String::new(); numbers.len()], summary })
}

impl ReportData<'_> {
    /// Writes all sections as JSON.
    fn write(&self, run: &RunInfo) -> Result<String> {
        let mut json = JsonWriter::default();
        json.raw("{");
        json.key("form");
        json.number(FORMAT_VERSION as f64, 4);
        json.key("title");
        json.text(&truncate_chars(&run.title, MAX_NAME_CHARS));
        json.raw("\n");
        self.topics(&mut json);
        self.words(&mut json);
        self.documents(&mut json)?;
        self.run(&mut json, run);
        json.raw("}\n");
        Ok(json.finish())
    }

    /// Writes the section `topics`.
    fn topics(&self, json: &mut JsonWriter) {
        json.key("topics");
        json.raw("{");
        json.key("prevalence");
        json.numbers(self.prevalence.iter().copied());
        for (name, axis) in [("x", &self.map.x), ("y", &self.map.y)] {
            json.key(name);
            json.list(axis, |json, &value| json.number(value, 5));
        }
        let layout = CircleLayout::new(&self.map.x, &self.map.y, &self.prevalence);
        for (name, values) in [("mapX", &layout.x), ("mapY", &layout.y), ("mapR", &layout.radius)] {
            json.key(name);
            json.list(values, |json, &value| json.number(value, 5));
        }
        json.key("coherence");
        match &self.coherence {
            Some(values) => json.numbers(values.iter().copied()),
            None => json.raw("null"),
        }
        json.key("exclusivity");
        json.numbers(self.exclusivity.iter().copied());
        json.key("names");
        if self.model.has_topic_names() {
            let name = |k| truncate_chars(self.model.topic_name(k).unwrap_or_default(), MAX_NAME_CHARS);
            json.texts((0..self.model.topics()).map(name));
        } else {
            json.raw("null");
        }
        let topics = self.model.topics() as usize;
        let near: Vec<_> = (0..topics).map(|k| self.map.distances.nearest(k, NEAREST_TOPICS)).collect();
        json.key("near");
        json.list(&near, |json, list| json.wholes(list.iter().map(|&(l, _)| u64::from(l))));
        json.key("apart");
        json.list(&near, |json, list| json.numbers(list.iter().map(|&(_, distance)| distance)));
        json.raw("}\n");
    }

    /// Writes the sections `words`, `top` and `lives`.
    fn words(&self, json: &mut JsonWriter) {
        let model = self.model;
        let p = Probabilities::new(model);
        let mut words: Vec<u32> = self.top.iter().flatten().copied().collect();
        words.sort_unstable();
        words.dedup();
        json.key("words");
        json.raw("{");
        json.key("text");
        json.texts(words.iter().map(|&w| truncate_chars(&model.word_name(w), MAX_NAME_CHARS)));
        json.key("share");
        json.numbers(words.iter().map(|&w| self.shares[w as usize]));
        json.raw("}\n");
        let place = |w: u32| words.partition_point(|&other| other < w) as u64;
        json.key("top");
        json.list(&self.top, |json, list| json.wholes(list.iter().map(|&w| place(w))));
        json.key("topP");
        json.list(self.top.iter().enumerate(), |json, (k, list)| {
            json.numbers(list.iter().map(|&w| p.in_topic(w, k)));
        });
        json.raw("\n");
        let homes = |&w: &u32| -> Vec<(u64, f64)> {
            let share = self.shares[w as usize];
            let shares = p.row(w).zip(&self.prevalence).map(|(p, prevalence)| p * prevalence / share);
            let mut topics: Vec<(u64, f64)> =
                (0..).zip(shares).filter(|&(_, p)| p >= MIN_WORD_SHARE).collect();
            topics.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            topics.truncate(MAX_TOPICS_PER_WORD);
            topics
        };
        let homes: Vec<Vec<(u64, f64)>> = words.iter().map(homes).collect();
        json.key("lives");
        json.list(&homes, |json, list| json.wholes(list.iter().map(|&(k, _)| k)));
        json.key("livesP");
        json.list(&homes, |json, list| json.numbers(list.iter().map(|&(_, p)| p)));
        json.raw("\n");
    }

    /// Writes the sections `documents`, `typical` and `labels`.
    fn documents(&self, json: &mut JsonWriter) -> Result<()> {
        let (Some(found), Some(corpus)) = (&self.documents, self.corpus) else {
            for name in ["documents", "typical", "labels"] {
                json.key(name);
                json.raw("null");
            }
            return Ok(());
        };
        let numbers: Vec<u64> = found.shown.iter().map(|document| document.number).collect();
        json.key("documents");
        json.raw("{");
        json.key("number");
        json.wholes(numbers.iter().copied());
        json.key("name");
        if corpus.has_names() {
            json.texts(
                document_names(corpus, &numbers)?.iter().map(|name| truncate_chars(name, MAX_NAME_CHARS)),
            );
        } else {
            json.raw("null");
        }
        json.key("label");
        match &found.labels {
            Some(labels) => {
                json.list(&labels.of_shown, |json, list| json.wholes(list.iter().map(|&at| u64::from(at))));
            }
            None => json.raw("null"),
        }
        json.key("date");
        if corpus.has_dates() {
            json.texts(document_details(corpus, &numbers)?.iter().map(|details| &details.date));
        } else {
            json.raw("null");
        }
        json.key("text");
        match self.texts.as_ref().filter(|texts| texts.iter().any(|text| !text.is_empty())) {
            Some(texts) => json.texts(texts),
            None => json.raw("null"),
        }
        json.raw("\n");
        json.key("topics");
        json.list(&found.shown, |json, d| {
            json.wholes(d.topics.as_slice().iter().map(|&(k, _)| u64::from(k)));
        });
        json.key("topicsP");
        json.list(&found.shown, |json, d| {
            json.numbers(d.topics.as_slice().iter().map(|&(_, p)| f64::from(p)));
        });
        json.raw("}\n");
        json.key("typical");
        json.list(&found.typical, |json, list| json.wholes(list.iter().map(|&at| u64::from(at))));
        json.key("labels");
        match &found.labels {
            None => json.raw("null"),
            Some(labels) => {
                json.raw("{");
                json.key("columns");
                let columns = corpus.label_columns().iter();
                json.texts(columns.map(|name| truncate_chars(name, MAX_NAME_CHARS)));
                json.key("column");
                json.wholes(labels.labels.iter().map(|label| label.column as u64));
                json.key("text");
                json.texts(labels.labels.iter().map(|label| truncate_chars(&label.name, MAX_NAME_CHARS)));
                json.key("documents");
                json.wholes(labels.labels.iter().map(|label| label.documents));
                json.key("share");
                json.list(&labels.shares, |json, row| json.numbers(row.iter().copied()));
                json.raw("}");
            }
        }
        json.raw("\n");
        Ok(())
    }

    /// Writes the section `run`.
    fn run(&self, json: &mut JsonWriter, run: &RunInfo) {
        let training = self.model.training();
        json.key("run");
        json.raw("{");
        for (name, text) in
            [("command", &run.command), ("version", &run.version), ("algorithm", &training.algorithm)]
        {
            json.key(name);
            json.text(text);
        }
        json.key("seed");
        json.raw(&training.seed.to_string());
        let pairs = |json: &mut JsonWriter, name: &str, pairs: Vec<(&'static str, String)>| {
            json.key(name);
            json.list(pairs, |json, (name, value)| json.texts([name, &value]));
        };
        pairs(json, "settings", settings_of(self.model));
        let trained = &training.corpus;
        let mut corpus = vec![
            ("file", if trained.file.is_empty() { run.input.clone() } else { trained.file.clone() }),
            ("documents", grouped(trained.documents)),
            ("words", grouped(u64::from(trained.words))),
            ("tokens", grouped(trained.tokens)),
        ];
        if let Some(other) = self.corpus.filter(|corpus| !trained.matches(corpus)) {
            let file = other.file_name();
            corpus.push(("this report's documents", format!("{file}: {}", grouped(other.shape().documents))));
        }
        pairs(json, "corpus", corpus);
        json.key("passes");
        let history = training.history.iter().map(|&(pass, perplexity)| PassRecord {
            pass,
            perplexity,
            seconds: None,
            memory: None,
        });
        let passes: Vec<PassRecord> =
            if run.passes.is_empty() { history.collect() } else { run.passes.clone() };
        if passes.is_empty() {
            json.raw("null");
        } else {
            json.list(&passes, |json, pass| {
                json.raw("{");
                json.key("pass");
                json.raw(&pass.pass.to_string());
                json.key("seconds");
                json.number(pass.seconds.unwrap_or(f64::NAN), 4);
                json.key("perplexity");
                json.number(pass.perplexity, 6);
                json.key("memory");
                json.raw(&pass.memory.map_or("null".into(), |bytes| bytes.to_string()));
                json.raw("}");
            });
        }
        json.key("memory");
        json.raw(&run.memory.map_or("null".into(), |bytes| bytes.to_string()));
        json.raw("}");
    }
}

/// Returns the settings of a model as pairs of name and value.
fn settings_of(model: &Model) -> Vec<(&'static str, String)> {
    let training = model.training();
    let alpha = model.alpha();
    let equal = alpha.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
    let range = |values: &[f32]| {
        let low = values.iter().copied().fold(f32::INFINITY, f32::min);
        let high = values.iter().copied().fold(0.0, f32::max);
        format!("{low:.4} to {high:.4}")
    };
    let mut list = vec![
        ("topics", grouped(u64::from(model.topics()))),
        ("alpha", if equal { alpha.first().copied().unwrap_or(0.0).to_string() } else { range(alpha) }),
        ("beta", model.beta().to_string()),
        (
            "alpha and beta",
            if training.settings.optimize == Some(true) { "learned".into() } else { "given".into() },
        ),
        ("passes", training.passes.to_string()),
        ("training perplexity", format!("{:.2}", training.train_perplexity)),
    ];
    // Do not repeat the settings above.
    let shown = ["algorithm", "topics", "alpha", "beta", "optimize", "seed", "passes"];
    list.extend(training.settings.given().into_iter().filter(|(name, _)| !shown.contains(name)));
    for (k, name) in &training.topic_names {
        list.push(("seeded topic", format!("{k}: {}", truncate_chars(name, MAX_NAME_CHARS))));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CorpusIdentity, TrainingRecord, WordRanking};
    use crate::settings::Settings;
    use crate::topics::Topics;
    use std::ops::ControlFlow;

    /// Creates a model with these counts.
    pub(super) fn model(topics: u32, words: u32, beta: f32, phi: impl Fn(u32, u32) -> f32) -> Model {
        let alpha = vec![0.1; topics as usize];
        let mut inner = Topics::new(words, topics, &alpha, beta).unwrap();
        for w in 0..words {
            let row = crate::simd::flat_mut(inner.phi.row_mut(w));
            (0..topics).for_each(|k| row[k as usize] = phi(w, k));
        }
        let training = TrainingRecord {
            algorithm: "tbp".into(),
            settings: Settings::default(),
            checksums: Vec::new(),
            topic_names: Vec::new(),
            seed: 1,
            passes: 1,
            tolerance: 1.0,
            train_perplexity: 1.0,
            history: Vec::new(),
            corpus: CorpusIdentity {
                content: "0".into(),
                file: String::new(),
                fingerprint: String::new(),
                documents: 0,
                words,
                nonzeros: 0,
                tokens: 0,
            },
            pipeline: None,
            update: None,
        };
        Model::new(inner, alpha, None, training)
    }

    /// The expected values are those of pyLDAvis 3.4.1 for the same counts. `bench/pyldavis.py`
    /// compares whole models.
    #[test]
    #[allow(clippy::unreadable_literal, clippy::too_many_lines, reason = "as they were printed")]
    fn these_are_the_numbers_of_pyldavis() {
        let model = model(5, 60, 0.01, |w, k| {
            let count = ((w * w * 7 + k * 13 * w + k * k) % 97) * (k + 1);
            if (w * 5 + k * 3) % 4 == 0 { 0.0 } else { count as f32 / 4.0 }
        });
        let distances = [
            0.296881390010,
            0.267592774781,
            0.281040876285,
            0.090280926639,
            0.376191744816,
            0.301629906437,
            0.296297508240,
            0.282003749425,
            0.304182997141,
            0.279166165649,
        ];
        let (x, y) = (
            [-0.0157432948, 0.1975252618, -0.1782075067, -0.0158936213, 0.0123191609],
            [0.1216854091, -0.0646158278, -0.0618184846, -0.1277423483, 0.1324912516],
        );
        let firsts: [(f64, [[u32; 5]; 5]); 4] = [
            (
                0.0,
                [
                    [59, 58, 30, 51, 21],
                    [20, 24, 30, 36, 58],
                    [16, 12, 27, 53, 35],
                    [28, 0, 32, 4, 48],
                    [43, 39, 6, 55, 47],
                ],
            ),
            (
                0.3,
                [
                    [58, 30, 59, 21, 51],
                    [24, 30, 20, 58, 40],
                    [16, 53, 27, 12, 35],
                    [28, 32, 4, 56, 48],
                    [6, 55, 39, 43, 26],
                ],
            ),
            (
                0.6,
                [
                    [30, 58, 21, 17, 51],
                    [30, 24, 34, 40, 20],
                    [53, 16, 27, 35, 12],
                    [28, 32, 56, 4, 8],
                    [6, 55, 42, 39, 26],
                ],
            ),
            (
                1.0,
                [
                    [30, 22, 17, 9, 21],
                    [34, 30, 42, 22, 46],
                    [53, 27, 25, 35, 8],
                    [33, 8, 28, 56, 5],
                    [6, 42, 55, 22, 26],
                ],
            ),
        ];
        let kept: [&[u32]; 5] = [
            &[
                3, 5, 6, 7, 9, 11, 15, 17, 18, 21, 22, 26, 27, 29, 30, 31, 33, 34, 35, 37, 39, 41, 43, 46,
                47, 50, 51, 53, 54, 57, 58, 59,
            ],
            &[
                2, 4, 6, 7, 8, 10, 15, 16, 18, 19, 20, 22, 23, 24, 26, 28, 30, 31, 34, 36, 38, 40, 42, 44,
                46, 47, 48, 51, 52, 54, 55, 56, 58, 59,
            ],
            &[
                0, 1, 3, 4, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20, 21, 23, 25, 27, 29, 31, 32, 33, 35, 36, 37,
                41, 44, 45, 49, 51, 52, 53, 56, 57, 59,
            ],
            &[
                0, 1, 4, 5, 8, 9, 10, 12, 13, 14, 17, 18, 21, 22, 24, 26, 28, 29, 32, 33, 37, 38, 40, 41, 44,
                45, 46, 48, 50, 52, 56, 57, 58,
            ],
            &[
                1, 2, 3, 5, 6, 7, 9, 10, 11, 14, 15, 19, 22, 23, 25, 26, 29, 33, 34, 35, 37, 38, 39, 41, 42,
                43, 45, 46, 47, 49, 50, 54, 55,
            ],
        ];
        let map = topic_map(&model, 2, &mut |_| ControlFlow::Continue(())).unwrap();
        let pairs = (0..5).flat_map(|k| (k + 1..5).map(move |l| (k, l)));
        for ((k, l), right) in pairs.zip(distances) {
            let found = map.distances.get(k, l).unwrap();
            assert!((found - right).abs() < 1e-6, "{k} {l}: {found} {right}");
        }
        for (found, right) in map.x.iter().chain(&map.y).zip(x.iter().chain(&y)) {
            assert!((found - right).abs() < 1e-6, "{found} {right}");
        }
        let prevalence: Vec<f64> = (0..5).map(|k| model.share(k)).collect();
        let words = relevant_words(&model, &prevalence, 2).unwrap();
        for (mut words, right) in words.into_iter().zip(kept) {
            words.sort_unstable();
            assert_eq!(words, right);
        }
        for (lambda, right) in firsts {
            let ranked = model.ranked_words(WordRanking::Relevance(lambda), 5).unwrap();
            for (list, right) in ranked.iter().zip(right) {
                assert_eq!(list.iter().map(|w| w.word).collect::<Vec<_>>(), right);
            }
        }
    }
}
