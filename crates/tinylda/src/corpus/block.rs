//! A block: some documents, ready to compute with.

use std::ops::Range;

use super::pack::{pack, unpack};

/// The most chunks of documents that threads share a piece in.
pub(crate) const MAX_CHUNKS: u64 = 128;
/// How many non-zeros a chunk should have at least.
pub(crate) const MIN_CHUNK_NONZEROS: u64 = 512;

/// Consecutive documents of a corpus, each a list of (word, count), words ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    pub(crate) first_document: u64,
    /// How many documents of the corpus lie between one of the block and the next.
    between: u64,
    /// Where each document starts in `words` and `counts`; one more than there are documents.
    pub(crate) starts: Vec<u32>,
    pub(crate) words: Vec<u32>,
    pub(crate) counts: Vec<u32>,
}

/// One document: its distinct words in ascending order and how often each occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// Word ids, strictly ascending.
    pub words: &'a [u32],
    /// Their counts, all at least 1.
    pub counts: &'a [u32],
}

impl Document<'_> {
    /// The number of tokens, n_d.
    pub fn tokens(&self) -> u64 {
        self.counts.iter().map(|&x| u64::from(x)).sum()
    }
}

impl Block {
    /// The number of the first document in the corpus, from 0.
    pub fn first_document(&self) -> u64 {
        self.first_document
    }
    /// How many documents the block has.
    pub fn documents(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
    /// How many non-zeros the block has.
    pub fn nonzeros(&self) -> usize {
        self.words.len()
    }
    /// Document `i` of the block, from 0.
    pub fn document(&self, i: usize) -> Document<'_> {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        Document { words: &self.words[range.clone()], counts: &self.counts[range] }
    }
    /// Bytes of memory of so many documents with so many non-zeros.
    pub(crate) fn bytes(documents: u64, nonzeros: u64) -> u64 {
        nonzeros.saturating_mul(8).saturating_add(documents.saturating_add(1).saturating_mul(4))
    }
    /// How many non-zeros come before document `i` of the block.
    pub(crate) fn start(&self, i: usize) -> usize {
        self.starts[i] as usize
    }
    /// The number of document `i` of the block in the corpus, from 0.
    pub fn number(&self, i: usize) -> u64 {
        self.first_document + i as u64 * (self.between + 1)
    }
    /// Becomes a piece of another block, of `count` in all. Each takes one document in so many, all over the block: documents
    /// that lie together are often alike, and a piece should be like the whole.
    pub(crate) fn piece_of(&mut self, block: &Block, count: u64, from: u64) {
        self.empty(block.number(from as usize), (block.between + 1) * count - 1);
        let documents = (from as usize..block.documents()).step_by(count as usize);
        let nonzeros = documents.clone().map(|i| block.document(i).words.len()).sum();
        self.reserve(documents.len(), nonzeros);
        documents.for_each(|i| self.push(block.document(i)));
    }
    /// Becomes some documents of another block.
    pub(crate) fn part_of(&mut self, block: &Block, range: Range<usize>) {
        self.empty(block.number(range.start), block.between);
        self.reserve(range.len(), block.start(range.end) - block.start(range.start));
        range.for_each(|i| self.push(block.document(i)));
    }
    fn empty(&mut self, first_document: u64, between: u64) {
        (self.first_document, self.between) = (first_document, between);
        self.starts.clear();
        self.starts.push(0);
        self.words.clear();
        self.counts.clear();
    }
    /// Takes memory for documents that will be pushed, and no more than that.
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
    /// The documents in runs of about equal numbers of non-zeros, at most [`MAX_CHUNKS`]: what threads share.
    pub(crate) fn runs(&self) -> Vec<Range<usize>> {
        let documents = self.documents();
        let total = u64::from(self.starts.last().copied().unwrap_or(0));
        let count = (total / MIN_CHUNK_NONZEROS).clamp(1, MAX_CHUNKS);
        let mut runs = Vec::with_capacity(count as usize);
        let mut from = 0;
        for run in 1..=count {
            let target = total * run / count;
            let to = if run == count {
                documents
            } else {
                self.starts.partition_point(|&s| u64::from(s) < target).min(documents)
            };
            if to > from {
                runs.push(from..to);
                from = to;
            }
        }
        runs
    }
    /// All documents in order.
    pub fn iter(&self) -> impl Iterator<Item = Document<'_>> {
        (0..self.documents()).map(|i| self.document(i))
    }
}

