//! `tinylda train`: trains a model, on a corpus file or on data that is imported first.
//!
//! Start with [`run`]. The trainer is configured in `trainer`, the log is written in `log`, and the
//! memory plan is printed in `plan`.

mod log;
mod plan;
pub(super) mod trainer;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use serde_json::{Value, json};
use tinylda::corpus::ingest::{DetectedInput, InputKind};
use tinylda::files::TemporaryFolder;
use tinylda::format::human_bytes;
use tinylda::report::{PassRecord, TextAccess, TrainedDocuments};
use tinylda::train::{Summary, TrainingProgress};
use tinylda::{Algorithm, Corpus, Event, Model, Plan, PlannedTraining, Resume, Seeds, Stop, Trainer};

use super::{
    PROGRAM_BYTES, StoppedByUser, append_to_name, check_memory_for_all_steps, check_output, counted,
    end_of_training, grouped, input_name, memory_limit, path_string, print, shape_line, shell_quote,
    with_memory_limit,
};
use crate::progress::{ProgressReporter, Ui, Unit};
use crate::settled::SettledPerplexity;
use crate::signals::Stage;
use crate::{args, command_line, machine, parameters};
use log::Log;

/// A trainer with all options of the command, and its seed words.
struct ConfiguredTrainer {
    trainer: Trainer,
    seeds: Option<Seeds>,
    /// Model to update.
    model: Option<Arc<Model>>,
}

/// The documents of a training.
struct TrainingInput {
    corpus: Corpus,
    /// The input as the user knows it.
    name: String,
    /// Whether the documents were imported by this command.
    imported: bool,
    /// Memory in bytes that the import of text needs.
    import_memory: Option<u64>,
    /// Files and folders from which a report may show texts.
    texts: Vec<PathBuf>,
}

pub(crate) fn run(a: &args::TrainArgs, ui: Ui) -> anyhow::Result<()> {
    let to_update = a.update.as_ref().map(|update| update.model.as_path());
    if !a.plan {
        check_output("-o", a.output(), &[Some(&a.corpus), to_update])?;
        check_names(a)?;
    }
    let input = DetectedInput::open(&a.corpus)?;
    check_outputs(a)?;
    if input.kind() == InputKind::Corpus {
        // Its buffers are not needed any more.
        drop(input);
        if !a.more.is_empty() {
            return Err(super::input::one_corpus_error());
        }
        reject_import_options(a)?;
        let (corpus, name, texts) = (Corpus::open(&a.corpus)?, path_string(&a.corpus), a.texts.clone());
        let input = TrainingInput { corpus, name, imported: false, import_memory: None, texts };
        on_corpus(a, trainer(a)?, &input, ui)
    } else {
        let configured = trainer(a)?;
        check_before_import(a, &configured)?;
        from_data(a, configured, input, ui)
    }
}

/// Rejects names of outputs that belong to files of another kind.
fn check_names(a: &args::TrainArgs) -> anyhow::Result<()> {
    if let Some(report) = &a.report {
        super::check_report_name("--report", report)?;
    }
    let output = a.output();
    if output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("tlc")) {
        let (given, other) = (output.display(), output.with_extension("model"));
        return Err(super::usage(format!(
            "-o {given}: .tlc is the suffix of corpus files; choose {}",
            other.display()
        )));
    }
    Ok(())
}

/// Rejects what can be rejected before data is imported, which may take long.
fn check_before_import(a: &args::TrainArgs, configured: &ConfiguredTrainer) -> anyhow::Result<()> {
    if let Some(corpus) = &a.keep_corpus {
        let others = [Some(a.corpus.as_path()), Some(a.output()), a.report.as_deref(), a.log.as_deref()];
        check_output("--keep-corpus", corpus, &others)?;
    }
    configured.trainer.check_options()?;
    if a.plan {
        return Ok(());
    }
    tinylda::files::check_writable(a.output())?;
    let folder = checkpoint_folder(a);
    match tinylda::train::has_checkpoint(&folder) {
        true if !a.resume && !a.restart => Err(tinylda::Error::CheckpointExists { path: folder }.into()),
        // The corpus is compared after the import.
        false if a.resume && a.output().exists() => {
            Ok(configured.trainer.check_result_settings(a.output())?)
        }
        _ => Ok(()),
    }
}

