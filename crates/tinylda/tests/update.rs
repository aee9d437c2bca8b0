//! Updating a model: the result depends on nothing but its inputs, topics and words keep their
//! numbers, and unsuitable inputs are refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::float_cmp, missing_docs)]

mod common;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use common::{corpus_of, go_on, synthetic};
use tinylda::corpus::{Block, Synth};
use tinylda::eval::predictive_perplexity;
use tinylda::settings::DocumentState;
use tinylda::{Algorithm, Corpus, CorpusBuilder, Error, Event, Inference, Model, Resume, Trainer};

/// Draws documents of the same topics for every number of documents.
fn drawn(documents: u64, words: u32) -> Corpus {
    synthetic(&Synth { documents, words, topics: 6, mean_length: 50.0, ..Synth::default() })
}

/// Returns the documents of a corpus from `from` to `to`, as words and counts. `rename` maps the
/// number of a word to its name.
fn part(corpus: &Corpus, (from, to): (u64, u64), rename: impl Fn(u32) -> Option<u32>) -> Corpus {
    let names = corpus.vocabulary().unwrap().unwrap();
    let (mut ids, mut words) = (std::collections::HashMap::new(), Vec::new());
    let mut documents = Vec::new();
    let (mut reader, mut buffer, mut number) = (corpus.reader(), Block::default(), 0);
    for block in 0..corpus.blocks() {
        reader.read(block, &mut buffer).unwrap();
        for document in buffer.iter() {
            number += 1;
            if number <= from || number > to {
                continue;
            }
            let mut list = Vec::new();
            for (&w, &x) in document.words.iter().zip(document.counts) {
                if let Some(name) = rename(w) {
                    let id = *ids.entry(name).or_insert_with(|| {
                        words.push(names.get(name).unwrap().to_owned());
                        words.len() as u32 - 1
                    });
                    list.push((id, x));
                }
            }
            list.sort_unstable();
            documents.push(list);
        }
    }
    let mut builder = CorpusBuilder::new().vocabulary(words);
    for list in &documents {
        builder.add_document(list).unwrap();
    }
    builder.build().unwrap()
}

fn train(trainer: &Trainer, corpus: &Corpus) -> Model {
    trainer.train(corpus, go_on).unwrap().model
}

/// Returns a model and the corpus to update it with, whose words have other numbers. A fifth of the
/// words occurs in the new documents only, and another fifth in the old ones only.
fn model_and_news() -> (Arc<Model>, Corpus) {
    let all = drawn(1500, 300);
    let old = part(&all, (0, 1200), |w| (w % 5 != 1).then_some(w));
    let new = part(&all, (1200, 1500), |w| (w % 5 != 2).then_some(w));
    (Arc::new(train(&Trainer::new(6).passes(40), &old)), new)
}

/// Words of the model keep their numbers, new words follow, words that the new documents lack keep
/// their counts, and the tokens of both add up.
#[test]
fn words_are_appended() {
    let (old, corpus) = model_and_news();
    let new = train(&Trainer::new(6).passes(30).update(Arc::clone(&old)), &corpus);
    let (before, after) = (old.vocabulary().unwrap(), new.vocabulary().unwrap());
    assert!((0..old.words()).all(|w| before.get(w) == after.get(w)));
    let ids = before.ids();
    let given = corpus.vocabulary().unwrap().unwrap();
    let added: Vec<&str> = given.iter().filter(|word| !ids.contains_key(word)).collect();
    assert!(added.len() > 40);
    assert_eq!(after.iter().skip(before.len()).collect::<Vec<_>>(), added);
    let known = given.ids();
    let mut absent = 0;
    for w in 0..old.words() {
        if !known.contains_key(before.get(w).unwrap()) {
            assert_eq!(old.phi(w), new.phi(w));
            absent += 1;
        }
    }
    assert!(absent > 40);
    let tokens =
        |model: &Model| (0..model.words()).flat_map(|w| model.phi(w)).map(|&n| f64::from(n)).sum::<f64>();
    assert_eq!(tokens(&new), tokens(&old) + corpus.shape().tokens as f64);
    let update = new.training().update.as_ref().unwrap();
    assert_eq!((update.new_words, update.weight), (added.len() as u32, 1.0));
    assert_eq!(update.corpora, [old.training().corpus.clone()]);
    assert_eq!(new.training().corpora().count(), 2);
    assert!(update.mean_similarity() > 0.9, "{:?}", update.similarities);
    assert_eq!(new.alpha(), old.alpha());
}

