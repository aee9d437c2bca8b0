//! Whether settings make sense for a corpus, before any work: what is wrong, what would be right, what to do.

use super::Trainer;
use crate::algorithms::Algorithm;
use crate::algorithms::piece::StateKind;
use crate::algorithms::tbp::counts::samples_of;
use crate::algorithms::tbp::messages::UNITS_PER_TOKEN;
use crate::algorithms::tbp::seed_words::SeedWord;
use crate::corpus::{Corpus, Shape, word_name};
use crate::error::{Error, Result};
use crate::topics::heavy_words;
use crate::train::plan::{Classes, Needs};

impl Trainer {
    /// Whether these settings make sense for the corpus, and fit the memory: what [`train`](Trainer::train) asks first.
    pub fn check(&self, corpus: &Corpus) -> Result<()> {
        self.plan(corpus).map(|_| ())
    }

    /// The same without the memory; the tokens of every word come with it, those that seeds add among them, and the seeds.
    pub(super) fn check_settings(&self, corpus: &Corpus) -> Result<(Vec<u64>, Vec<SeedWord>)> {
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
        self.check_special()?;
        self.check_optimize()?;
        self.check_seeds()?;
        if self.recompute && self.snapshots.is_some() {
            return bad(
                "--snapshots",
                "given with --theta recompute".into(),
                "only one of the two",
                "Leave one of them out: what a pass has made is whole only when the next begins.",
            );
        }
        self.check_given(shape)?;
        let mut word_tokens = corpus.word_totals()?.tokens;
        if let Some(most) = self.algorithm.capabilities().max_word_tokens
            && let Some((w, &n)) = (0u32..).zip(&word_tokens).find(|&(_, &n)| n > most)
        {
            let vocabulary = corpus.vocabulary()?;
            let name = word_name(vocabulary.as_ref(), w);
            return bad(
                "--algorithm",
                format!("{} for a corpus in which the word {name} occurs {n} times", self.algorithm.name()),
                &format!("words that occur at most {most} times"),
                "Leave it out of the corpus: a word that common tells topics nothing. Or use --algorithm atbp.",
            );
        }
        let labels = self.algorithm.capabilities().state == StateKind::Labels;
        if let Some(i) =
            (0..corpus.blocks()).find(|&i| labels && corpus.block_tokens(i) > u64::from(u32::MAX))
        {
            return bad(
                "--algorithm",
                format!(
                    "{} for {} tokens in a block of documents",
                    self.algorithm.name(),
                    corpus.block_tokens(i)
                ),
                "documents with fewer, since every token has a label",
                "Use --algorithm tbp or atbp.",
            );
        }
        let seeds = self.sown(corpus, &word_tokens)?;
        for seed in &seeds {
            word_tokens[seed.word as usize] += u64::from(seed.units.div_ceil(UNITS_PER_TOKEN));
        }
        Ok((word_tokens, seeds))
    }

    /// What memory and disk are planned for; `model`: it is wanted in memory, and not just in a file.
    pub(super) fn needs(&self, corpus: &Corpus, word_tokens: &[u64], model: bool) -> Needs {
        let shape = corpus.shape();
        let packed = corpus.bytes_without_strings();
        let size = self.update_size(shape);
        let (mut block, mut piece, mut pieces, mut tokens) = ((0, 0, 0), (0, 0), 0, 0);
        let mut of_tbp = (0, (0, 0));
        for i in 0..corpus.blocks() {
            let (documents, nonzeros) = corpus.block_size(i);
            let count = corpus.block_pieces(i, size);
            let small = corpus.block_pieces(i, Some(Trainer::small_size(shape)));
            let (documents, nonzeros) = (u64::from(documents), u64::from(nonzeros));
            block = (documents.max(block.0), nonzeros.max(block.1), corpus.block_bytes(i).max(block.2));
            // Pieces of a block are not quite of one size.
            let part = |n: u64, of: u64| if of == 1 { n } else { (n.div_ceil(of) * 5 / 4).min(n) };
            let larger = |piece: (u64, u64), of: u64| {
                (part(documents, of).max(piece.0), part(nonzeros, of).max(piece.1))
            };
            piece = larger(piece, count);
            of_tbp = (of_tbp.0 + small, larger(of_tbp.1, small));
            pieces += count;
            tokens = corpus.block_tokens(i).max(tokens);
        }
        Needs {
            shape,
            packed,
            strings: corpus.bytes() - packed,
            blocks: corpus.blocks() as u64,
            block,
            pieces,
            piece,
            of_tbp,
            tokens,
            heavy: heavy_words(word_tokens).count() as u64,
            snapshots: self.snapshots.is_some(),
            words: Classes::new(word_tokens),
            samples: word_tokens.iter().map(|&n| samples_of(n)).sum(),
            algorithm: self.algorithm,
            active: self.active,
            threads: self.threads_used() as u64,
            kept: !self.recompute,
            model,
            matrices: self.special.matrices(),
            histograms: if self.optimize { u64::from(self.topics) } else { 0 },
            // Documents in an order of the user's own are all over the corpus.
            disk: self.order.is_none() && (self.scratch.is_some() || self.checkpoint.is_some()),
        }
    }

