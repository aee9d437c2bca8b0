//! The update of a document's messages by `tbp`; `algorithms/tbp/mod.rs` has the formulas of the whole.
//!
//! theta follows at once, phi at the end of the step. A topic that a document does not use has theta = 0, and so a part of z
//! that does not depend on the document: `alpha*(phi[w,k]+beta)/(lambda[k]+W*beta)`. The sum of these parts, the *prior mass*,
//! is known for every word; where a quantum falls there, one of the word's *topic samples* says to which topic. So every topic
//! can come back to every document, and a message costs (topics in use), whatever K is.
//!
//! Over-relaxation: a message goes c times as far again as it is from the old one to z.
//! ```text
//! mu[k] = max(0, mu_old[k] + (1 + c)*(z[k]/sum z - mu_old[k])), made to add up          c = 3/2, then 5/2 and 0 in turn
//! ```
//! At a fixed point this changes nothing, and elsewhere it gets there sooner. Plain passes come in between.
//!
//! A *quantum* is a few units while topics are searched for: little is stored then, and the noise leads out of poor topics. It
//! is one unit, without topic samples, in the final refinement.
//!
//! Legend: K topics, W words; x a count; mu a message; `phi[W,K]`, `theta[D,K]`, `lambda[K]` counts, all in units here, and
//! so alpha and beta; t = theta of the topics in use.

use super::active_topics::{
    ActiveTopics, AllTopicsColumn, UpdateParams, WORDS_PER_BATCH, WeighedMessage, WordUpdate,
};
use super::deltas::Deltas;
use crate::algorithms::Failed;
use crate::algorithms::dense::document::NotANumber;
use crate::algorithms::tbp::counts::{Counts, RowBuffer};
use crate::algorithms::tbp::delta::Delta;
use crate::algorithms::tbp::messages::{DocumentMessages, MessageEntry, Messages, UNITS_PER_TOKEN};
use crate::algorithms::tbp::seed_words::SeedWord;
use crate::corpus::Document;
use crate::random::Random;
use crate::simd::{Kernel, Lanes, flat, flat_mut};
use crate::topics::stride;

/// Units of a quantum when topics settle.
pub(super) const QUANTUM_FINE: u16 = 1;

/// Units of a quantum while topics are sought,
pub(super) const QUANTUM_COARSE: u16 = 2;
/// and in the first messages of a document: they are kept in less room, and soon renewed.
pub(super) const QUANTUM_FIRST: u16 = 8;

/// A word that is more than one part in so many of its document leads theta itself, and would swing with it for ever:
const MUCH: u64 = 4;
/// it goes half the way.
const SHORT: f32 = -0.5;

/// How often a new document is gone through with all topics before its words share them out,
pub(super) const ROUNDS: usize = 4;
/// and how often where it is new at every visit.
pub(super) const ROUNDS_STATELESS: usize = 8;

/// Units that a topic has in a new document to be in use: two tokens,
pub(super) const FIRST_UNITS: f32 = 2.0 * UNITS_PER_TOKEN as f32;
/// or this share of a short document. Others come back by samples.
const FIRST_SHARE: f32 = 1.0 / 32.0;

/// What is the same for a whole block.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpdateContext<'a> {
    pub(super) kernel: Kernel,
    pub(super) counts: &'a Counts,
    /// 1 / (lambda + W*beta).
    pub(super) inverse: &'a [Lanes],
    /// alpha * inverse.
    pub(super) factors: &'a [Lanes],
    /// In tokens.
    pub(super) alpha: &'a [Lanes],
    pub(super) alpha_sum: f64,
    pub(super) params: UpdateParams,
    /// Words that belong to a topic, in their order.
    pub(super) seeds: &'a [SeedWord],
    /// Whether a message is taken out before it is renewed.
    pub(super) exclude: bool,
    /// The most topics of a document.
    pub(super) most: usize,
    /// How often a new document is gone through with all topics before its words share them out,
    pub(super) rounds: usize,
    /// the units of it that a topic must have for that, or [`FIRST_SHARE`] of them,
    pub(super) least: f32,
    /// and the units of a quantum of its first messages.
    pub(super) first_quantum: u16,
}

/// The log of a product of many numbers: a logarithm per non-zero would take a tenth of the time.
#[derive(Debug, Clone, Copy)]
struct Logarithm {
    sum: f64,
    product: f64,
}

