//! Labels of documents: any number of named columns, each with any number of values per document.
//! Start with [`LabelTable`].

use std::collections::HashMap;

use super::Vocabulary;
use super::pack::{pack, pack_strings, unpack, unpack_strings};

/// Name of the only label column of a corpus that does not store the names of its label columns.
pub const DEFAULT_LABEL_COLUMN: &str = "label";

/// Labels of a document, as they are passed to a [`CorpusWriter`](super::CorpusWriter) or a
/// [`CorpusBuilder`](super::CorpusBuilder).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DocumentLabels<'a> {
    /// The documents of the corpus have no labels.
    #[default]
    None,
    /// Value of the only label column; an empty text for a document without a label.
    One(&'a str),
    /// Values of every label column.
    Columns(&'a [Vec<&'a str>]),
}

impl DocumentLabels<'_> {
    /// Returns the number of label columns.
    pub fn columns(&self) -> usize {
        match self {
            DocumentLabels::None => 0,
            DocumentLabels::One(_) => 1,
            DocumentLabels::Columns(columns) => columns.len(),
        }
    }
}

/// Labels of consecutive documents: for every document and label column zero or more values. Each
/// distinct value is stored once.
#[derive(Debug, Clone, Default)]
pub struct LabelTable {
    columns: usize,
    /// End of the values of every document and column in `ids`. The columns of a document follow
    /// one another.
    ends: Vec<u32>,
    /// Indices into `strings`.
    ids: Vec<u32>,
    strings: Vocabulary,
    /// Index of every string, while the table is filled.
    index: HashMap<Box<str>, u32>,
}

impl LabelTable {
    /// Creates a table of `columns` columns without documents.
    pub(crate) fn new(columns: usize) -> LabelTable {
        LabelTable { columns, ..LabelTable::default() }
    }

