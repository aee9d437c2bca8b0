//! Inputs that are read by position instead of line by line: npz, h5ad and Parquet.
//!
//! Each of them is a cargo feature; without it, the input is refused.

#[cfg(any(feature = "parquet", feature = "hdf5"))]
use std::io::Write;
use std::path::Path;

use super::detect::detect_binary;
use super::shared_file::SharedFile;
use super::sorter::SortLimits;
use super::{Format, Import, Imported, bad};
use crate::corpus::Vocabulary;
use crate::error::{Error, Result};
use crate::features::missing;
use crate::progress::ProgressCallback;
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
use crate::progress::Step;
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
use {super::Expect, super::input::Compression, super::sorter::DocumentSorter};

/// Takes a name.
#[cfg(any(feature = "parquet", feature = "hdf5"))]
type EachName<'n> = &'n mut dyn FnMut(&str) -> Result<()>;

/// A temporary file of names, one per line, for the sorter, which may read them twice.
#[cfg(any(feature = "parquet", feature = "hdf5"))]
struct NamesFile(tempfile::NamedTempFile);

#[cfg(any(feature = "parquet", feature = "hdf5"))]
impl NamesFile {
    fn new(output: &Path) -> Result<NamesFile> {
        let folder = crate::files::folder_of(output);
        let file = tempfile::Builder::new()
            .prefix(".tinylda-")
            .suffix(".tmp")
            .tempfile_in(&folder)
            .map_err(Error::io("create a temporary file in", &folder))?;
        Ok(NamesFile(file))
    }

    /// Writes names as lines. Returns whether there are any.
    fn write(&self, all: impl FnOnce(EachName<'_>) -> Result<bool>) -> Result<bool> {
        let mut out = std::io::BufWriter::new(self.0.as_file());
        let path = self.0.path();
        let mut line = String::new();
        let found = all(&mut |name| {
            line.clear();
            line.extend(name.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
            line.push('\n');
            out.write_all(line.as_bytes()).map_err(Error::io("write", path))
        })?;
        out.flush().map_err(Error::io("write", path))?;
        Ok(found)
    }
}

/// A file of one of these formats.
pub(super) struct BinaryInput<'a> {
    pub(super) format: Format,
    pub(super) file: SharedFile,
    /// Errors call the file by this path.
    pub(super) path: &'a Path,
    /// The vocabulary that the user gave.
    pub(super) given: Option<Vocabulary>,
}

/// All entries of a file, and the words that they refer to.
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
struct Entries {
    sorter: DocumentSorter,
    words: u32,
    vocabulary: Option<Vocabulary>,
}

/// Turns a share of the work into bytes of the file, which is what a user knows.
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
fn in_bytes(bytes: u64, progress: ProgressCallback<'_>) -> impl FnMut(u64, u64) -> std::ops::ControlFlow<()> {
    move |done, all| {
        let share = done as f64 / all.max(1) as f64;
        let read = (share.min(1.0) * bytes as f64) as u64;
        progress(Step::Reading.at(read, bytes))
    }
}

impl Import {
    /// Which of these formats an input is in, if any: as it was said, or as it begins.
    pub(super) fn binary_format(&self, start: &[u8], input: &Path) -> Result<Option<Format>> {
        let found = detect_binary(start);
        match self.format {
            None => Ok(found),
            Some(format @ (Format::Npz | Format::H5ad | Format::Parquet)) => {
                if found == Some(format) {
                    return Ok(found);
                }
                let there = found.map_or("something else", Format::name);
                Err(bad(
                    input,
                    format!("{there} at the beginning"),
                    format.name(),
                    "check the file, or choose another {format}",
                ))
            }
            Some(_) => Ok(None),
        }
    }

    /// Refuses options of tables where they would do nothing.
    pub(super) fn check_table_options(&self, format: Format) -> Result<()> {
        let c = &self.columns;
        let parquet = [
            ("tokens_column", &c.tokens),
            ("id_column", &c.id),
            ("doc_column", &c.document),
            ("word_column", &c.word),
            ("count_column", &c.count),
        ];
        let given = parquet.iter().map(|&(name, value)| (name, value.is_some(), Format::Parquet));
        for (name, given, fitting) in given.chain([("layer", self.layer.is_some(), Format::H5ad)]) {
            if given && format != fitting {
                return Err(Error::only_with(name, [format!("{{format={}}}", fitting.name())])
                    .with_remedy(format!("the input was read as {}", format.name())));
            }
        }
        Ok(())
    }

    /// Refuses other options that would do nothing. `texts`: it is a table with texts.
    fn check_binary_options(&self, format: Format, texts: bool) -> Result<()> {
        let (parts, npz) = (&self.parts, format == Format::Npz);
        let words = self.words.given().filter(|_| !self.words_if_text);
        let made = "the file contains words already";
        let brings = if texts {
            "text has its own words; to use only the words of a file, give {vocabulary}"
        } else {
            "the file contains its own words"
        };
        let wrong = [
            ("delimiter", parts.delimiter.is_some(), ""),
            ("header", parts.header.is_some(), ""),
            ("quotes", parts.no_quotes, ""),
            (
                parts.of_json().unwrap_or_default(),
                parts.of_json().is_some(),
                "use {text_column} and the like",
            ),
            ("glob", parts.glob.is_some(), ""),
            ("text_column", !texts && !parts.text_columns.is_empty(), "the file contains no text"),
            ("label_column", !texts && parts.label_column.is_some(), "only texts have labels"),
            ("strict", !texts && parts.strict, ""),
            (words.unwrap_or_default(), !texts && words.is_some(), made),
            ("id_column", parts.id_column.is_some() && format != Format::Parquet, ""),
            ("first_id", self.first_id.is_some(), ""),
            ("transpose", self.transpose && !npz, ""),
            ("vocab", self.vocabulary.is_some() && !npz, brings),
            ("names", self.names.is_some() && !npz && !texts, "the file contains its own names"),
        ];
        match wrong.into_iter().find(|&(_, wrong, _)| wrong) {
            Some((name, _, remedy)) => {
                Err(Error::conflict(name, format!("{} input", format.name())).with_remedy(remedy))
            }
            None => Ok(()),
        }
    }

