//! How large the pieces of a corpus are: what the memory of a training depends on.

use super::Corpus;
use crate::error::Result;

/// The largest pieces that a corpus is cut into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PieceSizes {
    /// Number of blocks of the file, and what the largest have.
    pub(crate) blocks: u64,
    pub(crate) block_documents: u64,
    pub(crate) block_nonzeros: u64,
    pub(crate) block_bytes: u64,
    /// Number of pieces, and what the largest have.
    pub(crate) pieces: u64,
    pub(crate) documents: u64,
    pub(crate) nonzeros: u64,
    /// Tokens of the block with the most.
    pub(crate) tokens: u64,
    /// Different words of the longest document.
    pub(crate) longest: u64,
    /// Non-zeros of so many consecutive documents of a block as are worked on together, at most.
    pub(crate) batch: u64,
}

impl PieceSizes {
    /// Reads the lengths of all documents, for pieces of about `size` non-zeros or whole blocks, and batches of so many documents.
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
            sizes.longest = sizes.longest.max(lengths.iter().copied().max().map_or(0, u64::from));
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
    /// Returns the sum of the different words of the `count` longest documents.
    pub(crate) fn longest_documents(&self, count: usize) -> Result<u64> {
        let (mut buffer, mut lengths, mut longest) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..self.blocks() {
            self.block_lengths(i, &mut buffer, &mut lengths)?;
            longest.extend_from_slice(&lengths);
            longest.sort_unstable_by(|a, b| b.cmp(a));
            longest.truncate(count);
        }
        Ok(longest.iter().copied().map(u64::from).sum())
    }
}

/// Non-zeros of the largest of `count` pieces: each has one document in so many.
fn largest_piece(lengths: &[u32], count: usize) -> u64 {
    let mut sums = vec![0u64; count.max(1)];
    for documents in lengths.chunks(count.max(1)) {
        sums.iter_mut().zip(documents).for_each(|(sum, &length)| *sum += u64::from(length));
    }
    sums.into_iter().max().unwrap_or(0)
}

/// The most non-zeros of `batch` consecutive documents.
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
