//! Estimates the memory of a report from that of its steps.

use super::layout::CircleLayout;
use super::{Report, TOP_WORDS, distance, documents, relevance};
use crate::corpus::Corpus;
use crate::error::Result;
use crate::eval::Coherence;
use crate::memory::{BYTES_PER_THREAD, allocator_overhead};
use crate::model::ModelSize;
use crate::simd::LANES;
use crate::topics::stride;

/// Bytes per pair of topics: the distances, and the matrices from which the map is computed.
const BYTES_PER_TOPIC_PAIR: u64 = 37;
/// Bytes of the output per topic, as JSON and as a page.
const BYTES_PER_TOPIC: u64 = 24 << 10;
/// Bytes of the output for the documents, as JSON and as a page.
const DOCUMENTS_BYTES: u64 = 1 << 20;
/// Number of rows of K floats that a thread uses.
const ROWS_PER_THREAD: u64 = 16;
/// Bytes per word of a document that is being inferred: a copy of the document, and a list of
/// floats that may have grown to twice its length.
const BYTES_PER_WORD: u64 = 16;

impl Report {
    /// Returns the memory in bytes that a report needs, including the model but not the program
    /// itself.
    pub fn memory_bytes(&self, model: ModelSize, corpus: Option<&Corpus>) -> Result<u64> {
        self.required_bytes(model, corpus, true)
    }

    /// Returns the memory in bytes that a report needs, including the model, if the topics of the
    /// documents come from the training. The memory of
    /// [`TrainedDocuments`](super::TrainedDocuments) is not included.
    pub fn memory_bytes_after_training(&self, model: ModelSize, corpus: &Corpus) -> Result<u64> {
        self.required_bytes(model, Some(corpus), false)
    }

    /// Returns the memory of the step that needs the most. The steps follow one another, and each
    /// frees its buffers. Steps with many small allocations include the overhead of the allocator.
    fn required_bytes(&self, model: ModelSize, corpus: Option<&Corpus>, infer: bool) -> Result<u64> {
        let threads = self.threads.max(1) as u64;
        let loading = model.memory_bytes().saturating_sub(model.loaded_bytes());
        let (mut coherence, mut inference, mut matching) = (0, 0, 0);
        if let Some(corpus) = corpus {
            let coherence_settings = Coherence { threads: self.threads, ..Coherence::default() };
            coherence = coherence_settings.memory_bytes(corpus, model.topics, TOP_WORDS as u32);
            if infer {
                inference = inference_bytes(model, corpus, threads)?;
            }
            matching = word_matching_bytes(model, corpus);
        }
        let documents = coherence.max(inference).saturating_add(matching);
        let steps = loading.max(documents).max(topics_bytes(model, threads, corpus.is_some()));
        let parts = [model.loaded_bytes(), threads.saturating_mul(BYTES_PER_THREAD), steps];
        Ok(parts.into_iter().fold(0, u64::saturating_add))
    }
}

/// Returns the memory in bytes for inferring the topics of all documents.
fn inference_bytes(model: ModelSize, corpus: &Corpus, threads: u64) -> Result<u64> {
    let row = stride(model.topics) as u64 * LANES as u64 * 4;
    // Two blocks with their names and labels, one of them prefetched.
    let blocks = corpus.largest_blocks_bytes(2).saturating_add(corpus.largest_details_bytes(2));
    // A thread keeps buffers for the longest document that it has processed.
    let long = corpus.longest_documents(threads)?.saturating_mul(BYTES_PER_WORD);
    let thread_rows = row.saturating_mul(ROWS_PER_THREAD).saturating_mul(threads);
    let chunks = documents::chunk_buffer_bytes(corpus, model.topics, threads)?;
    let found = documents::TrainedDocuments::memory_bytes(corpus, model.topics);
    // Only the findings are many small lists; the other buffers are large ones.
    let small = thread_rows.saturating_add(chunks).saturating_add(found);
    let parts = [small, allocator_overhead(small), blocks, long];
    Ok(parts.into_iter().fold(0, u64::saturating_add))
}

/// Returns the memory in bytes for the map, the words of the topics and the output. What is shown
/// of the documents is in memory, too.
fn topics_bytes(model: ModelSize, threads: u64, with_documents: bool) -> u64 {
    let (words, topics) = (u64::from(model.words), u64::from(model.topics));
    let pairs = topics.saturating_mul(topics);
    let map = pairs.saturating_mul(BYTES_PER_TOPIC_PAIR).saturating_add(distance::chunk_bytes(words, topics));
    let lists = relevance::BAND_BYTES.saturating_mul(threads.min(topics.div_ceil(16)));
    let output = topics.saturating_mul(BYTES_PER_TOPIC).min(words.saturating_mul(400));
    // The distances, and p(w) with its logarithm.
    let kept = pairs.saturating_mul(4).saturating_add(words.saturating_mul(16));
    let layout = topics.saturating_mul(CircleLayout::BYTES_PER_TOPIC);
    let words_and_output = kept.saturating_add(lists).saturating_add(output).saturating_add(layout);
    let documents = if with_documents { DOCUMENTS_BYTES } else { DOCUMENTS_BYTES / 2 };
    let bytes = map.max(words_and_output).saturating_add(documents);
    bytes.saturating_add(allocator_overhead(bytes))
}

/// Returns the memory in bytes for matching the words of a corpus to those of a model with a
/// different vocabulary.
fn word_matching_bytes(model: ModelSize, corpus: &Corpus) -> u64 {
    if corpus.shape().words == model.words {
        return 0;
    }
    let ids = u64::from(model.words).saturating_mul(56);
    corpus.vocabulary_bytes().saturating_add(ids).saturating_add(u64::from(corpus.shape().words) * 8)
}
