//! Decides how an input is read: the part of [`Import`] between detection and the readers.
//!
//! Start with `Import::prepare`.

use std::path::{Path, PathBuf};

use super::detect::{DetectedInput, InputKind, START_BYTES};
use super::foreign::foreign_format;
use super::input::{Compression, Input};
use super::shared_file::SharedFile;
use super::{Format, Import, Imported, random_access};
#[cfg(feature = "text")]
use crate::error::Template;
use crate::error::{Error, Result};
use crate::progress::ProgressCallback;
#[cfg(feature = "text")]
use {
    super::archive::{ArchiveKind, FileArchive, REPEATED},
    super::detect::{data_suffix, detect},
    super::encoding::{EncodingRule, unicode_encoding},
    super::file_error,
    super::raw::files::{TABLE_SUFFIXES, only_tables},
    super::raw::import::PreparedText,
    super::raw::source::{TextDecoding, member_input},
    super::raw::table::has_header,
};

/// Formats that are named when an input is none of them.
const SUPPORTED: &str = "supported formats: text, CSV, JSON, HTML, XML, docx, zip, UCI, Matrix Market, SVMlight, LDA-C, npz, h5ad and Parquet, optionally compressed";

/// Input that is ready to be read.
pub(super) enum PreparedInput {
    /// Raw text. An archive or a folder of tables is several texts.
    #[cfg(feature = "text")]
    Texts(Vec<PreparedText>),
    /// Bag of words in a text format.
    Counts(Input, Format),
    /// Format that is read by position.
    Binary { format: Format, file: SharedFile, path: PathBuf, compression: Compression },
}

