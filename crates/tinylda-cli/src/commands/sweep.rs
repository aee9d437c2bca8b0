//! `tinylda sweep`: finds the best number of topics.
//!
//! The work is done by [`crate::sweep`]. This module prepares its options, shows its progress and
//! prints the result. Start with [`run`].

mod show;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tinylda::corpus::ingest::{DetectedInput, InputKind};
use tinylda::{Corpus, Error};

use super::mismatch::{beta_warning, warn_of_many_topics};
use super::train::trainer::{self as training, thread_count};
use super::{PROGRAM_BYTES_WITH_IMPORT, StoppedByUser, and_more, end_of_training, input_name, memory_limit};
use super::{shape_line, usage};
use crate::progress::{ProgressReporter, Ui, Unit};
use crate::signals::{Stage, StageGuard};
use crate::sweep::{self, SweepEvent, SweepOptions, SweepProgress, SweepRecord, SweepStage};
use crate::{args, parameters};

pub(crate) fn run(a: &args::SweepArgs, ui: Ui) -> anyhow::Result<()> {
    let folder = a.output.clone().unwrap_or_else(|| default_folder(&a.corpus));
    if folder.exists() && !folder.is_dir() {
        let found = format!("the file {}", folder.display());
        return Err(Error::out_of_range("output", found, "a folder, or a new name").into());
    }
    // Wrong options are rejected before the data is imported.
    for k in a.topic_counts() {
        training::trainer(&a.training, k, a.seed).check_options()?;
    }
    let options = options(a, folder)?;
    let corpus = open(a, &options, ui)?;
    let mut view =
        SweepView { options: &options, ui, bar: None, stage: None, has_warned: false, unsaved: None };
    let outcome = sweep::run(&corpus, &options, &mut |event| view.show(&event))?;
    drop(view);
    if outcome.stopped {
        anyhow::bail!(StoppedByUser(format!(
            "Stopped after {} of {} runs; their results are in {}. Run the same command again to continue.",
            outcome.runs_done,
            outcome.runs,
            options.folder.join("report.md").display()
        )));
    }
    let best = outcome.best.as_ref().zip(outcome.model.as_deref()).context("no run has a perplexity")?;
    show::print_result(a, &options, &corpus, &outcome, best)
}

/// Returns the options of the sweep.
fn options(a: &args::SweepArgs, folder: PathBuf) -> anyhow::Result<SweepOptions> {
    let training = &a.training;
    Ok(SweepOptions {
        repeats: a.repeats,
        seed: a.seed,
        test: a.test,
        top: a.top,
        coherence: a.coherence,
        settings: training.given.0.clone(),
        alpha_sum: training.alpha_sum,
        threads: thread_count(training),
        memory: memory_limit(training.memory)?,
        memory_in_use: PROGRAM_BYTES_WITH_IMPORT,
        checkpoint_every: Some(training.checkpoint_every).filter(|every| !every.is_zero()),
        title: corpus_name(&a.corpus) + &and_more(a.more.len()),
        ..SweepOptions::new(a.topic_counts(), folder)
    })
}

/// Returns the default folder: named after the data, in the current folder.
fn default_folder(corpus: &Path) -> PathBuf {
    let stdin = corpus == Path::new("-");
    let mut name = corpus.file_stem().filter(|_| !stdin).unwrap_or("corpus".as_ref()).to_os_string();
    name.push(".sweep");
    name.into()
}

fn corpus_name(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".into();
    }
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Opens the corpus, and imports the data before if necessary.
fn open(a: &args::SweepArgs, options: &SweepOptions, ui: Ui) -> anyhow::Result<Corpus> {
    let out = &options.folder;
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    // Other data must not replace a corpus to which existing results belong.
    let (new, kept) = (out.join("corpus.new.tlc"), out.join("corpus.tlc"));
    let first = DetectedInput::open(&a.corpus)?;
    if first.kind() != InputKind::Corpus && kept.exists() && !out.join("sweep.json").exists() {
        return Err(usage(format!(
            "{} contains no sweep, but a file corpus.tlc, which the import would replace; choose another folder \
             with -o",
            out.display()
        )));
    }
    let request = super::input::InputRequest {
        more: &a.more,
        input: &a.corpus,
        text: &a.text,
        vocab: a.vocab.as_deref(),
        model: None,
        new_words: false,
        import_to: &new,
        threads: usize::from(a.training.threads.unwrap_or(0)),
        memory: options.memory,
    };
    let opened = request.open(first, ui)?;
    let mut corpus = Corpus::open(&opened.path)?;
    // The sweep itself checks the folder again and says what it could not read.
    if let Err(error) = sweep::check_folder(&corpus, options, &mut |_| ControlFlow::Continue(())) {
        if opened.imported.is_some() {
            let _ = std::fs::remove_file(&new);
        }
        return Err(error);
    }
    if opened.imported.is_some() {
        std::fs::rename(&new, &kept).with_context(|| format!("cannot write {}", kept.display()))?;
        corpus = Corpus::open(&kept)?;
    }
    ui.say(&format!("{}: {}", input_name(&a.corpus, &a.more), shape_line(corpus.shape())));
    let most = options.topics.last().copied().unwrap_or(1);
    warn_of_many_topics(most, &corpus, opened.imported.is_some(), ui);
    Ok(corpus)
}