/// A model in which old and new documents were trained together predicts hardly better.
#[test]
fn an_update_is_nearly_as_good_as_a_training_on_everything() {
    let all = drawn(2000, 300);
    let of = |from, to| part(&all, (from, to), Some);
    let (old, new, test) = (of(0, 1200), of(1200, 1500), of(1500, 2000));
    let perplexity = |model: &Model| {
        let mut quiet = |_| ControlFlow::Continue(());
        predictive_perplexity(model, &test, 1, Inference::Same, &mut quiet).unwrap().predictive_perplexity
    };
    let whole = train(&Trainer::new(6).passes(60), &of(0, 1500));
    let before = train(&Trainer::new(6).passes(60), &old);
    let after = train(&Trainer::new(6).passes(60).update(before), &new);
    assert!(perplexity(&after) < 1.02 * perplexity(&whole), "{} {}", perplexity(&after), perplexity(&whole));
}

/// Returns the trainers whose results are compared: with fixed and with learned priors.
fn trainers(old: &Arc<Model>) -> [Trainer; 2] {
    let trainer = Trainer::new(6).passes(22).tolerance(0.0).update(Arc::clone(old)).update_weight(0.7);
    [trainer.clone(), trainer.optimize(true)]
}

#[test]
fn threads_and_memory_do_not_change_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let (old, corpus) = model_and_news();
    for trainer in trainers(&old) {
        let whole = train(&trainer, &corpus);
        for threads in [2, 5] {
            assert!(train(&trainer.clone().threads(threads), &corpus) == whole);
        }
        let trainer = trainer.scratch(folder.path().join("scratch"));
        let (mut too_little, mut enough) = (0u64, 1 << 32);
        while enough - too_little > 4096 {
            let middle = u64::midpoint(too_little, enough);
            match trainer.clone().memory(middle).plan(&corpus) {
                Ok(_) => enough = middle,
                Err(_) => too_little = middle,
            }
        }
        let trainer = trainer.memory(enough);
        assert!(trainer.plan(&corpus).unwrap().phi_on_disk > 0);
        let file = folder.path().join("new.model");
        trainer.train_to(&corpus, &file, go_on).unwrap();
        assert!(Model::load(&file).unwrap() == whole);
    }
}

/// An update that is stopped and resumed gives the same bytes, and another model or weight is
/// refused.
#[test]
fn updates_are_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let (old, corpus) = model_and_news();
    for (number, trainer) in trainers(&old).into_iter().enumerate() {
        let file = |name: &str| folder.path().join(format!("{number}{name}"));
        trainer.train_to(&corpus, file("whole"), go_on).unwrap();
        let trainer = trainer.checkpoint(file("checkpoint"), None);
        for stop in [1, 13] {
            let stopped =
                trainer.clone().resume(Resume::Yes).train_to(&corpus, file("parts"), |event| match event {
                    Event::Pass(report) if report.pass == stop => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                });
            assert!(matches!(stopped, Err(Error::Stopped { .. })), "{stopped:?}");
        }
        let trainer = trainer.resume(Resume::Yes);
        let refused =
            |other: &Trainer| other.train_to(&corpus, file("parts"), go_on).unwrap_err().to_string();
        assert!(refused(&trainer.clone().update_weight(1.0)).contains("weight"));
        let other = train(&Trainer::new(6).passes(9), &corpus);
        assert!(refused(&trainer.clone().update(other)).contains("model to update"));
        trainer.train_to(&corpus, file("parts"), go_on).unwrap();
        assert!(std::fs::read(file("whole")).unwrap() == std::fs::read(file("parts")).unwrap());
        trainer.check_result(&corpus, file("parts")).unwrap();
        let error = trainer.clone().update_weight(2.0).check_result(&corpus, file("parts")).unwrap_err();
        assert!(error.to_string().contains("weight"), "{error}");
    }
}

