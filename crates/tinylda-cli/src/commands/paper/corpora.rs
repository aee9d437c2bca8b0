//! The corpora in parts for training and test, kept for the next time.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tinylda::Corpus;
use tinylda::corpus::Shape;

use super::super::experiment::{Split, parts};
use super::super::usage;
use super::Setup;
use crate::args;
use crate::progress::Ui;

/// With --quick a corpus has at most so many documents.
const QUICK: u64 = 2000;
/// The most documents that models on their way are measured on.
const ONLINE_TEST: u64 = 2000;

/// A corpus of the experiments.
#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) name: String,
    /// Before it was divided.
    pub(super) whole: Shape,
    pub(super) train: Part,
    pub(super) test: Part,
    /// Whether its words have names.
    pub(super) vocabulary: bool,
}

/// A part of a corpus.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) shape: Shape,
    pub(super) fingerprint: String,
}

/// Every corpus in halves.
pub(super) fn prepare(a: &args::Paper, setup: &Setup, ui: Ui) -> anyhow::Result<Vec<Data>> {
    let mut all: Vec<Data> = Vec::new();
    for path in &a.corpus {
        let corpus = open(path, setup, ui)?;
        let name = name(path);
        if all.iter().any(|data| data.name == name) {
            return Err(usage(format!("two corpora have the name {name}; rename one of them")));
        }
        all.push(divide(&corpus, &name, 0.5, setup, ui)?);
    }
    Ok(all)
}

/// The corpus for the comparison with online learning: a few documents for the test, the rest for training.
pub(super) fn prepare_online(a: &args::Paper, setup: &Setup, ui: Ui) -> anyhow::Result<Data> {
    let path = if let Some(path) = &a.online_corpus {
        path.clone()
    } else {
        let sizes: Result<Vec<u64>, _> =
            a.corpus.iter().map(|path| Corpus::open(path).map(|c| c.shape().nonzeros)).collect();
        let largest = a.corpus.iter().zip(sizes?).max_by_key(|&(_, size)| size);
        largest.map(|(path, _)| path.clone()).context("no corpus is given")?
    };
    let corpus = open(&path, setup, ui)?;
    let share = (ONLINE_TEST as f64 / corpus.shape().documents.max(1) as f64).min(0.5);
    divide(&corpus, &format!("{}-online", name(&path)), share, setup, ui)
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The corpus, or a small part of it with --quick.
fn open(path: &Path, setup: &Setup, ui: Ui) -> anyhow::Result<Corpus> {
    let corpus = Corpus::open(path)?;
    let documents = corpus.shape().documents;
    if !setup.quick || documents <= QUICK {
        return Ok(corpus);
    }
    let folder = setup.out.join("corpora");
    let file = folder.join(format!("{}-part.tlc", name(path)));
    let rest = tempfile::tempdir_in(&folder).context("cannot make a temporary folder")?;
    let share = QUICK as f64 / documents as f64;
    let split = Split { share, seed: setup.seed, train: &rest.path().join("rest.tlc"), test: &file };
    let (_, part) = parts(&corpus, &split, false, ui)?;
    Ok(part)
}

/// Makes the two parts, or takes those that are there.
fn divide(corpus: &Corpus, name: &str, share: f64, setup: &Setup, ui: Ui) -> anyhow::Result<Data> {
    let folder = setup.out.join("corpora");
    let file = |which: &str| folder.join(format!("{name}-{which}.tlc"));
    let (train_file, test_file) = (file("train"), file("test"));
    let split = Split { share, seed: setup.seed, train: &train_file, test: &test_file };
    let (train, test) = parts(corpus, &split, true, ui)?;
    let train = train.with_context(|| format!("cannot divide {name}"))?;
    let part =
        |corpus: &Corpus, path| Part { path, shape: corpus.shape(), fingerprint: corpus.fingerprint() };
    Ok(Data {
        name: name.to_owned(),
        whole: corpus.shape(),
        train: part(&train, train_file),
        test: part(&test, test_file),
        vocabulary: corpus.has_vocabulary(),
    })
}
