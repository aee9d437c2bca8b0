//! Blocks of documents: in decoded form for computation ([`Block`]) and in the encoded form of the
//! file. The bit packing itself is in `pack`, and the layout of the file in `format`.

use std::ops::Range;

use super::pack::{pack, unpack};

/// Maximum number of chunks that a piece is divided into for the threads.
pub(crate) const MAX_CHUNKS: u64 = 128;
/// Approximate minimum number of non-zeros of a chunk.
pub(crate) const MIN_CHUNK_NONZEROS: u64 = 512;

/// Documents of a corpus in ascending order, each a list of (word, count) sorted by word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    pub(crate) first_document: u64,
    /// Number of documents of the corpus between two neighbouring documents of the block.
    gap: u64,
    /// Start of each document in `words` and `counts`, and the end of the last one.
    pub(crate) starts: Vec<u32>,
    pub(crate) words: Vec<u32>,
    pub(crate) counts: Vec<u32>,
}

/// A document: its distinct words in ascending order and their counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// Word ids, strictly ascending.
    pub words: &'a [u32],
    /// Count of each word, at least 1.
    pub counts: &'a [u32],
}

impl Document<'_> {
    /// Returns the number of tokens, n_d.
    pub fn tokens(&self) -> u64 {
        self.counts.iter().map(|&x| u64::from(x)).sum()
    }
}

impl Block {
    /// Returns the number of the block's first document in the corpus, counted from 0.
    pub fn first_document(&self) -> u64 {
        self.first_document
    }
    /// Returns the number of documents of the block.
    pub fn documents(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
    /// Returns the number of non-zeros of the block.
    pub fn nonzeros(&self) -> usize {
        self.words.len()
    }
    /// Returns document `i` of the block, counted from 0.
    pub fn document(&self, i: usize) -> Document<'_> {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        Document { words: &self.words[range.clone()], counts: &self.counts[range] }
    }
    /// Returns the memory in bytes of a block with the given numbers of documents and non-zeros.
    pub(crate) fn bytes(documents: u64, nonzeros: u64) -> u64 {
        nonzeros.saturating_mul(8).saturating_add(documents.saturating_add(1).saturating_mul(4))
    }
    /// Returns the number of non-zeros before document `i` of the block.
    pub(crate) fn start(&self, i: usize) -> usize {
        self.starts[i] as usize
    }
    /// Returns the number in the corpus, counted from 0, of document `i` of the block.
    pub fn number(&self, i: usize) -> u64 {
        self.first_document + i as u64 * (self.gap + 1)
    }
    /// Replaces the contents with piece `from` of the `count` pieces of another block.
    ///
    /// A piece has every `count`-th document of the block. Neighbouring documents are often
    /// similar, and a piece should be representative of the whole block.
    pub(crate) fn copy_piece_from(&mut self, block: &Block, count: u64, from: u64) {
        self.reset(block.number(from as usize), (block.gap + 1) * count - 1);
        let documents = (from as usize..block.documents()).step_by(count as usize);
        let nonzeros = documents.clone().map(|i| block.document(i).words.len()).sum();
        self.reserve(documents.len(), nonzeros);
        documents.for_each(|i| self.push(block.document(i)));
    }
    /// Replaces the contents with a range of documents of another block.
    pub(crate) fn copy_range_from(&mut self, block: &Block, range: Range<usize>) {
        self.reset(block.number(range.start), block.gap);
        self.reserve(range.len(), block.start(range.end) - block.start(range.start));
        range.for_each(|i| self.push(block.document(i)));
    }
    /// Removes all documents and sets the numbering.
    fn reset(&mut self, first_document: u64, gap: u64) {
        (self.first_document, self.gap) = (first_document, gap);
        self.starts.clear();
        self.starts.push(0);
        self.words.clear();
        self.counts.clear();
    }
    /// Reserves exactly the memory for documents that will be pushed.
    fn reserve(&mut self, documents: usize, nonzeros: usize) {
        self.starts.reserve_exact(documents);
        self.words.reserve_exact(nonzeros);
        self.counts.reserve_exact(nonzeros);
    }
    fn push(&mut self, document: Document<'_>) {
        self.words.extend_from_slice(document.words);
        self.counts.extend_from_slice(document.counts);
        self.starts.push(self.words.len() as u32);
    }
    /// Divides the documents into at most [`MAX_CHUNKS`] ranges with about equal numbers of
    /// non-zeros. A chunk is the unit of work of a thread.
    pub(crate) fn chunks(&self) -> Vec<Range<usize>> {
        let documents = self.documents();
        let total = u64::from(self.starts.last().copied().unwrap_or(0));
        let count = (total / MIN_CHUNK_NONZEROS).clamp(1, MAX_CHUNKS);
        let mut chunks = Vec::with_capacity(count as usize);
        let mut from = 0;
        for chunk in 1..=count {
            let target = total * chunk / count;
            let to = if chunk == count {
                documents
            } else {
                self.starts.partition_point(|&s| u64::from(s) < target).min(documents)
            };
            if to > from {
                chunks.push(from..to);
                from = to;
            }
        }
        chunks
    }
    /// Returns all documents in order.
    pub fn iter(&self) -> impl Iterator<Item = Document<'_>> {
        (0..self.documents()).map(|i| self.document(i))
    }
}

