//! A piece of the corpus: documents and the state kept for them between visits.
//!
//! A block of the corpus file is divided into pieces, the unit of residency. If quantized messages
//! are kept, a piece is divided into chunks, the unit of work of a thread. `store` decides where
//! pieces are kept; only the algorithms know what the state means. Start reading at [`Piece`] and
//! [`PieceView`].

use std::borrow::Cow;
use std::ops::Range;

use half::f16;

use super::schedule::PassKind;
use super::tbp::messages::{Messages, UNITS_PER_TOKEN};
use crate::corpus::{Block, Document, MAX_CHUNKS, PackedDocuments};
use crate::error::Result;
use crate::numbers::{Number, NumberReader, NumberWriter};
use crate::simd::{Halves, LANES};
use crate::topics::stride;

/// Kind of state kept per document between visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    /// No state.
    Nothing,
    /// theta as rows of K floats.
    Theta,
    /// theta, and a message of K 16-bit floats for every non-zero.
    Messages,
    /// A topic for every token; theta counts them.
    Labels,
    /// Quantized messages in chunks of documents. theta is the sum of the messages.
    QuantizedMessages,
    /// No state, but documents are divided into chunks.
    Chunks,
}

impl StateKind {
    /// Returns whether no state is kept.
    pub(crate) fn is_nothing(self) -> bool {
        matches!(self, StateKind::Nothing | StateKind::Chunks)
    }
}

/// Overhead of a list in memory, in bytes.
const LIST_OVERHEAD: u64 = 16;

/// Bytes of an unpacked non-zero.
pub(crate) const UNPACKED_NONZERO_BYTES: u64 = 8;

/// Documents of a piece: packed if they stay in memory, unpacked if they are only passing through.
#[derive(Debug)]
pub(crate) enum PieceDocuments {
    Packed(PackedDocuments),
    Unpacked(Block),
}

impl Default for PieceDocuments {
    fn default() -> PieceDocuments {
        PieceDocuments::Unpacked(Block::default())
    }
}

impl PieceDocuments {
    /// Returns the unpacked documents. `spare` is the buffer to unpack to.
    pub(crate) fn unpacked<'a>(&'a self, spare: &'a mut Block) -> &'a Block {
        match self {
            PieceDocuments::Packed(packed) => {
                packed.unpack(spare);
                spare
            }
            PieceDocuments::Unpacked(block) => block,
        }
    }

    pub(crate) fn nonzeros(&self) -> usize {
        match self {
            PieceDocuments::Packed(packed) => packed.nonzeros(),
            PieceDocuments::Unpacked(block) => block.nonzeros(),
        }
    }

    pub(crate) fn documents(&self) -> usize {
        match self {
            PieceDocuments::Packed(packed) => packed.documents(),
            PieceDocuments::Unpacked(block) => block.documents(),
        }
    }

    /// Replaces the contents with some documents of a block, unpacked.
    fn fill(&mut self, block: &Block, range: Range<usize>) -> &Block {
        if let PieceDocuments::Packed(_) = self {
            *self = PieceDocuments::default();
        }
        match self {
            PieceDocuments::Unpacked(own) => {
                own.copy_range_from(block, range);
                own
            }
            PieceDocuments::Packed(_) => unreachable!("opened above"),
        }
    }

    fn pack(&mut self) {
        if let PieceDocuments::Unpacked(block) = self {
            *self = PieceDocuments::Packed(PackedDocuments::new(block, 0..block.documents()));
        }
    }

    /// Returns the bytes of memory when packed; an estimate if the documents are still unpacked.
    fn bytes(&self) -> u64 {
        match self {
            PieceDocuments::Packed(packed) => packed.bytes() + LIST_OVERHEAD,
            PieceDocuments::Unpacked(block) => 3 * block.nonzeros() as u64 + 2 * block.documents() as u64,
        }
    }
}

/// Returns the bytes of memory of unpacked documents.
fn unpacked_bytes(documents: &PieceDocuments) -> u64 {
    UNPACKED_NONZERO_BYTES * documents.nonzeros() as u64 + 16 * documents.documents() as u64
}

/// Documents that one thread updates, and their messages.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) documents: PieceDocuments,
    pub(crate) messages: Messages,
}

