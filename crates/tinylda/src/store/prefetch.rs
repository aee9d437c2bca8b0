//! Visits: pieces in memory are there, others are read ahead by one thread and written behind by another.
//!
//! A few pieces go round: filled by the reader, worked on, emptied by the writer, filled again. So no more is in memory than
//! these, however slow the disk is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::scratch::{End, Location, Records};
use super::{PieceSpec, Selection, Store, Traffic, order_of};
use crate::algorithms::piece::{Piece, PieceView};
use crate::corpus::{Block, Corpus};
use crate::error::{Error, Result};

/// The most pieces in flight: more would not hide more of the time that the disk takes.
pub(crate) const MAX_DEPTH: usize = 4;

/// What the reader needs.
struct Reader<'a> {
    corpus: &'a Corpus,
    specs: &'a [PieceSpec],
    topics: u32,
    files: BTreeMap<u32, Arc<Records>>,
    /// Records of earlier files come from another process.
    own: u32,
    traffic: Arc<Traffic>,
}

impl Reader<'_> {
    /// Fills pieces and sends them on, one after another.
    fn run(
        &self,
        wanted: Vec<(usize, Option<Location>)>,
        empty: &Receiver<Piece>,
        full: &SyncSender<Result<Piece>>,
    ) {
        let mut blocks = self.corpus.reader();
        let (mut whole, mut block, mut spare) = (Block::default(), Block::default(), Block::default());
        let mut at_hand = None;
        for (i, at) in wanted {
            let Ok(mut piece) = empty.recv() else { break };
            let spec = self.specs[i];
            let mut fill = || {
                if at_hand != Some(spec.block) {
                    at_hand = None;
                    blocks.read(spec.block as usize, &mut whole)?;
                    at_hand = Some(spec.block);
                    self.traffic.add_read(self.corpus.block_bytes(spec.block as usize));
                }
                if spec.count == 1 {
                    piece.fill(&whole, self.topics as usize);
                } else {
                    block.piece_of(&whole, u64::from(spec.count), u64::from(spec.from));
                    piece.fill(&block, self.topics as usize);
                }
                let Some(at) = at else { return Ok(()) };
                let Some(records) = self.files.get(&at.file) else { return Err(lost()) };
                records.read(at, |from| piece.take(from))?;
                self.traffic.add_read(at.bytes);
                let known = at.file >= self.own;
                if known || piece.sound(self.topics, &mut spare) {
                    Ok(())
                } else {
                    Err(records.senseless(at))
                }
            };
            let done = fill();
            let failed = done.is_err();
            // Nobody wants it where the work has stopped.
            if full.send(done.map(|()| piece)).is_err() || failed {
                break;
            }
        }
    }
}

/// A thread that should be there is not: it has failed, and what it has said of that counts.
fn lost() -> Error {
    Error::Interrupted
}

/// What the writer sends back.
type Written = Result<(usize, Location)>;

/// Writes pieces, and hands those that go round back to the reader.
fn write(
    mut end: End,
    full: &Receiver<(usize, Piece, bool)>,
    written: &Sender<Written>,
    empty: &Sender<Piece>,
) -> End {
    for (i, piece, goes_round) in full {
        let at = end.append(|out| piece.put(out));
        let failed = at.is_err();
        if goes_round {
            // The reader may have done its part.
            let _ = empty.send(piece);
        }
        if written.send(at.map(|at| (i, at))).is_err() || failed {
            break;
        }
    }
    end
}

/// The writer, from when there is something to write.
struct Writer<'scope> {
    full: SyncSender<(usize, Piece, bool)>,
    thread: ScopedJoinHandle<'scope, End>,
}

