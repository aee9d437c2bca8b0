//! Reader of the Matrix Market coordinate format: `%%MatrixMarket matrix coordinate integer
//! general`, a size line, then `row column value`. Start with [`read`].

use super::lines::{COUNT_EXPECTED, COUNT_REMEDY, LineReader, fields, parse_count, quoted, whole_number};
use super::sorter::DocumentSorter;
use super::{DeclaredWords, ReadOptions};
use crate::error::{Error, Result};

const COMPLETE_REMEDY: &str = "check that the file is complete";

/// Content of the lines before the entries.
struct MtxHeader {
    /// Whether entries have no value and count as 1.
    pattern: bool,
    rows: u64,
    columns: u64,
    entries: u64,
}

fn read_header(lines: &mut LineReader<'_>) -> Result<MtxHeader> {
    let remedy = "write the matrix in coordinate format with counts (integer, real or pattern; general)";
    if !lines.advance()? {
        return Err(lines.file_error("an empty file".into(), "a Matrix Market file".into(), remedy));
    }
    let banner = String::from_utf8_lossy(lines.line()).to_ascii_lowercase();
    let banner: Vec<&str> = banner.split_ascii_whitespace().collect();
    let ["%%matrixmarket", "matrix", "coordinate", values @ ("integer" | "real" | "pattern"), "general"] =
        banner[..]
    else {
        let expected = "a banner such as \"%%MatrixMarket matrix coordinate integer general\"";
        return Err(lines.line_error(quoted(lines.line()), expected.into(), remedy));
    };
    let pattern = values == "pattern";
    if !next_entry(lines)? {
        return Err(lines.file_error(
            "no size line".into(),
            "rows, columns, entries".into(),
            COMPLETE_REMEDY,
        ));
    }
    let numbers: Vec<Option<u64>> = fields(lines.line()).map(whole_number).collect();
    let [Some(rows), Some(columns), Some(entries)] = numbers[..] else {
        return Err(lines.line_error(
            quoted(lines.line()),
            "the size line: rows, columns, entries".into(),
            COMPLETE_REMEDY,
        ));
    };
    Ok(MtxHeader { pattern, rows, columns, entries })
}

/// Advances to the next line that is neither blank nor a comment.
fn next_entry(lines: &mut LineReader<'_>) -> Result<bool> {
    while lines.advance_to_text()? {
        if !lines.line().starts_with(b"%") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Parses the row and the column, both from 0, and the value of the current line.
fn parse_entry(lines: &LineReader<'_>, header: &MtxHeader) -> Result<(u64, u64, u32)> {
    let mut parts = fields(lines.line());
    let mut index = |name: &str, most: u64| -> Result<u64, Error> {
        let field = parts.next().unwrap_or_default();
        whole_number(field).map(|id| id.wrapping_sub(1)).filter(|&id| id < most).ok_or_else(|| {
            lines.line_error(
                format!("{name} {}", quoted(field)),
                format!("1 to {most}, as declared by the size line"),
                "correct the line or the size line; indices begin at 1",
            )
        })
    };
    let (row, column) = (index("row", header.rows)?, index("column", header.columns)?);
    let value = match (header.pattern, parts.next()) {
        (true, None) => 1,
        (false, Some(value)) => parse_count(value, true)
            .map_err(|found| lines.line_error(found, COUNT_EXPECTED.into(), COUNT_REMEDY))?,
        _ => {
            let expected = if header.pattern { "row and column" } else { "row, column and value" };
            return Err(lines.line_error(
                quoted(lines.line()),
                expected.into(),
                "compare the line with the first line of the file",
            ));
        }
    };
    if parts.next().is_some() {
        return Err(lines.line_error(
            quoted(lines.line()),
            "no more than three fields".into(),
            "correct the line",
        ));
    }
    Ok((row, column, value))
}

/// Reads all entries and pushes them to the sorter.
pub(crate) fn read(
    lines: &mut LineReader<'_>,
    transpose: bool,
    options: &ReadOptions,
    out: &mut DocumentSorter,
) -> Result<DeclaredWords> {
    let header = read_header(lines)?;
    let (documents, words) =
        if transpose { (header.columns, header.rows) } else { (header.rows, header.columns) };
    let given = options.vocabulary.as_ref().map(|&(_, given)| given);
    if given == Some(documents) && documents != words {
        return Err(lines.line_error(
            format!("{words} words and {documents} documents"),
            format!("{documents} words, the size of the vocabulary"),
            if transpose { "omit {transpose}" } else { "use {transpose}: the documents are the columns" },
        ));
    }
    options.check_words(lines, words, header.entries)?;
    out.check_words(words, 0)?;
    let mut seen = 0u64;
    while next_entry(lines)? {
        seen += 1;
        if seen > header.entries {
            let expected = format!("{} entries, as declared by the size line", header.entries);
            return Err(lines.line_error(format!("entry {seen}"), expected, "correct the size line"));
        }
        let (row, column, value) = parse_entry(lines, &header)?;
        let (document, word) = if transpose { (column, row) } else { (row, column) };
        match value {
            0 if options.skip_zeros => {}
            0 => {
                return Err(lines.line_error(
                    "the value 0".into(),
                    COUNT_EXPECTED.into(),
                    super::ZERO_REMEDY,
                ));
            }
            x => out.push(document, word as u32, x)?,
        }
    }
    if seen != header.entries {
        return Err(lines.file_error(
            format!("{seen} entries"),
            format!("{}, as declared by the size line", header.entries),
            "the file is truncated or the size line is wrong: copy the file again, or correct the line",
        ));
    }
    out.declare_documents(documents);
    Ok(DeclaredWords { words: Some(words as u32), ..DeclaredWords::default() })
}
