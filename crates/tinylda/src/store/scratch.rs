//! Scratch files for the state of documents that is not in memory: records that are appended, and
//! read by position.
//!
//! Every pass writes a new file and reads the file of the previous pass, so nothing is overwritten
//! and what a checkpoint refers to never changes. A file is deleted when neither a piece nor the
//! last checkpoint refers to it.
//!
//! The contents of the records are not known here. Start reading at [`ScratchFiles`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Position, Result};
use crate::files::read_at;
use crate::numbers::{NumberReader, NumberWriter};

/// Prefix of the names of scratch files.
const PREFIX: &str = "tinylda-messages-";

/// Location of a record in a scratch file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) crc: u32,
}

/// A file of records.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    file: File,
}

impl RecordFile {
    /// Reads a record with `take`, which returns `None` if the record makes no sense, and verifies
    /// its checksum.
    pub(super) fn read(
        &self,
        at: Location,
        take: impl FnOnce(&mut NumberReader<'_>) -> Result<Option<()>>,
    ) -> Result<()> {
        let damaged = |found: &str| Error::damaged_checkpoint(&self.path, Position::Byte(at.offset), found);
        // Checked before memory is allocated for the record.
        let there = self.file.metadata().map_err(Error::io("read", &self.path))?.len();
        if at.offset.checked_add(at.bytes).is_none_or(|end| end > there) {
            return Err(damaged("it is cut short"));
        }
        let (mut offset, mut crc) = (at.offset, crc32fast::Hasher::new());
        let mut read = |to: &mut [u8]| {
            read_at(&self.file, to, offset).map_err(Error::io("read", &self.path))?;
            offset += to.len() as u64;
            crc.update(to);
            Ok(())
        };
        let mut reader = NumberReader::new(at.bytes, &mut read);
        let taken = take(&mut reader)?;
        reader.skip()?;
        if crc.finalize() != at.crc {
            return Err(damaged("the checksum of a record is wrong"));
        }
        taken.ok_or_else(|| self.invalid_record(at))
    }

    /// Returns the error for a record with a correct checksum that does not fit the corpus.
    pub(super) fn invalid_record(&self, at: Location) -> Error {
        Error::damaged_checkpoint(&self.path, Position::Byte(at.offset), "a record does not fit the corpus")
    }
}

/// A file that records are appended to.
#[derive(Debug)]
pub(super) struct RecordWriter {
    number: u32,
    records: Arc<RecordFile>,
    offset: u64,
}

impl RecordWriter {
    /// Appends the record that `put` writes.
    pub(super) fn append(
        &mut self,
        put: impl FnOnce(&mut NumberWriter<'_>) -> Result<()>,
    ) -> Result<Location> {
        let (mut file, mut crc, mut bytes) = (&self.records.file, crc32fast::Hasher::new(), 0);
        let mut write = |some: &[u8]| {
            crc.update(some);
            bytes += some.len() as u64;
            file.write_all(some).map_err(Error::io("write", &self.records.path))
        };
        let mut writer = NumberWriter::new(&mut write);
        put(&mut writer)?;
        writer.flush()?;
        let at = Location { file: self.number, offset: self.offset, bytes, crc: crc.finalize() };
        self.offset += bytes;
        Ok(at)
    }
}

/// All scratch files of a training.
#[derive(Debug)]
pub(super) struct ScratchFiles {
    folder: Option<PathBuf>,
    pub(super) files: BTreeMap<u32, Arc<RecordFile>>,
    /// Number of the next file.
    next: u32,
    /// Numbers of the files that the last checkpoint refers to.
    pinned: BTreeSet<u32>,
    /// Number of the first file written by this process.
    pub(super) first_own: u32,
}

impl ScratchFiles {
    pub(super) fn new(folder: Option<PathBuf>) -> ScratchFiles {
        ScratchFiles { folder, files: BTreeMap::new(), next: 1, pinned: BTreeSet::new(), first_own: 1 }
    }

