//! Ordered parallel map: items are processed by worker threads, and results are returned in the
//! order of the items. The memory of the items in flight is limited.
//!
//! Start with [`parallel_map_ordered`]. The module knows nothing about text.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};

/// Number of items in flight per worker.
const AHEAD: u64 = 3;

/// Outcome of an attempt to produce an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextItem {
    /// The item was produced.
    Ready,
    /// The next item needs more memory than it may take; another attempt with more is possible.
    NeedsMemory,
    /// There are no more items.
    End,
}

/// Source of the items of a [parallel map](parallel_map_ordered).
pub(super) trait ItemSource {
    /// Type of the items. Processed items are reused.
    type Item: Default + Send;
    /// Fills an item that may take `memory` bytes.
    fn next(&mut self, item: &mut Self::Item, memory: u64) -> Result<NextItem>;
    /// Returns the bytes that an item takes while it is processed, including its result.
    fn cost(&self, item: &Self::Item) -> u64;
    /// Returns the bytes that an item takes while it waits to be reused, or `None` if it should not
    /// be reused.
    fn spare_bytes(&self, _item: &Self::Item) -> Option<u64> {
        None
    }
    /// Returns the bytes that all items in flight may take together.
    fn memory(&self) -> u64;
    /// Frees memory for an item that does not fit. Returns false if there is nothing left to free.
    fn free_memory(&mut self) -> bool {
        false
    }
    /// Returns the error for an item that costs more than the memory, or for the next item if it
    /// could not be produced.
    fn refuse(&mut self, item: Option<(&Self::Item, u64)>) -> Error;
    /// Returns the amount that was produced and the total, if known.
    fn progress(&self) -> (u64, Option<u64>);
}

/// Result of a worker that waits until all results before it have been passed on.
pub(super) trait HeldResult {
    /// Returns the memory in bytes.
    fn held_bytes(&self) -> u64;
}

/// Processed item: its number, the item itself and its result.
type ProcessedItem<I, R> = (u64, I, std::thread::Result<Result<R>>);

/// Items between the source and the sink, with the bytes that they take.
struct ItemsInFlight<I, R> {
    to: SyncSender<(u64, I)>,
    results: Receiver<ProcessedItem<I, R>>,
    /// Costs of the items that are being processed, by number.
    costs: BTreeMap<u64, u64>,
    /// Results whose predecessors are missing.
    waiting: BTreeMap<u64, Result<R>>,
    spare: Vec<I>,
    /// Bytes of `costs`, `waiting` and `spare`.
    bytes: u64,
    sent: u64,
    done: u64,
}

