//! Tiny belief propagation with small messages: asynchronous BP in a few bytes per non-zero.
//!
//! BP takes the message of (w, d) out of phi, theta and lambda before it renews it, and must keep K numbers per non-zero for
//! that. TBP keeps none, leaves it in, and overfits. Here a message is kept in whole units, 64 to a token, over the few
//! topics that it is in:
//! ```text
//! z[k]  = (phi[w,k] - x*mu[k] + beta)/(lambda[k] + W*beta) * (theta[d,k] - x*mu[k] + alpha)
//! mu[k] = z[k]/sum z, rounded to whole grains so that it is right on average and adds up exactly
//! ```
//! theta is renewed at once, phi after a block of documents. A topic that a document does not use has theta = 0, and so a
//! part of z that does not depend on the document: `alpha*(phi[w,k]+beta)/(lambda[k]+W*beta)`. Its sum is known for every
//! word, and where a grain falls there, one of the word's *draws* says to which topic. So every topic can come back to
//! every document, and a message costs (topics in use), whatever K is.
//!
//! A message goes beyond z, c times as far again as it is from the old one to z: over-relaxation.
//! ```text
//! mu[k] = max(0, mu_old[k] + (1 + c)*(z[k]/sum z - mu_old[k])), made to add up          c = 3/2, then 5/2 and 0 in turn
//! ```
//! Where mu stands still this changes nothing, and elsewhere it gets there sooner. Passes without it come in between.
//!
//! A *grain* is a few units while topics are sought: then little is kept, and the noise leads out of poor topics. It is one
//! unit, without draws, when they settle.
//!
//! The start: a small part of the documents, spread over the corpus, begins at random and is gone through until it has
//! topics. Twice as many documents take up these, and so on to the whole corpus.
//!
//! Legend: K topics, W words; x a count; mu a message; `phi[W,K]`, `theta[D,K]`, `lambda[K]` counts, all in units here,
//! and so alpha and beta; t = theta of the topics in use.

use super::document::{Failed, NotANumber};
use crate::corpus::Document;
use crate::counts::{Counts, Slot};
use crate::kernel::{
    Bucket, Change, Desk, Kernel, Lanes, Manner, TOGETHER, Weighed, Whole, Word, flat, flat_mut,
};
use crate::messages::{Kept, MOST_TOPICS, Messages, Part, UNITS};
use crate::random::Random;
use crate::seeds::Seed;
use crate::topics::stride;

/// Units of a grain when topics settle.
pub(crate) const FINE: u16 = 1;

/// Units of a grain while topics are sought,
pub(crate) const COARSE: u16 = 2;
/// and in the first messages of a document: they are kept in less room, and soon renewed.
pub(crate) const FIRST_GRAIN: u16 = 8;

/// A word that is more than one part in so many of its document leads theta itself, and would swing with it for ever:
const MUCH: u64 = 4;
/// it goes half the way.
const SHORT: f32 = -0.5;

/// While documents are still missing beta is less: the smoothing of a topic, W*beta, is at most this share of what it has
/// on average. More would smooth small topics away for good.
pub(crate) const MOST_SMOOTHING: f64 = 1.0 / 7.0;

/// How often a new document is gone through with all topics before its words share them out,
pub(crate) const ROUNDS: usize = 4;
/// and how often where it is new at every visit.
pub(crate) const ROUNDS_ANEW: usize = 8;

/// Units that a topic has in a new document to be in use: two tokens,
pub(crate) const FIRST_UNITS: f32 = 2.0 * UNITS as f32;
/// or this share of a short document. Others come back by draws.
const FIRST_SHARE: f32 = 1.0 / 32.0;

/// How many topics a document may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Active {
    /// As many as it needs.
    #[default]
    Auto,
    /// As many as it can have: messages are cut as finely as they are kept, from the first pass on.
    All,
    /// So many at the most.
    AtMost(u32),
}

