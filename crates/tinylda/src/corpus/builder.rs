//! Building a corpus in memory from unsorted documents or from the rows of a sparse matrix. Start
//! with [`CorpusBuilder`].

use super::csr::{Csr, CsrIndex, CsrValue};
use super::{
    About, Corpus, CorpusWriter, DEFAULT_LABEL_COLUMN, Details, DocumentFields, DocumentLabels, Vocabulary,
};
use crate::error::{Error, Result};

/// Maximum number of words of a corpus.
pub(super) const MAX_WORDS: u32 = u32::MAX - 1;

/// Builds a corpus in memory, document by document.
///
/// The words of a document may come in any order. Counts of the same word are added up, and counts
/// of 0 are dropped.
///
/// ```
/// use tinylda::CorpusBuilder;
///
/// let mut builder = CorpusBuilder::new().vocabulary(["apple", "pear", "plum"]);
/// builder.add_named("first", &[(2, 1), (0, 3)])?;
/// builder.add_named("second", &[(1, 1), (1, 1)])?;
/// let corpus = builder.build()?;
///
/// let shape = corpus.shape();
/// assert_eq!((shape.documents, shape.words, shape.tokens), (2, 3, 6));
/// # Ok::<(), tinylda::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct CorpusBuilder {
    /// Created with the first document, which determines the fields.
    writer: Option<CorpusWriter>,
    fields: DocumentFields,
    /// Names of the label columns that the caller has set.
    label_columns: Vec<String>,
    vocabulary: Option<Vocabulary>,
    /// Number of words that the caller has set.
    words: Option<u32>,
    /// Minimum number of words that the documents and matrices so far require.
    words_needed: u32,
    documents: u64,
    /// (word, count) entries of the current document in the order given.
    entries: Vec<(u32, u64)>,
    /// Word ids of the current document, sorted and without duplicates.
    ids: Vec<u32>,
    /// Counts of the words in `ids`.
    counts: Vec<u32>,
}

impl CorpusBuilder {
    /// Creates a builder without documents.
    pub fn new() -> CorpusBuilder {
        CorpusBuilder::default()
    }

    /// Sets the names of the words, starting with word 0. The number of names becomes the number of
    /// words.
    #[must_use]
    pub fn vocabulary<S: AsRef<str>>(mut self, words: impl IntoIterator<Item = S>) -> CorpusBuilder {
        self.vocabulary = Some(words.into_iter().collect());
        self
    }

    /// Sets the number of words W, for a corpus without a vocabulary.
    ///
    /// The default is one more than the largest word of any document, or the largest number of
    /// columns of any matrix.
    #[must_use]
    pub fn words(mut self, words: u32) -> CorpusBuilder {
        self.words = Some(words);
        self
    }

