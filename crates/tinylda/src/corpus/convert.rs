//! Export of a corpus to other formats, block by block. Start with [`convert`].

#[cfg(feature = "npz")]
mod npz;

use std::io::Write;
use std::path::Path;

use super::{Block, Corpus, Document, Vocabulary, write_uci};
use crate::error::{Error, Result};
use crate::files::{AtomicFile, same_file};
use crate::numbers::push_number;
use crate::progress::{ProgressCallback, Step};
use crate::table::{Cell, Column, Table, TableFormat};

/// Format that a corpus can be exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorpusFormat {
    /// UCI bag of words.
    Uci,
    /// Matrix Market, documents as rows.
    MatrixMarket,
    /// SVMlight, with a label of 0 and ids from 1.
    SvmLight,
    /// LDA-C.
    LdaC,
    /// SciPy sparse matrix (CSR), documents as rows.
    Npz,
    /// Table with the columns `document`, `word` and `count`, and a row for every non-zero.
    Parquet,
}

impl CorpusFormat {
    /// All formats.
    pub const ALL: [CorpusFormat; 6] = [
        CorpusFormat::Uci,
        CorpusFormat::MatrixMarket,
        CorpusFormat::SvmLight,
        CorpusFormat::LdaC,
        CorpusFormat::Npz,
        CorpusFormat::Parquet,
    ];

    /// Returns the format's name, as used in parameters.
    pub fn name(self) -> &'static str {
        match self {
            CorpusFormat::Uci => "uci",
            CorpusFormat::MatrixMarket => "mtx",
            CorpusFormat::SvmLight => "svmlight",
            CorpusFormat::LdaC => "ldac",
            CorpusFormat::Npz => "npz",
            CorpusFormat::Parquet => "parquet",
        }
    }

    /// Returns the format that a file's suffix implies. The suffix `.txt` is ambiguous and gives
    /// `None`.
    pub fn of_path(path: &Path) -> Option<CorpusFormat> {
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match suffix.as_str() {
            "uci" => CorpusFormat::Uci,
            "mtx" => CorpusFormat::MatrixMarket,
            "svm" | "svmlight" | "libsvm" => CorpusFormat::SvmLight,
            "ldac" | "lda-c" => CorpusFormat::LdaC,
            "npz" => CorpusFormat::Npz,
            "parquet" | "pq" => CorpusFormat::Parquet,
            _ => return None,
        })
    }

    /// Returns whether the format can be written to a stream. Text formats can.
    pub fn streams(self) -> bool {
        !matches!(self, CorpusFormat::Npz | CorpusFormat::Parquet)
    }
}

/// Writes the corpus in another format to a file, which appears only when it is complete.
pub fn convert(
    corpus: &Corpus,
    path: impl AsRef<Path>,
    format: CorpusFormat,
    progress: ProgressCallback<'_>,
) -> Result<()> {
    let path = path.as_ref();
    if corpus.path().is_some_and(|input| same_file(input, path)) {
        return Err(Error::out_of_range("output", path.display(), "another file than the corpus"));
    }
    match format {
        #[cfg(feature = "npz")]
        CorpusFormat::Npz => npz::write_npz(corpus, path, progress),
        #[cfg(not(feature = "npz"))]
        CorpusFormat::Npz => Err(crate::features::missing_feature("npz", "write", path)),
        CorpusFormat::Parquet => write_parquet(corpus, path, progress),
        _ => {
            let mut out = AtomicFile::create(path)?;
            write_text(corpus, &mut out, path, format, progress)?;
            out.commit()
        }
    }
}

/// Writes the corpus in a text format to a writer. Errors in writing to `out` name `path`. The
/// formats npz and Parquet cannot be streamed and are an error.
pub fn write_text(
    corpus: &Corpus,
    out: &mut dyn Write,
    path: &Path,
    format: CorpusFormat,
    progress: ProgressCallback<'_>,
) -> Result<()> {
    let shape = corpus.shape();
    let mut text = Vec::new();
    let each: fn(&mut Vec<u8>, u64, Document<'_>) = match format {
        CorpusFormat::Uci => return write_uci(corpus, out, path, progress),
        CorpusFormat::MatrixMarket => {
            let head = "%%MatrixMarket matrix coordinate integer general";
            text = format!("{head}\n{} {} {}\n", shape.documents, shape.words, shape.nonzeros).into_bytes();
            |text, d, document| {
                for (&w, &x) in document.words.iter().zip(document.counts) {
                    for (n, end) in [(d + 1, b' '), (u64::from(w) + 1, b' '), (u64::from(x), b'\n')] {
                        push_number(text, n);
                        text.push(end);
                    }
                }
            }
        }
        CorpusFormat::SvmLight => |text, _, document| {
            text.push(b'0');
            push_pairs(text, document, 1);
        },
        CorpusFormat::LdaC => |text, _, document| {
            push_number(text, document.words.len() as u64);
            push_pairs(text, document, 0);
        },
        CorpusFormat::Npz | CorpusFormat::Parquet => {
            let expected = format!("a file for {}", format.name());
            return Err(Error::out_of_range("output", "a stream", expected)
                .with_remedy("write to a file, or choose a text format"));
        }
    };
    for_each_block(corpus, progress, &mut |block, _| {
        for (d, document) in block.iter().enumerate() {
            each(&mut text, block.first_document() + d as u64, document);
        }
        out.write_all(&text).map_err(Error::io("write", path))?;
        text.clear();
        Ok(())
    })?;
    out.write_all(&text).and_then(|()| out.flush()).map_err(Error::io("write", path))
}

