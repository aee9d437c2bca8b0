//! Reading a corpus. Opening it checks everything except the blocks; each block is checked when it
//! is read. Start with [`Corpus`]; the layout of the bytes is in `format` and `block`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::about::About;
use super::block::{Block, decode, piece_count};
use super::date::parse_date;
use super::format::{self, BlockEntry, DetailPart, Directory};
use super::labels::{DEFAULT_LABEL_COLUMN, DocumentLabels, LabelTable};
use super::pack::{GROUP, pack_lengths, unpack, unpack_strings};
use super::place::{self, TextPlace};
use super::source::CorpusSource;
use super::totals::{TotalsCheck, WeightedTotals};
use super::{Details, DocumentFields, Shape, Vocabulary};
use crate::error::{Error, Position, Result};
use crate::files::{AtomicFile, ByteSource, MEMORY};
use crate::memory;

/// Number of bytes copied at a time when a corpus is saved.
const COPY_BYTES: u64 = 1 << 20;

/// A corpus: documents as lists of (word, count), in a file or in memory.
///
/// Reading takes `&self`, and each thread can have its own [`reader`](Corpus::reader).
///
/// A corpus in memory comes from a [`CorpusBuilder`](crate::CorpusBuilder), from the arrays of a
/// sparse matrix ([`Corpus::from_csr`]), or from the bytes of a corpus file
/// ([`Corpus::from_bytes`]). It has the same bytes as the file that [`save`](Corpus::save) writes,
/// and everything that takes a `&Corpus` works with it.
#[derive(Debug)]
pub struct Corpus {
    source: CorpusSource,
    /// Name to use in errors instead of the path.
    origin: Option<PathBuf>,
    directory: Directory,
    /// Names of the label columns.
    label_columns: Vec<String>,
    totals: TotalsCheck,
}

/// Total numbers of occurrences of each word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordTotals {
    /// Number of tokens of each word, n_w.
    pub tokens: Vec<u64>,
    /// Number of documents in which each word occurs.
    pub documents: Vec<u64>,
}

impl Corpus {
    /// Opens a corpus file and checks its header, index and footer.
    pub fn open(path: impl AsRef<Path>) -> Result<Corpus> {
        Corpus::from_source(CorpusSource::open(path.as_ref())?)
    }

    /// Opens the bytes of a corpus file, with the same checks as [`open`](Corpus::open).
    ///
    /// An `Arc<[u8]>` is shared and not copied.
    ///
    /// ```
    /// use tinylda::{Corpus, CorpusBuilder};
    ///
    /// let mut builder = CorpusBuilder::new();
    /// builder.add_document(&[(0, 2), (3, 1)])?;
    /// let corpus = builder.build()?;
    ///
    /// let again = Corpus::from_bytes(corpus.to_bytes()?)?;
    /// assert_eq!(again.shape().tokens, 3);
    /// assert_eq!(again.fingerprint(), corpus.fingerprint());
    /// assert!(Corpus::from_bytes(&b"something else"[..]).is_err());
    /// # Ok::<(), tinylda::Error>(())
    /// ```
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Corpus> {
        Corpus::from_source(CorpusSource::Memory(bytes.into()))
    }

    fn from_source(source: CorpusSource) -> Result<Corpus> {
        let directory = format::read_directory(source.bytes(), source.length())?;
        let totals = TotalsCheck::new(directory.entries.len());
        let mut corpus = Corpus { source, origin: None, directory, label_columns: Vec::new(), totals };
        let parts = corpus.directory.parts;
        if parts.label_lists {
            corpus.label_columns = corpus.about()?.label_columns;
            let columns = &corpus.label_columns;
            let distinct = columns.iter().enumerate().all(|(i, name)| !columns[..i].contains(name));
            if columns.is_empty() || !distinct || columns.iter().any(String::is_empty) {
                let offset = corpus.about_offset();
                return Err(corpus.damaged(offset, "the names of its label columns are missing"));
            }
        } else if parts.labels {
            corpus.label_columns = vec![DEFAULT_LABEL_COLUMN.into()];
        }
        Ok(corpus)
    }

