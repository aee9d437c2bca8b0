//! phi while `tbp` is at work: whole units, exact whatever the order in which they are added.
//!
//! A word with few tokens has a row of 16-bit numbers, any other one of 32 bits. Words are cut into groups, so that
//! threads can change rows without meeting; the cut knows the corpus alone. Where there is too little memory for all rows
//! those of rare words are in a file: read one by one as documents want them, renewed in the order of the words after every
//! piece of the corpus.
//!
//! Legend: K topics; a row is `phi[w,:]` in units; the *weight* of a word is `sum_k factor[k]*(row[k] + beta)`, and its
//! *draws* are topics drawn in proportion to the terms of that sum. Both are as old as the last [`Counts::refresh`].

use std::fs::File;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::checkpoint::{In, Out};
use crate::error::{Error, Result};
use crate::files::{read_at, write_at};
use crate::kernel::{Change, Kernel, LANES, Lanes, Row};
use crate::memory;
use crate::numbers::{self, Number};
use crate::random::{Purpose, Random};
use crate::topics::stride;

/// How many groups the words are cut into, at least where there are enough of them.
const GROUPS: usize = 32;
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

/// How a row is kept: as 32-bit numbers or 16, in a file or in memory.
const WIDE: u32 = 1;
const ON_DISK: u32 = 2;
/// Kinds of rows.
const KINDS: usize = 4;

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

/// Rows in a file: first those of 16 bits, then those of 32.
#[derive(Debug)]
struct OnDisk {
    /// What it is called in errors.
    path: PathBuf,
    file: File,
    /// Where those of 32 bits begin.
    wide: u64,
}

/// Room for a row that comes from a file.
#[derive(Debug, Default, Clone)]
pub(crate) struct Slot {
    bytes: Vec<u8>,
    cells: Vec<u32>,
}

/// See the top.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Numbers in a row, padding included.
    width: usize,
    places: Vec<Place>,
    narrow: Vec<u16>,
    wide: Vec<u32>,
    on_disk: Option<OnDisk>,
    /// Where each word's draws end.
    ends: Vec<u32>,
    draws: Vec<u32>,
    /// Where every group starts: its first word and its first row of each kind.
    groups: Vec<Start>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Start {
    word: usize,
    rows: [usize; KINDS],
}

