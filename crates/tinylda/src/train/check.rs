//! Checks whether the settings of a training make sense for a corpus, before any work.
//!
//! The checks of a single option (its range, the algorithms it applies to) are in `settings`.
//! Memory is checked in `plan`; this module collects the input for it. Start reading at
//! [`Trainer::check_settings`].

use super::Trainer;
use super::update::UpdateWords;
use crate::algorithms::dense::phases::DOCS_PER_BATCH;
use crate::algorithms::memory::WordStatistics;
use crate::algorithms::piece::StateKind;
use crate::algorithms::tbp::seed_words::SeedWord;
use crate::corpus::{Corpus, PieceSizes, Shape, word_name};
use crate::error::{Error, Result, Template};
use crate::settings::{Algorithm, only_with};
use crate::train::plan::{AlgorithmChoice, CorpusBytes, PlanInput, ResultKind};

/// Result of checking the settings against a corpus.
#[derive(Debug)]
pub(super) struct CheckedSettings {
    /// Number of tokens of every word, including those of seed words and of a model to update.
    pub(super) word_tokens: Vec<u64>,
    /// Size of the corpus; `words` includes those that only a model to update has.
    pub(super) shape: Shape,
    /// Words of the result, if a model is updated.
    pub(super) update: Option<UpdateWords>,
    /// Seed words by word number.
    pub(super) seeds: Vec<SeedWord>,
}

impl Trainer {
    /// Checks that the settings make sense for the corpus and that the training fits in memory.
    /// [`train`](Trainer::train) does this first.
    pub fn check(&self, corpus: &Corpus) -> Result<()> {
        self.plan(corpus).map(|_| ())
    }

    /// Checks everything that does not depend on a corpus: the ranges of options, and whether they
    /// fit the algorithm and each other.
    ///
    /// A caller that has to create the corpus first can find errors before that work.
    /// [`check`](Trainer::check) includes these checks.
    pub fn check_options(&self) -> Result<()> {
        self.settings.check()?;
        self.check_topic_limit()?;
        self.check_update()?;
        self.check_combinations()?;
        self.check_list_topics()?;
        self.kernel().map(|_| ())
    }

    /// Checks that the algorithm accepts seed words.
    ///
    /// A caller that has to read them from a file can find this error before that.
    /// [`check_options`](Trainer::check_options) includes this check if there are seed words.
    pub fn check_accepts_seeds(&self) -> Result<()> {
        if self.settings.chosen_algorithm().capabilities().seed_words {
            return Ok(());
        }
        Err(only_with("seeds", &with(|algorithm| algorithm.capabilities().seed_words)))
    }

    /// Checks that the algorithm accepts an order of the documents.
    ///
    /// A caller that has to read it from a file can find this error before that.
    /// [`check_options`](Trainer::check_options) includes this check if there is an order.
    pub fn check_accepts_order(&self) -> Result<()> {
        if self.settings.chosen_algorithm().capabilities().shuffles {
            return Ok(());
        }
        Err(only_with("order", &with(|algorithm| algorithm.capabilities().shuffles))
            .with_remedy("the order makes no difference to other algorithms"))
    }

    /// Checks the settings, but not the memory limit.
    pub(super) fn check_settings(&self, corpus: &Corpus) -> Result<CheckedSettings> {
        let shape = corpus.shape();
        self.settings.check()?;
        self.check_topics(shape)?;
        self.check_options()?;
        self.check_given(shape)?;
        let mut word_tokens = corpus.word_tokens()?;
        let update = self.update_words(corpus, &mut word_tokens)?;
        self.check_corpus(corpus, &word_tokens)?;
        let seeds = self.seed_words(corpus, &word_tokens)?;
        for seed in &seeds {
            word_tokens[seed.word as usize] += seed.tokens();
        }
        let words = update.as_ref().map_or(shape.words, UpdateWords::count);
        Ok(CheckedSettings { word_tokens, shape: Shape { words, ..shape }, update, seeds })
    }

