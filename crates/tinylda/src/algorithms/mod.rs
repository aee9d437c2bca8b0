//! The training algorithms: their capabilities ([`Capabilities`]) and the interface through which a
//! training runs them ([`Updater`], and [`Schedule`] in `schedule.rs`).
//!
//! `dense/` has the paper's algorithms, which work on rows of K floats; `tbp/` has this project's
//! own algorithm, which works on integer units and few topics per document. `piece.rs` has the unit
//! of work that they share: documents and the state kept for them between passes.
//!
//! Nothing here knows files, clocks or the terminal. `store` and `train` decide where pieces are
//! kept and in which order they come. Start reading at [`Updater`].

pub(crate) mod dense;
pub(crate) mod memory;
pub(crate) mod piece;
pub(crate) mod schedule;
pub(crate) mod tbp;

use std::path::PathBuf;
use std::sync::Arc;

use crate::corpus::{Document, Shape};
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::settings::{Algorithm, Digamma, Settings};
use crate::simd::{Kernel, flat};
use crate::threads::Threads;
use crate::topics::Topics;
pub(crate) use dense::document::DocumentFailure;
use memory::{AlgorithmMemory, MemoryInput};
use piece::{PieceView, StateKind};
use schedule::{Schedule, ScheduleInput, UniformSchedule};
use tbp::base::BaseCounts;
use tbp::seed_words::SeedWord;

/// Implementation of the algorithms, for the rest of the library.
impl Algorithm {
    /// Returns the properties of the algorithm that the rest of the library depends on.
    pub(crate) fn capabilities(self) -> Capabilities {
        match self {
            Algorithm::Tbp => tbp::CAPABILITIES,
            Algorithm::Stbp => dense::stbp::CAPABILITIES,
            Algorithm::Atbp => dense::atbp::CAPABILITIES,
            Algorithm::Bp => dense::bp::CAPABILITIES,
            Algorithm::Abp => dense::bp::CAPABILITIES_ASYNCHRONOUS,
            Algorithm::Gibbs => dense::gibbs::CAPABILITIES,
            Algorithm::Vb => dense::vb::CAPABILITIES,
            Algorithm::Ovb => dense::ovb::CAPABILITIES,
            Algorithm::Nmf => dense::nmf::CAPABILITIES,
        }
    }

    /// Returns the memory that the algorithm needs.
    pub(crate) fn memory(self, of: &MemoryInput<'_>) -> AlgorithmMemory {
        match self {
            Algorithm::Tbp => tbp::memory::requirements(of),
            _ => dense::memory::needs(self.capabilities(), of),
        }
    }

    /// Creates the training state from the initial topics.
    pub(crate) fn updater(self, topics: &mut Topics, setup: Setup) -> Result<Box<dyn Updater>> {
        Ok(match self {
            Algorithm::Tbp => Box::new(tbp::Tbp::new(topics, setup)?),
            Algorithm::Stbp => Box::new(dense::stbp::Stbp::new(topics, &setup)?),
            Algorithm::Atbp => Box::new(dense::atbp::Atbp::new(topics, &setup)),
            Algorithm::Bp => Box::new(dense::bp::Bp::new(topics, &setup)?),
            Algorithm::Abp => Box::new(dense::bp::Abp::new(topics, &setup)),
            Algorithm::Gibbs => Box::new(dense::gibbs::Gibbs::new(topics, &setup)?),
            Algorithm::Vb => Box::new(dense::vb::Vb::new(topics, &setup)?),
            Algorithm::Ovb => Box::new(dense::ovb::Ovb::new(topics, &setup)?),
            Algorithm::Nmf => Box::new(dense::nmf::Nmf::new(topics, &setup)?),
        })
    }

    /// Creates the pass schedule of a training.
    pub(crate) fn schedule(self, of: ScheduleInput) -> Box<dyn Schedule> {
        match self {
            Algorithm::Tbp => Box::new(tbp::schedule::TbpSchedule::new(of)),
            _ => Box::new(UniformSchedule::new(of.passes)),
        }
    }

    /// Returns the number of non-zeros per piece, if the algorithm updates the topics after every
    /// piece, so that the division into pieces affects its result. It depends on the corpus alone.
    pub(crate) fn piece_nonzeros(self, shape: Shape) -> Option<u64> {
        match self {
            Algorithm::Tbp => Some(tbp::piece_nonzeros(shape)),
            _ => None,
        }
    }

