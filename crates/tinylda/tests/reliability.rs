//! Trainings that must not go wrong silently: false word totals, other settings, checkpoints that
//! cannot be written, damaged matrices, and models that depend on file names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::ops::ControlFlow;
use std::time::Duration;

use common::{corpus_of, fixture, go_on};
use tinylda::corpus::ingest::Import;
use tinylda::corpus::{Block, Synth};
use tinylda::eval::predictive_perplexity;
use tinylda::infer::Mixtures;
use tinylda::{Algorithm, Corpus, Error, Event, Inference, Resume, Trainer};

fn documents() -> Vec<Vec<(u32, u32)>> {
    (0..60u32).map(|d| (0..8).map(|i| ((d % 3) * 10 + i, 1 + (d + i) % 3)).collect()).collect()
}

/// Size of the footer of a corpus file in bytes.
const FOOTER: usize = 80;

/// Replaces the word totals of a corpus without vocabulary or metadata, with valid checksums.
fn with_totals(corpus: &Corpus, change: impl FnOnce(&mut [u64])) -> Corpus {
    let mut bytes = corpus.to_bytes().unwrap();
    let words = corpus.shape().words as usize;
    let end = bytes.len() - FOOTER - 48 * corpus.blocks();
    let start = end - 16 * words;
    let mut totals: Vec<u64> =
        bytes[start..end].chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
    change(&mut totals);
    let totals: Vec<u8> = totals.iter().flat_map(|n| n.to_le_bytes()).collect();
    bytes[start..end].copy_from_slice(&totals);
    let footer = bytes.len() - FOOTER;
    let crc = crc32fast::hash(&totals);
    bytes[footer + 48..footer + 52].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32fast::hash(&bytes[footer..footer + 68]);
    bytes[footer + 68..footer + 72].copy_from_slice(&crc.to_le_bytes());
    Corpus::from_bytes(bytes).unwrap()
}

fn assert_false_totals<T: std::fmt::Debug>(result: Result<T, Error>) {
    let text = result.unwrap_err().to_string();
    assert!(text.contains("the word totals do not match the documents"), "{text}");
}

/// Word totals that belong to other documents are noticed by everything that reads all documents.
#[test]
fn r5_false_word_totals_are_refused() {
    let good = corpus_of(30, &documents());
    // The sums stay the same, so that only the documents reveal the difference.
    let tokens = with_totals(&good, |totals| totals.swap(0, 9));
    let shifted = with_totals(&good, |totals| (totals[3], totals[4]) = (totals[3] + 1, totals[4] - 1));
    let occurrences = with_totals(&good, |totals| totals[30 + 7] += 1);
    for algorithm in Algorithm::ALL {
        let trainer = Trainer::new(3).algorithm(algorithm).passes(2);
        trainer.train(&good, go_on).unwrap();
        for corpus in [&tokens, &shifted, &occurrences] {
            // Every command opens the file again.
            let corpus = Corpus::from_bytes(corpus.to_bytes().unwrap()).unwrap();
            assert_false_totals(trainer.train(&corpus, go_on).map(|_| ()));
        }
    }
    let model = Trainer::new(3).passes(2).train(&good, go_on).unwrap().model;
    let again = || Corpus::from_bytes(tokens.to_bytes().unwrap()).unwrap();
    let corpus = again();
    let mixtures = Mixtures::new(&model, &corpus).unwrap();
    assert_false_totals(
        mixtures.for_each(|_, _: &mut Vec<u8>| Ok(()), |_| Ok(()), &mut |_| ControlFlow::Continue(())),
    );
    let done =
        predictive_perplexity(&model, &again(), 1, Inference::Same, &mut |_| ControlFlow::Continue(()));
    assert_false_totals(done);
    // A corpus that is read in part is not refused, and one that is read twice is counted once.
    let (mut reader, mut block) = (good.reader(), Block::default());
    for _ in 0..3 {
        reader.read(0, &mut block).unwrap();
    }
}

