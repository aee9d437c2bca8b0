//! Any bytes as the texts of a coherence: counted or refused, and the same on two threads as on one.
#![no_main]

use std::ops::ControlFlow;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tinylda::corpus::ingest::{Format, Import};
use tinylda::eval::Coherence;
use tinylda::{Corpus, Model, Trainer};

fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("c.tlc");
        let import = Import { format: Some(Format::Text), ..Import::default() };
        import.run_on_bytes(b"ant bee cat\nbee cat dog\ndog elk ant\n".to_vec(), "texts", &path).expect("texts");
        let corpus = Corpus::open(&path).expect("a corpus");
        Trainer::new(2).passes(1).train(&corpus, |_| ControlFlow::Continue(())).expect("a training").model
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((&window, bytes)) = data.split_first() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("texts");
    std::fs::write(&path, bytes).expect("a file");
    let topics = vec![vec![0, 1, 2], vec![3, 4, 0]];
    let of = |threads| {
        let how = Coherence { window: (window < 200).then_some(u32::from(window)), threads, ..Coherence::default() };
        how.of_text_file(model(), &topics, &path, &mut |_| ControlFlow::Continue(())).map(|found| format!("{found:?}"))
    };
    match (of(1), of(2)) {
        (Ok(one), Ok(two)) => assert_eq!(one, two),
        (Err(one), Err(two)) => assert_eq!(one.to_string(), two.to_string()),
        _ => panic!("one and two threads disagree"),
    }
});
