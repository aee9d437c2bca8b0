//! Storage and checkpoints: training gives the same bytes in memory and on disk, uninterrupted and
//! resumed, and reports what goes wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::go_on;
use tinylda::corpus::Synth;
use tinylda::settings::{Digamma, DocumentState};
use tinylda::{Algorithm, Corpus, Error, Event, Model, Resume, Seeds, Trainer};

/// Writes a corpus of several blocks with several pieces each.
fn corpus(folder: &Path, seed: u64) -> Corpus {
    let path = folder.join(format!("synth-{seed}.tlc"));
    let settings =
        Synth { documents: 6000, words: 900, topics: 5, mean_length: 60.0, seed, ..Synth::default() };
    let mut drawn = settings.prepare(&mut |_| ControlFlow::Continue(())).unwrap();
    let corpus = drawn.write(&path, &settings.vocabulary(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(corpus.blocks() > 1);
    corpus
}

/// State of a training that can be moved to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaves {
    /// None: the messages of belief propagation stay in memory.
    Nothing,
    /// Documents and their state.
    Documents,
    /// Documents, their state, and phi.
    Phi,
}

/// Returns seed words for two topics, one of which has a name.
fn seeds() -> Seeds {
    let words = Synth { words: 900, ..Synth::default() }.vocabulary();
    let some = |from: u32| (from..from + 4).map(|w| words.get(w).unwrap()).collect::<Vec<_>>().join(" ");
    let text = format!("first: {}\n7: {}\n", some(0), some(30));
    Seeds::of_bytes(text.into_bytes(), Path::new("seeds")).unwrap()
}

/// Returns trainers for every algorithm, with few and many topics, and enough passes for messages
/// to converge.
fn trainers() -> Vec<(Trainer, Leaves)> {
    let tbp = |topics, passes| Trainer::new(topics).passes(passes).tolerance(0.0);
    let other = |algorithm| tbp(7, 5).algorithm(algorithm);
    vec![
        (tbp(20, 10), Leaves::Phi),
        (tbp(150, 6).threads(2), Leaves::Phi),
        (tbp(20, 6).document_state(DocumentState::None), Leaves::Phi),
        (tbp(20, 16).optimize(true).seeds(seeds()).threads(2), Leaves::Phi),
        (other(Algorithm::Stbp), Leaves::Documents),
        (other(Algorithm::Atbp), Leaves::Documents),
        (other(Algorithm::Bp), Leaves::Nothing),
        (other(Algorithm::Abp), Leaves::Nothing),
        (other(Algorithm::Gibbs), Leaves::Documents),
        (other(Algorithm::Gibbs).samples(3).burn_in(1), Leaves::Documents),
        (other(Algorithm::Vb), Leaves::Documents),
        (other(Algorithm::Vb).digamma(Digamma::Both).inner(3), Leaves::Documents),
        (other(Algorithm::Ovb).batch(500).inner(10), Leaves::Documents),
        (other(Algorithm::Nmf), Leaves::Documents),
        (other(Algorithm::Gibbs).passes(12).optimize(true), Leaves::Documents),
        (other(Algorithm::Atbp).passes(12).optimize(true), Leaves::Documents),
    ]
}

fn bytes(trainer: &Trainer, corpus: &Corpus, file: &Path) -> Vec<u8> {
    trainer.train_to(corpus, file, go_on).unwrap();
    std::fs::read(file).unwrap()
}

/// Returns the minimum memory limit in bytes that is sufficient, within 4096 bytes.
fn least(trainer: &Trainer, corpus: &Corpus) -> u64 {
    let (mut too_little, mut enough) = (0u64, 1 << 32);
    while enough - too_little > 4096 {
        let middle = u64::midpoint(too_little, enough);
        match trainer.clone().memory(middle).plan(corpus) {
            Ok(_) => enough = middle,
            Err(_) => too_little = middle,
        }
    }
    enough
}

/// Returns the names of the files in a folder; empty if the folder does not exist.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Snapshots are valid models, and writing them changes neither the training nor its measured time.
#[test]
fn snapshots_do_not_disturb() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 1);
    let (file, way) = (folder.path().join("m"), folder.path().join("way/there"));
    for (trainer, _) in trainers() {
        let seen = trainer.clone().snapshots(vec![1, 3, 900], way.clone());
        let Ok(_) = seen.plan(&corpus) else {
            assert!(seen.plan(&corpus).unwrap_err().to_string().contains("`snapshots`"));
            continue;
        };
        let plain = bytes(&trainer, &corpus, &file);
        let mut told = Vec::new();
        let summary = seen
            .train_to(&corpus, &file, |event| {
                if let Event::Snapshot { path, pass, seconds } = event {
                    assert_eq!(path, way.join(format!("pass-{pass:05}.model")));
                    std::thread::sleep(Duration::from_millis(100));
                    told.push((pass, seconds));
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(std::fs::read(&file).unwrap() == plain);
        assert_eq!(told.iter().map(|&(pass, _)| pass).collect::<Vec<_>>(), [1, 3]);
        assert!(told[0].1 < told[1].1 && told[1].1 <= summary.seconds);
        assert_eq!(names(&way), ["pass-00001.model", "pass-00003.model"]);
        let [first, third] = [1, 3].map(|n| Model::load(way.join(format!("pass-{n:05}.model"))).unwrap());
        assert_eq!((first.training().passes, third.training().passes), (1, 3));
        assert!(first.phi(0) != third.phi(0) && first.training().train_perplexity.is_finite());
        std::fs::remove_dir_all(&way).unwrap();
    }
}

/// A snapshot equals the model of a shorter training.
#[test]
fn snapshots_are_shorter_trainings() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 1);
    let (file, way) = (folder.path().join("m"), folder.path().join("way"));
    for algorithm in [Algorithm::Gibbs, Algorithm::Ovb, Algorithm::Nmf, Algorithm::Vb, Algorithm::Bp] {
        let plain = |passes| Trainer::new(7).algorithm(algorithm).passes(passes).tolerance(0.0);
        plain(5).snapshots(vec![1, 2, 4], way.clone()).train_to(&corpus, &file, go_on).unwrap();
        for passes in [1, 2, 4] {
            let seen = Model::load(way.join(format!("pass-{passes:05}.model"))).unwrap();
            let expected = plain(passes).train(&corpus, go_on).unwrap().model;
            let same = (0..seen.words()).all(|w| seen.phi(w) == expected.phi(w));
            assert!(same && seen.words() == expected.words(), "{algorithm:?}, {passes} passes");
        }
    }
}

