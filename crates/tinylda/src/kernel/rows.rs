//! The row operations, each written once over any [`Vector`].
//!
//! Every function here is inlined into a caller that has switched the instruction set on.

use super::Lanes;
use super::vector::Vector;

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

/// `y[K]` += r * `x[K]` and `v[K]` += r * `u[K]`.
#[inline(always)]
pub(super) unsafe fn axpy_two<V: Vector>(r: f32, x: &[Lanes], y: &mut [Lanes], u: &[Lanes], v: &mut [Lanes]) {
    // SAFETY: see `dot`.
    unsafe {
        let r = V::splat(r);
        for ((x, y), (u, v)) in x.iter().zip(y).zip(u.iter().zip(v)) {
            V::load(x).fma(r, V::load(y)).store(y);
            V::load(u).fma(r, V::load(v)).store(v);
        }
    }
}

/// With b = `phi[K]` + beta: (b . t, b*b . u). Even and odd chunks go to accumulators of their own.
#[inline(always)]
pub(super) unsafe fn excluded_sums<V: Vector>(
    phi: &[Lanes],
    beta: f32,
    t: &[Lanes],
    u: &[Lanes],
) -> (f32, f32) {
    // SAFETY: see `dot`.
    unsafe {
        let beta = V::splat(beta);
        let (mut s0, mut s1, mut q0, mut q1) = (V::zero(), V::zero(), V::zero(), V::zero());
        let ((phi_twos, phi_rest), (t_twos, t_rest), (u_twos, u_rest)) =
            (phi.as_chunks::<2>(), t.as_chunks::<2>(), u.as_chunks::<2>());
        for ((phi, t), u) in phi_twos.iter().zip(t_twos).zip(u_twos) {
            let (b0, b1) = (V::load(&phi[0]).add(beta), V::load(&phi[1]).add(beta));
            s0 = b0.fma(V::load(&t[0]), s0);
            s1 = b1.fma(V::load(&t[1]), s1);
            q0 = b0.mul(b0).fma(V::load(&u[0]), q0);
            q1 = b1.mul(b1).fma(V::load(&u[1]), q1);
        }
        for ((phi, t), u) in phi_rest.iter().zip(t_rest).zip(u_rest) {
            let b = V::load(phi).add(beta);
            s0 = b.fma(V::load(t), s0);
            q0 = b.mul(b).fma(V::load(u), q0);
        }
        (s0.add(s1).sum(), q0.add(q1).sum())
    }
}

/// With b = `phi[K]` + beta: `one[K]` += r1 * b and `two[K]` += r2 * b*b.
#[inline(always)]
pub(super) unsafe fn excluded_gather<V: Vector>(
    (r1, r2): (f32, f32),
    phi: &[Lanes],
    beta: f32,
    one: &mut [Lanes],
    two: &mut [Lanes],
) {
    // SAFETY: see `dot`.
    unsafe {
        let (r1, r2, beta) = (V::splat(r1), V::splat(r2), V::splat(beta));
        for ((phi, one), two) in phi.iter().zip(one).zip(two) {
            let b = V::load(phi).add(beta);
            b.fma(r1, V::load(one)).store(one);
            b.mul(b).fma(r2, V::load(two)).store(two);
        }
    }
}

/// `one[K]` += r1 * `t[K]` and `two[K]` += r2 * `t[K]`.
#[inline(always)]
pub(super) unsafe fn spread<V: Vector>(
    (r1, r2): (f32, f32),
    t: &[Lanes],
    one: &mut [Lanes],
    two: &mut [Lanes],
) {
    // SAFETY: see `dot`.
    unsafe {
        let (r1, r2) = (V::splat(r1), V::splat(r2));
        for ((t, one), two) in t.iter().zip(one).zip(two) {
            let t = V::load(t);
            t.fma(r1, V::load(one)).store(one);
            t.fma(r2, V::load(two)).store(two);
        }
    }
}

/// With b = `row[K]` + beta: `one[K]` = max(b * (one - factor * two), 0), factor = b * inverse where `square` is set and
/// `inverse` alone otherwise; returns the sum. The first makes a word's counts, the second a document's.
#[inline(always)]
pub(super) unsafe fn excluded_counts<V: Vector>(
    row: &[Lanes],
    beta: f32,
    square: bool,
    inverse: &[Lanes],
    one: &mut [Lanes],
    two: &[Lanes],
) -> f32 {
    // SAFETY: see `dot`.
    unsafe {
        let (beta, minus) = (V::splat(beta), V::splat(-1.0));
        let mut sum = V::zero();
        for (((row, inverse), one), two) in row.iter().zip(inverse).zip(one).zip(two) {
            let b = V::load(row).add(beta);
            let factor = if square { b.mul(V::load(inverse)) } else { V::load(inverse) };
            let counts = b.mul(factor.mul(V::load(two)).fma(minus, V::load(one))).max(V::zero());
            sum = sum.add(counts);
            counts.store(one);
        }
        sum.sum()
    }
}

/// `t[K]` = (theta + alpha) * inverse and `u[K]` = t * inverse.
/// Number by number, without a sum: whatever the instructions, the compiler may not change the bits; likewise below.
#[inline(always)]
pub(super) fn weigh(theta: &[f32], alpha: &[f32], inverse: &[f32], t: &mut [f32], u: &mut [f32]) {
    let n = theta.len();
    let (alpha, inverse, t, u) = (&alpha[..n], &inverse[..n], &mut t[..n], &mut u[..n]);
    for k in 0..n {
        t[k] = (theta[k] + alpha[k]) * inverse[k];
        u[k] = t[k] * inverse[k];
    }
}

/// `phi[K]` = phi * keep + counts * scale; `delta[K]` += the change.
#[inline(always)]
pub(super) fn renew(phi: &mut [f32], keep: f32, counts: &[f32], scale: f32, delta: &mut [f64]) {
    let n = phi.len();
    let (counts, delta) = (&counts[..n], &mut delta[..n]);
    for k in 0..n {
        let new = phi[k] * keep + counts[k] * scale;
        delta[k] += f64::from(new) - f64::from(phi[k]);
        phi[k] = new;
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
