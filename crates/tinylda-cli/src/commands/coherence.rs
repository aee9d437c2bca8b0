//! `tinylda eval --coherence`: coherence, diversity and exclusivity of the top words of topics.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use tinylda::corpus::ingest::{DetectedInput, Format, InputKind};
use tinylda::eval::{Coherence, CoherenceResult, Measure, MissingWords, WordMeasures, word_measures};
use tinylda::{Corpus, Error, Model};

use super::{counted, escape_control, input_name, path_string, shell_quote, table, usage};
use crate::args;
use crate::progress::{Ui, Unit};

/// Number of words shown per topic.
const SHOWN: usize = 5;

/// Documents of `--reference`.
pub(super) enum Reference {
    /// A corpus file, without the order of words.
    Corpus(Corpus),
    /// Texts.
    Texts(DetectedInput),
}

/// Opens the documents of `--reference`, if there are any.
pub(super) fn open_reference(a: &args::EvalArgs) -> anyhow::Result<Option<Reference>> {
    let Some(path) = a.reference.as_deref() else { return Ok(None) };
    let opened = DetectedInput::open(path)?;
    Ok(Some(match opened.kind() {
        InputKind::Model => {
            return Err(Error::out_of_range("reference", "a model file", "texts or a corpus file").into());
        }
        InputKind::Corpus => Reference::Corpus(Corpus::open(path)?),
        InputKind::Data(Format::Text) => Reference::Texts(opened),
        InputKind::Data(format) => {
            let (name, path) = (format.name(), path.display());
            return Err(usage(format!(
                "--reference must be plain text or a corpus file; {path} is {name}; import it first"
            )));
        }
        _ => Reference::Texts(opened),
    }))
}

/// Returns the result as JSON and as text. Coherence is computed on the reference, or else on the
/// corpus.
pub(super) fn coherence(
    a: &args::EvalArgs,
    model: &Model,
    reference: Option<Reference>,
    corpus: Option<&Corpus>,
    ui: Ui,
) -> anyhow::Result<(Value, String)> {
    let mut measures: Vec<Measure> = Vec::new();
    for &measure in a.coherence.iter().flatten() {
        if !measures.contains(&measure) {
            measures.push(measure);
        }
    }
    let how = Coherence {
        measures,
        window: a.window,
        missing: match a.missing {
            args::Missing::LeaveOut => MissingWords::Ignore,
            args::Missing::Keep => MissingWords::Keep,
        },
        threads: a.threads.map_or_else(
            || std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            usize::from,
        ),
    };
    let topics: Vec<Vec<u32>> =
        model.top_words(a.top as usize).iter().map(|words| words.iter().map(|w| w.word).collect()).collect();
    let (found, ordered) = measure(&how, model, &topics, reference, corpus, ui)?;
    // The documents as the user has given them, which may have been imported into another file.
    let source = match (&a.reference, &a.corpus) {
        (Some(reference), _) => path_string(reference),
        (None, Some(corpus)) => input_name(corpus, &a.more),
        (None, None) => "-".to_owned(),
    };
    let words = word_measures(model, &topics);
    let windows = if ordered {
        "texts with their word order"
    } else {
        "word order is not used: each document is one window"
    };
    let hint = match (&a.reference, &a.corpus) {
        (None, Some(given)) if !ordered && a.more.is_empty() && is_plain_text(given) => {
            format!("; for sliding windows, pass --reference {}", shell_quote(&path_string(given)))
        }
        _ if ordered => String::new(),
        _ => "; for sliding windows, pass texts with --reference".to_owned(),
    };
    let value = json(a, model, &found, &words, &source, windows);
    let windows = format!("{windows}{hint}");
    Ok((value, lines(model, &topics, &found, &words, &source, &windows)?))
}

/// Returns whether a path is a file of plain text, with one document per line.
fn is_plain_text(path: &Path) -> bool {
    // Opening a pipe would consume it.
    path.is_file()
        && DetectedInput::open(path).is_ok_and(|input| input.kind() == InputKind::Data(Format::Text))
}