/// Whether the row of a word with so many tokens is one of 32 bits.
pub(crate) fn is_wide(tokens: u64, units: u32) -> bool {
    u16::try_from(tokens.saturating_mul(u64::from(units))).is_err()
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
        let tokens: u64 = word_tokens.iter().sum();
        let too_large = || Error::Memory {
            need: (word_tokens.len() as u64).saturating_mul(2 * width as u64),
            have: room.memory,
            remedy: "Choose fewer topics (-k) or a smaller vocabulary.".into(),
        };
        if word_tokens.len() >= 1 << 30 || u32::try_from(width).is_err() {
            return Err(too_large());
        }
        let bytes = |n: u64| if is_wide(n, units) { 4 } else { 2 } * width as u64;
        let stays = in_memory(word_tokens, bytes, if room.folder.is_some() { room.memory } else { u64::MAX });
        let mut places = Vec::with_capacity(word_tokens.len());
        let (mut groups, mut ends) = (vec![Start::default()], Vec::with_capacity(word_tokens.len()));
        let mut at = Start::default();
        let (mut done, mut start, mut draws) = (0, at, 0u64);
        for (w, (&n, &stays)) in word_tokens.iter().zip(&stays).enumerate() {
            let kind = if is_wide(n, units) { WIDE } else { 0 } | if stays { 0 } else { ON_DISK };
            let number = at.rows[kind as usize];
            let cell =
                u32::try_from((number - start.rows[kind as usize]) * width).map_err(|_| too_large())?;
            places.push(Place {
                row: (number as u32 * KINDS as u32) | kind,
                bucket: (groups.len() as u32 - 1) * KINDS as u32 + kind,
                cell,
                weight: 0.0,
            });
            at.rows[kind as usize] += 1;
            at.word = w + 1;
            draws += draws_of(n);
            ends.push(u32::try_from(draws).map_err(|_| too_large())?);
            done += n;
            // Cells are counted in 32 bits within a group.
            let full = (at.rows[kind as usize] + 1 - start.rows[kind as usize]) * width > u32::MAX as usize;
            let enough = groups.len() < GROUPS && done > tokens / GROUPS as u64 * groups.len() as u64;
            if enough || full {
                groups.push(at);
                start = at;
            }
        }
        groups.push(at);
        let [narrow, wide, narrow_on_disk, wide_on_disk] = at.rows.map(|rows| rows * width);
        let on_disk = match &room.folder {
            Some(folder) if narrow_on_disk + wide_on_disk > 0 => {
                Some(OnDisk::new(folder, 2 * narrow_on_disk as u64, 4 * wide_on_disk as u64)?)
            }
            _ => None,
        };
        Ok(Counts {
            width,
            places,
            narrow: zeros(narrow)?,
            wide: zeros(wide)?,
            on_disk,
            draws: vec![0; draws as usize],
            ends,
            groups,
        })
    }

    /// How many buckets changes are collected in: for every group one for each kind of row.
    pub(crate) fn buckets(&self) -> usize {
        (self.groups.len() - 1) * KINDS
    }

    /// A word's row; one that is in a file is read to the slot.
    #[inline]
    pub(crate) fn row<'a>(&'a self, word: u32, slot: &'a mut Slot) -> Result<Row<'a>> {
        row(self.places[word as usize].row, self.width, &self.narrow, &self.wide, self.on_disk.as_ref(), slot)
    }

    /// Asks for a row that will be wanted soon, where it is in memory.
    #[inline]
    pub(crate) fn prefetch(&self, word: u32) {
        if let Some(row) = self.at_hand(word) {
            row.prefetch();
        }
    }

    /// A word's row, where it is in memory.
    #[inline]
    pub(crate) fn at_hand(&self, word: u32) -> Option<Row<'_>> {
        at_hand(self.places[word as usize].row, self.width, &self.narrow, &self.wide)
    }

    /// What is known of a word.
    #[inline]
    pub(crate) fn place(&self, word: u32) -> Place {
        self.places[word as usize]
    }

    /// A word's draws.
    pub(crate) fn draws(&self, word: u32) -> &[u32] {
        let start = if word == 0 { 0 } else { self.ends[word as usize - 1] };
        &self.draws[start as usize..self.ends[word as usize] as usize]
    }

    /// Weighs all words and draws topics for them; `key` tells one time from another.
    pub(crate) fn refresh(
        &mut self,
        kernel: Kernel,
        (factors, beta): (&[Lanes], f32),
        seed: u64,
        key: u64,
    ) -> Result<()> {
        let Counts { width, places, narrow, wide, on_disk, ends, draws, groups } = self;
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
        parts.into_par_iter().try_for_each(|(from, places, draws)| {
            let mut row_weights = vec![Lanes::ZERO; factors.len()];
            let mut sums = Vec::with_capacity(factors.len());
            let mut rest = draws;
            let mut slot = Slot::default();
            for (i, place) in places.iter_mut().enumerate() {
                let word = from + i;
                let row = row(place.row, *width, narrow, wide, on_disk.as_ref(), &mut slot)?;
                place.weight = kernel.weights(row, factors, beta, &mut row_weights, &mut sums);
                let (own, more) = std::mem::take(&mut rest).split_at_mut(end_of(word + 1) - end_of(word));
                rest = more;
                let u = Random::new(seed, Purpose::Draw, key.wrapping_add(word as u64)).unit() as f32;
                draw(&row_weights, &sums, place.weight, u, own);
            }
            Ok(())
        })
    }

    /// Makes changes; `of_bucket(b)` are those of a bucket.
    pub(crate) fn change<'a, I: Iterator<Item = &'a Change>>(
        &mut self,
        of_bucket: impl Fn(usize) -> I + Sync,
    ) -> Result<()> {
        let Counts { width, narrow, wide, on_disk, groups, .. } = self;
        let on_disk = on_disk.as_ref();
        let (mut rest_narrow, mut rest_wide) = (&mut narrow[..], &mut wide[..]);
        let mut parts = Vec::with_capacity(groups.len());
        for pair in groups.windows(2) {
            let length = |kind: usize| (pair[1].rows[kind] - pair[0].rows[kind]) * *width;
            let (own_narrow, more) = rest_narrow.split_at_mut(length(0));
            let (own_wide, other) = rest_wide.split_at_mut(length(1));
            (rest_narrow, rest_wide) = (more, other);
            parts.push((own_narrow, own_wide, pair[0]));
        }
        // What comes in and what goes out comes in any order: a number may leave the range on the way, not in the end.
        parts.into_par_iter().enumerate().try_for_each(|(group, (narrow, wide, start))| {
            for change in of_bucket(KINDS * group) {
                let n = &mut narrow[change.cell as usize];
                *n = n.wrapping_add(change.units as u16);
            }
            for change in of_bucket(KINDS * group + 1) {
                let n = &mut wide[change.cell as usize];
                *n = n.wrapping_add(change.units as u32);
            }
            let Some(on_disk) = on_disk else { return Ok(()) };
            for kind in [ON_DISK, ON_DISK | WIDE] {
                let changes = of_bucket(KINDS * group + kind as usize);
                on_disk.change(*width, kind, start.rows[kind as usize], changes)?;
            }
            Ok(())
        })
    }

    /// All zero again.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.narrow.fill(0);
        self.wide.fill(0);
        self.on_disk.as_ref().map_or(Ok(()), OnDisk::clear)
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

    /// Rows and numbers of each width: what [`Counts::save`] writes, wherever the rows are.
    fn sizes(&self) -> [u64; 2] {
        let rows = self.groups.last().map_or([0; KINDS], |end| end.rows);
        [rows[0] + rows[2], rows[1] + rows[3]].map(|rows| rows as u64 * self.width as u64)
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
            for w in (0..self.places.len() as u32).filter(|&w| (self.place(w).row & WIDE != 0) == wide) {
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
        if self.draws.iter().any(|&k| k >= topics) || self.places.iter().any(|place| place.weight.is_nan()) {
            return Err(from.damaged("its draws are of topics that are not there"));
        }
        let (mut short, mut long) = (vec![0u16; self.width], vec![0u32; self.width]);
        for (wide, count) in [false, true].into_iter().zip(self.sizes()) {
            from.begin(count)?;
            for w in 0..self.places.len() {
                let place = self.places[w];
                if (place.row & WIDE != 0) != wide {
                    continue;
                }
                let at = (place.row as usize / KINDS) * self.width;
                match place.row % KINDS as u32 {
                    0 => from.more(&mut self.narrow[at..at + self.width])?,
                    WIDE => from.more(&mut self.wide[at..at + self.width])?,
                    kind => {
                        let bytes = if wide {
                            from.more(&mut long)?;
                            bytes_of(&long)
                        } else {
                            from.more(&mut short)?;
                            bytes_of(&short)
                        };
                        if let Some(on_disk) = &self.on_disk {
                            on_disk.write(self.width, kind, place.row as usize / KINDS, &bytes)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn bytes_of<T: Number>(row: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    numbers::put(row, &mut bytes);
    bytes
}

impl OnDisk {
    /// Rows of zeros, so many bytes of each width.
    fn new(folder: &Path, narrow: u64, wide: u64) -> Result<OnDisk> {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let path = folder.join("phi");
        // It has no name that others see, and goes with the process.
        let file = tempfile::tempfile_in(folder).map_err(Error::io("create", &path))?;
        file.set_len(narrow + wide).map_err(Error::io("write", &path))?;
        Ok(OnDisk { path, file, wide: narrow })
    }

    /// Zeros again: cut off and made as long as it was, a file has them.
    fn clear(&self) -> Result<()> {
        let again = || {
            let length = self.file.metadata()?.len();
            self.file.set_len(0)?;
            self.file.set_len(length)
        };
        again().map_err(Error::io("write", &self.path))
    }

    /// Where a row is, and its bytes.
    fn place(&self, width: usize, kind: u32, number: usize) -> (u64, usize) {
        let (from, cell) = if kind & WIDE != 0 { (self.wide, 4) } else { (0, 2) };
        (from + number as u64 * (width * cell) as u64, width * cell)
    }

    fn read(&self, width: usize, kind: u32, number: usize, slot: &mut Slot) -> Result<()> {
        let (at, bytes) = self.place(width, kind, number);
        slot.bytes.resize(bytes, 0);
        read_at(&self.file, &mut slot.bytes, at).map_err(Error::io("read", &self.path))?;
        slot.cells.clear();
        if kind & WIDE != 0 {
            slot.cells.extend(slot.bytes.chunks_exact(4).map(u32::get));
        } else {
            slot.cells.extend(slot.bytes.chunks_exact(2).map(|two| u32::from(u16::get(two))));
        }
        Ok(())
    }

    fn write(&self, width: usize, kind: u32, number: usize, bytes: &[u8]) -> Result<()> {
        let (at, _) = self.place(width, kind, number);
        write_at(&self.file, bytes, at).map_err(Error::io("write", &self.path))
    }

    /// Makes the changes of one kind of rows of a group, whose first row has this number, row by row.
    fn change<'a>(
        &self,
        width: usize,
        kind: u32,
        first: usize,
        changes: impl Iterator<Item = &'a Change>,
    ) -> Result<()> {
        let mut changes: Vec<Change> = changes.copied().collect();
        changes.sort_unstable_by_key(|change| change.cell);
        let mut slot = Slot::default();
        for of_row in changes.chunk_by(|a, b| a.cell as usize / width == b.cell as usize / width) {
            let number = first + of_row[0].cell as usize / width;
            self.read(width, kind, number, &mut slot)?;
            for change in of_row {
                let n = &mut slot.cells[change.cell as usize % width];
                *n = n.wrapping_add(change.units as u32);
            }
            slot.bytes.clear();
            if kind & WIDE != 0 {
                numbers::put(&slot.cells, &mut slot.bytes);
            } else {
                slot.bytes.extend(slot.cells.iter().flat_map(|&n| (n as u16).to_le_bytes()));
            }
            self.write(width, kind, number, &slot.bytes)?;
        }
        Ok(())
    }
}

#[inline]
fn at_hand<'a>(row: u32, width: usize, narrow: &'a [u16], wide: &'a [u32]) -> Option<Row<'a>> {
    let from = row as usize / KINDS * width;
    match row % KINDS as u32 {
        0 => Some(Row::Narrow(&narrow[from..from + width])),
        WIDE => Some(Row::Wide(&wide[from..from + width])),
        _ => None,
    }
}

#[inline]
fn row<'a>(
    row: u32,
    width: usize,
    narrow: &'a [u16],
    wide: &'a [u32],
    on_disk: Option<&OnDisk>,
    slot: &'a mut Slot,
) -> Result<Row<'a>> {
    match at_hand(row, width, narrow, wide) {
        Some(row) => Ok(row),
        None => fetch(row, width, on_disk, slot),
    }
}

#[inline(never)]
fn fetch<'a>(row: u32, width: usize, on_disk: Option<&OnDisk>, slot: &'a mut Slot) -> Result<Row<'a>> {
    slot.cells.resize(width, 0);
    if let Some(on_disk) = on_disk {
        on_disk.read(width, row % KINDS as u32, row as usize / KINDS, slot)?;
    }
    Ok(Row::Wide(&slot.cells))
}

/// Draws topics in proportion to the weights, at equal distances along their running sum. `sums` are those of 16.
fn draw(weights: &[Lanes], sums: &[f32], total: f32, u: f32, draws: &mut [u32]) {
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
        *draw = (chunk * LANES + within) as u32;
    }
}

fn zeros<T: Default + Clone>(length: usize) -> Result<Vec<T>> {
    let mut zeros = memory::room(length as u64)?;
    zeros.resize(length, T::default());
    Ok(zeros)
}
