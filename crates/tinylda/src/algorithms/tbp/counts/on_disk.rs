//! Rows in a file: read one by one as documents want them, renewed in the order of the words.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{FORMS, WIDE};
use crate::algorithms::tbp::delta::Delta;
use crate::error::{Error, Result};
use crate::files::{read_at, write_at};
use crate::numbers::{self, Number};

/// Room for a row that comes from a file.
#[derive(Debug, Default, Clone)]
pub(super) struct FileRow {
    bytes: Vec<u8>,
    pub(super) cells: Vec<u32>,
}

/// Rows of each form, one form behind the other. Of all but [`WIDE`] numbers have 16 bits.
#[derive(Debug)]
pub(super) struct OnDisk {
    /// What it is called in errors.
    path: PathBuf,
    file: File,
    /// Numbers in a row.
    width: usize,
    /// Where each form begins.
    starts: [u64; FORMS],
}

/// Bytes of a number.
fn number_bytes(form: usize) -> usize {
    if form == WIDE { 4 } else { 2 }
}

impl OnDisk {
    /// Rows of zeros, so many of each form.
    pub(super) fn new(folder: &Path, rows: [usize; FORMS], width: usize) -> Result<OnDisk> {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let path = folder.join("phi");
        // It has no name that others see, and goes with the process.
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

    /// Zeros again: cut off and made as long as it was, a file has them.
    pub(super) fn clear(&self) -> Result<()> {
        let again = || {
            let length = self.file.metadata()?.len();
            self.file.set_len(0)?;
            self.file.set_len(length)
        };
        again().map_err(Error::io("write", &self.path))
    }

    /// Where a row is, and its bytes.
    fn place(&self, form: usize, number: usize) -> (u64, usize) {
        let bytes = self.width * number_bytes(form);
        (self.starts[form] + (number * bytes) as u64, bytes)
    }

    pub(super) fn read<'a>(&self, form: usize, number: usize, buffer: &'a mut FileRow) -> Result<&'a [u32]> {
        let (at, bytes) = self.place(form, number);
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

    /// Writes the numbers of the buffer.
    pub(super) fn write(&self, form: usize, number: usize, buffer: &mut FileRow) -> Result<()> {
        buffer.bytes.clear();
        if form == WIDE {
            numbers::put(&buffer.cells, &mut buffer.bytes);
        } else {
            buffer.bytes.extend(buffer.cells.iter().flat_map(|&n| (n as u16).to_le_bytes()));
        }
        let (at, _) = self.place(form, number);
        write_at(&self.file, &buffer.bytes, at).map_err(Error::io("write", &self.path))
    }

    /// Applies deltas of rows of one form, row by row; `first` is the number of the row whose cells start at 0.
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
