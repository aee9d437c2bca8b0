//! The command line as data: names, help texts and checks of single values.
//!
//! Nothing is opened or run here; that is the task of `commands`. Start with [`Cli`] and
//! [`Command`]. The options of `train` that come from the library's table of settings are made in
//! `settings`.
//!
//! A doc comment of an argument is its help text. The first paragraph is shown by `-h` and
//! `--help`, further paragraphs only by `--help`. Arguments with `hide_short_help` are missing in
//! `-h`.

mod heading;
mod inference;
mod paper;
mod report;
mod settings;
mod sweep;
pub(crate) mod text;
pub(crate) mod tips;
mod train;
mod update;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use tinylda::Algorithm;
use tinylda::eval::Measure;

use heading::{INPUT, OUTPUT};

pub(crate) use inference::{DataArgs, DocumentsArgs, ExportTarget, InferArgs, InferFormat};
pub(crate) use paper::PaperArgs;
pub(crate) use report::{PlotArgs, PlotKind, ReportArgs};
pub(crate) use settings::flag;
pub(crate) use sweep::SweepArgs;
pub(crate) use text::TextArgs;
pub(crate) use train::{TrainArgs, TrainingArgs};
pub(crate) use update::{UpdateArgs, UpdateSource};

/// Topic models (LDA) for collections larger than memory.
#[derive(Debug, Parser)]
#[command(
    name = "tinylda",
    version,
    max_term_width = 100,
    after_help = "First steps:\n  \
        tinylda train my-documents.txt -k 20 -o my.model --report my.html\n  \
        tinylda topics my.model\n  \
        tinylda infer my.model new-documents.txt > topics.tsv\n\n\
        my-documents.txt has one document per line. `tinylda demo` needs no data of your own.\n\
        `tinylda COMMAND -h` lists the most important options, `--help` lists all."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print only results, errors, and warnings about skipped data
    #[arg(short, long, global = true, help_heading = OUTPUT, display_order = 900)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(DemoArgs),
    Import(ImportArgs),
    Info(InfoArgs),
    Convert(ConvertArgs),
    Split(SplitArgs),
    Train(Box<TrainArgs>),
    Update(Box<UpdateArgs>),
    Sweep(Box<SweepArgs>),
    Topics(TopicsArgs),
    Infer(InferArgs),
    Documents(DocumentsArgs),
    Eval(EvalArgs),
    Report(ReportArgs),
    Plot(PlotArgs),
    Export(ExportArgs),
    Synth(SynthArgs),
    Paper(PaperArgs),
    StopWords(StopWordsArgs),
    Completions(CompletionsArgs),
}

/// Train a model on generated texts and show its topics
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda demo\n  tinylda demo --seed 2 --keep demo/")]
pub(crate) struct DemoArgs {
    /// Random seed of the texts and of the training
    #[arg(long, aliases = ["random-seed", "random-state"], value_parser = whole_number::<u64>(0, u64::MAX), allow_negative_numbers = true, default_value_t = 4)]
    pub(crate) seed: u64,
    /// Save the corpus, the model and the report in DIR [default: only the report, as
    /// tinylda-demo.html in the current folder]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) keep: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// UCI bag of words: D, W, NNZ, then lines "document word count", numbered from 1
    Uci,
    /// Matrix Market coordinate format, documents as rows (for columns as documents, use import
    /// --transpose)
    Mtx,
    /// SVMlight or libsvm: "label id:count ...", ids from 1
    Svmlight,
    /// LDA-C: "pairs id:count ...", ids from 0
    Ldac,
    /// Plain text, one document per line
    Text,
    /// Sparse matrix of scipy (csr, csc, coo), documents as rows (for columns as documents, use
    /// import --transpose)
    Npz,
    /// AnnData: cells are documents, genes or peaks are words
    H5ad,
    /// Parquet: one text per row, lists of words, or rows of document, word and count
    Parquet,
    /// Delimited table such as CSV or TSV
    Csv,
    /// JSON lines: one object per line
    Jsonl,
    /// MALLET: name, label and text on each line
    Mallet,
    /// Vowpal Wabbit: "label 'name |words word word:count"
    Vw,
    /// Folder with one document per file: text, HTML, XML or Word documents
    Folder,
    /// JSON: an array of objects or strings, objects that span several lines, or an object with an
    /// array of records
    Json,
    /// HTML page, which is one document
    Html,
    /// XML document such as TEI, which is one document
    Xml,
    /// Word document, which is one document
    Docx,
    /// Zip archive with one document per file, or with one file in any other format
    Zip,
}

