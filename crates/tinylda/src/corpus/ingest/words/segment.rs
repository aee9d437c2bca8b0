//! Word boundaries: splits text into tokens.
//!
//! Most text is ASCII, and nearly all other text contains few other characters. Text is therefore
//! split at whitespace first, and ASCII parts take a fast path with the same result as the Unicode
//! tables. UAX 29 has a boundary at whitespace, except before a combining mark that stands alone
//! after it; here the whitespace is never part of a word.
//!
//! Start with [`split_unicode`]. Normalization and filtering are done by `tokens`.

use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation;

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
