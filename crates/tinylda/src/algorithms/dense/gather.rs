//! What synchronous algorithms share whose messages are products, `eta[k]` ~ `row[w,k]` * `t[d,k]`: documents are renewed with the
//! topics held fixed (`document`), and what they give to words is gathered as `G[w,:]` += r * `t[d,:]`.
//!
//! Bytes: phi and G, W x K each; t of the documents at work.

use super::document::{DocumentStep, Failed};
use crate::algorithms::dense::phases::{Entry, GROUPS, Phases, Run, shares};
use crate::algorithms::piece::PieceView;
use crate::algorithms::{Fault, Setup};
use crate::corpus::Document;
use crate::error::Result;
use crate::sections::{SectionReader, SectionWriter};
use crate::simd::{Kernel, Lanes, flat, flat_mut};
use crate::topics::{Matrix, Topics, heavy_words, stride};

/// Sums of rows by word, on threads. Heavy words are summed in f64.
#[derive(Debug)]
pub(crate) struct Sums {
    pub(crate) rows: Matrix,
    /// Heavy words, with what was moved out of their rows before these grew too large to add to.
    heavy: Vec<(u32, Vec<f64>)>,
}

impl Sums {
    pub(crate) fn new(topics: &Topics, word_tokens: &[u64]) -> Result<Sums> {
        let width = topics.lambda.len();
        let heavy = heavy_words(word_tokens).map(|w| (w, vec![0.0; width])).collect();
        Ok(Sums { rows: Matrix::zeros(topics.words(), topics.count)?, heavy })
    }

    pub(crate) fn clear(&mut self, phases: &Phases) {
        phases.rows(&mut self.rows, |_, mut part| {
            part.iter_mut().for_each(|(_, row)| row.fill(Lanes::ZERO));
        });
        for (_, sums) in &mut self.heavy {
            sums.fill(0.0);
        }
    }

    /// Calls `add(entry, row)` for every non-zero of the documents that `phases` has taken up.
    pub(crate) fn add(&mut self, phases: &Phases, add: impl Fn(&Entry, &mut [Lanes]) + Sync) {
        phases.words(&mut self.rows, |part, entries| {
            entries.for_each(|entry| add(entry, part.row_mut(entry.word)));
        });
        for (w, sums) in &mut self.heavy {
            let row = self.rows.row_mut(*w);
            for (sum, &g) in sums.iter_mut().zip(flat(row)) {
                *sum += f64::from(g);
            }
            row.fill(Lanes::ZERO);
        }
    }

    /// After the last documents: the rows are whole.
    pub(crate) fn finish(&mut self) {
        for (w, sums) in &self.heavy {
            for (g, &sum) in flat_mut(self.rows.row_mut(*w)).iter_mut().zip(sums) {
                *g = sum as f32;
            }
        }
    }

    /// The rows were emptied by other hands: what heavy words have goes, too.
    pub(crate) fn forget(&mut self) {
        self.heavy.iter_mut().for_each(|(_, sums)| sums.fill(0.0));
    }

    pub(crate) fn save(&self, out: &mut SectionWriter) -> Result<()> {
        self.rows.save(out)?;
        self.heavy.iter().try_for_each(|(_, sums)| out.numbers(sums))
    }

    pub(crate) fn restore(&mut self, from: &mut SectionReader) -> Result<()> {
        self.rows.restore(from)?;
        self.heavy.iter_mut().try_for_each(|(_, sums)| from.numbers(sums.len(), sums))
    }
}

/// What documents at work leave for their words: t of each, and r of every non-zero.
#[derive(Debug, Default)]
pub(crate) struct Left {
    stride: usize,
    t: Vec<Lanes>,
    r: Vec<f32>,
}

/// The share of it that a run writes to.
#[derive(Debug)]
pub(crate) struct OfRun<'a> {
    t: std::slice::ChunksExactMut<'a, Lanes>,
    r: &'a mut [f32],
}

