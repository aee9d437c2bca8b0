//! Deltas of a worker: what the documents of a step change in phi, by groups of words, and in
//! lambda.
//!
//! The number of deltas of a step depends on how far messages move, and the worst case is ten times
//! the usual one. A worker therefore has a limit: lists that exceed it are moved to an unnamed
//! temporary file and are read back block by block when deltas are applied. Deltas are integers, so
//! the order in which they are added does not affect the result.

use std::fs::File;
use std::path::PathBuf;

use super::active_topics::ActiveTopics;
use crate::algorithms::tbp::delta::{DeltaList, DeltaSource};
use crate::algorithms::tbp::messages::{DocumentMessages, MessageEntry, UNITS_PER_TOKEN};
use crate::corpus::Document;
use crate::error::{Error, Result};
use crate::files::{read_at, write_at};
use crate::numbers;

/// Number of words after which the memory of the lists is checked.
const WORDS_PER_CHECK: usize = 1024;
/// Largest number of 32-bit numbers in a block of the file.
const BLOCK_NUMBERS: usize = 1 << 14;

/// How much memory the deltas of a step may take, and where the excess is stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeltaStorage {
    /// Bytes for the lists of all workers; `None` is no limit.
    pub(crate) memory: Option<u64>,
    /// Folder in which files can be created. Without it, everything stays in memory.
    pub(crate) folder: Option<PathBuf>,
}

/// Changes that documents make: to phi, by groups of words, and to lambda.
#[derive(Debug)]
pub(super) struct Deltas {
    pub(super) phi: Vec<DeltaList>,
    pub(super) lambda: Vec<i64>,
    /// Limit in bytes on the memory of the lists.
    limit: u64,
    /// Number of words since the memory of the lists was last checked.
    unchecked: usize,
    spill: Option<DeltaSpill>,
}

impl Deltas {
    /// Creates empty lists for one of `workers` workers.
    pub(super) fn new(lists: usize, topics: usize, storage: &DeltaStorage, workers: usize) -> Deltas {
        let spill = storage.folder.clone().filter(|_| storage.memory.is_some()).map(DeltaSpill::new);
        let limit = match (&spill, storage.memory) {
            (Some(_), Some(memory)) => memory / workers.max(1) as u64,
            _ => u64::MAX,
        };
        Deltas { phi: vec![DeltaList::default(); lists], lambda: vec![0; topics], limit, unchecked: 0, spill }
    }

    /// Counts words whose deltas have been appended to the lists. Moves the lists to a file if they
    /// take too much memory.
    #[inline]
    pub(super) fn record_words(&mut self, words: usize) -> Result<()> {
        self.unchecked += words;
        if self.unchecked < WORDS_PER_CHECK {
            return Ok(());
        }
        self.check()
    }

    /// Moves the lists to a file if they exceed the limit.
    #[cold]
    fn check(&mut self) -> Result<()> {
        self.unchecked = 0;
        if self.bytes() <= self.limit {
            return Ok(());
        }
        if let Some(spill) = &mut self.spill {
            spill.write(&self.phi)?;
            self.free();
        }
        Ok(())
    }

    /// Returns the bytes of the lists.
    fn bytes(&self) -> u64 {
        self.phi.iter().map(DeltaList::bytes).sum()
    }

    fn free(&mut self) {
        self.phi.fill(DeltaList::default());
    }

    /// Clears deltas that have been applied. The memory of the lists is kept if it is within the
    /// limit.
    pub(super) fn clear(&mut self) -> Result<()> {
        if self.limit < u64::MAX && self.bytes() > self.limit {
            self.free();
        }
        self.phi.iter_mut().for_each(DeltaList::clear);
        self.lambda.fill(0);
        self.spill.as_mut().map_or(Ok(()), DeltaSpill::clear)
    }

    /// Adds the units of a document's messages to lambda per topic, multiplied by `sign`. `summed`
    /// says that the active topics contain exactly these sums.
    pub(super) fn lambda(
        &mut self,
        active: &ActiveTopics,
        document: Document<'_>,
        (sizes, entries): (&[u8], &[MessageEntry]),
        summed: bool,
        sign: i64,
    ) {
        // 32-bit floats are exact up to 2^24.
        if summed && document.tokens() < (1 << 24) / u64::from(UNITS_PER_TOKEN) {
            for (k, units) in active.topics() {
                self.lambda[k as usize] += sign * units as i64;
            }
            return;
        }
        let messages = DocumentMessages { topics: &[], sizes, entries };
        for (message, &x) in messages.iter().zip(document.counts) {
            for entry in message {
                let units = i64::from(x) * i64::from(entry.units());
                self.lambda[active.topic(entry.slot()) as usize] += sign * units;
            }
        }
    }
}

