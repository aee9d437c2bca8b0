//! Temporary files and folders that do not outlive their process for long.
//!
//! Every temporary file or folder is locked while its process lives; the operating system releases
//! the lock when the process ends for any reason. What is found unlocked in a folder was left
//! behind by a process that was killed, and is removed when the next process creates a file there.
//! Unlike a process number in the name, a lock is also valid for processes in other containers and,
//! on network file systems that support locks, on other machines.
//!
//! The temporary files of this process are also listed in memory, so that [`discard_all`] can
//! remove them before the process exits without unwinding. Start with [`TemporaryFile`] and
//! [`TemporaryFolder`].

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile, TempDir};

/// Prefix of the names of temporary files and folders, all of which are locked while they are used.
const PREFIX: &str = ".tinylda-tmp-";
/// Suffix of the names of temporary files.
const SUFFIX: &str = ".tmp";
/// Number of folders to remember as searched.
const MAX_SEARCHED: usize = 1024;
/// Number of attempts to create a temporary file that nobody else removes.
const ATTEMPTS: usize = 16;

/// Temporary files and folders of this process, and folders that were searched for those of others.
#[derive(Debug)]
struct Registry {
    own: BTreeSet<PathBuf>,
    searched: BTreeSet<PathBuf>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { own: BTreeSet::new(), searched: BTreeSet::new() });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Entry of a path in the registry, removed when the value is dropped.
#[derive(Debug)]
struct Registration(PathBuf);

impl Drop for Registration {
    fn drop(&mut self) {
        registry().own.remove(&self.0);
    }
}

/// Removes all temporary files and folders of this process, and prevents that more are created:
/// other threads that try to create, rename or remove one wait forever. Call this immediately
/// before the process exits without unwinding, for example after a second Ctrl-C.
pub fn discard_all() {
    let registry = registry();
    for path in &registry.own {
        // A path is a file or a folder, and may be gone already.
        let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
    }
    // The lock is never released.
    std::mem::forget(registry);
}

/// Removes the temporary files and folders that processes which no longer exist have left in a
/// folder. Each folder is searched once per process.
pub(crate) fn remove_stale(folder: &Path) {
    let Ok(folder) = folder.canonicalize() else { return };
    {
        let searched = &mut registry().searched;
        if searched.len() >= MAX_SEARCHED {
            searched.clear();
        }
        if !searched.insert(folder.clone()) {
            return;
        }
    }
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_file() && name.ends_with(SUFFIX) {
            // Some network file systems only lock files that are open for writing.
            let file = std::fs::OpenOptions::new().write(true).open(&path);
            if file.is_ok_and(|file| file.try_lock().is_ok() && is_linked(&file)) {
                let _ = std::fs::remove_file(&path);
            }
        } else if kind.is_dir() {
            let held = File::open(&path).ok().filter(|file| file.try_lock().is_ok());
            if held.is_some() {
                let _ = std::fs::remove_dir_all(&path);
            }
        }
    }
}

/// Returns whether an open file or folder still has a name.
fn is_linked(file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        file.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        true
    }
}

/// Locks a new temporary file or folder. Returns whether it is this process's own: another process
/// may have taken it for one that was left behind before it was locked.
fn lock(file: &File) -> bool {
    match file.try_lock() {
        Ok(()) => is_linked(file),
        Err(std::fs::TryLockError::WouldBlock) => false,
        // Without support for locks, nobody can take it for one that was left behind.
        Err(std::fs::TryLockError::Error(_)) => true,
    }
}

/// Calls `create` until `own` holds for the result.
fn retry<T>(mut create: impl FnMut() -> io::Result<T>, own: impl Fn(&T) -> bool) -> io::Result<T> {
    for _ in 1..ATTEMPTS {
        let created = create()?;
        if own(&created) {
            return Ok(created);
        }
    }
    create()
}

/// A temporary file that can be renamed to its final name. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    // Fields are dropped in this order: the file is removed before its registration.
    file: NamedTempFile,
    registration: Registration,
}

