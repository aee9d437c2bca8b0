//! Sources of text: batches of complete records, about a megabyte each, from one or more inputs. A
//! source can be rewound.
//!
//! Start with [`TextSource`]. The content of the records is parsed by `records`, and the files of
//! folders and archives are read by `files`.

use std::fs::File;
use std::io::Cursor;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::json::JsonSplitter;
use super::records::RecordEnds;
use crate::corpus::Source;
use crate::corpus::ingest::archive::FileArchive;
use crate::corpus::ingest::detect::{START_BYTES, has_carriage_returns};
use crate::corpus::ingest::encoding::{
    DecodingReader, EncodingFinding, EncodingRule, TextEncoding, parse_encoding,
};
use crate::corpus::ingest::input::{Compression, Input};
use crate::corpus::ingest::markup::has_html;
use crate::corpus::ingest::notes::SkippedFiles;
use crate::corpus::ingest::shared_file::SharedFile;
use crate::error::{Error, Position, Result};

/// Usual minimum size of a batch in bytes, except for the last one.
pub(crate) const MIN_BATCH_BYTES: usize = 1 << 20;
/// Maximum size of a record in bytes: several copies of it must fit in memory.
pub(crate) const MAX_RECORD_BYTES: usize = 64 << 20;
/// Number of bytes of a batch for each record: a batch has fewer bytes if its records are shorter.
pub(crate) const MIN_BYTES_PER_RECORD: usize = 64;
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
    /// Number of records from which on a source adds no more.
    pub(crate) enough_records: usize,
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
            enough_records: usize::MAX,
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

/// Record that does not fit into a batch.
#[derive(Debug)]
pub(crate) struct MeasuredRecord {
    /// Length in bytes.
    pub(crate) length: u64,
    /// Memory in bytes that it takes to read the record into a batch.
    pub(crate) reading: u64,
    /// Bytes of the batch while the record is turned into words.
    pub(crate) held: u64,
    /// Batch with the position and the beginning of the record.
    pub(crate) start: TextBatch,
}

impl MeasuredRecord {
    /// Returns a record of a file of records, which is read in steps.
    fn in_steps(length: u64, start: TextBatch) -> MeasuredRecord {
        let reading = length + length / 8 + MIN_BATCH_BYTES as u64;
        MeasuredRecord { length, reading, held: reading, start }
    }
}

/// What occurs anywhere in a long record and makes it cost more memory.
#[derive(Debug, Default)]
pub(crate) struct CostlyContent {
    found: [bool; 6],
}

impl CostlyContent {
    /// Examples of the content: markup, escaped characters, two quotes for one, a list, a character
    /// that is not ASCII, and a byte that is not UTF-8.
    const EXAMPLES: [&[u8]; 6] = [b"<br>", b"\\u0041", b"\"\"", b"[", b"\xc3\xa9", b"\xff"];

    /// Searches a part of the record. Markup at the border of two parts is not found.
    pub(crate) fn inspect(&mut self, part: &[u8]) {
        let ascii = part.is_ascii();
        // The first and the last character of a part may be cut.
        let cut = part.iter().take(3).take_while(|&&b| b & 0xc0 == 0x80).count();
        let is_damaged = || std::str::from_utf8(&part[cut..]).is_err_and(|e| e.error_len().is_some());
        let tests: [&dyn Fn() -> bool; 6] = [
            &|| has_html(part),
            &|| memchr::memchr(b'\\', part).is_some(),
            &|| memchr::memmem::find(part, b"\"\"").is_some(),
            &|| memchr::memchr(b'[', part).is_some(),
            &|| !ascii,
            &|| !ascii && is_damaged(),
        ];
        for (found, test) in self.found.iter_mut().zip(tests) {
            *found = *found || test();
        }
    }

