//! Reader of SciPy sparse matrices (`scipy.sparse.save_npz`): a zip file of NumPy arrays. Each
//! array is decompressed while it is read.
//!
//! Start with [`open`]. The entries are read by `matrix`.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::dtype::Dtype;
use super::file_error;
use super::matrix::{ArrayReader, CountMatrix, MatrixLayout, NumberSource};
use super::shared_file::{FileReader, SharedFile};
use crate::error::{Error, Result};

/// Maximum length of an array header in bytes. The header is one line of text, and NumPy's own
/// reader refuses longer ones, too.
const MAX_HEADER_BYTES: u64 = 1 << 16;
const REWRITE_REMEDY: &str = "copy the file again, or write it again with scipy.sparse.save_npz";
const COUNTS_REMEDY: &str =
    "save raw counts instead of weights such as tf-idf or logarithms, or round them first";

/// Header of an array file.
#[derive(Debug, PartialEq, Eq)]
struct NpyHeader {
    dtype: Dtype,
    shape: Vec<u64>,
}

/// Reads the header of an array file. The error describes what was found instead.
fn read_header(input: &mut dyn Read) -> Result<NpyHeader, String> {
    let mut start = [0u8; 8];
    input.read_exact(&mut start).map_err(|_| "an incomplete header".to_owned())?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err("something other than an array".into());
    }
    let mut length = [0u8; 4];
    let bytes = if start[6] == 1 { 2 } else { 4 };
    input.read_exact(&mut length[..bytes]).map_err(|_| "an incomplete header".to_owned())?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > MAX_HEADER_BYTES {
        return Err(format!("a header of {length} bytes"));
    }
    let mut text = Vec::new();
    input.take(length).read_to_end(&mut text).map_err(|e| e.to_string())?;
    if text.len() as u64 != length {
        return Err("an incomplete header".into());
    }
    let text = String::from_utf8_lossy(&text);
    parse_header(&text)
        .ok_or_else(|| format!("the header {:?}", text.trim().chars().take(80).collect::<String>()))
}

/// Parses a header such as `{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }`.
fn parse_header(text: &str) -> Option<NpyHeader> {
    let after = |key: &str| {
        let at = text.find(&format!("'{key}'"))? + key.len() + 2;
        text.get(at..)?.trim_start().strip_prefix(':').map(str::trim_start)
    };
    let descr = after("descr")?.strip_prefix('\'')?;
    let dtype = Dtype::parse(&descr[..descr.find('\'')?])?;
    let shape = after("shape")?.strip_prefix('(')?;
    let shape = shape[..shape.find(')')?].split(',').map(str::trim).filter(|part| !part.is_empty());
    let shape = shape.map(|part| part.trim_end_matches('L').parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some(NpyHeader { dtype, shape })
}

/// Reader of the numbers of an array.
struct NpyArray {
    input: Box<dyn Read>,
    path: PathBuf,
    name: String,
    dtype: Dtype,
    total: u64,
    bytes: Vec<u8>,
}

impl NumberSource for NpyArray {
    fn total(&self) -> u64 {
        self.total
    }

    fn take(&mut self, count: usize, out: &mut Vec<f64>) -> Result<()> {
        self.bytes.resize(count * self.dtype.size, 0);
        self.input.read_exact(&mut self.bytes).map_err(|e| array_error(&self.path, &self.name, e))?;
        out.clear();
        let dtype = self.dtype;
        out.extend(self.bytes.chunks_exact(dtype.size).map(|bytes| dtype.number(bytes)));
        Ok(())
    }
}

/// Creates an error about an array that cannot be read to its end.
fn array_error(path: &Path, name: &str, error: io::Error) -> Error {
    use io::ErrorKind as Kind;
    if matches!(error.kind(), Kind::UnexpectedEof | Kind::InvalidData | Kind::InvalidInput | Kind::Other) {
        return file_error(
            path,
            format!("the array {name:?}, damaged or truncated"),
            "a complete file",
            REWRITE_REMEDY,
        );
    }
    Error::io("read", path)(error)
}

/// Decompressed bytes of a member of a zip file. Its length and checksum are verified when the last
/// byte is read, so every member must be read to its end.
struct MemberReader {
    bytes: Box<dyn Read>,
    crc: crc32fast::Hasher,
    expected_crc: u32,
    /// Number of bytes that follow according to the archive.
    left: u64,
}

impl Read for MemberReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if most == 0 {
            return Ok(0);
        }
        let n = self.bytes.read(&mut buffer[..most])?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.crc.update(&buffer[..n]);
        self.left -= n as u64;
        if self.left == 0 && self.crc.clone().finalize() != self.expected_crc {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum is wrong"));
        }
        Ok(n)
    }
}

