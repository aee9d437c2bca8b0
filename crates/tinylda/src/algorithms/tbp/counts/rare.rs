//! Rows of rare words: the topics that they have, and no others.
//!
//! A word with few tokens is in few topics, whatever K is. Its row is a list of its topics, and behind them what was added
//! since, until the list is tidied; a short one is in the row's own cache line. One that has grown as large as a row of all topics becomes one. What is
//! computed of a rare word goes along its topics in their order, wherever the row is, and so does not depend on how it is kept.
//!
//! Legend: K topics; n the units of a topic; factor = alpha/(lambda + W*beta).

use crate::algorithms::tbp::delta::DeltaList;
use crate::simd::{Lanes, flat, prefetch_line, prefetch_to_change};

/// A word is rare if it has at most one token for so many topics,
const TOPICS_PER_TOKEN: u64 = 12;
/// and no more than these: longer lists would take longer than rows of all topics.
const MOST_TOKENS: u64 = 40;

/// Whether a word with so many tokens is rare.
pub(super) fn is_rare(tokens: u64, topics: u32) -> bool {
    tokens <= (u64::from(topics) / TOPICS_PER_TOKEN).min(MOST_TOKENS)
}

/// Bytes besides the numbers of a row: the list's own, and what the allocator adds.
const OF_LIST: u64 = size_of::<RareRow>() as u64 + 24;

/// The most bytes that the row of a rare word takes, with rows of all topics of `width` numbers, and `units` for a token. (While
/// changes are made a list may have old topics beside new ones; messages of `units` topics each do not come.)
pub(super) fn most_bytes(tokens: u64, units: u32, width: u64) -> u64 {
    let entries = tokens.saturating_mul(u64::from(units));
    room(entries).saturating_mul(4).min(width.saturating_mul(2)).saturating_add(OF_LIST)
}

/// Room for so many topics, and for what may be added to them.
fn room(entries: u64) -> u64 {
    entries.saturating_add(entries / 4).saturating_add(MORE as u64)
}

/// What can be added to a list that was made or left as it is, at least.
const MORE: usize = 6;

/// Entries that have room in the row itself, with which it is a cache line,
const TINY: usize = 15;
/// of which so many are free at least when its topics were put together; else it becomes a list.
const SPARE: usize = 3;

/// A row.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) enum RareRow {
    /// The first of them count. A topic in the upper half, its units in the lower; a topic's units may be in several parts.
    Tiny(u8, [u32; TINY]),
    /// The same, more of them.
    Few(Vec<u32>),
    /// Of all topics.
    All(Vec<u16>),
}

impl Default for RareRow {
    fn default() -> RareRow {
        RareRow::Tiny(0, [0; TINY])
    }
}

fn split(entry: u32) -> (usize, u16) {
    ((entry >> 16) as usize, entry as u16)
}

impl RareRow {
    /// Takes the numbers of all topics.
    pub(super) fn set(&mut self, row: &[u16], sorter: &mut Sorter) {
        *self = RareRow::default();
        for (topic, &n) in row.iter().enumerate().filter(|&(_, &n)| n > 0) {
            self.change(topic as u32, n, sorter);
        }
    }

    /// Adds to a topic. Numbers may leave the range on the way: see [`super::Counts::apply`].
    #[inline]
    fn change(&mut self, topic: u32, units: u16, sorter: &mut Sorter) {
        let entry = topic << 16 | u32::from(units);
        match self {
            RareRow::Tiny(length, entries) if usize::from(*length) < TINY => {
                entries[usize::from(*length)] = entry;
                *length += 1;
            }
            RareRow::Few(entries) if entries.len() < entries.capacity() => entries.push(entry),
            RareRow::All(row) => {
                let n = &mut row[topic as usize];
                *n = n.wrapping_add(units);
            }
            _ => {
                self.make_room(sorter);
                self.change(topic, units, sorter);
            }
        }
    }

    /// Makes room for one more entry at least.
    #[cold]
    fn make_room(&mut self, sorter: &mut Sorter) {
        let length = match self {
            RareRow::Tiny(length, entries) => {
                *length = sorter.merge(&mut entries[..usize::from(*length)]) as u8;
                if usize::from(*length) + SPARE <= TINY {
                    return;
                }
                usize::from(*length)
            }
            RareRow::Few(entries) => {
                let length = sorter.merge(entries);
                entries.truncate(length);
                if length + MORE <= entries.capacity() {
                    return;
                }
                length
            }
            RareRow::All(_) => return,
        };
        let most = sorter.width() / 2;
        if length + MORE > most {
            let mut row = vec![0; sorter.width()];
            self.entries().iter().map(|&entry| split(entry)).for_each(|(k, n)| row[k] = n);
            *self = RareRow::All(row);
            return;
        }
        let wanted = (room(length as u64) as usize).min(most);
        if let RareRow::Few(entries) = self {
            entries.reserve_exact(wanted - length);
        } else {
            let mut list = Vec::with_capacity(wanted);
            list.extend_from_slice(self.entries());
            *self = RareRow::Few(list);
        }
    }

