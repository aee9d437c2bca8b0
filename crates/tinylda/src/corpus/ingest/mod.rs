//! Imports data in any supported format into a corpus file.
//!
//! | task | module |
//! |---|---|
//! | detects what an input contains; start reading here | `detect` |
//! | opens files and streams, and decompresses them | `input`, `decompress` |
//! | options of an import, as plain data | `options` |
//! | decides how an input is read | `prepare` |
//! | reads lines and parses numbers | `lines` |
//! | reads bags of words in text formats | `uci`, `mtx`, `pairs` |
//! | reads matrices and tables by position | `binary`, `npz`, `h5ad`, `parquet` |
//! | decodes text to UTF-8 | `encoding` |
//! | extracts the text of HTML, XML and Word documents | `markup` |
//! | reads zip archives, names formats that are not supported | `archive`, `foreign` |
//! | reads raw text in two passes | `raw` |
//! | what was assumed and skipped, for a report to the user | `notes` |
//! | turns text into words | [`words`] |
//! | sorts entries that arrive in any order into documents | `sorter` |
//!
//! Nothing here depends on topics or on the training. To add a format, see CONTRIBUTING.md.

// If some readers are disabled, the helpers that they share are unused, and the functions that
// replace a reader do not use their parameters.
#![cfg_attr(
    not(all(
        feature = "text",
        feature = "parquet",
        feature = "hdf5",
        feature = "npz",
        feature = "compression"
    )),
    allow(dead_code, clippy::needless_pass_by_value, clippy::unused_self)
)]

#[cfg(feature = "text")]
pub(crate) mod archive;
mod binary;
#[cfg(feature = "compression")]
mod decompress;
mod detect;
#[cfg(any(feature = "npz", feature = "hdf5", feature = "parquet"))]
mod dtype;
#[cfg(feature = "text")]
pub(crate) mod encoding;
mod foreign;
#[cfg(feature = "hdf5")]
mod h5ad;
pub(crate) mod input;
pub(crate) mod lines;
#[cfg(feature = "text")]
pub(crate) mod markup;
#[cfg(any(feature = "npz", feature = "hdf5"))]
mod matrix;
mod mtx;
mod notes;
#[cfg(feature = "npz")]
mod npz;
mod options;
mod pairs;
#[cfg(feature = "parquet")]
mod parquet;
mod prepare;
#[cfg(feature = "text")]
pub(crate) mod raw;
mod shared_file;
pub(crate) mod sorter;
mod uci;
pub mod words;

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub use detect::{DetectedInput, InputKind};
pub use input::Compression;
pub use notes::{InputNotes, LineCount, RecordNotes, SkippedFile, SkippedFiles, TableNotes};
pub use options::{RecordOptions, TableColumns, TextPipeline};

use self::binary::BinaryInput;
use self::input::Input;
use self::lines::LineReader;
use self::options::other_family_error;
use self::prepare::PreparedInput;
use self::sorter::{CountMemory, DocumentSorter, SortLimits};
use self::words::DroppedTokens;
use super::{Shape, Vocabulary};
use crate::error::{Error, Position, Remedy, Result, Template};
use crate::files::{folder_of, same_file};
use crate::progress::{ProgressCallback, Step};

const ZERO_REMEDY: &str = "remove the entry, or skip zeros with {skip_zeros}";

/// Formats that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// UCI bag of words: the header lines D, W and NNZ, then `document word count` with numbers
    /// from 1.
    Uci,
    /// Matrix Market, coordinate format.
    MatrixMarket,
    /// SVMlight and libsvm: `label id:count …` with ids from 1.
    SvmLight,
    /// LDA-C: `pairs id:count …` with ids from 0.
    LdaC,
    /// Plain text with one document per line.
    Text,
    /// SciPy sparse matrix, as saved by `scipy.sparse.save_npz`.
    Npz,
    /// AnnData: cells are documents, genes or peaks are words.
    H5ad,
    /// Parquet table.
    Parquet,
    /// Delimited table, such as CSV or TSV.
    Csv,
    /// JSON Lines: one JSON object per line.
    JsonLines,
    /// MALLET: name, label and text of a document on one line.
    Mallet,
    /// Vowpal Wabbit: `label 'name |words word word:count`.
    VowpalWabbit,
    /// Folder of files with one document each: text, HTML, XML or Word documents.
    Folder,
    /// JSON: objects that span several lines, an array of objects or strings, or an object with one
    /// such array.
    Json,
    /// HTML page, which is one document.
    Html,
    /// XML document, such as TEI, which is one document.
    Xml,
    /// Word document (`.docx`), which is one document.
    Docx,
    /// Zip archive of files with one document each, or of one file in another format.
    Zip,
}

