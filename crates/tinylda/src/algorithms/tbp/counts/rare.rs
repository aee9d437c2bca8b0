//! Rows of rare words: lists of the topics that the word has.
//!
//! A word with few tokens is in few topics, whatever K is. Its row is a list of (topic, units)
//! entries. Deltas are appended to the list, in any order, until it is full; then entries of the
//! same topic are merged. A short list is stored in the row's own cache line. A list that has grown
//! as large as a row of all topics becomes one. Computations go over the topics of a rare word in
//! ascending order, wherever the row is, so the result does not depend on how it is stored.
//!
//! Legend: K topics; n the units of a topic; factor = alpha/(lambda + W*beta).

use crate::algorithms::tbp::delta::DeltaList;
use crate::simd::{Lanes, flat, prefetch_for_write, prefetch_line};

/// A word is rare if it has at most one token per this number of topics, and at most
/// [`MAX_TOKENS`].
const TOPICS_PER_TOKEN: u64 = 12;
/// Largest number of tokens of a rare word. Longer lists would be slower than rows of all topics.
const MAX_TOKENS: u64 = 40;

/// Returns whether a word with this number of tokens is rare.
pub(super) fn is_rare(tokens: u64, topics: u32) -> bool {
    tokens <= (u64::from(topics) / TOPICS_PER_TOKEN).min(MAX_TOKENS)
}

/// Bytes of a row other than its numbers: the row itself, and what the allocator adds.
const LIST_OVERHEAD: u64 = size_of::<RareRow>() as u64 + 24;

/// Returns the largest number of bytes of the row of a rare word, with rows of all topics of
/// `width` numbers and `units` units per token.
///
/// While deltas are applied, a list may have old topics and new ones. Messages of `units` topics
/// each, which could exceed the bound, do not occur.
pub(super) fn max_bytes(tokens: u64, units: u32, width: u64) -> u64 {
    let entries = tokens.saturating_mul(u64::from(units));
    capacity_for(entries).saturating_mul(4).min(width.saturating_mul(2)).saturating_add(LIST_OVERHEAD)
}

/// Returns the capacity of a list with this number of topics, including space for deltas.
fn capacity_for(entries: u64) -> u64 {
    entries.saturating_add(entries / 4).saturating_add(MIN_SPARE as u64)
}

/// Smallest number of entries that can be appended to a list after it was merged or reallocated.
const MIN_SPARE: usize = 6;

/// Number of entries that are stored in the row itself, which makes it a cache line.
const INLINE_ENTRIES: usize = 15;
/// Smallest number of free entries in a row after merging. With fewer, it becomes a list on the
/// heap.
const INLINE_SPARE: usize = 3;

/// The row of a rare word.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) enum RareRow {
    /// Number of entries, and entries. An entry has the topic in the upper half and the units in
    /// the lower half. Several entries may belong to the same topic.
    Inline(u8, [u32; INLINE_ENTRIES]),
    /// Entries as in [`RareRow::Inline`], on the heap.
    List(Vec<u32>),
    /// Units of all topics.
    Dense(Vec<u16>),
}

impl Default for RareRow {
    fn default() -> RareRow {
        RareRow::Inline(0, [0; INLINE_ENTRIES])
    }
}

/// Returns the topic and the units of an entry.
fn split(entry: u32) -> (usize, u16) {
    ((entry >> 16) as usize, entry as u16)
}

impl RareRow {
    /// Sets the row from the numbers of all topics.
    pub(super) fn set(&mut self, row: &[u16], sorter: &mut TopicEntrySorter) {
        *self = RareRow::default();
        for (topic, &n) in row.iter().enumerate().filter(|&(_, &n)| n > 0) {
            self.add(topic as u32, n, sorter);
        }
    }

