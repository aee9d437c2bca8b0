//! Topic coherence: how often the words of a topic occur together in texts.
//!
//! Implements the four measures of Röder, Both and Hinneburg (2015) that are in common use, with
//! the same results as gensim's `CoherenceModel` (4.4.0) for the same words, texts and windows.
//! Start reading at [`Coherence`]; counting belongs to `windows`.
//!
//! ```text
//! w_1 .. w_N   the words of a topic, the best first
//! p(w), p(w,v) the share of windows that contain w, or both w and v
//! e            1e-12
//! u_mass  mean over i > j of  log((p(w_i,w_j) + e) / p(w_j)), where a window is a whole document
//! c_uci   mean over i != j of  log((p(w_i,w_j) + e) / (p(w_i) p(w_j)))
//! c_npmi  mean over i != j of  m(i,j)
//!         m(i,j) = log((p(w_i,w_j) + e) / (p(w_i) p(w_j))) / -log(p(w_i,w_j) + e)
//! c_v     mean over i of the cosine of (m(i,1) .. m(i,N)) and (sum_i m(i,1) .. sum_i m(i,N))
//! ```
//!
//! Takes one pass over the texts, on all threads, with memory for the pairs of top words only.

#[cfg(feature = "text")]
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(feature = "text")]
use super::reference::LineBatches;
use super::windows::{SlidingWindow, TrackedWords, UNTRACKED, WindowCounts};
#[cfg(feature = "text")]
use crate::corpus::ingest::DetectedInput;
#[cfg(feature = "text")]
use crate::corpus::ingest::words::{Pipeline, Tokenizer, TokenizerBuffer};
use crate::corpus::{Block, Corpus};
use crate::error::{Error, Position, Result};
use crate::infer::VocabularyMap;
use crate::model::Model;
use crate::progress::{ProgressCallback, Step};
use crate::threads::pool;

/// Keeps logarithms finite for words that never occur together. The value is that of gensim.
const EPSILON: f64 = 1e-12;

/// Maximum number of pair counters, 1 GiB per window size and thread.
const MAX_PAIRS: usize = 1 << 27;

/// Approximate number of tokens of a batch, the unit of work of a thread.
const BATCH_TOKENS: usize = 1 << 16;

/// A measure of coherence. Higher is better in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Mean log conditional probability of a word given a higher-ranked word of the topic, by
    /// documents (Mimno et al. 2011).
    UMass,
    /// Pointwise mutual information in windows of 10 tokens (Newman et al. 2010).
    CUci,
    /// Normalized pointwise mutual information, from -1 to 1, in windows of 10 tokens (Bouma 2009).
    CNpmi,
    /// Cosine similarity of vectors of normalized mutual information with all words of the topic,
    /// in windows of 110 tokens (Röder et al. 2015).
    CV,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Measure; 4] = [Measure::UMass, Measure::CUci, Measure::CNpmi, Measure::CV];

    /// Returns the name of the measure, the same as in gensim.
    pub fn name(self) -> &'static str {
        match self {
            Measure::UMass => "u_mass",
            Measure::CUci => "c_uci",
            Measure::CNpmi => "c_npmi",
            Measure::CV => "c_v",
        }
    }

    /// Returns the default window size in tokens; 0 stands for the whole document.
    pub fn default_window(self) -> u32 {
        match self {
            Measure::UMass => 0,
            Measure::CUci | Measure::CNpmi => 10,
            Measure::CV => 110,
        }
    }
}

/// How to treat words of a topic that never occur in the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingWords {
    /// Ignore them, as gensim does with words that are not in its dictionary: the texts contain no
    /// information about them.
    #[default]
    Ignore,
    /// Keep them, as gensim does with words that are in its dictionary: their pairs count 0 or
    /// log(e/p) in u_mass, and make the other measures infinite or NaN.
    Keep,
}

/// Settings of a coherence measurement, and the measurement itself.
#[derive(Debug, Clone)]
pub struct Coherence {
    /// The measures to compute.
    pub measures: Vec<Measure>,
    /// Window size in tokens for all measures except u_mass, or `None` for the default of each
    /// measure; 0 stands for the whole document.
    pub window: Option<u32>,
    /// How to treat words that never occur.
    pub missing: MissingWords,
    /// Number of threads. The result does not depend on it.
    pub threads: usize,
}

