//! External sort: writes entries that arrive in any order as documents in order, with ascending and
//! unique words, in bounded memory.
//!
//! Documents that arrive in order go straight to the corpus file. At the first document that is out
//! of order, the blocks written so far become the first sorted run. From then on entries are sorted
//! in memory, spilled to temporary files and merged at the end. Sorted input, the usual case, costs
//! nothing, and a word-major matrix of any size can be imported.
//!
//! Start with [`DocumentSorter`]. The module does not depend on the format of the input.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::input::Input;
use super::lines::LineReader;
use crate::corpus::reader::BlockReader;
use crate::corpus::source::CorpusOutput;
use crate::corpus::writer::CorpusWriter;
use crate::corpus::{Block, Shape, Vocabulary};
use crate::error::{Error, Position, Result};
use crate::files::folder_of;
use crate::format::grouped;
use crate::memory::SLACK_DIVISOR;

/// Non-zero count: document (from 0), word (from 0), count.
pub(super) type CountEntry = (u64, u32, u32);
const ENTRY_BYTES: usize = 16;
/// Size of the buffer from which a run is read.
const RUN_BUFFER_BYTES: usize = 1 << 16;

/// Limits of the sort. Small values make the tests cover all code paths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SortLimits {
    /// Number of entries that are sorted in memory at a time; the default takes 32 MiB.
    pub(crate) entries: usize,
    /// Number of runs that are merged at a time.
    pub(crate) fan_in: usize,
    /// Number of entries of a document at which duplicates are added up; the default takes 8 MiB.
    pub(crate) merge_entries: usize,
    /// Memory of the import, if it is limited.
    pub(crate) memory: Option<CountMemory>,
}

impl Default for SortLimits {
    fn default() -> Self {
        SortLimits { entries: 1 << 21, fan_in: 64, merge_entries: 1 << 20, memory: None }
    }
}

impl SortLimits {
    /// Returns the limits for an import within `memory`.
    pub(crate) fn within(memory: CountMemory) -> Result<SortLimits> {
        let most = SortLimits::default();
        memory.check(CountSizes::default())?;
        let work = usize::try_from(memory.work()).unwrap_or(usize::MAX);
        Ok(SortLimits {
            entries: (work / 4 / ENTRY_BYTES).clamp(1 << 14, most.entries),
            fan_in: (work / 8 / RUN_BUFFER_BYTES).clamp(4, most.fan_in),
            merge_entries: (work / 8 / size_of::<(u32, u32)>()).clamp(1 << 14, most.merge_entries),
            memory: Some(memory),
        })
    }

    fn check(&self, sizes: CountSizes) -> Result<()> {
        self.memory.map_or(Ok(()), |memory| memory.check(sizes))
    }
}

/// Sizes that the memory of an import of counts depends on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CountSizes {
    /// Number of words.
    pub(crate) words: u64,
    /// Bytes of the vocabulary.
    pub(crate) vocabulary: u64,
    /// Number of distinct words of the longest document.
    pub(crate) document: u64,
    /// Length of the longest line in bytes.
    pub(crate) line: u64,
}

/// Memory of an import of counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountMemory {
    /// Limit in bytes, as the user gave it.
    pub(crate) limit: u64,
    /// Bytes that the process holds already.
    pub(crate) in_use: u64,
}

impl CountMemory {
    /// Bytes of buffers of the input and of the block that is being filled.
    const FIXED_BYTES: u64 = 5 << 20;
    /// Minimum bytes for sorting.
    const MIN_WORK_BYTES: u64 = 4 << 20;
    /// Totals of a word in the corpus file.
    const BYTES_PER_WORD: u64 = 16;
    /// Bytes of a word of the longest document: as an entry, as part of a document, and as part of
    /// the block in which the document is written.
    const BYTES_PER_ENTRY: u64 = 36;
    /// Bytes for each byte of a long line: its buffer and the entries in it.
    const BYTES_PER_LINE_BYTE: u64 = 7;

    /// Returns the bytes for words, documents and sorting.
    fn work(self) -> u64 {
        let overhead = self.limit / SLACK_DIVISOR + self.in_use + CountMemory::FIXED_BYTES;
        self.limit.saturating_sub(overhead)
    }

