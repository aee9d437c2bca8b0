//! The corpus: any input -> a corpus file -> blocks of documents. Nothing here knows of topics.
//!
//! | question | file |
//! |---|---|
//! | my data -> a corpus file | `ingest/` |
//! | what are the bytes of a corpus file? | `format`, `block`, `pack` (and `docs/FORMAT.md`) |
//! | documents -> a file, a file -> documents | `writer`, `reader` |
//! | where does a document's text stand, how was the corpus made? | `place`, `about` |
//! | how long are the documents, how many words never occur? | `stats` |
//! | a train and a test part | `split` |
//! | a corpus of any size, out of nothing | `synth` |
//! | back to UCI text, or into other formats | `uci`, `convert` |

mod about;
mod block;
mod convert;
mod format;
pub mod ingest;
mod pack;
mod place;
mod reader;
mod sizes;
mod split;
mod stats;
mod synth;
mod uci;
mod vocab;
mod writer;

pub use about::{About, Source};
pub use block::{Block, Document};
pub use convert::{CorpusFormat, convert, save_names, save_vocabulary, write_text};
pub use place::TextPlace;
pub use reader::{BlockReader, Corpus, WordTotals};
pub use split::{Split, split};
pub use stats::{Lengths, Statistics};
pub use synth::{Synth, Synthetic};
pub use uci::{save_uci, write_uci};
pub use vocab::{Vocabulary, word_name};
pub use writer::{CorpusWriter, Details};

pub(crate) use block::{MAX_CHUNKS, MIN_CHUNK_NONZEROS, Packed};
pub(crate) use format::MAGIC;
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