/// A model is updated twice, and the documents of all trainings are recorded.
#[test]
fn a_model_is_updated_again() {
    let (old, corpus) = model_and_news();
    let first = train(&Trainer::new(6).passes(10).update(Arc::clone(&old)), &corpus);
    let second = train(&Trainer::new(6).passes(10).update(first.clone()), &corpus);
    let update = second.training().update.clone().unwrap();
    assert_eq!(update.new_words, 0);
    assert_eq!(update.corpora, [old.training().corpus.clone(), first.training().corpus.clone()]);
    assert_eq!(update.documents(), 1200 + 300);
    assert_eq!(second.vocabulary(), first.vocabulary());
}

/// With a small weight the topics follow the new documents, with a large one they stay.
#[test]
fn the_weight_decides_how_far_topics_move() {
    let (old, corpus) = model_and_news();
    let similarity = |weight: f64| {
        let trainer = Trainer::new(6).passes(20).update(Arc::clone(&old)).update_weight(weight);
        train(&trainer, &corpus).training().update.as_ref().unwrap().mean_similarity()
    };
    let (light, even, heavy) = (similarity(0.05), similarity(1.0), similarity(20.0));
    assert!(light < even && even < heavy && heavy > 0.999, "{light} {even} {heavy}");
}

/// Models of all algorithms can be updated, with one topic and without a vocabulary.
#[test]
fn any_model_can_be_updated() {
    let documents: Vec<Vec<(u32, u32)>> = (0..60).map(|d| vec![(d % 2, 3), (2 + d % 2, 2)]).collect();
    let corpus = corpus_of(4, &documents);
    for algorithm in Algorithm::ALL {
        for topics in [1, 2] {
            let old = train(&Trainer::new(topics).algorithm(algorithm).passes(12), &corpus);
            let new = train(&Trainer::new(topics).passes(12).update(old), &corpus);
            let update = new.training().update.as_ref().unwrap();
            assert_eq!(update.similarities.len(), topics as usize);
            assert!(update.similarities.iter().all(|&cosine| cosine > 0.9), "{algorithm:?} {update:?}");
        }
    }
}

#[test]
fn unsuitable_inputs_are_refused() {
    let (old, corpus) = model_and_news();
    let trainer = Trainer::new(6).passes(5).update(Arc::clone(&old));
    let refused = |trainer: &Trainer, corpus: &Corpus, parts: &[&str]| {
        let error = trainer.train(corpus, go_on).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    let mut builder = CorpusBuilder::new().vocabulary(["unheard", "of"]);
    builder.add_document(&[(0, 3), (1, 2)]).unwrap();
    let foreign = builder.build().unwrap();
    refused(&trainer, &foreign, &["no word of the new documents is in the model"]);
    refused(&trainer, &corpus_of(7, &[vec![(0, 1)]]), &["7 words", "no vocabulary"]);
    refused(&trainer.clone().algorithm(Algorithm::Vb), &corpus, &["`algorithm=vb`", "updated with tbp"]);
    refused(&trainer.clone().document_state(DocumentState::None), &corpus, &["`document_state=none`"]);
    refused(&Trainer::new(5).update(Arc::clone(&old)), &corpus, &["`topics` must be 6"]);
    refused(&trainer.clone().update_weight(0.0), &corpus, &["`weight`"]);
    refused(&trainer.clone().update_weight(f64::NAN), &corpus, &["`weight`"]);
    refused(&trainer.clone().update_weight(1e9), &corpus, &["occurs", "at most"]);
    let seeds = tinylda::Seeds::of_bytes(b"0: w001".to_vec(), Path::new("seeds")).unwrap();
    refused(&trainer.clone().seeds(seeds), &corpus, &["`seeds`", "the update of a model"]);
    refused(&trainer.clone().start(vec![0; corpus.shape().nonzeros as usize]), &corpus, &["`start`"]);
}
