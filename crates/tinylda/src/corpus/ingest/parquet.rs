//! Parquet: documents as lists of words, as rows of (document, word, count), or as texts. Batch by
//! batch, a few columns at a time.
//!
//! The pages come from the crate parquet as they are in the file and are unpacked here, in pure
//! Rust and never beyond a limit.

mod pages;
#[cfg(feature = "text")]
mod texts;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;

#[cfg(feature = "text")]
pub(super) use self::texts::Texts;

use self::pages::Pages;
use super::dtype::whole;
use super::options::is_text_name;
use super::shared_file::SharedFile;
use super::sorter::{DocumentSorter, SortLimits, Sorter};
use super::{Expect, MANY_WORDS, Parts, TableColumns, bad};
use crate::corpus::Vocabulary;
use crate::error::{Error, Result, Template, caught};
use crate::files::folder_of;

/// Rows that are read at a time, and fewer where they have more bytes than this together.
const ROWS: usize = 1024;
const ROWS_BYTES: u64 = 4 << 20;
const AGAIN: &str = "copy the file again, or write it again";
type Raw<T> = std::result::Result<T, ParquetError>;

/// An open Parquet file.
#[derive(Clone)]
pub(super) struct ParquetFile {
    path: PathBuf,
    source: Arc<SharedFile>,
    metadata: Arc<ParquetMetaData>,
}

/// What a column holds, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Texts,
    Whole,
    Real,
    Other,
}

impl Kind {
    fn of(column: &ColumnDescPtr) -> Kind {
        let text = matches!(column.logical_type_ref(), Some(LogicalType::String | LogicalType::Enum))
            || matches!(column.converted_type(), ConvertedType::UTF8 | ConvertedType::ENUM);
        // Deeper than one list is more than words.
        match (column.physical_type(), column.max_rep_level()) {
            (Physical::BYTE_ARRAY, 0) if text => Kind::Text,
            (Physical::BYTE_ARRAY, 1) if text => Kind::Texts,
            (Physical::INT32 | Physical::INT64, 0) => Kind::Whole,
            (Physical::FLOAT | Physical::DOUBLE, 0) => Kind::Real,
            _ => Kind::Other,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Texts => "list of texts",
            Kind::Whole => "whole number",
            Kind::Real => "real number",
            Kind::Other => "another type",
        }
    }
}

/// One value of a column.
#[derive(Debug, Clone)]
enum Value {
    Missing,
    Text(ByteArray),
    Whole(i64),
    Real(f64),
}

