//! Raw text -> a corpus file, in two passes and bounded memory.
//!
//! The first pass counts words and their documents; what does not fit in memory goes to disk in
//! sorted runs. Then the vocabulary is chosen, and the second pass writes the documents, from word
//! numbers kept by the first pass if these fit in memory, otherwise from the text again. Phrases
//! need another pass before, and a given vocabulary only the last one. One thread reads and writes,
//! the others tokenize. Batches are written in the order they were read, and counts are sums, so
//! that the result does not depend on the number of threads.

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
use self::passes::{Counter, Filled, Filler, Kept};
use self::records::{Json, Reader, Shape as RecordShape, Table};
use self::source::{Batch, TextSource};
use super::Format;
use super::lines::Lines;
use super::options::{Parts, TextPipeline, is_text_name};
use super::words::{Chooser, Dropped, Lexicon, Pipeline, Runs, StopWords, Tokenizer, Tokens, guess};
use crate::corpus::{About, CorpusWriter, Details, DocumentFields, Shape, Vocabulary};
use crate::error::{Error, Position, Result, Template};
use crate::files::folder_of;
use crate::progress::{ProgressCallback, Step};

/// An import of raw text: where the text comes from, how it becomes words, where the corpus goes.
pub(crate) struct TextImport<'a> {
    pub(crate) reader: Reader,
    pub(crate) format: Format,
    pub(crate) words: &'a TextPipeline,
    pub(crate) names: Option<&'a Path>,
    pub(crate) output: &'a Path,
    /// The path of the input, where it can be opened again.
    pub(crate) origin: Option<String>,
    pub(crate) threads: usize,
    pub(crate) memory: Option<u64>,
}

/// Memory for everything but the tables of words, in bytes: batches in flight and buffers of runs.
const FIXED_BYTES: u64 = 24 << 20;
/// Memory limit in bytes, unless one is given.
const DEFAULT_MEMORY: u64 = 1 << 30;

