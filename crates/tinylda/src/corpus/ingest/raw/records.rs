//! Parser of records: the text, name, labels and date of each document in every raw text format.
//!
//! Start with [`RecordReader`]. Reports use it to read texts again. Words are extracted by
//! [`words`](crate::corpus::ingest::words).

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use super::json::{JsonEnvelope, find_envelope, is_json_array, is_json_object, is_one_object, next_record};
use super::source::{SpanKind, TextSpan};
use super::table::{CsvLayout, QuoteProblem, detect_table, parse_row};
use super::tally::RecordTally;
use crate::corpus::ingest::Format;
use crate::corpus::ingest::lines::quoted;
use crate::corpus::{DEFAULT_LABEL_COLUMN, Source, TextPlace, parse_date};
use crate::error::{Error, Position, Remedy, Result, Template};

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

/// Fields that the records of a source have, besides the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RecordFields {
    pub(crate) names: bool,
    /// Names of the label columns.
    pub(crate) label_columns: Vec<String>,
    /// Whether a document may have several values in a label column.
    pub(crate) multiple_labels: bool,
    pub(crate) dates: bool,
}

/// Name of the label column with the folders of files.
pub(crate) const FOLDER_LABEL_COLUMN: &str = "folder";

/// Rule for the end of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecordEnds {
    /// A record ends with its line.
    Lines,
    /// A record ends with a line end outside of quotes.
    Quoted { delimiter: u8 },
    /// A record is a JSON value.
    Json(JsonEnvelope),
}

impl RecordEnds {
    /// Returns the position after the last complete record.
    pub(crate) fn find_last(&self, bytes: &[u8]) -> Option<usize> {
        match *self {
            // JSON values are found by their own splitter.
            RecordEnds::Lines | RecordEnds::Json(_) => memchr::memrchr(b'\n', bytes).map(|at| at + 1),
            RecordEnds::Quoted { delimiter } => {
                // Without any quote, the last line end is the end of a record.
                memchr::memchr(b'"', bytes).map_or(RecordEnds::Lines.find_last(bytes), |_| {
                    let (mut at, mut last) = (0, None);
                    while let Some(next) = parse_row(&bytes[at..], delimiter, true, &mut |_, _| {}) {
                        if !next.complete {
                            break;
                        }
                        at += next.bytes;
                        last = Some(at);
                    }
                    last
                })
            }
        }
    }

    /// Returns the remedy for a record without an end.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            RecordEnds::Lines => "check that the file has one document per line",
            RecordEnds::Json(_) => "check that the file is complete, and that quotes and brackets are closed",
            RecordEnds::Quoted { .. } => {
                "close the quote, or use {quotes=no} if quotes have no meaning in this file"
            }
        }
    }
}

/// Field of JSON Lines with the text that need not be stored.
pub(crate) const DEFAULT_FIELD: &str = "text";

/// Fields of JSON records, as paths with dots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JsonFields {
    /// Where the records are; `None` if every line is one.
    pub(crate) envelope: Option<JsonEnvelope>,
    pub(crate) text: Vec<String>,
    pub(crate) id: Option<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) date: Option<String>,
}

/// Format of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    /// Every line is a text.
    Lines,
    Table(CsvLayout),
    Json(JsonFields),
    /// A name, a label and the text, separated by blanks.
    Mallet,
    /// `label 'name |namespace word word:count`.
    Vowpal,
    /// Complete texts from files, which have names. With `folder_labels`, their folders are labels.
    Files {
        folder_labels: bool,
    },
    /// Complete texts from rows of a table.
    Rows(RecordFields),
}

impl RecordFormat {
    /// Returns where records end.
    pub(crate) fn ends(&self) -> RecordEnds {
        match self {
            RecordFormat::Table(table) if table.quotes => RecordEnds::Quoted { delimiter: table.delimiter },
            RecordFormat::Json(JsonFields { envelope: Some(envelope), .. }) => {
                RecordEnds::Json(envelope.clone())
            }
            _ => RecordEnds::Lines,
        }
    }

    /// Describes a source of such records, so that their texts can be read again later.
    pub(crate) fn source(&self, path: &str, input_format: Format) -> Source {
        let mut source =
            Source { path: path.into(), format: input_format.name().into(), ..Source::default() };
        match self {
            RecordFormat::Json(json) if json.text != [DEFAULT_FIELD] => source.text.clone_from(&json.text),
            RecordFormat::Table(table) if table.text.len() > 1 => {
                source.text = table.text.iter().map(|column| (column + 1).to_string()).collect();
                source.delimiter = Some(table.delimiter.into());
                source.no_quotes = !table.quotes;
            }
            _ => {}
        }
        source
    }

