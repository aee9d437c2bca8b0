//! phi while `tbp` is at work: whole units, exact whatever the order in which they are added.
//!
//! A word with many tokens has a row of 32-bit numbers, one with fewer a row of 16 bits, and a rare one a list of its topics
//! (`rare`). Words are cut into groups, so that threads can change rows without meeting; the cut does not know the threads.
//! Deltas address *cells*, which are numbered by word alone: neither the number of threads nor the memory at hand shows in
//! them. Where there is too little memory for all rows, those of the least frequent words are in a file (`on_disk`); where a
//! row is, is looked up when deltas are applied.
//!
//! Legend: K topics; a row is `phi[w,:]` in units; the *prior mass* of a word is `sum_k factor[k]*(row[k] + beta)`, and its
//! *topic samples* are topics sampled in proportion to the terms of that sum. Both are as old as the last
//! [`Counts::recompute_prior_mass`].

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
use crate::simd::{Kernel, LANES, Lanes, prefetch_line, prefetch_to_change};
use crate::threads::{Threads, locked};
use crate::topics::stride;
use on_disk::OnDisk;
use rare::{RareRow, Scales, Sorter, Spread, Weights};

/// How many groups of equal work the words are cut into; more where cells would be too many.
pub(super) const GROUPS: usize = 32;
/// Tokens of rare words make so many times the work of others where changes are made.
const RARE_WORK: u64 = 8;
/// The most units in a row of 32 bits: such numbers become 32-bit floats as if they had a sign.
const MOST: u64 = (1 << 31) - 1;

/// The most tokens that a word may have, `units` each.
pub(crate) const fn most_tokens(units: u32) -> u64 {
    MOST / units as u64
}

/// Topics drawn for a word: one for so many tokens,
const TOKENS_PER_SAMPLE: u64 = 4;
/// within these bounds.
const SAMPLES: (u64, u64) = (2, 64);

/// Forms of rows: numbers of 16 bits, of 32, and lists.
const NARROW: usize = 0;
const WIDE: usize = 1;
const RARE: usize = 2;
pub(super) const FORMS: usize = 3;
/// Kinds of rows: each form in memory, and each in a file.
const KINDS: usize = 2 * FORMS;

/// What is known of a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowAddress {
    /// Which row it has: [`KINDS`] times its number among those of its kind, and its kind.
    row: u32,
    /// Where changes of the row go: the list, and the row's first cell.
    pub(crate) list: u32,
    pub(crate) cell: u32,
    /// See the top.
    pub(crate) prior_mass: f32,
}

/// Where rows may be.
#[derive(Debug, Clone)]
pub(crate) struct RowStorage {
    /// Bytes for rows in memory: those of the most frequent words come first.
    pub(crate) memory: u64,
    /// Where a file for the others can go.
    pub(crate) folder: Option<PathBuf>,
}

/// RowStorage for a row that is not in memory as the kernels want it.
#[derive(Debug, Default, Clone)]
pub(crate) struct RowBuffer {
    file: on_disk::FileRow,
    spread: Spread,
}

/// See the top.
#[derive(Debug)]
pub(crate) struct Counts {
    addresses: Vec<RowAddress>,
    rows: Rows,
    /// Where each word's samples end.
    ends: Vec<u32>,
    samples: Vec<u16>,
    /// Where every group starts: its first word and its first row of each kind.
    groups: Vec<GroupStart>,
}

/// The rows, wherever they are.
#[derive(Debug)]
struct Rows {
    /// Numbers in a row, padding included.
    width: usize,
    narrow: Vec<u16>,
    wide: Vec<u32>,
    rare: Vec<RareRow>,
    /// Of every thread: to ask the system for them each time would make threads wait for each other.
    sorters: Vec<Mutex<Sorter>>,
    on_disk: Option<OnDisk>,
    /// For each form, where the row of every word of that form is, in the order of the words; empty where all are in memory.
    places: [Vec<u32>; FORMS],
}

/// Where a group of words starts.
#[derive(Debug, Clone, Copy, Default)]
struct GroupStart {
    word: usize,
    /// The first row of each kind.
    rows: [usize; KINDS],
    /// The first word of each form, wherever its row is.
    forms: [usize; FORMS],
}

