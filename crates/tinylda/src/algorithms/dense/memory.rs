//! The memory of the paper's algorithms, structure by structure.

use super::phases::{DOCS_PER_BATCH, Entry, GROUPS};
use crate::algorithms::Capabilities;
use crate::algorithms::memory::{AlgorithmMemory, MemoryInput, sum};
use crate::algorithms::piece::{OPEN_NONZERO, StateKind};
use crate::simd::{Halves, LANES};
use crate::topics::stride;

/// Rows of K floats that a thread works with.
const ROWS_PER_THREAD: u64 = 8;
/// Rows of K floats that the topics and an algorithm have: alpha, lambda, their inverses.
const ROWS: u64 = 16;

/// What an algorithm with these capabilities needs.
pub(crate) fn needs(capabilities: Capabilities, of: &MemoryInput<'_>) -> AlgorithmMemory {
    let row = stride(of.topics) as u64 * LANES as u64 * 4;
    let words = u64::from(of.shape.words);
    let rows = words.saturating_mul(capabilities.matrices.saturating_add(of.more_matrices));
    // Sums of heavy words are rows of f64.
    let phi = rows.saturating_add(of.words.heavy.saturating_mul(2)).saturating_mul(row);
    let state = |documents, nonzeros, tokens| state(of, (documents, nonzeros, tokens));
    AlgorithmMemory {
        // The group of every word and marks on the way.
        words: words.saturating_mul(2),
        // Tokens of every word.
        at_start: words.saturating_mul(8),
        phi,
        least_phi: phi,
        scratch: scratch(capabilities, of, row),
        piece_state: state(of.sizes.documents, of.sizes.nonzeros, of.sizes.tokens),
        state: state(of.shape.documents, of.shape.nonzeros, of.shape.tokens),
        state_on_disk: capabilities.disk,
        ..AlgorithmMemory::default()
    }
}

/// The state of so many documents, non-zeros and tokens.
fn state(of: &MemoryInput<'_>, (documents, nonzeros, tokens): (u64, u64, u64)) -> u64 {
    let theta = documents.saturating_mul(4).saturating_mul(u64::from(of.topics));
    let message = stride(of.topics) as u64 * size_of::<Halves>() as u64;
    match of.state {
        StateKind::Theta => theta,
        StateKind::Messages => {
            theta.saturating_add(nonzeros.saturating_mul(message.saturating_add(OPEN_NONZERO)))
        }
        StateKind::Labels => tokens.saturating_mul(2),
        StateKind::Nothing | StateKind::QuantizedMessages | StateKind::Chunks => 0,
    }
}

/// What threads work with, and what documents at work leave for words: a row for each, a number and an entry of a list for
/// each non-zero.
fn scratch(capabilities: Capabilities, of: &MemoryInput<'_>, row: u64) -> u64 {
    let own = row.saturating_mul(of.threads.saturating_mul(ROWS_PER_THREAD).saturating_add(ROWS));
    let longest = of.sizes.longest.sum(of.threads).saturating_mul(8);
    if !capabilities.threads {
        return own.saturating_add(longest);
    }
    let documents = of.sizes.documents.min(DOCS_PER_BATCH as u64);
    sum(&[
        own,
        longest,
        documents.saturating_mul(row),
        of.sizes.batch.saturating_mul(4 + size_of::<Entry>() as u64),
        (GROUPS * GROUPS * 4) as u64,
        row.saturating_mul(capabilities.rows_per_group).saturating_mul(GROUPS as u64),
    ])
}
