//! Deltas: changes of phi on their way from documents to words.
//!
//! Many deltas move from the cache of one core to that of another, so they are small: the cell and
//! the units take four bytes, and four more if there may be many units. A *cell* is a number of
//! phi, counted from the first row of the same form (16 bits, 32 bits, list) in its group of words.
//! This module does not know where rows are stored.

#![allow(unsafe_code)] // numbers written after the end of a list become part of it
#![allow(clippy::inline_always)] // called by kernels

use std::mem::MaybeUninit;

use super::messages::UNITS_PER_TOKEN;
use crate::error::Result;
use crate::numbers::{self, Number};
use crate::simd::{Indices, IntegerVector, LANES, Vector, lanes_in, prefetch_line};

/// A change of a number of phi. The module documentation explains how cells are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) cell: u32,
    pub(crate) units: i32,
}

/// Number of bits of the units that are stored in the same number as a cell, as an offset from
/// [`ZERO_UNITS`]. The value 0 means that the units are in the next number.
const UNIT_BITS: u32 = 9;
/// The stored value that represents zero units.
const ZERO_UNITS: u32 = 1 << (UNIT_BITS - 1);

/// Number of cells that can be addressed.
pub(crate) const MAX_CELLS: usize = 1 << (32 - UNIT_BITS);

/// Source of deltas when they are applied: lists in memory, and blocks of lists in files.
pub(crate) trait DeltaSource: Sync {
    /// Returns the deltas of list `list` that are in memory, in any number of parts.
    fn in_memory(&self, list: usize) -> impl Iterator<Item = &DeltaList>;

    /// Calls `each` for every block of list `list` that is in a file.
    fn for_each_block(&self, list: usize, each: impl FnMut(&DeltaList) -> Result<()>) -> Result<()>;
}

/// Lists that are all in memory.
impl DeltaSource for Vec<DeltaList> {
    fn in_memory(&self, list: usize) -> impl Iterator<Item = &DeltaList> {
        std::iter::once(&self[list])
    }

    fn for_each_block(&self, _: usize, _: impl FnMut(&DeltaList) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

/// A list of encoded deltas.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeltaList(Vec<u32>);

impl DeltaList {
    /// Approximate bytes of a new list with the deltas of one message.
    pub(crate) const FIRST_BYTES: u64 = 4 * 3 * UNITS_PER_TOKEN as u64;

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the bytes of memory, spare capacity included.
    pub(crate) fn bytes(&self) -> u64 {
        4 * self.0.capacity() as u64
    }

    /// Returns the encoded deltas in blocks of at most `most` numbers, which must be at least two.
    /// A delta is never split.
    pub(crate) fn blocks(&self, most: usize) -> impl Iterator<Item = &[u32]> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let mut end = 0;
            while let Some(&code) = rest.get(end) {
                let numbers = if code % (1 << UNIT_BITS) == 0 { 2 } else { 1 };
                if end + numbers > most {
                    break;
                }
                end += numbers;
            }
            let (block, later) = rest.split_at_checked(end)?;
            rest = later;
            (!block.is_empty()).then_some(block)
        })
    }

    /// Becomes the list of a block that was written as bytes.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) {
        let count = bytes.len() / u32::BYTES;
        // The bytes contain exactly this many numbers.
        let _ = numbers::take(&mut bytes, count, &mut self.0);
    }

    /// Returns the number of 32-bit numbers: one or two per delta.
    pub(crate) fn numbers(&self) -> u64 {
        self.0.len() as u64
    }

    /// Appends a delta.
    pub(crate) fn push(&mut self, delta: Delta) {
        let Delta { cell, units } = delta;
        if units.unsigned_abs() < ZERO_UNITS {
            self.0.push((cell << UNIT_BITS | ZERO_UNITS).wrapping_add_signed(units));
        } else {
            self.0.extend([cell << UNIT_BITS, units.cast_unsigned()]);
        }
    }

    /// Reserves capacity for `more` deltas of a word that occurs x times in the document and whose
    /// row starts at `cell`.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, cell: u32, x: u32, more: usize) -> SpareCapacity<'_> {
        // Sixteen more, since all lanes of a vector are written at once.
        let most = 2 * more + LANES;
        if self.0.capacity() - self.0.len() < most {
            // Grow by a quarter: with doubling, the lists would take more memory than the messages
            // of a block.
            self.0.reserve_exact(most + self.0.len() / 4);
        }
        let spare = &mut self.0.spare_capacity_mut()[..most];
        // A token moves at most all its units.
        let small = x < ZERO_UNITS / UNITS_PER_TOKEN;
        let (none, times) = if small { (ZERO_UNITS, x.cast_signed()) } else { (0, 0) };
        SpareCapacity { spare, first: cell << UNIT_BITS | none, x: x.cast_signed(), times, small, filled: 0 }
    }

    /// Makes what was written to the reserved capacity part of the list.
    ///
    /// # Safety
    /// `filled` is that of the last [`SpareCapacity`].
    #[inline(always)]
    pub(crate) unsafe fn commit(&mut self, filled: usize) {
        let length = self.0.len() + filled;
        // SAFETY: `filled` numbers were written after the end, within the capacity.
        unsafe { self.0.set_len(length) };
    }

    /// Iterates over the deltas in order.
    pub(crate) fn iter(&self) -> DeltaIter<'_> {
        DeltaIter(self.0.iter())
    }

    /// Prefetches the start of the list, which another core may have written.
    #[inline]
    pub(crate) fn prefetch(&self) {
        const LINES: usize = 4;
        self.0.iter().step_by(16).take(LINES).for_each(prefetch_line);
    }
}

