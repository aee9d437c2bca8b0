//! Reader of AnnData files (`.h5ad`): cells are documents, genes or peaks are words. Such a file is
//! an HDF5 file with a matrix `X`, more matrices in `layers`, possibly one in `raw`, and the names
//! of rows and columns in `obs` and `var`.
//!
//! HDF5 itself is read by the crate hdf5-reader, which is pure Rust and allocates according to the
//! content of the file instead of the sizes that headers claim. This module interprets the AnnData
//! structure and adds two filters that its users need: LZF and Zstandard. Start with [`open`]; the
//! entries are read by `matrix`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hdf5_reader::error::Error as H5Error;
use hdf5_reader::group::Group;
use hdf5_reader::{
    ByteOrder, Dataset, Datatype, FileStorage, FilterRegistry, H5Type, Hdf5File, OpenOptions, SliceInfo,
    SliceInfoElem,
};

use super::dtype::Dtype;
use super::file_error;
use super::matrix::{ArrayReader, CountMatrix, MatrixLayout, NumberSource};
use super::shared_file::SharedFile;
use crate::corpus::Vocabulary;
use crate::error::{Error, Remedy, Result};

const REWRITE_REMEDY: &str = "copy the file again, or write it again with adata.write_h5ad";
/// Size of the cache of decompressed chunks in bytes.
const CACHE_BYTES: usize = 64 << 20;
/// Maximum size of a decompressed chunk in bytes.
const MAX_CHUNK_BYTES: usize = 256 << 20;
/// Maximum number of values that are read at a time, unless a row has more.
const MAX_NUMBERS_PER_READ: u64 = 1 << 22;
/// Number of values of an array that are read from a file of any size.
const MIN_NUMBERS: u64 = 1 << 24;
/// Maximum number of values of an array per byte of the file, above [`MIN_NUMBERS`]. HDF5 stores
/// no bytes for chunks that were never written, so a small file can claim any number of zeros. Real
/// files are far below this limit even if they are compressed.
const MAX_NUMBERS_PER_BYTE: u64 = 1 << 12;
/// Number of values of a layer that are inspected to decide whether it contains counts.
const SAMPLE_NUMBERS: u64 = 4096;

/// Content of an AnnData file that is imported.
pub(super) struct AnnData {
    pub(super) matrix: CountMatrix,
    /// Names of the cells.
    pub(super) documents: Vec<String>,
    /// Names of the genes or peaks.
    pub(super) words: Vocabulary,
}

/// Reader of the numbers of a dataset in their order.
struct DatasetReader {
    path: PathBuf,
    dataset: Dataset,
    total: u64,
    returned: u64,
    /// Number of columns of a dense matrix; 1 for an array.
    width: u64,
    /// Number of rows that are read at a time.
    rows_per_read: u64,
    next_row: u64,
    buffer: Vec<Hdf5Number>,
    used: usize,
}

impl DatasetReader {
    /// Creates a reader of a dataset in a file of `file_bytes` bytes.
    fn new(path: &Path, dataset: Dataset, file_bytes: u64) -> Result<DatasetReader> {
        dtype(dataset.dtype()).ok_or_else(|| {
            let found = format!("{} in {:?}", datatype_name(dataset.dtype()), dataset.name());
            file_error(path, found, "numbers", "check that this is an AnnData file with counts")
        })?;
        let shape = dataset.shape().to_vec();
        let (rows, width) = match shape[..] {
            [n] => (n, 1),
            [rows, columns] => (rows, columns),
            _ => {
                return Err(file_error(
                    path,
                    format!("{} dimensions", shape.len()),
                    "one or two",
                    REWRITE_REMEDY,
                ));
            }
        };
        let total = rows
            .checked_mul(width)
            .ok_or_else(|| file_error(path, "too many numbers".into(), "fewer", REWRITE_REMEDY))?;
        if total > MIN_NUMBERS.saturating_add(file_bytes.saturating_mul(MAX_NUMBERS_PER_BYTE)) {
            let found = format!("{total} numbers in {:?}", dataset.name());
            let expected = format!("an array of a size that is plausible for a file of {file_bytes} bytes");
            return Err(file_error(path, found, &expected, REWRITE_REMEDY));
        }
        // Read as many rows as a chunk has, so that each chunk is decompressed once; fewer if that
        // would take too much memory.
        let chunk = dataset.chunks().and_then(|c| c.first().map(|&rows| u64::from(rows))).unwrap_or(0);
        let rows_per_read = chunk.max(1 << 16).min(MAX_NUMBERS_PER_READ / width.max(1)).max(1);
        let path = path.to_path_buf();
        Ok(DatasetReader {
            path,
            dataset,
            total,
            returned: 0,
            width,
            rows_per_read,
            next_row: 0,
            buffer: Vec::new(),
            used: 0,
        })
    }