/// Computes the coherence on the reference, or else on the corpus. Also returns whether it has a
/// word order.
fn measure(
    how: &Coherence,
    model: &Model,
    topics: &[Vec<u32>],
    reference: Option<Reference>,
    corpus: Option<&Corpus>,
    ui: Ui,
) -> anyhow::Result<(CoherenceResult, bool)> {
    let on_corpus = |corpus: &Corpus| {
        let bar = ui.bar("blocks read", Unit::Plain);
        let found = how.of_corpus(model, topics, corpus, &mut |p| bar.update(p))?;
        bar.finish();
        Ok((found, false))
    };
    let texts = match (reference, corpus) {
        (Some(Reference::Corpus(corpus)), _) => return on_corpus(&corpus),
        (None, Some(corpus)) => return on_corpus(corpus),
        (Some(Reference::Texts(texts)), _) => texts,
        (None, None) => DetectedInput::open("-")?,
    };
    let bar = ui.bar("reading", Unit::Bytes);
    let found = how.of_text(model, topics, texts, &mut |p| bar.update(p))?;
    bar.finish();
    Ok((found, true))
}

fn json(
    a: &args::EvalArgs,
    model: &Model,
    found: &CoherenceResult,
    words: &WordMeasures,
    source: &str,
    windows: &str,
) -> Value {
    let one = |m: &tinylda::eval::MeasureResult| {
        json!({
            "measure": m.measure.name(),
            "mean": m.mean,
            "topics": m.topics,
            "window": m.window,
            "windows": m.windows,
        })
    };
    let names = |words: &Vec<u32>| words.iter().map(|&w| model.word_name(w)).collect::<Vec<_>>();
    json!({
        "coherence": found.measures.iter().map(one).collect::<Vec<_>>(),
        "reference": source,
        "windows": windows,
        "reference_documents": found.documents,
        "top": a.top,
        "words_missing": found.missing.iter().map(names).collect::<Vec<_>>(),
        "diversity": words.diversity,
        "exclusivity": words.exclusivity,
        "effective_words": words.effective_words,
        "topic_names": (0..model.topics()).map(|k| model.topic_name(k)).collect::<Vec<_>>(),
    })
}

fn lines(
    model: &Model,
    topics: &[Vec<u32>],
    found: &CoherenceResult,
    words: &WordMeasures,
    source: &str,
    windows: &str,
) -> anyhow::Result<String> {
    let number = |value: f64| if value.is_finite() { format!("{value:.4}") } else { "-".to_owned() };
    let name = |k: u32| escape_control(model.topic_name(k).unwrap_or_default());
    let width = (0..model.topics()).map(|k| name(k).chars().count() + 2).max().unwrap_or(0).max(6);
    let width = if model.has_topic_names() { width } else { 0 };
    let head = if width > 0 { "name" } else { "" };
    let mut out = String::from("topic  prevalence");
    for m in &found.measures {
        write!(out, "  {:>8}", m.measure.name())?;
    }
    writeln!(out, "  exclusive  eff. words  {head:width$}words")?;
    for (k, top) in topics.iter().enumerate() {
        write!(out, "{k:5}  {:9.1}%", 100.0 * model.share(k as u32))?;
        for m in &found.measures {
            write!(out, "  {:>8}", number(m.topics[k]))?;
        }
        let names: Vec<_> = top.iter().take(SHOWN).map(|&w| escape_control(&model.word_name(w))).collect();
        let (exclusive, effective) = (words.exclusivity[k], words.effective_words[k]);
        let topic = name(k as u32);
        writeln!(out, "  {:>9}  {effective:10.1}  {topic:width$}{}", number(exclusive), names.join(" "))?;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (exclusive, effective) = (mean(&words.exclusivity), mean(&words.effective_words));
    write!(out, "{:17}", " mean")?;
    for m in &found.measures {
        write!(out, "  {:>8}", number(m.mean))?;
    }
    writeln!(out, "  {:>9}  {effective:10.1}\n", number(exclusive))?;
    let top = topics.iter().map(Vec::len).max().unwrap_or(0);
    let sizes: Vec<String> = found
        .measures
        .iter()
        .map(|m| match m.window {
            0 => format!("{}: whole documents", m.measure.name()),
            n => format!(
                "{}: {} ({})",
                m.measure.name(),
                counted(n.into(), "word"),
                counted(m.windows, "window")
            ),
        })
        .collect();
    let missing: usize = found.missing.iter().map(Vec::len).sum();
    out.push_str(&table(&[
        ("reference", format!("{source}, {}: {windows}", counted(found.documents, "document"))),
        ("windows", sizes.join(", ")),
        (
            "words",
            format!("the {top} most probable of each topic; {missing} of them never occur in the reference"),
        ),
        ("diversity", format!("{} of them are distinct words", number(words.diversity))),
        ("exclusive", "mean of p(w|k) / sum_j p(w|j) over these words, as in MALLET's diagnostics".into()),
        ("eff. words", "1 / sum_w p(w|k)^2".into()),
    ]));
    Ok(out)
}
