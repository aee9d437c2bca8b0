//! What a training begins with: checked and planned settings, folders, the start of the documents or a checkpoint to resume.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::check::Checked;
use super::checkpoint::{self, Folder, Identity};
use super::plan::Plan;
use super::position::Position;
use super::run::Training;
use super::{PlannedTraining, Resume, Stop, Trainer};
use crate::algorithms::piece::StateKind;
use crate::algorithms::tbp::TbpConfig;
use crate::algorithms::tbp::counts::RowStorage;
use crate::algorithms::tbp::cpu::deltas::DeltaStorage;
use crate::algorithms::tbp::seed_words::{SeedWord, Seeds};
use crate::algorithms::{PassKind, ScheduleInput, Setup, Updater};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::random::{Purpose, Random};
use crate::sections::SectionReader;
use crate::settings::{Algorithm, Exclude};
use crate::simd::flat_mut;
use crate::store::{self, BlockVisit, Order, Selection, Store, StoreBudget};
use crate::threads::Threads;
use crate::topics::{Topics, heavy_words};

/// A training whose folders are known, but that has nothing in memory yet.
struct Prepared<'a> {
    trainer: &'a Trainer,
    corpus: &'a Corpus,
    /// Tokens of every word, those that seed words add included.
    word_tokens: Vec<u64>,
    plan: Plan,
    pieces: usize,
    folder: Option<Folder>,
    /// Where scratch files are.
    scratch: Option<PathBuf>,
    order: Option<Order>,
}

impl<'a> Training<'a> {
    /// Starts a training or resumes it from a checkpoint.
    pub(super) fn new(planned: PlannedTraining<'a>, threads: &Arc<Threads>) -> Result<Training<'a>> {
        let PlannedTraining { trainer, corpus, checked, pieces, plan, model } = planned;
        let Checked { word_tokens, seeds } = checked;
        let kernel = trainer.kernel()?;
        let folder = trainer.checkpoint.as_deref().map(|path| trainer.folder(path)).transpose()?;
        let mut prepared = Prepared {
            trainer,
            corpus,
            word_tokens,
            plan,
            pieces,
            folder,
            scratch: trainer.scratch_folder(),
            order: trainer.visits(corpus),
        };
        let mut topics = prepared.topics()?;
        let saved = match trainer.checkpoint.as_deref() {
            Some(path) if checkpoint::exists(path)? => Some(path),
            _ => None,
        };
        let (mut store, position, rest) = match saved {
            Some(path) => {
                let (store, position, rest) = prepared.resume(path, &mut topics)?;
                (store, position, Some(rest))
            }
            None => (prepared.fresh(&mut topics)?, Position::start(trainer.settings.max_passes()), None),
        };
        let setup = Setup {
            kernel,
            threads: Arc::clone(threads),
            tbp: trainer.tbp_config(&prepared, seeds),
            word_tokens: std::mem::take(&mut prepared.word_tokens),
            settings: trainer.settings.clone(),
            documents: corpus.shape().documents,
            given_start: trainer.start.is_some(),
        };
        let mut updater = trainer.settings.chosen_algorithm().updater(&mut topics, setup)?;
        let resumed = rest.is_some();
        match rest {
            Some(mut rest) => {
                updater.restore(&mut topics, &mut rest)?;
                rest.end()?;
                store.restored();
            }
            None => trainer.load_start(&mut topics, updater.as_mut(), &mut store)?,
        }
        Ok(Training {
            trainer,
            corpus,
            topics,
            updater,
            schedule: trainer
                .settings
                .chosen_algorithm()
                .schedule(trainer.schedule_input(corpus, store.pieces())),
            order: prepared.order,
            scratch: prepared.scratch,
            stop: if position.converged { Stop::Converged } else { Stop::Passes },
            position,
            store,
            plan: prepared.plan,
            folder: prepared.folder,
            resumed,
            model,
        })
    }
}

impl<'a> Prepared<'a> {
    /// Topics without a token.
    fn topics(&self) -> Result<Topics> {
        let (words, count) = (self.corpus.shape().words, self.trainer.settings.topic_count());
        let (alpha, beta) = (self.trainer.alphas(), self.trainer.settings.beta_value() as f32);
        if self.trainer.settings.chosen_algorithm().capabilities().shared_phi {
            Topics::new(words, count, &alpha, beta)
        } else {
            Ok(Topics::without_phi(words, count, &alpha, beta))
        }
    }