    /// Opens the files that a checkpoint refers to. They are kept until the next checkpoint.
    pub(super) fn open_files(&mut self, numbers: BTreeSet<u32>) -> Result<()> {
        self.pinned.clone_from(&numbers);
        let Some(folder) = &self.folder else { return Ok(()) };
        for &number in &numbers {
            let path = path(folder, number);
            let file = File::open(&path).map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::damaged_checkpoint(&path, Position::Whole, "the file is missing")
                }
                _ => Error::io("open", &path)(e),
            })?;
            self.files.insert(number, Arc::new(RecordFile { path, file }));
        }
        self.next = found(folder).into_iter().chain(numbers).max().map_or(1, |last| last.saturating_add(1));
        self.first_own = self.next;
        Ok(())
    }

    /// Deletes files that a killed process has left.
    pub(super) fn remove_strays(&self) {
        let Some(folder) = &self.folder else { return };
        for number in found(folder).into_iter().filter(|number| !self.pinned.contains(number)) {
            let _ = std::fs::remove_file(path(folder, number));
        }
    }

    /// Creates a new file.
    pub(super) fn create_file(&mut self) -> Result<RecordWriter> {
        let Some(folder) = &self.folder else {
            return Err(Error::missing("scratch", "a folder for data that does not fit in memory"));
        };
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let number = self.next;
        let path = path(folder, number);
        let mut options = std::fs::OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(Error::io("create", &path))?;
        let records = Arc::new(RecordFile { path, file });
        self.files.insert(number, Arc::clone(&records));
        self.next += 1;
        Ok(RecordWriter { number, records, offset: 0 })
    }

    /// Deletes the files that are neither in use nor part of the last checkpoint.
    pub(super) fn remove_unused(&mut self, in_use: &BTreeSet<u32>) {
        let pinned = &self.pinned;
        self.files.retain(|number, records| {
            let stays = in_use.contains(number) || pinned.contains(number);
            if !stays {
                // It does not matter if the file is gone already.
                let _ = std::fs::remove_file(&records.path);
            }
            stays
        });
    }

    /// Syncs the files that a checkpoint will refer to. Returns an error if one of them is gone.
    pub(super) fn sync(&self, in_use: &BTreeSet<u32>) -> Result<()> {
        for (number, records) in in_use.iter().filter_map(|number| self.files.get_key_value(number)) {
            // Files of an earlier process are on disk already.
            if *number >= self.first_own {
                records.file.sync_data().map_err(Error::io("write", &records.path))?;
            }
            records.path.metadata().map_err(Error::io("keep", &records.path))?;
        }
        if let Some(folder) = self.folder.as_ref().and_then(|folder| File::open(folder).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Sets the files that the last checkpoint refers to.
    pub(super) fn pin(&mut self, numbers: BTreeSet<u32>) {
        self.pinned = numbers;
    }

    /// Returns the bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes_of(|_| true)
    }

    /// Returns the bytes of files that are kept for the checkpoint only.
    pub(super) fn bytes_for_checkpoint_only(&self, in_use: &BTreeSet<u32>) -> u64 {
        self.bytes_of(|number| !in_use.contains(number))
    }

    fn bytes_of(&self, which: impl Fn(&u32) -> bool) -> u64 {
        let files = self.files.iter().filter(|(number, _)| which(number));
        files.filter_map(|(_, records)| records.file.metadata().ok()).map(|m| m.len()).sum()
    }
}

impl Drop for ScratchFiles {
    /// Deletes all files that the last checkpoint does not refer to.
    fn drop(&mut self) {
        self.remove_unused(&BTreeSet::new());
        if let Some(folder) = self.folder.as_ref().filter(|_| self.pinned.is_empty()) {
            // This only removes the folder if it is empty.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Returns the path of a file.
fn path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{PREFIX}{number:06}"))
}

/// Returns the numbers of the scratch files in a folder.
fn found(folder: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let name = |entry: std::fs::DirEntry| entry.file_name().to_str().map(str::to_owned);
    entries.flatten().filter_map(name).filter_map(|name| name.strip_prefix(PREFIX)?.parse().ok()).collect()
}

/// Deletes the scratch files of an earlier training in a folder.
pub(crate) fn clear(folder: &Path) {
    for number in found(folder) {
        let _ = std::fs::remove_file(path(folder, number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom};

    /// Records beyond 2^32 bytes can be read. The file has a hole before them.
    #[test]
    fn large_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut scratch = ScratchFiles::new(Some(folder.path().join("s")));
        let mut end = scratch.create_file().unwrap();
        let far = (1u64 << 32) + 12_345;
        (&end.records.file).seek(SeekFrom::Start(far)).unwrap();
        end.offset = far;
        let places: Vec<Location> = [b"one".as_slice(), b"", b"three"]
            .map(|record| end.append(|out| out.put(record)).unwrap())
            .to_vec();
        assert_eq!((places[2].offset, places[2].bytes), (far + 3, 5));
        let mut buffer: Vec<u8> = Vec::new();
        let mut read = |at: Location, n: usize| end.records.read(at, |from| from.take(n, &mut buffer));
        read(places[2], 5).unwrap();
        let wrong = Location { crc: 0, ..places[2] };
        assert!(read(wrong, 5).unwrap_err().to_string().contains("checksum"));
        assert!(read(wrong, 6).unwrap_err().to_string().contains("checksum"));
        assert!(read(places[2], 6).unwrap_err().to_string().contains("does not fit"));
        let past = Location { offset: u64::from(u32::MAX) << 8, ..places[2] };
        assert!(read(past, 5).unwrap_err().to_string().contains("cut short"));
        read(places[2], 5).unwrap();
        assert_eq!(buffer, b"three");
        drop(scratch);
        assert!(!folder.path().join("s").exists());
    }
}
