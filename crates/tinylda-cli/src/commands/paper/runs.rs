//! Runs: what they are, the files they are kept in, and how one is done.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tinylda::eval::predictive_perplexity;
use tinylda::train::PassReport;
use tinylda::{Algorithm, Corpus, Error, Event, Inference, Model, Stop, Trainer};

use super::super::{experiment, within};
use super::Setup;
use super::corpora::{Data, Part};
use crate::progress::Ui;

/// Topics of the runs whose words are shown, and of the comparison with online learning.
pub(super) const FEW: u32 = 10;
/// Up to so many topics test documents are measured with the algorithms' own inference, too.
const FEW_FOR_OWN: u32 = 100;
/// So many words of a topic are kept, to find topics that are alike.
const KEPT_WORDS: usize = 100;
/// Passes of a run that is there to be timed; the median of the last three counts (of `ovb`, whose passes take long, half as many).
const TIMED_PASSES: u32 = 4;
/// The memory of the paper's desktop computer.
pub(super) const DESKTOP: u64 = 2 << 30;
/// Passes after which models on their way are measured.
const STOPS: [u32; 12] = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500];

/// Who is told the shares of training and of measuring that are done.
type Tell<'a> = dyn FnMut(f64, f64) -> ControlFlow<()> + Send + 'a;

/// Which experiment a run belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Training on one half, measured on the other.
    Train,
    /// Little memory, and models on their way.
    Online,
    /// A few passes on one thread, nothing beside them.
    Time,
}

/// What a result depends on: the same settings are not run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Settings {
    pub(super) kind: Kind,
    pub(super) corpus: String,
    /// What stands for the documents of the two parts.
    pub(super) train: String,
    pub(super) test: String,
    pub(super) algorithm: String,
    pub(super) topics: u32,
    pub(super) passes: u32,
    /// Nothing: the algorithm's own.
    pub(super) tolerance: Option<f64>,
    pub(super) seed: u64,
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

/// A run, done or to be done.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) settings: Settings,
    pub(super) algorithm: Algorithm,
    pub(super) train: Part,
    pub(super) test: Part,
    pub(super) file: PathBuf,
}

/// The file of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Of the program.
    pub(super) version: String,
    pub(super) settings: Settings,
    pub(super) threads: usize,
    /// Why there is no result.
    pub(super) failed: Option<String>,
    pub(super) outcome: Option<Outcome>,
}

/// What a run has given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) passes: u32,
    pub(super) converged: bool,
    pub(super) seconds: f64,
    /// The median; without the time for the training perplexity where that is computed apart.
    pub(super) seconds_per_pass: f64,
    /// (pass, training perplexity after it).
    pub(super) history: Vec<(u32, f64)>,
    pub(super) predictive_perplexity: Option<f64>,
    /// With the algorithm's own way to find the topics of the test documents, where topics are few.
    pub(super) own_perplexity: Option<f64>,
    pub(super) evaluation_seconds: f64,
    /// What messages have taken.
    pub(super) message_bytes: Option<u64>,
    /// The most probable words of each topic and their probabilities, where topics are few.
    pub(super) topics: Vec<Vec<(String, f64)>>,
    /// Models on their way.
    pub(super) stops: Vec<Passed>,
}

/// A model on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Passed {
    pub(super) pass: u32,
    pub(super) seconds: f64,
    pub(super) predictive_perplexity: f64,
}

/// All runs of all experiments.
pub(super) fn list(setup: &Setup, data: &[Data], online: &Data, words: Option<usize>) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::new();
    let mut add = |kind, data: &Data, algorithm: Algorithm, topics: u32| {
        let (name, k) = (algorithm.name(), topics);
        let file = match kind {
            Kind::Train => format!("{}-{name}-k{k}.json", data.name),
            Kind::Online => format!("{}-{name}-k{k}.online.json", data.name),
            Kind::Time => format!("{}-{name}-k{k}.time.json", data.name),
        };
        let timed = kind == Kind::Time;
        let own = algorithm == Algorithm::Tbp;
        let settings = Settings {
            kind,
            corpus: data.name.clone(),
            train: data.train.fingerprint.clone(),
            test: data.test.fingerprint.clone(),
            algorithm: name.into(),
            topics,
            passes: match kind {
                Kind::Time if algorithm == Algorithm::Ovb => TIMED_PASSES / 2,
                Kind::Time => TIMED_PASSES,
                Kind::Online => setup.online_passes,
                Kind::Train if algorithm == Algorithm::Ovb => setup.passes.div_ceil(10),
                Kind::Train => setup.passes,
            },
            tolerance: if timed { Some(0.0) } else { (!own).then_some(setup.tolerance) },
            seed: setup.seed,
            alpha: 2.0 / f64::from(topics),
            beta: super::beta(),
        };
        let (train, test) = (data.train.clone(), data.test.clone());
        let file = setup.out.join("runs").join(file);
        if !all.iter().any(|run| run.file == file) {
            all.push(Run { settings, algorithm, train, test, file });
        }
    };
    for d in data {
        for &k in &setup.topics {
            setup.algorithms.iter().for_each(|&algorithm| add(Kind::Train, d, algorithm, k));
        }
    }
    if let Some(d) = words.and_then(|at| data.get(at)) {
        setup.algorithms.iter().for_each(|&algorithm| add(Kind::Train, d, algorithm, FEW));
    }
    for &algorithm in setup.algorithms.iter().filter(|a| from_disk(**a)) {
        add(Kind::Online, online, algorithm, FEW);
    }
    for d in data {
        for &k in &setup.topics {
            setup.algorithms.iter().for_each(|&algorithm| add(Kind::Time, d, algorithm, k));
        }
    }
    all
}