    fn refill(&mut self) -> Result<()> {
        let end = (self.next_row + self.rows_per_read).min(self.total / self.width.max(1));
        let mut selections = vec![SliceInfoElem::Slice { start: self.next_row, end, step: 1 }];
        if self.dataset.ndim() == 2 {
            selections.push(SliceInfoElem::Slice { start: 0, end: self.width, step: 1 });
        }
        let slice = self
            .dataset
            .read_slice::<Hdf5Number>(&SliceInfo { selections })
            .map_err(hdf5_error(&self.path))?;
        self.buffer.clear();
        self.buffer.extend(slice.iter().copied());
        self.used = 0;
        self.next_row = end;
        if self.buffer.is_empty() {
            return Err(file_error(
                &self.path,
                format!("no more numbers in {:?}", self.dataset.name()),
                "a complete file",
                REWRITE_REMEDY,
            ));
        }
        Ok(())
    }
}

impl NumberSource for DatasetReader {
    fn total(&self) -> u64 {
        self.total
    }

    fn take(&mut self, count: usize, out: &mut Vec<f64>) -> Result<()> {
        out.clear();
        while out.len() < count {
            if self.used == self.buffer.len() {
                self.refill()?;
            }
            let n = (count - out.len()).min(self.buffer.len() - self.used);
            out.extend(self.buffer[self.used..self.used + n].iter().map(|v| v.0));
            self.used += n;
        }
        self.returned += count as u64;
        Ok(())
    }
}

/// Number of any HDF5 type, converted to a 64-bit float.
#[derive(Debug, Clone, Copy)]
struct Hdf5Number(f64);

impl H5Type for Hdf5Number {
    fn hdf5_type() -> Datatype {
        Datatype::FloatingPoint { size: 8, byte_order: ByteOrder::LittleEndian }
    }

    fn from_bytes(bytes: &[u8], datatype: &Datatype) -> hdf5_reader::error::Result<Hdf5Number> {
        match dtype(datatype) {
            Some(dtype) if bytes.len() >= dtype.size => Ok(Hdf5Number(dtype.number(&bytes[..dtype.size]))),
            _ => Err(H5Error::InvalidData("numbers of an unknown kind".into())),
        }
    }

    fn element_size(datatype: &Datatype) -> usize {
        dtype(datatype).map_or(8, |dtype| dtype.size)
    }

    fn decode_vec(
        raw: &[u8],
        datatype: &Datatype,
        count: usize,
    ) -> Option<hdf5_reader::error::Result<Vec<Hdf5Number>>> {
        let dtype = dtype(datatype)?;
        (raw.len() / dtype.size >= count).then(|| {
            Ok(raw.chunks_exact(dtype.size).take(count).map(|b| Hdf5Number(dtype.number(b))).collect())
        })
    }
}

/// Returns the number type of a datatype; `None` if it is not a number.
fn dtype(datatype: &Datatype) -> Option<Dtype> {
    let (kind, size, order) = match datatype {
        Datatype::FixedPoint { size, signed, byte_order } => {
            (if *signed { b'i' } else { b'u' }, *size, *byte_order)
        }
        Datatype::FloatingPoint { size, byte_order } => (b'f', *size, *byte_order),
        // h5py stores booleans as an enum.
        Datatype::Enum { base, .. } => return dtype(base).filter(|base| base.size == 1),
        _ => return None,
    };
    let known = matches!(size, 2 | 4 | 8) || size == 1 && kind != b'f';
    known.then_some(Dtype { kind, size: usize::from(size), big_endian: order == ByteOrder::BigEndian })
}

fn datatype_name(datatype: &Datatype) -> &'static str {
    match datatype {
        Datatype::String { .. } | Datatype::VarLen { .. } => "texts",
        Datatype::Compound { .. } => "records",
        Datatype::Reference { .. } => "references",
        _ => "something other than numbers",
    }
}

/// Converts an error of the HDF5 reader to an error about the file.
fn hdf5_error(path: &Path) -> impl FnOnce(H5Error) -> Error + use<> {
    let path = path.to_path_buf();
    move |e| {
        let text = e.to_string();
        if text.contains("filter id") {
            return file_error(
                &path,
                format!("an HDF5 file with an unsupported compression filter ({text})"),
                "gzip, lzf, lz4 or zstd",
                "write it again: adata.write_h5ad(file, compression=\"gzip\")",
            );
        }
        file_error(
            &path,
            format!("an HDF5 file that is damaged or truncated ({text})"),
            "a complete AnnData file",
            REWRITE_REMEDY,
        )
    }
}

