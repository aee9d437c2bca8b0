//! A model as a safetensors file. `docs/FORMAT.md` is normative.
//!
//! The file is written as a stream, so phi is never held twice, and with a checksum over every byte, which safetensors
//! itself does not have: the eight digits of `crc32` in the metadata are the CRC-32 of the file with these digits 0.

use std::fs::File;
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata};
use serde::Serialize;

use super::{Model, TrainingRecord};
use crate::corpus::{MAGIC, Vocabulary};
use crate::error::{Error, Position, Result};
use crate::files::{AtomicFile, Summed, open_regular, read_at};
use crate::simd::flat_mut;
use crate::topics::Topics;

const FORMAT: &str = "tinylda-model";
const VERSION: u32 = 1;
const CRC_KEY: &[u8] = b"\"crc32\":\"";
/// As in the safetensors crate: a longer header is no honest one.
const LONGEST_HEADER: u64 = 100_000_000;

#[derive(Serialize)]
struct Header {
    #[serde(rename = "__metadata__")]
    metadata: HeaderMetadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    vocabulary_offsets: Option<Tensor>,
    phi: Tensor,
    alpha: Tensor,
    beta: Tensor,
    #[serde(skip_serializing_if = "Option::is_none")]
    vocabulary: Option<Tensor>,
}

#[derive(Serialize)]
struct HeaderMetadata {
    crc32: String,
    format: &'static str,
    version: String,
    settings: String,
}

#[derive(Serialize)]
struct Tensor {
    dtype: &'static str,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

fn floats(out: &mut Summed, values: &[f32]) -> Result<()> {
    let mut bytes = [0; 4096];
    for chunk in values.chunks(1024) {
        for (to, v) in bytes.chunks_exact_mut(4).zip(chunk) {
            to.copy_from_slice(&v.to_le_bytes());
        }
        out.put(&bytes[..4 * chunk.len()])?;
    }
    Ok(())
}

/// All of a model but phi.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) words: u32,
    pub(crate) alpha: &'a [f32],
    pub(crate) beta: f32,
    pub(crate) vocabulary: Option<&'a Vocabulary>,
    pub(crate) training: &'a TrainingRecord,
}

impl Frame<'_> {
    /// Writes a model; `phi(w, row)` gives the rows of K, in order. The file appears when it is whole.
    pub(crate) fn save(&self, path: &Path, mut phi: impl FnMut(u32, &mut [f32]) -> Result<()>) -> Result<()> {
        let (words, topics) = (u64::from(self.words), self.alpha.len() as u64);
        let mut end = 0u64;
        let mut tensor = |dtype, shape: Vec<u64>, bytes_each: u64| {
            let start = end;
            end += shape.iter().product::<u64>() * bytes_each;
            Tensor { dtype, shape, data_offsets: (start, end) }
        };
        let strings = self.vocabulary.map(Vocabulary::parts);
        let settings =
            serde_json::to_string(self.training).map_err(|e| Error::io("write", path)(e.into()))?;
        let header = Header {
            metadata: HeaderMetadata {
                crc32: "00000000".into(),
                format: FORMAT,
                version: VERSION.to_string(),
                settings,
            },
            vocabulary_offsets: strings.map(|_| tensor("U64", vec![words + 1], 8)),
            phi: tensor("F32", vec![words, topics], 4),
            alpha: tensor("F32", vec![topics], 4),
            beta: tensor("F32", vec![1], 4),
            vocabulary: strings.map(|(text, _)| tensor("U8", vec![text.len() as u64], 1)),
        };
        let mut header = serde_json::to_vec(&header).map_err(|e| Error::io("write", path)(e.into()))?;
        header.resize(header.len().next_multiple_of(8), b' ');
        let digits = crc_digits(&header).unwrap_or_default();

        let mut out = Summed::new(AtomicFile::create(path)?);
        out.put(&(header.len() as u64).to_le_bytes())?;
        out.put(&header)?;
        if let Some((_, ends)) = strings {
            out.put(&0u64.to_le_bytes())?;
            for end in ends {
                out.put(&end.to_le_bytes())?;
            }
        }
        let mut row = vec![0.0; self.alpha.len()];
        for w in 0..self.words {
            phi(w, &mut row)?;
            floats(&mut out, &row)?;
        }
        floats(&mut out, self.alpha)?;
        floats(&mut out, &[self.beta])?;
        if let Some((text, _)) = strings {
            out.put(text.as_bytes())?;
        }
        let crc = out.sum();
        let mut file = out.into_file();
        file.patch(8 + digits as u64, format!("{crc:08x}").as_bytes())?;
        file.commit()
    }
}

