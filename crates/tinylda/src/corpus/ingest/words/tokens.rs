//! Tokenizer: splits text into normalized tokens and maps them to words, or to the reason why they
//! are dropped.
//!
//! Start with [`Tokenizer`]. Counting and input formats are handled by other modules.

use std::borrow::Cow;

use hashbrown::HashSet;
use regex::Regex;
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::chunks::{ChunkKind, ChunkRule, TokenizerChunk};
use super::clitics::Clitics;
use super::scripts::{is_arabic_mark, is_syllable, is_unspaced};
use super::segment::{WordSplitState, WordSplitter};
use super::stem::stemmer;
use super::{Pipeline, Segmentation, TokenRule, noise, segment};
use crate::error::{Error, Result, Template};

/// Reason why a token is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropReason {
    Short,
    Long,
    Number,
    Stop,
    Noise,
}

impl DropReason {
    /// Number of reasons.
    pub(crate) const COUNT: usize = 5;
}

enum Splitter {
    /// Words of UAX 29.
    Unicode,
    /// Words of UAX 29 with changes.
    Words(WordSplitter),
    Whitespace,
    /// Runs of at least this many word characters.
    WordRuns(usize),
    Pattern(Regex),
}

/// Texts in which the lower case of `I` is `ı`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurkicText {
    Nowhere,
    /// Words with letters that only Turkic languages have.
    Some,
    /// All texts.
    All,
}

impl TurkicText {
    /// Returns where texts in these languages, the most frequent one first, are Turkic.
    fn new(languages: &[String]) -> TurkicText {
        let is_turkic = |code: &String| matches!(code.as_str(), "tr" | "az");
        match languages {
            [first, ..] if is_turkic(first) => TurkicText::All,
            others if others.iter().any(is_turkic) => TurkicText::Some,
            _ => TurkicText::Nowhere,
        }
    }
}

/// Replaces `I` by `ı` in words with letters that only Turkic languages have.
fn lower_turkic_words(text: &str) -> String {
    let is_turkic = |word: &str| word.contains(['ı', 'ğ', 'Ğ', 'ş', 'Ş', 'İ', 'ə', 'Ə']);
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        if word.contains('I') && is_turkic(word) {
            out.push_str(&word.replace('I', "ı"));
        } else {
            out.push_str(word);
        }
    }
    out
}

/// Returns whether a character is invisible and not part of a word: soft hyphens, marks of the
/// writing direction, and spaces and joiners of no width that no script needs.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    )
}

/// Returns whether a character is another form of other letters or digits: a ligature, a full-width
/// or half-width form, or an Arabic presentation form.
fn is_compatible(c: char) -> bool {
    matches!(
        c,
        '\u{fb00}'..='\u{fb06}'
            | '\u{fb13}'..='\u{fb17}'
            | '\u{fb50}'..='\u{fdfb}'
            | '\u{fe70}'..='\u{fefc}'
            | '\u{ff10}'..='\u{ff19}'
            | '\u{ff21}'..='\u{ff3a}'
            | '\u{ff41}'..='\u{ff5a}'
            | '\u{ff66}'..='\u{ff9f}'
    )
}

/// Removes invisible characters, and replaces other forms of letters by the letters themselves. A
/// space of no width stays in scripts without spaces, where it separates words.
fn replace_compatible(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    // The first bytes of all of these characters.
    let first = memchr::memchr3_iter(0xc2, 0xe2, 0xef, bytes).find(|&at| {
        let c = text[at..].chars().next();
        c.is_some_and(|c| is_invisible(c) || is_compatible(c))
    });
    let Some(first) = first else { return text.into() };
    let (before, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len());
    out.push_str(before);
    for c in rest.chars() {
        if is_compatible(c) {
            out.extend(std::iter::once(c).nfkd());
        } else if !is_invisible(c) || c == '\u{200b}' && out.chars().next_back().is_some_and(is_unspaced) {
            out.push(c);
        }
    }
    out.into()
}

/// Set of byte strings with a fixed hash seed.
type ByteStringSet = HashSet<Vec<u8>, foldhash::fast::FixedState>;

