//! Topic coherence: do a topic's words stand together in texts? The four measures of Röder, Both and Hinneburg (2015) that are in
//! use, with the numbers that gensim's `CoherenceModel` (4.4.0) gives for the same words, texts and windows.
//!
//! ```text
//! w_1 .. w_N   a topic's words, the best first
//! p(w), p(w,v) the share of windows that hold w, or both
//! e            1e-12
//! u_mass  mean over i > j of  log((p(w_i,w_j) + e) / p(w_j)), where a window is a whole document
//! c_uci   mean over i != j of  log((p(w_i,w_j) + e) / (p(w_i) p(w_j)))
//! c_npmi  mean over i != j of  m(i,j) = log((p(w_i,w_j) + e) / (p(w_i) p(w_j))) / -log(p(w_i,w_j) + e)
//! c_v     mean over i of the cosine of (m(i,1) .. m(i,N)) and (sum_i m(i,1) .. sum_i m(i,N))
//! ```
//!
//! In one pass over the texts, on all threads, with memory for the pairs of top words alone (see `windows`).

#[cfg(feature = "text")]
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(feature = "text")]
use super::reference::Batches;
use super::windows::{Counts, OTHER, Slider, Watched};
#[cfg(feature = "text")]
use crate::corpus::ingest::DetectedInput;
#[cfg(feature = "text")]
use crate::corpus::ingest::words::{Cut, Pipeline, Tokenizer};
use crate::corpus::{Block, Corpus};
use crate::error::{Error, Position, Result};
use crate::infer::Known;
use crate::model::Model;
use crate::progress::{ProgressCallback, Step};
use crate::threads::pool;

/// Keeps logarithms finite where two words never stand together; gensim's value.
const EPSILON: f64 = 1e-12;

/// The most counters for pairs: a gigabyte of them.
const MOST_PAIRS: usize = 1 << 27;

/// Tokens that are handed to a thread at a time.
const BATCH: usize = 1 << 16;

/// A measure of coherence. Higher is better in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// How likely a word is where a better one of its topic is, by documents (Mimno et al. 2011).
    UMass,
    /// Pointwise mutual information in windows of 10 tokens (Newman et al. 2010).
    CUci,
    /// The same, normalised to -1 to 1 (Bouma 2009).
    CNpmi,
    /// Words' similarity in their normalised mutual information with all the topic's words, in windows of 110 tokens (Röder et al. 2015).
    CV,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Measure; 4] = [Measure::UMass, Measure::CUci, Measure::CNpmi, Measure::CV];

    /// Its name, as gensim has it.
    pub fn name(self) -> &'static str {
        match self {
            Measure::UMass => "u_mass",
            Measure::CUci => "c_uci",
            Measure::CNpmi => "c_npmi",
            Measure::CV => "c_v",
        }
    }

    /// Tokens of a window where nothing else is asked for; 0: the whole document.
    pub fn usual_window(self) -> u32 {
        match self {
            Measure::UMass => 0,
            Measure::CUci | Measure::CNpmi => 10,
            Measure::CV => 110,
        }
    }
}

/// What becomes of a topic's word that never occurs in the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// It is left out, as gensim does with words that are not in its dictionary: texts without it cannot tell what it goes with.
    #[default]
    LeaveOut,
    /// It stays, as with a gensim dictionary that has it: its pairs count 0 or log(e/p) in u_mass, and make the other measures infinite
    /// or no number.
    Keep,
}

/// How coherence is measured.
#[derive(Debug, Clone)]
pub struct Coherence {
    /// Which measures.
    pub measures: Vec<Measure>,
    /// Tokens of a window for all measures but u_mass, in place of the usual; 0: the whole document.
    pub window: Option<u32>,
    /// What becomes of words that never occur.
    pub missing: Missing,
    /// How many threads; the result does not depend on it.
    pub threads: usize,
}

impl Default for Coherence {
    fn default() -> Coherence {
        Coherence { measures: Measure::ALL.to_vec(), window: None, missing: Missing::default(), threads: 1 }
    }
}

/// One measure of a model's topics.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Which.
    pub measure: Measure,
    /// Tokens of a window; 0: the whole document.
    pub window: u32,
    /// How many windows the texts have.
    pub windows: u64,
    /// Every topic's coherence; NaN where too few of its words occur.
    pub topics: Vec<f64>,
    /// The mean over topics; with [`Missing::LeaveOut`], over those that have a coherence.
    pub mean: f64,
}