impl Logarithm {
    const ZERO: Logarithm = Logarithm { sum: 0.0, product: 1.0 };

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

    fn value(self) -> f64 {
        self.sum + libm::log(self.product)
    }
}

/// The units of x tokens; `Counts` has made sure that they are few enough.
fn units_of(x: u32, units: u16) -> i32 {
    (x * u32::from(units)).cast_signed()
}

/// No place on the active.
const NONE: u16 = u16::MAX;

/// What a thread needs to go through documents.
#[derive(Debug)]
pub(super) struct DocumentScratch {
    active: ActiveTopics,
    /// Where each topic is on the active.
    place_of: Vec<u16>,
    /// Where places go when the unused ones are left out.
    moved: Vec<u16>,
    /// Parts of each new message.
    sizes: Vec<u8>,
    /// A new document's theta, with all topics; what it is computed with, and the topics chosen from it.
    theta: Vec<Lanes>,
    whole: Vec<AllTopicsColumn>,
    chosen: Vec<u32>,
    /// Rows of the words at work that come from a file.
    rows: [RowBuffer; WORDS_PER_BATCH],
}

impl DocumentScratch {
    pub(super) fn new(topics: u32) -> DocumentScratch {
        DocumentScratch {
            active: ActiveTopics::new(topics),
            place_of: vec![NONE; topics as usize],
            moved: Vec::new(),
            sizes: Vec::new(),
            theta: vec![Lanes::ZERO; stride(topics)],
            whole: vec![AllTopicsColumn::ZERO; stride(topics)],
            chosen: Vec::new(),
            rows: Default::default(),
        }
    }

    /// Frees what a document with very many words has made large.
    pub(super) fn free(&mut self) {
        self.active.free();
        self.sizes = Vec::new();
    }

    /// Lays a document out: its topics, and what its messages have in them.
    fn lay_out(&mut self, work: UpdateContext<'_>, document: Document<'_>, kept: DocumentMessages<'_>) {
        for &k in kept.topics {
            self.lay(work, u32::from(k));
        }
        for (message, &x) in kept.iter().zip(document.counts) {
            for part in message {
                *self.active.t(part.place()) += x as f32 * f32::from(part.units());
            }
        }
    }

    /// One more topic on the active.
    fn lay(&mut self, work: UpdateContext<'_>, topic: u32) -> u16 {
        let k = topic as usize;
        let place = self.active.push(topic, flat(work.inverse)[k], flat(work.factors)[k]) as u16;
        self.place_of[k] = place;
        place
    }

    /// The place of a topic on the active, where there is one or room for it.
    fn place(&mut self, work: UpdateContext<'_>, topic: u32) -> u16 {
        let place = self.place_of[topic as usize];
        if place != NONE {
            return place;
        }
        if self.active.length() >= work.most {
            // The topics that came first are as good as any.
            return (topic as usize % self.active.length()) as u16;
        }
        self.lay(work, topic)
    }

    /// Clears the active.
    fn clear(&mut self) {
        for (k, _) in self.active.topics() {
            self.place_of[k as usize] = NONE;
        }
        self.active.clear();
    }

    /// Puts the new messages down, without the topics that are in none, and clears the active.
    fn put_down(&mut self, out: &mut Messages) {
        self.moved.clear();
        let mut next = 0;
        for &used in self.active.used() {
            self.moved.push(next);
            next += u16::from(used);
        }
        let topics = self
            .active
            .topics()
            .zip(self.active.used())
            .filter(|&(_, &used)| used)
            .map(|((k, _), _)| k as u16);
        let (parts, _) = self.active.messages();
        out.push(topics, &self.sizes, parts.iter().map(|part| part.at(self.moved[part.place()])));
        self.clear();
    }
}