/// Iterator over deltas; see [`DeltaList::iter`].
#[derive(Debug)]
pub(crate) struct DeltaIter<'a>(std::slice::Iter<'a, u32>);

impl DeltaIter<'_> {
    /// Returns the cells of the next `numbers` numbers; see [`DeltaIter::peek_cell`].
    #[inline(always)]
    pub(crate) fn peek_cells(&self, numbers: usize) -> impl Iterator<Item = u32> {
        self.0.as_slice().iter().take(numbers).map(|&code| code >> UNIT_BITS)
    }

    /// Returns the cell of the delta `numbers` numbers ahead, as a hint for prefetching. If the
    /// number there is not the first of a delta, the result is arbitrary.
    #[inline(always)]
    pub(crate) fn peek_cell(&self, numbers: usize) -> Option<u32> {
        self.0.as_slice().get(numbers).map(|&code| code >> UNIT_BITS)
    }
}

impl Iterator for DeltaIter<'_> {
    type Item = Delta;

    #[inline(always)]
    fn next(&mut self) -> Option<Delta> {
        let first = *self.0.next()?;
        let units = first % (1 << UNIT_BITS);
        let units = if units == 0 {
            self.0.next()?.cast_signed()
        } else {
            units.wrapping_sub(ZERO_UNITS).cast_signed()
        };
        Some(Delta { cell: first >> UNIT_BITS, units })
    }
}

/// Reserved capacity at the end of a list, for the deltas of one word.
pub(crate) struct SpareCapacity<'a> {
    spare: &'a mut [MaybeUninit<u32>],
    /// Encoding of zero units in the first cell of the word's row.
    first: u32,
    /// Factor by which the units of a token are added to the encoding: x, or 0 if they are in a
    /// number of their own.
    times: i32,
    /// Number of occurrences of the word in the document.
    x: i32,
    /// Whether units are stored in the same number as their cell.
    small: bool,
    /// Number of 32-bit numbers that have been written.
    pub(crate) filled: usize,
}

