//! Writing tables: rows of numbers and texts in formats that other tools read.
//!
//! Rows are streamed, and a file appears only when it is complete. This module does not know what
//! the columns mean. Start with [`Table`].
//!
//! | format | read by |
//! |---|---|
//! | Parquet | pandas, polars, R's arrow, DuckDB; columns keep their types |
//! | TSV, CSV | almost every tool; the first line has the column names |
//! | JSON lines | every JSON parser; one object per row |
//! | npy | NumPy; a matrix of numbers without column names |
//!
//! Parquet requires the feature `parquet`.

#[cfg(feature = "parquet")]
mod parquet;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::AtomicFile;

/// File format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFormat {
    /// Apache Parquet, compressed with Snappy.
    Parquet,
    /// Tab-separated values. Tabs and line breaks in a text become spaces.
    Tsv,
    /// Comma-separated values, quoted where necessary (RFC 4180).
    Csv,
    /// JSON lines: one JSON object per row.
    JsonLines,
    /// A two-dimensional NumPy array. All columns must be numbers of the same kind.
    Npy,
}

impl TableFormat {
    /// All formats.
    pub const ALL: [TableFormat; 5] =
        [TableFormat::Parquet, TableFormat::Tsv, TableFormat::Csv, TableFormat::JsonLines, TableFormat::Npy];

    /// Returns the format's name, as used in parameters.
    pub fn name(self) -> &'static str {
        match self {
            TableFormat::Parquet => "parquet",
            TableFormat::Tsv => "tsv",
            TableFormat::Csv => "csv",
            TableFormat::JsonLines => "jsonl",
            TableFormat::Npy => "npy",
        }
    }

    /// Returns the format that a file's suffix implies (`.parquet`, `.tsv`, `.csv`, `.jsonl`,
    /// `.npy` and similar); `None` if the suffix is unknown.
    pub fn of_path(path: &Path) -> Option<TableFormat> {
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match suffix.as_str() {
            "parquet" | "pq" => TableFormat::Parquet,
            "tsv" | "txt" | "tab" => TableFormat::Tsv,
            "csv" => TableFormat::Csv,
            "jsonl" | "ndjson" => TableFormat::JsonLines,
            "npy" => TableFormat::Npy,
            _ => return None,
        })
    }
}

/// Type of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers, as 32-bit floats.
    Float,
    /// Non-negative integers, in 64 bits.
    Whole,
    /// Texts.
    Text,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    name: String,
    kind: ColumnKind,
    optional: bool,
}

impl Column {
    /// Creates a column of the given kind.
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Column {
        Column { name: name.into(), kind, optional: false }
    }
    /// Creates a column of 32-bit floats.
    pub fn float(name: impl Into<String>) -> Column {
        Column::new(name, ColumnKind::Float)
    }
    /// Creates a column of non-negative integers.
    pub fn whole(name: impl Into<String>) -> Column {
        Column::new(name, ColumnKind::Whole)
    }
    /// Creates a column of texts.
    pub fn text(name: impl Into<String>) -> Column {
        Column::new(name, ColumnKind::Text)
    }
    /// Allows [`Cell::Missing`] in the column.
    #[must_use]
    pub fn optional(mut self) -> Column {
        self.optional = true;
        self
    }
}

/// A cell of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// A cell of a column of floats.
    Float(f32),
    /// A cell of a column of integers.
    Whole(u64),
    /// A cell of a column of texts.
    Text(&'a str),
    /// A missing value in a column that is [optional](Column::optional). It is written as null, an
    /// empty field, or NaN.
    Missing,
}

/// Size of the header of a NumPy array file in bytes. It does not depend on the number of rows,
/// which is only known at the end.
const NPY_HEADER_BYTES: usize = 128;

/// Destination of the bytes of a table.
enum TableOutput {
    /// A file that appears only when it is complete.
    File(AtomicFile),
    /// Any other output, such as standard output.
    Stream(Box<dyn Write + Send>),
}

impl Write for TableOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            TableOutput::File(file) => file.write(bytes),
            TableOutput::Stream(stream) => stream.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            TableOutput::File(file) => file.flush(),
            TableOutput::Stream(stream) => stream.flush(),
        }
    }
}

/// Writes a table row by row.
///
/// A file appears under its name with [`finish`](Table::finish). If the table is dropped before,
/// nothing is left behind.
///
/// ```no_run
/// use std::path::Path;
/// use tinylda::table::{Cell, Column, Table, TableFormat};
///
/// let columns = [Column::text("name"), Column::float("topic_1"), Column::float("topic_2")];
/// let mut table = Table::create(Path::new("theta.parquet"), TableFormat::Parquet, &columns)?;
/// table.row(&[Cell::Text("first"), Cell::Float(0.25), Cell::Float(0.75)])?;
/// table.finish()?;
/// # Ok::<(), tinylda::Error>(())
/// ```
pub struct Table {
    path: PathBuf,
    format: TableFormat,
    columns: Vec<Column>,
    rows: u64,
    body: TableBody,
    line: Vec<u8>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.path)
            .field("format", &self.format)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// Output of a table, by the way rows are written.
