//! Arguments of the commands that apply a model to documents (`infer`, `documents`), and the
//! targets of `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Inference;
use super::heading::{INPUT, OUTPUT, TEXT};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InferFormat {
    /// Tab-separated values: a header, then one line per document
    Tsv,
    /// Comma-separated values with the columns of tsv
    Csv,
    /// JSON lines: one object per document
    #[value(alias = "json")]
    Jsonl,
    /// Array for numpy: documents x topics, float32
    Npy,
    /// Parquet table with the columns of tsv
    Parquet,
}

/// Input options for data that is not a corpus file.
///
/// Options for words are hidden: they are rejected, since text is processed as for the model.
#[derive(Debug, Args)]
#[command(mut_args(|arg| if arg.get_help_heading() == Some(TEXT) { arg.hide(true) } else { arg }))]
pub(crate) struct DataArgs {
    /// Vocabulary file if INPUT is a bag of words: line i is word i
    #[arg(long, value_name = "FILE", help_heading = INPUT, hide_short_help = true)]
    pub(crate) vocab: Option<PathBuf>,
    /// File with the names of the documents, one per line, if INPUT is not a corpus file
    #[arg(long, value_name = "FILE", help_heading = INPUT, hide_short_help = true)]
    pub(crate) names: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) text: super::TextArgs,
}

impl DataArgs {
    /// Returns whether any of the options was given.
    pub(crate) fn is_given(&self) -> bool {
        self.vocab.is_some() || self.names.is_some() || self.text.is_given()
    }
}

/// Infer the topics of new documents
///
/// Writes one line per document: its number (from 1), its name, its labels and date if it has any,
/// and the proportion of each topic; the proportions add up to 1. The number in p_0, p_1 and so on
/// is that of the topic. With --top, the number in a title is a rank: topic_1 contains the number
/// of the strongest topic of each document, and proportion_1 its proportion. Several labels in one
/// column are joined by a semicolon. Documents are streamed, and the result does not depend on the
/// number of threads. Words are matched with those of the model by name; words that the model does
/// not know are ignored and counted. A document without any known word gets the proportions of the
/// prior.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda infer nyt.model new.tlc > topics.tsv\n  \
    tinylda infer nyt.model new.csv --text-column body -o topics.npy\n  \
    tinylda infer nyt.model abstracts.txt --top 5 -o topics.jsonl\n  \
    cat abstracts.txt | tinylda infer nyt.model - --min-proportion 0.1",
    after_long_help = "Examples:\n  tinylda infer nyt.model new.tlc > topics.tsv\n  \
    tinylda infer nyt.model docword.new.txt.gz --vocab vocab.new.txt -o topics.npy\n  \
    tinylda infer nyt.model new.csv --text-column body --id-column id -o topics.parquet\n  \
    tinylda infer nyt.model abstracts.txt --top 5 -o topics.jsonl\n  \
    cat abstracts.txt | tinylda infer nyt.model - --min-proportion 0.1"
)]
pub(crate) struct InferArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Corpus file, or documents in any format that `import` reads; - for standard input
    pub(crate) input: PathBuf,
    /// More files or folders with text; their documents follow those of the first input
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// File to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = OUTPUT)]
    pub(crate) output: PathBuf,
    /// Format to write [default: by the suffix of the output file, or tsv]
    #[arg(long, value_enum, help_heading = OUTPUT)]
    pub(crate) to: Option<InferFormat>,
    /// Write only the N largest topics of each document, as pairs of topic and proportion; topic_1
    /// is the strongest topic (rank 1), not topic number 1
    #[arg(long, value_name = "N", help_heading = OUTPUT, allow_negative_numbers = true, value_parser = super::whole_number::<u32>(1, u32::MAX))]
    pub(crate) top: Option<u32>,
    /// Write only proportions of at least FRACTION, as pairs of topic and proportion
    #[arg(long, value_name = "FRACTION", help_heading = OUTPUT, allow_negative_numbers = true, value_parser = super::parse_open_fraction)]
    pub(crate) min_proportion: Option<f64>,
    /// Inference of the topics of documents
    #[arg(long, value_enum, hide_short_help = true, default_value_t = Inference::Own)]
    pub(crate) inference: Inference,
    /// Number of threads [default: all cores]
    #[arg(long, aliases = ["workers", "n-jobs"], value_name = "N", allow_negative_numbers = true, value_parser = super::whole_number::<u16>(1, u16::MAX))]
    pub(crate) threads: Option<u16>,
    /// Print a summary as one JSON object; requires -o
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) json: bool,
}

