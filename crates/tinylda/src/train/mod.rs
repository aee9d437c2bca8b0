//! Training a model: the public API, its settings and its progress events.
//!
//! The modules follow a training in order: `check` (do the settings make sense?), `plan` (does it
//! fit in memory?), `prepare` (start or resume), `run` (the loop) and `finish` (the model).
//! `identity` is what a result depends on, `position` the progress of a training, `checkpoint` its
//! state on disk, `update` what is different if a model is updated, `verdict` everything about
//! clocks and callbacks, `comm` the exchange between ranks. Nothing here knows update formulas,
//! file formats or the terminal.
//!
//! Start reading at [`Trainer`] and then at the loop in `run`.

mod check;
pub(crate) mod checkpoint;
mod comm;
mod finish;
mod identity;
mod learn;
pub(crate) mod plan;
mod position;
mod prepare;
mod run;
mod update;
mod verdict;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::algorithms::piece::StateKind;
use crate::algorithms::tbp::seed_words::{SeedWord, Seeds};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::infer::Mixture;
use crate::model::Model;
use crate::settings::{Active, Algorithm, Digamma, DocumentState, Exclude, Settings, setting_methods};
use crate::settings::{RELATIVE_TOLERANCE, TOLERANCE};
use crate::simd::{Instructions, Kernel};
use crate::threads::{self, Threads};
use check::CheckedSettings;
pub use checkpoint::has_checkpoint;
use comm::{Comm, Solo};
pub use plan::Plan;
use run::Training;
use update::BaseModel;
use verdict::{Callback, Referee};

/// A training run: its settings, its resources and its folders.
#[derive(Debug, Clone)]
pub struct Trainer {
    settings: Settings,
    start: Option<Vec<u32>>,
    order: Option<Vec<u64>>,
    seeds: Option<Seeds>,
    base: Option<BaseModel>,
    memory: Option<u64>,
    memory_in_use: u64,
    guard_process: Option<u64>,
    threads: usize,
    scratch: Option<PathBuf>,
    checkpoint: Option<PathBuf>,
    every: Option<Duration>,
    resume: Resume,
    snapshots: Option<(Vec<u32>, PathBuf)>,
}

/// What to do if the checkpoint folder already has a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resume {
    /// Return an error, so that nothing is lost by accident.
    #[default]
    No,
    /// Resume from the checkpoint; start a new training if there is none.
    Yes,
    /// Discard the checkpoint and start a new training.
    Restart,
}

