//! Visits of pieces. Pieces that are not in memory are read ahead by one thread and written behind
//! by another.
//!
//! A few piece buffers circulate: the reader fills them, the visitor processes them, the writer
//! empties them, and the reader fills them again. This bounds the memory however slow the disk is.
//!
//! Start reading at [`Store::visit`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::scratch::{Location, RecordFile, RecordWriter};
use super::{PieceSpec, Selection, Store, Traffic, order_of};
use crate::algorithms::piece::{Piece, PieceView};
use crate::corpus::{Block, Corpus};
use crate::error::{Error, Result};

/// Maximum number of pieces in flight. More would not hide more of the disk latency.
pub(crate) const MAX_DEPTH: usize = 4;

/// The thread that reads pieces ahead of their visits.
struct PieceReader<'a> {
    corpus: &'a Corpus,
    specs: &'a [PieceSpec],
    topics: u32,
    files: BTreeMap<u32, Arc<RecordFile>>,
    /// Number of the first file written by this process. Records in earlier files come from another
    /// process and must be validated.
    first_own: u32,
    traffic: Arc<Traffic>,
}

impl PieceReader<'_> {
    /// Fills empty pieces with the wanted ones and sends them on, in order.
    fn run(
        &self,
        wanted: Vec<(usize, Option<Location>)>,
        empty: &Receiver<Piece>,
        full: &SyncSender<Result<Piece>>,
    ) {
        let mut blocks = self.corpus.reader();
        let (mut whole, mut block, mut spare) = (Block::default(), Block::default(), Block::default());
        let mut loaded = None;
        for (i, at) in wanted {
            let Ok(mut piece) = empty.recv() else { break };
            let spec = self.specs[i];
            let mut fill = || {
                if loaded != Some(spec.block) {
                    loaded = None;
                    blocks.read(spec.block as usize, &mut whole)?;
                    loaded = Some(spec.block);
                    self.traffic.add_read(self.corpus.block_bytes(spec.block as usize));
                }
                if spec.count == 1 {
                    piece.fill(&whole, self.topics as usize);
                } else {
                    block.copy_piece_from(&whole, u64::from(spec.count), u64::from(spec.from));
                    piece.fill(&block, self.topics as usize);
                }
                let Some(at) = at else { return Ok(()) };
                let Some(records) = self.files.get(&at.file) else { return Err(peer_gone()) };
                records.read(at, |from| piece.read_state(from))?;
                self.traffic.add_read(at.bytes);
                let known = at.file >= self.first_own;
                if known || piece.is_valid(self.topics, &mut spare) {
                    Ok(())
                } else {
                    Err(records.invalid_record(at))
                }
            };
            let done = fill();
            let failed = done.is_err();
            // The receiver is gone if the visits have stopped.
            if full.send(done.map(|()| piece)).is_err() || failed {
                break;
            }
        }
    }
}

/// Returns the error for a peer thread that is gone. The peer's own error takes precedence.
fn peer_gone() -> Error {
    Error::Interrupted
}

/// Result of writing a piece: its number and location.
type WriteResult = Result<(usize, Location)>;

/// Writes pieces to a file and returns those marked for reuse to the reader.
fn write(
    mut end: RecordWriter,
    full: &Receiver<(usize, Piece, bool)>,
    written: &Sender<WriteResult>,
    empty: &Sender<Piece>,
) -> RecordWriter {
    for (i, piece, reusable) in full {
        let at = end.append(|out| piece.write_state(out));
        let failed = at.is_err();
        if reusable {
            // The reader may have finished already.
            let _ = empty.send(piece);
        }
        if written.send(at.map(|at| (i, at))).is_err() || failed {
            break;
        }
    }
    end
}

/// The thread that writes pieces behind their visits. It is started when there is something to
/// write.
struct PieceWriter<'scope> {
    full: SyncSender<(usize, Piece, bool)>,
    thread: ScopedJoinHandle<'scope, RecordWriter>,
}

