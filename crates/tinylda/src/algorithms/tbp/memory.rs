//! The memory of `tbp`, structure by structure.

use super::counts;
use super::delta::{DeltaList, MAX_CELLS};
use super::messages::{MAX_DOCUMENT_TOPICS, Messages, UNITS_PER_TOKEN};
use crate::algorithms::memory::{AlgorithmMemory, Flexible, MemoryInput, sum};
use crate::corpus::{MAX_CHUNKS, MIN_CHUNK_NONZEROS};
use crate::settings::Active;
use crate::simd::LANES;
use crate::topics::stride;

/// Entries of a message on average, in memory and on disk, after the first passes.
const USUAL_ENTRIES: u64 = 16;
/// Deltas per non-zero of a step, in bytes: with less a step would be interrupted by files again and again.
const LEAST_DELTAS: u64 = 24;
/// Deltas per non-zero of a step, in bytes: most steps have fewer.
const USUAL_DELTAS: u64 = 96;
/// Rows of K floats that a thread works with.
const ROWS_PER_THREAD: u64 = 20;
/// Bytes of a worker's lists that may be taken before their memory is looked at again.
const UNCHECKED_DELTAS: u64 = 64 << 10;

/// What `tbp` needs.
pub(crate) fn needs(of: &MemoryInput<'_>) -> AlgorithmMemory {
    let copies = if of.state.is_nothing() { 2 } else { 1 };
    let phi = of.words.sum(|tokens| counts::row_bytes(tokens, of.topics, UNITS_PER_TOKEN));
    let phi = phi.saturating_mul(copies);
    let row = row_bytes(of.topics);
    AlgorithmMemory {
        words: counts::word_bytes(of.shape.words, of.words.samples, of.disk).saturating_mul(copies),
        at_start: 0,
        phi,
        least_phi: if of.disk { 0 } else { phi },
        scratch: scratch(of),
        deltas: deltas(of),
        piece_state: if of.state.is_nothing() { 0 } else { piece_state(of) },
        state: if of.state.is_nothing() { 0 } else { usual_state(of) },
        model: u64::from(of.shape.words).saturating_mul(row),
        freed_at_end: true,
        state_on_disk: true,
    }
}

fn row_bytes(topics: u32) -> u64 {
    stride(topics) as u64 * LANES as u64 * 4
}

/// The most entries of a message: as many as it has quanta.
fn most_entries(of: &MemoryInput<'_>) -> u64 {
    let quantum = if of.active == Active::All { 1 } else { 2 };
    u64::from(of.topics.min(UNITS_PER_TOKEN / quantum))
}

/// The most topics of a document.
fn most_topics(of: &MemoryInput<'_>) -> u64 {
    u64::from(of.topics).min(MAX_DOCUMENT_TOPICS as u64)
}

/// The messages of so many documents and non-zeros, at most.
fn messages(of: &MemoryInput<'_>, documents: u64, nonzeros: u64) -> u64 {
    let entries = nonzeros.saturating_mul(most_entries(of));
    let topics = documents.saturating_mul(most_topics(of)).min(entries);
    Messages::bytes_of(documents, nonzeros, topics, entries)
}

/// The messages of the largest piece.
fn piece_state(of: &MemoryInput<'_>) -> u64 {
    messages(of, of.sizes.documents, of.sizes.nonzeros)
}

/// The messages of all documents, about.
fn usual_state(of: &MemoryInput<'_>) -> u64 {
    let entries = of.shape.nonzeros.saturating_mul(u64::from(of.topics).min(USUAL_ENTRIES));
    let topics = of.shape.documents.saturating_mul(most_topics(of).min(64)).min(entries);
    Messages::bytes_of(of.shape.documents, of.shape.nonzeros, topics, entries)
}

/// The most threads that have a chunk of the same piece to work on.
fn busy_threads(of: &MemoryInput<'_>) -> u64 {
    let chunks = of.sizes.nonzeros.div_ceil(MIN_CHUNK_NONZEROS).min(MAX_CHUNKS).min(of.sizes.documents);
    of.threads.min(chunks.max(1))
}

/// What threads work with: rows of K numbers, and the documents and messages of the chunks at work.
fn scratch(of: &MemoryInput<'_>) -> u64 {
    let rows = row_bytes(of.topics).saturating_mul(ROWS_PER_THREAD).saturating_mul(of.threads);
    let chunk = (of.sizes.nonzeros / MAX_CHUNKS).max(MIN_CHUNK_NONZEROS).saturating_mul(2);
    // Chunks have about the same size, but for a long document; and documents at work are of one piece.
    let busy = busy_threads(of);
    let small = chunk.min(of.sizes.nonzeros).saturating_mul(busy);
    let at_work = of.sizes.longest.sum(busy).min(of.sizes.nonzeros).saturating_add(small);
    let documents = of.sizes.documents.saturating_mul(busy).min(at_work);
    // Documents of a piece that stays are unpacked by chunks; it is not in flight then, so that a long one has memory enough.
    let unpacked = crate::corpus::Block::bytes(documents.min(small), small);
    sum(&[
        rows,
        row_bytes(of.topics).saturating_mul(8),
        unpacked,
        messages(of, documents, at_work),
        // A document's new messages before they are put to those of the chunk: lists that grow by a quarter.
        at_work.saturating_mul(most_entries(of)).saturating_mul(5) / 2,
        at_work.saturating_mul(3),
    ])
}

/// Deltas of a step: an old message and a new one, four or eight bytes an entry, in lists that grow by a quarter.
fn deltas(of: &MemoryInput<'_>) -> Flexible {
    let nonzeros = of.sizes.nonzeros.saturating_mul(of.step.min(of.sizes.pieces));
    let width = stride(of.topics) as u64 * LANES as u64;
    let groups = counts::GROUPS as u64 + u64::from(of.shape.words).saturating_mul(width) / MAX_CELLS as u64;
    let lists = groups.saturating_mul(counts::FORMS as u64).min(nonzeros.saturating_add(1));
    let most = nonzeros.saturating_mul(most_entries(of) * 2 * 8 * 5 / 4);
    let first = lists.saturating_mul(DeltaList::FIRST_BYTES).saturating_add(UNCHECKED_DELTAS.min(most));
    let first = first.saturating_mul(busy_threads(of));
    let most = most.saturating_add(first);
    // A message moves between at most K topics, up to eight bytes each in lists that grow by a quarter.
    let few = u64::from(of.topics).saturating_mul(10);
    let with = |bytes: u64| nonzeros.saturating_mul(bytes.min(few)).saturating_add(first).min(most);
    if of.disk {
        Flexible { least: with(LEAST_DELTAS), usual: with(USUAL_DELTAS), most }
    } else {
        Flexible { least: most, usual: most, most }
    }
}
