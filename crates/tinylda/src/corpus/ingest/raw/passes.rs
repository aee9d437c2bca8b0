//! What threads do with batches: number the words of documents and count them, and turn numbers
//! into word ids.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::parallel::ItemSource;
use super::records::{Reader, Record};
use super::source::Batch;
use crate::corpus::ingest::words::{
    Counted, Cut, Dropped, Lexicon, Reason, Runs, Table, Tokenizer, joined, phrase_key,
};
use crate::corpus::{TextPlace, Vocabulary};
use crate::error::Result;

/// What is known of a string while words are counted. A token may become another word (its stem),
/// and be one itself.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The number of the word that the token becomes, or one of the values below.
    target: u32,
    tokens: u32,
    documents: u32,
    /// The last document it was seen in.
    last: u32,
}

/// Nobody has asked yet what the token becomes.
const OPEN: u32 = u32::MAX;
/// Less a reason: it is no word.
const DROPPED: u32 = u32::MAX - 1;

fn fresh() -> Slot {
    Slot { target: OPEN, tokens: 0, documents: 0, last: 0 }
}

/// Gives the words of texts numbers.
struct Numbers {
    table: Table<Slot>,
    cut: Cut,
    key: Vec<u8>,
    /// All tokens, words or not.
    tokens: u64,
}

impl Numbers {
    fn new() -> Numbers {
        Numbers { table: Table::new(), cut: Cut::default(), key: Vec::new(), tokens: 0 }
    }

    /// Calls `each` with the number of every word of a text, in order, or with the number of the
    /// reason why a token is none. What is `known` is a word as it stands.
    fn each(
        &mut self,
        text: &str,
        tokenizer: &Tokenizer,
        known: &impl Fn(&[u8]) -> bool,
        each: &mut impl FnMut(&mut Table<Slot>, Result<u32, usize>),
    ) {
        let Numbers { table, cut, key, tokens } = self;
        let joins = tokenizer.has_phrases();
        // The word before, which may still become part of a phrase.
        let mut before: Option<u32> = None;
        tokenizer.each(text, cut, &mut |token| {
            *tokens += 1;
            let word = word(table, tokenizer, token, known);
            if !joins {
                return each(table, word);
            }
            match (before.take(), word) {
                (Some(first), Ok(second))
                    if tokenizer.joins(table.bytes_of(first), table.bytes_of(second), key) =>
                {
                    joined(key);
                    let number = table.number(key, fresh);
                    each(table, Ok(number));
                }
                (first, word) => {
                    if let Some(first) = first {
                        each(table, Ok(first));
                    }
                    match word {
                        Ok(word) => before = Some(word),
                        reason => each(table, reason),
                    }
                }
            }
        });
        if let Some(first) = before {
            each(table, Ok(first));
        }
    }
}

/// The word that a token becomes, found once for each token; or the number of the reason why not.
#[inline]
fn word(
    table: &mut Table<Slot>,
    tokenizer: &Tokenizer,
    token: &[u8],
    known: &impl Fn(&[u8]) -> bool,
) -> Result<u32, usize> {
    let number = table.number(token, fresh);
    let mut target = table.value(number).target;
    if target == OPEN {
        target = match tokenizer.word(token) {
            _ if known(token) => number,
            Ok(word) if *word == *token => number,
            Ok(word) => table.number(&word, fresh),
            Err(reason) => DROPPED - reason as u32,
        };
        table.value_mut(number).target = target;
    }
    if target > DROPPED - Reason::COUNT as u32 { Err((DROPPED - target) as usize) } else { Ok(target) }
}

/// What is known of a batch of documents besides their words.
#[derive(Debug, Default)]
pub(super) struct Heads {
    pub(super) names: Vocabulary,
    pub(super) labels: Vocabulary,
    pub(super) places: Vec<TextPlace>,
}

impl Heads {
    fn push(&mut self, record: &Record<'_>) {
        if let Some(name) = &record.name {
            self.names.push(name);
        }
        if let Some(label) = &record.label {
            self.labels.push(label);
        }
        self.places.push(record.place);
    }

    /// Bytes of memory.
    fn bytes(&self) -> usize {
        let strings = |v: &Vocabulary| v.parts().0.len() + size_of_val(v.parts().1);
        strings(&self.names) + strings(&self.labels) + size_of::<TextPlace>() * self.places.capacity()
    }
}

/// A batch of documents as numbers of a worker's table.
#[derive(Debug, Default)]
pub(super) struct Noted {
    worker: usize,
    heads: Heads,
    words: Vec<u32>,
    /// Where each document ends.
    ends: Vec<usize>,
    /// Bytes of the worker's table.
    table: usize,
}

impl Noted {
    /// Bytes of memory.
    fn bytes(&self) -> usize {
        size_of::<Noted>()
            + self.heads.bytes()
            + 4 * self.words.capacity()
            + size_of::<usize>() * self.ends.capacity()
    }
}

