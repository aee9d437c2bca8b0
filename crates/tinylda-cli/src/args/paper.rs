//! Arguments of `paper`.

use std::path::PathBuf;

use clap::Args;

use super::heading::{EXPERT, INPUT, MEMORY, MODEL, OUTPUT, TRAINING};
use super::{MemorySize, algorithm_parser, parse_memory_size, parse_non_negative};

/// Reproduce the experiments of the TBP paper and write a report
///
/// Each corpus is split in half. Every algorithm is trained on one half with every number of topics
/// and evaluated on the other half. Finished runs are reused: after Ctrl-C, the same command
/// continues with the remaining ones.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda paper --quick --corpus nyt.tlc -o quick/\n  \
    tinylda paper --corpus enron.tlc --corpus nyt.tlc -o paper/ --jobs 2 --estimate\n  \
    tinylda paper --corpus enron.tlc --corpus nyt.tlc -o paper/ --jobs 2")]
pub(crate) struct PaperArgs {
    /// Corpus file; may be repeated
    #[arg(long, value_name = "FILE", required = true, help_heading = INPUT)]
    pub(crate) corpus: Vec<PathBuf>,
    /// Numbers of topics [default: 100,300,500,700,900, or 20,50 with --quick]
    #[arg(long, alias = "num-topics", value_name = "K,...", help_heading = MODEL, value_delimiter = ',', value_parser = super::whole_number::<u32>(1, u32::MAX))]
    pub(crate) topics: Vec<u32>,
    /// Algorithms [default: all]
    #[arg(long, value_name = "NAME,...", help_heading = MODEL, value_delimiter = ',', value_parser = algorithm_parser())]
    pub(crate) algorithms: Vec<tinylda::Algorithm>,
    /// Finish within minutes: small parts of the corpora, few topics, few passes
    #[arg(long, help_heading = TRAINING)]
    pub(crate) quick: bool,
    /// Maximum number of passes over a corpus; a tenth of it for ovb, whose passes take much longer
    /// [default: 500, or 30 with --quick]
    #[arg(long, aliases = ["iterations", "n-iter"], value_name = "N", help_heading = TRAINING, allow_negative_numbers = true, value_parser = super::whole_number::<u32>(1, u32::MAX))]
    pub(crate) passes: Option<u32>,
    /// Convergence tolerance: stop when the training perplexity changes by less than TOL per pass;
    /// tbp uses its own criterion
    #[arg(long, value_name = "TOL", help_heading = TRAINING, hide_short_help = true, allow_negative_numbers = true, value_parser = parse_non_negative, default_value_t = tinylda::settings::TOLERANCE)]
    pub(crate) tol: f64,
    /// Random seed of the splits and the training runs
    #[arg(long, aliases = ["random-seed", "random-state"], value_parser = super::whole_number::<u64>(0, u64::MAX), help_heading = TRAINING, allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Total number of threads [default: all cores]
    #[arg(long, alias = "workers", value_name = "N", help_heading = TRAINING, allow_negative_numbers = true, value_parser = super::whole_number::<u16>(1, u16::MAX))]
    pub(crate) threads: Option<u16>,
    /// Number of concurrent runs, which share threads and memory; times are always measured one run
    /// at a time
    #[arg(long, value_name = "N", help_heading = TRAINING, allow_negative_numbers = true, value_parser = super::whole_number::<u16>(1, u16::MAX), default_value_t = 1)]
    pub(crate) jobs: u16,
    /// Memory limit for all concurrent runs; a run that needs more than its part is skipped
    /// [default: 90% of the free memory]
    #[arg(long, value_name = "SIZE", help_heading = MEMORY, value_parser = parse_memory_size)]
    pub(crate) memory: Option<MemorySize>,
    /// Print the number of remaining runs and their estimated time; split the corpora, run nothing
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) estimate: bool,
    /// Folder for the corpora, runs, figures and the report
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) output: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) json: bool,
    /// Corpus of the comparison with online learning [default: the largest of the corpora]
    #[arg(long, value_name = "FILE", help_heading = EXPERT, hide_short_help = true)]
    pub(crate) online_corpus: Option<PathBuf>,
    /// Maximum number of passes of the comparison with online learning [default: 30, or --passes if
    /// that is less]
    #[arg(long, value_name = "N", help_heading = EXPERT, hide_short_help = true, value_parser = super::whole_number::<u32>(1, u32::MAX))]
    pub(crate) online_passes: Option<u32>,
}