/// Turn text, tables or bags of words into a corpus file (.tlc), for the other commands
///
/// Other commands import data themselves. Use this command if data is used more than once. Reads
/// text (one document per line, CSV and TSV, JSON, Parquet, HTML, XML, docx, MALLET, Vowpal Wabbit,
/// folders and zip archives) and bags of words (UCI, Matrix Market, SVMlight, LDA-C, sparse
/// matrices of scipy (.npz), AnnData (.h5ad), Parquet). Compressed files (gzip, zstd, xz, bzip2)
/// are detected by their content. In folders and archives, every file is a document, and files that
/// cannot be read are skipped and listed. Several inputs with text become one corpus. Entries may
/// come in any order and more than once. Memory use does not grow with the number of documents.
/// Standard input is copied to a temporary file if it has to be read more than once or by position.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda import abstracts.txt -o abstracts.tlc\n  \
    tinylda import articles.csv.gz --text-column title,body -o articles.tlc\n  \
    tinylda import new.jsonl --text-field article.body -o new.tlc\n  \
    tinylda import mails/ --stop-words en,de --phrases -o mails.tlc\n  \
    tinylda import 2023.csv 2024.csv letters.zip --encoding latin1 -o all.tlc\n  \
    tinylda import docword.nyt.txt.xz --vocab vocab.nyt.txt -o nyt.tlc",
    after_long_help = "Examples:\n  tinylda import abstracts.txt -o abstracts.tlc\n  \
    tinylda import news.csv.gz --text-column title,body --label-column section -o news.tlc\n  \
    tinylda import articles.parquet --text-column body --id-column id -o articles.tlc\n  \
    tinylda import new.jsonl --text-field article.body --vocabulary old.model -o new.tlc\n  \
    tinylda import mails/ --glob '*.txt' --stop-words en,de --phrases -o mails.tlc\n  \
    tinylda import 2023.csv 2024.csv letters.zip --encoding latin1 -o all.tlc\n  \
    tinylda import docword.nyt.txt.xz --vocab vocab.nyt.txt -o nyt.tlc\n  \
    tinylda import matrix.mtx.gz --transpose --vocab peaks.txt --names barcodes.txt -o cells.tlc\n  \
    tinylda import cells.h5ad --layer counts -o cells.tlc\n  \
    tinylda import words.parquet --doc-column id --word-column lemma --count-column n -o words.tlc\n  \
    zcat counts.gz | tinylda import - --format svmlight -o counts.tlc"
)]
pub(crate) struct ImportArgs {
    /// File or folder to import; - for standard input
    pub(crate) input: PathBuf,
    /// More files or folders with text; their documents follow those of the first input
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,
    /// Vocabulary file of a bag of words: line i is word i
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    pub(crate) vocab: Option<PathBuf>,
    /// File with the names of the documents, one per line
    #[arg(long, value_name = "FILE", help_heading = INPUT, hide_short_help = true)]
    pub(crate) names: Option<PathBuf>,
    /// Matrix Market and npz: read columns as documents
    #[arg(long, help_heading = INPUT, hide_short_help = true)]
    pub(crate) transpose: bool,
    /// h5ad: matrix with the counts: X, raw, or the name of a layer [default: X]
    #[arg(long, value_name = "NAME", help_heading = INPUT, hide_short_help = true)]
    pub(crate) layer: Option<String>,
    /// Parquet: column with lists of words, one document per row
    #[arg(long, value_name = "NAME", help_heading = INPUT, hide_short_help = true)]
    pub(crate) tokens_column: Option<String>,
    /// Parquet with one row per document and word: column with the document [default: document]
    #[arg(long, value_name = "NAME", help_heading = INPUT, hide_short_help = true)]
    pub(crate) doc_column: Option<String>,
    /// Parquet with one row per document and word: column with the word [default: word]
    #[arg(long, value_name = "NAME", help_heading = INPUT, hide_short_help = true)]
    pub(crate) word_column: Option<String>,
    /// Parquet with one row per document and word: column with the count [default: count, or 1 for
    /// every row if there is no such column]
    #[arg(long, value_name = "NAME", help_heading = INPUT, hide_short_help = true)]
    pub(crate) count_column: Option<String>,
    /// SVMlight and LDA-C: smallest word id [default: 1 for SVMlight, 0 for LDA-C]
    #[arg(long, value_name = "ID", help_heading = INPUT, hide_short_help = true, allow_negative_numbers = true, value_parser = whole_number::<u32>(0, 1))]
    pub(crate) first_id: Option<u32>,
    /// Ignore counts of zero instead of rejecting them
    #[arg(long, help_heading = INPUT, hide_short_help = true)]
    pub(crate) skip_zeros: bool,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    /// Number of threads for text; the result does not depend on it [default: all cores]
    #[arg(long, aliases = ["workers", "n-jobs"], value_name = "N", hide_short_help = true, allow_negative_numbers = true, value_parser = whole_number::<u16>(1, u16::MAX))]
    pub(crate) threads: Option<u16>,
    /// Memory limit, such as 512MiB or 2GiB; what does not fit is written to disk, or refused
    /// [default: 90% of the free memory]
    #[arg(long, value_name = "SIZE", hide_short_help = true, value_parser = parse_memory_size)]
    pub(crate) memory: Option<MemorySize>,
    /// Corpus file to write
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) json: bool,
}

