//! Writing a corpus to a file or to memory, document by document. Start with [`CorpusWriter`].
//!
//! Apart from the output itself, memory does not grow with the number of documents, except for an
//! index of 64 bytes per block of a megabyte.

use std::path::Path;

use super::about::About;
use super::block::encode;
use super::format::{self, BLOCK_BYTES, BlockEntry, CorpusParts, Directory, HEADER_BYTES};
use super::pack::{pack_lengths, pack_strings};
use super::place::{TextPlace, pack_places};
use super::source::CorpusOutput;
use super::{Corpus, Shape, Vocabulary};
use crate::error::{Error, Position, Result};

/// Optional information about a document besides its words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Details<'a> {
    /// Name of the document.
    pub name: Option<&'a str>,
    /// Class that the document belongs to.
    pub label: Option<&'a str>,
    /// Position of the document's text in a file.
    pub place: Option<TextPlace>,
}

/// Selection of the [`Details`] that the documents of a corpus have. Either all documents have a
/// detail or none has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DocumentFields {
    /// Whether the documents have names.
    pub names: bool,
    /// Whether the documents have labels.
    pub labels: bool,
    /// Whether the positions of the documents' texts are known.
    pub places: bool,
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
    labels: Vec<String>,
    places: Vec<TextPlace>,
    /// Size of the buffered names and labels in bytes, plus 16 per place.
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
            labels: Vec::new(),
            places: Vec::new(),
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
        for (list, text) in [(&mut self.names, details.name), (&mut self.labels, details.label)] {
            if let Some(text) = text {
                self.details_bytes += text.len() as u64;
                list.push(text.into());
            }
        }
        if let Some(place) = details.place {
            self.details_bytes += 16;
            self.places.push(place);
        }
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
        if !self.names.is_empty() {
            pack_strings(self.names.iter().map(String::as_str), &mut self.encoded);
        }
        let names_end = self.encoded.len();
        if !self.labels.is_empty() {
            pack_strings(self.labels.iter().map(String::as_str), &mut self.encoded);
        }
        let labels_end = self.encoded.len();
        pack_places(&self.places, &mut self.scratch, &mut self.encoded);
        let (documents, names) = (&self.encoded[..bytes], &self.encoded[bytes..names_end]);
        let (labels, places) = (&self.encoded[names_end..labels_end], &self.encoded[labels_end..]);
        let length = |n: usize| u32::try_from(n).map_err(|_| self.too_long());
        let entry = BlockEntry {
            offset: self.offset,
            first_document: self.documents - (self.starts.len() as u64 - 1),
            tokens: self.tokens,
            documents: length(self.starts.len() - 1)?,
            nonzeros: length(self.words.len())?,
            bytes: length(bytes)?,
            crc: crc32fast::hash(documents),
            names_bytes: length(names.len())?,
            names_crc: crc32fast::hash(names),
            labels_bytes: length(labels.len())?,
            labels_crc: crc32fast::hash(labels),
            places_bytes: length(places.len())?,
            places_crc: crc32fast::hash(places),
        };
        self.out.put(&self.encoded)?;
        self.offset += self.encoded.len() as u64;
        self.entries.push(entry);
        self.starts.truncate(1);
        self.words.clear();
        self.counts.clear();
        self.names.clear();
        self.labels.clear();
        self.places.clear();
        self.tokens = 0;
        self.details_bytes = 0;
        Ok(())
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
        let about = if *about == About::default() {
            Vec::new()
        } else {
            serde_json::to_vec(about).map_err(|e| Error::io("write", out.origin())(e.into()))?
        };
        let DocumentFields { names, labels, places } = fields;
        let parts = CorpusParts { names, labels, places, about: !about.is_empty() };
        out.put(&format::header(parts.version()))?;
        Ok(CorpusWriter {
            blocks: BlockWriter::new(out, HEADER_BYTES),
            word_tokens: Vec::new(),
            word_documents: Vec::new(),
            parts,
            about,
        })
    }

    /// Adds a document. The word ids must be strictly ascending and the counts at least 1.
    pub fn push(&mut self, words: &[u32], counts: &[u32], name: Option<&str>) -> Result<()> {
        self.push_with(words, counts, Details { name, ..Details::default() })
    }

    /// Adds a document like [`push`](CorpusWriter::push), with its details.
    ///
    /// Details that are not fields of the corpus are ignored. A missing name or label becomes an
    /// empty string.
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
        let details = Details {
            name: self.parts.names.then(|| details.name.unwrap_or_default()),
            label: self.parts.labels.then(|| details.label.unwrap_or_default()),
            place: self.parts.places.then(|| details.place.unwrap_or_default()),
        };
        self.blocks.push(words, counts, details)
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
