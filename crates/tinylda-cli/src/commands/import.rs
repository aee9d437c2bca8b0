//! `tinylda import`: turns data into a corpus file.

use std::path::Path;
use std::time::Instant;

use tinylda::corpus::ingest::{DetectedInput, TableColumns};

use super::{check_output, input, memory_limit, notes, path_string, print, shape_json, shape_line, usage};
use crate::progress::Ui;
use crate::{args, machine};

pub(crate) fn run(a: &args::ImportArgs, ui: Ui) -> anyhow::Result<()> {
    let given = [Some(a.input.as_path()), a.vocab.as_deref(), a.names.as_deref()];
    let inputs: Vec<Option<&Path>> =
        given.into_iter().chain(a.more.iter().map(|path| Some(path.as_path()))).collect();
    check_output("-o", &a.output, &inputs)?;
    let stdin = Some(Path::new("-"));
    if a.input.as_path() == Path::new("-") && [&a.vocab, &a.names].iter().any(|f| f.as_deref() == stdin) {
        return Err(usage("standard input can be used only once; put the vocabulary or the names in a file"));
    }
    let mut import = input::import(&a.text, None, None)?;
    import.vocabulary.clone_from(&a.vocab);
    import.names.clone_from(&a.names);
    (import.transpose, import.first_id, import.skip_zeros) = (a.transpose, a.first_id, a.skip_zeros);
    import.layer.clone_from(&a.layer);
    import.columns = TableColumns {
        tokens: a.tokens_column.clone(),
        document: a.doc_column.clone(),
        word: a.word_column.clone(),
        count: a.count_column.clone(),
        ..TableColumns::default()
    };
    (import.threads, import.memory) = (usize::from(a.threads.unwrap_or(0)), memory_limit(a.memory)?);
    let clock = Instant::now();
    let inputs = input::open_more(DetectedInput::open(&a.input)?, &a.more)?;
    let done = input::run(&import, inputs, &a.output, ui)?;
    let bytes = std::fs::metadata(&a.output)?.len();
    let mut json = shape_json(done.shape);
    json.insert("corpus".into(), path_string(&a.output).into());
    json.insert("format".into(), done.format.name().into());
    json.insert("compression".into(), done.compression.name().into());
    json.insert("empty_documents".into(), done.empty_documents.into());
    json.insert("external_sort".into(), done.sorted.into());
    json.insert("inputs".into(), notes::to_json(&done));
    if let Some(dates) = done.dates {
        json.insert("unreadable_dates".into(), dates.unreadable.into());
    }
    if let Some(dropped) = &done.dropped {
        json.insert("left_out".into(), input::dropped_json(dropped));
    }
    json.insert("bytes".into(), bytes.into());
    json.insert("seconds".into(), clock.elapsed().as_secs_f64().into());
    json.insert("peak_rss_bytes".into(), machine::peak_rss_bytes().into());
    let line = format!(
        "{}: {}, {}\n",
        a.output.display(),
        shape_line(done.shape),
        tinylda::format::human_bytes(bytes)
    );
    print(a.json, &json.into(), &line)
}
