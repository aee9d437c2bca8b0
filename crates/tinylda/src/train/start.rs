//! What a training begins with: its stages, folders and identity, the start and the order of documents.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{Resume, Trainer};
use crate::checkpoint::{self, Folder, Identity};
use crate::corpus::Corpus;
use crate::counts;
use crate::engine::Rules;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, flat_mut};
use crate::plan::Plan;
use crate::random::{Purpose, Random};
use crate::seeds::{Seed, Seeds};
use crate::store::{self, Order, Store, Visit, Which};
use crate::topics::{Topics, heavy_words};

/// How far a training is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Rounds done before the first pass: whole stages, and how often the next one was gone through.
    pub(super) stage: usize,
    pub(super) repeat: u32,
    /// Passes done, and when to stop.
    pub(super) pass: u32,
    pub(super) last: u32,
    pub(super) settling: bool,
    pub(super) converged: bool,
    /// The next visit of the round, and the log-likelihood of those before.
    pub(super) visit: usize,
    pub(super) sum: Option<f64>,
    /// Topics in use and documents of the round so far.
    pub(super) active: (u64, u64),
    pub(super) documents: u64,
    /// (pass, training perplexity).
    pub(super) history: Vec<(u32, f64)>,
    /// When each pass began and ended, and the topics in use per document after it.
    pub(super) passes: Vec<(f64, f64, f64)>,
    pub(super) seconds: f64,
    /// Bytes of messages or labels, of the round so far and after the last pass.
    pub(super) messages: u64,
    pub(super) message_bytes: u64,
    /// alpha and beta, where they were learned.
    pub(super) learned: Option<(Vec<f32>, f32)>,
}

impl Trainer {
    /// What comes before the first pass.
    pub(super) fn stages(&self, pieces: usize, tokens: u64) -> Vec<(u64, u32)> {
        match self.start {
            Some(_) => Vec::new(),
            None => self.algorithm.stages(pieces as u64, tokens, self.topics),
        }
    }

    /// Whether a training can be there: asked of what a file says.
    pub(super) fn possible(
        &self,
        at: &Position,
        store: &Store<'_>,
        order: Option<&Order>,
        tokens: u64,
    ) -> bool {
        let stages = self.stages(store.pieces(), tokens);
        let (which, rounds) = match stages.get(at.stage) {
            Some(&(every, rounds)) => (Which::Every(every), rounds),
            None => (order.map_or(Which::ALL, Which::Order), 1),
        };
        at.stage <= stages.len()
            && at.repeat < rounds
            && at.pass <= at.last
            && at.last <= self.passes
            && (at.stage == stages.len() || at.pass == 0)
            && at.visit < which.visits(store.pieces()).max(1)
            && (at.sum.is_some_and(f64::is_finite) || self.algorithm.facts().shuffles)
            && at.history.len() <= at.pass as usize
            && at.history.iter().zip(1..).all(|(&(pass, p), n)| pass == n && p.is_finite())
            && at.passes.len() <= at.pass as usize + 1
            && at.seconds.is_finite()
            && at.learned.as_ref().is_none_or(|(alpha, beta)| {
                let sound = |&value: &f32| value > 0.0 && value.is_finite();
                self.optimize && alpha.len() == self.topics as usize && alpha.iter().chain([beta]).all(sound)
            })
    }

    pub(super) fn alphas(&self) -> Vec<f32> {
        vec![self.alpha_value() as f32; self.topics as usize]
    }

    /// Where files go, where they may: with the checkpoints, or in a folder of this training's own in that of the user.
    pub(super) fn scratch_folder(&self) -> Option<PathBuf> {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        match (&self.scratch, &self.checkpoint) {
            (None, None) => None,
            (None, Some(folder)) => Some(folder.clone()),
            (Some(scratch), Some(folder)) => {
                let folder = folder.canonicalize().unwrap_or_else(|_| whole(folder));
                let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let sum = crc32fast::hash(folder.as_os_str().as_encoded_bytes());
                Some(whole(scratch).join(format!("{name}-{sum:08x}")))
            }
            (Some(scratch), None) => {
                static TRAININGS: AtomicU64 = AtomicU64::new(0);
                let number = TRAININGS.fetch_add(1, Ordering::Relaxed);
                Some(whole(scratch).join(format!("tinylda-{}-{number}", std::process::id())))
            }
        }
    }