impl Model {
    /// Writes the model; the file appears when it is whole.
    pub fn save(&self, path: &Path) -> Result<()> {
        let frame = Frame {
            words: self.words(),
            alpha: &self.alpha,
            beta: self.beta(),
            vocabulary: self.vocabulary.as_ref(),
            training: &self.training,
        };
        frame.save(path, |w, row| {
            row.copy_from_slice(self.phi(w));
            Ok(())
        })
    }

    /// Reads a model and checks it, every byte.
    pub fn load(path: &Path) -> Result<Model> {
        let (file, length) = open_regular(path, "model")?;
        Reader { file: &file, path, length }.model()
    }
}

/// Where the checksum's digits stand in the header.
fn crc_digits(header: &[u8]) -> Option<usize> {
    memchr::memmem::find(header, CRC_KEY).map(|at| at + CRC_KEY.len()).filter(|at| at + 8 < header.len())
}

struct Reader<'a> {
    file: &'a File,
    path: &'a Path,
    length: u64,
}

impl Reader<'_> {
    fn damaged(&self, byte: u64, found: impl Into<String>) -> Error {
        Error::damaged_model(self.path, Position::Byte(byte), found)
    }

    fn bytes(&self, start: u64, end: u64) -> Result<Vec<u8>> {
        let length =
            end.checked_sub(start).filter(|_| end <= self.length).and_then(|n| usize::try_from(n).ok());
        let mut bytes = vec![0; length.ok_or_else(|| self.damaged(self.length, "it is cut short"))?];
        read_at(self.file, &mut bytes, start).map_err(Error::io("read", self.path))?;
        Ok(bytes)
    }

    fn wrong_kind(&self, start: &[u8]) -> Error {
        let hint = if start.starts_with(&MAGIC) {
            "it is a corpus, train a model on it first"
        } else if self.length == 0 {
            "it is empty"
        } else {
            ""
        };
        Error::WrongKind { path: self.path.to_path_buf(), kind: "model", hint: hint.into() }
    }

    fn model(&self) -> Result<Model> {
        let start = self.bytes(0, self.length.min(9))?;
        if start.get(8) != Some(&b'{') {
            return Err(self.wrong_kind(&start));
        }
        let header_length = u64::from_le_bytes(std::array::from_fn(|i| start[i]));
        if header_length > LONGEST_HEADER || header_length > self.length - 8 {
            return Err(self.damaged(0, "its header is longer than the file"));
        }
        let data = 8 + header_length;
        let header = self.bytes(8, data)?;
        let parsed: Metadata = serde_json::from_slice(&header)
            .map_err(|e| self.damaged(8, format!("its header cannot be read ({e})")))?;
        if data + parsed.data_len() as u64 != self.length {
            return Err(self.damaged(self.length, "its length is not what its header says"));
        }
        let empty = std::collections::HashMap::new();
        let about = parsed.metadata().as_ref().unwrap_or(&empty);
        if about.get("format").map(String::as_str) != Some(FORMAT) {
            return Err(self.wrong_kind(&start));
        }
        self.check_sum(&header, about.get("crc32"))?;
        let version: u32 = about
            .get("version")
            .and_then(|v| v.parse().ok())
            .ok_or_else(|| self.damaged(8, "its version is missing"))?;
        if version != VERSION {
            return Err(Error::Version {
                path: self.path.to_path_buf(),
                kind: "model",
                found: version,
                supported: VERSION,
            });
        }
        let training: TrainingRecord = serde_json::from_str(about.get("settings").map_or("", String::as_str))
            .map_err(|e| self.damaged(8, format!("its settings cannot be read ({e})")))?;

        let tensor = |name: &str, dtype: Dtype, rank: usize| {
            let info = parsed.info(name).filter(|t| t.dtype == dtype && t.shape.len() == rank);
            let info = info
                .ok_or_else(|| self.damaged(8, format!("the tensor {name} is missing or of another type")))?;
            let (from, to) = info.data_offsets;
            Ok::<_, Error>((info.shape.clone(), data + from as u64, data + to as u64))
        };
        let (shape, phi_start, _) = tensor("phi", Dtype::F32, 2)?;
        let too_large = || self.damaged(8, "phi has more than 4294967294 words or topics");
        let words = u32::try_from(shape[0]).map_err(|_| too_large())?;
        let count = u32::try_from(shape[1]).map_err(|_| too_large())?;
        let floats = |start, end| {
            let bytes = self.bytes(start, end)?;
            Ok::<Vec<f32>, Error>(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect())
        };
        let (alpha_shape, from, to) = tensor("alpha", Dtype::F32, 1)?;
        let alpha = floats(from, to)?;
        let (_, from, to) = tensor("beta", Dtype::F32, 1)?;
        let beta = floats(from, to)?;
        let sound = count > 0
            && alpha_shape[0] == count as usize
            && alpha.iter().chain(&beta).all(|&v| v > 0.0 && v.is_finite())
            && beta.len() == 1;
        if !sound {
            return Err(self.damaged(from, "alpha and beta do not fit phi, or are not above 0"));
        }
        let mut topics = Topics::new(words, count, &alpha, beta[0])?;
        // Some rows at a time: a read for each would take longer than the numbers.
        let row_bytes = u64::from(count) * 4;
        let rows_at_once = ((1 << 20) / row_bytes).clamp(1, u64::from(u32::MAX)) as usize;
        let all: Vec<u32> = (0..words).collect();
        for some in all.chunks(rows_at_once) {
            let from = phi_start + u64::from(some[0]) * row_bytes;
            let values = floats(from, from + some.len() as u64 * row_bytes)?;
            for (&w, row) in some.iter().zip(values.chunks_exact(count as usize)) {
                if !row.iter().all(|v| v.is_finite() && *v >= 0.0) {
                    return Err(self.damaged(
                        from,
                        format!("phi of word {} has a value that is no count", u64::from(w) + 1),
                    ));
                }
                flat_mut(topics.phi.row_mut(w))[..row.len()].copy_from_slice(row);
            }
        }
        let vocabulary = if parsed.info("vocabulary").is_some() {
            let (shape, from, to) = tensor("vocabulary_offsets", Dtype::U64, 1)?;
            let (_, text_from, text_to) = tensor("vocabulary", Dtype::U8, 1)?;
            Some(self.vocabulary(
                shape[0] == words as usize + 1,
                &self.bytes(from, to)?,
                self.bytes(text_from, text_to)?,
                from,
            )?)
        } else {
            None
        };
        Ok(Model::new(topics, alpha, vocabulary, training))
    }

    fn vocabulary(&self, fits: bool, offsets: &[u8], text: Vec<u8>, at: u64) -> Result<Vocabulary> {
        let bad = || self.damaged(at, "the vocabulary does not fit phi");
        let text = String::from_utf8(text).map_err(|_| bad())?;
        let offsets: Vec<u64> = offsets.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
        let sound = fits
            && offsets.first() == Some(&0)
            && offsets.last() == Some(&(text.len() as u64))
            && offsets.windows(2).all(|w| w[0] <= w[1])
            && offsets.iter().all(|&o| text.is_char_boundary(o as usize));
        if sound { Ok(Vocabulary::from_parts(text, offsets[1..].to_vec())) } else { Err(bad()) }
    }

    /// Compares the checksum of the whole file.
    fn check_sum(&self, header: &[u8], written: Option<&String>) -> Result<()> {
        let digits = crc_digits(header).ok_or_else(|| self.damaged(8, "its checksum is missing"))?;
        let mut cleared = header.to_vec();
        cleared[digits..digits + 8].fill(b'0');
        let mut crc = crc32fast::Hasher::new();
        crc.update(&(header.len() as u64).to_le_bytes());
        crc.update(&cleared);
        let mut position = 8 + header.len() as u64;
        let mut buffer = vec![0; 1 << 18];
        while position < self.length {
            let n = (self.length - position).min(buffer.len() as u64) as usize;
            read_at(self.file, &mut buffer[..n], position).map_err(Error::io("read", self.path))?;
            crc.update(&buffer[..n]);
            position += n as u64;
        }
        let found = format!("{:08x}", crc.finalize());
        if written != Some(&found) || header[digits..digits + 8] != *found.as_bytes() {
            return Err(self.damaged(
                8 + digits as u64,
                "its checksum is wrong, so some byte has changed or is missing",
            ));
        }
        Ok(())
    }
}
