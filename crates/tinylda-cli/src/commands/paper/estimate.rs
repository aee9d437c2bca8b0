//! Estimates the time of the remaining runs, from finished runs or from a short trial on a small
//! part.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Context;
use tinylda::corpus::split;
use tinylda::eval::predictive_perplexity;
use tinylda::{Algorithm, Corpus, Event, Inference, Trainer};

use super::Experiments;
use super::runs::{PaperRun, RunKind};
use crate::progress::Ui;

/// Work of a trial per pass: non-zeros times topics.
const TRIAL_WORK: f64 = 4e6;
/// Passes of a trial.
const TRIAL_PASSES: u32 = 4;
/// Seconds per non-zero, topic and pass if not even a trial is possible.
const FALLBACK_RATE: f64 = 2e-9;

/// Estimated time of a run in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunCost {
    pub(super) train: f64,
    pub(super) measure: f64,
}

impl RunCost {
    /// Returns the total time in seconds.
    pub(super) fn total(self) -> f64 {
        self.train + self.measure
    }
}

/// Observed speed of an algorithm, with a number of threads and of topics.
struct ObservedRate {
    algorithm: Algorithm,
    threads: usize,
    topics: u32,
    /// Seconds per non-zero, topic and pass.
    rate: f64,
}

/// Returns the estimated time of all runs; zero for those that are done.
pub(super) fn costs(all: &Experiments, ui: Ui) -> anyhow::Result<Vec<RunCost>> {
    let (mut observed, mut measured) = (Vec::new(), Vec::new());
    for (run, record) in all.runs.iter().zip(&all.records) {
        let Some((record, outcome)) = record.as_ref().and_then(|r| Some((r, r.outcome.as_ref()?))) else {
            continue;
        };
        let size = |nonzeros: u64| nonzeros.max(1) as f64 * f64::from(run.settings.topics);
        let work = size(run.train.shape.nonzeros) * f64::from(outcome.passes.max(1));
        observed.push(ObservedRate {
            algorithm: run.algorithm,
            threads: record.threads,
            topics: run.settings.topics,
            rate: outcome.seconds / work,
        });
        if run.settings.kind == RunKind::Train {
            measured.push(outcome.evaluation_seconds / size(run.test.shape.nonzeros));
        }
    }
    let left =
        || all.runs.iter().zip(&all.records).filter(|(_, record)| record.is_none()).map(|(run, _)| run);
    let known = |observed: &[ObservedRate], run: &PaperRun| {
        let threads = all.setup.threads_of(run.settings.kind);
        let alike = observed.iter().filter(|s| s.algorithm == run.algorithm && s.threads == threads);
        alike.min_by_key(|s| s.topics.abs_diff(run.settings.topics)).map(|s| s.rate)
    };
    let mut unknown: Vec<(Algorithm, usize)> = Vec::new();
    for run in left().filter(|run| known(&observed, run).is_none()) {
        let one = (run.algorithm, all.setup.threads_of(run.settings.kind));
        if !unknown.contains(&one) {
            unknown.push(one);
        }
    }
    if !unknown.is_empty() {
        ui.say("running a short trial of every algorithm to estimate the time");
        let (rates, measure) = trial(all, &unknown)?;
        observed.extend(rates);
        measured.extend(measure);
    }
    measured.sort_by(f64::total_cmp);
    let measure_rate = measured.get(measured.len() / 2).copied().unwrap_or(100.0 * FALLBACK_RATE);
    let cost = |(run, record): (&PaperRun, &Option<_>)| {
        if record.is_some() {
            return RunCost::default();
        }
        let (s, k) = (&run.settings, f64::from(run.settings.topics));
        let rate = known(&observed, run).unwrap_or(FALLBACK_RATE);
        let times = match s.kind {
            RunKind::Time => 0.0,
            RunKind::Train => 1.0,
            // A model after 1, 2, 3, 5, 10, … passes.
            RunKind::Online => 3.0 * f64::from(s.passes).log10() + 2.0,
        };
        RunCost {
            train: run.train.shape.nonzeros as f64 * k * f64::from(s.passes) * rate,
            measure: run.test.shape.nonzeros as f64 * k * measure_rate * times,
        }
    };
    Ok(all.runs.iter().zip(&all.records).map(cost).collect())
}

