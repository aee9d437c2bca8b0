//! The layout of a corpus file, versions 1 to 3. `docs/FORMAT.md` is the specification.
//!
//! ```text
//! FILE   := HEADER BLOCK* WORDS [VOCABULARY] [ABOUT] INDEX FOOTER
//! BLOCK  := DOCUMENTS [NAMES] [LABELS] [PLACES] [DATES] [CHECKSUMS] [UNKNOWN]
//! ```
//! Labels, places and metadata (`ABOUT`) require version 2; label columns with names or several
//! values, dates, checksums of texts and numbers of unknown tokens require version 3. A corpus is
//! written in the lowest version that supports it. All numbers are little-endian. Every byte is
//! covered by a checksum (CRC-32, IEEE), and there are no unused bytes.
//!
//! This module reads and writes the header, the index and the footer; the contents of blocks are in
//! `block`. Start with [`read_directory`].

use super::Shape;
use crate::error::{Error, Position, Result, Template};
use crate::files::ByteSource;

/// First eight bytes of a corpus file. Like PNG's signature, they reveal a transfer that changed
/// line endings or cleared the eighth bit.
pub(crate) const MAGIC: [u8; 8] = *b"\x89TLC\r\n\x1a\n";
/// Newest version of the format.
pub(crate) const VERSION: u32 = 3;
/// Size of the header in bytes.
pub(crate) const HEADER_BYTES: u64 = 16;
/// Last eight bytes of a corpus file.
const END_MAGIC: [u8; 8] = *b"TLC-END\n";
/// Size of the footer in bytes.
const FOOTER_BYTES: u64 = 80;

/// Number of optional parts of a block.
pub(crate) const DETAIL_PARTS: usize = 6;

/// Returns the number of optional parts that a block may have in a version.
const fn detail_parts(version: u32) -> usize {
    match version {
        1 => 1,
        2 => 3,
        _ => DETAIL_PARTS,
    }
}

/// Returns the size in bytes of a block's entry in the index.
const fn entry_bytes(version: u32) -> u64 {
    40 + 8 * detail_parts(version) as u64
}

/// Target size of a decoded block in bytes.
///
/// A block ends with the first document that reaches it. The size counts 8 bytes per non-zero, 8
/// per document, the bytes of names, labels and dates, and 16 per place.
pub(crate) const BLOCK_BYTES: u64 = 1 << 20;

/// Entry of a block in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockEntry {
    pub(crate) offset: u64,
    pub(crate) first_document: u64,
    pub(crate) tokens: u64,
    pub(crate) documents: u32,
    pub(crate) nonzeros: u32,
    pub(crate) bytes: u32,
    pub(crate) crc: u32,
    /// Sizes and checksums of the optional parts, in the order of [`DetailPart`].
    pub(crate) details: [PartSize; DETAIL_PARTS],
}

/// Size and checksum of a part of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PartSize {
    pub(crate) bytes: u32,
    pub(crate) crc: u32,
}

/// Optional part of a block, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DetailPart {
    Names,
    Labels,
    Places,
    Dates,
    Checksums,
    Unknown,
}

impl DetailPart {
    /// All parts, in the order of the file.
    pub(crate) const ALL: [DetailPart; DETAIL_PARTS] = [
        DetailPart::Names,
        DetailPart::Labels,
        DetailPart::Places,
        DetailPart::Dates,
        DetailPart::Checksums,
        DetailPart::Unknown,
    ];

    /// Returns the words for the part in messages, before the name of a block.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DetailPart::Names => "the names of ",
            DetailPart::Labels => "the labels of ",
            DetailPart::Places => "the places of ",
            DetailPart::Dates => "the dates of ",
            DetailPart::Checksums => "the text checksums of ",
            DetailPart::Unknown => "the unknown tokens of ",
        }
    }
}

impl BlockEntry {
    /// Returns the size of the whole block in bytes.
    pub(crate) fn length(&self) -> u64 {
        u64::from(self.bytes) + self.details_bytes()
    }

    /// Returns the size in bytes of all optional parts of the block.
    pub(crate) fn details_bytes(&self) -> u64 {
        self.details.iter().map(|part| u64::from(part.bytes)).sum()
    }

