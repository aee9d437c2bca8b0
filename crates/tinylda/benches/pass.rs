//! Measures a pass of sTBP, BP or asynchronous BP as shipped (f32) against a transcription of the
//! paper's loop (f64), on one thread each, in alternating runs.
//!
//! ```text
//! cargo bench -p tinylda --bench pass [-- FILE.tlc [K [stbp|bp|abp]]]
//! ```
//!
//! Without a file, a synthetic corpus of 5,000 documents is used. Prints the seconds per pass of
//! both and their ratio. Fails if their perplexities differ.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../tests/common/reference.rs"]
mod reference;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use reference::Reference;
use tinylda::corpus::Block;
use tinylda::corpus::Synth;
use tinylda::{Algorithm, Corpus, Event, Trainer};

const ROUNDS: usize = 5;
const PASSES: u32 = 4;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let file = arguments.next().map_or_else(
        || {
            let settings = Synth {
                documents: 5_000,
                words: 10_000,
                topics: 100,
                mean_length: 175.0,
                ..Synth::default()
            };
            let file = folder.path().join("synth.tlc");
            settings
                .prepare(&mut |_| ControlFlow::Continue(()))
                .unwrap()
                .write(&file, &settings.vocabulary(), &mut |_| ControlFlow::Continue(()))
                .unwrap();
            file
        },
        PathBuf::from,
    );
    let k: u32 = arguments.next().map_or(100, |k| k.parse().unwrap());
    let algorithm = arguments.next().map_or(Algorithm::Stbp, |name| Algorithm::named(&name).unwrap());
    let corpus = Corpus::open(&file).unwrap();
    let shape = corpus.shape();
    let (mut reader, mut block, mut entries) = (corpus.reader(), Block::default(), Vec::new());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block).unwrap();
        for (d, document) in block.iter().enumerate() {
            let d = block.first_document() as usize + d;
            entries.extend(
                document.words.iter().zip(document.counts).map(|(&w, &x)| (d, w as usize, f64::from(x))),
            );
        }
    }
    let start: Vec<u32> =
        (0..entries.len() as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u32 % k).collect();
    let whole: Vec<usize> = start.iter().map(|&t| t as usize).collect();
    let alpha = 2.0 / f64::from(k);
    println!("{} documents, {} non-zeros, K = {k}", shape.documents, shape.nonzeros);

    let (mut ratios, mut ours_best, mut theirs_best) = (Vec::new(), f64::MAX, f64::MAX);
    for round in 0..ROUNDS {
        let mut plain = Reference::new(
            shape.documents as usize,
            shape.words as usize,
            k as usize,
            alpha,
            0.01,
            entries.clone(),
            &whole,
        );
        let order: Vec<usize> = (0..shape.documents as usize).collect();
        if algorithm != Algorithm::Stbp {
            plain = plain.with_messages(&whole);
        }
        let clock = Instant::now();
        for _ in 0..PASSES {
            match algorithm {
                Algorithm::Abp => plain.asynchronous_bp_pass(&order),
                Algorithm::Bp => plain.synchronous_bp_pass(),
                _ => plain.synchronous_pass(),
            }
        }
        let theirs = clock.elapsed().as_secs_f64() / f64::from(PASSES);
        let mut seconds = Vec::new();
        let mut trainer =
            Trainer::new(k).algorithm(algorithm).start(start.clone()).passes(PASSES + 1).tolerance(0.0);
        if algorithm == Algorithm::Abp {
            trainer = trainer.order((0..shape.documents).collect());
        }
        let mut perplexity = 0.0;
        trainer
            .train(&corpus, |event| {
                let Event::Pass(report) = event else { return ControlFlow::Continue(()) };
                // Excludes the time of a training perplexity that is computed separately.
                seconds.push(shape.documents as f64 / report.documents_per_second);
                if report.pass == PASSES {
                    perplexity = report.train_perplexity;
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        let ours = seconds[1..].iter().sum::<f64>() / f64::from(PASSES);
        let expected = plain.training_perplexity();
        assert!((perplexity / expected - 1.0).abs() < 1e-4, "{perplexity} against {expected}");
        ratios.push(theirs / ours);
        (ours_best, theirs_best) = (ours_best.min(ours), theirs_best.min(theirs));
        println!(
            "round {}: plain f64 {theirs:.4} s, shipped f32 {ours:.4} s per pass, ratio {:.2}",
            round + 1,
            theirs / ours
        );
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "median ratio {:.2} (from {:.2} to {:.2}); best {theirs_best:.4} s and {ours_best:.4} s; {:.2} G multiply-adds/s",
        ratios[ROUNDS / 2],
        ratios[0],
        ratios[ROUNDS - 1],
        3.0 * shape.nonzeros as f64 * f64::from(k) / ours_best / 1e9
    );
}
