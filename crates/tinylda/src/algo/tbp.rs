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
//! A block of documents goes in two phases, each output row with one writer and a fixed order of summation: first the
//! documents (they write theta and their messages), then the words (they add the messages up):
//! ```text
//! phi[w,:] <- phi[w,:]*(1 - c/n_w) + counts[w,:]       c = tokens of w in the block
//! ```
//! phi is kept as scale[w] * row[w,:], so that the first factor costs one multiplication.
//! and lambda alike: lambda <- lambda*(1 - n/N) + sum of the block's theta, n = tokens of the block.
//!
//! Legend: K topics, W words; x a count; n_w tokens of a word; `phi[W,K]`, `theta[D,K]` counts; `lambda[K]` column sums.

use super::document::NotANumber;
use crate::corpus;
use crate::kernel::{
    Document, Kernel, LANES, Lanes, Places, Ratio, Short, flat, flat_mut, flat_places, flat_places_mut,
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
    pub(crate) shares: &'a [f32],
    /// 1 / (lambda + W*beta).
    pub(crate) inverse: &'a [Lanes],
    /// beta times that.
    pub(crate) smooth: &'a [Lanes],
    /// e for theta and phi, or 0 for plain TBP.
    pub(crate) exclude: (f32, f32),
    pub(crate) active: Active,
}

/// A document's topics in use and their counts; the first `length` of each are meant.
#[derive(Debug)]
pub(crate) struct List<'a> {
    pub(crate) topics: &'a mut [u32],
    pub(crate) counts: &'a mut [f32],
    pub(crate) length: &'a mut u32,
}

/// What a document leaves for the word phase.
#[derive(Debug)]
pub(crate) enum Visit<'a> {
    /// Short rows: `t[K]`, and what it takes to make each message again.
    Short { t: &'a mut [Lanes], ratios: &'a mut [Ratio] },
    /// Long rows: its topics as they were, and its messages.
    Long { places: &'a mut [Places], messages: &'a mut [Lanes] },
}

/// Scratch rows of one thread.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    t: Vec<Lanes>,
    inverse: Vec<Lanes>,
    smooth: Vec<Lanes>,
    own: Vec<Lanes>,
    sums: Vec<Lanes>,
    spare: Vec<Lanes>,
    chosen: Vec<u32>,
}

impl Scratch {
    pub(crate) fn new(topics: u32) -> Scratch {
        let row = vec![Lanes::ZERO; stride(topics)];
        Scratch {
            t: row.clone(),
            inverse: row.clone(),
            smooth: row.clone(),
            own: row.clone(),
            spare: [&row[..], &row[..]].concat(),
            sums: row,
            chosen: Vec::new(),
        }
    }

    /// Sets the rows for topics at `places` (for all of them, where there are none) with these counts.
    fn prepare(&mut self, constants: Constants<'_>, topics: &[u32], counts: &[f32]) {
        let Constants { topics: model, inverse, .. } = constants;
        let (alpha, inverse, beta) = (flat(&model.alpha), flat(inverse), model.beta);
        let n = counts.len();
        let padded = n.next_multiple_of(LANES);
        let (t, inv) = (&mut flat_mut(&mut self.t)[..padded], &mut flat_mut(&mut self.inverse)[..padded]);
        let (smooth, own) =
            (&mut flat_mut(&mut self.smooth)[..padded], &mut flat_mut(&mut self.own)[..padded]);
        for i in 0..padded {
            // Padding weighs nothing.
            let (weight, inverse) = if i < n {
                let k = topics.get(i).map_or(i, |&k| k as usize);
                (counts[i] + alpha[k], inverse[k])
            } else {
                (0.0, 0.0)
            };
            t[i] = weight;
            inv[i] = inverse;
            smooth[i] = beta * inverse;
            own[i] = weight * inverse;
        }
    }