impl std::fmt::Display for Active {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Active::Auto => f.write_str("auto"),
            Active::All => f.write_str("all"),
            Active::AtMost(n) => write!(f, "{n}"),
        }
    }
}

impl Active {
    /// The most topics of a document.
    pub(crate) fn most(self, topics: u32) -> usize {
        let most = match self {
            Active::Auto | Active::All => MOST_TOPICS,
            Active::AtMost(n) => (n as usize).clamp(1, MOST_TOPICS),
        };
        most.min(topics as usize)
    }
}

/// What is the same for a whole block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) counts: &'a Counts,
    /// 1 / (lambda + W*beta).
    pub(crate) inverse: &'a [Lanes],
    /// alpha * inverse.
    pub(crate) factors: &'a [Lanes],
    /// In tokens.
    pub(crate) alpha: &'a [Lanes],
    pub(crate) alpha_sum: f64,
    pub(crate) manner: Manner,
    /// Words that belong to a topic, in their order.
    pub(crate) seeds: &'a [Seed],
    /// Whether a message is taken out before it is renewed.
    pub(crate) exclude: bool,
    /// The most topics of a document.
    pub(crate) most: usize,
    /// How often a new document is gone through with all topics before its words share them out,
    pub(crate) rounds: usize,
    /// the units of it that a topic must have for that, or [`FIRST_SHARE`] of them,
    pub(crate) least: f32,
    /// and the units of a grain of its first messages.
    pub(crate) first_grain: u16,
}

/// What documents change: phi, by groups of words, and lambda.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) phi: Vec<Bucket>,
    pub(crate) lambda: Vec<i64>,
}

impl Changes {
    pub(crate) fn clear(&mut self, buckets: usize, topics: usize) {
        self.phi.resize_with(buckets, Bucket::default);
        self.phi.iter_mut().for_each(Bucket::clear);
        self.lambda.clear();
        self.lambda.resize(topics, 0);
    }

    /// Enters what a document has in its topics into lambda, or takes it out. `summed`: the desk has exactly the sum.
    fn lambda(
        &mut self,
        desk: &Desk,
        document: Document<'_>,
        (sizes, parts): (&[u8], &[Part]),
        summed: bool,
        sign: i64,
    ) {
        // Up to here 32-bit floats count exactly.
        if summed && document.tokens() < (1 << 24) / u64::from(UNITS) {
            for (k, units) in desk.topics() {
                self.lambda[k as usize] += sign * units as i64;
            }
            return;
        }
        let kept = Kept { topics: &[], sizes, parts };
        for (message, &x) in kept.iter().zip(document.counts) {
            for part in message {
                let units = i64::from(x) * i64::from(part.units());
                self.lambda[desk.topic(part.place()) as usize] += sign * units;
            }
        }
    }
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

/// No place on the desk.
const NONE: u16 = u16::MAX;

/// What a thread needs to go through documents.
#[derive(Debug)]
pub(crate) struct Scratch {
    desk: Desk,
    /// Where each topic is on the desk.
    place_of: Vec<u16>,
    /// Where places go when the unused ones are left out.
    moved: Vec<u16>,
    /// Parts of each new message.
    sizes: Vec<u8>,
    /// A new document's theta, with all topics; what it is computed with, and the topics chosen from it.
    theta: Vec<Lanes>,
    whole: Vec<Whole>,
    chosen: Vec<u32>,
    /// Rows of the words at work that come from a file.
    rows: [Slot; TOGETHER],
}

impl Scratch {
    pub(crate) fn new(topics: u32) -> Scratch {
        Scratch {
            desk: Desk::new(topics),
            place_of: vec![NONE; topics as usize],
            moved: Vec::new(),
            sizes: Vec::new(),
            theta: vec![Lanes::ZERO; stride(topics)],
            whole: vec![Whole::ZERO; stride(topics)],
            chosen: Vec::new(),
            rows: Default::default(),
        }
    }

