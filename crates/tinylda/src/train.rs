//! Training: the only loop over passes and documents.

mod check;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Instant;

use crate::algo::document::{DocumentStep, Frozen};
use crate::algo::{Active, Algorithm, Sweep};
use crate::corpus::{Corpus, Shape};
use crate::engine::Rules;
use crate::error::{Error, Result};
use crate::kernel::{Instructions, Kernel, flat_mut};
use crate::model::{CorpusName, Model, Settings};
use crate::random::{Purpose, Random};
use crate::store::{Keep, Store, Visit, Which};
use crate::topics::{Topics, heavy_words};

/// The paper's threshold: training has converged when the perplexity changes by less than this in a pass.
pub const DEFAULT_TOLERANCE: f64 = 1.0;
/// The same for `tbp`, as a share of the perplexity: it goes on to where another pass brings next to nothing.
pub const DEFAULT_TOLERANCE_TBP: f64 = 5e-5;
/// The paper's number of passes.
pub const DEFAULT_PASSES: u32 = 500;
/// The paper's beta.
pub const DEFAULT_BETA: f64 = 0.01;
/// From a random start the perplexity may stand nearly still before it falls, so no stop before this pass.
pub const LEAST_PASSES: u32 = 10;

/// How to train.
#[derive(Debug, Clone)]
pub struct Trainer {
    topics: u32,
    algorithm: Algorithm,
    alpha: Option<f64>,
    beta: f64,
    passes: u32,
    tolerance: Option<f64>,
    seed: u64,
    start: Option<Vec<u32>>,
    order: Option<Vec<u64>>,
    memory: Option<u64>,
    threads: usize,
    exclude: bool,
    active: Active,
    instructions: Option<Instructions>,
}

/// The state after a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassReport {
    /// How many passes are done.
    pub pass: u32,
    /// How many may be done at the most.
    pub passes: u32,
    /// Seconds since training began, when this pass was done.
    pub seconds: f64,
    /// exp(-sum x log sum_k p(w|k)p(k|d) / N) on the training documents, after this pass. `tbp` takes it on its way
    /// through the next pass, when the topics have already moved on a little; that of the last pass is exact.
    pub train_perplexity: f64,
    /// Topics in use per document: K, but with `tbp` those that the documents have kept.
    pub active_topics: f64,
    /// Documents visited per second in this pass.
    pub documents_per_second: f64,
}

/// What is known of the passes so far.
struct Journal {
    /// (pass, training perplexity).
    history: Vec<(u32, f64)>,
    /// When each began and ended, and the topics in use per document after it.
    passes: Vec<(f64, f64, f64)>,
    documents: u64,
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The perplexity changed by less than the tolerance.
    Converged,
    /// All passes were done.
    Passes,
    /// The caller asked for it.
    Asked,
}

/// What training gives.
#[derive(Debug)]
pub struct Trained {
    /// The topics.
    pub model: Model,
    /// Passes done.
    pub passes: u32,
    /// The training perplexity at the end.
    pub train_perplexity: f64,
    /// Seconds of training.
    pub seconds: f64,
    /// Topics in use per document at the end.
    pub active_topics: f64,
    /// Why it ended.
    pub stop: Stop,
    /// theta, D rows of K counts, where it was asked for.
    pub theta: Option<Vec<f32>>,
}

