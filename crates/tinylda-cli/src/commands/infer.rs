//! `tinylda infer`: infers the topics of new documents.

use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use tinylda::infer::{
    InferenceSummary, Mixtures, ProportionsFormat, ProportionsWriter, UnknownWords, document_names,
};
use tinylda::{Corpus, Error, Inference};

use super::input::OpenedDocuments;
use super::{check_output, counted, escape_control, grouped, load_model, path_string, print, usage};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::InferArgs, ui: Ui) -> anyhow::Result<()> {
    let to_stdout = a.output.as_path() == Path::new("-");
    let proportions = ProportionsWriter {
        format: format(a)?,
        top: a.top.map(|n| n as usize),
        min_proportion: a.min_proportion,
    };
    proportions.check()?;
    if to_stdout && a.json {
        return Err(usage("--json requires -o FILE"));
    }
    if !to_stdout {
        let files =
            [Some(a.model.as_path()), Some(&a.input), a.data.vocab.as_deref(), a.data.names.as_deref()];
        let inputs: Vec<_> =
            files.into_iter().chain(a.more.iter().map(|path| Some(path.as_path()))).collect();
        check_output("-o", &a.output, &inputs)?;
        tinylda::files::check_writable(&a.output)?;
    }
    let model = load_model(&a.model, Some(&a.input))?;
    let threads = thread_count(a.threads);
    let input = OpenedDocuments::open(&a.input, &a.more, &a.data, &model, threads, ui)?;
    let clock = Instant::now();
    let inference = match a.inference {
        args::Inference::Same => Inference::Same,
        args::Inference::Own => Inference::Own,
    };
    let mixtures = Mixtures::new(&model, &input.corpus)?.inference(inference).threads(threads).with_labels();
    let unknown = mixtures.unknown()?;
    input.warn_of_unknown_words(&model, ui)?;
    let bar = ui.bar("documents", Unit::Plain);
    let progress = &mut |p| bar.update(p);
    let summary = if to_stdout {
        let mut out = BufWriter::with_capacity(1 << 18, super::stdout()?);
        match proportions.write(&mixtures, &mut out, Path::new("standard output"), progress) {
            // A closed pipe (`| head`) is not an error. Flushing the rest of the buffer would fail
            // again, so it is discarded.
            Err(tinylda::Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
                drop(out.into_parts());
                return Ok(());
            }
            other => other?,
        }
    } else {
        proportions.save(&mixtures, &a.output, progress)?
    };
    bar.finish();
    let seconds = clock.elapsed().as_secs_f64();
    print_unknown(&input.corpus, unknown, &summary, ui)?;
    if to_stdout {
        return Ok(());
    }
    let value = json!({
        "file": path_string(&a.output),
        "documents": summary.documents,
        "documents_unknown": summary.documents_unknown,
        "words_unknown": unknown.words,
        "tokens_unknown": summary.tokens_unknown,
        "topics": model.topics(),
        "topic_names": model.training().topic_names,
        "threads": threads,
        "seconds": seconds,
    });
    let line = format!(
        "{}: {} x {} in {seconds:.1} s\n",
        a.output.display(),
        counted(summary.documents, "document"),
        counted(model.topics().into(), "topic")
    );
    print(a.json, &value, &line)
}

/// Prints how many words and documents the model does not know.
fn print_unknown(
    corpus: &Corpus,
    unknown: UnknownWords,
    summary: &InferenceSummary,
    ui: Ui,
) -> anyhow::Result<()> {
    if unknown.words > 0 {
        ui.say(&format!(
            "ignored {} that {} not in the model: {} of {}",
            counted(unknown.words, "word"),
            if unknown.words == 1 { "is" } else { "are" },
            grouped(unknown.tokens),
            counted(corpus.shape().tokens, "token")
        ));
    }
    if summary.documents_unknown > 0 {
        let names = document_names(corpus, &summary.examples)?;
        let some: Vec<String> = summary
            .examples
            .iter()
            .zip(names)
            .map(|(d, name)| if name.is_empty() { (d + 1).to_string() } else { escape_control(&name) })
            .collect();
        let more = if summary.documents_unknown > some.len() as u64 { ", ..." } else { "" };
        ui.say(&format!(
            "{} no word of the model and {} the proportions of the prior: {}{more}",
            if summary.documents_unknown == 1 {
                "1 document contains".to_owned()
            } else {
                format!("{} documents contain", grouped(summary.documents_unknown))
            },
            if summary.documents_unknown == 1 { "gets" } else { "get" },
            some.join(", ")
        ));
    }
    Ok(())
}

/// Returns the requested format, or that of the output's suffix.
fn format(a: &args::InferArgs) -> anyhow::Result<ProportionsFormat> {
    let to_stdout = a.output.as_path() == Path::new("-");
    let ending = a.output.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match (a.to, ending.as_str()) {
        (Some(args::InferFormat::Tsv), _) | (None, "tsv" | "txt" | "tab") => Ok(ProportionsFormat::Tsv),
        (Some(args::InferFormat::Csv), _) | (None, "csv") => Ok(ProportionsFormat::Csv),
        (Some(args::InferFormat::Jsonl), _) | (None, "jsonl" | "ndjson" | "json") => {
            Ok(ProportionsFormat::JsonLines)
        }
        (Some(args::InferFormat::Npy), _) | (None, "npy") => Ok(ProportionsFormat::Npy),
        (Some(args::InferFormat::Parquet), _) if to_stdout => {
            Err(Error::out_of_range("output", "-", "a file with {to=parquet}").into())
        }
        (Some(args::InferFormat::Parquet), _) | (None, "parquet" | "pq") => Ok(ProportionsFormat::Parquet),
        (None, _) if to_stdout => Ok(ProportionsFormat::Tsv),
        (None, _) => {
            let expected = "a name that ends in .tsv, .csv, .jsonl, .npy or .parquet";
            Err(Error::out_of_range("output", a.output.display(), expected)
                .with_remedy("change the ending, or set {to}")
                .into())
        }
    }
}

/// Returns the requested number of threads, or the number of cores.
pub(super) fn thread_count(requested: Option<u16>) -> usize {
    requested.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}
