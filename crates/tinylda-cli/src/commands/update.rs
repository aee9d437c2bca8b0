//! `tinylda update`: continues the training of a model with new documents.
//!
//! The training is that of `train`. This module completes its arguments and describes how far the
//! topics have moved.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};
use tinylda::Model;
use tinylda::model::{ModelSize, TrainingRecord, UpdateRecord};

use super::{counted, escape_control, topic_name_suffix};
use crate::args;
use crate::progress::Ui;

/// Maximum number of topics in the table of those that have moved most.
const MAX_TOPICS: usize = 5;
/// Number of words of a topic in that table.
const WORDS: usize = 6;

pub(crate) fn run(a: &args::UpdateArgs, ui: Ui) -> anyhow::Result<()> {
    let topics = match ModelSize::of_file(&a.model) {
        Ok(size) => size.topics,
        // Fails as well, with an error that explains a wrong order of the arguments.
        Err(_) => super::load_model(&a.model, Some(&a.training.corpus))?.topics(),
    };
    let update = args::UpdateSource { model: a.model.clone(), weight: a.weight };
    let mut training = a.training.clone();
    (training.topics, training.update) = (topics, Some(update));
    super::train::run(&training, ui)
}

/// Reads the record of the update from the model that was written.
pub(super) fn record(output: &Path) -> anyhow::Result<UpdateRecord> {
    TrainingRecord::of_file(output)?.update.context("the model has no record of its update")
}

/// Returns the result of an update as JSON.
pub(super) fn to_json(update: &UpdateRecord) -> Value {
    json!({
        "weight": update.weight,
        "documents_before": update.documents(),
        "words_new": update.new_words,
        "similarity_mean": update.mean_similarity(),
        "similarities": update.similarities,
    })
}

/// Describes the new words and how far the topics have moved. `old` is the model before the update.
pub(super) fn to_lines(update: &UpdateRecord, old: &Model) -> String {
    let words = old.top_words(WORDS);
    let heading = format!(
        "{} added; topics before and after: mean cosine {:.4}; those that have moved most:",
        counted(update.new_words.into(), "new word"),
        update.mean_similarity()
    );
    let topic_line = |&(k, similarity): &(u32, f64)| {
        let words = words.get(k as usize).map_or(&[][..], Vec::as_slice);
        let words: Vec<String> = words.iter().map(|word| escape_control(&old.word_name(word.word))).collect();
        let name = topic_name_suffix(old, k);
        format!("{k:>6}  {similarity:.4}  {}{name}", words.join(" "))
    };
    let topics: Vec<String> = update.least_similar().iter().take(MAX_TOPICS).map(topic_line).collect();
    format!("{heading}\n{}\n", topics.join("\n"))
}

/// Returns what an update starts from, in one line.
pub(super) fn describe_start(old: &Model, weight: f64) -> String {
    let corpus = &old.training().corpus;
    let before = old.training().update.as_ref().map_or(0, UpdateRecord::documents);
    let weight =
        if weight.to_bits() == 1f64.to_bits() { String::new() } else { format!(", weight {weight}") };
    let documents = counted(corpus.documents.saturating_add(before), "earlier document");
    format!("{documents}{weight}")
}
