//! Word boundaries: splits text into tokens.
//!
//! Most text is ASCII, and nearly all other text contains few other characters. Text is therefore
//! split at whitespace first, and ASCII parts take a fast path with the same result as the Unicode
//! tables. UAX 29 has a boundary at whitespace, except before a combining mark that stands alone
//! after it; here the whitespace is never part of a word.
//!
//! Start with [`split_unicode`], which follows UAX 29 to the letter, and with [`WordSplitter`],
//! which also handles addresses, encoded data, and scripts without spaces between words.
//! Normalization and filtering are done by `tokens`.

use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation;

use super::Segmentation;
use super::noise::{
    continues_hex_dump, find_address, is_abbreviation, is_encoded, is_header_name, is_hex_pair, is_host_name,
    is_joined_hex_dump, is_symbol,
};
use super::scripts::is_unspaced;
use crate::error::Result;

/// Class of an ASCII character in the rules of UAX 29.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Other,
    Letter,
    Digit,
    /// `_` joins letters and digits.
    Joiner,
    /// `.` and `'` are part of a word between two letters and between two digits.
    Middle,
    /// `:` is part of a word between two letters.
    MiddleLetter,
    /// `,` and `;` are part of a word between two digits.
    MiddleNumber,
    Blank,
}

const CLASSES: [CharClass; 256] = {
    let mut classes = [CharClass::Other; 256];
    let mut b = 0;
    while b < 128 {
        classes[b] = match b as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => CharClass::Letter,
            b'0'..=b'9' => CharClass::Digit,
            b'_' => CharClass::Joiner,
            b'.' | b'\'' => CharClass::Middle,
            b':' => CharClass::MiddleLetter,
            b',' | b';' => CharClass::MiddleNumber,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => CharClass::Blank,
            _ => CharClass::Other,
        };
        b += 1;
    }
    classes
};

fn class(b: u8) -> CharClass {
    CLASSES[usize::from(b)]
}

/// Returns whether a byte is ASCII whitespace.
pub(super) fn is_blank(b: u8) -> bool {
    class(b) == CharClass::Blank
}

/// Calls `each` with every run of characters between whitespace.
pub(super) fn split_whitespace<'a>(text: &'a str, each: &mut impl FnMut(&'a [u8])) {
    for part in text.as_bytes().split(|&b| class(b) == CharClass::Blank) {
        if !part.is_empty() {
            each(part);
        }
    }
}

/// Calls `each` with every word by the rules of UAX 29.
pub(super) fn split_unicode<'a>(text: &'a str, each: &mut impl FnMut(&'a [u8])) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (start, mut all) = (at, 0u8);
        while at < bytes.len() && class(bytes[at]) != CharClass::Blank {
            all |= bytes[at];
            at += 1;
        }
        if all < 128 {
            split_ascii(&bytes[start..at], each);
        } else {
            text[start..at].unicode_words().for_each(|word| each(word.as_bytes()));
        }
        at += 1;
    }
}

/// Calls `each` with every word by the rules of UAX 29 in ASCII text without whitespace.
fn split_ascii<'a>(part: &'a [u8], each: &mut impl FnMut(&'a [u8])) {
    let mut at = 0;
    while let Some(&b) = part.get(at) {
        let mut last = class(b);
        let start = at;
        at += 1;
        if !matches!(last, CharClass::Letter | CharClass::Digit | CharClass::Joiner) {
            continue;
        }
        let mut has_content = last != CharClass::Joiner;
        while let Some(&b) = part.get(at) {
            match class(b) {
                next @ (CharClass::Letter | CharClass::Digit) => {
                    (has_content, last) = (true, next);
                    at += 1;
                }
                CharClass::Joiner => {
                    last = CharClass::Joiner;
                    at += 1;
                }
                middle @ (CharClass::Middle | CharClass::MiddleLetter | CharClass::MiddleNumber) => {
                    let next = part.get(at + 1).map_or(CharClass::Other, |&b| class(b));
                    let stays = match last {
                        CharClass::Letter => middle != CharClass::MiddleNumber,
                        CharClass::Digit => middle != CharClass::MiddleLetter,
                        _ => false,
                    };
                    if !stays || last != next {
                        break;
                    }
                    at += 2;
                }
                CharClass::Other | CharClass::Blank => break,
            }
        }
        if has_content {
            each(&part[start..at]);
        }
    }
}