    /// Returns the number of passes after which the kinds of passes repeat; 1 if all passes are
    /// alike. The training perplexity rises and falls with this period.
    pub fn pass_period(self) -> u32 {
        match self {
            Algorithm::Tbp => tbp::schedule::PERIOD,
            _ => 1,
        }
    }

    /// Creates the algorithm's own inference for documents that it was not trained on.
    pub(crate) fn document_inference(
        self,
        topics: &Topics,
        kernel: Kernel,
    ) -> Result<Box<dyn DocumentInference + '_>> {
        dense::inference::document_inference(self, topics, kernel)
    }

    /// Returns whether the algorithm can use more than one thread. The asynchronous algorithms of
    /// the paper are sequential by definition.
    pub fn threads(self) -> bool {
        self.capabilities().threads
    }
}

/// Properties of an algorithm that the rest of the library depends on.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each answers a question of its own")]
pub(crate) struct Capabilities {
    /// Number of W x K float matrices that the algorithm works on, including phi in `Topics`.
    pub(crate) matrices: u64,
    /// Number of rows of K floats per group of words.
    pub(crate) rows_per_group: u64,
    /// State kept per document between visits.
    pub(crate) state: StateKind,
    /// State kept if the user asks for none; `None` if the algorithm needs its state.
    pub(crate) stateless: Option<StateKind>,
    /// Whether phi is in `Topics` during training, rather than in a format of the algorithm's own.
    pub(crate) shared_phi: bool,
    /// Whether seed words are supported.
    pub(crate) seed_words: bool,
    /// Whether phi may contain counts of a model that is updated.
    pub(crate) base_counts: bool,
    /// Whether documents are visited in a random order, which is drawn once.
    pub(crate) shuffles: bool,
    /// Whether the algorithm can use more than one thread.
    pub(crate) threads: bool,
    /// Whether the perplexity may hardly change in a pass by chance.
    pub(crate) noisy: bool,
    /// Whether the convergence tolerance is relative to the perplexity.
    pub(crate) relative_tolerance: bool,
    /// Whether the log-likelihood of a pass is that of its end rather than of its beginning.
    pub(crate) current_likelihood: bool,
    /// Whether the algorithm initializes the topics itself if no start is given.
    pub(crate) own_start: bool,
    /// Whether the document state may be kept in files.
    pub(crate) disk: bool,
    /// Maximum number of tokens per word.
    pub(crate) max_word_tokens: Option<u64>,
    /// Maximum number of topics.
    pub(crate) max_topics: Option<u32>,
}

impl Capabilities {
    /// Default capabilities; algorithms override where they differ.
    pub(crate) const PLAIN: Capabilities = Capabilities {
        matrices: 1,
        rows_per_group: 0,
        state: StateKind::Theta,
        stateless: None,
        shared_phi: true,
        seed_words: false,
        base_counts: false,
        shuffles: false,
        threads: true,
        noisy: false,
        relative_tolerance: false,
        current_likelihood: false,
        own_start: false,
        disk: true,
        max_word_tokens: None,
        max_topics: None,
    };
}

/// Values that some algorithms derive from their options.
impl Settings {
    /// Returns the number of W x K float matrices that the options need, besides those of the
    /// algorithm.
    pub(crate) fn more_matrices(&self) -> u64 {
        u64::from(self.sample_count() > 1) + u64::from(self.digamma_parameters() == Digamma::Both)
    }

    /// Returns the number of passes before the first sample. The default is half of the passes, or
    /// fewer if that would not leave a pass for every sample.
    pub(crate) fn burn_in_passes(&self) -> u32 {
        let passes = self.max_passes();
        let usual = (passes / 2).min(passes.saturating_sub(self.sample_count()));
        self.burn_in.unwrap_or(usual).min(passes)
    }

    /// Returns the passes after which samples are taken: evenly spaced after the burn-in, the last
    /// after the last pass.
    pub(crate) fn sampled_passes(&self) -> Vec<u32> {
        let samples = u64::from(self.sample_count()).max(1);
        let from = u64::from(self.burn_in_passes());
        let after = u64::from(self.max_passes()) - from;
        let mut all: Vec<u32> = (1..=samples).map(|i| (from + after * i / samples) as u32).collect();
        all.dedup();
        all
    }
}