    fn messages(
        &mut self,
        constants: Constants<'_>,
        document: corpus::Document<'_>,
        (places, n): (&[Places], usize),
        messages: Option<&mut [Lanes]>,
    ) -> Result<f64, NotANumber> {
        let Constants { kernel, topics, scales, shares, exclude, .. } = constants;
        let document = Document {
            words: document.words,
            counts: document.counts,
            rows: topics.phi.all_rows(),
            stride: stride(topics.count),
            scales,
            exclude,
            shares,
            places,
            t: &self.t[..n],
            inverse: &self.inverse[..n],
            smooth: &self.smooth[..n],
            own: &self.own[..n],
        };
        kernel.messages(&document, &mut self.sums, messages, &mut self.spare).map_err(NotANumber)
    }

    /// The messages with short rows; `sums` are put in the order of the list.
    fn short_messages(
        &mut self,
        constants: Constants<'_>,
        document: corpus::Document<'_>,
        (list, counts): (&[u32], &[f32]),
        t: &mut [Lanes],
        ratios: &mut [Ratio],
    ) -> Result<f64, NotANumber> {
        let Constants { kernel, topics, scales, shares, inverse, smooth, exclude, .. } = constants;
        let alpha = flat(&topics.alpha);
        t.fill(Lanes::ZERO);
        self.own.fill(Lanes::ZERO);
        for (&k, &count) in list.iter().zip(counts) {
            let k = k as usize;
            flat_mut(t)[k] = count + alpha[k];
            flat_mut(&mut self.own)[k] = (count + alpha[k]) * flat(inverse)[k];
        }
        let document = Document {
            words: document.words,
            counts: document.counts,
            rows: topics.phi.all_rows(),
            stride: t.len(),
            scales,
            exclude,
            shares,
            places: &[],
            t,
            inverse,
            smooth,
            own: &self.own,
        };
        let log_likelihood = kernel.short_messages(&document, &mut self.spare, ratios).map_err(NotANumber)?;
        let (sums, all) = (flat_mut(&mut self.sums), flat(&self.spare));
        for (sum, &k) in sums.iter_mut().zip(list) {
            *sum = all[k as usize];
        }
        Ok(log_likelihood)
    }

    /// Puts the topics into `chosen` that are to stay: above the threshold, and the largest where that is too many.
    /// At least one stays. `topics` names them, in rising order; they are all topics where it is empty.
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
    list: List<'_>,
    scratch: &mut Scratch,
) -> Result<(), NotANumber> {
    let (k, n) = (theta.len(), stride(constants.topics.count));
    for _ in 0..ROUNDS {
        scratch.prepare(constants, &[], theta);
        scratch.messages(constants, document, (&[], n), None)?;
        theta.copy_from_slice(&flat(&scratch.sums)[..k]);
    }
    scratch.choose(constants, &[], k, list.topics.len());
    for ((topic, count), &chosen) in list.topics.iter_mut().zip(list.counts).zip(&scratch.chosen) {
        *topic = chosen;
        *count = theta[chosen as usize];
    }
    *list.length = scratch.chosen.len() as u32;
    Ok(())
}