    /// What is in the list, if it is one.
    #[inline]
    fn entries(&self) -> &[u32] {
        match self {
            RareRow::Tiny(length, entries) => &entries[..usize::from(*length)],
            RareRow::Few(entries) => entries,
            RareRow::All(_) => &[],
        }
    }

    /// Brings the topics into their order, each once.
    pub(super) fn tidy(&mut self, sorter: &mut Sorter) {
        match self {
            RareRow::Tiny(length, entries) => {
                *length = sorter.tidy(&mut entries[..usize::from(*length)]) as u8;
            }
            RareRow::Few(entries) => {
                let length = sorter.tidy(entries);
                entries.truncate(length);
                if length + MORE <= TINY {
                    let mut tiny = [0; TINY];
                    tiny[..length].copy_from_slice(entries);
                    *self = RareRow::Tiny(length as u8, tiny);
                }
            }
            RareRow::All(_) => {}
        }
    }

    /// Asks for where the next change will be entered.
    #[inline]
    fn prefetch_end(&self) {
        if let RareRow::Few(entries) = self {
            prefetch_to_change(entries.as_ptr().wrapping_add(entries.len()).cast());
        }
    }

    /// Asks for it to be brought to the cache, ahead of its use. The row's own place is read for that.
    #[inline]
    pub(super) fn prefetch(&self) {
        /// More than most have.
        const LINES: usize = 4;
        match self {
            RareRow::Tiny(..) => {}
            RareRow::Few(entries) => entries.iter().step_by(16).take(LINES).for_each(prefetch_line),
            RareRow::All(row) => row.iter().step_by(32).take(LINES).for_each(prefetch_line),
        }
    }
}

/// Puts lists in order. Zeros between uses.
#[derive(Debug)]
pub(super) struct Sorter {
    cells: Vec<u16>,
    /// A bit for each topic.
    has: Vec<u64>,
}

impl Sorter {
    pub(super) fn new(width: usize) -> Sorter {
        Sorter { cells: vec![0; width], has: vec![0; width.div_ceil(64)] }
    }

    fn width(&self) -> usize {
        self.cells.len()
    }

    /// Every topic once, and none without units; in any order, which takes less time. Returns how many there are.
    fn merge(&mut self, entries: &mut [u32]) -> usize {
        let cells = &mut self.cells;
        for (k, n) in entries.iter().map(|&entry| split(entry)) {
            cells[k] = cells[k].wrapping_add(n);
        }
        let mut length = 0;
        for i in 0..entries.len() {
            let (k, _) = split(entries[i]);
            let n = std::mem::take(&mut cells[k]);
            entries[length] = (k as u32) << 16 | u32::from(n);
            length += usize::from(n != 0);
        }
        length
    }

    /// The same, in their order.
    fn tidy(&mut self, entries: &mut [u32]) -> usize {
        let Sorter { cells, has } = self;
        for (k, n) in entries.iter().map(|&entry| split(entry)) {
            cells[k] = cells[k].wrapping_add(n);
            has[k / 64] |= 1 << (k % 64);
        }
        let mut length = 0;
        for (i, bits) in has.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                let k = i * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let n = std::mem::take(&mut cells[k]);
                if n != 0 {
                    entries[length] = (k as u32) << 16 | u32::from(n);
                    length += 1;
                }
            }
        }
        length
    }
}

