//! `tinylda documents`

use std::fmt::Write;

use serde_json::{Value, json};
use tinylda::infer::{Found, Mixtures, Similar, Typical, find_document, names_of};
use tinylda::{Corpus, Model};

use super::{grouped, print, shown, to_stdout, visible};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::Documents, ui: Ui) -> anyhow::Result<()> {
    let model = Model::load(&a.model)?;
    let threads = super::infer::threads(a.threads);
    let input = super::input::Documents::open(&a.input, &a.data, &model, threads, ui)?;
    let corpus = &input.corpus;
    let mixtures = Mixtures::new(&model, corpus)?.threads(threads);
    let bar = ui.bar("documents", Unit::Plain);
    let progress = &mut |p| bar.step(p);
    let (top, min_tokens) = (a.top as usize, a.min_tokens);
    if let Some(asked) = &a.similar_to {
        let to = find_document(corpus, asked)?;
        let found = Similar { top, min_tokens }.find(&mixtures, to, progress)?;
        bar.done();
        return similar(a, corpus, to, &found);
    }
    let topics = a.topic.clone();
    let found = Typical { top, min_tokens, topics }.find(&mixtures, progress)?;
    bar.done();
    typical(a, &model, corpus, &found)
}

/// Found documents with their names.
fn named(corpus: &Corpus, found: &[Found]) -> anyhow::Result<Vec<(Found, String)>> {
    let numbers: Vec<u64> = found.iter().map(|f| f.number).collect();
    Ok(found.iter().copied().zip(names_of(corpus, &numbers)?).collect())
}

fn object(found: Found, name: &str, what: &str) -> Value {
    let mut value =
        json!({ "document": found.number + 1, "tokens": found.tokens, what: super::plain(found.value) });
    if !name.is_empty() {
        value["name"] = name.into();
    }
    value
}

/// A name in a cell of a table.
fn cell(name: &str) -> String {
    name.replace(|c: char| c.is_control(), " ")
}

fn typical(
    a: &args::Documents,
    model: &Model,
    corpus: &Corpus,
    all: &[(u32, Vec<Found>)],
) -> anyhow::Result<()> {
    // All names in one go: a block is read once, whatever its documents are typical of.
    let flat: Vec<Found> = all.iter().flat_map(|(_, found)| found.iter().copied()).collect();
    let mut names = named(corpus, &flat)?.into_iter();
    let all: Vec<(u32, Vec<(Found, String)>)> =
        all.iter().map(|(k, found)| (*k, names.by_ref().take(found.len()).collect())).collect();
    if a.tsv {
        let mut lines = String::from("topic\trank\tdocument\tname\ttokens\tproportion\n");
        for (k, found) in &all {
            for (rank, (f, name)) in (1..).zip(found) {
                let Found { number, tokens, value } = f;
                writeln!(lines, "{k}\t{rank}\t{}\t{}\t{tokens}\t{value}", number + 1, cell(name))?;
            }
        }
        return to_stdout(&lines);
    }
    let words = model.top_words(5);
    let label = |k: u32| -> Vec<String> {
        words[k as usize].iter().map(|w| model.word_name(w.word).into_owned()).collect()
    };
    let value = json!({
        "model": shown(&a.model),
        "corpus": shown(&a.input),
        "min_tokens": a.min_tokens,
        "topics": all.iter().map(|(k, found)| json!({
            "topic": k,
            "words": label(*k),
            "documents": found.iter().map(|(f, name)| object(*f, name, "proportion")).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    let mut lines = String::new();
    for (k, found) in &all {
        writeln!(lines, "topic {k}: {}", visible(&label(*k).join(" ")))?;
        for (f, name) in found {
            writeln!(lines, "  {:5.1}%  {}", 100.0 * f.value, told(*f, name))?;
        }
        if found.is_empty() {
            writeln!(lines, "  no document of {} tokens or more", a.min_tokens)?;
        }
    }
    print(a.json, &value, &lines)
}

/// A document in a line for people.
fn told(f: Found, name: &str) -> String {
    let tokens = grouped(f.tokens);
    if name.is_empty() {
        format!("document {} ({tokens} tokens)", f.number + 1)
    } else {
        format!("{} (document {}, {tokens} tokens)", visible(name), f.number + 1)
    }
}

fn similar(a: &args::Documents, corpus: &Corpus, to: u64, found: &[Found]) -> anyhow::Result<()> {
    let own = names_of(corpus, &[to])?.concat();
    let found = named(corpus, found)?;
    if a.tsv {
        let mut lines = String::from("rank\tdocument\tname\ttokens\thellinger_distance\n");
        for (rank, (f, name)) in (1..).zip(&found) {
            let Found { number, tokens, value } = f;
            writeln!(lines, "{rank}\t{}\t{}\t{tokens}\t{value}", number + 1, cell(name))?;
        }
        return to_stdout(&lines);
    }
    let value = json!({
        "model": shown(&a.model),
        "corpus": shown(&a.input),
        "document": to + 1,
        "name": if own.is_empty() { Value::Null } else { own.clone().into() },
        "distance": "hellinger",
        "min_tokens": a.min_tokens,
        "documents": found.iter().map(|(f, name)| object(*f, name, "distance")).collect::<Vec<_>>(),
    });
    let own = if own.is_empty() { format!("document {}", to + 1) } else { visible(&own) };
    let mut lines = format!(
        "nearest to {own}, by Hellinger distance of topic proportions (0 the same, 1 nothing shared)\n"
    );
    for (f, name) in &found {
        writeln!(lines, "  {:.4}  {}", f.value, told(*f, name))?;
    }
    print(a.json, &value, &lines)
}
