//! A piece of the corpus: documents, and what is kept for them between two visits.

use std::ops::Range;

use half::f16;

use super::Keep;
use crate::corpus::{Block, Packed};
use crate::kernel::Halves;
use crate::messages::Messages;
use crate::numbers;
use crate::topics::stride;

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

/// Documents that one thread goes through, and their messages.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) documents: Documents,
    pub(crate) messages: Messages,
}

/// What is kept for documents that are visited one by one, in their order.
#[derive(Debug)]
pub(crate) enum Kept {
    Nothing,
    /// A row of K for every document.
    Theta(Vec<f32>),
    /// And a message for every non-zero: a row of K numbers of 16 bits, padded.
    Messages(Vec<f32>, Vec<Halves>),
    /// A topic for every token.
    Labels(Vec<u16>),
}

impl Kept {
    /// theta, where it is kept.
    pub(crate) fn theta(&mut self) -> &mut [f32] {
        match self {
            Kept::Theta(theta) | Kept::Messages(theta, _) => theta,
            Kept::Nothing | Kept::Labels(_) => &mut [],
        }
    }

    /// theta and the messages, where they are kept.
    pub(crate) fn theta_and_messages(&mut self) -> (&mut [f32], &mut [Halves]) {
        match self {
            Kept::Messages(theta, messages) => (theta, messages),
            other => (other.theta(), &mut []),
        }
    }

    /// The labels, where they are kept.
    pub(crate) fn labels(&mut self) -> &mut [u16] {
        match self {
            Kept::Labels(labels) => labels,
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
            Kept::Nothing => {}
            Kept::Theta(theta) => zeros(theta, block.documents() * topics, 0.0),
            Kept::Messages(theta, messages) => {
                zeros(theta, block.documents() * topics, 0.0);
                zeros(messages, block.nonzeros() * stride(topics as u32), Halves::ZERO);
            }
            Kept::Labels(labels) => {
                let tokens: u64 = block.iter().map(|document| document.tokens()).sum();
                zeros(labels, tokens as usize, 0);
            }
        }
    }

    /// Bytes of memory, and how many of them are for messages or labels.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let theta = |theta: &[f32]| 4 * theta.len() as u64;
        match self {
            Kept::Nothing => (0, 0),
            Kept::Theta(rows) => (theta(rows), 0),
            Kept::Messages(rows, messages) => {
                let messages = size_of_val(&messages[..]) as u64;
                (theta(rows) + messages, messages)
            }
            Kept::Labels(labels) => (2 * labels.len() as u64, 2 * labels.len() as u64),
        }
    }
}

/// See the top.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Documents to be visited one by one.
    Rows { documents: Documents, kept: Kept },
    /// Runs of documents with their messages, whose sum theta is.
    Runs(Vec<Run>),
}

impl Piece {
    pub(crate) fn new(keep: Keep) -> Piece {
        let kept = match keep {
            Keep::SmallMessages | Keep::Anew => return Piece::Runs(Vec::new()),
            Keep::Nothing => Kept::Nothing,
            Keep::Theta => Kept::Theta(Vec::new()),
            Keep::Messages => Kept::Messages(Vec::new(), Vec::new()),
            Keep::Labels => Kept::Labels(Vec::new()),
        };
        Piece::Rows { documents: Documents::default(), kept }
    }

    /// Becomes the piece of these documents, for which nothing is kept yet.
    pub(super) fn fill(&mut self, block: &Block, topics: usize) {
        match self {
            Piece::Rows { documents, kept } => {
                documents.fill(block, 0..block.documents());
                kept.fill(block, topics);
            }
            Piece::Runs(runs) => {
                let ranges = block.runs();
                runs.resize_with(ranges.len(), Run::default);
                for (run, range) in runs.iter_mut().zip(ranges) {
                    let own = run.documents.fill(block, range);
                    run.messages.none((0..own.documents()).map(|d| own.document(d).words.len()));
                }
            }
        }
    }