/// A model that exists is compared with the training that is to be resumed.
#[test]
fn r2_a_model_of_other_settings_is_not_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, file) = (corpus_of(30, &documents()), folder.path().join("m.model"));
    let trainer = Trainer::new(5).passes(3);
    trainer.train_to(&corpus, &file, go_on).unwrap();
    let check = |trainer: &Trainer| trainer.check_result(&corpus, &file).map_err(|e| e.to_string());
    for same in [
        trainer.clone(),
        trainer.clone().seed(1).alpha(0.4).threads(2).memory(1 << 30),
        trainer.clone().algorithm(Algorithm::Tbp).beta(0.01),
    ] {
        assert_eq!(check(&same), Ok(()));
    }
    for (other, difference) in [
        (Trainer::new(7).passes(3), "trained with `topics=5`, this run uses `topics=7`; omit `resume`"),
        (trainer.clone().passes(4), "trained with `passes=3`, this run uses `passes=4`"),
        (trainer.clone().seed(2), "trained with `seed=1`, this run uses `seed=2`"),
        (trainer.clone().optimize(true), "trained without `optimize`, this run uses `optimize=true`"),
        (trainer.clone().algorithm(Algorithm::Vb), "`algorithm=tbp`, this run uses `algorithm=vb`"),
        (trainer.clone().start(vec![0; 480]), "trained without `start`, this run uses `start`"),
    ] {
        let text = check(&other).unwrap_err();
        assert!(text.contains(difference), "{text}");
        let text = other.check_result_settings(&file).unwrap_err().to_string();
        assert!(text.contains(difference), "{text}");
    }
    trainer.check_result_settings(&file).unwrap();
    let mut others = documents();
    others[3][0].1 += 1;
    let text = trainer.check_result(&corpus_of(30, &others), &file).unwrap_err().to_string();
    assert!(text.contains("trained with corpus checksum"), "{text}");
    std::fs::write(&file, "something else").unwrap();
    assert!(check(&trainer).unwrap_err().contains("is not a tinylda model file"));
    std::fs::copy(fixture("v1.model"), &file).unwrap();
    assert!(check(&trainer).unwrap_err().contains("corpus checksum"), "an early model");
}

/// The bytes of a model depend on the documents and not on any file name.
#[test]
fn r14_file_names_do_not_change_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = "red apples and green pears\nblue sky over green hills\nred and blue paint\n".repeat(9);
    let mut models = Vec::new();
    for (input, corpus, model) in
        [("a.txt", "a.tlc", "x.model"), ("other-name.txt", "some-other-name.tlc", "y.model")]
    {
        std::fs::write(at(input), &text).unwrap();
        Import::default().run(at(input), at(corpus), &mut |_| ControlFlow::Continue(())).unwrap();
        let corpus = Corpus::open(at(corpus)).unwrap();
        Trainer::new(2).passes(3).train_to(&corpus, at(model), go_on).unwrap();
        models.push((std::fs::read(at(model)).unwrap(), corpus.content_id()));
        let record = tinylda::Model::load(at(model)).unwrap().training().corpus.clone();
        assert!(record.matches(&corpus) && record.file.is_empty());
    }
    assert_eq!(models[0], models[1]);
    // The order of documents and every count are part of the content.
    let content = |documents: &[Vec<(u32, u32)>]| corpus_of(30, documents).content_id();
    let mut others = documents();
    assert_eq!(content(&others), content(&documents()));
    others.swap(0, 1);
    assert_ne!(content(&others), content(&documents()));
    let mut others = documents();
    others[3][0].1 += 1;
    assert_ne!(content(&others), content(&documents()));
}