/// The document phase: renews a document's list, and leaves the visit for the word phase. Adds theta to `lambda[K]`. Returns the log-likelihood under the old theta.
pub(crate) fn document(
    constants: Constants<'_>,
    document: corpus::Document<'_>,
    list: List<'_>,
    visit: Visit<'_>,
    lambda: &mut [f64],
    scratch: &mut Scratch,
) -> Result<f64, NotANumber> {
    let length = *list.length as usize;
    let (topics, counts) = (&mut list.topics[..length], &mut list.counts[..length]);
    let log_likelihood = match visit {
        Visit::Short { t, ratios } => {
            scratch.short_messages(constants, document, (topics, counts), t, ratios)?
        }
        Visit::Long { places, messages } => {
            let n = length.div_ceil(LANES);
            let padded = flat_places_mut(&mut places[..n]);
            padded[..length].copy_from_slice(topics);
            padded[length..].fill(0);
            scratch.prepare(constants, topics, counts);
            let messages = &mut messages[..n * document.words.len()];
            scratch.messages(constants, document, (&places[..n], n), Some(messages))?
        }
    };
    let tokens = document.tokens() as f64;
    scratch.choose(
        constants,
        topics,
        length,
        constants.active.cap(document.tokens(), constants.topics.count),
    );
    let sums = flat(&scratch.sums);
    let kept: f64 = scratch.chosen.iter().map(|&i| f64::from(sums[i as usize])).sum();
    let scale = (tokens / kept) as f32;
    if !scale.is_finite() {
        return Err(NotANumber(scale));
    }
    for (to, &i) in scratch.chosen.iter().enumerate() {
        topics[to] = topics[i as usize];
        counts[to] = sums[i as usize] * scale;
        lambda[topics[to] as usize] += f64::from(counts[to]);
    }
    *list.length = scratch.chosen.len() as u32;
    Ok(log_likelihood - tokens * libm::log(tokens + constants.topics.alpha_sum))
}

/// One use of a word in a block: the document's topics in use, how many they are, and the message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use<'a> {
    pub(crate) places: &'a [Places],
    pub(crate) length: usize,
    pub(crate) message: &'a [Lanes],
}

/// A word's row of phi and its scale.
#[derive(Debug)]
pub(crate) struct Word<'a> {
    pub(crate) row: &'a mut [Lanes],
    pub(crate) scale: &'a mut f32,
}

impl Word<'_> {
    /// What a block leaves of the row: `keep` = 1 - c/n_w of it. Returns the factor for what is added.
    fn fade(&mut self, keep: f32) -> f32 {
        /// A scale below this is multiplied out, before products of it leave the range of 32-bit floats.
        const LEAST: f32 = 1e-12;
        *self.scale *= keep;
        if *self.scale < LEAST {
            let left = *self.scale;
            flat_mut(self.row).iter_mut().for_each(|phi| *phi *= left);
            *self.scale = 1.0;
        }
        1.0 / *self.scale
    }

    /// The word phase with short rows: see [`Kernel::short_counts`].
    pub(crate) fn renew_short(
        mut self,
        (kernel, shared): (Kernel, Short<'_>),
        uses: &[(u32, u32)],
        visited: (&[Lanes], &[Ratio]),
        keep: f32,
        counts: &mut [Lanes],
    ) {
        kernel.short_counts(shared, (self.row, *self.scale), uses, visited, counts);
        let factor = self.fade(keep);
        kernel.settle(flat_mut(self.row), flat_mut(counts), factor);
    }

    /// The word phase: renews the row from its uses in the block (`again`: the same once more). `counts[K]` is zero before
    /// and after.
    pub(crate) fn renew<'a>(
        mut self,
        kernel: Kernel,
        (uses, again): (impl Iterator<Item = Use<'a>>, impl Iterator<Item = Use<'a>>),
        keep: f32,
        counts: &mut [f32],
    ) {
        let mut touched = 0;
        for Use { places, length, message } in uses {
            for (&k, &count) in flat_places(places)[..length].iter().zip(flat(message)) {
                counts[k as usize] += count;
            }
            touched += length;
        }
        let factor = self.fade(keep);
        let row = flat_mut(self.row);
        // Either way gives the same bits.
        if touched * 2 > row.len() {
            kernel.settle(row, counts, factor);
            return;
        }
        for Use { places, length, .. } in again {
            for &k in &flat_places(places)[..length] {
                row[k as usize] += counts[k as usize] * factor;
                counts[k as usize] = 0.0;
            }
        }
    }
}

/// v_w: how much of a word's last messages from a block is in phi when the block comes again. Each block in between has
/// multiplied phi by 1 - c/n_w; the passes before left their part too. `faded` is the product of all these factors of a
/// pass, without those that are 0.
pub(crate) fn share(faded: f64) -> f32 {
    (faded / (1.0 - 0.97 * faded)).min(1.0) as f32
}
