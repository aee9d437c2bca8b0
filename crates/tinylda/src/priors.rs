//! Estimation of alpha and beta from the counts of documents and topics: Minka's fixed point for a
//! Dirichlet-multinomial, as in Wallach, Mimno and McCallum (2009) and in MALLET.
//!
//! ```text
//! alpha[k] <- alpha[k] * sum_d [psi(theta[d,k]+alpha[k]) - psi(alpha[k])]
//!                      / sum_d [psi(N[d]+A) - psi(A)]
//! beta     <- beta * sum_wk [psi(phi[w,k]+beta) - psi(beta)]
//!                  / W sum_k [psi(lambda[k]+W*beta) - psi(W*beta)]
//! ```
//!
//! Only the frequency of each count matters, so documents are counted in one histogram per topic,
//! whose size does not depend on their number. Counts are expectations: a tenth of a token stands
//! for one token in a tenth of the cases. A count between two edges of the histogram is therefore
//! divided between them, in whole parts, which add up exactly in any order.
//!
//! Nothing here knows files or threads. When to learn is decided in `train::learn`. Start reading
//! at [`DocumentHistograms::learn`] and [`learn_beta`].
//!
//! Legend: K topics, W words; `theta[d,k]`, `phi[w,k]` and `lambda[k]` counts in tokens; N\[d\] the
//! number of tokens of a document; A the sum of alpha; psi the digamma function.

/// Counts up to this one have an edge each.
const EXACT_COUNTS: u64 = 16;
/// Number of edges per doubling, above the exact counts.
const EDGES_PER_DOUBLING: u64 = 8;
/// Number of doublings, up to counts of 32 bits.
const DOUBLINGS: u64 = 28;
/// Number of edges of a histogram.
pub(crate) const EDGES: usize = (EXACT_COUNTS + EDGES_PER_DOUBLING * DOUBLINGS + 1) as usize;
/// Number of parts that a count is divided into.
const PARTS_PER_COUNT: u64 = 1024;

/// A fixed point is reached when no value changes by more than this fraction.
const TOLERANCE: f64 = 1e-4;
/// Maximum number of fixed-point steps.
const MAX_STEPS: u32 = 50;

/// Minimum alpha as a fraction of its initial value, for topics that no document uses: such a topic
/// can be used again later.
const MIN_ALPHA_FRACTION: f64 = 0.01;
/// Minimum alpha. It keeps message updates within the range of 32-bit floats.
const MIN_ALPHA: f64 = 1e-8;
/// Maximum alpha, unless the initial value is larger. If documents do not distinguish topics, theta
/// is uniform, which raises alpha, which makes theta more uniform: without a limit alpha would grow
/// from pass to pass.
const MAX_ALPHA: f64 = 1.0;
/// Minimum beta.
const MIN_BETA: f64 = 1e-6;
/// Maximum beta. It is reached if there are too few tokens to tell topics apart.
pub(crate) const MAX_BETA: f64 = 10.0;

/// First pass after which alpha and beta are learned. Earlier topics are not meaningful yet. During
/// the search for topics, `tbp` alternates over-relaxed and plain passes in the same rhythm,
/// whether priors are learned or not.
pub(crate) const FIRST_PASS: u32 = 10;
/// Number of passes between two estimates.
pub(crate) const PASS_INTERVAL: u32 = 5;

/// Returns whether alpha and beta are learned after this pass.
pub(crate) fn is_due(pass: u32) -> bool {
    pass >= FIRST_PASS && pass.is_multiple_of(PASS_INTERVAL)
}

/// Returns the count at an edge of the histogram.
fn edge(i: usize) -> u64 {
    let i = i as u64;
    if i < EXACT_COUNTS {
        return i;
    }
    let (doubling, step) = ((i - EXACT_COUNTS) / EDGES_PER_DOUBLING, (i - EXACT_COUNTS) % EDGES_PER_DOUBLING);
    (EDGES_PER_DOUBLING + step) << (doubling + 1)
}

