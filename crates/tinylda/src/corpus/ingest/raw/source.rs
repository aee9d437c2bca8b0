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

/// Usual minimum size of a batch in bytes, except for the last one.
pub(crate) const MIN_BATCH_BYTES: usize = 1 << 20;
/// Maximum size of a record in bytes: several copies of it must fit in memory.
pub(crate) const MAX_RECORD_BYTES: usize = 64 << 20;
/// Number of bytes of a batch for each record: a batch has fewer bytes if its records are shorter.
const MIN_BYTES_PER_RECORD: usize = 64;
/// Default maximum number of decompressed bytes that are cached for the next pass.
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
#[derive(Debug)]
pub(crate) struct TextBatch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) spans: Vec<TextSpan>,
    /// Number of bytes from which on a source adds no more records.
    pub(crate) enough_bytes: usize,
    /// Maximum number of bytes. A source that meets a longer record sets `needs_memory`.
    pub(crate) max_bytes: usize,
    /// Set by a source, with an empty batch, if the next record is longer than `max_bytes`. The
    /// next call may allow more.
    pub(crate) needs_memory: bool,
}

impl Default for TextBatch {
    fn default() -> TextBatch {
        TextBatch {
            bytes: Vec::new(),
            spans: Vec::new(),
            enough_bytes: MIN_BATCH_BYTES,
            max_bytes: usize::MAX,
            needs_memory: false,
        }
    }
}

impl TextBatch {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        self.needs_memory = false;
    }

    /// Returns the number of records from which on a source adds no more.
    pub(crate) fn enough_records(&self) -> usize {
        self.enough_bytes / MIN_BYTES_PER_RECORD
    }

    /// Reads up to `count` more bytes of an input. Returns how many were read: 0 at its end. The
    /// buffer grows by no more than that.
    pub(crate) fn read_from(&mut self, input: &mut Input, count: usize) -> Result<usize> {
        let filled = self.bytes.len();
        self.bytes.reserve_exact(count);
        self.bytes.resize(filled + count, 0);
        let read = input.read(&mut self.bytes[filled..]);
        self.bytes.truncate(filled + read.as_ref().map_or(0, |&n| n));
        read
    }
}

/// Source of text that is read up to three times.
pub(crate) trait TextSource {
    /// Rewinds to the beginning.
    fn rewind(&mut self) -> Result<()>;
    /// Fills an empty batch; returns false at the end of the source. If the next record is longer
    /// than the batch may be, sets `needs_memory` and returns true with an empty batch.
    fn next(&mut self, batch: &mut TextBatch) -> Result<bool>;
    /// Returns the length in bytes of the next record, after `next` has set `needs_memory`, and a
    /// batch with its position and its beginning. The source must be rewound afterwards.
    fn measure_record(&mut self) -> Result<(u64, TextBatch)> {
        Ok((MAX_RECORD_BYTES as u64, TextBatch::default()))
    }
    /// Returns the share of the memory that the source itself may take, as a divisor.
    fn held_share(&self) -> Option<u64> {
        None
    }
    /// Limits the bytes that are cached for the next pass.
    fn limit_cache(&mut self, _bytes: usize) {}
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

/// Number of bytes that are read at a time in search of the end of a long record.
const READ_STEP_BYTES: usize = 1 << 19;

/// Bytes that readers share without a copy.
#[derive(Debug, Clone)]
struct SharedBytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
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
    /// Maximum number of bytes in `cached`.
    max_cached: usize,
    /// Complete decompressed input.
    whole: Option<SharedBytes>,
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
            max_cached: MAX_CACHED_BYTES,
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

    /// Reads up to `count` more bytes into a batch, and caches them if they are decompressed.
    fn read_into(&mut self, batch: &mut TextBatch, count: usize) -> Result<()> {
        let n = batch.read_from(&mut self.input, count)?;
        self.at_end = n == 0;
        let max_cached = self.max_cached;
        self.cached = self.cached.take().filter(|kept| kept.len() + n <= max_cached).map(|mut kept| {
            kept.extend_from_slice(&batch.bytes[batch.bytes.len() - n..]);
            kept
        });
        Ok(())
    }

    /// Shortens a batch of very short records. `end` is the end of its last complete record.
    fn limit_records(&self, batch: &TextBatch, end: usize) -> usize {
        let most = batch.enough_records();
        memchr::memchr_iter(b'\n', &batch.bytes[..end])
            .nth(most)
            .and_then(|at| self.ends.find_last(&batch.bytes[..=at]))
            .unwrap_or(end)
    }

    fn too_long(&self) -> Error {
        Error::Input {
            path: self.path.clone(),
            position: Position::Line(self.line),
            found: "a document longer than 64 MiB".into(),
            expected: "documents of at most 64 MiB".into(),
            remedy: self.ends.remedy().into(),
        }
    }