enum TableBody {
    /// Each row is written as it comes.
    Plain(TableOutput),
    /// Rows are buffered and written in row groups.
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::RowGroupWriter>),
}

impl Table {
    /// Starts a table in a file.
    pub fn create(path: impl AsRef<Path>, format: TableFormat, columns: &[Column]) -> Result<Table> {
        let path = path.as_ref();
        check_columns(format, columns)?;
        Table::begin(TableOutput::File(AtomicFile::create(path)?), path, format, columns)
    }

    /// Starts a table in any writer, such as standard output, which errors call `name`.
    ///
    /// A NumPy array cannot be streamed, since its header contains the number of rows.
    pub fn stream(
        out: Box<dyn Write + Send>,
        name: &Path,
        format: TableFormat,
        columns: &[Column],
    ) -> Result<Table> {
        check_columns(format, columns)?;
        if format == TableFormat::Npy {
            return Err(Error::out_of_range("output", "a stream", "a file for a NumPy array")
                .with_remedy("write to a file, or write TSV or JSON lines"));
        }
        Table::begin(TableOutput::Stream(out), name, format, columns)
    }

    /// Starts a table and writes its header.
    fn begin(sink: TableOutput, path: &Path, format: TableFormat, columns: &[Column]) -> Result<Table> {
        let body = match format {
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                TableBody::Parquet(Box::new(parquet::RowGroupWriter::new(sink, path, columns)?))
            }
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => return Err(crate::features::missing_feature("parquet", "write", path)),
            _ => TableBody::Plain(sink),
        };
        let (columns, path) = (columns.to_vec(), path.to_path_buf());
        let mut table = Table { path, format, columns, rows: 0, body, line: Vec::new() };
        match format {
            TableFormat::Tsv | TableFormat::Csv => {
                for i in 0..table.columns.len() {
                    let name = std::mem::take(&mut table.columns[i].name);
                    table.separate(i);
                    table.put_text(&name);
                    table.columns[i].name = name;
                }
                table.line.push(b'\n');
            }
            TableFormat::Npy => table.line.extend_from_slice(&table.npy_header()),
            TableFormat::Parquet | TableFormat::JsonLines => {}
        }
        table.write_line()?;
        Ok(table)
    }

    /// Returns the number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row: one cell of the right kind for every column.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        self.check_row(cells)?;
        self.rows += 1;
        #[cfg(feature = "parquet")]
        if let TableBody::Parquet(groups) = &mut self.body {
            return groups.row(cells).map_err(parquet::write_error(&self.path));
        }
        if self.format == TableFormat::JsonLines {
            self.line.push(b'{');
        }
        for (i, &cell) in cells.iter().enumerate() {
            if self.format == TableFormat::Npy {
                self.put_npy(cell, self.columns[i].kind);
                continue;
            }
            self.separate(i);
            if self.format == TableFormat::JsonLines {
                json_text(&mut self.line, &self.columns[i].name);
                self.line.push(b':');
            }
            match cell {
                Cell::Float(v) => self.put_float(v),
                Cell::Whole(n) => self.line.extend_from_slice(n.to_string().as_bytes()),
                Cell::Text(text) => self.put_text(text),
                Cell::Missing if self.format == TableFormat::JsonLines => {
                    self.line.extend_from_slice(b"null");
                }
                Cell::Missing => {}
            }
        }
        match self.format {
            TableFormat::JsonLines => self.line.extend_from_slice(b"}\n"),
            TableFormat::Tsv | TableFormat::Csv => self.line.push(b'\n'),
            TableFormat::Parquet | TableFormat::Npy => {}
        }
        self.write_line()
    }

    /// Completes the table and returns the number of its rows.
    pub fn finish(self) -> Result<u64> {
        let (rows, file) = self.close()?;
        file.map_or(Ok(()), AtomicFile::commit)?;
        Ok(rows)
    }

    /// Completes the table. Returns the number of its rows and, unless it was streamed, the file,
    /// which does not have its final name yet.
    pub(crate) fn close(self) -> Result<(u64, Option<AtomicFile>)> {
        let head = (self.format == TableFormat::Npy).then(|| self.npy_header());
        let (path, rows) = (self.path, self.rows);
        #[cfg_attr(not(feature = "parquet"), allow(clippy::infallible_destructuring_match))]
        let sink = match self.body {
            TableBody::Plain(sink) => sink,
            #[cfg(feature = "parquet")]
            TableBody::Parquet(groups) => groups.finish().map_err(parquet::write_error(&path))?,
        };
        match sink {
            TableOutput::File(mut file) => {
                if let Some(head) = head {
                    file.patch(0, &head)?;
                }
                Ok((rows, Some(file)))
            }
            TableOutput::Stream(mut stream) => {
                stream.flush().map_err(Error::io("write", &path))?;
                Ok((rows, None))
            }
        }
    }

    /// Writes the buffered line, except for Parquet.
    fn write_line(&mut self) -> Result<()> {
        match &mut self.body {
            TableBody::Plain(sink) => sink.write_all(&self.line).map_err(Error::io("write", &self.path))?,
            #[cfg(feature = "parquet")]
            TableBody::Parquet(_) => {}
        }
        self.line.clear();
        Ok(())
    }

    /// Appends the separator in front of a column, unless it is the first.
    fn separate(&mut self, column: usize) {
        if column > 0 {
            self.line.push(if self.format == TableFormat::Tsv { b'\t' } else { b',' });
        }
    }

    fn put_float(&mut self, v: f32) {
        // `to_string` gives the shortest digits that parse to the same float. JSON has no NaN or
        // infinity.
        if v.is_finite() {
            self.line.extend_from_slice(v.to_string().as_bytes());
        } else if self.format == TableFormat::JsonLines {
            self.line.extend_from_slice(b"null");
        } else {
            let word: &[u8] = if v.is_nan() {
                b"nan"
            } else if v > 0.0 {
                b"inf"
            } else {
                b"-inf"
            };
            self.line.extend_from_slice(word);
        }
    }

    fn put_text(&mut self, text: &str) {
        match self.format {
            TableFormat::JsonLines => json_text(&mut self.line, text),
            TableFormat::Csv if text.contains(['"', ',', '\n', '\r']) => {
                self.line.push(b'"');
                self.line.extend_from_slice(text.replace('"', "\"\"").as_bytes());
                self.line.push(b'"');
            }
            TableFormat::Tsv => {
                let blank = |b| if matches!(b, b'\t' | b'\n' | b'\r') { b' ' } else { b };
                self.line.extend(text.bytes().map(blank));
            }
            _ => self.line.extend_from_slice(text.as_bytes()),
        }
    }

    fn put_npy(&mut self, cell: Cell<'_>, kind: ColumnKind) {
        match (kind, cell) {
            (ColumnKind::Whole, Cell::Whole(n)) => self.line.extend_from_slice(&n.to_le_bytes()),
            (_, Cell::Float(v)) => self.line.extend_from_slice(&v.to_le_bytes()),
            _ => self.line.extend_from_slice(&f32::NAN.to_le_bytes()),
        }
    }

    /// Returns the header of a NumPy array file for the current number of rows.
    fn npy_header(&self) -> [u8; NPY_HEADER_BYTES] {
        let whole = self.columns.first().is_some_and(|c| c.kind == ColumnKind::Whole);
        let dtype = if whole { "<u8" } else { "<f4" };
        let text = format!(
            "{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({}, {}), }}",
            self.rows,
            self.columns.len()
        );
        let mut head = [b' '; NPY_HEADER_BYTES];
        head[..8].copy_from_slice(b"\x93NUMPY\x01\x00");
        head[8..10].copy_from_slice(&(NPY_HEADER_BYTES as u16 - 10).to_le_bytes());
        // The text has at most 61 + 2 * 20 bytes, so it always fits.
        let length = text.len().min(NPY_HEADER_BYTES - 11);
        head[10..10 + length].copy_from_slice(&text.as_bytes()[..length]);
        head[NPY_HEADER_BYTES - 1] = b'\n';
        head
    }

    /// Checks that a row has one cell of the right kind for every column.
    fn check_row(&self, cells: &[Cell<'_>]) -> Result<()> {
        let fits = |(cell, column): (&Cell<'_>, &Column)| match cell {
            Cell::Float(_) => column.kind == ColumnKind::Float,
            Cell::Whole(_) => column.kind == ColumnKind::Whole,
            Cell::Text(_) => column.kind == ColumnKind::Text,
            Cell::Missing => column.optional,
        };
        if cells.len() == self.columns.len() && cells.iter().zip(&self.columns).all(fits) {
            return Ok(());
        }
        let found = match cells.iter().zip(&self.columns).find(|&pair| !fits(pair)) {
            Some((cell, column)) => format!("{cell:?} in the column {:?}", column.name),
            None => format!("{} cells", cells.len()),
        };
        let found = format!("{found} (row {})", self.rows + 1);
        let expected = format!("one cell of the right type for each of {} columns", self.columns.len());
        Err(Error::out_of_range("row", found, expected))
    }
}