    /// Appends what is kept.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Piece::Rows { kept, .. } => match kept {
                Kept::Nothing => {}
                Kept::Theta(theta) => numbers::put(theta, out),
                Kept::Messages(theta, messages) => {
                    numbers::put(theta, out);
                    for row in messages {
                        numbers::put(&row.0.map(f16::to_bits), out);
                    }
                }
                Kept::Labels(labels) => numbers::put(labels, out),
            },
            Piece::Runs(runs) => runs.iter().for_each(|run| run.messages.put(out)),
        }
    }

    /// Takes what [`Piece::put`] wrote; nothing where that is not so.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Option<()> {
        fn again<T: numbers::Number>(bytes: &mut &[u8], list: &mut Vec<T>) -> Option<()> {
            let length = list.len();
            numbers::take(bytes, length, list)
        }
        match self {
            Piece::Rows { kept, .. } => match kept {
                Kept::Nothing => {}
                Kept::Theta(theta) => again(&mut bytes, theta)?,
                Kept::Messages(theta, messages) => {
                    again(&mut bytes, theta)?;
                    for row in messages.iter_mut() {
                        let (head, tail) = bytes.split_at_checked(size_of::<Halves>())?;
                        for (to, from) in row.0.iter_mut().zip(head.chunks_exact(2)) {
                            *to = f16::from_bits(numbers::Number::get(from));
                        }
                        bytes = tail;
                    }
                }
                Kept::Labels(labels) => again(&mut bytes, labels)?,
            },
            Piece::Runs(runs) => {
                for Run { documents, messages } in runs {
                    messages.take(&mut bytes, documents.documents(), documents.nonzeros())?;
                }
            }
        }
        bytes.is_empty().then_some(())
    }

    /// Whether all that the algorithms rely on holds: asked of what another process has written.
    pub(super) fn sound(&self, topics: u32, spare: &mut Block) -> bool {
        let numbers = |all: &[f32]| all.iter().all(|v| v.is_finite() && *v >= 0.0);
        match self {
            Piece::Rows { kept, .. } => match kept {
                Kept::Nothing => true,
                Kept::Theta(theta) => numbers(theta),
                Kept::Messages(theta, messages) => {
                    numbers(theta)
                        && messages.iter().flat_map(|row| row.0).all(|v| v.is_finite() && v >= f16::ZERO)
                }
                Kept::Labels(labels) => labels.iter().all(|&k| u32::from(k) < topics),
            },
            Piece::Runs(runs) => runs.iter().all(|run| {
                let block = run.documents.open(spare);
                run.messages.sound(|d| block.document(d).words.len(), topics)
            }),
        }
    }

    /// Makes itself small, to stay in memory.
    pub(super) fn pack(&mut self) {
        match self {
            Piece::Rows { documents, kept } => {
                // Beside messages of K numbers documents are small, and unpacking them would take a twentieth of a pass.
                if !matches!(kept, Kept::Messages(..)) {
                    documents.pack();
                }
                match kept {
                    Kept::Nothing => {}
                    Kept::Theta(theta) => theta.shrink_to_fit(),
                    Kept::Messages(theta, messages) => {
                        theta.shrink_to_fit();
                        messages.shrink_to_fit();
                    }
                    Kept::Labels(labels) => labels.shrink_to_fit(),
                }
            }
            Piece::Runs(runs) => {
                runs.shrink_to_fit();
                for run in runs.iter_mut().filter(|run| matches!(run.documents, Documents::Open(_))) {
                    run.documents.pack();
                    run.messages.shrink();
                }
            }
        }
    }

    /// Bytes of memory when packed.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Piece::Rows { documents, kept } => {
                let open =
                    if let Kept::Messages(..) = kept { open_bytes(documents) } else { documents.bytes() };
                open + kept.bytes().0 + 2 * LIST
            }
            Piece::Runs(runs) => runs
                .iter()
                .map(|run| run.documents.bytes() + run.messages.bytes() + size_of::<Run>() as u64 + 4 * LIST)
                .sum(),
        }
    }

    /// Bytes of messages or labels.
    pub(super) fn message_bytes(&self) -> u64 {
        match self {
            Piece::Rows { kept, .. } => kept.bytes().1,
            Piece::Runs(runs) => runs.iter().map(|run| run.messages.bytes()).sum(),
        }
    }

    pub(super) fn documents(&self) -> u64 {
        match self {
            Piece::Rows { documents, .. } => documents.documents() as u64,
            Piece::Runs(runs) => runs.iter().map(|run| run.documents.documents() as u64).sum(),
        }
    }
}
