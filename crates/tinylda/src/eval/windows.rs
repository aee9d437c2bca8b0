//! How often the topics' words, and pairs of them, stand in the same window of text. No formulas here.
//!
//! Only pairs of words of the same topic are counted: `K*N*(N-1)/2` counters for N words of each of K topics, whatever the size of
//! the vocabulary and of the texts. Counters are whole numbers, so that threads can count in any order.
//!
//! A window of n tokens moves over each text by one token at a time, and a text no longer than that is one window. A window holds a
//! word or not; how often does not matter. An empty text is a window that holds nothing. Words and pairs are not counted window
//! by window: a word is in the windows from the one where it comes in to the one where it goes out, and a pair in those that both
//! are in; so only coming and going costs time.
//!
//! gensim's windows are taken as they are: when a token leaves at the front, its word counts as gone, even where it stands in the
//! window once more, until it comes in again at the end.

use std::collections::HashMap;

/// A token that is none of the topics' words.
pub(super) const OTHER: u32 = u32::MAX;

/// The topics' words. Each different one is a *slot*, numbered from 0.
#[derive(Debug)]
pub(super) struct Watched {
    /// The word of each slot.
    pub(super) words: Vec<u32>,
    /// The slots of each topic's words, in the topic's order.
    pub(super) topics: Vec<Vec<u32>>,
    /// (topic, place in it) of each slot: `places[starts[s]..starts[s + 1]]`.
    places: Vec<(u32, u32)>,
    starts: Vec<u32>,
    /// Where each topic's pairs begin among the counters, and one past the last.
    pairs: Vec<usize>,
    /// How many groups of 64 bits a topic's words take.
    stride: usize,
}

impl Watched {
    /// Of lists of words; one that stands twice in a list counts once.
    pub(super) fn new(lists: &[Vec<u32>]) -> Watched {
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
        Watched { words, topics, places, starts, pairs, stride }
    }

    /// How many counters pairs take.
    pub(super) fn counters(&self) -> usize {
        self.pairs[self.pairs.len() - 1]
    }

    /// The counter of two different places in a topic.
    fn pair(&self, topic: usize, a: usize, b: usize) -> usize {
        let (low, high) = (a.min(b), a.max(b));
        self.pairs[topic] + high * high.saturating_sub(1) / 2 + low
    }
}

/// What was counted with one size of window.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    /// All windows.
    pub(super) windows: u64,
    /// Windows that hold each slot's word.
    words: Vec<u64>,
    /// Windows that hold both words of a pair.
    pairs: Vec<u64>,
}

impl Counts {
    pub(super) fn new(watched: &Watched) -> Counts {
        Counts { windows: 0, words: vec![0; watched.words.len()], pairs: vec![0; watched.counters()] }
    }

    pub(super) fn add(&mut self, other: &Counts) {
        self.windows += other.windows;
        for (mine, more) in [(&mut self.words, &other.words), (&mut self.pairs, &other.pairs)] {
            mine.iter_mut().zip(more).for_each(|(mine, more)| *mine += more);
        }
    }

    /// Windows with a slot's word.
    pub(super) fn with(&self, slot: u32) -> u64 {
        self.words[slot as usize]
    }

    /// Windows with the words at two places of a topic.
    pub(super) fn with_both(&self, watched: &Watched, topic: usize, a: usize, b: usize) -> u64 {
        if a == b { self.with(watched.topics[topic][a]) } else { self.pairs[watched.pair(topic, a, b)] }
    }
}

/// Moves windows over texts.
#[derive(Debug)]
pub(super) struct Slider<'w> {
    watched: &'w Watched,
    /// The window that each slot's word has come in with, where it is in.
    since: Vec<u64>,
    inside: Vec<bool>,
    /// For each topic, the places whose words are in.
    masks: Vec<u64>,
    /// Slots that came in with this text.
    seen: Vec<u32>,
}

