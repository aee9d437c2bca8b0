//! Text encodings: detects the encoding of an input and decodes it to UTF-8. Requires the feature
//! `text`.
//!
//! Start with [`DecodingReader`] for streams and [`decode`] for bytes in memory. UTF-16 and UTF-32
//! are detected by their byte order mark, UTF-16 also by its zero bytes. An 8-bit encoding is
//! detected at the first byte that is not ASCII, from the text that follows. UTF-8 passes through
//! unchanged, including a byte order mark and damaged bytes, which the reader of records handles.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, Decoder, Encoding};

use crate::error::{Error, Result};

/// Number of bytes, from the first one that is not ASCII, that decide on the encoding.
const WINDOW_BYTES: usize = 1 << 18;
/// Number of bytes that are decoded at a time.
const CHUNK_BYTES: usize = 1 << 16;
/// Number of bytes that are inspected for zero bytes.
const ZERO_BYTES: usize = 1 << 12;

/// Encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    Utf8,
    Utf32 {
        big_endian: bool,
    },
    /// UTF-16 or an encoding of the Web.
    Other(&'static Encoding),
}

impl TextEncoding {
    /// Returns the encoding with this name, such as `latin1` or `UTF-16`.
    pub(crate) fn from_name(name: &str) -> Option<TextEncoding> {
        let plain = name.trim().to_ascii_lowercase().replace('_', "-");
        Some(match plain.as_str() {
            "utf-32" | "utf32" | "utf-32le" | "utf-32-le" => TextEncoding::Utf32 { big_endian: false },
            "utf-32be" | "utf-32-be" => TextEncoding::Utf32 { big_endian: true },
            "utf-8-sig" => TextEncoding::Utf8,
            "utf16" | "utf-16-le" => TextEncoding::Other(encoding_rs::UTF_16LE),
            "utf-16-be" => TextEncoding::Other(encoding_rs::UTF_16BE),
            "latin-1" | "latin9" | "latin-9" | "ansi" | "cp-1252" => {
                let is_latin9 = plain.ends_with('9');
                TextEncoding::Other(if is_latin9 {
                    encoding_rs::ISO_8859_15
                } else {
                    encoding_rs::WINDOWS_1252
                })
            }
            "mac-roman" | "macroman" => TextEncoding::Other(encoding_rs::MACINTOSH),
            _ => {
                let found = Encoding::for_label_no_replacement(name.as_bytes())
                    .or_else(|| Encoding::for_label_no_replacement(plain.as_bytes()))?;
                if found == encoding_rs::UTF_8 { TextEncoding::Utf8 } else { TextEncoding::Other(found) }
            }
        })
    }

    /// Returns the usual name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            TextEncoding::Utf8 => "UTF-8",
            TextEncoding::Utf32 { big_endian: false } => "UTF-32LE",
            TextEncoding::Utf32 { big_endian: true } => "UTF-32BE",
            TextEncoding::Other(encoding) => encoding.name(),
        }
    }
}

/// Parses the parameter `encoding`.
pub(crate) fn parse_encoding(name: &str) -> Result<TextEncoding> {
    TextEncoding::from_name(name).ok_or_else(|| {
        Error::parse(
            "encoding",
            name,
            "a name such as utf-8, utf-16, latin1, windows-1251, shift_jis or gb18030",
        )
        .with_remedy("convert text in any other encoding to UTF-8 first, for instance with iconv")
    })
}

/// Rule that determines the encoding of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EncodingRule {
    /// Detects any encoding.
    Detect,
    /// Detects UTF-16 and UTF-32, and takes everything else for UTF-8.
    Unicode,
    /// Uses this encoding.
    Given(TextEncoding),
}

impl EncodingRule {
    /// Returns the encoding that is certain from the first bytes; `None` if it depends on the bytes
    /// that are not ASCII.
    fn certain(self, start: &[u8]) -> Option<TextEncoding> {
        match (self, unicode_encoding(start)) {
            (EncodingRule::Given(given), _) => Some(given),
            (_, Some(found)) => Some(found),
            (EncodingRule::Unicode, None) => Some(TextEncoding::Utf8),
            (EncodingRule::Detect, None) => None,
        }
    }
}

