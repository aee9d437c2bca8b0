//! Runs of the experiments: their settings, their files, and how one is executed.
//!
//! Start with [`list`] and [`PaperRun::execute`].

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tinylda::eval::predictive_perplexity;
use tinylda::train::PassReport;
use tinylda::{Algorithm, Corpus, Error, Event, Inference, Model, Stop, Trainer};

use super::super::with_memory_limit;
use super::PaperSetup;
use super::corpora::{CorpusPart, PreparedCorpus};
use crate::experiment;
use crate::progress::Ui;

/// Number of topics of the runs whose words are shown, and of the comparison with online learning.
pub(super) const SMALL_TOPIC_COUNT: u32 = 10;
/// Maximum number of topics for which models are also evaluated with the algorithm's own inference.
const MAX_TOPICS_OWN_INFERENCE: u32 = 100;
/// Number of words saved per topic, to match similar topics.
const SAVED_WORDS: usize = 100;
/// Passes of a run that measures time. The median of the last three counts. Runs of `ovb`, whose
/// passes take long, have half as many passes.
const TIMED_PASSES: u32 = 4;
/// Memory of the paper's desktop computer in bytes.
pub(super) const DESKTOP_MEMORY: u64 = 2 << 30;
/// Passes after which snapshots of the model are evaluated.
const SNAPSHOT_PASSES: [u32; 12] = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500];

/// Callback with the completed fractions of training and of evaluation.
type ProgressFn<'a> = dyn FnMut(f64, f64) -> ControlFlow<()> + Send + 'a;

/// Experiment that a run belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RunKind {
    /// Training on one half of a corpus, evaluation on the other.
    Train,
    /// Training with little memory, with snapshots of the model.
    Online,
    /// A few passes on one thread while nothing else runs.
    Time,
}

/// Settings that determine a result. A run with the same settings is not repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RunSettings {
    pub(super) kind: RunKind,
    pub(super) corpus: String,
    /// Fingerprint of the training documents.
    pub(super) train: String,
    /// Fingerprint of the test documents.
    pub(super) test: String,
    pub(super) algorithm: String,
    pub(super) topics: u32,
    pub(super) passes: u32,
    /// Convergence tolerance; `None` for the algorithm's default.
    pub(super) tolerance: Option<f64>,
    pub(super) seed: u64,
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

/// Run of an experiment, finished or not.
#[derive(Debug, Clone)]
pub(super) struct PaperRun {
    pub(super) settings: RunSettings,
    pub(super) algorithm: Algorithm,
    pub(super) train: CorpusPart,
    pub(super) test: CorpusPart,
    pub(super) file: PathBuf,
}

/// Content of the file of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PaperRecord {
    /// Version of the program.
    pub(super) version: String,
    pub(super) settings: RunSettings,
    pub(super) threads: usize,
    /// Reason why there is no result.
    pub(super) failed: Option<String>,
    pub(super) outcome: Option<Outcome>,
}

/// Result of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) passes: u32,
    pub(super) converged: bool,
    pub(super) seconds: f64,
    /// Median, without the time for the training perplexity if that is computed separately.
    pub(super) seconds_per_pass: f64,
    /// Pairs of pass and training perplexity after it.
    pub(super) history: Vec<(u32, f64)>,
    pub(super) predictive_perplexity: Option<f64>,
    /// Predictive perplexity with the algorithm's own inference, if the number of topics is small.
    pub(super) own_perplexity: Option<f64>,
    pub(super) evaluation_seconds: f64,
    /// Memory of the messages.
    pub(super) message_bytes: Option<u64>,
    /// Most probable words of each topic and their probabilities, if the number of topics is small.
    pub(super) topics: Vec<Vec<(String, f64)>>,
    /// Results of the snapshots.
    pub(super) stops: Vec<SnapshotResult>,
}

/// Evaluation of a snapshot of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SnapshotResult {
    pub(super) pass: u32,
    pub(super) seconds: f64,
    pub(super) predictive_perplexity: f64,
}