/// Returns the edge at or below a count, and the number of parts that belong to the next edge.
fn bracket(count: f64) -> (usize, u64) {
    let count = count.clamp(0.0, edge(EDGES - 1) as f64 - 1.0);
    let whole = count as u64;
    let i = if whole < EXACT_COUNTS {
        whole
    } else {
        let doubling = u64::from(whole.ilog2()) - u64::from(EXACT_COUNTS.ilog2());
        EXACT_COUNTS + doubling * EDGES_PER_DOUBLING + (whole >> (doubling + 1)) - EDGES_PER_DOUBLING
    } as usize;
    let (from, to) = (edge(i) as f64, edge(i + 1) as f64);
    (i, ((count - from) / (to - from) * PARTS_PER_COUNT as f64).round() as u64)
}

/// Frequencies of counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Histogram(Vec<u64>);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram(vec![0; EDGES])
    }
}

impl Histogram {
    /// Adds a count. Zeros may be omitted: they contribute nothing.
    pub(crate) fn add(&mut self, count: f64) {
        let (i, parts) = bracket(count);
        self.0[i] += PARTS_PER_COUNT - parts;
        self.0[i + 1] += parts;
    }

    /// Returns the sum over all counts n of psi(n+a) - psi(a).
    fn sum(&self, a: f64) -> f64 {
        let last = self.0.iter().rposition(|&n| n > 0).unwrap_or(0);
        let (mut rise, mut sum) = (0.0, 0.0);
        let start = digamma(a);
        for (i, &n) in self.0[..=last].iter().enumerate().skip(1) {
            // psi(x+1) = psi(x) + 1/x.
            rise = if i as u64 <= EXACT_COUNTS {
                rise + 1.0 / (a + (i - 1) as f64)
            } else {
                digamma(edge(i) as f64 + a) - start
            };
            if n > 0 {
                sum += n as f64 * rise;
            }
        }
        sum / PARTS_PER_COUNT as f64
    }
}

/// Returns psi(x), the derivative of the logarithm of the gamma function, for x > 0.
fn digamma(mut x: f64) -> f64 {
    let mut less = 0.0;
    while x < 8.0 {
        less += 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y / 132.0))));
    libm::log(x) - 0.5 / x - series - less
}

/// Histograms of the counts of documents: one per topic, and one of the document lengths.
#[derive(Debug)]
pub(crate) struct DocumentHistograms {
    topics: Vec<Histogram>,
    lengths: Histogram,
}

impl DocumentHistograms {
    pub(crate) fn new(topics: u32) -> DocumentHistograms {
        DocumentHistograms {
            topics: vec![Histogram::default(); topics as usize],
            lengths: Histogram::default(),
        }
    }

    /// Adds a document.
    pub(crate) fn add(&mut self, tokens: u64, theta: &[f32]) {
        self.lengths.add(tokens as f64);
        for (topic, &count) in self.topics.iter_mut().zip(theta) {
            if count > 0.0 {
                topic.add(f64::from(count));
            }
        }
    }

    /// Improves `alpha` by fixed-point steps. `start` is the initial value of every topic.
    pub(crate) fn learn(&self, alpha: &mut [f32], start: f64) {
        let (least, most) = ((MIN_ALPHA_FRACTION * start).max(MIN_ALPHA), start.max(MAX_ALPHA));
        let mut now: Vec<f64> = alpha.iter().map(|&a| f64::from(a)).collect();
        for _ in 0..MAX_STEPS {
            let denominator = self.lengths.sum(now.iter().sum());
            if denominator <= 0.0 {
                return;
            }
            let mut changed = 0f64;
            for (a, topic) in now.iter_mut().zip(&self.topics) {
                let new = (*a * topic.sum(*a) / denominator).clamp(least, most);
                changed = changed.max((new - *a).abs() / *a);
                *a = new;
            }
            if changed < TOLERANCE {
                break;
            }
        }
        alpha.iter_mut().zip(now).for_each(|(to, a)| *to = a as f32);
    }
}