    /// Returns the offset of an optional part in the file.
    pub(crate) fn part_offset(&self, part: DetailPart) -> u64 {
        let before = self.details[..part as usize].iter().map(|part| u64::from(part.bytes));
        self.offset + u64::from(self.bytes) + before.sum::<u64>()
    }
}

/// Optional parts of a corpus, besides the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is an optional part of the file")]
pub(crate) struct CorpusParts {
    pub(crate) names: bool,
    pub(crate) labels: bool,
    pub(crate) places: bool,
    pub(crate) about: bool,
    pub(crate) dates: bool,
    pub(crate) checksums: bool,
    pub(crate) unknown: bool,
    /// Whether label columns have names, and documents any number of values.
    pub(crate) label_lists: bool,
}

impl CorpusParts {
    /// Returns the lowest version of the format that supports all parts present.
    pub(crate) fn version(self) -> u32 {
        if self.label_lists || self.dates || self.checksums || self.unknown {
            3
        } else if self.labels || self.places || self.about {
            2
        } else {
            1
        }
    }

    /// Returns which optional parts blocks have, in the order of [`DetailPart`].
    pub(crate) fn details(self) -> [bool; DETAIL_PARTS] {
        [self.names, self.labels, self.places, self.dates, self.checksums, self.unknown]
    }

    /// Returns the flags of the footer, without that of the vocabulary.
    fn flags(self) -> u32 {
        let flags =
            [self.names, self.labels, self.places, self.about, self.dates, self.checksums, self.unknown];
        flags.iter().rev().fold(0, |all, &flag| all << 1 | u32::from(flag)) << 1
    }

    /// Returns the parts that the flags of the footer stand for.
    fn of_flags(flags: u32, version: u32) -> CorpusParts {
        CorpusParts {
            names: flags & 2 != 0,
            labels: flags & 4 != 0,
            places: flags & 8 != 0,
            about: flags & 16 != 0,
            dates: flags & 32 != 0,
            checksums: flags & 64 != 0,
            unknown: flags & 128 != 0,
            label_lists: version >= 3 && flags & 4 != 0,
        }
    }
}

/// Everything that is known about a corpus file without reading its blocks.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    pub(crate) shape: Shape,
    pub(crate) has_vocabulary: bool,
    pub(crate) parts: CorpusParts,
    pub(crate) words_offset: u64,
    pub(crate) words_crc: u32,
    pub(crate) vocabulary_bytes: u64,
    pub(crate) vocabulary_crc: u32,
    pub(crate) about_bytes: u32,
    pub(crate) about_crc: u32,
    pub(crate) entries: Vec<BlockEntry>,
    /// Checksum of the footer. It covers all other checksums and so identifies the whole content.
    pub(crate) fingerprint: u32,
}

/// Returns the header of a corpus file.
pub(crate) fn header(version: u32) -> [u8; HEADER_BYTES as usize] {
    let mut h = [0; HEADER_BYTES as usize];
    h[..8].copy_from_slice(&MAGIC);
    h[8..12].copy_from_slice(&version.to_le_bytes());
    let crc = crc32fast::hash(&h[..12]);
    h[12..].copy_from_slice(&crc.to_le_bytes());
    h
}

/// Reads little-endian numbers one after another. Missing bytes are read as zeros.
struct NumberCursor<'a>(&'a [u8]);

impl NumberCursor<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let (head, rest) = self.0.split_at(N.min(self.0.len()));
        out[..head.len()].copy_from_slice(head);
        self.0 = rest;
        out
    }
    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }
    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

/// Returns the index and the footer: the last bytes of the file.
pub(crate) fn tail(d: &Directory) -> Vec<u8> {
    let version = d.parts.version();
    let mut out = Vec::with_capacity(d.entries.len() * entry_bytes(version) as usize + FOOTER_BYTES as usize);
    for e in &d.entries {
        for v in [e.offset, e.first_document, e.tokens] {
            out.extend_from_slice(&v.to_le_bytes());
        }
        for v in [e.documents, e.nonzeros, e.bytes, e.crc] {
            out.extend_from_slice(&v.to_le_bytes());
        }
        for part in &e.details[..detail_parts(version)] {
            out.extend_from_slice(&part.bytes.to_le_bytes());
            out.extend_from_slice(&part.crc.to_le_bytes());
        }
    }
    let index_crc = crc32fast::hash(&out);
    let footer = out.len();
    let s = &d.shape;
    for v in [s.documents, s.nonzeros, s.tokens, d.entries.len() as u64, d.vocabulary_bytes] {
        out.extend_from_slice(&v.to_le_bytes());
    }
    let flags = u32::from(d.has_vocabulary) | d.parts.flags();
    for v in [s.words, flags, d.words_crc, d.vocabulary_crc, index_crc, d.about_bytes, d.about_crc] {
        out.extend_from_slice(&v.to_le_bytes());
    }
    let crc = crc32fast::hash(&out[footer..]);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&END_MAGIC);
    out
}

