//! Arguments of `report` and `plot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::heading::OUTPUT;
use super::{DataArgs, MemorySize, parse_memory_size};

/// Write an interactive report of a model: one HTML file to explore in a browser
///
/// The report contains a map of the topics, their words by relevance, and the topics of each word;
/// with a corpus also typical documents, labels and coherence. The file is self-contained: it needs
/// no network and no other file. Distances, map and relevance equal those of pyLDAvis.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda report nyt.model nyt.tlc -o nyt.html\n  tinylda report nyt.model -o nyt.html\n  \
    tinylda report news.model news.csv --text-column body -o news.html\n  \
    tinylda train abstracts.txt -k 50 -o abstracts.model --report abstracts.html"
)]
pub(crate) struct ReportArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Corpus file, or documents in any format that `import` reads: include the documents, their
    /// labels and counts; - for standard input
    pub(crate) corpus: Option<PathBuf>,
    /// More files or folders with text; their documents follow those of the first input
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// HTML file to write
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: PathBuf,
    /// Title of the report [default: the name of the corpus]
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) title: Option<String>,
    /// Omit the first lines of documents
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) no_text: bool,
    /// File or folder from which the first lines of documents may be read [default: the folder of
    /// CORPUS]
    ///
    /// A text is shown only if it has not changed since the import. Use this option if the texts
    /// are not in the folder of the corpus file, or were moved. It may be repeated.
    #[arg(long, value_name = "PATH", help_heading = OUTPUT)]
    pub(crate) texts: Vec<PathBuf>,
    /// Training log, as written by `train --log` [default: the model's name with .log.jsonl, if
    /// that file exists]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) log: Option<PathBuf>,
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, aliases = ["workers", "n-jobs"], value_name = "N", hide_short_help = true, allow_negative_numbers = true, value_parser = super::whole_number::<u16>(1, u16::MAX))]
    pub(crate) threads: Option<u16>,
    /// Memory limit, such as 512MiB or 2GiB; fail if the model does not fit [default: no limit]
    #[arg(long, value_name = "SIZE", hide_short_help = true, value_parser = parse_memory_size)]
    pub(crate) memory: Option<MemorySize>,
    /// Print a summary as one JSON object
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotKind {
    /// Bar charts of the top words of topics
    Topics,
    /// Training perplexity after each pass
    Perplexity,
    /// Map of the topics: topics with similar words are close, areas show prevalence
    Map,
}

/// Draw a figure of a model for papers and slides
///
/// Draws the top words of topics, the training perplexity or the map of the topics, as SVG or PNG
/// by the suffix of the output file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda plot nyt.model --what topics --topics 1,5,7 -o topics.svg\n  \
    tinylda plot nyt.model --what perplexity -o perplexity.png\n  tinylda plot nyt.model --what map -o map.svg")]
pub(crate) struct PlotArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Figure to draw
    #[arg(long, value_enum)]
    pub(crate) what: PlotKind,
    /// File to write; its name ends in .svg or .png
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: PathBuf,
    /// Topics to draw with --what topics, numbered from 0 [default: the twelve most prevalent]
    #[arg(long, value_name = "K,...", value_delimiter = ',')]
    pub(crate) topics: Vec<u32>,
    /// Number of words per topic with --what topics
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true, default_value_t = 10, value_parser = super::whole_number::<u32>(1, 100))]
    pub(crate) top: u32,
    /// Title of the figure [default: the name of the corpus]
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) title: Option<String>,
    /// Print a summary as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}