/// Compiled form of a [`Pipeline`] that threads share.
pub(crate) struct Tokenizer {
    pipeline: Pipeline,
    splitter: Splitter,
    stop: ByteStringSet,
    stemmer: Option<rust_stemmers::Stemmer>,
    clitics: Clitics,
    /// Where the lower case of `I` is `ı`, as in Turkish.
    turkic: TurkicText,
    /// Whether optional vowel signs are removed, as in Arabic.
    fold_arabic: bool,
    phrases: ByteStringSet,
}

/// Reusable buffers of a thread for tokenizing, and the state between two chunks of a text.
#[derive(Debug, Default)]
pub(crate) struct TokenizerBuffer {
    lower: String,
    state: WordSplitState,
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
            TokenRule::Unicode if !pipeline.drop_noise && pipeline.segmentation == Segmentation::None => {
                Splitter::Unicode
            }
            TokenRule::Unicode => {
                Splitter::Words(WordSplitter::new(pipeline.segmentation, pipeline.drop_noise)?)
            }
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
            clitics: Clitics::new(if pipeline.drop_clitics { &pipeline.languages } else { &[] }),
            turkic: TurkicText::new(&pipeline.languages),
            fold_arabic: pipeline.languages.iter().any(|code| matches!(code.as_str(), "ar" | "fa" | "ur")),
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

    /// Returns where a text can be cut into chunks that are tokenized one after the other.
    pub(crate) fn chunk_rule(&self) -> ChunkRule {
        match self.splitter {
            Splitter::Unicode | Splitter::Words(_) | Splitter::WordRuns(_) => ChunkRule::Punctuation,
            Splitter::Whitespace => ChunkRule::Whitespace,
            Splitter::Pattern(_) => ChunkRule::Nowhere,
        }
    }

    /// Returns whether a token has more characters than any word may have. Such tokens need not be
    /// stored.
    #[inline]
    pub(crate) fn is_overlong(&self, token: &[u8]) -> bool {
        // A character has at most four bytes.
        token.len() as u64 > 4 * u64::from(self.pipeline.max_length)
    }

    /// Returns whether there are phrases to join.
    pub(crate) fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Returns the maximum number of words of a phrase.
    pub(crate) fn max_phrase_words(&self) -> u32 {
        self.pipeline.phrase_words
    }

    /// Returns whether two adjacent words form a phrase. `key` is scratch space.
    pub(crate) fn is_phrase(&self, a: &[u8], b: &[u8], key: &mut Vec<u8>) -> bool {
        write_phrase_key(a, b, key);
        self.phrases.contains(key.as_slice())
    }

