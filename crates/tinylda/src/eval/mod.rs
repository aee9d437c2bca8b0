//! Evaluates models: perplexity, coherence and other measures of quality.
//!
//! | question | file |
//! |---|---|
//! | how well does it predict documents it has not seen? | `perplexity` |
//! | do a topic's words occur together in texts? | `coherence`, `windows`, `reference` |
//! | do topics share words, and how concentrated are they? | `words` |
//! | do two models have the same topics? | `matching` |
//!
//! This module must not know how models are trained, nor how results are shown.

mod coherence;
mod matching;
mod perplexity;
#[cfg(feature = "text")]
mod reference;
mod windows;
mod words;

pub use coherence::{Coherence, CoherenceResult, Measure, MeasureResult, MissingWords};
pub use matching::{best_matching, word_overlap};
pub use perplexity::{DEFINITION, Evaluation, HeldOutEvaluation, PROTOCOL, predictive_perplexity};
pub use words::{WordMeasures, word_measures};
