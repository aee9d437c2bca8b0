//! Byte sources: files, standard input and other streams, decompressed.
//!
//! The compression is detected from the content, never from the file name. Start with [`Input`].
//! This module does not interpret the bytes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::lines::ReadProgress;
use crate::error::{Error, Position, Result};

/// Compression formats of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    None,
    /// gzip (`.gz`).
    Gzip,
    /// Zstandard (`.zst`).
    Zstd,
    /// xz (`.xz`).
    Xz,
    /// bzip2 (`.bz2`).
    Bzip2,
    /// The only file of a zip archive.
    Zip,
}

impl Compression {
    /// Returns the usual name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
            Compression::Zip => "zip",
        }
    }

    /// Detects the compression from the first bytes of a file.
    fn detect(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            _ => Compression::None,
        }
    }
}

/// Number of bytes that are read at a time when an input is copied.
const COPY_BYTES: usize = 1 << 18;

/// Readable, decompressed input. Peeked bytes are returned again by later reads, so that no byte of
/// a stream is lost.
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) compression: Compression,
    /// Size of the file in bytes, if known.
    pub(crate) total: Option<u64>,
    /// Whether opening the path again yields the same bytes: true for regular files, false for
    /// streams.
    pub(crate) reopenable: bool,
    /// Member of the zip archive at `path` that is read, if it is one.
    pub(crate) member: Option<String>,
    consumed: Arc<AtomicU64>,
    reader: Box<dyn Read>,
    /// Peeked bytes. Those from `next` on have not been returned by a read yet.
    peeked: Vec<u8>,
    next: usize,
}

impl Input {
    /// Opens a file, or standard input if the path is `-`.
    pub(crate) fn open(path: &Path) -> Result<Input> {
        if path == Path::new("-") {
            return Input::new(Box::new(io::stdin()), Path::new("standard input"), None);
        }
        let file = File::open(path).map_err(Error::io("open", path))?;
        let metadata = file.metadata().map_err(Error::io("open", path))?;
        if metadata.is_dir() {
            return Err(Error::io("read", path)(io::ErrorKind::IsADirectory.into()));
        }
        let total = metadata.is_file().then_some(metadata.len());
        Ok(Input { reopenable: total.is_some(), ..Input::new(Box::new(file), path, total)? })
    }

    /// Creates an input from any source of bytes. Errors refer to it by `path`.
    pub(crate) fn new(source: Box<dyn Read>, path: &Path, total: Option<u64>) -> Result<Input> {
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = CountingReader { source, consumed: Arc::clone(&consumed) };
        let mut buffered = BufReader::with_capacity(1 << 18, counted);
        // A pipe may deliver one byte at a time, so a single read can be too short to detect the
        // compression.
        let mut start = Vec::with_capacity(8);
        (&mut buffered).take(8).read_to_end(&mut start).map_err(Error::io("read", path))?;
        let compression = Compression::detect(&start);
        let source = io::Cursor::new(start).chain(buffered);
        let reader: Box<dyn Read> = match compression {
            Compression::None => Box::new(source),
            #[cfg(feature = "compression")]
            _ => super::decompress::decompress(compression, source),
            #[cfg(not(feature = "compression"))]
            _ => return Err(crate::features::missing_feature("compression", "read", path)),
        };
        Ok(Input::with_reader(reader, compression, path, total, consumed))
    }

    /// Creates an input of uncompressed bytes without detecting a compression.
    pub(crate) fn plain(source: Box<dyn Read>, path: &Path, total: u64) -> Input {
        let consumed = Arc::new(AtomicU64::new(0));
        let reader = Box::new(CountingReader { source, consumed: Arc::clone(&consumed) });
        Input::with_reader(reader, Compression::None, path, Some(total), consumed)
    }

    /// Creates an input that reads a copy made by [`spool`](Input::spool) from its beginning.
    pub(crate) fn spooled(file: &File, path: &Path) -> Result<Input> {
        let attempt = || {
            let mut file = file.try_clone()?;
            file.seek(SeekFrom::Start(0))?;
            let total = file.metadata()?.len();
            Ok((file, total))
        };
        let (file, total) = attempt().map_err(Error::io("read", path))?;
        Ok(Input::plain(Box::new(file), path, total))
    }

    fn with_reader(
        reader: Box<dyn Read>,
        compression: Compression,
        path: &Path,
        total: Option<u64>,
        consumed: Arc<AtomicU64>,
    ) -> Input {
        let path = path.to_path_buf();
        Input {
            path,
            compression,
            total,
            reopenable: false,
            member: None,
            consumed,
            reader,
            peeked: Vec::new(),
            next: 0,
        }
    }

    /// Returns the path whose suffix tells something about the content.
    pub(crate) fn name_path(&self) -> &Path {
        self.member.as_deref().map_or(&self.path, Path::new)
    }

    /// Passes all bytes that were not read yet through another reader.
    pub(crate) fn map_reader(mut self, wrap: impl FnOnce(Box<dyn Read>) -> Box<dyn Read>) -> Input {
        self.peeked.drain(..self.next);
        let peeked = io::Cursor::new(std::mem::take(&mut self.peeked));
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = wrap(Box::new(peeked.chain(rest)));
        self.next = 0;
        self
    }

    /// Replaces carriage returns by line feeds.
    pub(crate) fn with_line_feeds(self) -> Input {
        self.map_reader(|source| Box::new(LineFeedReader(source)))
    }

