//! Parser of records: the text, name, labels and date of each document in every raw text format.
//!
//! Start with [`RecordReader`]. Reports use it to read texts again. [`RecordFormat`] says which
//! fields there are and where records end (`layout`). Formats with more than one line of rules have
//! a module each: `rows` (tables), `json`, `vowpal`. Words are extracted by
//! [`words`](crate::corpus::ingest::words).

mod detect;
mod json;
mod layout;
mod rows;
mod vowpal;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use self::detect::detect_records;
pub(crate) use self::layout::{FOLDER_LABEL_COLUMN, JsonFields, RecordEnds, RecordFields, RecordFormat};
use super::source::{SpanKind, TextSpan};
use super::tally::RecordTally;
use crate::corpus::ingest::lines::quoted;
use crate::corpus::ingest::markup::strip_html;
use crate::corpus::ingest::notes::LineCount;
use crate::corpus::{DEFAULT_LABEL_COLUMN, TextPlace, parse_date};
use crate::error::{Error, Position, Remedy, Result, Template};
use crate::format::grouped;

/// Document of the input.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) name: Option<Cow<'a, str>>,
    /// Values of every label column: none, one or several.
    pub(crate) labels: Vec<Vec<Cow<'a, str>>>,
    pub(crate) date: Option<RecordDate>,
    pub(crate) text: Cow<'a, str>,
    pub(crate) place: TextPlace,
    /// CRC-32 of the bytes at `place`.
    pub(crate) checksum: u32,
}

/// Date of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecordDate {
    /// The record has no date.
    Missing,
    /// The date cannot be read or is ambiguous.
    Unreadable,
    /// Normalized date, see [`parse_date`].
    Known(String),
}

/// Reader of records.
#[derive(Debug, Clone)]
pub(crate) struct RecordReader {
    /// Path of the source for errors.
    pub(crate) path: PathBuf,
    pub(crate) format: RecordFormat,
    /// Whether bytes that are not UTF-8 are refused instead of being replaced, and incomplete
    /// records instead of being skipped.
    pub(crate) strict: bool,
    /// Text between the labels of a value.
    pub(crate) label_separator: Option<String>,
    /// Counts of records that are skipped or changed. Clones of the reader share them.
    pub(crate) tally: Arc<RecordTally>,
}

impl RecordReader {
    /// Creates a reader that finds texts again: it replaces invalid bytes and needs no labels.
    pub(crate) fn for_texts(path: PathBuf, format: RecordFormat) -> RecordReader {
        RecordReader { path, format, strict: false, label_separator: None, tally: Arc::default() }
    }

    /// Returns the fields of the records.
    pub(crate) fn fields(&self) -> RecordFields {
        let multiple_labels = self.label_separator.is_some() || matches!(self.format, RecordFormat::Json(_));
        let fields =
            |names, label_columns, dates| RecordFields { names, label_columns, multiple_labels, dates };
        let one = |name: &str| vec![name.to_owned()];
        match &self.format {
            RecordFormat::Lines => RecordFields::default(),
            RecordFormat::Table(table) => {
                let labels = table.labels.iter().map(|column| column.name.clone()).collect();
                fields(table.id.is_some(), labels, table.date.is_some())
            }
            RecordFormat::Json(json) => fields(json.id.is_some(), json.labels.clone(), json.date.is_some()),
            RecordFormat::Mallet | RecordFormat::Vowpal => fields(true, one(DEFAULT_LABEL_COLUMN), false),
            RecordFormat::Files { folder_labels: true } => fields(true, one(FOLDER_LABEL_COLUMN), false),
            RecordFormat::Files { folder_labels: false } => fields(true, Vec::new(), false),
            RecordFormat::Rows(fields) => fields.clone(),
        }
    }

