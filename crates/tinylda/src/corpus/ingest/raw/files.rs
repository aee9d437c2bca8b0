//! Files that are one document each: the files of a folder or of a zip archive, or a single page or
//! document.
//!
//! Start with [`FileTexts`]. A file is plain text, HTML, XML or a Word document. Files that are
//! something else, or that cannot be read, are skipped and listed, or refused if the import is
//! strict.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::source::{
    CostlyContent, MAX_RECORD_BYTES, MIN_BATCH_BYTES, MeasuredRecord, SpanKind, TextBatch, TextSource,
    TextSpan,
};
use crate::corpus::MAGIC;
use crate::corpus::Source;
use crate::corpus::ingest::archive::FileArchive;
use crate::corpus::ingest::detect::{data_suffix, detect_binary, detect_markup};
use crate::corpus::ingest::encoding::{EncodingRule, TextEncoding, decode, parse_encoding, unicode_encoding};
use crate::corpus::ingest::foreign::foreign_format;
use crate::corpus::ingest::input::Input;
use crate::corpus::ingest::markup::{declared_encoding, docx_text, html_text, xml_text};
use crate::corpus::ingest::notes::{SkippedFile, SkippedFiles};
use crate::corpus::ingest::shared_file::SharedFile;
use crate::corpus::ingest::{Format, RecordOptions};
use crate::error::{Error, Result, Template};

/// Number of copies of a file that is decoded and has markup, while it is read.
const COPIES: usize = 3;
/// Number of bytes of a long file whose text is inspected to estimate what the rest will cost.
const SAMPLE_BYTES: usize = 1 << 19;
/// Number of bytes that are read at a time.
const READ_BYTES: usize = 1 << 16;
/// Suffixes of files with many documents, which are not read as one document.
pub(crate) const TABLE_SUFFIXES: [&str; 9] =
    ["csv", "tsv", "tab", "psv", "json", "jsonl", "ndjson", "parquet", "h5ad"];

/// Reason why a file is not a document.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileProblem {
    found: String,
    remedy: &'static str,
}

impl FileProblem {
    fn new(found: impl Into<String>, remedy: &'static str) -> FileProblem {
        FileProblem { found: found.into(), remedy }
    }
}

/// Text of a file.
struct FileText {
    /// Text in UTF-8, or bytes that are not valid UTF-8 and that the reader of records replaces.
    bytes: Vec<u8>,
    /// Number of bytes before the text.
    mark: usize,
    /// Name of the encoding, unless it is UTF-8.
    encoding: Option<&'static str>,
    /// Whether the file is XML that is not well-formed or uses entities that are not declared.
    damaged: bool,
}

/// Returns the text of a file with this name and content. `format` is the format of the file, if it
/// is known.
fn file_text(
    name: &Path,
    bytes: Vec<u8>,
    rule: EncodingRule,
    format: Option<Format>,
) -> Result<FileText, FileProblem> {
    if let Some(foreign) = foreign_format(&bytes, name) {
        return Err(FileProblem::new(foreign.name, foreign.remedy));
    }
    let suffix = data_suffix(name);
    match detect_binary(&bytes) {
        Some(Format::Zip) if suffix == "docx" || format == Some(Format::Docx) => {
            let text = docx_text(&bytes, MAX_RECORD_BYTES).map_err(|found| FileProblem::new(found, ""))?;
            return Ok(FileText { bytes: text.into_bytes(), mark: 0, encoding: None, damaged: false });
        }
        Some(Format::Zip) => {
            return Err(FileProblem::new("an archive or an Office document", "import it on its own"));
        }
        Some(_) => return Err(FileProblem::new("a file with many documents", "import it on its own")),
        None => {}
    }
    if TABLE_SUFFIXES.contains(&suffix.as_str()) && format.is_none() {
        return Err(FileProblem::new("a file with many documents", "import it on its own"));
    }
    let has_zero = memchr::memchr(0, &bytes[..bytes.len().min(1 << 12)]).is_some();
    if bytes.starts_with(&MAGIC)
        || has_zero && !matches!(rule, EncodingRule::Given(_)) && unicode_encoding(&bytes).is_none()
    {
        return Err(FileProblem::new("a binary file", "convert it to text first"));
    }
    let markup = format.or_else(|| detect_markup(&bytes, &suffix));
    let hint = markup.and_then(|_| declared_encoding(&bytes));
    let (bytes, encoding) = decode(bytes, rule, hint);
    let encoding = encoding.map(TextEncoding::name);
    // The encoding may have hidden the markup.
    let markup = markup.or_else(|| detect_markup(&bytes, &suffix));
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let text = match markup {
        Some(Format::Html) => (html_text(&String::from_utf8_lossy(&bytes[mark..])), false),
        Some(Format::Xml) => xml_text(&String::from_utf8_lossy(&bytes[mark..])),
        _ => return Ok(FileText { bytes, mark, encoding, damaged: false }),
    };
    let (text, damaged) = text;
    Ok(FileText { bytes: text.into_bytes(), mark: 0, encoding, damaged })
}

