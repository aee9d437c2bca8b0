//! Tests of the kernels of `tbp`: every variant against the formulas, and all variants against each
//! other.

use super::active_topics::*;
use crate::algorithms::tbp::delta::{Delta, DeltaList};
use crate::algorithms::tbp::messages::{MessageEntry, UNITS_PER_TOKEN};
use crate::simd::{Kernel, LANES, Lanes, flat, flat_mut};

fn row(values: &[f32]) -> Vec<Lanes> {
    let mut row = vec![Lanes::ZERO; values.len().div_ceil(LANES)];
    flat_mut(&mut row)[..values.len()].copy_from_slice(values);
    row
}

/// Computes a word's message to a document in f64: z, full, and the word's own part of the prior
/// mass.
fn definition(row: &[u32], used: &[usize], t: &[f64], own: &[f64], inverse: &[f64]) -> (Vec<f64>, f64, f64) {
    let beta = 0.64;
    let z = |i: usize| (f64::from(row[used[i]]) - own[i] + beta) * inverse[i] * (t[i] - own[i]);
    let full = |i: usize| (f64::from(row[used[i]]) + beta) * inverse[i] * t[i];
    let n = used.len();
    let own_weight = (0..n).map(|i| own[i] * inverse[i] * 0.5).sum();
    ((0..n).map(z).collect(), (0..n).map(full).sum(), own_weight)
}

/// Messages match the formulas, add up, and have the same bits in all variants.
#[test]
fn messages_are_what_the_formulas_say() {
    let sizes = [(5usize, 1usize), (16, 2), (37, 1), (100, 3), (129, 1), (600, 7), (1024, 1)];
    let variants = [(0f32, 3), (0.5, 3), (4.0, 3), (4.0, 5), (-0.5, 3)];
    for ((k, step), (over_relaxation, x)) in
        sizes.into_iter().flat_map(|size| variants.map(|params| (size, params)))
    {
        let pick = |i: usize, seed: usize| ((i * 7919 + seed * 104_729) % 1000) as u32;
        let width = k.div_ceil(LANES) * LANES;
        let row: Vec<u32> = (0..width).map(|i| if i < k { 700 + pick(i, 1) } else { 0 }).collect();
        let narrow: Vec<u16> = row.iter().map(|&n| n as u16).collect();
        let used: Vec<usize> = (0..k).step_by(step).collect();
        let inverse: Vec<f32> = used.iter().map(|&i| 1.0 / (pick(i, 2) + 3) as f32).collect();
        let old: Vec<MessageEntry> =
            (0..used.len().min(4)).map(|i| MessageEntry::new(i as u16, 16)).collect();
        let (quantum, u) = (2u16, 0.37f32);
        let t: Vec<f32> =
            (0..used.len()).map(|i| (pick(i, 3) + if i < 4 { 16 * x } else { 0 }) as f32).collect();
        let own: Vec<f64> =
            (0..used.len()).map(|i| if i < old.len() { f64::from(16 * x) } else { 0.0 }).collect();
        let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let (mut z, full, own_weight) = definition(&row, &used, &wide(&t), &own, &wide(&inverse));
        let weight = own_weight as f32 + 5.0;
        let mut total = z.iter().sum::<f64>() + 5.0;
        if over_relaxation != 0.0 {
            let scale = f64::from(UNITS_PER_TOKEN) / total;
            let further = f64::from(1.0 + over_relaxation) * scale;
            for (z, own) in z.iter_mut().zip(&own) {
                *z = (further * *z - f64::from(over_relaxation) * own / f64::from(x)).max(0.0);
            }
            total = z.iter().sum::<f64>() + further.min(f64::from(EXPLORATION) * scale) * 5.0;
        }
        let mut first = None;
        for (kernel, narrow_row) in
            Kernel::all().into_iter().flat_map(|kernel| [(kernel, true), (kernel, false)])
        {
            let row = if narrow_row { PhiRow::Narrow(&narrow) } else { PhiRow::Wide(&row) };
            let mut active = ActiveTopics::new(k as u32);
            for (i, &topic) in used.iter().enumerate() {
                let slot = active.push(topic as u32, inverse[i], inverse[i] * 0.5);
                *active.t(slot) = t[i];
            }
            active.set_own(0, &old);
            let params = UpdateParams { beta: 0.64, quantum, open: true };
            let word = QuantizedWord { row, prior_mass: weight, taken: x as f32, over_relaxation, u };
            // A word has the same message alone and in a batch.
            for at in 1..WORDS_PER_BATCH {
                active.set_own(at, &old);
            }
            let mut batch = [WeighedMessage::default(); WORDS_PER_BATCH];
            kernel.quantize_messages(&mut active, &[word; WORDS_PER_BATCH], params, &mut batch);
            let mut alone = [WeighedMessage::default(); WORDS_PER_BATCH];
            kernel.quantize_messages(&mut active, &[word], params, &mut alone);
            assert!(batch.iter().all(|message| *message == alone[0]), "{kernel:?} {k}: {batch:?} {alone:?}");
            let weighed = alone[0];
            assert!((f64::from(weighed.total) / total - 1.0).abs() < 1e-5, "{kernel:?} {k}");
            assert!((f64::from(weighed.full) / (full + f64::from(weight)) - 1.0).abs() < 1e-5);
            let mut deltas = DeltaList::default();
            let mut word = WordUpdate { x, old_entries: old.len(), cell: 0, deltas: &mut deltas };
            kernel.commit_message(&mut active, 0, &mut word);
            let rest = UNITS_PER_TOKEN as u16 / quantum - weighed.quanta;
            let (entries, _) = active.messages();
            // The entries and the rest add up. Each running sum is within a quantum of its exact
            // value.
            let sum: u32 = entries.iter().map(|entry| u32::from(entry.units())).sum();
            assert_eq!(sum + u32::from(rest * quantum), UNITS_PER_TOKEN, "{kernel:?} {k}");
            let (mut so_far, mut exact) = (0f64, 0f64);
            for (i, z) in z.iter().enumerate() {
                exact += z / total * 64.0;
                so_far += entries.iter().filter(|p| p.slot() == i).map(|p| f64::from(p.units())).sum::<f64>();
                assert!(
                    (so_far - exact).abs() <= f64::from(quantum) + 1e-3,
                    "{kernel:?} {k}: {so_far} {exact}"
                );
            }
            // phi and t lose the old message and gain the new one.
            let deltas = deltas.iter().collect::<Vec<Delta>>();
            let gone: i32 = deltas.iter().map(|c| c.units).sum();
            let taken: u32 = old.iter().map(|entry| u32::from(entry.units())).sum();
            assert_eq!(i64::from(gone), i64::from(x) * (i64::from(sum) - i64::from(taken)));
            for (i, (_, now)) in active.topics().enumerate() {
                let gain = |entry: &MessageEntry| {
                    if entry.slot() == i { x as f32 * f32::from(entry.units()) } else { 0.0 }
                };
                let new: f32 = active.messages().0.iter().map(gain).sum();
                assert_eq!(now, t[i] - own[i] as f32 + new);
            }
            let deltas: Vec<(u32, i32)> = deltas.iter().map(|c| (c.cell, c.units)).collect();
            let got = (entries.to_vec(), deltas, weighed.total.to_bits());
            assert_eq!(first.get_or_insert_with(|| got.clone()), &got, "{kernel:?}, K = {k}");
        }
    }
}

