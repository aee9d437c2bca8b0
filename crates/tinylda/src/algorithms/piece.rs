//! A piece of the corpus: documents, and the state state for them between two visits.
//!
//! A block of the corpus file is cut into pieces, the unit of residency; where messages are state a piece is cut into chunks,
//! the unit of work of a thread. Where pieces live is decided by `store`; what the state means only the algorithms know.

use std::borrow::Cow;
use std::ops::Range;

use half::f16;

use super::PassKind;
use super::tbp::messages::{Messages, UNITS_PER_TOKEN};
use crate::corpus::{Block, Document, MAX_CHUNKS, Packed};
use crate::error::Result;
use crate::numbers::{Number, NumberReader, NumberWriter};
use crate::simd::{Halves, LANES};
use crate::topics::stride;

/// What is state of documents between two visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    Nothing,
    /// theta, as rows of K floats.
    Theta,
    /// theta, and a message of K 16-bit floats for every non-zero.
    Messages,
    /// A topic for every token; theta is their number.
    Labels,
    /// Quantized messages, whose sum is theta, in chunks of documents.
    QuantizedMessages,
    /// Nothing, but in chunks of documents.
    Chunks,
}

impl StateKind {
    /// Whether nothing is state.
    pub(crate) fn is_nothing(self) -> bool {
        matches!(self, StateKind::Nothing | StateKind::Chunks)
    }
}

/// What a list in memory takes besides what is in it.
const LIST: u64 = 16;

/// Bytes of a non-zero that is not packed.
pub(crate) const OPEN_NONZERO: u64 = 8;

/// Documents, packed where they stay, open where they are just passing through.
#[derive(Debug)]
pub(crate) enum Documents {
    Packed(Packed),
    Open(Block),
}

impl Default for Documents {
    fn default() -> Documents {
        Documents::Open(Block::default())
    }
}

impl Documents {
    /// The documents; `spare` is where they are unpacked to.
    pub(crate) fn open<'a>(&'a self, spare: &'a mut Block) -> &'a Block {
        match self {
            Documents::Packed(packed) => {
                packed.unpack(spare);
                spare
            }
            Documents::Open(block) => block,
        }
    }

    pub(crate) fn nonzeros(&self) -> usize {
        match self {
            Documents::Packed(packed) => packed.nonzeros(),
            Documents::Open(block) => block.nonzeros(),
        }
    }

    pub(crate) fn documents(&self) -> usize {
        match self {
            Documents::Packed(packed) => packed.documents(),
            Documents::Open(block) => block.documents(),
        }
    }

    /// Becomes some documents of a block.
    fn fill(&mut self, block: &Block, range: Range<usize>) -> &Block {
        if let Documents::Packed(_) = self {
            *self = Documents::default();
        }
        match self {
            Documents::Open(own) => {
                own.part_of(block, range);
                own
            }
            Documents::Packed(_) => unreachable!("opened above"),
        }
    }

    fn pack(&mut self) {
        if let Documents::Open(block) = self {
            *self = Documents::Packed(Packed::new(block, 0..block.documents()));
        }
    }

    /// Bytes of memory when packed; about, where they are open still.
    fn bytes(&self) -> u64 {
        match self {
            Documents::Packed(packed) => packed.bytes() + LIST,
            Documents::Open(block) => 3 * block.nonzeros() as u64 + 2 * block.documents() as u64,
        }
    }
}

/// Bytes of memory of documents that are not packed.
fn open_bytes(documents: &Documents) -> u64 {
    OPEN_NONZERO * documents.nonzeros() as u64 + 16 * documents.documents() as u64
}

/// Documents that one thread updates, and their messages.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) documents: Documents,
    pub(crate) messages: Messages,
}

/// The state of documents that are visited one by one, in their order.
#[derive(Debug)]
pub(crate) enum DocumentState {
    Nothing,
    /// A row of K for every document.
    Theta(Vec<f32>),
    /// And a message for every non-zero: a row of K numbers of 16 bits, padded.
    Messages(Vec<f32>, Vec<Halves>),
    /// A topic for every token.
    Labels(Vec<u16>),
}