/// Input for creating an [`Updater`].
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) kernel: Kernel,
    pub(crate) threads: Arc<Threads>,
    pub(crate) storage: UpdaterStorage,
    /// Seed words, in the order of the words.
    pub(crate) seeds: Vec<SeedWord>,
    /// Number of tokens of every word, including those of seed words and base counts.
    pub(crate) word_tokens: Vec<u64>,
    pub(crate) settings: Settings,
    /// Size of the corpus; with base counts, `words` includes words that only they have.
    pub(crate) shape: Shape,
    /// Whether the user has set the initial topic of every non-zero.
    pub(crate) given_start: bool,
    /// Number of tokens of the base counts; `None` if there are none.
    pub(crate) base_tokens: Option<u64>,
}

/// Where an algorithm may keep its data, as planned.
#[derive(Debug, Clone, Default)]
pub(crate) struct UpdaterStorage {
    /// Maximum bytes of phi in memory; `None` if all of it stays in memory.
    pub(crate) phi: Option<u64>,
    /// Maximum bytes of the deltas of a step in memory; `None` if there is no limit.
    pub(crate) deltas: Option<u64>,
    /// Folder for data that does not fit in memory.
    pub(crate) folder: Option<PathBuf>,
}

/// Number of the failing document, from 0, and the failure.
pub(crate) type Fault = (u64, DocumentFailure);

/// Statistics from updating the documents of a piece.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PieceStats {
    /// Log-likelihood of the documents, if the algorithm computes it during the update.
    pub(crate) log_likelihood: Option<f64>,
    /// Number of active topics, summed over the documents that use any.
    pub(crate) topics_in_use: u64,
    /// Number of documents that use any topic.
    pub(crate) documents_in_use: u64,
}

impl PieceStats {
    /// Creates statistics with the log-likelihood only, for algorithms whose documents use all
    /// topics.
    pub(crate) fn of(log_likelihood: f64) -> PieceStats {
        PieceStats { log_likelihood: Some(log_likelihood), ..PieceStats::default() }
    }
}

/// Training state of an algorithm, and the interface between `algorithms` and `train`.
///
/// A pass calls `begin`, then `piece` for every piece, then `end`. The state can be saved between
/// two pieces, at the end of a step.
pub(crate) trait Updater: std::fmt::Debug {
    /// Adds counts to phi that belong to no document, before the first pass. Only for algorithms
    /// with the capability `base_counts`.
    fn add_base(&mut self, _base: BaseCounts<'_>) -> Result<()> {
        Ok(())
    }

    /// Prepares a pass, before its first piece.
    fn begin(&mut self, _topics: &mut Topics) -> Result<()> {
        Ok(())
    }

    /// Updates the documents of a piece. The topics are updated at once, at the end of the step or
    /// at the end of the pass, depending on the algorithm.
    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault>;

    /// Finishes a pass, after its last piece.
    fn end(&mut self, _topics: &mut Topics) -> Result<()> {
        Ok(())
    }

    /// Returns the log-likelihood of a piece's documents with the current topics and documents,
    /// which are not changed.
    fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>) -> Result<f64, Fault> {
        dense::log_likelihood(topics, view)
    }

    /// Frees buffers that are only needed during passes, after the last one. The state can still be
    /// saved.
    fn finish(&mut self) {}

    /// Writes phi of a word to `row[K]`, in tokens.
    fn topic_row(&mut self, topics: &Topics, word: u32, row: &mut [f32]) -> Result<()> {
        row.copy_from_slice(&flat(topics.phi.row(word))[..row.len()]);
        Ok(())
    }

    /// Writes the complete state to a checkpoint.
    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()>;

    /// Reads the state that [`Updater::save`] wrote.
    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()>;
}

/// Inference of the topics of documents that a model was not trained on.
pub(crate) trait DocumentInference: std::fmt::Debug + Send {
    /// Infers theta\[K\] of document number `d`. `theta` must be uniform when this is called.
    fn theta(&mut self, d: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), DocumentFailure>;

    /// Creates a copy with its own buffers for another thread.
    fn boxed_clone<'a>(&self) -> Box<dyn DocumentInference + 'a>
    where
        Self: 'a;
}
