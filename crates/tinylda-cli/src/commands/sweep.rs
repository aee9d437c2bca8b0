//! `tinylda sweep`: how many topics?
//!
//! The corpus is divided, every K is trained with every seed and measured (`runs`), what has come out is weighed (`choice`) and shown (`show`).
//! A run is a file of its own, so that only the one under way is lost when the command is killed, and not all of that: training has its
//! checkpoints.

mod choice;
mod runs;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::Context;
use serde_json::{Value, json};
use tinylda::corpus::Block;
use tinylda::corpus::ingest::DetectedInput;
use tinylda::eval::Coherence;
use tinylda::report::ModelSize;
use tinylda::{Corpus, Error};

use super::train::how;
use super::{PROGRAM_BYTES, ceiling, experiment, shape_line, usage};
use crate::args;
use crate::progress::Ui;
use choice::Row;

/// What every result depends on beside K and the seed, by the names of the options.
type Settings = BTreeMap<String, Value>;

/// What was asked for.
struct Setup<'a> {
    a: &'a args::Sweep,
    out: PathBuf,
    settings: Settings,
    threads: usize,
    memory: Option<u64>,
    /// All documents, those to train on, and those held out.
    corpus: Corpus,
    train: Corpus,
    test: Corpus,
}

pub(crate) fn run(a: &args::Sweep, ui: Ui) -> anyhow::Result<()> {
    let out = a.output.clone().unwrap_or_else(|| default_folder(&a.corpus));
    if out.exists() && !out.is_dir() {
        let found = format!("the file {}", out.display());
        return Err(Error::out_of_range("output", found, "a folder, or a new name").into());
    }
    let mut topics = a.topics.clone();
    topics.sort_unstable();
    topics.dedup();
    let setup = prepare(a, out, ui)?;
    check(&setup, &topics)?;
    experiment::keep(&setup.out.join("sweep.json"), &setup.settings)?;
    let all = runs::list(&setup, &topics, ui);
    let (count, before) = (all.len(), all.iter().filter(|run| run.done()).count());
    if before > 0 {
        let there = setup.out.display();
        ui.say(&format!("{before} of {count} runs are in {there} already, {} to do", count - before));
    }
    runs::go(&setup, all, ui)?;
    let records = runs::all_in(&setup, ui)?;
    let rows = Row::all(&records, a.coherence);
    let choice = choice::choose(&rows, a.coherence);
    show::files(&setup, &records, &rows, choice.as_ref())?;
    if crate::INTERRUPTED.load(Ordering::Relaxed) {
        let done = runs::list(&setup, &topics, ui).iter().filter(|run| run.done()).count();
        anyhow::bail!(
            "stopped with {done} of {count} runs done; what is known is in {}. The same command goes on with the others.",
            setup.out.join("report.md").display()
        );
    }
    let choice = choice.context("no run has a perplexity")?;
    let model = runs::best_model(&setup, &records, &choice, ui)?;
    show::result(&setup, &rows, &choice, &model, count - before)
}

/// Named after the data, in the current folder.
fn default_folder(corpus: &Path) -> PathBuf {
    let stdin = corpus == Path::new("-");
    let mut name = corpus.file_stem().filter(|_| !stdin).unwrap_or("corpus".as_ref()).to_os_string();
    name.push(".sweep");
    name.into()
}

/// The corpus as a file, and its two parts.
fn prepare(a: &args::Sweep, out: PathBuf, ui: Ui) -> anyhow::Result<Setup<'_>> {
    let parts = out.join("parts");
    for folder in [&parts, &out.join("runs"), &out.join("models")] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let memory = ceiling(a.training.memory)?;
    // Other data must not take the place of a corpus that belongs to results.
    let (new, kept) = (out.join("corpus.new.tlc"), out.join("corpus.tlc"));
    let opening = super::input::Opening {
        input: &a.corpus,
        words: &a.words,
        vocab: a.vocab.as_deref(),
        model: None,
        beside: &new,
        keep: true,
        threads: usize::from(a.training.threads.unwrap_or(0)),
        memory,
    };
    let opened = opening.open(DetectedInput::open(&a.corpus)?, ui)?;
    let fingerprint = Corpus::open(&opened.path)?.fingerprint();
    let settings = settings(a, &fingerprint);
    if let Err(error) = compare(&out, &settings, ui) {
        if opened.imported.is_some() {
            let _ = std::fs::remove_file(&new);
        }
        return Err(error);
    }
    let corpus = if opened.imported.is_some() {
        std::fs::rename(&new, &kept).with_context(|| format!("cannot write {}", kept.display()))?;
        Corpus::open(&kept)?
    } else {
        Corpus::open(&opened.path)?
    };
    ui.say(&format!("{}: {}", a.corpus.display(), shape_line(corpus.shape())));
    let (train_file, test_file) = (parts.join("train.tlc"), parts.join("test.tlc"));
    let split = experiment::Split { share: a.test, seed: a.seed, train: &train_file, test: &test_file };
    let (train, test) = experiment::parts(&corpus, &split, true, ui)?;
    let train = train.context("the training part is gone")?;
    Ok(Setup { a, out, settings, threads: how::threads(&a.training), memory, corpus, train, test })
}

