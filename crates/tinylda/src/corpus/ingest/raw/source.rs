//! Sources of text: batches of complete records, about a megabyte each, from a file or a folder. A
//! source can be rewound.
//!
//! Start with [`TextSource`]. The content of the records is parsed by `records`.

use std::fs::File;
use std::io::Cursor;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::records::RecordEnds;
use crate::corpus::ingest::input::{Compression, Input};
use crate::error::{Error, Position, Result, Template};

/// Minimum size of a batch in bytes, except for the last one.
pub(crate) const MIN_BATCH_BYTES: usize = 1 << 20;
/// Maximum size of a record in bytes: several copies of it must fit in memory.
pub(crate) const MAX_RECORD_BYTES: usize = 64 << 20;
/// Maximum number of decompressed bytes that are cached for the next pass.
const MAX_CACHED_BYTES: usize = 16 << 20;

/// Content of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// Complete records in the format of the source.
    Records,
    /// Text of one document, from a folder or from another kind of file.
    Text {
        /// Name of the document.
        name: Option<String>,
        /// Values of every label column. Separators are not applied yet.
        labels: Vec<Vec<String>>,
        /// Date of the document as it was found.
        date: Option<String>,
    },
}

/// Bytes of a batch that are contiguous in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextSpan {
    /// Position in the batch.
    pub(crate) bytes: Range<usize>,
    /// Number of the source, from 0.
    pub(crate) source: u32,
    /// Byte offset in the decompressed source.
    pub(crate) offset: u64,
    /// Number of the first line or row of the span, from 1.
    pub(crate) line: u64,
    /// Content of the span.
    pub(crate) kind: SpanKind,
}

/// Batch of text: the unit of work of a thread.
#[derive(Debug, Default)]
pub(crate) struct TextBatch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) spans: Vec<TextSpan>,
}

impl TextBatch {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }
}

/// Source of text that is read up to three times.
pub(crate) trait TextSource {
    /// Rewinds to the beginning.
    fn rewind(&mut self) -> Result<()>;
    /// Fills an empty batch; returns false at the end of the source.
    fn next(&mut self, batch: &mut TextBatch) -> Result<bool>;
    /// Takes back the first batch, so that the next call of `next` returns it again.
    fn put_back(&mut self, _first: TextBatch) -> Result<()> {
        self.rewind()
    }
    /// Returns the number of bytes read since the beginning and the total, if known.
    fn progress(&self) -> (u64, Option<u64>);
    /// Returns whether the texts can be found again later by the path of the source and their byte
    /// offsets.
    fn reopenable(&self) -> bool {
        true
    }
    /// Returns the compression of the source.
    fn compression(&self) -> Compression {
        Compression::None
    }
}

/// File of records.
pub(crate) struct FileSource {
    path: PathBuf,
    /// Copy of the bytes, if the input is a stream.
    spool: Option<File>,
    ends: RecordEnds,
    input: Input,
    compression: Compression,
    /// Decompressed bytes so far, while they are few: decompressing them again would take longer
    /// than all other work.
    cached: Option<Vec<u8>>,
    /// Complete decompressed input.
    whole: Option<Arc<[u8]>>,
    /// Batch that was put back.
    first: Option<TextBatch>,
    /// Beginning of a record whose end has not been read yet.
    rest: Vec<u8>,
    offset: u64,
    line: u64,
    at_end: bool,
}

impl FileSource {
    /// Creates a source from an input that is at its beginning and can be opened again.
    pub(crate) fn new(input: Input, ends: RecordEnds) -> FileSource {
        FileSource {
            path: input.path.clone(),
            spool: None,
            ends,
            compression: input.compression,
            cached: (input.compression != Compression::None).then(Vec::new),
            whole: None,
            input,
            first: None,
            rest: Vec::new(),
            offset: 0,
            line: 1,
            at_end: false,
        }
    }

    /// Creates a source from the copy of a stream. Errors refer to it by `path`.
    pub(crate) fn spooled(file: File, path: &Path, ends: RecordEnds) -> Result<FileSource> {
        let input = Input::spooled(&file, path)?;
        Ok(FileSource { spool: Some(file), ..FileSource::new(input, ends) })
    }

