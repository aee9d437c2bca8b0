//! Writing a corpus to a file or to memory, document by document. Start with [`CorpusWriter`].
//!
//! Apart from the output itself, memory does not grow with the number of documents, except for an
//! index of 88 bytes per block of a megabyte.

use std::path::Path;

use super::about::About;
use super::block::encode;
use super::date::parse_date;
use super::format::{
    self, BLOCK_BYTES, BlockEntry, CorpusParts, DETAIL_PARTS, DetailPart, Directory, HEADER_BYTES, PartSize,
};
use super::labels::{DEFAULT_LABEL_COLUMN, DocumentLabels, LabelTable};
use super::pack::{pack, pack_lengths, pack_strings};
use super::place::{TextPlace, pack_places};
use super::source::CorpusOutput;
use super::{Corpus, Shape, Vocabulary};
use crate::error::{Error, Position, Result};

/// Optional information about a document besides its words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Details<'a> {
    /// Name of the document.
    pub name: Option<&'a str>,
    /// Labels of the document.
    pub labels: DocumentLabels<'a>,
    /// Date of the document in any notation of [`parse_date`]; an empty text if it has none.
    pub date: Option<&'a str>,
    /// Position of the document's text in a file.
    pub place: Option<TextPlace>,
    /// CRC-32 of the bytes at `place`, by which the text is recognized.
    pub checksum: Option<u32>,
    /// Number of tokens of the text that are not in the vocabulary.
    pub tokens_unknown: Option<u32>,
}

/// Selection of the [`Details`] that the documents of a corpus have. Either all documents have a
/// detail or none has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an optional part of the file")]
pub struct DocumentFields {
    /// Whether the documents have names.
    pub names: bool,
    /// Names of the label columns; empty if the documents have no labels.
    pub label_columns: Vec<String>,
    /// Whether a document may have several values in a label column.
    pub multiple_labels: bool,
    /// Whether the documents have dates.
    pub dates: bool,
    /// Whether the positions of the documents' texts are known.
    pub places: bool,
    /// Whether the checksums of the documents' texts are known.
    pub checksums: bool,
    /// Whether the numbers of tokens that are not in the vocabulary are known.
    pub tokens_unknown: bool,
}

impl DocumentFields {
    /// Returns the optional parts of a corpus with these fields, without metadata.
    fn parts(&self) -> CorpusParts {
        let unnamed = self.label_columns == [DEFAULT_LABEL_COLUMN] && !self.multiple_labels;
        let labels = !self.label_columns.is_empty();
        CorpusParts {
            names: self.names,
            labels,
            places: self.places,
            about: false,
            dates: self.dates,
            checksums: self.checksums,
            unknown: self.tokens_unknown,
            // In version 3 all labels are lists of values.
            label_lists: labels && (!unnamed || self.dates || self.checksums || self.tokens_unknown),
        }
    }
}

/// Buffers documents and writes a block whenever it is full.
#[derive(Debug)]
pub(crate) struct BlockWriter {
    pub(crate) out: CorpusOutput,
    pub(crate) entries: Vec<BlockEntry>,
    offset: u64,
    documents: u64,
    starts: Vec<u32>,
    words: Vec<u32>,
    counts: Vec<u32>,
    tokens: u64,
    names: Vec<String>,
    labels: LabelTable,
    dates: Vec<String>,
    places: Vec<TextPlace>,
    checksums: Vec<u32>,
    unknown: Vec<u32>,
    /// Whether labels are written as lists of values.
    label_lists: bool,
    /// Size of the buffered names, labels and dates in bytes, plus 16 per place.
    details_bytes: u64,
    scratch: Vec<u32>,
    encoded: Vec<u8>,
}

