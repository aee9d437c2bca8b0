//! Rows of a Parquet file as texts, for the way that raw text goes: a batch of rows at a time, as
//! often as is asked.

use super::{Column, ParquetFile, TextColumns, Value};
use crate::corpus::ingest::raw::records::Shape;
use crate::corpus::ingest::raw::source::{BATCH, Batch, Kind, LONGEST, Piece, TextSource};
use crate::error::{Error, Position, Result};

/// Rows of a batch at the most: those without text have no bytes to go by.
const MOST_ROWS: usize = 1 << 13;

/// Texts with their names and labels, where there are such columns.
pub(in super::super) struct Texts {
    file: ParquetFile,
    columns: TextColumns,
    text: Vec<Column>,
    id: Option<Column>,
    label: Option<Column>,
    row: u64,
}

impl Texts {
    pub(in super::super) fn new(file: ParquetFile, columns: TextColumns) -> Texts {
        let column = |leaf: &usize| file.column(*leaf);
        let text = columns.text.iter().map(column).collect();
        let (id, label) = (columns.id.as_ref().map(column), columns.label.as_ref().map(column));
        Texts { file, columns, text, id, label, row: 0 }
    }

    pub(in super::super) fn shape(&self) -> Shape {
        Shape::Rows { named: self.id.is_some(), labelled: self.label.is_some() }
    }

    /// Puts the next row into a batch; false at the end.
    fn push(&mut self, batch: &mut Batch) -> Result<bool> {
        let start = batch.bytes.len();
        for (i, column) in self.text.iter_mut().enumerate() {
            let Some(values) = column.next_row()? else {
                if i == 0 {
                    return Ok(false);
                }
                continue;
            };
            // A row without a value is a document without words.
            let Some(Value::Text(text)) = values.first() else { continue };
            if batch.bytes.len() - start + text.len() > LONGEST {
                return Err(Error::Input {
                    path: self.file.path.clone(),
                    position: Position::Row(self.row + 1),
                    found: "a document longer than 64 MiB".into(),
                    expected: "a document in every row".into(),
                    remedy: "split it into documents".into(),
                });
            }
            if batch.bytes.len() > start {
                batch.bytes.push(b' ');
            }
            batch.bytes.extend_from_slice(text.data());
        }
        self.row += 1;
        // Nothing in the column is a name too: names stand in the order of documents.
        let name = |column: &mut Option<Column>| -> Result<Option<String>> {
            let Some(column) = column else { return Ok(None) };
            let value = column.next_value()?.unwrap_or(Value::Missing);
            Ok(Some(column.name(&value)?.unwrap_or_default()))
        };
        let kind = Kind::Text { name: name(&mut self.id)?, label: name(&mut self.label)? };
        batch.pieces.push(Piece {
            bytes: start..batch.bytes.len(),
            source: 0,
            offset: 0,
            line: self.row,
            kind,
        });
        Ok(true)
    }
}

impl TextSource for Texts {
    fn rewind(&mut self) -> Result<()> {
        *self = Texts::new(self.file.clone(), self.columns.clone());
        Ok(())
    }

    fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        while batch.bytes.len() < BATCH && batch.pieces.len() < MOST_ROWS && self.push(batch)? {}
        Ok(!batch.pieces.is_empty())
    }

    /// As a share of the file's bytes, since that is what a user knows.
    fn progress(&self) -> (u64, Option<u64>) {
        let (bytes, rows) = (self.file.source.bytes(), self.file.rows().max(1));
        let share = self.row.min(rows) as f64 / rows as f64;
        ((share * bytes as f64) as u64, Some(bytes))
    }

    /// A text is packed with others in a page: it has no place of its own in the file.
    fn again(&self) -> bool {
        false
    }
}
