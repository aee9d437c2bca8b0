//! First pass of a text import: the threads number and count the words of documents.
//!
//! Start with [`WordCounter`]. Files and the order of batches are handled by the parent module.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::encoder::NOT_IN_VOCABULARY;
use super::metadata::BatchMetadata;
use super::numbering::{TokenEntry, TokenNumbering, WordSink, WordTable, new_entry};
use super::parallel::HeldResult;
use super::readers::RecordReaders;
use super::source::TextBatch;
use crate::corpus::ingest::words::{
    CountRuns, DropReason, DroppedTokens, StringTable, TermCount, Tokenizer, WordIndex, chunks,
    write_phrase_key,
};
use crate::error::Result;

/// Batch of documents as word numbers of a worker's table.
#[derive(Debug, Default)]
pub(super) struct NumberedBatch {
    pub(super) worker: usize,
    pub(super) metadata: BatchMetadata,
    pub(super) words: Vec<u32>,
    /// End of each document in `words`.
    pub(super) ends: Vec<usize>,
    /// Size of the worker's table in bytes.
    pub(super) table: usize,
}

impl NumberedBatch {
    /// Returns the memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<NumberedBatch>()
            + self.metadata.bytes()
            + 4 * self.words.capacity()
            + size_of::<usize>() * self.ends.capacity()
    }
}

impl HeldResult for NumberedBatch {
    fn held_bytes(&self) -> u64 {
        self.bytes() as u64
    }
}

/// What the threads share while they count words.
pub(super) struct CountingContext<'a> {
    pub(super) readers: &'a RecordReaders,
    pub(super) tokenizer: &'a Tokenizer,
    pub(super) runs: &'a Mutex<CountRuns>,
    /// Whether documents are buffered.
    pub(super) buffering: &'a AtomicBool,
}

/// State of the counting of a document.
#[derive(Default)]
struct DocumentCounting {
    /// Previous word, for pairs.
    before: Option<u32>,
    /// Whether the document is counted already.
    started: bool,
    /// Words of the document so far, if the table was emptied inside of it.
    parts: Option<CountRuns>,
}

/// Counts of a worker besides those of the words in its table.
struct CountingTotals {
    pairs: bool,
    /// Number of the current document since the table was last emptied.
    document_in_table: u32,
    dropped: [u64; DropReason::COUNT],
    /// Numbers of tokens of the stop words, except those that are still in the table.
    stop_words: BTreeMap<String, u64>,
    /// Key of a pair of words.
    key: Vec<u8>,
}

impl CountingTotals {
    /// Counts a token of a word.
    fn add(&self, strings: &mut StringTable<TokenEntry>, number: u32) {
        let entry = strings.value_mut(number);
        entry.tokens += 1;
        if entry.last != self.document_in_table {
            entry.last = self.document_in_table;
            entry.documents += 1;
        }
    }
}

/// Counts the words of a document.
struct CountingSink<'a, N> {
    totals: &'a mut CountingTotals,
    document: &'a mut DocumentCounting,
    context: &'a CountingContext<'a>,
    /// Receives the number of each word while documents are buffered.
    numbers: Option<N>,
}

impl<N: FnMut(u32)> WordSink for CountingSink<'_, N> {
    fn push(&mut self, words: &mut WordTable, word: Result<u32, usize>) {
        let strings = &mut words.strings;
        match word {
            Ok(word) => {
                self.totals.add(strings, word);
                if let Some(number) = &mut self.numbers {
                    number(word);
                }
            }
            Err(reason) => self.totals.dropped[reason] += 1,
        }
        if self.totals.pairs {
            if let (Some(first), Ok(word)) = (self.document.before, word) {
                let key = &mut self.totals.key;
                write_phrase_key(strings.string(first), strings.string(word), key);
                let number = strings.intern(key, new_entry);
                self.totals.add(strings, number);
            }
            self.document.before = word.ok();
        }
    }

    /// Writes the counts to disk and empties the table. Inside of a document, the words of the
    /// document go to its `parts`, so that the document is counted once for each of them.
    fn empty(&mut self, words: &mut WordTable) -> Result<()> {
        let CountingSink { totals, document, context, numbers } = self;
        context.buffering.store(false, Ordering::Relaxed);
        *numbers = None;
        let mut runs = context.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if document.started {
            let current = totals.document_in_table;
            let in_document = |entry: &TokenEntry| u64::from(entry.last == current && entry.tokens > 0);
            let parts = document.parts.get_or_insert_with(|| runs.empty_copy());
            let once = |entry: &TokenEntry| TermCount { tokens: 0, documents: in_document(entry) };
            parts.add_table(&words.strings, false, once)?;
            runs.add_table(&words.strings, false, |entry| {
                let count = term_count(entry);
                TermCount { documents: count.documents - in_document(entry), ..count }
            })?;
        } else {
            runs.add_table(&words.strings, false, term_count)?;
        }
        drop(runs);
        words.add_stop_words(&mut totals.stop_words);
        document.before = words.clear(document.before);
        totals.document_in_table = u32::from(document.started);
        Ok(())
    }
}