impl BlockWriter {
    /// Creates a writer whose first block is at `offset` of `out`.
    pub(crate) fn new(out: CorpusOutput, offset: u64) -> BlockWriter {
        BlockWriter {
            out,
            entries: Vec::new(),
            offset,
            documents: 0,
            starts: vec![0],
            words: Vec::new(),
            counts: Vec::new(),
            tokens: 0,
            names: Vec::new(),
            labels: LabelTable::default(),
            dates: Vec::new(),
            places: Vec::new(),
            checksums: Vec::new(),
            unknown: Vec::new(),
            label_lists: false,
            details_bytes: 0,
            scratch: Vec::new(),
            encoded: Vec::new(),
        }
    }

    /// Returns the number of documents so far.
    pub(crate) fn documents(&self) -> u64 {
        self.documents
    }

    /// Adds a document. The caller has checked that words are strictly ascending and counts at
    /// least 1.
    pub(crate) fn push(&mut self, words: &[u32], counts: &[u32], details: Details<'_>) -> Result<()> {
        debug_assert!(words.windows(2).all(|w| w[0] < w[1]) && counts.iter().all(|&x| x > 0));
        self.words.extend_from_slice(words);
        self.counts.extend_from_slice(counts);
        self.tokens += counts.iter().map(|&x| u64::from(x)).sum::<u64>();
        for (list, text) in [(&mut self.names, details.name), (&mut self.dates, details.date)] {
            if let Some(text) = text {
                self.details_bytes += text.len() as u64;
                list.push(text.into());
            }
        }
        self.details_bytes += match details.labels {
            DocumentLabels::None => 0,
            DocumentLabels::One(label) => label.len() as u64,
            DocumentLabels::Columns(columns) => {
                columns.iter().flatten().map(|label| label.len() as u64).sum()
            }
        };
        self.labels.push(details.labels);
        if let Some(place) = details.place {
            self.details_bytes += 16;
            self.places.push(place);
        }
        self.checksums.extend(details.checksum);
        self.unknown.extend(details.tokens_unknown);
        self.documents += 1;
        let nonzeros = u32::try_from(self.words.len()).map_err(|_| self.too_long())?;
        self.starts.push(nonzeros);
        if 8 * (u64::from(nonzeros) + self.starts.len() as u64) + self.details_bytes >= BLOCK_BYTES {
            self.close_block()?;
        }
        Ok(())
    }

    /// Returns the error for a document that does not fit into a block.
    fn too_long(&self) -> Error {
        Error::Input {
            path: self.out.origin().to_path_buf(),
            position: Position::Whole,
            found: format!("document {} with more than 4 GiB of words", self.documents),
            expected: "documents that fit into a block".into(),
            remedy: "split the document into parts".into(),
        }
    }

    /// Writes the buffered documents as a block, if there are any.
    pub(crate) fn close_block(&mut self) -> Result<()> {
        if self.starts.len() == 1 {
            return Ok(());
        }
        self.encoded.clear();
        encode(&self.starts, &self.words, &self.counts, &mut self.scratch, &mut self.encoded);
        let bytes = self.encoded.len();
        let mut ends = [0; DETAIL_PARTS];
        for (part, end) in DetailPart::ALL.into_iter().zip(&mut ends) {
            self.encode_part(part);
            *end = self.encoded.len();
        }
        let length = |n: usize| u32::try_from(n).map_err(|_| self.too_long());
        let (mut details, mut start) = ([PartSize::default(); DETAIL_PARTS], bytes);
        for (part, end) in details.iter_mut().zip(ends) {
            let encoded = &self.encoded[start..end];
            *part = PartSize { bytes: length(encoded.len())?, crc: crc32fast::hash(encoded) };
            start = end;
        }
        let entry = BlockEntry {
            offset: self.offset,
            first_document: self.documents - (self.starts.len() as u64 - 1),
            tokens: self.tokens,
            documents: length(self.starts.len() - 1)?,
            nonzeros: length(self.words.len())?,
            bytes: length(bytes)?,
            crc: crc32fast::hash(&self.encoded[..bytes]),
            details,
        };
        self.out.put(&self.encoded)?;
        self.offset += self.encoded.len() as u64;
        self.entries.push(entry);
        self.starts.truncate(1);
        self.words.clear();
        self.counts.clear();
        self.names.clear();
        self.labels.clear();
        self.dates.clear();
        self.places.clear();
        self.checksums.clear();
        self.unknown.clear();
        self.tokens = 0;
        self.details_bytes = 0;
        Ok(())
    }