impl Default for Coherence {
    fn default() -> Coherence {
        Coherence {
            measures: Measure::ALL.to_vec(),
            window: None,
            missing: MissingWords::default(),
            threads: 1,
        }
    }
}

/// The result of one measure.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasureResult {
    /// The measure.
    pub measure: Measure,
    /// Window size in tokens; 0 stands for the whole document.
    pub window: u32,
    /// Number of windows in the texts.
    pub windows: u64,
    /// Coherence of every topic; NaN if too few of its words occur.
    pub topics: Vec<f64>,
    /// Mean over the topics; with [`MissingWords::Ignore`] over those with a finite coherence.
    pub mean: f64,
}

/// The coherence of the topics of a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CoherenceResult {
    /// Number of documents, including empty ones.
    pub documents: u64,
    /// One result for each requested measure.
    pub measures: Vec<MeasureResult>,
    /// For each topic the words that never occur in the texts.
    pub missing: Vec<Vec<u32>>,
}

impl Coherence {
    /// Returns the memory in bytes that [`of_corpus`](Coherence::of_corpus) needs in addition to
    /// the model, for `top` words of every topic.
    pub fn memory_bytes(&self, corpus: &Corpus, topics: u32, top: u32) -> u64 {
        let pairs = u64::from(topics).saturating_mul(u64::from(top).saturating_mul(u64::from(top) + 1) / 2);
        let threads = self.threads.min(corpus.blocks()).max(1);
        let blocks = corpus.largest_blocks_bytes(threads);
        let counts = pairs.saturating_mul(8).saturating_mul(threads as u64);
        let slots = u64::from(corpus.shape().words).saturating_mul(8);
        blocks.saturating_add(counts).saturating_add(slots)
    }

    /// Measures coherence on a corpus. A corpus does not record the order of words, so that a
    /// window is always a whole document.
    ///
    /// `topics` contains the words of each topic as ids of the model, the best first. `progress`
    /// receives the number of blocks and can cancel.
    pub fn of_corpus(
        &self,
        model: &Model,
        topics: &[Vec<u32>],
        corpus: &Corpus,
        progress: ProgressCallback<'_>,
    ) -> Result<CoherenceResult> {
        if let Some(window) = self.window.filter(|&window| window > 0) {
            return Err(Error::unsupported_value(
                "window",
                window,
                "a corpus does not record the order of words",
            )
            .with_remedy("omit {window}, or give the texts themselves as {reference}"));
        }
        let known = VocabularyMap::new(model, corpus)?;
        let counter = self.counter(topics, |_| 0)?;
        let by_word = slots_by_word(&counter.tracked);
        let slot = |w: u32| known.id(w).and_then(|id| by_word.get(id as usize).copied()).unwrap_or(UNTRACKED);
        let slots: Vec<u32> = (0..corpus.shape().words).map(slot).collect();
        drop(known);
        let blocks = corpus.blocks() as u64;
        let mut next = 0;
        let job = || {
            if progress(Step::Coherence.at(next, blocks)).is_break() {
                return Err(Error::Interrupted);
            }
            next += 1;
            Ok((next <= blocks).then(|| next as usize - 1))
        };
        let init = || (corpus.reader(), Block::default(), Vec::new());
        let totals = counter.run(self.threads, init, job, |(reader, block, text), i, thread_counter| {
            reader.read(i, block)?;
            for document in block.iter() {
                text.clear();
                text.extend(
                    document.words.iter().map(|&w| slots[w as usize]).filter(|&slot| slot != UNTRACKED),
                );
                thread_counter.count_text(text);
            }
            Ok(())
        })?;
        self.finish(&counter, &totals, corpus.origin())
    }

    /// Measures coherence on the texts of a file with a document per line, compressed or not.
    ///
    /// The texts are tokenized like those that the model was trained on (stop words are then not
    /// part of a window), or with the default settings of an import if that is unknown. `topics`
    /// contains the words of each topic as ids of the model, the best first. `progress` receives
    /// the number of bytes and can cancel.
    #[cfg(feature = "text")]
    pub fn of_text_file(
        &self,
        model: &Model,
        topics: &[Vec<u32>],
        path: impl AsRef<Path>,
        progress: ProgressCallback<'_>,
    ) -> Result<CoherenceResult> {
        let path = path.as_ref();
        self.of_text(model, topics, DetectedInput::open(path)?, progress)
    }