/// Describe a corpus or model file and verify its checksum
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda info nyt.tlc\n  tinylda info nyt.model --json")]
pub(crate) struct InfoArgs {
    /// Corpus or model file
    pub(crate) file: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertFormat {
    /// UCI bag of words (.uci)
    Uci,
    /// Matrix Market (.mtx), documents as rows
    Mtx,
    /// SVMlight (.svm), ids from 1
    Svmlight,
    /// LDA-C (.ldac), ids from 0
    Ldac,
    /// Sparse matrix of scipy (.npz), documents as rows
    Npz,
    /// Table of document, word and count (.parquet)
    Parquet,
}

/// Write the documents of a corpus file in another format, such as UCI, npz or Parquet
///
/// The opposite of `import`; `export` writes models. The corpus is streamed, so memory use does not
/// grow with its size. Matrices and bags of words contain numbers for words and documents; their
/// names are written to separate files (--vocab, --names). Parquet tables contain the names;
/// documents without words are missing in them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda convert nyt.tlc nyt.npz --vocab vocab.txt\n  \
    tinylda convert nyt.tlc nyt.parquet\n  tinylda convert nyt.tlc - --to mtx | gzip > nyt.mtx.gz")]
pub(crate) struct ConvertArgs {
    /// Corpus file
    pub(crate) corpus: PathBuf,
    /// File to write; - for standard output (text formats only)
    pub(crate) output: PathBuf,
    /// Format to write [default: by the suffix of OUTPUT]
    #[arg(long, value_enum, help_heading = OUTPUT)]
    pub(crate) to: Option<ConvertFormat>,
    /// Also write the words to FILE, one per line
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) vocab: Option<PathBuf>,
    /// Also write the names of the documents to FILE, one per line
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) names: Option<PathBuf>,
    /// Also write the names, labels and dates of the documents to FILE, a table by its suffix:
    /// .tsv, .csv, .jsonl or .parquet
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) metadata: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// Split the documents of a corpus into training and test documents
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinylda split nyt.tlc --test 0.5 --seed 1 -o train.tlc test.tlc")]
pub(crate) struct SplitArgs {
    /// Corpus file
    pub(crate) corpus: PathBuf,
    /// Fraction of the documents that become test documents
    #[arg(long, value_name = "FRACTION", default_value_t = 0.5, allow_negative_numbers = true, value_parser = parse_open_fraction)]
    pub(crate) test: f64,
    /// Random seed of the split
    #[arg(long, aliases = ["random-seed", "random-state"], value_parser = whole_number::<u64>(0, u64::MAX), allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Corpus files to write
    #[arg(short, long, required = true, num_args = 2, value_names = ["TRAIN", "TEST"], help_heading = OUTPUT)]
    pub(crate) output: Vec<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// Returns the parser of an algorithm's name.
pub(crate) fn algorithm_parser() -> impl TypedValueParser<Value = Algorithm> {
    let known =
        Algorithm::ALL.iter().map(|algorithm| PossibleValue::new(algorithm.name()).help(algorithm.about()));
    PossibleValuesParser::new(known).map(|name| Algorithm::named(&name).unwrap_or(Algorithm::Tbp))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inference {
    /// The update of TBP for every model, so that results compare the topics alone
    Same,
    /// The update of the algorithm that the model was trained with
    Own,
}

/// Memory limit as given on the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MemorySize {
    Bytes(u64),
    /// Fraction of the memory of the machine.
    Share(f64),
}

/// Parses a memory size: 512MiB, 2GiB, 1.5GB, 800M, 50%.
pub(crate) fn parse_memory_size(text: &str) -> Result<MemorySize, String> {
    const SIZE_UNITS: [(&str, u64); 11] = [
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
    let invalid = || "expected a size such as 512MiB, 2GiB or 50%".to_owned();
    let lower = text.trim().to_ascii_lowercase();
    let positive = |number: &str| number.trim().parse::<f64>().ok().filter(|v| v.is_finite() && *v > 0.0);
    if let Some(number) = lower.strip_suffix('%') {
        let percent = positive(number).filter(|v| *v <= 100.0);
        return percent.map(|v| MemorySize::Share(v / 100.0)).ok_or_else(invalid);
    }
    let found = SIZE_UNITS.iter().find_map(|&(unit, bytes)| Some((lower.strip_suffix(unit)?, bytes)));
    let (number, unit) = found.ok_or_else(|| format!("{}, with its unit", invalid()))?;
    positive(number).map(|v| MemorySize::Bytes((v * unit as f64) as u64)).ok_or_else(invalid)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WordOrder {
    /// p(w|k): the most frequent words of the topic
    Probability,
    /// Between probability and lift; see --lambda
    Relevance,
    /// p(w|k)/p(w): words of this topic alone, which tend to be rare
    Lift,
    /// Both frequent and exclusive; see --weight
    Frex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopicOrder {
    /// By number, from 0
    Number,
    /// Most prevalent first
    Prevalence,
}

/// Print the topics of a model: prevalence and top words
///
/// The prevalence of a topic is the share of all tokens that the training assigned to it; reports
/// show the same number. Words are ranked by probability, or by a measure that prefers the words
/// that are specific to the topic.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda topics nyt.model -n 10\n  tinylda topics nyt.model --by relevance --sort prevalence\n  \
    tinylda topics nyt.model --topic 3 --by frex --top 30\n  tinylda topics nyt.model --tsv > topics.tsv"
)]
pub(crate) struct TopicsArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Number of words per topic
    #[arg(
        short = 'n',
        long,
        alias = "words",
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = 10,
        value_parser = whole_number::<u32>(1, u32::MAX)
    )]
    pub(crate) top: u32,
    /// Ranking of the words
    #[arg(long, value_enum, default_value_t = WordOrder::Probability)]
    pub(crate) by: WordOrder,
    /// Weight of probability against lift with --by relevance: lambda log p(w|k) + (1 - lambda)
    /// log(p(w|k)/p(w)) [default: 0.6]
    #[arg(long, value_name = "0..1", hide_short_help = true, allow_negative_numbers = true, value_parser = parse_fraction)]
    pub(crate) lambda: Option<f64>,
    /// Weight of exclusivity against frequency with --by frex [default: 0.5]
    #[arg(long, value_name = "0..1", hide_short_help = true, allow_negative_numbers = true, value_parser = parse_fraction)]
    pub(crate) weight: Option<f64>,
    /// Show only topic K, given by its number or name, with one line per word
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) topic: Option<String>,
    /// Order of the topics
    #[arg(long, value_enum, default_value_t = TopicOrder::Number)]
    pub(crate) sort: TopicOrder,
    /// Print tab-separated values: a header, then one line per topic and word
    #[arg(long, conflicts_with = "json", help_heading = OUTPUT)]
    pub(crate) tsv: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Missing {
    /// Exclude such words and report their number
    LeaveOut,
    /// Include such words, as gensim does if its dictionary has them: u_mass counts their pairs,
    /// the other measures become infinite or undefined
    Keep,
}