/// Open zip file. Only the list of its members is held in memory.
struct NpzArchive {
    path: PathBuf,
    file: SharedFile,
    archive: ZipArchive<BufReader<FileReader>>,
}

impl NpzArchive {
    fn open(path: &Path, file: SharedFile) -> Result<NpzArchive> {
        let archive = ZipArchive::new(BufReader::new(file.reader_at(0))).map_err(|e| match e {
            zip::result::ZipError::Io(e) if e.kind() != io::ErrorKind::UnexpectedEof => {
                Error::io("read", path)(e)
            }
            _ => file_error(
                path,
                "a zip file that is damaged or truncated".into(),
                "a complete file",
                REWRITE_REMEDY,
            ),
        })?;
        Ok(NpzArchive { path: path.to_path_buf(), file, archive })
    }

    fn member_names(&self) -> String {
        let names = self.archive.file_names().take(12).filter_map(std::result::Result::ok);
        let names: Vec<String> = names.map(|n| n.trim_end_matches(".npy").to_owned()).collect();
        names.join(", ")
    }

    /// Opens a member with its own reader, so that several members can be read side by side.
    fn open_member(&mut self, name: &str) -> Result<MemberReader> {
        let wrong =
            |path: &Path, found: String| file_error(path, found, "an array of numbers", REWRITE_REMEDY);
        let file_name = format!("{name}.npy");
        let member_names = self.member_names();
        let Ok(file) = self.archive.by_name(&file_name) else {
            return Err(file_error(
                &self.path,
                format!("no array {name:?} (available: {member_names})"),
                "a sparse matrix of scipy",
                "write the matrix with scipy.sparse.save_npz, a dense one after scipy.sparse.csr_matrix(X)",
            ));
        };
        let (start, packed, method) = (file.data_start(), file.compressed_size(), file.compression());
        let (encrypted, left, expected_crc) = (file.encrypted(), file.size(), file.crc32());
        drop(file);
        let Some(start) = start.filter(|_| !encrypted) else {
            return Err(wrong(&self.path, format!("the member {file_name:?}, encrypted")));
        };
        let bytes = BufReader::with_capacity(1 << 17, self.file.reader_at(start).take(packed));
        let bytes: Box<dyn Read> = match method {
            zip::CompressionMethod::Stored => Box::new(bytes),
            zip::CompressionMethod::Deflated => {
                Box::new(BufReader::with_capacity(1 << 17, flate2::bufread::DeflateDecoder::new(bytes)))
            }
            other => {
                return Err(wrong(&self.path, format!("the member {file_name:?}, compressed with {other}")));
            }
        };
        Ok(MemberReader { bytes, crc: crc32fast::Hasher::new(), expected_crc, left })
    }

    /// Opens an array and checks that its numbers are all that follows its header.
    fn open_array(&mut self, name: &str) -> Result<(NpyHeader, MemberReader)> {
        let mut input = self.open_member(name)?;
        let header = read_header(&mut input).map_err(|found| {
            file_error(
                &self.path,
                format!("{found} in the array {name:?}"),
                "a numpy array of numbers",
                REWRITE_REMEDY,
            )
        })?;
        let numbers = header.shape.iter().try_fold(1u64, |all, &n| all.checked_mul(n));
        let bytes = numbers.and_then(|n| n.checked_mul(header.dtype.size as u64));
        if bytes != Some(input.left) {
            let found = format!("{} bytes in the array {name:?} of the shape {:?}", input.left, header.shape);
            return Err(file_error(&self.path, found, "as many as its shape needs", REWRITE_REMEDY));
        }
        Ok((header, input))
    }

