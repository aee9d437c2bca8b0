//! Documents in a training with seed words.
//!
//! A *seeded* topic, one with seed words, starts from the documents that contain them, and stays
//! with them: other documents can use the topic only in one visit of [`VISITS_PER_OPENING`].
//! Without this restriction, a topic of a rare theme fills up with words of all documents, since a
//! topic tends to grow to about 1/K of the corpus, and its seed words end up as a small part of
//! another theme. With it, a document that fits the topic still finds it, but a document that does
//! not fit leaves it faster than it enters. `bench/record/2026-11-18-seed-weight.md` has the
//! measurements.
//!
//! There is no restriction if all topics are seeded.

use crate::algorithms::tbp::messages::UNITS_PER_TOKEN;
use crate::algorithms::tbp::seed_words::{SeedWord, topics_of};
use crate::corpus::Document;
use crate::random::Random;

/// Number of visits of a document of which one, at random, can use all seeded topics.
const VISITS_PER_OPENING: u64 = 40;
/// Probability that a word of a document starts in the topic of a seed word, as a multiple of the
/// share of seed words in the document.
const FOLLOWERS_PER_SEED: f64 = 5.0;

/// Seed words and the topics without any.
#[derive(Debug)]
pub(super) struct SeedTable {
    /// Seed words, in the order of the words.
    seeds: Vec<SeedWord>,
    /// Whether a topic is seeded, per topic. Empty if there are no seed words.
    is_seeded: Vec<bool>,
    /// Topics without seed words.
    unseeded: Vec<u32>,
}

/// Seeded topics that a document can use.
#[derive(Debug, Default)]
pub(super) struct SeedRestriction {
    active: bool,
    /// Topics whose seed words are in the document.
    present: Vec<u32>,
}

impl SeedTable {
    pub(super) fn new(seeds: &[SeedWord], topics: u32) -> SeedTable {
        let mut is_seeded = vec![false; if seeds.is_empty() { 0 } else { topics as usize }];
        for seed in seeds {
            is_seeded[seed.topic as usize] = true;
        }
        let unseeded = (0..).zip(&is_seeded).filter(|(_, seeded)| !**seeded).map(|(k, _)| k).collect();
        SeedTable { seeds: seeds.to_vec(), is_seeded, unseeded }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seeds.is_empty()
    }

    /// Returns whether a document with this restriction can use a topic.
    pub(super) fn allows(&self, restriction: &SeedRestriction, topic: u32) -> bool {
        !restriction.active || !self.is_seeded[topic as usize] || restriction.present.contains(&topic)
    }

    /// Sets the restriction for a visit of a document. Draws a random number only if there are seed
    /// words.
    pub(super) fn restrict(
        &self,
        document: Document<'_>,
        random: &mut Random,
        restriction: &mut SeedRestriction,
    ) {
        restriction.active =
            !self.is_empty() && random.below(VISITS_PER_OPENING) > 0 && !self.unseeded.is_empty();
        restriction.present.clear();
        if restriction.active {
            let topics = document.words.iter().flat_map(|&w| topics_of(&self.seeds, w));
            restriction.present.extend(topics);
            restriction.present.sort_unstable();
            restriction.present.dedup();
        }
    }

    /// Adds the units of a document that starts at random to theta. Seed words start in their
    /// topics, other words follow them in proportion to their share of the document, and the rest
    /// starts in topics without seed words.
    pub(super) fn start(&self, document: Document<'_>, random: &mut Random, theta: &mut [f32]) {
        // Tokens of seed words, by topic. A word of several topics counts in all of them.
        let mut tokens: Vec<(u32, u64)> = Vec::new();
        let mut seed_tokens = 0;
        for (&w, &x) in document.words.iter().zip(document.counts) {
            let before = tokens.len();
            tokens.extend(topics_of(&self.seeds, w).map(|k| (k, u64::from(x))));
            seed_tokens += if tokens.len() > before { u64::from(x) } else { 0 };
        }
        let total: u64 = tokens.iter().map(|&(_, x)| x).sum();
        let follow = FOLLOWERS_PER_SEED * seed_tokens as f64 / document.tokens().max(1) as f64;
        for (&w, &x) in document.words.iter().zip(document.counts) {
            let topics = topics_of(&self.seeds, w).count() as u64;
            let k = if topics > 0 {
                topics_of(&self.seeds, w).nth(random.below(topics) as usize)
            } else if total > 0 && random.unit() < follow {
                let mut at = random.below(total);
                let chosen = tokens.iter().find(|&&(_, x)| {
                    let here = at < x;
                    at = at.saturating_sub(x);
                    here
                });
                chosen.map(|&(k, _)| k)
            } else {
                None
            };
            let k = k.unwrap_or_else(|| self.unseeded_topic(theta.len(), random));
            theta[k as usize] += x as f32 * UNITS_PER_TOKEN as f32;
        }
    }