/// State of documents that are visited one by one, in their order.
#[derive(Debug)]
pub(crate) enum PieceState {
    /// No state.
    Nothing,
    /// theta: a row of K numbers for every document.
    Theta(Vec<f32>),
    /// theta, and a message for every non-zero: a padded row of K 16-bit floats.
    Messages(Vec<f32>, Vec<Halves>),
    /// A topic for every token.
    Labels(Vec<u16>),
}

impl PieceState {
    /// Returns theta; empty if it is not kept.
    pub(crate) fn theta(&mut self) -> &mut [f32] {
        match self {
            PieceState::Theta(theta) | PieceState::Messages(theta, _) => theta,
            PieceState::Nothing | PieceState::Labels(_) => &mut [],
        }
    }

    /// Returns theta and the messages; empty if they are not kept.
    pub(crate) fn theta_and_messages(&mut self) -> (&mut [f32], &mut [Halves]) {
        match self {
            PieceState::Messages(theta, messages) => (theta, messages),
            other => (other.theta(), &mut []),
        }
    }

    /// Returns the labels; empty if they are not kept.
    pub(crate) fn labels(&mut self) -> &mut [u16] {
        match self {
            PieceState::Labels(labels) => labels,
            _ => &mut [],
        }
    }

    /// Replaces the contents with the state of these documents, all zero.
    fn fill(&mut self, block: &Block, topics: usize) {
        fn zeros<T: Copy>(list: &mut Vec<T>, n: usize, zero: T) {
            list.clear();
            list.resize(n, zero);
        }
        match self {
            PieceState::Nothing => {}
            PieceState::Theta(theta) => zeros(theta, block.documents() * topics, 0.0),
            PieceState::Messages(theta, messages) => {
                zeros(theta, block.documents() * topics, 0.0);
                zeros(messages, block.nonzeros() * stride(topics as u32), Halves::ZERO);
            }
            PieceState::Labels(labels) => {
                let tokens: u64 = block.iter().map(|document| document.tokens()).sum();
                zeros(labels, tokens as usize, 0);
            }
        }
    }

    /// Returns the bytes of memory, and how many of them are messages or labels.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let theta = |theta: &[f32]| 4 * theta.len() as u64;
        match self {
            PieceState::Nothing => (0, 0),
            PieceState::Theta(rows) => (theta(rows), 0),
            PieceState::Messages(rows, messages) => {
                let messages = size_of_val(&messages[..]) as u64;
                (theta(rows) + messages, messages)
            }
            PieceState::Labels(labels) => (2 * labels.len() as u64, 2 * labels.len() as u64),
        }
    }
}

/// Documents and their state: the unit of residency.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Documents that are visited one by one.
    Rows { documents: PieceDocuments, state: PieceState },
    /// Chunks of documents with their messages. theta is the sum of the messages.
    Chunks(Vec<Chunk>),
}

impl Piece {
    /// Overhead of the lists of a piece, in bytes: seven lists per chunk.
    pub(crate) const OVERHEAD: u64 = MAX_CHUNKS * (size_of::<Chunk>() as u64 + 7 * LIST_OVERHEAD);

    pub(crate) fn new(kind: StateKind) -> Piece {
        let state = match kind {
            StateKind::QuantizedMessages | StateKind::Chunks => return Piece::Chunks(Vec::new()),
            StateKind::Nothing => PieceState::Nothing,
            StateKind::Theta => PieceState::Theta(Vec::new()),
            StateKind::Messages => PieceState::Messages(Vec::new(), Vec::new()),
            StateKind::Labels => PieceState::Labels(Vec::new()),
        };
        Piece::Rows { documents: PieceDocuments::default(), state }
    }

    /// Replaces the contents with these documents and an empty state.
    pub(crate) fn fill(&mut self, block: &Block, topics: usize) {
        match self {
            Piece::Rows { documents, state } => {
                documents.fill(block, 0..block.documents());
                state.fill(block, topics);
            }
            Piece::Chunks(chunks) => {
                let ranges = block.chunks();
                chunks.resize_with(ranges.len(), Chunk::default);
                for (chunk, range) in chunks.iter_mut().zip(ranges) {
                    let own = chunk.documents.fill(block, range);
                    chunk.messages.reset((0..own.documents()).map(|d| own.document(d).words.len()));
                }
            }
        }
    }

