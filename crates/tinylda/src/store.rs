//! Where blocks and what is kept per document live. Now: all in memory.
//!
//! The rest of the library asks for visits and never learns where the bytes were.

use crate::corpus::{Block, Corpus, Document};
use crate::engine::Columns;
use crate::error::{Error, Result};

/// Documents of one block, in the order in which they are to be visited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) block: usize,
    pub(crate) documents: Vec<u32>,
}

/// A block and what goes with it, for one visit.
#[derive(Debug)]
pub(crate) struct Visited<'a> {
    pub(crate) block: &'a Block,
    /// Its non-zeros by word, where they were asked for.
    pub(crate) columns: Option<&'a Columns>,
    /// A row of K for every document.
    pub(crate) theta: &'a mut [f32],
    /// The order of the documents, where it is not the file's.
    pub(crate) order: Option<&'a [u32]>,
    topics: usize,
}

impl Visited<'_> {
    /// Calls `each(document, theta)` for every document with words, in order, and adds up what it returns.
    /// An error comes with the document's number.
    pub(crate) fn sum<E>(
        self,
        mut each: impl FnMut(Document<'_>, &mut [f32]) -> Result<f64, E>,
    ) -> Result<f64, (u64, E)> {
        let Visited { block, theta, order, topics, .. } = self;
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

/// All documents of a corpus, each with `theta[K]`.
#[derive(Debug)]
pub(crate) struct Store {
    topics: usize,
    blocks: Vec<Block>,
    theta: Vec<Vec<f32>>,
    columns: Vec<Columns>,
}

impl Store {
    /// Reads the corpus, its blocks cut into `pieces` of so many non-zeros where that is given; theta is zero.
    pub(crate) fn load(corpus: &Corpus, topics: u32, pieces: Option<u64>) -> Result<Store> {
        let topics = topics as usize;
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
                let length = block.documents().saturating_mul(topics);
                let mut rows = Vec::new();
                rows.try_reserve_exact(length).map_err(|_| Error::Memory {
                    need: length as u64 * 4,
                    have: 0,
                    remedy: "The system gave no more memory: choose fewer topics (-k) or a smaller corpus."
                        .into(),
                })?;
                rows.resize(length, 0.0);
                theta.push(rows);
                blocks.push(block);
            }
        }
        Ok(Store { topics, blocks, theta, columns: Vec::new() })
    }

    /// Sorts every block's non-zeros by word too.
    pub(crate) fn add_columns(&mut self, vocabulary: u32) {
        self.columns = self.blocks.iter().map(|block| Columns::of(block, vocabulary)).collect();
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

    /// Calls `each(number, document, theta)` for every document with words, in the file's order.
    pub(crate) fn for_each(
        &mut self,
        mut each: impl FnMut(u64, Document<'_>, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        for (block, theta) in self.blocks.iter().zip(&mut self.theta) {
            for ((d, document), theta) in block.iter().enumerate().zip(theta.chunks_exact_mut(self.topics)) {
                if !document.words.is_empty() {
                    each(block.first_document() + d as u64, document, theta)?;
                }
            }
        }
        Ok(())
    }
}
