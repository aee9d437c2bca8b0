//! How long the runs that are left will take, about: by those that are done, or by a second's trial on a small part.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Context;
use tinylda::corpus::split;
use tinylda::eval::predictive_perplexity;
use tinylda::{Algorithm, Corpus, Event, Inference, Trainer};

use super::Everything;
use super::runs::{Kind, Run};
use crate::progress::Ui;

/// Non-zeros times topics that a trial goes through in a pass.
const TRIAL: f64 = 4e6;
const TRIAL_PASSES: u32 = 4;
/// Seconds per non-zero, topic and pass where not even a trial is possible.
const USUAL: f64 = 2e-9;

/// Seconds of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) train: f64,
    pub(super) measure: f64,
}

impl Cost {
    pub(super) fn all(self) -> f64 {
        self.train + self.measure
    }
}

/// What was seen of an algorithm: on so many threads, with so many topics, the seconds per non-zero, topic and pass.
struct Seen {
    algorithm: Algorithm,
    threads: usize,
    topics: u32,
    rate: f64,
}

/// The costs of all runs; nothing for those that are done.
pub(super) fn costs(all: &Everything, ui: Ui) -> anyhow::Result<Vec<Cost>> {
    let (mut seen, mut measured) = (Vec::new(), Vec::new());
    for (run, record) in all.runs.iter().zip(&all.records) {
        let Some((record, outcome)) = record.as_ref().and_then(|r| Some((r, r.outcome.as_ref()?))) else {
            continue;
        };
        let size = |nonzeros: u64| nonzeros.max(1) as f64 * f64::from(run.settings.topics);
        let work = size(run.train.shape.nonzeros) * f64::from(outcome.passes.max(1));
        seen.push(Seen {
            algorithm: run.algorithm,
            threads: record.threads,
            topics: run.settings.topics,
            rate: outcome.seconds / work,
        });
        if run.settings.kind == Kind::Train {
            measured.push(outcome.evaluation_seconds / size(run.test.shape.nonzeros));
        }
    }
    let left =
        || all.runs.iter().zip(&all.records).filter(|(_, record)| record.is_none()).map(|(run, _)| run);
    let known = |seen: &[Seen], run: &Run| {
        let threads = all.setup.threads_of(run.settings.kind);
        let alike = seen.iter().filter(|s| s.algorithm == run.algorithm && s.threads == threads);
        alike.min_by_key(|s| s.topics.abs_diff(run.settings.topics)).map(|s| s.rate)
    };
    let mut unknown: Vec<(Algorithm, usize)> = Vec::new();
    for run in left().filter(|run| known(&seen, run).is_none()) {
        let one = (run.algorithm, all.setup.threads_of(run.settings.kind));
        if !unknown.contains(&one) {
            unknown.push(one);
        }
    }
    if !unknown.is_empty() {
        ui.say("trying every algorithm on a small part, to tell how long it will take");
        let (rates, measure) = trial(all, &unknown)?;
        seen.extend(rates);
        measured.extend(measure);
    }
    measured.sort_by(f64::total_cmp);
    let measure_rate = measured.get(measured.len() / 2).copied().unwrap_or(100.0 * USUAL);
    let cost = |(run, record): (&Run, &Option<_>)| {
        if record.is_some() {
            return Cost::default();
        }
        let (s, k) = (&run.settings, f64::from(run.settings.topics));
        let rate = known(&seen, run).unwrap_or(USUAL);
        let times = match s.kind {
            Kind::Time => 0.0,
            Kind::Train => 1.0,
            // A model after 1, 2, 3, 5, 10, … passes.
            Kind::Online => 3.0 * f64::from(s.passes).log10() + 2.0,
        };
        Cost {
            train: run.train.shape.nonzeros as f64 * k * f64::from(s.passes) * rate,
            measure: run.test.shape.nonzeros as f64 * k * measure_rate * times,
        }
    };
    Ok(all.runs.iter().zip(&all.records).map(cost).collect())
}

