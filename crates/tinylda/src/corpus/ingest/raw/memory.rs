//! Division of the memory of a text import: how much its tables, buffered documents, batches in
//! flight and vocabulary may take, and how much a batch takes while it is processed.
//!
//! Start with [`ImportMemory`]. A batch is admitted only if its cost fits beside the batches in
//! flight, so long documents run on fewer threads. A document that does not fit even alone is
//! refused, with the limit that would suffice.

use super::records::{RecordEnds, RecordFormat, RecordReader};
use super::source::{SpanKind, TextBatch};
use crate::corpus::ingest::markup::has_html;
use crate::corpus::ingest::words::{CHUNK_BYTES, ChunkRule, longest_chunk};
use crate::error::{Error, Position, Result};
use crate::format::human_bytes;
use crate::memory::{BYTES_PER_THREAD, SLACK_DIVISOR};

/// Default memory limit in bytes.
const DEFAULT_MEMORY: u64 = 1 << 30;
/// Bytes of everything that does not depend on the limit: buffers of the input, the block of the
/// corpus file that is being filled, lists of stop words, and buffers for merging runs.
const FIXED_BYTES: u64 = 7 << 20;
/// Minimum number of bytes for the work of one thread: its table and a batch of short documents.
const MIN_WORKER_BYTES: u64 = 8 << 20;
/// Bytes of the caches that a regular expression fills, per thread.
const PATTERN_BYTES: u64 = 4 << 20;
/// Bytes of a word of the vocabulary besides its text: its end, its entry in the index and its
/// totals in the corpus file.
pub(super) const BYTES_PER_WORD: u64 = 44;
/// Bytes of a word of the longest document while that is written.
const BYTES_PER_WRITTEN_WORD: u64 = 24;
/// Bytes of a phrase: in the pipeline, its copies and the set in which phrases are looked up.
const BYTES_PER_PHRASE: u64 = 320;
/// Length in bytes up to which records are not inspected to compute their cost.
const SHORT_RECORD_BYTES: u64 = 1 << 17;
/// Maximum number of word ids of a document that are collected before they are counted.
pub(super) const MAX_COLLECTED_IDS: usize = 1 << 18;

/// Memory that is not available to an import.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HeldMemory {
    /// Bytes that the process holds already.
    pub(super) bytes: u64,
    /// Share of the other memory that the source of the texts may take, as a divisor.
    pub(super) share: Option<u64>,
}

/// Memory of a text import, divided among its parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImportMemory {
    /// Limit in bytes, as the user gave it.
    limit: u64,
    /// Memory that is not available.
    held: HeldMemory,
    /// Number of threads that the user asked for.
    wanted_threads: usize,
    /// Bytes of each thread besides its table and batches.
    bytes_per_thread: u64,
    /// Number of worker threads, which is reduced if the memory is small.
    threads: usize,
    /// Bytes that are divided among tables, documents and vocabulary.
    work: u64,
}

impl ImportMemory {
    /// Divides `limit` bytes, of which `held` is not available. `pattern` is set if tokens are
    /// found by a regular expression.
    pub(super) fn new(
        held: HeldMemory,
        limit: Option<u64>,
        threads: usize,
        pattern: bool,
    ) -> Result<ImportMemory> {
        let memory = ImportMemory {
            limit: limit.unwrap_or(DEFAULT_MEMORY),
            held,
            wanted_threads: threads.max(1),
            bytes_per_thread: BYTES_PER_THREAD + if pattern { PATTERN_BYTES } else { 0 },
            threads: 1,
            work: 0,
        };
        memory.with_limit(memory.limit).ok_or_else(|| {
            let need = memory.smallest_limit(&|_| true);
            Error::Memory {
                need,
                have: memory.limit,
                remedy: format!("pass {{memory={}}}", mebibytes(need)).into(),
            }
        })
    }

