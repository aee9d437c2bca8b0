//! Arguments of `train`, and those that it shares with `sweep`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tinylda::{Algorithm, Settings};

use super::heading::{EXPERT, INPUT, MEMORY, MODEL, OUTPUT, TRAINING};
use super::settings::{self, ExpertSettingArgs, SettingArgs};
use super::{MemorySize, TOPICS_ALIASES, TextArgs, parse_memory_size, parse_positive};

/// Parses a duration: 30s, 10m, 2h, 0.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let invalid = || "expected a time such as 30s, 10m or 2h, or 0".to_owned();
    let seconds = match text.char_indices().last() {
        Some((at, unit @ ('s' | 'm' | 'h'))) => {
            let factor = [('s', 1.0), ('m', 60.0), ('h', 3600.0)].into_iter().find(|(u, _)| *u == unit);
            factor.zip(text[..at].trim().parse::<f64>().ok()).map(|((_, factor), number)| number * factor)
        }
        _ => text.trim().parse::<f64>().ok().filter(|v| *v == 0.0),
    };
    let seconds = seconds.filter(|v| v.is_finite() && *v >= 0.0).ok_or_else(invalid)?;
    Duration::try_from_secs_f64(seconds).map_err(|_| invalid())
}

/// Returns the help text of the number of topics.
fn topics_help() -> String {
    format!("{}, such as 20; `tinylda sweep` compares several numbers", settings::about("topics"))
}

/// Training options of `train` and `sweep`.
///
/// A command that uses them must also declare [`ExpertSettingArgs`], whose values are read here.
#[derive(Debug, Clone, Args)]
pub(crate) struct TrainingArgs {
    #[command(flatten)]
    pub(crate) given: SettingArgs,
    /// Sum of alpha over all topics, as in MALLET: alpha is X/K
    #[arg(long, value_name = "X", help_heading = MODEL, hide_short_help = true, allow_negative_numbers = true, value_parser = parse_positive, conflicts_with = "alpha")]
    pub(crate) alpha_sum: Option<f64>,
    /// Number of threads; the result does not depend on it [default: all cores]
    ///
    /// atbp and abp are sequential by definition and use one thread.
    #[arg(long, aliases = ["workers", "n-jobs"], value_name = "N", help_heading = TRAINING, allow_negative_numbers = true, value_parser = super::whole_number::<u16>(1, u16::MAX))]
    pub(crate) threads: Option<u16>,
    /// Memory limit, such as 512MiB, 2GiB or 50% (of the machine's memory); data that does not fit
    /// is kept on disk [default: 90% of the free memory]
    #[arg(long, value_name = "SIZE", help_heading = MEMORY, value_parser = parse_memory_size)]
    pub(crate) memory: Option<MemorySize>,
    /// Time between checkpoints, such as 30s, 10m or 2h; 0 writes a checkpoint only when training
    /// is stopped
    #[arg(long, value_name = "TIME", help_heading = MEMORY, hide_short_help = true, value_parser = parse_duration, default_value = "10m")]
    pub(crate) checkpoint_every: Duration,
}

impl TrainingArgs {
    /// Returns the algorithm to train with.
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.given.0.algorithm.unwrap_or_default()
    }

    /// Returns the settings of a training with `topics` topics.
    pub(crate) fn settings(&self, topics: u32, seed: u64) -> Settings {
        let mut settings = self.given.0.clone();
        settings.topics = Some(topics);
        settings.seed = Some(seed);
        settings.alpha = settings.alpha.or(self.alpha_sum.map(|sum| sum / f64::from(topics)));
        settings
    }
}

