//! Inference on new documents: correctness, independence of the number of threads, and words that
//! the model does not know.
#![allow(clippy::float_cmp, clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::ops::ControlFlow;
use std::path::Path;

use common::go_on;
use tinylda::corpus::CorpusWriter;
use tinylda::corpus::Synth;
use tinylda::infer::{
    Mixtures, ProportionsFormat, ProportionsWriter, SimilarDocuments, TypicalDocuments, document_names,
    find_document,
};
use tinylda::{Algorithm, Corpus, CorpusBuilder, Inference, Model, Trainer};

fn on(_: tinylda::Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn synthetic() -> Corpus {
    common::synthetic(&Synth {
        documents: 600,
        words: 500,
        topics: 40,
        mean_length: 60.0,
        concentration: 40.0,
        ..Synth::default()
    })
}

fn trained(corpus: &Corpus, topics: u32, algorithm: Algorithm) -> (Model, Vec<f32>) {
    let trainer = Trainer::new(topics).algorithm(algorithm).passes(60);
    let trained = trainer.train_with_theta(corpus, go_on).unwrap();
    (trained.model, trained.theta.unwrap())
}

/// Returns the topic proportions of all documents, one row per document.
fn rows(mixtures: &Mixtures<'_>) -> Vec<Vec<f32>> {
    let mut rows = Vec::new();
    mixtures
        .for_each(
            |mixture, some: &mut Vec<Vec<f32>>| {
                some.push(mixture.proportions.to_vec());
                Ok(())
            },
            |some| {
                rows.extend(some);
                Ok(())
            },
            &mut on,
        )
        .unwrap();
    rows
}

#[test]
fn threads_do_not_change_a_byte() {
    let corpus = synthetic();
    for algorithm in [Algorithm::Tbp, Algorithm::Gibbs, Algorithm::Ovb] {
        // OVB does not keep theta.
        let trainer = Trainer::new(40).algorithm(algorithm).passes(20);
        let model = trainer.train(&corpus, go_on).unwrap().model;
        for format in [ProportionsFormat::Tsv, ProportionsFormat::JsonLines, ProportionsFormat::Npy] {
            let written: Vec<Vec<u8>> = [1, 2, 7]
                .into_iter()
                .map(|threads| {
                    let mixtures = Mixtures::new(&model, &corpus).unwrap().threads(threads);
                    let mut out = Vec::new();
                    let proportions = ProportionsWriter { format, top: None, min_proportion: None };
                    let told = proportions.write(&mixtures, &mut out, Path::new("-"), &mut on).unwrap();
                    assert_eq!((told.documents, told.documents_unknown), (600, 0));
                    out
                })
                .collect();
            assert!(written[0] == written[1] && written[0] == written[2], "{algorithm:?} {format:?}");
        }
    }
}

/// Topic proportions from training and inference are close in total variation distance: half the
/// sum of |p - q| over topics.
#[test]
fn training_and_inference_agree() {
    let corpus = synthetic();
    for (algorithm, most) in [(Algorithm::Tbp, 0.1), (Algorithm::Stbp, 0.1)] {
        let (model, theta) = trained(&corpus, 40, algorithm);
        let inferred = rows(&Mixtures::new(&model, &corpus).unwrap());
        let alpha: f32 = model.alpha().iter().sum();
        let mut away = 0.0;
        for (own, inferred) in theta.chunks(40).zip(&inferred) {
            assert!((inferred.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            let tokens: f32 = own.iter().sum();
            let fit = own.iter().zip(model.alpha()).map(|(n, a)| (n + a) / (tokens + alpha));
            away += f64::from(fit.zip(inferred).map(|(p, q)| (p - q).abs()).sum::<f32>()) / 2.0;
        }
        let mean = away / inferred.len() as f64;
        assert!(mean < most, "{algorithm:?}: {mean}");
    }
}

/// Returns a corpus with names, some words that the model does not know, and a document that
/// consists only of such words.
fn corpus_with_unknown_words(model: &Model) -> Corpus {
    let known = model.vocabulary().unwrap().get(7).unwrap();
    let mut builder = CorpusBuilder::new().vocabulary(["strange", known, "unheard"]);
    builder.add_named("some\tknown", &[(0, 2), (1, 1), (2, 1)]).unwrap();
    builder.add_named("none", &[(0, 1), (2, 3)]).unwrap();
    builder.add_named("empty", &[]).unwrap();
    builder.build().unwrap()
}

#[test]
fn unknown_words_are_counted_and_left_out() {
    let corpus = synthetic();
    let (model, _) = trained(&corpus, 40, Algorithm::Tbp);
    let corpus = corpus_with_unknown_words(&model);
    let mixtures = Mixtures::new(&model, &corpus).unwrap();
    let unknown = mixtures.unknown().unwrap();
    assert_eq!((unknown.words, unknown.tokens), (2, 7));
    let mut text = Vec::new();
    let proportions =
        ProportionsWriter { format: ProportionsFormat::JsonLines, top: Some(2), min_proportion: None };
    let told = proportions.write(&mixtures, &mut text, Path::new("-"), &mut on).unwrap();
    assert_eq!((told.documents, told.documents_unknown, told.examples), (3, 2, vec![1, 2]));
    let text = String::from_utf8(text).unwrap();
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with(
            "{\"document\":1,\"name\":\"some\\tknown\",\"tokens\":1,\"tokens_unknown\":3,\"topics\":[["
        ),
        "{first}"
    );
    let prior = rows(&mixtures)[1].clone();
    let alpha: f32 = model.alpha().iter().sum();
    for (p, a) in prior.iter().zip(model.alpha()) {
        assert!((p - a / alpha).abs() < 1e-7);
    }
    let inference = Mixtures::new(&model, &corpus).unwrap().inference(Inference::Same);
    assert_eq!(rows(&inference)[1], prior);
}

#[test]
fn lines_are_of_one_length_and_names_cannot_break_them() {
    let corpus = synthetic();
    let (model, _) = trained(&corpus, 40, Algorithm::Tbp);
    let unknown = corpus_with_unknown_words(&model);
    for (top, min_proportion, columns) in
        [(None, None, 42), (Some(3), None, 8), (None, Some(0.25), 10), (Some(2), Some(0.25), 6)]
    {
        for corpus in [&corpus, &unknown] {
            let mixtures = Mixtures::new(&model, corpus).unwrap();
            let mut text = Vec::new();
            let proportions = ProportionsWriter { format: ProportionsFormat::Tsv, top, min_proportion };
            proportions.write(&mixtures, &mut text, Path::new("-"), &mut on).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert_eq!(text.lines().count() as u64, corpus.shape().documents + 1);
            for line in text.lines() {
                assert_eq!(line.split('\t').count(), columns, "{line}");
            }
        }
    }
    let proportions =
        ProportionsWriter { format: ProportionsFormat::Npy, top: Some(3), min_proportion: None };
    let mixtures = Mixtures::new(&model, &corpus).unwrap();
    let error = proportions.write(&mixtures, &mut Vec::new(), Path::new("-"), &mut on).unwrap_err();
    assert!(error.to_string().contains("`top` cannot be combined with `to=npy`"), "{error}");
}

#[test]
fn typical_documents_are_those_that_a_sort_would_find() {
    let corpus = synthetic();
    let (model, _) = trained(&corpus, 40, Algorithm::Tbp);
    let mixtures = Mixtures::new(&model, &corpus).unwrap().threads(3);
    let all = rows(&mixtures);
    let typical =
        TypicalDocuments { top: 4, min_tokens: 1, topics: Vec::new() }.find(&mixtures, &mut on).unwrap();
    assert_eq!(typical.len(), 40);
    for (k, found) in &typical {
        let mut order: Vec<usize> = (0..all.len()).collect();
        let p = |d: usize| all[d][*k as usize];
        order.sort_by(|&a, &b| p(b).total_cmp(&p(a)).then(a.cmp(&b)));
        let numbers: Vec<usize> = found.iter().map(|f| f.number as usize).collect();
        assert_eq!(numbers, order[..4]);
        assert!(found.iter().all(|f| f.value == p(f.number as usize)));
    }
    let one = TypicalDocuments { top: 2, min_tokens: 70, topics: vec![3] }.find(&mixtures, &mut on).unwrap();
    assert_eq!((one.len(), one[0].0), (1, 3));
    assert!(one[0].1.iter().all(|f| f.tokens >= 70));
    let error =
        TypicalDocuments { top: 2, min_tokens: 1, topics: vec![40] }.find(&mixtures, &mut on).unwrap_err();
    assert!(error.to_string().contains("from 0 to 39"), "{error}");
}

#[test]
fn the_nearest_document_is_the_one_with_the_same_words() {
    let corpus = synthetic();
    let (model, _) = trained(&corpus, 40, Algorithm::Tbp);
    let mut writer = CorpusWriter::in_memory(true).unwrap();
    let (mut reader, mut block) = (corpus.reader(), tinylda::corpus::Block::default());
    reader.read(0, &mut block).unwrap();
    for (name, d) in [("a", 3), ("b", 5), ("7", 9), ("twin of b", 5)] {
        let document = block.document(d);
        writer.push(document.words, document.counts, Some(name)).unwrap();
    }
    let vocabulary = corpus.vocabulary().unwrap();
    let twins = writer.finish(corpus.shape().words, vocabulary.as_ref()).unwrap();
    let mixtures = Mixtures::new(&model, &twins).unwrap();
    let to = find_document(&twins, "b").unwrap();
    let found = SimilarDocuments { top: 10, min_tokens: 0 }.find(&mixtures, to, &mut on).unwrap();
    assert_eq!((found.len(), found[0].number), (3, 3));
    assert!(found[0].value < 1e-3 && found[1].value > found[0].value, "{found:?}");
    // A name takes precedence over a number.
    assert_eq!(find_document(&twins, "7").unwrap(), 2);
    assert_eq!(find_document(&twins, "4").unwrap(), 3);
    assert_eq!(document_names(&twins, &[3, 0]).unwrap(), ["twin of b", "a"]);
    for wrong in ["0", "5", "c", "-1"] {
        let error = find_document(&twins, wrong).unwrap_err().to_string();
        assert!(error.contains("from 1 to 4"), "{error}");
    }
}