impl Format {
    /// Returns the name of the format, as used in messages and metadata.
    pub fn name(self) -> &'static str {
        match self {
            Format::Uci => "uci",
            Format::MatrixMarket => "mtx",
            Format::SvmLight => "svmlight",
            Format::LdaC => "ldac",
            Format::Text => "text",
            Format::Npz => "npz",
            Format::H5ad => "h5ad",
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::JsonLines => "jsonl",
            Format::Mallet => "mallet",
            Format::VowpalWabbit => "vw",
            Format::Folder => "folder",
            Format::Json => "json",
            Format::Html => "html",
            Format::Xml => "xml",
            Format::Docx => "docx",
            Format::Zip => "zip",
        }
    }

    /// Returns the cargo feature that reads the format; empty if none is needed.
    pub(crate) fn feature(self) -> &'static str {
        match self {
            Format::Uci | Format::MatrixMarket | Format::SvmLight | Format::LdaC => "",
            Format::Npz => "npz",
            Format::H5ad => "hdf5",
            Format::Parquet => "parquet",
            Format::Text
            | Format::Csv
            | Format::JsonLines
            | Format::Mallet
            | Format::VowpalWabbit
            | Format::Folder
            | Format::Json
            | Format::Html
            | Format::Xml
            | Format::Docx
            | Format::Zip => "text",
        }
    }

    /// All formats.
    pub const ALL: [Format; 18] = [
        Format::Uci,
        Format::MatrixMarket,
        Format::SvmLight,
        Format::LdaC,
        Format::Text,
        Format::Npz,
        Format::H5ad,
        Format::Parquet,
        Format::Csv,
        Format::JsonLines,
        Format::Mallet,
        Format::VowpalWabbit,
        Format::Folder,
        Format::Json,
        Format::Html,
        Format::Xml,
        Format::Docx,
        Format::Zip,
    ];

    /// Returns whether the format is raw text, which must be tokenized.
    pub fn is_raw(self) -> bool {
        self.feature() == "text"
    }
}

/// Options of an import.
#[derive(Debug, Clone, Default)]
pub struct Import {
    /// Format of the input; detected by default.
    pub format: Option<Format>,
    /// File with the vocabulary, one word per line.
    pub vocabulary: Option<PathBuf>,
    /// File with the document names, one per line.
    pub names: Option<PathBuf>,
    /// Matrix Market and npz: whether the documents are the columns.
    pub transpose: bool,
    /// SVMlight and LDA-C: the first word id; by default 1 for SVMlight and 0 for LDA-C.
    pub first_id: Option<u32>,
    /// Skips zero counts instead of refusing them.
    pub skip_zeros: bool,
    /// AnnData: the matrix to read: `X` (the default), `raw` or the name of a layer.
    pub layer: Option<String>,
    /// Parquet: the columns to read.
    pub columns: TableColumns,
    /// Raw text: where texts, names and labels are.
    pub records: RecordOptions,
    /// Raw text: how text is turned into words.
    pub words: TextPipeline,
    /// Ignores `words` for bags of words instead of refusing it.
    pub words_if_text: bool,
    /// Raw text: number of threads; 0 for all cores. The corpus does not depend on it.
    pub threads: usize,
    /// Memory limit in bytes; one gibibyte by default.
    pub memory: Option<u64>,
    /// Bytes that the process holds already, which count towards the limit.
    pub memory_in_use: u64,
}

/// Result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Size of the corpus.
    pub shape: Shape,
    /// Format of the first input.
    pub format: Format,
    /// Compression of the first input.
    pub compression: Compression,
    /// Number of documents without words.
    pub empty_documents: u64,
    /// Whether the input was out of order and had to be sorted through temporary files.
    pub sorted: bool,
    /// Raw text: the numbers of dropped tokens and words.
    pub dropped: Option<DroppedTokens>,
    /// Raw text: the dates of the documents; `None` if they have none.
    pub dates: Option<ImportedDates>,
    /// Raw text: the smallest memory limit in bytes with which the import would have succeeded.
    pub memory_needed: Option<u64>,
    /// What was assumed about each input, and what was skipped in it.
    pub inputs: Vec<InputNotes>,
}

