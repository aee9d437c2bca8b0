//! Reader of Parquet tables: documents as lists of words, as rows of (document, word, count), or as
//! texts. A few columns are read batch by batch.
//!
//! The crate parquet reads the pages as they are in the file; the module `pages` decompresses them
//! in pure Rust up to a size limit. Start with `ParquetFile::open` and
//! `ParquetFile::document_columns`. Texts are handed to `raw` by the module `texts`.

mod pages;
#[cfg(feature = "text")]
mod texts;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "text")]
use parquet::basic::TimeUnit;
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;

#[cfg(feature = "text")]
pub(super) use self::texts::ParquetTexts;

use self::pages::{DecompressedPages, LargePage, PageLimit};
use super::dtype::to_count;
use super::options::is_text_name;
use super::shared_file::SharedFile;
use super::sorter::{DocumentSorter, EntrySorter, SortLimits};
use super::{MAX_UNCHECKED_WORDS, ReadOptions, RecordOptions, TableColumns, file_error};
use crate::corpus::Vocabulary;
#[cfg(feature = "text")]
use crate::corpus::date::{date_of_days, date_of_seconds};
use crate::error::{Error, Result, Template, catch_panic};
use crate::files::folder_of;
use crate::format::human_bytes;

/// Maximum number of rows that are read at a time.
const MAX_ROWS_PER_READ: usize = 1024;
/// Maximum number of bytes of the rows that are read at a time, on average.
const MAX_BYTES_PER_READ: u64 = 4 << 20;
const REWRITE_REMEDY: &str = "copy the file again, or write it again";
type ParquetResult<T> = std::result::Result<T, ParquetError>;

/// Open Parquet file.
#[derive(Clone)]
pub(super) struct ParquetFile {
    path: PathBuf,
    source: Arc<SharedFile>,
    metadata: Arc<ParquetMetaData>,
    memory: Option<PageMemory>,
}

/// Memory for the pages of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageMemory {
    /// Limit in bytes, as the user gave it.
    limit: u64,
    /// Bytes that the process holds already.
    in_use: u64,
}

impl PageMemory {
    /// Share of all pages in the memory of the import, as a divisor.
    pub(super) const SHARE_DIVISOR: u64 = 3;
    /// Share of a page in the memory of the import, as a divisor: there is a page as it is in the
    /// file, decompressed, and copied.
    const DIVISOR: u64 = 3 * PageMemory::SHARE_DIVISOR;

    pub(super) fn new(limit: u64, in_use: u64) -> PageMemory {
        PageMemory { limit, in_use }
    }

    fn max_page(self) -> u64 {
        self.limit.saturating_sub(self.in_use) / PageMemory::DIVISOR
    }

    /// Returns the error for a page of `bytes` bytes.
    fn refuse(self, bytes: u64, path: &Path) -> Error {
        let need = (self.in_use + PageMemory::DIVISOR * (bytes + 1)).next_multiple_of(1 << 20);
        file_error(
            path,
            format!("a page of {}, for which {} of memory are needed", human_bytes(bytes), human_bytes(need)),
            format!("pages that fit into {}, the limit of {{memory}}", human_bytes(self.limit)),
            format!("use {{memory={}MiB}}, or write the file with smaller row groups", need >> 20),
        )
    }
}

/// Kinds of columns that the import distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParquetKind {
    Text,
    TextList,
    Integer,
    Float,
    Other,
}

impl ParquetKind {
    fn of(column: &ColumnDescPtr) -> ParquetKind {
        let text = matches!(column.logical_type_ref(), Some(LogicalType::String | LogicalType::Enum))
            || matches!(column.converted_type(), ConvertedType::UTF8 | ConvertedType::ENUM);
        // Nested lists are not lists of words.
        match (column.physical_type(), column.max_rep_level()) {
            (PhysicalType::BYTE_ARRAY, 0) if text => ParquetKind::Text,
            (PhysicalType::BYTE_ARRAY, 1) if text => ParquetKind::TextList,
            (PhysicalType::INT32 | PhysicalType::INT64, 0) => ParquetKind::Integer,
            (PhysicalType::FLOAT | PhysicalType::DOUBLE, 0) => ParquetKind::Float,
            _ => ParquetKind::Other,
        }
    }
    fn name(self) -> &'static str {
        match self {
            ParquetKind::Text => "text",
            ParquetKind::TextList => "list of texts",
            ParquetKind::Integer => "whole number",
            ParquetKind::Float => "real number",
            ParquetKind::Other => "another type",
        }
    }
}

