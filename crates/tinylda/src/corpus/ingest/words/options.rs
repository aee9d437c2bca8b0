//! Which words are kept, and what was left out.

/// Which words are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StopWords {
    /// Those of the language that the text seems to be in, if it is one that is known.
    #[default]
    Auto,
    /// Those that the pipeline has already: a model's.
    Given,
    /// None.
    None,
    /// Those of these languages, and those in these files (a word per line).
    Of(Vec<String>),
}

/// The most documents that a word may be in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Most {
    /// So many.
    Documents(u64),
    /// This share of all.
    Share(f64),
}

/// Which words are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Choice {
    /// Words in fewer documents are dropped. Where it is not given: 1 up to 1,000 documents, 3 up
    /// to 100,000, else 5.
    pub min_docs: Option<u64>,
    /// Words in more documents are dropped.
    pub max_docs: Option<Most>,
    /// Of the words that are left, so many that are in the most documents.
    pub max_words: Option<u32>,
    /// Words that often stand together are joined, from this score (normalised pointwise mutual
    /// information, -1 to 1).
    pub phrases: Option<f64>,
}

impl Choice {
    /// The fewest documents that a word must be in.
    pub fn least(&self, documents: u64) -> u64 {
        self.min_docs.unwrap_or(match documents {
            0..=1_000 => 1,
            1_001..=100_000 => 3,
            _ => 5,
        })
    }

    /// The most documents that a word may be in.
    pub fn most(&self, documents: u64) -> u64 {
        match self.max_docs {
            None => u64::MAX,
            Some(Most::Documents(n)) => n,
            Some(Most::Share(share)) => (share * documents as f64).floor() as u64,
        }
    }
}

/// What was left out, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Tokens of the text, all of them.
    pub tokens: u64,
    /// Tokens that were too short,
    pub short: u64,
    /// too long,
    pub long: u64,
    /// without a letter,
    pub numbers: u64,
    /// stop words.
    pub stop: u64,
    /// Words in too few documents, and their tokens.
    pub rare: (u64, u64),
    /// Words in too many documents, and their tokens.
    pub frequent: (u64, u64),
    /// Words beyond the number that was asked for, and their tokens.
    pub beyond: (u64, u64),
    /// Tokens that a given vocabulary does not have.
    pub unknown: u64,
    /// Phrases that were found.
    pub phrases: u64,
    /// Documents with bytes that were not UTF-8, replaced by `\u{fffd}`.
    pub replaced: u64,
    /// The fewest documents that a word had to be in.
    pub least: u64,
    /// How often counts were put on disk, for want of memory.
    pub spilled: u64,
}