impl Trainer {
    /// Training of `topics` topics with `tbp` and the paper's settings: alpha 2/K, beta 0.01, at most 500 passes.
    pub fn new(topics: u32) -> Trainer {
        Trainer {
            topics,
            algorithm: Algorithm::Tbp,
            alpha: None,
            beta: DEFAULT_BETA,
            passes: DEFAULT_PASSES,
            tolerance: None,
            seed: 1,
            start: None,
            order: None,
            memory: None,
            threads: 1,
            exclude: true,
            active: Active::Auto,
            instructions: None,
        }
    }
    /// Which update rule.
    #[must_use]
    pub fn algorithm(self, algorithm: Algorithm) -> Trainer {
        Trainer { algorithm, ..self }
    }
    /// The Dirichlet parameter of a document's topics, per topic; 2/K where not set.
    #[must_use]
    pub fn alpha(self, alpha: f64) -> Trainer {
        Trainer { alpha: Some(alpha), ..self }
    }
    /// The Dirichlet parameter of a topic's words, per word.
    #[must_use]
    pub fn beta(self, beta: f64) -> Trainer {
        Trainer { beta, ..self }
    }
    /// The most passes over the corpus.
    #[must_use]
    pub fn passes(self, passes: u32) -> Trainer {
        Trainer { passes, ..self }
    }
    /// Stop when the training perplexity changes by less than this in a pass (0: never); [`DEFAULT_TOLERANCE`] or
    /// [`DEFAULT_TOLERANCE_TBP`] of the perplexity where not set.
    #[must_use]
    pub fn tolerance(self, tolerance: f64) -> Trainer {
        Trainer { tolerance: Some(tolerance), ..self }
    }
    /// The same seed gives the same topics, to the bit.
    #[must_use]
    pub fn seed(self, seed: u64) -> Trainer {
        Trainer { seed, ..self }
    }
    /// The topic (from 0) that each non-zero starts with, documents and words in the corpus's order, instead of a
    /// random one.
    #[must_use]
    pub fn start(self, start: Vec<u32>) -> Trainer {
        Trainer { start: Some(start), ..self }
    }
    /// The order (from 0) in which documents are visited, instead of a random one; for the asynchronous algorithm.
    #[must_use]
    pub fn order(self, order: Vec<u64>) -> Trainer {
        Trainer { order: Some(order), ..self }
    }
    /// How many threads `tbp` works on; the result does not depend on it, to the bit. The paper's algorithms use one.
    #[must_use]
    pub fn threads(self, threads: usize) -> Trainer {
        Trainer { threads, ..self }
    }
    /// Use these instructions in place of the best that the processor has. The result does not depend on it.
    #[must_use]
    pub fn instructions(self, instructions: Instructions) -> Trainer {
        Trainer { instructions: Some(instructions), ..self }
    }
    /// How many topics a document may use with `tbp`.
    #[must_use]
    pub fn active(self, active: Active) -> Trainer {
        Trainer { active, ..self }
    }
    /// Whether `tbp` takes a message out before it renews it (as it does unless told otherwise).
    #[must_use]
    pub fn exclude(self, exclude: bool) -> Trainer {
        Trainer { exclude, ..self }
    }
    /// Refuse before any work where more than this many bytes would be needed.
    #[must_use]
    pub fn memory(self, bytes: u64) -> Trainer {
        Trainer { memory: Some(bytes), ..self }
    }

    fn kernel(&self) -> Result<Kernel> {
        let Some(wanted) = self.instructions else { return Ok(Kernel::best()) };
        Kernel::of(wanted).ok_or_else(|| Error::Setting {
            option: "--instructions",
            found: format!("{wanted:?}"),
            expected: "instructions that this processor has".into(),
            remedy: "Leave it out: the best are chosen.".into(),
        })
    }

    fn rules(&self, kernel: Kernel, tokens: u64) -> Rules {
        Rules {
            threads: self.threads,
            kernel,
            exclude: self.exclude,
            active: self.active,
            seed: self.seed,
            tokens,
            growing: self.start.is_none(),
        }
    }

    /// The tolerance where the perplexity is what is given.
    fn tolerance_at(&self, perplexity: f64) -> f64 {
        let small = self.algorithm.small_messages();
        self.tolerance.unwrap_or(if small { DEFAULT_TOLERANCE_TBP * perplexity } else { DEFAULT_TOLERANCE })
    }

    fn alpha_value(&self) -> f64 {
        self.alpha.unwrap_or(2.0 / f64::from(self.topics.max(1)))
    }

    /// Trains. `each` is called after every pass, and may ask to stop.
    pub fn train(
        &self,
        corpus: &Corpus,
        each: impl FnMut(&PassReport) -> ControlFlow<()>,
    ) -> Result<Trained> {
        self.run(corpus, each, false)
    }

    /// Trains and gives theta too: D x K numbers.
    pub fn train_with_theta(
        &self,
        corpus: &Corpus,
        each: impl FnMut(&PassReport) -> ControlFlow<()>,
    ) -> Result<Trained> {
        self.run(corpus, each, true)
    }