    /// The store of the documents, with nothing in it.
    fn store(&self) -> Store<'a> {
        let trainer = self.trainer;
        // Documents in an order of the user's own must all stay: they are visited again and again.
        let bound = trainer.order.is_none();
        let on_disk = trainer.settings.chosen_algorithm().capabilities().disk;
        let budget = StoreBudget {
            limit: self.plan.limit.filter(|_| bound),
            ceiling: self.plan.ceiling.filter(|_| bound && on_disk && trainer.guard_process),
            scratch: self.scratch.clone(),
            depth: self.plan.depth as usize,
            margin: self.plan.piece,
        };
        let algorithm = trainer.settings.chosen_algorithm();
        let size = Trainer::update_size(algorithm, self.corpus.shape());
        let state = trainer.state_kind(algorithm);
        Store::new(self.corpus, trainer.settings.topic_count(), size, state, budget)
    }

    /// A training that starts.
    fn fresh(&self, topics: &mut Topics) -> Result<Store<'a>> {
        if let Some(folder) = &self.scratch {
            store::clear(folder);
        }
        let mut store = self.store();
        let capabilities = self.trainer.settings.chosen_algorithm().capabilities();
        let own_start = capabilities.own_start && self.trainer.start.is_none();
        if capabilities.shared_phi && !own_start {
            self.trainer.scatter(topics, &mut store, &self.word_tokens)?;
        }
        Ok(store)
    }

    /// A training that continues from the checkpoint in a folder. What the algorithm has saved is still to be read.
    fn resume(&mut self, path: &Path, topics: &mut Topics) -> Result<(Store<'a>, Position, SectionReader)> {
        let trainer = self.trainer;
        let opened = checkpoint::open::<Position>(path, &trainer.identity(self.corpus), self.pieces)?;
        if trainer.scratch.is_none() {
            self.scratch = opened.scratch.clone().or(self.scratch.take());
        } else if opened.scratch != self.scratch {
            return Err(elsewhere(path, opened.scratch, self.scratch.take()));
        }
        let mut store = self.store();
        let position = opened.position;
        let schedule =
            trainer.settings.chosen_algorithm().schedule(trainer.schedule_input(self.corpus, store.pieces()));
        let visits = self.order.as_ref().map_or(Selection::ALL, Selection::Order);
        if !position.possible(trainer, schedule.warm_up(), visits, store.pieces()) {
            return Err(opened.rest.damaged("it says that it is where no training can be"));
        }
        if let Some(learned) = &position.learned {
            topics.set_priors(&learned.alpha, learned.beta);
        }
        store.restore(opened.records, position.pass_message_bytes)?;
        Ok((store, position, opened.rest))
    }
}

/// Returns the error that the files of a checkpoint are not in the scratch folder of this training.
fn elsewhere(checkpoint: &Path, found: Option<PathBuf>, wanted: Option<PathBuf>) -> Error {
    let shown = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    Error::CheckpointMismatch {
        path: checkpoint.to_path_buf(),
        setting: "the {scratch} folder".into(),
        found: shown(found.or_else(|| Some(checkpoint.to_path_buf()))),
        wanted: shown(wanted),
    }
}

impl Trainer {
    /// What the schedule of the training is made for.
    fn schedule_input(&self, corpus: &Corpus, pieces: usize) -> ScheduleInput {
        ScheduleInput {
            pieces: pieces as u64,
            tokens: corpus.shape().tokens,
            topics: self.settings.topic_count(),
            passes: self.settings.max_passes(),
            optimize: self.settings.optimizes(),
            given_start: self.start.is_some(),
        }
    }

    /// What is kept of documents between two visits.
    pub(super) fn state_kind(&self, algorithm: Algorithm) -> StateKind {
        let capabilities = algorithm.capabilities();
        capabilities.stateless.filter(|_| self.settings.is_stateless()).unwrap_or(capabilities.state)
    }

