//! Whether settings make sense for a corpus, before any work: what is wrong, what would be right, what to do.

use super::Trainer;
use crate::algorithms::Algorithm;
use crate::algorithms::piece::StateKind;
use crate::algorithms::tbp::counts::samples_of;
use crate::algorithms::tbp::messages::UNITS_PER_TOKEN;
use crate::algorithms::tbp::seed_words::SeedWord;
use crate::corpus::{Corpus, Shape, word_name};
use crate::error::{Error, Result, Template};
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
            return Err(
                Error::out_of_range("topics", 0, "at least 1").with_remedy("100 is a good first choice")
            );
        }
        if u64::from(self.topics) > shape.tokens {
            let expected = format!("at most {}, the number of tokens in the corpus", shape.tokens);
            return Err(Error::out_of_range("topics", self.topics, expected)
                .with_remedy("choose fewer, or check that this is the right corpus"));
        }
        for (name, value) in [("alpha", self.alpha_value()), ("beta", self.beta)] {
            // Within these the products of the update stay inside the range of 32-bit floats.
            if !(1e-9..=1e6).contains(&value) {
                return Err(Error::out_of_range(name, format!("{value:?}"), "a number from 1e-9 to 1e6")
                    .with_remedy("the paper uses 2/K for alpha and 0.01 for beta"));
            }
        }
        let tolerance = self.tolerance_at(1.0);
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            return Err(Error::out_of_range("tolerance", tolerance, "a finite number of at least 0")
                .with_remedy("{tolerance=0} disables stopping early"));
        }
        if self.passes == 0 {
            return Err(Error::out_of_range("passes", 0, "at least 1").with_remedy("200 are usually enough"));
        }
        self.check_special()?;
        self.check_optimize()?;
        self.check_seeds()?;
        if self.recompute && self.snapshots.is_some() {
            return Err(Error::conflict("snapshots", "{document_state=none}")
                .with_remedy("without document state a model is complete only when the next pass begins"));
        }
        self.check_given(shape)?;
        let mut word_tokens = corpus.word_totals()?.tokens;
        if let Some(most) = self.algorithm.capabilities().max_word_tokens
            && let Some((w, &n)) = (0u32..).zip(&word_tokens).find(|&(_, &n)| n > most)
        {
            let vocabulary = corpus.vocabulary()?;
            let name = word_name(vocabulary.as_ref(), w);
            let reason = Template::from("the word ")
                .text(name)
                .text(format!(" occurs {n} times, and at most {most} are possible"));
            return Err(Error::unsupported_value("algorithm", self.algorithm.name(), reason)
                .with_remedy("remove the word from the corpus, or use {algorithm=atbp}"));
        }
        let labels = self.algorithm.capabilities().state == StateKind::Labels;
        if let Some(i) =
            (0..corpus.blocks()).find(|&i| labels && corpus.block_tokens(i) > u64::from(u32::MAX))
        {
            let tokens = corpus.block_tokens(i);
            let reason =
                format!("a block of documents has {tokens} tokens, and at most {} are possible", u32::MAX);
            return Err(Error::unsupported_value("algorithm", self.algorithm.name(), reason)
                .with_remedy("use {algorithm=tbp} or {algorithm=atbp}"));
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
        for (name, value) in self.special.given() {
            if !facts.options.contains(&name) {
                return Err(only_with(name, |algorithm| algorithm.capabilities().options.contains(&name)));
            }
            let (range, expected, remedy) = match name {
                "kappa" => (0.0..=1.0, "a number from 0 to 1", "the paper uses 0.5"),
                "digamma" => (0.0..=1.0, "theta or both", "the paper uses theta"),
                "tau0" => (0.0..=1e12, "a number from 0 to 1e12", "the paper uses 1024"),
                "burn_in" => {
                    (0.0..=f64::from(self.passes - 1), "less than {passes}", "half of {passes} is usual")
                }
                "samples" => {
                    let after = self.passes - self.special.burn_in(self.passes);
                    let expected = "at least 1 and at most one for each pass after the burn-in";
                    (1.0..=f64::from(after.max(1)), expected, "10 are usually enough")
                }
                _ => (1.0..=f64::from(u32::MAX), "a number from 1 to 4294967295", ""),
            };
            if !range.contains(&value) {
                return Err(Error::out_of_range(name, value, expected).with_remedy(remedy));
            }
        }
        if self.special.burn_in.is_some() && self.special.samples.is_none() {
            return Err(Error::requires("burn_in", "{samples}"));
        }
        if self.special.samples.is_some_and(|n| n > 1) && self.tolerance.is_some_and(|t| t > 0.0) {
            return Err(
                Error::conflict("tolerance", "{samples}").with_remedy("samples are taken over all passes")
            );
        }
        if let Some(most) = facts.max_topics.filter(|&most| self.topics > most) {
            let expected = format!("at most {most} with {{algorithm={}}}", facts.name);
            return Err(Error::out_of_range("topics", self.topics, expected)
                .with_remedy("choose fewer, or use {algorithm=atbp}"));
        }
        Ok(())
    }

    /// The same of alpha and beta that are to be learned.
    fn check_optimize(&self) -> Result<()> {
        if !self.optimize {
            return Ok(());
        }
        if !self.algorithm.capabilities().learns {
            return Err(only_with("optimize", |algorithm| algorithm.capabilities().learns));
        }
        if self.recompute {
            return Err(Error::conflict("optimize", "{document_state=none}")
                .with_remedy("alpha is learned from the state of documents"));
        }
        Ok(())
    }

    /// The same of seeds, without the corpus.
    fn check_seeds(&self) -> Result<()> {
        // Within these the numbers of a row stay in range for all but the largest corpora, which are asked one by one.
        if !(1e-6..=1e6).contains(&self.seed_weight) {
            let found = format!("{:?}", self.seed_weight);
            return Err(Error::out_of_range("seed_weight", found, "a number from 1e-6 to 1e6")
                .with_remedy("1 doubles the weight of a seed word and is usually enough"));
        }
        if self.seeds.is_some() && (self.recompute || !self.algorithm.capabilities().seed_words) {
            return Err(if self.recompute {
                Error::conflict("seeds", "{document_state=none}")
            } else {
                only_with("seeds", |algorithm| algorithm.capabilities().seed_words)
            });
        }
        Ok(())
    }

    /// The same of a start and an order that were given.
    fn check_given(&self, shape: Shape) -> Result<()> {
        if let Some(start) = &self.start {
            if start.len() as u64 != shape.nonzeros {
                let expected =
                    format!("a list of {} topics, one for each non-zero of the corpus", shape.nonzeros);
                return Err(Error::out_of_range("start", format!("a list of {}", start.len()), expected));
            }
            if let Some(at) = start.iter().position(|&k| k >= self.topics) {
                let found = format!("{} in entry {}", start[at], at + 1);
                let expected = format!("a list of topics from 0 to {}", self.topics - 1);
                return Err(Error::out_of_range("start", found, expected));
            }
        }
        if self.recompute && self.start.is_some() {
            return Err(Error::conflict("start", "{document_state=none}"));
        }
        if self.recompute && self.algorithm.capabilities().stateless.is_none() {
            return Err(only_with("document_state", |algorithm| algorithm.capabilities().stateless.is_some()));
        }
        if let Some(order) = &self.order {
            let mut seen = vec![false; shape.documents as usize];
            let whole = order.len() as u64 == shape.documents
                && order
                    .iter()
                    .all(|&d| seen.get_mut(d as usize).is_some_and(|s| !std::mem::replace(s, true)));
            if !whole {
                let last = shape.documents.saturating_sub(1);
                let expected = format!("a list with every document from 0 to {last} once");
                let found = match order.len() as u64 {
                    n if n == shape.documents => "one with other or repeated documents".to_owned(),
                    n => format!("a list of {n} documents"),
                };
                return Err(Error::out_of_range("order", found, expected));
            }
            if !self.algorithm.capabilities().shuffles {
                return Err(only_with("order", |algorithm| algorithm.capabilities().shuffles)
                    .with_remedy("the order makes no difference to other algorithms"));
            }
        }
        Ok(())
    }
}

/// The parameter is valid only with some of the algorithms.
fn only_with(name: &'static str, valid: impl Fn(Algorithm) -> bool) -> Error {
    let with = Algorithm::ALL.into_iter().filter(|&algorithm| valid(algorithm));
    Error::only_with(name, with.map(|algorithm| format!("{{algorithm={}}}", algorithm.name())))
}
