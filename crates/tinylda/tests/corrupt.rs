//! Damaged files: a file that is truncated at any byte or has any byte changed is an error, and
//! never causes a panic or a wrong number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::ops::ControlFlow;
use std::path::Path;

use common::{fixture, verify};
use tinylda::corpus::Statistics;
use tinylda::{Corpus, Error, Model};

/// Calls `refuse` with every truncation and every changed byte of a fixture, and a description of
/// the damage.
fn every_damage(name: &str, refuse: impl Fn(&[u8], String)) {
    let whole = std::fs::read(fixture(name)).unwrap();
    for cut in 0..whole.len() {
        refuse(&whole[..cut], format!("cut to {cut} bytes"));
    }
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            refuse(&bytes, format!("with byte {at} changed by {flip:#x}"));
        }
    }
    let mut longer = whole.clone();
    longer.push(0);
    refuse(&longer, "with a byte more".into());
    refuse(&[&whole[..], &whole[..]].concat(), "twice".into());
}

/// Calls `read` on a file with every kind of damage. Errors must name the file.
fn damaged_files(name: &str, read: impl Fn(&Path) -> Result<(), Error>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    read(&fixture(name)).unwrap();
    every_damage(name, |bytes, what| {
        std::fs::write(&path, bytes).unwrap();
        match read(&path) {
            Ok(()) => panic!("{name} was accepted {what}"),
            Err(e) => assert!(e.to_string().contains(name), "{e}"),
        }
    });
}

/// Calls `read` on bytes with every kind of damage. Errors must not name a file.
fn damaged_bytes(name: &str, read: impl Fn(&[u8]) -> Result<(), Error>) {
    read(&std::fs::read(fixture(name)).unwrap()).unwrap();
    every_damage(name, |bytes, what| match read(bytes) {
        Ok(()) => panic!("{name} was accepted {what}"),
        Err(e) => assert!(e.to_string().starts_with("<memory>"), "{e}"),
    });
}

fn verify_bytes(bytes: &[u8]) -> Result<(), Error> {
    Statistics::of(&Corpus::from_bytes(bytes)?, &mut |_| ControlFlow::Continue(())).map(drop)
}

#[test]
fn corpus() {
    damaged_files("v1.tlc", |path| verify(path).map(drop));
    damaged_bytes("v1.tlc", verify_bytes);
}

#[test]
fn corpus_with_details() {
    damaged_files("v2.tlc", |path| verify(path).map(drop));
    damaged_bytes("v2.tlc", verify_bytes);
}

#[test]
fn corpus_with_label_columns_dates_and_checksums() {
    damaged_files("v3.tlc", |path| verify(path).map(drop));
    damaged_bytes("v3.tlc", verify_bytes);
}

#[test]
fn model() {
    damaged_files("v1.model", |path| Model::load(path).map(drop));
    damaged_bytes("v1.model", |bytes| Model::from_bytes(bytes).map(drop));
}

#[test]
fn versions_and_kinds_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let mut bytes = std::fs::read(fixture("v1.tlc")).unwrap();
    bytes[8] = 4;
    let crc = crc32fast::hash(&bytes[..12]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let text = verify(&path).unwrap_err().to_string();
    assert!(text.contains("version 4") && text.contains("upgrade tinylda"), "{text}");

    let text = Model::load(fixture("v1.tlc")).unwrap_err().to_string();
    assert!(text.contains("it is a corpus"), "{text}");
    let text = verify(&fixture("v1.model")).unwrap_err().to_string();
    assert!(text.contains("looks like a model"), "{text}");
    let text = verify(&fixture("golden/docword.small.txt")).unwrap_err().to_string();
    assert!(text.contains("import it first"), "{text}");
    let text = verify(Path::new("/no/such/file")).unwrap_err().to_string();
    assert!(text.contains("cannot open /no/such/file") && text.contains("check the name"), "{text}");
    std::fs::write(&path, b"").unwrap();
    assert!(verify(&path).unwrap_err().to_string().contains("it is empty"));
    assert!(Model::load(&path).unwrap_err().to_string().contains("it is empty"));
    assert!(Model::load(folder.path()).unwrap_err().to_string().contains("a folder"));
}
