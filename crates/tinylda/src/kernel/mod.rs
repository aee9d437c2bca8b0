//! Loops over rows of topics, the only hot code. Nothing here knows of documents, files or threads.
//!
//! A row of K numbers is padded with zeros to whole [`Lanes`] of 16, so no loop has a remainder and rows lie on cache
//! lines. Every operation is defined once, in `rows`, over a vector of 16 lanes (`vector`); the definition is compiled
//! for plain Rust and for each instruction set. Multiply-adds are fused (rounded once) everywhere and sums have one
//! fixed tree, so *all variants give the same bits*: a model does not depend on the processor it was trained on.

#![allow(unsafe_code)] // the instruction-set calls; each with its proof
#![allow(clippy::inline_always)] // what is written once must become part of each instruction set's own function

mod active;
mod rows;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use active::{Bad, Documents, Logarithm, SHORT, Slot, Whole, Word};
pub(crate) use rows::{Cell, Rows};

/// Sixteen numbers of a row: one cache line.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

/// Numbers in a [`Lanes`].
pub(crate) const LANES: usize = 16;

impl Lanes {
    pub(crate) const ZERO: Lanes = Lanes([0.0; LANES]);
}

/// Sixteen places in a row.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Places(pub(crate) [u32; LANES]);

/// The places of a list, padding included.
pub(crate) fn flat_places(list: &[Places]) -> &[u32] {
    // SAFETY: Places is repr(C) around [u32; 16] and 64 bytes long, so n of them are 16 n numbers without gaps.
    unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), list.len() * LANES) }
}

/// The places of a list, padding included, to write.
pub(crate) fn flat_places_mut(list: &mut [Places]) -> &mut [u32] {
    // SAFETY: as in `flat_places`; the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(list.as_mut_ptr().cast(), list.len() * LANES) }
}

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

