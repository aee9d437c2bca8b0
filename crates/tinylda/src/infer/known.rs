//! Maps the words of a corpus to the words of a model: by name, or by number if neither has names.
//!
//! Start reading at [`VocabularyMap`]. This module must not know how topics are inferred.

use crate::corpus::{Corpus, Document};
use crate::error::{Error, Position, Result};
use crate::model::Model;

/// The model's id for each word of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VocabularyMap {
    /// Ids by word of the corpus, or `None` if corpus and model have the same vocabulary.
    ids: Option<Vec<Option<u32>>>,
}

/// The words of a corpus that are not in the vocabulary of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnknownWords {
    /// Number of distinct unknown words.
    pub words: u64,
    /// Number of tokens of unknown words.
    pub tokens: u64,
}

impl VocabularyMap {
    /// Matches the words of a corpus to those of a model.
    ///
    /// Fails if they have no vocabularies to match and different numbers of words.
    pub fn new(model: &Model, corpus: &Corpus) -> Result<VocabularyMap> {
        let words = corpus.shape().words;
        // The same vocabulary, the usual case, needs no memory.
        if let Some(model_words) = model.vocabulary()
            && corpus.has_words(model_words)?
        {
            return Ok(VocabularyMap { ids: None });
        }
        let corpus_words = corpus.vocabulary()?;
        match (&corpus_words, model.vocabulary()) {
            (Some(corpus_words), Some(model_words)) if corpus_words != model_words => {
                let ids = model_words.ids();
                Ok(VocabularyMap {
                    ids: Some(corpus_words.iter().map(|word| ids.get(word).copied()).collect()),
                })
            }
            _ if words == model.words() => Ok(VocabularyMap { ids: None }),
            _ => Err(Error::Input {
                path: corpus.origin().to_path_buf(),
                position: Position::Whole,
                found: format!("{words} words, and no vocabulary in corpus and model to match them"),
                expected: format!("{} words, as in the model", model.words()).into(),
                remedy: "import both with {vocab}, or split one corpus into a training and a test part"
                    .into(),
            }),
        }
    }

    /// Returns the model's id of a word of the corpus, or `None` if the model does not know it.
    pub fn id(&self, word: u32) -> Option<u32> {
        match &self.ids {
            Some(ids) => ids.get(word as usize).copied().flatten(),
            None => Some(word),
        }
    }

    /// Counts the words of the corpus that the model does not know.
    pub fn unknown(&self, corpus: &Corpus) -> Result<UnknownWords> {
        let mut unknown = UnknownWords::default();
        if self.ids.is_some() {
            for (w, &n) in (0..).zip(&corpus.word_totals()?.tokens) {
                if n > 0 && self.id(w).is_none() {
                    unknown.words += 1;
                    unknown.tokens += n;
                }
            }
        }
        Ok(unknown)
    }

    /// Fills `buffer` with the known words of a document, as ids of the model. Returns the number
    /// of tokens of unknown words.
    pub(crate) fn known_words(&self, document: Document<'_>, buffer: &mut DocumentBuffer) -> u64 {
        buffer.clear();
        buffer.reserve(document.words.len());
        let mut unknown = 0;
        for (&w, &x) in document.words.iter().zip(document.counts) {
            match self.id(w) {
                Some(id) => buffer.push(id, x),
                None => unknown += u64::from(x),
            }
        }
        unknown
    }
}

/// A reusable buffer for the words and counts of a document.
#[derive(Debug, Default)]
pub(crate) struct DocumentBuffer {
    words: Vec<u32>,
    counts: Vec<u32>,
}

impl DocumentBuffer {
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.counts.clear();
    }
    /// Allocates space for a number of words, and not for more.
    pub(crate) fn reserve(&mut self, words: usize) {
        self.words.reserve_exact(words);
        self.counts.reserve_exact(words);
    }
    /// Appends a word unless its count is 0.
    pub(crate) fn push(&mut self, word: u32, count: u32) {
        if count > 0 {
            self.words.push(word);
            self.counts.push(count);
        }
    }
    /// Returns the contents as a document.
    pub(crate) fn document(&self) -> Document<'_> {
        Document { words: &self.words, counts: &self.counts }
    }
}
