//! Selection of words and phrases from counts.
//!
//! Start with [`WordSelector`]. The module does not read text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::runs::{CountRuns, TermCount};
use super::table::StringTable;
use super::{DroppedTokens, WordOccurrences, WordSelection};
use crate::corpus::Vocabulary;
use crate::error::{Error, Result};
use crate::format::grouped;

/// Minimum number of occurrences of a phrase.
const MIN_PHRASE_TOKENS: u64 = 10;
/// Bytes of a candidate for a limited vocabulary besides those of a word.
const BYTES_PER_CANDIDATE: usize = 80;
/// Maximum number of phrases.
const MAX_PHRASES: usize = 100_000;

/// Number of words of a list of most frequent words.
const LISTED_WORDS: usize = 8;
/// Minimum number of documents of a collection whose most frequent words are listed.
const MIN_COMMON_DOCUMENTS: u64 = 20;

/// Returns the words with the highest counts, the highest one first.
pub(crate) fn most_frequent(counts: std::collections::BTreeMap<String, u64>) -> Vec<WordOccurrences> {
    let mut all: Vec<WordOccurrences> =
        counts.into_iter().map(|(word, count)| WordOccurrences { word, count }).collect();
    all.sort_by_key(|word| Reverse(word.count));
    all.truncate(LISTED_WORDS);
    all
}

/// Selects the vocabulary and the phrases from counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordSelector {
    pub(crate) selection: WordSelection,
    pub(crate) documents: u64,
    /// Maximum memory of the words in bytes. More is an [`Error::Memory`] with what they need.
    pub(crate) memory: u64,
    /// Memory of a word besides its text, in bytes.
    pub(crate) bytes_per_word: u64,
}

/// Memory of the words that are kept.
#[derive(Debug, Clone, Copy, Default)]
struct KeptWords {
    words: u64,
    bytes: u64,
}

impl KeptWords {
    /// Adds a word. Returns whether all words so far fit in memory.
    fn add(&mut self, text: usize, selector: &WordSelector) -> bool {
        self.words += 1;
        self.bytes += text as u64 + selector.bytes_per_word;
        self.fit(selector)
    }

    fn fit(&self, selector: &WordSelector) -> bool {
        self.bytes <= selector.memory && self.words < u64::from(u32::MAX) - 1
    }

    /// Fails if the words do not fit in memory.
    fn check(&self, selector: &WordSelector) -> Result<()> {
        if self.fit(selector) {
            return Ok(());
        }
        let remedy = format!("{} different words are kept", grouped(self.words));
        Err(Error::Memory { need: self.bytes, have: selector.memory, remedy: remedy.into() })
    }
}

impl WordSelector {
    /// Selects the words, in the order of their bytes.
    pub(crate) fn select_words(
        &self,
        runs: &mut CountRuns,
        dropped: &mut DroppedTokens,
    ) -> Result<Vocabulary> {
        let (min_docs, max_docs) =
            (self.selection.min_docs(self.documents), self.selection.max_docs(self.documents));
        dropped.min_docs = min_docs;
        let note = |slot: &mut (u64, u64), tokens: u64| *slot = (slot.0 + 1, slot.1 + tokens);
        // Returns whether the number of documents of a word is within the limits, and records the
        // word as dropped if it is not.
        let is_kept = |documents: u64, tokens: u64, dropped: &mut DroppedTokens| {
            let rare = documents < min_docs;
            if rare || documents > max_docs {
                note(if rare { &mut dropped.rare } else { &mut dropped.frequent }, tokens);
                return false;
            }
            true
        };
        let mut kept = Vocabulary::new();
        let quarter = self.documents / 4;
        let mut common = std::collections::BTreeMap::new();
        let mut note_common = |key: &[u8], documents: u64| {
            if documents > quarter && self.documents >= MIN_COMMON_DOCUMENTS {
                common.insert(String::from_utf8_lossy(key).into_owned(), documents);
            }
        };
        if let Some(limit) = self.selection.max_words {
            // The top of the heap is the worst of the best words: in the fewest documents, and of
            // those the last by its bytes.
            let mut best: BinaryHeap<(Reverse<u64>, Vec<u8>, u64)> = BinaryHeap::new();
            let mut held = KeptWords::default();
            runs.for_each(|key, TermCount { tokens, documents }| {
                if is_kept(documents, tokens, dropped) {
                    // Words that do not fit are only counted, up to the limit.
                    if !held.fit(self) {
                        if held.words < u64::from(limit) {
                            held.add(key.len() + BYTES_PER_CANDIDATE, self);
                        }
                        return Ok(());
                    }
                    held.add(key.len() + BYTES_PER_CANDIDATE, self);
                    best.push((Reverse(documents), key.to_vec(), tokens));
                    if best.len() > limit as usize
                        && let Some((_, key, tokens)) = best.pop()
                    {
                        held.words -= 1;
                        held.bytes -= (key.len() + BYTES_PER_CANDIDATE) as u64 + self.bytes_per_word;
                        note(&mut dropped.over_limit, tokens);
                    }
                }
                Ok(())
            })?;
            held.check(self)?;
            for (documents, key, _) in &best {
                note_common(key, documents.0);
            }
            dropped.common_words = most_frequent(common);
            return Ok(sorted_vocabulary(best.into_iter().map(|(_, key, _)| key).collect()));
        }
        let mut held = KeptWords::default();
        runs.for_each(|key, TermCount { tokens, documents }| {
            if is_kept(documents, tokens, dropped) {
                // Words that do not fit are only counted.
                if held.add(key.len(), self) {
                    kept.push(std::str::from_utf8(key).unwrap_or_default());
                    note_common(key, documents);
                } else {
                    kept = Vocabulary::new();
                }
            }
            Ok(())
        })?;
        held.check(self)?;
        dropped.common_words = most_frequent(common);
        Ok(kept)
    }

