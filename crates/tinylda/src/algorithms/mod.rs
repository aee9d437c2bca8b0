//! The update rules: what the rest of the library must know of an algorithm ([`Algorithm`], [`Capabilities`]) and how a
//! training drives it ([`Updater`], [`Schedule`]).
//!
//! `dense/` has the paper's algorithms, which work on rows of K floats; `tbp/` has our own, which works on whole units and
//! few topics per document. `piece.rs` has the unit of work they share: documents and the state kept for them between two
//! passes. Nothing here knows of files, clocks or the terminal; where pieces live and in which order they come is decided by
//! `store` and `train`.

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
pub(crate) use dense::document::Failed;
use memory::{AlgorithmMemory, MemoryInput};
use piece::{PieceView, StateKind};
use tbp::TbpConfig;
pub(crate) use tbp::schedule::PassKind;

/// What the rest of the library asks an algorithm for.
impl Algorithm {
    /// What the rest of the library must know of the algorithm.
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

    /// What it needs in memory.
    pub(crate) fn memory(self, of: &MemoryInput<'_>) -> AlgorithmMemory {
        match self {
            Algorithm::Tbp => tbp::memory::needs(of),
            _ => dense::memory::needs(self.capabilities(), of),
        }
    }

    /// Creates the training state for topics as they are at the start.
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

    /// The passes of a training with this algorithm.
    pub(crate) fn schedule(self, of: ScheduleInput) -> Box<dyn Schedule> {
        match self {
            Algorithm::Tbp => Box::new(tbp::schedule::TbpSchedule::new(of)),
            _ => Box::new(UniformSchedule),
        }
    }

    /// The algorithm's own way to find the topics of documents that it was not trained on.
    pub(crate) fn new_documents(self, topics: &Topics, kernel: Kernel) -> Result<Box<dyn NewDocuments + '_>> {
        dense::inference::new_documents(self, topics, kernel)
    }

    /// Whether it uses more than one thread; the asynchronous algorithms of the paper cannot, by their definition.
    pub fn threads(self) -> bool {
        self.capabilities().threads
    }
}

/// What the rest of the library must know of an algorithm.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each answers a question of its own")]
pub(crate) struct Capabilities {
    /// Number of W x K float matrices that it works on, phi in `Topics` included.
    pub(crate) matrices: u64,
    /// Rows of K floats that it has for every group of words.
    pub(crate) rows_per_group: u64,
    /// What it keeps for a document between two visits.
    pub(crate) state: StateKind,
    /// What it keeps if the user asks for no state, where it can work without.
    pub(crate) stateless: Option<StateKind>,
    /// Whether it updates the topics after every piece, so that how the corpus is cut into pieces is part of the result.
    pub(crate) updates_per_piece: bool,
    /// Whether phi is in `Topics`, rather than in a form of the algorithm's own until training ends.
    pub(crate) shared_phi: bool,
    /// Whether seed words can guide its topics.
    pub(crate) seed_words: bool,
    /// Whether documents are visited in a random order, drawn once.
    pub(crate) shuffles: bool,
    pub(crate) threads: bool,
    /// Whether the perplexity may stand still for a pass by chance.
    pub(crate) noisy: bool,
    /// Whether the convergence tolerance is relative to the perplexity.
    pub(crate) relative_tolerance: bool,
    /// Whether the log-likelihood that a pass returns is that of its end rather than of its beginning.
    pub(crate) current_likelihood: bool,
    /// Whether it begins with topics of its own where no start is given.
    pub(crate) own_start: bool,
    /// Whether the state of documents may be in files.
    pub(crate) disk: bool,
    /// Largest number of tokens of a word.
    pub(crate) max_word_tokens: Option<u64>,
    /// Largest number of topics.
    pub(crate) max_topics: Option<u32>,
}

impl Capabilities {
    /// The usual case, from which algorithms say where they differ.
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

/// What some algorithms derive from their options.
impl Settings {
    /// Number of W x K float matrices that the options need besides those of the algorithm.
    pub(crate) fn more_matrices(&self) -> u64 {
        u64::from(self.samples.unwrap_or(1) > 1) + u64::from(self.digamma == Some(Digamma::Both))
    }

    /// Passes before the first sample: half of all where not set, or what samples leave.
    pub(crate) fn burn_in_passes(&self) -> u32 {
        let passes = self.max_passes();
        let usual = (passes / 2).min(passes.saturating_sub(self.samples.unwrap_or(1)));
        self.burn_in.unwrap_or(usual).min(passes)
    }

