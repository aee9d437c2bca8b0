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
use crate::numbers::{NumberReader, NumberWriter};

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
    /// Reads a record with `take`, which says whether it makes sense, and checks it.
    pub(super) fn read(
        &self,
        at: Location,
        take: impl FnOnce(&mut NumberReader<'_>) -> Result<Option<()>>,
    ) -> Result<()> {
        let damaged = |found: &str| Error::damaged_checkpoint(&self.path, Position::Byte(at.offset), found);
        // Asked before memory is taken for it.
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
        taken.ok_or_else(|| self.senseless(at))
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