/// How coherent a model's topics are.
#[derive(Debug, Clone, PartialEq)]
pub struct Coherences {
    /// Documents that were read, empty ones included.
    pub documents: u64,
    /// One for each measure that was asked for.
    pub measures: Vec<Measured>,
    /// Each topic's words that never occur in the texts.
    pub missing: Vec<Vec<u32>>,
}

impl Coherence {
    /// Bytes of memory that [`of_corpus`](Coherence::of_corpus) takes besides the model, for so many words of every topic.
    pub fn memory_bytes(&self, corpus: &Corpus, topics: u32, top: u32) -> u64 {
        let pairs = u64::from(topics).saturating_mul(u64::from(top).saturating_mul(u64::from(top) + 1) / 2);
        let own = corpus.block_buffer_bytes().saturating_add(pairs.saturating_mul(8));
        let slots = u64::from(corpus.shape().words).saturating_mul(8);
        let threads = self.threads.min(corpus.blocks()).max(1) as u64;
        own.saturating_mul(threads).saturating_add(slots)
    }

    /// From a corpus. It has no order of words, so that a window is a whole document.
    ///
    /// `topics` are lists of the model's words, the best first. `progress` is told blocks.
    pub fn of_corpus(
        &self,
        model: &Model,
        topics: &[Vec<u32>],
        corpus: &Corpus,
        progress: ProgressCallback<'_>,
    ) -> Result<Coherences> {
        if let Some(window) = self.window.filter(|&window| window > 0) {
            return Err(Error::unsupported_value(
                "window",
                window,
                "a corpus does not record the order of words",
            )
            .with_remedy("omit {window}, or give the texts themselves as {reference}"));
        }
        let known = Known::new(model, corpus)?;
        let counting = self.counting(topics, |_| 0)?;
        let by_word = by_word(&counting.watched);
        let slot = |w: u32| known.id(w).and_then(|id| by_word.get(id as usize).copied()).unwrap_or(OTHER);
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
        let desk = || (corpus.reader(), Block::default(), Vec::new());
        let counted = counting.run(self.threads, desk, job, |(reader, block, text), i, tally| {
            reader.read(i, block)?;
            for document in block.iter() {
                text.clear();
                text.extend(document.words.iter().map(|&w| slots[w as usize]).filter(|&slot| slot != OTHER));
                tally.text(text);
            }
            Ok(())
        })?;
        self.finish(&counting, &counted, corpus.origin())
    }

    /// From texts in a file: a document per line, compressed or not. They become words as the model's own texts did (stop words are
    /// no part of a window then), or by `import`'s rules where that is not known.
    ///
    /// `topics` are lists of the model's words, the best first. `progress` is told bytes.
    #[cfg(feature = "text")]
    pub fn of_text_file(
        &self,
        model: &Model,
        topics: &[Vec<u32>],
        path: impl AsRef<Path>,
        progress: ProgressCallback<'_>,
    ) -> Result<Coherences> {
        let path = path.as_ref();
        self.of_text(model, topics, DetectedInput::open(path)?, progress)
    }

    /// The same as [`of_text_file`](Coherence::of_text_file) for texts that are open already.
    #[cfg(feature = "text")]
    pub fn of_text(
        &self,
        model: &Model,
        topics: &[Vec<u32>],
        input: DetectedInput,
        progress: ProgressCallback<'_>,
    ) -> Result<Coherences> {
        let path = input.path().to_path_buf();
        let Some(vocabulary) = model.vocabulary() else {
            let reason = "the model has no vocabulary to compare texts with";
            return Err(Error::unsupported("reference", reason).with_remedy(
                "give a corpus with the same words as {reference}, or import with {vocab} and train again",
            ));
        };
        let counting = self.counting(topics, |measure| self.window_of(measure))?;
        let words = &counting.watched.words;
        let slots: HashMap<&[u8], u32> = words
            .iter()
            .zip(0..)
            .filter_map(|(&w, slot)| Some((vocabulary.get(w)?.as_bytes(), slot)))
            .collect();
        let mut reading = |bytes, total: Option<u64>| progress(Step::Coherence.at(bytes, total));
        let mut batches = Batches::new(input.into_input()?, &mut reading);
        let plain = Pipeline::default();
        let tokenizer = Tokenizer::new(model.pipeline().unwrap_or(&plain))?;
        let desk = || (Vec::new(), Cut::default());
        let counted = counting.run(
            self.threads,
            desk,
            || batches.next(),
            |(text, cut), batch, tally| {
                for line in batch.lines() {
                    text.clear();
                    let mut add = |word: &[u8]| text.push(slots.get(word).copied().unwrap_or(OTHER));
                    tokenizer.words(line, cut, &mut add);
                    tally.text(text);
                }
                Ok(())
            },
        )?;
        self.finish(&counting, &counted, &path)
    }

