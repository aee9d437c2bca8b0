//! Axes: where a number is, and which numbers are named.

/// From numbers to places.
#[derive(Debug)]
pub(super) struct Scale {
    log: bool,
    /// Numbers at both ends; their logarithms where the scale is logarithmic.
    from: f64,
    to: f64,
    places: (f64, f64),
    ticks: Vec<(f64, String)>,
}

impl Scale {
    /// A scale for all these numbers; `own`: a few different ones may be named themselves.
    pub(super) fn new(mut values: Vec<f64>, log: bool, own: bool, places: (f64, f64)) -> Scale {
        values.sort_by(f64::total_cmp);
        values.dedup();
        let given = |v: Option<&f64>, without: f64| v.copied().unwrap_or(without);
        let (low, high) = (given(values.first(), 1.0), given(values.last(), 10.0));
        let turn = |v: f64| if log { v.log10() } else { v };
        let (mut from, mut to) = (turn(low), turn(high));
        // One number is in the middle.
        if to - from <= 1e-9 * from.abs().max(to.abs()) {
            let half = if log { 0.3 } else { (from.abs() * 0.1).max(0.5) };
            (from, to) = (from - half, to + half);
        }
        let room = (to - from) * 0.05;
        let positive = !log && from >= 0.0;
        (from, to) = (from - room, to + room);
        if positive {
            from = from.max(0.0);
        }
        let far_apart = || values.windows(2).all(|pair| turn(pair[1]) - turn(pair[0]) >= 0.1 * (to - from));
        let numbers = if own && (2..=8).contains(&values.len()) && far_apart() {
            values
        } else if log {
            log_ticks(from, to)
        } else {
            linear_ticks(from, to, 6.0)
        };
        let ticks = numbers.into_iter().map(|v| (v, name(v))).collect();
        Scale { log, from, to, places, ticks }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let v = if self.log { value.log10() } else { value };
        self.places.0 + (v - self.from) / (self.to - self.from) * (self.places.1 - self.places.0)
    }

    pub(super) fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, about so many.
fn linear_ticks(from: f64, to: f64, about: f64) -> Vec<f64> {
    let rough = (to - from) / about;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&s| s >= rough).unwrap_or(power);
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    // Not a sum of steps, whose errors would show; and never without an end.
    (first..=last).take(50).map(|i| i as f64 * step).collect()
}

/// Powers of ten; 1, 2 and 5 times them where these are few, and any round numbers where those are.
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

/// A number as it is read most easily: 0.05, 12, 2,500, 3M.
fn name(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:e}");
    }
    if size >= 1e6 {
        return format!("{}M", plain(value / 1e6));
    }
    plain(value)
}

/// With thousands, and as many decimals as it needs, at most six.
fn plain(value: f64) -> String {
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
            assert_eq!(name(v), text);
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
            assert!(!scale.ticks().is_empty() && scale.place(5.0).is_finite());
        }
        let few = Scale::new(vec![100.0, 300.0, 900.0], false, true, (0.0, 100.0));
        assert_eq!(few.ticks().iter().map(|t| t.1.as_str()).collect::<Vec<_>>(), ["100", "300", "900"]);
    }
}
