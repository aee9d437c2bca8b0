//! Creates a trainer from arguments, for all commands that train.

use tinylda::Trainer;

use crate::args;
use crate::commands::infer;

/// Returns the number of threads: one if the algorithm is sequential by definition.
pub(in crate::commands) fn thread_count(training: &args::TrainingArgs) -> usize {
    if training.algorithm().threads() { infer::thread_count(training.threads) } else { 1 }
}

/// Returns the trainer, without memory limit and files.
pub(in crate::commands) fn trainer(training: &args::TrainingArgs, topics: u32, seed: u64) -> Trainer {
    Trainer::with_settings(training.settings(topics, seed)).threads(thread_count(training))
}