    /// Sets the names of the label columns. Each document then has zero or more values in every
    /// column, given as [`DocumentLabels::Columns`].
    ///
    /// The default is one column, `label`, with one value per document.
    ///
    /// ```
    /// use tinylda::CorpusBuilder;
    /// use tinylda::corpus::{Details, DocumentLabels};
    ///
    /// let mut builder = CorpusBuilder::new().label_columns(["section", "authors"]);
    /// let labels = [vec!["sport"], vec!["Ann", "Bob"]];
    /// let details = Details {
    ///     name: Some("first"),
    ///     labels: DocumentLabels::Columns(&labels),
    ///     date: Some("2001-02-03"),
    ///     ..Details::default()
    /// };
    /// builder.add_with(details, &[(0, 1)])?;
    /// let corpus = builder.build()?;
    ///
    /// let mut reader = corpus.reader();
    /// assert_eq!(corpus.label_columns(), ["section", "authors"]);
    /// assert_eq!(reader.read_labels(0)?.values(0, 1).collect::<Vec<_>>(), ["Ann", "Bob"]);
    /// assert_eq!(reader.read_dates(0)?.get(0), Some("2001-02-03"));
    /// # Ok::<(), tinylda::Error>(())
    /// ```
    #[must_use]
    pub fn label_columns<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> CorpusBuilder {
        self.label_columns = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a document, given as (word, count) pairs. Words are counted from 0.
    ///
    /// A document that causes an error is not added, and the builder can still be used.
    pub fn add_document(&mut self, entries: &[(u32, u32)]) -> Result<()> {
        self.add_with(Details::default(), entries)
    }

    /// Adds a document with a name.
    pub fn add_named(&mut self, name: &str, entries: &[(u32, u32)]) -> Result<()> {
        self.add_with(Details { name: Some(name), ..Details::default() }, entries)
    }

    /// Adds a document with any details. All documents must have the same kinds of details as the
    /// first one.
    pub fn add_with(&mut self, details: Details<'_>, entries: &[(u32, u32)]) -> Result<()> {
        self.entries.clear();
        self.entries.extend(entries.iter().map(|&(word, count)| (word, u64::from(count))));
        self.add_row(self.documents, details)
    }

    /// Adds each row of a matrix as a document.
    ///
    /// If the number of words has been set, the matrix must have as many columns. Errors in values
    /// count rows from the first row of this matrix. The rows before the one that causes an error
    /// are added.
    pub fn add_csr<P: CsrIndex, I: CsrIndex, V: CsrValue>(&mut self, csr: &Csr<'_, P, I, V>) -> Result<()> {
        self.add_csr_with(csr, |row| Ok(csr.details(row)))
    }

    /// Adds each row of a matrix as a document with the details that `details(row)` returns. The
    /// names and labels of the matrix itself are not used. An error of `details` ends the call,
    /// for instance [`Error::Interrupted`].
    pub fn add_csr_with<'d, P: CsrIndex, I: CsrIndex, V: CsrValue>(
        &mut self,
        csr: &Csr<'_, P, I, V>,
        mut details: impl FnMut(usize) -> Result<Details<'d>>,
    ) -> Result<()> {
        let columns = csr.check()?;
        if let Some(words) = self.words_set().filter(|&words| words != u64::from(columns)) {
            let expected = format!("{words}, the number of words of the corpus");
            return Err(Error::out_of_range("columns", columns, expected));
        }
        self.words_needed = self.words_needed.max(columns);
        for row in 0..csr.rows() {
            self.entries.clear();
            csr.read_row(row, columns, &mut self.entries)?;
            self.add_row(row as u64, details(row)?)?;
        }
        Ok(())
    }

    /// Completes the corpus.
    pub fn build(self) -> Result<Corpus> {
        let set = self.words_set();
        let name = if self.vocabulary.is_some() { "vocabulary" } else { "words" };
        if let Some(words) = self.words.map(u64::from).filter(|&words| set != Some(words)) {
            let expected = format!("as long as the number of words, {words}");
            return Err(Error::out_of_range(name, set.unwrap_or(0), expected));
        }
        if let Some(words) = set.filter(|&words| words < u64::from(self.words_needed)) {
            let expected = format!("at least {} words, as the documents need", self.words_needed);
            return Err(Error::out_of_range(name, words, expected));
        }
        let words = set.unwrap_or(u64::from(self.words_needed));
        let fits = u32::try_from(words).ok().filter(|&words| words <= MAX_WORDS);
        let words =
            fits.ok_or_else(|| Error::out_of_range(name, words, format!("at most {MAX_WORDS} words")))?;
        if let Some(vocabulary) = &self.vocabulary {
            check_vocabulary(vocabulary)?;
        }
        let writer = self.writer.map_or_else(|| CorpusWriter::in_memory(false), Ok)?;
        writer.finish(words, self.vocabulary.as_ref())
    }

    /// Returns the number of words if the caller has set it, directly or through the vocabulary.
    fn words_set(&self) -> Option<u64> {
        self.vocabulary.as_ref().map(|v| v.len() as u64).or(self.words.map(u64::from))
    }

