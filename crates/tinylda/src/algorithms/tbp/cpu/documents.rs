//! The update of a document's messages by `tbp`. The header of `algorithms/tbp/mod.rs` explains the
//! terms.
//!
//! theta changes with every batch of words, phi at the end of the step. For a topic that the
//! document does not use, theta = 0, so z does not depend on the document:
//! `alpha[k]*(phi[w,k]+beta)/(lambda[k]+W*beta)`. The sum of these terms over all topics, those in
//! use included, is the *prior mass*. It is known for every word. Quanta that fall on it go to the
//! word's *topic samples*. Every topic can thus enter every document, and the cost of an update is
//! proportional to the number of topics in use, not to K.
//!
//! Over-relaxation: a message moves c times the distance from the old message to z beyond z.
//! ```text
//! mu[k] = max(0, mu_old[k] + (1 + c)*(z[k]/sum z - mu_old[k])), rescaled to add up
//! c = 3/2 while topics form, then 5/2 and 0 in turn
//! ```
//! Fixed points do not change, and convergence elsewhere is faster. Plain passes (c = 0) come in
//! between.
//!
//! A *quantum* is a few units while topics are searched for: less is stored, and the noise leads
//! out of poor topics. In fine passes (`schedule::is_fine`: the last two, and those that learn
//! priors at the end) it is one unit, and topic samples are not used.
//!
//! Start reading with [`UpdateContext::update`]. This module does not know how phi is stored
//! (`counts`) nor how the loops over topics are vectorized (`active_topics`).
//!
//! Legend: K topics, W words; x a count; mu a message; `phi[W,K]`, `theta[D,K]`, `lambda[K]`
//! counts, all in units here, and therefore alpha and beta as well; t = theta of the topics in use.

use super::active_topics::{
    ActiveTopics, AllTopicsColumn, QuantizedWord, UpdateParams, WORDS_PER_BATCH, WeighedMessage, WordUpdate,
};
use super::deltas::Deltas;
use super::seeding::{SeedRestriction, SeedTable};
use crate::algorithms::DocumentFailure;
use crate::algorithms::dense::document::NotANumber;
use crate::algorithms::tbp::counts::{PhiCounts, RowBuffer};
use crate::algorithms::tbp::delta::Delta;
use crate::algorithms::tbp::messages::{DocumentMessages, MessageEntry, Messages, UNITS_PER_TOKEN};
use crate::corpus::Document;
use crate::random::Random;
use crate::simd::{Kernel, Lanes, flat, flat_mut};
use crate::topics::stride;

/// Units of a quantum in fine passes; see `schedule::is_fine`.
pub(super) const QUANTUM_FINE: u16 = 1;

/// Units of a quantum while topics are searched for.
pub(super) const QUANTUM_COARSE: u16 = 2;
/// Units of a quantum in the first messages of a document. They take less memory, and are soon
/// updated.
pub(super) const QUANTUM_FIRST: u16 = 8;

/// A word with more than one part in this many of its document's tokens is dominant: it determines
/// theta itself, would oscillate with it forever, and is therefore damped by [`DAMPING`].
const DOMINANT_DIVISOR: u64 = 4;
/// Over-relaxation of a dominant word: it moves half the distance.
const DAMPING: f32 = -0.5;

/// Number of passes over a new document with all topics before its words choose theirs.
pub(super) const INITIAL_ROUNDS: usize = 4;
/// Number of passes over a document with all topics in stateless training, where it is new at every
/// visit.
pub(super) const ROUNDS_STATELESS: usize = 8;

/// Units that a topic must have in a new document to be in use: two tokens.
pub(super) const MIN_FIRST_UNITS: f32 = 2.0 * UNITS_PER_TOKEN as f32;
/// Share of a short document that is sufficient for a topic to be in use. Other topics can enter
/// later through topic samples.
const FIRST_SHARE: f32 = 1.0 / 32.0;

/// Number of batches by which rows of phi are prefetched ahead.
const ROWS_AHEAD: usize = 1;
/// Number of batches by which rows of rare words are prefetched ahead, which name the place of
/// their lists.
const RARE_ROWS_AHEAD: usize = 3;
/// Number of batches by which the addresses of rows are prefetched ahead.
const ADDRESSES_AHEAD: usize = 6;