fn open_file(path: &Path, file: &SharedFile) -> Result<Hdf5File> {
    let file = file.file().try_clone().map_err(Error::io("open", path))?;
    let storage = FileStorage::from_file(file).map_err(hdf5_error(path))?;
    let mut filters = FilterRegistry::new();
    filters.register(
        32000,
        Box::new(|filter, data, _| decompress_lzf(data, chunk_limit(filter.client_data.get(2)))),
    );
    filters.register(32015, Box::new(|_, data, _| decompress_zstd(data)));
    let options = OpenOptions::default()
        .with_chunk_cache_bytes(CACHE_BYTES)
        .with_max_chunk_bytes(MAX_CHUNK_BYTES)
        .with_max_read_bytes(2 * MAX_CHUNK_BYTES)
        .with_filter_registry(filters);
    Hdf5File::from_storage_with_options(Arc::new(storage), options).map_err(hdf5_error(path))
}

fn chunk_limit(declared: Option<&u32>) -> usize {
    declared.map_or(MAX_CHUNK_BYTES, |&n| n as usize).min(MAX_CHUNK_BYTES)
}

/// Decompresses LZF, h5py's own filter: literal runs of bytes, and copies of earlier output.
fn decompress_lzf(data: &[u8], most: usize) -> hdf5_reader::error::Result<Vec<u8>> {
    let broken = || H5Error::InvalidData("broken LZF data".into());
    let mut out: Vec<u8> = Vec::new();
    let mut bytes = data.iter().copied();
    while let Some(control) = bytes.next() {
        let control = usize::from(control);
        if control < 32 {
            let before = out.len();
            out.extend(bytes.by_ref().take(control + 1));
            if out.len() != before + control + 1 {
                return Err(broken());
            }
        } else {
            let mut length = control >> 5;
            if length == 7 {
                length += usize::from(bytes.next().ok_or_else(broken)?);
            }
            let back = ((control & 31) << 8 | usize::from(bytes.next().ok_or_else(broken)?)) + 1;
            let from = out.len().checked_sub(back).ok_or_else(broken)?;
            for i in from..from + length + 2 {
                out.push(out[i]);
            }
        }
        if out.len() > most {
            return Err(broken());
        }
    }
    Ok(out)
}

fn decompress_zstd(data: &[u8]) -> hdf5_reader::error::Result<Vec<u8>> {
    let mut out = Vec::new();
    let decoder =
        ruzstd::decoding::StreamingDecoder::new(data).map_err(|e| H5Error::InvalidData(e.to_string()))?;
    decoder.take(MAX_CHUNK_BYTES as u64).read_to_end(&mut out)?;
    Ok(out)
}

/// Returns a text attribute.
fn text_attribute(group: &Group, name: &str) -> Option<String> {
    group.attribute(name).ok()?.read_string().ok().map(|text| text.trim_end_matches('\0').to_owned())
}

/// Reads the names of a data frame: the column that its attribute `_index` refers to.
fn read_names(file: &Hdf5File, frame: &str) -> hdf5_reader::error::Result<Vec<String>> {
    let group = file.group(frame)?;
    let index = text_attribute(&group, "_index").unwrap_or_else(|| "_index".into());
    let dataset = match group.dataset(&index) {
        Ok(dataset) => dataset,
        // Strings with missing values are stored as a group of values and a mask.
        Err(_) => group.group(&index)?.dataset("values")?,
    };
    if let Some(dtype) = dtype(dataset.dtype()).filter(|dtype| dtype.kind != b'f') {
        let numbers = dataset.read_array::<Hdf5Number>()?;
        let whole = |v: f64| if dtype.kind == b'b' { (v != 0.0).to_string() } else { (v as i64).to_string() };
        return Ok(numbers.iter().map(|n| whole(n.0)).collect());
    }
    dataset.read_strings()
}

/// Returns the path of a matrix in the file and the path of the data frame with its words, by the
/// name that the user gave.
fn matrix_location(layer: Option<&str>) -> (String, &'static str) {
    match layer {
        None | Some("X") => ("X".into(), "var"),
        Some("raw" | "raw/X") => ("raw/X".into(), "raw/var"),
        Some(name) => (format!("layers/{}", name.trim_start_matches("layers/")), "var"),
    }
}

