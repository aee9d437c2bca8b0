//! Topic models (latent Dirichlet allocation) for collections bigger than the machine's memory.
//!
//! The way of the data, with no step back:
//!
//! ```text
//! text, UCI, … -> corpus::ingest -> FILE.tlc (blocks) -> store -> train { algorithm(block, topics) } -> FILE.model -> infer, eval, report
//! ```
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use tinylda::{Algorithm, Corpus, Event, Trainer};
//!
//! let corpus = Corpus::open("train.tlc")?;
//! let trained = Trainer::new(100).algorithm(Algorithm::Tbp).threads(2).seed(1).train(&corpus, |event| {
//!     if let Event::Pass(report) = event {
//!         println!("{} {}", report.pass, report.train_perplexity);
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! trained.model.save("nyt.model")?;
//! # Ok::<(), tinylda::Error>(())
//! ```
//!
//! The library never prints, never exits and reads no environment variable: that is the program's part.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::float_cmp))]

mod algorithms;
pub mod corpus;
pub mod error;
pub mod eval;
pub mod export;
mod features;
mod files;
mod format;
mod infer;
mod memory;
pub mod model;
mod npy;
mod numbers;
mod priors;
mod random;
pub mod report;
mod sections;
pub mod settings;
mod simd;
mod store;
pub mod table;
mod threads;
mod topics;
mod train;

pub use algorithms::tbp::seed_words::Seeds;
pub use corpus::{Block, Corpus, CorpusBuilder, CorpusWriter, Document, Shape, Vocabulary};
pub use error::{Error, Position, Result, panic_is_caught};
pub use files::{check_writable, same_file, write_file};
pub use format::{grouped, human_bytes};
pub use infer::{
    Found, Inference, Inferencer, Inferred, Known, Mixture, Mixtures, Proportions, ProportionsFormat,
    Similar, Typical, Unknown, find_document, names_of,
};
pub use memory::one_heap;
pub use model::Model;
pub use settings::{Active, Algorithm, Settings};
pub use simd::Instructions;
pub use train::checkpoint::has_checkpoint;
pub use train::plan::Plan;
pub use train::{Event, PassReport, Progress, Resume, Stop, Summary, Trained, Trainer};
