//! Imports of raw text from a file or a folder: the part of [`Import`] that prepares a
//! [`TextImport`].

use std::path::Path;

use super::memory::{HeldMemory, ImportMemory};
use super::records::{RecordFormat, RecordReader};
use super::source::{FileSource, FolderSource, TextSource};
use super::{TextImport, record_format};
use crate::corpus::ingest::detect::START_BYTES;
use crate::corpus::ingest::input::Input;
use crate::corpus::ingest::words::TokenRule;
use crate::corpus::ingest::{Format, Import, Imported, RecordOptions, spool};
use crate::error::{Error, Result};
use crate::progress::ProgressCallback;

impl Import {
    /// Imports a file of texts. `delimiter` is the delimiter of a table.
    pub(in crate::corpus::ingest) fn run_on_text(
        &self,
        mut input: Input,
        format: Format,
        delimiter: Option<u8>,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        let path = input.path.clone();
        let records = RecordOptions { delimiter, ..self.records.clone() };
        let records_format = record_format(format, &records, input.peek(START_BYTES)?, &path)?;
        self.check_options(format)?;
        let mut source = text_source(input, &records_format, output, progress)?;
        self.run_raw(&mut source, records_format, format, &path, output, progress)
    }

    /// Imports the files of a folder, one document each.
    pub(in crate::corpus::ingest) fn run_on_folder(
        &self,
        input: &Path,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        self.check_options(self.format.filter(|&f| f != Format::Folder).unwrap_or(Format::Folder))?;
        if let Some(format) = self.format.filter(|&format| format != Format::Folder) {
            return Err(Error::unsupported_value("format", format.name(), "the input is a folder")
                .with_remedy("omit {format}: every file of a folder is read as one text"));
        }
        let mut source = FolderSource::new(input, self.records.glob.as_deref(), self.records.folder_labels)?;
        let files = RecordFormat::Files { folder_labels: self.records.folder_labels };
        self.run_raw(&mut source, files, Format::Folder, input, output, progress)
    }

    /// Imports text from a source of any kind.
    pub(in crate::corpus::ingest) fn run_raw(
        &self,
        source: &mut dyn TextSource,
        record_format: RecordFormat,
        format: Format,
        input: &Path,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = if self.threads == 0 { cores() } else { self.threads };
        let pattern = matches!(self.words.pipeline.tokens, TokenRule::Pattern(_));
        let held = HeldMemory { bytes: self.memory_in_use, share: source.held_share() };
        let import = TextImport {
            reader: RecordReader {
                path: input.to_path_buf(),
                format: record_format,
                strict: self.records.strict,
                label_separator: self.records.label_separator.clone(),
            },
            format,
            words: &self.words,
            names: self.names.as_deref(),
            output,
            origin: source.reopenable().then(|| input.to_string_lossy().into_owned()),
            memory: ImportMemory::new(held, self.memory, threads, pattern)?,
        };
        source.limit_cache(import.memory.cache_bytes());
        let compression = source.compression();
        let written = import.run(source, progress)?;
        Ok(Imported {
            shape: written.shape,
            format,
            compression,
            empty_documents: written.empty_documents,
            sorted: false,
            dropped: Some(written.dropped),
            dates: written.dates,
        })
    }
}

/// Returns the input as records of text that can be read several times: the file itself, or a copy
/// of a stream.
fn text_source(
    input: Input,
    format: &RecordFormat,
    output: &Path,
    progress: ProgressCallback<'_>,
) -> Result<FileSource> {
    let ends = format.ends();
    if input.reopenable {
        return Ok(FileSource::new(input, ends));
    }
    let path = input.path.clone();
    FileSource::spooled(spool(input, output, progress)?, &path, ends)
}
