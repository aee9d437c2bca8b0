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
//! Start with [`TextImport::run`]. `import` prepares it: it decides how an input is read. Records
//! come from `source` (files of records) and `files` (one document per file), and are parsed by
//! `records`, with the help of `table` and `json`. Text is turned into words by
//! [`words`](super::words) and into word numbers by `numbering`. The threads run `counter` in the
//! first pass and `encoder` in the second one, through `parallel`; `buffered` documents skip
//! tokenization in the second one.

mod buffered;
mod counter;
mod encoder;
pub(crate) mod files;
mod header;
pub(super) mod import;
mod items;
pub(crate) mod json;
mod memory;
mod metadata;
mod numbering;
mod parallel;
mod readers;
pub(crate) mod records;
pub(crate) mod source;
pub(super) mod table;
mod tally;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use self::buffered::BufferedBatches;
use self::counter::{CountingContext, NumberedBatch, WordCounter};
use self::encoder::{DocumentEncoder, EncodedBatch};
use self::items::{LongestRecord, TextItems, TextPass};
use self::memory::{BYTES_PER_WORD, ImportMemory, vocabulary_cost};
use self::parallel::parallel_map_ordered;
use self::readers::RecordReaders;
use self::records::{RecordFields, RecordReader};
use self::source::{TextBatch, TextDecoding, TextSource};
use super::encoding::TextEncoding;
use super::lines::LineReader;
use super::notes::SkippedFiles;
use super::options::TextPipeline;
use super::words::{
    CountRuns, DroppedTokens, LanguageSample, Pipeline, Segmentation, StopWords, TextLanguages, TokenRule,
    Tokenizer, WordIndex, WordSelector, list_of_language, most_frequent,
};
use super::{Format, ImportedDates};
use crate::corpus::{About, CorpusWriter, DocumentFields, Shape, Source, Vocabulary};
use crate::error::{Error, Result, Template};
use crate::files::folder_of;
use crate::format::{counted, grouped};
use crate::progress::{ProgressCallback, Step};

/// Input of an import, as it is stored in the corpus.
pub(crate) struct TextPart {
    format: Format,
    /// Path of the input, if it can be opened again.
    origin: Option<String>,
    decoding: Option<TextDecoding>,
    /// Member of a zip archive.
    member: Option<String>,
    /// Encoding that the user gave.
    encoding: Option<String>,
}

impl TextPart {
    /// Describes the input, so that its texts can be read again later.
    fn source(&self, reader: &RecordReader) -> Source {
        // The texts of a stream cannot be read again.
        let Some(path) = &self.origin else { return Source { format: "stream".into(), ..Source::default() } };
        let mut source = reader.format.source(path, self.format);
        source.member.clone_from(&self.member);
        source.encoding.clone_from(&self.encoding);
        if let Some(decoding) = &self.decoding {
            let found = decoding.finding.encoding();
            source.encoding = (found != TextEncoding::Utf8).then(|| found.name().to_owned());
            source.carriage_returns = decoding.carriage_returns;
        }
        source
    }
}

/// Import of raw text: readers of the records, options for words, and output.
pub(crate) struct TextImport<'a> {
    pub(crate) readers: RecordReaders,
    pub(crate) parts: Vec<TextPart>,
    pub(crate) words: &'a TextPipeline,
    pub(crate) names: Option<&'a Path>,
    /// Pattern that the names of files must match.
    pub(crate) glob: Option<&'a str>,
    pub(crate) output: &'a Path,
    memory: ImportMemory,
}

/// Result of an import of raw text.
pub(crate) struct WrittenTexts {
    pub(crate) shape: Shape,
    pub(crate) empty_documents: u64,
    pub(crate) dropped: DroppedTokens,
    pub(crate) dates: Option<ImportedDates>,
    /// Smallest memory limit in bytes with which the import fits.
    pub(crate) memory_needed: u64,
}

/// Remedies for a vocabulary that is too large, besides more memory.
const FEWER_WORDS: &str = ", drop rare words with {min_docs}, or keep only frequent ones with {max_words}";

