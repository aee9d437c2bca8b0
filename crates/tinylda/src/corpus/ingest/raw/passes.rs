//! Work of the threads on batches: number and count the words of documents, and map the numbers to
//! word ids.
//!
//! Start with [`WordCounter`] for the first pass and [`DocumentEncoder`] for the second. Files and
//! the order of batches are handled by the parent module.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::memory::{MAX_COLLECTED_IDS, chunks};
use super::parallel::{HeldResult, ItemSource, NextItem};
use super::readers::RecordReaders;
use super::records::{Record, RecordDate};
use super::source::TextBatch;
use crate::corpus::ingest::ImportedDates;
use crate::corpus::ingest::words::{
    CountRuns, DropReason, DroppedTokens, StringTable, TermCount, Tokenizer, TokenizerBuffer, WordIndex,
    join_phrase, write_phrase_key,
};
use crate::corpus::{Details, DocumentLabels, LabelTable, TextPlace, Vocabulary};
use crate::error::{Error, Result};

/// State of a string while words are counted. A token may map to another word, such as its stem,
/// and be a word itself.
#[derive(Debug, Clone, Copy)]
struct TokenEntry {
    /// Number of the word that the token maps to, or one of the special values below.
    target: u32,
    tokens: u32,
    /// Number of documents of a word, or number of tokens of a dropped token.
    documents: u32,
    /// Last document in which the string was seen.
    last: u32,
}

/// Target of a token that has not been mapped to a word yet.
const UNRESOLVED: u32 = u32::MAX;
/// Target of a dropped token: this value minus the number of its [`DropReason`].
const FIRST_DROPPED: u32 = u32::MAX - 1;

fn new_entry() -> TokenEntry {
    TokenEntry { target: UNRESOLVED, tokens: 0, documents: 0, last: 0 }
}

/// Assigns numbers to the words of texts.
struct TokenNumbering {
    table: StringTable<TokenEntry>,
    cut: TokenizerBuffer,
    key: Vec<u8>,
    /// Number of tokens, including dropped ones.
    tokens: u64,
    /// Previous word, which may still become part of a phrase, and whether it is a phrase.
    before: Option<(u32, bool)>,
}

impl TokenNumbering {
    fn new() -> TokenNumbering {
        TokenNumbering {
            table: StringTable::new(),
            cut: TokenizerBuffer::default(),
            key: Vec::new(),
            tokens: 0,
            before: None,
        }
    }

    /// Removes all words except `kept` and the previous word of the text. Returns the new number of
    /// `kept`. Frees the table if it has more than `limit` bytes.
    fn clear_table(&mut self, kept: Option<u32>, limit: usize) -> Option<u32> {
        let TokenNumbering { table, before, .. } = self;
        let string = |number| table.string(number).to_vec();
        let (kept, last) = (kept.map(string), before.map(|(number, joined)| (string(number), joined)));
        if table.bytes() > limit {
            *table = StringTable::new();
        } else {
            table.clear();
        }
        *before = last.map(|(word, joined)| (table.intern(&word, new_entry), joined));
        kept.map(|word| table.intern(&word, new_entry))
    }

    /// Returns the memory of the table after the words of a text of `bytes` bytes have been added,
    /// including what it takes to grow.
    fn bytes_after(&self, bytes: usize, pairs: bool) -> usize {
        let words = bytes / 2 + 1;
        if pairs {
            self.table.bytes_after(2 * words, 4 * bytes)
        } else {
            self.table.bytes_after(words, bytes)
        }
    }

    /// Calls `each` with the last word of a text, if it was kept back as the first word of a
    /// phrase.
    fn finish_text(&mut self, each: &mut impl FnMut(&mut StringTable<TokenEntry>, Result<u32, usize>)) {
        if let Some((first, _)) = self.before.take() {
            each(&mut self.table, Ok(first));
        }
        self.cut.free_long_text();
    }