impl ParquetFile {
    /// Opens a file, which errors call `path`.
    pub(super) fn open(path: &Path, file: SharedFile) -> Result<ParquetFile> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(broken(path))?;
        Ok(ParquetFile { path: path.to_path_buf(), source: Arc::new(file), metadata: Arc::new(metadata) })
    }

    /// The leaves of the schema: number, name of the column on top, and kind.
    fn leaves(&self) -> impl Iterator<Item = (usize, &str, Kind)> {
        let schema = self.metadata.file_metadata().schema_descr();
        schema.columns().iter().enumerate().map(|(i, column)| {
            let parts = column.path().parts();
            let known = parts.len() == 1 || Kind::of(column) == Kind::Texts;
            let kind = if known { Kind::of(column) } else { Kind::Other };
            (i, parts.first().map_or("", String::as_str), kind)
        })
    }

    /// The columns there are, for an error.
    fn listed(&self) -> String {
        let mut all: Vec<String> =
            self.leaves().take(30).map(|(_, name, kind)| format!("{name:?} ({})", kind.name())).collect();
        all.dedup();
        all.join(", ")
    }

    /// Finds a column of one of these kinds: by name, upper case or not, or by number from 1.
    fn find(&self, option: &str, name: &str, kinds: &[Kind]) -> Result<usize> {
        let wanted: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let wanted = wanted.join(" or ");
        let schema = self.metadata.file_metadata().schema_descr();
        let with = |test: &dyn Fn(usize, &str) -> bool| self.leaves().find(|&(i, column, _)| test(i, column));
        let found = with(&|_, column| column == name)
            .or_else(|| with(&|_, column| column.eq_ignore_ascii_case(name)))
            .or_else(|| {
                let number = name.parse::<usize>().ok()?;
                with(&|i, _| schema.get_column_root_idx(i) + 1 == number)
            });
        match found {
            Some((i, _, kind)) if kinds.contains(&kind) => Ok(i),
            Some((_, column, kind)) => Err(bad(
                &self.path,
                format!("the column {column:?}, which holds: {}", kind.name()),
                &wanted,
                Template::from(format!("choose another {{{option}}}; there are: ")).text(self.listed()),
            )),
            None => Err(bad(
                &self.path,
                format!("no column {name:?}"),
                format!("a column for {{{option}}}: {wanted}"),
                Template::from("there are: ").text(self.listed()),
            )),
        }
    }

    /// The only column of a kind that is not taken for something else.
    fn only(&self, kind: Kind, taken: &dyn Fn(usize) -> bool) -> Option<usize> {
        let mut all = self.leaves().filter(|&(i, _, k)| k == kind && !taken(i));
        let (i, ..) = all.next()?;
        all.next().is_none().then_some(i)
    }

    fn column(&self, leaf: usize) -> Column {
        let descriptor = self.metadata.file_metadata().schema_descr().column(leaf);
        let (levels, repeats) = (descriptor.max_def_level(), descriptor.max_rep_level());
        let name = descriptor.path().parts().first().cloned().unwrap_or_default();
        Column {
            file: self.clone(),
            leaf,
            name,
            group: 0,
            reader: None,
            step: ROWS,
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

    /// How many rows the file says that it has.
    fn rows(&self) -> u64 {
        u64::try_from(self.metadata.file_metadata().num_rows()).unwrap_or(0)
    }
}

/// What the reader of Parquet says, as an error of the file.
fn broken(path: &Path) -> impl FnOnce(ParquetError) -> Error + use<> {
    let path = path.to_path_buf();
    move |e| match e {
        ParquetError::NYI(text) => bad(
            &path,
            format!("a Parquet file written in a way that is not known here ({text})"),
            "snappy, gzip, zstd or lz4",
            "write it again, for instance with df.to_parquet(file, compression=\"snappy\")",
        ),
        e => bad(
            &path,
            format!("a Parquet file that is damaged or truncated ({e})"),
            "a complete Parquet file",
            AGAIN,
        ),
    }
}

/// Reads a batch of rows: their levels, and the values that are there.
fn batch<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    value: impl Fn(T::T) -> Value,
    defined: &mut Vec<i16>,
    repeated: &mut Vec<i16>,
    values: &mut Vec<Value>,
) -> Raw<usize> {
    let mut found = Vec::new();
    // The crate's decoders assert what a damaged page may not hold; that too is an error of the
    // file, and the reader is not used again.
    let (records, ..) = caught(|| reader.read_records(rows, Some(defined), Some(repeated), &mut found))
        .unwrap_or_else(|| Err(ParquetError::General("a page that cannot be decoded".into())))?;
    values.extend(found.into_iter().map(value));
    Ok(records)
}

/// A column, read from front to back.
struct Column {
    file: ParquetFile,
    leaf: usize,
    name: String,
    group: usize,
    reader: Option<ColumnReader>,
    /// Rows of the present group that are read at a time.
    step: usize,
    levels: i16,
    repeats: i16,
    defined: Vec<i16>,
    repeated: Vec<i16>,
    /// The values of the batch, in order; missing ones stand there too.
    values: Vec<Value>,
    /// Where each row of the batch ends in `values`.
    rows: Vec<usize>,
    next: usize,
    row: u64,
}