/// Checks that a table with these columns can be written in the format.
fn check_columns(format: TableFormat, columns: &[Column]) -> Result<()> {
    let Some(first) = columns.first() else {
        return Err(Error::missing("columns", "at least one column"));
    };
    let mut names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::out_of_range("columns", format!("{twice:?} twice"), "a list of distinct names"));
    }
    if format == TableFormat::Npy {
        let other = columns.iter().find(|c| {
            c.kind == ColumnKind::Text || c.kind != first.kind || c.optional && c.kind == ColumnKind::Whole
        });
        if let Some(column) = other {
            let found = format!("{:?}", column.name);
            return Err(Error::out_of_range("columns", found, "numbers of one type for a NumPy array")
                .with_remedy("write Parquet, TSV or JSON lines, which can contain texts and numbers"));
        }
    }
    Ok(())
}

/// Appends a text as a JSON string.
fn json_text(out: &mut Vec<u8>, text: &str) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn columns() -> Vec<Column> {
        vec![Column::text("name"), Column::whole("count"), Column::float("share").optional()]
    }

    pub(super) fn written(format: TableFormat) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let mut table = Table::create(&path, format, &columns()).unwrap();
        table.row(&[Cell::Text("a\t\"b\",\nc"), Cell::Whole(u64::MAX), Cell::Float(0.1)]).unwrap();
        table.row(&[Cell::Text(""), Cell::Whole(0), Cell::Missing]).unwrap();
        assert_eq!(table.rows(), 2);
        assert!(!path.exists());
        assert_eq!(table.finish().unwrap(), 2);
        std::fs::read(path).unwrap()
    }

    #[test]
    fn texts_are_what_other_tools_read() {
        let text = |format| String::from_utf8(written(format)).unwrap();
        assert_eq!(
            text(TableFormat::Tsv),
            "name\tcount\tshare\na \"b\", c\t18446744073709551615\t0.1\n\t0\t\n"
        );
        assert_eq!(
            text(TableFormat::Csv),
            "name,count,share\n\"a\t\"\"b\"\",\nc\",18446744073709551615,0.1\n,0,\n"
        );
        assert_eq!(
            text(TableFormat::JsonLines),
            "{\"name\":\"a\\t\\\"b\\\",\\nc\",\"count\":18446744073709551615,\"share\":0.1}\n\
             {\"name\":\"\",\"count\":0,\"share\":null}\n"
        );
    }

    #[test]
    fn npy_has_its_shape_in_front() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.npy");
        let mut table =
            Table::create(&path, TableFormat::Npy, &["a", "b"].map(|n| Column::float(n).optional())).unwrap();
        table.row(&[Cell::Float(1.5), Cell::Missing]).unwrap();
        table.finish().unwrap();
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(bytes.len(), 128 + 8);
        assert!(
            String::from_utf8_lossy(&bytes[10..128])
                .contains("'<f4', 'fortran_order': False, 'shape': (1, 2)")
        );
        assert_eq!(bytes[128..132], 1.5f32.to_le_bytes());
    }

    #[test]
    fn wrong_rows_and_columns_are_refused_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let says = |e: Error, part: &str| assert!(e.to_string().contains(part), "{e}");
        says(Table::create(&path, TableFormat::Npy, &columns()).unwrap_err(), "not \"name\"");
        says(Table::create(&path, TableFormat::Tsv, &[]).unwrap_err(), "at least one column");
        let twice = [Column::text("x"), Column::float("x")];
        says(Table::create(&path, TableFormat::Tsv, &twice).unwrap_err(), "\"x\" twice");
        let stream = Table::stream(Box::new(io::sink()), &path, TableFormat::Npy, &[Column::float("x")]);
        says(stream.unwrap_err(), "a file");
        for format in [TableFormat::Parquet, TableFormat::Tsv] {
            if format == TableFormat::Parquet && cfg!(not(feature = "parquet")) {
                says(Table::create(&path, format, &columns()).unwrap_err(), "lacks the feature `parquet`");
                continue;
            }
            let mut table = Table::create(&path, format, &columns()).unwrap();
            says(table.row(&[Cell::Text("a")]).unwrap_err(), "1 cells (row 1)");
            let wrong = [Cell::Text("a"), Cell::Float(1.0), Cell::Missing];
            says(table.row(&wrong).unwrap_err(), "\"count\"");
            assert!(table.row(&[Cell::Missing, Cell::Whole(1), Cell::Missing]).is_err());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_suffix_tells_the_format() {
        for (name, format) in
            [("a.parquet", TableFormat::Parquet), ("a.TSV", TableFormat::Tsv), ("b/x.npy", TableFormat::Npy)]
        {
            assert_eq!(TableFormat::of_path(Path::new(name)), Some(format));
        }
        assert_eq!(TableFormat::of_path(Path::new("theta")), None);
    }
}