/// Returns the error for a corpus that is damaged at a byte.
fn damaged(source: ByteSource<'_>, byte: u64, found: &str) -> Error {
    Error::damaged_corpus(source.origin(), Position::Byte(byte), found)
}

/// Fills `buffer` with the bytes that start at `offset`.
fn fill(source: ByteSource<'_>, buffer: &mut [u8], offset: u64) -> Result<()> {
    source.read_exact_at(buffer, offset).map_err(Error::io("read", source.origin()))
}

/// Checks the header and returns the version.
fn read_header(source: ByteSource<'_>, length: u64) -> Result<u32> {
    let mut h = [0; HEADER_BYTES as usize];
    let start = length.min(HEADER_BYTES) as usize;
    fill(source, &mut h[..start], 0)?;
    if h[..8] != MAGIC {
        return Err(Error::WrongKind {
            path: source.origin().to_path_buf(),
            kind: "corpus",
            hint: kind_hint(&h[..start], length),
        });
    }
    if length < HEADER_BYTES + FOOTER_BYTES {
        return Err(damaged(source, length, "it ends inside its header"));
    }
    let mut c = NumberCursor(&h[8..]);
    let (version, crc) = (c.u32(), c.u32());
    if crc != crc32fast::hash(&h[..12]) {
        return Err(damaged(source, 8, "the header's checksum is wrong"));
    }
    if version == 0 || version > VERSION {
        return Err(Error::Version {
            path: source.origin().to_path_buf(),
            kind: "corpus",
            found: version,
            supported: VERSION,
        });
    }
    Ok(version)
}

/// Contents of the footer, and the offsets of sections that follow from them.
struct Footer {
    shape: Shape,
    blocks: u64,
    has_vocabulary: bool,
    parts: CorpusParts,
    vocabulary_bytes: u64,
    words_crc: u32,
    vocabulary_crc: u32,
    index_crc: u32,
    about_bytes: u32,
    about_crc: u32,
    fingerprint: u32,
    words_offset: u64,
    index_offset: u64,
}

/// Reads and checks the footer of a corpus of `length` bytes.
fn read_footer(source: ByteSource<'_>, length: u64, version: u32) -> Result<Footer> {
    let offset = length - FOOTER_BYTES;
    let mut f = [0; FOOTER_BYTES as usize];
    fill(source, &mut f, offset)?;
    if f[72..] != END_MAGIC {
        return Err(damaged(source, length, "its end is missing, so it was cut short or never completed"));
    }
    let mut c = NumberCursor(&f);
    let (documents, nonzeros, tokens, blocks, vocabulary_bytes) =
        (c.u64(), c.u64(), c.u64(), c.u64(), c.u64());
    let (words, flags, words_crc, vocabulary_crc, index_crc) = (c.u32(), c.u32(), c.u32(), c.u32(), c.u32());
    let (about_bytes, about_crc, fingerprint) = (c.u32(), c.u32(), c.u32());
    if fingerprint != crc32fast::hash(&f[..68]) {
        return Err(damaged(source, offset, "the footer's checksum is wrong"));
    }
    let parts = CorpusParts::of_flags(flags, version);
    if flags > 255
        || parts.version() != version
        || parts.about != (about_bytes != 0)
        || (!parts.about && about_crc != 0)
        || (flags & 1 == 0 && vocabulary_bytes != 0)
        || words == u32::MAX
    {
        return Err(damaged(source, offset, "the footer has unknown flags or too many words"));
    }
    let before = |end: u64, bytes: u64| end.checked_sub(bytes);
    let index_offset = blocks.checked_mul(entry_bytes(version)).and_then(|bytes| before(offset, bytes));
    let words_offset = index_offset
        .and_then(|end| before(end, u64::from(about_bytes)))
        .and_then(|end| before(end, vocabulary_bytes))
        .and_then(|end| before(end, 16 * u64::from(words)));
    let (Some(index_offset), Some(words_offset)) = (index_offset, words_offset) else {
        return Err(damaged(source, offset, "the sizes in the footer do not fit the file's length"));
    };
    Ok(Footer {
        shape: Shape { documents, words, nonzeros, tokens },
        blocks,
        has_vocabulary: flags & 1 != 0,
        parts,
        vocabulary_bytes,
        words_crc,
        vocabulary_crc,
        index_crc,
        about_bytes,
        about_crc,
        fingerprint,
        words_offset,
        index_offset,
    })
}

