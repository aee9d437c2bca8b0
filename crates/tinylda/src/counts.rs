//! phi while `tbp` is at work: whole units, exact whatever the order in which they are added.
//!
//! A word with many tokens has a row of 32-bit numbers, one with fewer one of 16 bits, and a rare one a list of its topics
//! (`rare`). Words are cut into groups, so that threads can change rows without meeting; the cut does not know the threads. Where
//! there is too little memory for all rows those with the fewest tokens are in a file (`on_disk`).
//!
//! Legend: K topics; a row is `phi[w,:]` in units; the *weight* of a word is `sum_k factor[k]*(row[k] + beta)`, and its
//! *draws* are topics drawn in proportion to the terms of that sum. Both are as old as the last [`Counts::refresh`].

mod on_disk;
mod rare;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use crate::checkpoint::{In, Out};
use crate::error::{Error, Result};
use crate::kernel::{Bucket, CELLS, Kernel, LANES, Lanes, Row, prefetch_line, prefetch_to_change};
use crate::memory;
use crate::random::{Purpose, Random};
use crate::threads::{Threads, locked};
use crate::topics::stride;
use on_disk::OnDisk;
use rare::{Scales, Sorter, Spread, Weights};

/// How many groups of equal work the words are cut into; more where cells would be too many.
const GROUPS: usize = 32;
/// Tokens of rare words make so many times the work of others where changes are made.
const RARE_WORK: u64 = 8;
/// The most units in a row of 32 bits: such numbers become 32-bit floats as if they had a sign.
const MOST: u64 = (1 << 31) - 1;

/// The most tokens that a word may have, `units` each.
pub(crate) const fn most_tokens(units: u32) -> u64 {
    MOST / units as u64
}

/// Topics drawn for a word: one for so many tokens,
const TOKENS_PER_DRAW: u64 = 4;
/// within these bounds.
const DRAWS: (u64, u64) = (2, 64);

/// Forms of rows: numbers of 16 bits, of 32, and lists.
const NARROW: usize = 0;
const WIDE: usize = 1;
const RARE: usize = 2;
const FORMS: usize = 3;
/// Kinds of rows: each form in memory, and each in a file.
const KINDS: usize = 2 * FORMS;

/// What is known of a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Which row it has: [`KINDS`] times its number among those of its kind, and its kind.
    row: u32,
    /// Where changes of the row go: the bucket, and the row's first cell.
    pub(crate) bucket: u32,
    pub(crate) cell: u32,
    /// See the top.
    pub(crate) weight: f32,
}

/// Where rows may be.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    /// Bytes for rows in memory: those of the most frequent words come first.
    pub(crate) memory: u64,
    /// Where a file for the others can go.
    pub(crate) folder: Option<PathBuf>,
}

/// Room for a row that is not in memory as the kernels want it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Slot {
    file: on_disk::Slot,
    spread: Spread,
}

/// See the top.
#[derive(Debug)]
pub(crate) struct Counts {
    places: Vec<Place>,
    rows: Rows,
    /// Where each word's draws end.
    ends: Vec<u32>,
    draws: Vec<u16>,
    /// Where every group starts: its first word and its first row of each kind.
    groups: Vec<Start>,
}

