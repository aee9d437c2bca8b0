//! Storage of documents and their state: in memory as far as possible, the rest in files.
//!
//! The corpus is divided into pieces by a rule that depends on the corpus alone. A piece stays in
//! memory, with packed documents, if the budget allows. Other pieces are read before and written
//! after their visit by separate threads (`prefetch`), to files of records (`scratch`).
//!
//! The rest of the library visits pieces and does not know where the bytes are; the store does not
//! know what the state of documents means. Start reading at [`Store::visit`] in `prefetch`.

pub(crate) mod memory;
mod prefetch;
mod scratch;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use prefetch::MAX_DEPTH;
pub(crate) use scratch::{Location, clear};

use crate::algorithms::piece::{Piece, StateKind};
use crate::corpus::{Block, Corpus, Document};
use crate::error::Result;
use crate::memory as process_memory;
use crate::random::{Purpose, Random};
use scratch::ScratchFiles;

/// Documents of one block, in the order of their visits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockVisit {
    pub(crate) block: usize,
    pub(crate) documents: Vec<u32>,
}

/// An order of documents other than that of the file.
#[derive(Debug)]
pub(crate) enum VisitOrder {
    /// Blocks in this order, and the documents of each in a random order drawn from the seed.
    Random(Vec<usize>, u64),
    /// An explicit order.
    Given(Vec<BlockVisit>),
}

/// Selects the pieces to visit, and their order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Selection<'a> {
    /// One piece in every `n`, starting with the first, in the order of the file.
    Every(u64),
    /// All pieces in this order.
    Order(&'a VisitOrder),
}

impl Selection<'_> {
    /// All pieces in the order of the file.
    pub(crate) const ALL: Selection<'static> = Selection::Every(1);

    /// Returns the number of visits to a store of `pieces` pieces.
    pub(crate) fn visits(self, pieces: usize) -> usize {
        match self {
            Selection::Every(n) => (pieces as u64).div_ceil(n) as usize,
            Selection::Order(VisitOrder::Random(blocks, _)) => blocks.len(),
            Selection::Order(VisitOrder::Given(visits)) => visits.len(),
        }
    }

    /// Returns the number of the piece of a visit.
    fn piece(self, visit: usize) -> usize {
        match self {
            Selection::Every(n) => visit * n as usize,
            Selection::Order(VisitOrder::Random(blocks, _)) => blocks[visit],
            Selection::Order(VisitOrder::Given(visits)) => visits[visit].block,
        }
    }
}

/// Resources that the store may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoreBudget {
    /// Maximum bytes of the pieces that stay in memory; `None` for no limit.
    pub(crate) limit: Option<u64>,
    /// Resident size of the whole process near the memory limit, if it is monitored. Pieces are
    /// evicted before it is reached.
    pub(crate) near_limit: Option<u64>,
    /// Folder for scratch files, if there is one.
    pub(crate) scratch: Option<PathBuf>,
    /// Number of pieces in flight between files and memory, at least 1.
    pub(crate) depth: usize,
    /// Number of bytes below `near_limit` at which pieces are evicted: the amount that may be
    /// allocated before the process is checked again.
    pub(crate) margin: u64,
}

/// A part of a block of the file: every `count`-th document, starting with `from`.
#[derive(Debug, Clone, Copy)]
struct PieceSpec {
    block: u32,
    count: u32,
    from: u32,
}

/// Where a piece is kept.
#[derive(Debug, Default)]
struct Residency {
    /// The piece, if it is in memory.
    piece: Option<Piece>,
    /// Location of its state in a scratch file, if the piece is not in memory and has any state.
    /// Its documents are in the corpus.
    at: Option<Location>,
}

/// Bytes that the store has read, has written and has in files.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    read: AtomicU64,
    written: AtomicU64,
    disk: AtomicU64,
}

impl Traffic {
    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
    pub(crate) fn disk(&self) -> u64 {
        self.disk.load(Ordering::Relaxed)
    }
    fn add_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }
    fn add_written(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
        self.disk.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// All documents of a corpus and their state.
#[derive(Debug)]
pub(crate) struct Store<'a> {
    corpus: &'a Corpus,
    topics: u32,
    state_kind: StateKind,
    specs: Vec<PieceSpec>,
    residency: Vec<Residency>,
    /// Bytes of the pieces in memory.
    resident: u64,
    /// Maximum of `resident`.
    limit: u64,
    near_limit: Option<u64>,
    scratch: ScratchFiles,
    depth: usize,
    margin: u64,
    /// File that records are appended to in this pass.
    writer: Option<scratch::RecordWriter>,
    /// Pieces that can be reused.
    spares: Vec<Piece>,
    /// Buffer to unpack documents to.
    spare: Block,
    /// Bytes of messages or labels of the documents visited in this pass.
    message_bytes: u64,
    traffic: Arc<Traffic>,
}