    /// Returns all bytes of the corpus, as in its file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = memory::try_with_capacity(self.bytes())?;
        bytes.resize(self.bytes() as usize, 0);
        let source = self.source.bytes();
        source.read_exact_at(&mut bytes, 0).map_err(Error::io("read", source.origin()))?;
        Ok(bytes)
    }

    /// Writes the corpus to a file, which appears only when it is complete.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut out = AtomicFile::create(path.as_ref())?;
        let (source, mut buffer, mut position) = (self.source.bytes(), Vec::new(), 0);
        while position < self.bytes() {
            let length = (self.bytes() - position).min(COPY_BYTES);
            let bytes = source.read_slice(position, length as usize, &mut buffer);
            out.put(bytes.map_err(Error::io("read", source.origin()))?)?;
            position += length;
        }
        out.commit()
    }

    /// Returns the path of the file as it was given; `None` for a corpus in memory.
    pub fn path(&self) -> Option<&Path> {
        self.source.path()
    }
    /// Sets the name of the corpus to use in errors about its content, for instance the path of the
    /// data that it was imported from.
    #[must_use]
    pub fn with_origin(self, origin: impl Into<PathBuf>) -> Corpus {
        Corpus { origin: Some(origin.into()), ..self }
    }

    /// Returns the name of the corpus to use in errors: the one that was set, the path of the file,
    /// or [`MEMORY`].
    pub(crate) fn origin(&self) -> &Path {
        self.origin.as_deref().or(self.path()).unwrap_or(Path::new(MEMORY))
    }
    /// Returns the name of the file without its folder; empty for a corpus in memory.
    pub(crate) fn file_name(&self) -> String {
        let name = self.path().and_then(Path::file_name);
        name.unwrap_or_default().to_string_lossy().into_owned()
    }
    /// Returns the memory in bytes that the open corpus holds: its index and, for a corpus in
    /// memory, all of its bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.source.memory_bytes() + (self.directory.entries.capacity() * size_of::<BlockEntry>()) as u64
    }
    /// Returns the numbers of documents, words, non-zeros and tokens.
    pub fn shape(&self) -> Shape {
        self.directory.shape
    }
    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.directory.entries.len()
    }
    /// Returns the size of the corpus in bytes, in the file or in memory.
    pub fn bytes(&self) -> u64 {
        self.source.length()
    }
    /// Returns the size of the packed documents in bytes: words and counts, without names, labels
    /// and places.
    pub fn packed_documents_bytes(&self) -> u64 {
        self.directory.entries.iter().map(|entry| u64::from(entry.bytes)).sum()
    }
    /// Returns eight hexadecimal digits that identify the content: the CRC-32 of the footer, which
    /// contains the checksums of all parts.
    pub fn fingerprint(&self) -> String {
        format!("{:08x}", self.directory.fingerprint)
    }
    /// Returns sixteen hexadecimal digits that identify what a model can depend on: the words and
    /// counts of the documents and the vocabulary.
    ///
    /// Unlike the [fingerprint](Corpus::fingerprint), it does not depend on the names and labels of
    /// documents, nor on the files that the texts came from.
    pub fn content_id(&self) -> String {
        let d = &self.directory;
        let (mut documents, mut words) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
        for e in &d.entries {
            documents.update(&e.tokens.to_le_bytes());
            for number in [e.documents, e.nonzeros, e.crc] {
                documents.update(&number.to_le_bytes());
            }
        }
        words.update(&d.vocabulary_bytes.to_le_bytes());
        for number in [d.shape.words, d.words_crc, d.vocabulary_crc, u32::from(d.has_vocabulary)] {
            words.update(&number.to_le_bytes());
        }
        format!("{:08x}{:08x}", documents.finalize(), words.finalize())
    }
    /// Returns whether the documents have names.
    pub fn has_names(&self) -> bool {
        self.directory.parts.names
    }
    /// Returns whether the documents have labels.
    pub fn has_labels(&self) -> bool {
        self.directory.parts.labels
    }
    /// Returns the names of the label columns; none if the documents have no labels. A single
    /// column whose name is not known is called `label`.
    pub fn label_columns(&self) -> &[String] {
        &self.label_columns
    }
    /// Returns whether the documents have dates.
    pub fn has_dates(&self) -> bool {
        self.directory.parts.dates
    }
    /// Returns whether the checksums of the documents' texts are known.
    pub fn has_checksums(&self) -> bool {
        self.directory.parts.checksums
    }
    /// Returns which details the documents have.
    pub fn fields(&self) -> DocumentFields {
        let parts = self.directory.parts;
        DocumentFields {
            names: parts.names,
            label_columns: self.label_columns.clone(),
            multiple_labels: parts.label_lists,
            dates: parts.dates,
            places: parts.places,
            checksums: parts.checksums,
            tokens_unknown: parts.unknown,
        }
    }
    /// Returns whether the positions of the documents' texts are known.
    pub fn has_places(&self) -> bool {
        self.directory.parts.places
    }
    /// Returns whether the corpus has a vocabulary.
    pub fn has_vocabulary(&self) -> bool {
        self.directory.has_vocabulary
    }
    /// Returns the numbers of documents and non-zeros of block `i`.
    pub(crate) fn block_size(&self, i: usize) -> (u32, u32) {
        (self.directory.entries[i].documents, self.directory.entries[i].nonzeros)
    }
    /// Returns the number of pieces of about `size` non-zeros that block `i` is divided into; 1
    /// without a size.
    pub(crate) fn block_pieces(&self, i: usize, size: Option<u64>) -> u64 {
        let (documents, nonzeros) = self.block_size(i);
        size.map_or(1, |size| piece_count(documents, nonzeros, size))
    }
    /// Returns the number of block `i`'s first document, counted from 0.
    pub(crate) fn block_start(&self, i: usize) -> u64 {
        self.directory.entries[i].first_document
    }
    /// Returns the range of the numbers of block `i`'s documents, counted from 0.
    pub(crate) fn block_documents(&self, i: usize) -> std::ops::Range<u64> {
        let first = self.directory.entries[i].first_document;
        first..first + u64::from(self.directory.entries[i].documents)
    }
    /// Returns the block that contains document `d`, counted from 0.
    pub(crate) fn block_of(&self, d: u64) -> Option<usize> {
        let after = self.directory.entries.partition_point(|e| e.first_document <= d);
        after.checked_sub(1).filter(|_| d < self.directory.shape.documents)
    }
    /// Returns the number of tokens of block `i`.
    pub(crate) fn block_tokens(&self, i: usize) -> u64 {
        self.directory.entries[i].tokens
    }

    /// Returns the encoded size in bytes of block `i` without names, labels and places.
    pub(crate) fn block_bytes(&self, i: usize) -> u64 {
        u64::from(self.directory.entries[i].bytes)
    }

    /// Returns the error for a corpus that is damaged at a byte.
    fn damaged(&self, offset: u64, found: impl Into<String>) -> Error {
        Error::damaged_corpus(self.origin(), Position::Byte(offset), found)
    }

    /// Reads a section and verifies its checksum. A file is read into `buffer`.
    fn section<'b>(&'b self, section: &CheckedSection<'_>, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        let CheckedSection { offset, bytes, crc, name } = *section;
        let length =
            usize::try_from(bytes).map_err(|_| self.damaged(offset, format!("{name} is too long")))?;
        let source = self.source.bytes();
        let bytes = source.read_slice(offset, length, buffer).map_err(Error::io("read", source.origin()))?;
        if crc32fast::hash(bytes) != crc {
            return Err(self.damaged(offset, format!("the checksum of {name} is wrong")));
        }
        Ok(bytes)
    }

    /// Reads the vocabulary; `None` if the corpus has none.
    pub fn vocabulary(&self) -> Result<Option<Vocabulary>> {
        let d = &self.directory;
        if !d.has_vocabulary {
            return Ok(None);
        }
        let offset = d.words_offset + 16 * u64::from(d.shape.words);
        let section = CheckedSection {
            offset,
            bytes: d.vocabulary_bytes,
            crc: d.vocabulary_crc,
            name: "the vocabulary",
        };
        let mut bytes = Vec::new();
        let length = self.section(&section, &mut bytes)?.len();
        if bytes.len() != length {
            // The bytes of a corpus in memory are not copied into the buffer.
            bytes = self.section(&section, &mut Vec::new())?.to_vec();
        }
        let (text, ends) = unpack_strings(bytes, d.shape.words as usize)
            .ok_or_else(|| self.damaged(offset, "the vocabulary cannot be read"))?;
        Ok(Some(Vocabulary::from_parts(text, ends)))
    }

    /// Returns whether the vocabulary consists of exactly these words, in this order. The
    /// vocabulary is compared in chunks and never held in memory.
    pub(crate) fn has_words(&self, words: &Vocabulary) -> Result<bool> {
        /// Number of words or bytes compared at a time. It is a multiple of [`GROUP`], since the
        /// lengths of words are packed in groups.
        const CHUNK: usize = GROUP << 10;
        let d = &self.directory;
        if !d.has_vocabulary || words.len() != d.shape.words as usize {
            return Ok(false);
        }
        let (mut offset, mut crc) =
            (d.words_offset + 16 * u64::from(d.shape.words), crc32fast::Hasher::new());
        let (end, mut buffer) = (offset + d.vocabulary_bytes, Vec::new());
        let mut same = |bytes: &[u8]| {
            if offset + bytes.len() as u64 > end {
                return Ok(false);
            }
            buffer.resize(bytes.len(), 0);
            let source = self.source.bytes();
            source.read_exact_at(&mut buffer, offset).map_err(Error::io("read", source.origin()))?;
            offset += bytes.len() as u64;
            crc.update(&buffer);
            Ok::<bool, Error>(buffer == bytes)
        };
        let mut rest = words.iter();
        for _ in 0..words.len().div_ceil(CHUNK) {
            let mut packed = Vec::new();
            pack_lengths(rest.by_ref().take(CHUNK), &mut packed);
            if !same(&packed)? {
                return Ok(false);
            }
        }
        for chunk in words.parts().0.as_bytes().chunks(CHUNK) {
            if !same(chunk)? {
                return Ok(false);
            }
        }
        Ok(offset == end && crc.finalize() == d.vocabulary_crc)
    }

    /// Returns the memory in bytes for reading the `count` largest blocks, encoded and decoded.
    pub(crate) fn largest_blocks_bytes(&self, count: usize) -> u64 {
        let bytes =
            |e: &BlockEntry| u64::from(e.bytes) + Block::bytes(u64::from(e.documents), u64::from(e.nonzeros));
        self.sum_of_largest(count, bytes)
    }

    /// Returns the memory in bytes for the names, labels and other details of the `count` blocks
    /// with the most of them. Strings are decoded with their ends.
    pub(crate) fn largest_details_bytes(&self, count: usize) -> u64 {
        let bytes = |e: &BlockEntry| match e.details_bytes() {
            0 => 0,
            bytes => 2 * bytes + 16 * u64::from(e.documents),
        };
        self.sum_of_largest(count, bytes)
    }

    /// Returns the largest number of documents of a block.
    pub(crate) fn largest_block_documents(&self) -> u64 {
        self.sum_of_largest(1, |e| e.documents.into())
    }

    /// Returns the sum of the `count` largest values of all blocks.
    fn sum_of_largest(&self, count: usize, value: impl Fn(&BlockEntry) -> u64) -> u64 {
        let mut values: Vec<u64> = self.directory.entries.iter().map(value).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values.into_iter().take(count).fold(0, u64::saturating_add)
    }

    /// Returns the size of the vocabulary section in bytes, mostly text.
    pub(crate) fn vocabulary_text_bytes(&self) -> u64 {
        self.directory.vocabulary_bytes
    }

    /// Returns the peak memory in bytes of [`vocabulary`](Corpus::vocabulary): the text, and for
    /// each word its end (8 bytes) and temporarily its length (4 bytes).
    pub fn vocabulary_bytes(&self) -> u64 {
        let words = if self.directory.has_vocabulary { u64::from(self.directory.shape.words) } else { 0 };
        self.directory.vocabulary_bytes + 12 * words
    }

    /// Reads the metadata on how the corpus was made: its text pipeline and the files of its texts.
    /// It is empty if that is not known.
    pub fn about(&self) -> Result<About> {
        let d = &self.directory;
        if !d.parts.about {
            return Ok(About::default());
        }
        let (offset, bytes) = (self.about_offset(), u64::from(d.about_bytes));
        let section = CheckedSection { offset, bytes, crc: d.about_crc, name: "the metadata" };
        serde_json::from_slice(self.section(&section, &mut Vec::new())?)
            .map_err(|e| self.damaged(offset, format!("the metadata cannot be read ({e})")))
    }

    /// Returns the offset of the metadata.
    fn about_offset(&self) -> u64 {
        let d = &self.directory;
        d.words_offset + 16 * u64::from(d.shape.words) + d.vocabulary_bytes
    }

    /// Reads the numbers of occurrences of each word.
    pub fn word_totals(&self) -> Result<WordTotals> {
        let d = &self.directory;
        let bytes = 16 * u64::from(d.shape.words);
        let section =
            CheckedSection { offset: d.words_offset, bytes, crc: d.words_crc, name: "the word totals" };
        let mut buffer = Vec::new();
        let bytes = self.section(&section, &mut buffer)?;
        let mut numbers = bytes.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b));
        let tokens: Vec<u64> = numbers.by_ref().take(d.shape.words as usize).collect();
        let documents = numbers.collect();
        if tokens.iter().fold(0u64, |sum, &n| sum.saturating_add(n)) != d.shape.tokens {
            return Err(self.damaged(d.words_offset, "the word totals do not add up to the tokens"));
        }
        Ok(WordTotals { tokens, documents })
    }

    /// Reads the number of tokens of each word, n_w.
    ///
    /// Takes half the memory of [`word_totals`](Corpus::word_totals), since the numbers are read in
    /// chunks.
    pub(crate) fn word_tokens(&self) -> Result<Vec<u64>> {
        let words = self.directory.shape.words as usize;
        let mut tokens = Vec::with_capacity(words);
        self.for_each_total(|_, n, of_documents| {
            if !of_documents {
                tokens.push(n);
            }
        })?;
        if tokens.iter().fold(0u64, |sum, &n| sum.saturating_add(n)) != self.directory.shape.tokens {
            let found = "the word totals do not add up to the tokens";
            return Err(self.damaged(self.directory.words_offset, found));
        }
        Ok(tokens)
    }

    /// Calls `each(word, number, of_documents)` with the tokens of every word and then with the
    /// documents of every word. The numbers are read in chunks, and their checksum is verified at
    /// the end.
    fn for_each_total(&self, mut each: impl FnMut(u32, u64, bool)) -> Result<()> {
        /// Number of bytes read at a time.
        const CHUNK: usize = 1 << 16;
        let d = &self.directory;
        let (words, mut crc) = (d.shape.words as usize, crc32fast::Hasher::new());
        let (mut next, mut buffer) = (0, vec![0; CHUNK]);
        while next < 2 * words {
            let chunk = &mut buffer[..(16 * words - 8 * next).min(CHUNK)];
            let source = self.source.bytes();
            source
                .read_exact_at(chunk, d.words_offset + 8 * next as u64)
                .map_err(Error::io("read", source.origin()))?;
            crc.update(chunk);
            for &bytes in chunk.as_chunks().0 {
                each((next % words) as u32, u64::from_le_bytes(bytes), next >= words);
                next += 1;
            }
        }
        if crc.finalize() != d.words_crc {
            return Err(self.damaged(d.words_offset, "the checksum of the word totals is wrong"));
        }
        Ok(())
    }

    /// Counts the words of block `i`, if it was not read before, and compares the word totals when
    /// all blocks have been read.
    fn count_words(&self, i: usize, block: &Block) -> Result<()> {
        if let Some(found) = self.totals.count(i, block) {
            let mut stated = WeightedTotals::default();
            self.for_each_total(|w, n, of_documents| {
                if of_documents {
                    self.totals.add_documents(&mut stated, w, n);
                } else {
                    self.totals.add_tokens(&mut stated, w, n);
                }
            })?;
            self.totals.complete(found == stated);
        }
        if self.totals.differs() {
            let found = "the word totals do not match the documents";
            return Err(self.damaged(self.directory.words_offset, found));
        }
        Ok(())
    }

    /// Verifies that the word totals match the documents. Blocks that were read before are not read
    /// again.
    pub(crate) fn verify_totals(&self) -> Result<()> {
        let (mut reader, mut block) = (self.reader(), Block::default());
        self.totals.uncounted().into_iter().try_for_each(|i| reader.read(i, &mut block))
    }

    /// Reads the number of distinct words of every document of block `i` into `lengths`.
    ///
    /// The rest of the block is neither read nor checked; that is done when the block itself is
    /// read.
    pub(crate) fn block_lengths(&self, i: usize, buffer: &mut Vec<u8>, lengths: &mut Vec<u32>) -> Result<()> {
        let entry = &self.directory.entries[i];
        let most = entry.documents as usize * 4 + (entry.documents as usize).div_ceil(GROUP);
        buffer.resize(most.min(entry.bytes as usize), 0);
        let source = self.source.bytes();
        source.read_exact_at(buffer, entry.offset).map_err(Error::io("read", source.origin()))?;
        if unpack(buffer, entry.documents as usize, lengths).is_none() {
            return Err(self.damaged(entry.offset, format!("block {i}: the block is truncated")));
        }
        Ok(())
    }

    /// Returns a reader of blocks with its own buffer.
    pub fn reader(&self) -> BlockReader<'_> {
        let label_columns = self.directory.parts.label_lists.then_some(self.label_columns.len());
        let (entries, words) = (&self.directory.entries, self.directory.shape.words);
        BlockReader {
            label_columns,
            corpus: Some(self),
            ..BlockReader::new(self.source.bytes(), entries, words)
        }
    }
}