    /// Calls `each` with the number of every word of a chunk of text in order, or with the number
    /// of the reason why a token is dropped. A token for which `known` returns true is a word
    /// without further changes. After the last chunk of a text comes
    /// [`finish_text`](TokenNumbering::finish_text).
    fn for_each_word(
        &mut self,
        text: &str,
        tokenizer: &Tokenizer,
        known: &impl Fn(&[u8]) -> bool,
        each: &mut impl FnMut(&mut StringTable<TokenEntry>, Result<u32, usize>),
    ) {
        let TokenNumbering { table, cut, key, tokens, before } = self;
        let has_phrases = tokenizer.has_phrases();
        tokenizer.for_each_token(text, cut, &mut |token| {
            *tokens += 1;
            let word = resolve_word(table, tokenizer, token, known);
            if !has_phrases {
                return each(table, word);
            }
            match (before.take(), word) {
                (Some((first, joined)), Ok(second))
                    if tokenizer.is_phrase(table.string(first), table.string(second), key) =>
                {
                    join_phrase(key);
                    let number = table.intern(key, new_entry);
                    if joined || tokenizer.max_phrase_words() < 3 {
                        each(table, Ok(number));
                    } else {
                        *before = Some((number, true));
                    }
                }
                (first, word) => {
                    if let Some((first, _)) = first {
                        each(table, Ok(first));
                    }
                    match word {
                        Ok(word) => *before = Some((word, false)),
                        reason => each(table, reason),
                    }
                }
            }
        });
    }

    /// Adds the numbers of tokens of every stop word in the table to `counts`.
    fn add_stop_words(&self, counts: &mut BTreeMap<String, u64>) {
        for number in 0..self.table.len() as u32 {
            let entry = self.table.value(number);
            if entry.target == FIRST_DROPPED - DropReason::Stop as u32 && entry.documents > 0 {
                let word = String::from_utf8_lossy(self.table.string(number)).into_owned();
                *counts.entry(word).or_default() += u64::from(entry.documents);
            }
        }
    }
}

/// Returns the number of the word that a token maps to, or the number of the reason why it is
/// dropped. The mapping is computed once per token.
#[inline]
fn resolve_word(
    table: &mut StringTable<TokenEntry>,
    tokenizer: &Tokenizer,
    token: &[u8],
    known: &impl Fn(&[u8]) -> bool,
) -> Result<u32, usize> {
    let number = table.intern(token, new_entry);
    let mut target = table.value(number).target;
    if target == UNRESOLVED {
        target = match tokenizer.to_word(token) {
            _ if known(token) => number,
            Ok(word) if *word == *token => number,
            Ok(word) => table.intern(&word, new_entry),
            Err(reason) => FIRST_DROPPED - reason as u32,
        };
        table.value_mut(number).target = target;
    }
    if target > FIRST_DROPPED - DropReason::COUNT as u32 {
        // A dropped token has no documents: the field counts its tokens instead.
        table.value_mut(number).documents += 1;
        Err((FIRST_DROPPED - target) as usize)
    } else {
        Ok(target)
    }
}

/// Metadata of a batch of documents: names, labels, dates, and positions and checksums of the
/// texts.
#[derive(Debug, Default)]
pub(super) struct BatchMetadata {
    pub(super) names: Vocabulary,
    pub(super) labels: LabelTable,
    pub(super) dates: Vocabulary,
    /// Indices in the batch of documents whose date cannot be read.
    pub(super) unreadable_dates: Vec<u32>,
    pub(super) places: Vec<TextPlace>,
    pub(super) checksums: Vec<u32>,
}

impl BatchMetadata {
    fn push(&mut self, record: &Record<'_>) {
        if let Some(name) = &record.name {
            self.names.push(name);
        }
        self.labels.push_columns(record.labels.iter().map(|values| values.iter().map(|value| &**value)));
        if let Some(date) = &record.date {
            self.dates.push(if let RecordDate::Known(date) = date { date } else { "" });
            if *date == RecordDate::Unreadable {
                self.unreadable_dates.push(self.places.len() as u32);
            }
        }
        self.places.push(record.place);
        self.checksums.push(record.checksum);
    }

