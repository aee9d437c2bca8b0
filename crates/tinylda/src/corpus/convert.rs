//! A corpus file back into the formats of others, block by block.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use zip::CompressionMethod;
use zip::result::ZipResult;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::{Block, Corpus, Document, Vocabulary, write_uci};
use crate::error::{Error, Result};
use crate::files::{AtomicFile, same_file};
use crate::model::npy_header;
use crate::numbers::push_number;
use crate::table::{Cell, Column, Table, TableFormat};

/// What a corpus can be turned into.
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
    /// A sparse matrix of scipy (csr), documents as rows.
    Npz,
    /// A table with a row for every document and word: `document`, `word`, `count`.
    Parquet,
}

impl CorpusFormat {
    /// Every format.
    pub const ALL: [CorpusFormat; 6] = [
        CorpusFormat::Uci,
        CorpusFormat::MatrixMarket,
        CorpusFormat::SvmLight,
        CorpusFormat::LdaC,
        CorpusFormat::Npz,
        CorpusFormat::Parquet,
    ];

    /// Its name on the command line.
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

    /// The format that a file's suffix stands for; `.txt` could be any.
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

    /// Whether it can go to a stream: text can.
    pub fn streams(self) -> bool {
        !matches!(self, CorpusFormat::Npz | CorpusFormat::Parquet)
    }
}

type Progress<'p> = &'p mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// Writes the corpus in another format to a file, which appears when it is whole.
pub fn convert(corpus: &Corpus, path: &Path, format: CorpusFormat, progress: Progress<'_>) -> Result<()> {
    if corpus.path().is_some_and(|input| same_file(input, path)) {
        return Err(Error::out_of_range("output", path.display(), "another file than the corpus"));
    }
    match format {
        CorpusFormat::Npz => write_npz(corpus, path, progress),
        CorpusFormat::Parquet => write_parquet(corpus, path, progress),
        _ => {
            let mut out = AtomicFile::create(path)?;
            write_text(corpus, &mut out, path, format, progress)?;
            out.commit()
        }
    }
}

/// Writes the corpus as text to anything that can be written to; errors of `out` name `path`. npz and Parquet cannot be streamed.
pub fn write_text(
    corpus: &Corpus,
    out: &mut dyn Write,
    path: &Path,
    format: CorpusFormat,
    progress: Progress<'_>,
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
            pairs(text, document, 1);
        },
        CorpusFormat::LdaC => |text, _, document| {
            push_number(text, document.words.len() as u64);
            pairs(text, document, 0);
        },
        CorpusFormat::Npz | CorpusFormat::Parquet => {
            let expected = format!("a file for {}", format.name());
            return Err(Error::out_of_range("output", "a stream", expected)
                .with_remedy("write to a file, or choose a text format"));
        }
    };
    blocks(corpus, progress, &mut |block, _| {
        for (d, document) in block.iter().enumerate() {
            each(&mut text, block.first_document() + d as u64, document);
        }
        out.write_all(&text).map_err(Error::io("write", path))?;
        text.clear();
        Ok(())
    })?;
    out.write_all(&text).and_then(|()| out.flush()).map_err(Error::io("write", path))
}

fn pairs(text: &mut Vec<u8>, document: Document<'_>, first_id: u64) {
    for (&w, &x) in document.words.iter().zip(document.counts) {
        text.push(b' ');
        push_number(text, u64::from(w) + first_id);
        text.push(b':');
        push_number(text, u64::from(x));
    }
    text.push(b'\n');
}

/// All blocks in order, with their documents' names.
fn blocks(
    corpus: &Corpus,
    progress: Progress<'_>,
    each: &mut dyn FnMut(&Block, &Vocabulary) -> Result<()>,
) -> Result<()> {
    let (mut reader, mut block) = (corpus.reader(), Block::default());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block)?;
        let names = reader.read_names(i)?;
        each(&block, &names)?;
        if progress(i as u64 + 1, corpus.blocks() as u64).is_break() {
            return Err(Error::Interrupted);
        }
    }
    Ok(())
}

