//! AnnData (`.h5ad`): cells are documents, genes or peaks are words. An HDF5 file with a matrix
//! `X`, others in `layers`, perhaps one in `raw`, and the names of rows and columns in `obs` and
//! `var`.
//!
//! HDF5 itself is read by the crate hdf5-reader: pure Rust, and it allocates by what is in the file
//! and not by what a head says. Here is what AnnData means, and two filters that its users have:
//! LZF and Zstandard.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hdf5_reader::error::Error as H5Error;
use hdf5_reader::group::Group;
use hdf5_reader::{
    ByteOrder, Dataset, Datatype, FileStorage, FilterRegistry, H5Type, Hdf5File, OpenOptions, SliceInfo,
    SliceInfoElem,
};

use super::bad;
use super::dtype::Dtype;
use super::matrix::{Flow, Layout, Matrix, Numbers};
use super::shared_file::SharedFile;
use crate::corpus::Vocabulary;
use crate::error::{Error, Remedy, Result};

const AGAIN: &str = "copy the file again, or write it again with adata.write_h5ad";
/// Chunks that are unpacked at a time, and the most that one may take.
const CACHE_BYTES: usize = 64 << 20;
const CHUNK_BYTES: usize = 256 << 20;
/// Numbers that are read at a time at the most, unless a row has more.
const STEP: u64 = 1 << 22;
/// Numbers of a layer that are looked at to tell whether it holds counts.
const SAMPLE: u64 = 4096;

/// What an AnnData file has for us.
pub(super) struct AnnData {
    pub(super) matrix: Matrix,
    /// The names of the cells, where they can be read.
    pub(super) documents: Vec<String>,
    /// The names of the genes or peaks.
    pub(super) words: Vocabulary,
}

/// The numbers of a dataset, in their order.
struct Values {
    path: PathBuf,
    dataset: Dataset,
    total: u64,
    given: u64,
    /// Columns of a dense matrix; 1 for an array.
    width: u64,
    /// Rows that are read at a time.
    step: u64,
    next_row: u64,
    waiting: Vec<Number>,
    used: usize,
}

impl Values {
    fn new(path: &Path, dataset: Dataset) -> Result<Values> {
        dtype(dataset.dtype()).ok_or_else(|| {
            let found = format!("{} in {:?}", kind(dataset.dtype()), dataset.name());
            bad(path, found, "numbers", "check that this is an AnnData file with counts")
        })?;
        let shape = dataset.shape().to_vec();
        let (rows, width) = match shape[..] {
            [n] => (n, 1),
            [rows, columns] => (rows, columns),
            _ => return Err(bad(path, format!("{} dimensions", shape.len()), "one or two", AGAIN)),
        };
        let total =
            rows.checked_mul(width).ok_or_else(|| bad(path, "too many numbers".into(), "fewer", AGAIN))?;
        // As many rows as a chunk has, so that each is unpacked once; fewer where that would take
        // too much room.
        let chunk = dataset.chunks().and_then(|c| c.first().map(|&rows| u64::from(rows))).unwrap_or(0);
        let step = chunk.max(1 << 16).min(STEP / width.max(1)).max(1);
        let path = path.to_path_buf();
        Ok(Values { path, dataset, total, given: 0, width, step, next_row: 0, waiting: Vec::new(), used: 0 })
    }

    fn refill(&mut self) -> Result<()> {
        let end = (self.next_row + self.step).min(self.total / self.width.max(1));
        let mut selections = vec![SliceInfoElem::Slice { start: self.next_row, end, step: 1 }];
        if self.dataset.ndim() == 2 {
            selections.push(SliceInfoElem::Slice { start: 0, end: self.width, step: 1 });
        }
        let slice =
            self.dataset.read_slice::<Number>(&SliceInfo { selections }).map_err(broken(&self.path))?;
        self.waiting.clear();
        self.waiting.extend(slice.iter().copied());
        self.used = 0;
        self.next_row = end;
        if self.waiting.is_empty() {
            return Err(bad(
                &self.path,
                format!("no more numbers in {:?}", self.dataset.name()),
                "a complete file",
                AGAIN,
            ));
        }
        Ok(())
    }
}

impl Numbers for Values {
    fn total(&self) -> u64 {
        self.total
    }

