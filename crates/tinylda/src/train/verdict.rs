//! Decides what follows a step of a training. This is the only place where clocks, callbacks and
//! the verdicts of other ranks decide anything.
//!
//! At the end of every step each rank forms its own [`Verdict`], and all ranks agree on the most
//! severe one. The log-likelihood sums of the pieces that a rank is responsible for are sent along.
//! They are added in the order of the pieces, regardless of the sender, so the total does not
//! depend on the number of ranks. A rank whose work fails sends its error in place of its next
//! verdict, so that no other rank waits for it.
//!
//! Nothing here knows algorithms or files. Start reading at [`Referee::own`], [`Referee::agree`]
//! and [`Referee::announcing`].

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::comm::Comm;
use super::plan::Plan;
use super::{Event, TrainingProgress};
use crate::error::{Error, Result};
use crate::memory;
use crate::store::Traffic;

/// Shortest time between two progress events, in seconds.
const PROGRESS_INTERVAL: f64 = 0.05;

/// What follows a step, in the order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Continue.
    Continue,
    /// Write a checkpoint and continue.
    Checkpoint,
    /// Stop, because the caller of a rank asked for it.
    Stop,
    /// A rank has failed. [`Referee::agree`] returns this as an error.
    Failed,
}

impl Verdict {
    const ALL: [Verdict; 4] = [Verdict::Continue, Verdict::Checkpoint, Verdict::Stop, Verdict::Failed];
}

/// Callback that receives events and decides whether to continue.
pub(super) type Callback<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'a;

/// Number of a visit and the log-likelihood of its piece; `None` if the algorithm does not know it.
pub(super) type PieceSum = (u64, Option<f64>);

/// Reports events to the caller, keeps the clocks and forms verdicts.
pub(super) struct Referee<'a> {
    callback: &'a mut Callback<'a>,
    comm: &'a mut dyn Comm,
    began: Instant,
    /// Seconds of training in earlier processes.
    before: f64,
    saved: Instant,
    /// Seconds of training when progress was last reported.
    reported: f64,
    /// Time between two checkpoints; `None` if none are written.
    every: Option<Duration>,
    received: Vec<Vec<u8>>,
    /// Whether the ranks no longer exchange messages, because one of them or the exchange failed.
    ended: bool,
}

impl std::fmt::Debug for Referee<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Referee").field("comm", &self.comm).finish_non_exhaustive()
    }
}

impl<'a> Referee<'a> {
    /// Starts the clocks.
    pub(super) fn new(
        callback: &'a mut Callback<'a>,
        comm: &'a mut dyn Comm,
        every: Option<Duration>,
    ) -> Referee<'a> {
        let now = Instant::now();
        Referee {
            callback,
            comm,
            began: now,
            before: 0.0,
            saved: now,
            reported: 0.0,
            every,
            received: Vec::new(),
            ended: false,
        }
    }

    /// Restarts the clocks. `before` is the number of seconds of training in earlier processes.
    pub(super) fn start(&mut self, before: f64) {
        let now = Instant::now();
        (self.began, self.saved, self.before) = (now, now, before);
    }

    /// Returns the seconds of training so far.
    pub(super) fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }

    /// Runs `work` without counting its time as training.
    pub(super) fn uncounted<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let began = Instant::now();
        let result = work(self);
        self.began += began.elapsed();
        result
    }

    /// Reports an event. Returns whether the caller asked to stop.
    pub(super) fn report(&mut self, event: Event<'_>) -> bool {
        (self.callback)(event).is_break()
    }

    /// Returns whether progress should be reported now; if so, resets the timer.
    pub(super) fn progress_due(&mut self) -> bool {
        let now = self.seconds();
        let due = now - self.reported >= PROGRESS_INTERVAL;
        if due {
            self.reported = now;
        }
        due
    }

    /// Returns a progress event with the fields that do not depend on the pass.
    pub(super) fn progress(&self, traffic: &Traffic, plan: &Plan) -> TrainingProgress {
        TrainingProgress {
            pass: 0,
            passes: 0,
            documents: 0,
            documents_total: 0,
            done: 0.0,
            seconds: self.reported,
            read: traffic.read(),
            written: traffic.written(),
            disk: traffic.disk(),
            resident: memory::resident_bytes(),
            ceiling: plan.ceiling,
        }
    }

    /// Reports progress if it is due and returns this rank's verdict at the end of a step.
    pub(super) fn own(&mut self, progress: impl FnOnce(&Self) -> TrainingProgress) -> Verdict {
        if !self.progress_due() {
            return Verdict::Continue;
        }
        let progress = progress(self);
        if self.report(Event::Progress(&progress)) {
            Verdict::Stop
        } else if self.checkpoint_due() {
            Verdict::Checkpoint
        } else {
            Verdict::Continue
        }
    }

    /// Runs work of this rank. If it fails, the other ranks receive its error, unless a failure
    /// has ended the exchange already.
    pub(super) fn announcing<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let result = work(self);
        if let Err(error) = &result
            && !std::mem::replace(&mut self.ended, true)
        {
            let mut message = vec![Verdict::Failed as u8];
            message.extend(error.to_string().bytes());
            // The error of this rank takes precedence over one of the exchange.
            let _ = self.comm.all_gather(&message, &mut self.received);
        }
        result
    }

    /// Agrees with the other ranks on what follows a step, and adds its log-likelihood sums to
    /// `total` in the order of the pieces. `total` becomes `None` if a sum is unknown. Returns an
    /// error if a rank has failed.
    pub(super) fn agree(
        &mut self,
        own: Verdict,
        sums: &[PieceSum],
        total: &mut Option<f64>,
    ) -> Result<Verdict> {
        let agreed = self.exchange(own, sums, total);
        self.ended |= agreed.is_err();
        agreed
    }

    /// Exchanges the verdict and the sums of this rank for those of all ranks.
    fn exchange(&mut self, own: Verdict, sums: &[PieceSum], total: &mut Option<f64>) -> Result<Verdict> {
        if self.comm.ranks() == 1 {
            add(sums.iter().copied(), total);
            return Ok(own);
        }
        let (rank, ranks) = (self.comm.rank() as u64, self.comm.ranks() as u64);
        let mut message = vec![own as u8];
        for (piece, sum) in sums.iter().filter(|(piece, _)| piece % ranks == rank) {
            message.extend(piece.to_le_bytes());
            message.push(u8::from(sum.is_some()));
            message.extend(sum.unwrap_or(0.0).to_le_bytes());
        }
        self.comm.all_gather(&message, &mut self.received)?;
        let (mut verdict, mut all) = (own, Vec::with_capacity(sums.len()));
        for (rank, message) in self.received.iter().enumerate() {
            if let Some(text) = message.strip_prefix(&[Verdict::Failed as u8]) {
                return Err(Error::Rank { rank, message: String::from_utf8_lossy(text).into_owned() });
            }
            verdict = verdict.max(decode(message, &mut all).ok_or(Error::Interrupted)?);
        }
        all.sort_unstable_by_key(|&(piece, _)| piece);
        add(all.into_iter(), total);
        Ok(verdict)
    }

    /// Returns whether a checkpoint is due.
    pub(super) fn checkpoint_due(&self) -> bool {
        self.every.is_some_and(|every| self.saved.elapsed() >= every)
    }

    /// Returns whether checkpoints are enabled and the last one is older than `age`.
    pub(super) fn checkpoint_older_than(&self, age: Duration) -> bool {
        self.every.is_some() && self.saved.elapsed() >= age
    }

    /// Resets the checkpoint timer.
    pub(super) fn reset_checkpoint_timer(&mut self) {
        self.saved = Instant::now();
    }
}

