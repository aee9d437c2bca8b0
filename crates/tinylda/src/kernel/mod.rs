//! Loops over rows of topics, and the desk where a document's messages are made: the only hot code. Nothing here knows of
//! files or threads.
//!
//! A row of K numbers is padded with zeros to whole [`Lanes`] of 16, so no loop has a remainder and rows lie on cache
//! lines. Every operation is defined once, in `rows` or `desk`, over a vector of 16 lanes (`vector`); the definition is compiled
//! for plain Rust and for each instruction set. Multiply-adds are fused (rounded once) everywhere and sums have one
//! fixed tree, so *all variants give the same bits*: a model does not depend on the processor it was trained on.

#![allow(unsafe_code)] // the instruction-set calls; each with its proof
#![allow(clippy::inline_always)] // what is written once must become part of each instruction set's own function

mod change;
mod desk;
mod rows;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use change::{Bucket, CELLS, Change};
pub(crate) use desk::{Desk, Manner, Row, TOGETHER, Weighed, Whole, Word};
pub(crate) use rows::{Cell, Excluded, Met, Renewed, Rows, Token, digamma_less_log, exp_digamma_of};

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

/// Instructions of a processor. The result does not depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    /// Those that every processor has.
    Plain,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512F.
    Avx512,
}

/// A set of instructions that this program was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Isa {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The row operations for one set of instructions. A `Kernel` exists only for what the processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel(Isa);

/// Sends a call to the variant of the instruction set.
macro_rules! dispatch {
    ($self:ident, $name:ident ( $($argument:expr),* )) => { dispatch!($self, rows $name($($argument),*)) };
    ($self:ident, $room:ident $name:ident ( $($argument:expr),* )) => {
        match $self.0 {
            // SAFETY: plain Rust, needs nothing.
            Isa::Plain => unsafe { $room::$name::<vector::Plain>($($argument),*) },
            // SAFETY: this kernel was made only after the processor was found to have AVX2, FMA and F16C.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { x86::avx2::$name($($argument),*) },
            // SAFETY: this kernel was made only after the processor was found to have AVX-512F.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { x86::avx512::$name($($argument),*) },
        }
    };
}

/// The same for operations that need no vector.
macro_rules! dispatch_plain {
    ($self:ident, $name:ident ( $($argument:expr),* )) => {
        match $self.0 {
            Isa::Plain => rows::$name($($argument),*),
            // SAFETY: as in `dispatch!`.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { x86::avx2::$name($($argument),*) },
            // SAFETY: as in `dispatch!`.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { x86::avx512::$name($($argument),*) },
        }
    };
}

impl Kernel {
    /// All that this processor can run, plain Rust first, the fastest last.
    pub(crate) fn all() -> Vec<Kernel> {
        let mut all = vec![Kernel(Isa::Plain)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
            {
                all.push(Kernel(Isa::Avx2));
                if is_x86_feature_detected!("avx512f") {
                    all.push(Kernel(Isa::Avx512));
                }
            }
        }
        all
    }

    /// The kernel of given instructions, where the processor has them.
    pub(crate) fn of(instructions: Instructions) -> Option<Kernel> {
        let same = |kernel: &Kernel| match kernel.0 {
            Isa::Plain => instructions == Instructions::Plain,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => instructions == Instructions::Avx2,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => instructions == Instructions::Avx512,
        };
        Kernel::all().into_iter().find(same)
    }

    /// The fastest that this processor can run.
    pub(crate) fn best() -> Kernel {
        Kernel::all().last().copied().unwrap_or(Kernel(Isa::Plain))
    }

    /// `a[K]` . `b[K]`
    #[inline]
    pub(crate) fn dot(self, a: &[Lanes], b: &[Lanes]) -> f32 {
        dispatch!(self, dot(a, b))
    }

    /// The sum of `a[K]`.
    #[inline]
    pub(crate) fn sum(self, a: &[Lanes]) -> f32 {
        dispatch!(self, sum(a))
    }

    /// `y[K]` += r * `x[K]`
    #[inline]
    pub(crate) fn axpy(self, r: f32, x: &[Lanes], y: &mut [Lanes]) {
        dispatch!(self, axpy(r, x, y));
    }

    /// `y[K]` += r * `x[K]`
    #[inline]
    pub(crate) fn axpy_halves(self, r: f32, x: &[Halves], y: &mut [Lanes]) {
        dispatch!(self, axpy_halves(r, x, y));
    }

