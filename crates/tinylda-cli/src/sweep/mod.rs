//! Finds the best number of topics: several models are trained and compared.
//!
//! The corpus is split, every K is trained with every seed and evaluated (`runs`), the results are
//! compared (`choice`) and written to a folder (`files`). Each run has its own file, so that only
//! the active run is lost when the process is killed, and only since its last checkpoint. Start
//! with [`run`].

mod choice;
pub(crate) mod files;
mod runs;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tinylda::corpus::Block;
use tinylda::error::Template;
use tinylda::eval::{Coherence, Measure};
use tinylda::report::ModelSize;
use tinylda::{Corpus, Error, Progress, Settings};

use crate::commands::{check_memory_for_all_steps, with_margin};
use crate::experiment;
pub(crate) use choice::max_useful_topics;
pub use choice::{BestTopicCount, RunValues, ScoreParts, SweepRow};
pub use runs::{Measurements, SweepRecord, TrainingResult};

/// Settings that determine a result in addition to K and the seed, by the names of the parameters.
pub type SweepSettings = BTreeMap<String, Value>;

/// Options of a sweep.
#[derive(Debug, Clone)]
pub struct SweepOptions {
    /// Numbers of topics to compare.
    pub topics: Vec<u32>,
    /// Number of training runs for each K.
    pub repeats: u32,
    /// Random seed of the held-out documents and the first training. The next training has the
    /// next seed.
    pub seed: u64,
    /// Fraction of the documents that is held out.
    pub test: f64,
    /// Number of words per topic for coherence, diversity and stability.
    pub top: u32,
    /// Coherence measure that enters the score.
    pub coherence: Measure,
    /// Settings of the training runs. The number of topics and the seed are replaced.
    pub settings: Settings,
    /// Sum of alpha over all topics, unless `settings` has alpha.
    pub alpha_sum: Option<f64>,
    /// Number of threads. The results do not depend on it.
    pub threads: usize,
    /// Memory limit of the process in bytes.
    pub memory: Option<u64>,
    /// Memory in bytes that the process needs apart from the sweep.
    pub memory_in_use: u64,
    /// Resident memory in bytes of the process that does not count towards the limit.
    pub memory_of_others: u64,
    /// Time between checkpoints; `None` to write one only if a training is stopped.
    pub checkpoint_every: Option<Duration>,
    /// Folder for the parts of the corpus, results, figure, report and models. Existing results of
    /// the same settings are reused.
    pub folder: PathBuf,
    /// Name of the documents, for the title of the report.
    pub title: String,
}

impl SweepOptions {
    /// Returns the defaults: three training runs per K on one thread, a fifth of the documents
    /// held out.
    pub fn new(topics: Vec<u32>, folder: impl Into<PathBuf>) -> SweepOptions {
        SweepOptions {
            topics,
            repeats: 3,
            seed: 1,
            test: 0.2,
            top: 10,
            coherence: Measure::CNpmi,
            settings: Settings::default(),
            alpha_sum: None,
            threads: 1,
            memory: None,
            memory_in_use: 0,
            memory_of_others: 0,
            checkpoint_every: Some(Duration::from_secs(600)),
            folder: folder.into(),
            title: "corpus".into(),
        }
    }

    /// Returns all settings that determine a result, to compare them with those of existing
    /// results. Threads, memory and instructions are not among them.
    fn result_settings(&self, corpus: &Corpus) -> SweepSettings {
        let mut list = vec![
            (VERSION.to_owned(), json!(env!("CARGO_PKG_VERSION"))),
            (DOCUMENTS.to_owned(), json!(corpus.fingerprint())),
            ("test".to_owned(), json!(self.test)),
            ("top".to_owned(), json!(self.top)),
            ("seed".to_owned(), json!(self.seed)),
            ("alpha_sum".to_owned(), json!(self.alpha_sum)),
        ];
        let given = self.settings.given().into_iter().filter(|(name, _)| !matches!(*name, "topics" | "seed"));
        list.extend(given.map(|(name, value)| (name.to_owned(), json!(value))));
        list.into_iter().collect()
    }
}

