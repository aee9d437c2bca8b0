//! `tbp` on the CPU: chunks of documents in parallel, then groups of words in parallel.
//!
//! The rules by which documents are divided into chunks and words into groups do not depend on the
//! number of threads. Every chunk and every group belongs to one thread at a time, and what they
//! change is added up in integers. The result is therefore the same, to the bit, for any number of
//! threads. This module has no formulas: those are in `documents` and `active_topics`. Start
//! reading at the implementation of [`Backend`], at the end.

pub(crate) mod active_topics;
pub(crate) mod deltas;
mod documents;
mod seeding;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use super::TbpConfig;
use super::backend::{Backend, ChunkSums, Operation, StepParams};
use super::base::BaseCounts;
use super::counts::{PhiCounts, RowBuffer};
use super::delta::{Delta, DeltaList};
use super::messages::{DocumentMessages, Messages, UNITS_PER_TOKEN};
use super::seed_words::SeedWord;
use crate::algorithms::piece::Chunk;
use crate::algorithms::{DocumentFailure, Fault};
use crate::corpus::{Block, Document};
use crate::error::Result;
use crate::memory;
use crate::random::{Purpose, Random};
use crate::sections::{SectionReader, SectionWriter};
use crate::settings::Active;
use crate::simd::{Kernel, Lanes};
use crate::threads::{Threads, locked};
use active_topics::UpdateParams;
use deltas::{AllDeltas, Deltas};
use documents::{DocumentScratch, UpdateContext};
use seeding::SeedTable;

/// Bytes of messages above which a worker frees its buffers after a chunk.
const LARGE_CHUNK: u64 = 1 << 20;
/// Number of base counts that are added at a time. Their deltas take half a mebibyte.
const BASE_COUNTS_AT_ONCE: usize = 1 << 16;

/// Parameters with which the CPU backend is created.
#[derive(Debug)]
pub(super) struct CpuSetup {
    pub(super) kernel: Kernel,
    pub(super) threads: Arc<Threads>,
    pub(super) seed: u64,
    pub(super) topics: u32,
}

/// The CPU backend; the module documentation describes how it divides the work.
#[derive(Debug)]
pub(crate) struct Cpu {
    setup: CpuSetup,
    exclude: bool,
    active: Active,
    growing: bool,
    seeds: SeedTable,
    counts: PhiCounts,
    /// phi of the current pass, in training without document state: old messages cannot be
    /// subtracted there.
    next: Option<Box<PhiCounts>>,
    /// Per-thread state.
    workers: Vec<Mutex<CpuWorker>>,
    buffer: RowBuffer,
}

/// State of a worker thread.
#[derive(Debug)]
struct CpuWorker {
    scratch: DocumentScratch,
    /// Deltas of the step so far.
    deltas: Deltas,
    /// New messages of the current chunk.
    out: Messages,
    /// Documents of the current chunk.
    block: Block,
}

/// A chunk to process, and its result.
struct ChunkTask<'a> {
    chunk: &'a mut Chunk,
    result: Result<ChunkSums, Fault>,
}

/// A document to process, with the buffers of its worker.
struct DocumentJob<'a> {
    document: Document<'a>,
    number: u64,
    messages: DocumentMessages<'a>,
    scratch: &'a mut DocumentScratch,
    deltas: &'a mut Deltas,
    out: &'a mut Messages,
}

impl Cpu {
    /// Creates the backend with all counts zero.
    pub(super) fn new(setup: CpuSetup, config: &TbpConfig, word_tokens: &[u64]) -> Result<Cpu> {
        let counts = || PhiCounts::new(word_tokens, setup.topics, &config.storage, setup.threads.count());
        let current = counts()?;
        let next = if config.stateless { Some(Box::new(counts()?)) } else { None };
        let (lists, topics, workers) = (current.lists(), setup.topics as usize, setup.threads.count());
        let worker = |_| {
            Mutex::new(CpuWorker {
                scratch: DocumentScratch::new(setup.topics),
                deltas: Deltas::new(lists, topics, &config.deltas, workers),
                out: Messages::default(),
                block: Block::default(),
            })
        };
        Ok(Cpu {
            exclude: config.exclude,
            active: config.active,
            growing: config.growing,
            seeds: SeedTable::new(&config.seeds, setup.topics),
            counts: current,
            next,
            workers: (0..workers).map(worker).collect(),
            setup,
            buffer: RowBuffer::default(),
        })
    }

