//! Tables in text files (CSV, TSV): parses rows, detects the delimiter and the header, and finds
//! the columns.
//!
//! Start with [`csv_layout`] for the layout of a table and [`parse_row`] for its rows.

use std::path::Path;

use super::header::{HeaderGuess, detect_header, has_values_below, is_like_column_name, is_name};
use crate::corpus::ingest::notes::TableNotes;
use crate::corpus::ingest::options::{RecordOptions, is_text_name, other_family_error, text_name_rank};
use crate::error::{Error, Position, Result, Template};
use crate::format::counted;

/// Delimiters that are detected.
const DELIMITERS: [u8; 4] = [b'\t', b',', b';', b'|'];
/// Maximum number of rows that are inspected.
const MAX_JUDGED_ROWS: usize = 20;
/// Minimum number of rows of a table whose header has no known name.
const MIN_JUDGED_ROWS: usize = 3;
/// Maximum number of columns that an error lists.
const MAX_LISTED_COLUMNS: usize = 40;

/// Extent of a row of a table.
pub(crate) struct CsvRow {
    pub(crate) bytes: usize,
    /// Whether the row ends with a line end.
    pub(crate) complete: bool,
    /// Problem with a quote, and the number of line ends of the row before it.
    pub(crate) quote_problem: Option<(QuoteProblem, u64)>,
    pub(crate) lines: u64,
}

/// Problem with a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuoteProblem {
    /// The quote is never closed.
    Open,
    /// The quote is closed on a later line, in the middle of a field.
    Misplaced,
}

/// Parses a row and calls `each` with the bytes of every field and whether it is quoted. Returns
/// `None` if there are no bytes. A quote has a meaning only at the beginning of a field, and two
/// quotes in a quoted field stand for one.
pub(crate) fn parse_row<'a>(
    bytes: &'a [u8],
    delimiter: u8,
    quotes: bool,
    each: &mut dyn FnMut(&'a [u8], bool),
) -> Option<CsvRow> {
    if bytes.is_empty() {
        return None;
    }
    let (mut at, mut lines, mut misplaced) = (0, 0, None);
    loop {
        let mut start = at;
        let (mut quoted, lines_before) = (None, lines);
        if quotes && bytes.get(at) == Some(&b'"') {
            let mut from = at + 1;
            loop {
                match memchr::memchr(b'"', &bytes[from..]) {
                    None => {
                        let quote_problem = misplaced.or(Some((QuoteProblem::Open, lines_before)));
                        return Some(CsvRow { bytes: bytes.len(), complete: false, quote_problem, lines });
                    }
                    Some(found) if bytes.get(from + found + 1) == Some(&b'"') => from += found + 2,
                    Some(found) => {
                        at = from + found + 1;
                        quoted = Some(start + 1..from + found);
                        break;
                    }
                }
            }
            lines += memchr::memchr_iter(b'\n', &bytes[start..at]).count() as u64;
        }
        let end = memchr::memchr2(delimiter, b'\n', &bytes[at..]).map(|found| at + found);
        let stop = end.unwrap_or(bytes.len());
        let line_end = end.is_none_or(|end| bytes[end] == b'\n');
        let mut field_end = stop;
        if line_end && field_end > at && bytes[field_end - 1] == b'\r' {
            field_end -= 1;
        }
        match quoted {
            // Text after the closing quote means that the field is not a quoted field after all.
            Some(inside) if bytes[at..field_end].trim_ascii().is_empty() => each(&bytes[inside], true),
            _ => {
                if lines > lines_before {
                    misplaced = misplaced.or(Some((QuoteProblem::Misplaced, lines_before)));
                }
                start = start.min(field_end);
                each(&bytes[start..field_end], false);
            }
        }
        if line_end {
            lines += u64::from(end.is_some());
            return Some(CsvRow {
                bytes: end.map_or(stop, |end| end + 1),
                complete: end.is_some(),
                quote_problem: misplaced,
                lines,
            });
        }
        at = stop + 1;
    }
}

/// Layout of a table: its syntax and the columns to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CsvLayout {
    pub(crate) delimiter: u8,
    pub(crate) quotes: bool,
    pub(crate) header: bool,
    /// Line of the first row of the table, from 1. Lines before it are no rows.
    pub(crate) start_line: u64,
    /// Number of columns that every row must have, if known.
    pub(crate) columns: Option<usize>,
    pub(crate) text: Vec<usize>,
    pub(crate) id: Option<usize>,
    pub(crate) labels: Vec<NamedColumn>,
    pub(crate) date: Option<usize>,
}

