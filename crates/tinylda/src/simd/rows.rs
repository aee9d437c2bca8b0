//! The row operations, each written once over any [`Vector`].
//!
//! Every function here is inlined into a caller that has switched the instruction set on.

use super::vector::Vector;
use super::{Halves, LANES, Lanes, flat};

/// `a[K]` . `b[K]`. Chunk c of 16 goes to accumulator c mod 4, so four multiply-adds are under way at a time; the
/// accumulators are added as (0+1)+(2+3) and then over their lanes.
///
/// # Safety
/// The processor has V's instructions; likewise below.
#[inline(always)]
pub(super) unsafe fn dot<V: Vector>(a: &[Lanes], b: &[Lanes]) -> f32 {
    // SAFETY: promised by the caller; likewise below.
    unsafe {
        let mut sums = [V::zero(); 4];
        let (a_fours, a_rest) = a.as_chunks::<4>();
        let (b_fours, b_rest) = b.as_chunks::<4>();
        for (x, y) in a_fours.iter().zip(b_fours) {
            for i in 0..4 {
                sums[i] = V::load(&x[i]).fma(V::load(&y[i]), sums[i]);
            }
        }
        for (sum, (x, y)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
            *sum = V::load(x).fma(V::load(y), *sum);
        }
        sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum()
    }
}

/// The sum of `a[K]`, chunks in order.
#[inline(always)]
pub(super) unsafe fn sum<V: Vector>(a: &[Lanes]) -> f32 {
    // SAFETY: see `dot`.
    unsafe { a.iter().fold(V::zero(), |sum, x| sum.add(V::load(x))).sum() }
}

/// `y[K]` += r * `x[K]`.
#[inline(always)]
pub(super) unsafe fn axpy<V: Vector>(r: f32, x: &[Lanes], y: &mut [Lanes]) {
    // SAFETY: see `dot`.
    unsafe {
        let r = V::splat(r);
        for (x, y) in x.iter().zip(y) {
            V::load(x).fma(r, V::load(y)).store(y);
        }
    }
}

/// The same of a message.
#[inline(always)]
pub(super) unsafe fn axpy_halves<V: Vector>(r: f32, x: &[Halves], y: &mut [Lanes]) {
    // SAFETY: see `dot`.
    unsafe {
        let r = V::splat(r / Halves::ONE);
        for (x, y) in x.iter().zip(y) {
            V::load_halves(x).fma(r, V::load(y)).store(y);
        }
    }
}

/// The words of a document, met with t. Returns the sum of r.
#[derive(Debug)]
pub(crate) struct Met<'a> {
    /// Rows of `stride` each, of which words say which.
    pub(crate) rows: &'a [Lanes],
    pub(crate) stride: usize,
    pub(crate) words: &'a [u32],
    pub(crate) counts: &'a [u32],
    pub(crate) t: &'a [Lanes],
    pub(crate) smooth: f32,
    /// Whether r times the rows is wanted, too.
    pub(crate) add: bool,
    /// r of each word comes here.
    pub(crate) r: &'a mut [f32],
}

/// How many words ahead rows are asked for.
const AHEAD: usize = 2;

/// The same of messages, which come from memory in a row.
const MESSAGES_AHEAD: usize = 8;

/// For every word s = `row[K]` . `t[K]` + smooth, as `dot` has it, and r = x/s; r * `row[K]` is added to `acc[K]` where that is wanted. Returns the
/// sum of r, which is no number where one of them is not.
#[inline(always)]
pub(super) unsafe fn absorb<V: Vector>(met: Met<'_>, acc: &mut [Lanes]) -> f32 {
    // SAFETY: see `dot`; the lengths are those of the constants.
    unsafe {
        match met.stride {
            1 => absorb_few::<V, 1>(met, acc),
            2 => absorb_few::<V, 2>(met, acc),
            4 => absorb_few::<V, 4>(met, acc),
            7 => absorb_few::<V, 7>(met, acc),
            _ => absorb_many::<V>(met, acc),
        }
    }
}

#[inline(always)]
unsafe fn absorb_many<V: Vector>(met: Met<'_>, acc: &mut [Lanes]) -> f32 {
    let Met { rows, stride, words, counts, t, smooth, add, r: all } = met;
    let mut sum = 0f32;
    for (i, ((&w, &x), to)) in words.iter().zip(counts).zip(all).enumerate() {
        if let Some(&ahead) = words.get(i + AHEAD) {
            super::prefetch(&rows[ahead as usize * stride..][..stride]);
        }
        let row = &rows[w as usize * stride..][..stride];
        // SAFETY: see `dot`.
        unsafe {
            let r = x as f32 / (dot::<V>(row, t) + smooth);
            if add {
                axpy::<V>(r, row, acc);
            }
            *to = r;
            sum += r;
        }
    }
    sum
}