    /// Returns the constants of an update for all documents of a step.
    fn context<'a>(&'a self, params: &StepParams<'a>) -> UpdateContext<'a> {
        let all = self.active == Active::All;
        let quantum = if params.fine || all { documents::QUANTUM_FINE } else { documents::QUANTUM_COARSE };
        // Without document state, the first messages of a visit are the only ones.
        let stateless = self.next.is_some();
        let finest_first = stateless || all;
        UpdateContext {
            kernel: self.setup.kernel,
            counts: &self.counts,
            inverse: params.inverse,
            factors: params.factors,
            alpha: params.alpha,
            alpha_sum: params.alpha_sum,
            seeds: &self.seeds,
            params: UpdateParams { beta: params.beta, quantum, open: !params.fine && !params.at_random },
            over_relaxation: params.over_relaxation,
            exclude: self.exclude,
            max_topics: self.active.max_topics(self.setup.topics),
            rounds: if stateless { documents::ROUNDS_STATELESS } else { documents::INITIAL_ROUNDS },
            min_units: if finest_first { 0.0 } else { documents::MIN_FIRST_UNITS },
            first_quantum: if finest_first { quantum } else { documents::QUANTUM_FIRST },
        }
    }

    /// Updates the messages of a document, or creates them. Returns its log-likelihood before the
    /// update.
    fn update(
        &self,
        context: UpdateContext<'_>,
        params: &StepParams<'_>,
        task: DocumentJob<'_>,
    ) -> Result<f64, DocumentFailure> {
        let DocumentJob { document, number, messages, scratch, deltas, out } = task;
        if document.words.is_empty() {
            out.push(std::iter::empty(), &[], std::iter::empty());
            return Ok(0.0);
        }
        let seed = self.setup.seed;
        let mut cut = Random::new(seed, Purpose::Quantization, number | u64::from(params.round) << 40);
        self.seeds.restrict(document, &mut cut, &mut scratch.restriction);
        if self.growing && messages.entries.is_empty() {
            let mut start = Random::new(seed, Purpose::InitialTopic, number);
            let random = params.at_random.then_some(&mut start);
            return context.initialize(document, random, &mut cut, (scratch, deltas), out);
        }
        context.update(document, messages, &mut cut, (scratch, deltas), out)
    }

    /// Runs an operation on a document. Returns its log-likelihood.
    fn document(
        &self,
        context: UpdateContext<'_>,
        params: &StepParams<'_>,
        task: DocumentJob<'_>,
    ) -> Result<f64, DocumentFailure> {
        match params.operation {
            Operation::Update => self.update(context, params, task),
            Operation::Load => {
                context.add_to_phi(task.document, task.messages, task.deltas)?;
                Ok(0.0)
            }
            Operation::Measure if task.document.words.is_empty() => Ok(0.0),
            Operation::Measure if task.messages.entries.is_empty() => {
                context.first_theta(task.document, None, task.scratch)
            }
            Operation::Measure => context.measure(task.document, task.messages, task.scratch),
        }
    }

    /// Runs an operation on the documents of a chunk.
    fn chunk(
        &self,
        params: &StepParams<'_>,
        chunk: &mut Chunk,
        worker: &mut CpuWorker,
    ) -> Result<ChunkSums, Fault> {
        let context = self.context(params);
        let CpuWorker { scratch, deltas, out, block } = worker;
        out.clear();
        let block = chunk.documents.unpacked(block);
        let nonzeros = |d: usize| block.document(d).words.len();
        let log_likelihood =
            chunk.messages.documents(nonzeros).enumerate().try_fold(0f64, |sum, (d, messages)| {
                let (document, number) = (block.document(d), block.number(d));
                let task = DocumentJob { document, number, messages, scratch, deltas, out };
                self.document(context, params, task).map(|more| sum + more).map_err(|bad| (number, bad))
            })?;
        // `out` is empty if messages are only read.
        if !out.is_empty() && self.next.is_none() {
            chunk.messages.copy_from(out);
        }
        let (topics_in_use, documents_in_use) = out.count_topics();
        if out.bytes() > LARGE_CHUNK {
            // Otherwise every worker would eventually hold buffers for the longest document.
            *out = Messages::default();
            worker.block = Block::default();
            scratch.free();
        }
        Ok(ChunkSums { log_likelihood, topics_in_use, documents_in_use })
    }