/// A checkpoint that cannot be written does not end the training, which tries again.
#[test]
fn r10_a_checkpoint_that_cannot_be_written_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Synth { documents: 3000, words: 500, topics: 5, mean_length: 40.0, ..Synth::default() };
    let corpus = common::synthetic(&settings);
    let (state, file) = (folder.path().join("m.checkpoint"), folder.path().join("m.model"));
    for algorithm in [Algorithm::Tbp, Algorithm::Ovb, Algorithm::Gibbs] {
        let plain = Trainer::new(6).algorithm(algorithm).passes(8).tolerance(0.0);
        let expected = plain.train(&corpus, go_on).unwrap().model.to_bytes().unwrap();
        let trainer = plain.checkpoint(state.clone(), Some(Duration::from_nanos(1)));
        let (mut failures, mut written) = (0, Vec::new());
        let mut pass = 0;
        let mut blocked = |event: Event<'_>| {
            match event {
                Event::Pass(report) => {
                    pass = report.pass;
                    if pass == 2 {
                        // A file is in the way of the folder.
                        std::fs::remove_dir_all(&state).unwrap();
                        std::fs::write(&state, "").unwrap();
                    } else if pass == 5 {
                        std::fs::remove_file(&state).unwrap();
                    }
                }
                Event::CheckpointFailed { folder, error } => {
                    assert_eq!(folder, state);
                    assert!(matches!(error, Error::Io { .. }), "{error}");
                    failures += 1;
                }
                Event::Checkpoint(_) => written.push(pass),
                _ => {}
            }
            ControlFlow::Continue(())
        };
        trainer.train_to(&corpus, &file, &mut blocked).unwrap();
        assert!(std::fs::read(&file).unwrap() == expected, "{algorithm:?}");
        assert!(failures >= 2 && written.contains(&1) && written.contains(&6), "{failures}, {written:?}");
        assert!(!state.exists());
    }
}

/// A training that is stopped without a checkpoint says what is lost.
#[test]
fn r10_stopping_without_a_checkpoint_says_what_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus_of(30, &documents());
    let (state, file) = (folder.path().join("m.checkpoint"), folder.path().join("m.model"));
    let trainer =
        Trainer::new(3).passes(20).tolerance(0.0).checkpoint(state.clone(), Some(Duration::from_nanos(1)));
    let stop = |remove: &dyn Fn()| {
        let result = trainer.clone().resume(Resume::Restart).train_to(&corpus, &file, |event| match event {
            Event::Pass(report) if report.pass == 6 => {
                remove();
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        result.unwrap_err()
    };
    assert!(matches!(stop(&|| ()), Error::Stopped { .. }));
    let error = stop(&|| {
        std::fs::remove_dir_all(&state).unwrap();
        std::fs::write(&state, "").unwrap();
    });
    let text = error.to_string();
    assert!(matches!(error, Error::NotSaved { saved: None, .. }), "{text}");
    assert!(text.contains("but the checkpoint could not be written: cannot"), "{text}");
    assert!(text.contains("all progress is lost, since there is no earlier checkpoint"), "{text}");
    std::fs::remove_file(&state).unwrap();
    // With an earlier checkpoint.
    let error = Error::NotSaved {
        path: "c".into(),
        passes: 9,
        saved: Some(4),
        source: Box::new(Error::Io {
            path: "c".into(),
            action: "write",
            source: std::io::ErrorKind::StorageFull.into(),
        }),
    };
    let text = error.to_string();
    assert!(text.contains("the progress since pass 4 is lost; the last checkpoint is in c"), "{text}");
    assert!(text.contains("free some space"), "{text}");
}

/// A changed bit of a matrix of SciPy is noticed, or makes no difference.
#[test]
fn r3_changed_bits_of_npz_are_noticed() {
    type Entries = Vec<(u64, u32, u32)>;
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("x.npz"), folder.path().join("x.tlc"));
    let read = |bytes: &[u8]| -> Result<Entries, Error> {
        std::fs::write(&input, bytes).unwrap();
        Import::default().run(&input, &output, &mut |_| ControlFlow::Continue(()))?;
        let corpus = Corpus::open(&output).unwrap();
        let (mut reader, mut block, mut entries) = (corpus.reader(), Block::default(), Vec::new());
        for i in 0..corpus.blocks() {
            reader.read(i, &mut block).unwrap();
            for (d, document) in block.iter().enumerate() {
                let all = document.words.iter().zip(document.counts);
                entries.extend(all.map(|(&w, &x)| (block.number(d), w, x)));
            }
        }
        Ok(entries)
    };
    for name in ["csr.npz", "csc.npz", "coo.npz"] {
        let good = std::fs::read(fixture("tables").join(name)).unwrap();
        let expected = read(&good).unwrap();
        let mut refused = 0;
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            match read(&bytes) {
                Ok(entries) => assert_eq!(entries, expected, "{name}, byte {at}"),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > good.len() / 2, "{name}: {refused} of {}", good.len());
    }
}
