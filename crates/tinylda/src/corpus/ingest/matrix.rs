//! Count matrices stored as arrays, as SciPy and AnnData do. They are read from front to back and
//! never held in memory as a whole.
//!
//! Start with [`CountMatrix`]. The file formats that contain the arrays are in `npz` and `h5ad`.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::dtype::to_count;
use super::sorter::DocumentSorter;
use super::{MAX_UNCHECKED_WORDS, ReadOptions, file_error};
use crate::error::{Error, Remedy, Result, Template};

/// Number of values that are read from an array at a time.
const NUMBERS_PER_READ: usize = 1 << 15;

/// One-dimensional array that is read from front to back.
///
/// All numbers are returned as 64-bit floats: they represent every valid count and index exactly,
/// and larger numbers are invalid anyway.
pub(super) trait NumberSource {
    /// Returns the total number of values.
    fn total(&self) -> u64;
    /// Replaces the content of `out` with the next `count` numbers. The caller ensures that at
    /// least `count` numbers are left, according to `total`.
    fn take(&mut self, count: usize, out: &mut Vec<f64>) -> Result<()>;
}

/// Buffered reader of one array of a matrix.
pub(super) struct ArrayReader {
    name: String,
    numbers: Box<dyn NumberSource>,
    buffer: Vec<f64>,
    next: usize,
    returned: u64,
}

impl ArrayReader {
    pub(super) fn new(name: impl Into<String>, numbers: Box<dyn NumberSource>) -> ArrayReader {
        ArrayReader { name: name.into(), numbers, buffer: Vec::new(), next: 0, returned: 0 }
    }

    fn total(&self) -> u64 {
        self.numbers.total()
    }

    /// Returns the next number. The caller ensures that there is one.
    #[inline]
    fn next(&mut self) -> Result<f64> {
        if self.next == self.buffer.len() {
            let count = (self.total() - self.returned).min(NUMBERS_PER_READ as u64) as usize;
            self.numbers.take(count, &mut self.buffer)?;
            self.returned += count as u64;
            self.next = 0;
        }
        let value = self.buffer.get(self.next).copied().unwrap_or(f64::NAN);
        self.next += 1;
        Ok(value)
    }
}

/// Storage layout of a matrix.
pub(super) enum MatrixLayout {
    /// Compressed rows: the start of every row, and the column of every entry.
    Csr { starts: ArrayReader, columns: ArrayReader },
    /// Compressed columns: the start of every column, and the row of every entry.
    Csc { starts: ArrayReader, rows: ArrayReader },
    /// Coordinates: the row and the column of every entry.
    Coo { rows: ArrayReader, columns: ArrayReader },
    /// All numbers, row by row.
    Dense,
}

/// Matrix of counts.
pub(super) struct CountMatrix {
    pub(super) path: PathBuf,
    /// Name of the matrix in its file.
    pub(super) name: String,
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) layout: MatrixLayout,
    pub(super) values: ArrayReader,
    /// Remedy in the error about values that are not counts.
    pub(super) remedy: Remedy,
}

impl CountMatrix {
    fn matrix_error(&self, found: &str, expected: &str, remedy: impl Into<Remedy>) -> Error {
        file_error(&self.path, format!("{} with {found}", self.name), expected, remedy)
    }

