//! Tiny belief propagation in blocks, own shares excluded, over the topics that a document uses.
//!
//! TBP leaves the message of (w, d) inside theta_d and phi_w when it renews it, and overfits. BP takes it out, and must
//! store K numbers per non-zero for that. Here it is recomputed, and a part of it taken out:
//! ```text
//! m[k]  = p[k]*t[k]/s                           TBP's message, from what is in memory
//! mu[k] = p[k]*t[k]*f[k] / sum                  f = 1 - e*x*m/t - e*v_w*x*m/b, not below FLOOR
//! with b = phi[w,:]+beta, inverse = 1/(lambda+W*beta), p = b*inverse, t = theta+alpha, s = sum p*t
//! ```
//! x*m/t and x*m/b are the shares of theta and of phi that are the word's own; e = 1/2; v_w is how much of a word's last
//! messages is still in phi when their block comes again (see `shares`).
//!
//! A document keeps the topics with theta above [`THRESHOLD`] alphas, at most [`Active::cap`] of them; the others get no
//! message. So a document costs (non-zeros) x (topics in use), whatever K is.
//!
//! A block goes word by word: each word makes the messages to its documents, adds them up for itself,
//! ```text
//! phi[w,:] <- phi[w,:]*(1 - c/n_w) + counts[w,:]       c = tokens of w in the block
//! ```
//! and for its documents, whose theta they become when all words are done. phi is kept as `scale[w] * row[w,:]`, so that the
//! first factor costs one multiplication. lambda is the sum of theta:
//! `lambda[k] += theta_new[k] - theta_old[k]`. (That of phi fades by blocks, and is the same in the end.)
//!
//! Legend: K topics, W words; x a count; n_w tokens of a word; `phi[W,K]`, `theta[D,K]` counts; `lambda[K]` column sums.

use super::document::NotANumber;
use crate::corpus;
use crate::kernel::{
    Bad, CheckedPlaces, Documents, Kernel, LANES, Lanes, Logarithm, Places, Whole, flat, flat_mut,
    flat_places, flat_places_mut,
};
use crate::topics::{Topics, stride};

/// e: how much of the own share is taken out.
pub(crate) const EXCLUDE: f32 = 0.5;
/// In units of alpha: a topic with less of a document's tokens than that is dropped from it.
pub(crate) const THRESHOLD: f32 = 2.0;
/// How often a new document is gone through with all topics before its own are chosen.
const ROUNDS: usize = 4;

/// How many topics a document may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Active {
    /// As many as it needs: half its tokens, 32 to 128, and fewer as they fall below two alphas.
    #[default]
    Auto,
    /// All of them, always.
    All,
    /// So many, and fewer as they fall below two alphas.
    AtMost(u32),
}

impl Active {
    /// The most topics for a document of so many tokens.
    pub(crate) fn cap(self, tokens: u64, topics: u32) -> usize {
        let most = match self {
            Active::Auto => (tokens / 2).next_multiple_of(LANES as u64).clamp(32, 128) as usize,
            Active::All => usize::MAX,
            Active::AtMost(n) => (n as usize).max(1),
        };
        most.min(topics as usize)
    }

    fn threshold(self) -> f32 {
        if self == Active::All { 0.0 } else { THRESHOLD }
    }
}

/// What is the same for a whole block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constants<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) topics: &'a Topics,
    pub(crate) scales: &'a [f32],
    /// 1 / (lambda + W*beta).
    pub(crate) inverse: &'a [Lanes],
    /// e, or 0 for plain TBP.
    pub(crate) exclude: f32,
    pub(crate) active: Active,
    /// Whether the documents come for the first time, and have no part in lambda yet.
    pub(crate) new: bool,
}

/// A document's topics in use and their counts; the first `length` of each are meant.
#[derive(Debug)]
pub(crate) struct List<'a> {
    pub(crate) topics: &'a mut [u32],
    pub(crate) counts: &'a mut [f32],
    pub(crate) length: &'a mut u32,
}

/// Scratch rows of one thread.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    t: Vec<Lanes>,
    sums: Vec<Lanes>,
    spare: Vec<Lanes>,
    chosen: Vec<u32>,
}

impl Scratch {
    pub(crate) fn new(topics: u32) -> Scratch {
        let row = vec![Lanes::ZERO; stride(topics)];
        Scratch {
            t: row.clone(),
            spare: [&row[..], &row[..], &row[..]].concat(),
            sums: row,
            chosen: Vec::new(),
        }
    }