impl Column {
    /// The values of the next row: one, or those of its list. Nothing at the end of the file.
    fn next_row(&mut self) -> Result<Option<&[Value]>> {
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

    /// The next row's value; nothing at the end of the file.
    fn next_value(&mut self) -> Result<Option<Value>> {
        Ok(self.next_row()?.map(|row| row.first().cloned().unwrap_or(Value::Missing)))
    }

    fn open_group(&mut self) -> Result<bool> {
        let Some(group) = self.file.metadata.row_groups().get(self.group) else { return Ok(false) };
        self.group += 1;
        let path = &self.file.path;
        let Some(chunk) = group.columns().get(self.leaf) else {
            return Err(broken(path)(ParquetError::General("a group of rows without all columns".into())));
        };
        let negative = chunk.data_page_offset() < 0
            || chunk.dictionary_page_offset().is_some_and(|at| at < 0)
            || chunk.compressed_size() < 0
            || chunk.num_values() < 0;
        if negative || group.num_rows() < 0 || chunk.column_type() != chunk.column_descr().physical_type() {
            return Err(broken(path)(ParquetError::General("a column with a negative size".into())));
        }
        // Texts may be long: what is held at a time should not depend on it.
        let bytes = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
        let rows = ROWS_BYTES.saturating_mul(group.num_rows() as u64) / bytes.max(1);
        self.step = rows.clamp(1, ROWS as u64) as usize;
        let compression = chunk.compression();
        let plain = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build();
        let packed = plain
            .and_then(|plain| {
                SerializedPageReader::new(
                    Arc::clone(&self.file.source),
                    &plain,
                    group.num_rows() as usize,
                    None,
                )
            })
            .map_err(broken(path))?;
        let pages = Pages { packed, compression };
        self.reader = Some(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)));
        Ok(true)
    }

    /// Reads a batch; false at the end of the file. A batch may be empty at the end of a group.
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
        let path = &self.file.path;
        let (defined, repeated, values) = (&mut self.defined, &mut self.repeated, &mut self.values);
        let records = match reader {
            ColumnReader::ByteArrayColumnReader(r) => batch(r, step, Value::Text, defined, repeated, values),
            ColumnReader::Int32ColumnReader(r) => {
                batch(r, step, |n| Value::Whole(i64::from(n)), defined, repeated, values)
            }
            ColumnReader::Int64ColumnReader(r) => batch(r, step, Value::Whole, defined, repeated, values),
            ColumnReader::FloatColumnReader(r) => {
                batch(r, step, |v| Value::Real(f64::from(v)), defined, repeated, values)
            }
            ColumnReader::DoubleColumnReader(r) => batch(r, step, Value::Real, defined, repeated, values),
            _ => Ok(0),
        };
        let records = records.map_err(broken(path))?;
        if records == 0 {
            self.reader = None;
            return Ok(true);
        }
        self.cut_rows(records)
    }

    /// Puts missing values in their places, and finds where rows end.
    fn cut_rows(&mut self, records: usize) -> Result<bool> {
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
                    self.values.push(Value::Missing);
                }
            }
            if !self.defined.is_empty() {
                self.rows.push(self.values.len());
            }
        }
        if self.rows.len() == records {
            return Ok(true);
        }
        Err(broken(&self.file.path)(ParquetError::General("a page with the wrong number of rows".into())))
    }

    /// The next value as a count; 0 only where zeros are skipped.
    fn next_count(&mut self, expect: &Expect) -> Result<u32> {
        let value = self.next_value()?.unwrap_or(Value::Missing);
        match self.count(&value)? {
            0 if !expect.skip_zeros => {
                Err(self.bad("the count 0", super::lines::COUNT_EXPECTED, super::ZERO_REMEDY))
            }
            times => Ok(times),
        }
    }

    fn bad(&self, found: &str, expected: &str, remedy: &str) -> Error {
        bad(
            &self.file.path,
            format!("{found} in row {} of the column {:?}", self.row, self.name),
            expected,
            remedy,
        )
    }

    fn text<'v>(&self, value: &'v ByteArray) -> Result<&'v str> {
        std::str::from_utf8(value.data()).map_err(|_| {
            self.bad("bytes that are not UTF-8", "text in UTF-8", "write the file again as UTF-8")
        })
    }

    /// A name, from a text or a number.
    fn name(&self, value: &Value) -> Result<Option<String>> {
        Ok(match value {
            Value::Text(text) => Some(self.text(text)?.to_owned()),
            Value::Whole(n) => Some(n.to_string()),
            Value::Real(_) | Value::Missing => None,
        })
    }

    fn count(&self, value: &Value) -> Result<u32> {
        let number = match value {
            Value::Whole(n) => *n as f64,
            Value::Real(v) => *v,
            Value::Missing | Value::Text(_) => f64::NAN,
        };
        if let Some(count) = whole(number) {
            return Ok(count);
        }
        let found = if number.is_nan() { "nothing".to_owned() } else { format!("the count {number}") };
        Err(self.bad(&found, super::lines::COUNT_EXPECTED, super::lines::COUNT_REMEDY))
    }
}

/// Words in order of appearance.
#[derive(Default)]
struct Words {
    ids: HashMap<Box<str>, u32>,
    vocabulary: Vocabulary,
}

impl Words {
    fn id(&mut self, word: &str, path: &Path) -> Result<u32> {
        if let Some(&id) = self.ids.get(word) {
            return Ok(id);
        }
        let id = self.vocabulary.len() as u32;
        if id == u32::MAX - 1 {
            return Err(bad(path, "a word too many".into(), "at most 4294967294 words", "drop rare words"));
        }
        self.vocabulary.push(word);
        self.ids.insert(word.into(), id);
        Ok(id)
    }
}

/// What was found: a file of documents' names, the number of words, and the words.
pub(super) struct Found {
    pub(super) words: u32,
    pub(super) vocabulary: Option<Vocabulary>,
}

/// What the documents of a file are.
pub(super) enum Form {
    Texts(TextColumns),
    Counts(Counts),
}