/// Detects a Unicode encoding from its byte order mark, and UTF-16 from its zero bytes.
pub(crate) fn unicode_encoding(start: &[u8]) -> Option<TextEncoding> {
    Some(match start {
        [0xff, 0xfe, 0, 0, ..] => TextEncoding::Utf32 { big_endian: false },
        [0, 0, 0xfe, 0xff, ..] => TextEncoding::Utf32 { big_endian: true },
        [0xff, 0xfe, ..] => TextEncoding::Other(encoding_rs::UTF_16LE),
        [0xfe, 0xff, ..] => TextEncoding::Other(encoding_rs::UTF_16BE),
        [0xef, 0xbb, 0xbf, ..] => TextEncoding::Utf8,
        _ => return utf16_without_mark(start),
    })
}

/// Detects UTF-16 without a byte order mark: many zero bytes at odd or at even positions only, and
/// no control characters. Short texts must have mostly Latin characters.
fn utf16_without_mark(start: &[u8]) -> Option<TextEncoding> {
    let start = &start[..start.len().min(ZERO_BYTES) & !1];
    let zeros = |parity: usize| start.iter().skip(parity).step_by(2).filter(|&&b| b == 0).count();
    let (encoding, zeros) = match (zeros(0), zeros(1)) {
        (0, zeros @ 1..) => (encoding_rs::UTF_16LE, zeros),
        (zeros @ 1.., 0) => (encoding_rs::UTF_16BE, zeros),
        _ => return None,
    };
    let units = start.len() / 2;
    if 10 * zeros < 6 * units && (units < 100 || 20 * zeros < units) {
        return None;
    }
    let (text, _, _) = encoding.decode(start);
    // The last character may be cut in half.
    let text = text.strip_suffix('\u{fffd}').unwrap_or(&text);
    let is_text = |c: char| c != '\u{fffd}' && (!c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}'));
    (!text.is_empty() && text.chars().all(is_text)).then_some(TextEncoding::Other(encoding))
}

