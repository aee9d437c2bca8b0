//! Matrix Market, coordinate format: `%%MatrixMarket matrix coordinate integer general`, then `row
//! column value`.

use super::lines::{COUNT_EXPECTED, COUNT_REMEDY, Lines, count, fields, shown, whole_number};
use super::sorter::DocumentSorter;
use super::{Declared, Expect};
use crate::error::{Error, Result};

const WHOLE: &str = "check that the file is complete";

/// What the lines before the entries say.
struct Head {
    /// Entries have no value: each counts 1.
    pattern: bool,
    rows: u64,
    columns: u64,
    entries: u64,
}

fn head(lines: &mut Lines<'_>) -> Result<Head> {
    let remedy = "tinylda reads coordinate matrices of counts (integer, real or pattern; general): write the matrix so.";
    if !lines.advance()? {
        return Err(lines.bad_file("an empty file".into(), "a Matrix Market file".into(), remedy));
    }
    let banner = String::from_utf8_lossy(lines.line()).to_ascii_lowercase();
    let banner: Vec<&str> = banner.split_ascii_whitespace().collect();
    let ["%%matrixmarket", "matrix", "coordinate", values @ ("integer" | "real" | "pattern"), "general"] =
        banner[..]
    else {
        let expected = "\"%%MatrixMarket matrix coordinate integer general\" or the like";
        return Err(lines.bad(shown(lines.line()), expected.into(), remedy));
    };
    let pattern = values == "pattern";
    if !next_entry(lines)? {
        return Err(lines.bad_file("no size line".into(), "rows, columns, entries".into(), WHOLE));
    }
    let numbers: Vec<Option<u64>> = fields(lines.line()).map(whole_number).collect();
    let [Some(rows), Some(columns), Some(entries)] = numbers[..] else {
        return Err(lines.bad(shown(lines.line()), "the size line: rows, columns, entries".into(), WHOLE));
    };
    Ok(Head { pattern, rows, columns, entries })
}

/// Goes to the next line that is neither blank nor a comment.
fn next_entry(lines: &mut Lines<'_>) -> Result<bool> {
    while lines.advance_to_text()? {
        if !lines.line().starts_with(b"%") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Row and column, from 0, and value of the present line.
fn entry(lines: &Lines<'_>, head: &Head) -> Result<(u64, u64, u32)> {
    let mut parts = fields(lines.line());
    let mut index = |name: &str, most: u64| -> Result<u64, Error> {
        let field = parts.next().unwrap_or_default();
        whole_number(field).map(|id| id.wrapping_sub(1)).filter(|&id| id < most).ok_or_else(|| {
            lines.bad(
                format!("{name} {}", shown(field)),
                format!("1 to {most}, as the size line says"),
                "correct the line or the size line; indices begin at 1",
            )
        })
    };
    let (row, column) = (index("row", head.rows)?, index("column", head.columns)?);
    let value = match (head.pattern, parts.next()) {
        (true, None) => 1,
        (false, Some(value)) => {
            count(value, true).map_err(|found| lines.bad(found, COUNT_EXPECTED.into(), COUNT_REMEDY))?
        }
        _ => {
            let expected = if head.pattern { "row and column" } else { "row, column and value" };
            return Err(lines.bad(
                shown(lines.line()),
                expected.into(),
                "compare the line with the first line of the file",
            ));
        }
    };
    if parts.next().is_some() {
        return Err(lines.bad(shown(lines.line()), "no more than three fields".into(), "correct the line"));
    }
    Ok((row, column, value))
}

pub(crate) fn read(
    lines: &mut Lines<'_>,
    transpose: bool,
    expect: &Expect,
    out: &mut DocumentSorter,
) -> Result<Declared> {
    let head = head(lines)?;
    let (documents, words) = if transpose { (head.columns, head.rows) } else { (head.rows, head.columns) };
    let given = expect.vocabulary.as_ref().map(|&(_, given)| given);
    if given == Some(documents) && documents != words {
        return Err(lines.bad(
            format!("{words} words and {documents} documents"),
            format!("{documents} words, as the vocabulary has lines"),
            if transpose { "omit {transpose}" } else { "use {transpose}: the documents are the columns" },
        ));
    }
    expect.check_words(lines, words, head.entries)?;
    let mut seen = 0u64;
    while next_entry(lines)? {
        seen += 1;
        if seen > head.entries {
            let expected = format!("{} entries, as the size line says", head.entries);
            return Err(lines.bad(format!("entry {seen}"), expected, "correct the size line"));
        }
        let (row, column, value) = entry(lines, &head)?;
        let (document, word) = if transpose { (column, row) } else { (row, column) };
        match value {
            0 if expect.skip_zeros => {}
            0 => return Err(lines.bad("the value 0".into(), COUNT_EXPECTED.into(), super::ZERO_REMEDY)),
            x => out.push(document, word as u32, x)?,
        }
    }
    if seen != head.entries {
        return Err(lines.bad_file(
            format!("{seen} entries"),
            format!("{}, as the size line says", head.entries),
            "the file is truncated or the size line is wrong: copy the file again, or correct the line",
        ));
    }
    out.declare_documents(documents);
    Ok(Declared { words: Some(words as u32), ..Declared::default() })
}