/// Numbers of documents with and without a date.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedDates {
    /// Number of documents with a date.
    pub known: u64,
    /// Number of documents whose date is missing.
    pub missing: u64,
    /// Number of documents whose date cannot be read or is ambiguous.
    pub unreadable: u64,
    /// Number (from 1) of the first document whose date cannot be read; 0 if there is none.
    pub first_unreadable: u64,
}

/// Options that the readers need.
#[derive(Debug)]
struct ReadOptions {
    skip_zeros: bool,
    /// File of the given vocabulary and its number of words.
    vocabulary: Option<(PathBuf, u64)>,
}

impl ReadOptions {
    /// Refuses a wrong number of words: one that differs from the size of the given vocabulary, or
    /// one that is too large for the number of entries. The check runs before the entries are read,
    /// since every word costs 16 bytes.
    fn check_words(&self, lines: &LineReader<'_>, words: u64, entries: u64) -> Result<()> {
        if let Some((path, given)) = &self.vocabulary
            && *given != words
        {
            return Err(Error::Input {
                path: path.clone(),
                position: Position::Whole,
                found: format!("{given} words"),
                expected: Template::from(format!("{words} (W of "))
                    .text(lines.path().display().to_string())
                    .text(")"),
                remedy: "give the vocabulary of this corpus: line i names word i".into(),
            });
        }
        if words >= u64::from(u32::MAX)
            || words > MAX_UNCHECKED_WORDS.saturating_add(entries.saturating_mul(1000))
        {
            return Err(lines.line_error(
                format!("{words} words for {entries} entries"),
                "fewer than 4294967295 words, and not more than about 1000 per entry".into(),
                "correct the number, or number the words that occur from 1",
            ));
        }
        Ok(())
    }
}

/// Number of words that is accepted whatever the number of entries is.
const MAX_UNCHECKED_WORDS: u64 = 1 << 24;

/// Words that the input itself declares.
#[derive(Debug, Default)]
struct DeclaredWords {
    words: Option<u32>,
    vocabulary: Option<Vocabulary>,
}

impl Import {
    /// Imports `input` into the corpus file `output`. The path `-` stands for standard input.
    pub fn run(
        &self,
        input: impl AsRef<Path>,
        output: impl AsRef<Path>,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        let input = input.as_ref();
        let output = output.as_ref();
        self.run_detected(DetectedInput::open(input)?, output, progress)
    }

    /// Imports an input that is already open into the corpus file `output`.
    pub fn run_detected(
        &self,
        input: DetectedInput,
        output: impl AsRef<Path>,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        let output = output.as_ref();
        self.run_with(input, output, SortLimits::default(), progress)
    }

    /// Imports bytes from memory. Errors refer to them by `name`.
    pub fn run_on_bytes(&self, bytes: Vec<u8>, name: &str, output: impl AsRef<Path>) -> Result<Imported> {
        let output = output.as_ref();
        let total = bytes.len() as u64;
        let input = Input::new(Box::new(std::io::Cursor::new(bytes)), Path::new(name), Some(total))?;
        self.run_with(DetectedInput::new(input)?, output, SortLimits::default(), &mut |_| {
            ControlFlow::Continue(())
        })
    }

    /// Refuses to write the corpus over one of its inputs.
    fn check_output_is_no_input(&self, input: &Path, output: &Path) -> Result<()> {
        let mut inputs =
            [Some(input), self.vocabulary.as_deref(), self.names.as_deref()].into_iter().flatten();
        if inputs.any(|other| same_file(other, output)) {
            return Err(Error::out_of_range("output", output.display(), "another file than the inputs")
                .with_remedy("choose another name for the corpus"));
        }
        Ok(())
    }

    /// Imports several inputs into the corpus file `output`, with the documents in the order of the
    /// inputs. Several inputs must be raw text.
    pub fn run_all(
        &self,
        inputs: Vec<DetectedInput>,
        output: impl AsRef<Path>,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        let output = output.as_ref();
        match <[DetectedInput; 1]>::try_from(inputs) {
            Ok([input]) => self.run_with(input, output, SortLimits::default(), progress),
            Err(several) => self.run_several(several, output, progress),
        }
    }

