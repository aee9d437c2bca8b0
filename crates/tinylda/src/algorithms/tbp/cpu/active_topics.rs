//! The topics that a document uses, laid out for the kernels, and the update of a word's message:
//! the innermost loops of `tbp`.
//!
//! Legend: K topics; for the n topics in use of a document, `t[n]` are its units, `inverse[n]` =
//! 1/(lambda + W*beta), and `own[n]` the units of the word's current message; `row[K]` are the
//! word's units in phi; x is how often own is subtracted: the word's count, or 0 if messages are
//! not excluded. For every word of a batch:
//! ```text
//! z    = (row - x*own + beta)*inverse*(t - x*own)
//! full = sum over all topics of (row + beta)*inverse*(t + alpha)
//!      = sum over the topics in use of (row + beta)*inverse*t, plus the prior mass
//! ```
//! The log-likelihood is computed from `full`. With over-relaxation c the message moves beyond z,
//! from the old message: `max(0, own + (1 + c)*(z - own))`, with z scaled to the sum of own. The
//! result is quantized: its running sum is cut at u, u+1, u+2, …, so that it is right on average
//! over u and adds up exactly.
//!
//! Start reading with `quantize_message_of` (z and its cuts) and
//! [`ActiveTopics::commit_message`] (the new message). This module knows nothing about files,
//! threads or the schedule.

#![allow(unsafe_code)] // kernels; each has its proof
#![allow(clippy::inline_always)] // definitions must be inlined into the function that enables the instructions

use crate::algorithms::tbp::delta::DeltaList;
use crate::algorithms::tbp::messages::{MAX_DOCUMENT_TOPICS, MessageEntry, UNITS_PER_TOKEN};
use crate::simd::{Count, Indices, Kernel, LANES, Lanes, Vector, kernel, prefetch_address, prefetch_line};

/// A word's row of phi, in units.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PhiRow<'a> {
    /// Row of a word with few tokens.
    Narrow(&'a [u16]),
    /// Row of any other word. No number reaches 2^31.
    Wide(&'a [u32]),
}

impl PhiRow<'_> {
    /// Prefetches the row.
    #[inline]
    pub(crate) fn prefetch(self) {
        /// Largest number of cache lines to prefetch. Longer rows are not read as a whole and would
        /// displace others.
        const MAX_ENTRIES: usize = 32;
        const LINE: usize = 64;
        match self {
            PhiRow::Narrow(row) => row.iter().step_by(LINE / 2).take(MAX_ENTRIES).for_each(prefetch_line),
            PhiRow::Wide(row) => row.iter().step_by(LINE / 4).take(MAX_ENTRIES).for_each(prefetch_line),
        }
    }

    /// Returns the address of the row, and the number of bytes of sixteen of its numbers.
    #[inline(always)]
    fn bytes(self) -> (*const u8, usize) {
        match self {
            PhiRow::Narrow(row) => (row.as_ptr().cast(), LANES * size_of::<u16>()),
            PhiRow::Wide(row) => (row.as_ptr().cast(), LANES * size_of::<u32>()),
        }
    }

    /// Returns the number of topics in the row, padding included.
    #[inline(always)]
    fn len(self) -> usize {
        match self {
            PhiRow::Narrow(row) => row.len(),
            PhiRow::Wide(row) => row.len(),
        }
    }
}

/// Largest number of columns that a document can use.
const MAX_COLUMNS: usize = MAX_DOCUMENT_TOPICS / LANES;

/// Number of words of a document that are updated together. They do not see each other's new
/// messages, so the processor does not need to wait for one word before it starts the next.
pub(crate) const WORDS_PER_BATCH: usize = 4;

/// The numbers of sixteen topics in use, next to each other. In separate rows they would have the
/// same offset from the start of a page and would displace each other from the cache.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
struct TopicColumn {
    topics: Indices,
    t: Lanes,
    inverse: Lanes,
    /// alpha * inverse.
    factors: Lanes,
    /// Units of the current message of every word of the batch.
    own: [[u32; LANES]; WORDS_PER_BATCH],
    pub(super) z: [Lanes; WORDS_PER_BATCH],
    /// Running sum of z in quanta, truncated to integers.
    steps: [[i32; LANES]; WORDS_PER_BATCH],
}

impl TopicColumn {
    const ZERO: TopicColumn = TopicColumn {
        topics: Indices([0; LANES]),
        t: Lanes::ZERO,
        inverse: Lanes::ZERO,
        factors: Lanes::ZERO,
        own: [[0; LANES]; WORDS_PER_BATCH],
        z: [Lanes::ZERO; WORDS_PER_BATCH],
        steps: [[0; LANES]; WORDS_PER_BATCH],
    };
}