/// Value of a column.
#[derive(Debug, Clone)]
enum ParquetValue {
    Missing,
    Text(ByteArray),
    Integer(i64),
    Float(f64),
}

impl ParquetFile {
    /// Opens a file. Errors refer to it by `path`.
    pub(super) fn open(path: &Path, file: SharedFile) -> Result<ParquetFile> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(parquet_error(path))?;
        Ok(ParquetFile {
            path: path.to_path_buf(),
            source: Arc::new(file),
            metadata: Arc::new(metadata),
            memory: None,
        })
    }

    /// Limits the size of pages, so that they fit in memory.
    #[must_use]
    pub(super) fn within(self, memory: Option<PageMemory>) -> ParquetFile {
        let Some(limit) = memory else { return self };
        let source = SharedFile::clone(&self.source).with_max_read(limit.max_page());
        ParquetFile { source: Arc::new(source), memory, ..self }
    }

    /// Converts an error of the Parquet reader to an error about this file.
    fn read_error(&self, error: ParquetError) -> Error {
        let page = match &error {
            ParquetError::External(cause) => cause.downcast_ref::<LargePage>().copied(),
            _ => None,
        };
        match (page, self.memory) {
            (Some(page), Some(memory)) => memory.refuse(page.bytes, &self.path),
            _ => parquet_error(&self.path)(error),
        }
    }

    /// Returns the leaves of the schema: index, name of the top-level column, and kind.
    fn leaf_columns(&self) -> impl Iterator<Item = (usize, &str, ParquetKind)> {
        let schema = self.metadata.file_metadata().schema_descr();
        schema.columns().iter().enumerate().map(|(i, column)| {
            let parts = column.path().parts();
            let known = parts.len() == 1 || ParquetKind::of(column) == ParquetKind::TextList;
            let kind = if known { ParquetKind::of(column) } else { ParquetKind::Other };
            (i, parts.first().map_or("", String::as_str), kind)
        })
    }

    /// Lists the columns for an error message.
    fn list_columns(&self) -> String {
        let mut all: Vec<String> = self
            .leaf_columns()
            .take(30)
            .map(|(_, name, kind)| format!("{name:?} ({})", kind.name()))
            .collect();
        all.dedup();
        all.join(", ")
    }

    /// Finds a column of one of these kinds by name, ignoring case, or by number from 1.
    fn find_column(&self, option: &str, name: &str, kinds: &[ParquetKind]) -> Result<usize> {
        let wanted: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let wanted = wanted.join(" or ");
        let schema = self.metadata.file_metadata().schema_descr();
        let with =
            |test: &dyn Fn(usize, &str) -> bool| self.leaf_columns().find(|&(i, column, _)| test(i, column));
        let found = with(&|_, column| column == name)
            .or_else(|| with(&|_, column| column.eq_ignore_ascii_case(name)))
            .or_else(|| {
                let number = name.parse::<usize>().ok()?;
                with(&|i, _| schema.get_column_root_idx(i) + 1 == number)
            });
        match found {
            Some((i, _, kind)) if kinds.contains(&kind) => Ok(i),
            Some((_, column, kind)) => Err(file_error(
                &self.path,
                format!("the column {column:?}, which holds: {}", kind.name()),
                &wanted,
                Template::from(format!("choose another {{{option}}}; available: ")).text(self.list_columns()),
            )),
            None => Err(file_error(
                &self.path,
                format!("no column {name:?}"),
                format!("a column for {{{option}}}: {wanted}"),
                Template::from("available: ").text(self.list_columns()),
            )),
        }
    }

    /// Returns the only column of a kind that is not taken; `None` if there are several.
    fn only_column(&self, kind: ParquetKind, taken: &dyn Fn(usize) -> bool) -> Option<usize> {
        let mut all = self.leaf_columns().filter(|&(i, _, k)| k == kind && !taken(i));
        let (i, ..) = all.next()?;
        all.next().is_none().then_some(i)
    }

    /// Returns the names of the columns, each once.
    fn column_names(&self) -> Vec<String> {
        let fields = self.metadata.file_metadata().schema_descr().root_schema().get_fields().iter();
        fields.map(|field| field.name().to_owned()).collect()
    }

    fn column(&self, leaf: usize) -> ParquetColumn {
        let descriptor = self.metadata.file_metadata().schema_descr().column(leaf);
        let (levels, repeats) = (descriptor.max_def_level(), descriptor.max_rep_level());
        let name = descriptor.path().parts().first().cloned().unwrap_or_default();
        ParquetColumn {
            file: self.clone(),
            leaf,
            name,
            group: 0,
            reader: None,
            step: MAX_ROWS_PER_READ,
            levels,
            repeats,
            defined: Vec::new(),
            repeated: Vec::new(),
            values: Vec::new(),
            rows: Vec::new(),
            next: 0,
            row: 0,
        }
    }

    /// Returns the number of rows that the file declares.
    fn rows(&self) -> u64 {
        u64::try_from(self.metadata.file_metadata().num_rows()).unwrap_or(0)
    }
}