/// Messages over all topics and the weights of a row match the formulas, with the same bits in all
/// variants.
#[test]
fn messages_over_all_topics_and_weights_are_what_the_formulas_say() {
    for k in [1usize, 16, 37, 500] {
        let width = k.div_ceil(LANES) * LANES;
        let cell = |i: usize| if i < k { ((i * 7919) % 1000) as u16 } else { 0 };
        let narrow: Vec<u16> = (0..width).map(cell).collect();
        let wide: Vec<u32> = narrow.iter().map(|&n| u32::from(n)).collect();
        let t: Vec<f32> = (0..k).map(|i| 1.0 + (i % 13) as f32).collect();
        let inverse: Vec<f32> = (0..k).map(|i| 1.0 / (500 + i) as f32).collect();
        let p: Vec<f64> = (0..k).map(|i| (f64::from(narrow[i]) + 0.64) * f64::from(inverse[i])).collect();
        let s: f64 = p.iter().zip(&t).map(|(p, &t)| p * f64::from(t)).sum();
        let message = |x: f64| -> Vec<f64> {
            let z = |i| p[i] * f64::from(t[i]) * f64::max(1.0 - x / 2.0 / s * p[i], 0.02);
            let total: f64 = (0..k).map(z).sum();
            (0..k).map(|i| x * z(i) / total).collect()
        };
        let both: Vec<f64> = message(96.0).iter().zip(message(32.0)).map(|(a, b)| a + b).collect();
        let mut first: Option<Vec<Lanes>> = None;
        for (kernel, narrow_row) in
            Kernel::all().into_iter().flat_map(|kernel| [(kernel, true), (kernel, false)])
        {
            let row_of = if narrow_row { PhiRow::Narrow(&narrow) } else { PhiRow::Wide(&wide) };
            let (lanes, inverse) = (width / LANES, row(&inverse));
            let column =
                |(&t, &inverse): (&Lanes, &Lanes)| AllTopicsColumn { t, inverse, ..AllTopicsColumn::ZERO };
            let mut columns: Vec<AllTopicsColumn> = row(&t).iter().zip(&inverse).map(column).collect();
            // One word with all its units, one with half, and two that are absent.
            let words = [(row_of, 96.0), (row_of, 0.0), (row_of, 32.0), (row_of, 0.0)];
            let got = kernel.all_topics(&mut columns, &words, &[row_of; WORDS_PER_BATCH], 0.64);
            assert!(got.iter().all(|&got| (f64::from(got) / s - 1.0).abs() < 1e-5));
            let mut sums: Vec<Lanes> = columns.iter().map(|column| column.sums).collect();
            for (i, &want) in both.iter().enumerate() {
                assert!((f64::from(flat(&sums)[i]) - want).abs() < 1e-4 * want.max(1e-3), "{kernel:?} {k}");
            }
            let (mut weights, mut of_lanes) = (vec![Lanes::ZERO; lanes], Vec::new());
            let weight = kernel.prior_weights(row_of, &inverse, 0.64, &mut weights, &mut of_lanes);
            assert!((f64::from(weight) / p.iter().sum::<f64>() - 1.0).abs() < 1e-5);
            assert_eq!(of_lanes.iter().sum::<f32>(), weight);
            sums.extend(weights);
            assert_eq!(first.get_or_insert_with(|| sums.clone()), &sums, "{kernel:?}, K = {k}");
        }
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

/// Prints the speed of the kernels relative to the limits of the machine: `cargo test --release -p
/// tinylda kernel_speed -- --ignored --nocapture`.
///
/// The peak is measured with multiply-adds on sums that stay in registers; `axpy` of rows in the
/// first-level cache waits for loads and stores. `all_topics` has 4 + 5 + 2 operations per topic,
/// counted from its formulas (what it computes twice counts once), and with phi in memory it reads
/// 2 bytes per topic, each row once.
#[test]
#[ignore = "a measurement"]
fn kernel_speed() {
    let kernel = Kernel::best();
    let factors: Vec<Lanes> = vec![Lanes([0.999; LANES]); 8];
    let repeat = 20_000;
    let peak = {
        let seconds = fastest(|| {
            std::hint::black_box(kernel.multiply_adds(&factors, repeat));
        });
        2.0 * 8.0 * 16.0 * f64::from(repeat) / seconds / 1e9
    };
    // Read bandwidth as in the sum of STREAM, from an array much larger than the caches.
    let large: Vec<Lanes> = vec![Lanes([1.0; LANES]); 4 << 20];
    let stream = large.len() as f64 * 64.0
        / fastest(|| {
            std::hint::black_box(kernel.sum(&large));
        })
        / 1e9;
    println!("{kernel:?}: multiply-adds {peak:.0} GFLOP/s, reading {stream:.1} GB/s");
    for (what, words, k) in [("phi in L2", 800, 512), ("phi in memory", 240_000, 512)] {
        let phi: Vec<u16> = (0..words * k).map(|i| (i % 251) as u16).collect();
        let column = AllTopicsColumn {
            t: Lanes([1.5; LANES]),
            inverse: Lanes([0.001; LANES]),
            ..AllTopicsColumn::ZERO
        };
        let mut columns = vec![column; k / LANES];
        let seconds = fastest(|| {
            let mut at = 0;
            for rows in phi.chunks_exact(WORDS_PER_BATCH * k) {
                let next = (at + 4 * k).min(phi.len() - 4 * k);
                let ahead = std::array::from_fn(|i| PhiRow::Narrow(&phi[next + i * k..][..k]));
                at += 4 * k;
                let words = std::array::from_fn(|at| (PhiRow::Narrow(&rows[at * k..][..k]), 64.0));
                kernel.all_topics(&mut columns, &words, &ahead, 0.64);
            }
        });
        let (flop, bytes) = (11.0 * phi.len() as f64, 2.0 * phi.len() as f64);
        println!(
            "all_topics, {what}: {:.1} GFLOP/s ({:.0}% of peak), {:.1} GB/s of phi ({:.0}% of reading)",
            flop / seconds / 1e9,
            flop / seconds / 1e7 / peak,
            bytes / seconds / 1e9,
            bytes / seconds / 1e7 / stream
        );
    }
}
