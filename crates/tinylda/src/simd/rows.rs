//! The kernels of the dense algorithms, each written once over any [`Vector`].
//!
//! Every function here is inlined into a caller that has enabled the instruction set.

use super::vector::Vector;
use super::{Halves, LANES, Lanes, flat};

/// Returns the dot product of `a[K]` and `b[K]`. Chunk c of 16 numbers is added to accumulator c
/// mod 4, so that four multiply-adds are in flight at a time. The accumulators are added as
/// (0+1)+(2+3) and then over their lanes.
///
/// # Safety
/// The processor has V's instructions. The same requirement applies to all functions below.
#[inline(always)]
pub(super) unsafe fn dot<V: Vector>(a: &[Lanes], b: &[Lanes]) -> f32 {
    // SAFETY: promised by the caller. The same holds for all functions below.
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

/// Returns the sum of `a[K]`, adding chunks in order.
#[inline(always)]
pub(super) unsafe fn sum<V: Vector>(a: &[Lanes]) -> f32 {
    // SAFETY: see `dot`.
    unsafe { a.iter().fold(V::zero(), |sum, x| sum.add(V::load(x))).sum() }
}

/// Adds r * `x[K]` to `y[K]`.
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

/// Adds r * `x[K]` to `y[K]`, for a message x in 16-bit floats.
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

/// Input of [`accumulate_words`]: the words of a document, their rows, and t.
#[derive(Debug)]
pub(crate) struct WordRows<'a> {
    /// Rows of `stride` lanes each, indexed by word.
    pub(crate) rows: &'a [Lanes],
    /// Number of [`Lanes`] per row.
    pub(crate) stride: usize,
    pub(crate) words: &'a [u32],
    pub(crate) counts: &'a [u32],
    pub(crate) t: &'a [Lanes],
    pub(crate) smooth: f32,
    /// Whether r times the rows is accumulated.
    pub(crate) add: bool,
    /// Receives r of each word.
    pub(crate) r: &'a mut [f32],
}

/// Number of words by which rows are prefetched ahead.
const AHEAD: usize = 2;

/// Number of words by which messages, which are consecutive in memory, are prefetched ahead.
const MESSAGES_AHEAD: usize = 8;

/// For every word: computes s = `row[K]` . `t[K]` + smooth, as [`dot`] does, and r = x/s; adds r *
/// `row[K]` to `acc[K]` if `add` is set. Returns the sum of r, which is not finite if any r is not.
#[inline(always)]
pub(super) unsafe fn accumulate_words<V: Vector>(input: WordRows<'_>, acc: &mut [Lanes]) -> f32 {
    // SAFETY: see `dot`; the lengths are those of the constants.
    unsafe {
        match input.stride {
            1 => accumulate_words_fixed::<V, 1>(input, acc),
            2 => accumulate_words_fixed::<V, 2>(input, acc),
            4 => accumulate_words_fixed::<V, 4>(input, acc),
            7 => accumulate_words_fixed::<V, 7>(input, acc),
            _ => accumulate_words_any::<V>(input, acc),
        }
    }
}