/// The same with t and acc in registers: rows of N.
#[inline(always)]
unsafe fn absorb_few<V: Vector, const N: usize>(met: Met<'_>, acc: &mut [Lanes]) -> f32 {
    let Met { rows, words, counts, t, smooth, add, r: all, .. } = met;
    let (rows, _) = rows.as_chunks::<N>();
    let (Some(t), Some(acc)) = (t.first_chunk::<N>(), acc.first_chunk_mut::<N>()) else { return f32::NAN };
    // SAFETY: see `dot`.
    unsafe {
        let mut own = [V::zero(); N];
        let mut sums = [V::zero(); N];
        for i in 0..N {
            own[i] = V::load(&t[i]);
            sums[i] = V::load(&acc[i]);
        }
        let mut sum = 0f32;
        for (i, ((&w, &x), to)) in words.iter().zip(counts).zip(all).enumerate() {
            if let Some(&ahead) = words.get(i + AHEAD) {
                super::prefetch(&rows[ahead as usize]);
            }
            let row = &rows[w as usize];
            let mut parts = [V::zero(); 4];
            for c in 0..N {
                parts[c % 4] = V::load(&row[c]).fma(own[c], parts[c % 4]);
            }
            let s = parts[0].add(parts[1]).add(parts[2].add(parts[3])).sum() + smooth;
            let r = x as f32 / s;
            if add {
                let factor = V::splat(r);
                for c in 0..N {
                    sums[c] = V::load(&row[c]).fma(factor, sums[c]);
                }
            }
            *to = r;
            sum += r;
        }
        for i in 0..N {
            sums[i].store(&mut acc[i]);
        }
        sum
    }
}

/// A number of a row: f32, or f64 where sums are too large for that.
pub(crate) trait Cell: Copy {
    fn value(self) -> f64;
    fn new(value: f64) -> Self;
}
impl Cell for f32 {
    #[inline(always)]
    fn value(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn new(value: f64) -> f32 {
        value as f32
    }
}
impl Cell for f64 {
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
    #[inline(always)]
    fn new(value: f64) -> f64 {
        value
    }
}

/// The rows that an asynchronous message changes.
#[derive(Debug)]
pub(crate) struct Rows<'a, C> {
    pub(crate) theta: &'a mut [f64],
    pub(crate) phi: &'a mut [C],
    pub(crate) lambda: &'a mut [f64],
}

/// `theta[K]`, `phi[K]` and `lambda[K]` times their factors, then
/// `eta[K]` = (phi + beta) * (theta + alpha) / (lambda + beta_sum).
/// Number by number, without a sum: whatever the instructions, the compiler may not change the bits.
#[inline(always)]
pub(super) fn fade<C: Cell>(
    eta: &mut [f32],
    rows: Rows<'_, C>,
    (of_theta, of_phi, of_lambda): (f64, f64, f64),
    alpha: &[f32],
    beta: f32,
    beta_sum: f64,
) {
    let Rows { theta, phi, lambda } = rows;
    let n = theta.len();
    let (eta, phi, lambda, alpha) = (&mut eta[..n], &mut phi[..n], &mut lambda[..n], &alpha[..n]);
    for k in 0..n {
        theta[k] *= of_theta;
        phi[k] = C::new(phi[k].value() * of_phi);
        lambda[k] *= of_lambda;
        eta[k] =
            (phi[k].value() as f32 + beta) * (theta[k] as f32 + alpha[k]) / ((lambda[k] + beta_sum) as f32);
    }
}

/// `theta[K]`, `phi[K]` and `lambda[K]` plus r * `eta[K]`.
#[inline(always)]
pub(super) fn deposit<C: Cell>(r: f32, eta: &[f32], rows: Rows<'_, C>) {
    let Rows { theta, phi, lambda } = rows;
    let n = theta.len();
    let (eta, phi, lambda) = (&eta[..n], &mut phi[..n], &mut lambda[..n]);
    for k in 0..n {
        let message = f64::from(r * eta[k]);
        theta[k] += message;
        phi[k] = C::new(phi[k].value() + message);
        lambda[k] += message;
    }
}

