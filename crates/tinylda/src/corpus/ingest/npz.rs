//! Sparse matrices of scipy (`scipy.sparse.save_npz`): a zip file of numpy arrays. Each array is
//! unpacked as it is read.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::bad;
use super::dtype::Dtype;
use super::matrix::{Flow, Layout, Matrix, Numbers};
use super::shared_file::{FileReader, SharedFile};
use crate::error::{Error, Result};

/// The head of an array is a line of text; numpy's own reader refuses longer ones too.
const LONGEST_HEAD: u64 = 1 << 16;
const AGAIN: &str = "copy the file again, or write it again with scipy.sparse.save_npz";
const COUNTS: &str = "save raw counts instead of weights such as tf-idf or logarithms, or round them first";

/// The head of an array file.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    dtype: Dtype,
    shape: Vec<u64>,
}

/// Reads the head of an array file; says what is wrong with it.
fn head(input: &mut dyn Read) -> Result<Head, String> {
    let mut start = [0u8; 8];
    input.read_exact(&mut start).map_err(|_| "no whole head".to_owned())?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err("no array".into());
    }
    let mut length = [0u8; 4];
    let bytes = if start[6] == 1 { 2 } else { 4 };
    input.read_exact(&mut length[..bytes]).map_err(|_| "no whole head".to_owned())?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > LONGEST_HEAD {
        return Err(format!("a head of {length} bytes"));
    }
    let mut text = Vec::new();
    input.take(length).read_to_end(&mut text).map_err(|e| e.to_string())?;
    if text.len() as u64 != length {
        return Err("no whole head".into());
    }
    let text = String::from_utf8_lossy(&text);
    parse_head(&text)
        .ok_or_else(|| format!("the head {:?}", text.trim().chars().take(80).collect::<String>()))
}

