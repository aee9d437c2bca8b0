//! The options for text: which parts of the input are what, and what becomes of the words. `import` and `train` share them.

use std::path::{Path, PathBuf};

use clap::Args;
use tinylda::corpus::ingest::words::{Choice, Most, Pipeline, StopWords, Tokens};
use tinylda::corpus::ingest::{DetectedInput, InputKind, Parts, TextPipeline};
use tinylda::error::Template;
use tinylda::{Corpus, Error, Model, Vocabulary};

use crate::commands::usage;

use super::Format;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Header {
    /// The first row names the columns
    Yes,
    /// It is a document like the others
    No,
    /// Told by what stands there
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum YesNo {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Numbers {
    Keep,
    Drop,
}

/// How raw text is read, and what becomes of its words.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Text")]
#[allow(clippy::struct_field_names, reason = "fields are named as the options")]
pub(crate) struct Words {
    /// The data's format; recognised from its first lines where not given
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// CSV, TSV, Parquet: the column with the text, by name or number from 1; several are joined
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    text_column: Vec<String>,
    /// CSV, TSV, Parquet: the column with the documents' names
    #[arg(long, value_name = "COLUMN")]
    id_column: Option<String>,
    /// CSV, TSV, Parquet: the column with the documents' labels
    #[arg(long, value_name = "COLUMN")]
    label_column: Option<String>,
    /// CSV, TSV: what stands between columns: a character, or tab [default: as the first line has it]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// CSV, TSV: whether the first row names the columns [default: auto]
    #[arg(long, value_enum)]
    header: Option<Header>,
    /// CSV, TSV: whether "..." encloses fields [default: yes]
    #[arg(long, value_enum)]
    quotes: Option<YesNo>,
    /// JSON lines: the field with the text, such as text or article.body; several are joined [default: text]
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    text_field: Vec<String>,
    /// JSON lines: the field with the documents' names
    #[arg(long, value_name = "FIELD")]
    id_field: Option<String>,
    /// JSON lines: the field with the documents' labels
    #[arg(long, value_name = "FIELD")]
    label_field: Option<String>,
    /// Folders: only files like this, such as '*.txt'
    #[arg(long, value_name = "PATTERN")]
    glob: Option<String>,
    /// Refuse text that is not UTF-8, instead of replacing what cannot be read
    #[arg(long)]
    strict: bool,
    /// A word is what this regular expression finds [default: Unicode's rules, UAX 29]
    #[arg(long, value_name = "REGEX")]
    token_pattern: Option<String>,
    /// Keep upper case
    #[arg(long)]
    keep_case: bool,
    /// Take accents away: é becomes e
    #[arg(long)]
    fold_accents: bool,
    /// The shortest word, in characters [default: 1]
    #[arg(long, value_name = "N")]
    min_length: Option<u32>,
    /// The longest word, in characters [default: 100]
    #[arg(long, value_name = "N")]
    max_length: Option<u32>,
    /// What becomes of words without a letter [default: drop]
    #[arg(long, value_enum)]
    numbers: Option<Numbers>,
    /// Leave out the stop words of languages (en,de) or of a file; none keeps all [default: those of the language that the
    /// text seems to be in]
    #[arg(long, value_name = "LANGUAGES|FILE", value_delimiter = ',')]
    stop_words: Vec<String>,
    /// Cut words to their stems, in this language, such as en
    #[arg(long, value_name = "LANGUAGE")]
    stem: Option<String>,
    /// Drop words in fewer documents [default: 1 up to 1,000 documents, 3 up to 100,000, else 5]
    #[arg(long, value_name = "N")]
    min_docs: Option<u64>,
    /// Drop words in more documents: a number, or a share such as 50%
    #[arg(long, value_name = "N|SHARE", value_parser = most)]
    max_docs: Option<Most>,
    /// Keep so many words, those that are in the most documents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_words: Option<u32>,
    /// Join words that belong together, such as new_york: those with at least this score (normalised pointwise mutual
    /// information, up to 1) and 10 occurrences
    #[arg(long, value_name = "SCORE", num_args = 0..=1, require_equals = true, default_missing_value = "0.5", value_parser = score)]
    phrases: Option<f64>,
    /// Use the words of this file (one per line), or of a model or corpus together with its treatment of text; others are
    /// counted and left out
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, &[b]) if b.is_ascii() && b != b'"' && b != b'\n' && b != b'\r' => Ok(b),
        _ => Err("expected one character, or tab".into()),
    }
}

fn most(text: &str) -> Result<Most, String> {
    let wrong = || "expected a number of documents, or a share such as 50%".to_owned();
    if let Some(percent) = text.strip_suffix('%') {
        let share = percent.trim().parse::<f64>().ok().filter(|v| *v > 0.0 && *v <= 100.0);
        return share.map(|v| Most::Share(v / 100.0)).ok_or_else(wrong);
    }
    if let Ok(n) = text.parse::<u64>() {
        return Ok(Most::Documents(n));
    }
    text.parse::<f64>().ok().filter(|v| *v > 0.0 && *v < 1.0).map(Most::Share).ok_or_else(wrong)
}

fn score(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|v| (-1.0..=1.0).contains(v));
    value.ok_or_else(|| "expected a number from -1 to 1".into())
}

