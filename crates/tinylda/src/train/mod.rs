//! Training: its settings, and what it reports. The loop is in `run`.

mod check;
pub(crate) mod checkpoint;
mod comm;
mod finish;
mod learn;
pub(crate) mod plan;
mod position;
mod prepare;
mod run;
mod verdict;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::algorithms::piece::StateKind;
use crate::algorithms::tbp::seed_words::{SeedWord, Seeds};
use crate::corpus::{Corpus, Shape};
use crate::error::{Error, Result};
use crate::infer::Mixture;
use crate::model::Model;
use crate::settings::{Active, Algorithm, Digamma, DocumentState, Exclude, Settings, setting_methods};
use crate::settings::{RELATIVE_TOLERANCE, TOLERANCE};
use crate::simd::{Instructions, Kernel};
use crate::threads::{self, Threads};
use check::Checked;
pub use checkpoint::has_checkpoint;
use comm::{Comm, Solo};
pub use plan::Plan;
use run::Training;
use verdict::{Callback, Referee};

/// A training: its settings, and where and how fast it runs.
#[derive(Debug, Clone)]
pub struct Trainer {
    settings: Settings,
    start: Option<Vec<u32>>,
    order: Option<Vec<u64>>,
    seeds: Option<Seeds>,
    memory: Option<u64>,
    memory_in_use: u64,
    guard_process: bool,
    threads: usize,
    scratch: Option<PathBuf>,
    checkpoint: Option<PathBuf>,
    every: Option<Duration>,
    resume: Resume,
    snapshots: Option<(Vec<u32>, PathBuf)>,
}

/// What to do about a checkpoint that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resume {
    /// Refuse to begin: nothing is lost by accident.
    #[default]
    No,
    /// Go on with it; begin where there is none.
    Yes,
    /// Throw it away.
    Restart,
}

/// What training tells while it works.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Work goes on. Asked to stop here, training writes a checkpoint where it has a folder for it, and ends with an error that
    /// says so.
    Progress(&'a TrainingProgress),
    /// A pass is done. Asked to stop here, training to a model in memory ends with the topics that it has; training to a file
    /// stops as above.
    Pass(&'a PassReport),
    /// Training goes on where a checkpoint has left it: this many passes were done.
    Resumed(u32),
    /// A checkpoint has been written to this folder.
    Checkpoint(&'a Path),
    /// The model as it was after a pass has been written, because [`Trainer::snapshots`] has asked for it.
    Snapshot {
        /// The file.
        path: &'a Path,
        /// How many passes were done.
        pass: u32,
        /// Seconds of training when the pass was done; those of writing snapshots are not counted.
        seconds: f64,
    },
    /// Training is done, and the model is about to be written to this file.
    Writing(&'a Path),
}

/// How far training is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TrainingProgress {
    /// The pass under way, from 1; 0 at the start, when parts of the corpus are gone through.
    pub pass: u32,
    /// How many may be done at the most.
    pub passes: u32,
    /// Documents visited in this pass.
    pub documents: u64,
    /// Documents of this pass.
    pub documents_total: u64,
    /// The share of all work that is done, if all passes will be.
    pub done: f64,
    /// Seconds since training began.
    pub seconds: f64,
    /// Bytes read and written so far by this process.
    pub read: u64,
    /// See `read`.
    pub written: u64,
    /// Bytes of files for what does not fit in memory.
    pub disk: u64,
    /// What the process has in memory, where the system tells.
    pub resident: Option<u64>,
    /// What it may have.
    pub ceiling: Option<u64>,
}

/// The state after a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassReport {
    /// How many passes are done.
    pub pass: u32,
    /// How many may be done at the most.
    pub passes: u32,
    /// Seconds since training began, when this pass was done.
    pub seconds: f64,
    /// exp(-sum x log sum_k p(w|k)p(k|d) / N) on the training documents, after this pass. `tbp` takes it on its way
    /// through the next pass, when the topics have already moved on a little; that of the last pass is exact.
    pub train_perplexity: f64,
    /// Topics in use per document: K, but with `tbp` those that the documents have kept.
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
    /// All passes were done.
    Passes,
    /// The caller asked for it.
    Asked,
}

/// What training gives.
#[derive(Debug)]
#[non_exhaustive]
pub struct Trained {
    /// The topics.
    pub model: Model,
    /// theta, D rows of K counts, where it was asked for.
    pub theta: Option<Vec<f32>>,
    /// How it went.
    pub summary: Summary,
}

/// How training went.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Passes done.
    pub passes: u32,
    /// The training perplexity at the end.
    pub train_perplexity: f64,
    /// Seconds of training.
    pub seconds: f64,
    /// Topics in use per document at the end.
    pub active_topics: f64,
    /// Bytes of messages or labels that were kept between visits, in memory and in files.
    pub message_bytes: u64,
    /// Why it ended.
    pub stop: Stop,
}

