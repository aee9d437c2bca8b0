//! Turns any input into a corpus file: `import` keeps it, other commands use it temporarily.
//!
//! Start with [`InputRequest`] for `train` and `sweep`, and [`OpenedDocuments`] for commands that
//! apply a model.

use std::path::{Path, PathBuf};

use tinylda::corpus::ingest::words::StopWords;
use tinylda::corpus::ingest::{DetectedInput, Format, Import, Imported, InputKind, TextPipeline};
use tinylda::files::TemporaryFolder;
use tinylda::format::human_bytes;
use tinylda::infer::VocabularyMap;
use tinylda::progress::Step;
use tinylda::report::TextAccess;
use tinylda::{Corpus, Error, Model};

use super::{PROGRAM_BYTES_WITH_IMPORT, check_output, counted, grouped, memory_limit, usage};
use crate::progress::{Ui, Unit};
use crate::{args, machine};

mod words;

pub(crate) use words::dropped_json;

/// Corpus file of a command: one that the user gave, or one that was imported.
pub(crate) struct OpenedCorpus {
    /// Path of the corpus file.
    pub(crate) path: PathBuf,
    /// Result of the import, if there was one.
    pub(crate) imported: Option<Imported>,
}

/// Converts a format from the arguments to that of the library.
pub(crate) fn format(format: args::InputFormat) -> Format {
    match format {
        args::InputFormat::Uci => Format::Uci,
        args::InputFormat::Mtx => Format::MatrixMarket,
        args::InputFormat::Svmlight => Format::SvmLight,
        args::InputFormat::Ldac => Format::LdaC,
        args::InputFormat::Text => Format::Text,
        args::InputFormat::Npz => Format::Npz,
        args::InputFormat::H5ad => Format::H5ad,
        args::InputFormat::Parquet => Format::Parquet,
        args::InputFormat::Csv => Format::Csv,
        args::InputFormat::Jsonl => Format::JsonLines,
        args::InputFormat::Mallet => Format::Mallet,
        args::InputFormat::Vw => Format::VowpalWabbit,
        args::InputFormat::Folder => Format::Folder,
        args::InputFormat::Json => Format::Json,
        args::InputFormat::Html => Format::Html,
        args::InputFormat::Xml => Format::Xml,
        args::InputFormat::Docx => Format::Docx,
        args::InputFormat::Zip => Format::Zip,
    }
}

/// Returns the error for an option that is only valid with data to import, given with a corpus
/// file.
pub(super) fn not_with_corpus_error(option: &str, corpus: &Path) -> anyhow::Error {
    usage(format!(
        "{option} is only valid with data to import; {} is a corpus file, whose words and names are fixed; \
         run tinylda import again with {option}",
        corpus.display()
    ))
}

/// Returns the error for options about documents without documents.
pub(super) fn without_documents_error() -> anyhow::Error {
    usage(
        "options about documents, such as --text-column and --vocab, require documents: add their file or folder",
    )
}

/// Returns the error for a corpus file that is given together with other inputs.
pub(super) fn one_corpus_error() -> anyhow::Error {
    usage("a corpus file cannot be combined with other inputs; import all of the data into one corpus")
}

/// Returns whether an input of this kind is text, and not a bag of words.
fn is_text(text: &args::TextArgs, kind: Option<InputKind>) -> bool {
    match (text.format, kind) {
        (Some(given), _) => format(given).is_raw(),
        (None, Some(InputKind::Data(found))) => found.is_raw(),
        _ => true,
    }
}

/// Returns the import for the given options. With a model, text is processed as for that model;
/// `kind` is the kind of the first input, if it is known.
pub(crate) fn import(
    text: &args::TextArgs,
    model: Option<&Model>,
    kind: Option<InputKind>,
) -> anyhow::Result<Import> {
    let pipeline = match model {
        None => text.pipeline()?,
        Some(model) => {
            text.reject_word_options()?;
            match model.vocabulary() {
                Some(vocabulary) => TextPipeline::existing(model.pipeline(), vocabulary.clone()),
                // The words of a bag of words have the same numbers as those of the model.
                None if !is_text(text, kind) => TextPipeline::default(),
                None => {
                    return Err(usage(
                        "the model has no vocabulary to compare text with; use a corpus file or a bag of words \
                         instead of text",
                    ));
                }
            }
        }
    };
    Ok(Import {
        format: text.format.map(format),
        records: text.record_options(),
        words: pipeline,
        words_if_text: model.is_some(),
        memory: memory_limit(None)?,
        memory_in_use: PROGRAM_BYTES_WITH_IMPORT,
        ..Import::default()
    })
}