    /// Adds the document in `entries`. Errors refer to it as row `row`.
    fn add_row(&mut self, row: u64, details: Details<'_>) -> Result<()> {
        let words = self.words_set().unwrap_or(u64::from(u32::MAX)).min(u64::from(MAX_WORDS));
        if let Some(&(word, _)) = self.entries.iter().find(|&&(word, _)| u64::from(word) >= words) {
            return Err(Error::Value {
                row,
                column: Some(u64::from(word)),
                found: "a word outside the vocabulary".into(),
                expected: format!("a word below {words}"),
            });
        }
        self.merge_entries(row)?;
        let fields = self.fields_of(row, details)?;
        let writer = match &mut self.writer {
            Some(_) if fields != self.fields => return Err(mixed_fields(row, &self.fields, &fields)),
            Some(writer) => writer,
            none => {
                let writer = CorpusWriter::in_memory_with(fields.clone(), &About::default())?;
                self.fields = fields;
                none.insert(writer)
            }
        };
        writer.push_with(&self.ids, &self.counts, details)?;
        self.documents += 1;
        self.words_needed = self.ids.last().map_or(0, |&word| word + 1).max(self.words_needed);
        Ok(())
    }

    /// Returns the fields of a corpus whose documents have these details.
    fn fields_of(&self, row: u64, details: Details<'_>) -> Result<DocumentFields> {
        let columns = details.labels.columns();
        let label_columns = match details.labels {
            DocumentLabels::None => Vec::new(),
            _ if columns == self.label_columns.len() => self.label_columns.clone(),
            _ if columns == 1 && self.label_columns.is_empty() => vec![DEFAULT_LABEL_COLUMN.into()],
            _ => {
                let found = format!("{columns} for document {row} (counted from 0)");
                let expected = format!("{}, the number of label columns", self.label_columns.len());
                return Err(Error::out_of_range("labels", found, expected));
            }
        };
        Ok(DocumentFields {
            names: details.name.is_some(),
            label_columns,
            multiple_labels: matches!(details.labels, DocumentLabels::Columns(_)),
            dates: details.date.is_some(),
            places: details.place.is_some(),
            checksums: details.checksum.is_some(),
            tokens_unknown: details.tokens_unknown.is_some(),
        })
    }

    /// Sorts `entries` by word into `ids` and `counts`, adds up duplicates and drops zeros.
    fn merge_entries(&mut self, row: u64) -> Result<()> {
        if !self.entries.is_sorted_by_key(|&(word, _)| word) {
            self.entries.sort_unstable_by_key(|&(word, _)| word);
        }
        self.ids.clear();
        self.counts.clear();
        for same in self.entries.chunk_by(|a, b| a.0 == b.0) {
            let word = same[0].0;
            let total = same.iter().fold(0u64, |sum, &(_, count)| sum.saturating_add(count));
            let count = u32::try_from(total).map_err(|_| Error::Value {
                row,
                column: Some(u64::from(word)),
                found: format!("counts that add up to {total}"),
                expected: format!("a total of at most {}", u32::MAX),
            })?;
            if count > 0 {
                self.ids.push(word);
                self.counts.push(count);
            }
        }
        Ok(())
    }
}

/// Checks that every word has a name and that names are unique, since words are later matched by
/// name.
fn check_vocabulary(vocabulary: &Vocabulary) -> Result<()> {
    let error = |found| Err(Error::out_of_range("vocabulary", found, "a list of distinct names"));
    if let Some(word) = vocabulary.iter().position(|word| word.trim().is_empty()) {
        return error(format!("one with an empty name for word {word} (counted from 0)"));
    }
    if let Some((first, second)) = vocabulary.first_duplicate() {
        let name = vocabulary.get(second).unwrap_or_default();
        return error(format!("one with {name:?} for words {first} and {second} (counted from 0)"));
    }
    Ok(())
}