#[test]
fn memory_or_disk_makes_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 1);
    let (model, scratch) = (folder.path().join("m"), folder.path().join("scratch"));
    for (trainer, leaves) in trainers() {
        let expected = bytes(&trainer, &corpus, &model);
        let on_disk = trainer.clone().scratch(scratch.clone());
        let least = least(&on_disk, &corpus);
        let mut seen = (0, false);
        for more in [0u64, 1 << 18, 1 << 20, 4 << 20, 64 << 20] {
            let trainer = on_disk.clone().memory(least + more);
            let plan = trainer.plan(&corpus).unwrap();
            assert!(plan.memory() <= least + more);
            seen = (seen.0.max(plan.phi_on_disk), seen.1 || plan.on_disk());
            assert!(bytes(&trainer, &corpus, &model) == expected, "{more} more than {least}: {trainer:?}");
            assert!(names(&scratch).is_empty(), "{more}: files were left");
        }
        assert_eq!(seen.0 > 0, leaves == Leaves::Phi, "phi on disk: {trainer:?}");
        assert_eq!(seen.1, leaves != Leaves::Nothing, "on disk: {trainer:?}");
    }
}

/// If messages must stay in memory and do not fit, the error proposes settings that do.
#[test]
fn messages_that_cannot_leave() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 1);
    for algorithm in [Algorithm::Bp, Algorithm::Abp] {
        let trainer = Trainer::new(20).algorithm(algorithm).scratch(folder.path().join("scratch"));
        let enough = least(&trainer, &corpus);
        assert!(!trainer.clone().memory(enough).plan(&corpus).unwrap().on_disk());
        let error = trainer.memory(enough - 8192).train(&corpus, go_on).unwrap_err();
        let remedy = error.remedy().unwrap();
        let proposed: Vec<_> = remedy.suggestions().collect();
        assert!(proposed.contains(&("algorithm", Some("tbp"))), "{error}");
        assert!(proposed.iter().any(|&(name, value)| name == "memory" && value.is_some()), "{error}");
    }
}