/// Returns all runs of all experiments.
pub(super) fn list(
    setup: &PaperSetup,
    data: &[PreparedCorpus],
    online: &PreparedCorpus,
    words: Option<usize>,
) -> Vec<PaperRun> {
    let mut all: Vec<PaperRun> = Vec::new();
    let mut add = |kind, data: &PreparedCorpus, algorithm: Algorithm, topics: u32| {
        let (name, k) = (algorithm.name(), topics);
        let file = match kind {
            RunKind::Train => format!("{}-{name}-k{k}.json", data.name),
            RunKind::Online => format!("{}-{name}-k{k}.online.json", data.name),
            RunKind::Time => format!("{}-{name}-k{k}.time.json", data.name),
        };
        let timed = kind == RunKind::Time;
        let own = algorithm == Algorithm::Tbp;
        let settings = RunSettings {
            kind,
            corpus: data.name.clone(),
            train: data.train.fingerprint.clone(),
            test: data.test.fingerprint.clone(),
            algorithm: name.into(),
            topics,
            passes: match kind {
                RunKind::Time if algorithm == Algorithm::Ovb => TIMED_PASSES / 2,
                RunKind::Time => TIMED_PASSES,
                RunKind::Online => setup.online_passes,
                RunKind::Train if algorithm == Algorithm::Ovb => setup.passes.div_ceil(10),
                RunKind::Train => setup.passes,
            },
            tolerance: if timed { Some(0.0) } else { (!own).then_some(setup.tolerance) },
            seed: setup.seed,
            alpha: 2.0 / f64::from(topics),
            beta: super::beta(),
        };
        let (train, test) = (data.train.clone(), data.test.clone());
        let file = setup.out.join("runs").join(file);
        if !all.iter().any(|run| run.file == file) {
            all.push(PaperRun { settings, algorithm, train, test, file });
        }
    };
    for d in data {
        for &k in &setup.topics {
            setup.algorithms.iter().for_each(|&algorithm| add(RunKind::Train, d, algorithm, k));
        }
    }
    if let Some(d) = words.and_then(|at| data.get(at)) {
        setup.algorithms.iter().for_each(|&algorithm| add(RunKind::Train, d, algorithm, SMALL_TOPIC_COUNT));
    }
    for &algorithm in setup.algorithms.iter().filter(|a| compares_online(**a)) {
        add(RunKind::Online, online, algorithm, SMALL_TOPIC_COUNT);
    }
    for d in data {
        for &k in &setup.topics {
            setup.algorithms.iter().for_each(|&algorithm| add(RunKind::Time, d, algorithm, k));
        }
    }
    all
}

/// Returns whether an algorithm takes part in the comparison with online learning.
fn compares_online(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Tbp | Algorithm::Stbp | Algorithm::Atbp | Algorithm::Ovb)
}

impl PaperRun {
    /// Returns whether this is the run with the given settings.
    pub(super) fn is(&self, kind: RunKind, corpus: &str, algorithm: Algorithm, topics: u32) -> bool {
        let s = &self.settings;
        s.kind == kind && s.corpus == corpus && self.algorithm == algorithm && s.topics == topics
    }

    /// Returns a short description.
    pub(super) fn title(&self) -> String {
        let RunSettings { corpus, algorithm, topics, .. } = &self.settings;
        let suffix = match self.settings.kind {
            RunKind::Train | RunKind::Online => "",
            RunKind::Time => ", time",
        };
        format!("{corpus} {algorithm} K={topics}{suffix}")
    }

    /// Loads the result of an earlier command. A failed run is not loaded, so that it is repeated.
    pub(super) fn load_record(&self, ui: Ui) -> Option<PaperRecord> {
        let record: PaperRecord = experiment::load_result(&self.file, &mut |note| ui.say(note))?;
        let same = record.settings == self.settings && record.version == env!("CARGO_PKG_VERSION");
        (same && record.outcome.is_some()).then_some(record)
    }

    /// Saves the result of this run.
    pub(super) fn save_record(&self, record: &PaperRecord) -> anyhow::Result<()> {
        experiment::save_result(&self.file, record)
    }

    /// Executes the run and returns its result; `None` if the user has asked to stop.
    pub(super) fn execute(
        &self,
        threads: usize,
        memory: Option<u64>,
        report: &mut ProgressFn<'_>,
    ) -> Option<PaperRecord> {
        let record = |failed, outcome| PaperRecord {
            version: env!("CARGO_PKG_VERSION").into(),
            settings: self.settings.clone(),
            threads,
            failed,
            outcome,
        };
        let result = match self.settings.kind {
            RunKind::Online => self.online(threads, memory, report),
            RunKind::Train | RunKind::Time => self.train(threads, memory, report),
        };
        match result {
            Ok(outcome) => Some(record(None, Some(outcome))),
            Err(Error::Interrupted | Error::Stopped { .. }) => None,
            Err(error) => Some(record(Some(crate::parameters::describe(&error)), None)),
        }
    }

