//! What threads do with batches: count words, or turn documents into word ids; and how batches get there and back.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use super::records::Reader;
use super::source::{Batch, TextSource};
use crate::corpus::ingest::words::{
    Counted, Cut, Dropped, Lexicon, Reason, Runs, Table, Tokenizer, joined, phrase_key,
};
use crate::corpus::{TextPlace, Vocabulary};
use crate::error::{Error, Result};

/// Batches on their way, for each thread.
const AHEAD: u64 = 3;

/// Reads all batches, has them worked on by threads, and hands the results on in the order of the batches. The first failure in
/// that order is the one that is told, however many threads there are.
pub(super) fn drive<W: Send, R: Send>(
    source: &mut dyn TextSource,
    workers: Vec<W>,
    work: &(dyn Fn(&mut W, &Batch) -> Result<R> + Sync),
    tell: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
    sink: &mut dyn FnMut(R) -> Result<()>,
) -> Result<Vec<W>> {
    let ahead = AHEAD * workers.len() as u64;
    std::thread::scope(|scope| {
        let (to, jobs) = sync_channel::<(u64, Batch)>(ahead as usize);
        let jobs = std::sync::Arc::new(Mutex::new(jobs));
        let (from, results) = channel();
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let (jobs, from) = (std::sync::Arc::clone(&jobs), from.clone());
                scope.spawn(move || {
                    loop {
                        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok((number, batch)) = job else { break };
                        let result = catch_unwind(AssertUnwindSafe(|| work(&mut worker, &batch)));
                        if from.send((number, batch, result)).is_err() {
                            break;
                        }
                    }
                    worker
                })
            })
            .collect();
        drop(from);
        let (mut sent, mut received, mut done) = (0u64, 0u64, 0u64);
        let (mut spare, mut waiting) = (Vec::<Batch>::new(), BTreeMap::new());
        let mut end: Option<Result<()>> = None;
        loop {
            while end.is_none() && sent - done < ahead {
                let mut batch = spare.pop().unwrap_or_default();
                match source.next(&mut batch) {
                    Ok(true) => {
                        if to.send((sent, batch)).is_err() {
                            return Err(Error::Interrupted);
                        }
                        sent += 1;
                    }
                    Ok(false) => end = Some(Ok(())),
                    Err(error) => end = Some(Err(error)),
                }
            }
            if received == sent {
                break;
            }
            let Ok((number, batch, result)) = results.recv() else { return Err(Error::Interrupted) };
            received += 1;
            spare.push(batch);
            waiting.insert(number, result.unwrap_or_else(|panic| resume_unwind(panic)));
            while let Some(result) = waiting.remove(&done) {
                sink(result?)?;
                done += 1;
            }
            if tell(source.progress()).is_break() {
                return Err(Error::Interrupted);
            }
        }
        drop(to);
        end.unwrap_or(Ok(()))?;
        Ok(threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic))).collect())
    })
}

/// What is known of a string while words are counted. A token may become another word (its stem), and be one itself.
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

/// The word that a token becomes, found once for each token; or the number of the reason why not.
fn target(table: &mut Table<Slot>, tokenizer: &Tokenizer, token: &[u8]) -> Result<u32, usize> {
    let number = table.number(token, fresh);
    let mut target = table.value(number).target;
    if target == OPEN {
        target = match tokenizer.word(token) {
            Ok(word) if *word == *token => number,
            Ok(word) => table.number(&word, fresh),
            Err(reason) => DROPPED - reason as u32,
        };
        table.value_mut(number).target = target;
    }
    if target > DROPPED - Reason::COUNT as u32 { Err((DROPPED - target) as usize) } else { Ok(target) }
}

/// Counts the words of documents.
pub(super) struct Counter {
    table: Table<Slot>,
    cut: Cut,
    key: Vec<u8>,
    pairs: bool,
    limit: usize,
    serial: u32,
    /// Tokens since the table was emptied: its counts have 32 bits.
    since: u64,
    tokens: u64,
    dropped: [u64; Reason::COUNT],
    replaced: u64,
    pub(super) documents: u64,
}