impl OfRun<'_> {
    /// Takes down what the next document's words were met with.
    pub(crate) fn take(&mut self, step: &DocumentStep) {
        let (last_t, last_r) = step.last();
        if let Some(t) = self.t.next() {
            t.copy_from_slice(last_t);
        }
        let (head, tail) = std::mem::take(&mut self.r).split_at_mut(last_r.len());
        head.copy_from_slice(last_r);
        self.r = tail;
    }

    /// The next document has no words.
    pub(crate) fn pass(&mut self) {
        self.t.next();
    }
}

impl Left {
    /// Room for the documents that `phases` has taken up, run by run.
    pub(crate) fn shares(&mut self, phases: &Phases, stride: usize) -> Vec<OfRun<'_>> {
        let sizes = || phases.runs().iter().map(Run::size);
        self.stride = stride;
        self.t.resize(sizes().map(|(documents, _, _)| documents * stride).sum(), Lanes::ZERO);
        self.r.resize(sizes().map(|(_, nonzeros, _)| nonzeros).sum(), 0.0);
        let t = shares(&mut self.t, sizes().map(|(documents, _, _)| documents * stride));
        let r = shares(&mut self.r, sizes().map(|(_, nonzeros, _)| nonzeros));
        t.into_iter().zip(r).map(|(t, r)| OfRun { t: t.chunks_exact_mut(stride), r }).collect()
    }

    /// G += r * t, word by word.
    pub(crate) fn gather(&self, phases: &Phases, kernel: Kernel, to: &mut Sums) {
        to.add(phases, |entry, row| {
            let from = entry.document as usize * self.stride;
            kernel.axpy(self.r[entry.nonzero as usize], &self.t[from..from + self.stride], row);
        });
    }
}

#[derive(Debug)]
pub(crate) struct Gather {
    phases: Phases,
    kernel: Kernel,
    inverse: Vec<Lanes>,
    gathered: Sums,
    left: Left,
    /// The sum of all documents' theta, where it is wanted.
    pub(crate) totals: Option<Vec<f64>>,
}

/// A document at work.
pub(crate) struct Job<'a, 'b> {
    pub(crate) step: &'a mut DocumentStep,
    pub(crate) document: Document<'b>,
    pub(crate) theta: &'a mut [f32],
}

impl Gather {
    pub(crate) fn new(topics: &Topics, setup: &Setup) -> Result<Gather> {
        Ok(Gather {
            phases: Phases::new(&setup.word_tokens, GROUPS, &setup.threads),
            kernel: setup.kernel,
            inverse: Vec::new(),
            gathered: Sums::new(topics, &setup.word_tokens)?,
            left: Left::default(),
            totals: None,
        })
    }

    /// Goes through the rows of a matrix, on threads.
    pub(crate) fn rows(&self, matrix: &mut Matrix, each: impl Fn(u32, &mut [Lanes]) + Sync) {
        self.phases.rows(matrix, |_, mut part| part.iter_mut().for_each(|(w, row)| each(w, row)));
    }

    /// Before a pass.
    pub(crate) fn begin(&mut self, topics: &Topics) {
        topics.inverse(&mut self.inverse);
        self.gathered.clear(&self.phases);
        if let Some(totals) = &mut self.totals {
            totals.fill(0.0);
        }
    }

