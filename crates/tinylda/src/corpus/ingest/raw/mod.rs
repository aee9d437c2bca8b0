//! Import of raw text into a corpus file, in two passes and bounded memory.
//!
//! The first pass counts words and the documents that contain them; counts that do not fit in
//! memory go to disk in sorted runs. Then the vocabulary is selected, and the second pass writes
//! the documents: from word numbers buffered by the first pass if these fit in memory, otherwise
//! from the text again. Phrases need an additional pass before, and a given vocabulary needs only
//! the last pass. One thread reads and writes, the others tokenize. Batches are written in the
//! order in which they were read, and counts are sums, so the result does not depend on the number
//! of threads.
//!
//! Start with [`TextImport::run`]. Records are read by `source` and `records`, the threads run
//! `passes` through `parallel`, and text is turned into words by [`words`](super::words).

mod import;
mod parallel;
mod passes;
pub(crate) mod records;
pub(crate) mod source;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use self::parallel::parallel_map_ordered;
use self::passes::{BufferedBatches, DocumentEncoder, EncodedBatch, WordCounter};
use self::records::{CsvLayout, JsonFields, NamedColumn, RecordFields, RecordFormat, RecordReader};
use self::source::{TextBatch, TextSource};
use super::lines::LineReader;
use super::options::{RecordOptions, TextPipeline, is_text_name};
use super::words::{
    CountRuns, DroppedTokens, Pipeline, StopWords, TokenRule, Tokenizer, WordIndex, WordSelector,
    detect_language,
};
use super::{Format, ImportedDates};
use crate::corpus::{About, CorpusWriter, DocumentFields, Shape, Vocabulary};
use crate::error::{Error, Position, Result, Template};
use crate::files::folder_of;
use crate::progress::{ProgressCallback, Step};

/// Import of raw text: source of the records, options for words, and output.
pub(crate) struct TextImport<'a> {
    pub(crate) reader: RecordReader,
    pub(crate) format: Format,
    pub(crate) words: &'a TextPipeline,
    pub(crate) names: Option<&'a Path>,
    pub(crate) output: &'a Path,
    /// Path of the input, if it can be opened again.
    pub(crate) origin: Option<String>,
    pub(crate) threads: usize,
    pub(crate) memory: Option<u64>,
}

/// Result of an import of raw text.
pub(crate) struct WrittenTexts {
    pub(crate) shape: Shape,
    pub(crate) empty_documents: u64,
    pub(crate) dropped: DroppedTokens,
    pub(crate) dates: Option<ImportedDates>,
}

/// Memory for everything except the tables of words, in bytes: batches in flight and buffers of
/// runs.
const FIXED_BYTES: u64 = 24 << 20;
/// Default memory limit in bytes.
const DEFAULT_MEMORY: u64 = 1 << 30;