    /// Lays a document out: its topics, and what its messages have in them.
    fn lay_out(&mut self, work: Work<'_>, document: Document<'_>, kept: Kept<'_>) {
        for &k in kept.topics {
            self.lay(work, u32::from(k));
        }
        for (message, &x) in kept.iter().zip(document.counts) {
            for part in message {
                *self.desk.t(part.place()) += x as f32 * f32::from(part.units());
            }
        }
    }

    /// One more topic on the desk.
    fn lay(&mut self, work: Work<'_>, topic: u32) -> u16 {
        let k = topic as usize;
        let place = self.desk.push(topic, flat(work.inverse)[k], flat(work.factors)[k]) as u16;
        self.place_of[k] = place;
        place
    }

    /// The place of a topic on the desk, where there is one or room for it.
    fn place(&mut self, work: Work<'_>, topic: u32) -> u16 {
        let place = self.place_of[topic as usize];
        if place != NONE {
            return place;
        }
        if self.desk.length() >= work.most {
            // The topics that came first are as good as any.
            return (topic as usize % self.desk.length()) as u16;
        }
        self.lay(work, topic)
    }

    /// Clears the desk.
    fn clear(&mut self) {
        for (k, _) in self.desk.topics() {
            self.place_of[k as usize] = NONE;
        }
        self.desk.clear();
    }

    /// Puts the new messages down, without the topics that are in none, and clears the desk.
    fn put_down(&mut self, out: &mut Messages) {
        self.moved.clear();
        let mut next = 0;
        for &used in self.desk.used() {
            self.moved.push(next);
            next += u16::from(used);
        }
        let topics =
            self.desk.topics().zip(self.desk.used()).filter(|&(_, &used)| used).map(|((k, _), _)| k as u16);
        let (parts, _) = self.desk.messages();
        out.push(topics, &self.sizes, parts.iter().map(|part| part.at(self.moved[part.place()])));
        self.clear();
    }
}

impl Work<'_> {
    /// Renews the messages of a document. Returns its log-likelihood as it came.
    pub(crate) fn renew(
        self,
        document: Document<'_>,
        kept: Kept<'_>,
        random: &mut Random,
        (scratch, changes): (&mut Scratch, &mut Changes),
        out: &mut Messages,
    ) -> Result<f64, Failed> {
        scratch.lay_out(self, document, kept);
        changes.lambda(&scratch.desk, document, (kept.sizes, kept.parts), true, -1);
        let log = self.sweep(document, kept, true, random, (scratch, changes));
        let (parts, _) = scratch.desk.messages();
        changes.lambda(&scratch.desk, document, (&scratch.sizes, parts), true, 1);
        scratch.put_down(out);
        log
    }

    /// The first messages of a document, from the topics there are so far: theta is gone through a few times with all
    /// topics, and then its words share them out. Returns its log-likelihood on the way.
    pub(crate) fn grow(
        self,
        document: Document<'_>,
        random: Option<&mut Random>,
        cut: &mut Random,
        (scratch, changes): (&mut Scratch, &mut Changes),
        out: &mut Messages,
    ) -> Result<f64, Failed> {
        let log = self.first_theta(document, random, scratch)?;
        self.first_list(scratch);
        let first = Work { manner: Manner { grain: self.first_grain, ..self.manner }, ..self };
        let sizes = vec![0; document.words.len()];
        let none = Kept { topics: &[], sizes: &sizes, parts: &[] };
        let done = first.sweep(document, none, false, cut, (scratch, changes));
        let (parts, _) = scratch.desk.messages();
        changes.lambda(&scratch.desk, document, (&scratch.sizes, parts), false, 1);
        scratch.put_down(out);
        done.map(|_| log)
    }

