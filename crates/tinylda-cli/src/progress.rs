//! Progress and messages on standard error: a progress bar in a terminal, an occasional line
//! otherwise, and only warnings about skipped data with `--quiet`.
//!
//! Start with [`Ui`], which every command receives. This module knows nothing about what is done.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tinylda::Progress;

/// Time between two lines of progress if standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Width of the progress bar in columns.
const BAR_WIDTH: usize = 12;

/// How messages and progress are shown to the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ui {
    quiet: bool,
    terminal: bool,
}

/// Unit of the amounts in a line of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Plain numbers.
    Plain,
    /// Bytes, shown in readable units such as MiB.
    Bytes,
}

impl Ui {
    pub(crate) fn new(quiet: bool) -> Ui {
        Ui { quiet, terminal: std::io::stderr().is_terminal() }
    }

    /// Prints a message, unless the user asked for quiet.
    pub(crate) fn say(self, text: &str) {
        if !self.quiet {
            // A message that cannot be shown must not stop the work.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Prints a warning about data that was skipped, even if the user asked for quiet: the result
    /// would look complete without it.
    #[allow(clippy::unused_self, reason = "called like `say`")]
    pub(crate) fn warn(self, text: &str) {
        let _ = writeln!(std::io::stderr(), "warning: {text}");
    }

    /// Starts reporting the progress of a task; nothing is shown before the first update.
    pub(crate) fn bar(self, what: &'static str, unit: Unit) -> ProgressReporter {
        let now = Instant::now();
        ProgressReporter {
            ui: self,
            what,
            unit,
            shown: OnceLock::new(),
            start: now,
            last: Mutex::new(now),
            pace: Mutex::new([(now, 0.0); 2]),
        }
    }
}

/// Reports the progress of one task, from any thread.
#[derive(Debug)]
pub(crate) struct ProgressReporter {
    ui: Ui,
    what: &'static str,
    unit: Unit,
    shown: OnceLock<ProgressBar>,
    start: Instant,
    last: Mutex<Instant>,
    /// Two earlier points in time with the completed fractions, from which the speed is estimated.
    pace: Mutex<[(Instant, f64); 2]>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Joins as many parts of a text as fit into `columns`, but at least the first one.
fn fit(parts: &[String], columns: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let separator = if text.is_empty() { "" } else { ", " };
        let width = console::measure_text_width(&text) + separator.len() + console::measure_text_width(part);
        if !text.is_empty() && width > columns {
            break;
        }
        text.push_str(separator);
        text.push_str(part);
    }
    text
}

/// Formats seconds as a clock: 75 s is 1:15.
pub(crate) fn clock(seconds: f64) -> String {
    let s = seconds.max(0.0).round() as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, m, s) => format!("{m}:{s:02}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}"),
    }
}

impl ProgressReporter {
    /// Shows the progress of an operation of the library. Returns `Break` after Ctrl-C.
    pub(crate) fn update(&self, progress: Progress) -> ControlFlow<()> {
        self.update_count(progress.done, progress.total.unwrap_or(0), "")
    }

    /// Shows that `done` of `total` units are done. Returns `Break` after Ctrl-C.
    pub(crate) fn update_count(&self, done: u64, total: u64, message: &str) -> ControlFlow<()> {
        self.show(done, total, || self.parts(done, total, message))
    }

    /// Shows the completed fraction of a task that may end sooner than planned and whose speed
    /// varies. Returns `Break` after Ctrl-C.
    pub(crate) fn update_fraction(&self, done: f64, first: &str, more: &[String]) -> ControlFlow<()> {
        self.update_with_time_left(done, first, self.time_left(done), more)
    }

    /// Shows the completed fraction of a task with the remaining seconds that the caller has
    /// estimated. Returns `Break` after Ctrl-C.
    pub(crate) fn update_with_time_left(
        &self,
        done: f64,
        first: &str,
        left: Option<f64>,
        more: &[String],
    ) -> ControlFlow<()> {
        const STEPS: f64 = 10_000.0;
        self.show((done * STEPS) as u64, STEPS as u64, || {
            let mut parts =
                vec![first.to_owned(), format!("{} elapsed", clock(self.start.elapsed().as_secs_f64()))];
            if let Some(seconds) = left {
                parts.push(format!("ETA {}", clock(seconds)));
            }
            parts.extend(more.iter().filter(|part| !part.is_empty()).cloned());
            parts
        })
    }

