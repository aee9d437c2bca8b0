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

use super::{check_output, escape_control, infer, memory_limit, path_string, print, texts};
use crate::args;
use crate::progress::{ProgressReporter, Ui, Unit};

pub(crate) fn run(a: &args::ReportArgs, ui: Ui) -> anyhow::Result<()> {
    let start = Instant::now();
    check_output("-o", &a.output, &[Some(a.model.as_path()), a.corpus.as_deref(), a.log.as_deref()])?;
    tinylda::files::check_writable(&a.output)?;
    let most = a.memory.and_then(|size| memory_limit(Some(size)).transpose()).transpose()?;
    let corpus = a.corpus.as_deref().map(Corpus::open).transpose()?;
    let threads = infer::thread_count(a.threads);
    if let Some(most) = most {
        let need = memory_needed(ModelSize::of_file(&a.model)?, corpus.as_ref(), threads)?;
        super::check_memory_for_all_steps(
            Ok(()),
            need,
            Some(most),
            "the model and its report are in memory",
        )?;
    }
    let model = Model::load(&a.model)?;
    let (log, asked) = match &a.log {
        Some(log) => (log.clone(), true),
        None => (append_to_name(&a.model, ".log.jsonl"), false),
    };
    let passes = match read_passes(&log, &model) {
        Ok(passes) => passes,
        Err(error) if asked => return Err(error),
        Err(_) => Vec::new(),
    };
    if asked && passes.is_empty() {
        ui.say(&format!("ignoring {}: it is not the log of this model's training", log.display()));
    }
    let named = a.corpus.as_deref().unwrap_or(&a.model);
    let request = ReportRequest {
        title: a.title.clone().unwrap_or_else(|| title(&model, named)),
        input: a.corpus.as_deref().map_or_else(String::new, path_string),
        command: command(&model, &a.model, a.corpus.as_deref()),
        passes,
        memory: None,
        texts: (!a.no_text).then(|| TextAccess { named: a.texts.clone() }),
        threads,
    };
    let bytes = request.write(&model, corpus.as_ref(), None, &a.output, ui)?;
    let seconds = start.elapsed().as_secs_f64();
    let value = json!({
        "file": path_string(&a.output),
        "bytes": bytes,
        "topics": model.topics(),
        "documents": corpus.as_ref().map(|corpus| corpus.shape().documents),
        "seconds": seconds,
    });
    let line =
        format!("{}: {} in {seconds:.1} s; open it in a browser\n", a.output.display(), human_bytes(bytes));
    print(a.json, &value, &line)
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
    Ok(super::with_program(report.memory_bytes_after_training(model, corpus)? + documents))
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
        let page = crate::page::page(&data.json);
        tinylda::files::write_file(output, page.as_bytes())?;
        Ok(page.len() as u64)
    }
}

/// Returns the default title: the name of a file without its suffixes. Models of early versions
/// know the name of their corpus, which takes precedence.
pub(super) fn title(model: &Model, file: &Path) -> String {
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let early = model.training().corpus.file.as_str();
    let mut name = if early.is_empty() { file.as_ref() } else { early };
    for ending in [".tlc", ".input", ".stdin", ".model"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    if name.is_empty() { "topics".into() } else { name.into() }
}

/// Returns the command that creates such a model, from the metadata of the model.
fn command(model: &Model, path: &Path, corpus: Option<&Path>) -> String {
    let training = model.training();
    let corpus = match (training.corpus.file.as_str(), corpus) {
        ("", Some(corpus)) => path_string(corpus),
        ("", None) => "CORPUS".into(),
        (early, _) => early.into(),
    };
    let mut words: Vec<String> = vec!["tinylda".into(), "train".into(), corpus];
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

/// Appends `more` to the name of a file.
fn append_to_name(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    name.into()
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
