//! Checkpoints: all that a training is, in files, so that it goes on to the same bits.
//!
//! A folder has a state (`tinylda.state`) and what is kept of documents (`store`, in records that the state points to). A state
//! is written under another name, synced and renamed, after all that it points to is on the disk; so there is always a whole
//! one. What is in its sections only the algorithms know, and what a position means only `train`.
//!
//! ```text
//! state := magic, u64 length of the header, header (JSON), CRC-32 of all that, sections, CRC-32 of everything
//! section := u64 how many numbers, the numbers, least byte first
//! ```

use std::cell::Cell;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Position, Result, Template, is_name};
use crate::files::{AtomicFile, Summed};
use crate::numbers::{self, Number};
use crate::store::Location;

const MAGIC: &[u8; 8] = b"\x89TLS\r\n\x1a\n";
/// Changes with the file's form, and with any change of the arithmetic: a training must not go on by other rules.
const VERSION: u32 = 6;
const STATE: &str = "tinylda.state";
const LOCK: &str = "tinylda.lock";
/// What the temporary name of a state begins with.
const TEMPORARY: &str = ".tinylda-state-";
/// No honest header is longer: a history has some thirty bytes a pass.
const LONGEST_HEADER: u64 = 1 << 30;
/// Numbers handled at a time.
const SOME: usize = 1 << 14;

#[derive(Debug, Serialize, Deserialize)]
struct Header<P> {
    version: u32,
    of: Identity,
    /// How far the training is.
    position: P,
    /// Where the records are, where that is not here.
    scratch: Option<PathBuf>,
}

/// A folder for checkpoints, ours alone while this lives.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked; the lock goes with the process, whatever happens to it.
    _lock: File,
    /// Whether it was taken away.
    gone: Cell<bool>,
}

/// What a training is: every setting that its result depends on, by name; first those whose difference explains others.
pub(crate) type Identity = Vec<(String, serde_json::Value)>;