/// The form that the row of a word with so many tokens has.
fn form(tokens: u64, topics: u32, units: u32) -> usize {
    if rare::is_rare(tokens, topics) {
        RARE
    } else if u16::try_from(tokens.saturating_mul(u64::from(units))).is_ok() {
        NARROW
    } else {
        WIDE
    }
}

/// How much work so many changes of rows of a form are; there are as many as tokens, or in proportion.
fn work(changes: u64, form: usize) -> u64 {
    if form == RARE { RARE_WORK * changes } else { changes }
}

/// The most bytes in memory of the row of a word with so many tokens, at least and at most.
pub(crate) fn row_bytes((least, most): (u64, u64), topics: u32, units: u32) -> u64 {
    let width = stride(topics) as u64 * LANES as u64;
    let rare = if form(least, topics, units) == RARE { rare::most_bytes(most, units, width) } else { 0 };
    match form(most, topics, units) {
        RARE => rare,
        WIDE => width.saturating_mul(4).max(rare),
        _ => width.saturating_mul(2).max(rare),
    }
}

/// Bytes of what is known of words, apart from their rows; with a file, where their rows are is known twice.
pub(super) fn word_bytes(words: u32, samples: u64, file: bool) -> u64 {
    let each = size_of::<RowAddress>() as u64 + if file { 8 } else { 4 };
    u64::from(words).saturating_mul(each).saturating_add(samples.saturating_mul(2))
}

/// Makes changes of numbers.
fn make<'a, N: Copy>(
    numbers: &mut [N],
    changes: impl Iterator<Item = &'a DeltaList>,
    add: impl Fn(N, i32) -> N,
) {
    /// Cells are asked for so many numbers of a list ahead.
    const AHEAD: usize = 24;
    let soon = |numbers: &[N], cell: u32| {
        prefetch_to_change(numbers.as_ptr().wrapping_add(cell as usize).cast());
    };
    let mut lists = changes.peekable();
    while let Some(changes) = lists.next() {
        if let Some(next) = lists.peek() {
            next.prefetch();
        }
        let mut changes = changes.iter();
        changes.first(AHEAD).for_each(|cell| soon(numbers, cell));
        while let Some(change) = changes.next() {
            if let Some(cell) = changes.ahead(AHEAD) {
                soon(numbers, cell);
            }
            let n = &mut numbers[change.cell as usize];
            *n = add(*n, change.units);
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
    /// Applies deltas whose cells count rows in memory. They come in any order, so a number may leave its range on the way,
    /// but not in the end.
    fn apply<'a>(&mut self, form: usize, deltas: impl Iterator<Item = &'a DeltaList>, sorter: &mut Sorter) {
        match form {
            NARROW => make(self.narrow, deltas, |n, units| n.wrapping_add(units as u16)),
            WIDE => make(self.wide, deltas, |n, units| n.wrapping_add(units as u32)),
            _ => rare::change(self.rare, deltas, sorter),
        }
    }

    /// Divides deltas of a form into those of rows in memory and those of rows in the file; cells then count these rows.
    /// `places` says where the row of every word of the form is.
    fn divide<'a>(
        &self,
        width: usize,
        form: usize,
        places: &[u32],
        deltas: impl Iterator<Item = &'a DeltaList>,
    ) -> (DeltaList, Vec<Delta>) {
        let (mut here, mut there) = (DeltaList::default(), Vec::new());
        for delta in deltas.flat_map(DeltaList::iter) {
            let (number, topic) = (delta.cell as usize / width, delta.cell as usize % width);
            let place = places[self.start.forms[form] + number] as usize;
            let (kind, row) = (place % KINDS, place / KINDS);
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

/// What a thread weighs words with: a row's weights and their sums, or those of a few topics, and room for a row.
struct Weighing {
    row: Vec<Lanes>,
    sums: Vec<f32>,
    buffer: RowBuffer,
    few: Weights,
}

/// How many samples a word with so many tokens has.
pub(crate) fn samples_of(tokens: u64) -> u64 {
    if tokens == 0 { 0 } else { (tokens / TOKENS_PER_SAMPLE).clamp(SAMPLES.0, SAMPLES.1) }
}

/// Which words' rows stay in memory: the most frequent ones, as many as fit.
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

/// The error that phi cannot be held in any form.
fn too_large(word_tokens: &[u64], width: usize, storage: &RowStorage) -> Error {
    Error::Memory {
        need: (word_tokens.len() as u64).saturating_mul(2 * width as u64),
        have: storage.memory,
        remedy: "reduce {topics}, or use a smaller vocabulary".into(),
    }
}

/// The places of the rows of each form, in the order of the words.
fn places_by_form(addresses: &[RowAddress]) -> [Vec<u32>; FORMS] {
    let mut places: [Vec<u32>; FORMS] = Default::default();
    for address in addresses {
        places[address.row as usize % FORMS].push(address.row);
    }
    places
}

/// Which word has which row and which cells.
struct Layout {
    addresses: Vec<RowAddress>,
    /// Where every group starts, and the end.
    groups: Vec<GroupStart>,
    /// Where the topic samples of every word end.
    ends: Vec<u32>,
}

impl Layout {
    /// Lays words out; `stays` says whose rows are in memory. None where there are too many topic samples to number.
    fn new(word_tokens: &[u64], topics: u32, stays: &[bool]) -> Option<Layout> {
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
                row: (at.rows[kind] * KINDS + kind) as u32,
                list: ((groups.len() - 1) * FORMS + form) as u32,
                cell: ((at.forms[form] - start.forms[form]) * width) as u32,
                prior_mass: 0.0,
            });
            at.rows[kind] += 1;
            at.forms[form] += 1;
            at.word = w + 1;
            samples += samples_of(n);
            ends.push(u32::try_from(samples).ok()?);
            done += work(n, form);
            let full = (at.forms[form] + 1 - start.forms[form]) * width > MAX_CELLS;
            if done > all / GROUPS as u64 || full {
                groups.push(at);
                (start, done) = (at, 0);
            }
        }
        groups.push(at);
        Some(Layout { addresses, groups, ends })
    }
}

