//! Decompression of gzip, Zstandard, xz and bzip2 with a limited window size. Requires the feature
//! `compression`.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::input::Compression;

/// Maximum window size in bytes. An xz or zstd file can request gigabytes, but no legitimate file
/// needs more than this.
const MAX_WINDOW_BYTES: u64 = 128 << 20;

/// Returns a reader of the decompressed bytes of `source`.
pub(super) fn decompress(compression: Compression, source: impl BufRead + 'static) -> Box<dyn Read> {
    match compression {
        // A member of a zip archive is decompressed by the reader of the archive.
        Compression::None | Compression::Zip => Box::new(source),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        Compression::Zstd => Box::new(ZstdReader::new(source)),
        Compression::Xz => {
            Box::new(lzma_rust2::XzReader::new_mem_limit(source, true, (MAX_WINDOW_BYTES >> 10) as u32))
        }
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(source)),
    }
}

/// Reader of all frames of a Zstandard file that verifies their checksums. The decoder of the crate
/// reads a single frame and does not compare checksums.
struct ZstdReader<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    fn new(source: R) -> ZstdReader<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW_BYTES);
        ZstdReader { source, decoder, in_frame: false }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                match self.decoder.reset(&mut self.source) {
                    Ok(()) => self.in_frame = true,
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
            self.in_frame = false;
        }
    }
}
