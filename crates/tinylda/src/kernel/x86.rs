//! x86-64: AVX2 with FMA, and AVX-512F.

#[allow(clippy::wildcard_imports, reason = "instructions are named by their prefix")]
use std::arch::x86_64::*;

use super::active::{self, Bad, Documents, Logarithm, Whole, Word};
use super::rows::{self, Cell, Rows};
use super::vector::Vector;
use super::{Lanes, Places};

/// Two AVX registers.
#[derive(Clone, Copy)]
struct Avx2(__m256, __m256);

/// One AVX-512 register.
#[derive(Clone, Copy)]
struct Avx512(__m512);

/// Eight lanes: i and i+4, i+2, i+1.
#[inline(always)]
unsafe fn sum_of_eight(v: __m256) -> f32 {
    // SAFETY: the caller has AVX.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// The numbers at four places. Loads and inserts took half the time of the processors' own gathers.
#[inline(always)]
unsafe fn four(row: *const f32, places: &Places, from: usize) -> __m128 {
    // SAFETY: the places lie inside the row, as the caller of `gather` promises.
    unsafe {
        let at = |i: usize| _mm_load_ss(row.add(places.0[from + i] as usize));
        let two = _mm_insert_ps::<0x10>(at(0), at(1));
        _mm_insert_ps::<0x30>(_mm_insert_ps::<0x20>(two, at(2)), at(3))
    }
}

impl Vector for Avx2 {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller has AVX2 and FMA; likewise below. Loads and stores stay inside one aligned Lanes.
        unsafe { Avx2(_mm256_setzero_ps(), _mm256_setzero_ps()) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx2(_mm256_set1_ps(value), _mm256_set1_ps(value)) }
    }
    #[inline(always)]
    unsafe fn load(from: &Lanes) -> Self {
        let p = from.0.as_ptr();
        // SAFETY: see `zero`.
        unsafe { Avx2(_mm256_load_ps(p), _mm256_load_ps(p.add(8))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: &mut Lanes) {
        let p = to.0.as_mut_ptr();
        // SAFETY: see `zero`.
        unsafe {
            _mm256_store_ps(p, self.0);
            _mm256_store_ps(p.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn gather(row: *const f32, places: &Places) -> Self {
        // SAFETY: see `zero` and `four`.
        unsafe {
            Avx2(
                _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(four(row, places, 0)), four(row, places, 4)),
                _mm256_insertf128_ps::<1>(
                    _mm256_castps128_ps256(four(row, places, 8)),
                    four(row, places, 12),
                ),
            )
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx2(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx2(_mm256_mul_ps(self.0, other.0), _mm256_mul_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx2(_mm256_max_ps(self.0, other.0), _mm256_max_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx2(_mm256_fmadd_ps(self.0, a.0, b.0), _mm256_fmadd_ps(self.1, a.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: see `zero`.
        unsafe { sum_of_eight(_mm256_add_ps(self.0, self.1)) }
    }
}

impl Vector for Avx512 {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller has AVX-512F; likewise below. Loads and stores are of one aligned Lanes.
        unsafe { Avx512(_mm512_setzero_ps()) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_set1_ps(value)) }
    }
    #[inline(always)]
    unsafe fn load(from: &Lanes) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_load_ps(from.0.as_ptr())) }
    }
    #[inline(always)]
    unsafe fn store(self, to: &mut Lanes) {
        // SAFETY: see `zero`.
        unsafe { _mm512_store_ps(to.0.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    unsafe fn gather(row: *const f32, places: &Places) -> Self {
        // SAFETY: see `zero` and `four`.
        unsafe {
            let v = _mm512_castps128_ps512(four(row, places, 0));
            let v = _mm512_insertf32x4::<1>(v, four(row, places, 4));
            let v = _mm512_insertf32x4::<2>(v, four(row, places, 8));
            Avx512(_mm512_insertf32x4::<3>(v, four(row, places, 12)))
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_add_ps(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_mul_ps(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_max_ps(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_fmadd_ps(self.0, a.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: see `zero`. The upper half is taken out as four 64-bit numbers, which AVX-512F alone can do.
        unsafe {
            let low = _mm512_castps512_ps256(self.0);
            let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(self.0)));
            sum_of_eight(_mm256_add_ps(low, high))
        }
    }
}

/// The operations of `rows`, compiled for one instruction set.
macro_rules! compile {
    ($module:ident, $vector:ident, $features:literal) => {
        pub(super) mod $module {
            use super::{Bad, Cell, Documents, Lanes, Logarithm, Rows, Whole, Word, active, rows, $vector};

            #[target_feature(enable = $features)]
            pub(in super::super) fn dot(a: &[Lanes], b: &[Lanes]) -> f32 {
                // SAFETY: the instructions are switched on for this function; likewise below.
                unsafe { rows::dot::<$vector>(a, b) }
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn sum(a: &[Lanes]) -> f32 {
                // SAFETY: see `dot`.
                unsafe { rows::sum::<$vector>(a) }
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn axpy(r: f32, x: &[Lanes], y: &mut [Lanes]) {
                // SAFETY: see `dot`.
                unsafe { rows::axpy::<$vector>(r, x, y) }
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn axpy_two(
                r: f32,
                x: &[Lanes],
                y: &mut [Lanes],
                u: &[Lanes],
                v: &mut [Lanes],
            ) {
                // SAFETY: see `dot`.
                unsafe { rows::axpy_two::<$vector>(r, x, y, u, v) }
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn long(
                word: &Word<'_>,
                documents: &Documents<'_>,
                out: (&mut [Lanes], &mut [f32]),
                spare: &mut [Lanes],
                log: &mut Logarithm,
            ) -> Result<usize, Bad> {
                // SAFETY: see `dot`; the caller has checked the places.
                unsafe { active::long::<$vector>(word, documents, out, spare, log) }
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn short(
                word: &Word<'_>,
                documents: &Documents<'_>,
                sums: &mut [Lanes],
                gained: &mut [Lanes],
                log: &mut Logarithm,
            ) -> Result<(), Bad> {
                // SAFETY: see `dot`.
                unsafe { active::short::<$vector>(word, documents, sums, gained, log) }
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn whole(
                document: &Whole<'_>,
                sums: &mut [Lanes],
                spare: &mut [Lanes],
            ) -> Result<(), f32> {
                // SAFETY: see `dot`.
                unsafe { active::whole::<$vector>(document, sums, spare) }
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn settle(row: &mut [f32], counts: &mut [f32], factor: f32) {
                rows::settle(row, counts, factor);
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn leap(row: &mut [f32], scale: f32, saved: &[u16], step: f32) {
                rows::leap(row, scale, saved, step);
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn keep(row: &mut [f32], scale: f32, saved: &mut [u16]) {
                rows::keep(row, scale, saved);
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn fade<C: Cell>(
                eta: &mut [f32],
                rows: Rows<'_, C>,
                factors: (f64, f64, f64),
                alpha: &[f32],
                beta: f32,
                beta_sum: f64,
            ) {
                rows::fade(eta, rows, factors, alpha, beta, beta_sum);
            }
            #[target_feature(enable = $features)]
            pub(in super::super) fn deposit<C: Cell>(r: f32, eta: &[f32], rows: Rows<'_, C>) {
                rows::deposit(r, eta, rows);
            }
        }
    };
}

compile!(avx2, Avx2, "avx2,fma");
compile!(avx512, Avx512, "avx512f,avx2,fma");
