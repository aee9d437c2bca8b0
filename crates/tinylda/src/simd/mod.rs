//! SIMD kernels over rows of K numbers. This module knows nothing of files, threads or algorithms.
//!
//! A row of K numbers is padded with zeros to whole [`Lanes`] of 16, so no loop has a remainder and rows start on cache
//! lines. Every kernel is defined once, generically over a vector of 16 lanes ([`Vector`], with its definition in plain
//! Rust in `vector`), and the [`kernel!`] macro compiles that definition for each instruction set and selects the variant
//! at run time. Multiply-adds are fused (rounded once) everywhere and every sum has one fixed tree, so **all variants give
//! the same bits**: a model does not depend on the processor it was trained on.
//!
//! Start reading with `vector` (the operations), then `rows` (the kernels of the dense algorithms) and `dispatch`. The
//! kernels of `tbp` are declared next to their data, in `algorithms/tbp/cpu/active_topics.rs`.

#![allow(unsafe_code)] // the instruction-set calls; each with its proof
#![allow(clippy::inline_always)] // what is written once must become part of each instruction set's own function

mod dispatch;
mod rows;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use dispatch::Instructions;
pub(crate) use dispatch::{Isa, Kernel, kernel};
pub(crate) use rows::{Cell, Excluded, Met, Renewed, Rows, Token, digamma_less_log, exp_digamma_of};
pub(crate) use vector::{Count, Plain, Vector};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

use half::f16;

/// Sixteen numbers of a row: one cache line.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

/// Numbers in a [`Lanes`].
pub(crate) const LANES: usize = 16;

impl Lanes {
    pub(crate) const ZERO: Lanes = Lanes([0.0; LANES]);
}

/// Sixteen numbers of a message, which lie between 0 and 1, in 16 bits each: right to a part in 2,000 down to two in a thousand million,
/// so what is taken out of a sum later is what was put in.
#[repr(C, align(32))]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Halves(pub(crate) [f16; LANES]);

impl Halves {
    pub(crate) const ZERO: Halves = Halves([f16::ZERO; LANES]);
    /// What stands for one: so that small numbers have all their bits, too.
    pub(crate) const ONE: f32 = 32768.0;

    pub(crate) fn set(&mut self, lane: usize, value: f32) {
        self.0[lane] = f16::from_f32(value * Halves::ONE);
    }
    /// All numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = f32> {
        self.0.iter().map(|v| v.to_f32() / Halves::ONE)
    }
}

/// Sixteen places in a row.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Places(pub(crate) [u32; LANES]);

/// The numbers of a row, padding included.
pub(crate) fn flat(row: &[Lanes]) -> &[f32] {
    // SAFETY: Lanes is repr(C) around [f32; 16] and 64 bytes long, so n of them are 16 n numbers without gaps.
    unsafe { std::slice::from_raw_parts(row.as_ptr().cast(), row.len() * LANES) }
}

/// The numbers of a row, padding included, to write.
pub(crate) fn flat_mut(row: &mut [Lanes]) -> &mut [f32] {
    // SAFETY: as in `flat`; the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(row.as_mut_ptr().cast(), row.len() * LANES) }
}

/// Asks for a cache line to be brought, ahead of its use: rows of words come in no order that the processor could guess,
/// and waiting for them took a third of a pass.
#[inline]
pub(crate) fn prefetch_line<T>(line: &T) {
    prefetch_address(std::ptr::from_ref(line).cast());
}

/// The same; the address may be any.
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

/// Asks for a cache line that will be changed: other cores, which have read it, give it up at once and not at the change. The
/// address may be any.
#[inline(always)]
pub(crate) fn prefetch_to_change(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes nothing and never faults; processors that do not know this one take it for no operation.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    prefetch_address(address);
}

/// Asks for a row.
#[inline]
pub(crate) fn prefetch<T>(row: &[T]) {
    row.iter().for_each(prefetch_line);
}
