//! A document's topics in use, laid out for the kernels, and the message of a word to it: the heart of `tbp`.
//!
//! Legend: K topics; for the n topics in use of a document `t[n]` its units, `inverse[n]` = 1/(lambda + W*beta) and
//! `own[n]` what the word at work has in them; `row[K]` the word's units. For a word at work:
//! ```text
//! z = (row - own + beta)*inverse*(t - own)              full = sum (row + beta)*inverse*t
//! ```
//! It goes on over_relaxation z, from the old message: `max(0, own + (1 + over_relaxation)*(z - own))` with the sum of z as large as that of own.
//! The message is that made whole: cut at u, u+1, u+2, … along its running sum, so that it is right on average over u and
//! adds up exactly.

#![allow(unsafe_code)] // kernels, each with its proof
#![allow(clippy::inline_always)] // a definition must become part of each instruction set's own function

use crate::algorithms::tbp::delta::DeltaList;
use crate::algorithms::tbp::messages::{MAX_DOCUMENT_TOPICS, MessageEntry, UNITS_PER_TOKEN};
use crate::simd::{Count, Kernel, LANES, Lanes, Places, Vector, kernel, prefetch_address, prefetch_line};

/// A word's row of phi, in units.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PhiRow<'a> {
    /// Of a word with few tokens.
    Narrow(&'a [u16]),
    /// Of any other; no number reaches 2^31.
    Wide(&'a [u32]),
}

impl PhiRow<'_> {
    /// Asks for the row to be brought to the cache, ahead of its use.
    #[inline]
    pub(crate) fn prefetch(self) {
        /// Longer rows are not read whole, and would push others out.
        const MOST: usize = 32;
        const LINE: usize = 64;
        match self {
            PhiRow::Narrow(row) => row.iter().step_by(LINE / 2).take(MOST).for_each(prefetch_line),
            PhiRow::Wide(row) => row.iter().step_by(LINE / 4).take(MOST).for_each(prefetch_line),
        }
    }

    /// Where it starts, and how many bytes sixteen of its numbers have.
    #[inline(always)]
    fn bytes(self) -> (*const u8, usize) {
        match self {
            PhiRow::Narrow(row) => (row.as_ptr().cast(), LANES * size_of::<u16>()),
            PhiRow::Wide(row) => (row.as_ptr().cast(), LANES * size_of::<u32>()),
        }
    }

    #[inline(always)]
    fn len(self) -> usize {
        match self {
            PhiRow::Narrow(row) => row.len(),
            PhiRow::Wide(row) => row.len(),
        }
    }
}

const MOST_LANES: usize = MAX_DOCUMENT_TOPICS / LANES;

/// How many words of a document are at work together: they do not see each other's new messages, and so the processor
/// need not wait for one to begin the next.
pub(crate) const WORDS_PER_BATCH: usize = 4;

/// What belongs to sixteen topics in use, one behind the other: as rows of their own these would lie at the same distance
/// from a page's start, and push each other out of the cache.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
struct Column {
    places: Places,
    t: Lanes,
    inverse: Lanes,
    /// alpha * inverse.
    factors: Lanes,
    /// Units of the message so far of every word at work.
    own: [[u32; LANES]; WORDS_PER_BATCH],
    pub(super) z: [Lanes; WORDS_PER_BATCH],
    /// The running sum of z in quanta, without fractions.
    steps: [[i32; LANES]; WORDS_PER_BATCH],
}

impl Column {
    const ZERO: Column = Column {
        places: Places([0; LANES]),
        t: Lanes::ZERO,
        inverse: Lanes::ZERO,
        factors: Lanes::ZERO,
        own: [[0; LANES]; WORDS_PER_BATCH],
        z: [Lanes::ZERO; WORDS_PER_BATCH],
        steps: [[0; LANES]; WORDS_PER_BATCH],
    };
}

/// See the top. Lanes past the topics in use have inverse 0, and so no weight.
#[derive(Debug, Clone)]
pub(crate) struct ActiveTopics {
    /// Every place is below this.
    end: usize,
    length: usize,
    columns: Box<[Column; MOST_LANES]>,
    /// So many topics have a z: others may have come since.
    weighed: usize,
    /// In which lanes of each column the steps rise, for every word at work.
    risen: Box<[[u16; MOST_LANES]; WORDS_PER_BATCH]>,
    /// Which places are in a message.
    used: Box<[bool; MAX_DOCUMENT_TOPICS]>,
    /// The messages made so far.
    messages: Vec<MessageEntry>,
    /// Where the last of them begins.
    last: usize,
}

