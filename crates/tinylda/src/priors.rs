//! alpha and beta learned from what documents and topics have: Minka's fixed point for a Dirichlet-multinomial, as Wallach, Mimno
//! and McCallum (2009) and MALLET have it.
//!
//! ```text
//! alpha[k] <- alpha[k] * sum_d [psi(theta[d,k]+alpha[k]) - psi(alpha[k])] / sum_d [psi(N[d]+A) - psi(A)]
//! beta     <- beta * sum_wk [psi(phi[w,k]+beta) - psi(beta)] / W sum_k [psi(lambda[k]+W*beta) - psi(W*beta)]
//! ```
//!
//! Only how often each count occurs matters, so documents are counted in a histogram per topic, of a size that does not
//! depend on their number. Counts here are expectations, and a tenth of a token is not a small count but one token in a tenth of the
//! cases: a count between two edges of the histogram is shared out between them, in whole parts, which add up exactly in any order.
//!
//! Legend: K topics, W words; `theta[d,k]`, `phi[w,k]`, `lambda[k]` counts in tokens; N\[d\] tokens of a document; A the sum of alpha;
//! psi the digamma function.

/// Up to here every count has an edge of its own;
const EXACT: u64 = 16;
/// from there on there are so many for each doubling,
const PER_DOUBLING: u64 = 8;
/// up to the 32 bits of a count.
const DOUBLINGS: u64 = 28;
/// Edges of a histogram.
pub(crate) const EDGES: usize = (EXACT + PER_DOUBLING * DOUBLINGS + 1) as usize;
/// What one count weighs.
const WHOLE: u64 = 1024;

/// A fixed point is reached when nothing changes by more than this share, or after so many steps.
const STILL: f64 = 1e-4;
const STEPS: u32 = 50;

/// alpha of a topic that documents do not use is this share of what it began with: the topic can come back.
const LEAST_ALPHA: f64 = 0.01;
/// Never less than this: the update of messages stays inside the range of 32-bit floats.
const ALPHA: f64 = 1e-8;
/// Nor more than this, or what it began with. Where documents do not tell topics apart theta is even, which calls for a larger alpha,
/// which makes theta even: without an end it would grow from pass to pass.
const MOST_ALPHA: f64 = 1.0;
const BETA: (f64, f64) = (1e-6, 10.0);

/// The first passes find topics: there is nothing to learn from yet. While topics are sought `tbp` comes to rest up to every such pass,
/// whether there is anything to learn or not.
pub(crate) const FIRST: u32 = 10;
/// Then after every so many passes.
pub(crate) const EVERY: u32 = 5;

/// Whether alpha and beta are learned after this pass.
pub(crate) fn due(pass: u32) -> bool {
    pass >= FIRST && pass.is_multiple_of(EVERY)
}

/// A count of the histogram.
fn edge(i: usize) -> u64 {
    let i = i as u64;
    if i < EXACT {
        return i;
    }
    let (doubling, step) = ((i - EXACT) / PER_DOUBLING, (i - EXACT) % PER_DOUBLING);
    (PER_DOUBLING + step) << (doubling + 1)
}

/// Between which edges a count is: the lower one, and the parts that belong to the upper one.
fn between(count: f64) -> (usize, u64) {
    let count = count.clamp(0.0, edge(EDGES - 1) as f64 - 1.0);
    let whole = count as u64;
    let i = if whole < EXACT {
        whole
    } else {
        let doubling = u64::from(whole.ilog2()) - u64::from(EXACT.ilog2());
        EXACT + doubling * PER_DOUBLING + (whole >> (doubling + 1)) - PER_DOUBLING
    } as usize;
    let (from, to) = (edge(i) as f64, edge(i + 1) as f64);
    (i, ((count - from) / (to - from) * WHOLE as f64).round() as u64)
}

/// How often each count occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Histogram(Vec<u64>);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram(vec![0; EDGES])
    }
}

impl Histogram {
    /// One more count. Zeros need not be told: they add nothing.
    pub(crate) fn add(&mut self, count: f64) {
        let (i, parts) = between(count);
        self.0[i] += WHOLE - parts;
        self.0[i + 1] += parts;
    }

