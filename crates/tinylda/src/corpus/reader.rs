//! Reading a corpus: open checks everything but the blocks, and each block is checked when it is read.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::about::About;
use super::block::{Block, decode, pieces};
use super::format::{self, Directory, Entry};
use super::pack::{GROUP, unpack, unpack_strings};
use super::place::{self, TextPlace};
use super::{Shape, Vocabulary};
use crate::error::{Error, Position, Result};
use crate::files::read_at;

/// An open corpus file.
#[derive(Debug)]
pub struct Corpus {
    file: File,
    path: PathBuf,
    directory: Directory,
    bytes: u64,
}

/// How often each word occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordTotals {
    /// Tokens of each word, n_w.
    pub tokens: Vec<u64>,
    /// Documents that each word occurs in.
    pub documents: Vec<u64>,
}

impl Corpus {
    /// Opens a corpus file and checks its header, index and footer.
    pub fn open(path: &Path) -> Result<Corpus> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        let metadata = file.metadata().map_err(Error::io("open", path))?;
        if metadata.is_dir() {
            return Err(Error::io("open", path)(std::io::ErrorKind::IsADirectory.into()));
        }
        let directory = format::read_directory(&file, path)?;
        Ok(Corpus { file, path: path.to_path_buf(), directory, bytes: metadata.len() })
    }

    /// The file's name, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Documents, words, non-zeros and tokens.
    pub fn shape(&self) -> Shape {
        self.directory.shape
    }
    /// How many blocks the file has.
    pub fn blocks(&self) -> usize {
        self.directory.entries.len()
    }
    /// The file's size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// The bytes that hold the documents: all but vocabulary, names, labels, places and words about the corpus.
    pub fn bytes_without_strings(&self) -> u64 {
        let strings: u64 = self.directory.entries.iter().map(Entry::strings).sum();
        self.bytes - self.directory.vocabulary_bytes - u64::from(self.directory.about_bytes) - strings
    }
    /// Eight hexadecimal digits that stand for the content.
    pub fn fingerprint(&self) -> String {
        format!("{:08x}", self.directory.fingerprint)
    }
    /// Whether the documents have names.
    pub fn has_names(&self) -> bool {
        self.directory.parts.names
    }
    /// Whether the documents have labels.
    pub fn has_labels(&self) -> bool {
        self.directory.parts.labels
    }
    /// Whether it is known where the documents' texts stand.
    pub fn has_places(&self) -> bool {
        self.directory.parts.places
    }
    /// Whether the words have names.
    pub fn has_vocabulary(&self) -> bool {
        self.directory.has_vocabulary
    }
    /// The documents and non-zeros of block `i`.
    pub(crate) fn block_size(&self, i: usize) -> (u32, u32) {
        (self.directory.entries[i].documents, self.directory.entries[i].nonzeros)
    }
    /// Into how many pieces block `i` is cut, where they should have about `size` non-zeros.
    pub(crate) fn block_pieces(&self, i: usize, size: Option<u64>) -> u64 {
        let (documents, nonzeros) = self.block_size(i);
        size.map_or(1, |size| pieces(documents, nonzeros, size))
    }
    /// The number of block `i`'s first document, from 0.
    pub(crate) fn block_start(&self, i: usize) -> u64 {
        self.directory.entries[i].first_document
    }
    /// The block that document `d` (from 0) is in.
    pub(crate) fn block_of(&self, d: u64) -> Option<usize> {
        let after = self.directory.entries.partition_point(|e| e.first_document <= d);
        after.checked_sub(1).filter(|_| d < self.directory.shape.documents)
    }
    /// Tokens of a block.
    pub(crate) fn block_tokens(&self, i: usize) -> u64 {
        self.directory.entries[i].tokens
    }

    /// Bytes of block `i` in the file, without names.
    pub(crate) fn block_bytes(&self, i: usize) -> u64 {
        u64::from(self.directory.entries[i].bytes)
    }

    fn section(&self, bytes: u64, offset: u64, crc: u32, what: &str) -> Result<Vec<u8>> {
        let length = usize::try_from(bytes).map_err(|_| {
            Error::damaged_corpus(&self.path, Position::Byte(offset), format!("{what} is too long"))
        })?;
        let mut buffer = vec![0; length];
        read_at(&self.file, &mut buffer, offset).map_err(Error::io("read", &self.path))?;
        if crc32fast::hash(&buffer) != crc {
            return Err(Error::damaged_corpus(
                &self.path,
                Position::Byte(offset),
                format!("the checksum of {what} is wrong"),
            ));
        }
        Ok(buffer)
    }

    /// The vocabulary, where there is one.
    pub fn vocabulary(&self) -> Result<Option<Vocabulary>> {
        let d = &self.directory;
        if !d.has_vocabulary {
            return Ok(None);
        }
        let offset = d.words_offset + 16 * u64::from(d.shape.words);
        let bytes = self.section(d.vocabulary_bytes, offset, d.vocabulary_crc, "the vocabulary")?;
        let (text, ends) = unpack_strings(bytes, d.shape.words as usize).ok_or_else(|| {
            Error::damaged_corpus(&self.path, Position::Byte(offset), "the vocabulary cannot be read")
        })?;
        Ok(Some(Vocabulary::from_parts(text, ends)))
    }

    /// Bytes of memory that [`vocabulary`](Corpus::vocabulary) takes: the text once, an end and for a while a length per word.
    pub fn vocabulary_bytes(&self) -> u64 {
        let words = if self.directory.has_vocabulary { u64::from(self.directory.shape.words) } else { 0 };
        self.directory.vocabulary_bytes + 12 * words
    }

    /// Bytes of memory of an open corpus.
    pub(crate) fn index_bytes(&self) -> u64 {
        (self.directory.entries.capacity() * size_of::<Entry>()) as u64
    }

    /// How the corpus was made: its words' pipeline, the files of its texts. Nothing where the file does not tell.
    pub fn about(&self) -> Result<About> {
        let d = &self.directory;
        if !d.parts.about {
            return Ok(About::default());
        }
        let offset = d.words_offset + 16 * u64::from(d.shape.words) + d.vocabulary_bytes;
        let bytes = self.section(u64::from(d.about_bytes), offset, d.about_crc, "how it was made")?;
        serde_json::from_slice(&bytes).map_err(|e| {
            let found = format!("how it was made cannot be read ({e})");
            Error::damaged_corpus(&self.path, Position::Byte(offset), found)
        })
    }

    /// How often each word occurs.
    pub fn word_totals(&self) -> Result<WordTotals> {
        let d = &self.directory;
        let bytes =
            self.section(16 * u64::from(d.shape.words), d.words_offset, d.words_crc, "the word totals")?;
        let mut numbers = bytes.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b));
        let tokens: Vec<u64> = numbers.by_ref().take(d.shape.words as usize).collect();
        let documents = numbers.collect();
        if tokens.iter().fold(0u64, |sum, &n| sum.saturating_add(n)) != d.shape.tokens {
            return Err(Error::damaged_corpus(
                &self.path,
                Position::Byte(d.words_offset),
                "the word totals do not add up to the tokens",
            ));
        }
        Ok(WordTotals { tokens, documents })
    }

    /// Tokens of each word, n_w; takes half the memory of [`word_totals`](Corpus::word_totals), and no more on the way.
    pub(crate) fn word_tokens(&self) -> Result<Vec<u64>> {
        const SOME: usize = 1 << 16;
        let d = &self.directory;
        let (words, mut crc) = (d.shape.words as usize, crc32fast::Hasher::new());
        let (mut tokens, mut buffer) = (Vec::with_capacity(words), vec![0; SOME]);
        let mut left = 16 * words;
        while left > 0 {
            let some = &mut buffer[..left.min(SOME)];
            let offset = d.words_offset + (16 * words - left) as u64;
            read_at(&self.file, some, offset).map_err(Error::io("read", &self.path))?;
            crc.update(some);
            let numbers = some.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes));
            tokens.extend(numbers.take(words - tokens.len()));
            left -= some.len();
        }
        let found = match tokens.iter().fold(0u64, |sum, &n| sum.saturating_add(n)) {
            _ if crc.finalize() != d.words_crc => "the checksum of the word totals is wrong",
            sum if sum != d.shape.tokens => "the word totals do not add up to the tokens",
            _ => return Ok(tokens),
        };
        Err(Error::damaged_corpus(&self.path, Position::Byte(d.words_offset), found))
    }

    /// Reads the number of different words of every document of block `i`. Nothing else of the block is read or checked:
    /// that is done when the block itself is read.
    pub(crate) fn block_lengths(&self, i: usize, buffer: &mut Vec<u8>, lengths: &mut Vec<u32>) -> Result<()> {
        let entry = &self.directory.entries[i];
        let most = entry.documents as usize * 4 + (entry.documents as usize).div_ceil(GROUP);
        buffer.resize(most.min(entry.bytes as usize), 0);
        read_at(&self.file, buffer, entry.offset).map_err(Error::io("read", &self.path))?;
        match unpack(buffer, entry.documents as usize, lengths) {
            Some(_) => Ok(()),
            None => {
                let found = format!("block {i}: the block ends too soon");
                Err(Error::damaged_corpus(&self.path, Position::Byte(entry.offset), found))
            }
        }
    }

    /// A reader of blocks, with its own buffer.
    pub fn reader(&self) -> BlockReader<'_> {
        BlockReader::new(&self.file, &self.path, &self.directory.entries, self.directory.shape.words)
    }
}

