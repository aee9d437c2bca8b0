//! `tbp`: tiny belief propagation with quantized messages, our own algorithm.
//!
//! BP subtracts the message of (w, d) from phi, theta and lambda before it updates it, and must keep K numbers per non-zero
//! for that. The paper's TBP keeps none, leaves it in, and overfits. Here a message is stored in whole units, 64 per token, over
//! the few topics that it is in:
//! ```text
//! z[k]  = (phi[w,k] - x*mu[k] + beta)/(lambda[k] + W*beta) * (theta[d,k] - x*mu[k] + alpha)
//! mu[k] = z[k]/sum z, rounded to whole quanta so that it is right on average and adds up exactly
//! ```
//! A pass, for a corpus cut into pieces and steps of `step` pieces:
//! ```text
//! begin:  swap phi (without document state), apply seed words,
//!         inverse[k] = 1/(lambda[k] + W*beta), prior mass and topic samples of every word
//! for every step:
//!     for every piece of the step, its chunks in parallel:                                 cpu/documents.rs
//!         for every document: theta = sum of its messages
//!             for every word: z over the topics in use, over-relaxation, quantize          cpu/active_topics.rs
//!                 theta changes at once; phi and lambda by deltas, collected by groups of words  delta.rs
//!     apply the deltas, groups of words in parallel                                        counts/
//! ```
//! Where to start reading: this file (what a pass is), `schedule` (which passes there are), `cpu/documents.rs` (the update of a
//! document). `backend.rs` is the seam to other executors. `docs/ENGINE.md` has the figures behind every choice.
//!
//! Legend: K topics, W words; x a count; mu a message; `phi[W,K]`, `theta[D,K]`, `lambda[K]` counts, all in units here, and
//! so alpha and beta.

mod backend;
mod config;
pub(crate) mod counts;
pub(crate) mod cpu;
pub(crate) mod delta;
pub(super) mod memory;
pub(crate) mod messages;
pub(crate) mod schedule;
pub(crate) mod seed_words;

use super::piece::{Chunk, PieceView, StateKind};
use super::{Capabilities, Fault, PassKind, PieceStats, Setup, Updater};
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Lanes, flat, flat_mut};
use crate::topics::{Topics, stride};
use backend::{Backend, ChunkSums, Operation, StepParams};
pub(crate) use config::TbpConfig;
use cpu::Cpu;
use messages::UNITS_PER_TOKEN;

/// What the rest of the library must know of `tbp`.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    state: StateKind::QuantizedMessages,
    stateless: Some(StateKind::Chunks),
    updates_per_piece: true,
    shared_phi: false,
    seed_words: true,
    noisy: true,
    relative_tolerance: true,
    max_word_tokens: Some(counts::most_tokens(UNITS_PER_TOKEN)),
    max_topics: Some(1 << 16),
    ..Capabilities::PLAIN
};

/// While documents are still missing beta is smaller: the smoothing of a topic, W*beta, is at most this share of what it has
/// on average. More would smooth small topics away for good.
const MAX_SMOOTHING: f64 = 1.0 / 7.0;

/// The training state of `tbp`: everything but phi, which the backend holds.
#[derive(Debug)]
pub(crate) struct Tbp<B = Cpu> {
    config: TbpConfig,
    backend: B,
    lambda: Vec<i64>,
    /// lambda of the pass under way, where it cannot be derived from that of the last one: nothing is kept of documents then.
    next_lambda: Option<Vec<i64>>,
    inverse: Vec<Lanes>,
    factors: Vec<Lanes>,
    /// Number of passes begun, those over parts of the corpus included.
    round: u32,
    /// beta in units; see [`MAX_SMOOTHING`].
    beta: f64,
    /// Units of each seed word that are in phi and lambda now.
    seed_units: Vec<i64>,
    /// Sums of the chunks of a piece.
    sums: Vec<ChunkSums>,
}

impl Tbp<Cpu> {
    /// Starts with empty topics, on the processor.
    pub(crate) fn new(topics: &Topics, setup: Setup) -> Result<Tbp<Cpu>> {
        let Setup { kernel, threads, settings, tbp: config, word_tokens, .. } = setup;
        let seed = settings.seed_value();
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

    /// Makes what the last pass has produced the state to start from, where nothing is kept of documents.
    fn swap_buffers(&mut self) -> Result<()> {
        let Some(next) = &mut self.next_lambda else { return Ok(()) };
        if next.iter().any(|&units| units != 0) {
            std::mem::swap(&mut self.lambda, next);
            next.fill(0);
            self.backend.swap_buffers()?;
        }
        Ok(())
    }

    /// Whether there are no topics yet to start documents from.
    fn at_random(&self) -> bool {
        self.config.growing && self.round == 1
    }

    /// Units that documents have brought.
    fn document_units(&self) -> i64 {
        self.lambda.iter().sum::<i64>() - self.seed_units.iter().sum::<i64>()
    }

    /// Brings the units of seed words in phi and lambda to the share of the corpus that has been visited: the full weight would
    /// exceed what a topic has while most documents are missing, and no other word would join it.
    fn apply_seed_words(&mut self) -> Result<()> {
        if self.config.seeds.is_empty() {
            return Ok(());
        }
        let all = self.config.tokens as f64 * f64::from(UNITS_PER_TOKEN);
        let share = (self.document_units() as f64 / all.max(1.0)).clamp(0.0, 1.0);
        let mut more = Vec::with_capacity(self.config.seeds.len());
        for (seed, applied) in self.config.seeds.iter().zip(&mut self.seed_units) {
            let wanted = (f64::from(seed.units) * share).round() as i64;
            let units = wanted - *applied;
            self.lambda[seed.topic as usize] += units;
            *applied = wanted;
            more.push(units);
        }
        self.backend.add_seed_words(&self.config.seeds, &more)
    }

    /// Derives beta, inverse and factors from lambda.
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

    /// Runs an operation on the documents of a piece. Sums are added in the order of the chunks.
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
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.swap_buffers()?;
        self.round += 1;
        if !self.at_random() {
            self.apply_seed_words()?;
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

    fn log_likelihood(&mut self, topics: &Topics, view: PieceView<'_>, total: &mut f64) -> Result<(), Fault> {
        if view.first {
            self.swap_buffers().map_err(|e| (0, e.into()))?;
            self.update_factors(topics);
            self.recompute_prior_mass().map_err(|e| (0, e.into()))?;
        }
        let kind = view.kind;
        *total += self.run(topics, (Operation::Measure, kind), view.chunks())?.log_likelihood;
        Ok(())
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