    fn trainer(&self, threads: usize) -> Trainer {
        let s = &self.settings;
        let trainer = Trainer::new(s.topics)
            .algorithm(self.algorithm)
            .alpha(s.alpha)
            .beta(s.beta)
            .passes(s.passes)
            .seed(s.seed)
            .threads(threads);
        match s.tolerance {
            Some(tolerance) => trainer.tolerance(tolerance),
            None => trainer,
        }
    }

    /// Trains with all data in memory, and evaluates the model.
    fn train(
        &self,
        threads: usize,
        memory: Option<u64>,
        report: &mut ProgressFn<'_>,
    ) -> Result<Outcome, Error> {
        let corpus = Corpus::open(&self.train.path)?;
        let trainer = self.trainer(threads);
        if let Some(bytes) = memory {
            // The limit is only checked: enforced, it would apply to the whole process, in which
            // other runs are active, too.
            with_memory_limit(trainer.clone(), bytes).plan(&corpus)?;
        }
        let mut monitor = TrainingMonitor::default();
        let trained =
            trainer.train(&corpus, |event| monitor.observe(event, &mut |done| report(done, 0.0)))?;
        if trained.summary.stop == Stop::Asked {
            return Err(Error::Interrupted);
        }
        let mut outcome = monitor.outcome(&corpus);
        outcome.passes = trained.summary.passes;
        outcome.converged = trained.summary.stop == Stop::Converged;
        outcome.seconds = trained.summary.seconds;
        outcome.message_bytes = Some(trained.summary.message_bytes);
        if self.settings.kind == RunKind::Time {
            outcome.seconds_per_pass =
                monitor.median_of_last(if self.algorithm == Algorithm::Ovb { 1 } else { 3 });
            return Ok(outcome);
        }
        let start = std::time::Instant::now();
        let mut of = |inference| evaluate(&trained.model, &self.test.path, (self, inference), report);
        outcome.predictive_perplexity = Some(of(Inference::Same)?);
        if self.settings.topics <= MAX_TOPICS_OWN_INFERENCE {
            outcome.own_perplexity = Some(of(Inference::Own)?);
        }
        outcome.evaluation_seconds = start.elapsed().as_secs_f64();
        if self.settings.topics <= SMALL_TOPIC_COUNT {
            outcome.topics = words_of(&trained.model);
        }
        Ok(outcome)
    }

    /// Trains within the memory of the paper's desktop computer, with the rest of the data on disk,
    /// and evaluates the snapshots.
    fn online(
        &self,
        threads: usize,
        memory: Option<u64>,
        report: &mut ProgressFn<'_>,
    ) -> Result<Outcome, Error> {
        let corpus = Corpus::open(&self.train.path)?;
        let parent = self.file.parent().unwrap_or(Path::new("."));
        let folder = tinylda::files::TemporaryFolder::new_in(parent).map_err(|source| Error::Io {
            action: "create a folder in",
            path: parent.to_path_buf(),
            source,
        })?;
        let (snapshots, last) = (folder.path().join("snapshots"), folder.path().join("last.model"));
        let passes: Vec<u32> =
            SNAPSHOT_PASSES.into_iter().filter(|&pass| pass <= self.settings.passes).collect();
        let memory = memory.map_or(DESKTOP_MEMORY, |bytes| bytes.min(DESKTOP_MEMORY));
        let trainer = with_memory_limit(self.trainer(threads), memory)
            .scratch(folder.path().join("scratch"))
            .snapshots(passes, snapshots);
        let (mut monitor, mut models) = (TrainingMonitor::default(), Vec::new());
        let summary = trainer.train_to(&corpus, &last, |event| {
            if let Event::Snapshot { path, pass, .. } = event {
                models.push((pass, path.to_path_buf()));
            }
            monitor.observe(event, &mut |done| report(done, 0.0))
        })?;
        let mut outcome = monitor.outcome(&corpus);
        outcome.passes = summary.passes;
        outcome.converged = summary.stop == Stop::Converged;
        outcome.seconds = summary.seconds;
        outcome.message_bytes = Some(summary.message_bytes);
        if models.last().map(|&(pass, _)| pass) != Some(summary.passes) {
            models.push((summary.passes, last));
        }
        let count = models.len() as f64;
        for (i, (pass, path)) in models.into_iter().enumerate() {
            let (model, seconds) = (Model::load(&path)?, monitor.seconds_to(pass));
            let mut report = |_: f64, done: f64| report(1.0, (i as f64 + done) / count);
            let predictive_perplexity =
                evaluate(&model, &self.test.path, (self, Inference::Same), &mut report)?;
            outcome.predictive_perplexity = Some(predictive_perplexity);
            outcome.stops.push(SnapshotResult { pass, seconds, predictive_perplexity });
        }
        Ok(outcome)
    }
}

