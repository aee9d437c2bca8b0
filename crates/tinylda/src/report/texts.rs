//! Reads the first lines of documents from the files that the corpus was imported from, as far as
//! these still exist, may be read and have not changed. Start reading at [`document_texts`].
//!
//! Every file is read once, in order, up to the last text that is needed. The parser is that of the
//! import. A text is shown only if its bytes have the checksum that the corpus stores; a text that
//! cannot be shown is counted.

use std::path::{Component, Path, PathBuf};

use super::text_access::{DocumentTexts, FoundSource, TextAccess, TextSummary, is_below};
use crate::corpus::ingest::input::Input;
use crate::corpus::ingest::raw::files::FileTextFinder;
use crate::corpus::ingest::raw::records::{RecordFormat, RecordReader};
use crate::corpus::ingest::raw::source::TextOrigin;
use crate::corpus::{Corpus, Source, TextPlace};
use crate::error::{Error, Result};
use crate::infer::document_names;
use crate::progress::{ProgressCallback, Step};

/// Number of characters that are shown.
const SHOWN_CHARS: usize = 300;
/// Maximum number of bytes that are kept of a text, more than [`SHOWN_CHARS`] characters need.
const MAX_TEXT_BYTES: usize = 1 << 16;
/// Longest record in bytes that is parsed. The texts of longer records are not shown.
const MAX_RECORD_BYTES: usize = 1 << 22;

/// A text to read.
struct WantedText {
    /// Index of the document in the list.
    at: usize,
    place: TextPlace,
    /// Checksum of the text, if it is known.
    checksum: Option<u32>,
    /// Name of the document, which is that of its file if the source is a folder.
    name: String,
}

/// Result of reading a text.
enum TextOutcome {
    Shown(String),
    Missing,
    Changed,
    NotAllowed,
}

/// Returns the first lines of documents, which are given by number, from 0. A line is empty if it
/// is left out; the summary says why, and counts every document once. `progress` can cancel.
pub fn document_texts(
    corpus: &Corpus,
    numbers: &[u64],
    access: &TextAccess,
    progress: ProgressCallback<'_>,
) -> Result<DocumentTexts> {
    let mut distinct = numbers.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let found = distinct_texts(corpus, &distinct, access, progress)?;
    let text = |number| distinct.binary_search(number).map_or(String::new(), |at| found.texts[at].clone());
    Ok(DocumentTexts { texts: numbers.iter().map(text).collect(), summary: found.summary })
}

/// Returns the first lines of documents whose numbers are ascending and distinct.
fn distinct_texts(
    corpus: &Corpus,
    numbers: &[u64],
    access: &TextAccess,
    progress: ProgressCallback<'_>,
) -> Result<DocumentTexts> {
    let stop = &mut || progress(Step::FirstLines.at(0, None)).is_break();
    let mut found = DocumentTexts { texts: vec![String::new(); numbers.len()], ..DocumentTexts::default() };
    let wanted = wanted_texts(corpus, numbers)?;
    let sources = if wanted.is_empty() { Vec::new() } else { corpus.about()?.sources };
    let mut known = 0;
    for (i, source) in (0u32..).zip(&sources) {
        let texts: Vec<&WantedText> = wanted.iter().filter(|text| text.place.source == i).collect();
        let count = texts.len() as u64;
        if count == 0 {
            continue;
        }
        known += count;
        let Some(format) = RecordFormat::of_source(source) else {
            known -= count;
            continue;
        };
        let summary = &mut found.summary;
        match access.find(corpus, source, sources.len() == 1) {
            FoundSource::Missing(path) => {
                summary.missing += count;
                summary.path.get_or_insert(path);
            }
            FoundSource::NotAllowed(path) => {
                summary.not_allowed += count;
                summary.path.get_or_insert(path);
            }
            FoundSource::Readable { path, named: false } if !corpus.has_checksums() => {
                summary.unverifiable += count;
                summary.path.get_or_insert(path);
            }
            FoundSource::Readable { path, .. } => {
                let reader = RecordReader::for_texts(path, format);
                read_source(&reader, source, &texts, &mut found, stop)?;
            }
        }
    }
    // A bag of words has no texts that could be missed.
    if corpus.has_places() || corpus.about()?.pipeline.is_some() {
        found.summary.unknown = numbers.len() as u64 - known;
    }
    Ok(found)
}