/// Returns how many copies of a file there are at a time while its text is put into an empty batch.
fn copies_of(name: &str, bytes: &[u8], format: Option<Format>) -> usize {
    copies_of_start(name, bytes, format, std::str::from_utf8(bytes).is_ok())
}

/// Returns how many copies of a file there are at a time, given its beginning and whether all of it
/// is valid UTF-8.
fn copies_of_start(name: &str, start: &[u8], format: Option<Format>, is_utf8: bool) -> usize {
    let markup = format.or_else(|| detect_markup(start, &data_suffix(Path::new(name))));
    match (markup, detect_binary(start)) {
        (None, None) if is_utf8 => 1,
        (Some(Format::Html | Format::Xml), None) if is_utf8 => 2,
        _ => COPIES,
    }
}

/// Properties of a file that does not fit in memory, found by reading it in parts.
struct MeasuredFile {
    length: usize,
    /// First bytes of the file.
    start: Vec<u8>,
    is_utf8: bool,
    content: CostlyContent,
}

impl MeasuredFile {
    /// Reads up to 64 MiB with `read`, which returns 0 at the end and `None` if it fails.
    fn read(mut read: impl FnMut(&mut [u8]) -> Option<usize>) -> Option<MeasuredFile> {
        let (mut buffer, mut filled) = (vec![0; READ_BYTES], 0);
        let content = CostlyContent::default();
        let mut file = MeasuredFile { length: 0, start: Vec::new(), is_utf8: true, content };
        loop {
            let n = read(&mut buffer[filled..])?;
            let part = &buffer[..filled + n];
            // A character may continue in the next part.
            let used = match std::str::from_utf8(part) {
                Ok(_) => part.len(),
                Err(e) if e.error_len().is_none() && n > 0 => e.valid_up_to(),
                Err(_) => {
                    file.is_utf8 = false;
                    part.len()
                }
            };
            file.content.inspect(&part[..used]);
            let wanted = SAMPLE_BYTES.saturating_sub(file.start.len()).min(used);
            file.start.extend_from_slice(&part[..wanted]);
            file.length += used;
            if n == 0 || file.length > MAX_RECORD_BYTES {
                file.length = file.length.min(MAX_RECORD_BYTES);
                return Some(file);
            }
            filled = part.len() - used;
            let end = used + filled;
            buffer.copy_within(used..end, 0);
        }
    }
}

fn unreadable(error: Error) -> FileProblem {
    match error {
        Error::Io { source, .. } => FileProblem::new(format!("a file that cannot be read: {source}"), ""),
        Error::Input { found, .. } => FileProblem::new(found, "copy or download the file again"),
        other => FileProblem::new(other.to_string(), ""),
    }
}

/// Reads an input of at most 64 MiB. Returns `None` if it is longer than `max` bytes.
fn read_input(input: &mut Input, max: usize) -> Result<Option<Vec<u8>>, FileProblem> {
    let mut bytes = Vec::new();
    loop {
        let filled = bytes.len();
        bytes.resize(filled + READ_BYTES, 0);
        let n = input.read(&mut bytes[filled..]).map_err(unreadable)?;
        bytes.truncate(filled + n);
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(too_long());
        }
        if bytes.len() > max {
            return Ok(None);
        }
        if n == 0 {
            if bytes.len() > MIN_BATCH_BYTES {
                bytes.shrink_to_fit();
            }
            return Ok(Some(bytes));
        }
    }
}

/// Reads a file of at most 64 MiB. Returns `None` if it is longer than `max` bytes.
fn read_file(path: &Path, max: usize) -> Result<Option<Vec<u8>>, FileProblem> {
    read_input(&mut Input::open(path).map_err(unreadable)?, max)
}

