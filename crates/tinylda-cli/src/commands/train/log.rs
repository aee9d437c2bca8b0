//! The training log: one line of JSON per pass and event.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tinylda::report::PassRecord;
use tinylda::train::{PassReport, TrainingProgress};

use crate::{args, machine};

/// Suffix of the default name of a log.
pub(super) const SUFFIX: &str = ".log.jsonl";
/// A training that takes longer than this writes a log, even if the user did not ask for one.
const LOG_AFTER: Duration = Duration::from_secs(60);

/// Log of a training. Each line is written as soon as its pass is done. A log that the user did not
/// ask for starts after [`LOG_AFTER`]; earlier lines are kept in memory until then.
pub(super) struct Log {
    pub(super) path: PathBuf,
    out: Option<Box<dyn Write + Send>>,
    /// The log file, if its old content is to be deleted before the first line.
    to_truncate: Option<File>,
    /// Name of the log, if it was just started although the user did not ask for it.
    pub(super) just_started: Option<String>,
    /// Lines that are not yet written.
    pending: Vec<String>,
    start: Instant,
    resume: bool,
    /// Passes so far.
    pub(super) passes: Vec<PassRecord>,
    /// Latest progress of the training.
    pub(super) progress: Option<TrainingProgress>,
}

impl Log {
    pub(super) fn new(a: &args::TrainArgs) -> anyhow::Result<Log> {
        let path = a.log.clone().unwrap_or_else(|| super::super::append_to_name(a.output(), SUFFIX));
        let mut log = Log {
            path,
            out: None,
            to_truncate: None,
            just_started: None,
            pending: Vec::new(),
            start: Instant::now(),
            resume: a.resume,
            passes: Vec::new(),
            progress: None,
        };
        if a.log.as_deref() == Some(Path::new("-")) {
            drop(crate::commands::stdout().context("cannot write the log")?);
            log.out = Some(Box::new(std::io::stdout()));
        } else if a.log.is_some() || (a.resume && log.path.exists()) {
            log.open().with_context(|| format!("cannot create the log {}", log.path.display()))?;
        }
        Ok(log)
    }

    /// Opens the log file. The log of a resumed training is continued.
    fn open(&mut self) -> std::io::Result<()> {
        let mut options = File::options();
        // The log of an earlier training is deleted when the first line is written, and not before.
        options.create(true).append(true);
        let file = options.open(&self.path)?;
        self.to_truncate = if self.resume { None } else { Some(file.try_clone()?) };
        self.out = Some(Box::new(file));
        Ok(())
    }

    /// Appends a line, which is written at once if the log has started.
    pub(super) fn line(&mut self, value: &Value) -> std::io::Result<()> {
        self.pending.push(format!("{value}\n"));
        if self.out.is_none() && self.start.elapsed() >= LOG_AFTER {
            self.open()?;
            self.just_started = Some(self.path.display().to_string());
        }
        if let Some(file) = self.to_truncate.take() {
            // Only a regular file can be truncated, and only there it is necessary.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
        }
        if let Some(out) = &mut self.out {
            for line in self.pending.drain(..) {
                out.write_all(line.as_bytes())?;
            }
            out.flush()?;
        }
        Ok(())
    }

    /// Remembers a pass and returns its line.
    pub(super) fn pass(&mut self, report: &PassReport) -> Value {
        self.passes.push(PassRecord {
            pass: report.pass,
            perplexity: report.train_perplexity,
            seconds: Some(report.seconds),
            memory: self.progress.and_then(|p| p.resident),
        });
        json!({
            "pass": report.pass,
            "seconds": report.seconds,
            "train_perplexity": report.train_perplexity,
            "active_topics": report.active_topics,
            "documents_per_second": report.documents_per_second,
            "rss_bytes": self.progress.and_then(|p| p.resident),
            "peak_rss_bytes": machine::peak_rss_bytes(),
            "read_bytes": self.progress.map(|p| p.read),
            "written_bytes": self.progress.map(|p| p.written),
            "disk_bytes": self.progress.map(|p| p.disk),
        })
    }
}