/// Marks of bytes for [`WordSplitter`]. A letter has none.
mod mark {
    pub(super) const DIGIT: u8 = 1;
    pub(super) const PUNCTUATION: u8 = 2;
    /// `@` and `/`, which occur in addresses.
    pub(super) const ADDRESS: u8 = 4;
    /// Symbols that are rare inside words.
    pub(super) const SYMBOL: u8 = 8;
    /// Part of a character that is not ASCII.
    pub(super) const WIDE: u8 = 16;
    pub(super) const BLANK: u8 = 32;
    /// `_`, which joins letters.
    pub(super) const JOINER: u8 = 64;
}

const MARKS: [u8; 256] = {
    let mut marks = [mark::WIDE; 256];
    let mut b = 0;
    while b < 128 {
        marks[b] = match CLASSES[b] {
            CharClass::Letter => 0,
            CharClass::Digit => mark::DIGIT,
            CharClass::Blank => mark::BLANK,
            _ => match b as u8 {
                b'@' => mark::ADDRESS | mark::SYMBOL,
                b'/' => mark::ADDRESS | mark::PUNCTUATION,
                b'_' => mark::PUNCTUATION | mark::JOINER,
                b'-' | b'\'' | b'.' | b',' | b':' => mark::PUNCTUATION,
                b'!'..=b'~' => mark::SYMBOL,
                _ => mark::PUNCTUATION,
            },
        };
        b += 1;
    }
    marks
};