    /// Returns how the texts of a source are read; `None` if it is not known.
    pub(crate) fn of_source(source: &Source) -> Option<RecordFormat> {
        let name = source.format.as_str();
        Some(match Format::ALL.into_iter().find(|format| format.name() == name)? {
            Format::Text => RecordFormat::Lines,
            Format::Folder | Format::Zip | Format::Html | Format::Xml | Format::Docx => {
                RecordFormat::Files { folder_labels: false }
            }
            Format::Mallet => RecordFormat::Mallet,
            Format::VowpalWabbit => RecordFormat::Vowpal,
            format @ (Format::JsonLines | Format::Json) => {
                let text =
                    if source.text.is_empty() { vec![DEFAULT_FIELD.into()] } else { source.text.clone() };
                let envelope = (format == Format::Json).then_some(JsonEnvelope::Values);
                RecordFormat::Json(JsonFields { envelope, text, ..JsonFields::default() })
            }
            Format::Csv => {
                let number = |column: &String| column.parse::<usize>().ok()?.checked_sub(1);
                let delimiter = source.delimiter.map_or(Some(b','), |c| u8::try_from(c).ok())?;
                let text = source.text.iter().map(number).collect::<Option<_>>()?;
                let (quotes, header) = (!source.no_quotes, false);
                RecordFormat::Table(CsvLayout {
                    delimiter,
                    quotes,
                    header,
                    columns: None,
                    text,
                    id: None,
                    labels: Vec::new(),
                    date: None,
                })
            }
            _ => return None,
        })
    }

    /// Returns whether the stored position covers more than the text itself, so that the complete
    /// record must be parsed to find the text.
    pub(crate) fn place_is_record(&self) -> bool {
        match self {
            RecordFormat::Table(table) => table.text.len() > 1,
            RecordFormat::Json(_) | RecordFormat::Vowpal => true,
            RecordFormat::Lines
            | RecordFormat::Mallet
            | RecordFormat::Files { .. }
            | RecordFormat::Rows(_) => false,
        }
    }
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

