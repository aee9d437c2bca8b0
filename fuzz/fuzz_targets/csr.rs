//! Any arrays as a sparse matrix, and any bytes as a corpus in memory: read or refused, and what is read can be read to its end.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use tinylda::Corpus;
use tinylda::corpus::{Csr, CsrIndex, CsrValue, Statistics};

/// Reads the whole corpus, and its bytes once more as another corpus.
fn read(corpus: &Corpus) {
    let go_on = &mut |_| ControlFlow::Continue(());
    let first = Statistics::of(corpus, go_on).expect("what was built can be read");
    let bytes = corpus.to_bytes().expect("bytes in memory");
    let again = Corpus::from_bytes(bytes).expect("its own bytes");
    assert_eq!(Statistics::of(&again, go_on).expect("its own bytes"), first);
}

fn matrix<P: CsrIndex, I: CsrIndex, V: CsrValue>(indptr: &[P], indices: &[I], data: &[V], columns: u8) {
    if let Ok(corpus) = Corpus::from_csr(&Csr::new(indptr, indices, data, columns.into())) {
        assert_eq!(corpus.shape().documents + 1, indptr.len() as u64);
        read(&corpus);
    }
}

fuzz_target!(|data: &[u8]| {
    if let Ok(corpus) = Corpus::from_bytes(data) {
        // Blocks are not checked yet, so this may fail; it must not panic.
        let _ = Statistics::of(&corpus, &mut |_| ControlFlow::Continue(()));
    }
    let Some((&[columns, rows], rest)) = data.split_first_chunk() else { return };
    let Some((indptr, rest)) = rest.split_at_checked(usize::from(rows) + 1) else { return };
    // An entry is a column and eight bytes of a value.
    let entries = || rest.chunks_exact(9);
    let bits = |entry: &[u8]| entry[1..].iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
    let indices: Vec<i8> = entries().map(|entry| entry[0] as i8).collect();
    let signed: Vec<i32> = indptr.iter().map(|&p| i32::from(p as i8)).collect();
    let floats: Vec<f64> = entries().map(|entry| f64::from_bits(bits(entry))).collect();
    matrix(&signed, &indices, &floats, columns);
    let small: Vec<u16> = entries().map(|entry| bits(entry) as u16).collect();
    matrix(indptr, &indices, &small, columns);
    let large: Vec<i64> = entries().map(|entry| bits(entry) as i64).collect();
    let wide: Vec<u64> = indptr.iter().map(|&p| p.into()).collect();
    matrix(&wide, &indices, &large, columns);
});
