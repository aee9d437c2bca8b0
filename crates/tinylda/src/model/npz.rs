//! Exports a model to an `.npz` file that `numpy.load` reads without pickle.
//!
//! [`NpzWriter`] writes any arrays; it is also used by the `export` module.

use std::io::Write;
use std::path::Path;

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::Model;
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::npy::npy_header;

/// Writes the arrays of an `.npz` file one after another, without compression.
pub(crate) struct NpzWriter<'a> {
    zip: ZipWriter<&'a mut AtomicFile>,
}

impl NpzWriter<'_> {
    /// Writes a file whose arrays are written by `fill`. The file appears only when it is complete.
    pub(crate) fn save(
        path: &Path,
        fill: impl FnOnce(&mut NpzWriter<'_>) -> zip::result::ZipResult<()>,
    ) -> Result<()> {
        let mut file = AtomicFile::create(path)?;
        let result = NpzWriter::write(&mut file, fill);
        result.map_err(|e| Error::io("write", path)(e.into()))?;
        file.commit()
    }

    fn write(
        file: &mut AtomicFile,
        fill: impl FnOnce(&mut NpzWriter<'_>) -> zip::result::ZipResult<()>,
    ) -> zip::result::ZipResult<()> {
        let mut npz = NpzWriter { zip: ZipWriter::new(file) };
        let filled = fill(&mut npz);
        if filled.is_err() {
            // Dropping an unfinished `ZipWriter` would try to finish it and print the error. It
            // owns nothing, so forgetting it leaks nothing.
            std::mem::forget(npz);
            return filled;
        }
        npz.zip.finish().map(drop)
    }

    /// Starts an array. `shape` is written as a Python tuple.
    pub(crate) fn begin(&mut self, name: &str, dtype: &str, shape: &str) -> zip::result::ZipResult<()> {
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(format!("{name}.npy"), options)?;
        Ok(self.zip.write_all(&npy_header(dtype, shape))?)
    }

    /// Appends values to the current array.
    pub(crate) fn write_floats(
        &mut self,
        values: impl IntoIterator<Item = f32>,
    ) -> zip::result::ZipResult<()> {
        let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        Ok(self.zip.write_all(&bytes)?)
    }

    /// Writes the words of a model as an array of fixed-width strings, four bytes per character:
    /// the only kind of strings that NumPy reads without pickle.
    pub(crate) fn write_words(&mut self, name: &str, model: &Model) -> zip::result::ZipResult<()> {
        self.write_strings(name, model.words(), |w| model.word_name(w))
    }

    /// Writes the names of topics as the array `topic_names`, if there are any. A topic without a
    /// name has an empty string.
    pub(crate) fn write_topic_names(&mut self, model: &Model) -> zip::result::ZipResult<()> {
        if !model.has_topic_names() {
            return Ok(());
        }
        let name = |k| model.topic_name(k).unwrap_or_default().into();
        self.write_strings("topic_names", model.topics(), name)
    }

    /// Writes an array of fixed-width strings.
    fn write_strings<'s>(
        &mut self,
        name: &str,
        count: u32,
        string: impl Fn(u32) -> std::borrow::Cow<'s, str>,
    ) -> zip::result::ZipResult<()> {
        let width = (0..count).map(|i| string(i).chars().count()).max().unwrap_or(0).max(1);
        self.begin(name, &format!("<U{width}"), &format!("({count},)"))?;
        let mut row = Vec::new();
        for i in 0..count {
            row.clear();
            row.extend(string(i).chars().flat_map(|c| (c as u32).to_le_bytes()));
            row.resize(4 * width, 0);
            self.zip.write_all(&row)?;
        }
        Ok(())
    }
}

impl Model {
    /// Writes the arrays `phi` float32 \[W, K\] (counts, not normalized), `alpha` \[K\], `beta`
    /// \[1\], `vocab` \[W\] (strings) and, if topics have names, `topic_names` \[K\] (strings).
    pub fn export_npz(&self, path: impl AsRef<Path>) -> Result<()> {
        NpzWriter::save(path.as_ref(), |npz| {
            let (words, topics) = (self.words(), self.topics());
            npz.begin("phi", "<f4", &format!("({words}, {topics})"))?;
            for w in 0..words {
                npz.write_floats(self.phi(w).iter().copied())?;
            }
            npz.begin("alpha", "<f4", &format!("({topics},)"))?;
            npz.write_floats(self.alpha.iter().copied())?;
            npz.begin("beta", "<f4", "(1,)")?;
            npz.write_floats([self.beta()])?;
            npz.write_words("vocab", self)?;
            npz.write_topic_names(self)
        })
    }
}
