//! `report` and `plot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Size, size};

/// Make a report of a model: one HTML file to explore in a browser
///
/// A map of the topics, their words by relevance, where words live; with the corpus also typical documents, labels and coherence. The
/// file needs no network and no other file: send it to anybody. Distances, map and relevance are those of pyLDAvis.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinylda report nyt.model nyt.tlc -o nyt.html\n  tinylda report nyt.model -o nyt.html\n  \
    tinylda train abstracts.txt -k 50 -o abstracts.model --report abstracts.html"
)]
pub(crate) struct Report {
    /// The model file
    pub(crate) model: PathBuf,
    /// The corpus file: its documents, labels and counts go into the report
    pub(crate) corpus: Option<PathBuf>,
    /// The HTML file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The report's title [default: the corpus's name]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Leave the documents' first lines out
    #[arg(long)]
    pub(crate) no_text: bool,
    /// The training's log, as `train --log` has written it [default: the model's name and .log.jsonl, where it is there]
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// How many threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// The most memory to use, such as 512MiB or 2GiB; refused where the model does not fit [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<Size>,
    /// Print what was done as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// The first words of topics as bars
    Topics,
    /// The training perplexity after each pass
    Perplexity,
    /// The map of the topics: near ones share words, larger ones have more of the corpus
    Map,
}

/// Draw a figure of a model for papers and slides
///
/// Topics' words, the training perplexity or the map of the topics, as SVG or PNG by the file's ending.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinylda plot nyt.model --what topics --topics 1,5,7 -o topics.svg\n  \
    tinylda plot nyt.model --what perplexity -o perplexity.png\n  tinylda plot nyt.model --what map -o map.svg")]
pub(crate) struct Plot {
    /// The model file
    pub(crate) model: PathBuf,
    /// What to draw
    #[arg(long, value_enum)]
    pub(crate) what: What,
    /// The file to write: its name ends in .svg or .png
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// With --what topics: which, as numbers from 0 [default: the twelve with most of the corpus]
    #[arg(long, value_name = "K,...", value_delimiter = ',')]
    pub(crate) topics: Vec<u32>,
    /// With --what topics: how many words of each
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) top: u32,
    /// The figure's title [default: the corpus's name]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Print what was done as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