/// Adds sums to `total`, which becomes `None` if a sum is unknown.
fn add(sums: impl Iterator<Item = PieceSum>, total: &mut Option<f64>) {
    for (_, sum) in sums {
        *total = total.zip(sum).map(|(total, sum)| total + sum);
    }
}

/// Decodes the verdict and the sums that a rank sent; `None` if the message is damaged.
fn decode(message: &[u8], sums: &mut Vec<PieceSum>) -> Option<Verdict> {
    let (&verdict, rest) = message.split_first()?;
    for entry in rest.chunks(17) {
        let (piece, rest) = entry.split_first_chunk::<8>()?;
        let (&known, sum) = rest.split_first()?;
        let sum = f64::from_le_bytes(sum.try_into().ok()?);
        sums.push((u64::from_le_bytes(*piece), (known == 1).then_some(sum)));
    }
    Verdict::ALL.get(usize::from(verdict)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::comm::Solo;
    use crate::train::comm::in_process::InProcess;

    /// The total is bit-identical for any number of ranks, and the most severe verdict wins.
    #[test]
    fn ranks_agree() {
        let sums: Vec<PieceSum> = (0..100u64).map(|i| (i, Some(1.0 / (i as f64 + 0.1)))).collect();
        let alone = {
            let (mut total, mut solo) = (Some(0.0), Solo);
            let mut callback = |_: Event<'_>| ControlFlow::Continue(());
            let mut referee = Referee::new(&mut callback, &mut solo, None);
            assert_eq!(referee.agree(Verdict::Stop, &sums, &mut total).unwrap(), Verdict::Stop);
            total.unwrap()
        };
        let opinions = [Verdict::Continue, Verdict::Stop, Verdict::Checkpoint];
        std::thread::scope(|scope| {
            for (mut comm, opinion) in InProcess::ranks(3).into_iter().zip(opinions) {
                let sums = &sums;
                scope.spawn(move || {
                    let mut callback = |_: Event<'_>| ControlFlow::Continue(());
                    let mut referee = Referee::new(&mut callback, &mut comm, None);
                    let mut total = Some(0.0);
                    assert_eq!(referee.agree(opinion, sums, &mut total).unwrap(), Verdict::Stop);
                    assert_eq!(total.unwrap().to_bits(), alone.to_bits());
                    let mut none = Some(0.0);
                    referee.agree(Verdict::Continue, &[(0, Some(1.0)), (1, None)], &mut none).unwrap();
                    assert_eq!(none, None);
                });
            }
        });
    }

    #[test]
    fn damaged_messages_are_refused() {
        for message in [&[][..], &[9], &[0, 1, 2], &[0; 17]] {
            assert_eq!(decode(message, &mut Vec::new()), None, "{message:?}");
        }
        assert_eq!(decode(&[1], &mut Vec::new()), Some(Verdict::Checkpoint));
    }
}