fn too_long() -> FileProblem {
    let remedy = "split it into documents; if it has one document per line, import it on its own";
    FileProblem::new("a document longer than 64 MiB", remedy)
}

/// Files of a folder. Only the names of the entries of the current folder and its parents are held
/// in memory.
#[derive(Debug, Default)]
struct FolderWalk {
    root: PathBuf,
    /// Folders (true) and files (false) that are still to be visited, the next one last.
    waiting: Vec<(PathBuf, bool)>,
    /// Entries that are neither, and what they are, the next one last.
    others: Vec<(PathBuf, FileProblem)>,
}

impl FolderWalk {
    fn new(root: &Path) -> FolderWalk {
        FolderWalk { root: root.to_path_buf(), waiting: vec![(root.to_path_buf(), true)], others: Vec::new() }
    }

    /// Adds the content of a folder to the list of what is to be visited.
    fn list_folder(&mut self, folder: &Path) -> std::io::Result<()> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let link = path.is_symlink();
            // Links to folders are not followed, since they could form a cycle.
            let is_folder = path.is_dir();
            if hidden {
                continue;
            }
            if is_folder && !link || path.is_file() {
                found.push((path, is_folder));
                continue;
            }
            let problem = if is_folder {
                FileProblem::new("a link to a folder", "give the folder itself as an input")
            } else if link && !path.exists() {
                FileProblem::new("a link to a file that does not exist", "")
            } else {
                FileProblem::new("a pipe or device", "copy its content to a file")
            };
            self.others.push((path, problem));
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        self.others.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        self.waiting.extend(found);
        Ok(())
    }

    /// Returns the name of the next entry that is neither a folder nor a file, and what it is.
    fn next_other(&mut self, rules: &FileRules) -> Option<(String, FileProblem)> {
        loop {
            let (path, problem) = self.others.pop()?;
            let name = self.name(&path);
            if rules.accepts(&name) {
                return Some((name, problem));
            }
        }
    }

    /// Returns the document name of a file: its path in the folder, with slashes.
    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = inside.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        parts.join("/")
    }
}

/// List of the files of a source.
enum FileList {
    Folder(FolderWalk),
    /// Archive, and the index of its next member.
    Archive(Box<FileArchive>, usize),
    /// Single file, and whether it has been visited.
    Single {
        name: String,
        content: SingleContent,
        visited: bool,
    },
}

/// Content of a single file.
enum SingleContent {
    /// File that is read in every pass.
    File(PathBuf),
    /// Bytes of an input that can be read only once.
    Bytes(Vec<u8>),
}

/// Rules for the files of a source.
pub(crate) struct FileRules {
    glob: Option<globset::GlobMatcher>,
    folder_labels: bool,
    strict: bool,
    encoding: EncodingRule,
}

impl FileRules {
    /// Returns the rules that the options describe.
    pub(crate) fn new(options: &RecordOptions, encoding: EncodingRule) -> Result<FileRules> {
        let glob = options.glob.as_deref().map(|pattern| {
            globset::GlobBuilder::new(pattern).literal_separator(false).build().map(|g| g.compile_matcher())
        });
        let glob = glob.transpose().map_err(|e| {
            let expected = Template::from("a pattern such as *.txt (").text(format!("{})", e.kind()));
            Error::parse("glob", e.glob().unwrap_or_default(), expected)
        })?;
        let (folder_labels, strict) = (options.folder_labels, options.strict);
        Ok(FileRules { glob, folder_labels, strict, encoding })
    }

    fn accepts(&self, name: &str) -> bool {
        let file_name = name.rsplit('/').next().unwrap_or(name);
        self.glob.as_ref().is_none_or(|glob| glob.is_match(name) || glob.is_match(file_name))
    }
}