/// The rows, wherever they are.
#[derive(Debug)]
struct Rows {
    /// Numbers in a row, padding included.
    width: usize,
    narrow: Vec<u16>,
    wide: Vec<u32>,
    rare: Vec<rare::Row>,
    /// Of every thread: to ask the system for them each time would make threads wait for each other.
    sorters: Vec<Mutex<Sorter>>,
    on_disk: Option<OnDisk>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Start {
    word: usize,
    rows: [usize; KINDS],
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

/// Makes changes of numbers.
fn make<'a, N: Copy>(
    numbers: &mut [N],
    changes: impl Iterator<Item = &'a Bucket>,
    add: impl Fn(N, i32) -> N,
) {
    /// Cells are asked for so many numbers of a bucket ahead.
    const AHEAD: usize = 24;
    let soon = |numbers: &[N], cell: u32| {
        prefetch_to_change(numbers.as_ptr().wrapping_add(cell as usize).cast());
    };
    let mut buckets = changes.peekable();
    while let Some(changes) = buckets.next() {
        if let Some(next) = buckets.peek() {
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

/// What a thread weighs words with: a row's weights and their sums, or those of a few topics, and room for a row.
struct Weighing {
    row: Vec<Lanes>,
    sums: Vec<f32>,
    slot: Slot,
    few: Weights,
}

/// How many draws a word with so many tokens has.
pub(crate) fn draws_of(tokens: u64) -> u64 {
    if tokens == 0 { 0 } else { (tokens / TOKENS_PER_DRAW).clamp(DRAWS.0, DRAWS.1) }
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

impl Counts {
    /// All zero, for words of so many tokens, `units` each.
    pub(crate) fn new(word_tokens: &[u64], topics: u32, units: u32, room: &Room) -> Result<Counts> {
        let width = stride(topics) * LANES;
        let too_large = || Error::Memory {
            need: (word_tokens.len() as u64).saturating_mul(2 * width as u64),
            have: room.memory,
            remedy: "reduce {topics}, or use a smaller vocabulary".into(),
        };
        if word_tokens.len() >= 1 << 29 || width > CELLS {
            return Err(too_large());
        }
        let bytes = |n: u64| row_bytes((n, n), topics, units);
        let all: u64 = word_tokens.iter().map(|&n| work(n, form(n, topics, units))).sum();
        let stays = in_memory(word_tokens, bytes, if room.folder.is_some() { room.memory } else { u64::MAX });
        let mut places = Vec::with_capacity(word_tokens.len());
        let (mut groups, mut ends) = (vec![Start::default()], Vec::with_capacity(word_tokens.len()));
        let mut at = Start::default();
        let (mut done, mut start, mut draws) = (0, at, 0u64);
        for (w, (&n, &stays)) in word_tokens.iter().zip(&stays).enumerate() {
            let kind = form(n, topics, units) + if stays { 0 } else { FORMS };
            let number = at.rows[kind];
            let cell = ((number - start.rows[kind]) * width) as u32;
            places.push(Place {
                row: (number * KINDS + kind) as u32,
                bucket: ((groups.len() - 1) * KINDS + kind) as u32,
                cell,
                weight: 0.0,
            });
            at.rows[kind] += 1;
            at.word = w + 1;
            draws += draws_of(n);
            ends.push(u32::try_from(draws).map_err(|_| too_large())?);
            done += work(n, kind % FORMS);
            let full = (at.rows[kind] + 1 - start.rows[kind]) * width > CELLS;
            if done > all / GROUPS as u64 || full {
                groups.push(at);
                (start, done) = (at, 0);
            }
        }
        groups.push(at);
        let [narrow, wide, rare, ref in_file @ ..] = at.rows;
        let on_disk = match &room.folder {
            Some(folder) if in_file.iter().any(|&rows| rows > 0) => {
                Some(OnDisk::new(folder, *in_file, width)?)
            }
            _ => None,
        };
        let rows = Rows {
            width,
            narrow: zeros(narrow * width)?,
            wide: zeros(wide * width)?,
            rare: zeros(rare)?,
            sorters: (0..rayon::current_num_threads()).map(|_| Mutex::new(Sorter::new(width))).collect(),
            on_disk,
        };
        Ok(Counts { places, rows, draws: vec![0; draws as usize], ends, groups })
    }

    /// How many buckets changes are collected in: for every group one for each kind of row.
    pub(crate) fn buckets(&self) -> usize {
        (self.groups.len() - 1) * KINDS
    }

    /// A word's row; one that is not at hand is laid out in the slot.
    #[inline]
    pub(crate) fn row<'a>(&'a self, word: u32, slot: &'a mut Slot) -> Result<Row<'a>> {
        self.rows.row(self.places[word as usize].row, slot)
    }

    /// Asks for a row that will be wanted soon, where it is in memory.
    #[inline]
    pub(crate) fn prefetch(&self, word: u32) {
        let row = self.places[word as usize].row;
        if let Some(row) = self.rows.at_hand(row) {
            row.prefetch();
        } else if row as usize % KINDS == RARE {
            self.rows.rare[row as usize / KINDS].prefetch();
        }
    }

    /// Asks for what [`Counts::prefetch`] will want to know.
    #[inline]
    pub(crate) fn prefetch_place(&self, word: u32) {
        let row = self.places[word as usize].row;
        if row as usize % KINDS == RARE {
            prefetch_line(&self.rows.rare[row as usize / KINDS]);
        }
    }

    /// A word's row, where it is in memory as the kernels want it.
    #[inline]
    pub(crate) fn at_hand(&self, word: u32) -> Option<Row<'_>> {
        self.rows.at_hand(self.places[word as usize].row)
    }

    /// What is known of a word.
    #[inline]
    pub(crate) fn place(&self, word: u32) -> Place {
        self.places[word as usize]
    }

    /// A word's draws.
    pub(crate) fn draws(&self, word: u32) -> &[u16] {
        let start = if word == 0 { 0 } else { self.ends[word as usize - 1] };
        &self.draws[start as usize..self.ends[word as usize] as usize]
    }

    /// Weighs all words and draws topics for them; `key` tells one time from another.
    pub(crate) fn refresh(
        &mut self,
        threads: &Threads,
        kernel: Kernel,
        (factors, beta): (&[Lanes], f32),
        seed: u64,
        key: u64,
    ) -> Result<()> {
        let Counts { places, rows, ends, draws, groups, .. } = self;
        rows.tidy(threads, groups);
        let scales = Scales::new(factors, beta);
        let (mut rest_places, mut rest_draws) = (&mut places[..], &mut draws[..]);
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
            slot: Slot::default(),
            few: Weights::default(),
        };
        threads.share(parts, ready, |Weighing { row, sums, slot, few }, ((from, places, mut rest), done)| {
            *done = places.iter_mut().enumerate().try_for_each(|(i, place)| {
                let word = from + i;
                let (own, more) = std::mem::take(&mut rest).split_at_mut(end_of(word + 1) - end_of(word));
                rest = more;
                let u = Random::new(seed, Purpose::Draw, key.wrapping_add(word as u64)).unit() as f32;
                if place.row as usize % FORMS == RARE {
                    place.weight = rows.weigh_rare(place.row, &scales, slot, few)?;
                    scales.draw(few, place.weight, u, own);
                } else {
                    let numbers = rows.row(place.row, slot)?;
                    place.weight = kernel.weights(numbers, factors, beta, row, sums);
                    draw(row, sums, place.weight, u, own);
                }
                Ok(())
            });
        });
        done.into_iter().collect()
    }

    /// Makes changes; `of_bucket(b)` are those of a bucket, in any number of lists.
    pub(crate) fn change<'a, I: Iterator<Item = &'a Bucket>>(
        &mut self,
        threads: &Threads,
        of_bucket: impl Fn(usize) -> I + Sync,
    ) -> Result<()> {
        let Counts { rows: Rows { width, narrow, wide, rare, on_disk, sorters }, groups, .. } = self;
        let (width, on_disk) = (*width, on_disk.as_ref());
        let (mut rest_narrow, mut rest_wide, mut rest_rare) = (&mut narrow[..], &mut wide[..], &mut rare[..]);
        let mut parts = Vec::with_capacity(groups.len());
        for pair in groups.windows(2) {
            let rows = |form: usize| pair[1].rows[form] - pair[0].rows[form];
            let (own_narrow, more) = rest_narrow.split_at_mut(rows(NARROW) * width);
            let (own_wide, other) = rest_wide.split_at_mut(rows(WIDE) * width);
            let (own_rare, others) = rest_rare.split_at_mut(rows(RARE));
            (rest_narrow, rest_wide, rest_rare) = (more, other, others);
            parts.push((own_narrow, own_wide, own_rare, pair[0]));
        }
        let work = |group: usize| {
            let numbers = |kind: usize| of_bucket(KINDS * group + kind).map(Bucket::numbers).sum::<u64>();
            (0..KINDS).map(|kind| work(numbers(kind), kind % FORMS)).sum()
        };
        let mut done: Vec<Result<()>> = parts.iter().map(|_| Ok(())).collect();
        let parts = parts.into_iter().zip(&mut done).enumerate();
        let parts = parts.map(|(group, part)| (work(group), (group, part))).collect();
        let sorter = |thread: usize| own(sorters, thread);
        // What comes in and what goes out comes in any order: a number may leave the range on the way, not in the end.
        threads.share(parts, sorter, |sorter, (group, ((narrow, wide, rare, start), done))| {
            make(narrow, of_bucket(KINDS * group + NARROW), |n, units| n.wrapping_add(units as u16));
            make(wide, of_bucket(KINDS * group + WIDE), |n, units| n.wrapping_add(units as u32));
            rare::change(rare, of_bucket(KINDS * group + RARE), sorter);
            let Some(on_disk) = on_disk else { return };
            *done = (0..FORMS).try_for_each(|form| {
                let kind = FORMS + form;
                on_disk.change(form, start.rows[kind], of_bucket(KINDS * group + kind))
            });
        });
        done.into_iter().collect()
    }

    /// All zero again.
    pub(crate) fn clear(&mut self) -> Result<()> {
        let Rows { narrow, wide, rare, on_disk, .. } = &mut self.rows;
        narrow.fill(0);
        wide.fill(0);
        rare.fill(rare::Row::default());
        on_disk.as_ref().map_or(Ok(()), OnDisk::clear)
    }

    /// phi of a word, in tokens.
    pub(crate) fn fill(&self, word: u32, units: u32, slot: &mut Slot, to: &mut [f32]) -> Result<()> {
        let scale = 1.0 / units as f32;
        match self.row(word, slot)? {
            Row::Narrow(row) => to.iter_mut().zip(row).for_each(|(to, &n)| *to = f32::from(n) * scale),
            Row::Wide(row) => to.iter_mut().zip(row).for_each(|(to, &n)| *to = n as f32 * scale),
        }
        Ok(())
    }

    fn is_wide(&self, word: u32) -> bool {
        self.places[word as usize].row as usize % FORMS == WIDE
    }

    /// Rows and numbers of each width: what [`Counts::save`] writes, wherever the rows are.
    fn sizes(&self) -> [u64; 2] {
        let wide = (0..self.places.len() as u32).filter(|&w| self.is_wide(w)).count();
        [self.places.len() - wide, wide].map(|rows| rows as u64 * self.rows.width as u64)
    }

    /// Everything, as it is.
    pub(crate) fn save(&self, out: &mut Out) -> Result<()> {
        out.begin(self.places.len() as u64)?;
        for some in self.places.chunks(1024) {
            out.more(&some.iter().map(|place| place.weight).collect::<Vec<f32>>())?;
        }
        out.numbers(&self.draws)?;
        let mut slot = Slot::default();
        let mut short: Vec<u16> = Vec::new();
        for (wide, count) in [false, true].into_iter().zip(self.sizes()) {
            out.begin(count)?;
            for w in (0..self.places.len() as u32).filter(|&w| self.is_wide(w) == wide) {
                match self.row(w, &mut slot)? {
                    Row::Narrow(row) => out.more(row)?,
                    Row::Wide(row) if wide => out.more(row)?,
                    // A row of 16 bits that came from a file.
                    Row::Wide(row) => {
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
    pub(crate) fn restore(&mut self, topics: u32, from: &mut In) -> Result<()> {
        let mut weights: Vec<f32> = Vec::new();
        from.numbers(self.places.len(), &mut weights)?;
        for (place, weight) in self.places.iter_mut().zip(weights) {
            place.weight = weight;
        }
        let count = self.draws.len();
        from.numbers(count, &mut self.draws)?;
        if self.draws.iter().any(|&k| u32::from(k) >= topics)
            || self.places.iter().any(|place| place.weight.is_nan())
        {
            return Err(from.damaged("its draws are of topics that are not there"));
        }
        let (mut short, mut slot) = (vec![0u16; self.rows.width], on_disk::Slot::default());
        let mut sorter = Sorter::new(self.rows.width);
        for (wide, count) in [false, true].into_iter().zip(self.sizes()) {
            from.begin(count)?;
            for w in 0..self.places.len() as u32 {
                if self.is_wide(w) != wide {
                    continue;
                }
                let row = self.places[w as usize].row as usize;
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
                        slot.cells.resize(*width, 0);
                        if wide {
                            from.more(&mut slot.cells)?;
                        } else {
                            from.more(&mut short)?;
                            slot.cells.iter_mut().zip(&short).for_each(|(to, &n)| *to = u32::from(n));
                        }
                        if let Some(on_disk) = on_disk {
                            on_disk.write(kind % FORMS, number, &mut slot)?;
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
    fn tidy(&mut self, threads: &Threads, groups: &[Start]) {
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
    fn at_hand(&self, row: u32) -> Option<Row<'_>> {
        let from = row as usize / KINDS * self.width;
        match row as usize % KINDS {
            NARROW => Some(Row::Narrow(&self.narrow[from..from + self.width])),
            WIDE => Some(Row::Wide(&self.wide[from..from + self.width])),
            _ => None,
        }
    }

    #[inline]
    fn row<'a>(&'a self, row: u32, slot: &'a mut Slot) -> Result<Row<'a>> {
        match self.at_hand(row) {
            Some(row) => Ok(row),
            None => self.lay_out(row, slot),
        }
    }

    #[inline(never)]
    fn lay_out<'a>(&'a self, row: u32, slot: &'a mut Slot) -> Result<Row<'a>> {
        let (kind, number) = (row as usize % KINDS, row as usize / KINDS);
        Ok(match &self.on_disk {
            Some(on_disk) if kind >= FORMS => {
                Row::Wide(on_disk.read(kind - FORMS, number, &mut slot.file)?)
            }
            _ => Row::Narrow(slot.spread.out(&self.rare[number], self.width)),
        })
    }

    /// The weight of a rare word, wherever its row is.
    fn weigh_rare(
        &self,
        row: u32,
        scales: &Scales<'_>,
        slot: &mut Slot,
        weights: &mut Weights,
    ) -> Result<f32> {
        let (kind, number) = (row as usize % KINDS, row as usize / KINDS);
        Ok(match &self.on_disk {
            Some(on_disk) if kind >= FORMS => {
                let row = on_disk.read(RARE, number, &mut slot.file)?;
                scales.weigh_all(row, weights)
            }
            _ => scales.weigh(&self.rare[number], weights),
        })
    }
}

/// Draws topics in proportion to the weights, at equal distances along their running sum. `sums` are those of 16.
fn draw(weights: &[Lanes], sums: &[f32], total: f32, u: f32, draws: &mut [u16]) {
    let step = total / draws.len().max(1) as f32;
    let (mut chunk, mut before) = (0, 0f32);
    for (i, draw) in draws.iter_mut().enumerate() {
        let target = (i as f32 + u) * step;
        while chunk + 1 < sums.len() && before + sums[chunk] <= target {
            before += sums[chunk];
            chunk += 1;
        }
        let (mut within, mut sum) = (0, before);
        // The last with any weight, where rounding has put the target past all.
        for (lane, &weight) in weights[chunk].0.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
            within = lane;
            sum += weight;
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
    use super::{CELLS, Counts, GROUPS, Room};

    /// Groups are of equal work, and of no more cells than can be told apart, whatever comes first.
    #[test]
    fn groups_of_words() {
        let room = Room { memory: u64::MAX, folder: None };
        let cut = |tokens: &[u64], topics: u32| {
            let counts = Counts::new(tokens, topics, 64, &room).unwrap();
            let most = counts.places.iter().map(|place| place.cell as usize + counts.rows.width).max();
            assert!(most <= Some(CELLS));
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
