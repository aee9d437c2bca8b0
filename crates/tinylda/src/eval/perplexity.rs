//! Predictive perplexity of held-out documents, by the paper's protocol.
//!
//! Start reading at [`predictive_perplexity`]. The words of each test document are split; topics
//! are inferred from one part and predict the other.

use crate::corpus::{Block, Corpus, Document};
use crate::error::{Error, Result};
use crate::infer::{DocumentBuffer, Inference, Inferencer, VocabularyMap};
use crate::model::Model;
use crate::progress::{ProgressCallback, Step};
use crate::random::{Purpose, Random};

/// Definition of predictive perplexity, as printed with its values.
pub const DEFINITION: &str = "exp(-sum x log sum_k p(w|k)p(k|d) / sum x) over the scored tokens. Each test document's tokens are \
split at random: 20% (rounded) are scored, the others observed (a single count above 10000 in that proportion). The topics are fixed; p(k|d) is estimated on the observed \
tokens from a uniform start, until it moves by less than 1e-4 of them or 500 iterations are done. Words that the model does \
not know are left out. Lower is better.";

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

/// Evaluates a model on held-out documents. `progress` receives the number of finished documents
/// and can cancel.
pub fn predictive_perplexity(
    model: &Model,
    corpus: &Corpus,
    seed: u64,
    inference: Inference,
    progress: ProgressCallback<'_>,
) -> Result<Evaluation> {
    let known = VocabularyMap::new(model, corpus)?;
    let unknown = known.unknown(corpus)?;
    let mut inferencer = Inferencer::new(model, inference)?;
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
    let mut known_part = DocumentBuffer::default();
    let (mut observed, mut scored) = (DocumentBuffer::default(), DocumentBuffer::default());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block)?;
        for (within, document) in block.iter().enumerate() {
            let d = block.first_document() + within as u64;
            if within % 64 == 0 && progress(Step::Documents.at(d, corpus.shape().documents)).is_break() {
                return Err(Error::Interrupted);
            }
            known.known_words(document, &mut known_part);
            split_tokens(
                known_part.document(),
                &mut Random::new(seed, Purpose::HeldOutTokens, d),
                &mut observed,
                &mut scored,
            );
            let (observed_tokens, scored_tokens) = (observed.document().tokens(), scored.document().tokens());
            if scored_tokens == 0 {
                result.documents_skipped += 1;
                continue;
            }
            inferencer.theta(d, observed.document())?;
            log_likelihood += inferencer.log_likelihood(d, scored.document(), observed_tokens)?;
            result.documents += 1;
            result.tokens_observed += observed_tokens;
            result.tokens_scored += scored_tokens;
        }
    }
    if result.tokens_scored == 0 {
        return Err(Error::Input {
            path: corpus.origin().to_path_buf(),
            position: crate::error::Position::Whole,
            found: "no document with three or more tokens that the model knows".into(),
            expected: "documents that can be split 80/20".into(),
            remedy: "use longer documents, or the vocabulary that the model was trained with".into(),
        });
    }
    result.predictive_perplexity = libm::exp(-log_likelihood / result.tokens_scored as f64);
    Ok(result)
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
