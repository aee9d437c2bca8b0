//! The vocabulary: word i's text.

use std::collections::HashMap;
use std::path::Path;

use super::ingest::input::Input;
use super::ingest::lines::Lines;
use crate::error::{Error, Position, Result};

/// A list of strings in two allocations: the words of a corpus or model, in the order of their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    text: String,
    ends: Vec<u64>,
}

impl Vocabulary {
    /// An empty vocabulary.
    pub fn new() -> Vocabulary {
        Vocabulary::default()
    }

    /// From one text and the place where each word ends in it; the caller has checked them.
    pub(crate) fn from_parts(text: String, ends: Vec<u64>) -> Vocabulary {
        Vocabulary { text, ends }
    }

    pub(crate) fn parts(&self) -> (&str, &[u64]) {
        (&self.text, &self.ends)
    }

    /// Adds a word; its id is the number of words before it.
    pub fn push(&mut self, word: &str) {
        self.text.push_str(word);
        self.ends.push(self.text.len() as u64);
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// The text of word `id`.
    pub fn get(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        let end = *self.ends.get(id)? as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        self.text.get(start..end)
    }
    /// All words in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.len() as u32).map(|id| self.get(id).unwrap_or_default())
    }
    /// Word -> id.
    pub fn ids(&self) -> HashMap<&str, u32> {
        self.iter().zip(0..).collect()
    }

    /// Reads a vocabulary file: one word per line, compressed or not.
    ///
    /// Empty lines, words that stand twice and text that is not UTF-8 are errors.
    pub fn read(path: impl AsRef<Path>) -> Result<Vocabulary> {
        Vocabulary::read_lines(Lines::new(Input::open(path.as_ref())?))
    }

    /// Reads a vocabulary from lines, one word each.
    pub(crate) fn read_lines(mut lines: Lines<'_>) -> Result<Vocabulary> {
        let path = lines.path().to_path_buf();
        let mut vocabulary = Vocabulary::new();
        let bad = |line, found: String, expected: &str, remedy: &str| Error::Input {
            path: path.clone(),
            position: Position::Line(line),
            found,
            expected: expected.into(),
            remedy: remedy.into(),
        };
        while lines.advance()? {
            let number = lines.number();
            let word = lines.utf8()?;
            if word.trim().is_empty() {
                return Err(bad(
                    number,
                    "an empty line".into(),
                    "a word",
                    "line i of a vocabulary names word i, so every line must contain a word",
                ));
            }
            if vocabulary.len() >= u32::MAX as usize {
                return Err(bad(
                    number,
                    "a word too many".into(),
                    "at most 4294967295 words",
                    "remove rare words",
                ));
            }
            vocabulary.push(word);
        }
        if vocabulary.is_empty() {
            return Err(Error::Input {
                path,
                position: Position::Whole,
                found: "an empty file".into(),
                expected: "one word per line".into(),
                remedy: "use the vocabulary that belongs to the corpus".into(),
            });
        }
        if let Some((first, second)) = vocabulary.first_duplicate() {
            return Err(bad(
                u64::from(second) + 1,
                format!(
                    "the word {:?} a second time (first on line {})",
                    vocabulary.get(second).unwrap_or_default(),
                    first + 1
                ),
                "every word once",
                "rename one of the two, or merge their columns before the import",
            ));
        }
        Ok(vocabulary)
    }

    /// The ids of the first word that stands twice.
    pub(super) fn first_duplicate(&self) -> Option<(u32, u32)> {
        let mut seen = HashMap::with_capacity(self.len());
        self.iter().zip(0u32..).find_map(|(word, id)| seen.insert(word, id).map(|first| (first, id)))
    }
}

impl<S: AsRef<str>> FromIterator<S> for Vocabulary {
    fn from_iter<T: IntoIterator<Item = S>>(words: T) -> Vocabulary {
        let mut vocabulary = Vocabulary::new();
        words.into_iter().for_each(|word| vocabulary.push(word.as_ref()));
        vocabulary
    }
}

/// What a word is called where its corpus has no vocabulary: its number in the order of the file, from 1.
pub fn word_name(vocabulary: Option<&Vocabulary>, id: u32) -> std::borrow::Cow<'_, str> {
    match vocabulary.and_then(|v| v.get(id)) {
        Some(word) => word.into(),
        None => format!("#{}", u64::from(id) + 1).into(),
    }
}
