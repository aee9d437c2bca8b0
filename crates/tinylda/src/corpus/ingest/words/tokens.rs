//! A text -> tokens in their common form -> words, or why not.

use std::borrow::Cow;

use hashbrown::HashSet;
use regex::Regex;
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::stem::stemmer;
use super::{Pipeline, Tokens, segment};
use crate::error::{Error, Result, Template};

/// Why a token is no word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Short,
    Long,
    Number,
    Stop,
}

impl Reason {
    /// How many there are.
    pub(crate) const COUNT: usize = 4;
}

enum Cutter {
    Unicode,
    Blanks,
    /// Runs of at least so many word characters.
    Runs(usize),
    Pattern(Regex),
}

/// A hash that is always the same.
type Words = HashSet<Vec<u8>, foldhash::fast::FixedState>;

/// A pipeline, ready to work. Threads share it.
pub(crate) struct Tokenizer {
    pipeline: Pipeline,
    cutter: Cutter,
    stop: Words,
    stemmer: Option<rust_stemmers::Stemmer>,
    phrases: Words,
}

/// What a thread needs to cut texts: buffers that are used again and again.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    lower: String,
}

impl Tokenizer {
    pub(crate) fn new(pipeline: &Pipeline) -> Result<Tokenizer> {
        if pipeline.min_length > pipeline.max_length {
            let expected = format!("at most {}, the {{max_length}}", pipeline.max_length);
            return Err(Error::out_of_range("min_length", pipeline.min_length, expected));
        }
        let cutter = match &pipeline.tokens {
            Tokens::Unicode => Cutter::Unicode,
            Tokens::Blanks => Cutter::Blanks,
            Tokens::Pattern(pattern) => match segment::runs_pattern(pattern) {
                Some(least) => Cutter::Runs(least),
                None => Cutter::Pattern(Regex::new(pattern).map_err(|e| {
                    let reason = e.to_string().replace('\n', " ");
                    let expected = Template::from("a regular expression (").text(reason).text(")");
                    Error::parse("token_pattern", pattern, expected)
                })?),
            },
        };
        let stemmer = pipeline.stem.as_deref().map(stemmer).transpose()?;
        let mut tokenizer = Tokenizer {
            pipeline: pipeline.clone(),
            cutter,
            stop: Words::default(),
            stemmer,
            phrases: Words::default(),
        };
        // The lists are in a form of their own: é may be two characters there, or be folded here.
        tokenizer.stop = pipeline
            .stop_words
            .iter()
            .map(|word| tokenizer.common_form(word).into_owned().into_bytes())
            .collect();
        let mut key = Vec::new();
        for (a, b) in &pipeline.phrases {
            phrase_key(a.as_bytes(), b.as_bytes(), &mut key);
            tokenizer.phrases.insert(key.clone());
        }
        Ok(tokenizer)
    }

    /// Whether tokens are the words that they seem: nothing is stemmed or joined.
    pub(crate) fn is_plain(&self) -> bool {
        self.stemmer.is_none() && self.phrases.is_empty()
    }

    /// Whether there are phrases to be joined.
    pub(crate) fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Whether two words next to one another become one; `key` is scratch.
    pub(crate) fn joins(&self, a: &[u8], b: &[u8], key: &mut Vec<u8>) -> bool {
        phrase_key(a, b, key);
        self.phrases.contains(key.as_slice())
    }

