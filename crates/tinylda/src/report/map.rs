//! Topics as points of a plane whose distances are as near to theirs as a plane allows: principal coordinates (classical scaling) of
//! the distances, as pyLDAvis computes them.
//!
//! ```text
//! B = -H D^2 H / 2,   H = 1 - 1/K,   D^2 the squares of the distances
//! x, y = sqrt(eigenvalue) * eigenvector of the two largest eigenvalues; 0 where one is not above 0
//! ```
//!
//! B becomes tridiagonal by Householder's reflections; its two largest eigenvalues are found by bisection and their vectors by inverse
//! iteration, which finds equal ones, too. Each axis has its farthest topic on the positive side, since an eigenvector has no sign.

use rayon::prelude::*;

use super::Distances;

/// numpy's idea of zero, which pyLDAvis uses.
const ZERO: f64 = 1e-8;
/// Rows beyond which threads are worth their start.
const MANY: usize = 256;

/// x and y of every topic.
pub(super) fn places(distances: &Distances) -> (Vec<f64>, Vec<f64>) {
    let n = distances.topics();
    let mut matrix: Vec<Vec<f64>> =
        (0..n).map(|k| distances.row(k).iter().map(|d| d * d).collect()).collect();
    let means: Vec<f64> = matrix.iter().map(|row| row.iter().sum::<f64>() / n as f64).collect();
    let mean = means.iter().sum::<f64>() / n as f64;
    for (row, own) in matrix.iter_mut().zip(&means) {
        for (value, other) in row.iter_mut().zip(&means) {
            *value = -(*value - own - other + mean) / 2.0;
        }
    }
    let (tridiagonal, reflections) = reduce(matrix);
    let mut axes = tridiagonal.largest(2);
    axes.resize(2, (0.0, vec![0.0; n]));
    let mut places = axes.into_iter().map(|(value, mut vector)| {
        if value <= ZERO {
            return vec![0.0; n];
        }
        // Back through the reflections, the last first.
        for (at, u) in reflections.iter().enumerate().rev() {
            reflect(&mut vector[at + 1..], u);
        }
        let farthest =
            vector.iter().copied().fold(0.0f64, |best, v| if v.abs() > best.abs() { v } else { best });
        let factor = value.sqrt() * if farthest < 0.0 { -1.0 } else { 1.0 };
        vector.iter().map(|v| v * factor).collect()
    });
    (places.next().unwrap_or_default(), places.next().unwrap_or_default())
}

/// v - 2 (u.v) u, where u has length 1, or is nothing.
fn reflect(v: &mut [f64], u: &[f64]) {
    let twice = 2.0 * u.iter().zip(&*v).map(|(a, b)| a * b).sum::<f64>();
    v.iter_mut().zip(u).for_each(|(v, u)| *v -= twice * u);
}

fn divide(list: &mut [f64], by: f64) {
    for value in list {
        *value /= by;
    }
}

/// A symmetric matrix with nothing but the diagonal and its neighbours.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Beside it: one less.
    beside: Vec<f64>,
}

