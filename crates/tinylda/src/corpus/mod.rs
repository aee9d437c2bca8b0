//! The corpus: documents as lists of (word, count), in blocks, in a file or in memory. Nothing here depends on topics.
//!
//! | module | content |
//! |---|---|
//! | `ingest/` | reads data in other formats and writes a corpus file |
//! | `builder`, `csr` | builds a corpus in memory from documents or from a sparse matrix |
//! | `writer`, `reader` | writes and reads a corpus, document by document and block by block |
//! | `source` | the bytes of a corpus: a file or memory |
//! | `format`, `block`, `pack` | layout of the bytes (see `docs/FORMAT.md`) |
//! | `place`, `about` | positions of the documents' texts, how the corpus was made |
//! | `stats` | document lengths, unused words |
//! | `split` | a training and a test corpus |
//! | `synth` | synthetic corpora of any size |
//! | `uci`, `convert` | export to UCI text and other formats |

mod about;
mod block;
mod builder;
mod convert;
mod csr;
mod format;
pub mod ingest;
mod pack;
mod place;
mod reader;
mod sizes;
mod source;
mod split;
mod stats;
mod synth;
mod uci;
mod vocab;
mod writer;

pub use about::{About, Source};
pub use block::{Block, Document};
pub use builder::CorpusBuilder;
pub use convert::{CorpusFormat, convert, save_names, save_vocabulary, write_text};
pub use csr::{Csr, CsrIndex, CsrValue};
pub use place::TextPlace;
pub use reader::{BlockReader, Corpus, WordTotals};
pub use split::{Split, split};
pub use stats::{Lengths, Statistics};
pub use synth::{Synth, Synthetic};
pub use uci::{save_uci, write_uci};
pub use vocab::{Vocabulary, word_name};
pub use writer::{CorpusWriter, Details, DocumentFields};

pub(crate) use block::{MAX_CHUNKS, MIN_CHUNK_NONZEROS, Packed};
pub(crate) use format::MAGIC;
#[cfg(test)]
pub(crate) use sizes::Longest;
pub(crate) use sizes::PieceSizes;

/// The size of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// D, the number of documents, empty ones included.
    pub documents: u64,
    /// W, the number of words, those that never occur included.
    pub words: u32,
    /// NNZ, the number of different (document, word) pairs.
    pub nonzeros: u64,
    /// N, the sum of all counts.
    pub tokens: u64,
}
