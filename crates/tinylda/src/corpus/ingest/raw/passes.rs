//! Work of the threads on batches: number and count the words of documents, and map the numbers to
//! word ids.
//!
//! Start with [`WordCounter`] for the first pass and [`DocumentEncoder`] for the second. Files and
//! the order of batches are handled by the parent module.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::parallel::ItemSource;
use super::readers::RecordReaders;
use super::records::{Record, RecordDate};
use super::source::TextBatch;
use crate::corpus::ingest::ImportedDates;
use crate::corpus::ingest::words::{
    CountRuns, DropReason, DroppedTokens, StringTable, TermCount, Tokenizer, TokenizerBuffer, WordIndex,
    join_phrase, write_phrase_key,
};
use crate::corpus::{Details, DocumentLabels, LabelTable, TextPlace, Vocabulary};
use crate::error::Result;

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
}

impl TokenNumbering {
    fn new() -> TokenNumbering {
        TokenNumbering {
            table: StringTable::new(),
            cut: TokenizerBuffer::default(),
            key: Vec::new(),
            tokens: 0,
        }
    }

    /// Calls `each` with the number of every word of a text in order, or with the number of the
    /// reason why a token is dropped. A token for which `known` returns true is a word without
    /// further changes.
    fn for_each_word(
        &mut self,
        text: &str,
        tokenizer: &Tokenizer,
        known: &impl Fn(&[u8]) -> bool,
        each: &mut impl FnMut(&mut StringTable<TokenEntry>, Result<u32, usize>),
    ) {
        let TokenNumbering { table, cut, key, tokens } = self;
        let has_phrases = tokenizer.has_phrases();
        // Previous word, which may still become part of a phrase, and whether it is a phrase.
        let mut before: Option<(u32, bool)> = None;
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
                        before = Some((number, true));
                    }
                }
                (first, word) => {
                    if let Some((first, _)) = first {
                        each(table, Ok(first));
                    }
                    match word {
                        Ok(word) => before = Some((word, false)),
                        reason => each(table, reason),
                    }
                }
            }
        });
        if let Some((first, _)) = before {
            each(table, Ok(first));
        }
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

    /// Counts the words of a batch and returns the batch as word numbers while `buffering` is set.
    /// Writing a table to disk ends the buffering, since the numbers start again from 0.
    pub(super) fn count_batch(
        &mut self,
        batch: &TextBatch,
        reader: &RecordReaders,
        tokenizer: &Tokenizer,
        runs: &Mutex<CountRuns>,
        buffering: &AtomicBool,
    ) -> Result<NumberedBatch> {
        let mut numbered = NumberedBatch { worker: self.worker, ..NumberedBatch::default() };
        let mut buffers = buffering.load(Ordering::Relaxed);
        for span in &batch.spans {
            reader.for_each(&batch.bytes[span.bytes.clone()], span, &mut |record, replaced| {
                self.replaced += u64::from(replaced);
                self.count_document(&record.text, tokenizer, buffers.then_some(&mut numbered.words));
                if buffers {
                    numbered.ends.push(numbered.words.len());
                    numbered.metadata.push(&record);
                }
                let table = &self.numbering.table;
                if table.bytes_with_growth() > self.limit || self.numbering.tokens - self.emptied > 1 << 31 {
                    buffering.store(false, Ordering::Relaxed);
                    (buffers, numbered) = (false, NumberedBatch::default());
                    let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
                    runs.add_table(table, false, term_count)?;
                    self.numbering.add_stop_words(&mut self.stop_words);
                    self.numbering.table.clear();
                    (self.emptied, self.document_in_table) = (self.numbering.tokens, 0);
                }
                Ok(())
            })?;
        }
        numbered.table = self.numbering.table.bytes_with_growth();
        Ok(numbered)
    }

    fn count_document(&mut self, text: &str, tokenizer: &Tokenizer, mut numbered: Option<&mut Vec<u32>>) {
        self.documents += 1;
        self.document_in_table += 1;
        let WordCounter { numbering, dropped, pairs, document_in_table, .. } = self;
        let add = |table: &mut StringTable<TokenEntry>, number: u32| {
            let entry = table.value_mut(number);
            entry.tokens += 1;
            if entry.last != *document_in_table {
                entry.last = *document_in_table;
                entry.documents += 1;
            }
        };
        let (mut before, mut key) = (None, Vec::new());
        numbering.for_each_word(text, tokenizer, &|_| false, &mut |table, word| {
            match word {
                Ok(word) => {
                    add(table, word);
                    if let Some(numbered) = &mut numbered {
                        numbered.push(word);
                    }
                }
                Err(reason) => dropped[reason] += 1,
            }
            if *pairs {
                if let (Some(first), Ok(word)) = (before, word) {
                    write_phrase_key(table.string(first), table.string(word), &mut key);
                    let number = table.intern(&key, new_entry);
                    add(table, number);
                }
                before = word.ok();
            }
        });
    }

    /// Passes the remaining counts to `runs` and the numbers of dropped tokens to `dropped`.
    pub(super) fn finish(&self, runs: &mut CountRuns, dropped: &mut DroppedTokens) -> Result<()> {
        dropped.tokens += self.numbering.tokens;
        dropped.replaced += self.replaced;
        add_reasons(&self.dropped, dropped);
        runs.add_table(&self.numbering.table, true, term_count)
    }

    /// Adds the numbers of tokens of every stop word to `counts`.
    pub(super) fn add_stop_words(&self, counts: &mut BTreeMap<String, u64>) {
        for (word, count) in &self.stop_words {
            *counts.entry(word.clone()).or_default() += count;
        }
        self.numbering.add_stop_words(counts);
    }

    /// Returns the word id of every number.
    fn ids(&self, index: &WordIndex<'_>) -> Vec<u32> {
        let table = &self.numbering.table;
        (0..table.len() as u32)
            .map(|number| index.id(table.string(number)).unwrap_or(NOT_IN_VOCABULARY))
            .collect()
    }
}

