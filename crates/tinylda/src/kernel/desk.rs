//! A document's topics in use, laid out for the kernels, and the message of a word to it: the heart of `tbp`.
//!
//! Legend: K topics; for the n topics in use of a document `t[n]` its units, `inverse[n]` = 1/(lambda + W*beta) and
//! `own[n]` what the word at work has in them; `row[K]` the word's units. For a word at work:
//! ```text
//! z = (row - own + beta)*inverse*(t - own)              full = sum (row + beta)*inverse*t
//! ```
//! The message is z made whole: cut at u, u+1, u+2, … along its running sum, so that it is right on average over u and
//! adds up exactly.

use super::vector::{Count, Vector};
use super::{LANES, Lanes, Places, prefetch_line};
use crate::messages::{MOST_TOPICS, Part, UNITS};

/// A change of a number of phi: `cell` counts from the start of a group of rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Change {
    pub(crate) cell: u32,
    pub(crate) units: i32,
}

/// A word's row of phi, in units.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Row<'a> {
    /// Of a word with few tokens.
    Narrow(&'a [u16]),
    /// Of any other; no number reaches 2^31.
    Wide(&'a [u32]),
}

impl Row<'_> {
    /// Asks for the row to be brought to the cache, ahead of its use.
    #[inline]
    pub(crate) fn prefetch(self) {
        /// Longer rows are not read whole, and would push others out.
        const MOST: usize = 32;
        const LINE: usize = 64;
        match self {
            Row::Narrow(row) => row.iter().step_by(LINE / 2).take(MOST).for_each(prefetch_line),
            Row::Wide(row) => row.iter().step_by(LINE / 4).take(MOST).for_each(prefetch_line),
        }
    }

    #[inline(always)]
    fn len(self) -> usize {
        match self {
            Row::Narrow(row) => row.len(),
            Row::Wide(row) => row.len(),
        }
    }
}

const MOST_LANES: usize = MOST_TOPICS / LANES;

/// How many words of a document are at work together: they do not see each other's new messages, and so the processor
/// need not wait for one to begin the next.
pub(crate) const TOGETHER: usize = 4;

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
    /// For every word at work.
    own: [Lanes; TOGETHER],
    z: [Lanes; TOGETHER],
    /// The running sum of z in grains, without fractions.
    steps: [[i32; LANES]; TOGETHER],
}

impl Column {
    const ZERO: Column = Column {
        places: Places([0; LANES]),
        t: Lanes::ZERO,
        inverse: Lanes::ZERO,
        factors: Lanes::ZERO,
        own: [Lanes::ZERO; TOGETHER],
        z: [Lanes::ZERO; TOGETHER],
        steps: [[0; LANES]; TOGETHER],
    };
}

/// See the top. Lanes past the topics in use have inverse 0, and so no weight.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    /// Every place is below this.
    end: usize,
    length: usize,
    columns: Box<[Column; MOST_LANES]>,
    /// So many topics have a z: others may have come since.
    weighed: usize,
    /// In which lanes of each column the steps rise, for every word at work.
    risen: Box<[[u16; MOST_LANES]; TOGETHER]>,
    /// Which places are in a message.
    used: Box<[bool; MOST_TOPICS]>,
    /// The messages made so far.
    messages: Vec<Part>,
    /// Where the last of them begins.
    last: usize,
}

/// A word at work.
#[derive(Debug)]
pub(crate) struct Word<'a> {
    pub(crate) x: u32,
    /// Its message so far.
    pub(crate) old: &'a [Part],
    /// The cell of phi that its row starts with, and the changes of such cells.
    pub(crate) cell: u32,
    pub(crate) changes: &'a mut Vec<Change>,
}

/// How messages are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) beta: f32,
    /// Units of a grain.
    pub(crate) grain: u16,
    /// Whether grains can go to topics that the document does not use.
    pub(crate) open: bool,
}

/// A message, weighed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weighed {
    /// See the top; with the topics that are not in use.
    pub(crate) full: f32,
    /// What is cut: the sum of z and of what lies elsewhere.
    pub(crate) total: f32,
}

impl Weighed {
    /// Whether there is enough to tell where the word belongs.
    fn usable(self) -> bool {
        /// Below this the factor that makes it whole leaves the range of 32-bit floats.
        const LEAST: f32 = 1e-30;
        self.total > LEAST && self.total.is_finite()
    }
}

