//! The training loop: passes over the documents, step by step, until all passes are done, the
//! perplexity has converged or the caller asks to stop.
//!
//! The loop runs on the caller's thread; only the phases of an update use other threads.
//! Preparation is in `prepare`, the model in `finish`, and everything about clocks, callbacks and
//! other ranks in `verdict`. The loop does not know update formulas or file formats. Start reading
//! at [`Training::run`].

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use super::checkpoint::{self, CheckpointFolder};
use super::plan::Plan;
use super::position::{PassTiming, TrainingPosition};
use super::update::UpdateWords;
use super::verdict::{PieceSum, Referee, Verdict};
use super::{Event, PassReport, Stop, Trainer, TrainingProgress};
use crate::algorithms::Updater;
use crate::algorithms::schedule::{PassKind, Schedule, WarmUpStage};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::priors;
use crate::settings::MIN_PASSES;
use crate::store::{Selection, Store, VisitOrder};
use crate::topics::Topics;

/// Shortest time between two checkpoints that are only written to free disk space.
const SPACE_CHECKPOINT_INTERVAL: Duration = Duration::from_secs(30);

/// A running training.
pub(super) struct Training<'a> {
    pub(super) trainer: &'a Trainer,
    pub(super) corpus: &'a Corpus,
    pub(super) topics: Topics,
    pub(super) updater: Box<dyn Updater>,
    pub(super) schedule: Box<dyn Schedule>,
    pub(super) store: Store<'a>,
    pub(super) order: Option<VisitOrder>,
    /// Words of the result, if a model is updated.
    pub(super) update: Option<UpdateWords>,
    pub(super) position: TrainingPosition,
    pub(super) stop: Stop,
    pub(super) plan: Plan,
    pub(super) folder: Option<CheckpointFolder>,
    /// Number of finished passes in the last checkpoint; `None` if there is none.
    pub(super) saved: Option<u32>,
    /// Folder of the scratch files.
    pub(super) scratch: Option<PathBuf>,
    /// Whether the training was resumed from a checkpoint.
    pub(super) resumed: bool,
    /// Whether a request to stop after a pass finishes the training with the topics found so far.
    pub(super) finish_when_asked: bool,
}

