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
//! Start reading with `quantize_messages_of` (z and its cuts) and `commit_message_of` (the new
//! message). This module knows nothing about files, threads or the schedule.

#![allow(unsafe_code)] // kernels; each has its proof
#![allow(clippy::inline_always)] // definitions must be inlined into the function that enables the instructions

use crate::algorithms::tbp::delta::DeltaList;
use crate::algorithms::tbp::messages::{MAX_DOCUMENT_TOPICS, MessageEntry, UNIT_BITS, UNITS_PER_TOKEN};
use crate::simd::{
    Count, Indices, IntegerVector, Kernel, LANES, Lanes, LongRow, RowReader, Vector, kernel,
    prefetch_address, prefetch_line,
};

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
    own: [[i32; LANES]; WORDS_PER_BATCH],
    pub(super) z: [Lanes; WORDS_PER_BATCH],
    /// Units of the new message of every word of the batch.
    new: [[i32; LANES]; WORDS_PER_BATCH],
}

impl TopicColumn {
    const ZERO: TopicColumn = TopicColumn {
        topics: Indices([0; LANES]),
        t: Lanes::ZERO,
        inverse: Lanes::ZERO,
        factors: Lanes::ZERO,
        own: [[0; LANES]; WORDS_PER_BATCH],
        z: [Lanes::ZERO; WORDS_PER_BATCH],
        new: [[0; LANES]; WORDS_PER_BATCH],
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
    /// For each column, a mask of the slots that occur in a message.
    used: Box<[u32; MAX_COLUMNS]>,
    /// New messages of the document so far.
    messages: Vec<MessageEntry>,
    /// Index of the first entry of the last message.
    last: usize,
}

/// A word whose message is updated.
#[derive(Debug)]
pub(crate) struct WordUpdate<'a> {
    pub(crate) x: u32,
    /// Number of entries of the current message of the word.
    pub(crate) old_entries: usize,
    /// First cell of the word's row of phi.
    pub(crate) cell: u32,
    /// List of deltas to which the cells of the word belong.
    pub(crate) deltas: &'a mut DeltaList,
}

/// Maximum factor of the prior mass in over-relaxed messages, where the topics of a document have
/// the factor 1 + c. More exploration keeps more topics in use, which takes time and hardly
/// improves them.
pub(super) const EXPLORATION: f32 = 2.0;

/// A word of a batch whose message is computed and quantized.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuantizedWord<'a> {
    /// The word's row of phi.
    pub(crate) row: PhiRow<'a>,
    /// The word's prior mass.
    pub(crate) prior_mass: f32,
    /// How often the word's own units are subtracted: as often as it occurs, or not at all.
    pub(crate) taken: f32,
    /// How far the message moves beyond z, as a multiple of the distance from the old message to z;
    /// greater than -1.
    pub(crate) over_relaxation: f32,
    /// Start of the running sum, in [0, 1).
    pub(crate) u: f32,
}

impl QuantizedWord<'_> {
    /// A word without topics.
    pub(crate) const NONE: QuantizedWord<'static> =
        QuantizedWord { row: PhiRow::Narrow(&[]), prior_mass: 0.0, taken: 0.0, over_relaxation: 0.0, u: 0.0 };
}

/// Parameters of a message update.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpdateParams {
    pub(crate) beta: f32,
    /// Units of a quantum.
    pub(crate) quantum: u16,
    /// Whether quanta can go to topics that the document does not use.
    pub(crate) open: bool,
}