/// Counts the words of documents.
pub(super) struct Counter {
    numbers: Numbers,
    worker: usize,
    pairs: bool,
    limit: usize,
    serial: u32,
    /// Tokens when the table was emptied: its counts have 32 bits.
    emptied: u64,
    dropped: [u64; Reason::COUNT],
    replaced: u64,
    pub(super) documents: u64,
}

impl Counter {
    /// The table may take `limit` bytes, then it goes to disk.
    pub(super) fn new(worker: usize, pairs: bool, limit: usize) -> Counter {
        Counter {
            numbers: Numbers::new(),
            worker,
            pairs,
            limit,
            serial: 0,
            emptied: 0,
            dropped: [0; Reason::COUNT],
            replaced: 0,
            documents: 0,
        }
    }

    /// Counts, and notes what was counted for as long as `keep` says so. A table that goes to disk
    /// ends that: numbers begin anew.
    pub(super) fn batch(
        &mut self,
        batch: &Batch,
        reader: &Reader,
        tokenizer: &Tokenizer,
        runs: &Mutex<Runs>,
        keep: &AtomicBool,
    ) -> Result<Noted> {
        let mut noted = Noted { worker: self.worker, ..Noted::default() };
        let mut keeps = keep.load(Ordering::Relaxed);
        for piece in &batch.pieces {
            reader.each(&batch.bytes[piece.bytes.clone()], piece, &mut |record, replaced| {
                self.replaced += u64::from(replaced);
                self.document(&record.text, tokenizer, keeps.then_some(&mut noted.words));
                if keeps {
                    noted.ends.push(noted.words.len());
                    noted.heads.push(&record);
                }
                let table = &mut self.numbers.table;
                if table.bytes_soon() > self.limit || self.numbers.tokens - self.emptied > 1 << 31 {
                    keep.store(false, Ordering::Relaxed);
                    (keeps, noted) = (false, Noted::default());
                    let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
                    runs.take(table, false, count)?;
                    table.clear();
                    (self.emptied, self.serial) = (self.numbers.tokens, 0);
                }
                Ok(())
            })?;
        }
        noted.table = self.numbers.table.bytes_soon();
        Ok(noted)
    }

    fn document(&mut self, text: &str, tokenizer: &Tokenizer, mut noted: Option<&mut Vec<u32>>) {
        self.documents += 1;
        self.serial += 1;
        let Counter { numbers, dropped, pairs, serial, .. } = self;
        let add = |table: &mut Table<Slot>, number: u32| {
            let slot = table.value_mut(number);
            slot.tokens += 1;
            if slot.last != *serial {
                slot.last = *serial;
                slot.documents += 1;
            }
        };
        let (mut before, mut key) = (None, Vec::new());
        numbers.each(text, tokenizer, &|_| false, &mut |table, word| {
            match word {
                Ok(word) => {
                    add(table, word);
                    if let Some(noted) = &mut noted {
                        noted.push(word);
                    }
                }
                Err(reason) => dropped[reason] += 1,
            }
            if *pairs {
                if let (Some(first), Ok(word)) = (before, word) {
                    phrase_key(table.bytes_of(first), table.bytes_of(word), &mut key);
                    let number = table.number(&key, fresh);
                    add(table, number);
                }
                before = word.ok();
            }
        });
    }

    /// Hands over what is left.
    pub(super) fn finish(&self, runs: &mut Runs, dropped: &mut Dropped) -> Result<()> {
        dropped.tokens += self.numbers.tokens;
        dropped.replaced += self.replaced;
        note(&self.dropped, dropped);
        runs.take(&self.numbers.table, true, count)
    }

    /// The ids of the words that it numbered.
    fn ids(&self, lexicon: &Lexicon<'_>) -> Vec<u32> {
        let table = &self.numbers.table;
        (0..table.len() as u32).map(|number| lexicon.id(table.bytes_of(number)).unwrap_or(NONE)).collect()
    }
}

fn count(slot: &Slot) -> Counted {
    Counted { tokens: slot.tokens.into(), documents: slot.documents.into() }
}

fn note(reasons: &[u64; Reason::COUNT], dropped: &mut Dropped) {
    dropped.short += reasons[Reason::Short as usize];
    dropped.long += reasons[Reason::Long as usize];
    dropped.numbers += reasons[Reason::Number as usize];
    dropped.stop += reasons[Reason::Stop as usize];
}

/// All documents as the first pass numbered them, while they fit: then the text is not read again.
#[derive(Default)]
pub(super) struct Kept {
    batches: VecDeque<Noted>,
    bytes: usize,
    /// Of the workers' tables.
    tables: Vec<usize>,
    /// Batches at first, and what the bar shows for all of them.
    all: (u64, Option<u64>),
    counters: Vec<Counter>,
}

impl Kept {
    /// Takes a batch; false where there is no room.
    pub(super) fn push(&mut self, noted: Noted, room: usize) -> bool {
        self.bytes += noted.bytes();
        self.tables.resize(self.tables.len().max(noted.worker + 1), 0);
        self.tables[noted.worker] = noted.table;
        self.batches.push_back(noted);
        self.bytes + self.tables.iter().sum::<usize>() <= room
    }