    /// Refuses an import that needs more memory, and states how much suffices.
    pub(crate) fn check(self, sizes: CountSizes) -> Result<()> {
        let bytes = CountMemory::MIN_WORK_BYTES
            + CountMemory::BYTES_PER_WORD * sizes.words
            + sizes.vocabulary
            + CountMemory::BYTES_PER_ENTRY * sizes.document
            + CountMemory::BYTES_PER_LINE_BYTE * sizes.line;
        // Half of the memory remains for sorting, unless little is needed for it.
        let work = bytes + (bytes - CountMemory::MIN_WORK_BYTES) / 2;
        if work <= self.work() {
            return Ok(());
        }
        let need = work + self.in_use + CountMemory::FIXED_BYTES;
        let need = (need + need / (SLACK_DIVISOR - 1) + 1).next_multiple_of(1 << 20);
        let reason = match sizes {
            CountSizes { line: 1.., .. } => format!("a line has {} bytes: ", grouped(sizes.line)),
            CountSizes { document: 1.., .. } => {
                format!("a document has {} words: ", grouped(sizes.document))
            }
            CountSizes { words: 1.., .. } => format!("there are {} words: ", grouped(sizes.words)),
            _ => String::new(),
        };
        let remedy = format!("{reason}use {{memory={}MiB}}", need >> 20);
        Err(Error::Memory { need, have: self.limit, remedy: remedy.into() })
    }
}

/// Number of words for which there is always enough memory.
const CHECKED_WORDS: u64 = 1 << 15;

/// Number of consecutive documents without entries at which the input is considered out of order.
const MAX_EMPTY_RUN: u64 = 1 << 20;

/// Writes documents that arrive in order to the corpus file.
struct DocumentWriter {
    writer: CorpusWriter,
    source: PathBuf,
    names: Option<NameLines>,
    document: u64,
    entries: Vec<(u32, u32)>,
    ascending: bool,
    words: Vec<u32>,
    counts: Vec<u32>,
    empty: u64,
    /// Number of entries of the current document at which duplicates are added up.
    merge_at: usize,
    limits: SortLimits,
}

/// Document names, one per line, read along with the documents.
struct NameLines {
    path: PathBuf,
    lines: LineReader<'static>,
}

/// Source of the document names. They are read a second time if the documents turn out to be
/// unsorted.
struct NamesSource {
    path: PathBuf,
    /// Copy of the names, if they arrive in a stream.
    spool: Option<File>,
}

impl NamesSource {
    /// Uses a regular file directly and copies a stream to a temporary file in `folder`.
    fn new(path: &Path, folder: &Path) -> Result<NamesSource> {
        let regular = path.metadata().is_ok_and(|metadata| metadata.is_file());
        let spool = if regular {
            None
        } else {
            Some(Input::open(path)?.spool(folder, &mut |_, _| ControlFlow::Continue(()))?)
        };
        Ok(NamesSource { path: path.to_path_buf(), spool })
    }

    fn open(&self) -> Result<NameLines> {
        let input = match &self.spool {
            Some(file) => Input::spooled(file, &self.path)?,
            None => Input::open(&self.path)?,
        };
        Ok(NameLines { path: self.path.clone(), lines: LineReader::new(input) })
    }
}

impl DocumentWriter {
    fn new(
        output: &Path,
        source: &Path,
        names: Option<&NamesSource>,
        limits: SortLimits,
    ) -> Result<DocumentWriter> {
        Ok(DocumentWriter {
            writer: CorpusWriter::create(output, names.is_some())?,
            source: source.to_path_buf(),
            names: names.map(NamesSource::open).transpose()?,
            document: 0,
            entries: Vec::new(),
            ascending: true,
            words: Vec::new(),
            counts: Vec::new(),
            empty: 0,
            merge_at: limits.merge_entries,
            limits,
        })
    }

    /// Adds an entry of the current document or a later one.
    #[inline]
    fn push(&mut self, (document, word, count): CountEntry) -> Result<()> {
        if document != self.document {
            self.flush_to(document)?;
        }
        self.ascending &= self.entries.last().is_none_or(|&(last, _)| last < word);
        self.entries.push((word, count));
        if self.entries.len() >= self.merge_at { self.merge_entries() } else { Ok(()) }
    }

    /// Adds up the entries of the same word in the current document, which limits their memory.
    fn merge_entries(&mut self) -> Result<()> {
        if !self.ascending {
            self.entries.sort_unstable_by_key(|&(word, _)| word);
        }
        let mut kept = 0;
        for i in 1..self.entries.len() {
            let (word, count) = self.entries[i];
            if self.entries[kept].0 == word {
                let sum = self.entries[kept].1.checked_add(count).ok_or_else(|| Error::Input {
                    path: self.source.clone(),
                    position: Position::Whole,
                    found: format!(
                        "counts of word {} in document {} that add up to more than 4294967295",
                        u64::from(word) + 1,
                        self.document + 1
                    ),
                    expected: "sums that fit 32 bits".into(),
                    remedy: "scale the counts down".into(),
                })?;
                self.entries[kept].1 = sum;
            } else {
                kept += 1;
                self.entries[kept] = (word, count);
            }
        }
        self.entries.truncate(kept + 1);
        self.ascending = true;
        let distinct = self.entries.len();
        if distinct > self.limits.merge_entries / 2 {
            self.limits.check(CountSizes { document: 2 * distinct as u64, ..CountSizes::default() })?;
        }
        self.merge_at = (2 * distinct).max(self.limits.merge_entries);
        Ok(())
    }

