//! The row operations, each written once over any [`Vector`].
//!
//! Every function here is inlined into a caller that has switched the instruction set on.

use super::vector::Vector;
use super::{LANES, Lanes, flat};

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
    pub(crate) theta: &'a [Lanes],
    /// lambda + W*beta as it was, its inverse, and what has been added to it since.
    pub(crate) total: &'a [Lanes],
    pub(crate) inverse: &'a [Lanes],
    pub(crate) change: &'a [Lanes],
    pub(crate) alpha: &'a [Lanes],
    /// W*beta: total less anything's own is not less.
    pub(crate) least: f32,
}

/// Where q is at most this, 1 + q + q^2 + q^3 is 1/(1-q) to the last bit or two: no division is needed.
const SMALL: f32 = 1.0 / 64.0;

/// `eta[K]` = (phi - own + beta) * (theta - own + alpha) / (total + change - own) with own = x * `message[K]`; the sum of eta.
/// What rounding has made negative counts as nothing.
#[inline(always)]
pub(super) unsafe fn exclude<V: Vector>(
    eta: &mut [Lanes],
    rows: Excluded<'_>,
    message: &[Lanes],
    x: f32,
    beta: f32,
) -> f32 {
    // SAFETY: see `dot`.
    unsafe {
        let n = eta.len();
        let (phi, theta, total) = (&rows.phi[..n], &rows.theta[..n], &rows.total[..n]);
        let (inverse, change) = (&rows.inverse[..n], &rows.change[..n]);
        let (alpha, message) = (&rows.alpha[..n], &message[..n]);
        let (x, beta, one, zero) = (V::splat(x), V::splat(beta), V::splat(1.0), V::zero());
        let (mut sum, mut largest) = (zero, zero);
        for i in 0..n {
            let own = V::load(&message[i]).mul(x);
            let phi = V::load(&phi[i]).sub(own).max(zero).add(beta);
            let theta = V::load(&theta[i]).sub(own).max(zero).add(V::load(&alpha[i]));
            let inverse = V::load(&inverse[i]);
            let q = own.sub(V::load(&change[i])).mul(inverse);
            largest = largest.max(q).max(zero.sub(q));
            let series = q.fma(q.fma(q.fma(one, one), one), one);
            let value = phi.mul(theta).mul(inverse).mul(series);
            value.store(&mut eta[i]);
            sum = sum.add(value);
        }
        if largest.more_than(V::splat(SMALL)) == 0 {
            return sum.sum();
        }
        // A message that is a good part of its topic.
        let least = V::splat(rows.least);
        sum = zero;
        for i in 0..n {
            let own = V::load(&message[i]).mul(x);
            let phi = V::load(&phi[i]).sub(own).max(zero).add(beta);
            let theta = V::load(&theta[i]).sub(own).max(zero).add(V::load(&alpha[i]));
            let value = phi.mul(theta).div(V::load(&total[i]).add(V::load(&change[i])).sub(own).max(least));
            value.store(&mut eta[i]);
            sum = sum.add(value);
        }
        sum.sum()
    }
}

/// A message that is renewed at once, and the rows that change with it.
#[derive(Debug)]
pub(crate) struct Swapped<'a> {
    pub(crate) phi: &'a mut [Lanes],
    pub(crate) theta: &'a mut [Lanes],
    pub(crate) change: &'a mut [Lanes],
    pub(crate) message: &'a mut [Lanes],
    /// Scratch.
    pub(crate) eta: &'a mut [Lanes],
}

/// `exclude`, and where the sum is a number `exchange` with 1/sum. Returns the sum.
#[inline(always)]
pub(super) unsafe fn swap<V: Vector>(
    rows: Swapped<'_>,
    fixed: (&[Lanes], &[Lanes], &[Lanes], f32),
    x: f32,
    beta: f32,
) -> f32 {
    // SAFETY: see `dot`.
    unsafe {
        match rows.message.len() {
            2 => swap_few::<V, 2>(rows, fixed, x, beta),
            4 => swap_few::<V, 4>(rows, fixed, x, beta),
            7 => swap_few::<V, 7>(rows, fixed, x, beta),
            _ => swap_many::<V>(rows, fixed, x, beta),
        }
    }
}

/// The same for rows of N, which the compiler can unroll.
#[inline(always)]
unsafe fn swap_few<V: Vector, const N: usize>(
    rows: Swapped<'_>,
    (total, inverse, alpha, least): (&[Lanes], &[Lanes], &[Lanes], f32),
    x: f32,
    beta: f32,
) -> f32 {
    let Swapped { phi, theta, change, message, .. } = rows;
    let mut eta = [Lanes::ZERO; N];
    let rows = Swapped {
        phi: &mut phi[..N],
        theta: &mut theta[..N],
        change: &mut change[..N],
        message: &mut message[..N],
        eta: &mut eta,
    };
    // SAFETY: see `dot`.
    unsafe { swap_many::<V>(rows, (&total[..N], &inverse[..N], &alpha[..N], least), x, beta) }
}

#[inline(always)]
unsafe fn swap_many<V: Vector>(
    rows: Swapped<'_>,
    (total, inverse, alpha, least): (&[Lanes], &[Lanes], &[Lanes], f32),
    x: f32,
    beta: f32,
) -> f32 {
    let Swapped { phi, theta, change, message, eta } = rows;
    let from = Excluded { phi, theta, total, inverse, change, alpha, least };
    // SAFETY: see `dot`.
    unsafe {
        let sum = exclude::<V>(eta, from, message, x, beta);
        let r = 1.0 / sum;
        if r.is_finite() && r > 0.0 {
            exchange::<V>(message, eta, r, x, [phi, theta, change]);
        }
        sum
    }
}

/// `message[K]` = r * `eta[K]`, and x times that is added to `sums[K]`.
#[inline(always)]
pub(super) unsafe fn replace<V: Vector>(
    message: &mut [Lanes],
    eta: &[Lanes],
    r: f32,
    x: f32,
    sums: &mut [Lanes],
) {
    // SAFETY: see `dot`.
    unsafe {
        let (r, x) = (V::splat(r), V::splat(x));
        for ((message, eta), sum) in message.iter_mut().zip(eta).zip(sums) {
            let new = V::load(eta).mul(r);
            new.store(message);
            new.fma(x, V::load(sum)).store(sum);
        }
    }
}

/// `message[K]` becomes r * `eta[K]`, and x times the difference is added to each of the `sums[K]`; the first two do not become
/// negative.
#[inline(always)]
unsafe fn exchange<V: Vector>(message: &mut [Lanes], eta: &[Lanes], r: f32, x: f32, sums: [&mut [Lanes]; 3]) {
    // SAFETY: see `dot`.
    unsafe {
        let (r, x, zero) = (V::splat(r), V::splat(x), V::zero());
        let [a, b, c] = sums;
        let n = message.len();
        let (eta, a, b, c) = (&eta[..n], &mut a[..n], &mut b[..n], &mut c[..n]);
        for i in 0..n {
            let new = V::load(&eta[i]).mul(r);
            let more = new.sub(V::load(&message[i])).mul(x);
            new.store(&mut message[i]);
            V::load(&a[i]).add(more).max(zero).store(&mut a[i]);
            V::load(&b[i]).add(more).max(zero).store(&mut b[i]);
            V::load(&c[i]).add(more).store(&mut c[i]);
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
