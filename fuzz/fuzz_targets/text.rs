//! Any bytes as raw text in any format, with any options for words: imported or refused, and what was imported reads back whole.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use tinylda::Corpus;
use tinylda::corpus::Statistics;
use tinylda::corpus::ingest::words::{Pipeline, StopWords, WordSelection};
use tinylda::corpus::ingest::{Format, Import, RecordOptions, TextPipeline};

fuzz_target!(|data: &[u8]| {
    let [choice, more, bytes @ ..] = data else { return };
    // The low bits choose the format (or none, to be recognised), the others the options.
    let formats = [Format::Text, Format::Csv, Format::JsonLines, Format::Json, Format::VowpalWabbit, Format::Html, Format::Xml];
    let format = formats.get(usize::from(choice & 7)).copied();
    let mut records = RecordOptions { strict: choice & 8 != 0, ..RecordOptions::default() };
    let encodings = ["latin1", "utf-16", "utf-32be", "gb18030", "shift_jis", "iso-2022-jp", "utf-8"];
    records.encoding = encodings.get(usize::from(more >> 5)).filter(|_| more & 32 != 0).map(|&name| name.into());
    if format == Some(Format::Csv) {
        records.text_columns = vec!["1".into()];
        records.id_column = (choice & 16 != 0).then(|| "2".into());
        records.no_quotes = choice & 32 != 0;
        records.header = (choice & 64 != 0).then_some(choice & 128 != 0);
    }
    let pipeline = Pipeline {
        fold_accents: more & 1 != 0,
        keep_numbers: more & 2 != 0,
        stem: (more & 4 != 0).then(|| "en".into()),
        ..Pipeline::default()
    };
    let selection = WordSelection { phrases: (more & 8 != 0).then_some(0.0), ..WordSelection::default() };
    let stop = if more & 16 != 0 { StopWords::Auto } else { StopWords::None };
    let words = TextPipeline { pipeline, stop, selection, ..TextPipeline::default() };
    let import = Import { format, records, words, threads: 1, ..Import::default() };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("out.tlc");
    match import.run_on_bytes(bytes.to_vec(), "input", &output) {
        Ok(imported) => {
            let corpus = Corpus::open(&output).expect("an imported corpus opens");
            let statistics =
                Statistics::of(&corpus, &mut |_| ControlFlow::Continue(())).expect("and reads back");
            assert_eq!(statistics.shape, imported.shape);
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(
                std::fs::read_dir(folder.path()).expect("the folder").count(),
                0,
                "a failed import left a file"
            );
        }
    }
});
