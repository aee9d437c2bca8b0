//! Warnings about a model and documents that do not belong together.
//!
//! Each function prints at most one warning, with the reason and the remedy. A warning never stops
//! a command, since most mismatches are legitimate for someone.

use tinylda::infer::UnknownWords;
use tinylda::{Corpus, Model};

use super::{counted, grouped};
use crate::progress::Ui;
use crate::sweep::max_useful_topics;

/// Share of unknown tokens above which a warning is printed.
const MAX_UNKNOWN: f64 = 0.5;

/// Warns if a corpus is not the one that the model was trained on, for commands that usually show
/// the documents of the training.
pub(super) fn warn_if_not_trained_on(model: &Model, corpus: &Corpus, ui: Ui) {
    let trained = &model.training().corpus;
    if trained.describes(corpus) {
        return;
    }
    let name = if trained.file.is_empty() { String::new() } else { format!("{}: ", trained.file) };
    ui.say(&format!(
        "warning: the model was trained on other documents ({name}{}, {}; given: {}, {}); \
         the topics of the given documents are inferred. To see the documents of the training, pass the data \
         that the model was trained on.",
        counted(trained.documents, "document"),
        counted(trained.tokens, "token"),
        counted(corpus.shape().documents, "document"),
        counted(corpus.shape().tokens, "token"),
    ));
}

/// Warns if a corpus is the one that the model was trained on, for an evaluation that needs other
/// documents.
pub(super) fn warn_if_trained_on(model: &Model, corpus: &Corpus, ui: Ui) {
    if model.training().corpora().any(|trained| trained.describes(corpus)) {
        ui.say(
            "warning: the model was trained on these documents, so the perplexity is too optimistic; \
             hold some out with tinylda split",
        );
    }
}

/// Warns if more than half of the tokens are words that the model does not know, or if the words
/// cannot be compared by name. `dropped` is the number of unknown tokens that were not imported.
pub(super) fn warn_of_unknown_words(
    model: &Model,
    corpus: &Corpus,
    unknown: UnknownWords,
    dropped: u64,
    ui: Ui,
) {
    if corpus.has_vocabulary() != model.vocabulary().is_some() {
        return warn_of_words_without_names(model, corpus, ui);
    }
    let (tokens, all) = (unknown.tokens + dropped, corpus.shape().tokens + dropped);
    let share = tokens as f64 / all.max(1) as f64;
    if share > MAX_UNKNOWN {
        ui.say(&format!(
            "warning: the model does not know {:.0}% of the words ({} of {} tokens), so the topics of these \
             documents mean little; use documents like those of the training (same language and spelling), \
             or train a model on these.",
            (100.0 * share).floor(),
            grouped(tokens),
            grouped(all),
        ));
    }
}

/// Warns if only one of model and corpus has a vocabulary, so that words are compared by number.
pub(super) fn warn_of_words_without_names(model: &Model, corpus: &Corpus, ui: Ui) {
    if corpus.has_vocabulary() != model.vocabulary().is_some() {
        let which = if corpus.has_vocabulary() { "model" } else { "corpus" };
        ui.say(&format!(
            "warning: the {which} has no vocabulary, so words are matched by number; \
             if the numbers mean other words, the topics are wrong. Import the data with --vocab."
        ));
    }
}

/// Warns about a corpus that is too small for the requested number of topics. If the corpus was
/// `imported` by the same command, the import has already warned about a single document.
pub(super) fn warn_of_many_topics(topics: u32, corpus: &Corpus, imported: bool, ui: Ui) {
    let documents = corpus.shape().documents;
    let most = max_useful_topics(documents);
    if documents == 1 && imported {
        return;
    }
    if documents == 1 {
        ui.say(
            "warning: the corpus has one document, and topics are found by comparing documents; \
             split the text into several documents, such as one per line, row or file",
        );
    } else if topics > 1 && u64::from(topics) > most {
        let remedy = if most >= 2 { format!("use -k {most} or less, or") } else { "use".to_owned() };
        ui.say(&format!(
            "warning: {} for {} leave fewer than ten documents per topic, so that most topics are due to chance; \
             {remedy} more documents",
            counted(topics.into(), "topic"),
            counted(documents, "document"),
        ));
    }
}

/// Warns if training has learned the largest possible beta, given as `limit`.
pub(super) fn warn_of_beta_limit(limit: Option<f64>, ui: Ui) {
    if let Some(limit) = limit {
        ui.say(&beta_warning(limit));
    }
}

/// Returns the warning about the largest possible beta.
pub(super) fn beta_warning(limit: f64) -> String {
    format!(
        "warning: --optimize has raised beta to its limit of {limit}, which makes all topics alike: the corpus \
         is too small to learn beta from. Omit --optimize, or use fewer topics or more documents."
    )
}