/// Counter of the words of documents.
pub(super) struct WordCounter {
    pub(super) numbering: TokenNumbering,
    totals: CountingTotals,
    worker: usize,
    limit: usize,
    replaced: u64,
    pub(super) documents: u64,
}

impl WordCounter {
    /// Creates a counter whose table goes to disk before it exceeds `limit` bytes.
    pub(super) fn new(worker: usize, pairs: bool, limit: usize) -> WordCounter {
        let totals = CountingTotals {
            pairs,
            document_in_table: 0,
            dropped: [0; DropReason::COUNT],
            stop_words: BTreeMap::new(),
            key: Vec::new(),
        };
        WordCounter {
            numbering: TokenNumbering::new(limit),
            totals,
            worker,
            limit,
            replaced: 0,
            documents: 0,
        }
    }

    /// Counts the words of a batch and returns the batch as word numbers while documents are
    /// buffered. Writing a table to disk ends the buffering, since the numbers start again from 0.
    pub(super) fn count_batch(
        &mut self,
        batch: &TextBatch,
        context: &CountingContext<'_>,
    ) -> Result<NumberedBatch> {
        let mut numbered = NumberedBatch { worker: self.worker, ..NumberedBatch::default() };
        // The numbers may take as many bytes as the text; shorter words are rare.
        let max_words = batch.bytes.len().max(1 << 16) / size_of::<u32>();
        for span in &batch.spans {
            context.readers.for_each(&batch.bytes[span.bytes.clone()], span, &mut |record, replaced| {
                self.replaced += u64::from(replaced);
                let words = &mut numbered.words;
                self.count_document(&record.text, context, |word| {
                    if words.len() < max_words {
                        words.push(word);
                    } else {
                        context.buffering.store(false, Ordering::Relaxed);
                    }
                })?;
                if context.buffering.load(Ordering::Relaxed) {
                    numbered.ends.push(numbered.words.len());
                    numbered.metadata.push(&record);
                } else {
                    numbered = NumberedBatch::default();
                }
                Ok(())
            })?;
        }
        numbered.words.shrink_to_fit();
        numbered.table = self.numbering.words.strings.bytes_with_growth();
        Ok(numbered)
    }

    /// Counts the words of a document. Calls `number` with the number of each word while documents
    /// are buffered.
    fn count_document(
        &mut self,
        text: &str,
        context: &CountingContext<'_>,
        number: impl FnMut(u32),
    ) -> Result<()> {
        let WordCounter { numbering, totals, .. } = self;
        let mut document = DocumentCounting::default();
        let is_full = numbering.words.is_full_for(text.len(), totals.pairs);
        let numbers = context.buffering.load(Ordering::Relaxed).then_some(number);
        let mut sink = CountingSink { totals, document: &mut document, context, numbers };
        if is_full {
            sink.empty(&mut numbering.words)?;
        }
        self.documents += 1;
        sink.totals.document_in_table += 1;
        sink.document.started = true;
        for chunk in chunks(text, context.tokenizer.chunk_rule()) {
            numbering.for_each_word(chunk, context.tokenizer, &|_| false, &mut sink)?;
        }
        numbering.finish_text(&mut sink);
        if sink.document.parts.is_some() {
            sink.empty(&mut numbering.words)?;
            let mut runs = context.runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.add_document(sink.document.parts.take())?;
        }
        Ok(())
    }

    /// Passes the remaining counts to `runs` and the numbers of dropped tokens to `dropped`. Frees
    /// the table unless `keep_table` is set.
    pub(super) fn finish(
        &mut self,
        runs: &mut CountRuns,
        dropped: &mut DroppedTokens,
        keep_table: bool,
    ) -> Result<()> {
        dropped.tokens += self.numbering.words.tokens;
        dropped.replaced += self.replaced;
        add_reasons(&self.totals.dropped, dropped);
        runs.add_table(&self.numbering.words.strings, true, term_count)?;
        if !keep_table {
            self.numbering = TokenNumbering::new(self.limit);
        }
        Ok(())
    }

    /// Adds the numbers of tokens of every stop word to `counts`.
    pub(super) fn add_stop_words(&self, counts: &mut BTreeMap<String, u64>) {
        for (word, count) in &self.totals.stop_words {
            *counts.entry(word.clone()).or_default() += count;
        }
        self.numbering.words.add_stop_words(counts);
    }

    /// Returns the word id of every number.
    pub(super) fn ids(self, index: &WordIndex<'_>) -> Vec<u32> {
        let table = &self.numbering.words.strings;
        (0..table.len() as u32)
            .map(|number| index.id(table.string(number)).unwrap_or(NOT_IN_VOCABULARY))
            .collect()
    }
}

/// Returns the counts of a word; zero for a string that is no word.
fn term_count(entry: &TokenEntry) -> TermCount {
    TermCount { tokens: entry.tokens.into(), documents: entry.documents.into() }
}

pub(super) fn add_reasons(reasons: &[u64; DropReason::COUNT], dropped: &mut DroppedTokens) {
    dropped.short += reasons[DropReason::Short as usize];
    dropped.long += reasons[DropReason::Long as usize];
    dropped.numbers += reasons[DropReason::Number as usize];
    dropped.stop += reasons[DropReason::Stop as usize];
    dropped.noise += reasons[DropReason::Noise as usize];
}