/// The options of the [table](crate::settings::SETTINGS).
impl Trainer {
    setting_methods!();
}

impl Trainer {
    /// Training of `topics` topics with `tbp` and the paper's settings: alpha 2/K, beta 0.01, at most 500 passes.
    pub fn new(topics: u32) -> Trainer {
        Trainer::with_settings(Settings { topics: Some(topics), ..Settings::default() })
    }

    /// Training with settings that were read or put together elsewhere.
    pub fn with_settings(settings: Settings) -> Trainer {
        Trainer {
            settings,
            start: None,
            order: None,
            seeds: None,
            memory: None,
            memory_in_use: 0,
            guard_process: false,
            threads: 1,
            scratch: None,
            checkpoint: None,
            every: None,
            resume: Resume::No,
            snapshots: None,
        }
    }

    /// The options that were given.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// With `tbp`: words that belong to topics. A seed word counts as if it occurred more often, all of that in its topic, in every
    /// update; see [`seed_weight`](Trainer::seed_weight). phi of the model has only what documents have. Words that the corpus does not
    /// have are left out ([`Seeds::unknown`] lists them); a topic without any word that it has is an error.
    #[must_use]
    pub fn seeds(self, seeds: Seeds) -> Trainer {
        Trainer { seeds: Some(seeds), ..self }
    }
    /// The topic (from 0) that each non-zero starts with, documents and words in the corpus's order, instead of a
    /// random one.
    #[must_use]
    pub fn start(self, start: Vec<u32>) -> Trainer {
        Trainer { start: Some(start), ..self }
    }
    /// The order (from 0) in which documents are visited, instead of a random one; for the asynchronous algorithm.
    #[must_use]
    pub fn order(self, order: Vec<u64>) -> Trainer {
        Trainer { order: Some(order), ..self }
    }
    /// How many threads to work on; the result does not depend on it, to the bit. `atbp` and `abp` are sequential by their
    /// definition, and use one.
    #[must_use]
    pub fn threads(self, threads: usize) -> Trainer {
        Trainer { threads, ..self }
    }
    /// How many threads it will work on: not more than one where the algorithm is sequential, nor than a few for each core.
    #[must_use]
    pub fn threads_used(&self) -> usize {
        if self.settings.chosen_algorithm().threads() { threads::started(self.threads) } else { 1 }
    }
    /// The most memory that the process may have, in bytes: what does not fit goes to files where there is a folder for them.
    /// Where it cannot be kept that is said before any work.
    #[must_use]
    pub fn memory(self, bytes: u64) -> Trainer {
        Trainer { memory: Some(bytes), ..self }
    }
    /// Bytes that the process holds already and that do not belong to the training: they are part of what
    /// [`memory`](Trainer::memory) allows [default: 0].
    #[must_use]
    pub fn memory_in_use(self, bytes: u64) -> Trainer {
        Trainer { memory_in_use: bytes, ..self }
    }
    /// Whether to watch the resident size of the whole process, and to keep less in memory where it comes near to what
    /// [`memory`](Trainer::memory) allows. For programs that do nothing else: what others allocate in the meantime
    /// would count as the training's [default: false].
    #[must_use]
    pub fn guard_process(self, guard: bool) -> Trainer {
        Trainer { guard_process: guard, ..self }
    }
    /// A folder for what does not fit in memory; that of the checkpoints where not set.
    #[must_use]
    pub fn scratch(self, folder: PathBuf) -> Trainer {
        Trainer { scratch: Some(folder), ..self }
    }
    /// A folder for checkpoints: one is written when training is asked to stop and, where that is given, so often. It goes when
    /// training has ended.
    #[must_use]
    pub fn checkpoint(self, folder: PathBuf, every: Option<Duration>) -> Trainer {
        Trainer { checkpoint: Some(folder), every, ..self }
    }
    /// After each of these passes, write the model as it is to `pass-00010.model` and the like in a folder. Training itself
    /// does not change by it, and the time that it takes is not counted. In the settings of such a model the training
    /// perplexity is the last that is known, which may be that of the pass before.
    #[must_use]
    pub fn snapshots(self, passes: Vec<u32>, folder: PathBuf) -> Trainer {
        Trainer { snapshots: Some((passes, folder)), ..self }
    }
    /// What to do about a checkpoint that is there. The result of a training that goes on is that of one that was never
    /// stopped, to the bit.
    #[must_use]
    pub fn resume(self, resume: Resume) -> Trainer {
        Trainer { resume, ..self }
    }