    /// Puts into `chosen` which of the first n `sums` are to stay: those above the threshold, and the largest where that is
    /// too many. At least one stays. `topics` names them, in rising order; they are all topics where it is empty.
    fn choose(&mut self, constants: Constants<'_>, topics: &[u32], n: usize, cap: usize) {
        let sums = flat(&self.sums);
        let alpha = flat(&constants.topics.alpha);
        let threshold = constants.active.threshold();
        self.chosen.clear();
        self.chosen.extend((0..n as u32).filter(|&i| {
            let k = topics.get(i as usize).copied().unwrap_or(i);
            sums[i as usize] >= threshold * alpha[k as usize]
        }));
        // The largest first; of equals that with the lower number.
        let order = |a: &u32, b: &u32| sums[*b as usize].total_cmp(&sums[*a as usize]).then(a.cmp(b));
        if self.chosen.is_empty() {
            self.chosen.extend((0..n as u32).min_by(order));
        }
        if self.chosen.len() > cap {
            self.chosen.select_nth_unstable_by(cap - 1, order);
            self.chosen.truncate(cap);
            self.chosen.sort_unstable();
        }
    }
}

/// The first topics of a document, from the topics there are so far: `theta[K]` is gone through a few times with all of
/// them, and the strongest are its list.
pub(crate) fn first_list(
    constants: Constants<'_>,
    document: corpus::Document<'_>,
    theta: &mut [f32],
    list: &mut List<'_>,
    scratch: &mut Scratch,
) -> Result<(), NotANumber> {
    let Constants { kernel, topics, scales, inverse, exclude, .. } = constants;
    let k = theta.len();
    for _ in 0..ROUNDS {
        for ((t, &theta), &alpha) in flat_mut(&mut scratch.t).iter_mut().zip(&*theta).zip(flat(&topics.alpha))
        {
            *t = theta + alpha;
        }
        let whole = Whole {
            words: document.words,
            counts: document.counts,
            rows: topics.phi.all_rows(),
            scales,
            beta: topics.beta,
            exclude,
            t: &scratch.t,
            inverse,
        };
        kernel.whole(&whole, &mut scratch.sums, &mut scratch.spare).map_err(NotANumber)?;
        theta.copy_from_slice(&flat(&scratch.sums)[..k]);
    }
    scratch.choose(constants, &[], k, list.topics.len());
    for ((topic, count), &chosen) in list.topics.iter_mut().zip(&mut *list.counts).zip(&scratch.chosen) {
        *topic = chosen;
        *count = theta[chosen as usize];
    }
    *list.length = scratch.chosen.len() as u32;
    Ok(())
}

/// Opens a document for its words, with long rows: sets its lanes of places, t and inverse. Padding weighs nothing.
pub(crate) fn open_long(
    constants: Constants<'_>,
    (topics, counts): (&[u32], &[f32]),
    places: &mut [Places],
    (t, inverses): (&mut [Lanes], &mut [Lanes]),
) {
    let (alpha, inverse) = (flat(&constants.topics.alpha), flat(constants.inverse));
    let (places, t, inverses) = (flat_places_mut(places), flat_mut(t), flat_mut(inverses));
    for (i, ((place, t), own)) in places.iter_mut().zip(t).zip(inverses).enumerate() {
        let Some((&k, &count)) = topics.get(i).zip(counts.get(i)) else {
            (*place, *t, *own) = (0, 0.0, 0.0);
            continue;
        };
        (*place, *t, *own) = (k, count + alpha[k as usize], inverse[k as usize]);
    }
}

/// The same with short rows: sets `t[K]`, 0 for topics that are not in use.
pub(crate) fn open_short(constants: Constants<'_>, (topics, counts): (&[u32], &[f32]), t: &mut [Lanes]) {
    let alpha = flat(&constants.topics.alpha);
    t.fill(Lanes::ZERO);
    for (&k, &count) in topics.iter().zip(counts) {
        flat_mut(t)[k as usize] = count + alpha[k as usize];
    }
}

/// Closes a document when its words are done: what they have added up, in parts, is its new theta. `parts` have a number
/// for each topic of the list, or for all K with short rows. Adds to `lambda[K]` what theta has changed by.
pub(crate) fn close<'p>(
    constants: Constants<'_>,
    tokens: u64,
    list: &mut List<'_>,
    (parts, short): (impl Iterator<Item = &'p [Lanes]>, bool),
    lambda: &mut [f64],
    scratch: &mut Scratch,
) -> Result<(), NotANumber> {
    let length = *list.length as usize;
    let (topics, counts) = (&mut list.topics[..length], &mut list.counts[..length]);
    let lanes = if short { stride(constants.topics.count) } else { length.div_ceil(LANES) };
    let total = if short { &mut scratch.spare[..lanes] } else { &mut scratch.sums[..lanes] };
    total.fill(Lanes::ZERO);
    for part in parts {
        for (sum, &more) in flat_mut(total).iter_mut().zip(flat(part)) {
            *sum += more;
        }
    }
    if short {
        let (sums, all) = (flat_mut(&mut scratch.sums), flat(&scratch.spare));
        for (sum, &k) in sums.iter_mut().zip(topics.iter()) {
            *sum = all[k as usize];
        }
    }
    if !constants.new {
        for (&k, &count) in topics.iter().zip(&*counts) {
            lambda[k as usize] -= f64::from(count);
        }
    }
    scratch.choose(constants, topics, length, constants.active.cap(tokens, constants.topics.count));
    let sums = flat(&scratch.sums);
    let kept: f64 = scratch.chosen.iter().map(|&i| f64::from(sums[i as usize])).sum();
    let scale = (tokens as f64 / kept) as f32;
    if !scale.is_finite() {
        return Err(NotANumber(scale));
    }
    for (to, &i) in scratch.chosen.iter().enumerate() {
        topics[to] = topics[i as usize];
        counts[to] = sums[i as usize] * scale;
        lambda[topics[to] as usize] += f64::from(counts[to]);
    }
    *list.length = scratch.chosen.len() as u32;
    Ok(())
}

