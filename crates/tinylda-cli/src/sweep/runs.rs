//! Runs of a sweep, one for each K and seed: their files, their execution, and the remaining time.
//!
//! Start with [`list`] and [`run_all`].

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tinylda::eval::{Coherence, Measure, predictive_perplexity, word_measures};
use tinylda::{Error, Event, Inference, Model, Resume, Stop, Trainer};

use super::choice::BestTopicCount;
use super::{SweepCallback, SweepEvent, SweepProgress, SweepSettings, SweepSetup, SweepStage, note};
use crate::experiment;
use crate::settled::SettledPerplexity;

/// Content of the file of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SweepRecord {
    /// Settings that determine the result.
    pub settings: SweepSettings,
    /// Number of topics.
    pub topics: u32,
    /// Random seed.
    pub seed: u64,
    /// Number of threads.
    pub threads: usize,
    /// Result of the training.
    pub training: TrainingResult,
    /// `None` while the model has been trained but not evaluated.
    pub measures: Option<Measurements>,
}

/// Result of a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainingResult {
    /// Number of passes.
    pub passes: u32,
    /// Whether the training has converged before the maximum number of passes.
    pub converged: bool,
    /// Time in seconds.
    pub seconds: f64,
    /// Perplexity of the training documents.
    pub train_perplexity: f64,
    /// Largest possible beta, if the training has learned it.
    #[serde(default)]
    pub beta_limit: Option<f64>,
}

/// Evaluation of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Measurements {
    /// Predictive perplexity of the held-out documents.
    pub predictive_perplexity: f64,
    /// Mean coherence over all topics, by the name of the measure; `None` if no topic has a value.
    pub coherence: BTreeMap<String, Option<f64>>,
    /// Fraction of distinct words among the top words of all topics.
    pub diversity: f64,
    /// Top words of each topic, as word ids of the corpus.
    pub words: Vec<Vec<u32>>,
    /// Time in seconds.
    pub seconds: f64,
}

impl Measurements {
    /// Returns the mean coherence by a measure.
    pub fn coherence(&self, measure: Measure) -> Option<f64> {
        self.coherence.get(measure.name()).copied().flatten()
    }
}

/// Run of a sweep, finished or not.
#[derive(Debug)]
pub(super) struct SweepRun {
    topics: u32,
    seed: u64,
    /// Saved result, which may lack the evaluation.
    record: Option<SweepRecord>,
}

impl SweepRun {
    /// Returns whether the model has been trained and evaluated.
    pub(super) fn is_done(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.measures.is_some())
    }

    fn file(&self, setup: &SweepSetup<'_>) -> PathBuf {
        setup.options.folder.join("runs").join(format!("k{}-s{}.json", self.topics, self.seed))
    }
}

fn model_file(setup: &SweepSetup<'_>, topics: u32, seed: u64) -> PathBuf {
    setup.options.folder.join("models").join(format!("k{topics}-s{seed}.model"))
}

/// Returns the trainer for a K and a seed, with memory limit and checkpoints as in `train`.
pub(super) fn trainer(setup: &SweepSetup<'_>, topics: u32, seed: u64) -> Trainer {
    let options = setup.options;
    let mut settings = options.settings.clone();
    settings.topics = Some(topics);
    settings.seed = Some(seed);
    settings.alpha = settings.alpha.or(options.alpha_sum.map(|sum| sum / f64::from(topics)));
    let mut trainer = Trainer::with_settings(settings).threads(options.threads);
    if let Some(bytes) = options.memory {
        trainer = trainer
            .memory(bytes)
            .memory_in_use(options.memory_in_use)
            .guard_process(Some(options.memory_of_others));
    }
    let folder = options.folder.join("runs").join(format!("k{topics}-s{seed}.checkpoint"));
    trainer.checkpoint(folder, options.checkpoint_every).resume(Resume::Yes)
}

/// Returns all requested runs: every K with the first seed, then with the next, so that different K
/// can be compared early.
pub(super) fn list(setup: &SweepSetup<'_>, callback: SweepCallback<'_>) -> Vec<SweepRun> {
    let mut all = Vec::new();
    for repeat in 0..u64::from(setup.options.repeats) {
        for &topics in &setup.options.topics {
            let mut run = SweepRun { topics, seed: setup.options.seed.wrapping_add(repeat), record: None };
            run.record = load_record(setup, &run.file(setup), callback);
            all.push(run);
        }
    }
    all
}