/// Parameters of an update that are the same for all documents of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpdateContext<'a> {
    pub(super) kernel: Kernel,
    pub(super) counts: &'a PhiCounts,
    /// 1 / (lambda + W*beta), per topic.
    pub(super) inverse: &'a [Lanes],
    /// alpha * inverse, per topic.
    pub(super) factors: &'a [Lanes],
    /// alpha per topic, in tokens.
    pub(super) alpha: &'a [Lanes],
    /// Sum of alpha over topics, in tokens.
    pub(super) alpha_sum: f64,
    pub(super) params: UpdateParams,
    /// How far a message moves beyond its new value, as a multiple of the distance from the old
    /// one.
    pub(super) over_relaxation: f32,
    pub(super) seeds: &'a SeedTable,
    /// Whether a message is subtracted before it is updated.
    pub(super) exclude: bool,
    /// Largest number of topics of a document.
    pub(super) max_topics: usize,
    /// Number of passes over a new document with all topics before its words choose theirs.
    pub(super) rounds: usize,
    /// Units that a topic must have in a new document to be in use, unless [`FIRST_SHARE`] of the
    /// document is less.
    pub(super) min_units: f32,
    /// Units of a quantum in the first messages of a document.
    pub(super) first_quantum: u16,
}

/// The logarithm of a product of many numbers. One logarithm per non-zero would take a tenth of the
/// time.
#[derive(Debug, Clone, Copy)]
struct LogProduct {
    sum: f64,
    product: f64,
}

impl LogProduct {
    const ZERO: LogProduct = LogProduct { sum: 0.0, product: 1.0 };

    /// Multiplies the product by `s` to the power of `count`.
    #[inline]
    fn times(&mut self, s: f32, count: u32) {
        let s = f64::from(s);
        match count {
            1 => self.product *= s,
            2 => self.product *= s * s,
            _ => self.sum += f64::from(count) * libm::log(s),
        }
        if !(1e-200..1e200).contains(&self.product) {
            self.sum += libm::log(self.product);
            self.product = 1.0;
        }
    }

    /// Returns the logarithm of the product.
    fn value(self) -> f64 {
        self.sum + libm::log(self.product)
    }
}

/// Returns the units of x tokens. `PhiCounts` limits the tokens of a word so that this fits.
fn units_of(x: u32, units: u16) -> i32 {
    (x * u32::from(units)).cast_signed()
}

/// Marks a topic that has no slot.
const NO_SLOT: u16 = u16::MAX;

/// Buffers with which a thread updates documents.
#[derive(Debug)]
pub(super) struct DocumentScratch {
    active: ActiveTopics,
    /// Slot of each topic, or [`NO_SLOT`].
    slot_of: Vec<u16>,
    /// New slots of the active topics after unused ones are removed.
    moved: Vec<u16>,
    /// Number of entries of each new message.
    sizes: Vec<u8>,
    /// theta of a new document, over all topics.
    theta: Vec<Lanes>,
    /// Columns of all topics, from which theta of a new document is computed.
    all_topics: Vec<AllTopicsColumn>,
    /// Topics of a new document that are chosen from theta.
    chosen: Vec<u32>,
    /// Seeded topics that the document can use.
    pub(super) restriction: SeedRestriction,
    /// Rows of the words in the current batch that come from a file.
    rows: [RowBuffer; WORDS_PER_BATCH],
}

impl DocumentScratch {
    pub(super) fn new(topics: u32) -> DocumentScratch {
        DocumentScratch {
            active: ActiveTopics::new(topics),
            slot_of: vec![NO_SLOT; topics as usize],
            moved: Vec::new(),
            sizes: Vec::new(),
            theta: vec![Lanes::ZERO; stride(topics)],
            all_topics: vec![AllTopicsColumn::ZERO; stride(topics)],
            chosen: Vec::new(),
            restriction: SeedRestriction::default(),
            rows: Default::default(),
        }
    }

    /// Frees buffers that a document with very many words has enlarged.
    pub(super) fn free(&mut self) {
        self.active.free();
        self.sizes = Vec::new();
    }