    /// Measures coherence on texts that are already open; see
    /// [`of_text_file`](Coherence::of_text_file).
    #[cfg(feature = "text")]
    pub fn of_text(
        &self,
        model: &Model,
        topics: &[Vec<u32>],
        input: DetectedInput,
        progress: ProgressCallback<'_>,
    ) -> Result<CoherenceResult> {
        let path = input.path().to_path_buf();
        let Some(vocabulary) = model.vocabulary() else {
            let reason = "the model has no vocabulary to compare texts with";
            return Err(Error::unsupported("reference", reason).with_remedy(
                "give a corpus with the same words as {reference}, or import with {vocab} and train again",
            ));
        };
        let counter = self.counter(topics, |measure| self.window_of(measure))?;
        let words = &counter.tracked.words;
        let slots: HashMap<&[u8], u32> = words
            .iter()
            .zip(0..)
            .filter_map(|(&w, slot)| Some((vocabulary.get(w)?.as_bytes(), slot)))
            .collect();
        let mut reading = |bytes, total: Option<u64>| progress(Step::Coherence.at(bytes, total));
        let mut batches = LineBatches::new(input.into_input()?, &mut reading);
        let plain = Pipeline::plain();
        let tokenizer = Tokenizer::new(model.pipeline().unwrap_or(&plain))?;
        let init = || (Vec::new(), TokenizerBuffer::default());
        let totals = counter.run(
            self.threads,
            init,
            || batches.next(),
            |(text, buffer), batch, thread_counter| {
                for line in batch.lines() {
                    text.clear();
                    let mut add = |word: &[u8]| text.push(slots.get(word).copied().unwrap_or(UNTRACKED));
                    tokenizer.for_each_word(line, buffer, &mut add);
                    thread_counter.count_text(text);
                }
                Ok(())
            },
        )?;
        self.finish(&counter, &totals, &path)
    }

    /// Measures coherence on tokenized texts, given as word ids of the model in the order of the
    /// text. An id that the model does not have stands for an unknown word.
    pub fn of_texts<T: AsRef<[u32]>>(
        &self,
        topics: &[Vec<u32>],
        texts: impl IntoIterator<Item = T>,
    ) -> Result<CoherenceResult> {
        let counter = self.counter(topics, |measure| self.window_of(measure))?;
        let by_word = slots_by_word(&counter.tracked);
        let mut texts = texts.into_iter();
        let job = || {
            let (mut tokens, mut ends) = (Vec::new(), Vec::new());
            while tokens.len() + ends.len() < BATCH_TOKENS {
                let Some(text) = texts.next() else { break };
                let slot = |&word: &u32| by_word.get(word as usize).copied().unwrap_or(UNTRACKED);
                tokens.extend(text.as_ref().iter().map(slot));
                ends.push(tokens.len());
            }
            Ok((!ends.is_empty()).then_some((tokens, ends)))
        };
        let totals = counter.run(
            self.threads,
            || (),
            job,
            |(), (tokens, ends), thread_counter| {
                let mut start = 0;
                for end in ends {
                    thread_counter.count_text(&tokens[start..end]);
                    start = end;
                }
                Ok(())
            },
        )?;
        self.finish(&counter, &totals, Path::new("the texts"))
    }

    /// Returns the window size for a measure.
    fn window_of(&self, measure: Measure) -> u32 {
        let default = measure.default_window();
        if measure == Measure::UMass { default } else { self.window.unwrap_or(default) }
    }

    /// Prepares counting for the words of these topics. `window` returns the window size of a
    /// measure.
    fn counter(&self, topics: &[Vec<u32>], window: impl Fn(Measure) -> u32) -> Result<WindowCounter> {
        let tracked = TrackedWords::new(topics);
        if tracked.counters() > MAX_PAIRS {
            let expected = format!("small enough for at most {MAX_PAIRS} pairs of words");
            return Err(Error::out_of_range("top", format!("for {} pairs", tracked.counters()), expected)
                .with_remedy("20 words per topic are usual"));
        }
        let windows: Vec<u32> = self.measures.iter().map(|&measure| window(measure)).collect();
        let mut sizes = windows.clone();
        sizes.sort_unstable();
        sizes.dedup();
        Ok(WindowCounter { tracked, windows, sizes })
    }

