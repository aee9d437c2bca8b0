//! Summarizes the runs of each K and chooses the best K.
//!
//! The perplexity of held-out documents usually falls with K until topics are far too many to read,
//! so it must not decide alone. The score of a K is the mean of three values from 0 to 1:
//!
//! ```text
//! perplexity  (log P_worst - log P) / max(log P_worst - log P_best, 0.02)
//! coherence   (C - C_worst) / max(C_best - C_worst, 0.02)
//! stability   (S - S_worst) / max(S_best - S_worst, 0.05)
//! ```
//!
//! Best and worst are those of all K that were tried, and P, C and S are means over runs. A measure
//! that differs by less than the constants, which are about the noise between two seeds, counts
//! less. A measure that is unknown for some K is ignored. The best K is the smallest one whose
//! score is within 0.01 of the highest.

use tinylda::eval::{Measure, word_overlap};

use super::runs::SweepRecord;

/// Summary of all runs with one K.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SweepRow {
    /// Number of topics.
    pub topics: u32,
    /// Predictive perplexity of the held-out documents.
    pub perplexity: RunValues,
    /// Mean coherence of the topics; not a number if no topic has a value.
    pub coherence: RunValues,
    /// Fraction of distinct words among the top words of all topics.
    pub diversity: RunValues,
    /// Similarity of the topics of each run with those of the other runs. Empty if there is one
    /// run.
    pub stability: RunValues,
    /// Score, from 0 to 1; one value, or none if it is unknown.
    pub score: RunValues,
    /// The parts of the score.
    pub parts: ScoreParts,
    /// Time of training and evaluation.
    pub seconds: RunValues,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
}

/// The parts of a score, from 0 to 1; `None` if a measure is unknown for some K.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct ScoreParts {
    /// Part of the perplexity.
    pub perplexity: Option<f64>,
    /// Part of the coherence.
    pub coherence: Option<f64>,
    /// Part of the stability.
    pub stability: Option<f64>,
}

/// One value per run.
#[derive(Debug, Clone, Default)]
pub struct RunValues(pub Vec<f64>);

impl RunValues {
    /// Returns the mean of the finite values, if there are any.
    pub fn mean(&self) -> Option<f64> {
        let finite: Vec<f64> = self.0.iter().copied().filter(|v| v.is_finite()).collect();
        (!finite.is_empty()).then(|| finite.iter().sum::<f64>() / finite.len() as f64)
    }

    /// Returns the standard deviation, if there is more than one run.
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.0.len() > 1)?;
        let squares: f64 = self.0.iter().map(|v| (v - mean) * (v - mean)).sum();
        Some((squares / (self.0.len() - 1) as f64).sqrt())
    }
}

impl SweepRow {
    /// Returns one row per K, in ascending order; `records` are sorted by K and seed.
    pub(super) fn all(records: &[SweepRecord], measure: Measure) -> Vec<SweepRow> {
        let groups = records.chunk_by(|a, b| a.topics == b.topics);
        let mut rows: Vec<SweepRow> = groups.map(|records| SweepRow::new(records, measure)).collect();
        set_scores(&mut rows);
        rows
    }

    fn new(records: &[SweepRecord], measure: Measure) -> SweepRow {
        let mut row = SweepRow { topics: records.first().map_or(0, |r| r.topics), ..SweepRow::default() };
        let measured: Vec<_> = records.iter().filter_map(|r| Some((r, r.measures.as_ref()?))).collect();
        for (record, measures) in &measured {
            row.seeds.push(record.seed);
            row.perplexity.0.push(measures.predictive_perplexity);
            row.coherence.0.push(measures.coherence(measure).unwrap_or(f64::NAN));
            row.diversity.0.push(measures.diversity);
            row.seconds.0.push(record.training.seconds + measures.seconds);
        }
        let n = measured.len();
        if n > 1 {
            let mut sums = vec![0f64; n];
            for i in 0..n {
                for j in 0..i {
                    let overlap = word_overlap(&measured[i].1.words, &measured[j].1.words);
                    sums[i] += overlap;
                    sums[j] += overlap;
                }
            }
            row.stability.0 = sums.into_iter().map(|sum| sum / (n - 1) as f64).collect();
        }
        row
    }
}

/// The best K and the reason for it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BestTopicCount {
    /// Number of topics.
    pub topics: u32,
    /// Seed of the best run with this K.
    pub seed: u64,
    /// Reason, as a sentence.
    pub reason: String,
    /// Further remarks, one sentence each.
    pub notes: Vec<String>,
    /// K to try next, if the best one is the smallest or largest that was tried.
    pub next: Option<u32>,
}

