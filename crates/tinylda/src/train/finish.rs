//! The model of a training, in memory or in a file: after the last pass, and for snapshots between
//! passes.
//!
//! The layout of model files is in `model`. Start reading at [`Training::into_model`] and
//! [`Training::into_file`].

use std::ops::Range;
use std::path::Path;

use super::run::Training;
use super::update::{BaseModel, UpdateWords};
use super::verdict::Referee;
use crate::algorithms::tbp::seed_words::Seeds;
use crate::corpus::{BlockReader, Corpus, Document, LabelTable, Vocabulary};
use crate::error::{Error, Result};
use crate::infer::{Mixture, fill_proportions};
use crate::model::{CorpusIdentity, Model, ModelWriter, TrainingRecord};
use crate::simd::flat_mut;
use crate::store::Store;
use crate::topics::{Matrix, Topics};
use crate::train::{EachMixture, Event, Summary, Trained};

impl Training<'_> {
    /// Returns the metadata for the model and the statistics for the caller.
    fn summarize(&mut self, seconds: f64) -> Result<(TrainingRecord, Summary)> {
        let update = self.update_record()?;
        let Training { trainer, position, .. } = self;
        let train_perplexity = position.history.last().map_or(f64::NAN, |&(_, p)| p);
        let active_topics = position.timings.last().copied().unwrap_or_default().active_topics;
        let names = |seeds: &Seeds| seeds.names().map(|(k, name)| (k, name.to_owned())).collect();
        let training = TrainingRecord {
            algorithm: trainer.settings.chosen_algorithm().name().into(),
            settings: trainer.settings.recorded(),
            checksums: trainer.checksums(),
            topic_names: match &trainer.base {
                Some(base) => base.topic_names(),
                None => trainer.seeds.as_ref().map_or_else(Vec::new, names),
            },
            seed: trainer.settings.seed_value(),
            passes: position.pass,
            tolerance: trainer.tolerance_at(train_perplexity),
            train_perplexity,
            history: position.history.clone(),
            corpus: CorpusIdentity::of(self.corpus),
            pipeline: match trainer.base.as_ref().and_then(BaseModel::pipeline) {
                Some(pipeline) => Some(pipeline.clone()),
                None => self.corpus.about()?.pipeline,
            },
            update,
        };
        let summary = Summary {
            passes: position.pass,
            train_perplexity,
            seconds,
            active_topics,
            message_bytes: position.message_bytes,
            stop: self.stop,
            max_passes: trainer.settings.max_passes(),
            tolerance: training.tolerance,
            beta_limit: self.learned_beta_limit(),
        };
        Ok((training, summary))
    }

    /// Converts the training into a model in memory.
    pub(super) fn into_model(mut self, keep_theta: bool, referee: &Referee<'_>) -> Result<Trained> {
        let (training, summary) = self.summarize(referee.seconds())?;
        let (corpus, priors) = (self.corpus, self.priors());
        let theta = if keep_theta {
            Some(collect_theta(&mut self.store, corpus, self.trainer.settings.topic_count())?)
        } else {
            None
        };
        let vocabulary = self.vocabulary()?;
        let Training { mut topics, mut updater, mut store, folder, update, .. } = self;
        let word = |w: u32| UpdateWords::training_word(update.as_ref(), w);
        // Free the document state before phi is created in its final form.
        store.release_pieces();
        updater.finish();
        let count = topics.count as usize;
        if topics.phi.is_empty() {
            topics.phi = Matrix::of_rows(topics.words(), topics.count, |w, row| {
                updater.topic_row(&topics, word(w), &mut row[..count])
            })?;
        } else {
            // Convert in place, row by row.
            let mut row = vec![0f32; count];
            for w in 0..topics.words() {
                updater.topic_row(&topics, w, &mut row)?;
                flat_mut(topics.phi.row_mut(w))[..count].copy_from_slice(&row);
            }
        }
        drop(updater);
        // The algorithm may have worked without alpha and beta.
        let mut whole = Topics::without_phi(topics.words(), topics.count, &priors.alpha, priors.beta);
        whole.phi = topics.phi;
        let model = Model::new(whole, priors.alpha, vocabulary, training);
        store.release_checkpoint();
        if let Some(folder) = folder {
            folder.remove();
        }
        Ok(Trained { model, theta, summary })
    }

    /// Calls `each` with every document, then writes the model to a file. If that fails, the
    /// training is kept in a checkpoint.
    pub(super) fn into_file(
        mut self,
        path: &Path,
        referee: &mut Referee<'_>,
        each: Option<&mut EachMixture<'_>>,
    ) -> Result<Summary> {
        let (training, summary) = self.summarize(referee.seconds())?;
        let handed_over = match each.filter(|_| self.trainer.keeps_theta()) {
            Some(each) => self.for_each_document(each),
            None => Ok(()),
        };
        let written = handed_over.and_then(|()| {
            self.updater.finish();
            self.store.free_buffers();
            let _ = referee.report(Event::Writing(path));
            self.write(path, &training)
        });
        if let Err(error) = written {
            // Saving may fail too, for example if the disk is full. The first error takes
            // precedence.
            self.try_save(referee);
            return Err(error);
        }
        self.store.release_checkpoint();
        if let Some(folder) = &self.folder {
            folder.remove();
        }
        Ok(summary)
    }

    /// Calls `each` with the topics of every document after the last pass.
    fn for_each_document(&mut self, each: &mut EachMixture<'_>) -> Result<()> {
        let alpha = self.priors().alpha;
        let mut documents = DocumentEmitter::new(self.corpus, &alpha);
        self.store.for_each(false, |d, document, theta| documents.emit(d, document, theta, each))?;
        documents.emit_empty(each)
    }

    /// Writes a snapshot of the model if one was requested for this pass. The time is not counted.
    pub(super) fn snapshot(&mut self, referee: &mut Referee<'_>) -> Result<()> {
        let pass = self.position.pass;
        let wanted = self.trainer.snapshots.as_ref().filter(|(passes, _)| passes.contains(&pass));
        let Some((_, folder)) = wanted else { return Ok(()) };
        let seconds = referee.seconds();
        referee.uncounted(|referee| {
            std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
            let path = folder.join(format!("pass-{pass:05}.model"));
            let (mut training, _) = self.summarize(seconds)?;
            if training.history.is_empty() {
                // After the first pass, some algorithms only know the log-likelihood at its
                // beginning.
                training.train_perplexity = self.perplexity(self.position.log_likelihood.unwrap_or(0.0));
                training.tolerance = self.trainer.tolerance_at(training.train_perplexity);
            }
            self.write(&path, &training)?;
            // A request to stop is ignored here; the callback is asked again soon.
            let _ = referee.report(Event::Snapshot { path: &path, pass, seconds });
            Ok(())
        })
    }

    /// Writes the model to a file, row by row.
    fn write(&mut self, path: &Path, training: &TrainingRecord) -> Result<()> {
        let vocabulary = self.vocabulary()?;
        let priors = self.priors();
        let frame = ModelWriter {
            words: self.topics.words(),
            alpha: &priors.alpha,
            beta: priors.beta,
            vocabulary: vocabulary.as_ref(),
            training,
        };
        let Training { updater, topics, update, .. } = self;
        let word = |w: u32| UpdateWords::training_word(update.as_ref(), w);
        frame.save(path, |w, row| updater.topic_row(topics, word(w), row))
    }
}

