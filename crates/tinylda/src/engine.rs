//! A block through the two phases of `tbp`, on threads. No formulas here.
//!
//! Work is cut into chunks by a rule that does not know the number of threads; every chunk writes its own rows and sums,
//! and the sums are added in the chunks' order. So the result is the same, to the bit, for any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::algo::document::NotANumber;
use crate::algo::tbp::{self, Active, Constants, List, Scratch, Use, Visit, Word};
use crate::corpus::{Block, Document};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, LANES, Lanes, Places, Ratio, SHORT, Short, flat, flat_mut, prefetch};
use crate::random::{Purpose, Random};
use crate::store::{Lists, Visited};
use crate::topics::{Topics, stride};

/// Chunks of a phase: enough for many threads, and few enough that their sums cost nothing.
const CHUNKS: usize = 64;

/// How many messages ahead the word phase asks for: they lie in no order that the processor could guess.
const AHEAD: usize = 8;

/// Every so many passes phi is moved on along its way since the last time,
pub(crate) const LEAP_EVERY: u32 = 5;
/// from this pass on,
const LEAP_FROM: u32 = 15;
/// by so many times that way; half as far after a leap that did harm.
const LEAP: f32 = 3.0;

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

/// What `tbp` is told by its user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) threads: usize,
    pub(crate) kernel: Kernel,
    pub(crate) exclude: bool,
    pub(crate) active: Active,
    pub(crate) seed: u64,
    /// Whether theta and phi start empty and grow in the first pass; else they were given.
    pub(crate) growing: bool,
    /// The passes to come at the most.
    pub(crate) passes: u32,
}

/// A document of the block: the room its list has, where its places and messages start, and how many topics it uses in
/// this visit.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    room: usize,
    places: usize,
    messages: usize,
    length: usize,
}

/// The two phases, with their buffers.
#[derive(Debug)]
pub(crate) struct Engine {
    pool: rayon::ThreadPool,
    rules: Rules,
    pass: u32,
    block: u64,
    tokens: u64,
    word_tokens: Vec<u64>,
    /// phi of word w is `scales[w]` times its row.
    scales: Vec<f32>,
    /// See `tbp::share`.
    shares: Vec<f32>,
    inverse: Vec<Lanes>,
    smooth: Vec<Lanes>,
    rows: Vec<Row>,
    /// For long rows: topics in use of every document of the block, and every message.
    places: Vec<Places>,
    messages: Vec<Lanes>,
    /// For short rows: t of every document, and what it takes to make every message again.
    t: Vec<Lanes>,
    ratios: Vec<Ratio>,
    /// theta of every chunk of documents, added up.
    deltas: Vec<Vec<f64>>,
    /// phi at the last leap, in 16 bits.
    saved: Vec<u16>,
    leap: f32,
    log_likelihood: f64,
    /// What it was when the last leap was made.
    before_leap: Option<f64>,
}