/// Stops a training at its n-th report of progress or of a pass, and returns the error. Returns
/// `None` if the training finished before. Every machine produces at least the reports of passes.
fn stop_at(trainer: &Trainer, corpus: &Corpus, model: &Path, n: u32) -> Option<Error> {
    let mut reports = 0;
    let result = trainer.train_to(corpus, model, |event| {
        if let Event::Progress(progress) = event {
            assert!(
                progress.done > 0.0 && progress.done <= 1.0 && progress.documents <= progress.documents_total
            );
        }
        let asked = matches!(event, Event::Progress(_) | Event::Pass(_));
        reports += u32::from(asked);
        if asked && reports >= n { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    result.err()
}

#[test]
fn resumed_training_is_byte_identical() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 2);
    let (model, kept) = (folder.path().join("m"), folder.path().join("checkpoint"));
    for (plain, _) in trainers() {
        let expected = bytes(&plain, &corpus, &model);
        std::fs::remove_file(&model).unwrap();
        let least = least(&plain.clone().scratch(kept.clone()), &corpus);
        let mut stops = 0;
        for (n, more) in [(1, 0), (2, 1 << 30), (3, 2 << 20)].into_iter().cycle() {
            let trainer = plain
                .clone()
                .checkpoint(kept.clone(), Some(Duration::from_millis(40)))
                .memory(least + more)
                .threads(n as usize)
                .resume(Resume::Yes);
            let fits = trainer.plan(&corpus).is_ok();
            let trainer = if fits { trainer } else { trainer.memory(least + (64 << 20)) };
            match stop_at(&trainer, &corpus, &model, n) {
                None => break,
                Some(Error::Stopped { path, .. }) => assert_eq!(path, kept),
                Some(other) => panic!("{other}"),
            }
            assert!(!model.exists());
            stops += 1;
        }
        assert!(stops > 0, "{plain:?}");
        assert!(std::fs::read(&model).unwrap() == expected, "after {stops} stops: {plain:?}");
        assert!(!kept.exists());
    }
}

/// Stopping at the end of a pass, between two units of work, also resumes to the same bytes.
#[test]
fn stopped_between_passes() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 3);
    let (model, kept) = (folder.path().join("m"), folder.path().join("checkpoint"));
    let plain = Trainer::new(12).passes(30);
    let expected = bytes(&plain, &corpus, &model);
    let trainer = plain.checkpoint(kept, None).resume(Resume::Yes);
    for pass in [1, 2, 11, 12, 29] {
        let result = trainer.train_to(&corpus, &model, |event| match event {
            Event::Pass(report) if report.pass == pass => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(matches!(result, Err(Error::Stopped { .. }) | Ok(_)), "{result:?}");
    }
    assert!(bytes(&trainer, &corpus, &model) == expected);
}

fn checkpoint(folder: &Path, corpus: &Corpus) -> (Trainer, PathBuf, PathBuf) {
    let (model, kept) = (folder.join("m"), folder.join("checkpoint"));
    let trainer = Trainer::new(9).passes(8).tolerance(0.0).checkpoint(kept.clone(), None);
    let stopped = trainer.train_to(corpus, &model, |event| match event {
        Event::Pass(report) if report.pass == 2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(stopped, Err(Error::Stopped { .. })), "{stopped:?}");
    (trainer, model, kept)
}

#[test]
fn another_training_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 4);
    let (trainer, model, kept) = checkpoint(folder.path(), &corpus);
    let refused = |trainer: &Trainer, corpus: &Corpus, parts: &[&str]| {
        let text = trainer.train_to(corpus, &model, go_on).unwrap_err().to_string();
        for part in parts {
            assert!(text.contains(part), "{part:?} is missing in: {text}");
        }
    };
    // Nothing is restarted or discarded by accident.
    refused(&trainer, &corpus, &["checkpoint", "unfinished", "`resume`", "`restart`"]);
    let resume = trainer.clone().resume(Resume::Yes);
    refused(&resume.clone().seed(2), &corpus, &["created with `seed=1`, this run uses `seed=2`"]);
    refused(&resume.clone().passes(9), &corpus, &["`passes=8`", "`passes=9`"]);
    refused(&resume.clone().alpha(0.5), &corpus, &["`alpha=0.5`"]);
    refused(
        &resume.clone().document_state(DocumentState::None),
        &corpus,
        &["`document_state=keep`", "`document_state=none`"],
    );
    refused(&resume.clone().algorithm(Algorithm::Atbp), &corpus, &["`algorithm=atbp`"]);
    let more = Trainer::new(10).passes(8).tolerance(0.0).checkpoint(kept.clone(), None).resume(Resume::Yes);
    refused(&more, &corpus, &["`topics=9`", "`topics=10`"]);
    let other = self::corpus(folder.path(), 5);
    refused(&resume, &other, &["corpus checksum"]);
    // The refused attempts have not changed the checkpoint.
    let expected = bytes(&Trainer::new(9).passes(8).tolerance(0.0), &corpus, &folder.path().join("n"));
    assert!(bytes(&resume, &corpus, &model) == expected);
    assert!(!kept.exists());
}

