//! Counts of records that are skipped or changed while they are read by several threads.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::corpus::ingest::notes::{LineCount, RecordNotes};

/// Number of records and the line of the first one.
#[derive(Debug)]
pub(crate) struct LineTally {
    count: AtomicU64,
    first_line: AtomicU64,
}

impl Default for LineTally {
    fn default() -> LineTally {
        LineTally { count: AtomicU64::new(0), first_line: AtomicU64::new(u64::MAX) }
    }
}

impl LineTally {
    /// Counts `count` items on a line.
    pub(crate) fn add(&self, count: u64, line: u64) {
        if count > 0 {
            self.count.fetch_add(count, Ordering::Relaxed);
            self.first_line.fetch_min(line, Ordering::Relaxed);
        }
    }

    fn reset(&self) {
        self.count.store(0, Ordering::Relaxed);
        self.first_line.store(u64::MAX, Ordering::Relaxed);
    }

    fn get(&self) -> LineCount {
        let count = self.count.load(Ordering::Relaxed);
        LineCount { count, first_line: if count > 0 { self.first_line.load(Ordering::Relaxed) } else { 0 } }
    }
}

/// Counts of the records of a source in the current pass.
#[derive(Debug, Default)]
pub(crate) struct RecordTally {
    /// Number of records that were not skipped.
    read: AtomicU64,
    pub(crate) short_rows: LineTally,
    pub(crate) skipped_rows: LineTally,
    pub(crate) records_without_text: LineTally,
    pub(crate) missing_fields: LineTally,
    pub(crate) object_values: LineTally,
    pub(crate) markup: LineTally,
    pub(crate) zero_features: LineTally,
    pub(crate) namespace_weights: LineTally,
    pub(crate) document_weights: LineTally,
}

impl RecordTally {
    /// Sets all counts to zero, before another pass over the records.
    pub(crate) fn reset(&self) {
        self.read.store(0, Ordering::Relaxed);
        for tally in [
            &self.short_rows,
            &self.skipped_rows,
            &self.records_without_text,
            &self.missing_fields,
            &self.object_values,
            &self.markup,
            &self.zero_features,
            &self.namespace_weights,
            &self.document_weights,
        ] {
            tally.reset();
        }
    }

    /// Counts records that were not skipped.
    pub(crate) fn add_read(&self, count: u64) {
        self.read.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the number of records that were not skipped.
    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Returns the counts.
    pub(crate) fn notes(&self) -> RecordNotes {
        RecordNotes {
            short_rows: self.short_rows.get(),
            skipped_rows: self.skipped_rows.get(),
            records_without_text: self.records_without_text.get(),
            missing_fields: self.missing_fields.get(),
            object_values: self.object_values.get(),
            markup: self.markup.get().count,
            zero_features: self.zero_features.get(),
            namespace_weights: self.namespace_weights.get(),
            document_weights: self.document_weights.get(),
        }
    }
}
