//! `tinylda train`

pub(super) mod how;
mod log;
mod plan;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::Context;
use serde_json::json;
use tinylda::corpus::ingest::{DetectedInput, InputKind};
use tinylda::format::human_bytes;
use tinylda::report::{Pass, TrainedDocuments};
use tinylda::train::{Summary, TrainingProgress};
use tinylda::{Corpus, Event, Model, Plan, PlannedTraining, Resume, Seeds, Stop, Trainer};

use super::{
    PROGRAM_BYTES, ceiling, check_output, enough_for_all, grouped, print, quoted, shape_line, shown, within,
};
use crate::progress::{Bar, Ui, Unit};
use crate::{MAY_EXIT, args, machine, parameters};
use log::Log;

pub(crate) fn run(a: &args::Train, ui: Ui) -> anyhow::Result<()> {
    if !a.plan {
        check_output("-o", a.output(), &[Some(&a.corpus)])?;
    }
    let input = DetectedInput::open(&a.corpus)?;
    if input.kind() == InputKind::Corpus {
        nothing_to_import(a)?;
        on_corpus(a, ui)
    } else {
        from_data(a, input, ui)
    }
}

/// Refuses outputs that would replace one another or an input.
fn check_outputs(a: &args::Train) -> anyhow::Result<()> {
    let log_to_stdout = a.log.as_deref() == Some(Path::new("-"));
    if a.json && log_to_stdout {
        return Err(super::export::both_to_stdout("--log -"));
    }
    let inputs = [Some(a.corpus.as_path()), a.start.as_deref(), a.order.as_deref(), a.seeds.as_deref()];
    if !a.plan {
        check_output("-o", a.output(), &inputs)?;
    }
    if let Some(log) = a.log.as_deref().filter(|_| !log_to_stdout) {
        check_output("--log", log, &[&inputs[..], &[Some(a.output())]].concat())?;
    }
    for (option, folder) in [("--checkpoint", Some(checkpoint_folder(a))), ("--scratch", a.scratch.clone())] {
        if let Some(folder) = folder.filter(|_| !a.plan) {
            check_output(option, &folder, &[&inputs[..], &[Some(a.output())]].concat())?;
        }
    }
    if a.log.is_none() && !a.plan {
        check_output("-o", &with_more(a.output(), log::ENDING), &inputs)?;
    }
    if let Some(report) = a.report.as_deref().filter(|_| !a.plan) {
        check_output("--report", report, &[&inputs[..], &[Some(a.output()), a.log.as_deref()]].concat())?;
        tinylda::files::check_writable(report)?;
    }
    Ok(())
}

/// Trains on a corpus file.
fn on_corpus(a: &args::Train, ui: Ui) -> anyhow::Result<()> {
    check_outputs(a)?;
    let corpus = Corpus::open(&a.corpus)?;
    let seeds = a.seeds.as_deref().map(Seeds::read).transpose()?;
    let mut trainer = trainer(a, seeds.clone())?;
    let at_hand = trainer.keeps_theta();
    let mut report_need = 0;
    if a.report.is_some() {
        if at_hand {
            trainer =
                trainer.memory_in_use(PROGRAM_BYTES + TrainedDocuments::memory_bytes(&corpus, a.topics));
        }
        let threads = super::infer::threads(a.training.threads);
        report_need = super::report::need_after_training(&corpus, a.topics, threads, at_hand)?;
    }
    let planned = trainer.prepare(&corpus);
    let steps = "the model and its report are in memory after the training";
    let planned = enough_for_all(planned, report_need, ceiling(a.training.memory)?, steps)?;
    let plan = *planned.plan();
    if a.plan {
        return plan::show(a, &plan, trainer.threads_used());
    }
    // Hours of training should not be lost to a name that cannot be written to: try it before.
    tinylda::files::check_writable(a.output())?;
    let finished = a.output().exists() && !tinylda::train::has_checkpoint(checkpoint_folder(a));
    if a.resume && finished {
        let output = a.output().display();
        ui.say(&format!(
            "{output} is there and no checkpoint: nothing to go on with. Leave --resume out to train again."
        ));
        return Ok(());
    }
    if a.resume && !tinylda::train::has_checkpoint(checkpoint_folder(a)) {
        let folder = checkpoint_folder(a);
        ui.say(&format!("no checkpoint in {}: beginning with the first pass", folder.display()));
    }
    announce(a, &corpus, &plan, ui);
    warn_of_seeds(seeds.as_ref(), &corpus, ui)?;
    let mut log = Log::new(a)?;
    let mut documents = a.report.as_ref().map(|_| TrainedDocuments::new(&corpus, a.topics)).transpose()?;
    let summary = train(a, planned, documents.as_mut(), &mut log, ui)?;
    if let (Some(output), Some(documents)) = (&a.report, documents) {
        report(a, &corpus, documents, &log, output, ui)?;
    }
    let ended = match summary.stop {
        Stop::Converged => format!("converged after {} passes", summary.passes),
        _ => format!("{} passes", summary.passes),
    };
    let value = json!({
        "algorithm": a.training.algorithm().name(),
        "topics": a.topics,
        "passes": summary.passes,
        "converged": summary.stop == Stop::Converged,
        "seconds": summary.seconds,
        "train_perplexity": summary.train_perplexity,
        "peak_rss_bytes": machine::peak_rss_bytes(),
        "memory_bytes": plan.ceiling,
        "threads": trainer.threads_used(),
        "active_topics": summary.active_topics,
        "message_bytes": summary.message_bytes,
        "model": shown(a.output()),
        "report": a.report.as_deref().map(shown),
    });
    let line = format!(
        "{}: {} topics, {ended} in {:.1} s, training perplexity {:.2}",
        a.output().display(),
        a.topics,
        summary.seconds,
        summary.train_perplexity
    );
    if a.log.as_deref() == Some(Path::new("-")) {
        ui.say(&line);
        return Ok(());
    }
    print(a.json, &value, &format!("{line}\n"))
}

