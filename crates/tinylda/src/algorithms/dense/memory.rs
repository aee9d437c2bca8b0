//! Memory of the paper's algorithms, by data structure.

use super::phases::{DOCS_PER_BATCH, GROUPS, WordEntry};
use crate::algorithms::Capabilities;
use crate::algorithms::memory::{AlgorithmMemory, MemoryInput, saturating_sum};
use crate::algorithms::piece::{StateKind, UNPACKED_NONZERO_BYTES};
use crate::simd::{Halves, LANES};
use crate::topics::stride;

/// Number of rows of K floats per thread.
const ROWS_PER_THREAD: u64 = 8;
/// Number of rows of K floats of the topics and the algorithm: alpha, lambda and their inverses.
const ROWS: u64 = 16;

/// Returns the memory needs of an algorithm with these capabilities.
pub(crate) fn needs(capabilities: Capabilities, of: &MemoryInput<'_>) -> AlgorithmMemory {
    let row = stride(of.topics) as u64 * LANES as u64 * 4;
    let words = u64::from(of.shape.words);
    let rows = words.saturating_mul(capabilities.matrices.saturating_add(of.more_matrices));
    // The sums of heavy words are rows of f64.
    let phi = rows.saturating_add(of.words.heavy.saturating_mul(2)).saturating_mul(row);
    let state = |documents, nonzeros, tokens| state(of, (documents, nonzeros, tokens));
    AlgorithmMemory {
        // The group of every word, and marks during a batch.
        words: words.saturating_mul(2),
        // Number of tokens of every word.
        at_start: words.saturating_mul(8),
        phi,
        min_phi: phi,
        scratch: scratch(capabilities, of, row),
        piece_state: state(of.sizes.documents, of.sizes.nonzeros, of.sizes.tokens),
        state: state(of.shape.documents, of.shape.nonzeros, of.shape.tokens),
        state_on_disk: capabilities.disk,
        ..AlgorithmMemory::default()
    }
}

/// Returns the bytes of the state of this number of documents, non-zeros and tokens.
fn state(of: &MemoryInput<'_>, (documents, nonzeros, tokens): (u64, u64, u64)) -> u64 {
    let theta = documents.saturating_mul(4).saturating_mul(u64::from(of.topics));
    let message = stride(of.topics) as u64 * size_of::<Halves>() as u64;
    match of.state {
        StateKind::Theta => theta,
        StateKind::Messages => {
            theta.saturating_add(nonzeros.saturating_mul(message.saturating_add(UNPACKED_NONZERO_BYTES)))
        }
        StateKind::Labels => tokens.saturating_mul(2),
        StateKind::Nothing | StateKind::QuantizedMessages | StateKind::Chunks => 0,
    }
}

/// Returns the bytes of the thread buffers and of the contributions of documents to words: a row
/// per document, and a number and a list entry per non-zero.
fn scratch(capabilities: Capabilities, of: &MemoryInput<'_>, row: u64) -> u64 {
    let own = row.saturating_mul(of.threads.saturating_mul(ROWS_PER_THREAD).saturating_add(ROWS));
    let longest = of.sizes.longest.sum(of.threads).saturating_mul(8);
    if !capabilities.threads {
        return own.saturating_add(longest);
    }
    let documents = of.sizes.documents.min(DOCS_PER_BATCH as u64);
    saturating_sum(&[
        own,
        longest,
        documents.saturating_mul(row),
        of.sizes.batch.saturating_mul(4 + size_of::<WordEntry>() as u64),
        (GROUPS * GROUPS * 4) as u64,
        row.saturating_mul(capabilities.rows_per_group).saturating_mul(GROUPS as u64),
    ])
}
