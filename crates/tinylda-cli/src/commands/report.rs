//! `tinylda report`: combines the page, which is part of the program, with data from the library.
//!
//! `train` and `demo` write their reports with [`ReportRequest`], too.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};
use tinylda::format::human_bytes;
use tinylda::progress::Step;
use tinylda::report::{ModelSize, PassRecord, Report, RunInfo, TextAccess, TrainedDocuments};
use tinylda::{Corpus, Model};

use super::input::OpenedDocuments;
use super::{and_more, check_output, escape_control, infer, input_name, load_model};
use super::{memory_limit, path_string, print, texts};
use crate::progress::{ProgressReporter, Ui, Unit};
use crate::{args, machine};

pub(crate) fn run(a: &args::ReportArgs, ui: Ui) -> anyhow::Result<()> {
    let start = Instant::now();
    machine::return_large_buffers();
    super::check_report_name("-o", &a.output)?;
    let inputs: Vec<&Path> = a.corpus.iter().chain(&a.more).map(PathBuf::as_path).collect();
    let others = inputs.iter().copied().chain([a.model.as_path()]).chain(a.log.as_deref());
    check_output("-o", &a.output, &others.map(Some).collect::<Vec<_>>())?;
    tinylda::files::check_writable(&a.output)?;
    let most = a.memory.and_then(|size| memory_limit(Some(size)).transpose()).transpose()?;
    let threads = infer::thread_count(a.threads);
    let check_memory = |corpus: Option<&Corpus>| -> anyhow::Result<()> {
        let Some(most) = most else { return Ok(()) };
        let need = memory_needed(ModelSize::of_file(&a.model)?, corpus, threads)?;
        let steps = "the model and its report are in memory";
        Ok(super::check_memory_for_all_steps(Ok(()), need, Some(most), steps)?)
    };
    // The model must be in memory before text can be read, so it is checked first. A corpus file
    // can be included at once. Opening a pipe would consume it.
    let file = a.corpus.as_deref().filter(|path| path.is_file());
    check_memory(file.and_then(|path| Corpus::open(path).ok()).as_ref())?;
    let model = load_model(&a.model, a.corpus.as_deref())?;
    let passes = passes_of(a, &model, ui)?;
    let documents = match &a.corpus {
        Some(input) => Some(OpenedDocuments::open(input, &a.more, &a.data, &model, threads, ui)?),
        None if a.data.is_given() => return Err(super::input::without_documents_error()),
        None => None,
    };
    let corpus = documents.as_ref().map(|documents| &documents.corpus);
    check_memory(corpus)?;
    if let Some(documents) = &documents {
        documents.warn_of_mismatch(&model, ui)?;
    }
    let named = a.corpus.as_deref().unwrap_or(&a.model);
    let imported = documents.as_ref().map_or(&[][..], |documents| &documents.texts.named);
    let sources = imported.iter().chain(&a.texts).cloned().collect();
    let request = ReportRequest {
        title: a.title.clone().unwrap_or_else(|| title(&model, &input_name(named, &[]), a.more.len())),
        input: a.corpus.as_deref().map_or_else(String::new, |corpus| input_name(corpus, &a.more)),
        command: command(&model, &a.model, &inputs),
        passes,
        memory: None,
        texts: (!a.no_text).then_some(TextAccess { named: sources }),
        threads,
    };
    let bytes = request.write(&model, corpus, None, &a.output, ui)?;
    let seconds = start.elapsed().as_secs_f64();
    let value = json!({
        "file": path_string(&a.output),
        "bytes": bytes,
        "topics": model.topics(),
        "documents": corpus.map(|corpus| corpus.shape().documents),
        "seconds": seconds,
    });
    let line =
        format!("{}: {} in {seconds:.1} s; open it in a browser\n", a.output.display(), human_bytes(bytes));
    print(a.json, &value, &line)
}

/// Returns the passes of the model's training from the log that was given, or from the log next to
/// the model, if there is one.
fn passes_of(a: &args::ReportArgs, model: &Model, ui: Ui) -> anyhow::Result<Vec<PassRecord>> {
    let Some(log) = &a.log else {
        return Ok(read_passes(&super::append_to_name(&a.model, ".log.jsonl"), model).unwrap_or_default());
    };
    let passes = read_passes(log, model)?;
    if passes.is_empty() {
        ui.say(&format!("ignoring {}: it is not the log of this model's training", log.display()));
    }
    Ok(passes)
}

/// Returns the memory in bytes that the report of a model needs if the topics of documents have to
/// be inferred.
fn memory_needed(model: ModelSize, corpus: Option<&Corpus>, threads: usize) -> tinylda::Result<u64> {
    let report = Report { threads, texts: Some(TextAccess::default()), run: RunInfo::default() };
    Ok(super::with_program(report.memory_bytes(model, corpus)?))
}

/// Returns the memory in bytes that the report needs after a training, which provides the topics of
/// documents if `keeps_theta`.
pub(super) fn memory_needed_after_training(
    corpus: &Corpus,
    topics: u32,
    threads: usize,
    keeps_theta: bool,
) -> tinylda::Result<u64> {
    let model = ModelSize::of_training(corpus, topics);
    if !keeps_theta {
        return memory_needed(model, Some(corpus), threads);
    }
    let report = Report { threads, texts: Some(TextAccess::default()), run: RunInfo::default() };
    let documents = TrainedDocuments::memory_bytes(corpus, topics);
    let bytes = report.memory_bytes_after_training(model, corpus)? + documents;
    Ok(super::with_program(bytes))
}