/// The rows that a message is made from, in belief propagation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Excluded<'a> {
    pub(crate) phi: &'a [Lanes],
    /// theta + alpha.
    pub(crate) t: &'a [Lanes],
    /// -(lambda + W*beta), and 1/(lambda + W*beta) or near it; -1 and 1 in the padding.
    pub(crate) less: &'a [Lanes],
    pub(crate) inverse: &'a [Lanes],
    /// W*beta: lambda + W*beta without anything's own is not less.
    pub(crate) least: f32,
}

/// Where q is at most this, an inverse is found without a division, to the last bit or two.
const SMALL: f32 = 1.0 / 64.0;

/// What is the same for all topics of a message, whose numbers are as they are kept: times [`Halves::ONE`].
#[derive(Clone, Copy)]
struct Same<V> {
    x: V,
    less_x: V,
    beta: V,
    two: V,
    one: V,
}

impl<V: Vector> Same<V> {
    #[inline(always)]
    unsafe fn new(x: f32, beta: f32) -> Same<V> {
        // SAFETY: see `dot`.
        unsafe {
            let (two, one) = (V::splat(2.0), V::splat(1.0));
            let x = x / Halves::ONE;
            Same { x: V::splat(x), less_x: V::splat(-x), beta: V::splat(beta), two, one }
        }
    }

    /// phi - own + beta with own = x * message.
    #[inline(always)]
    unsafe fn without(self, message: V, phi: V) -> V {
        // SAFETY: see `dot`.
        unsafe { phi.add(message.fma(self.less_x, self.beta)) }
    }

    /// That times theta - own + alpha; t is theta + alpha. What rounding has made negative counts as nothing.
    #[inline(always)]
    unsafe fn above(self, message: V, without: V, t: V) -> V {
        // SAFETY: see `dot`.
        unsafe { without.mul(message.fma(self.less_x, t)).max(V::zero()) }
    }

    /// 1/(total - own) by two steps of Newton's rule from `inverse`, and how near that was: 1 + q^2, with q = 1 - (total - own) * inverse; the
    /// outcome is wrong by a part q^4. `less` is -total.
    #[inline(always)]
    unsafe fn invert(self, message: V, less: V, inverse: V) -> (V, V) {
        // SAFETY: see `dot`.
        unsafe {
            let less = message.fma(self.x, less);
            let inverse = inverse.mul(less.fma(inverse, self.two));
            let near = less.fma(inverse, self.two);
            (inverse.mul(near), near)
        }
    }

    /// The same everywhere.
    #[inline(always)]
    unsafe fn divide(self, message: V, less: V, least: V) -> V {
        // SAFETY: see `dot`.
        unsafe { self.one.div(V::zero().sub(message.fma(self.x, less)).max(least)) }
    }

    /// Whether all were near, of the largest 1 + q^2.
    #[inline(always)]
    unsafe fn near(largest: V) -> bool {
        // SAFETY: see `dot`.
        unsafe { largest.more_than(V::splat(1.0 + SMALL * SMALL)) == 0 }
    }
}

/// The sum of all lanes of the chunks that were added to four sums by turns.
#[inline(always)]
unsafe fn sum_of_four<V: Vector>(sums: [V; 4]) -> f32 {
    // SAFETY: see `dot`.
    unsafe { sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum() }
}

/// `eta[K]` = (phi - own + beta) * (theta - own + alpha) / (total - own) with own = x * `message[K]`; the sum of eta.
#[inline(always)]
pub(super) unsafe fn exclude<V: Vector>(
    eta: &mut [Lanes],
    rows: Excluded<'_>,
    message: &[Halves],
    x: f32,
    beta: f32,
) -> f32 {
    // SAFETY: see `dot`.
    unsafe {
        let n = eta.len();
        let (phi, t) = (&rows.phi[..n], &rows.t[..n]);
        let (less, inverse, message) = (&rows.less[..n], &rows.inverse[..n], &message[..n]);
        let same = Same::<V>::new(x, beta);
        let (mut sums, mut largest) = ([V::zero(); 4], same.one);
        for i in 0..n {
            let message = V::load_halves(&message[i]);
            let above = same.above(message, same.without(message, V::load(&phi[i])), V::load(&t[i]));
            let (inverse, near) = same.invert(message, V::load(&less[i]), V::load(&inverse[i]));
            let value = above.mul(inverse);
            largest = largest.max(near);
            value.store(&mut eta[i]);
            sums[i % 4] = sums[i % 4].add(value);
        }
        if Same::near(largest) {
            return sum_of_four(sums);
        }
        // A message that is a good part of its topic.
        let least = V::splat(rows.least);
        sums = [V::zero(); 4];
        for i in 0..n {
            let message = V::load_halves(&message[i]);
            let above = same.above(message, same.without(message, V::load(&phi[i])), V::load(&t[i]));
            let value = above.mul(same.divide(message, V::load(&less[i]), least));
            value.store(&mut eta[i]);
            sums[i % 4] = sums[i % 4].add(value);
        }
        sum_of_four(sums)
    }
}