#[test]
fn restart_discards_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 6);
    let (trainer, model, kept) = checkpoint(folder.path(), &corpus);
    let trainer = trainer.seed(3).resume(Resume::Restart);
    let expected =
        bytes(&Trainer::new(9).passes(8).tolerance(0.0).seed(3), &corpus, &folder.path().join("n"));
    assert!(bytes(&trainer, &corpus, &model) == expected);
    assert!(!kept.exists());
}

/// Two trainings cannot use the same folder at the same time.
#[test]
fn a_folder_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 7);
    let (model, kept) = (folder.path().join("m"), folder.path().join("checkpoint"));
    let trainer = Trainer::new(5).passes(2).checkpoint(kept, None);
    let mut tried = false;
    trainer
        .train_to(&corpus, &model, |event| {
            if let Event::Pass(_) = event {
                let other = trainer.train_to(&corpus, folder.path().join("n"), go_on).unwrap_err();
                assert!(other.to_string().contains("another training"), "{other}");
                tried = true;
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(tried);
}

/// A truncated or changed checkpoint is an error, and the attempt to resume does not modify it.
#[test]
fn damaged_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 8);
    let (trainer, model, kept) = checkpoint(folder.path(), &corpus);
    let trainer = trainer.resume(Resume::Yes);
    let files = names(&kept);
    for name in files.iter().filter(|name| *name != "tinylda.lock") {
        let path = kept.join(name);
        let whole = std::fs::read(&path).unwrap();
        let step = (whole.len() / 150).max(1);
        let refuse = |bytes: &[u8], what: String| {
            std::fs::write(&path, bytes).unwrap();
            let error = trainer.train_to(&corpus, &model, go_on).expect_err(&what);
            let text = error.to_string();
            assert!(text.contains("checkpoint") && text.contains("`restart`"), "{what}: {text}");
            assert!(!model.exists(), "{what}");
            assert_eq!(names(&kept), files, "{what}");
        };
        for at in (0..whole.len()).step_by(step).chain(0..40.min(whole.len())) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            refuse(&bytes, format!("byte {at} of {name} changed"));
        }
        for cut in (0..whole.len()).step_by(step * 3) {
            refuse(&whole[..cut], format!("{name} cut to {cut} bytes"));
        }
        std::fs::write(&path, &whole).unwrap();
    }
    // Missing files are errors.
    for name in files.iter().filter(|name| name.starts_with("tinylda-messages")) {
        let aside = folder.path().join("aside");
        std::fs::rename(kept.join(name), &aside).unwrap();
        let error = trainer.train_to(&corpus, &model, go_on).unwrap_err().to_string();
        assert!(error.contains(name.as_str()), "{error}");
        std::fs::rename(&aside, kept.join(name)).unwrap();
    }
    let expected = bytes(&Trainer::new(9).passes(8).tolerance(0.0), &corpus, &folder.path().join("n"));
    assert!(bytes(&trainer, &corpus, &model) == expected);
}

