//! Options for text: which parts of the input are text, names, labels and dates, and how text
//! becomes words.
//!
//! All commands that accept data in place of a corpus file share them.
//! [`TextArgs::record_options`] and [`TextArgs::pipeline`] convert them into the library's types.

use std::path::{Path, PathBuf};

use clap::Args;
use tinylda::corpus::ingest::words::{
    DocumentLimit, Pipeline, Segmentation, StopWords, TokenRule, WordSelection,
};
use tinylda::corpus::ingest::{DetectedInput, InputKind, RecordOptions, TextPipeline};
use tinylda::error::Template;
use tinylda::{Corpus, Error, Model, Vocabulary};

use crate::commands::usage;

use super::InputFormat;
use super::heading::{INPUT, TEXT};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Header {
    /// The first row contains the names of the columns
    Yes,
    /// The first row is a document
    No,
    /// Detect automatically
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LabelSource {
    /// The path of the file's folder in INPUT
    Folder,
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

/// How text without spaces between words is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SegmentationArg {
    /// By dictionary, or by spaces if the text was segmented before
    Auto,
    /// By dictionary
    Dictionary,
    /// By spaces
    Spaces,
    /// Every character is a word
    None,
}

/// Options for reading text and for turning it into words.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[allow(clippy::struct_field_names, reason = "fields are named as the options")]
pub(crate) struct TextArgs {
    /// Format of the data [default: detected from its content]
    #[arg(long, value_enum, help_heading = INPUT, hide_short_help = true)]
    pub(crate) format: Option<InputFormat>,
    /// CSV, TSV, Parquet: column with the text, by name or number from 1; several columns are
    /// joined [default: a column with a usual name, such as text, body or review]
    #[arg(long, value_name = "COLUMN", help_heading = INPUT, value_delimiter = ',')]
    text_column: Vec<String>,
    /// CSV, TSV, Parquet: column with the names of the documents
    #[arg(long, value_name = "COLUMN", help_heading = INPUT, hide_short_help = true)]
    id_column: Option<String>,
    /// CSV, TSV, Parquet: column with labels of the documents; repeat it for several columns
    #[arg(long, value_name = "COLUMN", help_heading = INPUT, hide_short_help = true)]
    label_column: Vec<String>,
    /// CSV, TSV, Parquet: column with the dates of the documents: ISO dates, years or Unix times
    #[arg(long, value_name = "COLUMN", help_heading = INPUT, hide_short_help = true)]
    date_column: Option<String>,
    /// CSV, TSV: delimiter between columns: one character, or tab [default: detected]
    #[arg(long, value_name = "CHAR", help_heading = INPUT, hide_short_help = true, value_parser = parse_delimiter)]
    delimiter: Option<u8>,
    /// CSV, TSV: whether the first row contains the names of the columns [default: auto]
    #[arg(long, value_enum, help_heading = INPUT, hide_short_help = true)]
    header: Option<Header>,
    /// CSV, TSV: whether fields may be enclosed in double quotes [default: yes]
    #[arg(long, value_enum, help_heading = INPUT, hide_short_help = true)]
    quotes: Option<YesNo>,
    /// JSON: field with the text, such as text or article.body; several fields are joined [default:
    /// a field with a usual name, such as text, body or review]
    #[arg(long, value_name = "FIELD", help_heading = INPUT, value_delimiter = ',')]
    text_field: Vec<String>,
    /// JSON: field with the names of the documents
    #[arg(long, value_name = "FIELD", help_heading = INPUT, hide_short_help = true)]
    id_field: Option<String>,
    /// JSON: field with labels of the documents, one or a list; repeat it for several fields
    #[arg(long, value_name = "FIELD", help_heading = INPUT, hide_short_help = true)]
    label_field: Vec<String>,
    /// JSON: field with the dates of the documents
    #[arg(long, value_name = "FIELD", help_heading = INPUT, hide_short_help = true)]
    date_field: Option<String>,
    /// Text that separates several labels in one column or field, such as ';'
    #[arg(long, value_name = "TEXT", help_heading = INPUT, hide_short_help = true, value_parser = parse_separator)]
    label_separator: Option<String>,
    /// Folders: use the subfolder of each file as its label
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = INPUT, hide_short_help = true)]
    label_from: Option<LabelSource>,
    /// Folders, zip archives: read only files whose names match PATTERN, such as '*.txt'
    #[arg(long, value_name = "PATTERN", help_heading = INPUT, hide_short_help = true)]
    glob: Option<String>,
    /// Encoding of the text, such as utf-8, latin1, windows-1251, shift_jis or utf-16 [default:
    /// detected]
    #[arg(long, value_name = "NAME", help_heading = INPUT)]
    encoding: Option<String>,
    /// Reject what is guessed or skipped otherwise: invalid UTF-8, rows with another number of
    /// columns, dates and files that cannot be read
    #[arg(long, help_heading = INPUT, hide_short_help = true)]
    strict: bool,
    /// Language of the text, such as en or German; several by commas, or none [default: detected]
    ///
    /// It selects the stop words, the lower case of I (Turkish), and what belongs to a word: god's
    /// becomes god in English, l'eau becomes eau in French.
    #[arg(long, value_name = "LANGUAGE", help_heading = TEXT, value_delimiter = ',')]
    language: Vec<String>,
    /// Regular expression whose matches are the words [default: Unicode word boundaries, UAX 29]
    ///
    /// With it, every match is a word: nothing is dropped as noise, split or shortened.
    #[arg(long, value_name = "REGEX", help_heading = TEXT, hide_short_help = true)]
    token_pattern: Option<String>,
    /// Do not convert words to lower case
    #[arg(long, help_heading = TEXT, hide_short_help = true)]
    keep_case: bool,
    /// Remove accents: é becomes e
    #[arg(long, help_heading = TEXT, hide_short_help = true)]
    fold_accents: bool,
    /// Minimum length of a word, in characters [default: 2 for letters, 1 for Chinese characters
    /// and Korean syllables; 1 with --token-pattern or --noise keep]
    #[arg(long, value_name = "N", help_heading = TEXT, hide_short_help = true)]
    min_length: Option<u32>,
    /// Maximum length of a word, in characters [default: 100]
    #[arg(long, value_name = "N", help_heading = TEXT, hide_short_help = true)]
    max_length: Option<u32>,
    /// Whether to keep or drop words without a letter [default: drop]
    #[arg(long, value_enum, help_heading = TEXT, hide_short_help = true)]
    numbers: Option<Numbers>,
    /// Whether to keep or drop tokens that are not words: addresses, host names, encoded data,
    /// identifiers such as 4a9f3c, single letters [default: drop]
    #[arg(long, value_enum, help_heading = TEXT, hide_short_help = true, conflicts_with = "token_pattern")]
    noise: Option<Numbers>,
    /// How to split Chinese, Japanese, Thai, Lao, Burmese and Khmer into words [default: auto]
    #[arg(long, value_enum, help_heading = TEXT, hide_short_help = true, conflicts_with = "token_pattern")]
    segmentation: Option<SegmentationArg>,
    /// Remove stop words: languages such as en,de, long lists such as en-long, files with one word
    /// per line, or none; several by commas; a file alone replaces the default list, en,my.txt
    /// extends that of English [default: those of the detected language]
    ///
    /// `tinylda stop-words` prints the lists.
    #[arg(long, value_name = "LANGUAGES|FILE", help_heading = TEXT, value_delimiter = ',')]
    stop_words: Vec<String>,
    /// Reduce words to their stems, in this language, such as en
    #[arg(long, value_name = "LANGUAGE", help_heading = TEXT, hide_short_help = true)]
    stem: Option<String>,
    /// Drop words that occur in fewer than N documents [default: 1 for up to 1,000 documents, 3 for
    /// up to 100,000, else 5]
    #[arg(long, value_name = "N", help_heading = TEXT, hide_short_help = true)]
    min_docs: Option<u64>,
    /// Drop words that occur in more documents than this: a number, or a fraction such as 0.5
    /// or 50%
    #[arg(long, value_name = "N|PERCENT", help_heading = TEXT, hide_short_help = true, value_parser = parse_max_docs)]
    max_docs: Option<DocumentLimit>,
    /// Keep only the N words that occur in the most documents
    #[arg(long, value_name = "N", help_heading = TEXT, hide_short_help = true, value_parser = super::whole_number::<u32>(1, u32::MAX))]
    max_words: Option<u32>,
    /// Join words that often follow each other into phrases of two or three, such as new_york_times
    ///
    /// SCORE is the minimum normalized pointwise mutual information, at most 1 [default if given
    /// without a value: 0.5]. A phrase must occur at least 10 times.
    #[arg(long, value_name = "SCORE", help_heading = TEXT, num_args = 0..=1, require_equals = true, default_missing_value = "0.5", value_parser = parse_score)]
    phrases: Option<f64>,
    /// Use a fixed vocabulary: a file with one word per line, or that of a model or corpus
    ///
    /// Other words are counted and ignored. With a model or corpus, text is processed in the same
    /// way as for that model or corpus.
    #[arg(long, value_name = "FILE", help_heading = TEXT, hide_short_help = true)]
    vocabulary: Option<PathBuf>,
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, &[b]) if b.is_ascii() && b != b'"' && b != b'\n' && b != b'\r' => Ok(b),
        _ => Err("expected one character, or tab".into()),
    }
}

