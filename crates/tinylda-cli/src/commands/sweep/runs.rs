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

use super::super::experiment;
use super::super::train::trainer as training;
use super::super::with_memory_limit;
use super::choice::BestTopicCount;
use super::{SweepSettings, SweepSetup};
use crate::progress::{ProgressReporter, TimeLeft, Ui, Unit};

/// Content of the file of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SweepRecord {
    pub(super) settings: SweepSettings,
    pub(super) topics: u32,
    pub(super) seed: u64,
    pub(super) threads: usize,
    pub(super) training: TrainingResult,
    /// `None` while the model has been trained but not evaluated.
    pub(super) measures: Option<Measurements>,
}

/// Result of a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TrainingResult {
    pub(super) passes: u32,
    pub(super) converged: bool,
    pub(super) seconds: f64,
    pub(super) train_perplexity: f64,
}

/// Evaluation of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Measurements {
    pub(super) predictive_perplexity: f64,
    /// Mean coherence over all topics, by the name of the measure; `None` if no topic has a value.
    pub(super) coherence: BTreeMap<String, Option<f64>>,
    pub(super) diversity: f64,
    /// Top words of each topic, as word ids of the corpus.
    pub(super) words: Vec<Vec<u32>>,
    pub(super) seconds: f64,
}

impl Measurements {
    /// Returns the mean coherence by a measure.
    pub(super) fn coherence(&self, measure: Measure) -> Option<f64> {
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
        setup.out.join("runs").join(format!("k{}-s{}.json", self.topics, self.seed))
    }
}

fn model_file(setup: &SweepSetup<'_>, topics: u32, seed: u64) -> PathBuf {
    setup.out.join("models").join(format!("k{topics}-s{seed}.model"))
}

/// Returns the trainer for a K and a seed, with memory limit and checkpoints as in `train`.
pub(super) fn trainer(setup: &SweepSetup<'_>, topics: u32, seed: u64) -> Trainer {
    let mut trainer = training::trainer(&setup.a.training, topics, seed);
    if let Some(bytes) = setup.memory {
        trainer = with_memory_limit(trainer, bytes);
    }
    let every = Some(setup.a.training.checkpoint_every).filter(|every| !every.is_zero());
    let folder = setup.out.join("runs").join(format!("k{topics}-s{seed}.checkpoint"));
    trainer.checkpoint(folder, every).resume(Resume::Yes)
}

/// Returns all requested runs: every K with the first seed, then with the next, so that different K
/// can be compared early.
pub(super) fn list(setup: &SweepSetup<'_>, topics: &[u32], ui: Ui) -> Vec<SweepRun> {
    let mut all = Vec::new();
    for repeat in 0..u64::from(setup.a.repeats) {
        for &topics in topics {
            let mut run = SweepRun { topics, seed: setup.a.seed.wrapping_add(repeat), record: None };
            run.record = load_record(setup, &run.file(setup), ui);
            all.push(run);
        }
    }
    all
}

/// Loads a result, if it belongs to these settings.
fn load_record(setup: &SweepSetup<'_>, file: &Path, ui: Ui) -> Option<SweepRecord> {
    experiment::load_result::<SweepRecord>(file, ui).filter(|record| record.settings == setup.settings)
}

/// Loads all complete results in the folder, including those of earlier commands, sorted by K and
/// seed.
pub(super) fn load_all(setup: &SweepSetup<'_>, ui: Ui) -> anyhow::Result<Vec<SweepRecord>> {
    let folder = setup.out.join("runs");
    let unread = || format!("cannot read the folder {}", folder.display());
    let mut records = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(unread)? {
        let path = entry.with_context(unread)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            records.extend(load_record(setup, &path, ui).filter(|record| record.measures.is_some()));
        }
    }
    // Seeds are sorted relative to the first one, since they may wrap around.
    records.sort_by_key(|record| (record.topics, record.seed.wrapping_sub(setup.a.seed)));
    records.dedup_by_key(|record| (record.topics, record.seed));
    Ok(records)
}