    /// Appends an optional part of the buffered documents, if they have it.
    fn encode_part(&mut self, part: DetailPart) {
        let (scratch, out) = (&mut self.scratch, &mut self.encoded);
        match part {
            DetailPart::Names if !self.names.is_empty() => {
                pack_strings(self.names.iter().map(String::as_str), out);
            }
            DetailPart::Labels if !self.labels.is_empty() && self.label_lists => {
                self.labels.pack_into(scratch, out);
            }
            DetailPart::Labels if !self.labels.is_empty() => {
                let label = |d: usize| self.labels.values(d, 0).next().unwrap_or_default();
                pack_strings((0..self.labels.documents()).map(label), out);
            }
            DetailPart::Places => pack_places(&self.places, scratch, out),
            DetailPart::Dates if !self.dates.is_empty() => {
                pack_strings(self.dates.iter().map(String::as_str), out);
            }
            DetailPart::Checksums => out.extend(self.checksums.iter().flat_map(|crc| crc.to_le_bytes())),
            DetailPart::Unknown => pack(&self.unknown, out),
            DetailPart::Names | DetailPart::Labels | DetailPart::Dates => {}
        }
    }
}

/// Writes a corpus, document by document, to a file or to memory.
///
/// A file appears only with [`finish`](CorpusWriter::finish). To add documents with unsorted words,
/// use a [`CorpusBuilder`](crate::CorpusBuilder).
#[derive(Debug)]
pub struct CorpusWriter {
    pub(crate) blocks: BlockWriter,
    word_tokens: Vec<u64>,
    word_documents: Vec<u64>,
    parts: CorpusParts,
    about: Vec<u8>,
}

impl CorpusWriter {
    /// Starts a corpus file at `path`. `names` says whether the documents have names.
    pub fn create(path: impl AsRef<Path>, names: bool) -> Result<CorpusWriter> {
        let fields = DocumentFields { names, ..DocumentFields::default() };
        CorpusWriter::create_with(path, fields, &About::default())
    }

    /// Starts a corpus file at `path` with the given fields. `about` is metadata on how the corpus
    /// was made.
    pub fn create_with(
        path: impl AsRef<Path>,
        fields: DocumentFields,
        about: &About,
    ) -> Result<CorpusWriter> {
        CorpusWriter::new(CorpusOutput::create(path.as_ref())?, fields, about)
    }

    /// Starts a corpus in memory. `names` says whether the documents have names.
    pub fn in_memory(names: bool) -> Result<CorpusWriter> {
        let fields = DocumentFields { names, ..DocumentFields::default() };
        CorpusWriter::in_memory_with(fields, &About::default())
    }

    /// Starts a corpus in memory with the given fields. `about` is metadata on how the corpus was
    /// made.
    pub fn in_memory_with(fields: DocumentFields, about: &About) -> Result<CorpusWriter> {
        CorpusWriter::new(CorpusOutput::Memory(Vec::new()), fields, about)
    }

    fn new(mut out: CorpusOutput, fields: DocumentFields, about: &About) -> Result<CorpusWriter> {
        check_columns(&fields.label_columns)?;
        let (mut about, mut parts) = (about.clone(), fields.parts());
        let columns = fields.label_columns.len();
        about.label_columns = if parts.label_lists { fields.label_columns } else { Vec::new() };
        parts.about = about != About::default();
        let about = if parts.about {
            serde_json::to_vec(&about).map_err(|e| Error::io("write", out.origin())(e.into()))?
        } else {
            Vec::new()
        };
        out.put(&format::header(parts.version()))?;
        let mut blocks = BlockWriter::new(out, HEADER_BYTES);
        blocks.label_lists = parts.label_lists;
        blocks.labels = LabelTable::new(columns);
        Ok(CorpusWriter { blocks, word_tokens: Vec::new(), word_documents: Vec::new(), parts, about })
    }

