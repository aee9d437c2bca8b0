//! Importing: any supported input -> a corpus file.
//!
//! `input` opens and decompresses, `lines` cuts, one file per format reads entries, `assemble` brings them in order
//! and writes the corpus.

pub(crate) mod assemble;
mod binary;
mod h5ad;
pub(crate) mod input;
pub(crate) mod lines;
mod matrix;
mod mtx;
mod npz;
mod pairs;
mod parquet;
mod recognise;
mod text;
mod uci;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub use self::parquet::{ParquetRecords, Record, TableColumns};
pub use input::Compression;

use self::assemble::{Assembler, SortLimits};
use self::input::Input;
use self::lines::Lines;
use super::{Shape, Vocabulary};
use crate::error::{Error, Place, Result};
use crate::files::same_file;

const ZERO_REMEDY: &str = "Remove the entry, or say --skip-zeros to leave zeros out.";

/// The formats that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// UCI bag of words: D, W, NNZ, then `document word count`, from 1.
    Uci,
    /// Matrix Market, coordinate.
    MatrixMarket,
    /// SVMlight and libsvm: `label id:count …`, ids from 1.
    SvmLight,
    /// LDA-C: `pairs id:count …`, ids from 0.
    LdaC,
    /// A document per line.
    Text,
    /// A sparse matrix of scipy.
    Npz,
    /// AnnData: cells as documents.
    H5ad,
    /// A Parquet table.
    Parquet,
}

impl Format {
    /// Its name on the command line.
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
        }
    }

    /// Every format.
    pub const ALL: [Format; 8] = [
        Format::Uci,
        Format::MatrixMarket,
        Format::SvmLight,
        Format::LdaC,
        Format::Text,
        Format::Npz,
        Format::H5ad,
        Format::Parquet,
    ];
}

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct Import {
    /// The input's format; recognised where not given.
    pub format: Option<Format>,
    /// A file with the words, one per line.
    pub vocabulary: Option<PathBuf>,
    /// A file with the documents' names, one per line.
    pub names: Option<PathBuf>,
    /// Matrix Market and npz: documents are the columns.
    pub transpose: bool,
    /// SVMlight and LDA-C: the first word id; by default 1 and 0.
    pub first_id: Option<u32>,
    /// Leave zero counts out instead of refusing them.
    pub skip_zeros: bool,
    /// AnnData: which matrix to read, `X` (the default), `raw` or one of its layers.
    pub layer: Option<String>,
    /// Parquet: which columns to read.
    pub columns: TableColumns,
}

/// What an import is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportProgress {
    /// Bytes of the input file read, and how many there are.
    Reading {
        /// So far.
        bytes: u64,
        /// In all, where it is known.
        total: Option<u64>,
    },
    /// Entries brought in order.
    Sorting {
        /// So far.
        entries: u64,
        /// In all.
        total: u64,
    },
}

/// What an import did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// The corpus's size.
    pub shape: Shape,
    /// The format that was read.
    pub format: Format,
    /// How it was compressed.
    pub compression: Compression,
    /// Documents without words.
    pub empty_documents: u64,
    /// Whether the input was out of order and had to be sorted through temporary files.
    pub sorted: bool,
}

/// What the readers must know of the options.
#[derive(Debug)]
struct Expect {
    skip_zeros: bool,
    /// The vocabulary that was given: its file and how many words it has.
    vocabulary: Option<(PathBuf, u64)>,
}

impl Expect {
    /// Refuses a number of words that cannot be right: other than the vocabulary's, or so many for so few entries that
    /// it must be a slip. Found early, it costs neither the time of the import nor 16 bytes for each.
    fn check_words(&self, lines: &Lines<'_>, words: u64, entries: u64) -> Result<()> {
        if let Some((path, given)) = &self.vocabulary
            && *given != words
        {
            return Err(Error::Input {
                path: path.clone(),
                place: Place::Whole,
                found: format!("{given} words"),
                expected: format!("{words} (W of {})", lines.path().display()),
                remedy: "Give the vocabulary that belongs to this corpus: line i names word i.".into(),
            });
        }
        if words >= u64::from(u32::MAX) || words > MANY_WORDS.saturating_add(entries.saturating_mul(1000)) {
            return Err(lines.bad(
                format!("{words} words for {entries} entries"),
                "fewer than 4294967295 words, and not thousands for every entry".into(),
                "Correct the number, or number the words that occur from 1.",
            ));
        }
        Ok(())
    }
}

/// This many words are never too many.
const MANY_WORDS: u64 = 1 << 24;

/// What a format says of itself.
#[derive(Debug, Default)]
struct Declared {
    words: Option<u32>,
    vocabulary: Option<Vocabulary>,
}

impl Import {
    /// Imports `input` (`-`: standard input) into the corpus file `output`.
    pub fn run(
        &self,
        input: &Path,
        output: &Path,
        progress: &mut dyn FnMut(ImportProgress) -> ControlFlow<()>,
    ) -> Result<Imported> {
        if let Some(format) = self.binary_format(input)? {
            return self.run_binary(format, input, output, SortLimits::default(), progress);
        }
        self.run_with(Input::open(input)?, output, SortLimits::default(), progress)
    }