/// Writes the report, from the model as it was written and the topics of documents as training has left them.
fn report(
    a: &args::Train,
    corpus: &Corpus,
    documents: TrainedDocuments<'_>,
    log: &Log,
    output: &Path,
    ui: Ui,
) -> anyhow::Result<()> {
    let model = Model::load(a.output())?;
    let mut command = command_line();
    if let Some(program) = command.first_mut() {
        *program = "tinylda".into();
    }
    // Where training was resumed, the time of earlier passes is not known here.
    let pass = |&(pass, perplexity): &(u32, f64)| {
        let told = log.passes.iter().rfind(|told| told.pass == pass).copied();
        told.unwrap_or(Pass { pass, perplexity, seconds: None, memory: None })
    };
    let making = super::report::Making {
        title: super::report::title(&model),
        command: shell(&command),
        passes: model.training().history.iter().map(pass).collect(),
        memory: ceiling(a.training.memory)?.filter(|_| a.training.memory.is_some()),
        texts: true,
        threads: super::infer::threads(a.training.threads),
    };
    making
        .write(&model, Some(corpus), Some(documents), output, ui)
        .with_context(|| format!("the model {} is written, but not its report", a.output().display()))?;
    ui.say(&format!("{}: the report; open it in a browser", output.display()));
    Ok(())
}

/// Refuses options for data to import.
fn nothing_to_import(a: &args::Train) -> anyhow::Result<()> {
    let unused = [
        ("--vocab", a.vocab.is_some()),
        ("--keep-corpus", a.keep_corpus.is_some()),
        (super::input::TEXT_OPTIONS, a.words.given()),
    ];
    for (option, given) in unused {
        if given {
            return Err(super::input::not_with_corpus(option));
        }
    }
    Ok(())
}

/// Data of any kind, standard input too: packed into a corpus beside the model, two bytes or so a word, which goes when the model is
/// there, unless it is to be kept. A training that is stopped can go on with it.
fn from_data(a: &args::Train, input: DetectedInput, ui: Ui) -> anyhow::Result<()> {
    let beside = a.keep_corpus.clone().unwrap_or_else(|| {
        let stdin = a.corpus.as_path() == Path::new("-");
        with_more(a.output(), if stdin { ".stdin.tlc" } else { ".input.tlc" })
    });
    if !a.plan {
        check_output("-o", a.output(), &[Some(&a.corpus), Some(&beside)])?;
    }
    let opening = super::input::Opening {
        input: &a.corpus,
        words: &a.words,
        vocab: a.vocab.as_deref(),
        model: None,
        beside: &beside,
        keep: a.keep_corpus.is_some(),
        threads: usize::from(a.training.threads.unwrap_or(0)),
        memory: ceiling(a.training.memory)?,
    };
    let opened = opening.open(input, ui)?;
    if let Some(done) = &opened.imported {
        let name =
            if a.corpus.as_path() == Path::new("-") { "standard input".into() } else { shown(&a.corpus) };
        ui.say(&format!("{name}: {}, {}", done.format.name(), shape_line(done.shape)));
    }
    let mut own = a.clone();
    (own.corpus, own.vocab, own.keep_corpus) = (opened.path.clone(), None, None);
    own.words = args::Words::default();
    let result = on_corpus(&own, ui);
    let stopped = result.is_err() && tinylda::train::has_checkpoint(checkpoint_folder(a));
    if !stopped {
        opened.done();
    }
    result
}