impl SpareCapacity<'_> {
    /// Appends a delta of `units` units per token of a topic, unless `units` is 0.
    #[inline(always)]
    pub(crate) fn push(&mut self, topic: u32, units: i32) {
        // The number is always written, and overwritten by the next if it is not needed. A branch
        // would cost more.
        let code = self.first.wrapping_add(topic << UNIT_BITS).wrapping_add_signed(self.times * units);
        self.spare[self.filled].write(code);
        if !self.small {
            self.spare[self.filled + 1].write((self.x * units).cast_unsigned());
            self.filled += usize::from(units != 0);
        }
        self.filled += usize::from(units != 0);
    }

    /// Appends deltas of sixteen topics, those of the lanes in `changed`. `units` are per token;
    /// those of other lanes are 0.
    ///
    /// # Safety
    /// The processor has V's instructions.
    #[inline(always)]
    pub(crate) unsafe fn push_lanes<V: Vector>(
        &mut self,
        topics: &Indices,
        units: V::Integers,
        changed: u32,
    ) {
        if self.small {
            let to = self.spare[self.filled..][..LANES].as_mut_ptr().cast();
            // SAFETY: promised by the caller. There is space for sixteen numbers.
            unsafe {
                let cells = V::Integers::load(topics.as_signed()).shift_left(UNIT_BITS);
                let first = V::Integers::splat(self.first.cast_signed());
                let codes = cells.add(first).add(units.mul(V::Integers::splat(self.times)));
                codes.compress_u32(changed, to);
            }
            self.filled += changed.count_ones() as usize;
        } else if changed != 0 {
            let mut each = [0; LANES];
            // SAFETY: promised by the caller.
            unsafe { units.store(&mut each) };
            for lane in lanes_in(changed) {
                self.push(topics.0[lane], each[lane]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Delta, DeltaList, MAX_CELLS, UNITS_PER_TOKEN};
    use crate::numbers;
    use proptest::prelude::*;

    proptest! {
        /// Deltas are decoded as they were encoded, whatever their size and the way they were
        /// appended. Deltas of zero units are dropped.
        #[test]
        fn deltas_are_decoded_as_they_were_encoded(
            list in prop::collection::vec((0..MAX_CELLS as u32, 1..10_000u32, -64..=64i32), 0..100)
        ) {
            let (mut one, mut two) = (DeltaList::default(), DeltaList::default());
            for (cell, x, units) in list {
                one.push(Delta { cell, units: x.cast_signed() * units });
                let topic = cell % 500;
                let mut reserve = two.reserve(cell - topic, x, 2);
                reserve.push(topic, 0);
                reserve.push(topic, units);
                let filled = reserve.filled;
                // SAFETY: `filled` is that of the last reserve.
                unsafe { two.commit(filled) };
            }
            prop_assert!(two.iter().eq(one.iter().filter(|delta| delta.units != 0)));
            // Lists survive being cut into blocks, written and read.
            for most in [2, 3, 7, 1000] {
                let mut read = Vec::new();
                for block in one.blocks(most) {
                    prop_assert!(!block.is_empty() && block.len() <= most);
                    let (mut bytes, mut list) = (Vec::new(), DeltaList::default());
                    numbers::put(block, &mut bytes);
                    list.read(&bytes);
                    read.extend(list.iter());
                }
                prop_assert!(one.iter().eq(read));
            }
        }
    }

    #[test]
    fn the_largest_and_the_smallest() {
        let most = crate::algorithms::tbp::counts::max_tokens(UNITS_PER_TOKEN) as u32;
        for (x, units) in [1, 3, 4, most].into_iter().flat_map(|x| [(x, 1), (x, -1), (x, 64), (x, -64)]) {
            let (mut list, cell) = (DeltaList::default(), MAX_CELLS as u32 - 1);
            let mut reserve = list.reserve(cell - 99, x, 1);
            reserve.push(99, units);
            let filled = reserve.filled;
            // SAFETY: `filled` is that of the last reserve.
            unsafe { list.commit(filled) };
            let all = Delta { cell, units: x.cast_signed() * units };
            list.push(all);
            assert_eq!(list.iter().collect::<Vec<_>>(), [all, all]);
        }
    }
}
