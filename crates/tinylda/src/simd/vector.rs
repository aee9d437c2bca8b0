//! The operations on a vector of sixteen lanes that every instruction set must implement, and their
//! definition in plain Rust.

use half::f16;

use super::{Halves, Indices, LANES, Lanes};

/// Sixteen 32-bit floats. Every operation is exactly rounded per lane, so all implementations agree
/// to the bit.
///
/// # Safety
/// The methods may be called only if the processor has the instructions of the implementation.
pub(crate) trait Vector: Copy {
    /// Sixteen integers of the same instruction set.
    type Integers: IntegerVector;
    /// A short row of 16-bit numbers that is read many times.
    type ShortNarrow: RowReader<Self>;
    /// A short row of 32-bit numbers that is read many times.
    type ShortWide: RowReader<Self>;
    /// Largest length of a short row; 0 if there is nothing faster than [`LongRow`].
    const MAX_SHORT_ROW: usize;
    /// Prepares reads of a row of at most [`Vector::MAX_SHORT_ROW`] numbers, a multiple of sixteen.
    unsafe fn short_narrow(row: &[u16]) -> Self::ShortNarrow;
    /// Prepares reads of a row of at most [`Vector::MAX_SHORT_ROW`] numbers, a multiple of sixteen.
    unsafe fn short_wide(row: &[u32]) -> Self::ShortWide;
    unsafe fn zero() -> Self;
    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: &Lanes) -> Self;
    unsafe fn store(self, to: &mut Lanes);
    unsafe fn load_halves(from: &Halves) -> Self;
    /// Rounds every lane to the nearest 16-bit float and stores it.
    unsafe fn store_halves(self, to: &mut Halves);
    /// Rounds every lane to 11 significant bits, the precision of a 16-bit float; ties round up.
    /// Lanes must not be negative.
    unsafe fn round_to_11_bits(self) -> Self;
    /// Loads the numbers of a row at sixteen indices.
    ///
    /// # Safety
    /// Every index lies inside the row that starts at `row`.
    unsafe fn gather_u16(row: *const u16, indices: &Indices) -> Self;
    /// Loads the numbers of a row at sixteen indices. The numbers are below 2^31.
    ///
    /// # Safety
    /// Every index lies inside the row that starts at `row`.
    unsafe fn gather_u32(row: *const u32, indices: &Indices) -> Self;
    unsafe fn widen_u16(from: &[u16; LANES]) -> Self;
    /// Converts integers below 2^31 to floats.
    unsafe fn widen_u32(from: &[u32; LANES]) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// Returns the larger lane of the two; `other` where self is NaN.
    unsafe fn max(self, other: Self) -> Self;
    /// Returns self * a + b, rounded once.
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    /// Returns the sum of all lanes, always by this tree: lanes i and i+8, then i and i+4, i+2,
    /// i+1.
    unsafe fn sum(self) -> f32;
    /// Returns in lane i the sum of lanes 0 to i, by the tree of [`running_sum`]. Lanes must not be
    /// negative.
    unsafe fn running_sum(self) -> Self;
    /// Returns the last lane in all lanes.
    unsafe fn splat_last(self) -> Self;
    /// Truncates the lanes to integers. Lanes must not be negative and must be below 2^31.
    unsafe fn truncate(self) -> Self::Integers;
    /// Converts integers to floats.
    unsafe fn from_integers(integers: Self::Integers) -> Self;
    /// Returns a mask of the lanes in which self is greater than `other`.
    unsafe fn gt_mask(self, other: Self) -> u32;
}

/// Sixteen 32-bit integers. Additions and multiplications wrap around.
///
/// # Safety
/// The methods may be called only if the processor has the instructions of the implementation.
pub(crate) trait IntegerVector: Copy {
    unsafe fn splat(value: i32) -> Self;
    unsafe fn load(from: &[i32; LANES]) -> Self;
    unsafe fn store(self, to: &mut [i32; LANES]);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    /// Shifts every lane to the left by `bits`, which is below 32.
    unsafe fn shift_left(self, bits: u32) -> Self;
    /// Returns the lanes moved up by one: lane i receives lane i - 1, and lane 0 the last lane of
    /// `before`.
    unsafe fn moved_up(self, before: Self) -> Self;
    /// Returns a mask of the lanes in which self is greater than `other`.
    unsafe fn gt_mask(self, other: Self) -> u32;
    /// Sets the lanes that are not in `mask` to zero.
    unsafe fn keep(self, mask: u32) -> Self;
    /// Writes the lanes in `mask` to `to`, in order and without gaps.
    ///
    /// # Safety
    /// There is space for sixteen numbers at `to`. What follows the written lanes there is
    /// undefined afterwards.
    unsafe fn compress_u32(self, mask: u32, to: *mut u32);
    /// Writes the lower 16 bits of the lanes in `mask` to `to`, in order and without gaps. The
    /// lanes are below 2^16.
    ///
    /// # Safety
    /// There is space for sixteen numbers at `to`. What follows the written lanes there is
    /// undefined afterwards.
    unsafe fn compress_u16(self, mask: u32, to: *mut u16);
}

