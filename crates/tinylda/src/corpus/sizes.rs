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
    /// Different words of the longest documents.
    pub(crate) longest: Longest,
    /// Non-zeros of so many consecutive documents of a block as are worked on together, at most.
    pub(crate) batch: u64,
}

/// The different words of the longest documents of a corpus, longest first. Those without a place in the list are taken to be
/// as long as the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Longest([u32; 16]);

impl Longest {
    /// Documents that all have this length.
    #[cfg(test)]
    pub(crate) fn of(length: u32) -> Longest {
        Longest([length; 16])
    }

    pub(crate) fn add(&mut self, length: u32) {
        let last = self.0.len() - 1;
        if length > self.0[last] {
            let at = self.0.partition_point(|&other| other >= length);
            self.0[at..].rotate_right(1);
            self.0[at] = length;
        }
    }

    /// Returns the sum of the `count` longest documents.
    pub(crate) fn sum(&self, count: u64) -> u64 {
        let listed: u64 =
            self.0.iter().take(usize::try_from(count).unwrap_or(usize::MAX)).copied().map(u64::from).sum();
        let others = count.saturating_sub(self.0.len() as u64);
        listed.saturating_add(others.saturating_mul(u64::from(self.0[self.0.len() - 1])))
    }
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
    /// Returns the sum of the different words of the `count` longest documents.
    pub(crate) fn longest_documents(&self, count: u64) -> Result<u64> {
        let (mut buffer, mut lengths, mut longest) = (Vec::new(), Vec::new(), Longest::default());
        for i in 0..self.blocks() {
            self.block_lengths(i, &mut buffer, &mut lengths)?;
            for &length in &lengths {
                longest.add(length);
            }
        }
        Ok(longest.sum(count))
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
    fn longest_documents() {
        let mut longest = Longest::default();
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