/// Returns the error for a document with other fields than the first one.
fn mixed_fields(row: u64, first: &DocumentFields, now: &DocumentFields) -> Error {
    let given = |fields: &DocumentFields| {
        [
            ("names", fields.names),
            ("labels", !fields.label_columns.is_empty()),
            ("dates", fields.dates),
            ("places", fields.places),
            ("checksums", fields.checksums),
            ("tokens_unknown", fields.tokens_unknown),
        ]
    };
    let differs = given(first).into_iter().zip(given(now)).find(|(first, now)| first != now);
    let Some((_, (name, given))) = differs else {
        let found = format!("as one text and as columns, here for document {row} (counted from 0)");
        return Error::out_of_range("labels", found, "given in the same way for all documents");
    };
    let what = if given { "is the first with one" } else { "has none" };
    let found = format!("for some: document {row} (counted from 0) {what}");
    Error::out_of_range(name, found, "given for all documents or for none")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Block;

    fn documents(corpus: &Corpus) -> Vec<Vec<(u32, u32)>> {
        let (mut reader, mut block, mut all) = (corpus.reader(), Block::default(), Vec::new());
        for i in 0..corpus.blocks() {
            reader.read(i, &mut block).unwrap();
            let pairs =
                |d: crate::Document<'_>| d.words.iter().copied().zip(d.counts.iter().copied()).collect();
            all.extend(block.iter().map(pairs));
        }
        all
    }

    #[test]
    fn entries_are_sorted_and_merged() {
        let mut builder = CorpusBuilder::new();
        builder.add_document(&[(7, 1), (2, 3), (7, 4), (5, 0)]).unwrap();
        builder.add_document(&[]).unwrap();
        let corpus = builder.build().unwrap();
        assert_eq!(documents(&corpus), [vec![(2, 3), (7, 5)], vec![]]);
        assert_eq!(corpus.shape().words, 8);
        assert!(corpus.path().is_none() && !corpus.has_names() && !corpus.has_vocabulary());
        assert!(corpus.memory_bytes() >= corpus.bytes());
    }

    #[test]
    fn details_and_vocabulary_are_kept() {
        let mut builder = CorpusBuilder::new().vocabulary(["a", "b"]);
        let details = |name, label| Details {
            name: Some(name),
            labels: DocumentLabels::One(label),
            ..Details::default()
        };
        builder.add_with(details("x", "l"), &[(1, 1)]).unwrap();
        builder.add_with(details("y", "m"), &[(0, 1)]).unwrap();
        let text = builder.add_named("z", &[(0, 1)]).unwrap_err().to_string();
        assert!(text.contains("labels") && text.contains("document 2"), "{text}");
        let corpus = builder.build().unwrap();
        let mut reader = corpus.reader();
        assert_eq!(reader.read_names(0).unwrap().iter().collect::<Vec<_>>(), ["x", "y"]);
        let labels = reader.read_labels(0).unwrap();
        assert_eq!((labels.row(0), labels.row(1)), (vec![vec!["l"]], vec![vec!["m"]]));
        assert_eq!(corpus.label_columns(), ["label"]);
        assert_eq!(corpus.vocabulary().unwrap().unwrap().get(1), Some("b"));
    }

    #[test]
    fn what_cannot_be_built_is_an_error() {
        let text = |result: Result<()>| result.unwrap_err().to_string();
        let mut builder = CorpusBuilder::new().words(3);
        builder.add_document(&[(2, u32::MAX)]).unwrap();
        let out_of_range = text(builder.add_document(&[(0, 1), (3, 1)]));
        assert!(
            out_of_range.contains("row 1, column 3") && out_of_range.contains("below 3"),
            "{out_of_range}"
        );
        let large = text(builder.add_document(&[(1, u32::MAX), (1, 1)]));
        assert!(large.contains("row 1, column 1") && large.contains("4294967296"), "{large}");
        // Neither of the two documents was added.
        assert_eq!(builder.build().unwrap().shape().documents, 1);

        let mut builder = CorpusBuilder::new();
        assert!(text(builder.add_document(&[(u32::MAX, 1)])).contains("4294967294"));
        builder.add_document(&[(5, 1)]).unwrap();
        let few = text(builder.vocabulary(["a", "b"]).build().map(drop));
        assert!(few.contains("at least 6"), "{few}");
        for (words, problem) in [(["a", " "], "word 1"), (["a", "a"], "words 0 and 1")] {
            let found = text(CorpusBuilder::new().vocabulary(words).build().map(drop));
            assert!(found.contains(problem), "{found}");
        }
        assert!(CorpusBuilder::new().vocabulary(["a"]).words(2).build().is_err());
        assert!(CorpusBuilder::new().words(u32::MAX).build().is_err());
        assert_eq!(CorpusBuilder::new().build().unwrap().shape().documents, 0);
    }
}