fn term_count(entry: &TokenEntry) -> TermCount {
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

    /// Returns the word ids of all numbers and frees the tables.
    pub(super) fn word_id_maps(&mut self, index: &WordIndex<'_>) -> WordIdMaps {
        WordIdMaps(std::mem::take(&mut self.counters).iter().map(|counter| counter.ids(index)).collect())
    }
}

impl ItemSource for BufferedBatches {
    type Item = NumberedBatch;

    fn next(&mut self, item: &mut NumberedBatch) -> Result<bool> {
        let next = self.batches.pop_front();
        let any = next.is_some();
        *item = next.unwrap_or_default();
        Ok(any)
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
        let (mut start, mut document) = (0, Vec::new());
        for &end in &numbered.ends {
            document.clear();
            document.extend(numbered.words[start..end].iter().map(|&word| ids[word as usize]));
            encoded.push(&mut document);
            start = end;
        }
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
            if same[0] == NOT_IN_VOCABULARY {
                unknown = same.len() as u32;
            } else {
                self.words.push(same[0]);
                self.counts.push(same.len() as u32);
            }
        }
        self.unknown.push(unknown);
        self.ends.push(self.words.len());
    }
}

/// Word ids of the numbers of every worker.
pub(super) struct WordIdMaps(Vec<Vec<u32>>);

impl WordIdMaps {
    pub(super) fn encode(&self, numbered: &mut NumberedBatch) -> EncodedBatch {
        EncodedBatch::from_numbered(numbered, &self.0[numbered.worker])
    }
}

/// Maximum size of the table that remembers the words of tokens, in bytes.
const MAX_TABLE_BYTES: usize = 8 << 20;

/// Encoder of documents as word ids.
pub(super) struct DocumentEncoder {
    numbering: TokenNumbering,
    /// Word id of every number, once it was looked up.
    ids: Vec<u32>,
    /// Whether the vocabulary was given: its words are kept even if a rule would drop them.
    fixed: bool,
}

impl DocumentEncoder {
    pub(super) fn new(fixed: bool) -> DocumentEncoder {
        DocumentEncoder { numbering: TokenNumbering::new(), ids: Vec::new(), fixed }
    }

    pub(super) fn encode_batch(
        &mut self,
        batch: &TextBatch,
        reader: &RecordReaders,
        tokenizer: &Tokenizer,
        index: &WordIndex<'_>,
    ) -> Result<EncodedBatch> {
        let DocumentEncoder { numbering, ids, fixed } = self;
        let keep_known = *fixed && tokenizer.is_plain();
        let known = |token: &[u8]| keep_known && index.id(token).is_some();
        let mut encoded = EncodedBatch::default();
        let mut document = Vec::new();
        let before = numbering.tokens;
        for span in &batch.spans {
            reader.for_each(&batch.bytes[span.bytes.clone()], span, &mut |record, replaced| {
                if numbering.table.bytes_with_growth() > MAX_TABLE_BYTES {
                    numbering.table.clear();
                    ids.clear();
                }
                encoded.replaced += u64::from(replaced);
                document.clear();
                numbering.for_each_word(&record.text, tokenizer, &known, &mut |table, word| match word {
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
                });
                encoded.push(&mut document);
                encoded.metadata.push(&record);
                Ok(())
            })?;
        }
        encoded.tokens = numbering.tokens - before;
        Ok(encoded)
    }
}