/// Column of a table with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedColumn {
    pub(crate) name: String,
    pub(crate) at: usize,
}

/// Returns the delimiter that the first line names, as Excel writes it: `sep=;`.
fn named_delimiter(start: &[u8]) -> Option<u8> {
    let line = start.split(|&b| b == b'\n').next()?.trim_ascii_end();
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let name = line.get(..4).filter(|name| name.eq_ignore_ascii_case(b"sep="));
    match (name, line.get(4..)) {
        (Some(_), Some(&[delimiter])) if delimiter.is_ascii_punctuation() && delimiter != b'"' => {
            Some(delimiter)
        }
        // A tab at the end of the line was removed with the blanks.
        (Some(_), Some([])) if start.get(4) == Some(&b'\t') => Some(b'\t'),
        _ => None,
    }
}

/// First rows of a table, divided by one delimiter.
struct FirstRows<'a> {
    /// Complete rows that are not blank.
    rows: Vec<Vec<&'a [u8]>>,
    /// Lines of the rows, from 1.
    lines: Vec<u64>,
    /// Fields of the row after them, if its end is not there.
    incomplete: Vec<&'a [u8]>,
}

impl<'a> FirstRows<'a> {
    /// Reads the first rows. The last row counts only if the text is `whole`, or if its line end is
    /// there. A line that names the delimiter is skipped.
    fn read(start: &'a [u8], delimiter: u8, quotes: bool, whole: bool) -> FirstRows<'a> {
        let mark = if start.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let (mut at, mut line) = (mark, 1);
        if named_delimiter(&start[mark..]).is_some() {
            at = memchr::memchr(b'\n', start).map_or(start.len(), |end| end + 1);
            line = 2;
        }
        let mut found = FirstRows { rows: Vec::new(), lines: Vec::new(), incomplete: Vec::new() };
        while found.rows.len() < MAX_JUDGED_ROWS {
            let mut fields = Vec::new();
            match parse_row(&start[at..], delimiter, quotes, &mut |field, _| fields.push(field)) {
                Some(row) if row.complete || whole && row.quote_problem.is_none() => {
                    if !start[at..at + row.bytes].trim_ascii().is_empty() {
                        found.rows.push(fields);
                        found.lines.push(line);
                    }
                    at += row.bytes;
                    line += row.lines;
                }
                _ => {
                    found.incomplete = fields;
                    break;
                }
            }
        }
        found
    }

    /// Returns the number of columns that most rows have, and the number of these rows. Of several,
    /// it is the number that the first row has, or else the largest one.
    fn common_width(&self) -> (usize, usize) {
        let count = |width: usize| self.rows.iter().filter(|row| row.len() == width).count();
        let mut best = self.rows.first().map_or((0, 0), |first| (first.len(), count(first.len())));
        for row in &self.rows {
            let found = count(row.len());
            if found > best.1 || found == best.1 && row.len() > best.0 && best.0 != self.rows[0].len() {
                best = (row.len(), found);
            }
        }
        best
    }

    /// Returns the index of the first row of the table: rows with fewer columns than most rows may
    /// precede it, such as a title. Names of columns are no title, even if some are missing.
    fn table_start(&self) -> usize {
        let (width, equal) = self.common_width();
        let has_text_name =
            |row: &[&[u8]]| row.iter().any(|cell| is_text_name(&String::from_utf8_lossy(cell)));
        let Some(at) = self.rows.iter().position(|row| row.len() == width) else { return 0 };
        let is_header = has_text_name(&self.rows[at]);
        let has_names = |row: &[&[u8]]| cell_texts(row).iter().all(|name| is_name(name));
        let is_title = |row: &Vec<&[u8]>| {
            row.len() < width && (is_header || (row.len() == 1 || !has_names(row)) && !has_text_name(row))
        };
        let is_clear = width > 1 && 2 * equal > self.rows.len() && self.rows[..at].iter().all(is_title);
        if is_clear { at } else { 0 }
    }
}

/// Returns the cells of a row as text.
fn cell_texts(row: &[&[u8]]) -> Vec<String> {
    row.iter().map(|field| String::from_utf8_lossy(field).trim().to_string()).collect()
}

/// Detects whether a text is a table, and its delimiter. `whole` is set if the text ends with these
/// bytes. A text is a table if all rows have the same number of columns, and the names of the
/// columns are like names. If one of the names is known, most rows decide. Prose with commas is no
/// table.
pub(crate) fn detect_table(start: &[u8], whole: bool) -> Option<u8> {
    named_delimiter(start)
        .or_else(|| DELIMITERS.into_iter().find(|&delimiter| is_table(start, delimiter, whole)))
}

/// Returns whether a text is a table with this delimiter.
fn is_table(start: &[u8], delimiter: u8, whole: bool) -> bool {
    let found = FirstRows::read(start, delimiter, true, whole);
    let at = found.table_start();
    let rows = found.rows.get(at..).unwrap_or_default();
    let Some(first) = rows.first().filter(|first| first.len() > 1) else { return false };
    let equal = rows.iter().filter(|row| row.len() == first.len()).count();
    let names: Vec<_> = first.iter().map(|name| String::from_utf8_lossy(name)).collect();
    // A blank after the delimiter is usual in prose, and rare in tables.
    let blank = names.iter().any(|name| name.starts_with(' '));
    let named = names.iter().any(|name| is_text_name(name)) && (!blank || has_values_below(rows));
    let all_names = || cell_texts(first).iter().all(|name| name.is_empty() || is_name(name));
    if rows.len() == 1 {
        // The first row below the header is longer than the inspected bytes.
        return named && all_names() && (1..=first.len()).contains(&found.incomplete.len());
    }
    if equal < rows.len() || at > 0 {
        return named && all_names() && 2 * equal > rows.len();
    }
    let like_names = || {
        rows.len() >= MIN_JUDGED_ROWS && !blank && names.iter().all(|name| is_like_column_name(name.trim()))
    };
    delimiter == b'\t' || named || like_names()
}

/// Returns the delimiter that the suffix of a file name stands for, if it divides the rows.
pub(crate) fn delimiter_of_suffix(suffix: &str, start: &[u8], whole: bool) -> Option<u8> {
    let delimiter = match suffix {
        "tsv" | "tab" => b'\t',
        "psv" => b'|',
        _ => return None,
    };
    let rows = FirstRows::read(start, delimiter, true, whole).rows;
    let divided = rows.iter().filter(|row| row.len() > 1).count();
    (divided > 0 && 2 * divided >= rows.len()).then_some(delimiter)
}

/// Returns the delimiter of a text that is a table: the one that divides most rows into the same
/// number of columns.
pub(crate) fn best_delimiter(start: &[u8], whole: bool) -> u8 {
    if let Some(delimiter) = named_delimiter(start) {
        return delimiter;
    }
    let score = |delimiter: u8| {
        let (width, equal) = FirstRows::read(start, delimiter, true, whole).common_width();
        if width > 1 { (equal, width) } else { (0, width) }
    };
    // The first one of equal scores wins.
    let mut best = (b',', score(b','));
    for delimiter in DELIMITERS {
        let found = score(delimiter);
        if found > best.1 {
            best = (delimiter, found);
        }
    }
    if best.1.0 > 0 { best.0 } else { most_frequent_delimiter(start) }
}

/// Returns the delimiter that occurs most often in the first line.
fn most_frequent_delimiter(start: &[u8]) -> u8 {
    let line = start.split(|&b| b == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let count = |d: u8| memchr::memchr_iter(d, line).count();
    DELIMITERS.into_iter().fold(b',', |best, d| if count(d) > count(best) { d } else { best })
}

/// Finder of columns in the first row of a table.
struct ColumnFinder<'a> {
    first: Vec<String>,
    header: bool,
    /// Option for JSON that was given.
    json_option: Option<&'static str>,
    path: &'a Path,
}

/// Parses the number of a column, from 1.
fn column_number(name: &str) -> Option<usize> {
    name.parse::<usize>().ok().filter(|&n| n > 0)
}

impl ColumnFinder<'_> {
    /// Returns the index of the column that an option names, by name or by number.
    fn find(&self, option: &'static str, name: &str) -> Result<usize> {
        let same = |column: &&String| column.as_str() == name || column.eq_ignore_ascii_case(name);
        let by_name = self.first.iter().position(|column| self.header && same(&column));
        let by_number = || column_number(name).map(|n| n - 1).filter(|&n| n < self.first.len());
        by_name.or_else(by_number).ok_or_else(|| self.missing(option, name))
    }

