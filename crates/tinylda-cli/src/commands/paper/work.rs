//! Doing runs: several at once, the longest first; those that measure time one by one, with nothing beside them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::estimate::Cost;
use super::runs::{Kind, Record, Run};
use super::{Everything, Setup};
use crate::INTERRUPTED;
use crate::progress::{Bar, Ui, Unit};

/// What a worker tells.
enum News {
    /// A run has been begun, or is so far.
    At(usize, f64),
    /// A run is over.
    Over(usize, Option<Box<Record>>),
}

/// Does all that is left, until the user asks to stop.
pub(super) fn all(all: &mut Everything, costs: &[Cost], ui: Ui) -> anyhow::Result<()> {
    let bar = ui.bar("runs", Unit::Plain);
    // Those that share the machine pass in less time than they take.
    let at_once = |run: &Run| if run.settings.kind == Kind::Train { all.setup.jobs as f64 } else { 1.0 };
    let weights = all.runs.iter().zip(costs).map(|(run, cost)| cost.all() / at_once(run)).collect();
    let mut board = Board::new(weights);
    // The online ones first: their ceiling is on the whole process, which has little in memory yet.
    for kind in [Kind::Online, Kind::Train, Kind::Time] {
        let left = |&i: &usize| all.runs[i].settings.kind == kind && all.records[i].is_none();
        let mut order: Vec<usize> = (0..all.runs.len()).filter(left).collect();
        if kind == Kind::Train {
            order.sort_by(|&a, &b| costs[b].all().total_cmp(&costs[a].all()));
        }
        let Everything { setup, runs, records, .. } = &mut *all;
        let queue = Queue {
            kind,
            order,
            setup,
            runs,
            costs,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        queue.run(records, &mut board, &bar)?;
    }
    bar.done();
    Ok(())
}

/// How far everything is.
struct Board {
    weights: Vec<f64>,
    sum: f64,
    done: Vec<f64>,
    under_way: Vec<usize>,
}

impl Board {
    fn new(weights: Vec<f64>) -> Board {
        let sum = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        Board { done: vec![0.0; weights.len()], weights, sum, under_way: Vec::new() }
    }

    fn at(&mut self, run: usize, share: f64) {
        self.done[run] = share.clamp(0.0, 1.0);
        if !self.under_way.contains(&run) {
            self.under_way.push(run);
        }
    }

    fn share(&self) -> f64 {
        self.weights.iter().zip(&self.done).map(|(weight, done)| weight * done).sum::<f64>() / self.sum
    }
}

/// Runs of one kind that wait for a worker.
struct Queue<'a> {
    kind: Kind,
    /// Numbers of the runs that are left, in the order in which they are taken.
    order: Vec<usize>,
    setup: &'a Setup,
    runs: &'a [Run],
    costs: &'a [Cost],
    /// The position in `order` of the run that the next free worker takes.
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Queue<'_> {
    /// Runs everything in the queue and keeps the records as they arrive.
    fn run(&self, records: &mut [Option<Record>], board: &mut Board, bar: &Bar) -> anyhow::Result<()> {
        let Queue { kind, setup, runs, stop, .. } = self;
        let workers = if *kind == Kind::Train { setup.jobs.min(self.order.len()) } else { 1 };
        let (news, inbox) = channel();
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let news = news.clone();
                scope.spawn(move || self.work(&news));
            }
            drop(news);
            let mut failed = None;
            loop {
                match inbox.recv_timeout(Duration::from_millis(100)) {
                    Ok(News::At(run, share)) => board.at(run, share),
                    Ok(News::Over(run, record)) => {
                        board.at(run, 1.0);
                        board.under_way.retain(|&other| other != run);
                        if let Some(record) = record {
                            bar.say(&told(&runs[run], &record));
                            if let Err(error) = runs[run].keep(&record) {
                                // Where one cannot be kept the others cannot.
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
                let now: Vec<String> = board.under_way.iter().map(|&i| runs[i].title()).collect();
                let first = format!("{done} of {} runs done", runs.len());
                // Workers look for themselves whether to stop.
                let _ = bar.share(board.share(), &first, &now.join("; "));
            }
            failed.map_or(Ok(()), Err)
        })
    }

    /// Takes runs from the queue until it is empty or the user asks to stop.
    fn work(&self, news: &Sender<News>) {
        let &Queue { kind, ref order, setup, runs, costs, ref next, ref stop } = self;
        let asked = || INTERRUPTED.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed);
        let jobs = if kind == Kind::Train { setup.jobs as u64 } else { 1 };
        while !asked() {
            let Some(&run) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let (cost, all) = (costs[run], costs[run].all().max(f64::MIN_POSITIVE));
            // One who does not listen any more has stopped.
            let _ = news.send(News::At(run, 0.0));
            let mut tell = |trained: f64, measured: f64| {
                let _ = news.send(News::At(run, (cost.train * trained + cost.measure * measured) / all));
                if asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let memory = setup.memory.map(|bytes| bytes / jobs);
            let record = runs[run].go(setup.threads_of(kind), memory, &mut tell);
            let _ = news.send(News::Over(run, record.map(Box::new)));
        }
    }
}

/// What a run has come to, in a line.
fn told(run: &Run, record: &Record) -> String {
    let what = match (&record.outcome, &record.failed) {
        (Some(outcome), _) if run.settings.kind == Kind::Time => {
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
