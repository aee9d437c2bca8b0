//! Sixteen lanes, and what can be done with them: the ten operations that an instruction set must bring.

use super::{LANES, Lanes, Places};

/// Sixteen 32-bit floats. Every operation is exactly rounded per lane, so all implementations agree to the bit.
///
/// # Safety
/// The methods may be called only where the processor has the instructions of the implementation.
pub(super) trait Vector: Copy {
    unsafe fn zero() -> Self;
    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: &Lanes) -> Self;
    unsafe fn store(self, to: &mut Lanes);
    /// The numbers of a row at sixteen places.
    ///
    /// # Safety
    /// Every place lies inside the row that starts at `row`.
    unsafe fn gather(row: *const f32, places: &Places) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// The larger of the two; `other` where self is no number.
    unsafe fn max(self, other: Self) -> Self;
    /// self * a + b, rounded once.
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    /// Lanes i and i+8, then i and i+4, i+2, i+1: always this tree.
    unsafe fn sum(self) -> f32;
}

/// The definition, in plain Rust.
#[derive(Clone, Copy)]
pub(super) struct Plain([f32; LANES]);

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
    unsafe fn gather(row: *const f32, places: &Places) -> Self {
        // SAFETY: promised by the caller.
        Plain(std::array::from_fn(|i| unsafe { *row.add(places.0[i] as usize) }))
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] * other.0[i]))
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
}
