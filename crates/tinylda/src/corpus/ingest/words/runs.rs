//! Counts of more strings than fit in memory: sorted runs on disk, merged at the end.
//!
//! A run is a list of strings in the order of their bytes, each as the number of bytes that it
//! shares with the one before, the number of the others, these, and two counts; numbers are of
//! seven bits a byte. So a run takes about eight bytes a string.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::table::Table;
use crate::error::{Error, Result};

/// How often a string was seen, and in how many documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) tokens: u64,
    pub(crate) documents: u64,
}

/// So many runs are merged at a time.
const FAN_IN: usize = 32;
const BUFFER: usize = 1 << 16;

enum Run {
    File(File),
    Memory(Vec<u8>),
}

/// Runs of like size together, so that few files are open however long the input is.
pub(crate) struct Runs {
    folder: PathBuf,
    levels: Vec<Vec<Run>>,
    spilled: u64,
}

fn put_number(mut value: u64, out: &mut impl Write) -> std::io::Result<()> {
    while value >= 128 {
        out.write_all(&[value as u8 | 128])?;
        value >>= 7;
    }
    out.write_all(&[value as u8])
}

/// Writes strings that come in order.
struct RunWriter<W> {
    out: W,
    last: Vec<u8>,
}

impl<W: Write> RunWriter<W> {
    fn push(&mut self, key: &[u8], count: Counted) -> std::io::Result<()> {
        let shared = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        put_number(shared as u64, &mut self.out)?;
        put_number((key.len() - shared) as u64, &mut self.out)?;
        self.out.write_all(&key[shared..])?;
        put_number(count.tokens, &mut self.out)?;
        put_number(count.documents, &mut self.out)?;
        self.last.truncate(shared);
        self.last.extend_from_slice(&key[shared..]);
        Ok(())
    }
}

struct RunReader<'a> {
    source: Box<dyn BufRead + 'a>,
    key: Vec<u8>,
    count: Counted,
}

impl RunReader<'_> {
    fn number(&mut self) -> std::io::Result<Option<u64>> {
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

    /// Goes to the next string; false at the end.
    fn advance(&mut self) -> std::io::Result<bool> {
        let Some(shared) = self.number()? else { return Ok(false) };
        let cut = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let length = self.number()?.ok_or_else(cut)? as usize;
        let start = shared as usize;
        self.key.resize(start + length, 0);
        self.source.read_exact(&mut self.key[start..])?;
        self.count =
            Counted { tokens: self.number()?.ok_or_else(cut)?, documents: self.number()?.ok_or_else(cut)? };
        Ok(true)
    }
}

/// Hands over all strings in order, each once, with the sums of its counts.
fn merge(
    runs: &mut [Run],
    mut each: impl FnMut(&[u8], Counted) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut readers = Vec::with_capacity(runs.len());
    for run in runs {
        let source: Box<dyn BufRead + '_> = match run {
            Run::File(file) => {
                file.seek(SeekFrom::Start(0))?;
                Box::new(BufReader::with_capacity(BUFFER, file))
            }
            Run::Memory(bytes) => Box::new(Cursor::new(bytes)),
        };
        let mut reader = RunReader { source, key: Vec::new(), count: Counted::default() };
        if reader.advance()? {
            readers.push(reader);
        }
    }
    // The heap has the keys themselves; a reader's own goes back and forth.
    let mut heap: BinaryHeap<Reverse<(Vec<u8>, usize)>> = BinaryHeap::new();
    for (i, reader) in readers.iter().enumerate() {
        heap.push(Reverse((reader.key.clone(), i)));
    }
    let (mut current, mut sum) = (Vec::new(), None::<Counted>);
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

impl Runs {
    pub(crate) fn new(folder: &Path) -> Runs {
        Runs { folder: folder.to_path_buf(), levels: Vec::new(), spilled: 0 }
    }

    /// How many runs went to disk.
    pub(crate) fn spilled(&self) -> u64 {
        self.spilled
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::io("write a temporary file in", &self.folder)
    }

    fn write(
        &self,
        fill: impl FnOnce(&mut RunWriter<BufWriter<File>>) -> std::io::Result<()>,
    ) -> Result<Run> {
        let attempt = || {
            let file = tempfile::tempfile_in(&self.folder)?;
            let mut writer = RunWriter { out: BufWriter::with_capacity(BUFFER, file), last: Vec::new() };
            fill(&mut writer)?;
            Ok(Run::File(writer.out.into_inner().map_err(std::io::IntoInnerError::into_error)?))
        };
        attempt().map_err(self.failed())
    }

    /// Takes what a table has counted: to disk, or where it is the last of it, in a short form in
    /// memory. Strings that were never counted are left out.
    pub(crate) fn take<T: Copy>(
        &mut self,
        table: &Table<T>,
        last: bool,
        count: impl Fn(&T) -> Counted,
    ) -> Result<()> {
        let sorted = table.sorted();
        let counted = sorted
            .iter()
            .map(|&i| (table.bytes_of(i), count(table.value(i))))
            .filter(|(_, count)| count.tokens > 0);
        let run = if last {
            let mut writer = RunWriter { out: Vec::new(), last: Vec::new() };
            for (key, count) in counted {
                writer.push(key, count).map_err(self.failed())?;
            }
            Run::Memory(writer.out)
        } else {
            self.spilled += 1;
            self.write(|writer| {
                for (key, count) in counted {
                    writer.push(key, count)?;
                }
                Ok(())
            })?
        };
        self.add(run, 0)
    }

    fn add(&mut self, run: Run, level: usize) -> Result<()> {
        if self.levels.len() <= level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(run);
        if self.levels[level].len() < FAN_IN {
            return Ok(());
        }
        let mut group = std::mem::take(&mut self.levels[level]);
        let merged = self.write(|writer| merge(&mut group, |key, count| writer.push(key, count)))?;
        drop(group);
        self.add(merged, level + 1)
    }

    /// Hands over all strings in order, each once. It can be asked again.
    pub(crate) fn each(&mut self, mut each: impl FnMut(&[u8], Counted) -> Result<()>) -> Result<()> {
        let mut all: Vec<Run> = std::mem::take(&mut self.levels).into_iter().flatten().collect();
        let mut stopped = None;
        let outcome = merge(&mut all, |key, count| {
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
            let mut runs = Runs::new(folder.path());
            let mut expected: BTreeMap<Vec<u8>, Counted> = BTreeMap::new();
            for part in &parts {
                let mut table = Table::new();
                for (word, n) in part {
                    let i = table.number(word.as_bytes(), Counted::default);
                    table.value_mut(i).tokens += n;
                    table.value_mut(i).documents += 1;
                    let sum = expected.entry(word.clone().into_bytes()).or_default();
                    sum.tokens += n;
                    sum.documents += 1;
                }
                runs.take(&table, last, |c| *c).unwrap();
            }
            for _ in 0..2 {
                let mut found = Vec::new();
                runs.each(|key, count| { found.push((key.to_vec(), count)); Ok(()) }).unwrap();
                prop_assert_eq!(&found, &expected.clone().into_iter().collect::<Vec<_>>());
            }
        }
    }
}
