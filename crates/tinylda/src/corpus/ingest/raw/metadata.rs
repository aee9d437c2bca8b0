//! Metadata of the documents of a batch. Start with [`BatchMetadata`].

use super::records::{Record, RecordDate};
use crate::corpus::ingest::ImportedDates;
use crate::corpus::{Details, DocumentLabels, LabelTable, TextPlace, Vocabulary};

/// Metadata of a batch of documents: names, labels, dates, and positions and checksums of the
/// texts.
#[derive(Debug, Default)]
pub(super) struct BatchMetadata {
    pub(super) names: Vocabulary,
    pub(super) labels: LabelTable,
    pub(super) dates: Vocabulary,
    /// Indices in the batch of documents whose date cannot be read.
    pub(super) unreadable_dates: Vec<u32>,
    pub(super) places: Vec<TextPlace>,
    pub(super) checksums: Vec<u32>,
}

impl BatchMetadata {
    pub(super) fn push(&mut self, record: &Record<'_>) {
        if let Some(name) = &record.name {
            self.names.push(name);
        }
        self.labels.push_columns(record.labels.iter().map(|values| values.iter().map(|value| &**value)));
        if let Some(date) = &record.date {
            self.dates.push(if let RecordDate::Known(date) = date { date } else { "" });
            if *date == RecordDate::Unreadable {
                self.unreadable_dates.push(self.places.len() as u32);
            }
        }
        self.places.push(record.place);
        self.checksums.push(record.checksum);
    }

    /// Returns the details of document `i` of the batch. `labels` are its labels.
    pub(super) fn details<'a>(&'a self, i: usize, labels: &'a [Vec<&'a str>]) -> Details<'a> {
        Details {
            name: self.names.get(i as u32),
            labels: DocumentLabels::Columns(labels),
            date: self.dates.get(i as u32),
            place: self.places.get(i).copied(),
            checksum: self.checksums.get(i).copied(),
            tokens_unknown: None,
        }
    }

    /// Adds the dates of the batch to `dates`. `before` is the number of documents before it.
    pub(super) fn count_dates(&self, before: u64, dates: &mut ImportedDates) {
        let known = self.dates.iter().filter(|date| !date.is_empty()).count() as u64;
        let unreadable = self.unreadable_dates.len() as u64;
        dates.known += known;
        dates.unreadable += unreadable;
        dates.missing += self.dates.len() as u64 - known - unreadable;
        if let Some(&first) = self.unreadable_dates.first().filter(|_| dates.first_unreadable == 0) {
            dates.first_unreadable = before + u64::from(first) + 1;
        }
    }

    /// Returns the memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let strings = |v: &Vocabulary| v.parts().0.len() + size_of_val(v.parts().1);
        strings(&self.names)
            + strings(&self.dates)
            + self.labels.memory_bytes()
            + size_of::<TextPlace>() * self.places.capacity()
            + size_of::<u32>() * (self.checksums.capacity() + self.unreadable_dates.capacity())
    }
}
