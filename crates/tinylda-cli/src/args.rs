//! The command line, as data: names, help and checks of single values. Nothing is opened or run here.

mod answers;
mod paper;
mod report;
mod settings;
mod sweep;
mod train;
pub(crate) mod words;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use tinylda::Algorithm;
use tinylda::eval::Measure;

pub(crate) use answers::{Data, Documents, Infer, InferFormat, Target};
pub(crate) use paper::Paper;
pub(crate) use report::{Plot, Report, What};
pub(crate) use settings::flag;
pub(crate) use sweep::Sweep;
pub(crate) use train::{Train, TrainingArgs};

pub(crate) use words::Words;

/// Topic models (LDA) for collections bigger than the machine's memory.
#[derive(Debug, Parser)]
#[command(
    name = "tinylda",
    version,
    about,
    max_term_width = 100,
    after_help = "First steps:\n  tinylda demo\n  tinylda import docword.nyt.txt.xz --vocab vocab.nyt.txt -o nyt.tlc\n  \
                  tinylda train nyt.tlc -k 100 -o nyt.model\n  tinylda topics nyt.model"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// No progress and no messages, only results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Import(Import),
    Info(Info),
    Convert(Convert),
    Split(Split),
    Train(Box<Train>),
    Sweep(Box<Sweep>),
    Topics(Topics),
    Infer(Infer),
    Documents(Documents),
    Eval(Eval),
    Report(Report),
    Plot(Plot),
    Export(Export),
    Synth(Synth),
    Paper(Paper),
    Completions(Completions),
}

