//! Any input -> a corpus file: `import` keeps it, `train` and others may have it for a while.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tinylda::corpus::ingest::words::Dropped;
use tinylda::corpus::ingest::{Compression, DetectedInput, Format, Import, Imported, InputKind};
use tinylda::progress::Step;
use tinylda::{Corpus, Model};

use super::{check_output, grouped, usage};
use crate::args;
use crate::progress::{Ui, Unit};

/// A corpus to work on; one that was made for the purpose goes with [`Opened::done`].
pub(crate) struct Opened {
    /// The corpus file.
    pub(crate) path: PathBuf,
    made: bool,
    /// What the import did, where there was one.
    pub(crate) imported: Option<Imported>,
}

impl Opened {
    /// Nobody needs a corpus that was made for the purpose any more, and it can be made again.
    pub(crate) fn done(&self) {
        if self.made {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The library's format.
pub(crate) fn format(format: args::Format) -> Format {
    match format {
        args::Format::Uci => Format::Uci,
        args::Format::Mtx => Format::MatrixMarket,
        args::Format::Svmlight => Format::SvmLight,
        args::Format::Ldac => Format::LdaC,
        args::Format::Text => Format::Text,
        args::Format::Npz => Format::Npz,
        args::Format::H5ad => Format::H5ad,
        args::Format::Parquet => Format::Parquet,
        args::Format::Csv => Format::Csv,
        args::Format::Jsonl => Format::JsonLines,
        args::Format::Mallet => Format::Mallet,
        args::Format::Vw => Format::VowpalWabbit,
        args::Format::Folder => Format::Folder,
    }
}

/// The options for text and tables, in a message.
pub(super) const TEXT_OPTIONS: &str = "an option for text";

/// An option that is only valid with data to import was given with a corpus file.
pub(super) fn not_with_corpus(option: &str) -> anyhow::Error {
    usage(format!(
        "{option} is only valid with data to import, not with a corpus file, which contains its own words and names"
    ))
}

/// An import as the options have it; text goes the way of a model's, where there is one.
pub(crate) fn import(words: &args::Words, model: Option<&Model>) -> anyhow::Result<Import> {
    let treatment = match model {
        None => words.treatment()?,
        Some(model) => {
            words.nothing_of_treatment()?;
            let vocabulary = model.vocabulary().cloned().ok_or_else(|| {
                usage("the model has no vocabulary to compare text with; use a corpus file instead of text")
            })?;
            args::words::as_before(model.pipeline(), vocabulary)
        }
    };
    Ok(Import {
        format: words.format.map(format),
        parts: words.parts(),
        words: treatment,
        words_if_text: model.is_some(),
        ..Import::default()
    })
}

/// Runs an import with progress bars, and prints what was detected and dropped.
pub(crate) fn run(import: &Import, input: DetectedInput, output: &Path, ui: Ui) -> anyhow::Result<Imported> {
    let reading = ui.bar("reading", Unit::Bytes);
    let sorting = ui.bar("sorting", Unit::Plain);
    let done = import.run_detected(input, output, &mut |progress| {
        if progress.step != Step::Sorting {
            return reading.step(progress);
        }
        reading.done();
        sorting.step(progress)
    })?;
    reading.done();
    sorting.done();
    let packed = if done.compression == Compression::None {
        String::new()
    } else {
        format!(", {}", done.compression.name())
    };
    let how = match (import.format, done.format) {
        (Some(_), _) | (_, Format::Folder) => "",
        (None, Format::LdaC) => {
            " (detected: each line begins with its number of pairs; if that is a label, pass --format svmlight)"
        }
        _ => " (detected; override with --format)",
    };
    ui.say(&format!("format: {}{packed}{how}", done.format.name()));
    if done.sorted {
        ui.say("the documents were not in order: sorted through temporary files");
    }
    if let Some(dropped) = &done.dropped {
        let pipeline = Corpus::open(output)?.about()?.pipeline.unwrap_or_default();
        summary(dropped, &pipeline.stop_languages, import.words.vocabulary.is_some(), ui);
    }
    if done.empty_documents > 0 {
        ui.say(&format!(
            "{} documents have no words; they are kept, but say nothing about topics",
            grouped(done.empty_documents)
        ));
    }
    Ok(done)
}

/// What was left out, and why.
fn summary(dropped: &Dropped, languages: &[String], fixed: bool, ui: Ui) {
    let mut parts = Vec::new();
    let mut tokens = |n: u64, what: String| {
        if n > 0 {
            parts.push(format!("{} {what}", grouped(n)));
        }
    };
    let of = if languages.is_empty() { String::new() } else { format!(" ({})", languages.join(", ")) };
    tokens(dropped.stop, format!("stop words{of}"));
    tokens(dropped.numbers, "without a letter".into());
    tokens(dropped.short, "too short".into());
    tokens(dropped.long, "too long".into());
    tokens(
        dropped.rare.1,
        format!("of {} words in fewer than {} documents", grouped(dropped.rare.0), dropped.least),
    );
    tokens(dropped.frequent.1, format!("of {} words in too many documents", grouped(dropped.frequent.0)));
    tokens(dropped.beyond.1, format!("of {} words beyond --max-words", grouped(dropped.beyond.0)));
    if fixed {
        tokens(dropped.unknown, "that the vocabulary does not have".into());
    }
    let left = if parts.is_empty() { "nothing".into() } else { parts.join("; ") };
    ui.say(&format!("{} tokens in the text; left out: {left}", grouped(dropped.tokens)));
    if dropped.phrases > 0 {
        ui.say(&format!("{} phrases found and joined", grouped(dropped.phrases)));
    }
    if dropped.replaced > 0 {
        ui.say(&format!(
            "{} documents have bytes that are not UTF-8: replaced (--strict refuses them)",
            grouped(dropped.replaced)
        ));
    }
}

/// The same for JSON.
pub(crate) fn summary_json(dropped: &Dropped) -> Value {
    json!({
        "tokens_in_text": dropped.tokens,
        "stop_words": dropped.stop,
        "numbers": dropped.numbers,
        "short": dropped.short,
        "long": dropped.long,
        "rare_words": dropped.rare.0,
        "rare_tokens": dropped.rare.1,
        "frequent_words": dropped.frequent.0,
        "frequent_tokens": dropped.frequent.1,
        "beyond_max_words": dropped.beyond.0,
        "beyond_max_tokens": dropped.beyond.1,
        "unknown_tokens": dropped.unknown,
        "phrases": dropped.phrases,
        "documents_not_utf8": dropped.replaced,
        "min_docs": dropped.least,
        "spilled": dropped.spilled,
    })
}

/// How an input is to be opened.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// What the user gave.
    pub(crate) input: &'a Path,
    /// The options for text.
    pub(crate) words: &'a args::Words,
    /// The words of a bag of words.
    pub(crate) vocab: Option<&'a Path>,
    /// Text is to go the way of this model's.
    pub(crate) model: Option<&'a Model>,
    /// Where a corpus is made, if one has to be.
    pub(crate) beside: &'a Path,
    /// The corpus that is made stays.
    pub(crate) keep: bool,
    /// How many threads; 0 for all cores.
    pub(crate) threads: usize,
    /// The most memory.
    pub(crate) memory: Option<u64>,
}

impl Opening<'_> {
    /// Returns a corpus file as it is, and imports any other input.
    pub(crate) fn open(&self, input: DetectedInput, ui: Ui) -> anyhow::Result<Opened> {
        match input.kind() {
            InputKind::Corpus => {
                if self.vocab.is_some() || self.words.given() {
                    return Err(not_with_corpus(if self.vocab.is_some() { "--vocab" } else { TEXT_OPTIONS }));
                }
                return Ok(Opened { path: self.input.to_path_buf(), made: false, imported: None });
            }
            InputKind::Model => {
                // Fails, and explains why.
                Corpus::open(self.input)?;
            }
            _ => {}
        }
        check_output("-o", self.beside, &[Some(self.input), self.vocab])?;
        let mut import = import(self.words, self.model)?;
        import.vocabulary = self.vocab.map(Path::to_path_buf);
        (import.threads, import.memory) = (self.threads, self.memory);
        let imported = run(&import, input, self.beside, ui)?;
        Ok(Opened { path: self.beside.to_path_buf(), made: !self.keep, imported: Some(imported) })
    }
}

/// Documents for a model.
pub(crate) struct Documents {
    /// The corpus file, opened.
    pub(crate) corpus: Corpus,
    /// Where they were packed for the while; goes with this.
    _folder: Option<tempfile::TempDir>,
}

impl Documents {
    /// A corpus file as it is; anything else through a corpus file in the system's temporary folder, text as the model's was.
    pub(crate) fn open(
        input: &Path,
        data: &args::Data,
        model: &Model,
        threads: usize,
        ui: Ui,
    ) -> anyhow::Result<Documents> {
        if [&data.vocab, &data.names].iter().any(|f| f.as_deref() == Some(Path::new("-"))) {
            return Err(usage(
                "--vocab and --names must be files; only documents can come from standard input",
            ));
        }
        let detected = DetectedInput::open(input)?;
        if detected.kind() == InputKind::Corpus {
            let given = [
                ("--vocab", data.vocab.is_some()),
                ("--names", data.names.is_some()),
                (TEXT_OPTIONS, data.words.given()),
            ];
            if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
                return Err(not_with_corpus(option));
            }
            return Ok(Documents { corpus: Corpus::open(input)?, _folder: None });
        }
        let folder = tempfile::Builder::new().prefix(".tinylda-").tempdir()?;
        let path = folder.path().join("input.tlc");
        let mut import = import(&data.words, Some(model))?;
        import.vocabulary.clone_from(&data.vocab);
        import.names.clone_from(&data.names);
        import.threads = threads;
        run(&import, detected, &path, ui)?;
        Ok(Documents { corpus: Corpus::open(&path)?, _folder: Some(folder) })
    }
}
