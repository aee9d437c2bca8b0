//! `tbp`: tiny belief propagation with quantized messages, the default algorithm.
//!
//! # The update
//!
//! Belief propagation (BP) keeps a *message* for every non-zero of the corpus: a distribution over
//! topics that says how the tokens of word w in document d are divided among topics. An update
//! subtracts the message from phi and theta (BP also from lambda; `tbp` does not, since a message
//! is a tiny part of lambda), computes it again from what is left, and adds the new message. BP
//! must store K numbers per non-zero for that. The paper's TBP stores none, does not subtract the
//! message, and overfits. `tbp` stores the message in a few bytes:
//!
//! ```text
//! z[k]  = (phi[w,k] - x*mu[k] + beta)/(lambda[k] + W*beta) * (theta[d,k] - x*mu[k] + alpha[k])
//! mu[k] = z[k]/sum z, quantized
//! ```
//!
//! # Messages in units
//!
//! A token has 64 *units* ([`UNITS_PER_TOKEN`]). A message assigns all of them to topics in whole
//! quanta (1 to 8 units), and only the topics that receive any are stored, two bytes each
//! (`messages.rs`). It is quantized by systematic sampling: the running sum of z, scaled to the
//! number of quanta, is cut at u, u+1, u+2, ... for a random u in [0, 1). Each topic receives its
//! share on average over u, and the units always add up to 64:
//!
//! ```text
//! quantize(z):                               # total = sum of z + prior mass of the word
//!     sum = u;  done = 0                     # cuts at 1-u, 2-u, ...: the same distribution
//!     for every topic k in use:
//!         sum += z[k] * quanta/total
//!         units[k] = (floor(sum) - done) * quantum;  done = floor(sum)
//!     rest = quanta - done                   # falls on the prior mass (see below)
//! ```
//!
//! phi and lambda are sums of messages, hence integers: exact, whatever the order of addition. What
//! is subtracted is exactly what was added, no mass is lost, and the result does not depend on the
//! number of threads. theta is the sum of a document's messages and is not stored.
//!
//! # Topic samples
//!
//! For a topic that the document does not use, theta is 0, and z does not depend on the document:
//! `alpha[k]*(phi[w,k] + beta)/(lambda[k] + W*beta)`. The sum of these terms over all topics, the
//! *prior mass* of the word, and up to 64 *topic samples* in proportion to them are computed for
//! every word once a pass (`counts/`). In the update, z of the topics in use has theta without
//! alpha; the alpha terms of all topics together are the prior mass, less what the message itself
//! contributes to phi in these terms. Quanta that fall on it go to the next topic samples, which
//! may be in use already. Every topic can thus enter every document, and the cost of an update is
//! proportional to the number of topics in use, not to K.
//!
//! # Over-relaxation
//!
//! An over-relaxed message moves farther than to its new value, by c times the distance from the
//! old:
//!
//! ```text
//! mu[k] = max(0, mu_old[k] + (1 + c)*(z[k]/sum z - mu_old[k])), rescaled to add up
//! ```
//!
//! Fixed points stay fixed points. Slowly converging messages need a third of the passes, and the
//! search finds better topics than BP.
//!
//! # A pass
//!
//! The corpus is divided into *pieces*, and `step` pieces form a *step*. All documents of a step
//! are updated against the phi of the start of the step. What they change is collected in lists of
//! *deltas* (cell, units), grouped by words, and applied at the end of the step:
//!
//! ```text
//! begin:  with document_state none: swap the two copies of phi
//!         apply seed words, compute prior mass and topic samples of every word
//! for every step:
//!     inverse[k] = 1/(lambda[k] + W*beta)
//!     for every piece of the step, its chunks of documents in parallel:    cpu/documents.rs
//!         for every document:
//!             theta = sum of its messages
//!             for every word, in batches of four:
//!                 z over the topics in use, over-relaxed, quantized        cpu/active_topics.rs
//!                 theta += new - old
//!                 append new - old to the deltas of the word's group       delta.rs
//!     apply the deltas to phi, groups of words in parallel                 counts/
//!     lambda += sum of the deltas
//! ```
//!
//! # Schedule
//!
//! Topics start on a small subset of the documents, which doubles until it is the whole corpus
//! (warm-up). Passes then alternate between over-relaxed and plain (c = 0). The last passes are
//! plain (final refinement), and the last two of them are quantized finely. `schedule.rs` has the
//! numbers.
//!
//! # Where to start reading
//!
//! Read this file (what a pass is), `schedule` (which passes there are), `cpu/documents.rs` (the
//! update of a document). `backend.rs` is the interface to what executes the steps. This module
//! knows nothing about files, clocks or the terminal. `docs/tbp.md` describes the algorithm and its
//! data structures, and `bench/record/2026-11-14-tbp-experiments.md` has the measurements behind
//! every choice.
//!
//! Legend: K topics, W words; x a count; mu a message; `phi[W,K]`, `theta[D,K]`, `lambda[K]`
//! counts, all in units here, and therefore alpha and beta as well.