/// Converts an error of the Parquet reader to an error about the file.
fn parquet_error(path: &Path) -> impl FnOnce(ParquetError) -> Error + use<> {
    let path = path.to_path_buf();
    move |e| match e {
        ParquetError::NYI(text) => file_error(
            &path,
            format!("a Parquet file with an unsupported compression or encoding ({text})"),
            "snappy, gzip, zstd or lz4",
            "write it again, for instance with df.to_parquet(file, compression=\"snappy\")",
        ),
        e => file_error(
            &path,
            format!("a Parquet file that is damaged or truncated ({e})"),
            "a complete Parquet file",
            REWRITE_REMEDY,
        ),
    }
}

/// Reads a batch of rows: their definition and repetition levels, and the values that are present.
/// Returns the number of rows.
fn read_batch<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    value: impl Fn(T::T) -> ParquetValue,
    defined: &mut Vec<i16>,
    repeated: &mut Vec<i16>,
    values: &mut Vec<ParquetValue>,
) -> ParquetResult<usize> {
    let mut found = Vec::new();
    // The crate's decoders panic on damaged pages. A panic is reported as an error of the file,
    // too, and the reader is not used again.
    let (records, ..) = catch_panic(|| reader.read_records(rows, Some(defined), Some(repeated), &mut found))
        .unwrap_or_else(|| Err(ParquetError::General("a page that cannot be decoded".into())))?;
    values.extend(found.into_iter().map(value));
    Ok(records)
}

/// Reader of a column from front to back.
struct ParquetColumn {
    file: ParquetFile,
    leaf: usize,
    name: String,
    group: usize,
    reader: Option<ColumnReader>,
    /// Number of rows of the current row group that are read at a time.
    step: usize,
    levels: i16,
    repeats: i16,
    defined: Vec<i16>,
    repeated: Vec<i16>,
    /// Values of the batch in order, including missing ones.
    values: Vec<ParquetValue>,
    /// End of each row of the batch in `values`.
    rows: Vec<usize>,
    next: usize,
    row: u64,
}

impl ParquetColumn {
    /// Returns the values of the next row: one value, or those of its list; `None` at the end of
    /// the file.
    fn next_row(&mut self) -> Result<Option<&[ParquetValue]>> {
        while self.next == self.rows.len() {
            if !self.fill()? {
                return Ok(None);
            }
        }
        let from = if self.next == 0 { 0 } else { self.rows[self.next - 1] };
        let to = self.rows[self.next];
        self.next += 1;
        self.row += 1;
        Ok(Some(&self.values[from..to]))
    }

    /// Returns the value of the next row; `None` at the end of the file.
    fn next_value(&mut self) -> Result<Option<ParquetValue>> {
        Ok(self.next_row()?.map(|row| row.first().cloned().unwrap_or(ParquetValue::Missing)))
    }