    /// Computes the measures from the counts. `path` names the texts in errors.
    fn finish(&self, counter: &WindowCounter, totals: &TotalCounts, path: &Path) -> Result<CoherenceResult> {
        let tracked = &counter.tracked;
        let Some(first) = totals.counts.first() else {
            return Err(Error::missing("coherence", "one or more of u_mass, c_uci, c_npmi, c_v"));
        };
        let mut missing = Vec::with_capacity(tracked.topics.len());
        let mut places: Vec<Vec<usize>> = Vec::with_capacity(tracked.topics.len());
        for topic in &tracked.topics {
            let absent = |&&slot: &&u32| first.containing(slot) == 0;
            missing.push(topic.iter().filter(absent).map(|&slot| tracked.words[slot as usize]).collect());
            let stays =
                |&place: &usize| self.missing == MissingWords::Keep || first.containing(topic[place]) > 0;
            places.push((0..topic.len()).filter(stays).collect());
        }
        if (0..tracked.words.len() as u32).all(|slot| first.containing(slot) == 0) {
            return Err(Error::Input {
                path: path.to_path_buf(),
                position: Position::Whole,
                found: "none of the topics' words".into(),
                expected: "texts in the language of the model, one document per line, or a corpus file"
                    .into(),
                remedy: "check that the texts and the model belong together".into(),
            });
        }
        let measures = self.measures.iter().zip(&counter.windows).map(|(&measure, &window)| {
            let counts = &totals.counts[counter.sizes.partition_point(|&size| size < window)];
            let one =
                |(k, places): (usize, &Vec<usize>)| TopicScorer { tracked, counts, k, places }.value(measure);
            let topics: Vec<f64> = places.iter().enumerate().map(one).collect();
            let keep = self.missing == MissingWords::Keep;
            let values: Vec<f64> = topics.iter().copied().filter(|value| keep || value.is_finite()).collect();
            MeasureResult { measure, window, windows: counts.windows, topics, mean: mean(&values) }
        });
        Ok(CoherenceResult { documents: totals.documents, measures: measures.collect(), missing })
    }
}

/// Returns a table from word to slot, for words up to the largest tracked id.
fn slots_by_word(tracked: &TrackedWords) -> Vec<u32> {
    let last = tracked.words.iter().max().map_or(0, |&last| last as usize + 1);
    let mut slots = vec![UNTRACKED; last];
    for (&word, slot) in tracked.words.iter().zip(0..) {
        slots[word as usize] = slot;
    }
    slots
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Computes the measures of one topic.
#[derive(Debug)]
struct TopicScorer<'a> {
    tracked: &'a TrackedWords,
    counts: &'a WindowCounts,
    k: usize,
    /// The places of the words that are not ignored.
    places: &'a [usize],
}

impl TopicScorer<'_> {
    fn value(&self, measure: Measure) -> f64 {
        let n = self.places.len();
        match measure {
            Measure::UMass => {
                let pairs = (1..n).flat_map(|i| (0..i).map(move |j| (i, j)));
                let values: Vec<f64> = pairs.map(|(i, j)| self.log_conditional(i, j)).collect();
                mean(&values)
            }
            Measure::CUci | Measure::CNpmi => {
                let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
                let npmi = measure == Measure::CNpmi;
                let values: Vec<f64> =
                    pairs.map(|(i, j)| if npmi { self.npmi(i, j) } else { self.pmi(i, j) }).collect();
                mean(&values)
            }
            Measure::CV => self.mean_cosine(),
        }
    }

    /// Returns p(w_i).
    fn probability(&self, i: usize) -> f64 {
        let slot = self.tracked.topics[self.k][self.places[i]];
        self.counts.containing(slot) as f64 / self.counts.windows as f64
    }

    /// Returns p(w_i, w_j).
    fn joint_probability(&self, i: usize, j: usize) -> f64 {
        let count = self.counts.containing_both(self.tracked, self.k, self.places[i], self.places[j]);
        count as f64 / self.counts.windows as f64
    }

    fn log_conditional(&self, i: usize, j: usize) -> f64 {
        let p = self.probability(j);
        if p > 0.0 { libm::log((self.joint_probability(i, j) + EPSILON) / p) } else { 0.0 }
    }

    fn pmi(&self, i: usize, j: usize) -> f64 {
        libm::log((self.joint_probability(i, j) + EPSILON) / (self.probability(i) * self.probability(j)))
    }

    fn npmi(&self, i: usize, j: usize) -> f64 {
        self.pmi(i, j) / -libm::log(self.joint_probability(i, j) + EPSILON)
    }

    /// Returns c_v: the mean cosine of each word's vector and the sum of all vectors.
    fn mean_cosine(&self) -> f64 {
        let n = self.places.len();
        let rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| self.npmi(i, j)).collect()).collect();
        let sum: Vec<f64> = (0..n).map(|j| rows.iter().map(|row| row[j]).sum()).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let length = |a: &[f64]| libm::sqrt(dot(a, a));
        let cosines: Vec<f64> =
            rows.iter().map(|row| dot(row, &sum) / (length(row) * length(&sum))).collect();
        mean(&cosines)
    }
}

