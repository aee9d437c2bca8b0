//! `tinylda import`

use std::path::Path;
use std::time::Instant;

use tinylda::corpus::ingest::{Compression, Format, Import, ImportProgress, TableColumns};

use super::{check_output, grouped, print, shape_json, shape_line, shown, usage};
use crate::progress::{Ui, Unit};
use crate::{args, machine};

pub(crate) fn run(a: &args::Import, ui: Ui) -> anyhow::Result<()> {
    let import = Import {
        format: a.format.map(|format| match format {
            args::Format::Uci => Format::Uci,
            args::Format::Mtx => Format::MatrixMarket,
            args::Format::Svmlight => Format::SvmLight,
            args::Format::Ldac => Format::LdaC,
            args::Format::Text => Format::Text,
            args::Format::Npz => Format::Npz,
            args::Format::H5ad => Format::H5ad,
            args::Format::Parquet => Format::Parquet,
        }),
        vocabulary: a.vocab.clone(),
        names: a.names.clone(),
        transpose: a.transpose,
        first_id: a.first_id,
        skip_zeros: a.skip_zeros,
        layer: a.layer.clone(),
        columns: TableColumns {
            tokens: a.tokens_column.clone(),
            id: a.id_column.clone(),
            document: a.doc_column.clone(),
            word: a.word_column.clone(),
            count: a.count_column.clone(),
        },
    };
    check_output("-o", &a.output, &[])?;
    let stdin = Some(Path::new("-"));
    if a.input.as_path() == Path::new("-") && [&a.vocab, &a.names].iter().any(|f| f.as_deref() == stdin) {
        return Err(usage(
            "-",
            "given twice".into(),
            "standard input once",
            "Put the vocabulary or the names in a file.",
        ));
    }
    let clock = Instant::now();
    let reading = ui.bar("reading", Unit::Bytes);
    let sorting = ui.bar("sorting", Unit::Plain);
    let done = import.run(&a.input, &a.output, &mut |progress| match progress {
        ImportProgress::Reading { bytes, total } => reading.at(bytes, total.unwrap_or(0), ""),
        ImportProgress::Sorting { entries, total } => {
            reading.done();
            sorting.at(entries, total, "")
        }
    })?;
    reading.done();
    sorting.done();
    let bytes = std::fs::metadata(&a.output)?.len();
    let packed = if done.compression == Compression::None {
        String::new()
    } else {
        format!(", {}", done.compression.name())
    };
    let how = match (a.format, done.format) {
        (Some(_), _) => "",
        (None, Format::LdaC) => {
            " (recognised: each line begins with its number of pairs; if that is a label, say --format svmlight)"
        }
        _ => " (recognised; --format says otherwise)",
    };
    ui.say(&format!("format: {}{packed}{how}", done.format.name()));
    if done.sorted {
        ui.say("the documents were not in order: sorted through temporary files");
    }
    if done.empty_documents > 0 {
        ui.say(&format!(
            "{} documents have no words; they are kept, and passed over in training",
            grouped(done.empty_documents)
        ));
    }
    let mut json = shape_json(done.shape);
    json.insert("corpus".into(), shown(&a.output).into());
    json.insert("format".into(), done.format.name().into());
    json.insert("compression".into(), done.compression.name().into());
    json.insert("empty_documents".into(), done.empty_documents.into());
    json.insert("external_sort".into(), done.sorted.into());
    json.insert("bytes".into(), bytes.into());
    json.insert("seconds".into(), clock.elapsed().as_secs_f64().into());
    json.insert("peak_rss_bytes".into(), machine::peak_rss_bytes().into());
    let line =
        format!("{}: {}, {}\n", a.output.display(), shape_line(done.shape), tinylda::human_bytes(bytes));
    print(a.json, &json.into(), &line)
}
