//! `tinylda export --to PROGRAM`: files in the formats of other programs.

use std::path::{Path, PathBuf};

use serde_json::json;
use tinylda::export::{MalletOptions, save_gensim, save_mallet, save_pyldavis, save_sklearn, save_tables};
use tinylda::format::human_bytes;
use tinylda::infer::Mixtures;
use tinylda::table::TableFormat;

use super::super::input::{OpenedDocuments, without_documents_error};
use super::super::{check_output, counted, infer, load_model, path_string, print, usage};
use crate::args::{self, ExportTarget};
use crate::progress::{Ui, Unit};

pub(super) fn run(a: &args::ExportArgs, target: ExportTarget, path: &Path, ui: Ui) -> anyhow::Result<()> {
    let inputs = [&a.file].into_iter().chain(&a.corpus).chain(&a.more).map(|input| Some(input.as_path()));
    check_output("-o", path, &inputs.collect::<Vec<_>>())?;
    let arrays = matches!(target, ExportTarget::Gensim | ExportTarget::Sklearn);
    if a.corpus.is_some() && arrays {
        return Err(usage(
            "CORPUS cannot be combined with this format, whose files contain no documents; \
             `tinylda infer` writes the topics of documents",
        ));
    }
    if a.corpus.is_none() && target == ExportTarget::Pyldavis {
        return Err(usage(
            "--to pyldavis requires CORPUS: `tinylda export MODEL CORPUS --to pyldavis -o FILE`",
        ));
    }
    let model = load_model(&a.file, a.corpus.as_deref())?;
    let threads = infer::thread_count(a.threads);
    let documents = match &a.corpus {
        Some(input) => Some(OpenedDocuments::open(input, &a.more, &a.data, &model, threads, ui)?),
        None if a.data.is_given() => return Err(without_documents_error()),
        None => None,
    };
    let mixtures = match &documents {
        Some(documents) => {
            documents.warn_of_unknown_words(&model, ui)?;
            Some(Mixtures::new(&model, &documents.corpus)?.with_labels().threads(threads))
        }
        None => None,
    };
    let mixtures = mixtures.as_ref();
    let bar = ui.bar("documents", Unit::Plain);
    let progress = &mut |p| bar.update(p);
    let one = |()| vec![path.to_path_buf()];
    let files: Vec<PathBuf> = match (target, mixtures) {
        (ExportTarget::Mallet, _) => {
            save_mallet(&model, mixtures, path, &MalletOptions { words: a.words, seed: a.seed }, progress)?
        }
        (ExportTarget::Csv, _) => save_tables(&model, mixtures, path, TableFormat::Csv, progress)?,
        (ExportTarget::Parquet, _) => save_tables(&model, mixtures, path, TableFormat::Parquet, progress)?,
        (ExportTarget::Gensim, _) => save_gensim(&model, path).map(one)?,
        (ExportTarget::Sklearn, _) => save_sklearn(&model, path).map(one)?,
        (ExportTarget::Pyldavis, Some(mixtures)) => save_pyldavis(mixtures, path, progress).map(one)?,
        // Rejected above.
        (ExportTarget::Pyldavis, None) => Vec::new(),
    };
    bar.finish();
    if let Some(unknown) = mixtures.map(Mixtures::unknown).transpose()?.filter(|u| u.words > 0) {
        ui.say(&format!(
            "ignored {} of the corpus ({}) that the model does not know",
            counted(unknown.words, "word"),
            counted(unknown.tokens, "token")
        ));
    }
    let sizes: Vec<(PathBuf, u64)> = files
        .into_iter()
        .map(|file| std::fs::metadata(&file).map(|m| (file, m.len())))
        .collect::<Result<_, _>>()?;
    let value = json!({
        "files": sizes.iter().map(|(file, bytes)| json!({ "file": path_string(file), "bytes": bytes })).collect::<Vec<_>>(),
    });
    let lines: Vec<String> =
        sizes.iter().map(|(file, bytes)| format!("{}: {}\n", file.display(), human_bytes(*bytes))).collect();
    print(a.json, &value, &lines.concat())
}