impl Store<'_> {
    /// Calls `each(visit, piece)` for the visits from number `from` on, until it asks to stop.
    /// Returns the number of the next visit; `None` if all are done. Changes to the state are kept
    /// if `change` is set.
    pub(crate) fn visit(
        &mut self,
        selection: Selection<'_>,
        from: usize,
        change: bool,
        mut each: impl FnMut(usize, PieceView<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Option<usize>> {
        let change = change && !self.state_kind.is_nothing();
        let visits = selection.visits(self.specs.len());
        if from == 0 {
            self.message_bytes = 0;
            if change {
                self.writer = None;
            }
        }
        let wanted = self.not_resident(selection, from);
        let (corpus, specs) = (self.corpus, std::mem::take(&mut self.specs));
        let reader = PieceReader {
            corpus,
            specs: &specs,
            topics: self.topics,
            files: self.scratch.files.clone(),
            first_own: self.scratch.first_own,
            traffic: Arc::clone(&self.traffic),
        };
        let result = thread::scope(|scope| {
            let (to_reader, empty) = channel();
            let (full, filled) = sync_channel(self.depth);
            let (written, from_writer) = channel();
            let reading = (!wanted.is_empty()).then(|| {
                for piece in self.empty_pieces() {
                    // The receiver still exists, so this cannot fail.
                    let _ = to_reader.send(piece);
                }
                scope.spawn(move || {
                    reader.run(wanted, &empty, &full);
                    empty
                })
            });
            let mut flow = Prefetcher {
                store: self,
                change,
                to_reader,
                written,
                from_writer,
                writer: None,
                retained: Vec::new(),
            };
            let stopped = (from..visits)
                .find_map(|visit| match flow.visit(scope, selection, visit, &specs, &filled, &mut each) {
                    Ok(ControlFlow::Continue(())) => None,
                    Ok(ControlFlow::Break(())) => Some(Ok((visit + 1 < visits).then_some(visit + 1))),
                    Err(e) => Some(Err(e)),
                })
                .unwrap_or(Ok(None));
            drop(filled);
            let Prefetcher { store, to_reader, written, from_writer, writer, .. } = flow;
            if let Some(PieceWriter { full, thread }) = writer {
                drop(full);
                store.writer = Some(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            drop(written);
            let noted = store.record_locations(from_writer);
            drop(to_reader);
            if let Some(reading) = reading {
                let empty = reading.join().unwrap_or_else(|panic| resume_unwind(panic));
                store.spares.extend(empty.try_iter());
            }
            // If both have failed, the failed write is the cause.
            noted.and(stopped)
        });
        self.specs = specs;
        self.spares.truncate(self.depth);
        let stopped = result?;
        if change && stopped.is_none() {
            self.remove_unused();
        }
        Ok(stopped)
    }

    /// Returns the pieces that the reader has to provide for the visits from number `from` on, in
    /// the order of the visits.
    fn not_resident(&self, selection: Selection<'_>, from: usize) -> Vec<(usize, Option<Location>)> {
        let mut seen = BTreeSet::new();
        (from..selection.visits(self.specs.len()))
            .map(|visit| selection.piece(visit))
            .filter(|&i| {
                self.residency[i].piece.is_none()
                    && (matches!(selection, Selection::Every(_)) || seen.insert(i))
            })
            .map(|i| (i, self.residency[i].at))
            .collect()
    }

    /// Returns the empty pieces for the reader to fill, spare ones first.
    fn empty_pieces(&mut self) -> Vec<Piece> {
        let (kind, depth) = (self.state_kind, self.depth);
        let spares = std::mem::take(&mut self.spares).into_iter();
        spares.chain(std::iter::repeat_with(|| Piece::new(kind))).take(depth).collect()
    }

    /// Records the locations of pieces that were written.
    fn record_locations(&mut self, written: impl IntoIterator<Item = WriteResult>) -> Result<()> {
        for one in written {
            let (i, at) = one?;
            self.traffic.add_written(at.bytes);
            self.residency[i].at = Some(at);
        }
        Ok(())
    }
}

/// State of a sequence of visits.
struct Prefetcher<'a, 'b, 'scope> {
    store: &'a mut Store<'b>,
    change: bool,
    to_reader: Sender<Piece>,
    written: Sender<WriteResult>,
    from_writer: Receiver<WriteResult>,
    writer: Option<PieceWriter<'scope>>,
    /// Visited pieces that have stayed in memory.
    retained: Vec<usize>,
}

impl<'scope> Prefetcher<'_, '_, 'scope> {
    /// Visits one piece and then keeps, evicts or recycles it.
    fn visit<'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        selection: Selection<'_>,
        visit: usize,
        specs: &[PieceSpec],
        filled: &Receiver<Result<Piece>>,
        each: &mut impl FnMut(usize, PieceView<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let i = selection.piece(visit);
        let store = &mut *self.store;
        let (mut piece, was_resident) = match store.residency[i].piece.take() {
            Some(piece) => {
                store.resident -= piece.bytes();
                (piece, true)
            }
            None => (filled.recv().map_err(|_| peer_gone())??, false),
        };
        let (documents, _) = store.corpus.block_size(specs[i].block as usize);
        let order = order_of(selection, visit, documents);
        let topics = store.topics as usize;
        let view = PieceView::new(&mut piece, &mut store.spare, order, topics);
        let flow = each(visit, view)?;
        store.message_bytes += piece.message_bytes();
        if store.fits(piece.bytes()) {
            piece.pack();
            store.resident += piece.bytes();
            if self.change {
                store.residency[i].at = None;
            }
            store.residency[i].piece = Some(piece);
            self.retained.push(i);
            if !was_resident {
                let _ = self.to_reader.send(Piece::new(store.state_kind));
            }
        } else if self.change {
            self.evict(scope, i, piece, !was_resident)?;
        } else if was_resident && !store.state_kind.is_nothing() {
            // The piece cannot be evicted without being written; the next pass that changes the
            // state will do so.
            store.resident += piece.bytes();
            store.residency[i].piece = Some(piece);
        } else if !was_resident {
            let _ = self.to_reader.send(piece);
        }
        while self.change && self.store.resident > self.store.limit {
            let Some(i) = self.retained.pop() else { break };
            let Some(piece) = self.store.residency[i].piece.take() else { continue };
            self.store.resident -= piece.bytes();
            self.evict(scope, i, piece, false)?;
        }
        let so_far: Vec<WriteResult> = self.from_writer.try_iter().collect();
        self.store.record_locations(so_far)?;
        Ok(flow)
    }

    /// Sends a piece to the writer, which is started if necessary. `reusable` says that the
    /// reader may reuse the piece.
    fn evict<'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        i: usize,
        piece: Piece,
        reusable: bool,
    ) -> Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let end = match self.store.writer.take() {
                    Some(end) => end,
                    None => self.store.scratch.create_file()?,
                };
                // With a depth of 1, an evicted piece is handed over before the next one is
                // processed.
                let (full, receiver) = sync_channel(usize::from(self.store.depth > 1));
                let (written, empty) = (self.written.clone(), self.to_reader.clone());
                let thread = scope.spawn(move || write(end, &receiver, &written, &empty));
                none.insert(PieceWriter { full, thread })
            }
        };
        if writer.full.send((i, piece, reusable)).is_err() {
            // The writer has failed and has sent its error.
            let so_far: Vec<WriteResult> = self.from_writer.try_iter().collect();
            self.store.record_locations(so_far)?;
            return Err(peer_gone());
        }
        Ok(())
    }
}
