//! Options of an import, as data.

use super::words::{Choice, Pipeline, StopWords};
use crate::corpus::Vocabulary;

/// Which parts of a raw input are what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// CSV, Parquet: the columns with text, by name or number from 1.
    pub text_columns: Vec<String>,
    /// CSV, Parquet: the column with the documents' names.
    pub id_column: Option<String>,
    /// CSV, Parquet: the column with their labels.
    pub label_column: Option<String>,
    /// CSV: what stands between columns; recognised where not given.
    pub delimiter: Option<u8>,
    /// CSV: whether the first row names the columns; told by the rows where not given.
    pub header: Option<bool>,
    /// CSV: quotes mean nothing.
    pub no_quotes: bool,
    /// JSON lines: the fields with text, with dots into objects.
    pub text_fields: Vec<String>,
    /// JSON lines: the field with the documents' names.
    pub id_field: Option<String>,
    /// JSON lines: the field with their labels.
    pub label_field: Option<String>,
    /// Folders: only files whose name or path in the folder is like this.
    pub glob: Option<String>,
    /// Bytes that are not UTF-8 are an error.
    pub strict: bool,
}

impl Parts {
    /// Whether a table is meant.
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

    /// Whether JSON lines are meant.
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
    /// From text to words. Its stop words and phrases are found by the import, unless `stop` says that they are given.
    pub pipeline: Pipeline,
    /// Which words are left out.
    pub stop: StopWords,
    /// Which words are kept.
    pub choice: Choice,
    /// The words, where they are given: all others are counted and left out.
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
