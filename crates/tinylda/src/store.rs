//! Where documents and what is kept for them live. Now: all in memory, the documents packed as in their file.
//!
//! The rest of the library asks for visits and never learns where the bytes were.

use std::ops::Range;

use crate::corpus::{Block, Corpus, Document, Packed};
use crate::error::Result;
use crate::memory;
use crate::messages::{Messages, UNITS};

/// Documents of one block, in the order in which they are to be visited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) block: usize,
    pub(crate) documents: Vec<u32>,
}

/// Which blocks are visited, and in which order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which<'a> {
    /// In the file's order, one in every so many, from the first on.
    Every(u64),
    Visits(&'a [Visit]),
}

impl Which<'_> {
    pub(crate) const ALL: Which<'static> = Which::Every(1);
}

/// A piece of the corpus, its documents packed, and what is kept for them.
#[derive(Debug)]
enum Piece {
    /// A row of K for every document.
    Rows { documents: Packed, theta: Vec<f32> },
    /// Runs of documents with their messages, whose sum theta is.
    Runs(Vec<Run>),
}

/// Documents that one thread goes through, and their messages.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) documents: Packed,
    pub(crate) messages: Messages,
}

impl Run {
    /// Without messages yet.
    fn new(block: &Block, range: Range<usize>) -> Run {
        let mut messages = Messages::default();
        for d in range.clone() {
            let sizes = vec![0; block.document(d).words.len()];
            messages.push(std::iter::empty(), &sizes, std::iter::empty());
        }
        Run { documents: Packed::new(block, range), messages }
    }
}

/// A block and what goes with it, for one visit.
#[derive(Debug)]
pub(crate) struct Visited<'a> {
    piece: &'a mut Piece,
    /// A block to unpack documents to.
    spare: &'a mut Block,
    /// The order of the documents, where it is not the file's.
    order: Option<&'a [u32]>,
    topics: usize,
}

impl<'a> Visited<'a> {
    /// The runs of documents, where messages are kept.
    pub(crate) fn runs(self) -> &'a mut [Run] {
        match self.piece {
            Piece::Runs(runs) => runs,
            Piece::Rows { .. } => &mut [],
        }
    }

    /// Calls `each(document, theta)` for every document with words, in order, and adds up what it returns.
    /// An error comes with the document's number.
    pub(crate) fn sum<E>(
        self,
        mut each: impl FnMut(Document<'_>, &mut [f32]) -> Result<f64, E>,
    ) -> Result<f64, (u64, E)> {
        let Visited { piece, spare: block, order, topics } = self;
        let Piece::Rows { documents, theta } = piece else { return Ok(0.0) };
        documents.unpack(block);
        let mut sum = 0f64;
        let mut one = |d: usize| {
            let document = block.document(d);
            if !document.words.is_empty() {
                sum += each(document, &mut theta[d * topics..(d + 1) * topics])
                    .map_err(|e| (block.number(d), e))?;
            }
            Ok(())
        };
        match order {
            None => (0..block.documents()).try_for_each(&mut one)?,
            Some(order) => order.iter().try_for_each(|&d| one(d as usize))?,
        }
        Ok(sum)
    }
}

/// How theta is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Rows,
    Messages,
}

/// All documents of a corpus, each with its theta.
#[derive(Debug)]
pub(crate) struct Store {
    topics: usize,
    pieces: Vec<Piece>,
    /// Of all, those with words.
    documents: u64,
    spare: Block,
}