    /// Returns whether the training keeps the topics of every document between passes.
    #[must_use]
    pub fn keeps_theta(&self) -> bool {
        self.state_kind(self.settings.chosen_algorithm()) != StateKind::Nothing
    }

    fn kernel(&self) -> Result<Kernel> {
        let Some(wanted) = self.settings.instructions else { return Ok(Kernel::best()) };
        Kernel::of(wanted).ok_or_else(|| {
            Error::unsupported_value("instructions", wanted.name(), "this processor does not have them")
        })
    }

    /// The tolerance where the perplexity is what is given.
    fn tolerance_at(&self, perplexity: f64) -> f64 {
        // Samples are taken over all passes.
        let usual = match self.settings.samples {
            _ if self.settings.chosen_algorithm().capabilities().relative_tolerance => {
                RELATIVE_TOLERANCE * perplexity
            }
            Some(2..) => 0.0,
            _ => TOLERANCE,
        };
        self.settings.tolerance.unwrap_or(usual)
    }

    /// The seed words by number for a corpus.
    fn seed_words(&self, corpus: &Corpus, word_tokens: &[u64]) -> Result<Vec<SeedWord>> {
        let Some(seeds) = &self.seeds else { return Ok(Vec::new()) };
        let most = self.settings.chosen_algorithm().capabilities().max_word_tokens;
        let limits = (self.settings.seed_weight_value(), most.unwrap_or(u64::from(u32::MAX)));
        seeds.of_corpus(corpus, self.settings.topic_count(), word_tokens, limits)
    }

