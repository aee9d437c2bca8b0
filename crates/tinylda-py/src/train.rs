//! Training and its memory plan. Start with [`train`].

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tinylda::settings::{Group, SETTINGS, Settings};
use tinylda::train::Summary;
use tinylda::{Error, Event, Plan, Resume, Seeds, Stop, Trainer};

use crate::call::{self, Answer, EventFields, Reporter};
use crate::corpus::Corpus;
use crate::errors::OrRaise;
use crate::model::Model;

/// Memory in bytes that a training takes in a Python process besides its data: code, and space that
/// the allocator, which has several arenas here, does not return.
const PROCESS_OVERHEAD: u64 = 6 << 20;
/// Memory in bytes of the allocator's arena of a thread.
const THREAD_OVERHEAD: u64 = 1 << 20;

/// Returns the memory in bytes that a training takes in a Python process besides its data.
pub(crate) fn overhead(threads: usize) -> u64 {
    PROCESS_OVERHEAD + threads as u64 * THREAD_OVERHEAD
}

/// Options of a training, as the Python layer passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TrainOptions {
    /// Names and values of the library's settings, as text.
    settings: Vec<(String, String)>,
    /// Lines of a file of seed words.
    seeds: Option<String>,
    /// Model to update, and the weight of its tokens.
    update: Option<(Py<Model>, f64)>,
    threads: usize,
    /// Budget in bytes, besides what the process holds already.
    memory: Option<u64>,
    scratch: Option<PathBuf>,
    checkpoint: Option<PathBuf>,
    /// Seconds between two checkpoints.
    checkpoint_every: Option<f64>,
    /// `no`, `yes` or `restart`.
    resume: String,
}

impl TrainOptions {
    fn trainer(&self, corpus: &tinylda::Corpus) -> tinylda::Result<Trainer> {
        let mut settings = Settings::default();
        for (name, value) in &self.settings {
            settings.set(name, value)?;
        }
        let mut trainer = Trainer::with_settings(settings).threads(self.threads);
        if let Some(budget) = self.memory {
            // The plan counts a corpus in memory, which the process holds already.
            let held = if corpus.path().is_none() { corpus.memory_bytes() } else { 0 };
            let others = tinylda::memory::resident_bytes().map(|now| now.saturating_sub(held));
            let limit = budget.saturating_add(held);
            trainer = trainer.memory(limit).memory_in_use(overhead(self.threads)).guard_process(others);
        }
        if let Some(lines) = &self.seeds {
            trainer = trainer.seeds(Seeds::of_bytes(lines.clone().into_bytes(), "seeds".as_ref())?);
        }
        if let Some((model, weight)) = &self.update {
            trainer = trainer.update(Arc::clone(&model.get().model)).update_weight(*weight);
        }
        if let Some(folder) = &self.scratch {
            trainer = trainer.scratch(folder.clone());
        }
        if let Some(folder) = &self.checkpoint {
            let every = self.checkpoint_every.map(Duration::try_from_secs_f64).transpose().map_err(|_| {
                let found = self.checkpoint_every.unwrap_or_default();
                Error::out_of_range("checkpoint_every", found, "a positive number of seconds")
            })?;
            trainer = trainer.checkpoint(folder.clone(), every);
        }
        Ok(trainer.resume(match self.resume.as_str() {
            "yes" => Resume::Yes,
            "restart" => Resume::Restart,
            _ => Resume::No,
        }))
    }
}

