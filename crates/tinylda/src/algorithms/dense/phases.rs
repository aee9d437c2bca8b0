//! Documents on threads, then words on threads: how the paper's synchronous algorithms and Gibbs sampling go through a piece.
//! No formulas here.
//!
//! Documents are cut into runs and words into groups by rules that do not know the number of threads. In the first phase every
//! run is one thread's alone, in the second every group: so each number has one writer, sums have one order, and the result is
//! the same, to the bit, for any number of threads. For sampling there is a third way: run r has group r + e, for e = 0, 1, ...;
//! at any time no two threads share a document or a word.

use std::ops::Range;

use std::sync::Arc;

use crate::algorithms::Fault;
use crate::corpus::{Block, Document};
use crate::error::Result;
use crate::threads::Threads;
use crate::topics::{Matrix, Part};

/// The most documents that are gone through at a time: what the first phase leaves for the second is a row of K for each.
pub(crate) const DOCS_PER_BATCH: usize = 1024;
/// Into how many runs these are cut, and the words into how many groups.
pub(crate) const GROUPS: usize = 64;

/// A non-zero, in the list of its word's group.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Entry {
    pub(crate) word: u32,
    /// Which document of those at work.
    pub(crate) document: u32,
    /// Which non-zero of those at work, and where its first token is in the run.
    pub(crate) nonzero: u32,
    pub(crate) token: u32,
    pub(crate) count: u32,
}

/// Documents that one thread goes through.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Of the block.
    pub(crate) documents: Range<usize>,
    nonzeros: usize,
    tokens: usize,
    /// Its non-zeros by groups of words, in order; where each group begins, and one past the last.
    entries: Vec<Entry>,
    starts: Vec<u32>,
}

impl Run {
    /// How many documents, non-zeros and tokens it has.
    pub(crate) fn size(&self) -> (usize, usize, usize) {
        (self.documents.len(), self.nonzeros, self.tokens)
    }

    /// Its non-zeros of a group of words.
    pub(crate) fn list(&self, group: usize) -> &[Entry] {
        &self.entries[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// Its documents: number in the corpus, document.
    pub(crate) fn iter<'a>(&self, block: &'a Block) -> impl Iterator<Item = (u64, Document<'a>)> {
        self.documents.clone().map(|d| (block.number(d), block.document(d)))
    }
}

/// See the top.
#[derive(Debug)]
pub(crate) struct Phases {
    threads: Arc<Threads>,
    groups: usize,
    /// The first word of every group, and one past the last.
    bounds: Vec<u32>,
    group_of: Vec<u8>,
    runs: Vec<Run>,
}

impl Phases {
    /// Words in so many groups of about equal numbers of tokens.
    pub(crate) fn new(word_tokens: &[u64], groups: usize, threads: &Arc<Threads>) -> Phases {
        let total: u128 = word_tokens.iter().map(|&n| u128::from(n) + 1).sum();
        let mut group_of = Vec::with_capacity(word_tokens.len());
        let mut before = 0u128;
        for &n in word_tokens {
            group_of.push((before * groups as u128 / total.max(1)) as u8);
            before += u128::from(n) + 1;
        }
        let bounds =
            (0..=groups).map(|g| group_of.partition_point(|&of| usize::from(of) < g) as u32).collect();
        Phases { threads: Arc::clone(threads), groups, bounds, group_of, runs: Vec::new() }
    }

    /// The first word of every group, and one past the last.
    pub(crate) fn bounds(&self) -> &[u32] {
        &self.bounds
    }

    /// The documents of a block, so many at a time as are gone through together.
    pub(crate) fn ranges(block: &Block) -> impl Iterator<Item = Range<usize>> {
        let documents = block.documents();
        (0..documents).step_by(DOCS_PER_BATCH).map(move |from| from..(from + DOCS_PER_BATCH).min(documents))
    }