/// Damage to files, and a part of the expected message.
type Harm<'a> = (&'a (dyn Fn() + Sync), &'a str);

/// Changes to the corpus or to the checkpoint during a training are reported.
#[test]
fn damage_during_training_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let whole = corpus(folder.path(), 9);
    let path = whole.path().unwrap().to_path_buf();
    let content = std::fs::read(&path).unwrap();
    let (model, kept) = (folder.path().join("m"), folder.path().join("checkpoint"));
    let every = Duration::from_millis(200);
    let plain = Trainer::new(20).passes(40).tolerance(0.0);
    let expected = bytes(&plain, &whole, &model);
    std::fs::remove_file(&model).unwrap();
    let trainer = plain.checkpoint(kept.clone(), Some(every));
    let trainer = trainer.clone().memory(least(&trainer, &whole));
    let changed = || {
        let mut bytes = content.clone();
        for at in (100..bytes.len() / 2).step_by(500) {
            bytes[at] ^= 0x10;
        }
        std::fs::write(&path, bytes).unwrap();
    };
    let cut = || std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(2000).unwrap();
    let removed = || std::fs::remove_dir_all(&kept).unwrap();
    let harms: [Harm<'_>; 3] = [(&changed, "damaged"), (&cut, "cut short"), (&removed, "checkpoint")];
    for (harm, text) in harms {
        std::fs::write(&path, &content).unwrap();
        let corpus = Corpus::open(&path).unwrap();
        let result = trainer.train_to(&corpus, &model, |event| {
            if matches!(event, Event::Pass(report) if report.pass == 2) {
                harm();
            }
            ControlFlow::Continue(())
        });
        if let Err(error) = result {
            assert!(error.to_string().contains(text), "{error}");
            assert!(!model.exists());
        } else {
            // Removed files may be rewritten before a checkpoint needs them, so that training
            // succeeds.
            assert_eq!(text, "checkpoint");
            assert!(std::fs::read(&model).unwrap() == expected);
            std::fs::remove_file(&model).unwrap();
        }
        std::fs::remove_dir_all(&kept).ok();
    }
}

/// A scratch folder that also contains other files works across several stops and resumes.
#[test]
fn scratch_folder_with_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 10);
    let (model, kept, scratch) =
        (folder.path().join("m"), folder.path().join("checkpoint"), folder.path().join("scratch"));
    std::fs::create_dir(&scratch).unwrap();
    std::fs::write(scratch.join("tinylda-messages-000001"), "the user's own").unwrap();
    let plain = Trainer::new(20).passes(12).tolerance(0.0);
    let expected = bytes(&plain, &corpus, &model);
    std::fs::remove_file(&model).unwrap();
    let inside = plain.checkpoint(kept.clone(), None).resume(Resume::Yes);
    let inside = inside.clone().memory(least(&inside, &corpus));
    let apart = inside.clone().scratch(scratch.clone());
    let stop = |trainer: &Trainer, at: u32| {
        let result = trainer.train_to(&corpus, &model, |event| match event {
            Event::Pass(report) if report.pass == at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(matches!(result, Err(Error::Stopped { .. })), "{result:?}");
    };
    stop(&apart, 2);
    assert_eq!(names(&scratch).len(), 2);
    // The checkpoint knows the scratch folder, so it need not be given again; another one is
    // refused.
    stop(&inside, 4);
    stop(&inside, 6);
    stop(&apart, 8);
    let text = inside.clone().scratch(folder.path().to_path_buf()).train_to(&corpus, &model, go_on);
    let text = text.unwrap_err().to_string();
    assert!(text.contains("the `scratch` folder"), "{text}");
    // Another training can use the same scratch folder, stopped or restarted, without affecting
    // this one.
    let other = apart.clone().seed(7).checkpoint(folder.path().join("other"), None);
    stop(&other, 3);
    stop(&other.resume(Resume::Restart), 3);
    assert!(bytes(&inside, &corpus, &model) == expected);
    assert_eq!(names(&scratch).len(), 2);
}

/// If one of several files of a checkpoint is missing, the error names it and the others are kept.
#[test]
fn one_file_of_many_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 11);
    let (model, kept) = (folder.path().join("m"), folder.path().join("checkpoint"));
    let plain = Trainer::new(20).passes(12).tolerance(0.0);
    let trainer = plain.clone().checkpoint(kept.clone(), None).resume(Resume::Yes);
    let trainer = trainer.clone().memory(least(&trainer, &corpus) + (2 << 20));
    let mut files = Vec::new();
    for n in 1..200 {
        assert!(stop_at(&trainer, &corpus, &model, 1 + n % 3).is_some());
        files = names(&kept).into_iter().filter(|name| name.starts_with("tinylda-messages")).collect();
        if files.len() > 1 {
            break;
        }
    }
    assert!(files.len() > 1, "{files:?}");
    let all = names(&kept);
    for name in &files {
        let aside = folder.path().join("aside");
        std::fs::rename(kept.join(name), &aside).unwrap();
        let text = trainer.train_to(&corpus, &model, go_on).unwrap_err().to_string();
        assert!(text.contains(name.as_str()) && text.contains("`restart`"), "{text}");
        std::fs::rename(&aside, kept.join(name)).unwrap();
        assert_eq!(names(&kept), all);
    }
    assert!(bytes(&trainer, &corpus, &model) == bytes(&plain, &corpus, &folder.path().join("n")));
}

