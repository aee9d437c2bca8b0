//! Selection of an instruction set at run time, and the macro that compiles a kernel for each of
//! them. The header of the parent module explains how the parts fit together.

use super::rows::{self, AsyncRows, ExclusionRows, MessageUpdate, PhiCell, Token, WordRows};
use super::{Halves, Lanes};

/// Declares a kernel as a method of [`Kernel`]: one definition, generic over
/// [`Vector`](super::Vector), compiled for every instruction set.
///
/// `kernel! { pub(crate) fn dot(a: &[Lanes], b: &[Lanes]) -> f32 = rows::dot }` makes
/// `kernel.dot(a, b)` call `rows::dot::<V>(a, b)` with the vector type of the kernel's instruction
/// set. `= plain path` is for definitions without a vector type, which the compiler vectorizes
/// itself.
macro_rules! kernel {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident $([$generic:ident: $bound:ident])?
     ($($argument:ident: $type:ty),*) $(-> $result:ty)? = plain $($path:ident)::+) => {
        $(#[$attribute])*
        #[inline]
        $visibility fn $name $(<$generic: $bound>)? (self, $($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,popcnt")]
            fn avx2 $(<$generic: $bound>)? ($($argument: $type),*) $(-> $result)? {
                $($path)::+($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx2,fma,f16c,popcnt")]
            fn avx512 $(<$generic: $bound>)? ($($argument: $type),*) $(-> $result)? {
                $($path)::+($($argument),*)
            }
            match self.isa() {
                $crate::simd::Isa::Plain => $($path)::+($($argument),*),
                // SAFETY: this kernel exists only if the processor has AVX2, FMA and F16C.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx2 => unsafe { avx2($($argument),*) },
                // SAFETY: this kernel exists only if the processor has AVX-512F and AVX-512BW.
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
            #[target_feature(enable = "avx2,fma,f16c,popcnt")]
            fn avx2($($argument: $type),*) $(-> $result)? {
                // SAFETY: the instructions are enabled for this function.
                unsafe { $($path)::+::<$crate::simd::Avx2>($($argument),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx2,fma,f16c,popcnt")]
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
                // SAFETY: this kernel exists only if the processor has AVX-512F and AVX-512BW.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Isa::Avx512 => unsafe { avx512($($argument),*) },
            }
        }
    };
}
pub(crate) use kernel;

/// Instruction set of a processor. Results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    /// Instructions that every processor has.
    Plain,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512F and AVX-512BW.
    Avx512,
}

/// Instruction set that this program was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isa {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The kernels for one instruction set. A `Kernel` exists only for an instruction set that the
/// processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel(Isa);

impl Kernel {
    /// Returns the kernels that this processor can run, plain Rust first and the fastest last.
    pub(crate) fn all() -> Vec<Kernel> {
        let mut all = vec![Kernel(Isa::Plain)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("popcnt")
            {
                all.push(Kernel(Isa::Avx2));
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
                    all.push(Kernel(Isa::Avx512));
                }
            }
        }
        all
    }

    /// Returns the kernel of an instruction set, if the processor has it.
    pub(crate) fn of(instructions: Instructions) -> Option<Kernel> {
        let matches = |kernel: &Kernel| match kernel.0 {
            Isa::Plain => instructions == Instructions::Plain,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => instructions == Instructions::Avx2,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => instructions == Instructions::Avx512,
        };
        Kernel::all().into_iter().find(matches)
    }

    /// Returns the fastest kernel that this processor can run.
    pub(crate) fn best() -> Kernel {
        Kernel::all().last().copied().unwrap_or(Kernel(Isa::Plain))
    }

    /// Returns the instruction set of this kernel.
    #[inline]
    pub(crate) fn isa(self) -> Isa {
        self.0
    }
}

/// The kernels of the dense algorithms.
impl Kernel {
    kernel! {
        /// Returns the dot product of `a[K]` and `b[K]`.
        pub(crate) fn dot(a: &[Lanes], b: &[Lanes]) -> f32 = rows::dot
    }

    kernel! {
        /// Returns the sum of `a[K]`.
        pub(crate) fn sum(a: &[Lanes]) -> f32 = rows::sum
    }

    kernel! {
        /// Adds r * `x[K]` to `y[K]`.
        pub(crate) fn axpy(r: f32, x: &[Lanes], y: &mut [Lanes]) = rows::axpy
    }

    kernel! {
        /// Adds r * `x[K]` to `y[K]`, for x in 16-bit floats.
        pub(crate) fn axpy_halves(r: f32, x: &[Halves], y: &mut [Lanes]) = rows::axpy_halves
    }

    kernel! {
        /// Multiplies `theta[K]`, `phi[K]` and `lambda[K]` by their factors, then sets `eta[K]` =
        /// (phi + beta) * (theta + alpha) / (lambda + beta_sum).
        pub(crate) fn decay[C: PhiCell](eta: &mut [f32], rows: AsyncRows<'_, C>, factors: (f64, f64, f64), alpha: &[f32], beta: f32, beta_sum: f64) = plain rows::decay
    }

    kernel! {
        /// Adds r * `eta[K]` to `theta[K]`, `phi[K]` and `lambda[K]`.
        pub(crate) fn add_message[C: PhiCell](r: f32, eta: &[f32], rows: AsyncRows<'_, C>) = plain rows::add_message
    }

    kernel! {
        /// Sets `eta[K]` = (phi - own + beta) * (theta - own + alpha) / (total - own) with own = x
        /// * `message[K]`. Returns the sum of eta.
        pub(crate) fn exclude(eta: &mut [Lanes], rows: ExclusionRows<'_>, message: &[Halves], x: f32, beta: f32) -> f32 = rows::exclude
    }

    kernel! {
        /// Sets `message[K]` = r * `eta[K]` and adds x times the message to `sums[K]`.
        pub(crate) fn replace(message: &mut [Halves], eta: &[Lanes], r: f32, x: f32, sums: &mut [Lanes]) = rows::replace
    }

    kernel! {
        /// For every word: computes eta as [`Kernel::exclude`] does, sets the message to
        /// eta/sum(eta), and adds x times the change of the message to phi, theta and lambda. Stops
        /// at the first sum of eta that is not a positive finite number and returns it as the
        /// error.
        pub(crate) fn update_messages(rows: MessageUpdate<'_>) -> Result<(), f32> = rows::update_messages
    }

    kernel! {
        /// Samples a topic with weights (phi + beta) * t, except that the token's own topic has the
        /// given weight. Returns the topic and the sum of all weights with the token included.
        pub(crate) fn sample_topic(phi: &[Lanes], t: &[Lanes], beta: f32, token: Token, weights: &mut [Lanes]) -> (usize, f32) = rows::sample_topic
    }

    kernel! {
        /// For every word: s = `row[K]` . `t[K]` + smooth and r = x/s; adds r * `row[K]` to
        /// `acc[K]`. Returns the sum of r, which is not finite if any r is not.
        pub(crate) fn accumulate_words(input: WordRows<'_>, acc: &mut [Lanes]) -> f32 = rows::accumulate_words
    }

    kernel! {
        /// Sets `out[K]` = exp(psi(`values[K]` + `more[K]`) + shift) * `factors[K]`, where psi is
        /// the digamma function.
        pub(crate) fn exp_digamma(values: &[f32], more: &[f32], shift: f32, factors: &[f32], out: &mut [f32]) = plain rows::exp_digamma
    }
}
