//! Predictive perplexity of held-out documents, by the paper's protocol.
//!
//! Start reading at [`HeldOutEvaluation`]. The words of each test document are split; topics are
//! inferred from one part and predict the other.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::corpus::{Block, Corpus, Document};
use crate::error::{Error, Result};
use crate::infer::{DocumentBuffer, Inference, Inferencer, VocabularyMap};
use crate::model::Model;
use crate::progress::{ProgressCallback, Step};
use crate::random::{Purpose, Random};
use crate::threads::pool;

/// Definition of predictive perplexity in one sentence, as printed with its values.
pub const DEFINITION: &str = "exp(-mean log p(w|d)) over a random 20% of the tokens of every test document, where p(w|d) = sum_k \
p(w|k) p(k|d), and p(k|d) is inferred from the other 80% with the topics fixed; lower is better.";

/// Details of the evaluation, which complete [`DEFINITION`] for those who repeat it.
pub const PROTOCOL: &str = "The number of scored tokens of a document is rounded, and a single count above 10000 is divided in \
that proportion. p(k|d) is estimated from a uniform start, until it moves by less than 1e-4 of the observed tokens or 500 \
iterations are done. Words that the model does not know are left out.";

/// A model's predictive perplexity on a test corpus.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// Predictive perplexity as defined by [`DEFINITION`]. Lower is better.
    pub predictive_perplexity: f64,
    /// Number of test documents with a scored token.
    pub documents: u64,
    /// Number of test documents that are too short to have a scored token.
    pub documents_skipped: u64,
    /// Number of tokens from which theta was estimated.
    pub tokens_observed: u64,
    /// Number of tokens that were predicted.
    pub tokens_scored: u64,
    /// Number of distinct words of the test corpus that the model does not know.
    pub words_unknown: u64,
    /// Number of tokens of unknown words. They were ignored.
    pub tokens_unknown: u64,
}

/// Evaluates a model on held-out documents, on one thread. `progress` receives the number of
/// finished documents and can cancel.
pub fn predictive_perplexity(
    model: &Model,
    corpus: &Corpus,
    seed: u64,
    inference: Inference,
    progress: ProgressCallback<'_>,
) -> Result<Evaluation> {
    HeldOutEvaluation { seed, inference, threads: 1 }.run(model, corpus, progress)
}

/// Number of documents per thread between two reports of progress.
const DOCUMENTS_PER_REPORT: usize = 64;

/// Settings of an evaluation on held-out documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldOutEvaluation {
    /// Seed of the split of each document into observed and scored tokens.
    pub seed: u64,
    /// Method by which the topics of documents are inferred.
    pub inference: Inference,
    /// Number of threads. The result does not depend on it.
    pub threads: usize,
}

/// The part of an [`Evaluation`] that comes from one document.
#[derive(Debug, Clone, Copy, Default)]
struct DocumentScore {
    log_likelihood: f64,
    tokens_observed: u64,
    tokens_scored: u64,
}

/// The state of a worker thread.
#[derive(Debug)]
struct EvaluationWorker<'m> {
    inferencer: Inferencer<'m>,
    known: DocumentBuffer,
    observed: DocumentBuffer,
    scored: DocumentBuffer,
}

impl EvaluationWorker<'_> {
    /// Predicts the scored tokens of a document from its observed ones.
    fn score(
        &mut self,
        known: &VocabularyMap,
        (d, document): (u64, Document<'_>),
        seed: u64,
    ) -> Result<DocumentScore> {
        known.known_words(document, &mut self.known);
        let random = &mut Random::new(seed, Purpose::HeldOutTokens, d);
        split_tokens(self.known.document(), random, &mut self.observed, &mut self.scored);
        let (tokens_observed, tokens_scored) =
            (self.observed.document().tokens(), self.scored.document().tokens());
        if tokens_scored == 0 {
            return Ok(DocumentScore::default());
        }
        self.inferencer.theta(d, self.observed.document())?;
        let log_likelihood = self.inferencer.log_likelihood(d, self.scored.document(), tokens_observed)?;
        Ok(DocumentScore { log_likelihood, tokens_observed, tokens_scored })
    }
}

