//! The vocabulary: the text of each word.

use std::collections::HashMap;
use std::path::Path;

use super::ingest::input::Input;
use super::ingest::lines::LineReader;
use crate::error::{Error, Position, Result};

/// A list of strings in two allocations, usually the words of a corpus or model in the order of
/// their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    text: String,
    ends: Vec<u64>,
}

impl Vocabulary {
    /// Creates an empty vocabulary.
    pub fn new() -> Vocabulary {
        Vocabulary::default()
    }

    /// Creates a vocabulary from the concatenation of the words and the end of each word in it. The
    /// caller has checked that the ends are valid.
    pub(crate) fn from_parts(text: String, ends: Vec<u64>) -> Vocabulary {
        Vocabulary { text, ends }
    }

    /// Returns the concatenation of the words and the end of each word in it.
    pub(crate) fn parts(&self) -> (&str, &[u64]) {
        (&self.text, &self.ends)
    }

    /// Adds a word. Its id is the number of words before it.
    pub fn push(&mut self, word: &str) {
        self.text.push_str(word);
        self.ends.push(self.text.len() as u64);
    }

    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Returns whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// Returns the text of word `id`; `None` if there is no such word.
    pub fn get(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        let end = *self.ends.get(id)? as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        self.text.get(start..end)
    }
    /// Returns all words in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.len() as u32).map(|id| self.get(id).unwrap_or_default())
    }
    /// Returns a map from words to ids.
    pub fn ids(&self) -> HashMap<&str, u32> {
        self.iter().zip(0..).collect()
    }

    /// Reads a vocabulary file: one word per line, compressed or not.
    ///
    /// Empty lines, duplicate words and text that is not UTF-8 are errors.
    pub fn read(path: impl AsRef<Path>) -> Result<Vocabulary> {
        Vocabulary::read_lines(LineReader::new(Input::open(path.as_ref())?))
    }

    /// Reads a vocabulary from lines with one word each.
    pub(crate) fn read_lines(mut lines: LineReader<'_>) -> Result<Vocabulary> {
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
                    "another word".into(),
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

    /// Returns the two ids of the first duplicate word; `None` if all words are distinct.
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

/// Returns the name of a word. Without a vocabulary it is `#` and the word's number, counted from
/// 1.
pub fn word_name(vocabulary: Option<&Vocabulary>, id: u32) -> std::borrow::Cow<'_, str> {
    match vocabulary.and_then(|v| v.get(id)) {
        Some(word) => word.into(),
        None => format!("#{}", u64::from(id) + 1).into(),
    }
}