    fn take(&mut self, count: usize, out: &mut Vec<f64>) -> Result<()> {
        out.clear();
        while out.len() < count {
            if self.used == self.waiting.len() {
                self.refill()?;
            }
            let n = (count - out.len()).min(self.waiting.len() - self.used);
            out.extend(self.waiting[self.used..self.used + n].iter().map(|v| v.0));
            self.used += n;
        }
        self.given += count as u64;
        Ok(())
    }
}

/// A number of any kind.
#[derive(Debug, Clone, Copy)]
struct Number(f64);

impl H5Type for Number {
    fn hdf5_type() -> Datatype {
        Datatype::FloatingPoint { size: 8, byte_order: ByteOrder::LittleEndian }
    }

    fn from_bytes(bytes: &[u8], datatype: &Datatype) -> hdf5_reader::error::Result<Number> {
        match dtype(datatype) {
            Some(dtype) if bytes.len() >= dtype.size => Ok(Number(dtype.number(&bytes[..dtype.size]))),
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
    ) -> Option<hdf5_reader::error::Result<Vec<Number>>> {
        let dtype = dtype(datatype)?;
        (raw.len() / dtype.size >= count)
            .then(|| Ok(raw.chunks_exact(dtype.size).take(count).map(|b| Number(dtype.number(b))).collect()))
    }
}

/// The kind of numbers that a datatype stands for, where it does for any.
fn dtype(datatype: &Datatype) -> Option<Dtype> {
    let (kind, size, order) = match datatype {
        Datatype::FixedPoint { size, signed, byte_order } => {
            (if *signed { b'i' } else { b'u' }, *size, *byte_order)
        }
        Datatype::FloatingPoint { size, byte_order } => (b'f', *size, *byte_order),
        // h5py's booleans.
        Datatype::Enum { base, .. } => return dtype(base).filter(|base| base.size == 1),
        _ => return None,
    };
    let known = matches!(size, 2 | 4 | 8) || size == 1 && kind != b'f';
    known.then_some(Dtype { kind, size: usize::from(size), big: order == ByteOrder::BigEndian })
}

fn kind(datatype: &Datatype) -> &'static str {
    match datatype {
        Datatype::String { .. } | Datatype::VarLen { .. } => "texts",
        Datatype::Compound { .. } => "records",
        Datatype::Reference { .. } => "references",
        _ => "something else than numbers",
    }
}

/// What the reader of HDF5 says, as an error of the file.
fn broken(path: &Path) -> impl FnOnce(H5Error) -> Error + use<> {
    let path = path.to_path_buf();
    move |e| {
        let text = e.to_string();
        if text.contains("filter id") {
            return bad(
                &path,
                format!("an HDF5 file packed in a way that is not known here ({text})"),
                "gzip, lzf, lz4 or zstd",
                "write it again: adata.write_h5ad(file, compression=\"gzip\")",
            );
        }
        bad(
            &path,
            format!("an HDF5 file that is damaged or truncated ({text})"),
            "a complete AnnData file",
            AGAIN,
        )
    }
}

fn open_file(path: &Path, file: &SharedFile) -> Result<Hdf5File> {
    let file = file.file().try_clone().map_err(Error::io("open", path))?;
    let storage = FileStorage::from_file(file).map_err(broken(path))?;
    let mut filters = FilterRegistry::new();
    filters.register(32000, Box::new(|filter, data, _| unpack_lzf(data, limit(filter.client_data.get(2)))));
    filters.register(32015, Box::new(|_, data, _| unpack_zstd(data)));
    let options = OpenOptions::default()
        .with_chunk_cache_bytes(CACHE_BYTES)
        .with_max_chunk_bytes(CHUNK_BYTES)
        .with_max_read_bytes(2 * CHUNK_BYTES)
        .with_filter_registry(filters);
    Hdf5File::from_storage_with_options(Arc::new(storage), options).map_err(broken(path))
}

fn limit(declared: Option<&u32>) -> usize {
    declared.map_or(CHUNK_BYTES, |&n| n as usize).min(CHUNK_BYTES)
}