    /// Writes the current document and the empty ones before `document`.
    fn flush_to(&mut self, document: u64) -> Result<()> {
        self.merge_entries()?;
        self.words.clear();
        self.words.extend(self.entries.iter().map(|&(word, _)| word));
        self.counts.clear();
        self.counts.extend(self.entries.iter().map(|&(_, count)| count));
        self.entries.clear();
        if self.entries.capacity() > 2 * self.limits.merge_entries {
            self.entries = Vec::new();
        }
        self.merge_at = self.limits.merge_entries;
        self.write_document()?;
        self.words.clear();
        self.counts.clear();
        while self.document < document {
            // A wrong document number would create billions of empty documents.
            if self.empty > 10_000_000 + 100 * (self.document - self.empty) {
                return Err(Error::Input {
                    path: self.source.clone(),
                    position: Position::Whole,
                    found: format!("{document} documents, nearly all of them without words"),
                    expected: "document numbers without huge gaps".into(),
                    remedy: "check the number of documents in the header and the document numbers, or renumber them from 1".into(),
                });
            }
            self.write_document()?;
        }
        Ok(())
    }

    fn write_document(&mut self) -> Result<()> {
        let name = match &mut self.names {
            None => None,
            Some(names) => {
                if !names.lines.advance()? {
                    return Err(Error::Input {
                        path: names.path.clone(),
                        position: Position::Whole,
                        found: format!("{} names", names.lines.number()),
                        expected: "a name for every document".into(),
                        remedy: "give one name per line, in the order of the documents".into(),
                    });
                }
                Some(names.lines.utf8()?)
            }
        };
        self.empty += u64::from(self.words.is_empty());
        self.document += 1;
        self.writer.push(&self.words, &self.counts, name)
    }

    fn finish(mut self, documents: u64, words: u32, vocabulary: Option<&Vocabulary>) -> Result<(Shape, u64)> {
        if documents > self.document {
            self.flush_to(documents)?;
        }
        if let Some(names) = &mut self.names
            && names.lines.advance()?
        {
            return Err(Error::Input {
                path: names.path.clone(),
                position: Position::Line(names.lines.number()),
                found: "an extra name".into(),
                expected: format!("{documents} names, one for each document").into(),
                remedy: "give one name per line, in the order of the documents".into(),
            });
        }
        Ok((self.writer.finish(words, vocabulary)?.shape(), self.empty))
    }
}

/// State of the sort: whether all documents have arrived in order so far.
enum SortState {
    InOrder(Box<DocumentWriter>),
    Sorting(EntrySorter),
}

/// Collects entries in any order and writes them as a corpus file.
pub(crate) struct DocumentSorter {
    output: PathBuf,
    names: Option<NamesSource>,
    source: PathBuf,
    state: SortState,
    limits: SortLimits,
    /// Largest document number so far, plus one.
    documents: u64,
    /// Largest word id so far, plus one.
    words: u64,
    /// Number of words for which there is enough memory.
    checked_words: u64,
    entries: u64,
}

impl DocumentSorter {
    pub(crate) fn new(
        output: &Path,
        source: &Path,
        names: Option<&Path>,
        limits: SortLimits,
    ) -> Result<DocumentSorter> {
        let names = names.map(|path| NamesSource::new(path, &folder_of(output))).transpose()?;
        Ok(DocumentSorter {
            state: SortState::InOrder(Box::new(DocumentWriter::new(output, source, names.as_ref(), limits)?)),
            output: output.to_path_buf(),
            names,
            source: source.to_path_buf(),
            limits,
            documents: 0,
            words: 0,
            checked_words: CHECKED_WORDS,
            entries: 0,
        })
    }

    /// Refuses a number of words for which there is not enough memory. `vocabulary` is the size of
    /// the vocabulary in bytes.
    pub(crate) fn check_words(&mut self, words: u64, vocabulary: u64) -> Result<()> {
        self.limits.check(CountSizes { words, vocabulary, ..CountSizes::default() })?;
        self.checked_words = self.checked_words.max(words);
        Ok(())
    }

