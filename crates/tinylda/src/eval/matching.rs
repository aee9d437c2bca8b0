//! Have two models found the same topics? Topics have no order, so they are matched one to one first.

use std::collections::HashMap;

/// Which column belongs to each of `n` rows, one to one, so that the sum of what is matched is as large as possible.
///
/// `row` writes the numbers of a row, `n` of them. The Hungarian method by shortest augmenting paths: at most n^3 steps, and a few rows of
/// memory, since rows are asked for again in place of being kept.
pub fn best_matching(n: usize, row: &mut dyn FnMut(usize, &mut [f64])) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    // Potentials of rows and columns; whose a column is. One more column, the last, where a path begins.
    let (mut of_row, mut of_column) = (vec![0f64; n], vec![0f64; n + 1]);
    let mut owner = vec![NONE; n + 1];
    let mut values = vec![0f64; n];
    let (mut least, mut from, mut seen) = (vec![0f64; n], vec![0; n], vec![false; n + 1]);
    for i in 0..n {
        least.fill(f64::INFINITY);
        seen.fill(false);
        let mut at = n;
        owner[n] = i;
        while owner[at] != NONE {
            seen[at] = true;
            let here = owner[at];
            row(here, &mut values);
            let (mut step, mut next) = (f64::INFINITY, at);
            for j in (0..n).filter(|&j| !seen[j]) {
                // Numbers that are none could not be compared.
                let value = if values[j].is_finite() { values[j] } else { 0.0 };
                let cost = -value - of_row[here] - of_column[j];
                if cost < least[j] {
                    (least[j], from[j]) = (cost, at);
                }
                if least[j] < step {
                    (step, next) = (least[j], j);
                }
            }
            for j in 0..=n {
                if seen[j] {
                    of_row[owner[j]] += step;
                    of_column[j] -= step;
                } else {
                    least[j] -= step;
                }
            }
            at = next;
        }
        while at != n {
            let before = from[at];
            owner[at] = owner[before];
            at = before;
        }
    }
    let mut order = vec![0; n];
    for (j, &i) in owner.iter().take(n).enumerate().filter(|&(_, &i)| i != NONE) {
        order[i] = j;
    }
    order
}

/// How much two sets of topics are alike by their words: topics are matched one to one, and the mean is taken of what the words of two that
/// are matched have in common (Jaccard: words of both over words of either). 1 where the topics are the same in any order, 0 where
/// none shares a word.
///
/// Lists of words without one twice; as many topics in both, or those that are left over count as 0.
pub fn word_overlap(first: &[Vec<u32>], second: &[Vec<u32>]) -> f64 {
    let n = first.len().max(second.len());
    let mut topics_of: HashMap<u32, Vec<usize>> = HashMap::new();
    for (k, words) in second.iter().enumerate() {
        for &word in words {
            topics_of.entry(word).or_default().push(k);
        }
    }
    let mut row = |i: usize, out: &mut [f64]| {
        out.fill(0.0);
        let Some(words) = first.get(i) else { return };
        for word in words {
            topics_of.get(word).into_iter().flatten().for_each(|&k| out[k] += 1.0);
        }
        for (both, other) in out.iter_mut().zip(second).filter(|(both, _)| **both > 0.0) {
            *both /= (words.len() + other.len()) as f64 - *both;
        }
    };
    let order = best_matching(n, &mut row);
    let mut values = vec![0f64; n];
    let mut sum = 0.0;
    for (i, &k) in order.iter().enumerate() {
        row(i, &mut values);
        sum += values[k];
    }
    if n == 0 { 1.0 } else { sum / n as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By trying all orders.
    fn by_trial(values: &[Vec<f64>], taken: &mut Vec<bool>, i: usize) -> f64 {
        if i == values.len() {
            return 0.0;
        }
        let mut best = f64::NEG_INFINITY;
        for k in 0..values.len() {
            if !taken[k] {
                taken[k] = true;
                best = best.max(values[i][k] + by_trial(values, taken, i + 1));
                taken[k] = false;
            }
        }
        best
    }

    proptest! {
        #[test]
        fn no_order_is_better(values in prop::collection::vec(prop::collection::vec(0u8..9, 6), 0..=6)) {
            let n = values.len();
            let values: Vec<Vec<f64>> =
                values.iter().map(|row| row[..n].iter().map(|&v| f64::from(v) / 8.0).collect()).collect();
            let order = best_matching(n, &mut |i, row| row.copy_from_slice(&values[i]));
            let mut once = order.clone();
            once.sort_unstable();
            prop_assert_eq!(once, (0..n).collect::<Vec<_>>());
            let sum: f64 = order.iter().enumerate().map(|(i, &k)| values[i][k]).sum();
            prop_assert!((sum - by_trial(&values, &mut vec![false; n], 0)).abs() < 1e-9);
        }
    }

    #[test]
    fn overlaps() {
        let topics = |list: &[&[u32]]| -> Vec<Vec<u32>> { list.iter().map(|t| t.to_vec()).collect() };
        let one = topics(&[&[1, 2, 3], &[4, 5, 6], &[7, 8, 9]]);
        assert_eq!(word_overlap(&one, &topics(&[&[9, 8, 7], &[2, 3, 1], &[4, 5, 6]])), 1.0);
        assert_eq!(word_overlap(&one, &topics(&[&[11], &[12], &[13]])), 0.0);
        // Two of four, and nothing for the others.
        let half = word_overlap(&one, &topics(&[&[10], &[1, 2, 14], &[]]));
        assert!((half - 0.5 / 3.0).abs() < 1e-12);
        assert!((word_overlap(&one, &one[..2]) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(word_overlap(&[], &[]), 1.0);
    }

    #[test]
    fn numbers_that_are_none_do_no_harm() {
        let order = best_matching(3, &mut |_, row| row.fill(f64::NAN));
        assert_eq!(order, [0, 1, 2]);
    }
}
