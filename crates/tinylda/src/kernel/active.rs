//! The messages of one document over the topics it uses, in one call: the heart of `tbp`.
//!
//! Legend: A topics in use, at `places` of a row of K (all K where there are no places); for each of them
//! `t[A]` = theta + alpha, `inverse[A]` = 1/(lambda + W*beta), `smooth[A]` = beta*inverse, `own[A]` = t*inverse;
//! phi of word w is `scales[w] * rows[w,:]`. For each word w, x times:
//! ```text
//! p = phi*inverse + smooth        z = p*t        s = sum z
//! f = max(1 - e*x/s * p - e*v_w*x/s * own, FLOOR)
//! message = x * z*f / sum(z*f)
//! ```

use super::vector::Vector;
use super::{Lanes, Places, flat, flat_places, prefetch, prefetch_number};

/// However large the own share seems, a message keeps this much of what it would be without the exclusion.
const FLOOR: f32 = 0.02;

/// A document, and what its messages are made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'a> {
    pub(crate) words: &'a [u32],
    pub(crate) counts: &'a [u32],
    /// Rows of phi, each of `stride` lanes, to be multiplied by `scales`.
    pub(crate) rows: &'a [Lanes],
    pub(crate) stride: usize,
    pub(crate) scales: &'a [f32],
    /// e: how much of the own share is taken out of theta and of phi; 0 leaves all in.
    pub(crate) exclude: (f32, f32),
    /// v_w: how much of a word's last messages is in its row of phi.
    pub(crate) shares: &'a [f32],
    /// Which topics; none means all, in order.
    pub(crate) places: &'a [Places],
    pub(crate) t: &'a [Lanes],
    pub(crate) inverse: &'a [Lanes],
    pub(crate) smooth: &'a [Lanes],
    pub(crate) own: &'a [Lanes],
}

/// The log of a product of many numbers: a logarithm per non-zero would take a tenth of the time.
struct Logarithm {
    sum: f64,
    product: f64,
}

impl Logarithm {
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
}

/// Asks for what will be read of a word's row, two words ahead.
#[inline(always)]
fn ask(document: &Document<'_>, i: usize) {
    const AHEAD: usize = 2;
    let Some(&w) = document.words.get(i + AHEAD) else { return };
    let row = &document.rows[w as usize * document.stride..][..document.stride];
    if document.places.is_empty() || document.stride <= 8 {
        prefetch(row);
    } else {
        for &place in flat_places(document.places) {
            prefetch_number(&flat(row)[place as usize]);
        }
    }
}

/// Sets `sums[A]` to the document's messages added up, and `messages[A]` of each word where they are wanted. `spare` has
/// room for 2 A numbers. Returns sum x log s; an error is an s that is no usable number.
///
/// # Safety
/// The processor has V's instructions. Every place is below 16 * stride.
#[inline(always)]
pub(super) unsafe fn messages<V: Vector>(
    document: &Document<'_>,
    sums: &mut [Lanes],
    messages: Option<&mut [Lanes]>,
    spare: &mut [Lanes],
) -> Result<f64, f32> {
    // SAFETY: promised by the caller; likewise below.
    unsafe {
        match (document.places.len(), messages) {
            (1, Some(messages)) => few::<V, 1>(document, sums, messages),
            (2, Some(messages)) => few::<V, 2>(document, sums, messages),
            (3, Some(messages)) => few::<V, 3>(document, sums, messages),
            (4, Some(messages)) => few::<V, 4>(document, sums, messages),
            (_, messages) => many::<V>(document, sums, messages, spare),
        }
    }
}