/// Loads a result, if it belongs to these settings.
fn load_record(setup: &SweepSetup<'_>, file: &Path, callback: SweepCallback<'_>) -> Option<SweepRecord> {
    let record = experiment::load_result::<SweepRecord>(file, &mut |text| note(callback, text));
    record.filter(|record| record.settings == setup.settings)
}

/// Loads all complete results in the folder, including those of earlier commands, sorted by K and
/// seed.
pub(super) fn load_all(
    setup: &SweepSetup<'_>,
    callback: SweepCallback<'_>,
) -> anyhow::Result<Vec<SweepRecord>> {
    let folder = setup.options.folder.join("runs");
    let unread = || format!("cannot read the folder {}", folder.display());
    let mut records = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(unread)? {
        let path = entry.with_context(unread)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            records.extend(load_record(setup, &path, callback).filter(|record| record.measures.is_some()));
        }
    }
    // Seeds are sorted relative to the first one, since they may wrap around.
    records.sort_by_key(|record| (record.topics, record.seed.wrapping_sub(setup.options.seed)));
    records.dedup_by_key(|record| (record.topics, record.seed));
    Ok(records)
}

/// Executes the remaining runs, until the callback asks to stop. Returns the number of runs with a
/// result, and whether the callback has asked to stop.
pub(super) fn run_all(
    setup: &SweepSetup<'_>,
    mut all: Vec<SweepRun>,
    callback: SweepCallback<'_>,
) -> anyhow::Result<(usize, bool)> {
    let mut estimator = TimeEstimator::new(setup, &all);
    let mut stopped = false;
    for at in 0..all.len() {
        if all[at].is_done() {
            continue;
        }
        estimator.begin(&all[at + 1..], all[at].topics);
        let done = all.iter().filter(|run| run.is_done()).count();
        let (topics, seed) = (all[at].topics, all[at].seed);
        let position = RunPosition { run: Some(done + 1), runs: all.len(), topics, seed };
        let mut reporter = RunReporter { position, estimator: &estimator, callback: &mut *callback };
        match execute(setup, &mut all[at], &mut reporter) {
            Err(Error::Interrupted | Error::Stopped { .. }) => {
                stopped = true;
                break;
            }
            other => other?,
        }
        estimator.end(&all[at]);
        remove_other_models(setup, &all, topics);
        if let Some(record) = &all[at].record
            && callback(SweepEvent::Finished(record)).is_break()
        {
            stopped = true;
            break;
        }
    }
    Ok((all.iter().filter(|run| run.is_done()).count(), stopped))
}

/// The active run.
#[derive(Debug, Clone, Copy)]
struct RunPosition {
    /// Number of the run, from 1; `None` if the best model is trained again.
    run: Option<usize>,
    runs: usize,
    topics: u32,
    seed: u64,
}

/// Reports the progress of a run to the callback.
struct RunReporter<'a> {
    position: RunPosition,
    estimator: &'a TimeEstimator,
    callback: SweepCallback<'a>,
}

impl RunReporter<'_> {
    /// Reports progress. `trained` is the completed fraction of the maximum number of passes;
    /// `None` while the model is evaluated.
    fn report(&mut self, trained: Option<f64>, stage: SweepStage) -> ControlFlow<()> {
        let RunPosition { run, runs, topics, seed } = self.position;
        let seconds_left = self.estimator.seconds_left(trained);
        let elapsed = self.estimator.start.elapsed().as_secs_f64();
        let share = seconds_left.map_or(0.0, |left| elapsed / (elapsed + left).max(1e-9)).clamp(0.0, 1.0);
        let progress = SweepProgress { run, runs, topics, seed, stage, share, seconds_left };
        (self.callback)(SweepEvent::Progress(progress))
    }
}

/// Trains and evaluates a model, or only evaluates an existing one. Results are saved immediately.
fn execute(setup: &SweepSetup<'_>, run: &mut SweepRun, reporter: &mut RunReporter<'_>) -> Result<(), Error> {
    let (file, model) = (run.file(setup), model_file(setup, run.topics, run.seed));
    let save = |record: &SweepRecord| {
        experiment::save_result(&file, record).map_err(|error| Error::Io {
            action: "write",
            path: file.clone(),
            source: std::io::Error::other(crate::message(&error)),
        })
    };
    let trained = run.record.clone().filter(|_| model.exists());
    let mut record = if let Some(record) = trained {
        record
    } else {
        SweepRecord {
            settings: setup.settings.clone(),
            topics: run.topics,
            seed: run.seed,
            threads: setup.options.threads,
            training: train(setup, reporter)?,
            measures: None,
        }
    };
    save(&record)?;
    let loaded = Model::load(&model)?;
    record.measures = Some(evaluate(setup, &loaded, reporter)?);
    save(&record)?;
    run.record = Some(record);
    Ok(())
}