/// Returns the parser of a coherence measure's name, or `all`.
fn measures_parser() -> impl TypedValueParser<Value = Vec<Measure>> {
    let known = Measure::ALL.map(|measure| {
        PossibleValue::new(measure.name()).alias(measure_alias(measure)).help(match measure {
            Measure::UMass => "Log conditional probability of word pairs, from document counts",
            Measure::CUci => "Pointwise mutual information of word pairs, windows of 10 words",
            Measure::CNpmi => "Normalized pointwise mutual information, from -1 to 1, windows of 10 words",
            Measure::CV => "Cosine similarity of context vectors, from 0 to 1, windows of 110 words",
        })
    });
    let all = PossibleValue::new("all").help("All measures");
    PossibleValuesParser::new(known.into_iter().chain([all])).map(|name| {
        let named = Measure::ALL
            .into_iter()
            .find(|&measure| measure.name() == name || measure_alias(measure) == name);
        named.map_or_else(|| Measure::ALL.to_vec(), |measure| vec![measure])
    })
}

/// Returns the name of a coherence measure without its underscore, which is accepted as well.
fn measure_alias(measure: Measure) -> &'static str {
    match measure {
        Measure::UMass => "umass",
        Measure::CUci => "cuci",
        Measure::CNpmi => "cnpmi",
        Measure::CV => "cv",
    }
}