    /// Checks the number of topics against the corpus.
    fn check_topics(&self, shape: Shape) -> Result<()> {
        let topics = self.settings.topic_count();
        if u64::from(topics) > shape.tokens && self.base.is_none() {
            let expected = format!("at most {}, the number of tokens in the corpus", shape.tokens);
            return Err(Error::out_of_range("topics", topics, expected)
                .with_remedy("choose fewer, or check that this is the right corpus"));
        }
        Ok(())
    }

    /// Checks the number of topics against the limit of the algorithm.
    fn check_topic_limit(&self) -> Result<()> {
        let (topics, algorithm) = (self.settings.topic_count(), self.settings.chosen_algorithm());
        if topics == 0 {
            return Err(
                Error::missing("topics", "the number of topics").with_remedy("100 is a good first choice")
            );
        }
        if let Some(most) = algorithm.capabilities().max_topics.filter(|&most| topics > most) {
            let expected = format!("at most {most} with {{algorithm={}}}", algorithm.name());
            return Err(Error::out_of_range("topics", topics, expected).with_remedy("choose fewer topics"));
        }
        Ok(())
    }

    /// Checks settings that depend on each other.
    fn check_combinations(&self) -> Result<()> {
        let settings = &self.settings;
        if let Some(burn_in) = settings.burn_in {
            if settings.samples.is_none() {
                return Err(Error::requires("burn_in", "{samples}"));
            }
            if burn_in >= settings.max_passes() {
                return Err(Error::out_of_range("burn_in", burn_in, "less than {passes}")
                    .with_remedy("half of {passes} is usual"));
            }
        }
        let after = settings.max_passes() - settings.burn_in_passes();
        if let Some(samples) = settings.samples.filter(|&samples| samples > after.max(1)) {
            let expected = "at least 1 and at most one for each pass after the burn-in";
            return Err(
                Error::out_of_range("samples", samples, expected).with_remedy("10 are usually enough")
            );
        }
        if settings.samples.is_some_and(|n| n > 1) && settings.tolerance.is_some_and(|t| t > 0.0) {
            return Err(
                Error::conflict("tolerance", "{samples}").with_remedy("samples are taken over all passes")
            );
        }
        if settings.optimizes() && settings.is_stateless() {
            return Err(Error::conflict("optimize", "{document_state=none}")
                .with_remedy("alpha is learned from the state of documents"));
        }
        if self.seeds.is_some() && settings.is_stateless() {
            return Err(Error::conflict("seeds", "{document_state=none}"));
        }
        if self.seeds.is_some() {
            self.check_accepts_seeds()?;
        }
        if self.start.is_some() && settings.is_stateless() {
            return Err(Error::conflict("start", "{document_state=none}"));
        }
        if self.order.is_some() {
            self.check_accepts_order()?;
        }
        if settings.is_stateless() && self.snapshots.is_some() {
            return Err(Error::conflict("snapshots", "{document_state=none}")
                .with_remedy("without document state a model is complete only when the next pass begins"));
        }
        Ok(())
    }

    /// Checks that the algorithm can count the tokens of this corpus.
    fn check_corpus(&self, corpus: &Corpus, word_tokens: &[u64]) -> Result<()> {
        let algorithm = self.settings.chosen_algorithm();
        let capabilities = algorithm.capabilities();
        if let Some(most) = capabilities.max_word_tokens
            && let Some((w, &n)) = (0u32..).zip(word_tokens).find(|&(_, &n)| n > most)
        {
            let vocabulary = corpus.vocabulary()?;
            let name = word_name(vocabulary.as_ref(), w);
            let reason = Template::from("the word ")
                .text(name)
                .text(format!(" occurs {n} times, and at most {most} are possible"));
            return Err(Error::unsupported_value("algorithm", algorithm.name(), reason)
                .with_remedy("remove the word from the corpus, or use {algorithm=atbp}"));
        }
        let labels = capabilities.state == StateKind::Labels;
        if let Some(i) =
            (0..corpus.blocks()).find(|&i| labels && corpus.block_tokens(i) > u64::from(u32::MAX))
        {
            let tokens = corpus.block_tokens(i);
            let reason =
                format!("a block of documents has {tokens} tokens, and at most {} are possible", u32::MAX);
            return Err(Error::unsupported_value("algorithm", algorithm.name(), reason)
                .with_remedy("use {algorithm=tbp} or {algorithm=atbp}"));
        }
        Ok(())
    }

