//! Ordered parallel map: items are processed by worker threads, and results are returned in the
//! order of the items.
//!
//! Start with [`parallel_map_ordered`]. The module knows nothing about text.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use super::source::{TextBatch, TextSource};
use crate::error::{Error, Result};

/// Number of items in flight per worker.
const AHEAD: u64 = 3;

/// Source of the items of a [parallel map](parallel_map_ordered).
pub(super) trait ItemSource {
    /// Type of the items. Processed items are reused.
    type Item: Default + Send;
    /// Fills an item; returns false at the end of the source.
    fn next(&mut self, item: &mut Self::Item) -> Result<bool>;
    /// Returns the amount that was produced and the total, if known.
    fn progress(&self) -> (u64, Option<u64>);
}

impl ItemSource for &mut (dyn TextSource + '_) {
    type Item = TextBatch;

    fn next(&mut self, batch: &mut TextBatch) -> Result<bool> {
        TextSource::next(*self, batch)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        TextSource::progress(*self)
    }
}

/// Applies `work` to every item on worker threads and passes the results to `sink` in the order of
/// the items. Returns the workers.
///
/// The first failure in that order is returned, so the error does not depend on the number of
/// threads. `tell` reports progress and may request a stop.
pub(super) fn parallel_map_ordered<S: ItemSource, W: Send, R: Send>(
    mut source: S,
    workers: Vec<W>,
    work: &(dyn Fn(&mut W, &mut S::Item) -> Result<R> + Sync),
    tell: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
    sink: &mut dyn FnMut(R) -> Result<()>,
) -> Result<Vec<W>> {
    let ahead = AHEAD * workers.len() as u64;
    std::thread::scope(|scope| {
        let (to, items) = sync_channel::<(u64, S::Item)>(ahead as usize);
        let items = std::sync::Arc::new(Mutex::new(items));
        let (from, results) = channel();
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let (items, from) = (std::sync::Arc::clone(&items), from.clone());
                scope.spawn(move || {
                    loop {
                        let next = items.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok((number, mut item)) = next else { break };
                        let result = catch_unwind(AssertUnwindSafe(|| work(&mut worker, &mut item)));
                        if from.send((number, item, result)).is_err() {
                            break;
                        }
                    }
                    worker
                })
            })
            .collect();
        drop(from);
        let (mut sent, mut received, mut done) = (0u64, 0u64, 0u64);
        let (mut spare, mut waiting) = (Vec::<S::Item>::new(), BTreeMap::new());
        let mut end: Option<Result<()>> = None;
        loop {
            while end.is_none() && sent - done < ahead {
                let mut item = spare.pop().unwrap_or_default();
                match source.next(&mut item) {
                    Ok(true) => {
                        if to.send((sent, item)).is_err() {
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
            let Ok((number, item, result)) = results.recv() else { return Err(Error::Interrupted) };
            received += 1;
            spare.push(item);
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