    /// Returns the number of words: the largest id so far plus one.
    pub(crate) fn words(&self) -> u64 {
        self.words
    }

    /// Returns the number of entries that were pushed.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns whether the input had to be sorted.
    pub(crate) fn sorted(&self) -> bool {
        matches!(self.state, SortState::Sorting(_))
    }

    /// Adds a non-zero count.
    #[inline]
    pub(crate) fn push(&mut self, document: u64, word: u32, count: u32) -> Result<()> {
        self.documents = self.documents.max(document + 1);
        self.words = self.words.max(u64::from(word) + 1);
        if self.words > self.checked_words {
            self.check_words(self.words + self.words / 8, 0)?;
        }
        self.entries += 1;
        if let SortState::InOrder(in_order) = &mut self.state {
            if document >= in_order.document && document - in_order.document < MAX_EMPTY_RUN {
                return in_order.push((document, word, count));
            }
            self.start_sorting()?;
        }
        match &mut self.state {
            SortState::InOrder(in_order) => in_order.push((document, word, count)),
            SortState::Sorting(sorter) => sorter.push((document, word, count)),
        }
    }

    /// Declares the number of documents, including those without words.
    pub(crate) fn declare_documents(&mut self, documents: u64) {
        self.documents = self.documents.max(documents);
    }

    /// Switches to sorting and turns the documents written so far into the first runs.
    fn start_sorting(&mut self) -> Result<()> {
        let sorter = EntrySorter::new(&folder_of(&self.output), self.limits);
        let before = std::mem::replace(&mut self.state, SortState::Sorting(sorter));
        if let (SortState::InOrder(mut in_order), SortState::Sorting(sorter)) = (before, &mut self.state) {
            let document = in_order.document;
            for (word, count) in std::mem::take(&mut in_order.entries) {
                sorter.push((document, word, count))?;
            }
            in_order.writer.blocks.close_block()?;
            let blocks = in_order.writer.blocks;
            let mut file = blocks.out;
            file.flush()?;
            sorter.add_run(SortedRun::Blocks { file, entries: blocks.entries }, 0)?;
        }
        Ok(())
    }