/// Content of a report that does not come from the model or the corpus.
pub(super) struct ReportRequest {
    pub(super) title: String,
    /// The documents as the user knows them: the path on the command line, or empty.
    pub(super) input: String,
    /// Command that made the model.
    pub(super) command: String,
    /// Passes of the training, for the curve of the perplexity.
    pub(super) passes: Vec<PassRecord>,
    /// Memory limit of the training in bytes.
    pub(super) memory: Option<u64>,
    /// Where the first lines of documents may be read; `None` to omit them.
    pub(super) texts: Option<TextAccess>,
    pub(super) threads: usize,
}

impl ReportRequest {
    /// Writes the report and returns its size in bytes.
    pub(super) fn write(
        self,
        model: &Model,
        corpus: Option<&Corpus>,
        documents: Option<TrainedDocuments<'_>>,
        output: &Path,
        ui: Ui,
    ) -> anyhow::Result<u64> {
        // The memory plan assumes that a step returns its large buffers before the next one starts.
        machine::return_large_buffers();
        machine::release_program_pages();
        let report = Report {
            threads: self.threads,
            texts: self.texts,
            run: RunInfo {
                title: self.title,
                input: self.input,
                command: self.command,
                version: env!("CARGO_PKG_VERSION").into(),
                passes: self.passes,
                memory: self.memory,
            },
        };
        let mut bar: Option<(Step, ProgressReporter)> = None;
        let data = report.data_with(model, corpus, documents, &mut |p| {
            if bar.as_ref().is_none_or(|(before, _)| *before != p.step) {
                bar = None;
            }
            let (_, bar) = bar.get_or_insert_with(|| (p.step, ui.bar(p.step.name(), Unit::Plain)));
            bar.update(p)
        })?;
        drop(bar);
        if let Some(summary) = &data.texts {
            texts::report_left_out(summary, ui);
        }
        for omitted in &data.omitted_labels {
            ui.say(&format!(
                "warning: the report does not show the labels of {}: there are more than {}; \
                 use a label column with fewer values",
                escape_control(&omitted.column),
                omitted.limit
            ));
        }
        let page = crate::page::render(&data);
        tinylda::files::write_file(output, page.as_bytes())?;
        Ok(page.len() as u64)
    }
}

/// Returns the default title: the name of a file without its suffixes, and the number of inputs
/// after it. Models of early versions know the name of their corpus, which takes precedence.
pub(super) fn title(model: &Model, file: &str, more: usize) -> String {
    let file = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    let early = model.training().corpus.file.as_str();
    let mut name = if early.is_empty() { file.as_ref() } else { early };
    for ending in [".tlc", ".input", ".stdin", ".model"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    let more = if early.is_empty() { and_more(more) } else { String::new() };
    if name.is_empty() { "topics".into() } else { format!("{name}{more}") }
}

/// Returns the command that creates such a model, from the metadata of the model.
fn command(model: &Model, path: &Path, inputs: &[&Path]) -> String {
    let training = model.training();
    let mut words: Vec<String> = vec!["tinylda".into(), "train".into()];
    match (training.corpus.file.as_str(), inputs) {
        ("", []) => words.push("CORPUS".into()),
        ("", inputs) => words.extend(inputs.iter().map(|path| path_string(path))),
        (early, _) => words.push(early.into()),
    }
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("-k", model.topics().to_string());
    option("--seed", training.seed.to_string());
    option("--passes", training.passes.to_string());
    option("-o", path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    for (name, value) in training.settings.given() {
        match (name, value.as_str()) {
            ("topics" | "seed" | "passes", _) | (_, "false") => {}
            (_, "true") => words.push(args::flag(name)),
            _ => words.extend([args::flag(name), value]),
        }
    }
    super::train::shell_command(&words)
}

/// Reads the passes from a log. Returns none if the log is not that of this model's training.
pub(super) fn read_passes(log: &Path, model: &Model) -> anyhow::Result<Vec<PassRecord>> {
    let text =
        std::fs::read_to_string(log).with_context(|| format!("cannot read the log {}", log.display()))?;
    let parse = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        Some(PassRecord {
            pass: u32::try_from(value["pass"].as_u64()?).ok()?,
            perplexity: value["train_perplexity"].as_f64()?,
            seconds: value["seconds"].as_f64(),
            memory: value["rss_bytes"].as_u64(),
        })
    };
    // A resumed training may have done a pass twice; the last one counts.
    let mut found: Vec<PassRecord> = text.lines().filter_map(parse).collect();
    found.sort_by_key(|pass| pass.pass);
    found.reverse();
    found.dedup_by_key(|pass| pass.pass);
    found.reverse();
    let history = &model.training().history;
    let alike = |(pass, &(number, perplexity)): (&PassRecord, &(u32, f64))| {
        pass.pass == number && (pass.perplexity - perplexity).abs() <= 1e-6 * perplexity.abs()
    };
    let same = found.len() == history.len() && found.iter().zip(history).all(alike);
    Ok(if same { found } else { Vec::new() })
}
