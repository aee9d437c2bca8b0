//! Vector implementations for x86-64: AVX2 with FMA and F16C, and AVX-512 F
//! and BW.

#[allow(clippy::wildcard_imports, reason = "instructions are named by their prefix")]
use std::arch::x86_64::*;

use super::vector::{HALF_BIT, IntegerVector, KEPT_BITS, LongRow, RowReader, Vector};
use super::{Halves, Indices, LANES, Lanes};

/// Rounding mode: to nearest, ties to even.
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;

/// Sixteen lanes in two AVX registers.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256, __m256);

/// Sixteen lanes in one AVX-512 register.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512);

/// A row of at most 128 16-bit numbers in registers. A permutation of registers takes a tenth of
/// the time of sixteen loads.
#[derive(Clone, Copy)]
pub(crate) struct Avx512ShortNarrow([__m512i; 4]);

impl RowReader<Avx512> for Avx512ShortNarrow {
    #[inline(always)]
    unsafe fn read(&self, indices: &Indices) -> Avx512 {
        let [a, b, c, d] = self.0;
        // SAFETY: the caller has AVX-512F and AVX-512BW. The permutation takes the lower six bits
        // of an index. The upper half of each lane is a number at index 0 and is cleared.
        unsafe {
            let at = _mm512_load_si512(indices.0.as_ptr().cast());
            let low = _mm512_permutex2var_epi16(a, at, b);
            let high = _mm512_permutex2var_epi16(c, at, d);
            let upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(64));
            let v = _mm512_mask_blend_epi32(upper, low, high);
            Avx512(_mm512_cvtepi32_ps(_mm512_and_si512(v, _mm512_set1_epi32(0xFFFF))))
        }
    }
}

/// A row of at most 128 32-bit numbers in registers.
#[derive(Clone, Copy)]
pub(crate) struct Avx512ShortWide([__m512i; 8]);

impl RowReader<Avx512> for Avx512ShortWide {
    #[inline(always)]
    unsafe fn read(&self, indices: &Indices) -> Avx512 {
        let [a, b, c, d, e, f, g, h] = self.0;
        // SAFETY: the caller has AVX-512F. The permutation takes the lower five bits of an index.
        unsafe {
            let at = _mm512_load_si512(indices.0.as_ptr().cast());
            let second = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
            let upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(64));
            let pair = |a, b, c, d| {
                let (one, two) = (_mm512_permutex2var_epi32(a, at, b), _mm512_permutex2var_epi32(c, at, d));
                _mm512_mask_blend_epi32(second, one, two)
            };
            let v = _mm512_mask_blend_epi32(upper, pair(a, b, c, d), pair(e, f, g, h));
            Avx512(_mm512_cvtepi32_ps(v))
        }
    }
}

/// Returns the sum of eight lanes by the tree i and i+4, i+2, i+1.
#[inline(always)]
unsafe fn sum_of_eight(v: __m256) -> f32 {
    // SAFETY: the caller has AVX.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// Loads the numbers at four indices, as the bit patterns of 32-bit floats. Loads and inserts took
/// half the time of the processor's own gather instructions.
#[inline(always)]
unsafe fn gather_four(row: *const u32, indices: &Indices, from: usize) -> __m128 {
    // SAFETY: the indices lie inside the row, as the caller of `gather_u32` promises.
    unsafe {
        let at = |i: usize| _mm_load_ss(row.add(indices.0[from + i] as usize).cast());
        let two = _mm_insert_ps::<0x10>(at(0), at(1));
        _mm_insert_ps::<0x30>(_mm_insert_ps::<0x20>(two, at(2)), at(3))
    }
}

/// Loads the 16-bit numbers at eight indices.
#[inline(always)]
unsafe fn gather_eight(row: *const u16, indices: &Indices, from: usize) -> __m128i {
    // SAFETY: the indices lie inside the row, as the caller of `gather_u16` promises.
    unsafe {
        let at = |i: usize| i32::from(*row.add(indices.0[from + i] as usize));
        let a = _mm_insert_epi16::<1>(_mm_cvtsi32_si128(at(0)), at(1));
        let b = _mm_insert_epi16::<1>(_mm_cvtsi32_si128(at(2)), at(3));
        let c = _mm_insert_epi16::<1>(_mm_cvtsi32_si128(at(4)), at(5));
        let d = _mm_insert_epi16::<1>(_mm_cvtsi32_si128(at(6)), at(7));
        _mm_unpacklo_epi64(_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d))
    }
}