impl Store<'_> {
    /// Calls `each(visit, piece)` for the visits from the `from`-th on, until it asks to stop; then the number of the next is
    /// returned. Where `change` is said, what it changes is kept.
    pub(crate) fn visit(
        &mut self,
        selection: Selection<'_>,
        from: usize,
        change: bool,
        mut each: impl FnMut(usize, PieceView<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Option<usize>> {
        let change = change && !self.keep.is_nothing();
        let visits = selection.visits(self.specs.len());
        if from == 0 {
            self.message_bytes = 0;
            if change {
                self.end = None;
            }
        }
        let wanted = self.not_resident(selection, from);
        let (corpus, specs) = (self.corpus, std::mem::take(&mut self.specs));
        let reader = Reader {
            corpus,
            specs: &specs,
            topics: self.topics,
            files: self.scratch.files.clone(),
            own: self.scratch.own,
            traffic: Arc::clone(&self.traffic),
        };
        let result = thread::scope(|scope| {
            let (to_reader, empty) = channel();
            let (full, from_reader) = sync_channel(self.depth);
            let (written, from_writer) = channel();
            let reading = (!wanted.is_empty()).then(|| {
                for piece in self.empty_pieces() {
                    // The receiver is still here.
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
                stayed: Vec::new(),
            };
            let stopped = (from..visits)
                .find_map(|visit| match flow.one(scope, selection, visit, &specs, &from_reader, &mut each) {
                    Ok(ControlFlow::Continue(())) => None,
                    Ok(ControlFlow::Break(())) => Some(Ok((visit + 1 < visits).then_some(visit + 1))),
                    Err(e) => Some(Err(e)),
                })
                .unwrap_or(Ok(None));
            drop(from_reader);
            let Prefetcher { store, to_reader, written, from_writer, writer, .. } = flow;
            if let Some(Writer { full, thread }) = writer {
                drop(full);
                store.end = Some(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            drop(written);
            let noted = store.note(from_writer);
            drop(to_reader);
            if let Some(reading) = reading {
                let empty = reading.join().unwrap_or_else(|panic| resume_unwind(panic));
                store.spares.extend(empty.try_iter());
            }
            // A failed write is the cause where both have failed.
            noted.and(stopped)
        });
        self.specs = specs;
        self.spares.truncate(self.depth);
        let stopped = result?;
        if change && stopped.is_none() {
            self.tidy();
        }
        Ok(stopped)
    }

    /// Returns the pieces of the visits from the `from`-th on that the reader has to provide, in the order of the visits.
    fn not_resident(&self, selection: Selection<'_>, from: usize) -> Vec<(usize, Option<Location>)> {
        let mut seen = BTreeSet::new();
        (from..selection.visits(self.specs.len()))
            .map(|visit| selection.piece(visit))
            .filter(|&i| {
                self.held[i].piece.is_none() && (matches!(selection, Selection::Every(_)) || seen.insert(i))
            })
            .map(|i| (i, self.held[i].at))
            .collect()
    }

    /// Returns the pieces that the reader fills, and fills again: spare ones first.
    fn empty_pieces(&mut self) -> Vec<Piece> {
        let (keep, depth) = (self.keep, self.depth);
        let spares = std::mem::take(&mut self.spares).into_iter();
        spares.chain(std::iter::repeat_with(|| Piece::new(keep))).take(depth).collect()
    }

    /// Takes down what was written.
    fn note(&mut self, written: impl IntoIterator<Item = Written>) -> Result<()> {
        for one in written {
            let (i, at) = one?;
            self.traffic.add_written(at.bytes);
            self.held[i].at = Some(at);
        }
        Ok(())
    }
}

/// Visits under way.
struct Prefetcher<'a, 'b, 'scope> {
    store: &'a mut Store<'b>,
    change: bool,
    to_reader: Sender<Piece>,
    written: Sender<Written>,
    from_writer: Receiver<Written>,
    writer: Option<Writer<'scope>>,
    /// Pieces visited that have stayed in memory.
    stayed: Vec<usize>,
}

impl<'scope> Prefetcher<'_, '_, 'scope> {
    fn one<'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        selection: Selection<'_>,
        visit: usize,
        specs: &[PieceSpec],
        from_reader: &Receiver<Result<Piece>>,
        each: &mut impl FnMut(usize, PieceView<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let i = selection.piece(visit);
        let store = &mut *self.store;
        let (mut piece, was_here) = match store.held[i].piece.take() {
            Some(piece) => {
                store.resident -= piece.bytes();
                (piece, true)
            }
            None => (from_reader.recv().map_err(|_| lost())??, false),
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
                store.held[i].at = None;
            }
            store.held[i].piece = Some(piece);
            self.stayed.push(i);
            if !was_here {
                let _ = self.to_reader.send(Piece::new(store.keep));
            }
        } else if self.change {
            self.put_away(scope, i, piece, !was_here)?;
        } else if was_here && !store.keep.is_nothing() {
            // It cannot leave now without being written; the next round will see to it.
            store.resident += piece.bytes();
            store.held[i].piece = Some(piece);
        } else if !was_here {
            let _ = self.to_reader.send(piece);
        }
        while self.change && self.store.resident > self.store.limit {
            let Some(i) = self.stayed.pop() else { break };
            let Some(piece) = self.store.held[i].piece.take() else { continue };
            self.store.resident -= piece.bytes();
            self.put_away(scope, i, piece, false)?;
        }
        let so_far: Vec<Written> = self.from_writer.try_iter().collect();
        self.store.note(so_far)?;
        Ok(flow)
    }

    /// Has a piece written.
    fn put_away<'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        i: usize,
        piece: Piece,
        goes_round: bool,
    ) -> Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let end = match self.store.end.take() {
                    Some(end) => end,
                    None => self.store.scratch.begin()?,
                };
                // With the smallest depth a piece that leaves is handed over before the next one is worked on.
                let (full, receiver) = sync_channel(usize::from(self.store.depth > 1));
                let (written, empty) = (self.written.clone(), self.to_reader.clone());
                let thread = scope.spawn(move || write(end, &receiver, &written, &empty));
                none.insert(Writer { full, thread })
            }
        };
        if writer.full.send((i, piece, goes_round)).is_err() {
            // The writer has failed, and said why.
            let so_far: Vec<Written> = self.from_writer.try_iter().collect();
            self.store.note(so_far)?;
            return Err(lost());
        }
        Ok(())
    }
}