mod backend;
pub(crate) mod base;
mod config;
pub(crate) mod counts;
pub(crate) mod cpu;
pub(crate) mod delta;
pub(super) mod memory;
pub(crate) mod messages;
pub(crate) mod schedule;
pub(crate) mod seed_words;

use super::piece::{Chunk, PieceView, StateKind};
use super::schedule::PassKind;
use super::{Capabilities, Fault, PieceStats, Setup, Updater};
use crate::corpus::Shape;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Lanes, flat, flat_mut};
use crate::topics::{Topics, stride};
use backend::{Backend, ChunkSums, Operation, StepParams};
use base::BaseCounts;
pub(crate) use config::TbpConfig;
use cpu::Cpu;
pub(crate) use messages::UNITS_PER_TOKEN;

/// Capabilities of `tbp` that the rest of the library needs to know.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    state: StateKind::QuantizedMessages,
    stateless: Some(StateKind::Chunks),
    shared_phi: false,
    seed_words: true,
    base_counts: true,
    noisy: true,
    relative_tolerance: true,
    max_word_tokens: Some(counts::max_tokens(UNITS_PER_TOKEN)),
    max_topics: Some(1 << 16),
    ..Capabilities::PLAIN
};

/// Returns the number of non-zeros per piece. In a single piece all messages would change at once
/// and oscillate from pass to pass; with ten or more pieces they converge.
pub(crate) fn piece_nonzeros(shape: Shape) -> u64 {
    (shape.nonzeros / 32).clamp(1, 1 << 17)
}

/// Largest smoothing of a topic, W*beta, as a share of its average number of tokens, while not all
/// documents have been visited. beta is reduced to stay below it; otherwise small topics would be
/// smoothed away for good.
const MAX_SMOOTHING: f64 = 1.0 / 7.0;

/// Smallest share of the weight of seed words: that in the first pass, when no document has been
/// visited.
const FIRST_SEED_SHARE: f64 = 1.0 / 32.0;

/// The training state of `tbp`: everything except phi, which the backend holds.
#[derive(Debug)]
pub(crate) struct Tbp<B = Cpu> {
    config: TbpConfig,
    backend: B,
    lambda: Vec<i64>,
    /// lambda of the current pass, in training without document state, where it cannot be derived
    /// from lambda of the previous pass.
    next_lambda: Option<Vec<i64>>,
    /// 1/(lambda + W*beta), per topic.
    inverse: Vec<Lanes>,
    /// alpha/(lambda + W*beta), per topic.
    factors: Vec<Lanes>,
    /// Number of passes started, including those of the warm-up.
    round: u32,
    /// beta in units; see [`MAX_SMOOTHING`].
    beta: f64,
    /// Units of each seed word that are in phi now.
    seed_units: Vec<i64>,
    /// Sums of the chunks of the last piece.
    sums: Vec<ChunkSums>,
}

