//! `tinylda info`: describes a corpus or model file and verifies its checksum.

use std::path::Path;

use serde_json::{Value, json};
use tinylda::corpus::ingest::{DetectedInput, InputKind};
use tinylda::corpus::{LabelStatistics, MAX_DISTINCT_LABELS, Statistics};
use tinylda::format::human_bytes;
use tinylda::{Corpus, Model};

use super::{counted, escape_control, grouped, path_string, plain, print, shape_json, table};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::InfoArgs, ui: Ui) -> anyhow::Result<()> {
    match DetectedInput::open(&a.file)?.kind() {
        InputKind::Model => model(&a.file, a.json),
        InputKind::Corpus => corpus(&a.file, a.json, ui),
        _ => Err(tinylda::Error::WrongKind {
            path: a.file.clone(),
            kind: "corpus or model",
            hint: match std::fs::metadata(&a.file) {
                Ok(m) if m.len() == 0 => "it is empty".into(),
                _ => "check the name; if it was such a file, it is damaged".into(),
            },
        }
        .into()),
    }
}

fn corpus(path: &Path, json: bool, ui: Ui) -> anyhow::Result<()> {
    let corpus = Corpus::open(path)?;
    let bar = ui.bar("blocks checked", Unit::Plain);
    let s = Statistics::of(&corpus, &mut |p| bar.update(p))?;
    bar.finish();
    let per_nonzero = corpus.packed_documents_bytes() as f64 / s.shape.nonzeros.max(1) as f64;
    let mut value = shape_json(s.shape);
    let rest = json!({
        "kind": "corpus",
        "file": path_string(path),
        "empty_documents": s.empty_documents,
        "unused_words": s.unused_words,
        "length_mean": s.lengths.mean,
        "length_median": s.lengths.median,
        "length_p99": s.lengths.percentile_99,
        "length_max": s.lengths.longest,
        "vocabulary": corpus.has_vocabulary(),
        "names": corpus.has_names(),
        "labels": corpus.has_labels(),
        "label_columns": s.labels.iter().map(label_json).collect::<Vec<_>>(),
        "dates": dates_json(&s),
        "text_checksums": corpus.has_checksums(),
        "places": corpus.has_places(),
        "about": corpus.about()?,
        "blocks": corpus.blocks(),
        "bytes": corpus.bytes(),
        "bytes_per_nonzero": per_nonzero,
        "fingerprint": corpus.fingerprint(),
        "content": corpus.content_id(),
        "checksum": "verified",
    });
    if let Value::Object(rest) = rest {
        value.extend(rest);
    }
    let lines = table(&[
        ("corpus", path_string(path)),
        (
            "documents",
            format!("{} ({} without words)", grouped(s.shape.documents), grouped(s.empty_documents)),
        ),
        ("words", format!("{} ({} unused)", grouped(u64::from(s.shape.words)), grouped(s.unused_words))),
        ("non-zeros", grouped(s.shape.nonzeros)),
        ("tokens", grouped(s.shape.tokens)),
        (
            "length",
            format!(
                "mean {:.1}, median {}, 99th percentile {}, longest {}",
                s.lengths.mean,
                grouped(s.lengths.median),
                grouped(s.lengths.percentile_99),
                grouped(s.lengths.longest)
            ),
        ),
        (
            "on disk",
            format!(
                "{} in {}, {per_nonzero:.2} bytes per non-zero",
                human_bytes(corpus.bytes()),
                counted(corpus.blocks() as u64, "block")
            ),
        ),
        ("vocabulary", if corpus.has_vocabulary() { "yes" } else { "no" }.into()),
        ("names", if corpus.has_names() { "yes" } else { "no" }.into()),
        ("labels", labels(&s)),
        ("dates", dates(&s)),
        ("positions of texts", places(&corpus).into()),
        ("checksum", format!("verified, {}", corpus.fingerprint())),
    ]);
    print(json, &value.into(), &lines)
}

/// Returns the statistics of a label column as JSON.
fn label_json(column: &LabelStatistics) -> Value {
    json!({ "name": column.name, "documents": column.documents, "distinct": column.distinct })
}

/// Returns the statistics of the dates as JSON; null if there are none.
fn dates_json(s: &Statistics) -> Value {
    s.dates.as_ref().map_or(
        Value::Null,
        |dates| json!({ "documents": dates.documents, "first": dates.first, "last": dates.last }),
    )
}