    /// Creates a table of one column in which an empty text means no value.
    pub(crate) fn from_single(labels: &Vocabulary) -> LabelTable {
        let mut table = LabelTable::new(1);
        labels.iter().for_each(|label| table.push(DocumentLabels::One(label)));
        table
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of documents; 0 if there are no columns.
    pub fn documents(&self) -> usize {
        self.ends.len().checked_div(self.columns).unwrap_or(0)
    }

    /// Returns whether there are no columns or no documents.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the values of a column of a document, both counted from 0. There are none outside of
    /// the table.
    pub fn values(&self, document: usize, column: usize) -> impl Iterator<Item = &str> {
        let at = document * self.columns + column;
        let end = if column < self.columns { self.ends.get(at).map_or(0, |&end| end as usize) } else { 0 };
        let start = if end == 0 || at == 0 { 0 } else { self.ends[at - 1] as usize };
        self.ids[start..end].iter().map(|&id| self.strings.get(id).unwrap_or_default())
    }

    /// Returns the values of every column of a document.
    pub fn row(&self, document: usize) -> Vec<Vec<&str>> {
        (0..self.columns).map(|column| self.values(document, column).collect()).collect()
    }

    /// Adds a document.
    pub(crate) fn push(&mut self, labels: DocumentLabels<'_>) {
        match labels {
            DocumentLabels::None => self.push_columns::<[&str; 0]>([]),
            DocumentLabels::One(label) => self.push_columns([Some(label).filter(|label| !label.is_empty())]),
            DocumentLabels::Columns(columns) => {
                self.push_columns(columns.iter().map(|values| values.iter().copied()));
            }
        }
    }

    /// Adds a document with the values of its columns. The first document of a table without
    /// columns determines their number. Missing columns have no values, additional ones are
    /// ignored.
    pub(crate) fn push_columns<'v, V: IntoIterator<Item = &'v str>>(
        &mut self,
        columns: impl IntoIterator<Item = V>,
    ) {
        let before = self.ends.len();
        for values in columns {
            if self.columns > 0 && self.ends.len() == before + self.columns {
                break;
            }
            values.into_iter().for_each(|value| self.push_value(value));
            self.ends.push(self.ids.len() as u32);
        }
        if self.columns == 0 {
            self.columns = self.ends.len();
        }
        self.ends.resize(before + self.columns, self.ids.len() as u32);
    }

    fn push_value(&mut self, value: &str) {
        let id = if let Some(&id) = self.index.get(value) {
            id
        } else {
            let id = self.strings.len() as u32;
            self.strings.push(value);
            self.index.insert(value.into(), id);
            id
        };
        self.ids.push(id);
    }

    /// Removes all documents.
    pub(crate) fn clear(&mut self) {
        *self = LabelTable::new(self.columns);
    }

    /// Returns the memory in bytes.
    #[cfg_attr(not(feature = "text"), allow(dead_code))]
    pub(crate) fn memory_bytes(&self) -> usize {
        let strings = self.strings.parts().0.len() + size_of_val(self.strings.parts().1);
        let index = self.index.len() * (size_of::<(Box<str>, u32)>() + 32) + self.strings.parts().0.len();
        4 * (self.ends.capacity() + self.ids.capacity()) + strings + index
    }

    /// Appends the encoded table to `out`.
    ///
    /// The encoding is: the numbers of columns and of distinct values; the number of values of
    /// every document and column; the index of every value among the distinct ones; the distinct
    /// values.
    pub(crate) fn pack_into(&self, scratch: &mut Vec<u32>, out: &mut Vec<u8>) {
        pack(&[self.columns as u32, self.strings.len() as u32], out);
        let mut start = 0;
        scratch.clear();
        scratch.extend(self.ends.iter().map(|&end| end - std::mem::replace(&mut start, end)));
        pack(scratch, out);
        pack(&self.ids, out);
        pack_strings(self.strings.iter(), out);
    }

    /// Reads a table that [`pack_into`](LabelTable::pack_into) wrote, with these numbers of columns
    /// and documents. Returns `None` if the bytes are invalid or not used up.
    pub(crate) fn unpack_from(bytes: &[u8], columns: usize, documents: usize) -> Option<LabelTable> {
        let (mut head, mut ends, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = unpack(bytes, 2, &mut head)?;
        if head[0] as usize != columns {
            return None;
        }
        at += unpack(bytes.get(at..)?, documents.checked_mul(columns)?, &mut ends)?;
        let mut total = 0u32;
        for end in &mut ends {
            total = total.checked_add(*end)?;
            *end = total;
        }
        at += unpack(bytes.get(at..)?, total as usize, &mut ids)?;
        let (text, string_ends) = unpack_strings(bytes.get(at..)?.to_vec(), head[1] as usize)?;
        if ids.iter().any(|&id| id >= head[1]) {
            return None;
        }
        let strings = Vocabulary::from_parts(text, string_ends);
        Some(LabelTable { columns, ends, ids, strings, index: HashMap::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_come_back(columns in 1usize..4, documents in prop::collection::vec(prop::collection::vec(prop::collection::vec("[a-cä]{1,2}", 0..4), 4), 0..70)) {
            let mut table = LabelTable::new(columns);
            for document in &documents {
                let row: Vec<Vec<&str>> = document[..columns].iter().map(|values| values.iter().map(String::as_str).collect()).collect();
                table.push(DocumentLabels::Columns(&row));
            }
            let mut bytes = Vec::new();
            table.pack_into(&mut Vec::new(), &mut bytes);
            let again = LabelTable::unpack_from(&bytes, columns, documents.len()).unwrap();
            prop_assert_eq!(again.documents(), documents.len());
            for (d, document) in documents.iter().enumerate() {
                prop_assert_eq!(again.row(d), &document[..columns]);
                prop_assert_eq!(table.row(d), &document[..columns]);
                prop_assert_eq!(table.values(d, columns).count(), 0);
            }
            for cut in 0..bytes.len() {
                prop_assert!(LabelTable::unpack_from(&bytes[..cut], columns, documents.len()).is_none());
            }
            prop_assert!(LabelTable::unpack_from(&bytes, columns + 1, documents.len()).is_none());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), columns in 0usize..4, documents in 0usize..100) {
            if let Some(table) = LabelTable::unpack_from(&bytes, columns, documents) {
                (0..documents).for_each(|d| assert_eq!(table.row(d).len(), columns));
            }
        }
    }

    #[test]
    fn single_labels_are_a_table_of_one_column() {
        let labels: Vocabulary = ["a", "", "b", "a"].into_iter().collect();
        let table = LabelTable::from_single(&labels);
        assert_eq!((table.columns(), table.documents()), (1, 4));
        assert_eq!(table.row(0), [["a"]]);
        assert!(table.row(1)[0].is_empty());
        assert_eq!(table.values(3, 0).collect::<Vec<_>>(), ["a"]);
        assert_eq!(table.values(4, 0).count(), 0);
        assert!(LabelTable::default().row(7).is_empty());
    }
}
