//! `tinylda export`: writes a model or corpus for other programs.

mod programs;

use std::io::BufWriter;
use std::path::Path;

use serde_json::json;
use tinylda::corpus::write_uci;
use tinylda::format::human_bytes;
use tinylda::{Corpus, Model};

use super::{check_output, path_string, print, usage};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::ExportArgs, ui: Ui) -> anyhow::Result<()> {
    if let (Some(target), Some(path)) = (a.to, &a.output) {
        return programs::run(a, target, path, ui);
    }
    if let Some(path) = &a.npz {
        check_output("--npz", path, &[Some(&a.file)])?;
        Model::load(&a.file)?.export_npz(path)?;
        return print_written(a.json, path);
    }
    if let Some(path) = &a.uci {
        let to_stdout = path.as_path() == Path::new("-");
        if !to_stdout {
            check_output("--uci", path, &[Some(&a.file)])?;
        } else if a.json {
            return Err(stdout_conflict("--uci -"));
        }
        uci(&Corpus::open(&a.file)?, path, ui)?;
        return if to_stdout { Ok(()) } else { print_written(a.json, path) };
    }
    Ok(())
}

/// Returns the error for `--json` together with an output that goes to standard output, too.
pub(super) fn stdout_conflict(other: &str) -> anyhow::Error {
    usage(format!("--json cannot be combined with {other}; only one of them can go to standard output"))
}

/// Writes UCI text to a file or to standard output.
pub(super) fn uci(corpus: &Corpus, path: &Path, ui: Ui) -> anyhow::Result<()> {
    let bar = ui.bar("blocks written", Unit::Plain);
    let progress = &mut |p| bar.update(p);
    if path == Path::new("-") {
        let mut out = BufWriter::new(super::stdout()?);
        match write_uci(corpus, &mut out, Path::new("standard output"), progress) {
            // A closed pipe (`| head`) is not an error. Flushing the rest of the buffer would fail
            // again, so it is discarded.
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

/// Prints the size of a written file.
fn print_written(json: bool, path: &Path) -> anyhow::Result<()> {
    let bytes = std::fs::metadata(path)?.len();
    let value = json!({ "file": path_string(path), "bytes": bytes });
    print(json, &value, &format!("{}: {}\n", path.display(), human_bytes(bytes)))
}
