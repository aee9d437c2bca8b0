//! `paper`'s options.

use std::path::PathBuf;

use clap::Args;

use super::{Size, algorithm, not_negative, size};

/// Run the experiments of the TBP paper again, and write a report
///
/// Every corpus is divided into halves; every algorithm is trained on one with every number of topics and measured on the other.
/// Runs that are done are not done again: stopped with Ctrl-C, the same command goes on with those that are left.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda paper --quick --corpus nyt.tlc -o quick/\n  \
    tinylda paper --corpus enron.tlc --corpus nyt.tlc -o paper/ --jobs 2 --estimate\n  \
    tinylda paper --corpus enron.tlc --corpus nyt.tlc -o paper/ --jobs 2")]
pub(crate) struct Paper {
    /// A corpus file; may be given more than once
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) corpus: Vec<PathBuf>,
    /// Numbers of topics [default: 100,300,500,700,900, or 20,50 with --quick]
    #[arg(long, value_name = "K,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) topics: Vec<u32>,
    /// Algorithms [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = algorithm())]
    pub(crate) algorithms: Vec<tinylda::Algorithm>,
    /// In minutes: small parts of the corpora, few topics, few passes
    #[arg(long)]
    pub(crate) quick: bool,
    /// The most passes over a corpus; a tenth of them for ovb, whose passes take much longer [default: 500, or 30 with --quick]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) passes: Option<u32>,
    /// Stop when a pass changes the training perplexity by less than this; tbp stops by its own rule
    #[arg(long, allow_negative_numbers = true, value_parser = not_negative, default_value_t = tinylda::settings::TOLERANCE)]
    pub(crate) tol: f64,
    /// The same seed gives the same halves and the same topics
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How many threads in all [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Runs at once, which share threads and memory; times are measured one at a time in any case
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..), default_value_t = 1)]
    pub(crate) jobs: u16,
    /// The most memory of all runs at once; one that needs more than its part is left out [default: nine tenths of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<Size>,
    /// The corpus of the comparison with online learning [default: the largest of the others]
    #[arg(long, value_name = "FILE")]
    pub(crate) online_corpus: Option<PathBuf>,
    /// The most passes of that comparison, which begins with the first [default: 30, or as many as --passes where that is less]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) online_passes: Option<u32>,
    /// Say what there is to do and how long it will take about, and do nothing else but divide the corpora
    #[arg(long)]
    pub(crate) estimate: bool,
    /// The folder for halves, runs, figures and the report
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