impl Counter {
    pub(super) fn new(pairs: bool, limit: usize) -> Counter {
        Counter {
            table: Table::new(),
            cut: Cut::default(),
            key: Vec::new(),
            pairs,
            limit,
            serial: 0,
            since: 0,
            tokens: 0,
            dropped: [0; Reason::COUNT],
            replaced: 0,
            documents: 0,
        }
    }

    pub(super) fn batch(
        &mut self,
        batch: &Batch,
        reader: &Reader,
        tokenizer: &Tokenizer,
        runs: &Mutex<Runs>,
    ) -> Result<()> {
        for piece in &batch.pieces {
            reader.each(&batch.bytes[piece.bytes.clone()], piece, &mut |record, replaced| {
                self.replaced += u64::from(replaced);
                self.document(&record.text, tokenizer);
                if self.table.bytes_soon() > self.limit || self.since > 1 << 31 {
                    let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
                    runs.take(&self.table, false, count)?;
                    self.table.clear();
                    (self.since, self.serial) = (0, 0);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn document(&mut self, text: &str, tokenizer: &Tokenizer) {
        self.documents += 1;
        self.serial += 1;
        let Counter { table, cut, key, dropped, pairs, serial, .. } = self;
        let (joins, mut tokens) = (tokenizer.has_phrases(), 0u64);
        let add = |table: &mut Table<Slot>, number: u32| {
            let slot = table.value_mut(number);
            slot.tokens += 1;
            if slot.last != *serial {
                slot.last = *serial;
                slot.documents += 1;
            }
        };
        // The word before, where it may still become part of a phrase or a pair.
        let mut before = None;
        tokenizer.each(text, cut, &mut |token| {
            tokens += 1;
            let word = match target(table, tokenizer, token) {
                Ok(word) => word,
                Err(reason) => {
                    dropped[reason] += 1;
                    if let Some(word) = before.take().filter(|_| joins) {
                        add(table, word);
                    }
                    return;
                }
            };
            if joins {
                match before {
                    Some(first) if tokenizer.joins(table.bytes_of(first), table.bytes_of(word), key) => {
                        joined(key);
                        let number = table.number(key, fresh);
                        add(table, number);
                        before = None;
                    }
                    _ => {
                        if let Some(first) = before {
                            add(table, first);
                        }
                        before = Some(word);
                    }
                }
                return;
            }
            add(table, word);
            if *pairs {
                if let Some(first) = before {
                    phrase_key(table.bytes_of(first), table.bytes_of(word), key);
                    let number = table.number(key, fresh);
                    add(table, number);
                }
                before = Some(word);
            }
        });
        if let Some(word) = before.filter(|_| joins) {
            add(table, word);
        }
        self.tokens += tokens;
        self.since += tokens;
    }

    /// Hands over what is left.
    pub(super) fn finish(self, runs: &mut Runs, dropped: &mut Dropped) -> Result<()> {
        dropped.tokens += self.tokens;
        dropped.replaced += self.replaced;
        note(&self.dropped, dropped);
        runs.take(&self.table, true, count)
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

/// A batch of documents as word ids.
#[derive(Debug, Default)]
pub(super) struct Filled {
    starts: Vec<usize>,
    words: Vec<u32>,
    counts: Vec<u32>,
    pub(super) names: Vocabulary,
    pub(super) labels: Vocabulary,
    pub(super) places: Vec<TextPlace>,
    tokens: u64,
    unknown: u64,
    replaced: u64,
    dropped: [u64; Reason::COUNT],
}

impl Filled {
    pub(super) fn documents(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn document(&self, i: usize) -> (&[u32], &[u32]) {
        let range = self.starts[i]..self.starts.get(i + 1).copied().unwrap_or(self.words.len());
        (&self.words[range.clone()], &self.counts[range])
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
        self.starts.push(self.words.len());
        let start = self.words.len();
        for &id in &*ids {
            if self.words.len() > start && self.words.last() == Some(&id) {
                if let Some(count) = self.counts.last_mut() {
                    *count += 1;
                }
            } else {
                self.words.push(id);
                self.counts.push(1);
            }
        }
    }
}

/// Tokens whose words are remembered: some megabytes of them.
const REMEMBERED: usize = 8 << 20;

/// Turns documents into word ids.
pub(super) struct Filler {
    memory: Table<Slot>,
    cut: Cut,
    key: Vec<u8>,
    ids: Vec<u32>,
    /// The vocabulary was given: it is to be told what it does not have.
    fixed: bool,
}

impl Filler {
    pub(super) fn new(fixed: bool) -> Filler {
        Filler { memory: Table::new(), cut: Cut::default(), key: Vec::new(), ids: Vec::new(), fixed }
    }

    pub(super) fn batch(
        &mut self,
        batch: &Batch,
        reader: &Reader,
        tokenizer: &Tokenizer,
        lexicon: &Lexicon<'_>,
    ) -> Result<Filled> {
        let mut filled = Filled::default();
        for piece in &batch.pieces {
            reader.each(&batch.bytes[piece.bytes.clone()], piece, &mut |record, replaced| {
                filled.replaced += u64::from(replaced);
                self.ids.clear();
                if tokenizer.is_plain() {
                    self.plain(&record.text, tokenizer, lexicon, &mut filled);
                } else {
                    self.changed(&record.text, tokenizer, lexicon, &mut filled);
                }
                filled.push(&mut self.ids);
                if let Some(name) = &record.name {
                    filled.names.push(name);
                }
                if let Some(label) = &record.label {
                    filled.labels.push(label);
                }
                filled.places.push(record.place);
                Ok(())
            })?;
        }
        Ok(filled)
    }

    /// Tokens are words: what the vocabulary has is one, whatever else could be said of it.
    fn plain(&mut self, text: &str, tokenizer: &Tokenizer, lexicon: &Lexicon<'_>, filled: &mut Filled) {
        let Filler { ids, cut, fixed, .. } = self;
        tokenizer.each(text, cut, &mut |token| {
            filled.tokens += 1;
            match lexicon.id(token) {
                Some(id) => ids.push(id),
                None if *fixed => match tokenizer.word(token) {
                    Ok(_) => filled.unknown += 1,
                    Err(reason) => filled.dropped[reason as usize] += 1,
                },
                None => {}
            }
        });
    }

    /// Tokens are stemmed or joined first.
    fn changed(&mut self, text: &str, tokenizer: &Tokenizer, lexicon: &Lexicon<'_>, filled: &mut Filled) {
        if self.memory.bytes_soon() > REMEMBERED {
            self.memory.clear();
        }
        let Filler { memory, ids, cut, key, .. } = self;
        let joins = tokenizer.has_phrases();
        let mut before: Option<u32> = None;
        let mut unknown = 0;
        let mut add = |word: &[u8]| match lexicon.id(word) {
            Some(id) => ids.push(id),
            None => unknown += 1,
        };
        tokenizer.each(text, cut, &mut |token| {
            filled.tokens += 1;
            match target(memory, tokenizer, token) {
                Ok(word) if !joins => add(memory.bytes_of(word)),
                Ok(word) => match before {
                    Some(first) if tokenizer.joins(memory.bytes_of(first), memory.bytes_of(word), key) => {
                        joined(key);
                        add(key);
                        before = None;
                    }
                    _ => {
                        if let Some(first) = before {
                            add(memory.bytes_of(first));
                        }
                        before = Some(word);
                    }
                },
                Err(reason) => {
                    filled.dropped[reason] += 1;
                    if let Some(first) = before.take() {
                        add(memory.bytes_of(first));
                    }
                }
            }
        });
        if let Some(first) = before {
            add(memory.bytes_of(first));
        }
        filled.unknown += unknown;
    }
}
