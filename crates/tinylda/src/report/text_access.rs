//! Which files the texts of documents may be read from, and what became of them. The files
//! themselves are read by `texts`.

use std::path::{Path, PathBuf};

use crate::corpus::{Corpus, Source};

/// Files and folders that the texts of documents may be read from.
///
/// A corpus file names the files of its texts. Since it may come from someone else, such a file is
/// read only if it is in the folder of the corpus file (or below), or if the user has named it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextAccess {
    /// Files and folders that the user has named, in addition to the folder of the corpus file.
    pub named: Vec<PathBuf>,
}

/// First lines of documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentTexts {
    /// First line of each document; empty if it was left out.
    pub texts: Vec<String>,
    /// Numbers of texts that were shown and left out.
    pub summary: TextSummary,
}

/// Numbers of texts that were shown and left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextSummary {
    /// Number of texts that were shown.
    pub shown: u64,
    /// Number of texts whose file does not exist any more.
    pub missing: u64,
    /// Number of texts whose file has changed since the import.
    pub changed: u64,
    /// Number of texts whose file the user has not named.
    pub not_allowed: u64,
    /// Number of texts of a corpus without checksums, which were not shown because the user has not
    /// named their file.
    pub unverifiable: u64,
    /// Number of shown texts of a corpus without checksums, which may belong to other documents.
    pub unverified: u64,
    /// Number of texts whose position is not known: they came from a stream or a Parquet file.
    pub unknown: u64,
    /// Path of the first file that is missing, has changed or is not allowed.
    pub path: Option<PathBuf>,
}

/// Outcome of looking for a file of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "text"), allow(dead_code))]
pub(super) enum FoundSource {
    /// The file or folder may be read. `named` says whether the user has named it.
    Readable { path: PathBuf, named: bool },
    /// The file exists, but may not be read.
    NotAllowed(PathBuf),
    /// There is no such file.
    Missing(PathBuf),
}

impl TextAccess {
    /// Finds the file or folder of a source: one that the user has named, the path in the corpus
    /// file, or the file of the same name next to the corpus file. Anything but regular files and
    /// folders is ignored, since opening a pipe would block. `only` says whether the corpus has no
    /// other source.
    #[cfg_attr(not(feature = "text"), allow(dead_code))]
    pub(super) fn find(&self, corpus: &Corpus, source: &Source, only: bool) -> FoundSource {
        let given = PathBuf::from(&source.path);
        let name = given.file_name().map(PathBuf::from).unwrap_or_default();
        let is_readable = |path: &PathBuf| path.is_file() || path.is_dir();
        for named in &self.named {
            let same_kind = named.is_dir() == (source.format == "folder");
            let same_name = named.file_name().is_some_and(|other| name.as_os_str() == other);
            let itself = (same_kind && (only || same_name)).then(|| named.clone());
            let inside = (named.is_dir() && !name.as_os_str().is_empty()).then(|| named.join(&name));
            let below = is_below(&given, named).then(|| given.clone());
            if let Some(path) = [below, itself, inside].into_iter().flatten().find(is_readable) {
                return FoundSource::Readable { path, named: true };
            }
        }
        let folder = corpus.path().map(crate::files::folder_of);
        let beside = folder.as_ref().map(|folder| folder.join(&name)).filter(|path| path != &given);
        let mut forbidden = None;
        for path in [Some(given.clone()), beside].into_iter().flatten().filter(is_readable) {
            if folder.as_ref().is_some_and(|folder| is_below(&path, folder)) {
                return FoundSource::Readable { path, named: false };
            }
            forbidden.get_or_insert(path);
        }
        forbidden.map_or(FoundSource::Missing(given), FoundSource::NotAllowed)
    }
}

/// Returns whether a path is a file or folder, or in it, after links have been resolved.
#[cfg_attr(not(feature = "text"), allow(dead_code))]
pub(super) fn is_below(path: &Path, folder: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().ok();
    resolved(path).zip(resolved(folder)).is_some_and(|(path, folder)| path.starts_with(folder))
}