/// Returns the number of pieces of about `size` non-zeros that a block is divided into.
pub(crate) fn piece_count(documents: u32, nonzeros: u32, size: u64) -> u64 {
    u64::from(nonzeros).div_ceil(size.max(1)).clamp(1, u64::from(documents).max(1))
}

/// Appends the encoded documents to `out`.
///
/// The encoding is: the number of distinct words of each document; then, for every non-zero, its
/// word as the difference from the previous word of the document, minus one; then every count minus
/// one. Each sequence is [packed](pack).
pub(crate) fn encode(
    starts: &[u32],
    words: &[u32],
    counts: &[u32],
    scratch: &mut Vec<u32>,
    out: &mut Vec<u8>,
) {
    scratch.clear();
    scratch.extend(starts.windows(2).map(|w| w[1] - w[0]));
    pack(scratch, out);
    scratch.clear();
    for w in starts.windows(2) {
        let mut next = 0;
        let from = starts[0];
        for &word in &words[(w[0] - from) as usize..(w[1] - from) as usize] {
            scratch.push(word - next);
            next = word + 1;
        }
    }
    pack(scratch, out);
    scratch.clear();
    scratch.extend(counts.iter().map(|&x| x - 1));
    pack(scratch, out);
}

/// Encoded documents in memory. They take about a quarter of the memory of a [`Block`].
#[derive(Debug, Clone)]
pub(crate) struct PackedDocuments {
    first_document: u64,
    gap: u64,
    documents: u32,
    nonzeros: u32,
    bytes: Box<[u8]>,
}

impl PackedDocuments {
    /// Encodes a range of documents of a block.
    pub(crate) fn new(block: &Block, range: Range<usize>) -> PackedDocuments {
        let starts = &block.starts[range.start..=range.end];
        let all = starts[0] as usize..starts[starts.len() - 1] as usize;
        let mut bytes = Vec::new();
        encode(starts, &block.words[all.clone()], &block.counts[all.clone()], &mut Vec::new(), &mut bytes);
        PackedDocuments {
            first_document: block.number(range.start),
            gap: block.gap,
            documents: range.len() as u32,
            nonzeros: all.len() as u32,
            bytes: bytes.into(),
        }
    }

    /// Returns the number of non-zeros.
    pub(crate) fn nonzeros(&self) -> usize {
        self.nonzeros as usize
    }

    /// Returns the number of documents.
    pub(crate) fn documents(&self) -> usize {
        self.documents as usize
    }

    /// Returns the size of the encoded documents in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Decodes the documents into a block.
    pub(crate) fn unpack(&self, block: &mut Block) {
        let (documents, nonzeros) = (self.documents as usize, self.nonzeros as usize);
        if let Err(problem) = decode(&self.bytes, documents, nonzeros, None, u32::MAX, block) {
            unreachable!("encoded by `PackedDocuments::new`: {problem}");
        }
        (block.first_document, block.gap) = (self.first_document, self.gap);
    }
}