impl UpdateContext<'_> {
    /// Renews the messages of a document. Returns its log-likelihood as it came.
    pub(super) fn renew(
        self,
        document: Document<'_>,
        kept: DocumentMessages<'_>,
        random: &mut Random,
        (scratch, deltas): (&mut DocumentScratch, &mut Deltas),
        out: &mut Messages,
    ) -> Result<f64, Failed> {
        scratch.lay_out(self, document, kept);
        deltas.lambda(&scratch.active, document, (kept.sizes, kept.parts), true, -1);
        let log = self.sweep(document, kept, true, random, (scratch, deltas));
        let (parts, _) = scratch.active.messages();
        deltas.lambda(&scratch.active, document, (&scratch.sizes, parts), true, 1);
        scratch.put_down(out);
        log
    }

    /// The first messages of a document, from the topics there are so far: theta is gone through a few times with all
    /// topics, and then its words share them out. Returns its log-likelihood on the way.
    pub(super) fn grow(
        self,
        document: Document<'_>,
        random: Option<&mut Random>,
        cut: &mut Random,
        (scratch, deltas): (&mut DocumentScratch, &mut Deltas),
        out: &mut Messages,
    ) -> Result<f64, Failed> {
        let log = self.first_theta(document, random, scratch)?;
        self.first_list(scratch);
        let first =
            UpdateContext { params: UpdateParams { quantum: self.first_quantum, ..self.params }, ..self };
        let sizes = vec![0; document.words.len()];
        let none = DocumentMessages { topics: &[], sizes: &sizes, parts: &[] };
        let done = first.sweep(document, none, false, cut, (scratch, deltas));
        let (parts, _) = scratch.active.messages();
        deltas.lambda(&scratch.active, document, (&scratch.sizes, parts), false, 1);
        scratch.put_down(out);
        done.map(|_| log)
    }

    /// theta of a new document, in units, from an even start or a topic at random for each word. Returns the log-likelihood that
    /// the last but one had.
    pub(super) fn first_theta(
        self,
        document: Document<'_>,
        random: Option<&mut Random>,
        scratch: &mut DocumentScratch,
    ) -> Result<f64, Failed> {
        let count = scratch.place_of.len();
        let DocumentScratch { whole, theta, rows, .. } = scratch;
        let each = flat_mut(theta);
        each.fill(0.0);
        match random {
            None => each[..count]
                .fill((document.tokens() as f64 * f64::from(UNITS_PER_TOKEN) / count as f64) as f32),
            Some(random) if !self.seeds.is_empty() => self.seeded_start(document, random, each, count),
            Some(random) => {
                for &x in document.counts {
                    each[random.below(count as u64) as usize] += x as f32 * UNITS_PER_TOKEN as f32;
                }
            }
        }
        for (whole, &inverse) in whole.iter_mut().zip(self.inverse) {
            whole.inverse = inverse;
        }
        let mut log = Logarithm::ZERO;
        for round in 1..=self.rounds {
            for ((whole, theta), alpha) in whole.iter_mut().zip(&*theta).zip(self.alpha) {
                let sums = theta.0.into_iter().zip(alpha.0);
                whole
                    .t
                    .0
                    .iter_mut()
                    .zip(sums)
                    .for_each(|(t, (theta, alpha))| *t = theta + alpha * UNITS_PER_TOKEN as f32);
                whole.sums = Lanes::ZERO;
            }
            let mut words = document.words.chunks(WORDS_PER_BATCH).peekable();
            let mut counts = document.counts.chunks(WORDS_PER_BATCH);
            while let (Some(own), Some(counts)) = (words.next(), counts.next()) {
                let mut slots = rows.iter_mut();
                let mut row = |w: u32| match slots.next() {
                    Some(slot) => self.counts.row(w, slot),
                    None => unreachable!("as many as words at work"),
                };
                let mut at_work =
                    [(row(own[0])?, counts[0] as f32 * UNITS_PER_TOKEN as f32); WORDS_PER_BATCH];
                for word in &mut at_work[1..] {
                    word.1 = 0.0;
                }
                for ((word, &w), &x) in at_work.iter_mut().zip(own).zip(counts).skip(1) {
                    *word = (row(w)?, x as f32 * UNITS_PER_TOKEN as f32);
                }
                let mut ahead = [at_work[0].0; WORDS_PER_BATCH];
                for (row, &w) in ahead.iter_mut().zip(words.peek().copied().unwrap_or_default()) {
                    *row = self.counts.at_hand(w).unwrap_or(*row);
                }
                let all = self.kernel.whole(whole, &at_work, &ahead, self.params.beta);
                if let Some(&bad) = all.iter().find(|&&s| !(s > 0.0 && s.is_finite())) {
                    return Err(NotANumber(bad).into());
                }
                if round == self.rounds {
                    all.iter().zip(counts).for_each(|(&s, &x)| log.times(s, x));
                }
            }
            for (theta, whole) in theta.iter_mut().zip(&*whole) {
                *theta = whole.sums;
            }
        }
        Ok(log.value() - self.norm(document))
    }

    /// The start of a document at random, where there are seeds: they begin in their topics, and so does half of what stands beside
    /// them. In a topic of seeds alone no other word would ever join.
    fn seeded_start(self, document: Document<'_>, random: &mut Random, each: &mut [f32], count: usize) {
        let of = |w: u32| {
            let from = self.seeds.partition_point(|seed| seed.word < w);
            self.seeds[from..].iter().take_while(move |seed| seed.word == w).map(|seed| seed.topic)
        };
        let here: Vec<u32> = document.words.iter().flat_map(|&w| of(w)).collect();
        for (&w, &x) in document.words.iter().zip(document.counts) {
            let mut k = random.below(count as u64) as usize;
            let own: Vec<u32> = of(w).collect();
            let choice = if own.is_empty() && random.unit() < 0.5 { &here } else { &own };
            if !choice.is_empty() {
                k = choice[random.below(choice.len() as u64) as usize] as usize;
            }
            each[k] += x as f32 * UNITS_PER_TOKEN as f32;
        }
    }

    /// Puts the topics of a new document on the active, those with enough of it; the strongest where it may not use them all.
    fn first_list(self, scratch: &mut DocumentScratch) {
        let theta = flat(&scratch.theta);
        let chosen = &mut scratch.chosen;
        chosen.clear();
        let all = 0..scratch.place_of.len() as u32;
        let least = self.least.min(FIRST_SHARE * theta.iter().sum::<f32>());
        chosen.extend(all.clone().filter(|&k| theta[k as usize] >= least));
        if chosen.is_empty() {
            chosen.extend(all);
        }
        if chosen.len() > self.most {
            // The largest first; of equals that with the lower number.
            let order = |a: &u32, b: &u32| theta[*b as usize].total_cmp(&theta[*a as usize]).then(a.cmp(b));
            chosen.select_nth_unstable_by(self.most - 1, order);
            chosen.truncate(self.most);
            chosen.sort_unstable();
        }
        for i in 0..scratch.chosen.len() {
            let k = scratch.chosen[i];
            let place = scratch.lay(self, k);
            *scratch.active.t(place as usize) = flat(&scratch.theta)[k as usize];
        }
    }

    /// Enters all messages of a document into phi and lambda.
    pub(super) fn enter(
        self,
        document: Document<'_>,
        kept: DocumentMessages<'_>,
        deltas: &mut Deltas,
    ) -> Result<(), Failed> {
        for ((message, &w), &x) in kept.iter().zip(document.words).zip(document.counts) {
            let address = self.counts.address(w);
            for part in message {
                let (topic, units) = (u32::from(kept.topics[part.place()]), units_of(x, part.units()));
                deltas.phi[address.list as usize].push(Delta { cell: address.cell + topic, units });
                deltas.lambda[topic as usize] += i64::from(units);
            }
            deltas.note(1)?;
        }
        Ok(())
    }

    /// The log-likelihood of a document.
    pub(super) fn measure(
        self,
        document: Document<'_>,
        kept: DocumentMessages<'_>,
        scratch: &mut DocumentScratch,
    ) -> Result<f64, Failed> {
        scratch.lay_out(self, document, kept);
        let mut log = Logarithm::ZERO;
        let mut bad = None;
        for (&w, &x) in document.words.iter().zip(document.counts) {
            let row = self.counts.row(w, &mut scratch.rows[0])?;
            let word = (row, self.counts.address(w).prior_mass, 0.0);
            let s = self.kernel.weigh(&mut scratch.active, 0, word, self.params, 0.0).full;
            if !(s > 0.0 && s.is_finite()) {
                bad = Some(NotANumber(s));
            }
            log.times(s, x);
        }
        scratch.clear();
        bad.map_or(Ok(log.value() - self.norm(document)), |bad| Err(bad.into()))
    }

    /// What the products of [`Logarithm`] lack.
    fn norm(self, document: Document<'_>) -> f64 {
        let tokens = document.tokens() as f64;
        tokens * libm::log(f64::from(UNITS_PER_TOKEN) * (tokens + self.alpha_sum))
    }

    /// Renews every message of the document on the active once; or makes them, where they are not in phi yet.
    fn sweep(
        self,
        document: Document<'_>,
        kept: DocumentMessages<'_>,
        in_phi: bool,
        random: &mut Random,
        (scratch, deltas): (&mut DocumentScratch, &mut Deltas),
    ) -> Result<f64, Failed> {
        let mut log = Logarithm::ZERO;
        scratch.sizes.clear();
        let mut messages = kept.iter();
        let words = document.words.chunks(WORDS_PER_BATCH).zip(document.counts.chunks(WORDS_PER_BATCH));
        let mut ahead = document.words.iter().skip(WORDS_PER_BATCH);
        let mut far_ahead = document.words.iter().skip(3 * WORDS_PER_BATCH);
        let much = document.tokens() / MUCH;
        let mut params = self.params;
        for (words, counts) in words {
            far_ahead.by_ref().take(WORDS_PER_BATCH).for_each(|&w| self.counts.prefetch_address(w));
            ahead.by_ref().take(WORDS_PER_BATCH).for_each(|&w| self.counts.prefetch(w));
            let mut olds: [&[MessageEntry]; WORDS_PER_BATCH] = [&[]; WORDS_PER_BATCH];
            for (at, (old, message)) in olds.iter_mut().zip(messages.by_ref().take(words.len())).enumerate() {
                *old = message;
                scratch.active.note(at, message);
            }
            let mut weighed = [(WeighedMessage::default(), 0); WORDS_PER_BATCH];
            for (at, ((&w, &x), weighed)) in words.iter().zip(counts).zip(&mut weighed).enumerate() {
                let taken = if self.exclude { x as f32 } else { 0.0 };
                let row = self.counts.row(w, &mut scratch.rows[at])?;
                let word = (row, self.counts.address(w).prior_mass, taken);
                let bits = random.bits();
                let u = (bits >> 40) as f32 / (1u32 << 24) as f32;
                params.over_relaxation =
                    if u64::from(x) > much { SHORT } else { self.params.over_relaxation };
                *weighed = (self.kernel.weigh(&mut scratch.active, at, word, params, u), bits);
            }
            for (at, (&w, &x)) in words.iter().zip(counts).enumerate() {
                let (old, (message, bits)) = (olds[at], weighed[at]);
                let WeighedMessage { full, total } = message;
                if !total.is_finite() {
                    return Err(NotANumber(total).into());
                }
                if in_phi {
                    log.times(full, x);
                } else {
                    // A new document's theta has the word in it, but not as a message: this is what it would be.
                    scratch.active.take_out(at, x as f32 * UNITS_PER_TOKEN as f32 / total);
                }
                let address = self.counts.address(w);
                let deltas = &mut deltas.phi[address.list as usize];
                let mut word = WordUpdate { x, old, cell: address.cell, deltas };
                let rest = scratch.active.enter(at, &mut word, self.params.quantum, message);
                if rest > 0 {
                    self.place_rest(rest, w, bits, scratch, word);
                }
                let (parts, from) = scratch.active.messages();
                scratch.sizes.push((parts.len() - from) as u8);
            }
            deltas.note(words.len())?;
        }
        Ok(log.value() - self.norm(document))
    }

    /// Grains that fell to the topics that the document does not use, or were lost in rounding.
    #[inline(never)]
    fn place_rest(self, rest: u16, w: u32, bits: u64, scratch: &mut DocumentScratch, word: WordUpdate<'_>) {
        let samples = self.counts.topic_samples(w);
        let UpdateParams { quantum, open, .. } = self.params;
        let WordUpdate { old, x, deltas, cell, .. } = word;
        let mut add = |scratch: &mut DocumentScratch, place: usize, units: u16| {
            scratch.active.add(place as u16, units, x);
            let cell = cell + scratch.active.topic(place);
            deltas.push(Delta { cell, units: units_of(x, units) });
        };
        if open && !samples.is_empty() {
            let mut at = (((bits & 0xFFFF_FFFF) * samples.len() as u64) >> 32) as usize;
            for _ in 0..rest {
                let place = scratch.place(self, u32::from(samples[at]));
                add(scratch, place as usize, quantum);
                at = if at + 1 == samples.len() { 0 } else { at + 1 };
            }
            return;
        }
        let (parts, from) = scratch.active.messages();
        match parts.get(from..).and_then(<[MessageEntry]>::last) {
            Some(last) => add(scratch, last.place(), rest * quantum),
            None if old.is_empty() => add(scratch, 0, rest * quantum),
            // Nothing is known of where the word belongs: it stays where it is.
            None => old.iter().for_each(|part| add(scratch, part.place(), part.units())),
        }
    }
}
