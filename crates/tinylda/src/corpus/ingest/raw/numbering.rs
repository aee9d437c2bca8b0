//! Numbers of the words of texts: every worker has a table of the strings that it has seen.
//!
//! Start with [`TokenNumbering`]. A table that is full is emptied between two tokens, wherever that
//! is in a text, so that its size does not depend on the length of documents.

use std::collections::BTreeMap;

use crate::corpus::ingest::words::{
    CHUNK_BYTES, DropReason, StringTable, Tokenizer, TokenizerBuffer, TokenizerChunk, join_phrase,
};
use crate::error::Result;

/// State of a string while words are counted. A token may map to another word, such as its stem,
/// and be a word itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenEntry {
    /// Number of the word that the token maps to, or one of the special values below.
    target: u32,
    /// Number of tokens of the word; 0 if the string is no word.
    pub(super) tokens: u32,
    /// Number of documents that contain the word.
    pub(super) documents: u32,
    /// Last document that contains the word.
    pub(super) last: u32,
}

/// Target of a token that has not been mapped to a word yet.
const UNRESOLVED: u32 = u32::MAX;
/// Target of a dropped token: this value minus the number of its [`DropReason`].
const FIRST_DROPPED: u32 = u32::MAX - 1;
/// First target that is not a word. The target of a stop word is this value plus its index in the
/// list of stop words.
const FIRST_STOP_WORD: u32 = 1 << 31;

pub(super) fn new_entry() -> TokenEntry {
    TokenEntry { target: UNRESOLVED, tokens: 0, documents: 0, last: 0 }
}

/// Stop word of a text.
#[derive(Debug, Clone, Copy)]
struct StopToken {
    /// Number of the string in the table.
    number: u32,
    tokens: u32,
}

/// Strings that one token adds to a table at most: the token, its word, a phrase and a pair.
const STRINGS_PER_TOKEN: usize = 4;
/// Bytes of these strings besides four times the token: parts of phrases and pairs.
const TEXT_PER_TOKEN: usize = 1 << 12;
/// Number of tokens after which a table is emptied, since counts have 32 bits.
const MAX_TOKENS: u64 = 1 << 31;

/// Table of the strings of texts.
pub(super) struct WordTable {
    pub(super) strings: StringTable<TokenEntry>,
    stop_tokens: Vec<StopToken>,
    /// Number of tokens, including dropped ones.
    pub(super) tokens: u64,
    /// Number of tokens when the table was last emptied.
    emptied: u64,
    /// Previous word, which may still become part of a phrase, and whether it is a phrase.
    before: Option<(u32, bool)>,
    /// Maximum size in bytes.
    limit: usize,
}

impl WordTable {
    /// Removes all strings except the word `kept` and the previous word of the text. Returns the
    /// new number of `kept`.
    pub(super) fn clear(&mut self, kept: Option<u32>) -> Option<u32> {
        let WordTable { strings, before, .. } = self;
        let string = |number| strings.string(number).to_vec();
        let (kept, last) = (kept.map(string), before.map(|(number, joined)| (string(number), joined)));
        if strings.bytes() > self.limit {
            *strings = StringTable::new();
        } else {
            strings.clear();
        }
        *before = last.map(|(word, joined)| (strings.intern(&word, new_entry), joined));
        self.stop_tokens.clear();
        self.emptied = self.tokens;
        kept.map(|word| strings.intern(&word, new_entry))
    }

    /// Returns whether the table should be emptied before a text of `bytes` bytes.
    pub(super) fn is_full_for(&self, bytes: usize, pairs: bool) -> bool {
        let bytes = bytes.min(CHUNK_BYTES);
        let words = bytes / 2 + 1;
        let after = if pairs {
            self.strings.bytes_after(2 * words, 4 * bytes)
        } else {
            self.strings.bytes_after(words, bytes)
        };
        after > self.limit || self.tokens - self.emptied > MAX_TOKENS
    }

    /// Returns whether the table must be emptied before a token is added.
    #[inline]
    fn is_full(&mut self, token: &[u8]) -> bool {
        let text = 4 * token.len() + TEXT_PER_TOKEN;
        !self.strings.has_capacity(STRINGS_PER_TOKEN, text) && !self.grow(text)
    }

    /// Allocates memory for the strings of a token with `text` bytes. Returns false if the table
    /// would exceed its limit.
    #[cold]
    fn grow(&mut self, text: usize) -> bool {
        // Whatever the limit is, there is memory for a token and the word before it.
        if self.strings.len() > 2 && self.strings.bytes_after(STRINGS_PER_TOKEN, text) > self.limit {
            return false;
        }
        self.strings.reserve(STRINGS_PER_TOKEN, text);
        true
    }

