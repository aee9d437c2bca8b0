//! Tokenizer: splits text into normalized tokens and maps them to words, or to the reason why they
//! are dropped.
//!
//! Start with [`Tokenizer`]. Counting and input formats are handled by other modules.

use std::borrow::Cow;

use hashbrown::HashSet;
use regex::Regex;
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::stem::stemmer;
use super::{Pipeline, TokenRule, segment};
use crate::error::{Error, Result, Template};

/// Reason why a token is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropReason {
    Short,
    Long,
    Number,
    Stop,
}

impl DropReason {
    /// Number of reasons.
    pub(crate) const COUNT: usize = 4;
}

enum Splitter {
    Unicode,
    Whitespace,
    /// Runs of at least this many word characters.
    WordRuns(usize),
    Pattern(Regex),
}

/// Set of byte strings with a fixed hash seed.
type ByteStringSet = HashSet<Vec<u8>, foldhash::fast::FixedState>;

/// Compiled form of a [`Pipeline`] that threads share.
pub(crate) struct Tokenizer {
    pipeline: Pipeline,
    splitter: Splitter,
    stop: ByteStringSet,
    stemmer: Option<rust_stemmers::Stemmer>,
    phrases: ByteStringSet,
}

/// Reusable buffers of a thread for tokenizing.
#[derive(Debug, Default)]
pub(crate) struct TokenizerBuffer {
    lower: String,
}

impl TokenizerBuffer {
    /// Frees the memory of a long text.
    pub(crate) fn free_long_text(&mut self) {
        if self.lower.capacity() > 1 << 20 {
            self.lower = String::new();
        }
    }
}

impl Tokenizer {
    pub(crate) fn new(pipeline: &Pipeline) -> Result<Tokenizer> {
        if pipeline.min_length > pipeline.max_length {
            let expected = format!("at most {}, the {{max_length}}", pipeline.max_length);
            return Err(Error::out_of_range("min_length", pipeline.min_length, expected));
        }
        let splitter = match &pipeline.tokens {
            TokenRule::Unicode => Splitter::Unicode,
            TokenRule::Whitespace => Splitter::Whitespace,
            TokenRule::Pattern(pattern) => match segment::word_run_pattern(pattern) {
                Some(min_chars) => Splitter::WordRuns(min_chars),
                None => Splitter::Pattern(Regex::new(pattern).map_err(|e| {
                    let reason = e.to_string().replace('\n', " ");
                    let expected = Template::from("a regular expression (").text(reason).text(")");
                    Error::parse("token_pattern", pattern, expected)
                })?),
            },
        };
        let stemmer = pipeline.stem.as_deref().map(stemmer).transpose()?;
        let mut tokenizer = Tokenizer {
            pipeline: pipeline.clone(),
            splitter,
            stop: ByteStringSet::default(),
            stemmer,
            phrases: ByteStringSet::default(),
        };
        // The lists may use another normal form (é as two characters) and are not folded, so they
        // are normalized like the text.
        tokenizer.stop = pipeline
            .stop_words
            .iter()
            .map(|word| tokenizer.normalize(word).into_owned().into_bytes())
            .collect();
        let mut key = Vec::new();
        for (a, b) in &pipeline.phrases {
            write_phrase_key(a.as_bytes(), b.as_bytes(), &mut key);
            tokenizer.phrases.insert(key.clone());
        }
        Ok(tokenizer)
    }

    /// Returns whether tokens are words without stemming or joining.
    pub(crate) fn is_plain(&self) -> bool {
        self.stemmer.is_none() && self.phrases.is_empty()
    }

    /// Returns whether no token contains whitespace or depends on the text beyond it, so that a
    /// long text can be processed in parts.
    pub(crate) fn cuts_at_whitespace(&self) -> bool {
        !matches!(self.splitter, Splitter::Pattern(_))
    }

    /// Returns whether there are phrases to join.
    pub(crate) fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Returns whether two adjacent words form a phrase. `key` is scratch space.
    pub(crate) fn is_phrase(&self, a: &[u8], b: &[u8], key: &mut Vec<u8>) -> bool {
        write_phrase_key(a, b, key);
        self.phrases.contains(key.as_slice())
    }

