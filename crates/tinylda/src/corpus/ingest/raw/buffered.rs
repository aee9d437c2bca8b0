//! Documents that the first pass of a text import keeps in memory, so that the text need not be
//! read again. Start with [`BufferedBatches`].

use std::collections::VecDeque;

use super::counter::{NumberedBatch, WordCounter};
use super::encoder::EncodedBatch;
use super::parallel::{ItemSource, NextItem};
use crate::corpus::ingest::words::WordIndex;
use crate::error::{Error, Result};

/// All documents as numbered by the first pass, as long as they fit in memory. They save reading
/// the text again.
#[derive(Default)]
pub(super) struct BufferedBatches {
    batches: VecDeque<NumberedBatch>,
    bytes: usize,
    /// Sizes of the workers' tables in bytes.
    tables: Vec<usize>,
    /// Initial number of batches, and the total of the progress bar.
    all: (u64, Option<u64>),
    counters: Vec<WordCounter>,
    /// Memory in bytes for the batches that are being encoded.
    memory: u64,
}

impl BufferedBatches {
    /// Adds a batch; returns false if the memory exceeds `limit`.
    pub(super) fn push(&mut self, numbered: NumberedBatch, limit: usize) -> bool {
        self.bytes += numbered.bytes();
        self.tables.resize(self.tables.len().max(numbered.worker + 1), 0);
        self.tables[numbered.worker] = numbered.table;
        self.batches.push_back(numbered);
        self.bytes + self.tables.iter().sum::<usize>() <= limit
    }

    /// Ends the counting, which `counters` did, and prepares reading the batches. `total` is the
    /// final value of the progress bar.
    pub(super) fn start_reading(&mut self, counters: Vec<WordCounter>, total: Option<u64>) {
        self.all = (self.batches.len() as u64, total);
        self.counters = counters;
    }

    /// Returns the memory of the batches and of the word ids of all numbers, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let numbers: usize = self.counters.iter().map(|counter| counter.numbering.words.strings.len()).sum();
        (self.bytes + size_of::<u32>() * numbers) as u64
    }

    /// Returns the word ids of all numbers and frees the tables. `memory` is the memory for the
    /// batches that are being encoded.
    pub(super) fn word_id_maps(&mut self, index: &WordIndex<'_>, memory: u64) -> WordIdMaps {
        self.memory = memory;
        WordIdMaps(std::mem::take(&mut self.counters).into_iter().map(|counter| counter.ids(index)).collect())
    }
}

impl ItemSource for BufferedBatches {
    type Item = NumberedBatch;

    fn next(&mut self, item: &mut NumberedBatch, _memory: u64) -> Result<NextItem> {
        let next = self.batches.pop_front();
        let any = next.is_some();
        *item = next.unwrap_or_default();
        Ok(if any { NextItem::Ready } else { NextItem::End })
    }

    /// A batch is never too large: there is memory for it, since the counting has ended.
    fn cost(&self, item: &NumberedBatch) -> u64 {
        let encoded = 2 * size_of::<u32>() * item.words.len() + size_of::<usize>() * item.ends.len();
        self.memory.min(encoded as u64)
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn refuse(&mut self, _item: Option<(&NumberedBatch, u64)>) -> Error {
        Error::Interrupted
    }

    fn progress(&self) -> (u64, Option<u64>) {
        let (batches, total) = self.all;
        let done = batches - self.batches.len() as u64;
        let share = done as f64 / batches.max(1) as f64;
        (total.map_or(0, |total| (total as f64 * share) as u64), total)
    }
}

/// Word ids of the numbers of every worker.
pub(super) struct WordIdMaps(Vec<Vec<u32>>);

impl WordIdMaps {
    pub(super) fn encode(&self, numbered: &mut NumberedBatch) -> EncodedBatch {
        EncodedBatch::from_numbered(numbered, &self.0[numbered.worker])
    }
}