fn parse_separator(text: &str) -> Result<String, String> {
    match text {
        "" => Err("expected the text between two labels, such as ;".into()),
        "tab" | "\\t" => Ok("\t".into()),
        _ => Ok(text.into()),
    }
}

fn parse_max_docs(text: &str) -> Result<DocumentLimit, String> {
    let invalid = || "expected a number of documents, or a fraction such as 0.5 or 50%".to_owned();
    if let Some(percent) = text.strip_suffix('%') {
        let share = percent.trim().parse::<f64>().ok().filter(|v| *v > 0.0 && *v <= 100.0);
        return share.map(|v| DocumentLimit::Fraction(v / 100.0)).ok_or_else(invalid);
    }
    if let Ok(n) = text.parse::<u64>() {
        return Ok(DocumentLimit::Count(n));
    }
    text.parse::<f64>().ok().filter(|v| *v > 0.0 && *v < 1.0).map(DocumentLimit::Fraction).ok_or_else(invalid)
}

fn parse_score(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|v| (-1.0..=1.0).contains(v));
    value.ok_or_else(|| "expected a number from -1 to 1".into())
}

impl TextArgs {
    /// Returns whether any of the options was given.
    pub(crate) fn is_given(&self) -> bool {
        *self != TextArgs::default()
    }

