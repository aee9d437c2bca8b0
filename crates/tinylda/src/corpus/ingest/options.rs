//! Options of an import as plain data. Nothing here reads an input.

use std::path::Path;

use super::words::{Pipeline, StopWords, WordSelection};
use crate::corpus::Vocabulary;
use crate::error::{Error, Template};

/// Options for reading the records of raw text: where texts, names, labels and dates
/// are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordOptions {
    /// CSV, Parquet: the columns with text, by name or by number from 1.
    pub text_columns: Vec<String>,
    /// CSV, Parquet: the column with the document names.
    pub id_column: Option<String>,
    /// CSV, Parquet: the columns with the document labels.
    pub label_columns: Vec<String>,
    /// CSV, Parquet: the column with the document dates.
    pub date_column: Option<String>,
    /// CSV: the delimiter between columns; detected by default.
    pub delimiter: Option<u8>,
    /// CSV: whether the first row contains the column names; detected by default.
    pub header: Option<bool>,
    /// CSV: whether quotes are ordinary characters.
    pub no_quotes: bool,
    /// JSON: the fields with text. A dot in a path leads into an object.
    pub text_fields: Vec<String>,
    /// JSON: the field with the document names.
    pub id_field: Option<String>,
    /// JSON: the fields with the document labels. A list is several labels.
    pub label_fields: Vec<String>,
    /// JSON: the field with the document dates.
    pub date_field: Option<String>,
    /// Text between the labels of a document in one column or field; `None` if a value is one
    /// label.
    pub label_separator: Option<String>,
    /// Folders: whether the path of a file's folder is the label of the document.
    pub folder_labels: bool,
    /// Folders: a glob pattern that the name of a file, or its path in the folder, must match.
    pub glob: Option<String>,
    /// Name of the encoding of the text, such as `latin1`; detected by default.
    pub encoding: Option<String>,
    /// Whether everything that would be guessed, replaced or skipped is an error: bytes that are
    /// not UTF-8, rows with another number of columns, files that cannot be read.
    pub strict: bool,
}

impl RecordOptions {
    /// Returns the name of the first given option that applies to tables only.
    pub(crate) fn table_option(&self) -> Option<&'static str> {
        first_given(&[
            ("text_column", !self.text_columns.is_empty()),
            ("id_column", self.id_column.is_some()),
            ("label_column", !self.label_columns.is_empty()),
            ("date_column", self.date_column.is_some()),
            ("delimiter", self.delimiter.is_some()),
            ("header", self.header.is_some()),
            ("quotes", self.no_quotes),
        ])
    }

    /// Returns the name of the first given option that applies to JSON Lines only.
    pub(crate) fn json_option(&self) -> Option<&'static str> {
        first_given(&[
            ("text_field", !self.text_fields.is_empty()),
            ("id_field", self.id_field.is_some()),
            ("label_field", !self.label_fields.is_empty()),
            ("date_field", self.date_field.is_some()),
        ])
    }
}

/// Returns the parameter for the same part of a document in the other kind of data: the parameter
/// for JSON of one for tables, and the other way around. `None` if there is none.
fn counterpart(name: &str) -> Option<&'static str> {
    const PAIRS: [(&str, &str); 4] = [
        ("text_column", "text_field"),
        ("id_column", "id_field"),
        ("label_column", "label_field"),
        ("date_column", "date_field"),
    ];
    PAIRS.into_iter().find_map(|(table, json)| match name {
        _ if name == table => Some(json),
        _ if name == json => Some(table),
        _ => None,
    })
}

/// Returns the error for an option for tables that was given with JSON, or the other way around.
/// `format` is the name of the input's format. Returns `None` if the option has no counterpart.
pub(crate) fn other_family_error(option: &'static str, format: &str, input: &Path) -> Option<Error> {
    let other = counterpart(option)?;
    let fitting: &[&str] = if other.ends_with("field") { &["CSV", "TSV", "Parquet"] } else { &["JSON"] };
    let remedy = Template::default().text(format!("{} is {format}, use ", input.display()));
    Some(Error::only_with(option, fitting.iter().copied()).with_remedy(remedy.parameter(other, None)))
}