/// Names in [`SweepSettings`] that are not parameters.
const VERSION: &str = "version of tinylda";
const DOCUMENTS: &str = "documents";

/// Work on a run that is reported.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum SweepStage {
    /// Training.
    Training {
        /// Number of the pass; 0 before the first one.
        pass: u32,
        /// Maximum number of passes.
        passes: u32,
        /// Training perplexity without the oscillation of over-relaxed passes, if known.
        perplexity: Option<f64>,
    },
    /// Perplexity of the held-out documents.
    Perplexity(Progress),
    /// Coherence of the topics.
    Coherence(Progress),
}

/// Progress of a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SweepProgress {
    /// Number of the active run, from 1; `None` if the best model is trained again.
    pub run: Option<usize>,
    /// Number of all runs.
    pub runs: usize,
    /// Number of topics of the active run.
    pub topics: u32,
    /// Seed of the active run.
    pub seed: u64,
    /// What is done.
    pub stage: SweepStage,
    /// Estimated fraction of the sweep that is done, from 0 to 1.
    pub share: f64,
    /// Estimated remaining seconds, if known.
    pub seconds_left: Option<f64>,
}

/// Report to the callback of a sweep.
#[derive(Debug)]
#[non_exhaustive]
pub enum SweepEvent<'a> {
    /// The corpus is being split.
    Split(Progress),
    /// The runs begin.
    Runs {
        /// Number of all runs.
        runs: usize,
        /// Number of runs whose results exist.
        done: usize,
    },
    /// Progress of a run.
    Progress(SweepProgress),
    /// A run has ended, and its result is saved.
    Finished(&'a SweepRecord),
    /// A checkpoint could not be written. Training continues and tries again later.
    CheckpointFailed(&'a Error),
    /// A remark for the user, such as a result that cannot be read.
    Note(&'a str),
}

/// Callback of a sweep. If it returns `Break`, the sweep stops; finished runs are kept. A sweep
/// with the same options continues it.
pub type SweepCallback<'c> = &'c mut dyn FnMut(SweepEvent<'_>) -> ControlFlow<()>;

/// Result of a sweep.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SweepOutcome {
    /// All results in the folder, sorted by K and seed.
    pub records: Vec<SweepRecord>,
    /// One row per K.
    pub rows: Vec<SweepRow>,
    /// The best K, if a run has ended.
    pub best: Option<BestTopicCount>,
    /// File of the best model; `None` if the sweep was stopped.
    pub model: Option<PathBuf>,
    /// Number of requested runs.
    pub runs: usize,
    /// Number of requested runs whose results exist now.
    pub runs_done: usize,
    /// Number of requested runs whose results existed before.
    pub runs_done_before: usize,
    /// Number of documents that were held out.
    pub documents_held_out: u64,
    /// Whether the callback has stopped the sweep.
    pub stopped: bool,
}

/// Options of a sweep, and the corpora.
pub(crate) struct SweepSetup<'a> {
    pub(crate) options: &'a SweepOptions,
    pub(crate) settings: SweepSettings,
    /// All documents.
    pub(crate) corpus: &'a Corpus,
    /// Documents to train on.
    pub(crate) train: Corpus,
    /// Held-out documents.
    pub(crate) test: Corpus,
}

/// Trains and compares models with every number of topics. Returns the results and the file of the
/// best model.
pub fn run(
    corpus: &Corpus,
    options: &SweepOptions,
    callback: SweepCallback<'_>,
) -> anyhow::Result<SweepOutcome> {
    let setup = prepare(corpus, options, callback)?;
    check(&setup)?;
    experiment::save_result(&options.folder.join("sweep.json"), &setup.settings)?;
    let all = runs::list(&setup, callback);
    let (count, before) = (all.len(), all.iter().filter(|run| run.is_done()).count());
    let mut stopped = callback(SweepEvent::Runs { runs: count, done: before }).is_break();
    let mut done = before;
    if !stopped {
        (done, stopped) = runs::run_all(&setup, all, callback)?;
    }
    let records = runs::load_all(&setup, callback)?;
    let documents = corpus.shape().documents;
    let rows = SweepRow::all(&records, options.coherence, documents);
    let best = choice::choose(&rows, options.coherence, documents);
    files::write_files(&setup, &records, &rows, best.as_ref())?;
    let mut model = None;
    if !stopped {
        let best = best.as_ref().context("no run has a perplexity")?;
        model = Some(runs::best_model(&setup, &records, best, callback)?);
    }
    Ok(SweepOutcome {
        records,
        rows,
        best,
        model,
        runs: count,
        runs_done: done,
        runs_done_before: before,
        documents_held_out: setup.test.shape().documents,
        stopped,
    })
}

/// Creates the folders and splits the corpus.
fn prepare<'a>(
    corpus: &'a Corpus,
    options: &'a SweepOptions,
    callback: SweepCallback<'_>,
) -> anyhow::Result<SweepSetup<'a>> {
    if options.topics.is_empty() || options.repeats == 0 {
        anyhow::bail!("a sweep needs at least one number of topics and one training for each");
    }
    let parts = options.folder.join("parts");
    for folder in [&parts, &options.folder.join("runs"), &options.folder.join("models")] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    check_folder(corpus, options, callback)?;
    let (train_file, test_file) = (parts.join("train.tlc"), parts.join("test.tlc"));
    let split = experiment::SplitSpec {
        share: options.test,
        seed: options.seed,
        train: &train_file,
        test: &test_file,
    };
    let (train, test) =
        experiment::split_corpus(corpus, &split, true, &mut |p| callback(SweepEvent::Split(p)))?;
    let train = train.context("the training documents are missing")?;
    Ok(SweepSetup { options, settings: options.result_settings(corpus), corpus, train, test })
}