/// For at most 16 N topics, with all that belongs to the document in registers.
#[inline(always)]
unsafe fn few<V: Vector, const N: usize>(
    document: &Document<'_>,
    sums: &mut [Lanes],
    messages: &mut [Lanes],
) -> Result<f64, f32> {
    // SAFETY: see `messages`.
    unsafe {
        let load = |row: &[Lanes]| -> [V; N] { std::array::from_fn(|i| V::load(&row[i])) };
        let (t, inverse) = (load(document.t), load(document.inverse));
        let (smooth, own) = (load(document.smooth), load(document.own));
        let (one, floor) = (V::splat(1.0), V::splat(FLOOR));
        let mut total = [V::zero(); N];
        let mut log = Logarithm { sum: 0.0, product: 1.0 };
        let (rows, _) = messages.as_chunks_mut::<N>();
        for (n, ((&w, &count), message)) in document.words.iter().zip(document.counts).zip(rows).enumerate() {
            ask(document, n);
            let row = &document.rows[w as usize * document.stride..][..document.stride];
            let scale = V::splat(document.scales[w as usize]);
            let (mut p, mut z) = ([V::zero(); N], [V::zero(); N]);
            let mut s = V::zero();
            for i in 0..N {
                let phi = V::gather(row.as_ptr().cast(), &document.places[i]).mul(scale);
                p[i] = phi.fma(inverse[i], smooth[i]);
                z[i] = p[i].mul(t[i]);
                s = s.add(z[i]);
            }
            let s = s.sum();
            let x = count as f32;
            let of_theta = V::splat(-document.exclude.0 * x / s);
            let of_phi = V::splat(-document.exclude.1 * document.shares[w as usize] * x / s);
            let mut rest = V::zero();
            for i in 0..N {
                z[i] = z[i].mul(p[i].fma(of_theta, own[i].fma(of_phi, one)).max(floor));
                rest = rest.add(z[i]);
            }
            let r = x / rest.sum();
            if !(r.is_finite() && s > 0.0 && s.is_finite()) {
                return Err(s);
            }
            let r = V::splat(r);
            for i in 0..N {
                let m = z[i].mul(r);
                m.store(&mut message[i]);
                total[i] = total[i].add(m);
            }
            log.times(s, count);
        }
        for i in 0..N {
            total[i].store(&mut sums[i]);
        }
        Ok(log.sum + libm::log(log.product))
    }
}

/// The same for any number of topics.
#[inline(always)]
unsafe fn many<V: Vector>(
    document: &Document<'_>,
    sums: &mut [Lanes],
    messages: Option<&mut [Lanes]>,
    spare: &mut [Lanes],
) -> Result<f64, f32> {
    // SAFETY: see `messages`.
    unsafe {
        let n = document.t.len();
        let (ps, zs) = spare.split_at_mut(n);
        let (sums, zs) = (&mut sums[..n], &mut zs[..n]);
        let (one, floor) = (V::splat(1.0), V::splat(FLOOR));
        let (t, inverse) = (&document.t[..n], &document.inverse[..n]);
        let (smooth, own) = (&document.smooth[..n], &document.own[..n]);
        sums.fill(Lanes::ZERO);
        let mut wanted = messages.map(|rows| rows.chunks_exact_mut(n));
        let mut log = Logarithm { sum: 0.0, product: 1.0 };
        for (i, (&w, &count)) in document.words.iter().zip(document.counts).enumerate() {
            ask(document, i);
            let row = &document.rows[w as usize * document.stride..][..document.stride];
            let scale = V::splat(document.scales[w as usize]);
            let mut s = V::zero();
            if document.places.is_empty() {
                for i in 0..n {
                    let p = V::load(&row[i]).mul(scale).fma(V::load(&inverse[i]), V::load(&smooth[i]));
                    let z = p.mul(V::load(&t[i]));
                    s = s.add(z);
                    p.store(&mut ps[i]);
                    z.store(&mut zs[i]);
                }
            } else {
                for (i, places) in document.places.iter().enumerate() {
                    let phi = V::gather(row.as_ptr().cast(), places).mul(scale);
                    let p = phi.fma(V::load(&inverse[i]), V::load(&smooth[i]));
                    let z = p.mul(V::load(&t[i]));
                    s = s.add(z);
                    p.store(&mut ps[i]);
                    z.store(&mut zs[i]);
                }
            }
            let s = s.sum();
            let x = count as f32;
            let of_theta = V::splat(-document.exclude.0 * x / s);
            let of_phi = V::splat(-document.exclude.1 * document.shares[w as usize] * x / s);
            let mut rest = V::zero();
            for i in 0..n {
                let f = V::load(&ps[i]).fma(of_theta, V::load(&own[i]).fma(of_phi, one)).max(floor);
                let z = V::load(&zs[i]).mul(f);
                rest = rest.add(z);
                z.store(&mut zs[i]);
            }
            let r = x / rest.sum();
            if !(r.is_finite() && s > 0.0 && s.is_finite()) {
                return Err(s);
            }
            let r = V::splat(r);
            if let Some(message) = wanted.as_mut().and_then(Iterator::next) {
                for i in 0..n {
                    let m = V::load(&zs[i]).mul(r);
                    m.store(&mut message[i]);
                    V::load(&sums[i]).add(m).store(&mut sums[i]);
                }
            } else {
                for i in 0..n {
                    V::load(&sums[i]).add(V::load(&zs[i]).mul(r)).store(&mut sums[i]);
                }
            }
            log.times(s, count);
        }
        Ok(log.sum + libm::log(log.product))
    }
}

