//! Seed words: words that the user knows to belong to a topic, as a prior that stays during
//! training.
//!
//! A file has lines `topic: word word …`. A topic is a number, starting at 0, or a name. Named
//! topics receive the unused numbers, in the order of their first lines. Words are separated by
//! whitespace or commas. Empty lines and lines that start with `#` are ignored.
//!
//! A seed word counts as if it occurred more often than it does, by `weight` times its own tokens,
//! all of them in its topic. These tokens are part of `phi[w,k]` while messages are updated, and
//! are subtracted again from the model. They are not part of `lambda[k]`. Which documents can take
//! up a topic with seed words is decided in `cpu/seeding.rs`.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::algorithms::tbp::messages::UNITS_PER_TOKEN;
use crate::corpus::ingest::input::Input;
use crate::corpus::ingest::lines::LineReader;
use crate::corpus::{Corpus, Vocabulary};
use crate::error::{Error, Position, Result};

/// Seed words of topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds {
    path: PathBuf,
    topics: BTreeMap<u32, SeedTopic>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SeedTopic {
    name: Option<String>,
    /// Line of the topic's first occurrence in the file.
    line: u64,
    words: Vec<String>,
}

/// A word of a corpus that is a seed word of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeedWord {
    pub(crate) word: u32,
    pub(crate) topic: u32,
    /// Weight of the word in units, 64 per token.
    pub(crate) units: u32,
}

impl SeedWord {
    /// Returns the weight of the word in tokens, rounded up.
    pub(crate) fn tokens(self) -> u64 {
        u64::from(self.units.div_ceil(UNITS_PER_TOKEN))
    }
}

impl Seeds {
    /// Reads a file of seed words, compressed or not.
    pub fn read(path: impl AsRef<Path>) -> Result<Seeds> {
        let path = path.as_ref();
        Seeds::of_lines(LineReader::new(Input::open(path)?), path)
    }

    /// Parses bytes as if they were the content of a file of this name.
    pub fn of_bytes(bytes: Vec<u8>, name: &Path) -> Result<Seeds> {
        let input = Input::new(Box::new(std::io::Cursor::new(bytes)), name, None)?;
        Seeds::of_lines(LineReader::new(input), name)
    }

    fn of_lines(mut lines: LineReader<'_>, path: &Path) -> Result<Seeds> {
        const REMEDY: &str = "write a topic's number or name, a colon and its words: `sport: ball team goal`";
        let bad = |line: u64, found: String, expected: &str| Error::Input {
            path: path.to_path_buf(),
            position: Position::Line(line),
            found,
            expected: expected.into(),
            remedy: REMEDY.into(),
        };
        let mut numbered: BTreeMap<u32, SeedTopic> = BTreeMap::new();
        let mut named: Vec<SeedTopic> = Vec::new();
        while lines.advance()? {
            let line = lines.number();
            let text = lines.utf8()?.trim_start_matches('\u{feff}').trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let Some((topic, words)) = text.split_once(':') else {
                return Err(bad(line, "no colon".into(), "`topic: word word …`"));
            };
            let topic = topic.trim();
            let words = words.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
            let entry = if topic.is_empty() {
                return Err(bad(line, "nothing before the colon".into(), "a topic's number or name"));
            } else if topic.bytes().all(|b| b.is_ascii_digit()) {
                let number: u32 = topic.parse().map_err(|_| {
                    bad(line, format!("the topic {topic}"), "the number of a topic, starting at 0")
                })?;
                numbered.entry(number).or_insert_with(|| SeedTopic { line, ..SeedTopic::default() })
            } else {
                let at = named.iter().position(|other| other.name.as_deref() == Some(topic));
                let at = at.unwrap_or_else(|| {
                    named.push(SeedTopic { name: Some(topic.to_owned()), line, ..SeedTopic::default() });
                    named.len() - 1
                });
                &mut named[at]
            };
            entry.words.extend(words.map(str::to_owned));
            if entry.words.is_empty() {
                return Err(bad(line, format!("the topic {topic} without words"), "at least one word"));
            }
        }
        if numbered.is_empty() && named.is_empty() {
            return Err(Error::Input {
                path: path.to_path_buf(),
                position: Position::Whole,
                found: "no seed words".into(),
                expected: "lines `topic: word word …`".into(),
                remedy: REMEDY.into(),
            });
        }
        let mut free = 0u32;
        for topic in named {
            while numbered.contains_key(&free) {
                free += 1;
            }
            numbered.insert(free, topic);
        }
        for topic in numbered.values_mut() {
            let mut seen = HashSet::new();
            topic.words.retain(|word| seen.insert(word.clone()));
        }
        Ok(Seeds { path: path.to_path_buf(), topics: numbered })
    }