/// Counts of the words of a source.
struct CountedWords {
    selector: WordSelector,
    runs: CountRuns,
    /// Documents as word numbers, if all of them fit in memory.
    buffered: Option<BufferedBatches>,
    longest: LongestRecord,
}

impl TextImport<'_> {
    /// Returns the batches of a source, for a pass over them.
    fn items<'a>(
        &'a self,
        source: &'a mut dyn TextSource,
        tokenizer: &Tokenizer,
        pass: TextPass<'a>,
        longest: &'a mut LongestRecord,
    ) -> TextItems<'a> {
        let chunk_rule = tokenizer.chunk_rule();
        TextItems { source, readers: &self.readers, memory: &self.memory, chunk_rule, pass, longest }
    }

    /// Completes the pipeline with the languages, the segmentation and the stop words.
    fn resolve_pipeline(&self, source: &mut dyn TextSource) -> Result<(Pipeline, TextLanguages)> {
        let mut pipeline = self.words.pipeline.clone();
        if self.words.stop == StopWords::Given {
            return Ok((pipeline, TextLanguages::default()));
        }
        let is_vowpal = self.parts.iter().all(|part| part.format == Format::VowpalWabbit);
        if is_vowpal && pipeline.tokens == TokenRule::Unicode {
            pipeline.tokens = TokenRule::Whitespace;
        }
        let sample = self.sample_languages(source)?;
        let mut languages = match &self.words.languages {
            None => sample.detect(),
            Some(given) => TextLanguages::given(given)?,
        };
        let (unspaced, presegmented) = sample.unspaced_text();
        if pipeline.tokens == TokenRule::Unicode {
            if !self.words.fixed_segmentation && presegmented {
                pipeline.segmentation = Segmentation::Spaces;
                languages.presegmented = true;
            }
            languages.cut_into_characters =
                unspaced && pipeline.segmentation == Segmentation::None && !self.words.fixed_segmentation;
        } else {
            (pipeline.drop_noise, pipeline.drop_clitics) = (false, false);
            pipeline.segmentation = Segmentation::None;
        }
        pipeline.languages = languages.languages.iter().map(|(code, _)| code.clone()).collect();
        let (names, mut words) = match &self.words.stop {
            StopWords::Auto => {
                let known = pipeline.languages.iter().filter(|code| list_of_language(code).is_some());
                StopWords::Lists(known.cloned().collect()).resolve()?
            }
            other => other.resolve()?,
        };
        words.sort_unstable();
        words.dedup();
        (pipeline.stop_languages, pipeline.stop_words) = (names, words);
        Ok((pipeline, languages))
    }

    /// Inspects the first texts.
    fn sample_languages(&self, source: &mut dyn TextSource) -> Result<LanguageSample> {
        let (buffering, buffered) = (AtomicBool::new(false), RefCell::default());
        let pass = TextPass::Counting { buffering: &buffering, buffered: &buffered };
        let (mut longest, tokenizer) = (LongestRecord::default(), Tokenizer::new(&self.words.pipeline)?);
        let mut items = self.items(source, &tokenizer, pass, &mut longest);
        let mut batch = TextBatch::default();
        let mut sample = LanguageSample::default();
        if items.sample(&mut batch)? {
            for span in &batch.spans {
                self.readers.for_each(&batch.bytes[span.bytes.clone()], span, &mut |record, _| {
                    if !sample.is_full() {
                        sample.add(&record.text);
                    }
                    Ok(())
                })?;
            }
        }
        items.put_back(batch)?;
        Ok(sample)
    }

    /// Reads the source and writes the corpus.
    pub(crate) fn run(
        mut self,
        source: &mut dyn TextSource,
        progress: ProgressCallback<'_>,
    ) -> Result<WrittenTexts> {
        let (mut pipeline, languages) = self.resolve_pipeline(source)?;
        let mut dropped = DroppedTokens { languages, ..DroppedTokens::default() };
        let passes = match (&self.words.vocabulary, self.words.selection.phrases) {
            (Some(_), _) => 1,
            (None, None) => 2,
            (None, Some(_)) => 1 + u64::from(pipeline.phrase_words),
        };
        let mut pass = 0;
        // All passes together make up one progress bar, however often the input is read.
        let mut report = |(bytes, total): (u64, Option<u64>), pass: u64| {
            let bytes = total.map_or(bytes, |total| (pass * total + bytes.min(total)) / passes);
            progress(Step::Reading.at(bytes, total))
        };
        let chosen;
        let (mut buffered, mut longest) = (None, LongestRecord::default());
        let vocabulary = if let Some(given) = &self.words.vocabulary {
            given
        } else {
            if let Some(score) = self.words.selection.phrases {
                // The first pass finds pairs of words, the next one pairs of a phrase and a word.
                let memory = self.memory;
                for _ in 1..pipeline.phrase_words {
                    let found =
                        self.find_phrases(source, &mut pipeline, score, memory, &mut |at| report(at, pass))?;
                    dropped.phrases = found;
                    source.rewind()?;
                    pass += 1;
                }
            }
            let tokenizer = Tokenizer::new(&pipeline)?;
            let mut counted =
                self.count_words(source, &tokenizer, false, &mut dropped, &mut |at| report(at, pass))?;
            let words = counted.selector.select_words(&mut counted.runs, &mut dropped);
            chosen = words.map_err(|error| self.explain_memory(error, counted.longest, FEWER_WORDS))?;
            dropped.spilled = counted.runs.spilled();
            (buffered, longest) = (counted.buffered, counted.longest);
            if buffered.is_none() {
                source.rewind()?;
            }
            pass += 1;
            if chosen.is_empty() {
                let (documents, skipped) = (counted.selector.documents, source.skipped_files());
                return Err(self.no_words_error(documents, &dropped, &skipped));
            }
            &chosen
        };
        let others = if self.words.vocabulary.is_some() { "" } else { FEWER_WORDS };
        self.check_vocabulary(vocabulary, longest, others)?;
        let (words, text) = (vocabulary.len() as u64, vocabulary.parts().0.len() as u64);
        let cost = vocabulary_cost(words, text, longest.bytes);
        let memory_needed = self.memory.smallest_limit(&|memory| longest.fits_beside(words, cost, memory));
        let written =
            self.write_documents(source, buffered, pipeline, vocabulary, &mut dropped, &mut |at| {
                report(at, pass)
            })?;
        Ok(WrittenTexts { dropped, memory_needed, ..written })
    }

    /// Adds the phrases of two words or, if there are phrases already, of three words to the
    /// pipeline. Takes their memory from `memory`, which is that of the import without phrases.
    /// Returns the number of all phrases.
    fn find_phrases(
        &mut self,
        source: &mut dyn TextSource,
        pipeline: &mut Pipeline,
        score: f64,
        memory: ImportMemory,
        report: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
    ) -> Result<u64> {
        let tokenizer = Tokenizer::new(pipeline)?;
        let mut counted =
            self.count_words(source, &tokenizer, true, &mut DroppedTokens::default(), report)?;
        drop(tokenizer);
        let (longest, most) = (counted.longest, memory.max_phrases());
        let found = counted.selector.select_phrases(&mut counted.runs, score, &mut pipeline.phrases, most);
        let found = found.map_err(|error| self.explain_memory(error, longest, ""))?;
        let max_words = self.words.selection.max_words.map_or(u64::MAX, u64::from);
        let words = (found.words + found.phrases).min(max_words);
        let cost = vocabulary_cost(words, found.text, longest.bytes);
        self.memory =
            memory.with_phrases(found.phrases, &|memory| longest.fits_beside(words, cost, memory))?;
        Ok(found.phrases)
    }

    /// Returns the path of the first input for errors.
    fn path(&self) -> std::path::PathBuf {
        self.readers.all().first().map(|reader| reader.path.clone()).unwrap_or_default()
    }

    /// Returns the error for an import without any word.
    fn no_words_error(&self, documents: u64, dropped: &DroppedTokens, skipped: &SkippedFiles) -> Error {
        if documents == 0 {
            return self.no_documents_error(skipped);
        }
        let of = if documents == 1 {
            "the document".into()
        } else {
            format!("the {} documents", grouped(documents))
        };
        let (statement, remedy) = if dropped.tokens == 0 {
            (format!("contains no words in {of}"), "check the input, its {format} and its columns")
        } else {
            (
                format!("has no words left: all words of {of} were dropped"),
                "decrease {min_docs} or {min_length}, increase {max_docs}, or change {stop_words}",
            )
        };
        Error::unusable_input(&self.path(), statement, remedy)
    }

    /// Returns the error for an import without any document.
    fn no_documents_error(&self, skipped: &SkippedFiles) -> Error {
        let path = self.path();
        if let Some(first) = skipped.examples.first() {
            let mut examples: Vec<String> =
                skipped.examples.iter().map(|file| format!("{}: {}", file.name, file.found)).collect();
            if skipped.count > skipped.examples.len() as u64 {
                examples.push("…".into());
            }
            let (files, were) =
                (counted(skipped.count, "file"), if skipped.count == 1 { "was" } else { "were" });
            let statement =
                format!("contains no readable documents: {files} {were} skipped ({})", examples.join(", "));
            return Error::unusable_input(&path, statement, first.remedy);
        }
        let is_files = self.parts.iter().all(|part| matches!(part.format, Format::Folder | Format::Zip));
        match self.glob {
            Some(glob) if is_files => {
                let remedy = Template::from("check ").parameter("glob", Some(glob));
                Error::unusable_input(&path, "contains no file with a matching name", remedy)
            }
            _ if is_files => {
                Error::unusable_input(&path, "contains no files", "pass a folder with documents")
            }
            _ => {
                let remedy = "check that this is the right file or folder, and its {format}";
                Error::unusable_input(&path, "contains no documents", remedy)
            }
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
    ) -> Result<CountedWords> {
        self.readers.reset_tallies();
        let limit = self.memory.buffered_bytes();
        let buffering = AtomicBool::new(!pairs);
        let buffered = RefCell::new(BufferedBatches::default());
        let runs = Mutex::new(CountRuns::new(&folder_of(self.output)));
        let table_bytes = self.memory.table_bytes();
        let threads = 0..self.memory.threads();
        let counters = threads.map(|worker| WordCounter::new(worker, pairs, table_bytes)).collect();
        let mut longest = LongestRecord::default();
        let context =
            CountingContext { readers: &self.readers, tokenizer, runs: &runs, buffering: &buffering };
        let work = |counter: &mut WordCounter, batch: &mut TextBatch| counter.count_batch(batch, &context);
        let pass = TextPass::Counting { buffering: &buffering, buffered: &buffered };
        let items = self.items(source, tokenizer, pass, &mut longest);
        let mut counters = parallel_map_ordered(items, counters, &work, report, &mut |batch| {
            if !(buffering.load(Ordering::Relaxed) && buffered.borrow_mut().push(batch, limit)) {
                buffering.store(false, Ordering::Relaxed);
                buffered.take();
            }
            Ok(())
        })?;
        self.readers.check_skipped()?;
        let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut stop_words = BTreeMap::new();
        let buffering = buffering.into_inner();
        for counter in &mut counters {
            counter.add_stop_words(&mut stop_words);
            counter.finish(&mut runs, dropped, buffering)?;
        }
        dropped.stop_words = most_frequent(stop_words);
        let documents = counters.iter().map(|counter| counter.documents).sum();
        let selector = WordSelector {
            selection: self.words.selection,
            documents,
            memory: self.memory.vocabulary_bytes(),
            bytes_per_word: BYTES_PER_WORD,
        };
        let buffered = buffering.then(|| {
            let mut buffered = buffered.into_inner();
            buffered.start_reading(counters, source.progress().1);
            buffered
        });
        Ok(CountedWords { selector, runs, buffered, longest })
    }

    /// Refuses a vocabulary that takes too much memory, together with the longest document.
    /// `others` names other remedies than more memory.
    fn check_vocabulary(&self, vocabulary: &Vocabulary, longest: LongestRecord, others: &str) -> Result<()> {
        let words = vocabulary.len() as u64;
        let cost = vocabulary_cost(words, vocabulary.parts().0.len() as u64, longest.bytes);
        if longest.fits_beside(words, cost, &self.memory) {
            return Ok(());
        }
        let what = format!("the vocabulary has {} words", grouped(words));
        Err(self.memory.refuse(&what, others, &|memory| longest.fits_beside(words, cost, memory)))
    }

    /// Adds to the error of a selection how much memory the import needs in total.
    fn explain_memory(&self, error: Error, longest: LongestRecord, others: &str) -> Error {
        match error {
            Error::Memory { need, remedy, .. } => {
                let words = need / BYTES_PER_WORD;
                let cost = need + vocabulary_cost(words, 0, longest.bytes) - vocabulary_cost(words, 0, 0);
                self.memory
                    .refuse(&remedy.to_string(), others, &|memory| longest.fits_beside(words, cost, memory))
            }
            other => other,
        }
    }

    /// Passes the buffered documents to `write` as word ids.
    fn encode_buffered(
        &self,
        mut buffered: BufferedBatches,
        vocabulary: &Vocabulary,
        report: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
        write: &mut dyn FnMut(EncodedBatch) -> Result<()>,
    ) -> Result<()> {
        let index = WordIndex::new(vocabulary);
        let cost = vocabulary_cost(vocabulary.len() as u64, vocabulary.parts().0.len() as u64, 0);
        let memory = self.memory.writing_bytes(cost, buffered.bytes());
        let id_maps = buffered.word_id_maps(&index, memory);
        let workers = vec![(); self.memory.threads()];
        let encode = |(): &mut (), batch: &mut NumberedBatch| Ok(id_maps.encode(batch));
        parallel_map_ordered(buffered, workers, &encode, report, write)?;
        Ok(())
    }

    /// Passes the documents of the source to `write` as word ids.
    fn encode_source(
        &self,
        source: &mut dyn TextSource,
        tokenizer: &Tokenizer,
        vocabulary: &Vocabulary,
        report: &mut dyn FnMut((u64, Option<u64>)) -> ControlFlow<()>,
        write: &mut dyn FnMut(EncodedBatch) -> Result<()>,
    ) -> Result<()> {
        self.readers.reset_tallies();
        let index = WordIndex::new(vocabulary);
        let words = vocabulary.len() as u64;
        let cost = vocabulary_cost(words, vocabulary.parts().0.len() as u64, 0);
        let memory = self.memory.writing_bytes(cost, self.memory.id_tables_bytes());
        let (fixed, limit) = (self.words.vocabulary.is_some(), self.memory.id_table_bytes());
        let encoders = (0..self.memory.threads()).map(|_| DocumentEncoder::new(fixed, limit)).collect();
        let work = |encoder: &mut DocumentEncoder, batch: &mut TextBatch| {
            encoder.encode_batch(batch, &self.readers, tokenizer, &index)
        };
        let mut longest = LongestRecord::default();
        let items = self.items(source, tokenizer, TextPass::Writing { words, memory }, &mut longest);
        parallel_map_ordered(items, encoders, &work, report, write)?;
        Ok(())
    }

    /// Starts the corpus file with the fields of the records and the metadata of the import.
    fn create_writer(&self, pipeline: Pipeline) -> Result<CorpusWriter> {
        let RecordFields { names, label_columns, multiple_labels, dates } = self.readers.fields().clone();
        let places = self.parts.iter().any(|part| part.origin.is_some());
        let sources = self.parts.iter().zip(self.readers.all()).map(|(part, reader)| part.source(reader));
        let sources = sources.filter(|_| places);
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
        match buffered {
            Some(buffered) => self.encode_buffered(buffered, vocabulary, report, &mut write)?,
            None => self.encode_source(source, &tokenizer, vocabulary, report, &mut write)?,
        }
        if let Some(lines) = &mut names
            && lines.advance()?
        {
            return Err(names_error(lines, documents));
        }
        self.readers.check_skipped()?;
        if documents == 0 {
            return Err(self.no_documents_error(&source.skipped_files()));
        }
        if fixed && empty == documents {
            return Err(Error::NoKnownWords { path: self.path(), documents });
        }
        Ok(WrittenTexts {
            shape: writer.finish(vocabulary.len() as u32, Some(vocabulary))?.shape(),
            empty_documents: empty,
            dropped: DroppedTokens::default(),
            memory_needed: 0,
            dates: self.readers.fields().dates.then_some(found_dates),
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

#[cfg(test)]
mod tests;
