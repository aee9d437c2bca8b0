//! Messages over the topics that documents use: the heart of `tbp`.
//!
//! Legend: K topics, W words; for the A topics in use of a document `t[A]` = theta + alpha and `inverse[A]` =
//! 1/(lambda + W*beta); phi of a word is scale * `row[K]`. For a word in a document, x times:
//! ```text
//! p = (phi + beta)*inverse        z = p*t        s = sum z
//! f = max(1 - e*x/s * p - e*v*x/s * t*inverse, FLOOR)
//! message = x * z*f / sum(z*f)
//! ```
//! A word goes through its documents, so that its row is read once per block and stays in the cache.

use super::vector::Vector;
use super::{LANES, Lanes, Places, flat, flat_places, prefetch};

/// However large the own share seems, a message keeps this much of what it would be without the exclusion.
const FLOOR: f32 = 0.02;

/// The most [`Lanes`] of a row for which all topics are gone through at once, those not in use with t = 0: up to there
/// this is faster than picking those in use out of their rows.
pub(crate) const SHORT: usize = 8;

/// Where a document's topics in use lie: from which lanes on, and how many topics they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Slot {
    pub(crate) at: usize,
    pub(crate) length: usize,
}

impl Slot {
    /// How many lanes.
    #[inline(always)]
    pub(crate) fn lanes(self) -> usize {
        self.length.div_ceil(LANES)
    }
}

/// The documents of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Documents<'a> {
    pub(crate) slots: &'a [Slot],
    /// Which topics; none for short rows, which have them all, in order.
    pub(crate) places: &'a [Places],
    pub(crate) t: &'a [Lanes],
    /// For the topics in use; for short rows once for all documents.
    pub(crate) inverse: &'a [Lanes],
}

impl Documents<'_> {
    /// Asks for what a document will read of a row.
    #[inline]
    pub(crate) fn prefetch(&self, d: u32, row: &[Lanes]) {
        let slot = self.slots[d as usize];
        for &place in &flat_places(&self.places[slot.at..])[..slot.length] {
            prefetch(std::slice::from_ref(&row[place as usize / LANES]));
        }
    }
}

/// A word and its uses in a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) row: &'a [Lanes],
    pub(crate) scale: f32,
    pub(crate) beta: f32,
    /// e and e*v: how much of the own share is taken out of theta and of phi.
    pub(crate) exclude: (f32, f32),
    /// (document, non-zero).
    pub(crate) uses: &'a [(u32, u32)],
    /// x of every non-zero.
    pub(crate) counts: &'a [u32],
}

/// The log of a product of many numbers: a logarithm per non-zero would take a tenth of the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Logarithm {
    sum: f64,
    product: f64,
}

impl Logarithm {
    pub(crate) const ZERO: Logarithm = Logarithm { sum: 0.0, product: 1.0 };

    #[inline(always)]
    fn times(&mut self, s: f32, count: u32) {
        let s = f64::from(s);
        match count {
            1 => self.product *= s,
            2 => self.product *= s * s,
            _ => self.sum += f64::from(count) * libm::log(s),
        }
        if !(1e-200..1e200).contains(&self.product) {
            self.sum += libm::log(self.product);
            self.product = 1.0;
        }
    }

    pub(crate) fn value(self) -> f64 {
        self.sum + libm::log(self.product)
    }
}

/// What is wrong: the document, and an s that is no usable number.
pub(crate) type Bad = (u32, f32);

/// Adds a word's messages to `sums` of its documents (lanes as in `slots`) and to `gained[K]` of the word. `spare` has room
/// for 3 A numbers. Returns how many numbers it added to the word.
///
/// # Safety
/// The processor has V's instructions. Every place lies inside the row.
#[inline(always)]
pub(super) unsafe fn long<V: Vector>(
    word: &Word<'_>,
    documents: &Documents<'_>,
    (sums, gained): (&mut [Lanes], &mut [f32]),
    spare: &mut [Lanes],
    log: &mut Logarithm,
) -> Result<usize, Bad> {
    let mut touched = 0;
    for &(d, n) in word.uses {
        let slot = documents.slots[d as usize];
        let (at, lanes) = (slot.at, slot.lanes());
        let x = word.counts[n as usize];
        let places = &documents.places[at..at + lanes];
        let topics = (&documents.t[at..at + lanes], &documents.inverse[at..at + lanes]);
        let own = &mut sums[at..at + lanes];
        let made = &mut spare[..3 * lanes];
        // SAFETY: promised by the caller; likewise below.
        let s = unsafe {
            // The same function; a number of lanes that the compiler knows is 6% faster.
            match lanes {
                1 => message::<V>(1, word, x, places, topics, own, made),
                2 => message::<V>(2, word, x, places, topics, own, made),
                3 => message::<V>(3, word, x, places, topics, own, made),
                4 => message::<V>(4, word, x, places, topics, own, made),
                n => message::<V>(n, word, x, places, topics, own, made),
            }
        };
        log.times(s.map_err(|s| (d, s))?, x);
        for (&k, &count) in flat_places(places)[..slot.length].iter().zip(flat(made)) {
            gained[k as usize] += count;
        }
        touched += slot.length;
    }
    Ok(touched)
}

