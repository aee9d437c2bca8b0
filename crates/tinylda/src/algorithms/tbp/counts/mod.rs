//! phi of `tbp` during training: integers, exact whatever the order in which they are added.
//!
//! A word with many tokens has a row of 32-bit numbers, a word with fewer tokens a row of 16-bit
//! numbers, and a rare word a list of its topics (`rare`). Words are divided into groups, so that
//! threads can change rows without conflicts; the division does not depend on the number of
//! threads. Deltas address *cells*. A cell stands for a word and a topic, wherever the row is
//! stored, so deltas depend neither on the number of threads nor on the available memory. If there
//! is not enough memory for all rows, those of the least frequent words are in a file (`on_disk`).
//! The location of a row is looked up when deltas are applied.
//!
//! Start reading with [`PhiCounts`]. This module knows nothing about documents, messages or the
//! schedule.
//!
//! Legend: K topics; a row is `phi[w,:]` in units; `factor[k]` = `alpha[k]/(lambda[k] + W*beta)`;
//! the *prior mass* of a word is `sum_k factor[k]*(row[k] + beta)`, and its *topic samples* are
//! topics sampled in proportion to the terms of that sum. Both are as old as the last
//! [`PhiCounts::recompute_prior_mass`].

mod on_disk;
mod rare;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use super::cpu::active_topics::PhiRow;
use super::delta::{Delta, DeltaList, DeltaSource, MAX_CELLS};
use super::messages::UNITS_PER_TOKEN;
use crate::error::{Error, Result};
use crate::memory;
use crate::random::{Purpose, Random};
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Kernel, LANES, Lanes, prefetch_address, prefetch_for_write, prefetch_line};
use crate::threads::{Threads, locked};
use crate::topics::stride;
use on_disk::OnDisk;
use rare::{ExpandedRow, RarePriorMass, RareRow, TopicEntrySorter, TopicWeights};

/// Number of groups of equal work into which words are divided. There are more if a group would
/// have too many cells.
pub(super) const GROUPS: usize = 32;
/// Work of a delta of a rare word, relative to that of another word.
const RARE_WORK: u64 = 8;
/// Largest number of units in a row of 32-bit numbers, which are converted to floats as signed
/// integers.
const MAX_UNITS: u64 = (1 << 31) - 1;

/// Returns the largest number of tokens of a word, with `units` units each.
pub(crate) const fn max_tokens(units: u32) -> u64 {
    MAX_UNITS / units as u64
}

/// Number of tokens per topic sample of a word.
const TOKENS_PER_SAMPLE: u64 = 4;
/// Smallest and largest number of topic samples of a word.
const SAMPLES: (u64, u64) = (2, 64);

/// Form of rows of 16-bit numbers.
const NARROW: usize = 0;
/// Form of rows of 32-bit numbers.
const WIDE: usize = 1;
/// Form of lists of topics.
const RARE: usize = 2;
/// Number of forms of rows.
pub(super) const FORMS: usize = 3;
/// Number of kinds of rows: each form in memory, and each form in a file.
const KINDS: usize = 2 * FORMS;

/// Number of bits of the kind in the location of a row.
const KIND_BITS: u32 = 3;

/// Returns the location of a row: its kind, and its number among the rows of that kind.
fn location_of(kind: usize, number: usize) -> u32 {
    (number << KIND_BITS | kind) as u32
}

/// Returns the kind and the number of a row.
#[inline]
fn kind_and_number(location: u32) -> (usize, usize) {
    (location as usize % (1 << KIND_BITS), location as usize >> KIND_BITS)
}

/// Returns the form of a row, wherever it is.
fn form_of(location: u32) -> usize {
    kind_and_number(location).0 % FORMS
}

/// The location of a word's row and of its cells, and its prior mass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowAddress {
    /// Location of the row; see [`location_of`].
    row: u32,
    /// List that collects deltas of the row.
    pub(crate) list: u32,
    /// First cell of the row.
    pub(crate) cell: u32,
    /// Prior mass of the word, as of the last [`PhiCounts::recompute_prior_mass`].
    pub(crate) prior_mass: f32,
}

/// Where rows may be stored.
#[derive(Debug, Clone)]
pub(crate) struct RowStorage {
    /// Bytes for rows in memory. The rows of the most frequent words take precedence.
    pub(crate) memory: u64,
    /// Folder for a file with the other rows.
    pub(crate) folder: Option<PathBuf>,
}

