//! `tinylda infer`

use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use tinylda::infer::{Inferred, Mixtures, Proportions, ProportionsFormat, Unknown, names_of};
use tinylda::{Corpus, Error, Inference, Model};

use super::input::Documents;
use super::{check_output, grouped, print, shown, visible};
use crate::args;
use crate::progress::{Ui, Unit};

pub(crate) fn run(a: &args::Infer, ui: Ui) -> anyhow::Result<()> {
    let to_stdout = a.output.as_path() == Path::new("-");
    let proportions =
        Proportions { format: format(a)?, top: a.top.map(|n| n as usize), min_proportion: a.min_proportion };
    if to_stdout && a.json {
        return Err(super::export::both_to_stdout("the proportions"));
    }
    if !to_stdout {
        let inputs =
            [Some(a.model.as_path()), Some(&a.input), a.data.vocab.as_deref(), a.data.names.as_deref()];
        check_output("-o", &a.output, &inputs)?;
        tinylda::files::check_writable(&a.output)?;
    }
    let model = Model::load(&a.model)?;
    let threads = threads(a.threads);
    let input = Documents::open(&a.input, &a.data, &model, threads, ui)?;
    let clock = Instant::now();
    let inference = match a.inference {
        args::Inference::Same => Inference::Same,
        args::Inference::Own => Inference::Own,
    };
    let mixtures = Mixtures::new(&model, &input.corpus)?.inference(inference).threads(threads);
    let unknown = mixtures.unknown()?;
    let bar = ui.bar("documents", Unit::Plain);
    let progress = &mut |p| bar.step(p);
    let told = if to_stdout {
        let mut out = BufWriter::with_capacity(1 << 18, std::io::stdout().lock());
        match proportions.write(&mixtures, &mut out, Path::new("standard output"), progress) {
            // A reader that has gone away (`| head`) is no failure; what is left in the buffer would fail once more.
            Err(tinylda::Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
                drop(out.into_parts());
                return Ok(());
            }
            other => other?,
        }
    } else {
        proportions.save(&mixtures, &a.output, progress)?
    };
    bar.done();
    let seconds = clock.elapsed().as_secs_f64();
    say_unknown(&input.corpus, unknown, &told, ui)?;
    if to_stdout {
        return Ok(());
    }
    let value = json!({
        "file": shown(&a.output),
        "documents": told.documents,
        "documents_unknown": told.documents_unknown,
        "words_unknown": unknown.words,
        "tokens_unknown": unknown.tokens,
        "topics": model.topics(),
        "threads": threads,
        "seconds": seconds,
    });
    let line = format!(
        "{}: {} documents x {} topics in {seconds:.1} s\n",
        a.output.display(),
        grouped(told.documents),
        model.topics()
    );
    print(a.json, &value, &line)
}

/// Says which words and documents the model does not know.
fn say_unknown(corpus: &Corpus, unknown: Unknown, told: &Inferred, ui: Ui) -> anyhow::Result<()> {
    if unknown.words > 0 {
        ui.say(&format!(
            "{} words ({} tokens of {}) are not in the model: left out",
            grouped(unknown.words),
            grouped(unknown.tokens),
            grouped(corpus.shape().tokens)
        ));
    }
    if told.documents_unknown > 0 {
        let names = names_of(corpus, &told.examples)?;
        let some: Vec<String> = told
            .examples
            .iter()
            .zip(names)
            .map(|(d, name)| if name.is_empty() { (d + 1).to_string() } else { visible(&name) })
            .collect();
        let more = if told.documents_unknown > some.len() as u64 { ", ..." } else { "" };
        ui.say(&format!(
            "{} documents have no word that the model knows, and get the prior's proportions: {}{more}",
            grouped(told.documents_unknown),
            some.join(", ")
        ));
    }
    Ok(())
}

/// As asked for, or by the ending of the file's name.
fn format(a: &args::Infer) -> anyhow::Result<ProportionsFormat> {
    let to_stdout = a.output.as_path() == Path::new("-");
    let ending = a.output.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match (a.to, ending.as_str()) {
        (Some(args::InferFormat::Tsv), _) | (None, "tsv" | "txt" | "tab") => Ok(ProportionsFormat::Tsv),
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
            let expected = "a name that ends in .tsv, .jsonl, .npy or .parquet";
            Err(Error::out_of_range("output", a.output.display(), expected)
                .with_remedy("change the ending, or set {to}")
                .into())
        }
    }
}

/// As asked for, or all cores.
pub(super) fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}
