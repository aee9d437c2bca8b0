//! Readers of the records of several inputs, which become one corpus.

use std::sync::Arc;

use super::records::{Record, RecordDate, RecordFields, RecordReader};
use super::source::TextSpan;
use crate::corpus::ingest::notes::RecordNotes;
use crate::error::{Error, Result};

/// Readers of all inputs of an import, in the order of the inputs.
#[derive(Debug, Clone)]
pub(crate) struct RecordReaders {
    all: Arc<[RecordReader]>,
    fields: RecordFields,
}

impl RecordReaders {
    /// Combines the readers of inputs. Inputs without names, labels or dates may be combined with
    /// inputs that have them, but all inputs with labels must have the same label columns.
    pub(crate) fn new(all: Vec<RecordReader>) -> Result<RecordReaders> {
        let mut fields = RecordFields::default();
        for reader in &all {
            let RecordFields { names, label_columns, multiple_labels, dates } = reader.fields();
            fields.names |= names;
            fields.multiple_labels |= multiple_labels;
            fields.dates |= dates;
            if fields.label_columns.is_empty() {
                fields.label_columns = label_columns;
            } else if !label_columns.is_empty() && !same_columns(&fields.label_columns, &label_columns) {
                return Err(Error::Input {
                    path: reader.path.clone(),
                    position: crate::error::Position::Whole,
                    found: format!("the label columns {}", label_columns.join(", ")),
                    expected: format!("{}, as in the other inputs", fields.label_columns.join(", ")).into(),
                    remedy: "import inputs with different labels separately".into(),
                });
            }
        }
        Ok(RecordReaders { all: all.into(), fields })
    }

    /// Returns the fields that the records of any input have.
    pub(crate) fn fields(&self) -> &RecordFields {
        &self.fields
    }

    /// Returns the reader of a source.
    pub(crate) fn of(&self, source: u32) -> Option<&RecordReader> {
        self.all.get(source as usize)
    }

    /// Returns the reader of the first source.
    pub(crate) fn all(&self) -> &[RecordReader] {
        &self.all
    }

    /// Sets the counts of all readers to zero, before another pass over the records.
    pub(crate) fn reset_tallies(&self) {
        self.all.iter().for_each(|reader| reader.tally.reset());
    }

    /// Refuses an input of which most records were skipped.
    pub(crate) fn check_skipped(&self) -> Result<()> {
        self.all.iter().try_for_each(RecordReader::check_skipped)
    }

    /// Returns the counts of each reader.
    pub(crate) fn notes(&self) -> impl Iterator<Item = RecordNotes> {
        self.all.iter().map(|reader| reader.tally.notes())
    }

    /// Calls `each` with every record of a span and whether invalid bytes were replaced. All
    /// records have the same fields, whatever the fields of their input are.
    pub(crate) fn for_each(
        &self,
        bytes: &[u8],
        span: &TextSpan,
        each: &mut dyn FnMut(Record<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        let Some(reader) = self.of(span.source) else { return Ok(()) };
        if self.all.len() == 1 {
            return reader.for_each(bytes, span, each);
        }
        reader.for_each(bytes, span, &mut |mut record, replaced| {
            if self.fields.names && record.name.is_none() {
                record.name = Some("".into());
            }
            if self.fields.dates && record.date.is_none() {
                record.date = Some(RecordDate::Missing);
            }
            record.labels.resize_with(self.fields.label_columns.len(), Vec::new);
            each(record, replaced)
        })
    }
}

fn same_columns(a: &[String], b: &[String]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.eq_ignore_ascii_case(b))
}
