//! Zip archives: lists the files in an archive and reads them with their checksums verified.
//!
//! Start with [`FileArchive`]. Nothing is ever unpacked to disk, so the names of members cannot
//! overwrite anything; names that lead out of the archive are refused nevertheless.

use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use zip::ZipArchive;

use super::foreign::{ForeignFormat, foreign_zip, open_document};
use super::markup::WORD_PART;
use super::shared_file::{FileReader, SharedFile};
use super::{Format, file_error};
use crate::error::{Error, Result};

/// Buffer size of a member in bytes.
const BUFFER_BYTES: usize = 1 << 16;
/// Maximum number of bytes of a media type.
const MAX_MEDIA_TYPE_BYTES: u64 = 200;
const COPY_REMEDY: &str = "copy or download the file again";

/// Problem of a member whose name another member has, too.
pub(crate) const REPEATED: &str = "a file with the name of a later file of the archive";
/// Bytes of the record at the end of a zip archive without its comment.
const END_BYTES: usize = 22;
/// Bytes of an entry of the directory of a zip archive without its name.
const ENTRY_BYTES: usize = 46;

/// Returns the names of the members that a later member of the same name replaces. `known` is the
/// number of different names.
fn repeated_names(file: &SharedFile, known: usize) -> io::Result<Vec<String>> {
    let length = file.bytes().min(END_BYTES as u64 + u64::from(u16::MAX));
    let mut end = Vec::new();
    file.reader_at(file.bytes() - length).take(length).read_to_end(&mut end)?;
    let number = |bytes: &[u8], at: usize, width: usize| {
        bytes.get(at..at + width).map_or(0, |all| all.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    };
    let Some(at) = memchr::memmem::rfind(&end, b"PK\x05\x06") else { return Ok(Vec::new()) };
    let (entries, bytes, offset) =
        (number(&end, at + 10, 2), number(&end, at + 12, 4), number(&end, at + 16, 4));
    // Archives of more than 65,535 files have their numbers elsewhere.
    if entries <= known as u64 || entries == u64::from(u16::MAX) || offset == u64::from(u32::MAX) {
        return Ok(Vec::new());
    }
    let mut directory = Vec::new();
    file.reader_at(offset).take(bytes).read_to_end(&mut directory)?;
    let (mut names, mut rest) = (Vec::new(), &directory[..]);
    while rest.starts_with(b"PK\x01\x02") && rest.len() >= ENTRY_BYTES {
        let [name, extra, comment] = [28, 30, 32].map(|at| number(rest, at, 2) as usize);
        let Some(bytes) = rest.get(ENTRY_BYTES..ENTRY_BYTES + name) else { break };
        names.push(String::from_utf8_lossy(bytes).into_owned());
        rest = rest.get(ENTRY_BYTES + name + extra + comment..).unwrap_or_default();
    }
    names.sort_unstable();
    Ok(names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone()).collect())
}

/// Kind of a zip archive, determined by its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveKind {
    /// Data format that is a zip archive: npz or a Word document.
    Data(Format),
    /// Format that cannot be read.
    Foreign(ForeignFormat),
    /// Archive of files.
    Files,
}

/// Member of an archive that is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveMember {
    /// Index in the archive.
    index: usize,
    pub(crate) name: String,
    /// Length in bytes that the archive states.
    pub(crate) size: u64,
    /// Reason why the member cannot be read, if there is one.
    pub(crate) problem: Option<&'static str>,
}

/// Open zip archive. Only the list of its members is held in memory.
pub(crate) struct FileArchive {
    path: PathBuf,
    file: SharedFile,
    archive: ZipArchive<FileReader>,
    /// Files in the order of their names, without hidden ones.
    pub(crate) members: Vec<ArchiveMember>,
}