    /// Calls `each` with every record of a span and whether invalid bytes were replaced.
    pub(crate) fn for_each(
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

    /// Converts a field of a table to text: two quotes in a quoted field stand for one.
    fn cell<'a>(
        &self,
        field: &'a [u8],
        quoted: bool,
        line: u64,
        replaced: &mut bool,
    ) -> Result<Cow<'a, str>> {
        let text = self.text(field, line, replaced)?;
        Ok(if quoted && text.contains("\"\"") { text.replace("\"\"", "\"").into() } else { text })
    }

    /// Returns the text of a record that was read before. `bytes` are the bytes at its stored
    /// position, and `quoted` is set if a quote precedes them.
    pub(crate) fn text_at<'a>(&self, bytes: &'a [u8], quoted: bool) -> Result<Cow<'a, str>> {
        if self.format.place_is_record() {
            let bytes_of = 0..bytes.len();
            let span = TextSpan { bytes: bytes_of, source: 0, offset: 0, line: 1, kind: SpanKind::Records };
            let mut text = String::new();
            self.for_each(bytes, &span, &mut |record, _| {
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

    fn for_each_value(
        &self,
        json: &JsonFields,
        bytes: &[u8],
        span: &TextSpan,
        each: &mut dyn FnMut(Record<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        let (mut at, mut line) = (0, span.line);
        while let Some(record) = next_record(bytes, at) {
            line += memchr::memchr_iter(b'\n', &bytes[at..record.start]).count() as u64;
            let value = &bytes[record.clone()];
            let place = TextPlace {
                source: span.source,
                offset: span.offset + record.start as u64,
                length: value.len() as u32,
            };
            let mut replaced = false;
            if let Some(record) = self.parse_json(json, value, line, place, &mut replaced)? {
                each(record, replaced)?;
            }
            line += memchr::memchr_iter(b'\n', value).count() as u64;
            at = record.end;
        }
        Ok(())
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

    fn for_each_row(
        &self,
        table: &CsvLayout,
        bytes: &[u8],
        span: &TextSpan,
        each: &mut dyn FnMut(Record<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        let (mut at, mut line) = (0, span.line);
        let mut fields: Vec<(&[u8], bool)> = Vec::new();
        let mut head = table.header && span.line == 1;
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
            if std::mem::take(&mut head) {
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

    /// Parses a JSON record. Returns `None` for a record without text, which is counted.
    fn parse_json<'a>(
        &self,
        json: &JsonFields,
        bytes: &'a [u8],
        line: u64,
        place: TextPlace,
        replaced: &mut bool,
    ) -> Result<Option<Record<'a>>> {
        let text = self.text(bytes, line, replaced)?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| {
            let remedy = match json.envelope {
                None => {
                    "give one complete object per line, or use {format=json} if objects span several lines"
                }
                Some(_) => "correct the file; jq shows where it is damaged",
            };
            self.line_error(line, format!("{} ({e})", quoted(bytes)), "a JSON object", remedy)
        })?;
        let find = |path: &str| {
            path.split('.').try_fold(&value, |at, key| match at {
                serde_json::Value::Array(list) => key.parse().ok().and_then(|i: usize| list.get(i)),
                other => other.get(key),
            })
        };
        let Some(all) = self.json_text(json, &value, &find, line)? else {
            self.tally.records_without_text.add(1, line);
            return Ok(None);
        };
        let short = |path: &str| {
            let mut out = String::new();
            if let Some(found) = find(path) {
                push_text(found, &mut out);
            }
            out
        };
        let labels = |path: &String| {
            let mut labels = Vec::new();
            let list = find(path).map_or(&[][..], |found| match found {
                serde_json::Value::Array(list) => &list[..],
                one => std::slice::from_ref(one),
            });
            for value in list {
                let mut label = String::new();
                push_text(value, &mut label);
                self.push_labels(label.into(), &mut labels);
            }
            labels
        };
        Ok(Some(Record {
            name: json.id.as_deref().map(|path| short(path).into()),
            labels: json.labels.iter().map(labels).collect(),
            date: json.date.as_deref().map(|path| self.date(&short(path), line)).transpose()?,
            text: all.into(),
            place,
            checksum: crc32fast::hash(bytes),
        }))
    }

    /// Returns the text of a JSON record: the record itself if it is a string, else its text
    /// fields. Returns `None` if it has none of them.
    fn json_text<'v>(
        &self,
        json: &JsonFields,
        value: &'v serde_json::Value,
        find: &dyn Fn(&str) -> Option<&'v serde_json::Value>,
        line: u64,
    ) -> Result<Option<String>> {
        if let serde_json::Value::String(text) = value {
            return Ok(Some(text.clone()));
        }
        let (mut all, mut any) = (String::new(), false);
        for path in &json.text {
            let Some(found) = find(path) else { continue };
            any = true;
            if !all.is_empty() {
                all.push(' ');
            }
            if !push_text(found, &mut all) {
                return Err(self.line_error(
                    line,
                    format!("an object in the field {path:?}"),
                    "text, or a list of texts",
                    Remedy::from("continue into the object with a dot: ")
                        .parameter("text_field", Some(&format!("{path}.NAME"))),
                ));
            }
        }
        if !any && self.strict {
            let found = match value {
                serde_json::Value::Object(map) => {
                    let names = map.keys().take(40).map(String::as_str).collect::<Vec<_>>();
                    format!("the fields {}", names.join(", "))
                }
                _ => "a value that is not an object".into(),
            };
            let expected = Template::default().text(format!("the field {:?}", json.text.join("\" or \"")));
            let remedy = "name the field with {text_field}, or omit {strict} to skip such records";
            return Err(self.line_error(line, found, expected, remedy));
        }
        Ok(any.then_some(all))
    }

    /// Counts the weight of a namespace of Vowpal Wabbit, such as `words:0.5`, which is ignored.
    fn note_weight(&self, namespace: &str, line: u64) -> Result<()> {
        let weight = namespace.rsplit_once(':').and_then(|(_, weight)| weight.parse::<f64>().ok());
        if weight.is_none_or(|weight| (weight - 1.0).abs() < f64::EPSILON) {
            return Ok(());
        }
        if self.strict {
            return Err(self.line_error(
                line,
                format!("the namespace weight {namespace:?}"),
                "a namespace without a weight",
                "remove the weight, or omit {strict} to ignore it",
            ));
        }
        self.tally.namespace_weights.add(1, line);
        Ok(())
    }

    fn parse_vowpal<'a>(
        &self,
        whole: &'a [u8],
        line: u64,
        place: TextPlace,
        replaced: &mut bool,
    ) -> Result<Record<'a>> {
        let text = self.text(whole, line, replaced)?;
        let Some(bar) = text.find('|') else {
            return Err(self.line_error(
                line,
                quoted(whole),
                "label 'name |words word word:count",
                "put a | before the words, or choose another {format}",
            ));
        };
        let (mut name, mut label) = (String::new(), String::new());
        for (i, part) in text[..bar].split_ascii_whitespace().enumerate() {
            if let Some(tag) = part.strip_prefix('\'') {
                name = tag.into();
            } else if i == 0 {
                label = part.into();
            } else if part.parse::<f64>().is_err() {
                name = part.into();
            }
        }
        let mut all = String::with_capacity(text.len());
        for space in text[bar + 1..].split('|') {
            // A word directly after the bar is the namespace.
            let (namespace, words) = if space.starts_with(|c: char| c.is_ascii_whitespace()) {
                ("", space)
            } else {
                space.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((space, ""))
            };
            self.note_weight(namespace, line)?;
            for feature in words.split_ascii_whitespace() {
                let (word, count) = match feature.rsplit_once(':') {
                    Some((word, value)) => (word, value.parse::<f64>().ok()),
                    None => (feature, Some(1.0)),
                };
                let whole_count = count.filter(|v| v.fract() == 0.0 && (0.0..=65_535.0).contains(v));
                let Some(count) = whole_count else {
                    return Err(self.line_error(
                        line,
                        format!("the feature {feature:?}"),
                        "word, or word:count with a whole count up to 65535",
                        "give counts instead of weights",
                    ));
                };
                if count == 0.0 {
                    self.tally.zero_features.add(1, line);
                }
                for _ in 0..count as u32 {
                    all.push_str(word);
                    all.push(' ');
                }
                if all.len() > super::source::MAX_RECORD_BYTES {
                    return Err(self.line_error(
                        line,
                        "more than 64 MiB of words".into(),
                        "a document",
                        "split it into parts",
                    ));
                }
            }
        }
        Ok(Record {
            name: Some(name.into()),
            labels: vec![self.labels_of(label.into())],
            date: None,
            text: all.into(),
            place,
            checksum: crc32fast::hash(whole),
        })
    }
}

/// Returns whether a value of a date column says that there is no date.
fn is_missing_date(text: &str) -> bool {
    const MISSING: [&str; 9] = ["", "na", "n/a", "nan", "nat", "null", "none", "-", "?"];
    MISSING.contains(&text.trim().trim_matches('"').to_ascii_lowercase().as_str())
}

/// Appends a text, a number or a list of them to `out`, and nothing for null. Returns false for
/// objects.
fn push_text(value: &serde_json::Value, out: &mut String) -> bool {
    use serde_json::Value;
    match value {
        Value::Null => {}
        Value::String(text) => out.push_str(text),
        Value::Array(list) => {
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                if !push_text(item, out) {
                    return false;
                }
            }
        }
        Value::Object(_) => return false,
        other => out.push_str(&other.to_string()),
    }
    true
}

