//! The training loop: passes over the documents, step by step, until all are done, the perplexity has converged or the caller
//! wants to stop.
//!
//! It runs on the caller's thread; only the phases of an update run on other threads. What a training begins with is in
//! `prepare`, what follows the last pass in `finish`, and everything about clocks, callbacks and other ranks in `verdict`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use super::checkpoint::Folder;
use super::plan::Plan;
use super::position::{PassTiming, Position};
use super::verdict::{PieceSum, Referee, Verdict};
use super::{Event, PassReport, Stop, Trainer, TrainingProgress};
use crate::algorithms::{PassKind, Schedule, Updater, WarmUpStage};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::priors;
use crate::settings::LEAST_PASSES;
use crate::store::{Order, Selection, Store};
use crate::topics::Topics;

/// Shortest time between two checkpoints that are only written to free disk space.
const CROWDED: Duration = Duration::from_secs(30);

/// A training under way.
pub(super) struct Training<'a> {
    pub(super) trainer: &'a Trainer,
    pub(super) corpus: &'a Corpus,
    pub(super) topics: Topics,
    pub(super) updater: Box<dyn Updater>,
    pub(super) schedule: Box<dyn Schedule>,
    pub(super) store: Store<'a>,
    pub(super) order: Option<Order>,
    pub(super) position: Position,
    pub(super) stop: Stop,
    pub(super) plan: Plan,
    pub(super) folder: Option<Folder>,
    /// Where scratch files are.
    pub(super) scratch: Option<PathBuf>,
    /// Whether it continues a checkpoint.
    pub(super) resumed: bool,
    /// Whether the model is wanted in memory.
    pub(super) model: bool,
}

