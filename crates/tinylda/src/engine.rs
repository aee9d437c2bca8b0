//! A block through `tbp`, on threads: documents renew their messages, then words take up what has changed. No formulas here.
//!
//! Documents are cut into runs and words into groups by rules that do not know the number of threads; every run and group is
//! one thread's alone, and what they change is added up in whole numbers. So the result is the same, to the bit, for any
//! number of threads.

use std::sync::{Mutex, PoisonError};

use crate::algo::Sweep;
use crate::algo::document::Failed;
use crate::algo::schedule::{self, Aim};
use crate::algo::tbp::{self, Active, Changes, Scratch, Work};
use crate::checkpoint::{In, Out};
use crate::corpus::{Block, Document};
use crate::counts::{Counts, Room, Slot};
use crate::error::Result;
use crate::kernel::{Bucket, Change, Kernel, Lanes, Manner, flat, flat_mut};
use crate::memory;
use crate::messages::{Kept, Messages, UNITS};
use crate::random::{Purpose, Random};
use crate::seeds::Seed;
use crate::store::{Run, Visited};
use crate::threads::{Threads, locked};
use crate::topics::{Topics, stride};

/// What `tbp` is told by its user.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) kernel: Kernel,
    pub(crate) exclude: bool,
    pub(crate) active: Active,
    pub(crate) seed: u64,
    /// Of the corpus.
    pub(crate) tokens: u64,
    /// Whether messages start empty and grow when a document is visited first; else they were given.
    pub(crate) growing: bool,
    /// Where phi may be.
    pub(crate) room: Room,
    /// Whether nothing is kept of documents: at each visit they begin anew.
    pub(crate) anew: bool,
    /// Words that belong to a topic, in their order.
    pub(crate) seeds: Vec<Seed>,
}

/// The engine, with its buffers.
#[derive(Debug)]
pub(crate) struct Engine {
    rules: Rules,
    counts: Counts,
    lambda: Vec<i64>,
    /// phi and lambda of this round, where they cannot be taken out of the last one's: nothing is kept of documents then.
    next: Option<Box<Next>>,
    inverse: Vec<Lanes>,
    factors: Vec<Lanes>,
    /// Of every thread.
    scratch: Vec<Mutex<Own>>,
    /// How often it has begun to go through documents: all of them, or at the start a part.
    round: u32,
    /// In units; see [`tbp::MOST_SMOOTHING`].
    beta: f64,
    /// Whether messages are cut finely, and topics do not come back to documents.
    fine: bool,
    /// How far messages go beyond z in this pass.
    beyond: f32,
    /// Units of each seed that are in phi and lambda now.
    sown: Vec<i64>,
    threads: Threads,
}

/// See [`Engine`].
#[derive(Debug)]
struct Next {
    counts: Counts,
    lambda: Vec<i64>,
    /// Topics in use of the documents visited, and how many documents have any.
    active: (u64, u64),
}

impl Engine {
    pub(crate) fn new(rules: Rules, topics: &Topics, word_tokens: &[u64]) -> Result<Engine> {
        let sown = vec![0; rules.seeds.len()];
        Ok(Engine {
            counts: Counts::new(word_tokens, topics.count, UNITS, &rules.room)?,
            next: if rules.anew {
                let counts = Counts::new(word_tokens, topics.count, UNITS, &rules.room)?;
                Some(Box::new(Next { counts, lambda: vec![0; topics.count as usize], active: (0, 0) }))
            } else {
                None
            },
            rules,
            lambda: vec![0; topics.count as usize],
            inverse: vec![Lanes::ZERO; stride(topics.count)],
            factors: vec![Lanes::ZERO; stride(topics.count)],
            scratch: (0..rayon::current_num_threads())
                .map(|_| {
                    Mutex::new(Own {
                        scratch: Scratch::new(topics.count),
                        changes: Changes::default(),
                        out: Messages::default(),
                        block: Block::default(),
                    })
                })
                .collect(),
            round: 0,
            beta: 0.0,
            fine: false,
            beyond: 0.0,
            sown,
            threads: Threads::default(),
        })
    }

