//! One update rule per file, its mathematics on top. No files, threads, clocks or printing here.
//!
//! An algorithm is driven by `train` as: `begin`, then `block` for every block of documents, then `end`. What it keeps per document
//! is theta, messages or labels ([`Facts::keep`]); `train` and `store` decide where that lives and in which order documents come.

mod atbp;
mod bp;
pub(crate) mod document;
mod few;
mod gather;
mod gibbs;
mod nmf;
mod ovb;
pub(crate) mod schedule;
mod stbp;
pub(crate) mod tbp;
mod vb;

use std::sync::Arc;

use crate::checkpoint::{In, Out};
use crate::corpus::Document;
use crate::counts::{self, Slot};
use crate::engine::{Engine, Rules};
use crate::error::Result;
use crate::kernel::{Kernel, Lanes, flat};
use crate::messages::UNITS;
use crate::store::{Keep, Visited};
use crate::topics::{Matrix, Topics};
use document::{DocumentStep, Failed, Frozen};
pub use tbp::Active;

/// The algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Asynchronous belief propagation with small messages, in blocks: ours.
    Tbp,
    /// Synchronous tiny belief propagation: all messages of a pass from the last pass's topics.
    Stbp,
    /// Asynchronous tiny belief propagation: every message changes the topics at once.
    Atbp,
    /// Synchronous belief propagation: K numbers are kept for every non-zero.
    Bp,
    /// Asynchronous belief propagation.
    Abp,
    /// Collapsed Gibbs sampling: a label for every token.
    Gibbs,
    /// Variational Bayes.
    Vb,
    /// Online variational Bayes: batches, each looked at once.
    Ovb,
    /// Non-negative matrix factorisation with the Kullback-Leibler divergence.
    Nmf,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 9] = [
        Algorithm::Tbp,
        Algorithm::Stbp,
        Algorithm::Atbp,
        Algorithm::Bp,
        Algorithm::Abp,
        Algorithm::Gibbs,
        Algorithm::Vb,
        Algorithm::Ovb,
        Algorithm::Nmf,
    ];

    /// What the rest of the library must know of it.
    pub(crate) fn facts(self) -> Facts {
        match self {
            Algorithm::Tbp => TBP,
            Algorithm::Stbp => stbp::FACTS,
            Algorithm::Atbp => atbp::FACTS,
            Algorithm::Bp => bp::FACTS,
            Algorithm::Abp => bp::FACTS_ASYNCHRONOUS,
            Algorithm::Gibbs => gibbs::FACTS,
            Algorithm::Vb => vb::FACTS,
            Algorithm::Ovb => ovb::FACTS,
            Algorithm::Nmf => nmf::FACTS,
        }
    }

    /// Makes it ready to work on topics as they start.
    pub(crate) fn sweep(self, topics: &mut Topics, setup: Setup) -> Result<Box<dyn Sweep>> {
        Ok(match self {
            Algorithm::Tbp => Box::new(Engine::new(setup.rules, topics, &setup.word_tokens)?),
            Algorithm::Stbp => Box::new(stbp::Stbp::new(topics, &setup)?),
            Algorithm::Atbp => Box::new(atbp::Atbp::new(topics, &setup)),
            Algorithm::Bp => Box::new(bp::Bp::new(topics, &setup)?),
            Algorithm::Abp => Box::new(bp::Abp::new(topics, &setup)),
            Algorithm::Gibbs => Box::new(gibbs::Gibbs::new(topics, &setup)?),
            Algorithm::Vb => Box::new(vb::Vb::new(topics, &setup)?),
            Algorithm::Ovb => Box::new(ovb::Ovb::new(topics, &setup)?),
            Algorithm::Nmf => Box::new(nmf::Nmf::new(topics, &setup)?),
        })
    }

    /// Its own way to find the topics of documents that it has not seen.
    pub(crate) fn new_documents(self, topics: &Topics, kernel: Kernel) -> Result<Box<dyn NewDocuments + '_>> {
        let fixed = Fixed::new(topics, kernel);
        Ok(match self {
            Algorithm::Tbp | Algorithm::Stbp | Algorithm::Atbp => Box::new(fixed),
            Algorithm::Bp | Algorithm::Abp => Box::new(bp::NewDocuments::new(topics, kernel)),
            Algorithm::Gibbs => Box::new(gibbs::NewDocuments::new(topics, kernel)),
            Algorithm::Vb => Box::new(Fixed { weigh: vb::weigh, few: None, ..fixed }),
            Algorithm::Ovb => {
                let (rows, fade) = vb::expected(topics, kernel)?;
                let rows = Some(Arc::new(rows));
                Box::new(Fixed { weigh: vb::weigh, rows, inverse: fade, few: None, ..fixed })
            }
            Algorithm::Nmf => {
                let alpha = vec![Lanes::ZERO; topics.alpha.len()];
                Box::new(Fixed { alpha, beta: 0.0, inverse: nmf::inverse(topics), ..fixed })
            }
        })
    }

    /// By its name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        self.facts().about
    }

    /// Whether it works on more than one thread; the asynchronous algorithms of the paper cannot, by their definition.
    pub fn threads(self) -> bool {
        self.facts().threads
    }

    /// Whether it keeps messages, in a few bytes each, and phi in whole units.
    pub(crate) fn small_messages(self) -> bool {
        matches!(self, Algorithm::Tbp)
    }

    /// How many of the passes, the last, bring to rest what was found, and learn from it.
    pub(crate) fn settling_passes(self, passes: u32, optimize: bool) -> u32 {
        if self.small_messages() { schedule::settling(passes, optimize) } else { 0 }
    }

    /// How many passes after this one messages still go beyond z.
    pub(crate) fn until_calm(self, pass: u32) -> u32 {
        if self.small_messages() { schedule::until_calm(pass) } else { 0 }
    }

    /// What it goes through before the first pass: one piece of the corpus in every so many, and how often.
    pub(crate) fn stages(self, pieces: u64, tokens: u64, topics: u32) -> Vec<(u64, u32)> {
        if self.small_messages() { schedule::stages(pieces, tokens, topics) } else { Vec::new() }
    }
}