/// A word at work.
#[derive(Debug)]
pub(crate) struct WordUpdate<'a> {
    pub(crate) x: u32,
    /// Its message so far.
    pub(crate) old: &'a [MessageEntry],
    /// The cell of phi that its row starts with, and the deltas of such cells.
    pub(crate) cell: u32,
    pub(crate) deltas: &'a mut DeltaList,
}

/// How messages are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpdateParams {
    pub(crate) beta: f32,
    /// Units of a quantum.
    pub(crate) quantum: u16,
    /// Whether quanta can go to topics that the document does not use.
    pub(crate) open: bool,
    /// How far a message goes over_relaxation z, as a share of the way from the old message to z; above -1.
    pub(crate) over_relaxation: f32,
}

/// A message, weighed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WeighedMessage {
    /// See the top; with the topics that are not in use.
    pub(crate) full: f32,
    /// What is cut: the sum of z and of what lies elsewhere.
    pub(crate) total: f32,
}

impl WeighedMessage {
    /// Whether there is enough to tell where the word belongs.
    fn usable(self) -> bool {
        /// Below this the factor that makes it whole leaves the range of 32-bit floats.
        const LEAST: f32 = 1e-30;
        self.total > LEAST && self.total.is_finite()
    }
}

impl ActiveTopics {
    /// A active for rows of `topics` numbers.
    pub(crate) fn new(topics: u32) -> ActiveTopics {
        // On the heap from the start: it is large for a stack.
        let Ok(columns) = vec![Column::ZERO; MOST_LANES].into_boxed_slice().try_into() else {
            unreachable!("so many were made")
        };
        ActiveTopics {
            end: topics as usize,
            length: 0,
            columns,
            weighed: 0,
            risen: Box::new([[0; MOST_LANES]; WORDS_PER_BATCH]),
            used: Box::new([false; MAX_DOCUMENT_TOPICS]),
            messages: Vec::new(),
            last: 0,
        }
    }

    #[inline(always)]
    fn lanes(&self) -> usize {
        self.length.div_ceil(LANES)
    }

    /// How many topics are in use.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// No topics in use.
    pub(crate) fn clear(&mut self) {
        let lanes = self.lanes();
        self.columns[..lanes].fill(Column::ZERO);
        self.used[..self.length].fill(false);
        self.messages.clear();
        self.length = 0;
    }

    /// One more topic in use, without units yet. Returns its place on the active.
    /// Frees the memory of messages, which a long document has made large.
    pub(crate) fn free(&mut self) {
        self.messages = Vec::new();
    }

    pub(crate) fn push(&mut self, topic: u32, inverse: f32, factor: f32) -> usize {
        assert!((topic as usize) < self.end && self.length < MAX_DOCUMENT_TOPICS, "a topic too many");
        let at = self.length;
        let column = &mut self.columns[at / LANES];
        column.places.0[at % LANES] = topic;
        column.inverse.0[at % LANES] = inverse;
        column.factors.0[at % LANES] = factor;
        self.length += 1;
        at
    }

    /// The topics in use and their units.
    pub(crate) fn topics(&self) -> impl Iterator<Item = (u32, f32)> {
        let all = self.columns[..self.lanes()]
            .iter()
            .flat_map(|column| column.places.0.into_iter().zip(column.t.0));
        all.take(self.length)
    }

    /// The topic at a place.
    #[inline(always)]
    pub(crate) fn topic(&self, place: usize) -> u32 {
        self.columns[place / LANES].places.0[place % LANES]
    }

    /// The units of the topic at a place.
    #[inline(always)]
    pub(crate) fn t(&mut self, place: usize) -> &mut f32 {
        &mut self.columns[place / LANES].t.0[place % LANES]
    }

    /// Which of them are in a message.
    pub(crate) fn used(&self) -> &[bool] {
        &self.used[..self.length]
    }

    /// The messages made so far, and where the last of them begins.
    #[inline(always)]
    pub(crate) fn messages(&self) -> (&[MessageEntry], usize) {
        (&self.messages, self.last)
    }