    /// A text in the form in which words are compared: NFC, in lower case, without accents, as the
    /// pipeline has it.
    fn common_form<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.is_ascii() {
            return if self.pipeline.keep_case { text.into() } else { text.to_ascii_lowercase().into() };
        }
        let mut text: Cow<'_, str> = match is_nfc_quick(text.chars()) {
            IsNormalized::Yes => text.into(),
            _ => text.nfc().collect::<String>().into(),
        };
        if !self.pipeline.keep_case {
            text = text.to_lowercase().into();
        }
        if self.pipeline.fold_accents {
            text = text.nfd().filter(|&c| !is_combining_mark(c)).nfc().collect::<String>().into();
        }
        // don’t is don't.
        if text.contains('\u{2019}') { text.replace('\u{2019}', "'").into() } else { text }
    }

    /// Calls `each` with every token of a text, in its common form.
    pub(crate) fn each(&self, text: &str, cut: &mut Cut, each: &mut impl FnMut(&[u8])) {
        if text.is_ascii() {
            if self.pipeline.keep_case {
                return self.tokens(text, each);
            }
            // All at once: a token at a time takes longer.
            cut.lower.clear();
            cut.lower.push_str(text);
            cut.lower.make_ascii_lowercase();
            return self.tokens(&cut.lower, each);
        }
        self.tokens(&self.common_form(text), each);
    }

    /// Calls `each` with every word that a text becomes, in order: what the passes over a corpus
    /// count, by number and faster.
    pub(crate) fn words(&self, text: &str, cut: &mut Cut, each: &mut impl FnMut(&[u8])) {
        let (mut before, mut key): (Option<Vec<u8>>, _) = (None, Vec::new());
        self.each(text, cut, &mut |token| match self.word(token) {
            Ok(word) if !self.has_phrases() => each(&word),
            Ok(word) => match before.take() {
                Some(first) if self.joins(&first, &word, &mut key) => {
                    joined(&mut key);
                    each(&key);
                }
                first => {
                    if let Some(first) = first {
                        each(&first);
                    }
                    before = Some(word.into_owned());
                }
            },
            Err(_) => {
                if let Some(first) = before.take() {
                    each(&first);
                }
            }
        });
        if let Some(first) = before {
            each(&first);
        }
    }

    fn tokens(&self, text: &str, each: &mut impl FnMut(&[u8])) {
        match &self.cutter {
            Cutter::Unicode => segment::unicode(text, each),
            Cutter::Blanks => segment::blanks(text, each),
            Cutter::Runs(least) => segment::runs(text, *least, each),
            Cutter::Pattern(pattern) if pattern.captures_len() > 1 => {
                for found in pattern.captures_iter(text).filter_map(|c| c.get(1)) {
                    each(found.as_str().as_bytes());
                }
            }
            Cutter::Pattern(pattern) => {
                pattern.find_iter(text).for_each(|found| each(found.as_str().as_bytes()));
            }
        }
    }

    /// The word that a token becomes.
    pub(crate) fn word<'a>(&self, token: &'a [u8]) -> Result<Cow<'a, [u8]>, Reason> {
        let p = &self.pipeline;
        let Ok(text) = std::str::from_utf8(token) else { return Err(Reason::Short) };
        let length = if token.is_ascii() { token.len() } else { text.chars().count() };
        if token.is_empty() || length < p.min_length as usize {
            return Err(Reason::Short);
        }
        if length > p.max_length as usize {
            return Err(Reason::Long);
        }
        if !p.keep_numbers && !text.chars().any(char::is_alphabetic) {
            return Err(Reason::Number);
        }
        if self.stop.contains(token) {
            return Err(Reason::Stop);
        }
        let Some(stemmer) = &self.stemmer else { return Ok(token.into()) };
        match stemmer.stem(text) {
            stem if stem.is_empty() => Err(Reason::Short),
            Cow::Borrowed(stem) => Ok(Cow::Borrowed(stem.as_bytes())),
            Cow::Owned(stem) => Ok(Cow::Owned(stem.into_bytes())),
        }
    }
}

/// Two words as one key: the byte between them is in no text.
pub(crate) fn phrase_key(a: &[u8], b: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(a);
    key.push(0xff);
    key.extend_from_slice(b);
}