impl FileArchive {
    /// Opens an archive. Errors refer to it by `path`.
    pub(crate) fn open(path: &Path, file: SharedFile) -> Result<FileArchive> {
        let damaged = |e: &dyn std::fmt::Display| {
            file_error(path, format!("a damaged zip archive ({e})"), "a complete zip archive", COPY_REMEDY)
        };
        let mut archive = ZipArchive::new(file.reader_at(0)).map_err(|e| damaged(&e))?;
        let mut members = Vec::new();
        for index in 0..archive.len() {
            let member = archive.by_index_raw(index).map_err(|e| damaged(&e))?;
            if !member.is_file() {
                continue;
            }
            let name = member.name().map_or_else(
                |_| String::from_utf8_lossy(member.name_raw()).into_owned(),
                std::borrow::Cow::into_owned,
            );
            let is_known = matches!(
                member.compression(),
                zip::CompressionMethod::Stored | zip::CompressionMethod::Deflated
            );
            let problem = if !stays_inside(&name) {
                Some("a name that leads out of the archive")
            } else if member.encrypted() {
                Some("an encrypted file")
            } else if !is_known {
                Some("a file with an unknown compression")
            } else {
                None
            };
            let size = member.size();
            members.push(ArchiveMember { index, name, size, problem });
        }
        for name in repeated_names(&file, archive.len()).map_err(|e| damaged(&e))? {
            members.push(ArchiveMember { index: usize::MAX, name, size: 0, problem: Some(REPEATED) });
        }
        members.retain(|member| !is_hidden(&member.name));
        members.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
        Ok(FileArchive { path: path.to_path_buf(), file, archive, members })
    }

    /// Determines the kind of the archive.
    pub(crate) fn kind(&mut self) -> ArchiveKind {
        let names = || self.members.iter().map(|member| member.name.as_str());
        if names().any(|name| name == WORD_PART) {
            return ArchiveKind::Data(Format::Docx);
        }
        let is_array = |name: &str| Path::new(name).extension().is_some_and(|ending| ending == "npy");
        if names().next().is_some() && names().all(is_array) {
            return ArchiveKind::Data(Format::Npz);
        }
        match foreign_zip(&names()) {
            None => ArchiveKind::Files,
            Some(format) => {
                let mut media_type = String::new();
                let read = self.archive.by_name("mimetype").ok().and_then(|member| {
                    member.take(MAX_MEDIA_TYPE_BYTES).read_to_string(&mut media_type).ok()
                });
                let opendocument = read.is_some() && media_type.contains("opendocument");
                ArchiveKind::Foreign(if opendocument { open_document(&media_type) } else { format })
            }
        }
    }

    /// Returns the member with this name.
    pub(crate) fn find(&self, name: &str) -> Option<&ArchiveMember> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Opens a member with its own reader, which verifies the length and the checksum.
    pub(crate) fn open_member(&mut self, member: &ArchiveMember) -> Result<Box<dyn Read>> {
        let path = self.path.join(&member.name);
        if let Some(problem) = member.problem {
            let remedy = "unpack the archive with another program, and give the folder with its files";
            return Err(file_error(&path, problem.into(), "a file that can be read", remedy));
        }
        let damaged = |e: &dyn std::fmt::Display| {
            file_error(&path, format!("a damaged member ({e})"), "a complete zip archive", COPY_REMEDY)
        };
        let raw = self.archive.by_index_raw(member.index).map_err(|e| damaged(&e))?;
        let (packed, size, crc, method) = (raw.compressed_size(), raw.size(), raw.crc32(), raw.compression());
        let start = raw.data_start().ok_or_else(|| damaged(&"no data"))?;
        let bytes = BufReader::with_capacity(BUFFER_BYTES, self.file.reader_at(start).take(packed));
        let source: Box<dyn Read> = if method == zip::CompressionMethod::Stored {
            Box::new(bytes)
        } else {
            Box::new(flate2::bufread::DeflateDecoder::new(bytes))
        };
        Ok(Box::new(VerifyingReader { source, crc: crc32fast::Hasher::new(), expected: crc, left: size }))
    }

    /// Reads a member of at most `max_bytes` bytes. The error describes what is wrong.
    pub(crate) fn read_member(
        &mut self,
        member: &ArchiveMember,
        max_bytes: usize,
    ) -> std::result::Result<Vec<u8>, String> {
        let reader = self.open_member(member).map_err(|error| match error {
            Error::Input { found, .. } => found,
            other => other.to_string(),
        })?;
        let mut bytes = Vec::new();
        reader
            .take(max_bytes as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| format!("a damaged file ({e})"))?;
        if bytes.len() > max_bytes {
            return Err(format!("a document longer than {} MiB", max_bytes >> 20));
        }
        Ok(bytes)
    }
}