impl TextImport<'_> {
    fn table_memory(&self) -> u64 {
        let batches = self.threads as u64 * 6 * (source::MIN_BATCH_BYTES as u64);
        self.memory.unwrap_or(DEFAULT_MEMORY).saturating_sub(FIXED_BYTES + batches).max(16 << 20)
    }

    /// Completes the pipeline with the stop words.
    fn resolve_pipeline(&self, source: &mut dyn TextSource) -> Result<Pipeline> {
        let mut pipeline = self.words.pipeline.clone();
        if self.words.stop == StopWords::Given {
            return Ok(pipeline);
        }
        if self.format == Format::VowpalWabbit && pipeline.tokens == TokenRule::Unicode {
            pipeline.tokens = TokenRule::Whitespace;
        }
        let (codes, mut words) = match &self.words.stop {
            StopWords::Auto => match self.sample_language(source)? {
                Some(code) => StopWords::Lists(vec![code.into()]).resolve()?,
                None => (Vec::new(), Vec::new()),
            },
            other => other.resolve()?,
        };
        words.sort_unstable();
        words.dedup();
        (pipeline.stop_languages, pipeline.stop_words) = (codes, words);
        Ok(pipeline)
    }

    /// Detects the language of the first texts.
    fn sample_language(&self, source: &mut dyn TextSource) -> Result<Option<&'static str>> {
        let mut batch = TextBatch::default();
        let mut sample = String::new();
        if source.next(&mut batch)? {
            for span in &batch.spans {
                self.reader.for_each(&batch.bytes[span.bytes.clone()], span, &mut |record, _| {
                    if sample.len() < source::MIN_BATCH_BYTES {
                        sample.push_str(&record.text);
                        sample.push('\n');
                    }
                    Ok(())
                })?;
            }
        }
        source.put_back(batch)?;
        Ok(detect_language(&sample))
    }

    /// Reads the source and writes the corpus.
    pub(crate) fn run(
        &self,
        source: &mut dyn TextSource,
        progress: ProgressCallback<'_>,
    ) -> Result<WrittenTexts> {
        let mut pipeline = self.resolve_pipeline(source)?;
        let mut dropped = DroppedTokens::default();
        let passes = match (&self.words.vocabulary, self.words.selection.phrases) {
            (Some(_), _) => 1,
            (None, None) => 2,
            (None, Some(_)) => 3,
        };
        let mut pass = 0;
        // All passes together make up one progress bar, however often the input is read.
        let mut report = |(bytes, total): (u64, Option<u64>), pass: u64| {
            let bytes = total.map_or(bytes, |total| (pass * total + bytes.min(total)) / passes);
            progress(Step::Reading.at(bytes, total))
        };
        let (chosen, mut buffered);
        buffered = None;
        let vocabulary = if let Some(given) = &self.words.vocabulary {
            given
        } else {
            if let Some(score) = self.words.selection.phrases {
                let tokenizer = Tokenizer::new(&pipeline)?;
                let (selector, mut runs, _) =
                    self.count_words(source, &tokenizer, true, &mut DroppedTokens::default(), &mut |at| {
                        report(at, pass)
                    })?;
                pipeline.phrases = selector.select_phrases(&mut runs, score)?;
                dropped.phrases = pipeline.phrases.len() as u64;
                source.rewind()?;
                pass += 1;
            }
            let tokenizer = Tokenizer::new(&pipeline)?;
            let (selector, mut runs, numbered) =
                self.count_words(source, &tokenizer, false, &mut dropped, &mut |at| report(at, pass))?;
            chosen = selector.select_words(&mut runs, &mut dropped)?;
            dropped.spilled = runs.spilled();
            buffered = numbered;
            if buffered.is_none() {
                source.rewind()?;
            }
            pass += 1;
            if chosen.is_empty() {
                return Err(self.no_words_error(selector.documents, &dropped));
            }
            &chosen
        };
        let written =
            self.write_documents(source, buffered, pipeline, vocabulary, &mut dropped, &mut |at| {
                report(at, pass)
            })?;
        Ok(WrittenTexts { dropped, ..written })
    }

    fn no_words_error(&self, documents: u64, dropped: &DroppedTokens) -> Error {
        let (found, remedy) = if documents == 0 {
            ("no documents".to_string(), "check that this is the right file or folder, and its {format}")
        } else if dropped.tokens == 0 {
            (format!("{documents} documents without words"), "check the input, its {format} and its columns")
        } else {
            (
                format!("{documents} documents whose words were all dropped"),
                "keep more words: decrease {min_docs} or {min_length}, increase {max_docs}, or change {stop_words}",
            )
        };
        Error::Input {
            path: self.reader.path.clone(),
            position: Position::Whole,
            found,
            expected: "at least one document with a word".into(),
            remedy: remedy.into(),
        }
    }

    /// Counts words, and pairs of words if `pairs` is set. Buffers the documents as word numbers if
    /// all of them fit in memory.
    fn count_words(
        &self,
        source: &mut dyn TextSource,
        tokenizer: &Tokenizer,
        pairs: bool,
        dropped: &mut DroppedTokens,
        report: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
    ) -> Result<(WordSelector, CountRuns, Option<BufferedBatches>)> {
        let memory = self.table_memory();
        let limit = (memory / 2 / self.threads as u64).clamp(2 << 20, 2 << 30) as usize;
        // The vocabulary is selected while the tables exist: they get half of the memory, and the
        // last runs get an eighth.
        let buffer_limit = (memory / 8 * 3) as usize;
        let buffering = AtomicBool::new(!pairs);
        let mut buffered = BufferedBatches::default();
        let runs = Mutex::new(CountRuns::new(&folder_of(self.output)));
        let counters = (0..self.threads).map(|worker| WordCounter::new(worker, pairs, limit)).collect();
        let work = |counter: &mut WordCounter, batch: &mut TextBatch| {
            counter.count_batch(batch, &self.reader, tokenizer, &runs, &buffering)
        };
        let counters = parallel_map_ordered(&mut *source, counters, &work, report, &mut |batch| {
            if !(buffering.load(Ordering::Relaxed) && buffered.push(batch, buffer_limit)) {
                buffering.store(false, Ordering::Relaxed);
                buffered = BufferedBatches::default();
            }
            Ok(())
        })?;
        let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        for counter in &counters {
            counter.finish(&mut runs, dropped)?;
        }
        let documents = counters.iter().map(|counter| counter.documents).sum();
        let selector = WordSelector { selection: self.words.selection, documents, memory: memory / 2 };
        buffered.start_reading(counters, source.progress().1);
        Ok((selector, runs, buffering.into_inner().then_some(buffered)))
    }

    /// Starts the corpus file with the fields of the records and the metadata of the import.
    fn create_writer(&self, pipeline: Pipeline) -> Result<CorpusWriter> {
        let RecordFields { names, label_columns, multiple_labels, dates } = self.reader.fields();
        let places = self.origin.is_some();
        let sources = self.origin.iter().map(|path| self.reader.format.source(path, self.format));
        let about = About { pipeline: Some(pipeline), sources: sources.collect(), ..About::default() };
        let fields = DocumentFields {
            names: names || self.names.is_some(),
            label_columns,
            multiple_labels,
            dates,
            places,
            checksums: places,
            tokens_unknown: self.words.vocabulary.is_some(),
        };
        CorpusWriter::create_with(self.output, fields, &about)
    }

    /// Writes the documents, from the buffered batches if there are any, else from the source.
    fn write_documents(
        &self,
        source: &mut dyn TextSource,
        buffered: Option<BufferedBatches>,
        pipeline: Pipeline,
        vocabulary: &Vocabulary,
        dropped: &mut DroppedTokens,
        report: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
    ) -> Result<WrittenTexts> {
        let fixed = self.words.vocabulary.is_some();
        let index = WordIndex::new(vocabulary);
        let tokenizer = Tokenizer::new(&pipeline)?;
        let mut names = self
            .names
            .map(|path| Ok::<_, Error>(LineReader::new(super::input::Input::open(path)?)))
            .transpose()?;
        let mut writer = self.create_writer(pipeline)?;
        let (mut empty, mut documents) = (0, 0u64);
        let mut found_dates = ImportedDates::default();
        let mut write = |batch: EncodedBatch| {
            if fixed {
                batch.add_dropped_to(dropped);
            }
            let metadata = &batch.metadata;
            metadata.count_dates(documents, &mut found_dates);
            for (i, (words, counts)) in batch.documents().enumerate() {
                empty += u64::from(words.is_empty());
                documents += 1;
                let labels = metadata.labels.row(i);
                let mut details = metadata.details(i, &labels);
                details.tokens_unknown = batch.tokens_unknown(i);
                if let Some(lines) = &mut names {
                    if !lines.advance()? {
                        return Err(names_error(lines, documents));
                    }
                    details.name = Some(lines.utf8()?);
                }
                writer.push_with(words, counts, details)?;
            }
            Ok(())
        };
        if let Some(mut buffered) = buffered {
            let id_maps = buffered.word_id_maps(&index);
            let workers = vec![(); self.threads];
            parallel_map_ordered(
                buffered,
                workers,
                &|(), batch| Ok(id_maps.encode(batch)),
                report,
                &mut write,
            )?;
        } else {
            let encoders = (0..self.threads).map(|_| DocumentEncoder::new(fixed)).collect();
            let work = |encoder: &mut DocumentEncoder, batch: &mut TextBatch| {
                encoder.encode_batch(batch, &self.reader, &tokenizer, &index)
            };
            parallel_map_ordered(source, encoders, &work, report, &mut write)?;
        }
        if let Some(lines) = &mut names
            && lines.advance()?
        {
            return Err(names_error(lines, documents));
        }
        if documents == 0 || (fixed && empty == documents) {
            return Err(Error::Input {
                path: self.reader.path.clone(),
                position: Position::Whole,
                found: format!("{documents} documents without any word of the vocabulary"),
                expected: "at least one document with a word".into(),
                remedy: "check that the vocabulary belongs to this text, and that the text is in the right column or field".into(),
            });
        }
        Ok(WrittenTexts {
            shape: writer.finish(vocabulary.len() as u32, Some(vocabulary))?.shape(),
            empty_documents: empty,
            dropped: DroppedTokens::default(),
            dates: self.reader.fields().dates.then_some(found_dates),
        })
    }
}