    fn run_with(
        &self,
        detected: DetectedInput,
        output: &Path,
        limits: SortLimits,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        // The vocabulary is read before the documents, so that an error in it is reported before a
        // long import.
        let given = self.vocabulary.as_deref().map(Vocabulary::read).transpose()?;
        match self.prepare(detected, output, progress)? {
            #[cfg(feature = "text")]
            PreparedInput::Texts(texts) => self.run_texts(texts, output, progress),
            PreparedInput::Counts(input, format) => {
                self.check_options(&[format])?;
                self.run_counts(input, format, given, output, limits, progress)
            }
            PreparedInput::Binary { format, file, path, compression } => {
                let input = BinaryInput { format, file, path: &path, given };
                let mut done = self.run_binary(input, output, limits, progress)?;
                done.compression = compression;
                done.inputs.iter_mut().for_each(|notes| notes.compression = compression);
                Ok(done)
            }
        }
    }
    /// Imports a bag of words in a text format.
    fn run_counts(
        &self,
        input: Input,
        format: Format,
        given: Option<Vocabulary>,
        output: &Path,
        limits: SortLimits,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        let mut reading = |bytes, total| progress(Step::Reading.at(bytes, total));
        let limits = self.within_memory(limits)?;
        let mut sorter = DocumentSorter::new(output, &input.path, self.names.as_deref(), limits)?;
        if let Some(given) = &given {
            sorter.check_words(given.len() as u64, vocabulary_bytes(given))?;
        }
        let (path, compression) = (input.path.clone(), input.compression);
        let mut lines = LineReader::with_progress(input, &mut reading);
        lines.limit_memory(limits.memory);
        let out = &mut sorter;
        let options = ReadOptions {
            skip_zeros: self.skip_zeros,
            vocabulary: self.vocabulary.clone().zip(given.as_ref().map(|v| v.len() as u64)),
        };
        let declared = match format {
            Format::Uci => uci::read(&mut lines, &options, out)?,
            Format::MatrixMarket => mtx::read(&mut lines, self.transpose, &options, out)?,
            Format::SvmLight => pairs::read(
                &mut lines,
                pairs::PairFormat::SvmLight,
                self.first_id.unwrap_or(1),
                &options,
                out,
            )?,
            Format::LdaC => {
                pairs::read(&mut lines, pairs::PairFormat::LdaC, self.first_id.unwrap_or(0), &options, out)?
            }
            // All other formats are raw text or binary.
            _ => DeclaredWords::default(),
        };
        if sorter.entries() == 0 {
            return Err(lines.file_error(
                format!("no words (read as {})", format.name()),
                "at least one document with a word".into(),
                "check that this is the right file, and its {format}",
            ));
        }
        let vocabulary = given.or(declared.vocabulary);
        let seen = sorter.words() as u32;
        let words = declared
            .words
            .unwrap_or_else(|| vocabulary.as_ref().map_or(seen, |v| (v.len() as u32).max(seen)));
        options.check_words(&lines, u64::from(words), sorter.entries())?;
        drop(lines);
        let notes = InputNotes::new(path, format, compression);
        write_counts(sorter, words, vocabulary.as_ref(), notes, progress)
    }

    /// Returns the limits of the sort within the memory of the import.
    fn within_memory(&self, limits: SortLimits) -> Result<SortLimits> {
        let Some(limit) = self.memory else { return Ok(limits) };
        let within = SortLimits::within(CountMemory { limit, in_use: self.memory_in_use })?;
        Ok(SortLimits {
            entries: within.entries.min(limits.entries),
            fan_in: within.fan_in.min(limits.fan_in),
            ..within
        })
    }