    /// The same of options that only some algorithms have.
    fn check_special(&self) -> Result<()> {
        let facts = self.algorithm.capabilities();
        for (option, value) in self.special.given() {
            if !facts.options.contains(&option) {
                let with: Vec<&str> = Algorithm::ALL
                    .into_iter()
                    .filter(|algorithm| algorithm.capabilities().options.contains(&option))
                    .map(Algorithm::name)
                    .collect();
                return bad(
                    option,
                    format!("it with --algorithm {}", facts.name),
                    &format!("it only with --algorithm {}", with.join(" or ")),
                    "Leave one of the two out.",
                );
            }
            let (range, expected, remedy) = match option {
                "--kappa" => (0.0..=1.0, "a number from 0 to 1", "0.5 is the paper's; more forgets less."),
                "--digamma" => (0.0..=1.0, "theta or both", "theta is the paper's."),
                "--tau0" => (0.0..=1e12, "a number from 0", "1024 is the paper's."),
                "--burn-in" => {
                    (0.0..=f64::from(self.passes - 1), "fewer than --passes", "Half of --passes is usual.")
                }
                "--samples" => {
                    let after = self.passes - self.special.burn_in(self.passes);
                    (
                        1.0..=f64::from(after.max(1)),
                        "at most one for each pass after the burn-in",
                        "10 are usually enough.",
                    )
                }
                _ => (1.0..=f64::from(u32::MAX), "at least 1", "Leave it out: the default is good."),
            };
            if !range.contains(&value) {
                return bad(option, value.to_string(), expected, remedy);
            }
        }
        if self.special.burn_in.is_some() && self.special.samples.is_none() {
            let remedy = "Say how many samples to take, or leave it out.";
            return bad("--burn-in", "given without --samples".into(), "both", remedy);
        }
        if self.special.samples.is_some_and(|n| n > 1) && self.tolerance.is_some_and(|t| t > 0.0) {
            return bad(
                "--tol",
                "given with --samples".into(),
                "one of the two: samples are taken over all passes",
                "Leave one of them out.",
            );
        }
        if let Some(most) = facts.max_topics.filter(|&most| self.topics > most) {
            let expected = format!("at most {most} topics with --algorithm {}", facts.name);
            return bad("-k", self.topics.to_string(), &expected, "Choose fewer, or --algorithm atbp.");
        }
        Ok(())
    }

    /// The same of alpha and beta that are to be learned.
    fn check_optimize(&self) -> Result<()> {
        if !self.optimize {
            return Ok(());
        }
        let can = |algorithm: Algorithm| algorithm.capabilities().learns;
        if !can(self.algorithm) {
            let with: Vec<&str> =
                Algorithm::ALL.into_iter().filter(|&a| can(a)).map(Algorithm::name).collect();
            return bad(
                "--optimize",
                format!("given with --algorithm {}", self.algorithm.name()),
                &format!("it only with --algorithm {}", with.join(", ")),
                "Leave one of the two out.",
            );
        }
        if self.recompute {
            return bad(
                "--optimize",
                "given with --theta recompute".into(),
                "only one of the two",
                "Leave one of them out: alpha is learned from what is kept of documents.",
            );
        }
        Ok(())
    }

    /// The same of seeds, without the corpus.
    fn check_seeds(&self) -> Result<()> {
        // Within these the numbers of a row stay in range for all but the largest corpora, which are asked one by one.
        if !(1e-6..=1e6).contains(&self.seed_weight) {
            return bad(
                "--seed-weight",
                format!("{:?}", self.seed_weight),
                "a number from 0.000001 to 1000000",
                "1 doubles what a seed word weighs, and is usually enough.",
            );
        }
        if self.seeds.is_some() && (self.recompute || !self.algorithm.capabilities().seed_words) {
            let with = if self.recompute { "--theta recompute" } else { "one of the paper's algorithms" };
            return bad(
                "--seeds",
                format!("given with {with}"),
                "it only with --algorithm tbp, and messages that are kept",
                "Leave one of the two out.",
            );
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
        let both = self.recompute && self.start.is_some();
        if self.recompute && (both || self.algorithm.capabilities().stateless.is_none()) {
            let found =
                if both { "recompute with --start" } else { "recompute with one of the paper's algorithms" };
            let remedy = "Leave one of the two out.";
            return bad(
                "--theta",
                found.into(),
                "it only with --algorithm tbp and a start of its own",
                remedy,
            );
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
            if !self.algorithm.capabilities().shuffles {
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