/// Makes changes of rows that are one behind the other: see [`super::Counts::apply`].
pub(super) fn change<'a>(
    rows: &mut [RareRow],
    changes: impl Iterator<Item = &'a DeltaList>,
    sorter: &mut Sorter,
) {
    /// Rows are asked for so many numbers of a bucket ahead, and where they are twice as many.
    const AHEAD: usize = 24;
    let width = sorter.width();
    let row_of = |cell: u32| (cell / width as u32) as usize;
    let mut buckets = changes.peekable();
    while let Some(changes) = buckets.next() {
        if let Some(next) = buckets.peek() {
            next.prefetch();
        }
        // Those of a message come together.
        let (mut at, mut first) = (0, 0);
        let mut changes = changes.iter();
        for cell in changes.first(2 * AHEAD) {
            prefetch_to_change(rows.as_ptr().wrapping_add(row_of(cell)).cast());
        }
        for row in changes.first(AHEAD).filter_map(|cell| rows.get(row_of(cell))) {
            row.prefetch_end();
        }
        while let Some(change) = changes.next() {
            if let Some(cell) = changes.ahead(2 * AHEAD) {
                prefetch_to_change(rows.as_ptr().wrapping_add(row_of(cell)).cast());
            }
            if let Some(row) = changes.ahead(AHEAD).and_then(|cell| rows.get(row_of(cell))) {
                row.prefetch_end();
            }
            let mut topic = change.cell.wrapping_sub(first);
            if topic >= width as u32 {
                at = row_of(change.cell);
                first = (at * width) as u32;
                topic = change.cell - first;
            }
            rows[at].change(topic, change.units as u16, sorter);
        }
    }
}

/// Room for a row of a few topics, spread out. Zeros, but for the last one that was.
#[derive(Debug, Default, Clone)]
pub(super) struct Spread {
    cells: Vec<u16>,
    filled: Vec<u32>,
}

impl Spread {
    /// The numbers of all topics.
    pub(super) fn out<'a>(&'a mut self, row: &'a RareRow, width: usize) -> &'a [u16] {
        if let RareRow::All(row) = row {
            return row;
        }
        let entries = row.entries();
        let Spread { cells, filled } = self;
        cells.resize(width, 0);
        for &entry in filled.iter() {
            cells[split(entry).0] = 0;
        }
        filled.clear();
        filled.extend_from_slice(entries);
        entries.iter().map(|&entry| split(entry)).for_each(|(k, n)| cells[k] = cells[k].wrapping_add(n));
        cells
    }
}

/// Weighs rare words and samples topics for them.
#[derive(Debug)]
pub(super) struct Scales<'a> {
    factors: &'a [f32],
    /// Running sums of beta * factor: what every word has in every topic.
    base: Vec<f32>,
    /// The last topic that has any of it.
    last: usize,
}

/// What belongs to a word's topics, of which there are few.
#[derive(Debug, Default)]
pub(super) struct Weights(Vec<(u16, f32)>);

