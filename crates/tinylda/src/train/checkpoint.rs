//! Checkpoints: the complete state of a training in files, so that a resumed training gives
//! bit-identical results.
//!
//! A checkpoint folder has a state file (`tinylda.state`) and the state of the documents, in
//! records of the `store` that the state file refers to. A state file is written under a temporary
//! name, synced and renamed after everything it refers to is on disk, so there is always a complete
//! checkpoint. The contents of the sections are known only to the algorithms, and the meaning of a
//! position only to `train`.
//!
//! Start reading at [`CheckpointFolder::write`] and [`open`].
//!
//! ```text
//! state := magic, u64 length of the header, header (JSON), CRC-32 of everything so far,
//!          sections, CRC-32 of everything so far
//! section := u64 number of values, the values in little-endian order
//! ```

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::identity::{Difference, Identity, first_difference};
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::sections::{SectionReader, SectionWriter};
use crate::store::Location;

const MAGIC: &[u8; 8] = b"\x89TLS\r\n\x1a\n";
/// Version of the file format. It also changes with the arithmetic, because a training must be
/// resumed by the rules it was started with.
const VERSION: u32 = 9;
const STATE: &str = "tinylda.state";
const LOCK: &str = "tinylda.lock";
/// Maximum length of a header in bytes. A valid header is shorter: a history takes about thirty
/// bytes per pass.
const MAX_HEADER_BYTES: u64 = 1 << 30;

/// Header of a state file, stored as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct StateHeader<P> {
    version: u32,
    of: Identity,
    /// Progress of the training.
    position: P,
    /// Folder of the records, if it is not the checkpoint folder.
    scratch: Option<PathBuf>,
}

/// A checkpoint folder, locked for this process while the value exists.
#[derive(Debug)]
pub(crate) struct CheckpointFolder {
    path: PathBuf,
    /// Locked file. The system releases the lock when the process ends for any reason.
    lock: RefCell<File>,
    /// Whether the folder was removed.
    gone: Cell<bool>,
}

impl CheckpointFolder {
    /// Creates the folder if necessary and locks it.
    pub(crate) fn open(path: &Path) -> Result<CheckpointFolder> {
        let lock = RefCell::new(create_locked(path)?);
        crate::files::remove_stale(path);
        Ok(CheckpointFolder { path: path.to_path_buf(), lock, gone: Cell::new(false) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes an earlier checkpoint and its records in this folder.
    pub(crate) fn clear(&self) {
        let _ = std::fs::remove_file(self.path.join(STATE));
        crate::store::clear(&self.path);
    }

    /// Deletes all checkpoint files, and the folder if nothing else is in it.
    pub(crate) fn remove(&self) {
        self.gone.set(true);
        self.clear();
        let _ = std::fs::remove_file(self.path.join(LOCK));
        let _ = std::fs::remove_dir(&self.path);
    }

    /// Writes a checkpoint. `sections` writes the state of the algorithm.
    pub(crate) fn write(
        &self,
        of: Identity,
        position: impl Serialize,
        scratch: Option<PathBuf>,
        records: &[Option<Location>],
        sections: impl FnOnce(&mut SectionWriter) -> Result<()>,
    ) -> Result<()> {
        if !self.path.join(LOCK).exists() {
            // The folder was removed during the training.
            self.lock.replace(create_locked(&self.path)?);
        }
        let path = self.path.join(STATE);
        let header = StateHeader { version: VERSION, of, position, scratch };
        let header = serde_json::to_vec(&header).map_err(|e| Error::io("write", &path)(e.into()))?;
        let file = AtomicFile::create(&path)?;
        let mut out = SectionWriter::new(file);
        out.bytes(MAGIC)?;
        out.bytes(&(header.len() as u64).to_le_bytes())?;
        out.bytes(&header)?;
        out.checksum()?;
        // File 0 marks a piece without a record; files are numbered from 1.
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

/// Creates a folder if necessary, and its lock file. Returns the locked file.
fn create_locked(folder: &Path) -> Result<File> {
    std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let name = folder.join(LOCK);
    let lock = File::create(&name).map_err(Error::io("create", &name))?;
    if matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
        return Err(Error::FolderInUse { path: folder.to_path_buf() });
    }
    Ok(lock)
}

impl Drop for CheckpointFolder {
    /// Removes the folder if it has no checkpoint.
    fn drop(&mut self) {
        if !self.gone.get() && matches!(exists(&self.path), Ok(false)) {
            self.remove();
        }
    }
}

/// Returns whether a folder has a checkpoint of an unfinished training.
pub fn has_checkpoint(folder: impl AsRef<Path>) -> bool {
    let folder = folder.as_ref();
    exists(folder).unwrap_or(true)
}

/// Returns whether a folder has a state file.
pub(crate) fn exists(folder: &Path) -> Result<bool> {
    let state = folder.join(STATE);
    match state.try_exists() {
        // There is a file in place of the folder.
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        other => other.map_err(Error::io("open", &state)),
    }
}

/// Returns the folder of the records of a checkpoint, if it is not the checkpoint folder and the
/// state file is readable.
pub(crate) fn scratch_of(folder: &Path) -> Option<PathBuf> {
    header::<serde_json::Value>(&folder.join(STATE)).ok()?.0.scratch
}

/// Contents of a checkpoint before the sections of the algorithm.
#[derive(Debug)]
pub(crate) struct OpenedCheckpoint<P> {
    pub(crate) position: P,
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) records: Vec<Option<Location>>,
    pub(crate) rest: SectionReader,
}

/// Opens a state file and reads its header.
fn header<P: DeserializeOwned>(path: &Path) -> Result<(StateHeader<P>, SectionReader)> {
    let mut rest = SectionReader::open(path)?;
    let mut magic = [0; 8];
    rest.bytes(&mut magic)?;
    if magic != *MAGIC {
        return Err(rest.damaged("it does not start with the checkpoint signature"));
    }
    let length = rest.count()?;
    let size = path.metadata().map_err(Error::io("open", path))?.len();
    if length > MAX_HEADER_BYTES.min(size) {
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
    let header: StateHeader<P> = serde_json::from_slice(&header)
        .map_err(|e| rest.damaged(format!("its header cannot be read ({e})")))?;
    Ok((header, rest))
}

/// Opens the checkpoint in a folder. `of` is the identity of the training to resume, and `pieces`
/// the number of pieces of the corpus.
pub(crate) fn open<P: DeserializeOwned>(
    folder: &Path,
    of: &Identity,
    pieces: usize,
) -> Result<OpenedCheckpoint<P>> {
    let (header, mut rest) = header(&folder.join(STATE))?;
    if let Some(Difference { setting, found, wanted }) = first_difference(&header.of, of) {
        return Err(Error::CheckpointMismatch { path: folder.to_path_buf(), setting, found, wanted });
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
    let records = records.ok_or_else(|| rest.damaged("it refers to files with invalid numbers"))?;
    Ok(OpenedCheckpoint { position: header.position, scratch: header.scratch, records, rest })
}