impl Desk {
    /// A desk for rows of `topics` numbers.
    pub(crate) fn new(topics: u32) -> Desk {
        // On the heap from the start: it is large for a stack.
        let Ok(columns) = vec![Column::ZERO; MOST_LANES].into_boxed_slice().try_into() else {
            unreachable!("so many were made")
        };
        Desk {
            end: topics as usize,
            length: 0,
            columns,
            weighed: 0,
            risen: Box::new([[0; MOST_LANES]; TOGETHER]),
            used: Box::new([false; MOST_TOPICS]),
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

    /// One more topic in use, without units yet. Returns its place on the desk.
    pub(crate) fn push(&mut self, topic: u32, inverse: f32, factor: f32) -> usize {
        assert!((topic as usize) < self.end && self.length < MOST_TOPICS, "a topic too many");
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
    pub(crate) fn messages(&self) -> (&[Part], usize) {
        (&self.messages, self.last)
    }

    /// Adds units at a place to the message that was made last.
    pub(crate) fn add(&mut self, place: u16, units: u16, x: u32) {
        *self.t(place as usize) += x as f32 * f32::from(units);
        self.used[place as usize] = true;
        match self.messages[self.last..].iter_mut().find(|part| part.place() == place as usize) {
            Some(part) => *part = Part::new(place, part.units() + units),
            None => self.messages.push(Part::new(place, units)),
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
    pub(crate) fn note(&mut self, at: usize, old: &[Part], x: u32) {
        for part in old {
            let place = part.place();
            self.columns[place / LANES].own[at].0[place % LANES] = x as f32 * f32::from(part.units());
        }
    }
}

/// Weighs the topics in use for the word at work number `at`, and cuts what comes out along its running sum, from u on.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
pub(super) unsafe fn weigh<V: Vector>(
    desk: &mut Desk,
    at: usize,
    (row, weight): (Row<'_>, f32),
    manner: Manner,
    u: f32,
) -> Weighed {
    assert!(row.len() >= desk.end && at < TOGETHER, "a topic outside the row");
    // SAFETY: promised by the caller; and every place is below `end` (see `push`), so inside the row.
    let (sum, full, own) = unsafe {
        match row {
            Row::Narrow(row) => weigh_cells::<V, u16>(row, desk, at, manner.beta),
            Row::Wide(row) => weigh_cells::<V, u32>(row, desk, at, manner.beta),
        }
    };
    let elsewhere = if manner.open { (weight - own).max(0.0) } else { 0.0 };
    let weighed = Weighed { full: full + weight, total: sum + elsewhere };
    let factor = if weighed.usable() { f32::from(UNITS as u16 / manner.grain) / weighed.total } else { 0.0 };
    let n = desk.lanes();
    let Desk { columns, risen, .. } = desk;
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
    desk: &mut Desk,
    at: usize,
    beta: f32,
) -> (f32, f32, f32) {
    let n = desk.lanes();
    desk.weighed = desk.length;
    // SAFETY: see `weigh`.
    unsafe {
        let (beta, zero) = (V::splat(beta), V::zero());
        let (mut s, mut full, mut own_weight) = (V::zero(), V::zero(), V::zero());
        for column in &mut desk.columns[..n] {
            let (t, own) = (V::load(&column.t), V::load(&column.own[at]));
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

impl Desk {
    /// Takes the old message of a word at work out, and enters the new one as it was cut. Returns how many grains are left:
    /// they belong to topics that are not in use, or were lost in rounding.
    #[inline(always)]
    pub(crate) fn enter(&mut self, at: usize, word: &mut Word<'_>, grain: u16, message: Weighed) -> u16 {
        const MOST: usize = UNITS as usize;
        self.last = self.messages.len();
        self.messages.reserve(MOST);
        word.changes.reserve(word.old.len() + MOST);
        let Desk { columns, used, messages, risen, weighed, .. } = self;
        let changes = word.changes.spare_capacity_mut();
        for (part, change) in word.old.iter().zip(&mut *changes) {
            let (place, units) = (part.place(), word.x * u32::from(part.units()));
            let (column, lane) = (&mut columns[place / LANES], place % LANES);
            let left = column.t.0[lane] - units as f32;
            column.t.0[lane] = if left > 0.0 { left } else { 0.0 };
            column.own[at].0[lane] = 0.0;
            change.write(Change { cell: word.cell + column.places.0[lane], units: -units.cast_signed() });
        }
        let changes = &mut changes[word.old.len()..][..MOST];
        let parts = &mut messages.spare_capacity_mut()[..MOST];
        let (mut done, mut made) = (0i32, 0usize);
        let grains = UNITS as u16 / grain;
        let x = word.x * u32::from(grain);
        let share = x as f32;
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
                let place = (four * 64 + lanes.trailing_zeros() as usize) % MOST_TOPICS;
                lanes &= lanes - 1;
                let (column, lane) = (&mut columns[place / LANES], place % LANES);
                let to = column.steps[at][lane].min(i32::from(grains));
                let more = to - done;
                if more > 0 {
                    column.t.0[lane] += share * more as f32;
                    used[place] = true;
                    // There are never more parts than units.
                    parts[made % MOST].write(Part::new(place as u16, more as u16 * grain));
                    let cell = word.cell + column.places.0[lane];
                    changes[made % MOST].write(Change { cell, units: x.cast_signed() * more });
                    made += 1;
                    done = to;
                }
            }
        }
        let (messages_length, changes_length) =
            (messages.len() + made, word.changes.len() + word.old.len() + made);
        // SAFETY: so many were written above, behind those there were, and room was made for them.
        unsafe {
            messages.set_len(messages_length);
            word.changes.set_len(changes_length);
        }
        grains - done as u16
    }
}

/// `weights[K]` = (row + beta) * `factors[K]`. Returns the sum of every [`Lanes`] in `sums`, and theirs.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
pub(super) unsafe fn weights<V: Vector>(
    row: Row<'_>,
    factors: &[Lanes],
    beta: f32,
    weights: &mut [Lanes],
    sums: &mut Vec<f32>,
) -> f32 {
    // SAFETY: promised by the caller.
    unsafe {
        match row {
            Row::Narrow(row) => weights_cells::<V, u16>(row, factors, beta, weights, sums),
            Row::Wide(row) => weights_cells::<V, u32>(row, factors, beta, weights, sums),
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

/// A document with all topics, phi held fixed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<'a> {
    pub(crate) beta: f32,
    /// theta + alpha.
    pub(crate) t: &'a [Lanes],
    /// 1 / (lambda + W*beta).
    pub(crate) inverse: &'a [Lanes],
}

/// Adds a word's message over all topics to `sums[K]`, half of its own share in theta taken out:
/// ```text
/// p = (row + beta)*inverse     z = p*t     s = sum z     f = max(1 - x/2/s * p, 1/50)     sums += x * z*f / sum(z*f)
/// ```
/// `spare` has room for 2 K numbers. Returns s.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
pub(super) unsafe fn whole<V: Vector>(
    row: Row<'_>,
    x: f32,
    document: Whole<'_>,
    sums: &mut [Lanes],
    spare: &mut [Lanes],
) -> f32 {
    // SAFETY: promised by the caller.
    unsafe {
        match row {
            Row::Narrow(row) => whole_cells::<V, u16>(row, x, document, sums, spare),
            Row::Wide(row) => whole_cells::<V, u32>(row, x, document, sums, spare),
        }
    }
}

#[inline(always)]
unsafe fn whole_cells<V: Vector, C: Count>(
    row: &[C],
    x: f32,
    document: Whole<'_>,
    sums: &mut [Lanes],
    spare: &mut [Lanes],
) -> f32 {
    let Whole { beta, t, inverse } = document;
    let n = t.len();
    let (z, p) = spare[..2 * n].split_at_mut(n);
    let (sums, inverse) = (&mut sums[..n], &inverse[..n]);
    let (row, _) = row.as_chunks::<LANES>();
    let row = &row[..n];
    // SAFETY: see `whole`.
    unsafe {
        let beta = V::splat(beta);
        let mut s = V::zero();
        for i in 0..n {
            let p_i = C::widen::<V>(&row[i]).add(beta).mul(V::load(&inverse[i]));
            let z_i = p_i.mul(V::load(&t[i]));
            s = s.add(z_i);
            p_i.store(&mut p[i]);
            z_i.store(&mut z[i]);
        }
        let s = s.sum();
        let (one, floor, own) = (V::splat(1.0), V::splat(0.02), V::splat(-0.5 * x / s));
        let mut rest = V::zero();
        for i in 0..n {
            let z_i = V::load(&z[i]).mul(V::load(&p[i]).fma(own, one).max(floor));
            rest = rest.add(z_i);
            z_i.store(&mut z[i]);
        }
        let factor = V::splat(x / rest.sum());
        for i in 0..n {
            V::load(&z[i]).fma(factor, V::load(&sums[i])).store(&mut sums[i]);
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
pub(super) unsafe fn multiply_adds<V: Vector>(factors: &[Lanes], repeat: u32) -> f32 {
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