impl Counts {
    /// All zero, for words of so many tokens.
    pub(crate) fn new(
        word_tokens: &[u64],
        topics: u32,
        storage: &RowStorage,
        threads: usize,
    ) -> Result<Counts> {
        let width = stride(topics) * LANES;
        if word_tokens.len() >= 1 << 29 || width > MAX_CELLS {
            return Err(too_large(word_tokens, width, storage));
        }
        let bytes = |n: u64| row_bytes((n, n), topics, UNITS_PER_TOKEN);
        let memory = if storage.folder.is_some() { storage.memory } else { u64::MAX };
        let stays = in_memory(word_tokens, bytes, memory);
        let layout =
            Layout::new(word_tokens, topics, &stays).ok_or_else(|| too_large(word_tokens, width, storage))?;
        let Layout { addresses, groups, ends } = layout;
        let rows = groups.last().map_or([0; KINDS], |last| last.rows);
        let [narrow, wide, rare, ref in_file @ ..] = rows;
        let on_disk = match &storage.folder {
            Some(folder) if in_file.iter().any(|&rows| rows > 0) => {
                Some(OnDisk::new(folder, *in_file, width)?)
            }
            _ => None,
        };
        let places = on_disk.as_ref().map(|_| places_by_form(&addresses)).unwrap_or_default();
        let samples = ends.last().map_or(0, |&end| end as usize);
        let rows = Rows {
            width,
            narrow: zeros(narrow * width)?,
            wide: zeros(wide * width)?,
            rare: zeros(rare)?,
            sorters: (0..threads).map(|_| Mutex::new(Sorter::new(width))).collect(),
            on_disk,
            places,
        };
        Ok(Counts { addresses, rows, samples: vec![0; samples], ends, groups })
    }

    /// Number of lists that deltas are collected in: one per group and form of rows.
    pub(crate) fn lists(&self) -> usize {
        (self.groups.len() - 1) * FORMS
    }

    /// A word's row; one that is not at hand is laid out in the buffer.
    #[inline]
    pub(crate) fn row<'a>(&'a self, word: u32, buffer: &'a mut RowBuffer) -> Result<PhiRow<'a>> {
        self.rows.row(self.addresses[word as usize].row, buffer)
    }

    /// Asks for a row that will be wanted soon, where it is in memory.
    #[inline]
    pub(crate) fn prefetch(&self, word: u32) {
        let row = self.addresses[word as usize].row;
        if let Some(row) = self.rows.at_hand(row) {
            row.prefetch();
        } else if row as usize % KINDS == RARE {
            self.rows.rare[row as usize / KINDS].prefetch();
        }
    }

