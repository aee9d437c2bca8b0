//! What the experiments share (`paper`, `sweep`): results that are kept one by one, corpora in parts, the files of a figure.

use std::path::Path;

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tinylda::Corpus;
use tinylda::corpus::split;
use tinylda::files::write_file;

use crate::machine;
use crate::plot::{Drawing, png, svg};
use crate::progress::{Ui, Unit};

/// Pixels for every unit of a drawing.
const SHARP: f64 = 2.0;
/// How parts were made; others are made anew.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    corpus: String,
    share: f64,
    seed: u64,
    train: String,
    test: String,
}

/// Keeps a result, in a file of its own.
pub(super) fn keep<T: Serialize>(file: &Path, result: &T) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(result).context("cannot write a result as JSON")?;
    text.push(b'\n');
    write_file(file, &text)?;
    Ok(())
}

/// A result that an earlier command has kept; one that cannot be read is no reason to stop.
pub(super) fn look_up<T: DeserializeOwned>(file: &Path, ui: Ui) -> Option<T> {
    let bytes = std::fs::read(file).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(result) => Some(result),
        Err(error) => {
            ui.say(&format!("{} cannot be read ({error}): done again", file.display()));
            None
        }
    }
}

/// A split of a corpus into training and test documents, each in a file.
pub(super) struct Split<'a> {
    /// The proportion of documents that go to `test`.
    pub(super) share: f64,
    pub(super) seed: u64,
    pub(super) train: &'a Path,
    pub(super) test: &'a Path,
}

/// Returns both parts of a corpus. The files are reused if they were made from the same corpus in the same way, as noted in a
/// file beside `test`. If `train` is not needed, it may have been deleted, and is then not made again.
pub(super) fn parts(
    corpus: &Corpus,
    wanted: &Split<'_>,
    train_needed: bool,
    ui: Ui,
) -> anyhow::Result<(Option<Corpus>, Corpus)> {
    let &Split { share, seed, train, test } = wanted;
    let note = test.with_extension("json");
    let old = std::fs::read(&note).ok().and_then(|bytes| serde_json::from_slice::<Origin>(&bytes).ok());
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
    let bar = ui.bar("blocks split", Unit::Plain);
    split(corpus, share, seed, train, test, &mut |p| bar.step(p))?;
    bar.done();
    let (first, second) = (Corpus::open(train)?, Corpus::open(test)?);
    let origin = Origin {
        corpus: corpus.fingerprint(),
        share,
        seed,
        train: first.fingerprint(),
        test: second.fingerprint(),
    };
    write_file(&note, &serde_json::to_vec(&origin)?)?;
    Ok((Some(first), second))
}

/// Bytes of memory that drawing a figure takes: the pixels, and a copy of them that becomes a PNG file.
pub(super) const FIGURE_BYTES: u64 = 13 << 20;

/// A figure's files: NAME.svg, NAME.png and NAME.csv.
pub(super) fn save(folder: &Path, name: &str, drawing: &Drawing, table: &str) -> anyhow::Result<()> {
    machine::release_memory();
    write_file(folder.join(format!("{name}.svg")), svg(drawing).as_bytes())?;
    write_file(folder.join(format!("{name}.png")), &png(drawing, SHARP)?)?;
    write_file(folder.join(format!("{name}.csv")), table.as_bytes())?;
    Ok(())
}

/// A value of a CSV file.
pub(super) fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