/// Buffer for a row that is not in memory in the form that the kernels need.
#[derive(Debug, Default, Clone)]
pub(crate) struct RowBuffer {
    file: on_disk::FileRow,
    expanded: ExpandedRow,
}

/// phi in units; the module documentation describes its structure.
#[derive(Debug)]
pub(crate) struct PhiCounts {
    addresses: Vec<RowAddress>,
    rows: PhiRows,
    /// Index of the end of each word's samples.
    ends: Vec<u32>,
    /// Topic samples of all words.
    samples: Vec<u16>,
    /// Start of every group, followed by the end of the last.
    groups: Vec<GroupStart>,
}

/// The rows, in memory and in the file.
#[derive(Debug)]
struct PhiRows {
    /// Number of columns of a row, padding included.
    width: usize,
    narrow: Vec<u16>,
    wide: Vec<u32>,
    rare: Vec<RareRow>,
    /// Per-thread scratch. Allocating it for each use would make threads wait for each other.
    sorters: Vec<Mutex<TopicEntrySorter>>,
    on_disk: Option<OnDisk>,
    /// For each form, the locations of the rows of that form in the order of the words. Empty if
    /// all rows are in memory.
    locations: [Vec<u32>; FORMS],
}

/// Start of a group of words.
#[derive(Debug, Clone, Copy, Default)]
struct GroupStart {
    /// First word of the group.
    word: usize,
    /// First row of each kind.
    rows: [usize; KINDS],
    /// First word of each form, wherever its row is.
    forms: [usize; FORMS],
}

/// Returns the form of the row of a word with this number of tokens.
fn form(tokens: u64, topics: u32, units: u32) -> usize {
    if rare::is_rare(tokens, topics) {
        RARE
    } else if u16::try_from(tokens.saturating_mul(u64::from(units))).is_ok() {
        NARROW
    } else {
        WIDE
    }
}

/// Returns the work of applying `deltas` deltas to rows of a form. The number of deltas is in
/// proportion to the tokens.
fn work(deltas: u64, form: usize) -> u64 {
    if form == RARE { RARE_WORK * deltas } else { deltas }
}

/// Returns the largest number of bytes in memory of the row of a word that has `least` to `most`
/// tokens.
pub(crate) fn row_bytes((least, most): (u64, u64), topics: u32, units: u32) -> u64 {
    let width = stride(topics) as u64 * LANES as u64;
    let rare = if form(least, topics, units) == RARE { rare::max_bytes(most, units, width) } else { 0 };
    match form(most, topics, units) {
        RARE => rare,
        WIDE => width.saturating_mul(4).max(rare),
        _ => width.saturating_mul(2).max(rare),
    }
}

/// Returns the bytes of per-word data other than rows. With a file, the locations of rows are
/// stored twice.
pub(super) fn word_bytes(words: u32, samples: u64, file: bool) -> u64 {
    let each = size_of::<RowAddress>() as u64 + if file { 8 } else { 4 };
    u64::from(words).saturating_mul(each).saturating_add(samples.saturating_mul(2))
}

/// Applies deltas to consecutive rows of numbers.
fn apply_dense<'a, N: Copy>(
    numbers: &mut [N],
    deltas: impl Iterator<Item = &'a DeltaList>,
    add: impl Fn(N, i32) -> N,
) {
    /// Number of 32-bit numbers of a list by which cells are prefetched ahead.
    const AHEAD: usize = 24;
    let prefetch = |numbers: &[N], cell: u32| {
        prefetch_for_write(numbers.as_ptr().wrapping_add(cell as usize).cast());
    };
    let mut lists = deltas.peekable();
    while let Some(deltas) = lists.next() {
        if let Some(next) = lists.peek() {
            next.prefetch();
        }
        let mut deltas = deltas.iter();
        deltas.peek_cells(AHEAD).for_each(|cell| prefetch(numbers, cell));
        while let Some(delta) = deltas.next() {
            if let Some(cell) = deltas.peek_cell(AHEAD) {
                prefetch(numbers, cell);
            }
            let n = &mut numbers[delta.cell as usize];
            *n = add(*n, delta.units);
        }
    }
}

/// The rows in memory of a group of words.
struct GroupRows<'a> {
    narrow: &'a mut [u16],
    wide: &'a mut [u32],
    rare: &'a mut [RareRow],
    start: GroupStart,
}

