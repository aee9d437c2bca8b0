//! phi while `tbp` is at work: whole units, exact whatever the order in which they are added.
//!
//! A word with few tokens has a row of 16-bit numbers, any other one of 32 bits. Words are cut into groups, so that
//! threads can change rows without meeting; the cut knows the corpus alone.
//!
//! Legend: K topics; a row is `phi[w,:]` in units; the *weight* of a word is `sum_k factor[k]*(row[k] + beta)`, and its
//! *draws* are topics drawn in proportion to the terms of that sum. Both are as old as the last [`Counts::refresh`].

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernel::{Change, Kernel, LANES, Lanes, Row};
use crate::memory;
use crate::random::{Purpose, Random};
use crate::topics::{Matrix, stride};

/// How many groups the words are cut into, at most.
const GROUPS: usize = 32;
/// Where changes are collected: for every group those of its rows of 16 bits, and those of 32.
pub(crate) const BUCKETS: usize = 2 * GROUPS;
/// The most units in a row of 32 bits: such numbers become 32-bit floats as if they had a sign.
const MOST: u64 = (1 << 31) - 1;

/// The most tokens that a word may have, `units` each.
pub(crate) fn most_tokens(units: u32) -> u64 {
    MOST / u64::from(units)
}

/// Topics drawn for a word: one for so many tokens,
const TOKENS_PER_DRAW: u64 = 4;
/// within these bounds.
const DRAWS: (u64, u64) = (2, 64);

/// What is known of a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Which row it has: twice its number among those of its width, and one more where that is 32 bits.
    row: u32,
    /// Where changes of the row go: the bucket, and the row's first cell.
    pub(crate) bucket: u32,
    pub(crate) cell: u32,
    /// See the top.
    pub(crate) weight: f32,
}

/// See the top.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Numbers in a row, padding included.
    width: usize,
    places: Vec<Place>,
    narrow: Vec<u16>,
    wide: Vec<u32>,
    /// Where each word's draws end.
    ends: Vec<u32>,
    draws: Vec<u32>,
    /// Where every group starts: its first word and its first rows.
    groups: Vec<Start>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Start {
    word: usize,
    narrow: usize,
    wide: usize,
}

impl Counts {
    /// All zero, for words of so many tokens, `units` each.
    pub(crate) fn new(word_tokens: &[u64], topics: u32, units: u32) -> Result<Counts> {
        let width = stride(topics) * LANES;
        let tokens: u64 = word_tokens.iter().sum();
        let mut places = Vec::with_capacity(word_tokens.len());
        let (mut groups, mut ends) = (vec![Start::default()], Vec::with_capacity(word_tokens.len()));
        let mut at = Start::default();
        let (mut done, mut start) = (0, at);
        for (w, &n) in word_tokens.iter().enumerate() {
            let most = n.saturating_mul(u64::from(units));
            debug_assert!(most <= MOST, "checked before");
            let group = groups.len() as u32 - 1;
            let (row, bucket, within) = if u16::try_from(most).is_ok() {
                at.narrow += 1;
                (2 * (at.narrow - 1), 2 * group, at.narrow - 1 - start.narrow)
            } else {
                at.wide += 1;
                (2 * (at.wide - 1) + 1, 2 * group + 1, at.wide - 1 - start.wide)
            };
            at.word = w + 1;
            let cell = u32::try_from(within * width).map_err(|_| Error::Memory {
                need: (word_tokens.len() as u64).saturating_mul(width as u64),
                have: 0,
                remedy: "Choose fewer topics (-k) or a smaller vocabulary.".into(),
            })?;
            places.push(Place { row: row as u32, bucket, cell, weight: 0.0 });
            let draws = if n == 0 { 0 } else { (n / TOKENS_PER_DRAW).clamp(DRAWS.0, DRAWS.1) as u32 };
            ends.push(ends.last().copied().unwrap_or(0) + draws);
            done += n;
            if groups.len() < GROUPS && done > tokens / GROUPS as u64 * groups.len() as u64 {
                groups.push(at);
                start = at;
            }
        }
        groups.push(at);
        Ok(Counts {
            width,
            places,
            narrow: zeros(at.narrow * width)?,
            wide: zeros(at.wide * width)?,
            draws: vec![0; ends.last().copied().unwrap_or(0) as usize],
            ends,
            groups,
        })
    }