/// Rejects outputs that would replace one another or an input.
fn check_outputs(a: &args::TrainArgs) -> anyhow::Result<()> {
    let log_to_stdout = a.log.as_deref() == Some(Path::new("-"));
    if a.json && log_to_stdout {
        return Err(super::export::stdout_conflict("--log -"));
    }
    let to_update = a.update.as_ref().map(|update| update.model.as_path());
    let lists = [a.start.as_deref(), a.order.as_deref(), a.seeds.as_deref()];
    let inputs = [&[Some(a.corpus.as_path()), to_update][..], &lists].concat();
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
        check_output("-o", &append_to_name(a.output(), log::SUFFIX), &inputs)?;
    }
    if let Some(report) = a.report.as_deref().filter(|_| !a.plan) {
        check_output("--report", report, &[&inputs[..], &[Some(a.output()), a.log.as_deref()]].concat())?;
        tinylda::files::check_writable(report)?;
    }
    Ok(())
}

/// Trains on a corpus file, which may have been created from other input.
fn on_corpus(
    a: &args::TrainArgs,
    configured: ConfiguredTrainer,
    input: &TrainingInput,
    ui: Ui,
) -> anyhow::Result<()> {
    let ConfiguredTrainer { mut trainer, seeds, model } = configured;
    let corpus = &input.corpus;
    let keeps_theta = trainer.keeps_theta();
    let mut report_need = 0;
    if a.report.is_some() {
        if keeps_theta {
            trainer = trainer.memory_in_use(PROGRAM_BYTES + TrainedDocuments::memory_bytes(corpus, a.topics));
        }
        let threads = super::infer::thread_count(a.training.threads);
        report_need = super::report::memory_needed_after_training(corpus, a.topics, threads, keeps_theta)?;
    }
    let planned = trainer.prepare(corpus);
    let steps = "the model and its report are in memory after the training";
    let planned = check_memory_for_all_steps(planned, report_need, memory_limit(a.training.memory)?, steps)?;
    let plan = *planned.plan();
    if a.plan {
        return plan::show(a, &plan, trainer.threads_used(), input.import_memory);
    }
    // Hours of training must not be lost because the model cannot be written, so try it first.
    tinylda::files::check_writable(a.output())?;
    if a.resume && !tinylda::train::has_checkpoint(checkpoint_folder(a)) {
        if a.output().exists() {
            trainer.check_result(corpus, a.output())?;
            say_finished(a, ui);
            return Ok(());
        }
        let folder = checkpoint_folder(a);
        ui.say(&format!("no checkpoint in {}: starting from the first pass", folder.display()));
    }
    print_start(a, input, model.as_deref(), &plan, ui);
    warn_of_seeds(seeds.as_ref(), corpus, ui)?;
    let mut log = Log::new(a)?;
    let mut documents = a.report.as_ref().map(|_| TrainedDocuments::new(corpus, a.topics)).transpose()?;
    machine::return_large_buffers();
    machine::release_program_pages();
    let summary = train(a, planned, documents.as_mut(), &mut log, ui)?;
    machine::release_program_pages();
    explain_end(a, &summary, ui);
    if let Some(documents) = documents {
        report(a, input, documents, &log, ui)?;
    }
    let update = model.is_some().then(|| super::update::record(a.output())).transpose()?;
    let mut value = result_json(a, &summary, &plan, trainer.threads_used());
    if let Some(update) = &update {
        value["update"] = super::update::to_json(update);
    }
    let mut line = format!(
        "{}: {}, {} in {:.1} s, training perplexity {:.2}",
        a.output().display(),
        counted(a.topics.into(), "topic"),
        end_of_training(summary.passes, summary.stop == Stop::Converged),
        summary.seconds,
        summary.train_perplexity
    );
    if let Some((update, model)) = update.as_ref().zip(model.as_deref()) {
        line.push('\n');
        line.push_str(super::update::to_lines(update, model).trim_end());
    }
    if a.log.as_deref() == Some(Path::new("-")) {
        ui.say(&line);
        return Ok(());
    }
    print(a.json, &value, &format!("{line}\n"))
}

