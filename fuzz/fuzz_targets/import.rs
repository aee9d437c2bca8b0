//! Any bytes as a bag of words or lines (`text` has the other formats of text): imported or refused, and what was imported reads back whole.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use tinylda::Corpus;
use tinylda::corpus::Statistics;
use tinylda::corpus::ingest::{Format, Import};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    // The low bits choose the format (or none, to be recognised), the others the options.
    let bags = [Format::Uci, Format::MatrixMarket, Format::SvmLight, Format::LdaC, Format::Text];
    let format = bags.get(usize::from(choice & 7)).copied();
    let import = Import {
        format,
        transpose: choice & 8 != 0 && format == Some(Format::MatrixMarket),
        first_id: (choice & 16 != 0 && format == Some(Format::SvmLight)).then_some(0),
        skip_zeros: choice & 32 != 0,
        ..Import::default()
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("out.tlc");
    match import.run_on_bytes(bytes.to_vec(), "input", &output) {
        Ok(imported) => {
            let corpus = Corpus::open(&output).expect("an imported corpus opens");
            let statistics = Statistics::of(&corpus, &mut |_| ControlFlow::Continue(())).expect("and reads back");
            assert_eq!(statistics.shape, imported.shape);
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "a failed import left a file");
        }
    }
});
