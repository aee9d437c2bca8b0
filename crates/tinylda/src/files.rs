//! File access: atomic writes, reads and writes at a position, and the abstraction over files and
//! memory (`ByteSource`, `ByteSink`).
//!
//! No other module creates output files or reads at a position. This module does not know what the
//! bytes mean. Start with `AtomicFile`; temporary names and their removal are in `temporary`.

mod temporary;

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Position, Result};
pub(crate) use temporary::{TemporaryFile, remove_stale};
pub use temporary::{TemporaryFolder, discard_all};

/// A file that appears under its final name only when it is complete.
///
/// It is written under a temporary name in the same folder, synced, and renamed. If it is dropped
/// before [`commit`](AtomicFile::commit), the temporary file is removed and an existing file with
/// the final name is left unchanged.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    path: PathBuf,
    out: BufWriter<TemporaryFile>,
}

impl AtomicFile {
    /// Creates a temporary file that becomes `given`, or the file that it links to, when it is
    /// committed.
    pub(crate) fn create(given: &Path) -> Result<AtomicFile> {
        let path = follow_link(given);
        if let Ok(existing) = path.metadata()
            && !existing.is_file()
        {
            let kind =
                if existing.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
            let source = if existing.is_dir() {
                io::Error::from(kind)
            } else {
                io::Error::new(kind, "not a regular file")
            };
            return Err(Error::Io { path: given.to_path_buf(), action: "write", source });
        }
        let file = TemporaryFile::new_in(&folder_of(&path))
            .map_err(|e| Error::io("create", given)(without_temporary_name(e)))?;
        Ok(AtomicFile { path, out: BufWriter::with_capacity(1 << 18, file) })
    }

    /// Returns the underlying file, for reading back bytes that were written and flushed.
    pub(crate) fn file(&self) -> &File {
        self.out.get_ref().as_file()
    }

    /// Overwrites bytes that were written before. Further writes append at the end again.
    pub(crate) fn patch(&mut self, position: u64, bytes: &[u8]) -> Result<()> {
        let attempt = (|| {
            self.out.seek(SeekFrom::Start(position))?;
            self.out.write_all(bytes)?;
            self.out.seek(SeekFrom::End(0)).map(|_| ())
        })();
        attempt.map_err(Error::io("write", &self.path))
    }

    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io("write", &self.path))
    }

    /// Flushes and syncs everything to disk. The file keeps its temporary name.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.out.flush().and_then(|()| self.file().sync_all()).map_err(Error::io("write", &self.path))
    }

    /// Syncs the file and renames it to its final name.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.sync()?;
        let path = self.path;
        let file = self.out.into_inner().map_err(|e| Error::io("write", &path)(e.into_error()))?;
        file.persist(&path).map_err(Error::io("write", &path))?;
        // The rename is durable once the folder is synced. Some file systems cannot sync folders,
        // so a failure is ignored.
        if let Ok(folder) = File::open(folder_of(&path)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// A destination for a file format: a file or memory.
pub(crate) trait ByteSink {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<()>;
    /// Overwrites bytes that were written before. The next [`put`](ByteSink::put) appends again.
    fn patch(&mut self, position: u64, bytes: &[u8]) -> Result<()>;
}

impl ByteSink for AtomicFile {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        AtomicFile::put(self, bytes)
    }
    fn patch(&mut self, position: u64, bytes: &[u8]) -> Result<()> {
        AtomicFile::patch(self, position, bytes)
    }
}

impl ByteSink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.try_reserve(bytes.len()).map_err(|_| Error::Allocation {
            bytes: (self.len() + bytes.len()) as u64,
            remedy: "write to a file instead".into(),
        })?;
        self.extend_from_slice(bytes);
        Ok(())
    }
    fn patch(&mut self, position: u64, bytes: &[u8]) -> Result<()> {
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        let end = start.saturating_add(bytes.len());
        let target = self.get_mut(start..end).ok_or(io::ErrorKind::UnexpectedEof);
        target.map_err(|kind| Error::io("write", Path::new(MEMORY))(kind.into()))?.copy_from_slice(bytes);
        Ok(())
    }
}

/// A sink that computes the CRC-32 of everything written to it.
#[derive(Debug)]
pub(crate) struct ChecksumWriter<S = AtomicFile> {
    out: S,
    crc: crc32fast::Hasher,
}

impl<S: ByteSink> ChecksumWriter<S> {
    pub(crate) fn new(out: S) -> ChecksumWriter<S> {
        ChecksumWriter { out, crc: crc32fast::Hasher::new() }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.crc.update(bytes);
        self.out.put(bytes)
    }

    /// Returns the CRC-32 of everything written so far.
    pub(crate) fn checksum(&self) -> u32 {
        self.crc.clone().finalize()
    }

    pub(crate) fn into_inner(self) -> S {
        self.out
    }
}

/// Name of bytes in memory that errors show instead of a path.
pub(crate) const MEMORY: &str = "<memory>";

/// Bytes that several threads can read at any position at the same time: an open file or a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ByteSource<'a> {
    /// An open file, and its path for error messages.
    File { file: &'a File, path: &'a Path },
    /// Bytes in memory.
    Memory(&'a [u8]),
}

