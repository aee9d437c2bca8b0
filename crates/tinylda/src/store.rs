//! Where blocks and what is kept per document live. Now: all in memory.
//!
//! The rest of the library asks for visits and never learns where the bytes were.

use crate::algo::Active;
use crate::corpus::{Block, Corpus, Document};
use crate::engine::Columns;
use crate::error::{Error, Result};

/// Documents of one block, in the order in which they are to be visited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) block: usize,
    pub(crate) documents: Vec<u32>,
}

/// The topics that documents use, and how much of each: one list after another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists {
    pub(crate) lengths: Vec<u32>,
    pub(crate) topics: Vec<u32>,
    pub(crate) counts: Vec<f32>,
}

impl Lists {
    /// Lists of given lengths, topics from 0 on, all counts 0.
    fn of_lengths(lengths: Vec<u32>) -> Result<Lists> {
        let total = lengths.iter().map(|&n| n as usize).sum();
        let mut lists = Lists { lengths, topics: room(total)?, counts: room(total)? };
        lists.topics.extend(lists.lengths.iter().flat_map(|&n| 0..n));
        lists.counts.resize(total, 0.0);
        Ok(lists)
    }

    /// Lists have become shorter inside the rooms they had: moves them together.
    pub(crate) fn close_up(&mut self, rooms: impl Iterator<Item = usize>) {
        let (mut from, mut to) = (0, 0);
        for (room, &length) in rooms.zip(&self.lengths) {
            let length = length as usize;
            self.topics.copy_within(from..from + length, to);
            self.counts.copy_within(from..from + length, to);
            from += room;
            to += length;
        }
        self.topics.truncate(to);
        self.counts.truncate(to);
        if to * 4 < self.topics.capacity() * 3 {
            self.topics.shrink_to_fit();
            self.counts.shrink_to_fit();
        }
    }
}

/// What is kept per document.
#[derive(Debug)]
pub(crate) enum Theta {
    /// A row of K for every document.
    Rows(Vec<f32>),
    /// The topics in use of every document.
    Lists(Lists),
}

/// A vector with room for so many; a refusal of the system is an error and not the end of the process.
fn room<T>(length: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(length).map_err(|_| Error::Memory {
        need: (length as u64).saturating_mul(size_of::<T>() as u64),
        have: 0,
        remedy: "The system gave no more memory: choose fewer topics (-k) or a smaller corpus.".into(),
    })?;
    Ok(room)
}

/// A block and what goes with it, for one visit.
#[derive(Debug)]
pub(crate) struct Visited<'a> {
    pub(crate) block: &'a Block,
    /// Its non-zeros by word, where they were asked for.
    pub(crate) columns: Option<&'a Columns>,
    theta: &'a mut Theta,
    /// The order of the documents, where it is not the file's.
    order: Option<&'a [u32]>,
    topics: usize,
}

impl<'a> Visited<'a> {
    /// The block, its columns and lists, where theta is kept so.
    pub(crate) fn lists(self) -> (&'a Block, Option<&'a Columns>, Option<&'a mut Lists>) {
        let lists = match self.theta {
            Theta::Lists(lists) => Some(lists),
            Theta::Rows(_) => None,
        };
        (self.block, self.columns, lists)
    }

    /// Calls `each(document, theta)` for every document with words, in order, and adds up what it returns.
    /// An error comes with the document's number.
    pub(crate) fn sum<E>(
        self,
        mut each: impl FnMut(Document<'_>, &mut [f32]) -> Result<f64, E>,
    ) -> Result<f64, (u64, E)> {
        let Visited { block, theta, order, topics, .. } = self;
        let Theta::Rows(theta) = theta else { return Ok(0.0) };
        let mut sum = 0f64;
        let mut one = |d: usize| {
            let document = block.document(d);
            if !document.words.is_empty() {
                sum += each(document, &mut theta[d * topics..(d + 1) * topics])
                    .map_err(|e| (block.first_document() + d as u64, e))?;
            }
            Ok(())
        };
        match order {
            None => (0..block.documents()).try_for_each(&mut one)?,
            Some(order) => order.iter().try_for_each(|&d| one(d as usize))?,
        }
        Ok(sum)
    }
}

/// How theta is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keep {
    Rows,
    /// Lists, with room for so many topics.
    Lists(Active),
}