/// Messages that are renewed one after the other, and the rows that change with them.
#[derive(Debug)]
pub(crate) struct Renewed<'a> {
    /// Rows of `stride` each, of which words say which.
    pub(crate) phi: &'a mut [Lanes],
    pub(crate) stride: usize,
    pub(crate) words: &'a [u32],
    pub(crate) counts: &'a [u32],
    /// A row for every word.
    pub(crate) messages: &'a mut [Halves],
    /// As in [`Excluded`].
    pub(crate) t: &'a mut [Lanes],
    pub(crate) less: &'a mut [Lanes],
    /// Scratch.
    pub(crate) eta: &'a mut [Lanes],
    pub(crate) inverse: &'a [Lanes],
    pub(crate) least: f32,
    pub(crate) beta: f32,
}

/// What eta is multiplied with to be a message, where its sum is a usable number.
#[inline(always)]
fn factor(sum: f32) -> Result<f32, f32> {
    let r = Halves::ONE / sum;
    if r > 0.0 && r < f32::INFINITY { Ok(r) } else { Err(sum) }
}

/// For every word `exclude`, then `message[K]` becomes eta/sum(eta), rounded to 16 bits, and x times what it has changed by is
/// added to phi, t and lambda; phi does not become negative. Stops at a sum that is no usable number, and returns it.
#[inline(always)]
pub(super) unsafe fn renew<V: Vector>(rows: Renewed<'_>) -> Result<(), f32> {
    // SAFETY: see `dot`; the lengths are those of the constants.
    unsafe {
        match rows.stride {
            1 => renew_few::<V, 1>(rows),
            2 => renew_few::<V, 2>(rows),
            4 => renew_few::<V, 4>(rows),
            7 => renew_few::<V, 7>(rows),
            _ => renew_many::<V>(rows),
        }
    }
}

#[inline(always)]
unsafe fn renew_many<V: Vector>(rows: Renewed<'_>) -> Result<(), f32> {
    let Renewed { phi: all, stride, words, counts, messages, t, less, eta, inverse, least, beta } = rows;
    for (i, (&w, &x)) in words.iter().zip(counts).enumerate() {
        if let Some(&ahead) = words.get(i + AHEAD) {
            super::prefetch(&all[ahead as usize * stride..][..stride]);
        }
        let phi = &mut all[w as usize * stride..][..stride];
        let message = &mut messages[i * stride..][..stride];
        let from = Excluded { phi, t, less, inverse, least };
        // SAFETY: see `dot`.
        unsafe {
            let sum = exclude::<V>(eta, from, message, x as f32, beta);
            let (r, same) = (V::splat(factor(sum)?), Same::<V>::new(x as f32, beta));
            for c in 0..stride {
                let (old, new) = (V::load_halves(&message[c]), V::load(&eta[c]).mul(r).shorten());
                new.store_halves(&mut message[c]);
                let more = new.sub(old);
                more.fma(same.x, V::load(&phi[c])).max(V::zero()).store(&mut phi[c]);
                more.fma(same.x, V::load(&t[c])).store(&mut t[c]);
                more.fma(same.less_x, V::load(&less[c])).store(&mut less[c]);
            }
        }
    }
    Ok(())
}

/// Word i's message as it is, and phi + beta without it; zeros behind the last word.
#[inline(always)]
unsafe fn begin<V: Vector, const N: usize>(
    all: &[[Lanes; N]],
    messages: &[[Halves; N]],
    (words, counts): (&[u32], &[u32]),
    i: usize,
    beta: f32,
) -> ([V; N], [V; N]) {
    // SAFETY: see `dot`.
    unsafe {
        let (mut old, mut phis) = ([V::zero(); N], [V::zero(); N]);
        if let (Some(&w), Some(&x), Some(message)) = (words.get(i), counts.get(i), messages.get(i)) {
            let (phi, same) = (&all[w as usize], Same::<V>::new(x as f32, beta));
            for c in 0..N {
                old[c] = V::load_halves(&message[c]);
                phis[c] = same.without(old[c], V::load(&phi[c]));
            }
        }
        (old, phis)
    }
}

