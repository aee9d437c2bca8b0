//! Updating a model: a training on new documents whose topics start from the counts of a model.
//!
//! The counts stay part of phi and lambda during the whole training, as *base counts* that no
//! document owns (`algorithms/tbp/base.rs`). Everything else is an ordinary training without
//! warm-up. The words of the training are those of the corpus, followed by the words that only the
//! model has; the words of the result are those of the model, followed by the new ones.
//!
//! Start reading at [`Trainer::update`].

use std::sync::Arc;

use super::Trainer;
use super::run::Training;
use crate::algorithms::tbp::base::BaseCounts;
use crate::corpus::{Corpus, Vocabulary};
use crate::error::{Error, Result};
use crate::infer::VocabularyMap;
use crate::model::{Model, ModelSize, UpdateRecord};
use crate::simd::flat;

/// The model that a training updates.
#[derive(Debug, Clone)]
pub(super) struct BaseModel {
    model: Arc<Model>,
    checksum: String,
    weight: f64,
}

/// The words of an update.
#[derive(Debug)]
pub(super) struct UpdateWords {
    /// Word of the training for each word of the result.
    words: Vec<u32>,
    /// Number of words of the model, which come first in the result.
    old: usize,
}

impl UpdateWords {
    /// Returns W, the number of words of the training and of the result.
    pub(super) fn count(&self) -> u32 {
        self.words.len() as u32
    }

    /// Returns the word of the training for a word of the result. Without an update, they are the
    /// same.
    pub(super) fn training_word(words: Option<&UpdateWords>, result: u32) -> u32 {
        words.map_or(result, |words| words.words[result as usize])
    }
}

impl BaseModel {
    /// Returns the initial alpha of every topic and beta.
    pub(super) fn priors(&self) -> (&[f32], f32) {
        (self.model.alpha(), self.model.beta())
    }

    /// Returns the checksum and the weight, on which the result depends.
    pub(super) fn identity(&self) -> (&str, f64) {
        (&self.checksum, self.weight)
    }

    /// Returns the memory of the model and of the words of the update in bytes.
    pub(super) fn memory_bytes(&self, corpus: &Corpus) -> u64 {
        let of_words = (u64::from(self.model.words()) + u64::from(corpus.shape().words)) * 12;
        let vocabulary = self.model.vocabulary().map_or(0, |words| words.parts().0.len() as u64);
        ModelSize::of_model(&self.model)
            .loaded_bytes()
            .saturating_add(of_words)
            .saturating_add(vocabulary.saturating_add(corpus.vocabulary_bytes()))
    }

    /// Returns the names of the topics.
    pub(super) fn topic_names(&self) -> Vec<(u32, String)> {
        self.model.training().topic_names.clone()
    }

    /// Returns how the text of the earlier trainings was tokenized.
    pub(super) fn pipeline(&self) -> Option<&crate::corpus::ingest::words::Pipeline> {
        self.model.pipeline()
    }

    /// Matches the words of a corpus and of the model. `word_tokens` has the number of tokens of
    /// every word of the corpus; the tokens of the model are added to it.
    fn words(&self, corpus: &Corpus, word_tokens: &mut Vec<u64>) -> Result<UpdateWords> {
        /// Marks a word of the model that is not in the corpus.
        const ABSENT: u32 = u32::MAX;
        let map = VocabularyMap::new(&self.model, corpus)?;
        let old = self.model.words() as usize;
        let (mut words, mut new, mut known) = (vec![ABSENT; old], Vec::new(), false);
        for (word, &tokens) in (0..).zip(&*word_tokens) {
            // A vocabulary may have the same word twice. The second one is a new word.
            match map.id(word).and_then(|id| words.get_mut(id as usize)).filter(|to| **to == ABSENT) {
                Some(to) => {
                    *to = word;
                    known |= tokens > 0;
                }
                None => new.push(word),
            }
        }
        if !known {
            return Err(Error::unsupported("model", "no word of the new documents is in the model")
                .with_remedy(
                    "update it with documents of the same language and kind, whose words are spelled and \
                     processed alike, or train a new model",
                ));
        }
        let base = BaseCounts { phi: &self.model.topics.phi, words: &[], weight: self.weight };
        for (id, to) in (0..).zip(&mut words) {
            let units = base.word_units(id);
            let tokens = units.div_ceil(u64::from(crate::algorithms::tbp::UNITS_PER_TOKEN));
            if *to == ABSENT {
                *to = word_tokens.len() as u32;
                word_tokens.push(tokens);
            } else {
                let all = &mut word_tokens[*to as usize];
                *all = all.saturating_add(tokens);
            }
        }
        words.extend(new);
        Ok(UpdateWords { words, old })
    }