/// Splitter for scripts that are written without spaces between words.
enum UnspacedSplitter {
    /// Every character is a word, as in UAX 29.
    Characters,
    /// Spaces separate the words.
    Spaces,
    #[cfg(feature = "segmentation")]
    Dictionary(icu_segmenter::WordSegmenterBorrowed<'static>),
}

/// Token that stands for removed data: an address, or a part of encoded data.
const REMOVED: &[u8] = b"";

/// Splitter of text into words by the rules of UAX 29 with changes for words in practice:
///
/// - Addresses, host names and encoded data are removed. An empty token stands for each of them.
/// - `:` separates words, and `.` does except in numbers and abbreviations.
/// - `_` at the start and at the end of a word is removed.
/// - `-` joins letters and a number of up to three digits: `covid-19`.
/// - Scripts without spaces between words are split as [`Segmentation`] says.
pub(super) struct WordSplitter {
    unspaced: UnspacedSplitter,
    clean: bool,
}

impl WordSplitter {
    /// Creates a splitter. Without `clean`, only scripts without spaces are treated differently
    /// from UAX 29.
    #[cfg_attr(
        feature = "segmentation",
        allow(clippy::unnecessary_wraps, reason = "fails without the feature")
    )]
    pub(super) fn new(segmentation: Segmentation, clean: bool) -> Result<WordSplitter> {
        let unspaced = match segmentation {
            Segmentation::None => UnspacedSplitter::Characters,
            Segmentation::Spaces => UnspacedSplitter::Spaces,
            #[cfg(feature = "segmentation")]
            Segmentation::Dictionary => {
                UnspacedSplitter::Dictionary(icu_segmenter::WordSegmenter::new_dictionary(
                    icu_segmenter::options::WordBreakInvariantOptions::default(),
                ))
            }
            #[cfg(not(feature = "segmentation"))]
            Segmentation::Dictionary => {
                let reason = "this build has no dictionaries (feature \"segmentation\")";
                return Err(crate::error::Error::unsupported_value("segmentation", "dictionary", reason)
                    .with_remedy("use a build with the feature, or {segmentation=none}"));
            }
        };
        Ok(WordSplitter { unspaced, clean })
    }

    /// Calls `each` with every word of a chunk of a text. `state` is what the chunks before it have
    /// left. `line_ends_within` tells whether a line ends within a number of bytes after the chunk.
    pub(super) fn split<'a>(
        &self,
        text: &'a str,
        state: &mut WordSplitState,
        line_ends_within: &dyn Fn(usize) -> bool,
        each: &mut impl FnMut(&'a [u8]),
    ) {
        let bytes = text.as_bytes();
        let mut at = 0;
        if state.in_header {
            let Some(end) = memchr::memchr(b'\n', bytes) else { return };
            state.in_header = false;
            at = end;
        }
        while at < bytes.len() {
            let (start, mut marks) = (at, 0u8);
            while at < bytes.len() {
                let mark = MARKS[usize::from(bytes[at])];
                if mark == mark::BLANK {
                    break;
                }
                marks |= mark;
                at += 1;
            }
            let chunk = &text[start..at];
            let starts_line = if start == 0 { state.starts_line } else { bytes[start - 1] == b'\n' };
            if self.clean && at > start {
                state.in_hex_dump =
                    is_hex_pair(&bytes[start..at]) && (state.in_hex_dump || continues_hex_dump(&bytes[at..]));
            }
            if state.in_hex_dump && at > start {
                each(REMOVED);
            } else if marks == 0 {
                // Letters only, or nothing.
                if !(chunk.is_empty() || self.clean && state.encoded.includes(chunk.as_bytes(), marks)) {
                    each(chunk.as_bytes());
                }
            } else if !self.clean {
                self.split_chunk(chunk, marks, each);
            } else if chunk.ends_with(':') && is_header_name(chunk, starts_line) {
                each(REMOVED);
                let Some(end) = end_of_header(bytes, at, line_ends_within) else {
                    state.in_header = true;
                    return;
                };
                at = end;
            } else if marks & mark::ADDRESS != 0
                && let Some(address) = find_address(chunk.as_bytes())
            {
                self.split_around(chunk, address, each);
            } else if marks & mark::WIDE == 0
                && (state.encoded.includes(chunk.as_bytes(), marks)
                    || marks & mark::PUNCTUATION != 0 && is_joined_hex_dump(chunk.as_bytes()))
            {
                each(REMOVED);
            } else {
                self.split_chunk(chunk, marks, each);
            }
            at += 1;
        }
        if let Some(&last) = bytes.last() {
            state.starts_line = last == b'\n';
        }
    }

    /// Calls `each` with every word of a part of a run of characters without whitespace that are
    /// not all ASCII. `unspaced` is set if the run has characters of scripts without spaces.
    pub(super) fn split_run_part<'a>(
        &self,
        part: &'a str,
        unspaced: bool,
        state: &mut WordSplitState,
        each: &mut impl FnMut(&'a [u8]),
    ) {
        if !state.in_header {
            state.starts_line &= part.is_empty();
            self.split_wide(part, unspaced, each);
        }
    }

    /// Splits the characters before and after an address, which is removed.
    fn split_around<'a>(
        &self,
        chunk: &'a str,
        address: std::ops::Range<usize>,
        each: &mut impl FnMut(&'a [u8]),
    ) {
        let (Some(before), Some(after)) = (chunk.get(..address.start), chunk.get(address.end..)) else {
            return self.split_chunk(chunk, u8::MAX, each);
        };
        let marks = |part: &str| part.bytes().fold(0, |marks, b| marks | MARKS[usize::from(b)]);
        self.split_chunk(before, marks(before), each);
        each(REMOVED);
        // What follows may contain further addresses.
        match find_address(after.as_bytes()) {
            Some(next) if next.end > next.start => self.split_around(after, next, each),
            _ => self.split_chunk(after, marks(after), each),
        }
    }

    /// Splits characters without blanks.
    fn split_chunk<'a>(&self, chunk: &'a str, marks: u8, each: &mut impl FnMut(&'a [u8])) {
        if marks & mark::WIDE == 0 {
            if !self.clean {
                return split_ascii(chunk.as_bytes(), each);
            }
            return split_ascii_clean(chunk, each);
        }
        self.split_wide(chunk, chunk.chars().any(is_unspaced), each);
    }

    /// Splits characters without blanks that are not all ASCII. `unspaced` is set if there are
    /// characters of scripts without spaces among them.
    fn split_wide<'a>(&self, chunk: &'a str, unspaced: bool, each: &mut impl FnMut(&'a [u8])) {
        #[cfg_attr(not(feature = "segmentation"), allow(unused_mut))]
        let mut each_word =
            |word: &'a str| if self.clean { emit_clean(word, each) } else { each(word.as_bytes()) };
        if matches!(self.unspaced, UnspacedSplitter::Characters) || !unspaced {
            return chunk.unicode_words().for_each(each_word);
        }
        match &self.unspaced {
            UnspacedSplitter::Characters => {}
            UnspacedSplitter::Spaces => chunk
                .split(|c: char| {
                    !(is_unspaced(c) || c.is_alphanumeric() || c == '_') || is_unspaced_punctuation(c)
                })
                .filter(|word| !word.is_empty())
                .for_each(each_word),
            #[cfg(feature = "segmentation")]
            UnspacedSplitter::Dictionary(segmenter) => {
                let mut start = 0;
                for end in segmenter.segment_str(chunk) {
                    let word = chunk.get(start..end).unwrap_or_default();
                    if word.chars().any(char::is_alphanumeric) {
                        each_word(word);
                    }
                    start = end;
                }
            }
        }
    }
}

