//! Reader of documents as lines of `id:count` pairs after a first field: a label in SVMlight and
//! libsvm (ids from 1), the number of pairs in LDA-C (ids from 0). Start with [`read`].

use super::lines::{COUNT_EXPECTED, COUNT_REMEDY, LineReader, fields, parse_count, quoted, whole_number};
use super::sorter::DocumentSorter;
use super::{DeclaredWords, ReadOptions};
use crate::error::Result;

/// Formats of `id:count` pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PairFormat {
    SvmLight,
    LdaC,
}

/// Reads all documents and pushes their entries to the sorter.
pub(crate) fn read(
    lines: &mut LineReader<'_>,
    format: PairFormat,
    first_id: u32,
    options: &ReadOptions,
    out: &mut DocumentSorter,
) -> Result<DeclaredWords> {
    let mut document = 0u64;
    while lines.advance()? {
        let line = lines.line();
        // In SVMlight everything after # is a comment, and a line that is only a comment is not a
        // document.
        let line = match (format, memchr::memchr(b'#', line)) {
            (PairFormat::SvmLight, Some(0)) => continue,
            (PairFormat::SvmLight, Some(at)) => &line[..at],
            _ => line,
        };
        let mut parts = fields(line);
        let declared = parse_first_field(lines, format, parts.next())?;
        let mut seen = 0u64;
        for part in parts {
            if format == PairFormat::SvmLight && part.starts_with(b"qid:") {
                continue;
            }
            seen += 1;
            match parse_pair(lines, part, first_id)? {
                (_, 0) if options.skip_zeros => {}
                (_, 0) => {
                    return Err(lines.line_error(
                        "the count 0".into(),
                        COUNT_EXPECTED.into(),
                        super::ZERO_REMEDY,
                    ));
                }
                (word, x) => out.push(document, word, x)?,
            }
        }
        if let Some(declared) = declared
            && declared != seen
        {
            return Err(lines.line_error(
                format!("{seen} pairs"),
                format!("{declared}, as declared by the first field"),
                "correct the line; if its first field is a label, use {format=svmlight}",
            ));
        }
        if out.words() > super::MAX_UNCHECKED_WORDS + 1000 * out.entries() {
            return Err(lines.line_error(
                format!(
                    "a word id of {}, for {} entries so far",
                    out.words() - 1 + u64::from(first_id),
                    out.entries()
                ),
                "ids that number the words".into(),
                "correct the id, or number the words that occur from 1",
            ));
        }
        document += 1;
        out.declare_documents(document);
    }
    Ok(DeclaredWords::default())
}

/// Checks the first field of a line and returns the number of pairs that LDA-C declares there.
fn parse_first_field(
    lines: &LineReader<'_>,
    format: PairFormat,
    first: Option<&[u8]>,
) -> Result<Option<u64>> {
    let Some(first) = first else {
        return Err(lines.line_error(
            "an empty line".into(),
            "a document".into(),
            match format {
                PairFormat::SvmLight => "write a document without words as a label alone, for instance `0`",
                PairFormat::LdaC => "write a document without words as `0`",
            },
        ));
    };
    match format {
        PairFormat::LdaC => match whole_number(first) {
            Some(pairs) => Ok(Some(pairs)),
            None => Err(lines.line_error(
                format!("{} at the start of the line", quoted(first)),
                "the number of different words in the document".into(),
                "check that the file is LDA-C, or choose another {format}",
            )),
        },
        PairFormat::SvmLight if first.contains(&b':') => Err(lines.line_error(
            format!("{} at the start of the line", quoted(first)),
            "a label".into(),
            "put a label before the pairs, for instance 0, or choose another {format}",
        )),
        PairFormat::SvmLight => Ok(None),
    }
}

/// Parses `id:count` into a word, counted from 0, and its count.
#[inline]
fn parse_pair(lines: &LineReader<'_>, part: &[u8], first_id: u32) -> Result<(u32, u32)> {
    let Some((id, value)) = memchr::memchr(b':', part).map(|at| (&part[..at], &part[at + 1..])) else {
        return Err(lines.line_error(
            quoted(part),
            "id:count".into(),
            "separate word id and count by a colon",
        ));
    };
    let word = match whole_number(id) {
        Some(id) if (u64::from(first_id)..u64::from(u32::MAX)).contains(&id) => id as u32 - first_id,
        _ => {
            return Err(lines.line_error(
                format!("word id {}", quoted(id)),
                format!("a whole number from {first_id} to 4294967294"),
                "if the ids begin at 0, use {first_id=0}",
            ));
        }
    };
    match parse_count(value, true) {
        Ok(x) => Ok((word, x)),
        Err(found) => Err(lines.line_error(found, COUNT_EXPECTED.into(), COUNT_REMEDY)),
    }
}
