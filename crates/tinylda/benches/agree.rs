//! Compares the topic proportions of documents at the end of training with those that inference
//! finds with the trained model.
//!
//! ```text
//! cargo bench -p tinylda --bench agree [-- FILE.tlc [K [ALGORITHM ...]]]
//! ```
//!
//! Without a file, a synthetic corpus of 5,000 documents is used. Prints for each algorithm the
//! total variation distance (half the sum of |p - q| over topics) of the two proportions: its mean,
//! median and 95th percentile over documents, and the share of documents with the same largest
//! topic.
#![allow(clippy::unwrap_used, missing_docs)]

use std::ops::ControlFlow;
use std::path::PathBuf;

use tinylda::corpus::Synth;
use tinylda::infer::Mixtures;
use tinylda::{Algorithm, Corpus, Trainer};

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let file = arguments.next().map_or_else(
        || {
            let settings = Synth { documents: 5_000, words: 5_000, topics: 50, ..Synth::default() };
            let file = folder.path().join("synth.tlc");
            let mut synthetic = settings.prepare(&mut |_| ControlFlow::Continue(())).unwrap();
            synthetic.write(&file, &settings.vocabulary(), &mut |_| ControlFlow::Continue(())).unwrap();
            file
        },
        PathBuf::from,
    );
    let k: u32 = arguments.next().map_or(100, |k| k.parse().unwrap());
    let mut algorithms: Vec<Algorithm> = arguments.map(|name| Algorithm::named(&name).unwrap()).collect();
    if algorithms.is_empty() {
        algorithms.push(Algorithm::Tbp);
    }
    let corpus = Corpus::open(&file).unwrap();
    for algorithm in algorithms {
        let trainer = Trainer::new(k).algorithm(algorithm).threads(2);
        let trained = trainer.train_with_theta(&corpus, |_| ControlFlow::Continue(())).unwrap();
        let theta = trained.theta.unwrap();
        let model = &trained.model;
        let alpha: f64 = model.alpha().iter().map(|&a| f64::from(a)).sum();
        let (mut distances, mut same) = (Vec::new(), 0);
        Mixtures::new(model, &corpus)
            .unwrap()
            .threads(2)
            .for_each(
                |mixture, found: &mut Vec<(u64, u64, Vec<f32>)>| {
                    found.push((mixture.number, mixture.tokens, mixture.proportions.to_vec()));
                    Ok(())
                },
                |found| {
                    for (number, tokens, proportions) in found.into_iter().filter(|f| f.1 > 0) {
                        let own = &theta[number as usize * k as usize..][..k as usize];
                        let fit: Vec<f64> = own
                            .iter()
                            .zip(model.alpha())
                            .map(|(&n, &a)| (f64::from(n) + f64::from(a)) / (tokens as f64 + alpha))
                            .collect();
                        let pairs = fit.iter().zip(&proportions);
                        distances.push(pairs.map(|(p, &q)| (p - f64::from(q)).abs()).sum::<f64>() / 2.0);
                        let largest = |p: &[f64]| (0..p.len()).max_by(|&a, &b| p[a].total_cmp(&p[b]));
                        let inferred: Vec<f64> = proportions.iter().map(|&q| f64::from(q)).collect();
                        same += u64::from(largest(&fit) == largest(&inferred));
                    }
                    Ok(())
                },
                &mut |_| ControlFlow::Continue(()),
            )
            .unwrap();
        distances.sort_by(f64::total_cmp);
        println!(
            "{}: K = {k}, {} documents: total variation distance mean {:.4}, median {:.4}, 95th percentile {:.4}; the same largest topic in {:.1}%",
            algorithm.name(),
            distances.len(),
            distances.iter().sum::<f64>() / distances.len() as f64,
            distances[distances.len() / 2],
            distances[distances.len() * 95 / 100],
            100.0 * same as f64 / distances.len() as f64
        );
    }
}