/// Implements [`accumulate_words`] for rows of any length.
#[inline(always)]
unsafe fn accumulate_words_any<V: Vector>(input: WordRows<'_>, acc: &mut [Lanes]) -> f32 {
    let WordRows { rows, stride, words, counts, t, smooth, add, r: all } = input;
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

/// Implements [`accumulate_words`] for rows of N lanes, with t and acc in registers.
#[inline(always)]
unsafe fn accumulate_words_fixed<V: Vector, const N: usize>(input: WordRows<'_>, acc: &mut [Lanes]) -> f32 {
    let WordRows { rows, words, counts, t, smooth, add, r: all, .. } = input;
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

/// A number of a row of phi: f32, or f64 if sums are too large for f32.
pub(crate) trait PhiCell: Copy {
    fn value(self) -> f64;
    fn new(value: f64) -> Self;
}
impl PhiCell for f32 {
    #[inline(always)]
    fn value(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn new(value: f64) -> f32 {
        value as f32
    }
}
impl PhiCell for f64 {
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
pub(crate) struct AsyncRows<'a, C> {
    pub(crate) theta: &'a mut [f64],
    pub(crate) phi: &'a mut [C],
    pub(crate) lambda: &'a mut [f64],
}

/// Multiplies `theta[K]`, `phi[K]` and `lambda[K]` by their factors, then sets `eta[K]` = (phi +
/// beta) * (theta + alpha) / (lambda + beta_sum).
///
/// Every number is computed separately and nothing is summed, so the compiler may not change the
/// bits, whatever the instructions.
#[inline(always)]
pub(super) fn decay<C: PhiCell>(
    eta: &mut [f32],
    rows: AsyncRows<'_, C>,
    (of_theta, of_phi, of_lambda): (f64, f64, f64),
    alpha: &[f32],
    beta: f32,
    beta_sum: f64,
) {
    let AsyncRows { theta, phi, lambda } = rows;
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

/// Adds r * `eta[K]` to `theta[K]`, `phi[K]` and `lambda[K]`.
#[inline(always)]
pub(super) fn add_message<C: PhiCell>(r: f32, eta: &[f32], rows: AsyncRows<'_, C>) {
    let AsyncRows { theta, phi, lambda } = rows;
    let n = theta.len();
    let (eta, phi, lambda) = (&eta[..n], &mut phi[..n], &mut lambda[..n]);
    for k in 0..n {
        let message = f64::from(r * eta[k]);
        theta[k] += message;
        phi[k] = C::new(phi[k].value() + message);
        lambda[k] += message;
    }
}

/// The rows from which belief propagation computes a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExclusionRows<'a> {
    pub(crate) phi: &'a [Lanes],
    /// theta + alpha.
    pub(crate) t: &'a [Lanes],
    /// -(lambda + W*beta); -1 in the padding.
    pub(crate) negative_total: &'a [Lanes],
    /// 1/(lambda + W*beta), or an approximation of it; 1 in the padding.
    pub(crate) inverse: &'a [Lanes],
    /// W*beta: the smallest possible value of lambda + W*beta without the word's own message.
    pub(crate) least: f32,
}

/// Largest q at which an inverse is computed without a division. The result is then exact to the
/// last bit or two.
const SMALL: f32 = 1.0 / 64.0;

/// The constants of a message update. Messages are scaled by [`Halves::ONE`], as they are stored,
/// and so x is divided by it.
#[derive(Clone, Copy)]
struct MessageConstants<V> {
    x: V,
    negative_x: V,
    beta: V,
    two: V,
    one: V,
}

impl<V: Vector> MessageConstants<V> {
    #[inline(always)]
    unsafe fn new(x: f32, beta: f32) -> MessageConstants<V> {
        // SAFETY: see `dot`.
        unsafe {
            let (two, one) = (V::splat(2.0), V::splat(1.0));
            let x = x / Halves::ONE;
            MessageConstants { x: V::splat(x), negative_x: V::splat(-x), beta: V::splat(beta), two, one }
        }
    }

    /// Returns phi - own + beta with own = x * message.
    #[inline(always)]
    unsafe fn without(self, message: V, phi: V) -> V {
        // SAFETY: see `dot`.
        unsafe { phi.add(message.fma(self.negative_x, self.beta)) }
    }

    /// Returns `without` times (theta - own + alpha), where t is theta + alpha. Values that
    /// rounding has made negative become 0.
    #[inline(always)]
    unsafe fn above(self, message: V, without: V, t: V) -> V {
        // SAFETY: see `dot`.
        unsafe { without.mul(message.fma(self.negative_x, t)).max(V::zero()) }
    }

    /// Computes 1/(total - own) by two Newton iterations from `inverse`. Returns it with a measure
    /// of the distance of `inverse`: 1 + q^2, where q = 1 - (total - own) * inverse. The relative
    /// error of the result is q^4. `negative_total` is -total.
    #[inline(always)]
    unsafe fn invert(self, message: V, negative_total: V, inverse: V) -> (V, V) {
        // SAFETY: see `dot`.
        unsafe {
            let negative_total = message.fma(self.x, negative_total);
            let inverse = inverse.mul(negative_total.fma(inverse, self.two));
            let near = negative_total.fma(inverse, self.two);
            (inverse.mul(near), near)
        }
    }

    /// Computes 1/(total - own) by a division, with total - own at least `least`.
    #[inline(always)]
    unsafe fn divide(self, message: V, negative_total: V, least: V) -> V {
        // SAFETY: see `dot`.
        unsafe { self.one.div(V::zero().sub(message.fma(self.x, negative_total)).max(least)) }
    }

    /// Returns whether all inverses were close enough for [`MessageConstants::invert`], given the
    /// largest 1 + q^2.
    #[inline(always)]
    unsafe fn near(largest: V) -> bool {
        // SAFETY: see `dot`.
        unsafe { largest.gt_mask(V::splat(1.0 + SMALL * SMALL)) == 0 }
    }
}

/// Returns the sum of four accumulators, over all lanes.
#[inline(always)]
unsafe fn sum_of_four<V: Vector>(sums: [V; 4]) -> f32 {
    // SAFETY: see `dot`.
    unsafe { sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum() }
}

/// Sets `eta[K]` = (phi - own + beta) * (theta - own + alpha) / (total - own) with own = x *
/// `message[K]`. Returns the sum of eta.
#[inline(always)]
pub(super) unsafe fn exclude<V: Vector>(
    eta: &mut [Lanes],
    rows: ExclusionRows<'_>,
    message: &[Halves],
    x: f32,
    beta: f32,
) -> f32 {
    // SAFETY: see `dot`.
    unsafe {
        let n = eta.len();
        let (phi, t) = (&rows.phi[..n], &rows.t[..n]);
        let (negative_total, inverse, message) =
            (&rows.negative_total[..n], &rows.inverse[..n], &message[..n]);
        let constants = MessageConstants::<V>::new(x, beta);
        let (mut sums, mut largest) = ([V::zero(); 4], constants.one);
        for i in 0..n {
            let message = V::load_halves(&message[i]);
            let above =
                constants.above(message, constants.without(message, V::load(&phi[i])), V::load(&t[i]));
            let (inverse, near) =
                constants.invert(message, V::load(&negative_total[i]), V::load(&inverse[i]));
            let value = above.mul(inverse);
            largest = largest.max(near);
            value.store(&mut eta[i]);
            sums[i % 4] = sums[i % 4].add(value);
        }
        if MessageConstants::near(largest) {
            return sum_of_four(sums);
        }
        // Some message is a large part of its topic: divide instead.
        let least = V::splat(rows.least);
        sums = [V::zero(); 4];
        for i in 0..n {
            let message = V::load_halves(&message[i]);
            let above =
                constants.above(message, constants.without(message, V::load(&phi[i])), V::load(&t[i]));
            let value = above.mul(constants.divide(message, V::load(&negative_total[i]), least));
            value.store(&mut eta[i]);
            sums[i % 4] = sums[i % 4].add(value);
        }
        sum_of_four(sums)
    }
}

/// Input of [`update_messages`]: messages that are updated one after the other, and the rows that
/// change with them.
#[derive(Debug)]
pub(crate) struct MessageUpdate<'a> {
    /// Rows of `stride` lanes each, indexed by word.
    pub(crate) phi: &'a mut [Lanes],
    /// Number of [`Lanes`] per row.
    pub(crate) stride: usize,
    pub(crate) words: &'a [u32],
    pub(crate) counts: &'a [u32],
    /// Messages, one row per word.
    pub(crate) messages: &'a mut [Halves],
    /// theta + alpha, as in [`ExclusionRows`].
    pub(crate) t: &'a mut [Lanes],
    /// -(lambda + W*beta), as in [`ExclusionRows`].
    pub(crate) negative_total: &'a mut [Lanes],
    /// Scratch.
    pub(crate) eta: &'a mut [Lanes],
    pub(crate) inverse: &'a [Lanes],
    pub(crate) least: f32,
    pub(crate) beta: f32,
}

/// Returns the factor that turns eta into a message, or `sum` if it is not a positive finite number
/// with a finite inverse.
#[inline(always)]
fn message_factor(sum: f32) -> Result<f32, f32> {
    let r = Halves::ONE / sum;
    if r > 0.0 && r < f32::INFINITY { Ok(r) } else { Err(sum) }
}

/// For every word: computes eta as [`exclude`] does, sets `message[K]` to eta/sum(eta), rounded to
/// 16-bit floats, and adds x times the change of the message to phi, t and lambda. phi does not
/// become negative. Stops at the first sum that is not usable and returns it as the error.
#[inline(always)]
pub(super) unsafe fn update_messages<V: Vector>(rows: MessageUpdate<'_>) -> Result<(), f32> {
    // SAFETY: see `dot`; the lengths are those of the constants.
    unsafe {
        match rows.stride {
            1 => update_messages_fixed::<V, 1>(rows),
            2 => update_messages_fixed::<V, 2>(rows),
            4 => update_messages_fixed::<V, 4>(rows),
            7 => update_messages_fixed::<V, 7>(rows),
            _ => update_messages_any::<V>(rows),
        }
    }
}

/// Implements [`update_messages`] for rows of any length.
#[inline(always)]
unsafe fn update_messages_any<V: Vector>(rows: MessageUpdate<'_>) -> Result<(), f32> {
    let MessageUpdate {
        phi: all,
        stride,
        words,
        counts,
        messages,
        t,
        negative_total,
        eta,
        inverse,
        least,
        beta,
    } = rows;
    for (i, (&w, &x)) in words.iter().zip(counts).enumerate() {
        if let Some(&ahead) = words.get(i + AHEAD) {
            super::prefetch(&all[ahead as usize * stride..][..stride]);
        }
        let phi = &mut all[w as usize * stride..][..stride];
        let message = &mut messages[i * stride..][..stride];
        let from = ExclusionRows { phi, t, negative_total, inverse, least };
        // SAFETY: see `dot`.
        unsafe {
            let sum = exclude::<V>(eta, from, message, x as f32, beta);
            let (r, constants) = (V::splat(message_factor(sum)?), MessageConstants::<V>::new(x as f32, beta));
            for c in 0..stride {
                let (old, new) = (V::load_halves(&message[c]), V::load(&eta[c]).mul(r).round_to_11_bits());
                new.store_halves(&mut message[c]);
                let more = new.sub(old);
                more.fma(constants.x, V::load(&phi[c])).max(V::zero()).store(&mut phi[c]);
                more.fma(constants.x, V::load(&t[c])).store(&mut t[c]);
                more.fma(constants.negative_x, V::load(&negative_total[c])).store(&mut negative_total[c]);
            }
        }
    }
    Ok(())
}

/// Returns the current message of word i, and phi + beta without it; zeros past the last word.
#[inline(always)]
unsafe fn load_word<V: Vector, const N: usize>(
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
            let (phi, constants) = (&all[w as usize], MessageConstants::<V>::new(x as f32, beta));
            for c in 0..N {
                old[c] = V::load_halves(&message[c]);
                phis[c] = constants.without(old[c], V::load(&phi[c]));
            }
        }
        (old, phis)
    }
}