/// Seed words that the corpus does not have are left out, and said.
fn warn_of_seeds(seeds: Option<&Seeds>, corpus: &Corpus, ui: Ui) -> anyhow::Result<()> {
    /// More would not be read.
    const MOST: usize = 20;
    let Some(seeds) = seeds else { return Ok(()) };
    let Some(vocabulary) = corpus.vocabulary()? else { return Ok(()) };
    let unknown = seeds.unknown(&vocabulary);
    if !unknown.is_empty() {
        let mut list: Vec<String> = unknown.iter().take(MOST).map(|word| super::visible(word)).collect();
        if unknown.len() > MOST {
            list.push(format!("and {} more", unknown.len() - MOST));
        }
        ui.say(&format!("seed words that are not in the corpus are left out: {}", list.join(", ")));
    }
    Ok(())
}

/// Says what is about to be done.
fn announce(a: &args::Train, corpus: &Corpus, plan: &Plan, ui: Ui) {
    let shape = corpus.shape();
    ui.say(&format!(
        "training {} topics with {} on {}: {} documents, {} non-zeros",
        a.topics,
        a.training.algorithm().name(),
        a.corpus.display(),
        grouped(shape.documents),
        grouped(shape.nonzeros)
    ));
    if !a.training.algorithm().threads() && a.training.threads.is_some_and(|n| n > 1) {
        let name = a.training.algorithm().name();
        ui.say(&format!(
            "{name} changes the topics at every word, so it works on one thread by its definition"
        ));
    }
    if plan.on_disk() {
        let folder = a.scratch.clone().unwrap_or_else(|| checkpoint_folder(a));
        let memory =
            plan.ceiling.map_or_else(String::new, |bytes| format!("within {}; ", human_bytes(bytes)));
        ui.say(&format!("{memory}up to {} on disk in {}", human_bytes(plan.disk), folder.display()));
        if let Some(free) = machine::free_on_disk(&folder).filter(|&free| free < plan.disk) {
            ui.say(&format!("warning: only {} are free there", human_bytes(free)));
        }
    }
    if a.topics == 1 {
        ui.say("one topic is just the word frequencies: -k 2 or more finds something");
    }
}

fn train(
    a: &args::Train,
    planned: PlannedTraining<'_>,
    documents: Option<&mut TrainedDocuments<'_>>,
    log: &mut Log,
    ui: Ui,
) -> anyhow::Result<Summary> {
    let bar = ui.bar("pass", Unit::Plain);
    let (mut failed, mut saved) = (None, false);
    let mut perplexity = String::new();
    MAY_EXIT.store(true, Ordering::Relaxed);
    let callback = |event: Event<'_>| {
        let (line, flow) = match event {
            Event::Progress(progress) => {
                log.progress = Some(*progress);
                (None, show(&bar, progress, &perplexity))
            }
            Event::Pass(report) => {
                perplexity = format!(", perplexity {:.1}", report.train_perplexity);
                (Some(log.pass(report)), ControlFlow::Continue(()))
            }
            Event::Resumed(passes) => {
                saved = true;
                bar.say(&format!("going on after pass {passes}"));
                (Some(json!({ "event": "resumed", "passes": passes })), ControlFlow::Continue(()))
            }
            Event::Writing(_) => {
                // Stopped now, the half of a file would be left.
                MAY_EXIT.store(false, Ordering::Relaxed);
                (None, ControlFlow::Continue(()))
            }
            Event::Snapshot { path, pass, seconds } => {
                bar.say(&format!("the model after pass {pass} is in {}", path.display()));
                let line =
                    json!({ "event": "snapshot", "file": shown(path), "pass": pass, "seconds": seconds });
                (Some(line), ControlFlow::Continue(()))
            }
            Event::Checkpoint(folder) => {
                saved = true;
                let seconds = log.progress.map(|p| p.seconds);
                let line = json!({ "event": "checkpoint", "folder": shown(folder), "seconds": seconds });
                (Some(line), ControlFlow::Continue(()))
            }
            _ => (None, ControlFlow::Continue(())),
        };
        if let Err(e) = line.map_or(Ok(()), |line| log.line(&line)) {
            let what = format!("cannot write the log {}", shown(&log.path));
            failed = Some(anyhow::Error::from(e).context(what));
        }
        if let Some(name) = log.begun.take() {
            bar.say(&format!("a line for every pass goes to {name}"));
        }
        if failed.is_some() { ControlFlow::Break(()) } else { flow }
    };
    let summary = match documents {
        None => planned.train_to(a.output(), callback),
        Some(documents) => planned.train_to_with_documents(a.output(), callback, |document| {
            documents.add(document);
            Ok(())
        }),
    };
    MAY_EXIT.store(false, Ordering::Relaxed);
    bar.done();
    explained(a, summary, failed, saved)
}