/// Evaluate a model: predictive perplexity and topic coherence
///
/// Without --coherence: the predictive perplexity of documents that were not part of the training.
/// It is exp(-mean log p(w|d)) over a random 20% of the tokens of every document, where the topic
/// proportions of the document are inferred from the other 80% with the topics fixed; lower is
/// better.
///
/// With --coherence: how often the top words of a topic occur together (the values equal those of
/// gensim's CoherenceModel), and measures of the words alone: diversity, exclusivity, effective
/// number of words. Higher coherence is better.
///
/// A corpus file does not contain the order of words, so each document is one window for all
/// measures. With --reference, coherence is computed on texts, with sliding windows.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda split nyt.tlc --test 0.2 -o train.tlc test.tlc\n  \
    tinylda train train.tlc -k 100 -o nyt.model\n  tinylda eval nyt.model test.tlc\n  \
    tinylda eval abstracts.model new-abstracts.txt\n  \
    tinylda eval nyt.model nyt.tlc --coherence c_npmi,u_mass\n  \
    tinylda eval abstracts.model --reference abstracts.txt.gz --coherence all --top 10")]
pub(crate) struct EvalArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Corpus file, or documents in any format that `import` reads: test documents for perplexity,
    /// any documents for coherence; - for standard input
    #[arg(required_unless_present = "reference")]
    pub(crate) corpus: Option<PathBuf>,
    /// More files or folders with text; their documents follow those of the first input
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Compute topic coherence
    #[arg(long, value_name = "MEASURE,...", value_delimiter = ',', value_parser = measures_parser())]
    pub(crate) coherence: Vec<Vec<Measure>>,
    /// Number of words per topic for --coherence
    #[arg(long, value_name = "N", requires = "coherence", allow_negative_numbers = true, default_value_t = 20, value_parser = whole_number::<u32>(2, u32::MAX))]
    pub(crate) top: u32,
    /// Window size in words for all measures but u_mass; 0 for whole documents [default: 10 for
    /// c_uci and c_npmi, 110 for c_v, 0 for corpus files]
    #[arg(long, value_name = "N", hide_short_help = true, requires = "coherence")]
    pub(crate) window: Option<u32>,
    /// Compute coherence on INPUT instead of CORPUS: a text file with one document per line,
    /// compressed or not, a corpus file, or - for standard input
    #[arg(long, value_name = "INPUT", requires = "coherence")]
    pub(crate) reference: Option<PathBuf>,
    /// Treatment of top words that never occur in the reference
    #[arg(long, value_enum, hide_short_help = true, requires = "coherence", default_value_t = Missing::LeaveOut)]
    pub(crate) missing: Missing,
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, aliases = ["workers", "n-jobs"], value_name = "N", hide_short_help = true, value_parser = whole_number::<u16>(1, u16::MAX))]
    pub(crate) threads: Option<u16>,
    /// Also compute the predictive perplexity on CORPUS, in addition to --coherence
    #[arg(long, hide_short_help = true, requires_all = ["coherence", "corpus"])]
    pub(crate) perplexity: bool,
    /// Inference of the topics of test documents
    #[arg(long, value_enum, hide_short_help = true, default_value_t = Inference::Same)]
    pub(crate) inference: Inference,
    /// Random seed of the split of each document into observed and scored tokens
    #[arg(long, aliases = ["random-seed", "random-state"], value_parser = whole_number::<u64>(0, u64::MAX), allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// Write a model for other programs: MALLET, pyLDAvis, gensim, scikit-learn, NumPy, CSV, Parquet