    /// Returns the details of document `i` of the batch. `labels` are its labels.
    pub(super) fn details<'a>(&'a self, i: usize, labels: &'a [Vec<&'a str>]) -> Details<'a> {
        Details {
            name: self.names.get(i as u32),
            labels: DocumentLabels::Columns(labels),
            date: self.dates.get(i as u32),
            place: self.places.get(i).copied(),
            checksum: self.checksums.get(i).copied(),
            tokens_unknown: None,
        }
    }

    /// Adds the dates of the batch to `dates`. `before` is the number of documents before it.
    pub(super) fn count_dates(&self, before: u64, dates: &mut ImportedDates) {
        let known = self.dates.iter().filter(|date| !date.is_empty()).count() as u64;
        let unreadable = self.unreadable_dates.len() as u64;
        dates.known += known;
        dates.unreadable += unreadable;
        dates.missing += self.dates.len() as u64 - known - unreadable;
        if let Some(&first) = self.unreadable_dates.first().filter(|_| dates.first_unreadable == 0) {
            dates.first_unreadable = before + u64::from(first) + 1;
        }
    }

    /// Returns the memory in bytes.
    fn bytes(&self) -> usize {
        let strings = |v: &Vocabulary| v.parts().0.len() + size_of_val(v.parts().1);
        strings(&self.names)
            + strings(&self.dates)
            + self.labels.memory_bytes()
            + size_of::<TextPlace>() * self.places.capacity()
            + size_of::<u32>() * (self.checksums.capacity() + self.unreadable_dates.capacity())
    }
}

/// Batch of documents as word numbers of a worker's table.
#[derive(Debug, Default)]
pub(super) struct NumberedBatch {
    worker: usize,
    metadata: BatchMetadata,
    words: Vec<u32>,
    /// End of each document in `words`.
    ends: Vec<usize>,
    /// Size of the worker's table in bytes.
    table: usize,
}