    fn span(&self, bytes: Range<usize>) -> TextSpan {
        let offset = self.offset + bytes.start as u64;
        TextSpan { bytes, source: 0, offset, line: self.line, kind: SpanKind::Records }
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
            self.whole = self.cached.take().map(|bytes| SharedBytes(bytes.into()));
        }
        if let Some(whole) = &self.whole {
            let total = whole.0.len() as u64;
            self.input = Input::plain(Box::new(Cursor::new(whole.clone())), &self.path, total);
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
        let mut want = batch.enough_bytes;
        let end = loop {
            while !self.at_end && batch.bytes.len() < want {
                self.read_into(batch, want - batch.bytes.len())?;
            }
            if self.at_end {
                break batch.bytes.len();
            }
            if let Some(end) = self.ends.find_last(&batch.bytes) {
                break end;
            }
            let length = batch.bytes.len();
            if length >= MAX_RECORD_BYTES {
                return Err(self.too_long());
            }
            // The steps are short, so that few bytes after the record are read with it.
            want = length + (length / 8).max(READ_STEP_BYTES);
            if want > batch.max_bytes {
                std::mem::swap(&mut batch.bytes, &mut self.rest);
                batch.needs_memory = true;
                return Ok(true);
            }
        };
        if end == 0 {
            return Ok(false);
        }
        let end = self.limit_records(batch, end);
        self.rest.extend_from_slice(&batch.bytes[end..]);
        batch.bytes.truncate(end);
        if batch.bytes.len() > 2 * MIN_BATCH_BYTES {
            batch.bytes.shrink_to_fit();
        }
        let mark = self.offset == 0 && batch.bytes.starts_with(b"\xef\xbb\xbf");
        batch.spans.push(self.span(if mark { 3 } else { 0 }..end));
        self.offset += end as u64;
        self.line += memchr::memchr_iter(b'\n', &batch.bytes).count() as u64;
        Ok(true)
    }

    /// Reads on to the end of the record. In a table, line ends between quotes do not count.
    fn measure_record(&mut self) -> Result<(u64, TextBatch)> {
        let mut start = TextBatch::default();
        let mut part = TextBatch::default();
        std::mem::swap(&mut part.bytes, &mut self.rest);
        start.bytes.extend_from_slice(&part.bytes[..part.bytes.len().min(READ_STEP_BYTES)]);
        start.spans.push(self.span(0..start.bytes.len()));
        let (mut length, mut in_quotes) = (0, false);
        loop {
            for at in memchr::memchr2_iter(b'\n', b'"', &part.bytes) {
                if part.bytes[at] == b'"' {
                    in_quotes = !in_quotes && self.ends != RecordEnds::Lines;
                } else if !in_quotes {
                    return Ok((length + at as u64 + 1, start));
                }
            }
            length += part.bytes.len() as u64;
            if length > MAX_RECORD_BYTES as u64 {
                return Err(self.too_long());
            }
            part = TextBatch::default();
            if part.read_from(&mut self.input, READ_STEP_BYTES)? == 0 {
                return Ok((length, start));
            }
        }
    }

    fn limit_cache(&mut self, bytes: usize) {
        self.max_cached = bytes.min(MAX_CACHED_BYTES);
        self.cached = self.cached.take().filter(|kept| kept.len() <= bytes);
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

fn long_file_error(path: &Path) -> Error {
    Error::Input {
        path: path.to_path_buf(),
        position: Position::Whole,
        found: "a document longer than 64 MiB".into(),
        expected: "text files of at most 64 MiB, one document each".into(),
        remedy: "split it into documents, or exclude it with {glob}".into(),
    }
}

/// Appends a file to a batch; returns false if it is too long for the batch.
fn read_file(path: &Path, batch: &mut TextBatch) -> Result<bool> {
    let mut input = Input::open(path)?;
    let start = batch.bytes.len();
    loop {
        let length = batch.bytes.len() - start;
        if length > MAX_RECORD_BYTES {
            return Err(long_file_error(path));
        }
        let count = if length < READ_STEP_BYTES { 1 << 16 } else { READ_STEP_BYTES };
        if batch.bytes.len() + count > batch.max_bytes {
            return Ok(false);
        }
        if batch.read_from(&mut input, count)? == 0 {
            return Ok(true);
        }
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
        while batch.bytes.len() < batch.enough_bytes && batch.spans.len() < batch.enough_records() {
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
            let start = batch.bytes.len();
            if !read_file(&path, batch)? {
                // The file is read again, with more memory or as the first of a batch.
                batch.bytes.truncate(start);
                batch.needs_memory = batch.spans.is_empty();
                self.waiting.push((path, false));
                return Ok(true);
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

    fn measure_record(&mut self) -> Result<(u64, TextBatch)> {
        let mut start = TextBatch::default();
        let Some((path, _)) = self.waiting.last() else { return Ok((0, start)) };
        let mut input = Input::open(path)?;
        while start.bytes.len() < READ_STEP_BYTES {
            let missing = READ_STEP_BYTES - start.bytes.len();
            if start.read_from(&mut input, missing)? == 0 {
                break;
            }
        }
        let kind = SpanKind::Text { name: Some(self.name(path)), labels: Vec::new(), date: None };
        start.spans.push(TextSpan { bytes: 0..start.bytes.len(), source: 0, offset: 0, line: 1, kind });
        let mut part = vec![0; READ_STEP_BYTES];
        let mut length = start.bytes.len() as u64;
        loop {
            match input.read(&mut part)? as u64 {
                0 => return Ok((length, start)),
                n => length += n,
            }
            if length > MAX_RECORD_BYTES as u64 {
                return Err(long_file_error(path));
            }
        }
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