/// Trains each algorithm for a few passes on a part of the smallest corpus, and evaluates one
/// model. Returns the speeds, and the seconds of the evaluation per non-zero and topic.
fn trial(
    all: &Experiments,
    wanted: &[(Algorithm, usize)],
) -> anyhow::Result<(Vec<ObservedRate>, Option<f64>)> {
    let smallest = all.corpora.iter().min_by_key(|data| data.train.shape.nonzeros).context("no corpus")?;
    let shape = smallest.train.shape;
    let topics = all.setup.topics.first().copied().unwrap_or(1);
    let share = TRIAL_WORK / (shape.nonzeros.max(1) as f64 * f64::from(topics));
    let share = share.max(50.0 / shape.documents.max(1) as f64).min(0.5);
    let folder =
        tinylda::files::TemporaryFolder::new_in(&all.setup.out).context("cannot make a temporary folder")?;
    let (rest, part) = (folder.path().join("rest.tlc"), folder.path().join("part.tlc"));
    let corpus = Corpus::open(&smallest.train.path)?;
    let no_progress = &mut |_| ControlFlow::Continue(());
    // A corpus that is too small to split is used as a whole.
    let part = match split(&corpus, share, all.setup.seed, &rest, &part, no_progress) {
        Ok(_) => Corpus::open(&part)?,
        Err(_) => corpus,
    };
    let (mut observed, mut measure) = (Vec::new(), None);
    let size = part.shape().nonzeros.max(1) as f64 * f64::from(topics);
    for &(algorithm, threads) in wanted {
        let trainer =
            Trainer::new(topics).algorithm(algorithm).passes(TRIAL_PASSES).tolerance(0.0).threads(threads);
        let mut ends = Vec::new();
        let trained = trainer.train(&part, |event| match event {
            Event::Pass(report) => {
                ends.push(report.seconds);
                ControlFlow::Continue(())
            }
            Event::Progress(_) if crate::signals::interrupted() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let rate = match &trained {
            // The time from the end of the first pass to the end of the last one: the start of a
            // training matters little if the training is long.
            Ok(_) => {
                let passed = ends.last().zip(ends.first()).map_or(0.0, |(last, first)| last - first);
                passed / (size * f64::from(TRIAL_PASSES - 1))
            }
            Err(tinylda::Error::Interrupted) => return Err(tinylda::Error::Interrupted.into()),
            // The run itself will report the reason.
            Err(_) => FALLBACK_RATE,
        };
        observed.push(ObservedRate { algorithm, threads, topics, rate });
        if let (Ok(trained), None) = (trained, measure) {
            let start = Instant::now();
            let done =
                predictive_perplexity(&trained.model, &part, all.setup.seed, Inference::Same, &mut |_| {
                    ControlFlow::Continue(())
                });
            measure = done.is_ok().then(|| start.elapsed().as_secs_f64() / size);
        }
    }
    Ok((observed, measure))
}

/// Returns the estimated time of all remaining runs in seconds.
pub(super) fn seconds(all: &Experiments, costs: &[RunCost]) -> f64 {
    let of = |wanted: &dyn Fn(RunKind) -> bool| {
        let chosen = all.runs.iter().zip(costs).filter(|(run, _)| wanted(run.settings.kind));
        chosen.fold((0.0, 0f64), |(sum, longest), (_, cost)| (sum + cost.total(), longest.max(cost.total())))
    };
    let (together, longest) = of(&|kind| kind == RunKind::Train);
    let (alone, _) = of(&|kind| kind != RunKind::Train);
    (together / all.setup.jobs as f64).max(longest) + alone
}

/// Describes the remaining runs and their estimated time in one line.
pub(super) fn line(all: &Experiments, costs: &[RunCost]) -> String {
    let left = all.records.iter().filter(|record| record.is_none()).count();
    if left == 0 {
        return format!("all {} runs are done", all.runs.len());
    }
    let jobs = match all.setup.jobs {
        1 => String::new(),
        n => format!(", {n} at a time"),
    };
    format!(
        "{} runs, {left} remaining{jobs}: about {}, less if training converges early",
        all.runs.len(),
        duration_text(seconds(all, costs))
    )
}

/// Formats a duration in words.
fn duration_text(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match minutes {
        0 => format!("{:.0} s", seconds.max(1.0)),
        1..60 => format!("{minutes} min"),
        60..2880 => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} days {} h", minutes / 1440, minutes / 60 % 24),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn durations() {
        for (seconds, text) in
            [(0.1, "1 s"), (25.0, "25 s"), (100.0, "2 min"), (8000.0, "2 h 13 min"), (2e5, "2 days 7 h")]
        {
            assert_eq!(super::duration_text(seconds), text);
        }
    }
}
