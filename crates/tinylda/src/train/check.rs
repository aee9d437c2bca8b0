//! Whether settings make sense for a corpus, before any work: what is wrong, what would be right, what to do.

use super::Trainer;
use crate::corpus::{Corpus, Shape, word_name};
use crate::counts::most_tokens;
use crate::error::{Error, Result};
use crate::messages::UNITS;
use crate::plan::Plan;

impl Trainer {
    /// Whether these settings make sense for the corpus, and fit the memory: what [`train`](Trainer::train) asks first.
    pub fn check(&self, corpus: &Corpus) -> Result<()> {
        let shape = corpus.shape();
        if self.topics == 0 {
            return bad("-k", "0".into(), "at least 1 topic", "100 is a good first choice.");
        }
        if u64::from(self.topics) > shape.tokens {
            let expected = format!("at most {}, the tokens of the corpus", shape.tokens);
            return bad(
                "-k",
                self.topics.to_string(),
                &expected,
                "Choose fewer topics, or check that the corpus is the right one.",
            );
        }
        for (option, value) in [("--alpha", self.alpha_value()), ("--beta", self.beta)] {
            // Within these the products of the update stay inside the range of 32-bit floats.
            if !(1e-9..=1e6).contains(&value) {
                return bad(
                    option,
                    format!("{value:?}"),
                    "a number from 1e-9 to 1000000",
                    "The paper has alpha = 2/K and beta = 0.01.",
                );
            }
        }
        let tolerance = self.tolerance_at(1.0);
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            return bad(
                "--tol",
                tolerance.to_string(),
                "a number from 0",
                "0 means: never stop before the last pass.",
            );
        }
        if self.passes == 0 {
            return bad("--passes", "0".into(), "at least 1", "200 passes are usually enough.");
        }
        self.check_given(shape)?;
        if self.algorithm.small_messages() {
            let most = most_tokens(UNITS);
            if let Some((w, n)) = (0u32..).zip(corpus.word_totals()?.tokens).find(|&(_, n)| n > most) {
                let vocabulary = corpus.vocabulary()?;
                let name = word_name(vocabulary.as_ref(), w);
                return bad(
                    "--algorithm",
                    format!(
                        "{} for a corpus in which the word {name} occurs {n} times",
                        self.algorithm.name()
                    ),
                    &format!("words that occur at most {most} times"),
                    "Leave it out of the corpus: a word that common tells topics nothing. Or use --algorithm atbp.",
                );
            }
        }
        if let Some(have) = self.memory {
            let packed = corpus.bytes_without_strings();
            let bytes = (packed, corpus.bytes() - packed);
            Plan::new(shape, bytes, self.topics, self.algorithm, self.active).check(self.topics, have)?;
        }
        Ok(())
    }

    /// The same of a start and an order that were given.
    fn check_given(&self, shape: Shape) -> Result<()> {
        if let Some(start) = &self.start {
            if start.len() as u64 != shape.nonzeros {
                let expected = format!("{}, one for each non-zero of the corpus", shape.nonzeros);
                return bad(
                    "--start",
                    format!("a list of {} topics", start.len()),
                    &expected,
                    "Give one topic per line, in the order of the corpus.",
                );
            }
            if let Some(at) = start.iter().position(|&k| k >= self.topics) {
                let found = format!("topic {} on line {}", start[at], at + 1);
                return bad(
                    "--start",
                    found,
                    &format!("0 to {}", self.topics - 1),
                    "Topics are counted from 0 and less than -k.",
                );
            }
        }
        if let Some(order) = &self.order {
            let mut seen = vec![false; shape.documents as usize];
            let whole = order.len() as u64 == shape.documents
                && order
                    .iter()
                    .all(|&d| seen.get_mut(d as usize).is_some_and(|s| !std::mem::replace(s, true)));
            if !whole {
                let expected = format!("every document from 0 to {} once", shape.documents.saturating_sub(1));
                return bad(
                    "--order",
                    format!("a list of {} documents", order.len()),
                    &expected,
                    "Give one document number per line.",
                );
            }
            if !self.algorithm.shuffles() {
                return bad(
                    "--order",
                    "given".into(),
                    "it only with an asynchronous algorithm",
                    "Leave it out: the order makes no difference here.",
                );
            }
        }
        Ok(())
    }
}

/// The complaint about an option.
fn bad<T>(option: &'static str, found: String, expected: &str, remedy: &str) -> Result<T> {
    Err(Error::Setting { option, found, expected: expected.into(), remedy: remedy.into() })
}
