//! Counts of more strings than fit in memory: sorted runs on disk that are merged at the end.
//!
//! A run is a list of strings in the order of their bytes. Each string is stored as the length of
//! the prefix that it shares with the previous one, the number of the remaining bytes, these bytes,
//! and two counts. Numbers are stored as varints with seven bits per byte, so that a run takes
//! about eight bytes per string. Start with [`CountRuns`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::table::StringTable;
use crate::error::{Error, Result};

/// Number of occurrences of a string, and number of documents that contain it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TermCount {
    pub(crate) tokens: u64,
    pub(crate) documents: u64,
}

/// Number of runs that are merged at a time.
const FAN_IN: usize = 32;
const BUFFER_BYTES: usize = 1 << 16;

enum CountRun {
    File(File),
    Memory(Vec<u8>),
}

/// Runs grouped by size, so that few files are open however long the input is.
pub(crate) struct CountRuns {
    folder: PathBuf,
    levels: Vec<Vec<CountRun>>,
    spilled: u64,
}

fn write_varint(mut value: u64, out: &mut impl Write) -> std::io::Result<()> {
    while value >= 128 {
        out.write_all(&[value as u8 | 128])?;
        value >>= 7;
    }
    out.write_all(&[value as u8])
}

/// Writer of strings that arrive in order.
struct CountRunWriter<W> {
    out: W,
    last: Vec<u8>,
}

impl<W: Write> CountRunWriter<W> {
    fn push(&mut self, key: &[u8], count: TermCount) -> std::io::Result<()> {
        let shared = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        write_varint(shared as u64, &mut self.out)?;
        write_varint((key.len() - shared) as u64, &mut self.out)?;
        self.out.write_all(&key[shared..])?;
        write_varint(count.tokens, &mut self.out)?;
        write_varint(count.documents, &mut self.out)?;
        self.last.truncate(shared);
        self.last.extend_from_slice(&key[shared..]);
        Ok(())
    }
}

struct CountRunReader<'a> {
    source: Box<dyn BufRead + 'a>,
    key: Vec<u8>,
    count: TermCount,
}

impl CountRunReader<'_> {
    fn read_varint(&mut self) -> std::io::Result<Option<u64>> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let mut byte = [0];
            if self.source.read(&mut byte)? == 0 {
                return Ok(None);
            }
            value |= u64::from(byte[0] & 127) << shift;
            if byte[0] < 128 {
                return Ok(Some(value));
            }
            shift = (shift + 7).min(63);
        }
    }

    /// Advances to the next string; returns false at the end.
    fn advance(&mut self) -> std::io::Result<bool> {
        let Some(shared) = self.read_varint()? else { return Ok(false) };
        let cut = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let length = self.read_varint()?.ok_or_else(cut)? as usize;
        let start = shared as usize;
        self.key.resize(start + length, 0);
        self.source.read_exact(&mut self.key[start..])?;
        self.count = TermCount {
            tokens: self.read_varint()?.ok_or_else(cut)?,
            documents: self.read_varint()?.ok_or_else(cut)?,
        };
        Ok(true)
    }
}

/// Calls `each` with all strings in order, each once, with the sums of its counts.
fn merge_runs(
    runs: &mut [CountRun],
    mut each: impl FnMut(&[u8], TermCount) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut readers = Vec::with_capacity(runs.len());
    for run in runs {
        let source: Box<dyn BufRead + '_> = match run {
            CountRun::File(file) => {
                file.seek(SeekFrom::Start(0))?;
                Box::new(BufReader::with_capacity(BUFFER_BYTES, file))
            }
            CountRun::Memory(bytes) => Box::new(Cursor::new(bytes)),
        };
        let mut reader = CountRunReader { source, key: Vec::new(), count: TermCount::default() };
        if reader.advance()? {
            readers.push(reader);
        }
    }
    // The heap owns copies of the keys, which are reused for the next key of their reader.
    let mut heap: BinaryHeap<Reverse<(Vec<u8>, usize)>> = BinaryHeap::new();
    for (i, reader) in readers.iter().enumerate() {
        heap.push(Reverse((reader.key.clone(), i)));
    }
    let (mut current, mut sum) = (Vec::new(), None::<TermCount>);
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((key, i)) = &mut *top;
        let reader = &mut readers[*i];
        match &mut sum {
            Some(sum) if current == *key => {
                sum.tokens += reader.count.tokens;
                sum.documents += reader.count.documents;
            }
            _ => {
                if let Some(sum) = sum {
                    each(&current, sum)?;
                }
                current.clone_from(key);
                sum = Some(reader.count);
            }
        }
        if reader.advance()? {
            key.clone_from(&reader.key);
        } else {
            std::collections::binary_heap::PeekMut::pop(top);
        }
    }
    sum.map_or(Ok(()), |sum| each(&current, sum))
}

impl CountRuns {
    pub(crate) fn new(folder: &Path) -> CountRuns {
        CountRuns { folder: folder.to_path_buf(), levels: Vec::new(), spilled: 0 }
    }