/// Executes the remaining runs, until the user asks to stop.
pub(super) fn run_all(setup: &SweepSetup<'_>, mut all: Vec<SweepRun>, ui: Ui) -> anyhow::Result<()> {
    let bar = ui.bar("runs", Unit::Plain);
    let mut estimator = TimeEstimator::new(setup, &all);
    for at in 0..all.len() {
        if all[at].is_done() {
            continue;
        }
        estimator.begin(&all[at + 1..], all[at].topics);
        let done = all.iter().filter(|run| run.is_done()).count();
        let first =
            format!("run {} of {}, K = {}, seed {}", done + 1, all.len(), all[at].topics, all[at].seed);
        let run = &mut all[at];
        match execute(setup, run, &first, &bar, &estimator) {
            Err(Error::Interrupted | Error::Stopped { .. }) => break,
            other => other?,
        }
        let Some((record, measures)) = run.record.as_ref().and_then(|r| Some((r, r.measures.as_ref()?)))
        else {
            continue;
        };
        bar.say(&format!(
            "K = {}, seed {}: perplexity {:.1}, {} {}, {} passes, {:.1} s",
            run.topics,
            run.seed,
            measures.predictive_perplexity,
            setup.a.coherence.name(),
            measures
                .coherence(setup.a.coherence)
                .map_or_else(|| "-".to_owned(), |value| format!("{value:.4}")),
            record.training.passes,
            record.training.seconds + measures.seconds
        ));
        estimator.end(run);
        remove_other_models(setup, &all, all[at].topics);
    }
    bar.finish();
    Ok(())
}

/// Trains and evaluates a model, or only evaluates an existing one. Results are saved immediately.
fn execute(
    setup: &SweepSetup<'_>,
    run: &mut SweepRun,
    first: &str,
    bar: &ProgressReporter,
    estimator: &TimeEstimator,
) -> Result<(), Error> {
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
        let training = train(setup, run.topics, run.seed, first, bar, estimator)?;
        SweepRecord {
            settings: setup.settings.clone(),
            topics: run.topics,
            seed: run.seed,
            threads: setup.threads,
            training,
            measures: None,
        }
    };
    save(&record)?;
    let loaded = Model::load(&model)?;
    record.measures = Some(evaluate(setup, &loaded, first, bar, estimator)?);
    save(&record)?;
    run.record = Some(record);
    Ok(())
}

