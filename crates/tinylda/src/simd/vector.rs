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
    /// Truncates the lanes to integers, stores them in `to`, and returns a mask of the lanes whose
    /// integer exceeds that of the previous lane. The lane before the first is the last lane of
    /// `before`. Lanes must not be negative and must be below 2^31.
    unsafe fn steps(self, before: Self, to: &mut [i32; LANES]) -> u32;
    /// Returns a mask of the lanes in which self is greater than `other`.
    unsafe fn gt_mask(self, other: Self) -> u32;
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
    unsafe fn steps(self, before: Self, to: &mut [i32; LANES]) -> u32 {
        let mut risen = 0;
        let mut last = before.0[LANES - 1] as i32;
        for (i, to) in to.iter_mut().enumerate() {
            *to = self.0[i] as i32;
            risen |= u32::from(*to > last) << i;
            last = *to;
        }
        risen
    }
    #[inline(always)]
    unsafe fn gt_mask(self, other: Self) -> u32 {
        (0..LANES).map(|i| u32::from(self.0[i] > other.0[i]) << i).sum()
    }
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
