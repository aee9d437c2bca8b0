//! Where words begin and end.
//!
//! Most text is ASCII, and nearly all of the rest has few other characters. So text is cut at
//! blanks first, and a piece of ASCII goes a way of its own that gives what the Unicode tables
//! would. (At a blank the rules of UAX 29 have a boundary but for a mark that stands alone behind
//! it: there the blank is no part of a word here.)

use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation;

/// What an ASCII character is for the rules of UAX 29.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Letter,
    Digit,
    /// `_`: joins letters and digits.
    Joiner,
    /// `.` and `'`: stay between two letters, and between two digits.
    Middle,
    /// `:`: stays between two letters.
    MiddleLetter,
    /// `,` and `;`: stay between two digits.
    MiddleNumber,
    Blank,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut b = 0;
    while b < 128 {
        classes[b] = match b as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Joiner,
            b'.' | b'\'' => Class::Middle,
            b':' => Class::MiddleLetter,
            b',' | b';' => Class::MiddleNumber,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => Class::Blank,
            _ => Class::Other,
        };
        b += 1;
    }
    classes
};

fn class(b: u8) -> Class {
    CLASSES[usize::from(b)]
}

/// What stands between blanks.
pub(super) fn blanks<'a>(text: &'a str, each: &mut impl FnMut(&'a [u8])) {
    for part in text.as_bytes().split(|&b| class(b) == Class::Blank) {
        if !part.is_empty() {
            each(part);
        }
    }
}

/// The words of UAX 29.
pub(super) fn unicode<'a>(text: &'a str, each: &mut impl FnMut(&'a [u8])) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (start, mut all) = (at, 0u8);
        while at < bytes.len() && class(bytes[at]) != Class::Blank {
            all |= bytes[at];
            at += 1;
        }
        if all < 128 {
            ascii(&bytes[start..at], each);
        } else {
            text[start..at].unicode_words().for_each(|word| each(word.as_bytes()));
        }
        at += 1;
    }
}

/// The same for a piece of ASCII without blanks.
fn ascii<'a>(piece: &'a [u8], each: &mut impl FnMut(&'a [u8])) {
    let mut at = 0;
    while let Some(&b) = piece.get(at) {
        let mut last = class(b);
        let start = at;
        at += 1;
        if !matches!(last, Class::Letter | Class::Digit | Class::Joiner) {
            continue;
        }
        let mut sounds = last != Class::Joiner;
        while let Some(&b) = piece.get(at) {
            match class(b) {
                next @ (Class::Letter | Class::Digit) => {
                    (sounds, last) = (true, next);
                    at += 1;
                }
                Class::Joiner => {
                    last = Class::Joiner;
                    at += 1;
                }
                middle @ (Class::Middle | Class::MiddleLetter | Class::MiddleNumber) => {
                    let next = piece.get(at + 1).map_or(Class::Other, |&b| class(b));
                    let stays = match last {
                        Class::Letter => middle != Class::MiddleNumber,
                        Class::Digit => middle != Class::MiddleLetter,
                        _ => false,
                    };
                    if !stays || last != next {
                        break;
                    }
                    at += 2;
                }
                Class::Other | Class::Blank => break,
            }
        }
        if sounds {
            each(&piece[start..at]);
        }
    }
}

/// Characters as bits: what Python's `\w` has (letters, numbers and `_`).
struct Characters(Vec<u64>);

impl Characters {
    fn words() -> &'static Characters {
        static WORDS: OnceLock<Characters> = OnceLock::new();
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
            Characters(bits)
        })
    }

    fn has(&self, c: char) -> bool {
        self.0[c as usize / 64] >> (c as usize % 64) & 1 != 0
    }
}

/// A pattern that finds runs of word characters, as scikit-learn's `(?u)\b\w\w+\b` and gensim's
/// `\w+` do: how many characters a run must have. Such patterns need no regular expressions.
pub(super) fn runs_pattern(pattern: &str) -> Option<usize> {
    let body = pattern.strip_prefix("(?u)").unwrap_or(pattern);
    let inner = body.strip_prefix(r"\b").and_then(|rest| rest.strip_suffix(r"\b")).unwrap_or(body);
    let inner = inner.strip_suffix('+')?;
    let least = inner.len() / 2;
    // Without the boundaries `\w\w+` would be the same; it begins where a run does, and is greedy.
    (least > 0 && inner == r"\w".repeat(least)).then_some(least)
}

/// Runs of at least `least` word characters.
pub(super) fn runs<'a>(text: &'a str, least: usize, each: &mut impl FnMut(&'a [u8])) {
    let bytes = text.as_bytes();
    let words = Characters::words();
    let mut at = 0;
    while at < bytes.len() {
        let (start, mut characters) = (at, 0);
        while let Some(&b) = bytes.get(at) {
            if b < 128 {
                if !matches!(class(b), Class::Letter | Class::Digit | Class::Joiner) {
                    break;
                }
                at += 1;
            } else {
                match text[at..].chars().next() {
                    Some(c) if words.has(c) => at += c.len_utf8(),
                    _ => break,
                }
            }
            characters += 1;
        }
        if characters >= least {
            each(&bytes[start..at]);
        }
        // Behind what ended the run.
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

    /// The definition: Unicode's words of each piece between blanks.
    fn defined(text: &str) -> Vec<String> {
        let pieces = text.split([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
        pieces.flat_map(UnicodeSegmentation::unicode_words).map(String::from).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn the_fast_way_is_unicodes_way(text in "[a-c1-3_.',;: \t\n/é\u{301}’漢\\-]{0,40}") {
            let found = collect(|each| unicode(&text, &mut |w| each(w)));
            prop_assert_eq!(found, defined(&text));
        }

        #[test]
        fn any_text(text in "\\PC{0,60}") {
            let found = collect(|each| unicode(&text, &mut |w| each(w)));
            prop_assert_eq!(found, defined(&text));
        }

        #[test]
        fn runs_are_what_the_pattern_finds(text in "\\PC{0,60}") {
            static PATTERN: LazyLock<regex::Regex> =
                LazyLock::new(|| regex::Regex::new(r"[\p{L}\p{N}_]{2,}").unwrap());
            let found = collect(|each| runs(&text, 2, &mut |w| each(w)));
            prop_assert_eq!(found, PATTERN.find_iter(&text).map(|m| m.as_str().to_string()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn patterns_of_runs() {
        for (pattern, least) in [
            (r"(?u)\b\w\w+\b", Some(2)),
            (r"\w+", Some(1)),
            (r"\b\w\w\w+\b", Some(3)),
            (r"\w", None),
            (r"[a-z]+", None),
            ("+", None),
        ] {
            assert_eq!(runs_pattern(pattern), least, "{pattern}");
        }
    }
}
