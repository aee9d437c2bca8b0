//! Memory requirements of `tbp`, structure by structure.

use super::counts;
use super::delta::{DeltaList, MAX_CELLS};
use super::messages::{MAX_DOCUMENT_TOPICS, Messages, UNITS_PER_TOKEN};
use crate::algorithms::memory::{AlgorithmMemory, FlexibleSize, MemoryInput, saturating_sum};
use crate::corpus::{MAX_CHUNKS, MIN_CHUNK_NONZEROS};
use crate::settings::Active;
use crate::simd::LANES;
use crate::topics::stride;

/// Number of entries of a message that the plan assumes. Late in a training there are four or five.
const USUAL_ENTRIES: u64 = 16;
/// Smallest memory for deltas, in bytes per non-zero of a step. With less, a step would be
/// interrupted by writing files again and again.
const MIN_DELTAS: u64 = 24;
/// Usual memory for deltas, in bytes per non-zero of a step. Most steps need less.
const USUAL_DELTAS: u64 = 96;
/// Bytes of holes in the heap per non-zero of a piece, left by the lists of earlier pieces.
const HOLES: u64 = 8;
/// Largest number of bytes of such holes: the allocator returns the memory of large lists.
const MAX_HOLES: u64 = 1 << 20;
/// Number of rows of K floats in the buffers of a thread.
const ROWS_PER_THREAD: u64 = 20;
/// Bytes that the lists of a worker may grow by before their memory is checked again.
const UNCHECKED_DELTAS: u64 = 64 << 10;

/// Returns the memory requirements of `tbp`.
pub(crate) fn requirements(of: &MemoryInput<'_>) -> AlgorithmMemory {
    let copies = if of.state.is_nothing() { 2 } else { 1 };
    let phi = of.words.sum(|tokens| counts::row_bytes(tokens, of.topics, UNITS_PER_TOKEN));
    let phi = phi.saturating_mul(copies);
    let row = row_bytes(of.topics);
    AlgorithmMemory {
        words: counts::word_bytes(of.shape.words, of.words.samples, of.disk).saturating_mul(copies),
        at_start: 0,
        phi,
        min_phi: if of.disk { 0 } else { phi },
        scratch: scratch(of),
        deltas: deltas(of),
        piece_state: if of.state.is_nothing() { 0 } else { piece_state(of) },
        state: if of.state.is_nothing() {
            0
        } else {
            usual_messages(of, of.shape.documents, of.shape.nonzeros)
        },
        model: u64::from(of.shape.words).saturating_mul(row),
        freed_at_end: true,
        state_on_disk: true,
    }
}

/// Returns the bytes of a row of K floats, padding included.
fn row_bytes(topics: u32) -> u64 {
    stride(topics) as u64 * LANES as u64 * 4
}

/// Returns the number of entries that messages have at most on average, which is the number of
/// quanta before the final refinement.
fn max_entries(of: &MemoryInput<'_>) -> u64 {
    let quantum = if of.active == Active::All { 1 } else { 2 };
    u64::from(of.topics.min(UNITS_PER_TOKEN / quantum))
}

/// Returns the additional entries of a message in a very long document. The final refinement has
/// twice as many quanta. Usually each message has few topics by then, but most words of a very long
/// document may occur nowhere else, and their messages then have as many entries as quanta.
fn more_entries(of: &MemoryInput<'_>) -> u64 {
    u64::from(of.topics.min(UNITS_PER_TOKEN)) - max_entries(of)
}

/// Returns the largest number of topics of a document.
fn max_topics(of: &MemoryInput<'_>) -> u64 {
    u64::from(of.topics).min(MAX_DOCUMENT_TOPICS as u64)
}

/// Returns the largest number of bytes of the messages of `documents` documents with `nonzeros`
/// non-zeros.
fn messages(of: &MemoryInput<'_>, documents: u64, nonzeros: u64) -> u64 {
    let entries = nonzeros.saturating_mul(max_entries(of));
    let topics = documents.saturating_mul(max_topics(of)).min(entries);
    Messages::bytes_of(documents, nonzeros, topics, entries)
}

