//! The memory of a report, step by step.

use super::{Report, TOP, distance, documents, relevance};
use crate::corpus::Corpus;
use crate::error::Result;
use crate::eval::Coherence;
use crate::memory::THREAD;
use crate::model::ModelSize;
use crate::simd::LANES;
use crate::topics::stride;

/// Bytes for each pair of topics: distances, and the map that is made of them.
const PAIR: u64 = 37;
/// Bytes of what a report says of a topic and of its documents, as text and as a page.
const OF_TOPIC: u64 = 24 << 10;
const OF_DOCUMENTS: u64 = 2 << 20;
/// Rows of K floats that a thread works with.
const ROWS_PER_THREAD: u64 = 16;
/// Bytes per word of a document at work.
const OF_WORD: u64 = 24;

impl Report {
    /// Bytes of memory that the report of a model takes, the model included, but not the program itself.
    pub fn memory_bytes(&self, model: ModelSize, corpus: Option<&Corpus>) -> Result<u64> {
        self.needs(model, corpus, true)
    }

    /// Bytes of memory that the report of a model takes, the model included, if a training hands over the topics of documents.
    /// What [`TrainedDocuments`](super::TrainedDocuments) holds comes in addition.
    pub fn memory_bytes_after_training(&self, model: ModelSize, corpus: &Corpus) -> Result<u64> {
        self.needs(model, Some(corpus), false)
    }

    fn needs(&self, model: ModelSize, corpus: Option<&Corpus>, infer: bool) -> Result<u64> {
        let (words, topics) = (u64::from(model.words), u64::from(model.topics));
        let threads = self.threads.max(1) as u64;
        let row = stride(model.topics) as u64 * LANES as u64 * 4;
        let documents = match corpus {
            None => 0,
            Some(corpus) => {
                let how = Coherence { threads: self.threads, ..Coherence::default() };
                let coherence = how.memory_bytes(corpus, model.topics, TOP as u32);
                let inference = if infer {
                    // Two blocks, one of them read ahead.
                    let blocks = corpus.block_buffer_bytes().saturating_mul(corpus.blocks().min(2) as u64);
                    // A thread keeps buffers for the longest document that it has seen.
                    let long = corpus.longest_documents(threads)?.saturating_mul(OF_WORD);
                    let own = row.saturating_mul(ROWS_PER_THREAD).saturating_mul(threads);
                    let parts = documents::parts_bytes(corpus, model.topics);
                    [blocks, long, own, parts].into_iter().fold(0, u64::saturating_add)
                } else {
                    0
                };
                coherence.max(inference).saturating_add(other_words(model, corpus))
            }
        };
        let distances = distance::chunk_bytes(words, topics);
        let map = topics.saturating_mul(topics).saturating_mul(PAIR).saturating_add(distances);
        let lists = relevance::BYTES.saturating_mul(threads.min(topics.div_ceil(16)));
        let parts = [
            model.memory_bytes(),
            threads.saturating_mul(THREAD),
            // p(w) and its logarithm.
            words.saturating_mul(16),
            documents.max(map).max(lists),
            topics.saturating_mul(OF_TOPIC).min(words.saturating_mul(400)),
            if corpus.is_some() { OF_DOCUMENTS } else { OF_DOCUMENTS / 4 },
        ];
        Ok(parts.into_iter().fold(0, u64::saturating_add))
    }
}

/// What it takes to match the words of a corpus that has others than the model.
fn other_words(model: ModelSize, corpus: &Corpus) -> u64 {
    if corpus.shape().words == model.words {
        return 0;
    }
    let ids = u64::from(model.words).saturating_mul(56);
    corpus.vocabulary_bytes().saturating_add(ids).saturating_add(u64::from(corpus.shape().words) * 8)
}