///
/// With CORPUS, the topics of the documents are written, too. To write the documents of a corpus
/// file, use `convert`; --uci does the same for one format.
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("what").required(true),
    after_help = "Examples:\n  tinylda export nyt.model --npz nyt.npz\n  tinylda export nyt.tlc --uci docword.nyt.txt\n  \
    tinylda export nyt.model nyt.tlc --to mallet -o mallet/\n  tinylda export nyt.model nyt.tlc --to pyldavis -o nyt.json\n  \
    tinylda export nyt.model --to sklearn -o nyt.npz"
)]
pub(crate) struct ExportArgs {
    /// Model file, or corpus file with --uci
    pub(crate) file: PathBuf,
    /// Corpus file, or documents in any format that `import` reads: with --to, export the topics of
    /// the documents, too; - for standard input
    #[arg(requires = "to")]
    pub(crate) corpus: Option<PathBuf>,
    /// More files or folders with text; their documents follow those of the first input
    #[arg(value_name = "MORE", requires = "to")]
    pub(crate) more: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Program to export for
    #[arg(long, value_name = "PROGRAM", value_enum, group = "what", requires = "output")]
    pub(crate) to: Option<ExportTarget>,
    /// File or folder to write with --to
    #[arg(short, long, value_name = "PATH", requires = "to", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Number of keys per topic with --to mallet
    #[arg(long, value_name = "N", hide_short_help = true, default_value_t = 20, requires = "to")]
    pub(crate) words: usize,
    /// Random seed of the topics of tokens with --to mallet
    #[arg(long, aliases = ["random-seed", "random-state"], value_parser = whole_number::<u64>(0, u64::MAX), hide_short_help = true, default_value_t = 1, requires = "to")]
    pub(crate) seed: u64,
    /// Number of threads with --to [default: all cores]
    #[arg(long, aliases = ["workers", "n-jobs"], value_name = "N", hide_short_help = true, requires = "to", value_parser = whole_number::<u16>(1, u16::MAX))]
    pub(crate) threads: Option<u16>,
    /// Export a model for numpy: phi [W, K], alpha, beta, vocab. phi contains counts: `p(w|k) =
    /// (phi[w,k] + beta) / (column sum + W beta)`
    #[arg(long, value_name = "FILE", group = "what")]
    pub(crate) npz: Option<PathBuf>,
    /// Write a corpus file as UCI bag of words, as `convert --to uci` does; - for standard output
    #[arg(long, value_name = "FILE", group = "what")]
    pub(crate) uci: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthFormat {
    /// Corpus file
    Tlc,
    /// UCI bag of words
    Uci,
}

/// Generate a synthetic corpus from the generative process of LDA
///
/// Word frequencies follow Zipf's law, each document has a few topics, and words occur in bursts as
/// in real text. Document d depends only on the seed and the parameters. Memory use does not grow
/// with the number of documents.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda synth -D 100000 -W 50000 -K 50 --mean-length 90 --seed 7 -o synth.tlc\n  \
    tinylda synth -D 8200000 -W 141043 -K 100 -o pubmed-size.tlc\n  \
    tinylda synth -D 1000 -W 5000 -K 10 --format uci -o - | gzip > docword.txt.gz"
)]
pub(crate) struct SynthArgs {
    /// Number of documents
    #[arg(short = 'D', long, value_name = "D", allow_negative_numbers = true, value_parser = whole_number::<u64>(1, u64::MAX))]
    pub(crate) documents: u64,
    /// Vocabulary size
    #[arg(short = 'W', long, value_name = "W", allow_negative_numbers = true, value_parser = whole_number::<u32>(1, u32::MAX))]
    pub(crate) words: u32,
    /// Number of topics
    #[arg(short = 'K', short_alias = 'k', long, aliases = TOPICS_ALIASES, value_name = "K", allow_negative_numbers = true, value_parser = whole_number::<u32>(1, u32::MAX))]
    pub(crate) topics: u32,
    /// Mean number of tokens per document
    #[arg(long, allow_negative_numbers = true, value_parser = parse_positive, default_value_t = 90.0)]
    pub(crate) mean_length: f64,
    /// Shape of the gamma distribution of document lengths; smaller values vary more
    #[arg(long, hide_short_help = true, allow_negative_numbers = true, value_parser = parse_positive, default_value_t = 4.0)]
    pub(crate) length_shape: f64,
    /// Dirichlet parameter of a document's topics, per topic
    #[arg(long, hide_short_help = true, allow_negative_numbers = true, value_parser = parse_positive, default_value_t = 0.05)]
    pub(crate) alpha: f64,
    /// Dirichlet concentration of topics around the word frequencies; smaller values give more
    /// distinct topics
    #[arg(long, hide_short_help = true, allow_negative_numbers = true, value_parser = parse_positive, default_value_t = 1000.0)]
    pub(crate) concentration: f64,
    /// Zipf exponent of the word frequencies
    #[arg(long, hide_short_help = true, allow_negative_numbers = true, value_parser = parse_non_negative, default_value_t = 1.1)]
    pub(crate) zipf_exponent: f64,
    /// Mandelbrot shift: flattens the most frequent words, as removing stop words does
    #[arg(long, hide_short_help = true, allow_negative_numbers = true, value_parser = parse_non_negative, default_value_t = 20.0)]
    pub(crate) zipf_shift: f64,
    /// Weight of the overall word frequencies in every topic
    #[arg(long, hide_short_help = true, allow_negative_numbers = true, value_parser = parse_non_negative, default_value_t = 0.05)]
    pub(crate) smooth: f64,
    /// Fraction of tokens that repeat an earlier word of their document
    #[arg(long, hide_short_help = true, allow_negative_numbers = true, value_parser = parse_non_negative, default_value_t = 0.32)]
    pub(crate) burst: f64,
    /// Random seed of the corpus
    #[arg(long, aliases = ["random-seed", "random-state"], value_parser = whole_number::<u64>(0, u64::MAX), allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Format to write [default: tlc, or uci for standard output]
    #[arg(long, value_enum, help_heading = OUTPUT)]
    pub(crate) format: Option<SynthFormat>,
    /// File to write; - for standard output
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda completions bash > ~/.local/share/bash-completion/completions/tinylda\n  \
    tinylda completions zsh > ~/.zfunc/_tinylda"
)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    pub(crate) shell: clap_complete::Shell,
}

