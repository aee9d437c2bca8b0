//! A block through `tbp`, on threads: documents are opened, words go through them, documents are closed. No formulas here.
//!
//! Work is cut into chunks by a rule that does not know the number of threads; every chunk writes its own rows and sums,
//! and the sums are added in the chunks' order. So the result is the same, to the bit, for any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::algo::document::NotANumber;
use crate::algo::tbp::{self, Active, Constants, List, Scratch, Word, WordScratch};
use crate::corpus::{Block, Document};
use crate::error::{Error, Result};
use crate::kernel::{
    CheckedPlaces, Documents, Kernel, LANES, Lanes, Logarithm, Places, SHORT, Slot, flat, flat_mut, prefetch,
};
use crate::random::{Purpose, Random};
use crate::store::{Lists, Visited};
use crate::topics::{Topics, stride};

/// Chunks of a phase: enough for many threads, and few enough that their sums cost little.
pub(crate) const CHUNKS: usize = 32;

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

/// The engine, with its buffers.
#[derive(Debug)]
pub(crate) struct Engine {
    pool: rayon::ThreadPool,
    rules: Rules,
    pass: u32,
    block: u64,
    word_tokens: Vec<u64>,
    /// phi of word w is `scales[w]` times its row.
    scales: Vec<f32>,
    /// See `tbp::share`.
    shares: Vec<f32>,
    inverse: Vec<Lanes>,
    /// Of the block's documents: where their topics in use lie in the next three, and these.
    slots: Vec<Slot>,
    places: Vec<Places>,
    t: Vec<Lanes>,
    inverses: Vec<Lanes>,
    /// What every chunk of words has for the documents, one chunk after another.
    sums: Vec<Lanes>,
    /// What theta of every chunk of documents has changed by.
    lambdas: Vec<Vec<f64>>,
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
            word_tokens,
            inverse: Vec::new(),
            slots: Vec::new(),
            places: Vec::new(),
            t: Vec::new(),
            inverses: Vec::new(),
            sums: Vec::new(),
            lambdas: vec![Vec::new(); CHUNKS],
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
        let documents = cut(&block.starts);
        let number = |(d, bad)| (block.first_document() + d as u64, bad);
        if self.grows() {
            self.first_lists(topics, block, lists, &documents).map_err(number)?;
        }
        self.open(topics, lists, &documents);
        let words = self.go_through(topics, block, columns).map_err(number)?;
        self.close(topics, block, lists, &documents).map_err(number)?;
        self.block += 1;
        let tokens = |d: usize| block.document(d).tokens() as f64;
        let norms: f64 = (0..block.documents())
            .map(tokens)
            .filter(|&n| n > 0.0)
            .map(|n| n * libm::log(n + topics.alpha_sum))
            .sum();
        self.log_likelihood += words - norms;
        Ok(words - norms)
    }

    fn constants<'a>(&'a self, topics: &'a Topics) -> Constants<'a> {
        Constants {
            kernel: self.rules.kernel,
            topics,
            scales: &self.scales,
            inverse: &self.inverse,
            exclude: if self.rules.exclude { tbp::EXCLUDE } else { 0.0 },
            active: self.rules.active,
            new: self.grows(),
        }
    }

    /// Gives every document its first list. There is room for the longest; they are closed up.
    fn first_lists(
        &self,
        topics: &Topics,
        block: &Block,
        lists: &mut Lists,
        documents: &[Range<usize>],
    ) -> Result<(), (usize, NotANumber)> {
        let constants = self.constants(topics);
        // The first block has no topics to go by: its documents start at random, and so break the symmetry.
        let random = (self.block == 0).then_some(self.rules.seed);
        let k = topics.count as usize;
        let rooms: Vec<usize> = lists.lengths.iter().map(|&n| n as usize).collect();
        let one = |(scratch, theta): &mut (Scratch, Vec<f32>), d: usize, list: &mut List<'_>| {
            let document = block.document(d);
            if document.words.is_empty() {
                return Ok(());
            }
            start(theta, document, random.map(|seed| (seed, block.first_document() + d as u64)));
            tbp::first_list(constants, document, theta, list, scratch).map_err(|bad| (d, bad))
        };
        let chunks = list_chunks(lists, documents);
        let done: Vec<_> = self.pool.install(|| {
            let new = || (Scratch::new(k as u32), vec![0f32; k]);
            chunks
                .into_par_iter()
                .map_init(new, |scratch, chunk| chunk.for_each(|d, list| one(scratch, d, list)))
                .collect()
        });
        done.into_iter().collect::<Result<(), _>>()?;
        lists.close_up(rooms.into_iter());
        Ok(())
    }

    /// Lays out the documents' topics in use.
    fn open(&mut self, topics: &Topics, lists: &Lists, documents: &[Range<usize>]) {
        let width = stride(topics.count);
        let short = width <= SHORT;
        let (mut at, mut from) = (0, 0);
        let mut starts = Vec::with_capacity(lists.lengths.len());
        self.slots.clear();
        for &length in &lists.lengths {
            let slot = Slot { at, length: length as usize };
            at += if short { width } else { slot.lanes() };
            self.slots.push(slot);
            starts.push(from);
            from += slot.length;
        }
        fit(&mut self.t, at, Lanes::ZERO);
        fit(&mut self.sums, at * CHUNKS, Lanes::ZERO);
        let long = if short { 0 } else { at };
        fit(&mut self.places, long, Places::default());
        fit(&mut self.inverses, long, Lanes::ZERO);
        let (mut t, mut places, mut inverses) = (
            std::mem::take(&mut self.t),
            std::mem::take(&mut self.places),
            std::mem::take(&mut self.inverses),
        );
        let (constants, slots) = (self.constants(topics), &self.slots[..]);
        let (mut rest_t, mut rest_places, mut rest_inverses) =
            (&mut t[..], &mut places[..], &mut inverses[..]);
        let chunks: Vec<_> = documents
            .iter()
            .map(|range| {
                let end = slots.get(range.end).map_or(at, |slot| slot.at);
                let lanes = end - slots[range.start].at;
                let long = if short { 0 } else { lanes };
                let rows = (take(&mut rest_t, lanes), take(&mut rest_inverses, long));
                (range.clone(), take(&mut rest_places, long), rows)
            })
            .collect();
        self.pool.install(|| {
            chunks.into_par_iter().for_each(|(range, mut places, (mut t, mut inverses))| {
                for d in range {
                    let slot = slots[d];
                    let list = starts[d]..starts[d] + slot.length;
                    let list = (&lists.topics[list.clone()], &lists.counts[list]);
                    if short {
                        tbp::open_short(constants, list, take(&mut t, width));
                    } else {
                        let lanes = slot.lanes();
                        let rows = (take(&mut t, lanes), take(&mut inverses, lanes));
                        tbp::open_long(constants, list, take(&mut places, lanes), rows);
                    }
                }
            });
        });
        (self.t, self.places, self.inverses) = (t, places, inverses);
    }

    /// Words make the messages, and renew phi.
    fn go_through(
        &mut self,
        topics: &mut Topics,
        block: &Block,
        columns: &Columns,
    ) -> Result<f64, (usize, NotANumber)> {
        let (count, width, beta) = (topics.count, stride(topics.count), topics.beta);
        let Rules { kernel, exclude, .. } = self.rules;
        let grows = self.grows();
        let e = if exclude { tbp::EXCLUDE } else { 0.0 };
        let (word_tokens, shares) = (&self.word_tokens[..], &self.shares[..]);
        let short = width <= SHORT;
        let documents = Documents {
            slots: &self.slots,
            places: &self.places,
            t: &self.t,
            inverse: if short { &self.inverse } else { &self.inverses },
        };
        let checked = CheckedPlaces::new(documents, width);
        let (mut phi, mut scales) = (topics.phi.all_rows_mut(), &mut self.scales[..]);
        let mut next = 0u32;
        let size = self.t.len().max(1);
        let chunks: Vec<_> = cut(&columns.starts)
            .into_iter()
            .zip(self.sums.chunks_mut(size))
            .map(|(range, sums)| {
                let (first, last) = (columns.words[range.start], columns.words[range.end - 1]);
                let (skip, own) = ((first - next) as usize, (last + 1 - first) as usize);
                take(&mut phi, skip * width);
                take(&mut scales, skip);
                next = last + 1;
                (range, first, take(&mut phi, own * width), take(&mut scales, own), sums)
            })
            .collect();
        let used = chunks.len();
        let one_chunk = |scratch: &mut WordScratch,
                         range: Range<usize>,
                         first: u32,
                         (phi, scales): (&mut [Lanes], &mut [f32]),
                         sums: &mut [Lanes]| {
            sums.fill(Lanes::ZERO);
            let mut log = Logarithm::ZERO;
            for i in range {
                let w = columns.words[i];
                let at = (w - first) as usize;
                if let Some(row) = columns
                    .words
                    .get(i + 1)
                    .and_then(|&w| phi.get((w - first) as usize * width..(w - first + 1) as usize * width))
                {
                    let uses = &columns.uses[columns.starts[i + 1] as usize..columns.starts[i + 2] as usize];
                    if short || uses.len() * LANES > width {
                        prefetch(row);
                    } else {
                        for &(d, _) in uses {
                            documents.prefetch(d, row);
                        }
                    }
                }
                let share = columns.tokens[i] as f64 / word_tokens[w as usize] as f64;
                let word = Word {
                    row: &mut phi[at * width..(at + 1) * width],
                    scale: &mut scales[at],
                    beta,
                    // In the first pass nothing of a document is in phi yet.
                    exclude: (e, if grows { 0.0 } else { e * shares[w as usize] }),
                    uses: &columns.uses[columns.starts[i] as usize..columns.starts[i + 1] as usize],
                    counts: &block.counts,
                    keep: if grows { 1.0 } else { (1.0 - share) as f32 },
                };
                if short {
                    word.renew_short(kernel, &documents, sums, scratch, &mut log)
                } else {
                    word.renew_long(kernel, (&documents, &checked), sums, scratch, &mut log)
                }
                .map_err(|(d, s)| (d as usize, NotANumber(s)))?;
            }
            Ok(log.value())
        };
        let logs: Vec<Result<f64, (usize, NotANumber)>> = self.pool.install(|| {
            let work = chunks.into_par_iter().map_init(
                || WordScratch::new(count),
                |scratch, (range, first, phi, scales, sums)| {
                    one_chunk(scratch, range, first, (phi, scales), sums)
                },
            );
            work.collect()
        });
        self.sums.truncate(used * size);
        // In the chunks' order, whoever was first.
        logs.into_iter().try_fold(0f64, |total, log| Ok(total + log?))
    }

    /// Documents take what their words have for them; lambda follows.
    fn close(
        &mut self,
        topics: &mut Topics,
        block: &Block,
        lists: &mut Lists,
        documents: &[Range<usize>],
    ) -> Result<(), (usize, NotANumber)> {
        let width = stride(topics.count);
        let short = width <= SHORT;
        let size = self.t.len().max(1);
        let rooms: Vec<usize> = self.slots.iter().map(|slot| slot.length).collect();
        let mut lambdas = std::mem::take(&mut self.lambdas);
        let (slots, sums) = (&self.slots[..], &self.sums[..]);
        let constants = self.constants(topics);
        let one = |scratch: &mut Scratch, lambda: &mut [f64], d: usize, list: &mut List<'_>| {
            let tokens = block.document(d).tokens();
            if tokens == 0 {
                return Ok(());
            }
            let lanes = if short { width } else { slots[d].lanes() };
            let parts = sums.chunks(size).map(|chunk| &chunk[slots[d].at..slots[d].at + lanes]);
            tbp::close(constants, tokens, list, (parts, short), lambda, scratch).map_err(|bad| (d, bad))
        };
        let chunks: Vec<_> = list_chunks(lists, documents).into_iter().zip(&mut lambdas).collect();
        let used = chunks.len();
        let done: Vec<_> = self.pool.install(|| {
            let work = chunks.into_par_iter().map_init(
                || Scratch::new(topics.count),
                |scratch, (chunk, lambda)| {
                    lambda.clear();
                    lambda.resize(width * LANES, 0.0);
                    chunk.for_each(|d, list| one(scratch, lambda, d, list))
                },
            );
            work.collect()
        });
        done.into_iter().collect::<Result<(), _>>()?;
        for lambda in &lambdas[..used] {
            for (lambda, &more) in topics.lambda.iter_mut().zip(lambda) {
                *lambda += more;
            }
        }
        self.lambdas = lambdas;
        lists.close_up(rooms.into_iter());
        Ok(())
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
                for phi in row {
                    *phi = (f64::from(*phi) * scale) as f32;
                }
            });
        });
        self.scales.fill(1.0);
        self.sum_lambda(topics);
    }
}

