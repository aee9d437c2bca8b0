//! A model for numpy: an `.npz` file that `numpy.load` reads without pickle.

use std::io::Write;
use std::path::Path;

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::Model;
use crate::error::{Error, Result};
use crate::files::AtomicFile;

/// The head of an array file: numpy's format version 1.0.
pub(crate) fn npy_header(dtype: &str, shape: &str) -> Vec<u8> {
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version and length take 10 bytes; all of it is a multiple of 64 and ends in a line end.
    let padding = 63 - (text.len() + 10) % 64;
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

impl Model {
    /// Writes `phi` float32 \[W, K\] (counts, not normalised), `alpha` \[K\], `beta` \[1\] and `vocab` \[W\] (strings).
    pub fn export_npz(&self, path: &Path) -> Result<()> {
        let mut file = AtomicFile::create(path)?;
        let mut zip = ZipWriter::new(&mut file);
        let mut attempt = || -> zip::result::ZipResult<()> {
            let options =
                SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
            let (words, topics) = (self.words(), self.topics());
            zip.start_file("phi.npy", options)?;
            zip.write_all(&npy_header("<f4", &format!("({words}, {topics})")))?;
            let mut row = Vec::new();
            for w in 0..words {
                row.clear();
                row.extend(self.phi(w).iter().flat_map(|v| v.to_le_bytes()));
                zip.write_all(&row)?;
            }
            zip.start_file("alpha.npy", options)?;
            zip.write_all(&npy_header("<f4", &format!("({topics},)")))?;
            for v in &self.alpha {
                zip.write_all(&v.to_le_bytes())?;
            }
            zip.start_file("beta.npy", options)?;
            zip.write_all(&npy_header("<f4", "(1,)"))?;
            zip.write_all(&self.beta().to_le_bytes())?;
            // Strings of one width, four bytes a character: the only kind that numpy reads without pickle.
            let width = (0..words).map(|w| self.word_name(w).chars().count()).max().unwrap_or(0).max(1);
            zip.start_file("vocab.npy", options)?;
            zip.write_all(&npy_header(&format!("<U{width}"), &format!("({words},)")))?;
            for w in 0..words {
                row.clear();
                row.extend(self.word_name(w).chars().flat_map(|c| (c as u32).to_le_bytes()));
                row.resize(4 * width, 0);
                zip.write_all(&row)?;
            }
            Ok(())
        };
        let result = match attempt() {
            Ok(()) => zip.finish().map(drop),
            Err(e) => {
                // Dropped unfinished, it would try to finish once more and print what goes wrong. It owns nothing.
                std::mem::forget(zip);
                Err(e)
            }
        };
        result.map_err(|e| Error::io("write", path)(e.into()))?;
        file.commit()
    }
}
