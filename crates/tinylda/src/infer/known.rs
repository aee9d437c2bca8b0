//! The words of a corpus that a model knows: matched by name, or by number where neither has names.

use crate::corpus::{Corpus, Document};
use crate::error::{Error, Position, Result};
use crate::model::Model;

/// The model's id for each word of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Nothing where the two have the same words.
    ids: Option<Vec<Option<u32>>>,
}

/// What a model does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unknown {
    /// Different words of the corpus.
    pub words: u64,
    /// How often they occur.
    pub tokens: u64,
}

impl Known {
    /// Matches the words of a corpus to those of a model.
    pub fn new(model: &Model, corpus: &Corpus) -> Result<Known> {
        let words = corpus.shape().words;
        // The usual case takes no memory.
        if let Some(its) = model.vocabulary()
            && corpus.has_words(its)?
        {
            return Ok(Known { ids: None });
        }
        let mine = corpus.vocabulary()?;
        match (&mine, model.vocabulary()) {
            (Some(mine), Some(its)) if mine != its => {
                let ids = its.ids();
                Ok(Known { ids: Some(mine.iter().map(|word| ids.get(word).copied()).collect()) })
            }
            _ if words == model.words() => Ok(Known { ids: None }),
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

    /// The model's id of a word of the corpus.
    pub fn id(&self, word: u32) -> Option<u32> {
        match &self.ids {
            Some(ids) => ids.get(word as usize).copied().flatten(),
            None => Some(word),
        }
    }

    /// What the model does not know of the corpus.
    pub fn unknown(&self, corpus: &Corpus) -> Result<Unknown> {
        let mut unknown = Unknown::default();
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

    /// The known words of a document, by the model's ids. Returns how many tokens are left out.
    pub(crate) fn part(&self, document: Document<'_>, part: &mut Parts) -> u64 {
        part.clear();
        let mut unknown = 0;
        for (&w, &x) in document.words.iter().zip(document.counts) {
            match self.id(w) {
                Some(id) => part.push(id, x),
                None => unknown += u64::from(x),
            }
        }
        unknown
    }
}

/// Words and counts of a part of a document.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    words: Vec<u32>,
    counts: Vec<u32>,
}

impl Parts {
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.counts.clear();
    }
    pub(crate) fn push(&mut self, word: u32, count: u32) {
        if count > 0 {
            self.words.push(word);
            self.counts.push(count);
        }
    }
    pub(crate) fn document(&self) -> Document<'_> {
        Document { words: &self.words, counts: &self.counts }
    }
}