    fn open_group(&mut self) -> Result<bool> {
        let Some(group) = self.file.metadata.row_groups().get(self.group) else { return Ok(false) };
        self.group += 1;
        let path = &self.file.path;
        let Some(chunk) = group.columns().get(self.leaf) else {
            return Err(parquet_error(path)(ParquetError::General("a row group without all columns".into())));
        };
        let negative = chunk.data_page_offset() < 0
            || chunk.dictionary_page_offset().is_some_and(|at| at < 0)
            || chunk.compressed_size() < 0
            || chunk.num_values() < 0;
        if negative || group.num_rows() < 0 || chunk.column_type() != chunk.column_descr().physical_type() {
            return Err(parquet_error(path)(ParquetError::General("a column with a negative size".into())));
        }
        // Texts may be long: memory should not depend on their length.
        let bytes = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
        let rows = MAX_BYTES_PER_READ.saturating_mul(group.num_rows() as u64) / bytes.max(1);
        self.step = rows.clamp(1, MAX_ROWS_PER_READ as u64) as usize;
        let compression = chunk.compression();
        let plain = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build();
        let compressed = plain
            .and_then(|plain| {
                SerializedPageReader::new(
                    Arc::clone(&self.file.source),
                    &plain,
                    group.num_rows() as usize,
                    None,
                )
            })
            .map_err(|error| self.file.read_error(error))?;
        let memory = self.file.memory.map_or(u64::MAX, PageMemory::max_page);
        let pages = DecompressedPages { compressed, compression, limit: PageLimit { memory, column: bytes } };
        self.reader = Some(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)));
        Ok(true)
    }

    /// Reads a batch; returns false at the end of the file. A batch may be empty at the end of a
    /// row group.
    fn fill(&mut self) -> Result<bool> {
        self.values.clear();
        self.rows.clear();
        self.defined.clear();
        self.repeated.clear();
        self.next = 0;
        if self.reader.is_none() && !self.open_group()? {
            return Ok(false);
        }
        let Some(reader) = &mut self.reader else { return Ok(false) };
        let step = self.step;
        let (defined, repeated, values) = (&mut self.defined, &mut self.repeated, &mut self.values);
        let records = match reader {
            ColumnReader::ByteArrayColumnReader(r) => {
                read_batch(r, step, ParquetValue::Text, defined, repeated, values)
            }
            ColumnReader::Int32ColumnReader(r) => {
                read_batch(r, step, |n| ParquetValue::Integer(i64::from(n)), defined, repeated, values)
            }
            ColumnReader::Int64ColumnReader(r) => {
                read_batch(r, step, ParquetValue::Integer, defined, repeated, values)
            }
            ColumnReader::FloatColumnReader(r) => {
                read_batch(r, step, |v| ParquetValue::Float(f64::from(v)), defined, repeated, values)
            }
            ColumnReader::DoubleColumnReader(r) => {
                read_batch(r, step, ParquetValue::Float, defined, repeated, values)
            }
            _ => Ok(0),
        };
        let records = records.map_err(|error| self.file.read_error(error))?;
        if records == 0 {
            self.reader = None;
            return Ok(true);
        }
        self.split_rows(records)
    }

    /// Inserts missing values and finds the end of every row.
    fn split_rows(&mut self, records: usize) -> Result<bool> {
        if self.levels == 0 && self.repeats == 0 {
            self.rows.extend(1..=self.values.len());
        } else {
            let mut present = std::mem::take(&mut self.values).into_iter();
            for (i, &level) in self.defined.iter().enumerate() {
                if i > 0 && (self.repeats == 0 || self.repeated.get(i) == Some(&0)) {
                    self.rows.push(self.values.len());
                }
                if level == self.levels {
                    self.values.extend(present.next());
                } else if self.repeats == 0 {
                    self.values.push(ParquetValue::Missing);
                }
            }
            if !self.defined.is_empty() {
                self.rows.push(self.values.len());
            }
        }
        if self.rows.len() == records {
            return Ok(true);
        }
        Err(parquet_error(&self.file.path)(ParquetError::General(
            "a page with the wrong number of rows".into(),
        )))
    }

    /// Returns the next value as a count; 0 only if zeros are skipped.
    fn next_count(&mut self, options: &ReadOptions) -> Result<u32> {
        let value = self.next_value()?.unwrap_or(ParquetValue::Missing);
        match self.count(&value)? {
            0 if !options.skip_zeros => {
                Err(self.row_error("the count 0", super::lines::COUNT_EXPECTED, super::ZERO_REMEDY))
            }
            times => Ok(times),
        }
    }

    fn row_error(&self, found: &str, expected: &str, remedy: &str) -> Error {
        file_error(
            &self.file.path,
            format!("{found} in row {} of the column {:?}", self.row, self.name),
            expected,
            remedy,
        )
    }

    fn text<'v>(&self, value: &'v ByteArray) -> Result<&'v str> {
        std::str::from_utf8(value.data()).map_err(|_| {
            self.row_error("bytes that are not UTF-8", "text in UTF-8", "write the file again as UTF-8")
        })
    }

    /// Converts a text or an integer to a name; `None` for other values.
    fn name(&self, value: &ParquetValue) -> Result<Option<String>> {
        Ok(match value {
            ParquetValue::Text(text) => Some(self.text(text)?.to_owned()),
            ParquetValue::Integer(n) => Some(n.to_string()),
            ParquetValue::Float(_) | ParquetValue::Missing => None,
        })
    }

    /// Returns the next row as labels: one value, or those of its list. Missing values are omitted.
    #[cfg(feature = "text")]
    fn next_labels(&mut self) -> Result<Vec<String>> {
        let values = self.next_row()?.unwrap_or_default().to_vec();
        values.iter().filter_map(|value| self.name(value).transpose()).collect()
    }

    /// Returns the next value as the text of a date; empty if it is missing.
    #[cfg(feature = "text")]
    fn next_date(&mut self) -> Result<String> {
        let value = self.next_value()?.unwrap_or(ParquetValue::Missing);
        let ParquetValue::Integer(n) = value else { return Ok(self.name(&value)?.unwrap_or_default()) };
        let column = self.file.metadata.file_metadata().schema_descr().column(self.leaf);
        let (per_second, utc) = match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => {
                return Ok(date_of_days(n).unwrap_or_else(|| n.to_string()));
            }
            (Some(LogicalType::Timestamp(stamp)), _) => {
                let per_second = match stamp.unit {
                    TimeUnit::MILLIS => 1000,
                    TimeUnit::MICROS => 1_000_000,
                    TimeUnit::NANOS => 1_000_000_000,
                };
                (per_second, stamp.is_adjusted_to_u_t_c)
            }
            (None, ConvertedType::TIMESTAMP_MILLIS) => (1000, true),
            (None, ConvertedType::TIMESTAMP_MICROS) => (1_000_000, true),
            // A plain number is a year or a Unix time.
            _ => return Ok(n.to_string()),
        };
        Ok(date_of_seconds(n.div_euclid(per_second), utc).unwrap_or_else(|| n.to_string()))
    }

    fn count(&self, value: &ParquetValue) -> Result<u32> {
        let number = match value {
            ParquetValue::Integer(n) => *n as f64,
            ParquetValue::Float(v) => *v,
            ParquetValue::Missing | ParquetValue::Text(_) => f64::NAN,
        };
        if let Some(count) = to_count(number) {
            return Ok(count);
        }
        let found =
            if number.is_nan() { "a missing value".to_owned() } else { format!("the count {number}") };
        Err(self.row_error(&found, super::lines::COUNT_EXPECTED, super::lines::COUNT_REMEDY))
    }
}