    /// Returns the remaining seconds, estimated from the speed of about the last half minute.
    fn time_left(&self, done: f64) -> Option<f64> {
        const WINDOW: Duration = Duration::from_secs(15);
        let mut pace = lock(&self.pace);
        if pace[1].1 == 0.0 {
            // Work that was done before this process started says nothing about its speed.
            *pace = [(self.start, done); 2];
        }
        let [before, last] = *pace;
        if last.0.elapsed() >= WINDOW {
            *pace = [last, (Instant::now(), done)];
        }
        let (seconds, share) = (before.0.elapsed().as_secs_f64(), done - before.1);
        (seconds > 1.0 && share > 0.0).then(|| (1.0 - done).max(0.0) * seconds / share)
    }

    /// Shows a position and the parts of a text, the most important first. A terminal shows as many
    /// parts as fit into a line.
    fn show(&self, done: u64, total: u64, parts: impl FnOnce() -> Vec<String>) -> ControlFlow<()> {
        if !self.ui.quiet && self.ui.terminal {
            let bar = self.shown.get_or_init(|| {
                let bar = ProgressBar::new(total);
                // A text that is longer than a line in spite of `fit` is truncated.
                if let Ok(style) = ProgressStyle::with_template(&format!("{{bar:{BAR_WIDTH}}} {{wide_msg}}"))
                {
                    bar.set_style(style.progress_chars("=> "));
                }
                bar
            });
            bar.set_length(total.max(done));
            bar.set_position(done);
            let columns = usize::from(console::Term::stderr().size().1);
            bar.set_message(fit(&parts(), columns.saturating_sub(BAR_WIDTH + 2)));
        } else if !self.ui.quiet {
            let mut last = lock(&self.last);
            if last.elapsed() >= LINE_INTERVAL {
                *last = Instant::now();
                self.ui.say(&parts().join(", "));
            }
        }
        if crate::signals::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns the parts of a line of progress, the most important first.
    fn parts(&self, done: u64, total: u64, message: &str) -> Vec<String> {
        let amount =
            |n: u64| if self.unit == Unit::Bytes { tinylda::format::human_bytes(n) } else { n.to_string() };
        let elapsed = self.start.elapsed().as_secs_f64();
        let of = if total > 0 { format!("/{}", amount(total)) } else { String::new() };
        let mut parts = vec![format!("{} {}{of}", self.what, amount(done))];
        if !message.is_empty() {
            parts.push(message.to_owned());
        }
        parts.push(format!("{} elapsed", clock(elapsed)));
        // An estimate needs at least one second or one percent of the work.
        if total > 0 && done > 0 && (elapsed > 1.0 || done.saturating_mul(100) >= total) {
            let left = elapsed * total.saturating_sub(done) as f64 / done as f64;
            parts.push(format!("ETA {}", clock(left)));
        }
        parts
    }

    /// Returns the seconds since the start of the task.
    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Prints a message without disturbing the progress bar.
    pub(crate) fn say(&self, text: &str) {
        match self.shown.get() {
            Some(bar) => bar.suspend(|| self.ui.say(text)),
            None => self.ui.say(text),
        }
    }

    /// Removes the progress bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.shown.get() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for ProgressReporter {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    /// In a terminal of 100 columns, a line of `train` ends with a complete part.
    #[test]
    fn u16_progress_fits_into_100_columns() {
        let parts = [
            "pass 112/500, perplexity 1577.9",
            "1:02:15 elapsed",
            "ETA 2:00:00",
            "1.2 GiB of 2.0 GiB",
            "3.5 GiB on disk",
            "120 MB/s",
            "1,455,440 of 8,200,000 documents",
        ]
        .map(str::to_owned);
        let text = super::fit(&parts, 100 - super::BAR_WIDTH - 2);
        assert_eq!(text, "pass 112/500, perplexity 1577.9, 1:02:15 elapsed, ETA 2:00:00, 1.2 GiB of 2.0 GiB");
        assert_eq!(super::fit(&parts, 500), parts.join(", "));
        assert_eq!(super::fit(&parts, 3), parts[0]);
        assert_eq!(super::fit(&[], 3), "");
    }

    #[test]
    fn clock_times() {
        for (seconds, text) in [(0.2, "0:00"), (75.4, "1:15"), (3600.0, "1:00:00")] {
            assert_eq!(super::clock(seconds), text);
        }
    }
}