/// A symmetric matrix made tridiagonal, and the reflections that did it: number i is of the rows after i.
fn reduce(mut a: Vec<Vec<f64>>) -> (Tridiagonal, Vec<Vec<f64>>) {
    let n = a.len();
    let mut reflections = Vec::new();
    let mut beside = Vec::new();
    for i in 0..n.saturating_sub(1) {
        // The row's part beside the diagonal becomes (length, 0, 0, ...).
        let mut u: Vec<f64> = a[i][i + 1..].to_vec();
        let length = u.iter().map(|v| v * v).sum::<f64>().sqrt();
        let to = if u[0] > 0.0 { -length } else { length };
        u[0] -= to;
        let norm = u.iter().map(|v| v * v).sum::<f64>().sqrt();
        beside.push(to);
        if norm <= f64::MIN_POSITIVE {
            reflections.push(Vec::new());
            continue;
        }
        divide(&mut u, norm);
        // A - u q' - q u', q = 2 A u - 2 (u'A u) u.
        let rest = &mut a[i + 1..];
        let product = |row: &Vec<f64>| row[i + 1..].iter().zip(&u).map(|(a, u)| a * u).sum::<f64>();
        let many = u.len() > MANY;
        let au: Vec<f64> =
            if many { rest.par_iter().map(product).collect() } else { rest.iter().map(product).collect() };
        let uau: f64 = u.iter().zip(&au).map(|(u, a)| u * a).sum();
        let q: Vec<f64> = au.iter().zip(&u).map(|(a, u)| 2.0 * (a - uau * u)).collect();
        let renew = |(row, (&ui, &qi)): (&mut Vec<f64>, (&f64, &f64))| {
            for (value, (u, q)) in row[i + 1..].iter_mut().zip(u.iter().zip(&q)) {
                *value -= ui * q + qi * u;
            }
        };
        if many {
            rest.par_iter_mut().zip(u.par_iter().zip(&q)).for_each(renew);
        } else {
            rest.iter_mut().zip(u.iter().zip(&q)).for_each(renew);
        }
        reflections.push(u);
    }
    let diagonal = (0..n).map(|i| a[i][i]).collect();
    (Tridiagonal { diagonal, beside }, reflections)
}

impl Tridiagonal {
    /// Its largest eigenvalues, the largest first, with vectors of length 1 at right angles to each other.
    fn largest(&self, most: usize) -> Vec<(f64, Vec<f64>)> {
        let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
        for nth in 0..most.min(self.diagonal.len()) {
            let value = self.eigenvalue(nth);
            let vector = self.eigenvector(value, &found);
            found.push((value, vector));
        }
        found
    }

    fn scale(&self) -> f64 {
        let largest = |list: &[f64]| list.iter().fold(0.0f64, |best, v| best.max(v.abs()));
        (largest(&self.diagonal) + 2.0 * largest(&self.beside)).max(f64::MIN_POSITIVE)
    }

