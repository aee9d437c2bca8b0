//! Splits the corpora into training and test documents; the parts are kept for later runs.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tinylda::Corpus;
use tinylda::corpus::Shape;

use super::super::usage;
use super::PaperSetup;
use crate::args;
use crate::experiment::{SplitSpec, split_corpus};
use crate::progress::{Ui, Unit};

/// Maximum number of documents of a corpus with `--quick`.
const QUICK_DOCUMENTS: u64 = 2000;
/// Maximum number of test documents of the comparison with online learning.
const ONLINE_TEST_DOCUMENTS: u64 = 2000;

/// Corpus of the experiments, split into training and test documents.
#[derive(Debug, Clone)]
pub(super) struct PreparedCorpus {
    pub(super) name: String,
    /// Size before the split.
    pub(super) whole: Shape,
    pub(super) train: CorpusPart,
    pub(super) test: CorpusPart,
    /// Whether the corpus has a vocabulary.
    pub(super) vocabulary: bool,
}

/// Training or test part of a corpus.
#[derive(Debug, Clone)]
pub(super) struct CorpusPart {
    pub(super) path: PathBuf,
    pub(super) shape: Shape,
    pub(super) fingerprint: String,
}

/// Splits every corpus in half.
pub(super) fn prepare(
    a: &args::PaperArgs,
    setup: &PaperSetup,
    ui: Ui,
) -> anyhow::Result<Vec<PreparedCorpus>> {
    let mut all: Vec<PreparedCorpus> = Vec::new();
    for path in &a.corpus {
        let corpus = open(path, setup, ui)?;
        let name = name(path);
        if all.iter().any(|corpus| corpus.name == name) {
            return Err(usage(format!("two corpora have the name {name}; rename one of them")));
        }
        all.push(prepare_corpus(&corpus, &name, 0.5, setup, ui)?);
    }
    Ok(all)
}

/// Splits the corpus of the comparison with online learning: a few test documents, the rest for
/// training.
pub(super) fn prepare_online(
    a: &args::PaperArgs,
    setup: &PaperSetup,
    ui: Ui,
) -> anyhow::Result<PreparedCorpus> {
    let path = if let Some(path) = &a.online_corpus {
        path.clone()
    } else {
        let sizes: Result<Vec<u64>, _> =
            a.corpus.iter().map(|path| Corpus::open(path).map(|c| c.shape().nonzeros)).collect();
        let largest = a.corpus.iter().zip(sizes?).max_by_key(|&(_, size)| size);
        largest.map(|(path, _)| path.clone()).context("no corpus is given")?
    };
    let corpus = open(&path, setup, ui)?;
    let share = (ONLINE_TEST_DOCUMENTS as f64 / corpus.shape().documents.max(1) as f64).min(0.5);
    prepare_corpus(&corpus, &format!("{}-online", name(&path)), share, setup, ui)
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Opens a corpus, or a small part of it with `--quick`.
fn open(path: &Path, setup: &PaperSetup, ui: Ui) -> anyhow::Result<Corpus> {
    let corpus = Corpus::open(path)?;
    let documents = corpus.shape().documents;
    if !setup.quick || documents <= QUICK_DOCUMENTS {
        return Ok(corpus);
    }
    let folder = setup.out.join("corpora");
    let file = folder.join(format!("{}-part.tlc", name(path)));
    let rest =
        tinylda::files::TemporaryFolder::new_in(&folder).context("cannot create a temporary folder")?;
    let share = QUICK_DOCUMENTS as f64 / documents as f64;
    let split = SplitSpec { share, seed: setup.seed, train: &rest.path().join("rest.tlc"), test: &file };
    let (_, part) = split_with_bar(&corpus, &split, false, ui)?;
    Ok(part)
}

/// Splits a corpus, or reuses existing parts, with a progress bar.
fn split_with_bar(
    corpus: &Corpus,
    split: &SplitSpec<'_>,
    train_needed: bool,
    ui: Ui,
) -> anyhow::Result<(Option<Corpus>, Corpus)> {
    let bar = ui.bar("blocks split", Unit::Plain);
    split_corpus(corpus, split, train_needed, &mut |p| bar.update(p))
}

/// Splits a corpus, or reuses existing parts.
fn prepare_corpus(
    corpus: &Corpus,
    name: &str,
    share: f64,
    setup: &PaperSetup,
    ui: Ui,
) -> anyhow::Result<PreparedCorpus> {
    let folder = setup.out.join("corpora");
    let file = |which: &str| folder.join(format!("{name}-{which}.tlc"));
    let (train_file, test_file) = (file("train"), file("test"));
    let split = SplitSpec { share, seed: setup.seed, train: &train_file, test: &test_file };
    let (train, test) = split_with_bar(corpus, &split, true, ui)?;
    let train = train.with_context(|| format!("cannot split {name}"))?;
    let part =
        |corpus: &Corpus, path| CorpusPart { path, shape: corpus.shape(), fingerprint: corpus.fingerprint() };
    Ok(PreparedCorpus {
        name: name.to_owned(),
        whole: corpus.shape(),
        train: part(&train, train_file),
        test: part(&test, test_file),
        vocabulary: corpus.has_vocabulary(),
    })
}