/// Reads the index and checks it against the footer.
fn read_index(source: ByteSource<'_>, length: u64, version: u32, footer: &Footer) -> Result<Vec<BlockEntry>> {
    let offset = footer.index_offset;
    let bytes = usize::try_from(length - FOOTER_BYTES - offset)
        .map_err(|_| damaged(source, offset, "the index is too long"))?;
    let mut buffer = Vec::new();
    let index = source.read_slice(offset, bytes, &mut buffer).map_err(Error::io("read", source.origin()))?;
    if footer.index_crc != crc32fast::hash(index) {
        return Err(damaged(source, offset, "the index's checksum is wrong"));
    }
    let mut c = NumberCursor(index);
    let entries: Vec<BlockEntry> = (0..footer.blocks)
        .map(|_| {
            let mut entry = BlockEntry {
                offset: c.u64(),
                first_document: c.u64(),
                tokens: c.u64(),
                documents: c.u32(),
                nonzeros: c.u32(),
                bytes: c.u32(),
                crc: c.u32(),
                details: [PartSize::default(); DETAIL_PARTS],
            };
            for part in &mut entry.details[..detail_parts(version)] {
                *part = PartSize { bytes: c.u32(), crc: c.u32() };
            }
            entry
        })
        .collect();
    let (shape, parts) = (footer.shape, footer.parts.details());
    let (mut at, mut first, mut nnz, mut sum) = (HEADER_BYTES, 0u64, 0u64, 0u64);
    for e in &entries {
        let fits = |(&part, size): (&bool, &PartSize)| (part && e.documents > 0) == (size.bytes != 0);
        if e.offset != at || e.first_document != first || !parts.iter().zip(&e.details).all(fits) {
            return Err(damaged(source, offset, "the blocks of the index are not contiguous"));
        }
        at = at.saturating_add(e.length());
        first += u64::from(e.documents);
        nnz += u64::from(e.nonzeros);
        sum = sum.saturating_add(e.tokens);
    }
    if (at, first, nnz, sum) != (footer.words_offset, shape.documents, shape.nonzeros, shape.tokens) {
        return Err(damaged(source, offset, "the index does not add up to the footer's totals"));
    }
    Ok(entries)
}

/// Reads and checks the header, the index and the footer of a corpus of `length` bytes.
pub(crate) fn read_directory(source: ByteSource<'_>, length: u64) -> Result<Directory> {
    let version = read_header(source, length)?;
    let footer = read_footer(source, length, version)?;
    let entries = read_index(source, length, version, &footer)?;
    Ok(Directory {
        shape: footer.shape,
        has_vocabulary: footer.has_vocabulary,
        parts: footer.parts,
        words_offset: footer.words_offset,
        words_crc: footer.words_crc,
        vocabulary_bytes: footer.vocabulary_bytes,
        vocabulary_crc: footer.vocabulary_crc,
        about_bytes: footer.about_bytes,
        about_crc: footer.about_crc,
        entries,
        fingerprint: footer.fingerprint,
    })
}

/// Returns a hint about what a file that is not a corpus may be, judging by its first bytes.
fn kind_hint(start: &[u8], length: u64) -> Template {
    let text = || {
        start
            .iter()
            .all(|&b| b == b'\t' || b == b'\n' || b == b'\r' || (b' '..=b'~').contains(&b) || b >= 0x80)
    };
    let json = start.len() > 8 && start[8] == b'{';
    if length == 0 {
        "it is empty, create it again"
    } else if json {
        "it looks like a model"
    } else if start.starts_with(&[0x1f, 0x8b])
        || start.starts_with(b"\xfd7zXZ")
        || start.starts_with(b"BZh")
        || text()
    {
        "it looks like data, import it first"
    } else {
        ""
    }
    .into()
}
