//! Pages of a Parquet file: read by position, and unpacked by us up to a limit.

use std::io::Read;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::Raw;
use crate::corpus::ingest::shared_file::{FileReader, SharedFile};
use crate::files::read_at;

/// A page of more than this is not unpacked; usual ones have a megabyte.
const PAGE_BYTES: usize = 1 << 30;

/// Never reads, or makes room for, more than the file has.
impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.bytes()
    }
}

impl ChunkReader for SharedFile {
    type T = FileReader;

    fn get_read(&self, start: u64) -> Raw<FileReader> {
        Ok(self.reader_at(start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Raw<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes()) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} of {}", self.bytes())));
        }
        let mut buffer = vec![0; length];
        read_at(self.file(), &mut buffer, start)?;
        Ok(buffer.into())
    }
}

/// The pages of a column, unpacked.
pub(super) struct Pages {
    pub(super) packed: SerializedPageReader<SharedFile>,
    pub(super) compression: Compression,
}

impl Pages {
    fn unpack(&self, page: Page) -> Raw<Page> {
        let open = |buf: Bytes, from: u32| -> Raw<Bytes> {
            let from = from as usize;
            if from > buf.len() {
                return Err(ParquetError::EOF("levels behind the end of a page".into()));
            }
            unpack(self.compression, buf, from)
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
                let buf = open(buf, 0)?;
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
                Page::DictionaryPage { buf: open(buf, 0)?, num_values, encoding, is_sorted }
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
                // Levels stand in front, and are never packed.
                buf: if is_compressed {
                    open(buf, def_levels_byte_len.saturating_add(rep_levels_byte_len))?
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

/// Unpacks what stands behind the first `from` bytes.
fn unpack(compression: Compression, page: Bytes, from: usize) -> Raw<Bytes> {
    let large = || ParquetError::General("a page of more than a gigabyte".into());
    let broken =
        |e: &dyn std::fmt::Display| ParquetError::General(format!("a page that cannot be unpacked: {e}"));
    let mut out = page[..from].to_vec();
    let packed = &page[from..];
    if packed.is_empty() {
        return Ok(page);
    }
    let stream = |reader: &mut dyn Read, out: &mut Vec<u8>| {
        let n = reader.take(PAGE_BYTES as u64 + 1).read_to_end(out).map_err(|e| broken(&e))?;
        if n > PAGE_BYTES { Err(large()) } else { Ok(()) }
    };
    match compression {
        Compression::UNCOMPRESSED => return Ok(page),
        Compression::SNAPPY => {
            let length = snap::raw::decompress_len(packed).map_err(|e| broken(&e))?;
            // Three bytes stand for 64 at the most.
            if length > PAGE_BYTES || length / 32 > packed.len() {
                return Err(large());
            }
            out.extend(snap::raw::Decoder::new().decompress_vec(packed).map_err(|e| broken(&e))?);
        }
        Compression::GZIP(_) => stream(&mut flate2::read::MultiGzDecoder::new(packed), &mut out)?,
        Compression::ZSTD(_) => {
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|e| broken(&e))?;
            stream(&mut decoder, &mut out)?;
        }
        Compression::LZ4_RAW => {
            // How large it will be stands in a head that is not handed on: room is made as it is
            // needed, up to what can be.
            let most = packed.len().saturating_mul(255).min(PAGE_BYTES);
            let mut room = packed.len().saturating_mul(4).min(most);
            loop {
                out.resize(from + room, 0);
                match lz4_flex::block::decompress_into(packed, &mut out[from..]) {
                    Ok(n) => {
                        out.truncate(from + n);
                        break;
                    }
                    Err(lz4_flex::block::DecompressError::OutputTooSmall { .. }) if room < most => {
                        room = room.saturating_mul(4).min(most);
                    }
                    Err(e) => return Err(broken(&e)),
                }
            }
        }
        other => return Err(ParquetError::NYI(format!("compression {other}"))),
    }
    Ok(out.into())
}

impl Iterator for Pages {
    type Item = Raw<Page>;
    fn next(&mut self) -> Option<Raw<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Raw<Option<Page>> {
        let page = self.packed.get_next_page()?;
        page.map(|page| self.unpack(page)).transpose()
    }
    fn peek_next_page(&mut self) -> Raw<Option<PageMetadata>> {
        self.packed.peek_next_page()
    }
    fn skip_next_page(&mut self) -> Raw<()> {
        self.packed.skip_next_page()
    }
}
