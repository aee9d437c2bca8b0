//! `train`'s options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tinylda::{Algorithm, Settings};

use super::settings::SettingArgs;
use super::{Size, Words, positive, size};

/// 30s, 10m, 2h, 0.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 30s, 10m or 2h, or 0".to_owned();
    let seconds = match text.char_indices().last() {
        Some((at, unit @ ('s' | 'm' | 'h'))) => {
            let factor = [('s', 1.0), ('m', 60.0), ('h', 3600.0)].into_iter().find(|(u, _)| *u == unit);
            factor.zip(text[..at].trim().parse::<f64>().ok()).map(|((_, factor), number)| number * factor)
        }
        _ => text.trim().parse::<f64>().ok().filter(|v| *v == 0.0),
    };
    let seconds = seconds.filter(|v| v.is_finite() && *v >= 0.0).ok_or_else(wrong)?;
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// How a model is trained: what every command that trains can be told.
#[derive(Debug, Clone, Args)]
pub(crate) struct TrainingArgs {
    #[command(flatten)]
    pub(crate) given: SettingArgs,
    /// The same as --alpha as a sum over topics, as MALLET has it: alpha is this divided by K
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = positive, conflicts_with = "alpha")]
    pub(crate) alpha_sum: Option<f64>,
    /// Number of threads; the result does not depend on it. atbp and abp use one, by their definition [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Memory limit, such as 512MiB, 2GiB or 50%; what does not fit goes to disk [default: nine tenths of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<Size>,
    /// Time between two checkpoints, such as 30s, 10m or 2h; 0 writes one only when stopped
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10m")]
    pub(crate) checkpoint_every: Duration,
}

impl TrainingArgs {
    /// The algorithm to train with.
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.given.0.algorithm.unwrap_or_default()
    }

    /// The settings of a training of so many topics.
    pub(crate) fn settings(&self, topics: u32, seed: u64) -> Settings {
        let mut settings = self.given.0.clone();
        settings.topics = Some(topics);
        settings.seed = Some(seed);
        settings.alpha = settings.alpha.or(self.alpha_sum.map(|sum| sum / f64::from(topics)));
        settings
    }
}

/// Find topics in a corpus
///
/// The same seed gives the same model file, byte for byte: on any number of threads, from memory or from disk, straight through
/// or stopped and resumed.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  tinylda train nyt.tlc -k 100 -o nyt.model\n  \
    tinylda train abstracts.tsv.xz --text-column 3 --label-column 2 -k 25 -o abstracts.model\n  \
    tinylda train pubmed.tlc -k 500 --threads 2 --passes 100 -o pubmed.model\n  \
    tinylda train big.tlc -k 1000 --memory 2GiB --plan\n  \
    tinylda train big.tlc -k 1000 --memory 2GiB -o big.model\n  \
    tinylda train big.tlc -k 1000 --memory 2GiB --resume -o big.model\n  \
    zcat docword.nyt.txt.gz | tinylda train - --vocab vocab.nyt.txt -k 100 --algorithm ovb --passes 1 -o nyt.model\n  \
    tinylda train train.tlc -k 100 --algorithm stbp --passes 200 --seed 1 --log train.jsonl -o nyt.model")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Train {
    /// A corpus file, or any data that `import` knows: a file or a folder; - for standard input
    pub(crate) corpus: PathBuf,
    /// With a bag of words: the words, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) vocab: Option<PathBuf>,
    /// With data: write its corpus to this file and keep it [default: it goes when the model is there]
    #[arg(long, value_name = "FILE")]
    pub(crate) keep_corpus: Option<PathBuf>,
    /// K, the number of topics
    #[arg(short = 'k', long, value_name = "K", allow_negative_numbers = true, value_parser = super::topics)]
    pub(crate) topics: u32,
    #[command(flatten)]
    pub(crate) training: TrainingArgs,
    /// tbp: seed words of topics, a line for each: `topic: word word …`, topics as numbers from 0 or as names. The words keep
    /// drawing their topic in every pass
    #[arg(long, value_name = "FILE")]
    pub(crate) seeds: Option<PathBuf>,
    /// How much a seed word weighs in its topic: so many times what it occurs in the corpus [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = positive, requires = "seeds")]
    pub(crate) seed_weight: Option<f64>,
    /// The same seed gives the same topics
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Start from these topics: a number from 0 per line, one for each non-zero in the corpus's order
    #[arg(long, value_name = "FILE")]
    pub(crate) start: Option<PathBuf>,
    /// atbp, abp: visit the documents in this order, a number from 0 per line, in place of a random one
    #[arg(long, value_name = "FILE")]
    pub(crate) order: Option<PathBuf>,
    /// Print what memory and disk would be used for, and do nothing
    #[arg(long, conflicts_with_all = ["resume", "restart"])]
    pub(crate) plan: bool,
    /// A folder for what does not fit in memory [default: that of the checkpoints]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// A folder for checkpoints; it goes when the model is written [default: the model's name and .checkpoint]
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Go on where a checkpoint has left off: the model will be the same as if training had never stopped
    #[arg(long)]
    pub(crate) resume: bool,
    /// Throw an earlier checkpoint away and begin anew
    #[arg(long, conflicts_with = "resume")]
    pub(crate) restart: bool,
    /// Write the model as it is after these passes too, such as 1,10,100: to OUTPUT.snapshots/pass-00010.model and so on
    #[arg(long, value_name = "PASSES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) snapshots: Vec<u32>,
    /// Write a line of JSON per pass to this file; - for standard output [default: the model's name and .log.jsonl, where training
    /// takes more than a minute]
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Write a report of the model, too: an HTML file to explore in a browser (see `tinylda report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// The model file to write
    #[arg(short, long, value_name = "FILE", required_unless_present = "plan")]
    output: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) words: Words,
}

impl Train {
    /// The model file; only a plan can do without.
    pub(crate) fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("model"))
    }
}