    /// What the last round has made takes the place of what it was made from.
    fn turn(&mut self) -> Result<()> {
        let Some(next) = &mut self.next else { return Ok(()) };
        if next.lambda.iter().any(|&units| units != 0) {
            std::mem::swap(&mut self.counts, &mut next.counts);
            std::mem::swap(&mut self.lambda, &mut next.lambda);
            next.counts.clear()?;
            next.lambda.fill(0);
        }
        next.active = (0, 0);
        Ok(())
    }

    /// Whether there are no topics yet to go by.
    fn at_random(&self) -> bool {
        self.rules.growing && self.round == 1
    }

    /// Units that documents have brought.
    fn entered(&self) -> i64 {
        self.lambda.iter().sum::<i64>() - self.sown.iter().sum::<i64>()
    }

    /// Brings the units of seeds in phi and lambda to what the documents that are there call for: all of them would weigh more than a
    /// topic has while most documents are missing, and no other word would join it.
    fn sow(&mut self) -> Result<()> {
        if self.rules.seeds.is_empty() {
            return Ok(());
        }
        let all = self.rules.tokens as f64 * f64::from(UNITS);
        let share = (self.entered() as f64 / all.max(1.0)).clamp(0.0, 1.0);
        let mut changes = vec![Bucket::default(); self.counts.buckets()];
        for (seed, sown) in self.rules.seeds.iter().zip(&mut self.sown) {
            let wanted = (f64::from(seed.units) * share).round() as i64;
            let more = wanted - *sown;
            let place = self.counts.place(seed.word);
            let change = Change { cell: place.cell + seed.topic, units: more as i32 };
            changes[place.bucket as usize].push(change);
            self.lambda[seed.topic as usize] += more;
            *sown = wanted;
        }
        self.counts.change(&self.threads, |bucket| std::iter::once(&changes[bucket]))
    }

    /// The topics that words are seeds of.
    fn seeds_of(&self, word: u32) -> impl Iterator<Item = (u32, i64)> {
        let from = self.rules.seeds.partition_point(|seed| seed.word < word);
        let both = self.rules.seeds[from..].iter().zip(&self.sown[from..]);
        both.take_while(move |(seed, _)| seed.word == word).map(|(seed, &sown)| (seed.topic, sown))
    }

    /// Sets beta, inverse and factors from lambda.
    fn invert(&mut self, topics: &Topics) {
        let units = f64::from(UNITS);
        let entered = self.entered() as f64 / units;
        self.beta = if entered < self.rules.tokens as f64 {
            let most = tbp::MOST_SMOOTHING * entered.max(1.0) / f64::from(topics.count);
            f64::from(topics.beta) * (most / topics.beta_sum()).min(1.0)
        } else {
            f64::from(topics.beta)
        } * units;
        let beta_sum = self.beta * f64::from(topics.words());
        let alpha = flat(&topics.alpha);
        let rows = flat_mut(&mut self.inverse).iter_mut().zip(flat_mut(&mut self.factors));
        for (((inverse, factor), &alpha), &lambda) in rows.zip(alpha).zip(&self.lambda) {
            let one = 1.0 / (lambda as f64 + beta_sum);
            *inverse = one as f32;
            *factor = (one * f64::from(alpha) * units) as f32;
        }
    }

    /// Weighs all words and draws topics for them.
    fn weigh(&mut self) -> Result<()> {
        let Engine { rules, counts, factors, round, beta, threads, .. } = self;
        let key = u64::from(*round) << 32;
        counts.refresh(threads, rules.kernel, (factors, *beta as f32), rules.seed, key)
    }

    fn grain(&self) -> u16 {
        if self.fine || self.rules.active == Active::All {
            return tbp::FINE;
        }
        tbp::COARSE
    }

    fn work<'a>(&'a self, topics: &'a Topics) -> Work<'a> {
        // Where documents begin anew at each visit, their first messages are all they have.
        let fine = self.rules.anew || self.rules.active == Active::All;
        Work {
            kernel: self.rules.kernel,
            counts: &self.counts,
            inverse: &self.inverse,
            factors: &self.factors,
            alpha: &topics.alpha,
            alpha_sum: topics.alpha_sum,
            seeds: &self.rules.seeds,
            manner: Manner {
                beta: self.beta as f32,
                grain: self.grain(),
                open: !self.fine && !self.at_random(),
                beyond: self.beyond,
            },
            exclude: self.rules.exclude,
            most: self.rules.active.most(topics.count),
            rounds: if self.rules.anew { tbp::ROUNDS_ANEW } else { tbp::ROUNDS },
            least: if fine { 0.0 } else { tbp::FIRST_UNITS },
            first_grain: if fine { self.grain() } else { tbp::FIRST_GRAIN },
        }
    }