/// Passes a remark to the callback.
fn note(callback: &mut dyn FnMut(SweepEvent<'_>) -> ControlFlow<()>, text: &str) {
    // A sweep that is to stop does so at the next progress.
    let _ = callback(SweepEvent::Note(text));
}

/// Rejects a folder without a sweep that contains files with the names of a sweep's results.
fn reject_other_files(folder: &Path) -> anyhow::Result<()> {
    const RESULTS: [&str; 5] = ["best.model", "report.md", "sweep.csv", "sweep.svg", "sweep.png"];
    if folder.join("sweep.json").exists() {
        return Ok(());
    }
    match RESULTS.into_iter().find(|name| folder.join(name).exists()) {
        Some(name) => {
            let reason =
                format!("the folder has no sweep, but a file {name}, which the results would replace");
            let error = Error::unsupported_value("output", folder.display(), reason);
            Err(error.with_remedy("choose another {output}").into())
        }
        None => Ok(()),
    }
}

/// Rejects a folder with results of other settings, which cannot be compared with new ones, and a
/// folder with files of the user that the results would replace.
pub(crate) fn check_folder(
    corpus: &Corpus,
    options: &SweepOptions,
    callback: SweepCallback<'_>,
) -> anyhow::Result<()> {
    reject_other_files(&options.folder)?;
    let settings = options.result_settings(corpus);
    let file = options.folder.join("sweep.json");
    let old = experiment::load_result::<SweepSettings>(&file, &mut |text| note(callback, text));
    let Some(old) = old else { return Ok(()) };
    let names = settings.keys().chain(old.keys().filter(|key| !settings.contains_key(*key)));
    let value = |of: &SweepSettings, name: &str| of.get(name).filter(|value| !value.is_null()).cloned();
    let changed: Vec<Template> = names
        .filter(|name| value(&old, name) != value(&settings, name))
        .map(|name| old_setting(name, value(&old, name).as_ref()))
        .collect();
    let Some(changed) = changed.into_iter().reduce(|all, next| all.text(", ").then(next)) else {
        return Ok(());
    };
    let expected = "a new folder or one with results of the same settings";
    let remedy =
        Template::from("choose another {output}, or use the settings of its results: ").then(changed);
    Err(Error::out_of_range("output", options.folder.display(), expected)
        .with_remedy(
            remedy.then(" (only {topics}, {repeats}, {coherence}, {threads} and {memory} may change)"),
        )
        .into())
}

/// Returns how a setting of existing results is restored.
fn old_setting(name: &str, value: Option<&Value>) -> Template {
    let text = match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => return Template::from("the default of ").parameter(name, None),
    };
    match name {
        DOCUMENTS => "the same documents".into(),
        VERSION => Template::from("version ").text(text).text(" of tinylda"),
        _ => Template::default().parameter(name, Some(&text)),
    }
}

