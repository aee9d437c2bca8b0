//! The class `Model`: a trained topic model and what is computed with it.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::ndarray::{ArrayView2, ShapeBuilder};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tinylda::eval::{Coherence, HeldOutEvaluation, Measure};
use tinylda::infer::{
    Inference, Mixtures, SimilarDocuments, TypicalDocuments, document_details, find_document,
};
use tinylda::model::WordRanking;
use tinylda::report::{PassRecord, Report, RunInfo, TextAccess};
use tinylda::{Error, format};

use crate::call;
use crate::corpus::Corpus;
use crate::errors::OrRaise;

/// A trained topic model.
#[pyclass(frozen, module = "tinylda._core")]
pub(crate) struct Model {
    pub(crate) model: Arc<tinylda::Model>,
}

impl Model {
    /// Wraps a model.
    pub(crate) fn new(model: tinylda::Model) -> Model {
        Model { model: Arc::new(model) }
    }
}

/// Number, probability, lift and score of a word.
type WordRow = (u32, f64, f64, f64);

/// Proportions, known tokens and unknown tokens of some documents.
type MixtureChunk = (Vec<f32>, Vec<u64>, Vec<u64>);

/// A request for ranked documents.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct DocumentQuery {
    n: usize,
    min_tokens: u64,
    threads: usize,
}

/// Content of a report that comes from neither the model nor the corpus.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ReportOptions {
    title: String,
    input: String,
    command: String,
    /// Files that texts may be read from; `None` to show no texts.
    texts: Option<Vec<PathBuf>>,
    threads: usize,
}

/// Columns of a table of documents: numbers, names, labels, dates, tokens and values.
type DocumentRows = Vec<(u64, String, Vec<Vec<String>>, String, u64, f32)>;

/// Adds names, labels and dates to ranked documents.
fn with_details(
    corpus: &tinylda::Corpus,
    ranked: &[tinylda::infer::RankedDocument],
) -> tinylda::Result<DocumentRows> {
    let numbers: Vec<u64> = ranked.iter().map(|document| document.number).collect();
    let details = document_details(corpus, &numbers)?;
    let row = |(document, details): (&tinylda::infer::RankedDocument, tinylda::infer::DocumentDetails)| {
        (document.number, details.name, details.labels, details.date, document.tokens, document.value)
    };
    Ok(ranked.iter().zip(details).map(row).collect())
}

/// Returns the measure of coherence with this name, which was given as `parameter`.
pub(crate) fn measure_named(parameter: &'static str, name: &str) -> tinylda::Result<Measure> {
    Measure::ALL.into_iter().find(|measure| measure.name() == name).ok_or_else(|| {
        let expected = "\"u_mass\", \"c_uci\", \"c_npmi\" or \"c_v\"";
        Error::out_of_range(parameter, format!("{name:?}"), expected)
    })
}

/// A document as the user refers to it.
#[derive(FromPyObject)]
enum DocumentKey {
    /// Number, counted from 0.
    Number(u64),
    Name(String),
}

