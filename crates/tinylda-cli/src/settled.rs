//! The training perplexity without the oscillation of over-relaxed passes.
//!
//! `tbp` alternates between over-relaxed passes, which search for topics and raise the perplexity,
//! and plain passes, in which the topics settle. Its perplexity therefore rises and falls with a
//! [period](Algorithm::pass_period) of some passes. Progress and plots show the lowest value of the
//! last period, which is that of a plain pass. The log keeps the values of all passes.

use std::collections::VecDeque;

use tinylda::Algorithm;

/// Computes the lowest perplexity of the last period.
#[derive(Debug, Clone)]
pub(crate) struct SettledPerplexity {
    period: usize,
    recent: VecDeque<f64>,
}

impl SettledPerplexity {
    /// Starts with no passes. The period of an unknown algorithm is one pass.
    pub(crate) fn new(algorithm: &str) -> SettledPerplexity {
        let period = Algorithm::named(algorithm).map_or(1, Algorithm::pass_period) as usize;
        SettledPerplexity { period, recent: VecDeque::with_capacity(period) }
    }

    /// Adds the perplexity of a pass and returns the settled one.
    pub(crate) fn push(&mut self, perplexity: f64) -> f64 {
        if self.recent.len() == self.period {
            self.recent.pop_front();
        }
        self.recent.push_back(perplexity);
        self.recent.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns whether the perplexity of the algorithm oscillates.
    pub(crate) fn oscillates(&self) -> bool {
        self.period > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u16_over_relaxed_passes_do_not_show() {
        let all = [90.0, 80.0, 70.0, 60.0, 50.0, 49.0, 55.0, 56.0, 57.0, 50.0, 47.0, 52.0, 53.0, 54.0, 48.0];
        let mut settled = SettledPerplexity::new("tbp");
        let shown: Vec<f64> = all.iter().map(|&value| settled.push(value)).collect();
        assert!(shown.windows(2).all(|pair| pair[1] <= pair[0] + 1.0), "{shown:?}");
        assert_eq!(shown[..6], all[..6]);
        assert!((shown[14] - 47.0_f64).abs() < 1e-12);
        assert!(settled.oscillates());
        // Other algorithms do not oscillate, and their values are shown as they are.
        let mut settled = SettledPerplexity::new("gibbs");
        assert_eq!(all.map(|value| settled.push(value).to_bits()), all.map(f64::to_bits));
        assert!(!settled.oscillates());
    }
}
