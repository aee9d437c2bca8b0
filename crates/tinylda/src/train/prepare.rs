//! Preparation of a training: folders, the initial state of the documents, or a checkpoint to
//! resume.
//!
//! Settings have been checked and planned before (`check`, `plan`); the loop follows in `run`.
//! Start reading at [`Training::new`].

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::check::CheckedSettings;
use super::checkpoint::{self, CheckpointFolder};
use super::plan::Plan;
use super::position::{LearnedPriors, TrainingPosition};
use super::run::Training;
use super::update::BaseModel;
use super::{PlannedTraining, Resume, Stop, Trainer};
use crate::algorithms::piece::StateKind;
use crate::algorithms::schedule::{PassKind, Schedule, ScheduleInput};
use crate::algorithms::{Setup, Updater, UpdaterStorage};
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::memory::SLACK_DIVISOR;
use crate::random::{Purpose, Random};
use crate::sections::SectionReader;
use crate::settings::Algorithm;
use crate::simd::flat_mut;
use crate::store::{self, BlockVisit, Selection, Store, StoreBudget, VisitOrder};
use crate::threads::Threads;
use crate::topics::{Topics, heavy_words};

/// A training whose folders are known but that holds nothing in memory yet.
struct PreparedTraining<'a> {
    trainer: &'a Trainer,
    corpus: &'a Corpus,
    /// Number of tokens of every word, including those of seed words and of a model to update.
    word_tokens: Vec<u64>,
    /// W, the number of words.
    words: u32,
    plan: Plan,
    pieces: usize,
    folder: Option<CheckpointFolder>,
    /// Folder of the scratch files.
    scratch: Option<PathBuf>,
    order: Option<VisitOrder>,
}

impl<'a> Training<'a> {
    /// Starts a training or resumes it from a checkpoint.
    pub(super) fn new(planned: PlannedTraining<'a>, threads: &Arc<Threads>) -> Result<Training<'a>> {
        let PlannedTraining { trainer, corpus, checked, pieces, plan, finish_when_asked } = planned;
        let CheckedSettings { word_tokens, shape, update, seeds } = checked;
        let kernel = trainer.kernel()?;
        let folder = trainer.checkpoint.as_deref().map(|path| trainer.folder(path)).transpose()?;
        let mut prepared = PreparedTraining {
            trainer,
            corpus,
            word_tokens,
            words: shape.words,
            plan,
            pieces,
            folder,
            scratch: trainer.scratch_folder(),
            order: trainer.document_order(corpus),
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
            None => (prepared.new_store(&mut topics)?, TrainingPosition::start(), None),
        };
        let base = trainer.base_counts(update.as_ref());
        let setup = Setup {
            kernel,
            threads: Arc::clone(threads),
            storage: prepared.updater_storage(),
            seeds,
            word_tokens: std::mem::take(&mut prepared.word_tokens),
            settings: trainer.settings.clone(),
            shape,
            given_start: trainer.start.is_some(),
            base_tokens: base.map(|base| base.tokens()),
        };
        let mut updater = trainer.settings.chosen_algorithm().updater(&mut topics, setup)?;
        let (resumed, saved_passes) = (rest.is_some(), position.pass);
        let mut schedule = trainer.schedule(corpus, store.pieces());
        if let Some(mut rest) = rest {
            schedule.restore(position.schedule);
            updater.restore(&mut topics, &mut rest)?;
            rest.end()?;
            store.checkpoint_restored();
        } else {
            trainer.load_start(&mut topics, updater.as_mut(), &mut store)?;
            base.map_or(Ok(()), |base| updater.add_base(base))?;
        }
        Ok(Training {
            trainer,
            corpus,
            topics,
            updater,
            schedule,
            order: prepared.order,
            update,
            scratch: prepared.scratch,
            stop: if position.converged { Stop::Converged } else { Stop::Passes },
            position,
            store,
            plan: prepared.plan,
            folder: prepared.folder,
            saved: resumed.then_some(saved_passes),
            resumed,
            finish_when_asked,
        })
    }
}

impl<'a> PreparedTraining<'a> {
    /// Creates topics with all counts zero.
    fn topics(&self) -> Result<Topics> {
        let (words, count) = (self.words, self.trainer.settings.topic_count());
        let LearnedPriors { alpha, beta } = self.trainer.initial_priors();
        if self.trainer.settings.chosen_algorithm().capabilities().shared_phi {
            Topics::new(words, count, &alpha, beta)
        } else {
            Ok(Topics::without_phi(words, count, &alpha, beta))
        }
    }

