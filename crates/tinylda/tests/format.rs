//! Compatibility of file formats: files of all versions can be opened, and files are written
//! byte-identically, with version 1 wherever it is sufficient.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::ops::ControlFlow;

use common::{
    fixture, go_on, synthetic, verify, write_small, write_small_with_columns, write_small_with_details,
};
use tinylda::corpus::Block;
use tinylda::corpus::{Statistics, Synth};
use tinylda::{Algorithm, Corpus, Model, Trainer};

#[test]
fn the_corpus_of_version_1_opens() {
    let corpus = Corpus::open(fixture("v1.tlc")).unwrap();
    let shape = corpus.shape();
    assert_eq!((shape.documents, shape.words, shape.nonzeros, shape.tokens), (40, 100, 115, 490_266));
    assert_eq!(corpus.vocabulary().unwrap().unwrap().get(99), Some("wört99"));
    let (mut reader, mut block) = (corpus.reader(), Block::default());
    reader.read(0, &mut block).unwrap();
    assert_eq!(block.documents(), 40);
    assert!(block.document(7).words.is_empty());
    assert_eq!(block.document(6).words, [1, 14, 27, 40, 53, 66]);
    assert_eq!(block.document(6).counts, [70_000, 3, 4, 1, 2, 3]);
    assert_eq!(reader.read_names(0).unwrap().get(39), Some("document-39-é"));
    let totals = corpus.word_totals().unwrap();
    assert_eq!((totals.tokens[1], totals.documents[1]), (490_000, 7));
    let statistics = verify(&fixture("v1.tlc")).unwrap();
    assert_eq!((statistics.empty_documents, statistics.unused_words, statistics.lengths.median), (6, 70, 8));
}

#[test]
fn the_model_of_version_1_opens() {
    let model = Model::load(fixture("v1.model")).unwrap();
    assert_eq!((model.topics(), model.words(), model.beta()), (3, 100, 0.01));
    assert_eq!(model.alpha(), [0.5, 0.5, 0.5]);
    assert_eq!(model.vocabulary().unwrap().get(14), Some("wört14"));
    let s = model.training();
    assert_eq!((s.algorithm.as_str(), s.seed, s.passes, s.corpus.documents), ("stbp", 1, 5, 40));
    assert_eq!(s.history.len(), 5);
    assert_eq!(s.corpus.fingerprint, Corpus::open(fixture("v1.tlc")).unwrap().fingerprint());
    let total: f32 = (0..100).flat_map(|w| model.phi(w).to_vec()).sum();
    assert!((total / 490_266.0 - 1.0).abs() < 1e-5, "{total}");
}

/// An independent safetensors reader reads the same tensors.
#[test]
fn the_model_is_safetensors() {
    let bytes = std::fs::read(fixture("v1.model")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.tensor("phi").unwrap().shape(), [100, 3]);
    assert_eq!(file.tensor("alpha").unwrap().shape(), [3]);
    assert_eq!(file.tensor("beta").unwrap().data(), 0.01f32.to_le_bytes());
    let offsets = file.tensor("vocabulary_offsets").unwrap();
    assert_eq!(offsets.shape(), [101]);
    assert_eq!(file.tensor("vocabulary").unwrap().data()[..6], *"wört0".as_bytes());
}

/// The same content gives the same file. If `TINYLDA_WRITE_FIXTURES` is set, missing fixtures are
/// written (for a new version; those of an old version are never overwritten).
#[test]
fn what_is_written_today_is_version_1() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = (folder.path().join("v1.tlc"), folder.path().join("v1.model"));
    write_small(&corpus);
    if std::env::var_os("TINYLDA_WRITE_FIXTURES").is_some() && !fixture("v1.model").exists() {
        std::fs::copy(&corpus, fixture("v1.tlc")).unwrap();
        let trainer = Trainer::new(3).algorithm(Algorithm::Stbp).alpha(0.5).passes(5).tolerance(0.0);
        let trained = trainer.train(&Corpus::open(&corpus).unwrap(), go_on).unwrap();
        trained.model.save(fixture("v1.model")).unwrap();
        assert_eq!(Model::load(fixture("v1.model")).unwrap(), trained.model);
    }
    assert!(
        std::fs::read(&corpus).unwrap() == std::fs::read(fixture("v1.tlc")).unwrap(),
        "the corpus format has changed"
    );
    Model::load(fixture("v1.model")).unwrap().save(&model).unwrap();
    assert!(
        std::fs::read(&model).unwrap() == std::fs::read(fixture("v1.model")).unwrap(),
        "the model format has changed"
    );
}