    /// Refuses options that do not apply to any of the formats of the inputs, the first one first.
    fn check_options(&self, formats: &[Format]) -> Result<()> {
        let format = formats.first().copied().unwrap_or(Format::Text);
        let fits = |given: Option<&'static str>, fitting: &[Format], remedy: &str| match given {
            Some(name) if !formats.iter().any(|format| fitting.contains(format)) => {
                let with = fitting.iter().map(|f| format!("{{format={}}}", f.name()));
                Err(Error::only_with(name, with).with_remedy(remedy))
            }
            _ => Ok(()),
        };
        self.check_table_options(formats)?;
        let another = &format!("the input was read as {}", format.name());
        fits(self.transpose.then_some("transpose"), &[Format::MatrixMarket], another)?;
        let first_id = self.first_id.is_some().then_some("first_id");
        fits(first_id, &[Format::SvmLight, Format::LdaC], another)?;
        let folders = [Format::Folder, Format::Zip];
        fits(self.records.glob.is_some().then_some("glob"), &folders, another)?;
        fits(self.records.folder_labels.then_some("label_from"), &folders, another)?;
        let labelled = [
            Format::Csv,
            Format::JsonLines,
            Format::Json,
            Format::Mallet,
            Format::VowpalWabbit,
            Format::Parquet,
        ];
        fits(self.records.label_separator.is_some().then_some("label_separator"), &labelled, another)?;
        let has_labels = !self.records.label_columns.is_empty()
            || !self.records.label_fields.is_empty()
            || formats.iter().any(|format| matches!(format, Format::Mallet | Format::VowpalWabbit));
        if self.records.label_separator.is_some() && !has_labels {
            return Err(Error::requires("label_separator", "{label_column} or {label_field}"));
        }
        let tables = [Format::Csv, Format::Parquet];
        let tables = if formats.len() > 1 { &tables[..] } else { &tables[..1] };
        let json = [Format::JsonLines, Format::Json];
        for (option, fitting, others) in [
            (self.records.table_option(), tables, &json[..]),
            (self.records.json_option(), &json[..], &[Format::Csv][..]),
        ] {
            let misplaced = option.filter(|_| !formats.iter().any(|format| fitting.contains(format)));
            if let Some(error) = misplaced
                .filter(|_| others.contains(&format))
                .and_then(|option| other_family_error(option, format.name(), Path::new("the input")))
            {
                return Err(error);
            }
            fits(option, fitting, another)?;
        }
        let words = self.words.given().filter(|_| !self.words_if_text);
        let strict = self.records.strict.then_some("strict");
        let encoding = self.records.encoding.is_some().then_some("encoding");
        if let Some(name) = words.or(strict).or(encoding).filter(|_| !format.is_raw()) {
            return Err(Error::only_with(name, ["text"])
                .with_remedy(format!("{} input already consists of words", format.name())));
        }
        fits(
            self.vocabulary.is_some().then_some("vocab"),
            &[Format::Uci, Format::MatrixMarket, Format::SvmLight, Format::LdaC],
            "text has its own words; to use only the words of a file, give {vocabulary}",
        )
    }
}

/// Returns the input as a file that can be read by position: the file itself, or a decompressed
/// copy.
fn random_access(input: Input, output: &Path, progress: ProgressCallback<'_>) -> Result<File> {
    if input.reopenable && input.compression == Compression::None {
        return File::open(&input.path).map_err(Error::io("open", &input.path));
    }
    spool(input, output, progress)
}

/// Copies an input to a temporary file in the folder of the output.
fn spool(input: Input, output: &Path, progress: ProgressCallback<'_>) -> Result<File> {
    input.spool(&folder_of(output), &mut |bytes, total| progress(Step::Reading.at(bytes, total)))
}

/// Returns the bytes of a vocabulary that was given, and of the search for duplicates in it.
fn vocabulary_bytes(vocabulary: &Vocabulary) -> u64 {
    vocabulary.parts().0.len() as u64 + 32 * vocabulary.len() as u64
}

/// Sorts the counts of a bag of words into documents and writes the corpus.
fn write_counts(
    sorter: DocumentSorter,
    words: u32,
    vocabulary: Option<&Vocabulary>,
    notes: InputNotes,
    progress: ProgressCallback<'_>,
) -> Result<Imported> {
    let sorted = sorter.sorted();
    let mut sorting = |entries, total| progress(Step::Sorting.at(entries, total));
    let (shape, empty_documents) = sorter.finish(words, vocabulary, &mut sorting)?;
    Ok(Imported {
        shape,
        format: notes.format,
        compression: notes.compression,
        empty_documents,
        sorted,
        dropped: None,
        dates: None,
        memory_needed: None,
        inputs: vec![notes],
    })
}

/// Creates an error about a whole file.
fn file_error(path: &Path, found: String, expected: impl Into<Template>, remedy: impl Into<Remedy>) -> Error {
    Error::Input {
        path: path.to_path_buf(),
        position: Position::Whole,
        found,
        expected: expected.into(),
        remedy: remedy.into(),
    }
}

#[cfg(test)]
mod tests;
