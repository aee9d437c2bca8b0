//! Sizes of the blocks and pieces of a corpus, which determine the memory of a training.

use super::Corpus;
use crate::error::Result;

/// Numbers and maximum sizes of the blocks and pieces of a corpus. A piece is a part of a block and
/// the unit of residency during training.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PieceSizes {
    /// Number of blocks.
    pub(crate) blocks: u64,
    /// Maximum number of documents of a block.
    pub(crate) block_documents: u64,
    /// Maximum number of non-zeros of a block.
    pub(crate) block_nonzeros: u64,
    /// Maximum encoded size of a block in bytes, without names, labels and places.
    pub(crate) block_bytes: u64,
    /// Number of pieces.
    pub(crate) pieces: u64,
    /// Maximum number of documents of a piece.
    pub(crate) documents: u64,
    /// Maximum number of non-zeros of a piece.
    pub(crate) nonzeros: u64,
    /// Maximum number of tokens of a block.
    pub(crate) tokens: u64,
    /// Lengths of the longest documents.
    pub(crate) longest: LongestDocuments,
    /// Maximum number of non-zeros of a batch: consecutive documents of a block that are processed
    /// together.
    pub(crate) batch: u64,
}

/// Lengths of the 16 longest documents of a corpus, in distinct words, in descending order. All
/// other documents are assumed to be as long as the last one in the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LongestDocuments([u32; 16]);

impl LongestDocuments {
    /// Returns the list for documents that all have this length.
    #[cfg(test)]
    pub(crate) fn of(length: u32) -> LongestDocuments {
        LongestDocuments([length; 16])
    }

    /// Adds a document with this length.
    pub(crate) fn add(&mut self, length: u32) {
        let last = self.0.len() - 1;
        if length > self.0[last] {
            let at = self.0.partition_point(|&other| other >= length);
            self.0[at..].rotate_right(1);
            self.0[at] = length;
        }
    }

    /// Returns the total length of the `count` longest documents, which is an upper bound for more
    /// than 16 documents.
    pub(crate) fn sum(&self, count: u64) -> u64 {
        let listed: u64 =
            self.0.iter().take(usize::try_from(count).unwrap_or(usize::MAX)).copied().map(u64::from).sum();
        let others = count.saturating_sub(self.0.len() as u64);
        listed.saturating_add(others.saturating_mul(u64::from(self.0[self.0.len() - 1])))
    }
}

impl PieceSizes {
    /// Computes the sizes from the lengths of all documents.
    ///
    /// Pieces have about `size` non-zeros, or are whole blocks if `size` is `None`. Batches have
    /// `batch` documents.
    pub(crate) fn new(corpus: &Corpus, size: Option<u64>, batch: usize) -> Result<PieceSizes> {
        let mut sizes = PieceSizes { blocks: corpus.blocks() as u64, ..PieceSizes::default() };
        let (mut buffer, mut lengths) = (Vec::new(), Vec::new());
        for i in 0..corpus.blocks() {
            let (documents, nonzeros) = corpus.block_size(i);
            corpus.block_lengths(i, &mut buffer, &mut lengths)?;
            sizes.block_documents = sizes.block_documents.max(u64::from(documents));
            sizes.block_nonzeros = sizes.block_nonzeros.max(u64::from(nonzeros));
            sizes.block_bytes = sizes.block_bytes.max(corpus.block_bytes(i));
            sizes.tokens = sizes.tokens.max(corpus.block_tokens(i));
            for &length in &lengths {
                sizes.longest.add(length);
            }
            sizes.batch = sizes.batch.max(largest_batch(&lengths, batch));
            let count = corpus.block_pieces(i, size);
            sizes.pieces += count;
            sizes.documents = sizes.documents.max(u64::from(documents).div_ceil(count.max(1)));
            sizes.nonzeros = sizes.nonzeros.max(largest_piece(&lengths, count as usize));
        }
        Ok(sizes)
    }
}

impl Corpus {
    /// Returns the total number of distinct words of the `count` longest documents, each document
    /// counted separately.
    pub(crate) fn longest_documents(&self, count: u64) -> Result<u64> {
        let (mut buffer, mut lengths, mut longest) = (Vec::new(), Vec::new(), LongestDocuments::default());
        for i in 0..self.blocks() {
            self.block_lengths(i, &mut buffer, &mut lengths)?;
            for &length in &lengths {
                longest.add(length);
            }
        }
        Ok(longest.sum(count))
    }
}

/// Returns the number of non-zeros of the largest of `count` pieces. Piece i has documents i, i +
/// `count`, i + 2 `count`, …
fn largest_piece(lengths: &[u32], count: usize) -> u64 {
    let mut sums = vec![0u64; count.max(1)];
    for documents in lengths.chunks(count.max(1)) {
        sums.iter_mut().zip(documents).for_each(|(sum, &length)| *sum += u64::from(length));
    }
    sums.into_iter().max().unwrap_or(0)
}

/// Returns the maximum number of non-zeros of `batch` consecutive documents.
fn largest_batch(lengths: &[u32], batch: usize) -> u64 {
    let (mut sum, mut most) = (0u64, 0);
    for (i, &length) in lengths.iter().enumerate() {
        sum += u64::from(length);
        if let Some(before) = i.checked_sub(batch) {
            sum -= u64::from(lengths[before]);
        }
        most = most.max(sum);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_documents() {
        let mut longest = LongestDocuments::default();
        (1..=20).for_each(|length| longest.add(length));
        assert_eq!((longest.sum(0), longest.sum(1), longest.sum(3)), (0, 20, 57));
        assert_eq!(longest.sum(18), (5..=20).sum::<u64>() + 2 * 5);
    }

    #[test]
    fn largest_pieces_and_batches() {
        let lengths = [5, 1, 0, 7, 2];
        assert_eq!(largest_piece(&lengths, 1), 15);
        assert_eq!(largest_piece(&lengths, 2), 8);
        assert_eq!(largest_piece(&lengths, 9), 7);
        assert_eq!(largest_piece(&[], 0), 0);
        assert_eq!(largest_batch(&lengths, 1), 7);
        assert_eq!(largest_batch(&lengths, 3), 9);
        assert_eq!(largest_batch(&lengths, 9), 15);
        assert_eq!(largest_batch(&[], 3), 0);
    }
}
