//! UCI bag of words: three header lines D, W, NNZ, then `document word count`, all from 1.

use super::lines::{
    COUNT_EXPECTED, COUNT_REMEDY, Lines, count, fields, leading_number, shown, skip_blanks, whole_number,
};
use super::sorter::DocumentSorter;
use super::{Declared, Expect};
use crate::error::Result;

/// `document word count`, where the line is exactly that.
#[inline]
fn triple(line: &[u8]) -> Option<(u64, u64, u64)> {
    let (document, rest) = leading_number(skip_blanks(line))?;
    let (word, rest) = leading_number(skip_blanks(rest))?;
    let (count, rest) = leading_number(skip_blanks(rest))?;
    skip_blanks(rest).is_empty().then_some((document, word, count))
}

/// The usual line, three short numbers with a blank between and a line feed behind, and its length:
/// in one go, without looking for its end first. Everything else is left to `triple`.
#[inline]
fn usual(bytes: &[u8]) -> Option<([u64; 3], usize)> {
    let mut numbers = [0u64; 3];
    let mut at = 0;
    for (number, end) in numbers.iter_mut().zip([b' ', b' ', b'\n']) {
        let start = at;
        loop {
            let b = *bytes.get(at)?;
            at += 1;
            let digit = b.wrapping_sub(b'0');
            if digit > 9 {
                // At least one digit, and not so many that they could overflow.
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

pub(crate) fn read(lines: &mut Lines<'_>, expect: &Expect, out: &mut DocumentSorter) -> Result<Declared> {
    let mut header = [0u64; 3];
    for (value, name) in header.iter_mut().zip([
        "D, the number of documents",
        "W, the number of words",
        "NNZ, the number of entries",
    ]) {
        let remedy = "a UCI file begins with three lines: documents, words, entries; check that the file is complete, or choose another {format}";
        if !lines.advance_to_text()? {
            return Err(lines.bad_file(
                format!("the end of the file where {name} should stand"),
                "a number".into(),
                remedy,
            ));
        }
        let text = lines.line().trim_ascii();
        *value = whole_number(text).ok_or_else(|| {
            lines.bad(
                format!("{} in place of {name}", shown(text)),
                "a whole number in 64 bits".into(),
                remedy,
            )
        })?;
    }
    let [documents, words, nonzeros] = header;
    expect.check_words(lines, words, nonzeros)?;
    let possible = |d: u64, w: u64, x: u64| {
        d.wrapping_sub(1) < documents && w.wrapping_sub(1) < words && x.wrapping_sub(1) < u64::from(u32::MAX)
    };
    let mut seen = 0u64;
    loop {
        if let Some(([d, w, x], length)) = usual(lines.ahead())
            && possible(d, w, x)
            && seen < nonzeros
        {
            lines.pass_over(length);
            seen += 1;
            out.push(d - 1, (w - 1) as u32, x as u32)?;
            continue;
        }
        if !lines.advance_to_text()? {
            break;
        }
        seen += 1;
        let (document, word, x) = match triple(lines.line()) {
            Some((d, w, x)) if possible(d, w, x) => (d, w, x),
            _ => match explain(lines, documents, words, expect.skip_zeros) {
                Some(error) => return Err(error),
                None => continue,
            },
        };
        if seen > nonzeros {
            return Err(lines.bad(
                format!("entry {seen}"),
                format!("{nonzeros} entries, as the header says (NNZ, line 3)"),
                "correct the header, or check that two files were not joined",
            ));
        }
        out.push(document - 1, (word - 1) as u32, x as u32)?;
    }
    if seen != nonzeros {
        return Err(lines.bad_file(
            format!("{seen} entries"),
            format!("{nonzeros}, as the header says (NNZ, line 3)"),
            "the file is truncated or the header is wrong: copy the file again, or correct line 3",
        ));
    }
    out.declare_documents(documents);
    Ok(Declared { words: Some(words as u32), ..Declared::default() })
}

/// What is wrong with the present line; nothing where it is a zero that may be skipped.
#[cold]
fn explain(lines: &Lines<'_>, documents: u64, words: u64, skip_zeros: bool) -> Option<crate::error::Error> {
    let line = lines.line();
    let parts: Vec<&[u8]> = fields(line).take(4).collect();
    let [document, word, x] = parts[..] else {
        return Some(lines.bad(
            shown(line),
            "three numbers: document, word, count".into(),
            "check that the file is a UCI bag of words, or choose another {format}",
        ));
    };
    for (field, name, most, letter) in [(document, "document", documents, 'D'), (word, "word", words, 'W')] {
        match whole_number(field) {
            Some(id) if id.wrapping_sub(1) < most => {}
            _ => {
                return Some(lines.bad(
                    format!("{name} number {}", String::from_utf8_lossy(&field[..field.len().min(30)])),
                    format!("1 to {most} (the header's {letter})"),
                    "correct the line or the header; numbers begin at 1",
                ));
            }
        }
    }
    match count(x, false) {
        Ok(0) if skip_zeros => None,
        Ok(0) => Some(lines.bad("the count 0".into(), COUNT_EXPECTED.into(), super::ZERO_REMEDY)),
        Ok(_) => Some(lines.bad(shown(line), "three numbers: document, word, count".into(), COUNT_REMEDY)),
        Err(found) => Some(lines.bad(found, COUNT_EXPECTED.into(), COUNT_REMEDY)),
    }
}
