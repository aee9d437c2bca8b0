//! Any bytes as a vocabulary file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinylda::Vocabulary;

fuzz_target!(|data: &[u8]| {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), data).expect("written");
    if let Ok(vocabulary) = Vocabulary::read(file.path()) {
        assert!(!vocabulary.is_empty());
        assert_eq!(vocabulary.ids().len(), vocabulary.len());
    }
});
