//! Batches of text as items of the parallel passes, within the memory of the import.
//!
//! Start with [`TextItems`].

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::buffered::BufferedBatches;
use super::memory::{BatchExtent, ImportMemory, MAX_COLLECTED_IDS, reading_cost};
use super::parallel::{ItemSource, NextItem};
use super::readers::RecordReaders;
use super::records::RecordReader;
use super::source::{MIN_BATCH_BYTES, MIN_BYTES_PER_RECORD, MeasuredRecord, TextBatch, TextSource};
use crate::corpus::ingest::words::ChunkRule;
use crate::error::{Error, Result};

/// Bytes of a numbered document besides its words: its end and its metadata.
const NUMBERED_DOCUMENT_BYTES: u64 = 48;
/// Bytes of an encoded document besides its words.
const ENCODED_DOCUMENT_BYTES: u64 = 64;

/// What a pass over the text does, with the memory that its results take.
pub(super) enum TextPass<'a> {
    /// Counts words and buffers the documents while `buffering` is set.
    Counting { buffering: &'a AtomicBool, buffered: &'a RefCell<BufferedBatches> },
    /// Writes documents of a vocabulary with `words` words. `memory` is left for batches in flight.
    Writing { words: u64, memory: u64 },
}

/// Batches of a text source.
pub(super) struct TextItems<'a> {
    pub(super) source: &'a mut dyn TextSource,
    pub(super) readers: &'a RecordReaders,
    pub(super) memory: &'a ImportMemory,
    /// Where long texts are cut into chunks.
    pub(super) chunk_rule: ChunkRule,
    pub(super) pass: TextPass<'a>,
    /// Extent of the longest record so far.
    pub(super) longest: &'a mut LongestRecord,
}

/// Longest record of a source and what it costs to read it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LongestRecord {
    pub(super) bytes: u64,
    pub(super) cost: u64,
}

impl LongestRecord {
    /// Returns whether the record can be written beside a vocabulary of `words` words that takes
    /// `vocabulary` bytes.
    pub(super) fn fits_beside(&self, words: u64, vocabulary: u64, memory: &ImportMemory) -> bool {
        let extent = BatchExtent { documents: 1, longest: self.bytes };
        let writing = self.cost + encoded_bytes(self.bytes, extent, words);
        vocabulary <= memory.vocabulary_bytes()
            && writing <= memory.writing_bytes(vocabulary, memory.id_tables_bytes())
    }
}

/// Returns the most bytes that the documents of a batch take as word ids and counts.
fn encoded_bytes(bytes: u64, extent: BatchExtent, words: u64) -> u64 {
    let distinct = (bytes / 2).min(words.saturating_mul(extent.documents));
    let collected = (2 * extent.longest).min(4 * MAX_COLLECTED_IDS as u64);
    let counted = 8 * words.min(extent.longest / 2);
    8 * distinct + collected + counted + ENCODED_DOCUMENT_BYTES * extent.documents
}