    /// Draws a topic without seed words, or any topic if all have some.
    fn unseeded_topic(&self, topics: usize, random: &mut Random) -> u32 {
        let at = random.below(if self.unseeded.is_empty() { topics } else { self.unseeded.len() } as u64);
        self.unseeded.get(at as usize).copied().unwrap_or(at as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn table(seeds: &[(u32, u32)], topics: u32) -> SeedTable {
        let seeds: Vec<SeedWord> =
            seeds.iter().map(|&(word, topic)| SeedWord { word, topic, units: 64 }).collect();
        SeedTable::new(&seeds, topics)
    }

    #[test]
    fn seeded_topics_stay_with_their_documents() {
        let table = table(&[(1, 0), (2, 3), (5, 0), (5, 3)], 6);
        let mut restriction = SeedRestriction::default();
        let allowed = |words: &[u32], restriction: &mut SeedRestriction| {
            let counts = vec![1; words.len()];
            let document = Document { words, counts: &counts };
            let mut random = Random::new(1, Purpose::Quantization, 7);
            loop {
                table.restrict(document, &mut random, restriction);
                if restriction.active {
                    break;
                }
            }
            (0..6).filter(|&k| table.allows(restriction, k)).collect::<Vec<u32>>()
        };
        assert_eq!(allowed(&[0, 4], &mut restriction), [1, 2, 4, 5]);
        assert_eq!(allowed(&[0, 2], &mut restriction), [1, 2, 3, 4, 5]);
        assert_eq!(allowed(&[1, 5], &mut restriction), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn documents_are_open_once_in_many_visits() {
        let document = Document { words: &[0, 1], counts: &[1, 1] };
        let mut random = Random::new(1, Purpose::Quantization, 7);
        let mut restriction = SeedRestriction::default();
        let mut open = |table: &SeedTable| {
            (0..2000)
                .filter(|_| {
                    table.restrict(document, &mut random, &mut restriction);
                    !restriction.active
                })
                .count()
        };
        let visits = open(&table(&[(3, 0)], 2));
        assert!((25..80).contains(&visits), "{visits}");
        // Where all topics are seeded, or none is, there is no restriction.
        assert_eq!(open(&table(&[(3, 0), (4, 1)], 2)), 2000);
        assert_eq!(open(&table(&[], 2)), 2000);
    }

    #[test]
    fn words_start_with_their_seed_words() {
        let mut random = Random::new(1, Purpose::InitialTopic, 3);
        let words: Vec<u32> = (0..1000).collect();
        let document = Document { words: &words, counts: &[1; 1000] };
        // A tenth of the words are seed words, so that half of the others follow them.
        let seeds: Vec<(u32, u32)> = (0..100).map(|w| (w, 2)).collect();
        let mut theta = vec![0.0; 4];
        table(&seeds, 4).start(document, &mut random, &mut theta);
        let share = |k: usize| theta[k] / (1000.0 * UNITS_PER_TOKEN as f32);
        assert!((share(2) - 0.55).abs() < 0.06, "{theta:?}");
        assert!((0..4).filter(|&k| k != 2).all(|k| (share(k) - 0.15).abs() < 0.05), "{theta:?}");
        // Without seed words in the document, nothing starts in a seeded topic.
        let mut theta = vec![0.0; 4];
        table(&[(5000, 2)], 4).start(document, &mut random, &mut theta);
        assert!(theta[2] == 0.0 && theta[0] > 0.0, "{theta:?}");
        // Where all topics are seeded, documents without seed words start anywhere.
        let mut theta = vec![0.0; 2];
        table(&[(5000, 0), (5001, 1)], 2).start(document, &mut random, &mut theta);
        assert!(theta[0] > 0.0 && theta[1] > 0.0, "{theta:?}");
    }
}
