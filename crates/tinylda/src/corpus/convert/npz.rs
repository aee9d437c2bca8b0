//! Export of a corpus as a SciPy sparse matrix (feature `npz`).

use std::io::Write;
use std::path::Path;

use zip::CompressionMethod;
use zip::result::ZipResult;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::for_each_block;
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::npy::npy_header;
use crate::progress::{Progress, ProgressCallback, Step};

/// Writes the corpus as a CSR matrix in an npz archive.
///
/// Makes three passes over the corpus, one for each array, so that no array is held in memory.
pub(super) fn write_npz(corpus: &Corpus, path: &Path, progress: ProgressCallback<'_>) -> Result<()> {
    let shape = corpus.shape();
    let mut file = AtomicFile::create(path)?;
    let mut zip = ZipWriter::new(&mut file);
    let wide = shape.nonzeros > i32::MAX as u64 || u64::from(shape.words) > i32::MAX as u64;
    let index = if wide { "<i8" } else { "<i4" };
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let result = {
        let begin =
            |zip: &mut ZipWriter<&mut AtomicFile>, name: &str, dtype: &str, shape: &str| -> ZipResult<()> {
                zip.start_file(format!("{name}.npy"), options)?;
                Ok(zip.write_all(&npy_header(dtype, shape))?)
            };
        let failed = |e: zip::result::ZipError| Error::io("write", path)(e.into());
        let mut attempt = || -> Result<()> {
            let mut bytes = Vec::new();
            let (mut end, mut largest) = (0u64, 0u32);
            let total = 3 * corpus.blocks() as u64;
            let mut done = 0u64;
            let mut step = |_: Progress| {
                done += 1;
                progress(Step::Blocks.at(done, total))
            };
            let put = |bytes: &mut Vec<u8>, n: u64, wide: bool| {
                bytes.extend_from_slice(&n.to_le_bytes()[..if wide { 8 } else { 4 }]);
            };
            begin(&mut zip, "indptr", index, &format!("({},)", shape.documents + 1)).map_err(failed)?;
            put(&mut bytes, 0, wide);
            for_each_block(corpus, &mut step, &mut |block, _| {
                for document in block.iter() {
                    end += document.words.len() as u64;
                    put(&mut bytes, end, wide);
                }
                largest = block.counts.iter().copied().max().unwrap_or(0).max(largest);
                zip.write_all(&bytes).map_err(Error::io("write", path))?;
                bytes.clear();
                Ok(())
            })?;
            zip.write_all(&bytes).map_err(Error::io("write", path))?;
            let values = if largest > i32::MAX as u32 { "<i8" } else { "<i4" };
            for (name, dtype) in [("indices", index), ("data", values)] {
                begin(&mut zip, name, dtype, &format!("({},)", shape.nonzeros)).map_err(failed)?;
                for_each_block(corpus, &mut step, &mut |block, _| {
                    bytes.clear();
                    let list = if name == "data" { &block.counts } else { &block.words };
                    for &n in list {
                        put(&mut bytes, u64::from(n), dtype == "<i8");
                    }
                    zip.write_all(&bytes).map_err(Error::io("write", path))
                })?;
            }
            begin(&mut zip, "shape", "<i8", "(2,)").map_err(failed)?;
            for n in [shape.documents, u64::from(shape.words)] {
                zip.write_all(&n.to_le_bytes()).map_err(Error::io("write", path))?;
            }
            begin(&mut zip, "format", "|S3", "()").map_err(failed)?;
            zip.write_all(b"csr").map_err(Error::io("write", path))
        };
        attempt()
    };
    match result {
        Ok(()) => zip.finish().map(drop).map_err(|e| Error::io("write", path)(e.into()))?,
        Err(e) => {
            // Dropping the unfinished writer would try to finish the archive and print the error.
            // It owns nothing, so nothing leaks.
            std::mem::forget(zip);
            return Err(e);
        }
    }
    file.commit()
}