impl DocumentKey {
    /// Returns the number of the document, counted from 0.
    fn find(&self, corpus: &tinylda::Corpus) -> tinylda::Result<u64> {
        let documents = corpus.shape().documents;
        match self {
            DocumentKey::Number(number) if *number < documents => Ok(*number),
            DocumentKey::Number(number) => {
                let expected = format!("from 0 to {}", documents.saturating_sub(1));
                Err(Error::out_of_range("document", number, expected))
            }
            DocumentKey::Name(name) => {
                // The library takes a text that is no name for a number.
                let found = find_document(corpus, name).ok();
                let is_named = |number: &u64| {
                    let details = document_details(corpus, &[*number]);
                    details.is_ok_and(|details| details.first().is_some_and(|d| d.name == *name))
                };
                found.filter(is_named).ok_or_else(|| {
                    let expected = if corpus.has_names() {
                        "the name of a document, or a number counted from 0"
                    } else {
                        "a number counted from 0, since the documents have no names"
                    };
                    Error::out_of_range("document", format!("{name:?}"), expected)
                })
            }
        }
    }
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        py.detach(|| tinylda::Model::load(path)).or_raise(py).map(Model::new)
    }

    /// Reads a model from the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Model> {
        py.detach(|| tinylda::Model::from_bytes(bytes)).or_raise(py).map(Model::new)
    }

    /// Returns the bytes of a model file with this model.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.model.to_bytes()).or_raise(py)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the model to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(path)).or_raise(py)
    }

    /// Number of topics.
    #[getter]
    fn topic_count(&self) -> u32 {
        self.model.topics()
    }

    /// Number of words.
    #[getter]
    fn word_count(&self) -> u32 {
        self.model.words()
    }

    /// Prior of topics in documents, per topic.
    #[getter]
    fn alpha<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, self.model.alpha())
    }

    /// Prior of words in topics.
    #[getter]
    fn beta(&self) -> f32 {
        self.model.beta()
    }

    /// Share of every topic of all tokens.
    #[getter]
    fn shares<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, (0..self.model.topics()).map(|k| self.model.share(k)))
    }

    /// The words; `None` if they have no names.
    fn vocabulary(&self) -> Option<Vec<String>> {
        let words = self.model.vocabulary()?;
        Some((0..words.len() as u32).map(|w| words.get(w).unwrap_or_default().to_owned()).collect())
    }

    /// Names of the topics; empty texts for topics without one.
    fn topic_names(&self) -> Vec<String> {
        (0..self.model.topics()).map(|k| self.model.topic_name(k).unwrap_or_default().to_owned()).collect()
    }

    /// How the model was trained, as JSON.
    fn training_json(&self) -> PyResult<String> {
        serde_json::to_string(self.model.training()).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// phi as a read-only view of the model's memory: for every word the counts of all topics.
    fn phi<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let model = Arc::clone(&slf.get().model);
        let view = model.phi_view();
        let (words, topics) = (model.words() as usize, model.topics() as usize);
        let shape = (words, topics).strides((view.stride, 1));
        let array = ArrayView2::from_shape(shape, view.data)
            .map_err(|error| PyRuntimeError::new_err(format!("internal error, please report it: {error}")))?;
        // SAFETY: the array belongs to the model, which never changes and which the array keeps
        // alive as its base object; writing is disabled before anyone gets it.
        let array = unsafe { PyArray2::borrow_from_array(&array, slf.clone().into_any()) };
        // Not with the guard of `readwrite`: it refuses memory that another array is read from.
        array.call_method1("setflags", (false,))?;
        Ok(array)
    }

    /// Probabilities p(w|k) as an array of topics by words.
    fn word_probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let model = &self.model;
        let (words, topics) = (model.words() as usize, model.topics() as usize);
        let values = py.detach(|| {
            let mut values = vec![0f64; words * topics];
            for w in 0..words {
                for (k, p) in model.probabilities(w as u32).enumerate() {
                    values[k * words + w] = p;
                }
            }
            values
        });
        PyArray1::from_vec(py, values).reshape((topics, words))
    }

    /// For every topic its best words: (word, probability, lift, score).
    fn ranked_words(
        &self,
        py: Python<'_>,
        order: &str,
        weight: Option<f64>,
        n: usize,
    ) -> PyResult<Vec<Vec<WordRow>>> {
        let ranking = match order {
            "probability" => WordRanking::Probability,
            "relevance" => WordRanking::Relevance(weight.unwrap_or(WordRanking::RELEVANCE)),
            "lift" => WordRanking::Lift,
            "frex" => WordRanking::Frex(weight.unwrap_or(WordRanking::FREX)),
            other => {
                let expected = "\"probability\", \"relevance\", \"lift\" or \"frex\"";
                return Err(Error::out_of_range("by", format!("{other:?}"), expected)).or_raise(py);
            }
        };
        let ranked = py.detach(|| self.model.ranked_words(ranking, n)).or_raise(py)?;
        let row = |w: &tinylda::model::RankedWord| (w.word, w.probability, w.lift, w.score);
        Ok(ranked.iter().map(|words| words.iter().map(row).collect()).collect())
    }

    /// Topic proportions of all documents, and the numbers of their known and unknown tokens.
    #[allow(clippy::type_complexity, reason = "three arrays")]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        corpus: &Corpus,
        threads: usize,
        listener: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>)> {
        let (model, corpus) = (&self.model, &corpus.corpus);
        let topics = model.topics() as usize;
        let (rows, tokens, unknown) = call::run(py, listener, |reporter| {
            let documents = corpus.shape().documents as usize;
            let (mut rows, mut tokens, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
            let size = documents.saturating_mul(topics);
            rows.try_reserve_exact(size).map_err(|_| Error::Allocation {
                bytes: size as u64 * 4,
                remedy: "transform the documents in parts".into(),
            })?;
            Mixtures::new(model, corpus)?.threads(threads).for_each(
                |mixture, (p, known, other): &mut MixtureChunk| {
                    p.extend_from_slice(mixture.proportions);
                    known.push(mixture.tokens);
                    other.push(mixture.tokens_unknown);
                    Ok(())
                },
                |(p, known, other)| {
                    rows.extend_from_slice(&p);
                    tokens.extend_from_slice(&known);
                    unknown.extend_from_slice(&other);
                    Ok(())
                },
                &mut |p| reporter.progress(p),
            )?;
            Ok((rows, tokens, unknown))
        })?;
        let documents = tokens.len();
        let rows = PyArray1::from_vec(py, rows).reshape((documents, topics))?;
        Ok((rows, PyArray1::from_vec(py, tokens), PyArray1::from_vec(py, unknown)))
    }

    /// Predictive perplexity of held-out documents.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        corpus: &Corpus,
        seed: u64,
        threads: usize,
        listener: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (model, corpus) = (&self.model, &corpus.corpus);
        let found = call::run(py, listener, |reporter| {
            let evaluation = HeldOutEvaluation { seed, inference: Inference::Own, threads };
            evaluation.run(model, corpus, &mut |p| reporter.progress(p))
        })?;
        let out = PyDict::new(py);
        out.set_item("perplexity", found.predictive_perplexity)?;
        out.set_item("documents", found.documents)?;
        out.set_item("documents_skipped", found.documents_skipped)?;
        out.set_item("tokens_observed", found.tokens_observed)?;
        out.set_item("tokens_scored", found.tokens_scored)?;
        out.set_item("words_unknown", found.words_unknown)?;
        out.set_item("tokens_unknown", found.tokens_unknown)?;
        Ok(out)
    }

    /// Coherence of every topic, and its mean.
    fn coherence<'py>(
        &self,
        py: Python<'py>,
        corpus: &Corpus,
        measure: &str,
        top: usize,
        threads: usize,
        listener: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
        let measure = measure_named("measure", measure).or_raise(py)?;
        let (model, corpus) = (&self.model, &corpus.corpus);
        let found = call::run(py, listener, |reporter| {
            let words: Vec<Vec<u32>> =
                model.top_words(top).iter().map(|topic| topic.iter().map(|w| w.word).collect()).collect();
            let settings = Coherence { measures: vec![measure], threads, ..Coherence::default() };
            settings.of_corpus(model, &words, corpus, &mut |p| reporter.progress(p))
        })?;
        let measured = found.measures.into_iter().next();
        let (topics, mean) = measured.map_or((Vec::new(), f64::NAN), |m| (m.topics, m.mean));
        Ok((PyArray1::from_vec(py, topics), mean))
    }

    /// Typical documents of topics: (topic, documents) for every requested topic.
    fn typical_documents<'py>(
        &self,
        py: Python<'py>,
        corpus: &Corpus,
        topics: Vec<u32>,
        query: DocumentQuery,
        listener: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<(u32, DocumentRows)>> {
        let (model, corpus) = (&self.model, &corpus.corpus);
        call::run(py, listener, |reporter| {
            let mixtures = Mixtures::new(model, corpus)?.threads(query.threads);
            let request = TypicalDocuments { top: query.n, min_tokens: query.min_tokens, topics };
            let found = request.find(&mixtures, &mut |p| reporter.progress(p))?;
            found.into_iter().map(|(k, ranked)| Ok((k, with_details(corpus, &ranked)?))).collect()
        })
    }

    /// Documents with topics similar to those of a document, given by name or number.
    fn similar_documents<'py>(
        &self,
        py: Python<'py>,
        corpus: &Corpus,
        document: DocumentKey,
        query: DocumentQuery,
        listener: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<DocumentRows> {
        let (model, corpus) = (&self.model, &corpus.corpus);
        call::run(py, listener, |reporter| {
            let to = document.find(corpus)?;
            let mixtures = Mixtures::new(model, corpus)?.threads(query.threads);
            let request = SimilarDocuments { top: query.n, min_tokens: query.min_tokens };
            let ranked = request.find(&mixtures, to, &mut |p| reporter.progress(p))?;
            with_details(corpus, &ranked)
        })
    }

    /// The page of a report, as HTML.
    fn report<'py>(
        &self,
        py: Python<'py>,
        corpus: Option<PyRef<'py, Corpus>>,
        options: ReportOptions,
        listener: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<String> {
        let mut named = options.texts;
        if let (Some(named), Some(corpus)) = (&mut named, &corpus)
            && let Some(file) = &corpus.texts
        {
            named.push(file.path().to_path_buf());
        }
        let corpus = corpus.map(|corpus| Arc::clone(&corpus.corpus));
        let history = &self.model.training().history;
        let pass =
            |&(pass, perplexity): &(u32, f64)| PassRecord { pass, perplexity, seconds: None, memory: None };
        let report = Report {
            threads: options.threads,
            texts: named.map(|named| TextAccess { named }),
            run: RunInfo {
                title: options.title,
                input: options.input,
                command: options.command,
                version: env!("CARGO_PKG_VERSION").into(),
                passes: history.iter().map(pass).collect(),
                memory: None,
            },
        };
        let model = &self.model;
        call::run(py, listener, |reporter| {
            let data = report.data(model, corpus.as_deref(), &mut |p| reporter.progress(p))?;
            Ok(tinylda_cli::page::render(&data))
        })
    }

    /// Whether a corpus is the one that the model was trained on, or has the same size.
    fn describes(&self, corpus: &Corpus) -> bool {
        self.model.training().corpus.describes(&corpus.corpus)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Model: {} topics, {} words>",
            self.model.topics(),
            format::grouped(self.model.words().into())
        )
    }
}