/// Show what a topic model does, on a small collection made up on the spot
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda demo\n  tinylda demo --seed 2 --keep demo/")]
pub(crate) struct Demo {
    /// Another seed draws another collection
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep the corpus, the model and the report in this folder [default: only the report, tinylda-demo.html in the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// UCI bag of words: D, W, NNZ, then "document word count", from 1
    Uci,
    /// Matrix Market coordinate, documents as rows (or --transpose)
    Mtx,
    /// SVMlight or libsvm: "label id:count ...", ids from 1
    Svmlight,
    /// LDA-C: "pairs id:count ...", ids from 0
    Ldac,
    /// Plain text: a document per line
    Text,
    /// A sparse matrix of scipy (csr, csc, coo), documents as rows (or --transpose)
    Npz,
    /// AnnData: cells are documents, genes or peaks are words
    H5ad,
    /// Parquet: a text per row, lists of words, or rows of document, word and count
    Parquet,
    /// A table: CSV, TSV and the like
    Csv,
    /// A JSON object per line
    Jsonl,
    /// MALLET: name, label and text on a line
    Mallet,
    /// Vowpal Wabbit: "label 'name |words word word:count"
    Vw,
    /// A folder of texts, a document each
    Folder,
}

/// Turn your data into a corpus file
///
/// Reads text as people have it (a folder of files, a document per line, CSV and TSV, JSON lines, Parquet, MALLET, Vowpal Wabbit) and
/// bags of words (UCI, Matrix Market, SVMlight, LDA-C, sparse matrices of scipy (.npz), AnnData (.h5ad), Parquet), also compressed
/// (gzip, zstd, xz, bzip2; told by content, not by name). Entries may come in any order and more than once. Memory does not grow
/// with the number of documents; what is read more than once, or by position, and comes from standard input is put aside on disk.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda import docword.nyt.txt.xz --vocab vocab.nyt.txt -o nyt.tlc\n  \
    tinylda import abstracts.txt -o abstracts.tlc\n  \
    tinylda import articles.csv.gz --text-column title,body --id-column id --label-column section -o articles.tlc\n  \
    tinylda import mails/ --glob '*.txt' --stop-words en,de --phrases -o mails.tlc\n  \
    tinylda import new.jsonl --text-field article.body --vocabulary old.model -o new.tlc\n  \
    tinylda import matrix.mtx.gz --transpose --vocab peaks.txt --names barcodes.txt -o cells.tlc\n  \
    tinylda import articles.parquet --text-column body --id-column id -o articles.tlc\n  \
    tinylda import cells.h5ad --layer counts -o cells.tlc\n  \
    tinylda import words.parquet --doc-column id --word-column lemma --count-column n -o words.tlc\n  \
    zcat counts.gz | tinylda import - --format svmlight -o counts.tlc")]
pub(crate) struct Import {
    /// The data: a file or a folder; - for standard input
    pub(crate) input: PathBuf,
    /// The words, one per line: line i, all of it, names word i
    #[arg(long, value_name = "FILE")]
    pub(crate) vocab: Option<PathBuf>,
    /// The documents' names, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
    /// Matrix Market and npz: documents are the columns
    #[arg(long)]
    pub(crate) transpose: bool,
    /// h5ad: the matrix with the counts: X, raw, or one of the layers [default: X]
    #[arg(long, value_name = "NAME")]
    pub(crate) layer: Option<String>,
    /// Parquet: the column with lists of words, a document per row
    #[arg(long, value_name = "NAME")]
    pub(crate) tokens_column: Option<String>,
    /// Parquet, a row per document and word: the column with the document [default: document]
    #[arg(long, value_name = "NAME")]
    pub(crate) doc_column: Option<String>,
    /// Parquet, a row per document and word: the column with the word [default: word]
    #[arg(long, value_name = "NAME")]
    pub(crate) word_column: Option<String>,
    /// Parquet, a row per document and word: the column with the count [default: count; 1 where there is none]
    #[arg(long, value_name = "NAME")]
    pub(crate) count_column: Option<String>,
    /// SVMlight and LDA-C: the first word id [default: 1 and 0]
    #[arg(long, value_name = "ID", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=1))]
    pub(crate) first_id: Option<u32>,
    /// Leave counts of zero out instead of refusing them
    #[arg(long)]
    pub(crate) skip_zeros: bool,
    /// Text: how many threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Text: the most memory to use, such as 512MiB or 2GiB; counts that do not fit go to disk [default: nine tenths of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<Size>,
    /// The corpus file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) words: Words,
}

/// Say what a corpus or model file holds, and check it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda info nyt.tlc\n  tinylda info nyt.model --json")]
pub(crate) struct Info {
    /// A corpus or model file
    pub(crate) file: PathBuf,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    /// UCI bag of words (.uci)
    Uci,
    /// Matrix Market (.mtx), documents as rows
    Mtx,
    /// SVMlight (.svm), ids from 1
    Svmlight,
    /// LDA-C (.ldac), ids from 0
    Ldac,
    /// A sparse matrix of scipy (.npz), documents as rows
    Npz,
    /// A table of document, word and count (.parquet)
    Parquet,
}

/// Turn a corpus file into another format
///
/// The corpus is streamed: memory does not grow with it. Matrices and bags of words have numbers for words and documents; their
/// names go to files of their own (--vocab, --names). In Parquet they stand in the table; documents without words are not in it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda convert nyt.tlc nyt.npz --vocab vocab.txt\n  \
    tinylda convert nyt.tlc nyt.parquet\n  tinylda convert nyt.tlc - --to mtx | gzip > nyt.mtx.gz")]
pub(crate) struct Convert {
    /// The corpus file
    pub(crate) corpus: PathBuf,
    /// The file to write; - for standard output, where the format is text
    pub(crate) output: PathBuf,
    /// The format; told by the output's suffix where not given
    #[arg(long, value_enum)]
    pub(crate) to: Option<To>,
    /// Write the words here too, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) vocab: Option<PathBuf>,
    /// Write the documents' names here too, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Divide a corpus into a training and a test part, by document
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinylda split nyt.tlc --test 0.5 --seed 1 -o train.tlc test.tlc")]
pub(crate) struct Split {
    /// The corpus file
    pub(crate) corpus: PathBuf,
    /// The share of documents that go to the test part
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_negative_numbers = true, value_parser = share)]
    pub(crate) test: f64,
    /// The same seed gives the same parts
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The two corpus files to write
    #[arg(short, long, required = true, num_args = 2, value_names = ["TRAIN", "TEST"])]
    pub(crate) output: Vec<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The algorithms by their names.
pub(crate) fn algorithm() -> impl TypedValueParser<Value = Algorithm> {
    let known =
        Algorithm::ALL.iter().map(|algorithm| PossibleValue::new(algorithm.name()).help(algorithm.about()));
    PossibleValuesParser::new(known).map(|name| Algorithm::named(&name).unwrap_or(Algorithm::Tbp))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inference {
    /// TBP's update for every model, so that figures compare the topics alone
    Same,
    /// The update of the algorithm that the model was trained with
    Own,
}

/// Memory, as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Size {
    Bytes(u64),
    /// Of what the machine has.
    Share(f64),
}

/// 512MiB, 2GiB, 1.5GB, 800M, 50%.
fn size(text: &str) -> Result<Size, String> {
    const UNITS: [(&str, u64); 11] = [
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
        ("k", 1 << 10),
        ("m", 1 << 20),
        ("g", 1 << 30),
    ];
    let wrong = || "expected a size such as 512MiB, 2GiB or 50%".to_owned();
    let lower = text.trim().to_ascii_lowercase();
    let amount = |number: &str| number.trim().parse::<f64>().ok().filter(|v| v.is_finite() && *v > 0.0);
    if let Some(number) = lower.strip_suffix('%') {
        return amount(number).filter(|v| *v <= 100.0).map(|v| Size::Share(v / 100.0)).ok_or_else(wrong);
    }
    let found = UNITS.iter().find_map(|&(unit, bytes)| Some((lower.strip_suffix(unit)?, bytes)));
    let (number, unit) = found.ok_or_else(|| format!("{}, with its unit", wrong()))?;
    amount(number).map(|v| Size::Bytes((v * unit as f64) as u64)).ok_or_else(wrong)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WordOrder {
    /// p(w|k): the topic's most frequent words
    Probability,
    /// Between probability and lift: see --lambda
    Relevance,
    /// p(w|k)/p(w): words of this topic and no other, rare ones first
    Lift,
    /// Frequent and exclusive, both: see --weight
    Frex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopicOrder {
    /// By number, from 0
    Number,
    /// The most prevalent first
    Prevalence,
}

/// Print a model's topics: their prevalence and their words
///
/// The prevalence of a topic is its share of all tokens. Words come by probability, or by an order that prefers the topic's own.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda topics nyt.model -n 10\n  tinylda topics nyt.model --by relevance --sort prevalence\n  \
    tinylda topics nyt.model --topic 3 --by frex --top 30\n  tinylda topics nyt.model --tsv > topics.tsv"
)]
pub(crate) struct Topics {
    /// The model file
    pub(crate) model: PathBuf,
    /// How many words of each topic
    #[arg(
        short = 'n',
        long,
        alias = "words",
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = 10
    )]
    pub(crate) top: usize,
    /// Which words come first
    #[arg(long, value_enum, default_value_t = WordOrder::Probability)]
    pub(crate) by: WordOrder,
    /// With --by relevance: lambda log p(w|k) + (1 - lambda) log(p(w|k)/p(w)); 1 is probability, 0 is lift [default: 0.6]
    #[arg(long, value_name = "0..1", allow_negative_numbers = true, value_parser = zero_to_one)]
    pub(crate) lambda: Option<f64>,
    /// With --by frex: the weight of exclusivity beside frequency [default: 0.5]
    #[arg(long, value_name = "0..1", allow_negative_numbers = true, value_parser = zero_to_one)]
    pub(crate) weight: Option<f64>,
    /// Only this topic, a line for each word
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) topic: Option<u32>,
    /// The order of topics
    #[arg(long, value_enum, default_value_t = TopicOrder::Number)]
    pub(crate) sort: TopicOrder,
    /// Print a table with tabs, a header and a line for each word of each topic
    #[arg(long, conflicts_with = "json")]
    pub(crate) tsv: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Missing {
    /// Left out, and counted
    LeaveOut,
    /// Kept, as gensim does where its dictionary has them: u_mass counts their pairs, the others become infinite or no number
    Keep,
}