/// Returns the places of documents in the order of their sources and offsets.
fn wanted_texts(corpus: &Corpus, numbers: &[u64]) -> Result<Vec<WantedText>> {
    if !corpus.has_places() {
        return Ok(Vec::new());
    }
    let names = document_names(corpus, numbers)?;
    let mut wanted: Vec<WantedText> = Vec::new();
    let mut reader = corpus.reader();
    let mut loaded: Option<(usize, Vec<TextPlace>, Vec<u32>)> = None;
    for (at, &number) in numbers.iter().enumerate() {
        let Some(block) = corpus.block_of(number) else { continue };
        if loaded.as_ref().is_none_or(|(i, ..)| *i != block) {
            loaded = Some((block, reader.read_places(block)?, reader.read_checksums(block)?));
        }
        let Some((_, places, checksums)) = &loaded else { continue };
        let within = (number - corpus.block_start(block)) as usize;
        if let Some(&place) = places.get(within) {
            let checksum = checksums.get(within).copied();
            wanted.push(WantedText { at, place, checksum, name: names[at].clone() });
        }
    }
    wanted.sort_by_key(|text| (text.place.source, text.place.offset));
    Ok(wanted)
}

/// Reads the wanted texts of one source.
fn read_source(
    reader: &RecordReader,
    source: &Source,
    wanted: &[&WantedText],
    found: &mut DocumentTexts,
    stop: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let folder = reader.path.is_dir();
    let mut files = FileTextFinder::new(source, &reader.path);
    let mut stream: Option<SourceStream> = None;
    for text in wanted {
        if stop() {
            return Err(Error::Interrupted);
        }
        let mut path = reader.path.clone();
        let file = if folder { file_in_folder(&reader.path, &text.name) } else { Ok(path.clone()) };
        let outcome = match (file, &mut files) {
            (Err(outcome), _) => outcome,
            (Ok(file), Some(files)) => {
                path = file;
                let content = files.read(&text.name);
                let mut content = content.map(|bytes| SourceStream::of_text(bytes, text.place.offset));
                read_text(reader, &mut content, text, stop)?
            }
            (Ok(_), None) => {
                if stream.is_none() {
                    stream = SourceStream::open(source, &reader.path);
                }
                read_text(reader, &mut stream, text, stop)?
            }
        };
        let summary: &mut TextSummary = &mut found.summary;
        match outcome {
            TextOutcome::Shown(line) => {
                found.texts[text.at] = line;
                summary.shown += 1;
                summary.unverified += u64::from(text.checksum.is_none());
                continue;
            }
            TextOutcome::Missing => summary.missing += 1,
            TextOutcome::Changed => summary.changed += 1,
            TextOutcome::NotAllowed => summary.not_allowed += 1,
        }
        summary.path.get_or_insert(path);
    }
    Ok(())
}

/// Returns the file of a document in a folder. Names and links that lead out of the folder are
/// ignored, and so is anything but regular files.
fn file_in_folder(folder: &Path, name: &str) -> Result<PathBuf, TextOutcome> {
    let file = folder.join(name);
    let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if !inside {
        return Err(TextOutcome::NotAllowed);
    }
    match file.is_file() {
        false => Err(TextOutcome::Missing),
        true if !is_below(&file, folder) => Err(TextOutcome::NotAllowed),
        true => Ok(file),
    }
}