    /// Returns the input for the memory and disk plan.
    pub(super) fn plan_input(
        &self,
        corpus: &Corpus,
        checked: &CheckedSettings,
        result: ResultKind,
    ) -> Result<PlanInput> {
        let (shape, packed) = (checked.shape, corpus.packed_documents_bytes());
        let base = self.base.as_ref().map_or(0, |base| base.memory_bytes(corpus));
        let choice = |algorithm: Algorithm| AlgorithmChoice {
            algorithm,
            state: self.state_kind(algorithm),
            more_matrices: 0,
        };
        let (chosen, usual) = (self.settings.chosen_algorithm(), Algorithm::default());
        let sizes_for =
            |algorithm: Algorithm| PieceSizes::new(corpus, algorithm.piece_nonzeros(shape), DOCS_PER_BATCH);
        Ok(PlanInput {
            shape,
            sizes: sizes_for(chosen)?,
            words: WordStatistics::new(&checked.word_tokens),
            corpus: CorpusBytes {
                packed,
                vocabulary: corpus.vocabulary_bytes(),
                index: corpus.memory_bytes(),
            },
            algorithm: AlgorithmChoice { more_matrices: self.settings.more_matrices(), ..choice(chosen) },
            alternative: if chosen == usual { None } else { Some((choice(usual), sizes_for(usual)?)) },
            active: self.settings.active_topics(),
            threads: self.threads_used() as u64,
            step: self.settings.step_pieces(),
            in_use: self.memory_in_use.saturating_add(base),
            // With a user-defined order, documents are visited in any sequence and must stay in
            // memory.
            disk: self.order.is_none() && (self.scratch.is_some() || self.checkpoint.is_some()),
            result,
            histograms: if self.settings.optimizes() { u64::from(self.settings.topic_count()) } else { 0 },
        })
    }

    /// Returns the form of the result. `model` says that it is a model in memory.
    pub(super) fn result_kind(&self, model: bool) -> ResultKind {
        match (model, &self.snapshots) {
            (true, _) => ResultKind::Model,
            (false, Some(_)) => ResultKind::Snapshots,
            (false, None) => ResultKind::File,
        }
    }

    /// Checks that seed words and initial topics belong to topics that exist.
    fn check_list_topics(&self) -> Result<()> {
        let topics = self.settings.topic_count();
        if let Some(seeds) = &self.seeds {
            seeds.check_topics(topics)?;
        }
        let start = self.start.as_deref().unwrap_or_default();
        if let Some(at) = start.iter().position(|&k| k >= topics) {
            let found = format!("{} in entry {}", start[at], at + 1);
            let expected = format!("a list of topics from 0 to {}", topics - 1);
            return Err(Error::out_of_range("start", found, expected));
        }
        Ok(())
    }

    /// Checks the number of initial topics and the document order set by the user.
    fn check_given(&self, shape: Shape) -> Result<()> {
        if let Some(start) = &self.start
            && start.len() as u64 != shape.nonzeros
        {
            let expected =
                format!("a list of {} topics, one for each non-zero of the corpus", shape.nonzeros);
            return Err(Error::out_of_range("start", format!("a list of {}", start.len()), expected));
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
        }
        Ok(())
    }
}

/// Returns the algorithms that satisfy a condition.
fn with(can: impl Fn(Algorithm) -> bool) -> Vec<Algorithm> {
    Algorithm::ALL.into_iter().filter(|&algorithm| can(algorithm)).collect()
}
