//! How much memory a training will take: integer arithmetic only, so that a table can test it.

use crate::algo::{Active, Algorithm};
use crate::corpus::Shape;
use crate::error::{Error, Result};
use crate::kernel::{LANES, Lanes};

/// Bytes that a training holds, by what they hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The documents, packed as in their file: about 2 bytes per non-zero.
    pub corpus: u64,
    /// theta: 4 K bytes per document; or, with `tbp`, the messages: about 10 bytes per non-zero, and in the first passes up to
    /// 33.
    pub theta: u64,
    /// phi, and a second matrix of that size where the algorithm needs one: 4 K bytes per word, K rounded up to 16.
    pub phi: u64,
    /// Word totals, vocabulary, the order of the documents, buffers and the program itself.
    pub rest: u64,
}

impl Plan {
    /// The plan for K topics on a corpus, whose file has so many bytes of documents and of strings.
    pub fn new(
        shape: Shape,
        (packed, strings): (u64, u64),
        topics: u32,
        algorithm: Algorithm,
        active: Active,
    ) -> Plan {
        let row = u64::from(topics).div_ceil(LANES as u64).saturating_mul(size_of::<Lanes>() as u64);
        let documents = shape.documents;
        let (theta, buffers) = if algorithm.small_messages() {
            // A message has rarely more parts than this, and a document's list rarely more topics.
            let parts = u64::from(topics).min(if active == Active::All { 64 } else { 16 });
            let list = (active.most(topics) as u64).min(128);
            let messages = shape.nonzeros.saturating_mul(1 + 2 * parts);
            // What a piece of the corpus changes: two lists of parts, eight bytes each, and room for them to grow.
            let piece = (shape.nonzeros / 32).clamp(1, 1 << 17).saturating_mul(parts * 24);
            (messages.saturating_add(documents.saturating_mul(4 * list)), piece)
        } else {
            (documents.saturating_mul(4).saturating_mul(u64::from(topics)), 0)
        };
        Plan {
            // Packed in shorter runs than in the file.
            corpus: packed.saturating_add(packed / 4),
            theta,
            phi: u64::from(shape.words).saturating_mul(row).saturating_mul(algorithm.matrices()),
            rest: (16u64 << 20)
                .saturating_add(36 * u64::from(shape.words))
                .saturating_add(strings.saturating_mul(2))
                .saturating_add(documents.saturating_mul(8))
                // A block of the file, unpacked, and once more in pieces.
                .saturating_add(4 << 20)
                .saturating_add(row.saturating_mul(8))
                .saturating_add(buffers),
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        [self.theta, self.phi, self.rest].iter().fold(self.corpus, |sum, &bytes| sum.saturating_add(bytes))
    }

    /// Refuses where it does not fit in `have` bytes, and says what would.
    pub fn check(&self, topics: u32, have: u64) -> Result<()> {
        let need = self.total();
        if need <= have {
            return Ok(());
        }
        let fixed = self.corpus.saturating_add(self.rest);
        let per_topic = (self.theta.saturating_add(self.phi) / u64::from(topics.max(1))).max(1);
        let possible = have.saturating_sub(fixed) / per_topic;
        let remedy = if possible >= 2 {
            format!("With -k {possible} it would fit, or on a machine with more memory.")
        } else {
            format!(
                "The corpus alone needs {}: use a smaller one, or a machine with more memory.",
                human_bytes(fixed)
            )
        };
        Err(Error::Memory { need, have, remedy })
    }
}

/// Bytes as people write them: `1.5 GiB`.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = bytes.ilog2() / 10;
    format!("{:.1} {}", bytes as f64 / (1u64 << (10 * power)) as f64, UNITS[power as usize - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBMED: Shape =
        Shape { documents: 8_200_000, words: 141_043, nonzeros: 483_450_157, tokens: 737_869_083 };

    #[test]
    fn the_table() {
        let plan = Plan::new(PUBMED, (1 << 30, 1 << 20), 100, Algorithm::Stbp, Active::Auto);
        assert_eq!(plan.corpus, 5 << 28);
        assert_eq!(plan.theta, 8_200_000 * 400);
        assert_eq!(plan.phi, 141_043 * 448 * 2);
        assert_eq!(Plan::new(PUBMED, (1 << 30, 0), 100, Algorithm::Atbp, Active::Auto).phi, 141_043 * 448);
        let ours = |topics, active| Plan::new(PUBMED, (1 << 30, 0), topics, Algorithm::Tbp, active);
        assert_eq!(ours(100, Active::Auto).corpus, plan.corpus);
        assert_eq!(ours(500, Active::Auto).theta, 33 * 483_450_157 + 8_200_000 * 4 * 128);
        assert_eq!(ours(500, Active::AtMost(20)).theta, 33 * 483_450_157 + 8_200_000 * 4 * 20);
        assert_eq!(ours(5, Active::Auto).theta, 11 * 483_450_157 + 8_200_000 * 4 * 5);
        assert_eq!(ours(100, Active::Auto).phi, 141_043 * 448);
        assert!(plan.check(100, plan.total()).is_ok());
        let text = plan.check(100, 4 << 30).unwrap_err().to_string();
        assert!(text.contains("With -k 8") && text.contains("4.0 GiB"), "{text}");
        let text = plan.check(100, 1 << 30).unwrap_err().to_string();
        assert!(text.contains("corpus alone"), "{text}");
    }

    #[test]
    fn sizes_past_32_and_64_bits_do_not_wrap() {
        let huge = Shape { documents: 1 << 40, words: u32::MAX, nonzeros: 1 << 50, tokens: 1 << 60 };
        let plan = Plan::new(huge, (1 << 52, 0), u32::MAX, Algorithm::Stbp, Active::Auto);
        assert_eq!(plan.total(), u64::MAX);
        assert!(plan.check(u32::MAX, 1 << 40).is_err());
        assert_eq!(Plan::new(huge, (1 << 52, 0), 10, Algorithm::Atbp, Active::Auto).corpus, 5 << 50);
    }

    #[test]
    fn bytes_for_people() {
        assert_eq!(human_bytes(0), "0 B");
        assert_eq!(human_bytes(1023), "1023 B");
        assert_eq!(human_bytes(1536), "1.5 KiB");
        assert_eq!(human_bytes(u64::MAX), "16.0 EiB");
    }
}