impl TextImport<'_> {
    fn memory(&self) -> u64 {
        let batches = self.threads as u64 * 6 * (source::BATCH as u64);
        self.memory.unwrap_or(DEFAULT_MEMORY).saturating_sub(FIXED_BYTES + batches).max(16 << 20)
    }

    /// Finds the stop words.
    fn pipeline(&self, source: &mut dyn TextSource) -> Result<Pipeline> {
        let mut pipeline = self.words.pipeline.clone();
        if self.words.stop == StopWords::Given {
            return Ok(pipeline);
        }
        if self.format == Format::VowpalWabbit && pipeline.tokens == Tokens::Unicode {
            pipeline.tokens = Tokens::Blanks;
        }
        let (codes, mut words) = match &self.words.stop {
            StopWords::Auto => match self.language(source)? {
                Some(code) => StopWords::Of(vec![code.into()]).resolve()?,
                None => (Vec::new(), Vec::new()),
            },
            other => other.resolve()?,
        };
        words.sort_unstable();
        words.dedup();
        (pipeline.stop_languages, pipeline.stop_words) = (codes, words);
        Ok(pipeline)
    }

    /// The language of the first texts.
    fn language(&self, source: &mut dyn TextSource) -> Result<Option<&'static str>> {
        let mut batch = Batch::default();
        let mut sample = String::new();
        if source.next(&mut batch)? {
            for piece in &batch.pieces {
                self.reader.each(&batch.bytes[piece.bytes.clone()], piece, &mut |record, _| {
                    if sample.len() < source::BATCH {
                        sample.push_str(&record.text);
                        sample.push('\n');
                    }
                    Ok(())
                })?;
            }
        }
        source.put_back(batch)?;
        Ok(guess(&sample))
    }

    /// Reads the source and writes the corpus.
    pub(crate) fn run(
        &self,
        source: &mut dyn TextSource,
        progress: ProgressCallback<'_>,
    ) -> Result<(Shape, u64, Dropped)> {
        let mut pipeline = self.pipeline(source)?;
        let mut dropped = Dropped::default();
        let passes = match (&self.words.vocabulary, self.words.choice.phrases) {
            (Some(_), _) => 1,
            (None, None) => 2,
            (None, Some(_)) => 3,
        };
        let mut pass = 0;
        // The progress bar goes once from end to end, however often the input is read.
        let mut tell = |(bytes, total): (u64, Option<u64>), pass: u64| {
            let bytes = total.map_or(bytes, |total| (pass * total + bytes.min(total)) / passes);
            progress(Step::Reading.at(bytes, total))
        };
        let (chosen, mut kept);
        kept = None;
        let vocabulary = if let Some(given) = &self.words.vocabulary {
            given
        } else {
            if let Some(score) = self.words.choice.phrases {
                let tokenizer = Tokenizer::new(&pipeline)?;
                let (chooser, mut runs, _) =
                    self.count(source, &tokenizer, true, &mut Dropped::default(), &mut |at| tell(at, pass))?;
                pipeline.phrases = chooser.phrases(&mut runs, score)?;
                dropped.phrases = pipeline.phrases.len() as u64;
                source.rewind()?;
                pass += 1;
            }
            let tokenizer = Tokenizer::new(&pipeline)?;
            let (chooser, mut runs, numbered) =
                self.count(source, &tokenizer, false, &mut dropped, &mut |at| tell(at, pass))?;
            chosen = chooser.words(&mut runs, &mut dropped)?;
            dropped.spilled = runs.spilled();
            kept = numbered;
            if kept.is_none() {
                source.rewind()?;
            }
            pass += 1;
            if chosen.is_empty() {
                return Err(self.no_words(chooser.documents, &dropped));
            }
            &chosen
        };
        let (shape, empty) =
            self.fill(source, kept, pipeline, vocabulary, &mut dropped, &mut |at| tell(at, pass))?;
        Ok((shape, empty, dropped))
    }

    fn no_words(&self, documents: u64, dropped: &Dropped) -> Error {
        let (found, remedy) = if documents == 0 {
            ("no documents".to_string(), "check that this is the right file or folder, and its {format}")
        } else if dropped.tokens == 0 {
            (
                format!("{documents} documents without a single word"),
                "check the input, its {format} and its columns",
            )
        } else {
            (
                format!("{documents} documents, and no word that is kept"),
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

    /// Counts words, and pairs of them where `pairs` is set. Keeps the documents as word numbers if
    /// all of them fit in memory.
    fn count(
        &self,
        source: &mut dyn TextSource,
        tokenizer: &Tokenizer,
        pairs: bool,
        dropped: &mut Dropped,
        tell: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
    ) -> Result<(Chooser, Runs, Option<Kept>)> {
        let memory = self.memory();
        let limit = (memory / 2 / self.threads as u64).clamp(2 << 20, 2 << 30) as usize;
        // The vocabulary is chosen while the tables exist: they get half, the last runs an eighth.
        let room = (memory / 8 * 3) as usize;
        let keep = AtomicBool::new(!pairs);
        let mut kept = Kept::default();
        let runs = Mutex::new(Runs::new(&folder_of(self.output)));
        let counters = (0..self.threads).map(|worker| Counter::new(worker, pairs, limit)).collect();
        let work = |counter: &mut Counter, batch: &mut Batch| {
            counter.batch(batch, &self.reader, tokenizer, &runs, &keep)
        };
        let counters = parallel_map_ordered(&mut *source, counters, &work, tell, &mut |noted| {
            if !(keep.load(Ordering::Relaxed) && kept.push(noted, room)) {
                keep.store(false, Ordering::Relaxed);
                kept = Kept::default();
            }
            Ok(())
        })?;
        let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        for counter in &counters {
            counter.finish(&mut runs, dropped)?;
        }
        let documents = counters.iter().map(|counter| counter.documents).sum();
        let chooser = Chooser { choice: self.words.choice, documents, memory: memory / 2 };
        kept.ready(counters, source.progress().1);
        Ok((chooser, runs, keep.into_inner().then_some(kept)))
    }

    /// Writes the documents: those that are kept, or what the source has.
    fn fill(
        &self,
        source: &mut dyn TextSource,
        kept: Option<Kept>,
        pipeline: Pipeline,
        vocabulary: &Vocabulary,
        dropped: &mut Dropped,
        tell: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
    ) -> Result<(Shape, u64)> {
        let fixed = self.words.vocabulary.is_some();
        let lexicon = Lexicon::new(vocabulary);
        let tokenizer = Tokenizer::new(&pipeline)?;
        let (mut named, labelled) = self.reader.details();
        let mut names = self
            .names
            .map(|path| Ok::<_, Error>(Lines::new(super::input::Input::open(path)?)))
            .transpose()?;
        named |= names.is_some();
        let places = self.origin.is_some();
        let sources = self.origin.iter().map(|path| self.reader.shape.source(path, self.format));
        let about = About { pipeline: Some(pipeline), sources: sources.collect() };
        let fields = DocumentFields { names: named, labels: labelled, places };
        let mut writer = CorpusWriter::create_with(self.output, fields, &about)?;
        let (mut empty, mut documents) = (0, 0u64);
        let mut write = |filled: Filled| {
            if fixed {
                filled.add_to(dropped);
            }
            let heads = &filled.heads;
            for (i, (words, counts)) in filled.documents().enumerate() {
                empty += u64::from(words.is_empty());
                documents += 1;
                let mut details = Details {
                    name: heads.names.get(i as u32),
                    label: heads.labels.get(i as u32),
                    place: heads.places.get(i).copied(),
                };
                if let Some(lines) = &mut names {
                    if !lines.advance()? {
                        return Err(names_do_not_fit(lines, documents));
                    }
                    details.name = Some(lines.utf8()?);
                }
                writer.push_with(words, counts, details)?;
            }
            Ok(())
        };
        if let Some(mut kept) = kept {
            let mapped = kept.mapped(&lexicon);
            let workers = vec![(); self.threads];
            parallel_map_ordered(kept, workers, &|(), noted| Ok(mapped.batch(noted)), tell, &mut write)?;
        } else {
            let fillers = (0..self.threads).map(|_| Filler::new(fixed)).collect();
            let work = |filler: &mut Filler, batch: &mut Batch| {
                filler.batch(batch, &self.reader, &tokenizer, &lexicon)
            };
            parallel_map_ordered(source, fillers, &work, tell, &mut write)?;
        }
        if let Some(lines) = &mut names
            && lines.advance()?
        {
            return Err(names_do_not_fit(lines, documents));
        }
        if documents == 0 || (fixed && empty == documents) {
            return Err(Error::Input {
                path: self.reader.path.clone(),
                position: Position::Whole,
                found: format!("{documents} documents, and none with a word of the vocabulary"),
                expected: "at least one document with a word".into(),
                remedy: "check that the vocabulary belongs to this text, and that the text is in the right column or field".into(),
            });
        }
        Ok((writer.finish(vocabulary.len() as u32, Some(vocabulary))?.shape(), empty))
    }
}

fn names_do_not_fit(lines: &Lines<'_>, documents: u64) -> Error {
    lines.bad_file(
        format!("{} names, and at least {documents} documents", lines.number()),
        "a name for every document".into(),
        "give one name per line, in the order of the documents",
    )
}

/// How records are read in a format, from the first bytes of the input.
pub(crate) fn shape(format: Format, parts: &Parts, start: &[u8], path: &Path) -> Result<RecordShape> {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    Ok(match format {
        Format::Csv => RecordShape::Table(table(parts, start, path)?),
        Format::JsonLines => {
            let text = if parts.text_fields.is_empty() {
                vec![records::DEFAULT_FIELD.into()]
            } else {
                parts.text_fields.clone()
            };
            RecordShape::Json(Json { text, id: parts.id_field.clone(), label: parts.label_field.clone() })
        }
        Format::Mallet => RecordShape::Mallet,
        Format::VowpalWabbit => RecordShape::Vowpal,
        _ => RecordShape::Lines,
    })
}

/// The columns of a table.
fn table(parts: &Parts, start: &[u8], path: &Path) -> Result<Table> {
    let delimiter = parts.delimiter.unwrap_or_else(|| records::delimiter(start));
    let quotes = !parts.no_quotes;
    let first = records::first_row(start, delimiter, quotes);
    let wanted = || parts.text_columns.iter().chain(&parts.id_column).chain(&parts.label_column);
    let number = |name: &str| name.parse::<usize>().ok().filter(|&n| n > 0);
    let same = |a: &str, b: &str| a == b || a.eq_ignore_ascii_case(b);
    let named = |name: &str| first.iter().position(|column| same(column, name));
    let header = parts.header.unwrap_or_else(|| {
        wanted().any(|name| number(name).is_none())
            || first.iter().any(|name| is_text_name(name))
            || first.len() > 1 && first.iter().all(|name| looks_like_a_name(name))
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
    let text = if parts.text_columns.is_empty() {
        let usual = first.iter().position(|name| header && is_text_name(name));
        // A table of one column has its text there.
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
        parts.text_columns.iter().map(|name| find("text_column", name)).collect::<Result<_>>()?
    };
    let id = parts.id_column.as_deref().map(|name| find("id_column", name)).transpose()?;
    let label = parts.label_column.as_deref().map(|name| find("label_column", name)).transpose()?;
    Ok(Table { delimiter, quotes, header, columns: Some(first.len()), text, id, label })
}

/// Short, of letters, and not a sentence: what columns are called.
fn looks_like_a_name(name: &str) -> bool {
    let name = name.trim_matches('"');
    !name.is_empty()
        && name.len() <= 30
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ' ' || c == '-')
        && !name.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
