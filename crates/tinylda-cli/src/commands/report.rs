//! `tinylda report`: the page that is in the program, and the data that the library makes.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};
use tinylda::format::human_bytes;
use tinylda::progress::Step;
use tinylda::report::{ModelSize, Pass, Report, Run, TrainedDocuments};
use tinylda::{Corpus, Model};

use super::{PROGRAM_BYTES, ceiling, check_output, infer, print, shown};
use crate::args;
use crate::progress::{Bar, Ui, Unit};

pub(crate) fn run(a: &args::Report, ui: Ui) -> anyhow::Result<()> {
    let began = Instant::now();
    check_output("-o", &a.output, &[Some(a.model.as_path()), a.corpus.as_deref(), a.log.as_deref()])?;
    tinylda::files::check_writable(&a.output)?;
    let most = a.memory.and_then(|size| ceiling(Some(size)).transpose()).transpose()?;
    let corpus = a.corpus.as_deref().map(Corpus::open).transpose()?;
    let threads = infer::threads(a.threads);
    if let Some(most) = most {
        let need = need(ModelSize::of_file(&a.model)?, corpus.as_ref(), threads)?;
        super::enough_for_all(Ok(()), need, Some(most), "the model and its report are in memory")?;
    }
    let model = Model::load(&a.model)?;
    let (log, asked) = match &a.log {
        Some(log) => (log.clone(), true),
        None => (with_more(&a.model, ".log.jsonl"), false),
    };
    let passes = match passes(&log, &model) {
        Ok(passes) => passes,
        Err(error) if asked => return Err(error),
        Err(_) => Vec::new(),
    };
    if asked && passes.is_empty() {
        ui.say(&format!("{}: not the log of this model's training, and passed over", log.display()));
    }
    let making = Making {
        title: a.title.clone().unwrap_or_else(|| title(&model)),
        command: command(&model, &a.model),
        passes,
        memory: None,
        texts: !a.no_text,
        threads,
    };
    let bytes = making.write(&model, corpus.as_ref(), None, &a.output, ui)?;
    let seconds = began.elapsed().as_secs_f64();
    let value = json!({
        "file": shown(&a.output),
        "bytes": bytes,
        "topics": model.topics(),
        "documents": corpus.as_ref().map(|corpus| corpus.shape().documents),
        "seconds": seconds,
    });
    let line =
        format!("{}: {} in {seconds:.1} s; open it in a browser\n", a.output.display(), human_bytes(bytes));
    print(a.json, &value, &line)
}

/// Returns the memory that the report of a model takes, if the topics of documents have to be inferred.
fn need(model: ModelSize, corpus: Option<&Corpus>, threads: usize) -> tinylda::Result<u64> {
    let report = Report { threads, texts: true, run: Run::default() };
    Ok(with_program(report.memory_bytes(model, corpus)?))
}

/// Returns the memory that the report takes after a training, which hands over the topics of documents if `at_hand`.
pub(super) fn need_after_training(
    corpus: &Corpus,
    topics: u32,
    threads: usize,
    at_hand: bool,
) -> tinylda::Result<u64> {
    let model = ModelSize::of_training(corpus, topics);
    if !at_hand {
        return need(model, Some(corpus), threads);
    }
    let report = Report { threads, texts: true, run: Run::default() };
    let documents = TrainedDocuments::memory_bytes(corpus, topics);
    Ok(with_program(report.memory_bytes_after_training(model, corpus)? + documents))
}

fn with_program(bytes: u64) -> u64 {
    let bytes = PROGRAM_BYTES + bytes;
    bytes + bytes / 32
}

/// How a report is made, as `report`, `train` and `demo` have it.
pub(super) struct Making {
    pub(super) title: String,
    pub(super) command: String,
    pub(super) passes: Vec<Pass>,
    pub(super) memory: Option<u64>,
    pub(super) texts: bool,
    pub(super) threads: usize,
}

impl Making {
    /// Writes the file; returns its size.
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
            run: Run {
                title: self.title,
                command: self.command,
                version: env!("CARGO_PKG_VERSION").into(),
                passes: self.passes,
                memory: self.memory,
            },
        };
        let mut bar: Option<(Step, Bar)> = None;
        let data = report.data_with(model, corpus, documents, &mut |p| {
            if bar.as_ref().is_none_or(|(before, _)| *before != p.step) {
                bar = None;
            }
            let (_, bar) = bar.get_or_insert_with(|| (p.step, ui.bar(p.step.name(), Unit::Plain)));
            bar.step(p)
        })?;
        drop(bar);
        let page = crate::page::page(&data);
        tinylda::files::write_file(output, page.as_bytes())?;
        Ok(page.len() as u64)
    }
}

/// What was modelled: the corpus's name without its endings.
pub(super) fn title(model: &Model) -> String {
    let mut name = model.training().corpus.file.as_str();
    for ending in [".tlc", ".input", ".stdin", ".model"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    if name.is_empty() { "topics".into() } else { name.into() }
}

/// The command that makes such a model, from what the model keeps.
fn command(model: &Model, path: &Path) -> String {
    let training = model.training();
    let mut words: Vec<String> = vec!["tinylda".into(), "train".into(), training.corpus.file.clone()];
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
    super::train::shell(&words)
}

fn with_more(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    name.into()
}

/// The passes in a log; none where it is not of this model's training.
pub(super) fn passes(log: &Path, model: &Model) -> anyhow::Result<Vec<Pass>> {
    let text =
        std::fs::read_to_string(log).with_context(|| format!("cannot read the log {}", log.display()))?;
    let one = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        Some(Pass {
            pass: u32::try_from(value["pass"].as_u64()?).ok()?,
            perplexity: value["train_perplexity"].as_f64()?,
            seconds: value["seconds"].as_f64(),
            memory: value["rss_bytes"].as_u64(),
        })
    };
    // A training that was resumed may have done a pass twice.
    let mut found: Vec<Pass> = text.lines().filter_map(one).collect();
    found.sort_by_key(|pass| pass.pass);
    found.reverse();
    found.dedup_by_key(|pass| pass.pass);
    found.reverse();
    let history = &model.training().history;
    let alike = |(pass, &(number, perplexity)): (&Pass, &(u32, f64))| {
        pass.pass == number && (pass.perplexity - perplexity).abs() <= 1e-6 * perplexity.abs()
    };
    let same = found.len() == history.len() && found.iter().zip(history).all(alike);
    Ok(if same { found } else { Vec::new() })
}
