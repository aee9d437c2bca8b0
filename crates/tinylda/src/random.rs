//! Random numbers that are determined by (seed, purpose, item) alone.
//!
//! Every document has its own stream, so a draw does not depend on blocks, threads or the order of
//! work. The generator is SplitMix64. It is implemented here, and not taken from a crate, because
//! its values are part of the meaning of a seed: the same seed must give the same topics in every
//! later version. Start with [`Random`].

/// Purpose of a stream of random numbers. Streams with different purposes never share numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// Initial topic of each non-zero.
    InitialTopic = 1,
    /// Order in which blocks are visited.
    BlockOrder = 2,
    /// Order in which the documents of a block are visited.
    DocumentOrder = 3,
    /// Choice of the documents of the test part of a split.
    Split = 4,
    /// Choice of the tokens of a test document that are scored.
    HeldOutTokens = 5,
    /// Topics of a synthetic corpus.
    SynthTopic = 6,
    /// Documents of a synthetic corpus.
    SynthDocument = 7,
    /// Order of the word ids of a synthetic corpus.
    SynthWords = 8,
    /// Rounding of messages to whole units.
    Quantization = 9,
    /// Topics sampled in advance for words.
    TopicSample = 10,
    /// Topics of tokens in Gibbs sampling.
    TokenTopic = 11,
    /// Initial phi with nearly equal topics.
    InitialPhi = 12,
    /// Topics of tokens in a state file for MALLET. The number leaves a gap for further purposes.
    #[cfg_attr(not(feature = "compression"), allow(dead_code, reason = "used by the export to MALLET"))]
    MalletState = 40,
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

/// Increment of SplitMix64's state: 2^64 divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes the bits of `z`: the output function of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    /// Returns the stream of an item (a document, a topic, …) for a purpose.
    pub(crate) fn new(seed: u64, purpose: Purpose, item: u64) -> Random {
        let key = mix(seed.wrapping_add(GOLDEN_GAMMA)) ^ mix((purpose as u64).wrapping_mul(GOLDEN_GAMMA));
        Random { state: mix(key.wrapping_add(mix(item.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))) }
    }

    /// Returns 64 random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// Returns a uniform number in `0..n`; 0 if `n` is 0. Uses Lemire's multiplication with
    /// rejection, which is exact.
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

    /// Returns a uniform number in [0, 1), a multiple of 2^-53.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Shuffles the items uniformly (Fisher–Yates).
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
        let mut r = Random::new(1, Purpose::InitialTopic, 0);
        let got: Vec<u64> = (0..8).map(|_| r.below(1000)).collect();
        assert_eq!(got, FIRST_EIGHT);
    }
    const FIRST_EIGHT: [u64; 8] = [794, 836, 362, 242, 846, 847, 420, 864];

    #[test]
    fn draws_are_uniform_enough() {
        let mut seen = [0u32; 10];
        for item in 0..100_000 {
            seen[Random::new(7, Purpose::InitialTopic, item).below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (9_650..10_350).contains(&n)), "{seen:?}");
        assert_eq!(Random::new(7, Purpose::InitialTopic, 3).below(0), 0);
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