impl Folder {
    /// Makes the folder where it is not there, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Folder> {
        std::fs::create_dir_all(path).map_err(Error::io("create", path))?;
        let name = path.join(LOCK);
        let lock = File::create(&name).map_err(Error::io("create", &name))?;
        if matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
            return Err(Error::FolderInUse { path: path.to_path_buf() });
        }
        crate::files::remove_temporary(path, TEMPORARY);
        Ok(Folder { path: path.to_path_buf(), _lock: lock, gone: Cell::new(false) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes an earlier checkpoint away, and what it points to here.
    pub(crate) fn clear(&self) {
        let _ = std::fs::remove_file(self.path.join(STATE));
        crate::store::clear(&self.path);
    }

    /// Takes everything of ours away; the folder too, where nothing else is in it.
    pub(crate) fn remove(&self) {
        self.gone.set(true);
        self.clear();
        let _ = std::fs::remove_file(self.path.join(LOCK));
        let _ = std::fs::remove_dir(&self.path);
    }

    /// Writes a checkpoint; `sections` writes what the algorithm keeps.
    pub(crate) fn write(
        &self,
        of: Identity,
        position: impl Serialize,
        scratch: Option<PathBuf>,
        records: &[Option<Location>],
        sections: impl FnOnce(&mut Out) -> Result<()>,
    ) -> Result<()> {
        let path = self.path.join(STATE);
        let header = Header { version: VERSION, of, position, scratch };
        let header = serde_json::to_vec(&header).map_err(|e| Error::io("write", &path)(e.into()))?;
        let file = AtomicFile::create_as(&path, TEMPORARY)?;
        let mut out = Out { file: Summed::new(file), buffer: Vec::new() };
        out.file.put(MAGIC)?;
        out.file.put(&(header.len() as u64).to_le_bytes())?;
        out.file.put(&header)?;
        out.sum()?;
        // A piece without a record is one in file 0: those are numbered from 1.
        let all = |f: fn(&Location) -> u64| -> Vec<u64> {
            records.iter().map(|at| at.as_ref().map_or(0, f)).collect()
        };
        out.numbers(&all(|at| u64::from(at.file)))?;
        out.numbers(&all(|at| at.offset))?;
        out.numbers(&all(|at| at.bytes))?;
        out.numbers(&all(|at| u64::from(at.crc)))?;
        sections(&mut out)?;
        out.sum()?;
        out.file.into_file().commit()
    }
}

impl Drop for Folder {
    /// A folder without a checkpoint is of no use.
    fn drop(&mut self) {
        if !self.gone.get() && matches!(exists(&self.path), Ok(false)) {
            self.remove();
        }
    }
}

/// Whether a folder has a checkpoint of a training that has not ended.
pub fn has_checkpoint(folder: &Path) -> bool {
    exists(folder).unwrap_or(true)
}

pub(crate) fn exists(folder: &Path) -> Result<bool> {
    let state = folder.join(STATE);
    state.try_exists().map_err(Error::io("open", &state))
}

/// Where the records of a folder's checkpoint are, where that is elsewhere and it can be read.
pub(crate) fn scratch_of(folder: &Path) -> Option<PathBuf> {
    header::<serde_json::Value>(&folder.join(STATE)).ok()?.0.scratch
}

/// A checkpoint on its way out.
#[derive(Debug)]
pub(crate) struct Out {
    file: Summed,
    buffer: Vec<u8>,
}

impl Out {
    /// A section.
    pub(crate) fn numbers<T: Number>(&mut self, values: &[T]) -> Result<()> {
        self.begin(values.len() as u64)?;
        self.more(values)
    }

    /// A section of so many numbers begins;
    pub(crate) fn begin(&mut self, count: u64) -> Result<()> {
        self.file.put(&count.to_le_bytes())
    }

    /// and here are some of them.
    pub(crate) fn more<T: Number>(&mut self, values: &[T]) -> Result<()> {
        for some in values.chunks(SOME) {
            self.buffer.clear();
            numbers::put(some, &mut self.buffer);
            self.file.put(&self.buffer)?;
        }
        Ok(())
    }

    fn sum(&mut self) -> Result<()> {
        let sum = self.file.sum();
        self.file.put(&sum.to_le_bytes())
    }
}

/// A checkpoint on its way in.
#[derive(Debug)]
pub(crate) struct In {
    path: PathBuf,
    file: BufReader<File>,
    crc: crc32fast::Hasher,
    at: u64,
    buffer: Vec<u8>,
}

/// What a checkpoint says before the algorithm's own sections.
#[derive(Debug)]
pub(crate) struct Opened<P> {
    pub(crate) position: P,
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) records: Vec<Option<Location>>,
    pub(crate) rest: In,
}

/// Opens a state and reads its header.
fn header<P: DeserializeOwned>(path: &Path) -> Result<(Header<P>, In)> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let mut rest = In {
        path: path.to_path_buf(),
        file: BufReader::with_capacity(1 << 18, file),
        crc: crc32fast::Hasher::new(),
        at: 0,
        buffer: Vec::new(),
    };
    let mut magic = [0; 8];
    rest.bytes(&mut magic)?;
    if magic != *MAGIC {
        return Err(rest.damaged("it does not begin as a checkpoint does"));
    }
    let length = rest.count()?;
    let size = path.metadata().map_err(Error::io("open", path))?.len();
    if length > LONGEST_HEADER.min(size) {
        return Err(rest.damaged("its header is longer than the file"));
    }
    let mut header = vec![0; length as usize];
    rest.bytes(&mut header)?;
    rest.check_sum()?;
    let version = serde_json::from_slice::<serde_json::Value>(&header).ok();
    let version = version.and_then(|header| header.get("version")?.as_u64());
    if let Some(found) = version.filter(|&found| found != u64::from(VERSION)) {
        let path = path.to_path_buf();
        return Err(Error::Version { path, kind: "checkpoint", found: found as u32, supported: VERSION });
    }
    let header: Header<P> = serde_json::from_slice(&header)
        .map_err(|e| rest.damaged(format!("its header cannot be read ({e})")))?;
    Ok((header, rest))
}