/// Shows the events of a sweep.
struct SweepView<'a> {
    options: &'a SweepOptions,
    ui: Ui,
    /// Progress bar and its name.
    bar: Option<(&'static str, ProgressReporter)>,
    /// What Ctrl-C means while runs are executed.
    stage: Option<StageGuard>,
    /// Whether the user was warned of the largest possible beta.
    has_warned: bool,
    /// Reason why the last checkpoint could not be written.
    unsaved: Option<String>,
}

impl SweepView<'_> {
    /// Shows an event. Returns `Break` after Ctrl-C.
    fn show(&mut self, event: &SweepEvent<'_>) -> ControlFlow<()> {
        match event {
            SweepEvent::Split(progress) => return self.bar("blocks split").update(*progress),
            SweepEvent::Runs { runs, done } => {
                if *done > 0 {
                    let there = self.options.folder.display();
                    self.say(&format!(
                        "{done} of {runs} runs already done in {there}, {} remaining",
                        runs - done
                    ));
                }
                self.stage = Some(Stage::Runs.enter());
            }
            SweepEvent::Progress(progress) => return self.progress(progress),
            SweepEvent::Finished(record) => self.finished(record),
            SweepEvent::CheckpointFailed(error) => self.checkpoint_failed(error),
            SweepEvent::Note(text) => self.say(text),
        }
        ControlFlow::Continue(())
    }

    /// Returns the bar of this name, and removes that of another one.
    fn bar(&mut self, name: &'static str) -> &ProgressReporter {
        self.bar = self.bar.take().filter(|(other, _)| *other == name);
        &self.bar.get_or_insert_with(|| (name, self.ui.bar(name, Unit::Plain))).1
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some((_, bar)) => bar.say(text),
            None => self.ui.say(text),
        }
    }

    /// Warns of a checkpoint that could not be written, unless the reason is known already.
    fn checkpoint_failed(&mut self, error: &tinylda::Error) {
        let reason = parameters::describe(error);
        if self.unsaved.replace(reason.clone()).as_ref() != Some(&reason) {
            self.say(&super::checkpoint_warning(&reason));
        }
    }

    fn progress(&mut self, progress: &SweepProgress) -> ControlFlow<()> {
        let SweepProgress { run, runs, topics, seed, stage, share, seconds_left, .. } = *progress;
        let which = match run {
            Some(run) => format!("run {run} of {runs}"),
            None => "training the best model again".into(),
        };
        let first = format!("{which}, K = {topics}, seed {seed}");
        let more = match stage {
            SweepStage::Training { pass: 0, .. } => "start".into(),
            SweepStage::Training { pass, passes, perplexity } => {
                let perplexity =
                    perplexity.map_or_else(String::new, |value| format!(", perplexity {value:.1}"));
                format!("pass {pass}/{passes}{perplexity}")
            }
            SweepStage::Perplexity(p) => {
                format!("perplexity of {} of {} documents", p.done, p.total.unwrap_or(0))
            }
            SweepStage::Coherence(p) => format!("coherence, {} of {} blocks", p.done, p.total.unwrap_or(0)),
        };
        self.bar("runs").update_with_time_left(share, &first, seconds_left, &[more])
    }

    fn finished(&mut self, record: &SweepRecord) {
        let Some(measures) = &record.measures else { return };
        let coherence = measures.coherence(self.options.coherence);
        self.say(&format!(
            "K = {}, seed {}: perplexity {:.1}, {} {}, {}, {:.1} s",
            record.topics,
            record.seed,
            measures.predictive_perplexity,
            self.options.coherence.name(),
            coherence.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}")),
            end_of_training(record.training.passes, record.training.converged),
            record.training.seconds + measures.seconds
        ));
        if let Some(limit) = record.training.beta_limit.filter(|_| !self.has_warned) {
            self.say(&beta_warning(limit));
            self.has_warned = true;
        }
    }
}