/// What the rest of the library must know of an algorithm.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each answers a question of its own")]
pub(crate) struct Facts {
    pub(crate) name: &'static str,
    /// For the list of algorithms.
    pub(crate) about: &'static str,
    /// Matrices of W x K.
    pub(crate) matrices: u64,
    pub(crate) keep: Keep,
    /// Whether documents are visited in a random order, drawn once.
    pub(crate) shuffles: bool,
    pub(crate) threads: bool,
    /// Whether a pass may stand still by chance.
    pub(crate) noisy: bool,
    /// Whether the log-likelihood is that of the pass itself, on its way.
    pub(crate) on_the_way: bool,
    /// Whether it begins with topics of its own, where no start is given.
    pub(crate) own_start: bool,
    /// Whether what it keeps may be in files.
    pub(crate) disk: bool,
    /// Whether alpha and beta are counts beside theta and phi, and can be learned from them.
    pub(crate) learns: bool,
    /// Options of its own.
    pub(crate) options: &'static [&'static str],
    /// The most tokens of a word, and the most topics.
    pub(crate) most_tokens: Option<u64>,
    pub(crate) most_topics: Option<u32>,
}

impl Facts {
    pub(crate) const PLAIN: Facts = Facts {
        name: "",
        about: "",
        matrices: 1,
        keep: Keep::Theta,
        shuffles: false,
        threads: true,
        noisy: false,
        on_the_way: false,
        own_start: false,
        disk: true,
        learns: true,
        options: &[],
        most_tokens: None,
        most_topics: None,
    };
}

const TBP: Facts = Facts {
    name: "tbp",
    about: "Ours: belief propagation with messages of a few bytes, few topics per document",
    keep: Keep::SmallMessages,
    noisy: true,
    options: &["exclude", "active", "document_state"],
    most_tokens: Some(counts::most_tokens(UNITS)),
    most_topics: Some(1 << 16),
    ..Facts::PLAIN
};

/// Settings that only some algorithms have; each is as its algorithm has it where not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Special {
    pub(crate) inner: Option<u32>,
    pub(crate) batch: Option<u64>,
    pub(crate) tau0: Option<f64>,
    pub(crate) kappa: Option<f64>,
    pub(crate) burn_in: Option<u32>,
    pub(crate) samples: Option<u32>,
    pub(crate) digamma_of_both: Option<bool>,
}

impl Special {
    /// By the names that a user knows, those that are set.
    pub(crate) fn given(&self) -> Vec<(&'static str, f64)> {
        [
            ("inner", self.inner.map(f64::from)),
            ("batch", self.batch.map(|n| n as f64)),
            ("tau0", self.tau0),
            ("kappa", self.kappa),
            ("burn_in", self.burn_in.map(f64::from)),
            ("samples", self.samples.map(f64::from)),
            ("digamma", self.digamma_of_both.map(|both| f64::from(u8::from(both)))),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }

    /// Matrices of W x K that these settings take besides.
    pub(crate) fn matrices(&self) -> u64 {
        u64::from(self.samples.unwrap_or(1) > 1) + u64::from(self.digamma_of_both == Some(true))
    }

    /// Passes before the first sample: half of all where not set, or what samples leave.
    pub(crate) fn burn_in(&self, passes: u32) -> u32 {
        let usual = (passes / 2).min(passes.saturating_sub(self.samples.unwrap_or(1)));
        self.burn_in.unwrap_or(usual).min(passes)
    }

    /// The passes after which samples are taken: so many, evenly after the burn-in, the last after the last pass.
    pub(crate) fn sampled_passes(&self, passes: u32) -> Vec<u32> {
        let samples = u64::from(self.samples.unwrap_or(1)).max(1);
        let from = u64::from(self.burn_in(passes));
        let after = u64::from(passes) - from;
        let mut all: Vec<u32> = (1..=samples).map(|i| (from + after * i / samples) as u32).collect();
        all.dedup();
        all
    }
}

/// What an algorithm starts with.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) rules: Rules,
    pub(crate) word_tokens: Vec<u64>,
    pub(crate) special: Special,
    pub(crate) documents: u64,
    /// At the most.
    pub(crate) passes: u32,
    /// Whether the user has given a start.
    pub(crate) given_start: bool,
}