    /// theta of a new document, in units, from an even start or a topic at random for each word. Returns the log-likelihood that
    /// the last but one had.
    pub(crate) fn first_theta(
        self,
        document: Document<'_>,
        random: Option<&mut Random>,
        scratch: &mut Scratch,
    ) -> Result<f64, Failed> {
        let count = scratch.place_of.len();
        let Scratch { whole, theta, rows, .. } = scratch;
        let each = flat_mut(theta);
        each.fill(0.0);
        match random {
            None => each[..count].fill((document.tokens() as f64 * f64::from(UNITS) / count as f64) as f32),
            Some(random) if !self.seeds.is_empty() => self.seeded_start(document, random, each, count),
            Some(random) => {
                for &x in document.counts {
                    each[random.below(count as u64) as usize] += x as f32 * UNITS as f32;
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
                    .for_each(|(t, (theta, alpha))| *t = theta + alpha * UNITS as f32);
                whole.sums = Lanes::ZERO;
            }
            let mut words = document.words.chunks(TOGETHER).peekable();
            let mut counts = document.counts.chunks(TOGETHER);
            while let (Some(own), Some(counts)) = (words.next(), counts.next()) {
                let mut slots = rows.iter_mut();
                let mut row = |w: u32| match slots.next() {
                    Some(slot) => self.counts.row(w, slot),
                    None => unreachable!("as many as words at work"),
                };
                let mut at_work = [(row(own[0])?, counts[0] as f32 * UNITS as f32); TOGETHER];
                for word in &mut at_work[1..] {
                    word.1 = 0.0;
                }
                for ((word, &w), &x) in at_work.iter_mut().zip(own).zip(counts).skip(1) {
                    *word = (row(w)?, x as f32 * UNITS as f32);
                }
                let mut ahead = [at_work[0].0; TOGETHER];
                for (row, &w) in ahead.iter_mut().zip(words.peek().copied().unwrap_or_default()) {
                    *row = self.counts.at_hand(w).unwrap_or(*row);
                }
                let all = self.kernel.whole(whole, &at_work, &ahead, self.manner.beta);
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
            each[k] += x as f32 * UNITS as f32;
        }
    }

    /// Puts the topics of a new document on the desk, those with enough of it; the strongest where it may not use them all.
    fn first_list(self, scratch: &mut Scratch) {
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
            *scratch.desk.t(place as usize) = flat(&scratch.theta)[k as usize];
        }
    }

    /// Enters all messages of a document into phi and lambda.
    pub(crate) fn enter(self, document: Document<'_>, kept: Kept<'_>, changes: &mut Changes) {
        for ((message, &w), &x) in kept.iter().zip(document.words).zip(document.counts) {
            let place = self.counts.place(w);
            for part in message {
                let (topic, units) = (u32::from(kept.topics[part.place()]), units_of(x, part.units()));
                changes.phi[place.bucket as usize].push(Change { cell: place.cell + topic, units });
                changes.lambda[topic as usize] += i64::from(units);
            }
        }
    }

    /// The log-likelihood of a document.
    pub(crate) fn measure(
        self,
        document: Document<'_>,
        kept: Kept<'_>,
        scratch: &mut Scratch,
    ) -> Result<f64, Failed> {
        scratch.lay_out(self, document, kept);
        let mut log = Logarithm::ZERO;
        let mut bad = None;
        for (&w, &x) in document.words.iter().zip(document.counts) {
            let row = self.counts.row(w, &mut scratch.rows[0])?;
            let word = (row, self.counts.place(w).weight, 0.0);
            let s = self.kernel.weigh(&mut scratch.desk, 0, word, self.manner, 0.0).full;
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
        tokens * libm::log(f64::from(UNITS) * (tokens + self.alpha_sum))
    }

    /// Renews every message of the document on the desk once; or makes them, where they are not in phi yet.
    fn sweep(
        self,
        document: Document<'_>,
        kept: Kept<'_>,
        in_phi: bool,
        random: &mut Random,
        (scratch, changes): (&mut Scratch, &mut Changes),
    ) -> Result<f64, Failed> {
        let mut log = Logarithm::ZERO;
        scratch.sizes.clear();
        let mut messages = kept.iter();
        let words = document.words.chunks(TOGETHER).zip(document.counts.chunks(TOGETHER));
        let mut ahead = document.words.iter().skip(TOGETHER);
        let mut far_ahead = document.words.iter().skip(3 * TOGETHER);
        let much = document.tokens() / MUCH;
        let mut manner = self.manner;
        for (words, counts) in words {
            far_ahead.by_ref().take(TOGETHER).for_each(|&w| self.counts.prefetch_place(w));
            ahead.by_ref().take(TOGETHER).for_each(|&w| self.counts.prefetch(w));
            let mut olds: [&[Part]; TOGETHER] = [&[]; TOGETHER];
            for (at, (old, message)) in olds.iter_mut().zip(messages.by_ref().take(words.len())).enumerate() {
                *old = message;
                scratch.desk.note(at, message);
            }
            let mut weighed = [(Weighed::default(), 0); TOGETHER];
            for (at, ((&w, &x), weighed)) in words.iter().zip(counts).zip(&mut weighed).enumerate() {
                let taken = if self.exclude { x as f32 } else { 0.0 };
                let row = self.counts.row(w, &mut scratch.rows[at])?;
                let word = (row, self.counts.place(w).weight, taken);
                let bits = random.bits();
                let u = (bits >> 40) as f32 / (1u32 << 24) as f32;
                manner.beyond = if u64::from(x) > much { SHORT } else { self.manner.beyond };
                *weighed = (self.kernel.weigh(&mut scratch.desk, at, word, manner, u), bits);
            }
            for (at, (&w, &x)) in words.iter().zip(counts).enumerate() {
                let (old, (message, bits)) = (olds[at], weighed[at]);
                let Weighed { full, total } = message;
                if !total.is_finite() {
                    return Err(NotANumber(total).into());
                }
                if in_phi {
                    log.times(full, x);
                } else {
                    // A new document's theta has the word in it, but not as a message: this is what it would be.
                    scratch.desk.take_out(at, x as f32 * UNITS as f32 / total);
                }
                let place = self.counts.place(w);
                let changes = &mut changes.phi[place.bucket as usize];
                let mut word = Word { x, old, cell: place.cell, changes };
                let rest = scratch.desk.enter(at, &mut word, self.manner.grain, message);
                if rest > 0 {
                    self.place_rest(rest, w, bits, scratch, word);
                }
                let (parts, from) = scratch.desk.messages();
                scratch.sizes.push((parts.len() - from) as u8);
            }
        }
        Ok(log.value() - self.norm(document))
    }

    /// Grains that fell to the topics that the document does not use, or were lost in rounding.
    #[inline(never)]
    fn place_rest(self, rest: u16, w: u32, bits: u64, scratch: &mut Scratch, word: Word<'_>) {
        let draws = self.counts.draws(w);
        let Manner { grain, open, .. } = self.manner;
        let Word { old, x, changes, cell, .. } = word;
        let mut add = |scratch: &mut Scratch, place: usize, units: u16| {
            scratch.desk.add(place as u16, units, x);
            let cell = cell + scratch.desk.topic(place);
            changes.push(Change { cell, units: units_of(x, units) });
        };
        if open && !draws.is_empty() {
            let mut at = (((bits & 0xFFFF_FFFF) * draws.len() as u64) >> 32) as usize;
            for _ in 0..rest {
                let place = scratch.place(self, u32::from(draws[at]));
                add(scratch, place as usize, grain);
                at = if at + 1 == draws.len() { 0 } else { at + 1 };
            }
            return;
        }
        let (parts, from) = scratch.desk.messages();
        match parts.get(from..).and_then(<[Part]>::last) {
            Some(last) => add(scratch, last.place(), rest * grain),
            None if old.is_empty() => add(scratch, 0, rest * grain),
            // Nothing is known of where the word belongs: it stays where it is.
            None => old.iter().for_each(|part| add(scratch, part.place(), part.units())),
        }
    }
}
