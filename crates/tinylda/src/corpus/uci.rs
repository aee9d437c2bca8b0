//! Export of a corpus as UCI bag-of-words text.

use std::io::Write;
use std::path::Path;

use super::{Block, Corpus};
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::numbers::push_number;
use crate::progress::{ProgressCallback, Step};

/// Writes the corpus as UCI text to a writer. Errors in writing to `out` name `path`. `progress`
/// receives the number of blocks done.
pub fn write_uci(
    corpus: &Corpus,
    out: &mut dyn Write,
    path: &Path,
    progress: ProgressCallback<'_>,
) -> Result<()> {
    let shape = corpus.shape();
    let mut text = format!("{}\n{}\n{}\n", shape.documents, shape.words, shape.nonzeros).into_bytes();
    let (mut reader, mut block) = (corpus.reader(), Block::default());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block)?;
        for (d, document) in block.iter().enumerate() {
            let start = text.len();
            push_number(&mut text, block.first_document() + d as u64 + 1);
            text.push(b' ');
            let number = text[start..].to_vec();
            text.truncate(start);
            for (&w, &x) in document.words.iter().zip(document.counts) {
                text.extend_from_slice(&number);
                push_number(&mut text, u64::from(w) + 1);
                text.push(b' ');
                push_number(&mut text, u64::from(x));
                text.push(b'\n');
            }
        }
        out.write_all(&text).map_err(Error::io("write", path))?;
        text.clear();
        if progress(Step::Blocks.at(i as u64 + 1, corpus.blocks() as u64)).is_break() {
            return Err(Error::Interrupted);
        }
    }
    out.write_all(&text).and_then(|()| out.flush()).map_err(Error::io("write", path))
}

/// Writes the corpus as UCI text to a file, which appears only when it is complete.
pub fn save_uci(corpus: &Corpus, path: impl AsRef<Path>, progress: ProgressCallback<'_>) -> Result<()> {
    let path = path.as_ref();
    let mut out = AtomicFile::create(path)?;
    write_uci(corpus, &mut out, path, progress)?;
    out.commit()
}