    /// Imports bytes that are already here; errors call them `name`.
    pub fn run_on_bytes(&self, bytes: Vec<u8>, name: &str, output: &Path) -> Result<Imported> {
        let total = bytes.len() as u64;
        let input = Input::new(Box::new(std::io::Cursor::new(bytes)), Path::new(name), Some(total))?;
        self.run_with(input, output, SortLimits::default(), &mut |_| ControlFlow::Continue(()))
    }

    fn run_with(
        &self,
        input: Input,
        output: &Path,
        limits: SortLimits,
        progress: &mut dyn FnMut(ImportProgress) -> ControlFlow<()>,
    ) -> Result<Imported> {
        for other in [Some(&input.path), self.vocabulary.as_ref(), self.names.as_ref()].into_iter().flatten()
        {
            if same_file(other, output) {
                return Err(Error::Setting {
                    option: "-o",
                    found: format!("the input file {}", output.display()),
                    expected: "another file".into(),
                    remedy: "Choose another name for the corpus.".into(),
                });
            }
        }
        let source = input.path.clone();
        let compression = input.compression;
        // Read before the corpus: a wrong vocabulary should not cost the time of the whole import.
        let given = self.vocabulary.as_deref().map(Vocabulary::read).transpose()?;
        let mut reading = |bytes, total| progress(ImportProgress::Reading { bytes, total });
        let mut lines = Lines::with_progress(input, &mut reading);
        let format = self.check_start(&mut lines)?;
        let mut assembler = Assembler::new(output, &source, self.names.as_deref(), limits)?;
        let out = &mut assembler;
        let expect = Expect {
            skip_zeros: self.skip_zeros,
            vocabulary: self.vocabulary.clone().zip(given.as_ref().map(|v| v.len() as u64)),
        };
        let declared = match format {
            Format::Uci => uci::read(&mut lines, &expect, out)?,
            Format::MatrixMarket => mtx::read(&mut lines, self.transpose, &expect, out)?,
            Format::SvmLight => {
                pairs::read(&mut lines, pairs::Flavour::SvmLight, self.first_id.unwrap_or(1), &expect, out)?
            }
            Format::LdaC => {
                pairs::read(&mut lines, pairs::Flavour::LdaC, self.first_id.unwrap_or(0), &expect, out)?
            }
            Format::Text => text::read(&mut lines, out)?,
            Format::Npz | Format::H5ad | Format::Parquet => {
                return Err(lines.bad_file(
                    format!("{} data from a stream, or compressed", format.name()),
                    "a file".into(),
                    "It is read from several places at once: save it to a file, uncompressed.",
                ));
            }
        };
        if assembler.entries() == 0 {
            return Err(lines.bad_file(
                format!("not a single word (read as {})", format.name()),
                "at least one document with a word".into(),
                "Check that this is the right file, and its --format.",
            ));
        }
        let vocabulary = given.or(declared.vocabulary);
        let seen = assembler.words() as u32;
        let words = declared
            .words
            .unwrap_or_else(|| vocabulary.as_ref().map_or(seen, |v| (v.len() as u32).max(seen)));
        expect.check_words(&lines, u64::from(words), assembler.entries())?;
        drop(lines);
        let sorted = assembler.sorted();
        let mut sorting = |entries, total| progress(ImportProgress::Sorting { entries, total });
        let (shape, empty_documents) = assembler.finish(words, vocabulary.as_ref(), &mut sorting)?;
        Ok(Imported { shape, format, compression, empty_documents, sorted })
    }

    /// Looks at the first lines: which format they are in, and whether the options fit it.
    fn check_start(&self, lines: &mut Lines<'_>) -> Result<Format> {
        let start = lines.peek()?;
        let format = self.format.unwrap_or_else(|| recognise::recognise(start));
        let refusal = if start.trim_ascii().is_empty() {
            Some(("an empty file", "Give a file with documents in it."))
        } else if start.starts_with(&super::MAGIC) {
            Some(("a corpus file", "It is imported already: use it as it is."))
        } else if self.format.is_none() && memchr::memchr(0, &start[..start.len().min(4096)]).is_some() {
            Some((
                "a binary file",
                "Give UCI, Matrix Market, SVMlight, LDA-C or plain text, compressed or not; or npz, h5ad or Parquet as a file.",
            ))
        } else {
            None
        };
        if let Some((found, remedy)) = refusal {
            return Err(lines.bad_file(found.into(), "documents to import".into(), remedy));
        }
        let fits = |option, given: bool, fitting: &[Format], remedy: &str| {
            if given && !fitting.contains(&format) {
                return Err(Error::Setting {
                    option,
                    found: format!("given with {} input", format.name()),
                    expected: format!(
                        "it only with {}",
                        fitting.iter().map(|f| f.name()).collect::<Vec<_>>().join(", ")
                    ),
                    remedy: remedy.into(),
                });
            }
            Ok(())
        };
        self.check_table_options(format)?;
        fits("--transpose", self.transpose, &[Format::MatrixMarket], "Leave it out, or name the --format.")?;
        fits(
            "--first-id",
            self.first_id.is_some(),
            &[Format::SvmLight, Format::LdaC],
            "Leave it out, or name the --format.",
        )?;
        fits(
            "--vocab",
            self.vocabulary.is_some(),
            &[Format::Uci, Format::MatrixMarket, Format::SvmLight, Format::LdaC],
            "Plain text brings its own words: leave it out, or name the --format.",
        )?;
        Ok(format)
    }
}

#[cfg(test)]
mod tests;
