//! `tinylda eval --coherence`: coherence, diversity and exclusivity of the top words of topics.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use tinylda::corpus::ingest::{DetectedInput, InputKind};
use tinylda::eval::{Coherence, CoherenceResult, Measure, MissingWords, WordMeasures, word_measures};
use tinylda::{Corpus, Error, Model};

use super::{counted, escape_control, path_string, table};
use crate::args;
use crate::progress::{Ui, Unit};

/// Number of words shown per topic.
const SHOWN: usize = 5;

/// Returns the result as JSON and as text.
pub(super) fn coherence(
    a: &args::EvalArgs,
    model: &Model,
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
    let (found, source, ordered) = measure(a, &how, model, &topics, corpus, ui)?;
    let words = word_measures(model, &topics);
    let windows = if ordered {
        "texts with their word order"
    } else {
        "a corpus file has no word order, so each document is one window; pass texts with --reference"
    };
    let value = json(a, model, &found, &words, &source, windows);
    Ok((value, lines(model, &topics, &found, &words, &source, windows)?))
}

/// Computes the coherence on the reference or the corpus. Also returns its name and whether it has
/// a word order.
fn measure(
    a: &args::EvalArgs,
    how: &Coherence,
    model: &Model,
    topics: &[Vec<u32>],
    corpus: Option<&Corpus>,
    ui: Ui,
) -> anyhow::Result<(CoherenceResult, String, bool)> {
    let reference = a.reference.as_deref().map(DetectedInput::open).transpose()?;
    let opened = match reference.as_ref().map(DetectedInput::kind) {
        Some(InputKind::Model) => {
            return Err(Error::out_of_range("reference", "a model file", "texts or a corpus file").into());
        }
        Some(InputKind::Corpus) => a.reference.as_deref().map(Corpus::open).transpose()?,
        _ => None,
    };
    if let Some(corpus) = opened.as_ref().or(corpus.filter(|_| reference.is_none())) {
        let bar = ui.bar("blocks read", Unit::Plain);
        let found = how.of_corpus(model, topics, corpus, &mut |p| bar.update(p))?;
        bar.finish();
        return Ok((found, corpus.path().map(path_string).unwrap_or_default(), false));
    }
    let texts = match reference {
        Some(texts) => texts,
        None => DetectedInput::open(Path::new("-"))?,
    };
    let path = a.reference.as_deref().unwrap_or(Path::new("-"));
    let bar = ui.bar("reading", Unit::Bytes);
    let found = how.of_text(model, topics, texts, &mut |p| bar.update(p))?;
    bar.finish();
    Ok((found, path_string(path), true))
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
    let mut out = String::from("topic   share");
    for m in &found.measures {
        write!(out, "  {:>8}", m.measure.name())?;
    }
    writeln!(out, "  exclusive  eff. words  words")?;
    for (k, top) in topics.iter().enumerate() {
        write!(out, "{k:5}  {:5.1}%", 100.0 * model.share(k as u32))?;
        for m in &found.measures {
            write!(out, "  {:>8}", number(m.topics[k]))?;
        }
        let names: Vec<_> = top.iter().take(SHOWN).map(|&w| escape_control(&model.word_name(w))).collect();
        let (exclusive, effective) = (words.exclusivity[k], words.effective_words[k]);
        writeln!(out, "  {:>9}  {effective:10.1}  {}", number(exclusive), names.join(" "))?;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (exclusive, effective) = (mean(&words.exclusivity), mean(&words.effective_words));
    write!(out, "{:13}", " mean")?;
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