impl Vector for Avx2 {
    type Integers = Avx2Integers;
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
        // SAFETY: the caller has AVX2 and FMA; the same holds for all methods below. Loads and
        // stores stay inside one aligned Lanes.
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
    unsafe fn load_halves(from: &Halves) -> Self {
        let p: *const __m128i = from.0.as_ptr().cast();
        // SAFETY: see `zero`. The caller has F16C, and two aligned loads of 16 bytes cover the 32
        // bytes of `from`.
        unsafe { Avx2(_mm256_cvtph_ps(_mm_load_si128(p)), _mm256_cvtph_ps(_mm_load_si128(p.add(1)))) }
    }
    #[inline(always)]
    unsafe fn store_halves(self, to: &mut Halves) {
        let p: *mut __m128i = to.0.as_mut_ptr().cast();
        // SAFETY: as in `load_halves`.
        unsafe {
            _mm_store_si128(p, _mm256_cvtps_ph::<NEAREST>(self.0));
            _mm_store_si128(p.add(1), _mm256_cvtps_ph::<NEAREST>(self.1));
        }
    }
    #[inline(always)]
    unsafe fn round_to_11_bits(self) -> Self {
        // SAFETY: see `zero`.
        unsafe {
            let (half, kept) =
                (_mm256_set1_epi32(HALF_BIT.cast_signed()), _mm256_set1_epi32(KEPT_BITS.cast_signed()));
            let short = |v| {
                _mm256_castsi256_ps(_mm256_and_si256(_mm256_add_epi32(_mm256_castps_si256(v), half), kept))
            };
            Avx2(short(self.0), short(self.1))
        }
    }
    #[inline(always)]
    unsafe fn gather_u16(row: *const u16, indices: &Indices) -> Self {
        // SAFETY: see `zero` and `gather_eight`.
        unsafe {
            let wide = |from| _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(gather_eight(row, indices, from)));
            Avx2(wide(0), wide(8))
        }
    }
    #[inline(always)]
    unsafe fn gather_u32(row: *const u32, indices: &Indices) -> Self {
        // SAFETY: see `zero` and `gather_four`.
        unsafe {
            let wide = |from| {
                let low = _mm256_castps128_ps256(gather_four(row, indices, from));
                let both = _mm256_insertf128_ps::<1>(low, gather_four(row, indices, from + 4));
                _mm256_cvtepi32_ps(_mm256_castps_si256(both))
            };
            Avx2(wide(0), wide(8))
        }
    }
    #[inline(always)]
    unsafe fn widen_u16(from: &[u16; LANES]) -> Self {
        let p: *const __m128i = from.as_ptr().cast();
        // SAFETY: see `zero`; two loads of 16 bytes are the 32 bytes of `from`.
        unsafe {
            let wide = |v| _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(v));
            Avx2(wide(_mm_loadu_si128(p)), wide(_mm_loadu_si128(p.add(1))))
        }
    }
    #[inline(always)]
    unsafe fn widen_u32(from: &[u32; LANES]) -> Self {
        let p: *const __m256i = from.as_ptr().cast();
        // SAFETY: see `zero`; two loads of 32 bytes are the 64 bytes of `from`.
        unsafe {
            Avx2(_mm256_cvtepi32_ps(_mm256_loadu_si256(p)), _mm256_cvtepi32_ps(_mm256_loadu_si256(p.add(1))))
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
    unsafe fn div(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx2(_mm256_div_ps(self.0, other.0), _mm256_div_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx2(_mm256_sub_ps(self.0, other.0), _mm256_sub_ps(self.1, other.1)) }
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
    #[inline(always)]
    unsafe fn running_sum(self) -> Self {
        // SAFETY: see `zero`.
        unsafe {
            let shift = |v: __m256| _mm256_castsi256_ps(_mm256_slli_si256::<4>(_mm256_castps_si256(v)));
            let shift_two = |v: __m256| _mm256_castsi256_ps(_mm256_slli_si256::<8>(_mm256_castps_si256(v)));
            let fours = |v: __m256| {
                let v = _mm256_add_ps(v, shift(v));
                _mm256_add_ps(v, shift_two(v))
            };
            let (low, high) = (fours(self.0), fours(self.1));
            let (of_low, of_high) = (_mm256_permute_ps::<0xFF>(low), _mm256_permute_ps::<0xFF>(high));
            // Totals of the nearest group of four before, for the lower and the upper two groups.
            // The total of the farthest group is in the former.
            let near_low = _mm256_permute2f128_ps::<0x08>(of_low, of_low);
            let near_high = _mm256_permute2f128_ps::<0x21>(of_low, of_high);
            let before_high = _mm256_add_ps(_mm256_add_ps(near_high, of_low), near_low);
            Avx2(_mm256_add_ps(low, near_low), _mm256_add_ps(high, before_high))
        }
    }
    #[inline(always)]
    unsafe fn splat_last(self) -> Self {
        // SAFETY: see `zero`.
        unsafe {
            let last = _mm256_permute_ps::<0xFF>(_mm256_permute2f128_ps::<0x11>(self.1, self.1));
            Avx2(last, last)
        }
    }
    #[inline(always)]
    unsafe fn truncate(self) -> Avx2Integers {
        // SAFETY: see `zero`.
        unsafe { Avx2Integers(_mm256_cvttps_epi32(self.0), _mm256_cvttps_epi32(self.1)) }
    }
    #[inline(always)]
    unsafe fn from_integers(integers: Avx2Integers) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx2(_mm256_cvtepi32_ps(integers.0), _mm256_cvtepi32_ps(integers.1)) }
    }
    #[inline(always)]
    unsafe fn gt_mask(self, other: Self) -> u32 {
        // SAFETY: see `zero`.
        unsafe {
            let more = |a, b| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) as u32;
            more(self.0, other.0) | more(self.1, other.1) << 8
        }
    }
}