/// The topics that a document uses. Lanes past them have inverse 0 and therefore weight 0.
#[derive(Debug, Clone)]
pub(crate) struct ActiveTopics {
    /// Upper bound of the topic numbers.
    end: usize,
    /// Number of topics in use.
    length: usize,
    columns: Box<[TopicColumn; MAX_COLUMNS]>,
    /// Number of topics that have a z. Topics may have been added since.
    weighed: usize,
    /// Lanes of each column in which the steps rise, for every word of the batch.
    risen: Box<[[u16; MAX_COLUMNS]; WORDS_PER_BATCH]>,
    /// Slots that occur in a message.
    used: Box<[bool; MAX_DOCUMENT_TOPICS]>,
    /// New messages of the document so far.
    messages: Vec<MessageEntry>,
    /// Index of the first entry of the last message.
    last: usize,
}

/// A word whose message is updated.
#[derive(Debug)]
pub(crate) struct WordUpdate<'a> {
    pub(crate) x: u32,
    /// Current message of the word.
    pub(crate) old: &'a [MessageEntry],
    /// First cell of the word's row of phi.
    pub(crate) cell: u32,
    /// List of deltas to which the cells of the word belong.
    pub(crate) deltas: &'a mut DeltaList,
}

/// Parameters of a message update.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpdateParams {
    pub(crate) beta: f32,
    /// Units of a quantum.
    pub(crate) quantum: u16,
    /// Whether quanta can go to topics that the document does not use.
    pub(crate) open: bool,
    /// How far a message moves beyond z, as a multiple of the distance from the old message to z;
    /// greater than -1.
    pub(crate) over_relaxation: f32,
}

/// The sums of an updated message.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WeighedMessage {
    /// Sum of (row + beta)*inverse*(t + alpha) over all topics, for the log-likelihood.
    pub(crate) full: f32,
    /// Sum to be quantized: z over the topics in use and, if quanta can go to other topics, the
    /// prior mass.
    pub(crate) total: f32,
}

impl WeighedMessage {
    /// Returns whether the total is large enough to say where the word belongs.
    fn is_usable(self) -> bool {
        /// Below this, the factor that scales to quanta exceeds the range of 32-bit floats.
        const LEAST: f32 = 1e-30;
        self.total > LEAST && self.total.is_finite()
    }
}

impl ActiveTopics {
    /// Creates an empty set of topics for rows of `topics` numbers.
    pub(crate) fn new(topics: u32) -> ActiveTopics {
        // Allocated on the heap from the start: it is too large for the stack.
        let Ok(columns) = vec![TopicColumn::ZERO; MAX_COLUMNS].into_boxed_slice().try_into() else {
            unreachable!("the length is MAX_COLUMNS")
        };
        ActiveTopics {
            end: topics as usize,
            length: 0,
            columns,
            weighed: 0,
            risen: Box::new([[0; MAX_COLUMNS]; WORDS_PER_BATCH]),
            used: Box::new([false; MAX_DOCUMENT_TOPICS]),
            messages: Vec::new(),
            last: 0,
        }
    }

    /// Returns the number of columns in use.
    #[inline(always)]
    fn lanes(&self) -> usize {
        self.length.div_ceil(LANES)
    }

    /// Returns the number of topics in use.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Removes all topics and messages.
    pub(crate) fn clear(&mut self) {
        let lanes = self.lanes();
        self.columns[..lanes].fill(TopicColumn::ZERO);
        self.used[..self.length].fill(false);
        self.messages.clear();
        self.length = 0;
    }

    /// Frees the memory of messages, which a long document has enlarged.
    pub(crate) fn free(&mut self) {
        self.messages = Vec::new();
    }

    /// Adds a topic without units. Returns its slot.
    pub(crate) fn push(&mut self, topic: u32, inverse: f32, factor: f32) -> usize {
        assert!((topic as usize) < self.end && self.length < MAX_DOCUMENT_TOPICS, "too many topics");
        let at = self.length;
        let column = &mut self.columns[at / LANES];
        column.topics.0[at % LANES] = topic;
        column.inverse.0[at % LANES] = inverse;
        column.factors.0[at % LANES] = factor;
        self.length += 1;
        at
    }