/// `{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }`
fn parse_head(text: &str) -> Option<Head> {
    let after = |key: &str| {
        let at = text.find(&format!("'{key}'"))? + key.len() + 2;
        text.get(at..)?.trim_start().strip_prefix(':').map(str::trim_start)
    };
    let descr = after("descr")?.strip_prefix('\'')?;
    let dtype = Dtype::parse(&descr[..descr.find('\'')?])?;
    let shape = after("shape")?.strip_prefix('(')?;
    let shape = shape[..shape.find(')')?].split(',').map(str::trim).filter(|part| !part.is_empty());
    let shape = shape.map(|part| part.trim_end_matches('L').parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some(Head { dtype, shape })
}

/// The numbers of an array, from its bytes.
struct Array {
    input: Box<dyn Read>,
    path: PathBuf,
    name: String,
    dtype: Dtype,
    total: u64,
    bytes: Vec<u8>,
}

impl Numbers for Array {
    fn total(&self) -> u64 {
        self.total
    }

    fn take(&mut self, count: usize, out: &mut Vec<f64>) -> Result<()> {
        self.bytes.resize(count * self.dtype.size, 0);
        self.input.read_exact(&mut self.bytes).map_err(|e| cut(&self.path, &self.name, e))?;
        out.clear();
        let dtype = self.dtype;
        out.extend(self.bytes.chunks_exact(dtype.size).map(|bytes| dtype.number(bytes)));
        Ok(())
    }
}

/// An array that cannot be read to its end.
fn cut(path: &Path, name: &str, error: io::Error) -> Error {
    use io::ErrorKind as Kind;
    if matches!(error.kind(), Kind::UnexpectedEof | Kind::InvalidData | Kind::InvalidInput | Kind::Other) {
        return bad(path, format!("the array {name:?}, damaged or truncated"), "a complete file", AGAIN);
    }
    Error::io("read", path)(error)
}

/// An opened zip file, which is small to keep: its list of members.
struct Zip {
    path: PathBuf,
    file: SharedFile,
    archive: ZipArchive<BufReader<FileReader>>,
}

impl Zip {
    fn open(path: &Path, file: SharedFile) -> Result<Zip> {
        let archive = ZipArchive::new(BufReader::new(file.reader_at(0))).map_err(|e| match e {
            zip::result::ZipError::Io(e) if e.kind() != io::ErrorKind::UnexpectedEof => {
                Error::io("read", path)(e)
            }
            _ => bad(path, "a zip file that is damaged or truncated".into(), "a complete file", AGAIN),
        })?;
        Ok(Zip { path: path.to_path_buf(), file, archive })
    }

    fn members(&self) -> String {
        let names = self.archive.file_names().take(12).filter_map(std::result::Result::ok);
        let names: Vec<String> = names.map(|n| n.trim_end_matches(".npy").to_owned()).collect();
        names.join(", ")
    }

    /// A member's bytes, from a reader of its own so that several flow side by side.
    fn member(&mut self, name: &str) -> Result<Box<dyn Read>> {
        let wrong = |path: &Path, found: String| bad(path, found, "an array of numbers", AGAIN);
        let member = format!("{name}.npy");
        let members = self.members();
        let Ok(file) = self.archive.by_name(&member) else {
            return Err(bad(
                &self.path,
                format!("no array {name:?} (there are: {members})"),
                "a sparse matrix of scipy",
                "write the matrix with scipy.sparse.save_npz, a dense one after scipy.sparse.csr_matrix(X)",
            ));
        };
        let (start, packed, method) = (file.data_start(), file.compressed_size(), file.compression());
        let encrypted = file.encrypted();
        drop(file);
        let Some(start) = start.filter(|_| !encrypted) else {
            return Err(wrong(&self.path, format!("the member {member:?}, encrypted")));
        };
        let bytes = BufReader::with_capacity(1 << 17, self.file.reader_at(start).take(packed));
        match method {
            zip::CompressionMethod::Stored => Ok(Box::new(bytes)),
            zip::CompressionMethod::Deflated => {
                Ok(Box::new(BufReader::with_capacity(1 << 17, flate2::bufread::DeflateDecoder::new(bytes))))
            }
            other => Err(wrong(&self.path, format!("the member {member:?}, packed as {other}"))),
        }
    }

    fn array(&mut self, name: &str) -> Result<(Head, Box<dyn Read>)> {
        let mut input = self.member(name)?;
        let head = head(&mut input).map_err(|found| {
            bad(&self.path, format!("{found} in the array {name:?}"), "a numpy array of numbers", AGAIN)
        })?;
        Ok((head, input))
    }

    /// A short array, whole.
    fn short(&mut self, name: &str, most: usize) -> Result<(Head, Vec<u8>)> {
        let (head, input) = self.array(name)?;
        let mut bytes = Vec::new();
        input.take(most as u64).read_to_end(&mut bytes).map_err(|e| cut(&self.path, name, e))?;
        Ok((head, bytes))
    }

    fn flow(&mut self, name: &str) -> Result<Flow> {
        let (head, input) = self.array(name)?;
        let [total] = head.shape[..] else {
            let found = format!("{} dimensions in the array {name:?}", head.shape.len());
            return Err(bad(&self.path, found, "one", AGAIN));
        };
        if matches!(head.dtype.kind, b'S' | b'U') {
            return Err(bad(&self.path, format!("texts in the array {name:?}"), "numbers", AGAIN));
        }
        let path = self.path.clone();
        let array = Array { input, path, name: name.into(), dtype: head.dtype, total, bytes: Vec::new() };
        Ok(Flow::new(name, Box::new(array)))
    }
}

/// Opens the sparse matrix in a file, which errors call `path`.
pub(super) fn open(path: &Path, file: SharedFile) -> Result<Matrix> {
    let mut zip = Zip::open(path, file)?;
    let (head, bytes) = zip.short("format", 64)?;
    // Text of one byte a letter, or of four.
    let step = if head.dtype.kind == b'U' { 4 } else { 1 };
    let letters = bytes.chunks(step).filter_map(|c| c.first()).filter(|&&b| b != 0);
    let format: String = letters.map(|&b| char::from(b)).collect();
    let (head, bytes) = zip.short("shape", 16)?;
    let sizes: Vec<f64> = bytes.chunks_exact(head.dtype.size.max(1)).map(|b| head.dtype.number(b)).collect();
    let size = |v: f64| (v >= 0.0 && v < (1u64 << 53) as f64 && v.fract() == 0.0).then_some(v as u64);
    let (Some(rows), Some(columns), [2]) =
        (sizes.first().copied().and_then(size), sizes.get(1).copied().and_then(size), &head.shape[..])
    else {
        return Err(bad(path, format!("the shape {sizes:?}"), "rows and columns", AGAIN));
    };
    let layout = match format.as_str() {
        "csr" => Layout::Csr { starts: zip.flow("indptr")?, columns: zip.flow("indices")? },
        "csc" => Layout::Csc { starts: zip.flow("indptr")?, rows: zip.flow("indices")? },
        "coo" => Layout::Coo { rows: zip.flow("row")?, columns: zip.flow("col")? },
        other => {
            return Err(bad(
                path,
                format!("a sparse matrix of the format {other:?}"),
                "csr, csc or coo",
                "convert the matrix: scipy.sparse.save_npz(file, X.tocsr())",
            ));
        }
    };
    let values = zip.flow("data")?;
    let (path, name, remedy) = (path.to_path_buf(), format!("a {format} matrix"), COUNTS.into());
    Ok(Matrix { path, name, rows, columns, layout, values, remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_kind() {
        for (dtype, bytes, value) in [
            ("|i1", vec![0xff], -1.0),
            ("|u1", vec![0xff], 255.0),
            ("<i2", vec![0xfe, 0xff], -2.0),
            (">i4", vec![0, 0, 1, 2], 258.0),
            ("<u8", vec![1, 0, 0, 0, 0, 0, 0, 0], 1.0),
            ("<i8", vec![0xff; 8], -1.0),
            ("<f2", vec![0x00, 0x3e], 1.5),
            (">f4", 2.5f32.to_be_bytes().to_vec(), 2.5),
            ("<f8", 2.5f64.to_le_bytes().to_vec(), 2.5),
            ("|b1", vec![1], 1.0),
        ] {
            assert_eq!(Dtype::parse(dtype).unwrap().number(&bytes), value, "{dtype}");
        }
        for wrong in ["", "<", "<i3", "<c8", "|O", "<f16", "<M8[ns]", "<i999999999999999999999"] {
            assert_eq!(Dtype::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn heads() {
        let parsed = parse_head("{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4L), }  \n").unwrap();
        assert_eq!(parsed.shape, vec![3, 4]);
        assert!(parse_head("{'shape': (), 'descr':'|S3', 'fortran_order': True}").unwrap().shape.is_empty());
        for wrong in
            ["", "{}", "{'descr': '<i4'", "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,)}"]
        {
            assert_eq!(parse_head(wrong), None);
        }
    }
}
