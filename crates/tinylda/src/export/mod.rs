//! Exports models and the topics of documents to the formats of other programs.
//!
//! | program | module |
//! |---|---|
//! | MALLET and its readers | `mallet` |
//! | pyLDAvis | `pyldavis` |
//! | gensim and scikit-learn, as arrays | `arrays` |
//! | spreadsheets, R, pandas, polars: CSV and Parquet | `tables` |
//!
//! All files are streamed: memory does not grow with the number of documents. `arrays` needs the
//! feature `npz`, `mallet` the feature `compression`, and Parquet tables the feature `parquet`.
//! This module must not know how topics are trained or inferred.

#[cfg(feature = "npz")]
mod arrays;
#[cfg(feature = "compression")]
mod mallet;
mod pyldavis;
mod tables;

#[cfg(feature = "npz")]
pub use arrays::{save_gensim, save_sklearn};
#[cfg(feature = "compression")]
pub use mallet::{MalletOptions, save_mallet};
pub use pyldavis::save_pyldavis;
pub use tables::save_tables;

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// Creates a folder and its parents unless they exist.
fn create_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(Error::io("create", path))
}

/// Writes a file in a folder. It appears under its name only when it is complete. Returns its path.
#[cfg(feature = "compression")]
fn write_file(
    folder: &Path,
    name: &str,
    fill: impl FnOnce(&mut PathWriter<'_>) -> Result<()>,
) -> Result<std::path::PathBuf> {
    let path = folder.join(name);
    let mut out = crate::files::AtomicFile::create(&path)?;
    fill(&mut PathWriter { out: &mut out, path: &path })?;
    out.commit()?;
    Ok(path)
}

/// A writer with the path that error messages name.
struct PathWriter<'a> {
    out: &'a mut dyn Write,
    path: &'a Path,
}

impl PathWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io("write", self.path))
    }

    /// Writes and clears a buffer if it has more than 64 KiB.
    fn flush_if_large(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        if bytes.len() > 1 << 16 {
            self.write(bytes)?;
            bytes.clear();
        }
        Ok(())
    }
}

/// Appends the shortest decimal number that gives the same f32 again, in a form that JSON and CSV
/// readers accept.
fn push_float(out: &mut Vec<u8>, value: f32) {
    // Writing to a `Vec` cannot fail.
    let _ = if value == 0.0 || (1e-4..1e7).contains(&value) {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
}
