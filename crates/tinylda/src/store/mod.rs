//! Where documents and what is kept for them live: in memory as far as that goes, the rest in files.
//!
//! The corpus is cut into pieces by a rule of its own. A piece stays in memory, its documents packed, where there is room
//! for it; any other is read when its turn comes and written when it is done, by threads of their own (`prefetch`). The rest of
//! the library asks for visits and never learns where the bytes were.

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
use crate::memory::{self as process_memory, SLACK};
use crate::random::{Purpose, Random};
use scratch::Scratch;

/// Documents of one block, in the order in which they are to be visited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockVisit {
    pub(crate) block: usize,
    pub(crate) documents: Vec<u32>,
}

/// An order of documents other than the file's.
#[derive(Debug)]
pub(crate) enum Order {
    /// Blocks in this order, and in each the documents in one drawn from the seed.
    Random(Vec<usize>, u64),
    Given(Vec<BlockVisit>),
}

/// Selection pieces are visited, and in which order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Selection<'a> {
    /// In the file's order, one in every so many, from the first on.
    Every(u64),
    Order(&'a Order),
}

impl Selection<'_> {
    pub(crate) const ALL: Selection<'static> = Selection::Every(1);

    /// How many visits that are, of so many pieces.
    pub(crate) fn visits(self, pieces: usize) -> usize {
        match self {
            Selection::Every(n) => (pieces as u64).div_ceil(n) as usize,
            Selection::Order(Order::Random(blocks, _)) => blocks.len(),
            Selection::Order(Order::Given(visits)) => visits.len(),
        }
    }

    /// The piece of a visit.
    fn piece(self, visit: usize) -> usize {
        match self {
            Selection::Every(n) => visit * n as usize,
            Selection::Order(Order::Random(blocks, _)) => blocks[visit],
            Selection::Order(Order::Given(visits)) => visits[visit].block,
        }
    }
}

/// What the store may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoreBudget {
    /// Bytes for pieces that stay in memory; no limit where there is none.
    pub(crate) limit: Option<u64>,
    /// What the whole process may have, where the process is watched; pieces leave the memory before that.
    pub(crate) ceiling: Option<u64>,
    /// Where files can go.
    pub(crate) scratch: Option<PathBuf>,
    /// Pieces in flight between files and memory, at least 1.
    pub(crate) depth: usize,
    /// Bytes below the ceiling at which pieces leave the memory: what may be allocated before the process is looked at again.
    pub(crate) margin: u64,
}

/// A part of a block of the file: one document in every `count`, beginning with `from`.
#[derive(Debug, Clone, Copy)]
struct PieceSpec {
    block: u32,
    count: u32,
    from: u32,
}

/// Where a piece is.
#[derive(Debug, Default)]
struct Residency {
    /// In memory,
    piece: Option<Piece>,
    /// or its documents in the corpus and the rest, where there is any, in a scratch file.
    at: Option<Location>,
}

/// Bytes that have been read and written, and are in files.
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

/// All documents of a corpus, each with what is kept for it.
#[derive(Debug)]
pub(crate) struct Store<'a> {
    corpus: &'a Corpus,
    topics: u32,
    keep: StateKind,
    specs: Vec<PieceSpec>,
    held: Vec<Residency>,
    /// Bytes of the pieces in memory, and how many that may be.
    resident: u64,
    limit: u64,
    ceiling: Option<u64>,
    scratch: Scratch,
    depth: usize,
    margin: u64,
    /// Where records are written in this round.
    end: Option<scratch::End>,
    /// Pieces to fill again, and a block to unpack to.
    spares: Vec<Piece>,
    spare: Block,
    /// Bytes of messages or labels of the documents visited in this pass.
    message_bytes: u64,
    traffic: Arc<Traffic>,
}