/// Print a list of stop words, or the names of all lists
///
/// The default list of a language contains function words. Its long list, if it has one, also
/// contains frequent words with a meaning, such as computer and system.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda stop-words\n  tinylda stop-words en\n  \
    tinylda stop-words en-long > my.txt      edit it, then: tinylda train ... --stop-words my.txt\n  \
    tinylda import texts.txt --stop-words en,my.txt -o texts.tlc")]
pub(crate) struct StopWordsArgs {
    /// Name of a list: a language such as en or German, or a long list such as en-long
    pub(crate) list: Option<String>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

fn parse_number(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| "expected a number".into())
}

/// Returns the parser of a whole number from `least` to `most`.
fn whole_number<T>(least: T, most: T) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy + Into<u64> + Send + Sync + 'static,
{
    move |text: &str| {
        // A limit of the number type is worth mentioning only if it is exceeded.
        let is_large = text.len() > 9 && text.bytes().all(|b| b.is_ascii_digit());
        let expected = if most.into() < u64::from(u32::MAX) || is_large {
            format!("expected a whole number from {least} to {most}")
        } else {
            format!("expected a whole number of at least {least}")
        };
        text.trim().parse().ok().filter(|n| *n >= least && *n <= most).ok_or(expected)
    }
}

/// Names that other programs use for the number of topics, accepted as hidden aliases.
const TOPICS_ALIASES: [&str; 3] = ["num-topics", "n-topics", "n-components"];