    /// Normalizes a text as the pipeline requires: NFC, lower case, without accents.
    fn normalize<'a>(&self, text: &'a str) -> Cow<'a, str> {
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
        // The typographic apostrophe is replaced: don’t becomes don't.
        if text.contains('\u{2019}') { text.replace('\u{2019}', "'").into() } else { text }
    }

    /// Calls `each` with every normalized token of a text.
    pub(crate) fn for_each_token(
        &self,
        text: &str,
        buffer: &mut TokenizerBuffer,
        each: &mut impl FnMut(&[u8]),
    ) {
        if text.is_ascii() {
            if self.pipeline.keep_case {
                return self.split(text, each);
            }
            // Lower-casing the complete text is faster than lower-casing each token.
            buffer.lower.clear();
            buffer.lower.push_str(text);
            buffer.lower.make_ascii_lowercase();
            return self.split(&buffer.lower, each);
        }
        self.split(&self.normalize(text), each);
    }

    /// Calls `each` with every word of a text in order. The words are the same that the passes over
    /// a corpus count by number, which is faster.
    pub(crate) fn for_each_word(
        &self,
        text: &str,
        buffer: &mut TokenizerBuffer,
        each: &mut impl FnMut(&[u8]),
    ) {
        let (mut before, mut key): (Option<Vec<u8>>, _) = (None, Vec::new());
        self.for_each_token(text, buffer, &mut |token| match self.to_word(token) {
            Ok(word) if !self.has_phrases() => each(&word),
            Ok(word) => match before.take() {
                Some(first) if self.is_phrase(&first, &word, &mut key) => {
                    join_phrase(&mut key);
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

    fn split(&self, text: &str, each: &mut impl FnMut(&[u8])) {
        match &self.splitter {
            Splitter::Unicode => segment::split_unicode(text, each),
            Splitter::Whitespace => segment::split_whitespace(text, each),
            Splitter::WordRuns(min_chars) => segment::split_word_runs(text, *min_chars, each),
            Splitter::Pattern(pattern) if pattern.captures_len() > 1 => {
                for found in pattern.captures_iter(text).filter_map(|c| c.get(1)) {
                    each(found.as_str().as_bytes());
                }
            }
            Splitter::Pattern(pattern) => {
                pattern.find_iter(text).for_each(|found| each(found.as_str().as_bytes()));
            }
        }
    }

    /// Returns the word that a token maps to, or the reason why it is dropped.
    pub(crate) fn to_word<'a>(&self, token: &'a [u8]) -> Result<Cow<'a, [u8]>, DropReason> {
        let p = &self.pipeline;
        let Ok(text) = std::str::from_utf8(token) else { return Err(DropReason::Short) };
        let length = if token.is_ascii() { token.len() } else { text.chars().count() };
        if token.is_empty() || length < p.min_length as usize {
            return Err(DropReason::Short);
        }
        if length > p.max_length as usize {
            return Err(DropReason::Long);
        }
        if !p.keep_numbers && !text.chars().any(char::is_alphabetic) {
            return Err(DropReason::Number);
        }
        if self.stop.contains(token) {
            return Err(DropReason::Stop);
        }
        let Some(stemmer) = &self.stemmer else { return Ok(token.into()) };
        match stemmer.stem(text) {
            stem if stem.is_empty() => Err(DropReason::Short),
            Cow::Borrowed(stem) => Ok(Cow::Borrowed(stem.as_bytes())),
            Cow::Owned(stem) => Ok(Cow::Owned(stem.into_bytes())),
        }
    }
}

/// Writes two words as one key. The separator 0xff does not occur in UTF-8 text.
pub(crate) fn write_phrase_key(a: &[u8], b: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(a);
    key.push(0xff);
    key.extend_from_slice(b);
}

/// Converts the key of a phrase to its word by replacing the separator with `_`.
pub(crate) fn join_phrase(key: &mut [u8]) {
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
        tokenizer.for_each_token(text, &mut TokenizerBuffer::default(), &mut |token| {
            if let Ok(word) = tokenizer.to_word(token) {
                all.push(String::from_utf8(word.into_owned()).unwrap());
            }
        });
        all
    }

    #[test]
    fn the_pipeline_does_what_it_says() {
        let p = Pipeline::default();
        assert_eq!(words(&p, "The cat's 3.14 CATS, e.g. Müller"), ["the", "cat's", "cats", "e.g", "müller"]);
        // A decomposed character gives the same word as a composed one.
        assert_eq!(words(&p, "Mu\u{308}ller don\u{2019}t"), ["müller", "don't"]);
        let p = Pipeline { keep_case: true, keep_numbers: true, ..Pipeline::default() };
        assert_eq!(words(&p, "The 3.14"), ["The", "3.14"]);
        let p = Pipeline { fold_accents: true, min_length: 3, max_length: 6, ..Pipeline::default() };
        assert_eq!(words(&p, "Élan of the Großväter ça"), ["elan", "the"]);
        let p = Pipeline { stop_words: vec!["the".into(), "e\u{301}t".into()], ..Pipeline::default() };
        assert_eq!(words(&p, "The cat ét"), ["cat"]);
        let p = Pipeline { stem: Some("english".into()), ..Pipeline::default() };
        assert_eq!(words(&p, "Running runs"), ["run", "run"]);
        let p = Pipeline { tokens: TokenRule::Pattern(r"#(\w+)".into()), ..Pipeline::default() };
        assert_eq!(words(&p, "a #Tag and #more"), ["tag", "more"]);
        let p = Pipeline { tokens: TokenRule::Whitespace, ..Pipeline::default() };
        assert_eq!(words(&p, "c++ a.b\tC#"), ["c++", "a.b", "c#"]);
        assert!(
            Tokenizer::new(&Pipeline { tokens: TokenRule::Pattern("(".into()), ..Pipeline::default() })
                .is_err()
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
            tokens: TokenRule::Pattern("a".into()),
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
            tokenizer.for_each_word(text, &mut TokenizerBuffer::default(), &mut |w| {
                all.push(String::from_utf8(w.to_vec()).unwrap());
            });
            all
        };
        let text = "The New York times: new, the York new 42 new YORK new";
        assert_eq!(words(&pipeline, text), ["new_york", "times", "new", "york", "new", "new_york", "new"]);
        let plain = "Don't PANIC: 42 x2, \u{c4}pfel\u{2014}now";
        assert_eq!(words(&Pipeline::default(), plain), ["don't", "panic", "x2", "\u{e4}pfel", "now"]);
    }
}
