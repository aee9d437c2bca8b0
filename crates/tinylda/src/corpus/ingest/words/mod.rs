//! Conversion of text to words.
//!
//! | task | module |
//! |---|---|
//! | describes the processing of text as data that a model can store | [`Pipeline`], here |
//! | splits text into tokens | `segment`, `tokens` |
//! | removes stop words | [`StopWords`] in `options`, lists in `stop` |
//! | stems words | `stem` |
//! | counts strings without an allocation for each | `table` |
//! | counts more strings than fit in memory | `runs` |
//! | selects the vocabulary, reports what was dropped | [`WordSelection`] in `options`, `select` |
//!
//! All but the data types require the feature `text`. Input formats are handled by other modules;
//! start with `Tokenizer`.

mod options;
#[cfg(feature = "text")]
mod runs;
#[cfg(feature = "text")]
mod segment;
#[cfg(feature = "text")]
mod select;
#[cfg(feature = "text")]
mod stem;
#[cfg(feature = "text")]
mod stop;
#[cfg(feature = "text")]
mod table;
#[cfg(feature = "text")]
mod tokens;

use serde::{Deserialize, Serialize};

pub use options::{DocumentLimit, DroppedTokens, StopWords, WordSelection};
#[cfg(feature = "text")]
pub use stop::languages;

#[cfg(feature = "text")]
pub(crate) use runs::{CountRuns, TermCount};
#[cfg(feature = "text")]
pub(crate) use select::WordSelector;
#[cfg(feature = "text")]
pub(crate) use stop::detect_language;
#[cfg(feature = "text")]
pub(crate) use table::{StringTable, WordIndex};
#[cfg(feature = "text")]
pub(crate) use tokens::{DropReason, Tokenizer, TokenizerBuffer, join_phrase, write_phrase_key};

/// Rule that splits text into tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenRule {
    /// Words by the rules of Unicode (UAX 29).
    #[default]
    Unicode,
    /// Runs of characters between whitespace.
    #[serde(rename = "blanks")]
    Whitespace,
    /// Matches of a regular expression, or of its first group if it has one.
    Pattern(String),
}

/// Processing steps that turn a text into a list of words. They are stored in the corpus and in the
/// model, so that new text is processed in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pipeline {
    /// Rule that splits text into tokens.
    pub tokens: TokenRule,
    /// Whether upper case is preserved.
    pub keep_case: bool,
    /// Whether accents are removed: `é` becomes `e`.
    pub fold_accents: bool,
    /// Minimum length of a word in characters.
    pub min_length: u32,
    /// Maximum length of a word in characters.
    pub max_length: u32,
    /// Whether tokens without a letter are kept.
    pub keep_numbers: bool,
    /// Languages whose stop words are removed, for information only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_languages: Vec<String>,
    /// Stop words, sorted. They are compared before stemming.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_words: Vec<String>,
    /// Language of the stemmer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stem: Option<String>,
    /// Pairs of words that are joined by `_` into one word, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phrases: Vec<(String, String)>,
}

impl Default for Pipeline {
    fn default() -> Self {
        Pipeline {
            tokens: TokenRule::Unicode,
            keep_case: false,
            fold_accents: false,
            min_length: 1,
            max_length: 100,
            keep_numbers: false,
            stop_languages: Vec::new(),
            stop_words: Vec::new(),
            stem: None,
            phrases: Vec::new(),
        }
    }
}