/// Returns whether a character of a script without spaces is punctuation.
fn is_unspaced_punctuation(c: char) -> bool {
    matches!(c, '\u{30fb}' | '\u{0e2f}' | '\u{0e4f}' | '\u{0e5a}' | '\u{0e5b}'
        | '\u{104a}'..='\u{104f}' | '\u{17d4}'..='\u{17da}')
}

/// Maximum length of the value of a header in bytes. Text without line breaks has no longer ones.
const MAX_HEADER_BYTES: usize = 300;

/// Returns the end of the line, or `at` if the line is too long for a header. Returns `None` if the
/// line ends after these bytes, which `line_ends_within` tells for a number of bytes after them.
fn end_of_header(bytes: &[u8], at: usize, line_ends_within: &dyn Fn(usize) -> bool) -> Option<usize> {
    let line = &bytes[at..bytes.len().min(at + MAX_HEADER_BYTES)];
    match memchr::memchr(b'\n', line) {
        Some(end) => Some(at + end),
        None if line.len() < MAX_HEADER_BYTES && line_ends_within(MAX_HEADER_BYTES - line.len()) => None,
        None => Some(at),
    }
}

/// State of a [`WordSplitter`] between two chunks of a text.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub(super) struct WordSplitState {
    encoded: EncodedState,
    /// Whether the text so far is empty or ends with a line end.
    starts_line: bool,
    /// Whether the rest of the line is the value of a header, which is removed.
    in_header: bool,
    /// Whether the last characters between blanks are part of a dump of bytes.
    in_hex_dump: bool,
    /// Whether the current run without whitespace has characters of scripts without spaces.
    pub(super) unspaced: bool,
}

impl Default for WordSplitState {
    fn default() -> WordSplitState {
        WordSplitState {
            encoded: EncodedState::default(),
            starts_line: true,
            in_header: false,
            in_hex_dump: false,
            unspaced: false,
        }
    }
}

/// Recognizes encoded data with blanks in it by the preceding fragments.
#[derive(Debug, Default)]
struct EncodedState {
    /// Number of fragments in a row that consist mostly of symbols; 2 or more in encoded data.
    fragments: u8,
}

