//! Two-phase execution on threads for the paper's synchronous algorithms and Gibbs sampling: first
//! by documents, then by words. There are no formulas here.
//!
//! Documents are divided into chunks and words into groups by rules that do not depend on the
//! number of threads. In the first phase a thread owns a chunk, in the second a group. So each
//! number has one writer, sums have a fixed order, and the result is bit-identical for any number
//! of threads. Sampling uses a third scheme: in round e = 0, 1, … chunk r is combined with group r
//! + e, so that no two threads share a document or a word at any time.
//!
//! Start reading at [`PhaseRunner`].

use std::ops::Range;

use std::sync::Arc;

use crate::algorithms::Fault;
use crate::corpus::{Block, Document};
use crate::error::Result;
use crate::threads::Threads;
use crate::topics::{Matrix, MatrixRows};

/// Maximum number of documents in a batch. The first phase stores a row of K numbers for each of
/// them.
pub(crate) const DOCS_PER_BATCH: usize = 1024;
/// Number of chunks of documents in a batch, and of groups of words.
pub(crate) const GROUPS: usize = 64;

/// A non-zero in the list of its word's group.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WordEntry {
    pub(crate) word: u32,
    /// Number of the document in the batch.
    pub(crate) document: u32,
    /// Number of the non-zero in the batch.
    pub(crate) nonzero: u32,
    /// Number of the non-zero's first token in the chunk.
    pub(crate) token: u32,
    pub(crate) count: u32,
}

/// Documents that one thread processes at a time.
#[derive(Debug, Default)]
pub(crate) struct DocumentChunk {
    /// Range of the documents in the block.
    pub(crate) documents: Range<usize>,
    nonzeros: usize,
    tokens: usize,
    /// Non-zeros by group of words, in order.
    entries: Vec<WordEntry>,
    /// Start of each group in `entries`, and the end of the last one.
    starts: Vec<u32>,
}

impl DocumentChunk {
    /// Returns the number of documents, non-zeros and tokens.
    pub(crate) fn size(&self) -> (usize, usize, usize) {
        (self.documents.len(), self.nonzeros, self.tokens)
    }

    /// Returns the non-zeros of a group of words.
    pub(crate) fn group_entries(&self, group: usize) -> &[WordEntry] {
        &self.entries[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// Returns the documents with their numbers in the corpus.
    pub(crate) fn iter<'a>(&self, block: &'a Block) -> impl Iterator<Item = (u64, Document<'a>)> {
        self.documents.clone().map(|d| (block.number(d), block.document(d)))
    }
}

/// Executes an algorithm on threads, first by documents, then by words.
#[derive(Debug)]
pub(crate) struct PhaseRunner {
    threads: Arc<Threads>,
    groups: usize,
    /// First word of every group, and the number of words.
    bounds: Vec<u32>,
    group_of: Vec<u8>,
    chunks: Vec<DocumentChunk>,
}

impl PhaseRunner {
    /// Divides words into groups with about equal numbers of tokens.
    pub(crate) fn new(word_tokens: &[u64], groups: usize, threads: &Arc<Threads>) -> PhaseRunner {
        let total: u128 = word_tokens.iter().map(|&n| u128::from(n) + 1).sum();
        let mut group_of = Vec::with_capacity(word_tokens.len());
        let mut before = 0u128;
        for &n in word_tokens {
            group_of.push((before * groups as u128 / total.max(1)) as u8);
            before += u128::from(n) + 1;
        }
        let bounds =
            (0..=groups).map(|g| group_of.partition_point(|&of| usize::from(of) < g) as u32).collect();
        PhaseRunner { threads: Arc::clone(threads), groups, bounds, group_of, chunks: Vec::new() }
    }

    /// Returns the first word of every group, and the number of words.
    pub(crate) fn bounds(&self) -> &[u32] {
        &self.bounds
    }

    /// Returns the documents of a block in batches.
    pub(crate) fn batches(block: &Block) -> impl Iterator<Item = Range<usize>> {
        let documents = block.documents();
        (0..documents).step_by(DOCS_PER_BATCH).map(move |from| from..(from + DOCS_PER_BATCH).min(documents))
    }

    /// Loads documents of a block: divides them into chunks and lists their non-zeros.
    pub(crate) fn load(&mut self, block: &Block, range: Range<usize>) {
        let PhaseRunner { threads, groups, group_of, chunks, .. } = self;
        let nonzeros: usize = range.clone().map(|d| block.document(d).words.len()).sum();
        let size = nonzeros.div_ceil(*groups).max(1);
        chunks.resize_with(*groups, DocumentChunk::default);
        // For each chunk: its first document, and the number of non-zeros before it.
        let (mut d, mut sum) = (range.start, 0);
        let mut before = Vec::with_capacity(*groups);
        for (i, chunk) in chunks.iter_mut().enumerate() {
            before.push((d - range.start, sum));
            let from = d;
            while d < range.end && (sum < (i + 1) * size || i + 1 == *groups) {
                sum += block.document(d).words.len();
                d += 1;
            }
            chunk.documents = from..d;
        }
        let groups = *groups;
        let tasks = chunks.iter_mut().zip(before).collect();
        threads.for_each(tasks, |(chunk, (first, mut nonzero)): (&mut DocumentChunk, (usize, usize))| {
            // Counted first, so that a list takes no more memory than needed.
            chunk.starts.clear();
            chunk.starts.resize(groups + 1, 0);
            for d in chunk.documents.clone() {
                for &word in block.document(d).words {
                    chunk.starts[usize::from(group_of[word as usize]) + 1] += 1;
                }
            }
            for group in 0..groups {
                chunk.starts[group + 1] += chunk.starts[group];
            }
            chunk.entries.resize(chunk.starts[groups] as usize, WordEntry::default());
            let mut next: Vec<u32> = chunk.starts[..groups].to_vec();
            let from = nonzero;
            let mut token = 0u32;
            for (document, d) in (first as u32..).zip(chunk.documents.clone()) {
                let Document { words, counts } = block.document(d);
                for (&word, &count) in words.iter().zip(counts) {
                    let at = &mut next[usize::from(group_of[word as usize])];
                    chunk.entries[*at as usize] =
                        WordEntry { word, document, nonzero: nonzero as u32, token, count };
                    *at += 1;
                    nonzero += 1;
                    // Algorithms that label tokens refuse documents with more tokens.
                    token = token.saturating_add(count);
                }
            }
            chunk.nonzeros = nonzero - from;
            chunk.tokens = token as usize;
        });
    }