    /// Adds units to a topic. Numbers may temporarily leave their range; see
    /// [`super::PhiCounts::apply`].
    #[inline]
    fn add(&mut self, topic: u32, units: u16, sorter: &mut TopicEntrySorter) {
        let entry = topic << 16 | u32::from(units);
        match self {
            RareRow::Inline(length, entries) if usize::from(*length) < INLINE_ENTRIES => {
                entries[usize::from(*length)] = entry;
                *length += 1;
            }
            RareRow::List(entries) if entries.len() < entries.capacity() => entries.push(entry),
            RareRow::Dense(row) => {
                let n = &mut row[topic as usize];
                *n = n.wrapping_add(units);
            }
            _ => {
                self.grow(sorter);
                self.add(topic, units, sorter);
            }
        }
    }

    /// Frees or allocates space for at least one more entry.
    #[cold]
    fn grow(&mut self, sorter: &mut TopicEntrySorter) {
        let length = match self {
            RareRow::Inline(length, entries) => {
                *length = sorter.merge(&mut entries[..usize::from(*length)]) as u8;
                if usize::from(*length) + INLINE_SPARE <= INLINE_ENTRIES {
                    return;
                }
                usize::from(*length)
            }
            RareRow::List(entries) => {
                let length = sorter.merge(entries);
                entries.truncate(length);
                if length + MIN_SPARE <= entries.capacity() {
                    return;
                }
                length
            }
            RareRow::Dense(_) => return,
        };
        let most = sorter.width() / 2;
        if length + MIN_SPARE > most {
            let mut row = vec![0; sorter.width()];
            self.entries().iter().map(|&entry| split(entry)).for_each(|(k, n)| row[k] = n);
            *self = RareRow::Dense(row);
            return;
        }
        let wanted = (capacity_for(length as u64) as usize).min(most);
        if let RareRow::List(entries) = self {
            entries.reserve_exact(wanted - length);
        } else {
            let mut list = Vec::with_capacity(wanted);
            list.extend_from_slice(self.entries());
            *self = RareRow::List(list);
        }
    }

    /// Returns the entries of a list; none for a row of all topics.
    #[inline]
    fn entries(&self) -> &[u32] {
        match self {
            RareRow::Inline(length, entries) => &entries[..usize::from(*length)],
            RareRow::List(entries) => entries,
            RareRow::Dense(_) => &[],
        }
    }

    /// Sorts the entries by topic and merges those of the same topic.
    pub(super) fn sort(&mut self, sorter: &mut TopicEntrySorter) {
        match self {
            RareRow::Inline(length, entries) => {
                *length = sorter.sort(&mut entries[..usize::from(*length)]) as u8;
            }
            RareRow::List(entries) => {
                let length = sorter.sort(entries);
                entries.truncate(length);
                if length + MIN_SPARE <= INLINE_ENTRIES {
                    let mut inline = [0; INLINE_ENTRIES];
                    inline[..length].copy_from_slice(entries);
                    *self = RareRow::Inline(length as u8, inline);
                }
            }
            RareRow::Dense(_) => {}
        }
    }

    /// Prefetches the location at which the next entry will be appended.
    #[inline]
    fn prefetch_end(&self) {
        if let RareRow::List(entries) = self {
            prefetch_for_write(entries.as_ptr().wrapping_add(entries.len()).cast());
        }
    }

    /// Prefetches the row. This reads the row's own cache line.
    #[inline]
    pub(super) fn prefetch(&self) {
        /// More cache lines than most rows have.
        const LINES: usize = 4;
        match self {
            RareRow::Inline(..) => {}
            RareRow::List(entries) => entries.iter().step_by(16).take(LINES).for_each(prefetch_line),
            RareRow::Dense(row) => row.iter().step_by(32).take(LINES).for_each(prefetch_line),
        }
    }
}

/// Scratch for merging and sorting lists. All numbers are zero between uses.
#[derive(Debug)]
pub(super) struct TopicEntrySorter {
    cells: Vec<u16>,
    /// One bit per topic.
    topic_bits: Vec<u64>,
}

