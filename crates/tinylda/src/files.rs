//! The only place where files are made and read at a position: every write is whole or not there at all.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Position, Result};

/// What temporary names begin and end with.
const PREFIX: &str = ".tinylda-";
const SUFFIX: &str = ".tmp";

/// Takes away what a process that was killed has left in a folder: temporary files whose names begin like this.
pub(crate) fn remove_temporary(folder: &Path, prefix: &str) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(SUFFIX)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A file that appears under its name when it is complete, and not before.
///
/// It is written under a temporary name in the same folder, synced, and renamed. Dropped before
/// [`commit`](AtomicFile::commit), it leaves nothing behind and an older file of that name untouched.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    path: PathBuf,
    out: BufWriter<tempfile::NamedTempFile>,
}

impl AtomicFile {
    pub(crate) fn create(path: &Path) -> Result<AtomicFile> {
        AtomicFile::create_as(path, PREFIX)
    }

    /// The same with a temporary name that begins like this.
    pub(crate) fn create_as(path: &Path, prefix: &str) -> Result<AtomicFile> {
        let path = follow_link(path);
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
            return Err(Error::Io { path, action: "write", source });
        }
        let folder = folder_of(&path);
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Narrowed by the user's umask, as for any file a program makes.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(&folder).map_err(|e| Error::io("create", &path)(bare(e)))?;
        Ok(AtomicFile { path, out: BufWriter::with_capacity(1 << 18, file) })
    }

    /// The file itself, to read back what was written and flushed.
    pub(crate) fn file(&self) -> &File {
        self.out.get_ref().as_file()
    }

    /// Overwrites bytes that were written before; the position for further writes is the end again.
    pub(crate) fn patch(&mut self, position: u64, bytes: &[u8]) -> Result<()> {
        let attempt = (|| {
            self.out.seek(SeekFrom::Start(position))?;
            self.out.write_all(bytes)?;
            self.out.seek(SeekFrom::End(0)).map(|_| ())
        })();
        attempt.map_err(Error::io("write", &self.path))
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io("write", &self.path))
    }

    /// Brings everything to the disk, under the temporary name still.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.out.flush().and_then(|()| self.file().sync_all()).map_err(Error::io("write", &self.path))
    }

    /// Makes the file appear under its name.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.sync()?;
        let path = self.path;
        let file = self.out.into_inner().map_err(|e| Error::io("write", &path)(e.into_error()))?;
        file.persist(&path).map_err(|e| Error::io("write", &path)(e.error))?;
        // The rename itself is on disk once the folder is; a folder that cannot be synced is no failure.
        if let Ok(folder) = File::open(folder_of(&path)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Where a file format can be written: a file or memory.
pub(crate) trait ByteSink {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<()>;
    /// Overwrites bytes that were written before; the next [`put`](ByteSink::put) appends again.
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
pub(crate) struct Summed<S = AtomicFile> {
    out: S,
    crc: crc32fast::Hasher,
}

impl<S: ByteSink> Summed<S> {
    pub(crate) fn new(out: S) -> Summed<S> {
        Summed { out, crc: crc32fast::Hasher::new() }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.crc.update(bytes);
        self.out.put(bytes)
    }

    /// CRC-32 of what was written so far.
    pub(crate) fn sum(&self) -> u32 {
        self.crc.clone().finalize()
    }

    pub(crate) fn into_inner(self) -> S {
        self.out
    }
}

/// The name that errors give to bytes in memory, in place of a path.
pub(crate) const MEMORY: &str = "<memory>";

/// Bytes that are read at any position, by any number of threads at a time: an open file or a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ByteSource<'a> {
    /// An open file, and its path for error messages.
    File { file: &'a File, path: &'a Path },
    /// Bytes in memory.
    Memory(&'a [u8]),
}

impl<'a> ByteSource<'a> {
    /// The path of the file, or [`MEMORY`]: the name to use in errors.
    pub(crate) fn origin(self) -> &'a Path {
        match self {
            ByteSource::File { path, .. } => path,
            ByteSource::Memory(_) => Path::new(MEMORY),
        }
    }

    /// Fills `buffer` from `position` on. Fewer bytes are an [`io::ErrorKind::UnexpectedEof`].
    pub(crate) fn read_exact_at(self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        match self {
            ByteSource::File { file, .. } => read_at(file, buffer, position),
            ByteSource::Memory(bytes) => {
                buffer.copy_from_slice(part(bytes, position, buffer.len())?);
                Ok(())
            }
        }
    }

    /// Returns `length` bytes from `position` on. A file is read into `buffer`; bytes in memory are not copied.
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
                buffer.resize(length, 0);
                read_at(file, buffer, position)?;
                Ok(buffer)
            }
            ByteSource::Memory(bytes) => part(bytes, position, length),
        }
    }
}

fn part(bytes: &[u8], position: u64, length: usize) -> io::Result<&[u8]> {
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

/// The file that a link points to, whether it is there or not, so that it is replaced and not the link.
fn follow_link(path: &Path) -> PathBuf {
    match (path.canonicalize(), std::fs::read_link(path)) {
        (Ok(real), _) => real,
        (Err(_), Ok(target)) => folder_of(path).join(target),
        _ => path.to_path_buf(),
    }
}

/// The system's own word, without the temporary name that `tempfile` adds to it.
fn bare(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|e| e.source()).and_then(|e| e.downcast_ref::<io::Error>());
    inner.and_then(io::Error::raw_os_error).map_or(error, io::Error::from_raw_os_error)
}

/// The folder in which a file lies or will lie.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Opens a `corpus` or `model` file, which is read by position, and returns it with its length.
pub(crate) fn open_regular(path: &Path, kind: &str) -> Result<(File, u64)> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let metadata = file.metadata().map_err(Error::io("open", path))?;
    if metadata.is_dir() {
        return Err(Error::io("open", path)(io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(not_regular(path, kind));
    }
    Ok((file, metadata.len()))
}

/// The error for a `corpus` or `model` that arrives in a stream, where it cannot be read by position.
pub(crate) fn not_regular(path: &Path, kind: &str) -> Error {
    Error::Input {
        path: path.to_path_buf(),
        position: Position::Whole,
        found: "a pipe".into(),
        expected: format!("a {kind} in a regular file").into(),
        remedy: format!("save the {kind} to a file first").into(),
    }
}

/// Reads exactly `buffer.len()` bytes at `position`, without moving any shared position.
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

/// Writes all bytes at `position`, without moving any shared position.
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

/// Whether a file of this name could be written, found out by making one and taking it away again.
pub fn check_writable(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    AtomicFile::create(path).map(drop)
}

/// Writes a file that appears when it is whole.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let mut file = AtomicFile::create(path)?;
    file.put(bytes)?;
    file.commit()
}

/// Whether two names mean the same file, which need not be there yet.
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
        assert!(text.contains("this is a folder"), "{text}");
    }
}