/// Returns the files of a folder if all of them have the suffix of a table, and nothing otherwise.
/// Entries that are no files are skipped, or refused if the import is strict.
pub(crate) fn only_tables(root: &Path, options: &RecordOptions) -> Result<(Vec<PathBuf>, SkippedFiles)> {
    let rules = FileRules::new(options, EncodingRule::Detect)?;
    let mut walk = FolderWalk::new(root);
    let (mut tables, mut skipped) = (Vec::new(), SkippedFiles::default());
    while let Some((path, is_folder)) = walk.waiting.pop() {
        if is_folder {
            // A folder that cannot be read is reported later.
            if walk.list_folder(&path).is_err() {
                return Ok(Default::default());
            }
        } else if rules.accepts(&walk.name(&path)) {
            if !TABLE_SUFFIXES.contains(&data_suffix(&path).as_str()) {
                return Ok(Default::default());
            }
            tables.push(path);
        }
    }
    while let Some((name, problem)) = walk.next_other(&rules).filter(|_| !tables.is_empty()) {
        if rules.strict {
            return Err(file_problem_error(&root.join(name), &problem));
        }
        skipped.push(SkippedFile { name, found: problem.found, remedy: problem.remedy });
    }
    Ok((tables, skipped))
}

/// Next file of a list.
enum ListedFile {
    File(String, Result<Vec<u8>, FileProblem>),
    /// File that takes more memory than there is. It stays in the list.
    TooLarge,
}

/// Source of files with one document each, in the order of their names.
pub(crate) struct FileTexts {
    path: PathBuf,
    list: FileList,
    /// Format of a single file.
    format: Option<Format>,
    rules: FileRules,
    read: u64,
    skipped: SkippedFiles,
    /// Number of XML documents that are not well-formed.
    damaged: u64,
    encodings: BTreeMap<&'static str, u64>,
    /// Whether the texts can be found again by the path.
    reopenable: bool,
    /// Number of copies of the next file while it is read, as far as they are known.
    copies: usize,
}

impl FileTexts {
    fn new(path: &Path, list: FileList, rules: FileRules) -> FileTexts {
        FileTexts {
            path: path.to_path_buf(),
            list,
            format: None,
            rules,
            read: 0,
            skipped: SkippedFiles::default(),
            damaged: 0,
            encodings: BTreeMap::new(),
            reopenable: true,
            copies: 1,
        }
    }

    /// Creates a source of the files of a folder.
    pub(crate) fn folder(root: &Path, rules: FileRules) -> Result<FileTexts> {
        // A folder that cannot be listed at all is an error.
        std::fs::read_dir(root).map_err(Error::io("read", root))?;
        Ok(FileTexts::new(root, FileList::Folder(FolderWalk::new(root)), rules))
    }

    /// Creates a source of the files of an archive.
    pub(crate) fn archive(
        path: &Path,
        archive: FileArchive,
        rules: FileRules,
        reopenable: bool,
    ) -> FileTexts {
        let list = FileList::Archive(Box::new(archive), 0);
        FileTexts { reopenable, ..FileTexts::new(path, list, rules) }
    }

    /// Creates a source of one file, which is one document.
    #[allow(clippy::needless_pass_by_value, reason = "as the other constructors")]
    pub(crate) fn single(mut input: Input, format: Format, rules: FileRules) -> Result<FileTexts> {
        let name = input.name_path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let reopenable = input.reopenable && input.member.is_none();
        let content = if reopenable {
            SingleContent::File(input.path.clone())
        } else {
            let read = read_input(&mut input, MAX_RECORD_BYTES);
            SingleContent::Bytes(read.map_err(|p| file_problem_error(&input.path, &p))?.unwrap_or_default())
        };
        let list = FileList::Single { name, content, visited: false };
        // A file is refused instead of being skipped.
        let rules = FileRules { strict: true, glob: None, ..rules };
        Ok(FileTexts { format: Some(format), reopenable, ..FileTexts::new(&input.path, list, rules) })
    }

    /// Returns the length of the next file in bytes, as far as it is known without reading it.
    fn next_length(&self) -> usize {
        let length_of = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
        let length = match &self.list {
            FileList::Folder(walk) => match walk.waiting.last() {
                Some((path, false)) => length_of(path),
                _ => 0,
            },
            FileList::Archive(archive, next) => archive.members.get(*next).map_or(0, |member| member.size),
            FileList::Single { content: SingleContent::File(path), .. } => length_of(path),
            FileList::Single { content: SingleContent::Bytes(bytes), .. } => bytes.len() as u64,
        };
        usize::try_from(length).map_or(MAX_RECORD_BYTES, |length| length.min(MAX_RECORD_BYTES))
    }

