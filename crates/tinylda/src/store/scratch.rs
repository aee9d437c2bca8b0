//! Files for what is kept of documents while it is not in memory: records, appended one after another, read at their place.
//!
//! Every round writes a new file and reads the last one's, so nothing is ever overwritten: what a checkpoint points to stays
//! as it is. A file goes when neither a piece nor the last checkpoint points into it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Position, Result};
use crate::files::read_at;

const PREFIX: &str = "tinylda-messages-";

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) crc: u32,
}

/// A file of records.
#[derive(Debug)]
pub(super) struct Records {
    path: PathBuf,
    file: File,
}

impl Records {
    /// Reads a record and checks it.
    pub(super) fn read(&self, at: Location, buffer: &mut Vec<u8>) -> Result<()> {
        let damaged = |found: &str| Error::damaged_checkpoint(&self.path, Position::Byte(at.offset), found);
        // Asked before there is room made for it.
        let there = self.file.metadata().map_err(Error::io("read", &self.path))?.len();
        if at.offset.checked_add(at.bytes).is_none_or(|end| end > there) {
            return Err(damaged("it is cut short"));
        }
        let length = usize::try_from(at.bytes).map_err(|_| damaged("a record is too long"))?;
        buffer.clear();
        buffer.resize(length, 0);
        read_at(&self.file, buffer, at.offset).map_err(Error::io("read", &self.path))?;
        if crc32fast::hash(buffer) != at.crc {
            return Err(damaged("the checksum of a record is wrong"));
        }
        Ok(())
    }

    /// A record that is whole, and yet no record.
    pub(super) fn senseless(&self, at: Location) -> Error {
        Error::damaged_checkpoint(&self.path, Position::Byte(at.offset), "a record does not fit the corpus")
    }
}

/// The end of a file, where records are appended.
#[derive(Debug)]
pub(super) struct End {
    number: u32,
    records: Arc<Records>,
    offset: u64,
}

impl End {
    pub(super) fn append(&mut self, record: &[u8]) -> Result<Location> {
        let mut file = &self.records.file;
        file.write_all(record).map_err(Error::io("write", &self.records.path))?;
        let bytes = record.len() as u64;
        let at = Location { file: self.number, offset: self.offset, bytes, crc: crc32fast::hash(record) };
        self.offset += bytes;
        Ok(at)
    }
}

/// The files.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: Option<PathBuf>,
    pub(super) files: BTreeMap<u32, Arc<Records>>,
    next: u32,
    /// What the last checkpoint points into.
    held: BTreeSet<u32>,
    /// Files from this number on were written by this process.
    pub(super) own: u32,
}

impl Scratch {
    pub(super) fn new(folder: Option<PathBuf>) -> Scratch {
        Scratch { folder, files: BTreeMap::new(), next: 1, held: BTreeSet::new(), own: 1 }
    }

