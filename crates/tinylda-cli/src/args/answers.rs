//! The commands that put a model to use: `infer`, `documents`, and the forms of `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Inference;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InferFormat {
    /// A header, then a line per document, between tabs
    Tsv,
    /// A JSON object per line
    #[value(alias = "json")]
    Jsonl,
    /// An array for numpy: documents x topics, float32
    Npy,
    /// A Parquet table with the columns of tsv
    Parquet,
}

/// Data in place of a corpus file.
#[derive(Debug, Args)]
pub(crate) struct Data {
    /// Where INPUT is no corpus file: the words, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) vocab: Option<PathBuf>,
    /// Where INPUT is no corpus file: the documents' names, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) words: super::Words,
}

/// Find the topics of documents that the model has not seen
///
/// One line per document: its number (from 1), its name, and the share of each topic, which add up to 1. The documents are
/// read as a stream and the result does not depend on the number of threads. Words are matched to the model's by name;
/// words that it does not know are left out and counted. A document with no known word gets the prior's proportions.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda infer nyt.model new.tlc > topics.tsv\n  \
    tinylda infer nyt.model docword.new.txt.gz --vocab vocab.new.txt -o topics.npy\n  \
    tinylda infer nyt.model abstracts.txt --top 5 -o topics.jsonl\n  \
    cat abstracts.txt | tinylda infer nyt.model - --min-proportion 0.1")]
pub(crate) struct Infer {
    /// The model file
    pub(crate) model: PathBuf,
    /// A corpus file, or documents in any format that `import` knows; - for standard input
    pub(crate) input: PathBuf,
    /// The file to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// The form of the result [default: by the file's ending, or tsv]
    #[arg(long, value_enum)]
    pub(crate) to: Option<InferFormat>,
    /// Only the N largest topics of each document, as pairs of topic and proportion
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) top: Option<u32>,
    /// Only proportions from this on, as pairs of topic and proportion
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = super::share)]
    pub(crate) min_proportion: Option<f64>,
    /// How the topics are found
    #[arg(long, value_enum, default_value_t = Inference::Own)]
    pub(crate) inference: Inference,
    /// How many threads [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print what was done as one JSON object; needs -o
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the documents that are typical of each topic, or like another document
///
/// Typical are the documents with the largest share of a topic. Alike are those with the least Hellinger distance between their
/// mixes of topics: 0 is the same mix, 1 no topic in common. Memory does not grow with the number of documents.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda documents nyt.model nyt.tlc\n  \
    tinylda documents nyt.model nyt.tlc --topic 7 --top 20 --tsv\n  \
    tinylda documents nyt.model nyt.tlc --similar-to 1234 --json\n  \
    tinylda documents news.model news.parquet --text-column body --id-column id")]
pub(crate) struct Documents {
    /// The model file
    pub(crate) model: PathBuf,
    /// A corpus file, or documents in any format that `import` knows; - for standard input
    pub(crate) input: PathBuf,
    /// How many documents, of each topic or in all
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) top: u32,
    /// Only this topic; may be given more than once [default: all topics]
    #[arg(long, value_name = "K", conflicts_with = "similar_to")]
    pub(crate) topic: Vec<u32>,
    /// The documents whose mix of topics is nearest to this one's: its name, or its number from 1
    #[arg(long, value_name = "NAME")]
    pub(crate) similar_to: Option<String>,
    /// Pass over documents with fewer tokens that the model knows
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) min_tokens: u64,
    /// How many threads [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the result as lines between tabs, with a header
    #[arg(long, conflicts_with = "json")]
    pub(crate) tsv: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// MALLET's files in a folder: topic-keys, topic-word-weights, word-topic-counts; with CORPUS doc-topics and state
    Mallet,
    /// pyLDAvis's five inputs as one JSON file: pyLDAvis.prepare(**json.load(file)); needs CORPUS
    Pyldavis,
    /// An npz file as gensim has it: topics (K, V) that add up to 1, alpha, eta, id2word
    Gensim,
    /// An npz file as scikit-learn has it: components_ (K, V) counts, doc_topic_prior, topic_word_prior, feature_names
    Sklearn,
    /// Tables in a folder: topic-word.csv, a row per word; with CORPUS doc-topic.csv, a row per document
    Csv,
    /// The same tables as Parquet
    Parquet,
}