/// What the word phase needs of a non-zero to make its message again: r, and what is taken out of theta and of phi.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Ratio {
    r: f32,
    of_theta: f32,
    of_phi: f32,
}

/// The most [`Lanes`] of a row for which all topics are gone through at once, those not in use with t = 0: up to there
/// this is faster than picking those in use out of their rows.
pub(crate) const SHORT: usize = 8;

/// What short rows share: phi of word w is `scales[w] * rows[w,:]`, each of N lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Short<'a> {
    pub(crate) inverse: &'a [Lanes],
    pub(crate) smooth: &'a [Lanes],
}

/// The same as [`messages`] for short rows: `document.t` has all topics, and there are no places. Leaves `ratios` in place
/// of the messages.
#[inline(always)]
pub(super) unsafe fn short_messages<V: Vector>(
    document: &Document<'_>,
    sums: &mut [Lanes],
    ratios: &mut [Ratio],
) -> Result<f64, f32> {
    // SAFETY: see `messages`.
    unsafe {
        match document.stride {
            1 => short::<V, 1>(document, sums, ratios),
            2 => short::<V, 2>(document, sums, ratios),
            3 => short::<V, 3>(document, sums, ratios),
            4 => short::<V, 4>(document, sums, ratios),
            5 => short::<V, 5>(document, sums, ratios),
            6 => short::<V, 6>(document, sums, ratios),
            7 => short::<V, 7>(document, sums, ratios),
            _ => short::<V, SHORT>(document, sums, ratios),
        }
    }
}

#[inline(always)]
unsafe fn short<V: Vector, const N: usize>(
    document: &Document<'_>,
    sums: &mut [Lanes],
    ratios: &mut [Ratio],
) -> Result<f64, f32> {
    // SAFETY: see `messages`.
    unsafe {
        let row_of = |row: &[Lanes]| -> [Lanes; N] { std::array::from_fn(|i| row[i]) };
        let (t, inverse) = (row_of(document.t), row_of(document.inverse));
        let (smooth, own) = (row_of(document.smooth), row_of(document.own));
        let (one, floor) = (V::splat(1.0), V::splat(FLOOR));
        let mut total = [Lanes::ZERO; N];
        let mut log = Logarithm { sum: 0.0, product: 1.0 };
        let (rows, _) = document.rows.as_chunks::<N>();
        for (i, ((&w, &count), ratio)) in document.words.iter().zip(document.counts).zip(ratios).enumerate() {
            ask(document, i);
            let row = &rows[w as usize];
            let scale = V::splat(document.scales[w as usize]);
            let (mut p, mut z) = ([V::zero(); N], [V::zero(); N]);
            // Even and odd lanes apart: half the waiting for sums.
            let (mut s0, mut s1) = (V::zero(), V::zero());
            for i in 0..N {
                p[i] = V::load(&row[i]).mul(scale).fma(V::load(&inverse[i]), V::load(&smooth[i]));
                z[i] = p[i].mul(V::load(&t[i]));
                if i % 2 == 0 { s0 = s0.add(z[i]) } else { s1 = s1.add(z[i]) }
            }
            let s = s0.add(s1).sum();
            let x = count as f32;
            let of_theta = -document.exclude.0 * x / s;
            let of_phi = -document.exclude.1 * document.shares[w as usize] * x / s;
            let (share_of_theta, share_of_phi) = (V::splat(of_theta), V::splat(of_phi));
            let (mut rest0, mut rest1) = (V::zero(), V::zero());
            for i in 0..N {
                let f = p[i].fma(share_of_theta, V::load(&own[i]).fma(share_of_phi, one)).max(floor);
                z[i] = z[i].mul(f);
                if i % 2 == 0 { rest0 = rest0.add(z[i]) } else { rest1 = rest1.add(z[i]) }
            }
            let r = x / rest0.add(rest1).sum();
            if !(r.is_finite() && s > 0.0 && s.is_finite()) {
                return Err(s);
            }
            *ratio = Ratio { r, of_theta, of_phi };
            let r = V::splat(r);
            for i in 0..N {
                z[i].fma(r, V::load(&total[i])).store(&mut total[i]);
            }
            log.times(s, count);
        }
        sums[..N].copy_from_slice(&total);
        Ok(log.sum + libm::log(log.product))
    }
}

