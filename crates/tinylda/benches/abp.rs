//! Asynchronous belief propagation as the paper's authors wrote it: the reference for accuracy and
//! speed.
//!
//! ```text
//! cargo bench --bench abp -- TRAIN.tlc K PASSES OUT [SEED]
//! ```
//!
//! After passes 10, 20, 50, 100, 200, 300, 500 and the last one, phi \[W, K\] is written to
//! OUT-PASS.npy, and a line of JSON is printed. Messages are stored, K per non-zero (as f32 to save
//! memory; phi, theta and lambda are f64), and subtracted exactly from phi, theta and lambda before
//! each update. Documents are visited in a random order that is drawn once. alpha = 2/K,
//! beta = 0.01. Runs on one thread.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a benchmark")]

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use tinylda::Corpus;
use tinylda::corpus::Block;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [corpus, k, passes, out, seed @ ..] = &arguments[..] else {
        println!("usage: abp TRAIN.tlc K PASSES OUT [SEED]");
        return;
    };
    let (k, passes): (usize, u32) = (k.parse().unwrap(), passes.parse().unwrap());
    let corpus = Corpus::open(Path::new(corpus)).unwrap();
    let (mut documents, mut reader, mut block) = (Vec::new(), corpus.reader(), Block::default());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block).unwrap();
        documents.extend(block.iter().map(|d| (d.words.to_vec(), d.counts.to_vec())));
    }
    let words = corpus.shape().words as usize;
    let (alpha, beta) = (2.0 / k as f64, 0.01);
    let beta_sum = beta * words as f64;
    let mut state: u64 = seed.first().map_or(1, |seed| seed.parse().unwrap());
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(state >> 16) * n as u128) >> 48) as usize
    };
    let nonzeros: usize = documents.iter().map(|(words, _)| words.len()).sum();
    let mut messages = vec![0f32; nonzeros * k];
    let (mut phi, mut theta) = (vec![0f64; words * k], vec![0f64; documents.len() * k]);
    let mut lambda = vec![0f64; k];
    let (mut at, mut starts) = (0, Vec::new());
    for (d, (ids, counts)) in documents.iter().enumerate() {
        starts.push(at);
        for (&w, &x) in ids.iter().zip(counts) {
            let topic = below(k);
            messages[at * k + topic] = 1.0;
            phi[w as usize * k + topic] += f64::from(x);
            theta[d * k + topic] += f64::from(x);
            lambda[topic] += f64::from(x);
            at += 1;
        }
    }
    let mut order: Vec<usize> = (0..documents.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, below(i + 1));
    }
    let mut eta = vec![0f64; k];
    let mut seconds = 0.0;
    for pass in 1..=passes {
        let clock = Instant::now();
        for &d in &order {
            let (ids, counts) = &documents[d];
            let theta = &mut theta[d * k..(d + 1) * k];
            for (i, (&w, &x)) in ids.iter().zip(counts).enumerate() {
                let x = f64::from(x);
                let at = (starts[d] + i) * k;
                let (message, phi) =
                    (&mut messages[at..at + k], &mut phi[w as usize * k..(w as usize + 1) * k]);
                let mut sum = 0.0;
                for j in 0..k {
                    let own = x * f64::from(message[j]);
                    phi[j] -= own;
                    theta[j] -= own;
                    lambda[j] -= own;
                    eta[j] = (phi[j].max(0.0) + beta) / (lambda[j] + beta_sum) * (theta[j].max(0.0) + alpha);
                    sum += eta[j];
                }
                for j in 0..k {
                    message[j] = (eta[j] / sum) as f32;
                    let own = x * f64::from(message[j]);
                    phi[j] += own;
                    theta[j] += own;
                    lambda[j] += own;
                }
            }
        }
        seconds += clock.elapsed().as_secs_f64();
        if [10, 20, 50, 100, 200, 300, 500].contains(&pass) || pass == passes {
            let path = format!("{out}-{pass}.npy");
            let mut head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({words}, {k}), }}");
            head.push_str(&" ".repeat(63 - (head.len() + 10) % 64));
            head.push('\n');
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend((head.len() as u16).to_le_bytes());
            bytes.extend(head.as_bytes());
            bytes.extend(phi.iter().flat_map(|&v| (v.max(0.0) as f32).to_le_bytes()));
            std::fs::File::create(&path).unwrap().write_all(&bytes).unwrap();
            println!(
                "{{\"system\":\"abp\",\"k\":{k},\"iterations\":{pass},\"seconds\":{seconds:.3},\"counts\":\"{path}\"}}"
            );
        }
    }
}