    /// Returns the name of the next file and its properties, as far as it can be read.
    fn measure_file(&mut self) -> (String, Option<MeasuredFile>) {
        let of_path = |path: &Path| {
            let mut input = Input::open(path).ok()?;
            MeasuredFile::read(|buffer| input.read(buffer).ok())
        };
        match &mut self.list {
            FileList::Folder(walk) => match walk.waiting.last() {
                Some((path, _)) => (walk.name(path), of_path(path)),
                None => (String::new(), None),
            },
            FileList::Archive(archive, next) => {
                let Some(member) = archive.members.get(*next).cloned() else { return (String::new(), None) };
                let found = archive
                    .open_member(&member)
                    .ok()
                    .and_then(|mut reader| MeasuredFile::read(|buffer| reader.read(buffer).ok()));
                (member.name, found)
            }
            FileList::Single { name, content, .. } => {
                let found = match content {
                    SingleContent::File(path) => of_path(path),
                    SingleContent::Bytes(bytes) => {
                        let mut rest = &bytes[..];
                        MeasuredFile::read(|buffer| rest.read(buffer).ok())
                    }
                };
                (name.clone(), found)
            }
        }
    }

    /// Goes to the next file that is to be read. Fails for a folder that cannot be listed.
    fn find_file(&mut self) -> Result<(), (String, FileProblem)> {
        match &mut self.list {
            FileList::Folder(walk) => {
                if let Some(other) = walk.next_other(&self.rules) {
                    return Err(other);
                }
                while let Some((path, is_folder)) = walk.waiting.last() {
                    let (name, is_folder) = (walk.name(path), *is_folder);
                    if !is_folder && self.rules.accepts(&name) {
                        break;
                    }
                    let Some((path, _)) = walk.waiting.pop() else { break };
                    if is_folder && let Err(error) = walk.list_folder(&path) {
                        let found = format!("a folder that cannot be read: {error}");
                        return Err((name, FileProblem::new(found, "")));
                    }
                    if let Some(other) = walk.next_other(&self.rules) {
                        return Err(other);
                    }
                }
            }
            FileList::Archive(archive, next) => {
                while archive.members.get(*next).is_some_and(|member| !self.rules.accepts(&member.name)) {
                    *next += 1;
                }
            }
            FileList::Single { .. } => {}
        }
        Ok(())
    }

    /// Returns the name and the content of the next file, which may take `max` bytes while it is
    /// read; `None` at the end.
    fn next_file(&mut self, max: usize) -> Option<ListedFile> {
        let (name, content) = match &mut self.list {
            FileList::Folder(walk) => {
                let (path, _) = walk.waiting.last()?;
                (walk.name(path), read_file(path, max))
            }
            FileList::Archive(archive, next) => {
                let member = archive.members.get(*next)?.clone();
                let read = archive.read_member(&member, MAX_RECORD_BYTES);
                (member.name, read.map(Some).map_err(|found| FileProblem::new(found, "")))
            }
            FileList::Single { visited: true, .. } => return None,
            FileList::Single { name, content, .. } => {
                let read = match content {
                    SingleContent::File(path) => read_file(path, max),
                    SingleContent::Bytes(bytes) => Ok(Some(bytes.clone())),
                };
                (name.clone(), read)
            }
        };
        let content = match content {
            Ok(None) => return Some(ListedFile::TooLarge),
            Ok(Some(bytes)) => Ok(bytes),
            Err(problem) => Err(problem),
        };
        if let Ok(bytes) = &content
            && bytes.len() > MIN_BATCH_BYTES
        {
            self.copies = copies_of(&name, bytes, self.format);
            if self.copies * bytes.len() > max {
                return Some(ListedFile::TooLarge);
            }
        }
        match &mut self.list {
            FileList::Folder(walk) => drop(walk.waiting.pop()),
            FileList::Archive(_, next) => *next += 1,
            FileList::Single { visited, .. } => *visited = true,
        }
        self.copies = 1;
        Some(ListedFile::File(name, content))
    }

    /// Skips a file, or refuses it if the import is strict.
    fn skip(&mut self, name: String, problem: FileProblem) -> Result<()> {
        if self.rules.strict {
            let path = if self.format.is_some() { self.path.clone() } else { self.path.join(&name) };
            return Err(file_problem_error(&path, &problem));
        }
        self.skipped.push(SkippedFile { name, found: problem.found, remedy: problem.remedy });
        Ok(())
    }