impl NumberedBatch {
    /// Returns the memory in bytes.
    fn bytes(&self) -> usize {
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
    /// Whether long texts are tokenized in chunks.
    pub(super) chunked: bool,
    pub(super) runs: &'a Mutex<CountRuns>,
    /// Whether documents are buffered.
    pub(super) buffering: &'a AtomicBool,
}

/// State of the counting of a document.
struct DocumentCounting {
    /// Previous word, for pairs.
    before: Option<u32>,
    /// Whether the document is counted already.
    started: bool,
    /// Words of the document so far, if the table was emptied inside of it.
    parts: Option<CountRuns>,
}

/// Counter of the words of documents.
pub(super) struct WordCounter {
    numbering: TokenNumbering,
    worker: usize,
    pairs: bool,
    limit: usize,
    document_in_table: u32,
    /// Number of tokens when the table was last emptied. Counts have 32 bits, so the table must be
    /// emptied in time.
    emptied: u64,
    dropped: [u64; DropReason::COUNT],
    /// Numbers of tokens of the stop words, except those that are still in the table.
    stop_words: BTreeMap<String, u64>,
    replaced: u64,
    pub(super) documents: u64,
}

impl WordCounter {
    /// Creates a counter whose table goes to disk when it exceeds `limit` bytes.
    pub(super) fn new(worker: usize, pairs: bool, limit: usize) -> WordCounter {
        WordCounter {
            numbering: TokenNumbering::new(),
            worker,
            pairs,
            limit,
            document_in_table: 0,
            emptied: 0,
            dropped: [0; DropReason::COUNT],
            stop_words: BTreeMap::new(),
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
                self.count_document(&record.text, context, &mut |word| {
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
        numbered.table = self.numbering.table.bytes_with_growth();
        Ok(numbered)
    }

    /// Counts the words of a document. Calls `number` with the number of each word while documents
    /// are buffered.
    fn count_document(
        &mut self,
        text: &str,
        context: &CountingContext<'_>,
        number: &mut dyn FnMut(u32),
    ) -> Result<()> {
        let mut document = DocumentCounting { before: None, started: false, parts: None };
        for chunk in chunks(text, context.chunked) {
            let after = self.numbering.bytes_after(chunk.len(), self.pairs);
            if after > self.limit || self.numbering.tokens - self.emptied > 1 << 31 {
                self.empty_table(&mut document, context)?;
            }
            if !std::mem::replace(&mut document.started, true) {
                self.documents += 1;
                self.document_in_table += 1;
            }
            self.count_chunk(Some(chunk), context, &mut document.before, number);
        }
        self.count_chunk(None, context, &mut document.before, number);
        if document.parts.is_some() {
            self.empty_table(&mut document, context)?;
            let mut runs = context.runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.add_document(document.parts.take())?;
        }
        Ok(())
    }

    /// Counts the words of a chunk of a document, or its last word.
    fn count_chunk(
        &mut self,
        chunk: Option<&str>,
        context: &CountingContext<'_>,
        before: &mut Option<u32>,
        number: &mut dyn FnMut(u32),
    ) {
        let buffers = context.buffering.load(Ordering::Relaxed);
        let WordCounter { numbering, dropped, pairs, document_in_table, .. } = self;
        let add = |table: &mut StringTable<TokenEntry>, number: u32| {
            let entry = table.value_mut(number);
            entry.tokens += 1;
            if entry.last != *document_in_table {
                entry.last = *document_in_table;
                entry.documents += 1;
            }
        };
        let mut key = Vec::new();
        let mut count = |table: &mut StringTable<TokenEntry>, word: Result<u32, usize>| {
            match word {
                Ok(word) => {
                    add(table, word);
                    if buffers {
                        number(word);
                    }
                }
                Err(reason) => dropped[reason] += 1,
            }
            if *pairs {
                if let (Some(first), Ok(word)) = (*before, word) {
                    write_phrase_key(table.string(first), table.string(word), &mut key);
                    let number = table.intern(&key, new_entry);
                    add(table, number);
                }
                *before = word.ok();
            }
        };
        match chunk {
            Some(chunk) => numbering.for_each_word(chunk, context.tokenizer, &|_| false, &mut count),
            None => numbering.finish_text(&mut count),
        }
    }

    /// Writes the counts to disk and empties the table. Inside of a document, the words of the
    /// document go to its `parts`, so that the document is counted once for each of them.
    fn empty_table(&mut self, document: &mut DocumentCounting, context: &CountingContext<'_>) -> Result<()> {
        context.buffering.store(false, Ordering::Relaxed);
        let mut runs = context.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let table = &self.numbering.table;
        if document.started {
            let current = self.document_in_table;
            let in_document = |entry: &TokenEntry| u64::from(entry.last == current && entry.tokens > 0);
            let parts = document.parts.get_or_insert_with(|| runs.empty_copy());
            parts.add_table(table, false, |entry| TermCount { tokens: 0, documents: in_document(entry) })?;
            runs.add_table(table, false, |entry| {
                let count = term_count(entry);
                TermCount { documents: count.documents - in_document(entry), ..count }
            })?;
        } else {
            runs.add_table(table, false, term_count)?;
        }
        drop(runs);
        self.numbering.add_stop_words(&mut self.stop_words);
        document.before = self.numbering.clear_table(document.before, self.limit);
        self.emptied = self.numbering.tokens;
        self.document_in_table = u32::from(document.started);
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
        dropped.tokens += self.numbering.tokens;
        dropped.replaced += self.replaced;
        add_reasons(&self.dropped, dropped);
        runs.add_table(&self.numbering.table, true, term_count)?;
        if !keep_table {
            self.numbering = TokenNumbering::new();
        }
        Ok(())
    }

    /// Adds the numbers of tokens of every stop word to `counts`.
    pub(super) fn add_stop_words(&self, counts: &mut BTreeMap<String, u64>) {
        for (word, count) in &self.stop_words {
            *counts.entry(word.clone()).or_default() += count;
        }
        self.numbering.add_stop_words(counts);
    }

    /// Returns the word id of every number.
    fn ids(self, index: &WordIndex<'_>) -> Vec<u32> {
        let table = &self.numbering.table;
        (0..table.len() as u32)
            .map(|number| index.id(table.string(number)).unwrap_or(NOT_IN_VOCABULARY))
            .collect()
    }
}

/// Returns the counts of a word; zero for a dropped token, which is no word.
fn term_count(entry: &TokenEntry) -> TermCount {
    if entry.tokens == 0 {
        return TermCount::default();
    }
    TermCount { tokens: entry.tokens.into(), documents: entry.documents.into() }
}

fn add_reasons(reasons: &[u64; DropReason::COUNT], dropped: &mut DroppedTokens) {
    dropped.short += reasons[DropReason::Short as usize];
    dropped.long += reasons[DropReason::Long as usize];
    dropped.numbers += reasons[DropReason::Number as usize];
    dropped.stop += reasons[DropReason::Stop as usize];
    dropped.noise += reasons[DropReason::Noise as usize];
}

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
        let numbers: usize = self.counters.iter().map(|counter| counter.numbering.table.len()).sum();
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

/// Id of a word that is not in the vocabulary.
const NOT_IN_VOCABULARY: u32 = u32::MAX;
/// Id of a word that has not been looked up yet.
const NOT_LOOKED_UP: u32 = u32::MAX - 1;

/// Batch of documents as word ids and counts.
#[derive(Debug, Default)]
pub(super) struct EncodedBatch {
    pub(super) metadata: BatchMetadata,
    words: Vec<u32>,
    counts: Vec<u32>,
    /// End of each document in `words` and `counts`.
    ends: Vec<usize>,
    tokens: u64,
    /// Number of tokens of each document that are not in the vocabulary.
    unknown: Vec<u32>,
    replaced: u64,
    dropped: [u64; DropReason::COUNT],
}

impl EncodedBatch {
    /// Converts a numbered batch with the word id of every number.
    fn from_numbered(numbered: &mut NumberedBatch, ids: &[u32]) -> EncodedBatch {
        let mut encoded =
            EncodedBatch { metadata: std::mem::take(&mut numbered.metadata), ..EncodedBatch::default() };
        let mut start = 0;
        for &end in &numbered.ends {
            let document = &mut numbered.words[start..end];
            for word in &mut *document {
                *word = ids[*word as usize];
            }
            encoded.push(document);
            start = end;
        }
        (numbered.words, numbered.ends) = (Vec::new(), Vec::new());
        encoded
    }

    /// Returns the words and counts of every document.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| (&self.words[start..end], &self.counts[start..end]))
    }

    /// Returns the number of tokens of document `i` that are not in the vocabulary.
    pub(super) fn tokens_unknown(&self, i: usize) -> Option<u32> {
        self.unknown.get(i).copied()
    }

    /// Adds the numbers of dropped tokens to `dropped`.
    pub(super) fn add_dropped_to(&self, dropped: &mut DroppedTokens) {
        dropped.tokens += self.tokens;
        dropped.unknown += self.unknown.iter().map(|&n| u64::from(n)).sum::<u64>();
        dropped.replaced += self.replaced;
        add_reasons(&self.dropped, dropped);
    }

    /// Adds a document with these word ids, in any order.
    fn push(&mut self, ids: &mut [u32]) {
        ids.sort_unstable();
        let mut unknown = 0;
        for same in ids.chunk_by(|a, b| a == b) {
            unknown += self.push_word(same[0], same.len() as u32);
        }
        self.unknown.push(unknown);
        self.ends.push(self.words.len());
    }

    /// Adds a word of the current document. Returns the number of its tokens if it is not in the
    /// vocabulary, else 0.
    fn push_word(&mut self, id: u32, count: u32) -> u32 {
        if id == NOT_IN_VOCABULARY {
            return count;
        }
        self.words.push(id);
        self.counts.push(count);
        0
    }
}

impl HeldResult for EncodedBatch {
    fn held_bytes(&self) -> u64 {
        let words = size_of::<u32>() * (self.words.capacity() + self.counts.capacity());
        (self.metadata.bytes() + words + size_of::<usize>() * self.ends.capacity()) as u64
    }
}

/// Word ids of a document, which are counted before they become too many.
#[derive(Default)]
struct DocumentIds {
    collected: Vec<u32>,
    /// Ids and counts of the part of the document that has been counted, sorted by id.
    counted: Vec<(u32, u32)>,
}

impl DocumentIds {
    #[inline]
    fn push(&mut self, id: u32) {
        self.collected.push(id);
        if self.collected.len() == MAX_COLLECTED_IDS {
            self.count();
        }
    }

    /// Counts the collected ids.
    #[cold]
    fn count(&mut self) {
        self.collected.sort_unstable();
        self.counted.extend(self.collected.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)));
        self.collected.clear();
        self.counted.sort_unstable_by_key(|&(id, _)| id);
        self.counted.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }

