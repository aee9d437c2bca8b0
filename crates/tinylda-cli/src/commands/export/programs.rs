//! `tinylda export --to PROGRAM`

use std::path::{Path, PathBuf};

use serde_json::json;
use tinylda::export::{Mallet, save_gensim, save_mallet, save_pyldavis, save_sklearn, save_tables};
use tinylda::format::human_bytes;
use tinylda::infer::Mixtures;
use tinylda::table::TableFormat;
use tinylda::{Corpus, Model};

use super::super::{check_output, grouped, infer, print, shown, usage};
use crate::args::{self, Target};
use crate::progress::{Ui, Unit};

pub(super) fn run(a: &args::Export, target: Target, path: &Path, ui: Ui) -> anyhow::Result<()> {
    check_output("-o", path, &[Some(&a.file), a.corpus.as_deref()])?;
    let arrays = matches!(target, Target::Gensim | Target::Sklearn);
    if a.corpus.is_some() && arrays {
        return Err(usage(
            "CORPUS cannot be combined with this format, whose files contain no documents; \
             `tinylda infer` writes the topics of documents",
        ));
    }
    if a.corpus.is_none() && target == Target::Pyldavis {
        return Err(usage(
            "--to pyldavis requires CORPUS: `tinylda export MODEL CORPUS --to pyldavis -o FILE`",
        ));
    }
    let model = Model::load(&a.file)?;
    let corpus = a.corpus.as_deref().map(Corpus::open).transpose()?;
    let mixtures = match &corpus {
        Some(corpus) => Some(Mixtures::new(&model, corpus)?.threads(infer::threads(a.threads))),
        None => None,
    };
    let mixtures = mixtures.as_ref();
    let bar = ui.bar("documents", Unit::Plain);
    let progress = &mut |p| bar.step(p);
    let one = |()| vec![path.to_path_buf()];
    let files: Vec<PathBuf> = match (target, mixtures) {
        (Target::Mallet, _) => {
            save_mallet(&model, mixtures, path, &Mallet { words: a.words, seed: a.seed }, progress)?
        }
        (Target::Csv, _) => save_tables(&model, mixtures, path, TableFormat::Csv, progress)?,
        (Target::Parquet, _) => save_tables(&model, mixtures, path, TableFormat::Parquet, progress)?,
        (Target::Gensim, _) => save_gensim(&model, path).map(one)?,
        (Target::Sklearn, _) => save_sklearn(&model, path).map(one)?,
        (Target::Pyldavis, Some(mixtures)) => save_pyldavis(mixtures, path, progress).map(one)?,
        // Refused above.
        (Target::Pyldavis, None) => Vec::new(),
    };
    bar.done();
    if let Some(unknown) = mixtures.map(Mixtures::unknown).transpose()?.filter(|u| u.words > 0) {
        ui.say(&format!(
            "{} words ({} tokens) of the corpus are not in the model: left out",
            grouped(unknown.words),
            grouped(unknown.tokens)
        ));
    }
    let sizes: Vec<(PathBuf, u64)> = files
        .into_iter()
        .map(|file| std::fs::metadata(&file).map(|m| (file, m.len())))
        .collect::<Result<_, _>>()?;
    let value = json!({
        "files": sizes.iter().map(|(file, bytes)| json!({ "file": shown(file), "bytes": bytes })).collect::<Vec<_>>(),
    });
    let lines: Vec<String> =
        sizes.iter().map(|(file, bytes)| format!("{}: {}\n", file.display(), human_bytes(*bytes))).collect();
    print(a.json, &value, &lines.concat())
}