impl Tbp<Cpu> {
    /// Creates empty topics, with the CPU backend.
    pub(crate) fn new(topics: &Topics, setup: Setup) -> Result<Tbp<Cpu>> {
        let (config, seed) = (TbpConfig::new(&setup), setup.settings.seed_value());
        let Setup { kernel, threads, word_tokens, .. } = setup;
        let backend =
            Cpu::new(cpu::CpuSetup { kernel, threads, seed, topics: topics.count }, &config, &word_tokens)?;
        Ok(Tbp::with_backend(topics, config, backend))
    }
}

impl<B: Backend> Tbp<B> {
    fn with_backend(topics: &Topics, config: TbpConfig, backend: B) -> Tbp<B> {
        let zeros = || vec![0; topics.count as usize];
        Tbp {
            lambda: zeros(),
            next_lambda: config.stateless.then(zeros),
            inverse: vec![Lanes::ZERO; stride(topics.count)],
            factors: vec![Lanes::ZERO; stride(topics.count)],
            round: 0,
            beta: 0.0,
            seed_units: vec![0; config.seeds.len()],
            sums: Vec::new(),
            config,
            backend,
        }
    }

    /// Makes the result of the previous pass the state to start from, in training without document
    /// state.
    fn swap_buffers(&mut self) -> Result<()> {
        let Some(next) = &mut self.next_lambda else { return Ok(()) };
        if next.iter().any(|&units| units != 0) {
            std::mem::swap(&mut self.lambda, next);
            next.fill(0);
            self.backend.swap_buffers()?;
        }
        Ok(())
    }

    /// Returns whether there are no topics yet, so that documents start at random.
    fn at_random(&self) -> bool {
        self.config.growing && !self.config.base && self.round == 1
    }

    /// Returns the number of units that documents contribute to lambda.
    fn document_units(&self) -> i64 {
        self.lambda.iter().sum()
    }

    /// Adjusts the units of seed words in phi to the share of the corpus that has been visited.
    /// While most documents are missing, the full weight would exceed what a topic has. lambda does
    /// not change, since that would lower the probability of all other words of the topic.
    fn apply_seed_words(&mut self) -> Result<()> {
        if self.config.seeds.is_empty() {
            return Ok(());
        }
        let all = self.config.tokens as f64 * f64::from(UNITS_PER_TOKEN);
        let share = (self.document_units() as f64 / all.max(1.0)).clamp(FIRST_SEED_SHARE, 1.0);
        let mut more = Vec::with_capacity(self.config.seeds.len());
        for (seed, applied) in self.config.seeds.iter().zip(&mut self.seed_units) {
            let wanted = (f64::from(seed.units) * share).round() as i64;
            let units = wanted - *applied;
            *applied = wanted;
            more.push(units);
        }
        self.backend.add_seed_words(&self.config.seeds, &more)
    }

    /// Computes beta, inverse and factors from lambda.
    fn update_factors(&mut self, topics: &Topics) {
        let units = f64::from(UNITS_PER_TOKEN);
        let visited = self.document_units() as f64 / units;
        self.beta = if visited < self.config.tokens as f64 {
            let most = MAX_SMOOTHING * visited.max(1.0) / f64::from(topics.count);
            f64::from(topics.beta) * (most / topics.beta_sum()).min(1.0)
        } else {
            f64::from(topics.beta)
        } * units;
        let beta_sum = self.beta * f64::from(topics.words());
        let alpha = flat(&topics.alpha);
        let rows = flat_mut(&mut self.inverse).iter_mut().zip(flat_mut(&mut self.factors));
        for (((inverse, factor), &alpha), &lambda) in rows.zip(alpha).zip(&self.lambda) {
            let one = 1.0 / (lambda as f64 + beta_sum);
            *inverse = one as f32;
            *factor = (one * f64::from(alpha) * units) as f32;
        }
    }

    fn recompute_prior_mass(&mut self) -> Result<()> {
        self.backend.recompute_prior_mass(&self.factors, self.beta as f32, self.round)
    }