/// Lists the matrices of the file by the names that the parameter `layer` accepts.
fn layers(file: &Hdf5File) -> Vec<String> {
    let mut all = Vec::new();
    if let Ok((groups, datasets)) = file.root_group().and_then(|root| root.member_names())
        && groups.iter().chain(&datasets).any(|name| name == "X")
    {
        all.push("X".to_owned());
    }
    if let Ok((groups, datasets)) = file.group("layers").and_then(|group| group.member_names()) {
        all.extend(groups.into_iter().chain(datasets));
    }
    if let Ok((groups, datasets)) = file.group("raw").and_then(|group| group.member_names())
        && groups.iter().chain(&datasets).any(|name| name == "X")
    {
        all.push("raw".to_owned());
    }
    all
}

/// Returns the dataset with the values of a sparse or dense matrix.
fn values_dataset(file: &Hdf5File, place: &str) -> hdf5_reader::error::Result<Dataset> {
    match file.group(place) {
        Ok(group) => group.dataset("data"),
        Err(_) => file.dataset(place),
    }
}

/// Returns whether the first values of a layer are counts; `None` if they cannot be read.
fn samples_are_counts(file: &Hdf5File, layer: &str) -> Option<bool> {
    let dataset = values_dataset(file, &matrix_location(Some(layer)).0).ok()?;
    let end = *dataset.shape().first()?;
    let mut selections = vec![SliceInfoElem::Slice { start: 0, end: end.min(SAMPLE_NUMBERS), step: 1 }];
    if dataset.ndim() == 2 {
        selections[0] = SliceInfoElem::Slice { start: 0, end: end.min(4), step: 1 };
        selections.push(SliceInfoElem::Slice {
            start: 0,
            end: (*dataset.shape().get(1)?).min(SAMPLE_NUMBERS),
            step: 1,
        });
    }
    let sample = dataset.read_slice::<Hdf5Number>(&SliceInfo { selections }).ok()?;
    Some(sample.iter().all(|v| v.0 >= 0.0 && v.0.fract() == 0.0))
}

/// Creates the remedy for a matrix that does not contain counts: it names the layers that do.
fn counts_remedy(file: &Hdf5File, chosen: &str) -> Remedy {
    let others = layers(file).into_iter().filter(|name| matrix_location(Some(name)).0 != chosen);
    let counts: Vec<String> = others.filter(|name| samples_are_counts(file, name) == Some(true)).collect();
    let Some((first, rest)) = counts.split_first() else {
        return "no matrix of this file has raw counts: save the data before it is normalized".into();
    };
    let start = Remedy::from("choose a matrix with raw counts: ").parameter("layer", Some(first));
    rest.iter().fold(start, |all, name| all.text(" or ").parameter("layer", Some(name)))
}

/// Opens an array of a sparse matrix in a file of `file_bytes` bytes.
fn array_reader(path: &Path, group: &Group, array: &str, file_bytes: u64) -> Result<ArrayReader> {
    let dataset = group.dataset(array).map_err(hdf5_error(path))?;
    Ok(ArrayReader::new(array, Box::new(DatasetReader::new(path, dataset, file_bytes)?)))
}

/// Opens the sparse matrix that is stored in a group of a file of `file_bytes` bytes. `name` and
/// `remedy` are used in errors.
fn open_sparse(
    path: &Path,
    group: &Group,
    name: String,
    remedy: Remedy,
    file_bytes: u64,
) -> Result<CountMatrix> {
    let old = text_attribute(group, "h5sparse_format");
    let encoding = text_attribute(group, "encoding-type").or(old).unwrap_or_default();
    let shape = group.attribute("shape").or_else(|_| group.attribute("h5sparse_shape"));
    let shape = shape.and_then(|shape| shape.read_1d::<i64>()).map_err(hdf5_error(path))?;
    let (&[rows, columns], true) = (&shape[..], shape.iter().all(|&n| n >= 0)) else {
        return Err(file_error(
            path,
            format!("{name} of the shape {shape:?}"),
            "rows and columns",
            REWRITE_REMEDY,
        ));
    };
    let layout = match encoding.trim_end_matches("_matrix") {
        "csr" => MatrixLayout::Csr {
            starts: array_reader(path, group, "indptr", file_bytes)?,
            columns: array_reader(path, group, "indices", file_bytes)?,
        },
        "csc" => MatrixLayout::Csc {
            starts: array_reader(path, group, "indptr", file_bytes)?,
            rows: array_reader(path, group, "indices", file_bytes)?,
        },
        other => {
            let remedy = "save it as a csr_matrix or as an array";
            return Err(file_error(
                path,
                format!("{name} encoded as {other:?}"),
                "csr_matrix, csc_matrix or array",
                remedy,
            ));
        }
    };
    let values = array_reader(path, group, "data", file_bytes)?;
    let (rows, columns) = (rows.cast_unsigned(), columns.cast_unsigned());
    Ok(CountMatrix { path: path.to_path_buf(), name, rows, columns, layout, values, remedy })
}

