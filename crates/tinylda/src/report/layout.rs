//! Places the circles of a topic map in a field so that no two of them overlap.
//!
//! Principal coordinates show distances, but a few outlying topics squeeze all others into a
//! corner, where circles cover each other. The layout gives up exact distances for legibility, in
//! three steps. Start reading at [`CircleLayout::new`].
//!
//! ```text
//! u = (v - median) / s     each axis on its own, s half of its interquartile range
//! t = u / (1 + |u| / C)    robust: outliers come nearer, the bulk hardly changes
//! t = (t + rank) / 2       both scaled to 0..1: the whole field is used
//! ```
//!
//! Then the circles are relaxed as in a Dorling cartogram: overlapping ones push each other apart,
//! the smaller one farther, while all are pulled back to where they started. What cannot be
//! separated is made smaller. Every step is sequential and uses only +, -, *, / and the square
//! root, so that the result is the same on every machine.

/// Share of the field that the circles cover.
const COVERED: f64 = 0.2;
/// Smallest radius of a circle, unless there are too many topics for it.
const MIN_RADIUS: f64 = 0.0075;
/// Share of the field that circles of the smallest radius may cover.
const COVERED_BY_SMALLEST: f64 = 0.15;
/// Value at which the robust scale has halved a coordinate.
const HALVED_AT: f64 = 3.0;
/// Axes that are this much shorter than the other one are rounding errors.
const FLAT: f64 = 1e-3;
/// Number of rounds of the relaxation.
const ROUNDS: usize = 240;
/// Number of rounds after the circles were made smaller.
const ROUNDS_AFTER_SHRINKING: usize = 12;
/// Factor by which circles are made smaller if they still overlap.
const SHRINK: f64 = 0.96;
/// Maximum number of times that circles are made smaller.
const MAX_SHRINKS: usize = 100;
/// Share of the way back to its start that a circle is pulled in the first round.
const PULL: f64 = 0.08;
/// Distance that is kept between two circles, as a share of the smaller radius.
const GAP: f64 = 0.2;
/// Largest distance that is kept between two circles.
const MAX_GAP: f64 = 0.008;
/// Overlap that is not resolved, as a share of the smaller radius.
const TOLERANCE: f64 = 0.01;
/// Directions in which circles with the same centre are pushed apart.
const DIRECTIONS: [(f64, f64); 8] =
    [(1.0, 0.0), (0.0, 1.0), (0.6, 0.8), (0.8, -0.6), (-1.0, 0.0), (0.0, -1.0), (-0.6, 0.8), (-0.8, -0.6)];

/// The circles of a topic map in a square field with sides of length 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CircleLayout {
    /// Horizontal positions of the centres, from the left.
    pub(super) x: Vec<f64>,
    /// Vertical positions of the centres, from the bottom.
    pub(super) y: Vec<f64>,
    /// Radii. The area of a circle is proportional to the prevalence of its topic, apart from the
    /// smallest circles.
    pub(super) radius: Vec<f64>,
}

impl CircleLayout {
    /// Bytes per topic that the layout needs while it is computed.
    pub(super) const BYTES_PER_TOPIC: u64 = 160;

    /// Lays out topics at these coordinates with these shares of the words. The three lists have
    /// the same length.
    pub(super) fn new(x: &[f64], y: &[f64], prevalence: &[f64]) -> CircleLayout {
        let radius = radii(prevalence);
        let extent = extent(x).max(extent(y));
        let axis = |values: &[f64]| -> Vec<f64> {
            let places = robust_places(values, FLAT * extent);
            places.iter().zip(&radius).map(|(place, r)| r + place * (1.0 - 2.0 * r)).collect()
        };
        let mut layout = CircleLayout { x: axis(x), y: axis(y), radius };
        layout.relax();
        layout
    }

    /// Moves overlapping circles apart.
    fn relax(&mut self) {
        let start = (self.x.clone(), self.y.clone());
        let mut order: Vec<u32> = (0..self.x.len() as u32).collect();
        for round in 0..ROUNDS {
            // There is no pull in the last third.
            let pull = PULL * (1.0 - 1.5 * round as f64 / ROUNDS as f64).max(0.0);
            pull_back(&mut self.x, &start.0, pull);
            pull_back(&mut self.y, &start.1, pull);
            let overlap = self.separate(&mut order);
            if overlap <= TOLERANCE && pull <= 0.0 {
                return;
            }
        }
        for _ in 0..MAX_SHRINKS {
            let mut overlap = 0.0;
            for _ in 0..ROUNDS_AFTER_SHRINKING {
                overlap = self.separate(&mut order);
            }
            if overlap <= TOLERANCE {
                return;
            }
            self.radius.iter_mut().for_each(|r| *r *= SHRINK);
        }
    }