    /// Gives documents the start that the user has given, where the algorithm keeps phi in a form of its own.
    fn load_start(
        &self,
        topics: &mut Topics,
        updater: &mut dyn Updater,
        store: &mut Store<'_>,
    ) -> Result<()> {
        let Some(start) =
            self.start.as_deref().filter(|_| !self.settings.chosen_algorithm().capabilities().shared_phi)
        else {
            return Ok(());
        };
        store.start(start, self.settings.active.unwrap_or_default().most(self.settings.topic_count()))?;
        store.visit(Selection::ALL, 0, false, |_, mut view| {
            view.kind = PassKind::Load;
            updater.piece(topics, view).map_err(|(d, bad)| bad.in_document(d, "the start"))?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    pub(super) fn alphas(&self) -> Vec<f32> {
        vec![self.settings.alpha_value() as f32; self.settings.topic_count() as usize]
    }

    /// Where files go, where they may: with the checkpoints, or in a folder of this training's own in that of the user.
    fn scratch_folder(&self) -> Option<PathBuf> {
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
    fn folder(&self, path: &Path) -> Result<Folder> {
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
        for (name, value) in self.settings.identity() {
            // Its default depends on the number of topics.
            let value = if name == "alpha" { self.settings.alpha_value().into() } else { value };
            add(name, value);
        }
        add("{seeds} checksum", self.seeds.as_ref().map(Seeds::sum).into());
        let start = self.start.as_ref().map(|all| sum(&mut all.iter().map(|&k| u64::from(k))));
        add("{start} checksum", start.into());
        let order = self.order.as_ref().map(|all| sum(&mut all.iter().copied()));
        add("{order} checksum", order.into());
        all
    }

    /// The configuration of `tbp`, within a plan.
    fn tbp_config(&self, prepared: &Prepared<'_>, seeds: Vec<SeedWord>) -> TbpConfig {
        let plan = &prepared.plan;
        // Two copies of phi are needed where nothing is kept of documents.
        let copies = if self.settings.is_stateless() { 2 } else { 1 };
        let on_disk = plan.phi_on_disk > 0;
        TbpConfig {
            exclude: self.settings.exclude.unwrap_or_default() == Exclude::Own,
            active: self.settings.active.unwrap_or_default(),
            tokens: prepared.corpus.shape().tokens,
            growing: self.start.is_none(),
            stateless: self.settings.is_stateless(),
            seeds,
            storage: RowStorage {
                memory: if on_disk { plan.phi / copies } else { u64::MAX },
                folder: prepared.scratch.clone().filter(|_| on_disk),
            },
            deltas: DeltaStorage { memory: plan.deltas, folder: prepared.scratch.clone() },
        }
    }

    /// The start: each non-zero gives all its tokens to one topic.
    fn scatter(&self, topics: &mut Topics, store: &mut Store<'_>, word_tokens: &[u64]) -> Result<()> {
        let mut given = self.start.as_deref().unwrap_or_default().iter();
        let row = || vec![0f64; self.settings.topic_count() as usize];
        let mut heavy: HashMap<u32, Vec<f64>> = heavy_words(word_tokens).map(|w| (w, row())).collect();
        store.scatter(|d, document, labels| {
            let mut random = Random::new(self.settings.seed_value(), Purpose::Start, d);
            for (&w, &x) in document.words.iter().zip(document.counts) {
                let k = given
                    .next()
                    .copied()
                    .unwrap_or_else(|| random.below(u64::from(self.settings.topic_count())) as u32);
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
    fn visits(&self, corpus: &Corpus) -> Option<Order> {
        if !self.settings.chosen_algorithm().capabilities().shuffles {
            return None;
        }
        let Some(order) = &self.order else {
            let mut blocks: Vec<usize> = (0..corpus.blocks()).collect();
            Random::new(self.settings.seed_value(), Purpose::BlockOrder, 0).shuffle(&mut blocks);
            return Some(Order::Random(blocks, self.settings.seed_value()));
        };
        let mut firsts = vec![0u64];
        firsts.extend((0..corpus.blocks()).scan(0u64, |sum, i| {
            *sum += u64::from(corpus.block_size(i).0);
            Some(*sum)
        }));
        let mut visits: Vec<BlockVisit> = Vec::new();
        for &d in order {
            let block = firsts.partition_point(|&first| first <= d) - 1;
            let within = (d - firsts[block]) as u32;
            match visits.last_mut() {
                Some(last) if last.block == block => last.documents.push(within),
                _ => visits.push(BlockVisit { block, documents: vec![within] }),
            }
        }
        Some(Order::Given(visits))
    }
}
