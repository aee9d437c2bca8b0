//! Places topics in a plane so that the distances approximate those of the topics: principal
//! coordinates (classical multidimensional scaling), as in pyLDAvis.
//!
//! Start reading at [`coordinates`].
//!
//! ```text
//! B = -H D^2 H / 2,   H = I - J/K,   J the matrix of ones,   D^2 the squared distances
//! x, y = sqrt(eigenvalue) * eigenvector of the two largest eigenvalues; 0 if one is not positive
//! ```
//!
//! B is reduced to tridiagonal form by Householder reflections. Its two largest eigenvalues are
//! found by bisection and their vectors by inverse iteration, which works for equal eigenvalues,
//! too. The sign of an eigenvector is arbitrary; it is chosen so that the farthest topic is on the
//! positive side.

use rayon::prelude::*;

use super::Distances;

/// Eigenvalues up to this value count as 0: the default tolerance of NumPy, which pyLDAvis uses.
const ZERO_TOLERANCE: f64 = 1e-8;
/// Number of rows above which threads are faster than one thread.
const PARALLEL_ROWS: usize = 256;

/// Returns the x and y coordinates of every topic.
pub(super) fn coordinates(distances: &Distances) -> (Vec<f64>, Vec<f64>) {
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
    let (tridiagonal, reflections) = tridiagonalize(matrix);
    let mut axes = tridiagonal.largest_eigenpairs(2);
    axes.resize(2, (0.0, vec![0.0; n]));
    let mut places = axes.into_iter().map(|(value, mut vector)| {
        if value <= ZERO_TOLERANCE {
            return vec![0.0; n];
        }
        // Apply the reflections in reverse order.
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

/// Applies the reflection v - 2 (u.v) u. u has length 1 or is empty.
fn reflect(v: &mut [f64], u: &[f64]) {
    let twice = 2.0 * u.iter().zip(&*v).map(|(a, b)| a * b).sum::<f64>();
    v.iter_mut().zip(u).for_each(|(v, u)| *v -= twice * u);
}

/// Divides all values by a number.
fn scale_down(list: &mut [f64], by: f64) {
    for value in list {
        *value /= by;
    }
}

/// A symmetric tridiagonal matrix.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// The elements next to the diagonal, one fewer than the diagonal has.
    off_diagonal: Vec<f64>,
}

/// Reduces a symmetric matrix to tridiagonal form. Also returns the reflections: number i applies
/// to the rows after row i.
fn tridiagonalize(mut a: Vec<Vec<f64>>) -> (Tridiagonal, Vec<Vec<f64>>) {
    let n = a.len();
    let mut reflections = Vec::new();
    let mut off_diagonal = Vec::new();
    for i in 0..n.saturating_sub(1) {
        // The part of the row after the diagonal becomes (length, 0, 0, ...).
        let mut u: Vec<f64> = a[i][i + 1..].to_vec();
        let length = u.iter().map(|v| v * v).sum::<f64>().sqrt();
        let to = if u[0] > 0.0 { -length } else { length };
        u[0] -= to;
        let norm = u.iter().map(|v| v * v).sum::<f64>().sqrt();
        off_diagonal.push(to);
        if norm <= f64::MIN_POSITIVE {
            reflections.push(Vec::new());
            continue;
        }
        scale_down(&mut u, norm);
        // A - u q' - q u', q = 2 A u - 2 (u'A u) u.
        let rest = &mut a[i + 1..];
        let product = |row: &Vec<f64>| row[i + 1..].iter().zip(&u).map(|(a, u)| a * u).sum::<f64>();
        let many = u.len() > PARALLEL_ROWS;
        let au: Vec<f64> =
            if many { rest.par_iter().map(product).collect() } else { rest.iter().map(product).collect() };
        let uau: f64 = u.iter().zip(&au).map(|(u, a)| u * a).sum();
        let q: Vec<f64> = au.iter().zip(&u).map(|(a, u)| 2.0 * (a - uau * u)).collect();
        let update = |(row, (&ui, &qi)): (&mut Vec<f64>, (&f64, &f64))| {
            for (value, (u, q)) in row[i + 1..].iter_mut().zip(u.iter().zip(&q)) {
                *value -= ui * q + qi * u;
            }
        };
        if many {
            rest.par_iter_mut().zip(u.par_iter().zip(&q)).for_each(update);
        } else {
            rest.iter_mut().zip(u.iter().zip(&q)).for_each(update);
        }
        reflections.push(u);
    }
    let diagonal = (0..n).map(|i| a[i][i]).collect();
    (Tridiagonal { diagonal, off_diagonal }, reflections)
}

impl Tridiagonal {
    /// Returns the largest eigenvalues, the largest first, with orthonormal eigenvectors.
    fn largest_eigenpairs(&self, count: usize) -> Vec<(f64, Vec<f64>)> {
        let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
        for nth in 0..count.min(self.diagonal.len()) {
            let value = self.eigenvalue(nth);
            let vector = self.eigenvector(value, &found);
            found.push((value, vector));
        }
        found
    }

    /// Returns an upper bound of the absolute eigenvalues (Gershgorin).
    fn scale(&self) -> f64 {
        let largest = |list: &[f64]| list.iter().fold(0.0f64, |best, v| best.max(v.abs()));
        (largest(&self.diagonal) + 2.0 * largest(&self.off_diagonal)).max(f64::MIN_POSITIVE)
    }

    /// Returns the eigenvalue with `nth` larger ones, found by bisection.
    fn eigenvalue(&self, nth: usize) -> f64 {
        let (mut low, mut high) = (-self.scale(), self.scale());
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if self.count_above(middle) > nth { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }

    /// Returns the number of eigenvalues above x, by the signs of the Sturm sequence.
    fn count_above(&self, x: f64) -> usize {
        let tiny = f64::EPSILON * self.scale() * 1e-10 + f64::MIN_POSITIVE;
        let mut count = 0;
        let mut q = 1.0;
        for (i, d) in self.diagonal.iter().enumerate() {
            let off_diagonal = if i == 0 { 0.0 } else { self.off_diagonal[i - 1] };
            q = d - x - off_diagonal * off_diagonal / q;
            if q.abs() < tiny {
                q = -tiny;
            }
            count += usize::from(q > 0.0);
        }
        count
    }

    /// Returns an eigenvector of an eigenvalue by inverse iteration, orthogonal to the earlier
    /// ones.
    fn eigenvector(&self, value: f64, before: &[(f64, Vec<f64>)]) -> Vec<f64> {
        let n = self.diagonal.len();
        // Any start that is not orthogonal to the eigenvector will do.
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
                scale_down(&mut x, largest);
            }
            let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
            if length > 0.0 {
                scale_down(&mut x, length);
            }
            self.solve(value, &mut x);
        }
        for (_, other) in before {
            let along: f64 = other.iter().zip(&x).map(|(a, b)| a * b).sum();
            x.iter_mut().zip(other).for_each(|(x, other)| *x -= along * other);
        }
        let largest = x.iter().fold(0.0f64, |best, v| best.max(v.abs())).max(f64::MIN_POSITIVE);
        scale_down(&mut x, largest);
        let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 && length.is_finite() {
            scale_down(&mut x, length);
        } else {
            x.fill(0.0);
        }
        x
    }

    /// Solves (T - value) x = b in place, by Gaussian elimination with partial pivoting. Pivots
    /// near 0 are replaced by a tiny number.
    fn solve(&self, value: f64, b: &mut [f64]) {
        let n = self.diagonal.len();
        let tiny = f64::EPSILON * self.scale();
        let off_diagonal = |i: usize| self.off_diagonal.get(i).copied().unwrap_or(0.0);
        // The rows of the upper triangular matrix, three values each.
        let mut upper: Vec<[f64; 3]> = Vec::with_capacity(n);
        let mut row = [self.diagonal[0] - value, off_diagonal(0), 0.0];
        for i in 0..n {
            if i + 1 == n {
                upper.push(row);
                break;
            }
            let mut next = [off_diagonal(i), self.diagonal[i + 1] - value, off_diagonal(i + 1)];
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

    /// Asserts that the coordinates reproduce the distances of the points.
    fn come_back(points: &[(f64, f64)]) {
        let (x, y) = coordinates(&of_points(points));
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
        let (x, y) = coordinates(&of_points(&[(0.0, 0.0), (4.0, 0.0)]));
        assert!((x[0].abs() - 2.0).abs() < 1e-9 && (x[0] + x[1]).abs() < 1e-9 && y == [0.0, 0.0]);
    }

    #[test]
    fn few_topics_and_none_apart() {
        assert_eq!(coordinates(&Distances::of(1, vec![0.0])), (vec![0.0], vec![0.0]));
        assert_eq!(coordinates(&Distances::of(3, vec![0.0; 9])), (vec![0.0; 3], vec![0.0; 3]));
        // Equal distances, a regular simplex: any two orthogonal axes of the right length are
        // correct.
        let n = 6;
        let same = (0..n * n).map(|i| if i % (n + 1) == 0 { 0.0 } else { 0.5 }).collect();
        let (x, y) = coordinates(&Distances::of(n, same));
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