/// Detects the encoding of text that begins with a byte that is not ASCII. `complete` is set if the
/// text ends with these bytes.
fn detect_encoding(window: &[u8], complete: bool) -> TextEncoding {
    let (valid, invalid) = utf8_sequences(window, complete);
    // UTF-8 with a few damaged bytes is still UTF-8, while text in other encodings rarely has bytes
    // that are valid in UTF-8.
    if invalid == 0 || valid > invalid {
        return TextEncoding::Utf8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(window, complete);
    let found = detector.guess(None, Utf8Detection::Deny);
    TextEncoding::Other(found)
}

/// Returns the numbers of valid multi-byte sequences and of invalid sequences.
fn utf8_sequences(mut bytes: &[u8], complete: bool) -> (u64, u64) {
    let (mut valid, mut invalid) = (0, 0);
    let starts = |bytes: &[u8]| bytes.iter().filter(|&&b| b >= 0xc0).count() as u64;
    loop {
        match std::str::from_utf8(bytes) {
            Ok(_) => return (valid + starts(bytes), invalid),
            Err(error) => {
                valid += starts(&bytes[..error.valid_up_to()]);
                let Some(length) = error.error_len() else { return (valid, invalid + u64::from(complete)) };
                invalid += 1;
                bytes = &bytes[error.valid_up_to() + length..];
            }
        }
    }
}

/// What was found out about the encoding of an input while it was read. Clones share their content.
#[derive(Debug, Clone, Default)]
pub(crate) struct EncodingFinding(Arc<(OnceLock<TextEncoding>, AtomicBool)>);

impl EncodingFinding {
    /// Returns the encoding; UTF-8 if all bytes so far are ASCII.
    pub(crate) fn encoding(&self) -> TextEncoding {
        self.0.0.get().copied().unwrap_or(TextEncoding::Utf8)
    }

    /// Returns whether bytes that are not valid in the encoding were replaced. Those of UTF-8 are
    /// left to the reader of records.
    pub(crate) fn has_replaced(&self) -> bool {
        self.0.1.load(Ordering::Relaxed)
    }

    fn set(&self, encoding: TextEncoding) {
        // Later passes over the same input find the same encoding.
        let _ = self.0.0.set(encoding);
    }

    fn set_replaced(&self) {
        self.0.1.store(true, Ordering::Relaxed);
    }
}

/// Decoder of a stream.
enum StreamDecoder {
    Other(Box<Decoder>),
    Utf32 { big_endian: bool, at_start: bool },
}

impl StreamDecoder {
    /// Returns the decoder of an encoding; `None` for UTF-8, which needs none.
    fn new(encoding: TextEncoding) -> Option<StreamDecoder> {
        match encoding {
            TextEncoding::Utf8 => None,
            TextEncoding::Utf32 { big_endian } => Some(StreamDecoder::Utf32 { big_endian, at_start: true }),
            TextEncoding::Other(encoding) => {
                Some(StreamDecoder::Other(Box::new(encoding.new_decoder_with_bom_removal())))
            }
        }
    }

    /// Decodes bytes and appends them to `out`. Returns the number of used bytes, and whether
    /// invalid ones were replaced.
    fn decode(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> (usize, bool) {
        match self {
            StreamDecoder::Utf32 { big_endian, at_start } => {
                decode_utf32(bytes, last, *big_endian, at_start, out)
            }
            StreamDecoder::Other(decoder) => {
                let (mut used, mut replaced) = (0, false);
                loop {
                    let filled = out.len();
                    let spare = decoder.max_utf8_buffer_length(bytes.len() - used).unwrap_or(0).max(16);
                    out.resize(filled + spare, 0);
                    let (result, read, written, errors) =
                        decoder.decode_to_utf8(&bytes[used..], &mut out[filled..], last);
                    out.truncate(filled + written);
                    used += read;
                    replaced |= errors;
                    if result == CoderResult::InputEmpty {
                        return (used, replaced);
                    }
                }
            }
        }
    }
}

/// Decodes UTF-32 and appends it to `out`. Returns the number of used bytes, and whether invalid
/// ones were replaced.
fn decode_utf32(
    bytes: &[u8],
    last: bool,
    big_endian: bool,
    at_start: &mut bool,
    out: &mut Vec<u8>,
) -> (usize, bool) {
    let (mut used, mut replaced) = (0, false);
    let mut push = |c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    let (units, rest) = bytes.as_chunks::<4>();
    for &unit in units {
        used += 4;
        let code = if big_endian { u32::from_be_bytes(unit) } else { u32::from_le_bytes(unit) };
        if std::mem::take(at_start) && code == 0xfeff {
            continue;
        }
        replaced |= char::from_u32(code).is_none();
        push(char::from_u32(code).unwrap_or('\u{fffd}'));
    }
    if last && !rest.is_empty() {
        (used, replaced) = (bytes.len(), true);
        push('\u{fffd}');
    }
    (used, replaced)
}

/// State of a [`DecodingReader`].
enum DecodingState {
    /// Nothing has been read yet.
    Start,
    /// All bytes so far are ASCII.
    Ascii,
    /// The bytes are passed on as they are.
    Pass,
    Decode(StreamDecoder),
}

/// Reader that decodes its source to UTF-8.
///
/// The encoding depends only on the bytes of the source, not on how they arrive, so that every pass
/// over an input gives the same text.
pub(crate) struct DecodingReader {
    source: Box<dyn Read>,
    rule: EncodingRule,
    state: DecodingState,
    /// Bytes of the source that were not used yet: those from `raw_next` on.
    raw: Vec<u8>,
    raw_next: usize,
    at_end: bool,
    /// Decoded bytes that were not returned yet: those from `next` on.
    decoded: Vec<u8>,
    next: usize,
    finding: EncodingFinding,
}

impl DecodingReader {
    pub(crate) fn new(source: Box<dyn Read>, rule: EncodingRule, finding: EncodingFinding) -> DecodingReader {
        DecodingReader {
            source,
            rule,
            state: DecodingState::Start,
            raw: Vec::new(),
            raw_next: 0,
            at_end: false,
            decoded: Vec::new(),
            next: 0,
            finding,
        }
    }

    /// Reads from the source until `count` unused bytes are there, or to its end.
    fn fill(&mut self, count: usize) -> io::Result<()> {
        self.raw.drain(..self.raw_next);
        self.raw_next = 0;
        while !self.at_end && self.raw.len() < count {
            let filled = self.raw.len();
            self.raw.resize(count, 0);
            let read = self.source.read(&mut self.raw[filled..]);
            self.raw.truncate(filled + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(n) => self.at_end = n == 0,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn set_encoding(&mut self, encoding: TextEncoding) {
        self.finding.set(encoding);
        self.state = StreamDecoder::new(encoding).map_or(DecodingState::Pass, DecodingState::Decode);
    }

    /// Returns unused bytes, or reads from the source if there are none.
    fn read_raw(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.raw_next == self.raw.len() {
            (self.raw, self.raw_next) = (Vec::new(), 0);
            return if self.at_end { Ok(0) } else { self.source.read(buffer) };
        }
        let n = buffer.len().min(self.raw.len() - self.raw_next);
        buffer[..n].copy_from_slice(&self.raw[self.raw_next..self.raw_next + n]);
        self.raw_next += n;
        Ok(n)
    }

    /// Returns bytes up to the first one that is not ASCII, and determines the encoding there.
    fn read_ascii(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.read_raw(buffer)?;
        let ascii = Encoding::ascii_valid_up_to(&buffer[..n]);
        if ascii == n {
            return Ok(n);
        }
        // The other bytes are put back before those that were not read yet.
        let mut rest = buffer[ascii..n].to_vec();
        rest.extend_from_slice(&self.raw[self.raw_next..]);
        (self.raw, self.raw_next) = (rest, 0);
        self.fill(WINDOW_BYTES)?;
        let window = &self.raw[..self.raw.len().min(WINDOW_BYTES)];
        let encoding = detect_encoding(window, self.at_end && window.len() == self.raw.len());
        self.set_encoding(encoding);
        if ascii > 0 { Ok(ascii) } else { self.read(buffer) }
    }
}

impl Read for DecodingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.next < self.decoded.len() {
                let n = buffer.len().min(self.decoded.len() - self.next);
                buffer[..n].copy_from_slice(&self.decoded[self.next..self.next + n]);
                self.next += n;
                return Ok(n);
            }
            match &mut self.state {
                DecodingState::Start => {
                    self.fill(ZERO_BYTES)?;
                    match self.rule.certain(&self.raw) {
                        Some(encoding) => self.set_encoding(encoding),
                        None => self.state = DecodingState::Ascii,
                    }
                }
                DecodingState::Ascii => return self.read_ascii(buffer),
                DecodingState::Pass => return self.read_raw(buffer),
                DecodingState::Decode(_) => {
                    self.fill(CHUNK_BYTES)?;
                    self.decoded.clear();
                    self.next = 0;
                    let DecodingState::Decode(decoder) = &mut self.state else { continue };
                    let (used, replaced) = decoder.decode(&self.raw, self.at_end, &mut self.decoded);
                    self.raw_next = used;
                    if replaced {
                        self.finding.set_replaced();
                    }
                    if self.at_end {
                        // The decoder has been closed; everything is decoded.
                        (self.raw, self.raw_next, self.state) = (Vec::new(), 0, DecodingState::Pass);
                    }
                }
            }
        }
    }
}

/// Decodes a complete text. `hint` is the encoding that the text declares, which is used unless the
/// rule or a byte order mark determines another one. Returns the text, and the encoding if it is
/// not UTF-8.
pub(crate) fn decode(
    bytes: Vec<u8>,
    rule: EncodingRule,
    hint: Option<TextEncoding>,
) -> (Vec<u8>, Option<TextEncoding>) {
    let ascii = Encoding::ascii_valid_up_to(&bytes);
    let window = &bytes[ascii..];
    let window = &window[..window.len().min(WINDOW_BYTES)];
    let complete = ascii + window.len() == bytes.len();
    let encoding = match (rule, unicode_encoding(&bytes), hint) {
        (EncodingRule::Given(given), ..) => given,
        (_, Some(found), _) => found,
        // Text that is valid UTF-8 is in UTF-8 whatever it declares.
        (_, None, Some(hint)) if utf8_sequences(window, complete).1 > 0 => hint,
        (EncodingRule::Unicode, None, _) => TextEncoding::Utf8,
        (EncodingRule::Detect, None, _) => detect_encoding(window, complete),
    };
    let Some(mut decoder) = StreamDecoder::new(encoding) else { return (bytes, None) };
    let mut text = Vec::with_capacity(bytes.len() + bytes.len() / 8);
    decoder.decode(&bytes, true, &mut text);
    (text, Some(encoding))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reader that delivers a few bytes at a time.
    struct SlowReader(Vec<u8>, usize, usize);

    impl Read for SlowReader {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = buffer.len().min(self.2).min(self.0.len() - self.1);
            buffer[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
            self.1 += n;
            Ok(n)
        }
    }

    fn read(bytes: &[u8], rule: EncodingRule, step: usize) -> (Vec<u8>, &'static str) {
        let finding = EncodingFinding::default();
        let source = Box::new(SlowReader(bytes.to_vec(), 0, step));
        let mut reader = DecodingReader::new(source, rule, finding.clone());
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        (all, finding.encoding().name())
    }

    fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
        let unit = |u: u16| if big_endian { u.to_be_bytes() } else { u.to_le_bytes() };
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn encodings_are_detected_and_decoded() {
        let french = "Le caf\u{e9} est ferm\u{e9}, l'\u{e9}t\u{e9} est fini.\n".repeat(4);
        let latin1: Vec<u8> = french.chars().map(|c| c as u8).collect();
        let russian = "Москва столица России, крупнейший город страны.\n".repeat(4);
        let (cyrillic, _, _) = encoding_rs::WINDOWS_1251.encode(&russian);
        let japanese = "東京は日本の首都であり、世界最大の都市である。\n".repeat(4);
        let (shift_jis, _, _) = encoding_rs::SHIFT_JIS.encode(&japanese);
        let utf32: Vec<u8> = "\u{feff}a\u{1f600}".chars().flat_map(|c| (c as u32).to_be_bytes()).collect();
        for (bytes, text, name) in [
            (b"plain".to_vec(), "plain", "UTF-8"),
            (b"\xef\xbb\xbfmark".to_vec(), "\u{feff}mark", "UTF-8"),
            (french.clone().into_bytes(), &french[..], "UTF-8"),
            (latin1, &french, "windows-1252"),
            (cyrillic.into_owned(), &russian, "windows-1251"),
            (shift_jis.into_owned(), &japanese, "Shift_JIS"),
            (utf16("\u{feff}a b\u{e9}\n", false), "a b\u{e9}\n", "UTF-16LE"),
            (utf16("\u{feff}\u{65e5}\u{672c}", true), "\u{65e5}\u{672c}", "UTF-16BE"),
            (utf16("no mark\n", false), "no mark\n", "UTF-16LE"),
            (utf16("no mark\n", true), "no mark\n", "UTF-16BE"),
            (utf32, "a\u{1f600}", "UTF-32BE"),
        ] {
            for step in [1, 7, 1 << 20] {
                let (found, encoding) = read(&bytes, EncodingRule::Detect, step);
                assert_eq!((String::from_utf8(found).unwrap(), encoding), (text.into(), name));
            }
            let (found, encoding) = decode(bytes, EncodingRule::Detect, None);
            assert_eq!(String::from_utf8(found).unwrap(), text);
            assert_eq!(encoding.map_or("UTF-8", TextEncoding::name), name);
        }
    }

    #[test]
    fn the_encoding_is_found_after_much_ascii() {
        let mut bytes = b"only ascii here\n".repeat(60_000);
        bytes.extend_from_slice(b"und dann \xfcber \xe4ltere H\xe4user, gr\xf6\xdfere Stra\xdfen\n");
        let (found, name) = read(&bytes, EncodingRule::Detect, 1000);
        assert_eq!(name, "windows-1252");
        assert!(String::from_utf8(found).unwrap().ends_with("über ältere Häuser, größere Straßen\n"));
    }

    #[test]
    fn damaged_utf8_passes_through() {
        let mut bytes = "größere Häuser\n".repeat(10).into_bytes();
        bytes.push(0xff);
        let (found, name) = read(&bytes, EncodingRule::Detect, 100);
        assert_eq!((found, name), (bytes, "UTF-8"));
    }

    #[test]
    fn names_of_encodings() {
        for (name, known) in [
            ("latin1", "windows-1252"),
            ("Latin-1", "windows-1252"),
            ("latin9", "ISO-8859-15"),
            ("ISO_8859-2", "ISO-8859-2"),
            ("cp1251", "windows-1251"),
            ("SHIFT-JIS", "Shift_JIS"),
            ("utf16", "UTF-16LE"),
            ("UTF-32BE", "UTF-32BE"),
            ("utf8", "UTF-8"),
        ] {
            assert_eq!(TextEncoding::from_name(name).unwrap().name(), known, "{name}");
        }
        for unknown in ["", "klingon", "hz-gb-2312", "cp437"] {
            assert_eq!(TextEncoding::from_name(unknown), None, "{unknown}");
        }
        assert!(parse_encoding("klingon").unwrap_err().to_string().contains("iconv"));
    }

    proptest! {
        /// The text does not depend on how the bytes arrive, and is the same at once.
        #[test]
        fn any_bytes_decode_the_same(bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(0xff), Just(0xfe), b'a'..b'e', any::<u8>()], 0..80), step in 1usize..9) {
            let rules = [
                EncodingRule::Detect,
                EncodingRule::Unicode,
                EncodingRule::Given(TextEncoding::Utf32 { big_endian: true }),
                EncodingRule::Given(TextEncoding::Other(encoding_rs::GB18030)),
                EncodingRule::Given(TextEncoding::Other(encoding_rs::UTF_16LE)),
            ];
            for rule in rules {
                let (slow, name) = read(&bytes, rule, step);
                let (fast, _) = read(&bytes, rule, 1 << 20);
                prop_assert_eq!(&slow, &fast);
                let (all, encoding) = decode(bytes.clone(), rule, None);
                prop_assert_eq!(&slow, &all);
                prop_assert_eq!(encoding.map_or("UTF-8", TextEncoding::name), name);
            }
        }
    }
}