/// Train a topic model on a corpus or on your own data
///
/// The same seed gives the same model file, byte for byte: with any number of threads, in memory or
/// on disk, uninterrupted or stopped and resumed. Ctrl-C stops after writing a checkpoint, prints
/// the command that resumes the training, and exits with code 1.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  tinylda train my-documents.txt -k 20 -o my.model --report my.html\n  \
    tinylda train abstracts.tsv.xz --text-column 3 -k 25 -o abstracts.model\n  \
    tinylda train nyt.tlc -k 100 --optimize -o nyt.model\n  \
    tinylda train big.tlc -k 1000 --memory 2GiB --plan\n  \
    tinylda train big.tlc -k 1000 --memory 2GiB -o big.model\n  \
    tinylda train big.tlc -k 1000 --memory 2GiB --resume -o big.model",
    after_long_help = "Examples:\n  tinylda train my-documents.txt -k 20 -o my.model --report my.html\n  \
    tinylda train abstracts.tsv.xz --text-column 3 --label-column 2 -k 25 -o abstracts.model\n  \
    tinylda train nyt.tlc -k 100 --optimize -o nyt.model\n  \
    tinylda train pubmed.tlc -k 500 --threads 2 --passes 100 -o pubmed.model\n  \
    tinylda train big.tlc -k 1000 --memory 2GiB --plan\n  \
    tinylda train big.tlc -k 1000 --memory 2GiB -o big.model\n  \
    tinylda train big.tlc -k 1000 --memory 2GiB --resume -o big.model\n  \
    zcat counts.gz | tinylda train - --vocab vocab.txt -k 100 --algorithm ovb -o nyt.model\n  \
    tinylda train nyt.tlc -k 100 --algorithm gibbs --tol 0 --log nyt.jsonl -o nyt.model"
)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct TrainArgs {
    /// Corpus file, or data in any format that `import` reads: a file or a folder; - for standard
    /// input
    pub(crate) corpus: PathBuf,
    /// More data to import, after the first input
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,
    /// Vocabulary file of a bag of words: line i is word i
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    pub(crate) vocab: Option<PathBuf>,
    /// Save the imported corpus to FILE instead of deleting it after training
    #[arg(long, value_name = "FILE", help_heading = INPUT, hide_short_help = true)]
    pub(crate) keep_corpus: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    #[arg(short = 'k', long, aliases = TOPICS_ALIASES, help = topics_help(), value_name = settings::value_name("topics"), help_heading = MODEL, allow_negative_numbers = true, value_parser = super::parse_topics)]
    pub(crate) topics: u32,
    /// File with seed words, one topic per line: `topic: word word …` (only for tbp)
    ///
    /// Topics are numbers from 0 or names. The words attract their topic in every pass. Commands
    /// and reports show the names.
    #[arg(long, value_name = "FILE", help_heading = MODEL, hide_short_help = true)]
    pub(crate) seeds: Option<PathBuf>,
    #[arg(long, help = settings::help_of("seed_weight"), value_name = settings::value_name("seed_weight"), help_heading = MODEL, hide_short_help = true, allow_negative_numbers = true, value_parser = settings::number::<f64>("seed_weight"), requires = "seeds")]
    pub(crate) seed_weight: Option<f64>,
    #[arg(long, aliases = ["random-seed", "random-state"], help = settings::about("seed"), value_name = settings::value_name("seed"), help_heading = TRAINING, allow_negative_numbers = true, value_parser = settings::number::<u64>("seed"), default_value = settings::default_of("seed"))]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) training: TrainingArgs,
    /// Print the planned use of memory and disk without training
    #[arg(long, help_heading = MEMORY, conflicts_with_all = ["resume", "restart"])]
    pub(crate) plan: bool,
    /// Folder for data that does not fit in memory [default: the folder of --checkpoint]
    #[arg(long, value_name = "DIR", help_heading = MEMORY, hide_short_help = true)]
    pub(crate) scratch: Option<PathBuf>,
    /// Folder for checkpoints, deleted once the model is written [default: the model's name with
    /// .checkpoint]
    #[arg(long, value_name = "DIR", help_heading = MEMORY, hide_short_help = true)]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Resume from the last checkpoint; the model is byte-identical to that of an uninterrupted
    /// run. Options that affect the model, also --passes, must be the same
    #[arg(long, help_heading = MEMORY)]
    pub(crate) resume: bool,
    /// Discard an existing checkpoint and start from the beginning
    #[arg(long, help_heading = MEMORY, conflicts_with = "resume")]
    pub(crate) restart: bool,
    /// Model file to write
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT, required_unless_present = "plan")]
    output: Option<PathBuf>,
    /// Also write a report of the model: an HTML file to explore in a browser (see `tinylda
    /// report`)
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) report: Option<PathBuf>,
    /// With --report: omit the first lines of documents
    #[arg(long, help_heading = OUTPUT, requires = "report", conflicts_with = "texts")]
    pub(crate) no_text: bool,
    /// With --report: file or folder from which the first lines of documents may be read; may be
    /// repeated [default: the data that is imported, or the folder of the corpus file]
    #[arg(long, value_name = "PATH", help_heading = OUTPUT, hide_short_help = true, requires = "report")]
    pub(crate) texts: Vec<PathBuf>,
    /// Also write the model after these passes, such as 1,10,100, to
    /// OUTPUT.snapshots/pass-00010.model and so on
    #[arg(long, value_name = "PASSES", help_heading = OUTPUT, hide_short_help = true, value_delimiter = ',', value_parser = super::whole_number::<u32>(1, u32::MAX))]
    pub(crate) snapshots: Vec<u32>,
    /// Write one line of JSON per pass to FILE; - for standard output [default: the model's name
    /// with .log.jsonl, if training takes more than a minute]
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) log: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) json: bool,
    /// Initial topics of all non-zeros, in the order of the corpus: one number from 0 per line
    #[arg(long, value_name = "FILE", help_heading = EXPERT, hide_short_help = true)]
    pub(crate) start: Option<PathBuf>,
    /// Fixed order in which documents are visited, instead of a random one: one number from 0 per
    /// line (only for atbp and abp)
    #[arg(long, value_name = "FILE", help_heading = EXPERT, hide_short_help = true)]
    pub(crate) order: Option<PathBuf>,
    /// Model to update, if this is an update.
    #[arg(skip)]
    pub(crate) update: Option<super::UpdateSource>,
    #[command(flatten)]
    _expert: ExpertSettingArgs,
}

impl TrainArgs {
    /// Returns the model file. With `--plan` it may be missing, and a placeholder is returned.
    pub(crate) fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("model"))
    }
}
