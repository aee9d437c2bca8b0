//! Input detection: opens an input once, inspects its first bytes and returns the open reader
//! together with what was detected.
//!
//! Every command that accepts several kinds of input starts here, with [`DetectedInput::open`]. The
//! inspected bytes are read again by the consumer of the reader, so that no byte of a pipe is lost.
//! The readers of the formats are in other modules.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::Format;
use super::input::{Compression, Input};
use super::lines::{LineReader, fields, whole_number};
use crate::corpus::{MAGIC, Vocabulary};
use crate::error::{Error, Position, Result};
use crate::files::not_regular;

/// Number of bytes that are inspected.
pub(super) const START_BYTES: usize = 1 << 18;

/// Maximum length of a safetensors header in bytes. The upper half of the 64-bit length is
/// therefore zero, and no text begins like that.
const MAX_MODEL_HEADER_BYTES: u64 = 100_000_000;

/// Magic bytes of the formats that are read by position. Other formats are zip archives, too; they
/// are told apart by their members.
const MAGICS: [(&[u8], Format); 4] = [
    (b"PK\x03\x04", Format::Zip),
    (b"PK\x05\x06", Format::Zip),
    (b"\x89HDF\r\n\x1a\n", Format::H5ad),
    (b"PAR1", Format::Parquet),
];
/// Position of the name of the first member in a zip archive.
const FIRST_MEMBER_NAME: usize = 30;

/// Kind of content of an input, detected from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputKind {
    /// Corpus file of this library.
    Corpus,
    /// Model file of this library.
    Model,
    /// Data to import, in this format. A folder has the format [`Format::Folder`].
    Data(Format),
}

/// Open input and the kind of content that was detected in it.
///
/// The input is a file, a folder, standard input (`-`) or another stream, such as a named pipe, and
/// may be compressed. [`Import::run_detected`](super::Import::run_detected) imports it. A corpus or
/// a model is opened by its path.
pub struct DetectedInput {
    pub(super) path: PathBuf,
    kind: InputKind,
    /// Detected delimiter, if the input is a table.
    pub(super) delimiter: Option<u8>,
    /// Open input; `None` for a folder.
    pub(super) input: Option<Input>,
}

impl std::fmt::Debug for DetectedInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DetectedInput")
            .field("path", &self.path)
            .field("kind", &self.kind)
            .field("compression", &self.compression())
            .finish_non_exhaustive()
    }
}

impl DetectedInput {
    /// Returns whether the input can be read again: a file or folder can, a stream cannot.
    pub fn is_reopenable(&self) -> bool {
        self.input.as_ref().is_none_or(|input| input.reopenable)
    }

    /// Opens `path`, or standard input if it is `-`, and detects what it contains.
    ///
    /// Corpora and models are read by position, so that those in a stream or in a compressed file
    /// are refused.
    pub fn open(path: impl AsRef<Path>) -> Result<DetectedInput> {
        let path = path.as_ref();
        if path != Path::new("-") && path.is_dir() {
            let kind = InputKind::Data(Format::Folder);
            return Ok(DetectedInput { path: path.to_path_buf(), kind, delimiter: None, input: None });
        }
        let detected = DetectedInput::new(Input::open(path)?)?;
        detected.check_random_access()?;
        Ok(detected)
    }

    /// Detects what an open input contains.
    pub(super) fn new(mut input: Input) -> Result<DetectedInput> {
        let path = input.name_path().to_path_buf();
        let start = input.peek(START_BYTES)?;
        let whole = start.len() < START_BYTES;
        let (kind, delimiter) = detect(&decoded_start(start), whole, &path);
        Ok(DetectedInput { path: input.path.clone(), kind, delimiter, input: Some(input) })
    }

    /// Returns the kind of content.
    pub fn kind(&self) -> InputKind {
        self.kind
    }

    /// Returns the path as it was given; `standard input` for `-`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the compression of the input.
    pub fn compression(&self) -> Compression {
        self.input.as_ref().map_or(Compression::None, |input| input.compression)
    }

    /// Reads the input as a vocabulary with one word per line.
    ///
    /// Empty lines, duplicate words and text that is not UTF-8 are errors.
    pub fn read_vocabulary(self) -> Result<Vocabulary> {
        Vocabulary::read_lines(LineReader::new(self.into_input()?))
    }

