//! Pages of a Parquet file: read by position, and decompressed here up to a size limit.
//!
//! The module knows nothing about columns or documents. Start with [`DecompressedPages`].

use std::io::Read;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::ParquetResult;
use crate::corpus::ingest::shared_file::{FileReader, SharedFile};
use crate::files::read_at;

/// Maximum size of a decompressed page in bytes; usual pages have about a megabyte.
const MAX_PAGE_BYTES: usize = 1 << 30;

/// Page that is larger than the memory of the import allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LargePage {
    /// Size of the page in bytes, or an upper bound if it is not known.
    pub(super) bytes: u64,
}

impl std::fmt::Display for LargePage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a page of {} bytes", self.bytes)
    }
}

impl std::error::Error for LargePage {}

fn large_page(bytes: u64) -> ParquetError {
    ParquetError::External(Box::new(LargePage { bytes }))
}

/// Reads never exceed the file, and never allocate more than its size.
impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.bytes()
    }
}

impl ChunkReader for SharedFile {
    type T = FileReader;

    fn get_read(&self, start: u64) -> ParquetResult<FileReader> {
        Ok(self.reader_at(start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes()) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} of {}", self.bytes())));
        }
        if length as u64 > self.max_read() {
            return Err(large_page(length as u64));
        }
        let mut buffer = vec![0; length];
        read_at(self.file(), &mut buffer, start)?;
        Ok(buffer.into())
    }
}

/// Reader of the pages of a column that decompresses them.
pub(super) struct DecompressedPages {
    pub(super) compressed: SerializedPageReader<SharedFile>,
    pub(super) compression: Compression,
    /// Size limit of a decompressed page.
    pub(super) limit: PageLimit,
}

/// Size limit of a decompressed page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLimit {
    /// Maximum size of a page that the memory allows, in bytes.
    pub(super) memory: u64,
    /// Decompressed size of all pages of the column in its row group, as the file states it.
    pub(super) column: u64,
}

impl PageLimit {
    fn most(self) -> usize {
        usize::try_from(self.memory).map_or(MAX_PAGE_BYTES, |bytes| bytes.min(MAX_PAGE_BYTES))
    }

    /// Returns the error for a page that is too large. `bytes` is its size, if known.
    fn exceeded(self, bytes: Option<usize>) -> ParquetError {
        let size = bytes.map_or(self.column, |bytes| bytes as u64);
        if size > self.memory && size <= MAX_PAGE_BYTES as u64 {
            large_page(size)
        } else {
            ParquetError::General("a page of more than a gigabyte".into())
        }
    }
}

impl DecompressedPages {
    fn decompress(&self, page: Page) -> ParquetResult<Page> {
        let decompress_from = |buf: Bytes, from: u32| -> ParquetResult<Bytes> {
            let from = from as usize;
            if from > buf.len() {
                return Err(ParquetError::EOF("levels behind the end of a page".into()));
            }
            decompress(self.compression, buf, from, self.limit)
        };
        Ok(match page {
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            } => {
                let buf = decompress_from(buf, 0)?;
                Page::DataPage {
                    buf,
                    num_values,
                    encoding,
                    def_level_encoding,
                    rep_level_encoding,
                    statistics,
                }
            }
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                Page::DictionaryPage { buf: decompress_from(buf, 0)?, num_values, encoding, is_sorted }
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                statistics,
            } => Page::DataPageV2 {
                // Levels precede the values and are never compressed.
                buf: if is_compressed {
                    decompress_from(buf, def_levels_byte_len.saturating_add(rep_levels_byte_len))?
                } else {
                    buf
                },
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed: false,
                statistics,
            },
        })
    }
}

/// Decompresses the bytes after the first `from` bytes of a page.
fn decompress(compression: Compression, page: Bytes, from: usize, limit: PageLimit) -> ParquetResult<Bytes> {
    let most = limit.most();
    let broken =
        |e: &dyn std::fmt::Display| ParquetError::General(format!("a page that cannot be decompressed: {e}"));
    let mut out = page[..from].to_vec();
    let compressed = &page[from..];
    if compressed.is_empty() {
        return Ok(page);
    }
    let stream = |reader: &mut dyn Read, out: &mut Vec<u8>| {
        let n = reader.take(most as u64 + 1).read_to_end(out).map_err(|e| broken(&e))?;
        if n > most { Err(limit.exceeded(None)) } else { Ok(()) }
    };
    match compression {
        Compression::UNCOMPRESSED => return Ok(page),
        Compression::SNAPPY => {
            let length = snap::raw::decompress_len(compressed).map_err(|e| broken(&e))?;
            // Three compressed bytes decompress to at most 64 bytes.
            if length / 32 > compressed.len() {
                return Err(ParquetError::General("a page of more than a gigabyte".into()));
            }
            if length > most {
                return Err(limit.exceeded(Some(length)));
            }
            out.extend(snap::raw::Decoder::new().decompress_vec(compressed).map_err(|e| broken(&e))?);
        }
        Compression::GZIP(_) => stream(&mut flate2::read::MultiGzDecoder::new(compressed), &mut out)?,
        Compression::ZSTD(_) => {
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(compressed).map_err(|e| broken(&e))?;
            stream(&mut decoder, &mut out)?;
        }
        Compression::LZ4_RAW => {
            // The decompressed size is in a header that is not passed on. The buffer therefore
            // grows as needed, up to the maximum compression ratio.
            let max_capacity = compressed.len().saturating_mul(255).min(most);
            let mut capacity = compressed.len().saturating_mul(4).min(max_capacity);
            loop {
                out.resize(from + capacity, 0);
                match lz4_flex::block::decompress_into(compressed, &mut out[from..]) {
                    Ok(n) => {
                        out.truncate(from + n);
                        break;
                    }
                    Err(lz4_flex::block::DecompressError::OutputTooSmall { .. })
                        if capacity < max_capacity =>
                    {
                        capacity = capacity.saturating_mul(4).min(max_capacity);
                    }
                    Err(lz4_flex::block::DecompressError::OutputTooSmall { .. }) if capacity == most => {
                        return Err(limit.exceeded(None));
                    }
                    Err(e) => return Err(broken(&e)),
                }
            }
        }
        other => return Err(ParquetError::NYI(format!("compression {other}"))),
    }
    Ok(out.into())
}

impl Iterator for DecompressedPages {
    type Item = ParquetResult<Page>;
    fn next(&mut self) -> Option<ParquetResult<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for DecompressedPages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.compressed.get_next_page()?;
        page.map(|page| self.decompress(page)).transpose()
    }
    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.compressed.peek_next_page()
    }
    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.compressed.skip_next_page()
    }
}