    /// Completes the corpus file. Returns its shape and the number of empty documents.
    pub(crate) fn finish(
        self,
        words: u32,
        vocabulary: Option<&Vocabulary>,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(Shape, u64)> {
        let in_order = match self.state {
            SortState::InOrder(in_order) => *in_order,
            SortState::Sorting(sorter) => {
                let mut in_order =
                    DocumentWriter::new(&self.output, &self.source, self.names.as_ref(), self.limits)?;
                let (total, mut done) = (self.entries, 0u64);
                sorter.finish(&mut |entry| {
                    done += 1;
                    if done.is_multiple_of(1 << 16) && progress(done, total).is_break() {
                        return Err(Error::Interrupted);
                    }
                    in_order.push(entry)
                })?;
                in_order
            }
        };
        in_order.finish(self.documents, words, vocabulary)
    }
}

/// Sorted sequence of entries on disk.
enum SortedRun {
    /// Entries of 16 bytes each in an unnamed temporary file.
    Entries(File),
    /// Blocks of an unfinished corpus file.
    Blocks { file: CorpusOutput, entries: Vec<crate::corpus::format::BlockEntry> },
}

/// Sorter for more entries than fit in memory.
pub(super) struct EntrySorter {
    folder: PathBuf,
    limits: SortLimits,
    buffer: Vec<CountEntry>,
    /// Runs grouped by size: a run of level i + 1 is `fan_in` times as long as a run of level i. No
    /// level has more than `fan_in` runs, so few files are open however long the input is.
    levels: Vec<Vec<SortedRun>>,
}

impl EntrySorter {
    pub(super) fn new(folder: &Path, limits: SortLimits) -> EntrySorter {
        EntrySorter { folder: folder.to_path_buf(), limits, buffer: Vec::new(), levels: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, entry: CountEntry) -> Result<()> {
        self.buffer.push(entry);
        if self.buffer.len() >= self.limits.entries { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<()> {
        self.buffer.sort_unstable();
        let mut run = EntryRunWriter::new(&self.folder)?;
        for &entry in &self.buffer {
            run.push(entry)?;
        }
        self.buffer.clear();
        self.add_run(run.finish()?, 0)
    }

    fn add_run(&mut self, run: SortedRun, level: usize) -> Result<()> {
        if self.levels.len() <= level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(run);
        if self.levels[level].len() < self.limits.fan_in.max(2) {
            return Ok(());
        }
        let group = std::mem::take(&mut self.levels[level]);
        let mut merged = EntryRunWriter::new(&self.folder)?;
        merge_runs(&group, &self.folder, &mut |entry| merged.push(entry))?;
        drop(group);
        self.add_run(merged.finish()?, level + 1)
    }

    /// Calls `each` with all entries in the order of (document, word).
    pub(super) fn finish(mut self, each: &mut dyn FnMut(CountEntry) -> Result<()>) -> Result<()> {
        if !self.buffer.is_empty() {
            self.spill()?;
        }
        self.buffer = Vec::new();
        let runs: Vec<SortedRun> = self.levels.into_iter().flatten().collect();
        merge_runs(&runs, &self.folder, each)
    }
}

struct EntryRunWriter {
    folder: PathBuf,
    out: BufWriter<File>,
}

impl EntryRunWriter {
    fn new(folder: &Path) -> Result<EntryRunWriter> {
        let file = tempfile::tempfile_in(folder).map_err(Error::io("create a temporary file in", folder))?;
        Ok(EntryRunWriter { folder: folder.to_path_buf(), out: BufWriter::with_capacity(1 << 17, file) })
    }

    fn push(&mut self, (document, word, count): CountEntry) -> Result<()> {
        let packed = u128::from(document) | u128::from(word) << 64 | u128::from(count) << 96;
        let bytes: [u8; ENTRY_BYTES] = packed.to_le_bytes();
        self.out.write_all(&bytes).map_err(Error::io("write a temporary file in", &self.folder))
    }

    fn finish(self) -> Result<SortedRun> {
        let mut file = self
            .out
            .into_inner()
            .map_err(|e| Error::io("write a temporary file in", &self.folder)(e.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(Error::io("read a temporary file in", &self.folder))?;
        Ok(SortedRun::Entries(file))
    }
}

/// Reader of a sorted run from its beginning.
enum SortedRunReader<'a> {
    Entries { reader: BufReader<&'a File>, folder: &'a Path },
    Blocks { reader: BlockReader<'a>, block: Block, next_block: usize, document: usize, entry: usize },
}

impl SortedRunReader<'_> {
    fn next(&mut self) -> Result<Option<CountEntry>> {
        match self {
            SortedRunReader::Entries { reader, folder } => {
                let mut bytes = [0; ENTRY_BYTES];
                match reader.read_exact(&mut bytes) {
                    Ok(()) => {}
                    Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
                    Err(e) => return Err(Error::io("read a temporary file in", folder)(e)),
                }
                // The layout is that of `EntryRunWriter::push`: the document in eight bytes, word
                // and count in four bytes each.
                let packed = u128::from_le_bytes(bytes);
                Ok(Some((packed as u64, (packed >> 64) as u32, (packed >> 96) as u32)))
            }
            SortedRunReader::Blocks { reader, block, next_block, document, entry } => loop {
                if *document < block.documents() {
                    let d = block.document(*document);
                    if let (Some(&word), Some(&count)) = (d.words.get(*entry), d.counts.get(*entry)) {
                        *entry += 1;
                        return Ok(Some((block.first_document() + *document as u64, word, count)));
                    }
                    *document += 1;
                    *entry = 0;
                } else if *next_block < reader.blocks() {
                    reader.read(*next_block, block)?;
                    *next_block += 1;
                    *document = 0;
                } else {
                    return Ok(None);
                }
            },
        }
    }
}

/// Merges sorted runs and calls `each` with every entry in order.
fn merge_runs(
    runs: &[SortedRun],
    folder: &Path,
    each: &mut dyn FnMut(CountEntry) -> Result<()>,
) -> Result<()> {
    let mut readers: Vec<SortedRunReader<'_>> = runs
        .iter()
        .map(|run| match run {
            SortedRun::Entries(file) => {
                SortedRunReader::Entries { reader: BufReader::with_capacity(RUN_BUFFER_BYTES, file), folder }
            }
            SortedRun::Blocks { file, entries } => SortedRunReader::Blocks {
                reader: BlockReader::new(file.bytes(), entries, u32::MAX),
                block: Block::default(),
                next_block: 0,
                document: 0,
                entry: 0,
            },
        })
        .collect();
    let mut heap = BinaryHeap::with_capacity(readers.len());
    for (i, reader) in readers.iter_mut().enumerate() {
        if let Some(entry) = reader.next()? {
            heap.push(Reverse((entry, i)));
        }
    }
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((entry, i)) = *top;
        each(entry)?;
        match readers[i].next()? {
            Some(next) => *top = Reverse((next, i)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
    }
    Ok(())
}
