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
//! Best and worst are those of all K that are considered, and P, C and S are means over runs. A
//! measure that differs by less than the constants, which are about the noise between two seeds,
//! counts less. A measure that is unknown for some K is ignored. The best K is the smallest one
//! whose score is within 0.01 of the highest.
//!
//! With fewer than ten documents per topic, most topics are due to chance, although the measures
//! may still improve. Such K have no score, are never the best, and are not proposed. If all K that
//! were tried are like that, the smallest one is the best.

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
    /// Score, from 0 to 1; one value, or none if it is unknown or K is too large to be considered.
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
    /// Returns one row per K, in ascending order; `records` are sorted by K and seed. `documents`
    /// is the number of documents of the corpus.
    pub(super) fn all(records: &[SweepRecord], measure: Measure, documents: u64) -> Vec<SweepRow> {
        let groups = records.chunk_by(|a, b| a.topics == b.topics);
        let mut rows: Vec<SweepRow> = groups.map(|records| SweepRow::new(records, measure)).collect();
        set_scores(&mut rows, documents);
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
/// Smallest number of documents per topic. With fewer, most topics are due to chance.
const DOCUMENTS_PER_TOPIC: u64 = 10;

/// Returns the largest K with at least ten documents per topic.
pub(crate) fn max_useful_topics(documents: u64) -> u64 {
    documents / DOCUMENTS_PER_TOPIC
}

/// Returns the number of rows that are considered: those whose topics have at least ten documents
/// each, or else the first row. `rows` are in ascending order of K.
fn considered(rows: &[SweepRow], documents: u64) -> usize {
    let most = max_useful_topics(documents);
    rows.partition_point(|row| u64::from(row.topics) <= most).max(rows.len().min(1))
}

/// Computes the scores of the rows that are considered, which depend on each other.
fn set_scores(rows: &mut [SweepRow], documents: u64) {
    let count = considered(rows, documents);
    let rows = &mut rows[..count];
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

/// Chooses the smallest K whose score is about the highest. `documents` is the number of documents
/// of the corpus.
pub(super) fn choose(rows: &[SweepRow], measure: Measure, documents: u64) -> Option<BestTopicCount> {
    let known: Vec<(&SweepRow, f64)> = rows[..considered(rows, documents)]
        .iter()
        .filter(|row| row.perplexity.mean().is_some())
        .filter_map(|row| Some((row, row.score.mean()?)))
        .collect();
    let highest = known.iter().map(|&(_, score)| score).fold(f64::NEG_INFINITY, f64::max);
    let &(best, score) = known.iter().find(|(_, score)| *score >= highest - SCORE_TOLERANCE)?;
    let k = best.topics;
    let reason = if rows.len() == 1 {
        format!("K = {k} is the only one that was tried.")
    } else if known.len() == 1 {
        format!("K = {k} is the only one that is considered.")
    } else {
        format!(
            "K = {k} has the best balance of prediction, coherence and stability: its score is {score:.2} ({}).",
            describe_parts(best.parts)
        )
    };
    let mut notes = Vec::new();
    if rows.len() == 1 {
        notes.push("Only one K was tried, so there is nothing to compare.".to_owned());
    }
    let next = note_next(&mut notes, rows, k, documents);
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

/// Adds remarks if the best K, `k`, is the smallest or largest one, and if some K are too large to
/// be considered. Returns the K to try next.
fn note_next(notes: &mut Vec<String>, rows: &[SweepRow], k: u32, documents: u64) -> Option<u32> {
    let most = u32::try_from(max_useful_topics(documents)).unwrap_or(u32::MAX);
    let (first, last) = (rows.first()?.topics, rows.last()?.topics);
    if k > most {
        // Only the smallest K that was tried can be above the limit.
        if rows.len() > 1 {
            notes.push(
                "All K that were tried leave fewer than ten documents per topic, so the smallest one is chosen."
                    .to_owned(),
            );
        }
        return (most >= 2).then_some(most);
    }
    let largest = &rows[considered(rows, documents) - 1];
    // A K that is hardly larger is not worth another sweep.
    let larger = k.saturating_mul(2).min(most);
    let larger = Some(larger).filter(|_| k == largest.topics && rows.len() > 1 && larger - k > k / 4);
    let is_limited = last > most || k == last && rows.len() > 1 && larger.is_none();
    if is_limited {
        notes.push(format!("K above {most} is not considered: fewer than ten documents per topic."));
    }
    if larger.is_some() {
        let which = if k == last { "was tried" } else { "is considered" };
        notes.push(format!("It is the largest K that {which}: a larger one may be even better."));
        return larger;
    }
    if k == first && k > 2 && first != largest.topics {
        notes.push("It is the smallest K that was tried: a smaller one may be just as good.".to_owned());
        return Some(k / 2);
    }
    None
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
        chosen_of(rows, 1_000_000)
    }

    fn chosen_of(rows: &[SweepRow], documents: u64) -> BestTopicCount {
        let mut rows = rows.to_vec();
        set_scores(&mut rows, documents);
        choose(&rows, Measure::CNpmi, documents).unwrap_or_else(|| unreachable!("there is a perplexity"))
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
        assert!(choose(&[], Measure::CNpmi, 100).is_none());
    }

    /// Every measure improves until K = 40, but 300 documents are too few for more than 30 topics.
    #[test]
    fn topics_with_few_documents_are_not_considered() {
        let rows = [5, 10, 20, 40].map(|k| row(k, &[1000.0 / f64::from(k)], 0.01 * f64::from(k)));
        let choice = chosen_of(&rows, 300);
        assert_eq!((choice.topics, choice.next), (20, Some(30)));
        assert_eq!(
            choice.notes[..2],
            [
                "K above 30 is not considered: fewer than ten documents per topic.",
                "It is the largest K that is considered: a larger one may be even better."
            ]
        );
        assert!(!choice.notes.iter().any(|note| note.contains("40")), "{:?}", choice.notes);
        // The largest K that was tried is near the limit.
        let choice = chosen_of(&rows, 410);
        assert_eq!((choice.topics, choice.next), (40, None));
        assert!(choice.notes[0].starts_with("K above 41 is not considered"), "{:?}", choice.notes);
        assert_eq!(chosen_of(&rows, 600).next, Some(60));
        // One K is left, and none is left.
        let choice = chosen_of(&rows, 50);
        assert_eq!((choice.topics, choice.next), (5, None));
        assert_eq!(choice.reason, "K = 5 is the only one that is considered.");
        let choice = chosen_of(&rows[1..], 50);
        assert_eq!((choice.topics, choice.next), (10, Some(5)));
        assert!(choice.notes[0].starts_with("All K that were tried"), "{:?}", choice.notes);
        let choice = chosen_of(&rows[3..], 300);
        assert_eq!((choice.topics, choice.next), (40, Some(30)));
        // Neither the scores of the others nor the table depend on a K that is not considered.
        let mut scored = rows.to_vec();
        set_scores(&mut scored, 300);
        assert_eq!(scored[2].score.mean(), Some(1.0));
        assert_eq!(scored[3].score.mean(), None);
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
