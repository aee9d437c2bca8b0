//! The messages of a chunk of documents, as `tbp` stores them: a few bytes per non-zero.
//!
//! A document has a list of the topics it uses. The message of a non-zero is a list of entries, two
//! bytes each: the *slot* of a topic in the document's list, and the units assigned to it. The
//! units of a message add up to [`UNITS_PER_TOKEN`]. theta is the sum of the messages and is not
//! stored.

use crate::error::Result;
use crate::numbers::{Number, NumberReader, NumberWriter};

/// Number of units per token: the fixed-point scale of all counts of `tbp`.
pub(crate) const UNITS_PER_TOKEN: u32 = 64;
/// Largest number of topics that a document can use: an entry has two bytes, and its slot has the
/// bits that the units leave.
pub(crate) const MAX_DOCUMENT_TOPICS: usize = 1 << (16 - UNIT_BITS);
/// Number of bits of the units in an entry.
pub(crate) const UNIT_BITS: u32 = UNITS_PER_TOKEN.ilog2();

/// An entry of a message: a slot of the document's topic list, and units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MessageEntry(u16);

impl Number for MessageEntry {
    const BYTES: usize = 2;
    #[inline]
    fn put(self, to: &mut [u8]) {
        self.0.put(to);
    }
    #[inline]
    fn get(from: &[u8]) -> MessageEntry {
        MessageEntry(u16::get(from))
    }
}

impl MessageEntry {
    /// Creates an entry of 1 to [`UNITS_PER_TOKEN`] units, in a slot below [`MAX_DOCUMENT_TOPICS`].
    #[inline]
    pub(crate) fn new(slot: u16, units: u16) -> MessageEntry {
        MessageEntry(slot << UNIT_BITS | (units - 1))
    }
    /// Returns the slot of the entry.
    #[inline]
    pub(crate) fn slot(self) -> usize {
        (self.0 >> UNIT_BITS) as usize
    }
    /// Returns the units of the entry.
    #[inline]
    pub(crate) fn units(self) -> u16 {
        (self.0 & (UNITS_PER_TOKEN as u16 - 1)) + 1
    }
    /// Returns an entry with the same units in another slot.
    #[inline]
    pub(crate) fn with_slot(self, slot: u16) -> MessageEntry {
        MessageEntry(slot << UNIT_BITS | (self.0 & (UNITS_PER_TOKEN as u16 - 1)))
    }
}

/// The messages of one document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentMessages<'a> {
    /// Topics that the document uses.
    pub(crate) topics: &'a [u16],
    /// Number of entries of each non-zero's message.
    pub(crate) sizes: &'a [u8],
    /// Entries of all messages.
    pub(crate) entries: &'a [MessageEntry],
}

impl<'a> DocumentMessages<'a> {
    /// Iterates over the messages, one per non-zero.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [MessageEntry]> {
        let mut rest = self.entries;
        self.sizes.iter().map(move |&size| {
            let (head, tail) = rest.split_at(size as usize);
            rest = tail;
            head
        })
    }
}

/// The messages of several documents; the module documentation describes the layout.
#[derive(Debug, Clone, Default)]
pub(crate) struct Messages {
    /// Number of topics that each document uses.
    lengths: Vec<u16>,
    /// Topics of all documents, one document after the other.
    topics: Vec<u16>,
    /// Number of entries of each non-zero's message.
    sizes: Vec<u8>,
    /// Entries of all messages.
    entries: Vec<MessageEntry>,
}

