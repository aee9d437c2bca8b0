//! Matrices of counts in arrays, as scipy and AnnData keep them: read from front to back, never
//! held whole.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::dtype::whole;
use super::sorter::DocumentSorter;
use super::{Expect, MANY_WORDS, bad};
use crate::error::{Error, Remedy, Result, Template};

/// Numbers that are taken from an array at a time.
const CHUNK: usize = 1 << 15;

/// An array of one dimension that can be read from front to back. All numbers come as 64-bit
/// floats: they hold every count and every index exactly, and what is too large for them is too
/// large anyhow.
pub(super) trait Numbers {
    /// How many numbers there are in all.
    fn total(&self) -> u64;
    /// Puts the next `count` numbers in place of what `out` holds; they are there, as `total` says.
    fn take(&mut self, count: usize, out: &mut Vec<f64>) -> Result<()>;
}

/// One array of a matrix, number by number.
pub(super) struct Flow {
    name: String,
    numbers: Box<dyn Numbers>,
    buffer: Vec<f64>,
    next: usize,
    given: u64,
}

impl Flow {
    pub(super) fn new(name: impl Into<String>, numbers: Box<dyn Numbers>) -> Flow {
        Flow { name: name.into(), numbers, buffer: Vec::new(), next: 0, given: 0 }
    }

    fn total(&self) -> u64 {
        self.numbers.total()
    }

    /// The next number; the caller has counted that there is one.
    #[inline]
    fn next(&mut self) -> Result<f64> {
        if self.next == self.buffer.len() {
            let count = (self.total() - self.given).min(CHUNK as u64) as usize;
            self.numbers.take(count, &mut self.buffer)?;
            self.given += count as u64;
            self.next = 0;
        }
        let value = self.buffer.get(self.next).copied().unwrap_or(f64::NAN);
        self.next += 1;
        Ok(value)
    }
}

/// How a matrix lies in its arrays.
pub(super) enum Layout {
    /// Row by row: where each row begins, and for every entry its column.
    Csr { starts: Flow, columns: Flow },
    /// Column by column: where each column begins, and for every entry its row.
    Csc { starts: Flow, rows: Flow },
    /// For every entry its row and its column.
    Coo { rows: Flow, columns: Flow },
    /// All numbers, row by row.
    Dense,
}

/// A matrix of counts.
pub(super) struct Matrix {
    pub(super) path: PathBuf,
    /// What it is called in its file.
    pub(super) name: String,
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) layout: Layout,
    pub(super) values: Flow,
    /// What to do where the values are no counts.
    pub(super) remedy: Remedy,
}

impl Matrix {
    fn bad(&self, found: &str, expected: &str, remedy: impl Into<Remedy>) -> Error {
        bad(&self.path, format!("{} with {found}", self.name), expected, remedy)
    }