impl GroupRows<'_> {
    /// Applies deltas whose cells refer to rows in memory. The order of deltas is arbitrary, so a
    /// number may temporarily leave its range.
    fn apply<'a>(
        &mut self,
        form: usize,
        deltas: impl Iterator<Item = &'a DeltaList>,
        sorter: &mut TopicEntrySorter,
    ) {
        match form {
            NARROW => apply_dense(self.narrow, deltas, |n, units| n.wrapping_add(units as u16)),
            WIDE => apply_dense(self.wide, deltas, |n, units| n.wrapping_add(units as u32)),
            _ => rare::apply(self.rare, deltas, sorter),
        }
    }

    /// Divides the deltas of a form into those of rows in memory and those of rows in the file,
    /// with cells that count these rows. `locations` has the location of the row of every word of
    /// the form.
    fn divide<'a>(
        &self,
        width: usize,
        form: usize,
        locations: &[u32],
        deltas: impl Iterator<Item = &'a DeltaList>,
    ) -> (DeltaList, Vec<Delta>) {
        let (mut here, mut there) = (DeltaList::default(), Vec::new());
        for delta in deltas.flat_map(DeltaList::iter) {
            let (number, topic) = (delta.cell as usize / width, delta.cell as usize % width);
            let (kind, row) = kind_and_number(locations[self.start.forms[form] + number]);
            let delta = Delta { cell: ((row - self.start.rows[kind]) * width + topic) as u32, ..delta };
            if kind < FORMS {
                here.push(delta);
            } else {
                there.push(delta);
            }
        }
        (here, there)
    }
}

/// Per-thread buffers for computing prior masses.
struct PriorMassScratch {
    row: Vec<Lanes>,
    sums: Vec<f32>,
    buffer: RowBuffer,
    rare_weights: TopicWeights,
}

/// Returns the number of topic samples of a word with this number of tokens.
pub(crate) fn topic_sample_count(tokens: u64) -> u64 {
    if tokens == 0 { 0 } else { (tokens / TOKENS_PER_SAMPLE).clamp(SAMPLES.0, SAMPLES.1) }
}

/// Returns for every word whether its row stays in memory: the most frequent words, as many as fit.
fn in_memory(word_tokens: &[u64], row: impl Fn(u64) -> u64, memory: u64) -> Vec<bool> {
    let all = word_tokens.iter().fold(0u64, |sum, &n| sum.saturating_add(row(n)));
    let mut stays = vec![all <= memory; word_tokens.len()];
    if all > memory {
        let mut order: Vec<u32> = (0..word_tokens.len() as u32).collect();
        order.sort_unstable_by_key(|&w| (std::cmp::Reverse(word_tokens[w as usize]), w));
        let mut used = 0;
        for w in order {
            used += row(word_tokens[w as usize]);
            if used > memory {
                break;
            }
            stays[w as usize] = true;
        }
    }
    stays
}

/// Returns the error that phi cannot be held in any form.
fn too_large(word_tokens: &[u64], width: usize, storage: &RowStorage) -> Error {
    Error::Memory {
        need: (word_tokens.len() as u64).saturating_mul(2 * width as u64),
        have: storage.memory,
        remedy: "reduce {topics}, or use a smaller vocabulary".into(),
    }
}

/// Returns the locations of the rows of each form, in the order of the words.
fn locations_by_form(addresses: &[RowAddress]) -> [Vec<u32>; FORMS] {
    let mut locations: [Vec<u32>; FORMS] = Default::default();
    for address in addresses {
        locations[form_of(address.row)].push(address.row);
    }
    locations
}

/// Assignment of rows and cells to words.
struct RowLayout {
    addresses: Vec<RowAddress>,
    /// Start of every group, followed by the end of the last.
    groups: Vec<GroupStart>,
    /// Index of the end of each word's topic samples.
    ends: Vec<u32>,
}