    fn push(&mut self, name: String, text: FileText, batch: &mut TextBatch) {
        let start = if batch.bytes.is_empty() && text.bytes.len() > MIN_BATCH_BYTES {
            // A long text is not copied.
            batch.bytes = text.bytes;
            text.mark
        } else {
            batch.bytes.extend_from_slice(&text.bytes[text.mark..]);
            batch.bytes.len() - (text.bytes.len() - text.mark)
        };
        self.damaged += u64::from(text.damaged);
        if let Some(encoding) = text.encoding {
            *self.encodings.entry(encoding).or_default() += 1;
        }
        // The label of a file in the folder itself is empty, which means that it has none.
        let folder = || name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let labels = if self.rules.folder_labels { vec![vec![folder()]] } else { Vec::new() };
        batch.spans.push(TextSpan {
            bytes: start..batch.bytes.len(),
            source: 0,
            offset: text.mark as u64,
            line: 1,
            kind: SpanKind::Text { name: Some(name), labels, date: None },
        });
    }
}

fn file_problem_error(path: &Path, problem: &FileProblem) -> Error {
    Error::unusable_input(path, format!("is {}", problem.found), problem.remedy)
}

impl TextSource for FileTexts {
    fn rewind(&mut self) -> Result<()> {
        match &mut self.list {
            FileList::Folder(walk) => *walk = FolderWalk::new(&walk.root.clone()),
            FileList::Archive(_, next) => *next = 0,
            FileList::Single { visited, .. } => *visited = false,
        }
        self.read = 0;
        (self.skipped, self.damaged) = (SkippedFiles::default(), 0);
        self.encodings.clear();
        Ok(())
    }

    fn next(&mut self, batch: &mut TextBatch) -> Result<bool> {
        batch.clear();
        while batch.bytes.len() < batch.enough_bytes && batch.spans.len() < batch.enough_records {
            if let Err((name, problem)) = self.find_file() {
                self.skip(name, problem)?;
                continue;
            }
            let available = batch.max_bytes.saturating_sub(batch.bytes.len());
            let length = self.next_length();
            let is_too_large = length > MIN_BATCH_BYTES
                && (length > available || !batch.spans.is_empty() && COPIES * length > available);
            let file = if is_too_large { Some(ListedFile::TooLarge) } else { self.next_file(available) };
            let (name, content) = match file {
                None => break,
                Some(ListedFile::File(name, content)) => (name, content),
                Some(ListedFile::TooLarge) => {
                    batch.needs_memory = batch.spans.is_empty();
                    return Ok(true);
                }
            };
            self.read += content.as_ref().map_or(0, Vec::len) as u64;
            let text = content
                .and_then(|bytes| file_text(Path::new(&name), bytes, self.rules.encoding, self.format));
            match text {
                Ok(text) => self.push(name, text, batch),
                Err(problem) => self.skip(name, problem)?,
            }
        }
        Ok(!batch.spans.is_empty())
    }

    /// Reads the file in parts. The beginning of its text tells what the rest will cost.
    fn measure_record(&mut self) -> Result<MeasuredRecord> {
        let (name, file) = self.measure_file();
        let content = CostlyContent::default();
        let file = file.unwrap_or_else(|| MeasuredFile {
            length: self.next_length(),
            start: Vec::new(),
            is_utf8: false,
            content,
        });
        let length = file.length as u64;
        let copies = copies_of_start(&name, &file.start, self.format, file.is_utf8).max(self.copies) as u64;
        let sample = file_text(Path::new(&name), file.start, self.rules.encoding, self.format);
        let mut start = TextBatch::default();
        if let Ok(sample) = sample {
            start.bytes = sample.bytes;
            // Other files are decoded, or their markup is removed.
            if copies == 1 {
                file.content.append_to(&mut start.bytes);
            }
            start.bytes.shrink_to_fit();
        }
        let name = Some(name).filter(|_| self.format.is_none());
        let kind = SpanKind::Text { name, labels: Vec::new(), date: None };
        start.spans.push(TextSpan { bytes: 0..start.bytes.len(), source: 0, offset: 0, line: 1, kind });
        let reading = copies * length + MIN_BATCH_BYTES as u64;
        // A decoded text may be longer than the file.
        let held = length + if copies == COPIES as u64 { length / 2 } else { 0 };
        Ok(MeasuredRecord { length, reading, held, start })
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.read, None)
    }

    fn reopenable(&self) -> bool {
        self.reopenable
    }

    fn skipped_files(&self) -> SkippedFiles {
        self.skipped.clone()
    }

    fn damaged_files(&self) -> u64 {
        self.damaged
    }

    fn encodings(&self) -> Vec<(String, u64)> {
        self.encodings.iter().map(|(&name, &files)| (name.into(), files)).collect()
    }
}

