//! Words that say nothing: lists by language, a list of one's own, or the language's that the text
//! seems to be in.

use std::path::Path;

use super::stem::language_code;
use super::{Pipeline, StopWords, Tokenizer};
use crate::corpus::ingest::input::Input;
use crate::corpus::ingest::lines::Lines;
use crate::error::{Error, Result};

/// The languages that have stop words, by their codes.
pub fn languages() -> &'static [&'static str] {
    stop_words::available_languages()
}

impl StopWords {
    /// The languages and the words.
    pub(crate) fn resolve(&self) -> Result<(Vec<String>, Vec<String>)> {
        let (mut codes, mut words) = (Vec::new(), Vec::new());
        let Self::Of(names) = self else { return Ok((codes, words)) };
        for name in names {
            let code = language_code(name);
            if let Some(list) = stop_words::lookup(&code) {
                words.extend(list.iter().map(|&word| word.to_string()));
                codes.push(code);
            } else if Path::new(name).is_file() {
                let mut lines = Lines::new(Input::open(Path::new(name))?);
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

/// At least this share of a text are stop words of its language: it is about half in most.
const SHARE: f64 = 0.25;

/// And this many different ones: a few may be words of another language.
const DIFFERENT: u64 = 6;

/// The language whose stop words make up the most of a text, if they are many.
pub(crate) fn guess(sample: &str) -> Option<&'static str> {
    let plain = Pipeline { keep_numbers: true, ..Pipeline::default() };
    let tokenizer = Tokenizer::new(&plain).ok()?;
    let mut counts: std::collections::HashMap<Vec<u8>, u64> = std::collections::HashMap::new();
    let mut total = 0u64;
    tokenizer.each(sample, &mut super::Cut::default(), &mut |token| {
        total += 1;
        *counts.entry(token.to_vec()).or_default() += 1;
    });
    let hits = |code: &str| -> u64 {
        let list = stop_words::lookup(code).unwrap_or_default();
        // Letters alone are in some lists and stand in texts of all languages.
        let found = list.iter().filter(|word| word.len() > 1).filter_map(|word| counts.get(word.as_bytes()));
        let (hits, different) = found.fold((0, 0), |(hits, different), n| (hits + n, different + 1));
        if different >= DIFFERENT { hits } else { 0 }
    };
    let best = languages()
        .iter()
        .map(|&code| (hits(code), code))
        .max_by_key(|&(hits, code)| (hits, std::cmp::Reverse(code)))?;
    (best.0 > 0 && best.0 as f64 >= SHARE * total as f64).then_some(best.1)
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
            assert_eq!(guess(text), code, "{text}");
        }
    }

    #[test]
    fn lists_and_names() {
        let (codes, words) = StopWords::Of(vec!["en".into(), "German".into()]).resolve().unwrap();
        assert_eq!(codes, ["en", "de"]);
        assert!(words.contains(&"the".to_string()) && words.contains(&"und".to_string()));
        let text = StopWords::Of(vec!["klingonese".into()]).resolve().unwrap_err().to_string();
        assert!(
            text.contains("a file") && text.contains("en") && text.contains("not \"klingonese\""),
            "{text}"
        );
    }
}