    /// Returns the open input; fails for a folder.
    pub(crate) fn into_input(self) -> Result<Input> {
        let is_folder = || Error::io("read", &self.path)(std::io::ErrorKind::IsADirectory.into());
        self.input.ok_or_else(is_folder)
    }

    /// Refuses a corpus or a model that cannot be read by position.
    fn check_random_access(&self) -> Result<()> {
        let name = match self.kind {
            InputKind::Corpus => "corpus",
            InputKind::Model => "model",
            InputKind::Data(_) => return Ok(()),
        };
        match &self.input {
            Some(input) if input.compression != Compression::None => Err(Error::Input {
                path: self.path.clone(),
                position: Position::Whole,
                found: format!("a {name} compressed with {}", input.compression.name()),
                expected: format!("a {name} in a regular file").into(),
                remedy: "decompress it first".into(),
            }),
            Some(input) if !input.reopenable => Err(not_regular(&self.path, name)),
            _ => Ok(()),
        }
    }
}

/// Returns the first bytes of an input in UTF-8, with line feeds as line ends, as far as that
/// matters for the detection of formats.
fn decoded_start(start: &[u8]) -> Cow<'_, [u8]> {
    #[cfg(feature = "text")]
    {
        use super::encoding::{EncodingRule, TextEncoding, decode, unicode_encoding};
        let is_binary = start.starts_with(&MAGIC) || is_model(start) || detect_binary(start).is_some();
        let encoding = unicode_encoding(start).filter(|&encoding| encoding != TextEncoding::Utf8);
        if let Some(encoding) = encoding.filter(|_| !is_binary) {
            return decode(start.to_vec(), EncodingRule::Given(encoding), None).0.into();
        }
    }
    start.into()
}

/// Returns whether lines end with carriage returns alone.
pub(super) fn has_carriage_returns(start: &[u8]) -> bool {
    memchr::memchr(b'\n', start).is_none() && memchr::memchr(b'\r', start.trim_ascii_end()).is_some()
}

fn is_model(start: &[u8]) -> bool {
    start.split_first_chunk::<8>().is_some_and(|(length, rest)| {
        u64::from_le_bytes(*length) <= MAX_MODEL_HEADER_BYTES && rest.starts_with(b"{")
    })
}

/// Detects the content of an input that begins with `start`, and the delimiter of a table. `whole`
/// is set if the input ends with these bytes.
pub(super) fn detect(start: &[u8], whole: bool, path: &Path) -> (InputKind, Option<u8>) {
    if start.starts_with(&MAGIC) {
        return (InputKind::Corpus, None);
    }
    if is_model(start) {
        return (InputKind::Model, None);
    }
    let (format, delimiter) = if has_carriage_returns(start) {
        let lines: Vec<u8> = start.iter().map(|&b| if b == b'\r' { b'\n' } else { b }).collect();
        detect_format(&lines, whole, path)
    } else {
        detect_format(start, whole, path)
    };
    (InputKind::Data(format), delimiter)
}

/// Detects the format of data to import, and the delimiter of a table.
fn detect_format(start: &[u8], whole: bool, path: &Path) -> (Format, Option<u8>) {
    if let Some(format) = detect_binary(start) {
        return (format, None);
    }
    let suffix = data_suffix(path);
    if let Some(format) = detect_markup(start, &suffix) {
        return (format, None);
    }
    match detect_bag_of_words(start) {
        Format::Text => {}
        format => return (format, None),
    }
    match (detect_records(start, whole), suffix.as_str()) {
        ((Format::Text | Format::VowpalWabbit | Format::Csv, found), "tsv" | "tab" | "psv") => {
            (Format::Csv, suffix_delimiter(&suffix, start, whole).or(found))
        }
        ((Format::Text | Format::VowpalWabbit, _), "csv") => (Format::Csv, None),
        // The reader of JSON names the line that is none.
        ((Format::Text | Format::VowpalWabbit, _), "json") => (Format::Json, None),
        ((Format::Text | Format::VowpalWabbit, _), "jsonl" | "ndjson") => (Format::JsonLines, None),
        (found, _) => found,
    }
}