/// Event that training reports to the callback.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Progress within a pass. If the callback asks to stop here, training writes a checkpoint (if
    /// it has a folder for one) and returns an error that says so.
    Progress(&'a TrainingProgress),
    /// A pass is finished. If the callback asks to stop here, training to a model in memory returns
    /// the topics found so far; training to a file stops as for [`Progress`](Event::Progress),
    /// unless [`PlannedTraining::finish_when_asked`] is set.
    Pass(&'a PassReport),
    /// Training was resumed from a checkpoint after this number of passes.
    Resumed(u32),
    /// A checkpoint was written to this folder.
    Checkpoint(&'a Path),
    /// A checkpoint could not be written. Training continues and tries again after the usual
    /// interval.
    CheckpointFailed {
        /// Folder for checkpoints.
        folder: &'a Path,
        /// Reason for the failure.
        error: &'a Error,
    },
    /// A snapshot of the model was written, as requested with [`Trainer::snapshots`].
    Snapshot {
        /// File that was written.
        path: &'a Path,
        /// Number of passes done.
        pass: u32,
        /// Seconds of training at the end of the pass, without the time for writing snapshots.
        seconds: f64,
    },
    /// Training is finished and the model is about to be written to this file.
    Writing(&'a Path),
}

/// Progress of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TrainingProgress {
    /// Current pass, counted from 1; 0 during the warm-up on subsets of the corpus.
    pub pass: u32,
    /// Maximum number of passes.
    pub passes: u32,
    /// Number of documents visited in this pass so far.
    pub documents: u64,
    /// Number of documents to visit in this pass.
    pub documents_total: u64,
    /// Fraction of the total work that is done, from 0 to 1, assuming that all passes are needed.
    pub done: f64,
    /// Seconds of training so far, including those before a resumed checkpoint.
    pub seconds: f64,
    /// Bytes that this process has read so far.
    pub read: u64,
    /// Bytes that this process has written so far.
    pub written: u64,
    /// Bytes of scratch files, for data that does not fit in memory.
    pub disk: u64,
    /// Resident memory of the process in bytes, if the system reports it.
    pub resident: Option<u64>,
    /// Memory limit in bytes, if one is set.
    pub ceiling: Option<u64>,
}

/// Results of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassReport {
    /// Number of passes done.
    pub pass: u32,
    /// Maximum number of passes.
    pub passes: u32,
    /// Seconds of training at the end of this pass.
    pub seconds: f64,
    /// Perplexity exp(-sum x log sum_k p(w|k)p(k|d) / N) of the training documents after this
    /// pass. `tbp` computes it during the next pass, when the topics have already moved slightly;
    /// the value of the last pass is exact.
    pub train_perplexity: f64,
    /// Mean number of active topics per document. K for all algorithms but `tbp`.
    pub active_topics: f64,
    /// Documents visited per second in this pass.
    pub documents_per_second: f64,
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The perplexity changed by less than the tolerance.
    Converged,
    /// The maximum number of passes was reached.
    Passes,
    /// The callback asked to stop.
    Asked,
}

/// Result of a training.
#[derive(Debug)]
#[non_exhaustive]
pub struct Trained {
    /// The trained model.
    pub model: Model,
    /// theta as D rows of K counts, if requested.
    pub theta: Option<Vec<f32>>,
    /// Statistics of the training.
    pub summary: Summary,
}

/// Statistics of a finished training.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of passes done.
    pub passes: u32,
    /// Training perplexity after the last pass.
    pub train_perplexity: f64,
    /// Seconds of training.
    pub seconds: f64,
    /// Mean number of active topics per document after the last pass.
    pub active_topics: f64,
    /// Bytes of messages or labels kept between passes, in memory and in files.
    pub message_bytes: u64,
    /// Reason why training ended.
    pub stop: Stop,
    /// Maximum number of passes.
    pub max_passes: u32,
    /// Convergence tolerance at the last perplexity: training converges when the perplexity changes
    /// by less than this per pass. 0 if training never converges.
    pub tolerance: f64,
    /// Largest possible value of beta, if beta was learned and has reached it. This happens if the
    /// corpus is too small to learn beta from; all topics then have nearly the same words.
    pub beta_limit: Option<f64>,
}

/// One method per option of the [table](crate::settings::SETTINGS).
impl Trainer {
    setting_methods!();
}

impl Trainer {
    /// Creates a training of `topics` topics with `tbp` and the paper's settings: alpha 2/K, beta
    /// 0.01, at most 500 passes.
    pub fn new(topics: u32) -> Trainer {
        Trainer::with_settings(Settings { topics: Some(topics), ..Settings::default() })
    }

    /// Creates a training with these settings.
    pub fn with_settings(settings: Settings) -> Trainer {
        Trainer {
            settings,
            start: None,
            order: None,
            seeds: None,
            base: None,
            memory: None,
            memory_in_use: 0,
            guard_process: None,
            threads: 1,
            scratch: None,
            checkpoint: None,
            every: None,
            resume: Resume::No,
            snapshots: None,
        }
    }