/// s where it and the factor r are usable numbers.
#[inline(always)]
fn checked(s: f32, r: f32) -> Result<f32, f32> {
    if r.is_finite() && s > 0.0 && s.is_finite() { Ok(s) } else { Err(s) }
}

/// One message over n lanes of topics: added to `sums`, and left in the first n of `made`. Returns s.
#[inline(always)]
unsafe fn message<V: Vector>(
    n: usize,
    word: &Word<'_>,
    x: u32,
    places: &[Places],
    (t, inverse): (&[Lanes], &[Lanes]),
    sums: &mut [Lanes],
    made: &mut [Lanes],
) -> Result<f32, f32> {
    // SAFETY: see `long`.
    unsafe {
        let (places, t, inverse, sums) = (&places[..n], &t[..n], &inverse[..n], &mut sums[..n]);
        let (z, rest) = made[..3 * n].split_at_mut(n);
        let (p, own) = rest.split_at_mut(n);
        let (scale, beta) = (V::splat(word.scale), V::splat(word.beta));
        let mut s = V::zero();
        for i in 0..n {
            let (t, inverse) = (V::load(&t[i]), V::load(&inverse[i]));
            let phi = V::gather(word.row.as_ptr().cast(), &places[i]);
            let p_i = phi.fma(scale, beta).mul(inverse);
            let z_i = p_i.mul(t);
            s = s.add(z_i);
            t.mul(inverse).store(&mut own[i]);
            p_i.store(&mut p[i]);
            z_i.store(&mut z[i]);
        }
        let s = s.sum();
        let x = x as f32;
        let (one, floor) = (V::splat(1.0), V::splat(FLOOR));
        let (of_theta, of_phi) = (V::splat(-word.exclude.0 * x / s), V::splat(-word.exclude.1 * x / s));
        let mut rest = V::zero();
        for i in 0..n {
            let f = V::load(&p[i]).fma(of_theta, V::load(&own[i]).fma(of_phi, one)).max(floor);
            let z_i = V::load(&z[i]).mul(f);
            rest = rest.add(z_i);
            z_i.store(&mut z[i]);
        }
        let r = x / rest.sum();
        let factor = V::splat(r);
        for i in 0..n {
            let m = V::load(&z[i]).mul(factor);
            m.store(&mut z[i]);
            V::load(&sums[i]).add(m).store(&mut sums[i]);
        }
        checked(s, r)
    }
}

/// The same for short rows: `documents` have all topics, without places.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
pub(super) unsafe fn short<V: Vector>(
    word: &Word<'_>,
    documents: &Documents<'_>,
    sums: &mut [Lanes],
    gained: &mut [Lanes],
    log: &mut Logarithm,
) -> Result<(), Bad> {
    // SAFETY: promised by the caller.
    unsafe {
        match word.row.len() {
            1 => all::<V, 1>(word, documents, sums, gained, log),
            2 => all::<V, 2>(word, documents, sums, gained, log),
            3 => all::<V, 3>(word, documents, sums, gained, log),
            4 => all::<V, 4>(word, documents, sums, gained, log),
            5 => all::<V, 5>(word, documents, sums, gained, log),
            6 => all::<V, 6>(word, documents, sums, gained, log),
            7 => all::<V, 7>(word, documents, sums, gained, log),
            _ => all::<V, SHORT>(word, documents, sums, gained, log),
        }
    }
}