    fn run(
        &self,
        corpus: &Corpus,
        mut each: impl FnMut(&PassReport) -> ControlFlow<()>,
        keep_theta: bool,
    ) -> Result<Trained> {
        self.check(corpus)?;
        let kernel = self.kernel()?;
        let clock = Instant::now();
        let shape = corpus.shape();
        let word_tokens = corpus.word_totals()?.tokens;
        let alpha = vec![self.alpha_value() as f32; self.topics as usize];
        let beta = self.beta as f32;
        let small = self.algorithm.small_messages();
        let mut topics = if small {
            Topics::without_phi(shape.words, self.topics, &alpha, beta)
        } else {
            Topics::new(shape.words, self.topics, &alpha, beta)?
        };
        let keep = if small { Keep::Messages } else { Keep::Rows };
        let mut store = Store::load(corpus, self.topics, self.update_size(shape), keep)?;
        if !small {
            self.scatter(&mut topics, &mut store, &word_tokens)?;
        }
        let visits = self.visits(corpus);
        let mut sweep = Sweep::new(self.algorithm, &topics, word_tokens, self.rules(kernel, shape.tokens))?;
        if let Some(start) = self.start.as_deref().filter(|_| small) {
            store.start(start, self.active.most(self.topics));
            store.for_each_block(Which::ALL, |visit| {
                sweep.load(&topics, visit).map_err(|(d, bad)| bad.in_document(d, "the start"))
            })?;
        }

        self.stages(&mut sweep, &mut topics, &mut store, shape)?;

        let tokens = shape.tokens as f64;
        let mut journal = Journal { history: Vec::new(), passes: Vec::new(), documents: shape.documents };
        let mut stop = Stop::Passes;
        let mut pass = 0;
        // The pass after which training ends: when it has converged it settles, and then it is done.
        let mut last = self.passes;
        let mut settling = false;
        while pass < last && stop != Stop::Asked {
            if !settling && pass + self.algorithm.settling_passes(self.passes) >= last {
                settling = sweep.settle();
            }
            let began = clock.elapsed().as_secs_f64();
            sweep.begin(&topics);
            let mut before = Some(0f64);
            store.for_each_block(visits.as_deref().map_or(Which::ALL, Which::Visits), |visit| {
                let got =
                    sweep.block(&mut topics, visit).map_err(|(d, bad)| bad.in_document(d, "training"))?;
                before = before.zip(got).map(|(sum, one)| sum + one);
                Ok(())
            })?;
            sweep.end(&mut topics);
            pass += 1;
            journal.passes.push((began, clock.elapsed().as_secs_f64(), store.active_topics()));
            // A sweep that gets the likelihood for free gets that of the state it began with: report one pass later.
            let (of_pass, log_likelihood) = match before {
                Some(sum) => (pass - 1, sum),
                None => (pass, log_likelihood(&topics, &mut store, kernel)?),
            };
            if of_pass == 0 {
                continue;
            }
            let now = self.note(of_pass, perplexity(log_likelihood, tokens), &mut journal, &mut each);
            if now == Stop::Asked || (now == Stop::Converged && !settling) {
                stop = now;
                last = last.min(pass + self.algorithm.settling_passes(self.passes));
            }
        }
        if journal.history.last().map(|&(p, _)| p) != Some(pass) {
            let sum = last_likelihood(&mut sweep, &topics, &mut store, kernel)?;
            let asked = self.note(pass, perplexity(sum, tokens), &mut journal, &mut each);
            if stop == Stop::Passes {
                stop = asked;
            }
        }
        let history = journal.history;
        let active_topics = store.active_topics();
        let train_perplexity = history.last().map_or(f64::NAN, |&(_, p)| p);
        let theta = if keep_theta { Some(collect_theta(&mut store, corpus, self.topics)?) } else { None };
        // What is kept per document makes room for phi in its last form.
        drop(store);
        sweep.finish(&mut topics)?;
        let settings = Settings {
            algorithm: self.algorithm.name().into(),
            exclude: self
                .algorithm
                .small_messages()
                .then(|| if self.exclude { "own" } else { "none" }.into()),
            active: (self.algorithm.small_messages() && self.active != Active::Auto)
                .then(|| self.active.to_string()),
            seed: self.seed,
            passes: pass,
            tolerance: self.tolerance_at(train_perplexity),
            train_perplexity,
            history,
            corpus: CorpusName::of(corpus),
        };
        let model = Model::new(topics, alpha, corpus.vocabulary()?, settings);
        Ok(Trained {
            model,
            passes: pass,
            train_perplexity,
            seconds: clock.elapsed().as_secs_f64(),
            active_topics,
            stop,
            theta,
        })
    }