    /// Iterates over the topics in use and their units.
    pub(crate) fn topics(&self) -> impl Iterator<Item = (u32, f32)> {
        let all = self.columns[..self.lanes()]
            .iter()
            .flat_map(|column| column.topics.0.into_iter().zip(column.t.0));
        all.take(self.length)
    }

    /// Returns the topic in a slot.
    #[inline(always)]
    pub(crate) fn topic(&self, slot: usize) -> u32 {
        self.columns[slot / LANES].topics.0[slot % LANES]
    }

    /// Returns the units of the topic in a slot.
    #[inline(always)]
    pub(crate) fn t(&mut self, slot: usize) -> &mut f32 {
        &mut self.columns[slot / LANES].t.0[slot % LANES]
    }

    /// Returns for every slot whether it occurs in a message.
    pub(crate) fn used(&self) -> &[bool] {
        &self.used[..self.length]
    }

    /// Returns the new messages so far, and the index at which the last one starts.
    #[inline(always)]
    pub(crate) fn messages(&self) -> (&[MessageEntry], usize) {
        (&self.messages, self.last)
    }

    /// Adds units in a slot to the last message.
    pub(crate) fn add(&mut self, slot: u16, units: u16, x: u32) {
        *self.t(slot as usize) += x as f32 * f32::from(units);
        self.used[slot as usize] = true;
        match self.messages[self.last..].iter_mut().find(|entry| entry.slot() == slot as usize) {
            Some(entry) => *entry = MessageEntry::new(slot, entry.units() + units),
            None => self.messages.push(MessageEntry::new(slot, units)),
        }
    }

    /// Subtracts `factor` times z of a word of the batch from t, not below 0.
    pub(crate) fn subtract(&mut self, at: usize, factor: f32) {
        for column in &mut self.columns[..self.weighed.div_ceil(LANES)] {
            for (t, z) in column.t.0.iter_mut().zip(column.z[at].0) {
                let left = *t - z * factor;
                *t = if left > 0.0 { left } else { 0.0 };
            }
        }
    }

    /// Sets the current message of word `at` of the batch.
    #[inline(always)]
    pub(crate) fn set_own(&mut self, at: usize, old: &[MessageEntry]) {
        for entry in old {
            let slot = entry.slot();
            self.columns[slot / LANES].own[at][slot % LANES] = u32::from(entry.units());
        }
    }
}

/// Computes z of word `at` of the batch over the topics in use, and quantizes it along its running
/// sum, starting at u. `taken` is how often its own units are subtracted: as often as the word
/// occurs, or not at all.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn quantize_message_of<V: Vector>(
    active: &mut ActiveTopics,
    at: usize,
    (row, prior_mass, taken): (PhiRow<'_>, f32, f32),
    params: UpdateParams,
    u: f32,
) -> WeighedMessage {
    assert!(row.len() >= active.end && at < WORDS_PER_BATCH, "the row is too short");
    // SAFETY: promised by the caller. Every topic is below `end` (see `push`), hence inside the
    // row.
    let (sum, full, own) = unsafe {
        match row {
            PhiRow::Narrow(row) => message_cells::<V, u16>(row, active, at, params.beta, taken),
            PhiRow::Wide(row) => message_cells::<V, u32>(row, active, at, params.beta, taken),
        }
    };
    let elsewhere = if params.open { (prior_mass - own).max(0.0) } else { 0.0 };
    let mut weighed = WeighedMessage { full: full + prior_mass, total: sum + elsewhere };
    let n = active.lanes();
    let ActiveTopics { columns, risen, .. } = active;
    if params.over_relaxation != 0.0 && weighed.is_usable() {
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
    let factor = if weighed.is_usable() {
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
            sum = running.splat_last();
        }
    }
    weighed
}

/// Sets z. Returns the sum of z, the sum `full`, and the word's own part of the prior mass.
#[inline(always)]
unsafe fn message_cells<V: Vector, C: Count>(
    row: &[C],
    active: &mut ActiveTopics,
    at: usize,
    beta: f32,
    taken: f32,
) -> (f32, f32, f32) {
    let n = active.lanes();
    active.weighed = active.length;
    // SAFETY: see `quantize_message_of`.
    unsafe {
        let (beta, taken, zero) = (V::splat(beta), V::splat(taken), V::zero());
        let (mut s, mut full, mut own_mass) = (V::zero(), V::zero(), V::zero());
        for column in &mut active.columns[..n] {
            let (t, own) = (V::load(&column.t), V::widen_u32(&column.own[at]).mul(taken));
            let row = C::gather::<V>(row.as_ptr(), &column.topics);
            let inverse = V::load(&column.inverse);
            // A word's own units are part of its row and of t, so the differences are exact and not
            // negative.
            let without = row.sub(own).add(beta).mul(inverse).mul(t.sub(own).max(zero));
            s = s.add(without);
            full = row.add(beta).mul(inverse).fma(t, full);
            own_mass = own.fma(V::load(&column.factors), own_mass);
            without.store(&mut column.z[at]);
        }
        (s.sum(), full.sum(), own_mass.sum())
    }
}

