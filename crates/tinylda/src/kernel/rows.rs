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