/// Whether an algorithm takes part in the comparison with online learning.
fn from_disk(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Tbp | Algorithm::Stbp | Algorithm::Atbp | Algorithm::Ovb)
}

impl Run {
    pub(super) fn is(&self, kind: Kind, corpus: &str, algorithm: Algorithm, topics: u32) -> bool {
        let s = &self.settings;
        s.kind == kind && s.corpus == corpus && self.algorithm == algorithm && s.topics == topics
    }

    /// In a few words.
    pub(super) fn title(&self) -> String {
        let Settings { corpus, algorithm, topics, .. } = &self.settings;
        let why = match self.settings.kind {
            Kind::Train | Kind::Online => "",
            Kind::Time => ", time",
        };
        format!("{corpus} {algorithm} K={topics}{why}")
    }

    /// What an earlier command has left of this run; one that has failed is tried again.
    pub(super) fn look_up(&self, ui: Ui) -> Option<Record> {
        let record: Record = experiment::look_up(&self.file, ui)?;
        let same = record.settings == self.settings && record.version == env!("CARGO_PKG_VERSION");
        (same && record.outcome.is_some()).then_some(record)
    }

    pub(super) fn keep(&self, record: &Record) -> anyhow::Result<()> {
        experiment::keep(&self.file, record)
    }

