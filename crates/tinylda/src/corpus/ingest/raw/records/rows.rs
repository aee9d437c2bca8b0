//! Rows of tables as records.

use std::borrow::Cow;

use super::{Record, RecordReader};
use crate::corpus::TextPlace;
use crate::corpus::ingest::raw::source::TextSpan;
use crate::corpus::ingest::raw::table::{CsvLayout, QuoteProblem, parse_row};
use crate::error::{Error, Result};

impl RecordReader {
    /// Converts a field of a table to text: two quotes in a quoted field stand for one.
    pub(super) fn cell<'a>(
        &self,
        field: &'a [u8],
        quoted: bool,
        line: u64,
        replaced: &mut bool,
    ) -> Result<Cow<'a, str>> {
        let text = self.text(field, line, replaced)?;
        Ok(if quoted && text.contains("\"\"") { text.replace("\"\"", "\"").into() } else { text })
    }

    fn quote_error(&self, problem: QuoteProblem, line: u64) -> Error {
        let found = match problem {
            QuoteProblem::Open => "a quote that is opened and never closed",
            QuoteProblem::Misplaced => {
                "a quote that is opened here and closed on a later line, inside of a field"
            }
        };
        let remedy = "close the quote, or use {quotes=no} if quotes have no meaning in this file";
        self.line_error(line, found.into(), "a closing quote at the end of the field", remedy)
    }

    /// Returns whether a row with this number of columns is imported, and counts it if it differs
    /// from the first row. Rows with too few columns are imported if they have the text. Rows with
    /// too many are not, since the delimiter in one of their fields may have moved the text.
    fn accepts_width(&self, table: &CsvLayout, width: usize, line: u64) -> Result<bool> {
        let Some(columns) = table.columns.filter(|&columns| columns != width) else { return Ok(true) };
        if self.strict {
            return Err(self.line_error(
                line,
                format!("{width} {}", if width == 1 { "column" } else { "columns" }),
                format!("{columns}, the number of columns of the first row"),
                "correct the row: quote texts that contain the delimiter, or set another {delimiter}",
            ));
        }
        let has_text = width < columns && table.text.iter().all(|&column| column < width);
        let tally = if has_text { &self.tally.short_rows } else { &self.tally.skipped_rows };
        tally.add(1, line);
        Ok(has_text)
    }

    pub(super) fn for_each_row(
        &self,
        table: &CsvLayout,
        bytes: &[u8],
        span: &TextSpan,
        each: &mut dyn FnMut(Record<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        let (mut at, mut line) = (0, span.line);
        let mut fields: Vec<(&[u8], bool)> = Vec::new();
        loop {
            fields.clear();
            let found = parse_row(&bytes[at..], table.delimiter, table.quotes, &mut |field, quoted| {
                fields.push((field, quoted));
            });
            let Some(found) = found else { return Ok(()) };
            if let Some((problem, lines)) = found.quote_problem {
                return Err(self.quote_error(problem, line + lines));
            }
            let start = at;
            at += found.bytes;
            let first = line;
            line += found.lines;
            if first < table.start_line || table.header && first == table.start_line {
                continue;
            }
            if fields.len() == 1 && fields[0].0.trim_ascii().is_empty() && table.columns != Some(1) {
                continue;
            }
            if !self.accepts_width(table, fields.len(), first)? {
                continue;
            }
            let mut replaced = false;
            let mut cell = |column: usize| {
                let (field, quoted) = fields.get(column).copied().unwrap_or_default();
                self.cell(field, quoted, first, &mut replaced)
            };
            let (text, part) = if let [column] = table.text[..] {
                (cell(column)?, fields.get(column).copied().unwrap_or_default().0)
            } else {
                let mut all = String::new();
                for &column in &table.text {
                    if !all.is_empty() {
                        all.push(' ');
                    }
                    all.push_str(&cell(column)?);
                }
                (all.into(), &bytes[start..at])
            };
            let place = TextPlace {
                source: span.source,
                offset: span.offset + (part.as_ptr() as usize - bytes.as_ptr() as usize) as u64,
                length: part.len() as u32,
            };
            let name = table.id.map(&mut cell).transpose()?;
            let labels = table.labels.iter().map(|column| Ok(self.labels_of(cell(column.at)?)));
            let labels = labels.collect::<Result<_>>()?;
            let date = table.date.map(&mut cell).transpose()?;
            let date = date.map(|date| self.date(&date, first)).transpose()?;
            each(Record { name, labels, date, text, place, checksum: crc32fast::hash(part) }, replaced)?;
        }
    }
}