    /// Writes the state.
    pub(crate) fn write_state(&self, out: &mut NumberWriter<'_>) -> Result<()> {
        match self {
            Piece::Rows { state, .. } => match state {
                PieceState::Nothing => Ok(()),
                PieceState::Theta(theta) => out.put(theta),
                PieceState::Messages(theta, messages) => {
                    out.put(theta)?;
                    messages.iter().try_for_each(|row| out.put(&row.0.map(f16::to_bits)))
                }
                PieceState::Labels(labels) => out.put(labels),
            },
            Piece::Chunks(chunks) => chunks.iter().try_for_each(|chunk| chunk.messages.put(out)),
        }
    }

    /// Reads the state that [`Piece::write_state`] wrote; `None` if it does not fit these
    /// documents.
    pub(crate) fn read_state(&mut self, from: &mut NumberReader<'_>) -> Result<Option<()>> {
        fn again<T: Number>(from: &mut NumberReader<'_>, list: &mut Vec<T>) -> Result<Option<()>> {
            from.take(list.len(), list)
        }
        let taken = match self {
            Piece::Rows { state, .. } => match state {
                PieceState::Nothing => Some(()),
                PieceState::Theta(theta) => again(from, theta)?,
                PieceState::Messages(theta, messages) => {
                    let (mut taken, mut row) = (again(from, theta)?, Vec::new());
                    for message in messages.iter_mut() {
                        taken = taken.and(from.take(LANES, &mut row)?);
                        for (to, &bits) in message.0.iter_mut().zip(&row) {
                            *to = f16::from_bits(bits);
                        }
                    }
                    taken
                }
                PieceState::Labels(labels) => again(from, labels)?,
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

    /// Returns whether the state satisfies everything that the algorithms rely on. Used to validate
    /// state that another process has written.
    pub(crate) fn is_valid(&self, topics: u32, spare: &mut Block) -> bool {
        let numbers = |all: &[f32]| all.iter().all(|v| v.is_finite() && *v >= 0.0);
        match self {
            Piece::Rows { state, .. } => match state {
                PieceState::Nothing => true,
                PieceState::Theta(theta) => numbers(theta),
                PieceState::Messages(theta, messages) => {
                    numbers(theta)
                        && messages.iter().flat_map(|row| row.0).all(|v| v.is_finite() && v >= f16::ZERO)
                }
                PieceState::Labels(labels) => labels.iter().all(|&k| u32::from(k) < topics),
            },
            Piece::Chunks(chunks) => chunks.iter().all(|chunk| {
                let block = chunk.documents.unpacked(spare);
                chunk.messages.is_valid(|d| block.document(d).words.len(), topics)
            }),
        }
    }

    /// Packs the piece, to stay in memory.
    pub(crate) fn pack(&mut self) {
        match self {
            Piece::Rows { documents, state } => {
                // Documents are small compared to messages of K numbers, and unpacking them would
                // take a twentieth of a pass.
                if !matches!(state, PieceState::Messages(..)) {
                    documents.pack();
                }
                match state {
                    PieceState::Nothing => {}
                    PieceState::Theta(theta) => theta.shrink_to_fit(),
                    PieceState::Messages(theta, messages) => {
                        theta.shrink_to_fit();
                        messages.shrink_to_fit();
                    }
                    PieceState::Labels(labels) => labels.shrink_to_fit(),
                }
            }
            Piece::Chunks(chunks) => {
                chunks.shrink_to_fit();
                for chunk in
                    chunks.iter_mut().filter(|chunk| matches!(chunk.documents, PieceDocuments::Unpacked(_)))
                {
                    chunk.documents.pack();
                    chunk.messages.shrink();
                }
            }
        }
    }

    /// Returns the bytes of memory when packed.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Piece::Rows { documents, state } => {
                let open = if let PieceState::Messages(..) = state {
                    unpacked_bytes(documents)
                } else {
                    documents.bytes()
                };
                open + state.bytes().0 + 2 * LIST_OVERHEAD
            }
            Piece::Chunks(chunks) => chunks
                .iter()
                .map(|chunk| {
                    chunk.documents.bytes()
                        + chunk.messages.bytes()
                        + size_of::<Chunk>() as u64
                        + 4 * LIST_OVERHEAD
                })
                .sum(),
        }
    }

    /// Returns the bytes of messages or labels.
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

/// A piece during a visit, with the circumstances of the visit.
#[derive(Debug)]
pub(crate) struct PieceView<'a> {
    piece: &'a mut Piece,
    /// Buffer to unpack documents to.
    spare: &'a mut Block,
    /// Order of the documents; `None` for the order of the file.
    order: Option<Cow<'a, [u32]>>,
    topics: usize,
    /// Kind of the pass.
    pub(crate) kind: PassKind,
    /// Whether this is the first piece of the pass.
    pub(crate) first: bool,
    /// Whether a step ends with this piece, so that its changes are applied to the topics.
    pub(crate) ends_step: bool,
}