    /// Hands all entries over, documents as rows, or as columns with `transpose`. Returns the
    /// number of words.
    pub(super) fn read(
        mut self,
        transpose: bool,
        expect: &Expect,
        out: &mut DocumentSorter,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<u32> {
        let entries = self.values.total();
        let (documents, words) =
            if transpose { (self.columns, self.rows) } else { (self.rows, self.columns) };
        self.check_size(documents, words, transpose, expect)?;
        let mut place = |row: u64, column: u64, count: u32| {
            let (document, word) = if transpose { (column, row) } else { (row, column) };
            out.push(document, word as u32, count)
        };
        let total = entries;
        let mut done = 0u64;
        let mut report = |n: u64| {
            done += n;
            if done & (CHUNK as u64 - 1) < n && progress(done, total).is_break() {
                return Err(Error::Interrupted);
            }
            Ok(())
        };
        let layout = std::mem::replace(&mut self.layout, Layout::Dense);
        match layout {
            Layout::Dense => {
                if self.rows.checked_mul(self.columns) != Some(entries) {
                    return Err(self.lengths(entries, "rows times columns"));
                }
                for row in 0..self.rows {
                    for column in 0..self.columns {
                        if let Some(count) = self.count()? {
                            place(row, column, count)?;
                        }
                        report(1)?;
                    }
                }
            }
            Layout::Coo { mut rows, mut columns } => {
                if rows.total() != entries || columns.total() != entries {
                    return Err(self.lengths(entries, "a row and a column for every value"));
                }
                for _ in 0..entries {
                    let row = self.index(&mut rows, self.rows)?;
                    let column = self.index(&mut columns, self.columns)?;
                    if let Some(count) = self.count()? {
                        place(row, column, count)?;
                    }
                    report(1)?;
                }
            }
            Layout::Csr { mut starts, columns: mut minor } => {
                let (major_size, minor_size) = (self.rows, self.columns);
                self.lists(&mut starts, &mut minor, major_size, minor_size, &mut |row, column, count| {
                    report(1)?;
                    count.map_or(Ok(()), |count| place(row, column, count))
                })?;
            }
            Layout::Csc { mut starts, rows: mut minor } => {
                let (major_size, minor_size) = (self.columns, self.rows);
                self.lists(&mut starts, &mut minor, major_size, minor_size, &mut |column, row, count| {
                    report(1)?;
                    count.map_or(Ok(()), |count| place(row, column, count))
                })?;
            }
        }
        out.declare_documents(documents);
        Ok(words as u32)
    }

    /// The entries of compressed rows or columns.
    fn lists(
        &mut self,
        starts: &mut Flow,
        minor: &mut Flow,
        major_size: u64,
        minor_size: u64,
        each: &mut dyn FnMut(u64, u64, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        let entries = self.values.total();
        if major_size.checked_add(1) != Some(starts.total()) || minor.total() != entries {
            return Err(self.lengths(entries, "a beginning for every row or column and one end"));
        }
        let most = entries.saturating_add(1);
        let mut from = self.index(starts, most)?;
        let mut right = from == 0;
        for major in 0..major_size {
            let to = self.index(starts, most)?;
            right &= to >= from;
            for _ in from..to {
                let place = self.index(minor, minor_size)?;
                let count = self.count()?;
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
        Err(self.bad(
            &format!("an array {:?} that does not go from 0 up to the {entries} entries", starts.name),
            "where each row or column begins",
            "the file is damaged or was made by hand: write it again",
        ))
    }

    fn lengths(&self, entries: u64, expected: &str) -> Error {
        let (rows, columns) = (self.rows, self.columns);
        self.bad(
            &format!("{rows} rows, {columns} columns and {entries} values, which do not fit each other"),
            expected,
            "the file is damaged or was made by hand: write it again",
        )
    }

    #[inline]
    fn index(&self, flow: &mut Flow, size: u64) -> Result<u64> {
        let value = flow.next()?;
        let whole = value as u64;
        if value >= 0.0 && value.fract() == 0.0 && whole < size {
            return Ok(whole);
        }
        Err(self.bad(
            &format!("{value} in its array {:?}", flow.name),
            &format!("whole numbers from 0 to {}", size.saturating_sub(1)),
            "the file is damaged or was made by hand: write it again",
        ))
    }

    /// The next value as a count; nothing where it is zero, which matrices may hold.
    #[inline]
    fn count(&mut self) -> Result<Option<u32>> {
        let value = self.values.next()?;
        if let Some(count) = whole(value) {
            return Ok((count > 0).then_some(count));
        }
        let kind = if value < 0.0 {
            "the negative value"
        } else if value.fract() != 0.0 {
            "the fractional value"
        } else {
            "the value"
        };
        Err(self.bad(
            &format!("{kind} {value}"),
            "counts: whole numbers from 0 to 4294967295",
            self.remedy.clone(),
        ))
    }

    fn check_size(&self, documents: u64, words: u64, transpose: bool, expect: &Expect) -> Result<()> {
        if let Some((path, given)) = &expect.vocabulary
            && *given != words
        {
            let remedy = match (*given == documents, transpose) {
                (true, true) => "omit {transpose}",
                (true, false) => "use {transpose}: the documents are the columns",
                _ => "give the vocabulary of this matrix: line i names word i",
            };
            let expected =
                Template::default().text(format!("{words}, as many as {} has", self.path.display()));
            return Err(bad(path, format!("{given} words"), expected, remedy));
        }
        let entries = self.values.total();
        let most = MANY_WORDS.saturating_add(entries.saturating_mul(1000));
        if words >= u64::from(u32::MAX) || words > most {
            return Err(self.bad(
                &format!("{words} words for {entries} entries"),
                "fewer than 4294967295 words, and not thousands for every entry",
                "if the words are the rows of the matrix, use {transpose}",
            ));
        }
        Ok(())
    }
}