    /// Reads a short array as a whole.
    fn read_short_array(&mut self, name: &str, max_bytes: u64) -> Result<(NpyHeader, Vec<u8>)> {
        let (header, mut input) = self.open_array(name)?;
        if input.left > max_bytes {
            let found = format!("{} bytes in the array {name:?}", input.left);
            return Err(file_error(&self.path, found, "a sparse matrix of scipy", REWRITE_REMEDY));
        }
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map_err(|e| array_error(&self.path, name, e))?;
        Ok((header, bytes))
    }

    fn array_reader(&mut self, name: &str) -> Result<ArrayReader> {
        let (header, input) = self.open_array(name)?;
        let [total] = header.shape[..] else {
            let found = format!("{} dimensions in the array {name:?}", header.shape.len());
            return Err(file_error(&self.path, found, "one", REWRITE_REMEDY));
        };
        if matches!(header.dtype.kind, b'S' | b'U') {
            return Err(file_error(
                &self.path,
                format!("texts in the array {name:?}"),
                "numbers",
                REWRITE_REMEDY,
            ));
        }
        let path = self.path.clone();
        let open_array = NpyArray {
            input: Box::new(input),
            path,
            name: name.into(),
            dtype: header.dtype,
            total,
            bytes: Vec::new(),
        };
        Ok(ArrayReader::new(name, Box::new(open_array)))
    }
}

/// Opens the sparse matrix in a file. Errors refer to the file by `path`.
pub(super) fn open(path: &Path, file: SharedFile) -> Result<CountMatrix> {
    let mut zip = NpzArchive::open(path, file)?;
    let (header, bytes) = zip.read_short_array("format", 64)?;
    // NumPy stores text with one byte (`S`) or four bytes (`U`) per character.
    let step = if header.dtype.kind == b'U' { 4 } else { 1 };
    let letters = bytes.chunks(step).filter_map(|c| c.first()).filter(|&&b| b != 0);
    let format: String = letters.map(|&b| char::from(b)).collect();
    let (header, bytes) = zip.read_short_array("shape", 16)?;
    let sizes: Vec<f64> =
        bytes.chunks_exact(header.dtype.size.max(1)).map(|b| header.dtype.number(b)).collect();
    let size = |v: f64| (v >= 0.0 && v < (1u64 << 53) as f64 && v.fract() == 0.0).then_some(v as u64);
    let (Some(rows), Some(columns), [2]) =
        (sizes.first().copied().and_then(size), sizes.get(1).copied().and_then(size), &header.shape[..])
    else {
        return Err(file_error(path, format!("the shape {sizes:?}"), "rows and columns", REWRITE_REMEDY));
    };
    let layout = match format.as_str() {
        "csr" => {
            MatrixLayout::Csr { starts: zip.array_reader("indptr")?, columns: zip.array_reader("indices")? }
        }
        "csc" => {
            MatrixLayout::Csc { starts: zip.array_reader("indptr")?, rows: zip.array_reader("indices")? }
        }
        "coo" => MatrixLayout::Coo { rows: zip.array_reader("row")?, columns: zip.array_reader("col")? },
        other => {
            return Err(file_error(
                path,
                format!("a sparse matrix of the format {other:?}"),
                "csr, csc or coo",
                "convert the matrix: scipy.sparse.save_npz(file, X.tocsr())",
            ));
        }
    };
    let values = zip.array_reader("data")?;
    let (path, name, remedy) = (path.to_path_buf(), format!("a {format} matrix"), COUNTS_REMEDY.into());
    Ok(CountMatrix { path, name, rows, columns, layout, values, remedy })
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
    fn headers() {
        let parsed =
            parse_header("{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4L), }  \n").unwrap();
        assert_eq!(parsed.shape, vec![3, 4]);
        assert!(
            parse_header("{'shape': (), 'descr':'|S3', 'fortran_order': True}").unwrap().shape.is_empty()
        );
        for wrong in
            ["", "{}", "{'descr': '<i4'", "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,)}"]
        {
            assert_eq!(parse_header(wrong), None);
        }
    }
}
