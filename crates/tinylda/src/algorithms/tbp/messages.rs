//! The messages of a run of documents, as `tbp` keeps them: a few bytes per non-zero.
//!
//! A document has a list of the topics it uses; the message of a non-zero says how many of its [`UNITS_PER_TOKEN`] are in which of
//! them, two bytes for each. theta is the sum of the messages, and is not kept.

use crate::error::Result;
use crate::numbers::{Number, NumberReader, NumberWriter};

/// Units of a token.
pub(crate) const UNITS_PER_TOKEN: u32 = 64;
/// The most topics that a document can use: what is left of two bytes is a place in its list.
pub(crate) const MAX_DOCUMENT_TOPICS: usize = 1 << (16 - BITS);
const BITS: u32 = UNITS_PER_TOKEN.ilog2();

/// Units in a topic of a document's list.
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
    /// From 1 to [`UNITS_PER_TOKEN`] at a place below [`MAX_DOCUMENT_TOPICS`].
    #[inline]
    pub(crate) fn new(place: u16, units: u16) -> MessageEntry {
        MessageEntry(place << BITS | (units - 1))
    }
    #[inline]
    pub(crate) fn place(self) -> usize {
        (self.0 >> BITS) as usize
    }
    #[inline]
    pub(crate) fn units(self) -> u16 {
        (self.0 & (UNITS_PER_TOKEN as u16 - 1)) + 1
    }
    /// The same units at another place.
    #[inline]
    pub(crate) fn at(self, place: u16) -> MessageEntry {
        MessageEntry(place << BITS | (self.0 & (UNITS_PER_TOKEN as u16 - 1)))
    }
}

/// The messages of one document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentMessages<'a> {
    /// The topics it uses.
    pub(crate) topics: &'a [u16],
    /// Parts of each non-zero's message.
    pub(crate) sizes: &'a [u8],
    /// All parts.
    pub(crate) parts: &'a [MessageEntry],
}

impl<'a> DocumentMessages<'a> {
    /// The message of every non-zero.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [MessageEntry]> {
        let mut rest = self.parts;
        self.sizes.iter().map(move |&size| {
            let (head, tail) = rest.split_at(size as usize);
            rest = tail;
            head
        })
    }
}

/// See the top.
#[derive(Debug, Clone, Default)]
pub(crate) struct Messages {
    /// How many topics each document uses,
    lengths: Vec<u16>,
    /// and which.
    topics: Vec<u16>,
    sizes: Vec<u8>,
    parts: Vec<MessageEntry>,
}

