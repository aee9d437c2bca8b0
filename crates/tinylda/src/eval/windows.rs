//! Counts in how many sliding windows of text the topics' words, and pairs of them, occur.
//!
//! Start reading at [`SlidingWindow`]. This module must not know the formulas of coherence.
//!
//! Only pairs of words of the same topic are counted: `K*N*(N-1)/2` counters for N words of each of
//! K topics, whatever the size of the vocabulary and of the texts. Counters are integers, so that
//! threads can count in any order.
//!
//! A window of n tokens moves over each text by one token at a time; a text of at most n tokens is
//! one window. A window contains a word or not; how often does not matter. An empty text is a
//! window without words. Words and pairs are not counted window by window: a word is in all windows
//! between entering and leaving, and a pair in the intersection of both intervals, so that only
//! entering and leaving take time.
//!
//! The windows are those of gensim: when a token leaves at the front, its word counts as absent,
//! even if the window contains it a second time, until it enters again at the end.

use std::collections::HashMap;

/// The slot of a token that is not a word of any topic.
pub(super) const UNTRACKED: u32 = u32::MAX;

/// The words of the topics. Each distinct word has a *slot*, numbered from 0.
#[derive(Debug)]
pub(super) struct TrackedWords {
    /// The word of each slot.
    pub(super) words: Vec<u32>,
    /// The slots of the words of each topic, in the order of the topic.
    pub(super) topics: Vec<Vec<u32>>,
    /// Pairs (topic, place in the topic) of all slots. Those of slot `s` are
    /// `places[starts[s]..starts[s + 1]]`.
    places: Vec<(u32, u32)>,
    starts: Vec<u32>,
    /// Index of the first pair counter of each topic, and the total number of pair counters.
    pairs: Vec<usize>,
    /// Number of 64-bit masks for the words of a topic.
    stride: usize,
}

impl TrackedWords {
    /// Assigns slots to the words of these lists. A word that occurs twice in a list counts once.
    pub(super) fn new(lists: &[Vec<u32>]) -> TrackedWords {
        let mut slots: HashMap<u32, u32> = HashMap::new();
        let mut words = Vec::new();
        let mut topics: Vec<Vec<u32>> = Vec::with_capacity(lists.len());
        let mut at: Vec<Vec<(u32, u32)>> = Vec::new();
        for (list, k) in lists.iter().zip(0u32..) {
            let mut topic = Vec::with_capacity(list.len());
            for &word in list {
                let slot = *slots.entry(word).or_insert_with(|| {
                    words.push(word);
                    at.push(Vec::new());
                    words.len() as u32 - 1
                });
                if at[slot as usize].last().is_none_or(|&(last, _)| last != k) {
                    at[slot as usize].push((k, topic.len() as u32));
                    topic.push(slot);
                }
            }
            topics.push(topic);
        }
        let mut starts = vec![0];
        let mut places = Vec::new();
        for list in at {
            places.extend(list);
            starts.push(places.len() as u32);
        }
        let mut pairs = vec![0];
        for topic in &topics {
            pairs.push(pairs[pairs.len() - 1] + topic.len() * topic.len().saturating_sub(1) / 2);
        }
        let stride = topics.iter().map(Vec::len).max().unwrap_or(0).div_ceil(64);
        TrackedWords { words, topics, places, starts, pairs, stride }
    }

    /// Returns the number of pair counters.
    pub(super) fn counters(&self) -> usize {
        self.pairs[self.pairs.len() - 1]
    }

    /// Returns the index of the counter for two different places of a topic.
    fn pair(&self, topic: usize, a: usize, b: usize) -> usize {
        let (low, high) = (a.min(b), a.max(b));
        self.pairs[topic] + high * high.saturating_sub(1) / 2 + low
    }
}

/// The counts for one window size.
#[derive(Debug, Clone, Default)]
pub(super) struct WindowCounts {
    /// Number of windows.
    pub(super) windows: u64,
    /// Number of windows that contain the word of each slot.
    words: Vec<u64>,
    /// Number of windows that contain both words of each pair.
    pairs: Vec<u64>,
}

impl WindowCounts {
    pub(super) fn new(tracked: &TrackedWords) -> WindowCounts {
        WindowCounts { windows: 0, words: vec![0; tracked.words.len()], pairs: vec![0; tracked.counters()] }
    }

    /// Adds the counts of another thread.
    pub(super) fn add(&mut self, other: &WindowCounts) {
        self.windows += other.windows;
        for (sum, counts) in [(&mut self.words, &other.words), (&mut self.pairs, &other.pairs)] {
            sum.iter_mut().zip(counts).for_each(|(sum, counts)| *sum += counts);
        }
    }

    /// Returns the number of windows that contain the word of a slot.
    pub(super) fn containing(&self, slot: u32) -> u64 {
        self.words[slot as usize]
    }

    /// Returns the number of windows that contain the words at two places of a topic.
    pub(super) fn containing_both(&self, tracked: &TrackedWords, topic: usize, a: usize, b: usize) -> u64 {
        if a == b { self.containing(tracked.topics[topic][a]) } else { self.pairs[tracked.pair(topic, a, b)] }
    }
}

/// Moves a window over texts and counts words and pairs.
#[derive(Debug)]
pub(super) struct SlidingWindow<'w> {
    tracked: &'w TrackedWords,
    /// Number of the window in which the word of each slot entered, if it is inside.
    entered: Vec<u64>,
    inside: Vec<bool>,
    /// For each topic, a bit mask of its words that are in the current window.
    masks: Vec<u64>,
    /// Slots that have entered in this text.
    seen: Vec<u32>,
}

