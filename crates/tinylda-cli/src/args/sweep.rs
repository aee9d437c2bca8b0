//! Arguments of `sweep`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tinylda::eval::Measure;

use super::heading::{INPUT, MODEL, OUTPUT, TRAINING};
use super::settings::{self, ExpertSettingArgs};
use super::{TOPICS_ALIASES, TextArgs, TrainingArgs, parse_open_fraction, parse_topics};

/// Returns the parser of one coherence measure's name.
fn measure_parser() -> impl TypedValueParser<Value = Measure> {
    let known =
        Measure::ALL.map(|measure| PossibleValue::new(measure.name()).alias(super::measure_alias(measure)));
    PossibleValuesParser::new(known).map(|name| {
        let named = |&measure: &Measure| measure.name() == name || super::measure_alias(measure) == name;
        Measure::ALL.into_iter().find(named).unwrap_or(Measure::CNpmi)
    })
}

/// Largest number of values of a range without a step.
const MAX_SERIES: u32 = 8;
/// Largest number of values of a range with a step.
const MAX_STEPS: u32 = 1000;

/// Parses a number of topics, a range such as 5-40, or a range with a step such as 5-40:5.
fn parse_topic_range(text: &str) -> Result<Vec<u32>, String> {
    let invalid = || "expected a number such as 20, a range such as 5-40, or 5-40:5 with a step".to_owned();
    let number = |text: &str| parse_topics(text.trim()).map_err(|_| invalid());
    let (range, step) = match text.split_once(':') {
        Some((range, step)) => (range, Some(number(step)?)),
        None => (text, None),
    };
    let Some((first, last)) = range.split_once(['-', '–']).filter(|(first, _)| !first.is_empty()) else {
        return if step.is_none() { Ok(vec![number(range)?]) } else { Err(invalid()) };
    };
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!("expected the smaller number first: {last}-{first}"));
    }
    match step {
        Some(step) if (last - first) / step >= MAX_STEPS => {
            Err(format!("expected at most {MAX_STEPS} numbers; use a larger step"))
        }
        Some(step) => Ok((first..=last).step_by(step as usize).collect()),
        None => Ok(series(first, last)),
    }
}

/// Returns up to [`MAX_SERIES`] numbers from `first` to `last` with about equal ratios, and all
/// numbers if there are not more.
fn series(first: u32, last: u32) -> Vec<u32> {
    if last - first < MAX_SERIES {
        return (first..=last).collect();
    }
    let ratio = (f64::from(last) / f64::from(first)).powf(1.0 / f64::from(MAX_SERIES - 1));
    let mut numbers: Vec<u32> =
        (0..MAX_SERIES).map(|i| (f64::from(first) * ratio.powi(i.cast_signed())).round() as u32).collect();
    numbers.dedup();
    numbers
}

impl SweepArgs {
    /// Returns the numbers of topics to compare, in ascending order.
    pub(crate) fn topic_counts(&self) -> Vec<u32> {
        let mut counts = self.topics.concat();
        counts.sort_unstable();
        counts.dedup();
        counts
    }
}

/// Find the best number of topics: train several models and compare them
///
/// Some documents are held out. For every K and every seed, a model is trained on the other
/// documents and evaluated: how well it predicts the held-out documents (perplexity as in `eval`),
/// how coherent its topics are, how different they are from each other, and how stable, that is,
/// whether other seeds find the same topics.
///
/// Perplexity alone would nearly always favour the largest K. The best K therefore has the highest
/// mean of three scores: perplexity (its logarithm), coherence and stability, each scaled from 0
/// for the worst K to 1 for the best. A measure that hardly differs between values of K counts
/// less, and of two values of K with about the same score the smaller one is better. Values of K
/// with fewer than ten documents per topic are not considered.
///
/// Each result is saved as soon as it is available. After Ctrl-C or a kill, the same command
/// continues with the remaining runs; with more values of K or more --repeats it adds to the
/// existing results.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda sweep my-documents.txt -k 5-40\n  \
    tinylda sweep nyt.tlc -k 20,50,100,200\n  \
    tinylda sweep nyt.tlc -k 400 -o nyt.sweep                # add another K to the existing results\n  \
    tinylda sweep abstracts.tsv.xz --text-column 3 -k 10,25,50 --repeats 5 -o topics/\n  \
    tinylda sweep cells.tlc -k 10,20,40 --memory 2GiB --optimize --passes 100 --tsv > cells.tsv")]