/// Returns the suffix of a file name in lower case, before that of a compression.
pub(super) fn data_suffix(path: &Path) -> String {
    let suffix = |path: &Path| path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let last = suffix(path);
    if matches!(last.as_str(), "gz" | "bz2" | "xz" | "zst" | "zip") {
        return suffix(Path::new(path.file_stem().unwrap_or_default()));
    }
    last
}

/// Detects HTML and XML, by the beginning of the text or by the suffix of the file.
pub(super) fn detect_markup(start: &[u8], suffix: &str) -> Option<Format> {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let head = start[..start.len().min(1024)].to_ascii_lowercase();
    let is_html = head.starts_with(b"<!doctype html")
        || head.starts_with(b"<html")
        || head.starts_with(b"<?xml") && memchr::memmem::find(&head, b"<html").is_some();
    match suffix {
        _ if is_html => Some(Format::Html),
        "html" | "htm" | "xhtml" => Some(Format::Html),
        _ if head.starts_with(b"<?xml") || head.starts_with(b"<tei") => Some(Format::Xml),
        "xml" | "tei" => Some(Format::Xml),
        _ => None,
    }
}

/// Detects a format that is read by position.
pub(super) fn detect_binary(start: &[u8]) -> Option<Format> {
    let found = MAGICS.iter().find(|(magic, _)| start.starts_with(magic)).map(|&(_, format)| format)?;
    // The members of an npz file are arrays.
    let name = || {
        let length = u16::from_le_bytes([*start.get(26)?, *start.get(27)?]);
        start.get(FIRST_MEMBER_NAME..FIRST_MEMBER_NAME + usize::from(length))
    };
    let is_npz = found == Format::Zip && name().is_some_and(|name| name.ends_with(b".npy"));
    Some(if is_npz { Format::Npz } else { found })
}

#[cfg(feature = "text")]
use super::raw::{records::detect_records, table::delimiter_of_suffix as suffix_delimiter};

/// Reports all records as lines of text, since they cannot be imported without the feature `text`
/// anyway.
#[cfg(not(feature = "text"))]
fn detect_records(_start: &[u8], _whole: bool) -> (Format, Option<u8>) {
    (Format::Text, None)
}

/// Returns no delimiter, since tables cannot be imported without the feature `text` anyway.
#[cfg(not(feature = "text"))]
fn suffix_delimiter(_suffix: &str, _start: &[u8], _whole: bool) -> Option<u8> {
    None
}

/// Maximum number of lines that are inspected.
const MAX_JUDGED_LINES: usize = 50;

fn is_numeric(field: &[u8]) -> bool {
    std::str::from_utf8(field).is_ok_and(|s| s.parse::<f64>().is_ok())
}

/// Returns whether a field has the form `12:…`, whatever follows the colon.
fn is_pair(field: &[u8]) -> bool {
    memchr::memchr(b':', field)
        .is_some_and(|at| whole_number(&field[..at]).is_some() || &field[..at] == b"qid")
}

/// Returns whether at least half of the lines pass a test.
fn at_least_half(lines: &[&[&[u8]]], test: impl Fn(&[&[u8]]) -> bool) -> bool {
    2 * lines.iter().filter(|line| test(line)).count() >= lines.len()
}