    /// Appends the labels of a value: its parts between separators, without duplicates.
    fn push_labels<'a>(&self, value: Cow<'a, str>, labels: &mut Vec<Cow<'a, str>>) {
        let mut push = |label: Cow<'a, str>| {
            if !label.is_empty() && !labels.contains(&label) {
                labels.push(label);
            }
        };
        match (&self.label_separator, value) {
            (Some(separator), Cow::Borrowed(text)) => {
                text.split(separator.as_str()).for_each(|part| push(part.trim().into()));
            }
            (Some(separator), Cow::Owned(text)) => {
                text.split(separator.as_str()).for_each(|part| push(part.trim().to_owned().into()));
            }
            (None, value) => push(value),
        }
    }

    /// Returns the labels of one value.
    fn labels_of<'a>(&self, value: Cow<'a, str>) -> Vec<Cow<'a, str>> {
        let mut labels = Vec::new();
        self.push_labels(value, &mut labels);
        labels
    }

    /// Reads a date; refuses an unreadable one if the reader is strict.
    fn date(&self, text: &str, line: u64) -> Result<RecordDate> {
        match parse_date(text) {
            Some(date) => Ok(RecordDate::Known(date)),
            None if is_missing_date(text) => Ok(RecordDate::Missing),
            None if self.strict => Err(self.line_error(
                line,
                format!("the date {}", quoted(text.as_bytes())),
                "a date such as 2001, 2001-02 or 2001-02-03, or a Unix time",
                "write dates as YYYY-MM-DD, or omit {strict} to import such documents without a date",
            )),
            None => Ok(RecordDate::Unreadable),
        }
    }

    /// Refuses the input if most of its records were skipped so far.
    pub(crate) fn check_skipped(&self) -> Result<()> {
        let notes = self.tally.notes();
        let (rows, records) = (notes.skipped_rows, notes.records_without_text);
        let all = self.tally.read() + rows.count + records.count;
        let most = |skipped: LineCount| 2 * skipped.count > all;
        let of = |skipped: LineCount| format!("has {} of {}", grouped(skipped.count), grouped(all));
        match &self.format {
            RecordFormat::Table(table) if most(rows) => {
                let columns = table.columns.map_or_else(String::new, |n| format!(", which has {n}"));
                let statement = format!(
                    "{} rows with more or fewer columns than the first row{columns}; line {} is the first",
                    of(rows),
                    grouped(rows.first_line)
                );
                let remedy = "quote texts that contain the delimiter, set another {delimiter}, or use \
                              {format=text} to read one document per line";
                Err(Error::unusable_input(&self.path, statement, remedy))
            }
            RecordFormat::Json(json) if most(records) => {
                let statement = format!(
                    "{} records without the field {:?}; line {} is the first",
                    of(records),
                    json.text.join("\" or \""),
                    grouped(records.first_line)
                );
                let remedy = "name the field with {text_field}, or remove such records first, for instance \
                              with jq";
                Err(Error::unusable_input(&self.path, statement, remedy))
            }
            _ => Ok(()),
        }
    }

    fn line_error(
        &self,
        line: u64,
        found: String,
        expected: impl Into<Template>,
        remedy: impl Into<Remedy>,
    ) -> Error {
        Error::Input {
            path: self.path.clone(),
            position: Position::Line(line),
            found,
            expected: expected.into(),
            remedy: remedy.into(),
        }
    }

    /// Converts bytes to text; refuses zero bytes. Sets `replaced` if invalid bytes were replaced.
    fn text<'a>(&self, bytes: &'a [u8], line: u64, replaced: &mut bool) -> Result<Cow<'a, str>> {
        if memchr::memchr(0, bytes).is_some() {
            let remedy = "this seems to be a binary file; if it is text, name its encoding with {encoding}";
            return Err(self.line_error(line, "a zero byte".into(), "text", remedy));
        }
        self.utf8(bytes, line, replaced)
    }

    /// Converts bytes of a format that declares them as text, where zero bytes are allowed. Sets
    /// `replaced` if invalid bytes were replaced.
    fn utf8<'a>(&self, bytes: &'a [u8], line: u64, replaced: &mut bool) -> Result<Cow<'a, str>> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(e) if self.strict => Err(self.line_error(
                line,
                format!("bytes that are not UTF-8: {}", quoted(&bytes[e.valid_up_to()..])),
                "UTF-8 text",
                "name the encoding of the file with {encoding}, or omit {strict} to detect it and to replace invalid bytes",
            )),
            Err(_) => {
                *replaced = true;
                Ok(String::from_utf8_lossy(bytes))
            }
        }
    }

    /// Adds the file or the row of a complete text to an error.
    fn locate_error(&self, mut error: Error, row: u64, name: Option<&str>) -> Error {
        if let Error::Input { path, position, .. } = &mut error {
            match (&self.format, name) {
                (RecordFormat::Rows(_), _) => *position = Position::Row(row),
                (_, Some(name)) => path.push(name),
                _ => {}
            }
        }
        error
    }

    /// Calls `each` with the only record of a span that is a complete text.
    fn read_text_span(
        &self,
        bytes: &[u8],
        span: &TextSpan,
        each: &mut dyn FnMut(Record<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        let SpanKind::Text { name, labels, date } = &span.kind else { return Ok(()) };
        let mut replaced = false;
        let locate = |error| self.locate_error(error, span.line, name.as_deref());
        let text = match self.format {
            RecordFormat::Rows(_) => self.utf8(bytes, span.line, &mut replaced),
            _ => self.text(bytes, span.line, &mut replaced),
        };
        let text = text.map_err(locate)?;
        let values = |column: &'_ Vec<String>| {
            let mut values = Vec::new();
            for value in column {
                self.push_labels(value.clone().into(), &mut values);
            }
            values
        };
        let record = Record {
            name: name.as_deref().map(Into::into),
            labels: labels.iter().map(values).collect(),
            date: date.as_deref().map(|date| self.date(date, span.line)).transpose().map_err(locate)?,
            text,
            place: TextPlace { source: span.source, offset: span.offset, length: bytes.len() as u32 },
            checksum: crc32fast::hash(bytes),
        };
        each(record, replaced)
    }

    /// Calls `each` with every record of a span and whether invalid bytes were replaced. Markup in
    /// texts is removed.
    pub(crate) fn for_each(
        &self,
        bytes: &[u8],
        span: &TextSpan,
        each: &mut dyn FnMut(Record<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        let removes_markup = !matches!(self.format, RecordFormat::Vowpal);
        let mut read = 0;
        self.for_each_with_markup(bytes, span, &mut |mut record, replaced| {
            read += 1;
            if removes_markup && let Some(text) = strip_html(&record.text) {
                self.tally.markup.add(1, span.line);
                record.text = text.into();
            }
            each(record, replaced)
        })?;
        self.tally.add_read(read);
        Ok(())
    }

    /// Calls `each` with every record of a span and whether invalid bytes were replaced.
    fn for_each_with_markup(
        &self,
        bytes: &[u8],
        span: &TextSpan,
        each: &mut dyn FnMut(Record<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        if matches!(span.kind, SpanKind::Text { .. }) {
            return self.read_text_span(bytes, span, each);
        }
        match &self.format {
            RecordFormat::Table(table) => return self.for_each_row(table, bytes, span, each),
            RecordFormat::Json(json) if json.envelope.is_some() => {
                return self.for_each_value(json, bytes, span, each);
            }
            _ => {}
        }
        let (mut at, mut line) = (0, span.line);
        while at < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |found| at + found);
            let whole = &bytes[at..end];
            let whole = whole.strip_suffix(b"\r").unwrap_or(whole);
            let mut replaced = false;
            // Position of the part of a line that is the text.
            let place = |part: &[u8]| TextPlace {
                source: span.source,
                offset: span.offset + at as u64 + (part.as_ptr() as usize - whole.as_ptr() as usize) as u64,
                length: part.len() as u32,
            };
            let record = match &self.format {
                RecordFormat::Lines
                | RecordFormat::Table(_)
                | RecordFormat::Files { .. }
                | RecordFormat::Rows(_) => Some(Record {
                    name: None,
                    labels: Vec::new(),
                    date: None,
                    text: self.text(whole, line, &mut replaced)?,
                    place: place(whole),
                    checksum: crc32fast::hash(whole),
                }),
                _ if whole.trim_ascii().is_empty() => None,
                RecordFormat::Json(json) => {
                    self.parse_json(json, whole, line, place(whole), &mut replaced)?
                }
                RecordFormat::Mallet => {
                    let (name, rest) = split_field(whole);
                    let (label, text) = split_field(rest);
                    Some(Record {
                        name: Some(self.text(name, line, &mut replaced)?),
                        labels: vec![self.labels_of(self.text(label, line, &mut replaced)?)],
                        date: None,
                        text: self.text(text, line, &mut replaced)?,
                        place: place(text),
                        checksum: crc32fast::hash(text),
                    })
                }
                RecordFormat::Vowpal => Some(self.parse_vowpal(whole, line, place(whole), &mut replaced)?),
            };
            if let Some(record) = record {
                each(record, replaced)?;
            }
            line += 1;
            at = end + 1;
        }
        Ok(())
    }

    /// Returns the text of a record that was read before, with its markup. `bytes` are the bytes at
    /// its stored position, and `quoted` is set if a quote precedes them.
    pub(crate) fn text_at<'a>(&self, bytes: &'a [u8], quoted: bool) -> Result<Cow<'a, str>> {
        if self.format.place_is_record() {
            let bytes_of = 0..bytes.len();
            let span = TextSpan { bytes: bytes_of, source: 0, offset: 0, line: 1, kind: SpanKind::Records };
            let mut text = String::new();
            self.for_each_with_markup(bytes, &span, &mut |record, _| {
                text = record.text.into_owned();
                Ok(())
            })?;
            return Ok(text.into());
        }
        match self.format {
            RecordFormat::Table(_) => self.cell(bytes, quoted, 1, &mut false),
            _ => self.text(bytes, 1, &mut false),
        }
    }
}

/// Returns whether a value of a date column says that there is no date.
fn is_missing_date(text: &str) -> bool {
    const MISSING: [&str; 9] = ["", "na", "n/a", "nan", "nat", "null", "none", "-", "?"];
    MISSING.contains(&text.trim().trim_matches('"').to_ascii_lowercase().as_str())
}

/// Splits a line into its first field and the rest after the following blanks.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii_start())
}