/// All that decides about a result, so that what is in the folder can be compared. Threads, memory and instructions do not.
fn settings(a: &args::Sweep, fingerprint: &str) -> Settings {
    let mut list = vec![
        ("the version of tinylda".to_owned(), json!(env!("CARGO_PKG_VERSION"))),
        ("the documents".to_owned(), json!(fingerprint)),
        ("--test".to_owned(), json!(a.test)),
        ("--top".to_owned(), json!(a.top)),
        ("--seed".to_owned(), json!(a.seed)),
        ("--alpha-sum".to_owned(), json!(a.training.alpha_sum)),
    ];
    let given = a.training.given.0.given();
    list.extend(given.into_iter().map(|(name, value)| (args::flag(name), json!(value))));
    list.into_iter().collect()
}

/// Results of other settings cannot stand beside these in one table.
fn compare(out: &Path, settings: &Settings, ui: Ui) -> anyhow::Result<()> {
    let file = out.join("sweep.json");
    let Some(old) = experiment::look_up::<Settings>(&file, ui) else { return Ok(()) };
    let value = |of: &Settings, option: &str| match of.get(option) {
        None | Some(Value::Null) => "the default".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let names = settings.keys().chain(old.keys().filter(|key| !settings.contains_key(*key)));
    let changed: Vec<String> = names
        .filter(|name| value(&old, name) != value(settings, name))
        .map(|name| format!("{name} ({} there, {} now)", value(&old, name), value(settings, name)))
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    Err(usage(format!(
        "{} has the results of other settings: {}; choose another folder with -o, or use the old settings \
         (only -k, --repeats, --coherence, --threads and --memory may change)",
        out.display(),
        changed.join(", ")
    )))
}

/// What can be known to go wrong is said before the first training, and not hours later.
fn check(setup: &Setup<'_>, topics: &[u32]) -> anyhow::Result<()> {
    let (mut reader, mut block) = (setup.test.reader(), Block::default());
    let mut long_enough = false;
    for i in 0..setup.test.blocks() {
        reader.read(i, &mut block)?;
        long_enough = block.iter().any(|document| document.tokens() >= 3);
        if long_enough {
            break;
        }
    }
    if !long_enough {
        let held_out = setup.test.shape().documents;
        let reason = format!("none of the {held_out} held-out documents has three tokens or more");
        return Err(Error::unsupported_value("test", setup.a.test, reason)
            .with_remedy("hold out more documents, or use a larger corpus")
            .into());
    }
    // With a ceiling a larger K needs no less: it decides.
    let mut topics = topics.to_vec();
    topics.sort_unstable_by(|a, b| b.cmp(a));
    for k in topics {
        let plan = runs::trainer(setup, k, setup.a.seed).plan(&setup.train);
        // A model is evaluated in memory; 1 MiB for lists that are not worth a formula.
        let model = ModelSize::of_training(&setup.train, k).memory_bytes();
        let how = Coherence { threads: setup.threads, ..Coherence::default() };
        let coherence = how.memory_bytes(&setup.corpus, k, setup.a.top);
        let needed = PROGRAM_BYTES + (model + coherence + (2 << 20)).max(experiment::FIGURE_BYTES);
        let needed = needed + needed / 32;
        super::enough_for_all(
            plan,
            needed,
            setup.memory,
            &format!("a model of {k} topics is evaluated in memory"),
        )?;
    }
    Ok(())
}
