//! Where blocks and what is kept per document live. Now: all in memory.
//!
//! The rest of the library asks for visits and never learns where the bytes were.

use crate::corpus::{Block, Corpus, Document};
use crate::error::{Error, Result};

/// Documents of one block, in the order in which they are to be visited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) block: usize,
    pub(crate) documents: Vec<u32>,
}

/// All documents of a corpus, each with `theta[K]`.
#[derive(Debug)]
pub(crate) struct Store {
    topics: usize,
    blocks: Vec<Block>,
    theta: Vec<Vec<f32>>,
}

impl Store {
    /// Reads the corpus; theta is zero.
    pub(crate) fn load(corpus: &Corpus, topics: u32) -> Result<Store> {
        let topics = topics as usize;
        let mut reader = corpus.reader();
        let (mut blocks, mut theta) =
            (Vec::with_capacity(corpus.blocks()), Vec::with_capacity(corpus.blocks()));
        for i in 0..corpus.blocks() {
            let mut block = Block::default();
            reader.read(i, &mut block)?;
            let mut rows = Vec::new();
            let length = block.documents().saturating_mul(topics);
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
        Ok(Store { topics, blocks, theta })
    }

    /// Calls `each(number, document, theta[K])` for every document, in the file's order or in that of `visits`.
    /// Documents without words are passed over.
    pub(crate) fn for_each(
        &mut self,
        visits: Option<&[Visit]>,
        mut each: impl FnMut(u64, Document<'_>, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        let topics = self.topics;
        let mut one = |block: &Block, theta: &mut [f32], d: usize| {
            let document = block.document(d);
            if document.words.is_empty() {
                return Ok(());
            }
            each(block.first_document() + d as u64, document, &mut theta[d * topics..(d + 1) * topics])
        };
        match visits {
            None => {
                for (block, theta) in self.blocks.iter().zip(&mut self.theta) {
                    for d in 0..block.documents() {
                        one(block, theta, d)?;
                    }
                }
            }
            Some(visits) => {
                for visit in visits {
                    for &d in &visit.documents {
                        one(&self.blocks[visit.block], &mut self.theta[visit.block], d as usize)?;
                    }
                }
            }
        }
        Ok(())
    }
}