impl Vector for Avx512 {
    type Integers = Avx512Integers;
    type ShortNarrow = Avx512ShortNarrow;
    type ShortWide = Avx512ShortWide;
    const MAX_SHORT_ROW: usize = 128;
    #[inline(always)]
    unsafe fn short_narrow(row: &[u16]) -> Avx512ShortNarrow {
        // SAFETY: the caller has AVX-512F and AVX-512BW, and only numbers of the row are loaded.
        unsafe {
            let part = |i: usize| match row.len().saturating_sub(32 * i) {
                0 => _mm512_setzero_si512(),
                16 => _mm512_zextsi256_si512(_mm256_loadu_si256(row.as_ptr().add(32 * i).cast())),
                _ => _mm512_loadu_si512(row.as_ptr().add(32 * i).cast()),
            };
            Avx512ShortNarrow([part(0), part(1), part(2), part(3)])
        }
    }
    #[inline(always)]
    unsafe fn short_wide(row: &[u32]) -> Avx512ShortWide {
        // SAFETY: as in `short_narrow`.
        unsafe {
            let part = |i: usize| {
                if row.len() > 16 * i {
                    _mm512_loadu_si512(row.as_ptr().add(16 * i).cast())
                } else {
                    _mm512_setzero_si512()
                }
            };
            Avx512ShortWide([part(0), part(1), part(2), part(3), part(4), part(5), part(6), part(7)])
        }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller has AVX-512F; the same holds for all methods below. Loads and stores
        // cover one aligned Lanes.
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
    unsafe fn load_halves(from: &Halves) -> Self {
        // SAFETY: see `zero`; the aligned load is of the 32 bytes of `from`.
        unsafe { Avx512(_mm512_cvtph_ps(_mm256_load_si256(from.0.as_ptr().cast()))) }
    }
    #[inline(always)]
    unsafe fn store_halves(self, to: &mut Halves) {
        // SAFETY: as in `load_halves`.
        unsafe { _mm256_store_si256(to.0.as_mut_ptr().cast(), _mm512_cvtps_ph::<NEAREST>(self.0)) }
    }
    #[inline(always)]
    unsafe fn round_to_11_bits(self) -> Self {
        // SAFETY: see `zero`.
        unsafe {
            let up = _mm512_add_epi32(_mm512_castps_si512(self.0), _mm512_set1_epi32(HALF_BIT.cast_signed()));
            Avx512(_mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(KEPT_BITS.cast_signed()))))
        }
    }
    #[inline(always)]
    unsafe fn gather_u16(row: *const u16, indices: &Indices) -> Self {
        // SAFETY: see `zero` and `gather_eight`.
        unsafe {
            let all = _mm256_set_m128i(gather_eight(row, indices, 8), gather_eight(row, indices, 0));
            Avx512(_mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(all)))
        }
    }
    #[inline(always)]
    unsafe fn gather_u32(row: *const u32, indices: &Indices) -> Self {
        // SAFETY: see `zero` and `gather_four`.
        unsafe {
            let v = _mm512_castps128_ps512(gather_four(row, indices, 0));
            let v = _mm512_insertf32x4::<1>(v, gather_four(row, indices, 4));
            let v = _mm512_insertf32x4::<2>(v, gather_four(row, indices, 8));
            let v = _mm512_insertf32x4::<3>(v, gather_four(row, indices, 12));
            Avx512(_mm512_cvtepi32_ps(_mm512_castps_si512(v)))
        }
    }
    #[inline(always)]
    unsafe fn widen_u16(from: &[u16; LANES]) -> Self {
        // SAFETY: see `zero`; the load is of the 32 bytes of `from`.
        unsafe {
            let v = _mm256_loadu_si256(from.as_ptr().cast());
            Avx512(_mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(v)))
        }
    }
    #[inline(always)]
    unsafe fn widen_u32(from: &[u32; LANES]) -> Self {
        // SAFETY: see `zero`; the load is of the 64 bytes of `from`.
        unsafe { Avx512(_mm512_cvtepi32_ps(_mm512_loadu_si512(from.as_ptr().cast()))) }
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
    unsafe fn div(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_div_ps(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_sub_ps(self.0, other.0)) }
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
        // SAFETY: see `zero`. The upper half is extracted as four 64-bit numbers, which needs only
        // AVX-512F.
        unsafe {
            let low = _mm512_castps512_ps256(self.0);
            let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(self.0)));
            sum_of_eight(_mm256_add_ps(low, high))
        }
    }
    #[inline(always)]
    unsafe fn running_sum(self) -> Self {
        // SAFETY: see `zero`.
        unsafe {
            let v = _mm512_add_ps(self.0, _mm512_maskz_permute_ps::<0x90>(0xEEEE, self.0));
            let v = _mm512_add_ps(v, _mm512_maskz_permute_ps::<0x40>(0xCCCC, v));
            let totals = _mm512_permute_ps::<0xFF>(v);
            let nearest = _mm512_maskz_shuffle_f32x4::<0x90>(0xFFF0, totals, totals);
            let next = _mm512_maskz_shuffle_f32x4::<0x40>(0xFF00, totals, totals);
            let farthest = _mm512_maskz_shuffle_f32x4::<0x00>(0xF000, totals, totals);
            Avx512(_mm512_add_ps(v, _mm512_add_ps(_mm512_add_ps(nearest, next), farthest)))
        }
    }
    #[inline(always)]
    unsafe fn splat_last(self) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_permutexvar_ps(_mm512_set1_epi32(15), self.0)) }
    }
    #[inline(always)]
    unsafe fn truncate(self) -> Avx512Integers {
        // SAFETY: see `zero`.
        unsafe { Avx512Integers(_mm512_cvttps_epi32(self.0)) }
    }
    #[inline(always)]
    unsafe fn from_integers(integers: Avx512Integers) -> Self {
        // SAFETY: see `zero`.
        unsafe { Avx512(_mm512_cvtepi32_ps(integers.0)) }
    }
    #[inline(always)]
    unsafe fn gt_mask(self, other: Self) -> u32 {
        // SAFETY: see `zero`.
        unsafe { u32::from(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, other.0)) }
    }
}