impl<'a> Store<'a> {
    /// The corpus, its blocks cut into pieces of so many non-zeros where that is given. Nothing is read yet; theta is zero.
    pub(crate) fn new(
        corpus: &'a Corpus,
        topics: u32,
        size: Option<u64>,
        keep: StateKind,
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
            keep,
            held: specs.iter().map(|_| Residency::default()).collect(),
            specs,
            resident: 0,
            // Without a place to go to everything stays.
            limit: budget.limit.filter(|_| budget.scratch.is_some()).unwrap_or(u64::MAX),
            ceiling: budget.ceiling.filter(|_| budget.scratch.is_some()),
            scratch: Scratch::new(budget.scratch),
            depth: budget.depth.clamp(1, MAX_DEPTH),
            margin: budget.margin,
            end: None,
            spares: Vec::new(),
            spare: Block::default(),
            message_bytes: 0,
            traffic: Arc::default(),
        }
    }

    /// Gives every document its start, where documents are visited one by one: `each(number, document, topics)` says the topic
    /// of every non-zero.
    pub(crate) fn scatter(
        &mut self,
        mut each: impl FnMut(u64, Document<'_>, &mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        self.visit(Selection::ALL, 0, true, |_, view| {
            view.start(&mut each)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Gives every document messages of whole topics: `topic_of` says which, non-zero by non-zero.
    pub(crate) fn start(&mut self, topic_of: &[u32], most: usize) -> Result<()> {
        let mut starts: Vec<(u64, usize)> = Vec::new();
        let mut spare = Block::default();
        self.visit(Selection::ALL, 0, false, |_, view| {
            for chunk in view.chunks() {
                let block = chunk.documents.open(&mut spare);
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
                let block = chunk.documents.open(&mut spare);
                chunk.messages.clear();
                for d in 0..block.documents() {
                    let (_, from) = starts[block.number(d) as usize];
                    chunk.messages.push_whole(&topic_of[from..from + block.document(d).words.len()], most);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Bytes of messages or labels of the documents visited in this round.
    pub(crate) fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    /// Into how many pieces the corpus is cut.
    pub(crate) fn pieces(&self) -> usize {
        self.specs.len()
    }

    /// Bytes read and written.
    pub(crate) fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    /// Frees the pieces and blocks that nothing is in, after the last pass.
    pub(crate) fn free_buffers(&mut self) {
        self.spares = Vec::new();
        self.spare = Block::default();
        process_memory::give_back();
    }

    /// Lets its pieces go, for good.
    pub(crate) fn empty(&mut self) {
        self.held = Vec::new();
        self.spares = Vec::new();
        self.spare = Block::default();
        process_memory::give_back();
    }

    /// Whether so many more bytes can stay in memory. Where the process has come near its ceiling less may stay from now on:
    /// what a list takes can be counted, and what the system's allocator makes of it can not.
    fn fits(&mut self, bytes: u64) -> bool {
        if let Some((ceiling, now)) = self.ceiling.zip(process_memory::resident()) {
            let near = (ceiling - ceiling / SLACK).saturating_sub(self.margin);
            if now > near {
                self.limit = self.limit.min(self.resident.saturating_sub(now - near));
                process_memory::give_back();
            }
        }
        self.resident.saturating_add(bytes) <= self.limit
    }

    /// Calls `each(number, document, theta)` for every document with words, piece by piece; what it writes to `theta[K]`
    /// stays where rows are kept and `change` is said.
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

    /// Where everything is, brought to the disk: for a checkpoint.
    pub(crate) fn save(&mut self) -> Result<Vec<Option<Location>>> {
        let mut end = None;
        let mut all = Vec::with_capacity(self.held.len());
        for held in &self.held {
            let at = match &held.piece {
                _ if self.keep.is_nothing() => None,
                None => held.at,
                Some(piece) => {
                    let end = match &mut end {
                        Some(end) => end,
                        none => none.insert(self.scratch.begin()?),
                    };
                    let at = end.append(|out| piece.put(out))?;
                    self.traffic.add_written(at.bytes);
                    Some(at)
                }
            };
            all.push(at);
        }
        self.scratch.sync(&files(&all))?;
        Ok(all)
    }

    /// The checkpoint that was saved is whole: files that only an earlier one needs may go.
    pub(crate) fn saved(&mut self, all: &[Option<Location>]) {
        self.scratch.hold(files(all));
        self.tidy();
    }

    /// Takes over what a checkpoint points to; `message_bytes` is that of the pass under way.
    pub(crate) fn restore(&mut self, all: Vec<Option<Location>>, message_bytes: u64) -> Result<()> {
        self.scratch.take_up(files(&all))?;
        for (held, at) in self.held.iter_mut().zip(all) {
            held.at = at;
        }
        self.message_bytes = message_bytes;
        Ok(())
    }

    /// The checkpoint was found to be whole: what it does not point to may go.
    pub(crate) fn restored(&self) {
        self.scratch.take_strays();
    }

    /// No checkpoint is needed any more.
    pub(crate) fn let_go(&mut self) {
        self.scratch.hold(BTreeSet::new());
    }

    /// Between two rounds: whether a new checkpoint, of so many bytes besides what is kept, would free much more than it takes.
    pub(crate) fn crowded(&self, more: u64) -> bool {
        self.scratch.bytes_held(&self.in_use()) / 2 > self.resident.saturating_add(more)
    }

    /// The files that pieces are in.
    fn in_use(&self) -> BTreeSet<u32> {
        files(self.held.iter().map(|held| &held.at))
    }

    fn tidy(&mut self) {
        let in_use = self.in_use();
        self.scratch.tidy(&in_use);
        self.traffic.disk.store(self.scratch.bytes(), Ordering::Relaxed);
    }
}

/// The files of some records.
fn files<'a>(all: impl IntoIterator<Item = &'a Option<Location>>) -> BTreeSet<u32> {
    all.into_iter().flatten().map(|at| at.file).collect()
}

/// The order of a visit's documents, where it is not the file's.
fn order_of(selection: Selection<'_>, visit: usize, documents: u32) -> Option<Cow<'_, [u32]>> {
    match selection {
        Selection::Every(_) => None,
        Selection::Order(Order::Given(visits)) => Some(Cow::Borrowed(&visits[visit].documents)),
        Selection::Order(Order::Random(blocks, seed)) => {
            let mut order: Vec<u32> = (0..documents).collect();
            Random::new(*seed, Purpose::DocumentOrder, blocks[visit] as u64).shuffle(&mut order);
            Some(Cow::Owned(order))
        }
    }
}