/// A few passes of each algorithm on a part of the smallest corpus, and a test of the last model.
fn trial(all: &Everything, wanted: &[(Algorithm, usize)]) -> anyhow::Result<(Vec<Seen>, Option<f64>)> {
    let smallest = all.data.iter().min_by_key(|data| data.train.shape.nonzeros).context("no corpus")?;
    let shape = smallest.train.shape;
    let topics = all.setup.topics.first().copied().unwrap_or(1);
    let share = TRIAL / (shape.nonzeros.max(1) as f64 * f64::from(topics));
    let share = share.max(50.0 / shape.documents.max(1) as f64).min(0.5);
    let folder = tempfile::tempdir_in(&all.setup.out).context("cannot make a temporary folder")?;
    let (rest, part) = (folder.path().join("rest.tlc"), folder.path().join("part.tlc"));
    let corpus = Corpus::open(&smallest.train.path)?;
    let go_on = &mut |_| ControlFlow::Continue(());
    // A corpus of one document or two is tried whole.
    let part = match split(&corpus, share, all.setup.seed, &rest, &part, go_on) {
        Ok(_) => Corpus::open(&part)?,
        Err(_) => corpus,
    };
    let (mut seen, mut measure) = (Vec::new(), None);
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
            Event::Progress(_) if crate::INTERRUPTED.load(std::sync::atomic::Ordering::Relaxed) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        let rate = match &trained {
            // From the end of the first pass to that of the last: what comes before weighs little in a long training.
            Ok(_) => {
                let passed = ends.last().zip(ends.first()).map_or(0.0, |(last, first)| last - first);
                passed / (size * f64::from(TRIAL_PASSES - 1))
            }
            Err(tinylda::Error::Interrupted) => return Err(tinylda::Error::Interrupted.into()),
            // Why it fails will be told by its run.
            Err(_) => USUAL,
        };
        seen.push(Seen { algorithm, threads, topics, rate });
        if let (Ok(trained), None) = (trained, measure) {
            let began = Instant::now();
            let done =
                predictive_perplexity(&trained.model, &part, all.setup.seed, Inference::Same, &mut |_| {
                    ControlFlow::Continue(())
                });
            measure = done.is_ok().then(|| began.elapsed().as_secs_f64() / size);
        }
    }
    Ok((seen, measure))
}

/// All that is left.
pub(super) fn seconds(all: &Everything, costs: &[Cost]) -> f64 {
    let of = |wanted: &dyn Fn(Kind) -> bool| {
        let chosen = all.runs.iter().zip(costs).filter(|(run, _)| wanted(run.settings.kind));
        chosen.fold((0.0, 0f64), |(sum, longest), (_, cost)| (sum + cost.all(), longest.max(cost.all())))
    };
    let (together, longest) = of(&|kind| kind == Kind::Train);
    let (alone, _) = of(&|kind| kind != Kind::Train);
    (together / all.setup.jobs as f64).max(longest) + alone
}

/// The same in a sentence.
pub(super) fn line(all: &Everything, costs: &[Cost]) -> String {
    let left = all.records.iter().filter(|record| record.is_none()).count();
    if left == 0 {
        return format!("all {} runs are done", all.runs.len());
    }
    let jobs = match all.setup.jobs {
        1 => String::new(),
        n => format!(", {n} at a time"),
    };
    format!(
        "{} runs, {left} to do{jobs}: about {}, less where training converges sooner",
        all.runs.len(),
        span(seconds(all, costs))
    )
}

/// A span of time in words.
fn span(seconds: f64) -> String {
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
    fn spans() {
        for (seconds, text) in
            [(0.1, "1 s"), (25.0, "25 s"), (100.0, "2 min"), (8000.0, "2 h 13 min"), (2e5, "2 days 7 h")]
        {
            assert_eq!(super::span(seconds), text);
        }
    }
}
