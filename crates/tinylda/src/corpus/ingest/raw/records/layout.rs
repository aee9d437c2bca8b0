//! Layout of records: which fields they have and where they end.
//!
//! Start with [`RecordFormat`].

use crate::corpus::Source;
use crate::corpus::ingest::Format;
use crate::corpus::ingest::raw::json::JsonEnvelope;
use crate::corpus::ingest::raw::table::{CsvLayout, parse_row};

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
const DEFAULT_FIELD: &str = "text";

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
                    start_line: 1,
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
