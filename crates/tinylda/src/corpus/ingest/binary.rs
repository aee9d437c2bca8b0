//! Imports of the formats that are read by position instead of line by line: npz, h5ad and Parquet.
//!
//! Start with `Import::run_binary`. Each format is a cargo feature; without the feature the input
//! is refused. The formats themselves are read by `npz`, `h5ad` and `parquet`.

#[cfg(any(feature = "parquet", feature = "hdf5"))]
use std::io::Write;
use std::path::Path;

use super::detect::detect_binary;
use super::shared_file::SharedFile;
use super::sorter::SortLimits;
use super::{Format, Import, Imported, file_error};
use crate::corpus::Vocabulary;
use crate::error::{Error, Result};
use crate::features::missing_feature;
use crate::progress::ProgressCallback;
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
use crate::progress::Step;
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
use {super::ReadOptions, super::input::Compression, super::sorter::DocumentSorter};

/// Callback that receives a document name.
#[cfg(any(feature = "parquet", feature = "hdf5"))]
type NameCallback<'n> = &'n mut dyn FnMut(&str) -> Result<()>;

/// Temporary file of document names, one per line, for the sorter, which may read them twice.
#[cfg(any(feature = "parquet", feature = "hdf5"))]
struct NamesFile(crate::files::TemporaryFile);

#[cfg(any(feature = "parquet", feature = "hdf5"))]
impl NamesFile {
    fn new(output: &Path) -> Result<NamesFile> {
        let folder = crate::files::folder_of(output);
        let file = crate::files::TemporaryFile::new_in(&folder)
            .map_err(Error::io("create a temporary file in", &folder))?;
        Ok(NamesFile(file))
    }

