//! Files that are one document each: the files of a folder or of a zip archive, or a single page or
//! document.
//!
//! Start with [`FileTexts`]. A file is plain text, HTML, XML or a Word document. Files that are
//! something else, or that cannot be read, are skipped and listed, or refused if the import is
//! strict.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::source::{MAX_RECORD_BYTES, MIN_BATCH_BYTES, SpanKind, TextBatch, TextSource, TextSpan};
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
use crate::error::{Error, Position, Result, Template};

/// Number of copies of a file while it is read: its bytes, its text, and the text in a batch.
const COPIES: usize = 3;
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
            return Ok(FileText { bytes: text.into_bytes(), mark: 0, encoding: None });
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
        Some(Format::Html) => html_text(&String::from_utf8_lossy(&bytes[mark..])),
        Some(Format::Xml) => xml_text(&String::from_utf8_lossy(&bytes[mark..])),
        _ => return Ok(FileText { bytes, mark, encoding }),
    };
    Ok(FileText { bytes: text.into_bytes(), mark: 0, encoding })
}

/// Reads a file of at most 64 MiB.
fn read_file(path: &Path) -> Result<Vec<u8>, FileProblem> {
    let unreadable = |error: Error| match error {
        Error::Io { source, .. } => FileProblem::new(format!("a file that cannot be read: {source}"), ""),
        Error::Input { found, .. } => FileProblem::new(found, "copy or download the file again"),
        other => FileProblem::new(other.to_string(), ""),
    };
    let mut input = Input::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    loop {
        let filled = bytes.len();
        bytes.resize(filled + READ_BYTES, 0);
        let n = input.read(&mut bytes[filled..]).map_err(unreadable)?;
        bytes.truncate(filled + n);
        if n == 0 {
            return Ok(bytes);
        }
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(too_long());
        }
    }
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
}

impl FolderWalk {
    /// Adds the content of a folder to the list of what is to be visited.
    fn list_folder(&mut self, folder: &Path) -> std::io::Result<()> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let link = path.is_symlink();
            // Links to folders are not followed, since they could form a cycle.
            let is_folder = path.is_dir();
            if !hidden && (is_folder && !link || path.is_file()) {
                found.push((path, is_folder));
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        self.waiting.extend(found);
        Ok(())
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
    /// Content of a single file, and whether it has been visited.
    Single {
        name: String,
        bytes: Vec<u8>,
        visited: bool,
    },
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
pub(crate) fn only_tables(root: &Path, options: &RecordOptions) -> Result<Vec<PathBuf>> {
    let rules = FileRules::new(options, EncodingRule::Detect)?;
    let mut walk = FolderWalk { root: root.to_path_buf(), waiting: vec![(root.to_path_buf(), true)] };
    let mut tables = Vec::new();
    while let Some((path, is_folder)) = walk.waiting.pop() {
        if is_folder {
            // A folder that cannot be read is reported later.
            if walk.list_folder(&path).is_err() {
                return Ok(Vec::new());
            }
        } else if rules.accepts(&walk.name(&path)) {
            if !TABLE_SUFFIXES.contains(&data_suffix(&path).as_str()) {
                return Ok(Vec::new());
            }
            tables.push(path);
        }
    }
    Ok(tables)
}

/// Next file of a list.
enum ListedFile {
    File(String, Result<Vec<u8>, FileProblem>),
    /// Folder that cannot be listed.
    Folder(String, FileProblem),
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
    encodings: BTreeMap<&'static str, u64>,
    /// Whether the texts can be found again by the path.
    reopenable: bool,
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
            encodings: BTreeMap::new(),
            reopenable: true,
        }
    }

    /// Creates a source of the files of a folder.
    pub(crate) fn folder(root: &Path, rules: FileRules) -> Result<FileTexts> {
        // A folder that cannot be listed at all is an error.
        std::fs::read_dir(root).map_err(Error::io("read", root))?;
        let walk = FolderWalk { root: root.to_path_buf(), waiting: vec![(root.to_path_buf(), true)] };
        Ok(FileTexts::new(root, FileList::Folder(walk), rules))
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
        let mut bytes = Vec::new();
        loop {
            let filled = bytes.len();
            bytes.resize(filled + READ_BYTES, 0);
            let n = input.read(&mut bytes[filled..])?;
            bytes.truncate(filled + n);
            if n == 0 {
                break;
            }
            if bytes.len() > MAX_RECORD_BYTES {
                return Err(file_problem_error(&input.path, too_long()));
            }
        }
        let name = input.name_path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let list = FileList::Single { name, bytes, visited: false };
        // A file is refused instead of being skipped.
        let rules = FileRules { strict: true, glob: None, ..rules };
        let reopenable = input.reopenable && input.member.is_none();
        Ok(FileTexts { format: Some(format), reopenable, ..FileTexts::new(&input.path, list, rules) })
    }

