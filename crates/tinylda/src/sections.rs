//! Sections of numbers in a checkpointed state file, with a running checksum.
//!
//! Algorithms save and restore their state through [`SectionWriter`] and [`SectionReader`]. They do
//! not know about the folder, the header or the renaming of checkpoints, which are in
//! `train/checkpoint.rs`. This module does not know what the numbers mean.
//!
//! ```text
//! section := u64 number of values, the values in little-endian order
//! ```

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Position, Result};
use crate::files::{AtomicFile, ChecksumWriter};
use crate::numbers::{self, Number};

/// Number of values that are converted to bytes at a time.
const VALUES_PER_CHUNK: usize = 1 << 14;

/// Writes sections of numbers to a file that appears only when it is complete.
#[derive(Debug)]
pub(crate) struct SectionWriter {
    file: ChecksumWriter,
    buffer: Vec<u8>,
}

impl SectionWriter {
    /// Creates a writer to a file that has not been committed yet.
    pub(crate) fn new(file: AtomicFile) -> SectionWriter {
        SectionWriter { file: ChecksumWriter::new(file), buffer: Vec::new() }
    }

    /// Writes bytes without a count.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.put(bytes)
    }

    /// Writes the CRC-32 of everything before it.
    pub(crate) fn checksum(&mut self) -> Result<()> {
        let sum = self.file.checksum();
        self.file.put(&sum.to_le_bytes())
    }

    /// Syncs the file and renames it to its final name.
    pub(crate) fn commit(self) -> Result<()> {
        self.file.into_inner().commit()
    }

    /// Writes a whole section.
    pub(crate) fn numbers<T: Number>(&mut self, values: &[T]) -> Result<()> {
        self.begin(values.len() as u64)?;
        self.write_values(values)
    }

    /// Begins a section of `count` values, which must follow through
    /// [`write_values`](Self::write_values).
    pub(crate) fn begin(&mut self, count: u64) -> Result<()> {
        self.file.put(&count.to_le_bytes())
    }

    /// Writes some values of the current section.
    pub(crate) fn write_values<T: Number>(&mut self, values: &[T]) -> Result<()> {
        for chunk in values.chunks(VALUES_PER_CHUNK) {
            self.buffer.clear();
            numbers::put(chunk, &mut self.buffer);
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

    /// Returns an error which says that the file is damaged at the current position.
    pub(crate) fn damaged(&self, found: impl Into<String>) -> Error {
        Error::damaged_checkpoint(&self.path, Position::Byte(self.at), found)
    }

    /// Reads bytes without a count.
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

    /// Begins a section. A section with a number of values other than `count` is an error.
    pub(crate) fn begin(&mut self, count: u64) -> Result<()> {
        if self.count()? != count {
            let found = "the length of a section does not match the corpus and the number of topics";
            return Err(self.damaged(found));
        }
        Ok(())
    }

    /// Reads some values of the current section.
    pub(crate) fn read_values<T: Number>(&mut self, to: &mut [T]) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for chunk in to.chunks_mut(VALUES_PER_CHUNK) {
            buffer.resize(chunk.len() * T::BYTES, 0);
            self.bytes(&mut buffer)?;
            for (to, from) in chunk.iter_mut().zip(buffer.chunks_exact(T::BYTES)) {
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
        self.read_values(to)
    }

    /// Reads a checksum and compares it with that of everything before it.
    pub(crate) fn checksum(&mut self) -> Result<()> {
        let sum = self.crc.clone().finalize();
        let mut written = [0; 4];
        self.bytes(&mut written)?;
        if u32::from_le_bytes(written) != sum {
            return Err(self.damaged("its checksum is wrong, so a byte was changed or is missing"));
        }
        Ok(())
    }

    /// Verifies the final checksum and that no bytes follow.
    pub(crate) fn end(mut self) -> Result<()> {
        self.checksum()?;
        let mut more = [0];
        match self.file.read(&mut more) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.damaged("it has extra bytes after its end")),
            Err(e) => Err(Error::io("read", &self.path)(e)),
        }
    }
}
