//! Where blocks and what is kept per document live. Now: all in memory.
//!
//! The rest of the library asks for visits and never learns where the bytes were.

use crate::corpus::{Block, Corpus, Document};
use crate::error::Result;
use crate::memory;
use crate::messages::{Messages, UNITS};

/// Documents of one block, in the order in which they are to be visited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) block: usize,
    pub(crate) documents: Vec<u32>,
}

/// Which blocks are visited, and in which order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which<'a> {
    /// In the file's order, one in every so many, from the first on.
    Every(u64),
    Visits(&'a [Visit]),
}

impl Which<'_> {
    pub(crate) const ALL: Which<'static> = Which::Every(1);
}

/// What is kept per document.
#[derive(Debug)]
pub(crate) enum Theta {
    /// A row of K for every document.
    Rows(Vec<f32>),
    /// The messages of every run of documents, whose sum it is.
    Messages(Vec<Messages>),
}

/// A block and what goes with it, for one visit.
#[derive(Debug)]
pub(crate) struct Visited<'a> {
    pub(crate) block: &'a Block,
    theta: &'a mut Theta,
    /// The order of the documents, where it is not the file's.
    order: Option<&'a [u32]>,
    topics: usize,
}

impl<'a> Visited<'a> {
    /// The block and its messages, where these are kept.
    pub(crate) fn messages(self) -> Option<(&'a Block, &'a mut [Messages])> {
        match self.theta {
            Theta::Messages(runs) => Some((self.block, runs)),
            Theta::Rows(_) => None,
        }
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
                    .map_err(|e| (block.number(d), e))?;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Rows,
    Messages,
}

/// All documents of a corpus, each with its theta.
#[derive(Debug)]
pub(crate) struct Store {
    topics: usize,
    blocks: Vec<Block>,
    theta: Vec<Theta>,
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
                        let mut rows = memory::room(length as u64)?;
                        rows.resize(length, 0.0);
                        Theta::Rows(rows)
                    }
                    Keep::Messages => {
                        let empty = |run: std::ops::Range<usize>| {
                            let mut messages = Messages::default();
                            for d in run {
                                let sizes = vec![0; block.document(d).words.len()];
                                messages.push(std::iter::empty(), &sizes, std::iter::empty());
                            }
                            messages
                        };
                        Theta::Messages(block.runs().into_iter().map(empty).collect())
                    }
                });
                blocks.push(block);
            }
        }
        Ok(Store { topics: topics as usize, blocks, theta })
    }

    /// Gives every document messages of whole topics: `topic_of` says which, non-zero by non-zero.
    pub(crate) fn start(&mut self, topic_of: &[u32], most: usize) {
        let documents = self.blocks.iter().flat_map(|block| {
            (0..block.documents()).map(|d| (block.number(d), block.document(d).words.len()))
        });
        let mut starts: Vec<(u64, usize)> = documents.collect();
        starts.sort_unstable_by_key(|&(number, _)| number);
        let mut next = 0;
        for (_, start) in &mut starts {
            next += std::mem::replace(start, next);
        }
        for (block, theta) in self.blocks.iter().zip(&mut self.theta) {
            let Theta::Messages(runs) = theta else { continue };
            for (range, run) in block.runs().into_iter().zip(runs) {
                run.clear();
                for d in range {
                    let (_, from) = starts[block.number(d) as usize];
                    run.push_whole(&topic_of[from..from + block.document(d).words.len()], most);
                }
            }
        }
    }

    /// Topics in use per document that has words.
    pub(crate) fn active_topics(&self) -> f64 {
        let (mut topics, mut documents) = (0usize, 0usize);
        for (block, theta) in self.blocks.iter().zip(&self.theta) {
            let with_words = block.iter().filter(|document| !document.words.is_empty()).count();
            documents += with_words;
            topics += match theta {
                Theta::Rows(_) => with_words * self.topics,
                Theta::Messages(runs) => runs.iter().map(Messages::active).sum(),
            };
        }
        topics as f64 / documents.max(1) as f64
    }

    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Calls `each` for blocks.
    pub(crate) fn for_each_block(
        &mut self,
        which: Which<'_>,
        mut each: impl FnMut(Visited<'_>) -> Result<()>,
    ) -> Result<()> {
        let Store { blocks, theta, topics } = self;
        let topics = *topics;
        let mut one =
            |i: usize, order| each(Visited { block: &blocks[i], theta: &mut theta[i], order, topics });
        match which {
            Which::Every(n) => (0..blocks.len()).step_by(n as usize).try_for_each(|i| one(i, None)),
            Which::Visits(visits) => {
                visits.iter().try_for_each(|visit| one(visit.block, Some(&visit.documents[..])))
            }
        }
    }

    /// Calls `each(number, document, theta)` for every document with words, in the file's order; what it writes to
    /// `theta[K]` stays where rows are kept.
    pub(crate) fn for_each(
        &mut self,
        mut each: impl FnMut(u64, Document<'_>, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        let mut row = vec![0f32; self.topics];
        for (block, theta) in self.blocks.iter().zip(&mut self.theta) {
            let mut one = |d: usize, theta: &mut [f32]| {
                let document = block.document(d);
                if document.words.is_empty() {
                    return Ok(());
                }
                each(block.number(d), document, theta)
            };
            match theta {
                Theta::Rows(rows) => {
                    for (d, theta) in rows.chunks_exact_mut(self.topics).enumerate() {
                        one(d, theta)?;
                    }
                }
                Theta::Messages(runs) => {
                    for (range, run) in block.runs().into_iter().zip(runs) {
                        let nonzeros = |i: usize| block.document(range.start + i).words.len();
                        for (d, kept) in range.clone().zip(run.documents(nonzeros)) {
                            row.fill(0.0);
                            for (message, &x) in kept.iter().zip(block.document(d).counts) {
                                for part in message {
                                    let tokens = x as f32 * f32::from(part.units()) / UNITS as f32;
                                    row[kept.topics[part.place()] as usize] += tokens;
                                }
                            }
                            one(d, &mut row)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