    /// Pushes every pair of circles apart that is too near, and all circles into the field. Returns
    /// the largest overlap before, as a share of the smaller radius.
    ///
    /// Circles are visited by their left edges, so that only neighbours are compared. `order` is
    /// the order of the last call.
    fn separate(&mut self, order: &mut [u32]) -> f64 {
        let left = |layout: &CircleLayout, i: u32| layout.x[i as usize] - layout.radius[i as usize];
        order.sort_by(|&i, &j| left(self, i).total_cmp(&left(self, j)).then(i.cmp(&j)));
        let mut largest = 0.0f64;
        for at in 0..order.len() {
            let i = order[at] as usize;
            let right = self.x[i] + self.radius[i] + MAX_GAP;
            for &j in &order[at + 1..] {
                if left(self, j) > right {
                    break;
                }
                largest = largest.max(self.separate_pair(i, j as usize));
            }
        }
        for ((x, y), r) in self.x.iter_mut().zip(&mut self.y).zip(&self.radius) {
            *x = x.max(*r).min(1.0 - r);
            *y = y.max(*r).min(1.0 - r);
        }
        largest
    }

    /// Pushes two circles apart if they are too near. Returns their overlap, as a share of the
    /// smaller radius.
    fn separate_pair(&mut self, i: usize, j: usize) -> f64 {
        let (r, s) = (self.radius[i], self.radius[j]);
        let smaller = r.min(s);
        let wanted = r + s + (GAP * smaller).min(MAX_GAP);
        let (mut dx, mut dy) = (self.x[i] - self.x[j], self.y[i] - self.y[j]);
        let square = dx * dx + dy * dy;
        if square >= wanted * wanted {
            return 0.0;
        }
        let mut distance = square.sqrt();
        let overlap = (r + s - distance).max(0.0) / smaller;
        let missing = wanted - distance;
        if distance < 1e-9 {
            ((dx, dy), distance) = (DIRECTIONS[(5 * i + j) % DIRECTIONS.len()], 1.0);
        }
        // The larger circle moves less.
        let share = s * s / (r * r + s * s);
        let (x, y) = (dx / distance * missing, dy / distance * missing);
        self.x[i] += share * x;
        self.y[i] += share * y;
        self.x[j] -= (1.0 - share) * x;
        self.y[j] -= (1.0 - share) * y;
        overlap
    }
}

/// Returns the radii for these shares.
fn radii(prevalence: &[f64]) -> Vec<f64> {
    let count = prevalence.len().max(1) as f64;
    let least = MIN_RADIUS.min((COVERED_BY_SMALLEST / (count * std::f64::consts::PI)).sqrt());
    let radius = |p: &f64| (p.clamp(0.0, 1.0) * COVERED / std::f64::consts::PI).sqrt().max(least);
    prevalence.iter().map(radius).collect()
}

/// Moves values by a share of the way to their start.
fn pull_back(values: &mut [f64], start: &[f64], share: f64) {
    values.iter_mut().zip(start).for_each(|(value, start)| *value += share * (start - *value));
}

/// Returns the difference of the largest and the smallest value, 0 for an empty list.
fn extent(values: &[f64]) -> f64 {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (high - low).max(0.0)
}

