//! `tinylda export`

mod programs;

use std::io::BufWriter;
use std::path::Path;

use serde_json::json;
use tinylda::corpus::write_uci;
use tinylda::format::human_bytes;
use tinylda::{Corpus, Model};

use super::{check_output, print, shown, usage};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::Export, ui: Ui) -> anyhow::Result<()> {
    if let (Some(target), Some(path)) = (a.to, &a.output) {
        return programs::run(a, target, path, ui);
    }
    if let Some(path) = &a.npz {
        check_output("--npz", path, &[Some(&a.file)])?;
        Model::load(&a.file)?.export_npz(path)?;
        return written(a.json, path);
    }
    if let Some(path) = &a.uci {
        let to_stdout = path.as_path() == Path::new("-");
        if !to_stdout {
            check_output("--uci", path, &[Some(&a.file)])?;
        } else if a.json {
            return Err(both_to_stdout("--uci -"));
        }
        uci(&Corpus::open(&a.file)?, path, ui)?;
        return if to_stdout { Ok(()) } else { written(a.json, path) };
    }
    Ok(())
}

/// --json beside an output that goes to standard output itself.
pub(super) fn both_to_stdout(other: &str) -> anyhow::Error {
    usage(format!("--json cannot be combined with {other}; only one of them can go to standard output"))
}

/// Writes UCI text to a file or to standard output.
pub(super) fn uci(corpus: &Corpus, path: &Path, ui: Ui) -> anyhow::Result<()> {
    let bar = ui.bar("blocks written", Unit::Plain);
    let progress = &mut |p| bar.step(p);
    if path == Path::new("-") {
        let mut out = BufWriter::new(std::io::stdout().lock());
        match write_uci(corpus, &mut out, Path::new("standard output"), progress) {
            // A reader that has gone away (`| head`) is no failure; what is left in the buffer would fail once more.
            Err(tinylda::Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
                drop(out.into_parts());
            }
            other => other?,
        }
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
