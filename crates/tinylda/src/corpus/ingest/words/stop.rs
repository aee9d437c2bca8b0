//! Stop words: lists by language, and lists in files.
//!
//! Every language has one short list that is used by default. Those in the folder `lists` contain
//! function words only: articles, pronouns, prepositions, conjunctions, auxiliary verbs, particles.
//! The others, and the long lists, are those of the crate `stop-words` (stopwords-iso). A long list
//! also contains frequent words with a meaning. Start with `StopWords::resolve`.

use std::path::Path;

use super::StopWords;
use super::language::{language_code, language_name};
use crate::corpus::ingest::input::Input;
use crate::corpus::ingest::lines::LineReader;
use crate::error::{Error, Result};

/// Ending of the name of a long list.
const LONG: &str = "-long";

macro_rules! short_lists {
    ($($code:literal)*) => {
        [$(($code, include_str!(concat!("lists/", $code, ".txt")))),*]
    };
}

/// Lists of function words, separated by blanks.
const SHORT_LISTS: [(&str, &str); 30] = short_lists!(
    "ar" "az" "cs" "da" "de" "el" "en" "es" "fa" "fi" "fr" "he" "hi" "hu" "id" "it" "ja" "ko" "nl" "no" "pl"
    "pt" "ro" "ru" "sv" "th" "tr" "uk" "vi" "zh"
);

/// List of stop words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopWordList {
    /// Name of the list: the code of its language, with `-long` for a long list.
    pub name: &'static str,
    /// English name of the language.
    pub language: &'static str,
    /// Number of words.
    pub words: usize,
    /// Number of words of the long list, if there is another one.
    pub long_words: Option<usize>,
}

/// Returns the codes of the languages that have stop words, sorted.
pub fn languages() -> Vec<&'static str> {
    let mut codes: Vec<&str> = SHORT_LISTS.iter().map(|(code, _)| *code).collect();
    codes.extend(stop_words::available_languages());
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Returns all lists of stop words that are used by default, sorted by their names.
pub fn stop_word_lists() -> Vec<StopWordList> {
    let list = |code: &'static str| {
        let short = short_list(code).map(|words| words.split_whitespace().count());
        let long = stop_words::lookup(code).map(<[&str]>::len);
        StopWordList {
            name: code,
            language: language_name(code).unwrap_or(code),
            words: short.or(long).unwrap_or_default(),
            long_words: short.and(long),
        }
    };
    languages().into_iter().map(list).collect()
}

fn short_list(code: &str) -> Option<&'static str> {
    SHORT_LISTS.iter().find(|(known, _)| *known == code).map(|(_, words)| *words)
}

/// Returns the words of a list: that of a language by its code or English name, or the long one if
/// the name ends with `-long`. Returns `None` if there is no such list.
pub fn stop_word_list(name: &str) -> Option<Vec<&'static str>> {
    let name = name.trim().to_lowercase();
    if let Some(language) = name.strip_suffix(LONG) {
        return stop_words::lookup(language_code(language)).map(<[&str]>::to_vec);
    }
    list_of_language(&language_code(&name))
}

/// Returns the default list of a language with this code.
pub(crate) fn list_of_language(code: &str) -> Option<Vec<&'static str>> {
    match short_list(code) {
        Some(words) => Some(words.split_whitespace().collect()),
        None => stop_words::lookup(code).map(<[&str]>::to_vec),
    }
}

/// Returns the name of a list as it is stored: by the code of its language.
fn list_name(name: &str) -> String {
    let name = name.trim().to_lowercase();
    match name.strip_suffix(LONG) {
        Some(language) => format!("{}{LONG}", language_code(language)),
        None => language_code(&name),
    }
}

impl StopWords {
    /// Returns the names of the lists and the stop words.
    pub(crate) fn resolve(&self) -> Result<(Vec<String>, Vec<String>)> {
        let (mut names, mut words) = (Vec::new(), Vec::new());
        let Self::Lists(lists) = self else { return Ok((names, words)) };
        for name in lists {
            if let Some(list) = stop_word_list(name) {
                words.extend(list.into_iter().map(String::from));
                names.push(list_name(name));
            } else if Path::new(name).exists() && !Path::new(name).is_dir() {
                let mut lines = LineReader::new(Input::open(Path::new(name))?);
                while lines.advance_to_text()? {
                    words.push(lines.utf8()?.trim().to_string());
                }
            } else {
                return Err(unknown_list(name));
            }
        }
        Ok((names, words))
    }
}

/// Returns the error for a name that is neither a list nor a file.
fn unknown_list(name: &str) -> Error {
    let expected = format!("none, a file, a language such as en or a long list such as en{LONG}");
    let is_path = name.contains(['.', '/', '\\']);
    let remedy = if name.trim().to_lowercase().ends_with(LONG) {
        "there is no long list of this name; omit the ending -long"
    } else if is_path {
        "there is no such file; check its path"
    } else {
        "to remove single words, write them to a file, one per line: {stop_words=en,my.txt}"
    };
    Error::out_of_range("stop_words", format!("{name:?}"), expected).with_remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_names() {
        let lists = StopWords::Lists(vec!["en".into(), "German".into(), "EN-long".into()]);
        let (codes, words) = lists.resolve().unwrap();
        assert_eq!(codes, ["en", "de", "en-long"]);
        assert!(words.contains(&"the".to_string()) && words.contains(&"und".to_string()));
        for unknown in ["klingonese", "xx-long"] {
            let text = StopWords::Lists(vec![unknown.into()]).resolve().unwrap_err().to_string();
            let named = format!("not {unknown:?}");
            assert!(text.contains("a file") && text.contains("en-long") && text.contains(&named), "{text}");
        }
    }

    #[test]
    fn every_list_has_a_language() {
        for list in stop_word_lists() {
            assert!(language_name(list.name).is_some(), "{list:?}");
            let words = list_of_language(list.name).unwrap();
            assert!(words.len() > 20, "{list:?}");
            let mut sorted = words.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert!(short_list(list.name).is_none() || sorted.len() == words.len(), "{list:?}");
            if let Some(long) = list.long_words {
                assert!(stop_word_list(&format!("{}-long", list.name)).unwrap().len() == long);
            }
        }
    }

    #[test]
    fn u2_default_list_keeps_content_words() {
        let english = stop_word_list("en").unwrap();
        assert!((150..350).contains(&english.len()), "{}", english.len());
        for word in
            "computer system microsoft research novel interest bill fire home man world state uk million \
                     text page web tv test value copy science group wrote new time year people work"
                .split_whitespace()
        {
            assert!(!english.contains(&word), "{word}");
        }
        for word in
            "the of and to in is it that was for with as be on not this are or by from at an which".split(' ')
        {
            assert!(english.contains(&word), "{word}");
        }
        assert!(stop_word_list("en-long").unwrap().contains(&"computer"));
    }
}
