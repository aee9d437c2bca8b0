//! Rows of phi in a file: read one by one as documents need them, and updated in the order of the
//! words. This module does not know which word a row belongs to.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{FORMS, WIDE};
use crate::algorithms::tbp::delta::Delta;
use crate::error::{Error, Result};
use crate::files::{read_at, write_at};
use crate::numbers::{self, Number};

/// Buffer for a row that is read from a file.
#[derive(Debug, Default, Clone)]
pub(super) struct FileRow {
    bytes: Vec<u8>,
    pub(super) cells: Vec<u32>,
}

/// The rows of each form, one form after the other. Numbers have 32 bits in the form [`WIDE`], and
/// 16 bits in the others.
#[derive(Debug)]
pub(super) struct OnDisk {
    /// Path of the file as it appears in errors. The file itself is unnamed.
    path: PathBuf,
    file: File,
    /// Number of columns of a row.
    width: usize,
    /// Offset of the rows of each form.
    starts: [u64; FORMS],
}

/// Returns the bytes of a number in rows of a form.
fn number_bytes(form: usize) -> usize {
    if form == WIDE { 4 } else { 2 }
}

impl OnDisk {
    /// Creates a file with `rows` rows of zeros of each form.
    pub(super) fn new(folder: &Path, rows: [usize; FORMS], width: usize) -> Result<OnDisk> {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let path = folder.join("phi");
        // The file is unnamed, and the system deletes it when the process ends.
        let file = tempfile::tempfile_in(folder).map_err(Error::io("create", &path))?;
        let mut end = 0;
        let starts = std::array::from_fn(|form| {
            let start = end;
            end += (rows[form] * width * number_bytes(form)) as u64;
            start
        });
        file.set_len(end).map_err(Error::io("write", &path))?;
        Ok(OnDisk { path, file, width, starts })
    }

    /// Sets all rows to zero. A file that is truncated and extended again consists of zeros.
    pub(super) fn clear(&self) -> Result<()> {
        let again = || {
            let length = self.file.metadata()?.len();
            self.file.set_len(0)?;
            self.file.set_len(length)
        };
        again().map_err(Error::io("write", &self.path))
    }

    /// Returns the offset of a row and its number of bytes.
    fn location(&self, form: usize, number: usize) -> (u64, usize) {
        let bytes = self.width * number_bytes(form);
        (self.starts[form] + (number * bytes) as u64, bytes)
    }

    /// Reads a row into the buffer.
    pub(super) fn read<'a>(&self, form: usize, number: usize, buffer: &'a mut FileRow) -> Result<&'a [u32]> {
        let (at, bytes) = self.location(form, number);
        buffer.bytes.resize(bytes, 0);
        read_at(&self.file, &mut buffer.bytes, at).map_err(Error::io("read", &self.path))?;
        buffer.cells.clear();
        if form == WIDE {
            buffer.cells.extend(buffer.bytes.chunks_exact(4).map(u32::get));
        } else {
            buffer.cells.extend(buffer.bytes.chunks_exact(2).map(|two| u32::from(u16::get(two))));
        }
        Ok(&buffer.cells)
    }

    /// Writes the numbers in the buffer to a row.
    pub(super) fn write(&self, form: usize, number: usize, buffer: &mut FileRow) -> Result<()> {
        buffer.bytes.clear();
        if form == WIDE {
            numbers::put(&buffer.cells, &mut buffer.bytes);
        } else {
            buffer.bytes.extend(buffer.cells.iter().flat_map(|&n| (n as u16).to_le_bytes()));
        }
        let (at, _) = self.location(form, number);
        write_at(&self.file, &buffer.bytes, at).map_err(Error::io("write", &self.path))
    }

    /// Applies deltas to rows of one form, row by row. `first` is the number of the row whose cells
    /// start at 0.
    pub(super) fn apply(&self, form: usize, first: usize, mut deltas: Vec<Delta>) -> Result<()> {
        let width = self.width;
        deltas.sort_unstable_by_key(|delta| delta.cell);
        let mut buffer = FileRow::default();
        for of_row in deltas.chunk_by(|a, b| a.cell as usize / width == b.cell as usize / width) {
            let number = first + of_row[0].cell as usize / width;
            self.read(form, number, &mut buffer)?;
            for delta in of_row {
                let n = &mut buffer.cells[delta.cell as usize % width];
                *n = n.wrapping_add(delta.units as u32);
            }
            self.write(form, number, &mut buffer)?;
        }
        Ok(())
    }
}