    /// Opens the files that a checkpoint points into. They stay, whatever happens now.
    pub(super) fn take_up(&mut self, numbers: BTreeSet<u32>) -> Result<()> {
        self.held.clone_from(&numbers);
        let Some(folder) = &self.folder else { return Ok(()) };
        for &number in &numbers {
            let path = path(folder, number);
            let file = File::open(&path).map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::damaged_checkpoint(&path, Position::Whole, "it is not there")
                }
                _ => Error::io("open", &path)(e),
            })?;
            self.files.insert(number, Arc::new(Records { path, file }));
        }
        self.next = found(folder).into_iter().chain(numbers).max().map_or(1, |last| last.saturating_add(1));
        self.own = self.next;
        Ok(())
    }

    /// Takes away what a process that was killed has left.
    pub(super) fn take_strays(&self) {
        let Some(folder) = &self.folder else { return };
        for number in found(folder).into_iter().filter(|number| !self.held.contains(number)) {
            let _ = std::fs::remove_file(path(folder, number));
        }
    }

    /// A new file.
    pub(super) fn begin(&mut self) -> Result<End> {
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
        let records = Arc::new(Records { path, file });
        self.files.insert(number, Arc::clone(&records));
        self.next += 1;
        Ok(End { number, records, offset: 0 })
    }

    /// Takes away the files that nobody points into any more.
    pub(super) fn tidy(&mut self, in_use: &BTreeSet<u32>) {
        let held = &self.held;
        self.files.retain(|number, records| {
            let stays = in_use.contains(number) || held.contains(number);
            if !stays {
                // One that is gone already is no loss.
                let _ = std::fs::remove_file(&records.path);
            }
            stays
        });
    }

    /// Brings to the disk what a checkpoint will point into; what is not there any more is an error.
    pub(super) fn sync(&self, in_use: &BTreeSet<u32>) -> Result<()> {
        for (number, records) in in_use.iter().filter_map(|number| self.files.get_key_value(number)) {
            // Those of an earlier process are on the disk already.
            if *number >= self.own {
                records.file.sync_data().map_err(Error::io("write", &records.path))?;
            }
            records.path.metadata().map_err(Error::io("keep", &records.path))?;
        }
        if let Some(folder) = self.folder.as_ref().and_then(|folder| File::open(folder).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// The checkpoint points into these now.
    pub(super) fn hold(&mut self, numbers: BTreeSet<u32>) {
        self.held = numbers;
    }

    /// Bytes on disk,
    pub(super) fn bytes(&self) -> u64 {
        self.bytes_of(|_| true)
    }

    /// and those that are there for the checkpoint alone.
    pub(super) fn bytes_held(&self, in_use: &BTreeSet<u32>) -> u64 {
        self.bytes_of(|number| !in_use.contains(number))
    }

    fn bytes_of(&self, which: impl Fn(&u32) -> bool) -> u64 {
        let files = self.files.iter().filter(|(number, _)| which(number));
        files.filter_map(|(_, records)| records.file.metadata().ok()).map(|m| m.len()).sum()
    }
}

impl Drop for Scratch {
    /// What the last checkpoint points into stays.
    fn drop(&mut self) {
        self.tidy(&BTreeSet::new());
        if let Some(folder) = self.folder.as_ref().filter(|_| self.held.is_empty()) {
            // It goes where nothing else is in it.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{PREFIX}{number:06}"))
}

/// The numbers of the files in a folder.
fn found(folder: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let name = |entry: std::fs::DirEntry| entry.file_name().to_str().map(str::to_owned);
    entries.flatten().filter_map(name).filter_map(|name| name.strip_prefix(PREFIX)?.parse().ok()).collect()
}

/// Takes away what an earlier training has left in a folder.
pub(crate) fn clear(folder: &Path) {
    for number in found(folder) {
        let _ = std::fs::remove_file(path(folder, number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom};

    /// Records past 2^32 bytes (the file has a hole before them).
    #[test]
    fn large_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::new(Some(folder.path().join("s")));
        let mut end = scratch.begin().unwrap();
        let far = (1u64 << 32) + 12_345;
        (&end.records.file).seek(SeekFrom::Start(far)).unwrap();
        end.offset = far;
        let places: Vec<Location> =
            [b"one".as_slice(), b"", b"three"].map(|r| end.append(r).unwrap()).to_vec();
        assert_eq!((places[2].offset, places[2].bytes), (far + 3, 5));
        let mut buffer = Vec::new();
        end.records.read(places[2], &mut buffer).unwrap();
        assert_eq!(buffer, b"three");
        let wrong = Location { crc: 0, ..places[2] };
        assert!(end.records.read(wrong, &mut buffer).unwrap_err().to_string().contains("checksum"));
        let past = Location { offset: u64::from(u32::MAX) << 8, ..places[2] };
        assert!(end.records.read(past, &mut buffer).unwrap_err().to_string().contains("cut short"));
        drop(scratch);
        assert!(!folder.path().join("s").exists());
    }
}
