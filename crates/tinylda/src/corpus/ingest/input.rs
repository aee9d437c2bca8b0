//! Where bytes come from: a file or standard input, compressed or not, told by content and never by name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::{Error, Position, Result};

/// How an input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip (`.gz`).
    Gzip,
    /// Zstandard (`.zst`).
    Zstd,
    /// xz (`.xz`).
    Xz,
    /// bzip2 (`.bz2`).
    Bzip2,
}

impl Compression {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
        }
    }

    /// From the first bytes of a file.
    fn of(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            _ => Compression::None,
        }
    }
}

/// An xz or zstd file can ask for a window of gigabytes; no honest one needs more than this.
const WINDOW_BYTES: u64 = 128 << 20;

/// A readable, decompressed input.
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) compression: Compression,
    /// The file's size, where there is one.
    pub(crate) total: Option<u64>,
    /// It is a file that can be opened again.
    pub(crate) again: bool,
    consumed: Arc<AtomicU64>,
    reader: Box<dyn Read>,
}

impl Input {
    /// Opens a file, or standard input where the name is `-`.
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
        Ok(Input { again: total.is_some(), ..Input::new(Box::new(file), path, total)? })
    }

    /// From any bytes; errors call them `path`.
    pub(crate) fn new(source: Box<dyn Read>, path: &Path, total: Option<u64>) -> Result<Input> {
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = Counted { source, consumed: Arc::clone(&consumed) };
        let mut buffered = BufReader::with_capacity(1 << 18, counted);
        // A pipe may hand over a byte at a time, so the first read can be too short to tell: ask until it is enough.
        let mut start = Vec::with_capacity(8);
        (&mut buffered).take(8).read_to_end(&mut start).map_err(Error::io("read", path))?;
        let compression = Compression::of(&start);
        let source = io::Cursor::new(start).chain(buffered);
        let reader: Box<dyn Read> = match compression {
            Compression::None => Box::new(source),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
            Compression::Zstd => Box::new(Zstd::new(source)),
            Compression::Xz => {
                Box::new(lzma_rust2::XzReader::new_mem_limit(source, true, (WINDOW_BYTES >> 10) as u32))
            }
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(source)),
        };
        Ok(Input { path: path.to_path_buf(), compression, total, again: false, consumed, reader })
    }

    /// From bytes that are not compressed, whatever they look like.
    pub(crate) fn plain(source: Box<dyn Read>, path: &Path, total: u64) -> Input {
        let consumed = Arc::new(AtomicU64::new(0));
        let reader = Box::new(Counted { source, consumed: Arc::clone(&consumed) });
        let (path, compression) = (path.to_path_buf(), Compression::None);
        Input { path, compression, total: Some(total), again: false, consumed, reader }
    }

    /// How many bytes of the file itself have been read.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.reader.read(buffer) {
                Ok(n) => return Ok(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if self.compression == Compression::None => {
                    return Err(Error::io("read", &self.path)(e));
                }
                Err(e) => {
                    let name = self.compression.name();
                    let memory = e.kind() == io::ErrorKind::OutOfMemory || e.to_string().contains("indow");
                    if memory {
                        return Err(Error::Input {
                            path: self.path.clone(),
                            position: Position::Byte(self.consumed()),
                            found: format!("{name} data that needs more than 128 MiB to unpack"),
                            expected: "a smaller window".into(),
                            remedy: format!(
                                "Unpack it with the {name} program, or pipe it from there: … | tinylda import -"
                            )
                            .into(),
                        });
                    }
                    return Err(Error::Input {
                        path: self.path.clone(),
                        position: Position::Byte(self.consumed()),
                        found: format!("{name} data that is cut short or damaged"),
                        expected: format!("a whole {name} file").into(),
                        remedy: "Copy or download the file again.".into(),
                    });
                }
            }
        }
    }
}

struct Counted {
    source: Box<dyn Read>,
    consumed: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// All frames of a Zstandard file, with their checksums (the decoder itself reads one frame and compares nothing).
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(source: R) -> Zstd<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES);
        Zstd { source, decoder, inside: false }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                match self.decoder.reset(&mut self.source) {
                    Ok(()) => self.inside = true,
                    Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                        length,
                        ..
                    })) => {
                        let length = u64::from(length);
                        if io::copy(&mut (&mut self.source).take(length), &mut io::sink())? != length {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                        continue;
                    }
                    Err(e) => return Err(io::Error::other(e)),
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
            let n = self.decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            if let Some(written) = self.decoder.get_checksum_from_data()
                && self.decoder.get_calculated_checksum() != Some(written)
            {
                return Err(io::Error::other("wrong checksum"));
            }
            self.inside = false;
        }
    }
}
