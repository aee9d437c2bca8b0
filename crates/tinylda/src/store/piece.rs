//! A piece of the corpus: documents, and what is kept for them between two visits.

use std::ops::Range;

use super::Keep;
use crate::corpus::{Block, Packed};
use crate::messages::Messages;
use crate::numbers;

/// What a list in memory takes besides what is in it.
const LIST: u64 = 16;

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

/// Documents that one thread goes through, and their messages.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) documents: Documents,
    pub(crate) messages: Messages,
}

/// See the top.
#[derive(Debug)]
pub(crate) enum Piece {
    /// A row of K for every document.
    Rows { documents: Documents, theta: Vec<f32> },
    /// Runs of documents with their messages, whose sum theta is.
    Runs(Vec<Run>),
}

impl Piece {
    pub(crate) fn new(keep: Keep) -> Piece {
        match keep {
            Keep::Rows => Piece::Rows { documents: Documents::default(), theta: Vec::new() },
            Keep::Messages | Keep::Nothing => Piece::Runs(Vec::new()),
        }
    }

    /// Becomes the piece of these documents, for which nothing is kept yet.
    pub(super) fn fill(&mut self, block: &Block, topics: usize) {
        match self {
            Piece::Rows { documents, theta } => {
                documents.fill(block, 0..block.documents());
                theta.clear();
                theta.resize(block.documents() * topics, 0.0);
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
            Piece::Rows { theta, .. } => numbers::put(theta, out),
            Piece::Runs(runs) => runs.iter().for_each(|run| run.messages.put(out)),
        }
    }

    /// Takes what [`Piece::put`] wrote; nothing where that is not so.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Option<()> {
        match self {
            Piece::Rows { theta, .. } => {
                let length = theta.len();
                numbers::take(&mut bytes, length, theta)?;
            }
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
        match self {
            Piece::Rows { theta, .. } => theta.iter().all(|v| v.is_finite() && *v >= 0.0),
            Piece::Runs(runs) => runs.iter().all(|run| {
                let block = run.documents.open(spare);
                run.messages.sound(|d| block.document(d).words.len(), topics)
            }),
        }
    }

    /// Makes itself small, to stay in memory.
    pub(super) fn pack(&mut self) {
        match self {
            Piece::Rows { documents, theta } => {
                documents.pack();
                theta.shrink_to_fit();
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
            Piece::Rows { documents, theta } => documents.bytes() + 4 * theta.len() as u64 + LIST,
            Piece::Runs(runs) => runs
                .iter()
                .map(|run| run.documents.bytes() + run.messages.bytes() + size_of::<Run>() as u64 + 4 * LIST)
                .sum(),
        }
    }

    pub(super) fn documents(&self) -> u64 {
        match self {
            Piece::Rows { documents, .. } => documents.documents() as u64,
            Piece::Runs(runs) => runs.iter().map(|run| run.documents.documents() as u64).sum(),
        }
    }
}
