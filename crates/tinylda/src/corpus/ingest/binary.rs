//! Inputs that are no streams of lines: npz, h5ad and Parquet. They are files with parts in many places, read by position.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use super::detect::detect_binary;
use super::input::Compression;
use super::matrix::bad;
use super::sorter::{DocumentSorter, SortLimits};
use super::{Expect, Format, Import, ImportProgress, Imported, TableColumns, Words, h5ad, npz, parquet};
use crate::corpus::Vocabulary;
use crate::error::{Error, Result};
use crate::files::{SharedFile, folder_of};

/// Takes a name.
type EachName<'n> = &'n mut dyn FnMut(&str) -> Result<()>;

/// A file of names, a line each, for the sorter: it may read them twice.
struct NamesFile(tempfile::NamedTempFile);

impl NamesFile {
    fn new(output: &Path) -> Result<NamesFile> {
        let folder = folder_of(output);
        let file = tempfile::Builder::new()
            .prefix(".tinylda-")
            .suffix(".tmp")
            .tempfile_in(&folder)
            .map_err(Error::io("create a temporary file in", &folder))?;
        Ok(NamesFile(file))
    }

    /// Takes names one after another, and writes each as a line.
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

/// Counts of words, in one of these formats.
enum Contents {
    Table(parquet::ParquetFile, parquet::Counts),
    Cells(SharedFile),
    Matrix(SharedFile),
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
                    "Check the file, or name another --format.",
                ))
            }
            Some(_) => Ok(None),
        }
    }

    /// Refuses options of tables where they would do nothing.
    pub(super) fn check_table_options(&self, format: Format) -> Result<()> {
        let c = &self.columns;
        let parquet = [
            ("--tokens-column", &c.tokens),
            ("--id-column", &c.id),
            ("--doc-column", &c.document),
            ("--word-column", &c.word),
            ("--count-column", &c.count),
        ];
        let given = parquet.iter().map(|&(option, value)| (option, value.is_some(), Format::Parquet));
        for (option, given, fitting) in given.chain([("--layer", self.layer.is_some(), Format::H5ad)]) {
            if given && format != fitting {
                return Err(Error::Setting {
                    option,
                    found: format!("given with {} input", format.name()),
                    expected: format!("it only with {}", fitting.name()),
                    remedy: "Leave it out, or name the --format.".into(),
                });
            }
        }
        Ok(())
    }

    /// Refuses other options that would do nothing. `texts`: it is a table with texts.
    fn check_binary_options(&self, format: Format, texts: bool) -> Result<()> {
        let (parts, npz) = (&self.parts, format == Format::Npz);
        let csv = parts.delimiter.is_some() || parts.header.is_some() || parts.no_quotes;
        let words = self.words != Words::default() && !self.words_if_text;
        let out = "Leave it out.";
        let made = "The words of this input are made already: leave it out.";
        let brings = if texts {
            "Text brings its own words: leave it out, or say --vocabulary to put it on the words of a file."
        } else {
            "The file brings its own words: leave it out."
        };
        let wrong = [
            ("--delimiter, --header or --quotes", csv, out),
            ("--text-field, --id-field or --label-field", parts.of_json(), "Say --text-column and the like."),
            ("--glob", parts.glob.is_some(), out),
            (
                "--text-column",
                !texts && !parts.text_columns.is_empty(),
                "Leave it out: there is no text in it.",
            ),
            (
                "--label-column",
                !texts && parts.label_column.is_some(),
                "Leave it out: only texts have labels.",
            ),
            ("--strict", !texts && parts.strict, out),
            ("an option for words of text", !texts && words, made),
            ("--id-column", parts.id_column.is_some() && format != Format::Parquet, out),
            ("--first-id", self.first_id.is_some(), out),
            ("--transpose", self.transpose && !npz, out),
            ("--vocab", self.vocabulary.is_some() && !npz, brings),
            (
                "--names",
                self.names.is_some() && !npz && !texts,
                "The file brings its own names: leave it out.",
            ),
        ];
        match wrong.into_iter().find(|&(_, wrong, _)| wrong) {
            Some((option, _, remedy)) => Err(Error::Setting {
                option,
                found: format!("given with {} input", format.name()),
                expected: "it only with other formats".into(),
                remedy: remedy.into(),
            }),
            None => Ok(()),
        }
    }

    /// Imports a file of one of these formats.
    pub(super) fn run_binary(
        &self,
        input: BinaryInput<'_>,
        output: &Path,
        limits: SortLimits,
        progress: &mut dyn FnMut(ImportProgress) -> ControlFlow<()>,
    ) -> Result<Imported> {
        let BinaryInput { format, file, path: input, given } = input;
        self.check_table_options(format)?;
        let bytes = file.bytes();
        let contents = match format {
            Format::Parquet => {
                let table = parquet::ParquetFile::open(input, file)?;
                let id = self.columns.id.clone().or_else(|| self.parts.id_column.clone());
                match table.form(&TableColumns { id, ..self.columns.clone() }, &self.parts)? {
                    parquet::Form::Texts(columns) => {
                        self.check_binary_options(format, true)?;
                        let mut texts = parquet::Texts::new(table, columns);
                        let shape = texts.shape();
                        return self.run_raw(&mut texts, shape, format, input, output, progress);
                    }
                    parquet::Form::Counts(form) => Contents::Table(table, form),
                }
            }
            Format::H5ad => Contents::Cells(file),
            _ => Contents::Matrix(file),
        };
        self.check_binary_options(format, false)?;
        let expect = Expect {
            skip_zeros: self.skip_zeros,
            vocabulary: self.vocabulary.clone().zip(given.as_ref().map(|v| v.len() as u64)),
        };
        // As a share of the file's bytes, since that is what a user knows.
        let mut reading = |done: u64, all: u64| {
            let share = done as f64 / all.max(1) as f64;
            let read = (share.min(1.0) * bytes as f64) as u64;
            progress(ImportProgress::Reading { bytes: read, total: Some(bytes) })
        };
        let spool = NamesFile::new(output)?;
        let (sorter, words, vocabulary) = match contents {
            Contents::Table(table, form) => {
                let named = spool.write(|each| table.names(&form, each))?;
                let names = named.then(|| spool.0.path());
                let mut out = DocumentSorter::new(output, input, names, limits)?;
                let found = table.read(&form, &expect, output, &mut out, &mut reading)?;
                (out, found.words, found.vocabulary)
            }
            Contents::Cells(file) => {
                let data = h5ad::open(input, &file, self.layer.as_deref())?;
                spool.write(|each| {
                    data.documents.iter().try_for_each(|name| each(name))?;
                    Ok(true)
                })?;
                let mut out = DocumentSorter::new(output, input, Some(spool.0.path()), limits)?;
                let words = data.matrix.read(false, &expect, &mut out, &mut reading)?;
                (out, words, Some(data.words))
            }
            Contents::Matrix(file) => {
                let matrix = npz::open(input, file)?;
                let mut out = DocumentSorter::new(output, input, self.names.as_deref(), limits)?;
                let words = matrix.read(self.transpose, &expect, &mut out, &mut reading)?;
                (out, words, given)
            }
        };
        if sorter.entries() == 0 {
            return Err(bad(
                input,
                format!("not a single word (read as {})", format.name()),
                "at least one document with a word",
                "Check that this is the right file.",
            ));
        }
        let sorted = sorter.sorted();
        let mut sorting = |entries, total| progress(ImportProgress::Sorting { entries, total });
        let (shape, empty_documents) = sorter.finish(words, vocabulary.as_ref(), &mut sorting)?;
        Ok(Imported { shape, format, compression: Compression::None, empty_documents, sorted, dropped: None })
    }
}
