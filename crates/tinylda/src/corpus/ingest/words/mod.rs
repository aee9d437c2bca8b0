//! From text to words.
//!
//! | question | file |
//! |---|---|
//! | what happens to a text, as data that a model can keep? | [`Pipeline`], here |
//! | text -> tokens, fast | `segment`, `tokens` |
//! | which words say nothing? | `stop` |
//! | strings that are counted, without an allocation for each | `table` |
//! | more strings than fit in memory | `runs` |
//! | which of them become words, and what was left out | `choose` |

mod choose;
mod runs;
mod segment;
mod stop;
mod table;
mod tokens;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub use choose::{Choice, Dropped, Most};
pub use stop::{StopWords, languages};

pub(crate) use choose::Chooser;
pub(crate) use runs::{Counted, Runs};
pub(crate) use stop::guess;
pub(crate) use table::{Lexicon, Table};
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

/// All that happens to a text until it is a list of words. It is kept in the corpus and in the model, so that new text can go the
/// same way.
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

/// Codes and names of the languages that have a stemmer.
const STEMMERS: [(&str, &str, rust_stemmers::Algorithm); 18] = {
    use rust_stemmers::Algorithm as A;
    [
        ("ar", "arabic", A::Arabic),
        ("da", "danish", A::Danish),
        ("nl", "dutch", A::Dutch),
        ("en", "english", A::English),
        ("fi", "finnish", A::Finnish),
        ("fr", "french", A::French),
        ("de", "german", A::German),
        ("el", "greek", A::Greek),
        ("hu", "hungarian", A::Hungarian),
        ("it", "italian", A::Italian),
        ("no", "norwegian", A::Norwegian),
        ("pt", "portuguese", A::Portuguese),
        ("ro", "romanian", A::Romanian),
        ("ru", "russian", A::Russian),
        ("es", "spanish", A::Spanish),
        ("sv", "swedish", A::Swedish),
        ("ta", "tamil", A::Tamil),
        ("tr", "turkish", A::Turkish),
    ]
};

/// The code of a language that is given by code or English name.
pub(crate) fn language_code(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    STEMMERS.iter().find(|(_, full, _)| *full == lower).map_or(lower, |(code, _, _)| (*code).into())
}

/// The stemmer of a language.
fn stemmer(language: &str) -> Result<rust_stemmers::Stemmer> {
    let code = language_code(language);
    let found = STEMMERS.iter().find(|(known, _, _)| *known == code);
    let (_, _, algorithm) = found.ok_or_else(|| {
        let known = format!("one of {}", STEMMERS.map(|(code, _, _)| code).join(", "));
        Error::out_of_range("stem", format!("{language:?}"), known)
    })?;
    Ok(rust_stemmers::Stemmer::create(*algorithm))
}