    /// Returns the options that are set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sets words that belong to topics; only for `tbp`. In every update, a seed word counts as if
    /// it occurred more often, with all additional occurrences in its topic; see
    /// [`seed_weight`](Trainer::seed_weight). A topic with seed words starts from the documents
    /// that contain them, and other documents take it up only gradually. phi of the model only
    /// counts what the documents contain. Seed words that are not in the corpus are ignored
    /// ([`Seeds::unknown`] lists them); a topic none of whose seed words is in the corpus is an
    /// error.
    #[must_use]
    pub fn seeds(self, seeds: Seeds) -> Trainer {
        Trainer { seeds: Some(seeds), ..self }
    }
    /// Sets the initial topic (from 0) of every non-zero, in the order of documents and words in
    /// the corpus. Without it, initial topics are random.
    #[must_use]
    pub fn start(self, start: Vec<u32>) -> Trainer {
        Trainer { start: Some(start), ..self }
    }
    /// Sets the order in which documents (from 0) are visited, for the asynchronous algorithms.
    /// Without it, the order is random.
    #[must_use]
    pub fn order(self, order: Vec<u64>) -> Trainer {
        Trainer { order: Some(order), ..self }
    }
    /// Sets the number of threads. The result is bit-identical for any number. `atbp` and `abp` are
    /// sequential by definition and always use one thread.
    #[must_use]
    pub fn threads(self, threads: usize) -> Trainer {
        Trainer { threads, ..self }
    }
    /// Returns the number of threads that training will use: one if the algorithm is sequential,
    /// and at most a few per core.
    #[must_use]
    pub fn threads_used(&self) -> usize {
        if self.settings.chosen_algorithm().threads() { threads::started(self.threads) } else { 1 }
    }
    /// Sets the memory limit of the process in bytes. Data that does not fit is kept in files if
    /// there is a folder for them. Training returns an error before any work if it cannot stay
    /// within the limit.
    #[must_use]
    pub fn memory(self, bytes: u64) -> Trainer {
        Trainer { memory: Some(bytes), ..self }
    }
    /// Sets the number of bytes that the process holds already for other purposes. They count
    /// towards the limit set with [`memory`](Trainer::memory). The default is 0.
    #[must_use]
    pub fn memory_in_use(self, bytes: u64) -> Trainer {
        Trainer { memory_in_use: bytes, ..self }
    }
    /// Sets whether to monitor the resident size of the whole process and to keep less in memory
    /// when it approaches the limit set with [`memory`](Trainer::memory). `others` is the resident
    /// memory in bytes that does not count towards the limit. Memory that other code allocates
    /// later counts as the training's. The default is `None`: the process is not monitored.
    #[must_use]
    pub fn guard_process(self, others: Option<u64>) -> Trainer {
        Trainer { guard_process: others, ..self }
    }
    /// Sets the folder for data that does not fit in memory. The default is the checkpoint folder.
    #[must_use]
    pub fn scratch(self, folder: PathBuf) -> Trainer {
        Trainer { scratch: Some(folder), ..self }
    }
    /// Sets the folder for checkpoints. A checkpoint is written when training is asked to stop and,
    /// if `every` is given, at that interval. It is deleted when training has finished.
    #[must_use]
    pub fn checkpoint(self, folder: PathBuf, every: Option<Duration>) -> Trainer {
        Trainer { checkpoint: Some(folder), every, ..self }
    }
    /// Writes a snapshot of the model after each of these passes, to `pass-00010.model` and so on
    /// in a folder. Snapshots do not affect training, and the time to write them is not counted.
    /// The training perplexity in the metadata of a snapshot is the latest known value, which may
    /// be that of the previous pass.
    #[must_use]
    pub fn snapshots(self, passes: Vec<u32>, folder: PathBuf) -> Trainer {
        Trainer { snapshots: Some((passes, folder)), ..self }
    }
    /// Sets what to do if the checkpoint folder already has a checkpoint. A resumed training gives
    /// the same result as an uninterrupted one, bit by bit.
    #[must_use]
    pub fn resume(self, resume: Resume) -> Trainer {
        Trainer { resume, ..self }
    }

    /// Returns whether the training keeps the topics of every document between passes.
    #[must_use]
    pub fn keeps_theta(&self) -> bool {
        self.state_kind(self.settings.chosen_algorithm()) != StateKind::Nothing
    }

    /// Returns the compute kernel for the selected instruction set, or the best one for this
    /// processor.
    fn kernel(&self) -> Result<Kernel> {
        let Some(wanted) = self.settings.instructions else { return Ok(Kernel::best()) };
        Kernel::of(wanted).ok_or_else(|| {
            Error::unsupported_value("instructions", wanted.name(), "this processor does not support them")
        })
    }

    /// Returns the absolute convergence tolerance at a given perplexity.
    fn tolerance_at(&self, perplexity: f64) -> f64 {
        // Samples are spread over all passes, so training must not stop early.
        let usual = match self.settings.sample_count() {
            _ if self.settings.chosen_algorithm().capabilities().relative_tolerance => {
                RELATIVE_TOLERANCE * perplexity
            }
            2.. => 0.0,
            _ => TOLERANCE,
        };
        self.settings.tolerance.unwrap_or(usual)
    }