impl<'a> Scales<'a> {
    pub(super) fn new(factors: &'a [Lanes], beta: f32) -> Scales<'a> {
        let (factors, mut sum) = (flat(factors), 0f64);
        let base = factors.iter().map(|&factor| {
            sum += f64::from(beta) * f64::from(factor);
            sum as f32
        });
        let base: Vec<f32> = base.collect();
        let last = base.partition_point(|&sum| Some(&sum) < base.last());
        Scales { factors, base, last }
    }

    /// What all topics have without a token.
    fn base(&self) -> f32 {
        self.base.last().copied().unwrap_or(0.0)
    }

    /// Notes what belongs to the topics of a tidy row. Returns the word's weight.
    pub(super) fn weigh(&self, row: &RareRow, weights: &mut Weights) -> f32 {
        match row {
            RareRow::All(row) => self.weigh_all(row, weights),
            _ => self.along(row.entries().iter().map(|&entry| split(entry)), weights),
        }
    }

    /// The same of a row of all topics.
    pub(super) fn weigh_all<N: Copy + Into<u32>>(&self, row: &[N], weights: &mut Weights) -> f32 {
        // None has more than 16 bits.
        self.along(row.iter().map(|&n| n.into() as u16).enumerate(), weights)
    }

    fn along(&self, entries: impl Iterator<Item = (usize, u16)>, Weights(weights): &mut Weights) -> f32 {
        weights.clear();
        weights
            .extend(entries.filter(|&(_, n)| n > 0).map(|(k, n)| (k as u16, f32::from(n) * self.factors[k])));
        weights.iter().fold(self.base(), |sum, &(_, weight)| sum + weight)
    }

    /// Draws topics in proportion, at equal distances along the running sum of base and weights, from u on.
    pub(super) fn draw(&self, Weights(weights): &Weights, total: f32, u: f32, samples: &mut [u16]) {
        let step = total / samples.len().max(1) as f32;
        let (mut at, mut sum) = (0, self.base());
        for (i, draw) in samples.iter_mut().enumerate() {
            let target = (i as f32 + u) * step;
            if target < self.base() || weights.is_empty() {
                // Padding has no factor, so the first sum above the target belongs to a topic.
                *draw = self.base.partition_point(|&sum| sum <= target).min(self.last) as u16;
                continue;
            }
            while at + 1 < weights.len() && sum + weights[at].1 <= target {
                sum += weights[at].1;
                at += 1;
            }
            *draw = weights[at].0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RareRow, Scales, Sorter, Spread, Weights, is_rare, most_bytes};
    use crate::simd::Lanes;
    use proptest::prelude::*;

    fn bytes(row: &RareRow) -> u64 {
        match row {
            RareRow::Tiny(..) => 0,
            RareRow::Few(entries) => 4 * entries.capacity() as u64,
            RareRow::All(row) => 2 * row.capacity() as u64,
        }
    }

    proptest! {
        /// A row is what a plain array would be, in any order of changes, and never takes more than it may.
        #[test]
        fn a_row_is_an_array(changes in prop::collection::vec((0u32..48, 0u16..200), 0..300)) {
            let (mut plain, mut row, mut sorter) = (vec![0u16; 48], RareRow::default(), Sorter::new(48));
            for &(k, n) in &changes {
                // Out before in: numbers leave the range on the way.
                row.change(k, n.wrapping_neg(), &mut sorter);
                prop_assert!(bytes(&row) <= 2 * 48);
            }
            for &(k, n) in changes.iter().rev() {
                row.change(k, n.wrapping_mul(2), &mut sorter);
                plain[k as usize] = plain[k as usize].wrapping_add(n);
            }
            let mut spread = Spread::default();
            prop_assert_eq!(spread.out(&row, 48), &plain[..]);
            let mut again = RareRow::default();
            again.set(&plain, &mut sorter);
            prop_assert_eq!(spread.out(&again, 48), &plain[..]);
            let empty = RareRow::default();
            prop_assert_eq!(spread.out(&empty, 48), &[0u16; 48][..]);
            // Few or all, and all from a file: the same to the bit.
            let factors = [0.1f32, 1.7, 16.3].map(|first| Lanes(std::array::from_fn(|lane| first + lane as f32)));
            let scales = Scales::new(&factors, 0.01);
            row.tidy(&mut sorter);
            let (mut one, mut two) = (Weights::default(), Weights::default());
            let weight = scales.weigh(&row, &mut one);
            prop_assert_eq!(weight.to_bits(), scales.weigh_all(&plain, &mut two).to_bits());
            prop_assert_eq!(one.0, two.0);
        }
    }

    /// A list that has become short goes back into the row.
    #[test]
    fn rows_grow_and_shrink() {
        let (mut row, mut sorter) = (RareRow::default(), Sorter::new(512));
        (0..40).for_each(|k| row.change(k * 11, 7, &mut sorter));
        assert!(matches!(row, RareRow::Few(_)));
        (5..40).for_each(|k| row.change(k * 11, 7u16.wrapping_neg(), &mut sorter));
        row.tidy(&mut sorter);
        assert!(matches!(row, RareRow::Tiny(5, _)));
        let mut plain = [0; 512];
        (0..5).for_each(|k| plain[k * 11] = 7);
        assert_eq!(Spread::default().out(&row, 512), &plain[..]);
        (0..512).for_each(|k| row.change(k, 1, &mut sorter));
        assert!(matches!(row, RareRow::All(_)));
    }

    #[test]
    fn draws_are_in_proportion() {
        // Two topics with factors, and padding.
        let mut factors = [Lanes::ZERO];
        (factors[0].0[0], factors[0].0[1]) = (1.0, 3.0);
        let scales = Scales::new(&factors, 1.0);
        let (mut row, mut weights) = (RareRow::default(), Weights::default());
        let mut samples = [0; 4];
        let weight = scales.weigh(&row, &mut weights);
        scales.draw(&weights, weight, 0.5, &mut samples);
        assert_eq!((weight, samples), (4.0, [0, 1, 1, 1]));
        scales.draw(&weights, weight, 1.0, &mut samples);
        assert_eq!(samples, [1, 1, 1, 1]);
        row.change(0, 12, &mut Sorter::new(16));
        let weight = scales.weigh(&row, &mut weights);
        scales.draw(&weights, weight, 0.25, &mut samples);
        assert_eq!((weight, samples), (16.0, [1, 0, 0, 0]));
        scales.draw(&weights, weight, 1.0, &mut samples);
        assert_eq!(samples, [0, 0, 0, 0]);
    }

    #[test]
    fn what_is_rare() {
        assert!(
            is_rare(0, 10) && !is_rare(1, 11) && is_rare(1, 12) && is_rare(40, 500) && !is_rare(41, 2000)
        );
        assert_eq!(most_bytes(1, 64, 10_000), 4 * 86 + 64 + 24);
        assert_eq!(most_bytes(40, 64, 512), 2 * 512 + 64 + 24);
        assert_eq!(most_bytes(u64::MAX, 64, u64::MAX), u64::MAX);
    }
}