impl HeldOutEvaluation {
    /// Evaluates a model. `progress` receives the number of finished documents and can cancel.
    pub fn run(&self, model: &Model, corpus: &Corpus, progress: ProgressCallback<'_>) -> Result<Evaluation> {
        let known = VocabularyMap::new(model, corpus)?;
        let unknown = known.unknown(corpus)?;
        let pool = pool(self.threads)?;
        let workers = self.workers(model, pool.current_num_threads())?;
        let (mut reader, mut block) = (corpus.reader(), Block::default());
        let mut result = Evaluation {
            predictive_perplexity: f64::NAN,
            documents: 0,
            documents_skipped: 0,
            tokens_observed: 0,
            tokens_scored: 0,
            words_unknown: unknown.words,
            tokens_unknown: unknown.tokens,
        };
        let mut log_likelihood = 0f64;
        for i in 0..corpus.blocks() {
            reader.read(i, &mut block)?;
            let numbers: Vec<usize> = (0..block.documents()).collect();
            for batch in numbers.chunks(DOCUMENTS_PER_REPORT * workers.len()) {
                let done = block.first_document() + batch[0] as u64;
                if progress(Step::Documents.at(done, corpus.shape().documents)).is_break() {
                    return Err(Error::Interrupted);
                }
                let score = |&at: &usize| {
                    let thread = rayon::current_thread_index().unwrap_or(0);
                    // A poisoned lock is harmless: rayon propagates the panic to the caller.
                    let mut worker = workers[thread].lock().unwrap_or_else(PoisonError::into_inner);
                    let d = block.first_document() + at as u64;
                    worker.score(&known, (d, block.document(at)), self.seed)
                };
                let scores: Vec<DocumentScore> =
                    pool.install(|| batch.par_iter().map(score).collect::<Result<_>>())?;
                // In the order of the documents, so that the sum does not depend on the threads.
                for score in scores {
                    log_likelihood += score.log_likelihood;
                    result.tokens_observed += score.tokens_observed;
                    result.tokens_scored += score.tokens_scored;
                    result.documents += u64::from(score.tokens_scored > 0);
                    result.documents_skipped += u64::from(score.tokens_scored == 0);
                }
            }
        }
        if result.tokens_scored == 0 {
            return Err(nothing_scored(corpus));
        }
        result.predictive_perplexity = libm::exp(-log_likelihood / result.tokens_scored as f64);
        Ok(result)
    }

    /// Returns the states of the worker threads.
    fn workers<'m>(&self, model: &'m Model, threads: usize) -> Result<Vec<Mutex<EvaluationWorker<'m>>>> {
        let first = Inferencer::new(model, self.inference)?;
        let worker = |_| EvaluationWorker {
            inferencer: first.clone_for_thread(),
            known: DocumentBuffer::default(),
            observed: DocumentBuffer::default(),
            scored: DocumentBuffer::default(),
        };
        Ok((0..threads).map(worker).map(Mutex::new).collect())
    }
}

/// Returns the error for a corpus whose documents are all too short.
fn nothing_scored(corpus: &Corpus) -> Error {
    Error::Input {
        path: corpus.origin().to_path_buf(),
        position: crate::error::Position::Whole,
        found: "no document with three or more tokens that the model knows".into(),
        expected: "documents that can be split 80/20".into(),
        remedy: "use longer documents, or the vocabulary that the model was trained with".into(),
    }
}

/// Largest count of a word whose tokens are drawn one by one.
const MAX_SINGLY_DRAWN: u32 = 10_000;

/// Splits the tokens of a document at random: exactly 20% (rounded) are scored, the others
/// observed. All choices are equally likely (Knuth's algorithm S over tokens).
fn split_tokens(
    document: Document<'_>,
    random: &mut Random,
    observed: &mut DocumentBuffer,
    scored: &mut DocumentBuffer,
) {
    observed.clear();
    scored.clear();
    let mut tokens_left = document.tokens();
    let mut needed = (tokens_left + 2) / 5;
    for (&w, &x) in document.words.iter().zip(document.counts) {
        if x > MAX_SINGLY_DRAWN {
            // Drawing token by token would take too long: take the expected number, rounded at
            // random.
            let share = needed as f64 * f64::from(x) / tokens_left as f64 + random.unit();
            let chosen = (share as u64)
                .min(needed)
                .max(needed.saturating_sub(tokens_left - u64::from(x)))
                .min(u64::from(x));
            needed -= chosen;
            tokens_left -= u64::from(x);
            scored.push(w, chosen as u32);
            observed.push(w, x - chosen as u32);
            continue;
        }
        let mut chosen = 0;
        for _ in 0..x {
            if needed == 0 {
                break;
            }
            if random.below(tokens_left) < needed {
                needed -= 1;
                chosen += 1;
            }
            tokens_left -= 1;
        }
        scored.push(w, chosen);
        observed.push(w, x - chosen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_is_drawn_and_nothing_is_lost() {
        let words: Vec<u32> = (0..50).collect();
        let counts: Vec<u32> = (1..51).collect();
        let document = Document { words: &words, counts: &counts };
        let (mut observed, mut scored) = (DocumentBuffer::default(), DocumentBuffer::default());
        split_tokens(document, &mut Random::new(1, Purpose::HeldOutTokens, 0), &mut observed, &mut scored);
        assert_eq!(scored.document().tokens(), (document.tokens() as f64 * 0.2).round() as u64);
        assert_eq!(scored.document().tokens() + observed.document().tokens(), document.tokens());
        for (n, expected) in [(0u32, 0), (1, 0), (2, 0), (3, 1), (7, 1), (8, 2), (10, 2)] {
            let one = [n];
            split_tokens(
                Document { words: &[5][..n.min(1) as usize], counts: &one[..n.min(1) as usize] },
                &mut Random::new(1, Purpose::HeldOutTokens, 0),
                &mut observed,
                &mut scored,
            );
            assert_eq!(scored.document().tokens(), expected, "{n}");
        }
    }
}
