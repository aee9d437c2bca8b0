//! Where documents and what is kept for them live: in memory as far as that goes, the rest in files.
//!
//! The corpus is cut into pieces by a rule of its own. A piece stays in memory, its documents packed, where there is room
//! for it; any other is read when its turn comes and written when it is done, by threads of their own (`flow`). The rest of
//! the library asks for visits and never learns where the bytes were.

mod flow;
mod piece;
mod scratch;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use flow::ROUND;
pub(crate) use piece::{Kept, OPEN_NONZERO, Piece, Run};
pub(crate) use scratch::{Location, clear};

use crate::corpus::{Block, Corpus, Document};
use crate::error::Result;
use crate::kernel::{Halves, LANES};
use crate::memory;
use crate::messages::UNITS;
use crate::plan::SLACK;
use crate::random::{Purpose, Random};
use crate::topics::stride;
use scratch::Scratch;

/// Documents of one block, in the order in which they are to be visited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) block: usize,
    pub(crate) documents: Vec<u32>,
}

/// An order of documents other than the file's.
#[derive(Debug)]
pub(crate) enum Order {
    /// Blocks in this order, and in each the documents in one drawn from the seed.
    Random(Vec<usize>, u64),
    Given(Vec<Visit>),
}

/// Which pieces are visited, and in which order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which<'a> {
    /// In the file's order, one in every so many, from the first on.
    Every(u64),
    Order(&'a Order),
}

impl Which<'_> {
    pub(crate) const ALL: Which<'static> = Which::Every(1);

    /// How many visits that are, of so many pieces.
    pub(crate) fn visits(self, pieces: usize) -> usize {
        match self {
            Which::Every(n) => (pieces as u64).div_ceil(n) as usize,
            Which::Order(Order::Random(blocks, _)) => blocks.len(),
            Which::Order(Order::Given(visits)) => visits.len(),
        }
    }

    /// The piece of a visit.
    fn piece(self, visit: usize) -> usize {
        match self {
            Which::Every(n) => visit * n as usize,
            Which::Order(Order::Random(blocks, _)) => blocks[visit],
            Which::Order(Order::Given(visits)) => visits[visit].block,
        }
    }
}

/// A piece on a visit.
#[derive(Debug)]
pub(crate) struct Visited<'a> {
    piece: &'a mut Piece,
    /// A block to unpack documents to.
    spare: &'a mut Block,
    /// The order of the documents, where it is not the file's.
    order: Option<Cow<'a, [u32]>>,
    topics: usize,
    /// Documents visited in this round, these included.
    so_far: u64,
}

impl<'a> Visited<'a> {
    /// Documents visited in this round, these included.
    pub(crate) fn so_far(&self) -> u64 {
        self.so_far
    }

