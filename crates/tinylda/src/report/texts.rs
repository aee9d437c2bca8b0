//! Reads the first lines of documents from the files that the corpus was imported from, as far as
//! these still exist. Start reading at [`first_lines`].
//!
//! Every file is read once, in order; a compressed one up to the last text that is needed. The
//! parser is that of the import. A text that cannot be read is omitted without an error.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::corpus::ingest::input::{Compression, Input};
use crate::corpus::ingest::raw::records::{RecordFormat, RecordReader};
use crate::corpus::{Corpus, Source, TextPlace};
use crate::error::{Error, Result};

/// Number of characters that are shown.
const SHOWN_CHARS: usize = 300;
/// Maximum number of bytes that are read of a text, more than [`SHOWN_CHARS`] characters need.
const MAX_TEXT_BYTES: usize = 1 << 16;
/// Longest record in bytes that is parsed. The texts of longer records are not shown.
const MAX_RECORD_BYTES: usize = 1 << 22;

/// A text to read: the index of its document in the list, its place in the source, and the name of
/// its file if the source is a folder.
struct WantedText {
    at: usize,
    place: TextPlace,
    name: String,
}

/// Returns the first lines of documents, which are given by number in ascending order. A line is
/// empty if the text cannot be found. Returns `None` if no text can be found. `stop` returns true
/// to cancel.
pub(super) fn first_lines(
    corpus: &Corpus,
    numbers: &[u64],
    names: &[String],
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<String>>> {
    if !corpus.has_places() {
        return Ok(None);
    }
    let sources = corpus.about()?.sources;
    let mut wanted: Vec<WantedText> = Vec::new();
    let (mut reader, mut loaded) = (corpus.reader(), None);
    for (at, &number) in numbers.iter().enumerate() {
        let Some(block) = corpus.block_of(number) else { continue };
        if loaded.as_ref().is_none_or(|(i, _)| *i != block) {
            loaded = Some((block, reader.read_places(block)?));
        }
        let within = (number - corpus.block_start(block)) as usize;
        let place = loaded.as_ref().and_then(|(_, places)| places.get(within).copied());
        if let Some(place) = place {
            wanted.push(WantedText { at, place, name: names.get(at).cloned().unwrap_or_default() });
        }
    }
    wanted.sort_by_key(|text| (text.place.source, text.place.offset));
    let mut texts = vec![String::new(); numbers.len()];
    for (i, source) in (0u32..).zip(&sources) {
        let texts_of_source = wanted.iter().filter(|text| text.place.source == i);
        read_source(corpus.path(), source, texts_of_source, &mut texts, stop)?;
    }
    Ok(texts.iter().any(|text| !text.is_empty()).then_some(texts))
}

/// Returns the path of a source as it was given at import, or else the file of the same name next
/// to the corpus, if it is a regular file or a folder. Anything else is ignored, since opening a
/// pipe would block.
fn find_source(corpus: Option<&Path>, source: &Source) -> Option<PathBuf> {
    let given = PathBuf::from(&source.path);
    let beside =
        corpus.and_then(Path::parent).map(|folder| folder.join(given.file_name().unwrap_or_default()));
    [Some(given), beside].into_iter().flatten().find(|path| path.is_file() || path.is_dir())
}

/// Reads the wanted texts of one source into `texts`.
fn read_source<'w>(
    corpus: Option<&Path>,
    source: &Source,
    wanted: impl Iterator<Item = &'w WantedText>,
    texts: &mut [String],
    stop: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let (Some(path), Some(shape)) = (find_source(corpus, source), RecordFormat::of_source(source)) else {
        return Ok(());
    };
    // A quoted field is preceded by its quote.
    let quotes = matches!(&shape, RecordFormat::Table(_)) && !shape.place_is_record();
    let reader = RecordReader { path: path.clone(), format: shape, strict: false };
    let mut stream: Option<(Input, u64)> = None;
    for text in wanted {
        if stop() {
            return Err(Error::Interrupted);
        }
        let length = text.place.length as usize;
        let length = match reader.format.place_is_record() {
            true if length > MAX_RECORD_BYTES => continue,
            true => length,
            false => length.min(MAX_TEXT_BYTES),
        };
        let before = usize::from(quotes && text.place.offset > 0);
        let (offset, length) = (text.place.offset - before as u64, length + before);
        let bytes = if path.is_dir() {
            // Ignore names that lead out of the folder.
            let name = Path::new(&text.name);
            let inside = name.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            let file = path.join(name);
            if inside && file.is_file() { read_at(&file, offset, length) } else { None }
        } else {
            if stream.is_none() {
                stream = Input::open(&path).ok().map(|input| (input, 0));
            }
            match &mut stream {
                Some((input, _)) if input.compression == Compression::None => read_at(&path, offset, length),
                Some((input, position)) => read_forward(input, position, offset, length, stop)?,
                None => None,
            }
        };
        // The file may have become shorter since the import.
        let Some(bytes) = bytes else { continue };
        let (head, bytes) = bytes.split_at(before);
        if let Ok(found) = reader.text_at(bytes, head == b"\"") {
            texts[text.at] = first_line(&found);
        }
    }
    Ok(())
}

/// Reads a byte range of an uncompressed file. Returns `None` if that fails.
fn read_at(path: &Path, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut bytes = vec![0; length];
    file.seek(SeekFrom::Start(offset)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads a byte range of a compressed file by decompressing up to its end. Ranges must be read in
/// order and must not overlap. Returns `None` if that fails.
fn read_forward(
    input: &mut Input,
    position: &mut u64,
    offset: u64,
    length: usize,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = Vec::with_capacity(length);
    let end = offset.saturating_add(length as u64);
    while *position < end {
        if stop() {
            return Err(Error::Interrupted);
        }
        let until = if *position < offset { offset } else { end };
        let length_now = (until - *position).min(buffer.len() as u64) as usize;
        let Ok(n @ 1..) = input.read(&mut buffer[..length_now]) else { return Ok(None) };
        if *position >= offset {
            bytes.extend_from_slice(&buffer[..n]);
        }
        *position += n as u64;
    }
    Ok(Some(bytes).filter(|bytes| bytes.len() == length))
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
        let numbers: Vec<u64> = (0..corpus.shape().documents).collect();
        first_lines(&corpus, &numbers, &[], &mut || false).unwrap().unwrap_or_default()
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
        assert_eq!(lines_of(Format::Text, none.clone(), b"a  b\nc \xff d\n"), ["a b", "c \u{fffd} d"]);
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
            let reader = RecordReader { path: "x".into(), format: shape, strict: false };
            assert_eq!(reader.text_at(bytes.as_bytes(), quoted).unwrap(), text);
        }
        let unknown = Source { format: "unknown".into(), ..Source::default() };
        assert!(RecordFormat::of_source(&unknown).is_none());
    }
}