    /// The passes after which samples are taken, evenly after the burn-in, the last after the last pass.
    pub(crate) fn sampled_passes(&self) -> Vec<u32> {
        let samples = u64::from(self.samples.unwrap_or(1)).max(1);
        let from = u64::from(self.burn_in_passes());
        let after = u64::from(self.max_passes()) - from;
        let mut all: Vec<u32> = (1..=samples).map(|i| (from + after * i / samples) as u32).collect();
        all.dedup();
        all
    }
}

/// What an algorithm starts with.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) kernel: Kernel,
    pub(crate) threads: Arc<Threads>,
    pub(crate) tbp: TbpConfig,
    /// Tokens of every word, those that seed words add included.
    pub(crate) word_tokens: Vec<u64>,
    pub(crate) settings: Settings,
    pub(crate) documents: u64,
    /// Whether the user has given the topic of every non-zero to start from.
    pub(crate) given_start: bool,
}

/// The document at fault, counted from 0, and what is wrong.
pub(crate) type Fault = (u64, Failed);

/// What the update of a piece tells about its documents.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PieceStats {
    /// Log-likelihood of the documents, where the algorithm gets it on the way.
    pub(crate) log_likelihood: Option<f64>,
    /// Topics that the documents use, summed over the documents that use any.
    pub(crate) topics_in_use: u64,
    /// Number of documents that use any topic.
    pub(crate) documents_in_use: u64,
}

impl PieceStats {
    /// The log-likelihood alone: every document uses all topics.
    pub(crate) fn of(log_likelihood: f64) -> PieceStats {
        PieceStats { log_likelihood: Some(log_likelihood), ..PieceStats::default() }
    }
}

/// An algorithm at work: its training state, and the seam to `train`.
///
/// A pass is `begin`, `piece` for every piece, `end`. Between two pieces, at the end of a step, the state can be saved.
pub(crate) trait Updater: std::fmt::Debug {
    /// Prepares a pass over documents, before its first piece.
    fn begin(&mut self, _topics: &mut Topics) -> Result<()> {
        Ok(())
    }

    /// Updates the documents of a piece; the topics follow at once, at the end of the step or at the end of the pass.
    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault>;

    /// Finishes a pass, after its last piece.
    fn end(&mut self, _topics: &mut Topics) -> Result<()> {
        Ok(())
    }

    /// Adds the log-likelihood of a piece's documents, as topics and documents are now, to `total`; changes nothing.
    fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>, total: &mut f64) -> Result<(), Fault> {
        dense::log_likelihood(topics, view, total)
    }

    /// Frees what only passes need, after the last one.
    fn finish(&mut self) {}

    /// Writes phi of a word to `row[K]`, in tokens.
    fn topic_row(&mut self, topics: &Topics, word: u32, row: &mut [f32]) -> Result<()> {
        row.copy_from_slice(&flat(topics.phi.row(word))[..row.len()]);
        Ok(())
    }

    /// Writes the whole state, for a checkpoint.
    fn save(&self, topics: &Topics, out: &mut SectionWriter) -> Result<()>;

    /// Reads what [`Updater::save`] wrote.
    fn restore(&mut self, topics: &mut Topics, from: &mut SectionReader) -> Result<()>;
}

/// What a schedule is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScheduleInput {
    pub(crate) pieces: u64,
    pub(crate) tokens: u64,
    pub(crate) topics: u32,
    /// Largest number of passes.
    pub(crate) passes: u32,
    /// Whether alpha and beta are learned.
    pub(crate) optimize: bool,
    /// Whether the user has given the topic of every non-zero to start from.
    pub(crate) given_start: bool,
}

/// A stage of the warm-up: a pass over one piece in every `every`, repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WarmUpStage {
    pub(crate) every: u64,
    pub(crate) repeats: u32,
}

/// The passes of a training: the trainer asks for the next kind of pass.
pub(crate) trait Schedule: std::fmt::Debug {
    /// What comes before the first pass over the whole corpus.
    fn warm_up(&self) -> &[WarmUpStage] {
        &[]
    }

    /// The kind of the pass that follows `done` passes of at most `last`. `refining`: the final refinement has begun.
    fn kind(&self, _done: u32, _last: u32, _refining: bool) -> PassKind {
        PassKind::Plain
    }

    /// Number of passes of the final refinement.
    fn refine_passes(&self) -> u32 {
        0
    }

    /// Number of passes after this one until the topics are at rest and the final refinement may begin.
    fn passes_until_plain(&self, _pass: u32) -> u32 {
        0
    }

    /// Whether alpha and beta are still learned with `left` passes to go in the final refinement.
    fn learns_with(&self, _left: u32) -> bool {
        true
    }
}

/// Passes that are all alike.
#[derive(Debug)]
struct UniformSchedule;

impl Schedule for UniformSchedule {}

/// How the topics of documents are found that were not trained on.
pub(crate) trait NewDocuments: std::fmt::Debug + Send {
    /// Finds theta\[K\] of document number `d`; it is evenly spread when it comes.
    fn theta(&mut self, d: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), Failed>;

    /// Creates the same for another thread, with a scratch of its own.
    fn twin<'a>(&self) -> Box<dyn NewDocuments + 'a>
    where
        Self: 'a;
}