    /// Writes names as lines. Returns whether there are any.
    fn write(&self, all: impl FnOnce(NameCallback<'_>) -> Result<bool>) -> Result<bool> {
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

/// Open file of a format that is read by position.
pub(super) struct BinaryInput<'a> {
    pub(super) format: Format,
    pub(super) file: SharedFile,
    /// Path that errors refer to.
    pub(super) path: &'a Path,
    /// Vocabulary given by the user.
    pub(super) given: Option<Vocabulary>,
}

/// All entries of a file and the vocabulary that they refer to.
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
struct CollectedEntries {
    sorter: DocumentSorter,
    words: u32,
    vocabulary: Option<Vocabulary>,
}

/// Converts progress in any unit to bytes of the file, which is the unit that users know.
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
fn progress_in_bytes(
    bytes: u64,
    progress: ProgressCallback<'_>,
) -> impl FnMut(u64, u64) -> std::ops::ControlFlow<()> {
    move |done, all| {
        let share = done as f64 / all.max(1) as f64;
        let read = (share.min(1.0) * bytes as f64) as u64;
        progress(Step::Reading.at(read, bytes))
    }
}

impl Import {
    /// Returns the binary format of an input, as given or as detected from its first bytes; `None`
    /// for other formats.
    pub(super) fn binary_format(&self, start: &[u8], input: &Path) -> Result<Option<Format>> {
        let found = detect_binary(start);
        match self.format {
            None => Ok(found),
            Some(format @ (Format::Npz | Format::H5ad | Format::Parquet | Format::Zip | Format::Docx)) => {
                let is_zip = matches!(found, Some(Format::Zip | Format::Npz));
                if found == Some(format) || is_zip && matches!(format, Format::Zip | Format::Docx) {
                    return Ok(Some(format));
                }
                let there = found.map_or("an unknown format", Format::name);
                Err(file_error(
                    input,
                    format!("{there} at the beginning of the file"),
                    format.name(),
                    "check the file, or choose another {format}",
                ))
            }
            // The file may be in an archive.
            Some(format) => Ok(found.filter(|&found| found == Format::Zip && format != Format::Folder)),
        }
    }

    /// Refuses table options that do not apply to any of the formats.
    pub(super) fn check_table_options(&self, formats: &[Format]) -> Result<()> {
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
            if given && !formats.contains(&fitting) {
                let format = formats.first().map_or("text", |format| format.name());
                return Err(Error::only_with(name, [format!("{{format={}}}", fitting.name())])
                    .with_remedy(format!("the input was read as {format}")));
            }
        }
        Ok(())
    }

    /// Refuses all other options that do not apply to the format. `texts` is set for a table with
    /// texts.
    fn check_binary_options(&self, format: Format, texts: bool) -> Result<()> {
        let (parts, npz) = (&self.records, format == Format::Npz);
        let words = self.words.given().filter(|_| !self.words_if_text);
        let made = "the file already contains words";
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
                parts.json_option().unwrap_or_default(),
                parts.json_option().is_some(),
                "use {text_column}, {id_column} and {label_column}",
            ),
            ("glob", parts.glob.is_some(), ""),
            ("text_column", !texts && !parts.text_columns.is_empty(), "the file contains no text"),
            ("label_column", !texts && !parts.label_columns.is_empty(), "only texts have labels"),
            ("date_column", !texts && parts.date_column.is_some(), "only texts have dates"),
            ("label_separator", !texts && parts.label_separator.is_some(), "only texts have labels"),
            ("label_from", parts.folder_labels, "only folders have subfolders"),
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

    /// Imports a file of a format that is read by position.
    pub(super) fn run_binary(
        &self,
        input: BinaryInput<'_>,
        output: &Path,
        limits: SortLimits,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        self.check_table_options(&[input.format])?;
        let limits = self.within_memory(limits)?;
        match input.format {
            #[cfg(feature = "parquet")]
            Format::Parquet => self.run_parquet(input, output, limits, progress),
            #[cfg(feature = "hdf5")]
            Format::H5ad => self.run_h5ad(&input, output, limits, progress),
            #[cfg(feature = "npz")]
            Format::Npz => self.run_npz(input, output, limits, progress),
            format => {
                let _ = (output, limits, progress);
                Err(missing_feature(format.feature(), "read", input.path))
            }
        }
    }

    /// Prepares a table with texts that is one of several inputs.
    #[cfg(feature = "text")]
    pub(super) fn prepare_table(
        &self,
        format: Format,
        file: SharedFile,
        path: &Path,
    ) -> Result<super::raw::import::PreparedText> {
        #[cfg(feature = "parquet")]
        if format == Format::Parquet {
            use super::parquet::{DocumentColumns, ParquetFile, ParquetTexts};
            let table = ParquetFile::open(path, file)?;
            let id = self.columns.id.clone().or_else(|| self.records.id_column.clone());
            let columns = super::TableColumns { id, ..self.columns.clone() };
            return match table.document_columns(&columns, &self.records)? {
                DocumentColumns::Texts(columns) => {
                    let texts = ParquetTexts::new(table, columns);
                    let (record_format, notes) = (texts.record_format(), texts.notes());
                    Ok(self.prepare_source(Box::new(texts), record_format, format, path, Some(notes)))
                }
                DocumentColumns::Counts(_) => Err(super::prepare::only_one(path, format)),
            };
        }
        let _ = file;
        Err(super::prepare::only_one(path, format))
    }

    #[cfg(feature = "parquet")]
    fn run_parquet(
        &self,
        input: BinaryInput<'_>,
        output: &Path,
        limits: SortLimits,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        use super::parquet::{DocumentColumns, PageMemory, ParquetFile};

        let BinaryInput { format, file, path, .. } = input;
        let bytes = file.bytes();
        let pages = self.memory.map(|limit| PageMemory::new(limit, self.memory_in_use));
        let table = ParquetFile::open(path, file)?.within(pages);
        let id = self.columns.id.clone().or_else(|| self.records.id_column.clone());
        let count_columns = match table
            .document_columns(&super::TableColumns { id, ..self.columns.clone() }, &self.records)?
        {
            #[cfg(feature = "text")]
            DocumentColumns::Texts(columns) => {
                self.check_binary_options(format, true)?;
                let texts = super::parquet::ParquetTexts::new(table, columns);
                let (record_format, notes) = (texts.record_format(), texts.notes());
                let text = self.prepare_source(Box::new(texts), record_format, format, path, Some(notes));
                return self.run_texts(vec![text], output, progress);
            }
            #[cfg(not(feature = "text"))]
            DocumentColumns::Texts(_) => return Err(missing_feature("text", "read", path)),
            DocumentColumns::Counts(columns) => columns,
        };
        self.check_binary_options(format, false)?;
        let names = NamesFile::new(output)?;
        let named = names.write(|each| table.names(&count_columns, each))?;
        let mut sorter = DocumentSorter::new(output, path, named.then(|| names.0.path()), limits)?;
        let options = ReadOptions { skip_zeros: self.skip_zeros, vocabulary: None };
        let found = table.read(
            &count_columns,
            &options,
            output,
            &mut sorter,
            &mut progress_in_bytes(bytes, progress),
        )?;
        let entries = CollectedEntries { sorter, words: found.words, vocabulary: found.vocabulary };
        write_corpus(entries, format, path, progress)
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
        let options = ReadOptions { skip_zeros: self.skip_zeros, vocabulary: None };
        let mut reading = progress_in_bytes(input.file.bytes(), progress);
        let words = data.matrix.read(false, &options, &mut sorter, &mut reading)?;
        drop(reading);
        let entries = CollectedEntries { sorter, words, vocabulary: Some(data.words) };
        write_corpus(entries, input.format, input.path, progress)
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
        let options = ReadOptions {
            skip_zeros: self.skip_zeros,
            vocabulary: self.vocabulary.clone().zip(given.as_ref().map(|v| v.len() as u64)),
        };
        let words =
            matrix.read(self.transpose, &options, &mut sorter, &mut progress_in_bytes(bytes, progress))?;
        write_corpus(CollectedEntries { sorter, words, vocabulary: given }, format, path, progress)
    }
}

/// Writes the corpus from the collected entries.
#[cfg(any(feature = "parquet", feature = "hdf5", feature = "npz"))]
fn write_corpus(
    entries: CollectedEntries,
    format: Format,
    path: &Path,
    progress: ProgressCallback<'_>,
) -> Result<Imported> {
    let CollectedEntries { sorter, words, vocabulary } = entries;
    if sorter.entries() == 0 {
        return Err(file_error(
            path,
            format!("no words (read as {})", format.name()),
            "at least one document with a word",
            "check that this is the right file",
        ));
    }
    let notes = super::InputNotes::new(path.to_path_buf(), format, Compression::None);
    super::write_counts(sorter, words, vocabulary.as_ref(), notes, progress)
}
