//! Executes runs: several at once, longest first; runs that measure time one at a time.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::estimate::RunCost;
use super::runs::{PaperRecord, PaperRun, RunKind};
use super::{Experiments, PaperSetup};
use crate::progress::{ProgressReporter, Ui, Unit};

/// Message from a worker.
enum WorkerMessage {
    /// Run number and its completed fraction.
    Progress(usize, f64),
    /// Run number and its result; none if the user has asked to stop.
    Finished(usize, Option<Box<PaperRecord>>),
}

/// Executes all remaining runs, until the user asks to stop.
pub(super) fn run_all(all: &mut Experiments, costs: &[RunCost], ui: Ui) -> anyhow::Result<()> {
    let bar = ui.bar("runs", Unit::Plain);
    // Concurrent runs take less time together than the sum of their times.
    let concurrent =
        |run: &PaperRun| if run.settings.kind == RunKind::Train { all.setup.jobs as f64 } else { 1.0 };
    let weights = all.runs.iter().zip(costs).map(|(run, cost)| cost.total() / concurrent(run)).collect();
    let mut overall = OverallProgress::new(weights);
    // Online runs come first: their memory limit applies to the whole process, which uses little
    // memory at that time.
    for kind in [RunKind::Online, RunKind::Train, RunKind::Time] {
        let left = |&i: &usize| all.runs[i].settings.kind == kind && all.records[i].is_none();
        let mut order: Vec<usize> = (0..all.runs.len()).filter(left).collect();
        if kind == RunKind::Train {
            order.sort_by(|&a, &b| costs[b].total().total_cmp(&costs[a].total()));
        }
        let Experiments { setup, runs, records, .. } = &mut *all;
        let queue = RunQueue {
            kind,
            order,
            setup,
            runs,
            costs,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        queue.run(records, &mut overall, &bar)?;
    }
    bar.finish();
    Ok(())
}

/// Progress of all runs, weighted by their estimated time.
struct OverallProgress {
    weights: Vec<f64>,
    sum: f64,
    done: Vec<f64>,
    running: Vec<usize>,
}

impl OverallProgress {
    fn new(weights: Vec<f64>) -> OverallProgress {
        let sum = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        OverallProgress { done: vec![0.0; weights.len()], weights, sum, running: Vec::new() }
    }

    /// Sets the completed fraction of a run.
    fn set(&mut self, run: usize, share: f64) {
        self.done[run] = share.clamp(0.0, 1.0);
        if !self.running.contains(&run) {
            self.running.push(run);
        }
    }

    /// Returns the completed fraction of all work.
    fn fraction(&self) -> f64 {
        self.weights.iter().zip(&self.done).map(|(weight, done)| weight * done).sum::<f64>() / self.sum
    }
}

/// Runs of one kind that are waiting for a worker.
struct RunQueue<'a> {
    kind: RunKind,
    /// Indices of the remaining runs, in the order of their execution.
    order: Vec<usize>,
    setup: &'a PaperSetup,
    runs: &'a [PaperRun],
    costs: &'a [RunCost],
    /// Position in `order` of the run that the next free worker takes.
    next: AtomicUsize,
    stop: AtomicBool,
}

impl RunQueue<'_> {
    /// Executes all runs in the queue and saves the results as they arrive.
    fn run(
        &self,
        records: &mut [Option<PaperRecord>],
        overall: &mut OverallProgress,
        bar: &ProgressReporter,
    ) -> anyhow::Result<()> {
        let RunQueue { kind, setup, runs, stop, .. } = self;
        let workers = if *kind == RunKind::Train { setup.jobs.min(self.order.len()) } else { 1 };
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let sender = sender.clone();
                scope.spawn(move || self.work(&sender));
            }
            drop(sender);
            let mut failed = None;
            loop {
                match receiver.recv_timeout(Duration::from_millis(100)) {
                    Ok(WorkerMessage::Progress(run, share)) => overall.set(run, share),
                    Ok(WorkerMessage::Finished(run, record)) => {
                        overall.set(run, 1.0);
                        overall.running.retain(|&other| other != run);
                        if let Some(record) = record {
                            bar.say(&result_line(&runs[run], &record));
                            if let Err(error) = runs[run].save_record(&record) {
                                // If one result cannot be saved, the others cannot be saved either.
                                stop.store(true, Ordering::Relaxed);
                                failed = Some(error);
                            }
                            records[run] = Some(*record);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                let done = records.iter().flatten().count();
                let now: Vec<String> = overall.running.iter().map(|&i| runs[i].title()).collect();
                let first = format!("{done} of {} runs done", runs.len());
                // Workers check for themselves whether to stop.
                let _ = bar.update_fraction(overall.fraction(), &first, &now.join("; "));
            }
            failed.map_or(Ok(()), Err)
        })
    }

    /// Takes runs from the queue until it is empty or the user asks to stop.
    fn work(&self, sender: &Sender<WorkerMessage>) {
        let &RunQueue { kind, ref order, setup, runs, costs, ref next, ref stop } = self;
        let stop_requested = || crate::signals::interrupted() || stop.load(Ordering::Relaxed);
        let jobs = if kind == RunKind::Train { setup.jobs as u64 } else { 1 };
        while !stop_requested() {
            let Some(&run) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let (cost, all) = (costs[run], costs[run].total().max(f64::MIN_POSITIVE));
            // If the receiver is gone, the queue has failed and nobody needs the message.
            let _ = sender.send(WorkerMessage::Progress(run, 0.0));
            let mut report = |trained: f64, measured: f64| {
                let _ = sender.send(WorkerMessage::Progress(
                    run,
                    (cost.train * trained + cost.measure * measured) / all,
                ));
                if stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let memory = setup.memory.map(|bytes| bytes / jobs);
            let record = runs[run].execute(setup.threads_of(kind), memory, &mut report);
            let _ = sender.send(WorkerMessage::Finished(run, record.map(Box::new)));
        }
    }
}

/// Describes the result of a run in one line.
fn result_line(run: &PaperRun, record: &PaperRecord) -> String {
    let what = match (&record.outcome, &record.failed) {
        (Some(outcome), _) if run.settings.kind == RunKind::Time => {
            format!("{:.3} s per pass", outcome.seconds_per_pass)
        }
        (Some(outcome), _) => format!(
            "predictive perplexity {:.1} after {} passes, {:.1} s",
            outcome.predictive_perplexity.unwrap_or(f64::NAN),
            outcome.passes,
            outcome.seconds
        ),
        (_, Some(why)) => format!("failed: {why}"),
        _ => "nothing".into(),
    };
    format!("{}: {what}", run.title())
}
