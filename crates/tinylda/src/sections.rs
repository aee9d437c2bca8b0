//! Sections of numbers in a checkpointed state file, with a running checksum.
//!
//! Algorithms save and restore their state through [`SectionWriter`] and [`SectionReader`] and know nothing of the folder,
//! the header or the renaming of checkpoints (`train/checkpoint.rs`).
//!
//! ```text
//! section := u64 number of values, the values in little-endian order
//! ```

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Position, Result};
use crate::files::{AtomicFile, Summed};
use crate::numbers::{self, Number};

/// Values converted to bytes at a time.
const CHUNK: usize = 1 << 14;

/// Writes sections of numbers to a file that appears when it is complete.
#[derive(Debug)]
pub(crate) struct SectionWriter {
    file: Summed,
    buffer: Vec<u8>,
}

impl SectionWriter {
    /// Starts writing to a file that is not visible yet.
    pub(crate) fn new(file: AtomicFile) -> SectionWriter {
        SectionWriter { file: Summed::new(file), buffer: Vec::new() }
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.put(bytes)
    }

    /// Writes the CRC-32 of everything before it.
    pub(crate) fn checksum(&mut self) -> Result<()> {
        let sum = self.file.sum();
        self.file.put(&sum.to_le_bytes())
    }

    /// Makes the file visible under its name.
    pub(crate) fn commit(self) -> Result<()> {
        self.file.into_inner().commit()
    }

    /// Writes a whole section.
    pub(crate) fn numbers<T: Number>(&mut self, values: &[T]) -> Result<()> {
        self.begin(values.len() as u64)?;
        self.more(values)
    }

    /// Begins a section of `count` values, which [`more`](Self::more) then writes.
    pub(crate) fn begin(&mut self, count: u64) -> Result<()> {
        self.file.put(&count.to_le_bytes())
    }

    /// Writes some values of the current section.
    pub(crate) fn more<T: Number>(&mut self, values: &[T]) -> Result<()> {
        for some in values.chunks(CHUNK) {
            self.buffer.clear();
            numbers::put(some, &mut self.buffer);
            self.file.put(&self.buffer)?;
        }
        Ok(())
    }
}

/// Reads what a [`SectionWriter`] wrote and verifies its checksums.
#[derive(Debug)]
pub(crate) struct SectionReader {
    path: PathBuf,
    file: BufReader<File>,
    crc: crc32fast::Hasher,
    at: u64,
    buffer: Vec<u8>,
}

impl SectionReader {
    /// Opens a file at its beginning.
    pub(crate) fn open(path: &Path) -> Result<SectionReader> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        Ok(SectionReader {
            path: path.to_path_buf(),
            file: BufReader::with_capacity(1 << 18, file),
            crc: crc32fast::Hasher::new(),
            at: 0,
            buffer: Vec::new(),
        })
    }

    /// Returns the error that the file is damaged at the current position.
    pub(crate) fn damaged(&self, found: impl Into<String>) -> Error {
        Error::damaged_checkpoint(&self.path, Position::Byte(self.at), found)
    }

    /// Reads bytes as they are.
    pub(crate) fn bytes(&mut self, to: &mut [u8]) -> Result<()> {
        match self.file.read_exact(to) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(self.damaged("it is cut short"));
            }
            Err(e) => return Err(Error::io("read", &self.path)(e)),
        }
        self.crc.update(to);
        self.at += to.len() as u64;
        Ok(())
    }

    /// Reads a count of values or bytes.
    pub(crate) fn count(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Begins a section, which must have `count` values.
    pub(crate) fn begin(&mut self, count: u64) -> Result<()> {
        if self.count()? != count {
            return Err(self.damaged("a section has another length than the corpus and the topics demand"));
        }
        Ok(())
    }

    /// Reads some values of the current section.
    pub(crate) fn more<T: Number>(&mut self, to: &mut [T]) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for some in to.chunks_mut(CHUNK) {
            buffer.resize(some.len() * T::BYTES, 0);
            self.bytes(&mut buffer)?;
            for (to, from) in some.iter_mut().zip(buffer.chunks_exact(T::BYTES)) {
                *to = T::get(from);
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    /// Reads a whole section of `count` values.
    pub(crate) fn numbers<T: Number>(&mut self, count: usize, to: &mut Vec<T>) -> Result<()> {
        self.begin(count as u64)?;
        to.clear();
        to.resize(count, T::default());
        self.more(to)
    }

    /// Verifies the checksum that stands here.
    pub(crate) fn checksum(&mut self) -> Result<()> {
        let sum = self.crc.clone().finalize();
        let mut written = [0; 4];
        self.bytes(&mut written)?;
        if u32::from_le_bytes(written) != sum {
            return Err(self.damaged("its checksum is wrong, so some byte has changed or is missing"));
        }
        Ok(())
    }

    /// Verifies the final checksum and that nothing follows.
    pub(crate) fn end(mut self) -> Result<()> {
        self.checksum()?;
        let mut more = [0];
        match self.file.read(&mut more) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.damaged("it has bytes behind its end")),
            Err(e) => Err(Error::io("read", &self.path)(e)),
        }
    }
}
