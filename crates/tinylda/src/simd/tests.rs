//! Tests that all variants agree to the bit and with the formulas, and measurements of their speed.

use super::*;
use half::f16;
use proptest::prelude::*;

fn row(values: &[f32]) -> Vec<Lanes> {
    let mut row = vec![Lanes::ZERO; values.len().div_ceil(LANES)];
    flat_mut(&mut row)[..values.len()].copy_from_slice(values);
    row
}

/// Asserts that all variants give the same bits as plain Rust, close to the exact result.
fn agree(a: &[f32], b: &[f32], r: f32) {
    let n = a.len().min(b.len());
    let (x, y) = (row(&a[..n]), row(&b[..n]));
    let exact: f64 = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    let size: f64 = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) * f64::from(b)).abs()).sum();
    let mut first: Option<(f32, f32, Vec<Lanes>, Vec<Lanes>)> = None;
    for kernel in Kernel::all() {
        let dot = kernel.dot(&x, &y);
        assert!((f64::from(dot) - exact).abs() <= 1e-6 * size + 1e-30, "{kernel:?}: {dot} {exact}");
        let (mut one, mut three) = (y.clone(), x.clone());
        kernel.axpy(r, &x, &mut one);
        kernel.axpy(r, &y, &mut three);
        let mut two = one.clone();
        for (i, (&a, &b)) in a.iter().zip(b).enumerate() {
            assert_eq!(flat(&one)[i], r.mul_add(a, b));
            assert_eq!(flat(&three)[i], r.mul_add(b, a));
        }
        let wide = |row: &[Lanes]| flat(row)[..n].iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let (mut theta, mut lambda, mut eta) = (wide(&x), wide(&y), vec![0f32; n]);
        let rows = AsyncRows { theta: &mut theta, phi: &mut flat_mut(&mut two)[..n], lambda: &mut lambda };
        kernel.decay(&mut eta, rows, (0.9, 0.8, 0.7), &flat(&y)[..n], 0.5, 3.0);
        let rows = AsyncRows { theta: &mut theta, phi: &mut flat_mut(&mut two)[..n], lambda: &mut lambda };
        kernel.add_message(r, &eta, rows);
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

/// Returns psi(x) in f64: the asymptotic series at a large argument, and the recurrence psi(x) =
/// psi(x+1) - 1/x back to x.
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 20.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let s = 1.0 / (x * x);
    sum + x.ln() - 0.5 / x - s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s / 240.0)))
}

/// exp(psi(x)) agrees with f64, and has the same bits in all variants.
#[test]
fn digammas_are_what_f64_says() {
    let values: Vec<f32> = (0..4000).map(|i| 1.012f32.powi(i - 380)).filter(|&v| v < 1e12).collect();
    let (zeros, ones) = (vec![0.0; values.len()], vec![1.0; values.len()]);
    let mut first: Option<Vec<u32>> = None;
    for kernel in Kernel::all() {
        let mut out = zeros.clone();
        kernel.exp_digamma(&values, &zeros, 0.0, &ones, &mut out);
        for (&x, &got) in values.iter().zip(&out) {
            let want = digamma(f64::from(x)).exp();
            // The rounding error of 1/x grows with 1/x.
            let near = 1e-6 + 5e-7 / f64::from(x);
            assert!((f64::from(got) - want).abs() <= near * want + 2e-24, "{x}: {got} {want}");
        }
        let bits: Vec<u32> = out.iter().map(|v| v.to_bits()).collect();
        assert_eq!(first.get_or_insert_with(|| bits.clone()), &bits, "{kernel:?}");
    }
}