    /// From texts that are already words of the model: ids in the order of the text; any id that the model does not have stands
    /// for an unknown word.
    pub fn of_texts<T: AsRef<[u32]>>(
        &self,
        topics: &[Vec<u32>],
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Coherences> {
        let counting = self.counting(topics, |measure| self.window_of(measure))?;
        let by_word = by_word(&counting.watched);
        let mut texts = texts.into_iter();
        let job = || {
            let (mut tokens, mut ends) = (Vec::new(), Vec::new());
            while tokens.len() + ends.len() < BATCH {
                let Some(text) = texts.next() else { break };
                let slot = |&word: &u32| by_word.get(word as usize).copied().unwrap_or(OTHER);
                tokens.extend(text.as_ref().iter().map(slot));
                ends.push(tokens.len());
            }
            Ok((!ends.is_empty()).then_some((tokens, ends)))
        };
        let counted = counting.run(
            self.threads,
            || (),
            job,
            |(), (tokens, ends), tally| {
                let mut start = 0;
                for end in ends {
                    tally.text(&tokens[start..end]);
                    start = end;
                }
                Ok(())
            },
        )?;
        self.finish(&counting, &counted, Path::new("the texts"))
    }

    fn window_of(&self, measure: Measure) -> u32 {
        let usual = measure.usual_window();
        if measure == Measure::UMass { usual } else { self.window.unwrap_or(usual) }
    }

    fn counting(&self, topics: &[Vec<u32>], window: impl Fn(Measure) -> u32) -> Result<Counting> {
        let watched = Watched::new(topics);
        if watched.counters() > MOST_PAIRS {
            let expected = format!("so small that at most {MOST_PAIRS} pairs of words are counted");
            return Err(Error::out_of_range("top", format!("for {} pairs", watched.counters()), expected)
                .with_remedy("20 words per topic are usual"));
        }
        let windows: Vec<u32> = self.measures.iter().map(|&measure| window(measure)).collect();
        let mut sizes = windows.clone();
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Counting { watched, windows, sizes })
    }

    fn finish(&self, counting: &Counting, counted: &Counted, path: &Path) -> Result<Coherences> {
        let watched = &counting.watched;
        let Some(any) = counted.counts.first() else {
            return Err(Error::missing("coherence", "one or more of u_mass, c_uci, c_npmi, c_v"));
        };
        let mut missing = Vec::with_capacity(watched.topics.len());
        let mut places: Vec<Vec<usize>> = Vec::with_capacity(watched.topics.len());
        for topic in &watched.topics {
            let absent = |&&slot: &&u32| any.with(slot) == 0;
            missing.push(topic.iter().filter(absent).map(|&slot| watched.words[slot as usize]).collect());
            let stays = |&place: &usize| self.missing == Missing::Keep || any.with(topic[place]) > 0;
            places.push((0..topic.len()).filter(stays).collect());
        }
        if (0..watched.words.len() as u32).all(|slot| any.with(slot) == 0) {
            return Err(Error::Input {
                path: path.to_path_buf(),
                position: Position::Whole,
                found: "none of the topics' words".into(),
                expected: "texts in the language of the model, one document per line, or a corpus file"
                    .into(),
                remedy: "check that the reference belongs to the model".into(),
            });
        }
        let measures = self.measures.iter().zip(&counting.windows).map(|(&measure, &window)| {
            let counts = &counted.counts[counting.sizes.partition_point(|&size| size < window)];
            let one = |(k, places): (usize, &Vec<usize>)| Topic { watched, counts, k, places }.value(measure);
            let topics: Vec<f64> = places.iter().enumerate().map(one).collect();
            let all = self.missing == Missing::Keep;
            let with: Vec<f64> = topics.iter().copied().filter(|value| all || value.is_finite()).collect();
            Measured { measure, window, windows: counts.windows, topics, mean: mean(&with) }
        });
        Ok(Coherences { documents: counted.documents, measures: measures.collect(), missing })
    }
}