    /// Divides another limit in the same way; returns `None` if it is too small for any import.
    fn with_limit(self, limit: u64) -> Option<ImportMemory> {
        let available = limit.checked_sub(self.held.bytes)?;
        let of_source = self.held.share.map_or(0, |share| available / share);
        let work = available.checked_sub(of_source + limit / SLACK_DIVISOR + FIXED_BYTES)?;
        let threads = work / (MIN_WORKER_BYTES + self.bytes_per_thread);
        if threads == 0 {
            return None;
        }
        let threads = usize::try_from(threads).map_or(self.wanted_threads, |n| n.min(self.wanted_threads));
        let work = work - threads as u64 * self.bytes_per_thread;
        Some(ImportMemory { limit, threads, work, ..self })
    }

    /// Returns the smallest limit in bytes, in whole mebibytes, with which the memory fits.
    pub(super) fn smallest_limit(&self, fits: &dyn Fn(&ImportMemory) -> bool) -> u64 {
        let mut mib = 1u64;
        while mib < 1 << 40 && !self.with_limit(mib << 20).is_some_and(|memory| fits(&memory)) {
            mib += (mib / 64).max(1);
        }
        mib << 20
    }

    /// Returns the error for memory that is too small. `fits` tells whether a division suffices,
    /// and `what` names what needs the memory.
    pub(super) fn refuse(&self, what: &str, others: &str, fits: &dyn Fn(&ImportMemory) -> bool) -> Error {
        let need = self.smallest_limit(fits);
        let remedy = format!("{what}: use {{memory={}}}{others}", mebibytes(need));
        Error::Memory { need, have: self.limit, remedy: remedy.into() }
    }

    /// Returns what `phrases` phrases leave, which is not divided yet.
    fn beside_phrases(self, phrases: u64) -> ImportMemory {
        let bytes = self.held.bytes + BYTES_PER_PHRASE * phrases;
        ImportMemory { held: HeldMemory { bytes, ..self.held }, ..self }
    }