    /// Loads a document: its topics, and the units of its messages in them.
    fn load(&mut self, context: UpdateContext<'_>, document: Document<'_>, messages: DocumentMessages<'_>) {
        for &k in messages.topics {
            self.add_topic(context, u32::from(k));
        }
        for (message, &x) in messages.iter().zip(document.counts) {
            for entry in message {
                *self.active.t(entry.slot()) += x as f32 * f32::from(entry.units());
            }
        }
    }

    /// Adds a topic to the active ones. Returns its slot.
    fn add_topic(&mut self, context: UpdateContext<'_>, topic: u32) -> u16 {
        let k = topic as usize;
        let slot = self.active.push(topic, flat(context.inverse)[k], flat(context.factors)[k]) as u16;
        self.slot_of[k] = slot;
        slot
    }

    /// Returns the slot of a topic; adds the topic if there is none and the limit permits it.
    fn slot(&mut self, context: UpdateContext<'_>, topic: u32) -> u16 {
        let slot = self.slot_of[topic as usize];
        if slot != NO_SLOT {
            return slot;
        }
        if self.active.length() >= context.max_topics {
            // The topics that came first are as good as any.
            return (topic as usize % self.active.length()) as u16;
        }
        self.add_topic(context, topic)
    }

    /// Removes all active topics.
    fn clear(&mut self) {
        for (k, _) in self.active.topics() {
            self.slot_of[k as usize] = NO_SLOT;
        }
        self.active.clear();
    }

    /// Stores the new messages without the topics that occur in none, and removes all active
    /// topics.
    fn store(&mut self, out: &mut Messages) {
        self.moved.clear();
        let mut next = 0;
        for used in self.active.used() {
            self.moved.push(next);
            next += u16::from(used);
        }
        let topics = self
            .active
            .topics()
            .zip(self.active.used())
            .filter(|&(_, used)| used)
            .map(|((k, _), _)| k as u16);
        let (entries, _) = self.active.messages();
        out.push(topics, &self.sizes, entries.iter().map(|entry| entry.with_slot(self.moved[entry.slot()])));
        self.clear();
    }
}

