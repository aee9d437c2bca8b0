//! From arguments to a trainer, for every command that trains.

use tinylda::Trainer;

use crate::args;
use crate::commands::infer;

/// Number of threads: one where the algorithm is sequential by its definition.
pub(in crate::commands) fn threads(training: &args::TrainingArgs) -> usize {
    if training.algorithm().threads() { infer::threads(training.threads) } else { 1 }
}

/// The trainer, without memory and files.
pub(in crate::commands) fn trainer(training: &args::TrainingArgs, topics: u32, seed: u64) -> Trainer {
    Trainer::with_settings(training.settings(topics, seed)).threads(threads(training))
}