/// Smallest difference of the logarithm of the perplexity that counts in full: 2%.
const PERPLEXITY_RANGE: f64 = 0.02;
/// Smallest difference of the coherence that counts in full.
const COHERENCE_RANGE: f64 = 0.02;
/// Smallest difference of the stability that counts in full.
const STABILITY_RANGE: f64 = 0.05;
/// Difference of scores within which the smaller K is better.
const SCORE_TOLERANCE: f64 = 0.01;

/// Computes the scores of all rows, which depend on the K that were tried.
fn set_scores(rows: &mut [SweepRow]) {
    let perplexity = |row: &SweepRow| row.perplexity.mean().map(|p| -p.ln());
    let scaled = [
        scale(rows, perplexity, PERPLEXITY_RANGE),
        scale(rows, |row| row.coherence.mean(), COHERENCE_RANGE),
        scale(rows, |row| row.stability.mean(), STABILITY_RANGE),
    ];
    for (i, row) in rows.iter_mut().enumerate() {
        let [perplexity, coherence, stability] =
            [0, 1, 2].map(|part: usize| scaled[part].as_ref().map(|values| values[i]));
        row.parts = ScoreParts { perplexity, coherence, stability };
        let known: Vec<f64> = [perplexity, coherence, stability].into_iter().flatten().collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        row.score = RunValues(if known.is_empty() { Vec::new() } else { vec![mean] });
    }
}

/// Scales a measure, of which higher values are better, from 0 for the worst K to 1 for the best.
/// Returns `None` if it is unknown for some K.
fn scale(rows: &[SweepRow], of: impl Fn(&SweepRow) -> Option<f64>, min_range: f64) -> Option<Vec<f64>> {
    let values: Vec<f64> = rows.iter().map(of).collect::<Option<_>>()?;
    let worst = values.iter().copied().fold(f64::INFINITY, f64::min);
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = (best - worst).max(min_range);
    Some(values.into_iter().map(|value| (value - worst) / range).collect())
}

/// Chooses the smallest K whose score is about the highest.
pub(super) fn choose(rows: &[SweepRow], measure: Measure) -> Option<BestTopicCount> {
    let known: Vec<(&SweepRow, f64)> = rows
        .iter()
        .filter(|row| row.perplexity.mean().is_some())
        .filter_map(|row| Some((row, row.score.mean()?)))
        .collect();
    let highest = known.iter().map(|&(_, score)| score).fold(f64::NEG_INFINITY, f64::max);
    let &(best, score) = known.iter().find(|(_, score)| *score >= highest - SCORE_TOLERANCE)?;
    let k = best.topics;
    let reason = if known.len() == 1 {
        format!("K = {k} is the only one that was tried.")
    } else {
        format!(
            "K = {k} has the best balance of prediction, coherence and stability: its score is {score:.2} ({}).",
            describe_parts(best.parts)
        )
    };
    let mut notes = Vec::new();
    let (first, last) = (known.first()?.0.topics, known.last()?.0.topics);
    let next = match () {
        () if first == last => {
            notes.push("Only one K was tried, so there is nothing to compare.".to_owned());
            None
        }
        () if k == last => {
            notes.push("It is the largest K that was tried: a larger one may be even better.".to_owned());
            k.checked_mul(2)
        }
        () if k == first && k > 2 => {
            notes.push("It is the smallest K that was tried: a smaller one may be just as good.".to_owned());
            Some(k / 2)
        }
        () => None,
    };
    let lowest = known.iter().filter_map(|(row, _)| Some((row.topics, row.perplexity.mean()?)));
    if let Some((other, value)) = lowest.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(other, _)| *other != k) {
        let here = best.perplexity.mean().unwrap_or(f64::NAN);
        notes.push(format!("Perplexity alone suggests another K: it is lowest at K = {other}, with {value:.1} instead of {here:.1}."));
    }
    let coherence = format!("Coherence ({})", measure.name());
    note_other_best(&mut notes, &known, best, &coherence, |row| &row.coherence);
    note_other_best(&mut notes, &known, best, "Stability", |row| &row.stability);
    if known.iter().all(|(row, _)| row.seeds.len() == 1) {
        let what = "With one run per K, differences may be due to chance, and stability is unknown: \
                    see --repeats.";
        notes.push(what.to_owned());
    }
    let runs = best.perplexity.0.iter().zip(&best.seeds);
    let seed = runs.min_by(|a, b| a.0.total_cmp(b.0)).map(|(_, &seed)| seed)?;
    Some(BestTopicCount { topics: k, seed, reason, notes, next })
}

