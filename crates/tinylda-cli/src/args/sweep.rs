//! `sweep`'s options.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tinylda::eval::Measure;

use super::{TrainingArgs, Words, share};

/// One measure by its name.
fn one_measure() -> impl TypedValueParser<Value = Measure> {
    PossibleValuesParser::new(Measure::ALL.map(Measure::name))
        .map(|name| Measure::ALL.into_iter().find(|measure| measure.name() == name).unwrap_or(Measure::CNpmi))
}

/// How many topics? Train with several numbers of them, compare, and say which is best
///
/// A part of the documents is held out. For every K and every seed a model is trained on the others and measured: how well it
/// predicts the documents held out (perplexity as in `eval`), how coherent its topics are, how different they are from each other,
/// and how stable: whether other seeds find the same topics. The best K is the one with the lowest perplexity, or the smallest that is
/// within one standard error of it.
///
/// Every result is kept in the folder as soon as it is there. Stopped with Ctrl-C or killed, the same command goes on with what
/// is missing; with more K or more --repeats it adds to what is there.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda sweep nyt.tlc -k 20,50,100,200\n  \
    tinylda sweep nyt.tlc -k 400 -o nyt.sweep                # one more K, beside those that are there\n  \
    tinylda sweep abstracts.tsv.xz --text-column 3 -k 10,25,50 --repeats 5 -o topics/\n  \
    tinylda sweep cells.tlc -k 10,20,40 --memory 2GiB --optimize --passes 100 --tsv > cells.tsv")]
pub(crate) struct Sweep {
    /// A corpus file, or any data that `import` knows: a file or a folder; - for standard input
    pub(crate) corpus: PathBuf,
    /// With a bag of words: the words, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) vocab: Option<PathBuf>,
    /// The numbers of topics to try
    #[arg(short = 'k', long, value_name = "K,...", required = true, value_delimiter = ',', allow_negative_numbers = true, value_parser = super::topics)]
    pub(crate) topics: Vec<u32>,
    /// Trainings for each K, with the seeds --seed, --seed + 1, and so on
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 3)]
    pub(crate) repeats: u32,
    /// The share of documents that are held out
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, allow_negative_numbers = true, value_parser = share)]
    pub(crate) test: f64,
    /// The coherence to show; all are measured, on all documents. c_npmi goes from -1 to 1, whatever the corpus and K, and needs
    /// one look at the documents; u_mass prefers topics of frequent words
    #[arg(long, value_name = "MEASURE", value_parser = one_measure(), default_value = "c_npmi")]
    pub(crate) coherence: Measure,
    /// How many words of each topic count for coherence, diversity and stability
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) top: u32,
    /// The same seed holds out the same documents and gives the same numbers, on any number of threads
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) training: TrainingArgs,
    /// The folder for results, figure, report and models [default: the corpus's name and .sweep]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print the table with tabs and a header
    #[arg(long, conflicts_with = "json")]
    pub(crate) tsv: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) words: Words,
}
