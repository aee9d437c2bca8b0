//! Numbers that say how good a model is.

mod perplexity;

pub use perplexity::{DEFINITION, Evaluation, predictive_perplexity};