    /// Resolves the seed words to word numbers of a corpus.
    fn seed_words(&self, corpus: &Corpus, word_tokens: &[u64]) -> Result<Vec<SeedWord>> {
        let Some(seeds) = &self.seeds else { return Ok(Vec::new()) };
        let most = self.settings.chosen_algorithm().capabilities().max_word_tokens;
        let limits = (self.settings.seed_weight_value(), most.unwrap_or(u64::from(u32::MAX)));
        seeds.of_corpus(corpus, self.settings.topic_count(), word_tokens, limits)
    }

    /// Trains a model. `callback` receives progress and the result of every pass on the caller's
    /// thread, and may ask to stop.
    pub fn train(
        &self,
        corpus: &Corpus,
        mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Trained> {
        self.train_with(corpus, &mut callback, &mut Solo, false)
    }

    /// Trains a model and returns theta as well: D x K numbers.
    pub fn train_with_theta(
        &self,
        corpus: &Corpus,
        mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Trained> {
        if !self.keeps_theta() {
            return Err(Error::unsupported_value(
                "algorithm",
                self.settings.chosen_algorithm().name(),
                "it does not keep the topics of documents",
            )
            .with_remedy("train without theta and infer the topics of documents with the model"));
        }
        self.train_with(corpus, &mut callback, &mut Solo, true)
    }

    /// Trains a model and writes it to a file, without holding it in memory in its final form.
    pub fn train_to(
        &self,
        corpus: &Corpus,
        file: impl AsRef<Path>,
        callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Summary> {
        self.prepare(corpus)?.train_to(file, callback)
    }

    /// Trains a model in memory, as one of several ranks.
    fn train_with<'a>(
        &self,
        corpus: &Corpus,
        callback: &'a mut Callback<'a>,
        comm: &'a mut dyn Comm,
        keep_theta: bool,
    ) -> Result<Trained> {
        let mut referee = Referee::new(callback, comm, self.every);
        let mut training = referee.announcing(|_| {
            let planned = PlannedTraining::new(self, corpus, true)?;
            Training::new(planned, &Arc::new(Threads::new(self.threads_used())?))
        })?;
        training.run(&mut referee)?;
        training.into_model(keep_theta, &referee)
    }

    /// Returns the memory and disk space that [`train_to`](Trainer::train_to) would take, without
    /// training.
    pub fn plan(&self, corpus: &Corpus) -> Result<Plan> {
        Ok(self.prepare(corpus)?.plan)
    }

    /// Returns the memory and disk space that [`train`](Trainer::train) would take, without
    /// training.
    pub fn plan_model(&self, corpus: &Corpus) -> Result<Plan> {
        Ok(PlannedTraining::new(self, corpus, true)?.plan)
    }

    /// Checks the settings and plans the memory of a training to a file. Training itself starts
    /// with [`PlannedTraining::train_to`].
    pub fn prepare<'a>(&'a self, corpus: &'a Corpus) -> Result<PlannedTraining<'a>> {
        PlannedTraining::new(self, corpus, false)
    }
}

/// A training with checked settings and a memory plan. Nothing has been written yet.
#[derive(Debug)]
pub struct PlannedTraining<'a> {
    trainer: &'a Trainer,
    corpus: &'a Corpus,
    checked: CheckedSettings,
    pieces: usize,
    plan: Plan,
    /// Whether a request to stop after a pass finishes the training with the topics found so far.
    finish_when_asked: bool,
}

impl<'a> PlannedTraining<'a> {
    fn new(trainer: &'a Trainer, corpus: &'a Corpus, model: bool) -> Result<PlannedTraining<'a>> {
        let checked = trainer.check_settings(corpus)?;
        let input = trainer.plan_input(corpus, &checked, trainer.result_kind(model))?;
        let plan = Plan::new(&input, trainer.settings.topic_count(), trainer.memory)?;
        let pieces = input.sizes.pieces as usize;
        // A caller who trains to a file and stops usually resumes later.
        Ok(PlannedTraining { trainer, corpus, checked, pieces, plan, finish_when_asked: model })
    }