    /// Adds units at a place to the message that was made last.
    pub(crate) fn add(&mut self, place: u16, units: u16, x: u32) {
        *self.t(place as usize) += x as f32 * f32::from(units);
        self.used[place as usize] = true;
        match self.messages[self.last..].iter_mut().find(|part| part.place() == place as usize) {
            Some(part) => *part = MessageEntry::new(place, part.units() + units),
            None => self.messages.push(MessageEntry::new(place, units)),
        }
    }

    /// Takes `factor` times z of a word at work out of t, not below 0.
    pub(crate) fn take_out(&mut self, at: usize, factor: f32) {
        for column in &mut self.columns[..self.weighed.div_ceil(LANES)] {
            for (t, z) in column.t.0.iter_mut().zip(column.z[at].0) {
                let left = *t - z * factor;
                *t = if left > 0.0 { left } else { 0.0 };
            }
        }
    }

    /// Notes an old message as the own of a word at work.
    #[inline(always)]
    pub(crate) fn note(&mut self, at: usize, old: &[MessageEntry]) {
        for part in old {
            let place = part.place();
            self.columns[place / LANES].own[at][place % LANES] = u32::from(part.units());
        }
    }
}

/// Weighs the topics in use for the word at work number `at`, and cuts what comes out along its running sum, from u on.
/// `taken` is how often its own units are taken out: as often as it occurs, or not at all.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn weigh_of<V: Vector>(
    active: &mut ActiveTopics,
    at: usize,
    (row, weight, taken): (PhiRow<'_>, f32, f32),
    params: UpdateParams,
    u: f32,
) -> WeighedMessage {
    assert!(row.len() >= active.end && at < WORDS_PER_BATCH, "a topic outside the row");
    // SAFETY: promised by the caller; and every place is below `end` (see `push`), so inside the row.
    let (sum, full, own) = unsafe {
        match row {
            PhiRow::Narrow(row) => weigh_cells::<V, u16>(row, active, at, params.beta, taken),
            PhiRow::Wide(row) => weigh_cells::<V, u32>(row, active, at, params.beta, taken),
        }
    };
    let elsewhere = if params.open { (weight - own).max(0.0) } else { 0.0 };
    let mut weighed = WeighedMessage { full: full + weight, total: sum + elsewhere };
    let n = active.lanes();
    let ActiveTopics { columns, risen, .. } = active;
    if params.over_relaxation != 0.0 && weighed.usable() {
        let further = (1.0 + params.over_relaxation) * UNITS_PER_TOKEN as f32 / weighed.total;
        // SAFETY: promised by the caller.
        unsafe {
            let (factor, back, zero) = (V::splat(further), V::splat(-params.over_relaxation), V::zero());
            let mut sum = V::zero();
            for column in &mut columns[..n] {
                let z = V::load(&column.z[at]).mul(factor);
                let z = V::widen_u32(&column.own[at]).fma(back, z).max(zero);
                z.store(&mut column.z[at]);
                sum = sum.add(z);
            }
            weighed.total = sum.sum() + elsewhere * further;
        }
    }
    let factor = if weighed.usable() {
        f32::from(UNITS_PER_TOKEN as u16 / params.quantum) / weighed.total
    } else {
        0.0
    };
    // SAFETY: promised by the caller.
    unsafe {
        let factor = V::splat(factor);
        let mut sum = V::splat(u);
        for (column, risen) in columns[..n].iter_mut().zip(&mut risen[at]) {
            let running = V::load(&column.z[at]).mul(factor).running_sum().add(sum);
            *risen = running.steps(sum, &mut column.steps[at]) as u16;
            sum = running.last();
        }
    }
    weighed
}

