//! Runs: a K and a seed each; the files they are kept in, how one is done, how long the others will take.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tinylda::eval::{Coherence, Measure, predictive_perplexity, word_measures};
use tinylda::{Error, Event, Inference, Model, Resume, Stop, Trainer};

use super::super::experiment;
use super::super::train::how;
use super::super::within;
use super::choice::Choice;
use super::{Settings, Setup};
use crate::progress::{Bar, Left, Ui, Unit};

/// The file of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) settings: Settings,
    pub(super) topics: u32,
    pub(super) seed: u64,
    pub(super) threads: usize,
    pub(super) training: Training,
    /// Nothing while only the model is there.
    pub(super) measures: Option<Measures>,
}

/// How training went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Training {
    pub(super) passes: u32,
    pub(super) converged: bool,
    pub(super) seconds: f64,
    pub(super) train_perplexity: f64,
}

/// What was measured of its model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Measures {
    pub(super) predictive_perplexity: f64,
    /// The means over topics, by the measures' names; nothing where no topic has one.
    pub(super) coherence: BTreeMap<String, Option<f64>>,
    pub(super) diversity: f64,
    /// The top words of each topic, as ids of the corpus.
    pub(super) words: Vec<Vec<u32>>,
    pub(super) seconds: f64,
}

impl Measures {
    pub(super) fn coherence(&self, measure: Measure) -> Option<f64> {
        self.coherence.get(measure.name()).copied().flatten()
    }
}

/// A run, done or to be done.
#[derive(Debug)]
pub(super) struct Run {
    topics: u32,
    seed: u64,
    /// What is known of it.
    record: Option<Record>,
}

impl Run {
    pub(super) fn done(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.measures.is_some())
    }

    fn file(&self, setup: &Setup<'_>) -> PathBuf {
        setup.out.join("runs").join(format!("k{}-s{}.json", self.topics, self.seed))
    }
}

fn model_file(setup: &Setup<'_>, topics: u32, seed: u64) -> PathBuf {
    setup.out.join("models").join(format!("k{topics}-s{seed}.model"))
}

/// A trainer for a K and a seed; memory and checkpoints as in `train`.
pub(super) fn trainer(setup: &Setup<'_>, topics: u32, seed: u64) -> Trainer {
    let mut trainer = how::trainer(&setup.a.training, topics, seed);
    if let Some(bytes) = setup.memory {
        trainer = within(trainer, bytes);
    }
    let every = Some(setup.a.training.checkpoint_every).filter(|every| !every.is_zero());
    let folder = setup.out.join("runs").join(format!("k{topics}-s{seed}.checkpoint"));
    trainer.checkpoint(folder, every).resume(Resume::Yes)
}

/// Everything that was asked for: every K with the first seed, then with the next, so that there is soon something to compare.
pub(super) fn list(setup: &Setup<'_>, topics: &[u32], ui: Ui) -> Vec<Run> {
    let mut all = Vec::new();
    for repeat in 0..u64::from(setup.a.repeats) {
        for &topics in topics {
            let mut run = Run { topics, seed: setup.a.seed.wrapping_add(repeat), record: None };
            run.record = read(setup, &run.file(setup), ui);
            all.push(run);
        }
    }
    all
}

/// What a file tells, where it belongs to these settings.
fn read(setup: &Setup<'_>, file: &Path, ui: Ui) -> Option<Record> {
    experiment::look_up::<Record>(file, ui).filter(|record| record.settings == setup.settings)
}

/// All that is in the folder and whole, those of earlier commands too, in the order of K and seed.
pub(super) fn all_in(setup: &Setup<'_>, ui: Ui) -> anyhow::Result<Vec<Record>> {
    let folder = setup.out.join("runs");
    let unread = || format!("cannot read the folder {}", folder.display());
    let mut records = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(unread)? {
        let path = entry.with_context(unread)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            records.extend(read(setup, &path, ui).filter(|record| record.measures.is_some()));
        }
    }
    // Seeds count from the first one, which may be the largest number there is.
    records.sort_by_key(|record| (record.topics, record.seed.wrapping_sub(setup.a.seed)));
    records.dedup_by_key(|record| (record.topics, record.seed));
    Ok(records)
}