/// The deltas of all workers.
pub(super) struct AllDeltas<'a>(pub(super) Vec<&'a mut Deltas>);

impl DeltaSource for AllDeltas<'_> {
    fn in_memory(&self, list: usize) -> impl Iterator<Item = &DeltaList> {
        self.0.iter().map(move |own| &own.phi[list])
    }

    fn for_each_block(&self, list: usize, mut each: impl FnMut(&DeltaList) -> Result<()>) -> Result<()> {
        let mut block = DeltaList::default();
        let mut bytes = Vec::new();
        for spill in self.0.iter().filter_map(|own| own.spill.as_ref()) {
            for &at in spill.blocks.get(list).map_or(&[][..], Vec::as_slice) {
                spill.read(at, &mut bytes)?;
                block.read(&bytes);
                each(&block)?;
            }
        }
        Ok(())
    }
}

/// Location of a block in the file.
#[derive(Debug, Clone, Copy)]
struct BlockLocation {
    offset: u64,
    bytes: usize,
}

/// Lists that were moved to a file. The file is unnamed, and the system deletes it when the process
/// ends.
#[derive(Debug)]
struct DeltaSpill {
    folder: PathBuf,
    file: Option<File>,
    end: u64,
    /// Blocks of every list.
    blocks: Vec<Vec<BlockLocation>>,
}

impl DeltaSpill {
    fn new(folder: PathBuf) -> DeltaSpill {
        DeltaSpill { folder, file: None, end: 0, blocks: Vec::new() }
    }

    /// Returns the path of the file as it appears in errors.
    fn path(&self) -> PathBuf {
        self.folder.join("deltas")
    }

    /// Appends all lists to the file.
    fn write(&mut self, lists: &[DeltaList]) -> Result<()> {
        let path = self.path();
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                std::fs::create_dir_all(&self.folder).map_err(Error::io("create", &self.folder))?;
                none.insert(tempfile::tempfile_in(&self.folder).map_err(Error::io("create", &path))?)
            }
        };
        self.blocks.resize_with(lists.len(), Vec::new);
        let mut bytes = Vec::new();
        for (list, blocks) in lists.iter().zip(&mut self.blocks) {
            for block in list.blocks(BLOCK_NUMBERS) {
                bytes.clear();
                numbers::put(block, &mut bytes);
                write_at(file, &bytes, self.end).map_err(Error::io("write", &path))?;
                blocks.push(BlockLocation { offset: self.end, bytes: bytes.len() });
                self.end += bytes.len() as u64;
            }
        }
        Ok(())
    }

    /// Reads a block into `bytes`.
    fn read(&self, at: BlockLocation, bytes: &mut Vec<u8>) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        bytes.resize(at.bytes, 0);
        read_at(file, bytes, at.offset).map_err(Error::io("read", &self.path()))
    }

    /// Forgets all blocks and frees their disk space.
    fn clear(&mut self) -> Result<()> {
        if self.end == 0 {
            return Ok(());
        }
        self.end = 0;
        self.blocks.iter_mut().for_each(Vec::clear);
        let Some(file) = &self.file else { return Ok(()) };
        file.set_len(0).map_err(Error::io("write", &self.path()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::tbp::delta::Delta;

    /// Lists above the limit are read back from the file, block by block, and are gone after they
    /// were applied.
    #[test]
    fn lists_over_the_limit_are_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let storage = DeltaStorage { memory: Some(1), folder: Some(folder.path().join("new")) };
        let mut deltas = Deltas::new(3, 1, &storage, 2);
        let mut expected = vec![Vec::new(); 3];
        for i in 0..100_000u32 {
            let list = (i % 3 % 2) as usize;
            let delta = Delta { cell: i, units: if i % 5 == 0 { 1000 } else { -3 } };
            deltas.phi[list].push(delta);
            expected[list].push((delta.cell, delta.units));
            deltas.record_words(if i % 1000 == 0 { WORDS_PER_CHECK } else { 0 }).unwrap();
        }
        assert!(deltas.spill.as_ref().is_some_and(|spill| spill.end > 400_000));
        let mut all = AllDeltas(vec![&mut deltas]);
        for (list, expected) in expected.into_iter().enumerate() {
            let mut found: Vec<(u32, i32)> = Vec::new();
            let mut add = |list: &DeltaList| found.extend(list.iter().map(|delta| (delta.cell, delta.units)));
            all.in_memory(list).for_each(&mut add);
            all.for_each_block(list, |block| {
                add(block);
                Ok(())
            })
            .unwrap();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
        all.0[0].clear().unwrap();
        assert!((0..3).all(|list| all.in_memory(list).all(|list| list.numbers() == 0)));
        all.for_each_block(0, |_| unreachable!("no blocks are left")).unwrap();
    }
}