/// Sets z; returns the sum of z, full, and the own share of the factors' weight.
#[inline(always)]
unsafe fn weigh_cells<V: Vector, C: Count>(
    row: &[C],
    active: &mut ActiveTopics,
    at: usize,
    beta: f32,
    taken: f32,
) -> (f32, f32, f32) {
    let n = active.lanes();
    active.weighed = active.length;
    // SAFETY: see `weigh`.
    unsafe {
        let (beta, taken, zero) = (V::splat(beta), V::splat(taken), V::zero());
        let (mut s, mut full, mut own_weight) = (V::zero(), V::zero(), V::zero());
        for column in &mut active.columns[..n] {
            let (t, own) = (V::load(&column.t), V::widen_u32(&column.own[at]).mul(taken));
            let row = C::gather::<V>(row.as_ptr(), &column.places);
            let inverse = V::load(&column.inverse);
            // A word's own units are part of its row and of t: the differences are exact, and not below 0.
            let without = row.sub(own).add(beta).mul(inverse).mul(t.sub(own).max(zero));
            s = s.add(without);
            full = row.add(beta).mul(inverse).fma(t, full);
            own_weight = own.fma(V::load(&column.factors), own_weight);
            without.store(&mut column.z[at]);
        }
        (s.sum(), full.sum(), own_weight.sum())
    }
}

impl ActiveTopics {
    /// Enters the new message of a word at work as it was cut, in place of the old one, and writes down where they differ.
    /// Returns how many quanta are left: they belong to topics that are not in use, or were lost in rounding.
    #[inline(always)]
    pub(crate) fn enter(
        &mut self,
        at: usize,
        word: &mut WordUpdate<'_>,
        quantum: u16,
        message: WeighedMessage,
    ) -> u16 {
        const MOST: usize = UNITS_PER_TOKEN as usize;
        self.last = self.messages.len();
        if self.messages.capacity() - self.messages.len() < MOST {
            // A quarter more at a time, for documents with very many words.
            self.messages.reserve_exact(MOST.max(self.messages.len() / 4));
        }
        let ActiveTopics { columns, used, messages, risen, weighed, .. } = self;
        let share = word.x as f32;
        let mut deltas = word.deltas.reserve(word.cell, word.x, word.old.len() + MOST);
        let parts = &mut messages.spare_capacity_mut()[..MOST];
        let (mut done, mut made) = (0i32, 0usize);
        let quanta = UNITS_PER_TOKEN as u16 / quantum;
        let mut change = |column: &mut Column, lane: usize, more: i32| {
            let t = column.t.0[lane] + share * more as f32;
            column.t.0[lane] = if t > 0.0 { t } else { 0.0 };
            deltas.push(column.places.0[lane], more);
        };
        let n = if message.usable() { weighed.div_ceil(LANES) } else { 0 };
        for (four, risen) in risen[at][..n].chunks(4).enumerate() {
            // Sixty-four lanes at a time: their number is the only thing here that the processor must guess.
            let mut lanes = risen.iter().rev().fold(0u64, |all, &risen| all << LANES | u64::from(risen));
            // Sums of other orders differ in the last bit: past the last topic one may seem to rise.
            let last = *weighed - four * 64;
            if last < 64 {
                lanes &= (1 << last) - 1;
            }
            while lanes != 0 {
                let place = (four * 64 + lanes.trailing_zeros() as usize) % MAX_DOCUMENT_TOPICS;
                lanes &= lanes - 1;
                let (column, lane) = (&mut columns[place / LANES], place % LANES);
                let to = column.steps[at][lane].min(i32::from(quanta));
                if to > done {
                    let units = (to - done) * i32::from(quantum);
                    used[place] = true;
                    // There are never more parts than units.
                    parts[made % MOST].write(MessageEntry::new(place as u16, units as u16));
                    let old = std::mem::take(&mut column.own[at][lane]).cast_signed();
                    change(column, lane, units - old);
                    made += 1;
                    done = to;
                }
            }
        }
        for part in word.old {
            let (column, lane) = (&mut columns[part.place() / LANES], part.place() % LANES);
            let gone = std::mem::take(&mut column.own[at][lane]).cast_signed();
            change(column, lane, -gone);
        }
        let (length, filled) = (messages.len() + made, deltas.filled);
        // SAFETY: so many were written above, behind those there were, and room was made for them.
        unsafe {
            messages.set_len(length);
            word.deltas.take(filled);
        }
        quanta - done as u16
    }
}

