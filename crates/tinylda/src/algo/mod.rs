//! One update rule per file, its mathematics on top. No files, threads, clocks or printing here.
//!
//! An algorithm is driven by `train` as: `begin`, then `block` for every block of documents, then `end`. What it keeps
//! per document is `theta[K]`; `train` and `store` decide where that lives and in which order the documents come.

mod atbp;
pub(crate) mod document;
mod stbp;
pub(crate) mod tbp;

use crate::checkpoint::{In, Out};
use crate::counts::Slot;
use crate::engine::{Engine, Rules};
use crate::error::Result;
use crate::kernel::flat;
use crate::store::Visited;
use crate::topics::Topics;
use document::Failed;
pub use tbp::Active;

/// The algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Synchronous tiny belief propagation: all messages of a pass from the last pass's topics.
    Stbp,
    /// Asynchronous tiny belief propagation: every message changes the topics at once.
    Atbp,
    /// Asynchronous belief propagation with small messages, in blocks.
    Tbp,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 3] = [Algorithm::Stbp, Algorithm::Atbp, Algorithm::Tbp];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Stbp => "stbp",
            Algorithm::Atbp => "atbp",
            Algorithm::Tbp => "tbp",
        }
    }

    /// How many matrices of W x K it needs.
    pub(crate) fn matrices(self) -> u64 {
        match self {
            Algorithm::Stbp => 2,
            Algorithm::Atbp | Algorithm::Tbp => 1,
        }
    }

    /// Whether it keeps messages, in a few bytes each, and phi in whole units.
    pub(crate) fn small_messages(self) -> bool {
        matches!(self, Algorithm::Tbp)
    }

    /// How many of the passes only refine what was found.
    pub(crate) fn settling_passes(self, passes: u32) -> u32 {
        if self.small_messages() { tbp::SETTLING_PASSES.min(passes / 4) } else { 0 }
    }

    /// What it goes through before the first pass: one piece of the corpus in every so many, and how often.
    pub(crate) fn stages(self, pieces: u64, tokens: u64, topics: u32) -> Vec<(u64, u32)> {
        if self.small_messages() { tbp::stages(pieces, tokens, topics) } else { Vec::new() }
    }

    /// Whether the documents are visited in a random order, drawn once.
    pub(crate) fn shuffles(self) -> bool {
        matches!(self, Algorithm::Atbp)
    }
}

/// An algorithm at work: its scratch, and the seam to `train`.
#[derive(Debug)]
pub(crate) enum Sweep {
    Stbp(stbp::Stbp),
    Atbp(atbp::Atbp),
    Tbp(Box<Engine>),
}

impl Sweep {
    pub(crate) fn new(
        algorithm: Algorithm,
        topics: &Topics,
        word_tokens: Vec<u64>,
        rules: Rules,
    ) -> Result<Sweep> {
        Ok(match algorithm {
            Algorithm::Stbp => Sweep::Stbp(stbp::Stbp::new(topics, &word_tokens, rules.kernel)?),
            Algorithm::Atbp => Sweep::Atbp(atbp::Atbp::new(topics, word_tokens, rules.kernel)),
            Algorithm::Tbp => Sweep::Tbp(Box::new(Engine::new(rules, topics, &word_tokens)?)),
        })
    }

    /// Before the first document of a pass.
    pub(crate) fn begin(&mut self, topics: &Topics) -> Result<()> {
        match self {
            Sweep::Stbp(s) => s.begin(topics),
            Sweep::Atbp(_) => {}
            Sweep::Tbp(engine) => engine.begin(topics)?,
        }
        Ok(())
    }

    /// Documents of one block; their log-likelihood before the pass where the algorithm knows it. An error comes with the
    /// document's number.
    pub(crate) fn block(
        &mut self,
        topics: &mut Topics,
        visit: Visited<'_>,
    ) -> Result<Option<f64>, (u64, Failed)> {
        match self {
            Sweep::Stbp(s) => visit.sum(|document, theta| Ok(s.document(topics, document, theta)?)).map(Some),
            Sweep::Atbp(a) => visit
                .sum(|document, theta| Ok(a.document(topics, document, theta).map(|()| 0.0)?))
                .map(|_| None),
            Sweep::Tbp(engine) => engine.block(topics, visit).map(Some),
        }
    }

    /// After the last document of a pass.
    pub(crate) fn end(&mut self, topics: &mut Topics) {
        match self {
            Sweep::Stbp(s) => s.end(topics),
            Sweep::Atbp(_) | Sweep::Tbp(_) => {}
        }
    }

    /// Before the first pass: takes up what a block's documents were given to start with.
    pub(crate) fn load(&mut self, topics: &Topics, visit: Visited<'_>) -> Result<(), (u64, Failed)> {
        match self {
            Sweep::Tbp(engine) => engine.load(topics, visit),
            Sweep::Stbp(_) | Sweep::Atbp(_) => Ok(()),
        }
    }

    /// After the last pass: makes ready to measure, where the algorithm keeps phi in a form of its own.
    pub(crate) fn ready(&mut self, topics: &Topics) -> Result<bool> {
        let Sweep::Tbp(engine) = self else { return Ok(false) };
        engine.ready(topics)?;
        Ok(true)
    }

    /// Then: the log-likelihood of a block's documents.
    pub(crate) fn measure(&mut self, topics: &Topics, visit: Visited<'_>) -> Result<f64, (u64, Failed)> {
        match self {
            Sweep::Tbp(engine) => engine.measure(topics, visit),
            Sweep::Stbp(_) | Sweep::Atbp(_) => Ok(0.0),
        }
    }

    /// Topics in use per document of this round, where the store cannot know.
    pub(crate) fn active_topics(&self) -> Option<f64> {
        let Sweep::Tbp(engine) = self else { return None };
        engine.active_topics()
    }

    /// From now on what was found is refined, and nothing new sought. Returns whether that makes a difference.
    pub(crate) fn settle(&mut self) -> bool {
        let Sweep::Tbp(engine) = self else { return false };
        engine.settle();
        true
    }

    /// After the last pass: what it needs for documents goes.
    pub(crate) fn finish(&mut self) {
        if let Sweep::Tbp(engine) = self {
            engine.finish();
        }
    }

    /// phi of a word, in tokens.
    pub(crate) fn phi(&self, topics: &Topics, word: u32, slot: &mut Slot, to: &mut [f32]) -> Result<()> {
        match self {
            Sweep::Tbp(engine) => engine.phi(word, slot, to),
            Sweep::Stbp(_) | Sweep::Atbp(_) => {
                to.copy_from_slice(&flat(topics.phi.row(word))[..to.len()]);
                Ok(())
            }
        }
    }

    /// All that it knows, for a checkpoint; between two blocks.
    pub(crate) fn save(&self, topics: &Topics, out: &mut Out) -> Result<()> {
        match self {
            Sweep::Tbp(engine) => engine.save(out),
            Sweep::Stbp(s) => {
                topics.save(out)?;
                s.save(out)
            }
            Sweep::Atbp(a) => {
                topics.save(out)?;
                a.save(out)
            }
        }
    }

    /// Takes up what [`Sweep::save`] wrote.
    pub(crate) fn restore(&mut self, topics: &mut Topics, from: &mut In) -> Result<()> {
        match self {
            Sweep::Tbp(engine) => engine.restore(from),
            Sweep::Stbp(s) => {
                topics.restore(from)?;
                s.restore(topics, from)
            }
            Sweep::Atbp(a) => {
                topics.restore(from)?;
                a.restore(from)
            }
        }
    }
}