impl EncodedState {
    /// Returns whether ASCII characters without blanks are encoded data: by themselves, or because
    /// they are no word and follow encoded data.
    fn includes(&mut self, chunk: &[u8], marks: u8) -> bool {
        // Letters and punctuation outside of encoded data are words.
        if self.fragments == 0 && marks & (mark::SYMBOL | mark::DIGIT | mark::JOINER) == 0 {
            return false;
        }
        let (mut letters, mut others, mut run, mut longest) = (0, 0, 0, 0);
        for &b in chunk {
            let letter = b.is_ascii_alphabetic();
            run = if letter { run + 1 } else { 0 };
            longest = longest.max(run);
            letters += usize::from(letter || b.is_ascii_digit());
            others += usize::from(is_symbol(b) || b == b'_');
        }
        if marks & (mark::SYMBOL | mark::DIGIT) != 0 && is_encoded(chunk) {
            self.fragments = 3;
            return true;
        }
        if letters > 0 && others >= letters {
            self.fragments = (self.fragments + 1).min(3);
        } else if longest >= 3 && marks & mark::DIGIT == 0 && others <= 2 {
            self.fragments = 0;
        }
        self.fragments >= 2
    }
}

/// Calls `each` with the words of a token that may contain separators.
fn emit_clean<'a>(token: &'a str, each: &mut impl FnMut(&'a [u8])) {
    let token = token.trim_matches('_');
    if token.is_empty() {
        return;
    }
    let has_separator = token.bytes().any(|b| matches!(b, b'.' | b':'));
    if !has_separator || token.bytes().any(|b| b.is_ascii_digit()) {
        return each(token.as_bytes());
    }
    for part in token.split(':').filter(|part| !part.is_empty()) {
        if !part.contains('.') || is_abbreviation(part) {
            each(part.as_bytes());
        } else if is_host_name(part) {
            each(REMOVED);
        } else {
            part.split('.').filter(|word| !word.is_empty()).for_each(|word| each(word.as_bytes()));
        }
    }
}

/// Calls `each` with every word of ASCII text without blanks.
fn split_ascii_clean<'a>(chunk: &'a str, each: &mut impl FnMut(&'a [u8])) {
    let bytes = chunk.as_bytes();
    // End of a word that was extended by a number, as in covid-19.
    let mut done = 0;
    split_ascii(bytes, &mut |word: &'a [u8]| {
        let start = word.as_ptr() as usize - bytes.as_ptr() as usize;
        let mut end = start + word.len();
        if start < done {
            return;
        }
        if word.iter().all(u8::is_ascii_alphabetic) {
            if let Some(number) = joined_number(&bytes[end..]) {
                end += number;
                done = end;
            }
            return each(&bytes[start..end]);
        }
        emit_clean(&chunk[start..end], each);
    });
}

/// Returns the length of a hyphen and a number of up to three digits at the start of `rest`, which
/// belong to the letters before them.
fn joined_number(rest: &[u8]) -> Option<usize> {
    let digits = rest.strip_prefix(b"-")?.iter().take_while(|b| b.is_ascii_digit()).count();
    let after = rest.get(1 + digits..).unwrap_or_default();
    let continues = after.first().is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_')
        || after.first().is_some_and(|&b| b == b'-' || b == b'.' || b == b'/')
            && after.get(1).is_some_and(u8::is_ascii_digit);
    ((1..=3).contains(&digits) && !continues).then_some(1 + digits)
}

/// Set of characters as bits: those that Python's `\w` matches (letters, numbers and `_`).
struct CharSet(Vec<u64>);