/// Detects the format of a bag of words; returns [`Format::Text`] if the input is none.
///
/// Most lines decide, not all of them: a file of numbers with one bad line should be refused by its
/// own reader, which can name the line, instead of being read as text.
fn detect_bag_of_words(start: &[u8]) -> Format {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    // Only complete lines can be inspected, unless there is only one.
    let whole = memchr::memrchr(b'\n', start).map_or(start, |end| &start[..end]);
    let split: Vec<Vec<&[u8]>> = whole
        .split(|&b| b == b'\n')
        .map(|line| fields(line).collect::<Vec<_>>())
        .filter(|line| !line.is_empty())
        .take(MAX_JUDGED_LINES)
        .collect();
    let lines: Vec<&[&[u8]]> = split.iter().map(Vec::as_slice).collect();
    let Some(first) = lines.first() else { return Format::Text };
    let banner = first[0].to_ascii_lowercase();
    if banner.starts_with(b"%") && memchr::memmem::find(&banner, b"matrixmarket").is_some() {
        return Format::MatrixMarket;
    }
    let (head, entries) = lines.split_at(lines.len().min(3));
    let header = head.iter().filter(|line| line.len() == 1 && is_numeric(line[0])).count();
    let triples =
        at_least_half(entries, |line| line.len() == 3 && line.iter().all(|field| is_numeric(field)));
    if triples && (header == 3 || header == 2 && !entries.is_empty()) {
        return Format::Uci;
    }
    let documents: Vec<&[&[u8]]> = lines
        .iter()
        .map(|line| &line[..line.iter().position(|field| field.starts_with(b"#")).unwrap_or(line.len())])
        .filter(|line| !line.is_empty())
        .collect();
    let pairs =
        at_least_half(&documents, |line| is_numeric(line[0]) && line[1..].iter().all(|field| is_pair(field)));
    if documents.is_empty() || !pairs || !documents.iter().any(|line| line.len() > 1) {
        return Format::Text;
    }
    let counted = at_least_half(&documents, |line| whole_number(line[0]) == Some(line.len() as u64 - 1));
    if counted { Format::LdaC } else { Format::SvmLight }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect_start(start: &[u8]) -> (InputKind, Option<u8>) {
        detect(start, true, Path::new("input"))
    }

    #[test]
    fn corpora_and_models_are_detected() {
        let mut model = 100u64.to_le_bytes().to_vec();
        model.extend_from_slice(b"{\"__metadata__\"");
        assert_eq!(detect_start(&model), (InputKind::Model, None));
        assert_eq!(detect_start(&MAGIC), (InputKind::Corpus, None));
        // Text whose ninth character is a brace is not a model.
        for text in ["chapter {one}", "", "12345678", "12345678{"] {
            assert_eq!(detect_start(text.as_bytes()), (InputKind::Data(Format::Text), None), "{text}");
        }
    }

    #[test]
    fn binary_formats_are_detected() {
        for (start, format) in MAGICS {
            assert_eq!(detect_start(start), (InputKind::Data(format), None));
        }
    }

    #[test]
    fn a_folder_is_data() {
        let folder = tempfile::tempdir().unwrap();
        let detected = DetectedInput::open(folder.path()).unwrap();
        assert_eq!(detected.kind(), InputKind::Data(Format::Folder));
        assert!(detected.read_vocabulary().is_err());
    }

    #[cfg(feature = "text")]
    #[test]
    fn records_are_detected() {
        for (text, format, delimiter) in [
            ("{\"text\": \"a\"}\n{\"text\": \"b\"}\n", Format::JsonLines, None),
            ("id,text\n1,a b\n", Format::Csv, Some(b',')),
            ("a\tb\nc\td\n", Format::Csv, Some(b'\t')),
            ("1 'x |w a b\n", Format::VowpalWabbit, None),
            ("just, some, text\n", Format::Text, None),
        ] {
            assert_eq!(detect_start(text.as_bytes()), (InputKind::Data(format), delimiter), "{text}");
        }
    }

    #[cfg(feature = "text")]
    #[test]
    fn the_suffix_of_the_name_counts() {
        for (name, text, format) in [
            ("a.csv", "apple\nbanana\n", Format::Csv),
            ("a.TSV.gz", "apple\nbanana\n", Format::Csv),
            ("a.csv", "[{\"text\":\"a\"}]", Format::Json),
            ("a.txt", "apple\nbanana\n", Format::Text),
            ("a.html", "apple", Format::Html),
            ("a", "<!DOCTYPE HTML><p>", Format::Html),
            ("a.xml", "<a/>", Format::Xml),
            ("a.json", "{'text':'apple'}\n{'text':'banana'}\n", Format::Json),
            ("a.json", "// records\n[{\"text\":\"apple\"}]", Format::Json),
            ("a.jsonl.gz", "apple\nbanana\n", Format::JsonLines),
            ("a.csv", "+1 2:3 5:1\n-1 4:5 6:2\n", Format::SvmLight),
        ] {
            let found = detect(text.as_bytes(), true, Path::new(name)).0;
            assert_eq!(found, InputKind::Data(format), "{name}");
        }
    }

    #[cfg(feature = "text")]
    #[test]
    fn encodings_and_line_ends_do_not_hide_the_format() {
        let utf16: Vec<u8> = "id;text\r1;a\r".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let found = detect_start(&decoded_start(&utf16));
        assert_eq!(found, (InputKind::Data(Format::Csv), Some(b';')));
    }
}