    /// Takes up some documents of a block: cuts them into runs and lists their non-zeros.
    pub(crate) fn take_up(&mut self, block: &Block, range: Range<usize>) {
        let Phases { threads, groups, group_of, runs, .. } = self;
        let nonzeros: usize = range.clone().map(|d| block.document(d).words.len()).sum();
        let size = nonzeros.div_ceil(*groups).max(1);
        runs.resize_with(*groups, Run::default);
        // Where each run begins: its first document, and how many non-zeros come before it.
        let (mut d, mut sum) = (range.start, 0);
        let mut before = Vec::with_capacity(*groups);
        for (i, run) in runs.iter_mut().enumerate() {
            before.push((d - range.start, sum));
            let from = d;
            while d < range.end && (sum < (i + 1) * size || i + 1 == *groups) {
                sum += block.document(d).words.len();
                d += 1;
            }
            run.documents = from..d;
        }
        let groups = *groups;
        let tasks = runs.iter_mut().zip(before).collect();
        threads.for_each(tasks, |(run, (first, mut nonzero)): (&mut Run, (usize, usize))| {
            // Counted first, so that a list takes what it needs and no more.
            run.starts.clear();
            run.starts.resize(groups + 1, 0);
            for d in run.documents.clone() {
                for &word in block.document(d).words {
                    run.starts[usize::from(group_of[word as usize]) + 1] += 1;
                }
            }
            for group in 0..groups {
                run.starts[group + 1] += run.starts[group];
            }
            run.entries.resize(run.starts[groups] as usize, Entry::default());
            let mut next: Vec<u32> = run.starts[..groups].to_vec();
            let from = nonzero;
            let mut token = 0u32;
            for (document, d) in (first as u32..).zip(run.documents.clone()) {
                let Document { words, counts } = block.document(d);
                for (&word, &count) in words.iter().zip(counts) {
                    let at = &mut next[usize::from(group_of[word as usize])];
                    run.entries[*at as usize] =
                        Entry { word, document, nonzero: nonzero as u32, token, count };
                    *at += 1;
                    nonzero += 1;
                    // More tokens than this are refused where tokens are labelled.
                    token = token.saturating_add(count);
                }
            }
            run.nonzeros = nonzero - from;
            run.tokens = token as usize;
        });
    }

    /// The runs taken up.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// First phase: `each(run, share, scratch)` for every run; the sum of what it returns, in order.
    pub(crate) fn documents<T: Send, S>(
        &self,
        shares: Vec<T>,
        scratch: impl Fn() -> S + Sync + Send,
        each: impl Fn(&Run, T, &mut S) -> Result<f64, Fault> + Sync + Send,
    ) -> Result<f64, Fault> {
        let tasks: Vec<(&Run, T)> = self.runs.iter().zip(shares).collect();
        let sums = self.threads.map(tasks, scratch, |scratch, (run, share)| each(run, share, scratch));
        sums.into_iter().sum()
    }

    /// Second phase: `each(rows, entries)` for every group of words, with its rows of a matrix.
    pub(crate) fn words(
        &self,
        matrix: &mut Matrix,
        each: impl Fn(&mut Part<'_>, &mut dyn Iterator<Item = &Entry>) + Sync,
    ) {
        self.rows(matrix, |group, mut part| {
            each(&mut part, &mut self.runs.iter().flat_map(|run| run.list(group)));
        });
    }

    /// `each(group, rows)` for every group of words, with its rows of a matrix.
    pub(crate) fn rows(&self, matrix: &mut Matrix, each: impl Fn(usize, Part<'_>) + Sync) {
        let parts: Vec<(usize, Part<'_>)> = matrix.parts(&self.bounds).into_iter().enumerate().collect();
        self.threads.for_each(parts, |(group, part)| each(group, part));
    }

    /// `each(group, rows, rows)` for every group of words, with its rows of two matrices.
    pub(crate) fn rows_of_two(
        &self,
        one: &mut Matrix,
        two: &mut Matrix,
        each: impl Fn(usize, Part<'_>, Part<'_>) + Sync,
    ) {
        let parts = one.parts(&self.bounds).into_iter().zip(two.parts(&self.bounds));
        let parts: Vec<(usize, (Part<'_>, Part<'_>))> = parts.enumerate().collect();
        self.threads.for_each(parts, |(group, (one, two))| each(group, one, two));
    }

    /// The third way: `each(run, entries, share, rows)` for every run and group of words, so that no two at a time share one;
    /// `between(shares)` after each round of them. The sum of what `each` returns, in order.
    pub(crate) fn diagonals<T: Send, S>(
        &self,
        matrix: &mut Matrix,
        shares: &mut [T],
        scratch: impl Fn() -> S + Sync + Send,
        each: impl Fn(&Run, &[Entry], &mut T, &mut Part<'_>, &mut S) -> Result<f64, Fault> + Sync + Send,
        mut between: impl FnMut(&mut [T]),
    ) -> Result<f64, Fault> {
        let groups = self.groups;
        let mut total = 0f64;
        for round in 0..groups {
            let mut parts: Vec<Option<Part<'_>>> = matrix.parts(&self.bounds).into_iter().map(Some).collect();
            let tasks: Vec<_> = self
                .runs
                .iter()
                .zip(shares.iter_mut())
                .enumerate()
                .filter_map(|(r, (run, share))| {
                    let group = (r + round) % groups;
                    parts[group].take().map(|part| (run, group, share, part))
                })
                .filter(|(run, group, _, _)| !run.list(*group).is_empty())
                .collect();
            let sums = self.threads.map(tasks, &scratch, |scratch, (run, group, share, mut part)| {
                each(run, run.list(group), share, &mut part, scratch)
            });
            total += sums.into_iter().sum::<Result<f64, Fault>>()?;
            between(shares);
        }
        Ok(total)
    }
}

/// A list cut into shares of the given sizes.
pub(crate) fn shares<T>(mut list: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    sizes
        .map(|size| {
            let (head, tail) = std::mem::take(&mut list).split_at_mut(size);
            list = tail;
            head
        })
        .collect()
}