    /// The runs of documents, where messages are kept.
    pub(crate) fn runs(self) -> &'a mut [Run] {
        match self.piece {
            Piece::Runs(runs) => runs,
            Piece::Rows { .. } => &mut [],
        }
    }

    /// The documents, and what is kept for them, where they are visited one by one. An order is left out: see
    /// [`each`](Visited::each).
    pub(crate) fn open(self) -> (&'a Block, &'a mut Kept) {
        let Visited { piece, spare, .. } = self;
        match piece {
            Piece::Rows { documents, kept } => (documents.open(spare), kept),
            // No algorithm that asks for this has runs.
            Piece::Runs(_) => unreachable!("documents in runs"),
        }
    }

    /// Calls `each(document, theta)` for every document with words, in order. An error comes with the document's number.
    pub(crate) fn each<E>(
        self,
        mut each: impl FnMut(Document<'_>, &mut [f32]) -> Result<(), E>,
    ) -> Result<(), (u64, E)> {
        self.each_with_messages(|document, theta, _| each(document, theta))
    }

    /// The same with the document's messages.
    pub(crate) fn each_with_messages<E>(
        mut self,
        mut each: impl FnMut(Document<'_>, &mut [f32], &mut [Halves]) -> Result<(), E>,
    ) -> Result<(), (u64, E)> {
        let (order, topics) = (self.order.take(), self.topics);
        let (block, kept) = self.open();
        let (theta, messages) = kept.theta_and_messages();
        let width = if messages.is_empty() { 0 } else { stride(topics as u32) };
        let mut one = |d: usize| {
            let document = block.document(d);
            if !document.words.is_empty() {
                let from = block.start(d) * width;
                let own = &mut messages[from..from + document.words.len() * width];
                each(document, &mut theta[d * topics..(d + 1) * topics], own)
                    .map_err(|e| (block.number(d), e))?;
            }
            Ok(())
        };
        match order {
            None => (0..block.documents()).try_for_each(&mut one)?,
            Some(order) => order.iter().try_for_each(|&d| one(d as usize))?,
        }
        Ok(())
    }

    /// Gives every document its start: `topic_of(number, document)` says the topic of each non-zero.
    fn start(self, each: &mut impl FnMut(u64, Document<'_>, &mut Vec<u32>) -> Result<()>) -> Result<()> {
        let topics = self.topics;
        let (block, kept) = self.open();
        let width = stride(topics as u32);
        let (mut labels, mut next) = (Vec::new(), 0);
        for (d, document) in block.iter().enumerate() {
            labels.clear();
            each(block.number(d), document, &mut labels)?;
            if let Kept::Labels(all) = kept {
                for (&k, &x) in labels.iter().zip(document.counts) {
                    all[next..next + x as usize].fill(k as u16);
                    next += x as usize;
                }
            }
            let (theta, messages) = kept.theta_and_messages();
            if let Some(theta) = theta.get_mut(d * topics..(d + 1) * topics) {
                for (&k, &x) in labels.iter().zip(document.counts) {
                    theta[k as usize] += x as f32;
                }
            }
            for (message, &k) in messages.chunks_exact_mut(width).skip(block.start(d)).zip(&labels) {
                message[k as usize / LANES].set(k as usize % LANES, 1.0);
            }
        }
        Ok(())
    }

    /// Calls `each(number, document, theta)` for every document with words; what it writes to `theta[K]` stays where rows are
    /// kept.
    fn rows(self, each: &mut impl FnMut(u64, Document<'_>, &mut [f32]) -> Result<()>) -> Result<()> {
        let Visited { piece, spare, topics, .. } = self;
        let mut row = vec![0f32; topics];
        match piece {
            Piece::Rows { documents, kept: Kept::Labels(labels) } => {
                let (block, mut labels) = (documents.open(spare), &labels[..]);
                for (d, document) in block.iter().enumerate() {
                    let (own, rest) = labels.split_at(document.tokens() as usize);
                    labels = rest;
                    row.fill(0.0);
                    for &k in own {
                        row[usize::from(k)] += 1.0;
                    }
                    if !document.words.is_empty() {
                        each(block.number(d), document, &mut row)?;
                    }
                }
            }
            Piece::Rows { documents, kept } => {
                let block = documents.open(spare);
                let theta = kept.theta().chunks_exact_mut(topics);
                for ((d, document), theta) in block.iter().enumerate().zip(theta) {
                    if !document.words.is_empty() {
                        each(block.number(d), document, theta)?;
                    }
                }
            }
            Piece::Runs(runs) => {
                for run in runs {
                    let block = run.documents.open(spare);
                    let nonzeros = |d: usize| block.document(d).words.len();
                    for (d, kept) in run.messages.documents(nonzeros).enumerate() {
                        let document = block.document(d);
                        row.fill(0.0);
                        for (message, &x) in kept.iter().zip(document.counts) {
                            for part in message {
                                let tokens = x as f32 * f32::from(part.units()) / UNITS as f32;
                                row[kept.topics[part.place()] as usize] += tokens;
                            }
                        }
                        if !document.words.is_empty() {
                            each(block.number(d), document, &mut row)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// What is kept of documents between two visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// theta, as rows of K.
    Theta,
    /// theta, and a message of K numbers of 16 bits for every non-zero.
    Messages,
    /// A topic for every token; theta is their number.
    Labels,
    /// Small messages, whose sum theta is, in runs of documents.
    SmallMessages,
    /// Nothing, but in runs of documents.
    Anew,
}

impl Keep {
    fn nothing(self) -> bool {
        matches!(self, Keep::Nothing | Keep::Anew)
    }
}

/// What the store may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    /// Bytes for pieces that stay in memory; no limit where there is none.
    pub(crate) limit: Option<u64>,
    /// What the whole process may have; pieces leave the memory before that.
    pub(crate) ceiling: Option<u64>,
    /// Where files can go.
    pub(crate) scratch: Option<PathBuf>,
}

/// A part of a block of the file: one document in every `count`, beginning with `from`.
#[derive(Debug, Clone, Copy)]
struct Cut {
    block: u32,
    count: u32,
    from: u32,
}

/// Where a piece is.
#[derive(Debug, Default)]
struct Held {
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
    keep: Keep,
    cuts: Vec<Cut>,
    held: Vec<Held>,
    /// Bytes of the pieces in memory, and how many that may be.
    resident: u64,
    limit: u64,
    ceiling: Option<u64>,
    scratch: Scratch,
    /// Where records are written in this round.
    end: Option<scratch::End>,
    /// Pieces to fill again, and a block to unpack to.
    spares: Vec<Piece>,
    spare: Block,
    /// Topics in use of the documents visited in this round, and how many documents have any.
    active: (u64, u64),
    documents: u64,
    message_bytes: u64,
    traffic: Arc<Traffic>,
}

impl<'a> Store<'a> {
    /// The corpus, its blocks cut into pieces of so many non-zeros where that is given. Nothing is read yet; theta is zero.
    pub(crate) fn new(
        corpus: &'a Corpus,
        topics: u32,
        size: Option<u64>,
        keep: Keep,
        room: Room,
    ) -> Store<'a> {
        let mut cuts = Vec::new();
        for block in 0..corpus.blocks() {
            let count = corpus.block_pieces(block, size) as u32;
            cuts.extend((0..count).map(|from| Cut { block: block as u32, count, from }));
        }
        Store {
            corpus,
            topics,
            keep,
            held: cuts.iter().map(|_| Held::default()).collect(),
            cuts,
            resident: 0,
            // Without a place to go to everything stays.
            limit: room.limit.filter(|_| room.scratch.is_some()).unwrap_or(u64::MAX),
            ceiling: room.ceiling.filter(|_| room.scratch.is_some()),
            scratch: Scratch::new(room.scratch),
            end: None,
            spares: Vec::new(),
            spare: Block::default(),
            active: (0, 0),
            documents: 0,
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
        self.visit(Which::ALL, 0, true, |_, visit| {
            visit.start(&mut each)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Gives every document messages of whole topics: `topic_of` says which, non-zero by non-zero.
    pub(crate) fn start(&mut self, topic_of: &[u32], most: usize) -> Result<()> {
        let mut starts: Vec<(u64, usize)> = Vec::new();
        let mut spare = Block::default();
        self.visit(Which::ALL, 0, false, |_, visit| {
            for run in visit.runs() {
                let block = run.documents.open(&mut spare);
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
        self.visit(Which::ALL, 0, true, |_, visit| {
            for run in visit.runs() {
                let block = run.documents.open(&mut spare);
                run.messages.clear();
                for d in 0..block.documents() {
                    let (_, from) = starts[block.number(d) as usize];
                    run.messages.push_whole(&topic_of[from..from + block.document(d).words.len()], most);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Topics in use per document that has words, of those visited in this round.
    pub(crate) fn active_topics(&self) -> f64 {
        match self.keep {
            Keep::Nothing | Keep::Theta | Keep::Messages | Keep::Labels => f64::from(self.topics),
            Keep::SmallMessages | Keep::Anew => self.active.0 as f64 / self.active.1.max(1) as f64,
        }
    }

    /// Bytes of messages or labels of the documents visited in this round.
    pub(crate) fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    /// Into how many pieces the corpus is cut.
    pub(crate) fn pieces(&self) -> usize {
        self.cuts.len()
    }

    /// Bytes read and written.
    pub(crate) fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    /// Lets its pieces go, for good.
    pub(crate) fn empty(&mut self) {
        self.held = Vec::new();
        self.spares = Vec::new();
        self.spare = Block::default();
        memory::give_back();
    }

    /// Whether so many more bytes can stay in memory. Where the process has come near its ceiling less may stay from now on:
    /// what a list takes can be counted, and what the system's allocator makes of it can not.
    fn fits(&mut self, bytes: u64) -> bool {
        if let Some((ceiling, now)) = self.ceiling.zip(memory::resident()) {
            let near = ceiling - ceiling / SLACK;
            if now > near {
                self.limit = self.limit.min(self.resident.saturating_sub(now - near));
                memory::give_back();
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
        self.visit(Which::ALL, 0, change, |_, visit| {
            visit.rows(&mut each)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Where everything is, brought to the disk: for a checkpoint.
    pub(crate) fn save(&mut self) -> Result<Vec<Option<Location>>> {
        let mut end = None;
        let mut buffer = Vec::new();
        let mut all = Vec::with_capacity(self.held.len());
        for held in &self.held {
            let at = match &held.piece {
                _ if self.keep.nothing() => None,
                None => held.at,
                Some(piece) => {
                    buffer.clear();
                    piece.put(&mut buffer);
                    let end = match &mut end {
                        Some(end) => end,
                        none => none.insert(self.scratch.begin()?),
                    };
                    self.traffic.add_written(buffer.len() as u64);
                    Some(end.append(&buffer)?)
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

    /// Takes up where a checkpoint has left everything.
    pub(crate) fn restore(
        &mut self,
        all: Vec<Option<Location>>,
        so_far: ((u64, u64), u64, u64),
    ) -> Result<()> {
        self.scratch.take_up(files(&all))?;
        for (held, at) in self.held.iter_mut().zip(all) {
            held.at = at;
        }
        (self.active, self.documents, self.message_bytes) = so_far;
        Ok(())
    }

    /// The checkpoint was found to be whole: what it does not point to may go.
    pub(crate) fn restored(&self) {
        self.scratch.take_strays();
    }

    /// Topics in use, documents and bytes of messages of this round so far, as [`Store::restore`] wants them.
    pub(crate) fn so_far(&self) -> ((u64, u64), u64, u64) {
        (self.active, self.documents, self.message_bytes)
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
fn order_of(which: Which<'_>, visit: usize, documents: u32) -> Option<Cow<'_, [u32]>> {
    match which {
        Which::Every(_) => None,
        Which::Order(Order::Given(visits)) => Some(Cow::Borrowed(&visits[visit].documents)),
        Which::Order(Order::Random(blocks, seed)) => {
            let mut order: Vec<u32> = (0..documents).collect();
            Random::new(*seed, Purpose::DocumentOrder, blocks[visit] as u64).shuffle(&mut order);
            Some(Cow::Owned(order))
        }
    }
}
