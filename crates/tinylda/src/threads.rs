//! The threads that a training runs on: how many there are, how they share work, and what keeps them awake between two shares.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Threads to work on: no more than a few for each core, which others would only take from each other. The result does not depend on
/// them.
pub(crate) fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    let threads = threads.clamp(1, (4 * cores()).max(64));
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| Error::Setting {
        option: "--threads",
        found: threads.to_string(),
        expected: "threads that the system can start".into(),
        remedy: format!("Choose fewer ({e})."),
    })
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What only one thread at a time has.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of the pool that this is called from.
///
/// One that falls asleep takes longer to wake than what lies between two shares of work. So it stays awake for a while, where each
/// thread has a core to itself: else they would take it from each other.
#[derive(Debug)]
pub(crate) struct Threads {
    /// Which share of work this is.
    share: Arc<AtomicU64>,
    cores: usize,
}

impl Default for Threads {
    fn default() -> Threads {
        Threads { share: Arc::default(), cores: cores() }
    }
}

impl Threads {
    /// `each(own, task)` for tasks of so much work, with what `ready(thread)` has made on every thread. The next thread that is free
    /// takes the next task, the longest first: so they come to the end together.
    pub(crate) fn share<S, T: Send>(
        &self,
        mut tasks: Vec<(u64, T)>,
        ready: impl Fn(usize) -> S + Sync,
        each: impl Fn(&mut S, T) + Sync,
    ) {
        tasks.sort_by_key(|&(work, _)| Reverse(work));
        let tasks: Vec<Mutex<Option<T>>> =
            tasks.into_iter().map(|(_, task)| Mutex::new(Some(task))).collect();
        let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        self.share.fetch_add(1, Ordering::Relaxed);
        rayon::broadcast(|thread| {
            let mut own = ready(thread.index());
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Some(task) = locked(task).take() {
                    each(&mut own, task);
                }
            }
            drop(own);
            ended.fetch_add(1, Ordering::Relaxed);
            if self.may_stay() {
                stay(|| ended.load(Ordering::Relaxed) < thread.num_threads());
            }
        });
        if self.may_stay() {
            let share = Arc::clone(&self.share);
            let now = share.load(Ordering::Relaxed);
            rayon::spawn_broadcast(move |_| stay(|| share.load(Ordering::Relaxed) == now));
        }
    }

    fn may_stay(&self) -> bool {
        (2..=self.cores).contains(&rayon::current_num_threads())
    }
}

/// Stays awake as long as this holds, within bounds.
fn stay(holds: impl Fn() -> bool) {
    const LONG: Duration = Duration::from_micros(300);
    let began = Instant::now();
    while holds() && began.elapsed() < LONG {
        // Whoever has something to do goes first.
        std::thread::yield_now();
    }
}
