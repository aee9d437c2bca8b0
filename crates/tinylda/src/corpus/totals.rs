//! Check of the word totals of a corpus against its documents, made while blocks are read.
//!
//! Blocks are counted when they are read for the first time, in any order and by any thread. When
//! all blocks have been counted, the counts are compared with the totals that the file states. Any
//! command that reads all documents thus notices totals that do not belong to them, without an
//! additional pass.
//!
//! Instead of two counters per word, two weighted sums are kept:
//!
//! ```text
//! tokens    = sum over documents and words of r_w x_dw     (mod 2^64)
//! documents = sum over documents and words of r_w          (mod 2^64)
//! ```
//!
//! with a pseudo-random weight r_w for each word. The weights differ from process to process, so
//! that no file can be made to fit by intent, and totals that differ give other sums except with a
//! probability of about 2^-64. Start with [`TotalsCheck::count`].

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Block;

/// Weighted sums of the tokens and documents of all words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WeightedTotals {
    tokens: u64,
    documents: u64,
}

/// Blocks that were counted so far.
#[derive(Debug)]
struct CountedBlocks {
    /// Whether the counting of each block has begun.
    claimed: Vec<bool>,
    /// Number of blocks whose counting has not ended.
    left: usize,
    sums: WeightedTotals,
}

/// Compares the word totals of a corpus with its documents.
#[derive(Debug)]
pub(super) struct TotalsCheck {
    /// Key of the weights.
    key: u64,
    blocks: Mutex<CountedBlocks>,
    /// Whether all blocks were counted, so that nothing is left to do.
    complete: AtomicBool,
    /// Whether the totals differ.
    differs: AtomicBool,
}

impl TotalsCheck {
    /// Creates the check of a corpus with this number of blocks.
    pub(super) fn new(blocks: usize) -> TotalsCheck {
        TotalsCheck {
            key: RandomState::new().hash_one(0u64),
            blocks: Mutex::new(CountedBlocks {
                claimed: vec![false; blocks],
                left: blocks,
                sums: WeightedTotals::default(),
            }),
            complete: AtomicBool::new(false),
            differs: AtomicBool::new(false),
        }
    }

    /// Returns the weight of a word.
    fn weight(&self, word: u32) -> u64 {
        let mut z = self.key.wrapping_add(u64::from(word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Counts block `i` unless it was counted before. Returns the sums of all blocks if this was
    /// the last one.
    pub(super) fn count(&self, i: usize, block: &Block) -> Option<WeightedTotals> {
        if self.complete.load(Ordering::Acquire) {
            return None;
        }
        {
            let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
            if std::mem::replace(blocks.claimed.get_mut(i)?, true) {
                return None;
            }
        }
        let (mut tokens, mut documents) = (0u64, 0u64);
        for (&w, &x) in block.words.iter().zip(&block.counts) {
            let weight = self.weight(w);
            tokens = tokens.wrapping_add(weight.wrapping_mul(u64::from(x)));
            documents = documents.wrapping_add(weight);
        }
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.sums.tokens = blocks.sums.tokens.wrapping_add(tokens);
        blocks.sums.documents = blocks.sums.documents.wrapping_add(documents);
        blocks.left -= 1;
        (blocks.left == 0).then_some(blocks.sums)
    }

    /// Adds the totals of a word to the sums that the documents must have.
    pub(super) fn add_tokens(&self, sums: &mut WeightedTotals, word: u32, tokens: u64) {
        sums.tokens = sums.tokens.wrapping_add(self.weight(word).wrapping_mul(tokens));
    }

    /// Adds the number of documents of a word to the sums that the documents must have.
    pub(super) fn add_documents(&self, sums: &mut WeightedTotals, word: u32, documents: u64) {
        sums.documents = sums.documents.wrapping_add(self.weight(word).wrapping_mul(documents));
    }

    /// Records the outcome after the last block was counted.
    pub(super) fn complete(&self, same: bool) {
        self.differs.store(!same, Ordering::Release);
        self.complete.store(true, Ordering::Release);
    }

    /// Returns whether the totals were found to differ.
    pub(super) fn differs(&self) -> bool {
        self.differs.load(Ordering::Acquire)
    }

    /// Returns the blocks that were not read yet.
    pub(super) fn uncounted(&self) -> Vec<usize> {
        if self.complete.load(Ordering::Acquire) {
            return Vec::new();
        }
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.claimed.iter().enumerate().filter(|&(_, &claimed)| !claimed).map(|(i, _)| i).collect()
    }
}
