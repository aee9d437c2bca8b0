//! Tokens that are not words: encoded data, identifiers, addresses, quantities.
//!
//! [`is_encoded`] and [`find_address`] look at the characters between two blanks, [`is_noise`] at
//! one token, and [`is_host_name`] at a token with periods. All expect text in lower or upper case
//! alike and look at ASCII only. The rules keep names such as `p53`, `h1n1`, `brca1`, `mp3` and
//! `covid-19`, and drop `0d`, `w7`, `4a9f3c`, `10mg` and `q8zk3f7x`.

use std::ops::Range;

/// Minimum length of characters between blanks that are examined for encoded data.
const MIN_ENCODED: usize = 8;
/// Minimum length of base64 data.
const MIN_BASE64: usize = 24;
/// Maximum length of an ASCII word. The longest words of European languages have about 40 letters.
const MAX_LETTERS: usize = 45;
/// Maximum number of changes between letters and digits in a name, as in `cyp2d6`.
const MAX_CHANGES: usize = 3;
/// Maximum number of consecutive digits in a name, as in `win2000`.
const MAX_DIGITS: usize = 4;
/// Maximum number of digits in a name.
const MAX_ALL_DIGITS: usize = 6;
/// Minimum length of a token of hexadecimal digits that is a hash.
const MIN_HASH: usize = 6;

/// Returns the part of a text between its first and its last letter or digit.
fn trim_punctuation(chunk: &[u8]) -> &[u8] {
    let Some(first) = chunk.iter().position(u8::is_ascii_alphanumeric) else { return &[] };
    let last = chunk.iter().rposition(u8::is_ascii_alphanumeric).unwrap_or(first);
    &chunk[first..=last]
}

/// Returns whether a byte is a symbol that is rare inside words, and frequent in encoded data.
pub(super) fn is_symbol(b: u8) -> bool {
    b.is_ascii_punctuation() && !matches!(b, b'-' | b'\'' | b'.' | b',' | b'/' | b':' | b'_')
}

/// Returns whether ASCII characters without blanks are encoded data (uuencode, base64) or a formula
/// instead of words: short runs of letters and digits between symbols, or many changes between
/// letters and digits.
pub(super) fn is_encoded(chunk: &[u8]) -> bool {
    let core = trim_punctuation(chunk);
    if core.len() < MIN_ENCODED {
        return false;
    }
    let (mut symbols, mut runs, mut characters, mut changes) = (0, 0, 0, 0);
    let (mut last, mut base64) = (b' ', true);
    for &b in core {
        if b.is_ascii_alphanumeric() {
            characters += 1;
            runs += usize::from(!last.is_ascii_alphanumeric());
            changes +=
                usize::from(last.is_ascii_alphanumeric() && last.is_ascii_digit() != b.is_ascii_digit());
        } else {
            symbols += usize::from(is_symbol(b));
            base64 &= matches!(b, b'+' | b'/' | b'=');
        }
        last = b;
    }
    (symbols >= 3 && characters < 3 * runs)
        || (base64 && core.len() >= MIN_BASE64 && changes * 8 >= core.len())
}

/// Minimum number of pairs of hexadecimal digits in a row that are a dump of bytes.
const MIN_HEX_PAIRS: usize = 4;