/// Says whether the texts of documents can be found again.
fn places(corpus: &Corpus) -> &'static str {
    match (corpus.has_places(), corpus.has_checksums()) {
        (true, true) => "yes, with checksums",
        (true, false) => "yes, without checksums",
        _ => "no",
    }
}

/// Describes the label columns in one line.
fn labels(s: &Statistics) -> String {
    let column = |column: &LabelStatistics| {
        let at_least = if column.distinct == MAX_DISTINCT_LABELS { "at least " } else { "" };
        let (name, distinct) = (escape_control(&column.name), grouped(column.distinct));
        format!("{name} ({at_least}{distinct} distinct in {} documents)", grouped(column.documents))
    };
    let all: Vec<String> = s.labels.iter().map(column).collect();
    if all.is_empty() { "no".into() } else { all.join(", ") }
}

/// Describes the dates in one line.
fn dates(s: &Statistics) -> String {
    s.dates.as_ref().map_or("no".into(), |dates| {
        format!("{} to {} in {} documents", dates.first, dates.last, grouped(dates.documents))
    })
}

fn model(path: &Path, json: bool) -> anyhow::Result<()> {
    let model = Model::load(path)?;
    let s = model.training();
    let alpha_sum: f64 = model.alpha().iter().map(|&a| f64::from(a)).sum();
    let (least, most) = model.alpha().iter().fold((f32::MAX, f32::MIN), |(l, m), &a| (l.min(a), m.max(a)));
    let bytes = std::fs::metadata(path)?.len();
    let value = json!({
        "kind": "model",
        "file": path_string(path),
        "topics": model.topics(),
        "words": model.words(),
        "alpha": model.alpha().iter().map(|&a| plain(a)).collect::<Vec<_>>(),
        "alpha_sum": alpha_sum,
        "beta": plain(model.beta()),
        "algorithm": s.algorithm,
        "settings": s.settings,
        "lists": s.checksums.iter().map(|(name, sum)| json!({ "name": name, "checksum": sum })).collect::<Vec<_>>(),
        "topic_names": s.topic_names.iter().map(|(k, name)| json!({ "topic": k, "name": name })).collect::<Vec<_>>(),
        "seed": s.seed,
        "passes": s.passes,
        "tolerance": s.tolerance,
        "train_perplexity": s.train_perplexity,
        "history": s.history,
        "vocabulary": model.vocabulary().is_some(),
        "corpus": s.corpus,
        "update": s.update,
        "bytes": bytes,
        "checksum": "verified",
    });
    let alpha = if least.to_bits() == most.to_bits() {
        format!("{least} per topic")
    } else {
        format!("{least} to {most} per topic")
    };
    let lists = s.checksums.iter().map(|(name, sum)| format!("{name} (checksum {sum})"));
    let given = s.settings.given().into_iter().map(|(name, value)| format!("{name} {value}"));
    let given: Vec<String> = given.chain(lists).collect();
    let mut rows = vec![
        ("model", path_string(path)),
        ("topics", grouped(u64::from(model.topics()))),
        ("words", grouped(u64::from(model.words()))),
        ("alpha", format!("{alpha}, {alpha_sum:.4} in total")),
        ("beta", model.beta().to_string()),
        ("algorithm", s.algorithm.clone()),
        ("settings", given.join(", ")),
        ("seed", s.seed.to_string()),
        ("passes", s.passes.to_string()),
        ("training perplexity", format!("{:.2}", s.train_perplexity)),
        (
            "trained on",
            format!(
                "{} ({}): {}, {}",
                if s.corpus.file.is_empty() { "a corpus" } else { &s.corpus.file },
                s.corpus.id(),
                counted(s.corpus.documents, "document"),
                counted(s.corpus.tokens, "token")
            ),
        ),
        ("on disk", human_bytes(bytes)),
        ("checksum", "verified".into()),
    ];
    if let Some(update) = &s.update {
        let text = format!(
            "after {} (weight {}): {} added, mean cosine of topics {:.4}",
            counted(update.documents(), "earlier document"),
            update.weight,
            counted(update.new_words.into(), "word"),
            update.mean_similarity()
        );
        rows.insert(rows.len() - 2, ("updated", text));
    }
    if model.has_topic_names() {
        let names = s.topic_names.iter().map(|(k, name)| format!("{k} {}", escape_control(name)));
        rows.insert(2, ("topic names", names.collect::<Vec<_>>().join(", ")));
    }
    print(json, &value, &table(&rows))
}