/// Parses a number of topics.
fn parse_topics(text: &str) -> Result<u32, String> {
    let is_list = text.starts_with(|c: char| c.is_ascii_digit()) && text.contains([',', '-', ':']);
    let more = if is_list { "; `tinylda sweep` compares several numbers" } else { "" };
    let invalid = || format!("expected a whole number of at least 1, such as 20{more}");
    text.parse().ok().filter(|&k| k > 0).ok_or_else(invalid)
}

fn parse_positive(text: &str) -> Result<f64, String> {
    parse_number(text).and_then(|v| if v > 0.0 { Ok(v) } else { Err("expected a number above 0".into()) })
}

fn parse_non_negative(text: &str) -> Result<f64, String> {
    parse_number(text)
        .and_then(|v| if v >= 0.0 { Ok(v) } else { Err("expected a number of at least 0".into()) })
}

/// Parses a fraction above 0 and below 1, such as 0.2 or 20%.
fn parse_open_fraction(text: &str) -> Result<f64, String> {
    let value = match text.trim().strip_suffix('%') {
        Some(percent) => parse_number(percent.trim()).map(|v| v / 100.0),
        None => parse_number(text.trim()),
    };
    let invalid = || "expected a fraction above 0 and below 1, such as 0.2 or 20%".to_owned();
    value.ok().filter(|v| *v > 0.0 && *v < 1.0).ok_or_else(invalid)
}

/// Parses a fraction from 0 to 1, both included.
fn parse_fraction(text: &str) -> Result<f64, String> {
    parse_number(text).and_then(|v| {
        if (0.0..=1.0).contains(&v) { Ok(v) } else { Err("expected a number from 0 to 1".into()) }
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn definition_is_valid() {
        super::Cli::command().debug_assert();
    }

    /// Returns the examples of a help text.
    fn examples(help: &str) -> impl Iterator<Item = &str> {
        let start = help.find("\nExample").unwrap_or(help.len());
        help[start..].lines().filter(|line| line.contains("tinylda "))
    }

    #[test]
    fn examples_use_listed_options_and_valid_arguments() {
        let mut program = super::Cli::command();
        program.build();
        for command in program.get_subcommands() {
            let (short, long) = (command.clone().render_help(), command.clone().render_long_help());
            for help in [short.to_string(), long.to_string()] {
                for example in examples(&help) {
                    let example =
                        example.split(['#', '>', '|']).find(|part| part.contains("tinylda ")).unwrap();
                    let example = example.split("      ").next().unwrap().replace('\'', "");
                    let words: Vec<&str> = example.split_whitespace().collect();
                    if words[1] == command.get_name() {
                        let listed = |option: &str| {
                            help.lines().any(|line| {
                                let line = line.trim_start();
                                line.starts_with('-')
                                    && line.split([' ', ',', '[']).any(|word| word == option)
                            })
                        };
                        for option in words.iter().filter(|word| word.starts_with('-') && word.len() > 1) {
                            let option = option.split('=').next().unwrap();
                            assert!(listed(option), "{option} is not listed: {example}");
                        }
                    }
                    if !example.contains("...") {
                        let parsed = super::Cli::command().try_get_matches_from(&words);
                        assert!(parsed.is_ok(), "{example}: {parsed:?}");
                    }
                }
                assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
            }
        }
    }

    #[test]
    fn sizes_and_durations() {
        use super::train::parse_duration;
        use super::{MemorySize, parse_memory_size};
        for (text, bytes) in
            [("512MiB", 512 << 20), ("2GiB", 2 << 30), ("1.5 gb", 1_500_000_000), ("64m", 64 << 20)]
        {
            assert_eq!(parse_memory_size(text), Ok(MemorySize::Bytes(bytes)), "{text}");
        }
        assert_eq!(parse_memory_size("50%"), Ok(MemorySize::Share(0.5)));
        for wrong in ["", "2", "MiB", "-1GiB", "0GiB", "101%", "nanGiB", "2 apples", "infGiB"] {
            assert!(parse_memory_size(wrong).is_err(), "{wrong}");
        }
        for (text, seconds) in [("30s", 30), ("10m", 600), ("2h", 7200), ("0", 0), ("1.5m", 90)] {
            assert_eq!(parse_duration(text).map(|d| d.as_secs()), Ok(seconds), "{text}");
        }
        for wrong in ["", "10", "-1s", "s", "1e300h", "10 days"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