    /// Runs an operation on the documents of a piece. Adds the sums in the order of the chunks.
    fn run(
        &mut self,
        topics: &Topics,
        (operation, kind): (Operation, PassKind),
        chunks: &mut [Chunk],
    ) -> Result<ChunkSums, Fault> {
        let params = StepParams {
            operation,
            inverse: &self.inverse,
            factors: &self.factors,
            alpha: &topics.alpha,
            alpha_sum: topics.alpha_sum,
            beta: self.beta as f32,
            round: self.round,
            at_random: self.at_random(),
            fine: schedule::is_fine(kind),
            over_relaxation: schedule::over_relaxation(kind),
        };
        self.backend.documents(&params, chunks, &mut self.sums)?;
        Ok(self.sums.iter().fold(ChunkSums::default(), |all, one| ChunkSums {
            log_likelihood: all.log_likelihood + one.log_likelihood,
            topics_in_use: all.topics_in_use + one.topics_in_use,
            documents_in_use: all.documents_in_use + one.documents_in_use,
        }))
    }

    fn apply(&mut self) -> Result<(), Fault> {
        let to_next = self.next_lambda.is_some();
        let lambda = self.next_lambda.as_mut().unwrap_or(&mut self.lambda);
        self.backend.apply(lambda, to_next).map_err(|e| (0, e.into()))
    }
}

impl<B: Backend> Updater for Tbp<B> {
    fn add_base(&mut self, base: BaseCounts<'_>) -> Result<()> {
        self.backend.add_base(base, &mut self.lambda)
    }

    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.swap_buffers()?;
        self.round = self.round.saturating_add(1);
        self.apply_seed_words()?;
        if !self.at_random() {
            self.update_factors(topics);
            self.recompute_prior_mass()?;
        }
        Ok(())
    }

    fn piece(&mut self, topics: &mut Topics, view: PieceView<'_>) -> Result<PieceStats, Fault> {
        let (kind, ends_step) = (view.kind, view.ends_step);
        let operation = if kind == PassKind::Load { Operation::Load } else { Operation::Update };
        if operation == Operation::Update {
            self.update_factors(topics);
        }
        let sums = self.run(topics, (operation, kind), view.chunks())?;
        if ends_step {
            self.apply()?;
        }
        Ok(PieceStats {
            log_likelihood: Some(sums.log_likelihood),
            topics_in_use: sums.topics_in_use,
            documents_in_use: sums.documents_in_use,
        })
    }

    fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>) -> Result<f64, Fault> {
        if view.first {
            self.swap_buffers().map_err(|e| (0, e.into()))?;
            self.update_factors(topics);
            self.recompute_prior_mass().map_err(|e| (0, e.into()))?;
        }
        let kind = view.kind;
        Ok(self.run(topics, (Operation::Measure, kind), view.chunks())?.log_likelihood)
    }

    fn finish(&mut self) {
        self.backend.finish();
    }

    fn topic_row(&mut self, _: &Topics, word: u32, row: &mut [f32]) -> Result<()> {
        self.backend.topic_row(word, row)?;
        for (topic, units) in seed_words::of_word(&self.config.seeds, &self.seed_units, word) {
            let n = &mut row[topic as usize];
            *n = (*n - units as f32 / UNITS_PER_TOKEN as f32).max(0.0);
        }
        Ok(())
    }

    fn save(&self, _: &Topics, out: &mut SectionWriter) -> Result<()> {
        out.numbers(&[self.round])?;
        out.numbers(&self.lambda)?;
        out.numbers(&self.seed_units)?;
        self.backend.save(false, out)?;
        let Some(next) = &self.next_lambda else { return Ok(()) };
        out.numbers(next)?;
        self.backend.save(true, out)
    }

    fn restore(&mut self, _: &mut Topics, from: &mut SectionReader) -> Result<()> {
        let mut numbers: Vec<u32> = Vec::new();
        from.numbers(1, &mut numbers)?;
        self.round = numbers[0];
        from.numbers(self.lambda.len(), &mut self.lambda)?;
        let seeds = self.seed_units.len();
        from.numbers(seeds, &mut self.seed_units)?;
        self.backend.restore(false, from)?;
        let Some(next) = &mut self.next_lambda else { return Ok(()) };
        from.numbers(next.len(), next)?;
        self.backend.restore(true, from)
    }
}