impl TemporaryFile {
    /// Creates a file in a folder.
    pub(crate) fn new_in(folder: &Path) -> io::Result<TemporaryFile> {
        remove_stale(folder);
        let mut builder = Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The user's umask restricts these permissions, as for any new file.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let mut registry = registry();
        let file = retry(|| builder.tempfile_in(folder), |file| lock(file.as_file()))?;
        registry.own.insert(file.path().to_path_buf());
        drop(registry);
        let registration = Registration(file.path().to_path_buf());
        Ok(TemporaryFile { file, registration })
    }

    /// Returns the underlying file.
    pub(crate) fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Returns the path of the file.
    #[cfg_attr(not(any(feature = "parquet", feature = "hdf5")), allow(dead_code))]
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Renames the file to its final name and replaces a file with that name.
    pub(super) fn persist(self, path: &Path) -> io::Result<()> {
        let TemporaryFile { file, registration } = self;
        // Not in the middle of `discard_all`.
        let registry = registry();
        let persisted = file.persist(path);
        drop(registry);
        drop(registration);
        persisted.map(drop).map_err(|e| e.error)
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for TemporaryFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A temporary folder. It is removed with all its contents when it is dropped, and at the latest
/// when another process creates a temporary file or folder in the same place.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    /// Locked folder.
    _lock: Option<File>,
    _registration: Registration,
}

impl TemporaryFolder {
    /// Creates a folder inside another one.
    pub fn new_in(parent: impl AsRef<Path>) -> io::Result<TemporaryFolder> {
        let parent = parent.as_ref();
        remove_stale(parent);
        let mut registry = registry();
        let create = || {
            let folder = Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            // Some systems cannot open or lock folders. Such folders are not removed by others.
            let file = File::open(folder.path()).ok();
            Ok((folder, file))
        };
        let (folder, lock) = retry(create, |(_, file)| file.as_ref().is_none_or(lock))?;
        registry.own.insert(folder.path().to_path_buf());
        drop(registry);
        let registration = Registration(folder.path().to_path_buf());
        Ok(TemporaryFolder { folder, _lock: lock, _registration: registration })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forgets which folders were searched, as a new process does.
    fn as_a_new_process(folder: &Path) {
        registry().searched.remove(&folder.canonicalize().unwrap());
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn r21_temporary_files_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [".tinylda-tmp-a1b2c3.tmp", ".tinylda-x.tmp", "tinylda-y.tmp", "z.tmp"] {
            std::fs::write(at(name), "left").unwrap();
        }
        std::fs::create_dir(at(".tinylda-tmp-d4e5f6")).unwrap();
        std::fs::write(at(".tinylda-tmp-d4e5f6/input.tlc"), "left").unwrap();
        let (file, inner) =
            (TemporaryFile::new_in(folder.path()).unwrap(), TemporaryFolder::new_in(folder.path()).unwrap());
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec![
            name(file.path()),
            name(inner.path()),
            ".tinylda-x.tmp".to_owned(),
            "tinylda-y.tmp".to_owned(),
            "z.tmp".to_owned(),
        ];
        expected.sort();
        assert_eq!(names(folder.path()), expected);
        // Those of a living process are locked.
        as_a_new_process(folder.path());
        let other = TemporaryFile::new_in(folder.path()).unwrap();
        assert_eq!(names(folder.path()).len(), expected.len() + 1);
        drop((file, inner, other));
        assert_eq!(names(folder.path()), [".tinylda-x.tmp", "tinylda-y.tmp", "z.tmp"]);
    }

    #[test]
    fn a_persisted_file_is_not_registered() {
        let folder = tempfile::tempdir().unwrap();
        let file = TemporaryFile::new_in(folder.path()).unwrap();
        let temporary = file.path().to_path_buf();
        assert!(registry().own.contains(&temporary));
        file.persist(&folder.path().join("a")).unwrap();
        assert!(!registry().own.contains(&temporary));
        assert_eq!(names(folder.path()), ["a"]);
    }
}