    fn missing(&self, option: &'static str, name: &str) -> Error {
        let expected = if self.header {
            let columns = self.first.iter().take(MAX_LISTED_COLUMNS).map(|c| format!("{c:?}"));
            Template::from("one of ").text(columns.collect::<Vec<_>>().join(", "))
        } else {
            format!("a number from 1 to {}", self.first.len()).into()
        };
        let expected = expected.text(format!(" (the columns of {})", self.path.display()));
        Error::out_of_range(option, format!("{name:?}"), expected)
            .with_remedy("if the columns are split at the wrong character, set {delimiter}")
    }

    /// Returns the columns that usually contain the text; fails with a list of all columns if there
    /// is none.
    fn usual_text(&self) -> Result<Vec<usize>> {
        let named = |wanted: &str| self.first.iter().position(|name| name.eq_ignore_ascii_case(wanted));
        let ranked = self.first.iter().enumerate().filter(|_| self.header);
        let ranked = ranked.filter_map(|(i, name)| text_name_rank(name).map(|rank| (rank, i)));
        if let Some((_, column)) = ranked.min() {
            // The title of an abstract is part of it.
            let title = named("title").filter(|_| self.first[column].eq_ignore_ascii_case("abstract"));
            return Ok(title.into_iter().chain([column]).collect());
        }
        // In a table of one column, this column is the text.
        if self.first.len() == 1 {
            return Ok(vec![0]);
        }
        if let Some(error) = self.json_option.and_then(|option| other_family_error(option, "csv", self.path))
        {
            return Err(error);
        }
        let columns = self.first.iter().zip(1..).take(MAX_LISTED_COLUMNS).map(|(c, n)| {
            let short: String = c.chars().take(30).collect();
            format!("{n} ({short:?})")
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let expected = Template::from("the name or number of a column of ")
            .text(format!("{}: {columns}", self.path.display()));
        Err(Error::missing("text_column", expected)
            .with_remedy("if this is not a table, use {format=text} to read one document per line"))
    }

    /// Returns the names of those columns that other columns have, too, with their numbers from 1.
    /// Columns that were given by number are left out.
    fn ambiguous<'c>(
        &self,
        options: &RecordOptions,
        chosen: impl Iterator<Item = &'c usize>,
    ) -> Vec<(String, usize)> {
        let same = |name: &str| self.first.iter().filter(|other| other.eq_ignore_ascii_case(name)).count();
        let others = options.label_columns.iter().chain(&options.date_column);
        let given: Vec<&String> =
            options.text_columns.iter().chain(&options.id_column).chain(others).collect();
        let by_number = |at: usize| given.iter().any(|name| column_number(name) == Some(at + 1));
        let names = chosen.filter(|_| self.header).filter_map(|&at| Some((self.first.get(at)?, at)));
        names
            .filter(|&(name, at)| !name.is_empty() && same(name) > 1 && !by_number(at))
            .map(|(name, at)| (name.clone(), at + 1))
            .collect()
    }

    /// Returns the names of the columns that are not among the `chosen` ones.
    fn unread(&self, chosen: &[usize]) -> Vec<String> {
        let all = if self.header { 0..self.first.len() } else { 0..0 };
        all.filter(|column| !chosen.contains(column)).map(|column| self.name(column)).collect()
    }

    /// Returns the name of a column, or its number if it has no name.
    fn name(&self, column: usize) -> String {
        let name = self.first.get(column).filter(|name| self.header && !name.is_empty());
        name.cloned().unwrap_or_else(|| (column + 1).to_string())
    }
}

/// Determines the layout of a table from its first rows and the options. `whole` is set if the
/// table ends with these bytes.
pub(crate) fn csv_layout(
    options: &RecordOptions,
    start: &[u8],
    whole: bool,
    path: &Path,
) -> Result<(CsvLayout, TableNotes)> {
    let delimiter = options.delimiter.unwrap_or_else(|| best_delimiter(start, whole));
    let quotes = !options.no_quotes;
    let mut found = FirstRows::read(start, delimiter, quotes, whole);
    let at = found.table_start();
    let before = at as u64;
    if let Some(title) = found.rows.first().filter(|_| at > 0 && options.strict) {
        return Err(strict_title_error(path, found.lines[0], title.len(), found.rows[at].len()));
    }
    // The layout of a table whose first row is longer than the inspected bytes follows from the
    // part that is there.
    let start_line = found.lines.get(at).copied().unwrap_or(1);
    let rows = found.rows.split_off(at);
    let first = cell_texts(rows.first().unwrap_or(&found.incomplete));
    let guess = options.header.map(HeaderGuess::certain);
    let HeaderGuess { header, assumed } = guess.unwrap_or_else(|| detect_header(options, &rows, &first));
    let columns = ColumnFinder { first, header, json_option: options.json_option(), path };
    let text = if options.text_columns.is_empty() {
        columns.usual_text()?
    } else {
        let text = options.text_columns.iter().map(|name| columns.find("text_column", name));
        text.collect::<Result<_>>()?
    };
    let id = options.id_column.as_deref().map(|name| columns.find("id_column", name)).transpose()?;
    let label = |name: &String| {
        let at = columns.find("label_column", name)?;
        let column = columns.first.get(at).filter(|column| header && !column.is_empty());
        Ok(NamedColumn { name: column.unwrap_or(name).clone(), at })
    };
    let labels = options.label_columns.iter().map(label).collect::<Result<Vec<_>>>()?;
    let date = options.date_column.as_deref().map(|name| columns.find("date_column", name)).transpose()?;
    let chosen: Vec<usize> =
        text.iter().chain(&id).chain(labels.iter().map(|column| &column.at)).chain(&date).copied().collect();
    let notes = TableNotes {
        text: text.iter().map(|&column| columns.name(column)).collect(),
        id: id.map(|column| columns.name(column)),
        labels: labels.iter().map(|column| column.name.clone()).collect(),
        date: date.map(|column| columns.name(column)),
        delimiter: Some(delimiter.into()),
        header,
        header_assumed: assumed,
        rows_before: before,
        ambiguous: columns.ambiguous(options, chosen.iter()),
        unread: columns.unread(&chosen),
    };
    let columns = Some(columns.first.len());
    Ok((CsvLayout { delimiter, quotes, header, start_line, columns, text, id, labels, date }, notes))
}

/// Returns whether the first row of a text can be the header of a table, although the text was not
/// detected as a table.
pub(crate) fn has_header(start: &[u8], whole: bool, delimiter: Option<u8>) -> bool {
    let delimiter = delimiter.unwrap_or_else(|| best_delimiter(start, whole));
    let found = FirstRows::read(start, delimiter, true, whole);
    let first = cell_texts(found.rows.get(found.table_start()).unwrap_or(&found.incomplete));
    first.iter().all(|name| is_name(name) || is_text_name(name))
}

/// Returns the error of a strict import for a row before the table that has other columns.
fn strict_title_error(path: &Path, line: u64, found: usize, columns: usize) -> Error {
    Error::Input {
        path: path.to_path_buf(),
        position: Position::Line(line),
        found: counted(found as u64, "column"),
        expected: format!("{columns}, the number of columns of most rows").into(),
        remedy: "delete the lines before the table, or omit {strict} to skip them".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> (u8, u64, Vec<usize>) {
        let (layout, _) =
            csv_layout(&RecordOptions::default(), text.as_bytes(), true, Path::new("x")).unwrap();
        (layout.delimiter, layout.start_line, layout.text)
    }

    #[test]
    fn the_delimiter_divides_most_rows() {
        let rows = "1,a b\n2,c d\n3,e f\n";
        for (text, expected) in [
            (format!("id,text\n{rows}"), (b',', 1, vec![1])),
            (format!("\n \nid,text\n{rows}"), (b',', 3, vec![1])),
            (format!("Export of reviews; 2024\nid,text\n{rows}"), (b',', 2, vec![1])),
            (format!("Review text\n\nid,text\n{rows}"), (b',', 3, vec![1])),
            (format!("sep=;\nid;text\n{}", rows.replace(',', ";")), (b';', 2, vec![1])),
            (format!("\"sep=|\"\r\nid|text\n{}", rows.replace(',', "|")), (b'|', 2, vec![1])),
            (format!("sep=\t\nid\ttext\n{}", rows.replace(',', "\t")), (b'\t', 2, vec![1])),
            // The name of the text is no title, even if all other rows have other columns.
            (format!("text\n{rows}"), (b',', 1, vec![0])),
        ] {
            assert_eq!(layout(&text), expected, "{text}");
        }
    }

    #[test]
    fn ragged_and_cut_rows_do_not_hide_a_table() {
        let rows = |ragged: &str| format!("id,text\n1,a b\n{ragged}\n3,c d\n4,e f\n");
        for (text, whole, expected) in [
            (rows("2,a, b"), true, Some(b',')),
            (rows("a"), true, Some(b',')),
            (format!("My export\n{}", rows("2,a")), true, Some(b',')),
            ("id,text\n1,\"a b".into(), false, Some(b',')),
            ("id\ttext\n1\ta b".into(), false, Some(b'\t')),
            ("id,text\n1,a b, c, d".into(), false, None),
            ("review, comment\na b, c".into(), false, None),
            ("a, text\nb c, d\ne, f, g\nh i\n".into(), true, None),
            ("One line\na, b\nc, d\ne, f\n".into(), true, None),
        ] {
            assert_eq!(detect_table(text.as_bytes(), whole), expected, "{text}");
        }
    }
}