pub(crate) struct SweepArgs {
    /// Corpus file, or data in any format that `import` reads: a file or a folder; - for standard
    /// input
    pub(crate) corpus: PathBuf,
    /// More data to import, after the first input
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,
    /// Vocabulary file of a bag of words: line i is word i
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    pub(crate) vocab: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    /// Numbers of topics to compare, such as 10,20,50, a range such as 5-40, or a range with a step
    /// such as 5-40:5
    ///
    /// A range without a step is a series of up to eight numbers with about equal ratios: 5-40 is
    /// 5,7,9,12,16,22,30,40.
    #[arg(short = 'k', long, aliases = TOPICS_ALIASES, value_name = "K,...", help_heading = MODEL, required = true, value_delimiter = ',', allow_negative_numbers = true, value_parser = parse_topic_range)]
    topics: Vec<Vec<u32>>,
    /// Number of training runs for each K, with seeds --seed, --seed + 1, and so on
    #[arg(long, value_name = "N", help_heading = TRAINING, allow_negative_numbers = true, value_parser = super::whole_number::<u32>(1, 1000), default_value_t = 3)]
    pub(crate) repeats: u32,
    /// Fraction of the documents that is held out
    #[arg(long, value_name = "FRACTION", help_heading = TRAINING, default_value_t = 0.2, allow_negative_numbers = true, value_parser = parse_open_fraction)]
    pub(crate) test: f64,
    /// Random seed of the held-out documents and the first training; results do not depend on the
    /// number of threads
    #[arg(long, aliases = ["random-seed", "random-state"], value_name = settings::value_name("seed"), help_heading = TRAINING, allow_negative_numbers = true, value_parser = settings::number::<u64>("seed"), default_value = settings::default_of("seed"))]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) training: TrainingArgs,
    /// Coherence measure to show and to use in the score
    ///
    /// All measures are computed, on all documents. c_npmi ranges from -1 to 1 for any corpus and K
    /// and needs one pass over the documents; u_mass prefers topics of frequent words.
    #[arg(long, value_name = "MEASURE", help_heading = OUTPUT, hide_short_help = true, value_parser = measure_parser(), default_value = "c_npmi")]
    pub(crate) coherence: Measure,
    /// Number of words per topic for coherence, diversity and stability
    #[arg(long, value_name = "N", help_heading = OUTPUT, hide_short_help = true, allow_negative_numbers = true, default_value_t = 10, value_parser = super::whole_number::<u32>(2, u32::MAX))]
    pub(crate) top: u32,
    /// Folder for results, figure, report and models [default: the corpus's name with .sweep]
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Print tab-separated values with a header
    #[arg(long, conflicts_with = "json", help_heading = OUTPUT)]
    pub(crate) tsv: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    #[command(flatten)]
    _expert: ExpertSettingArgs,
}

#[cfg(test)]
mod tests {
    use super::parse_topic_range;

    #[test]
    fn u14_ranges_of_topics_are_understood() {
        for (text, expected) in [
            ("20", vec![20]),
            ("5-40", vec![5, 7, 9, 12, 16, 22, 30, 40]),
            ("5–40", vec![5, 7, 9, 12, 16, 22, 30, 40]),
            ("5-40:5", vec![5, 10, 15, 20, 25, 30, 35, 40]),
            ("5-12:5", vec![5, 10]),
            ("3-6", vec![3, 4, 5, 6]),
            ("7-7", vec![7]),
            ("1-10", vec![1, 2, 3, 4, 5, 7, 10]),
        ] {
            assert_eq!(parse_topic_range(text), Ok(expected), "{text}");
        }
        for wrong in ["", "0", "-3", "5-", "-", "40-5", "5-40:0", "5:40", "a-b", "0-5", "1-5000:1", "5-40-80"]
        {
            assert!(parse_topic_range(wrong).is_err(), "{wrong}");
        }
    }
}