    /// Returns the counts of the model.
    fn counts<'a>(&'a self, words: &'a UpdateWords) -> BaseCounts<'a> {
        BaseCounts { phi: &self.model.topics.phi, words: &words.words[..words.old], weight: self.weight }
    }
}

impl Trainer {
    /// Continues the training of a model with new documents.
    ///
    /// The number of topics, alpha and beta are those of the model unless they are set afterwards.
    /// The counts of the model, times [`update_weight`](Trainer::update_weight), stay in the topics
    /// during the training. Topics keep their numbers and names, words of the model keep their
    /// numbers, and words that the model does not have are appended. The result records how similar
    /// its topics are to those of the model, see [`UpdateRecord`].
    ///
    /// Any model can be updated, whichever algorithm it was trained with. The update itself uses
    /// `tbp`.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use tinylda::{CorpusBuilder, Trainer};
    ///
    /// let mut builder = CorpusBuilder::new().vocabulary(["ball", "goal", "court", "judge"]);
    /// for _ in 0..20 {
    ///     builder.add_document(&[(0, 3), (1, 2)])?;
    ///     builder.add_document(&[(2, 2), (3, 3)])?;
    /// }
    /// let corpus = builder.build()?;
    /// let old = Trainer::new(2).alpha(0.1).train(&corpus, |_| ControlFlow::Continue(()))?;
    ///
    /// let mut builder = CorpusBuilder::new().vocabulary(["goal", "keeper"]);
    /// for _ in 0..5 {
    ///     builder.add_document(&[(0, 3), (1, 2)])?;
    /// }
    /// let trainer = Trainer::new(2).update(old.model);
    /// let new = trainer.train(&builder.build()?, |_| ControlFlow::Continue(()))?.model;
    ///
    /// assert_eq!(new.word_name(4), "keeper");
    /// let update = new.training().update.as_ref().expect("a record of the update");
    /// assert_eq!(update.new_words, 1);
    /// assert!(update.similarities.iter().all(|&cosine| cosine > 0.8));
    /// # Ok::<(), tinylda::Error>(())
    /// ```
    #[must_use]
    pub fn update(mut self, model: impl Into<Arc<Model>>) -> Trainer {
        let model = model.into();
        self.settings.topics.get_or_insert(model.topics());
        let checksum = model.content_checksum();
        Trainer { base: Some(BaseModel { model, checksum, weight: 1.0 }), ..self }
    }

    /// Sets the weight of the tokens of an updated model, relative to those of the new documents.
    /// The default is 1. Has no effect without [`update`](Trainer::update).
    #[must_use]
    pub fn update_weight(mut self, weight: f64) -> Trainer {
        if let Some(base) = &mut self.base {
            base.weight = weight;
        }
        self
    }