/// Rows of any length are accumulated as `dot` and `axpy` would, in all variants.
#[test]
fn words_are_accumulated_one_by_one() {
    for k in [1usize, 16, 20, 50, 64, 100, 112, 113, 500] {
        let of = |seed: usize| (0..k).map(move |i| ((i * 7919 + seed * 104_729) % 1000) as f32 / 999.0);
        let all: Vec<Lanes> = (0..5).flat_map(|w| row(&of(w).collect::<Vec<f32>>())).collect();
        let (t, stride) = (row(&of(9).collect::<Vec<f32>>()), k.div_ceil(LANES));
        let (words, counts) = ([3u32, 0, 4, 1], [1u32, 2, 7, 1]);
        for kernel in Kernel::all() {
            let (mut acc, mut apart) = (t.clone(), t.clone());
            let mut r = [0f32; 4];
            let input = WordRows {
                rows: &all,
                stride,
                words: &words,
                counts: &counts,
                t: &t,
                smooth: 0.5,
                add: true,
                r: &mut r,
            };
            let sum = kernel.accumulate_words(input, &mut acc);
            for ((&w, &x), &r) in words.iter().zip(&counts).zip(&r) {
                let row = &all[w as usize * stride..][..stride];
                let want = x as f32 / (Kernel::all()[0].dot(row, &t) + 0.5);
                assert_eq!(r.to_bits(), want.to_bits(), "{kernel:?} {k}");
                kernel.axpy(want, row, &mut apart);
            }
            assert_eq!(acc, apart);
            assert_eq!(sum.to_bits(), r.iter().sum::<f32>().to_bits());
        }
    }
}

/// Messages of belief propagation match the formula, whether they are small or large parts of their
/// topics, and have the same bits in all variants.
#[test]
fn excluded_messages_are_what_the_formula_says() {
    for (k, large) in [1usize, 16, 37, 100, 500].into_iter().flat_map(|k| [(k, 1.0f32), (k, 1000.0)]) {
        let pick = |i: usize, seed: usize| ((i * 7919 + seed * 104_729) % 1000) as f32 / 100.0;
        let of = |seed, by: f32| row(&(0..k).map(|i| (4.0 + pick(i, seed)) * by).collect::<Vec<f32>>());
        let (phi, theta, alpha) = (of(1, 1.0), of(2, 1.0), row(&vec![0.2; k]));
        let t: Vec<Lanes> =
            theta.iter().zip(&alpha).map(|(a, b)| Lanes(std::array::from_fn(|i| a.0[i] + b.0[i]))).collect();
        let mut total = of(3, large);
        flat_mut(&mut total)[k..].fill(1.0);
        let negative_total: Vec<Lanes> = total.iter().map(|v| Lanes(v.0.map(|v| -v))).collect();
        // Close to the inverse, as after some words of a document.
        let inverse: Vec<Lanes> = total.iter().map(|v| Lanes(v.0.map(|v| 1.0 / (v + 0.01)))).collect();
        let message: Vec<Halves> = row(&(0..k).map(|i| pick(i, 4) / 5000.0).collect::<Vec<f32>>())
            .iter()
            .map(|row| Halves(row.0.map(|v| f16::from_f32(v * Halves::ONE))))
            .collect();
        let (x, beta, least) = (3f32, 0.01f32, 0.1f32);
        let mut first: Option<Vec<Vec<Lanes>>> = None;
        for kernel in Kernel::all() {
            let mut eta = vec![Lanes::ZERO; phi.len()];
            let rows =
                ExclusionRows { phi: &phi, t: &t, negative_total: &negative_total, inverse: &inverse, least };
            let sum = kernel.exclude(&mut eta, rows, &message, x, beta);
            let at = |row: &[Lanes], i: usize| f64::from(flat(row)[i]);
            let half = |row: &[Halves], i: usize| {
                row.iter().flat_map(Halves::iter).nth(i).map_or(f64::NAN, f64::from)
            };
            let want = |i: usize| {
                let own = 3.0 * half(&message, i);
                let below = at(&total, i) - own;
                (at(&phi, i) - own + 0.01) * (at(&theta, i) - own + 0.2) / below
            };
            let exact: f64 = (0..k).map(want).sum();
            assert!((f64::from(sum) / exact - 1.0).abs() < 1e-5, "{kernel:?}");
            assert!((0..k).all(|i| (at(&eta, i) / want(i) - 1.0).abs() < 1e-5));
            let (mut one, mut two, mut sums) = (message.clone(), message.clone(), theta.clone());
            kernel.replace(&mut one, &eta, 1.0 / sum, x, &mut sums);
            let (mut a, mut b, mut c) = (phi.clone(), t.clone(), negative_total.clone());
            let mut scratch = vec![Lanes::ZERO; phi.len()];
            let update = MessageUpdate {
                phi: &mut a,
                stride: phi.len(),
                words: &[0],
                counts: &[3],
                messages: &mut two,
                t: &mut b,
                negative_total: &mut c,
                eta: &mut scratch,
                inverse: &inverse,
                least,
                beta,
            };
            assert_eq!((kernel.update_messages(update), &one), (Ok(()), &two));
            for i in 0..k {
                let more = 3.0 * (half(&one, i) - half(&message, i));
                assert!((half(&one, i) * f64::from(sum) / at(&eta, i) - 1.0).abs() < 1.0 / 2048.0);
                assert!((at(&sums, i) - at(&theta, i) - 3.0 * half(&one, i)).abs() < 1e-5);
                assert!((at(&a, i) - at(&phi, i) - more).abs() < 1e-5);
                assert!((at(&c, i) - at(&negative_total, i) + more).abs() < 1e-5 * at(&total, i));
            }
            let mut opened = vec![Lanes::ZERO; one.len()];
            kernel.axpy_halves(1.0, &one, &mut opened);
            assert!((0..k).all(|i| at(&opened, i) == half(&one, i)));
            let got = vec![eta, opened, sums, a, b, c];
            assert_eq!(first.get_or_insert_with(|| got.clone()), &got, "{kernel:?}, K = {k}");
        }
    }
}