impl DocumentState {
    /// Returns theta, where it is kept.
    pub(crate) fn theta(&mut self) -> &mut [f32] {
        match self {
            DocumentState::Theta(theta) | DocumentState::Messages(theta, _) => theta,
            DocumentState::Nothing | DocumentState::Labels(_) => &mut [],
        }
    }

    /// Returns theta and the messages, where they are kept.
    pub(crate) fn theta_and_messages(&mut self) -> (&mut [f32], &mut [Halves]) {
        match self {
            DocumentState::Messages(theta, messages) => (theta, messages),
            other => (other.theta(), &mut []),
        }
    }

    /// Returns the labels, where they are kept.
    pub(crate) fn labels(&mut self) -> &mut [u16] {
        match self {
            DocumentState::Labels(labels) => labels,
            _ => &mut [],
        }
    }

    /// Becomes that of these documents, all zero.
    fn fill(&mut self, block: &Block, topics: usize) {
        fn zeros<T: Copy>(list: &mut Vec<T>, n: usize, zero: T) {
            list.clear();
            list.resize(n, zero);
        }
        match self {
            DocumentState::Nothing => {}
            DocumentState::Theta(theta) => zeros(theta, block.documents() * topics, 0.0),
            DocumentState::Messages(theta, messages) => {
                zeros(theta, block.documents() * topics, 0.0);
                zeros(messages, block.nonzeros() * stride(topics as u32), Halves::ZERO);
            }
            DocumentState::Labels(labels) => {
                let tokens: u64 = block.iter().map(|document| document.tokens()).sum();
                zeros(labels, tokens as usize, 0);
            }
        }
    }

    /// Bytes of memory, and how many of them are for messages or labels.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let theta = |theta: &[f32]| 4 * theta.len() as u64;
        match self {
            DocumentState::Nothing => (0, 0),
            DocumentState::Theta(rows) => (theta(rows), 0),
            DocumentState::Messages(rows, messages) => {
                let messages = size_of_val(&messages[..]) as u64;
                (theta(rows) + messages, messages)
            }
            DocumentState::Labels(labels) => (2 * labels.len() as u64, 2 * labels.len() as u64),
        }
    }
}

/// Documents and their state; see the module.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Documents to be visited one by one.
    Rows { documents: Documents, state: DocumentState },
    /// Chunks of documents with their messages, whose sum is theta.
    Chunks(Vec<Chunk>),
}

impl Piece {
    /// Bytes of the lists of a piece besides what is in them: seven in each chunk.
    pub(crate) const OVERHEAD: u64 = MAX_CHUNKS * (size_of::<Chunk>() as u64 + 7 * LIST);

    pub(crate) fn new(kind: StateKind) -> Piece {
        let state = match kind {
            StateKind::QuantizedMessages | StateKind::Chunks => return Piece::Chunks(Vec::new()),
            StateKind::Nothing => DocumentState::Nothing,
            StateKind::Theta => DocumentState::Theta(Vec::new()),
            StateKind::Messages => DocumentState::Messages(Vec::new(), Vec::new()),
            StateKind::Labels => DocumentState::Labels(Vec::new()),
        };
        Piece::Rows { documents: Documents::default(), state }
    }

    /// Becomes the piece of these documents, with an empty state.
    pub(crate) fn fill(&mut self, block: &Block, topics: usize) {
        match self {
            Piece::Rows { documents, state } => {
                documents.fill(block, 0..block.documents());
                state.fill(block, topics);
            }
            Piece::Chunks(chunks) => {
                let ranges = block.runs();
                chunks.resize_with(ranges.len(), Chunk::default);
                for (chunk, range) in chunks.iter_mut().zip(ranges) {
                    let own = chunk.documents.fill(block, range);
                    chunk.messages.none((0..own.documents()).map(|d| own.document(d).words.len()));
                }
            }
        }
    }

    /// Writes the state.
    pub(crate) fn put(&self, out: &mut NumberWriter<'_>) -> Result<()> {
        match self {
            Piece::Rows { state, .. } => match state {
                DocumentState::Nothing => Ok(()),
                DocumentState::Theta(theta) => out.put(theta),
                DocumentState::Messages(theta, messages) => {
                    out.put(theta)?;
                    messages.iter().try_for_each(|row| out.put(&row.0.map(f16::to_bits)))
                }
                DocumentState::Labels(labels) => out.put(labels),
            },
            Piece::Chunks(chunks) => chunks.iter().try_for_each(|chunk| chunk.messages.put(out)),
        }
    }

