//! A block through the two phases of an algorithm, on threads. No formulas here.
//!
//! Work is cut into chunks by a rule that does not know the number of threads; every chunk writes its own rows and sums,
//! and the sums are added in the chunks' order. So the result is the same, to the bit, for any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::algo::document::NotANumber;
use crate::algo::tbp::{self, Constants, Scratch};
use crate::corpus::Block;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, LANES, Lanes};
use crate::store::Visited;
use crate::topics::{Topics, stride};

/// Chunks of a phase: enough for many threads, and few enough that their sums cost nothing.
const CHUNKS: usize = 64;

/// A block's non-zeros by word.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    words: Vec<u32>,
    /// Where each word's uses start; one more than there are words.
    starts: Vec<u32>,
    /// (document, non-zero) of the block.
    uses: Vec<(u32, u32)>,
    /// Tokens of each word in the block.
    tokens: Vec<u64>,
}

impl Columns {
    pub(crate) fn of(block: &Block, vocabulary: u32) -> Columns {
        let mut first = vec![0u32; vocabulary as usize];
        for &w in &block.words {
            first[w as usize] += 1;
        }
        let mut columns = Columns::default();
        let mut at = 0;
        for (w, first) in first.iter_mut().enumerate() {
            let n = *first;
            if n > 0 {
                columns.words.push(w as u32);
                columns.starts.push(at);
                *first = at;
                at += n;
            }
        }
        columns.starts.push(at);
        columns.uses.resize(block.words.len(), (0, 0));
        let mut at = 0usize;
        for (d, document) in block.iter().enumerate() {
            for &w in document.words {
                let slot = &mut first[w as usize];
                columns.uses[*slot as usize] = (d as u32, at as u32);
                *slot += 1;
                at += 1;
            }
        }
        columns.tokens = columns
            .starts
            .windows(2)
            .map(|s| {
                columns.uses[s[0] as usize..s[1] as usize]
                    .iter()
                    .map(|&(_, i)| u64::from(block.counts[i as usize]))
                    .sum()
            })
            .collect();
        columns
    }
}

/// Cuts items into at most [`CHUNKS`] runs of about equal weight; item i weighs `starts[i+1] - starts[i]`.
fn cut(starts: &[u32]) -> Vec<Range<usize>> {
    let items = starts.len() - 1;
    let total = u64::from(starts[items]);
    let mut ranges = Vec::with_capacity(CHUNKS);
    let mut from = 0;
    for chunk in 1..=CHUNKS as u64 {
        let target = total * chunk / CHUNKS as u64;
        let to = if chunk == CHUNKS as u64 {
            items
        } else {
            starts.partition_point(|&s| u64::from(s) < target).min(items)
        };
        if to > from {
            ranges.push(from..to);
            from = to;
        }
    }
    ranges
}

/// Cuts the front of a slice off.
#[allow(clippy::mut_mut, reason = "the slice itself moves on")]
fn take<'a, T>(rest: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(rest).split_at_mut(n);
    *rest = tail;
    head
}

/// The two phases, with their buffers.
#[derive(Debug)]
pub(crate) struct Engine {
    pool: rayon::ThreadPool,
    kernel: Kernel,
    exclude: bool,
    word_tokens: Vec<u64>,
    inverse: Vec<Lanes>,
    /// A row for every document of the block.
    t: Vec<Lanes>,
    /// Two numbers for every non-zero of the block.
    ratios: Vec<(f32, f32)>,
    /// What every chunk of words does to lambda.
    deltas: Vec<Vec<f64>>,
}

