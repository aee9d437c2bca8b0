//! Any bytes as the state of a checkpoint. Its checksums are put right first, so that what lies behind them is reached.
#![no_main]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tinylda::{Corpus, CorpusBuilder, Event, Resume, Trainer};

/// A corpus, and the files of a checkpoint but for its state.
struct Base {
    folder: tempfile::TempDir,
    corpus: Corpus,
}

fn trainer(folder: &Path) -> Trainer {
    Trainer::new(3).passes(4).tolerance(0.0).checkpoint(folder.join("checkpoint"), None).resume(Resume::Yes)
}

fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut builder = CorpusBuilder::new().words(6);
        for d in 0..12u32 {
            builder.add_document(&[(d % 3, 1), (3 + d % 2, 2 + d % 4), (5, 1)]).expect("a document");
        }
        let corpus = builder.build().expect("a corpus");
        let stopped = trainer(folder.path()).train_to(&corpus, &folder.path().join("m"), |event| match event {
            Event::Pass(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(stopped.is_err());
        // A first input for the fuzzer, where it is asked for one.
        if let Some(to) = std::env::var_os("TINYLDA_SEED") {
            std::fs::copy(folder.path().join("checkpoint/tinylda.state"), to).expect("copied");
        }
        Base { folder, corpus }
    })
}

fn put_right(bytes: &mut [u8]) -> Option<()> {
    let length = u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?);
    let end = usize::try_from(length).ok()?.checked_add(16)?;
    let crc = crc32fast::hash(bytes.get(..end)?);
    bytes.get_mut(end..end.checked_add(4)?)?.copy_from_slice(&crc.to_le_bytes());
    let end = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&crc.to_le_bytes());
    Some(())
}

fuzz_target!(|data: &[u8]| {
    let Base { folder, corpus } = base();
    let mut bytes = data.to_vec();
    let _ = put_right(&mut bytes);
    let work = tempfile::tempdir().expect("a folder");
    let kept = work.path().join("checkpoint");
    std::fs::create_dir(&kept).expect("a folder");
    for entry in std::fs::read_dir(folder.path().join("checkpoint")).expect("a folder").flatten() {
        std::fs::copy(entry.path(), kept.join(entry.file_name())).expect("copied");
    }
    std::fs::write(kept.join("tinylda.state"), &bytes).expect("written");
    let model = work.path().join("m");
    if trainer(work.path()).train_to(corpus, &model, |_| ControlFlow::Continue(())).is_ok() {
        tinylda::Model::load(&model).expect("what is written can be read");
    }
});