    /// Returns the number of bytes read from the underlying file, before decompression.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Returns the next `count` bytes, or fewer at the end of the input. Later reads return them
    /// again.
    pub(crate) fn peek(&mut self, count: usize) -> Result<&[u8]> {
        self.peeked.drain(..self.next);
        self.next = 0;
        while self.peeked.len() < count {
            let mut peeked = std::mem::take(&mut self.peeked);
            let filled = peeked.len();
            peeked.resize(count, 0);
            let read = self.read_source(&mut peeked[filled..]);
            peeked.truncate(filled + read.as_ref().copied().unwrap_or(0));
            self.peeked = peeked;
            if read? == 0 {
                break;
            }
        }
        Ok(&self.peeked[..self.peeked.len().min(count)])
    }

    /// Reads some bytes; returns 0 at the end of the input.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.next < self.peeked.len() {
            let n = buffer.len().min(self.peeked.len() - self.next);
            buffer[..n].copy_from_slice(&self.peeked[self.next..self.next + n]);
            self.next += n;
            if self.next == self.peeked.len() {
                (self.peeked, self.next) = (Vec::new(), 0);
            }
            return Ok(n);
        }
        self.read_source(buffer)
    }

    /// Copies the rest of the input, decompressed, to an unnamed temporary file, which disappears
    /// when it is closed or the process ends. Streams and compressed files that must be read
    /// several times or by position are read from such a copy.
    pub(crate) fn spool(mut self, folder: &Path, progress: ReadProgress<'_>) -> Result<File> {
        let failed = || Error::io("store a copy of the input in", folder);
        let mut file = tempfile::tempfile_in(folder).map_err(failed())?;
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            let n = self.read(&mut buffer)?;
            if n == 0 {
                return Ok(file);
            }
            file.write_all(&buffer[..n]).map_err(failed())?;
            if progress(self.consumed(), self.total).is_break() {
                return Err(Error::Interrupted);
            }
        }
    }

    /// Reads some bytes from the source, after those that were peeked.
    fn read_source(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.reader.read(buffer) {
                Ok(n) => return Ok(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if self.compression == Compression::None => {
                    return Err(Error::io("read", &self.path)(e));
                }
                Err(e) => return Err(self.decompression_error(&e)),
            }
        }
    }

    fn decompression_error(&self, error: &io::Error) -> Error {
        let name = self.compression.name();
        let memory = error.kind() == io::ErrorKind::OutOfMemory || error.to_string().contains("indow");
        let (found, expected, remedy) = if memory {
            (
                format!("{name} data that needs more than 128 MiB to decompress"),
                "a smaller window".to_owned(),
                format!("decompress it with the {name} program first"),
            )
        } else {
            (
                format!("{name} data that is damaged or truncated"),
                format!("a complete {name} file"),
                "copy or download the file again".to_owned(),
            )
        };
        Error::Input {
            path: self.path.clone(),
            position: Position::Byte(self.consumed()),
            found,
            expected: expected.into(),
            remedy: remedy.into(),
        }
    }
}

/// Reader that replaces carriage returns by line feeds.
struct LineFeedReader(Box<dyn Read>);

impl Read for LineFeedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer)?;
        buffer[..n].iter_mut().filter(|b| **b == b'\r').for_each(|b| *b = b'\n');
        Ok(n)
    }
}

/// Reader that counts the bytes read from its source.
struct CountingReader {
    source: Box<dyn Read>,
    consumed: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reader that delivers one byte at a time, as a pipe may.
    struct OneByteReader(io::Cursor<Vec<u8>>);

    impl Read for OneByteReader {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }

    fn slow(bytes: &[u8]) -> Input {
        Input::new(Box::new(OneByteReader(io::Cursor::new(bytes.to_vec()))), Path::new("x"), None).unwrap()
    }

    fn rest(input: &mut Input) -> Vec<u8> {
        let (mut all, mut buffer) = (Vec::new(), [0; 7]);
        loop {
            let n = input.read(&mut buffer).unwrap();
            if n == 0 {
                return all;
            }
            all.extend_from_slice(&buffer[..n]);
        }
    }

    #[test]
    fn peeked_bytes_are_read_again() {
        let bytes: Vec<u8> = (0..100).collect();
        for count in [0, 1, 8, 9, 99, 100, 200] {
            let mut input = slow(&bytes);
            assert_eq!(input.peek(count).unwrap(), &bytes[..count.min(100)]);
            assert_eq!(input.peek(count / 2).unwrap(), &bytes[..(count / 2).min(100)]);
            assert_eq!(rest(&mut input), bytes);
        }
        let mut input = slow(&bytes);
        input.peek(10).unwrap();
        assert_eq!(input.read(&mut [0; 4]).unwrap(), 4);
        assert_eq!(input.peek(20).unwrap(), &bytes[4..24]);
        assert_eq!(rest(&mut input), &bytes[4..]);
    }

    #[test]
    fn a_spooled_input_has_all_bytes() {
        let bytes: Vec<u8> = (0..255).cycle().take(3 * COPY_BYTES + 1).collect();
        let folder = tempfile::tempdir().unwrap();
        let mut input = Input::new(Box::new(io::Cursor::new(bytes.clone())), Path::new("x"), None).unwrap();
        input.peek(100).unwrap();
        let file = input.spool(folder.path(), &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
        let mut copy = vec![0; bytes.len()];
        crate::files::read_at(&file, &mut copy, 0).unwrap();
        assert!(copy == bytes && file.metadata().unwrap().len() == bytes.len() as u64);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