impl Messages {
    pub(crate) fn clear(&mut self) {
        self.lengths.clear();
        self.topics.clear();
        self.sizes.clear();
        self.entries.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Appends a document.
    pub(crate) fn push(
        &mut self,
        topics: impl Iterator<Item = u16>,
        sizes: &[u8],
        entries: impl ExactSizeIterator<Item = MessageEntry>,
    ) {
        // Grow by a quarter: doubling would take too much memory for the lists of a long document.
        fn reserve<T>(list: &mut Vec<T>, more: usize) {
            if list.capacity() - list.len() < more {
                list.reserve_exact(more.max(list.len() / 4));
            }
        }
        let before = self.topics.len();
        self.topics.extend(topics);
        self.lengths.push((self.topics.len() - before) as u16);
        reserve(&mut self.sizes, sizes.len());
        self.sizes.extend_from_slice(sizes);
        reserve(&mut self.entries, entries.len());
        self.entries.extend(entries);
    }

    /// Becomes a copy of `other`, with little spare capacity.
    pub(crate) fn copy_from(&mut self, other: &Messages) {
        // Messages grow and shrink every five passes, and memory that is freed leaves holes in the
        // heap.
        fn copy<T: Copy>(to: &mut Vec<T>, from: &[T]) {
            to.clear();
            if to.capacity() > from.len() + from.len() / 2 {
                to.shrink_to(from.len());
            }
            to.reserve_exact(from.len());
            to.extend_from_slice(from);
        }
        copy(&mut self.lengths, &other.lengths);
        copy(&mut self.topics, &other.topics);
        copy(&mut self.sizes, &other.sizes);
        copy(&mut self.entries, &other.entries);
    }

    /// Returns the number of topics in use, summed over all documents, and the number of documents
    /// that use any.
    pub(crate) fn count_topics(&self) -> (u64, u64) {
        (self.topics.len() as u64, self.lengths.iter().filter(|&&length| length > 0).count() as u64)
    }

    /// Becomes the state of documents without messages, given the number of non-zeros of each.
    pub(crate) fn reset(&mut self, nonzeros: impl ExactSizeIterator<Item = usize>) {
        self.clear();
        self.lengths.resize(nonzeros.len(), 0);
        self.sizes.resize(nonzeros.sum(), 0);
    }

    /// Returns the bytes of memory of messages with the given total numbers of documents,
    /// non-zeros, topics in use and entries.
    pub(crate) fn bytes_of(documents: u64, nonzeros: u64, topics: u64, entries: u64) -> u64 {
        let pairs = documents.saturating_add(topics).saturating_add(entries);
        pairs.saturating_mul(2).saturating_add(nonzeros)
    }

    /// Returns the bytes of memory, spare capacity included.
    pub(crate) fn bytes(&self) -> u64 {
        (2 * self.lengths.capacity()
            + 2 * self.topics.capacity()
            + self.sizes.capacity()
            + 2 * self.entries.capacity()) as u64
    }

    /// Frees spare capacity.
    pub(crate) fn shrink(&mut self) {
        self.lengths.shrink_to_fit();
        self.topics.shrink_to_fit();
        self.sizes.shrink_to_fit();
        self.entries.shrink_to_fit();
    }

    /// Writes all messages.
    pub(crate) fn put(&self, out: &mut NumberWriter<'_>) -> Result<()> {
        out.put(&self.lengths)?;
        out.put(&self.sizes)?;
        out.put(&self.topics)?;
        out.put(&self.entries)
    }

    /// Reads the messages of a number of documents and non-zeros that [`Messages::put`] wrote.
    /// Returns `None` if the input ends early.
    pub(crate) fn take(
        &mut self,
        from: &mut NumberReader<'_>,
        documents: usize,
        nonzeros: usize,
    ) -> Result<Option<()>> {
        let lists = from.take(documents, &mut self.lengths)?.zip(from.take(nonzeros, &mut self.sizes)?);
        let topics = self.lengths.iter().map(|&n| usize::from(n)).sum();
        let topics = from.take(topics, &mut self.topics)?;
        let entries = self.sizes.iter().map(|&n| usize::from(n)).sum();
        let entries = from.take(entries, &mut self.entries)?;
        Ok(lists.and(topics).and(entries))
    }

    /// Returns whether all invariants that updates rely on hold, for documents with `nonzeros(i)`
    /// non-zeros each and K topics.
    pub(crate) fn is_valid(&self, nonzeros: impl Fn(usize) -> usize, topics: u32) -> bool {
        self.topics.iter().all(|&k| u32::from(k) < topics)
            && self.lengths.iter().all(|&length| usize::from(length) <= MAX_DOCUMENT_TOPICS)
            && self.documents(nonzeros).all(|document| {
                document.entries.iter().all(|entry| entry.slot() < document.topics.len())
                    && (document.entries.is_empty()
                        || document
                            .iter()
                            .all(|m| m.iter().map(|p| u32::from(p.units())).sum::<u32>() == UNITS_PER_TOKEN))
            })
    }

    /// Iterates over the documents; `nonzeros(i)` is the number of non-zeros of document i.
    pub(crate) fn documents(
        &self,
        nonzeros: impl Fn(usize) -> usize,
    ) -> impl Iterator<Item = DocumentMessages<'_>> {
        let (mut topics, mut sizes, mut entries) = (&self.topics[..], &self.sizes[..], &self.entries[..]);
        self.lengths.iter().enumerate().map(move |(i, &length)| {
            let (own, rest) = topics.split_at(length as usize);
            topics = rest;
            let (own_sizes, rest) = sizes.split_at(nonzeros(i));
            sizes = rest;
            let total = own_sizes.iter().map(|&size| size as usize).sum();
            let (own_entries, rest) = entries.split_at(total);
            entries = rest;
            DocumentMessages { topics: own, sizes: own_sizes, entries: own_entries }
        })
    }
}

impl Messages {
    /// Appends a document in which each non-zero belongs to one topic. If there are more than
    /// `most` topics, the first `most` are shared.
    pub(crate) fn push_single_topics(&mut self, topic_of: &[u32], most: usize) {
        let mut topics: Vec<u16> = topic_of.iter().map(|&k| k as u16).collect();
        topics.sort_unstable();
        topics.dedup();
        topics.truncate(most);
        let slot =
            |k: &u32| topics.binary_search(&(*k as u16)).unwrap_or(*k as usize % topics.len().max(1)) as u16;
        let entries = topic_of.iter().map(|k| MessageEntry::new(slot(k), UNITS_PER_TOKEN as u16));
        let sizes = vec![1; topic_of.len()];
        self.push(topics.iter().copied(), &sizes, entries);
    }
}