/// Appends ` word:count` for every word of a document, and a line feed. Word ids start at
/// `first_id`.
fn push_pairs(text: &mut Vec<u8>, document: Document<'_>, first_id: u64) {
    for (&w, &x) in document.words.iter().zip(document.counts) {
        text.push(b' ');
        push_number(text, u64::from(w) + first_id);
        text.push(b':');
        push_number(text, u64::from(x));
    }
    text.push(b'\n');
}

/// Calls `each` with every block and the names of its documents, in order.
fn for_each_block(
    corpus: &Corpus,
    progress: ProgressCallback<'_>,
    each: &mut dyn FnMut(&Block, &Vocabulary) -> Result<()>,
) -> Result<()> {
    let (mut reader, mut block) = (corpus.reader(), Block::default());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block)?;
        let names = reader.read_names(i)?;
        each(&block, &names)?;
        if progress(Step::Blocks.at(i as u64 + 1, corpus.blocks() as u64)).is_break() {
            return Err(Error::Interrupted);
        }
    }
    Ok(())
}

/// Writes the corpus as a Parquet table. Documents and words without names are numbered from 1.
fn write_parquet(corpus: &Corpus, path: &Path, progress: ProgressCallback<'_>) -> Result<()> {
    let vocabulary = corpus.vocabulary()?;
    let named = corpus.has_names();
    let columns = [
        if named { Column::text("document") } else { Column::whole("document") },
        if vocabulary.is_some() { Column::text("word") } else { Column::whole("word") },
        Column::whole("count"),
    ];
    let mut table = Table::create(path, TableFormat::Parquet, &columns)?;
    for_each_block(corpus, progress, &mut |block, names| {
        for (d, document) in block.iter().enumerate() {
            let first = if named {
                Cell::Text(names.get(d as u32).unwrap_or_default())
            } else {
                Cell::Whole(block.first_document() + d as u64 + 1)
            };
            for (&w, &x) in document.words.iter().zip(document.counts) {
                let word = match &vocabulary {
                    Some(vocabulary) => Cell::Text(vocabulary.get(w).unwrap_or_default()),
                    None => Cell::Whole(u64::from(w) + 1),
                };
                table.row(&[first, word, Cell::Whole(u64::from(x))])?;
            }
        }
        Ok(())
    })?;
    table.finish().map(drop)
}

/// Writes one line per string. Line breaks within a string become spaces.
fn write_lines<'a>(out: &mut AtomicFile, lines: impl Iterator<Item = &'a str>) -> Result<()> {
    for line in lines {
        out.put(line.replace(['\n', '\r'], " ").as_bytes())?;
        out.put(b"\n")?;
    }
    Ok(())
}

/// Writes the vocabulary, one word per line, in the format that the import reads. Returns `false`
/// if the corpus has no vocabulary.
pub fn save_vocabulary(corpus: &Corpus, path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    let Some(vocabulary) = corpus.vocabulary()? else { return Ok(false) };
    let mut out = AtomicFile::create(path)?;
    write_lines(&mut out, vocabulary.iter())?;
    out.commit()?;
    Ok(true)
}

/// Writes the documents' names, one per line, in the format that the import reads. Returns `false`
/// if the corpus has no names.
pub fn save_names(corpus: &Corpus, path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    if !corpus.has_names() {
        return Ok(false);
    }
    let mut out = AtomicFile::create(path)?;
    let mut reader = corpus.reader();
    for i in 0..corpus.blocks() {
        write_lines(&mut out, reader.read_names(i)?.iter())?;
    }
    out.commit()?;
    Ok(true)
}