    /// Returns where the algorithm may keep its data within the memory plan.
    fn updater_storage(&self) -> UpdaterStorage {
        UpdaterStorage {
            phi: (self.plan.phi_on_disk > 0).then_some(self.plan.phi),
            deltas: self.plan.deltas,
            folder: self.scratch.clone(),
        }
    }

    /// Creates the store of the documents. Nothing is loaded yet.
    fn store(&self) -> Store<'a> {
        let trainer = self.trainer;
        // With a user-defined order, documents are visited in any sequence, so they must all stay
        // in memory.
        let bound = trainer.order.is_none();
        let on_disk = trainer.settings.chosen_algorithm().capabilities().disk;
        let near_limit = self.plan.ceiling.zip(trainer.guard_process);
        let near_limit =
            near_limit.map(|(ceiling, others)| others.saturating_add(ceiling - ceiling / SLACK_DIVISOR));
        let budget = StoreBudget {
            limit: self.plan.limit.filter(|_| bound),
            near_limit: near_limit.filter(|_| bound && on_disk),
            scratch: self.scratch.clone(),
            depth: self.plan.depth as usize,
            margin: self.plan.piece,
        };
        let algorithm = trainer.settings.chosen_algorithm();
        let size = algorithm.piece_nonzeros(self.corpus.shape());
        let state = trainer.state_kind(algorithm);
        Store::new(self.corpus, trainer.settings.topic_count(), size, state, budget)
    }

    /// Creates the store of a new training, with initial topics.
    fn new_store(&self, topics: &mut Topics) -> Result<Store<'a>> {
        if let Some(folder) = &self.scratch {
            store::clear(folder);
        }
        let mut store = self.store();
        let capabilities = self.trainer.settings.chosen_algorithm().capabilities();
        let own_start = capabilities.own_start && self.trainer.start.is_none();
        if capabilities.shared_phi && !own_start {
            self.trainer.initialize_counts(topics, &mut store, &self.word_tokens)?;
        }
        Ok(store)
    }

    /// Opens the checkpoint in a folder. The sections of the algorithm remain to be read from the
    /// returned reader.
    fn resume(
        &mut self,
        path: &Path,
        topics: &mut Topics,
    ) -> Result<(Store<'a>, TrainingPosition, SectionReader)> {
        let trainer = self.trainer;
        let opened = checkpoint::open::<TrainingPosition>(path, &trainer.identity(self.corpus), self.pieces)?;
        if trainer.scratch.is_none() {
            self.scratch = opened.scratch.clone().or(self.scratch.take());
        } else if opened.scratch != self.scratch {
            return Err(scratch_mismatch(path, opened.scratch, self.scratch.take()));
        }
        let mut store = self.store();
        let position = opened.position;
        let schedule = trainer.schedule(self.corpus, store.pieces());
        let visits = self.order.as_ref().map_or(Selection::ALL, Selection::Order);
        if !position.is_possible(trainer, schedule.warm_up(), visits, store.pieces()) {
            return Err(opened.rest.damaged("its training position is not possible"));
        }
        if let Some(learned) = &position.learned {
            topics.set_priors(&learned.alpha, learned.beta);
        }
        store.restore(opened.records, position.pass_message_bytes)?;
        Ok((store, position, opened.rest))
    }
}

