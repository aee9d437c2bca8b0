//! Are these gensim's numbers? Do threads, files and windows show in them?
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::float_cmp, missing_docs)]

mod common;

use std::io::Write;
use std::ops::ControlFlow;

use common::{fixture, go_on};
use tinylda::eval::{Coherence, Measure, Missing, word_measures};
use tinylda::model::Order;
use tinylda::{Corpus, CorpusBuilder, Model, Trainer};

/// Texts and topics with the numbers that gensim 4.4.0 gives for them; `bench/coherence.py fixture` has made it.
struct Fixture {
    texts: Vec<Vec<u32>>,
    topics: Vec<Vec<u32>>,
    value: serde_json::Value,
}

fn lists(value: &serde_json::Value) -> Vec<Vec<u32>> {
    serde_json::from_value(value.clone()).unwrap()
}

impl Fixture {
    fn read() -> Fixture {
        let text = std::fs::read_to_string(fixture("coherence.json")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        Fixture { texts: lists(&value["texts"]), topics: lists(&value["topics"]), value }
    }

    /// (measure, window, topics, mean)
    fn cases(&self) -> Vec<(Measure, Option<u32>, Vec<f64>, f64)> {
        let case = |case: &serde_json::Value| {
            let measure = Measure::ALL.into_iter().find(|m| case["measure"] == m.name()).unwrap();
            let window = case["window"].as_u64().map(|n| n as u32);
            let topics = serde_json::from_value(case["topics"].clone()).unwrap();
            (measure, window, topics, case["mean"].as_f64().unwrap())
        };
        self.value["cases"].as_array().unwrap().iter().map(case).collect()
    }
}

fn quietly(_: tinylda::Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() < 1e-9, "{what}: {found:?} and not {expected:?}");
    }
}

#[test]
fn the_numbers_are_gensims() {
    let f = Fixture::read();
    for (measure, window, topics, mean) in f.cases() {
        let how = Coherence { measures: vec![measure], window, ..Coherence::default() };
        let found = how.of_texts(&f.topics, &f.texts).unwrap();
        let what = format!("{} {window:?}", measure.name());
        close(&found.measures[0].topics, &topics, &what);
        close(&[found.measures[0].mean], &[mean], &what);
        assert_eq!(found.documents, 60);
        assert!(found.missing.iter().all(Vec::is_empty));
    }
}

#[test]
fn threads_do_not_show() {
    let f = Fixture::read();
    // So many texts that there are several batches.
    let texts: Vec<&Vec<u32>> = f.texts.iter().cycle().take(20_000).collect();
    let of = |threads| Coherence { threads, ..Coherence::default() }.of_texts(&f.topics, &texts).unwrap();
    let one = of(1);
    for threads in [2, 7] {
        assert_eq!(of(threads), one);
    }
}

#[test]
fn words_that_never_occur() {
    let f = Fixture::read();
    let lost: Vec<u32> = serde_json::from_value(f.value["lost"].clone()).unwrap();
    let without: Vec<u32> = lost.iter().copied().filter(|&w| w != 39).collect();
    let how = Coherence::default();
    let found = how.of_texts(&[lost.clone(), vec![38, 39], vec![1, 39]], &f.texts).unwrap();
    assert_eq!(found.missing, [vec![39], vec![38, 39], vec![39]]);
    let expected = how.of_texts(&[without], &f.texts).unwrap();
    for (found, expected) in found.measures.iter().zip(&expected.measures) {
        assert_eq!(found.topics[0], expected.topics[0]);
        assert!(found.topics[1].is_nan());
        if found.measure != Measure::CV {
            assert!(found.topics[2].is_nan(), "a word alone has no pair");
            assert_eq!(found.mean, expected.topics[0], "the mean is of topics that have a number");
        }
    }
    // As gensim does with a dictionary that has the word.
    let keep = Coherence { missing: Missing::Keep, ..Coherence::default() };
    let found = keep.of_texts(&[lost], &f.texts).unwrap();
    let values: Vec<f64> = found.measures.iter().map(|m| m.topics[0]).collect();
    close(&values[..1], &[f.value["lost_u_mass"].as_f64().unwrap()], "u_mass");
    assert!(values[1] == f64::INFINITY && values[2] == f64::INFINITY && values[3].is_nan(), "{values:?}");
    // No text at all has any of the words.
    let error = how.of_texts(&[vec![38, 39]], &f.texts).unwrap_err().to_string();
    assert!(error.contains("none of the topics' words"), "{error}");
    assert!(how.of_texts(&f.topics, Vec::<Vec<u32>>::new()).is_err());
}

/// The fixture's texts as a corpus, and a model of three topics.
fn trained(texts: &[Vec<u32>]) -> (Corpus, Model) {
    let mut builder = CorpusBuilder::new().vocabulary((0..40).map(|w| format!("w{w}")));
    for text in texts {
        let entries: Vec<(u32, u32)> = text.iter().map(|&w| (w, 1)).collect();
        builder.add_document(&entries).unwrap();
    }
    let corpus = builder.build().unwrap();
    let model = Trainer::new(3).passes(20).train(&corpus, go_on).unwrap().model;
    (corpus, model)
}