impl Store {
    /// Reads the corpus, its blocks cut into `pieces` of so many non-zeros where that is given; theta is zero.
    pub(crate) fn load(corpus: &Corpus, topics: u32, pieces: Option<u64>, keep: Keep) -> Result<Store> {
        let mut reader = corpus.reader();
        let mut store =
            Store { topics: topics as usize, pieces: Vec::new(), documents: 0, spare: Block::default() };
        let mut block = Block::default();
        for i in 0..corpus.blocks() {
            reader.read(i, &mut block)?;
            store.documents += block.iter().filter(|document| !document.words.is_empty()).count() as u64;
            let cut = pieces.map(|nonzeros| block.pieces(nonzeros));
            for block in cut.as_deref().unwrap_or(std::slice::from_ref(&block)) {
                store.pieces.push(match keep {
                    Keep::Rows => {
                        let length = block.documents().saturating_mul(topics as usize);
                        let mut theta = memory::room(length as u64)?;
                        theta.resize(length, 0.0);
                        Piece::Rows { documents: Packed::new(block, 0..block.documents()), theta }
                    }
                    Keep::Messages => {
                        Piece::Runs(block.runs().into_iter().map(|run| Run::new(block, run)).collect())
                    }
                });
            }
        }
        memory::give_back();
        Ok(store)
    }

    /// Gives every document messages of whole topics: `topic_of` says which, non-zero by non-zero.
    pub(crate) fn start(&mut self, topic_of: &[u32], most: usize) {
        let Store { pieces, spare: block, .. } = self;
        let mut starts: Vec<(u64, usize)> = Vec::new();
        for run in pieces.iter().flat_map(Piece::runs) {
            run.documents.unpack(block);
            starts.extend((0..block.documents()).map(|d| (block.number(d), block.document(d).words.len())));
        }
        starts.sort_unstable_by_key(|&(number, _)| number);
        let mut next = 0;
        for (_, start) in &mut starts {
            next += std::mem::replace(start, next);
        }
        for piece in pieces {
            let Piece::Runs(runs) = piece else { continue };
            for run in runs {
                run.documents.unpack(block);
                run.messages.clear();
                for d in 0..block.documents() {
                    let (_, from) = starts[block.number(d) as usize];
                    run.messages.push_whole(&topic_of[from..from + block.document(d).words.len()], most);
                }
            }
        }
    }

    /// Topics in use per document that has words.
    pub(crate) fn active_topics(&self) -> f64 {
        if self.pieces.iter().any(|piece| matches!(piece, Piece::Rows { .. })) {
            return self.topics as f64;
        }
        let runs = self.pieces.iter().flat_map(Piece::runs);
        let topics: usize = runs.map(|run| run.messages.active()).sum();
        topics as f64 / self.documents.max(1) as f64
    }

    /// Into how many pieces the corpus is cut.
    pub(crate) fn pieces(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// Calls `each` for blocks.
    pub(crate) fn for_each_block(
        &mut self,
        which: Which<'_>,
        mut each: impl FnMut(Visited<'_>) -> Result<()>,
    ) -> Result<()> {
        let Store { pieces, topics, spare, .. } = self;
        let (topics, count) = (*topics, pieces.len());
        let mut one = |i: usize, order| each(Visited { piece: &mut pieces[i], spare, order, topics });
        match which {
            Which::Every(n) => (0..count).step_by(n as usize).try_for_each(|i| one(i, None)),
            Which::Visits(visits) => {
                visits.iter().try_for_each(|visit| one(visit.block, Some(&visit.documents[..])))
            }
        }
    }

    /// Calls `each(number, document, theta)` for every document with words, piece by piece; what it writes to `theta[K]`
    /// stays where rows are kept.
    pub(crate) fn for_each(
        &mut self,
        mut each: impl FnMut(u64, Document<'_>, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        let Store { pieces, topics, spare: block, .. } = self;
        let mut row = vec![0f32; *topics];
        for piece in pieces {
            match piece {
                Piece::Rows { documents, theta } => {
                    documents.unpack(block);
                    for (d, theta) in theta.chunks_exact_mut(*topics).enumerate() {
                        if !block.document(d).words.is_empty() {
                            each(block.number(d), block.document(d), theta)?;
                        }
                    }
                }
                Piece::Runs(runs) => {
                    for run in runs {
                        run.documents.unpack(block);
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
        }
        Ok(())
    }
}

impl Piece {
    fn runs(&self) -> &[Run] {
        match self {
            Piece::Runs(runs) => runs,
            Piece::Rows { .. } => &[],
        }
    }
}