/// A row of integers whose numbers at any indices can be read as floats.
pub(crate) trait RowReader<V: Vector>: Copy {
    /// Returns the numbers at sixteen indices as floats.
    ///
    /// # Safety
    /// Every index lies inside the row, and the processor has V's instructions.
    unsafe fn read(&self, indices: &Indices) -> V;
}

/// A row in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongRow<C>(pub(crate) *const C);

impl<V: Vector, C: Count> RowReader<V> for LongRow<C> {
    #[inline(always)]
    unsafe fn read(&self, indices: &Indices) -> V {
        // SAFETY: promised by the caller.
        unsafe { C::gather::<V>(self.0, indices) }
    }
}

/// An integer in a row of counts.
pub(crate) trait Count: Copy {
    /// Loads the numbers of a row at sixteen indices as floats.
    ///
    /// # Safety
    /// The requirements of [`Vector::gather_u16`] and [`Vector::gather_u32`] apply.
    unsafe fn gather<V: Vector>(row: *const Self, indices: &Indices) -> V;
    /// Converts sixteen consecutive numbers to floats.
    ///
    /// # Safety
    /// The requirements of [`Vector::widen_u16`] and [`Vector::widen_u32`] apply.
    unsafe fn widen<V: Vector>(from: &[Self; LANES]) -> V;
}

impl Count for u16 {
    #[inline(always)]
    unsafe fn gather<V: Vector>(row: *const u16, indices: &Indices) -> V {
        // SAFETY: promised by the caller.
        unsafe { V::gather_u16(row, indices) }
    }
    #[inline(always)]
    unsafe fn widen<V: Vector>(from: &[u16; LANES]) -> V {
        // SAFETY: see `gather`.
        unsafe { V::widen_u16(from) }
    }
}

impl Count for u32 {
    #[inline(always)]
    unsafe fn gather<V: Vector>(row: *const u32, indices: &Indices) -> V {
        // SAFETY: promised by the caller.
        unsafe { V::gather_u32(row, indices) }
    }
    #[inline(always)]
    unsafe fn widen<V: Vector>(from: &[u32; LANES]) -> V {
        // SAFETY: promised by the caller.
        unsafe { V::widen_u32(from) }
    }
}

/// Half of the last bit that [`Vector::round_to_11_bits`] keeps.
pub(super) const HALF_BIT: u32 = 1 << 12;
/// The bits that [`Vector::round_to_11_bits`] keeps.
pub(super) const KEPT_BITS: u32 = !((1 << 13) - 1);

/// The definition of all vector operations, in plain Rust.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; LANES]);

impl Vector for Plain {
    type Integers = PlainIntegers;
    type ShortNarrow = LongRow<u16>;
    type ShortWide = LongRow<u32>;
    const MAX_SHORT_ROW: usize = 0;
    #[inline(always)]
    unsafe fn short_narrow(row: &[u16]) -> LongRow<u16> {
        LongRow(row.as_ptr())
    }
    #[inline(always)]
    unsafe fn short_wide(row: &[u32]) -> LongRow<u32> {
        LongRow(row.as_ptr())
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        Plain([0.0; LANES])
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Plain([value; LANES])
    }
    #[inline(always)]
    unsafe fn load(from: &Lanes) -> Self {
        Plain(from.0)
    }
    #[inline(always)]
    unsafe fn store(self, to: &mut Lanes) {
        to.0 = self.0;
    }
    #[inline(always)]
    unsafe fn load_halves(from: &Halves) -> Self {
        Plain(from.0.map(f16::to_f32))
    }
    #[inline(always)]
    unsafe fn store_halves(self, to: &mut Halves) {
        to.0 = self.0.map(f16::from_f32);
    }
    #[inline(always)]
    unsafe fn round_to_11_bits(self) -> Self {
        Plain(self.0.map(|v| f32::from_bits((v.to_bits() + HALF_BIT) & KEPT_BITS)))
    }
    #[inline(always)]
    unsafe fn gather_u16(row: *const u16, indices: &Indices) -> Self {
        // SAFETY: promised by the caller.
        Plain(std::array::from_fn(|i| f32::from(unsafe { *row.add(indices.0[i] as usize) })))
    }
    #[inline(always)]
    unsafe fn gather_u32(row: *const u32, indices: &Indices) -> Self {
        // SAFETY: promised by the caller.
        Plain(std::array::from_fn(|i| unsafe { *row.add(indices.0[i] as usize) } as f32))
    }
    #[inline(always)]
    unsafe fn widen_u16(from: &[u16; LANES]) -> Self {
        Plain(from.map(f32::from))
    }
    #[inline(always)]
    unsafe fn widen_u32(from: &[u32; LANES]) -> Self {
        Plain(from.map(|n| n as f32))
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] - other.0[i]))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] * other.0[i]))
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] / other.0[i]))
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| if self.0[i] > other.0[i] { self.0[i] } else { other.0[i] }))
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i].mul_add(a.0[i], b.0[i])))
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let mut v = self.0;
        for half in [8, 4, 2, 1] {
            for i in 0..half {
                v[i] += v[i + half];
            }
        }
        v[0]
    }
    #[inline(always)]
    unsafe fn running_sum(self) -> Self {
        Plain(running_sum(self.0))
    }
    #[inline(always)]
    unsafe fn splat_last(self) -> Self {
        Plain([self.0[LANES - 1]; LANES])
    }
    #[inline(always)]
    unsafe fn truncate(self) -> PlainIntegers {
        PlainIntegers(self.0.map(|v| v as i32))
    }
    #[inline(always)]
    unsafe fn from_integers(integers: PlainIntegers) -> Self {
        Plain(integers.0.map(|v| v as f32))
    }
    #[inline(always)]
    unsafe fn gt_mask(self, other: Self) -> u32 {
        (0..LANES).map(|i| u32::from(self.0[i] > other.0[i]) << i).sum()
    }
}

