//! Topic models (latent Dirichlet allocation) for collections larger than the machine's memory.
//!
//! Data flow:
//!
//! ```text
//! text, UCI, … -> corpus::ingest -> FILE.tlc (blocks) -> store
//!     -> train { updater(piece, topics) } -> FILE.model -> infer, eval, export, report
//! ```
//!
//! Build a corpus in memory, train with a callback, and print the top words of the topics:
//!
//! ```
//! use std::ops::ControlFlow;
//! use tinylda::{CorpusBuilder, Event, Trainer};
//!
//! let mut builder = CorpusBuilder::new().vocabulary(["ball", "goal", "court", "judge"]);
//! for _ in 0..20 {
//!     builder.add_document(&[(0, 3), (1, 2)])?;
//!     builder.add_document(&[(2, 2), (3, 3)])?;
//! }
//! let corpus = builder.build()?;
//!
//! let mut passes = 0;
//! let trained = Trainer::new(2).alpha(0.1).passes(30).seed(1).train(&corpus, |event| {
//!     if let Event::Pass(report) = event {
//!         passes = report.pass;
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!(passes, trained.summary.passes);
//!
//! for topic in trained.model.top_words(2) {
//!     let words: Vec<_> = topic.iter().map(|word| trained.model.word_name(word.word)).collect();
//!     println!("{}", words.join(" "));
//! }
//! # Ok::<(), tinylda::Error>(())
//! ```
//!
//! Infer the topics of documents:
//!
//! ```
//! use std::ops::ControlFlow;
//! use tinylda::{CorpusBuilder, Inference, Inferencer, Document, Trainer};
//! # let mut builder = CorpusBuilder::new().vocabulary(["ball", "goal", "court", "judge"]);
//! # for _ in 0..20 {
//! #     builder.add_document(&[(0, 3), (1, 2)])?;
//! #     builder.add_document(&[(2, 2), (3, 3)])?;
//! # }
//! # let corpus = builder.build()?;
//! let trainer = Trainer::new(2).alpha(0.1).passes(30);
//! let model = trainer.train(&corpus, |_| ControlFlow::Continue(()))?.model;
//! let mut inferencer = Inferencer::new(&model, Inference::Own)?;
//! let theta = inferencer.theta(0, Document { words: &[0, 1], counts: &[2, 1] })?;
//! assert_eq!(theta.len(), 2);
//! # Ok::<(), tinylda::Error>(())
//! ```
//!
//! Save a model and load it again:
//!
//! ```
//! use std::ops::ControlFlow;
//! use tinylda::{CorpusBuilder, Model, Trainer};
//! # let mut builder = CorpusBuilder::new().vocabulary(["ball", "goal", "court", "judge"]);
//! # for _ in 0..20 {
//! #     builder.add_document(&[(0, 3), (1, 2)])?;
//! #     builder.add_document(&[(2, 2), (3, 3)])?;
//! # }
//! # let corpus = builder.build()?;
//! let model = Trainer::new(2).passes(5).train(&corpus, |_| ControlFlow::Continue(()))?.model;
//! # let io = |source| tinylda::Error::Io { path: "/tmp".into(), action: "create", source };
//! # let folder = tempfile::tempdir().map_err(io)?;
//! # let path = folder.path().join("sport.model");
//! model.save(&path)?;
//! assert_eq!(Model::load(&path)?, model);
//! # Ok::<(), tinylda::Error>(())
//! ```
//!
//! Plan the memory of a training before starting it:
//!
//! ```
//! use tinylda::{CorpusBuilder, Trainer};
//! # let mut builder = CorpusBuilder::new().vocabulary(["ball", "goal", "court", "judge"]);
//! # for _ in 0..20 {
//! #     builder.add_document(&[(0, 3), (1, 2)])?;
//! #     builder.add_document(&[(2, 2), (3, 3)])?;
//! # }
//! # let corpus = builder.build()?;
//! let plan = Trainer::new(2).memory(1 << 30).plan(&corpus)?;
//! assert!(plan.memory() <= 1 << 30);
//! # Ok::<(), tinylda::Error>(())
//! ```
//!
//! Stop early and keep the topics found so far:
//!
//! ```
//! use std::ops::ControlFlow;
//! use tinylda::{CorpusBuilder, Event, Stop, Trainer};
//! # let mut builder = CorpusBuilder::new().vocabulary(["ball", "goal", "court", "judge"]);
//! # for _ in 0..20 {
//! #     builder.add_document(&[(0, 3), (1, 2)])?;
//! #     builder.add_document(&[(2, 2), (3, 3)])?;
//! # }
//! # let corpus = builder.build()?;
//! let trained = Trainer::new(2).passes(100).train(&corpus, |event| match event {
//!     Event::Pass(report) if report.pass == 3 => ControlFlow::Break(()),
//!     _ => ControlFlow::Continue(()),
//! })?;
//! assert_eq!(trained.summary.stop, Stop::Asked);
//! # Ok::<(), tinylda::Error>(())
//! ```
//!
//! Train to a file with checkpoints, stop, and resume. The result is byte-identical to an
//! uninterrupted run:
//!
//! ```
//! use std::ops::ControlFlow;
//! use tinylda::{CorpusBuilder, Error, Event, Resume, Trainer};
//! # let mut builder = CorpusBuilder::new().vocabulary(["ball", "goal", "court", "judge"]);
//! # for _ in 0..20 {
//! #     builder.add_document(&[(0, 3), (1, 2)])?;
//! #     builder.add_document(&[(2, 2), (3, 3)])?;
//! # }
//! # let corpus = builder.build()?;
//! # let io = |source| tinylda::Error::Io { path: "/tmp".into(), action: "create", source };
//! # let folder = tempfile::tempdir().map_err(io)?;
//! # let folder = folder.path();
//! let trainer = Trainer::new(2).passes(20).checkpoint(folder.join("checkpoint"), None);
//! let stopped = trainer.train_to(&corpus, &folder.join("sport.model"), |event| match event {
//!     Event::Pass(report) if report.pass == 5 => ControlFlow::Break(()),
//!     _ => ControlFlow::Continue(()),
//! });
//! assert!(matches!(stopped, Err(Error::Stopped { .. })));
//!
//! let resumed = trainer.resume(Resume::Yes);
//! let path = folder.join("sport.model");
//! let summary = resumed.train_to(&corpus, &path, |_| ControlFlow::Continue(()))?;
//! assert_eq!(summary.passes, 20);
//! # Ok::<(), tinylda::Error>(())
//! ```
//!
//! The library does not print, exit the process or read environment variables; that is up to the
//! program.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::float_cmp))]

mod algorithms;
pub mod corpus;
pub mod error;
pub mod eval;
pub mod export;
mod features;
pub mod files;
pub mod format;
pub mod infer;
pub mod memory;
pub mod model;
mod npy;
mod numbers;
mod priors;
pub mod progress;
mod random;
pub mod report;
mod sections;
pub mod settings;
mod simd;
mod store;
pub mod table;
mod threads;
mod topics;
pub mod train;

pub use algorithms::tbp::seed_words::Seeds;
pub use corpus::{Corpus, CorpusBuilder, Document, Vocabulary};
pub use error::{Error, Result};
pub use infer::{Inference, Inferencer};
pub use model::Model;
pub use progress::Progress;
pub use settings::{Algorithm, Settings};
pub use train::{Event, Plan, PlannedTraining, Resume, Stop, Trained, Trainer};