/// Counts windows on several threads.
#[derive(Debug)]
struct WindowCounter {
    tracked: TrackedWords,
    /// Window size of each measure.
    windows: Vec<u32>,
    /// Distinct window sizes in ascending order. Each has its own counts.
    sizes: Vec<u32>,
}

/// The counts of one thread.
#[derive(Debug)]
struct ThreadCounter<'w> {
    sizes: &'w [u32],
    window: SlidingWindow<'w>,
    counts: Vec<WindowCounts>,
    documents: u64,
}

/// The counts of all threads.
#[derive(Debug)]
struct TotalCounts {
    /// Counts for each distinct window size.
    counts: Vec<WindowCounts>,
    documents: u64,
}

impl ThreadCounter<'_> {
    /// Counts a text, given as a slot or [`UNTRACKED`] for every token.
    fn count_text(&mut self, slots: &[u32]) {
        self.documents += 1;
        for (&size, counts) in self.sizes.iter().zip(&mut self.counts) {
            self.window.count_text(slots, size, counts);
        }
    }
}

impl WindowCounter {
    fn new_thread_counter(&self) -> ThreadCounter<'_> {
        ThreadCounter {
            sizes: &self.sizes,
            window: SlidingWindow::new(&self.tracked),
            counts: self.sizes.iter().map(|_| WindowCounts::new(&self.tracked)).collect(),
            documents: 0,
        }
    }

    /// Distributes jobs over threads. `next` produces the jobs on this thread; `work` processes
    /// them on any thread, with a per-thread state that `init` creates. If several jobs fail, the
    /// error of the first one is returned, whatever thread was faster.
    fn run<J: Send, D>(
        &self,
        threads: usize,
        init: impl Fn() -> D + Sync,
        mut next: impl FnMut() -> Result<Option<J>>,
        work: impl Fn(&mut D, J, &mut ThreadCounter<'_>) -> Result<()> + Sync,
    ) -> Result<TotalCounts> {
        let threads = threads.max(1);
        let pool = pool(threads)?;
        let (sender, receiver) = sync_channel::<(u64, J)>(threads);
        let receiver = Mutex::new(receiver);
        let failed: Mutex<Option<(u64, Error)>> = Mutex::new(None);
        let total = Mutex::new(self.new_thread_counter());
        let failed_before = |number| lock(&failed).as_ref().is_some_and(|&(first, _)| first < number);
        let worker = || {
            let (mut state, mut thread_counter) = (init(), self.new_thread_counter());
            // The lock is released before the work starts.
            let job = || lock(&receiver).recv();
            while let Ok((number, job)) = job() {
                if failed_before(number) {
                    continue;
                }
                if let Err(error) = work(&mut state, job, &mut thread_counter) {
                    let mut failed = lock(&failed);
                    if failed.as_ref().is_none_or(|&(first, _)| number < first) {
                        *failed = Some((number, error));
                    }
                }
            }
            let mut total = lock(&total);
            total.documents += thread_counter.documents;
            total.counts.iter_mut().zip(&thread_counter.counts).for_each(|(sum, counts)| sum.add(counts));
        };
        let read = pool.in_place_scope(|scope| {
            let sender = sender;
            for _ in 0..threads {
                scope.spawn(|_| worker());
            }
            for number in 0.. {
                if failed_before(number) {
                    break;
                }
                let Some(job) = next()? else { break };
                if sender.send((number, job)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        if let Some((_, error)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        read?;
        let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(TotalCounts { counts: total.counts, documents: total.documents })
    }
}

/// Locks a mutex. Poisoning is ignored: a thread that panics leaves no partial update here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