/// Trains a model and writes it to its file. Resumes from a checkpoint if there is one.
fn train(setup: &SweepSetup<'_>, reporter: &mut RunReporter<'_>) -> Result<TrainingResult, Error> {
    let RunPosition { topics, seed, .. } = reporter.position;
    let model = model_file(setup, topics, seed);
    let mut perplexity = None;
    let algorithm = setup.options.settings.algorithm.unwrap_or_default();
    let mut settled = SettledPerplexity::new(algorithm.name());
    let summary = trainer(setup, topics, seed).train_to(&setup.train, &model, |event| match event {
        Event::Progress(p) => {
            let stage = SweepStage::Training { pass: p.pass, passes: p.passes, perplexity };
            reporter.report(Some(p.done), stage)
        }
        Event::Pass(report) => {
            perplexity = Some(settled.push(report.train_perplexity));
            ControlFlow::Continue(())
        }
        Event::Resumed(passes) => {
            let text = format!("K = {topics}, seed {seed}: resuming after pass {passes}");
            note(reporter.callback, &text);
            ControlFlow::Continue(())
        }
        Event::CheckpointFailed { error, .. } => (reporter.callback)(SweepEvent::CheckpointFailed(error)),
        _ => ControlFlow::Continue(()),
    })?;
    Ok(TrainingResult {
        passes: summary.passes,
        converged: summary.stop == Stop::Converged,
        seconds: summary.seconds,
        train_perplexity: summary.train_perplexity,
        beta_limit: summary.beta_limit,
    })
}