/// Adds to the error of a training what is left of it and how to continue. `failed`: why its log could not be written; `saved`:
/// there is a checkpoint.
fn explained(
    a: &args::Train,
    summary: tinylda::Result<Summary>,
    failed: Option<anyhow::Error>,
    saved: bool,
) -> anyhow::Result<Summary> {
    if let Some(error) = failed {
        return Err(match &summary {
            Ok(_) => error.context(format!("the model {} is written, but", a.output().display())),
            Err(stopped) => {
                let (error, stopped) = (crate::message(&error), parameters::describe(stopped));
                anyhow::anyhow!("{error}; {stopped}\nTo go on:\n  {}", again())
            }
        });
    }
    match &summary {
        Err(stopped @ tinylda::Error::Stopped { .. }) => {
            let both = a.scratch.as_ref().map_or_else(String::new, |scratch| {
                format!(" (its files in {} are needed too)", scratch.display())
            });
            Err(anyhow::anyhow!("{}{both}\nTo go on:\n  {}", parameters::describe(stopped), again()))
        }
        Err(error) if saved && !matches!(error, tinylda::Error::Damaged { kind: "checkpoint", .. }) => {
            let folder = checkpoint_folder(a);
            let more = format!("The last checkpoint is kept in {}. To go on from it:", folder.display());
            Err(anyhow::anyhow!("{}\n{more}\n  {}", parameters::describe(error), again()))
        }
        _ => Ok(summary?),
    }
}

/// The command that goes on.
fn again() -> String {
    let mut words = command_line();
    words.retain(|word| word != "--restart");
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".into());
    }
    shell(&words)
}

fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Words of a command as a shell takes them.
pub(super) fn shell(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Where checkpoints are.
fn checkpoint_folder(a: &args::Train) -> PathBuf {
    a.checkpoint.clone().unwrap_or_else(|| with_more(a.output(), ".checkpoint"))
}

fn with_more(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    name.into()
}

fn trainer(a: &args::Train, seeds: Option<Seeds>) -> anyhow::Result<Trainer> {
    let mut trainer = how::trainer(&a.training, a.topics, a.seed);
    if let Some(seeds) = seeds {
        trainer = trainer.seeds(seeds);
    }
    if let Some(weight) = a.seed_weight {
        trainer = trainer.seed_weight(weight);
    }
    if let Some(path) = &a.start {
        trainer = trainer.start(numbers(path)?);
    }
    if let Some(path) = &a.order {
        trainer = trainer.order(numbers(path)?);
    }
    if let Some(bytes) = ceiling(a.training.memory)? {
        trainer = within(trainer, bytes);
    }
    if let Some(folder) = &a.scratch {
        trainer = trainer.scratch(folder.clone());
    }
    if !a.snapshots.is_empty() {
        trainer = trainer.snapshots(a.snapshots.clone(), with_more(a.output(), ".snapshots"));
    }
    let every = Some(a.training.checkpoint_every).filter(|every| !every.is_zero());
    let resume = match (a.resume, a.restart) {
        (true, _) => Resume::Yes,
        (_, true) => Resume::Restart,
        _ => Resume::No,
    };
    Ok(trainer.checkpoint(checkpoint_folder(a), every).resume(resume))
}

/// A file of numbers, one per line.
fn numbers<T: std::str::FromStr>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .zip(1u64..)
        .map(|(line, n)| {
            line.trim().parse().map_err(|_| {
                anyhow::anyhow!(
                    "{}, line {n}: found {line:?}; expected a whole number from 0. Give one number per line.",
                    path.display()
                )
            })
        })
        .collect()
}

/// One line on how far it is: documents of the pass, the disk's part where it has one, memory against the ceiling.
fn show(bar: &Bar, p: &TrainingProgress, perplexity: &str) -> ControlFlow<()> {
    let pass = if p.pass == 0 { "start".to_owned() } else { format!("pass {}/{}", p.pass, p.passes) };
    let mut parts = vec![format!("{} of {} documents", grouped(p.documents), grouped(p.documents_total))];
    if p.disk > 0 {
        let rate = (p.read + p.written) as f64 / 1e6 / bar.seconds().max(1e-3);
        parts.push(format!("{rate:.0} MB/s"));
        parts.push(format!("{} on disk", human_bytes(p.disk)));
    }
    if let Some(memory) = p.resident {
        let ceiling = p.ceiling.map_or_else(String::new, |bytes| format!(" of {}", human_bytes(bytes)));
        parts.push(human_bytes(memory) + &ceiling);
    }
    // What matters most comes first, since a line may be cut.
    bar.share(p.done, &(pass + perplexity), &parts.join(", "))
}