    /// What is left of it when it is over; nothing where the user has asked to stop.
    pub(super) fn go(&self, threads: usize, memory: Option<u64>, tell: &mut Tell<'_>) -> Option<Record> {
        let record = |failed, outcome| Record {
            version: env!("CARGO_PKG_VERSION").into(),
            settings: self.settings.clone(),
            threads,
            failed,
            outcome,
        };
        let result = match self.settings.kind {
            Kind::Online => self.online(threads, memory, tell),
            Kind::Train | Kind::Time => self.train(threads, memory, tell),
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

    /// All in memory.
    fn train(&self, threads: usize, memory: Option<u64>, tell: &mut Tell<'_>) -> Result<Outcome, Error> {
        let corpus = Corpus::open(&self.train.path)?;
        let trainer = self.trainer(threads);
        if let Some(bytes) = memory {
            // Only asked: the ceiling itself would be that of the process, in which others are at work too.
            within(trainer.clone(), bytes).plan(&corpus)?;
        }
        let mut watch = Watch::default();
        let trained = trainer.train(&corpus, |event| watch.see(event, &mut |done| tell(done, 0.0)))?;
        if trained.summary.stop == Stop::Asked {
            return Err(Error::Interrupted);
        }
        let mut outcome = watch.outcome(&corpus);
        outcome.passes = trained.summary.passes;
        outcome.converged = trained.summary.stop == Stop::Converged;
        outcome.seconds = trained.summary.seconds;
        outcome.message_bytes = Some(trained.summary.message_bytes);
        if self.settings.kind == Kind::Time {
            outcome.seconds_per_pass =
                watch.median_of_last(if self.algorithm == Algorithm::Ovb { 1 } else { 3 });
            return Ok(outcome);
        }
        let began = std::time::Instant::now();
        let mut of = |inference| measure(&trained.model, &self.test.path, (self, inference), tell);
        outcome.predictive_perplexity = Some(of(Inference::Same)?);
        if self.settings.topics <= FEW_FOR_OWN {
            outcome.own_perplexity = Some(of(Inference::Own)?);
        }
        outcome.evaluation_seconds = began.elapsed().as_secs_f64();
        if self.settings.topics <= FEW {
            outcome.topics = words_of(&trained.model);
        }
        Ok(outcome)
    }

    /// Within the memory of the paper's desktop computer, the rest on disk.
    fn online(&self, threads: usize, memory: Option<u64>, tell: &mut Tell<'_>) -> Result<Outcome, Error> {
        let corpus = Corpus::open(&self.train.path)?;
        let beside = self.file.parent().unwrap_or(Path::new("."));
        let folder = tempfile::tempdir_in(beside).map_err(|source| Error::Io {
            action: "create a folder in",
            path: beside.to_path_buf(),
            source,
        })?;
        let (way, last) = (folder.path().join("way"), folder.path().join("last.model"));
        let stops: Vec<u32> = STOPS.into_iter().filter(|&pass| pass <= self.settings.passes).collect();
        let memory = memory.map_or(DESKTOP, |bytes| bytes.min(DESKTOP));
        let trainer = within(self.trainer(threads), memory)
            .scratch(folder.path().join("scratch"))
            .snapshots(stops, way);
        let (mut watch, mut models) = (Watch::default(), Vec::new());
        let summary = trainer.train_to(&corpus, &last, |event| {
            if let Event::Snapshot { path, pass, .. } = event {
                models.push((pass, path.to_path_buf()));
            }
            watch.see(event, &mut |done| tell(done, 0.0))
        })?;
        let mut outcome = watch.outcome(&corpus);
        outcome.passes = summary.passes;
        outcome.converged = summary.stop == Stop::Converged;
        outcome.seconds = summary.seconds;
        outcome.message_bytes = Some(summary.message_bytes);
        if models.last().map(|&(pass, _)| pass) != Some(summary.passes) {
            models.push((summary.passes, last));
        }
        let count = models.len() as f64;
        for (i, (pass, path)) in models.into_iter().enumerate() {
            let (model, seconds) = (Model::load(&path)?, watch.seconds_to(pass));
            let mut tell = |_: f64, done: f64| tell(1.0, (i as f64 + done) / count);
            let predictive_perplexity = measure(&model, &self.test.path, (self, Inference::Same), &mut tell)?;
            outcome.predictive_perplexity = Some(predictive_perplexity);
            outcome.stops.push(Passed { pass, seconds, predictive_perplexity });
        }
        Ok(outcome)
    }
}

fn measure(
    model: &Model,
    test: &Path,
    (run, inference): (&Run, Inference),
    tell: &mut Tell<'_>,
) -> Result<f64, Error> {
    let test = Corpus::open(test)?;
    let evaluation =
        predictive_perplexity(model, &test, run.settings.seed, inference, &mut |p| tell(1.0, p.share()))?;
    Ok(evaluation.predictive_perplexity)
}

fn words_of(model: &Model) -> Vec<Vec<(String, f64)>> {
    let top = model.top_words(KEPT_WORDS);
    let named = |words: Vec<tinylda::model::TopWord>| {
        words.into_iter().map(|w| (model.word_name(w.word).into_owned(), w.probability)).collect()
    };
    top.into_iter().map(named).collect()
}

/// What is seen of a training while it goes on.
#[derive(Debug, Default)]
struct Watch {
    reports: Vec<PassReport>,
    documents: u64,
}

impl Watch {
    fn see(&mut self, event: Event<'_>, tell: &mut dyn FnMut(f64) -> ControlFlow<()>) -> ControlFlow<()> {
        match event {
            Event::Progress(progress) => tell(progress.done),
            Event::Pass(report) => {
                self.reports.push(*report);
                tell(f64::from(report.pass) / f64::from(report.passes.max(1)))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// Seconds of a pass, without a training perplexity that is computed apart.
    fn duration(&self, report: &PassReport) -> f64 {
        self.documents as f64 / report.documents_per_second
    }

    /// Seconds of training to the end of a pass: what comes before the first, and passes.
    fn seconds_to(&self, pass: u32) -> f64 {
        let start = self.reports.first().map_or(0.0, |first| first.seconds - self.duration(first));
        let passes = self.reports.iter().filter(|report| report.pass <= pass);
        start.max(0.0) + passes.map(|report| self.duration(report)).sum::<f64>()
    }

    /// The median of the last passes' seconds.
    fn median_of_last(&self, count: usize) -> f64 {
        let last = &self.reports[self.reports.len().saturating_sub(count)..];
        let mut seconds: Vec<f64> = last.iter().map(|report| self.duration(report)).collect();
        seconds.sort_by(f64::total_cmp);
        match seconds.len() {
            0 => 0.0,
            n => f64::midpoint(seconds[(n - 1) / 2], seconds[n / 2]),
        }
    }

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
        let mut watch = Watch { reports: Vec::new(), documents: 100 };
        assert_eq!(watch.median_of_last(4).to_bits(), 0f64.to_bits());
        watch.reports = [1.0, 100.0, 50.0, 25.0].map(report).to_vec();
        assert!((watch.median_of_last(3) - 2.0).abs() < 1e-12);
        assert!((watch.median_of_last(4) - 3.0).abs() < 1e-12);
        for (report, pass) in watch.reports.iter_mut().zip(1..) {
            (report.pass, report.seconds) = (pass, 1000.0);
        }
        assert!((watch.seconds_to(1) - 1000.0).abs() < 1e-9 && (watch.seconds_to(3) - 1003.0).abs() < 1e-9);
    }
}