impl RowLayout {
    /// Assigns rows and cells. `stays` says for every word whether its row is in memory. Returns
    /// `None` if there are too many topic samples to address.
    fn new(word_tokens: &[u64], topics: u32, stays: &[bool]) -> Option<RowLayout> {
        let width = stride(topics) * LANES;
        let form_of = |n: u64| form(n, topics, UNITS_PER_TOKEN);
        let all: u64 = word_tokens.iter().map(|&n| work(n, form_of(n))).sum();
        let mut addresses = Vec::with_capacity(word_tokens.len());
        let (mut groups, mut ends) = (vec![GroupStart::default()], Vec::with_capacity(word_tokens.len()));
        let mut at = GroupStart::default();
        let (mut done, mut start, mut samples) = (0, at, 0u64);
        for (w, (&n, &stays)) in word_tokens.iter().zip(stays).enumerate() {
            let form = form_of(n);
            let kind = form + if stays { 0 } else { FORMS };
            addresses.push(RowAddress {
                row: location_of(kind, at.rows[kind]),
                list: ((groups.len() - 1) * FORMS + form) as u32,
                cell: ((at.forms[form] - start.forms[form]) * width) as u32,
                prior_mass: 0.0,
            });
            at.rows[kind] += 1;
            at.forms[form] += 1;
            at.word = w + 1;
            samples += topic_sample_count(n);
            ends.push(u32::try_from(samples).ok()?);
            done += work(n, form);
            let full = (at.forms[form] + 1 - start.forms[form]) * width > MAX_CELLS;
            if done > all / GROUPS as u64 || full {
                groups.push(at);
                (start, done) = (at, 0);
            }
        }
        groups.push(at);
        Some(RowLayout { addresses, groups, ends })
    }
}

impl PhiCounts {
    /// Creates counts of zero for words with these numbers of tokens.
    pub(crate) fn new(
        word_tokens: &[u64],
        topics: u32,
        storage: &RowStorage,
        threads: usize,
    ) -> Result<PhiCounts> {
        let width = stride(topics) * LANES;
        if word_tokens.len() >= 1 << 29 || width > MAX_CELLS {
            return Err(too_large(word_tokens, width, storage));
        }
        let bytes = |n: u64| row_bytes((n, n), topics, UNITS_PER_TOKEN);
        let memory = if storage.folder.is_some() { storage.memory } else { u64::MAX };
        let stays = in_memory(word_tokens, bytes, memory);
        let layout = RowLayout::new(word_tokens, topics, &stays)
            .ok_or_else(|| too_large(word_tokens, width, storage))?;
        let RowLayout { addresses, groups, ends } = layout;
        let rows = groups.last().map_or([0; KINDS], |last| last.rows);
        let [narrow, wide, rare, ref in_file @ ..] = rows;
        let on_disk = match &storage.folder {
            Some(folder) if in_file.iter().any(|&rows| rows > 0) => {
                Some(OnDisk::new(folder, *in_file, width)?)
            }
            _ => None,
        };
        let locations = on_disk.as_ref().map(|_| locations_by_form(&addresses)).unwrap_or_default();
        let samples = ends.last().map_or(0, |&end| end as usize);
        let rows = PhiRows {
            width,
            narrow: zeros(narrow * width)?,
            wide: zeros(wide * width)?,
            rare: zeros(rare)?,
            sorters: (0..threads).map(|_| Mutex::new(TopicEntrySorter::new(width))).collect(),
            on_disk,
            locations,
        };
        Ok(PhiCounts { addresses, rows, samples: vec![0; samples], ends, groups })
    }

    /// Returns the number of lists in which deltas are collected: one per group and form of rows.
    pub(crate) fn lists(&self) -> usize {
        (self.groups.len() - 1) * FORMS
    }

    /// Returns a word's row. A row that is not in memory as the kernels need it is copied to the
    /// buffer.
    #[inline]
    pub(crate) fn row<'a>(&'a self, word: u32, buffer: &'a mut RowBuffer) -> Result<PhiRow<'a>> {
        self.rows.row(self.addresses[word as usize].row, buffer)
    }

    /// Prefetches a row that will be needed soon, if it is in memory.
    #[inline]
    pub(crate) fn prefetch(&self, word: u32) {
        let row = self.addresses[word as usize].row;
        if let Some(row) = self.rows.row_in_memory(row) {
            row.prefetch();
        } else if let (RARE, number) = kind_and_number(row) {
            self.rows.rare[number].prefetch();
        }
    }

