//! From text to words.
//!
//! | question | file |
//! |---|---|
//! | what happens to a text, as data that a model can keep? | [`Pipeline`], here |
//! | text -> tokens, fast | `segment`, `tokens` |
//! | which words are left out? | [`StopWords`] in `options`, lists in `stop` |
//! | stems | `stem` |
//! | strings that are counted, without an allocation for each | `table` |
//! | more strings than fit in memory | `runs` |
//! | which of them become words, and what was left out | [`Choice`] in `options`, `choose` |
//!
//! All but the data types belong to the feature `text`.

#[cfg(feature = "text")]
mod choose;
mod options;
#[cfg(feature = "text")]
mod runs;
#[cfg(feature = "text")]
mod segment;
#[cfg(feature = "text")]
mod stem;
#[cfg(feature = "text")]
mod stop;
#[cfg(feature = "text")]
mod table;
#[cfg(feature = "text")]
mod tokens;

use serde::{Deserialize, Serialize};

pub use options::{Choice, Dropped, Most, StopWords};
#[cfg(feature = "text")]
pub use stop::languages;

#[cfg(feature = "text")]
pub(crate) use choose::Chooser;
#[cfg(feature = "text")]
pub(crate) use runs::{Counted, Runs};
#[cfg(feature = "text")]
pub(crate) use stop::guess;
#[cfg(feature = "text")]
pub(crate) use table::{Lexicon, Table};
#[cfg(feature = "text")]
pub(crate) use tokens::{Cut, Reason, Tokenizer, joined, phrase_key};

/// What a token is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// A word by Unicode's rules (UAX 29).
    #[default]
    Unicode,
    /// What stands between blanks.
    Blanks,
    /// What a regular expression finds; its first group, where it has one.
    Pattern(String),
}

/// All that happens to a text until it is a list of words. It is kept in the corpus and in the
/// model, so that new text can go the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pipeline {
    /// What a token is.
    pub tokens: Tokens,
    /// Upper case stays as it is.
    pub keep_case: bool,
    /// `é` becomes `e`.
    pub fold_accents: bool,
    /// The shortest word, in characters.
    pub min_length: u32,
    /// The longest word, in characters.
    pub max_length: u32,
    /// Tokens without a letter are words too.
    pub keep_numbers: bool,
    /// The languages whose stop words are left out, for people to read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_languages: Vec<String>,
    /// The words that are left out, sorted; they are compared before stemming.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_words: Vec<String>,
    /// The language of the stemmer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stem: Option<String>,
    /// Pairs of words that become one, joined by `_`; sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phrases: Vec<(String, String)>,
}

impl Default for Pipeline {
    fn default() -> Self {
        Pipeline {
            tokens: Tokens::Unicode,
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