/// LZF, h5py's own filter: runs of bytes, and copies of what came before.
fn unpack_lzf(data: &[u8], most: usize) -> hdf5_reader::error::Result<Vec<u8>> {
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

fn unpack_zstd(data: &[u8]) -> hdf5_reader::error::Result<Vec<u8>> {
    let mut out = Vec::new();
    let decoder =
        ruzstd::decoding::StreamingDecoder::new(data).map_err(|e| H5Error::InvalidData(e.to_string()))?;
    decoder.take(CHUNK_BYTES as u64).read_to_end(&mut out)?;
    Ok(out)
}

/// An attribute that is a text.
fn text_attribute(group: &Group, name: &str) -> Option<String> {
    group.attribute(name).ok()?.read_string().ok().map(|text| text.trim_end_matches('\0').to_owned())
}

/// Names in a data frame: the column that its `_index` names.
fn names(file: &Hdf5File, frame: &str) -> hdf5_reader::error::Result<Vec<String>> {
    let group = file.group(frame)?;
    let index = text_attribute(&group, "_index").unwrap_or_else(|| "_index".into());
    let dataset = match group.dataset(&index) {
        Ok(dataset) => dataset,
        // Strings that may be missing: values and a mask.
        Err(_) => group.group(&index)?.dataset("values")?,
    };
    if let Some(dtype) = dtype(dataset.dtype()).filter(|dtype| dtype.kind != b'f') {
        let numbers = dataset.read_array::<Number>()?;
        let whole = |v: f64| if dtype.kind == b'b' { (v != 0.0).to_string() } else { (v as i64).to_string() };
        return Ok(numbers.iter().map(|n| whole(n.0)).collect());
    }
    dataset.read_strings()
}

/// Where a matrix lies, by the name that the user gives it.
fn place(layer: Option<&str>) -> (String, &'static str) {
    match layer {
        None | Some("X") => ("X".into(), "var"),
        Some("raw" | "raw/X") => ("raw/X".into(), "raw/var"),
        Some(name) => (format!("layers/{}", name.trim_start_matches("layers/")), "var"),
    }
}

/// The matrices of the file, as --layer names them.
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

/// The numbers of a matrix, sparse or dense.
fn values(file: &Hdf5File, place: &str) -> hdf5_reader::error::Result<Dataset> {
    match file.group(place) {
        Ok(group) => group.dataset("data"),
        Err(_) => file.dataset(place),
    }
}

/// Whether the first numbers of a layer are counts.
fn looks_like_counts(file: &Hdf5File, layer: &str) -> Option<bool> {
    let dataset = values(file, &place(Some(layer)).0).ok()?;
    let end = *dataset.shape().first()?;
    let mut selections = vec![SliceInfoElem::Slice { start: 0, end: end.min(SAMPLE), step: 1 }];
    if dataset.ndim() == 2 {
        selections[0] = SliceInfoElem::Slice { start: 0, end: end.min(4), step: 1 };
        selections.push(SliceInfoElem::Slice {
            start: 0,
            end: (*dataset.shape().get(1)?).min(SAMPLE),
            step: 1,
        });
    }
    let sample = dataset.read_slice::<Number>(&SliceInfo { selections }).ok()?;
    Some(sample.iter().all(|v| v.0 >= 0.0 && v.0.fract() == 0.0))
}

/// What to do where a layer holds no counts.
fn remedy(file: &Hdf5File, chosen: &str) -> Remedy {
    let others = layers(file).into_iter().filter(|name| place(Some(name)).0 != chosen);
    let counts: Vec<String> = others.filter(|name| looks_like_counts(file, name) == Some(true)).collect();
    let Some((first, rest)) = counts.split_first() else {
        return "no matrix of this file has raw counts: save the data before it is normalised".into();
    };
    let start = Remedy::from("choose a matrix with raw counts: ").parameter("layer", Some(first));
    rest.iter().fold(start, |all, name| all.text(" or ").parameter("layer", Some(name)))
}

/// Opens the matrix that `layer` names: `X`, `raw`, or one of `layers`. Errors call the file
/// `path`.
pub(super) fn open(path: &Path, file: &SharedFile, layer: Option<&str>) -> Result<AnnData> {
    let file = open_file(path, file)?;
    let (place, frame) = place(layer);
    let known = layers(&file);
    let missing = || {
        let there = if known.is_empty() { "none".into() } else { known.join(", ") };
        bad(
            path,
            format!("no matrix {place:?} (there are: {there})"),
            "an AnnData file with that matrix",
            "choose one of them with {layer}, or check that this is an AnnData file",
        )
    };
    let remedy = remedy(&file, &place);
    let name = format!("the matrix {place:?}");
    let flow = |group: &Group, array: &str| -> Result<Flow> {
        Ok(Flow::new(array, Box::new(Values::new(path, group.dataset(array).map_err(broken(path))?)?)))
    };
    let matrix = if let Ok(group) = file.group(&place) {
        let old = text_attribute(&group, "h5sparse_format");
        let encoding = text_attribute(&group, "encoding-type").or(old).unwrap_or_default();
        let shape = group.attribute("shape").or_else(|_| group.attribute("h5sparse_shape"));
        let shape = shape.and_then(|shape| shape.read_1d::<i64>()).map_err(broken(path))?;
        let (&[rows, columns], true) = (&shape[..], shape.iter().all(|&n| n >= 0)) else {
            return Err(bad(path, format!("{name} of the shape {shape:?}"), "rows and columns", AGAIN));
        };
        let layout = match encoding.trim_end_matches("_matrix") {
            "csr" => Layout::Csr { starts: flow(&group, "indptr")?, columns: flow(&group, "indices")? },
            "csc" => Layout::Csc { starts: flow(&group, "indptr")?, rows: flow(&group, "indices")? },
            other => {
                let remedy = "save it as a csr_matrix or as an array";
                return Err(bad(
                    path,
                    format!("{name} encoded as {other:?}"),
                    "csr_matrix, csc_matrix or array",
                    remedy,
                ));
            }
        };
        let values = flow(&group, "data")?;
        let (rows, columns) = (rows.cast_unsigned(), columns.cast_unsigned());
        Matrix { path: path.to_path_buf(), name, rows, columns, layout, values, remedy }
    } else {
        let dataset = file
            .dataset(&place)
            .map_err(|e| if known.contains(&place) { broken(path)(e) } else { missing() })?;
        let &[rows, columns] = dataset.shape() else {
            return Err(bad(path, format!("{name} of {} dimensions", dataset.ndim()), "two", AGAIN));
        };
        let values = Flow::new("X", Box::new(Values::new(path, dataset)?));
        Matrix { path: path.to_path_buf(), name, rows, columns, layout: Layout::Dense, values, remedy }
    };
    let unnamed = |frame: &str, e: &H5Error| {
        bad(
            path,
            format!("no names in {frame:?} ({e})"),
            "a data frame with an index, as anndata 0.7 and later write it",
            "read the file with a newer anndata and write it again, or export it with scipy.sparse.save_npz",
        )
    };
    let documents = names(&file, "obs").map_err(|e| unnamed("obs", &e))?;
    let words = unique(names(&file, frame).map_err(|e| unnamed(frame, &e))?);
    for (count, size, what) in [(documents.len(), matrix.rows, "obs"), (words.len(), matrix.columns, frame)] {
        if count as u64 != size {
            let found = format!("{count} names in {what:?} for {size} rows or columns of {place:?}");
            return Err(bad(path, found, "a name for each", AGAIN));
        }
    }
    Ok(AnnData { matrix, documents, words })
}

/// Names that stand twice, as gene symbols do, are told apart as anndata does it: `A`, `A-1`,
/// `A-2`.
fn unique(names: Vec<String>) -> Vocabulary {
    let mut seen: std::collections::HashSet<String> = names.iter().cloned().collect();
    let mut met: std::collections::HashMap<String, u64> = std::collections::HashMap::new();
    let mut vocabulary = Vocabulary::new();
    for name in names {
        let times = met.entry(name.clone()).or_insert(0);
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
        // Three letters, then six more bytes copied from three back.
        assert_eq!(unpack_lzf(&[2, b'a', b'b', b'c', 4 << 5, 2], 100).unwrap(), b"abcabcabc");
        for wrong in [&[5, 1, 2][..], &[0x20], &[0x20, 5], &[0xe0]] {
            assert!(unpack_lzf(wrong, 100).is_err());
        }
        assert!(unpack_lzf(&[2, b'a', b'b', b'c', 4 << 5, 2], 5).is_err());
    }

    #[test]
    fn names_that_stand_twice() {
        let names = ["A", "B", "A", "A-1", "A"].map(String::from).to_vec();
        assert_eq!(unique(names).iter().collect::<Vec<_>>(), ["A", "B", "A-2", "A-1", "A-3"]);
    }
}
