//! SIMD kernels over rows of K numbers. This module knows nothing about files, threads or
//! algorithms.
//!
//! # What a kernel is
//!
//! A *kernel* is a loop over rows of K numbers: a dot product, a message of belief propagation, a
//! running sum. A row is padded with zeros to a multiple of 16 numbers and stored as a slice of
//! [`Lanes`], so no loop has a remainder and every row starts on a cache line. Each kernel is
//! written once, as a function that is generic over a vector of 16 lanes:
//!
//! ```text
//! unsafe fn axpy<V: Vector>(r: f32, x: &[Lanes], y: &mut [Lanes]) {     // rows.rs
//!     let r = V::splat(r);
//!     for (x, y) in x.iter().zip(y) {
//!         V::load(x).fma(r, V::load(y)).store(y);                       // y += r * x
//!     }
//! }
//! ```
//!
//! [`Vector`] (`vector.rs`) lists the operations of a vector: load, store, add, mul, fma, sum, and
//! so on. It has three implementations: [`Plain`], the definition in plain Rust; `Avx2`, two
//! registers of 8 lanes; and `Avx512`, one register of 16 lanes (`x86.rs`).
//!
//! # How dispatch works
//!
//! The [`kernel!`] macro (`dispatch.rs`) turns such a definition into a method of [`Kernel`]:
//!
//! ```text
//! kernel! { pub(crate) fn axpy(r: f32, x: &[Lanes], y: &mut [Lanes]) = rows::axpy }
//!
//! // expands to about:
//! fn axpy(self, r: f32, x: &[Lanes], y: &mut [Lanes]) {
//!     #[target_feature(enable = "avx2,fma,f16c")]
//!     fn avx2(..) { unsafe { rows::axpy::<Avx2>(..) } }
//!     #[target_feature(enable = "avx512f,avx512bw,avx2,fma,f16c")]
//!     fn avx512(..) { unsafe { rows::axpy::<Avx512>(..) } }
//!     match self.isa() {
//!         Isa::Plain => rows::axpy::<Plain>(..),
//!         Isa::Avx2 => unsafe { avx2(..) },
//!         Isa::Avx512 => unsafe { avx512(..) },
//!     }
//! }
//! ```
//!
//! The definition and all vector operations are `#[inline(always)]`, so they are compiled as part
//! of the function that enables the instructions. The processor's features are detected once:
//! [`Kernel::best`] and [`Kernel::of`] return a `Kernel` only for an instruction set that the
//! processor has. Possession of a `Kernel` is therefore the proof that its variant may be called,
//! and a call costs one predictable branch.
//!
//! # Why all variants give the same bits
//!
//! A model must not depend on the processor it was trained on. IEEE 754 prescribes the result of
//! every single operation, so variants can differ only where they execute *different* operations.
//! Three rules prevent that:
//!
//! - The 16 lanes are part of the definition. A variant with shorter registers uses several.
//! - Multiply-adds are fused (rounded once) everywhere; plain Rust uses `f32::mul_add`.
//! - A sum over lanes has one fixed tree: lanes i and i+8, then i and i+4, i+2, i+1. Running sums
//!   have one fixed tree, too. A kernel fixes the order in which it adds chunks of 16.
//!
//! Kernels declared with `= plain path` have no sums over lanes and no explicit vectors. The
//! compiler vectorizes them and may not change the result of any operation. `tests.rs` compares all
//! variants bit by bit.
//!
//! # Where to start reading
//!
//! Read `vector` (the operations), then `rows` (the kernels of the dense algorithms), then
//! `dispatch`. The kernels of `tbp` are declared next to their data, in
//! `algorithms/tbp/cpu/active_topics.rs`.

#![allow(unsafe_code)] // calls of instruction-set functions; each has its proof
#![allow(clippy::inline_always)] // definitions must be inlined into the function that enables the instructions

mod dispatch;
mod rows;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use dispatch::Instructions;
pub(crate) use dispatch::{Isa, Kernel, kernel};
pub(crate) use rows::{
    AsyncRows, ExclusionRows, MessageUpdate, PhiCell, Token, WordRows, digamma_minus_log, exp_digamma_of,
};
pub(crate) use vector::{Count, IntegerVector, LongRow, Plain, RowReader, Vector, lanes_in};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

use half::f16;

/// Sixteen numbers of a row: one cache line.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

/// Number of floats in a [`Lanes`].
pub(crate) const LANES: usize = 16;

impl Lanes {
    pub(crate) const ZERO: Lanes = Lanes([0.0; LANES]);
}

/// Sixteen numbers of a message, which lie between 0 and 1, as 16-bit floats scaled by
/// [`Halves::ONE`].
///
/// The relative error is at most 1/2,000 for numbers down to 2e-9. Sums are formed from the rounded
/// numbers, so what is later subtracted from a sum is exactly what was added.
#[repr(C, align(32))]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Halves(pub(crate) [f16; LANES]);

impl Halves {
    pub(crate) const ZERO: Halves = Halves([f16::ZERO; LANES]);
    /// The stored value that represents 1. The scale keeps small numbers out of the subnormal
    /// range, so that they have full precision, too.
    pub(crate) const ONE: f32 = 32768.0;

    /// Sets the number in a lane.
    pub(crate) fn set(&mut self, lane: usize, value: f32) {
        self.0[lane] = f16::from_f32(value * Halves::ONE);
    }
    /// Iterates over the sixteen numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = f32> {
        self.0.iter().map(|v| v.to_f32() / Halves::ONE)
    }
}

/// Sixteen indices into a row.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Indices(pub(crate) [u32; LANES]);

impl Indices {
    /// Returns the indices as signed integers, bit by bit.
    pub(crate) fn as_signed(&self) -> &[i32; LANES] {
        // SAFETY: both are arrays of sixteen 32-bit integers, in which every bit pattern is valid.
        unsafe { &*(&raw const self.0).cast() }
    }
}

/// Returns the numbers of a row, padding included.
pub(crate) fn flat(row: &[Lanes]) -> &[f32] {
    // SAFETY: Lanes is repr(C) around [f32; 16] and 64 bytes long, so n of them are 16 n numbers
    // without gaps.
    unsafe { std::slice::from_raw_parts(row.as_ptr().cast(), row.len() * LANES) }
}

/// Returns the numbers of a row, padding included, for writing.
pub(crate) fn flat_mut(row: &mut [Lanes]) -> &mut [f32] {
    // SAFETY: as in `flat`; the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(row.as_mut_ptr().cast(), row.len() * LANES) }
}

/// Prefetches a cache line before its use. Rows of words come in an order that the processor cannot
/// predict; waiting for them took a third of a pass.
#[inline]
pub(crate) fn prefetch_line<T>(line: &T) {
    prefetch_address(std::ptr::from_ref(line).cast());
}

/// Prefetches the cache line at an address, which may be any address, valid or not.
#[inline(always)]
pub(crate) fn prefetch_address(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and never faults; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches a cache line for writing: other cores that hold it give it up now instead of at the
/// write. The address may be any address, valid or not.
#[inline(always)]
pub(crate) fn prefetch_for_write(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes nothing and never faults; processors without this instruction
    // treat it as a no-op.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    prefetch_address(address);
}

/// Prefetches a row.
#[inline]
pub(crate) fn prefetch<T>(row: &[T]) {
    row.iter().for_each(prefetch_line);
}