/// Checks before the first training whether all runs can succeed.
fn check(setup: &SweepSetup<'_>) -> anyhow::Result<()> {
    let options = setup.options;
    let (mut reader, mut block) = (setup.test.reader(), Block::default());
    let mut long_enough = false;
    for i in 0..setup.test.blocks() {
        reader.read(i, &mut block)?;
        long_enough = block.iter().any(|document| document.tokens() >= 3);
        if long_enough {
            break;
        }
    }
    if !long_enough {
        let held_out = setup.test.shape().documents;
        let reason = format!("none of the {held_out} held-out documents has three tokens or more");
        return Err(Error::unsupported_value("test", options.test, reason)
            .with_remedy("hold out more documents, or use a larger corpus")
            .into());
    }
    // A larger K needs at least as much memory, so the largest K is checked first.
    let mut topics = options.topics.clone();
    topics.sort_unstable_by(|a, b| b.cmp(a));
    for k in topics {
        let plan = runs::trainer(setup, k, options.seed).plan(&setup.train);
        // A model is evaluated in memory; 3 MiB are for lists that are not worth a formula.
        let model = ModelSize::of_training(&setup.train, k).memory_bytes();
        let how = Coherence { threads: options.threads, ..Coherence::default() };
        let coherence = how.memory_bytes(setup.corpus, k, options.top);
        let evaluation = model + coherence + (3 << 20);
        let needed = with_margin(options.memory_in_use + evaluation.max(experiment::FIGURE_BYTES));
        check_memory_for_all_steps(
            plan,
            needed,
            options.memory,
            &format!("a model of {k} topics is evaluated in memory"),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinylda::corpus::Synth;

    #[test]
    fn a_sweep_runs_stops_and_continues_without_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Synth { documents: 200, words: 100, topics: 3, mean_length: 30.0, ..Synth::default() };
        let mut synthetic = settings.prepare(&mut |_| ControlFlow::Continue(())).unwrap();
        let corpus = synthetic.corpus(&settings.vocabulary(), &mut |_| ControlFlow::Continue(())).unwrap();
        let mut options = SweepOptions::new(vec![2, 3], folder.path().join("sweep"));
        options.repeats = 2;
        options.settings.passes = Some(5);
        let mut finished = 0;
        let stopped = run(&corpus, &options, &mut |event| match event {
            SweepEvent::Finished(_) => {
                finished += 1;
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })
        .unwrap();
        assert_eq!((finished, stopped.runs, stopped.runs_done, stopped.stopped), (1, 4, 1, true));
        assert!(stopped.model.is_none());
        let mut stages = Vec::new();
        let outcome = run(&corpus, &options, &mut |event| {
            if let SweepEvent::Progress(progress) = event {
                assert!((0.0..=1.0).contains(&progress.share) && progress.runs == 4);
                stages.push(progress.stage);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(stages.iter().any(|stage| matches!(stage, SweepStage::Coherence(_))));
        assert_eq!((outcome.runs_done_before, outcome.runs_done, outcome.records.len()), (1, 4, 4));
        assert_eq!(outcome.rows.iter().map(|row| row.topics).collect::<Vec<_>>(), [2, 3]);
        let best = outcome.best.unwrap();
        let model = tinylda::Model::load(outcome.model.unwrap()).unwrap();
        assert_eq!(model.topics(), best.topics);
        assert!(folder.path().join("sweep/report.md").exists());
        // Other settings are refused.
        options.test = 0.5;
        let error = run(&corpus, &options, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(error.to_string().contains("the settings of its results: `test=0.2` (only"), "{error}");
    }
}