/// Which columns have texts, their names and their labels.
#[derive(Debug, Clone)]
pub(super) struct TextColumns {
    text: Vec<usize>,
    id: Option<usize>,
    label: Option<usize>,
}

/// How words that are cut already lie in columns.
pub(super) enum Counts {
    Lists { tokens: usize, id: Option<usize> },
    Triples { document: usize, word: usize, count: Option<usize> },
}

impl ParquetFile {
    /// Which form the documents have, by the columns that were named or by those there are.
    pub(super) fn form(&self, columns: &TableColumns, parts: &Parts) -> Result<Form> {
        let words = [Kind::Text, Kind::Whole];
        let named = columns.document.is_some() || columns.word.is_some() || columns.count.is_some();
        let ways = [!parts.text_columns.is_empty(), columns.tokens.is_some(), named];
        if ways.into_iter().filter(|&way| way).count() > 1 {
            let (name, with) = match ways {
                [true, true, _] => ("text_column", "{tokens_column}"),
                [true, ..] => ("text_column", "{doc_column}, {word_column} or {count_column}"),
                _ => ("tokens_column", "{doc_column}, {word_column} or {count_column}"),
            };
            return Err(Error::conflict(name, with));
        }
        let other = |option, name: Option<&str>| name.map(|name| self.find(option, name, &words)).transpose();
        let id = other("id_column", columns.id.as_deref())?;
        let lists = |tokens: usize| Ok(Form::Counts(Counts::Lists { tokens, id }));
        if let Some(name) = &columns.tokens {
            return lists(self.find("tokens_column", name, &[Kind::Texts])?);
        }
        let triple = |name: &str| self.leaves().any(|(_, column, _)| column == name);
        if named || (!ways[0] && triple("document") && triple("word")) {
            let document = columns.document.as_deref().unwrap_or("document");
            let word = columns.word.as_deref().unwrap_or("word");
            let usual = triple("count").then_some("count");
            let count = columns.count.as_deref().or(usual);
            return Ok(Form::Counts(Counts::Triples {
                document: self.find("doc_column", document, &words)?,
                word: self.find("word_column", word, &words)?,
                count: count
                    .map(|name| self.find("count_column", name, &[Kind::Whole, Kind::Real]))
                    .transpose()?,
            }));
        }
        let label = other("label_column", parts.label_column.as_deref())?;
        let text = parts.text_columns.iter().map(|name| self.find("text_column", name, &[Kind::Text]));
        let mut text = text.collect::<Result<Vec<usize>>>()?;
        if text.is_empty() {
            let taken = |i: usize| [id, label].contains(&Some(i));
            let usual = self
                .leaves()
                .find(|&(i, name, kind)| kind == Kind::Text && is_text_name(name) && !taken(i))
                .map(|(i, ..)| i);
            // With text of a known name and lists of words, either could be meant.
            if !self.leaves().any(|(_, _, kind)| kind == Kind::Texts) {
                text.extend(usual.or_else(|| self.only(Kind::Text, &taken)));
            } else if let (None, Some(tokens)) = (usual, self.only(Kind::Texts, &taken)) {
                return lists(tokens);
            }
        }
        if text.is_empty() {
            return Err(bad(
                &self.path,
                format!("the columns {}", self.listed()),
                "one column of texts or of lists of words, or a row per document and word",
                "name the columns: {text_column}, or {tokens_column}, or {doc_column}, {word_column} and {count_column}",
            ));
        }
        Ok(Form::Texts(TextColumns { text, id, label }))
    }