    /// Adds the numbers of tokens of every stop word in the table to `counts`.
    pub(super) fn add_stop_words(&self, counts: &mut BTreeMap<String, u64>) {
        for stop in &self.stop_tokens {
            let word = String::from_utf8_lossy(self.strings.string(stop.number)).into_owned();
            *counts.entry(word).or_default() += u64::from(stop.tokens);
        }
    }

    /// Returns the number of the word that a token maps to, or the number of the reason why it is
    /// dropped. The mapping is computed once per token. A token for which `known` returns true is a
    /// word without further changes.
    #[inline]
    fn resolve(
        &mut self,
        tokenizer: &Tokenizer,
        token: &[u8],
        known: &impl Fn(&[u8]) -> bool,
    ) -> Result<u32, usize> {
        if tokenizer.is_overlong(token) && !known(token) {
            return Err(DropReason::Long as usize);
        }
        let number = self.strings.intern(token, new_entry);
        let mut target = self.strings.value(number).target;
        if target == UNRESOLVED {
            target = match tokenizer.to_word(token) {
                _ if known(token) => number,
                Ok(word) if *word == *token => number,
                Ok(word) => self.strings.intern(&word, new_entry),
                Err(DropReason::Stop) => {
                    self.stop_tokens.push(StopToken { number, tokens: 0 });
                    FIRST_STOP_WORD + (self.stop_tokens.len() - 1) as u32
                }
                Err(reason) => FIRST_DROPPED - reason as u32,
            };
            self.strings.value_mut(number).target = target;
        }
        if target < FIRST_STOP_WORD {
            return Ok(target);
        }
        match self.stop_tokens.get_mut((target - FIRST_STOP_WORD) as usize) {
            Some(stop) => {
                stop.tokens += 1;
                Err(DropReason::Stop as usize)
            }
            None => Err((FIRST_DROPPED - target) as usize),
        }
    }
}

/// Receiver of the words of texts.
pub(super) trait WordSink {
    /// Receives the number of a word, or the number of the reason why a token is dropped.
    fn push(&mut self, words: &mut WordTable, word: Result<u32, usize>);
    /// Empties a table that is full, after its content was used.
    fn empty(&mut self, words: &mut WordTable) -> Result<()>;
}

/// Assigns numbers to the words of texts.
pub(super) struct TokenNumbering {
    pub(super) words: WordTable,
    buffer: TokenizerBuffer,
    key: Vec<u8>,
}

impl TokenNumbering {
    /// Creates a numbering whose table is emptied before it exceeds `limit` bytes.
    pub(super) fn new(limit: usize) -> TokenNumbering {
        let words = WordTable {
            strings: StringTable::new(),
            stop_tokens: Vec::new(),
            tokens: 0,
            emptied: 0,
            before: None,
            limit,
        };
        TokenNumbering { words, buffer: TokenizerBuffer::default(), key: Vec::new() }
    }

    /// Passes the last word of a text to `sink`, if it was kept back as the first word of a phrase.
    pub(super) fn finish_text(&mut self, sink: &mut impl WordSink) {
        if let Some((first, _)) = self.words.before.take() {
            sink.push(&mut self.words, Ok(first));
        }
        self.buffer.free_long_text();
    }

    /// Passes the number of every word of a chunk of text to `sink` in order, and the number of the
    /// reason for every token that is dropped. A token for which `known` returns true is a word
    /// without further changes. After the last chunk of a text comes
    /// [`finish_text`](TokenNumbering::finish_text).
    pub(super) fn for_each_word(
        &mut self,
        chunk: TokenizerChunk<'_>,
        tokenizer: &Tokenizer,
        known: &impl Fn(&[u8]) -> bool,
        sink: &mut impl WordSink,
    ) -> Result<()> {
        let TokenNumbering { words, buffer, key } = self;
        let has_phrases = tokenizer.has_phrases();
        let mut outcome = Ok(());
        tokenizer.for_each_chunk_token(chunk, buffer, &mut |token| {
            if words.is_full(token) && outcome.is_ok() {
                outcome = sink.empty(words);
            }
            if outcome.is_err() {
                return;
            }
            words.tokens += 1;
            let word = words.resolve(tokenizer, token, known);
            if !has_phrases {
                return sink.push(words, word);
            }
            match (words.before.take(), word) {
                (Some((first, joined)), Ok(second))
                    if tokenizer.is_phrase(
                        words.strings.string(first),
                        words.strings.string(second),
                        key,
                    ) =>
                {
                    join_phrase(key);
                    let number = words.strings.intern(key, new_entry);
                    if joined || tokenizer.max_phrase_words() < 3 {
                        sink.push(words, Ok(number));
                    } else {
                        words.before = Some((number, true));
                    }
                }
                (first, word) => {
                    if let Some((first, _)) = first {
                        sink.push(words, Ok(first));
                    }
                    match word {
                        Ok(word) => words.before = Some((word, false)),
                        reason => sink.push(words, reason),
                    }
                }
            }
        });
        outcome
    }
}
