//! The memory of the store, apart from pieces that stay.

use crate::algorithms::piece::Piece;
use crate::corpus::{Block, PieceSizes};
use crate::numbers::STREAM_BYTES;

use super::{MAX_DEPTH, PieceSpec, Residency};

/// Bytes of the store's index: where every piece is.
pub(crate) fn index_bytes(sizes: &PieceSizes) -> u64 {
    sizes.pieces.saturating_mul((size_of::<PieceSpec>() + size_of::<Residency>() + 32) as u64)
}

/// Bytes of reading: a block of the file as it is and decoded, and the piece cut from it.
pub(crate) fn reader_bytes(sizes: &PieceSizes) -> u64 {
    let cut = if sizes.pieces > sizes.blocks { Block::bytes(sizes.documents, sizes.nonzeros) } else { 0 };
    let whole = Block::bytes(sizes.block_documents, sizes.block_nonzeros);
    let streams = 2 * STREAM_BYTES as u64;
    // The lists of a block grow while it is read.
    let growing = sizes.block_bytes.saturating_add(whole) / 2;
    [sizes.block_bytes, whole, growing, cut, streams].into_iter().fold(0, u64::saturating_add)
}

/// Bytes of a piece in flight, documents and state.
pub(crate) fn piece_bytes(sizes: &PieceSizes, state: u64) -> u64 {
    let documents = Block::bytes(sizes.documents, sizes.nonzeros);
    documents.saturating_add(state).saturating_add(Piece::OVERHEAD)
}

/// The most pieces in flight that are of use.
pub(crate) fn most_in_flight(sizes: &PieceSizes) -> u64 {
    sizes.pieces.clamp(1, MAX_DEPTH as u64)
}