/// Does what is left, until the user asks to stop.
pub(super) fn go(setup: &Setup<'_>, mut all: Vec<Run>, ui: Ui) -> anyhow::Result<()> {
    let bar = ui.bar("runs", Unit::Plain);
    let mut pace = Pace::new(setup, &all);
    for at in 0..all.len() {
        if all[at].done() {
            continue;
        }
        pace.begin(&all[at + 1..], all[at].topics);
        let done = all.iter().filter(|run| run.done()).count();
        let first =
            format!("run {} of {}, K = {}, seed {}", done + 1, all.len(), all[at].topics, all[at].seed);
        let run = &mut all[at];
        match one(setup, run, &first, &bar, &pace) {
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
        pace.end(run);
        tidy(setup, &all, all[at].topics);
    }
    bar.done();
    Ok(())
}

/// Trains and measures, or only measures where a model is there. What is done is kept at once.
fn one(setup: &Setup<'_>, run: &mut Run, first: &str, bar: &Bar, pace: &Pace) -> Result<(), Error> {
    let (file, model) = (run.file(setup), model_file(setup, run.topics, run.seed));
    let keep = |record: &Record| {
        experiment::keep(&file, record).map_err(|error| Error::Io {
            action: "write",
            path: file.clone(),
            source: std::io::Error::other(crate::message(&error)),
        })
    };
    let trained = run.record.clone().filter(|_| model.exists());
    let mut record = if let Some(record) = trained {
        record
    } else {
        let training = train(setup, run.topics, run.seed, first, bar, pace)?;
        Record {
            settings: setup.settings.clone(),
            topics: run.topics,
            seed: run.seed,
            threads: setup.threads,
            training,
            measures: None,
        }
    };
    keep(&record)?;
    let loaded = Model::load(&model)?;
    record.measures = Some(measure(setup, &loaded, first, bar, pace)?);
    keep(&record)?;
    run.record = Some(record);
    Ok(())
}

/// Trains a model into its file; goes on where a checkpoint is.
fn train(
    setup: &Setup<'_>,
    topics: u32,
    seed: u64,
    first: &str,
    bar: &Bar,
    pace: &Pace,
) -> Result<Training, Error> {
    let model = model_file(setup, topics, seed);
    let mut perplexity = String::new();
    let summary = trainer(setup, topics, seed).train_to(&setup.train, &model, |event| match event {
        Event::Progress(p) => {
            let pass = if p.pass == 0 { "start".to_owned() } else { format!("pass {}/{}", p.pass, p.passes) };
            pace.tell(bar, first, Some(p.done), &(pass + &perplexity))
        }
        Event::Pass(report) => {
            perplexity = format!(", perplexity {:.1}", report.train_perplexity);
            ControlFlow::Continue(())
        }
        Event::Resumed(passes) => {
            bar.say(&format!("K = {topics}, seed {seed}: going on after pass {passes}"));
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Continue(()),
    })?;
    Ok(Training {
        passes: summary.passes,
        converged: summary.stop == Stop::Converged,
        seconds: summary.seconds,
        train_perplexity: summary.train_perplexity,
    })
}

fn measure(setup: &Setup<'_>, model: &Model, first: &str, bar: &Bar, pace: &Pace) -> Result<Measures, Error> {
    let began = Instant::now();
    // The same words of the same documents are predicted in all runs, so that they differ in the topics alone.
    let evaluation = predictive_perplexity(model, &setup.test, setup.a.seed, Inference::Same, &mut |p| {
        let total = p.total.unwrap_or(0);
        pace.tell(bar, first, None, &format!("predicting {} of {total} documents", p.done))
    })?;
    let words: Vec<Vec<u32>> = model
        .top_words(setup.a.top as usize)
        .iter()
        .map(|words| words.iter().map(|w| w.word).collect())
        .collect();
    let how = Coherence { threads: setup.threads, ..Coherence::default() };
    let found = how.of_corpus(model, &words, &setup.corpus, &mut |p| {
        let total = p.total.unwrap_or(0);
        pace.tell(bar, first, None, &format!("coherence, {} of {total} blocks", p.done))
    })?;
    let coherence = found
        .measures
        .iter()
        .map(|m| (m.measure.name().to_owned(), Some(m.mean).filter(|mean| mean.is_finite())))
        .collect();
    Ok(Measures {
        predictive_perplexity: evaluation.predictive_perplexity,
        coherence,
        diversity: word_measures(model, &words).diversity,
        words,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// Of the models with one K only the best stays. Others can be made again, to the byte.
fn tidy(setup: &Setup<'_>, all: &[Run], topics: u32) {
    let measured = all.iter().filter(|run| run.topics == topics);
    let mut measured: Vec<(f64, u64)> = measured
        .filter_map(|run| Some((run.record.as_ref()?.measures.as_ref()?.predictive_perplexity, run.seed)))
        .collect();
    // The first of equals stays first.
    measured.sort_by(|a, b| a.0.total_cmp(&b.0));
    for &(_, seed) in measured.iter().skip(1) {
        // One that is not there is no harm.
        let _ = std::fs::remove_file(model_file(setup, topics, seed));
    }
}

/// The best model under its name; trained again where somebody has taken it away.
pub(super) fn best_model(
    setup: &Setup<'_>,
    records: &[Record],
    choice: &Choice,
    ui: Ui,
) -> anyhow::Result<PathBuf> {
    let source = model_file(setup, choice.topics, choice.seed);
    if !source.exists() {
        let bar = ui.bar("passes", Unit::Plain);
        let first = format!("the best model once more, K = {}, seed {}", choice.topics, choice.seed);
        let known = records.iter().find(|r| (r.topics, r.seed) == (choice.topics, choice.seed));
        let mut pace = Pace::default();
        pace.seen.extend(known.map(|r| (r.topics, r.training.seconds)));
        pace.begin(&[], choice.topics);
        train(setup, choice.topics, choice.seed, &first, &bar, &pace)?;
        bar.done();
    }
    let best = setup.out.join("best.model");
    let attempt = || -> std::io::Result<()> {
        let folder = tempfile::tempdir_in(&setup.out)?;
        let new = folder.path().join("best.model");
        // Two names of one file where the disk can do it: files are replaced as a whole and never changed.
        std::fs::hard_link(&source, &new).or_else(|_| std::fs::copy(&source, &new).map(|_| ()))?;
        std::fs::rename(&new, &best)
    };
    attempt().with_context(|| format!("cannot write {}", best.display()))?;
    Ok(best)
}

/// How long the runs that are left will take: by those that are done, or by the one under way.
#[derive(Debug)]
struct Pace {
    /// (K, seconds) of those that are done on as many threads.
    seen: Vec<(u32, f64)>,
    /// The K of those that come after the one under way, and its own.
    after: Vec<u32>,
    now: u32,
    began: Instant,
    /// When the first run began.
    start: Instant,
}

impl Default for Pace {
    fn default() -> Pace {
        let now = Instant::now();
        Pace { seen: Vec::new(), after: Vec::new(), now: 1, began: now, start: now }
    }
}

impl Pace {
    fn new(setup: &Setup<'_>, all: &[Run]) -> Pace {
        let mut pace = Pace::default();
        for run in all.iter().filter(|run| run.record.as_ref().is_some_and(|r| r.threads == setup.threads)) {
            pace.end(run);
        }
        pace
    }

    fn begin(&mut self, after: &[Run], topics: u32) {
        self.after = after.iter().filter(|run| !run.done()).map(|run| run.topics).collect();
        (self.now, self.began) = (topics, Instant::now());
    }

    fn end(&mut self, run: &Run) {
        let whole = run.record.as_ref().and_then(|r| Some(r.training.seconds + r.measures.as_ref()?.seconds));
        self.seen.extend(whole.map(|seconds| (run.topics, seconds)));
    }

    /// Seconds of a run: the mean of those with this K, or with the nearest, in proportion.
    fn of(&self, topics: u32) -> Option<f64> {
        let nearest = self.seen.iter().map(|&(k, _)| k).min_by_key(|k| k.abs_diff(topics))?;
        let same: Vec<f64> = self.seen.iter().filter(|s| s.0 == nearest).map(|s| s.1).collect();
        Some(same.iter().sum::<f64>() / same.len() as f64 * f64::from(topics) / f64::from(nearest))
    }

    /// `trained`: the share of the passes that are done, of all that there may be; nothing while the model is measured.
    fn left(&self, trained: Option<f64>) -> Option<Left> {
        let gone = self.began.elapsed().as_secs_f64();
        if let Some(whole) = self.of(self.now) {
            let after: f64 = self.after.iter().filter_map(|&k| self.of(k)).sum();
            let left = (whole - gone).max(0.0) + after;
            // With more topics a run takes longer, but less than in proportion.
            let seen = |k: &u32| self.seen.iter().any(|s| s.0 == *k);
            let all = self.after.iter().chain([&self.now]).all(seen);
            return Some(if all { Left::About(left) } else { Left::AtMost(left) });
        }
        // The first of all.
        let whole = trained.filter(|&share| share > 0.0 && gone > 1.0).map(|share| gone / share)?;
        let after: f64 = self.after.iter().map(|&k| f64::from(k)).sum();
        Some(Left::AtMost(whole - gone + whole * after / f64::from(self.now)))
    }

    fn tell(&self, bar: &Bar, first: &str, trained: Option<f64>, more: &str) -> ControlFlow<()> {
        let left = self.left(trained);
        let gone = self.start.elapsed().as_secs_f64();
        let share = left.map_or(0.0, |(Left::About(s) | Left::AtMost(s))| gone / (gone + s).max(1e-9));
        bar.so_far(share.clamp(0.0, 1.0), first, left, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left() {
        let mut pace = Pace { now: 20, after: vec![50, 100], ..Pace::default() };
        assert_eq!(pace.left(None), None);
        pace.began = Instant::now().checked_sub(std::time::Duration::from_secs(10)).unwrap_or(pace.began);
        let Some(Left::AtMost(seconds)) = pace.left(Some(0.5)) else { unreachable!("there is a share") };
        assert!((seconds - 160.0).abs() < 1.0, "{seconds}");
        pace.seen = vec![(20, 30.0), (20, 50.0), (100, 90.0)];
        let Some(Left::AtMost(seconds)) = pace.left(None) else { unreachable!("some are done") };
        // 40 less 10, two and a half times 40, and 90.
        assert!((seconds - 220.0).abs() < 1.0, "{seconds}");
        pace.after = vec![100];
        assert!(matches!(pace.left(None), Some(Left::About(_))));
    }
}