    /// Finishes the training if the callback asks to stop after a pass, and writes the topics found
    /// so far, as for a model in memory. By default, such a training stops with a checkpoint.
    #[must_use]
    pub fn finish_when_asked(self) -> PlannedTraining<'a> {
        PlannedTraining { finish_when_asked: true, ..self }
    }

    /// Returns the memory and disk space that the training will take.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Trains and writes the model to a file.
    pub fn train_to(
        self,
        file: impl AsRef<Path>,
        mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Summary> {
        self.into_file(file.as_ref(), &mut callback, None)
    }

    /// Trains a model, calls `each` once with the topics of every document, and writes the model to
    /// a file. The topics are those of the last pass; nothing is inferred again. Documents come in
    /// the order of the training, which depends only on the corpus; those without words come last.
    ///
    /// Some algorithms keep no state of documents ([`Trainer::keeps_theta`]); with those, `each` is
    /// not called.
    pub fn train_to_with_documents(
        self,
        file: impl AsRef<Path>,
        mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
        mut each: impl FnMut(&Mixture<'_>) -> Result<()>,
    ) -> Result<Summary> {
        self.into_file(file.as_ref(), &mut callback, Some(&mut each))
    }

    fn into_file<'b>(
        self,
        file: &Path,
        callback: &'b mut Callback<'b>,
        each: Option<&mut EachMixture<'_>>,
    ) -> Result<Summary> {
        let trainer = self.trainer;
        let threads = Arc::new(Threads::new(trainer.threads_used())?);
        let mut solo = Solo;
        let mut referee = Referee::new(callback, &mut solo, trainer.every);
        let mut training = Training::new(self, &threads)?;
        training.run(&mut referee)?;
        training.into_file(file, &mut referee, each)
    }
}