impl Engine {
    pub(crate) fn new(rules: Rules, word_tokens: Vec<u64>, pieces: &[Columns]) -> Result<Engine> {
        let threads = rules.threads.max(1);
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| Error::Setting {
                option: "--threads",
                found: threads.to_string(),
                expected: "threads that the system can start".into(),
                remedy: format!("Choose fewer ({e})."),
            })?;
        let mut faded = vec![1f64; word_tokens.len()];
        for columns in pieces {
            for (&w, &tokens) in columns.words.iter().zip(&columns.tokens) {
                let share = tokens as f64 / word_tokens[w as usize] as f64;
                if share < 1.0 {
                    faded[w as usize] *= 1.0 - share;
                }
            }
        }
        Ok(Engine {
            pool,
            rules,
            pass: 0,
            block: 0,
            scales: vec![1.0; word_tokens.len()],
            shares: faded.into_iter().map(tbp::share).collect(),
            tokens: word_tokens.iter().sum(),
            word_tokens,
            inverse: Vec::new(),
            smooth: Vec::new(),
            rows: Vec::new(),
            places: Vec::new(),
            messages: Vec::new(),
            t: Vec::new(),
            ratios: Vec::new(),
            deltas: vec![Vec::new(); CHUNKS],
            saved: Vec::new(),
            leap: LEAP,
            log_likelihood: 0.0,
            before_leap: None,
        })
    }

    /// Before the first block of a pass.
    pub(crate) fn begin(&mut self) {
        self.pass += 1;
        self.block = 0;
        self.log_likelihood = 0.0;
    }

    fn grows(&self) -> bool {
        self.rules.growing && self.pass == 1
    }

    /// One block: theta of its documents and phi of its words are renewed. Returns the log-likelihood of the documents as
    /// they came.
    pub(crate) fn block(
        &mut self,
        topics: &mut Topics,
        visit: Visited<'_>,
    ) -> Result<f64, (u64, NotANumber)> {
        let (block, columns, Some(lists)) = visit.lists() else { return Ok(0.0) };
        let sorted;
        let columns = if let Some(columns) = columns {
            columns
        } else {
            sorted = Columns::of(block, topics.words());
            &sorted
        };
        topics.inverse(&mut self.inverse);
        self.smooth.clone_from(&self.inverse);
        flat_mut(&mut self.smooth).iter_mut().for_each(|inverse| *inverse *= topics.beta);
        self.lay_out(block, lists, stride(topics.count));
        let log_likelihood = self.document_phase(topics, block, lists)?;
        self.word_phase(topics, block, columns);
        self.block += 1;
        self.log_likelihood += log_likelihood;
        Ok(log_likelihood)
    }

    /// Where each document's places and messages go.
    fn lay_out(&mut self, block: &Block, lists: &Lists, stride: usize) {
        let (mut places, mut messages) = (0, 0);
        let short = stride <= SHORT;
        self.rows.clear();
        for (d, &length) in lists.lengths.iter().enumerate() {
            let lanes = if short { 0 } else { (length as usize).div_ceil(LANES) };
            self.rows.push(Row { room: length as usize, places, messages, length: 0 });
            places += lanes;
            messages += lanes * (block.starts[d + 1] - block.starts[d]) as usize;
        }
        if short {
            self.t.resize(block.documents() * stride, Lanes::ZERO);
            self.ratios.resize(block.nonzeros(), Ratio::default());
            return;
        }
        // They shrink from pass to pass: give back what is not needed any more.
        if messages * 2 < self.messages.len() {
            self.messages = Vec::new();
            self.places = Vec::new();
        }
        if self.places.len() < places {
            self.places.resize(places, Places::default());
        }
        if self.messages.len() < messages {
            self.messages.resize(messages, Lanes::ZERO);
        }
    }

    /// Documents write theta, places and messages; lambda follows.
    fn document_phase(
        &mut self,
        topics: &mut Topics,
        block: &Block,
        lists: &mut Lists,
    ) -> Result<f64, (u64, NotANumber)> {
        let grows = self.grows();
        let Rules { kernel, exclude, active, seed, .. } = self.rules;
        let e = if exclude { tbp::EXCLUDE } else { 0.0 };
        let constants = Constants {
            kernel,
            topics,
            scales: &self.scales,
            shares: &self.shares,
            inverse: &self.inverse,
            smooth: &self.smooth,
            // In the first pass nothing of a document is in phi yet.
            exclude: (e, if grows { 0.0 } else { e }),
            active,
        };
        let k = topics.count as usize;
        // The first block has no topics to go by: its documents start at random, and so break the symmetry.
        let random = self.block == 0;
        let first_document = block.first_document();
        let Lists { lengths, topics: list_topics, counts } = lists;
        let (mut list_topics, mut counts, mut rest) =
            (&mut list_topics[..], &mut counts[..], &mut lengths[..]);
        let (mut places, mut messages) = (&mut self.places[..], &mut self.messages[..]);
        let (mut t, mut ratios) = (&mut self.t[..], &mut self.ratios[..]);
        let width = stride(topics.count);
        let short = width <= SHORT;
        let mut rows = &mut self.rows[..];
        let chunks: Vec<_> = cut(&block.starts)
            .into_iter()
            .zip(&mut self.deltas)
            .map(|(range, delta)| {
                let own = take(&mut rows, range.len());
                let mut sizes = (0, 0, 0);
                for (d, row) in range.clone().zip(own.iter()) {
                    let lanes = if short { 0 } else { row.room.div_ceil(LANES) };
                    let words = (block.starts[d + 1] - block.starts[d]) as usize;
                    sizes = (sizes.0 + row.room, sizes.1 + lanes, sizes.2 + lanes * words);
                }
                let nonzeros = (block.starts[range.end] - block.starts[range.start]) as usize;
                let visits = if short {
                    Visit::Short { t: take(&mut t, range.len() * width), ratios: take(&mut ratios, nonzeros) }
                } else {
                    Visit::Long { places: take(&mut places, sizes.1), messages: take(&mut messages, sizes.2) }
                };
                let lists = (
                    take(&mut list_topics, sizes.0),
                    take(&mut counts, sizes.0),
                    take(&mut rest, range.len()),
                );
                (range, own, lists, visits, delta)
            })
            .collect();
        let used = chunks.len();
        let one_chunk = |(scratch, theta): &mut (Scratch, Vec<f32>),
                         range: Range<usize>,
                         rows: &mut [Row],
                         (mut all_topics, mut all_counts, lengths): (&mut [u32], &mut [f32], &mut [u32]),
                         mut visits: Visit<'_>,
                         delta: &mut Vec<f64>| {
            delta.clear();
            delta.resize(stride(k as u32) * LANES, 0.0);
            let mut sum = 0f64;
            for ((d, row), length) in range.zip(rows).zip(lengths) {
                let document = block.document(d);
                let (topics, counts) = (take(&mut all_topics, row.room), take(&mut all_counts, row.room));
                let visit = match &mut visits {
                    Visit::Short { t, ratios } => {
                        Visit::Short { t: take(t, width), ratios: take(ratios, document.words.len()) }
                    }
                    Visit::Long { places, messages } => {
                        let lanes = row.room.div_ceil(LANES);
                        Visit::Long {
                            places: take(places, lanes),
                            messages: take(messages, lanes * document.words.len()),
                        }
                    }
                };
                if document.words.is_empty() {
                    continue;
                }
                let number = first_document + d as u64;
                let failed = |bad| (number, bad);
                if grows {
                    start(theta, document.tokens(), random.then(|| (seed, number, document)));
                    let list = List { topics: &mut *topics, counts: &mut *counts, length: &mut *length };
                    tbp::first_list(constants, document, theta, list, scratch).map_err(failed)?;
                }
                row.length = *length as usize;
                let list = List { topics, counts, length };
                sum += tbp::document(constants, document, list, visit, delta, scratch).map_err(failed)?;
            }
            Ok(sum)
        };
        let sums: Vec<Result<f64, (u64, NotANumber)>> = self.pool.install(|| {
            chunks
                .into_par_iter()
                .map_init(
                    || (Scratch::new(k as u32), vec![0f32; if grows { k } else { 0 }]),
                    |scratch, (range, rows, lists, visits, delta)| {
                        one_chunk(scratch, range, rows, lists, visits, delta)
                    },
                )
                .collect()
        });
        // In the chunks' order, whoever was first.
        let log_likelihood = sums.into_iter().try_fold(0f64, |total, sum| Ok(total + sum?))?;
        let tokens: u64 = block.counts.iter().map(|&x| u64::from(x)).sum();
        let keep = if grows { 1.0 } else { 1.0 - tokens as f64 / self.tokens as f64 };
        topics.lambda.iter_mut().for_each(|lambda| *lambda *= keep);
        for delta in &self.deltas[..used] {
            for (lambda, &more) in topics.lambda.iter_mut().zip(delta) {
                *lambda += more;
            }
        }
        lists.close_up(self.rows.iter().map(|row| row.room));
        Ok(log_likelihood)
    }

    /// Words add the messages up and write phi.
    fn word_phase(&mut self, topics: &mut Topics, block: &Block, columns: &Columns) {
        let (width, kernel, grows) = (stride(topics.count), self.rules.kernel, self.grows());
        let (rows, word_tokens) = (&self.rows[..], &self.word_tokens[..]);
        let (places, messages) = (&self.places[..], &self.messages[..]);
        let visited = (&self.t[..], &self.ratios[..]);
        let shared = Short { inverse: &self.inverse, smooth: &self.smooth };
        let (mut phi, mut scales) = (topics.phi.all_rows_mut(), &mut self.scales[..]);
        let mut next = 0u32;
        let chunks: Vec<_> = cut(&columns.starts)
            .into_iter()
            .map(|range| {
                let (first, last) = (columns.words[range.start], columns.words[range.end - 1]);
                let (skip, own) = ((first - next) as usize, (last + 1 - first) as usize);
                take(&mut phi, skip * width);
                take(&mut scales, skip);
                next = last + 1;
                (range, first, take(&mut phi, own * width), take(&mut scales, own))
            })
            .collect();
        let one_chunk = |counts: &mut Vec<Lanes>,
                         range: Range<usize>,
                         first: u32,
                         phi: &mut [Lanes],
                         scales: &mut [f32]| {
            let find = |&(d, n): &(u32, u32)| {
                let row = rows[d as usize];
                let lanes = row.length.div_ceil(LANES);
                let within = (n - block.starts[d as usize]) as usize;
                Use {
                    places: &places[row.places..row.places + lanes],
                    length: row.length,
                    message: &messages[row.messages + within * lanes..][..lanes],
                }
            };
            let mut ahead = columns.uses.iter().skip(columns.starts[range.start] as usize + AHEAD);
            for i in range {
                let w = columns.words[i];
                let at = (w - first) as usize;
                let uses = &columns.uses[columns.starts[i] as usize..columns.starts[i + 1] as usize];
                let share = columns.tokens[i] as f64 / word_tokens[w as usize] as f64;
                let keep = if grows { 1.0 } else { (1.0 - share) as f32 };
                let word = Word { row: &mut phi[at * width..(at + 1) * width], scale: &mut scales[at] };
                if width <= SHORT {
                    word.renew_short((kernel, shared), uses, visited, keep, counts);
                    continue;
                }
                let asking = uses.iter().map(|used| {
                    if let Some(coming) = ahead.next() {
                        prefetch(find(coming).message);
                    }
                    find(used)
                });
                word.renew(kernel, (asking, uses.iter().map(find)), keep, flat_mut(counts));
            }
        };
        self.pool.install(|| {
            chunks.into_par_iter().for_each_init(
                || vec![Lanes::ZERO; width],
                |counts, (range, first, phi, scales)| one_chunk(counts, range, first, phi, scales),
            );
        });
    }

    /// After the last block of a pass: phi is moved on, now and then.
    pub(crate) fn end(&mut self, topics: &mut Topics) {
        let Rules { exclude, passes, .. } = self.rules;
        // Not so near the end that what a leap stirs up could not settle any more.
        let due = self.pass >= LEAP_FROM && self.pass.is_multiple_of(LEAP_EVERY) && self.pass + 3 < passes;
        if !(exclude && due) {
            return;
        }
        if self.before_leap.is_some_and(|before| before > self.log_likelihood) {
            self.leap /= 2.0;
        }
        self.before_leap = Some(self.log_likelihood);
        let first = self.saved.is_empty();
        let (width, kernel, step) = (stride(topics.count), self.rules.kernel, self.leap);
        self.saved.resize(topics.phi.all_rows().len() * LANES, 0);
        let totals = &self.word_tokens[..];
        let rows = topics.phi.all_rows_mut().par_chunks_exact_mut(width);
        let rows = rows.zip(self.saved.par_chunks_exact_mut(width * LANES)).zip(&mut self.scales).zip(totals);
        self.pool.install(|| {
            rows.for_each(|(((row, saved), scale), &total)| {
                if first {
                    kernel.keep(flat_mut(row), *scale, saved);
                } else {
                    kernel.leap(flat_mut(row), *scale, saved, step);
                    let sum = kernel.sum(row);
                    kernel.keep(flat_mut(row), if sum > 0.0 { total as f32 / sum } else { 0.0 }, saved);
                }
                *scale = 1.0;
            });
        });
        self.sum_lambda(topics);
    }

    /// Sets lambda to what phi says: chunks of words on threads, added in order.
    fn sum_lambda(&self, topics: &mut Topics) {
        let width = stride(topics.count);
        let words = (topics.words() as usize).div_ceil(CHUNKS).max(1);
        let sums: Vec<Vec<f64>> = self.pool.install(|| {
            let chunks = topics.phi.all_rows().par_chunks(words * width);
            chunks
                .map(|rows| {
                    let mut sum = vec![0f64; width * LANES];
                    for row in rows.chunks_exact(width) {
                        for (sum, &phi) in sum.iter_mut().zip(flat(row)) {
                            *sum += f64::from(phi);
                        }
                    }
                    sum
                })
                .collect()
        });
        topics.lambda.fill(0.0);
        for sum in sums {
            for (lambda, sum) in topics.lambda.iter_mut().zip(sum) {
                *lambda += sum;
            }
        }
    }

    /// After the last pass: the scales are multiplied out, every word's row adds up to its tokens, and lambda to phi.
    pub(crate) fn finish(&mut self, topics: &mut Topics) {
        let width = stride(topics.count);
        let totals = &self.word_tokens[..];
        self.pool.install(|| {
            topics.phi.all_rows_mut().par_chunks_exact_mut(width).zip(totals).for_each(|(row, &total)| {
                let row = flat_mut(row);
                let sum: f64 = row.iter().map(|&phi| f64::from(phi)).sum();
                let scale = if sum > 0.0 { total as f64 / sum } else { 0.0 };
                row.iter_mut().for_each(|phi| *phi = (f64::from(*phi) * scale) as f32);
            });
        });
        self.scales.fill(1.0);
        self.sum_lambda(topics);
    }
}

/// theta of a document before its first visit: uniform, or a topic at random for each of its words.
fn start(theta: &mut [f32], tokens: u64, random: Option<(u64, u64, Document<'_>)>) {
    let Some((seed, number, document)) = random else {
        theta.fill((tokens as f64 / theta.len() as f64) as f32);
        return;
    };
    theta.fill(0.0);
    let mut random = Random::new(seed, Purpose::Start, number);
    for &x in document.counts {
        theta[random.below(theta.len() as u64) as usize] += x as f32;
    }
}