/// Word ids in order of appearance.
#[derive(Default)]
struct WordIds {
    ids: HashMap<Box<str>, u32>,
    vocabulary: Vocabulary,
}

impl WordIds {
    fn id(&mut self, word: &str, path: &Path) -> Result<u32> {
        if let Some(&id) = self.ids.get(word) {
            return Ok(id);
        }
        let id = self.vocabulary.len() as u32;
        if id == u32::MAX - 1 {
            return Err(file_error(
                path,
                "too many words".into(),
                "at most 4294967294 words",
                "drop rare words",
            ));
        }
        self.vocabulary.push(word);
        self.ids.insert(word.into(), id);
        Ok(id)
    }
}

/// Number of words in a file and, unless they are numbered, the words.
pub(super) struct ParquetWords {
    pub(super) words: u32,
    pub(super) vocabulary: Option<Vocabulary>,
}

/// Columns that contain the documents.
pub(super) enum DocumentColumns {
    Texts(TextColumns),
    Counts(CountColumns),
}

/// Columns of texts, document names, labels and dates.
#[derive(Debug, Clone)]
pub(super) struct TextColumns {
    text: Vec<usize>,
    id: Option<usize>,
    labels: Vec<usize>,
    date: Option<usize>,
}

/// Columns of documents that are already split into words.
pub(super) enum CountColumns {
    Lists { tokens: usize, id: Option<usize> },
    Triples { document: usize, word: usize, count: Option<usize> },
}

