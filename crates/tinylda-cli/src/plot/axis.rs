//! Axes: maps numbers to coordinates and chooses the ticks.

/// Maps numbers to coordinates.
#[derive(Debug)]
pub(super) struct Scale {
    log: bool,
    /// Number at the start of the axis; its logarithm if the scale is logarithmic.
    from: f64,
    /// Number at the end of the axis; its logarithm if the scale is logarithmic.
    to: f64,
    /// Coordinates of the start and the end of the axis.
    coordinates: (f64, f64),
    /// Numbers with a tick, and their labels.
    ticks: Vec<(f64, String)>,
}

impl Scale {
    /// Creates a scale for the given values. With `ticks_at_values`, the values themselves get the
    /// ticks if they are few and far enough apart.
    pub(super) fn new(
        mut values: Vec<f64>,
        log: bool,
        ticks_at_values: bool,
        coordinates: (f64, f64),
    ) -> Scale {
        values.sort_by(f64::total_cmp);
        values.dedup();
        let value_or = |v: Option<&f64>, default: f64| v.copied().unwrap_or(default);
        let (low, high) = (value_or(values.first(), 1.0), value_or(values.last(), 10.0));
        let transform = |v: f64| if log { v.log10() } else { v };
        let (mut from, mut to) = (transform(low), transform(high));
        // A single value is placed in the middle.
        if to - from <= 1e-9 * from.abs().max(to.abs()) {
            let half = if log { 0.3 } else { (from.abs() * 0.1).max(0.5) };
            (from, to) = (from - half, to + half);
        }
        let margin = (to - from) * 0.05;
        let positive = !log && from >= 0.0;
        (from, to) = (from - margin, to + margin);
        if positive {
            from = from.max(0.0);
        }
        let far_apart =
            || values.windows(2).all(|pair| transform(pair[1]) - transform(pair[0]) >= 0.1 * (to - from));
        let numbers = if ticks_at_values && (2..=8).contains(&values.len()) && far_apart() {
            values
        } else if log {
            log_ticks(from, to)
        } else {
            linear_ticks(from, to, 6.0)
        };
        let ticks = numbers.into_iter().map(|v| (v, label(v))).collect();
        Scale { log, from, to, coordinates, ticks }
    }

    /// Returns the coordinate of a number.
    pub(super) fn coordinate(&self, value: f64) -> f64 {
        let v = if self.log { value.log10() } else { value };
        self.coordinates.0
            + (v - self.from) / (self.to - self.from) * (self.coordinates.1 - self.coordinates.0)
    }

    pub(super) fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }
}

/// Returns about `about` multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(from: f64, to: f64, about: f64) -> Vec<f64> {
    let rough = (to - from) / about;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&s| s >= rough).unwrap_or(power);
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    // Multiplied instead of summed, to avoid visible rounding errors; limited in number.
    (first..=last).take(50).map(|i| i as f64 * step).collect()
}

/// Returns powers of ten; also 2 and 5 times them if they are few, or linear ticks if these are
/// few, too.
fn log_ticks(from: f64, to: f64) -> Vec<f64> {
    let times = |factors: &[f64]| -> Vec<f64> {
        let powers = from.floor() as i32..=to.ceil() as i32;
        let all = powers.flat_map(|p| factors.iter().map(move |f| f * 10f64.powi(p)));
        all.filter(|v| (from..=to).contains(&v.log10())).collect()
    };
    let decades = times(&[1.0]);
    if decades.len() > 8 {
        let every = decades.len().div_ceil(6);
        return decades.into_iter().step_by(every).collect();
    }
    if decades.len() >= 4 {
        return decades;
    }
    let more = times(&[1.0, 2.0, 5.0]);
    if more.len() >= 3 { more } else { linear_ticks(10f64.powf(from), 10f64.powf(to), 5.0) }
}

/// Formats a number for reading: 0.05, 12, 2,500, 3M.
fn label(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:e}");
    }
    if size >= 1e6 {
        return format!("{}M", decimal(value / 1e6));
    }
    decimal(value)
}

/// Formats a number with thousands separators and up to six decimals.
fn decimal(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, decimals) = text.split_once('.').map_or((text, None), |(w, d)| (w, Some(d)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |d| ("-", d));
    let mut out = sign.to_owned();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(decimals) = decimals {
        out.push('.');
        out.push_str(decimals);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (v, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (1.0, "1"),
            (2500.0, "2,500"),
            (-1500.5, "-1,500.5"),
            (3e6, "3M"),
            (1e-7, "1e-7"),
        ] {
            assert_eq!(label(v), text);
        }
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(linear_ticks(0.0, 1000.0, 6.0), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        assert_eq!(log_ticks(0.0, 4.0), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(log_ticks(0.0, 1.0), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(log_ticks(3.0, 3.2), [1000.0, 1200.0, 1400.0]);
        for (log, values) in [(false, vec![]), (true, vec![]), (false, vec![5.0]), (true, vec![5.0])] {
            let scale = Scale::new(values, log, true, (0.0, 100.0));
            assert!(!scale.ticks().is_empty() && scale.coordinate(5.0).is_finite());
        }
        let few = Scale::new(vec![100.0, 300.0, 900.0], false, true, (0.0, 100.0));
        assert_eq!(few.ticks().iter().map(|t| t.1.as_str()).collect::<Vec<_>>(), ["100", "300", "900"]);
    }
}
