//! Random numbers that depend on (seed, purpose, item) and on nothing else.
//!
//! Every document has its own stream, so a draw does not depend on blocks, threads or the order of work.
//! The generator is SplitMix64; it is written out here, and not taken from a crate, because its values are
//! part of what a seed means: the same seed must give the same topics with every later version.

/// What a stream of random numbers is for; streams of different purposes never share numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// The topic that each non-zero starts with.
    Start = 1,
    /// The order in which blocks are visited.
    BlockOrder = 2,
    /// The order in which a block's documents are visited.
    DocumentOrder = 3,
    /// Which documents go to the test part.
    Split = 4,
    /// Which tokens of a test document are scored.
    Score = 5,
    /// The topics of a synthetic corpus.
    SynthTopic = 6,
    /// The documents of a synthetic corpus.
    SynthDocument = 7,
    /// The shuffle of a synthetic corpus's word ids.
    SynthWords = 8,
    /// Where messages are cut into whole parts.
    Cut = 9,
    /// Topics drawn for words.
    Draw = 10,
    /// The labels of tokens.
    Sample = 11,
    /// Topics that are nearly even.
    Even = 12,
    /// The topics of tokens in a state that is written for MALLET. The number is far from the others, which may become more.
    #[cfg_attr(not(feature = "compression"), allow(dead_code, reason = "used by the export to MALLET"))]
    State = 40,
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    /// The stream of `item` (a document, a topic, …) for one purpose.
    pub(crate) fn new(seed: u64, purpose: Purpose, item: u64) -> Random {
        let key = mix(seed.wrapping_add(GOLDEN)) ^ mix((purpose as u64).wrapping_mul(GOLDEN));
        Random { state: mix(key.wrapping_add(mix(item.wrapping_add(1).wrapping_mul(GOLDEN)))) }
    }

    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Uniform in `0..n`; 0 where n is 0. Lemire's multiplication with rejection: exact.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(n);
        if (product as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Puts the items in a uniformly random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_seed_never_change() {
        let mut r = Random::new(1, Purpose::Start, 0);
        let got: Vec<u64> = (0..8).map(|_| r.below(1000)).collect();
        assert_eq!(got, FIRST_EIGHT);
    }
    const FIRST_EIGHT: [u64; 8] = [794, 836, 362, 242, 846, 847, 420, 864];

    #[test]
    fn draws_are_uniform_enough() {
        let mut seen = [0u32; 10];
        for item in 0..100_000 {
            seen[Random::new(7, Purpose::Start, item).below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (9_650..10_350).contains(&n)), "{seen:?}");
        assert_eq!(Random::new(7, Purpose::Start, 3).below(0), 0);
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(3, Purpose::Split, 0).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
