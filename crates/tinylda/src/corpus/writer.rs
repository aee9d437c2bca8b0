//! Writing a corpus: documents in, blocks out, in memory that does not grow with the number of documents
//! (48 bytes of index per block of a megabyte apart).

use std::path::Path;

use super::about::About;
use super::block::encode;
use super::format::{self, BLOCK_BYTES, Directory, Entry, HEADER_BYTES, Parts};
use super::pack::pack_strings;
use super::place::{TextPlace, pack_places};
use super::{Shape, Vocabulary};
use crate::error::{Error, Position, Result};
use crate::files::AtomicFile;

/// What is known of a document besides its words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Details<'a> {
    /// What it is called.
    pub name: Option<&'a str>,
    /// What class it belongs to.
    pub label: Option<&'a str>,
    /// Where its text stands.
    pub place: Option<TextPlace>,
}

/// Collects documents and writes a block whenever enough are there.
#[derive(Debug)]
pub(crate) struct BlockWriter {
    pub(crate) out: AtomicFile,
    pub(crate) path: std::path::PathBuf,
    pub(crate) entries: Vec<Entry>,
    offset: u64,
    documents: u64,
    starts: Vec<u32>,
    words: Vec<u32>,
    counts: Vec<u32>,
    tokens: u64,
    names: Vec<String>,
    labels: Vec<String>,
    places: Vec<TextPlace>,
    /// Bytes of names and labels, and 16 per place.
    details_bytes: u64,
    scratch: Vec<u32>,
    coded: Vec<u8>,
}

impl BlockWriter {
    /// The first block is at `offset` of `out`; errors name `path`, as the user gave it.
    pub(crate) fn new(out: AtomicFile, path: &Path, offset: u64) -> BlockWriter {
        BlockWriter {
            out,
            path: path.to_path_buf(),
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
            coded: Vec::new(),
        }
    }

    /// The number of documents so far.
    pub(crate) fn documents(&self) -> u64 {
        self.documents
    }

    /// Adds a document: words strictly ascending, counts at least 1 (the caller has seen to it).
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

    fn too_long(&self) -> Error {
        Error::Input {
            path: self.path.clone(),
            position: Position::Whole,
            found: format!("document {} with more than 4 GiB of words", self.documents),
            expected: "documents that fit a block".into(),
            remedy: "split the document into parts".into(),
        }
    }

    pub(crate) fn close_block(&mut self) -> Result<()> {
        if self.starts.len() == 1 {
            return Ok(());
        }
        self.coded.clear();
        encode(&self.starts, &self.words, &self.counts, &mut self.scratch, &mut self.coded);
        let bytes = self.coded.len();
        if !self.names.is_empty() {
            pack_strings(self.names.iter().map(String::as_str), &mut self.coded);
        }
        let names_end = self.coded.len();
        if !self.labels.is_empty() {
            pack_strings(self.labels.iter().map(String::as_str), &mut self.coded);
        }
        let labels_end = self.coded.len();
        pack_places(&self.places, &mut self.scratch, &mut self.coded);
        let (documents, names) = (&self.coded[..bytes], &self.coded[bytes..names_end]);
        let (labels, places) = (&self.coded[names_end..labels_end], &self.coded[labels_end..]);
        let length = |n: usize| u32::try_from(n).map_err(|_| self.too_long());
        let entry = Entry {
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
        self.out.put(&self.coded)?;
        self.offset += self.coded.len() as u64;
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

/// Writes a corpus file, document by document. The file appears when [`finish`](CorpusWriter::finish) is done.
#[derive(Debug)]
pub struct CorpusWriter {
    pub(crate) blocks: BlockWriter,
    word_tokens: Vec<u64>,
    word_documents: Vec<u64>,
    parts: Parts,
    about: Vec<u8>,
}

impl CorpusWriter {
    /// Starts a corpus file at `path`; with `names`, every document must be given one.
    pub fn create(path: &Path, names: bool) -> Result<CorpusWriter> {
        CorpusWriter::create_with(path, names, false, false, &About::default())
    }

    /// Starts a corpus file at `path`, whose documents have names, labels or places, all of them or none. `about` says how
    /// it was made.
    pub fn create_with(
        path: &Path,
        names: bool,
        labels: bool,
        places: bool,
        about: &About,
    ) -> Result<CorpusWriter> {
        let about = if *about == About::default() {
            Vec::new()
        } else {
            serde_json::to_vec(about).map_err(|e| Error::io("write", path)(e.into()))?
        };
        let parts = Parts { names, labels, places, about: !about.is_empty() };
        let mut out = AtomicFile::create(path)?;
        out.put(&format::header(parts.version()))?;
        Ok(CorpusWriter {
            blocks: BlockWriter::new(out, path, HEADER_BYTES),
            word_tokens: Vec::new(),
            word_documents: Vec::new(),
            parts,
            about,
        })
    }

    /// Adds a document: word ids strictly ascending, one count of at least 1 for each.
    pub fn push(&mut self, words: &[u32], counts: &[u32], name: Option<&str>) -> Result<()> {
        self.push_with(words, counts, Details { name, ..Details::default() })
    }

    /// The same, with its label and its place.
    pub fn push_with(&mut self, words: &[u32], counts: &[u32], details: Details<'_>) -> Result<()> {
        let sound = words.len() == counts.len()
            && words.windows(2).all(|w| w[0] < w[1])
            && !counts.contains(&0)
            && words.last() != Some(&u32::MAX);
        if !sound {
            return Err(Error::Input {
                path: self.blocks.path.clone(),
                position: Position::Whole,
                found: format!(
                    "document {} with words out of order or without counts",
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

    /// Completes the file with `words` word ids in all (at least one more than the largest used).
    pub fn finish(self, words: u32, vocabulary: Option<&Vocabulary>) -> Result<Shape> {
        let (file, shape) = self.seal(words, vocabulary)?;
        file.commit()?;
        Ok(shape)
    }

    /// Writes all of the file, which appears when it is committed.
    pub(crate) fn seal(mut self, words: u32, vocabulary: Option<&Vocabulary>) -> Result<(AtomicFile, Shape)> {
        self.blocks.close_block()?;
        let path = self.blocks.path.clone();
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
        let mut text = Vec::new();
        if let Some(v) = vocabulary {
            pack_strings(v.iter(), &mut text);
        }
        out.put(&text)?;
        out.put(&self.about)?;
        let about_bytes = u32::try_from(self.about.len()).map_err(|_| Error::Input {
            path,
            position: Position::Whole,
            found: "more than 4 GiB on how the corpus was made".into(),
            expected: "less".into(),
            remedy: "shorten it".into(),
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
            vocabulary_bytes: text.len() as u64,
            vocabulary_crc: crc32fast::hash(&text),
            about_bytes,
            about_crc: crc32fast::hash(&self.about),
            entries,
            fingerprint: 0,
        });
        out.put(&tail)?;
        out.sync()?;
        Ok((out, shape))
    }
}
