//! Priors: learning alpha and beta, seed words, and invalid settings.
#![allow(clippy::float_cmp, clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::ops::ControlFlow;
use std::path::Path;

use common::{corpus_of, go_on, synthetic};
use tinylda::corpus::Synth;
use tinylda::eval::predictive_perplexity;
use tinylda::settings::DocumentState;
use tinylda::{Algorithm, Corpus, Error, Inference, Model, Seeds, Trainer};

fn settings(seed: u64) -> Synth {
    Synth { documents: 1500, words: 400, topics: 6, mean_length: 60.0, seed, ..Synth::default() }
}

fn seeds(text: &str) -> Seeds {
    Seeds::of_bytes(text.as_bytes().to_vec(), Path::new("seeds.txt")).unwrap()
}

fn perplexity(model: &Model, corpus: &Corpus) -> f64 {
    let evaluation =
        predictive_perplexity(model, corpus, 1, Inference::Same, &mut |_| ControlFlow::Continue(()));
    evaluation.unwrap().predictive_perplexity
}

/// From poor initial values, every algorithm that can learn alpha and beta finds valid ones, and
/// `tbp` predicts better with them.
#[test]
fn what_is_learned_predicts_better() {
    let corpus = synthetic(&settings(1));
    for algorithm in
        [Algorithm::Tbp, Algorithm::Stbp, Algorithm::Atbp, Algorithm::Bp, Algorithm::Abp, Algorithm::Gibbs]
    {
        let trainer = Trainer::new(6).algorithm(algorithm).alpha(3.0).beta(1.0).passes(40).tolerance(0.0);
        let fixed = trainer.clone().train(&corpus, go_on).unwrap().model;
        let learned = trainer.optimize(true).train(&corpus, go_on).unwrap().model;
        assert!(fixed.alpha().iter().all(|&a| a == 3.0) && fixed.beta() == 1.0);
        assert!(learned.alpha().iter().all(|&a| a > 0.0 && a <= 3.0), "{algorithm:?}: {:?}", learned.alpha());
        assert!(learned.beta() > 0.0 && learned.beta() <= 10.0, "{algorithm:?}: {}", learned.beta());
        assert!(
            learned.training().settings.optimize == Some(true)
                && fixed.training().settings.optimize.is_none()
        );
        // If a message is not excluded from the sums, similar topics may stay similar, so that
        // there is nothing to learn from.
        if algorithm == Algorithm::Tbp {
            assert!(learned.alpha().windows(2).any(|pair| pair[0] != pair[1]));
            let (before, after) = (perplexity(&fixed, &corpus), perplexity(&learned, &corpus));
            assert!(after < before, "{before} -> {after}");
        }
    }
}

/// Unused topics keep a small positive alpha.
#[test]
fn topics_that_are_not_used() {
    let documents: Vec<Vec<(u32, u32)>> = (0..60).map(|d| vec![(d % 2, 5)]).collect();
    let corpus = corpus_of(2, &documents);
    let trainer = Trainer::new(10).optimize(true).passes(60).tolerance(0.0);
    let model = trainer.train(&corpus, go_on).unwrap().model;
    assert!(model.alpha().iter().all(|&a| (0.0019..=1.0).contains(&a)), "{:?}", model.alpha());
    assert!(model.beta() > 0.0 && model.beta().is_finite());
}

#[test]
fn threads_do_not_change_what_is_learned() {
    let corpus = synthetic(&settings(2));
    let trainer = Trainer::new(12).optimize(true).seeds(seeds("first: w001 w010\nsecond: w200")).passes(20);
    let models = [1, 2, 5].map(|n| trainer.clone().threads(n).train(&corpus, go_on).unwrap().model);
    assert!(models.iter().all(|model| *model == models[0]));
}

