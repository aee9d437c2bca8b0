//! Reads and writes models as safetensors files, or as the same bytes in memory. `docs/FORMAT.md`
//! is normative.
//!
//! Start reading at [`ModelWriter`] and [`ModelReader`]. This module must not know how topics are
//! trained or used.
//!
//! The file is written as a stream, so that there is no second copy of phi. A checksum covers every
//! byte, which safetensors itself does not provide: the eight digits of `crc32` in the metadata are
//! the CRC-32 of the file with these digits set to 0.

use std::path::Path;

use safetensors::tensor::{Dtype, Metadata};
use serde::Serialize;

use super::{Model, TrainingRecord};
use crate::corpus::{Corpus, MAGIC, Vocabulary};
use crate::error::{Error, Position, Result};
use crate::files::{AtomicFile, ByteSink, ByteSource, ChecksumWriter, MEMORY, open_regular};
use crate::memory;
use crate::simd::{LANES, flat_mut};
use crate::topics::{Topics, stride};

const FORMAT: &str = "tinylda-model";
const VERSION: u32 = 1;
const CRC_KEY: &[u8] = b"\"crc32\":\"";
/// Longest accepted header in bytes, the limit of the safetensors crate. A longer header is
/// invalid.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// The JSON header of the file. The order of the fields is the order of the tensors in the file.
#[derive(Serialize)]
struct SafetensorsHeader {
    #[serde(rename = "__metadata__")]
    metadata: HeaderMetadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    vocabulary_offsets: Option<TensorHeader>,
    phi: TensorHeader,
    alpha: TensorHeader,
    beta: TensorHeader,
    #[serde(skip_serializing_if = "Option::is_none")]
    vocabulary: Option<TensorHeader>,
}

/// The free-form metadata of the header.
#[derive(Serialize)]
struct HeaderMetadata {
    crc32: String,
    format: &'static str,
    version: String,
    settings: String,
}

/// Description of a tensor in the header. Offsets are relative to the end of the header.
#[derive(Serialize)]
struct TensorHeader {
    dtype: &'static str,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// Writes floats in little-endian byte order.
fn write_floats(out: &mut ChecksumWriter<impl ByteSink>, values: &[f32]) -> Result<()> {
    let mut bytes = [0; 4096];
    for chunk in values.chunks(1024) {
        for (to, v) in bytes.chunks_exact_mut(4).zip(chunk) {
            to.copy_from_slice(&v.to_le_bytes());
        }
        out.put(&bytes[..4 * chunk.len()])?;
    }
    Ok(())
}

/// The dimensions of a model, from which its memory is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelSize {
    /// Number of words.
    pub words: u32,
    /// Number of topics.
    pub topics: u32,
    /// Total length of all words in bytes.
    pub vocabulary_bytes: u64,
}

impl ModelSize {
    /// Reads the size of a model from the header of its file, without reading the tensors.
    pub fn of_file(path: impl AsRef<Path>) -> Result<ModelSize> {
        let path = path.as_ref();
        let (file, length) = open_regular(path, "model")?;
        ModelReader { source: ByteSource::File { file: &file, path }, length }.read_size()
    }

    /// Returns the size of a model with `topics` topics that is trained on a corpus.
    pub fn of_training(corpus: &Corpus, topics: u32) -> ModelSize {
        ModelSize { words: corpus.shape().words, topics, vocabulary_bytes: corpus.vocabulary_text_bytes() }
    }

    /// Returns the size of a model in memory.
    pub(crate) fn of_model(model: &Model) -> ModelSize {
        let text = model.vocabulary().map_or(0, |vocabulary| vocabulary.parts().0.len());
        ModelSize { words: model.words(), topics: model.topics(), vocabulary_bytes: text as u64 }
    }

    /// Returns the memory of the model in bytes, including the buffers for loading it.
    pub fn memory_bytes(&self) -> u64 {
        // The offsets of the words are read before they are converted.
        self.loaded_bytes().saturating_add(self.offset_bytes()).saturating_add(1 << 20)
    }

    /// Returns the memory of the model in bytes once it is loaded.
    pub(crate) fn loaded_bytes(&self) -> u64 {
        let (words, row) = (u64::from(self.words), stride(self.topics) as u64 * 4 * LANES as u64);
        let rows = words.saturating_add(4).saturating_mul(row);
        rows.saturating_add(self.vocabulary_bytes).saturating_add(self.offset_bytes())
    }