/// Opens the inputs after the first one.
pub(crate) fn open_more(first: DetectedInput, more: &[PathBuf]) -> anyhow::Result<Vec<DetectedInput>> {
    let mut all = vec![first];
    for path in more {
        if path == Path::new("-") {
            return Err(usage("standard input can only be the first of several inputs"));
        }
        all.push(DetectedInput::open(path)?);
    }
    if all.len() > 1 && all.iter().any(|input| input.kind() == InputKind::Corpus) {
        return Err(one_corpus_error());
    }
    Ok(all)
}

/// Runs an import with progress bars, and prints what was detected and dropped.
pub(crate) fn run(
    import: &Import,
    inputs: Vec<DetectedInput>,
    output: &Path,
    ui: Ui,
) -> anyhow::Result<Imported> {
    machine::return_large_buffers();
    let reading = ui.bar("reading", Unit::Bytes);
    let sorting = ui.bar("sorting", Unit::Plain);
    let done = import.run_all(inputs, output, &mut |progress| {
        if progress.step != Step::Sorting {
            return reading.update(progress);
        }
        reading.finish();
        sorting.update(progress)
    })?;
    reading.finish();
    sorting.finish();
    super::notes::print(import, &done, ui);
    if done.sorted {
        ui.say("the documents were not in order and were sorted in temporary files");
    }
    if let Some(dropped) = &done.dropped {
        let pipeline = Corpus::open(output)?.about()?.pipeline.unwrap_or_default();
        let as_before = import.words.stop == StopWords::Given;
        words::print_languages(dropped, &pipeline, as_before, ui);
        let lists = match &import.words.stop {
            StopWords::Lists(given) => given,
            _ => &pipeline.stop_languages,
        };
        let replaced = match &import.words.stop {
            StopWords::Lists(given) => words::replaced_list(dropped, given),
            _ => None,
        };
        words::print_dropped(dropped, lists, replaced, import.words.vocabulary.is_some(), ui);
        super::notes::warn_of_word_lists(import, &pipeline, ui);
    }
    if let Some(dates) = done.dates.filter(|dates| dates.unreadable > 0) {
        ui.say(&format!(
            "warning: {} of {} cannot be read or are ambiguous, the first is that of document {}; these \
             documents have no date; write dates as YYYY-MM-DD, or pass --strict to reject them",
            grouped(dates.unreadable),
            counted(dates.known + dates.unreadable, "date"),
            grouped(dates.first_unreadable)
        ));
    }
    // Commands that apply a model say themselves which documents have no words.
    if done.empty_documents > 0 && !import.words_if_text {
        ui.say(&format!(
            "{} without words; such documents are kept, but do not influence the topics",
            counted(done.empty_documents, "document")
        ));
    }
    Ok(done)
}

/// Says of an error about memory that the import needs it, and not the training.
fn explain_import_memory(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(Error::Memory { need, have, remedy }) => anyhow::anyhow!(
            "importing the text needs about {}, the limit is {}; {}, or import first with tinylda import",
            human_bytes(*need),
            human_bytes(*have),
            crate::parameters::render(remedy)
        ),
        _ => error,
    }
}

/// Request to open an input as a corpus file.
#[derive(Clone, Copy)]
pub(crate) struct InputRequest<'a> {
    /// The first input that the user gave.
    pub(crate) input: &'a Path,
    /// The other inputs.
    pub(crate) more: &'a [PathBuf],
    /// Options for text.
    pub(crate) text: &'a args::TextArgs,
    /// Vocabulary file of a bag of words.
    pub(crate) vocab: Option<&'a Path>,
    /// Model whose text pipeline is used.
    pub(crate) model: Option<&'a Model>,
    /// Whether words are imported that the model does not have.
    pub(crate) new_words: bool,
    /// Corpus file to write if the input has to be imported.
    pub(crate) import_to: &'a Path,
    /// Number of threads; 0 for all cores.
    pub(crate) threads: usize,
    /// Memory limit in bytes.
    pub(crate) memory: Option<u64>,
}