impl ActiveTopics {
    /// Replaces the old message of word `at` of the batch by the quantized one, and appends the
    /// differences to the deltas. Returns the number of quanta that are left: they fell on the
    /// prior mass, or were lost in rounding.
    #[inline(always)]
    pub(crate) fn commit_message(
        &mut self,
        at: usize,
        word: &mut WordUpdate<'_>,
        quantum: u16,
        message: WeighedMessage,
    ) -> u16 {
        const MAX_ENTRIES: usize = UNITS_PER_TOKEN as usize;
        self.last = self.messages.len();
        if self.messages.capacity() - self.messages.len() < MAX_ENTRIES {
            // Grow by a quarter, for documents with very many words.
            self.messages.reserve_exact(MAX_ENTRIES.max(self.messages.len() / 4));
        }
        let ActiveTopics { columns, used, messages, risen, weighed, .. } = self;
        let share = word.x as f32;
        let mut deltas = word.deltas.reserve(word.cell, word.x, word.old.len() + MAX_ENTRIES);
        let entries = &mut messages.spare_capacity_mut()[..MAX_ENTRIES];
        let (mut done, mut made) = (0i32, 0usize);
        let quanta = UNITS_PER_TOKEN as u16 / quantum;
        let mut change = |column: &mut TopicColumn, lane: usize, more: i32| {
            let t = column.t.0[lane] + share * more as f32;
            column.t.0[lane] = if t > 0.0 { t } else { 0.0 };
            deltas.push(column.topics.0[lane], more);
        };
        let n = if message.is_usable() { weighed.div_ceil(LANES) } else { 0 };
        for (four, risen) in risen[at][..n].chunks(4).enumerate() {
            // Sixty-four lanes at a time: the number of rises is the only thing here that the
            // processor must predict.
            let mut lanes = risen.iter().rev().fold(0u64, |all, &risen| all << LANES | u64::from(risen));
            // Sums in other orders differ in the last bit, so a sum may seem to rise past the last
            // topic.
            let last = *weighed - four * 64;
            if last < 64 {
                lanes &= (1 << last) - 1;
            }
            while lanes != 0 {
                let slot = (four * 64 + lanes.trailing_zeros() as usize) % MAX_DOCUMENT_TOPICS;
                lanes &= lanes - 1;
                let (column, lane) = (&mut columns[slot / LANES], slot % LANES);
                let to = column.steps[at][lane].min(i32::from(quanta));
                if to > done {
                    let units = (to - done) * i32::from(quantum);
                    used[slot] = true;
                    // A message never has more entries than units.
                    entries[made % MAX_ENTRIES].write(MessageEntry::new(slot as u16, units as u16));
                    let old = std::mem::take(&mut column.own[at][lane]).cast_signed();
                    change(column, lane, units - old);
                    made += 1;
                    done = to;
                }
            }
        }
        for entry in word.old {
            let (column, lane) = (&mut columns[entry.slot() / LANES], entry.slot() % LANES);
            let gone = std::mem::take(&mut column.own[at][lane]).cast_signed();
            change(column, lane, -gone);
        }
        let (length, filled) = (messages.len() + made, deltas.filled);
        // SAFETY: this many entries were written above, after the existing ones, within the
        // capacity that was reserved.
        unsafe {
            messages.set_len(length);
            word.deltas.commit(filled);
        }
        quanta - done as u16
    }
}

/// Sets `weights[K]` = (row + beta) * `factors[K]`. Appends the sum of every [`Lanes`] to `sums`
/// and returns their total.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn prior_weights_of<V: Vector>(
    row: PhiRow<'_>,
    factors: &[Lanes],
    beta: f32,
    weights: &mut [Lanes],
    sums: &mut Vec<f32>,
) -> f32 {
    // SAFETY: promised by the caller.
    unsafe {
        match row {
            PhiRow::Narrow(row) => prior_weights_cells::<V, u16>(row, factors, beta, weights, sums),
            PhiRow::Wide(row) => prior_weights_cells::<V, u32>(row, factors, beta, weights, sums),
        }
    }
}