    /// Returns the size in bytes of the words' offsets in the vocabulary.
    fn offset_bytes(&self) -> u64 {
        if self.vocabulary_bytes > 0 { u64::from(self.words).saturating_mul(8) } else { 0 }
    }
}

/// Writes a model whose phi is supplied row by row, so that phi need not be in memory.
#[derive(Debug)]
pub(crate) struct ModelWriter<'a> {
    pub(crate) words: u32,
    pub(crate) alpha: &'a [f32],
    pub(crate) beta: f32,
    pub(crate) vocabulary: Option<&'a Vocabulary>,
    pub(crate) training: &'a TrainingRecord,
}

impl ModelWriter<'_> {
    /// Writes a model file atomically: it appears under its name only when it is complete.
    ///
    /// `phi(w, row)` fills the row of word `w`; it is called for all words in ascending order.
    pub(crate) fn save(&self, path: &Path, phi: impl FnMut(u32, &mut [f32]) -> Result<()>) -> Result<()> {
        let (header, _) = self.header().map_err(|e| Error::io("write", path)(e.into()))?;
        self.write(AtomicFile::create(path)?, &header, phi)?.commit()
    }

    /// Returns the header, padded to a multiple of 8 bytes and with a checksum of zeros, and the
    /// number of bytes that follow it.
    fn header(&self) -> serde_json::Result<(Vec<u8>, u64)> {
        let (words, topics) = (u64::from(self.words), self.alpha.len() as u64);
        let mut end = 0u64;
        let mut tensor = |dtype, shape: Vec<u64>, bytes_each: u64| {
            let start = end;
            end += shape.iter().product::<u64>() * bytes_each;
            TensorHeader { dtype, shape, data_offsets: (start, end) }
        };
        let strings = self.vocabulary.map(Vocabulary::parts);
        let header = SafetensorsHeader {
            metadata: HeaderMetadata {
                crc32: "00000000".into(),
                format: FORMAT,
                version: VERSION.to_string(),
                settings: serde_json::to_string(self.training)?,
            },
            vocabulary_offsets: strings.map(|_| tensor("U64", vec![words + 1], 8)),
            phi: tensor("F32", vec![words, topics], 4),
            alpha: tensor("F32", vec![topics], 4),
            beta: tensor("F32", vec![1], 4),
            vocabulary: strings.map(|(text, _)| tensor("U8", vec![text.len() as u64], 1)),
        };
        let mut header = serde_json::to_vec(&header)?;
        header.resize(header.len().next_multiple_of(8), b' ');
        Ok((header, end))
    }

    /// Writes the whole file to `out`, then patches the checksum into the header.
    fn write<S: ByteSink>(
        &self,
        out: S,
        header: &[u8],
        mut phi: impl FnMut(u32, &mut [f32]) -> Result<()>,
    ) -> Result<S> {
        let strings = self.vocabulary.map(Vocabulary::parts);
        let mut out = ChecksumWriter::new(out);
        out.put(&(header.len() as u64).to_le_bytes())?;
        out.put(header)?;
        if let Some((_, ends)) = strings {
            out.put(&0u64.to_le_bytes())?;
            for end in ends {
                out.put(&end.to_le_bytes())?;
            }
        }
        let mut row = vec![0.0; self.alpha.len()];
        for w in 0..self.words {
            phi(w, &mut row)?;
            write_floats(&mut out, &row)?;
        }
        write_floats(&mut out, self.alpha)?;
        write_floats(&mut out, &[self.beta])?;
        if let Some((text, _)) = strings {
            out.put(text.as_bytes())?;
        }
        let crc = out.checksum();
        let mut out = out.into_inner();
        let digits = find_crc_digits(header).unwrap_or_default();
        out.patch(8 + digits as u64, format!("{crc:08x}").as_bytes())?;
        Ok(out)
    }
}