    /// Adds the document to a batch and starts the next one.
    fn finish(&mut self, encoded: &mut EncodedBatch) {
        if self.counted.is_empty() {
            encoded.push(&mut self.collected);
            self.collected.clear();
            return;
        }
        self.count();
        let mut unknown = 0;
        for (id, count) in std::mem::take(&mut self.counted) {
            unknown += encoded.push_word(id, count);
        }
        encoded.unknown.push(unknown);
        encoded.ends.push(encoded.words.len());
    }
}

/// Word ids of the numbers of every worker.
pub(super) struct WordIdMaps(Vec<Vec<u32>>);

impl WordIdMaps {
    pub(super) fn encode(&self, numbered: &mut NumberedBatch) -> EncodedBatch {
        EncodedBatch::from_numbered(numbered, &self.0[numbered.worker])
    }
}

/// Encoder of documents as word ids.
pub(super) struct DocumentEncoder {
    numbering: TokenNumbering,
    /// Word id of every number, once it was looked up.
    ids: Vec<u32>,
    document: DocumentIds,
    /// Whether the vocabulary was given: its words are kept even if a rule would drop them.
    fixed: bool,
    /// Maximum size of the table in bytes.
    limit: usize,
}

impl DocumentEncoder {
    /// Creates an encoder whose table of words is emptied when it exceeds `limit` bytes.
    pub(super) fn new(fixed: bool, limit: usize) -> DocumentEncoder {
        DocumentEncoder {
            numbering: TokenNumbering::new(),
            ids: Vec::new(),
            document: DocumentIds::default(),
            fixed,
            limit,
        }
    }

