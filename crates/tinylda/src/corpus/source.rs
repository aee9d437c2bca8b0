//! Input and output of the bytes of a corpus: a file or memory, with the same bytes in both.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Corpus;
use crate::error::{Error, Result};
use crate::files::{AtomicFile, ByteSink, ByteSource, MEMORY, open_regular};

/// The bytes of an open corpus.
#[derive(Debug)]
pub(crate) enum CorpusSource {
    /// An open file. The path is the one that the caller gave.
    File { file: File, path: PathBuf, length: u64 },
    /// Bytes in memory.
    Memory(Arc<[u8]>),
}

impl CorpusSource {
    /// Opens a regular file. Folders and pipes are errors.
    pub(crate) fn open(path: &Path) -> Result<CorpusSource> {
        let (file, length) = open_regular(path, "corpus")?;
        Ok(CorpusSource::File { file, path: path.to_path_buf(), length })
    }

    /// Returns the path of the file; `None` for bytes in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            CorpusSource::File { path, .. } => Some(path),
            CorpusSource::Memory(_) => None,
        }
    }

    /// Returns the length in bytes.
    pub(crate) fn length(&self) -> u64 {
        match self {
            CorpusSource::File { length, .. } => *length,
            CorpusSource::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Returns the number of bytes held in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            CorpusSource::File { .. } => 0,
            CorpusSource::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Returns the bytes for reading.
    pub(crate) fn bytes(&self) -> ByteSource<'_> {
        match self {
            CorpusSource::File { file, path, .. } => ByteSource::File { file, path },
            CorpusSource::Memory(bytes) => ByteSource::Memory(bytes),
        }
    }
}

/// A corpus that is being written.
#[derive(Debug)]
pub(crate) enum CorpusOutput {
    /// A file that appears only when it is complete. The path is the one that the caller gave.
    File { file: AtomicFile, path: PathBuf },
    /// Bytes in memory.
    Memory(Vec<u8>),
}

impl CorpusOutput {
    /// Creates a file.
    pub(crate) fn create(path: &Path) -> Result<CorpusOutput> {
        Ok(CorpusOutput::File { file: AtomicFile::create(path)?, path: path.to_path_buf() })
    }

    /// Returns the name to use in errors: the path of the file, or [`MEMORY`].
    pub(crate) fn origin(&self) -> &Path {
        match self {
            CorpusOutput::File { path, .. } => path,
            CorpusOutput::Memory(_) => Path::new(MEMORY),
        }
    }

    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            CorpusOutput::File { file, .. } => file.put(bytes),
            CorpusOutput::Memory(out) => out.put(bytes),
        }
    }

    /// Passes buffered bytes to the operating system, so that they can be read back.
    pub(crate) fn flush(&mut self) -> Result<()> {
        match self {
            CorpusOutput::File { file, path } => file.flush().map_err(Error::io("write", path)),
            CorpusOutput::Memory(_) => Ok(()),
        }
    }

    /// Syncs everything to disk. The file keeps its temporary name.
    pub(crate) fn sync(&mut self) -> Result<()> {
        match self {
            CorpusOutput::File { file, .. } => file.sync(),
            CorpusOutput::Memory(_) => Ok(()),
        }
    }

    /// Returns the bytes written so far, for reading. A file must have been
    /// [flushed](CorpusOutput::flush).
    pub(crate) fn bytes(&self) -> ByteSource<'_> {
        match self {
            CorpusOutput::File { file, path } => ByteSource::File { file: file.file(), path },
            CorpusOutput::Memory(out) => ByteSource::Memory(out),
        }
    }

    /// Renames a file to its final name and opens the corpus.
    pub(crate) fn commit(self) -> Result<Corpus> {
        match self {
            CorpusOutput::File { file, path } => {
                file.commit()?;
                Corpus::open(path)
            }
            CorpusOutput::Memory(out) => Corpus::from_bytes(out),
        }
    }
}
