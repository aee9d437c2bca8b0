//! Any bytes as npz, h5ad or Parquet: imported or refused, and what was imported reads back whole.
//!
//! The Parquet crate panics at some damaged files, and the library turns such a panic into an error.
//! libFuzzer's panic hook would end the process before that, so it is only called for other panics.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use tinylda::Corpus;
use tinylda::corpus::Statistics;
use tinylda::corpus::ingest::{Import, RecordOptions};

/// Ignores panics that the library catches.
fn replace_hook() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !tinylda::error::panic_is_caught() {
            hook(panic);
        }
    }));
}

fuzz_target!(init: replace_hook(), |data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("input"), folder.path().join("out.tlc"));
    std::fs::write(&input, bytes).expect("the input");
    let import = Import {
        transpose: choice & 1 != 0,
        layer: (choice & 2 != 0).then(|| "counts".into()),
        skip_zeros: choice & 4 != 0,
        // Any column as texts, by number.
        records: RecordOptions {
            text_columns: (choice & 8 != 0)
                .then(|| (1 + (choice >> 4 & 3)).to_string())
                .into_iter()
                .collect(),
            id_column: (choice & 64 != 0).then(|| "1".into()),
            ..RecordOptions::default()
        },
        threads: 1,
        ..Import::default()
    };
    match import.run(&input, &output, &mut |_| ControlFlow::Continue(())) {
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
                1,
                "a failed import left a file"
            );
        }
    }
});