/// Sixteen integers in two AVX registers.
#[derive(Clone, Copy)]
pub(crate) struct Avx2Integers(__m256i, __m256i);

/// Sixteen integers in one AVX-512 register.
#[derive(Clone, Copy)]
pub(crate) struct Avx512Integers(__m512i);

/// For every mask of eight lanes, the lanes in it, in order; then zeros.
static LANES_OF_MASK: [[u32; 8]; 256] = {
    let mut all = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut at) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 != 0 {
                all[mask][at] = lane;
                at += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    all
};

/// Moves the lanes in the lowest eight bits of a mask to the front.
#[inline(always)]
unsafe fn compress_eight(v: __m256i, mask: u32) -> __m256i {
    // SAFETY: the caller has AVX2; the load is of the 32 bytes of an element.
    unsafe {
        let lanes = _mm256_loadu_si256(LANES_OF_MASK[(mask & 0xFF) as usize].as_ptr().cast());
        _mm256_permutevar8x32_epi32(v, lanes)
    }
}

impl IntegerVector for Avx2Integers {
    #[inline(always)]
    unsafe fn splat(value: i32) -> Self {
        // SAFETY: the caller has AVX2; the same holds for all methods below.
        unsafe { Avx2Integers(_mm256_set1_epi32(value), _mm256_set1_epi32(value)) }
    }
    #[inline(always)]
    unsafe fn load(from: &[i32; LANES]) -> Self {
        let p: *const __m256i = from.as_ptr().cast();
        // SAFETY: see `splat`; two loads of 32 bytes are the 64 bytes of `from`.
        unsafe { Avx2Integers(_mm256_loadu_si256(p), _mm256_loadu_si256(p.add(1))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: &mut [i32; LANES]) {
        let p: *mut __m256i = to.as_mut_ptr().cast();
        // SAFETY: see `splat`; two stores of 32 bytes are the 64 bytes of `to`.
        unsafe {
            _mm256_storeu_si256(p, self.0);
            _mm256_storeu_si256(p.add(1), self.1);
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx2Integers(_mm256_add_epi32(self.0, other.0), _mm256_add_epi32(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx2Integers(_mm256_sub_epi32(self.0, other.0), _mm256_sub_epi32(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx2Integers(_mm256_mullo_epi32(self.0, other.0), _mm256_mullo_epi32(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx2Integers(_mm256_min_epi32(self.0, other.0), _mm256_min_epi32(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn shift_left(self, bits: u32) -> Self {
        // SAFETY: see `splat`.
        unsafe {
            let bits = _mm_cvtsi32_si128(bits.cast_signed());
            Avx2Integers(_mm256_sll_epi32(self.0, bits), _mm256_sll_epi32(self.1, bits))
        }
    }
    #[inline(always)]
    unsafe fn moved_up(self, before: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe {
            let one_up = |v, prev| _mm256_alignr_epi8::<12>(v, _mm256_permute2x128_si256::<0x21>(prev, v));
            Avx2Integers(one_up(self.0, before.1), one_up(self.1, self.0))
        }
    }
    #[inline(always)]
    unsafe fn gt_mask(self, other: Self) -> u32 {
        // SAFETY: see `splat`.
        unsafe {
            let more = |a, b| _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b))) as u32;
            more(self.0, other.0) | more(self.1, other.1) << 8
        }
    }
    #[inline(always)]
    unsafe fn keep(self, mask: u32) -> Self {
        // SAFETY: see `splat`.
        unsafe {
            let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let kept = |v, mask: u32| {
                let own = _mm256_and_si256(_mm256_set1_epi32(mask.cast_signed()), bits);
                _mm256_and_si256(v, _mm256_cmpeq_epi32(own, bits))
            };
            Avx2Integers(kept(self.0, mask), kept(self.1, mask >> 8))
        }
    }
    #[inline(always)]
    unsafe fn compress_u32(self, mask: u32, to: *mut u32) {
        let low = (mask & 0xFF).count_ones() as usize;
        // SAFETY: see `splat`; two stores of eight numbers, the second at most eight numbers after
        // the first.
        unsafe {
            _mm256_storeu_si256(to.cast(), compress_eight(self.0, mask));
            _mm256_storeu_si256(to.add(low).cast(), compress_eight(self.1, mask >> 8));
        }
    }
    #[inline(always)]
    unsafe fn compress_u16(self, mask: u32, to: *mut u16) {
        let low = (mask & 0xFF).count_ones() as usize;
        // SAFETY: see `splat`; two stores of eight numbers, the second at most eight numbers after
        // the first.
        unsafe {
            let narrow = |v| {
                let packed = _mm256_packus_epi32(v, v);
                _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(packed))
            };
            _mm_storeu_si128(to.cast(), narrow(compress_eight(self.0, mask)));
            _mm_storeu_si128(to.add(low).cast(), narrow(compress_eight(self.1, mask >> 8)));
        }
    }
}

impl IntegerVector for Avx512Integers {
    #[inline(always)]
    unsafe fn splat(value: i32) -> Self {
        // SAFETY: the caller has AVX-512F; the same holds for all methods below.
        unsafe { Avx512Integers(_mm512_set1_epi32(value)) }
    }
    #[inline(always)]
    unsafe fn load(from: &[i32; LANES]) -> Self {
        // SAFETY: see `splat`; the load is of the 64 bytes of `from`.
        unsafe { Avx512Integers(_mm512_loadu_si512(from.as_ptr().cast())) }
    }
    #[inline(always)]
    unsafe fn store(self, to: &mut [i32; LANES]) {
        // SAFETY: see `splat`; the store is of the 64 bytes of `to`.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx512Integers(_mm512_add_epi32(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx512Integers(_mm512_sub_epi32(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx512Integers(_mm512_mullo_epi32(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx512Integers(_mm512_min_epi32(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn shift_left(self, bits: u32) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx512Integers(_mm512_sll_epi32(self.0, _mm_cvtsi32_si128(bits.cast_signed()))) }
    }
    #[inline(always)]
    unsafe fn moved_up(self, before: Self) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx512Integers(_mm512_alignr_epi32::<15>(self.0, before.0)) }
    }
    #[inline(always)]
    unsafe fn gt_mask(self, other: Self) -> u32 {
        // SAFETY: see `splat`.
        unsafe { u32::from(_mm512_cmpgt_epi32_mask(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn keep(self, mask: u32) -> Self {
        // SAFETY: see `splat`.
        unsafe { Avx512Integers(_mm512_maskz_mov_epi32(mask as u16, self.0)) }
    }
    #[inline(always)]
    unsafe fn compress_u32(self, mask: u32, to: *mut u32) {
        // SAFETY: see `splat`; there is space for sixteen numbers. To compress in a register and
        // store all of it is much faster than to compress to memory on some processors.
        unsafe { _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(mask as u16, self.0)) }
    }
    #[inline(always)]
    unsafe fn compress_u16(self, mask: u32, to: *mut u16) {
        // SAFETY: see `compress_u32`.
        unsafe {
            let front = _mm512_maskz_compress_epi32(mask as u16, self.0);
            _mm256_storeu_si256(to.cast(), _mm512_cvtepi32_epi16(front));
        }
    }
}
