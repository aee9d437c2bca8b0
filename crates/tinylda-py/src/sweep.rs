//! Comparison of numbers of topics. Start with [`sweep`].

use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tinylda::{Error, Settings};
use tinylda_cli::sweep::{SweepEvent, SweepOptions, SweepOutcome, SweepRow};

use crate::call::{self, EventFields, Reporter};
use crate::corpus::Corpus;
use crate::errors;
use crate::model::measure_named;
use crate::train::overhead;

/// Options of a sweep, as the Python layer passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SweepRequest {
    k: Vec<u32>,
    repeats: u32,
    seed: u64,
    test: f64,
    top: u32,
    coherence: String,
    /// Names and values of the library's settings, as text.
    settings: Vec<(String, String)>,
    threads: usize,
    /// Budget in bytes, besides what the process holds already.
    memory: Option<u64>,
    folder: PathBuf,
}

impl SweepRequest {
    fn options(self) -> tinylda::Result<SweepOptions> {
        let mut settings = Settings::default();
        for (name, value) in &self.settings {
            settings.set(name, value)?;
        }
        let mut options = SweepOptions::new(self.k, self.folder);
        options.coherence = measure_named("coherence", &self.coherence)?;
        (options.repeats, options.seed, options.test) = (self.repeats, self.seed, self.test);
        (options.top, options.settings) = (self.top, settings);
        (options.threads, options.memory) = (self.threads, self.memory);
        if self.memory.is_some() {
            // A corpus in memory is part of what the process holds: the sweep reads its parts from
            // files.
            options.memory_in_use = overhead(self.threads);
            options.memory_of_others = tinylda::memory::resident_bytes().unwrap_or(0);
        }
        Ok(options)
    }
}

/// Reports an event of a sweep to Python. Returns whether to continue.
fn report(reporter: &mut Reporter<'_>, event: &SweepEvent<'_>) -> ControlFlow<()> {
    match event {
        SweepEvent::Progress(p) if reporter.is_due("sweep") => {
            let fields: EventFields = vec![
                ("run", p.run.map(|run| run as u64).into()),
                ("runs", (p.runs as u64).into()),
                ("k", p.topics.into()),
                ("seed", p.seed.into()),
                ("done", p.share.into()),
            ];
            reporter.send("progress", fields);
        }
        SweepEvent::Finished(record) => {
            let perplexity = record.measures.as_ref().map(|measures| measures.predictive_perplexity);
            let fields: EventFields = vec![
                ("k", record.topics.into()),
                ("seed", record.seed.into()),
                ("perplexity", perplexity.into()),
            ];
            reporter.send("finished", fields);
        }
        SweepEvent::CheckpointFailed(error) => {
            let text = format!("no checkpoint could be written: {}", errors::describe(error));
            reporter.send("note", vec![("text", text.into())]);
        }
        SweepEvent::Note(text) => reporter.send("note", vec![("text", (*text).to_owned().into())]),
        _ => {}
    }
    if reporter.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Returns the results with one K as a dictionary.
fn row_dict<'py>(py: Python<'py>, row: &SweepRow) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("k", row.topics)?;
    for (name, values) in [
        ("perplexity", &row.perplexity),
        ("coherence", &row.coherence),
        ("diversity", &row.diversity),
        ("stability", &row.stability),
        ("score", &row.score),
        ("seconds", &row.seconds),
    ] {
        out.set_item(name, values.mean())?;
    }
    out.set_item("perplexity_deviation", row.perplexity.deviation())?;
    out.set_item("runs", row.seeds.len())?;
    Ok(out)
}

/// Results of a sweep for Python: a row for every K, the best K, the file of its model, and the
/// exception that was raised meanwhile but too late to end the sweep.
type SweepResult<'py> = (Bound<'py, PyList>, Option<u32>, Option<PathBuf>, Option<PyErr>);

/// Trains and compares models with several numbers of topics.
#[pyfunction]
pub(crate) fn sweep<'py>(
    py: Python<'py>,
    corpus: &Corpus,
    request: SweepRequest,
    listener: Option<&Bound<'py, PyAny>>,
) -> PyResult<SweepResult<'py>> {
    let corpus = &corpus.corpus;
    let (outcome, late): (Result<SweepOutcome, String>, _) = call::run_to_end(py, listener, |reporter| {
        let options = request.options()?;
        match tinylda_cli::sweep::run(corpus, &options, &mut |event| report(reporter, &event)) {
            Ok(outcome) if outcome.stopped => Err(Error::Interrupted),
            Ok(outcome) => Ok(Ok(outcome)),
            // Errors of the library keep their type; others are about the folder of the sweep.
            Err(error) => error.downcast::<Error>().map_or_else(|other| Ok(Err(format!("{other:#}"))), Err),
        }
    })?;
    let outcome = outcome.map_err(PyRuntimeError::new_err)?;
    let rows = PyList::empty(py);
    for row in &outcome.rows {
        rows.append(row_dict(py, row)?)?;
    }
    Ok((rows, outcome.best.map(|best| best.topics), outcome.model, late))
}
