//! Importing: any supported input -> a corpus file.
//!
//! `input` opens and decompresses, `lines` cuts, one file per format reads entries, `assemble` brings them in order
//! and writes the corpus.

pub(crate) mod assemble;
pub(crate) mod input;
pub(crate) mod lines;
mod mtx;
mod pairs;
mod text;
mod uci;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub use input::Compression;

use self::assemble::{Assembler, SortLimits};
use self::input::Input;
use self::lines::{Lines, fields, whole_number};
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
        }
    }

    /// Every format.
    pub const ALL: [Format; 5] =
        [Format::Uci, Format::MatrixMarket, Format::SvmLight, Format::LdaC, Format::Text];
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
    /// Matrix Market: documents are the columns.
    pub transpose: bool,
    /// SVMlight and LDA-C: the first word id; by default 1 and 0.
    pub first_id: Option<u32>,
    /// Leave zero counts out instead of refusing them.
    pub skip_zeros: bool,
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
        let declared = match format {
            Format::Uci => uci::read(&mut lines, self.skip_zeros, out)?,
            Format::MatrixMarket => mtx::read(&mut lines, self.transpose, self.skip_zeros, out)?,
            Format::SvmLight => pairs::read(
                &mut lines,
                pairs::Flavour::SvmLight,
                self.first_id.unwrap_or(1),
                self.skip_zeros,
                out,
            )?,
            Format::LdaC => pairs::read(
                &mut lines,
                pairs::Flavour::LdaC,
                self.first_id.unwrap_or(0),
                self.skip_zeros,
                out,
            )?,
            Format::Text => text::read(&mut lines, out)?,
        };
        drop(lines);
        if assembler.entries() == 0 {
            return Err(Error::Input {
                path: source,
                place: Place::Whole,
                found: "not a single word".into(),
                expected: "at least one document with a word".into(),
                remedy: "Check that this is the right file, and its --format.".into(),
            });
        }
        let vocabulary = given.or(declared.vocabulary);
        let seen = assembler.words() as u32;
        let words = declared
            .words
            .unwrap_or_else(|| vocabulary.as_ref().map_or(seen, |v| (v.len() as u32).max(seen)));
        if let (Some(v), Some(path)) = (&vocabulary, &self.vocabulary)
            && v.len() != words as usize
        {
            return Err(Error::Input {
                path: path.clone(),
                place: Place::Whole,
                found: format!("{} words", v.len()),
                expected: format!("{words} (W of {})", source.display()),
                remedy: "Give the vocabulary that belongs to this corpus: line i names word i.".into(),
            });
        }
        let sorted = assembler.sorted();
        let mut sorting = |entries, total| progress(ImportProgress::Sorting { entries, total });
        let (shape, empty_documents) = assembler.finish(words, vocabulary.as_ref(), &mut sorting)?;
        Ok(Imported { shape, format, compression, empty_documents, sorted })
    }

    /// Looks at the first lines: which format they are in, and whether the options fit it.
    fn check_start(&self, lines: &mut Lines<'_>) -> Result<Format> {
        let start = lines.peek()?;
        let refuse = |found: &str, remedy: &str| Error::Input {
            path: PathBuf::new(),
            place: Place::Whole,
            found: found.into(),
            expected: "documents to import".into(),
            remedy: remedy.into(),
        };
        let refusal = if start.trim_ascii().is_empty() {
            Some(refuse("an empty file", "Give a file with documents in it."))
        } else if start.starts_with(&super::MAGIC) {
            Some(refuse("a corpus file", "It is imported already: use it as it is."))
        } else if self.format.is_none() && memchr::memchr(0, &start[..start.len().min(4096)]).is_some() {
            Some(refuse(
                "a binary file",
                "Give UCI, Matrix Market, SVMlight, LDA-C or plain text, compressed or not.",
            ))
        } else {
            None
        };
        if let Some(Error::Input { place, found, expected, remedy, .. }) = refusal {
            return Err(Error::Input { path: lines.input().path.clone(), place, found, expected, remedy });
        }
        let format = self.format.unwrap_or_else(|| recognise(start));
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

/// The format that the first lines of a file are in. Text is what is left when nothing else fits.
fn recognise(start: &[u8]) -> Format {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    if start.len() >= 14 && start[..14].eq_ignore_ascii_case(b"%%MatrixMarket") {
        return Format::MatrixMarket;
    }
    // Only whole lines can be judged, unless there is but one.
    let whole = memchr::memrchr(b'\n', start).map_or(start, |end| &start[..end]);
    let lines: Vec<Vec<&[u8]>> = whole
        .split(|&b| b == b'\n')
        .map(|line| fields(line).collect::<Vec<_>>())
        .filter(|line| !line.is_empty())
        .take(50)
        .collect();
    let numeric = |field: &[u8]| std::str::from_utf8(field).is_ok_and(|s| s.parse::<f64>().is_ok());
    // A UCI header may be wrong in one line; it should then be told so, and not be read as text.
    let header = lines.iter().take(3).filter(|line| line.len() == 1 && numeric(line[0])).count();
    let entries = lines.iter().skip(3).all(|line| line.len() == 3 && line.iter().all(|field| numeric(field)));
    if lines.len() >= 3 && entries && (header == 3 || header == 2 && lines.len() > 3) {
        return Format::Uci;
    }
    let pair = |field: &&[u8]| {
        memchr::memchr(b':', field).is_some_and(|at| {
            at > 0
                && (whole_number(&field[..at]).is_some() || &field[..at] == b"qid")
                && numeric(&field[at + 1..])
        })
    };
    let documents: Vec<&[&[u8]]> = lines
        .iter()
        .map(|line| {
            let end = line.iter().position(|field| field.starts_with(b"#")).unwrap_or(line.len());
            &line[..end]
        })
        .filter(|line| !line.is_empty())
        .collect();
    let paired = !documents.is_empty()
        && documents.iter().any(|line| line.len() > 1)
        && documents.iter().all(|line| numeric(line[0]) && line[1..].iter().all(pair));
    if !paired {
        return Format::Text;
    }
    let counted = documents.iter().all(|line| whole_number(line[0]) == Some(line.len() as u64 - 1));
    if counted { Format::LdaC } else { Format::SvmLight }
}

#[cfg(test)]
mod tests;