    /// Returns the named topics: their numbers and names.
    pub fn names(&self) -> impl Iterator<Item = (u32, &str)> {
        self.topics.iter().filter_map(|(&k, topic)| Some((k, topic.name.as_deref()?)))
    }

    /// Returns the seed words that are not in a vocabulary, each once.
    pub fn unknown(&self, vocabulary: &Vocabulary) -> Vec<&str> {
        let known = vocabulary.ids();
        let mut seen = HashSet::new();
        let words = self.topics.values().flat_map(|topic| topic.words.iter().map(String::as_str));
        words.filter(|word| !known.contains_key(word) && seen.insert(*word)).collect()
    }

    /// Checks that there are not more topics than `topics`.
    pub(crate) fn check_topics(&self, topics: u32) -> Result<()> {
        let Some((k, topic)) = self.topics.iter().next_back().filter(|&(&k, _)| k >= topics) else {
            return Ok(());
        };
        let (found, expected) = match topic.name {
            Some(_) => (format!("{} topics", u64::from(*k) + 1), format!("at most {topics} topics")),
            None => (format!("the topic {k}"), format!("topics from 0 to {}", topics - 1)),
        };
        let remedy = "increase {topics}, or provide seed words for fewer topics";
        Err(self.error(topic.line, found, expected, remedy))
    }

    /// Returns an error about a line of the file.
    fn error(&self, line: u64, found: String, expected: String, remedy: &str) -> Error {
        Error::Input {
            path: self.path.clone(),
            position: Position::Line(line),
            found,
            expected: expected.into(),
            remedy: remedy.into(),
        }
    }

    /// Returns a checksum of the topics, their names and their words.
    pub(crate) fn sum(&self) -> String {
        let mut crc = crc32fast::Hasher::new();
        for (k, topic) in &self.topics {
            crc.update(&k.to_le_bytes());
            for text in topic.name.iter().chain(&topic.words) {
                crc.update(text.as_bytes());
                crc.update(&[0]);
            }
            crc.update(&[1]);
        }
        format!("{:08x}", crc.finalize())
    }

    /// Returns the seed words of a corpus as numbers of words and topics, in the order of the
    /// words.
    pub(crate) fn of_corpus(
        &self,
        corpus: &Corpus,
        topics: u32,
        word_tokens: &[u64],
        (weight, max_tokens): (f64, u64),
    ) -> Result<Vec<SeedWord>> {
        self.check_topics(topics)?;
        let Some(vocabulary) = corpus.vocabulary()? else {
            return Err(Error::unsupported("seeds", "the corpus has no vocabulary")
                .with_remedy("import it again with {vocab}"));
        };
        let ids = vocabulary.ids();
        let mut all = Vec::new();
        for (&k, topic) in &self.topics {
            let known: Vec<u32> =
                topic.words.iter().filter_map(|word| ids.get(word.as_str()).copied()).collect();
            if known.is_empty() {
                let words = topic.words.iter().take(10).map(String::as_str).collect::<Vec<_>>().join(", ");
                return Err(self.error(
                    topic.line,
                    format!("none of these words is in the corpus: {words}"),
                    String::new(),
                    "spell seed words as in the vocabulary of the corpus",
                ));
            }
            for word in known {
                let tokens = word_tokens.get(word as usize).copied().unwrap_or(0);
                let units = (weight * tokens as f64 * f64::from(UNITS_PER_TOKEN)).round();
                if units >= (max_tokens as f64 - tokens as f64) * f64::from(UNITS_PER_TOKEN) {
                    let expected = format!("smaller for a seed word that occurs {tokens} times");
                    return Err(Error::out_of_range("seed_weight", weight, expected)
                        .with_remedy("1 doubles the weight of a seed word, which is usually enough"));
                }
                all.push(SeedWord { word, topic: k, units: units as u32 });
            }
        }
        all.sort_unstable();
        Ok(all)
    }
}

