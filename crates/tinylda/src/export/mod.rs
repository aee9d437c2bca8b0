//! Models and the topics of documents in the forms that other programs read.
//!
//! | program | file |
//! |---|---|
//! | MALLET and its readers | `mallet` |
//! | pyLDAvis | `pyldavis` |
//! | gensim and scikit-learn, as arrays | `arrays` |
//! | spreadsheets, R, pandas, polars: CSV and Parquet | `tables` |
//!
//! All are written as streams: memory use does not grow with the number of documents. `arrays` needs
//! the feature `npz`, `mallet` the feature `compression`, and Parquet tables the feature `parquet`.

#[cfg(feature = "npz")]
mod arrays;
#[cfg(feature = "compression")]
mod mallet;
mod pyldavis;
mod tables;

#[cfg(feature = "npz")]
pub use arrays::{save_gensim, save_sklearn};
#[cfg(feature = "compression")]
pub use mallet::{Mallet, save_mallet};
pub use pyldavis::save_pyldavis;
pub use tables::save_tables;

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// Makes a folder where there is none.
fn folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(Error::io("create", path))
}

/// Writes a file of a folder, which appears when it is complete.
#[cfg(feature = "compression")]
fn file(
    folder: &Path,
    name: &str,
    fill: impl FnOnce(&mut Sink<'_>) -> Result<()>,
) -> Result<std::path::PathBuf> {
    let path = folder.join(name);
    let mut out = crate::files::AtomicFile::create(&path)?;
    fill(&mut Sink { out: &mut out, path: &path })?;
    out.commit()?;
    Ok(path)
}

/// Where bytes go, and what it is called.
struct Sink<'a> {
    out: &'a mut dyn Write,
    path: &'a Path,
}

impl Sink<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io("write", self.path))
    }

    /// Hands a buffer on where it has grown large.
    fn drain(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        if bytes.len() > 1 << 16 {
            self.put(bytes)?;
            bytes.clear();
        }
        Ok(())
    }
}

/// Appends a number as JSON, CSV and every reader take it, to the last bit of an f32.
fn push_float(out: &mut Vec<u8>, value: f32) {
    // Writing to a list cannot fail.
    let _ = if value == 0.0 || (1e-4..1e7).contains(&value) {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
}
