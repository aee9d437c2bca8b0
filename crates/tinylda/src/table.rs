//! Tables out: rows of numbers and texts into a file that other tools read. Streaming, and whole or not there at all.
//!
//! | format | read by |
//! |---|---|
//! | Parquet | pandas, polars, R's arrow, DuckDB; columns keep their types |
//! | TSV, CSV | everything; a line of names first |
//! | JSON lines | everything that reads JSON; an object per row |
//! | npy | numpy; a matrix of numbers without names |
//!
//! Parquet needs the feature `parquet`.

#[cfg(feature = "parquet")]
mod parquet;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::AtomicFile;

/// In which format a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Apache Parquet, compressed with Snappy.
    Parquet,
    /// Fields between tabs. Tabs and line ends in a text become blanks.
    Tsv,
    /// Fields between commas, quoted where they must be (RFC 4180).
    Csv,
    /// A JSON object per line.
    JsonLines,
    /// A numpy array of two dimensions: columns of numbers of one kind.
    Npy,
}

impl TableFormat {
    /// Every format.
    pub const ALL: [TableFormat; 5] =
        [TableFormat::Parquet, TableFormat::Tsv, TableFormat::Csv, TableFormat::JsonLines, TableFormat::Npy];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TableFormat::Parquet => "parquet",
            TableFormat::Tsv => "tsv",
            TableFormat::Csv => "csv",
            TableFormat::JsonLines => "jsonl",
            TableFormat::Npy => "npy",
        }
    }

    /// The format that a file's suffix stands for (`.parquet`, `.tsv`, `.csv`, `.jsonl`, `.npy` and the like).
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

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers, as 32-bit floats.
    Float,
    /// Whole numbers from 0, in 64 bits.
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
    /// A column of some kind.
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Column {
        Column { name: name.into(), kind, optional: false }
    }
    /// A column of 32-bit floats.
    pub fn float(name: impl Into<String>) -> Column {
        Column::new(name, ColumnKind::Float)
    }
    /// A column of whole numbers.
    pub fn whole(name: impl Into<String>) -> Column {
        Column::new(name, ColumnKind::Whole)
    }
    /// A column of texts.
    pub fn text(name: impl Into<String>) -> Column {
        Column::new(name, ColumnKind::Text)
    }
    /// The same, and [`Cell::Missing`] may stand in it.
    #[must_use]
    pub fn optional(mut self) -> Column {
        self.optional = true;
        self
    }
}

/// What stands in one place of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// In a column of floats.
    Float(f32),
    /// In a column of whole numbers.
    Whole(u64),
    /// In a column of texts.
    Text(&'a str),
    /// Nothing, in a column that is [optional](Column::optional): null, an empty field, or not a number.
    Missing,
}

/// The head of an array file takes this many bytes, whatever the number of rows turns out to be.
const NPY_HEAD: usize = 128;

/// Where the bytes go.
enum Sink {
    /// A file that appears when it is whole.
    File(AtomicFile),
    /// Anything else, such as standard output.
    Stream(Box<dyn Write + Send>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
            Sink::Stream(stream) => stream.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.flush(),
            Sink::Stream(stream) => stream.flush(),
        }
    }
}

/// A table that is being written, row by row. A file appears under its name with [`finish`](Table::finish); dropped before,
/// it leaves nothing behind.
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
    body: Body,
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

enum Body {
    /// Rows are bytes of their own.
    Plain(Sink),
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::Groups>),
}

impl Table {
    /// Begins a table in a file.
    pub fn create(path: impl AsRef<Path>, format: TableFormat, columns: &[Column]) -> Result<Table> {
        let path = path.as_ref();
        check(format, columns)?;
        Table::begin(Sink::File(AtomicFile::create(path)?), path, format, columns)
    }

