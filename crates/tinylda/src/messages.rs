//! The messages of a run of documents, as `tbp` keeps them: a few bytes per non-zero.
//!
//! A document has a list of the topics it uses; the message of a non-zero says how many of its [`UNITS`] are in which of
//! them, two bytes for each. theta is the sum of the messages, and is not kept.

/// Units of a token.
pub(crate) const UNITS: u32 = 64;
/// The most topics that a document can use: what is left of two bytes is a place in its list.
pub(crate) const MOST_TOPICS: usize = 1 << (16 - BITS);
const BITS: u32 = UNITS.ilog2();

/// Units in a topic of a document's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part(u16);

impl Part {
    /// From 1 to [`UNITS`] at a place below [`MOST_TOPICS`].
    #[inline]
    pub(crate) fn new(place: u16, units: u16) -> Part {
        Part(place << BITS | (units - 1))
    }
    #[inline]
    pub(crate) fn place(self) -> usize {
        (self.0 >> BITS) as usize
    }
    #[inline]
    pub(crate) fn units(self) -> u16 {
        (self.0 & (UNITS as u16 - 1)) + 1
    }
    /// The same units at another place.
    #[inline]
    pub(crate) fn at(self, place: u16) -> Part {
        Part(place << BITS | (self.0 & (UNITS as u16 - 1)))
    }
}

/// The messages of one document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept<'a> {
    /// The topics it uses.
    pub(crate) topics: &'a [u32],
    /// Parts of each non-zero's message.
    pub(crate) sizes: &'a [u8],
    /// All parts.
    pub(crate) parts: &'a [Part],
}

impl<'a> Kept<'a> {
    /// The message of every non-zero.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [Part]> {
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
    topics: Vec<u32>,
    sizes: Vec<u8>,
    parts: Vec<Part>,
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
        topics: impl Iterator<Item = u32>,
        sizes: &[u8],
        parts: impl Iterator<Item = Part>,
    ) {
        let before = self.topics.len();
        self.topics.extend(topics);
        self.lengths.push((self.topics.len() - before) as u16);
        self.sizes.extend_from_slice(sizes);
        self.parts.extend(parts);
    }

    /// Becomes a copy of `other`, with little room to spare.
    pub(crate) fn copy(&mut self, other: &Messages) {
        fn copy<T: Copy>(to: &mut Vec<T>, from: &[T]) {
            to.clear();
            if to.capacity() > from.len() + from.len() / 4 {
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

    /// Topics in use of all documents together.
    pub(crate) fn active(&self) -> usize {
        self.topics.len()
    }

    /// The documents one by one; `nonzeros(i)` is how many the i-th has.
    pub(crate) fn documents(&self, nonzeros: impl Fn(usize) -> usize) -> impl Iterator<Item = Kept<'_>> {
        let (mut topics, mut sizes, mut parts) = (&self.topics[..], &self.sizes[..], &self.parts[..]);
        self.lengths.iter().enumerate().map(move |(i, &length)| {
            let (own, rest) = topics.split_at(length as usize);
            topics = rest;
            let (own_sizes, rest) = sizes.split_at(nonzeros(i));
            sizes = rest;
            let total = own_sizes.iter().map(|&size| size as usize).sum();
            let (own_parts, rest) = parts.split_at(total);
            parts = rest;
            Kept { topics: own, sizes: own_sizes, parts: own_parts }
        })
    }
}

impl Messages {
    /// Adds a document whose non-zeros are each in one topic; past `most` topics they share those there are.
    pub(crate) fn push_whole(&mut self, topic_of: &[u32], most: usize) {
        let mut topics = topic_of.to_vec();
        topics.sort_unstable();
        topics.dedup();
        topics.truncate(most);
        let place = |k: &u32| topics.binary_search(k).unwrap_or(*k as usize % topics.len().max(1)) as u16;
        let parts = topic_of.iter().map(|k| Part::new(place(k), UNITS as u16));
        let sizes = vec![1; topic_of.len()];
        self.push(topics.iter().copied(), &sizes, parts);
    }
}