impl TrainingRecord {
    /// Reads the record of a model file and verifies the checksum of the whole file, without
    /// holding the model in memory.
    pub fn of_file(path: impl AsRef<Path>) -> Result<TrainingRecord> {
        let path = path.as_ref();
        let (file, length) = open_regular(path, "model")?;
        let header = ModelReader { source: ByteSource::File { file: &file, path }, length }.header()?;
        Ok(header.training)
    }
}

impl Model {
    fn writer(&self) -> ModelWriter<'_> {
        ModelWriter {
            words: self.words(),
            alpha: &self.alpha,
            beta: self.beta(),
            vocabulary: self.vocabulary.as_ref(),
            training: &self.training,
        }
    }

    /// Writes the model to a file atomically: it appears under its name only when it is complete.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.writer().save(path.as_ref(), |w, row| {
            row.copy_from_slice(self.phi(w));
            Ok(())
        })
    }

    /// Returns the bytes of the file that [`save`](Model::save) writes.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use tinylda::{CorpusBuilder, Model, Trainer};
    /// # let mut builder = CorpusBuilder::new();
    /// # builder.add_document(&[(0, 2), (1, 1)])?;
    /// # let corpus = builder.build()?;
    /// let model = Trainer::new(2).passes(5).train(&corpus, |_| ControlFlow::Continue(()))?.model;
    /// let bytes = model.to_bytes()?;
    /// assert_eq!(Model::from_bytes(&bytes)?, model);
    /// # Ok::<(), tinylda::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let writer = self.writer();
        let (header, data) = writer.header().map_err(|e| Error::io("write", Path::new(MEMORY))(e.into()))?;
        let fill = |w, row: &mut [f32]| {
            row.copy_from_slice(self.phi(w));
            Ok(())
        };
        writer.write(memory::try_with_capacity(8 + header.len() as u64 + data)?, &header, fill)
    }

    /// Reads a model file and verifies its checksum.
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let (file, length) = open_regular(path, "model")?;
        ModelReader { source: ByteSource::File { file: &file, path }, length }.read_model()
    }

    /// Reads a model from the bytes of a model file, with the same checks as [`load`](Model::load).
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        ModelReader { source: ByteSource::Memory(bytes), length: bytes.len() as u64 }.read_model()
    }
}

/// Returns the position of the checksum's digits in the header.
fn find_crc_digits(header: &[u8]) -> Option<usize> {
    memchr::memmem::find(header, CRC_KEY).map(|at| at + CRC_KEY.len()).filter(|at| at + 8 < header.len())
}

/// Reads and validates a model from a file or from memory.
struct ModelReader<'a> {
    source: ByteSource<'a>,
    length: u64,
}

/// The parsed header of a model.
struct ParsedHeader {
    tensors: Metadata,
    training: TrainingRecord,
    /// Position of the first byte after the header.
    data: u64,
}

/// The shape of a tensor and its byte range in the file: `start` inclusive, `end` exclusive.
struct TensorSpan {
    shape: Vec<usize>,
    start: u64,
    end: u64,
}

