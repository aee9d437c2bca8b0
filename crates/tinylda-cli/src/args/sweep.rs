//! Arguments of `sweep`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tinylda::eval::Measure;

use super::heading::{INPUT, MODEL, OUTPUT, TRAINING};
use super::settings::ExpertSettingArgs;
use super::{TextArgs, TrainingArgs, parse_open_fraction};

/// Returns the parser of one coherence measure's name.
fn measure_parser() -> impl TypedValueParser<Value = Measure> {
    PossibleValuesParser::new(Measure::ALL.map(Measure::name))
        .map(|name| Measure::ALL.into_iter().find(|measure| measure.name() == name).unwrap_or(Measure::CNpmi))
}

/// Find the best number of topics: train several models and compare them
///
/// Some documents are held out. For every K and every seed, a model is trained on the other
/// documents and evaluated: how well it predicts the held-out documents (perplexity as in `eval`),
/// how coherent its topics are, how different they are from each other, and how stable, that is,
/// whether other seeds find the same topics. The best K has the lowest perplexity, or is the
/// smallest K within one standard error of the lowest.
///
/// Each result is saved as soon as it is available. After Ctrl-C or a kill, the same command
/// continues with the remaining runs; with more values of K or more --repeats it adds to the
/// existing results.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda sweep nyt.tlc -k 20,50,100,200\n  \
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
    /// Numbers of topics to compare
    #[arg(short = 'k', long, alias = "num-topics", value_name = "K,...", help_heading = MODEL, required = true, value_delimiter = ',', allow_negative_numbers = true, value_parser = super::parse_topics)]
    pub(crate) topics: Vec<u32>,
    /// Number of trainings for each K, with seeds --seed, --seed + 1, and so on
    #[arg(long, value_name = "N", help_heading = TRAINING, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 3)]
    pub(crate) repeats: u32,
    /// Fraction of the documents that is held out
    #[arg(long, value_name = "FRACTION", help_heading = TRAINING, default_value_t = 0.2, allow_negative_numbers = true, value_parser = parse_open_fraction)]
    pub(crate) test: f64,
    /// Random seed of the held-out documents and the first training; results do not depend on the
    /// number of threads
    #[arg(long, aliases = ["random-seed", "random-state"], help_heading = TRAINING, allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) training: TrainingArgs,
    /// Coherence measure to show
    ///
    /// All measures are computed, on all documents. c_npmi ranges from -1 to 1 for any corpus and K
    /// and needs one pass over the documents; u_mass prefers topics of frequent words.
    #[arg(long, value_name = "MEASURE", help_heading = OUTPUT, hide_short_help = true, value_parser = measure_parser(), default_value = "c_npmi")]
    pub(crate) coherence: Measure,
    /// Number of words per topic for coherence, diversity and stability
    #[arg(long, value_name = "N", help_heading = OUTPUT, hide_short_help = true, allow_negative_numbers = true, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..))]
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