impl TopicEntrySorter {
    pub(super) fn new(width: usize) -> TopicEntrySorter {
        TopicEntrySorter { cells: vec![0; width], topic_bits: vec![0; width.div_ceil(64)] }
    }

    fn width(&self) -> usize {
        self.cells.len()
    }

    /// Merges entries of the same topic and removes those without units. The order is arbitrary,
    /// which takes less time than sorting. Returns the number of entries.
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

    /// Merges entries of the same topic, removes those without units, and sorts the others by
    /// topic. Returns the number of entries.
    fn sort(&mut self, entries: &mut [u32]) -> usize {
        let TopicEntrySorter { cells, topic_bits } = self;
        for (k, n) in entries.iter().map(|&entry| split(entry)) {
            cells[k] = cells[k].wrapping_add(n);
            topic_bits[k / 64] |= 1 << (k % 64);
        }
        let mut length = 0;
        for (i, bits) in topic_bits.iter_mut().enumerate() {
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

/// Applies deltas to consecutive rows; see [`super::PhiCounts::apply`].
pub(super) fn apply<'a>(
    rows: &mut [RareRow],
    deltas: impl Iterator<Item = &'a DeltaList>,
    sorter: &mut TopicEntrySorter,
) {
    /// Number of 32-bit numbers of a list by which the ends of rows are prefetched ahead. Rows
    /// themselves are prefetched twice as far ahead.
    const AHEAD: usize = 24;
    let width = sorter.width();
    let row_of = |cell: u32| (cell / width as u32) as usize;
    let mut lists = deltas.peekable();
    while let Some(deltas) = lists.next() {
        if let Some(next) = lists.peek() {
            next.prefetch();
        }
        // Deltas of the same message are adjacent.
        let (mut at, mut first) = (0, 0);
        let mut deltas = deltas.iter();
        for cell in deltas.peek_cells(2 * AHEAD) {
            prefetch_for_write(rows.as_ptr().wrapping_add(row_of(cell)).cast());
        }
        for row in deltas.peek_cells(AHEAD).filter_map(|cell| rows.get(row_of(cell))) {
            row.prefetch_end();
        }
        while let Some(delta) = deltas.next() {
            if let Some(cell) = deltas.peek_cell(2 * AHEAD) {
                prefetch_for_write(rows.as_ptr().wrapping_add(row_of(cell)).cast());
            }
            if let Some(row) = deltas.peek_cell(AHEAD).and_then(|cell| rows.get(row_of(cell))) {
                row.prefetch_end();
            }
            let mut topic = delta.cell.wrapping_sub(first);
            if topic >= width as u32 {
                at = row_of(delta.cell);
                first = (at * width) as u32;
                topic = delta.cell - first;
            }
            rows[at].add(topic, delta.units as u16, sorter);
        }
    }
}

/// Buffer for a list that is expanded to all topics. All numbers are zero, except those of the last
/// row.
#[derive(Debug, Default, Clone)]
pub(super) struct ExpandedRow {
    cells: Vec<u16>,
    filled: Vec<u32>,
}

impl ExpandedRow {
    /// Returns the numbers of all topics of a row.
    pub(super) fn expand<'a>(&'a mut self, row: &'a RareRow, width: usize) -> &'a [u16] {
        if let RareRow::Dense(row) = row {
            return row;
        }
        let entries = row.entries();
        let ExpandedRow { cells, filled } = self;
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

/// Computes the prior mass of rare words and samples topics in proportion to it.
#[derive(Debug)]
pub(super) struct RarePriorMass<'a> {
    factors: &'a [f32],
    /// Running sums of beta * factor: the prior mass of a word without tokens.
    base: Vec<f32>,
    /// Last topic with a factor.
    last: usize,
}

/// Weights of the topics that a rare word has.
#[derive(Debug, Default)]
pub(super) struct TopicWeights(Vec<(u16, f32)>);

impl<'a> RarePriorMass<'a> {
    pub(super) fn new(factors: &'a [Lanes], beta: f32) -> RarePriorMass<'a> {
        let (factors, mut sum) = (flat(factors), 0f64);
        let base = factors.iter().map(|&factor| {
            sum += f64::from(beta) * f64::from(factor);
            sum as f32
        });
        let base: Vec<f32> = base.collect();
        let last = base.partition_point(|&sum| Some(&sum) < base.last());
        RarePriorMass { factors, base, last }
    }

    /// Returns the prior mass of a word without tokens.
    fn base(&self) -> f32 {
        self.base.last().copied().unwrap_or(0.0)
    }

    /// Computes the weights of the topics of a sorted row. Returns the prior mass of the word.
    pub(super) fn prior_mass(&self, row: &RareRow, weights: &mut TopicWeights) -> f32 {
        match row {
            RareRow::Dense(row) => self.prior_mass_of_dense(row, weights),
            _ => self.prior_mass_of_entries(row.entries().iter().map(|&entry| split(entry)), weights),
        }
    }

    /// Computes the weights of a row of all topics. Returns the prior mass of the word.
    pub(super) fn prior_mass_of_dense<N: Copy + Into<u32>>(
        &self,
        row: &[N],
        weights: &mut TopicWeights,
    ) -> f32 {
        // No number has more than 16 bits.
        self.prior_mass_of_entries(row.iter().map(|&n| n.into() as u16).enumerate(), weights)
    }

    fn prior_mass_of_entries(
        &self,
        entries: impl Iterator<Item = (usize, u16)>,
        TopicWeights(weights): &mut TopicWeights,
    ) -> f32 {
        weights.clear();
        weights
            .extend(entries.filter(|&(_, n)| n > 0).map(|(k, n)| (k as u16, f32::from(n) * self.factors[k])));
        weights.iter().fold(self.base(), |sum, &(_, weight)| sum + weight)
    }

    /// Samples topics in proportion, at equal distances along the running sum of base and weights,
    /// starting at u.
    pub(super) fn sample(
        &self,
        TopicWeights(weights): &TopicWeights,
        total: f32,
        u: f32,
        samples: &mut [u16],
    ) {
        let step = total / samples.len().max(1) as f32;
        let (mut at, mut sum) = (0, self.base());
        for (i, sample) in samples.iter_mut().enumerate() {
            let target = (i as f32 + u) * step;
            if target < self.base() || weights.is_empty() {
                // Padding has factor 0, so the first sum above the target belongs to a topic.
                *sample = self.base.partition_point(|&sum| sum <= target).min(self.last) as u16;
                continue;
            }
            while at + 1 < weights.len() && sum + weights[at].1 <= target {
                sum += weights[at].1;
                at += 1;
            }
            *sample = weights[at].0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ExpandedRow, RarePriorMass, RareRow, TopicEntrySorter, TopicWeights, is_rare, max_bytes};
    use crate::simd::Lanes;
    use proptest::prelude::*;

    fn bytes(row: &RareRow) -> u64 {
        match row {
            RareRow::Inline(..) => 0,
            RareRow::List(entries) => 4 * entries.capacity() as u64,
            RareRow::Dense(row) => 2 * row.capacity() as u64,
        }
    }

    proptest! {
        /// A row equals a plain array after any sequence of deltas, and stays within its memory
        /// bound.
        #[test]
        fn a_row_is_an_array(deltas in prop::collection::vec((0u32..48, 0u16..200), 0..300)) {
            let (mut plain, mut row, mut sorter) = (vec![0u16; 48], RareRow::default(), TopicEntrySorter::new(48));
            for &(k, n) in &deltas {
                // Subtract before adding, so that numbers temporarily leave their range.
                row.add(k, n.wrapping_neg(), &mut sorter);
                prop_assert!(bytes(&row) <= 2 * 48);
            }
            for &(k, n) in deltas.iter().rev() {
                row.add(k, n.wrapping_mul(2), &mut sorter);
                plain[k as usize] = plain[k as usize].wrapping_add(n);
            }
            let mut spread = ExpandedRow::default();
            prop_assert_eq!(spread.expand(&row, 48), &plain[..]);
            let mut again = RareRow::default();
            again.set(&plain, &mut sorter);
            prop_assert_eq!(spread.expand(&again, 48), &plain[..]);
            let empty = RareRow::default();
            prop_assert_eq!(spread.expand(&empty, 48), &[0u16; 48][..]);
            // A list, a row of all topics, and a row from a file give the same bits.
            let factors = [0.1f32, 1.7, 16.3].map(|first| Lanes(std::array::from_fn(|lane| first + lane as f32)));
            let rare_mass = RarePriorMass::new(&factors, 0.01);
            row.sort(&mut sorter);
            let (mut one, mut two) = (TopicWeights::default(), TopicWeights::default());
            let weight = rare_mass.prior_mass(&row, &mut one);
            prop_assert_eq!(weight.to_bits(), rare_mass.prior_mass_of_dense(&plain, &mut two).to_bits());
            prop_assert_eq!(one.0, two.0);
        }
    }

    /// A list that has become short is stored in the row again.
    #[test]
    fn rows_grow_and_shrink() {
        let (mut row, mut sorter) = (RareRow::default(), TopicEntrySorter::new(512));
        (0..40).for_each(|k| row.add(k * 11, 7, &mut sorter));
        assert!(matches!(row, RareRow::List(_)));
        (5..40).for_each(|k| row.add(k * 11, 7u16.wrapping_neg(), &mut sorter));
        row.sort(&mut sorter);
        assert!(matches!(row, RareRow::Inline(5, _)));
        let mut plain = [0; 512];
        (0..5).for_each(|k| plain[k * 11] = 7);
        assert_eq!(ExpandedRow::default().expand(&row, 512), &plain[..]);
        (0..512).for_each(|k| row.add(k, 1, &mut sorter));
        assert!(matches!(row, RareRow::Dense(_)));
    }

    #[test]
    fn samples_are_in_proportion() {
        // Two topics with factors, and padding.
        let mut factors = [Lanes::ZERO];
        (factors[0].0[0], factors[0].0[1]) = (1.0, 3.0);
        let rare_mass = RarePriorMass::new(&factors, 1.0);
        let (mut row, mut weights) = (RareRow::default(), TopicWeights::default());
        let mut samples = [0; 4];
        let weight = rare_mass.prior_mass(&row, &mut weights);
        rare_mass.sample(&weights, weight, 0.5, &mut samples);
        assert_eq!((weight, samples), (4.0, [0, 1, 1, 1]));
        rare_mass.sample(&weights, weight, 1.0, &mut samples);
        assert_eq!(samples, [1, 1, 1, 1]);
        row.add(0, 12, &mut TopicEntrySorter::new(16));
        let weight = rare_mass.prior_mass(&row, &mut weights);
        rare_mass.sample(&weights, weight, 0.25, &mut samples);
        assert_eq!((weight, samples), (16.0, [1, 0, 0, 0]));
        rare_mass.sample(&weights, weight, 1.0, &mut samples);
        assert_eq!(samples, [0, 0, 0, 0]);
    }

    #[test]
    fn what_is_rare() {
        assert!(
            is_rare(0, 10) && !is_rare(1, 11) && is_rare(1, 12) && is_rare(40, 500) && !is_rare(41, 2000)
        );
        assert_eq!(max_bytes(1, 64, 10_000), 4 * 86 + 64 + 24);
        assert_eq!(max_bytes(40, 64, 512), 2 * 512 + 64 + 24);
        assert_eq!(max_bytes(u64::MAX, 64, u64::MAX), u64::MAX);
    }
}
