//! Sixteen lanes, and what can be done with them: the operations that an instruction set must bring.

use half::f16;

use super::{Halves, LANES, Lanes, Places};

/// Sixteen 32-bit floats. Every operation is exactly rounded per lane, so all implementations agree to the bit.
///
/// # Safety
/// The methods may be called only where the processor has the instructions of the implementation.
pub(crate) trait Vector: Copy {
    unsafe fn zero() -> Self;
    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: &Lanes) -> Self;
    unsafe fn store(self, to: &mut Lanes);
    unsafe fn load_halves(from: &Halves) -> Self;
    /// To the nearest number of 16 bits.
    unsafe fn store_halves(self, to: &mut Halves);
    /// To eleven bits, as numbers of 16 bits have them; halves go up. Lanes are not negative.
    unsafe fn shorten(self) -> Self;
    /// The numbers of a row at sixteen places.
    ///
    /// # Safety
    /// Every place lies inside the row that starts at `row`.
    unsafe fn gather_u16(row: *const u16, places: &Places) -> Self;
    /// The same of larger numbers, below 2^31.
    ///
    /// # Safety
    /// Every place lies inside the row that starts at `row`.
    unsafe fn gather_u32(row: *const u32, places: &Places) -> Self;
    unsafe fn widen_u16(from: &[u16; LANES]) -> Self;
    /// Of numbers below 2^31.
    unsafe fn widen_u32(from: &[u32; LANES]) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// The larger of the two; `other` where self is no number.
    unsafe fn max(self, other: Self) -> Self;
    /// self * a + b, rounded once.
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    /// Lanes i and i+8, then i and i+4, i+2, i+1: always this tree.
    unsafe fn sum(self) -> f32;
    /// Lane i becomes the sum of lanes 0 to i, as [`running_sum`] has it. Lanes are not negative.
    unsafe fn running_sum(self) -> Self;
    /// The last lane in all lanes.
    unsafe fn last(self) -> Self;
    /// Sets `to` to the lanes without their fractions, and returns in which it is more than in the lane before; the lane
    /// before the first is the last of `before`. Lanes are not negative and below 2^31.
    unsafe fn steps(self, before: Self, to: &mut [i32; LANES]) -> u32;
    /// In which lanes self is more than `other`.
    unsafe fn more_than(self, other: Self) -> u32;
}

/// A number of a row of counts.
pub(crate) trait Count: Copy {
    /// # Safety
    /// As of the functions of [`Vector`] that it calls.
    unsafe fn gather<V: Vector>(row: *const Self, places: &Places) -> V;
    /// # Safety
    /// As of the functions of [`Vector`] that it calls.
    unsafe fn widen<V: Vector>(from: &[Self; LANES]) -> V;
}

impl Count for u16 {
    #[inline(always)]
    unsafe fn gather<V: Vector>(row: *const u16, places: &Places) -> V {
        // SAFETY: promised by the caller; likewise below.
        unsafe { V::gather_u16(row, places) }
    }
    #[inline(always)]
    unsafe fn widen<V: Vector>(from: &[u16; LANES]) -> V {
        // SAFETY: see `gather`.
        unsafe { V::widen_u16(from) }
    }
}

impl Count for u32 {
    #[inline(always)]
    unsafe fn gather<V: Vector>(row: *const u32, places: &Places) -> V {
        // SAFETY: see above.
        unsafe { V::gather_u32(row, places) }
    }
    #[inline(always)]
    unsafe fn widen<V: Vector>(from: &[u32; LANES]) -> V {
        // SAFETY: see above.
        unsafe { V::widen_u32(from) }
    }
}

/// Half of the last bit that is kept of a shortened number, and all bits that are.
pub(super) const HALF: u32 = 1 << 12;
pub(super) const KEPT: u32 = !((1 << 13) - 1);

/// The definition, in plain Rust.
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
    unsafe fn shorten(self) -> Self {
        Plain(self.0.map(|v| f32::from_bits((v.to_bits() + HALF) & KEPT)))
    }
    #[inline(always)]
    unsafe fn gather_u16(row: *const u16, places: &Places) -> Self {
        // SAFETY: promised by the caller.
        Plain(std::array::from_fn(|i| f32::from(unsafe { *row.add(places.0[i] as usize) })))
    }
    #[inline(always)]
    unsafe fn gather_u32(row: *const u32, places: &Places) -> Self {
        // SAFETY: promised by the caller.
        Plain(std::array::from_fn(|i| unsafe { *row.add(places.0[i] as usize) } as f32))
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
    unsafe fn last(self) -> Self {
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
    unsafe fn more_than(self, other: Self) -> u32 {
        (0..LANES).map(|i| u32::from(self.0[i] > other.0[i]) << i).sum()
    }
}

/// Running sums, always by this tree: within four lanes those one before are added, then those two before; then to each
/// four what the last of the fours before it have come to, ((nearest + next) + farthest).
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
