//! `tinylda sweep`: finds the best number of topics.
//!
//! The corpus is split, every K is trained with every seed and evaluated (`runs`), the results are
//! compared (`choice`) and shown (`show`). Each run has its own file, so that only the active run
//! is lost when the command is killed, and only since its last checkpoint. Start with [`run`].

mod choice;
mod runs;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tinylda::corpus::Block;
use tinylda::corpus::ingest::DetectedInput;
use tinylda::eval::Coherence;
use tinylda::report::ModelSize;
use tinylda::{Corpus, Error};

use super::train::trainer as training;
use super::{experiment, memory_limit, shape_line, usage};
use crate::args;
use crate::progress::Ui;
use choice::SweepRow;

/// Settings that determine a result in addition to K and the seed, by the names of the options.
type SweepSettings = BTreeMap<String, Value>;

/// Options of the command, and the corpora.
struct SweepSetup<'a> {
    a: &'a args::SweepArgs,
    out: PathBuf,
    settings: SweepSettings,
    threads: usize,
    memory: Option<u64>,
    /// All documents.
    corpus: Corpus,
    /// Documents to train on.
    train: Corpus,
    /// Held-out documents.
    test: Corpus,
}

pub(crate) fn run(a: &args::SweepArgs, ui: Ui) -> anyhow::Result<()> {
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
    experiment::save_result(&setup.out.join("sweep.json"), &setup.settings)?;
    let all = runs::list(&setup, &topics, ui);
    let (count, before) = (all.len(), all.iter().filter(|run| run.is_done()).count());
    if before > 0 {
        let there = setup.out.display();
        ui.say(&format!("{before} of {count} runs already done in {there}, {} remaining", count - before));
    }
    let _stage = crate::signals::Stage::Runs.enter();
    runs::run_all(&setup, all, ui)?;
    let records = runs::load_all(&setup, ui)?;
    let rows = SweepRow::all(&records, a.coherence);
    let choice = choice::choose(&rows, a.coherence);
    show::write_files(&setup, &records, &rows, choice.as_ref())?;
    if crate::signals::interrupted() {
        let done = runs::list(&setup, &topics, ui).iter().filter(|run| run.is_done()).count();
        anyhow::bail!(
            "stopped after {done} of {count} runs; their results are in {}. Run the same command again to continue.",
            setup.out.join("report.md").display()
        );
    }
    let choice = choice.context("no run has a perplexity")?;
    let model = runs::best_model(&setup, &records, &choice, ui)?;
    show::print_result(&setup, &rows, &choice, &model, count - before)
}

/// Returns the default folder: named after the data, in the current folder.
fn default_folder(corpus: &Path) -> PathBuf {
    let stdin = corpus == Path::new("-");
    let mut name = corpus.file_stem().filter(|_| !stdin).unwrap_or("corpus".as_ref()).to_os_string();
    name.push(".sweep");
    name.into()
}

/// Imports the data if necessary, and splits the corpus.
fn prepare(a: &args::SweepArgs, out: PathBuf, ui: Ui) -> anyhow::Result<SweepSetup<'_>> {
    let parts = out.join("parts");
    for folder in [&parts, &out.join("runs"), &out.join("models")] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let memory = memory_limit(a.training.memory)?;
    // Other data must not replace a corpus to which existing results belong.
    let (new, kept) = (out.join("corpus.new.tlc"), out.join("corpus.tlc"));
    let request = super::input::InputRequest {
        more: &a.more,
        input: &a.corpus,
        text: &a.text,
        vocab: a.vocab.as_deref(),
        model: None,
        import_to: &new,
        threads: usize::from(a.training.threads.unwrap_or(0)),
        memory,
    };
    let opened = request.open(DetectedInput::open(&a.corpus)?, ui)?;
    let fingerprint = Corpus::open(&opened.path)?.fingerprint();
    let settings = settings(a, &fingerprint);
    if let Err(error) = check_same_settings(&out, &settings, ui) {
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
    let split = experiment::SplitSpec { share: a.test, seed: a.seed, train: &train_file, test: &test_file };
    let (train, test) = experiment::split_corpus(&corpus, &split, true, ui)?;
    let train = train.context("the training documents are missing")?;
    Ok(SweepSetup {
        a,
        out,
        settings,
        threads: training::thread_count(&a.training),
        memory,
        corpus,
        train,
        test,
    })
}

/// Returns all settings that determine a result, to compare them with those of existing results.
/// Threads, memory and instructions are not among them.
fn settings(a: &args::SweepArgs, fingerprint: &str) -> SweepSettings {
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

/// Rejects a folder with results of other settings, which cannot be compared with new ones.
fn check_same_settings(out: &Path, settings: &SweepSettings, ui: Ui) -> anyhow::Result<()> {
    let file = out.join("sweep.json");
    let Some(old) = experiment::load_result::<SweepSettings>(&file, ui) else { return Ok(()) };
    let value = |of: &SweepSettings, option: &str| match of.get(option) {
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
        "{} contains results of other settings: {}; choose another folder with -o, or use the old settings \
         (only -k, --repeats, --coherence, --threads and --memory may change)",
        out.display(),
        changed.join(", ")
    )))
}

/// Checks before the first training whether all runs can succeed.
fn check(setup: &SweepSetup<'_>, topics: &[u32]) -> anyhow::Result<()> {
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
    // A larger K needs at least as much memory, so the largest K is checked first.
    let mut topics = topics.to_vec();
    topics.sort_unstable_by(|a, b| b.cmp(a));
    for k in topics {
        let plan = runs::trainer(setup, k, setup.a.seed).plan(&setup.train);
        // A model is evaluated in memory; 2 MiB are for lists that are not worth a formula.
        let model = ModelSize::of_training(&setup.train, k).memory_bytes();
        let how = Coherence { threads: setup.threads, ..Coherence::default() };
        let coherence = how.memory_bytes(&setup.corpus, k, setup.a.top);
        let evaluation = model + coherence + (2 << 20);
        let needed = super::with_program(evaluation.max(experiment::FIGURE_BYTES));
        super::check_memory_for_all_steps(
            plan,
            needed,
            setup.memory,
            &format!("a model of {k} topics is evaluated in memory"),
        )?;
    }
    Ok(())
}