/// The sums of an updated message.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct WeighedMessage {
    /// Sum of (row + beta)*inverse*(t + alpha) over all topics, for the log-likelihood.
    pub(crate) full: f32,
    /// Sum to be quantized: z over the topics in use and, if quanta can go to other topics, the
    /// prior mass.
    pub(crate) total: f32,
    /// Number of quanta that fell on topics in use.
    pub(crate) quanta: u16,
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
            used: Box::new([0; MAX_COLUMNS]),
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
        self.used[..lanes].fill(0);
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
    pub(crate) fn used(&self) -> impl Iterator<Item = bool> {
        (0..self.length).map(|slot| self.used[slot / LANES] >> (slot % LANES) & 1 != 0)
    }

    /// Returns the new messages so far, and the index at which the last one starts.
    #[inline(always)]
    pub(crate) fn messages(&self) -> (&[MessageEntry], usize) {
        (&self.messages, self.last)
    }

    /// Adds units in a slot to the last message.
    pub(crate) fn add(&mut self, slot: u16, units: u16, x: u32) {
        *self.t(slot as usize) += x as f32 * f32::from(units);
        self.used[slot as usize / LANES] |= 1 << (slot as usize % LANES);
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
            self.columns[slot / LANES].own[at][slot % LANES] = i32::from(entry.units());
        }
    }
}

/// Computes z of the words of a batch over the topics in use, and quantizes it along its running
/// sum. The words are independent of each other. Each step is done for all of them before the next,
/// since a step consists of operations that wait for each other.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn quantize_messages_of<V: Vector>(
    active: &mut ActiveTopics,
    words: &[QuantizedWord<'_>],
    params: UpdateParams,
    all: &mut [WeighedMessage; WORDS_PER_BATCH],
) {
    assert!(words.iter().all(|word| word.row.len() >= active.end), "the row is too short");
    let mut elsewhere = [0f32; WORDS_PER_BATCH];
    active.weighed = active.length;
    for (at, ((word, weighed), elsewhere)) in words.iter().zip(&mut *all).zip(&mut elsewhere).enumerate() {
        // SAFETY: promised by the caller. Every topic is below `end` (see `push`), hence inside the
        // row.
        let (sum, full, own) = unsafe {
            let short = word.row.len() <= V::MAX_SHORT_ROW;
            let params = (params.beta, word.taken);
            match word.row {
                PhiRow::Narrow(row) if short => message_cells(V::short_narrow(row), active, at, params),
                PhiRow::Narrow(row) => message_cells::<V, _>(LongRow(row.as_ptr()), active, at, params),
                PhiRow::Wide(row) if short => message_cells(V::short_wide(row), active, at, params),
                PhiRow::Wide(row) => message_cells::<V, _>(LongRow(row.as_ptr()), active, at, params),
            }
        };
        *elsewhere = if params.open { (word.prior_mass - own).max(0.0) } else { 0.0 };
        (weighed.full, weighed.total) = (full + word.prior_mass, sum + *elsewhere);
    }
    let n = active.lanes();
    let columns = &mut active.columns[..n];
    for (at, ((word, weighed), elsewhere)) in words.iter().zip(&mut *all).zip(elsewhere).enumerate() {
        if word.over_relaxation != 0.0 && weighed.is_usable() {
            let scale = UNITS_PER_TOKEN as f32 / weighed.total;
            let further = (1.0 + word.over_relaxation) * scale;
            // SAFETY: promised by the caller.
            let sum = unsafe { over_relax::<V>(columns, at, further, word.over_relaxation) };
            weighed.total = sum + elsewhere * further.min(EXPLORATION * scale);
        }
    }
    let mut cuts = [(0f32, 0f32); WORDS_PER_BATCH];
    for ((word, weighed), cuts) in words.iter().zip(&*all).zip(&mut cuts) {
        let quanta = f32::from(UNITS_PER_TOKEN as u16 / params.quantum);
        *cuts = (if weighed.is_usable() { quanta / weighed.total } else { 0.0 }, word.u);
    }
    let context = (active.length, params.quantum);
    // SAFETY: promised by the caller.
    let quanta = unsafe {
        if words.len() == WORDS_PER_BATCH {
            cut_running_sums::<V, WORDS_PER_BATCH>(columns, 0, cuts, context)
        } else {
            let mut quanta = [0; WORDS_PER_BATCH];
            for (at, (quanta, &cuts)) in quanta.iter_mut().zip(&cuts).take(words.len()).enumerate() {
                [*quanta] = cut_running_sums::<V, 1>(columns, at, [cuts], context);
            }
            quanta
        }
    };
    all.iter_mut().zip(quanta).for_each(|(weighed, quanta)| weighed.quanta = quanta);
}