/// Returns whether characters without blanks are two hexadecimal digits.
pub(super) fn is_hex_pair(chunk: &[u8]) -> bool {
    matches!(chunk, [a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}

/// Returns whether a text that follows a pair of hexadecimal digits begins with other pairs, enough
/// for a dump of bytes.
pub(super) fn continues_hex_dump(text: &[u8]) -> bool {
    let mut pairs = text.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty());
    (1..MIN_HEX_PAIRS).all(|_| pairs.next().is_some_and(is_hex_pair))
}

/// Returns whether characters without blanks are pairs of hexadecimal digits that colons or hyphens
/// separate.
pub(super) fn is_joined_hex_dump(chunk: &[u8]) -> bool {
    let core = trim_punctuation(chunk);
    let mut pairs = 0;
    core.len() + 1 >= 3 * MIN_HEX_PAIRS
        && core.split(|b| matches!(b, b':' | b'-')).all(|pair| {
            pairs += 1;
            is_hex_pair(pair)
        })
        && pairs >= MIN_HEX_PAIRS
}

/// Finds the first e-mail address or URL in ASCII characters without blanks.
pub(super) fn find_address(chunk: &[u8]) -> Option<Range<usize>> {
    if let Some(at) = memchr::memmem::find(chunk, b"://") {
        let scheme = chunk[..at].iter().rev().take_while(|b| b.is_ascii_alphanumeric()).count();
        let is_end =
            |b: &u8| matches!(b, b'<' | b'>' | b'"' | b'\'' | b')' | b']' | b'}' | b'|') || !b.is_ascii();
        let end = chunk[at..].iter().position(is_end).map_or(chunk.len(), |n| at + n);
        return Some(at - scheme..end);
    }
    for at in memchr::memchr_iter(b'@', chunk) {
        let is_part =
            |b: &&u8| b.is_ascii_alphanumeric() || matches!(**b, b'.' | b'_' | b'%' | b'+' | b'-' | b'=');
        let before = chunk[..at].iter().rev().take_while(is_part).count();
        let after = chunk[at + 1..].iter().take_while(is_part).count();
        if before > 0 && after > 0 {
            return Some(at - before..at + 1 + after);
        }
    }
    None
}

/// Returns whether characters that end with a colon are the name of a technical header of a mail,
/// such as `Message-ID:`. Some names are words, and are headers only at the start of a line.
pub(super) fn is_header_name(chunk: &str, starts_line: bool) -> bool {
    const NAMES: [&str; 14] = [
        "message-id",
        "mime-version",
        "in-reply-to",
        "reply-to",
        "return-path",
        "followup-to",
        "user-agent",
        "delivered-to",
        "dkim-signature",
        "authentication-results",
        "received-spf",
        "errors-to",
        "article-i.d.",
        "content-type",
    ];
    const PREFIXES: [&str; 5] = ["x-", "content-", "nntp-", "arc-", "list-"];
    const WORDS: [&str; 8] =
        ["received", "xref", "newsgroups", "organization", "distribution", "lines", "references", "path"];
    let Some(name) = chunk.strip_suffix(':') else { return false };
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    let starts = |prefix: &&str| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    NAMES.iter().any(is) || PREFIXES.iter().any(starts) || starts_line && WORDS.iter().any(is)
}

/// Returns whether a token with periods between letters is the name of a host, such as
/// `ftp.example.com`. Two words without a blank after the period (`end.next`) are not.
pub(super) fn is_host_name(token: &str) -> bool {
    const DOMAINS: [&str; 12] =
        ["com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "arpa", "uucp", "bitnet"];
    let last = token.rsplit('.').next().unwrap_or_default();
    let labels = token.split('.').count();
    labels > 1 && DOMAINS.iter().any(|domain| domain.eq_ignore_ascii_case(last))
        || labels > 2 && token.split('.').all(|label| label.len() > 1)
}

/// Returns whether a token with periods is an abbreviation, such as `u.s` and `ph.d`.
pub(super) fn is_abbreviation(token: &str) -> bool {
    let labels = || token.split('.');
    labels().all(|label| label.chars().count() <= 3)
        && labels().any(|label| label.chars().count() == 1)
        && labels().count() <= 4
}

/// Returns whether a token is not a word: a mixture of letters and digits that is no name, one
/// repeated character, or an overlong run of letters.
pub(super) fn is_noise(token: &str) -> bool {
    let bytes = token.as_bytes();
    let Some(&first) = bytes.first() else { return true };
    if bytes.len() > 3 && bytes.iter().all(|&b| b == first) {
        return true;
    }
    if bytes.len() > MAX_LETTERS && token.is_ascii() {
        return true;
    }
    // Single letters that underscores join are formulas or encoded data: m_p.
    if bytes.contains(&b'_') && token.split('_').all(|part| part.chars().count() < 2) {
        return true;
    }
    if !bytes.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let (mut letters, mut digits, mut changes, mut run, mut longest) = (0, 0, 0, 0, 0);
    let (mut last, mut hash) = (None, true);
    for c in token.chars() {
        let digit = c.is_ascii_digit();
        if !digit && !c.is_alphabetic() {
            (run, hash) = (0, false);
            // Quantities and versions: 1.5mg, v2.0.
            if matches!(c, '.' | ',') {
                return true;
            }
            continue;
        }
        changes += usize::from(last.is_some_and(|last| last != digit));
        run = if digit { run + 1 } else { 0 };
        longest = longest.max(run);
        (letters, digits) = (letters + usize::from(!digit), digits + usize::from(digit));
        hash &= c.is_ascii_hexdigit();
        last = Some(digit);
    }
    if letters == 0 {
        return false;
    }
    let hash = hash && letters + digits >= MIN_HASH && (changes > 1 || letters + digits >= MIN_HASH + 2);
    let many_digits = longest > MAX_DIGITS || digits > MAX_ALL_DIGITS;
    if hash || changes > MAX_CHANGES || many_digits || letters + digits < 3 {
        return true;
    }
    // A number with a unit (10mg, 5th) is no name; 17beta and 1990s are.
    let decade = token.ends_with("0s") && digits <= 4 && letters == 1;
    first.is_ascii_digit() && !decade && (letters < 3 || changes > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_and_noise_is_not() {
        for name in [
            "p53", "h1n1", "brca1", "mp3", "covid-19", "cyp2d6", "b12", "hiv-1", "17beta", "1990s", "co2",
            "win95", "straße", "т34", "5", "1999", "word", "new_york", "aaa", "il-2", "s100a8",
        ] {
            assert!(!is_noise(name), "{name}");
        }
        for noise in [
            "0d",
            "w7",
            "4a9f3c",
            "10mg",
            "q8zk3f7x",
            "5th",
            "1.5mg",
            "v2.0",
            "aaaa",
            "xxxxxx",
            "a123456",
            "deadbeef00",
            "01bf3c5d",
            "nextpart_000_0012_01bf3c",
            "nextpart_000_0055_fdeb2507",
            "",
            "m_p",
        ] {
            assert!(is_noise(noise), "{noise}");
        }
    }

    #[test]
    fn encoded_data_is_recognized() {
        for data in [
            "m<v5d(&en('1h92!w;w)l9\"!i<r!a;",
            "max>'ax>'ax>'ax>'ax>'ax>'ax>",
            "igjhcgfuzsbhbmqga2vlchmgb2yghabq1zk8vq2l0aw9u8f",
        ] {
            assert!(is_encoded(data.as_bytes()), "{data}");
        }
        for text in [
            "well-known,",
            "(see",
            "\"quoted\"",
            "and/or",
            "text/html;charset=utf-8",
            "c++/java/python",
            "method(argument,",
            "$\\alpha_{i}$",
            "path/to/some/file/from/2019/01/results",
        ] {
            assert!(!is_encoded(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn u4_hex_dumps_are_recognized() {
        assert!(is_hex_pair(b"fa") && is_hex_pair(b"0D") && !is_hex_pair(b"go") && !is_hex_pair(b"fab"));
        assert!(continues_hex_dump(b" ff dd  ee word") && continues_hex_dump(b" ff\n00 1a"));
        assert!(!continues_hex_dump(b" ff dd word") && !continues_hex_dump(b" ff dd"));
        assert!(is_joined_hex_dump(b"(00:1a:fa:ff:dd:ee)") && is_joined_hex_dump(b"fa-ff-dd-ee"));
        assert!(!is_joined_hex_dump(b"12:30:45") && !is_joined_hex_dump(b"well-known-fact"));
    }

    #[test]
    fn headers_are_recognized() {
        for name in ["Message-ID:", "x-trace:", "Content-Transfer-Encoding:", "nntp-posting-host:"] {
            assert!(is_header_name(name, false), "{name}");
        }
        assert!(is_header_name("Lines:", true) && !is_header_name("lines:", false));
        for other in ["note:", "x:", "result:", "content:", "Message-ID"] {
            assert!(!is_header_name(other, true), "{other}");
        }
    }

    #[test]
    fn addresses_are_found() {
        for (text, address) in [
            ("<jo.doe@mail.example.com>,", Some("jo.doe@mail.example.com")),
            ("[text](https://example.com/a?b=1).", Some("https://example.com/a?b=1")),
            ("@mention", None),
            ("a@", None),
            ("word", None),
        ] {
            let found = find_address(text.as_bytes()).map(|range| &text[range]);
            assert_eq!(found, address, "{text}");
        }
        for host in ["example.com", "ftp.cs.uni.de", "WWW.EXAMPLE.ORG"] {
            assert!(is_host_name(host), "{host}");
        }
        for other in ["end.next", "u.s", "ph.d", "e.g", "config.sys"] {
            assert!(!is_host_name(other), "{other}");
        }
        assert!(is_abbreviation("ph.d") && is_abbreviation("u.s.a") && !is_abbreviation("end.the"));
    }
}
