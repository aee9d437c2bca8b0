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
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::table::Table;

/// Files in a folder that appear under their names together, when all of them are complete. If that
/// fails, nothing is left behind, not even a folder that did not exist before.
#[derive(Debug)]
struct ExportFolder<'a> {
    // Fields are dropped in this order: files are removed before their folder.
    files: Vec<AtomicFile>,
    paths: Vec<PathBuf>,
    folder: NewFolder<'a>,
}

impl<'a> ExportFolder<'a> {
    /// Creates a folder and its parents unless they exist.
    fn create(path: &'a Path) -> Result<ExportFolder<'a>> {
        let existed = path.exists();
        std::fs::create_dir_all(path).map_err(Error::io("create", path))?;
        Ok(ExportFolder { files: Vec::new(), paths: Vec::new(), folder: NewFolder { path, existed } })
    }

    /// Returns the path of a file in the folder.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path.join(name)
    }

    /// Adds a file that was written completely but does not have its name yet.
    fn add(&mut self, path: PathBuf, mut file: AtomicFile) -> Result<()> {
        file.sync()?;
        self.files.push(file);
        self.paths.push(path);
        Ok(())
    }

    /// Adds a table that was written completely.
    fn add_table(&mut self, path: PathBuf, table: Table) -> Result<()> {
        match table.close()? {
            (_, Some(file)) => self.add(path, file),
            (_, None) => Ok(()),
        }
    }

    /// Writes a file.
    #[cfg(feature = "compression")]
    fn write(&mut self, name: &str, fill: impl FnOnce(&mut PathWriter<'_>) -> Result<()>) -> Result<()> {
        let path = self.path(name);
        let mut out = AtomicFile::create(&path)?;
        fill(&mut PathWriter { out: &mut out, path: &path })?;
        self.add(path, out)
    }

    /// Gives all files their names and returns their paths.
    fn commit(self) -> Result<Vec<PathBuf>> {
        self.files.into_iter().try_for_each(AtomicFile::commit)?;
        Ok(self.paths)
    }
}

/// A folder that is removed on drop if it is new and empty.
#[derive(Debug)]
struct NewFolder<'a> {
    path: &'a Path,
    existed: bool,
}

impl Drop for NewFolder<'_> {
    fn drop(&mut self) {
        if !self.existed {
            // This only removes the folder if it is empty.
            let _ = std::fs::remove_dir(self.path);
        }
    }
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
