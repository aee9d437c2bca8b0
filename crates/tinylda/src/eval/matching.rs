//! Compares the topics of two models. Topics have no order, so they are matched one to one first.
//!
//! Start reading at [`word_overlap`].

use std::collections::HashMap;

/// Solves the assignment problem: returns the column that is matched to each of `n` rows, one to
/// one, so that the sum of the matched values is maximal.
///
/// `row(i, values)` writes the `n` values of row `i`. The algorithm is the Hungarian method with
/// shortest augmenting paths: O(n^3) time, and memory for a few rows only, since rows are requested
/// repeatedly instead of being stored. Values that are not finite count as 0.
pub fn best_matching(n: usize, row: &mut dyn FnMut(usize, &mut [f64])) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    // Potentials of rows and columns, and the row that each column is assigned to. Column n is an
    // extra column where augmenting paths start.
    let (mut row_potential, mut column_potential) = (vec![0f64; n], vec![0f64; n + 1]);
    let mut assigned_row = vec![NONE; n + 1];
    let mut values = vec![0f64; n];
    let (mut min_cost, mut previous, mut visited) = (vec![0f64; n], vec![0; n], vec![false; n + 1]);
    for i in 0..n {
        min_cost.fill(f64::INFINITY);
        visited.fill(false);
        let mut at = n;
        assigned_row[n] = i;
        while assigned_row[at] != NONE {
            visited[at] = true;
            let current = assigned_row[at];
            row(current, &mut values);
            let (mut step, mut next) = (f64::INFINITY, at);
            for j in (0..n).filter(|&j| !visited[j]) {
                // NaN could not be compared.
                let value = if values[j].is_finite() { values[j] } else { 0.0 };
                let cost = -value - row_potential[current] - column_potential[j];
                if cost < min_cost[j] {
                    (min_cost[j], previous[j]) = (cost, at);
                }
                if min_cost[j] < step {
                    (step, next) = (min_cost[j], j);
                }
            }
            for j in 0..=n {
                if visited[j] {
                    row_potential[assigned_row[j]] += step;
                    column_potential[j] -= step;
                } else {
                    min_cost[j] -= step;
                }
            }
            at = next;
        }
        while at != n {
            let before = previous[at];
            assigned_row[at] = assigned_row[before];
            at = before;
        }
    }
    let mut order = vec![0; n];
    for (j, &i) in assigned_row.iter().take(n).enumerate().filter(|&(_, &i)| i != NONE) {
        order[i] = j;
    }
    order
}

/// Returns the similarity of two sets of topics by their words: the mean Jaccard index (words of
/// both over words of either) of topics that are matched one to one. It is 1 if the topics are the
/// same in any order, and 0 if no two topics share a word.
///
/// A list must not contain a word twice. If one set has more topics, those without a partner count
/// as 0.
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

    /// Returns the best sum by trying all permutations.
    fn best_sum(values: &[Vec<f64>], taken: &mut Vec<bool>, i: usize) -> f64 {
        if i == values.len() {
            return 0.0;
        }
        let mut best = f64::NEG_INFINITY;
        for k in 0..values.len() {
            if !taken[k] {
                taken[k] = true;
                best = best.max(values[i][k] + best_sum(values, taken, i + 1));
                taken[k] = false;
            }
        }
        best
    }

    proptest! {
        #[test]
        fn no_permutation_is_better(values in prop::collection::vec(prop::collection::vec(0u8..9, 6), 0..=6)) {
            let n = values.len();
            let values: Vec<Vec<f64>> =
                values.iter().map(|row| row[..n].iter().map(|&v| f64::from(v) / 8.0).collect()).collect();
            let order = best_matching(n, &mut |i, row| row.copy_from_slice(&values[i]));
            let mut once = order.clone();
            once.sort_unstable();
            prop_assert_eq!(once, (0..n).collect::<Vec<_>>());
            let sum: f64 = order.iter().enumerate().map(|(i, &k)| values[i][k]).sum();
            prop_assert!((sum - best_sum(&values, &mut vec![false; n], 0)).abs() < 1e-9);
        }
    }

    #[test]
    fn overlaps() {
        let topics = |list: &[&[u32]]| -> Vec<Vec<u32>> { list.iter().map(|t| t.to_vec()).collect() };
        let one = topics(&[&[1, 2, 3], &[4, 5, 6], &[7, 8, 9]]);
        assert_eq!(word_overlap(&one, &topics(&[&[9, 8, 7], &[2, 3, 1], &[4, 5, 6]])), 1.0);
        assert_eq!(word_overlap(&one, &topics(&[&[11], &[12], &[13]])), 0.0);
        // Two of four words in common in one pair, none in the others.
        let half = word_overlap(&one, &topics(&[&[10], &[1, 2, 14], &[]]));
        assert!((half - 0.5 / 3.0).abs() < 1e-12);
        assert!((word_overlap(&one, &one[..2]) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(word_overlap(&[], &[]), 1.0);
    }

    #[test]
    fn values_that_are_not_numbers_count_as_zero() {
        let order = best_matching(3, &mut |_, row| row.fill(f64::NAN));
        assert_eq!(order, [0, 1, 2]);
    }
}
