//! Corpora from sparse matrices in compressed sparse row (CSR) form, as in SciPy. Start with
//! [`Csr`].

use std::fmt::Debug;

use super::builder::{CorpusBuilder, MAX_WORDS};
use super::{Corpus, Details, DocumentLabels, Vocabulary};
use crate::error::{Error, Result};

mod sealed {
    pub trait Index: Copy + std::fmt::Debug {
        /// Returns the index; `None` if it is negative.
        fn index(self) -> Option<u64>;
    }

    pub trait Value: Copy + std::fmt::Debug {
        /// Returns the count; `None` if the value is not an integer from 0 to 4294967295.
        fn count(self) -> Option<u32>;
    }
}

/// An integer type for the `indptr` and `indices` of a [`Csr`] matrix: any primitive integer of at
/// most 64 bits.
pub trait CsrIndex: sealed::Index {}

/// A number type for the values of a [`Csr`] matrix: any primitive integer of at most 64 bits,
/// `f32` or `f64`.
pub trait CsrValue: sealed::Value {}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl sealed::Index for $t {
            fn index(self) -> Option<u64> {
                u64::try_from(self).ok()
            }
        }
        impl CsrIndex for $t {}
        impl sealed::Value for $t {
            fn count(self) -> Option<u32> {
                u32::try_from(self).ok()
            }
        }
        impl CsrValue for $t {}
    )*};
}
integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl sealed::Value for $t {
            fn count(self) -> Option<u32> {
                let value = f64::from(self);
                let whole = (0.0..=f64::from(u32::MAX)).contains(&value) && value.fract() == 0.0;
                whole.then_some(value as u32)
            }
        }
        impl CsrValue for $t {}
    )*};
}
floats!(f32 f64);

/// A matrix in compressed sparse row (CSR) form, whose rows are documents and whose columns are
/// words.
///
/// Row `r` has its column indices in `indices[indptr[r]..indptr[r + 1]]` and its values at the same
/// positions of `data`. They may come in any order. Values of the same column are added up, and
/// zeros are dropped.
#[derive(Debug, Clone, Copy)]
pub struct Csr<'a, P, I, V> {
    indptr: &'a [P],
    indices: &'a [I],
    data: &'a [V],
    columns: usize,
    names: Option<&'a Vocabulary>,
    labels: Option<&'a Vocabulary>,
}