    /// Takes what [`Piece::put`] wrote; none where that is not so.
    pub(crate) fn take(&mut self, from: &mut NumberReader<'_>) -> Result<Option<()>> {
        fn again<T: Number>(from: &mut NumberReader<'_>, list: &mut Vec<T>) -> Result<Option<()>> {
            from.take(list.len(), list)
        }
        let taken = match self {
            Piece::Rows { state, .. } => match state {
                DocumentState::Nothing => Some(()),
                DocumentState::Theta(theta) => again(from, theta)?,
                DocumentState::Messages(theta, messages) => {
                    let (mut taken, mut row) = (again(from, theta)?, Vec::new());
                    for message in messages.iter_mut() {
                        taken = taken.and(from.take(LANES, &mut row)?);
                        for (to, &bits) in message.0.iter_mut().zip(&row) {
                            *to = f16::from_bits(bits);
                        }
                    }
                    taken
                }
                DocumentState::Labels(labels) => again(from, labels)?,
            },
            Piece::Chunks(chunks) => {
                let mut taken = Some(());
                for Chunk { documents, messages } in chunks {
                    let own = messages.take(from, documents.documents(), documents.nonzeros())?;
                    taken = taken.and(own);
                }
                taken
            }
        };
        Ok(taken.filter(|()| from.is_empty()))
    }

    /// Whether all that the algorithms rely on holds: asked of what another process has written.
    pub(crate) fn sound(&self, topics: u32, spare: &mut Block) -> bool {
        let numbers = |all: &[f32]| all.iter().all(|v| v.is_finite() && *v >= 0.0);
        match self {
            Piece::Rows { state, .. } => match state {
                DocumentState::Nothing => true,
                DocumentState::Theta(theta) => numbers(theta),
                DocumentState::Messages(theta, messages) => {
                    numbers(theta)
                        && messages.iter().flat_map(|row| row.0).all(|v| v.is_finite() && v >= f16::ZERO)
                }
                DocumentState::Labels(labels) => labels.iter().all(|&k| u32::from(k) < topics),
            },
            Piece::Chunks(chunks) => chunks.iter().all(|chunk| {
                let block = chunk.documents.open(spare);
                chunk.messages.sound(|d| block.document(d).words.len(), topics)
            }),
        }
    }

    /// Makes itself small, to stay in memory.
    pub(crate) fn pack(&mut self) {
        match self {
            Piece::Rows { documents, state } => {
                // Beside messages of K numbers documents are small, and unpacking them would take a twentieth of a pass.
                if !matches!(state, DocumentState::Messages(..)) {
                    documents.pack();
                }
                match state {
                    DocumentState::Nothing => {}
                    DocumentState::Theta(theta) => theta.shrink_to_fit(),
                    DocumentState::Messages(theta, messages) => {
                        theta.shrink_to_fit();
                        messages.shrink_to_fit();
                    }
                    DocumentState::Labels(labels) => labels.shrink_to_fit(),
                }
            }
            Piece::Chunks(chunks) => {
                chunks.shrink_to_fit();
                for chunk in chunks.iter_mut().filter(|chunk| matches!(chunk.documents, Documents::Open(_))) {
                    chunk.documents.pack();
                    chunk.messages.shrink();
                }
            }
        }
    }

    /// Bytes of memory when packed.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Piece::Rows { documents, state } => {
                let open = if let DocumentState::Messages(..) = state {
                    open_bytes(documents)
                } else {
                    documents.bytes()
                };
                open + state.bytes().0 + 2 * LIST
            }
            Piece::Chunks(chunks) => chunks
                .iter()
                .map(|chunk| {
                    chunk.documents.bytes() + chunk.messages.bytes() + size_of::<Chunk>() as u64 + 4 * LIST
                })
                .sum(),
        }
    }

    /// Bytes of messages or labels.
    pub(crate) fn message_bytes(&self) -> u64 {
        match self {
            Piece::Rows { state, .. } => state.bytes().1,
            Piece::Chunks(chunks) => chunks.iter().map(|chunk| chunk.messages.bytes()).sum(),
        }
    }

    pub(crate) fn documents(&self) -> u64 {
        match self {
            Piece::Rows { documents, .. } => documents.documents() as u64,
            Piece::Chunks(chunks) => chunks.iter().map(|chunk| chunk.documents.documents() as u64).sum(),
        }
    }
}