    /// The sum over all counts n of psi(n+a) - psi(a).
    fn sum(&self, a: f64) -> f64 {
        let last = self.0.iter().rposition(|&n| n > 0).unwrap_or(0);
        let (mut rise, mut sum) = (0.0, 0.0);
        let start = digamma(a);
        for (i, &n) in self.0[..=last].iter().enumerate().skip(1) {
            // psi(x+1) = psi(x) + 1/x.
            rise = if i as u64 <= EXACT {
                rise + 1.0 / (a + (i - 1) as f64)
            } else {
                digamma(edge(i) as f64 + a) - start
            };
            if n > 0 {
                sum += n as f64 * rise;
            }
        }
        sum / WHOLE as f64
    }
}

/// psi, the derivative of the logarithm of the gamma function, for x > 0.
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

/// What documents have: how often each count occurs in each topic, and each length.
#[derive(Debug)]
pub(crate) struct Documents {
    topics: Vec<Histogram>,
    lengths: Histogram,
}

impl Documents {
    pub(crate) fn new(topics: u32) -> Documents {
        Documents { topics: vec![Histogram::default(); topics as usize], lengths: Histogram::default() }
    }

    /// One more document.
    pub(crate) fn add(&mut self, tokens: u64, theta: &[f32]) {
        self.lengths.add(tokens as f64);
        for (topic, &count) in self.topics.iter_mut().zip(theta) {
            if count > 0.0 {
                topic.add(f64::from(count));
            }
        }
    }

    /// alpha, from what it is; `start` is what every topic began with.
    pub(crate) fn learn(&self, alpha: &mut [f32], start: f64) {
        let (least, most) = ((LEAST_ALPHA * start).max(ALPHA), start.max(MOST_ALPHA));
        let mut now: Vec<f64> = alpha.iter().map(|&a| f64::from(a)).collect();
        for _ in 0..STEPS {
            let below = self.lengths.sum(now.iter().sum());
            if below <= 0.0 {
                return;
            }
            let mut changed = 0f64;
            for (a, topic) in now.iter_mut().zip(&self.topics) {
                let new = (*a * topic.sum(*a) / below).clamp(least, most);
                changed = changed.max((new - *a).abs() / *a);
                *a = new;
            }
            if changed < STILL {
                break;
            }
        }
        alpha.iter_mut().zip(now).for_each(|(to, a)| *to = a as f32);
    }
}

/// beta, from what it is, the counts of words in topics, and those of topics.
pub(crate) fn learn_beta(beta: f32, cells: &Histogram, lambda: &[f64], words: u32) -> f32 {
    let (mut now, words) = (f64::from(beta), f64::from(words));
    for _ in 0..STEPS {
        let smooth = words * now;
        let start = digamma(smooth);
        let below: f64 = lambda.iter().map(|&n| digamma(n + smooth) - start).sum::<f64>() * words;
        if below <= 0.0 {
            return beta;
        }
        let new = (now * cells.sum(now) / below).clamp(BETA.0, BETA.1);
        let changed = (new - now).abs() / now;
        now = new;
        if changed < STILL {
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
            let (i, parts) = between(count as f64);
            assert!(edge(i) <= count && count < edge(i + 1) && parts <= WHOLE, "{count}");
            if count < EXACT {
                assert_eq!((i as u64, parts), (count, 0));
            }
        }
        // A half of a token is one token in half of the cases.
        assert_eq!(between(0.5), (0, WHOLE / 2));
        assert_eq!(between(1e30).0, EDGES - 2);
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

    /// Documents drawn from a Dirichlet-multinomial (an urn): its parameters are found again.
    #[test]
    fn known_parameters_are_found() {
        let truth = [0.8, 0.2, 0.05, 0.0];
        let mut documents = Documents::new(4);
        let mut random = Random::new(3, Purpose::Start, 0);
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
        Documents::new(2).learn(&mut alpha, 0.5);
        assert_eq!(alpha, [0.5; 2]);
        assert_eq!(learn_beta(0.01, &Histogram::default(), &[0.0; 2], 5), 0.01);
    }
}