/// The key of two words as the word that they become.
pub(crate) fn joined(key: &mut [u8]) {
    if let Some(at) = memchr::memchr(0xff, key) {
        key[at] = b'_';
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(pipeline: &Pipeline, text: &str) -> Vec<String> {
        let tokenizer = Tokenizer::new(pipeline).unwrap();
        let mut all = Vec::new();
        tokenizer.each(text, &mut Cut::default(), &mut |token| {
            if let Ok(word) = tokenizer.word(token) {
                all.push(String::from_utf8(word.into_owned()).unwrap());
            }
        });
        all
    }

    #[test]
    fn the_pipeline_does_what_it_says() {
        let p = Pipeline::default();
        assert_eq!(words(&p, "The cat's 3.14 CATS, e.g. Müller"), ["the", "cat's", "cats", "e.g", "müller"]);
        // Two characters or one: the same word.
        assert_eq!(words(&p, "Mu\u{308}ller don\u{2019}t"), ["müller", "don't"]);
        let p = Pipeline { keep_case: true, keep_numbers: true, ..Pipeline::default() };
        assert_eq!(words(&p, "The 3.14"), ["The", "3.14"]);
        let p = Pipeline { fold_accents: true, min_length: 3, max_length: 6, ..Pipeline::default() };
        assert_eq!(words(&p, "Élan of the Großväter ça"), ["elan", "the"]);
        let p = Pipeline { stop_words: vec!["the".into(), "e\u{301}t".into()], ..Pipeline::default() };
        assert_eq!(words(&p, "The cat ét"), ["cat"]);
        let p = Pipeline { stem: Some("english".into()), ..Pipeline::default() };
        assert_eq!(words(&p, "Running runs"), ["run", "run"]);
        let p = Pipeline { tokens: Tokens::Pattern(r"#(\w+)".into()), ..Pipeline::default() };
        assert_eq!(words(&p, "a #Tag and #more"), ["tag", "more"]);
        let p = Pipeline { tokens: Tokens::Blanks, ..Pipeline::default() };
        assert_eq!(words(&p, "c++ a.b\tC#"), ["c++", "a.b", "c#"]);
        assert!(
            Tokenizer::new(&Pipeline { tokens: Tokens::Pattern("(".into()), ..Pipeline::default() }).is_err()
        );
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_stemmer(text in "\\PC{0,30}", language in 0usize..18) {
            let stem = Some(super::super::stem::STEMMERS[language].0.to_string());
            words(&Pipeline { stem, fold_accents: true, ..Pipeline::default() }, &text);
        }
    }

    #[test]
    fn pipelines_are_json() {
        let p = Pipeline {
            tokens: Tokens::Pattern("a".into()),
            phrases: vec![("new".into(), "york".into())],
            ..Pipeline::default()
        };
        let text = serde_json::to_string(&p).unwrap();
        assert_eq!(serde_json::from_str::<Pipeline>(&text).unwrap(), p);
        assert_eq!(serde_json::from_str::<Pipeline>("{}").unwrap(), Pipeline::default());
    }

    #[test]
    fn words_in_order_with_phrases() {
        let pipeline = Pipeline {
            stop_words: vec!["the".into()],
            phrases: vec![("new".into(), "york".into())],
            ..Pipeline::default()
        };
        let words = |pipeline: &Pipeline, text: &str| {
            let mut all = Vec::new();
            let tokenizer = Tokenizer::new(pipeline).unwrap();
            tokenizer
                .words(text, &mut Cut::default(), &mut |w| all.push(String::from_utf8(w.to_vec()).unwrap()));
            all
        };
        let text = "The New York times: new, the York new 42 new YORK new";
        assert_eq!(words(&pipeline, text), ["new_york", "times", "new", "york", "new", "new_york", "new"]);
        let plain = "Don't PANIC: 42 x2, \u{c4}pfel\u{2014}now";
        assert_eq!(words(&Pipeline::default(), plain), ["don't", "panic", "x2", "\u{e4}pfel", "now"]);
    }
}