/// Returns the error for a checkpoint whose files are not in the scratch folder of this training.
fn scratch_mismatch(checkpoint: &Path, found: Option<PathBuf>, wanted: Option<PathBuf>) -> Error {
    let shown = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    Error::CheckpointMismatch {
        path: checkpoint.to_path_buf(),
        setting: "the {scratch} folder".into(),
        found: shown(found.or_else(|| Some(checkpoint.to_path_buf()))),
        wanted: shown(wanted),
    }
}

impl Trainer {
    /// Returns the pass schedule, at its start.
    fn schedule(&self, corpus: &Corpus, pieces: usize) -> Box<dyn Schedule> {
        self.settings.chosen_algorithm().schedule(ScheduleInput {
            pieces: pieces as u64,
            tokens: corpus.shape().tokens,
            topics: self.settings.topic_count(),
            passes: self.settings.max_passes(),
            optimize: self.settings.optimizes(),
            given_start: self.start.is_some() || self.base.is_some(),
        })
    }

    /// Returns the kind of state kept per document between visits.
    pub(super) fn state_kind(&self, algorithm: Algorithm) -> StateKind {
        let capabilities = algorithm.capabilities();
        capabilities.stateless.filter(|_| self.settings.is_stateless()).unwrap_or(capabilities.state)
    }

    /// Loads the initial topics set by the user, if the algorithm keeps phi in a format of its own.
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
        store.initialize_messages(
            start,
            self.settings.active_topics().max_topics(self.settings.topic_count()),
        )?;
        store.visit(Selection::ALL, 0, false, |_, mut view| {
            view.kind = PassKind::Load;
            updater.piece(topics, view).map_err(|(d, bad)| bad.in_document(d, "the start"))?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Returns the initial alpha of every topic and beta: those that were set, those of a model to
    /// update, or the defaults.
    pub(super) fn initial_priors(&self) -> LearnedPriors {
        let base = self.base.as_ref().map(BaseModel::priors);
        let alpha = match base.filter(|_| self.settings.alpha.is_none()) {
            Some((alpha, _)) => alpha.to_vec(),
            None => vec![self.settings.alpha_value() as f32; self.settings.topic_count() as usize],
        };
        let beta = match base.filter(|_| self.settings.beta.is_none()) {
            Some((_, beta)) => beta,
            None => self.settings.beta_value() as f32,
        };
        LearnedPriors { alpha, beta }
    }

    /// Returns the folder for scratch files, if there is one: the checkpoint folder, or a folder
    /// for this training inside the user's scratch folder.
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

    /// Opens the checkpoint folder and checks or clears its contents according to [`Resume`].
    fn folder(&self, path: &Path) -> Result<CheckpointFolder> {
        let folder = CheckpointFolder::open(path)?;
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

    /// Sets the initial counts: all tokens of a non-zero are assigned to one topic.
    fn initialize_counts(
        &self,
        topics: &mut Topics,
        store: &mut Store<'_>,
        word_tokens: &[u64],
    ) -> Result<()> {
        let mut given = self.start.as_deref().unwrap_or_default().iter();
        let row = || vec![0f64; self.settings.topic_count() as usize];
        let mut heavy: HashMap<u32, Vec<f64>> = heavy_words(word_tokens).map(|w| (w, row())).collect();
        store.initialize_state(|d, document, labels| {
            let mut random = Random::new(self.settings.seed_value(), Purpose::InitialTopic, d);
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

    /// Returns the order of documents for algorithms that shuffle: blocks are shuffled, and so are
    /// the documents within each block, so that a pass can stream from disk.
    fn document_order(&self, corpus: &Corpus) -> Option<VisitOrder> {
        if !self.settings.chosen_algorithm().capabilities().shuffles {
            return None;
        }
        let Some(order) = &self.order else {
            let mut blocks: Vec<usize> = (0..corpus.blocks()).collect();
            Random::new(self.settings.seed_value(), Purpose::BlockOrder, 0).shuffle(&mut blocks);
            return Some(VisitOrder::Random(blocks, self.settings.seed_value()));
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
        Some(VisitOrder::Given(visits))
    }
}