/// The same with t, less and eta in registers: rows of N.
#[inline(always)]
unsafe fn renew_few<V: Vector, const N: usize>(rows: Renewed<'_>) -> Result<(), f32> {
    let Renewed { phi, words, counts, messages, t: own_t, less: own_less, beta, .. } = rows;
    let (all, _) = phi.as_chunks_mut::<N>();
    let (messages, _) = messages.as_chunks_mut::<N>();
    let Some(inverse) = rows.inverse.first_chunk::<N>() else { return Err(f32::NAN) };
    // SAFETY: see `dot`.
    unsafe {
        let (mut t, mut less) = ([V::zero(); N], [V::zero(); N]);
        for c in 0..N {
            t[c] = V::load(&own_t[c]);
            less[c] = V::load(&own_less[c]);
        }
        let mut bad = Ok(());
        // What does not depend on t and less is done a word ahead, while the sum of the one before is under way: a document has a
        // word once, so its row does not change meanwhile.
        let (mut old, mut phis) = begin::<V, N>(all, messages, (words, counts), 0, beta);
        for (i, (&w, &x)) in words.iter().zip(counts).enumerate() {
            if let Some(&ahead) = words.get(i + AHEAD) {
                super::prefetch(&all[ahead as usize]);
            }
            // Messages come in a row, but the processor does not look past the end of a page.
            if let Some(ahead) = messages.get(i + MESSAGES_AHEAD) {
                ahead.iter().step_by(2).for_each(super::prefetch_line);
            }
            let same = Same::<V>::new(x as f32, beta);
            let (mut sums, mut largest) = ([V::zero(); 4], same.one);
            let mut eta = [V::zero(); N];
            for c in 0..N {
                let above = same.above(old[c], phis[c], t[c]);
                let (inverse, near) = same.invert(old[c], less[c], V::load(&inverse[c]));
                largest = largest.max(near);
                eta[c] = above.mul(inverse);
                sums[c % 4] = if c < 4 { eta[c] } else { sums[c % 4].add(eta[c]) };
            }
            if !Same::near(largest) {
                let least = V::splat(rows.least);
                sums = [V::zero(); 4];
                for c in 0..N {
                    let above = same.above(old[c], phis[c], t[c]);
                    eta[c] = above.mul(same.divide(old[c], less[c], least));
                    sums[c % 4] = sums[c % 4].add(eta[c]);
                }
            }
            let next = begin::<V, N>(all, messages, (words, counts), i + 1, beta);
            let sum = sum_of_four(sums);
            let r = match factor(sum) {
                Ok(r) => V::splat(r),
                Err(sum) => {
                    bad = Err(sum);
                    break;
                }
            };
            let (phi, message) = (&mut all[w as usize], &mut messages[i]);
            for c in 0..N {
                let new = eta[c].mul(r).shorten();
                let more = new.sub(old[c]);
                t[c] = more.fma(same.x, t[c]);
                less[c] = more.fma(same.less_x, less[c]);
                new.store_halves(&mut message[c]);
                more.fma(same.x, V::load(&phi[c])).max(V::zero()).store(&mut phi[c]);
            }
            (old, phis) = next;
        }
        for c in 0..N {
            t[c].store(&mut own_t[c]);
            less[c].store(&mut own_less[c]);
        }
        bad
    }
}

/// `message[K]` = r * `eta[K]`, rounded to 16 bits, and x times that is added to `sums[K]`.
#[inline(always)]
pub(super) unsafe fn replace<V: Vector>(
    message: &mut [Halves],
    eta: &[Lanes],
    r: f32,
    x: f32,
    sums: &mut [Lanes],
) {
    // SAFETY: see `dot`.
    unsafe {
        let (r, x) = (V::splat(r * Halves::ONE), V::splat(x / Halves::ONE));
        for ((message, eta), sum) in message.iter_mut().zip(eta).zip(sums) {
            let new = V::load(eta).mul(r).shorten();
            new.store_halves(message);
            new.fma(x, V::load(sum)).store(sum);
        }
    }
}

/// A token that a topic is drawn for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    /// The topic it has,
    pub(crate) own: usize,
    /// and what that weighs without the token itself.
    pub(crate) weight: f32,
    /// From 0 to below 1.
    pub(crate) u: f32,
}

