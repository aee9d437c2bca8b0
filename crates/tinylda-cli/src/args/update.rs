//! Arguments of `update`.

use std::path::PathBuf;

use clap::{Arg, Args};

use super::heading::MODEL;
use super::{TrainArgs, parse_positive};

/// Model to update, and how much it counts.
#[derive(Debug, Clone)]
pub(crate) struct UpdateSource {
    /// Model file.
    pub(crate) model: PathBuf,
    /// Weight of the tokens of the model, relative to those of the new documents.
    pub(crate) weight: f64,
}

/// Arguments of `train` that an update does not accept.
const NOT_ACCEPTED: [&str; 6] = ["topics", "seeds", "seed_weight", "report", "no_text", "texts"];
/// Arguments of `train` that the help of an update does not list, since they apply to other
/// algorithms or to the start of a training.
const NOT_LISTED: [&str; 12] = [
    "algorithm",
    "document_state",
    "start",
    "order",
    "inner",
    "digamma",
    "batch",
    "tau0",
    "kappa",
    "burn_in",
    "samples",
    "exclude",
];

/// Adapts an argument of `train`.
fn adapted(argument: Arg) -> Arg {
    let name = argument.get_id().as_str().to_owned();
    if NOT_ACCEPTED.contains(&name.as_str()) {
        let hidden = argument.hide(true).required(false).conflicts_with("model");
        // The number of topics is that of the model.
        return if name == "topics" { hidden.default_value("1") } else { hidden };
    }
    let hide = argument.is_hide_set() || NOT_LISTED.contains(&name.as_str());
    argument.hide(hide)
}

/// Update a model with new documents and new words
///
/// Continues the training of MODEL and writes a new model. The old documents are not needed: their
/// counts in the model stay part of the topics. Topics keep their numbers and names, and words of
/// the model keep theirs; words that the model does not have are added. Text is processed as for
/// the model, and --min-docs, --max-docs and --max-words select among the words of the new
/// documents. Any model can be updated; the update itself uses tbp. alpha and beta are those of the
/// model unless they are given or learned (--optimize). The result says how similar every topic is
/// to what it was: the cosine of its word distributions before and after. As with `train`, the same
/// seed gives the same file, byte for byte, and a stopped update can be resumed.
#[derive(Debug, Clone, Args)]
#[command(
    mut_args(adapted),
    after_help = "Examples:\n  tinylda update news.model news-2025.csv -o news-2025.model\n  \
    tinylda update nyt.model new.tlc --weight 0.5 -o new.model",
    after_long_help = "Examples:\n  tinylda update news.model news-2025.csv -o news-2025.model\n  \
    tinylda update nyt.model new.tlc --weight 0.5 -o new.model\n  \
    tinylda update nyt.model docword.new.txt.gz --vocab vocab.new.txt --passes 50 -o new.model"
)]
pub(crate) struct UpdateArgs {
    /// Model file to update
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) training: TrainArgs,
    /// Weight of the tokens of the model, relative to those of the new documents; with less than 1,
    /// topics adapt faster to the new documents
    #[arg(long, value_name = "X", help_heading = MODEL, allow_negative_numbers = true, value_parser = parse_positive, default_value_t = 1.0)]
    pub(crate) weight: f64,
}