/// Returns the predictive perplexity of a model.
fn evaluate(
    model: &Model,
    test: &Path,
    (run, inference): (&PaperRun, Inference),
    report: &mut ProgressFn<'_>,
) -> Result<f64, Error> {
    let test = Corpus::open(test)?;
    let evaluation =
        predictive_perplexity(model, &test, run.settings.seed, inference, &mut |p| report(1.0, p.share()))?;
    Ok(evaluation.predictive_perplexity)
}

/// Returns the top words of each topic with their probabilities.
fn words_of(model: &Model) -> Vec<Vec<(String, f64)>> {
    let top = model.top_words(SAVED_WORDS);
    let named = |words: Vec<tinylda::model::TopWord>| {
        words.into_iter().map(|w| (model.word_name(w.word).into_owned(), w.probability)).collect()
    };
    top.into_iter().map(named).collect()
}

/// Collects the reports of a training.
#[derive(Debug, Default)]
struct TrainingMonitor {
    reports: Vec<PassReport>,
    documents: u64,
}

impl TrainingMonitor {
    /// Handles an event of the training.
    fn observe(
        &mut self,
        event: Event<'_>,
        notify: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match event {
            Event::Progress(progress) => notify(progress.done),
            Event::Pass(report) => {
                self.reports.push(*report);
                notify(f64::from(report.pass) / f64::from(report.passes.max(1)))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// Returns the seconds of a pass, without a training perplexity that is computed separately.
    fn duration(&self, report: &PassReport) -> f64 {
        self.documents as f64 / report.documents_per_second
    }

    /// Returns the seconds of training up to the end of a pass, including the time before the first
    /// pass.
    fn seconds_to(&self, pass: u32) -> f64 {
        let start = self.reports.first().map_or(0.0, |first| first.seconds - self.duration(first));
        let passes = self.reports.iter().filter(|report| report.pass <= pass);
        start.max(0.0) + passes.map(|report| self.duration(report)).sum::<f64>()
    }

    /// Returns the median duration of the last `count` passes in seconds.
    fn median_of_last(&self, count: usize) -> f64 {
        let last = &self.reports[self.reports.len().saturating_sub(count)..];
        let mut seconds: Vec<f64> = last.iter().map(|report| self.duration(report)).collect();
        seconds.sort_by(f64::total_cmp);
        match seconds.len() {
            0 => 0.0,
            n => f64::midpoint(seconds[(n - 1) / 2], seconds[n / 2]),
        }
    }

    /// Returns the part of the result that is known from the reports.
    fn outcome(&mut self, corpus: &Corpus) -> Outcome {
        self.documents = corpus.shape().documents;
        Outcome {
            seconds_per_pass: self.median_of_last(usize::MAX),
            history: self.reports.iter().map(|r| (r.pass, r.train_perplexity)).collect(),
            ..Outcome::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let report = |documents_per_second| PassReport {
            pass: 1,
            passes: 1,
            seconds: 0.0,
            train_perplexity: 1.0,
            active_topics: 1.0,
            documents_per_second,
        };
        let mut monitor = TrainingMonitor { reports: Vec::new(), documents: 100 };
        assert_eq!(monitor.median_of_last(4).to_bits(), 0f64.to_bits());
        monitor.reports = [1.0, 100.0, 50.0, 25.0].map(report).to_vec();
        assert!((monitor.median_of_last(3) - 2.0).abs() < 1e-12);
        assert!((monitor.median_of_last(4) - 3.0).abs() < 1e-12);
        for (report, pass) in monitor.reports.iter_mut().zip(1..) {
            (report.pass, report.seconds) = (pass, 1000.0);
        }
        assert!(
            (monitor.seconds_to(1) - 1000.0).abs() < 1e-9 && (monitor.seconds_to(3) - 1003.0).abs() < 1e-9
        );
    }
}