/// Splits a line into its first field and the rest after the following blanks.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii_start())
}

/// Detects the format of records, and the delimiter of a table. `whole` is set if the input ends
/// with these bytes.
pub(crate) fn detect_records(start: &[u8], whole: bool) -> (Format, Option<u8>) {
    const MAX_JUDGED_LINES: usize = 20;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let mut lines: Vec<&[u8]> = start
        .split_inclusive(|&b| b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .take(MAX_JUDGED_LINES)
        .collect();
    // The last line may be incomplete.
    if !whole && lines.len() > 1 {
        lines.pop_if(|last| !last.ends_with(b"\n"));
    }
    let all =
        |test: &dyn Fn(&[u8]) -> bool| !lines.is_empty() && lines.iter().all(|line| test(line.trim_ascii()));
    if is_json_array(start) {
        return (Format::Json, None);
    }
    if is_json_object(start) {
        let is_object = |line: &&[u8]| is_one_object(line.trim_ascii());
        let objects = lines.iter().filter(|line| is_object(line)).count();
        // Most lines decide, so that a damaged line is reported by its number.
        let is_lines = lines.first().is_some_and(is_object)
            && 2 * objects >= lines.len()
            && (lines.len() > 1 || !is_envelope(start));
        return (if is_lines { Format::JsonLines } else { Format::Json }, None);
    }
    let vowpal = |line: &[u8]| {
        memchr::memchr(b'|', line).is_some_and(|bar| {
            let head = &line[..bar];
            head.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty()).all(|part| {
                part.starts_with(b"'")
                    || std::str::from_utf8(part).is_ok_and(|text| text.parse::<f64>().is_ok())
            })
        })
    };
    if all(&vowpal) {
        return (Format::VowpalWabbit, None);
    }
    match detect_table(start, whole) {
        Some(delimiter) => (Format::Csv, Some(delimiter)),
        None => (Format::Text, None),
    }
}

/// Returns whether a text is one object with an array of records.
fn is_envelope(start: &[u8]) -> bool {
    matches!(find_envelope(start, &[]), JsonEnvelope::Member(_))
}