/// Sets a buffer's length. They shrink from pass to pass: much more than is needed is given back.
fn fit<T: Clone>(buffer: &mut Vec<T>, length: usize, value: T) {
    buffer.truncate(length);
    if buffer.capacity() > 2 * length {
        buffer.shrink_to(length);
    }
    buffer.resize(length, value);
}

/// The lists of a run of documents.
struct ListChunk<'a> {
    documents: Range<usize>,
    topics: &'a mut [u32],
    counts: &'a mut [f32],
    lengths: &'a mut [u32],
}

impl ListChunk<'_> {
    fn for_each<E>(self, mut each: impl FnMut(usize, &mut List<'_>) -> Result<(), E>) -> Result<(), E> {
        let (mut topics, mut counts) = (self.topics, self.counts);
        for (d, length) in self.documents.zip(self.lengths) {
            let room = *length as usize;
            each(d, &mut List { topics: take(&mut topics, room), counts: take(&mut counts, room), length })?;
        }
        Ok(())
    }
}

/// The lists by runs of documents.
fn list_chunks<'a>(lists: &'a mut Lists, documents: &[Range<usize>]) -> Vec<ListChunk<'a>> {
    let (mut topics, mut counts, mut lengths) =
        (&mut lists.topics[..], &mut lists.counts[..], &mut lists.lengths[..]);
    let chunk = |documents: &Range<usize>| {
        let lengths = take(&mut lengths, documents.len());
        let total = lengths.iter().map(|&n| n as usize).sum();
        ListChunk {
            documents: documents.clone(),
            topics: take(&mut topics, total),
            counts: take(&mut counts, total),
            lengths,
        }
    };
    documents.iter().map(chunk).collect()
}

/// theta of a document before its first visit: uniform, or a topic at random for each of its words.
fn start(theta: &mut [f32], document: Document<'_>, random: Option<(u64, u64)>) {
    let Some((seed, number)) = random else {
        theta.fill((document.tokens() as f64 / theta.len() as f64) as f32);
        return;
    };
    theta.fill(0.0);
    let mut random = Random::new(seed, Purpose::Start, number);
    for &x in document.counts {
        theta[random.below(theta.len() as u64) as usize] += x as f32;
    }
}
