//! File that is read at several positions at once.
//!
//! Used by the formats that are read by position: npz, h5ad and Parquet.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::files::read_at;

/// Open file whose readers have independent positions. The file may have no name.
#[derive(Debug, Clone)]
pub(crate) struct SharedFile {
    file: Arc<File>,
    bytes: u64,
    /// Maximum number of bytes that are read into memory at a time.
    max_read: u64,
}

impl SharedFile {
    pub(crate) fn new(file: File) -> io::Result<SharedFile> {
        let bytes = file.metadata()?.len();
        Ok(SharedFile { file: Arc::new(file), bytes, max_read: u64::MAX })
    }

    /// Limits the number of bytes that are read into memory at a time.
    #[must_use]
    pub(crate) fn with_max_read(self, bytes: u64) -> SharedFile {
        SharedFile { max_read: bytes, ..self }
    }

    /// Returns the maximum number of bytes that are read into memory at a time.
    pub(crate) fn max_read(&self) -> u64 {
        self.max_read
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns a reader with its own position.
    pub(crate) fn reader_at(&self, position: u64) -> FileReader {
        FileReader { file: self.clone(), position }
    }
}

/// Sequential reader of a [`SharedFile`] with its own position.
#[derive(Debug)]
pub(crate) struct FileReader {
    file: SharedFile,
    position: u64,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.file.bytes.saturating_sub(self.position);
        let n = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        read_at(&self.file.file, &mut buffer[..n], self.position)?;
        self.position += n as u64;
        Ok(n)
    }
}

impl Seek for FileReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.file.bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
