//! Stop words: lists by language, lists in files, or the list of the detected language.
//!
//! Start with `StopWords::resolve` and [`detect_language`].

use std::path::Path;

use super::stem::language_code;
use super::{Pipeline, StopWords, Tokenizer};
use crate::corpus::ingest::input::Input;
use crate::corpus::ingest::lines::LineReader;
use crate::error::{Error, Result};

/// Returns the codes of the languages that have stop words.
pub fn languages() -> &'static [&'static str] {
    stop_words::available_languages()
}

impl StopWords {
    /// Returns the language codes and the stop words.
    pub(crate) fn resolve(&self) -> Result<(Vec<String>, Vec<String>)> {
        let (mut codes, mut words) = (Vec::new(), Vec::new());
        let Self::Lists(names) = self else { return Ok((codes, words)) };
        for name in names {
            let code = language_code(name);
            if let Some(list) = stop_words::lookup(&code) {
                words.extend(list.iter().map(|&word| word.to_string()));
                codes.push(code);
            } else if Path::new(name).is_file() {
                let mut lines = LineReader::new(Input::open(Path::new(name))?);
                while lines.advance_to_text()? {
                    words.push(lines.utf8()?.trim().to_string());
                }
            } else {
                let expected =
                    format!("none, a file with one word per line, or some of {}", languages().join(", "));
                return Err(Error::out_of_range("stop_words", format!("{name:?}"), expected)
                    .with_remedy("separate several by commas, for instance {stop_words=en,de}"));
            }
        }
        Ok((codes, words))
    }
}

/// Minimum share of stop words in a text of their language. It is about half in most texts.
const MIN_STOP_WORD_SHARE: f64 = 0.25;

/// Minimum number of different stop words. A few may also be words of another language.
const MIN_DISTINCT_STOP_WORDS: u64 = 6;

/// Detects the language of a text: the one with the most stop words in it; `None` if these are few.
pub(crate) fn detect_language(sample: &str) -> Option<&'static str> {
    let plain = Pipeline { keep_numbers: true, ..Pipeline::default() };
    let tokenizer = Tokenizer::new(&plain).ok()?;
    let mut counts: std::collections::HashMap<Vec<u8>, u64> = std::collections::HashMap::new();
    let mut total = 0u64;
    tokenizer.for_each_token(sample, &mut super::TokenizerBuffer::default(), &mut |token| {
        total += 1;
        *counts.entry(token.to_vec()).or_default() += 1;
    });
    let hits = |code: &str| -> u64 {
        let list = stop_words::lookup(code).unwrap_or_default();
        // Single letters are in some lists and occur in texts of all languages.
        let found = list.iter().filter(|word| word.len() > 1).filter_map(|word| counts.get(word.as_bytes()));
        let (hits, different) = found.fold((0, 0), |(hits, different), n| (hits + n, different + 1));
        if different >= MIN_DISTINCT_STOP_WORDS { hits } else { 0 }
    };
    let best = languages()
        .iter()
        .map(|&code| (hits(code), code))
        .max_by_key(|&(hits, code)| (hits, std::cmp::Reverse(code)))?;
    (best.0 > 0 && best.0 as f64 >= MIN_STOP_WORD_SHARE * total as f64).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_apart() {
        for (text, code) in [
            (
                "It was the best of times, it was the worst of times, and we had everything before us",
                Some("en"),
            ),
            (
                "Als er am Morgen aus seinen Träumen erwachte, fand er sich in seinem Bett wieder und war nicht mehr der alte",
                Some("de"),
            ),
            (
                "Longtemps je me suis couché de bonne heure, et je ne le regrette pas du tout dans la vie",
                Some("fr"),
            ),
            ("peak1 peak2 peak3", None),
            ("", None),
        ] {
            assert_eq!(detect_language(text), code, "{text}");
        }
    }

    #[test]
    fn lists_and_names() {
        let (codes, words) = StopWords::Lists(vec!["en".into(), "German".into()]).resolve().unwrap();
        assert_eq!(codes, ["en", "de"]);
        assert!(words.contains(&"the".to_string()) && words.contains(&"und".to_string()));
        let text = StopWords::Lists(vec!["klingonese".into()]).resolve().unwrap_err().to_string();
        assert!(
            text.contains("a file") && text.contains("en") && text.contains("not \"klingonese\""),
            "{text}"
        );
    }
}