    /// Appends an example of everything that was found to the beginning of the record, from which
    /// the cost of the rest is estimated.
    pub(crate) fn append_to(&self, start: &mut Vec<u8>) {
        let found = self.found.iter().zip(CostlyContent::EXAMPLES).filter(|(found, _)| **found);
        found.for_each(|(_, example)| start.extend_from_slice(example));
        // The cost of a batch includes the capacity of its buffer.
        start.shrink_to_fit();
    }
}

/// Source of text that is read up to three times.
pub(crate) trait TextSource {
    /// Rewinds to the beginning.
    fn rewind(&mut self) -> Result<()>;
    /// Fills an empty batch; returns false at the end of the source. If the next record is longer
    /// than the batch may be, sets `needs_memory` and returns true with an empty batch.
    fn next(&mut self, batch: &mut TextBatch) -> Result<bool>;
    /// Measures the next record, after `next` has set `needs_memory`. The source must be rewound
    /// afterwards.
    fn measure_record(&mut self) -> Result<MeasuredRecord> {
        Ok(MeasuredRecord::in_steps(MAX_RECORD_BYTES as u64, TextBatch::default()))
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
    /// Returns the files that were skipped since the beginning.
    fn skipped_files(&self) -> SkippedFiles {
        SkippedFiles::default()
    }
    /// Returns the number of XML documents since the beginning that are not well-formed.
    fn damaged_files(&self) -> u64 {
        0
    }
    /// Returns the encodings other than UTF-8 of the source, with the number of files in each.
    fn encodings(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
    /// Returns whether bytes that are not valid in their encoding were replaced. Those of UTF-8 are
    /// left to the reader of records.
    fn has_replaced(&self) -> bool {
        false
    }
}

/// Encoding and line ends of an input.
#[derive(Debug, Clone)]
pub(crate) struct TextDecoding {
    rule: EncodingRule,
    pub(crate) finding: EncodingFinding,
    pub(crate) carriage_returns: bool,
}

impl TextDecoding {
    /// Decodes an input to UTF-8 with line feeds as line ends.
    pub(crate) fn detect(input: Input, rule: EncodingRule) -> Result<(Input, TextDecoding)> {
        let mut decoding =
            TextDecoding { rule, finding: EncodingFinding::default(), carriage_returns: false };
        let mut input = decoding.apply(input);
        decoding.carriage_returns = has_carriage_returns(input.peek(START_BYTES)?);
        let input = if decoding.carriage_returns { input.with_line_feeds() } else { input };
        Ok((input, decoding))
    }

    /// Returns the decoding of a source that was read before; `None` if its encoding is unknown.
    fn of_source(source: &Source) -> Option<TextDecoding> {
        let encoding = source.encoding.as_deref().map_or(Ok(TextEncoding::Utf8), parse_encoding).ok()?;
        let (rule, finding) = (EncodingRule::Given(encoding), EncodingFinding::default());
        Some(TextDecoding { rule, finding, carriage_returns: source.carriage_returns })
    }

    fn apply(&self, input: Input) -> Input {
        let (rule, finding) = (self.rule, self.finding.clone());
        let input = input.map_reader(|source| Box::new(DecodingReader::new(source, rule, finding)));
        if self.carriage_returns { input.with_line_feeds() } else { input }
    }
}

/// Opens a member of a zip archive in a regular file.
pub(crate) fn open_member(path: &std::path::Path, name: &str) -> Result<Input> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let file = SharedFile::new(file).map_err(Error::io("read", path))?;
    let mut archive = FileArchive::open(path, file)?;
    let mut input = member_input(&mut archive, name, path)?;
    input.reopenable = true;
    Ok(input)
}

/// Opens a member of an archive as an input. It can be opened again if the caller says so.
pub(crate) fn member_input(archive: &mut FileArchive, name: &str, path: &std::path::Path) -> Result<Input> {
    let missing = || Error::io("open", &path.join(name))(std::io::ErrorKind::NotFound.into());
    let member = archive.find(name).cloned().ok_or_else(missing)?;
    let mut input = Input::new(archive.open_member(&member)?, path, None)?;
    if input.compression == Compression::None {
        input.compression = Compression::Zip;
    }
    input.member = Some(member.name);
    Ok(input)
}

/// Input that is opened again for every pass.
pub(crate) struct TextOrigin {
    path: PathBuf,
    member: Option<String>,
    /// Copy of the decoded bytes, if the input is a stream.
    spool: Option<File>,
    decoding: TextDecoding,
}

impl TextOrigin {
    /// Returns the origin of an input that was decoded.
    pub(crate) fn new(input: &Input, decoding: TextDecoding, spool: Option<File>) -> TextOrigin {
        TextOrigin { path: input.path.clone(), member: input.member.clone(), spool, decoding }
    }