impl TextItems<'_> {
    /// Returns the reader of a batch, whose records all come from one source.
    fn reader(&self, batch: &TextBatch) -> Option<&RecordReader> {
        self.readers.of(batch.spans.first()?.source)
    }

    /// Returns the bytes that it takes to read the records of a batch of this extent.
    fn reading_cost(&self, batch: &TextBatch, extent: BatchExtent) -> u64 {
        self.reader(batch).map_or(0, |reader| reading_cost(batch, extent, reader, self.chunk_rule))
    }

    fn extent(&self, batch: &TextBatch) -> BatchExtent {
        self.reader(batch).map_or(BatchExtent::default(), |reader| BatchExtent::of(batch, reader))
    }

    fn pass_cost(&self, batch: &TextBatch, extent: BatchExtent) -> u64 {
        let bytes = batch.bytes.len() as u64;
        match self.pass {
            TextPass::Counting { buffering, .. } => {
                let numbers = if buffering.load(Ordering::Relaxed) { bytes } else { 0 };
                numbers + NUMBERED_DOCUMENT_BYTES * extent.documents
            }
            TextPass::Writing { words, .. } => encoded_bytes(bytes, extent, words),
        }
    }

    /// Returns the error for a record of `length` bytes that costs `cost` bytes in this pass.
    fn refuse_record(&self, position: &TextBatch, length: u64, cost: u64) -> Error {
        self.memory.refuse_document(self.reader(position), position, length, &|memory| match self.pass {
            TextPass::Counting { .. } => memory.counting_bytes(true) >= cost,
            TextPass::Writing { memory: left, .. } => {
                memory.writing_bytes(0, 0) >= self.memory.writing_bytes(0, 0).saturating_sub(left) + cost
            }
        })
    }

    /// Reads the first batch, from which the language is detected. Its size does not depend on the
    /// memory, since the language must not. Returns whether there is a batch.
    pub(super) fn sample(&mut self, batch: &mut TextBatch) -> Result<bool> {
        let memory = self.memory();
        batch.max_bytes = usize::try_from(memory).unwrap_or(usize::MAX);
        if !self.source.next(batch)? {
            return Ok(false);
        }
        if batch.needs_memory {
            return Err(self.refuse(None));
        }
        let cost = self.cost(batch);
        if cost > memory { Err(self.refuse(Some((&*batch, cost)))) } else { Ok(true) }
    }

    /// Returns a sample to its source.
    pub(super) fn put_back(&mut self, batch: TextBatch) -> Result<()> {
        if self.extent(&batch).documents > (self.memory.batch_bytes() / MIN_BYTES_PER_RECORD) as u64 {
            // The sample is larger than a batch may be.
            return self.source.rewind();
        }
        self.source.put_back(batch)
    }

    /// Fills a batch within the memory of the pass.
    fn fill(&mut self, batch: &mut TextBatch, memory: u64) -> Result<NextItem> {
        batch.enough_bytes = self.memory.batch_bytes().min(MIN_BATCH_BYTES);
        batch.enough_records = batch.enough_bytes / MIN_BYTES_PER_RECORD;
        batch.max_bytes = usize::try_from(memory).unwrap_or(usize::MAX);
        if batch.max_bytes < 2 * batch.enough_bytes {
            return Ok(NextItem::NeedsMemory);
        }
        Ok(match self.source.next(batch)? {
            false => NextItem::End,
            true if batch.needs_memory => NextItem::NeedsMemory,
            true => NextItem::Ready,
        })
    }
}

impl ItemSource for TextItems<'_> {
    type Item = TextBatch;

    fn next(&mut self, batch: &mut TextBatch, memory: u64) -> Result<NextItem> {
        let next = self.fill(batch, memory)?;
        if next == NextItem::Ready {
            let extent = self.extent(batch);
            if extent.longest > self.longest.bytes {
                let cost = self.reading_cost(batch, extent);
                *self.longest = LongestRecord { bytes: extent.longest, cost: cost.max(self.longest.cost) };
            }
        }
        Ok(next)
    }

    fn cost(&self, batch: &TextBatch) -> u64 {
        let extent = self.extent(batch);
        let cost = self.reading_cost(batch, extent) + self.pass_cost(batch, extent);
        // A batch of short records is never refused, since it is as small as the memory requires.
        if extent.longest <= self.memory.batch_bytes() as u64 / 4 { cost.min(self.memory()) } else { cost }
    }

    /// Keeps buffers of the usual size.
    fn spare_bytes(&self, batch: &TextBatch) -> Option<u64> {
        let bytes = batch.bytes.capacity();
        (bytes <= 2 * MIN_BATCH_BYTES).then_some(bytes as u64)
    }

    fn memory(&self) -> u64 {
        match self.pass {
            TextPass::Counting { buffering, .. } => {
                self.memory.counting_bytes(buffering.load(Ordering::Relaxed))
            }
            TextPass::Writing { memory, .. } => memory,
        }
    }

    /// Drops the buffered documents: the text is then read again.
    fn free_memory(&mut self) -> bool {
        match self.pass {
            TextPass::Counting { buffering, buffered } if buffering.load(Ordering::Relaxed) => {
                buffering.store(false, Ordering::Relaxed);
                buffered.take();
                true
            }
            _ => false,
        }
    }

    fn refuse(&mut self, item: Option<(&TextBatch, u64)>) -> Error {
        if let Some((batch, cost)) = item {
            let length = self.extent(batch).longest;
            return self.refuse_record(batch, length, cost);
        }
        match self.source.measure_record() {
            Err(error) => error,
            Ok(MeasuredRecord { length, reading, held, start }) => {
                // The beginning of the record tells what the rest of it will cost.
                let sample = start.bytes.len() as u64;
                let extent = BatchExtent { documents: 1, longest: sample };
                let copies =
                    if sample == 0 { 0 } else { self.reading_cost(&start, extent).saturating_sub(sample) };
                let copies = copies as f64 / sample.max(1) as f64 * length as f64;
                let processing = held + copies as u64 + self.pass_cost(&start, extent);
                let cost = reading.max(processing);
                self.refuse_record(&start, length, cost)
            }
        }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.source.progress()
    }
}