impl<'w> SlidingWindow<'w> {
    pub(super) fn new(tracked: &'w TrackedWords) -> SlidingWindow<'w> {
        SlidingWindow {
            tracked,
            entered: vec![0; tracked.words.len()],
            inside: vec![false; tracked.words.len()],
            masks: vec![0; tracked.topics.len() * tracked.stride],
            seen: Vec::new(),
        }
    }

    /// Counts a text, given as a slot or [`UNTRACKED`] for each token, in windows of `size` tokens.
    /// If `size` is 0, the whole text is one window.
    pub(super) fn count_text(&mut self, slots: &[u32], size: u32, counts: &mut WindowCounts) {
        let size = if size == 0 { slots.len() } else { size as usize };
        let (first, later) = slots.split_at(size.min(slots.len()));
        for &slot in first {
            self.enter(slot, 0);
        }
        for (t, (&old, &new)) in slots.iter().zip(later).enumerate() {
            if old != new {
                self.leave(old, t as u64 + 1, counts);
            }
            self.enter(new, t as u64 + 1);
        }
        let windows = later.len() as u64 + 1;
        for i in 0..self.seen.len() {
            self.leave(self.seen[i], windows, counts);
        }
        self.seen.clear();
        counts.windows += windows;
    }

    /// Adds a word to window number `now`.
    #[inline]
    fn enter(&mut self, slot: u32, now: u64) {
        if slot == UNTRACKED || self.inside[slot as usize] {
            return;
        }
        self.inside[slot as usize] = true;
        self.entered[slot as usize] = now;
        self.seen.push(slot);
        for &(topic, place) in self.places(slot) {
            self.masks[topic as usize * self.tracked.stride + place as usize / 64] |= 1 << (place % 64);
        }
    }

    /// Removes a word before window number `now`, and counts the windows since it entered.
    #[inline]
    fn leave(&mut self, slot: u32, now: u64, counts: &mut WindowCounts) {
        if slot == UNTRACKED || !self.inside[slot as usize] {
            return;
        }
        let tracked = self.tracked;
        let entered = self.entered[slot as usize];
        self.inside[slot as usize] = false;
        counts.words[slot as usize] += now - entered;
        for &(topic, place) in self.places(slot) {
            let topic = topic as usize;
            let masks = &mut self.masks[topic * tracked.stride..(topic + 1) * tracked.stride];
            masks[place as usize / 64] &= !(1 << (place % 64));
            for (group, &mask) in masks.iter().enumerate() {
                let mut left = mask;
                while left != 0 {
                    let other = group * 64 + left.trailing_zeros() as usize;
                    left &= left - 1;
                    let other_slot = tracked.topics[topic][other];
                    counts.pairs[tracked.pair(topic, place as usize, other)] +=
                        now - entered.max(self.entered[other_slot as usize]);
                }
            }
        }
    }

    fn places(&self, slot: u32) -> &'w [(u32, u32)] {
        let starts = &self.tracked.starts[slot as usize..slot as usize + 2];
        &self.tracked.places[starts[0] as usize..starts[1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts window by window, as gensim does.
    fn count_window_by_window(tracked: &TrackedWords, texts: &[Vec<u32>], size: u32) -> WindowCounts {
        let mut counts = WindowCounts::new(tracked);
        for text in texts {
            let size = if size == 0 { text.len().max(1) } else { size as usize };
            let windows = text.len().saturating_sub(size) + 1;
            let mut inside: Vec<bool> = vec![false; tracked.words.len()];
            for w in 0..windows {
                let set = |inside: &mut Vec<bool>, slot: u32, value| {
                    if slot != UNTRACKED {
                        inside[slot as usize] = value;
                    }
                };
                if w == 0 {
                    text.iter().take(size).for_each(|&slot| set(&mut inside, slot, true));
                } else {
                    set(&mut inside, text[w - 1], false);
                    set(&mut inside, text[w + size - 1], true);
                }
                counts.windows += 1;
                for (slot, &is) in inside.iter().enumerate() {
                    counts.words[slot] += u64::from(is);
                }
                for (k, topic) in tracked.topics.iter().enumerate() {
                    for b in 0..topic.len() {
                        for a in 0..b {
                            let both = inside[topic[a] as usize] && inside[topic[b] as usize];
                            counts.pairs[tracked.pair(k, a, b)] += u64::from(both);
                        }
                    }
                }
            }
        }
        counts
    }

    proptest! {
        #[test]
        fn counts_are_those_of_every_window(
            lists in prop::collection::vec(prop::collection::vec(0u32..90, 0..80), 1..5),
            texts in prop::collection::vec(prop::collection::vec(0u32..100, 0..60), 0..12),
            size in 0u32..20,
        ) {
            let tracked = TrackedWords::new(&lists);
            let slots: HashMap<u32, u32> = tracked.words.iter().copied().zip(0..).collect();
            let texts: Vec<Vec<u32>> =
                texts.iter().map(|t| t.iter().map(|w| slots.get(w).copied().unwrap_or(UNTRACKED)).collect()).collect();
            let (mut window, mut counts) = (SlidingWindow::new(&tracked), WindowCounts::new(&tracked));
            for text in &texts {
                window.count_text(text, size, &mut counts);
            }
            let expected = count_window_by_window(&tracked, &texts, size);
            prop_assert_eq!(counts.windows, expected.windows);
            prop_assert_eq!(counts.words, expected.words);
            prop_assert_eq!(counts.pairs, expected.pairs);
        }
    }
}