/// The measures by their names, and `all` of them.
fn measure() -> impl TypedValueParser<Value = Vec<Measure>> {
    let known = Measure::ALL.map(|measure| {
        PossibleValue::new(measure.name()).help(match measure {
            Measure::UMass => "Is a word likely where a better one of its topic is? By documents",
            Measure::CUci => "Pointwise mutual information of pairs, windows of 10 words",
            Measure::CNpmi => "The same from -1 to 1",
            Measure::CV => "Likeness of the words' company, from 0 to 1, windows of 110 words",
        })
    });
    let all = PossibleValue::new("all").help("All of them");
    PossibleValuesParser::new(known.into_iter().chain([all])).map(|name| {
        let named: Vec<Measure> = Measure::ALL.into_iter().filter(|measure| measure.name() == name).collect();
        if named.is_empty() { Measure::ALL.to_vec() } else { named }
    })
}

/// Measure how good a model is: how well it predicts, how coherent its topics are
///
/// Without --coherence: the paper's predictive perplexity on documents that the model has not seen; its definition is printed with
/// the number. With --coherence: whether the words of a topic stand together in texts (the numbers of gensim's CoherenceModel),
/// and what the words alone tell: diversity, exclusivity, effective number of words. Higher coherence is better.
///
/// A corpus file has no order of words: there, a document is one window for all measures. --reference takes the texts
/// themselves, and then words must stand near each other.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda eval nyt.model test.tlc --seed 1 --json\n  \
    tinylda eval nyt.model nyt.tlc --coherence c_npmi,u_mass\n  \
    tinylda eval abstracts.model --reference abstracts.txt.gz --coherence all --top 10")]