    /// Selects the pairs of words that occur together more often than by chance, and adds them to
    /// the sorted list of phrases. The runs contain words and pairs. If there are phrases already,
    /// the first word of a new pair is one of them. If there are more than `most` phrases, they are
    /// only counted.
    pub(crate) fn select_phrases(
        &self,
        runs: &mut CountRuns,
        score: f64,
        phrases: &mut Vec<(String, String)>,
        most: usize,
    ) -> Result<FoundPhrases> {
        let min_docs = self.selection.min_docs(self.documents);
        let mut found = FoundPhrases { phrases: phrases.len() as u64, ..FoundPhrases::default() };
        let joined: std::collections::HashSet<Vec<u8>> =
            phrases.iter().map(|(a, b)| format!("{a}_{b}").into_bytes()).collect();
        let mut words: StringTable<u64> = StringTable::new();
        let (mut all, mut held) = (0u64, KeptWords::default());
        runs.for_each(|key, count| {
            if !key.contains(&0xff) {
                all += count.tokens;
                if count.documents >= min_docs {
                    found.words += 1;
                    found.text += key.len() as u64;
                }
                if count.tokens >= MIN_PHRASE_TOKENS {
                    if held.add(key.len(), self) {
                        words.intern(key, || count.tokens);
                    } else {
                        words = StringTable::new();
                    }
                }
            }
            Ok(())
        })?;
        held.check(self)?;
        let log = |n: u64| libm::log(n as f64);
        let most = most.saturating_sub(phrases.len());
        let mut best: BinaryHeap<Reverse<(OrderedScore, Reverse<Vec<u8>>)>> = BinaryHeap::new();
        let mut new = 0;
        runs.for_each(|key, count| {
            let Some(at) = memchr::memchr(0xff, key).filter(|_| count.tokens >= MIN_PHRASE_TOKENS) else {
                return Ok(());
            };
            if !joined.is_empty() && (!joined.contains(&key[..at]) || joined.contains(&key[at + 1..])) {
                return Ok(());
            }
            let mut tokens = |part: &[u8]| {
                let number = words.intern(part, || 0);
                *words.value(number)
            };
            let (a, b, both) = (tokens(&key[..at]), tokens(&key[at + 1..]), count.tokens);
            if a == 0 || b == 0 {
                return Ok(());
            }
            let surprise = log(all) - log(both);
            let npmi = if surprise > 0.0 { (log(both) + log(all) - log(a) - log(b)) / surprise } else { 1.0 };
            if npmi >= score {
                new = (new + 1).min(MAX_PHRASES);
                found.text += if new < MAX_PHRASES { key.len() as u64 } else { 0 };
                if new > most {
                    best = BinaryHeap::new();
                    return Ok(());
                }
                best.push(Reverse((OrderedScore(npmi), Reverse(key.to_vec()))));
                if best.len() > MAX_PHRASES {
                    best.pop();
                }
            }
            Ok(())
        })?;
        found.phrases += new as u64;
        phrases.extend(best.into_iter().filter_map(|Reverse((_, Reverse(key)))| {
            let at = memchr::memchr(0xff, &key)?;
            let text = |part: &[u8]| std::str::from_utf8(part).ok().map(String::from);
            Some((text(&key[..at])?, text(&key[at + 1..])?))
        }));
        phrases.sort_unstable();
        Ok(found)
    }
}