/// Over-relaxes the message of word `at`, given the factor that scales z. Returns the sum of the
/// result.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn over_relax<V: Vector>(
    columns: &mut [TopicColumn],
    at: usize,
    further: f32,
    over_relaxation: f32,
) -> f32 {
    // SAFETY: promised by the caller.
    unsafe {
        let (factor, back, zero) = (V::splat(further), V::splat(-over_relaxation), V::zero());
        let mut sum = V::zero();
        for column in columns {
            let z = V::load(&column.z[at]).mul(factor);
            let z = V::from_integers(V::Integers::load(&column.own[at])).fma(back, z).max(zero);
            z.store(&mut column.z[at]);
            sum = sum.add(z);
        }
        sum.sum()
    }
}

/// Cuts the running sums of z of N words, from word `first` of the batch on, at the whole numbers.
/// `cuts` has for every word the factor of z and the start u of the sum. Sets the units that each
/// of the `length` topics receives. Returns the number of quanta that they receive together.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn cut_running_sums<V: Vector, const N: usize>(
    columns: &mut [TopicColumn],
    first: usize,
    cuts: [(f32, f32); N],
    (length, quantum): (usize, u16),
) -> [u16; N] {
    let bits = quantum.trailing_zeros();
    let mut last = [[0i32; LANES]; N];
    let (end, lane) = (columns.len().saturating_sub(1), length.wrapping_sub(1) % LANES);
    // SAFETY: promised by the caller.
    unsafe {
        let most = V::Integers::splat(i32::from(UNITS_PER_TOKEN as u16 / quantum));
        let factors = cuts.map(|(factor, _)| V::splat(factor));
        let mut sums = cuts.map(|(_, u)| V::splat(u));
        let mut before = [V::Integers::splat(0); N];
        for (i, column) in columns.iter_mut().enumerate() {
            let running: [V; N] = std::array::from_fn(|at| {
                V::load(&column.z[first + at]).mul(factors[at]).running_sum().add(sums[at])
            });
            let mut now = running.map(|running| running.truncate().min(most));
            // Sums in another order differ in the last bit, so a sum may seem to fall.
            let falls = (0..N).fold(0, |all, at| all | now[at].moved_up(before[at]).gt_mask(now[at]));
            if falls != 0 {
                for (now, before) in now.iter_mut().zip(before) {
                    *now = running_max::<V>(*now, before);
                }
            }
            for at in 0..N {
                let mut units = now[at].sub(now[at].moved_up(before[at])).shift_left(bits);
                if i == end {
                    // For the same reason, it may seem to rise past the last topic.
                    units = units.keep(u32::MAX >> (31 - lane));
                    now[at].store(&mut last[at]);
                }
                units.store(&mut column.new[first + at]);
            }
            (sums, before) = (running.map(|running| running.splat_last()), now);
        }
    }
    last.map(|last| last[lane] as u16)
}

/// Returns the largest of the lanes up to each lane and of the last lane of `before`.
#[cold]
#[inline(never)]
unsafe fn running_max<V: Vector>(lanes: V::Integers, before: V::Integers) -> V::Integers {
    let (mut values, mut max) = ([0; LANES], [0; LANES]);
    // SAFETY: promised by the caller.
    unsafe {
        before.store(&mut max);
        lanes.store(&mut values);
        let mut max = max[LANES - 1];
        for value in &mut values {
            max = max.max(*value);
            *value = max;
        }
        V::Integers::load(&values)
    }
}