/// A word at work: its row of phi and its scale, its uses in the block, and 1 - c/n_w.
#[derive(Debug)]
pub(crate) struct Word<'a> {
    pub(crate) row: &'a mut [Lanes],
    pub(crate) scale: &'a mut f32,
    pub(crate) beta: f32,
    pub(crate) exclude: (f32, f32),
    /// (document, non-zero).
    pub(crate) uses: &'a [(u32, u32)],
    /// x of every non-zero.
    pub(crate) counts: &'a [u32],
    pub(crate) keep: f32,
}

/// What a thread that goes through words needs.
#[derive(Debug, Clone)]
pub(crate) struct WordScratch {
    gained: Vec<Lanes>,
    spare: Vec<Lanes>,
}

impl WordScratch {
    pub(crate) fn new(topics: u32) -> WordScratch {
        let row = vec![Lanes::ZERO; stride(topics)];
        WordScratch { spare: [&row[..], &row[..], &row[..]].concat(), gained: row }
    }
}

impl Word<'_> {
    fn view(&self) -> crate::kernel::Word<'_> {
        crate::kernel::Word {
            row: self.row,
            scale: *self.scale,
            beta: self.beta,
            exclude: self.exclude,
            uses: self.uses,
            counts: self.counts,
        }
    }

    /// What a block leaves of the row. Returns the factor for what is added.
    fn fade(&mut self) -> f32 {
        /// A scale below this is multiplied out, before products of it leave the range of 32-bit floats.
        const LEAST: f32 = 1e-12;
        *self.scale *= self.keep;
        if *self.scale < LEAST {
            let left = *self.scale;
            for phi in flat_mut(self.row) {
                *phi *= left;
            }
            *self.scale = 1.0;
        }
        1.0 / *self.scale
    }

    /// Makes the messages, adds them to `sums` of the documents, and renews the row; rows are short.
    pub(crate) fn renew_short(
        mut self,
        kernel: Kernel,
        documents: &Documents<'_>,
        sums: &mut [Lanes],
        scratch: &mut WordScratch,
        log: &mut Logarithm,
    ) -> Result<(), Bad> {
        kernel.short(&self.view(), documents, sums, &mut scratch.gained, log)?;
        let factor = self.fade();
        kernel.settle(flat_mut(self.row), flat_mut(&mut scratch.gained), factor);
        Ok(())
    }

    /// The same with long rows.
    pub(crate) fn renew_long(
        mut self,
        kernel: Kernel,
        (documents, checked): (&Documents<'_>, &CheckedPlaces<'_>),
        sums: &mut [Lanes],
        scratch: &mut WordScratch,
        log: &mut Logarithm,
    ) -> Result<(), Bad> {
        let gained = flat_mut(&mut scratch.gained);
        let touched = kernel.long(&self.view(), checked, (sums, gained), &mut scratch.spare, log)?;
        let factor = self.fade();
        let row = flat_mut(self.row);
        // Either way gives the same bits.
        if touched * 2 > row.len() {
            kernel.settle(row, gained, factor);
            return Ok(());
        }
        for &(d, _) in self.uses {
            let slot = documents.slots[d as usize];
            for &k in &flat_places(&documents.places[slot.at..])[..slot.length] {
                row[k as usize] += gained[k as usize] * factor;
                gained[k as usize] = 0.0;
            }
        }
        Ok(())
    }
}

/// v_w: how much of a word's last messages from a block is in phi when the block comes again. Each block in between has
/// multiplied phi by 1 - c/n_w; the passes before left their part too. `faded` is the product of all these factors of a
/// pass, without those that are 0.
pub(crate) fn share(faded: f64) -> f32 {
    (faded / (1.0 - 0.97 * faded)).min(1.0) as f32
}