/// Phrases that were found, and the words of the vocabulary that will contain them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FoundPhrases {
    /// Number of phrases, including those that were known before.
    pub(crate) phrases: u64,
    /// Number of words that are kept besides the new phrases.
    pub(crate) words: u64,
    /// Bytes of these words and of the new phrases.
    pub(crate) text: u64,
}

/// Returns the vocabulary of these words, sorted by their bytes.
fn sorted_vocabulary(mut words: Vec<Vec<u8>>) -> Vocabulary {
    words.sort_unstable();
    let mut vocabulary = Vocabulary::new();
    for word in words {
        vocabulary.push(std::str::from_utf8(&word).unwrap_or_default());
    }
    vocabulary
}

/// Score with a total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OrderedScore(f64);

impl Eq for OrderedScore {}

impl PartialOrd for OrderedScore {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedScore {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::ingest::words::DocumentLimit;

    fn counted(list: &[(&str, u64, u64)]) -> (tempfile::TempDir, CountRuns) {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = CountRuns::new(folder.path());
        let mut table = StringTable::new();
        for &(word, tokens, documents) in list {
            let key: Vec<u8> = word.bytes().map(|b| if b == b' ' { 0xff } else { b }).collect();
            table.intern(&key, || TermCount { tokens, documents });
        }
        runs.add_table(&table, true, |c| *c).unwrap();
        (folder, runs)
    }

    #[test]
    fn rare_frequent_and_beyond() {
        let (_folder, mut runs) =
            counted(&[("d", 9, 4), ("a", 9, 4), ("the", 90, 10), ("b", 5, 4), ("x", 1, 1)]);
        let selection = WordSelection {
            min_docs: Some(2),
            max_docs: Some(DocumentLimit::Fraction(0.5)),
            max_words: Some(2),
            phrases: None,
        };
        let mut selector = WordSelector { selection, documents: 10, memory: 1 << 20, bytes_per_word: 44 };
        let mut dropped = DroppedTokens::default();
        let words = selector.select_words(&mut runs, &mut dropped).unwrap();
        assert_eq!(words.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((dropped.rare, dropped.frequent, dropped.over_limit), ((1, 1), (1, 90), (1, 9)));
        selector.selection.max_words = None;
        assert_eq!(selector.select_words(&mut runs, &mut DroppedTokens::default()).unwrap().len(), 3);
        selector.memory = 10;
        for max_words in [None, Some(2)] {
            selector.selection.max_words = max_words;
            let error = selector.select_words(&mut runs, &mut DroppedTokens::default()).unwrap_err();
            let Error::Memory { need, have: 10, .. } = error else { panic!("{error}") };
            // The stated memory suffices.
            let enough = WordSelector { memory: need, ..selector };
            enough.select_words(&mut runs, &mut DroppedTokens::default()).unwrap();
        }
    }

    #[test]
    fn words_that_belong_together() {
        let (_folder, mut runs) = counted(&[
            ("new", 100, 1),
            ("york", 60, 1),
            ("of", 5000, 1),
            ("car", 500, 1),
            ("new york", 55, 1),
            ("of car", 40, 1),
            ("york car", 9, 1),
        ]);
        let selector = WordSelector {
            selection: WordSelection::default(),
            documents: 10,
            memory: 1 << 20,
            bytes_per_word: 44,
        };
        let mut phrases = Vec::new();
        // Too many phrases are only counted.
        let found = selector.select_phrases(&mut runs, 0.5, &mut phrases, 0).unwrap();
        assert_eq!((found, phrases.len()), (FoundPhrases { phrases: 1, words: 4, text: 20 }, 0));
        assert_eq!(selector.select_phrases(&mut runs, 0.5, &mut phrases, 9).unwrap(), found);
        assert_eq!(phrases, [("new".to_string(), "york".to_string())]);
        let (_folder, mut runs) = counted(&[
            ("new_york", 60, 1),
            ("times", 80, 1),
            ("car", 500, 1),
            ("of", 5000, 1),
            ("red", 20, 1),
            ("new_york times", 50, 1),
            ("red car", 19, 1),
        ]);
        assert_eq!(selector.select_phrases(&mut runs, 0.5, &mut phrases, 9).unwrap().phrases, 2);
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(phrases, [pair("new", "york"), pair("new_york", "times")]);
    }
}