/// Sets `counts[K]` to the sum of a word's messages in a block, made again: `uses` are (document, non-zero), `t` has a row
/// for every document.
#[inline(always)]
pub(super) unsafe fn short_counts<V: Vector>(
    shared: Short<'_>,
    (row, scale): (&[Lanes], f32),
    uses: &[(u32, u32)],
    (t, ratios): (&[Lanes], &[Ratio]),
    counts: &mut [Lanes],
) {
    // SAFETY: see `messages`.
    unsafe {
        match row.len() {
            1 => counts_of::<V, 1>(shared, (row, scale), uses, (t, ratios), counts),
            2 => counts_of::<V, 2>(shared, (row, scale), uses, (t, ratios), counts),
            3 => counts_of::<V, 3>(shared, (row, scale), uses, (t, ratios), counts),
            4 => counts_of::<V, 4>(shared, (row, scale), uses, (t, ratios), counts),
            5 => counts_of::<V, 5>(shared, (row, scale), uses, (t, ratios), counts),
            6 => counts_of::<V, 6>(shared, (row, scale), uses, (t, ratios), counts),
            7 => counts_of::<V, 7>(shared, (row, scale), uses, (t, ratios), counts),
            _ => counts_of::<V, SHORT>(shared, (row, scale), uses, (t, ratios), counts),
        }
    }
}

#[inline(always)]
unsafe fn counts_of<V: Vector, const N: usize>(
    Short { inverse, smooth }: Short<'_>,
    (row, scale): (&[Lanes], f32),
    uses: &[(u32, u32)],
    (t, ratios): (&[Lanes], &[Ratio]),
    counts: &mut [Lanes],
) {
    // SAFETY: see `messages`.
    unsafe {
        let (scale, one, floor) = (V::splat(scale), V::splat(1.0), V::splat(FLOOR));
        let inverse: [V; N] = std::array::from_fn(|i| V::load(&inverse[i]));
        let p: [V; N] =
            std::array::from_fn(|i| V::load(&row[i]).mul(scale).fma(inverse[i], V::load(&smooth[i])));
        let mut total = [V::zero(); N];
        let (t, _) = t.as_chunks::<N>();
        for &(d, n) in uses {
            let Ratio { r, of_theta, of_phi } = ratios[n as usize];
            let (r, of_theta, of_phi) = (V::splat(r), V::splat(of_theta), V::splat(of_phi));
            let t = &t[d as usize];
            for i in 0..N {
                let t = V::load(&t[i]);
                let f = p[i].fma(of_theta, t.mul(inverse[i]).fma(of_phi, one)).max(floor);
                total[i] = p[i].mul(t).mul(f).fma(r, total[i]);
            }
        }
        for i in 0..N {
            total[i].store(&mut counts[i]);
        }
    }
}