    /// Imports a file of one of these formats.
    pub(super) fn run_binary(
        &self,
        input: BinaryInput<'_>,
        output: &Path,
        limits: SortLimits,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        self.check_table_options(input.format)?;
        match input.format {
            #[cfg(feature = "parquet")]
            Format::Parquet => self.run_parquet(input, output, limits, progress),
            #[cfg(feature = "hdf5")]
            Format::H5ad => self.run_h5ad(&input, output, limits, progress),
            #[cfg(feature = "npz")]
            Format::Npz => self.run_npz(input, output, limits, progress),
            format => {
                let _ = (output, limits, progress);
                Err(missing(format.feature(), "read", input.path))
            }
        }
    }

    #[cfg(feature = "parquet")]
    fn run_parquet(
        &self,
        input: BinaryInput<'_>,
        output: &Path,
        limits: SortLimits,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        use super::parquet::{Form, ParquetFile};

        let BinaryInput { format, file, path, .. } = input;
        let bytes = file.bytes();
        let table = ParquetFile::open(path, file)?;
        let id = self.columns.id.clone().or_else(|| self.parts.id_column.clone());
        let form = match table.form(&super::TableColumns { id, ..self.columns.clone() }, &self.parts)? {
            #[cfg(feature = "text")]
            Form::Texts(columns) => {
                self.check_binary_options(format, true)?;
                let mut texts = super::parquet::Texts::new(table, columns);
                let shape = texts.shape();
                return self.run_raw(&mut texts, shape, format, path, output, progress);
            }
            #[cfg(not(feature = "text"))]
            Form::Texts(_) => return Err(missing("text", "read", path)),
            Form::Counts(form) => form,
        };
        self.check_binary_options(format, false)?;
        let names = NamesFile::new(output)?;
        let named = names.write(|each| table.names(&form, each))?;
        let mut sorter = DocumentSorter::new(output, path, named.then(|| names.0.path()), limits)?;
        let expect = Expect { skip_zeros: self.skip_zeros, vocabulary: None };
        let found = table.read(&form, &expect, output, &mut sorter, &mut in_bytes(bytes, progress))?;
        let entries = Entries { sorter, words: found.words, vocabulary: found.vocabulary };
        finish_binary(entries, format, path, progress)
    }

    #[cfg(feature = "hdf5")]
    fn run_h5ad(
        &self,
        input: &BinaryInput<'_>,
        output: &Path,
        limits: SortLimits,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        self.check_binary_options(input.format, false)?;
        let names = NamesFile::new(output)?;
        let data = super::h5ad::open(input.path, &input.file, self.layer.as_deref())?;
        names.write(|each| {
            data.documents.iter().try_for_each(|name| each(name))?;
            Ok(true)
        })?;
        let mut sorter = DocumentSorter::new(output, input.path, Some(names.0.path()), limits)?;
        let expect = Expect { skip_zeros: self.skip_zeros, vocabulary: None };
        let mut reading = in_bytes(input.file.bytes(), progress);
        let words = data.matrix.read(false, &expect, &mut sorter, &mut reading)?;
        drop(reading);
        let entries = Entries { sorter, words, vocabulary: Some(data.words) };
        finish_binary(entries, input.format, input.path, progress)
    }

    #[cfg(feature = "npz")]
    fn run_npz(
        &self,
        input: BinaryInput<'_>,
        output: &Path,
        limits: SortLimits,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        let BinaryInput { format, file, path, given } = input;
        self.check_binary_options(format, false)?;
        let bytes = file.bytes();
        let matrix = super::npz::open(path, file)?;
        let mut sorter = DocumentSorter::new(output, path, self.names.as_deref(), limits)?;
        let expect = Expect {
            skip_zeros: self.skip_zeros,
            vocabulary: self.vocabulary.clone().zip(given.as_ref().map(|v| v.len() as u64)),
        };
        let words = matrix.read(self.transpose, &expect, &mut sorter, &mut in_bytes(bytes, progress))?;
        finish_binary(Entries { sorter, words, vocabulary: given }, format, path, progress)
    }
}

/// Writes the corpus.
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
fn finish_binary(
    entries: Entries,
    format: Format,
    path: &Path,
    progress: ProgressCallback<'_>,
) -> Result<Imported> {
    let Entries { sorter, words, vocabulary } = entries;
    if sorter.entries() == 0 {
        return Err(bad(
            path,
            format!("not a single word (read as {})", format.name()),
            "at least one document with a word",
            "check that this is the right file",
        ));
    }
    let sorted = sorter.sorted();
    let mut sorting = |entries, total| progress(Step::Sorting.at(entries, total));
    let (shape, empty_documents) = sorter.finish(words, vocabulary.as_ref(), &mut sorting)?;
    Ok(Imported { shape, format, compression: Compression::None, empty_documents, sorted, dropped: None })
}