    fn counts_of(&self, next: bool) -> &PhiCounts {
        self.next.as_deref().filter(|_| next).unwrap_or(&self.counts)
    }

    fn counts_mut(&mut self, next: bool) -> &mut PhiCounts {
        self.next.as_deref_mut().filter(|_| next).unwrap_or(&mut self.counts)
    }
}

impl Backend for Cpu {
    fn documents(
        &mut self,
        params: &StepParams<'_>,
        chunks: &mut [Chunk],
        sums: &mut Vec<ChunkSums>,
    ) -> Result<(), Fault> {
        let mut tasks: Vec<ChunkTask<'_>> =
            chunks.iter_mut().map(|chunk| ChunkTask { chunk, result: Ok(ChunkSums::default()) }).collect();
        let this = &*self;
        let by_work = tasks.iter_mut().map(|task| (task.chunk.documents.nonzeros() as u64, task)).collect();
        this.setup.threads.share(
            by_work,
            |thread| locked(&this.workers[thread]),
            |worker, ChunkTask { chunk, result }| *result = this.chunk(params, chunk, worker),
        );
        sums.clear();
        tasks.into_iter().try_for_each(|task| {
            sums.push(task.result?);
            Ok(())
        })
    }

    fn apply(&mut self, lambda: &mut [i64], to_next: bool) -> Result<()> {
        let Cpu { counts, next, workers, setup, .. } = self;
        let counts = next.as_deref_mut().filter(|_| to_next).unwrap_or(counts);
        let workers = workers.iter_mut();
        let deltas = workers.map(|own| &mut own.get_mut().unwrap_or_else(PoisonError::into_inner).deltas);
        let mut deltas = AllDeltas(deltas.collect());
        counts.apply(&setup.threads, &deltas)?;
        for own in &mut deltas.0 {
            for (lambda, more) in lambda.iter_mut().zip(&own.lambda) {
                *lambda += more;
            }
            own.clear()?;
        }
        Ok(())
    }

    fn add_seed_words(&mut self, seeds: &[SeedWord], units: &[i64]) -> Result<()> {
        let mut lists = vec![DeltaList::default(); self.counts.lists()];
        for (seed, &units) in seeds.iter().zip(units) {
            let address = self.counts.address(seed.word);
            lists[address.list as usize].push(Delta { cell: address.cell + seed.topic, units: units as i32 });
        }
        self.counts.apply(&self.setup.threads, &lists)
    }

    fn add_base(&mut self, base: BaseCounts<'_>, lambda: &mut [i64]) -> Result<()> {
        let mut lists = vec![DeltaList::default(); self.counts.lists()];
        let mut pending = 0;
        for (old, &word) in (0..).zip(base.words) {
            let address = self.counts.address(word);
            for (topic, units) in base.units(old) {
                lambda[topic as usize] += i64::from(units);
                lists[address.list as usize].push(Delta { cell: address.cell + topic, units });
                pending += 1;
            }
            if pending >= BASE_COUNTS_AT_ONCE {
                self.counts.apply(&self.setup.threads, &lists)?;
                lists.iter_mut().for_each(DeltaList::clear);
                pending = 0;
            }
        }
        self.counts.apply(&self.setup.threads, &lists)
    }

    fn recompute_prior_mass(&mut self, factors: &[Lanes], beta: f32, round: u32) -> Result<()> {
        let Cpu { setup, counts, .. } = self;
        let key = u64::from(round) << 32;
        counts.recompute_prior_mass(&setup.threads, setup.kernel, (factors, beta), setup.seed, key)
    }

    fn swap_buffers(&mut self) -> Result<()> {
        let Some(next) = self.next.as_deref_mut() else { return Ok(()) };
        std::mem::swap(&mut self.counts, next);
        next.clear()
    }

    fn topic_row(&mut self, word: u32, row: &mut [f32]) -> Result<()> {
        self.counts.fill(word, UNITS_PER_TOKEN, &mut self.buffer, row)
    }

    fn finish(&mut self) {
        self.workers = Vec::new();
        memory::trim_heap();
    }

    fn save(&self, next: bool, out: &mut SectionWriter) -> Result<()> {
        self.counts_of(next).save(out)
    }

    fn restore(&mut self, next: bool, from: &mut SectionReader) -> Result<()> {
        let topics = self.setup.topics;
        self.counts_mut(next).restore(topics, from)
    }
}
