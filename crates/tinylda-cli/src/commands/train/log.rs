//! A line of JSON per pass.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tinylda::report::Pass;
use tinylda::train::{PassReport, TrainingProgress};

use crate::{args, machine};

/// What its name ends with where the user has given none.
pub(super) const ENDING: &str = ".log.jsonl";
/// A training that takes longer leaves a log.
const LONG: Duration = Duration::from_secs(60);

/// A log is a stream: each line is there as soon as its pass is done. One that nobody has asked for begins after a minute.
pub(super) struct Log {
    pub(super) path: PathBuf,
    out: Option<Box<dyn Write + Send>>,
    /// The file, where what is in it is to go first.
    old: Option<File>,
    /// Its name, where nobody has asked for it and it has just begun.
    pub(super) begun: Option<String>,
    /// Lines that wait for the minute to be over.
    waiting: Vec<String>,
    began: Instant,
    resume: bool,
    /// The passes so far.
    pub(super) passes: Vec<Pass>,
    /// What was told last.
    pub(super) progress: Option<TrainingProgress>,
}

impl Log {
    pub(super) fn new(a: &args::Train) -> anyhow::Result<Log> {
        let path = a.log.clone().unwrap_or_else(|| super::with_more(a.output(), ENDING));
        let mut log = Log {
            path,
            out: None,
            old: None,
            begun: None,
            waiting: Vec::new(),
            began: Instant::now(),
            resume: a.resume,
            passes: Vec::new(),
            progress: None,
        };
        if a.log.as_deref() == Some(Path::new("-")) {
            log.out = Some(Box::new(std::io::stdout()));
        } else if a.log.is_some() || (a.resume && log.path.exists()) {
            log.open().with_context(|| format!("cannot create the log {}", log.path.display()))?;
        }
        Ok(log)
    }

    /// Where training goes on, so does its log.
    fn open(&mut self) -> std::io::Result<()> {
        let mut options = File::options();
        // What an earlier training has left goes with the first line, and not before.
        options.create(true).append(true);
        let file = options.open(&self.path)?;
        self.old = if self.resume { None } else { Some(file.try_clone()?) };
        self.out = Some(Box::new(file));
        Ok(())
    }

    pub(super) fn line(&mut self, value: &Value) -> std::io::Result<()> {
        self.waiting.push(format!("{value}\n"));
        if self.out.is_none() && self.began.elapsed() >= LONG {
            self.open()?;
            self.begun = Some(self.path.display().to_string());
        }
        if let Some(old) = self.old.take() {
            // A pipe cannot be cut, and need not be.
            if old.metadata()?.is_file() {
                old.set_len(0)?;
            }
        }
        if let Some(out) = &mut self.out {
            for line in self.waiting.drain(..) {
                out.write_all(line.as_bytes())?;
            }
            out.flush()?;
        }
        Ok(())
    }

    pub(super) fn pass(&mut self, report: &PassReport) -> Value {
        self.passes.push(Pass {
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