    /// Goes through the documents of a block, run by run. Returns what `each` of them adds up to, in their order.
    fn through(
        &mut self,
        topics: &Topics,
        runs: &mut [Run],
        each: impl Fn(Work<'_>, Job<'_>) -> Result<f64, Failed> + Sync,
    ) -> Result<f64, (u64, Failed)> {
        let (work, scratch) = (self.work(topics), &self.scratch);
        let (count, buckets, anew) = (topics.count as usize, self.counts.buckets(), self.rules.anew);
        let mut tasks: Vec<Task<'_>> =
            runs.iter_mut().map(|run| Task { run, sum: Ok(0.0), active: (0, 0) }).collect();
        let ready = |thread: usize| {
            let mut own = locked(&scratch[thread]);
            own.changes.clear(buckets, count);
            own
        };
        let ordered = tasks.iter_mut().map(|task| (task.run.documents.nonzeros() as u64, task)).collect();
        self.threads.share(ordered, ready, |own, Task { run, sum, active }| {
            let Own { scratch, changes, out, block } = &mut **own;
            out.clear();
            let block = run.documents.open(block);
            let nonzeros = |d: usize| block.document(d).words.len();
            *sum = run.messages.documents(nonzeros).enumerate().try_fold(0f64, |sum, (d, kept)| {
                let number = block.number(d);
                let job = Job { document: block.document(d), number, kept, scratch, changes, out };
                each(work, job).map(|more| sum + more).map_err(|bad| (number, bad))
            });
            // Nothing, where messages are only looked at.
            if !out.is_empty() && sum.is_ok() && !anew {
                run.messages.copy(out);
            }
            *active = out.active();
        });
        let mut active = (0, 0);
        let total = tasks.into_iter().try_fold(0f64, |total, task| {
            active = (active.0 + task.active.0, active.1 + task.active.1);
            Ok(total + task.sum?)
        });
        if let Some(next) = &mut self.next {
            next.active = (next.active.0 + active.0, next.active.1 + active.1);
        }
        total
    }

    /// Takes up what the threads have changed: whole numbers, so which of them did what does not matter.
    fn take_up(&mut self) -> Result<()> {
        let Engine { counts, scratch, lambda, next, threads, .. } = self;
        let (counts, lambda) = match next {
            Some(next) => (&mut next.counts, &mut next.lambda),
            None => (counts, lambda),
        };
        let changes: Vec<&Changes> = scratch
            .iter_mut()
            .map(|own| &own.get_mut().unwrap_or_else(PoisonError::into_inner).changes)
            .collect();
        counts.change(threads, |bucket| changes.iter().map(move |own| &own.phi[bucket]))?;
        for own in changes {
            for (lambda, more) in lambda.iter_mut().zip(&own.lambda) {
                *lambda += more;
            }
        }
        Ok(())
    }
}

impl Sweep for Engine {
    /// Before the first block of a pass, or of a stage at the start.
    fn begin(&mut self, topics: &mut Topics) -> Result<()> {
        self.turn()?;
        self.round += 1;
        if !self.at_random() {
            self.sow()?;
            self.invert(topics);
            self.weigh()?;
        }
        Ok(())
    }

    /// One block: its messages are renewed, and then phi. Returns the log-likelihood of its documents as they came.
    fn block(&mut self, topics: &mut Topics, visit: Visited<'_>) -> Result<Option<f64>, (u64, Failed)> {
        let runs = visit.runs();
        self.invert(topics);
        let (seed, round, growing, at_random) =
            (self.rules.seed, self.round, self.rules.growing, self.at_random());
        let sum = self.through(topics, runs, |work, job| {
            let Job { document, number, kept, scratch, changes, out } = job;
            if document.words.is_empty() {
                out.push(std::iter::empty(), &[], std::iter::empty());
                return Ok(0.0);
            }
            let mut cut = Random::new(seed, Purpose::Cut, number | u64::from(round) << 40);
            if growing && kept.parts.is_empty() {
                let mut start = Random::new(seed, Purpose::Start, number);
                let random = at_random.then_some(&mut start);
                return work.grow(document, random, &mut cut, (scratch, changes), out);
            }
            work.renew(document, kept, &mut cut, (scratch, changes), out)
        })?;
        self.take_up().map_err(|e| (0, e.into()))?;
        Ok(Some(sum))
    }