    /// Goes through documents: `each(job, inverse)` renews one, and leaves what its words are to gather in the step. Returns the
    /// sum of what it returns.
    pub(crate) fn block(
        &mut self,
        topics: &Topics,
        view: PieceView<'_>,
        each: impl Fn(Job<'_, '_>, &[Lanes]) -> Result<f64, Failed> + Sync + Send,
    ) -> Result<f64, Fault> {
        let (block, kept) = view.open();
        let (count, stride) = (topics.count as usize, stride(topics.count));
        let mut sum = 0f64;
        let mut theta = kept.theta();
        for range in Phases::ranges(block) {
            let (now, later) = theta.split_at_mut(range.len() * count);
            theta = later;
            let Gather { phases, left, inverse, kernel, gathered, totals } = self;
            phases.take_up(block, range);
            let of_theta = phases.runs().iter().map(|run| run.size().0 * count);
            let own = shares(&mut *now, of_theta).into_iter().zip(left.shares(phases, stride)).collect();
            sum += phases.documents(
                own,
                || DocumentStep::new(topics.count, *kernel),
                |run, (theta, mut left), step| {
                    let mut sum = 0f64;
                    for ((number, document), theta) in run.iter(block).zip(theta.chunks_exact_mut(count)) {
                        if document.words.is_empty() {
                            left.pass();
                            continue;
                        }
                        sum += each(Job { step: &mut *step, document, theta }, inverse)
                            .map_err(|bad| (number, bad))?;
                        left.take(step);
                    }
                    Ok(sum)
                },
            )?;
            left.gather(phases, *kernel, gathered);
            if let Some(totals) = totals {
                for theta in now.chunks_exact(count) {
                    totals.iter_mut().zip(theta).for_each(|(sum, &v)| *sum += f64::from(v));
                }
            }
        }
        Ok(sum)
    }

    /// Looks at documents without changing anything. Returns the sum of what `each` returns.
    pub(crate) fn look(
        &mut self,
        topics: &Topics,
        view: PieceView<'_>,
        each: impl Fn(Job<'_, '_>) -> Result<f64, Failed> + Sync + Send,
    ) -> Result<f64, Fault> {
        let (block, kept) = view.open();
        let (count, mut theta, mut sum) = (topics.count as usize, kept.theta(), 0f64);
        for range in Phases::ranges(block) {
            let (now, later) = theta.split_at_mut(range.len() * count);
            theta = later;
            let Gather { phases, kernel, .. } = self;
            phases.take_up(block, range);
            let own = shares(now, phases.runs().iter().map(|run| run.size().0 * count));
            sum += phases.documents(
                own,
                || DocumentStep::new(topics.count, *kernel),
                |run, theta, step| {
                    let documents = run.iter(block).zip(theta.chunks_exact_mut(count));
                    documents.filter(|((_, document), _)| !document.words.is_empty()).try_fold(
                        0f64,
                        |sum, ((number, document), theta)| {
                            let more = each(Job { step: &mut *step, document, theta });
                            more.map(|more| sum + more).map_err(|bad| (number, bad))
                        },
                    )
                },
            )?;
        }
        Ok(sum)
    }

    /// After a pass: phi = rows * G, rows phi + beta where none are given; but no entry below `least`.
    pub(crate) fn end(&mut self, topics: &mut Topics, rows: Option<&Matrix>, least: f32) {
        self.gathered.finish();
        let (beta, count) = (topics.beta, topics.count as usize);
        self.phases.rows_of_two(&mut topics.phi, &mut self.gathered.rows, |_, mut phi, mut gathered| {
            for ((w, phi), (_, gathered)) in phi.iter_mut().zip(gathered.iter_mut()) {
                let phi = &mut flat_mut(phi)[..count];
                match rows {
                    None => phi.iter_mut().for_each(|phi| *phi += beta),
                    Some(rows) => phi.copy_from_slice(&flat(rows.row(w))[..count]),
                }
                for (phi, &g) in phi.iter_mut().zip(flat(gathered)) {
                    *phi = (*phi * g).max(least);
                }
            }
        });
        topics.sum_lambda();
    }

    pub(crate) fn save(&self, out: &mut SectionWriter) -> Result<()> {
        self.gathered.save(out)?;
        self.totals.iter().try_for_each(|totals| out.numbers(totals))
    }

    pub(crate) fn restore(&mut self, topics: &Topics, from: &mut SectionReader) -> Result<()> {
        self.gathered.restore(from)?;
        if let Some(totals) = &mut self.totals {
            from.numbers(totals.len(), totals)?;
        }
        topics.inverse(&mut self.inverse);
        Ok(())
    }
}
