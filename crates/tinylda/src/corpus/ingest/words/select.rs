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
use crate::format::human_bytes;

/// Minimum number of occurrences of a phrase.
const MIN_PHRASE_TOKENS: u64 = 10;
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
#[derive(Debug)]
pub(crate) struct WordSelector {
    pub(crate) selection: WordSelection,
    pub(crate) documents: u64,
    /// Maximum memory of the words in bytes.
    pub(crate) memory: u64,
}

impl WordSelector {
    fn memory_error(&self, words: usize) -> Error {
        let reason = format!("{} is not enough for {words} different words", human_bytes(self.memory));
        Error::unsupported("memory", reason).with_remedy(
            "increase {memory}, drop rare words with {min_docs}, or keep only frequent ones with {max_words}",
        )
    }

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
            let mut bytes = 0u64;
            runs.for_each(|key, TermCount { tokens, documents }| {
                if is_kept(documents, tokens, dropped) {
                    bytes += key.len() as u64 + 64;
                    best.push((Reverse(documents), key.to_vec(), tokens));
                    if best.len() > limit as usize
                        && let Some((_, key, tokens)) = best.pop()
                    {
                        bytes -= key.len() as u64 + 64;
                        note(&mut dropped.over_limit, tokens);
                    }
                    if bytes > self.memory {
                        return Err(self.memory_error(best.len()));
                    }
                }
                Ok(())
            })?;
            best.iter().for_each(|(documents, key, _)| note_common(key, documents.0));
            dropped.common_words = most_frequent(common);
            let mut words: Vec<Vec<u8>> = best.into_iter().map(|(_, key, _)| key).collect();
            words.sort_unstable();
            for word in words {
                kept.push(std::str::from_utf8(&word).unwrap_or_default());
            }
            return Ok(kept);
        }
        runs.for_each(|key, TermCount { tokens, documents }| {
            if is_kept(documents, tokens, dropped) {
                kept.push(std::str::from_utf8(key).unwrap_or_default());
                note_common(key, documents);
                // The memory covers the text, the ends of the words, the index of ids and the
                // totals of the corpus file.
                let bytes = kept.parts().0.len() as u64 + 32 * kept.len() as u64;
                if bytes > self.memory || kept.len() >= u32::MAX as usize - 1 {
                    return Err(self.memory_error(kept.len()));
                }
            }
            Ok(())
        })?;
        dropped.common_words = most_frequent(common);
        Ok(kept)
    }

    /// Selects the pairs of words that occur together more often than by chance, and adds them to
    /// the sorted list of phrases. The runs contain words and pairs. If there are phrases already,
    /// the first word of a new pair is one of them.
    pub(crate) fn select_phrases(
        &self,
        runs: &mut CountRuns,
        score: f64,
        phrases: &mut Vec<(String, String)>,
    ) -> Result<()> {
        let joined: std::collections::HashSet<Vec<u8>> =
            phrases.iter().map(|(a, b)| format!("{a}_{b}").into_bytes()).collect();
        let mut words: StringTable<u64> = StringTable::new();
        let mut all = 0u64;
        runs.for_each(|key, count| {
            if !key.contains(&0xff) {
                all += count.tokens;
                if count.tokens >= MIN_PHRASE_TOKENS {
                    words.intern(key, || count.tokens);
                    if words.bytes() as u64 > self.memory {
                        return Err(self.memory_error(words.sorted().len()));
                    }
                }
            }
            Ok(())
        })?;
        let log = |n: u64| libm::log(n as f64);
        let mut best: BinaryHeap<Reverse<(OrderedScore, Reverse<Vec<u8>>)>> = BinaryHeap::new();
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
                best.push(Reverse((OrderedScore(npmi), Reverse(key.to_vec()))));
                if best.len() > MAX_PHRASES {
                    best.pop();
                }
            }
            Ok(())
        })?;
        phrases.extend(best.into_iter().filter_map(|Reverse((_, Reverse(key)))| {
            let at = memchr::memchr(0xff, &key)?;
            let text = |part: &[u8]| std::str::from_utf8(part).ok().map(String::from);
            Some((text(&key[..at])?, text(&key[at + 1..])?))
        }));
        phrases.sort_unstable();
        Ok(())
    }
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
        let mut selector = WordSelector { selection, documents: 10, memory: 1 << 20 };
        let mut dropped = DroppedTokens::default();
        let words = selector.select_words(&mut runs, &mut dropped).unwrap();
        assert_eq!(words.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((dropped.rare, dropped.frequent, dropped.over_limit), ((1, 1), (1, 90), (1, 9)));
        selector.selection.max_words = None;
        assert_eq!(selector.select_words(&mut runs, &mut DroppedTokens::default()).unwrap().len(), 3);
        selector.memory = 10;
        assert!(
            selector
                .select_words(&mut runs, &mut DroppedTokens::default())
                .unwrap_err()
                .to_string()
                .contains("max_words")
        );
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
        let selector = WordSelector { selection: WordSelection::default(), documents: 10, memory: 1 << 20 };
        let mut phrases = Vec::new();
        selector.select_phrases(&mut runs, 0.5, &mut phrases).unwrap();
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
        selector.select_phrases(&mut runs, 0.5, &mut phrases).unwrap();
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(phrases, [pair("new", "york"), pair("new_york", "times")]);
    }
}