/// A piece on a visit.
#[derive(Debug)]
pub(crate) struct PieceView<'a> {
    piece: &'a mut Piece,
    /// A block to unpack documents to.
    spare: &'a mut Block,
    /// The order of the documents, where it is not the file's.
    order: Option<Cow<'a, [u32]>>,
    topics: usize,
    /// What the pass is for.
    pub(crate) kind: PassKind,
    /// Whether this is the first piece of the pass.
    pub(crate) first: bool,
    /// Whether a step ends with this piece: the topics follow what its documents have changed.
    pub(crate) ends_step: bool,
}

impl<'a> PieceView<'a> {
    /// Views a piece of `topics` topics. Documents are unpacked to `spare`; `order` is the order of the documents where it is
    /// not that of the file.
    pub(crate) fn new(
        piece: &'a mut Piece,
        spare: &'a mut Block,
        order: Option<Cow<'a, [u32]>>,
        topics: usize,
    ) -> PieceView<'a> {
        PieceView { piece, spare, order, topics, kind: PassKind::Plain, first: false, ends_step: true }
    }

    /// Number of documents of the piece.
    pub(crate) fn documents(&self) -> u64 {
        self.piece.documents()
    }

    /// Returns the chunks of documents, where messages are kept.
    pub(crate) fn chunks(self) -> &'a mut [Chunk] {
        match self.piece {
            Piece::Chunks(chunks) => chunks,
            Piece::Rows { .. } => &mut [],
        }
    }

    /// The documents, and what is kept for them, where they are visited one by one. An order is left out: see
    /// [`each`](PieceView::each).
    pub(crate) fn open(self) -> (&'a Block, &'a mut DocumentState) {
        let PieceView { piece, spare, .. } = self;
        match piece {
            Piece::Rows { documents, state } => (documents.open(spare), state),
            // No algorithm that asks for this has runs.
            Piece::Chunks(_) => unreachable!("documents in runs"),
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
        let (block, state) = self.open();
        let (theta, messages) = state.theta_and_messages();
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
    pub(crate) fn start(
        self,
        each: &mut impl FnMut(u64, Document<'_>, &mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        let topics = self.topics;
        let (block, state) = self.open();
        let width = stride(topics as u32);
        let (mut labels, mut next) = (Vec::new(), 0);
        for (d, document) in block.iter().enumerate() {
            labels.clear();
            each(block.number(d), document, &mut labels)?;
            if let DocumentState::Labels(all) = state {
                for (&k, &x) in labels.iter().zip(document.counts) {
                    all[next..next + x as usize].fill(k as u16);
                    next += x as usize;
                }
            }
            let (theta, messages) = state.theta_and_messages();
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

    /// Calls `each(number, document, theta)` for every document with words; what it writes to `theta[K]` stays where theta is
    /// kept.
    pub(crate) fn for_each_theta<E>(
        self,
        mut each: impl FnMut(u64, Document<'_>, &mut [f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let PieceView { piece, spare, topics, .. } = self;
        let mut row = vec![0f32; topics];
        match piece {
            Piece::Rows { documents, state: DocumentState::Labels(labels) } => {
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
            Piece::Rows { documents, state } => {
                let block = documents.open(spare);
                let theta = state.theta().chunks_exact_mut(topics);
                for ((d, document), theta) in block.iter().enumerate().zip(theta) {
                    if !document.words.is_empty() {
                        each(block.number(d), document, theta)?;
                    }
                }
            }
            Piece::Chunks(chunks) => {
                for chunk in chunks {
                    let block = chunk.documents.open(spare);
                    let nonzeros = |d: usize| block.document(d).words.len();
                    for (d, messages) in chunk.messages.documents(nonzeros).enumerate() {
                        let document = block.document(d);
                        row.fill(0.0);
                        for (message, &x) in messages.iter().zip(document.counts) {
                            for part in message {
                                let tokens = x as f32 * f32::from(part.units()) / UNITS_PER_TOKEN as f32;
                                row[messages.topics[part.place()] as usize] += tokens;
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