impl Training<'_> {
    /// Makes all passes that are left.
    pub(super) fn run(&mut self, referee: &mut Referee<'_>) -> Result<()> {
        referee.start(self.position.seconds);
        if self.resumed {
            // Whether to stop is asked again soon.
            let _ = referee.report(Event::Resumed(self.position.pass));
        }
        while self.stage().is_some() || (self.position.pass < self.position.last && self.stop != Stop::Asked)
        {
            let left = self.pass(referee)?;
            let mut save = left == Verdict::Checkpoint;
            if self.position.visit == 0 {
                let own = self.after_pass(referee)?;
                match referee.agree(own, &[], &mut None)? {
                    Verdict::Continue => {}
                    Verdict::Checkpoint => save = true,
                    Verdict::Stop => self.stop = Stop::Asked,
                    Verdict::Failed => return Err(Error::Interrupted),
                }
            }
            // A caller who wants a file, and stops, wants to resume later.
            if left == Verdict::Stop || (self.stop == Stop::Asked && !self.model) {
                return Err(self.interrupted(referee));
            }
            if save {
                self.save(referee)?;
            }
        }
        self.final_perplexity(referee)
    }

    /// The stage of the warm-up, where that is not over.
    fn stage(&self) -> Option<WarmUpStage> {
        self.schedule.warm_up().get(self.position.stage).copied()
    }

    /// The kind of the pass under way.
    fn kind(&mut self) -> PassKind {
        if self.stage().is_some() {
            return PassKind::WarmUp;
        }
        let position = &mut self.position;
        let left = position.last.saturating_sub(position.pass);
        position.refining |= left <= self.schedule.refine_passes();
        self.schedule.kind(position.pass, position.last, position.refining)
    }

    /// Makes a pass, or what is left of it. Returns why it was left.
    fn pass(&mut self, referee: &mut Referee<'_>) -> Result<Verdict> {
        let (kind, stage) = (self.kind(), self.stage());
        if self.position.visit == 0 {
            if stage.is_none() {
                self.position.timings.push(PassTiming::starting(referee.seconds()));
            }
            self.updater.begin(&mut self.topics)?;
            self.position.begin_pass();
        }
        let selection = match stage {
            Some(stage) => Selection::Every(stage.every),
            None => self.order.as_ref().map_or(Selection::ALL, Selection::Order),
        };
        let Training { trainer, topics, updater, store, position, plan, schedule, .. } = self;
        let (traffic, documents) = (store.traffic(), self.corpus.shape().documents);
        let documents_total = documents / stage.map_or(1, |stage| stage.every);
        let (visits, step) = (selection.visits(store.pieces()), trainer.step_pieces());
        let work = Work::new(schedule.warm_up(), store.pieces(), position, selection);
        let (mut verdict, mut sums): (Verdict, Vec<PieceSum>) = (Verdict::Continue, Vec::new());
        let stopped = store.visit(selection, position.visit, true, |visit, mut view| {
            (view.kind, view.first) = (kind, visit == 0);
            view.ends_step = ((visit + 1) as u64).is_multiple_of(step) || visit + 1 == visits;
            let ends_step = view.ends_step;
            position.documents += view.documents();
            let stats = match updater.piece(topics, view) {
                Ok(stats) => stats,
                Err((d, bad)) => {
                    // The others are told; what is wrong here counts.
                    let _ = referee.agree(Verdict::Failed, &[], &mut None);
                    return Err(bad.in_document(d, "training"));
                }
            };
            position.topics_in_use += stats.topics_in_use;
            position.documents_in_use += stats.documents_in_use;
            sums.push((visit as u64, stats.log_likelihood));
            if !ends_step {
                return Ok(ControlFlow::Continue(()));
            }
            let own = referee.own(|referee| TrainingProgress {
                pass: if stage.is_some() { 0 } else { position.pass + 1 },
                passes: trainer.settings.max_passes(),
                documents: position.documents,
                documents_total: documents_total.max(position.documents),
                done: work.share(visit, trainer.settings.max_passes()),
                ..referee.progress(&traffic, plan)
            });
            verdict = referee.agree(own, &sums, &mut position.log_likelihood)?;
            sums.clear();
            match verdict {
                Verdict::Continue => Ok(ControlFlow::Continue(())),
                Verdict::Failed => Err(Error::Interrupted),
                Verdict::Checkpoint | Verdict::Stop => Ok(ControlFlow::Break(())),
            }
        })?;
        self.position.visit = stopped.unwrap_or(0);
        Ok(verdict)
    }

    /// Notes that a pass is done, and does what comes between two passes. Returns this rank's verdict.
    fn after_pass(&mut self, referee: &mut Referee<'_>) -> Result<Verdict> {
        let mut asked = false;
        if let Some(stage) = self.stage() {
            self.position.end_stage_pass(stage.repeats);
        } else {
            asked = self.end_pass(referee)?;
            self.learn()?;
            self.snapshot(referee)?;
        }
        // Files that only an old checkpoint needs would take more disk than was planned.
        let phi = self.plan.phi.saturating_add(self.plan.phi_on_disk);
        let crowded = referee.checkpoint_older_than(CROWDED) && self.store.crowded(phi);
        Ok(if asked {
            Verdict::Stop
        } else if crowded || referee.checkpoint_due() {
            Verdict::Checkpoint
        } else {
            Verdict::Continue
        })
    }

    /// Ends a pass over the whole corpus: its perplexity, and whether training has converged. Returns whether the caller asked
    /// to stop.
    fn end_pass(&mut self, referee: &mut Referee<'_>) -> Result<bool> {
        self.updater.end(&mut self.topics)?;
        let capabilities = self.trainer.settings.chosen_algorithm().capabilities();
        let position = &mut self.position;
        position.pass += 1;
        let active = position.active_topics(self.trainer.settings.topic_count());
        if let Some(timing) = position.timings.last_mut() {
            (timing.ended, timing.active_topics) = (referee.seconds(), active);
        }
        position.message_bytes = self.store.message_bytes();
        // An algorithm that gets the log-likelihood on the way gets that of the state it began with: report one pass later.
        let pass = position.pass;
        let (of_pass, log_likelihood) = match position.log_likelihood {
            Some(sum) if capabilities.current_likelihood => (pass, sum),
            Some(sum) => (pass - 1, sum),
            None => (pass, self.log_likelihood()?),
        };
        if of_pass == 0 {
            return Ok(false);
        }
        let (asked, converged) = self.note(of_pass, self.perplexity(log_likelihood), referee);
        if converged && !self.position.refining {
            self.stop = Stop::Converged;
            // What was begun comes to its end before the refinement.
            let more = self.schedule.passes_until_plain(pass) + self.schedule.refine_passes();
            self.position.last = self.position.last.min(pass + more);
            self.position.converged = true;
        }
        Ok(asked)
    }

    /// After the last pass: its perplexity, where that is not known yet.
    fn final_perplexity(&mut self, referee: &mut Referee<'_>) -> Result<()> {
        let pass = self.position.pass;
        if self.position.history.last().map(|&(p, _)| p) == Some(pass) {
            return Ok(());
        }
        let Some(sum) = self.final_log_likelihood(referee)? else { return Err(self.interrupted(referee)) };
        let (asked, converged) = self.note(pass, self.perplexity(sum), referee);
        let own = if asked { Verdict::Stop } else { Verdict::Continue };
        let asked = referee.agree(own, &[], &mut None)? >= Verdict::Stop;
        self.position.converged |= converged;
        if asked && !self.model {
            return Err(self.interrupted(referee));
        }
        if self.stop == Stop::Passes {
            self.stop = match (asked, converged) {
                (true, _) => Stop::Asked,
                (_, true) => Stop::Converged,
                _ => Stop::Passes,
            };
        }
        Ok(())
    }

    /// Notes the perplexity of a pass and reports it. Returns whether the caller asked to stop, and whether training has
    /// converged.
    fn note(&mut self, pass: u32, train_perplexity: f64, referee: &mut Referee<'_>) -> (bool, bool) {
        self.position.history.push((pass, train_perplexity));
        let timing = self.position.timings.get(pass as usize - 1).copied().unwrap_or_default();
        let seconds = (timing.ended - timing.began).max(1e-9);
        let report = PassReport {
            pass,
            passes: self.trainer.settings.max_passes(),
            seconds: timing.ended,
            train_perplexity,
            active_topics: timing.active_topics,
            documents_per_second: self.corpus.shape().documents as f64 / seconds,
        };
        let asked = referee.report(Event::Pass(&report));
        (asked, self.converged(pass, train_perplexity))
    }

    /// Whether the perplexity has changed by less than the tolerance.
    fn converged(&self, pass: u32, train_perplexity: f64) -> bool {
        let history = &self.position.history;
        // Where messages are quantized at random a pass may stand still by chance: some passes are compared with as many before,
        // and with the same over-relaxation.
        let round =
            if self.trainer.settings.chosen_algorithm().capabilities().noisy { priors::EVERY } else { 1 };
        let back = |rounds: usize| {
            let at = history.len().checked_sub(1 + rounds * round as usize)?;
            Some(history[at].1)
        };
        let least = self.trainer.tolerance_at(train_perplexity) * f64::from(round);
        let still = |from: usize| {
            back(from).zip(back(from + 1)).is_some_and(|(now, before)| (before - now).abs() < least)
        };
        // Learned priors move on when the rest stands still, and may hide that it moves.
        let rounds = match (round, self.trainer.settings.optimizes()) {
            (1, _) => 1,
            (_, false) => 2,
            (_, true) => 4,
        };
        let converged = (0..rounds).all(still);
        pass >= LEAST_PASSES && pass.is_multiple_of(round) && converged
    }

    /// Writes a checkpoint, where there is a folder for it.
    pub(super) fn save(&mut self, referee: &mut Referee<'_>) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let records = self.store.save()?;
        let mut position = self.position.clone();
        (position.seconds, position.pass_message_bytes) = (referee.seconds(), self.store.message_bytes());
        let identity = self.trainer.identity(self.corpus);
        let scratch = self.scratch.clone().filter(|path| path != folder.path());
        folder.write(identity, position, scratch, &records, |out| self.updater.save(&self.topics, out))?;
        self.store.saved(&records);
        referee.checkpoint_written();
        let _ = referee.report(Event::Checkpoint(folder.path()));
        Ok(())
    }

    /// Returns the error that the caller asked to stop, after what was done is in a checkpoint.
    fn interrupted(&mut self, referee: &mut Referee<'_>) -> Error {
        let Some(path) = self.folder.as_ref().map(|folder| folder.path().to_path_buf()) else {
            return Error::Interrupted;
        };
        match self.save(referee) {
            Ok(()) => Error::Stopped { path, passes: self.position.pass },
            Err(error) => error,
        }
    }

    /// `sum x log p(w|d)` of all documents, as topics and documents are now.
    fn log_likelihood(&mut self) -> Result<f64> {
        let Training { updater, topics, store, .. } = self;
        let mut total = 0f64;
        store.visit(Selection::ALL, 0, false, |visit, mut view| {
            view.first = visit == 0;
            let done = updater.log_likelihood(topics, view, &mut total);
            done.map_err(|(d, bad)| bad.in_document(d, "the training perplexity"))?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(total)
    }

    /// The same after the last pass, with progress; nothing where the caller wants to stop.
    fn final_log_likelihood(&mut self, referee: &mut Referee<'_>) -> Result<Option<f64>> {
        let Training { updater, topics, store, plan, position, trainer, stop, corpus, .. } = self;
        let (traffic, documents_total) = (store.traffic(), corpus.shape().documents);
        let (mut total, mut asked, mut documents) = (0f64, false, 0);
        store.visit(Selection::ALL, 0, false, |visit, mut view| {
            view.first = visit == 0;
            documents += view.documents();
            let done = updater.log_likelihood(topics, view, &mut total);
            done.map_err(|(d, bad)| bad.in_document(d, "the training perplexity"))?;
            if referee.progress_due() {
                let (pass, passes) = (position.pass, trainer.settings.max_passes());
                let now = referee.progress(&traffic, plan);
                let progress =
                    TrainingProgress { pass, passes, documents, documents_total, done: 1.0, ..now };
                // A caller who has asked before waits for this already.
                asked = referee.report(Event::Progress(&progress)) && *stop != Stop::Asked;
            }
            Ok(if asked { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let own = if asked { Verdict::Stop } else { Verdict::Continue };
        let verdict = referee.agree(own, &[], &mut None)?;
        Ok((verdict < Verdict::Stop).then_some(total))
    }

    /// exp(-log-likelihood per token).
    pub(super) fn perplexity(&self, log_likelihood: f64) -> f64 {
        libm::exp(-log_likelihood / self.corpus.shape().tokens as f64)
    }
}

/// How much of the work of a training is done, in visits of pieces.
struct Work {
    /// Visits before this pass.
    before: f64,
    /// Visits of the warm-up.
    warm_up: f64,
    /// Visits of a pass over the whole corpus.
    pass: f64,
}

impl Work {
    fn new(stages: &[WarmUpStage], pieces: usize, at: &Position, selection: Selection<'_>) -> Work {
        let of = |stage: &WarmUpStage| Selection::Every(stage.every).visits(pieces) as f64;
        let all = |stages: &[WarmUpStage]| {
            stages.iter().map(|stage| of(stage) * f64::from(stage.repeats)).sum::<f64>()
        };
        let in_stage = stages.get(at.stage).map_or(0.0, |stage| of(stage) * f64::from(at.repeat));
        let pass = if at.stage < stages.len() { pieces } else { selection.visits(pieces) } as f64;
        let before = all(&stages[..at.stage]) + in_stage + pass * f64::from(at.pass);
        Work { before, warm_up: all(stages), pass }
    }

    /// The share that is done after a visit, if all passes are made.
    fn share(&self, visit: usize, passes: u32) -> f64 {
        (self.before + visit as f64 + 1.0) / (self.warm_up + self.pass * f64::from(passes))
    }
}
