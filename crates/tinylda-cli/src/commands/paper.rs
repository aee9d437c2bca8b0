//! `tinylda paper`: the experiments of the TBP paper, run again.
//!
//! Corpora are divided (`corpora`), runs listed and looked up (`runs`), their time guessed (`estimate`), those that are left done
//! (`work`), and all of them shown (`report`, with `figures` and `words`). A run is a file of its own, so that only those under way are
//! lost when the command is stopped.

mod corpora;
mod estimate;
mod figures;
mod report;
mod runs;
mod words;
mod work;

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::Context;
use serde_json::json;
use tinylda::Algorithm;

use super::{ceiling, print, shown};
use crate::args;
use crate::progress::Ui;
use corpora::Data;
use runs::{Kind, Record, Run};

/// What was asked for.
#[derive(Debug)]
struct Setup {
    out: PathBuf,
    topics: Vec<u32>,
    algorithms: Vec<Algorithm>,
    passes: u32,
    online_passes: u32,
    tolerance: f64,
    seed: u64,
    threads: usize,
    jobs: usize,
    memory: Option<u64>,
    quick: bool,
}

impl Setup {
    fn new(a: &args::Paper) -> anyhow::Result<Setup> {
        let mut topics = match (&a.topics[..], a.quick) {
            ([], true) => vec![20, 50],
            ([], false) => vec![100, 300, 500, 700, 900],
            (given, _) => given.to_vec(),
        };
        topics.sort_unstable();
        topics.dedup();
        let mut algorithms = Vec::new();
        for &algorithm in if a.algorithms.is_empty() { &Algorithm::ALL[..] } else { &a.algorithms } {
            if !algorithms.contains(&algorithm) {
                algorithms.push(algorithm);
            }
        }
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let passes = a.passes.unwrap_or(if a.quick { 30 } else { 500 });
        Ok(Setup {
            out: a.output.clone(),
            topics,
            algorithms,
            passes,
            online_passes: a.online_passes.unwrap_or(passes.min(30)),
            tolerance: a.tol,
            seed: a.seed,
            threads: a.threads.map_or_else(cores, usize::from),
            jobs: usize::from(a.jobs),
            memory: ceiling(a.memory)?,
            quick: a.quick,
        })
    }

    /// Threads of each of the runs that are under way at once.
    fn threads_of(&self, kind: Kind) -> usize {
        match kind {
            Kind::Train => (self.threads / self.jobs).max(1),
            Kind::Online => self.threads,
            Kind::Time => 1,
        }
    }

    /// The middle one, for curves.
    fn middle(&self) -> u32 {
        let found = self.topics.iter().copied().find(|&k| k == 500);
        found.or_else(|| self.topics.get(self.topics.len() / 2).copied()).unwrap_or(1)
    }

    /// The one for the table of memory.
    fn least(&self) -> u32 {
        let found = self.topics.iter().copied().find(|&k| k == 100);
        found.or_else(|| self.topics.first().copied()).unwrap_or(1)
    }
}

/// The default of beta.
fn beta() -> f64 {
    tinylda::settings::Setting::default_number("beta").unwrap_or(0.01)
}

/// All that there is to show.
#[derive(Debug)]
struct Everything {
    setup: Setup,
    data: Vec<Data>,
    /// The corpus of the comparison with online learning.
    online: Data,
    /// That of the words, by its place.
    words: Option<usize>,
    runs: Vec<Run>,
    /// What is known of each run.
    records: Vec<Option<Record>>,
}

impl Everything {
    fn record(&self, kind: Kind, corpus: &str, algorithm: Algorithm, topics: u32) -> Option<&Record> {
        let at = self.runs.iter().position(|run| run.is(kind, corpus, algorithm, topics))?;
        self.records[at].as_ref()
    }
}

pub(crate) fn run(a: &args::Paper, ui: Ui) -> anyhow::Result<()> {
    let setup = Setup::new(a)?;
    for folder in [setup.out.join("corpora"), setup.out.join("runs")] {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let data = corpora::prepare(a, &setup, ui)?;
    let online = corpora::prepare_online(a, &setup, ui)?;
    let named = |at: &usize| data[*at].vocabulary;
    let pubmed = |at: &usize| data[*at].name.to_lowercase().contains("pubmed");
    let words = (0..data.len()).filter(named).find(pubmed).or_else(|| (0..data.len()).find(named));
    let runs = runs::list(&setup, &data, &online, words);
    let records: Vec<Option<Record>> = runs.iter().map(|run| run.look_up(ui)).collect();
    let mut all = Everything { setup, data, online, words, runs, records };
    let left = all.records.iter().filter(|record| record.is_none()).count();
    let costs = estimate::costs(&all, ui)?;
    ui.say(&estimate::line(&all, &costs));
    if a.estimate {
        let value =
            json!({ "runs": all.runs.len(), "runs_left": left, "seconds": estimate::seconds(&all, &costs) });
        return print(a.json, &value, &format!("{}\n", estimate::line(&all, &costs)));
    }
    work::all(&mut all, &costs, ui)?;
    // What is there is shown, even where the user has had enough of waiting.
    report::write(&all)?;
    let done = all.records.iter().flatten().filter(|record| record.outcome.is_some()).count();
    let failed = all.records.iter().flatten().filter(|record| record.failed.is_some()).count();
    let file = all.setup.out.join("README.md");
    if crate::INTERRUPTED.load(Ordering::Relaxed) {
        anyhow::bail!(
            "stopped with {done} of {} runs done; {} shows these. The same command goes on with the others.",
            all.runs.len(),
            file.display()
        );
    }
    let value = json!({
        "report": shown(&file),
        "runs": all.runs.len(),
        "runs_done_now": left - failed,
        "runs_failed": failed,
    });
    let bad = if failed > 0 { format!(", {failed} failed (the report says why)") } else { String::new() };
    let line = format!("{}: {done} runs, {} of them new{bad}\n", file.display(), left - failed);
    print(a.json, &value, &line)
}