/// All documents of a corpus, each with its theta.
#[derive(Debug)]
pub(crate) struct Store {
    topics: usize,
    blocks: Vec<Block>,
    theta: Vec<Theta>,
    columns: Vec<Columns>,
}

impl Store {
    /// Reads the corpus, its blocks cut into `pieces` of so many non-zeros where that is given; theta is zero.
    pub(crate) fn load(corpus: &Corpus, topics: u32, pieces: Option<u64>, keep: Keep) -> Result<Store> {
        let mut reader = corpus.reader();
        let (mut blocks, mut theta) =
            (Vec::with_capacity(corpus.blocks()), Vec::with_capacity(corpus.blocks()));
        for i in 0..corpus.blocks() {
            let mut block = Block::default();
            reader.read(i, &mut block)?;
            let parts = match pieces {
                Some(nonzeros) => block.pieces(nonzeros),
                None => vec![block],
            };
            for block in parts {
                theta.push(match keep {
                    Keep::Rows => {
                        let length = block.documents().saturating_mul(topics as usize);
                        let mut rows = room(length)?;
                        rows.resize(length, 0.0);
                        Theta::Rows(rows)
                    }
                    Keep::Lists(active) => {
                        let cap = |document: Document<'_>| match document.tokens() {
                            0 => 0,
                            tokens => active.cap(tokens, topics) as u32,
                        };
                        Theta::Lists(Lists::of_lengths(block.iter().map(cap).collect())?)
                    }
                });
                blocks.push(block);
            }
        }
        Ok(Store { topics: topics as usize, blocks, theta, columns: Vec::new() })
    }

    /// Sorts every block's non-zeros by word too.
    pub(crate) fn add_columns(&mut self, vocabulary: u32) -> &[Columns] {
        self.columns = self.blocks.iter().map(|block| Columns::of(block, vocabulary)).collect();
        &self.columns
    }

    /// Topics in use per document that has words.
    pub(crate) fn active_topics(&self) -> f64 {
        let (mut topics, mut documents) = (0usize, 0usize);
        for (block, theta) in self.blocks.iter().zip(&self.theta) {
            let with_words = block.iter().filter(|document| !document.words.is_empty()).count();
            documents += with_words;
            topics += match theta {
                Theta::Rows(_) => with_words * self.topics,
                Theta::Lists(lists) => lists.topics.len(),
            };
        }
        topics as f64 / documents.max(1) as f64
    }

    /// Calls `each` for every block, in the file's order or in that of `visits`.
    pub(crate) fn for_each_block(
        &mut self,
        visits: Option<&[Visit]>,
        mut each: impl FnMut(Visited<'_>) -> Result<()>,
    ) -> Result<()> {
        let Store { blocks, theta, columns, topics } = self;
        let topics = *topics;
        let mut one = |i: usize, order| {
            each(Visited { block: &blocks[i], columns: columns.get(i), theta: &mut theta[i], order, topics })
        };
        match visits {
            None => (0..blocks.len()).try_for_each(|i| one(i, None)),
            Some(visits) => visits.iter().try_for_each(|visit| one(visit.block, Some(&visit.documents[..]))),
        }
    }

    /// Calls `each(number, document, theta)` for every document with words, in the file's order; what it writes to
    /// `theta[K]` stays.
    pub(crate) fn for_each(
        &mut self,
        mut each: impl FnMut(u64, Document<'_>, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        let mut row = vec![0f32; self.topics];
        for (block, theta) in self.blocks.iter().zip(&mut self.theta) {
            let mut at = 0;
            for (d, document) in block.iter().enumerate() {
                let number = block.first_document() + d as u64;
                match theta {
                    Theta::Rows(rows) => {
                        if !document.words.is_empty() {
                            each(number, document, &mut rows[d * self.topics..(d + 1) * self.topics])?;
                        }
                    }
                    Theta::Lists(lists) => {
                        let length = lists.lengths[d] as usize;
                        let (topics, counts) =
                            (&lists.topics[at..at + length], &mut lists.counts[at..at + length]);
                        at += length;
                        row.fill(0.0);
                        for (&k, &count) in topics.iter().zip(counts.iter()) {
                            row[k as usize] = count;
                        }
                        if !document.words.is_empty() {
                            each(number, document, &mut row)?;
                        }
                        for (&k, count) in topics.iter().zip(counts) {
                            *count = row[k as usize];
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