/// Returns whether the name of a member is a relative path that stays in the archive.
fn stays_inside(name: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let drive_letter = name.as_bytes().get(1) == Some(&b':');
    !name.contains('\\')
        && !name.contains('\0')
        && !drive_letter
        && Path::new(name).components().all(is_plain)
}

/// Returns whether a member is hidden, or one of the additional files that macOS adds.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') && part != "." && part != ".." || part == "__MACOSX")
}

/// Reader of a member that verifies its length and its checksum.
struct VerifyingReader {
    source: Box<dyn Read>,
    crc: crc32fast::Hasher,
    expected: u32,
    /// Number of bytes that follow according to the archive.
    left: u64,
}

impl Read for VerifyingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let damaged = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let n = self.source.read(buffer)?;
        if n as u64 > self.left {
            return damaged("longer than its size");
        }
        self.crc.update(&buffer[..n]);
        self.left -= n as u64;
        if n == 0 && self.left > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if n == 0 && self.crc.clone().finalize() != self.expected {
            return damaged("wrong checksum");
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use proptest::prelude::*;

    fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, bytes) in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn open(bytes: &[u8]) -> Result<FileArchive> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        FileArchive::open(Path::new("x.zip"), SharedFile::new(file).unwrap())
    }

    #[test]
    fn members_are_listed_in_order_and_read() {
        let bytes = zipped(&[
            ("b.txt", b"two"),
            ("a/z.txt", b"one"),
            ("__MACOSX/b.txt", b"x"),
            (".hidden", b"x"),
            ("../up.txt", b"x"),
        ]);
        let mut archive = open(&bytes).unwrap();
        let names: Vec<String> = archive.members.iter().map(|m| m.name.clone()).collect();
        assert_eq!(names, ["../up.txt", "a/z.txt", "b.txt"]);
        let members = archive.members.clone();
        assert!(archive.read_member(&members[0], 10).unwrap_err().contains("leads out"));
        assert_eq!(archive.read_member(&members[1], 10).unwrap(), b"one");
        assert!(archive.read_member(&members[1], 2).unwrap_err().contains("longer"));
        assert_eq!(archive.kind(), ArchiveKind::Files);
        let mut word = open(&zipped(&[("[Content_Types].xml", b""), (WORD_PART, b"")])).unwrap();
        assert_eq!(word.kind(), ArchiveKind::Data(Format::Docx));
        assert_eq!(open(&zipped(&[("data.npy", b"")])).unwrap().kind(), ArchiveKind::Data(Format::Npz));
    }

    #[test]
    fn repeated_names_are_noticed() {
        let mut bytes = zipped(&[("a.txt", b"one"), ("b.txt", b"two"), ("c.txt", b"three")]);
        for at in memchr::memmem::find_iter(&bytes.clone(), b"b.txt") {
            bytes[at] = b'a';
        }
        let archive = open(&bytes).unwrap();
        let members: Vec<_> = archive.members.iter().map(|m| (m.name.as_str(), m.problem)).collect();
        assert_eq!(members, [("a.txt", None), ("a.txt", Some(REPEATED)), ("c.txt", None)]);
        assert_eq!(archive.find("a.txt").unwrap().problem, None);
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let content = b"some text that is long enough to be compressed, compressed, compressed";
        let bytes = zipped(&[("a.txt", content)]);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            let Ok(mut archive) = open(&damaged) else { continue };
            for member in archive.members.clone() {
                if let Ok(read) = archive.read_member(&member, 1000) {
                    assert_eq!(read, content, "byte {at}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..300) {
            let mut all = zipped(&[("a.txt", &bytes)]);
            all.truncate(cut.max(4));
            all.extend_from_slice(&bytes);
            if let Ok(mut archive) = open(&all) {
                archive.kind();
                for member in archive.members.clone() {
                    let _ = archive.read_member(&member, 1000);
                }
            }
        }
    }
}