/// Returns the name of the first given parameter.
fn first_given(all: &[(&'static str, bool)]) -> Option<&'static str> {
    all.iter().find(|&&(_, given)| given).map(|&(name, _)| name)
}

/// Options for turning text into words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextPipeline {
    /// Tokenization and normalization. The import determines languages, stop words and phrases,
    /// unless `stop` is [`StopWords::Given`].
    pub pipeline: Pipeline,
    /// Languages of the text, by code or English name; detected by default.
    pub languages: Option<Vec<String>>,
    /// Whether the segmentation of the pipeline is used as it is. Otherwise text that was already
    /// segmented by spaces is recognized.
    pub fixed_segmentation: bool,
    /// Stop words to remove.
    pub stop: StopWords,
    /// Which words are kept in the vocabulary.
    pub selection: WordSelection,
    /// Fixed vocabulary: all other words are counted and dropped.
    pub vocabulary: Option<Vocabulary>,
}

impl TextPipeline {
    /// Returns the options that process text as it was processed for an existing model or corpus,
    /// with the same vocabulary. Without a pipeline, only whole words are compared.
    pub fn existing(pipeline: Option<&Pipeline>, vocabulary: Vocabulary) -> TextPipeline {
        let stop = if pipeline.is_some() { StopWords::Given } else { StopWords::None };
        TextPipeline {
            pipeline: pipeline.cloned().unwrap_or_else(Pipeline::plain),
            languages: Some(Vec::new()),
            fixed_segmentation: true,
            stop,
            selection: WordSelection::default(),
            vocabulary: Some(vocabulary),
        }
    }

    /// Returns the name of the first parameter that differs from its default.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let defaults = TextPipeline::default();
        let (given, selection, plain) = (&self.pipeline, &self.selection, &defaults.pipeline);
        first_given(&[
            ("token_pattern", given.tokens != plain.tokens),
            ("keep_case", given.keep_case),
            ("fold_accents", given.fold_accents),
            ("min_length", given.min_length != plain.min_length),
            ("max_length", given.max_length != plain.max_length),
            ("numbers", given.keep_numbers),
            ("noise", given.drop_noise != plain.drop_noise),
            ("language", self.languages.is_some()),
            ("segmentation", self.fixed_segmentation || given.segmentation != plain.segmentation),
            ("stem", given.stem.is_some()),
            ("min_docs", selection.min_docs.is_some()),
            ("max_docs", selection.max_docs.is_some()),
            ("max_words", selection.max_words.is_some()),
            ("phrases", selection.phrases.is_some()),
            ("vocabulary", self.vocabulary.is_some()),
            ("stop_words", *self != defaults),
        ])
    }
}

/// Columns of a Parquet file that contain words.
#[derive(Debug, Clone, Default)]
pub struct TableColumns {
    /// Column with lists of words, one document per row.
    pub tokens: Option<String>,
    /// Column with the document names, for a table with lists of words.
    pub id: Option<String>,
    /// Column with the document, for a table with one row per document and word.
    pub document: Option<String>,
    /// Column with the word, for a table with one row per document and word.
    pub word: Option<String>,
    /// Column with the count, for a table with one row per document and word. Without it every row
    /// counts as one occurrence.
    pub count: Option<String>,
}

/// Names of columns and fields that usually contain the text, the most specific ones first. They
/// are in lower case and without blanks, hyphens, underscores and dots.
const TEXT_NAMES: [&str; 48] = [
    "text",
    "fulltext",
    "rawtext",
    "body",
    "bodytext",
    "selftext",
    "content",
    "contents",
    "article",
    "abstract",
    "document",
    "message",
    "review",
    "comment",
    "comments",
    "post",
    "tweet",
    "speech",
    "transcript",
    "transcription",
    "transcripttext",
    "lyrics",
    "story",
    "essay",
    "passage",
    "paragraph",
    "sentence",
    "utterance",
    "description",
    "summary",
    "feedback",
    "answer",
    "response",
    "reply",
    "note",
    "notes",
    "remarks",
    "plot",
    "synopsis",
    "texte",
    "texto",
    "testo",
    "tekst",
    "inhalt",
    "contenu",
    "contenido",
    "metin",
    "текст",
];

/// Returns how specific the name of a column or field is for one with the text, smaller for more
/// specific names; `None` if such a column usually contains something else.
pub(super) fn text_name_rank(name: &str) -> Option<usize> {
    let name = name.trim().trim_matches('"').to_lowercase();
    let is_separator = |c: char| c.is_whitespace() || matches!(c, '_' | '-' | '.');
    let plain: String = name.chars().filter(|&c| !is_separator(c)).collect();
    let listed = TEXT_NAMES.iter().position(|&known| known == plain);
    // Names such as `review_text` and `Tweet text`.
    let composed = name.rsplit(is_separator).next() == Some("text");
    listed.or(composed.then_some(1))
}

/// Returns whether a column of this name usually contains the text.
pub(super) fn is_text_name(name: &str) -> bool {
    text_name_rank(name).is_some()
}
