//! Options for stop words and the selection of the vocabulary, and statistics about dropped tokens.

/// Stop words to remove.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StopWords {
    /// Stop words of the detected language, if it is a known one.
    #[default]
    Auto,
    /// Stop words that the pipeline already contains, such as those of a model.
    Given,
    /// No stop words.
    None,
    /// Stop words of these languages and of these files (one word per line).
    Lists(Vec<String>),
}

/// Maximum number of documents that may contain a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DocumentLimit {
    /// Absolute number of documents.
    Count(u64),
    /// Fraction of all documents.
    Fraction(f64),
}

/// Selection of the vocabulary.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WordSelection {
    /// Words in fewer documents are dropped. The default is 1 up to 1,000 documents, 3 up to
    /// 100,000, and 5 for more.
    pub min_docs: Option<u64>,
    /// Words in more documents are dropped.
    pub max_docs: Option<DocumentLimit>,
    /// Maximum number of words: those in the most documents are kept.
    pub max_words: Option<u32>,
    /// Minimum score of adjacent words that are joined into phrases of two or three words:
    /// normalised pointwise mutual information, from -1 to 1. `None` disables phrases.
    pub phrases: Option<f64>,
}

impl WordSelection {
    /// Returns the minimum number of documents that must contain a word.
    pub fn min_docs(&self, documents: u64) -> u64 {
        self.min_docs.unwrap_or(match documents {
            0..=1_000 => 1,
            1_001..=100_000 => 3,
            _ => 5,
        })
    }

    /// Returns the maximum number of documents that may contain a word.
    pub fn max_docs(&self, documents: u64) -> u64 {
        match self.max_docs {
            None => u64::MAX,
            Some(DocumentLimit::Count(n)) => n,
            Some(DocumentLimit::Fraction(share)) => (share * documents as f64).floor() as u64,
        }
    }
}

/// How the languages of a text are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LanguageSource {
    /// The languages were given, possibly as those of a model.
    #[default]
    Given,
    /// The languages were detected.
    Detected,
    /// No known language was detected.
    Unknown,
}

/// Languages of a text and what follows from them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextLanguages {
    /// Codes of the languages and their percentages of the inspected documents, the most frequent
    /// one first.
    pub languages: Vec<(String, u32)>,
    /// How the languages are known.
    pub source: LanguageSource,
    /// Whether words without spaces between them were cut into characters, because this build has
    /// no dictionaries.
    pub cut_into_characters: bool,
    /// Whether the text was already segmented by spaces.
    pub presegmented: bool,
}

/// Word and how often it occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordOccurrences {
    /// The word.
    pub word: String,
    /// Number of tokens or documents.
    pub count: u64,
}

/// Numbers of dropped tokens and words by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedTokens {
    /// Languages of the text, which determine the stop words.
    pub languages: TextLanguages,
    /// Number of tokens in the text, including dropped ones.
    pub tokens: u64,
    /// Number of tokens that were too short.
    pub short: u64,
    /// Number of tokens that were too long.
    pub long: u64,
    /// Number of tokens without a letter.
    pub numbers: u64,
    /// Number of tokens that were stop words.
    pub stop: u64,
    /// Number of tokens that were no words: addresses, encoded data, identifiers.
    pub noise: u64,
    /// Most frequent stop words with the numbers of their tokens, the most frequent one first.
    pub stop_words: Vec<WordOccurrences>,
    /// Most frequent words of the vocabulary with the numbers of their documents, if they are in
    /// more than a quarter of all documents.
    pub common_words: Vec<WordOccurrences>,
    /// Number of words in too few documents, and number of their tokens.
    pub rare: (u64, u64),
    /// Number of words in too many documents, and number of their tokens.
    pub frequent: (u64, u64),
    /// Number of words beyond the maximum number of words, and number of their tokens.
    pub over_limit: (u64, u64),
    /// Number of tokens that are not in the given vocabulary.
    pub unknown: u64,
    /// Number of phrases that were found.
    pub phrases: u64,
    /// Number of documents with bytes that were not UTF-8 and were replaced by `\u{fffd}`.
    pub replaced: u64,
    /// Minimum number of documents that had to contain a word.
    pub min_docs: u64,
    /// Number of times that counts were written to disk because they did not fit in memory.
    pub spilled: u64,
}