    /// Checks the options of an update.
    pub(super) fn check_update(&self) -> Result<()> {
        let (Some(base), settings) = (&self.base, &self.settings) else { return Ok(()) };
        let algorithm = settings.chosen_algorithm();
        if !algorithm.capabilities().base_counts {
            let reason = "a model is updated with tbp, whichever algorithm it was trained with";
            return Err(Error::unsupported_value("algorithm", algorithm.name(), reason)
                .with_remedy("omit {algorithm}"));
        }
        if settings.topic_count() != base.model.topics() {
            let expected = format!("{}, as in the model to update", base.model.topics());
            return Err(Error::out_of_range("topics", settings.topic_count(), expected));
        }
        if !(base.weight > 0.0 && base.weight.is_finite()) {
            return Err(Error::out_of_range("weight", base.weight, "a number above 0"));
        }
        if settings.is_stateless() {
            let reason = "an update keeps the state of documents";
            return Err(Error::unsupported_value("document_state", "none", reason)
                .with_remedy("omit {document_state}"));
        }
        for (name, given) in [("seeds", self.seeds.is_some()), ("start", self.start.is_some())] {
            if given {
                return Err(Error::conflict(name, "the update of a model")
                    .with_remedy("the topics start from those of the model"));
            }
        }
        Ok(())
    }

    /// Matches the words of the corpus with those of the model to update, if there is one, and adds
    /// the tokens of the model to `word_tokens`.
    pub(super) fn update_words(
        &self,
        corpus: &Corpus,
        word_tokens: &mut Vec<u64>,
    ) -> Result<Option<UpdateWords>> {
        self.base.as_ref().map(|base| base.words(corpus, word_tokens)).transpose()
    }

    /// Returns the counts of the model to update, if there is one.
    pub(super) fn base_counts<'a>(&'a self, words: Option<&'a UpdateWords>) -> Option<BaseCounts<'a>> {
        Some(self.base.as_ref()?.counts(words?))
    }
}

impl Training<'_> {
    /// Returns the vocabulary of the result.
    pub(super) fn vocabulary(&self) -> Result<Option<Vocabulary>> {
        let given = self.corpus.vocabulary()?;
        let (Some(base), Some(words)) = (&self.trainer.base, &self.update) else { return Ok(given) };
        let Some(old) = base.model.vocabulary() else { return Ok(given) };
        let mut all = old.clone();
        if let Some(given) = given {
            for &word in &words.words[words.old..] {
                all.push(given.get(word).unwrap_or_default());
            }
        }
        Ok(Some(all))
    }

    /// Returns the record of the update, with the similarity of old and new topics; `None` if this
    /// is not an update.
    pub(super) fn update_record(&mut self) -> Result<Option<UpdateRecord>> {
        let (Some(base), Some(words)) = (&self.trainer.base, &self.update) else { return Ok(None) };
        let count = self.topics.count as usize;
        let beta = f64::from(self.priors().beta);
        let old_beta = f64::from(base.model.beta());
        let mut row = vec![0f32; count];
        // Sums over words, per topic: of the products, and of both squares.
        let mut sums = vec![(0f64, 0f64, 0f64); count];
        for old in 0..words.old as u32 {
            self.updater.topic_row(&self.topics, words.words[old as usize], &mut row)?;
            let before = flat(base.model.topics.phi.row(old));
            for (sum, (&now, &before)) in sums.iter_mut().zip(row.iter().zip(before)) {
                let (now, before) = (f64::from(now) + beta, f64::from(before) + old_beta);
                *sum = (sum.0 + now * before, sum.1 + now * now, sum.2 + before * before);
            }
        }
        let cosine = |&(product, now, before): &(f64, f64, f64)| product / (now * before).sqrt();
        // More digits would not mean anything, and take more space in the file.
        let rounded = |cosine: f64| (cosine.min(1.0) * 1e6).round() / 1e6;
        let before = base.model.training();
        let mut corpora = before.update.as_ref().map_or_else(Vec::new, |update| update.corpora.clone());
        corpora.push(before.corpus.clone());
        Ok(Some(UpdateRecord {
            model: base.checksum.clone(),
            weight: base.weight,
            corpora,
            new_words: words.count() - words.old as u32,
            similarities: sums.iter().map(cosine).map(rounded).collect(),
        }))
    }
}