/// A custom document order, which jumps between blocks, works with the minimum memory and across
/// stops and resumes.
#[test]
fn custom_document_order() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path(), 12);
    let (model, kept) = (folder.path().join("m"), folder.path().join("checkpoint"));
    let documents = corpus.shape().documents;
    let order: Vec<u64> = (0..documents).map(|i| i * 7919 % documents).collect();
    let plain = Trainer::new(5).algorithm(Algorithm::Atbp).order(order).passes(3).tolerance(0.0);
    let expected = bytes(&plain, &corpus, &model);
    let trainer = plain.checkpoint(kept, None).resume(Resume::Yes);
    let trainer = trainer.clone().memory(least(&trainer, &corpus));
    for _ in 0..500 {
        match stop_at(&trainer, &corpus, &model, 2) {
            None => break,
            Some(Error::Stopped { .. }) => {}
            Some(other) => panic!("{other}"),
        }
    }
    assert!(std::fs::read(&model).unwrap() == expected);
}

/// Changing any byte of a small checkpoint, or truncating it anywhere, is an error.
#[test]
fn every_byte_of_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let documents: Vec<Vec<(u32, u32)>> =
        (0..12).map(|d| vec![(d % 3, 1), (3 + d % 2, 2 + d % 4), (5, 1)]).collect();
    let corpus = common::corpus_of(6, &documents);
    let (trainer, model, kept) = checkpoint(folder.path(), &corpus);
    let trainer = trainer.resume(Resume::Yes);
    for name in names(&kept).into_iter().filter(|name| name != "tinylda.lock") {
        let path = kept.join(&name);
        let whole = std::fs::read(&path).unwrap();
        assert!(!whole.is_empty());
        let refuse = |bytes: &[u8], what: String| {
            std::fs::write(&path, bytes).unwrap();
            let text = trainer.train_to(&corpus, &model, go_on).expect_err(&what).to_string();
            assert!(text.contains("checkpoint"), "{what}: {text}");
            assert!(!model.exists(), "{what}");
        };
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            refuse(&bytes, format!("byte {at} of {name} changed"));
            refuse(&whole[..at], format!("{name} cut to {at} bytes"));
        }
        std::fs::write(&path, &whole).unwrap();
    }
    let expected = bytes(&Trainer::new(9).passes(8).tolerance(0.0), &corpus, &folder.path().join("n"));
    assert!(bytes(&trainer, &corpus, &model) == expected);
}