    /// Adds a document. The word ids must be strictly ascending and the counts at least 1.
    pub fn push(&mut self, words: &[u32], counts: &[u32], name: Option<&str>) -> Result<()> {
        self.push_with(words, counts, Details { name, ..Details::default() })
    }

    /// Adds a document like [`push`](CorpusWriter::push), with its details.
    ///
    /// Details that are not fields of the corpus are ignored. A missing name or date becomes an
    /// empty text, and missing labels have no value.
    pub fn push_with(&mut self, words: &[u32], counts: &[u32], details: Details<'_>) -> Result<()> {
        let is_valid = words.len() == counts.len()
            && words.windows(2).all(|w| w[0] < w[1])
            && !counts.contains(&0)
            && words.last() != Some(&u32::MAX);
        if !is_valid {
            return Err(Error::Input {
                path: self.blocks.out.origin().to_path_buf(),
                position: Position::Whole,
                found: format!(
                    "document {} with unsorted words or missing counts",
                    self.blocks.documents() + 1
                ),
                expected: "word ids strictly ascending, each with a count of at least 1".into(),
                remedy: "sort the words of each document and add up duplicates".into(),
            });
        }
        if let Some(&last) = words.last()
            && last as usize >= self.word_tokens.len()
        {
            self.grow_totals(last as usize + 1)?;
        }
        for (&w, &x) in words.iter().zip(counts) {
            self.word_tokens[w as usize] += u64::from(x);
            self.word_documents[w as usize] += 1;
        }
        let parts = self.parts;
        if let DocumentLabels::Columns(columns) = details.labels
            && !parts.label_lists
            && parts.labels
            && columns.iter().any(|values| values.len() > 1)
        {
            let found = format!("several for document {}", self.blocks.documents() + 1);
            return Err(Error::out_of_range("labels", found, "at most one for each document")
                .with_remedy("declare that documents may have several labels"));
        }
        let date = details.date.filter(|date| parts.dates && !date.is_empty());
        let date = match date.map(|date| (date, parse_date(date))) {
            Some((date, None)) => return Err(self.bad_date(date)),
            Some((_, Some(normalized))) => normalized,
            None => String::new(),
        };
        let details = Details {
            name: parts.names.then(|| details.name.unwrap_or_default()),
            labels: if parts.labels { details.labels } else { DocumentLabels::None },
            date: parts.dates.then_some(&date),
            place: parts.places.then(|| details.place.unwrap_or_default()),
            checksum: parts.checksums.then(|| details.checksum.unwrap_or_default()),
            tokens_unknown: parts.unknown.then(|| details.tokens_unknown.unwrap_or_default()),
        };
        self.blocks.push(words, counts, details)
    }

    /// Returns the error for a date that cannot be read.
    fn bad_date(&self, date: &str) -> Error {
        Error::Input {
            path: self.blocks.out.origin().to_path_buf(),
            position: Position::Whole,
            found: format!("the date {date:?} of document {}", self.blocks.documents() + 1),
            expected: "a date such as 2001, 2001-02 or 2001-02-03".into(),
            remedy: "write dates as YYYY-MM-DD".into(),
        }
    }

    /// Extends the totals of words with zeros to a vocabulary of `words` words.
    fn grow_totals(&mut self, words: usize) -> Result<()> {
        for totals in [&mut self.word_tokens, &mut self.word_documents] {
            let more = words.saturating_sub(totals.len());
            totals.try_reserve(more).map_err(|_| Error::Allocation {
                bytes: 16 * words as u64,
                remedy: "number only the words that occur, starting at 1".into(),
            })?;
            totals.resize(words, 0);
        }
        Ok(())
    }

