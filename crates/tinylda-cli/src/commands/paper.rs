//! `tinylda paper`: reproduces the experiments of the TBP paper.
//!
//! Corpora are split (`corpora`), runs are listed and looked up (`runs`), their time is estimated
//! (`estimate`), the remaining ones are executed (`work`), and all results are shown (`report`,
//! with `figures` and `words`). Each run has its own file, so that only unfinished runs are lost
//! when the command is stopped. Start with [`run`].

mod corpora;
mod estimate;
mod figures;
mod report;
mod runs;
mod words;
mod work;

use std::path::PathBuf;

use anyhow::Context;
use serde_json::json;
use tinylda::Algorithm;

use super::{StoppedByUser, memory_limit, path_string, print};
use crate::args;
use crate::progress::Ui;
use corpora::PreparedCorpus;
use runs::{PaperRecord, PaperRun, RunKind};

/// Options of the command, with their defaults.
#[derive(Debug)]
struct PaperSetup {
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

impl PaperSetup {
    fn new(a: &args::PaperArgs) -> anyhow::Result<PaperSetup> {
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
        Ok(PaperSetup {
            out: a.output.clone(),
            topics,
            algorithms,
            passes,
            online_passes: a.online_passes.unwrap_or(passes.min(30)),
            tolerance: a.tol,
            seed: a.seed,
            threads: a.threads.map_or_else(cores, usize::from),
            jobs: usize::from(a.jobs),
            memory: memory_limit(a.memory)?,
            quick: a.quick,
        })
    }

    /// Returns the number of threads of each run of a kind.
    fn threads_of(&self, kind: RunKind) -> usize {
        match kind {
            RunKind::Train => (self.threads / self.jobs).max(1),
            RunKind::Online => self.threads,
            RunKind::Time => 1,
        }
    }

    /// Returns the number of topics of the convergence curves: 500, or the middle one.
    fn middle_topics(&self) -> u32 {
        let found = self.topics.iter().copied().find(|&k| k == 500);
        found.or_else(|| self.topics.get(self.topics.len() / 2).copied()).unwrap_or(1)
    }

    /// Returns the number of topics of the memory table: 100, or the smallest one.
    fn memory_table_topics(&self) -> u32 {
        let found = self.topics.iter().copied().find(|&k| k == 100);
        found.or_else(|| self.topics.first().copied()).unwrap_or(1)
    }
}

/// Returns the default of beta.
fn beta() -> f64 {
    tinylda::settings::Setting::default_number("beta").unwrap_or(0.01)
}

/// Corpora, runs and results of all experiments.
#[derive(Debug)]
struct Experiments {
    setup: PaperSetup,
    corpora: Vec<PreparedCorpus>,
    /// Corpus of the comparison with online learning.
    online: PreparedCorpus,
    /// Index of the corpus whose top words are shown.
    words_corpus: Option<usize>,
    runs: Vec<PaperRun>,
    /// Result of each run, if it is done.
    records: Vec<Option<PaperRecord>>,
}

impl Experiments {
    /// Returns the result of a run.
    fn record(&self, kind: RunKind, corpus: &str, algorithm: Algorithm, topics: u32) -> Option<&PaperRecord> {
        let at = self.runs.iter().position(|run| run.is(kind, corpus, algorithm, topics))?;
        self.records[at].as_ref()
    }
}

pub(crate) fn run(a: &args::PaperArgs, ui: Ui) -> anyhow::Result<()> {
    let setup = PaperSetup::new(a)?;
    for folder in [setup.out.join("corpora"), setup.out.join("runs")] {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let corpora = corpora::prepare(a, &setup, ui)?;
    let online = corpora::prepare_online(a, &setup, ui)?;
    let named = |at: &usize| corpora[*at].vocabulary;
    let pubmed = |at: &usize| corpora[*at].name.to_lowercase().contains("pubmed");
    let words_corpus =
        (0..corpora.len()).filter(named).find(pubmed).or_else(|| (0..corpora.len()).find(named));
    let runs = runs::list(&setup, &corpora, &online, words_corpus);
    let records: Vec<Option<PaperRecord>> = runs.iter().map(|run| run.load_record(ui)).collect();
    let mut all = Experiments { setup, corpora, online, words_corpus, runs, records };
    let left = all.records.iter().filter(|record| record.is_none()).count();
    let costs = estimate::costs(&all, ui)?;
    ui.say(&estimate::line(&all, &costs));
    if a.estimate {
        let value =
            json!({ "runs": all.runs.len(), "runs_left": left, "seconds": estimate::seconds(&all, &costs) });
        return print(a.json, &value, &format!("{}\n", estimate::line(&all, &costs)));
    }
    let _stage = crate::signals::Stage::Runs.enter();
    work::run_all(&mut all, &costs, ui)?;
    // Existing results are shown even if the user has stopped the command.
    report::write(&all)?;
    let done = all.records.iter().flatten().filter(|record| record.outcome.is_some()).count();
    let failed = all.records.iter().flatten().filter(|record| record.failed.is_some()).count();
    let file = all.setup.out.join("README.md");
    if crate::signals::interrupted() {
        anyhow::bail!(StoppedByUser(format!(
            "Stopped after {done} of {} runs; {} shows their results. Run the same command again to continue.",
            all.runs.len(),
            file.display()
        )));
    }
    let value = json!({
        "report": path_string(&file),
        "runs": all.runs.len(),
        "runs_done_now": left - failed,
        "runs_failed": failed,
    });
    let failures = if failed > 0 { format!(", {failed} failed (see the report)") } else { String::new() };
    let line = format!("{}: {done} runs, {} of them new{failures}\n", file.display(), left - failed);
    print(a.json, &value, &line)
}