/// Opens the matrix that `layer` names: `X`, `raw`, or one of `layers`. Errors refer to the file by
/// `path`.
pub(super) fn open(path: &Path, file: &SharedFile, layer: Option<&str>) -> Result<AnnData> {
    let (file, file_bytes) = (open_file(path, file)?, file.bytes());
    let (place, frame) = matrix_location(layer);
    let known = layers(&file);
    let missing = || {
        let there = if known.is_empty() { "none".into() } else { known.join(", ") };
        file_error(
            path,
            format!("no matrix {place:?} (available: {there})"),
            "an AnnData file with that matrix",
            "choose one of them with {layer}, or check that this is an AnnData file",
        )
    };
    let remedy = counts_remedy(&file, &place);
    let name = format!("the matrix {place:?}");
    let matrix = if let Ok(group) = file.group(&place) {
        open_sparse(path, &group, name, remedy, file_bytes)?
    } else {
        let dataset = file
            .dataset(&place)
            .map_err(|e| if known.contains(&place) { hdf5_error(path)(e) } else { missing() })?;
        let &[rows, columns] = dataset.shape() else {
            return Err(file_error(
                path,
                format!("{name} of {} dimensions", dataset.ndim()),
                "two",
                REWRITE_REMEDY,
            ));
        };
        let values = ArrayReader::new("X", Box::new(DatasetReader::new(path, dataset, file_bytes)?));
        CountMatrix {
            path: path.to_path_buf(),
            name,
            rows,
            columns,
            layout: MatrixLayout::Dense,
            values,
            remedy,
        }
    };
    let names_error = |frame: &str, e: &H5Error| {
        file_error(
            path,
            format!("no names in {frame:?} ({e})"),
            "a data frame with an index, as anndata 0.7 and later write it",
            "read the file with a newer anndata and write it again, or export it with scipy.sparse.save_npz",
        )
    };
    let documents = read_names(&file, "obs").map_err(|e| names_error("obs", &e))?;
    let words = unique_names(read_names(&file, frame).map_err(|e| names_error(frame, &e))?);
    for (count, size, what) in [(documents.len(), matrix.rows, "obs"), (words.len(), matrix.columns, frame)] {
        if count as u64 != size {
            let found = format!("{count} names in {what:?} for {size} rows or columns of {place:?}");
            return Err(file_error(path, found, "a name for each", REWRITE_REMEDY));
        }
    }
    Ok(AnnData { matrix, documents, words })
}

/// Makes duplicate names, such as gene symbols, unique in the same way as anndata: `A`, `A-1`,
/// `A-2`.
fn unique_names(names: Vec<String>) -> Vocabulary {
    let mut seen: std::collections::HashSet<String> = names.iter().cloned().collect();
    let mut suffixes: std::collections::HashMap<String, u64> = std::collections::HashMap::new();
    let mut vocabulary = Vocabulary::new();
    for name in names {
        let times = suffixes.entry(name.clone()).or_insert(0);
        if *times == 0 {
            *times = 1;
            vocabulary.push(if name.is_empty() { "(no name)" } else { &name });
            continue;
        }
        let mut other = format!("{name}-{times}");
        while seen.contains(&other) {
            *times += 1;
            other = format!("{name}-{times}");
        }
        *times += 1;
        vocabulary.push(&other);
        seen.insert(other);
    }
    vocabulary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lzf() {
        // Three letters, then six more bytes copied from three bytes back.
        assert_eq!(decompress_lzf(&[2, b'a', b'b', b'c', 4 << 5, 2], 100).unwrap(), b"abcabcabc");
        for wrong in [&[5, 1, 2][..], &[0x20], &[0x20, 5], &[0xe0]] {
            assert!(decompress_lzf(wrong, 100).is_err());
        }
        assert!(decompress_lzf(&[2, b'a', b'b', b'c', 4 << 5, 2], 5).is_err());
    }

    #[test]
    fn duplicate_names_get_suffixes() {
        let names = ["A", "B", "A", "A-1", "A"].map(String::from).to_vec();
        assert_eq!(unique_names(names).iter().collect::<Vec<_>>(), ["A", "B", "A-2", "A-1", "A-3"]);
    }
}
