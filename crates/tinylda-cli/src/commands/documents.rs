//! `tinylda documents`: lists typical documents of topics, or documents similar to a given one.

use std::fmt::Write;

use serde_json::{Value, json};
use tinylda::infer::{
    Mixtures, RankedDocument, SimilarDocuments, TypicalDocuments, document_names, find_document,
};
use tinylda::{Corpus, Model};

use super::{counted, escape_control, path_string, print, to_stdout};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::DocumentsArgs, ui: Ui) -> anyhow::Result<()> {
    let model = Model::load(&a.model)?;
    let threads = super::infer::thread_count(a.threads);
    let input = super::input::OpenedDocuments::open(&a.input, &a.data, &model, threads, ui)?;
    let corpus = &input.corpus;
    let mixtures = Mixtures::new(&model, corpus)?.threads(threads);
    input.warn_of_mismatch(&model, ui)?;
    let bar = ui.bar("documents", Unit::Plain);
    let progress = &mut |p| bar.update(p);
    let (top, min_tokens) = (a.top as usize, a.min_tokens);
    if let Some(asked) = &a.similar_to {
        let to = find_document(corpus, asked)?;
        let found = SimilarDocuments { top, min_tokens }.find(&mixtures, to, progress)?;
        bar.finish();
        return similar(a, corpus, to, &found);
    }
    let topics = a.topic.clone();
    let found = TypicalDocuments { top, min_tokens, topics }.find(&mixtures, progress)?;
    bar.finish();
    typical(a, &model, corpus, &found)
}

/// Adds the names of documents.
fn with_names(corpus: &Corpus, found: &[RankedDocument]) -> anyhow::Result<Vec<(RankedDocument, String)>> {
    let numbers: Vec<u64> = found.iter().map(|f| f.number).collect();
    Ok(found.iter().copied().zip(document_names(corpus, &numbers)?).collect())
}

/// Returns a document as JSON; `what` is the key of its value.
fn object(found: RankedDocument, name: &str, what: &str) -> Value {
    let mut value =
        json!({ "document": found.number + 1, "tokens": found.tokens, what: super::plain(found.value) });
    if !name.is_empty() {
        value["name"] = name.into();
    }
    value
}

/// Replaces control characters, so that a name fits into a cell of a table.
fn tsv_cell(name: &str) -> String {
    name.replace(|c: char| c.is_control(), " ")
}

fn typical(
    a: &args::DocumentsArgs,
    model: &Model,
    corpus: &Corpus,
    all: &[(u32, Vec<RankedDocument>)],
) -> anyhow::Result<()> {
    // All names are looked up together, so that each block is read only once.
    let flat: Vec<RankedDocument> = all.iter().flat_map(|(_, found)| found.iter().copied()).collect();
    let mut names = with_names(corpus, &flat)?.into_iter();
    let all: Vec<(u32, Vec<(RankedDocument, String)>)> =
        all.iter().map(|(k, found)| (*k, names.by_ref().take(found.len()).collect())).collect();
    if a.tsv {
        let mut lines = String::from("topic\trank\tdocument\tname\ttokens\tproportion\n");
        for (k, found) in &all {
            for (rank, (f, name)) in (1..).zip(found) {
                let RankedDocument { number, tokens, value } = f;
                writeln!(lines, "{k}\t{rank}\t{}\t{}\t{tokens}\t{value}", number + 1, tsv_cell(name))?;
            }
        }
        return to_stdout(&lines);
    }
    let words = model.top_words(5);
    let label = |k: u32| -> Vec<String> {
        words[k as usize].iter().map(|w| model.word_name(w.word).into_owned()).collect()
    };
    let value = json!({
        "model": path_string(&a.model),
        "corpus": path_string(&a.input),
        "min_tokens": a.min_tokens,
        "topics": all.iter().map(|(k, found)| json!({
            "topic": k,
            "name": model.topic_name(*k),
            "words": label(*k),
            "documents": found.iter().map(|(f, name)| object(*f, name, "proportion")).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    let mut lines = String::new();
    for (k, found) in &all {
        let name =
            model.topic_name(*k).map_or_else(String::new, |name| format!(" ({})", escape_control(name)));
        writeln!(lines, "topic {k}{name}: {}", escape_control(&label(*k).join(" ")))?;
        for (f, name) in found {
            writeln!(lines, "  {:5.1}%  {}", 100.0 * f.value, describe(*f, name))?;
        }
        if found.is_empty() {
            writeln!(lines, "  no document with at least {}", counted(a.min_tokens, "token"))?;
        }
    }
    print(a.json, &value, &lines)
}

/// Describes a document in one line.
fn describe(f: RankedDocument, name: &str) -> String {
    let tokens = counted(f.tokens, "token");
    if name.is_empty() {
        format!("document {} ({tokens})", f.number + 1)
    } else {
        format!("{} (document {}, {tokens})", escape_control(name), f.number + 1)
    }
}

fn similar(
    a: &args::DocumentsArgs,
    corpus: &Corpus,
    to: u64,
    found: &[RankedDocument],
) -> anyhow::Result<()> {
    let own = document_names(corpus, &[to])?.concat();
    let found = with_names(corpus, found)?;
    if a.tsv {
        let mut lines = String::from("rank\tdocument\tname\ttokens\thellinger_distance\n");
        for (rank, (f, name)) in (1..).zip(&found) {
            let RankedDocument { number, tokens, value } = f;
            writeln!(lines, "{rank}\t{}\t{}\t{tokens}\t{value}", number + 1, tsv_cell(name))?;
        }
        return to_stdout(&lines);
    }
    let value = json!({
        "model": path_string(&a.model),
        "corpus": path_string(&a.input),
        "document": to + 1,
        "name": if own.is_empty() { Value::Null } else { own.clone().into() },
        "distance": "hellinger",
        "min_tokens": a.min_tokens,
        "documents": found.iter().map(|(f, name)| object(*f, name, "distance")).collect::<Vec<_>>(),
    });
    let own = if own.is_empty() { format!("document {}", to + 1) } else { escape_control(&own) };
    let mut lines = format!(
        "documents most similar to {own}, by Hellinger distance of topic proportions (0: equal, 1: no topic shared)\n"
    );
    for (f, name) in &found {
        writeln!(lines, "  {:.4}  {}", f.value, describe(*f, name))?;
    }
    print(a.json, &value, &lines)
}