    /// Returns the length of the next file in bytes, or 0 if it is not known.
    fn next_length(&self) -> usize {
        let length = match &self.list {
            FileList::Folder(walk) => match walk.waiting.last() {
                Some((path, false)) => path.metadata().map_or(0, |metadata| metadata.len()),
                _ => 0,
            },
            FileList::Archive(..) => 0,
            FileList::Single { bytes, .. } => bytes.len() as u64,
        };
        usize::try_from(length).map_or(MAX_RECORD_BYTES, |length| length.min(MAX_RECORD_BYTES))
    }

    /// Returns the name and the content of the next file; `None` at the end.
    fn next_file(&mut self) -> Option<ListedFile> {
        match &mut self.list {
            FileList::Folder(walk) => loop {
                let (path, is_folder) = walk.waiting.pop()?;
                let name = walk.name(&path);
                if is_folder {
                    if let Err(error) = walk.list_folder(&path) {
                        let problem = FileProblem::new(format!("a folder that cannot be read: {error}"), "");
                        return Some(ListedFile::Folder(name, problem));
                    }
                } else if self.rules.accepts(&name) {
                    return Some(ListedFile::File(name, read_file(&path)));
                }
            },
            FileList::Archive(archive, next) => loop {
                let member = archive.members.get(*next)?.clone();
                *next += 1;
                if self.rules.accepts(&member.name) {
                    let read = archive.read_member(&member, MAX_RECORD_BYTES);
                    let read = read.map_err(|found| FileProblem::new(found, ""));
                    return Some(ListedFile::File(member.name, read));
                }
            },
            FileList::Single { name, bytes, visited } => {
                let first = !std::mem::replace(visited, true);
                first.then(|| ListedFile::File(name.clone(), Ok(bytes.clone())))
            }
        }
    }

    /// Skips a file, or refuses it if the import is strict.
    fn skip(&mut self, name: String, problem: FileProblem) -> Result<()> {
        if self.rules.strict {
            let path = if self.format.is_some() { self.path.clone() } else { self.path.join(&name) };
            return Err(file_problem_error(&path, problem));
        }
        self.skipped.push(SkippedFile { name, found: problem.found, remedy: problem.remedy });
        Ok(())
    }

    fn push(&mut self, name: String, text: &FileText, batch: &mut TextBatch) {
        let start = batch.bytes.len();
        batch.bytes.extend_from_slice(&text.bytes[text.mark..]);
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

fn file_problem_error(path: &Path, problem: FileProblem) -> Error {
    Error::Input {
        path: path.to_path_buf(),
        position: Position::Whole,
        found: problem.found,
        expected: "a document that can be read".into(),
        remedy: problem.remedy.into(),
    }
}

impl TextSource for FileTexts {
    fn rewind(&mut self) -> Result<()> {
        match &mut self.list {
            FileList::Folder(walk) => walk.waiting = vec![(walk.root.clone(), true)],
            FileList::Archive(_, next) => *next = 0,
            FileList::Single { visited, .. } => *visited = false,
        }
        self.read = 0;
        self.skipped = SkippedFiles::default();
        self.encodings.clear();
        Ok(())
    }

    fn next(&mut self, batch: &mut TextBatch) -> Result<bool> {
        batch.clear();
        while batch.bytes.len() < batch.enough_bytes && batch.spans.len() < batch.enough_records {
            let length = self.next_length();
            if length > MIN_BATCH_BYTES && batch.bytes.len() + COPIES * length > batch.max_bytes {
                batch.needs_memory = batch.spans.is_empty();
                return Ok(true);
            }
            let Some(file) = self.next_file() else { break };
            let (name, content) = match file {
                ListedFile::File(name, content) => (name, content),
                ListedFile::Folder(name, problem) => {
                    self.skip(name, problem)?;
                    continue;
                }
            };
            self.read += content.as_ref().map_or(0, Vec::len) as u64;
            let text = content
                .and_then(|bytes| file_text(Path::new(&name), bytes, self.rules.encoding, self.format));
            match text {
                Ok(text) => self.push(name, &text, batch),
                Err(problem) => self.skip(name, problem)?,
            }
        }
        Ok(!batch.spans.is_empty())
    }

    fn measure_record(&mut self) -> Result<(u64, TextBatch)> {
        let name = match &self.list {
            FileList::Folder(walk) => walk.waiting.last().map(|(path, _)| walk.name(path)),
            FileList::Archive(archive, next) => archive.members.get(*next).map(|member| member.name.clone()),
            FileList::Single { .. } => None,
        };
        let mut start = TextBatch::default();
        let kind = SpanKind::Text { name, labels: Vec::new(), date: None };
        start.spans.push(TextSpan { bytes: 0..0, source: 0, offset: 0, line: 1, kind });
        Ok(((COPIES * self.next_length()) as u64, start))
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
                (read_file(&file).ok()?, None)
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
            format => (read_file(&self.path).ok()?, Some(format)),
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
