//! Headings under which `--help` groups the options of a command.

pub(super) const INPUT: &str = "Input";
pub(super) const TEXT: &str = "Text";
pub(super) const MODEL: &str = "Model";
pub(super) const TRAINING: &str = "Training";
pub(super) const MEMORY: &str = "Memory and checkpoints";
pub(super) const OUTPUT: &str = "Output";
pub(super) const EXPERT: &str = "Expert";