/// Returns an improved beta, given the counts of words in topics (`cells`) and of topics
/// (`lambda`).
pub(crate) fn learn_beta(beta: f32, cells: &Histogram, lambda: &[f64], words: u32) -> f32 {
    let (mut now, words) = (f64::from(beta), f64::from(words));
    for _ in 0..MAX_STEPS {
        let smooth = words * now;
        let start = digamma(smooth);
        let denominator: f64 = lambda.iter().map(|&n| digamma(n + smooth) - start).sum::<f64>() * words;
        if denominator <= 0.0 {
            return beta;
        }
        let new = (now * cells.sum(now) / denominator).clamp(MIN_BETA, MAX_BETA);
        let changed = (new - now).abs() / now;
        now = new;
        if changed < TOLERANCE {
            break;
        }
    }
    now as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Random};

    #[test]
    fn edges_rise_and_every_count_is_between_two() {
        for i in 1..EDGES {
            assert!(edge(i) > edge(i - 1), "{i}");
        }
        assert!(edge(EDGES - 1) > u64::from(u32::MAX));
        for count in (0..100_000u64).chain((0..32).map(|power| (1 << power) + 1)) {
            let (i, parts) = bracket(count as f64);
            assert!(edge(i) <= count && count < edge(i + 1) && parts <= PARTS_PER_COUNT, "{count}");
            if count < EXACT_COUNTS {
                assert_eq!((i as u64, parts), (count, 0));
            }
        }
        // Half a token stands for one token in half of the cases.
        assert_eq!(bracket(0.5), (0, PARTS_PER_COUNT / 2));
        assert_eq!(bracket(1e30).0, EDGES - 2);
    }

    #[test]
    fn digamma_is_right() {
        for (x, expected) in [
            (1.0, -0.577_215_664_901_532_9),
            (0.01, -100.560_885_457_868_7),
            (0.5, -1.963_510_026_021_423_5),
            (10.0, 2.251_752_589_066_721),
            (1e6, 13.815_510_057_964_274),
        ] {
            let found = digamma(x);
            assert!((found - expected).abs() < 1e-11 * (1.0 + expected.abs()), "{x}: {found}");
        }
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        let mut histogram = Histogram::default();
        let counts = [1u64, 1, 2, 7, 16, 17, 40, 333, 100_000];
        for n in counts {
            histogram.add(n as f64);
        }
        for a in [0.01, 0.3, 5.0] {
            let expected: f64 = counts.iter().map(|&n| digamma(n as f64 + a) - digamma(a)).sum();
            let found = histogram.sum(a);
            assert!((found - expected).abs() < 1e-3 * expected, "{a}: {found} {expected}");
        }
    }

    /// The parameters of a Dirichlet-multinomial (an urn model) are recovered from documents drawn
    /// from it.
    #[test]
    fn known_parameters_are_found() {
        let truth = [0.8, 0.2, 0.05, 0.0];
        let mut documents = DocumentHistograms::new(4);
        let mut random = Random::new(3, Purpose::InitialTopic, 0);
        for _ in 0..4000 {
            let mut theta = [0f32; 4];
            for _ in 0..60 {
                let all: f64 = truth.iter().zip(theta).map(|(a, n)| a + f64::from(n)).sum();
                let mut left = random.unit() * all;
                let k = (0..3).find(|&k| {
                    left -= truth[k] + f64::from(theta[k]);
                    left < 0.0
                });
                theta[k.unwrap_or(2)] += 1.0;
            }
            documents.add(60, &theta);
        }
        let mut alpha = [0.5f32; 4];
        for _ in 0..20 {
            documents.learn(&mut alpha, 0.5);
        }
        for (found, expected) in alpha.into_iter().zip([0.8, 0.2, 0.05, 0.005]) {
            assert!((f64::from(found) - expected).abs() < 0.07 * expected, "{alpha:?}");
        }
    }

    #[test]
    fn nothing_to_learn_from_changes_nothing() {
        let mut alpha = [0.5f32; 2];
        DocumentHistograms::new(2).learn(&mut alpha, 0.5);
        assert_eq!(alpha, [0.5; 2]);
        assert_eq!(learn_beta(0.01, &Histogram::default(), &[0.0; 2], 5), 0.01);
    }
}
