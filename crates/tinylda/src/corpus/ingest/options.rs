//! Options of an import, as data.

use super::words::{Choice, Pipeline, StopWords};
use crate::corpus::Vocabulary;

/// Where the texts, names and labels are in a raw input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// CSV, Parquet: the columns with text, by name or number from 1.
    pub text_columns: Vec<String>,
    /// CSV, Parquet: the column with the documents' names.
    pub id_column: Option<String>,
    /// CSV, Parquet: the column with their labels.
    pub label_column: Option<String>,
    /// CSV: the delimiter of columns; detected by default.
    pub delimiter: Option<u8>,
    /// CSV: whether the first row contains the column names; detected by default.
    pub header: Option<bool>,
    /// CSV: quotes have no meaning.
    pub no_quotes: bool,
    /// JSON lines: the fields with text, with dots into objects.
    pub text_fields: Vec<String>,
    /// JSON lines: the field with the documents' names.
    pub id_field: Option<String>,
    /// JSON lines: the field with their labels.
    pub label_field: Option<String>,
    /// Folders: a pattern that the name of a file, or its path in the folder, must match.
    pub glob: Option<String>,
    /// Bytes that are not UTF-8 are an error.
    pub strict: bool,
}

impl Parts {
    /// The first option that is given and applies to tables only.
    pub(crate) fn of_table(&self) -> Option<&'static str> {
        first_given(&[
            ("text_column", !self.text_columns.is_empty()),
            ("id_column", self.id_column.is_some()),
            ("label_column", self.label_column.is_some()),
            ("delimiter", self.delimiter.is_some()),
            ("header", self.header.is_some()),
            ("quotes", self.no_quotes),
        ])
    }

    /// The first option that is given and applies to JSON lines only.
    pub(crate) fn of_json(&self) -> Option<&'static str> {
        first_given(&[
            ("text_field", !self.text_fields.is_empty()),
            ("id_field", self.id_field.is_some()),
            ("label_field", self.label_field.is_some()),
        ])
    }
}

/// The name of the first parameter that is given.
fn first_given(all: &[(&'static str, bool)]) -> Option<&'static str> {
    all.iter().find(|&&(_, given)| given).map(|&(name, _)| name)
}

/// How text becomes words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextPipeline {
    /// Tokenization and normalization. The import determines stop words and phrases, unless `stop`
    /// is [`StopWords::Given`].
    pub pipeline: Pipeline,
    /// Which words are left out.
    pub stop: StopWords,
    /// Which words are kept.
    pub choice: Choice,
    /// A fixed vocabulary: all other words are counted and dropped.
    pub vocabulary: Option<Vocabulary>,
}

impl TextPipeline {
    /// The first parameter that differs from its default.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let usual = TextPipeline::default();
        let (own, choice, plain) = (&self.pipeline, &self.choice, &usual.pipeline);
        first_given(&[
            ("token_pattern", own.tokens != plain.tokens),
            ("keep_case", own.keep_case),
            ("fold_accents", own.fold_accents),
            ("min_length", own.min_length != plain.min_length),
            ("max_length", own.max_length != plain.max_length),
            ("numbers", own.keep_numbers),
            ("stem", own.stem.is_some()),
            ("min_docs", choice.min_docs.is_some()),
            ("max_docs", choice.max_docs.is_some()),
            ("max_words", choice.max_words.is_some()),
            ("phrases", choice.phrases.is_some()),
            ("vocabulary", self.vocabulary.is_some()),
            ("stop_words", *self != usual),
        ])
    }
}

/// Which columns of a Parquet file hold what.
#[derive(Debug, Clone, Default)]
pub struct TableColumns {
    /// Lists of words, a document per row.
    pub tokens: Option<String>,
    /// With lists of words: the documents' names.
    pub id: Option<String>,
    /// A row per document and word: the document,
    pub document: Option<String>,
    /// the word,
    pub word: Option<String>,
    /// and how often it occurs there; once where there is no such column.
    pub count: Option<String>,
}

/// Whether a column of this name usually holds the text.
pub(super) fn is_text_name(name: &str) -> bool {
    const NAMES: [&str; 7] = ["text", "body", "content", "abstract", "document", "message", "description"];
    NAMES.contains(&name.trim_matches('"').to_lowercase().as_str())
}