fn names_error(lines: &LineReader<'_>, documents: u64) -> Error {
    lines.file_error(
        format!("{} names for at least {documents} documents", lines.number()),
        "a name for every document".into(),
        "give one name per line, in the order of the documents",
    )
}

/// Returns how records are read in a format, given the first bytes of the input.
pub(crate) fn record_format(
    format: Format,
    options: &RecordOptions,
    start: &[u8],
    path: &Path,
) -> Result<RecordFormat> {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    Ok(match format {
        Format::Csv => RecordFormat::Table(csv_layout(options, start, path)?),
        Format::JsonLines => {
            let text = if options.text_fields.is_empty() {
                vec![records::DEFAULT_FIELD.into()]
            } else {
                options.text_fields.clone()
            };
            RecordFormat::Json(JsonFields {
                text,
                id: options.id_field.clone(),
                labels: options.label_fields.clone(),
                date: options.date_field.clone(),
            })
        }
        Format::Mallet => RecordFormat::Mallet,
        Format::VowpalWabbit => RecordFormat::Vowpal,
        _ => RecordFormat::Lines,
    })
}

/// Determines the layout of a table from its first row and the options.
fn csv_layout(options: &RecordOptions, start: &[u8], path: &Path) -> Result<CsvLayout> {
    let delimiter = options.delimiter.unwrap_or_else(|| records::delimiter(start));
    let quotes = !options.no_quotes;
    let first = records::first_row(start, delimiter, quotes);
    let wanted = || {
        let others = options.label_columns.iter().chain(&options.date_column);
        options.text_columns.iter().chain(&options.id_column).chain(others)
    };
    let number = |name: &str| name.parse::<usize>().ok().filter(|&n| n > 0);
    let same = |a: &str, b: &str| a == b || a.eq_ignore_ascii_case(b);
    let named = |name: &str| first.iter().position(|column| same(column, name));
    let header = options.header.unwrap_or_else(|| {
        wanted().any(|name| number(name).is_none())
            || first.iter().any(|name| is_text_name(name))
            || first.len() > 1 && first.iter().all(|name| is_like_column_name(name))
    });
    let missing = |option: &'static str, name: &str| {
        let expected = if header {
            let columns: Vec<String> = first.iter().take(40).map(|c| format!("{c:?}")).collect();
            Template::from("one of ").text(columns.join(", "))
        } else {
            format!("a number from 1 to {}", first.len()).into()
        };
        let expected = expected.text(format!(" (the columns of {})", path.display()));
        Error::out_of_range(option, format!("{name:?}"), expected)
            .with_remedy("if the columns are split at the wrong character, set {delimiter}")
    };
    let find = |option: &'static str, name: &str| {
        let by_name = if header { named(name) } else { None };
        let by_number = || number(name).map(|n| n - 1).filter(|&n| n < first.len());
        by_name.or_else(by_number).ok_or_else(|| missing(option, name))
    };
    let text = if options.text_columns.is_empty() {
        let usual = first.iter().position(|name| header && is_text_name(name));
        // In a table of one column, this column is the text.
        let column = usual.or((first.len() == 1).then_some(0)).ok_or_else(|| {
            let columns = first.iter().zip(1..).take(40).map(|(c, n)| {
                let short: String = c.chars().take(30).collect();
                format!("{n} ({short:?})")
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            Error::missing("text_column", Template::from("the name or number of a column: ").text(columns))
                .with_remedy("if this is not a table, use {format=text} to read one document per line")
        })?;
        vec![column]
    } else {
        options.text_columns.iter().map(|name| find("text_column", name)).collect::<Result<_>>()?
    };
    let id = options.id_column.as_deref().map(|name| find("id_column", name)).transpose()?;
    let label = |name: &String| {
        let at = find("label_column", name)?;
        let column = first.get(at).filter(|column| header && !column.is_empty());
        Ok(NamedColumn { name: column.unwrap_or(name).clone(), at })
    };
    let labels = options.label_columns.iter().map(label).collect::<Result<_>>()?;
    let date = options.date_column.as_deref().map(|name| find("date_column", name)).transpose()?;
    Ok(CsvLayout { delimiter, quotes, header, columns: Some(first.len()), text, id, labels, date })
}

/// Returns whether a string looks like a column name: short, made of letters, and not a sentence.
fn is_like_column_name(name: &str) -> bool {
    let name = name.trim_matches('"');
    !name.is_empty()
        && name.len() <= 30
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ' ' || c == '-')
        && !name.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