impl Import {
    /// Imports several inputs, which must be raw text.
    pub(super) fn run_several(
        &self,
        inputs: Vec<DetectedInput>,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<Imported> {
        #[cfg(feature = "text")]
        {
            let mut texts = Vec::new();
            for detected in inputs {
                let path = detected.path().to_path_buf();
                match self.prepare(detected, output, progress)? {
                    PreparedInput::Texts(more) => texts.extend(more),
                    PreparedInput::Counts(_, format) => return Err(only_one(&path, format)),
                    PreparedInput::Binary { format, file, path, .. } => {
                        texts.push(self.prepare_table(format, file, &path)?);
                    }
                }
            }
            self.run_texts(texts, output, progress)
        }
        #[cfg(not(feature = "text"))]
        {
            let _ = (output, progress);
            let path = inputs.first().map_or(Path::new(""), DetectedInput::path);
            Err(crate::features::missing_feature("text", "read", path))
        }
    }

    /// Determines how an input is read.
    pub(super) fn prepare(
        &self,
        detected: DetectedInput,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<PreparedInput> {
        if detected.kind() == InputKind::Data(Format::Folder) {
            return self.prepare_files(detected.path(), output, progress);
        }
        if self.format == Some(Format::Folder) {
            return Err(Error::unsupported_value("format", "folder", "the input is not a folder")
                .with_remedy("choose another {format}, or name a folder"));
        }
        let path = detected.path().to_path_buf();
        self.check_output_is_no_input(&path, output)?;
        let (kind, delimiter) = (detected.kind(), detected.delimiter);
        let mut input = detected.into_input()?;
        let compression = input.compression;
        let format = self.binary_format(input.peek(START_BYTES)?, &path)?;
        let Some(format) = format else {
            return self.prepare_stream(input, kind, delimiter, output, progress);
        };
        let (reopenable, member) =
            (input.reopenable && compression == Compression::None, input.member.is_some());
        let file =
            SharedFile::new(random_access(input, output, progress)?).map_err(Error::io("read", &path))?;
        if matches!(format, Format::Zip | Format::Docx) {
            return self.prepare_zip(file, &path, reopenable, member, output, progress);
        }
        Ok(PreparedInput::Binary { format, file, path, compression })
    }

    /// Refuses an input that cannot be imported.
    fn refuse(&self, start: &[u8], kind: InputKind, path: &Path) -> Result<()> {
        let has_zero = memchr::memchr(0, &start[..start.len().min(4096)]).is_some();
        #[cfg(feature = "text")]
        let has_zero = has_zero && self.records.encoding.is_none() && unicode_encoding(start).is_none();
        let foreign = foreign_format(start, path).filter(|_| self.format.is_none());
        let (statement, remedy) = if start.is_empty() {
            ("is empty".to_owned(), "pass a file with documents")
        } else if start.trim_ascii().is_empty() && start.len() < START_BYTES {
            ("contains only blank lines".to_owned(), "pass a file with documents")
        } else if kind == InputKind::Corpus {
            ("is a corpus file".to_owned(), "it is already imported: use it directly")
        } else if kind == InputKind::Model {
            ("is a model file".to_owned(), "pass the documents instead of the model")
        } else if let Some(foreign) = foreign {
            (format!("is {}", foreign.name), foreign.remedy)
        } else if self.format.is_none() && has_zero {
            ("is a binary file".to_owned(), SUPPORTED)
        } else {
            return Ok(());
        };
        Err(Error::unusable_input(path, statement, remedy))
    }

    /// Returns the format of an input that is read from its beginning to its end.
    fn stream_format(&self, kind: InputKind) -> Format {
        match (self.format, kind) {
            (Some(format), _)
            | (
                None,
                InputKind::Data(
                    format @ (Format::JsonLines | Format::Json | Format::Csv | Format::Html | Format::Xml),
                ),
            ) => format,
            _ if self.records.json_option().is_some() => Format::JsonLines,
            _ if self.records.table_option().is_some() => Format::Csv,
            (None, InputKind::Data(format)) => format,
            (None, _) => Format::Text,
        }
    }

    #[cfg(feature = "text")]
    fn prepare_stream(
        &self,
        mut input: Input,
        mut kind: InputKind,
        mut delimiter: Option<u8>,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<PreparedInput> {
        let (path, name) = (input.path.clone(), input.name_path().to_path_buf());
        self.refuse(input.peek(START_BYTES)?, kind, &path)?;
        let format = self.stream_format(kind);
        if matches!(format, Format::Html | Format::Xml | Format::Docx) {
            return Ok(PreparedInput::Texts(vec![self.prepare_document(input, format)?]));
        }
        let rule = if format.is_raw() { self.encoding_rule()? } else { EncodingRule::Unicode };
        let (mut input, decoding) = TextDecoding::detect(input, rule)?;
        if self.records.encoding.is_some() {
            let start = input.peek(START_BYTES)?;
            (kind, delimiter) = detect(start, start.len() < START_BYTES, &name);
        }
        let format = self.stream_format(kind);
        if !format.is_raw() {
            return Ok(PreparedInput::Counts(input, format));
        }
        // A detected delimiter is used only if the format was detected, too.
        let detected = InputKind::Data(format) == kind && self.format.is_none();
        let delimiter = self.records.delimiter.or(delimiter.filter(|_| detected));
        if let Some(option) = self.records.table_option().filter(|_| format == Format::Csv && !detected) {
            let start = input.peek(START_BYTES)?;
            let whole = start.len() < START_BYTES;
            let by_name = self.records.text_columns.iter().any(|name| name.parse::<usize>().is_err());
            if by_name && self.format.is_none() && !has_header(start, whole, delimiter) {
                let remedy = format!("{} is plain text with one document per line", path.display());
                return Err(
                    Error::only_with(option, ["tables"]).with_remedy(Template::default().text(remedy))
                );
            }
        }
        let text = self.prepare_text((input, decoding), format, delimiter, output, progress)?;
        Ok(PreparedInput::Texts(vec![text]))
    }

    #[cfg(not(feature = "text"))]
    fn prepare_stream(
        &self,
        mut input: Input,
        kind: InputKind,
        _delimiter: Option<u8>,
        _output: &Path,
        _progress: ProgressCallback<'_>,
    ) -> Result<PreparedInput> {
        let path = input.path.clone();
        self.refuse(input.peek(START_BYTES)?, kind, &path)?;
        let format = self.stream_format(kind);
        if format.is_raw() {
            return Err(crate::features::missing_feature("text", "read", &path));
        }
        Ok(PreparedInput::Counts(input, format))
    }

    /// Prepares the files of a folder: one document each, or tables if all of them are tables.
    fn prepare_files(
        &self,
        folder: &Path,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<PreparedInput> {
        #[cfg(feature = "text")]
        {
            let (tables, skipped) = match self.format {
                None => only_tables(folder, &self.records)?,
                Some(_) => Default::default(),
            };
            if tables.is_empty() {
                return Ok(PreparedInput::Texts(vec![self.prepare_folder(folder)?]));
            }
            let mut texts = Vec::new();
            for path in tables {
                match self.prepare(DetectedInput::open(&path)?, output, progress)? {
                    PreparedInput::Texts(more) => texts.extend(more),
                    PreparedInput::Counts(_, format) => return Err(only_one(&path, format)),
                    PreparedInput::Binary { format, file, path, .. } => {
                        texts.push(self.prepare_table(format, file, &path)?);
                    }
                }
            }
            if let Some(first) = texts.first_mut() {
                first.skipped_files = skipped;
            }
            for text in &mut texts {
                text.container = Some(Format::Folder);
            }
            Ok(PreparedInput::Texts(texts))
        }
        #[cfg(not(feature = "text"))]
        {
            let _ = (output, progress);
            Err(crate::features::missing_feature("text", "read", folder))
        }
    }

    /// Determines what a zip archive is, and prepares it. `nested` is set if it is itself the
    /// member of an archive.
    #[cfg(feature = "text")]
    fn prepare_zip(
        &self,
        file: SharedFile,
        path: &Path,
        reopenable: bool,
        nested: bool,
        output: &Path,
        progress: ProgressCallback<'_>,
    ) -> Result<PreparedInput> {
        let whole = |file: SharedFile| {
            let mut input = Input::plain(Box::new(file.reader_at(0)), path, file.bytes());
            input.reopenable = reopenable;
            input
        };
        let mut archive = FileArchive::open(path, file.clone())?;
        match archive.kind() {
            ArchiveKind::Data(Format::Npz) => {
                let (path, compression) = (path.to_path_buf(), Compression::None);
                return Ok(PreparedInput::Binary { format: Format::Npz, file, path, compression });
            }
            ArchiveKind::Data(_) => {
                let document = self.prepare_document(whole(file), Format::Docx)?;
                return Ok(PreparedInput::Texts(vec![document]));
            }
            ArchiveKind::Foreign(foreign) => {
                return Err(Error::unusable_input(path, format!("is {}", foreign.name), foreign.remedy));
            }
            ArchiveKind::Files if nested => {
                let remedy = "unpack it first, and give the folder with its files";
                return Err(Error::unusable_input(path, "is an archive in an archive", remedy));
            }
            ArchiveKind::Files => {}
        }
        if archive.members.is_empty() {
            let remedy = "pass an archive with documents";
            return Err(Error::unusable_input(path, "is a zip archive without files", remedy));
        }
        let is_table = |name: &str| TABLE_SUFFIXES.contains(&data_suffix(Path::new(name)).as_str());
        let all_tables = archive.members.iter().all(|member| is_table(&member.name));
        if self.format == Some(Format::Zip) || archive.members.len() > 1 && !all_tables {
            return Ok(PreparedInput::Texts(vec![self.prepare_archive(archive, path, reopenable)?]));
        }
        if let Some(member) = archive.members.iter().find(|member| member.problem == Some(REPEATED)) {
            let remedy = "unpack the archive, and give the folder with its files";
            return Err(file_error(&path.join(&member.name), REPEATED.into(), "documents to import", remedy));
        }
        let names: Vec<String> = archive.members.iter().map(|member| member.name.clone()).collect();
        let mut texts = Vec::new();
        for name in &names {
            let mut member = member_input(&mut archive, name, path)?;
            member.reopenable = reopenable;
            match self.prepare(DetectedInput::new(member)?, output, progress)? {
                PreparedInput::Texts(more) => texts.extend(more),
                other if names.len() == 1 => return Ok(other),
                PreparedInput::Counts(_, format) => return Err(only_one(path, format)),
                PreparedInput::Binary { format, file, path, .. } => {
                    texts.push(self.prepare_table(format, file, &path)?);
                }
            }
        }
        for text in &mut texts {
            text.container = Some(Format::Zip);
        }
        Ok(PreparedInput::Texts(texts))
    }

    #[cfg(not(feature = "text"))]
    fn prepare_zip(
        &self,
        file: SharedFile,
        path: &Path,
        _reopenable: bool,
        _nested: bool,
        _output: &Path,
        _progress: ProgressCallback<'_>,
    ) -> Result<PreparedInput> {
        let (path, compression) = (path.to_path_buf(), Compression::None);
        Ok(PreparedInput::Binary { format: Format::Npz, file, path, compression })
    }
}

/// Returns the error for an input that cannot be combined with others.
#[cfg(feature = "text")]
pub(super) fn only_one(path: &Path, format: Format) -> Error {
    file_error(
        path,
        format!("a bag of words ({})", format.name()),
        "text, or a bag of words as the only input",
        "only texts can be combined: import a bag of words as one input",
    )
}
