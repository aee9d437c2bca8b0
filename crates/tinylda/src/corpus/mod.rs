//! The corpus: documents as lists of (word, count), in blocks, in a file or in memory.
//!
//! Nothing here depends on topics. Start with [`Corpus`] to read and [`CorpusBuilder`] to build
//! one.
//!
//! | module | content |
//! |---|---|
//! | `ingest/` | imports data in other formats into a corpus file |
//! | `builder`, `csr` | builds a corpus in memory from documents or from a sparse matrix |
//! | `writer`, `reader` | writes and reads a corpus, document by document and block by block |
//! | `source` | the bytes of a corpus: a file or memory |
//! | `format`, `block`, `pack` | layout of the bytes (see `docs/FORMAT.md`) |
//! | `labels`, `date` | labels of documents, notations of dates |
//! | `place`, `about` | positions of the documents' texts, metadata on how the corpus was made |
//! | `sizes` | sizes of blocks and pieces, for the memory plan |
//! | `stats` | document lengths, unused words |
//! | `totals` | check of the word totals against the documents |
//! | `vocab` | the words' names |
//! | `split` | divides a corpus into a training and a test part |
//! | `synth` | synthetic corpora of any size |
//! | `uci`, `convert`, `metadata` | export to UCI text, other formats and tables |

mod about;
mod block;
mod builder;
mod convert;
mod csr;
mod date;
mod format;
pub mod ingest;
mod labels;
mod metadata;
mod pack;
mod place;
mod reader;
mod sizes;
mod source;
mod split;
mod stats;
mod synth;
mod totals;
mod uci;
mod vocab;
mod writer;

pub use about::{About, Source};
pub use block::{Block, Document};
pub use builder::CorpusBuilder;
pub use convert::{CorpusFormat, convert, save_names, save_vocabulary, write_text};
pub use csr::{Csr, CsrIndex, CsrValue};
pub use date::parse_date;
pub use labels::{DEFAULT_LABEL_COLUMN, DocumentLabels, LabelTable};
pub use metadata::{LABEL_SEPARATOR, join_labels, save_metadata};
pub use place::TextPlace;
pub use reader::{BlockDetails, BlockReader, Corpus, WordTotals};
pub use split::{Split, split};
pub use stats::{DateStatistics, LabelStatistics, Lengths, MAX_DISTINCT_LABELS, Statistics};
pub use synth::{Synth, Synthetic};
pub use uci::{save_uci, write_uci};
pub use vocab::{Vocabulary, word_name};
pub use writer::{CorpusWriter, Details, DocumentFields};

pub(crate) use block::{MAX_CHUNKS, MIN_CHUNK_NONZEROS, PackedDocuments};
pub(crate) use format::MAGIC;
#[cfg(feature = "compression")]
pub(crate) use metadata::metadata_table;
pub(crate) use metadata::{MetadataColumns, text_cell};
#[cfg(test)]
pub(crate) use sizes::LongestDocuments;
pub(crate) use sizes::PieceSizes;

/// The size of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of documents, D, including empty ones.
    pub documents: u64,
    /// Number of words, W, including those that never occur.
    pub words: u32,
    /// Number of distinct (document, word) pairs, NNZ.
    pub nonzeros: u64,
    /// Number of tokens, N: the sum of all counts.
    pub tokens: u64,
}
