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
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, Template, is_name};
use crate::files::AtomicFile;
use crate::sections::{SectionReader, SectionWriter};
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
        sections: impl FnOnce(&mut SectionWriter) -> Result<()>,
    ) -> Result<()> {
        let path = self.path.join(STATE);
        let header = Header { version: VERSION, of, position, scratch };
        let header = serde_json::to_vec(&header).map_err(|e| Error::io("write", &path)(e.into()))?;
        let file = AtomicFile::create_as(&path, TEMPORARY)?;
        let mut out = SectionWriter::new(file);
        out.bytes(MAGIC)?;
        out.bytes(&(header.len() as u64).to_le_bytes())?;
        out.bytes(&header)?;
        out.checksum()?;
        // A piece without a record is one in file 0: those are numbered from 1.
        let all = |f: fn(&Location) -> u64| -> Vec<u64> {
            records.iter().map(|at| at.as_ref().map_or(0, f)).collect()
        };
        out.numbers(&all(|at| u64::from(at.file)))?;
        out.numbers(&all(|at| at.offset))?;
        out.numbers(&all(|at| at.bytes))?;
        out.numbers(&all(|at| u64::from(at.crc)))?;
        sections(&mut out)?;
        out.checksum()?;
        out.commit()
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
pub fn has_checkpoint(folder: impl AsRef<Path>) -> bool {
    let folder = folder.as_ref();
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

/// What a checkpoint says before the algorithm's own sections.
#[derive(Debug)]
pub(crate) struct Opened<P> {
    pub(crate) position: P,
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) records: Vec<Option<Location>>,
    pub(crate) rest: SectionReader,
}

/// Opens a state and reads its header.
fn header<P: DeserializeOwned>(path: &Path) -> Result<(Header<P>, SectionReader)> {
    let mut rest = SectionReader::open(path)?;
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
    rest.checksum()?;
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
    let column = |rest: &mut SectionReader| {
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
