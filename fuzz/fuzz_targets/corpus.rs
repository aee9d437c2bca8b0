//! Any bytes as a corpus file. The checksums are put right first, as far as they can be found, so that what lies behind
//! them is reached.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use tinylda::Corpus;
use tinylda::corpus::Statistics;

fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + length)?;
    usize::try_from(bytes.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b))).ok()
}

fn set(bytes: &mut [u8], at: usize, from: usize, to: usize) -> Option<()> {
    let crc = crc32fast::hash(bytes.get(from..to)?);
    bytes.get_mut(at..at + 4)?.copy_from_slice(&crc.to_le_bytes());
    Some(())
}

fn put_right(bytes: &mut [u8]) -> Option<()> {
    let footer = bytes.len().checked_sub(80)?;
    set(bytes, 12, 0, 12)?;
    let blocks = number(bytes, footer + 24, 8)?;
    let vocabulary = number(bytes, footer + 32, 8)?;
    let words = number(bytes, footer + 40, 4)?;
    let parts = match number(bytes, 8, 4)? {
        1 => 1,
        2 => 3,
        _ => 6,
    };
    let entry_bytes = 40 + 8 * parts;
    let index = footer.checked_sub(blocks.checked_mul(entry_bytes)?)?;
    let about_at = index.checked_sub(number(bytes, footer + 60, 4)?)?;
    let vocabulary_at = about_at.checked_sub(vocabulary)?;
    let words_at = vocabulary_at.checked_sub(words.checked_mul(16)?)?;
    for entry in (index..footer).step_by(entry_bytes) {
        let (offset, length) = (number(bytes, entry, 8)?, number(bytes, entry + 32, 4)?);
        let mut end = offset.checked_add(length)?;
        let _ = set(bytes, entry + 36, offset, end);
        for part in 0..parts {
            let at = entry + 40 + 8 * part;
            let from = end;
            end = end.checked_add(number(bytes, at, 4)?)?;
            let _ = set(bytes, at + 4, from, end);
        }
    }
    set(bytes, footer + 48, words_at, vocabulary_at)?;
    set(bytes, footer + 52, vocabulary_at, about_at)?;
    if about_at < index {
        set(bytes, footer + 64, about_at, index)?;
    }
    set(bytes, footer + 56, index, footer)?;
    set(bytes, footer + 68, footer, footer + 68)
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    let _ = put_right(&mut bytes);
    if let Ok(corpus) = Corpus::from_bytes(bytes) {
        let _ = Statistics::of(&corpus, &mut |_| ControlFlow::Continue(()));
    }
});