    /// A word's row.
    #[inline]
    pub(crate) fn row(&self, word: u32) -> Row<'_> {
        row(self.places[word as usize].row, self.width, &self.narrow, &self.wide)
    }

    /// What is known of a word.
    #[inline]
    pub(crate) fn place(&self, word: u32) -> Place {
        self.places[word as usize]
    }

    /// A word's draws.
    pub(crate) fn draws(&self, word: u32) -> &[u32] {
        let start = if word == 0 { 0 } else { self.ends[word as usize - 1] };
        &self.draws[start as usize..self.ends[word as usize] as usize]
    }

    /// Weighs all words and draws topics for them; `key` tells one time from another.
    pub(crate) fn refresh(&mut self, kernel: Kernel, (factors, beta): (&[Lanes], f32), seed: u64, key: u64) {
        let Counts { width, places, narrow, wide, ends, draws, groups } = self;
        let (mut rest_places, mut rest_draws) = (&mut places[..], &mut draws[..]);
        let mut parts = Vec::with_capacity(groups.len());
        let end_of = |word: usize| if word == 0 { 0 } else { ends[word - 1] as usize };
        for pair in groups.windows(2) {
            let (from, to) = (pair[0].word, pair[1].word);
            let (own_places, more) = rest_places.split_at_mut(to - from);
            let (own_draws, other) = rest_draws.split_at_mut(end_of(to) - end_of(from));
            (rest_places, rest_draws) = (more, other);
            parts.push((from, own_places, own_draws));
        }
        parts.into_par_iter().for_each(|(from, places, draws)| {
            let mut row_weights = vec![Lanes::ZERO; factors.len()];
            let mut sums = Vec::with_capacity(factors.len());
            let mut rest = draws;
            for (i, place) in places.iter_mut().enumerate() {
                let word = from + i;
                let row = row(place.row, *width, narrow, wide);
                place.weight = kernel.weights(row, factors, beta, &mut row_weights, &mut sums);
                let (own, more) = std::mem::take(&mut rest).split_at_mut(end_of(word + 1) - end_of(word));
                rest = more;
                let u = Random::new(seed, Purpose::Draw, key.wrapping_add(word as u64)).unit() as f32;
                draw(&row_weights, &sums, place.weight, u, own);
            }
        });
    }

    /// Makes changes; `of_bucket(b)` are those of a bucket.
    pub(crate) fn change<'a, I: Iterator<Item = &'a Change>>(
        &mut self,
        of_bucket: impl Fn(usize) -> I + Sync,
    ) {
        let Counts { width, narrow, wide, groups, .. } = self;
        let (mut rest_narrow, mut rest_wide) = (&mut narrow[..], &mut wide[..]);
        let mut parts = Vec::with_capacity(groups.len());
        for pair in groups.windows(2) {
            let (own_narrow, more) = rest_narrow.split_at_mut((pair[1].narrow - pair[0].narrow) * *width);
            let (own_wide, other) = rest_wide.split_at_mut((pair[1].wide - pair[0].wide) * *width);
            (rest_narrow, rest_wide) = (more, other);
            parts.push((own_narrow, own_wide));
        }
        // What comes in and what goes out comes in any order: a number may leave the range on the way, not in the end.
        parts.into_par_iter().enumerate().for_each(|(group, (narrow, wide))| {
            for change in of_bucket(2 * group) {
                let n = &mut narrow[change.cell as usize];
                *n = n.wrapping_add(change.units as u16);
            }
            for change in of_bucket(2 * group + 1) {
                let n = &mut wide[change.cell as usize];
                *n = n.wrapping_add(change.units as u32);
            }
        });
    }

    /// phi in tokens. Rows go as they are done, group by group: there is never much more than one of both.
    pub(crate) fn matrix(&mut self, words: u32, topics: u32, units: u32) -> Result<Matrix> {
        // From the end, so that what is left can be cut off.
        let mut parts: Vec<(Vec<u16>, Vec<u32>)> = Vec::with_capacity(self.groups.len());
        for start in self.groups.iter().rev().skip(1) {
            parts.push((
                self.narrow.split_off(start.narrow * self.width),
                self.wide.split_off(start.wide * self.width),
            ));
            self.narrow.shrink_to_fit();
            self.wide.shrink_to_fit();
        }
        let scale = 1.0 / units as f32;
        let (places, width) = (&self.places, self.width);
        let (mut group, mut rows) = (0, parts.pop());
        Matrix::of_rows(words, topics, |word, to| {
            let place = places[word as usize];
            if place.bucket / 2 != group {
                group = place.bucket / 2;
                rows = parts.pop();
                memory::give_back();
            }
            let Some((narrow, wide)) = &rows else { return };
            let from = place.cell as usize;
            if place.row.is_multiple_of(2) {
                to.iter_mut()
                    .zip(&narrow[from..from + width])
                    .for_each(|(to, &n)| *to = f32::from(n) * scale);
            } else {
                to.iter_mut().zip(&wide[from..from + width]).for_each(|(to, &n)| *to = n as f32 * scale);
            }
        })
    }
}

#[inline]
fn row<'a>(row: u32, width: usize, narrow: &'a [u16], wide: &'a [u32]) -> Row<'a> {
    let from = (row / 2) as usize * width;
    if row.is_multiple_of(2) {
        Row::Narrow(&narrow[from..from + width])
    } else {
        Row::Wide(&wide[from..from + width])
    }
}

/// Draws topics in proportion to the weights, at equal distances along their running sum. `sums` are those of 16.
fn draw(weights: &[Lanes], sums: &[f32], total: f32, u: f32, draws: &mut [u32]) {
    let step = total / draws.len().max(1) as f32;
    let (mut chunk, mut before) = (0, 0f32);
    for (i, draw) in draws.iter_mut().enumerate() {
        let target = (i as f32 + u) * step;
        while chunk + 1 < sums.len() && before + sums[chunk] <= target {
            before += sums[chunk];
            chunk += 1;
        }
        let (mut within, mut sum) = (0, before);
        // The last with any weight, where rounding has put the target past all.
        for (lane, &weight) in weights[chunk].0.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
            within = lane;
            sum += weight;
            if sum > target {
                break;
            }
        }
        *draw = (chunk * LANES + within) as u32;
    }
}

fn zeros<T: Default + Clone>(length: usize) -> Result<Vec<T>> {
    let mut zeros = memory::room(length as u64)?;
    zeros.resize(length, T::default());
    Ok(zeros)
}
