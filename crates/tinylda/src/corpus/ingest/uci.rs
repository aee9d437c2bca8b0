//! Reader of the UCI bag-of-words format: three header lines D, W and NNZ, then lines `document
//! word count` with numbers from 1. Start with [`read`].

use super::lines::{
    COUNT_EXPECTED, COUNT_REMEDY, LineReader, fields, leading_number, parse_count, quoted, skip_blanks,
    whole_number,
};
use super::sorter::DocumentSorter;
use super::{DeclaredWords, ReadOptions};
use crate::error::Result;

/// Parses a line of three numbers, `document word count`, with any blanks between them; `None` for
/// any other line.
#[inline]
fn parse_line(line: &[u8]) -> Option<(u64, u64, u64)> {
    let (document, rest) = leading_number(skip_blanks(line))?;
    let (word, rest) = leading_number(skip_blanks(rest))?;
    let (count, rest) = leading_number(skip_blanks(rest))?;
    skip_blanks(rest).is_empty().then_some((document, word, count))
}

/// Parses the most common form of a line at the beginning of `bytes`: three short numbers with one
/// space between them and a line feed at the end. Returns the numbers and the length of the line.
/// The line end is not searched for first. All other lines are left to `parse_line`.
#[inline]
fn parse_plain_line(bytes: &[u8]) -> Option<([u64; 3], usize)> {
    let mut numbers = [0u64; 3];
    let mut at = 0;
    for (number, end) in numbers.iter_mut().zip([b' ', b' ', b'\n']) {
        let start = at;
        loop {
            let b = *bytes.get(at)?;
            at += 1;
            let digit = b.wrapping_sub(b'0');
            if digit > 9 {
                // At least one digit is required, and too few digits to overflow.
                if b != end || at == start + 1 || at > start + 19 {
                    return None;
                }
                break;
            }
            *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        }
    }
    Some((numbers, at))
}

/// Reads all entries and pushes them to the sorter.
pub(crate) fn read(
    lines: &mut LineReader<'_>,
    options: &ReadOptions,
    out: &mut DocumentSorter,
) -> Result<DeclaredWords> {
    let mut header = [0u64; 3];
    for (value, name) in header.iter_mut().zip([
        "D, the number of documents",
        "W, the number of words",
        "NNZ, the number of entries",
    ]) {
        let remedy = "a UCI file begins with three lines: documents, words, entries; check that the file is complete, or choose another {format}";
        if !lines.advance_to_text()? {
            return Err(lines.file_error(
                format!("the end of the file instead of {name}"),
                "a number".into(),
                remedy,
            ));
        }
        let text = lines.line().trim_ascii();
        *value = whole_number(text).ok_or_else(|| {
            lines.line_error(
                format!("{} instead of {name}", quoted(text)),
                "a whole number of at most 64 bits".into(),
                remedy,
            )
        })?;
    }
    let [documents, words, nonzeros] = header;
    options.check_words(lines, words, nonzeros)?;
    out.check_words(words, 0)?;
    let in_range = |d: u64, w: u64, x: u64| {
        d.wrapping_sub(1) < documents && w.wrapping_sub(1) < words && x.wrapping_sub(1) < u64::from(u32::MAX)
    };
    let mut seen = 0u64;
    loop {
        if let Some(([d, w, x], length)) = parse_plain_line(lines.unread())
            && in_range(d, w, x)
            && seen < nonzeros
        {
            lines.skip_line(length);
            seen += 1;
            out.push(d - 1, (w - 1) as u32, x as u32)?;
            continue;
        }
        if !lines.advance_to_text()? {
            break;
        }
        seen += 1;
        let (document, word, x) = match parse_line(lines.line()) {
            Some((d, w, x)) if in_range(d, w, x) => (d, w, x),
            _ => match line_problem(lines, documents, words, options.skip_zeros) {
                Some(error) => return Err(error),
                None => continue,
            },
        };
        if seen > nonzeros {
            return Err(lines.line_error(
                format!("entry {seen}"),
                format!("{nonzeros} entries, as declared by the header (NNZ, line 3)"),
                "correct the header, or check that two files were not joined",
            ));
        }
        out.push(document - 1, (word - 1) as u32, x as u32)?;
    }
    if seen != nonzeros {
        return Err(lines.file_error(
            format!("{seen} entries"),
            format!("{nonzeros}, as declared by the header (NNZ, line 3)"),
            "the file is truncated or the header is wrong: copy the file again, or correct line 3",
        ));
    }
    out.declare_documents(documents);
    Ok(DeclaredWords { words: Some(words as u32), ..DeclaredWords::default() })
}

/// Creates the error about the current line; `None` for a zero count that may be skipped.
#[cold]
fn line_problem(
    lines: &LineReader<'_>,
    documents: u64,
    words: u64,
    skip_zeros: bool,
) -> Option<crate::error::Error> {
    let line = lines.line();
    let parts: Vec<&[u8]> = fields(line).take(4).collect();
    let [document, word, x] = parts[..] else {
        return Some(lines.line_error(
            quoted(line),
            "three numbers: document, word, count".into(),
            "check that the file is a UCI bag of words, or choose another {format}",
        ));
    };
    for (field, name, most, letter) in [(document, "document", documents, 'D'), (word, "word", words, 'W')] {
        match whole_number(field) {
            Some(id) if id.wrapping_sub(1) < most => {}
            _ => {
                return Some(lines.line_error(
                    format!("{name} number {}", String::from_utf8_lossy(&field[..field.len().min(30)])),
                    format!("1 to {most} (the header's {letter})"),
                    "correct the line or the header; numbers begin at 1",
                ));
            }
        }
    }
    match parse_count(x, false) {
        Ok(0) if skip_zeros => None,
        Ok(0) => Some(lines.line_error("the count 0".into(), COUNT_EXPECTED.into(), super::ZERO_REMEDY)),
        Ok(_) => {
            Some(lines.line_error(quoted(line), "three numbers: document, word, count".into(), COUNT_REMEDY))
        }
        Err(found) => Some(lines.line_error(found, COUNT_EXPECTED.into(), COUNT_REMEDY)),
    }
}
