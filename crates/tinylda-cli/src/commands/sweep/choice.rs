//! What the runs of each K have come to, and which K is best.

use tinylda::eval::{Measure, word_overlap};

use super::runs::Record;

/// All runs of a K.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) topics: u32,
    pub(super) perplexity: Values,
    pub(super) coherence: Values,
    pub(super) diversity: Values,
    /// Of every run: what its topics have in common with those of the other runs. Nothing where there is one run.
    pub(super) stability: Values,
    /// Of training and measuring.
    pub(super) seconds: Values,
    pub(super) seeds: Vec<u64>,
}

/// A number of every run.
#[derive(Debug, Clone, Default)]
pub(super) struct Values(pub(super) Vec<f64>);

impl Values {
    /// Nothing where there is none.
    pub(super) fn mean(&self) -> Option<f64> {
        let finite: Vec<f64> = self.0.iter().copied().filter(|v| v.is_finite()).collect();
        (!finite.is_empty()).then(|| finite.iter().sum::<f64>() / finite.len() as f64)
    }

    /// The standard deviation from run to run; nothing where there is one run.
    pub(super) fn spread(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.0.len() > 1)?;
        let squares: f64 = self.0.iter().map(|v| (v - mean) * (v - mean)).sum();
        Some((squares / (self.0.len() - 1) as f64).sqrt())
    }

    /// The standard error of the mean.
    pub(super) fn error(&self) -> Option<f64> {
        self.spread().map(|spread| spread / (self.0.len() as f64).sqrt())
    }
}

impl Row {
    /// One for each K, in their order; `records` are in the order of K and seed.
    pub(super) fn all(records: &[Record], measure: Measure) -> Vec<Row> {
        let of_one_k = records.chunk_by(|a, b| a.topics == b.topics);
        of_one_k.map(|records| Row::new(records, measure)).collect()
    }

    fn new(records: &[Record], measure: Measure) -> Row {
        let mut row = Row { topics: records.first().map_or(0, |r| r.topics), ..Row::default() };
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

/// The best K and why.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    pub(super) topics: u32,
    /// The seed of the best run with it.
    pub(super) seed: u64,
    /// A sentence.
    pub(super) reason: String,
    /// More sentences: what else should be known.
    pub(super) notes: Vec<String>,
    /// The best is at the end of what was tried: the K to try next.
    pub(super) next: Option<u32>,
}

/// The lowest mean perplexity; where others are within one standard error of it, the smallest of them.
pub(super) fn choose(rows: &[Row], measure: Measure) -> Option<Choice> {
    let known: Vec<(&Row, f64)> = rows.iter().filter_map(|row| Some((row, row.perplexity.mean()?))).collect();
    let &(lowest, least) = known.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let error = lowest.perplexity.error();
    let within = |&&(_, mean): &&(&Row, f64)| mean <= least + error.unwrap_or(0.0);
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
            notes.push("Only one K was tried: more than one can be compared.".to_owned());
            None
        }
        () if k == last => {
            notes.push("It is the largest K that was tried: a larger one may be better still.".to_owned());
            k.checked_mul(2)
        }
        () if k == first && k > 2 => {
            notes.push("It is the smallest K that was tried: a smaller one may be as good.".to_owned());
            Some(k / 2)
        }
        () => None,
    };
    elsewhere(&mut notes, &known, best, &format!("Coherence ({})", measure.name()), |row| &row.coherence);
    elsewhere(&mut notes, &known, best, "Stability", |row| &row.stability);
    if known.iter().all(|(row, _)| row.seeds.len() == 1) {
        let what = "With one run for each K chance cannot be told from difference, and there is no stability: \
                    see --repeats.";
        notes.push(what.to_owned());
    }
    let runs = best.perplexity.0.iter().zip(&best.seeds);
    let seed = runs.min_by(|a, b| a.0.total_cmp(b.0)).map(|(_, &seed)| seed)?;
    Some(Choice { topics: k, seed, reason, notes, next })
}

/// Says so where another K has more of something.
fn elsewhere(
    notes: &mut Vec<String>,
    known: &[(&Row, f64)],
    best: &Row,
    what: &str,
    of: impl Fn(&Row) -> &Values,
) {
    let most = known.iter().filter_map(|(row, _)| Some((row.topics, of(row).mean()?)));
    let Some((k, value)) = most.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    let here = of(best).mean();
    if k != best.topics && here.is_none_or(|here| here < value) {
        let here = here.map_or_else(|| "unknown".to_owned(), |here| format!("{here:.3}"));
        notes.push(format!("{what} points elsewhere: it is highest at K = {k}, {value:.3} against {here}."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(topics: u32, perplexity: &[f64], coherence: f64) -> Row {
        Row {
            topics,
            perplexity: Values(perplexity.to_vec()),
            coherence: Values(vec![coherence; perplexity.len()]),
            seeds: (1..=perplexity.len() as u64).collect(),
            ..Row::default()
        }
    }

    fn chosen(rows: &[Row]) -> Choice {
        choose(rows, Measure::CNpmi).unwrap_or_else(|| unreachable!("there is a perplexity"))
    }

    #[test]
    fn the_smallest_within_one_standard_error() {
        // The mean at 40 is 100, the standard deviation 3 and its error 1.7.
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
        // Without spread only the lowest will do.
        rows[2] = row(40, &[100.0, 100.0, 100.0], 0.1);
        let choice = chosen(&rows);
        assert_eq!((choice.topics, choice.next), (40, None));
        assert!(choice.reason.contains("the lowest"));
    }

    #[test]
    fn at_the_end_more_is_asked_for() {
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
    fn spreads() {
        let values = Values(vec![1.0, 2.0, 3.0, 4.0]);
        assert!((values.mean().unwrap_or(0.0) - 2.5).abs() < 1e-12);
        assert!((values.spread().unwrap_or(0.0) - (5.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Values(vec![1.0]).spread(), None);
        assert_eq!(Values(vec![f64::NAN]).mean(), None);
    }
}