/// Sets z. Returns the sum of z, the sum `full`, and the word's own part of the prior mass.
#[inline(always)]
unsafe fn message_cells<V: Vector, R: RowReader<V>>(
    row: R,
    active: &mut ActiveTopics,
    at: usize,
    (beta, taken): (f32, f32),
) -> (f32, f32, f32) {
    let n = active.lanes();
    // SAFETY: see `quantize_messages_of`.
    unsafe {
        let (beta, taken, zero) = (V::splat(beta), V::splat(taken), V::zero());
        let (mut s, mut full, mut own_mass) = (V::zero(), V::zero(), V::zero());
        for column in &mut active.columns[..n] {
            let (t, own) =
                (V::load(&column.t), V::from_integers(V::Integers::load(&column.own[at])).mul(taken));
            let row = row.read(&column.topics);
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

/// Replaces the old message of word `at` of the batch by the quantized one, and appends the
/// differences to the deltas.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn commit_message_of<V: Vector>(active: &mut ActiveTopics, at: usize, word: &mut WordUpdate<'_>) {
    const MAX_ENTRIES: usize = UNITS_PER_TOKEN as usize;
    let ActiveTopics { columns, used, messages, weighed, last, .. } = active;
    *last = messages.len();
    // Sixteen more than a message can have, since all lanes of a vector are written at once.
    if messages.capacity() - messages.len() < MAX_ENTRIES + LANES {
        // Grow by a quarter, for documents with very many words.
        messages.reserve_exact((MAX_ENTRIES + LANES).max(messages.len() / 4));
    }
    let mut deltas = word.deltas.reserve(word.cell, word.x, word.old_entries + MAX_ENTRIES);
    let entries = messages.spare_capacity_mut();
    let mut made = 0usize;
    // SAFETY: promised by the caller. A message never has more entries than units, so there is
    // space for sixteen more. This many entries are written, after the existing ones.
    unsafe {
        let (share, zero, nothing) = (V::splat(word.x as f32), V::zero(), V::Integers::splat(0));
        let lanes = V::Integers::load(&LANE_NUMBERS).shift_left(UNIT_BITS);
        let n = weighed.div_ceil(LANES);
        for (i, (column, used)) in columns[..n].iter_mut().zip(&mut used[..n]).enumerate() {
            let (new, old) = (V::Integers::load(&column.new[at]), V::Integers::load(&column.own[at]));
            let change = new.sub(old);
            let changed = change.gt_mask(nothing) | nothing.gt_mask(change);
            let t = V::load(&column.t).add(share.mul(V::from_integers(change)));
            t.max(zero).store(&mut column.t);
            nothing.store(&mut column.own[at]);
            deltas.push_lanes::<V>(&column.topics, change, changed);
            let present = new.gt_mask(nothing);
            *used |= present;
            let first = V::Integers::splat(((i as u32 * LANES as u32) << UNIT_BITS).cast_signed() - 1);
            new.add(lanes).add(first).compress_u16(present, entries[made..][..LANES].as_mut_ptr().cast());
            made += present.count_ones() as usize;
        }
        let (length, filled) = (messages.len() + made, deltas.filled);
        messages.set_len(length);
        word.deltas.commit(filled);
    }
}

/// The numbers of the lanes.
const LANE_NUMBERS: [i32; LANES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

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
        /// Computes the messages of the words of a batch over the topics in use, and quantizes
        /// them.
        pub(crate) fn quantize_messages(active: &mut ActiveTopics, words: &[QuantizedWord<'_>], params: UpdateParams, all: &mut [WeighedMessage; WORDS_PER_BATCH]) = quantize_messages_of
    }

    kernel! {
        /// Replaces the message of word `at` of the batch by the one that was quantized, and
        /// appends the differences to the deltas.
        pub(crate) fn commit_message(active: &mut ActiveTopics, at: usize, word: &mut WordUpdate<'_>) = commit_message_of
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
