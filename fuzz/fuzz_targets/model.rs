//! Any bytes as a model file. The checksum is put right first, so that what lies behind it is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tinylda::Model;

fn put_right(bytes: &mut [u8]) -> Option<()> {
    let key = b"\"crc32\":\"";
    let digits = bytes.windows(key.len()).position(|w| w == key)? + key.len();
    bytes.get_mut(digits..digits + 8)?.fill(b'0');
    let crc = format!("{:08x}", crc32fast::hash(bytes));
    bytes[digits..digits + 8].copy_from_slice(crc.as_bytes());
    Some(())
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    let _ = put_right(&mut bytes);
    if let Ok(model) = Model::from_bytes(&bytes) {
        let _ = model.top_words(3);
        let bytes = model.to_bytes().expect("what loads can be saved");
        Model::from_bytes(&bytes).expect("and loads again");
    }
});