/// Details of all documents of a block. What the corpus does not have is empty.
#[derive(Debug, Clone, Default)]
pub struct BlockDetails {
    /// Names of the documents.
    pub names: Vocabulary,
    /// Labels of the documents.
    pub labels: LabelTable,
    /// Dates of the documents; empty texts for documents without one.
    pub dates: Vocabulary,
    /// Positions of the documents' texts.
    pub places: Vec<TextPlace>,
    /// Checksums of the documents' texts.
    pub checksums: Vec<u32>,
    /// Numbers of tokens that are not in the vocabulary.
    pub tokens_unknown: Vec<u32>,
}

impl BlockDetails {
    /// Returns the details of document `d` of the block. `labels` are its
    /// [labels](LabelTable::row).
    pub fn document<'a>(&'a self, d: usize, labels: &'a [Vec<&'a str>]) -> Details<'a> {
        Details {
            name: self.names.get(d as u32),
            labels: DocumentLabels::Columns(labels),
            date: self.dates.get(d as u32),
            place: self.places.get(d).copied(),
            checksum: self.checksums.get(d).copied(),
            tokens_unknown: self.tokens_unknown.get(d).copied(),
        }
    }
}

/// Reads blocks and reuses its buffer.
#[derive(Debug)]
pub struct BlockReader<'a> {
    source: ByteSource<'a>,
    entries: &'a [BlockEntry],
    words: u32,
    /// Number of label columns if labels are lists of values; `None` if they are single texts.
    label_columns: Option<usize>,
    buffer: Vec<u8>,
    /// Corpus whose word totals are compared with the blocks that are read; `None` while it is
    /// being written.
    corpus: Option<&'a Corpus>,
}