/// A corpus and a model in memory have the same bytes as their files, and files of any version can
/// be opened from memory.
#[test]
fn bytes_in_memory_are_those_of_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["v1.tlc", "v2.tlc"] {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let (file, memory) = (Corpus::open(fixture(name)).unwrap(), Corpus::from_bytes(&bytes[..]).unwrap());
        assert!(file.path().is_some() && memory.path().is_none());
        assert_eq!(memory.fingerprint(), file.fingerprint());
        assert_eq!((memory.shape(), memory.bytes()), (file.shape(), file.bytes()));
        assert!(memory.memory_bytes() >= bytes.len() as u64 && file.memory_bytes() < 1000);
        assert_eq!(memory.vocabulary().unwrap(), file.vocabulary().unwrap());
        assert_eq!(memory.about().unwrap(), file.about().unwrap());
        assert_eq!(memory.word_totals().unwrap(), file.word_totals().unwrap());
        for corpus in [&file, &memory] {
            Statistics::of(corpus, &mut |_| ControlFlow::Continue(())).unwrap();
            assert!(corpus.to_bytes().unwrap() == bytes);
            let path = folder.path().join(name);
            corpus.save(&path).unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes);
        }
    }
    let bytes = std::fs::read(fixture("v1.model")).unwrap();
    let model = Model::from_bytes(&bytes).unwrap();
    assert_eq!(model, Model::load(fixture("v1.model")).unwrap());
    assert!(model.to_bytes().unwrap() == bytes);
    let phi = model.phi_view();
    assert_eq!((phi.words, phi.topics, phi.stride, phi.data.len()), (100, 3, 16, 1600));
    assert!((0..100).all(|w| phi.row(w) == model.phi(w)));
}

/// Training and inference do not depend on whether the corpus is in a file or in memory. Only the
/// corpus name in the model differs.
#[test]
fn a_corpus_in_memory_gives_the_model_of_a_file() {
    let settings = Synth { documents: 6000, words: 900, topics: 5, mean_length: 60.0, ..Synth::default() };
    let memory = synthetic(&settings);
    let folder = tempfile::tempdir().unwrap();
    memory.save(folder.path().join("c.tlc")).unwrap();
    let file = Corpus::open(folder.path().join("c.tlc")).unwrap();
    assert!(memory.blocks() > 1);
    for (algorithm, threads) in [(Algorithm::Tbp, 2), (Algorithm::Atbp, 1), (Algorithm::Ovb, 2)] {
        let trainer = Trainer::new(20).algorithm(algorithm).passes(4).threads(threads);
        let [first, second] = [&memory, &file].map(|corpus| trainer.train(corpus, go_on).unwrap().model);
        assert_eq!(first.phi_view(), second.phi_view());
        assert_eq!(first.alpha(), second.alpha());
        assert_eq!(first.training().history, second.training().history);
        assert_eq!(first.to_bytes().unwrap(), second.to_bytes().unwrap());
    }
}

#[test]
fn the_corpus_of_version_2_opens() {
    let corpus = Corpus::open(fixture("v2.tlc")).unwrap();
    assert!(corpus.has_names() && corpus.has_labels() && corpus.has_places());
    let about = corpus.about().unwrap();
    assert_eq!(about.sources[0].path, "texts/ä.csv");
    assert_eq!(about.pipeline.unwrap().stem.as_deref(), Some("de"));
    let mut reader = corpus.reader();
    assert_eq!(corpus.label_columns(), ["label"]);
    assert_eq!(reader.read_labels(0).unwrap().row(38), [["class 2"]]);
    let places = reader.read_places(0).unwrap();
    assert_eq!((places[39].offset, places[39].length), ((39 << 30) + 3, 1039));
    verify(&fixture("v2.tlc")).unwrap();
    // Files of version 1 have no such parts.
    let old = Corpus::open(fixture("v1.tlc")).unwrap();
    assert!(!old.has_labels() && !old.has_places() && old.about().unwrap().pipeline.is_none());
    assert!(
        old.reader().read_labels(0).unwrap().is_empty() && old.reader().read_places(0).unwrap().is_empty()
    );
}

