//! Deltas of a worker: what the documents of a step change in phi, by groups of words, and in lambda.
//!
//! How many deltas a step has depends on how far messages move, and the worst case is ten times the usual one. So a worker has
//! a limit: lists that exceed it are moved to a file without a name, and are read back block by block when deltas are applied.
//! Deltas are whole numbers, so the order in which they are added does not show in the result.

use std::fs::File;
use std::path::PathBuf;

use super::active_topics::ActiveTopics;
use crate::algorithms::tbp::delta::{DeltaList, DeltaSource};
use crate::algorithms::tbp::messages::{DocumentMessages, MessageEntry, UNITS_PER_TOKEN};
use crate::corpus::Document;
use crate::error::{Error, Result};
use crate::files::{read_at, write_at};
use crate::numbers;

/// The memory of the lists is looked at after so many words.
const WORDS_PER_CHECK: usize = 1024;
/// Numbers of a block in a file.
const BLOCK_NUMBERS: usize = 1 << 14;

/// How much memory the deltas of a step may take, and where the others go.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeltaStorage {
    /// Bytes of the lists of all workers. No limit where there is none.
    pub(crate) memory: Option<u64>,
    /// Where files can be created. Without it everything stays in memory.
    pub(crate) folder: Option<PathBuf>,
}

/// What documents change: phi, by groups of words, and lambda.
#[derive(Debug)]
pub(super) struct Deltas {
    pub(super) phi: Vec<DeltaList>,
    pub(super) lambda: Vec<i64>,
    /// Bytes of memory for the lists.
    limit: u64,
    /// Words since the memory of the lists was last looked at.
    unchecked: usize,
    spill: Option<Spill>,
}

impl Deltas {
    /// No deltas, for so many lists and topics, of one of several workers.
    pub(super) fn new(lists: usize, topics: usize, storage: &DeltaStorage, workers: usize) -> Deltas {
        let spill = storage.folder.clone().filter(|_| storage.memory.is_some()).map(Spill::new);
        let limit = match (&spill, storage.memory) {
            (Some(_), Some(memory)) => memory / workers.max(1) as u64,
            _ => u64::MAX,
        };
        Deltas { phi: vec![DeltaList::default(); lists], lambda: vec![0; topics], limit, unchecked: 0, spill }
    }

    /// Counts words whose deltas are in the lists; moves these to a file when they take too much memory.
    #[inline]
    pub(super) fn note(&mut self, words: usize) -> Result<()> {
        self.unchecked += words;
        if self.unchecked < WORDS_PER_CHECK {
            return Ok(());
        }
        self.check()
    }

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

    /// Bytes of the lists.
    fn bytes(&self) -> u64 {
        self.phi.iter().map(DeltaList::bytes).sum()
    }

    fn free(&mut self) {
        self.phi.fill(DeltaList::default());
    }

    /// Forgets what has been applied; the memory of the lists is kept where it is within the limit.
    pub(super) fn clear(&mut self) -> Result<()> {
        if self.limit < u64::MAX && self.bytes() > self.limit {
            self.free();
        }
        self.phi.iter_mut().for_each(DeltaList::clear);
        self.lambda.fill(0);
        self.spill.as_mut().map_or(Ok(()), Spill::clear)
    }

    /// Adds what a document has in its topics to lambda, or subtracts it. `summed`: the active topics have exactly the sum.
    pub(super) fn lambda(
        &mut self,
        active: &ActiveTopics,
        document: Document<'_>,
        (sizes, parts): (&[u8], &[MessageEntry]),
        summed: bool,
        sign: i64,
    ) {
        // Up to here 32-bit floats count exactly.
        if summed && document.tokens() < (1 << 24) / u64::from(UNITS_PER_TOKEN) {
            for (k, units) in active.topics() {
                self.lambda[k as usize] += sign * units as i64;
            }
            return;
        }
        let kept = DocumentMessages { topics: &[], sizes, parts };
        for (message, &x) in kept.iter().zip(document.counts) {
            for part in message {
                let units = i64::from(x) * i64::from(part.units());
                self.lambda[active.topic(part.place()) as usize] += sign * units;
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

/// A block of a list in the file.
#[derive(Debug, Clone, Copy)]
struct BlockLocation {
    offset: u64,
    bytes: usize,
}

/// Lists that were moved to a file. The file has no name that others see, and goes with the process.
#[derive(Debug)]
struct Spill {
    folder: PathBuf,
    file: Option<File>,
    end: u64,
    /// The blocks of every list.
    blocks: Vec<Vec<BlockLocation>>,
}

impl Spill {
    fn new(folder: PathBuf) -> Spill {
        Spill { folder, file: None, end: 0, blocks: Vec::new() }
    }

    /// What the file is called in errors.
    fn path(&self) -> PathBuf {
        self.folder.join("deltas")
    }

    /// Appends all lists.
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

    fn read(&self, at: BlockLocation, bytes: &mut Vec<u8>) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        bytes.resize(at.bytes, 0);
        read_at(file, bytes, at.offset).map_err(Error::io("read", &self.path()))
    }

    /// Forgets all blocks and frees their place on the disk.
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

    /// Lists over the limit come back from the file, block by block, and are gone after they were applied.
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
            deltas.note(if i % 1000 == 0 { WORDS_PER_CHECK } else { 0 }).unwrap();
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
