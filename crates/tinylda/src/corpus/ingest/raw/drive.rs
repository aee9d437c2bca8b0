//! How jobs get to threads, and their results back in order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use super::source::{Batch, TextSource};
use crate::error::{Error, Result};

/// Jobs on their way, for each thread.
const AHEAD: u64 = 3;

/// Where jobs come from.
pub(super) trait Jobs {
    /// A job; those that are done are used again.
    type Job: Default + Send;
    /// Fills a job; false where nothing is left.
    fn next(&mut self, job: &mut Self::Job) -> Result<bool>;
    /// How much was taken, and how much there is.
    fn progress(&self) -> (u64, Option<u64>);
}

impl Jobs for &mut (dyn TextSource + '_) {
    type Job = Batch;

    fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        TextSource::next(*self, batch)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        TextSource::progress(*self)
    }
}

/// Takes all jobs, has them worked on by threads, and hands the results on in the order of the jobs. The first failure in that
/// order is the one that is told, however many threads there are.
pub(super) fn drive<J: Jobs, W: Send, R: Send>(
    mut source: J,
    workers: Vec<W>,
    work: &(dyn Fn(&mut W, &mut J::Job) -> Result<R> + Sync),
    tell: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
    sink: &mut dyn FnMut(R) -> Result<()>,
) -> Result<Vec<W>> {
    let ahead = AHEAD * workers.len() as u64;
    std::thread::scope(|scope| {
        let (to, jobs) = sync_channel::<(u64, J::Job)>(ahead as usize);
        let jobs = std::sync::Arc::new(Mutex::new(jobs));
        let (from, results) = channel();
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let (jobs, from) = (std::sync::Arc::clone(&jobs), from.clone());
                scope.spawn(move || {
                    loop {
                        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok((number, mut job)) = next else { break };
                        let result = catch_unwind(AssertUnwindSafe(|| work(&mut worker, &mut job)));
                        if from.send((number, job, result)).is_err() {
                            break;
                        }
                    }
                    worker
                })
            })
            .collect();
        drop(from);
        let (mut sent, mut received, mut done) = (0u64, 0u64, 0u64);
        let (mut spare, mut waiting) = (Vec::<J::Job>::new(), BTreeMap::new());
        let mut end: Option<Result<()>> = None;
        loop {
            while end.is_none() && sent - done < ahead {
                let mut job = spare.pop().unwrap_or_default();
                match source.next(&mut job) {
                    Ok(true) => {
                        if to.send((sent, job)).is_err() {
                            return Err(Error::Interrupted);
                        }
                        sent += 1;
                    }
                    Ok(false) => end = Some(Ok(())),
                    Err(error) => end = Some(Err(error)),
                }
            }
            if received == sent {
                break;
            }
            let Ok((number, job, result)) = results.recv() else { return Err(Error::Interrupted) };
            received += 1;
            spare.push(job);
            waiting.insert(number, result.unwrap_or_else(|panic| resume_unwind(panic)));
            while let Some(result) = waiting.remove(&done) {
                sink(result?)?;
                done += 1;
            }
            if tell(source.progress()).is_break() {
                return Err(Error::Interrupted);
            }
        }
        drop(to);
        end.unwrap_or(Ok(()))?;
        Ok(threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic))).collect())
    })
}