    /// Returns the flag of the first option that was given.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let options = [
            ("--format", self.format.is_some()),
            ("--text-column", !self.text_column.is_empty()),
            ("--id-column", self.id_column.is_some()),
            ("--label-column", !self.label_column.is_empty()),
            ("--date-column", self.date_column.is_some()),
            ("--delimiter", self.delimiter.is_some()),
            ("--header", self.header.is_some()),
            ("--quotes", self.quotes.is_some()),
            ("--text-field", !self.text_field.is_empty()),
            ("--id-field", self.id_field.is_some()),
            ("--label-field", !self.label_field.is_empty()),
            ("--date-field", self.date_field.is_some()),
            ("--label-separator", self.label_separator.is_some()),
            ("--label-from", self.label_from.is_some()),
            ("--glob", self.glob.is_some()),
            ("--encoding", self.encoding.is_some()),
            ("--strict", self.strict),
            ("--language", !self.language.is_empty()),
            ("--token-pattern", self.token_pattern.is_some()),
            ("--keep-case", self.keep_case),
            ("--fold-accents", self.fold_accents),
            ("--min-length", self.min_length.is_some()),
            ("--max-length", self.max_length.is_some()),
            ("--numbers", self.numbers.is_some()),
            ("--noise", self.noise.is_some()),
            ("--segmentation", self.segmentation.is_some()),
            ("--stop-words", !self.stop_words.is_empty()),
            ("--stem", self.stem.is_some()),
            ("--min-docs", self.min_docs.is_some()),
            ("--max-docs", self.max_docs.is_some()),
            ("--max-words", self.max_words.is_some()),
            ("--phrases", self.phrases.is_some()),
            ("--vocabulary", self.vocabulary.is_some()),
        ];
        options.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// Returns which parts of the input are text, names, labels and dates.
    pub(crate) fn record_options(&self) -> RecordOptions {
        RecordOptions {
            text_columns: self.text_column.clone(),
            id_column: self.id_column.clone(),
            label_columns: self.label_column.clone(),
            date_column: self.date_column.clone(),
            delimiter: self.delimiter,
            header: self.header.and_then(|header| match header {
                Header::Yes => Some(true),
                Header::No => Some(false),
                Header::Auto => None,
            }),
            no_quotes: self.quotes == Some(YesNo::No),
            text_fields: self.text_field.clone(),
            id_field: self.id_field.clone(),
            label_fields: self.label_field.clone(),
            date_field: self.date_field.clone(),
            label_separator: self.label_separator.clone(),
            folder_labels: self.label_from == Some(LabelSource::Folder),
            glob: self.glob.clone(),
            encoding: self.encoding.clone(),
            strict: self.strict,
        }
    }

    /// Returns how text is turned into words.
    pub(crate) fn pipeline(&self) -> anyhow::Result<TextPipeline> {
        let vocabulary = match &self.vocabulary {
            None => None,
            Some(path) => {
                let input = open_vocabulary(path)?;
                match input.kind() {
                    InputKind::Model => {
                        let model = Model::load(path)?;
                        return self.pipeline_of(path, model.pipeline(), model.vocabulary().cloned());
                    }
                    InputKind::Corpus => {
                        let corpus = Corpus::open(path)?;
                        return self.pipeline_of(
                            path,
                            corpus.about()?.pipeline.as_ref(),
                            corpus.vocabulary()?,
                        );
                    }
                    _ => Some(input.read_vocabulary()?),
                }
            }
        };
        let default = Pipeline::default();
        let stop = match &self.stop_words[..] {
            [] => StopWords::Auto,
            [none] if none == "none" => StopWords::None,
            lists => StopWords::Lists(lists.to_vec()),
        };
        let segmentation = match self.segmentation {
            None | Some(SegmentationArg::Auto) => default.segmentation,
            Some(SegmentationArg::Dictionary) => Segmentation::Dictionary,
            Some(SegmentationArg::Spaces) => Segmentation::Spaces,
            Some(SegmentationArg::None) => Segmentation::None,
        };
        let languages = match &self.language[..] {
            [] => None,
            [none] if none == "none" => Some(Vec::new()),
            given => Some(given.to_vec()),
        };
        let pipeline = Pipeline {
            tokens: self.token_pattern.clone().map_or(TokenRule::Unicode, TokenRule::Pattern),
            keep_case: self.keep_case,
            fold_accents: self.fold_accents,
            min_length: self.min_length.unwrap_or(default.min_length),
            max_length: self.max_length.unwrap_or(default.max_length),
            keep_numbers: self.numbers == Some(Numbers::Keep),
            drop_noise: self.noise != Some(Numbers::Keep),
            segmentation,
            stem: self.stem.clone(),
            ..default
        };
        let selection = WordSelection {
            min_docs: self.min_docs,
            max_docs: self.max_docs,
            max_words: self.max_words,
            phrases: self.phrases,
        };
        if vocabulary.is_some() && selection != WordSelection::default() {
            let others = "{min_docs}, {max_docs}, {max_words} or {phrases}";
            return Err(Error::conflict("vocabulary", others)
                .with_remedy("all words of a given vocabulary are kept")
                .into());
        }
        let fixed_segmentation = self.segmentation.is_some_and(|given| given != SegmentationArg::Auto);
        Ok(TextPipeline { pipeline, languages, fixed_segmentation, stop, selection, vocabulary })
    }

    /// Returns the options without those about the treatment of words.
    pub(crate) fn without_words(&self) -> TextArgs {
        TextArgs {
            token_pattern: None,
            keep_case: false,
            fold_accents: false,
            min_length: None,
            max_length: None,
            numbers: None,
            language: Vec::new(),
            noise: None,
            segmentation: None,
            stop_words: Vec::new(),
            stem: None,
            min_docs: None,
            max_docs: None,
            max_words: None,
            phrases: None,
            vocabulary: None,
            ..self.clone()
        }
    }

    /// Returns how text is turned into words for the update of a model: as for the model, with the
    /// selection of words that is given. Without a pipeline, the model was not trained on text, and
    /// all options apply.
    pub(crate) fn pipeline_for_update(&self, pipeline: Option<&Pipeline>) -> anyhow::Result<TextPipeline> {
        let Some(pipeline) = pipeline else { return self.pipeline() };
        let (min_docs, max_docs, max_words) = (self.min_docs, self.max_docs, self.max_words);
        let others = TextArgs { min_docs: None, max_docs: None, max_words: None, ..self.clone() };
        others.reject_word_options()?;
        Ok(TextPipeline {
            selection: WordSelection { min_docs, max_docs, max_words, phrases: None },
            vocabulary: None,
            ..TextPipeline::existing(Some(pipeline), Vocabulary::new())
        })
    }

    /// Returns whether any option about the treatment of words was given, except `--vocabulary`.
    fn has_word_options(&self) -> bool {
        TextArgs { vocabulary: None, ..self.clone() } != self.without_words()
    }

    /// Rejects options about words, for text that is processed as for a model.
    pub(crate) fn reject_word_options(&self) -> anyhow::Result<()> {
        if self.has_word_options() || self.vocabulary.is_some() {
            return Err(usage(
                "options for words, such as --stop-words and --vocabulary, cannot be combined with a model; \
                 text is processed as for the model's training",
            ));
        }
        Ok(())
    }

    /// Returns the text pipeline of a model or corpus, with its vocabulary.
    fn pipeline_of(
        &self,
        path: &Path,
        pipeline: Option<&Pipeline>,
        vocabulary: Option<Vocabulary>,
    ) -> anyhow::Result<TextPipeline> {
        if self.has_word_options() && pipeline.is_some() {
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
        Ok(TextPipeline::existing(pipeline, vocabulary))
    }
}

/// Opens the file of `--vocabulary`.
fn open_vocabulary(path: &Path) -> anyhow::Result<DetectedInput> {
    if path == Path::new("-") {
        return Err(usage("--vocabulary must be a file; only documents can come from standard input"));
    }
    Ok(DetectedInput::open(path)?)
}
