//! The only loop over passes and documents, and its checkpoints. What comes after the last pass is in `end`.

mod end;
mod learn;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::start::Position;
use super::{Event, LEAST_PASSES, PassReport, Progress, Stop, Trainer};
use crate::algo::document::{DocumentStep, Frozen};
use crate::algo::schedule::{self, Aim};
use crate::algo::{Setup, Sweep};
use crate::checkpoint::{self, Folder};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::memory;
use crate::plan::Plan;
use crate::priors;
use crate::store::{self, Keep, Order, Room, Store, Traffic, Which};
use crate::topics::Topics;

/// Progress is told not more often than this, in seconds.
const TELL_EVERY: f64 = 0.05;

/// Checkpoints that free disk are not made more often than this.
const CROWDED: Duration = Duration::from_secs(30);

/// The caller, who is told of everything.
type Each<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + Send + 'a;

/// A training under way.
pub(super) struct Training<'a> {
    trainer: &'a Trainer,
    corpus: &'a Corpus,
    kernel: Kernel,
    topics: Topics,
    sweep: Box<dyn Sweep>,
    store: Store<'a>,
    /// What comes before the first pass: one piece in every so many, and how often.
    stages: Vec<(u64, u32)>,
    order: Option<Order>,
    position: Position,
    stop: Stop,
    plan: Plan,
    folder: Option<Folder>,
    /// Where files are, where that is not the folder.
    scratch: Option<PathBuf>,
    /// Whether it goes on with a checkpoint.
    resumed: bool,
    /// Whether the model is wanted in memory.
    model: bool,
    clock: Clock,
}

/// Time, whole and since the last checkpoint and the last word to the caller.
struct Clock {
    began: Instant,
    /// Seconds that earlier processes have worked.
    before: f64,
    saved: Instant,
    told: f64,
}

impl Clock {
    fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }

    /// Whether it is time to tell the caller something.
    fn tell(&mut self) -> bool {
        let now = self.seconds();
        let long_ago = now - self.told >= TELL_EVERY;
        if long_ago {
            self.told = now;
        }
        long_ago
    }

    /// What is the same wherever progress is told.
    fn progress(&self, traffic: &Traffic, plan: &Plan) -> Progress {
        Progress {
            pass: 0,
            passes: 0,
            documents: 0,
            documents_in_all: 0,
            done: 0.0,
            seconds: self.told,
            read: traffic.read(),
            written: traffic.written(),
            disk: traffic.disk(),
            resident: memory::resident(),
            ceiling: plan.ceiling,
        }
    }
}

/// Why a round was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// All is visited.
    Done,
    /// It is time for a checkpoint.
    Due,
    /// The caller has asked to stop.
    Asked,
}

