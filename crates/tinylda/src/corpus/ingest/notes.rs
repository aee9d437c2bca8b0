//! What an import assumed about its inputs, and what it skipped, as data for a report to the user.

use std::path::PathBuf;

use super::{Compression, Format};

/// What was assumed about an input, and what was skipped in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputNotes {
    /// Path as it was given; `standard input` for a stream.
    pub path: PathBuf,
    /// Format that was read.
    pub format: Format,
    /// Compression of the input.
    pub compression: Compression,
    /// Raw text: encodings other than UTF-8 and the number of files in each.
    pub encodings: Vec<(String, u64)>,
    /// Raw text: whether bytes that are not valid in an encoding other than UTF-8 were replaced.
    pub replaced: bool,
    /// Raw text: whether lines end with carriage returns alone.
    pub carriage_returns: bool,
    /// CSV and Parquet: the columns that were read.
    pub table: Option<TableNotes>,
    /// JSON: the fields that were read. It is `None` if the records are strings.
    pub fields: Option<TableNotes>,
    /// Folders and archives: files that were skipped.
    pub skipped_files: SkippedFiles,
    /// Number of XML documents that are not well-formed or use entities that are not declared.
    pub damaged_files: u64,
    /// Records that were skipped or changed.
    pub records: RecordNotes,
}

impl InputNotes {
    pub(crate) fn new(path: PathBuf, format: Format, compression: Compression) -> InputNotes {
        InputNotes {
            path,
            format,
            compression,
            encodings: Vec::new(),
            replaced: false,
            carriage_returns: false,
            table: None,
            fields: None,
            skipped_files: SkippedFiles::default(),
            damaged_files: 0,
            records: RecordNotes::default(),
        }
    }
}

/// Columns of a table or fields of records that were read, by name, or by number from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableNotes {
    /// Columns with the text.
    pub text: Vec<String>,
    /// Column with the document names.
    pub id: Option<String>,
    /// Columns with labels.
    pub labels: Vec<String>,
    /// Column with dates.
    pub date: Option<String>,
    /// Columns that were not read, if the table has names of columns.
    pub unread: Vec<String>,
    /// Delimiter of the columns, if the table is a text file.
    pub delimiter: Option<char>,
    /// Whether the first row contains the names of the columns.
    pub header: bool,
    /// Whether the first rows do not show if the table has a header.
    pub header_assumed: bool,
    /// Number of rows before the table, such as a title. They were skipped.
    pub rows_before: u64,
    /// Names that several columns have, each with the number of the column that was read, from 1.
    pub ambiguous: Vec<(String, usize)>,
}

/// File that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// Name of the file in its folder or archive.
    pub name: String,
    /// What the file is.
    pub found: String,
    /// How to make the file readable; may be empty.
    pub remedy: &'static str,
}

/// Files that were skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedFiles {
    /// Number of files.
    pub count: u64,
    /// The first files.
    pub examples: Vec<SkippedFile>,
}

impl SkippedFiles {
    /// Maximum number of examples.
    const MAX_EXAMPLES: usize = 1000;

    pub(crate) fn push(&mut self, file: SkippedFile) {
        self.count += 1;
        if self.examples.len() < SkippedFiles::MAX_EXAMPLES {
            self.examples.push(file);
        }
    }

    /// Appends other files.
    pub(crate) fn append(&mut self, other: SkippedFiles) {
        self.count += other.count;
        self.examples.extend(other.examples);
        self.examples.truncate(SkippedFiles::MAX_EXAMPLES);
    }
}

/// Number of records with a certain property, and the line of the first one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCount {
    /// Number of records.
    pub count: u64,
    /// Line of the first one, from 1.
    pub first_line: u64,
}

/// Records that were skipped or changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordNotes {
    /// Rows with fewer columns than the first row, but with text. They were imported.
    pub short_rows: LineCount,
    /// Rows with more columns than the first row, or without a text column. They were skipped.
    pub skipped_rows: LineCount,
    /// JSON records without the text field. They were skipped.
    pub records_without_text: LineCount,
    /// JSON records without one of the fields with the name, the labels or the date. They were
    /// imported.
    pub missing_fields: LineCount,
    /// JSON: names, labels and dates that are objects. They were left out.
    pub object_values: LineCount,
    /// Number of texts with tags or entities of HTML, which were removed or decoded.
    pub markup: u64,
    /// Vowpal Wabbit: features with the count 0. They were left out.
    pub zero_features: LineCount,
    /// Vowpal Wabbit: weights of namespaces. They were ignored.
    pub namespace_weights: LineCount,
    /// Vowpal Wabbit: importance weights of documents. They were ignored.
    pub document_weights: LineCount,
}