    /// Prefetches what [`PhiCounts::prefetch`] will read of a rare word.
    #[inline]
    pub(crate) fn prefetch_rare(&self, word: u32) {
        let address = &self.addresses[word as usize];
        let (kind, number) = kind_and_number(address.row);
        // Without a branch, which the processor could not predict.
        let rare: *const u8 = self.rows.rare.as_ptr().wrapping_add(number).cast();
        prefetch_address(if kind == RARE { rare } else { std::ptr::from_ref(address).cast() });
    }

    /// Prefetches the address of a word's row.
    #[inline]
    pub(crate) fn prefetch_address(&self, word: u32) {
        prefetch_line(&self.addresses[word as usize]);
        prefetch_line(&self.ends[word as usize]);
    }

    /// Returns a word's row if it is in memory in the form that the kernels need.
    #[inline]
    pub(crate) fn row_in_memory(&self, word: u32) -> Option<PhiRow<'_>> {
        self.rows.row_in_memory(self.addresses[word as usize].row)
    }

    /// Returns the address of a word's row.
    #[inline]
    pub(crate) fn address(&self, word: u32) -> RowAddress {
        self.addresses[word as usize]
    }

    /// Returns a word's topic samples.
    pub(crate) fn topic_samples(&self, word: u32) -> &[u16] {
        let start = if word == 0 { 0 } else { self.ends[word as usize - 1] };
        &self.samples[start as usize..self.ends[word as usize] as usize]
    }

    /// Returns the topic samples of a word, and the index of the one to start from, given a random
    /// number.
    #[inline]
    pub(crate) fn topic_samples_from(&self, word: u32, bits: u32) -> (&[u16], usize) {
        let samples = self.topic_samples(word);
        (samples, ((u64::from(bits) * samples.len() as u64) >> 32) as usize)
    }

    /// Prefetches the topic sample to start from, given a random number.
    #[inline]
    pub(crate) fn prefetch_sample(&self, word: u32, bits: u32) {
        let (samples, at) = self.topic_samples_from(word, bits);
        prefetch_address(samples.as_ptr().wrapping_add(at).cast());
    }

    /// Recomputes the prior mass and the topic samples of all words. `key` distinguishes the random
    /// numbers of one call from those of another.
    pub(crate) fn recompute_prior_mass(
        &mut self,
        threads: &Threads,
        kernel: Kernel,
        (factors, beta): (&[Lanes], f32),
        seed: u64,
        key: u64,
    ) -> Result<()> {
        let PhiCounts { addresses, rows, ends, samples, groups, .. } = self;
        rows.sort_lists(threads, groups);
        let rare_mass = RarePriorMass::new(factors, beta);
        let (mut rest_addresses, mut rest_samples) = (&mut addresses[..], &mut samples[..]);
        let mut parts = Vec::with_capacity(groups.len());
        let end_of = |word: usize| if word == 0 { 0 } else { ends[word - 1] as usize };
        for pair in groups.windows(2) {
            let (from, to) = (pair[0].word, pair[1].word);
            let (own_addresses, more) = rest_addresses.split_at_mut(to - from);
            let (own_samples, other) = rest_samples.split_at_mut(end_of(to) - end_of(from));
            (rest_addresses, rest_samples) = (more, other);
            parts.push((from, own_addresses, own_samples));
        }
        let mut done: Vec<Result<()>> = parts.iter().map(|_| Ok(())).collect();
        let parts = parts.into_iter().zip(&mut done).map(|part| (part.0.1.len() as u64, part)).collect();
        let init = |_| PriorMassScratch {
            row: vec![Lanes::ZERO; factors.len()],
            sums: Vec::with_capacity(factors.len()),
            buffer: RowBuffer::default(),
            rare_weights: TopicWeights::default(),
        };
        threads.share(
            parts,
            init,
            |PriorMassScratch { row, sums, buffer, rare_weights }, ((from, addresses, mut rest), done)| {
                *done = addresses.iter_mut().enumerate().try_for_each(|(i, address)| {
                    let word = from + i;
                    let (own, more) = std::mem::take(&mut rest).split_at_mut(end_of(word + 1) - end_of(word));
                    rest = more;
                    let u =
                        Random::new(seed, Purpose::TopicSample, key.wrapping_add(word as u64)).unit() as f32;
                    if form_of(address.row) == RARE {
                        address.prior_mass =
                            rows.rare_prior_mass(address.row, &rare_mass, buffer, rare_weights)?;
                        rare_mass.sample(rare_weights, address.prior_mass, u, own);
                    } else {
                        let numbers = rows.row(address.row, buffer)?;
                        address.prior_mass = kernel.prior_weights(numbers, factors, beta, row, sums);
                        sample(row, sums, address.prior_mass, u, own);
                    }
                    Ok(())
                });
            },
        );
        done.into_iter().collect()
    }

    /// Applies deltas, groups of words in parallel.
    pub(crate) fn apply(&mut self, threads: &Threads, deltas: &impl DeltaSource) -> Result<()> {
        let PhiCounts {
            rows: PhiRows { width, narrow, wide, rare, on_disk, sorters, locations },
            groups,
            ..
        } = self;
        let (width, on_disk, locations) = (*width, on_disk.as_ref(), &*locations);
        let (mut rest_narrow, mut rest_wide, mut rest_rare) = (&mut narrow[..], &mut wide[..], &mut rare[..]);
        let mut parts = Vec::with_capacity(groups.len());
        for pair in groups.windows(2) {
            let rows = |form: usize| pair[1].rows[form] - pair[0].rows[form];
            let (own_narrow, more) = rest_narrow.split_at_mut(rows(NARROW) * width);
            let (own_wide, other) = rest_wide.split_at_mut(rows(WIDE) * width);
            let (own_rare, others) = rest_rare.split_at_mut(rows(RARE));
            (rest_narrow, rest_wide, rest_rare) = (more, other, others);
            parts.push(GroupRows { narrow: own_narrow, wide: own_wide, rare: own_rare, start: pair[0] });
        }
        let work = |group: usize| {
            let lists = |form: usize| deltas.in_memory(FORMS * group + form);
            let numbers = |form: usize| lists(form).map(DeltaList::numbers).sum::<u64>();
            (0..FORMS).map(|form| work(numbers(form), form)).sum()
        };
        let mut done: Vec<Result<()>> = parts.iter().map(|_| Ok(())).collect();
        let parts = parts.into_iter().zip(&mut done).enumerate();
        let parts = parts.map(|(group, part)| (work(group), (group, part))).collect();
        let sorter = |thread: usize| of_thread(sorters, thread);
        threads.share(parts, sorter, |sorter, (group, (mut rows, done))| {
            let mut apply = |form: usize, lists: &mut dyn Iterator<Item = &DeltaList>| {
                let Some(on_disk) = on_disk else {
                    rows.apply(form, lists, sorter);
                    return Ok(());
                };
                let (here, there) = rows.divide(width, form, &locations[form], lists);
                rows.apply(form, std::iter::once(&here), sorter);
                on_disk.apply(form, rows.start.rows[FORMS + form], there)
            };
            *done = (0..FORMS).try_for_each(|form| {
                let list = FORMS * group + form;
                apply(form, &mut deltas.in_memory(list))?;
                deltas.for_each_block(list, |block| apply(form, &mut std::iter::once(block)))
            });
        });
        done.into_iter().collect()
    }

    /// Sets all counts to zero.
    pub(crate) fn clear(&mut self) -> Result<()> {
        let PhiRows { narrow, wide, rare, on_disk, .. } = &mut self.rows;
        narrow.fill(0);
        wide.fill(0);
        rare.fill(RareRow::default());
        on_disk.as_ref().map_or(Ok(()), OnDisk::clear)
    }

    /// Writes phi of a word to `to`, in tokens.
    pub(crate) fn fill(&self, word: u32, units: u32, buffer: &mut RowBuffer, to: &mut [f32]) -> Result<()> {
        let scale = 1.0 / units as f32;
        match self.row(word, buffer)? {
            PhiRow::Narrow(row) => to.iter_mut().zip(row).for_each(|(to, &n)| *to = f32::from(n) * scale),
            PhiRow::Wide(row) => to.iter_mut().zip(row).for_each(|(to, &n)| *to = n as f32 * scale),
        }
        Ok(())
    }

    /// Returns whether a word has a row of 32-bit numbers.
    fn is_wide(&self, word: u32) -> bool {
        form_of(self.addresses[word as usize].row) == WIDE
    }

    /// Returns how many numbers of 16 and of 32 bits [`PhiCounts::save`] writes, wherever the rows
    /// are.
    fn sizes(&self) -> [u64; 2] {
        let wide = (0..self.addresses.len() as u32).filter(|&w| self.is_wide(w)).count();
        [self.addresses.len() - wide, wide].map(|rows| rows as u64 * self.rows.width as u64)
    }

    /// Writes prior masses, topic samples and rows.
    pub(crate) fn save(&self, out: &mut SectionWriter) -> Result<()> {
        out.begin(self.addresses.len() as u64)?;
        for some in self.addresses.chunks(1024) {
            out.write_values(&some.iter().map(|address| address.prior_mass).collect::<Vec<f32>>())?;
        }
        out.numbers(&self.samples)?;
        let mut buffer = RowBuffer::default();
        let mut short: Vec<u16> = Vec::new();
        for (wide, count) in [false, true].into_iter().zip(self.sizes()) {
            out.begin(count)?;
            for w in (0..self.addresses.len() as u32).filter(|&w| self.is_wide(w) == wide) {
                match self.row(w, &mut buffer)? {
                    PhiRow::Narrow(row) => out.write_values(row)?,
                    PhiRow::Wide(row) if wide => out.write_values(row)?,
                    // A row of 16-bit numbers that was read from a file.
                    PhiRow::Wide(row) => {
                        short.clear();
                        short.extend(row.iter().map(|&n| n as u16));
                        out.write_values(&short)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads what [`PhiCounts::save`] wrote.
    pub(crate) fn restore(&mut self, topics: u32, from: &mut SectionReader) -> Result<()> {
        let mut weights: Vec<f32> = Vec::new();
        from.numbers(self.addresses.len(), &mut weights)?;
        for (address, prior_mass) in self.addresses.iter_mut().zip(weights) {
            address.prior_mass = prior_mass;
        }
        let count = self.samples.len();
        from.numbers(count, &mut self.samples)?;
        if self.samples.iter().any(|&k| u32::from(k) >= topics)
            || self.addresses.iter().any(|address| address.prior_mass.is_nan())
        {
            return Err(from.damaged("it has an invalid topic sample or prior mass"));
        }
        let (mut short, mut buffer) = (vec![0u16; self.rows.width], on_disk::FileRow::default());
        let mut sorter = TopicEntrySorter::new(self.rows.width);
        for (wide, count) in [false, true].into_iter().zip(self.sizes()) {
            from.begin(count)?;
            for w in 0..self.addresses.len() as u32 {
                if self.is_wide(w) != wide {
                    continue;
                }
                let (kind, number) = kind_and_number(self.addresses[w as usize].row);
                let at = number * self.rows.width;
                let PhiRows { narrow, wide: wide_rows, rare, on_disk, width, .. } = &mut self.rows;
                match kind {
                    NARROW => from.read_values(&mut narrow[at..at + *width])?,
                    WIDE => from.read_values(&mut wide_rows[at..at + *width])?,
                    RARE => {
                        from.read_values(&mut short)?;
                        rare[number].set(&short, &mut sorter);
                    }
                    _ => {
                        buffer.cells.resize(*width, 0);
                        if wide {
                            from.read_values(&mut buffer.cells)?;
                        } else {
                            from.read_values(&mut short)?;
                            buffer.cells.iter_mut().zip(&short).for_each(|(to, &n)| *to = u32::from(n));
                        }
                        if let Some(on_disk) = on_disk {
                            on_disk.write(kind % FORMS, number, &mut buffer)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

impl PhiRows {
    /// Sorts the lists of rare words, as [`PhiRows::rare_prior_mass`] requires.
    fn sort_lists(&mut self, threads: &Threads, groups: &[GroupStart]) {
        let mut rest = &mut self.rare[..];
        let mut parts = Vec::with_capacity(groups.len());
        for pair in groups.windows(2) {
            let (own, more) = rest.split_at_mut(pair[1].rows[RARE] - pair[0].rows[RARE]);
            rest = more;
            parts.push((own.len() as u64, own));
        }
        let sorters = &self.sorters;
        let sorter = |thread: usize| of_thread(sorters, thread);
        threads.share(parts, sorter, |sorter, rows| rows.iter_mut().for_each(|row| row.sort(sorter)));
    }

    /// Returns a row if it is in memory in the form that the kernels need.
    #[inline]
    fn row_in_memory(&self, row: u32) -> Option<PhiRow<'_>> {
        let (kind, number) = kind_and_number(row);
        let from = number * self.width;
        match kind {
            NARROW => Some(PhiRow::Narrow(&self.narrow[from..from + self.width])),
            WIDE => Some(PhiRow::Wide(&self.wide[from..from + self.width])),
            _ => None,
        }
    }

    /// Returns a row, copied to the buffer if necessary.
    #[inline]
    fn row<'a>(&'a self, row: u32, buffer: &'a mut RowBuffer) -> Result<PhiRow<'a>> {
        match self.row_in_memory(row) {
            Some(row) => Ok(row),
            None => self.copy_to_buffer(row, buffer),
        }
    }

    /// Copies a row from the file or from a list of topics to the buffer.
    #[inline(never)]
    fn copy_to_buffer<'a>(&'a self, row: u32, buffer: &'a mut RowBuffer) -> Result<PhiRow<'a>> {
        let (kind, number) = kind_and_number(row);
        Ok(match &self.on_disk {
            Some(on_disk) if kind >= FORMS => {
                PhiRow::Wide(on_disk.read(kind - FORMS, number, &mut buffer.file)?)
            }
            _ => PhiRow::Narrow(buffer.expanded.expand(&self.rare[number], self.width)),
        })
    }

    /// Computes the prior mass of a rare word, wherever its row is.
    fn rare_prior_mass(
        &self,
        row: u32,
        rare_mass: &RarePriorMass<'_>,
        buffer: &mut RowBuffer,
        weights: &mut TopicWeights,
    ) -> Result<f32> {
        let (kind, number) = kind_and_number(row);
        Ok(match &self.on_disk {
            Some(on_disk) if kind >= FORMS => {
                let row = on_disk.read(RARE, number, &mut buffer.file)?;
                rare_mass.prior_mass_of_dense(row, weights)
            }
            _ => rare_mass.prior_mass(&self.rare[number], weights),
        })
    }
}

/// Samples topics in proportion to the weights, at equal distances along their running sum. `sums`
/// has the sum of every 16 weights.
fn sample(weights: &[Lanes], sums: &[f32], total: f32, u: f32, samples: &mut [u16]) {
    let step = total / samples.len().max(1) as f32;
    let (mut chunk, mut before) = (0, 0f32);
    for (i, sample) in samples.iter_mut().enumerate() {
        let target = (i as f32 + u) * step;
        while chunk + 1 < sums.len() && before + sums[chunk] <= target {
            before += sums[chunk];
            chunk += 1;
        }
        let (mut within, mut sum) = (0, before);
        // The last topic with a weight, if rounding has moved the target past the total.
        for (lane, &weight) in weights[chunk].0.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
            within = lane;
            sum += weight;
            if sum > target {
                break;
            }
        }
        *sample = (chunk * LANES + within) as u16;
    }
}

/// Returns the element that belongs to this thread.
fn of_thread<T>(all: &[Mutex<T>], thread: usize) -> MutexGuard<'_, T> {
    locked(&all[thread % all.len()])
}

/// Allocates a vector of zeros, or returns an error if there is not enough memory.
fn zeros<T: Default + Clone>(length: usize) -> Result<Vec<T>> {
    let mut zeros = memory::try_with_capacity(length as u64)?;
    zeros.resize(length, T::default());
    Ok(zeros)
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, MAX_CELLS, PhiCounts, RowStorage};

    /// Groups have equal work and no more cells than can be addressed, in any order of the words.
    #[test]
    fn groups_of_words() {
        let storage = RowStorage { memory: u64::MAX, folder: None };
        let cut = |tokens: &[u64], topics: u32| {
            let counts = PhiCounts::new(tokens, topics, &storage, 1).unwrap();
            let most = counts.addresses.iter().map(|address| address.cell as usize + counts.rows.width).max();
            assert!(most <= Some(MAX_CELLS));
            counts.groups.windows(2).map(|pair| pair[1].word - pair[0].word).collect::<Vec<_>>()
        };
        assert_eq!(cut(&[0; 300], 65_536), [128, 128, 44]);
        // Many words without tokens, then some with tokens, which are not all in one group.
        let mut tokens = vec![0; 1280];
        tokens.extend([100; 320]);
        let groups = cut(&tokens, 65_536);
        assert!(groups.len() > GROUPS && groups[10..].iter().all(|&words| words <= 11), "{groups:?}");
        assert_eq!(cut(&[1, 1, 1], 10), [1, 1, 1, 0]);
        assert_eq!(cut(&[], 10), [0]);
    }
}