    /// Returns the origin of a source of texts at `path`; `None` if its encoding is unknown.
    pub(crate) fn of_source(source: &Source, path: PathBuf) -> Option<TextOrigin> {
        let decoding = TextDecoding::of_source(source)?;
        Some(TextOrigin { path, member: source.member.clone(), spool: None, decoding })
    }

    /// Opens the input from its beginning.
    pub(crate) fn open(&self) -> Result<Input> {
        let input = match (&self.spool, &self.member) {
            (Some(file), _) => return Input::spooled(file, &self.path),
            (None, Some(member)) => open_member(&self.path, member)?,
            (None, None) => Input::open(&self.path)?,
        };
        Ok(self.decoding.apply(input))
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
    origin: TextOrigin,
    ends: RecordEnds,
    splitter: Option<JsonSplitter>,
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
    /// Creates a source from a decoded input that is at its beginning.
    pub(crate) fn new(input: Input, origin: TextOrigin, ends: RecordEnds) -> FileSource {
        FileSource {
            origin,
            splitter: new_splitter(&ends),
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
        if self.splitter.is_some() {
            return end;
        }
        let most = batch.enough_records;
        memchr::memchr_iter(b'\n', &batch.bytes[..end])
            .nth(most)
            .and_then(|at| self.ends.find_last(&batch.bytes[..=at]))
            .unwrap_or(end)
    }

    fn too_long(&self) -> Error {
        Error::Input {
            path: self.origin.path.clone(),
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

    /// Returns the range of the complete records in `bytes`, from the first one to the last one,
    /// and the number of bytes that are used up. Returns `None` if there is no complete record yet.
    fn find_records(&mut self, bytes: &[u8]) -> Result<Option<(std::ops::Range<usize>, usize)>> {
        let mark = if self.offset == 0 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let Some(splitter) = &self.splitter else {
            let end = if self.at_end { Some(bytes.len()) } else { self.ends.find_last(bytes) };
            return Ok(end.map(|end| (mark.min(end)..end, end)));
        };
        let (mut splitter, mut records) = (splitter.clone(), Vec::new());
        let used = splitter.split(&bytes[mark..], self.at_end, &mut records).map_err(|error| {
            let before = &bytes[..mark + error.at];
            Error::Input {
                path: self.origin.path.clone(),
                position: Position::Line(self.line + memchr::memchr_iter(b'\n', before).count() as u64),
                found: error.found,
                expected: error.expected.into(),
                remedy: self.ends.remedy().into(),
            }
        })?;
        if records.is_empty() && !self.at_end {
            return Ok(None);
        }
        self.splitter = Some(splitter);
        let range = match (records.first(), records.last()) {
            (Some(first), Some(last)) => mark + first.start..mark + last.end,
            _ => 0..0,
        };
        Ok(Some((range, mark + used)))
    }
}

/// Finder of the end of a long record, which is read in parts.
enum RecordEnd {
    /// The record ends with its line. In a table, line ends between quotes do not count.
    Line { quotes: bool, in_quotes: bool },
    /// The record is a JSON value.
    Value { depth: u64, in_string: bool, escaped: bool },
}

impl RecordEnd {
    /// Returns the position after the record, if it ends in this part.
    fn find(&mut self, part: &[u8]) -> Option<usize> {
        match self {
            RecordEnd::Line { quotes, in_quotes } => {
                for at in memchr::memchr2_iter(b'\n', b'"', part) {
                    if part[at] == b'"' {
                        *in_quotes = *quotes && !*in_quotes;
                    } else if !*in_quotes {
                        return Some(at + 1);
                    }
                }
            }
            RecordEnd::Value { depth, in_string, escaped } => {
                for (at, &byte) in part.iter().enumerate() {
                    match byte {
                        _ if *escaped => *escaped = false,
                        b'\\' if *in_string => *escaped = true,
                        b'"' => *in_string = !*in_string,
                        b'{' | b'[' if !*in_string => *depth += 1,
                        b'}' | b']' if !*in_string => *depth = depth.saturating_sub(1),
                        _ => continue,
                    }
                    if *depth == 0 && !*in_string && matches!(byte, b'"' | b'}' | b']') {
                        return Some(at + 1);
                    }
                }
            }
        }
        None
    }
}

fn new_splitter(ends: &RecordEnds) -> Option<JsonSplitter> {
    match ends {
        RecordEnds::Json(envelope) => Some(JsonSplitter::new(envelope.clone())),
        RecordEnds::Lines | RecordEnds::Quoted { .. } => None,
    }
}

impl TextSource for FileSource {
    fn rewind(&mut self) -> Result<()> {
        if self.at_end && self.whole.is_none() {
            self.whole = self.cached.take().map(|bytes| SharedBytes(bytes.into()));
        }
        if let Some(whole) = &self.whole {
            let total = whole.0.len() as u64;
            self.input = Input::plain(Box::new(Cursor::new(whole.clone())), &self.origin.path, total);
        } else {
            self.input = self.origin.open()?;
            self.cached = (self.compression != Compression::None).then(Vec::new);
        }
        self.first = None;
        self.rest.clear();
        self.splitter = new_splitter(&self.ends);
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
        let (range, end) = loop {
            while !self.at_end && batch.bytes.len() < want {
                self.read_into(batch, want - batch.bytes.len())?;
            }
            if let Some(found) = self.find_records(&batch.bytes)? {
                break found;
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
        if range.is_empty() {
            return Ok(false);
        }
        let end = self.limit_records(batch, end);
        let range = range.start..range.end.min(end);
        self.rest.extend_from_slice(&batch.bytes[end..]);
        batch.bytes.truncate(end);
        if batch.bytes.len() > 2 * MIN_BATCH_BYTES {
            batch.bytes.shrink_to_fit();
        }
        let lines_before = memchr::memchr_iter(b'\n', &batch.bytes[..range.start]).count() as u64;
        batch.spans.push(TextSpan {
            source: 0,
            offset: self.offset + range.start as u64,
            line: self.line + lines_before,
            bytes: range,
            kind: SpanKind::Records,
        });
        self.offset += end as u64;
        self.line += memchr::memchr_iter(b'\n', &batch.bytes).count() as u64;
        Ok(true)
    }

    /// Reads on to the end of the record. The span of its beginning excludes the examples of what
    /// follows.
    fn measure_record(&mut self) -> Result<MeasuredRecord> {
        let mut start = TextBatch::default();
        let mut part = TextBatch::default();
        std::mem::swap(&mut part.bytes, &mut self.rest);
        let mut end = match self.splitter.take() {
            None => RecordEnd::Line { quotes: self.ends != RecordEnds::Lines, in_quotes: false },
            Some(mut splitter) => {
                // The beginning of an array or an object around the records is no part of them.
                // Errors are reported when the record is read.
                let used = splitter.split(&part.bytes, false, &mut Vec::new()).unwrap_or(0);
                self.line += memchr::memchr_iter(b'\n', &part.bytes[..used]).count() as u64;
                part.bytes.drain(..used);
                RecordEnd::Value { depth: 0, in_string: false, escaped: false }
            }
        };
        start.bytes.extend_from_slice(&part.bytes[..part.bytes.len().min(READ_STEP_BYTES)]);
        start.spans.push(self.span(0..start.bytes.len()));
        let (mut length, mut content) = (0, CostlyContent::default());
        loop {
            let found = end.find(&part.bytes);
            let used = found.unwrap_or(part.bytes.len());
            content.inspect(&part.bytes[..used]);
            length += used as u64;
            if found.is_none() && length > MAX_RECORD_BYTES as u64 {
                return Err(self.too_long());
            }
            part = TextBatch::default();
            if found.is_some() || part.read_from(&mut self.input, READ_STEP_BYTES)? == 0 {
                content.append_to(&mut start.bytes);
                return Ok(MeasuredRecord::in_steps(length, start));
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
        self.origin.spool.is_none()
    }

    fn compression(&self) -> Compression {
        self.compression
    }

    fn encodings(&self) -> Vec<(String, u64)> {
        let found = self.origin.decoding.finding.encoding();
        if found == TextEncoding::Utf8 { Vec::new() } else { vec![(found.name().into(), 1)] }
    }

    fn has_replaced(&self) -> bool {
        self.origin.decoding.finding.has_replaced()
    }
}

/// Several sources one after the other. The spans of a batch have the number of their source.
pub(crate) struct SourceList {
    sources: Vec<Box<dyn TextSource>>,
    /// Index of the source that is being read.
    current: usize,
}

impl SourceList {
    pub(crate) fn new(sources: Vec<Box<dyn TextSource>>) -> SourceList {
        SourceList { sources, current: 0 }
    }

    pub(crate) fn sources(&self) -> &[Box<dyn TextSource>] {
        &self.sources
    }
}

impl TextSource for SourceList {
    fn measure_record(&mut self) -> Result<MeasuredRecord> {
        let Some(source) = self.sources.get_mut(self.current) else {
            return Ok(MeasuredRecord::in_steps(0, TextBatch::default()));
        };
        let mut record = source.measure_record()?;
        record.start.spans.iter_mut().for_each(|span| span.source = self.current as u32);
        Ok(record)
    }

    fn skipped_files(&self) -> SkippedFiles {
        let mut all = SkippedFiles::default();
        for skipped in self.sources.iter().map(|source| source.skipped_files()) {
            let unnamed = skipped.count - skipped.examples.len() as u64;
            skipped.examples.into_iter().for_each(|file| all.push(file));
            all.count += unnamed;
        }
        all
    }

    fn held_share(&self) -> Option<u64> {
        self.sources.iter().filter_map(|source| source.held_share()).min()
    }

    fn limit_cache(&mut self, bytes: usize) {
        let each = bytes / self.sources.len().max(1);
        self.sources.iter_mut().for_each(|source| source.limit_cache(each));
    }

    fn rewind(&mut self) -> Result<()> {
        self.current = 0;
        self.sources.iter_mut().try_for_each(|source| source.rewind())
    }

    fn put_back(&mut self, first: TextBatch) -> Result<()> {
        match self.sources.get_mut(self.current) {
            Some(source) => source.put_back(first),
            None => self.rewind(),
        }
    }

    fn next(&mut self, batch: &mut TextBatch) -> Result<bool> {
        while let Some(source) = self.sources.get_mut(self.current) {
            if source.next(batch)? {
                batch.spans.iter_mut().for_each(|span| span.source = self.current as u32);
                return Ok(true);
            }
            self.current += 1;
        }
        batch.clear();
        Ok(false)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        let all = self.sources.iter().map(|source| source.progress());
        all.fold((0, Some(0)), |(bytes, total), (more, all)| {
            (bytes + more, total.zip(all).map(|(a, b)| a + b))
        })
    }

    fn reopenable(&self) -> bool {
        self.sources.iter().any(|source| source.reopenable())
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
        let input = Input::open(&path).unwrap();
        let (input, decoding) = TextDecoding::detect(input, EncodingRule::Detect).unwrap();
        let origin = TextOrigin::new(&input, decoding, None);
        let mut source = FileSource::new(input, origin, RecordEnds::Lines);
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