/// An algorithm at work: its scratch, and the seam to `train`.
pub(crate) trait Sweep: std::fmt::Debug {
    /// Before the first document of a pass.
    fn begin(&mut self, _topics: &mut Topics) -> Result<()> {
        Ok(())
    }

    /// Documents of one block; their log-likelihood before the pass where the algorithm knows it. An error comes with the
    /// document's number.
    fn block(&mut self, topics: &mut Topics, visit: Visited<'_>) -> Result<Option<f64>, (u64, Failed)>;

    /// After the last document of a pass.
    fn end(&mut self, _topics: &mut Topics) -> Result<()> {
        Ok(())
    }

    /// Before the first pass: takes up what a block's documents were given to start with, where phi has a form of its own.
    fn load(&mut self, _topics: &Topics, _visit: Visited<'_>) -> Result<(), (u64, Failed)> {
        Ok(())
    }

    /// After the last pass: makes ready to measure, where theta and phi do not say it all. Otherwise `train` does it.
    fn ready(&mut self, _topics: &Topics) -> Result<bool> {
        Ok(false)
    }

    /// Then: the log-likelihood of a block's documents.
    fn measure(&mut self, _topics: &Topics, _visit: Visited<'_>) -> Result<f64, (u64, Failed)> {
        Ok(0.0)
    }

    /// Topics in use per document of this round, where the store cannot know.
    fn active_topics(&self) -> Option<f64> {
        None
    }

    /// What the next blocks are gone through for.
    fn aim(&mut self, _aim: schedule::Aim) {}

    /// After the last pass: what it needs for documents goes.
    fn finish(&mut self) {}

    /// phi of a word, in tokens.
    fn phi(&self, topics: &Topics, word: u32, _slot: &mut Slot, to: &mut [f32]) -> Result<()> {
        to.copy_from_slice(&flat(topics.phi.row(word))[..to.len()]);
        Ok(())
    }

    /// Whether phi is not simply that of the topics.
    fn own_phi(&self) -> bool {
        false
    }

    /// All that it knows, for a checkpoint; between two blocks.
    fn save(&self, topics: &Topics, out: &mut Out) -> Result<()>;

    /// Takes up what [`Sweep::save`] wrote.
    fn restore(&mut self, topics: &mut Topics, from: &mut In) -> Result<()>;
}

/// How the topics of documents are found that were not trained on.
pub(crate) trait NewDocuments: std::fmt::Debug + Send {
    /// theta\[K\] of document number `d`: evenly spread when it comes, found when it returns.
    fn theta(&mut self, d: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), Failed>;

    /// The same for another thread, with a scratch of its own.
    fn twin<'a>(&self) -> Box<dyn NewDocuments + 'a>
    where
        Self: 'a;
}

/// The update of `document`, again and again, until theta stands still.
#[derive(Debug, Clone)]
pub(crate) struct Fixed<'m> {
    topics: &'m Topics,
    alpha: Vec<Lanes>,
    beta: f32,
    inverse: Vec<Lanes>,
    rows: Option<Arc<Matrix>>,
    weigh: document::Weigh,
    step: DocumentStep,
    /// Over few topics, where t of a topic depends on this topic alone.
    few: Option<few::Few>,
}

impl<'m> Fixed<'m> {
    pub(crate) fn new(topics: &'m Topics, kernel: Kernel) -> Fixed<'m> {
        let mut inverse = Vec::new();
        topics.inverse(&mut inverse);
        Fixed {
            topics,
            alpha: topics.alpha.clone(),
            beta: topics.beta,
            inverse,
            rows: None,
            weigh: document::mean,
            step: DocumentStep::new(topics.count, kernel),
            few: Some(few::Few::default()),
        }
    }

    /// Every update goes over all topics.
    pub(crate) fn over_all(self) -> Fixed<'m> {
        Fixed { few: None, ..self }
    }
}

impl NewDocuments for Fixed<'_> {
    fn theta(&mut self, _: u64, document: Document<'_>, theta: &mut [f32]) -> Result<(), Failed> {
        let still = document::STILL * document.tokens() as f64;
        let plain = Frozen::new(self.topics, &self.inverse).with_beta(self.beta).weighed(self.weigh);
        let frozen = match &self.rows {
            Some(rows) => plain.with_rows(rows, &self.inverse),
            None => plain.with_alpha(&self.alpha, 0.0),
        };
        let stop = (document::ITERATIONS, still);
        match &mut self.few {
            Some(few) => few.settle(&mut self.step, &frozen, document, theta, stop)?,
            None => self.step.settle(&frozen, document, theta, stop)?,
        }
        Ok(())
    }

    fn twin<'a>(&self) -> Box<dyn NewDocuments + 'a>
    where
        Self: 'a,
    {
        Box::new(self.clone())
    }
}