/// Opens the checkpoint of a folder; `of` is what the training is that should go on, and `pieces` what the corpus is cut into.
pub(crate) fn open<P: DeserializeOwned>(folder: &Path, of: &Identity, pieces: usize) -> Result<Opened<P>> {
    let (header, mut rest) = header(&folder.join(STATE))?;
    for (name, wanted) in of {
        let found = header.of.iter().find(|(other, _)| other == name);
        let found = found.map_or(&serde_json::Value::Null, |(_, value)| value);
        if found != wanted {
            return Err(Error::CheckpointMismatch {
                path: folder.to_path_buf(),
                setting: if is_name(name) {
                    Template::default().parameter(name, None)
                } else {
                    Template::from(name)
                },
                found: shown(found),
                wanted: shown(wanted),
            });
        }
    }
    let column = |rest: &mut In| {
        let mut all: Vec<u64> = Vec::new();
        rest.numbers(pieces, &mut all).map(|()| all)
    };
    let (files, offsets) = (column(&mut rest)?, column(&mut rest)?);
    let (bytes, crcs) = (column(&mut rest)?, column(&mut rest)?);
    let location = |i: usize| {
        let (file, crc) = (u32::try_from(files[i]).ok()?, u32::try_from(crcs[i]).ok()?);
        Some((file > 0).then_some(Location { file, offset: offsets[i], bytes: bytes[i], crc }))
    };
    let records: Option<Vec<Option<Location>>> = (0..pieces).map(location).collect();
    let records = records.ok_or_else(|| rest.damaged("it points to files that cannot be"))?;
    Ok(Opened { position: header.position, scratch: header.scratch, records, rest })
}

/// A value as a user would write it; `None` where the setting is not given.
fn shown(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Null | serde_json::Value::Bool(false) => None,
        other => Some(other.to_string()),
    }
}

impl In {
    pub(crate) fn damaged(&self, found: impl Into<String>) -> Error {
        Error::damaged_checkpoint(&self.path, Position::Byte(self.at), found)
    }

    fn bytes(&mut self, to: &mut [u8]) -> Result<()> {
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

    fn count(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        self.bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// A section of so many numbers begins;
    pub(crate) fn begin(&mut self, count: u64) -> Result<()> {
        if self.count()? != count {
            return Err(self.damaged("a section has another length than the corpus and the topics demand"));
        }
        Ok(())
    }

    /// and here are some of them.
    pub(crate) fn more<T: Number>(&mut self, to: &mut [T]) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for some in to.chunks_mut(SOME) {
            buffer.resize(some.len() * T::BYTES, 0);
            self.bytes(&mut buffer)?;
            for (to, from) in some.iter_mut().zip(buffer.chunks_exact(T::BYTES)) {
                *to = T::get(from);
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    /// A section of `count` numbers.
    pub(crate) fn numbers<T: Number>(&mut self, count: usize, to: &mut Vec<T>) -> Result<()> {
        self.begin(count as u64)?;
        to.clear();
        to.resize(count, T::default());
        self.more(to)
    }

    fn check_sum(&mut self) -> Result<()> {
        let sum = self.crc.clone().finalize();
        let mut written = [0; 4];
        self.bytes(&mut written)?;
        if u32::from_le_bytes(written) != sum {
            return Err(self.damaged("its checksum is wrong, so some byte has changed or is missing"));
        }
        Ok(())
    }

    /// After the last section.
    pub(crate) fn end(mut self) -> Result<()> {
        self.check_sum()?;
        let mut more = [0];
        match self.file.read(&mut more) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.damaged("it has bytes behind its end")),
            Err(e) => Err(Error::io("read", &self.path)(e)),
        }
    }
}
