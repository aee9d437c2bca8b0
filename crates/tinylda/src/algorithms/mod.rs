//! The training algorithms: their capabilities ([`Capabilities`]) and the interface through which a
//! training runs them ([`Updater`], [`Schedule`]).
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
pub(crate) mod tbp;

use std::sync::Arc;

use crate::corpus::Document;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::settings::{Algorithm, Digamma, Settings};
use crate::simd::{Kernel, flat};
use crate::threads::Threads;
use crate::topics::Topics;
pub(crate) use dense::document::DocumentFailure;
use memory::{AlgorithmMemory, MemoryInput};
use piece::{PieceView, StateKind};
use tbp::TbpConfig;
pub(crate) use tbp::schedule::PassKind;

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
            _ => Box::new(UniformSchedule),
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
    /// Whether the topics are updated after every piece, so that the division into pieces affects
    /// the result.
    pub(crate) updates_per_piece: bool,
    /// Whether phi is in `Topics` during training, rather than in a format of the algorithm's own.
    pub(crate) shared_phi: bool,
    /// Whether seed words are supported.
    pub(crate) seed_words: bool,
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
        updates_per_piece: false,
        shared_phi: true,
        seed_words: false,
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
        u64::from(self.samples.unwrap_or(1) > 1) + u64::from(self.digamma == Some(Digamma::Both))
    }

    /// Returns the number of passes before the first sample. The default is half of the passes, or
    /// fewer if that would not leave a pass for every sample.
    pub(crate) fn burn_in_passes(&self) -> u32 {
        let passes = self.max_passes();
        let usual = (passes / 2).min(passes.saturating_sub(self.samples.unwrap_or(1)));
        self.burn_in.unwrap_or(usual).min(passes)
    }

    /// Returns the passes after which samples are taken: evenly spaced after the burn-in, the last
    /// after the last pass.
    pub(crate) fn sampled_passes(&self) -> Vec<u32> {
        let samples = u64::from(self.samples.unwrap_or(1)).max(1);
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
    pub(crate) tbp: TbpConfig,
    /// Number of tokens of every word, including those added by seed words.
    pub(crate) word_tokens: Vec<u64>,
    pub(crate) settings: Settings,
    /// Number of documents in the corpus.
    pub(crate) documents: u64,
    /// Whether the user has set the initial topic of every non-zero.
    pub(crate) given_start: bool,
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

    /// Adds the log-likelihood of a piece's documents to `total`, with the current topics and
    /// documents, which are not changed.
    fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>, total: &mut f64) -> Result<(), Fault> {
        dense::log_likelihood(topics, view, total)
    }

    /// Frees data that is only needed during passes, after the last one.
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

/// Input of a pass schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScheduleInput {
    /// Number of pieces of the corpus.
    pub(crate) pieces: u64,
    /// Number of tokens in the corpus.
    pub(crate) tokens: u64,
    /// Number of topics.
    pub(crate) topics: u32,
    /// Maximum number of passes.
    pub(crate) passes: u32,
    /// Whether alpha and beta are learned.
    pub(crate) optimize: bool,
    /// Whether the user has set the initial topic of every non-zero.
    pub(crate) given_start: bool,
}

/// A stage of the warm-up: `repeats` passes over one piece in every `every`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WarmUpStage {
    pub(crate) every: u64,
    pub(crate) repeats: u32,
}

/// Pass schedule of a training. The trainer asks it for the kind of every pass.
pub(crate) trait Schedule: std::fmt::Debug {
    /// Returns the stages of the warm-up, before the first pass over the whole corpus.
    fn warm_up(&self) -> &[WarmUpStage] {
        &[]
    }

    /// Returns the kind of the next pass after `done` passes of at most `last`. `refining` says
    /// that the final refinement has begun.
    fn kind(&self, _done: u32, _last: u32, _refining: bool) -> PassKind {
        PassKind::Plain
    }

    /// Returns the number of passes of the final refinement.
    fn refine_passes(&self) -> u32 {
        0
    }

    /// Returns the number of passes after this one until over-relaxation is off and the final
    /// refinement may begin.
    fn passes_until_plain(&self, _pass: u32) -> u32 {
        0
    }

    /// Returns whether alpha and beta are still learned when `left` passes of the final refinement
    /// remain.
    fn learns_with(&self, _left: u32) -> bool {
        true
    }
}

/// Schedule of passes that are all of the same kind.
#[derive(Debug)]
struct UniformSchedule;

impl Schedule for UniformSchedule {}

/// Inference of the topics of documents that a model was not trained on.
pub(crate) trait DocumentInference: std::fmt::Debug + Send {
    /// Infers theta\[K\] of document number `d`. `theta` must be uniform when this is called.
    fn theta(&mut self, d: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), DocumentFailure>;

    /// Creates a copy with its own buffers for another thread.
    fn boxed_clone<'a>(&self) -> Box<dyn DocumentInference + 'a>
    where
        Self: 'a;
}