/// List the most typical documents of each topic, or the documents most similar to a given one
///
/// Typical documents have the largest proportion of a topic. Similar documents have the smallest
/// Hellinger distance between their topic proportions: 0 for equal proportions, 1 if no topic is
/// shared. Labels, dates and the first line of the text are shown if the corpus has them; a text is
/// shown only if it has not changed since the import. Memory use does not grow with the number of
/// documents.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda documents nyt.model nyt.tlc\n  \
    tinylda documents nyt.model nyt.tlc --topic 7 --top 20 --tsv\n  \
    tinylda documents nyt.model nyt.tlc --similar-to 1234 --json\n  \
    tinylda documents news.model news.parquet --text-column body")]
pub(crate) struct DocumentsArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Corpus file, or documents in any format that `import` reads; - for standard input
    pub(crate) input: PathBuf,
    /// More files or folders with text; their documents follow those of the first input
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Number of documents per topic, or in total with --similar-to
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true, default_value_t = 10, value_parser = super::whole_number::<u32>(1, u32::MAX))]
    pub(crate) top: u32,
    /// Show only topic K, given by its number or name; may be repeated [default: all topics]
    #[arg(long, value_name = "K", allow_negative_numbers = true, conflicts_with = "similar_to")]
    pub(crate) topic: Vec<String>,
    /// Show the documents most similar to this one, given by its name or its number from 1
    #[arg(long, value_name = "NAME")]
    pub(crate) similar_to: Option<String>,
    /// Omit the first lines of documents
    #[arg(long, help_heading = OUTPUT, conflicts_with = "texts")]
    pub(crate) no_text: bool,
    /// File or folder from which the first lines of documents may be read; may be repeated
    /// [default: INPUT, or the folder of the corpus file]
    #[arg(long, value_name = "PATH", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) texts: Vec<PathBuf>,
    /// Skip documents with fewer than N tokens that the model knows
    #[arg(long, value_name = "N", hide_short_help = true, default_value_t = 20)]
    pub(crate) min_tokens: u64,
    /// Number of threads [default: all cores]
    #[arg(long, aliases = ["workers", "n-jobs"], value_name = "N", hide_short_help = true, allow_negative_numbers = true, value_parser = super::whole_number::<u16>(1, u16::MAX))]
    pub(crate) threads: Option<u16>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Print tab-separated values with a header
    #[arg(long, conflicts_with = "json", help_heading = OUTPUT)]
    pub(crate) tsv: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportTarget {
    /// Folder with MALLET's files: topic-keys, topic-word-weights, word-topic-counts; with CORPUS
    /// also doc-topics and state, and doc-metadata with labels and dates
    Mallet,
    /// JSON file with the five inputs of pyLDAvis: pyLDAvis.prepare(**json.load(file)); requires
    /// CORPUS
    Pyldavis,
    /// npz file with gensim's arrays: topics (K, W) that add up to 1, alpha, eta, id2word
    Gensim,
    /// npz file with scikit-learn's arrays: components_ (K, W) counts, doc_topic_prior,
    /// topic_word_prior, feature_names
    Sklearn,
    /// Folder with CSV tables: topic-word.csv with one row per word; with CORPUS also doc-topic.csv
    /// with one row per document
    Csv,
    /// Folder with the tables of csv in Parquet format
    Parquet,
}