/// Reads one text and compares its checksum.
fn read_text(
    reader: &RecordReader,
    stream: &mut Option<SourceStream>,
    text: &WantedText,
    stop: &mut dyn FnMut() -> bool,
) -> Result<TextOutcome> {
    let Some(stream) = stream else { return Ok(TextOutcome::Missing) };
    let is_record = reader.format.place_is_record();
    let keep = if is_record { MAX_RECORD_BYTES } else { MAX_TEXT_BYTES };
    // A quoted field is preceded by its quote.
    let before = matches!(&reader.format, RecordFormat::Table(_)) && !is_record && text.place.offset > 0;
    let Some(read) = stream.read(text.place, before, keep, stop)? else { return Ok(TextOutcome::Changed) };
    let too_long = is_record && text.place.length as usize > keep;
    if too_long || text.checksum.is_some_and(|checksum| checksum != read.checksum) {
        return Ok(TextOutcome::Changed);
    }
    let line = reader.text_at(&read.bytes, read.before == Some(b'"')).map(|text| first_line(&text));
    Ok(line.map_or(TextOutcome::Changed, TextOutcome::Shown))
}

/// Bytes of a text.
struct TextBytes {
    /// Byte before the text, if it was requested.
    before: Option<u8>,
    /// First bytes of the text.
    bytes: Vec<u8>,
    /// CRC-32 of the whole text.
    checksum: u32,
}

/// File that is read from front to back, decompressed if necessary.
struct SourceStream {
    input: Input,
    position: u64,
    buffer: Vec<u8>,
}

impl SourceStream {
    /// Opens a source at `path`; returns `None` if that fails.
    fn open(source: &Source, path: &Path) -> Option<SourceStream> {
        let input = TextOrigin::of_source(source, path.to_path_buf())?.open().ok()?;
        Some(SourceStream { input, position: 0, buffer: vec![0; 1 << 16] })
    }

    /// Creates a stream of a text in memory that begins at `position`.
    fn of_text(bytes: Vec<u8>, position: u64) -> SourceStream {
        let total = bytes.len() as u64;
        let input = Input::plain(Box::new(std::io::Cursor::new(bytes)), Path::new(""), total);
        SourceStream { input, position, buffer: vec![0; 1 << 16] }
    }

    /// Reads the text at a place, and the byte before it if `before` is set, and keeps at most its
    /// first `keep` bytes. Places must be read in order and must not overlap. Returns `None` if the
    /// file is too short or cannot be read.
    fn read(
        &mut self,
        place: TextPlace,
        before: bool,
        keep: usize,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<TextBytes>> {
        let mut checksum = crc32fast::Hasher::new();
        let mut found = TextBytes { before: None, bytes: Vec::new(), checksum: 0 };
        let end = place.offset.saturating_add(u64::from(place.length));
        let previous = place.offset - u64::from(before);
        if self.position > previous {
            return Ok(None);
        }
        while self.position < end {
            if stop() {
                return Err(Error::Interrupted);
            }
            let until = [previous, place.offset, end].into_iter().find(|&at| at > self.position);
            let length = until.unwrap_or(end).saturating_sub(self.position).min(self.buffer.len() as u64);
            let Ok(n @ 1..) = self.input.read(&mut self.buffer[..length as usize]) else { return Ok(None) };
            let bytes = &self.buffer[..n];
            if self.position >= place.offset {
                checksum.update(bytes);
                let free = keep.saturating_sub(found.bytes.len());
                found.bytes.extend_from_slice(&bytes[..n.min(free)]);
            } else if self.position >= previous {
                found.before = bytes.first().copied();
            }
            self.position += n as u64;
        }
        found.checksum = checksum.finalize();
        Ok(Some(found))
    }
}

/// Returns the first characters of a text. Runs of whitespace and control characters become single
/// spaces.
fn first_line(text: &str) -> String {
    let mut out = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        // A character has at most four bytes, so these bytes are enough.
        if out.len() > 4 * SHOWN_CHARS {
            break;
        }
    }
    super::truncate_chars(&out, SHOWN_CHARS)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::corpus::Source;
    use crate::corpus::ingest::words::{Pipeline, StopWords};
    use crate::corpus::ingest::{Format, Import, RecordOptions, TextPipeline};