    /// What comes before the first pass: parts of the corpus, where the algorithm has use for them.
    fn stages(&self, sweep: &mut Sweep, topics: &mut Topics, store: &mut Store, shape: Shape) -> Result<()> {
        if self.start.is_some() {
            return Ok(());
        }
        for (every, rounds) in self.algorithm.stages(store.pieces(), shape.tokens, self.topics) {
            for _ in 0..rounds {
                sweep.begin(topics);
                store.for_each_block(Which::Every(every), |visit| {
                    sweep.block(topics, visit).map(|_| ()).map_err(|(d, bad)| bad.in_document(d, "training"))
                })?;
            }
        }
        Ok(())
    }

    /// Into which pieces the corpus is cut, where the algorithm renews the topics after each. A rule of the corpus alone:
    /// the pieces are part of the result. In one piece all messages would change at once and swing back at the next pass;
    /// with ten or more they settle.
    fn update_size(&self, shape: Shape) -> Option<u64> {
        self.algorithm.small_messages().then(|| (shape.nonzeros / 32).clamp(1, 1 << 17))
    }

    /// Writes a pass down, tells the caller, and says whether to go on.
    fn note(
        &self,
        pass: u32,
        train_perplexity: f64,
        journal: &mut Journal,
        each: &mut impl FnMut(&PassReport) -> ControlFlow<()>,
    ) -> Stop {
        journal.history.push((pass, train_perplexity));
        let none = (f64::NAN, f64::NAN, f64::NAN);
        let (began, seconds, active_topics) = journal.passes.get(pass as usize - 1).copied().unwrap_or(none);
        let report = PassReport {
            pass,
            passes: self.passes,
            seconds,
            train_perplexity,
            active_topics,
            documents_per_second: journal.documents as f64 / (seconds - began).max(1e-9),
        };
        if each(&report).is_break() {
            return Stop::Asked;
        }
        // Where messages are cut at random a pass may stand still by chance: five are compared with the five before.
        let round = if self.algorithm.small_messages() { 5 } else { 1 };
        let back = |rounds: usize| {
            let at = journal.history.len().checked_sub(1 + rounds * round as usize)?;
            Some(journal.history[at].1)
        };
        let least = self.tolerance_at(train_perplexity) * f64::from(round);
        let still = |from: usize| {
            back(from).zip(back(from + 1)).is_some_and(|(now, before)| (before - now).abs() < least)
        };
        let converged = still(0) && (round == 1 || still(1));
        if pass >= LEAST_PASSES && pass.is_multiple_of(round) && converged {
            Stop::Converged
        } else {
            Stop::Passes
        }
    }

    /// The start: each non-zero gives all its tokens to one topic.
    fn scatter(&self, topics: &mut Topics, store: &mut Store, word_tokens: &[u64]) -> Result<()> {
        let mut given = self.start.as_deref().unwrap_or_default().iter();
        let row = || vec![0f64; self.topics as usize];
        let mut heavy: HashMap<u32, Vec<f64>> = heavy_words(word_tokens).map(|w| (w, row())).collect();
        store.for_each(|d, document, theta| {
            let mut random = Random::new(self.seed, Purpose::Start, d);
            for (&w, &x) in document.words.iter().zip(document.counts) {
                let k = given.next().copied().unwrap_or_else(|| random.below(u64::from(self.topics)) as u32)
                    as usize;
                theta[k] += x as f32;
                match heavy.get_mut(&w) {
                    Some(row) => row[k] += f64::from(x),
                    None => flat_mut(topics.phi.row_mut(w))[k] += x as f32,
                }
                topics.lambda[k] += f64::from(x);
            }
            Ok(())
        })?;
        for (w, row) in heavy {
            for (phi, sum) in flat_mut(topics.phi.row_mut(w)).iter_mut().zip(row) {
                *phi = sum as f32;
            }
        }
        Ok(())
    }