impl<'a> Training<'a> {
    /// Everything made ready: checked, planned, and started or taken up from a checkpoint. `model`: it is wanted in memory.
    pub(super) fn new(trainer: &'a Trainer, corpus: &'a Corpus, model: bool) -> Result<Training<'a>> {
        let (word_tokens, seeds) = trainer.check_settings(corpus)?;
        let needs = trainer.needs(corpus, &word_tokens, model);
        let plan = Plan::new(&needs, trainer.topics, trainer.memory)?;
        let kernel = trainer.kernel()?;
        let folder = trainer.checkpoint.as_deref().map(|path| trainer.folder(path)).transpose()?;
        let saved = match trainer.checkpoint.as_deref() {
            Some(path) if checkpoint::exists(path)? => Some(path),
            _ => None,
        };
        let shape = corpus.shape();
        let alpha = trainer.alphas();
        let small = trainer.algorithm.small_messages();
        let mut topics = if small {
            Topics::without_phi(shape.words, trainer.topics, &alpha, trainer.beta as f32)
        } else {
            Topics::new(shape.words, trainer.topics, &alpha, trainer.beta as f32)?
        };
        let keep = if trainer.recompute { Keep::Anew } else { trainer.algorithm.facts().keep };
        let size = trainer.update_size(shape);
        // Documents in an order of the user's own must all stay: they are visited again and again.
        let bound = trainer.order.is_none();
        let room = |scratch| Room {
            limit: plan.limit.filter(|_| bound),
            ceiling: plan.ceiling.filter(|_| bound),
            scratch,
        };
        let order = trainer.visits(corpus);
        let mut scratch = trainer.scratch_folder();
        let mut position = Position { last: trainer.passes, sum: Some(0.0), ..Position::default() };
        let mut store;
        let mut rest = None;
        if let Some(path) = saved {
            let opened =
                checkpoint::open::<Position>(path, &trainer.identity(corpus), needs.pieces as usize)?;
            if trainer.scratch.is_none() {
                scratch = opened.scratch.clone().or(scratch);
            } else if opened.scratch != scratch {
                return Err(elsewhere(path, opened.scratch, scratch));
            }
            store = Store::new(corpus, trainer.topics, size, keep, room(scratch.clone()));
            position = opened.position;
            if !trainer.possible(&position, &store, order.as_ref(), shape.tokens) {
                return Err(opened.rest.damaged("it says that it is where no training can be"));
            }
            if let Some((alpha, beta)) = &position.learned {
                topics.set_priors(alpha, *beta);
            }
            store.restore(opened.records, (position.active, position.documents, position.messages))?;
            rest = Some(opened.rest);
        } else {
            if let Some(folder) = &scratch {
                store::clear(folder);
            }
            store = Store::new(corpus, trainer.topics, size, keep, room(scratch.clone()));
            let own_start = trainer.algorithm.facts().own_start && trainer.start.is_none();
            if !small && !own_start {
                trainer.scatter(&mut topics, &mut store, &word_tokens)?;
            }
        }
        let rules = trainer.rules(kernel, shape.tokens, (&plan, scratch.clone()), seeds);
        let setup = Setup {
            rules,
            word_tokens,
            special: trainer.special.clone(),
            documents: shape.documents,
            passes: trainer.passes,
            given_start: trainer.start.is_some(),
        };
        let mut sweep = trainer.algorithm.sweep(&mut topics, setup)?;
        let resumed = rest.is_some();
        if let Some(mut rest) = rest {
            sweep.restore(&mut topics, &mut rest)?;
            rest.end()?;
            store.restored();
        } else if let Some(start) = trainer.start.as_deref().filter(|_| small) {
            store.start(start, trainer.active.most(trainer.topics))?;
            store.visit(Which::ALL, 0, false, |_, visit| {
                sweep.load(&topics, visit).map_err(|(d, bad)| bad.in_document(d, "the start"))?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        let stages = trainer.stages(store.pieces(), shape.tokens);
        let now = Instant::now();
        Ok(Training {
            trainer,
            corpus,
            kernel,
            topics,
            sweep,
            stages,
            order,
            scratch,
            stop: if position.converged { Stop::Converged } else { Stop::Passes },
            clock: Clock { began: now, before: position.seconds, saved: now, told: 0.0 },
            position,
            store,
            plan,
            folder,
            resumed,
            model,
        })
    }

    /// Goes through all rounds that are left.
    pub(super) fn run(mut self, each: &mut Each<'_>) -> Result<Training<'a>> {
        if self.resumed {
            // Whether to stop is asked again soon.
            let _ = each(Event::Resumed(self.position.pass));
        }
        while self.position.stage < self.stages.len()
            || (self.position.pass < self.position.last && self.stop != Stop::Asked)
        {
            let left = self.round(each)?;
            if self.position.visit == 0 {
                let before = self.position.pass;
                self.after_round(each)?;
                if self.position.pass > before {
                    self.learn()?;
                    self.snapshot(each)?;
                }
            }
            let since = self.clock.saved.elapsed();
            let due = self.trainer.every.is_some_and(|every| {
                // Files that only an old checkpoint needs would take more disk than was planned.
                let phi = self.plan.phi.saturating_add(self.plan.phi_on_disk);
                since >= every || (since >= CROWDED && self.position.visit == 0 && self.store.crowded(phi))
            });
            // One who wants a file, and stops, wants to go on later.
            if left == Left::Asked || (self.stop == Stop::Asked && !self.model) {
                return Err(self.interrupted(each));
            } else if due {
                self.save(each)?;
            }
        }
        let (tokens, pass) = (self.corpus.shape().tokens as f64, self.position.pass);
        if self.position.history.last().map(|&(p, _)| p) != Some(pass) {
            let Some(sum) = self.last_likelihood(each)? else { return Err(self.interrupted(each)) };
            let (asked, converged) = self.note(pass, perplexity(sum, tokens), each);
            self.position.converged |= converged;
            if asked && !self.model {
                return Err(self.interrupted(each));
            }
            if self.stop == Stop::Passes {
                self.stop = match (asked, converged) {
                    (true, _) => Stop::Asked,
                    (_, true) => Stop::Converged,
                    _ => Stop::Passes,
                };
            }
        }
        Ok(self)
    }

    /// One round, or what is left of it.
    fn round(&mut self, each: &mut Each<'_>) -> Result<Left> {
        let stage = self.stages.get(self.position.stage).copied();
        let which = match stage {
            Some((every, _)) => Which::Every(every),
            None => self.order.as_ref().map_or(Which::ALL, Which::Order),
        };
        let settling = self.trainer.algorithm.settling_passes(self.trainer.passes, self.trainer.optimize);
        let left = self.position.last.saturating_sub(self.position.pass);
        self.position.settling |= stage.is_none() && left <= settling;
        let aim = if stage.is_some() {
            Aim::Start
        } else if self.position.settling {
            schedule::settle(left, self.trainer.passes, self.trainer.optimize)
        } else {
            let left = (!self.trainer.optimize).then_some(left - settling);
            Aim::Seek { pass: self.position.pass + 1, left }
        };
        // Said again where a round goes on after a stop.
        self.sweep.aim(aim);
        if self.position.visit == 0 {
            if stage.is_none() {
                let now = self.clock.seconds();
                self.position.passes.push((now, now, 0.0));
            }
            self.sweep.begin(&mut self.topics)?;
            self.position.sum = Some(0.0);
        }
        let Training { trainer, topics, sweep, store, position, clock, plan, .. } = self;
        let (traffic, in_all) = (store.traffic(), self.corpus.shape().documents);
        let in_round = in_all / stage.map_or(1, |(every, _)| every);
        let (before, work) = work(&self.stages, store.pieces(), position, trainer.passes, which);
        let mut left = Left::Done;
        let stopped = store.visit(which, position.visit, true, |visit, visited| {
            let documents = visited.so_far();
            let got = sweep.block(topics, visited).map_err(|(d, bad)| bad.in_document(d, "training"))?;
            position.sum = position.sum.zip(got).map(|(sum, one)| sum + one);
            if !clock.tell() {
                return Ok(ControlFlow::Continue(()));
            }
            let progress = Progress {
                pass: if stage.is_some() { 0 } else { position.pass + 1 },
                passes: trainer.passes,
                documents,
                documents_in_all: in_round.max(documents),
                done: (before + visit as f64 + 1.0) / work,
                ..clock.progress(&traffic, plan)
            };
            if each(Event::Progress(&progress)).is_break() {
                left = Left::Asked;
            } else if trainer.every.is_some_and(|every| clock.saved.elapsed() >= every) {
                left = Left::Due;
            }
            Ok(if left == Left::Done { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        self.position.visit = stopped.unwrap_or(0);
        Ok(left)
    }

    /// Takes down that a round is done.
    fn after_round(&mut self, each: &mut Each<'_>) -> Result<()> {
        let position = &mut self.position;
        if let Some(&(_, rounds)) = self.stages.get(position.stage) {
            position.repeat += 1;
            if position.repeat == rounds {
                (position.stage, position.repeat) = (position.stage + 1, 0);
            }
            return Ok(());
        }
        self.sweep.end(&mut self.topics)?;
        position.pass += 1;
        if let Some(timing) = position.passes.last_mut() {
            let active = self.sweep.active_topics().unwrap_or_else(|| self.store.active_topics());
            *timing = (timing.0, self.clock.seconds(), active);
        }
        position.message_bytes = self.store.message_bytes();
        // A sweep that gets the likelihood for free gets that of the state it began with: report one pass later.
        let (pass, sum) = (position.pass, position.sum);
        let (of_pass, log_likelihood) = match sum {
            Some(sum) if self.trainer.algorithm.facts().on_the_way => (pass, sum),
            Some(sum) => (pass - 1, sum),
            None => (pass, log_likelihood(&self.topics, &mut self.store, self.kernel)?),
        };
        if of_pass == 0 {
            return Ok(());
        }
        let tokens = self.corpus.shape().tokens as f64;
        let (asked, converged) = self.note(of_pass, perplexity(log_likelihood, tokens), each);
        if converged && !self.position.settling {
            self.stop = Stop::Converged;
            let settling = self.trainer.algorithm.settling_passes(self.trainer.passes, self.trainer.optimize);
            // What was begun comes to its end before.
            let more = self.trainer.algorithm.until_calm(pass);
            self.position.last = self.position.last.min(pass + more + settling);
            self.position.converged = true;
        }
        if asked {
            self.stop = Stop::Asked;
        }
        Ok(())
    }

    /// Writes a pass down, tells the caller, and says whether that one has asked to stop, and whether training has converged.
    fn note(&mut self, pass: u32, train_perplexity: f64, each: &mut Each<'_>) -> (bool, bool) {
        let history = &mut self.position.history;
        history.push((pass, train_perplexity));
        let (began, seconds, active_topics) =
            self.position.passes.get(pass as usize - 1).copied().unwrap_or_default();
        let report = PassReport {
            pass,
            passes: self.trainer.passes,
            seconds,
            train_perplexity,
            active_topics,
            documents_per_second: self.corpus.shape().documents as f64 / (seconds - began).max(1e-9),
        };
        let asked = each(Event::Pass(&report)).is_break();
        // Where messages are cut at random a pass may stand still by chance: some are compared with as many before, and with the
        // same steps.
        let round = if self.trainer.algorithm.facts().noisy { priors::EVERY } else { 1 };
        let back = |rounds: usize| {
            let at = history.len().checked_sub(1 + rounds * round as usize)?;
            Some(history[at].1)
        };
        let least = self.trainer.tolerance_at(train_perplexity) * f64::from(round);
        let still = |from: usize| {
            back(from).zip(back(from + 1)).is_some_and(|(now, before)| (before - now).abs() < least)
        };
        // Learned priors move on when the rest stands still, and may hide that it moves.
        let rounds = match (round, self.trainer.optimize) {
            (1, _) => 1,
            (_, false) => 2,
            (_, true) => 4,
        };
        let converged = (0..rounds).all(still);
        (asked, pass >= LEAST_PASSES && pass.is_multiple_of(round) && converged)
    }

    /// Writes the model as it is after this pass, where that was asked for. The clock stands still meanwhile.
    fn snapshot(&mut self, each: &mut Each<'_>) -> Result<()> {
        let pass = self.position.pass;
        let wanted = self.trainer.snapshots.as_ref().filter(|(passes, _)| passes.contains(&pass));
        let Some((_, folder)) = wanted else { return Ok(()) };
        let (seconds, began) = (self.clock.seconds(), Instant::now());
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let path = folder.join(format!("pass-{pass:05}.model"));
        let (mut settings, _) = self.end()?;
        if settings.history.is_empty() {
            // After the first pass some algorithms know only where it began.
            let tokens = self.corpus.shape().tokens as f64;
            settings.train_perplexity = perplexity(self.position.sum.unwrap_or(0.0), tokens);
            settings.tolerance = self.trainer.tolerance_at(settings.train_perplexity);
        }
        self.write(&path, &settings)?;
        // Whether to stop is asked again soon.
        let _ = each(Event::Snapshot { path: &path, pass, seconds });
        self.clock.began += began.elapsed();
        Ok(())
    }

    /// Writes a checkpoint.
    fn save(&mut self, each: &mut Each<'_>) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let records = self.store.save()?;
        let (active, documents, messages) = self.store.so_far();
        let seconds = self.clock.seconds();
        let position = Position { active, documents, seconds, messages, ..self.position.clone() };
        let identity = self.trainer.identity(self.corpus);
        let scratch = self.scratch.clone().filter(|path| path != folder.path());
        folder.write(identity, position, scratch, &records, |out| self.sweep.save(&self.topics, out))?;
        self.store.saved(&records);
        self.clock.saved = Instant::now();
        let _ = each(Event::Checkpoint(folder.path()));
        Ok(())
    }

    /// The caller has asked to stop: the error that says so.
    fn interrupted(&mut self, each: &mut Each<'_>) -> Error {
        let Some(path) = self.folder.as_ref().map(|folder| folder.path().to_path_buf()) else {
            return Error::Interrupted;
        };
        match self.save(each) {
            Ok(()) => Error::Stopped { path, passes: self.position.pass },
            Err(error) => error,
        }
    }

    /// sum x log p(w|d) after the last pass, whatever form an algorithm keeps phi in; nothing where the caller wants to stop.
    fn last_likelihood(&mut self, each: &mut Each<'_>) -> Result<Option<f64>> {
        let Training { sweep, topics, store, kernel, clock, plan, position, trainer, stop, .. } = self;
        if !sweep.ready(topics)? {
            return log_likelihood(topics, store, *kernel).map(Some);
        }
        let (traffic, in_all) = (store.traffic(), self.corpus.shape().documents);
        let (mut sum, mut asked) = (0f64, false);
        store.visit(Which::ALL, 0, false, |_, visit| {
            let documents = visit.so_far();
            sum += sweep
                .measure(topics, visit)
                .map_err(|(d, bad)| bad.in_document(d, "the training perplexity"))?;
            if clock.tell() {
                let (pass, passes) = (position.pass, trainer.passes);
                let now = clock.progress(&traffic, plan);
                let progress =
                    Progress { pass, passes, documents, documents_in_all: in_all, done: 1.0, ..now };
                // One who has asked before waits for this already.
                asked = each(Event::Progress(&progress)).is_break() && *stop != Stop::Asked;
            }
            Ok(if asked { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok((!asked).then_some(sum))
    }
}

/// The files of a checkpoint are not where they are said to be.
fn elsewhere(checkpoint: &Path, found: Option<PathBuf>, wanted: Option<PathBuf>) -> Error {
    let shown = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    Error::CheckpointMismatch {
        path: checkpoint.to_path_buf(),
        setting: "the {scratch} folder".into(),
        found: shown(found.or_else(|| Some(checkpoint.to_path_buf()))),
        wanted: shown(wanted),
    }
}

/// Visits done before this round, and all that there are if all passes are made.
fn work(
    stages: &[(u64, u32)],
    pieces: usize,
    position: &Position,
    passes: u32,
    which: Which<'_>,
) -> (f64, f64) {
    let of = |every: u64| Which::Every(every).visits(pieces) as f64;
    let at_start =
        |to: usize| stages[..to].iter().map(|&(every, rounds)| of(every) * f64::from(rounds)).sum::<f64>();
    let pass = if stages.len() > position.stage { pieces as f64 } else { which.visits(pieces) as f64 };
    let done = at_start(position.stage)
        + stages.get(position.stage).map_or(0.0, |&(every, _)| of(every) * f64::from(position.repeat))
        + pass * f64::from(position.pass);
    (done, at_start(stages.len()) + pass * f64::from(passes))
}

/// exp(-log-likelihood per token).
fn perplexity(log_likelihood: f64, tokens: f64) -> f64 {
    libm::exp(-log_likelihood / tokens)
}

/// sum x log p(w|d) over the training documents.
fn log_likelihood(topics: &Topics, store: &mut Store<'_>, kernel: Kernel) -> Result<f64> {
    let mut inverse = Vec::new();
    topics.inverse(&mut inverse);
    let frozen = Frozen::new(topics, &inverse);
    let mut step = DocumentStep::new(topics.count, kernel);
    let mut sum = 0f64;
    store.for_each(false, |d, document, theta| {
        sum += step
            .log_likelihood(&frozen, document, theta, document.tokens())
            .map_err(|bad| bad.in_document(d, "the training perplexity"))?;
        Ok(())
    })?;
    Ok(sum)
}
