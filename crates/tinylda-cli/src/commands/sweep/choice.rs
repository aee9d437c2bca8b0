//! Summarizes the runs of each K and chooses the best K.

use tinylda::eval::{Measure, word_overlap};

use super::runs::SweepRecord;

/// Summary of all runs with one K.
#[derive(Debug, Clone, Default)]
pub(super) struct SweepRow {
    pub(super) topics: u32,
    pub(super) perplexity: RunValues,
    pub(super) coherence: RunValues,
    pub(super) diversity: RunValues,
    /// Similarity of the topics of each run with those of the other runs. Empty if there is one
    /// run.
    pub(super) stability: RunValues,
    /// Time of training and evaluation.
    pub(super) seconds: RunValues,
    pub(super) seeds: Vec<u64>,
}

/// One value per run.
#[derive(Debug, Clone, Default)]
pub(super) struct RunValues(pub(super) Vec<f64>);

impl RunValues {
    /// Returns the mean of the finite values, if there are any.
    pub(super) fn mean(&self) -> Option<f64> {
        let finite: Vec<f64> = self.0.iter().copied().filter(|v| v.is_finite()).collect();
        (!finite.is_empty()).then(|| finite.iter().sum::<f64>() / finite.len() as f64)
    }

    /// Returns the standard deviation, if there is more than one run.
    pub(super) fn deviation(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.0.len() > 1)?;
        let squares: f64 = self.0.iter().map(|v| (v - mean) * (v - mean)).sum();
        Some((squares / (self.0.len() - 1) as f64).sqrt())
    }

    /// Returns the standard error of the mean, if there is more than one run.
    pub(super) fn standard_error(&self) -> Option<f64> {
        self.deviation().map(|deviation| deviation / (self.0.len() as f64).sqrt())
    }
}

impl SweepRow {
    /// Returns one row per K, in ascending order; `records` are sorted by K and seed.
    pub(super) fn all(records: &[SweepRecord], measure: Measure) -> Vec<SweepRow> {
        let groups = records.chunk_by(|a, b| a.topics == b.topics);
        groups.map(|records| SweepRow::new(records, measure)).collect()
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
pub(super) struct BestTopicCount {
    pub(super) topics: u32,
    /// Seed of the best run with this K.
    pub(super) seed: u64,
    /// Reason, as a sentence.
    pub(super) reason: String,
    /// Further remarks, one sentence each.
    pub(super) notes: Vec<String>,
    /// K to try next, if the best one is the smallest or largest that was tried.
    pub(super) next: Option<u32>,
}

/// Chooses the smallest K whose mean perplexity is within one standard error of the lowest.
pub(super) fn choose(rows: &[SweepRow], measure: Measure) -> Option<BestTopicCount> {
    let known: Vec<(&SweepRow, f64)> =
        rows.iter().filter_map(|row| Some((row, row.perplexity.mean()?))).collect();
    let &(lowest, least) = known.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let error = lowest.perplexity.standard_error();
    let within = |&&(_, mean): &&(&SweepRow, f64)| mean <= least + error.unwrap_or(0.0);
    let &(best, mean) = known.iter().filter(within).min_by_key(|(row, _)| row.topics)?;
    let k = best.topics;
    let reason = if best.topics == lowest.topics {
        format!("K = {k} predicts the held-out documents best: its perplexity, {mean:.1}, is the lowest.")
    } else {
        format!(
            "K = {k} predicts the held-out documents as well as any: its perplexity, {mean:.1}, is within one standard error \
             ({:.1}) of the lowest, {least:.1} at K = {}, and it is the smallest such K.",
            error.unwrap_or(0.0),
            lowest.topics
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
    note_other_best(&mut notes, &known, best, &format!("Coherence ({})", measure.name()), |row| {
        &row.coherence
    });
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
            "{what} suggests another K: it is highest at K = {k}, with {value:.3} instead of {here}."
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
        choose(rows, Measure::CNpmi).unwrap_or_else(|| unreachable!("there is a perplexity"))
    }

    #[test]
    fn smallest_within_one_standard_error() {
        // At K = 40 the mean is 100, the standard deviation 3 and the standard error 1.7.
        let mut rows = vec![
            row(10, &[120.0, 121.0, 119.0], 0.3),
            row(20, &[101.5, 101.0, 102.0], 0.2),
            row(40, &[97.0, 100.0, 103.0], 0.1),
            row(80, &[100.5, 100.4, 100.6], 0.1),
        ];
        let choice = chosen(&rows);
        assert_eq!((choice.topics, choice.seed, choice.next), (20, 2, None));
        assert!(choice.reason.contains("within one standard error (1.7) of the lowest, 100.0 at K = 40"));
        assert!(choice.notes.iter().any(|n| n.contains("Coherence (c_npmi)") && n.contains("K = 10")));
        // Without deviation only the lowest mean qualifies.
        rows[2] = row(40, &[100.0, 100.0, 100.0], 0.1);
        let choice = chosen(&rows);
        assert_eq!((choice.topics, choice.next), (40, None));
        assert!(choice.reason.contains("the lowest"));
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