pub(crate) struct Eval {
    /// The model file
    pub(crate) model: PathBuf,
    /// The corpus file: test documents for perplexity, any for coherence
    #[arg(required_unless_present = "reference")]
    pub(crate) corpus: Option<PathBuf>,
    /// Measure the topics' coherence
    #[arg(long, value_name = "MEASURE,...", value_delimiter = ',', value_parser = measure())]
    pub(crate) coherence: Vec<Vec<Measure>>,
    /// With --coherence: how many words of each topic
    #[arg(long, value_name = "N", requires = "coherence", allow_negative_numbers = true, default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) top: u32,
    /// With --coherence: words of a window for all measures but u_mass; 0: the whole document [default: 10 for c_uci and c_npmi,
    /// 110 for c_v; whole documents of a corpus file]
    #[arg(long, value_name = "N", requires = "coherence")]
    pub(crate) window: Option<u32>,
    /// With --coherence: other texts than CORPUS: a text file with a document per line, compressed or not, - for standard input; or
    /// a corpus file
    #[arg(long, value_name = "INPUT", requires = "coherence")]
    pub(crate) reference: Option<PathBuf>,
    /// With --coherence: what becomes of topics' words that never occur in the texts
    #[arg(long, value_enum, requires = "coherence", default_value_t = Missing::LeaveOut)]
    pub(crate) missing: Missing,
    /// With --coherence: how many threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", requires = "coherence", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// With --coherence: the predictive perplexity on CORPUS too
    #[arg(long, requires_all = ["coherence", "corpus"])]
    pub(crate) perplexity: bool,
    /// How the topics of the test documents are found
    #[arg(long, value_enum, default_value_t = Inference::Same)]
    pub(crate) inference: Inference,
    /// The same seed splits the documents' tokens in the same way
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a model or corpus for other programs
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("what").required(true),
    after_help = "Examples:\n  tinylda export nyt.model --npz nyt.npz\n  tinylda export nyt.tlc --uci docword.nyt.txt\n  \
    tinylda export nyt.model nyt.tlc --to mallet -o mallet/\n  tinylda export nyt.model nyt.tlc --to pyldavis -o nyt.json\n  \
    tinylda export nyt.model --to sklearn -o nyt.npz"
)]
pub(crate) struct Export {
    /// A model file, or a corpus file for --uci
    pub(crate) file: PathBuf,
    /// With --to: the corpus whose documents' topics are written, too
    #[arg(requires = "to")]
    pub(crate) corpus: Option<PathBuf>,
    /// The program that is to read it
    #[arg(long, value_name = "PROGRAM", value_enum, group = "what", requires = "output")]
    pub(crate) to: Option<Target>,
    /// With --to: the file or folder to write
    #[arg(short, long, value_name = "PATH", requires = "to")]
    pub(crate) output: Option<PathBuf>,
    /// With --to mallet: how many words of each topic are its keys
    #[arg(long, value_name = "N", default_value_t = 20, requires = "to")]
    pub(crate) words: usize,
    /// With --to mallet: the same seed draws the same topics for the tokens of the state
    #[arg(long, default_value_t = 1, requires = "to")]
    pub(crate) seed: u64,
    /// With --to: how many threads [default: all cores]
    #[arg(long, value_name = "N", requires = "to", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// A model for numpy: phi [W, K], alpha, beta, vocab. phi is counts: `p(w|k) = (phi[w,k] + beta) / (column sum + W beta)`
    #[arg(long, value_name = "FILE", group = "what")]
    pub(crate) npz: Option<PathBuf>,
    /// A corpus as UCI bag of words; - for standard output
    #[arg(long, value_name = "FILE", group = "what")]
    pub(crate) uci: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthFormat {
    /// A corpus file
    Tlc,
    /// UCI bag of words
    Uci,
}

/// Draw a corpus of any size from LDA's own process
///
/// Words follow Zipf's law, documents mix a few topics, words come in bursts as in real text. Document d depends on the
/// seed and the settings alone. Memory does not grow with the number of documents.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda synth -D 100000 -W 50000 -K 50 --mean-length 90 --seed 7 -o synth.tlc\n  \
    tinylda synth -D 8200000 -W 141043 -K 100 -o pubmed-size.tlc\n  \
    tinylda synth -D 1000 -W 5000 -K 10 --format uci -o - | gzip > docword.txt.gz"
)]
pub(crate) struct Synth {
    /// D, the number of documents
    #[arg(short = 'D', long, value_name = "D", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) documents: u64,
    /// W, the number of words
    #[arg(short = 'W', long, value_name = "W", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) words: u32,
    /// K, the number of topics
    #[arg(short = 'K', long, value_name = "K", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) topics: u32,
    /// Mean tokens per document
    #[arg(long, allow_negative_numbers = true, value_parser = positive, default_value_t = 90.0)]
    pub(crate) mean_length: f64,
    /// How even the lengths are (gamma shape); small is uneven
    #[arg(long, allow_negative_numbers = true, value_parser = positive, default_value_t = 4.0)]
    pub(crate) length_shape: f64,
    /// Dirichlet parameter of a document's topics, per topic
    #[arg(long, allow_negative_numbers = true, value_parser = positive, default_value_t = 0.05)]
    pub(crate) alpha: f64,
    /// Dirichlet concentration of topics around the word frequencies; small makes sharp topics
    #[arg(long, allow_negative_numbers = true, value_parser = positive, default_value_t = 1000.0)]
    pub(crate) concentration: f64,
    /// Zipf's exponent of the word frequencies
    #[arg(long, allow_negative_numbers = true, value_parser = not_negative, default_value_t = 1.1)]
    pub(crate) zipf_exponent: f64,
    /// Mandelbrot's shift: flattens the most frequent words, as leaving out stop words does
    #[arg(long, allow_negative_numbers = true, value_parser = not_negative, default_value_t = 20.0)]
    pub(crate) zipf_shift: f64,
    /// Share of every topic that is just the word frequencies
    #[arg(long, allow_negative_numbers = true, value_parser = not_negative, default_value_t = 0.05)]
    pub(crate) smooth: f64,
    /// Share of tokens that repeat an earlier word of their document
    #[arg(long, allow_negative_numbers = true, value_parser = not_negative, default_value_t = 0.32)]
    pub(crate) burst: f64,
    /// The same seed draws the same corpus
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// What to write [default: tlc, or uci to standard output]
    #[arg(long, value_enum)]
    pub(crate) format: Option<SynthFormat>,
    /// The file to write; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a completion script for your shell
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda completions bash > ~/.local/share/bash-completion/completions/tinylda\n  \
    tinylda completions zsh > ~/.zfunc/_tinylda"
)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