/// Describes the known parts of a score.
fn describe_parts(parts: ScoreParts) -> String {
    let named =
        [("perplexity", parts.perplexity), ("coherence", parts.coherence), ("stability", parts.stability)];
    let known = named.iter().filter_map(|(name, value)| Some(format!("{name} {:.2}", (*value)?)));
    known.collect::<Vec<_>>().join(", ")
}

/// Adds a remark if another K has a higher value of a measure.
fn note_other_best(
    notes: &mut Vec<String>,
    known: &[(&SweepRow, f64)],
    best: &SweepRow,
    what: &str,
    of: impl Fn(&SweepRow) -> &RunValues,
) {
    let most = known.iter().filter_map(|(row, _)| Some((row.topics, of(row).mean()?)));
    let Some((k, value)) = most.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    let here = of(best).mean();
    if k != best.topics && here.is_none_or(|here| here < value) {
        let here = here.map_or_else(|| "unknown".to_owned(), |here| format!("{here:.3}"));
        notes.push(format!(
            "{what} alone suggests another K: it is highest at K = {k}, with {value:.3} instead of {here}."
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(topics: u32, perplexity: &[f64], coherence: f64) -> SweepRow {
        SweepRow {
            topics,
            perplexity: RunValues(perplexity.to_vec()),
            coherence: RunValues(vec![coherence; perplexity.len()]),
            seeds: (1..=perplexity.len() as u64).collect(),
            ..SweepRow::default()
        }
    }

    fn chosen(rows: &[SweepRow]) -> BestTopicCount {
        let mut rows = rows.to_vec();
        set_scores(&mut rows);
        choose(&rows, Measure::CNpmi).unwrap_or_else(|| unreachable!("there is a perplexity"))
    }

    /// Perplexity falls until the largest K, but coherence and stability do not rise as well.
    #[test]
    fn u14_perplexity_alone_does_not_choose_the_largest() {
        let mut rows = vec![
            row(5, &[2000.0, 2010.0], 0.08),
            row(10, &[1700.0, 1690.0], 0.12),
            row(20, &[1560.0, 1550.0], 0.14),
            row(40, &[1500.0, 1510.0], 0.13),
            row(80, &[1470.0, 1480.0], 0.09),
        ];
        for (row, stability) in rows.iter_mut().zip([0.7, 0.66, 0.6, 0.45, 0.3]) {
            row.stability = RunValues(vec![stability; 2]);
        }
        let choice = chosen(&rows);
        assert_eq!((choice.topics, choice.seed, choice.next), (20, 2, None));
        for part in ["best balance", "perplexity 0.8", "coherence 1.00", "stability 0.75"] {
            assert!(choice.reason.contains(part), "{part}: {}", choice.reason);
        }
        assert!(choice.notes.iter().any(|n| n.contains("Perplexity alone") && n.contains("K = 80")));
        assert!(choice.notes.iter().any(|n| n.contains("Stability alone") && n.contains("K = 5")));
        // Without coherence and stability, only the perplexity is left.
        for row in &mut rows {
            (row.coherence, row.stability) = (RunValues(vec![f64::NAN; 2]), RunValues::default());
        }
        assert_eq!(chosen(&rows).topics, 80);
    }

    #[test]
    fn small_differences_hardly_count() {
        // Nothing but noise: the smallest K is as good as any.
        let rows = [
            row(10, &[100.0], 0.1),
            row(20, &[99.99], 0.1001),
            row(40, &[100.02], 0.1),
            row(80, &[99.98], 0.1),
        ];
        assert_eq!(chosen(&rows).topics, 10);
    }

    #[test]
    fn extreme_k_suggests_another() {
        let rows = [row(10, &[120.0], 0.1), row(20, &[100.0], 0.2)];
        let choice = chosen(&rows);
        assert_eq!((choice.topics, choice.next), (20, Some(40)));
        assert!(
            choice.notes[0].contains("largest")
                && choice.notes.last().is_some_and(|n| n.contains("--repeats"))
        );
        let rows = [row(10, &[90.0], 0.1), row(20, &[100.0], f64::NAN)];
        assert_eq!(chosen(&rows).next, Some(5));
        assert!(chosen(&rows[..1]).notes[0].contains("Only one"));
        assert!(choose(&[], Measure::CNpmi).is_none());
    }

    #[test]
    fn deviations() {
        let values = RunValues(vec![1.0, 2.0, 3.0, 4.0]);
        assert!((values.mean().unwrap_or(0.0) - 2.5).abs() < 1e-12);
        assert!((values.deviation().unwrap_or(0.0) - (5.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(RunValues(vec![1.0]).deviation(), None);
        assert_eq!(RunValues(vec![f64::NAN]).mean(), None);
    }
}