/// Callback that receives the topics of a document.
type EachMixture<'a> = dyn FnMut(&Mixture<'_>) -> Result<()> + 'a;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::piece::PieceView;
    use crate::algorithms::{Fault, PieceStats, Updater};
    use crate::corpus::Synth;
    use crate::sections::{SectionReader, SectionWriter};
    use crate::topics::Topics;

    fn corpus() -> Corpus {
        let settings = Synth { documents: 400, words: 200, topics: 5, mean_length: 30.0, ..Synth::default() };
        let mut synthetic = settings.prepare(&mut |_| ControlFlow::Continue(())).unwrap();
        synthetic.corpus(&settings.vocabulary(), &mut |_| ControlFlow::Continue(())).unwrap()
    }

    /// Two ranks that exchange verdicts and sums produce the model of a single rank and stop
    /// together.
    #[test]
    fn ranks_agree_on_every_step() {
        let corpus = corpus();
        for (algorithm, step) in [(Algorithm::Tbp, 1), (Algorithm::Tbp, 3), (Algorithm::Stbp, 1)] {
            let mut trainer = Trainer::new(7).algorithm(algorithm).passes(12);
            if step > 1 {
                trainer = trainer.step(step);
            }
            let alone = trainer.train(&corpus, |_| ControlFlow::Continue(())).unwrap();
            for stops in [None, Some(5)] {
                let (trainer, corpus) = (&trainer, &corpus);
                let trained: Vec<Trained> = std::thread::scope(|scope| {
                    let ranks = comm::in_process::InProcess::ranks(2).into_iter().map(|mut rank| {
                        scope.spawn(move || {
                            let stops = stops.filter(|_| rank.rank() == 1);
                            let mut callback = |event: Event<'_>| match event {
                                Event::Pass(report) if Some(report.pass) == stops => ControlFlow::Break(()),
                                _ => ControlFlow::Continue(()),
                            };
                            trainer.train_with(corpus, &mut callback, &mut rank, false).unwrap()
                        })
                    });
                    ranks.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect()
                });
                assert_eq!(trained[0].model, trained[1].model);
                assert_eq!(trained[0].summary.passes, trained[1].summary.passes);
                match stops {
                    None => assert_eq!(trained[0].model, alone.model),
                    Some(_) => assert_eq!(trained[0].summary.stop, Stop::Asked),
                }
            }
        }
    }

    /// An algorithm that fails in one of its methods after some calls.
    #[derive(Debug)]
    struct FailingUpdater {
        inner: Box<dyn Updater>,
        method: &'static str,
        calls_left: u32,
    }

    impl FailingUpdater {
        fn call(&mut self, method: &str) -> Result<()> {
            self.calls_left -= u32::from(self.method == method);
            if self.calls_left == 0 { Err(Error::missing("patience", "more of it")) } else { Ok(()) }
        }
    }

    impl Updater for FailingUpdater {
        fn begin(&mut self, topics: &mut Topics) -> Result<()> {
            self.call("begin")?;
            self.inner.begin(topics)
        }
        fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
            self.call("piece").map_err(|error| (0, error.into()))?;
            self.inner.piece(topics, view)
        }
        fn end(&mut self, topics: &mut Topics) -> Result<()> {
            self.call("end")?;
            self.inner.end(topics)
        }
        fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>) -> Result<f64, Fault> {
            self.call("log_likelihood").map_err(|error| (0, error.into()))?;
            self.inner.log_likelihood(topics, view)
        }
        fn topic_row(&mut self, topics: &Topics, word: u32, row: &mut [f32]) -> Result<()> {
            self.call("topic_row")?;
            self.inner.topic_row(topics, word, row)
        }
        fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()> {
            self.inner.save(topics, out)
        }
        fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()> {
            self.inner.restore(topics, from)
        }
    }

    /// A rank that fails, wherever that is, ends the other rank with its error. The failing rank
    /// stays connected, as a process does.
    #[test]
    fn a_failing_rank_ends_all_ranks() {
        let corpus = corpus();
        let cases = [
            (Algorithm::Tbp, "begin", 1),
            (Algorithm::Tbp, "begin", 4),
            (Algorithm::Tbp, "piece", 7),
            (Algorithm::Tbp, "end", 2),
            (Algorithm::Tbp, "topic_row", 1),
            (Algorithm::Tbp, "log_likelihood", 1),
            (Algorithm::Atbp, "log_likelihood", 3),
        ];
        for (algorithm, method, calls_left) in cases {
            let trainer = Trainer::new(7).algorithm(algorithm).passes(12).optimize(true);
            let ended: Vec<_> = std::thread::scope(|scope| {
                let (trainer, corpus) = (&trainer, &corpus);
                let ranks = comm::in_process::InProcess::ranks(2).into_iter().map(|mut comm| {
                    scope.spawn(move || {
                        let planned = PlannedTraining::new(trainer, corpus, true).unwrap();
                        let threads = Arc::new(Threads::new(1).unwrap());
                        let mut training = Training::new(planned, &threads).unwrap();
                        if comm.rank() == 1 {
                            let inner = training.updater;
                            training.updater = Box::new(FailingUpdater { inner, method, calls_left });
                        }
                        let mut callback = |_: Event<'_>| ControlFlow::Continue(());
                        let result = training.run(&mut Referee::new(&mut callback, &mut comm, None));
                        (result.unwrap_err().to_string(), comm)
                    })
                });
                ranks.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            let own = &ended[1].0;
            assert!(own.contains("`patience` is missing"), "{method}: {own}");
            assert_eq!(ended[0].0, format!("rank 1 has failed: {own}"), "{method}");
        }
    }

    /// A model does not depend on the instruction set it was trained with.
    #[test]
    fn instruction_sets_do_not_change_a_bit() {
        let settings = Synth { documents: 800, words: 300, topics: 5, mean_length: 30.0, ..Synth::default() };
        let mut synthetic = settings.prepare(&mut |_| ControlFlow::Continue(())).unwrap();
        let corpus = synthetic.corpus(&settings.vocabulary(), &mut |_| ControlFlow::Continue(())).unwrap();
        for (algorithm, topics) in Algorithm::ALL.into_iter().map(|a| (a, 37)).chain([(Algorithm::Tbp, 200)])
        {
            let trainer = Trainer::new(topics).algorithm(algorithm).passes(25);
            let models: Vec<Model> = [Instructions::Plain, Instructions::Avx2, Instructions::Avx512]
                .into_iter()
                .filter(|&instructions| Kernel::of(instructions).is_some())
                .map(|instructions| {
                    let trainer = trainer.clone().instructions(instructions);
                    trainer.train(&corpus, |_| ControlFlow::Continue(())).unwrap().model
                })
                .collect();
            assert!(models.iter().all(|model| *model == models[0]), "{algorithm:?}");
        }
    }
}
