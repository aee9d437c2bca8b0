//! A document per line as `id:count` pairs, after one field of another meaning:
//! SVMlight and libsvm have a label there (ids from 1), LDA-C the number of pairs (ids from 0).

use super::lines::{COUNT_EXPECTED, COUNT_REMEDY, Lines, count, fields, shown, whole_number};
use super::sorter::DocumentSorter;
use super::{Declared, Expect};
use crate::error::Result;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    SvmLight,
    LdaC,
}

/// Reads all documents.
pub(crate) fn read(
    lines: &mut Lines<'_>,
    flavour: Flavour,
    first_id: u32,
    expect: &Expect,
    out: &mut DocumentSorter,
) -> Result<Declared> {
    let mut document = 0u64;
    while lines.advance()? {
        let line = lines.line();
        // In SVMlight everything after # is a comment, and a line of nothing else is no document.
        let line = match (flavour, memchr::memchr(b'#', line)) {
            (Flavour::SvmLight, Some(0)) => continue,
            (Flavour::SvmLight, Some(at)) => &line[..at],
            _ => line,
        };
        let mut parts = fields(line);
        let declared = first_field(lines, flavour, parts.next())?;
        let mut seen = 0u64;
        for part in parts {
            if flavour == Flavour::SvmLight && part.starts_with(b"qid:") {
                continue;
            }
            seen += 1;
            match pair(lines, part, first_id)? {
                (_, 0) if expect.skip_zeros => {}
                (_, 0) => {
                    return Err(lines.bad("the count 0".into(), COUNT_EXPECTED.into(), super::ZERO_REMEDY));
                }
                (word, x) => out.push(document, word, x)?,
            }
        }
        if let Some(declared) = declared
            && declared != seen
        {
            return Err(lines.bad(
                format!("{seen} pairs"),
                format!("{declared}, as the line begins"),
                "correct the line; if its first field is a label, use {format=svmlight}",
            ));
        }
        if out.words() > super::MANY_WORDS + 1000 * out.entries() {
            return Err(lines.bad(
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
    Ok(Declared::default())
}

/// Checks the first field of a line and returns the number of pairs that LDA-C declares there.
fn first_field(lines: &Lines<'_>, flavour: Flavour, first: Option<&[u8]>) -> Result<Option<u64>> {
    let Some(first) = first else {
        return Err(lines.bad(
            "an empty line".into(),
            "a document".into(),
            match flavour {
                Flavour::SvmLight => "write a document without words as a label alone, for instance `0`",
                Flavour::LdaC => "write a document without words as `0`",
            },
        ));
    };
    match flavour {
        Flavour::LdaC => match whole_number(first) {
            Some(pairs) => Ok(Some(pairs)),
            None => Err(lines.bad(
                format!("{} at the start of the line", shown(first)),
                "the number of different words in the document".into(),
                "check that the file is LDA-C, or choose another {format}",
            )),
        },
        Flavour::SvmLight if first.contains(&b':') => Err(lines.bad(
            format!("{} at the start of the line", shown(first)),
            "a label".into(),
            "put a label before the pairs, for instance 0, or choose another {format}",
        )),
        Flavour::SvmLight => Ok(None),
    }
}

/// Parses `id:count` into a word, counted from 0, and its count.
#[inline]
fn pair(lines: &Lines<'_>, part: &[u8], first_id: u32) -> Result<(u32, u32)> {
    let Some((id, value)) = memchr::memchr(b':', part).map(|at| (&part[..at], &part[at + 1..])) else {
        return Err(lines.bad(shown(part), "id:count".into(), "separate word id and count by a colon"));
    };
    let word = match whole_number(id) {
        Some(id) if (u64::from(first_id)..u64::from(u32::MAX)).contains(&id) => id as u32 - first_id,
        _ => {
            return Err(lines.bad(
                format!("word id {}", shown(id)),
                format!("a whole number from {first_id} to 4294967294"),
                "if the ids begin at 0, use {first_id=0}",
            ));
        }
    };
    match count(value, true) {
        Ok(x) => Ok((word, x)),
        Err(found) => Err(lines.bad(found, COUNT_EXPECTED.into(), COUNT_REMEDY)),
    }
}