#[inline(always)]
unsafe fn all<V: Vector, const N: usize>(
    word: &Word<'_>,
    documents: &Documents<'_>,
    sums: &mut [Lanes],
    gained: &mut [Lanes],
    log: &mut Logarithm,
) -> Result<(), Bad> {
    // SAFETY: see `short`.
    unsafe {
        let (one, floor, beta) = (V::splat(1.0), V::splat(FLOOR), V::splat(word.beta));
        let scale = V::splat(word.scale);
        let inverse: [Lanes; N] = std::array::from_fn(|i| documents.inverse[i]);
        let mut p = [V::zero(); N];
        for i in 0..N {
            p[i] = V::load(&word.row[i]).fma(scale, beta).mul(V::load(&inverse[i]));
        }
        let mut total = [V::zero(); N];
        let (rows, _) = documents.t.as_chunks::<N>();
        let (sums, _) = sums.as_chunks_mut::<N>();
        for (i, &(d, n)) in word.uses.iter().enumerate() {
            if let Some(&(ahead, _)) = word.uses.get(i + 2) {
                prefetch(&rows[ahead as usize]);
                prefetch(&sums[ahead as usize]);
            }
            let t = &rows[d as usize];
            let mut z = [V::zero(); N];
            // Even and odd lanes apart: half the waiting for sums.
            let (mut s0, mut s1) = (V::zero(), V::zero());
            for i in 0..N {
                z[i] = p[i].mul(V::load(&t[i]));
                if i % 2 == 0 { s0 = s0.add(z[i]) } else { s1 = s1.add(z[i]) }
            }
            let s = s0.add(s1).sum();
            let count = word.counts[n as usize];
            let x = count as f32;
            let (of_theta, of_phi) = (V::splat(-word.exclude.0 * x / s), V::splat(-word.exclude.1 * x / s));
            let (mut rest0, mut rest1) = (V::zero(), V::zero());
            for i in 0..N {
                let own = V::load(&t[i]).mul(V::load(&inverse[i]));
                z[i] = z[i].mul(p[i].fma(of_theta, own.fma(of_phi, one)).max(floor));
                if i % 2 == 0 { rest0 = rest0.add(z[i]) } else { rest1 = rest1.add(z[i]) }
            }
            let r = x / rest0.add(rest1).sum();
            log.times(checked(s, r).map_err(|s| (d, s))?, count);
            let factor = V::splat(r);
            let sum = &mut sums[d as usize];
            for i in 0..N {
                let m = z[i].mul(factor);
                total[i] = total[i].add(m);
                V::load(&sum[i]).add(m).store(&mut sum[i]);
            }
        }
        for i in 0..N {
            total[i].store(&mut gained[i]);
        }
        Ok(())
    }
}

/// A document with all topics, phi held fixed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<'a> {
    pub(crate) words: &'a [u32],
    pub(crate) counts: &'a [u32],
    /// Rows of phi, each of `t.len()` lanes, to be multiplied by `scales`.
    pub(crate) rows: &'a [Lanes],
    pub(crate) scales: &'a [f32],
    pub(crate) beta: f32,
    /// e.
    pub(crate) exclude: f32,
    pub(crate) t: &'a [Lanes],
    pub(crate) inverse: &'a [Lanes],
}

/// Sets `sums[K]` to a document's messages added up, phi's part of the own share left in. `spare` has room for 2 K numbers.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
pub(super) unsafe fn whole<V: Vector>(
    document: &Whole<'_>,
    sums: &mut [Lanes],
    spare: &mut [Lanes],
) -> Result<(), f32> {
    // SAFETY: promised by the caller.
    unsafe {
        let Whole { words, counts, rows, scales, beta, exclude, t, inverse } = *document;
        let n = t.len();
        let (z, p) = spare[..2 * n].split_at_mut(n);
        let (sums, inverse) = (&mut sums[..n], &inverse[..n]);
        sums.fill(Lanes::ZERO);
        let (one, floor, beta) = (V::splat(1.0), V::splat(FLOOR), V::splat(beta));
        for (i, (&w, &count)) in words.iter().zip(counts).enumerate() {
            if let Some(&ahead) = words.get(i + 2) {
                prefetch(&rows[ahead as usize * n..][..n]);
            }
            let row = &rows[w as usize * n..][..n];
            let scale = V::splat(scales[w as usize]);
            let mut s = V::zero();
            for i in 0..n {
                let p_i = V::load(&row[i]).fma(scale, beta).mul(V::load(&inverse[i]));
                let z_i = p_i.mul(V::load(&t[i]));
                s = s.add(z_i);
                p_i.store(&mut p[i]);
                z_i.store(&mut z[i]);
            }
            let s = s.sum();
            let x = count as f32;
            let of_theta = V::splat(-exclude * x / s);
            let mut rest = V::zero();
            for i in 0..n {
                let z_i = V::load(&z[i]).mul(V::load(&p[i]).fma(of_theta, one).max(floor));
                rest = rest.add(z_i);
                z_i.store(&mut z[i]);
            }
            let r = x / rest.sum();
            checked(s, r)?;
            let factor = V::splat(r);
            for i in 0..n {
                V::load(&z[i]).fma(factor, V::load(&sums[i])).store(&mut sums[i]);
            }
        }
        Ok(())
    }
}
