//! Numbers that say how good a model is.
//!
//! | question | file |
//! |---|---|
//! | how well does it predict documents it has not seen? | `perplexity` |
//! | do a topic's words stand together in texts? | `coherence`, counted by `windows`, texts by `reference` |
//! | are topics alike, are they sharp? | `words` |
//! | have two models found the same topics? | `matching` |

mod coherence;
mod matching;
mod perplexity;
#[cfg(feature = "text")]
mod reference;
mod windows;
mod words;

pub use coherence::{Coherence, Coherences, Measure, Measured, Missing};
pub use matching::{best_matching, word_overlap};
pub use perplexity::{DEFINITION, Evaluation, predictive_perplexity};
pub use words::{WordMeasures, word_measures};