/// Returns the result of a training as JSON.
fn result_json(a: &args::TrainArgs, summary: &Summary, plan: &Plan, threads: usize) -> Value {
    json!({
        "algorithm": a.training.algorithm().name(),
        "topics": a.topics,
        "passes": summary.passes,
        "max_passes": summary.max_passes,
        "converged": summary.stop == Stop::Converged,
        "tolerance": summary.tolerance,
        "seconds": summary.seconds,
        "train_perplexity": summary.train_perplexity,
        "peak_rss_bytes": machine::peak_rss_bytes(),
        "memory_bytes": plan.ceiling,
        "threads": threads,
        "active_topics": summary.active_topics,
        "message_bytes": summary.message_bytes,
        "model": path_string(a.output()),
        "report": a.report.as_deref().map(path_string),
    })
}

/// Says why the training ended and how to train longer, and warns about an extreme beta.
fn explain_end(a: &args::TrainArgs, summary: &Summary, ui: Ui) {
    let passes = counted(summary.max_passes.into(), "pass");
    if summary.stop == Stop::Converged && summary.passes < summary.max_passes {
        let noise = if a.training.algorithm() == Algorithm::Gibbs {
            " The perplexity of gibbs, a sampler, fluctuates, so more passes may still improve the topics."
        } else {
            ""
        };
        // These algorithms are noisy, and the library compares rounds of passes.
        let compares_rounds =
            matches!(a.training.algorithm(), Algorithm::Tbp | Algorithm::Gibbs | Algorithm::Ovb);
        let tolerance = significant(summary.tolerance);
        let change = match (compares_rounds, a.training.given.0.optimize) {
            (false, _) => format!("the training perplexity changed by less than {tolerance} per pass"),
            (true, optimize) => format!(
                "over the last {} rounds of five passes, the training perplexity changed by less than \
                 {tolerance} per pass on average",
                if optimize == Some(true) { "four" } else { "two" }
            ),
        };
        ui.say(&format!("converged: {change}.{noise} To run all {passes}, use --tol 0."));
    } else if summary.stop == Stop::Passes && summary.tolerance > 0.0 {
        ui.say(&format!(
            "reached the limit of {passes} before convergence; more passes may improve the topics: \
             train again with --passes {}",
            u64::from(summary.max_passes) * 2
        ));
    }
    super::mismatch::warn_of_beta_limit(summary.beta_limit, ui);
}