    /// Returns the maximum number of phrases that leave enough memory for an import.
    pub(super) fn max_phrases(&self) -> usize {
        let (mut most, mut step) = (0, 1 << 31);
        while step > 0 {
            if self.beside_phrases(most + step).with_limit(self.limit).is_some() {
                most += step;
            }
            step /= 2;
        }
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Returns the division of what `phrases` phrases leave. If they do not fit, the error states a
    /// limit for which `fits` returns true, which knows more about the input.
    pub(super) fn with_phrases(
        self,
        phrases: u64,
        fits: &dyn Fn(&ImportMemory) -> bool,
    ) -> Result<ImportMemory> {
        let beside = self.beside_phrases(phrases);
        beside
            .with_limit(self.limit)
            .ok_or_else(|| beside.refuse(&format!("{phrases} phrases were found"), "", fits))
    }

    /// Returns the number of worker threads.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the maximum size of the table in which a thread counts words.
    pub(super) fn table_bytes(&self) -> usize {
        (self.work / 4 / self.threads as u64).min(2 << 30) as usize
    }

    /// Returns the maximum size of the table in which a thread remembers word ids.
    pub(super) fn id_table_bytes(&self) -> usize {
        (self.work / 8 / self.threads as u64).min(8 << 20) as usize
    }

    /// Returns the maximum size of the tables of all threads in which they remember word ids.
    pub(super) fn id_tables_bytes(&self) -> u64 {
        (self.id_table_bytes() * self.threads) as u64
    }

    /// Returns the maximum size of the buffered documents and the tables together.
    pub(super) fn buffered_bytes(&self) -> usize {
        usize::try_from(self.work / 8 * 3).unwrap_or(usize::MAX)
    }

    /// Returns the memory for batches in flight while words are counted.
    pub(super) fn counting_bytes(&self, buffering: bool) -> u64 {
        self.work - if buffering { self.work / 8 * 3 } else { self.work / 4 }
    }

    /// Returns the maximum size of the vocabulary and all that grows with it.
    pub(super) fn vocabulary_bytes(&self) -> u64 {
        self.work / 2
    }

    /// Returns the usual size of a batch.
    pub(super) fn batch_bytes(&self) -> usize {
        (self.work / 16).clamp(1 << 17, 1 << 20) as usize
    }

    /// Returns the memory for batches in flight while documents are written: what the vocabulary
    /// and `held` bytes leave.
    pub(super) fn writing_bytes(&self, vocabulary: u64, held: u64) -> u64 {
        self.work.saturating_sub(vocabulary).saturating_sub(held)
    }

    /// Returns the memory for decompressed input that is cached for the next pass.
    pub(super) fn cache_bytes(&self) -> usize {
        (self.work / 16).min(16 << 20) as usize
    }

    /// Returns the error for a document of `batch` that costs more than there is. `fits` tells
    /// whether another division suffices.
    pub(super) fn refuse_document(
        &self,
        reader: Option<&RecordReader>,
        batch: &TextBatch,
        bytes: u64,
        fits: &dyn Fn(&ImportMemory) -> bool,
    ) -> Error {
        let need = self.smallest_limit(fits);
        let first = batch.spans.first();
        let position = match (reader.map(|reader| &reader.format), first) {
            (Some(RecordFormat::Rows(_)), Some(row)) => Position::Row(row.line),
            (Some(RecordFormat::Files { .. }), _) | (_, None) => Position::Whole,
            (_, Some(span)) => Position::Line(span.line),
        };
        let mut path = reader.map_or_else(Default::default, |reader| reader.path.clone());
        if let (Some(SpanKind::Text { name: Some(name), .. }), Some(RecordFormat::Files { .. })) =
            (first.map(|span| &span.kind), reader.map(|reader| &reader.format))
        {
            path.push(name);
        }
        Error::Input {
            path,
            position,
            found: format!(
                "a document of {}, for which {} of memory are needed",
                human_bytes(bytes),
                human_bytes(need)
            ),
            expected: format!("documents that fit into {}, the limit of {{memory}}", human_bytes(self.limit))
                .into(),
            remedy: format!("use {{memory={}}}, or split the document", mebibytes(need)).into(),
        }
    }
}

/// Formats a size in whole mebibytes as users write it.
fn mebibytes(bytes: u64) -> String {
    format!("{}MiB", bytes.div_ceil(1 << 20))
}

/// Returns the bytes of a vocabulary and all that grows with it. `longest` is the length of the
/// longest document in bytes.
pub(super) fn vocabulary_cost(words: u64, text: u64, longest: u64) -> u64 {
    text + BYTES_PER_WORD * words + BYTES_PER_WRITTEN_WORD * words.min(longest / 2)
}

/// Extent of a batch and of its longest record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BatchExtent {
    pub(super) documents: u64,
    /// Length of the longest record in bytes.
    pub(super) longest: u64,
}

impl BatchExtent {
    /// Measures a batch.
    pub(super) fn of(batch: &TextBatch, reader: &RecordReader) -> BatchExtent {
        let (mut documents, mut longest) = (0, 0);
        for span in &batch.spans {
            let bytes = batch.bytes.get(span.bytes.clone()).unwrap_or_default();
            if matches!(span.kind, SpanKind::Text { .. }) {
                documents += 1;
                longest = longest.max(bytes.len());
                continue;
            }
            let expands = matches!(reader.format, RecordFormat::Vowpal);
            let length = |line: &[u8]| if expands { expanded_length(line) } else { line.len() };
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', bytes) {
                documents += 1;
                longest = longest.max(length(&bytes[start..end]));
                start = end + 1;
            }
            documents += u64::from(start < bytes.len());
            longest = longest.max(length(&bytes[start..]));
            if reader.format.ends() != RecordEnds::Lines {
                longest = bytes.len();
            }
        }
        BatchExtent { documents, longest: longest as u64 }
    }
}

/// Returns the length of the text of a line of Vowpal Wabbit, in which words are repeated as often
/// as their counts say.
fn expanded_length(line: &[u8]) -> usize {
    let features = line.split(u8::is_ascii_whitespace);
    let length = |feature: &[u8]| {
        let count = memchr::memrchr(b':', feature)
            .and_then(|at| std::str::from_utf8(&feature[at + 1..]).ok()?.parse::<f64>().ok())
            .map_or(1, |count| count.clamp(1.0, 65_535.0) as usize);
        count * (feature.len() + 1)
    };
    features.map(length).sum::<usize>().min(super::source::MAX_RECORD_BYTES)
}

