//! Second pass of a text import: the threads turn documents into word ids and counts.
//!
//! Start with [`DocumentEncoder`]. Files and the order of batches are handled by the parent module.

use super::counter::{NumberedBatch, add_reasons};
use super::memory::MAX_COLLECTED_IDS;
use super::metadata::BatchMetadata;
use super::numbering::{TokenNumbering, WordSink, WordTable};
use super::parallel::HeldResult;
use super::readers::RecordReaders;
use super::source::TextBatch;
use crate::corpus::ingest::words::{DropReason, DroppedTokens, Tokenizer, WordIndex, chunks};
use crate::error::Result;

/// Id of a word that is not in the vocabulary.
pub(super) const NOT_IN_VOCABULARY: u32 = u32::MAX;
/// Id of a word that has not been looked up yet.
const NOT_LOOKED_UP: u32 = u32::MAX - 1;

/// Batch of documents as word ids and counts.
#[derive(Debug, Default)]
pub(super) struct EncodedBatch {
    pub(super) metadata: BatchMetadata,
    words: Vec<u32>,
    counts: Vec<u32>,
    /// End of each document in `words` and `counts`.
    ends: Vec<usize>,
    tokens: u64,
    /// Number of tokens of each document that are not in the vocabulary.
    unknown: Vec<u32>,
    replaced: u64,
    dropped: [u64; DropReason::COUNT],
}

impl EncodedBatch {
    /// Converts a numbered batch with the word id of every number.
    pub(super) fn from_numbered(numbered: &mut NumberedBatch, ids: &[u32]) -> EncodedBatch {
        let mut encoded =
            EncodedBatch { metadata: std::mem::take(&mut numbered.metadata), ..EncodedBatch::default() };
        let mut start = 0;
        for &end in &numbered.ends {
            let document = &mut numbered.words[start..end];
            for word in &mut *document {
                *word = ids[*word as usize];
            }
            encoded.push(document);
            start = end;
        }
        (numbered.words, numbered.ends) = (Vec::new(), Vec::new());
        encoded
    }

    /// Returns the words and counts of every document.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| (&self.words[start..end], &self.counts[start..end]))
    }

    /// Returns the number of tokens of document `i` that are not in the vocabulary.
    pub(super) fn tokens_unknown(&self, i: usize) -> Option<u32> {
        self.unknown.get(i).copied()
    }

    /// Adds the numbers of dropped tokens to `dropped`.
    pub(super) fn add_dropped_to(&self, dropped: &mut DroppedTokens) {
        dropped.tokens += self.tokens;
        dropped.unknown += self.unknown.iter().map(|&n| u64::from(n)).sum::<u64>();
        dropped.replaced += self.replaced;
        add_reasons(&self.dropped, dropped);
    }

    /// Adds a document with these word ids, in any order.
    fn push(&mut self, ids: &mut [u32]) {
        ids.sort_unstable();
        let mut unknown = 0;
        for same in ids.chunk_by(|a, b| a == b) {
            unknown += self.push_word(same[0], same.len() as u32);
        }
        self.unknown.push(unknown);
        self.ends.push(self.words.len());
    }

    /// Adds a word of the current document. Returns the number of its tokens if it is not in the
    /// vocabulary, else 0.
    fn push_word(&mut self, id: u32, count: u32) -> u32 {
        if id == NOT_IN_VOCABULARY {
            return count;
        }
        self.words.push(id);
        self.counts.push(count);
        0
    }
}

impl HeldResult for EncodedBatch {
    fn held_bytes(&self) -> u64 {
        let words = size_of::<u32>() * (self.words.capacity() + self.counts.capacity());
        (self.metadata.bytes() + words + size_of::<usize>() * self.ends.capacity()) as u64
    }
}

/// Word ids of a document, which are counted before they become too many.
#[derive(Default)]
struct DocumentIds {
    collected: Vec<u32>,
    /// Ids and counts of the part of the document that has been counted, sorted by id.
    counted: Vec<(u32, u32)>,
}

impl DocumentIds {
    #[inline]
    fn push(&mut self, id: u32) {
        self.collected.push(id);
        if self.collected.len() == MAX_COLLECTED_IDS {
            self.count();
        }
    }