impl ParquetFile {
    /// Determines the columns with the documents: those that were named, or else those that the
    /// file has.
    pub(super) fn document_columns(
        &self,
        columns: &TableColumns,
        records: &RecordOptions,
    ) -> Result<DocumentColumns> {
        let words = [ParquetKind::Text, ParquetKind::Integer];
        let named = columns.document.is_some() || columns.word.is_some() || columns.count.is_some();
        let ways = [!records.text_columns.is_empty(), columns.tokens.is_some(), named];
        if ways.into_iter().filter(|&way| way).count() > 1 {
            let (name, with) = match ways {
                [true, true, _] => ("text_column", "{tokens_column}"),
                [true, ..] => ("text_column", "{doc_column}, {word_column} or {count_column}"),
                _ => ("tokens_column", "{doc_column}, {word_column} or {count_column}"),
            };
            return Err(Error::conflict(name, with));
        }
        let other =
            |option, name: Option<&str>| name.map(|name| self.find_column(option, name, &words)).transpose();
        let id = other("id_column", columns.id.as_deref())?;
        let lists = |tokens: usize| Ok(DocumentColumns::Counts(CountColumns::Lists { tokens, id }));
        if let Some(name) = &columns.tokens {
            return lists(self.find_column("tokens_column", name, &[ParquetKind::TextList])?);
        }
        let triple = |name: &str| self.leaf_columns().any(|(_, column, _)| column == name);
        if named || (!ways[0] && triple("document") && triple("word")) {
            let document = columns.document.as_deref().unwrap_or("document");
            let word = columns.word.as_deref().unwrap_or("word");
            let usual = triple("count").then_some("count");
            let count = columns.count.as_deref().or(usual);
            return Ok(DocumentColumns::Counts(CountColumns::Triples {
                document: self.find_column("doc_column", document, &words)?,
                word: self.find_column("word_column", word, &words)?,
                count: count
                    .map(|name| {
                        self.find_column("count_column", name, &[ParquetKind::Integer, ParquetKind::Float])
                    })
                    .transpose()?,
            }));
        }
        let label_kinds = [ParquetKind::Text, ParquetKind::TextList, ParquetKind::Integer];
        let label = |name: &String| self.find_column("label_column", name, &label_kinds);
        let labels = records.label_columns.iter().map(label).collect::<Result<Vec<usize>>>()?;
        let date = other("date_column", records.date_column.as_deref())?;
        let text = records
            .text_columns
            .iter()
            .map(|name| self.find_column("text_column", name, &[ParquetKind::Text]));
        let mut text = text.collect::<Result<Vec<usize>>>()?;
        if text.is_empty() {
            let taken = |i: usize| [id, date].contains(&Some(i)) || labels.contains(&i);
            let usual = self
                .leaf_columns()
                .find(|&(i, name, kind)| kind == ParquetKind::Text && is_text_name(name) && !taken(i))
                .map(|(i, ..)| i);
            // If there is a text column with a known name and a column with lists of words, either
            // could be meant.
            if !self.leaf_columns().any(|(i, _, kind)| kind == ParquetKind::TextList && !taken(i)) {
                text.extend(usual.or_else(|| self.only_column(ParquetKind::Text, &taken)));
            } else if let (None, Some(tokens)) = (usual, self.only_column(ParquetKind::TextList, &taken)) {
                return lists(tokens);
            }
        }
        if text.is_empty() {
            return Err(file_error(
                &self.path,
                format!("the columns {}", self.list_columns()),
                "one column of texts or of lists of words, or a row per document and word",
                "name the columns: {text_column}, or {tokens_column}, or {doc_column}, {word_column} and {count_column}",
            ));
        }
        Ok(DocumentColumns::Texts(TextColumns { text, id, labels, date }))
    }