/// Passes documents to a callback, with their names, labels and dates.
struct DocumentEmitter<'a> {
    reader: BlockReader<'a>,
    corpus: &'a Corpus,
    alpha: &'a [f32],
    alpha_sum: f64,
    /// Numbers of the documents whose names, labels and dates are loaded.
    block: Range<u64>,
    names: Vocabulary,
    labels: LabelTable,
    dates: Vocabulary,
    proportions: Vec<f32>,
}

impl<'a> DocumentEmitter<'a> {
    fn new(corpus: &'a Corpus, alpha: &'a [f32]) -> DocumentEmitter<'a> {
        DocumentEmitter {
            reader: corpus.reader(),
            corpus,
            alpha,
            alpha_sum: alpha.iter().map(|&a| f64::from(a)).sum(),
            block: 0..0,
            names: Vocabulary::new(),
            labels: LabelTable::default(),
            dates: Vocabulary::new(),
            proportions: Vec::new(),
        }
    }

    /// Passes on the documents that have no words: the store does not visit them.
    fn emit_empty(&mut self, each: &mut EachMixture<'_>) -> Result<()> {
        let theta = vec![0.0; self.alpha.len()];
        let (mut buffer, mut lengths) = (Vec::new(), Vec::new());
        for block in 0..self.corpus.blocks() {
            self.corpus.block_lengths(block, &mut buffer, &mut lengths)?;
            let documents = self.corpus.block_documents(block).zip(&lengths);
            for (number, _) in documents.filter(|(_, length)| **length == 0) {
                self.emit(number, Document { words: &[], counts: &[] }, &theta, each)?;
            }
        }
        Ok(())
    }

    /// Passes on one document.
    fn emit(
        &mut self,
        number: u64,
        document: Document<'_>,
        theta: &[f32],
        each: &mut EachMixture<'_>,
    ) -> Result<()> {
        if !self.block.contains(&number)
            && let Some(block) = self.corpus.block_of(number)
        {
            self.names = self.reader.read_names(block)?;
            self.labels = self.reader.read_labels(block)?;
            self.dates = self.reader.read_dates(block)?;
            self.block = self.corpus.block_documents(block);
        }
        let at = (number - self.block.start) as u32;
        let labels = self.labels.row(at as usize);
        let tokens = document.tokens();
        // Not the number of tokens: with some algorithms theta is only close to it.
        let total = theta.iter().map(|&n| f64::from(n)).sum::<f64>() + self.alpha_sum;
        fill_proportions(theta, self.alpha, total, &mut self.proportions);
        each(&Mixture {
            number,
            name: self.names.get(at).unwrap_or_default(),
            labels: &labels,
            date: self.dates.get(at).unwrap_or_default(),
            document,
            tokens,
            tokens_unknown: 0,
            theta,
            proportions: &self.proportions,
        })
    }
}

/// Returns theta of all documents as D rows of K counts.
fn collect_theta(store: &mut Store<'_>, corpus: &Corpus, topics: u32) -> Result<Vec<f32>> {
    let mut all = vec![0.0; corpus.shape().documents as usize * topics as usize];
    store.for_each(false, |d, _, theta| {
        let start = d as usize * topics as usize;
        all[start..start + topics as usize].copy_from_slice(theta);
        Ok(())
    })?;
    Ok(all)
}