    /// The names of documents, in order, where the form has such; `each` is handed every one.
    pub(super) fn names(&self, form: &Counts, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<bool> {
        match *form {
            Counts::Lists { id: None, .. } => Ok(false),
            Counts::Lists { id: Some(id), .. } => {
                let mut column = self.column(id);
                while let Some(value) = column.next_value()? {
                    each(&column.name(&value)?.unwrap_or_default())?;
                }
                Ok(true)
            }
            Counts::Triples { document, .. } => {
                let mut column = self.column(document);
                let mut last: Option<String> = None;
                while let Some(value) = column.next_value()? {
                    if !matches!(value, Value::Text(_)) {
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

    /// Hands all entries over.
    pub(super) fn read(
        &self,
        form: &Counts,
        expect: &Expect,
        output: &Path,
        out: &mut DocumentSorter,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Found> {
        match *form {
            Counts::Lists { tokens, .. } => self.read_lists(tokens, out, progress),
            Counts::Triples { document, word, count } => {
                let columns = [self.column(document), self.column(word)];
                self.read_triples(columns, count.map(|leaf| self.column(leaf)), expect, output, out, progress)
            }
        }
    }

    fn read_lists(
        &self,
        tokens: usize,
        out: &mut DocumentSorter,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Found> {
        let (mut column, mut words, total) = (self.column(tokens), Words::default(), self.rows());
        let mut document = 0u64;
        let mut row = Vec::new();
        while let Some(values) = column.next_row()? {
            row.clear();
            row.extend_from_slice(values);
            for value in &row {
                if let Value::Text(text) = value {
                    let word = column.text(text)?;
                    if !word.trim().is_empty() {
                        out.push(document, words.id(word, &self.path)?, 1)?;
                    }
                }
            }
            document += 1;
            if document.is_multiple_of(ROWS as u64) && progress(document, total).is_break() {
                return Err(Error::Interrupted);
            }
        }
        out.declare_documents(document);
        Ok(Found { words: words.vocabulary.len() as u32, vocabulary: Some(words.vocabulary) })
    }

    /// Numbers are from 1, unless there is a 0 among them.
    fn first_number(&self, column: &Column) -> Result<i64> {
        let mut column = self.column(column.leaf);
        while let Some(value) = column.next_value()? {
            match value {
                Value::Whole(0) => return Ok(0),
                Value::Whole(n) if n > 0 => {}
                Value::Whole(n) => {
                    return Err(column.bad(
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

    /// Refuses documents whose rows are apart from each other.
    fn check_runs(&self, runs: Runs, column: &str) -> Result<()> {
        let Some((first, second)) = runs.torn()? else { return Ok(()) };
        let same = format!("documents {first} and {second} have the same name in {column:?}");
        Err(bad(
            &self.path,
            format!("rows of one document apart from each other ({same})"),
            "the rows of a document one after another",
            Template::default().text(format!("sort the table by the column {column:?}")),
        ))
    }

    fn read_triples(
        &self,
        [mut documents, mut word]: [Column; 2],
        mut count: Option<Column>,
        expect: &Expect,
        output: &Path,
        out: &mut DocumentSorter,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Found> {
        let firsts = [self.first_number(&documents)?, self.first_number(&word)?];
        let (mut words, total, mut rows) = (Words::default(), self.rows(), 0u64);
        let mut runs = Runs::new(output);
        let mut numbered = false;
        let absent = |column: &Column| {
            column.bad(
                "nothing",
                "a document and a word in every row",
                "remove rows in which one of them is missing",
            )
        };
        while let Some(value) = documents.next_value()? {
            let document = match &value {
                Value::Text(text) => runs.document(documents.text(text)?)?,
                Value::Whole(n) => (n - firsts[0]).cast_unsigned(),
                _ => return Err(absent(&documents)),
            };
            let id = match word.next_value()?.unwrap_or(Value::Missing) {
                Value::Text(text) => words.id(word.text(&text)?, &self.path)?,
                Value::Whole(n) => {
                    numbered = true;
                    let id = (n - firsts[1]).cast_unsigned();
                    if id > MANY_WORDS.saturating_add(1000 * total).min(u64::from(u32::MAX) - 2) {
                        return Err(word.bad(
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
                Some(column) => column.next_count(expect)?,
            };
            if times > 0 {
                out.push(document, id, times)?;
            }
            rows += 1;
            if rows.is_multiple_of(1 << 15) && progress(rows, total).is_break() {
                return Err(Error::Interrupted);
            }
        }
        out.declare_documents(runs.count);
        self.check_runs(runs, &documents.name)?;
        if numbered {
            return Ok(Found { words: out.words() as u32, vocabulary: None });
        }
        Ok(Found { words: words.vocabulary.len() as u32, vocabulary: Some(words.vocabulary) })
    }
}

/// Documents by name, numbered as they come. Whether one comes back later is found out by sorting
/// their hashes on disk, so that memory does not grow with their number.
struct Runs {
    last: Option<String>,
    count: u64,
    hashes: Sorter,
}

impl Runs {
    fn new(output: &Path) -> Runs {
        Runs { last: None, count: 0, hashes: Sorter::new(&folder_of(output), SortLimits::default()) }
    }

    fn document(&mut self, name: &str) -> Result<u64> {
        if self.last.as_deref() != Some(name) {
            // The same for every run: nothing in it is random.
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            self.hashes.push((hasher.finish(), (self.count >> 32) as u32, self.count as u32))?;
            self.last = Some(name.to_owned());
            self.count += 1;
        }
        Ok(self.count - 1)
    }

    /// Two documents of one name, counted from 1. That two other names have one hash is as good as
    /// never: among ten million documents, once in four hundred thousand tables.
    fn torn(self) -> Result<Option<(u64, u64)>> {
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