/// `weights[K]` = (row + beta) * `factors[K]`. Returns the sum of every [`Lanes`] in `sums`, and theirs.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn weights_of<V: Vector>(
    row: PhiRow<'_>,
    factors: &[Lanes],
    beta: f32,
    weights: &mut [Lanes],
    sums: &mut Vec<f32>,
) -> f32 {
    // SAFETY: promised by the caller.
    unsafe {
        match row {
            PhiRow::Narrow(row) => weights_cells::<V, u16>(row, factors, beta, weights, sums),
            PhiRow::Wide(row) => weights_cells::<V, u32>(row, factors, beta, weights, sums),
        }
    }
}

#[inline(always)]
unsafe fn weights_cells<V: Vector, C: Count>(
    row: &[C],
    factors: &[Lanes],
    beta: f32,
    weights: &mut [Lanes],
    sums: &mut Vec<f32>,
) -> f32 {
    sums.clear();
    let (chunks, _) = row.as_chunks::<LANES>();
    let mut total = 0f32;
    // SAFETY: see `weights`.
    unsafe {
        let beta = V::splat(beta);
        for ((chunk, factor), weight) in chunks.iter().zip(factors).zip(weights) {
            let w = C::widen::<V>(chunk).add(beta).mul(V::load(factor));
            w.store(weight);
            let sum = w.sum();
            sums.push(sum);
            total += sum;
        }
    }
    total
}

/// Sixteen topics of a document that goes through all of them, phi held fixed. What belongs together lies together: see
/// [`Column`].
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllTopicsColumn {
    /// theta + alpha.
    pub(crate) t: Lanes,
    /// 1 / (lambda + W*beta).
    pub(crate) inverse: Lanes,
    /// The new theta, as far as it has come.
    pub(crate) sums: Lanes,
    /// p, then the message, of every word at work.
    pub(super) z: [Lanes; WORDS_PER_BATCH],
}

impl AllTopicsColumn {
    pub(crate) const ZERO: AllTopicsColumn = AllTopicsColumn {
        t: Lanes::ZERO,
        inverse: Lanes::ZERO,
        sums: Lanes::ZERO,
        z: [Lanes::ZERO; WORDS_PER_BATCH],
    };
}