    /// The folder of checkpoints, made sure of: what is in it is to be continued, or thrown away, or there is nothing.
    pub(super) fn folder(&self, path: &Path) -> Result<Folder> {
        let folder = Folder::open(path)?;
        let there = checkpoint::exists(path)?;
        if there && self.resume == Resume::No {
            return Err(Error::CheckpointExists { path: path.to_path_buf() });
        }
        if !there || self.resume == Resume::Restart {
            if let Some(scratch) = checkpoint::scratch_of(path) {
                store::clear(&scratch);
            }
            folder.clear();
        }
        Ok(folder)
    }

    /// Every setting that the result depends on. A key is the name of a parameter, or a phrase for something else, which may
    /// refer to parameters as templates do.
    pub(super) fn identity(&self, corpus: &Corpus) -> Identity {
        let mut all = Identity::new();
        let mut add = |name: &str, value: serde_json::Value| all.push((name.into(), value));
        let sum = |bytes: &mut dyn Iterator<Item = u64>| {
            let mut crc = crc32fast::Hasher::new();
            bytes.for_each(|number| crc.update(&number.to_le_bytes()));
            format!("{:08x}", crc.finalize())
        };
        add("corpus checksum", corpus.fingerprint().into());
        add("algorithm", self.algorithm.name().into());
        add("topics", self.topics.into());
        add("alpha", self.alpha_value().into());
        add("beta", self.beta.into());
        add("optimize", self.optimize.into());
        add("{seeds} checksum", self.seeds.as_ref().map(Seeds::sum).into());
        if self.seeds.is_some() {
            add("seed_weight", self.seed_weight.into());
        }
        add("seed", self.seed.into());
        add("passes", self.passes.into());
        add("tolerance", self.tolerance.into());
        for (name, value) in self.special.given() {
            add(name, value.into());
        }
        if self.algorithm.small_messages() {
            add("exclude", if self.exclude { "own" } else { "none" }.into());
            add("active", self.active.to_string().into());
            add("document_state", if self.recompute { "none" } else { "keep" }.into());
        }
        let start = self.start.as_ref().map(|all| sum(&mut all.iter().map(|&k| u64::from(k))));
        add("{start} checksum", start.into());
        let order = self.order.as_ref().map(|all| sum(&mut all.iter().copied()));
        add("{order} checksum", order.into());
        all
    }

    pub(super) fn rules(
        &self,
        kernel: Kernel,
        tokens: u64,
        (plan, scratch): (&Plan, Option<PathBuf>),
        seeds: Vec<Seed>,
    ) -> Rules {
        Rules {
            kernel,
            exclude: self.exclude,
            active: self.active,
            seed: self.seed,
            tokens,
            growing: self.start.is_none(),
            anew: self.recompute,
            seeds,
            room: counts::Room {
                memory: if plan.phi_on_disk > 0 {
                    plan.phi / if self.recompute { 2 } else { 1 }
                } else {
                    u64::MAX
                },
                folder: scratch.filter(|_| plan.phi_on_disk > 0),
            },
        }
    }

    /// The start: each non-zero gives all its tokens to one topic.
    pub(super) fn scatter(
        &self,
        topics: &mut Topics,
        store: &mut Store<'_>,
        word_tokens: &[u64],
    ) -> Result<()> {
        let mut given = self.start.as_deref().unwrap_or_default().iter();
        let row = || vec![0f64; self.topics as usize];
        let mut heavy: HashMap<u32, Vec<f64>> = heavy_words(word_tokens).map(|w| (w, row())).collect();
        store.scatter(|d, document, labels| {
            let mut random = Random::new(self.seed, Purpose::Start, d);
            for (&w, &x) in document.words.iter().zip(document.counts) {
                let k = given.next().copied().unwrap_or_else(|| random.below(u64::from(self.topics)) as u32);
                labels.push(k);
                let k = k as usize;
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
    pub(super) fn visits(&self, corpus: &Corpus) -> Option<Order> {
        if !self.algorithm.facts().shuffles {
            return None;
        }
        let Some(order) = &self.order else {
            let mut blocks: Vec<usize> = (0..corpus.blocks()).collect();
            Random::new(self.seed, Purpose::BlockOrder, 0).shuffle(&mut blocks);
            return Some(Order::Random(blocks, self.seed));
        };
        let mut firsts = vec![0u64];
        firsts.extend((0..corpus.blocks()).scan(0u64, |sum, i| {
            *sum += u64::from(corpus.block_size(i).0);
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
        Some(Order::Given(visits))
    }
}