/// Three passes over the corpus, one for each array, so that none is held in memory.
fn write_npz(corpus: &Corpus, path: &Path, progress: Progress<'_>) -> Result<()> {
    let shape = corpus.shape();
    let mut file = AtomicFile::create(path)?;
    let mut zip = ZipWriter::new(&mut file);
    let wide = shape.nonzeros > i32::MAX as u64 || u64::from(shape.words) > i32::MAX as u64;
    let index = if wide { "<i8" } else { "<i4" };
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let result = {
        let begin =
            |zip: &mut ZipWriter<&mut AtomicFile>, name: &str, dtype: &str, shape: &str| -> ZipResult<()> {
                zip.start_file(format!("{name}.npy"), options)?;
                Ok(zip.write_all(&npy_header(dtype, shape))?)
            };
        let failed = |e: zip::result::ZipError| Error::io("write", path)(e.into());
        let mut attempt = || -> Result<()> {
            let mut bytes = Vec::new();
            let (mut end, mut largest) = (0u64, 0u32);
            let total = 3 * corpus.blocks() as u64;
            let mut done = 0u64;
            let mut step = |_, _| {
                done += 1;
                progress(done, total)
            };
            let put = |bytes: &mut Vec<u8>, n: u64, wide: bool| {
                bytes.extend_from_slice(&n.to_le_bytes()[..if wide { 8 } else { 4 }]);
            };
            begin(&mut zip, "indptr", index, &format!("({},)", shape.documents + 1)).map_err(failed)?;
            put(&mut bytes, 0, wide);
            blocks(corpus, &mut step, &mut |block, _| {
                for document in block.iter() {
                    end += document.words.len() as u64;
                    put(&mut bytes, end, wide);
                }
                largest = block.counts.iter().copied().max().unwrap_or(0).max(largest);
                zip.write_all(&bytes).map_err(Error::io("write", path))?;
                bytes.clear();
                Ok(())
            })?;
            zip.write_all(&bytes).map_err(Error::io("write", path))?;
            let values = if largest > i32::MAX as u32 { "<i8" } else { "<i4" };
            for (name, dtype) in [("indices", index), ("data", values)] {
                begin(&mut zip, name, dtype, &format!("({},)", shape.nonzeros)).map_err(failed)?;
                blocks(corpus, &mut step, &mut |block, _| {
                    bytes.clear();
                    let list = if name == "data" { &block.counts } else { &block.words };
                    for &n in list {
                        put(&mut bytes, u64::from(n), dtype == "<i8");
                    }
                    zip.write_all(&bytes).map_err(Error::io("write", path))
                })?;
            }
            begin(&mut zip, "shape", "<i8", "(2,)").map_err(failed)?;
            for n in [shape.documents, u64::from(shape.words)] {
                zip.write_all(&n.to_le_bytes()).map_err(Error::io("write", path))?;
            }
            begin(&mut zip, "format", "|S3", "()").map_err(failed)?;
            zip.write_all(b"csr").map_err(Error::io("write", path))
        };
        attempt()
    };
    match result {
        Ok(()) => zip.finish().map(drop).map_err(|e| Error::io("write", path)(e.into()))?,
        Err(e) => {
            // Dropped unfinished, it would try to finish once more and print what goes wrong. It owns nothing.
            std::mem::forget(zip);
            return Err(e);
        }
    }
    file.commit()
}

fn write_parquet(corpus: &Corpus, path: &Path, progress: Progress<'_>) -> Result<()> {
    let vocabulary = corpus.vocabulary()?;
    let named = corpus.has_names();
    let columns = [
        if named { Column::text("document") } else { Column::whole("document") },
        if vocabulary.is_some() { Column::text("word") } else { Column::whole("word") },
        Column::whole("count"),
    ];
    let mut table = Table::create(path, TableFormat::Parquet, &columns)?;
    blocks(corpus, progress, &mut |block, names| {
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

/// Writes strings as lines; a line end within one becomes a blank.
fn put_lines<'a>(out: &mut AtomicFile, lines: impl Iterator<Item = &'a str>) -> Result<()> {
    for line in lines {
        out.put(line.replace(['\n', '\r'], " ").as_bytes())?;
        out.put(b"\n")?;
    }
    Ok(())
}

/// Writes the words, one per line, as the import reads a vocabulary. False where the corpus has none.
pub fn save_vocabulary(corpus: &Corpus, path: &Path) -> Result<bool> {
    let Some(vocabulary) = corpus.vocabulary()? else { return Ok(false) };
    let mut out = AtomicFile::create(path)?;
    put_lines(&mut out, vocabulary.iter())?;
    out.commit()?;
    Ok(true)
}

/// Writes the documents' names, one per line, as the import reads names. False where the corpus has none.
pub fn save_names(corpus: &Corpus, path: &Path) -> Result<bool> {
    if !corpus.has_names() {
        return Ok(false);
    }
    let mut out = AtomicFile::create(path)?;
    let mut reader = corpus.reader();
    for i in 0..corpus.blocks() {
        put_lines(&mut out, reader.read_names(i)?.iter())?;
    }
    out.commit()?;
    Ok(true)
}