    /// Calls `each` with the document names in order. Returns whether there are any.
    pub(super) fn names(
        &self,
        columns: &CountColumns,
        each: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<bool> {
        match *columns {
            CountColumns::Lists { id: None, .. } => Ok(false),
            CountColumns::Lists { id: Some(id), .. } => {
                let mut column = self.column(id);
                while let Some(value) = column.next_value()? {
                    each(&column.name(&value)?.unwrap_or_default())?;
                }
                Ok(true)
            }
            CountColumns::Triples { document, .. } => {
                let mut column = self.column(document);
                let mut last: Option<String> = None;
                while let Some(value) = column.next_value()? {
                    if !matches!(value, ParquetValue::Text(_)) {
                        return Ok(false);
                    }
                    let name = column.name(&value)?;
                    if name != last {
                        each(name.as_deref().unwrap_or_default())?;
                        last = name;
                    }
                }
                Ok(last.is_some())
            }
        }
    }

    /// Pushes all entries to the sorter.
    pub(super) fn read(
        &self,
        columns: &CountColumns,
        options: &ReadOptions,
        output: &Path,
        out: &mut DocumentSorter,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ParquetWords> {
        match *columns {
            CountColumns::Lists { tokens, .. } => self.read_lists(tokens, out, progress),
            CountColumns::Triples { document, word, count } => {
                let columns = [self.column(document), self.column(word)];
                self.read_triples(
                    columns,
                    count.map(|leaf| self.column(leaf)),
                    options,
                    output,
                    out,
                    progress,
                )
            }
        }
    }

    fn read_lists(
        &self,
        tokens: usize,
        out: &mut DocumentSorter,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ParquetWords> {
        let (mut column, mut words, total) = (self.column(tokens), WordIds::default(), self.rows());
        let mut document = 0u64;
        let mut row = Vec::new();
        while let Some(values) = column.next_row()? {
            row.clear();
            row.extend_from_slice(values);
            for value in &row {
                if let ParquetValue::Text(text) = value {
                    let word = column.text(text)?;
                    if !word.trim().is_empty() {
                        out.push(document, words.id(word, &self.path)?, 1)?;
                    }
                }
            }
            document += 1;
            if document.is_multiple_of(MAX_ROWS_PER_READ as u64) && progress(document, total).is_break() {
                return Err(Error::Interrupted);
            }
        }
        out.declare_documents(document);
        Ok(ParquetWords { words: words.vocabulary.len() as u32, vocabulary: Some(words.vocabulary) })
    }

    /// Returns the first number of a column of numbers: 0 if it occurs, else 1.
    fn first_number(&self, column: &ParquetColumn) -> Result<i64> {
        let mut column = self.column(column.leaf);
        while let Some(value) = column.next_value()? {
            match value {
                ParquetValue::Integer(0) => return Ok(0),
                ParquetValue::Integer(n) if n > 0 => {}
                ParquetValue::Integer(n) => {
                    return Err(column.row_error(
                        &format!("the number {n}"),
                        "numbers from 0 or 1",
                        "correct the table",
                    ));
                }
                _ => return Ok(1),
            }
        }
        Ok(1)
    }

    /// Refuses documents whose rows are not adjacent.
    fn check_contiguous(&self, numbering: DocumentNumbering, column: &str) -> Result<()> {
        let Some((first, second)) = numbering.find_split_document()? else { return Ok(()) };
        let same = format!("documents {first} and {second} have the same name in {column:?}");
        Err(file_error(
            &self.path,
            format!("rows of one document that are not adjacent ({same})"),
            "adjacent rows for every document",
            Template::default().text(format!("sort the table by the column {column:?}")),
        ))
    }

    fn read_triples(
        &self,
        [mut documents, mut word]: [ParquetColumn; 2],
        mut count: Option<ParquetColumn>,
        options: &ReadOptions,
        output: &Path,
        out: &mut DocumentSorter,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ParquetWords> {
        let firsts = [self.first_number(&documents)?, self.first_number(&word)?];
        let (mut words, total, mut rows) = (WordIds::default(), self.rows(), 0u64);
        let mut numbering = DocumentNumbering::new(output);
        let mut numbered = false;
        let absent = |column: &ParquetColumn| {
            column.row_error(
                "a missing value",
                "a document and a word in every row",
                "remove rows in which one of them is missing",
            )
        };
        while let Some(value) = documents.next_value()? {
            let document = match &value {
                ParquetValue::Text(text) => numbering.document(documents.text(text)?)?,
                ParquetValue::Integer(n) => (n - firsts[0]).cast_unsigned(),
                _ => return Err(absent(&documents)),
            };
            let id = match word.next_value()?.unwrap_or(ParquetValue::Missing) {
                ParquetValue::Text(text) => words.id(word.text(&text)?, &self.path)?,
                ParquetValue::Integer(n) => {
                    numbered = true;
                    let id = (n - firsts[1]).cast_unsigned();
                    if id > MAX_UNCHECKED_WORDS.saturating_add(1000 * total).min(u64::from(u32::MAX) - 2) {
                        return Err(word.row_error(
                            &format!("the word number {n}"),
                            "numbers of words",
                            "number the words that occur from 1",
                        ));
                    }
                    id as u32
                }
                _ => return Err(absent(&word)),
            };
            let times = match &mut count {
                None => 1,
                Some(column) => column.next_count(options)?,
            };
            if times > 0 {
                out.push(document, id, times)?;
            }
            rows += 1;
            if rows.is_multiple_of(1 << 15) && progress(rows, total).is_break() {
                return Err(Error::Interrupted);
            }
        }
        out.declare_documents(numbering.count);
        self.check_contiguous(numbering, &documents.name)?;
        if numbered {
            return Ok(ParquetWords { words: out.words() as u32, vocabulary: None });
        }
        Ok(ParquetWords { words: words.vocabulary.len() as u32, vocabulary: Some(words.vocabulary) })
    }
}

/// Numbering of documents by name, in order of appearance. Documents that reappear later are found
/// by sorting the hashes of the names on disk, so that memory does not grow with the number of
/// documents.
struct DocumentNumbering {
    last: Option<String>,
    count: u64,
    hashes: EntrySorter,
}

impl DocumentNumbering {
    fn new(output: &Path) -> DocumentNumbering {
        DocumentNumbering {
            last: None,
            count: 0,
            hashes: EntrySorter::new(&folder_of(output), SortLimits::default()),
        }
    }

    fn document(&mut self, name: &str) -> Result<u64> {
        if self.last.as_deref() != Some(name) {
            // The default hasher has no random state, so hashes are the same in every run.
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            self.hashes.push((hasher.finish(), (self.count >> 32) as u32, self.count as u32))?;
            self.last = Some(name.to_owned());
            self.count += 1;
        }
        Ok(self.count - 1)
    }

    /// Returns two documents with the same name, numbered from 1. Different names with the same
    /// hash are negligible: among ten million documents, they occur once in four hundred thousand
    /// tables.
    fn find_split_document(self) -> Result<Option<(u64, u64)>> {
        let (mut last, mut found) = (None, None);
        self.hashes.finish(&mut |(hash, high, low)| {
            let number = (u64::from(high) << 32 | u64::from(low)) + 1;
            if let Some((before, first)) = last
                && before == hash
            {
                found.get_or_insert((first, number));
            }
            last = Some((hash, number));
            Ok(())
        })?;
        Ok(found)
    }
}