/// A range of bytes with its checksum and its name in errors.
#[derive(Debug, Clone, Copy)]
struct CheckedSection<'n> {
    offset: u64,
    bytes: u64,
    crc: u32,
    name: &'n str,
}

impl<'a> BlockReader<'a> {
    /// Creates a reader of the blocks in `entries` over a vocabulary of `words` words.
    pub(crate) fn new(source: ByteSource<'a>, entries: &'a [BlockEntry], words: u32) -> BlockReader<'a> {
        BlockReader { source, entries, words, label_columns: None, buffer: Vec::new(), corpus: None }
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.entries.len()
    }

    /// Reads a section of block `i`, verifies its checksum, and passes its bytes to `parse`.
    fn read_section<T>(
        &mut self,
        i: usize,
        section: &CheckedSection<'_>,
        parse: impl FnOnce(&[u8], &BlockEntry) -> Result<T, String>,
    ) -> Result<T> {
        let origin = self.source.origin();
        let damaged = |found: String| Error::damaged_corpus(origin, Position::Byte(section.offset), found);
        // The sections of a block are shorter than 4 GiB.
        let length = usize::try_from(section.bytes).map_err(|_| damaged("it is too long".into()))?;
        let bytes =
            self.source.read_slice(section.offset, length, &mut self.buffer).map_err(|e| match e.kind() {
                std::io::ErrorKind::UnexpectedEof => damaged("it is cut short".into()),
                _ => Error::io("read", origin)(e),
            })?;
        if crc32fast::hash(bytes) != section.crc {
            return Err(damaged(format!("the checksum of {}block {i} is wrong", section.name)));
        }
        parse(bytes, &self.entries[i]).map_err(damaged)
    }

    /// Reads and checks block `i`, which must be less than [`blocks`](BlockReader::blocks).
    pub fn read(&mut self, i: usize, block: &mut Block) -> Result<()> {
        let (e, words) = (self.entries[i], self.words);
        let section = CheckedSection { offset: e.offset, bytes: e.bytes.into(), crc: e.crc, name: "" };
        self.read_section(i, &section, |bytes, e| {
            decode(bytes, e.documents as usize, e.nonzeros as usize, Some(e.tokens), words, block)
                .map_err(|found| format!("block {i}: {found}"))
        })?;
        block.first_document = e.first_document;
        self.corpus.map_or(Ok(()), |corpus| corpus.count_words(i, block))
    }

    /// Reads an optional part of block `i` and passes its bytes and the number of documents to
    /// `parse`. The result is the default if the corpus does not have the part.
    fn read_part<T: Default>(
        &mut self,
        i: usize,
        part: DetailPart,
        parse: impl FnOnce(&[u8], usize) -> Option<T>,
    ) -> Result<T> {
        let (e, name) = (self.entries[i], part.name());
        let size = e.details[part as usize];
        if size.bytes == 0 {
            return Ok(T::default());
        }
        let (offset, bytes) = (e.part_offset(part), size.bytes.into());
        self.read_section(i, &CheckedSection { offset, bytes, crc: size.crc, name }, |bytes, e| {
            parse(bytes, e.documents as usize).ok_or_else(|| format!("{name}block {i} cannot be read"))
        })
    }

    /// Reads all details of block `i`'s documents.
    pub fn read_details(&mut self, i: usize) -> Result<BlockDetails> {
        Ok(BlockDetails {
            names: self.read_names(i)?,
            labels: self.read_labels(i)?,
            dates: self.read_dates(i)?,
            places: self.read_places(i)?,
            checksums: self.read_checksums(i)?,
            tokens_unknown: self.read_tokens_unknown(i)?,
        })
    }

    /// Reads the names of block `i`'s documents. The result is empty if the corpus has no names.
    pub fn read_names(&mut self, i: usize) -> Result<Vocabulary> {
        self.read_part(i, DetailPart::Names, parse_strings)
    }

    /// Reads the labels of block `i`'s documents. The result is empty if the corpus has no labels.
    pub fn read_labels(&mut self, i: usize) -> Result<LabelTable> {
        let columns = self.label_columns;
        self.read_part(i, DetailPart::Labels, |bytes, documents| match columns {
            Some(columns) => LabelTable::unpack_from(bytes, columns, documents),
            None => parse_strings(bytes, documents).map(|labels| LabelTable::from_single(&labels)),
        })
    }

    /// Reads the dates of block `i`'s documents as ISO 8601 text, see
    /// [`parse_date`]. A document without a date has an empty text. The result
    /// is empty if the corpus has no dates.
    pub fn read_dates(&mut self, i: usize) -> Result<Vocabulary> {
        self.read_part(i, DetailPart::Dates, |bytes, documents| {
            let valid = |date: &str| date.is_empty() || parse_date(date).is_some_and(|same| same == date);
            parse_strings(bytes, documents).filter(|dates| dates.iter().all(valid))
        })
    }

    /// Reads the positions of the texts of block `i`'s documents. The result is empty if they are
    /// not known.
    pub fn read_places(&mut self, i: usize) -> Result<Vec<TextPlace>> {
        self.read_part(i, DetailPart::Places, place::unpack_places)
    }

    /// Reads the CRC-32 of the text of each of block `i`'s documents. The result is empty if they
    /// are not known.
    pub fn read_checksums(&mut self, i: usize) -> Result<Vec<u32>> {
        self.read_part(i, DetailPart::Checksums, |bytes, documents| {
            let (numbers, rest) = bytes.as_chunks();
            let complete = rest.is_empty() && numbers.len() == documents;
            complete.then(|| numbers.iter().map(|&number| u32::from_le_bytes(number)).collect())
        })
    }

    /// Reads for each of block `i`'s documents the number of tokens of its text that are not in the
    /// vocabulary. The result is empty if the numbers are not known.
    pub fn read_tokens_unknown(&mut self, i: usize) -> Result<Vec<u32>> {
        self.read_part(i, DetailPart::Unknown, |bytes, documents| {
            let mut numbers = Vec::new();
            let used = unpack(bytes, documents, &mut numbers)?;
            (used == bytes.len()).then_some(numbers)
        })
    }
}

/// Parses a part with one string for each document.
fn parse_strings(bytes: &[u8], documents: usize) -> Option<Vocabulary> {
    let (text, ends) = unpack_strings(bytes.to_vec(), documents)?;
    Some(Vocabulary::from_parts(text, ends))
}