/// Adds the messages of [`WORDS_PER_BATCH`] words (x units each; 0 where there are fewer) over all topics to `sums[K]`, half of each
/// word's own share in theta taken out:
/// ```text
/// p = (row + beta)*inverse     z = p*t     s = sum z     f = max(1 - x/2/s * p, 1/50)     sums += x * z*f / sum(z*f)
/// ```
/// Returns s of every word. `ahead` are the rows that come next: they are asked for line by line, among the work.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn whole_of<V: Vector>(
    columns: &mut [AllTopicsColumn],
    words: &[(PhiRow<'_>, f32); WORDS_PER_BATCH],
    ahead: &[PhiRow<'_>; WORDS_PER_BATCH],
    beta: f32,
) -> [f32; WORDS_PER_BATCH] {
    for (row, _) in words {
        assert!(row.len() >= columns.len() * LANES, "a topic outside the row");
    }
    let mut all = [0f32; WORDS_PER_BATCH];
    // SAFETY: promised by the caller; and every column has its sixteen numbers in each row.
    unsafe {
        let narrow = words.iter().all(|(row, _)| matches!(row, PhiRow::Narrow(_)));
        // Half of the rows that come next are asked for here and half below: all at once are more than the processor can have
        // under way.
        let [a, b, c, d] = ahead.map(PhiRow::bytes);
        let s = if narrow {
            whole_weights::<V, true>(columns, words, [a, b], beta)
        } else {
            whole_weights::<V, false>(columns, words, [a, b], beta)
        };
        for (all, s) in all.iter_mut().zip(s) {
            *all = s.sum();
        }
        let (one, floor) = (V::splat(1.0), V::splat(0.02));
        let mut own = [one; WORDS_PER_BATCH];
        for ((own, (_, x)), s) in own.iter_mut().zip(words).zip(all) {
            *own = V::splat(-0.5 * x / s);
        }
        let mut rest = [V::zero(); WORDS_PER_BATCH];
        for (i, column) in columns.iter_mut().enumerate() {
            for (row, sixteen) in [c, d] {
                prefetch_address(row.wrapping_add(i * sixteen));
            }
            let t = V::load(&column.t);
            for ((z, rest), own) in column.z.iter_mut().zip(&mut rest).zip(own) {
                let p = V::load(z);
                let message = p.mul(t).mul(p.fma(own, one).max(floor));
                *rest = rest.add(message);
                message.store(z);
            }
        }
        let mut factors = [one; WORDS_PER_BATCH];
        for ((factor, (_, x)), rest) in factors.iter_mut().zip(words).zip(rest) {
            *factor = V::splat(x / rest.sum());
        }
        for column in columns {
            let mut sums = V::load(&column.sums);
            for (z, factor) in column.z.iter().zip(factors) {
                sums = V::load(z).fma(factor, sums);
            }
            sums.store(&mut column.sums);
        }
    }
    all
}

/// Sets p of the words at work; returns their sums of p*t. `NARROW`: all rows are, which is faster to know before.
///
/// # Safety
/// As of [`whole_of`]; every column has its sixteen numbers in each row, and what `NARROW` says is so.
#[inline(always)]
unsafe fn whole_weights<V: Vector, const NARROW: bool>(
    columns: &mut [AllTopicsColumn],
    words: &[(PhiRow<'_>, f32); WORDS_PER_BATCH],
    ahead: [(*const u8, usize); 2],
    beta: f32,
) -> [V; WORDS_PER_BATCH] {
    // SAFETY: promised by the caller.
    unsafe {
        let beta = V::splat(beta);
        let mut s = [V::zero(); WORDS_PER_BATCH];
        for (i, column) in columns.iter_mut().enumerate() {
            for (row, sixteen) in ahead {
                prefetch_address(row.wrapping_add(i * sixteen));
            }
            let (t, inverse) = (V::load(&column.t), V::load(&column.inverse));
            let base = inverse.mul(beta);
            for ((z, s), (row, _)) in column.z.iter_mut().zip(&mut s).zip(words) {
                let row = match *row {
                    PhiRow::Narrow(row) => V::widen_u16(&*row.as_ptr().cast::<[u16; LANES]>().add(i)),
                    PhiRow::Wide(_) if NARROW => std::hint::unreachable_unchecked(),
                    PhiRow::Wide(row) => V::widen_u32(&*row.as_ptr().cast::<[u32; LANES]>().add(i)),
                };
                let p = row.fma(inverse, base);
                *s = p.fma(t, *s);
                p.store(z);
            }
        }
        s
    }
}

/// Multiply-adds and nothing else.
///
/// # Safety
/// The processor has V's instructions.
#[cfg(test)]
#[inline(always)]
unsafe fn multiply_adds_of<V: Vector>(factors: &[Lanes], repeat: u32) -> f32 {
    // SAFETY: promised by the caller.
    unsafe {
        let f = V::load(&factors[0]);
        let mut sums = [f; 8];
        for _ in 0..repeat {
            for sum in &mut sums {
                *sum = sum.fma(f, f);
            }
        }
        sums.iter().fold(V::zero(), |all, &sum| all.add(sum)).sum()
    }
}

/// The kernels of `tbp`.
impl Kernel {
    kernel! {
        /// Weighs a word's message to the document on the active, and cuts it into whole quanta, from u on.
        pub(crate) fn weigh(active: &mut ActiveTopics, at: usize, word: (PhiRow<'_>, f32, f32), params: UpdateParams, u: f32) -> WeighedMessage = weigh_of
    }

    kernel! {
        /// The messages of some words over all topics, added to the new theta; `ahead` are the next rows. Returns what each word
        /// weighs.
        pub(crate) fn whole(columns: &mut [AllTopicsColumn], words: &[(PhiRow<'_>, f32); WORDS_PER_BATCH], ahead: &[PhiRow<'_>; WORDS_PER_BATCH], beta: f32) -> [f32; WORDS_PER_BATCH] = whole_of
    }

    kernel! {
        /// Multiply-adds and nothing else, to know how fast they can be: 8 sums, each `repeat` times.
        #[cfg(test)]
        pub(super) fn multiply_adds(factors: &[Lanes], repeat: u32) -> f32 = multiply_adds_of
    }

    kernel! {
        /// `weights[K]` = (row + beta) * `factors[K]`; the sum of every 16 of them, and of all.
        pub(crate) fn weights(row: PhiRow<'_>, factors: &[Lanes], beta: f32, weights: &mut [Lanes], sums: &mut Vec<f32>) -> f32 = weights_of
    }
}
