//! Batches of complete records, about a megabyte each, from a file or a folder. A source can be
//! rewound.

use std::fs::File;
use std::io::Cursor;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::records::Ends;
use crate::corpus::ingest::input::{Compression, Input};
use crate::error::{Error, Position, Result, Template};

/// Minimum size of a batch in bytes, unless the input ends.
pub(crate) const BATCH: usize = 1 << 20;
/// Maximum size of a record in bytes: several copies of it must fit in memory.
pub(crate) const LONGEST: usize = 64 << 20;
/// Decompressed bytes that are kept for the next pass.
const UNPACKED: usize = 16 << 20;

/// What a piece of a batch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Records of the source's format, whole ones.
    Records,
    /// The text of one document, with its name and label: from a folder or another kind of file.
    Text {
        /// Its name.
        name: Option<String>,
        /// Its label.
        label: Option<String>,
    },
}

/// Some bytes of a batch that stand together in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where in the batch.
    pub(crate) bytes: Range<usize>,
    /// Which source, from 0.
    pub(crate) source: u32,
    /// Where in the unpacked source.
    pub(crate) offset: u64,
    /// The number of its first line or row, from 1.
    pub(crate) line: u64,
    /// What it is.
    pub(crate) kind: Kind,
}

/// The unit of work of a thread.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) pieces: Vec<Piece>,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
    }
}

/// A source of text, which is read up to three times.
pub(crate) trait TextSource {
    /// Goes back to the beginning.
    fn rewind(&mut self) -> Result<()>;
    /// Fills a batch, which is empty; false where nothing is left.
    fn next(&mut self, batch: &mut Batch) -> Result<bool>;
    /// Takes back the first batch, so that it is the next one again.
    fn put_back(&mut self, _first: Batch) -> Result<()> {
        self.rewind()
    }
    /// Bytes read since the beginning, and how many there are, where it is known.
    fn progress(&self) -> (u64, Option<u64>);
    /// Whether its path and the places of bytes in it will lead to the texts later.
    fn again(&self) -> bool {
        true
    }
    /// How it is compressed.
    fn compression(&self) -> Compression {
        Compression::None
    }
}

/// A file of records.
pub(crate) struct FileSource {
    path: PathBuf,
    /// A copy of the bytes, where the input is a stream.
    spool: Option<File>,
    ends: Ends,
    input: Input,
    compression: Compression,
    /// What was decompressed so far, while it is small: decompressing again would take longer than
    /// everything else.
    unpacked: Option<Vec<u8>>,
    /// The whole input, decompressed.
    whole: Option<Arc<[u8]>>,
    /// A batch that was put back.
    first: Option<Batch>,
    /// The beginning of a record whose end was not there yet.
    rest: Vec<u8>,
    offset: u64,
    line: u64,
    at_end: bool,
}

impl FileSource {
    /// Reads an input that is at its beginning and can be opened again.
    pub(crate) fn new(input: Input, ends: Ends) -> FileSource {
        FileSource {
            path: input.path.clone(),
            spool: None,
            ends,
            compression: input.compression,
            unpacked: (input.compression != Compression::None).then(Vec::new),
            whole: None,
            input,
            first: None,
            rest: Vec::new(),
            offset: 0,
            line: 1,
            at_end: false,
        }
    }

    /// Reads the copy of a stream, which errors call `path`.
    pub(crate) fn spooled(file: File, path: &Path, ends: Ends) -> Result<FileSource> {
        let input = Input::spooled(&file, path)?;
        Ok(FileSource { spool: Some(file), ..FileSource::new(input, ends) })
    }

    /// Opens the file, or the copy of the stream, once more.
    fn reopen(&self) -> Result<Input> {
        match &self.spool {
            Some(file) => Input::spooled(file, &self.path),
            None => Input::open(&self.path),
        }
    }
}

impl TextSource for FileSource {
    fn rewind(&mut self) -> Result<()> {
        if self.at_end && self.whole.is_none() {
            self.whole = self.unpacked.take().map(Into::into);
        }
        if let Some(whole) = &self.whole {
            let total = whole.len() as u64;
            self.input = Input::plain(Box::new(Cursor::new(Arc::clone(whole))), &self.path, total);
        } else {
            self.input = self.reopen()?;
            self.unpacked = (self.compression != Compression::None).then(Vec::new);
        }
        self.first = None;
        self.rest.clear();
        (self.offset, self.line, self.at_end) = (0, 1, false);
        Ok(())
    }

    /// Keeps the batch, so that the input need not be opened again.
    fn put_back(&mut self, first: Batch) -> Result<()> {
        self.first = Some(first);
        Ok(())
    }

    fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        if let Some(first) = self.first.take() {
            *batch = first;
            return Ok(!batch.pieces.is_empty());
        }
        std::mem::swap(&mut batch.bytes, &mut self.rest);
        self.rest.clear();
        let mut want = BATCH;
        let end = loop {
            while !self.at_end && batch.bytes.len() < want {
                let filled = batch.bytes.len();
                batch.bytes.resize(want, 0);
                let n = self.input.read(&mut batch.bytes[filled..])?;
                batch.bytes.truncate(filled + n);
                self.at_end = n == 0;
                self.unpacked =
                    self.unpacked.take().filter(|kept| kept.len() + n <= UNPACKED).map(|mut kept| {
                        kept.extend_from_slice(&batch.bytes[filled..]);
                        kept
                    });
            }
            if self.at_end {
                break batch.bytes.len();
            }
            if let Some(end) = self.ends.last(&batch.bytes) {
                break end;
            }
            if batch.bytes.len() >= LONGEST {
                return Err(Error::Input {
                    path: self.path.clone(),
                    position: Position::Line(self.line),
                    found: "a document longer than 64 MiB".into(),
                    expected: "documents with an end".into(),
                    remedy: self.ends.remedy().into(),
                });
            }
            want = 2 * batch.bytes.len();
        };
        if end == 0 {
            return Ok(false);
        }
        self.rest.extend_from_slice(&batch.bytes[end..]);
        batch.bytes.truncate(end);
        let mut start = 0;
        if self.offset == 0 && batch.bytes.starts_with(b"\xef\xbb\xbf") {
            start = 3;
        }
        batch.pieces.push(Piece {
            bytes: start..end,
            source: 0,
            offset: self.offset + start as u64,
            line: self.line,
            kind: Kind::Records,
        });
        self.offset += end as u64;
        self.line += memchr::memchr_iter(b'\n', &batch.bytes).count() as u64;
        Ok(true)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.input.consumed(), self.input.total)
    }

    fn again(&self) -> bool {
        self.spool.is_none()
    }

    fn compression(&self) -> Compression {
        self.compression
    }
}

/// The files of a folder, a document each, in the order of their names. Only the names on the way
/// from the folder to the present file are held.
pub(crate) struct FolderSource {
    root: PathBuf,
    glob: Option<globset::GlobMatcher>,
    /// What is still to be visited, the next last: folders (true) and files.
    waiting: Vec<(PathBuf, bool)>,
    read: u64,
}

impl FolderSource {
    pub(crate) fn new(root: &Path, glob: Option<&str>) -> Result<FolderSource> {
        let glob = glob
            .map(|pattern| {
                globset::GlobBuilder::new(pattern)
                    .literal_separator(false)
                    .build()
                    .map(|g| g.compile_matcher())
            })
            .transpose()
            .map_err(|e| {
                let expected = Template::from("a pattern such as *.txt (").text(format!("{})", e.kind()));
                Error::parse("glob", e.glob().unwrap_or_default(), expected)
            })?;
        let mut source = FolderSource { root: root.to_path_buf(), glob, waiting: Vec::new(), read: 0 };
        source.rewind()?;
        Ok(source)
    }

    /// The name of a file as a document: its path in the folder, with slashes.
    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = inside.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        parts.join("/")
    }

    /// Puts what is in a folder on the list.
    fn enter(&mut self, folder: &Path) -> Result<()> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(Error::io("read", folder))? {
            let path = entry.map_err(Error::io("read", folder))?.path();
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let link = path.is_symlink();
            // A link to a folder could lead round in a circle.
            let is_folder = path.is_dir();
            if !hidden && (is_folder && !link || path.is_file()) {
                found.push((path, is_folder));
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        self.waiting.extend(found);
        Ok(())
    }
}

impl TextSource for FolderSource {
    fn rewind(&mut self) -> Result<()> {
        self.waiting = vec![(self.root.clone(), true)];
        self.read = 0;
        Ok(())
    }

    fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        while batch.bytes.len() < BATCH {
            let Some((path, is_folder)) = self.waiting.pop() else { break };
            if is_folder {
                self.enter(&path)?;
                continue;
            }
            let name = self.name(&path);
            let file_name = path.file_name().unwrap_or_default();
            if self.glob.as_ref().is_some_and(|glob| !glob.is_match(&name) && !glob.is_match(file_name)) {
                continue;
            }
            let mut input = Input::open(&path)?;
            let start = batch.bytes.len();
            loop {
                let filled = batch.bytes.len();
                batch.bytes.resize(filled + (1 << 16), 0);
                let n = input.read(&mut batch.bytes[filled..])?;
                batch.bytes.truncate(filled + n);
                if n == 0 {
                    break;
                }
                if batch.bytes.len() - start > LONGEST {
                    return Err(Error::Input {
                        path,
                        position: Position::Whole,
                        found: "a document longer than 64 MiB".into(),
                        expected: "a folder of texts, a document each".into(),
                        remedy: "split it into documents, or exclude it with {glob}".into(),
                    });
                }
            }
            let mark = if batch.bytes[start..].starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            self.read += (batch.bytes.len() - start) as u64;
            batch.pieces.push(Piece {
                bytes: start + mark..batch.bytes.len(),
                source: 0,
                offset: mark as u64,
                line: 1,
                kind: Kind::Text { name: Some(name), label: None },
            });
        }
        Ok(!batch.pieces.is_empty())
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.read, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_is_put_back_comes_again() {
        let text = "some words\n".repeat(300_000);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        std::fs::write(&path, &text).unwrap();
        let mut source = FileSource::new(Input::open(&path).unwrap(), Ends::Lines);
        // Later batches do not depend on the file: it is not opened again.
        std::fs::remove_file(&path).unwrap();
        let mut batch = Batch::default();
        assert!(source.next(&mut batch).unwrap());
        source.put_back(batch).unwrap();
        let (mut all, mut batch, mut offset) = (Vec::new(), Batch::default(), 0);
        while source.next(&mut batch).unwrap() {
            assert_eq!(batch.pieces[0].offset, offset);
            offset += batch.bytes.len() as u64;
            all.extend_from_slice(&batch.bytes);
        }
        assert!(all == text.as_bytes());
    }
}
