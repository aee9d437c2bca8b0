//! Conversion of text to words.
//!
//! | task | module |
//! |---|---|
//! | describes the processing of text as data that a model can store | [`Pipeline`], here |
//! | divides long texts into chunks | `chunks` |
//! | splits text into tokens | `segment`, `tokens`; characters: `scripts` |
//! | recognizes tokens that are not words | `noise` |
//! | removes `'s`, `l'` and the like | `clitics` |
//! | names and detects languages | `language` |
//! | removes stop words | [`StopWords`] in `options`, lists in `stop` |
//! | stems words | `stem` |
//! | counts strings without an allocation for each | `table` |
//! | counts more strings than fit in memory | `runs` |
//! | selects the vocabulary, reports what was dropped | [`WordSelection`] in `options`, `select` |
//!
//! All but the data types require the feature `text`. Input formats are handled by other modules;
//! start with `Tokenizer`.

#[cfg(feature = "text")]
mod chunks;
#[cfg(feature = "text")]
mod clitics;
#[cfg(feature = "text")]
mod language;
#[cfg(feature = "text")]
mod noise;
mod options;
#[cfg(feature = "text")]
mod runs;
#[cfg(feature = "text")]
mod scripts;
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

#[cfg(feature = "text")]
pub use language::language_name;
pub use options::{
    DocumentLimit, DroppedTokens, LanguageSource, StopWords, TextLanguages, WordOccurrences, WordSelection,
};
#[cfg(feature = "text")]
pub use stop::{StopWordList, languages, stop_word_list, stop_word_lists};

#[cfg(feature = "text")]
pub(crate) use chunks::{CHUNK_BYTES, ChunkRule, TokenizerChunk, chunks, longest_chunk};
#[cfg(feature = "text")]
pub(crate) use language::LanguageSample;
#[cfg(feature = "text")]
pub(crate) use runs::{CountRuns, TermCount};
#[cfg(feature = "text")]
pub(crate) use select::{WordSelector, most_frequent};
#[cfg(feature = "text")]
pub(crate) use stop::list_of_language;
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

/// Way to split text of scripts that are written without spaces between words: Chinese, Japanese,
/// Thai, Lao, Burmese, Khmer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Segmentation {
    /// Characters are words, as in UAX 29.
    #[default]
    None,
    /// Words are separated by spaces, because the text was segmented before.
    Spaces,
    /// Words of dictionaries. Requires the feature `segmentation`.
    Dictionary,
}

/// Processing steps that turn a text into a list of words. They are stored in the corpus and in the
/// model, so that new text is processed in the same way.
///
/// The default is what new imports use. Keys that are missing in a file have the values of
/// [`Pipeline::plain`], which are those of the files that did not have these keys yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default = "Pipeline::plain")]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
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
    /// Languages of the text, the most frequent one first. They determine the lower case of `I` and
    /// the clitics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// Whether tokens that are not words are dropped: addresses, encoded data, identifiers, single
    /// letters. Applies to [`TokenRule::Unicode`] only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drop_noise: bool,
    /// Whether clitics of the languages are dropped: `god's` becomes `god`, `l'eau` becomes `eau`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drop_clitics: bool,
    /// How text without spaces between words is split. Applies to [`TokenRule::Unicode`] only.
    #[serde(skip_serializing_if = "is_default")]
    pub segmentation: Segmentation,
    /// Names of the lists of stop words, for information only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_languages: Vec<String>,
    /// Stop words, sorted. They are compared before stemming.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_words: Vec<String>,
    /// Language of the stemmer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stem: Option<String>,
    /// Maximum number of words of a phrase, 2 or 3.
    #[serde(skip_serializing_if = "is_two")]
    pub phrase_words: u32,
    /// Pairs of words that are joined by `_` into one word, sorted. If phrases may have three
    /// words, the first one of a pair can be a phrase.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phrases: Vec<(String, String)>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_two(value: &u32) -> bool {
    *value == 2
}

impl Pipeline {
    /// Returns a pipeline without rules that depend on the language or on the content: words of UAX
    /// 29 in lower case.
    pub fn plain() -> Self {
        Pipeline {
            tokens: TokenRule::Unicode,
            keep_case: false,
            fold_accents: false,
            min_length: 1,
            max_length: 100,
            keep_numbers: false,
            languages: Vec::new(),
            drop_noise: false,
            drop_clitics: false,
            segmentation: Segmentation::None,
            stop_languages: Vec::new(),
            stop_words: Vec::new(),
            stem: None,
            phrase_words: 2,
            phrases: Vec::new(),
        }
    }
}

impl Default for Pipeline {
    fn default() -> Self {
        let segmentation =
            if cfg!(feature = "segmentation") { Segmentation::Dictionary } else { Segmentation::None };
        Pipeline { drop_noise: true, drop_clitics: true, segmentation, phrase_words: 3, ..Pipeline::plain() }
    }
}
