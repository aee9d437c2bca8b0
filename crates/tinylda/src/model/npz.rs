//! A model for numpy: an `.npz` file that `numpy.load` reads without pickle.

use std::io::Write;
use std::path::Path;

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::Model;
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::npy::npy_header;

/// An `.npz` file on its way: arrays one after another, not compressed.
pub(crate) struct Npz<'a> {
    zip: ZipWriter<&'a mut AtomicFile>,
}

impl Npz<'_> {
    /// Writes a file of arrays, which appears when it is whole.
    pub(crate) fn save(
        path: &Path,
        fill: impl FnOnce(&mut Npz<'_>) -> zip::result::ZipResult<()>,
    ) -> Result<()> {
        let mut file = AtomicFile::create(path)?;
        let result = Npz::write(&mut file, fill);
        result.map_err(|e| Error::io("write", path)(e.into()))?;
        file.commit()
    }

    fn write(
        file: &mut AtomicFile,
        fill: impl FnOnce(&mut Npz<'_>) -> zip::result::ZipResult<()>,
    ) -> zip::result::ZipResult<()> {
        let mut npz = Npz { zip: ZipWriter::new(file) };
        let filled = fill(&mut npz);
        if filled.is_err() {
            // Dropped unfinished, it would try to finish once more and print what goes wrong. It owns nothing.
            std::mem::forget(npz);
            return filled;
        }
        npz.zip.finish().map(drop)
    }

    /// Begins an array.
    pub(crate) fn begin(&mut self, name: &str, dtype: &str, shape: &str) -> zip::result::ZipResult<()> {
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(format!("{name}.npy"), options)?;
        Ok(self.zip.write_all(&npy_header(dtype, shape))?)
    }

    /// More of it.
    pub(crate) fn floats(&mut self, values: impl IntoIterator<Item = f32>) -> zip::result::ZipResult<()> {
        let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        Ok(self.zip.write_all(&bytes)?)
    }

    /// A whole array of strings, of one width, four bytes a character: the only kind that numpy reads without pickle.
    pub(crate) fn words(&mut self, name: &str, model: &Model) -> zip::result::ZipResult<()> {
        let words = model.words();
        let width = (0..words).map(|w| model.word_name(w).chars().count()).max().unwrap_or(0).max(1);
        self.begin(name, &format!("<U{width}"), &format!("({words},)"))?;
        let mut row = Vec::new();
        for w in 0..words {
            row.clear();
            row.extend(model.word_name(w).chars().flat_map(|c| (c as u32).to_le_bytes()));
            row.resize(4 * width, 0);
            self.zip.write_all(&row)?;
        }
        Ok(())
    }
}

impl Model {
    /// Writes `phi` float32 \[W, K\] (counts, not normalised), `alpha` \[K\], `beta` \[1\] and `vocab` \[W\] (strings).
    pub fn export_npz(&self, path: impl AsRef<Path>) -> Result<()> {
        Npz::save(path.as_ref(), |npz| {
            let (words, topics) = (self.words(), self.topics());
            npz.begin("phi", "<f4", &format!("({words}, {topics})"))?;
            for w in 0..words {
                npz.floats(self.phi(w).iter().copied())?;
            }
            npz.begin("alpha", "<f4", &format!("({topics},)"))?;
            npz.floats(self.alpha.iter().copied())?;
            npz.begin("beta", "<f4", "(1,)")?;
            npz.floats([self.beta()])?;
            npz.words("vocab", self)
        })
    }
}