    /// Returns the number of runs that were written to disk.
    pub(crate) fn spilled(&self) -> u64 {
        self.spilled
    }

    fn write_error(&self) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::io("write a temporary file in", &self.folder)
    }

    fn write_run(
        &self,
        fill: impl FnOnce(&mut CountRunWriter<BufWriter<File>>) -> std::io::Result<()>,
    ) -> Result<CountRun> {
        let attempt = || {
            let file = tempfile::tempfile_in(&self.folder)?;
            let mut writer =
                CountRunWriter { out: BufWriter::with_capacity(BUFFER_BYTES, file), last: Vec::new() };
            fill(&mut writer)?;
            Ok(CountRun::File(writer.out.into_inner().map_err(std::io::IntoInnerError::into_error)?))
        };
        attempt().map_err(self.write_error())
    }

    /// Adds the counts of a table as a run: on disk, or in compact form in memory if it is the last
    /// one. Strings that were never counted are skipped.
    pub(crate) fn add_table<T: Copy>(
        &mut self,
        table: &StringTable<T>,
        last: bool,
        count: impl Fn(&T) -> TermCount,
    ) -> Result<()> {
        let sorted = table.sorted();
        let counted = sorted
            .iter()
            .map(|&i| (table.string(i), count(table.value(i))))
            .filter(|(_, count)| count.tokens + count.documents > 0);
        let run = if last {
            let mut writer = CountRunWriter { out: Vec::new(), last: Vec::new() };
            for (key, count) in counted {
                writer.push(key, count).map_err(self.write_error())?;
            }
            CountRun::Memory(writer.out)
        } else {
            self.spilled += 1;
            self.write_run(|writer| {
                for (key, count) in counted {
                    writer.push(key, count)?;
                }
                Ok(())
            })?
        };
        self.add_run(run, 0)
    }

    /// Returns empty runs that are written to the same folder.
    pub(crate) fn empty_copy(&self) -> CountRuns {
        CountRuns::new(&self.folder)
    }

    /// Adds the words of one document: every string of `parts` is in one more document, in however
    /// many of the parts it occurs.
    pub(crate) fn add_document(&mut self, parts: Option<CountRuns>) -> Result<()> {
        let Some(parts) = parts else { return Ok(()) };
        let mut all: Vec<CountRun> = parts.levels.into_iter().flatten().collect();
        let once = TermCount { tokens: 0, documents: 1 };
        let run = self.write_run(|writer| merge_runs(&mut all, |key, _| writer.push(key, once)))?;
        drop(all);
        self.spilled += 1;
        self.add_run(run, 0)
    }

    fn add_run(&mut self, run: CountRun, level: usize) -> Result<()> {
        if self.levels.len() <= level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(run);
        if self.levels[level].len() < FAN_IN {
            return Ok(());
        }
        let mut group = std::mem::take(&mut self.levels[level]);
        let merged = self.write_run(|writer| merge_runs(&mut group, |key, count| writer.push(key, count)))?;
        drop(group);
        self.add_run(merged, level + 1)
    }

    /// Calls `each` with all strings in order, each once. Can be called repeatedly.
    pub(crate) fn for_each(&mut self, mut each: impl FnMut(&[u8], TermCount) -> Result<()>) -> Result<()> {
        let mut all: Vec<CountRun> = std::mem::take(&mut self.levels).into_iter().flatten().collect();
        let mut stopped = None;
        let outcome = merge_runs(&mut all, |key, count| {
            each(key, count).map_err(|error| {
                stopped = Some(error);
                std::io::ErrorKind::Interrupted.into()
            })
        });
        self.levels = vec![all];
        match (stopped, outcome) {
            (Some(error), _) => Err(error),
            (None, outcome) => outcome.map_err(Error::io("read a temporary file in", &self.folder)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn counts_add_up(parts in prop::collection::vec(prop::collection::vec(("[a-c\u{e9}]{0,5}", 1u64..300), 0..20), 1..80), last in any::<bool>()) {
            let folder = tempfile::tempdir().unwrap();
            let mut runs = CountRuns::new(folder.path());
            let mut expected: BTreeMap<Vec<u8>, TermCount> = BTreeMap::new();
            for part in &parts {
                let mut table = StringTable::new();
                for (word, n) in part {
                    let i = table.intern(word.as_bytes(), TermCount::default);
                    table.value_mut(i).tokens += n;
                    table.value_mut(i).documents += 1;
                    let sum = expected.entry(word.clone().into_bytes()).or_default();
                    sum.tokens += n;
                    sum.documents += 1;
                }
                runs.add_table(&table, last, |c| *c).unwrap();
            }
            for _ in 0..2 {
                let mut found = Vec::new();
                runs.for_each(|key, count| { found.push((key.to_vec(), count)); Ok(()) }).unwrap();
                prop_assert_eq!(&found, &expected.clone().into_iter().collect::<Vec<_>>());
            }
        }
    }
}
