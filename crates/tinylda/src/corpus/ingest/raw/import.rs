//! Imports of raw text from files and folders: the part of [`Import`] that prepares a
//! [`TextImport`].

use std::path::Path;

use super::files::{FileRules, FileTexts};
use super::json::{JsonEnvelope, JsonSample, JsonShape, find_envelope, has_complete_record};
use super::memory::{HeldMemory, ImportMemory};
use super::readers::RecordReaders;
use super::records::{JsonFields, RecordFormat, RecordReader};
use super::source::{FileSource, SourceList, TextDecoding, TextOrigin, TextSource};
use super::table::csv_layout;
use super::{TextImport, TextPart};
use crate::corpus::ingest::archive::FileArchive;
use crate::corpus::ingest::detect::START_BYTES;
use crate::corpus::ingest::encoding::{EncodingRule, parse_encoding};
use crate::corpus::ingest::input::{Compression, Input};
use crate::corpus::ingest::notes::{InputNotes, SkippedFiles, TableNotes};
use crate::corpus::ingest::options::other_family_error;
use crate::corpus::ingest::words::TokenRule;
use crate::corpus::ingest::{Format, Import, Imported, RecordOptions, file_error, spool};
use crate::error::{Error, Result, Template};
use crate::progress::ProgressCallback;

/// Maximum number of fields that an error lists.
const MAX_LISTED_FIELDS: usize = 40;
/// Maximum number of bytes that are inspected to find the end of the first JSON record.
const MAX_INSPECTED_BYTES: u64 = 16 << 20;
/// Share of the memory limit that these bytes may take, as a divisor.
const INSPECTED_SHARE: u64 = 32;

/// Returns the maximum number of bytes that are inspected within a memory limit.
fn max_inspected_bytes(memory: Option<u64>) -> usize {
    let most = memory.map_or(MAX_INSPECTED_BYTES, |limit| (limit / INSPECTED_SHARE).min(MAX_INSPECTED_BYTES));
    usize::try_from(most).unwrap_or(START_BYTES).max(START_BYTES)
}

/// Raw text of one input that is ready to be imported.
pub(in crate::corpus::ingest) struct PreparedText {
    source: Box<dyn TextSource>,
    reader: RecordReader,
    part: TextPart,
    notes: InputNotes,
    /// Format of the folder or archive that contains the input.
    pub(in crate::corpus::ingest) container: Option<Format>,
    /// Files of the folder that were skipped before the input was opened.
    pub(in crate::corpus::ingest) skipped_files: SkippedFiles,
}

impl Import {
    /// Returns the rule for the encoding of the input.
    pub(in crate::corpus::ingest) fn encoding_rule(&self) -> Result<EncodingRule> {
        Ok(match (&self.records.encoding, self.records.strict) {
            (Some(name), _) => EncodingRule::Given(parse_encoding(name)?),
            (None, true) => EncodingRule::Unicode,
            (None, false) => EncodingRule::Detect,
        })
    }

    fn record_reader(&self, path: &Path, format: RecordFormat) -> RecordReader {
        RecordReader {
            path: path.to_path_buf(),
            format,
            strict: self.records.strict,
            label_separator: self.records.label_separator.clone(),
            tally: std::sync::Arc::default(),
        }
    }

    /// Prepares a source of any kind. `columns` are the columns that were chosen.
    pub(in crate::corpus::ingest) fn prepare_source(
        &self,
        source: Box<dyn TextSource>,
        record_format: RecordFormat,
        format: Format,
        path: &Path,
        columns: Option<TableNotes>,
    ) -> PreparedText {
        let mut notes = InputNotes::new(path.to_path_buf(), format, source.compression());
        if matches!(record_format, RecordFormat::Json(_)) {
            notes.fields = columns;
        } else {
            notes.table = columns;
        }
        let part = TextPart {
            format,
            origin: source.reopenable().then(|| path.to_string_lossy().into_owned()),
            decoding: None,
            member: None,
            encoding: self.records.encoding.clone(),
        };
        let reader = self.record_reader(path, record_format);
        PreparedText { source, reader, part, notes, container: None, skipped_files: SkippedFiles::default() }
    }