    /// Pushes all entries to the sorter. The documents are the rows, or the columns if `transpose`
    /// is set. Returns the number of words.
    pub(super) fn read(
        mut self,
        transpose: bool,
        options: &ReadOptions,
        out: &mut DocumentSorter,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<u32> {
        let entries = self.values.total();
        let (documents, words) =
            if transpose { (self.columns, self.rows) } else { (self.rows, self.columns) };
        self.check_size(documents, words, transpose, options)?;
        out.check_words(words, 0)?;
        let mut emit = |row: u64, column: u64, count: u32| {
            let (document, word) = if transpose { (column, row) } else { (row, column) };
            out.push(document, word as u32, count)
        };
        let mut done = 0u64;
        let mut report = |n: u64| {
            done += n;
            if done & (NUMBERS_PER_READ as u64 - 1) < n && progress(done, entries).is_break() {
                return Err(Error::Interrupted);
            }
            Ok(())
        };
        let layout = std::mem::replace(&mut self.layout, MatrixLayout::Dense);
        match layout {
            MatrixLayout::Dense => {
                if self.rows.checked_mul(self.columns) != Some(entries) {
                    return Err(self.length_error(entries, "rows times columns"));
                }
                for row in 0..self.rows {
                    for column in 0..self.columns {
                        if let Some(count) = self.next_count()? {
                            emit(row, column, count)?;
                        }
                        report(1)?;
                    }
                }
            }
            MatrixLayout::Coo { mut rows, mut columns } => {
                if rows.total() != entries || columns.total() != entries {
                    return Err(self.length_error(entries, "a row and a column for every value"));
                }
                for _ in 0..entries {
                    let row = self.next_index(&mut rows, self.rows)?;
                    let column = self.next_index(&mut columns, self.columns)?;
                    if let Some(count) = self.next_count()? {
                        emit(row, column, count)?;
                    }
                    report(1)?;
                }
            }
            MatrixLayout::Csr { mut starts, columns: mut minor } => {
                let (majors, minors) = (self.rows, self.columns);
                self.read_compressed(&mut starts, &mut minor, majors, minors, &mut |row, column, count| {
                    report(1)?;
                    count.map_or(Ok(()), |count| emit(row, column, count))
                })?;
            }
            MatrixLayout::Csc { mut starts, rows: mut minor } => {
                let (majors, minors) = (self.columns, self.rows);
                self.read_compressed(&mut starts, &mut minor, majors, minors, &mut |column, row, count| {
                    report(1)?;
                    count.map_or(Ok(()), |count| emit(row, column, count))
                })?;
            }
        }
        out.declare_documents(documents);
        Ok(words as u32)
    }

    /// Calls `each` with the entries of compressed rows or columns.
    fn read_compressed(
        &mut self,
        starts: &mut ArrayReader,
        minor: &mut ArrayReader,
        majors: u64,
        minors: u64,
        each: &mut dyn FnMut(u64, u64, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        let entries = self.values.total();
        if majors.checked_add(1) != Some(starts.total()) || minor.total() != entries {
            return Err(self.length_error(entries, "a start for every row or column, and the end"));
        }
        let most = entries.saturating_add(1);
        let mut from = self.next_index(starts, most)?;
        let mut right = from == 0;
        for major in 0..majors {
            let to = self.next_index(starts, most)?;
            right &= to >= from;
            for _ in from..to {
                let place = self.next_index(minor, minors)?;
                let count = self.next_count()?;
                each(major, place, count)?;
            }
            from = to;
            if !right {
                break;
            }
        }
        if right && from == entries {
            return Ok(());
        }
        Err(self.matrix_error(
            &format!(
                "an array {:?} that does not ascend from 0 to {entries}, the number of entries",
                starts.name
            ),
            "the start of every row or column",
            "the file is damaged or was made by hand: write it again",
        ))
    }

    fn length_error(&self, entries: u64, expected: &str) -> Error {
        let (rows, columns) = (self.rows, self.columns);
        self.matrix_error(
            &format!("{rows} rows, {columns} columns and {entries} values, which are inconsistent"),
            expected,
            "the file is damaged or was made by hand: write it again",
        )
    }

    #[inline]
    fn next_index(&self, array: &mut ArrayReader, size: u64) -> Result<u64> {
        let value = array.next()?;
        let whole = value as u64;
        if value >= 0.0 && value.fract() == 0.0 && whole < size {
            return Ok(whole);
        }
        Err(self.matrix_error(
            &format!("{value} in its array {:?}", array.name),
            &format!("whole numbers from 0 to {}", size.saturating_sub(1)),
            "the file is damaged or was made by hand: write it again",
        ))
    }

    /// Returns the next value as a count; `None` for a zero, which matrices may store.
    #[inline]
    fn next_count(&mut self) -> Result<Option<u32>> {
        let value = self.values.next()?;
        if let Some(count) = to_count(value) {
            return Ok((count > 0).then_some(count));
        }
        let kind = if value < 0.0 {
            "the negative value"
        } else if value.fract() != 0.0 {
            "the fractional value"
        } else {
            "the value"
        };
        Err(self.matrix_error(
            &format!("{kind} {value}"),
            "counts: whole numbers from 0 to 4294967295",
            self.remedy.clone(),
        ))
    }

    fn check_size(&self, documents: u64, words: u64, transpose: bool, options: &ReadOptions) -> Result<()> {
        if let Some((path, given)) = &options.vocabulary
            && *given != words
        {
            let remedy = match (*given == documents, transpose) {
                (true, true) => "omit {transpose}",
                (true, false) => "use {transpose}: the documents are the columns",
                _ => "give the vocabulary of this matrix: line i names word i",
            };
            let expected =
                Template::default().text(format!("{words}, the number of words in {}", self.path.display()));
            return Err(file_error(path, format!("{given} words"), expected, remedy));
        }
        let entries = self.values.total();
        let most = MAX_UNCHECKED_WORDS.saturating_add(entries.saturating_mul(1000));
        if words >= u64::from(u32::MAX) || words > most {
            return Err(self.matrix_error(
                &format!("{words} words for {entries} entries"),
                "fewer than 4294967295 words, and not more than about 1000 per entry",
                "if the words are the rows of the matrix, use {transpose}",
            ));
        }
        Ok(())
    }
}