/// Topics are sampled in proportion to their weights, with the same result in all variants.
#[test]
fn topics_are_sampled_by_their_weights() {
    for k in [1usize, 16, 37, 100] {
        let phi = row(&(0..k).map(|i| (i % 7) as f32).collect::<Vec<f32>>());
        let t = row(&(0..k).map(|i| 0.1 + (i % 5) as f32).collect::<Vec<f32>>());
        let (own, weight) = (k / 2, 0.25f32);
        let weight_of = |i: usize| f64::from((flat(&phi)[i] + 0.5) * flat(&t)[i]);
        let exact = |i: usize| if i == own { 0.25 } else { weight_of(i) };
        let total: f64 = (0..k).map(exact).sum();
        let samples = 20_000;
        let mut first: Option<Vec<u32>> = None;
        for kernel in Kernel::all() {
            let mut weights = vec![Lanes::ZERO; phi.len()];
            let mut seen = vec![0u32; k];
            for i in 0..samples {
                let token = Token { own, weight, u: (i as f32 + 0.5) / samples as f32 };
                let (topic, whole) = kernel.sample_topic(&phi, &t, 0.5, token, &mut weights);
                assert!((f64::from(whole) / (0..k).map(weight_of).sum::<f64>() - 1.0).abs() < 1e-5);
                seen[topic] += 1;
            }
            for (i, &n) in seen.iter().enumerate() {
                let want = exact(i) / total * f64::from(samples);
                assert!((f64::from(n) - want).abs() < 2.0 + want * 1e-3, "{kernel:?} {k} {i}: {n} {want}");
            }
            assert_eq!(first.get_or_insert_with(|| seen.clone()), &seen, "{kernel:?}");
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

/// Returns the seconds of the fastest of 100 runs.
fn fastest(mut run: impl FnMut()) -> f64 {
    let once = |run: &mut dyn FnMut()| {
        let clock = std::time::Instant::now();
        run();
        clock.elapsed().as_secs_f64()
    };
    (0..100).map(|_| once(&mut run)).fold(f64::MAX, f64::min)
}

/// Prints the time that belief propagation takes per word: `cargo test --release -p tinylda
/// update_speed -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn update_speed() {
    println!("update, K = 100, all in L2: {:.1} ns a word", seconds_per_word(Kernel::best()) * 1e9);
}

/// Returns the seconds that the update of a word takes, at K = 100.
fn seconds_per_word(kernel: Kernel) -> f64 {
    let (k, n) = (100usize, 122usize);
    let r = |v: f32| row(&vec![v; k]);
    let mut phi: Vec<Lanes> = (0..n).flat_map(|_| r(5.0)).collect();
    let stride = phi.len() / n;
    let mut messages = vec![Halves([f16::from_f32(0.01 * Halves::ONE); LANES]); n * stride];
    let words: Vec<u32> = (0..n as u32).collect();
    let counts = vec![1u32; n];
    let (mut t, mut negative_total, mut eta, mut inverse) = (r(2.0), r(-8000.0), r(0.0), r(1.0 / 8000.0));
    flat_mut(&mut inverse)[k..].fill(1.0);
    flat_mut(&mut negative_total)[k..].fill(-1.0);
    let seconds = fastest(|| {
        let update = MessageUpdate {
            phi: &mut phi,
            stride,
            words: &words,
            counts: &counts,
            messages: &mut messages,
            t: &mut t,
            negative_total: &mut negative_total,
            eta: &mut eta,
            inverse: &inverse,
            least: 1.0,
            beta: 0.01,
        };
        kernel.update_messages(update).unwrap();
    });
    seconds / n as f64
}

/// What the operations on integers and short rows give, for one variant.
#[derive(Debug, PartialEq)]
struct IntegerResults {
    lanes: [[i32; LANES]; 7],
    greater: u32,
    compressed: (Vec<u32>, Vec<u16>),
    read: [Vec<u32>; 4],
}

/// Input of the operations on integers: two vectors, a mask, a number of bits, indices, and rows.
struct IntegerInput<'a> {
    a: &'a [i32; LANES],
    b: &'a [i32; LANES],
    mask: u32,
    bits: u32,
    indices: &'a Indices,
    narrow: &'a [u16],
    wide: &'a [u32],
}

#[inline(always)]
unsafe fn integers_of<V: Vector>(input: &IntegerInput<'_>) -> IntegerResults {
    let IntegerInput { mask, bits, indices, narrow, wide, .. } = *input;
    let count = mask.count_ones() as usize;
    let (mut long, mut short) = (vec![0u32; LANES], vec![0u16; LANES]);
    // SAFETY: the caller has V's instructions; there is space for sixteen numbers, and the indices
    // lie inside the rows.
    unsafe {
        let (a, b) = (V::Integers::load(input.a), V::Integers::load(input.b));
        let out = |v: V::Integers| {
            let mut lanes = [0; LANES];
            v.store(&mut lanes);
            lanes
        };
        a.compress_u32(mask, long.as_mut_ptr());
        V::Integers::load(indices.as_signed()).compress_u16(mask, short.as_mut_ptr());
        let floats = |v: V| {
            let mut lanes = Lanes::ZERO;
            v.store(&mut lanes);
            lanes.0.iter().map(|v| v.to_bits()).collect::<Vec<u32>>()
        };
        let is_short = narrow.len() <= V::MAX_SHORT_ROW;
        let narrow_row = LongRow(narrow.as_ptr()).read(indices);
        let wide_row = LongRow(wide.as_ptr()).read(indices);
        IntegerResults {
            lanes: [
                out(a.add(b)),
                out(a.sub(b)),
                out(a.mul(b)),
                out(a.min(b)),
                out(a.shift_left(bits)),
                out(a.moved_up(b)),
                out(a.keep(mask)),
            ],
            greater: a.gt_mask(b),
            compressed: (long[..count].to_vec(), short[..count].to_vec()),
            read: [
                floats(narrow_row),
                floats(wide_row),
                floats(if is_short { V::short_narrow(narrow).read(indices) } else { narrow_row }),
                floats(if is_short { V::short_wide(wide).read(indices) } else { wide_row }),
            ],
        }
    }
}

impl Kernel {
    kernel! {
        /// Executes the operations on integers and short rows.
        fn integers(input: &IntegerInput<'_>) -> IntegerResults = integers_of
    }
}

proptest! {
    /// Operations on integers and reads of short rows agree in all variants, and short rows with
    /// long ones.
    #[test]
    fn integers_agree(a in prop::array::uniform16(any::<i32>()), b in prop::array::uniform16(-9..9i32), mask in 0..1u32 << 16, bits in 0..9u32, columns in 1..=8usize, at in prop::array::uniform16(0..128u32), seed in any::<u32>()) {
        let length = columns * LANES;
        let indices = Indices(at.map(|i| i % length as u32));
        let number = |i: usize| (i as u32 + 1).wrapping_mul(seed) & 0x7FFF_FFFF;
        let wide: Vec<u32> = (0..length).map(number).collect();
        let narrow: Vec<u16> = wide.iter().map(|&n| n as u16).collect();
        let (narrow, wide, indices) = (&narrow[..], &wide[..], &indices);
        let input = IntegerInput { a: &a, b: &b, mask, bits, indices, narrow, wide };
        let mut first = None;
        for kernel in Kernel::all() {
            let got = kernel.integers(&input);
            prop_assert_eq!(&got.read[0], &got.read[2]);
            prop_assert_eq!(&got.read[1], &got.read[3]);
            match &first {
                None => first = Some(got),
                Some(first) => prop_assert_eq!(first, &got, "{:?}", kernel),
            }
        }
    }
}