/// Reads blocks into buffers that are used again and again.
#[derive(Debug)]
pub struct BlockReader<'a> {
    file: &'a File,
    path: &'a Path,
    entries: &'a [Entry],
    words: u32,
    buffer: Vec<u8>,
}

impl<'a> BlockReader<'a> {
    pub(crate) fn new(file: &'a File, path: &'a Path, entries: &'a [Entry], words: u32) -> BlockReader<'a> {
        BlockReader { file, path, entries, words, buffer: Vec::new() }
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.entries.len()
    }

    fn load(&mut self, offset: u64, bytes: u32, crc: u32, what: &str) -> Result<()> {
        self.buffer.resize(bytes as usize, 0);
        read_at(self.file, &mut self.buffer, offset).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                Error::damaged_corpus(self.path, Position::Byte(offset), "it is cut short")
            }
            _ => Error::io("read", self.path)(e),
        })?;
        if crc32fast::hash(&self.buffer) != crc {
            return Err(Error::damaged_corpus(
                self.path,
                Position::Byte(offset),
                format!("the checksum of {what} is wrong"),
            ));
        }
        Ok(())
    }

    /// Reads block `i`, which must be less than [`blocks`](BlockReader::blocks), and checks it.
    pub fn read(&mut self, i: usize, block: &mut Block) -> Result<()> {
        let e = self.entries[i];
        self.load(e.offset, e.bytes, e.crc, &format!("block {i}"))?;
        decode(&self.buffer, e.documents as usize, e.nonzeros as usize, Some(e.tokens), self.words, block)
            .map_err(|found| {
                Error::damaged_corpus(self.path, Position::Byte(e.offset), format!("block {i}: {found}"))
            })?;
        block.first_document = e.first_document;
        Ok(())
    }

    /// The names of block `i`'s documents; empty where the corpus has none.
    pub fn read_names(&mut self, i: usize) -> Result<Vocabulary> {
        let e = self.entries[i];
        self.strings(i, e.offset + u64::from(e.bytes), e.names_bytes, e.names_crc, "names")
    }

    /// The labels of block `i`'s documents; empty where the corpus has none.
    pub fn read_labels(&mut self, i: usize) -> Result<Vocabulary> {
        let e = self.entries[i];
        let offset = e.offset + u64::from(e.bytes) + u64::from(e.names_bytes);
        self.strings(i, offset, e.labels_bytes, e.labels_crc, "labels")
    }

    /// Where the texts of block `i`'s documents stand; empty where that is not known.
    pub fn read_places(&mut self, i: usize) -> Result<Vec<TextPlace>> {
        let e = self.entries[i];
        if e.places_bytes == 0 {
            return Ok(Vec::new());
        }
        let offset = e.offset + e.length() - u64::from(e.places_bytes);
        self.load(offset, e.places_bytes, e.places_crc, &format!("the places of block {i}"))?;
        place::unpack_places(&self.buffer, e.documents as usize).ok_or_else(|| {
            let found = format!("the places of block {i} cannot be read");
            Error::damaged_corpus(self.path, Position::Byte(offset), found)
        })
    }

    fn strings(&mut self, i: usize, offset: u64, bytes: u32, crc: u32, what: &str) -> Result<Vocabulary> {
        if bytes == 0 {
            return Ok(Vocabulary::new());
        }
        self.load(offset, bytes, crc, &format!("the {what} of block {i}"))?;
        let (text, ends) = unpack_strings(self.buffer.clone(), self.entries[i].documents as usize)
            .ok_or_else(|| {
                let found = format!("the {what} of block {i} cannot be read");
                Error::damaged_corpus(self.path, Position::Byte(offset), found)
            })?;
        Ok(Vocabulary::from_parts(text, ends))
    }
}