#[inline(always)]
unsafe fn prior_weights_cells<V: Vector, C: Count>(
    row: &[C],
    factors: &[Lanes],
    beta: f32,
    weights: &mut [Lanes],
    sums: &mut Vec<f32>,
) -> f32 {
    sums.clear();
    let (chunks, _) = row.as_chunks::<LANES>();
    let mut total = 0f32;
    // SAFETY: see `prior_weights_of`.
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

/// Sixteen topics of a document that is updated over all topics, with phi held fixed. The numbers
/// are next to each other for the reason given for [`TopicColumn`].
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllTopicsColumn {
    /// theta + alpha.
    pub(crate) t: Lanes,
    /// 1 / (lambda + W*beta).
    pub(crate) inverse: Lanes,
    /// The new theta so far.
    pub(crate) sums: Lanes,
    /// First p, later the message, of every word of the batch.
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

/// Adds the messages of [`WORDS_PER_BATCH`] words over all topics to `sums[K]`, with half of each
/// word's own share in theta excluded. Each word has x units, 0 if there are fewer words:
/// ```text
/// p = (row + beta)*inverse     z = p*t     s = sum z
/// f = max(1 - x/2/s * p, 1/50)     sums += x * z*f / sum(z*f)
/// ```
/// Returns s of every word. `ahead` are the rows of the next batch, which are prefetched line by
/// line during the work.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn all_topics_of<V: Vector>(
    columns: &mut [AllTopicsColumn],
    words: &[(PhiRow<'_>, f32); WORDS_PER_BATCH],
    ahead: &[PhiRow<'_>; WORDS_PER_BATCH],
    beta: f32,
) -> [f32; WORDS_PER_BATCH] {
    for (row, _) in words {
        assert!(row.len() >= columns.len() * LANES, "the row is too short");
    }
    let mut all = [0f32; WORDS_PER_BATCH];
    // SAFETY: promised by the caller. Every row has sixteen numbers for each column, as asserted
    // above.
    unsafe {
        let narrow = words.iter().all(|(row, _)| matches!(row, PhiRow::Narrow(_)));
        // Half of the next rows are prefetched here and half below: all at once would be more than
        // the processor can have in flight.
        let [a, b, c, d] = ahead.map(PhiRow::bytes);
        let s = if narrow {
            all_topics_weights::<V, true>(columns, words, [a, b], beta)
        } else {
            all_topics_weights::<V, false>(columns, words, [a, b], beta)
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

/// Sets p of the words of the batch. Returns their sums of p*t. `NARROW` says that all rows are
/// narrow, which is faster if known in advance.
///
/// # Safety
/// The processor has V's instructions, every row has sixteen numbers for each column, and `NARROW`
/// is true only if all rows are narrow.
#[inline(always)]
unsafe fn all_topics_weights<V: Vector, const NARROW: bool>(
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

/// Executes multiply-adds and nothing else.
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
        /// Computes the message of word `at` of the batch over the topics in use, and quantizes it,
        /// starting at u. `word` is its row of phi, its prior mass, and how often its own units are
        /// subtracted.
        pub(crate) fn quantize_message(active: &mut ActiveTopics, at: usize, word: (PhiRow<'_>, f32, f32), params: UpdateParams, u: f32) -> WeighedMessage = quantize_message_of
    }

    kernel! {
        /// Adds the messages of a batch of words over all topics to the new theta. `ahead` are the
        /// rows of the next batch. Returns the sum s of every word.
        pub(crate) fn all_topics(columns: &mut [AllTopicsColumn], words: &[(PhiRow<'_>, f32); WORDS_PER_BATCH], ahead: &[PhiRow<'_>; WORDS_PER_BATCH], beta: f32) -> [f32; WORDS_PER_BATCH] = all_topics_of
    }

    kernel! {
        /// Executes multiply-adds and nothing else, to measure their speed: 8 sums, `repeat` times
        /// each.
        #[cfg(test)]
        pub(super) fn multiply_adds(factors: &[Lanes], repeat: u32) -> f32 = multiply_adds_of
    }

    kernel! {
        /// Sets `weights[K]` = (row + beta) * `factors[K]`. Returns the sum of every 16 of them in
        /// `sums`, and their total.
        pub(crate) fn prior_weights(row: PhiRow<'_>, factors: &[Lanes], beta: f32, weights: &mut [Lanes], sums: &mut Vec<f32>) -> f32 = prior_weights_of
    }
}