/// One in one lane.
const ONE: [Lanes; LANES] = {
    let mut all = [Lanes::ZERO; LANES];
    let mut i = 0;
    while i < LANES {
        all[i].0[i] = 1.0;
        i += 1;
    }
    all
};

/// Draws a topic with weights (phi + beta) * t, but that of the token's own topic as given; and the sum of all weights with the
/// token in them. The order of topics is that of lanes: all of lane 0, then all of lane 1, ...: so most of it is done for
/// sixteen at a time.
#[inline(always)]
pub(super) unsafe fn draw<V: Vector>(
    phi: &[Lanes],
    t: &[Lanes],
    beta: f32,
    token: Token,
    weights: &mut [Lanes],
) -> (usize, f32) {
    // SAFETY: see `dot`.
    unsafe {
        let n = weights.len();
        let (phi, t) = (&phi[..n], &t[..n]);
        let smooth = V::splat(beta);
        let mut sums = V::zero();
        for i in 0..n {
            let one = V::load(&phi[i]).add(smooth).mul(V::load(&t[i]));
            one.store(&mut weights[i]);
            sums = sums.add(one);
        }
        let Token { own, weight, u } = token;
        let (at, lane) = (own / LANES, own % LANES);
        let whole = sums.sum();
        let with = (flat(phi)[own] + beta) * flat(t)[own];
        let less = V::load(&ONE[lane]).mul(V::splat(with - weight));
        let running = sums.sub(less).max(V::zero()).running_sum();
        let mut up_to = Lanes::ZERO;
        running.store(&mut up_to);
        let target = up_to.0[LANES - 1] * u;
        let found = running.more_than(V::splat(target)).trailing_zeros() as usize;
        if found >= LANES {
            return (own, whole);
        }
        let mut rest = if found == 0 { target } else { target - up_to.0[found - 1] };
        let mut last = own;
        for (i, some) in weights.iter().enumerate() {
            let one = if found == lane && i == at { weight } else { some.0[found] };
            if one > 0.0 {
                last = i * LANES + found;
                if rest < one {
                    break;
                }
                rest -= one;
            }
        }
        (last, whole)
    }
}

/// exp(x), to a few units in the last place; nothing below -57, so that products with it stay in the range where a processor
/// is fast.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let clamped = x.clamp(-57.0, 88.0);
    let n = (clamped * std::f32::consts::LOG2_E).round_ties_even();
    // ln 2 in two parts, so that what is left is exact.
    let rest = (-n).mul_add(1.428_606_8e-6, (-n).mul_add(0.693_145_75, clamped));
    let mut p = 1.987_569_1e-4f32;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5] {
        p = p.mul_add(rest, c);
    }
    let p = p.mul_add(rest * rest, rest) + 1.0;
    let power = f32::from_bits(((n as i32 + 127) as u32) << 23);
    if x < -57.0 { 0.0 } else { p * power }
}

/// psi(x) - ln(x+6) for x > 0, psi the digamma function: psi(x) = psi(x+6) - sum 1/(x+i), and for y = x+6
/// psi(y) = ln y - 1/2y - 1/12y^2 + 1/120y^4 - ...; so that exp(psi(x)) needs no logarithm.
#[inline(always)]
pub(crate) fn digamma_less_log(x: f32) -> f32 {
    // x(x+5), (x+1)(x+4) and (x+2)(x+3) are u, u+4 and u+6.
    let u = x * (x + 5.0);
    let steps = 2.0f32.mul_add(x, 5.0) * (1.0 / u + 1.0 / (u + 4.0) + 1.0 / (u + 6.0));
    let inverse = 1.0 / (x + 6.0);
    let square = inverse * inverse;
    let tail = square.mul_add(square.mul_add(-1.0 / 252.0, 1.0 / 120.0), -1.0 / 12.0);
    square.mul_add(tail, -0.5 * inverse) - steps
}

/// exp(psi(x) + shift) for x > 0.
#[inline(always)]
pub(crate) fn exp_digamma_of(x: f32, shift: f32) -> f32 {
    (x + 6.0) * exp(digamma_less_log(x) + shift)
}

/// `out[K]` = exp(psi(`values[K]` + `more[K]`) + shift) * `factors[K]`. Number by number, as `fade`.
#[inline(always)]
pub(super) fn exp_digamma(values: &[f32], more: &[f32], shift: f32, factors: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (values, more, factors) = (&values[..n], &more[..n], &factors[..n]);
    for k in 0..n {
        out[k] = exp_digamma_of(values[k] + more[k], shift) * factors[k];
    }
}
