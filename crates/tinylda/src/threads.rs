//! The worker threads of a training: how many there are, how they share work, and how they stay
//! awake between two phases.
//!
//! The training loop runs on the caller's thread, which is worker 0; [`Threads`] owns the others.
//! It is passed explicitly to everything that runs in parallel. This module does not know what the
//! work is.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result, Template};

/// Returns the number of threads to start when `asked` are requested: at most a few per core, since
/// more would only compete.
pub(crate) fn started(asked: usize) -> usize {
    asked.clamp(1, (4 * cores()).max(64))
}

/// Starts a thread pool for work that does not run on the caller's thread.
pub(crate) fn pool(asked: usize) -> Result<rayon::ThreadPool> {
    build(started(asked))
}

/// Starts a thread pool of exactly `threads` threads.
fn build(threads: usize) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| {
        let reason = Template::from("the system cannot start them: ").text(e.to_string());
        Error::unsupported_value("threads", threads, reason).with_remedy("choose fewer")
    })
}

/// Returns the number of cores, or 1 if it is unknown.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Locks a mutex. A panic of another thread that held it is ignored.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The workers of a training: the caller's thread and, for more than one, the threads of a pool.
///
/// A sleeping thread takes longer to wake up than the time between two phases. If every worker has
/// a core to itself, workers therefore spin for a short while before they sleep.
#[derive(Debug)]
pub(crate) struct Threads {
    /// All workers except the caller's thread.
    pool: Option<rayon::ThreadPool>,
    count: usize,
    /// Number of the current phase. Spinning workers wait for its change.
    phase: Arc<AtomicU64>,
    cores: usize,
}

impl Threads {
    /// Starts the workers; see [`started`] for their number.
    pub(crate) fn new(asked: usize) -> Result<Threads> {
        let count = started(asked);
        let pool = if count > 1 { Some(build(count - 1)?) } else { None };
        Ok(Threads { pool, count, phase: Arc::default(), cores: cores() })
    }

    /// Starts one worker per core, or uses the caller's thread alone if the system cannot start
    /// them. This is for short work outside of a training. Rayon's global pool is never used, since
    /// its threads do not exist in a forked process, which would wait for them forever.
    pub(crate) fn per_core() -> Threads {
        let alone = |_| Threads { pool: None, count: 1, phase: Arc::default(), cores: cores() };
        Threads::new(cores()).unwrap_or_else(alone)
    }

    /// Returns the number of workers, the caller's thread included.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Runs `each` on every task, longest first, so that workers finish at about the same time.
    /// `init(worker)` creates the per-worker state; it is called on every worker, with or without
    /// tasks.
    pub(crate) fn share<S, T: Send>(
        &self,
        mut tasks: Vec<(u64, T)>,
        init: impl Fn(usize) -> S + Sync,
        each: impl Fn(&mut S, T) + Sync,
    ) {
        tasks.sort_by_key(|&(work, _)| Reverse(work));
        let Some(pool) = &self.pool else {
            let mut state = init(0);
            for (_, task) in tasks {
                each(&mut state, task);
            }
            return;
        };
        let tasks: Vec<Mutex<Option<T>>> =
            tasks.into_iter().map(|(_, task)| Mutex::new(Some(task))).collect();
        let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        self.phase.fetch_add(1, Ordering::Relaxed);
        let run = |worker: usize| {
            let mut state = init(worker);
            // If there are few tasks, only as many workers take one, so that the buffers of the
            // others stay small.
            while worker < tasks.len()
                && let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed))
            {
                if let Some(task) = locked(task).take() {
                    each(&mut state, task);
                }
            }
            drop(state);
            ended.fetch_add(1, Ordering::Relaxed);
            if self.may_spin() {
                spin_while(|| ended.load(Ordering::Relaxed) < self.count);
            }
        };
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, context| run(context.index() + 1));
            run(0);
        });
        if self.may_spin() {
            let phase = Arc::clone(&self.phase);
            let now = phase.load(Ordering::Relaxed);
            pool.spawn_broadcast(move |_| spin_while(|| phase.load(Ordering::Relaxed) == now));
        }
    }

    /// Maps tasks to results, in the order of the tasks. `init` creates the per-worker state.
    pub(crate) fn map<S, T: Send, R: Send>(
        &self,
        tasks: Vec<T>,
        init: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, T) -> R + Sync,
    ) -> Vec<R> {
        let mut results: Vec<Option<R>> = tasks.iter().map(|_| None).collect();
        let work = tasks.into_iter().zip(&mut results).map(|task| (0, task)).collect();
        self.share(work, |_| init(), |state, (task, result)| *result = Some(each(state, task)));
        results.into_iter().flatten().collect()
    }

    /// Runs `each` on every task.
    pub(crate) fn for_each<T: Send>(&self, tasks: Vec<T>, each: impl Fn(T) + Sync) {
        self.share(tasks.into_iter().map(|task| (0, task)).collect(), |_| (), |(), task| each(task));
    }

    /// Returns whether every worker has a core to itself.
    fn may_spin(&self) -> bool {
        (2..=self.cores).contains(&self.count)
    }
}

/// Keeps the thread awake while the condition holds, for a bounded time. A number of iterations
/// would not do: on a busy machine, yielding may take as long as a time slice of another thread.
/// The clock affects only when a thread sleeps, never a result.
fn spin_while(holds: impl Fn() -> bool) {
    const LIMIT: Duration = Duration::from_micros(300);
    let began = Instant::now();
    while holds() && began.elapsed() < LIMIT {
        // Threads with work take precedence.
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::{Threads, cores, pool};
    use crate::{Algorithm, Trainer};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Every task runs once, the longest first. Every worker creates its state, with or without
    /// tasks.
    #[test]
    fn tasks_are_shared() {
        for (threads, tasks) in [(1, 0), (1, 7), (2, 1), (2, 100), (3, 2), (16, 5), (16, 100)] {
            let (made_ready, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let mut turns = vec![usize::MAX; tasks];
            let list = turns.iter_mut().enumerate().map(|(i, turn)| ((i * 37 % 101) as u64, turn));
            Threads::new(threads).unwrap().share(
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
    fn results_come_in_the_order_of_tasks() {
        for threads in [1, 2, 5] {
            let squares = Threads::new(threads).unwrap().map((0..100).collect(), || (), |(), n: u32| n * n);
            assert!(squares.into_iter().eq((0..100).map(|n| n * n)));
        }
    }

    #[test]
    fn no_more_threads_than_cores_can_serve() {
        assert_eq!(pool(0).unwrap().current_num_threads(), 1);
        let most = (4 * cores()).max(64);
        assert_eq!(Threads::new(usize::MAX).unwrap().count(), most);
        // As many threads are planned for and reported as are started.
        let trainer = Trainer::new(3).threads(usize::MAX);
        assert_eq!(trainer.threads_used(), most);
        assert_eq!(trainer.algorithm(Algorithm::Atbp).threads_used(), 1);
    }
}