impl UpdateContext<'_> {
    /// Updates the messages of a document. Returns its log-likelihood before the update.
    pub(super) fn update(
        self,
        document: Document<'_>,
        messages: DocumentMessages<'_>,
        random: &mut Random,
        (scratch, deltas): (&mut DocumentScratch, &mut Deltas),
        out: &mut Messages,
    ) -> Result<f64, DocumentFailure> {
        let first = document.words.iter().take(ADDRESSES_AHEAD * WORDS_PER_BATCH);
        first.for_each(|&w| self.counts.prefetch_address(w));
        scratch.load(self, document, messages);
        deltas.lambda(&scratch.active, document, (messages.sizes, messages.entries), true, -1);
        let log = self.update_words(document, messages, true, random, (scratch, deltas));
        let (entries, _) = scratch.active.messages();
        deltas.lambda(&scratch.active, document, (&scratch.sizes, entries), true, 1);
        scratch.store(out);
        log
    }

    /// Creates the first messages of a document from the current topics: theta is computed in a few
    /// passes over all topics, and then every word chooses its topics. Returns the log-likelihood
    /// on the way.
    pub(super) fn initialize(
        self,
        document: Document<'_>,
        random: Option<&mut Random>,
        cut: &mut Random,
        (scratch, deltas): (&mut DocumentScratch, &mut Deltas),
        out: &mut Messages,
    ) -> Result<f64, DocumentFailure> {
        let log = self.first_theta(document, random, scratch)?;
        self.choose_topics(scratch);
        let first =
            UpdateContext { params: UpdateParams { quantum: self.first_quantum, ..self.params }, ..self };
        let sizes = vec![0; document.words.len()];
        let none = DocumentMessages { topics: &[], sizes: &sizes, entries: &[] };
        let done = first.update_words(document, none, false, cut, (scratch, deltas));
        let (entries, _) = scratch.active.messages();
        deltas.lambda(&scratch.active, document, (&scratch.sizes, entries), false, 1);
        scratch.store(out);
        done.map(|_| log)
    }

    /// Computes theta of a new document, in units, starting from the uniform distribution or from a
    /// random topic for each word. Returns the log-likelihood of theta before the last pass.
    pub(super) fn first_theta(
        self,
        document: Document<'_>,
        random: Option<&mut Random>,
        scratch: &mut DocumentScratch,
    ) -> Result<f64, DocumentFailure> {
        let count = scratch.slot_of.len();
        let DocumentScratch { all_topics, theta, rows, .. } = scratch;
        let each = flat_mut(theta);
        each.fill(0.0);
        match random {
            None => each[..count]
                .fill((document.tokens() as f64 * f64::from(UNITS_PER_TOKEN) / count as f64) as f32),
            Some(random) if !self.seeds.is_empty() => {
                self.seeds.start(document, random, &mut each[..count]);
            }
            Some(random) => {
                for &x in document.counts {
                    each[random.below(count as u64) as usize] += x as f32 * UNITS_PER_TOKEN as f32;
                }
            }
        }
        for (all_topics, &inverse) in all_topics.iter_mut().zip(self.inverse) {
            all_topics.inverse = inverse;
        }
        let mut log = LogProduct::ZERO;
        for round in 1..=self.rounds {
            for ((all_topics, theta), alpha) in all_topics.iter_mut().zip(&*theta).zip(self.alpha) {
                let sums = theta.0.into_iter().zip(alpha.0);
                all_topics
                    .t
                    .0
                    .iter_mut()
                    .zip(sums)
                    .for_each(|(t, (theta, alpha))| *t = theta + alpha * UNITS_PER_TOKEN as f32);
                all_topics.sums = Lanes::ZERO;
            }
            let mut words = document.words.chunks(WORDS_PER_BATCH).peekable();
            let mut counts = document.counts.chunks(WORDS_PER_BATCH);
            while let (Some(own), Some(counts)) = (words.next(), counts.next()) {
                let mut buffers = rows.iter_mut();
                let mut row = |w: u32| match buffers.next() {
                    Some(buffer) => self.counts.row(w, buffer),
                    None => unreachable!("one buffer per word of the batch"),
                };
                let mut batch = [(row(own[0])?, counts[0] as f32 * UNITS_PER_TOKEN as f32); WORDS_PER_BATCH];
                for word in &mut batch[1..] {
                    word.1 = 0.0;
                }
                for ((word, &w), &x) in batch.iter_mut().zip(own).zip(counts).skip(1) {
                    *word = (row(w)?, x as f32 * UNITS_PER_TOKEN as f32);
                }
                let mut ahead = [batch[0].0; WORDS_PER_BATCH];
                for (row, &w) in ahead.iter_mut().zip(words.peek().copied().unwrap_or_default()) {
                    *row = self.counts.row_in_memory(w).unwrap_or(*row);
                }
                let all = self.kernel.all_topics(all_topics, &batch, &ahead, self.params.beta);
                if let Some(&bad) = all.iter().find(|&&s| !(s > 0.0 && s.is_finite())) {
                    return Err(NotANumber(bad).into());
                }
                if round == self.rounds {
                    all.iter().zip(counts).for_each(|(&s, &x)| log.times(s, x));
                }
            }
            for (theta, all_topics) in theta.iter_mut().zip(&*all_topics) {
                *theta = all_topics.sums;
            }
        }
        Ok(log.value() - self.log_normalizer(document))
    }

    /// Makes the topics of a new document active: those with enough units, or the strongest if
    /// there are more than the limit.
    fn choose_topics(self, scratch: &mut DocumentScratch) {
        let theta = flat(&scratch.theta);
        let chosen = &mut scratch.chosen;
        chosen.clear();
        let (seeds, restriction) = (self.seeds, &scratch.restriction);
        let all = (0..scratch.slot_of.len() as u32).filter(|&k| seeds.allows(restriction, k));
        let min_units = self.min_units.min(FIRST_SHARE * theta.iter().sum::<f32>());
        chosen.extend(all.clone().filter(|&k| theta[k as usize] >= min_units));
        if chosen.is_empty() {
            chosen.extend(all);
        }
        if chosen.len() > self.max_topics {
            // The largest first; among equals, the topic with the lower number.
            let order = |a: &u32, b: &u32| theta[*b as usize].total_cmp(&theta[*a as usize]).then(a.cmp(b));
            chosen.select_nth_unstable_by(self.max_topics - 1, order);
            chosen.truncate(self.max_topics);
            chosen.sort_unstable();
        }
        for i in 0..scratch.chosen.len() {
            let k = scratch.chosen[i];
            let slot = scratch.add_topic(self, k);
            *scratch.active.t(slot as usize) = flat(&scratch.theta)[k as usize];
        }
    }

    /// Adds all messages of a document to phi and lambda.
    pub(super) fn add_to_phi(
        self,
        document: Document<'_>,
        messages: DocumentMessages<'_>,
        deltas: &mut Deltas,
    ) -> Result<(), DocumentFailure> {
        for ((message, &w), &x) in messages.iter().zip(document.words).zip(document.counts) {
            let address = self.counts.address(w);
            for entry in message {
                let (topic, units) = (u32::from(messages.topics[entry.slot()]), units_of(x, entry.units()));
                deltas.phi[address.list as usize].push(Delta { cell: address.cell + topic, units });
                deltas.lambda[topic as usize] += i64::from(units);
            }
            deltas.record_words(1)?;
        }
        Ok(())
    }

    /// Returns the log-likelihood of a document.
    pub(super) fn measure(
        self,
        document: Document<'_>,
        messages: DocumentMessages<'_>,
        scratch: &mut DocumentScratch,
    ) -> Result<f64, DocumentFailure> {
        scratch.load(self, document, messages);
        let mut log = LogProduct::ZERO;
        let mut bad = None;
        for (&w, &x) in document.words.iter().zip(document.counts) {
            let row = self.counts.row(w, &mut scratch.rows[0])?;
            let word =
                QuantizedWord { row, prior_mass: self.counts.address(w).prior_mass, ..QuantizedWord::NONE };
            let mut weighed = [WeighedMessage::default(); WORDS_PER_BATCH];
            self.kernel.quantize_messages(&mut scratch.active, &[word], self.params, &mut weighed);
            let s = weighed[0].full;
            if !(s > 0.0 && s.is_finite()) {
                bad = Some(NotANumber(s));
            }
            log.times(s, x);
        }
        scratch.clear();
        bad.map_or(Ok(log.value() - self.log_normalizer(document)), |bad| Err(bad.into()))
    }

    /// Returns the logarithm of the normalizer that the factors of [`LogProduct`] lack.
    fn log_normalizer(self, document: Document<'_>) -> f64 {
        let tokens = document.tokens() as f64;
        tokens * libm::log(f64::from(UNITS_PER_TOKEN) * (tokens + self.alpha_sum))
    }

    /// Updates every message of the loaded document once, or creates them if `in_phi` is false.
    /// Returns the log-likelihood before the update.
    fn update_words(
        self,
        document: Document<'_>,
        messages: DocumentMessages<'_>,
        in_phi: bool,
        random: &mut Random,
        (scratch, deltas): (&mut DocumentScratch, &mut Deltas),
    ) -> Result<f64, DocumentFailure> {
        let mut log = LogProduct::ZERO;
        scratch.sizes.clear();
        let mut messages = messages.iter();
        let words = document.words.chunks(WORDS_PER_BATCH).zip(document.counts.chunks(WORDS_PER_BATCH));
        let ahead = |batches: usize| document.words.iter().skip(batches * WORDS_PER_BATCH);
        let (mut rows, mut rare) = (ahead(ROWS_AHEAD), ahead(RARE_ROWS_AHEAD));
        let mut addresses = ahead(ADDRESSES_AHEAD);
        document.words.iter().take(WORDS_PER_BATCH).for_each(|&w| self.counts.prefetch(w));
        let dominant = document.tokens() / DOMINANT_DIVISOR;
        for (words, counts) in words {
            addresses.by_ref().take(WORDS_PER_BATCH).for_each(|&w| self.counts.prefetch_address(w));
            rare.by_ref().take(WORDS_PER_BATCH).for_each(|&w| self.counts.prefetch_rare(w));
            rows.by_ref().take(WORDS_PER_BATCH).for_each(|&w| self.counts.prefetch(w));
            let mut olds: [&[MessageEntry]; WORDS_PER_BATCH] = [&[]; WORDS_PER_BATCH];
            for (at, (old, message)) in olds.iter_mut().zip(messages.by_ref().take(words.len())).enumerate() {
                *old = message;
                scratch.active.set_own(at, message);
            }
            let mut inputs = [QuantizedWord::NONE; WORDS_PER_BATCH];
            let mut bits = [0; WORDS_PER_BATCH];
            let buffers = inputs.iter_mut().zip(&mut bits).zip(&mut scratch.rows);
            for ((&w, &x), ((input, bits), buffer)) in words.iter().zip(counts).zip(buffers) {
                *bits = random.bits();
                self.counts.prefetch_sample(w, *bits as u32);
                *input = QuantizedWord {
                    row: self.counts.row(w, buffer)?,
                    prior_mass: self.counts.address(w).prior_mass,
                    taken: if self.exclude { x as f32 } else { 0.0 },
                    over_relaxation: if u64::from(x) > dominant { DAMPING } else { self.over_relaxation },
                    u: (*bits >> 40) as f32 / (1u32 << 24) as f32,
                };
            }
            let (active, inputs) = (&mut scratch.active, &inputs[..words.len()]);
            let mut weighed = [WeighedMessage::default(); WORDS_PER_BATCH];
            self.kernel.quantize_messages(active, inputs, self.params, &mut weighed);
            for (at, (&w, &x)) in words.iter().zip(counts).enumerate() {
                let (old, bits) = (olds[at], bits[at]);
                let WeighedMessage { full, total, quanta } = weighed[at];
                if !total.is_finite() {
                    return Err(NotANumber(total).into());
                }
                if in_phi {
                    log.times(full, x);
                } else {
                    // theta of a new document includes the word, but not as a message. Subtract
                    // what the message would be.
                    scratch.active.subtract(at, x as f32 * UNITS_PER_TOKEN as f32 / total);
                }
                let address = self.counts.address(w);
                let deltas = &mut deltas.phi[address.list as usize];
                let mut word = WordUpdate { x, old_entries: old.len(), cell: address.cell, deltas };
                self.kernel.commit_message(&mut scratch.active, at, &mut word);
                // These fell on the prior mass, or were lost in rounding.
                let rest = UNITS_PER_TOKEN as u16 / self.params.quantum - quanta;
                if rest > 0 {
                    self.assign_rest((rest, bits), w, old, scratch, word);
                }
                let (entries, from) = scratch.active.messages();
                scratch.sizes.push((entries.len() - from) as u8);
            }
            deltas.record_words(words.len())?;
        }
        Ok(log.value() - self.log_normalizer(document))
    }

    /// Assigns the quanta that fell on the prior mass, or were lost in rounding.
    #[inline(never)]
    fn assign_rest(
        self,
        (mut rest, bits): (u16, u64),
        w: u32,
        old: &[MessageEntry],
        scratch: &mut DocumentScratch,
        word: WordUpdate<'_>,
    ) {
        let (samples, mut at) = self.counts.topic_samples_from(w, bits as u32);
        let UpdateParams { quantum, open, .. } = self.params;
        let WordUpdate { x, deltas, cell, .. } = word;
        let mut add = |scratch: &mut DocumentScratch, slot: usize, units: u16| {
            scratch.active.add(slot as u16, units, x);
            let cell = cell + scratch.active.topic(slot);
            deltas.push(Delta { cell, units: units_of(x, units) });
        };
        if open && !samples.is_empty() {
            let mut closed = 0;
            for _ in 0..rest {
                let next = |at: usize| if at + 1 == samples.len() { 0 } else { at + 1 };
                // The next sample that the document can use.
                let allowed = |at: &usize| self.seeds.allows(&scratch.restriction, samples[*at].into());
                let found = std::iter::successors(Some(at), |&at| Some(next(at)));
                let Some(found) = found.take(samples.len()).find(allowed) else {
                    closed += 1;
                    continue;
                };
                let slot = scratch.slot(self, u32::from(samples[found]));
                add(scratch, slot as usize, quantum);
                at = next(found);
            }
            if closed == 0 {
                return;
            }
            rest = closed;
        }
        let (entries, from) = scratch.active.messages();
        match entries.get(from..).and_then(<[MessageEntry]>::last) {
            Some(last) => add(scratch, last.slot(), rest * quantum),
            None if old.is_empty() => add(scratch, 0, rest * quantum),
            // Nothing is known about the topic of the word: it keeps its message.
            None => old.iter().for_each(|entry| add(scratch, entry.slot(), entry.units())),
        }
    }
}