#[test]
fn corpus_text_file_and_ids_agree() {
    let f = Fixture::read();
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = trained(&f.texts);
    let text = folder.path().join("texts.txt");
    let mut file = std::fs::File::create(&text).unwrap();
    for text in &f.texts {
        let line: Vec<String> = text.iter().map(|w| format!("W{w},")).collect();
        writeln!(file, "{} 17", line.join(" ")).unwrap();
    }
    let how = Coherence { threads: 2, ..Coherence::default() };
    let expected = how.of_texts(&f.topics, &f.texts).unwrap();
    assert_eq!(how.of_text_file(&model, &f.topics, &text, &mut quietly).unwrap(), expected);
    // A corpus has no order: as with a window longer than any text.
    let wide = Coherence { window: Some(0), ..how.clone() };
    let found = how.of_corpus(&model, &f.topics, &corpus, &mut quietly).unwrap();
    assert_eq!(found, wide.of_texts(&f.topics, &f.texts).unwrap());
    for (measure, window, topics, _) in f.cases() {
        if window == Some(1000) {
            let mine = found.measures.iter().find(|m| m.measure == measure).unwrap();
            close(&mine.topics, &topics, measure.name());
        }
    }
    let narrow = Coherence { window: Some(5), ..Coherence::default() };
    let error = narrow.of_corpus(&model, &f.topics, &corpus, &mut quietly).unwrap_err().to_string();
    assert!(error.contains("window=5") && error.contains("`reference`"), "{error}");
    let stop = &mut |_| ControlFlow::Break(());
    assert!(matches!(how.of_corpus(&model, &f.topics, &corpus, stop), Err(tinylda::Error::Interrupted)));
    assert!(matches!(how.of_text_file(&model, &f.topics, &text, stop), Err(tinylda::Error::Interrupted)));
}

#[test]
fn what_words_alone_tell() {
    let f = Fixture::read();
    let (_, model) = trained(&f.texts);
    let beta = f64::from(model.beta());
    let p: Vec<Vec<f64>> = (0..3)
        .map(|k| {
            let column: Vec<f64> = (0..40).map(|w| f64::from(model.phi(w)[k]) + beta).collect();
            let sum: f64 = column.iter().sum();
            column.into_iter().map(|x| x / sum).collect()
        })
        .collect();
    let top = vec![vec![0, 1, 2], vec![2, 3, 4], vec![5, 6, 0]];
    let found = word_measures(&model, &top);
    close(&[found.diversity], &[7.0 / 9.0], "diversity");
    for k in 0..3 {
        let across = |w: usize| p[0][w] + p[1][w] + p[2][w];
        let exclusive = top[k].iter().map(|&w| p[k][w as usize] / across(w as usize)).sum::<f64>() / 3.0;
        close(&[found.exclusivity[k]], &[exclusive], "exclusivity");
        close(
            &[found.effective_words[k]],
            &[1.0 / p[k].iter().map(|x| x * x).sum::<f64>()],
            "effective words",
        );
    }
    // Every order against its definition, by plain sorting.
    let overall = |w: usize| (0..3).map(|k| p[k][w] * model.share(k as u32)).sum::<f64>();
    let rank = |values: &[f64], w: usize| {
        let below = values.iter().filter(|&&v| v < values[w]).count() as f64;
        let alike = values.iter().filter(|&&v| v == values[w]).count() as f64;
        (below + f64::midpoint(alike, 1.0)) / 40.0
    };
    let orders = [Order::Probability, Order::Lift, Order::Frex(0.5), Order::Frex(0.9)];
    for order in orders.into_iter().chain([0.0, 0.3, 0.6, 1.0].map(Order::Relevance)) {
        let lists = model.ranked_words(order, 12).unwrap();
        for (k, list) in lists.iter().enumerate() {
            let exclusive: Vec<f64> = (0..40).map(|w| p[k][w] / (p[0][w] + p[1][w] + p[2][w])).collect();
            let score = |w: usize| match order {
                Order::Probability => p[k][w],
                Order::Lift => p[k][w] / overall(w),
                Order::Relevance(l) => l * p[k][w].ln() + (1.0 - l) * (p[k][w] / overall(w)).ln(),
                Order::Frex(v) => 1.0 / (v / rank(&exclusive, w) + (1.0 - v) / rank(&p[k], w)),
            };
            let mut all: Vec<usize> = (0..40).collect();
            all.sort_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
            for (found, &expected) in list.iter().zip(&all) {
                let (a, b) = (score(found.word as usize), score(expected));
                assert!((a - b).abs() < 1e-9, "{order:?} {k}: {list:?} and not {all:?}");
                close(&[found.score, found.probability], &[a, p[k][found.word as usize]], "score");
            }
            assert_eq!(list.len(), 12);
        }
    }
    assert_eq!(
        model.ranked_words(Order::Probability, 99).unwrap()[1].iter().map(|w| w.word).collect::<Vec<_>>(),
        model.top_words(99)[1].iter().map(|w| w.word).collect::<Vec<_>>(),
    );
    assert!(model.ranked_words(Order::Relevance(1.5), 3).is_err());
    assert!(model.ranked_words(Order::Frex(f64::NAN), 3).is_err());
}