fn number(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| "expected a number".into())
}

/// A number of topics.
fn topics(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|&k| k > 0)
        .ok_or_else(|| "a whole number, 1 or more: 20 is a good first try".into())
}

fn positive(text: &str) -> Result<f64, String> {
    number(text).and_then(|v| if v > 0.0 { Ok(v) } else { Err("expected a number above 0".into()) })
}

fn not_negative(text: &str) -> Result<f64, String> {
    number(text).and_then(|v| if v >= 0.0 { Ok(v) } else { Err("expected a number from 0".into()) })
}

fn share(text: &str) -> Result<f64, String> {
    number(text).and_then(|v| {
        if v > 0.0 && v < 1.0 { Ok(v) } else { Err("expected a share above 0 and below 1".into()) }
    })
}

fn zero_to_one(text: &str) -> Result<f64, String> {
    number(text).and_then(|v| {
        if (0.0..=1.0).contains(&v) { Ok(v) } else { Err("expected a number from 0 to 1".into()) }
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn sizes_and_times() {
        use super::train::duration;
        use super::{Size, size};
        for (text, bytes) in
            [("512MiB", 512 << 20), ("2GiB", 2 << 30), ("1.5 gb", 1_500_000_000), ("64m", 64 << 20)]
        {
            assert_eq!(size(text), Ok(Size::Bytes(bytes)), "{text}");
        }
        assert_eq!(size("50%"), Ok(Size::Share(0.5)));
        for wrong in ["", "2", "MiB", "-1GiB", "0GiB", "101%", "nanGiB", "2 apples", "infGiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        for (text, seconds) in [("30s", 30), ("10m", 600), ("2h", 7200), ("0", 0), ("1.5m", 90)] {
            assert_eq!(duration(text).map(|d| d.as_secs()), Ok(seconds), "{text}");
        }
        for wrong in ["", "10", "-1s", "s", "1e300h", "10 days"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