impl InputRequest<'_> {
    /// Returns a corpus file as it is, and imports any other input.
    pub(crate) fn open(&self, input: DetectedInput, ui: Ui) -> anyhow::Result<OpenedCorpus> {
        match input.kind() {
            InputKind::Corpus if !self.more.is_empty() => return Err(one_corpus_error()),
            InputKind::Corpus => {
                if let Some(option) = self.vocab.map(|_| "--vocab").or_else(|| self.text.first_given()) {
                    return Err(not_with_corpus_error(option, self.input));
                }
                return Ok(OpenedCorpus { path: self.input.to_path_buf(), imported: None });
            }
            InputKind::Model => {
                // Always fails, with an error that explains why.
                Corpus::open(self.input)?;
            }
            _ => {}
        }
        check_output("-o", self.import_to, &[Some(self.input), self.vocab])?;
        let mut import = match self.model.filter(|_| self.new_words) {
            Some(model) => Import {
                words: self.text.pipeline_for_update(model.pipeline())?,
                ..import(&self.text.without_words(), None, Some(input.kind()))?
            },
            None => import(self.text, self.model, Some(input.kind()))?,
        };
        import.vocabulary = self.vocab.map(Path::to_path_buf);
        (import.threads, import.memory) = (self.threads, self.memory);
        let imported = run(&import, open_more(input, self.more)?, self.import_to, ui);
        let imported = imported.map_err(explain_import_memory)?;
        Ok(OpenedCorpus { path: self.import_to.to_path_buf(), imported: Some(imported) })
    }
}

/// Documents to which a model is applied.
pub(crate) struct OpenedDocuments {
    /// The opened corpus.
    pub(crate) corpus: Corpus,
    /// Result of the import, if there was one.
    imported: Option<Imported>,
    /// Files from which texts may be read: the data that was imported.
    pub(crate) texts: TextAccess,
    /// Temporary folder of an imported corpus, deleted on drop.
    _folder: Option<TemporaryFolder>,
}

impl OpenedDocuments {
    /// Opens a corpus file as it is, and imports anything else into a corpus file in the system's
    /// temporary folder, together with `more` inputs. Text is processed as for the model.
    pub(crate) fn open(
        input: &Path,
        more: &[PathBuf],
        data: &args::DataArgs,
        model: &Model,
        threads: usize,
        ui: Ui,
    ) -> anyhow::Result<OpenedDocuments> {
        if [&data.vocab, &data.names].iter().any(|f| f.as_deref() == Some(Path::new("-"))) {
            return Err(usage(
                "--vocab and --names must be files; only documents can come from standard input",
            ));
        }
        let detected = DetectedInput::open(input)?;
        if detected.kind() == InputKind::Corpus {
            if !more.is_empty() {
                return Err(one_corpus_error());
            }
            let files = data.vocab.as_ref().map(|_| "--vocab").or(data.names.as_ref().map(|_| "--names"));
            if let Some(option) = files.or_else(|| data.text.first_given()) {
                return Err(not_with_corpus_error(option, input));
            }
            let (corpus, texts) = (Corpus::open(input)?, TextAccess::default());
            return Ok(OpenedDocuments { corpus, imported: None, texts, _folder: None });
        }
        if detected.kind() == InputKind::Model {
            // Always fails, with an error that explains why.
            Corpus::open(input)?;
        }
        let folder = super::temporary_folder()?;
        let path = folder.path().join("input.tlc");
        let mut import = import(&data.text, Some(model), Some(detected.kind()))?;
        import.vocabulary.clone_from(&data.vocab);
        import.names.clone_from(&data.names);
        import.threads = threads;
        let imported = Some(run(&import, open_more(detected, more)?, &path, ui)?);
        let texts = TextAccess { named: std::iter::once(input.to_path_buf()).chain(more.to_vec()).collect() };
        // Errors name the data of the user instead of the temporary file.
        let corpus = Corpus::open(&path)?.with_origin(super::input_name(input, more));
        Ok(OpenedDocuments { corpus, imported, texts, _folder: Some(folder) })
    }

    /// Warns if the model was trained on other documents, or does not know most of their words.
    pub(crate) fn warn_of_mismatch(&self, model: &Model, ui: Ui) -> anyhow::Result<()> {
        super::mismatch::warn_if_not_trained_on(model, &self.corpus, ui);
        self.warn_of_unknown_words(model, ui)
    }

    /// Warns if the model does not know most of the words.
    pub(crate) fn warn_of_unknown_words(&self, model: &Model, ui: Ui) -> anyhow::Result<()> {
        let unknown = VocabularyMap::new(model, &self.corpus)?.unknown(&self.corpus)?;
        super::mismatch::warn_of_unknown_words(model, &self.corpus, unknown, self.dropped_tokens(), ui);
        Ok(())
    }

    /// Returns the number of tokens that were not imported because the model does not know them.
    fn dropped_tokens(&self) -> u64 {
        self.imported.as_ref().and_then(|imported| imported.dropped.as_ref()).map_or(0, |d| d.unknown)
    }
}
