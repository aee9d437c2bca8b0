//! The first lines of documents, from the files that the corpus was made of, where these are still there.
//!
//! A file is read once, in order: where it is packed, up to the last text that is wanted. What cannot be read is shown without its
//! text: a report is no reason to fail.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::corpus::ingest::input::{Compression, Input};
use crate::corpus::{Corpus, Source, TextPlace};
use crate::error::{Error, Result};

/// Characters that are shown.
const SHOWN: usize = 300;
/// Bytes that are read of a text: enough for that many characters, or for a record of JSON.
const READ: usize = 1 << 16;

/// A text to find: which of the documents, where, and the name of its file in a folder.
struct Wanted {
    at: usize,
    place: TextPlace,
    name: String,
}

/// The first lines of these documents (numbers in ascending order); empty where they cannot be found. Nothing where none can.
/// `progress` may ask to stop.
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
    let mut wanted: Vec<Wanted> = Vec::new();
    let (mut reader, mut loaded) = (corpus.reader(), None);
    for (at, &number) in numbers.iter().enumerate() {
        let Some(block) = corpus.block_of(number) else { continue };
        if loaded.as_ref().is_none_or(|(i, _)| *i != block) {
            loaded = Some((block, reader.read_places(block)?));
        }
        let within = (number - corpus.block_start(block)) as usize;
        let place = loaded.as_ref().and_then(|(_, places)| places.get(within).copied());
        if let Some(place) = place {
            wanted.push(Wanted { at, place, name: names.get(at).cloned().unwrap_or_default() });
        }
    }
    wanted.sort_by_key(|text| (text.place.source, text.place.offset));
    let mut texts = vec![String::new(); numbers.len()];
    for (i, source) in (0u32..).zip(&sources) {
        let of_source = wanted.iter().filter(|text| text.place.source == i);
        find(corpus.path(), source, of_source, &mut texts, stop)?;
    }
    Ok(texts.iter().any(|text| !text.is_empty()).then_some(texts))
}

/// As it was given, or else beside the corpus.
fn located(corpus: Option<&Path>, source: &Source) -> PathBuf {
    let given = PathBuf::from(&source.path);
    let beside =
        corpus.and_then(Path::parent).map(|folder| folder.join(given.file_name().unwrap_or_default()));
    if given.exists() { given } else { beside.filter(|path| path.exists()).unwrap_or(given) }
}

fn find<'w>(
    corpus: Option<&Path>,
    source: &Source,
    wanted: impl Iterator<Item = &'w Wanted>,
    texts: &mut [String],
    stop: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let path = located(corpus, source);
    let mut stream: Option<(Input, u64)> = None;
    for text in wanted {
        if stop() {
            return Err(Error::Interrupted);
        }
        let length = (text.place.length as usize).min(READ);
        let bytes = if path.is_dir() {
            // A name that leads out of the folder is none of its files.
            let name = Path::new(&text.name);
            let inside = name.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            if inside { plain(&path.join(name), text.place.offset, length) } else { None }
        } else {
            if stream.is_none() {
                stream = Input::open(&path).ok().map(|input| (input, 0));
            }
            match &mut stream {
                Some((input, _)) if input.compression == Compression::None => {
                    plain(&path, text.place.offset, length)
                }
                Some((input, position)) => ahead(input, position, text.place.offset, length, stop)?,
                None => None,
            }
        };
        // The rest of a file that has become too short is not there either.
        let Some(bytes) = bytes else { continue };
        texts[text.at] = first(&bytes, &source.format);
    }
    Ok(())
}

fn plain(path: &Path, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut bytes = vec![0; length];
    file.seek(SeekFrom::Start(offset)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads on in a packed file. Texts may share bytes only where they are the same record, which does not happen.
fn ahead(
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
        let some = (until - *position).min(buffer.len() as u64) as usize;
        let Ok(n @ 1..) = input.read(&mut buffer[..some]) else { return Ok(None) };
        if *position >= offset {
            bytes.extend_from_slice(&buffer[..n]);
        }
        *position += n as u64;
    }
    Ok(Some(bytes).filter(|bytes| bytes.len() == length))
}

/// The first characters, spaces and line ends as one space each.
fn first(bytes: &[u8], format: &str) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = match format {
        // The longest string of a record is its text, more often than not; which field it was is not kept.
        "jsonl" => serde_json::from_str(&text).ok().and_then(longest).unwrap_or(text.into_owned()),
        "csv" | "tsv" => text.replace("\"\"", "\""),
        _ => text.into_owned(),
    };
    let mut out = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        // Bytes are no fewer than characters.
        if out.len() > 4 * SHOWN {
            break;
        }
    }
    super::clipped(&out, SHOWN)
}

fn longest(value: serde_json::Value) -> Option<String> {
    let strings: Vec<String> = match value {
        serde_json::Value::String(text) => vec![text],
        serde_json::Value::Array(list) => list.into_iter().filter_map(longest).collect(),
        serde_json::Value::Object(map) => map.into_iter().filter_map(|(_, value)| longest(value)).collect(),
        _ => Vec::new(),
    };
    strings.into_iter().max_by_key(String::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_of_every_format() {
        assert_eq!(first(b" a\n\n b\x00c\t\xff", "text"), "a b c \u{fffd}");
        assert_eq!(first(b"say \"\"so\"\"", "csv"), "say \"so\"");
        assert_eq!(first(br#"{"id": "x", "body": ["the whole", "text"]}"#, "jsonl"), "the whole");
        assert_eq!(first(br#"{"id": "x", "bo"#, "jsonl"), r#"{"id": "x", "bo"#);
        let long = first("ä ".repeat(9999).as_bytes(), "text");
        assert_eq!(long.chars().count(), SHOWN);
        assert!(long.ends_with('…'));
    }
}