/// Reports an event of a training to Python. Returns whether to continue.
fn report(reporter: &mut Reporter<'_>, event: Event<'_>) -> ControlFlow<()> {
    let proceed = |stop: bool| if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    match event {
        Event::Progress(p) => {
            if reporter.is_due("training") {
                let fields: EventFields = vec![
                    ("pass", p.pass.into()),
                    ("passes", p.passes.into()),
                    ("documents", p.documents.into()),
                    ("documents_total", p.documents_total.into()),
                    ("done", p.done.into()),
                    ("seconds", p.seconds.into()),
                    ("resident", p.resident.into()),
                ];
                reporter.send("progress", fields);
            }
            proceed(reporter.is_cancelled())
        }
        Event::Pass(p) => {
            let fields: EventFields = vec![
                ("pass", p.pass.into()),
                ("passes", p.passes.into()),
                ("perplexity", p.train_perplexity.into()),
                ("active_topics", p.active_topics.into()),
                ("documents_per_second", p.documents_per_second.into()),
                ("seconds", p.seconds.into()),
            ];
            match reporter.ask("pass", fields) {
                Answer::Stop => ControlFlow::Break(()),
                // A stop here would return the topics found so far. After a cancellation, the next
                // report of progress ends the training with a checkpoint.
                Answer::Continue | Answer::Cancel => ControlFlow::Continue(()),
            }
        }
        Event::Resumed(passes) => {
            reporter.send("resumed", vec![("pass", passes.into())]);
            proceed(reporter.is_cancelled())
        }
        Event::Checkpoint(folder) => {
            reporter.send("checkpoint", vec![("path", folder.to_string_lossy().into_owned().into())]);
            proceed(reporter.is_cancelled())
        }
        Event::CheckpointFailed { folder, error } => {
            let fields: EventFields = vec![
                ("path", folder.to_string_lossy().into_owned().into()),
                ("error", error.to_string().into()),
            ];
            reporter.send("checkpoint_failed", fields);
            proceed(reporter.is_cancelled())
        }
        _ => proceed(reporter.is_cancelled()),
    }
}

/// Returns the statistics of a training as a dictionary.
fn summary_dict<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("passes", summary.passes)?;
    out.set_item("perplexity", summary.train_perplexity)?;
    out.set_item("seconds", summary.seconds)?;
    out.set_item("active_topics", summary.active_topics)?;
    let stop = match summary.stop {
        Stop::Converged => "converged",
        Stop::Passes => "passes",
        _ => "callback",
    };
    out.set_item("stop", stop)?;
    Ok(out)
}

/// Trains a model. With `output`, it is written to a file and not returned. Returns also the
/// exception that was raised meanwhile but too late to end the training.
#[pyfunction]
pub(crate) fn train<'py>(
    py: Python<'py>,
    corpus: &Corpus,
    options: TrainOptions,
    output: Option<PathBuf>,
    listener: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Option<Model>, Bound<'py, PyDict>, Option<PyErr>)> {
    let corpus = Arc::clone(&corpus.corpus);
    let ((model, summary), late) = call::run_to_end(py, listener, |reporter| {
        let trainer = options.trainer(&corpus)?;
        let mut callback = |event: Event<'_>| report(reporter, event);
        if let Some(file) = output {
            let planned = trainer.prepare(&corpus)?.finish_when_asked();
            return Ok((None, planned.train_to(file, &mut callback)?));
        }
        let trained = trainer.train(&corpus, &mut callback)?;
        Ok((Some(Model::new(trained.model)), trained.summary))
    })?;
    Ok((model, summary_dict(py, &summary)?, late))
}

/// Returns the memory plan of a training as a dictionary. `to_file` says that the model is written
/// to a file and not held in memory.
#[pyfunction]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    corpus: &Corpus,
    options: TrainOptions,
    to_file: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let corpus = &corpus.corpus;
    let plan = py.detach(|| {
        let trainer = options.trainer(corpus)?;
        if to_file { trainer.plan(corpus) } else { trainer.plan_model(corpus) }
    });
    let plan: Plan = plan.or_raise(py)?;
    let out = PyDict::new(py);
    out.set_item("limit", plan.ceiling)?;
    for (name, bytes) in [
        ("program", plan.program),
        ("words", plan.words),
        ("phi", plan.phi),
        ("phi_on_disk", plan.phi_on_disk),
        ("buffers", plan.work),
        ("pieces", plan.buffers),
        ("documents", plan.kept),
        ("documents_on_disk", plan.kept_on_disk),
        ("total", plan.memory()),
        ("read_per_pass", plan.read),
        ("written_per_pass", plan.written),
        ("disk", plan.disk),
    ] {
        out.set_item(name, bytes)?;
    }
    Ok(out)
}

/// Returns the library's settings that are not hidden, as dictionaries.
#[pyfunction]
pub(crate) fn settings(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for setting in SETTINGS.iter().filter(|setting| setting.group != Group::Hidden) {
        let row = PyDict::new(py);
        row.set_item("name", setting.name)?;
        row.set_item("about", setting.about)?;
        row.set_item("default", setting.default)?;
        row.set_item("choices", setting.choices.iter().map(|choice| choice.name).collect::<Vec<_>>())?;
        row.set_item("only", setting.only.iter().map(|algorithm| algorithm.name()).collect::<Vec<_>>())?;
        all.append(row)?;
    }
    Ok(all)
}