    /// All was counted by these: now it can be handed out. `total` is what the bar shows at the
    /// end.
    pub(super) fn ready(&mut self, counters: Vec<Counter>, total: Option<u64>) {
        self.all = (self.batches.len() as u64, total);
        self.counters = counters;
    }

    /// The ids of all numbers; the tables are not needed any more.
    pub(super) fn mapped(&mut self, lexicon: &Lexicon<'_>) -> Mapped {
        Mapped(std::mem::take(&mut self.counters).iter().map(|counter| counter.ids(lexicon)).collect())
    }
}

impl ItemSource for Kept {
    type Item = Noted;

    fn next(&mut self, item: &mut Noted) -> Result<bool> {
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

/// No word of the vocabulary.
const NONE: u32 = u32::MAX;
/// Nobody has asked yet.
const ASK: u32 = u32::MAX - 1;

/// A batch of documents as word ids.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) heads: Heads,
    words: Vec<u32>,
    counts: Vec<u32>,
    /// Where each document ends.
    ends: Vec<usize>,
    tokens: u64,
    unknown: u64,
    replaced: u64,
    dropped: [u64; Reason::COUNT],
}

impl Filled {
    /// What was noted, with the id of every number.
    fn of(noted: &mut Noted, ids: &[u32]) -> Filled {
        let mut filled = Filled { heads: std::mem::take(&mut noted.heads), ..Filled::default() };
        let (mut start, mut document) = (0, Vec::new());
        for &end in &noted.ends {
            document.clear();
            document.extend(noted.words[start..end].iter().map(|&word| ids[word as usize]));
            filled.push(&mut document);
            start = end;
        }
        filled
    }

    /// The documents: words and counts.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| (&self.words[start..end], &self.counts[start..end]))
    }

    /// Adds up what was left out.
    pub(super) fn add_to(&self, dropped: &mut Dropped) {
        dropped.tokens += self.tokens;
        dropped.unknown += self.unknown;
        dropped.replaced += self.replaced;
        note(&self.dropped, dropped);
    }

    /// Adds a document of these ids, in any order.
    fn push(&mut self, ids: &mut [u32]) {
        ids.sort_unstable();
        for same in ids.chunk_by(|a, b| a == b) {
            if same[0] == NONE {
                self.unknown += same.len() as u64;
            } else {
                self.words.push(same[0]);
                self.counts.push(same.len() as u32);
            }
        }
        self.ends.push(self.words.len());
    }
}

/// The word ids of the numbers of every worker.
pub(super) struct Mapped(Vec<Vec<u32>>);

impl Mapped {
    pub(super) fn batch(&self, noted: &mut Noted) -> Filled {
        Filled::of(noted, &self.0[noted.worker])
    }
}

/// Tokens whose words are remembered: some megabytes of them.
const REMEMBERED: usize = 8 << 20;

/// Turns documents into word ids.
pub(super) struct Filler {
    numbers: Numbers,
    /// The id of every number, once it was asked for.
    ids: Vec<u32>,
    /// The vocabulary was given: what it has is a word, whatever else could be said of it.
    fixed: bool,
}

impl Filler {
    pub(super) fn new(fixed: bool) -> Filler {
        Filler { numbers: Numbers::new(), ids: Vec::new(), fixed }
    }

    pub(super) fn batch(
        &mut self,
        batch: &Batch,
        reader: &Reader,
        tokenizer: &Tokenizer,
        lexicon: &Lexicon<'_>,
    ) -> Result<Filled> {
        let Filler { numbers, ids, fixed } = self;
        let as_it_stands = *fixed && tokenizer.is_plain();
        let known = |token: &[u8]| as_it_stands && lexicon.id(token).is_some();
        let mut filled = Filled::default();
        let mut document = Vec::new();
        let before = numbers.tokens;
        for piece in &batch.pieces {
            reader.each(&batch.bytes[piece.bytes.clone()], piece, &mut |record, replaced| {
                if numbers.table.bytes_soon() > REMEMBERED {
                    numbers.table.clear();
                    ids.clear();
                }
                filled.replaced += u64::from(replaced);
                document.clear();
                numbers.each(&record.text, tokenizer, &known, &mut |table, word| match word {
                    Ok(word) => {
                        let at = word as usize;
                        if at >= ids.len() {
                            ids.resize(at + 1, ASK);
                        }
                        if ids[at] == ASK {
                            ids[at] = lexicon.id(table.bytes_of(word)).unwrap_or(NONE);
                        }
                        document.push(ids[at]);
                    }
                    Err(reason) => filled.dropped[reason] += 1,
                });
                filled.push(&mut document);
                filled.heads.push(&record);
                Ok(())
            })?;
        }
        filled.tokens = numbers.tokens - before;
        Ok(filled)
    }
}