/// Returns the topics of which a word is a seed word. `seeds` are in the order of the words.
pub(super) fn topics_of(seeds: &[SeedWord], word: u32) -> impl Iterator<Item = u32> + '_ {
    let from = seeds.partition_point(|seed| seed.word < word);
    seeds[from..].iter().take_while(move |seed| seed.word == word).map(|seed| seed.topic)
}

/// Returns the topics of which a word is a seed word, with the units that are applied now.
pub(super) fn of_word<'a>(
    seeds: &'a [SeedWord],
    applied: &'a [i64],
    word: u32,
) -> impl Iterator<Item = (u32, i64)> + 'a {
    let from = seeds.partition_point(|seed| seed.word < word);
    let both = seeds[from..].iter().zip(&applied[from..]);
    both.take_while(move |(seed, _)| seed.word == word).map(|(seed, &units)| (seed.topic, units))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seeds(text: &str) -> Result<Seeds> {
        Seeds::of_bytes(text.as_bytes().to_vec(), Path::new("seeds.txt"))
    }

    #[test]
    fn numbers_and_names_become_topics() {
        let found =
            seeds("\u{feff}# mine\nsport: ball, team  goal ball\r\n\n1: court law\nwar: army\nsport: cup")
                .unwrap();
        let all: Vec<(u32, Option<&str>, String)> =
            found.topics.iter().map(|(&k, t)| (k, t.name.as_deref(), t.words.join(" "))).collect();
        let expected =
            [(0, Some("sport"), "ball team goal cup"), (1, None, "court law"), (2, Some("war"), "army")];
        assert_eq!(all, expected.map(|(k, name, words)| (k, name, words.to_owned())));
        assert_eq!(found.names().collect::<Vec<_>>(), [(0, "sport"), (2, "war")]);
    }

    #[test]
    fn a_bad_file_is_refused_with_its_line() {
        for (text, place, found) in [
            ("sport ball", "seeds.txt, line 1: ", "found no colon"),
            ("a: b\n: ball", "seeds.txt, line 2: ", "found nothing before the colon"),
            ("\n\nsport: ,", "seeds.txt, line 3: ", "found the topic sport without words"),
            ("99999999999: x", "seeds.txt, line 1: ", "found the topic 99999999999"),
            ("# nothing", "seeds.txt: ", "found no seed words"),
            ("", "seeds.txt: ", "found"),
        ] {
            let message = seeds(text).unwrap_err().to_string();
            assert!(message.starts_with(place) && message.contains(found), "{message}");
        }
    }

    #[test]
    fn unknown_words_are_listed_once() {
        let mut vocabulary = Vocabulary::new();
        vocabulary.push("ball");
        let found = seeds("a: ball Ball\nb: Ball x").unwrap();
        assert_eq!(found.unknown(&vocabulary), ["Ball", "x"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Seeds::of_bytes(bytes, Path::new("seeds"));
        }

        #[test]
        fn what_is_written_is_read(topics in proptest::collection::vec("[a-z]{1,5}: [a-z]{1,4}( [a-z]{1,4}){0,5}", 1..10)) {
            let found = seeds(&topics.join("\n")).unwrap();
            prop_assert!(found.topics.len() <= topics.len());
            prop_assert!(found.topics.keys().copied().eq(0..found.topics.len() as u32));
        }
    }
}