/// Returns the bytes of the messages of the largest piece: the largest possible messages, or usual
/// ones and the holes between the lists of earlier pieces. With few topics, all messages are as
/// large as possible, and the holes come in addition.
fn piece_state(of: &MemoryInput<'_>) -> u64 {
    let (documents, nonzeros) = (of.sizes.documents, of.sizes.nonzeros);
    let holes = nonzeros.saturating_mul(HOLES).min(MAX_HOLES);
    let long = of.sizes.longest.sum(1).saturating_mul(more_entries(of) * 2);
    messages(of, documents, nonzeros)
        .saturating_add(long)
        .max(usual_messages(of, documents, nonzeros).saturating_add(holes))
}

/// Returns the usual bytes of the messages of `documents` documents with `nonzeros` non-zeros.
fn usual_messages(of: &MemoryInput<'_>, documents: u64, nonzeros: u64) -> u64 {
    let entries = nonzeros.saturating_mul(u64::from(of.topics).min(USUAL_ENTRIES));
    let topics = documents.saturating_mul(max_topics(of).min(64)).min(entries);
    Messages::bytes_of(documents, nonzeros, topics, entries)
}

/// Returns the largest number of threads that can work on chunks of the same piece.
fn busy_threads(of: &MemoryInput<'_>) -> u64 {
    let chunks = of.sizes.nonzeros.div_ceil(MIN_CHUNK_NONZEROS).min(MAX_CHUNKS).min(of.sizes.documents);
    of.threads.min(chunks.max(1))
}

/// Returns the bytes of per-thread buffers: rows of K numbers, and the documents and messages of
/// the chunks in progress.
fn scratch(of: &MemoryInput<'_>) -> u64 {
    let rows = row_bytes(of.topics).saturating_mul(ROWS_PER_THREAD).saturating_mul(of.threads);
    let chunk = (of.sizes.nonzeros / MAX_CHUNKS).max(MIN_CHUNK_NONZEROS).saturating_mul(2);
    // Chunks have about the same size, except for those with a long document. All documents in
    // progress belong to one piece.
    let busy = busy_threads(of);
    let small = chunk.min(of.sizes.nonzeros).saturating_mul(busy);
    let long = of.sizes.longest.sum(busy).min(of.sizes.nonzeros);
    let at_work = long.saturating_add(small);
    let documents = of.sizes.documents.saturating_mul(busy).min(at_work);
    // Documents of a resident piece are unpacked chunk by chunk. The piece is not in flight then,
    // which leaves enough memory for a long document.
    let unpacked = crate::corpus::Block::bytes(documents.min(small), small);
    saturating_sum(&[
        rows,
        row_bytes(of.topics).saturating_mul(8),
        unpacked,
        messages(of, documents, at_work),
        // New messages of a document before they are appended to those of the chunk: lists that
        // grow by a quarter.
        at_work.saturating_mul(max_entries(of)).saturating_mul(5) / 2,
        // Both kinds of lists, if the documents are very long.
        long.saturating_mul(more_entries(of)).saturating_mul(9) / 2,
        at_work.saturating_mul(3),
    ])
}

/// Returns the bytes of the deltas of a step: an old message and a new one, four or eight bytes per
/// entry, in lists that grow by a quarter.
fn deltas(of: &MemoryInput<'_>) -> FlexibleSize {
    let nonzeros = of.sizes.nonzeros.saturating_mul(of.step.min(of.sizes.pieces));
    let width = stride(of.topics) as u64 * LANES as u64;
    let groups = counts::GROUPS as u64 + u64::from(of.shape.words).saturating_mul(width) / MAX_CELLS as u64;
    let lists = groups.saturating_mul(counts::FORMS as u64).min(nonzeros.saturating_add(1));
    let most = nonzeros.saturating_mul(max_entries(of) * 2 * 8 * 5 / 4);
    let first = lists.saturating_mul(DeltaList::FIRST_BYTES).saturating_add(UNCHECKED_DELTAS.min(most));
    let first = first.saturating_mul(busy_threads(of));
    let most = most.saturating_add(first);
    // A message moves between at most K topics, with up to eight bytes each in lists that grow by a
    // quarter.
    let few = u64::from(of.topics).saturating_mul(10);
    let with = |bytes: u64| nonzeros.saturating_mul(bytes.min(few)).saturating_add(first).min(most);
    if of.disk {
        FlexibleSize { min: with(MIN_DELTAS), typical: with(USUAL_DELTAS), max: most }
    } else {
        FlexibleSize { min: most, typical: most, max: most }
    }
}