    /// `theta[K]`, `phi[K]` and `lambda[K]` times their factors, then
    /// `eta[K]` = (phi + beta) * (theta + alpha) / (lambda + beta_sum).
    #[inline]
    pub(crate) fn fade<C: Cell>(
        self,
        eta: &mut [f32],
        rows: Rows<'_, C>,
        factors: (f64, f64, f64),
        alpha: &[f32],
        beta: f32,
        beta_sum: f64,
    ) {
        dispatch_plain!(self, fade(eta, rows, factors, alpha, beta, beta_sum));
    }

    /// `theta[K]`, `phi[K]` and `lambda[K]` plus r * `eta[K]`.
    #[inline]
    pub(crate) fn deposit<C: Cell>(self, r: f32, eta: &[f32], rows: Rows<'_, C>) {
        dispatch_plain!(self, deposit(r, eta, rows));
    }

    /// `eta[K]` = (phi - own + beta) * (theta - own + alpha) / (total - own) with own = x * `message[K]`; the sum of eta.
    #[inline]
    pub(crate) fn exclude(
        self,
        eta: &mut [Lanes],
        rows: Excluded<'_>,
        message: &[Halves],
        x: f32,
        beta: f32,
    ) -> f32 {
        dispatch!(self, exclude(eta, rows, message, x, beta))
    }

    /// `message[K]` = r * `eta[K]`, and x times that is added to `sums[K]`.
    #[inline]
    pub(crate) fn replace(self, message: &mut [Halves], eta: &[Lanes], r: f32, x: f32, sums: &mut [Lanes]) {
        dispatch!(self, replace(message, eta, r, x, sums));
    }

    /// For every word `exclude`, then its message becomes eta/sum(eta) and x times what it changes by is added to phi, theta and lambda.
    /// Stops at a sum of eta that is no usable number, and returns it.
    #[inline]
    pub(crate) fn renew(self, rows: Renewed<'_>) -> Result<(), f32> {
        dispatch!(self, renew(rows))
    }

    /// Draws a topic with weights (phi + beta) * t, but that of the token's own topic as given; and the sum of all weights
    /// with the token in them.
    #[inline]
    pub(crate) fn draw(
        self,
        phi: &[Lanes],
        t: &[Lanes],
        beta: f32,
        token: Token,
        weights: &mut [Lanes],
    ) -> (usize, f32) {
        dispatch!(self, draw(phi, t, beta, token, weights))
    }

    /// For every word s = `row[K]` . `t[K]` + smooth and r = x/s; r * `row[K]` is added to `acc[K]`. Returns the sum of r, which
    /// is no number where one of them is not.
    #[inline]
    pub(crate) fn absorb(self, met: Met<'_>, acc: &mut [Lanes]) -> f32 {
        dispatch!(self, absorb(met, acc))
    }

    /// `out[K]` = exp(psi(`values[K]` + `more[K]`) + shift) * `factors[K]`, psi the digamma function.
    #[inline]
    pub(crate) fn exp_digamma(
        self,
        values: &[f32],
        more: &[f32],
        shift: f32,
        factors: &[f32],
        out: &mut [f32],
    ) {
        dispatch_plain!(self, exp_digamma(values, more, shift, factors, out));
    }

    /// Weighs a word's message to the document on the desk, and cuts it into whole grains, from u on.
    #[inline]
    pub(crate) fn weigh(
        self,
        desk: &mut Desk,
        at: usize,
        word: (Row<'_>, f32, f32),
        manner: Manner,
        u: f32,
    ) -> Weighed {
        dispatch!(self, desk weigh(desk, at, word, manner, u))
    }

    /// The messages of some words over all topics, added to the new theta; `ahead` are the next rows. Returns what each word
    /// weighs.
    #[inline]
    pub(crate) fn whole(
        self,
        columns: &mut [Whole],
        words: &[(Row<'_>, f32); TOGETHER],
        ahead: &[Row<'_>; TOGETHER],
        beta: f32,
    ) -> [f32; TOGETHER] {
        dispatch!(self, desk whole(columns, words, ahead, beta))
    }

    /// Multiply-adds and nothing else, to know how fast they can be: 8 sums, each `repeat` times.
    #[cfg(test)]
    fn multiply_adds(self, factors: &[Lanes], repeat: u32) -> f32 {
        dispatch!(self, desk multiply_adds(factors, repeat))
    }

    /// `weights[K]` = (row + beta) * `factors[K]`; the sum of every 16 of them, and of all.
    #[inline]
    pub(crate) fn weights(
        self,
        row: Row<'_>,
        factors: &[Lanes],
        beta: f32,
        weights: &mut [Lanes],
        sums: &mut Vec<f32>,
    ) -> f32 {
        dispatch!(self, desk weights(row, factors, beta, weights, sums))
    }
}