/// Asks for a row to be brought to the cache, ahead of its use: rows of words come in no order that the processor
/// could guess, and waiting for them took a third of a pass.
#[inline]
pub(crate) fn prefetch(row: &[Lanes]) {
    #[cfg(target_arch = "x86_64")]
    for line in row {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and never faults; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Instructions of a processor. The result does not depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    /// Those that every processor has.
    Plain,
    /// AVX2 and FMA.
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
            // SAFETY: this kernel was made only after the processor was found to have AVX2 and FMA.
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

/// Documents whose places are known to be below `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckedPlaces<'a> {
    documents: Documents<'a>,
    end: usize,
}

impl<'a> CheckedPlaces<'a> {
    /// Looks at every place once; they must lie in rows of `lanes`.
    pub(crate) fn new(documents: Documents<'a>, lanes: usize) -> CheckedPlaces<'a> {
        let end = lanes * LANES;
        let inside = flat_places(documents.places).iter().all(|&place| (place as usize) < end);
        assert!(inside, "a place outside the row");
        CheckedPlaces { documents, end }
    }
}

impl Kernel {
    /// All that this processor can run, plain Rust first, the fastest last.
    pub(crate) fn all() -> Vec<Kernel> {
        let mut all = vec![Kernel(Isa::Plain)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
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

    /// `y[K]` += r * `x[K]` and `v[K]` += r * `u[K]`, in one go.
    #[inline]
    pub(crate) fn axpy_two(self, r: f32, x: &[Lanes], y: &mut [Lanes], u: &[Lanes], v: &mut [Lanes]) {
        dispatch!(self, axpy_two(r, x, y, u, v));
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

    /// A word's messages, with long rows: see `active`. `spare` has room for 3 A numbers.
    ///
    /// The places of the documents were checked for rows of this length.
    #[inline]
    pub(crate) fn long(
        self,
        word: &Word<'_>,
        documents: &CheckedPlaces<'_>,
        out: (&mut [Lanes], &mut [f32]),
        spare: &mut [Lanes],
        log: &mut Logarithm,
    ) -> Result<usize, Bad> {
        assert!(word.row.len() * LANES >= documents.end, "a place outside the row");
        // Every place is below `end`, and so inside the row: what `active::long` asks for besides the instructions.
        dispatch!(self, active long(word, &documents.documents, out, spare, log))
    }

    /// The same for short rows, of at most [`SHORT`] lanes: sets `gained[K]`.
    #[inline]
    pub(crate) fn short(
        self,
        word: &Word<'_>,
        documents: &Documents<'_>,
        sums: &mut [Lanes],
        gained: &mut [Lanes],
        log: &mut Logarithm,
    ) -> Result<(), Bad> {
        dispatch!(self, active short(word, documents, sums, gained, log))
    }

    /// A document's messages over all topics, added up in `sums[K]`. `spare` has room for 2 K numbers.
    #[inline]
    pub(crate) fn whole(
        self,
        document: &Whole<'_>,
        sums: &mut [Lanes],
        spare: &mut [Lanes],
    ) -> Result<(), f32> {
        dispatch!(self, active whole(document, sums, spare))
    }

    /// `row[K]` += factor * `counts[K]`, and the counts are 0 again.
    #[inline]
    pub(crate) fn settle(self, row: &mut [f32], counts: &mut [f32], factor: f32) {
        dispatch_plain!(self, settle(row, counts, factor));
    }

    /// `row[K]` = scale * row, and on by `step` times its way from `saved[K]`.
    #[inline]
    pub(crate) fn leap(self, row: &mut [f32], scale: f32, saved: &[u16], step: f32) {
        dispatch_plain!(self, leap(row, scale, saved, step));
    }

    /// `row[K]` *= scale, and a copy in 16 bits.
    #[inline]
    pub(crate) fn keep(self, row: &mut [f32], scale: f32, saved: &mut [u16]) {
        dispatch_plain!(self, keep(row, scale, saved));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(values: &[f32]) -> Vec<Lanes> {
        let mut row = vec![Lanes::ZERO; values.len().div_ceil(LANES)];
        flat_mut(&mut row)[..values.len()].copy_from_slice(values);
        row
    }

    /// One body over all variants: the same bits as plain Rust, and close to what mathematics says.
    fn agree(a: &[f32], b: &[f32], r: f32) {
        let n = a.len().min(b.len());
        let (x, y) = (row(&a[..n]), row(&b[..n]));
        let exact: f64 = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
        let size: f64 = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) * f64::from(b)).abs()).sum();
        let mut first: Option<(f32, f32, Vec<Lanes>, Vec<Lanes>)> = None;
        for kernel in Kernel::all() {
            let dot = kernel.dot(&x, &y);
            assert!((f64::from(dot) - exact).abs() <= 1e-6 * size + 1e-30, "{kernel:?}: {dot} {exact}");
            let (mut one, mut two, mut three) = (y.clone(), y.clone(), x.clone());
            kernel.axpy(r, &x, &mut one);
            kernel.axpy_two(r, &x, &mut two, &y, &mut three);
            assert_eq!(one, two);
            for (i, (&a, &b)) in a.iter().zip(b).enumerate() {
                assert_eq!(flat(&one)[i], r.mul_add(a, b));
                assert_eq!(flat(&three)[i], r.mul_add(b, a));
            }
            let wide = |row: &[Lanes]| flat(row)[..n].iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
            let (mut theta, mut lambda, mut eta) = (wide(&x), wide(&y), vec![0f32; n]);
            let rows = Rows { theta: &mut theta, phi: &mut flat_mut(&mut two)[..n], lambda: &mut lambda };
            kernel.fade(&mut eta, rows, (0.9, 0.8, 0.7), &flat(&y)[..n], 0.5, 3.0);
            let rows = Rows { theta: &mut theta, phi: &mut flat_mut(&mut two)[..n], lambda: &mut lambda };
            kernel.deposit(r, &eta, rows);
            let mut saved = vec![0u16; n];
            kernel.keep(&mut flat_mut(&mut two)[..n], 0.7, &mut saved);
            kernel.leap(&mut flat_mut(&mut two)[..n], 1.1, &saved, 0.5);
            let mut counts = y.clone();
            kernel.settle(&mut flat_mut(&mut two)[..n], &mut flat_mut(&mut counts)[..n], r);
            assert!(flat(&counts)[..n].iter().all(|&c| c == 0.0));
            for i in 0..n {
                flat_mut(&mut three)[i] += eta[i] + theta[i] as f32 + lambda[i] as f32;
            }
            let got = (dot, kernel.sum(&x), two, three);
            match &first {
                None => first = Some(got),
                Some(first) => {
                    assert_eq!(first.0.to_bits(), got.0.to_bits(), "{kernel:?}");
                    assert_eq!(first.1.to_bits(), got.1.to_bits(), "{kernel:?}");
                    assert_eq!((&first.2, &first.3), (&got.2, &got.3), "{kernel:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_variants_agree_to_the_bit(a in prop::collection::vec(-1e3f32..1e3, 0..300), b in prop::collection::vec(0f32..1e-2, 0..300), r in -10f32..10.0) {
            agree(&a, &b, r);
        }
    }

    /// A word in two documents, K topics, by the formulas in f64: (sums of the documents, gained by the word).
    fn definition(row: &[f32], t: &[Vec<f64>], inverse: &[f64], x: [u32; 2]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let (mut sums, mut gained) = (Vec::new(), vec![0f64; row.len()]);
        for (t, x) in t.iter().zip(x.map(f64::from)) {
            let p: Vec<f64> =
                row.iter().zip(inverse).map(|(&r, i)| (f64::from(r) * 0.5 + 0.01) * i).collect();
            let s: f64 = p.iter().zip(t).map(|(p, t)| p * t).sum();
            let f = |k: usize| (1.0 - 0.5 * x / s * p[k] - 0.25 * x / s * t[k] * inverse[k]).max(0.02);
            let z: Vec<f64> = (0..p.len()).map(|k| p[k] * t[k] * f(k)).collect();
            let total: f64 = z.iter().sum();
            sums.push(z.iter().map(|z| x * z / total).collect::<Vec<f64>>());
            for (gained, z) in gained.iter_mut().zip(&z) {
                *gained += x * z / total;
            }
        }
        (sums, gained)
    }

    /// One body over all variants: messages are what the formulas say, and the same bits everywhere.
    #[test]
    fn messages_are_what_the_formulas_say() {
        for k in [5usize, 16, 37, 100, 128, 129, 300] {
            let row_of = |seed: usize| -> Vec<f32> {
                (0..k).map(|i| ((i * 7919 + seed * 104_729) % 1000) as f32 / 100.0).collect()
            };
            let (phi, lambda) = (row_of(1), row_of(2));
            let inverse: Vec<f64> = lambda.iter().map(|&l| f64::from(1.0 / (l + 3.0))).collect();
            // Each document uses every second topic or every third.
            let used = |d: usize| (0..k).filter(move |i| i % (d + 2) == 0);
            let weight = |d: usize, i: usize| row_of(3 + d)[i] + 0.02;
            let dense: Vec<Vec<f64>> = (0..2)
                .map(|d| {
                    let mut t = vec![0f64; k];
                    used(d).for_each(|i| t[i] = f64::from(weight(d, i)));
                    t
                })
                .collect();
            let (sums, gained) = definition(&phi, &dense, &inverse, [3, 1]);
            let (padded, lanes) = (row(&phi), k.div_ceil(LANES));
            let inverse: Vec<f32> = inverse.iter().map(|&i| i as f32).collect();
            let uses = [(0, 1), (1, 0)];
            let word = Word {
                row: &padded,
                scale: 0.5,
                beta: 0.01,
                exclude: (0.5, 0.25),
                uses: &uses,
                counts: &[1, 3],
            };
            let close = |got: f32, want: f64| assert!((f64::from(got) - want).abs() < 1e-5, "{got} {want}");
            let mut first: Option<Vec<Lanes>> = None;
            for kernel in Kernel::all() {
                let mut log = Logarithm::ZERO;
                let mut gains = vec![Lanes::ZERO; lanes];
                let out = if lanes <= SHORT {
                    let t: Vec<Lanes> = dense
                        .iter()
                        .flat_map(|t| row(&t.iter().map(|&v| v as f32).collect::<Vec<_>>()))
                        .collect();
                    let slots = [Slot { at: 0, length: k }, Slot { at: lanes, length: k }];
                    let documents = Documents { slots: &slots, places: &[], t: &t, inverse: &row(&inverse) };
                    let mut out = vec![Lanes::ZERO; 2 * lanes];
                    kernel.short(&word, &documents, &mut out, &mut gains, &mut log).unwrap();
                    for (d, sums) in sums.iter().enumerate() {
                        for (i, &sum) in sums.iter().enumerate() {
                            close(flat(&out[d * lanes..])[i], sum);
                        }
                    }
                    out
                } else {
                    let (mut slots, mut places, mut t, mut inverses) = (vec![], vec![], vec![], vec![]);
                    for d in 0..2 {
                        let list: Vec<usize> = used(d).collect();
                        slots.push(Slot { at: places.len(), length: list.len() });
                        let mut own = vec![Places::default(); list.len().div_ceil(LANES)];
                        for (place, &i) in flat_places_mut(&mut own).iter_mut().zip(&list) {
                            *place = i as u32;
                        }
                        places.extend(own);
                        t.extend(row(&list.iter().map(|&i| weight(d, i)).collect::<Vec<_>>()));
                        inverses.extend(row(&list.iter().map(|&i| inverse[i]).collect::<Vec<_>>()));
                    }
                    let documents = Documents { slots: &slots, places: &places, t: &t, inverse: &inverses };
                    let checked = CheckedPlaces::new(documents, lanes);
                    let mut out = vec![Lanes::ZERO; places.len()];
                    let mut spare = vec![Lanes::ZERO; 3 * lanes];
                    kernel
                        .long(&word, &checked, (&mut out, flat_mut(&mut gains)), &mut spare, &mut log)
                        .unwrap();
                    for d in 0..2 {
                        for (n, i) in used(d).enumerate() {
                            close(flat(&out[slots[d].at..])[n], sums[d][i]);
                        }
                    }
                    out
                };
                for (i, &want) in gained.iter().enumerate() {
                    close(flat(&gains)[i], want);
                }
                let all = [out, gains].concat();
                assert_eq!(first.get_or_insert_with(|| all.clone()), &all, "{kernel:?}, K = {k}");
            }
        }
    }

    #[test]
    fn long_and_short_rows() {
        for n in [0, 1, 15, 16, 17, 63, 64, 65, 100, 500, 2000] {
            let a: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37).sin()).collect();
            let b: Vec<f32> = (0..n).map(|i| 1.0 / (1.0 + i as f32)).collect();
            agree(&a, &b, 0.3);
        }
    }
}