    /// Prefetches what [`Counts::prefetch`] will read.
    #[inline]
    pub(crate) fn prefetch_address(&self, word: u32) {
        let row = self.addresses[word as usize].row;
        if row as usize % KINDS == RARE {
            prefetch_line(&self.rows.rare[row as usize / KINDS]);
        }
    }

    /// A word's row, where it is in memory as the kernels want it.
    #[inline]
    pub(crate) fn at_hand(&self, word: u32) -> Option<PhiRow<'_>> {
        self.rows.at_hand(self.addresses[word as usize].row)
    }

    /// What is known of a word.
    #[inline]
    pub(crate) fn address(&self, word: u32) -> RowAddress {
        self.addresses[word as usize]
    }

    /// A word's samples.
    pub(crate) fn topic_samples(&self, word: u32) -> &[u16] {
        let start = if word == 0 { 0 } else { self.ends[word as usize - 1] };
        &self.samples[start as usize..self.ends[word as usize] as usize]
    }

    /// Weighs all words and samples topics for them; `key` tells one time from another.
    pub(crate) fn recompute_prior_mass(
        &mut self,
        threads: &Threads,
        kernel: Kernel,
        (factors, beta): (&[Lanes], f32),
        seed: u64,
        key: u64,
    ) -> Result<()> {
        let Counts { addresses, rows, ends, samples, groups, .. } = self;
        rows.tidy(threads, groups);
        let scales = Scales::new(factors, beta);
        let (mut rest_places, mut rest_draws) = (&mut addresses[..], &mut samples[..]);
        let mut parts = Vec::with_capacity(groups.len());
        let end_of = |word: usize| if word == 0 { 0 } else { ends[word - 1] as usize };
        for pair in groups.windows(2) {
            let (from, to) = (pair[0].word, pair[1].word);
            let (own_places, more) = rest_places.split_at_mut(to - from);
            let (own_draws, other) = rest_draws.split_at_mut(end_of(to) - end_of(from));
            (rest_places, rest_draws) = (more, other);
            parts.push((from, own_places, own_draws));
        }
        let mut done: Vec<Result<()>> = parts.iter().map(|_| Ok(())).collect();
        let parts = parts.into_iter().zip(&mut done).map(|part| (part.0.1.len() as u64, part)).collect();
        let ready = |_| Weighing {
            row: vec![Lanes::ZERO; factors.len()],
            sums: Vec::with_capacity(factors.len()),
            buffer: RowBuffer::default(),
            few: Weights::default(),
        };
        threads.share(
            parts,
            ready,
            |Weighing { row, sums, buffer, few }, ((from, addresses, mut rest), done)| {
                *done = addresses.iter_mut().enumerate().try_for_each(|(i, address)| {
                    let word = from + i;
                    let (own, more) = std::mem::take(&mut rest).split_at_mut(end_of(word + 1) - end_of(word));
                    rest = more;
                    let u = Random::new(seed, Purpose::Draw, key.wrapping_add(word as u64)).unit() as f32;
                    if address.row as usize % FORMS == RARE {
                        address.prior_mass = rows.weigh_rare(address.row, &scales, buffer, few)?;
                        scales.draw(few, address.prior_mass, u, own);
                    } else {
                        let numbers = rows.row(address.row, buffer)?;
                        address.prior_mass = kernel.weights(numbers, factors, beta, row, sums);
                        draw(row, sums, address.prior_mass, u, own);
                    }
                    Ok(())
                });
            },
        );
        done.into_iter().collect()
    }

    /// Applies deltas.
    pub(crate) fn apply(&mut self, threads: &Threads, deltas: &impl DeltaSource) -> Result<()> {
        let Counts { rows: Rows { width, narrow, wide, rare, on_disk, sorters, places }, groups, .. } = self;
        let (width, on_disk, places) = (*width, on_disk.as_ref(), &*places);
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
        let sorter = |thread: usize| own(sorters, thread);
        threads.share(parts, sorter, |sorter, (group, (mut rows, done))| {
            let mut apply = |form: usize, lists: &mut dyn Iterator<Item = &DeltaList>| {
                let Some(on_disk) = on_disk else {
                    rows.apply(form, lists, sorter);
                    return Ok(());
                };
                let (here, there) = rows.divide(width, form, &places[form], lists);
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

    /// All zero again.
    pub(crate) fn clear(&mut self) -> Result<()> {
        let Rows { narrow, wide, rare, on_disk, .. } = &mut self.rows;
        narrow.fill(0);
        wide.fill(0);
        rare.fill(RareRow::default());
        on_disk.as_ref().map_or(Ok(()), OnDisk::clear)
    }

    /// phi of a word, in tokens.
    pub(crate) fn fill(&self, word: u32, units: u32, buffer: &mut RowBuffer, to: &mut [f32]) -> Result<()> {
        let scale = 1.0 / units as f32;
        match self.row(word, buffer)? {
            PhiRow::Narrow(row) => to.iter_mut().zip(row).for_each(|(to, &n)| *to = f32::from(n) * scale),
            PhiRow::Wide(row) => to.iter_mut().zip(row).for_each(|(to, &n)| *to = n as f32 * scale),
        }
        Ok(())
    }

    fn is_wide(&self, word: u32) -> bool {
        self.addresses[word as usize].row as usize % FORMS == WIDE
    }

    /// Rows and numbers of each width: what [`Counts::save`] writes, wherever the rows are.
    fn sizes(&self) -> [u64; 2] {
        let wide = (0..self.addresses.len() as u32).filter(|&w| self.is_wide(w)).count();
        [self.addresses.len() - wide, wide].map(|rows| rows as u64 * self.rows.width as u64)
    }

    /// Everything, as it is.
    pub(crate) fn save(&self, out: &mut SectionWriter) -> Result<()> {
        out.begin(self.addresses.len() as u64)?;
        for some in self.addresses.chunks(1024) {
            out.more(&some.iter().map(|address| address.prior_mass).collect::<Vec<f32>>())?;
        }
        out.numbers(&self.samples)?;
        let mut buffer = RowBuffer::default();
        let mut short: Vec<u16> = Vec::new();
        for (wide, count) in [false, true].into_iter().zip(self.sizes()) {
            out.begin(count)?;
            for w in (0..self.addresses.len() as u32).filter(|&w| self.is_wide(w) == wide) {
                match self.row(w, &mut buffer)? {
                    PhiRow::Narrow(row) => out.more(row)?,
                    PhiRow::Wide(row) if wide => out.more(row)?,
                    // A row of 16 bits that came from a file.
                    PhiRow::Wide(row) => {
                        short.clear();
                        short.extend(row.iter().map(|&n| n as u16));
                        out.more(&short)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes up what [`Counts::save`] wrote.
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
            return Err(from.damaged("its samples are of topics that are not there"));
        }
        let (mut short, mut buffer) = (vec![0u16; self.rows.width], on_disk::FileRow::default());
        let mut sorter = Sorter::new(self.rows.width);
        for (wide, count) in [false, true].into_iter().zip(self.sizes()) {
            from.begin(count)?;
            for w in 0..self.addresses.len() as u32 {
                if self.is_wide(w) != wide {
                    continue;
                }
                let row = self.addresses[w as usize].row as usize;
                let (kind, number) = (row % KINDS, row / KINDS);
                let at = number * self.rows.width;
                let Rows { narrow, wide: wide_rows, rare, on_disk, width, .. } = &mut self.rows;
                match kind {
                    NARROW => from.more(&mut narrow[at..at + *width])?,
                    WIDE => from.more(&mut wide_rows[at..at + *width])?,
                    RARE => {
                        from.more(&mut short)?;
                        rare[number].set(&short, &mut sorter);
                    }
                    _ => {
                        buffer.cells.resize(*width, 0);
                        if wide {
                            from.more(&mut buffer.cells)?;
                        } else {
                            from.more(&mut short)?;
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

impl Rows {
    /// Puts lists in order, for [`Rows::weigh_rare`].
    fn tidy(&mut self, threads: &Threads, groups: &[GroupStart]) {
        let mut rest = &mut self.rare[..];
        let mut parts = Vec::with_capacity(groups.len());
        for pair in groups.windows(2) {
            let (own, more) = rest.split_at_mut(pair[1].rows[RARE] - pair[0].rows[RARE]);
            rest = more;
            parts.push((own.len() as u64, own));
        }
        let sorters = &self.sorters;
        let sorter = |thread: usize| own(sorters, thread);
        threads.share(parts, sorter, |sorter, rows| rows.iter_mut().for_each(|row| row.tidy(sorter)));
    }

    #[inline]
    fn at_hand(&self, row: u32) -> Option<PhiRow<'_>> {
        let from = row as usize / KINDS * self.width;
        match row as usize % KINDS {
            NARROW => Some(PhiRow::Narrow(&self.narrow[from..from + self.width])),
            WIDE => Some(PhiRow::Wide(&self.wide[from..from + self.width])),
            _ => None,
        }
    }

    #[inline]
    fn row<'a>(&'a self, row: u32, buffer: &'a mut RowBuffer) -> Result<PhiRow<'a>> {
        match self.at_hand(row) {
            Some(row) => Ok(row),
            None => self.lay_out(row, buffer),
        }
    }

    #[inline(never)]
    fn lay_out<'a>(&'a self, row: u32, buffer: &'a mut RowBuffer) -> Result<PhiRow<'a>> {
        let (kind, number) = (row as usize % KINDS, row as usize / KINDS);
        Ok(match &self.on_disk {
            Some(on_disk) if kind >= FORMS => {
                PhiRow::Wide(on_disk.read(kind - FORMS, number, &mut buffer.file)?)
            }
            _ => PhiRow::Narrow(buffer.spread.out(&self.rare[number], self.width)),
        })
    }

    /// The prior_mass of a rare word, wherever its row is.
    fn weigh_rare(
        &self,
        row: u32,
        scales: &Scales<'_>,
        buffer: &mut RowBuffer,
        weights: &mut Weights,
    ) -> Result<f32> {
        let (kind, number) = (row as usize % KINDS, row as usize / KINDS);
        Ok(match &self.on_disk {
            Some(on_disk) if kind >= FORMS => {
                let row = on_disk.read(RARE, number, &mut buffer.file)?;
                scales.weigh_all(row, weights)
            }
            _ => scales.weigh(&self.rare[number], weights),
        })
    }
}

/// Draws topics in proportion to the weights, at equal distances along their running sum. `sums` are those of 16.
fn draw(weights: &[Lanes], sums: &[f32], total: f32, u: f32, samples: &mut [u16]) {
    let step = total / samples.len().max(1) as f32;
    let (mut chunk, mut before) = (0, 0f32);
    for (i, draw) in samples.iter_mut().enumerate() {
        let target = (i as f32 + u) * step;
        while chunk + 1 < sums.len() && before + sums[chunk] <= target {
            before += sums[chunk];
            chunk += 1;
        }
        let (mut within, mut sum) = (0, before);
        // The last with any prior_mass, where rounding has put the target past all.
        for (lane, &prior_mass) in
            weights[chunk].0.iter().enumerate().filter(|&(_, &prior_mass)| prior_mass > 0.0)
        {
            within = lane;
            sum += prior_mass;
            if sum > target {
                break;
            }
        }
        *draw = (chunk * LANES + within) as u16;
    }
}

/// What belongs to this thread.
fn own<T>(of_threads: &[Mutex<T>], thread: usize) -> MutexGuard<'_, T> {
    locked(&of_threads[thread % of_threads.len()])
}

fn zeros<T: Default + Clone>(length: usize) -> Result<Vec<T>> {
    let mut zeros = memory::room(length as u64)?;
    zeros.resize(length, T::default());
    Ok(zeros)
}

#[cfg(test)]
mod tests {
    use super::{Counts, GROUPS, MAX_CELLS, RowStorage};

    /// Groups are of equal work, and of no more cells than can be told apart, whatever comes first.
    #[test]
    fn groups_of_words() {
        let storage = RowStorage { memory: u64::MAX, folder: None };
        let cut = |tokens: &[u64], topics: u32| {
            let counts = Counts::new(tokens, topics, &storage, 1).unwrap();
            let most = counts.addresses.iter().map(|address| address.cell as usize + counts.rows.width).max();
            assert!(most <= Some(MAX_CELLS));
            counts.groups.windows(2).map(|pair| pair[1].word - pair[0].word).collect::<Vec<_>>()
        };
        assert_eq!(cut(&[0; 300], 65_536), [128, 128, 44]);
        // Many words without tokens, then some with: these are not all in one group.
        let mut tokens = vec![0; 1280];
        tokens.extend([100; 320]);
        let groups = cut(&tokens, 65_536);
        assert!(groups.len() > GROUPS && groups[10..].iter().all(|&words| words <= 11), "{groups:?}");
        assert_eq!(cut(&[1, 1, 1], 10), [1, 1, 1, 0]);
        assert_eq!(cut(&[], 10), [0]);
    }
}