impl Engine {
    pub(crate) fn new(
        threads: usize,
        kernel: Kernel,
        exclude: bool,
        word_tokens: Vec<u64>,
    ) -> Result<Engine> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build().map_err(|e| {
            Error::Setting {
                option: "--threads",
                found: threads.to_string(),
                expected: "threads that the system can start".into(),
                remedy: format!("Choose fewer ({e})."),
            }
        })?;
        Ok(Engine {
            pool,
            kernel,
            exclude,
            word_tokens,
            inverse: Vec::new(),
            t: Vec::new(),
            ratios: Vec::new(),
            deltas: vec![Vec::new(); CHUNKS],
        })
    }

    /// One block: theta of its documents and phi of its words are renewed. Returns the log-likelihood of the documents as
    /// they came.
    pub(crate) fn block(
        &mut self,
        topics: &mut Topics,
        visit: Visited<'_>,
    ) -> Result<f64, (u64, NotANumber)> {
        let Visited { block, columns, theta, .. } = visit;
        let sorted;
        let columns = if let Some(columns) = columns {
            columns
        } else {
            sorted = Columns::of(block, topics.words());
            &sorted
        };
        topics.inverse(&mut self.inverse);
        self.t.resize(block.documents() * stride(topics.count), Lanes::ZERO);
        self.ratios.resize(block.nonzeros(), (0.0, 0.0));
        let log_likelihood = self.document_phase(topics, block, theta)?;
        self.word_phase(topics, columns);
        Ok(log_likelihood)
    }

    /// Documents write theta, t and ratios.
    fn document_phase(
        &mut self,
        topics: &Topics,
        block: &Block,
        mut theta: &mut [f32],
    ) -> Result<f64, (u64, NotANumber)> {
        let (k, width) = (topics.count as usize, stride(topics.count));
        let constants = Constants {
            kernel: self.kernel,
            beta: topics.beta,
            inverse: &self.inverse,
            exclude: self.exclude,
        };
        let (mut t, mut ratios) = (&mut self.t[..], &mut self.ratios[..]);
        let chunks: Vec<_> = cut(&block.starts)
            .into_iter()
            .map(|range| {
                let documents = range.len();
                let nonzeros = (block.starts[range.end] - block.starts[range.start]) as usize;
                let rows = (take(&mut theta, documents * k), take(&mut t, documents * width));
                (range, rows, take(&mut ratios, nonzeros))
            })
            .collect();
        let one_chunk =
            |scratch: &mut Scratch, range: Range<usize>, theta: &mut [f32], t: &mut [Lanes], mut ratios| {
                let mut sum = 0f64;
                for ((d, theta), t) in range.zip(theta.chunks_exact_mut(k)).zip(t.chunks_exact_mut(width)) {
                    let document = block.document(d);
                    let own = take(&mut ratios, document.words.len());
                    if !document.words.is_empty() {
                        sum += tbp::document(constants, topics, document, theta, t, own, scratch)
                            .map_err(|bad| (block.first_document() + d as u64, bad))?;
                    }
                }
                Ok(sum)
            };
        let sums: Vec<Result<f64, (u64, NotANumber)>> = self.pool.install(|| {
            chunks
                .into_par_iter()
                .map_init(
                    || Scratch::new(topics.count),
                    |scratch, (range, (theta, t), ratios)| one_chunk(scratch, range, theta, t, ratios),
                )
                .collect()
        });
        // In the chunks' order, whoever was first.
        sums.into_iter().try_fold(0f64, |total, sum| Ok(total + sum?))
    }

    /// Words read t and ratios, and write phi; lambda follows.
    fn word_phase(&mut self, topics: &mut Topics, columns: &Columns) {
        let (count, width) = (topics.count, stride(topics.count));
        let constants = Constants {
            kernel: self.kernel,
            beta: topics.beta,
            inverse: &self.inverse,
            exclude: self.exclude,
        };
        let (t, ratios, word_tokens) = (&self.t[..], &self.ratios[..], &self.word_tokens[..]);
        let mut rest = topics.phi.all_rows_mut();
        let mut row = 0u32;
        let chunks: Vec<_> = cut(&columns.starts)
            .into_iter()
            .zip(&mut self.deltas)
            .map(|(range, delta)| {
                let (first, last) = (columns.words[range.start], columns.words[range.end - 1]);
                take(&mut rest, (first - row) as usize * width);
                row = last + 1;
                (range, first, take(&mut rest, (last + 1 - first) as usize * width), delta)
            })
            .collect();
        let used = chunks.len();
        let one_chunk = |scratch: &mut Scratch,
                         range: Range<usize>,
                         first: u32,
                         rows: &mut [Lanes],
                         delta: &mut Vec<f64>| {
            delta.clear();
            delta.resize(width * LANES, 0.0);
            for i in range {
                let w = columns.words[i];
                let at = (w - first) as usize * width;
                let uses = columns.uses[columns.starts[i] as usize..columns.starts[i + 1] as usize]
                    .iter()
                    .map(|&(d, n)| (&t[d as usize * width..(d as usize + 1) * width], ratios[n as usize]));
                let tokens = columns.tokens[i];
                let share = tokens as f64 / word_tokens[w as usize] as f64;
                tbp::word(constants, &mut rows[at..at + width], uses, (tokens, share), delta, scratch);
            }
        };
        self.pool.install(|| {
            chunks.into_par_iter().for_each_init(
                || Scratch::new(count),
                |scratch, (range, first, rows, delta)| one_chunk(scratch, range, first, rows, delta),
            );
        });
        for delta in &self.deltas[..used] {
            for (lambda, &change) in topics.lambda.iter_mut().zip(delta) {
                *lambda += change;
            }
        }
    }
}