    /// Frees the lists of the documents that are loaded.
    pub(crate) fn free_buffers(&mut self) {
        self.chunks = Vec::new();
    }

    /// Returns the chunks that are loaded.
    pub(crate) fn chunks(&self) -> &[DocumentChunk] {
        &self.chunks
    }

    /// First phase: calls `each(chunk, share, scratch)` for every chunk. Returns the sum of the
    /// results, added in order.
    pub(crate) fn process_documents<T: Send, S>(
        &self,
        shares: Vec<T>,
        scratch: impl Fn() -> S + Sync + Send,
        each: impl Fn(&DocumentChunk, T, &mut S) -> Result<f64, Fault> + Sync + Send,
    ) -> Result<f64, Fault> {
        let tasks: Vec<(&DocumentChunk, T)> = self.chunks.iter().zip(shares).collect();
        let sums = self.threads.map(tasks, scratch, |scratch, (chunk, share)| each(chunk, share, scratch));
        sums.into_iter().sum()
    }

    /// Second phase: calls `each(rows, entries)` for every group of words, with its rows of a
    /// matrix.
    pub(crate) fn process_words(
        &self,
        matrix: &mut Matrix,
        each: impl Fn(&mut MatrixRows<'_>, &mut dyn Iterator<Item = &WordEntry>) + Sync,
    ) {
        self.for_each_group(matrix, |group, mut part| {
            each(&mut part, &mut self.chunks.iter().flat_map(|chunk| chunk.group_entries(group)));
        });
    }

    /// Calls `each(group, rows)` for every group of words, with its rows of a matrix.
    pub(crate) fn for_each_group(&self, matrix: &mut Matrix, each: impl Fn(usize, MatrixRows<'_>) + Sync) {
        let parts: Vec<(usize, MatrixRows<'_>)> =
            matrix.parts(&self.bounds).into_iter().enumerate().collect();
        self.threads.for_each(parts, |(group, part)| each(group, part));
    }

    /// Calls `each(group, rows, rows)` for every group of words, with its rows of two matrices.
    pub(crate) fn for_each_group_pair(
        &self,
        one: &mut Matrix,
        two: &mut Matrix,
        each: impl Fn(usize, MatrixRows<'_>, MatrixRows<'_>) + Sync,
    ) {
        let parts = one.parts(&self.bounds).into_iter().zip(two.parts(&self.bounds));
        let parts: Vec<(usize, (MatrixRows<'_>, MatrixRows<'_>))> = parts.enumerate().collect();
        self.threads.for_each(parts, |(group, (one, two))| each(group, one, two));
    }

    /// Sampling: calls `each(chunk, entries, share, rows)` for every chunk and group of words, such
    /// that no two concurrent calls share either, and `between(shares)` after each round. Returns
    /// the sum of the results, added in order.
    pub(crate) fn process_diagonals<T: Send, S>(
        &self,
        matrix: &mut Matrix,
        shares: &mut [T],
        scratch: impl Fn() -> S + Sync + Send,
        each: impl Fn(&DocumentChunk, &[WordEntry], &mut T, &mut MatrixRows<'_>, &mut S) -> Result<f64, Fault>
        + Sync
        + Send,
        mut between: impl FnMut(&mut [T]),
    ) -> Result<f64, Fault> {
        let groups = self.groups;
        let mut total = 0f64;
        for round in 0..groups {
            let mut parts: Vec<Option<MatrixRows<'_>>> =
                matrix.parts(&self.bounds).into_iter().map(Some).collect();
            let tasks: Vec<_> = self
                .chunks
                .iter()
                .zip(shares.iter_mut())
                .enumerate()
                .filter_map(|(r, (chunk, share))| {
                    let group = (r + round) % groups;
                    parts[group].take().map(|part| (chunk, group, share, part))
                })
                .filter(|(chunk, group, _, _)| !chunk.group_entries(*group).is_empty())
                .collect();
            let sums = self.threads.map(tasks, &scratch, |scratch, (chunk, group, share, mut part)| {
                each(chunk, chunk.group_entries(group), share, &mut part, scratch)
            });
            total += sums.into_iter().sum::<Result<f64, Fault>>()?;
            between(shares);
        }
        Ok(total)
    }
}

/// Splits a list into parts of the given sizes.
pub(crate) fn split_by_sizes<T>(mut list: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    sizes
        .map(|size| {
            let (head, tail) = std::mem::take(&mut list).split_at_mut(size);
            list = tail;
            head
        })
        .collect()
}