    /// Begins a table in anything that can be written to, such as standard output; errors call it `name`. A numpy array
    /// cannot be streamed, since its head has the number of rows.
    pub fn stream(
        out: Box<dyn Write + Send>,
        name: &Path,
        format: TableFormat,
        columns: &[Column],
    ) -> Result<Table> {
        check(format, columns)?;
        if format == TableFormat::Npy {
            return Err(Error::out_of_range("output", "a stream", "a file for a NumPy array")
                .with_remedy("write to a file, or write TSV or JSON lines"));
        }
        Table::begin(Sink::Stream(out), name, format, columns)
    }

    fn begin(sink: Sink, path: &Path, format: TableFormat, columns: &[Column]) -> Result<Table> {
        let body = match format {
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => Body::Parquet(Box::new(parquet::Groups::new(sink, path, columns)?)),
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => return Err(crate::features::missing("parquet", "write", path)),
            _ => Body::Plain(sink),
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
            TableFormat::Npy => table.line.extend_from_slice(&table.npy_head()),
            TableFormat::Parquet | TableFormat::JsonLines => {}
        }
        table.write_line()?;
        Ok(table)
    }

    /// How many rows there are so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row: a cell for every column, of its kind.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        self.check_row(cells)?;
        self.rows += 1;
        #[cfg(feature = "parquet")]
        if let Body::Parquet(groups) = &mut self.body {
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

    /// Completes the table, and returns the number of its rows.
    pub fn finish(self) -> Result<u64> {
        let head = (self.format == TableFormat::Npy).then(|| self.npy_head());
        let (path, rows) = (self.path, self.rows);
        #[cfg_attr(not(feature = "parquet"), allow(clippy::infallible_destructuring_match))]
        let sink = match self.body {
            Body::Plain(sink) => sink,
            #[cfg(feature = "parquet")]
            Body::Parquet(groups) => groups.finish().map_err(parquet::write_error(&path))?,
        };
        match sink {
            Sink::File(mut file) => {
                if let Some(head) = head {
                    file.patch(0, &head)?;
                }
                file.commit()?;
            }
            Sink::Stream(mut stream) => stream.flush().map_err(Error::io("write", &path))?,
        }
        Ok(rows)
    }

    fn write_line(&mut self) -> Result<()> {
        match &mut self.body {
            Body::Plain(sink) => sink.write_all(&self.line).map_err(Error::io("write", &self.path))?,
            #[cfg(feature = "parquet")]
            Body::Parquet(_) => {}
        }
        self.line.clear();
        Ok(())
    }

    fn separate(&mut self, column: usize) {
        if column > 0 {
            self.line.push(if self.format == TableFormat::Tsv { b'\t' } else { b',' });
        }
    }

    fn put_float(&mut self, v: f32) {
        // The shortest digits that give the same float again; JSON has no word for what is not a number.
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

    fn npy_head(&self) -> [u8; NPY_HEAD] {
        let whole = self.columns.first().is_some_and(|c| c.kind == ColumnKind::Whole);
        let dtype = if whole { "<u8" } else { "<f4" };
        let text = format!(
            "{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({}, {}), }}",
            self.rows,
            self.columns.len()
        );
        let mut head = [b' '; NPY_HEAD];
        head[..8].copy_from_slice(b"\x93NUMPY\x01\x00");
        head[8..10].copy_from_slice(&(NPY_HEAD as u16 - 10).to_le_bytes());
        // At most 61 + 2 * 20 bytes: it always fits.
        let room = text.len().min(NPY_HEAD - 11);
        head[10..10 + room].copy_from_slice(&text.as_bytes()[..room]);
        head[NPY_HEAD - 1] = b'\n';
        head
    }

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

/// Whether a table of these columns can be written so.
fn check(format: TableFormat, columns: &[Column]) -> Result<()> {
    let Some(first) = columns.first() else {
        return Err(Error::missing("columns", "at least one column"));
    };
    let mut names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::out_of_range("columns", format!("{twice:?} twice"), "a list of different names"));
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

/// A text in JSON's quotes.
fn json_text(out: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail.
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