impl<'a, P: CsrIndex, I: CsrIndex, V: CsrValue> Csr<'a, P, I, V> {
    /// Creates a matrix from its three arrays and the number of columns. The arrays are checked
    /// when the matrix is used.
    pub fn new(indptr: &'a [P], indices: &'a [I], data: &'a [V], columns: usize) -> Csr<'a, P, I, V> {
        Csr { indptr, indices, data, columns, names: None, labels: None }
    }

    /// Sets the names of the documents, one for each row.
    #[must_use]
    pub fn names(mut self, names: &'a Vocabulary) -> Csr<'a, P, I, V> {
        self.names = Some(names);
        self
    }

    /// Sets the labels of the documents, one for each row.
    #[must_use]
    pub fn labels(mut self, labels: &'a Vocabulary) -> Csr<'a, P, I, V> {
        self.labels = Some(labels);
        self
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len().saturating_sub(1)
    }

    /// Checks the lengths of the arrays and all of `indptr`. Returns the number of columns.
    pub(super) fn check(&self) -> Result<u32> {
        let (nonzeros, rows) = (self.indices.len(), self.rows());
        if self.data.len() != nonzeros {
            let expected = format!("of length {nonzeros}, the length of indices");
            return Err(Error::out_of_range("data", self.data.len(), expected));
        }
        if self.indptr.first().and_then(|p| p.index()) != Some(0) {
            let found =
                self.indptr.first().map_or("empty".into(), |p| format!("{p:?} at its first position"));
            return Err(Error::out_of_range("indptr", found, "0 at its first position"));
        }
        let mut before = 0;
        for (i, p) in self.indptr.iter().enumerate() {
            let next = p.index().filter(|&next| next >= before);
            before = next.ok_or_else(|| {
                let found = format!("{p:?} at position {i} (counted from 0) after {before}");
                Error::out_of_range("indptr", found, "in ascending order")
            })?;
        }
        if before != nonzeros as u64 {
            let expected = format!("{nonzeros} at its last position, the length of indices");
            return Err(Error::out_of_range("indptr", before, expected));
        }
        for (name, list) in [("names", self.names), ("labels", self.labels)] {
            if let Some(list) = list.filter(|list| list.len() != rows) {
                let expected = format!("of length {rows}, the number of rows");
                return Err(Error::out_of_range(name, list.len(), expected));
            }
        }
        let columns = u32::try_from(self.columns).ok().filter(|&columns| columns <= MAX_WORDS);
        columns.ok_or_else(|| Error::out_of_range("columns", self.columns, format!("at most {MAX_WORDS}")))
    }

    /// Appends the (column, count) entries of a row in the order of the arrays. The matrix must
    /// have been [checked](Csr::check).
    pub(super) fn read_row(&self, row: usize, columns: u32, entries: &mut Vec<(u32, u64)>) -> Result<()> {
        let bound = |i: usize| {
            let bound = self.indptr.get(i).and_then(|p| p.index()).unwrap_or(0);
            (bound as usize).min(self.indices.len())
        };
        for i in bound(row)..bound(row + 1) {
            let (index, value) = (self.indices[i], self.data[i]);
            let column = index.index();
            let word = column.and_then(|c| u32::try_from(c).ok()).filter(|&word| word < columns);
            let word = word.ok_or_else(|| Error::Value {
                row: row as u64,
                column,
                found: format!("the column index {index:?}"),
                expected: format!("a column index from 0 to below {columns}, the number of columns"),
            })?;
            let count = value.count().ok_or_else(|| Error::Value {
                row: row as u64,
                column,
                found: format!("the value {value:?}"),
                expected: format!("a whole number from 0 to {}", u32::MAX),
            })?;
            entries.push((word, u64::from(count)));
        }
        Ok(())
    }

    /// Returns the name and the label of a row.
    pub(super) fn details(&self, row: usize) -> Details<'a> {
        let get = |list: Option<&'a Vocabulary>| list.map(|list| list.get(row as u32).unwrap_or_default());
        let labels = get(self.labels).map_or(DocumentLabels::None, DocumentLabels::One);
        Details { name: get(self.names), labels, ..Details::default() }
    }
}

impl Corpus {
    /// Builds a corpus in memory from a sparse matrix, with a document for each row.
    ///
    /// A value that is not an integer from 0 to 4294967295, or a column index outside the matrix,
    /// is an [`Error::Value`] with its row and column. For a corpus with a vocabulary, or from
    /// several matrices, see [`CorpusBuilder::add_csr`](crate::CorpusBuilder::add_csr).
    ///
    /// ```
    /// use tinylda::corpus::Csr;
    /// use tinylda::{Corpus, CorpusBuilder, Error};
    ///
    /// // [[0, 2, 1],
    /// //  [0, 0, 0],
    /// //  [3, 0, 0]], with the entries of the first row in another order
    /// let (indptr, indices, data) = ([0, 2, 2, 3], [2, 1, 0], [1.0, 2.0, 3.0]);
    /// let matrix = Csr::new(&indptr, &indices, &data, 3);
    /// let corpus = Corpus::from_csr(&matrix)?;
    /// assert_eq!((corpus.shape().documents, corpus.shape().tokens), (3, 6));
    ///
    /// let mut builder = CorpusBuilder::new().vocabulary(["apple", "pear", "plum"]);
    /// builder.add_csr(&matrix)?;
    /// assert_eq!(builder.build()?.vocabulary()?.unwrap().get(2), Some("plum"));
    ///
    /// match Corpus::from_csr(&Csr::new(&indptr, &indices, &[1.0, 0.5, 3.0], 3)) {
    ///     Err(Error::Value { row: 0, column: Some(1), .. }) => {}
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_csr<P: CsrIndex, I: CsrIndex, V: CsrValue>(csr: &Csr<'_, P, I, V>) -> Result<Corpus> {
        let mut builder = CorpusBuilder::new();
        builder.add_csr(csr)?;
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::corpus::CorpusWriter;

    const COLUMNS: u32 = 30;

    type Rows = Vec<BTreeMap<u32, u32>>;

    /// Returns the bytes of the file that `CorpusWriter` writes for the rows.
    fn written(rows: &Rows) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.tlc");
        let mut writer = CorpusWriter::create(&path, false).unwrap();
        for row in rows {
            let (words, counts): (Vec<u32>, Vec<u32>) = row.iter().unzip();
            writer.push(&words, &counts, None).unwrap();
        }
        writer.finish(COLUMNS, None).unwrap();
        std::fs::read(&path).unwrap()
    }

    /// A matrix in CSR form.
    #[derive(Debug, Default)]
    struct Arrays {
        indptr: Vec<u32>,
        indices: Vec<u32>,
        data: Vec<u32>,
    }

    /// Converts rows to arrays. Each entry is split into parts, with zeros in between, in an order
    /// that `noise` determines.
    fn arrays(rows: &Rows, noise: &[u32]) -> Arrays {
        let mut noise = noise.iter().copied().cycle();
        let mut next = || noise.next().unwrap_or(0);
        let mut arrays = Arrays { indptr: vec![0], ..Arrays::default() };
        for row in rows {
            let mut entries = Vec::new();
            for (&word, &count) in row {
                let part = next() % (count + 1);
                entries.extend([(word, part), (word, count - part)]);
                if next() % 3 == 0 {
                    entries.push((next() % COLUMNS, 0));
                }
            }
            for i in 1..entries.len() {
                entries.swap(i, next() as usize % (i + 1));
            }
            arrays.indices.extend(entries.iter().map(|&(word, _)| word));
            arrays.data.extend(entries.iter().map(|&(_, count)| count));
            arrays.indptr.push(arrays.indices.len() as u32);
        }
        arrays
    }

    /// Converts the arrays to other number types and returns the bytes of the resulting corpus.
    fn bytes_as<P, I, V>(arrays: &Arrays) -> Vec<u8>
    where
        P: CsrIndex + TryFrom<u32, Error: Debug>,
        I: CsrIndex + TryFrom<u32, Error: Debug>,
        V: CsrValue + TryFrom<u32, Error: Debug>,
    {
        let indptr: Vec<P> = arrays.indptr.iter().map(|&p| p.try_into().unwrap()).collect();
        let indices: Vec<I> = arrays.indices.iter().map(|&i| i.try_into().unwrap()).collect();
        let data: Vec<V> = arrays.data.iter().map(|&x| x.try_into().unwrap()).collect();
        let csr = Csr::new(&indptr, &indices, &data, COLUMNS as usize);
        Corpus::from_csr(&csr).unwrap().to_bytes().unwrap()
    }

    proptest! {
        #[test]
        fn any_order_and_type_gives_what_the_writer_writes(
            rows in prop::collection::vec(prop::collection::btree_map(0..COLUMNS, 1u32..100, 0..12), 0..25),
            noise in prop::collection::vec(any::<u32>(), 1..50),
        ) {
            let expected = written(&rows);
            let arrays = arrays(&rows, &noise);
            prop_assert!(bytes_as::<u32, u32, u32>(&arrays) == expected);
            prop_assert!(bytes_as::<i32, i32, i8>(&arrays) == expected);
            prop_assert!(bytes_as::<i64, u8, i64>(&arrays) == expected);
            prop_assert!(bytes_as::<usize, u64, f64>(&arrays) == expected);
            let floats: Vec<f32> = arrays.data.iter().map(|&x| x as f32).collect();
            let csr = Csr::new(&arrays.indptr, &arrays.indices, &floats, COLUMNS as usize);
            let corpus = Corpus::from_csr(&csr).unwrap();
            let file = Corpus::from_bytes(expected).unwrap();
            prop_assert_eq!(corpus.fingerprint(), file.fingerprint());
            prop_assert_eq!(corpus.shape(), file.shape());
        }

        #[test]
        fn any_arrays_are_read_or_refused(
            indptr in prop::collection::vec(-2i64..12, 0..8),
            indices in prop::collection::vec(-1i32..6, 0..12),
            data in prop::collection::vec(prop_oneof![Just(1.0), Just(2.0), Just(0.5), any::<f64>()], 0..12),
            columns in 0usize..6,
        ) {
            if let Ok(corpus) = Corpus::from_csr(&Csr::new(&indptr, &indices, &data, columns)) {
                prop_assert_eq!(corpus.shape().documents + 1, indptr.len() as u64);
                prop_assert_eq!(corpus.shape().words as usize, columns);
                prop_assert!(data.iter().all(|x| *x >= 0.0 && x.fract() == 0.0));
                prop_assert_eq!(corpus.shape().tokens as f64, data.iter().sum::<f64>());
            }
        }
    }

    fn refused<P: CsrIndex, I: CsrIndex, V: CsrValue>(csr: &Csr<'_, P, I, V>) -> String {
        Corpus::from_csr(csr).unwrap_err().to_string()
    }

    #[test]
    fn values_are_named_by_row_and_column() {
        let (indptr, indices) = ([0, 1, 3], [0, 4, 2]);
        for (value, found) in
            [(-1.0, "-1.0"), (0.5, "0.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf"), (5e9, "5000000000.0")]
        {
            let text = refused(&Csr::new(&indptr, &indices, &[1.0, 1.0, value], 5));
            assert!(text.contains("row 1, column 2 (counted from 0)") && text.contains(found), "{text}");
        }
        let text = refused(&Csr::new(&indptr, &indices, &[1i8, -3, 1], 5));
        assert!(text.contains("row 1, column 4") && text.contains("-3"), "{text}");
        let text = refused(&Csr::new(&indptr, &indices, &[1, 1, 1], 4));
        assert!(text.contains("row 1, column 4") && text.contains("below 4"), "{text}");
        let text = refused(&Csr::new(&indptr, &[0, -4, 2], &[1, 1, 1], 5));
        assert!(text.contains("row 1 (counted from 0)") && text.contains("-4"), "{text}");
        let text = refused(&Csr::new(&indptr, &[0, 3, 3], &[1, u32::MAX, 1], 5));
        assert!(text.contains("row 1, column 3") && text.contains("4294967296"), "{text}");
        // Zeros are not entries.
        let corpus = Corpus::from_csr(&Csr::new(&indptr, &indices, &[0.0, -0.0, 0.0], 5)).unwrap();
        assert_eq!((corpus.shape().nonzeros, corpus.shape().documents), (0, 2));
    }

    #[test]
    fn arrays_must_fit_together() {
        let (indices, data) = ([0, 1, 2], [1, 1, 1]);
        let empty: [i32; 0] = [];
        let cases: [(&[i32], &str); 7] = [
            (&empty, "empty"),
            (&[1, 3], "1 at its first position"),
            (&[0, 2, 1, 3], "1 at position 2"),
            (&[0, -1, 3], "-1 at position 1"),
            (&[0, 2], "the length of indices"),
            (&[0, 4], "the length of indices"),
            (&[0], "the length of indices"),
        ];
        for (indptr, found) in cases {
            let text = refused(&Csr::new(indptr, &indices, &data, 3));
            assert!(text.contains("indptr") && text.contains(found), "{text}");
        }
        let text = refused(&Csr::new(&[0, 3], &indices, &[1, 1], 3));
        assert!(text.contains("data") && text.contains("length 3"), "{text}");
        assert!(refused(&Csr::new(&[0, 3], &indices, &data, usize::MAX)).contains("columns"));
        let one: Vocabulary = ["a"].into_iter().collect();
        let text = refused(&Csr::new(&[0, 1, 3], &indices, &data, 3).names(&one));
        assert!(text.contains("names") && text.contains("number of rows"), "{text}");
    }

    #[test]
    fn names_labels_and_vocabulary_go_along() {
        let [names, labels] = [["x", "y"], ["l", "m"]].map(|list| list.into_iter().collect::<Vocabulary>());
        let csr = Csr::new(&[0u8, 1, 3], &[0u16, 1, 2], &[1u64, 1, 1], 3).names(&names).labels(&labels);
        let mut builder = CorpusBuilder::new().vocabulary(["a", "b", "c"]);
        builder.add_csr(&csr).unwrap();
        builder.add_csr(&csr).unwrap();
        let corpus = builder.build().unwrap();
        assert_eq!(corpus.shape().documents, 4);
        let mut reader = corpus.reader();
        assert_eq!(reader.read_names(0).unwrap().get(3), Some("y"));
        assert_eq!(reader.read_labels(0).unwrap().row(2), [["l"]]);
        let error = CorpusBuilder::new().vocabulary(["a", "b"]).add_csr(&csr).unwrap_err().to_string();
        assert!(error.contains("columns") && error.contains('2'), "{error}");
    }
}