/// Decodes `documents` documents with `nonzeros` non-zeros over `vocabulary` words into `block`.
///
/// Checks every invariant that the rest of the library relies on, and the number of tokens if it is
/// given. The error says what is wrong.
pub(crate) fn decode(
    bytes: &[u8],
    documents: usize,
    nonzeros: usize,
    tokens: Option<u64>,
    vocabulary: u32,
    block: &mut Block,
) -> Result<(), &'static str> {
    const TRUNCATED: &str = "the block is truncated";
    block.gap = 0;
    let mut at = unpack(bytes, documents, &mut block.starts).ok_or(TRUNCATED)?;
    block.starts.reserve_exact(1);
    let mut total = 0u64;
    for start in &mut block.starts {
        let length = u64::from(*start);
        *start = u32::try_from(total).map_err(|_| "document lengths overflow")?;
        total += length;
    }
    if total != nonzeros as u64 {
        return Err("document lengths do not add up to the block's non-zeros");
    }
    block.starts.push(nonzeros as u32);
    at += unpack(&bytes[at..], nonzeros, &mut block.words).ok_or(TRUNCATED)?;
    at += unpack(&bytes[at..], nonzeros, &mut block.counts).ok_or(TRUNCATED)?;
    if at != bytes.len() {
        return Err("the block has extra bytes after its last number");
    }
    for w in block.starts.windows(2) {
        let mut next = 0u64;
        for word in &mut block.words[w[0] as usize..w[1] as usize] {
            next += u64::from(*word);
            // An id of more than 32 bits also exceeds the vocabulary, which is checked below.
            *word = next.min(u64::from(u32::MAX)) as u32;
            next += 1;
        }
        if next > u64::from(vocabulary) {
            return Err("a word id exceeds the vocabulary");
        }
    }
    let mut sum = 0u64;
    for x in &mut block.counts {
        *x = x.checked_add(1).ok_or("a count overflows")?;
        sum += u64::from(*x);
    }
    if tokens.is_some_and(|tokens| sum != tokens) {
        return Err("the counts do not add up to the block's tokens");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::pack::GROUP;
    use proptest::prelude::*;

    #[test]
    fn r21_entries_of_zero_bits_are_bounded() {
        let (most, mut block) = (u32::MAX as usize, Block::default());
        // A few bytes cannot claim many documents or entries.
        assert!(decode(&[0; 3], 1, most, None, 77, &mut block).is_err());
        assert!(decode(&[0; 3], most, 0, None, 77, &mut block).is_err());
        assert!(block.words.capacity() < 1000 && block.starts.capacity() < 1000);
        // Documents without words, and documents of one word that occurs once.
        assert_eq!(decode(&[0; 100], 100 * GROUP, 0, Some(0), 77, &mut block), Ok(()));
        let starts: Vec<u32> = (0..=100_000).collect();
        let (words, counts) = (vec![0; 100_000], vec![1; 100_000]);
        let mut bytes = Vec::new();
        encode(&starts, &words, &counts, &mut Vec::new(), &mut bytes);
        assert!(bytes.len() < 40_000, "{}", bytes.len());
        assert_eq!(decode(&bytes, 100_000, 100_000, Some(100_000), 77, &mut block), Ok(()));
        assert!(decode(&bytes, 100_000, 100_000, Some(99_999), 77, &mut block).is_err());
    }

    proptest! {
        #[test]
        fn blocks_come_back(documents in prop::collection::vec(prop::collection::btree_map(0u32..5000, 1u32..400, 0..40), 0..60)) {
            let mut starts = vec![0u32];
            let (mut words, mut counts) = (Vec::new(), Vec::new());
            for d in &documents {
                words.extend(d.keys());
                counts.extend(d.values());
                starts.push(words.len() as u32);
            }
            let mut bytes = Vec::new();
            encode(&starts, &words, &counts, &mut Vec::new(), &mut bytes);
            let tokens = counts.iter().map(|&x| u64::from(x)).sum();
            let mut block = Block::default();
            prop_assert_eq!(decode(&bytes, documents.len(), words.len(), Some(tokens), 5000, &mut block), Ok(()));
            prop_assert_eq!(&block.words, &words);
            prop_assert_eq!(&block.counts, &counts);
            prop_assert_eq!(&block.starts, &starts);
            for nonzeros in [1, 7, 50, 100_000] {
                let count = piece_count(documents.len() as u32, words.len() as u32, nonzeros);
                let pieces: Vec<Block> = (0..count).map(|from| {
                    let mut piece = Block::default();
                    piece.copy_piece_from(&block, count, from);
                    piece
                }).collect();
                let mut all: Vec<_> =
                    pieces.iter().flat_map(|p| p.iter().enumerate().map(|(i, document)| (p.number(i), document))).collect();
                all.sort_unstable_by_key(|&(number, _)| number);
                prop_assert_eq!(all, (0..).zip(block.iter()).collect::<Vec<_>>());
                // Chunks survive packing.
                for piece in &pieces {
                    let mut again = Block::default();
                    for chunk in piece.chunks() {
                        PackedDocuments::new(piece, chunk.clone()).unpack(&mut again);
                        let mut part = Block::default();
                        part.copy_range_from(piece, chunk.clone());
                        prop_assert_eq!(&part, &again);
                        for (i, d) in chunk.enumerate() {
                            prop_assert_eq!((again.number(i), again.document(i)), (piece.number(d), piece.document(d)));
                        }
                    }
                }
            }
            for cut in 0..bytes.len() {
                prop_assert!(decode(&bytes[..cut], documents.len(), words.len(), Some(tokens), 5000, &mut block).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), documents in 0usize..100, nonzeros in 0usize..300, tokens in 0u64..1000) {
            let mut block = Block::default();
            if decode(&bytes, documents, nonzeros, Some(tokens), 77, &mut block).is_ok() {
                prop_assert!(block.iter().all(|d| d.words.windows(2).all(|w| w[0] < w[1]) && d.words.iter().all(|&w| w < 77)));
            }
        }
    }
}
