//! Any bytes as a file of seed words.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tinylda::{Seeds, Vocabulary};

fuzz_target!(|data: &[u8]| {
    if let Ok(seeds) = Seeds::of_bytes(data.to_vec(), Path::new("seeds")) {
        let _ = seeds.unknown(&Vocabulary::new());
        assert!(seeds.names().all(|(_, name)| !name.is_empty()));
    }
});
