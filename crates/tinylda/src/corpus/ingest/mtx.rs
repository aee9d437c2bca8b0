//! Matrix Market, coordinate format: `%%MatrixMarket matrix coordinate integer general`, then `row column value`.

use super::Declared;
use super::assemble::Assembler;
use super::lines::{COUNT_EXPECTED, COUNT_REMEDY, Lines, count, fields, shown, whole_number};
use crate::error::Result;

pub(crate) fn read(
    lines: &mut Lines<'_>,
    transpose: bool,
    skip_zeros: bool,
    out: &mut Assembler,
) -> Result<Declared> {
    let banner_remedy = "tinylda reads coordinate matrices of counts (integer, real or pattern; general): write the matrix so.";
    if !lines.advance()? {
        return Err(lines.bad_file("an empty file".into(), "a Matrix Market file".into(), banner_remedy));
    }
    let banner = String::from_utf8_lossy(lines.line()).to_ascii_lowercase();
    let words: Vec<&str> = banner.split_ascii_whitespace().collect();
    let values = match words[..] {
        ["%%matrixmarket", "matrix", "coordinate", values @ ("integer" | "real" | "pattern"), "general"] => {
            values
        }
        _ => {
            return Err(lines.bad(
                shown(lines.line()),
                "\"%%MatrixMarket matrix coordinate integer general\" or the like".into(),
                banner_remedy,
            ));
        }
    };
    let pattern = values == "pattern";
    let mut size = None;
    while lines.advance_to_text()? {
        if lines.line().starts_with(b"%") {
            continue;
        }
        let numbers: Vec<Option<u64>> = fields(lines.line()).map(whole_number).collect();
        match numbers[..] {
            [Some(rows), Some(columns), Some(entries)] => size = Some((rows, columns, entries)),
            _ => {
                return Err(lines.bad(
                    shown(lines.line()),
                    "the size line: rows, columns, entries".into(),
                    "Check that the file is whole.",
                ));
            }
        }
        break;
    }
    let Some((rows, columns, entries)) = size else {
        return Err(lines.bad_file(
            "no size line".into(),
            "rows, columns, entries".into(),
            "Check that the file is whole.",
        ));
    };
    let (documents, words) = if transpose { (columns, rows) } else { (rows, columns) };
    if words >= u64::from(u32::MAX) {
        return Err(lines.bad(
            format!("{words} words"),
            "fewer than 4294967295".into(),
            if transpose {
                "Leave --transpose out if documents are the rows."
            } else {
                "Give --transpose if documents are the columns."
            },
        ));
    }
    let mut seen = 0u64;
    while lines.advance_to_text()? {
        if lines.line().starts_with(b"%") {
            continue;
        }
        seen += 1;
        if seen > entries {
            return Err(lines.bad(
                format!("entry {seen}"),
                format!("{entries} entries, as the size line says"),
                "Correct the size line.",
            ));
        }
        let mut parts = fields(lines.line());
        let mut index = |name: &str, most: u64| {
            let field = parts.next().unwrap_or_default();
            match whole_number(field) {
                Some(id) if id.wrapping_sub(1) < most => Ok(id - 1),
                _ => Err(lines.bad(
                    format!("{name} {}", shown(field)),
                    format!("1 to {most}, as the size line says"),
                    "Correct the line or the size line; indices begin at 1.",
                )),
            }
        };
        let (row, column) = (index("row", rows)?, index("column", columns)?);
        let x = match (pattern, parts.next()) {
            (true, None) => 1,
            (false, Some(value)) => {
                count(value, true).map_err(|found| lines.bad(found, COUNT_EXPECTED.into(), COUNT_REMEDY))?
            }
            _ => {
                return Err(lines.bad(
                    shown(lines.line()),
                    if pattern { "row and column" } else { "row, column and value" }.into(),
                    "Check the line against the first line of the file.",
                ));
            }
        };
        if parts.next().is_some() {
            return Err(lines.bad(
                shown(lines.line()),
                "no more than three fields".into(),
                "Correct the line.",
            ));
        }
        let (document, word) = if transpose { (column, row) } else { (row, column) };
        match x {
            0 if skip_zeros => {}
            0 => return Err(lines.bad("the value 0".into(), COUNT_EXPECTED.into(), super::ZERO_REMEDY)),
            x => out.push(document, word as u32, x)?,
        }
    }
    if seen != entries {
        return Err(lines.bad_file(
            format!("{seen} entries"),
            format!("{entries}, as the size line says"),
            "The file was cut short, or the size line is wrong: copy the file again or correct it.",
        ));
    }
    out.declare_documents(documents);
    Ok(Declared { words: Some(words as u32), ..Declared::default() })
}