/// Reader that finds the texts of files again, as they were imported.
pub(crate) struct FileTextFinder {
    path: PathBuf,
    format: Format,
    rule: EncodingRule,
    /// Archive at the path, once it was opened.
    archive: Option<FileArchive>,
}

impl FileTextFinder {
    /// Creates a reader of the documents of a source at `path`; returns `None` if its files are not
    /// single documents.
    pub(crate) fn new(source: &Source, path: &Path) -> Option<FileTextFinder> {
        let rule = match source.encoding.as_deref() {
            Some(encoding) => EncodingRule::Given(parse_encoding(encoding).ok()?),
            None => EncodingRule::Detect,
        };
        let format = Format::ALL.into_iter().find(|format| format.name() == source.format)?;
        let files = [Format::Folder, Format::Zip, Format::Html, Format::Xml, Format::Docx];
        let path = path.to_path_buf();
        files.contains(&format).then_some(FileTextFinder { path, format, rule, archive: None })
    }

    /// Returns the text of the document with this name; `None` if it cannot be read. Names that
    /// lead out of the folder are refused.
    pub(crate) fn read(&mut self, name: &str) -> Option<Vec<u8>> {
        let is_normal = |part| matches!(part, std::path::Component::Normal(_));
        let (bytes, format) = match self.format {
            Format::Folder => {
                let file = self.path.join(name);
                if !Path::new(name).components().all(is_normal) || !file.is_file() {
                    return None;
                }
                (read_file(&file, MAX_RECORD_BYTES).ok()??, None)
            }
            Format::Zip => {
                if self.archive.is_none() && self.path.is_file() {
                    let file = File::open(&self.path).ok()?;
                    self.archive = FileArchive::open(&self.path, SharedFile::new(file).ok()?).ok();
                }
                let archive = self.archive.as_mut()?;
                let member = archive.find(name)?.clone();
                (archive.read_member(&member, MAX_RECORD_BYTES).ok()?, None)
            }
            _ if !self.path.is_file() => return None,
            format => (read_file(&self.path, MAX_RECORD_BYTES).ok()??, Some(format)),
        };
        let mut text = file_text(Path::new(name), bytes, self.rule, format).ok()?;
        text.bytes.drain(..text.mark);
        Some(text.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text_of(name: &str, bytes: &[u8]) -> Result<String, FileProblem> {
        let text = file_text(Path::new(name), bytes.to_vec(), EncodingRule::Detect, None)?;
        Ok(String::from_utf8(text.bytes[text.mark..].to_vec()).unwrap())
    }

    #[test]
    fn files_become_texts() {
        for (name, bytes, text) in [
            ("a.txt", &b"plain"[..], "plain"),
            ("a.txt", b"\xef\xbb\xbfplain", "plain"),
            ("a.html", b"<p>a &lt; b</p>", "a < b\n"),
            ("a.xml", b"<a>b</a>", "b\n"),
            ("a", b"<!doctype html><p>a", "a"),
            ("a.txt", b"\xff\xfea\0b\0", "ab"),
            ("a.txt", b"", ""),
        ] {
            assert_eq!(text_of(name, bytes).unwrap(), text, "{name}");
        }
        for (name, bytes, found) in [
            ("a.pdf", &b"%PDF-1.4"[..], "PDF"),
            ("a.csv", b"a,b", "many documents"),
            ("a.parquet", b"PAR1", "many documents"),
            ("a.zip", b"PK\x03\x04", "archive"),
            ("a.docx", b"PK\x03\x04", "damaged Word document"),
            ("a.bin", b"a\0\x01", "binary"),
        ] {
            let problem = text_of(name, bytes).unwrap_err();
            assert!(problem.found.contains(found), "{name}: {problem:?}");
        }
    }

    proptest! {
        #[test]
        fn any_file_is_read_or_refused(bytes in prop::collection::vec(prop_oneof![Just(b'<'), Just(b'>'), Just(0u8), any::<u8>()], 0..80)) {
            for name in ["a", "a.html", "a.xml", "a.docx", "a.txt", "a.json"] {
                let _ = file_text(Path::new(name), bytes.clone(), EncodingRule::Detect, None);
            }
        }
    }
}