/// The definition of all operations on integers, in plain Rust.
#[derive(Clone, Copy)]
pub(crate) struct PlainIntegers([i32; LANES]);

impl IntegerVector for PlainIntegers {
    #[inline(always)]
    unsafe fn splat(value: i32) -> Self {
        PlainIntegers([value; LANES])
    }
    #[inline(always)]
    unsafe fn load(from: &[i32; LANES]) -> Self {
        PlainIntegers(*from)
    }
    #[inline(always)]
    unsafe fn store(self, to: &mut [i32; LANES]) {
        *to = self.0;
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        PlainIntegers(std::array::from_fn(|i| self.0[i].wrapping_add(other.0[i])))
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        PlainIntegers(std::array::from_fn(|i| self.0[i].wrapping_sub(other.0[i])))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        PlainIntegers(std::array::from_fn(|i| self.0[i].wrapping_mul(other.0[i])))
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        PlainIntegers(std::array::from_fn(|i| self.0[i].min(other.0[i])))
    }
    #[inline(always)]
    unsafe fn shift_left(self, bits: u32) -> Self {
        PlainIntegers(self.0.map(|v| v << bits))
    }
    #[inline(always)]
    unsafe fn moved_up(self, before: Self) -> Self {
        PlainIntegers(std::array::from_fn(|i| if i == 0 { before.0[LANES - 1] } else { self.0[i - 1] }))
    }
    #[inline(always)]
    unsafe fn gt_mask(self, other: Self) -> u32 {
        (0..LANES).map(|i| u32::from(self.0[i] > other.0[i]) << i).sum()
    }
    #[inline(always)]
    unsafe fn keep(self, mask: u32) -> Self {
        PlainIntegers(std::array::from_fn(|i| if mask >> i & 1 != 0 { self.0[i] } else { 0 }))
    }
    #[inline(always)]
    unsafe fn compress_u32(self, mask: u32, to: *mut u32) {
        for (at, lane) in lanes_in(mask).enumerate() {
            // SAFETY: promised by the caller; there are at most sixteen lanes.
            unsafe { to.add(at).write(self.0[lane].cast_unsigned()) };
        }
    }
    #[inline(always)]
    unsafe fn compress_u16(self, mask: u32, to: *mut u16) {
        for (at, lane) in lanes_in(mask).enumerate() {
            // SAFETY: promised by the caller; there are at most sixteen lanes.
            unsafe { to.add(at).write(self.0[lane] as u16) };
        }
    }
}

/// Iterates over the lanes in a mask.
pub(crate) fn lanes_in(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

/// Returns running sums, always by this tree: within each group of four lanes, the lane one before
/// is added, then the lane two before; then each group adds the totals of the groups before it as
/// ((nearest + next) + farthest).
fn running_sum(mut v: [f32; LANES]) -> [f32; LANES] {
    for four in v.as_chunks_mut::<4>().0 {
        let [a, b, c, d] = *four;
        let (b, c, d) = (b + a, c + b, d + c);
        *four = [a, b, c + a, d + b];
    }
    let total = |four: usize| v[four * 4 + 3];
    let before = [0.0, total(0), total(1) + total(0), (total(2) + total(1)) + total(0)];
    std::array::from_fn(|i| v[i] + before[i / 4])
}
