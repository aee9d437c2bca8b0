//! The threads that a training runs on: how many there are, how they share work, and what keeps them awake between two shares.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result, Template};

/// How many threads are started where so many are asked for: no more than a few for each core, which others would only take from each
/// other.
pub(crate) fn started(asked: usize) -> usize {
    asked.clamp(1, (4 * cores()).max(64))
}

/// Threads to work on. The result does not depend on how many there are.
pub(crate) fn pool(asked: usize) -> Result<rayon::ThreadPool> {
    let threads = started(asked);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| {
        let reason = Template::from("the system cannot start them: ").text(e.to_string());
        Error::unsupported_value("threads", threads, reason).with_remedy("choose fewer")
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

#[cfg(test)]
mod tests {
    use super::{Threads, cores, pool};
    use crate::{Algorithm, Trainer};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Every task once, the longest first; every thread makes ready, with or without tasks.
    #[test]
    fn tasks_are_shared() {
        for (threads, tasks) in [(1, 0), (1, 7), (2, 1), (2, 100), (3, 2), (16, 5), (16, 100)] {
            let (made_ready, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let mut turns = vec![usize::MAX; tasks];
            pool(threads).unwrap().install(|| {
                let list = turns.iter_mut().enumerate().map(|(i, turn)| ((i * 37 % 101) as u64, turn));
                Threads::default().share(
                    list.collect(),
                    |thread| {
                        made_ready.fetch_add(1, Relaxed);
                        thread
                    },
                    |own, task| {
                        assert!(*own < threads);
                        *task = turn.fetch_add(1, Relaxed);
                    },
                );
            });
            assert_eq!(made_ready.into_inner(), threads);
            assert_eq!(turn.into_inner(), tasks);
            let mut work: Vec<u64> = (0..tasks).map(|i| (i * 37 % 101) as u64).collect();
            if threads == 1 {
                let mut order: Vec<usize> = (0..tasks).collect();
                order.sort_by_key(|&i| turns[i]);
                let done: Vec<u64> = order.iter().map(|&i| work[i]).collect();
                work.sort_unstable_by_key(|&work| std::cmp::Reverse(work));
                assert_eq!(done, work);
            }
            turns.sort_unstable();
            assert!(turns.into_iter().eq(0..tasks));
        }
    }

    #[test]
    fn no_more_threads_than_cores_can_serve() {
        assert_eq!(pool(0).unwrap().current_num_threads(), 1);
        let most = (4 * cores()).max(64);
        assert_eq!(pool(usize::MAX).unwrap().current_num_threads(), most);
        // And they are what is said and planned.
        let trainer = Trainer::new(3).threads(usize::MAX);
        assert_eq!(trainer.threads_used(), most);
        assert_eq!(trainer.algorithm(Algorithm::Atbp).threads_used(), 1);
    }
}
