//! `tinylda convert`: writes a corpus in another format.

use std::path::Path;
use std::time::Instant;

use tinylda::corpus::{CorpusFormat, convert, save_metadata, save_names, save_vocabulary, write_text};
use tinylda::table::TableFormat;
use tinylda::{Corpus, Error};

use super::{check_output, path_string, print, shape_json, usage};
use crate::progress::{Ui, Unit};
use crate::{args, machine};

pub(crate) fn run(a: &args::ConvertArgs, ui: Ui) -> anyhow::Result<()> {
    let stream = a.output.as_path() == Path::new("-");
    let format = format(a, stream)?;
    let mut seen: Vec<Option<&Path>> = vec![Some(&a.corpus)];
    if !stream {
        check_output("OUTPUT", &a.output, &seen)?;
        seen.push(Some(&a.output));
    }
    for (option, path) in [("--vocab", &a.vocab), ("--names", &a.names), ("--metadata", &a.metadata)] {
        if let Some(path) = path {
            check_output(option, path, &seen)?;
            seen.push(Some(path));
        }
    }
    let corpus = Corpus::open(&a.corpus)?;
    for (name, asked, there, reason) in [
        ("vocab", a.vocab.is_some(), corpus.has_vocabulary(), "the corpus has no vocabulary"),
        ("names", a.names.is_some(), corpus.has_names(), "the documents of the corpus have no names"),
        (
            "metadata",
            a.metadata.is_some(),
            corpus.has_names() || corpus.has_labels() || corpus.has_dates(),
            "the documents of the corpus have no names, labels or dates",
        ),
    ] {
        if asked && !there {
            return Err(Error::unsupported(name, reason).into());
        }
    }
    if a.metadata.is_none() && (corpus.has_labels() || corpus.has_dates()) {
        ui.say(&format!(
            "labels and dates are not part of {}; write them to a table with --metadata FILE",
            format.name()
        ));
    }
    let clock = Instant::now();
    let bar = ui.bar("blocks written", Unit::Plain);
    if stream {
        let mut out = super::stdout()?;
        let written =
            write_text(&corpus, &mut out, Path::new("standard output"), format, &mut |p| bar.update(p));
        bar.finish();
        return match written {
            // A closed pipe (`| head`) is not an error.
            Err(tinylda::Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
                Ok(())
            }
            other => Ok(other?),
        };
    }
    convert(&corpus, &a.output, format, &mut |p| bar.update(p))?;
    bar.finish();
    if let Some(path) = &a.vocab {
        save_vocabulary(&corpus, path)?;
    }
    if let Some(path) = &a.names {
        save_names(&corpus, path)?;
    }
    if let Some(path) = &a.metadata {
        let format = TableFormat::of_path(path).filter(|&format| format != TableFormat::Npy);
        save_metadata(&corpus, path, format.unwrap_or(TableFormat::Tsv), &mut |p| bar.update(p))?;
    }
    let bytes = std::fs::metadata(&a.output)?.len();
    let mut json = shape_json(corpus.shape());
    json.insert("output".into(), path_string(&a.output).into());
    json.insert("format".into(), format.name().into());
    json.insert("bytes".into(), bytes.into());
    json.insert("seconds".into(), clock.elapsed().as_secs_f64().into());
    json.insert("peak_rss_bytes".into(), machine::peak_rss_bytes().into());
    let line =
        format!("{}: {}, {}\n", a.output.display(), format.name(), tinylda::format::human_bytes(bytes));
    print(a.json, &json.into(), &line)
}

/// Returns the requested format, or that of the output's suffix.
fn format(a: &args::ConvertArgs, stream: bool) -> anyhow::Result<CorpusFormat> {
    let asked = a.to.map(|to| match to {
        args::ConvertFormat::Uci => CorpusFormat::Uci,
        args::ConvertFormat::Mtx => CorpusFormat::MatrixMarket,
        args::ConvertFormat::Svmlight => CorpusFormat::SvmLight,
        args::ConvertFormat::Ldac => CorpusFormat::LdaC,
        args::ConvertFormat::Npz => CorpusFormat::Npz,
        args::ConvertFormat::Parquet => CorpusFormat::Parquet,
    });
    let names: Vec<&str> = CorpusFormat::ALL.iter().map(|f| f.name()).collect();
    let format = asked.or_else(|| CorpusFormat::of_path(&a.output)).ok_or_else(|| {
        Error::missing("to", format!("one of {}", names.join(", ")))
            .with_remedy("or use an output name that ends in .npz, .mtx, .parquet, .uci, .svm or .ldac")
    })?;
    if stream && !format.streams() {
        let expected = format!("a file for {}", format.name());
        return Err(Error::out_of_range("output", "-", expected)
            .with_remedy("name a file, or choose a text format")
            .into());
    }
    if stream && (a.json || a.vocab.is_some() || a.names.is_some() || a.metadata.is_some()) {
        return Err(usage("OUTPUT must be a file, not -, with --json, --vocab, --names or --metadata"));
    }
    Ok(format)
}