    pub(super) fn encode_batch(
        &mut self,
        batch: &TextBatch,
        reader: &RecordReaders,
        tokenizer: &Tokenizer,
        index: &WordIndex<'_>,
        chunked: bool,
    ) -> Result<EncodedBatch> {
        let mut encoded = EncodedBatch::default();
        let before = self.numbering.tokens;
        for span in &batch.spans {
            reader.for_each(&batch.bytes[span.bytes.clone()], span, &mut |record, replaced| {
                encoded.replaced += u64::from(replaced);
                for chunk in chunks(&record.text, chunked) {
                    if self.numbering.bytes_after(chunk.len(), false) > self.limit {
                        self.numbering.clear_table(None, self.limit);
                        self.ids.clear();
                    }
                    self.encode_chunk(Some(chunk), tokenizer, index, &mut encoded);
                }
                self.encode_chunk(None, tokenizer, index, &mut encoded);
                self.document.finish(&mut encoded);
                encoded.metadata.push(&record);
                Ok(())
            })?;
        }
        encoded.tokens = self.numbering.tokens - before;
        Ok(encoded)
    }

    /// Encodes the words of a chunk of a document, or its last word.
    fn encode_chunk(
        &mut self,
        chunk: Option<&str>,
        tokenizer: &Tokenizer,
        index: &WordIndex<'_>,
        encoded: &mut EncodedBatch,
    ) {
        let DocumentEncoder { numbering, ids, document, fixed, .. } = self;
        let keep_known = *fixed && tokenizer.is_plain();
        let known = |token: &[u8]| keep_known && index.id(token).is_some();
        let mut encode = |table: &mut StringTable<TokenEntry>, word: Result<u32, usize>| match word {
            Ok(word) => {
                let at = word as usize;
                if at >= ids.len() {
                    ids.resize(at + 1, NOT_LOOKED_UP);
                }
                if ids[at] == NOT_LOOKED_UP {
                    ids[at] = index.id(table.string(word)).unwrap_or(NOT_IN_VOCABULARY);
                }
                document.push(ids[at]);
            }
            Err(reason) => encoded.dropped[reason] += 1,
        };
        match chunk {
            Some(chunk) => numbering.for_each_word(chunk, tokenizer, &known, &mut encode),
            None => numbering.finish_text(&mut encode),
        }
    }
}