    #[test]
    fn first_lines_are_clipped() {
        assert_eq!(first_line(" a\n\n b\x00c\t\u{fffd}"), "a b c \u{fffd}");
        let long = first_line(&"ä ".repeat(9999));
        assert_eq!(long.chars().count(), SHOWN_CHARS);
        assert!(long.ends_with('…'));
    }

    /// Imports a file and returns the first lines of all its documents.
    fn lines_of(format: Format, records: RecordOptions, bytes: &[u8]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("input"), folder.path().join("out.tlc"));
        std::fs::write(&input, bytes).unwrap();
        let words =
            TextPipeline { pipeline: Pipeline::plain(), stop: StopWords::None, ..TextPipeline::default() };
        let import = Import { format: Some(format), records, words, ..Import::default() };
        import.run(&input, &output, &mut |_| ControlFlow::Continue(())).unwrap();
        let corpus = Corpus::open(&output).unwrap();
        lines(&corpus, &TextAccess::default()).texts
    }

    /// Returns the first lines of all documents.
    fn lines(corpus: &Corpus, access: &TextAccess) -> DocumentTexts {
        let numbers: Vec<u64> = (0..corpus.shape().documents).collect();
        document_texts(corpus, &numbers, access, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    fn columns(columns: &[&str]) -> RecordOptions {
        RecordOptions {
            text_columns: columns.iter().map(|&name| name.into()).collect(),
            ..RecordOptions::default()
        }
    }

    #[test]
    fn first_lines_are_those_that_were_imported() {
        let none = RecordOptions::default();
        assert_eq!(lines_of(Format::Text, none.clone(), b"a  b\nc \xff d\n"), ["a b", "c \u{ff} d"]);
        let csv = b"id,text,more\n1,\"say \"\"so\"\", a\nb\",x\n2,plain \"\"text\"\",y\n";
        let all = lines_of(Format::Csv, none.clone(), csv);
        assert_eq!(all, ["say \"so\", a b", "plain \"\"text\"\""]);
        let all = lines_of(Format::Csv, columns(&["text", "more"]), csv);
        assert_eq!(all, ["say \"so\", a b x", "plain \"\"text\"\" y"]);
        let all = lines_of(
            Format::Csv,
            RecordOptions { no_quotes: true, ..columns(&["3", "1"]) },
            b"1;a;\"b\n2;c;d\n",
        );
        assert_eq!(all, ["\"b 1", "d 2"]);
        let json = b"{\"id\": \"a long name of it\", \"text\": [\"a b\", \"c\"], \"x\": {\"y\": \"z\"}}\n";
        assert_eq!(lines_of(Format::JsonLines, none.clone(), json), ["a b c"]);
        let fields = RecordOptions { text_fields: vec!["x.y".into(), "text".into()], ..none.clone() };
        assert_eq!(lines_of(Format::JsonLines, fields, json), ["z a b c"]);
        assert_eq!(lines_of(Format::Mallet, none.clone(), b"name label the text\n"), ["the text"]);
        assert_eq!(lines_of(Format::VowpalWabbit, none, b"1 'n |w a:2 b\n"), ["a a b"]);
    }

    #[test]
    fn sources_of_older_versions_are_read() {
        for (format, bytes, quoted, text) in [
            ("text", "a b", false, "a b"),
            ("csv", "say \"\"so\"\"", true, "say \"so\""),
            ("jsonl", "{\"text\": \"a\"}", false, "a"),
        ] {
            let source = Source { path: "x".into(), format: format.into(), ..Source::default() };
            let shape = RecordFormat::of_source(&source).unwrap();
            let reader = RecordReader::for_texts("x".into(), shape);
            assert_eq!(reader.text_at(bytes.as_bytes(), quoted).unwrap(), text);
        }
        let unknown = Source { format: "unknown".into(), ..Source::default() };
        assert!(RecordFormat::of_source(&unknown).is_none());
    }
}