/// Formats a number with two significant digits, and without an exponent.
fn significant(value: f64) -> String {
    let digits = (1 - value.abs().log10().floor() as i32).clamp(0, 12);
    let text = format!("{value:.*}", digits.unsigned_abs() as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Says that the model of a training to resume is already finished.
fn say_finished(a: &args::TrainArgs, ui: Ui) {
    let output = a.output().display();
    let report = a.report.as_ref().map_or_else(String::new, |report| {
        format!(" {} was not written; create it with `tinylda report`.", report.display())
    });
    ui.say(&format!(
        "{output} is already trained with these settings: nothing to resume.{report} Omit --resume to train again."
    ));
}

/// Writes the report, from the model file and from the topics of documents at the end of training.
///
/// The model is read back, since it was written row by row: the memory of the training is free
/// again by now, and model and training need not fit at the same time.
fn report(
    a: &args::TrainArgs,
    input: &TrainingInput,
    documents: TrainedDocuments<'_>,
    log: &Log,
    ui: Ui,
) -> anyhow::Result<()> {
    let Some(output) = &a.report else { return Ok(()) };
    let model = Model::load(a.output())?;
    let mut command = command_line().to_vec();
    if let Some(program) = command.first_mut() {
        *program = "tinylda".into();
    }
    // If training was resumed, the time of earlier passes is unknown here.
    let pass = |&(pass, perplexity): &(u32, f64)| {
        let logged = log.passes.iter().rfind(|logged| logged.pass == pass).copied();
        logged.unwrap_or(PassRecord { pass, perplexity, seconds: None, memory: None })
    };
    let request = super::report::ReportRequest {
        title: super::report::title(&model, &input_name(&a.corpus, &[]), a.more.len()),
        input: input.name.clone(),
        command: shell_command(&command),
        passes: model.training().history.iter().map(pass).collect(),
        memory: memory_limit(a.training.memory)?.filter(|_| a.training.memory.is_some()),
        texts: (!a.no_text).then(|| TextAccess { named: input.texts.clone() }),
        threads: super::infer::thread_count(a.training.threads),
    };
    request
        .write(&model, Some(&input.corpus), Some(documents), output, ui)
        .with_context(|| format!("the model {} was written, but its report was not", a.output().display()))?;
    ui.say(&format!("{}: report written; open it in a browser", output.display()));
    Ok(())
}

/// Rejects options that are only valid with data to import.
fn reject_import_options(a: &args::TrainArgs) -> anyhow::Result<()> {
    if a.keep_corpus.is_some() {
        return Err(super::usage(format!(
            "--keep-corpus is only valid with data to import; {} is a corpus file",
            a.corpus.display()
        )));
    }
    let given = [a.vocab.as_ref().map(|_| "--vocab"), a.text.first_given()];
    if let Some(option) = given.into_iter().flatten().next() {
        return Err(super::input::not_with_corpus_error(option, &a.corpus));
    }
    Ok(())
}

/// Trains on data of any kind, including standard input.
///
/// The data is imported into a corpus file of about two bytes per word in a temporary folder next
/// to the model. If training is stopped, the data is imported again to resume it; only the
/// documents of a stream are kept, since they cannot be read again.
fn from_data(
    a: &args::TrainArgs,
    configured: ConfiguredTrainer,
    input: DetectedInput,
    ui: Ui,
) -> anyhow::Result<()> {
    let beside = a.output().parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder =
        match a.keep_corpus {
            Some(_) => None,
            None => Some(TemporaryFolder::new_in(beside.unwrap_or(Path::new("."))).with_context(|| {
                format!("cannot create a temporary folder next to {}", a.output().display())
            })?),
        };
    let temporary = folder.as_ref().map(|folder| folder.path().join("input.tlc"));
    let import_to = a.keep_corpus.as_ref().or(temporary.as_ref()).context("no corpus file")?;
    if !a.plan {
        check_output("-o", a.output(), &[Some(&a.corpus), Some(import_to)])?;
    }
    let reopenable = input.is_reopenable();
    let request = super::input::InputRequest {
        input: &a.corpus,
        more: &a.more,
        text: &a.text,
        vocab: a.vocab.as_deref(),
        model: configured.model.as_deref(),
        new_words: true,
        import_to,
        threads: usize::from(a.training.threads.unwrap_or(0)),
        memory: memory_limit(a.training.memory)?,
    };
    let opened = request.open(input, ui)?;
    let name = input_name(&a.corpus, &a.more);
    if let Some(done) = &opened.imported {
        ui.say(&format!("{name}: {}, {}", done.format.name(), shape_line(done.shape)));
    }
    let texts = a.texts.iter().chain([&a.corpus]).chain(&a.more).cloned().collect();
    let corpus = Corpus::open(&opened.path)?;
    let import_memory = opened.imported.as_ref().and_then(|done| done.memory_needed);
    let input = TrainingInput { corpus, name, imported: true, import_memory, texts };
    let result = on_corpus(a, configured, &input, ui);
    let stopped = result.is_err() && tinylda::train::has_checkpoint(checkpoint_folder(a));
    match (result, temporary) {
        (Err(error), Some(temporary)) if stopped && !reopenable => Err(keep_stream(a, &temporary, &error)),
        (result, _) => result,
    }
}

/// Keeps the imported documents of a stream, which are needed to resume a stopped training. Returns
/// the error with a note about them.
fn keep_stream(a: &args::TrainArgs, temporary: &Path, error: &anyhow::Error) -> anyhow::Error {
    let names = (1..1000).map(|n| {
        append_to_name(a.output(), &if n == 1 { ".stdin.tlc".to_owned() } else { format!(".stdin-{n}.tlc") })
    });
    // A hard link never replaces a file of that name.
    let kept = names
        .filter(|name| !name.exists())
        .find(|name| std::fs::hard_link(temporary, name).is_ok() || std::fs::rename(temporary, name).is_ok());
    let note = match kept {
        Some(kept) => format!(
            "Its input cannot be read again. The documents are kept in {kept}: to resume, give {kept} instead of {}, without options for text.",
            a.corpus.display(),
            kept = kept.display()
        ),
        None => "To resume, provide the same input again.".to_owned(),
    };
    let message = format!("{}\n{note}", crate::message(error));
    if error.is::<StoppedByUser>() { StoppedByUser(message).into() } else { anyhow::anyhow!(message) }
}

/// Warns about seed words that do not occur in the corpus and are therefore ignored.
fn warn_of_seeds(seeds: Option<&Seeds>, corpus: &Corpus, ui: Ui) -> anyhow::Result<()> {
    /// Maximum number of words in the warning.
    const MAX_WORDS: usize = 20;
    let Some(seeds) = seeds else { return Ok(()) };
    let Some(vocabulary) = corpus.vocabulary()? else { return Ok(()) };
    let unknown = seeds.unknown(&vocabulary);
    if !unknown.is_empty() {
        let mut list: Vec<String> =
            unknown.iter().take(MAX_WORDS).map(|word| super::escape_control(word)).collect();
        if unknown.len() > MAX_WORDS {
            list.push(format!("and {} more", unknown.len() - MAX_WORDS));
        }
        ui.say(&format!("warning: ignoring seed words that are not in the corpus: {}", list.join(", ")));
    }
    Ok(())
}

/// Prints what is about to be done.
fn print_start(a: &args::TrainArgs, input: &TrainingInput, model: Option<&Model>, plan: &Plan, ui: Ui) {
    let shape = input.corpus.shape();
    let topics = counted(a.topics.into(), "topic");
    let what = match (&a.update, model) {
        (Some(update), Some(model)) => format!(
            "updating {topics} of {} ({})",
            update.model.display(),
            super::update::describe_start(model, update.weight)
        ),
        _ => format!("training {topics} with {}", a.training.algorithm().name()),
    };
    ui.say(&format!(
        "{what} on {}: {}, {}",
        input.name,
        counted(shape.documents, "document"),
        counted(shape.nonzeros, "non-zero")
    ));
    if !a.training.algorithm().threads() && a.training.threads.is_some_and(|n| n > 1) {
        let name = a.training.algorithm().name();
        ui.say(&format!("{name} updates the topics after every word, so it uses one thread by definition"));
    }
    if plan.on_disk() {
        let folder = a.scratch.clone().unwrap_or_else(|| checkpoint_folder(a));
        let memory =
            plan.ceiling.map_or_else(String::new, |bytes| format!("within {}; ", human_bytes(bytes)));
        ui.say(&format!("{memory}up to {} on disk in {}", human_bytes(plan.disk), folder.display()));
        if let Some(free) = machine::free_disk_bytes(&folder).filter(|&free| free < plan.disk) {
            ui.say(&format!("warning: only {} of disk space are free there", human_bytes(free)));
        }
    }
    if let Some(model) = model {
        return super::mismatch::warn_of_words_without_names(model, &input.corpus, ui);
    }
    super::mismatch::warn_of_many_topics(a.topics, &input.corpus, input.imported, ui);
    if a.topics == 1 {
        ui.say("a single topic is just the word frequencies; use -k 2 or more");
    }
}

/// Runs the training, with progress and log, and writes the model.
fn train(
    a: &args::TrainArgs,
    planned: PlannedTraining<'_>,
    documents: Option<&mut TrainedDocuments<'_>>,
    log: &mut Log,
    ui: Ui,
) -> anyhow::Result<Summary> {
    let bar = ui.bar("pass", Unit::Plain);
    let (mut failed, mut unsaved) = (None, None);
    let mut perplexity = String::new();
    let mut settled = SettledPerplexity::new(a.training.algorithm().name());
    let stage = Stage::Training.enter();
    let callback = |event: Event<'_>| {
        let (line, flow) = match event {
            Event::Progress(progress) => {
                log.progress = Some(*progress);
                (None, show_progress(&bar, progress, &perplexity))
            }
            Event::Pass(report) => {
                perplexity = format!("perplexity {:.1}", settled.push(report.train_perplexity));
                (Some(log.pass(report)), ControlFlow::Continue(()))
            }
            Event::Writing(_) => {
                Stage::Writing.set();
                (None, ControlFlow::Continue(()))
            }
            other => (record_event(&other, log, &bar, &mut unsaved), ControlFlow::Continue(())),
        };
        if let Err(e) = line.map_or(Ok(()), |line| log.line(&line)) {
            let what = format!("cannot write the log {}", path_string(&log.path));
            failed = Some(anyhow::Error::from(e).context(what));
        }
        if let Some(name) = log.just_started.take() {
            bar.say(&format!("logging every pass to {name}"));
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
    drop(stage);
    bar.finish();
    explain_failure(a, summary, failed)
}

/// Shows an event other than progress, and returns its line for the log. `unsaved` is the reason
/// why the last checkpoint could not be written.
fn record_event(
    event: &Event<'_>,
    log: &Log,
    bar: &ProgressReporter,
    unsaved: &mut Option<String>,
) -> Option<Value> {
    match event {
        Event::Resumed(passes) => {
            bar.say(&format!("resuming after pass {passes}"));
            Some(json!({ "event": "resumed", "passes": passes }))
        }
        Event::Snapshot { path, pass, seconds } => {
            bar.say(&format!("model after pass {pass} written to {}", path.display()));
            Some(json!({ "event": "snapshot", "file": path_string(path), "pass": pass, "seconds": seconds }))
        }
        Event::Checkpoint(folder) => {
            if unsaved.take().is_some() {
                bar.say(&format!("a checkpoint was written to {} this time", folder.display()));
            }
            let seconds = log.progress.map(|p| p.seconds);
            Some(json!({ "event": "checkpoint", "folder": path_string(folder), "seconds": seconds }))
        }
        Event::CheckpointFailed { folder, error } => {
            let reason = parameters::describe(error);
            // The same reason is not repeated at every attempt.
            if unsaved.replace(reason.clone()).as_ref() != Some(&reason) {
                bar.say(&super::checkpoint_warning(&reason));
            }
            Some(json!({ "event": "checkpoint_failed", "folder": path_string(folder), "reason": reason }))
        }
        _ => None,
    }
}

/// Adds to the error of a training what is left of it and how to resume. `failed` is the reason why
/// the log could not be written.
fn explain_failure(
    a: &args::TrainArgs,
    summary: tinylda::Result<Summary>,
    failed: Option<anyhow::Error>,
) -> anyhow::Result<Summary> {
    if let Some(error) = failed {
        return Err(match &summary {
            Ok(_) => error.context(format!("the model {} was written, but", a.output().display())),
            Err(stopped) => {
                let (error, stopped) = (crate::message(&error), parameters::describe(stopped));
                let resume = if tinylda::train::has_checkpoint(checkpoint_folder(a)) {
                    format!("\nTo resume:\n  {}", resume_command())
                } else {
                    String::new()
                };
                anyhow::anyhow!("{error}; {stopped}{resume}")
            }
        });
    }
    let folder = checkpoint_folder(a);
    match &summary {
        Err(tinylda::Error::Stopped { path, passes }) => {
            let after = match passes {
                0 => "before the end of the first pass".to_owned(),
                passes => format!("after pass {passes}"),
            };
            let scratch_note = a.scratch.as_ref().map_or_else(String::new, |scratch| {
                format!(" (the files in {} are also needed)", scratch.display())
            });
            let (path, resume) = (path.display(), resume_command());
            let statement = format!(
                "Stopped {after}, with a checkpoint in {path}{scratch_note}.\nResume with:\n  {resume}"
            );
            Err(StoppedByUser(statement).into())
        }
        Err(stopped @ tinylda::Error::NotSaved { saved: Some(_), .. }) => Err(anyhow::anyhow!(
            "{}\nTo resume from it:\n  {}",
            parameters::describe(stopped),
            resume_command()
        )),
        // The checkpoint may have been deleted during the training.
        Err(error) if is_resumable(error) && tinylda::train::has_checkpoint(&folder) => {
            let more = format!("The last checkpoint is in {}. To resume from it:", folder.display());
            Err(anyhow::anyhow!("{}\n{more}\n  {}", parameters::describe(error), resume_command()))
        }
        _ => Ok(summary?),
    }
}

/// Returns whether a training that failed with this error can be resumed from its checkpoint.
fn is_resumable(error: &tinylda::Error) -> bool {
    use tinylda::Error;
    !matches!(
        error,
        Error::Damaged { kind: "checkpoint", .. }
            | Error::Version { kind: "checkpoint", .. }
            | Error::CheckpointExists { .. }
            | Error::CheckpointMismatch { .. }
            | Error::FolderInUse { .. }
            | Error::Parameter { .. }
    )
}

/// Returns the command that resumes the training.
fn resume_command() -> String {
    let mut words = command_line().to_vec();
    words.retain(|word| word != "--restart");
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".into());
    }
    shell_command(&words)
}

/// Joins the words of a command, quoted for a shell.
pub(super) fn shell_command(words: &[String]) -> String {
    words.iter().map(|word| shell_quote(word)).collect::<Vec<_>>().join(" ")
}

/// Returns the folder for checkpoints.
fn checkpoint_folder(a: &args::TrainArgs) -> PathBuf {
    a.checkpoint.clone().unwrap_or_else(|| append_to_name(a.output(), ".checkpoint"))
}

/// Returns the trainer with all options of the command.
fn trainer(a: &args::TrainArgs) -> anyhow::Result<ConfiguredTrainer> {
    let mut trainer = trainer::trainer(&a.training, a.topics, a.seed);
    let (mut seeds, mut model) = (None, None);
    if let Some(update) = &a.update {
        let loaded = Arc::new(super::load_model(&update.model, Some(&a.corpus))?);
        trainer = trainer.update(Arc::clone(&loaded)).update_weight(update.weight);
        model = Some(loaded);
    }
    if let Some(path) = &a.seeds {
        trainer.check_accepts_seeds()?;
        let read = Seeds::read(path).context("--seeds")?;
        trainer = trainer.seeds(read.clone());
        seeds = Some(read);
    }
    if let Some(weight) = a.seed_weight {
        trainer = trainer.seed_weight(weight);
    }
    if let Some(path) = &a.start {
        trainer = trainer.start(read_numbers(path).context("--start")?);
    }
    if let Some(path) = &a.order {
        trainer.check_accepts_order()?;
        trainer = trainer.order(read_numbers(path).context("--order")?);
    }
    if let Some(bytes) = memory_limit(a.training.memory)? {
        trainer = with_memory_limit(trainer, bytes);
    }
    if let Some(folder) = &a.scratch {
        trainer = trainer.scratch(folder.clone());
    }
    if !a.snapshots.is_empty() {
        trainer = trainer.snapshots(a.snapshots.clone(), append_to_name(a.output(), ".snapshots"));
    }
    let every = Some(a.training.checkpoint_every).filter(|every| !every.is_zero());
    let resume = match (a.resume, a.restart) {
        (true, _) => Resume::Yes,
        (_, true) => Resume::Restart,
        _ => Resume::No,
    };
    let trainer = trainer.checkpoint(checkpoint_folder(a), every).resume(resume);
    Ok(ConfiguredTrainer { trainer, seeds, model })
}

/// Reads a file with one number per line.
fn read_numbers<T: std::str::FromStr>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .zip(1u64..)
        .map(|(line, n)| {
            line.trim().parse().map_err(|_| {
                anyhow::anyhow!(
                    "{}, line {n}: expected one whole number of at least 0 per line, found {line:?}",
                    path.display()
                )
            })
        })
        .collect()
}

/// Shows one line of progress: the documents of the pass, the use of the disk if there is any, and
/// the memory compared with its limit.
fn show_progress(bar: &ProgressReporter, p: &TrainingProgress, perplexity: &str) -> ControlFlow<()> {
    let pass = if p.pass == 0 { "start".to_owned() } else { format!("pass {}/{}", p.pass, p.passes) };
    let first = if perplexity.is_empty() { pass } else { format!("{pass}, {perplexity}") };
    // The most important parts come first, since the last ones are omitted in a narrow terminal.
    let mut parts = Vec::new();
    if let Some(memory) = p.resident {
        let ceiling = p.ceiling.map_or_else(String::new, |bytes| format!(" of {}", human_bytes(bytes)));
        parts.push(human_bytes(memory) + &ceiling);
    }
    if p.disk > 0 {
        let rate = (p.read + p.written) as f64 / 1e6 / bar.seconds().max(1e-3);
        parts.push(format!("{} on disk", human_bytes(p.disk)));
        parts.push(format!("{rate:.0} MB/s"));
    }
    parts.push(format!("{} of {}", grouped(p.documents), counted(p.documents_total, "document")));
    bar.update_fraction(p.done, &first, &parts)
}
