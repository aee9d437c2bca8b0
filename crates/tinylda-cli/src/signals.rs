//! Ctrl-C and other requests to stop.
//!
//! The first request sets a flag, which the running command checks whenever it reports progress. A
//! command that waits for input, or that computes without progress, cannot check it. So a request
//! also starts a timer, and when it has run out, the process removes its temporary files and exits,
//! whatever its threads are doing. This is safe because files appear under their names only when
//! they are complete.
//!
//! While a training can write a checkpoint, or while its model is written, there is no timer: the
//! work of hours should not be lost. A second request always ends the process at once.
//!
//! Start with [`handle`].

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

use crate::progress::Ui;

/// Time that a command has for ending by itself after the first request.
const GRACE: Duration = Duration::from_millis(600);
/// Time between two checks of the stage of the command.
const POLL: Duration = Duration::from_millis(20);
/// Longest wait for a last message, in case standard error is blocked.
const MESSAGE_TIMEOUT: Duration = Duration::from_millis(200);

/// Statement about a command that has been stopped and had nothing to lose.
pub(crate) const STOPPED: &str = "Stopped. No incomplete file was left behind.";

/// Number of requests to stop so far.
static REQUESTS: AtomicU32 = AtomicU32::new(0);
static STAGE: AtomicU8 = AtomicU8::new(Stage::Disposable as u8);
/// Set by the thread that reports why the process ends, so that there is only one such message.
static ENDING: AtomicBool = AtomicBool::new(false);

/// What would be lost if the process ended now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Nothing that the user has not asked to stop.
    Disposable = 0,
    /// A training, which writes a checkpoint when it is asked to stop.
    Training = 1,
    /// A finished training whose model is being written.
    Writing = 2,
    /// Several runs, whose results so far are written when they are asked to stop.
    Runs = 3,
}

impl Stage {
    fn current() -> Stage {
        match STAGE.load(Ordering::Relaxed) {
            1 => Stage::Training,
            2 => Stage::Writing,
            3 => Stage::Runs,
            _ => Stage::Disposable,
        }
    }

    /// Sets the stage of the command.
    pub(crate) fn set(self) {
        STAGE.store(self as u8, Ordering::Relaxed);
    }

    /// Sets the stage of the command until the returned value is dropped.
    pub(crate) fn enter(self) -> StageGuard {
        let before = Stage::current();
        self.set();
        StageGuard(before)
    }
}

/// Restores the previous stage when it is dropped.
#[derive(Debug)]
pub(crate) struct StageGuard(Stage);

impl Drop for StageGuard {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Returns whether the user has asked to stop.
pub(crate) fn interrupted() -> bool {
    REQUESTS.load(Ordering::Relaxed) > 0
}

/// Handles a request to stop. Called on a thread of its own for every signal.
pub(crate) fn handle(quiet: bool) {
    let ui = Ui::new(quiet);
    let stage = Stage::current();
    if REQUESTS.fetch_add(1, Ordering::Relaxed) > 0 {
        exit(match stage {
            Stage::Disposable => STOPPED,
            Stage::Training => "Stopped. The progress since the last checkpoint is lost.",
            Stage::Writing => "Stopped. The model was not written.",
            Stage::Runs => "Stopped. The progress of the current run is lost.",
        });
    }
    let spawned = std::thread::Builder::new().name("signals".into()).spawn(watch);
    match stage {
        // Without a thread to wait, there is no grace.
        Stage::Disposable if spawned.is_err() => exit(STOPPED),
        Stage::Disposable => {}
        Stage::Training => {
            ui.say("\nStopping after the next checkpoint. Press Ctrl-C again to quit immediately.");
        }
        Stage::Runs => ui.say("\nStopping. Press Ctrl-C again to quit immediately."),
        Stage::Writing => {
            ui.say("\nThe model is being written. Press Ctrl-C again to quit immediately, without it.");
        }
    }
}

/// Ends the process when the grace period is over, but not while something would be lost.
fn watch() {
    let mut waited = Duration::ZERO;
    while waited < GRACE {
        std::thread::sleep(POLL);
        waited = if Stage::current() == Stage::Disposable { waited + POLL } else { Duration::ZERO };
    }
    exit(STOPPED);
}

/// Removes the temporary files and ends the process.
fn exit(message: &'static str) -> ! {
    if ENDING.swap(true, Ordering::Relaxed) {
        // Another thread is ending the process, unless something blocks it.
        std::thread::sleep(GRACE);
        std::process::exit(1);
    }
    tinylda::files::discard_all();
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // If standard error cannot be written to, there is nothing left to do.
        let _ = writeln!(std::io::stderr(), "{message}");
        let _ = done.send(());
    });
    let _ = is_done.recv_timeout(MESSAGE_TIMEOUT);
    std::process::exit(1);
}

/// Claims the right to report why the process ends. Waits if another thread has claimed it, since
/// that thread ends the process.
pub(crate) fn claim_end() {
    if ENDING.swap(true, Ordering::Relaxed) {
        loop {
            std::thread::park();
        }
    }
}
