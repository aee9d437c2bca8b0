//! Estimates the memory of a report from that of its steps.

use super::{Report, TOP_WORDS, distance, documents, relevance};
use crate::corpus::Corpus;
use crate::error::Result;
use crate::eval::Coherence;
use crate::memory::BYTES_PER_THREAD;
use crate::model::ModelSize;
use crate::simd::LANES;
use crate::topics::stride;

/// Bytes per pair of topics: the distances, and the matrices from which the map is computed.
const BYTES_PER_TOPIC_PAIR: u64 = 37;
/// Bytes of the output per topic, as JSON and as a page.
const BYTES_PER_TOPIC: u64 = 24 << 10;
/// Bytes of the output for the documents, as JSON and as a page.
const DOCUMENTS_BYTES: u64 = 2 << 20;
/// Number of rows of K floats that a thread uses.
const ROWS_PER_THREAD: u64 = 16;
/// Bytes per word of a document that is being inferred.
const BYTES_PER_WORD: u64 = 24;

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

    fn required_bytes(&self, model: ModelSize, corpus: Option<&Corpus>, infer: bool) -> Result<u64> {
        let (words, topics) = (u64::from(model.words), u64::from(model.topics));
        let threads = self.threads.max(1) as u64;
        let row = stride(model.topics) as u64 * LANES as u64 * 4;
        let documents = match corpus {
            None => 0,
            Some(corpus) => {
                let coherence_settings = Coherence { threads: self.threads, ..Coherence::default() };
                let coherence = coherence_settings.memory_bytes(corpus, model.topics, TOP_WORDS as u32);
                let inference = if infer {
                    // Two blocks, one of them prefetched.
                    let blocks = corpus.block_buffer_bytes().saturating_mul(corpus.blocks().min(2) as u64);
                    // A thread keeps buffers for the longest document that it has processed.
                    let long = corpus.longest_documents(threads)?.saturating_mul(BYTES_PER_WORD);
                    let thread_rows = row.saturating_mul(ROWS_PER_THREAD).saturating_mul(threads);
                    let chunks = documents::chunk_buffer_bytes(corpus, model.topics);
                    [blocks, long, thread_rows, chunks].into_iter().fold(0, u64::saturating_add)
                } else {
                    0
                };
                coherence.max(inference).saturating_add(word_matching_bytes(model, corpus))
            }
        };
        let distances = distance::chunk_bytes(words, topics);
        let map =
            topics.saturating_mul(topics).saturating_mul(BYTES_PER_TOPIC_PAIR).saturating_add(distances);
        let lists = relevance::BAND_BYTES.saturating_mul(threads.min(topics.div_ceil(16)));
        let parts = [
            model.memory_bytes(),
            threads.saturating_mul(BYTES_PER_THREAD),
            // p(w) and its logarithm.
            words.saturating_mul(16),
            documents.max(map).max(lists),
            topics.saturating_mul(BYTES_PER_TOPIC).min(words.saturating_mul(400)),
            if corpus.is_some() { DOCUMENTS_BYTES } else { DOCUMENTS_BYTES / 4 },
        ];
        Ok(parts.into_iter().fold(0, u64::saturating_add))
    }
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