    /// The eigenvalue that nth others are above, by bisection.
    fn eigenvalue(&self, nth: usize) -> f64 {
        let (mut low, mut high) = (-self.scale(), self.scale());
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if self.above(middle) > nth { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }

    /// How many eigenvalues are above x: signs in the sequence of Sturm.
    fn above(&self, x: f64) -> usize {
        let tiny = f64::EPSILON * self.scale() * 1e-10 + f64::MIN_POSITIVE;
        let mut count = 0;
        let mut q = 1.0;
        for (i, d) in self.diagonal.iter().enumerate() {
            let beside = if i == 0 { 0.0 } else { self.beside[i - 1] };
            q = d - x - beside * beside / q;
            if q.abs() < tiny {
                q = -tiny;
            }
            count += usize::from(q > 0.0);
        }
        count
    }

    /// By inverse iteration, at right angles to those before.
    fn eigenvector(&self, value: f64, before: &[(f64, Vec<f64>)]) -> Vec<f64> {
        let n = self.diagonal.len();
        // Any start will do that is at right angles to no eigenvector by chance.
        let mut x: Vec<f64> = (0..n)
            .map(|i| {
                1.0 + ((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1u64 << 25) as f64
            })
            .collect();
        for _ in 0..8 {
            for (_, other) in before {
                let along: f64 = other.iter().zip(&x).map(|(a, b)| a * b).sum();
                x.iter_mut().zip(other).for_each(|(x, other)| *x -= along * other);
            }
            let largest = x.iter().fold(0.0f64, |best, v| best.max(v.abs()));
            if largest > 0.0 {
                divide(&mut x, largest);
            }
            let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
            if length > 0.0 {
                divide(&mut x, length);
            }
            self.solve(value, &mut x);
        }
        for (_, other) in before {
            let along: f64 = other.iter().zip(&x).map(|(a, b)| a * b).sum();
            x.iter_mut().zip(other).for_each(|(x, other)| *x -= along * other);
        }
        let largest = x.iter().fold(0.0f64, |best, v| best.max(v.abs())).max(f64::MIN_POSITIVE);
        divide(&mut x, largest);
        let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 && length.is_finite() {
            divide(&mut x, length);
        } else {
            x.fill(0.0);
        }
        x
    }

    /// (T - value) x = b, in place; elimination with pivots, the zero among them made a tiny number.
    fn solve(&self, value: f64, b: &mut [f64]) {
        let n = self.diagonal.len();
        let tiny = f64::EPSILON * self.scale();
        let beside = |i: usize| self.beside.get(i).copied().unwrap_or(0.0);
        // The rows of the upper triangle: three numbers each.
        let mut upper: Vec<[f64; 3]> = Vec::with_capacity(n);
        let mut row = [self.diagonal[0] - value, beside(0), 0.0];
        for i in 0..n {
            if i + 1 == n {
                upper.push(row);
                break;
            }
            let mut next = [beside(i), self.diagonal[i + 1] - value, beside(i + 1)];
            if next[0].abs() > row[0].abs() {
                std::mem::swap(&mut row, &mut next);
                b.swap(i, i + 1);
            }
            if row[0].abs() < tiny {
                row[0] = tiny;
            }
            let factor = next[0] / row[0];
            b[i + 1] -= factor * b[i];
            upper.push(row);
            row = [next[1] - factor * row[1], next[2] - factor * row[2], 0.0];
        }
        for i in (0..n).rev() {
            let later = |j: usize| if j < n { b[j] } else { 0.0 };
            let sum = b[i] - upper[i][1] * later(i + 1) - upper[i][2] * later(i + 2);
            let pivot = if upper[i][0].abs() < tiny { tiny } else { upper[i][0] };
            b[i] = sum / pivot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_points(points: &[(f64, f64)]) -> Distances {
        let all = points.iter().flat_map(|a| points.iter().map(move |b| (a.0 - b.0).hypot(a.1 - b.1)));
        Distances::of(points.len(), all.collect())
    }

    /// The places have the distances of the points.
    fn come_back(points: &[(f64, f64)]) {
        let (x, y) = places(&of_points(points));
        for (i, a) in points.iter().enumerate() {
            for (j, b) in points.iter().enumerate() {
                let found = (x[i] - x[j]).hypot(y[i] - y[j]);
                let right = (a.0 - b.0).hypot(a.1 - b.1);
                assert!((found - right).abs() < 1e-6, "{points:?}: {i} {j} {found} {right}");
            }
        }
    }

    #[test]
    fn known_points_come_back() {
        come_back(&[(0.0, 0.0), (3.0, 0.0), (3.0, 1.0), (0.0, 1.0)]);
        // Two equal eigenvalues, and points on a line.
        come_back(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]);
        come_back(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (5.0, 5.0)]);
        let (x, y) = places(&of_points(&[(0.0, 0.0), (4.0, 0.0)]));
        assert!((x[0].abs() - 2.0).abs() < 1e-9 && (x[0] + x[1]).abs() < 1e-9 && y == [0.0, 0.0]);
    }

    #[test]
    fn few_topics_and_none_apart() {
        assert_eq!(places(&Distances::of(1, vec![0.0])), (vec![0.0], vec![0.0]));
        assert_eq!(places(&Distances::of(3, vec![0.0; 9])), (vec![0.0; 3], vec![0.0; 3]));
        // All as far from each other: any two axes of a regular body, but true ones.
        let n = 6;
        let same = (0..n * n).map(|i| if i % (n + 1) == 0 { 0.0 } else { 0.5 }).collect();
        let (x, y) = places(&Distances::of(n, same));
        let product: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        let size = |axis: &[f64]| axis.iter().map(|v| v * v).sum::<f64>();
        assert!(product.abs() < 1e-9 && (size(&x) - 0.125).abs() < 1e-9 && (size(&y) - 0.125).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn any_points_come_back(points in prop::collection::vec((-5.0f64..5.0, -5.0f64..5.0), 3..40)) {
            come_back(&points);
        }
    }
}