    /// Completes the corpus and opens it. `words` is the number of words, which must exceed the
    /// largest word id.
    pub fn finish(self, words: u32, vocabulary: Option<&Vocabulary>) -> Result<Corpus> {
        self.seal(words, vocabulary)?.commit()
    }

    /// Writes the rest of the corpus and syncs it. A file appears only when the output is
    /// committed.
    pub(crate) fn seal(mut self, words: u32, vocabulary: Option<&Vocabulary>) -> Result<CorpusOutput> {
        self.blocks.close_block()?;
        let path = self.blocks.out.origin().to_path_buf();
        if self.word_tokens.len() > words as usize
            || words == u32::MAX
            || vocabulary.is_some_and(|v| v.len() != words as usize)
        {
            return Err(Error::Input {
                path,
                position: Position::Whole,
                found: format!(
                    "word ids up to {} and a vocabulary of {}",
                    self.word_tokens.len(),
                    vocabulary.map_or(u64::from(words), |v| v.len() as u64)
                ),
                expected: format!("{words} words").into(),
                remedy: "use the vocabulary that belongs to this corpus".into(),
            });
        }
        self.grow_totals(words as usize)?;
        let BlockWriter { mut out, entries, offset, documents, .. } = self.blocks;
        let mut crc = crc32fast::Hasher::new();
        for n in self.word_tokens.iter().chain(&self.word_documents) {
            crc.update(&n.to_le_bytes());
            out.put(&n.to_le_bytes())?;
        }
        let mut lengths = Vec::new();
        let text = vocabulary.map_or("", |vocabulary| {
            pack_lengths(vocabulary.iter(), &mut lengths);
            vocabulary.parts().0
        });
        let mut vocabulary_crc = crc32fast::Hasher::new();
        for part in [&lengths, text.as_bytes()] {
            vocabulary_crc.update(part);
            out.put(part)?;
        }
        out.put(&self.about)?;
        let about_bytes = u32::try_from(self.about.len()).map_err(|_| Error::Input {
            path,
            position: Position::Whole,
            found: "more than 4 GiB of metadata".into(),
            expected: "at most 4 GiB".into(),
            remedy: "shorten the metadata".into(),
        })?;
        let shape = Shape {
            documents,
            words,
            nonzeros: entries.iter().map(|e| u64::from(e.nonzeros)).sum(),
            tokens: entries.iter().map(|e| e.tokens).sum(),
        };
        let tail = format::tail(&Directory {
            shape,
            has_vocabulary: vocabulary.is_some(),
            parts: self.parts,
            words_offset: offset,
            words_crc: crc.finalize(),
            vocabulary_bytes: (lengths.len() + text.len()) as u64,
            vocabulary_crc: vocabulary_crc.finalize(),
            about_bytes,
            about_crc: crc32fast::hash(&self.about),
            entries,
            fingerprint: 0,
        });
        out.put(&tail)?;
        out.sync()?;
        Ok(out)
    }
}