impl<'w> Slider<'w> {
    pub(super) fn new(watched: &'w Watched) -> Slider<'w> {
        Slider {
            watched,
            since: vec![0; watched.words.len()],
            inside: vec![false; watched.words.len()],
            masks: vec![0; watched.topics.len() * watched.stride],
            seen: Vec::new(),
        }
    }

    /// Counts a text, a slot or [`OTHER`] for each token, in windows of `size` tokens; 0: the text is one window.
    pub(super) fn text(&mut self, slots: &[u32], size: u32, counts: &mut Counts) {
        let size = if size == 0 { slots.len() } else { size as usize };
        let (first, later) = slots.split_at(size.min(slots.len()));
        for &slot in first {
            self.comes(slot, 0);
        }
        for (t, (&gone, &new)) in slots.iter().zip(later).enumerate() {
            if gone != new {
                self.goes(gone, t as u64 + 1, counts);
            }
            self.comes(new, t as u64 + 1);
        }
        let windows = later.len() as u64 + 1;
        for i in 0..self.seen.len() {
            self.goes(self.seen[i], windows, counts);
        }
        self.seen.clear();
        counts.windows += windows;
    }

    #[inline]
    fn comes(&mut self, slot: u32, now: u64) {
        if slot == OTHER || self.inside[slot as usize] {
            return;
        }
        self.inside[slot as usize] = true;
        self.since[slot as usize] = now;
        self.seen.push(slot);
        for &(topic, place) in self.places(slot) {
            self.masks[topic as usize * self.watched.stride + place as usize / 64] |= 1 << (place % 64);
        }
    }

    #[inline]
    fn goes(&mut self, slot: u32, now: u64, counts: &mut Counts) {
        if slot == OTHER || !self.inside[slot as usize] {
            return;
        }
        let watched = self.watched;
        let since = self.since[slot as usize];
        self.inside[slot as usize] = false;
        counts.words[slot as usize] += now - since;
        for &(topic, place) in self.places(slot) {
            let topic = topic as usize;
            let masks = &mut self.masks[topic * watched.stride..(topic + 1) * watched.stride];
            masks[place as usize / 64] &= !(1 << (place % 64));
            for (group, &mask) in masks.iter().enumerate() {
                let mut left = mask;
                while left != 0 {
                    let other = group * 64 + left.trailing_zeros() as usize;
                    left &= left - 1;
                    let mate = watched.topics[topic][other];
                    counts.pairs[watched.pair(topic, place as usize, other)] +=
                        now - since.max(self.since[mate as usize]);
                }
            }
        }
    }

    fn places(&self, slot: u32) -> &'w [(u32, u32)] {
        let starts = &self.watched.starts[slot as usize..slot as usize + 2];
        &self.watched.places[starts[0] as usize..starts[1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Window by window, as gensim goes about it.
    fn plainly(watched: &Watched, texts: &[Vec<u32>], size: u32) -> Counts {
        let mut counts = Counts::new(watched);
        for text in texts {
            let size = if size == 0 { text.len().max(1) } else { size as usize };
            let windows = text.len().saturating_sub(size) + 1;
            let mut inside: Vec<bool> = vec![false; watched.words.len()];
            for w in 0..windows {
                let set = |inside: &mut Vec<bool>, slot: u32, value| {
                    if slot != OTHER {
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
                for (k, topic) in watched.topics.iter().enumerate() {
                    for b in 0..topic.len() {
                        for a in 0..b {
                            let both = inside[topic[a] as usize] && inside[topic[b] as usize];
                            counts.pairs[watched.pair(k, a, b)] += u64::from(both);
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
            let watched = Watched::new(&lists);
            let slots: HashMap<u32, u32> = watched.words.iter().copied().zip(0..).collect();
            let texts: Vec<Vec<u32>> =
                texts.iter().map(|t| t.iter().map(|w| slots.get(w).copied().unwrap_or(OTHER)).collect()).collect();
            let (mut slider, mut counts) = (Slider::new(&watched), Counts::new(&watched));
            for text in &texts {
                slider.text(text, size, &mut counts);
            }
            let expected = plainly(&watched, &texts, size);
            prop_assert_eq!(counts.windows, expected.windows);
            prop_assert_eq!(counts.words, expected.words);
            prop_assert_eq!(counts.pairs, expected.pairs);
        }
    }
}