impl<I: Default + Send, R: Send + HeldResult> ItemsInFlight<I, R> {
    fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }

    /// Returns an item to fill.
    fn take_spare<S: ItemSource<Item = I>>(&mut self, source: &S) -> I {
        self.spare.pop().map_or_else(I::default, |item| {
            self.bytes = self.bytes.saturating_sub(source.spare_bytes(&item).unwrap_or(0));
            item
        })
    }

    fn drop_spare<S: ItemSource<Item = I>>(&mut self, source: &S) {
        while !self.spare.is_empty() {
            self.take_spare(source);
        }
    }

    fn send(&mut self, item: I, cost: u64) -> Result<()> {
        self.costs.insert(self.sent, cost);
        self.bytes += cost;
        let sent = self.to.send((self.sent, item));
        self.sent += 1;
        sent.map_err(|_| Error::Interrupted)
    }

    /// Waits for a result and passes on all results that are next in order.
    fn receive<S: ItemSource<Item = I>>(
        &mut self,
        source: &S,
        sink: &mut dyn FnMut(R) -> Result<()>,
    ) -> Result<()> {
        let Ok((number, item, result)) = self.results.recv() else { return Err(Error::Interrupted) };
        let cost = self.costs.remove(&number).unwrap_or(0);
        self.bytes = self.bytes.saturating_sub(cost);
        if let Some(bytes) = source.spare_bytes(&item) {
            self.bytes += bytes;
            self.spare.push(item);
        } else {
            drop(item);
        }
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        self.bytes += result.as_ref().map_or(0, HeldResult::held_bytes);
        self.waiting.insert(number, result);
        while let Some(result) = self.waiting.remove(&self.done) {
            let result = result?;
            self.bytes = self.bytes.saturating_sub(result.held_bytes());
            sink(result)?;
            self.done += 1;
        }
        Ok(())
    }

    /// Produces the next item and sends it to the workers. Waits until there is enough memory for
    /// it; returns false at the end of the source.
    fn admit<S: ItemSource<Item = I>>(
        &mut self,
        source: &mut S,
        sink: &mut dyn FnMut(R) -> Result<()>,
    ) -> Result<bool> {
        let mut item = self.take_spare(source);
        loop {
            match source.next(&mut item, source.memory().saturating_sub(self.bytes))? {
                NextItem::End => return Ok(false),
                NextItem::Ready => break,
                NextItem::NeedsMemory => {
                    self.wait_for_memory(source, sink, &mut |source| source.refuse(None))?;
                }
            }
        }
        let mut cost = source.cost(&item);
        while self.bytes.saturating_add(cost) > source.memory() {
            self.wait_for_memory(source, sink, &mut |source| source.refuse(Some((&item, cost))))?;
            cost = source.cost(&item);
        }
        self.send(item, cost)?;
        Ok(true)
    }

    /// Frees memory for an item that does not fit: drops unused items, then waits for a result,
    /// then frees memory of the source. Fails if nothing is left to do.
    fn wait_for_memory<S: ItemSource<Item = I>>(
        &mut self,
        source: &mut S,
        sink: &mut dyn FnMut(R) -> Result<()>,
        refuse: &mut dyn FnMut(&mut S) -> Error,
    ) -> Result<()> {
        if !self.spare.is_empty() {
            self.drop_spare(source);
            Ok(())
        } else if !self.is_empty() {
            self.receive(source, sink)
        } else if source.free_memory() {
            Ok(())
        } else {
            Err(refuse(source))
        }
    }
}

/// Applies `work` to every item on worker threads and passes the results to `sink` in the order of
/// the items. Returns the workers.
///
/// The first failure in that order is returned, so the error does not depend on the number of
/// threads. `tell` reports progress and may request a stop.
pub(super) fn parallel_map_ordered<S: ItemSource, W: Send, R: Send + HeldResult>(
    mut source: S,
    workers: Vec<W>,
    work: &(dyn Fn(&mut W, &mut S::Item) -> Result<R> + Sync),
    tell: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
    sink: &mut dyn FnMut(R) -> Result<()>,
) -> Result<Vec<W>> {
    let ahead = AHEAD * workers.len() as u64;
    std::thread::scope(|scope| {
        let (to, items) = sync_channel::<(u64, S::Item)>(ahead as usize);
        let items = Arc::new(Mutex::new(items));
        let (from, results) = channel();
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let (items, from) = (Arc::clone(&items), from.clone());
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
        let mut flight = ItemsInFlight {
            to,
            results,
            costs: BTreeMap::new(),
            waiting: BTreeMap::new(),
            spare: Vec::new(),
            bytes: 0,
            sent: 0,
            done: 0,
        };
        let mut end: Option<Result<()>> = None;
        loop {
            while end.is_none() && flight.sent - flight.done < ahead {
                match flight.admit(&mut source, sink) {
                    Ok(true) => {}
                    Ok(false) => end = Some(Ok(())),
                    Err(error) => end = Some(Err(error)),
                }
            }
            if flight.is_empty() {
                break;
            }
            flight.receive(&source, sink)?;
            if tell(source.progress()).is_break() {
                return Err(Error::Interrupted);
            }
        }
        drop(flight.to);
        end.unwrap_or(Ok(()))?;
        Ok(threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic))).collect())
    })
}
