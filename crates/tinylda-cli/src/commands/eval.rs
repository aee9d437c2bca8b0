//! `tinylda eval`: predictive perplexity and topic coherence.

use serde_json::{Value, json};
use tinylda::eval::{DEFINITION, HeldOutEvaluation, PROTOCOL};
use tinylda::{Corpus, Inference, Model};

use super::coherence::{coherence, open_reference};
use super::input::OpenedDocuments;
use super::{counted, grouped, infer, load_model, print, table};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::EvalArgs, ui: Ui) -> anyhow::Result<()> {
    let model = load_model(&a.model, a.corpus.as_deref())?;
    let threads = infer::thread_count(a.threads);
    let reference = open_reference(a)?;
    let documents = match &a.corpus {
        Some(input) => Some(OpenedDocuments::open(input, &a.more, &a.data, &model, threads, ui)?),
        None if a.data.is_given() => return Err(super::input::without_documents_error()),
        None => None,
    };
    if let Some(documents) = &documents {
        documents.warn_of_unknown_words(&model, ui)?;
    }
    let corpus = documents.as_ref().map(|documents| &documents.corpus);
    let (mut value, mut lines) = (json!({}), String::new());
    if !a.coherence.is_empty() {
        (value, lines) = coherence(a, &model, reference, corpus, ui)?;
    }
    if let Some(corpus) = corpus.filter(|_| a.perplexity || a.coherence.is_empty()) {
        super::mismatch::warn_if_trained_on(&model, corpus, ui);
        let (more, text) = perplexity(a, &model, corpus, ui)?;
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines.push_str(&text);
        if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
            all.extend(more);
        }
    }
    print(a.json, &value, &lines)
}

/// Returns the number of tokens of the texts that are not in the vocabulary of the corpus.
fn dropped_tokens(corpus: &Corpus) -> tinylda::Result<u64> {
    let mut reader = corpus.reader();
    let mut dropped = 0;
    for i in 0..corpus.blocks() {
        dropped += reader.read_tokens_unknown(i)?.into_iter().map(u64::from).sum::<u64>();
    }
    Ok(dropped)
}

/// Returns the predictive perplexity as JSON and as text.
fn perplexity(a: &args::EvalArgs, model: &Model, corpus: &Corpus, ui: Ui) -> anyhow::Result<(Value, String)> {
    let bar = ui.bar("documents", Unit::Plain);
    let inference = match a.inference {
        args::Inference::Same => Inference::Same,
        args::Inference::Own => Inference::Own,
    };
    let evaluation = HeldOutEvaluation { seed: a.seed, inference, threads: infer::thread_count(a.threads) };
    let e = evaluation.run(model, corpus, &mut |p| bar.update(p))?;
    bar.finish();
    // The corpus knows the number of tokens that the import dropped, but not their distinct words.
    let dropped = dropped_tokens(corpus)?;
    let words_unknown = (dropped == 0).then_some(e.words_unknown);
    let tokens_unknown = e.tokens_unknown + dropped;
    let how = match inference {
        Inference::Same => "",
        Inference::Own => " Here p(k|d) is inferred with the algorithm that the model was trained with.",
    };
    let value = json!({
        "predictive_perplexity": e.predictive_perplexity,
        "documents": e.documents,
        "documents_skipped": e.documents_skipped,
        "tokens_observed": e.tokens_observed,
        "tokens_scored": e.tokens_scored,
        "words_unknown": words_unknown,
        "tokens_unknown": tokens_unknown,
        "seed": a.seed,
        "inference": if inference == Inference::Own { "own" } else { "same" },
        "definition": format!("{DEFINITION} {PROTOCOL}{how}"),
    });
    let tokens = counted(tokens_unknown, "token");
    let unknown = words_unknown.map_or_else(
        || format!("{tokens}, ignored"),
        |words| format!("{} ({tokens}, ignored)", grouped(words)),
    );
    let lines = table(&[
        ("predictive perplexity", format!("{:.2}", e.predictive_perplexity)),
        (
            "documents",
            format!("{} ({} too short to split)", grouped(e.documents), grouped(e.documents_skipped)),
        ),
        ("tokens observed", grouped(e.tokens_observed)),
        ("tokens scored", grouped(e.tokens_scored)),
        ("words unknown", unknown),
    ]);
    Ok((value, format!("{lines}\nDefinition: {DEFINITION}{how}\n")))
}