impl Training<'_> {
    /// Runs all remaining passes. All ranks agree after every step and every pass, and at the end,
    /// so that either all of them have a result or none has.
    pub(super) fn run(&mut self, referee: &mut Referee<'_>) -> Result<()> {
        referee.start(self.position.seconds);
        if self.resumed {
            // A request to stop is ignored here; the callback is asked again soon.
            let _ = referee.report(Event::Resumed(self.position.pass));
        }
        while let Some(kind) = self.next_pass() {
            let left = referee.announcing(|referee| self.pass(kind, referee))?;
            let mut save = left == Verdict::Checkpoint;
            if self.position.visit == 0 {
                let own = referee.announcing(|referee| self.after_pass(referee))?;
                let verdict = referee.agree(own, &[], &mut None)?;
                save |= verdict == Verdict::Checkpoint;
                if verdict >= Verdict::Stop {
                    self.stop = Stop::Asked;
                }
            }
            // A caller who trains to a file and stops usually resumes later.
            if left == Verdict::Stop || (self.stop == Stop::Asked && !self.finish_when_asked) {
                return Err(self.interrupted(referee));
            }
            if save {
                self.try_save(referee);
            }
        }
        self.end(referee)
    }

    /// Returns the current warm-up stage; `None` after the warm-up.
    fn stage(&self) -> Option<WarmUpStage> {
        self.schedule.warm_up().get(self.position.stage).copied()
    }

    /// Returns the kind of the next pass, or of one that was interrupted; `None` after the last.
    fn next_pass(&mut self) -> Option<PassKind> {
        match self.stage() {
            Some(_) => Some(PassKind::WarmUp),
            None if self.stop == Stop::Asked => None,
            None => self.schedule.next(self.position.pass),
        }
    }

    /// Runs a pass or the rest of it. Returns the verdict that ended it.
    fn pass(&mut self, kind: PassKind, referee: &mut Referee<'_>) -> Result<Verdict> {
        let stage = self.stage();
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
        let (visits, step) = (selection.visits(store.pieces()), trainer.settings.step_pieces());
        let work = WorkEstimate::new(schedule.warm_up(), store.pieces(), position, selection);
        let (mut verdict, mut sums): (Verdict, Vec<PieceSum>) = (Verdict::Continue, Vec::new());
        let stopped = store.visit(selection, position.visit, true, |visit, mut view| {
            (view.kind, view.first) = (kind, visit == 0);
            view.ends_step = ((visit + 1) as u64).is_multiple_of(step) || visit + 1 == visits;
            let ends_step = view.ends_step;
            position.documents += view.documents();
            let stats = updater.piece(topics, view).map_err(|(d, bad)| bad.in_document(d, "training"))?;
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
            let more = verdict == Verdict::Continue;
            Ok(if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        self.position.visit = stopped.unwrap_or(0);
        Ok(verdict)
    }

    /// Finishes a pass and does the work between two passes. Returns this rank's verdict.
    fn after_pass(&mut self, referee: &mut Referee<'_>) -> Result<Verdict> {
        let mut asked = false;
        if let Some(stage) = self.stage() {
            self.position.end_stage_pass(stage.repeats);
        } else {
            asked = self.end_pass(referee)?;
            self.learn_priors()?;
            self.snapshot(referee)?;
        }
        // Files that only an old checkpoint needs would exceed the planned disk space.
        let phi = self.plan.phi.saturating_add(self.plan.phi_on_disk);
        let crowded = referee.checkpoint_older_than(SPACE_CHECKPOINT_INTERVAL)
            && self.store.checkpoint_frees_space(phi);
        Ok(if asked {
            Verdict::Stop
        } else if crowded || referee.checkpoint_due() {
            Verdict::Checkpoint
        } else {
            Verdict::Continue
        })
    }

    /// Finishes a pass over the whole corpus: computes its perplexity and checks convergence.
    /// Returns whether the caller asked to stop.
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
        // Algorithms that compute the log-likelihood during a pass get its value at the beginning
        // of the pass. It is reported one pass later.
        let pass = position.pass;
        let (of_pass, log_likelihood) = match position.log_likelihood {
            Some(sum) if capabilities.current_likelihood => (pass, sum),
            Some(sum) => (pass - 1, sum),
            None => (pass, self.log_likelihood(referee)?),
        };
        if of_pass == 0 {
            return Ok(false);
        }
        let (asked, converged) = self.record_perplexity(of_pass, self.perplexity(log_likelihood), referee);
        if converged && self.schedule.converge(pass) {
            self.stop = Stop::Converged;
            self.position.converged = true;
        }
        Ok(asked)
    }

    /// Measures the result of the last pass and checks that all documents were visited.
    fn end(&mut self, referee: &mut Referee<'_>) -> Result<()> {
        let own = referee.announcing(|referee| {
            let own = self.final_perplexity(referee)?;
            if own.is_some() {
                // A resumed training may not have visited all documents.
                self.corpus.verify_totals()?;
            }
            Ok(own)
        })?;
        let Some(own) = own else { return Err(self.interrupted(referee)) };
        let asked = referee.agree(own, &[], &mut None)? >= Verdict::Stop;
        if asked && !self.finish_when_asked {
            return Err(self.interrupted(referee));
        }
        if self.stop == Stop::Passes {
            self.stop = match (asked, self.position.converged) {
                (true, _) => Stop::Asked,
                (_, true) => Stop::Converged,
                _ => Stop::Passes,
            };
        }
        Ok(())
    }

    /// Computes the perplexity after the last pass, unless it is known already. Returns this rank's
    /// verdict; `None` if the ranks have agreed to stop before the perplexity is known.
    fn final_perplexity(&mut self, referee: &mut Referee<'_>) -> Result<Option<Verdict>> {
        let pass = self.position.pass;
        if self.position.history.last().map(|&(p, _)| p) == Some(pass) {
            return Ok(Some(Verdict::Continue));
        }
        let Some(sum) = self.final_log_likelihood(referee)? else { return Ok(None) };
        let (asked, converged) = self.record_perplexity(pass, self.perplexity(sum), referee);
        self.position.converged |= converged;
        Ok(Some(if asked { Verdict::Stop } else { Verdict::Continue }))
    }

    /// Records and reports the perplexity of a pass. Returns whether the caller asked to stop, and
    /// whether training has converged.
    fn record_perplexity(
        &mut self,
        pass: u32,
        train_perplexity: f64,
        referee: &mut Referee<'_>,
    ) -> (bool, bool) {
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

    /// Returns whether the perplexity has changed by less than the tolerance.
    fn converged(&self, pass: u32, train_perplexity: f64) -> bool {
        let history = &self.position.history;
        // If messages are quantized at random, the perplexity may hardly change in a pass by
        // chance. Rounds of several passes are compared with the round before, at the same
        // over-relaxation.
        let round = if self.trainer.settings.chosen_algorithm().capabilities().noisy {
            priors::PASS_INTERVAL
        } else {
            1
        };
        let back = |rounds: usize| {
            let at = history.len().checked_sub(1 + rounds * round as usize)?;
            Some(history[at].1)
        };
        let least = self.trainer.tolerance_at(train_perplexity) * f64::from(round);
        let still = |from: usize| {
            back(from).zip(back(from + 1)).is_some_and(|(now, before)| (before - now).abs() < least)
        };
        // Learned priors keep changing after the rest has converged, and may hide other changes.
        let rounds = match (round, self.trainer.settings.optimizes()) {
            (1, _) => 1,
            (_, false) => 2,
            (_, true) => 4,
        };
        let converged = (0..rounds).all(still);
        pass >= MIN_PASSES && pass.is_multiple_of(round) && converged
    }

    /// Writes a checkpoint, if there is a folder for it. A failure is reported, and training
    /// continues: the next attempt follows after the usual interval.
    pub(super) fn try_save(&mut self, referee: &mut Referee<'_>) {
        let Err(error) = self.save(referee) else { return };
        referee.reset_checkpoint_timer();
        if let Some(folder) = &self.folder {
            // A request to stop is ignored here; the callback is asked again soon.
            let _ = referee.report(Event::CheckpointFailed { folder: folder.path(), error: &error });
        }
    }

    /// Writes a checkpoint, if there is a folder for it.
    fn save(&mut self, referee: &mut Referee<'_>) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let mut attempt = || {
            let records = self.store.save()?;
            let mut position = TrainingPosition { schedule: self.schedule.state(), ..self.position.clone() };
            (position.seconds, position.pass_message_bytes) = (referee.seconds(), self.store.message_bytes());
            let identity = self.trainer.identity(self.corpus);
            let scratch = self.scratch.clone().filter(|path| path != folder.path());
            folder
                .write(identity, position, scratch, &records, |out| self.updater.save(&self.topics, out))?;
            Ok(records)
        };
        match attempt() {
            Ok(records) => self.store.checkpoint_written(&records),
            Err(error) => {
                self.store.checkpoint_failed();
                return Err(error);
            }
        }
        self.saved = Some(self.position.pass);
        referee.reset_checkpoint_timer();
        let _ = referee.report(Event::Checkpoint(folder.path()));
        Ok(())
    }

    /// Writes a checkpoint and returns the error for a caller who asked to stop.
    fn interrupted(&mut self, referee: &mut Referee<'_>) -> Error {
        let Some(path) = self.folder.as_ref().map(|folder| folder.path().to_path_buf()) else {
            return Error::Interrupted;
        };
        let passes = self.position.pass;
        match self.save(referee) {
            Ok(()) => Error::Stopped { path, passes },
            Err(error) => {
                let saved = self.saved.filter(|_| matches!(checkpoint::exists(&path), Ok(true)));
                Error::NotSaved { path, passes, saved, source: Box::new(error) }
            }
        }
    }

    /// Returns `sum x log p(w|d)` of all documents with the current topics and documents.
    fn log_likelihood(&mut self, referee: &mut Referee<'_>) -> Result<f64> {
        let Training { updater, topics, store, .. } = self;
        let (mut sums, mut total): (Vec<PieceSum>, _) = (Vec::new(), Some(0f64));
        store.visit(Selection::ALL, 0, false, |visit, mut view| {
            view.first = visit == 0;
            let sum = updater.log_likelihood(topics, view);
            let sum = sum.map_err(|(d, bad)| bad.in_document(d, "the training perplexity"))?;
            sums.push((visit as u64, Some(sum)));
            Ok(ControlFlow::Continue(()))
        })?;
        referee.agree(Verdict::Continue, &sums, &mut total)?;
        Ok(total.unwrap_or(f64::NAN))
    }

    /// Returns the log-likelihood of all documents after the last pass and reports progress; `None`
    /// if the caller asked to stop.
    fn final_log_likelihood(&mut self, referee: &mut Referee<'_>) -> Result<Option<f64>> {
        let Training { updater, topics, store, plan, position, trainer, stop, corpus, .. } = self;
        let (traffic, documents_total) = (store.traffic(), corpus.shape().documents);
        let (mut sums, mut asked, mut documents): (Vec<PieceSum>, _, _) = (Vec::new(), false, 0);
        store.visit(Selection::ALL, 0, false, |visit, mut view| {
            view.first = visit == 0;
            documents += view.documents();
            let sum = updater.log_likelihood(topics, view);
            let sum = sum.map_err(|(d, bad)| bad.in_document(d, "the training perplexity"))?;
            sums.push((visit as u64, Some(sum)));
            if referee.progress_due() {
                let (pass, passes) = (position.pass, trainer.settings.max_passes());
                let now = referee.progress(&traffic, plan);
                let progress =
                    TrainingProgress { pass, passes, documents, documents_total, done: 1.0, ..now };
                // A caller who has asked to stop before is already waiting for this result.
                asked = referee.report(Event::Progress(&progress)) && *stop != Stop::Asked;
            }
            Ok(if asked { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let own = if asked { Verdict::Stop } else { Verdict::Continue };
        let mut total = Some(0f64);
        let verdict = referee.agree(own, &sums, &mut total)?;
        Ok(total.filter(|_| verdict < Verdict::Stop))
    }

    /// Returns the perplexity: exp(-log-likelihood per token).
    pub(super) fn perplexity(&self, log_likelihood: f64) -> f64 {
        libm::exp(-log_likelihood / self.corpus.shape().tokens as f64)
    }
}

/// Work of a training, in visits of pieces.
struct WorkEstimate {
    /// Number of visits before this pass.
    before: f64,
    /// Number of visits in the warm-up.
    warm_up: f64,
    /// Number of visits in a pass over the whole corpus.
    pass: f64,
}

impl WorkEstimate {
    fn new(
        stages: &[WarmUpStage],
        pieces: usize,
        at: &TrainingPosition,
        selection: Selection<'_>,
    ) -> WorkEstimate {
        let of = |stage: &WarmUpStage| Selection::Every(stage.every).visits(pieces) as f64;
        let all = |stages: &[WarmUpStage]| {
            stages.iter().map(|stage| of(stage) * f64::from(stage.repeats)).sum::<f64>()
        };
        let in_stage = stages.get(at.stage).map_or(0.0, |stage| of(stage) * f64::from(at.repeat));
        let pass = if at.stage < stages.len() { pieces } else { selection.visits(pieces) } as f64;
        let before = all(&stages[..at.stage]) + in_stage + pass * f64::from(at.pass);
        WorkEstimate { before, warm_up: all(stages), pass }
    }

    /// Returns the fraction of the work that is done after a visit, assuming that all passes are
    /// needed.
    fn share(&self, visit: usize, passes: u32) -> f64 {
        (self.before + visit as f64 + 1.0) / (self.warm_up + self.pass * f64::from(passes))
    }
}