    /// Prepares a file of texts, which is decoded. `delimiter` is the delimiter of a table.
    pub(in crate::corpus::ingest) fn prepare_text(
        &self,
        (mut input, decoding): (Input, TextDecoding),
        format: Format,
        delimiter: Option<u8>,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<PreparedText> {
        let path = input.path.clone();
        if matches!(format, Format::Html | Format::Xml) {
            return self.prepare_document(input, format);
        }
        let records = RecordOptions { delimiter, ..self.records.clone() };
        let count = self.inspected_bytes(&mut input, format)?;
        let start = input.peek(count)?;
        let whole = start.len() < count;
        let (record_format, columns) = record_format(format, &records, (start, whole), &path)?;
        let compression = input.compression;
        let (carriage_returns, member) = (decoding.carriage_returns, input.member.clone());
        let source = text_source(input, decoding.clone(), &record_format, output, progress)?;
        let mut prepared = self.prepare_source(Box::new(source), record_format, format, &path, columns);
        prepared.notes.carriage_returns = carriage_returns;
        prepared.notes.compression = compression;
        (prepared.part.decoding, prepared.part.member) = (Some(decoding), member);
        Ok(prepared)
    }

    /// Returns the number of bytes from which the layout of the records is determined: more than
    /// usual if the first JSON record is longer, as far as the memory allows.
    fn inspected_bytes(&self, input: &mut Input, format: Format) -> Result<usize> {
        let mut count = START_BYTES;
        if !matches!(format, Format::Json | Format::JsonLines) {
            return Ok(count);
        }
        let most = max_inspected_bytes(self.memory);
        while count < most {
            let start = input.peek(count)?;
            let whole = start.len() < count;
            let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
            if whole || has_complete_record(start, &self.records.text_fields, format == Format::JsonLines) {
                break;
            }
            count = most.min(2 * count);
        }
        Ok(count)
    }

    /// Prepares a file that is one document.
    pub(in crate::corpus::ingest) fn prepare_document(
        &self,
        input: Input,
        format: Format,
    ) -> Result<PreparedText> {
        let (path, compression) = (input.path.clone(), input.compression);
        let rules = FileRules::new(&self.records, self.encoding_rule()?)?;
        let source = Box::new(FileTexts::single(input, format, rules)?);
        let files = RecordFormat::Files { folder_labels: false };
        let mut prepared = self.prepare_source(source, files, format, &path, None);
        prepared.notes.compression = compression;
        Ok(prepared)
    }

    /// Prepares the files of a folder, one document each.
    pub(in crate::corpus::ingest) fn prepare_folder(&self, input: &Path) -> Result<PreparedText> {
        if let Some(format) = self.format.filter(|&format| format != Format::Folder) {
            return Err(Error::unsupported_value("format", format.name(), "the input is a folder")
                .with_remedy("omit {format}: every file of a folder is read as one text"));
        }
        let rules = FileRules::new(&self.records, self.encoding_rule()?)?;
        let source = Box::new(FileTexts::folder(input, rules)?);
        let files = RecordFormat::Files { folder_labels: self.records.folder_labels };
        Ok(self.prepare_source(source, files, Format::Folder, input, None))
    }

    /// Prepares the files of an archive, one document each.
    pub(in crate::corpus::ingest) fn prepare_archive(
        &self,
        archive: FileArchive,
        path: &Path,
        reopenable: bool,
    ) -> Result<PreparedText> {
        let rules = FileRules::new(&self.records, self.encoding_rule()?)?;
        let source = Box::new(FileTexts::archive(path, archive, rules, reopenable));
        let files = RecordFormat::Files { folder_labels: self.records.folder_labels };
        Ok(self.prepare_source(source, files, Format::Zip, path, None))
    }

    /// Imports texts, in the order of the inputs.
    pub(in crate::corpus::ingest) fn run_texts(
        &self,
        prepared: Vec<PreparedText>,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let formats = prepared.iter().flat_map(|text| [Some(text.notes.format), text.container]);
        let formats: Vec<Format> = formats.flatten().collect();
        // The options of a single Parquet table were checked before.
        if formats != [Format::Parquet] {
            self.check_options(&formats)?;
        }
        let (mut sources, mut readers, mut parts, mut inputs) = (vec![], vec![], vec![], vec![]);
        for PreparedText { source, reader, part, mut notes, skipped_files, .. } in prepared {
            notes.skipped_files = skipped_files;
            sources.push(source);
            readers.push(reader);
            parts.push(part);
            inputs.push(notes);
        }
        let format = inputs.first().map_or(Format::Text, |notes| notes.format);
        let compression = inputs.first().map_or(Compression::None, |notes| notes.compression);
        let threads = if self.threads == 0 { cores() } else { self.threads };
        let pattern = matches!(self.words.pipeline.tokens, TokenRule::Pattern(_));
        let mut source = SourceList::new(sources);
        let held = HeldMemory { bytes: self.memory_in_use, share: source.held_share() };
        let import = TextImport {
            readers: RecordReaders::new(readers)?,
            parts,
            words: &self.words,
            names: self.names.as_deref(),
            glob: self.records.glob.as_deref(),
            output,
            memory: ImportMemory::new(held, self.memory, threads, pattern)?,
        };
        source.limit_cache(import.memory.cache_bytes());
        let readers = import.readers.clone();
        let written = import.run(&mut source, progress)?;
        for ((notes, records), source) in inputs.iter_mut().zip(readers.notes()).zip(source.sources()) {
            notes.records = records;
            notes.skipped_files.append(source.skipped_files());
            notes.damaged_files = source.damaged_files();
            notes.encodings = source.encodings();
            notes.replaced = source.has_replaced();
        }
        Ok(Imported {
            shape: written.shape,
            format,
            compression,
            empty_documents: written.empty_documents,
            sorted: false,
            dropped: Some(written.dropped),
            dates: written.dates,
            memory_needed: Some(written.memory_needed),
            inputs,
        })
    }
}

/// Returns the input as records of text that can be read several times: the file itself, or a copy
/// of a stream.
fn text_source(
    input: Input,
    decoding: TextDecoding,
    format: &RecordFormat,
    output: &Path,
    progress: ProgressCallback<'_>,
) -> Result<FileSource> {
    let ends = format.ends();
    if input.reopenable {
        let origin = TextOrigin::new(&input, decoding, None);
        return Ok(FileSource::new(input, origin, ends));
    }
    let (path, member) = (input.path.clone(), input.member.clone());
    let file = spool(input, output, progress)?;
    let mut copy = Input::spooled(&file, &path)?;
    copy.member = member;
    let origin = TextOrigin::new(&copy, decoding, Some(file));
    Ok(FileSource::new(copy, origin, ends))
}

/// Returns how records are read in a format, given the first bytes of the input and whether these
/// are all of them.
fn record_format(
    format: Format,
    options: &RecordOptions,
    (start, whole): (&[u8], bool),
    path: &Path,
) -> Result<(RecordFormat, Option<TableNotes>)> {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    Ok(match format {
        Format::Csv => {
            let (layout, notes) = csv_layout(options, start, whole, path)?;
            (RecordFormat::Table(layout), Some(notes))
        }
        Format::JsonLines | Format::Json => {
            let envelope = (format == Format::Json).then(|| find_envelope(start, &options.text_fields));
            let (fields, notes) = json_fields(options, (start, whole), envelope, path)?;
            (RecordFormat::Json(fields), notes)
        }
        Format::Mallet => (RecordFormat::Mallet, None),
        Format::VowpalWabbit => (RecordFormat::Vowpal, None),
        _ => (RecordFormat::Lines, None),
    })
}

/// Determines the fields of JSON records from the first records and the options.
fn json_fields(
    options: &RecordOptions,
    (start, whole): (&[u8], bool),
    envelope: Option<JsonEnvelope>,
    path: &Path,
) -> Result<(JsonFields, Option<TableNotes>)> {
    let values = envelope.clone().unwrap_or_default();
    let shape = if options.text_fields.is_empty() { JsonShape::find(start) } else { None };
    if let Some(shape) = shape {
        let expected = "an array of objects, or one object per line";
        return Err(file_error(path, shape.found(), expected, shape.remedy()));
    }
    let sample = JsonSample::read(start, whole, &values, envelope.is_none());
    let listed = || {
        let fields = sample.fields.iter().take(MAX_LISTED_FIELDS).map(|(name, _)| format!("{name:?}"));
        let of =
            if sample.partial { "the first fields of the long first record of" } else { "the fields of" };
        format!("{} ({of} {})", fields.collect::<Vec<_>>().join(", "), path.display())
    };
    let text = match (&options.text_fields[..], sample.text_field()) {
        ([], Some(found)) => vec![found.to_owned()],
        // Without any object, the records are strings, or their errors are reported when they are
        // read.
        ([], None) if sample.objects == 0 => Vec::new(),
        ([], None) => {
            let (option, format) =
                (options.table_option(), if envelope.is_some() { Format::Json } else { Format::JsonLines });
            if let Some(error) = option.and_then(|option| other_family_error(option, format.name(), path)) {
                return Err(error);
            }
            return Err(Error::missing("text_field", Template::from("one of ").text(listed())));
        }
        (given, _) => {
            let unknown = given.iter().find(|field| !sample.has_field(field));
            if let Some(unknown) = unknown.filter(|_| sample.objects > 0 && !sample.partial) {
                let expected = Template::from("one of ").text(listed());
                return Err(Error::out_of_range("text_field", format!("{unknown:?}"), expected)
                    .with_remedy("use a dot for nested fields: payload.body"));
            }
            given.to_vec()
        }
    };
    // Other fields may be in later records only.
    let others = (options.id_field.iter().map(|field| ("id_field", field)))
        .chain(options.label_fields.iter().map(|field| ("label_field", field)))
        .chain(options.date_field.iter().map(|field| ("date_field", field)));
    let has_text = text.iter().all(|field| sample.fields.iter().any(|(known, _)| known == field));
    for (option, field) in others.filter(|_| whole && has_text && sample.is_complete()) {
        if !sample.has_field(field) {
            let expected = Template::from("one of ").text(listed());
            return Err(Error::out_of_range(option, format!("{field:?}"), expected)
                .with_remedy("a dot leads into an object"));
        }
    }
    let notes = TableNotes {
        text: text.clone(),
        id: options.id_field.clone(),
        labels: options.label_fields.clone(),
        date: options.date_field.clone(),
        ..TableNotes::default()
    };
    let notes = (!text.is_empty()).then_some(notes);
    let fields = JsonFields {
        envelope,
        text,
        id: options.id_field.clone(),
        labels: options.label_fields.clone(),
        date: options.date_field.clone(),
    };
    Ok((fields, notes))
}
