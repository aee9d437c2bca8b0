//! Changes of phi on their way from documents to words. Many go from the cache of one core to that of another, so they are
//! small: a cell and its units in four bytes, and four more where there may be many units.

#![allow(unsafe_code)] // what was written behind the end of a list becomes part of it
#![allow(clippy::inline_always)] // called by kernels

use std::mem::MaybeUninit;

use super::messages::UNITS_PER_TOKEN;
use crate::error::Result;
use crate::numbers::{self, Number};
use crate::simd::prefetch_line;

/// A change of a number of phi: `cell` counts from the start of a group of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) cell: u32,
    pub(crate) units: i32,
}

/// Bits of the units that stand beside a cell, counted from what stands for none. 0 says that they are the next number.
const BITS: u32 = 9;
const NONE: u32 = 1 << (BITS - 1);

/// Cells that can be told apart.
pub(crate) const MAX_CELLS: usize = 1 << (32 - BITS);

/// Where deltas come from when they are applied: lists in memory, and blocks of lists that were moved to files.
pub(crate) trait DeltaSource: Sync {
    /// The deltas of list `list` that are in memory, in any number of parts.
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

/// Changes, one behind the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeltaList(Vec<u32>);

impl DeltaList {
    /// Bytes of a list that has just been created for the deltas of a message, about.
    pub(crate) const FIRST_BYTES: u64 = 4 * 3 * UNITS_PER_TOKEN as u64;

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Bytes of memory, spare capacity included.
    pub(crate) fn bytes(&self) -> u64 {
        4 * self.0.capacity() as u64
    }

    /// The coded deltas in blocks of at most `most` numbers, which must be at least two. A delta is never cut in two.
    pub(crate) fn blocks(&self, most: usize) -> impl Iterator<Item = &[u32]> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let mut end = 0;
            while let Some(&code) = rest.get(end) {
                let numbers = if code % (1 << BITS) == 0 { 2 } else { 1 };
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
        // There are exactly so many.
        let _ = numbers::take(&mut bytes, count, &mut self.0);
    }

    /// How many numbers they are: one or two for each.
    pub(crate) fn numbers(&self) -> u64 {
        self.0.len() as u64
    }

    pub(crate) fn push(&mut self, change: Delta) {
        let Delta { cell, units } = change;
        if units.unsigned_abs() < NONE {
            self.0.push((cell << BITS | NONE).wrapping_add_signed(units));
        } else {
            self.0.extend([cell << BITS, units.cast_unsigned()]);
        }
    }

    /// SpareCapacity for so many more of a word that is in the document x times and whose row begins with this cell.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, cell: u32, x: u32, more: usize) -> SpareCapacity<'_> {
        let most = 2 * more;
        if self.0.capacity() - self.0.len() < most {
            // A quarter more: doubled, the lists would take more than messages of a block do.
            self.0.reserve_exact(most + self.0.len() / 4);
        }
        let spare = &mut self.0.spare_capacity_mut()[..most];
        // A token moves all its units at the most.
        let small = x < NONE / UNITS_PER_TOKEN;
        let (none, times) = if small { (NONE, x.cast_signed()) } else { (0, 0) };
        SpareCapacity { spare, first: cell << BITS | none, x: x.cast_signed(), times, small, filled: 0 }
    }

    /// What was written to the reserve counts now.
    ///
    /// # Safety
    /// `filled` is that of the last reserve.
    #[inline(always)]
    pub(crate) unsafe fn take(&mut self, filled: usize) {
        let length = self.0.len() + filled;
        // SAFETY: so many were written behind the end, within the capacity.
        unsafe { self.0.set_len(length) };
    }

    /// In their order.
    pub(crate) fn iter(&self) -> Iter<'_> {
        Iter(self.0.iter())
    }

    /// Asks for the first of them, which another core may have written.
    #[inline]
    pub(crate) fn prefetch(&self) {
        const LINES: usize = 4;
        self.0.iter().step_by(16).take(LINES).for_each(prefetch_line);
    }
}

/// See [`DeltaList::iter`].
#[derive(Debug)]
pub(crate) struct Iter<'a>(std::slice::Iter<'a, u32>);

impl Iter<'_> {
    /// The cells of those that come next, so many numbers; see [`Iter::ahead`].
    #[inline(always)]
    pub(crate) fn first(&self, numbers: usize) -> impl Iterator<Item = u32> {
        self.0.as_slice().iter().take(numbers).map(|&code| code >> BITS)
    }

    /// The cell of one that comes so many numbers later; now and then one that does not come.
    #[inline(always)]
    pub(crate) fn ahead(&self, numbers: usize) -> Option<u32> {
        self.0.as_slice().get(numbers).map(|&code| code >> BITS)
    }
}

impl Iterator for Iter<'_> {
    type Item = Delta;

    #[inline(always)]
    fn next(&mut self) -> Option<Delta> {
        let first = *self.0.next()?;
        let units = first % (1 << BITS);
        let units =
            if units == 0 { self.0.next()?.cast_signed() } else { units.wrapping_sub(NONE).cast_signed() };
        Some(Delta { cell: first >> BITS, units })
    }
}

/// SpareCapacity for some changes of a word at the end of a bucket.
pub(crate) struct SpareCapacity<'a> {
    spare: &'a mut [MaybeUninit<u32>],
    /// What stands for no units in the first cell, and how often those of a token are added to it.
    first: u32,
    times: i32,
    x: i32,
    /// Whether units stand beside their cell.
    small: bool,
    /// Numbers that were written and count.
    pub(crate) filled: usize,
}

impl SpareCapacity<'_> {
    /// One more, of a topic, of so many units of each token, if that is any.
    #[inline(always)]
    pub(crate) fn push(&mut self, topic: u32, units: i32) {
        // What does not count is written and then written over: to ask first would cost more.
        let code = self.first.wrapping_add(topic << BITS).wrapping_add_signed(self.times * units);
        self.spare[self.filled].write(code);
        if !self.small {
            self.spare[self.filled + 1].write((self.x * units).cast_unsigned());
            self.filled += usize::from(units != 0);
        }
        self.filled += usize::from(units != 0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Delta, DeltaList, MAX_CELLS, UNITS_PER_TOKEN};
    use crate::numbers;
    use proptest::prelude::*;

    proptest! {
        /// What goes in comes out, whatever its size, in whatever way it was entered; what is nothing does not.
        #[test]
        fn changes_come_out_as_they_went_in(
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
                // SAFETY: that of the last reserve.
                unsafe { two.take(filled) };
            }
            prop_assert!(two.iter().eq(one.iter().filter(|change| change.units != 0)));
            // Cut into blocks, written and read.
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
        let most = crate::algorithms::tbp::counts::most_tokens(UNITS_PER_TOKEN) as u32;
        for (x, units) in [1, 3, 4, most].into_iter().flat_map(|x| [(x, 1), (x, -1), (x, 64), (x, -64)]) {
            let (mut bucket, cell) = (DeltaList::default(), MAX_CELLS as u32 - 1);
            let mut reserve = bucket.reserve(cell - 99, x, 1);
            reserve.push(99, units);
            let filled = reserve.filled;
            // SAFETY: that of the last reserve.
            unsafe { bucket.take(filled) };
            let all = Delta { cell, units: x.cast_signed() * units };
            bucket.push(all);
            assert_eq!(bucket.iter().collect::<Vec<_>>(), [all, all]);
        }
    }
}
