//! Which strings become words, and what was left out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::runs::{Counted, Runs};
use super::table::Table;
use super::{Choice, Dropped};
use crate::corpus::Vocabulary;
use crate::error::{Error, Result};
use crate::format::human_bytes;

/// The fewest times that a phrase must occur.
const PHRASE_TOKENS: u64 = 10;
/// The most phrases.
const PHRASES: usize = 100_000;

/// Chooses words from counts.
#[derive(Debug)]
pub(crate) struct Chooser {
    pub(crate) choice: Choice,
    pub(crate) documents: u64,
    /// Bytes that the words may take.
    pub(crate) memory: u64,
}

impl Chooser {
    fn too_many(&self, words: usize) -> Error {
        let reason = format!("{} are too little for {words} different words", human_bytes(self.memory));
        Error::unsupported("memory", reason).with_remedy(
            "increase {memory}, drop rare words with {min_docs}, or keep only frequent ones with {max_words}",
        )
    }

    /// The words in the order of their bytes.
    pub(crate) fn words(&self, runs: &mut Runs, dropped: &mut Dropped) -> Result<Vocabulary> {
        let (least, most) = (self.choice.least(self.documents), self.choice.most(self.documents));
        dropped.least = least;
        let note = |slot: &mut (u64, u64), tokens: u64| *slot = (slot.0 + 1, slot.1 + tokens);
        // Whether a word is in neither too few nor too many documents; it is noted where it is not.
        let stays = |documents: u64, tokens: u64, dropped: &mut Dropped| {
            let rare = documents < least;
            if rare || documents > most {
                note(if rare { &mut dropped.rare } else { &mut dropped.frequent }, tokens);
                return false;
            }
            true
        };
        let mut kept = Vocabulary::new();
        if let Some(limit) = self.choice.max_words {
            // The worst of the best is on top: in the fewest documents, and of those the last by
            // its bytes.
            let mut best: BinaryHeap<(Reverse<u64>, Vec<u8>, u64)> = BinaryHeap::new();
            let mut bytes = 0u64;
            runs.each(|key, Counted { tokens, documents }| {
                if stays(documents, tokens, dropped) {
                    bytes += key.len() as u64 + 64;
                    best.push((Reverse(documents), key.to_vec(), tokens));
                    if best.len() > limit as usize
                        && let Some((_, key, tokens)) = best.pop()
                    {
                        bytes -= key.len() as u64 + 64;
                        note(&mut dropped.beyond, tokens);
                    }
                    if bytes > self.memory {
                        return Err(self.too_many(best.len()));
                    }
                }
                Ok(())
            })?;
            let mut words: Vec<Vec<u8>> = best.into_iter().map(|(_, key, _)| key).collect();
            words.sort_unstable();
            for word in words {
                kept.push(std::str::from_utf8(&word).unwrap_or_default());
            }
            return Ok(kept);
        }
        runs.each(|key, Counted { tokens, documents }| {
            if stays(documents, tokens, dropped) {
                kept.push(std::str::from_utf8(key).unwrap_or_default());
                // Text, where it ends, the table of ids, and the totals of the corpus file.
                let bytes = kept.parts().0.len() as u64 + 32 * kept.len() as u64;
                if bytes > self.memory || kept.len() >= u32::MAX as usize - 1 {
                    return Err(self.too_many(kept.len()));
                }
            }
            Ok(())
        })?;
        Ok(kept)
    }

    /// The pairs of words that stand together more often than chance would have it, sorted. The
    /// runs have words and pairs.
    pub(crate) fn phrases(&self, runs: &mut Runs, score: f64) -> Result<Vec<(String, String)>> {
        let mut words: Table<u64> = Table::new();
        let mut all = 0u64;
        runs.each(|key, count| {
            if !key.contains(&0xff) {
                all += count.tokens;
                if count.tokens >= PHRASE_TOKENS {
                    words.number(key, || count.tokens);
                    if words.bytes() as u64 > self.memory {
                        return Err(self.too_many(words.sorted().len()));
                    }
                }
            }
            Ok(())
        })?;
        let log = |n: u64| libm::log(n as f64);
        let mut best: BinaryHeap<Reverse<(Score, Reverse<Vec<u8>>)>> = BinaryHeap::new();
        runs.each(|key, count| {
            let Some(at) = memchr::memchr(0xff, key).filter(|_| count.tokens >= PHRASE_TOKENS) else {
                return Ok(());
            };
            let mut tokens = |part: &[u8]| {
                let number = words.number(part, || 0);
                *words.value(number)
            };
            let (a, b, both) = (tokens(&key[..at]), tokens(&key[at + 1..]), count.tokens);
            if a == 0 || b == 0 {
                return Ok(());
            }
            let surprise = log(all) - log(both);
            let npmi = if surprise > 0.0 { (log(both) + log(all) - log(a) - log(b)) / surprise } else { 1.0 };
            if npmi >= score {
                best.push(Reverse((Score(npmi), Reverse(key.to_vec()))));
                if best.len() > PHRASES {
                    best.pop();
                }
            }
            Ok(())
        })?;
        let mut pairs: Vec<(String, String)> = best
            .into_iter()
            .filter_map(|Reverse((_, Reverse(key)))| {
                let at = memchr::memchr(0xff, &key)?;
                let text = |part: &[u8]| std::str::from_utf8(part).ok().map(String::from);
                Some((text(&key[..at])?, text(&key[at + 1..])?))
            })
            .collect();
        pairs.sort_unstable();
        Ok(pairs)
    }
}

/// A score with the order of its bits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Score(f64);

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::ingest::words::Most;

    fn counted(list: &[(&str, u64, u64)]) -> (tempfile::TempDir, Runs) {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Runs::new(folder.path());
        let mut table = Table::new();
        for &(word, tokens, documents) in list {
            let key: Vec<u8> = word.bytes().map(|b| if b == b' ' { 0xff } else { b }).collect();
            table.number(&key, || Counted { tokens, documents });
        }
        runs.take(&table, true, |c| *c).unwrap();
        (folder, runs)
    }

    #[test]
    fn rare_frequent_and_beyond() {
        let (_folder, mut runs) =
            counted(&[("d", 9, 4), ("a", 9, 4), ("the", 90, 10), ("b", 5, 4), ("x", 1, 1)]);
        let choice =
            Choice { min_docs: Some(2), max_docs: Some(Most::Share(0.5)), max_words: Some(2), phrases: None };
        let mut chooser = Chooser { choice, documents: 10, memory: 1 << 20 };
        let mut dropped = Dropped::default();
        let words = chooser.words(&mut runs, &mut dropped).unwrap();
        assert_eq!(words.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((dropped.rare, dropped.frequent, dropped.beyond), ((1, 1), (1, 90), (1, 9)));
        chooser.choice.max_words = None;
        assert_eq!(chooser.words(&mut runs, &mut Dropped::default()).unwrap().len(), 3);
        chooser.memory = 10;
        assert!(
            chooser.words(&mut runs, &mut Dropped::default()).unwrap_err().to_string().contains("max_words")
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
        let chooser = Chooser { choice: Choice::default(), documents: 10, memory: 1 << 20 };
        assert_eq!(chooser.phrases(&mut runs, 0.5).unwrap(), [("new".to_string(), "york".to_string())]);
    }
}