/// Returns the place of each value on an axis of length 1, on a robust scale. Values that differ by
/// no more than `flat` are all in the middle.
fn robust_places(values: &[f64], flat: f64) -> Vec<f64> {
    let length = extent(values);
    if length <= flat || length <= f64::MIN_POSITIVE {
        return vec![0.5; values.len()];
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    let (low, median, high) = (sorted[last / 4], sorted[last / 2], sorted[last - last / 4]);
    let scale = ((high - low) / 2.0).max(length * 1e-6);
    let squeezed: Vec<f64> = values
        .iter()
        .map(|value| {
            let u = (value - median) / scale;
            u / (1.0 + u.abs() / HALVED_AT)
        })
        .collect();
    let least = squeezed.iter().copied().fold(f64::INFINITY, f64::min);
    let length = extent(&squeezed);
    let rank = |value: f64| {
        // Equal values have the mean of their ranks.
        let below = sorted.partition_point(|&other| other < value);
        let through = sorted.partition_point(|&other| other <= value);
        (below + through - 1) as f64 / 2.0 / last as f64
    };
    let place = |(&value, t): (&f64, &f64)| f64::midpoint((t - least) / length, rank(value));
    values.iter().zip(&squeezed).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Asserts that all circles are in the field and that no two overlap by more than a tenth of
    /// the smaller radius.
    fn assert_legible(layout: &CircleLayout) {
        let circles: Vec<(f64, f64, f64)> =
            (0..layout.x.len()).map(|k| (layout.x[k], layout.y[k], layout.radius[k])).collect();
        for (k, &(x, y, r)) in circles.iter().enumerate() {
            assert!(r > 0.0 && x >= r - 1e-9 && x <= 1.0 - r + 1e-9, "{k}: {x} {r}");
            assert!(y >= r - 1e-9 && y <= 1.0 - r + 1e-9, "{k}: {y} {r}");
            for &(x2, y2, r2) in &circles[..k] {
                let apart = ((x - x2) * (x - x2) + (y - y2) * (y - y2)).sqrt();
                assert!(r + r2 - apart <= 0.1 * r.min(r2), "{k}: {x} {y} {r}, {x2} {y2} {r2}");
            }
        }
    }

    fn equal_shares(topics: usize) -> Vec<f64> {
        vec![1.0 / topics as f64; topics]
    }

    #[test]
    fn outliers_leave_space_for_the_others() {
        // Two outliers, and 18 topics in a thousandth of the axes.
        let x: Vec<f64> = (0..20).map(|k| if k < 2 { 1.0 } else { f64::from(k) * 1e-4 }).collect();
        let y: Vec<f64> = (0..20).map(|k| if k == 5 { -1.0 } else { f64::from(k * 7 % 20) * 1e-4 }).collect();
        let layout = CircleLayout::new(&x, &y, &equal_shares(20));
        assert_legible(&layout);
        // The median topic is near the middle of both axes.
        let middle = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted[10]
        };
        assert!((middle(&layout.x) - 0.5).abs() < 0.25 && (middle(&layout.y) - 0.5).abs() < 0.25);
    }

    #[test]
    fn equal_places_and_few_topics() {
        assert_eq!(CircleLayout::new(&[], &[], &[]).x.len(), 0);
        let one = CircleLayout::new(&[0.0], &[0.0], &[1.0]);
        assert_eq!((one.x[0], one.y[0]), (0.5, 0.5));
        for topics in [2, 3, 50, 400] {
            let zero = vec![0.0; topics];
            assert_legible(&CircleLayout::new(&zero, &zero, &equal_shares(topics)));
        }
        let all_in_one: Vec<f64> = (0..30).map(|k| f64::from(u8::from(k == 7))).collect();
        assert_legible(&CircleLayout::new(&[0.0; 30], &[0.0; 30], &all_in_one));
    }

    #[test]
    fn a_thousand_topics() {
        let value = |k: u32, factor: u32| f64::from(k.wrapping_mul(factor) % 1009) / 1009.0;
        let x: Vec<f64> = (0..1000).map(|k| value(k, 7919) * value(k, 7919)).collect();
        let y: Vec<f64> = (0..1000).map(|k| value(k, 104_729)).collect();
        let size: Vec<f64> = (0..1000).map(|k| value(k, 31) * value(k, 31)).collect();
        let sum: f64 = size.iter().sum();
        let share: Vec<f64> = size.iter().map(|s| s / sum).collect();
        let layout = CircleLayout::new(&x, &y, &share);
        assert_legible(&layout);
        assert_eq!(layout, CircleLayout::new(&x, &y, &share));
    }

    proptest! {
        #[test]
        fn any_topics(topics in prop::collection::vec((-1.0f64..1.0, -1e-3f64..1.0, 0.0f64..1.0), 1..60)) {
            let sum = topics.iter().map(|t| t.2).sum::<f64>().max(1e-9);
            let column = |f: fn(&(f64, f64, f64)) -> f64| topics.iter().map(f).collect::<Vec<f64>>();
            let share: Vec<f64> = topics.iter().map(|t| t.2 / sum).collect();
            assert_legible(&CircleLayout::new(&column(|t| t.0), &column(|t| t.1), &share));
        }
    }
}
