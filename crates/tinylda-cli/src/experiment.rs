//! Shared by the experiments (`paper`, `sweep`): saved results, split corpora and files of figures.

use std::path::Path;

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tinylda::Corpus;
use tinylda::corpus::split;
use tinylda::files::write_file;
use tinylda::progress::ProgressCallback;

use crate::plot::Drawing;

/// Pixels per unit of a drawing.
const PNG_SCALE: f64 = 2.0;

/// Describes how the parts of a corpus were made, so that they are reused only for the same split.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct SplitOrigin {
    corpus: String,
    share: f64,
    seed: u64,
    train: String,
    test: String,
}

/// Saves a result as JSON in its own file.
pub(crate) fn save_result<T: Serialize>(file: &Path, result: &T) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(result).context("cannot write a result as JSON")?;
    text.push(b'\n');
    write_file(file, &text)?;
    Ok(())
}

/// Loads a result of an earlier command. Returns `None` if there is none or it cannot be read.
/// `note` receives a message in the latter case.
pub(crate) fn load_result<T: DeserializeOwned>(file: &Path, note: &mut dyn FnMut(&str)) -> Option<T> {
    let bytes = std::fs::read(file).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(result) => Some(result),
        Err(error) => {
            note(&format!("cannot read {} ({error}); it will be computed again", file.display()));
            None
        }
    }
}

/// Describes a split of a corpus into training and test documents, each in its own file.
pub(crate) struct SplitSpec<'a> {
    /// Fraction of the documents that go to `test`.
    pub(crate) share: f64,
    pub(crate) seed: u64,
    pub(crate) train: &'a Path,
    pub(crate) test: &'a Path,
}

/// Returns the training and test part of a corpus.
///
/// The files are reused if they were made from the same corpus in the same way, as noted in a file
/// next to `test`. If `train` is not needed, it may have been deleted, and is then not created
/// again.
pub(crate) fn split_corpus(
    corpus: &Corpus,
    spec: &SplitSpec<'_>,
    train_needed: bool,
    progress: ProgressCallback<'_>,
) -> anyhow::Result<(Option<Corpus>, Corpus)> {
    let &SplitSpec { share, seed, train, test } = spec;
    let note = test.with_extension("json");
    let old = std::fs::read(&note).ok().and_then(|bytes| serde_json::from_slice::<SplitOrigin>(&bytes).ok());
    if let (Some(old), Ok(second)) = (old, Corpus::open(test)) {
        let first = Corpus::open(train).ok().filter(|first| first.fingerprint() == old.train);
        let same = old.corpus == corpus.fingerprint()
            && old.share.to_bits() == share.to_bits()
            && old.seed == seed
            && old.test == second.fingerprint();
        if same && (first.is_some() || !train_needed) {
            return Ok((first, second));
        }
    }
    split(corpus, share, seed, train, test, progress)?;
    let (first, second) = (Corpus::open(train)?, Corpus::open(test)?);
    let origin = SplitOrigin {
        corpus: corpus.fingerprint(),
        share,
        seed,
        train: first.fingerprint(),
        test: second.fingerprint(),
    };
    write_file(&note, &serde_json::to_vec(&origin)?)?;
    Ok((Some(first), second))
}

/// Memory in bytes that drawing a figure takes: the pixels and a copy for the PNG encoder.
pub(crate) const FIGURE_BYTES: u64 = 13 << 20;

/// Writes the files of a figure: NAME.svg, NAME.png and NAME.csv.
pub(crate) fn save_figure(folder: &Path, name: &str, drawing: &Drawing, table: &str) -> anyhow::Result<()> {
    tinylda::memory::trim_heap();
    write_file(folder.join(format!("{name}.svg")), drawing.svg().as_bytes())?;
    write_file(folder.join(format!("{name}.png")), &drawing.png(PNG_SCALE)?)?;
    write_file(folder.join(format!("{name}.csv")), table.as_bytes())?;
    Ok(())
}

/// Quotes a value of a CSV file, if necessary.
pub(crate) fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