impl Messages {
    pub(crate) fn clear(&mut self) {
        self.lengths.clear();
        self.topics.clear();
        self.sizes.clear();
        self.parts.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Adds a document.
    pub(crate) fn push(
        &mut self,
        topics: impl Iterator<Item = u16>,
        sizes: &[u8],
        parts: impl ExactSizeIterator<Item = MessageEntry>,
    ) {
        // A quarter more at a time: doubled, the lists of a long document would take too much.
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
        reserve(&mut self.parts, parts.len());
        self.parts.extend(parts);
    }

    /// Becomes a copy of `other`, with little room to spare.
    pub(crate) fn copy(&mut self, other: &Messages) {
        // Messages grow and shrink in every five passes. Room that is given up leaves holes.
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
        copy(&mut self.parts, &other.parts);
    }

    /// Topics in use of all documents together, and how many documents use any.
    pub(crate) fn active(&self) -> (u64, u64) {
        (self.topics.len() as u64, self.lengths.iter().filter(|&&length| length > 0).count() as u64)
    }

    /// Becomes that of documents with so many non-zeros each, which have no messages yet.
    pub(crate) fn none(&mut self, nonzeros: impl ExactSizeIterator<Item = usize>) {
        self.clear();
        self.lengths.resize(nonzeros.len(), 0);
        self.sizes.resize(nonzeros.sum(), 0);
    }

    /// Bytes of memory of the messages of so many documents and non-zeros, with so many topics in use and entries in all.
    pub(crate) fn bytes_of(documents: u64, nonzeros: u64, topics: u64, entries: u64) -> u64 {
        let pairs = documents.saturating_add(topics).saturating_add(entries);
        pairs.saturating_mul(2).saturating_add(nonzeros)
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        (2 * self.lengths.capacity()
            + 2 * self.topics.capacity()
            + self.sizes.capacity()
            + 2 * self.parts.capacity()) as u64
    }

    /// Gives back the room that it does not need.
    pub(crate) fn shrink(&mut self) {
        self.lengths.shrink_to_fit();
        self.topics.shrink_to_fit();
        self.sizes.shrink_to_fit();
        self.parts.shrink_to_fit();
    }

    /// Writes all of it.
    pub(crate) fn put(&self, out: &mut NumberWriter<'_>) -> Result<()> {
        out.put(&self.lengths)?;
        out.put(&self.sizes)?;
        out.put(&self.topics)?;
        out.put(&self.parts)
    }

    /// Takes the messages of so many documents and non-zeros from what [`Messages::put`] wrote; none where they are not there.
    pub(crate) fn take(
        &mut self,
        from: &mut NumberReader<'_>,
        documents: usize,
        nonzeros: usize,
    ) -> Result<Option<()>> {
        let lists = from.take(documents, &mut self.lengths)?.zip(from.take(nonzeros, &mut self.sizes)?);
        let topics = self.lengths.iter().map(|&n| usize::from(n)).sum();
        let topics = from.take(topics, &mut self.topics)?;
        let parts = self.sizes.iter().map(|&n| usize::from(n)).sum();
        let parts = from.take(parts, &mut self.parts)?;
        Ok(lists.and(topics).and(parts))
    }

    /// Whether all that the engine relies on holds, for documents with so many non-zeros each and K topics.
    pub(crate) fn sound(&self, nonzeros: impl Fn(usize) -> usize, topics: u32) -> bool {
        self.topics.iter().all(|&k| u32::from(k) < topics)
            && self.lengths.iter().all(|&length| usize::from(length) <= MAX_DOCUMENT_TOPICS)
            && self.documents(nonzeros).all(|kept| {
                kept.parts.iter().all(|part| part.place() < kept.topics.len())
                    && (kept.parts.is_empty()
                        || kept
                            .iter()
                            .all(|m| m.iter().map(|p| u32::from(p.units())).sum::<u32>() == UNITS_PER_TOKEN))
            })
    }

    /// The documents one by one; `nonzeros(i)` is how many the i-th has.
    pub(crate) fn documents(
        &self,
        nonzeros: impl Fn(usize) -> usize,
    ) -> impl Iterator<Item = DocumentMessages<'_>> {
        let (mut topics, mut sizes, mut parts) = (&self.topics[..], &self.sizes[..], &self.parts[..]);
        self.lengths.iter().enumerate().map(move |(i, &length)| {
            let (own, rest) = topics.split_at(length as usize);
            topics = rest;
            let (own_sizes, rest) = sizes.split_at(nonzeros(i));
            sizes = rest;
            let total = own_sizes.iter().map(|&size| size as usize).sum();
            let (own_parts, rest) = parts.split_at(total);
            parts = rest;
            DocumentMessages { topics: own, sizes: own_sizes, parts: own_parts }
        })
    }
}

impl Messages {
    /// Adds a document whose non-zeros are each in one topic; past `most` topics they share those there are.
    pub(crate) fn push_whole(&mut self, topic_of: &[u32], most: usize) {
        let mut topics: Vec<u16> = topic_of.iter().map(|&k| k as u16).collect();
        topics.sort_unstable();
        topics.dedup();
        topics.truncate(most);
        let place =
            |k: &u32| topics.binary_search(&(*k as u16)).unwrap_or(*k as usize % topics.len().max(1)) as u16;
        let parts = topic_of.iter().map(|k| MessageEntry::new(place(k), UNITS_PER_TOKEN as u16));
        let sizes = vec![1; topic_of.len()];
        self.push(topics.iter().copied(), &sizes, parts);
    }
}
