//! `tinylda export`

use std::io::BufWriter;
use std::path::Path;

use serde_json::json;
use tinylda::corpus::write_uci;
use tinylda::{Corpus, Model, human_bytes};

use super::{print, shown};
use crate::args;
use crate::progress::Ui;

pub(crate) fn run(a: &args::Export, ui: Ui) -> anyhow::Result<()> {
    if let Some(path) = &a.npz {
        if tinylda::same_file(&a.file, path) {
            anyhow::bail!("--npz is the input file {}: choose another name", path.display());
        }
        Model::load(&a.file)?.export_npz(path)?;
        return written(a.json, path);
    }
    if let Some(path) = &a.uci {
        let corpus = Corpus::open(&a.file)?;
        uci(&corpus, path, ui)?;
        return if path == Path::new("-") { Ok(()) } else { written(a.json, path) };
    }
    Ok(())
}

/// Writes UCI text to a file or to standard output.
pub(super) fn uci(corpus: &Corpus, path: &Path, ui: Ui) -> anyhow::Result<()> {
    let bar = ui.counting("blocks written", corpus.blocks() as u64);
    let progress = &mut |done, total| bar.at(done, total, "");
    if path == Path::new("-") {
        let mut out = BufWriter::new(std::io::stdout().lock());
        write_uci(corpus, &mut out, Path::new("standard output"), progress)?;
    } else {
        tinylda::corpus::save_uci(corpus, path, progress)?;
    }
    Ok(())
}

fn written(json: bool, path: &Path) -> anyhow::Result<()> {
    let bytes = std::fs::metadata(path)?.len();
    let value = json!({ "file": shown(path), "bytes": bytes });
    print(json, &value, &format!("{}: {}\n", path.display(), human_bytes(bytes)))
}