impl ModelReader<'_> {
    fn damaged(&self, byte: u64, found: impl Into<String>) -> Error {
        Error::damaged_model(self.source.origin(), Position::Byte(byte), found)
    }

    fn read_bytes(&self, start: u64, end: u64) -> Result<Vec<u8>> {
        let length =
            end.checked_sub(start).filter(|_| end <= self.length).and_then(|n| usize::try_from(n).ok());
        let mut bytes = vec![0; length.ok_or_else(|| self.damaged(self.length, "it is cut short"))?];
        self.read_into(&mut bytes, start)?;
        Ok(bytes)
    }

    fn read_into(&self, buffer: &mut [u8], start: u64) -> Result<()> {
        self.source.read_exact_at(buffer, start).map_err(Error::io("read", self.source.origin()))
    }

    fn read_floats(&self, start: u64, end: u64) -> Result<Vec<f32>> {
        let bytes = self.read_bytes(start, end)?;
        Ok(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect())
    }

    fn wrong_kind(&self, start: &[u8]) -> Error {
        let hint = if start.starts_with(&MAGIC) {
            "it is a corpus; train a model on it first"
        } else if self.length == 0 {
            "it is empty"
        } else {
            ""
        };
        Error::WrongKind { path: self.source.origin().to_path_buf(), kind: "model", hint: hint.into() }
    }

    /// Reads the header and checks that its tensors fill the file exactly. Returns the bytes of the
    /// header and the parsed header.
    fn read_tensors(&self) -> Result<(Vec<u8>, Metadata)> {
        let start = self.read_bytes(0, self.length.min(9))?;
        if start.get(8) != Some(&b'{') {
            return Err(self.wrong_kind(&start));
        }
        let header_length = u64::from_le_bytes(std::array::from_fn(|i| start[i]));
        if header_length > MAX_HEADER_BYTES || header_length > self.length - 8 {
            return Err(self.damaged(0, "its header is longer than the file"));
        }
        let data = 8 + header_length;
        let header = self.read_bytes(8, data)?;
        let tensors: Metadata = serde_json::from_slice(&header)
            .map_err(|e| self.damaged(8, format!("its header cannot be read ({e})")))?;
        if data + tensors.data_len() as u64 != self.length {
            return Err(self.damaged(self.length, "its length does not match its header"));
        }
        let format = tensors.metadata().as_ref().and_then(|metadata| metadata.get("format"));
        if format.map(String::as_str) != Some(FORMAT) {
            return Err(self.wrong_kind(&start));
        }
        Ok((header, tensors))
    }

    /// Reads the dimensions from the header.
    fn read_size(&self) -> Result<ModelSize> {
        let (_, tensors) = self.read_tensors()?;
        let length = |name: &str, at: usize| tensors.info(name).and_then(|info| info.shape.get(at).copied());
        let number = |at: usize| length("phi", at).and_then(|n| u32::try_from(n).ok());
        let (words, topics) = number(0)
            .zip(number(1))
            .ok_or_else(|| self.damaged(8, "the tensor phi is missing or has a wrong type"))?;
        Ok(ModelSize { words, topics, vocabulary_bytes: length("vocabulary", 0).unwrap_or(0) as u64 })
    }

    /// Reads the header, verifies the checksum of the file and checks the version.
    fn header(&self) -> Result<ParsedHeader> {
        let (header, tensors) = self.read_tensors()?;
        let data = 8 + header.len() as u64;
        let empty = std::collections::HashMap::new();
        let metadata = tensors.metadata().as_ref().unwrap_or(&empty);
        self.verify_checksum(&header, metadata.get("crc32"))?;
        let version: u32 = metadata
            .get("version")
            .and_then(|v| v.parse().ok())
            .ok_or_else(|| self.damaged(8, "its version is missing"))?;
        if version != VERSION {
            return Err(Error::Version {
                path: self.source.origin().to_path_buf(),
                kind: "model",
                found: version,
                supported: VERSION,
            });
        }
        let training = serde_json::from_str(metadata.get("settings").map_or("", String::as_str))
            .map_err(|e| self.damaged(8, format!("its settings cannot be read ({e})")))?;
        Ok(ParsedHeader { tensors, training, data })
    }

    /// Returns the tensor of this name, or an error unless it has the given type and rank.
    fn find_tensor(
        &self,
        header: &ParsedHeader,
        name: &str,
        dtype: Dtype,
        rank: usize,
    ) -> Result<TensorSpan> {
        let info = header.tensors.info(name).filter(|t| t.dtype == dtype && t.shape.len() == rank);
        let info =
            info.ok_or_else(|| self.damaged(8, format!("the tensor {name} is missing or has a wrong type")))?;
        let (from, to) = info.data_offsets;
        Ok(TensorSpan {
            shape: info.shape.clone(),
            start: header.data + from as u64,
            end: header.data + to as u64,
        })
    }

    /// Reads the whole model.
    fn read_model(&self) -> Result<Model> {
        let header = self.header()?;
        let phi = self.find_tensor(&header, "phi", Dtype::F32, 2)?;
        let too_large = || self.damaged(8, "phi has more than 4294967294 words or topics");
        let words = u32::try_from(phi.shape[0]).map_err(|_| too_large())?;
        let count = u32::try_from(phi.shape[1]).map_err(|_| too_large())?;
        let span = self.find_tensor(&header, "alpha", Dtype::F32, 1)?;
        let alpha = self.read_floats(span.start, span.end)?;
        let alpha_fits = span.shape[0] == count as usize;
        let span = self.find_tensor(&header, "beta", Dtype::F32, 1)?;
        let beta = self.read_floats(span.start, span.end)?;
        let valid = count > 0
            && alpha_fits
            && alpha.iter().chain(&beta).all(|&v| v > 0.0 && v.is_finite())
            && beta.len() == 1;
        if !valid {
            return Err(self.damaged(span.start, "alpha or beta does not match phi or is not positive"));
        }
        let mut topics = Topics::new(words, count, &alpha, beta[0])?;
        self.read_phi(phi.start, count, &mut topics)?;
        let vocabulary = if header.tensors.info("vocabulary").is_some() {
            let offsets = self.find_tensor(&header, "vocabulary_offsets", Dtype::U64, 1)?;
            let text = self.find_tensor(&header, "vocabulary", Dtype::U8, 1)?;
            let (fits, at) = (offsets.shape[0] == words as usize + 1, offsets.start);
            let offsets = self.read_bytes(offsets.start, offsets.end)?;
            let offsets = offsets.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
            Some(self.build_vocabulary(fits, offsets, self.read_bytes(text.start, text.end)?, at)?)
        } else {
            None
        };
        Ok(Model::new(topics, alpha, vocabulary, header.training))
    }

    /// Reads phi, about 1 MiB at a time: one read per row would take longer than the conversion.
    fn read_phi(&self, start: u64, count: u32, topics: &mut Topics) -> Result<()> {
        let row_bytes = u64::from(count) * 4;
        let rows_at_once = ((1 << 20) / row_bytes).max(1);
        let words = u64::from(topics.words());
        for first in (0..words).step_by(rows_at_once as usize) {
            let (from, rows) = (start + first * row_bytes, rows_at_once.min(words - first));
            let values = self.read_floats(from, from + rows * row_bytes)?;
            for (w, row) in (first as u32..).zip(values.chunks_exact(count as usize)) {
                if !row.iter().all(|v| v.is_finite() && *v >= 0.0) {
                    return Err(self.damaged(
                        from,
                        format!("phi of word {} has a value that is not a valid count", u64::from(w) + 1),
                    ));
                }
                flat_mut(topics.phi.row_mut(w))[..row.len()].copy_from_slice(row);
            }
        }
        Ok(())
    }

    /// Builds the vocabulary. `fits` says whether the number of offsets matches phi; `at` is the
    /// position of the offsets, for errors.
    fn build_vocabulary(
        &self,
        fits: bool,
        mut offsets: Vec<u64>,
        text: Vec<u8>,
        at: u64,
    ) -> Result<Vocabulary> {
        let bad = || self.damaged(at, "the vocabulary does not match phi");
        let text = String::from_utf8(text).map_err(|_| bad())?;
        let valid = fits
            && offsets.first() == Some(&0)
            && offsets.last() == Some(&(text.len() as u64))
            && offsets.windows(2).all(|w| w[0] <= w[1])
            && offsets.iter().all(|&o| text.is_char_boundary(o as usize));
        if !valid {
            return Err(bad());
        }
        offsets.remove(0);
        Ok(Vocabulary::from_parts(text, offsets))
    }

    /// Computes the checksum of all bytes and compares it with the one in the header.
    fn verify_checksum(&self, header: &[u8], written: Option<&String>) -> Result<()> {
        let digits = find_crc_digits(header).ok_or_else(|| self.damaged(8, "its checksum is missing"))?;
        let mut cleared = header.to_vec();
        cleared[digits..digits + 8].fill(b'0');
        let mut crc = crc32fast::Hasher::new();
        crc.update(&(header.len() as u64).to_le_bytes());
        crc.update(&cleared);
        let mut position = 8 + header.len() as u64;
        let mut buffer = Vec::new();
        while position < self.length {
            let n = (self.length - position).min(1 << 18);
            let bytes = self.source.read_slice(position, n as usize, &mut buffer);
            crc.update(bytes.map_err(Error::io("read", self.source.origin()))?);
            position += n;
        }
        let found = format!("{:08x}", crc.finalize());
        if written != Some(&found) || header[digits..digits + 8] != *found.as_bytes() {
            return Err(
                self.damaged(8 + digits as u64, "its checksum is wrong, so a byte has changed or is missing")
            );
        }
        Ok(())
    }
}