/// Returns the bytes that a batch takes while a thread turns it into words: the batch itself and
/// the copies of its longest record.
pub(super) fn reading_cost(
    batch: &TextBatch,
    extent: BatchExtent,
    reader: &RecordReader,
    rule: ChunkRule,
) -> u64 {
    let held = batch.bytes.capacity() + batch.spans.capacity() * size_of::<super::source::TextSpan>();
    let longest = extent.longest;
    let copies = if longest <= SHORT_RECORD_BYTES {
        7 * longest
    } else {
        copied_bytes(&batch.bytes, longest, reader) + tokenizing_bytes(&batch.bytes, reader, rule)
    };
    held as u64 + copies
}

/// Returns the bytes of the copies that are made to get at the text of a long record.
fn copied_bytes(bytes: &[u8], longest: u64, reader: &RecordReader) -> u64 {
    let replaced: u64 = if std::str::from_utf8(bytes).is_ok() {
        0
    } else {
        bytes.utf8_chunks().map(|c| c.valid().len() as u64 + if c.invalid().is_empty() { 0 } else { 3 }).sum()
    };
    let text = longest.max(replaced);
    let has = |byte: u8| memchr::memchr(byte, bytes).is_some();
    // Markup is removed in two steps.
    let markup = if (has(b'<') && has(b'>') || has(b'&')) && has_html(bytes) { 2 * text } else { 0 };
    replaced
        + markup
        + match &reader.format {
            RecordFormat::Lines
            | RecordFormat::Mallet
            | RecordFormat::Files { .. }
            | RecordFormat::Rows(_) => 0,
            RecordFormat::Table(table) => {
                let joined = if table.text.len() > 1 { text } else { 0 };
                let unquoted =
                    if table.quotes && memchr::memmem::find(bytes, b"\"\"").is_some() { text } else { 0 };
                // The bytes after the record that were read together with it.
                joined + unquoted + longest / 8
            }
            RecordFormat::Json(json) => {
                let unescaped = if has(b'\\') { text } else { 0 };
                let joined = if json.text.len() > 1 || has(b'[') { text } else { 0 };
                text + unescaped + joined + 40 * memchr::memchr_iter(b',', bytes).count() as u64
            }
            RecordFormat::Vowpal => longest,
        }
}

/// Returns the bytes that the tokenizer needs for a long text: copies in lower case and in normal
/// form of its longest chunk. A long chunk that is not ASCII has no spaces, so that the boundaries
/// of its words come in addition, unless a pattern finds the words.
fn tokenizing_bytes(bytes: &[u8], reader: &RecordReader, rule: ChunkRule) -> u64 {
    let longest = longest_chunk(bytes, rule);
    let is_escaped =
        matches!(reader.format, RecordFormat::Json(_)) && memchr::memmem::find(bytes, b"\\u").is_some();
    let copies = match (bytes.is_ascii() && !is_escaped, longest > CHUNK_BYTES) {
        (true, _) => 1,
        (false, true) if rule != ChunkRule::Nowhere => 11,
        (false, _) => 3,
    };
    copies * longest as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_limit_reduces_the_threads_and_the_stated_minimum_works() {
        let held = HeldMemory { bytes: 10 << 20, share: None };
        for threads in [1, 2, 16, 200] {
            let Err(Error::Memory { need, .. }) = ImportMemory::new(held, Some(1 << 20), threads, false)
            else {
                panic!("too little memory is accepted");
            };
            let memory = ImportMemory::new(held, Some(need), threads, false).unwrap();
            assert_eq!(memory.threads(), 1);
            assert!(ImportMemory::new(held, Some(need - (1 << 20)), threads, false).is_err());
            let large = ImportMemory::new(held, Some(8 << 30), threads, false).unwrap();
            assert_eq!(large.threads(), threads);
            for cost in [1 << 20, 50 << 20, 3 << 30] {
                let fits = |memory: &ImportMemory| memory.counting_bytes(false) >= cost;
                let need = memory.smallest_limit(&fits);
                assert!(fits(&ImportMemory::new(held, Some(need), threads, false).unwrap()));
            }
        }
    }
}