impl CharSet {
    fn word_characters() -> &'static CharSet {
        static WORDS: OnceLock<CharSet> = OnceLock::new();
        WORDS.get_or_init(|| {
            let mut bits = vec![0u64; 0x11_0000 / 64];
            let parsed = regex_syntax::Parser::new().parse(r"[\p{L}\p{N}_]");
            if let Ok(regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class))) =
                parsed.map(regex_syntax::hir::Hir::into_kind)
            {
                for range in class.ranges() {
                    for c in range.start() as usize..=range.end() as usize {
                        bits[c / 64] |= 1 << (c % 64);
                    }
                }
            }
            CharSet(bits)
        })
    }

    fn contains(&self, c: char) -> bool {
        self.0[c as usize / 64] >> (c as usize % 64) & 1 != 0
    }
}

/// Recognizes patterns that match runs of word characters, such as scikit-learn's `(?u)\b\w\w+\b`
/// and gensim's `\w+`, and returns the minimum length of a run. Such patterns need no regular
/// expression engine.
pub(super) fn word_run_pattern(pattern: &str) -> Option<usize> {
    let body = pattern.strip_prefix("(?u)").unwrap_or(pattern);
    let inner = body.strip_prefix(r"\b").and_then(|rest| rest.strip_suffix(r"\b")).unwrap_or(body);
    let inner = inner.strip_suffix('+')?;
    let min_chars = inner.len() / 2;
    // Without the boundaries `\w\w+` matches the same: it begins where a run begins, and is greedy.
    (min_chars > 0 && inner == r"\w".repeat(min_chars)).then_some(min_chars)
}

/// Calls `each` with every run of at least `min_chars` word characters.
pub(super) fn split_word_runs<'a>(text: &'a str, min_chars: usize, each: &mut impl FnMut(&'a [u8])) {
    let bytes = text.as_bytes();
    let words = CharSet::word_characters();
    let mut at = 0;
    while at < bytes.len() {
        let (start, mut characters) = (at, 0);
        while let Some(&b) = bytes.get(at) {
            if b < 128 {
                if !matches!(class(b), CharClass::Letter | CharClass::Digit | CharClass::Joiner) {
                    break;
                }
                at += 1;
            } else {
                match text[at..].chars().next() {
                    Some(c) if words.contains(c) => at += c.len_utf8(),
                    _ => break,
                }
            }
            characters += 1;
        }
        if characters >= min_chars {
            each(&bytes[start..at]);
        }
        // Continue after the character that ended the run.
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn collect(cut: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Vec<String> {
        let mut all = Vec::new();
        cut(&mut |word: &[u8]| all.push(String::from_utf8(word.to_vec()).unwrap()));
        all
    }

    /// Reference implementation: Unicode's words of each part between whitespace.
    fn defined(text: &str) -> Vec<String> {
        let pieces = text.split([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
        pieces.flat_map(UnicodeSegmentation::unicode_words).map(String::from).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn the_fast_way_is_unicodes_way(text in "[a-c1-3_.',;: \t\n/é\u{301}’漢\\-]{0,40}") {
            let found = collect(|each| split_unicode(&text, &mut |w| each(w)));
            prop_assert_eq!(found, defined(&text));
        }

        #[test]
        fn any_text(text in "\\PC{0,60}") {
            let found = collect(|each| split_unicode(&text, &mut |w| each(w)));
            prop_assert_eq!(found, defined(&text));
        }

        #[test]
        fn runs_are_what_the_pattern_finds(text in "\\PC{0,60}") {
            static PATTERN: LazyLock<regex::Regex> =
                LazyLock::new(|| regex::Regex::new(r"[\p{L}\p{N}_]{2,}").unwrap());
            let found = collect(|each| split_word_runs(&text, 2, &mut |w| each(w)));
            prop_assert_eq!(found, PATTERN.find_iter(&text).map(|m| m.as_str().to_string()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn patterns_of_runs() {
        for (pattern, min_chars) in [
            (r"(?u)\b\w\w+\b", Some(2)),
            (r"\w+", Some(1)),
            (r"\b\w\w\w+\b", Some(3)),
            (r"\w", None),
            (r"[a-z]+", None),
            ("+", None),
        ] {
            assert_eq!(word_run_pattern(pattern), min_chars, "{pattern}");
        }
    }
}