/// Implements [`update_messages`] for rows of N lanes, with t, negative_total and eta in registers.
#[inline(always)]
unsafe fn update_messages_fixed<V: Vector, const N: usize>(rows: MessageUpdate<'_>) -> Result<(), f32> {
    let MessageUpdate {
        phi,
        words,
        counts,
        messages,
        t: own_t,
        negative_total: own_negative_total,
        beta,
        ..
    } = rows;
    let (all, _) = phi.as_chunks_mut::<N>();
    let (messages, _) = messages.as_chunks_mut::<N>();
    let Some(inverse) = rows.inverse.first_chunk::<N>() else { return Err(f32::NAN) };
    // SAFETY: see `dot`.
    unsafe {
        let (mut t, mut negative_total) = ([V::zero(); N], [V::zero(); N]);
        for c in 0..N {
            t[c] = V::load(&own_t[c]);
            negative_total[c] = V::load(&own_negative_total[c]);
        }
        let mut bad = Ok(());
        // What does not depend on t and negative_total is computed one word ahead, while the sum of
        // the current word is in flight. A word occurs once in a document, so its row does not
        // change meanwhile.
        let (mut old, mut phis) = load_word::<V, N>(all, messages, (words, counts), 0, beta);
        for (i, (&w, &x)) in words.iter().zip(counts).enumerate() {
            if let Some(&ahead) = words.get(i + AHEAD) {
                super::prefetch(&all[ahead as usize]);
            }
            // Messages are consecutive in memory, but hardware prefetching stops at page
            // boundaries.
            if let Some(ahead) = messages.get(i + MESSAGES_AHEAD) {
                ahead.iter().step_by(2).for_each(super::prefetch_line);
            }
            let constants = MessageConstants::<V>::new(x as f32, beta);
            let (mut sums, mut largest) = ([V::zero(); 4], constants.one);
            let mut eta = [V::zero(); N];
            for c in 0..N {
                let above = constants.above(old[c], phis[c], t[c]);
                let (inverse, near) = constants.invert(old[c], negative_total[c], V::load(&inverse[c]));
                largest = largest.max(near);
                eta[c] = above.mul(inverse);
                sums[c % 4] = if c < 4 { eta[c] } else { sums[c % 4].add(eta[c]) };
            }
            if !MessageConstants::near(largest) {
                let least = V::splat(rows.least);
                sums = [V::zero(); 4];
                for c in 0..N {
                    let above = constants.above(old[c], phis[c], t[c]);
                    eta[c] = above.mul(constants.divide(old[c], negative_total[c], least));
                    sums[c % 4] = sums[c % 4].add(eta[c]);
                }
            }
            let next = load_word::<V, N>(all, messages, (words, counts), i + 1, beta);
            let sum = sum_of_four(sums);
            let r = match message_factor(sum) {
                Ok(r) => V::splat(r),
                Err(sum) => {
                    bad = Err(sum);
                    break;
                }
            };
            let (phi, message) = (&mut all[w as usize], &mut messages[i]);
            for c in 0..N {
                let new = eta[c].mul(r).round_to_11_bits();
                let more = new.sub(old[c]);
                t[c] = more.fma(constants.x, t[c]);
                negative_total[c] = more.fma(constants.negative_x, negative_total[c]);
                new.store_halves(&mut message[c]);
                more.fma(constants.x, V::load(&phi[c])).max(V::zero()).store(&mut phi[c]);
            }
            (old, phis) = next;
        }
        for c in 0..N {
            t[c].store(&mut own_t[c]);
            negative_total[c].store(&mut own_negative_total[c]);
        }
        bad
    }
}

