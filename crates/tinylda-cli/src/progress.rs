//! Progress and messages, on standard error: a bar in a terminal, a line now and then elsewhere, nothing with --quiet.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tinylda::Progress;

/// How often a line is printed where there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

/// How this run speaks to the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ui {
    quiet: bool,
    terminal: bool,
}

/// How amounts and the time left are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Numbers.
    Plain,
    /// Bytes.
    Bytes,
}

impl Ui {
    pub(crate) fn new(quiet: bool) -> Ui {
        Ui { quiet, terminal: std::io::stderr().is_terminal() }
    }

    /// A message to the user.
    pub(crate) fn say(self, text: &str) {
        if !self.quiet {
            // A message that cannot be shown is no reason to stop the work.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Progress of a piece of work; nothing is shown before the first report.
    pub(crate) fn bar(self, what: &'static str, unit: Unit) -> Bar {
        let now = Instant::now();
        Bar {
            ui: self,
            what,
            unit,
            shown: OnceLock::new(),
            began: now,
            last: Mutex::new(now),
            pace: Mutex::new([(now, 0.0); 2]),
        }
    }
}

/// Progress of one piece of work, which may be told from the thread that does it.
#[derive(Debug)]
pub(crate) struct Bar {
    ui: Ui,
    what: &'static str,
    unit: Unit,
    shown: OnceLock<ProgressBar>,
    began: Instant,
    last: Mutex<Instant>,
    /// Two earlier times and the share that was done: what the pace is judged by.
    pace: Mutex<[(Instant, f64); 2]>,
}

/// Seconds left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Left {
    /// By work of the same kind that is done.
    About(f64),
    /// If the work does not end sooner than planned.
    AtMost(f64),
}

fn locked<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

/// 75 s as 1:15.
pub(crate) fn clock(seconds: f64) -> String {
    let s = seconds.max(0.0).round() as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, m, s) => format!("{m}:{s:02}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}"),
    }
}

impl Bar {
    /// Shows how far an operation of the library is; says whether the user has asked to stop.
    pub(crate) fn step(&self, progress: Progress) -> ControlFlow<()> {
        self.at(progress.done, progress.total.unwrap_or(0), "")
    }

    /// Shows how far the work is; says whether the user has asked to stop.
    pub(crate) fn at(&self, done: u64, total: u64, message: &str) -> ControlFlow<()> {
        self.show(done, total, || self.text(done, total, message))
    }

    /// The same of work that may end sooner than planned, and whose pace changes: of its share that is done.
    pub(crate) fn share(&self, done: f64, first: &str, more: &str) -> ControlFlow<()> {
        self.so_far(done, first, self.left(done).map(Left::AtMost), more)
    }

    /// The same where the caller knows what is to be said of it, and when it will be over.
    pub(crate) fn so_far(&self, done: f64, first: &str, left: Option<Left>, more: &str) -> ControlFlow<()> {
        const STEPS: f64 = 10_000.0;
        self.show((done * STEPS) as u64, STEPS as u64, || {
            let mut text = format!("{first}, {} gone", clock(self.began.elapsed().as_secs_f64()));
            // Writing to a string cannot fail.
            let _ = match left {
                Some(Left::About(seconds)) => write!(text, ", about {} left", clock(seconds)),
                Some(Left::AtMost(seconds)) => write!(text, ", at most {} left", clock(seconds)),
                None => Ok(()),
            };
            if !more.is_empty() {
                let _ = write!(text, ", {more}");
            }
            text
        })
    }

    /// Seconds left, by the pace of the last half minute or so.
    fn left(&self, done: f64) -> Option<f64> {
        const LONG: Duration = Duration::from_secs(15);
        let mut pace = locked(&self.pace);
        if pace[1].1 == 0.0 {
            // What was done before this process began is no measure.
            *pace = [(self.began, done); 2];
        }
        let [before, last] = *pace;
        if last.0.elapsed() >= LONG {
            *pace = [last, (Instant::now(), done)];
        }
        let (seconds, share) = (before.0.elapsed().as_secs_f64(), done - before.1);
        (seconds > 1.0 && share > 0.0).then(|| (1.0 - done).max(0.0) * seconds / share)
    }

    fn show(&self, done: u64, total: u64, text: impl FnOnce() -> String) -> ControlFlow<()> {
        if !self.ui.quiet && self.ui.terminal {
            let bar = self.shown.get_or_init(|| {
                let bar = ProgressBar::new(total);
                // The text is cut where the terminal is too narrow, so that a line is never two.
                if let Ok(style) = ProgressStyle::with_template("{bar:16} {wide_msg}") {
                    bar.set_style(style.progress_chars("=> "));
                }
                bar
            });
            bar.set_length(total.max(done));
            bar.set_position(done);
            bar.set_message(text());
        } else if !self.ui.quiet {
            let mut last = locked(&self.last);
            if last.elapsed() >= EVERY {
                *last = Instant::now();
                self.ui.say(&text());
            }
        }
        if crate::INTERRUPTED.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn text(&self, done: u64, total: u64, message: &str) -> String {
        let amount =
            |n: u64| if self.unit == Unit::Bytes { tinylda::format::human_bytes(n) } else { n.to_string() };
        let gone = self.began.elapsed().as_secs_f64();
        let mut text = format!("{} {}", self.what, amount(done));
        // Writing to a string cannot fail.
        if total > 0 {
            let _ = write!(text, "/{}", amount(total));
        }
        if !message.is_empty() {
            let _ = write!(text, ", {message}");
        }
        let _ = write!(text, ", {} gone", clock(gone));
        // There must be something to judge by: a second, or a hundredth of the work.
        if total > 0 && done > 0 && (gone > 1.0 || done.saturating_mul(100) >= total) {
            let left = gone * total.saturating_sub(done) as f64 / done as f64;
            let _ = write!(text, ", {} left", clock(left));
        }
        text
    }

    /// Seconds since it began.
    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// A message to the user that does not disturb the bar.
    pub(crate) fn say(&self, text: &str) {
        match self.shown.get() {
            Some(bar) => bar.suspend(|| self.ui.say(text)),
            None => self.ui.say(text),
        }
    }

    pub(crate) fn done(&self) {
        if let Some(bar) = self.shown.get() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.done();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn times() {
        for (seconds, text) in [(0.2, "0:00"), (75.4, "1:15"), (3600.0, "1:00:00")] {
            assert_eq!(super::clock(seconds), text);
        }
    }
}