    /// Normalizes a text as the pipeline requires: NFC, lower case, without accents.
    fn normalize<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.is_ascii() && !self.has_dotless_i(text) {
            return if self.pipeline.keep_case { text.into() } else { text.to_ascii_lowercase().into() };
        }
        let text = replace_compatible(text);
        let mut text: Cow<'_, str> = match is_nfc_quick(text.chars()) {
            IsNormalized::Yes => text,
            _ => text.nfc().collect::<String>().into(),
        };
        if !self.pipeline.keep_case {
            text = match self.turkic {
                TurkicText::All => text.replace('I', "ı").into(),
                TurkicText::Some if text.contains('I') => lower_turkic_words(&text).into(),
                _ => text,
            };
            // The lower case of İ would be two characters.
            if text.contains('İ') {
                text = text.replace('İ', "i").into();
            }
            text = text.to_lowercase().into();
        }
        if self.fold_arabic && text.contains(is_arabic_mark) {
            text = text.replace(is_arabic_mark, "").into();
        }
        if self.pipeline.fold_accents {
            text = text.nfd().filter(|&c| !is_combining_mark(c)).nfc().collect::<String>().into();
        }
        // The typographic apostrophe is replaced: don’t becomes don't.
        if text.contains('\u{2019}') { text.replace('\u{2019}', "'").into() } else { text }
    }

    /// Returns whether the lower case of a text contains `ı`.
    fn has_dotless_i(&self, text: &str) -> bool {
        self.turkic == TurkicText::All && !self.pipeline.keep_case && text.contains('I')
    }

    /// Calls `each` with every normalized token of a text. An empty token stands for removed data,
    /// such as an address.
    pub(crate) fn for_each_token(
        &self,
        text: &str,
        buffer: &mut TokenizerBuffer,
        each: &mut impl FnMut(&[u8]),
    ) {
        self.for_each_chunk_token(TokenizerChunk::whole(text), buffer, each);
    }

    /// Calls `each` with every normalized token of a chunk. The chunks of a text must be passed in
    /// order, with the same buffer.
    pub(crate) fn for_each_chunk_token(
        &self,
        chunk: TokenizerChunk<'_>,
        buffer: &mut TokenizerBuffer,
        each: &mut impl FnMut(&[u8]),
    ) {
        let TokenizerBuffer { lower, state } = buffer;
        if chunk.is_first {
            *state = WordSplitState::default();
        }
        let text = chunk.text;
        if text.is_ascii() && !self.has_dotless_i(text) {
            if self.pipeline.keep_case {
                return self.split(chunk, text, state, each);
            }
            // Lower-casing the complete text is faster than lower-casing each token.
            lower.clear();
            lower.push_str(text);
            lower.make_ascii_lowercase();
            return self.split(chunk, lower, state, each);
        }
        self.split(chunk, &self.normalize(text), state, each);
    }

    /// Returns whether a line ends in the first `bytes` bytes after a chunk, in normal form.
    fn line_ends_after(&self, chunk: TokenizerChunk<'_>, mut bytes: usize) -> bool {
        for following in chunk.following() {
            let following = self.normalize(following);
            let line = &following.as_bytes()[..following.len().min(bytes)];
            if memchr::memchr(b'\n', line).is_some() {
                return true;
            }
            bytes -= line.len();
            if bytes == 0 {
                return false;
            }
        }
        false
    }

    /// Calls `each` with every word of a text in order. The words are the same that the passes over
    /// a corpus count by number, which is faster.
    pub(crate) fn for_each_word(
        &self,
        text: &str,
        buffer: &mut TokenizerBuffer,
        each: &mut impl FnMut(&[u8]),
    ) {
        // Previous word, which may still become part of a phrase, and whether it is a phrase.
        let (mut before, mut key): (Option<(Vec<u8>, bool)>, _) = (None, Vec::new());
        self.for_each_token(text, buffer, &mut |token| match self.to_word(token) {
            Ok(word) if !self.has_phrases() => each(&word),
            Ok(word) => match before.take() {
                Some((first, joined)) if self.is_phrase(&first, &word, &mut key) => {
                    join_phrase(&mut key);
                    if joined || self.max_phrase_words() < 3 {
                        each(&key);
                    } else {
                        before = Some((key.clone(), true));
                    }
                }
                first => {
                    if let Some((first, _)) = first {
                        each(&first);
                    }
                    before = Some((word.into_owned(), false));
                }
            },
            Err(_) => {
                if let Some((first, _)) = before.take() {
                    each(&first);
                }
            }
        });
        if let Some((first, _)) = before {
            each(&first);
        }
    }

    /// Calls `each` with the tokens of a chunk, whose text in normal form is `text`.
    fn split(
        &self,
        chunk: TokenizerChunk<'_>,
        text: &str,
        state: &mut WordSplitState,
        each: &mut impl FnMut(&[u8]),
    ) {
        match &self.splitter {
            Splitter::Unicode => segment::split_unicode(text, each),
            Splitter::Words(splitter) => {
                if let ChunkKind::Text = chunk.kind {
                    return splitter.split(text, state, &|bytes| self.line_ends_after(chunk, bytes), each);
                }
                if let ChunkKind::RunStart(_) = chunk.kind {
                    let is_unspaced = |part| self.normalize(part).chars().any(is_unspaced);
                    state.unspaced = chunk.run_parts().any(is_unspaced);
                }
                splitter.split_run_part(text, state.unspaced, state, each);
            }
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

    /// Returns whether tokens that are not words are dropped.
    fn drops_noise(&self) -> bool {
        self.pipeline.drop_noise && matches!(self.splitter, Splitter::Words(_))
    }

    /// Returns the word that a token maps to, or the reason why it is dropped.
    pub(crate) fn to_word<'a>(&self, token: &'a [u8]) -> Result<Cow<'a, [u8]>, DropReason> {
        let Ok(text) = std::str::from_utf8(token) else { return Err(DropReason::Short) };
        let clean = self.drops_noise();
        if clean && text.is_empty() {
            return Err(DropReason::Noise);
        }
        self.check_word(text)?;
        let word = self.clitics.strip(text);
        if word.len() < text.len() {
            self.check_word(word)?;
        }
        // One letter is no word, except where a character is a syllable.
        let mut characters = word.chars();
        if clean
            && characters.next().is_some_and(|c| c.is_alphabetic() && !is_syllable(c))
            && characters.next().is_none()
        {
            return Err(DropReason::Short);
        }
        if clean && noise::is_noise(word) {
            return Err(DropReason::Noise);
        }
        let Some(stemmer) = &self.stemmer else { return Ok(word.as_bytes().into()) };
        match stemmer.stem(word) {
            stem if stem.is_empty() => Err(DropReason::Short),
            Cow::Borrowed(stem) => Ok(Cow::Borrowed(stem.as_bytes())),
            Cow::Owned(stem) => Ok(Cow::Owned(stem.into_bytes())),
        }
    }

    /// Checks the length of a word, that it contains a letter, and that it is no stop word.
    fn check_word(&self, text: &str) -> Result<(), DropReason> {
        let p = &self.pipeline;
        let length = if text.is_ascii() { text.len() } else { text.chars().count() };
        if length == 0 || length < p.min_length as usize {
            return Err(DropReason::Short);
        }
        if length > p.max_length as usize {
            return Err(DropReason::Long);
        }
        if !p.keep_numbers && !text.chars().any(char::is_alphabetic) {
            return Err(DropReason::Number);
        }
        if self.stop.contains(text.as_bytes()) { Err(DropReason::Stop) } else { Ok(()) }
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
    use std::sync::LazyLock;

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
        let p = Pipeline::plain();
        assert_eq!(words(&p, "The cat's 3.14 CATS, e.g. Müller"), ["the", "cat's", "cats", "e.g", "müller"]);
        // A decomposed character gives the same word as a composed one.
        assert_eq!(words(&p, "Mu\u{308}ller don\u{2019}t"), ["müller", "don't"]);
        let p = Pipeline { keep_case: true, keep_numbers: true, ..Pipeline::plain() };
        assert_eq!(words(&p, "The 3.14"), ["The", "3.14"]);
        let p = Pipeline { fold_accents: true, min_length: 3, max_length: 6, ..Pipeline::plain() };
        assert_eq!(words(&p, "Élan of the Großväter ça"), ["elan", "the"]);
        let p = Pipeline { stop_words: vec!["the".into(), "e\u{301}t".into()], ..Pipeline::plain() };
        assert_eq!(words(&p, "The cat ét"), ["cat"]);
        // Ligatures, full-width letters and soft hyphens make no other words.
        let p = Pipeline::plain();
        assert_eq!(
            words(&p, "ﬁnd soft\u{ad}ware ＡＢＣ wo\u{200b}rd \u{200e}left"),
            ["find", "software", "abc", "word", "left"]
        );
        assert_eq!(words(&p, "İstanbul"), ["istanbul"]);
        let p = Pipeline { languages: vec!["en".into(), "tr".into()], ..Pipeline::plain() };
        assert_eq!(words(&p, "IŞIK IĞDIR IN IT"), ["ışık", "ığdır", "in", "it"]);
        let p = Pipeline { stem: Some("english".into()), ..Pipeline::plain() };
        assert_eq!(words(&p, "Running runs"), ["run", "run"]);
        let p = Pipeline { tokens: TokenRule::Pattern(r"#(\w+)".into()), ..Pipeline::plain() };
        assert_eq!(words(&p, "a #Tag and #more"), ["tag", "more"]);
        let p = Pipeline { tokens: TokenRule::Whitespace, ..Pipeline::plain() };
        assert_eq!(words(&p, "c++ a.b\tC#"), ["c++", "a.b", "c#"]);
        assert!(
            Tokenizer::new(&Pipeline { tokens: TokenRule::Pattern("(".into()), ..Pipeline::plain() })
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
        assert_eq!(serde_json::from_str::<Pipeline>("{}").unwrap(), Pipeline::plain());
        // The keys of old files say the same as ever.
        let old = r#"{"tokens":"unicode","min_length":1,"max_length":100,"phrases":[["new","york"]]}"#;
        let old = serde_json::from_str::<Pipeline>(old).unwrap();
        assert_eq!(old, Pipeline { phrases: vec![("new".into(), "york".into())], ..Pipeline::plain() });
        let new = Pipeline { languages: vec!["tr".into()], ..Pipeline::default() };
        let text = serde_json::to_string(&new).unwrap();
        assert_eq!(serde_json::from_str::<Pipeline>(&text).unwrap(), new);
    }

    #[test]
    fn words_in_order_with_phrases() {
        let pipeline = Pipeline {
            stop_words: vec!["the".into()],
            phrases: vec![("new".into(), "york".into())],
            ..Pipeline::plain()
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
        assert_eq!(words(&Pipeline::plain(), plain), ["don't", "panic", "x2", "\u{e4}pfel", "now"]);
    }

    #[test]
    fn phrases_of_three_words() {
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        let pipeline =
            Pipeline { phrases: vec![pair("new", "york"), pair("new_york", "times")], ..Pipeline::default() };
        let ordered = |pipeline: &Pipeline, text: &str| {
            let tokenizer = Tokenizer::new(pipeline).unwrap();
            let mut all = Vec::new();
            tokenizer.for_each_word(text, &mut TokenizerBuffer::default(), &mut |w| {
                all.push(String::from_utf8(w.to_vec()).unwrap());
            });
            all
        };
        let text = "new york times new york post new times, new york times square";
        let expected = ["new_york_times", "new_york", "post", "new", "times", "new_york_times", "square"];
        assert_eq!(ordered(&pipeline, text), expected);
        // Pipelines of old files join two words only.
        let old = Pipeline { phrase_words: 2, ..pipeline };
        assert_eq!(ordered(&old, "new york times"), ["new_york", "times"]);
    }

    fn in_language(language: &str) -> Pipeline {
        let stop_words = super::super::stop_word_list(language).unwrap_or_default();
        Pipeline {
            languages: vec![language.into()],
            stop_words: stop_words.into_iter().map(String::from).collect(),
            ..Pipeline::default()
        }
    }

    #[test]
    fn u2_content_words_are_kept() {
        let text = "the computer science research group at microsoft wrote a novel about the world";
        let expected = ["computer", "science", "research", "group", "microsoft", "wrote", "novel", "world"];
        assert_eq!(words(&in_language("en"), text), expected);
    }

    #[test]
    fn u6_noise_is_dropped_and_names_are_kept() {
        let p = in_language("en");
        let text = "God's word, by god: p53, BRCA1, COVID-19 and H1N1 in mp3; _really_ snake_case";
        let expected =
            ["god", "word", "god", "p53", "brca1", "covid-19", "h1n1", "mp3", "really", "snake_case"];
        assert_eq!(words(&p, text), expected);
        let noise = "0d _o w7 x 4a9f3c deadbeef0123 jo@example.com https://example.com/a/b?c=d ftp.cs.example.edu \
                     example.org ------=_NextPart_000_0012_01BF3C 10mg 5th v2.0 aaaaaaa \
                     M<V5D(&EN('1H92!W;W)L9\"!I<R!A;  0D_O W7Q8 \"9F9F9F9G";
        assert_eq!(words(&p, noise), [] as [&str; 0]);
        assert_eq!(
            words(&p, "The end.Next sentence: see u.s. army (Ph.D.)"),
            ["end", "next", "sentence", "see", "u.s", "army", "ph.d"]
        );
        // Without the rules, everything is kept as before.
        let plain = Pipeline { stop_words: p.stop_words.clone(), ..Pipeline::plain() };
        assert_eq!(words(&plain, "God's 0d w7"), ["god's", "0d", "w7"]);
        // A pattern of one's own is followed to the letter.
        let pattern = Pipeline { tokens: TokenRule::Pattern(r"\w+".into()), ..Pipeline::default() };
        assert_eq!(words(&pattern, "god's 0d w7 x"), ["god", "s", "0d", "w7", "x"]);
    }

    #[test]
    fn u4_turkish_and_azerbaijani_lower_case() {
        assert_eq!(words(&in_language("tr"), "IŞIK İstanbul'da IRAK"), ["ışık", "istanbul", "ırak"]);
        assert_eq!(words(&in_language("az"), "BAKI İLƏ"), ["bakı"]);
        assert_eq!(words(&in_language("de"), "IRAK"), ["irak"]);
    }

    #[test]
    fn clitics_of_french_and_italian() {
        assert_eq!(words(&in_language("fr"), "L\u{2019}eau qu'il d'abord aujourd'hui"), ["eau", "abord"]);
        assert_eq!(words(&in_language("it"), "dell'arte l'acqua"), ["arte", "acqua"]);
    }

    #[test]
    fn arabic_vowel_signs_do_not_make_words() {
        let p = in_language("ar");
        assert_eq!(words(&p, "الكِتَاب الكتـاب"), ["الكتاب", "الكتاب"]);
    }

    #[test]
    fn u3_u4_tokens_of_eight_languages() {
        for (language, text, expected) in [
            #[cfg(feature = "segmentation")]
            (
                "zh",
                "政府宣布明年提高教师的工资,学生和家长表示欢迎。",
                "政府 宣布 明年 提高 教师 工资 学生 家长 表示 欢迎",
            ),
            #[cfg(feature = "segmentation")]
            ("ja", "政府は来年、教師の給料を上げると発表した。", "政府 来年 教師 給料 上げる 発表"),
            #[cfg(feature = "segmentation")]
            ("th", "รัฐบาลประกาศเพิ่มครูในปีหน้า", "รัฐบาล ประกาศ เพิ่ม ครู ปี หน้า"),
            (
                "ar",
                "أعلنت الحكومةُ زيادة رواتب المعلمين في العام المقبل، ورحّب الطلاب بالقرار.",
                "أعلنت الحكومة زيادة رواتب المعلمين العام المقبل ورحب الطلاب بالقرار",
            ),
            (
                "tr",
                "Öğretmenlerin maaşları IĞDIR'da arttı; İstanbul'daki öğrenciler bu karara sevindi.",
                "öğretmenlerin maaşları ığdır arttı istanbul öğrenciler karara sevindi",
            ),
            (
                "de",
                "Die Regierung erhöht im nächsten Jahr die Gehälter, und Schüler aus Köln freuen sich.",
                "regierung erhöht nächsten jahr gehälter schüler köln freuen",
            ),
            (
                "hi",
                "सरकार ने अगले वर्ष शिक्षकों का वेतन बढ़ाने की घोषणा की और छात्रों ने इसका स्वागत किया।",
                "सरकार अगले वर्ष शिक्षकों वेतन बढ़ाने घोषणा छात्रों स्वागत",
            ),
            (
                "ru",
                "Правительство объявило, что в следующем году повысит зарплату; школьники были рады.",
                "правительство объявило следующем году повысит зарплату школьники рады",
            ),
        ] {
            assert_eq!(words(&in_language(language), text).join(" "), expected, "{language}");
        }
    }

    #[cfg(feature = "segmentation")]
    #[test]
    fn u3_text_without_spaces_is_segmented() {
        for (language, text, expected) in [
            (
                "zh",
                "医生建议病人服药,医院的护士照顾病人。",
                &["医生", "建议", "病人", "服药", "医院", "护士", "照顾", "病人"][..],
            ),
            ("ja", "私は東京で日本語を勉強します。", &["東京", "日本語", "勉強"]),
            ("th", "ฉันไปโรงเรียนทุกวัน", &["โรงเรียน", "วัน"]),
        ] {
            assert_eq!(words(&in_language(language), text), expected, "{language}");
        }
        // Text with spaces between the words is not cut again.
        let spaces = Pipeline { segmentation: Segmentation::Spaces, ..in_language("zh") };
        assert_eq!(
            words(&spaces, "我们 在 北京大学 学习 , 计算机科学 。"),
            ["北京大学", "学习", "计算机科学"]
        );
        let none = Pipeline { segmentation: Segmentation::None, ..Pipeline::default() };
        assert_eq!(words(&none, "北京"), ["北", "京"]);
    }

    /// Tokenizers whose rules look at more than one token.
    static TOKENIZERS: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
        let rules = [TokenRule::Unicode, TokenRule::Whitespace, TokenRule::Pattern(r"\w\w+".into())];
        let mut all: Vec<Pipeline> =
            rules.into_iter().map(|tokens| Pipeline { tokens, ..Pipeline::plain() }).collect();
        let segmentations = [
            Segmentation::None,
            Segmentation::Spaces,
            #[cfg(feature = "segmentation")]
            Segmentation::Dictionary,
        ];
        for segmentation in segmentations {
            for drop_noise in [false, true] {
                let plain = Pipeline { drop_noise, segmentation, ..Pipeline::plain() };
                let languages = vec!["tr".into(), "ar".into()];
                all.push(Pipeline { languages, fold_accents: true, ..plain.clone() });
                all.push(Pipeline { keep_case: true, ..plain });
            }
        }
        all.iter().map(|pipeline| Tokenizer::new(pipeline).unwrap()).collect()
    });

    /// Checks that the tokens of a text in chunks of any size are those of the whole text.
    fn assert_chunks_have_the_same_tokens(text: &str) {
        for tokenizer in TOKENIZERS.iter() {
            let mut buffer = TokenizerBuffer::default();
            let mut whole = Vec::new();
            tokenizer.for_each_token(text, &mut buffer, &mut |token| whole.push(token.to_vec()));
            for size in [4, 40, 400] {
                let mut parts = Vec::new();
                for chunk in super::super::chunks::chunks_of_size(text, tokenizer.chunk_rule(), size) {
                    tokenizer.for_each_chunk_token(chunk, &mut buffer, &mut |t| parts.push(t.to_vec()));
                }
                let readable = |tokens: &[Vec<u8>]| -> Vec<String> {
                    tokens.iter().map(|token| String::from_utf8_lossy(token).into_owned()).collect()
                };
                assert_eq!(readable(&parts), readable(&whole), "{size} {:?}", tokenizer.pipeline);
            }
        }
    }

    /// Pieces of text whose meaning depends on what surrounds them.
    const PIECES: [&str; 44] = [
        " ",
        "\n",
        "\r\n",
        "\t",
        "\u{b}",
        "\u{3000}",
        "。",
        "、",
        "，",
        "1",
        "23",
        "word",
        "Σ",
        "ΑΣ",
        "I",
        "İ",
        "e\u{301}",
        "\u{301}",
        "\u{345}",
        "\u{3099}",
        "\u{200d}",
        "か",
        "カ",
        "漢字",
        "中文分词",
        "ไทย",
        "ั",
        "\u{640}",
        "كِتَ",
        "@",
        "a@b.de",
        "http://x.y/",
        "://",
        "Lines:",
        "X-Trace:",
        "Message-ID:",
        "path:",
        "M<V5D(&EN('1H9",
        "-19",
        "_",
        "'s",
        ".",
        ":",
        "\"9F9F9F9G",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn chunks_have_the_tokens_of_the_text(
            pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
            filler in 0usize..80,
        ) {
            // Long lines, so that the value of a header is too long in some of them.
            let filler = "漢 x".repeat(filler / 4);
            assert_chunks_have_the_same_tokens(&pieces.concat());
            assert_chunks_have_the_same_tokens(&pieces.join(&filler));
        }

        #[test]
        fn chunks_have_the_tokens_of_any_text(text in "(\\PC|[ \n。，、漢a1:]){0,80}") {
            assert_chunks_have_the_same_tokens(&text);
        }
    }

    #[test]
    fn headers_end_in_a_later_chunk() {
        let value = "value of the header ".repeat(20);
        for length in [0, 10, 250, 299, 300, 301, 390] {
            for end in ["\nnext line", "", "漢字。漢字\nnext"] {
                let text = format!("first\nX-Trace: {}{end}", &value[..length]);
                assert_chunks_have_the_same_tokens(&text);
            }
        }
    }
}