/// Sets `message[K]` = r * `eta[K]`, rounded to 16-bit floats, and adds x times the message to
/// `sums[K]`.
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
            let new = V::load(eta).mul(r).round_to_11_bits();
            new.store_halves(message);
            new.fma(x, V::load(sum)).store(sum);
        }
    }
}

/// A token for which a topic is sampled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    /// The current topic of the token.
    pub(crate) own: usize,
    /// Weight of the current topic without the token itself.
    pub(crate) weight: f32,
    /// Uniform random number in [0, 1).
    pub(crate) u: f32,
}

/// Unit vectors: row i has a one in lane i.
const UNIT_VECTORS: [Lanes; LANES] = {
    let mut all = [Lanes::ZERO; LANES];
    let mut i = 0;
    while i < LANES {
        all[i].0[i] = 1.0;
        i += 1;
    }
    all
};

/// Samples a topic with weights (phi + beta) * t, except that the token's own topic has the given
/// weight. Returns the topic and the sum of all weights with the token included.
///
/// Topics are ordered by lane for this: all topics in lane 0, then all in lane 1, and so on. Most
/// of the work is then done for sixteen topics at a time.
#[inline(always)]
pub(super) unsafe fn sample_topic<V: Vector>(
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
        let excess = V::load(&UNIT_VECTORS[lane]).mul(V::splat(with - weight));
        let running = sums.sub(excess).max(V::zero()).running_sum();
        let mut up_to = Lanes::ZERO;
        running.store(&mut up_to);
        let target = up_to.0[LANES - 1] * u;
        let found = running.gt_mask(V::splat(target)).trailing_zeros() as usize;
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

/// Returns exp(x), exact to a few units in the last place. Returns 0 below -57, so that products
/// with the result do not become subnormal, where processors are slow.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let clamped = x.clamp(-57.0, 88.0);
    let n = (clamped * std::f32::consts::LOG2_E).round_ties_even();
    // ln 2 in two parts, so that the remainder is exact.
    let rest = (-n).mul_add(1.428_606_8e-6, (-n).mul_add(0.693_145_75, clamped));
    let mut p = 1.987_569_1e-4f32;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5] {
        p = p.mul_add(rest, c);
    }
    let p = p.mul_add(rest * rest, rest) + 1.0;
    let power = f32::from_bits(((n as i32 + 127) as u32) << 23);
    if x < -57.0 { 0.0 } else { p * power }
}