#[test]
fn what_is_written_today_is_version_2_where_it_has_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v2.tlc");
    write_small_with_details(&path);
    if std::env::var_os("TINYLDA_WRITE_FIXTURES").is_some() && !fixture("v2.tlc").exists() {
        std::fs::copy(&path, fixture("v2.tlc")).unwrap();
    }
    assert!(
        std::fs::read(&path).unwrap() == std::fs::read(fixture("v2.tlc")).unwrap(),
        "the corpus format has changed"
    );
}

#[test]
fn the_corpus_of_version_3_opens() {
    let corpus = Corpus::open(fixture("v3.tlc")).unwrap();
    assert_eq!(corpus.label_columns(), ["section", "författare"]);
    assert!(corpus.has_dates() && corpus.has_checksums() && corpus.has_places() && corpus.has_names());
    let details = corpus.reader().read_details(0).unwrap();
    assert_eq!(details.labels.row(3), [vec!["culture"], vec!["Å 0", "Å 1", "Å 2"]]);
    assert!(details.labels.row(36) == [vec!["news"], vec![]]);
    let dates: Vec<&str> = details.dates.iter().take(5).collect();
    assert_eq!(dates, ["1999", "1999-02", "1999-02-03", "1999-02-03T04:05:06Z", ""]);
    assert_eq!(details.checksums[2], 2u32.wrapping_mul(0x9e37_79b9));
    assert_eq!(details.tokens_unknown[39], 3);
    verify(&fixture("v3.tlc")).unwrap();
}

#[test]
fn what_is_written_today_is_version_3_where_it_has_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v3.tlc");
    write_small_with_columns(&path);
    if std::env::var_os("TINYLDA_WRITE_FIXTURES").is_some() && !fixture("v3.tlc").exists() {
        std::fs::copy(&path, fixture("v3.tlc")).unwrap();
    }
    assert!(
        std::fs::read(&path).unwrap() == std::fs::read(fixture("v3.tlc")).unwrap(),
        "the corpus format has changed"
    );
}

/// A split of a corpus of version 3 keeps all details of its documents.
#[test]
fn splits_keep_label_columns_dates_and_checksums() {
    let folder = tempfile::tempdir().unwrap();
    let (train, test) = (folder.path().join("train.tlc"), folder.path().join("test.tlc"));
    let whole = Corpus::open(fixture("v3.tlc")).unwrap();
    let all = whole.reader().read_details(0).unwrap();
    tinylda::corpus::split(&whole, 0.5, 1, &train, &test, &mut |_| ControlFlow::Continue(())).unwrap();
    for path in [&train, &test] {
        verify(path).unwrap();
        let part = Corpus::open(path).unwrap();
        assert_eq!(part.fields(), whole.fields());
        assert_eq!(part.about().unwrap(), whole.about().unwrap());
        let details = part.reader().read_details(0).unwrap();
        for (i, name) in details.names.iter().enumerate() {
            let d = all.names.iter().position(|other| other == name).unwrap();
            let (kept, given) = (details.labels.row(i), all.labels.row(d));
            assert_eq!(details.document(i, &kept), all.document(d, &given));
        }
    }
}

/// A split keeps labels, places and the pipeline, and a model keeps the pipeline.
#[test]
fn splits_and_models_keep_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let (train, test) = (folder.path().join("train.tlc"), folder.path().join("test.tlc"));
    let whole = Corpus::open(fixture("v2.tlc")).unwrap();
    let go = &mut |_| ControlFlow::Continue(());
    tinylda::corpus::split(&whole, 0.5, 1, &train, &test, go).unwrap();
    for path in [&train, &test] {
        verify(path).unwrap();
        let part = Corpus::open(path).unwrap();
        assert_eq!(part.about().unwrap(), whole.about().unwrap());
        let mut reader = part.reader();
        let (names, labels) = (reader.read_names(0).unwrap(), reader.read_labels(0).unwrap());
        for (i, place) in reader.read_places(0).unwrap().iter().enumerate() {
            let d: u32 = names.get(i as u32).unwrap()["document-".len()..].parse().unwrap();
            assert_eq!(labels.row(i), [[format!("class {}", d % 3)]]);
            assert_eq!(place.length, 1000 + d);
        }
    }
    let trained = Trainer::new(2).passes(2).train(&whole, go_on).unwrap();
    let path = folder.path().join("x.model");
    trained.model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap().pipeline(), whole.about().unwrap().pipeline.as_ref());
}
