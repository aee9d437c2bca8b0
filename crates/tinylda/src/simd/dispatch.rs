//! Selection of an instruction set at run time, and the macro that compiles a kernel for each of them.

use super::rows::{self, Cell, Excluded, Met, Renewed, Rows, Token};
use super::{Halves, Lanes};

/// Declares a kernel as a method of [`Kernel`]: one definition, generic over [`Vector`](super::Vector), compiled for every
/// instruction set.
///
/// `kernel! { pub(crate) fn dot(a: &[Lanes], b: &[Lanes]) -> f32 = rows::dot }` makes `kernel.dot(a, b)` call
/// `rows::dot::<V>(a, b)` with the vector type of the kernel's instruction set. `= plain path` is for definitions without
/// a vector type, which the compiler vectorizes itself.
macro_rules! kernel {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident $([$generic:ident: $bound:ident])?
     ($($argument:ident: $type:ty),*) $(-> $result:ty)? = plain $($path:ident)::+) => {
        $(#[$attribute])*
        #[inline]
        $visibility fn $name $(<$generic: $bound>)? (self, $($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            fn avx2 $(<$generic: $bound>)? ($($argument: $type),*) $(-> $result)? {
                $($path)::+($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx2,fma,f16c")]
            fn avx512 $(<$generic: $bound>)? ($($argument: $type),*) $(-> $result)? {
                $($path)::+($($argument),*)
            }
            match self.isa() {
                $crate::simd::Isa::Plain => $($path)::+($($argument),*),
                // SAFETY: this kernel exists only if the processor has AVX2, FMA and F16C.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx2 => unsafe { avx2($($argument),*) },
                // SAFETY: this kernel exists only if the processor has AVX-512F.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx512 => unsafe { avx512($($argument),*) },
            }
        }
    };
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident
     ($($argument:ident: $type:ty),*) $(-> $result:ty)? = $($path:ident)::+) => {
        $(#[$attribute])*
        #[inline]
        $visibility fn $name(self, $($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            fn avx2($($argument: $type),*) $(-> $result)? {
                // SAFETY: the instructions are enabled for this function.
                unsafe { $($path)::+::<$crate::simd::Avx2>($($argument),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx2,fma,f16c")]
            fn avx512($($argument: $type),*) $(-> $result)? {
                // SAFETY: the instructions are enabled for this function.
                unsafe { $($path)::+::<$crate::simd::Avx512>($($argument),*) }
            }
            match self.isa() {
                // SAFETY: plain Rust needs no special instructions.
                $crate::simd::Isa::Plain => unsafe { $($path)::+::<$crate::simd::Plain>($($argument),*) },
                // SAFETY: this kernel exists only if the processor has AVX2, FMA and F16C.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx2 => unsafe { avx2($($argument),*) },
                // SAFETY: this kernel exists only if the processor has AVX-512F.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx512 => unsafe { avx512($($argument),*) },
            }
        }
    };
}
pub(crate) use kernel;

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
pub(crate) enum Isa {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The row operations for one set of instructions. A `Kernel` exists only for what the processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel(Isa);

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

    /// The instruction set of this kernel.
    #[inline]
    pub(crate) fn isa(self) -> Isa {
        self.0
    }
}

/// The kernels of the dense algorithms.
impl Kernel {
    kernel! {
        /// `a[K]` . `b[K]`
        pub(crate) fn dot(a: &[Lanes], b: &[Lanes]) -> f32 = rows::dot
    }

    kernel! {
        /// The sum of `a[K]`.
        pub(crate) fn sum(a: &[Lanes]) -> f32 = rows::sum
    }

    kernel! {
        /// `y[K]` += r * `x[K]`
        pub(crate) fn axpy(r: f32, x: &[Lanes], y: &mut [Lanes]) = rows::axpy
    }

    kernel! {
        /// `y[K]` += r * `x[K]`
        pub(crate) fn axpy_halves(r: f32, x: &[Halves], y: &mut [Lanes]) = rows::axpy_halves
    }

    kernel! {
        /// `theta[K]`, `phi[K]` and `lambda[K]` times their factors, then
        /// `eta[K]` = (phi + beta) * (theta + alpha) / (lambda + beta_sum).
        pub(crate) fn fade[C: Cell](eta: &mut [f32], rows: Rows<'_, C>, factors: (f64, f64, f64), alpha: &[f32], beta: f32, beta_sum: f64) = plain rows::fade
    }

    kernel! {
        /// `theta[K]`, `phi[K]` and `lambda[K]` plus r * `eta[K]`.
        pub(crate) fn deposit[C: Cell](r: f32, eta: &[f32], rows: Rows<'_, C>) = plain rows::deposit
    }

    kernel! {
        /// `eta[K]` = (phi - own + beta) * (theta - own + alpha) / (total - own) with own = x * `message[K]`; the sum of eta.
        pub(crate) fn exclude(eta: &mut [Lanes], rows: Excluded<'_>, message: &[Halves], x: f32, beta: f32) -> f32 = rows::exclude
    }

    kernel! {
        /// `message[K]` = r * `eta[K]`, and x times that is added to `sums[K]`.
        pub(crate) fn replace(message: &mut [Halves], eta: &[Lanes], r: f32, x: f32, sums: &mut [Lanes]) = rows::replace
    }

    kernel! {
        /// For every word `exclude`, then its message becomes eta/sum(eta) and x times what it changes by is added to phi, theta and lambda.
        /// Stops at a sum of eta that is no usable number, and returns it.
        pub(crate) fn renew(rows: Renewed<'_>) -> Result<(), f32> = rows::renew
    }

    kernel! {
        /// Draws a topic with weights (phi + beta) * t, but that of the token's own topic as given; and the sum of all weights
        /// with the token in them.
        pub(crate) fn draw(phi: &[Lanes], t: &[Lanes], beta: f32, token: Token, weights: &mut [Lanes]) -> (usize, f32) = rows::draw
    }

    kernel! {
        /// For every word s = `row[K]` . `t[K]` + smooth and r = x/s; r * `row[K]` is added to `acc[K]`. Returns the sum of r, which
        /// is no number where one of them is not.
        pub(crate) fn absorb(met: Met<'_>, acc: &mut [Lanes]) -> f32 = rows::absorb
    }

    kernel! {
        /// `out[K]` = exp(psi(`values[K]` + `more[K]`) + shift) * `factors[K]`, psi the digamma function.
        pub(crate) fn exp_digamma(values: &[f32], more: &[f32], shift: f32, factors: &[f32], out: &mut [f32]) = plain rows::exp_digamma
    }
}
