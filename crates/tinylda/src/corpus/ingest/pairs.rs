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
        // In SVMlight everything behind # is a comment, and a line of nothing else is no document.
        let line = match (flavour, memchr::memchr(b'#', line)) {
            (Flavour::SvmLight, Some(0)) => continue,
            (Flavour::SvmLight, Some(at)) => &line[..at],
            _ => line,
        };
        let mut parts = fields(line);
        let Some(first) = parts.next() else {
            return Err(lines.bad(
                "an empty line".into(),
                "a document".into(),
                match flavour {
                    Flavour::SvmLight => "write a document without words as a label alone, for instance `0`",
                    Flavour::LdaC => "write a document without words as `0`",
                },
            ));
        };
        let declared = match flavour {
            Flavour::LdaC => Some(whole_number(first).ok_or_else(|| {
                lines.bad(
                    format!("{} at the start of the line", shown(first)),
                    "the number of different words in the document".into(),
                    "check that the file is LDA-C, or choose another {format}",
                )
            })?),
            Flavour::SvmLight if first.contains(&b':') => {
                return Err(lines.bad(
                    format!("{} at the start of the line", shown(first)),
                    "a label".into(),
                    "put a label before the pairs, for instance 0, or choose another {format}",
                ));
            }
            Flavour::SvmLight => None,
        };
        let mut seen = 0u64;
        for pair in parts {
            if flavour == Flavour::SvmLight && pair.starts_with(b"qid:") {
                continue;
            }
            seen += 1;
            let Some((id, value)) = memchr::memchr(b':', pair).map(|at| (&pair[..at], &pair[at + 1..]))
            else {
                return Err(lines.bad(
                    shown(pair),
                    "id:count".into(),
                    "separate word id and count by a colon",
                ));
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
            match count(value, true).map_err(|found| lines.bad(found, COUNT_EXPECTED.into(), COUNT_REMEDY))? {
                0 if expect.skip_zeros => {}
                0 => return Err(lines.bad("the count 0".into(), COUNT_EXPECTED.into(), super::ZERO_REMEDY)),
                x => out.push(document, word, x)?,
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
