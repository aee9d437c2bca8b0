//! Memory of the store, apart from pieces that stay in memory. `train::plan` adds it up.

use crate::algorithms::piece::Piece;
use crate::corpus::{Block, PieceSizes};
use crate::numbers::STREAM_BYTES;

use super::{MAX_DEPTH, PieceSpec, Residency};

/// Returns the bytes of the store's index of pieces.
pub(crate) fn index_bytes(sizes: &PieceSizes) -> u64 {
    sizes.pieces.saturating_mul((size_of::<PieceSpec>() + size_of::<Residency>() + 32) as u64)
}

/// Returns the bytes for reading: a block of the file, raw and decoded, and the piece cut from it.
pub(crate) fn reader_bytes(sizes: &PieceSizes) -> u64 {
    let cut = if sizes.pieces > sizes.blocks { Block::bytes(sizes.documents, sizes.nonzeros) } else { 0 };
    let whole = Block::bytes(sizes.block_documents, sizes.block_nonzeros);
    let streams = 2 * STREAM_BYTES as u64;
    // The lists of a block grow while it is read.
    let growing = sizes.block_bytes.saturating_add(whole) / 2;
    [sizes.block_bytes, whole, growing, cut, streams].into_iter().fold(0, u64::saturating_add)
}

/// Returns the bytes of a piece in flight: documents and state.
pub(crate) fn piece_bytes(sizes: &PieceSizes, state: u64) -> u64 {
    let documents = Block::bytes(sizes.documents, sizes.nonzeros);
    documents.saturating_add(state).saturating_add(Piece::OVERHEAD)
}

/// Returns the maximum number of pieces in flight that is useful.
pub(crate) fn max_in_flight(sizes: &PieceSizes) -> u64 {
    sizes.pieces.clamp(1, MAX_DEPTH as u64)
}