    /// The order of documents: blocks shuffled, and the documents within each, so that a pass can stream from disk.
    fn visits(&self, corpus: &Corpus) -> Option<Vec<Visit>> {
        if !self.algorithm.shuffles() {
            return None;
        }
        let sizes: Vec<u32> = (0..corpus.blocks()).map(|i| corpus.block_documents(i)).collect();
        if let Some(order) = &self.order {
            let mut firsts = vec![0u64];
            firsts.extend(sizes.iter().scan(0u64, |sum, &n| {
                *sum += u64::from(n);
                Some(*sum)
            }));
            let mut visits: Vec<Visit> = Vec::new();
            for &d in order {
                let block = firsts.partition_point(|&first| first <= d) - 1;
                let within = (d - firsts[block]) as u32;
                match visits.last_mut() {
                    Some(last) if last.block == block => last.documents.push(within),
                    _ => visits.push(Visit { block, documents: vec![within] }),
                }
            }
            return Some(visits);
        }
        let mut blocks: Vec<usize> = (0..sizes.len()).collect();
        Random::new(self.seed, Purpose::BlockOrder, 0).shuffle(&mut blocks);
        let visit = |block: usize| {
            let mut documents: Vec<u32> = (0..sizes[block]).collect();
            Random::new(self.seed, Purpose::DocumentOrder, block as u64).shuffle(&mut documents);
            Visit { block, documents }
        };
        Some(blocks.into_iter().map(visit).collect())
    }
}

/// exp(-log-likelihood per token).
fn perplexity(log_likelihood: f64, tokens: f64) -> f64 {
    libm::exp(-log_likelihood / tokens)
}

/// sum x log p(w|d) over the training documents.
fn log_likelihood(topics: &Topics, store: &mut Store, kernel: Kernel) -> Result<f64> {
    let mut inverse = Vec::new();
    topics.inverse(&mut inverse);
    let frozen = Frozen::new(topics, &inverse);
    let mut step = DocumentStep::new(topics.count, kernel);
    let mut sum = 0f64;
    store.for_each(|d, document, theta| {
        sum += step
            .log_likelihood(&frozen, document, theta, document.tokens())
            .map_err(|bad| bad.in_document(d, "the training perplexity"))?;
        Ok(())
    })?;
    Ok(sum)
}

/// The same after the last pass, whatever form an algorithm keeps phi in.
fn last_likelihood(sweep: &mut Sweep, topics: &Topics, store: &mut Store, kernel: Kernel) -> Result<f64> {
    if !sweep.ready(topics) {
        return log_likelihood(topics, store, kernel);
    }
    let mut sum = 0f64;
    store.for_each_block(Which::ALL, |visit| {
        sum +=
            sweep.measure(topics, visit).map_err(|(d, bad)| bad.in_document(d, "the training perplexity"))?;
        Ok(())
    })?;
    Ok(sum)
}

fn collect_theta(store: &mut Store, corpus: &Corpus, topics: u32) -> Result<Vec<f32>> {
    let mut all = vec![0.0; corpus.shape().documents as usize * topics as usize];
    store.for_each(|d, _, theta| {
        let start = d as usize * topics as usize;
        all[start..start + topics as usize].copy_from_slice(theta);
        Ok(())
    })?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Synth;

    /// A model does not depend on the processor it was trained on.
    #[test]
    fn instruction_sets_do_not_change_a_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("synth.tlc");
        let settings = Synth { documents: 800, words: 300, topics: 5, mean_length: 30.0, ..Synth::default() };
        let mut synthetic = settings.prepare(&mut |_, _| ControlFlow::Continue(())).unwrap();
        synthetic.write(&path, &settings.vocabulary(), &mut |_, _| ControlFlow::Continue(())).unwrap();
        let corpus = Corpus::open(&path).unwrap();
        for (algorithm, topics) in Algorithm::ALL.into_iter().map(|a| (a, 37)).chain([(Algorithm::Tbp, 200)])
        {
            let trainer = Trainer::new(topics).algorithm(algorithm).passes(25);
            let models: Vec<Model> = [Instructions::Plain, Instructions::Avx2, Instructions::Avx512]
                .into_iter()
                .filter(|&instructions| Kernel::of(instructions).is_some())
                .map(|instructions| {
                    let trainer = trainer.clone().instructions(instructions);
                    trainer.train(&corpus, |_| ControlFlow::Continue(())).unwrap().model
                })
                .collect();
            assert!(models.iter().all(|model| *model == models[0]), "{algorithm:?}");
        }
    }
}
