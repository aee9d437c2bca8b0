//! Source of texts from the rows of a Parquet file, for the import of raw text. It produces batches
//! of rows and can be rewound.

use super::{PageMemory, ParquetColumn, ParquetFile, ParquetValue, TextColumns};
use crate::corpus::ingest::notes::TableNotes;
use crate::corpus::ingest::raw::records::{RecordFields, RecordFormat};
use crate::corpus::ingest::raw::source::{MAX_RECORD_BYTES, SpanKind, TextBatch, TextSource, TextSpan};
use crate::error::{Error, Position, Result};

/// Maximum number of rows of a batch, since rows without text have no bytes that would limit it.
const MAX_BATCH_ROWS: usize = 1 << 13;

/// Texts with their names, labels and dates, if there are such columns.
pub(in super::super) struct ParquetTexts {
    file: ParquetFile,
    columns: TextColumns,
    text: Vec<ParquetColumn>,
    id: Option<ParquetColumn>,
    labels: Vec<ParquetColumn>,
    date: Option<ParquetColumn>,
    row: u64,
}

impl ParquetTexts {
    pub(in super::super) fn new(file: ParquetFile, columns: TextColumns) -> ParquetTexts {
        let column = |leaf: &usize| file.column(*leaf);
        let text = columns.text.iter().map(column).collect();
        let labels = columns.labels.iter().map(column).collect();
        let (id, date) = (columns.id.as_ref().map(column), columns.date.as_ref().map(column));
        ParquetTexts { file, columns, text, id, labels, date, row: 0 }
    }

    pub(in super::super) fn record_format(&self) -> RecordFormat {
        RecordFormat::Rows(RecordFields {
            names: self.id.is_some(),
            label_columns: self.labels.iter().map(|column| column.name.clone()).collect(),
            multiple_labels: true,
            dates: self.date.is_some(),
        })
    }

    /// Returns the names of the columns.
    pub(in super::super) fn notes(&self) -> TableNotes {
        let read = self.text.iter().chain(&self.id).chain(&self.labels).chain(&self.date);
        let read: Vec<&str> = read.map(|column| column.name.as_str()).collect();
        let mut unread = self.file.column_names();
        unread.retain(|name| !read.contains(&name.as_str()));
        TableNotes {
            unread,
            text: self.text.iter().map(|column| column.name.clone()).collect(),
            id: self.id.as_ref().map(|column| column.name.clone()),
            labels: self.labels.iter().map(|column| column.name.clone()).collect(),
            date: self.date.as_ref().map(|column| column.name.clone()),
            delimiter: None,
            header: true,
            header_assumed: false,
            rows_before: 0,
            ambiguous: Vec::new(),
        }
    }

    /// Appends the next row to a batch; returns false at the end of the file.
    fn push(&mut self, batch: &mut TextBatch) -> Result<bool> {
        let start = batch.bytes.len();
        for (i, column) in self.text.iter_mut().enumerate() {
            let Some(values) = column.next_row()? else {
                if i == 0 {
                    return Ok(false);
                }
                continue;
            };
            // A row without a value is a document without words.
            let Some(ParquetValue::Text(text)) = values.first() else { continue };
            if batch.bytes.len() - start + text.len() > MAX_RECORD_BYTES {
                return Err(Error::Input {
                    path: self.file.path.clone(),
                    position: Position::Row(self.row + 1),
                    found: "a document longer than 64 MiB".into(),
                    expected: "a document of at most 64 MiB in every row".into(),
                    remedy: "split it into documents".into(),
                });
            }
            if batch.bytes.len() > start {
                batch.bytes.push(b' ');
            }
            batch.bytes.extend_from_slice(text.data());
        }
        self.row += 1;
        // A missing name is an empty name, since names are stored in the order of the documents.
        let mut name = None;
        if let Some(column) = &mut self.id {
            let value = column.next_value()?.unwrap_or(ParquetValue::Missing);
            name = Some(column.name(&value)?.unwrap_or_default());
        }
        let labels = self.labels.iter_mut().map(ParquetColumn::next_labels).collect::<Result<_>>()?;
        let date = self.date.as_mut().map(ParquetColumn::next_date).transpose()?;
        let kind = SpanKind::Text { name, labels, date };
        batch.spans.push(TextSpan {
            bytes: start..batch.bytes.len(),
            source: 0,
            offset: 0,
            line: self.row,
            kind,
        });
        Ok(true)
    }
}

impl TextSource for ParquetTexts {
    fn rewind(&mut self) -> Result<()> {
        *self = ParquetTexts::new(self.file.clone(), self.columns.clone());
        Ok(())
    }

    fn next(&mut self, batch: &mut TextBatch) -> Result<bool> {
        batch.clear();
        let rows = batch.enough_records.min(MAX_BATCH_ROWS);
        while batch.bytes.len() < batch.enough_bytes && batch.spans.len() < rows && self.push(batch)? {}
        Ok(!batch.spans.is_empty())
    }

    fn held_share(&self) -> Option<u64> {
        self.file.memory.map(|_| PageMemory::SHARE_DIVISOR)
    }

    /// Reports the progress as a fraction of the bytes of the file, which is the unit that users
    /// know.
    fn progress(&self) -> (u64, Option<u64>) {
        let (bytes, rows) = (self.file.source.bytes(), self.file.rows().max(1));
        let share = self.row.min(rows) as f64 / rows as f64;
        ((share * bytes as f64) as u64, Some(bytes))
    }

    /// Returns false: a text is compressed together with others in a page, so it has no position of
    /// its own in the file.
    fn reopenable(&self) -> bool {
        false
    }
}