/// Into how many pieces of about `size` non-zeros a block is cut.
pub(crate) fn pieces(documents: u32, nonzeros: u32, size: u64) -> u64 {
    u64::from(nonzeros).div_ceil(size.max(1)).clamp(1, u64::from(documents).max(1))
}

/// Appends the coded form of the documents to `out`: the number of distinct words of each document, then for every
/// non-zero its word (less the word before it in the document and less one), then every count less one.
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

/// Documents in the coded form, in memory: a quarter of what they take as a [`Block`].
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    first_document: u64,
    between: u64,
    documents: u32,
    nonzeros: u32,
    bytes: Box<[u8]>,
}

impl Packed {
    /// Some documents of a block.
    pub(crate) fn new(block: &Block, range: Range<usize>) -> Packed {
        let starts = &block.starts[range.start..=range.end];
        let all = starts[0] as usize..starts[starts.len() - 1] as usize;
        let mut bytes = Vec::new();
        encode(starts, &block.words[all.clone()], &block.counts[all.clone()], &mut Vec::new(), &mut bytes);
        Packed {
            first_document: block.number(range.start),
            between: block.between,
            documents: range.len() as u32,
            nonzeros: all.len() as u32,
            bytes: bytes.into(),
        }
    }

    /// How many non-zeros there are.
    pub(crate) fn nonzeros(&self) -> usize {
        self.nonzeros as usize
    }

    /// How many documents there are.
    pub(crate) fn documents(&self) -> usize {
        self.documents as usize
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Becomes a block again.
    pub(crate) fn unpack(&self, block: &mut Block) {
        let (documents, nonzeros) = (self.documents as usize, self.nonzeros as usize);
        if let Err(what) = decode(&self.bytes, documents, nonzeros, None, u32::MAX, block) {
            unreachable!("packed by us: {what}");
        }
        (block.first_document, block.between) = (self.first_document, self.between);
    }
}

/// Reads the coded form of `documents` documents with `nonzeros` non-zeros over `vocabulary` words.
/// Checks everything that the rest of the program relies on, and the tokens where they are known; says what is wrong otherwise.
pub(crate) fn decode(
    bytes: &[u8],
    documents: usize,
    nonzeros: usize,
    tokens: Option<u64>,
    vocabulary: u32,
    block: &mut Block,
) -> Result<(), &'static str> {
    const SHORT: &str = "the block ends too soon";
    block.between = 0;
    let mut at = unpack(bytes, documents, &mut block.starts).ok_or(SHORT)?;
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
    at += unpack(&bytes[at..], nonzeros, &mut block.words).ok_or(SHORT)?;
    at += unpack(&bytes[at..], nonzeros, &mut block.counts).ok_or(SHORT)?;
    if at != bytes.len() {
        return Err("the block has bytes behind its last number");
    }
    for w in block.starts.windows(2) {
        let mut next = 0u64;
        for word in &mut block.words[w[0] as usize..w[1] as usize] {
            next += u64::from(*word);
            // An id past 32 bits is past the vocabulary too; the check below sees it.
            *word = next.min(u64::from(u32::MAX)) as u32;
            next += 1;
        }
        if next > u64::from(vocabulary) {
            return Err("a word id is beyond the vocabulary");
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
    use proptest::prelude::*;

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
                let count = pieces(documents.len() as u32, words.len() as u32, nonzeros);
                let pieces: Vec<Block> = (0..count).map(|from| {
                    let mut piece = Block::default();
                    piece.piece_of(&block, count, from);
                    piece
                }).collect();
                let mut all: Vec<_> =
                    pieces.iter().flat_map(|p| p.iter().enumerate().map(|(i, document)| (p.number(i), document))).collect();
                all.sort_unstable_by_key(|&(number, _)| number);
                prop_assert_eq!(all, (0..).zip(block.iter()).collect::<Vec<_>>());
                // And packed, run by run.
                for piece in &pieces {
                    let mut again = Block::default();
                    for run in piece.runs() {
                        Packed::new(piece, run.clone()).unpack(&mut again);
                        let mut part = Block::default();
                        part.part_of(piece, run.clone());
                        prop_assert_eq!(&part, &again);
                        for (i, d) in run.enumerate() {
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