impl<'a> Store<'a> {
    /// Creates a store. Blocks are divided into pieces of `size` non-zeros, if it is given. Nothing
    /// is read yet, and theta is zero.
    pub(crate) fn new(
        corpus: &'a Corpus,
        topics: u32,
        size: Option<u64>,
        state_kind: StateKind,
        budget: StoreBudget,
    ) -> Store<'a> {
        let mut specs = Vec::new();
        for block in 0..corpus.blocks() {
            let count = corpus.block_pieces(block, size) as u32;
            specs.extend((0..count).map(|from| PieceSpec { block: block as u32, count, from }));
        }
        Store {
            corpus,
            topics,
            state_kind,
            residency: specs.iter().map(|_| Residency::default()).collect(),
            specs,
            resident: 0,
            // Without a folder for files, everything stays in memory.
            limit: budget.limit.filter(|_| budget.scratch.is_some()).unwrap_or(u64::MAX),
            near_limit: budget.near_limit.filter(|_| budget.scratch.is_some()),
            scratch: ScratchFiles::new(budget.scratch),
            depth: budget.depth.clamp(1, MAX_DEPTH),
            margin: budget.margin,
            writer: None,
            spares: Vec::new(),
            spare: Block::default(),
            message_bytes: 0,
            traffic: Arc::default(),
        }
    }

    /// Initializes the state of documents that are visited one by one. `each(number, document,
    /// topics)` appends the topic of every non-zero to `topics`.
    pub(crate) fn initialize_state(
        &mut self,
        mut each: impl FnMut(u64, Document<'_>, &mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        self.visit(Selection::ALL, 0, true, |_, view| {
            view.assign_topics(&mut each)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Initializes the messages of every document with whole topics. `topic_of` has the topic of
    /// every non-zero in the order of the corpus; a document uses at most `most` topics.
    pub(crate) fn initialize_messages(&mut self, topic_of: &[u32], most: usize) -> Result<()> {
        let mut starts: Vec<(u64, usize)> = Vec::new();
        let mut spare = Block::default();
        self.visit(Selection::ALL, 0, false, |_, view| {
            for chunk in view.chunks() {
                let block = chunk.documents.unpacked(&mut spare);
                starts
                    .extend((0..block.documents()).map(|d| (block.number(d), block.document(d).words.len())));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        starts.sort_unstable_by_key(|&(number, _)| number);
        let mut next = 0;
        for (_, start) in &mut starts {
            next += std::mem::replace(start, next);
        }
        self.visit(Selection::ALL, 0, true, |_, view| {
            for chunk in view.chunks() {
                let block = chunk.documents.unpacked(&mut spare);
                chunk.messages.clear();
                for d in 0..block.documents() {
                    let (_, from) = starts[block.number(d) as usize];
                    chunk
                        .messages
                        .push_single_topics(&topic_of[from..from + block.document(d).words.len()], most);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Returns the bytes of messages or labels of the documents visited in this pass.
    pub(crate) fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    /// Returns the number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.specs.len()
    }

    /// Returns the counters of bytes read and written.
    pub(crate) fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    /// Frees unused buffers, after the last pass.
    pub(crate) fn free_buffers(&mut self) {
        self.spares = Vec::new();
        self.spare = Block::default();
        process_memory::trim_heap();
    }

    /// Drops all pieces. The store is not usable afterwards.
    pub(crate) fn release_pieces(&mut self) {
        self.residency = Vec::new();
        self.spares = Vec::new();
        self.spare = Block::default();
        process_memory::trim_heap();
    }

    /// Returns whether `bytes` more can stay in memory. If the process has come near its limit,
    /// the limit is lowered permanently: the bytes of lists can be counted, but the overhead of the
    /// system's allocator cannot.
    fn fits(&mut self, bytes: u64) -> bool {
        if let Some((near_limit, now)) = self.near_limit.zip(process_memory::resident_bytes()) {
            let near = near_limit.saturating_sub(self.margin);
            if now > near {
                self.limit = self.limit.min(self.resident.saturating_sub(now - near));
                process_memory::trim_heap();
            }
        }
        self.resident.saturating_add(bytes) <= self.limit
    }

    /// Calls `each(number, document, theta)` for every document with words, piece by piece. Changes
    /// to `theta[K]` are kept if `change` is set and the state includes theta.
    pub(crate) fn for_each(
        &mut self,
        change: bool,
        mut each: impl FnMut(u64, Document<'_>, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        self.visit(Selection::ALL, 0, change, |_, view| {
            view.for_each_theta(&mut each)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Writes the state of all pieces to disk for a checkpoint. Returns the location of each.
    pub(crate) fn save(&mut self) -> Result<Vec<Option<Location>>> {
        let mut end = None;
        let mut all = Vec::with_capacity(self.residency.len());
        for held in &self.residency {
            let at = match &held.piece {
                _ if self.state_kind.is_nothing() => None,
                None => held.at,
                Some(piece) => {
                    let end = match &mut end {
                        Some(end) => end,
                        none => none.insert(self.scratch.create_file()?),
                    };
                    let at = end.append(|out| piece.write_state(out))?;
                    self.traffic.add_written(at.bytes);
                    Some(at)
                }
            };
            all.push(at);
        }
        self.scratch.sync(&files(&all))?;
        Ok(all)
    }

    /// Reports that the checkpoint with these locations is complete, and deletes files that only an
    /// earlier one needs.
    pub(crate) fn checkpoint_written(&mut self, all: &[Option<Location>]) {
        self.scratch.pin(files(all));
        self.remove_unused();
    }

    /// Reports that a checkpoint could not be written, and deletes what was written for it.
    pub(crate) fn checkpoint_failed(&mut self) {
        self.remove_unused();
    }

    /// Restores the locations of a checkpoint. `message_bytes` is the count of the current pass so
    /// far.
    pub(crate) fn restore(&mut self, all: Vec<Option<Location>>, message_bytes: u64) -> Result<()> {
        self.scratch.open_files(files(&all))?;
        for (held, at) in self.residency.iter_mut().zip(all) {
            held.at = at;
        }
        self.message_bytes = message_bytes;
        Ok(())
    }

    /// Reports that the restored checkpoint is valid, and deletes files that it does not refer to.
    pub(crate) fn checkpoint_restored(&self) {
        self.scratch.remove_strays();
    }

    /// Reports that no checkpoint is needed any more.
    pub(crate) fn release_checkpoint(&mut self) {
        self.scratch.pin(BTreeSet::new());
    }

    /// Returns whether a new checkpoint, of `more` bytes besides the document state, would free
    /// much more disk space than it takes. Called between two passes.
    pub(crate) fn checkpoint_frees_space(&self, more: u64) -> bool {
        self.scratch.bytes_for_checkpoint_only(&self.in_use()) / 2 > self.resident.saturating_add(more)
    }

    /// Returns the numbers of the files that pieces are in.
    fn in_use(&self) -> BTreeSet<u32> {
        files(self.residency.iter().map(|held| &held.at))
    }

    /// Deletes files that neither a piece nor the last checkpoint refers to.
    fn remove_unused(&mut self) {
        let in_use = self.in_use();
        self.scratch.remove_unused(&in_use);
        self.traffic.disk.store(self.scratch.bytes(), Ordering::Relaxed);
    }
}

/// Returns the numbers of the files of some records.
fn files<'a>(all: impl IntoIterator<Item = &'a Option<Location>>) -> BTreeSet<u32> {
    all.into_iter().flatten().map(|at| at.file).collect()
}

/// Returns the order of the documents in a visit; `None` for the order of the file.
fn order_of(selection: Selection<'_>, visit: usize, documents: u32) -> Option<Cow<'_, [u32]>> {
    match selection {
        Selection::Every(_) => None,
        Selection::Order(VisitOrder::Given(visits)) => Some(Cow::Borrowed(&visits[visit].documents)),
        Selection::Order(VisitOrder::Random(blocks, seed)) => {
            let mut order: Vec<u32> = (0..documents).collect();
            Random::new(*seed, Purpose::DocumentOrder, blocks[visit] as u64).shuffle(&mut order);
            Some(Cow::Owned(order))
        }
    }
}