/// Returns psi(x) - ln(x+6) for x > 0, where psi is the digamma function. Thus exp(psi(x)) needs no
/// logarithm.
///
/// psi(x) = psi(x+6) - sum 1/(x+i) for i from 0 to 5, and psi(y) = ln y - 1/2y - 1/12y^2 + 1/120y^4
/// - ... for y = x+6.
#[inline(always)]
pub(crate) fn digamma_minus_log(x: f32) -> f32 {
    // x(x+5), (x+1)(x+4) and (x+2)(x+3) are u, u+4 and u+6.
    let u = x * (x + 5.0);
    let steps = 2.0f32.mul_add(x, 5.0) * (1.0 / u + 1.0 / (u + 4.0) + 1.0 / (u + 6.0));
    let inverse = 1.0 / (x + 6.0);
    let square = inverse * inverse;
    let tail = square.mul_add(square.mul_add(-1.0 / 252.0, 1.0 / 120.0), -1.0 / 12.0);
    square.mul_add(tail, -0.5 * inverse) - steps
}

/// Returns exp(psi(x) + shift) for x > 0.
#[inline(always)]
pub(crate) fn exp_digamma_of(x: f32, shift: f32) -> f32 {
    (x + 6.0) * exp(digamma_minus_log(x) + shift)
}

/// Sets `out[K]` = exp(psi(`values[K]` + `more[K]`) + shift) * `factors[K]`, each number separately
/// as in [`decay`].
#[inline(always)]
pub(super) fn exp_digamma(values: &[f32], more: &[f32], shift: f32, factors: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (values, more, factors) = (&values[..n], &more[..n], &factors[..n]);
    for k in 0..n {
        out[k] = exp_digamma_of(values[k] + more[k], shift) * factors[k];
    }
}