    /// Counts the collected ids.
    #[cold]
    fn count(&mut self) {
        self.collected.sort_unstable();
        self.counted.extend(self.collected.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)));
        self.collected.clear();
        self.counted.sort_unstable_by_key(|&(id, _)| id);
        self.counted.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }

    /// Adds the document to a batch and starts the next one.
    fn finish(&mut self, encoded: &mut EncodedBatch) {
        if self.counted.is_empty() {
            encoded.push(&mut self.collected);
            self.collected.clear();
            return;
        }
        self.count();
        let mut unknown = 0;
        for (id, count) in std::mem::take(&mut self.counted) {
            unknown += encoded.push_word(id, count);
        }
        encoded.unknown.push(unknown);
        encoded.ends.push(encoded.words.len());
    }
}

/// Adds the words of a document to a batch.
struct EncodingSink<'a> {
    encoded: &'a mut EncodedBatch,
    /// Word id of every number, once it was looked up.
    ids: &'a mut Vec<u32>,
    document: &'a mut DocumentIds,
    index: &'a WordIndex<'a>,
}

impl WordSink for EncodingSink<'_> {
    fn push(&mut self, words: &mut WordTable, word: Result<u32, usize>) {
        let number = match word {
            Ok(number) => number as usize,
            Err(reason) => return self.encoded.dropped[reason] += 1,
        };
        if number >= self.ids.len() {
            self.ids.resize(number + 1, NOT_LOOKED_UP);
        }
        if self.ids[number] == NOT_LOOKED_UP {
            let word = words.strings.string(number as u32);
            self.ids[number] = self.index.id(word).unwrap_or(NOT_IN_VOCABULARY);
        }
        self.document.push(self.ids[number]);
    }

    fn empty(&mut self, words: &mut WordTable) -> Result<()> {
        words.clear(None);
        self.ids.clear();
        Ok(())
    }
}

/// Encoder of documents as word ids.
pub(super) struct DocumentEncoder {
    numbering: TokenNumbering,
    /// Word id of every number, once it was looked up.
    ids: Vec<u32>,
    document: DocumentIds,
    /// Whether the vocabulary was given: its words are kept even if a rule would drop them.
    fixed: bool,
}

impl DocumentEncoder {
    /// Creates an encoder whose table of words is emptied before it exceeds `limit` bytes.
    pub(super) fn new(fixed: bool, limit: usize) -> DocumentEncoder {
        DocumentEncoder {
            numbering: TokenNumbering::new(limit),
            ids: Vec::new(),
            document: DocumentIds::default(),
            fixed,
        }
    }

    pub(super) fn encode_batch(
        &mut self,
        batch: &TextBatch,
        reader: &RecordReaders,
        tokenizer: &Tokenizer,
        index: &WordIndex<'_>,
    ) -> Result<EncodedBatch> {
        let mut encoded = EncodedBatch::default();
        let before = self.numbering.words.tokens;
        for span in &batch.spans {
            reader.for_each(&batch.bytes[span.bytes.clone()], span, &mut |record, replaced| {
                encoded.replaced += u64::from(replaced);
                self.encode_document(&record.text, tokenizer, index, &mut encoded)?;
                encoded.metadata.push(&record);
                Ok(())
            })?;
        }
        encoded.tokens = self.numbering.words.tokens - before;
        Ok(encoded)
    }

    /// Encodes the words of a document.
    fn encode_document(
        &mut self,
        text: &str,
        tokenizer: &Tokenizer,
        index: &WordIndex<'_>,
        encoded: &mut EncodedBatch,
    ) -> Result<()> {
        let DocumentEncoder { numbering, ids, document, fixed } = self;
        let keep_known = *fixed && tokenizer.is_plain();
        let known = |token: &[u8]| keep_known && index.id(token).is_some();
        let mut sink = EncodingSink { encoded, ids, document, index };
        if numbering.words.is_full_for(text.len(), false) {
            sink.empty(&mut numbering.words)?;
        }
        for chunk in chunks(text, tokenizer.chunk_rule()) {
            numbering.for_each_word(chunk, tokenizer, &known, &mut sink)?;
        }
        numbering.finish_text(&mut sink);
        document.finish(encoded);
        Ok(())
    }
}