/// With the top words of true topics as seed words, in a different order, each topic found is the
/// corresponding true one.
#[test]
fn seeds_hold_their_topics() {
    let settings = settings(3);
    let corpus = synthetic(&settings);
    let (truth, words) = (settings.truth().unwrap(), settings.vocabulary());
    let tops: Vec<Vec<u32>> = truth
        .iter()
        .map(|topic| {
            let mut all: Vec<u32> = (0..settings.words).collect();
            all.sort_by(|&a, &b| topic[b as usize].total_cmp(&topic[a as usize]));
            all.truncate(4);
            all
        })
        .collect();
    let order = [4usize, 1, 3, 0];
    let text: Vec<String> = order
        .iter()
        .map(|&j| {
            let names: Vec<&str> = tops[j].iter().map(|&w| words.get(w).unwrap()).collect();
            format!("topic{j}: {}", names.join(" "))
        })
        .collect();
    let given = seeds(&text.join("\n"));
    for seed in 1..=3 {
        let trainer = Trainer::new(6).seeds(given.clone()).seed(seed).passes(60);
        let model = trainer.train(&corpus, go_on).unwrap().model;
        let found = model.top_words(12);
        let total = f64::from(corpus.shape().tokens as u32);
        let sum: f64 = (0..model.words()).flat_map(|w| model.phi(w)).map(|&n| f64::from(n)).sum();
        assert!((sum - total).abs() < 1e-4 * total, "phi has what documents have: {sum} of {total}");
        for (k, &j) in order.iter().enumerate() {
            let held = tops[j].iter().filter(|&&w| found[k].iter().any(|top| top.word == w)).count();
            assert!(held >= 3, "seed {seed}, topic {k}: {held} of {:?} in {:?}", tops[j], found[k]);
            assert_eq!(model.topic_name(k as u32), Some(format!("topic{j}").as_str()));
            // The whole topic must match, not only its seed words.
            let nearest = (0..truth.len())
                .min_by(|&a, &b| away(&model, k, &truth[a]).total_cmp(&away(&model, k, &truth[b])));
            assert_eq!(nearest, Some(j), "seed {seed}, topic {k}");
        }
        assert_eq!(model.topic_name(4), None);
    }
}

/// Returns the distance of a topic from a distribution.
fn away(model: &Model, k: usize, truth: &[f64]) -> f64 {
    let total: f64 = (0..model.words()).map(|w| f64::from(model.phi(w)[k])).sum();
    (0..model.words()).map(|w| (f64::from(model.phi(w)[k]) / total - truth[w as usize]).abs()).sum()
}

#[test]
fn invalid_settings_are_refused() {
    let corpus = synthetic(&settings(4));
    let bare = corpus_of(2, &[vec![(0, 5), (1, 5)]]);
    let refused = |trainer: Trainer, corpus: &Corpus, parts: &[&str]| {
        let error = trainer.check(corpus).unwrap_err();
        assert!(matches!(error, Error::Parameter { .. } | Error::Input { .. }));
        for part in parts {
            assert!(error.to_string().contains(part), "{part:?} is missing in: {error}");
        }
    };
    let trainer = || Trainer::new(3);
    for algorithm in [Algorithm::Vb, Algorithm::Ovb, Algorithm::Nmf] {
        refused(
            trainer().algorithm(algorithm).optimize(true),
            &corpus,
            &["`optimize` is only valid with `algorithm=tbp`, `algorithm=stbp`"],
        );
    }
    refused(
        trainer().document_state(DocumentState::None).optimize(true),
        &corpus,
        &["`optimize` cannot be combined with `document_state=none`"],
    );
    let some = || seeds("a: w001\n");
    refused(
        Trainer::new(3).algorithm(Algorithm::Gibbs).seeds(some()),
        &corpus,
        &["`seeds` is only valid with `algorithm=tbp`"],
    );
    refused(
        trainer().document_state(DocumentState::None).seeds(some()),
        &corpus,
        &["`seeds` cannot be combined with `document_state=none`"],
    );
    refused(trainer().seeds(some()).seed_weight(0.0), &corpus, &["`seed_weight` must be", "not 0"]);
    refused(trainer().seeds(some()).seed_weight(1e6), &corpus, &["`seed_weight`", "occurs"]);
    refused(trainer().seeds(some()), &bare, &["`seeds`", "no vocabulary", "`vocab`"]);
    refused(trainer().seeds(seeds("a: w001\nb: no nay\n")), &corpus, &["seeds.txt, line 2", "no, nay"]);
    refused(
        trainer().seeds(seeds("a: w001\n7: w002\n")),
        &corpus,
        &["seeds.txt, line 2", "topic 7", "0 to 2"],
    );
    refused(
        trainer().seeds(seeds("a: w1\nb: w2\nc: w3\nd: w4")),
        &corpus,
        &["line 4", "at most 3 topics", "`topics`"],
    );
}