impl<'a> ByteSource<'a> {
    /// Returns the name to use in errors: the path of the file, or [`MEMORY`].
    pub(crate) fn origin(self) -> &'a Path {
        match self {
            ByteSource::File { path, .. } => path,
            ByteSource::Memory(_) => Path::new(MEMORY),
        }
    }

    /// Fills `buffer` with the bytes that start at `position`. If there are fewer, the error is
    /// [`io::ErrorKind::UnexpectedEof`].
    pub(crate) fn read_exact_at(self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        match self {
            ByteSource::File { file, .. } => read_at(file, buffer, position),
            ByteSource::Memory(bytes) => {
                buffer.copy_from_slice(slice_at(bytes, position, buffer.len())?);
                Ok(())
            }
        }
    }

    /// Returns the `length` bytes that start at `position`. A file is read into `buffer`; bytes in
    /// memory are not copied.
    pub(crate) fn read_slice<'b>(
        self,
        position: u64,
        length: usize,
        buffer: &'b mut Vec<u8>,
    ) -> io::Result<&'b [u8]>
    where
        'a: 'b,
    {
        match self {
            ByteSource::File { file, .. } => {
                // Without spare capacity, which memory plans do not include.
                buffer.clear();
                buffer.reserve_exact(length);
                buffer.resize(length, 0);
                read_at(file, buffer, position)?;
                Ok(buffer)
            }
            ByteSource::Memory(bytes) => slice_at(bytes, position, length),
        }
    }
}

/// Returns `length` bytes of a slice from `position` on, or [`io::ErrorKind::UnexpectedEof`].
fn slice_at(bytes: &[u8], position: u64, length: usize) -> io::Result<&[u8]> {
    let start = usize::try_from(position).unwrap_or(usize::MAX);
    bytes.get(start..start.saturating_add(length)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// Resolves a symbolic link, so that its target is replaced and not the link. The target need not
/// exist.
fn follow_link(path: &Path) -> PathBuf {
    match (path.canonicalize(), std::fs::read_link(path)) {
        (Ok(real), _) => real,
        (Err(_), Ok(target)) => folder_of(path).join(target),
        _ => path.to_path_buf(),
    }
}

/// Returns the error of the operating system without the temporary name that `tempfile` adds to it.
fn without_temporary_name(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|e| e.source()).and_then(|e| e.downcast_ref::<io::Error>());
    inner.and_then(io::Error::raw_os_error).map_or(error, io::Error::from_raw_os_error)
}

/// Returns the folder that contains `path`; `.` if the path has no folder.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Opens a regular file for reading at a position. Returns the file and its length in bytes.
///
/// `kind` is `corpus` or `model` and is used in errors.
pub(crate) fn open_regular(path: &Path, kind: &'static str) -> Result<(File, u64)> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let metadata = file.metadata().map_err(Error::io("open", path))?;
    if metadata.is_dir() {
        let hint = if kind == "corpus" {
            "it is a folder; import its documents as a corpus first"
        } else {
            "it is a folder; name the file itself"
        };
        return Err(Error::WrongKind { path: path.to_path_buf(), kind, hint: hint.into() });
    }
    if !metadata.is_file() {
        return Err(not_regular(path, kind));
    }
    Ok((file, metadata.len()))
}

/// Returns the error for a file that is a stream and therefore cannot be read at a position.
///
/// `kind` is `corpus` or `model`.
pub(crate) fn not_regular(path: &Path, kind: &str) -> Error {
    Error::Input {
        path: path.to_path_buf(),
        position: Position::Whole,
        found: "a pipe".into(),
        expected: format!("a {kind} in a regular file").into(),
        remedy: format!("save the {kind} to a file first").into(),
    }
}

/// Reads exactly `buffer.len()` bytes at `position`, without moving the file's shared position.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_exact_at(file, buffer, position)
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::FileExt;
        let (mut buffer, mut position) = (buffer, position);
        while !buffer.is_empty() {
            let n = file.seek_read(buffer, position)?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut buffer[n..];
            position += n as u64;
        }
        Ok(())
    }
}

/// Writes all bytes at `position`, without moving the file's shared position.
pub(crate) fn write_at(file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::write_all_at(file, bytes, position)
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::FileExt;
        let (mut bytes, mut position) = (bytes, position);
        while !bytes.is_empty() {
            let n = file.seek_write(bytes, position)?;
            bytes = &bytes[n..];
            position += n as u64;
        }
        Ok(())
    }
}

/// Checks that a file with this name can be written, by creating and removing a temporary file next
/// to it.
pub fn check_writable(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    AtomicFile::create(path).map(drop)
}

/// Writes a file atomically: it appears under its name only when it is complete.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let mut file = AtomicFile::create(path)?;
    file.put(bytes)?;
    file.commit()
}

/// Returns whether two paths refer to the same file. The file need not exist yet.
pub fn same_file(a: impl AsRef<Path>, b: impl AsRef<Path>) -> bool {
    let a = a.as_ref();
    let b = b.as_ref();
    let real = |path: &Path| {
        let path = follow_link(path);
        let folder = folder_of(&path).canonicalize().ok()?;
        path.canonicalize().ok().or_else(|| Some(folder.join(path.file_name()?)))
    };
    matches!((real(a), real(b)), (Some(a), Some(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abandoned_file_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.put(b"new").unwrap();
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_committed_file_is_patched_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = AtomicFile::create(&path).unwrap();
        file.put(b"0000-tail").unwrap();
        file.patch(0, b"head").unwrap();
        file.put(b"!").unwrap();
        file.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"head-tail!");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_and_a_folder_as_target_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let text = AtomicFile::create(&folder.path().join("no/such")).unwrap_err().to_string();
        assert!(text.contains("folder exists"), "{text}");
        let text = AtomicFile::create(folder.path()).unwrap_err().to_string();
        assert!(text.contains("it is a folder"), "{text}");
    }
}