    /// Trains. `callback` is told of progress and of every pass, on the caller's thread, and may ask to stop.
    pub fn train(
        &self,
        corpus: &Corpus,
        mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Trained> {
        self.train_with(corpus, &mut callback, &mut Solo, false)
    }

    /// Trains and gives theta too: D x K numbers.
    pub fn train_with_theta(
        &self,
        corpus: &Corpus,
        mut callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Trained> {
        if !self.keeps_theta() {
            return Err(Error::unsupported_value(
                "algorithm",
                self.settings.chosen_algorithm().name(),
                "it does not keep theta",
            )
            .with_remedy("train without theta, and infer the topics of documents with the model"));
        }
        self.train_with(corpus, &mut callback, &mut Solo, true)
    }

    /// Trains and writes the model to a file, without having it in memory in that form.
    pub fn train_to(
        &self,
        corpus: &Corpus,
        file: impl AsRef<Path>,
        callback: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Summary> {
        self.prepare(corpus)?.train_to(file, callback)
    }

    /// Trains to a model in memory, as one of several ranks.
    fn train_with<'a>(
        &self,
        corpus: &Corpus,
        callback: &'a mut Callback<'a>,
        comm: &'a mut dyn Comm,
        keep_theta: bool,
    ) -> Result<Trained> {
        let threads = Arc::new(Threads::new(self.threads_used())?);
        let mut referee = Referee::new(callback, comm, self.every);
        let mut training = Training::new(PlannedTraining::new(self, corpus, true)?, &threads)?;
        training.run(&mut referee)?;
        training.into_model(keep_theta, &referee)
    }

    /// Returns what [`train_to`](Trainer::train_to) would take, without doing it.
    pub fn plan(&self, corpus: &Corpus) -> Result<Plan> {
        Ok(self.prepare(corpus)?.plan)
    }

    /// Checks the settings and plans the memory of a training to a file. Training itself starts with
    /// [`PlannedTraining::train_to`].
    pub fn prepare<'a>(&'a self, corpus: &'a Corpus) -> Result<PlannedTraining<'a>> {
        PlannedTraining::new(self, corpus, false)
    }

    /// Number of pieces in a step.
    fn step_pieces(&self) -> u64 {
        self.settings.step.unwrap_or(1)
    }

    /// How many non-zeros a piece has with `tbp`.
    fn small_size(shape: Shape) -> u64 {
        (shape.nonzeros / 32).clamp(1, 1 << 17)
    }

    /// Into which pieces the corpus is cut, where the algorithm renews the topics after each. A rule of the corpus alone:
    /// the pieces are part of the result. In one piece all messages would change at once and swing back at the next pass;
    /// with ten or more they settle.
    fn update_size(algorithm: Algorithm, shape: Shape) -> Option<u64> {
        algorithm.capabilities().updates_per_piece.then(|| Trainer::small_size(shape))
    }
}

/// A training with checked settings and a memory plan. Nothing has been written yet.
#[derive(Debug)]
pub struct PlannedTraining<'a> {
    trainer: &'a Trainer,
    corpus: &'a Corpus,
    checked: Checked,
    pieces: usize,
    plan: Plan,
    /// Whether the model is wanted in memory.
    model: bool,
}

impl<'a> PlannedTraining<'a> {
    fn new(trainer: &'a Trainer, corpus: &'a Corpus, model: bool) -> Result<PlannedTraining<'a>> {
        let checked = trainer.check_settings(corpus)?;
        let needs = trainer.needs(corpus, &checked.word_tokens, trainer.result_kind(model))?;
        let plan = Plan::new(&needs, trainer.settings.topic_count(), trainer.memory)?;
        Ok(PlannedTraining { trainer, corpus, checked, pieces: needs.sizes.pieces as usize, plan, model })
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

    /// Trains, calls `each` once with the topics of every document, and writes the model to a file. The topics are those of the
    /// last pass; nothing is inferred again. Documents come in the order of the training, which depends on nothing but the
    /// corpus; those without words come last.
    ///
    /// Some algorithms keep nothing of a document ([`Trainer::keeps_theta`]); then `each` is not called.
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

/// Receives the topics of a document.
type EachMixture<'a> = dyn FnMut(&Mixture<'_>) -> Result<()> + 'a;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Synth;

    fn corpus() -> Corpus {
        let settings = Synth { documents: 400, words: 200, topics: 5, mean_length: 30.0, ..Synth::default() };
        let mut synthetic = settings.prepare(&mut |_| ControlFlow::Continue(())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("synth.tlc");
        synthetic.write(&path, &settings.vocabulary(), &mut |_| ControlFlow::Continue(())).unwrap();
        Corpus::open(&path).unwrap()
    }

    /// Two ranks that exchange verdicts and sums give the model of one, and stop together.
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

    /// A model does not depend on the processor it was trained on.
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