/// Checks that label columns have distinct names.
fn check_columns(names: &[String]) -> Result<()> {
    let error = |found: String| Err(Error::out_of_range("label_column", found, "a list of distinct names"));
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return error(format!("one with an empty name for column {i} (counted from 0)"));
        }
        if names[..i].contains(name) {
            return error(format!("one with {name:?} twice"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fields with any combination of details, and two label columns.
    fn fields() -> impl Strategy<Value = DocumentFields> {
        (any::<[bool; 6]>(), 0usize..3).prop_map(|(given, columns)| DocumentFields {
            names: given[0],
            label_columns: ["label", "other"][..columns].iter().map(|&name| name.to_owned()).collect(),
            multiple_labels: given[1] || columns > 1,
            dates: given[2],
            places: given[3],
            checksums: given[4],
            tokens_unknown: given[5],
        })
    }

    proptest! {
        #[test]
        fn all_details_come_back(
            fields in fields(),
            documents in prop::collection::vec(("[a-zä]{0,3}", prop::collection::vec(prop::collection::vec("[a-c]{1,2}", 0..3), 2), 0u32..20_000, any::<(u64, u32, u32)>()), 0..40),
        ) {
            let mut writer = CorpusWriter::in_memory_with(fields.clone(), &About::default()).unwrap();
            let many = fields.multiple_labels;
            let date = |n: u32| if n < 1000 { String::new() } else { format!("{:04}", n % 9999 + 1) };
            let labels = |all: &Vec<Vec<String>>| -> Vec<Vec<String>> {
                let most = if many { 3 } else { 1 };
                let columns = all.iter().take(fields.label_columns.len());
                columns.map(|values| values.iter().take(most).cloned().collect()).collect()
            };
            for (name, all, n, (offset, length, number)) in &documents {
                let (all, date) = (labels(all), date(*n));
                let row: Vec<Vec<&str>> = all.iter().map(|v| v.iter().map(String::as_str).collect()).collect();
                let details = Details {
                    name: Some(name),
                    labels: DocumentLabels::Columns(&row),
                    date: Some(&date),
                    place: Some(TextPlace { source: 0, offset: *offset, length: *length }),
                    checksum: Some(*number),
                    tokens_unknown: Some(*n),
                };
                writer.push_with(&[1], &[2], details).unwrap();
            }
            let corpus = writer.finish(3, None).unwrap();
            let bytes = corpus.to_bytes().unwrap();
            // The version is the lowest that supports the fields.
            let newest = fields.dates || fields.checksums || fields.tokens_unknown
                || (!fields.label_columns.is_empty() && many);
            let version = match (newest, fields.places || !fields.label_columns.is_empty()) {
                (true, _) => 3,
                (false, true) => 2,
                (false, false) => 1,
            };
            prop_assert_eq!(bytes[8], version);
            let corpus = Corpus::from_bytes(bytes).unwrap();
            prop_assert_eq!(corpus.label_columns(), &fields.label_columns);
            if documents.is_empty() {
                return Ok(());
            }
            let found = corpus.reader().read_details(0).unwrap();
            for (d, (name, all, n, (offset, length, number))) in documents.iter().enumerate() {
                let row = found.labels.row(d);
                let details = found.document(d, &row);
                let date = date(*n);
                prop_assert_eq!(details.name, fields.names.then_some(name.as_str()));
                prop_assert_eq!(details.date, fields.dates.then_some(date.as_str()));
                let place = TextPlace { source: 0, offset: *offset, length: *length };
                prop_assert_eq!(details.place, fields.places.then_some(place));
                prop_assert_eq!(details.checksum, fields.checksums.then_some(*number));
                prop_assert_eq!(details.tokens_unknown, fields.tokens_unknown.then_some(*n));
                prop_assert_eq!(&row, &labels(all));
            }
        }
    }

    #[test]
    fn what_a_corpus_cannot_store_is_refused() {
        let create = |columns: &[&str], many| {
            let label_columns = columns.iter().map(|&name| name.to_owned()).collect();
            let fields =
                DocumentFields { label_columns, multiple_labels: many, dates: many, ..Default::default() };
            CorpusWriter::in_memory_with(fields, &About::default())
        };
        assert!(create(&["a", "a"], true).is_err());
        assert!(create(&[""], true).is_err());
        let (two, mut writer) = ([vec!["x", "y"]], create(&["label"], false).unwrap());
        let details = Details { labels: DocumentLabels::Columns(&two), ..Details::default() };
        let text = writer.push_with(&[0], &[1], details).unwrap_err().to_string();
        assert!(text.contains("several for document 1"), "{text}");
        let mut writer = create(&["label"], true).unwrap();
        writer.push_with(&[0], &[1], details).unwrap();
        let bad = Details { date: Some("soon"), ..Details::default() };
        let text = writer.push_with(&[0], &[1], bad).unwrap_err().to_string();
        assert!(text.contains("\"soon\"") && text.contains("document 2"), "{text}");
    }
}