impl<'a> PieceView<'a> {
    /// Creates a view for `topics` topics. Documents are unpacked to `spare`. `order` is the order
    /// of the documents; `None` for the order of the file.
    pub(crate) fn new(
        piece: &'a mut Piece,
        spare: &'a mut Block,
        order: Option<Cow<'a, [u32]>>,
        topics: usize,
    ) -> PieceView<'a> {
        PieceView { piece, spare, order, topics, kind: PassKind::Plain, first: false, ends_step: true }
    }

    /// Returns the number of documents of the piece.
    pub(crate) fn documents(&self) -> u64 {
        self.piece.documents()
    }

    /// Returns the chunks of documents; empty if documents are visited one by one.
    pub(crate) fn chunks(self) -> &'a mut [Chunk] {
        match self.piece {
            Piece::Chunks(chunks) => chunks,
            Piece::Rows { .. } => &mut [],
        }
    }

    /// Returns the documents and their state, if documents are visited one by one. The order is
    /// ignored; see [`for_each`](PieceView::for_each).
    pub(crate) fn into_rows(self) -> (&'a Block, &'a mut PieceState) {
        let PieceView { piece, spare, .. } = self;
        match piece {
            Piece::Rows { documents, state } => (documents.unpacked(spare), state),
            // No algorithm that calls this keeps chunks.
            Piece::Chunks(_) => unreachable!("documents in chunks"),
        }
    }

    /// Calls `each(document, theta)` for every document with words, in order. An error includes the
    /// number of the document.
    pub(crate) fn for_each<E>(
        self,
        mut each: impl FnMut(Document<'_>, &mut [f32]) -> Result<(), E>,
    ) -> Result<(), (u64, E)> {
        self.for_each_with_messages(|document, theta, _| each(document, theta))
    }

    /// Calls `each(document, theta, messages)` for every document with words, in order. An error
    /// includes the number of the document.
    pub(crate) fn for_each_with_messages<E>(
        mut self,
        mut each: impl FnMut(Document<'_>, &mut [f32], &mut [Halves]) -> Result<(), E>,
    ) -> Result<(), (u64, E)> {
        let (order, topics) = (self.order.take(), self.topics);
        let (block, state) = self.into_rows();
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

    /// Initializes the state of every document. `each(number, document, topics)` appends the topic
    /// of every non-zero to `topics`.
    pub(crate) fn assign_topics(
        self,
        each: &mut impl FnMut(u64, Document<'_>, &mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        let topics = self.topics;
        let (block, state) = self.into_rows();
        let width = stride(topics as u32);
        let (mut labels, mut next) = (Vec::new(), 0);
        for (d, document) in block.iter().enumerate() {
            labels.clear();
            each(block.number(d), document, &mut labels)?;
            if let PieceState::Labels(all) = state {
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

    /// Calls `each(number, document, theta)` for every document with words. Changes to `theta[K]`
    /// are kept if the state includes theta.
    pub(crate) fn for_each_theta<E>(
        self,
        mut each: impl FnMut(u64, Document<'_>, &mut [f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let PieceView { piece, spare, topics, .. } = self;
        let mut row = vec![0f32; topics];
        match piece {
            Piece::Rows { documents, state: PieceState::Labels(labels) } => {
                let (block, mut labels) = (documents.unpacked(spare), &labels[..]);
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
                let block = documents.unpacked(spare);
                let theta = state.theta().chunks_exact_mut(topics);
                for ((d, document), theta) in block.iter().enumerate().zip(theta) {
                    if !document.words.is_empty() {
                        each(block.number(d), document, theta)?;
                    }
                }
            }
            Piece::Chunks(chunks) => {
                for chunk in chunks {
                    let block = chunk.documents.unpacked(spare);
                    let nonzeros = |d: usize| block.document(d).words.len();
                    for (d, messages) in chunk.messages.documents(nonzeros).enumerate() {
                        let document = block.document(d);
                        row.fill(0.0);
                        for (message, &x) in messages.iter().zip(document.counts) {
                            for part in message {
                                let tokens = x as f32 * f32::from(part.units()) / UNITS_PER_TOKEN as f32;
                                row[messages.topics[part.slot()] as usize] += tokens;
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