    /// Takes up messages that were given.
    fn load(&mut self, topics: &Topics, visit: Visited<'_>) -> Result<(), (u64, Failed)> {
        let runs = visit.runs();
        self.through(topics, runs, |work, job| {
            work.enter(job.document, job.kept, job.changes);
            Ok(0.0)
        })?;
        self.take_up().map_err(|e| (0, e.into()))
    }

    /// Before blocks are measured.
    fn ready(&mut self, topics: &Topics) -> Result<bool> {
        self.turn()?;
        self.invert(topics);
        self.weigh()?;
        Ok(true)
    }

    /// The log-likelihood of a block's documents, as they are.
    fn measure(&mut self, topics: &Topics, visit: Visited<'_>) -> Result<f64, (u64, Failed)> {
        let runs = visit.runs();
        self.through(topics, runs, |work, job| {
            if job.document.words.is_empty() {
                return Ok(0.0);
            }
            if job.kept.parts.is_empty() {
                return work.first_theta(job.document, None, job.scratch);
            }
            work.measure(job.document, job.kept, job.scratch)
        })
    }

    fn active_topics(&self) -> Option<f64> {
        self.next.as_ref().map(|next| next.active.0 as f64 / next.active.1.max(1) as f64)
    }

    fn aim(&mut self, aim: Aim) {
        self.beyond = schedule::beyond(aim);
        self.fine = schedule::fine(aim);
    }

    fn finish(&mut self) {
        self.scratch = Vec::new();
        memory::give_back();
    }

    fn phi(&self, _: &Topics, word: u32, slot: &mut Slot, to: &mut [f32]) -> Result<()> {
        self.counts.fill(word, UNITS, slot, to)?;
        for (k, units) in self.seeds_of(word) {
            let n = &mut to[k as usize];
            *n = (*n - units as f32 / UNITS as f32).max(0.0);
        }
        Ok(())
    }

    fn own_phi(&self) -> bool {
        true
    }

    fn save(&self, _: &Topics, out: &mut Out) -> Result<()> {
        out.numbers(&[self.round])?;
        out.numbers(&self.lambda)?;
        out.numbers(&self.sown)?;
        self.counts.save(out)?;
        let Some(next) = &self.next else { return Ok(()) };
        out.numbers(&[next.active.0, next.active.1])?;
        out.numbers(&next.lambda)?;
        next.counts.save(out)
    }

    fn restore(&mut self, _: &mut Topics, from: &mut In) -> Result<()> {
        let mut numbers: Vec<u32> = Vec::new();
        from.numbers(1, &mut numbers)?;
        self.round = numbers[0];
        from.numbers(self.lambda.len(), &mut self.lambda)?;
        let seeds = self.sown.len();
        from.numbers(seeds, &mut self.sown)?;
        self.counts.restore(self.lambda.len() as u32, from)?;
        let Some(next) = &mut self.next else { return Ok(()) };
        let mut active: Vec<u64> = Vec::new();
        from.numbers(2, &mut active)?;
        next.active = (active[0], active[1]);
        from.numbers(next.lambda.len(), &mut next.lambda)?;
        next.counts.restore(next.lambda.len() as u32, from)
    }
}

/// What a thread has for itself.
#[derive(Debug)]
struct Own {
    scratch: Scratch,
    changes: Changes,
    /// The messages of the run at work.
    out: Messages,
    /// Its documents.
    block: Block,
}

/// A run of documents to go through.
struct Task<'a> {
    run: &'a mut Run,
    sum: Result<f64, (u64, Failed)>,
    /// Topics in use, and documents that use any.
    active: (u64, u64),
}

/// A document at work.
struct Job<'a> {
    document: Document<'a>,
    number: u64,
    kept: Kept<'a>,
    scratch: &'a mut Scratch,
    changes: &'a mut Changes,
    out: &'a mut Messages,
}