/// Evaluates a model.
fn evaluate(
    setup: &SweepSetup<'_>,
    model: &Model,
    reporter: &mut RunReporter<'_>,
) -> Result<Measurements, Error> {
    let start = Instant::now();
    let options = setup.options;
    // All runs predict the same words of the same documents, so that they differ only in the
    // topics.
    let evaluation = predictive_perplexity(model, &setup.test, options.seed, Inference::Same, &mut |p| {
        reporter.report(None, SweepStage::Perplexity(p))
    })?;
    let words: Vec<Vec<u32>> = model
        .top_words(options.top as usize)
        .iter()
        .map(|words| words.iter().map(|w| w.word).collect())
        .collect();
    let how = Coherence { threads: options.threads, ..Coherence::default() };
    let found =
        how.of_corpus(model, &words, setup.corpus, &mut |p| reporter.report(None, SweepStage::Coherence(p)))?;
    let coherence = found
        .measures
        .iter()
        .map(|m| (m.measure.name().to_owned(), Some(m.mean).filter(|mean| mean.is_finite())))
        .collect();
    Ok(Measurements {
        predictive_perplexity: evaluation.predictive_perplexity,
        coherence,
        diversity: word_measures(model, &words).diversity,
        words,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Deletes all models with one K but the best. The others can be trained again, byte for byte.
fn remove_other_models(setup: &SweepSetup<'_>, all: &[SweepRun], topics: u32) {
    let measured = all.iter().filter(|run| run.topics == topics);
    let mut measured: Vec<(f64, u64)> = measured
        .filter_map(|run| Some((run.record.as_ref()?.measures.as_ref()?.predictive_perplexity, run.seed)))
        .collect();
    // The sort is stable, so the first of equals is kept.
    measured.sort_by(|a, b| a.0.total_cmp(&b.0));
    for &(_, seed) in measured.iter().skip(1) {
        // The file may have been deleted before.
        let _ = std::fs::remove_file(model_file(setup, topics, seed));
    }
}

/// Writes the best model to `best.model`. Trains it again if its file is missing.
pub(super) fn best_model(
    setup: &SweepSetup<'_>,
    records: &[SweepRecord],
    choice: &BestTopicCount,
    callback: SweepCallback<'_>,
) -> anyhow::Result<PathBuf> {
    let (topics, seed) = (choice.topics, choice.seed);
    let source = model_file(setup, topics, seed);
    if !source.exists() {
        let known = records.iter().find(|r| (r.topics, r.seed) == (topics, seed));
        let mut estimator = TimeEstimator::default();
        estimator.finished.extend(known.map(|r| (r.topics, r.training.seconds)));
        estimator.begin(&[], topics);
        let position = RunPosition { run: None, runs: records.len(), topics, seed };
        train(setup, &mut RunReporter { position, estimator: &estimator, callback })?;
    }
    let best = setup.options.folder.join("best.model");
    let attempt = || -> std::io::Result<()> {
        let folder = tinylda::files::TemporaryFolder::new_in(&setup.options.folder)?;
        let new = folder.path().join("best.model");
        // A hard link is safe, since model files are only replaced and never changed.
        std::fs::hard_link(&source, &new).or_else(|_| std::fs::copy(&source, &new).map(|_| ()))?;
        std::fs::rename(&new, &best)
    };
    attempt().with_context(|| format!("cannot write {}", best.display()))?;
    Ok(best)
}

/// Estimates the remaining time, from finished runs or from the progress of the active one.
#[derive(Debug)]
struct TimeEstimator {
    /// Pairs of K and seconds of finished runs with the same number of threads.
    finished: Vec<(u32, f64)>,
    /// Numbers of topics of the runs after the active one.
    after: Vec<u32>,
    /// Number of topics of the active run.
    now: u32,
    /// Start of the active run.
    began: Instant,
    /// Start of the first run.
    start: Instant,
}

impl Default for TimeEstimator {
    fn default() -> TimeEstimator {
        let now = Instant::now();
        TimeEstimator { finished: Vec::new(), after: Vec::new(), now: 1, began: now, start: now }
    }
}

impl TimeEstimator {
    fn new(setup: &SweepSetup<'_>, all: &[SweepRun]) -> TimeEstimator {
        let mut estimator = TimeEstimator::default();
        for run in
            all.iter().filter(|run| run.record.as_ref().is_some_and(|r| r.threads == setup.options.threads))
        {
            estimator.end(run);
        }
        estimator
    }

    /// Records the start of a run.
    fn begin(&mut self, after: &[SweepRun], topics: u32) {
        self.after = after.iter().filter(|run| !run.is_done()).map(|run| run.topics).collect();
        (self.now, self.began) = (topics, Instant::now());
    }

    /// Records the end of a run.
    fn end(&mut self, run: &SweepRun) {
        let whole = run.record.as_ref().and_then(|r| Some(r.training.seconds + r.measures.as_ref()?.seconds));
        self.finished.extend(whole.map(|seconds| (run.topics, seconds)));
    }

    /// Estimates the seconds of a run: the mean for this K, or for the nearest K in proportion.
    fn run_seconds(&self, topics: u32) -> Option<f64> {
        let nearest = self.finished.iter().map(|&(k, _)| k).min_by_key(|k| k.abs_diff(topics))?;
        let same: Vec<f64> = self.finished.iter().filter(|s| s.0 == nearest).map(|s| s.1).collect();
        Some(same.iter().sum::<f64>() / same.len() as f64 * f64::from(topics) / f64::from(nearest))
    }

    /// Estimates the remaining seconds of all runs. `trained` is the completed fraction of the
    /// maximum number of passes; `None` while the model is evaluated.
    fn seconds_left(&self, trained: Option<f64>) -> Option<f64> {
        let elapsed = self.began.elapsed().as_secs_f64();
        if let Some(whole) = self.run_seconds(self.now) {
            let after: f64 = self.after.iter().filter_map(|&k| self.run_seconds(k)).sum();
            return Some((whole - elapsed).max(0.0) + after);
        }
        // This is the first run.
        let whole = trained.filter(|&share| share > 0.0 && elapsed > 1.0).map(|share| elapsed / share)?;
        let after: f64 = self.after.iter().map(|&k| f64::from(k)).sum();
        Some(whole - elapsed + whole * after / f64::from(self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_left() {
        let mut estimator = TimeEstimator { now: 20, after: vec![50, 100], ..TimeEstimator::default() };
        assert_eq!(estimator.seconds_left(None), None);
        estimator.began =
            Instant::now().checked_sub(std::time::Duration::from_secs(10)).unwrap_or(estimator.began);
        let seconds = estimator.seconds_left(Some(0.5)).unwrap();
        assert!((seconds - 160.0).abs() < 1.0, "{seconds}");
        estimator.finished = vec![(20, 30.0), (20, 50.0), (100, 90.0)];
        let seconds = estimator.seconds_left(None).unwrap();
        // 40 - 10 for the active run, 2.5 * 40 for K = 50, and 90 for K = 100.
        assert!((seconds - 220.0).abs() < 1.0, "{seconds}");
    }
}