impl Words {
    /// Whether any of the options was given.
    pub(crate) fn given(&self) -> bool {
        *self != Words::default()
    }

    /// Which parts of the input are what.
    pub(crate) fn parts(&self) -> Parts {
        Parts {
            text_columns: self.text_column.clone(),
            id_column: self.id_column.clone(),
            label_column: self.label_column.clone(),
            delimiter: self.delimiter,
            header: self.header.and_then(|header| match header {
                Header::Yes => Some(true),
                Header::No => Some(false),
                Header::Auto => None,
            }),
            no_quotes: self.quotes == Some(YesNo::No),
            text_fields: self.text_field.clone(),
            id_field: self.id_field.clone(),
            label_field: self.label_field.clone(),
            glob: self.glob.clone(),
            strict: self.strict,
        }
    }

    /// What becomes of the words.
    pub(crate) fn treatment(&self) -> anyhow::Result<TextPipeline> {
        let vocabulary = match &self.vocabulary {
            None => None,
            Some(path) => {
                let input = vocabulary_input(path)?;
                match input.kind() {
                    InputKind::Model => {
                        let model = Model::load(path)?;
                        return self.like(path, model.pipeline(), model.vocabulary().cloned());
                    }
                    InputKind::Corpus => {
                        let corpus = Corpus::open(path)?;
                        return self.like(path, corpus.about()?.pipeline.as_ref(), corpus.vocabulary()?);
                    }
                    _ => Some(input.read_vocabulary()?),
                }
            }
        };
        let plain = Pipeline::default();
        let stop = match &self.stop_words[..] {
            [] => StopWords::Auto,
            [none] if none == "none" => StopWords::None,
            some => StopWords::Of(some.to_vec()),
        };
        let pipeline = Pipeline {
            tokens: self.token_pattern.clone().map_or(Tokens::Unicode, Tokens::Pattern),
            keep_case: self.keep_case,
            fold_accents: self.fold_accents,
            min_length: self.min_length.unwrap_or(plain.min_length),
            max_length: self.max_length.unwrap_or(plain.max_length),
            keep_numbers: self.numbers == Some(Numbers::Keep),
            stem: self.stem.clone(),
            ..plain
        };
        let choice = Choice {
            min_docs: self.min_docs,
            max_docs: self.max_docs,
            max_words: self.max_words,
            phrases: self.phrases,
        };
        if vocabulary.is_some() && choice != Choice::default() {
            let others = "{min_docs}, {max_docs}, {max_words} or {phrases}";
            return Err(Error::conflict("vocabulary", others)
                .with_remedy("all words of a given vocabulary are kept")
                .into());
        }
        Ok(TextPipeline { pipeline, stop, choice, vocabulary })
    }

    /// Whether it is said what becomes of words.
    fn treats(&self) -> bool {
        let own = Words {
            token_pattern: self.token_pattern.clone(),
            keep_case: self.keep_case,
            fold_accents: self.fold_accents,
            min_length: self.min_length,
            max_length: self.max_length,
            numbers: self.numbers,
            stop_words: self.stop_words.clone(),
            stem: self.stem.clone(),
            min_docs: self.min_docs,
            max_docs: self.max_docs,
            max_words: self.max_words,
            phrases: self.phrases,
            ..Words::default()
        };
        own.given()
    }

    /// Refuses to be told what becomes of words, where a model says it.
    pub(crate) fn nothing_of_treatment(&self) -> anyhow::Result<()> {
        if self.treats() || self.vocabulary.is_some() {
            return Err(usage(
                "options for words, such as --stop-words and --vocabulary, cannot be combined with a model; \
                 text is processed as for the model's training",
            ));
        }
        Ok(())
    }

    /// The treatment that the words of a model or corpus have had.
    fn like(
        &self,
        path: &Path,
        pipeline: Option<&Pipeline>,
        vocabulary: Option<Vocabulary>,
    ) -> anyhow::Result<TextPipeline> {
        if self.treats() && pipeline.is_some() {
            return Err(Error::conflict(
                "vocabulary",
                "options for words, such as {stop_words} and {min_docs}",
            )
            .with_remedy(Template::from("text is processed as it was for ").text(path.display().to_string()))
            .into());
        }
        let Some(vocabulary) = vocabulary else {
            let reason = Template::default().text(path.display().to_string()).text(" has no vocabulary");
            return Err(Error::unsupported("vocabulary", reason).into());
        };
        Ok(as_before(pipeline, vocabulary))
    }
}

/// Opens the file of `--vocabulary`.
fn vocabulary_input(path: &Path) -> anyhow::Result<DetectedInput> {
    if path == Path::new("-") {
        return Err(usage("--vocabulary must be a file; only documents can come from standard input"));
    }
    Ok(DetectedInput::open(path)?)
}

/// Text as it was treated before, on the words of then.
pub(crate) fn as_before(pipeline: Option<&Pipeline>, vocabulary: Vocabulary) -> TextPipeline {
    let stop = if pipeline.is_some() { StopWords::Given } else { StopWords::None };
    TextPipeline {
        pipeline: pipeline.cloned().unwrap_or_default(),
        stop,
        choice: Choice::default(),
        vocabulary: Some(vocabulary),
    }
}