/// Trains a model and writes it to its file. Resumes from a checkpoint if there is one.
fn train(
    setup: &SweepSetup<'_>,
    topics: u32,
    seed: u64,
    first: &str,
    bar: &ProgressReporter,
    estimator: &TimeEstimator,
) -> Result<TrainingResult, Error> {
    let model = model_file(setup, topics, seed);
    let (mut perplexity, mut unsaved) = (String::new(), None);
    let summary = trainer(setup, topics, seed).train_to(&setup.train, &model, |event| match event {
        Event::Progress(p) => {
            let pass = if p.pass == 0 { "start".to_owned() } else { format!("pass {}/{}", p.pass, p.passes) };
            estimator.show(bar, first, Some(p.done), &(pass + &perplexity))
        }
        Event::Pass(report) => {
            perplexity = format!(", perplexity {:.1}", report.train_perplexity);
            ControlFlow::Continue(())
        }
        Event::Resumed(passes) => {
            bar.say(&format!("K = {topics}, seed {seed}: resuming after pass {passes}"));
            ControlFlow::Continue(())
        }
        Event::CheckpointFailed { error, .. } => {
            let reason = crate::parameters::describe(error);
            if unsaved.replace(reason.clone()).as_ref() != Some(&reason) {
                bar.say(&format!(
                    "warning: no checkpoint could be written: {reason}. Training continues and tries again later."
                ));
            }
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Continue(()),
    })?;
    Ok(TrainingResult {
        passes: summary.passes,
        converged: summary.stop == Stop::Converged,
        seconds: summary.seconds,
        train_perplexity: summary.train_perplexity,
    })
}

/// Evaluates a model.
fn evaluate(
    setup: &SweepSetup<'_>,
    model: &Model,
    first: &str,
    bar: &ProgressReporter,
    estimator: &TimeEstimator,
) -> Result<Measurements, Error> {
    let start = Instant::now();
    // All runs predict the same words of the same documents, so that they differ only in the
    // topics.
    let evaluation = predictive_perplexity(model, &setup.test, setup.a.seed, Inference::Same, &mut |p| {
        let total = p.total.unwrap_or(0);
        estimator.show(bar, first, None, &format!("perplexity of {} of {total} documents", p.done))
    })?;
    let words: Vec<Vec<u32>> = model
        .top_words(setup.a.top as usize)
        .iter()
        .map(|words| words.iter().map(|w| w.word).collect())
        .collect();
    let how = Coherence { threads: setup.threads, ..Coherence::default() };
    let found = how.of_corpus(model, &words, &setup.corpus, &mut |p| {
        let total = p.total.unwrap_or(0);
        estimator.show(bar, first, None, &format!("coherence, {} of {total} blocks", p.done))
    })?;
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
    ui: Ui,
) -> anyhow::Result<PathBuf> {
    let source = model_file(setup, choice.topics, choice.seed);
    if !source.exists() {
        let bar = ui.bar("passes", Unit::Plain);
        let first = format!("training the best model again, K = {}, seed {}", choice.topics, choice.seed);
        let known = records.iter().find(|r| (r.topics, r.seed) == (choice.topics, choice.seed));
        let mut estimator = TimeEstimator::default();
        estimator.finished.extend(known.map(|r| (r.topics, r.training.seconds)));
        estimator.begin(&[], choice.topics);
        train(setup, choice.topics, choice.seed, &first, &bar, &estimator)?;
        bar.finish();
    }
    let best = setup.out.join("best.model");
    let attempt = || -> std::io::Result<()> {
        let folder = tinylda::files::TemporaryFolder::new_in(&setup.out)?;
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
        for run in all.iter().filter(|run| run.record.as_ref().is_some_and(|r| r.threads == setup.threads)) {
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

    /// Estimates the remaining time of all runs. `trained` is the completed fraction of the maximum
    /// number of passes; `None` while the model is evaluated.
    fn time_left(&self, trained: Option<f64>) -> Option<TimeLeft> {
        let elapsed = self.began.elapsed().as_secs_f64();
        if let Some(whole) = self.run_seconds(self.now) {
            let after: f64 = self.after.iter().filter_map(|&k| self.run_seconds(k)).sum();
            let left = (whole - elapsed).max(0.0) + after;
            // The time grows less than proportionally with the number of topics.
            let seen = |k: &u32| self.finished.iter().any(|s| s.0 == *k);
            let all = self.after.iter().chain([&self.now]).all(seen);
            return Some(if all { TimeLeft::About(left) } else { TimeLeft::AtMost(left) });
        }
        // This is the first run.
        let whole = trained.filter(|&share| share > 0.0 && elapsed > 1.0).map(|share| elapsed / share)?;
        let after: f64 = self.after.iter().map(|&k| f64::from(k)).sum();
        Some(TimeLeft::AtMost(whole - elapsed + whole * after / f64::from(self.now)))
    }

    /// Shows the progress. Returns `Break` after Ctrl-C.
    fn show(&self, bar: &ProgressReporter, first: &str, trained: Option<f64>, more: &str) -> ControlFlow<()> {
        let left = self.time_left(trained);
        let elapsed = self.start.elapsed().as_secs_f64();
        let share =
            left.map_or(0.0, |(TimeLeft::About(s) | TimeLeft::AtMost(s))| elapsed / (elapsed + s).max(1e-9));
        bar.update_with_time_left(share.clamp(0.0, 1.0), first, left, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left() {
        let mut estimator = TimeEstimator { now: 20, after: vec![50, 100], ..TimeEstimator::default() };
        assert_eq!(estimator.time_left(None), None);
        estimator.began =
            Instant::now().checked_sub(std::time::Duration::from_secs(10)).unwrap_or(estimator.began);
        let Some(TimeLeft::AtMost(seconds)) = estimator.time_left(Some(0.5)) else {
            unreachable!("there is a share")
        };
        assert!((seconds - 160.0).abs() < 1.0, "{seconds}");
        estimator.finished = vec![(20, 30.0), (20, 50.0), (100, 90.0)];
        let Some(TimeLeft::AtMost(seconds)) = estimator.time_left(None) else {
            unreachable!("some are done")
        };
        // 40 - 10 for the active run, 2.5 * 40 for K = 50, and 90 for K = 100.
        assert!((seconds - 220.0).abs() < 1.0, "{seconds}");
        estimator.after = vec![100];
        assert!(matches!(estimator.time_left(None), Some(TimeLeft::About(_))));
    }
}