/// word -> slot, for words up to the last that is watched.
fn by_word(watched: &Watched) -> Vec<u32> {
    let last = watched.words.iter().max().map_or(0, |&last| last as usize + 1);
    let mut slots = vec![OTHER; last];
    for (&word, slot) in watched.words.iter().zip(0..) {
        slots[word as usize] = slot;
    }
    slots
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// One topic's counts, and the measures.
#[derive(Debug)]
struct Topic<'a> {
    watched: &'a Watched,
    counts: &'a Counts,
    k: usize,
    /// The places of its words that count.
    places: &'a [usize],
}

impl Topic<'_> {
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
            Measure::CV => self.indirect(),
        }
    }

    /// p(w_i).
    fn p(&self, i: usize) -> f64 {
        let slot = self.watched.topics[self.k][self.places[i]];
        self.counts.with(slot) as f64 / self.counts.windows as f64
    }

    /// p(w_i, w_j).
    fn both(&self, i: usize, j: usize) -> f64 {
        let count = self.counts.with_both(self.watched, self.k, self.places[i], self.places[j]);
        count as f64 / self.counts.windows as f64
    }

    fn log_conditional(&self, i: usize, j: usize) -> f64 {
        let p = self.p(j);
        if p > 0.0 { libm::log((self.both(i, j) + EPSILON) / p) } else { 0.0 }
    }

    fn pmi(&self, i: usize, j: usize) -> f64 {
        libm::log((self.both(i, j) + EPSILON) / (self.p(i) * self.p(j)))
    }

    fn npmi(&self, i: usize, j: usize) -> f64 {
        self.pmi(i, j) / -libm::log(self.both(i, j) + EPSILON)
    }

    fn indirect(&self) -> f64 {
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

/// What is counted.
#[derive(Debug)]
struct Counting {
    watched: Watched,
    /// The window of each measure.
    windows: Vec<u32>,
    /// The same, ascending, each once; and a set of counts for each.
    sizes: Vec<u32>,
}

/// What one thread counts.
#[derive(Debug)]
struct Tally<'w> {
    sizes: &'w [u32],
    slider: Slider<'w>,
    counts: Vec<Counts>,
    documents: u64,
}

/// What all threads have counted.
#[derive(Debug)]
struct Counted {
    /// For each size of window.
    counts: Vec<Counts>,
    documents: u64,
}

impl Tally<'_> {
    /// Counts a text: a slot, or [`OTHER`], for every token.
    fn text(&mut self, slots: &[u32]) {
        self.documents += 1;
        for (&size, counts) in self.sizes.iter().zip(&mut self.counts) {
            self.slider.text(slots, size, counts);
        }
    }
}

impl Counting {
    fn tally(&self) -> Tally<'_> {
        Tally {
            sizes: &self.sizes,
            slider: Slider::new(&self.watched),
            counts: self.sizes.iter().map(|_| Counts::new(&self.watched)).collect(),
            documents: 0,
        }
    }

    /// Shares jobs out to threads: `next` hands them over on this thread, `work` does them on any, each with a desk of its own.
    /// Of several failures the one of the first job is told, whatever thread was faster.
    fn run<J: Send, D>(
        &self,
        threads: usize,
        desk: impl Fn() -> D + Sync,
        mut next: impl FnMut() -> Result<Option<J>>,
        work: impl Fn(&mut D, J, &mut Tally<'_>) -> Result<()> + Sync,
    ) -> Result<Counted> {
        let threads = threads.max(1);
        let pool = pool(threads)?;
        let (sender, receiver) = sync_channel::<(u64, J)>(threads);
        let receiver = Mutex::new(receiver);
        let failed: Mutex<Option<(u64, Error)>> = Mutex::new(None);
        let total = Mutex::new(self.tally());
        let failed_before = |number| locked(&failed).as_ref().is_some_and(|&(first, _)| first < number);
        let worker = || {
            let (mut desk, mut tally) = (desk(), self.tally());
            // The lock is let go before the work begins.
            let job = || locked(&receiver).recv();
            while let Ok((number, job)) = job() {
                if failed_before(number) {
                    continue;
                }
                if let Err(error) = work(&mut desk, job, &mut tally) {
                    let mut failed = locked(&failed);
                    if failed.as_ref().is_none_or(|&(first, _)| number < first) {
                        *failed = Some((number, error));
                    }
                }
            }
            let mut total = locked(&total);
            total.documents += tally.documents;
            total.counts.iter_mut().zip(&tally.counts).for_each(|(all, mine)| all.add(mine));
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
        Ok(Counted { counts: total.counts, documents: total.documents })
    }
}

/// A thread that has panicked leaves nothing half-written here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
