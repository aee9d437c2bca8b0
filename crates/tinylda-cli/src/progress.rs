//! Progress and messages, on standard error: a bar in a terminal, a line now and then elsewhere, nothing with --quiet.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a line is printed where there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

/// How this run speaks to the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ui {
    quiet: bool,
    terminal: bool,
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

    /// A bar for work of `total` units (0: unknown). `template` is indicatif's; `what` names the work in plain lines.
    pub(crate) fn bar(self, what: &'static str, total: u64, template: &str) -> Bar {
        let bar = if self.quiet || !self.terminal {
            ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden())
        } else {
            let bar = if total > 0 { ProgressBar::new(total) } else { ProgressBar::new_spinner() };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        };
        Bar {
            inner: bar,
            what,
            plain: !self.quiet && !self.terminal,
            began: Instant::now(),
            last: Cell::new(Instant::now()),
        }
    }

    /// A bar for blocks, documents or entries.
    pub(crate) fn counting(self, what: &'static str, total: u64) -> Bar {
        self.bar(what, total, "{prefix}{wide_bar} {percent}%  {elapsed} gone, {eta} left").named(what)
    }
}

/// Progress of one piece of work.
#[derive(Debug)]
pub(crate) struct Bar {
    inner: ProgressBar,
    what: &'static str,
    plain: bool,
    began: Instant,
    last: Cell<Instant>,
}

impl Bar {
    fn named(self, what: &'static str) -> Bar {
        self.inner.set_prefix(format!("{what} "));
        self
    }

    /// Shows how far the work is; says whether the user has asked to stop.
    pub(crate) fn at(&self, done: u64, total: u64, message: &str) -> ControlFlow<()> {
        if total > 0 && self.inner.length() != Some(total) {
            self.inner.set_length(total);
        }
        self.inner.set_position(done);
        if !message.is_empty() {
            self.inner.set_message(message.to_owned());
        }
        if self.plain && self.last.get().elapsed() >= EVERY {
            self.last.set(Instant::now());
            let of = if total > 0 { format!(" of {total}") } else { String::new() };
            let message = if message.is_empty() { String::new() } else { format!(", {message}") };
            let _ = writeln!(
                std::io::stderr(),
                "{}: {done}{of}{message}, {:.0} s gone",
                self.what,
                self.began.elapsed().as_secs_f64()
            );
        }
        if crate::INTERRUPTED.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    pub(crate) fn done(&self) {
        self.inner.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.inner.finish_and_clear();
    }
}