    /// Opens the file, or the copy of the stream, again.
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
            self.whole = self.cached.take().map(Into::into);
        }
        if let Some(whole) = &self.whole {
            let total = whole.len() as u64;
            self.input = Input::plain(Box::new(Cursor::new(Arc::clone(whole))), &self.path, total);
        } else {
            self.input = self.reopen()?;
            self.cached = (self.compression != Compression::None).then(Vec::new);
        }
        self.first = None;
        self.rest.clear();
        (self.offset, self.line, self.at_end) = (0, 1, false);
        Ok(())
    }

    /// Stores the batch, so that the input need not be opened again.
    fn put_back(&mut self, first: TextBatch) -> Result<()> {
        self.first = Some(first);
        Ok(())
    }

    fn next(&mut self, batch: &mut TextBatch) -> Result<bool> {
        batch.clear();
        if let Some(first) = self.first.take() {
            *batch = first;
            return Ok(!batch.spans.is_empty());
        }
        std::mem::swap(&mut batch.bytes, &mut self.rest);
        self.rest.clear();
        let mut want = MIN_BATCH_BYTES;
        let end = loop {
            while !self.at_end && batch.bytes.len() < want {
                let filled = batch.bytes.len();
                batch.bytes.resize(want, 0);
                let n = self.input.read(&mut batch.bytes[filled..])?;
                batch.bytes.truncate(filled + n);
                self.at_end = n == 0;
                self.cached =
                    self.cached.take().filter(|kept| kept.len() + n <= MAX_CACHED_BYTES).map(|mut kept| {
                        kept.extend_from_slice(&batch.bytes[filled..]);
                        kept
                    });
            }
            if self.at_end {
                break batch.bytes.len();
            }
            if let Some(end) = self.ends.find_last(&batch.bytes) {
                break end;
            }
            if batch.bytes.len() >= MAX_RECORD_BYTES {
                return Err(Error::Input {
                    path: self.path.clone(),
                    position: Position::Line(self.line),
                    found: "a document longer than 64 MiB".into(),
                    expected: "documents of at most 64 MiB".into(),
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
        batch.spans.push(TextSpan {
            bytes: start..end,
            source: 0,
            offset: self.offset + start as u64,
            line: self.line,
            kind: SpanKind::Records,
        });
        self.offset += end as u64;
        self.line += memchr::memchr_iter(b'\n', &batch.bytes).count() as u64;
        Ok(true)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.input.consumed(), self.input.total)
    }

    fn reopenable(&self) -> bool {
        self.spool.is_none()
    }

    fn compression(&self) -> Compression {
        self.compression
    }
}

/// Files of a folder, one document each, in the order of their names. Only the names of the entries
/// of the current folder and its parents are held in memory.
pub(crate) struct FolderSource {
    root: PathBuf,
    glob: Option<globset::GlobMatcher>,
    /// Whether the path of a file's folder is its label.
    folder_labels: bool,
    /// Folders (true) and files (false) that are still to be visited, the next one last.
    waiting: Vec<(PathBuf, bool)>,
    read: u64,
}

impl FolderSource {
    /// Creates a source of the files of a folder that match `glob`. With `folder_labels`, the path
    /// of a file's folder is its label.
    pub(crate) fn new(root: &Path, glob: Option<&str>, folder_labels: bool) -> Result<FolderSource> {
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
        let mut source =
            FolderSource { root: root.to_path_buf(), glob, folder_labels, waiting: Vec::new(), read: 0 };
        source.rewind()?;
        Ok(source)
    }

    /// Returns the document name of a file: its path in the folder, with slashes.
    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = inside.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        parts.join("/")
    }

    /// Adds the content of a folder to the list of what is to be visited.
    fn list_folder(&mut self, folder: &Path) -> Result<()> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(Error::io("read", folder))? {
            let path = entry.map_err(Error::io("read", folder))?.path();
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let link = path.is_symlink();
            // Links to folders are not followed, since they could form a cycle.
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

    fn next(&mut self, batch: &mut TextBatch) -> Result<bool> {
        batch.clear();
        while batch.bytes.len() < MIN_BATCH_BYTES {
            let Some((path, is_folder)) = self.waiting.pop() else { break };
            if is_folder {
                self.list_folder(&path)?;
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
                if batch.bytes.len() - start > MAX_RECORD_BYTES {
                    return Err(Error::Input {
                        path,
                        position: Position::Whole,
                        found: "a document longer than 64 MiB".into(),
                        expected: "text files of at most 64 MiB, one document each".into(),
                        remedy: "split it into documents, or exclude it with {glob}".into(),
                    });
                }
            }
            // The label of a file in the folder itself is empty, which means that it has none.
            let folder = || name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            let labels = if self.folder_labels { vec![vec![folder()]] } else { Vec::new() };
            let mark = if batch.bytes[start..].starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            self.read += (batch.bytes.len() - start) as u64;
            batch.spans.push(TextSpan {
                bytes: start + mark..batch.bytes.len(),
                source: 0,
                offset: mark as u64,
                line: 1,
                kind: SpanKind::Text { name: Some(name), labels, date: None },
            });
        }
        Ok(!batch.spans.is_empty())
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
        let mut source = FileSource::new(Input::open(&path).unwrap(), RecordEnds::Lines);
        // Later batches do not depend on the path: the file is not opened again.
        std::fs::remove_file(&path).unwrap();
        let mut batch = TextBatch::default();
        assert!(source.next(&mut batch).unwrap());
        source.put_back(batch).unwrap();
        let (mut all, mut batch, mut offset) = (Vec::new(), TextBatch::default(), 0);
        while source.next(&mut batch).unwrap() {
            assert_eq!(batch.spans[0].offset, offset);
            offset += batch.bytes.len() as u64;
            all.extend_from_slice(&batch.bytes);
        }
        assert!(all == text.as_bytes());
    }
}
