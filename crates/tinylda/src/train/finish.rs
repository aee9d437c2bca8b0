//! After the last pass, and for snapshots between two: the model, in memory or in a file.

use std::ops::Range;
use std::path::Path;

use super::run::Training;
use super::verdict::Referee;
use crate::algorithms::tbp::seed_words::Seeds;
use crate::corpus::{BlockReader, Corpus, Document, Vocabulary};
use crate::error::{Error, Result};
use crate::infer::Mixture;
use crate::model::{CorpusName, Frame, Model, TrainingRecord};
use crate::simd::flat_mut;
use crate::store::Store;
use crate::topics::{Matrix, Topics};
use crate::train::{EachMixture, Event, Summary, Trained};

impl Training<'_> {
    /// What is known of the training at its end.
    fn end(&self, seconds: f64) -> Result<(TrainingRecord, Summary)> {
        let Training { trainer, position, .. } = self;
        let train_perplexity = position.history.last().map_or(f64::NAN, |&(_, p)| p);
        let active_topics = position.timings.last().copied().unwrap_or_default().active_topics;
        let names = |seeds: &Seeds| seeds.names().map(|(k, name)| (k, name.to_owned())).collect();
        let training = TrainingRecord {
            algorithm: trainer.settings.chosen_algorithm().name().into(),
            settings: trainer.settings.recorded(),
            topic_names: trainer.seeds.as_ref().map_or_else(Vec::new, names),
            seed: trainer.settings.seed_value(),
            passes: position.pass,
            tolerance: trainer.tolerance_at(train_perplexity),
            train_perplexity,
            history: position.history.clone(),
            corpus: CorpusName::of(self.corpus),
            pipeline: self.corpus.about()?.pipeline,
        };
        let summary = Summary {
            passes: position.pass,
            train_perplexity,
            seconds,
            active_topics,
            message_bytes: position.message_bytes,
            stop: self.stop,
        };
        Ok((training, summary))
    }

    /// Turns the training into a model in memory.
    pub(super) fn into_model(mut self, keep_theta: bool, referee: &Referee<'_>) -> Result<Trained> {
        let (training, summary) = self.end(referee.seconds())?;
        let (corpus, priors) = (self.corpus, self.priors());
        let theta = if keep_theta {
            Some(collect_theta(&mut self.store, corpus, self.trainer.settings.topic_count())?)
        } else {
            None
        };
        let Training { mut topics, mut updater, mut store, folder, .. } = self;
        // The state of documents makes room for phi in its last form.
        store.empty();
        updater.finish();
        let count = topics.count as usize;
        if topics.phi.is_empty() {
            topics.phi = Matrix::of_rows(topics.words(), topics.count, |w, row| {
                updater.topic_row(&topics, w, &mut row[..count])
            })?;
        } else {
            // Row by row in place.
            let mut row = vec![0f32; count];
            for w in 0..topics.words() {
                updater.topic_row(&topics, w, &mut row)?;
                flat_mut(topics.phi.row_mut(w))[..count].copy_from_slice(&row);
            }
        }
        drop(updater);
        // An algorithm may have worked without alpha and beta.
        let mut whole = Topics::without_phi(topics.words(), topics.count, &priors.alpha, priors.beta);
        whole.phi = topics.phi;
        let model = Model::new(whole, priors.alpha, corpus.vocabulary()?, training);
        store.let_go();
        if let Some(folder) = folder {
            folder.remove();
        }
        Ok(Trained { model, theta, summary })
    }

    /// Writes the model to a file, after every document was handed to `each`. If writing fails, the training is kept in a
    /// checkpoint.
    pub(super) fn into_file(
        mut self,
        path: &Path,
        referee: &mut Referee<'_>,
        each: Option<&mut EachMixture<'_>>,
    ) -> Result<Summary> {
        let (training, summary) = self.end(referee.seconds())?;
        let handed_over = match each.filter(|_| self.trainer.keeps_theta()) {
            Some(each) => self.each_document(each),
            None => Ok(()),
        };
        let written = handed_over.and_then(|()| {
            self.updater.finish();
            self.store.free_buffers();
            let _ = referee.report(Event::Writing(path));
            self.write(path, &training)
        });
        if let Err(error) = written {
            // There may be no room for that either; why the model could not be written is what counts.
            let _ = self.save(referee);
            return Err(error);
        }
        self.store.let_go();
        if let Some(folder) = &self.folder {
            folder.remove();
        }
        Ok(summary)
    }

    /// Calls `each` with the topics of every document, as the last pass has left them.
    fn each_document(&mut self, each: &mut EachMixture<'_>) -> Result<()> {
        let alpha = self.priors().alpha;
        let mut documents = DocumentTopics::new(self.corpus, &alpha);
        self.store.for_each(false, |d, document, theta| documents.one(d, document, theta, each))?;
        documents.without_words(each)
    }

    /// Writes the model as it is after this pass, where that was asked for. The time is not counted.
    pub(super) fn snapshot(&mut self, referee: &mut Referee<'_>) -> Result<()> {
        let pass = self.position.pass;
        let wanted = self.trainer.snapshots.as_ref().filter(|(passes, _)| passes.contains(&pass));
        let Some((_, folder)) = wanted else { return Ok(()) };
        let seconds = referee.seconds();
        referee.uncounted(|referee| {
            std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
            let path = folder.join(format!("pass-{pass:05}.model"));
            let (mut training, _) = self.end(seconds)?;
            if training.history.is_empty() {
                // After the first pass some algorithms know only where it began.
                training.train_perplexity = self.perplexity(self.position.log_likelihood.unwrap_or(0.0));
                training.tolerance = self.trainer.tolerance_at(training.train_perplexity);
            }
            self.write(&path, &training)?;
            // Whether to stop is asked again soon.
            let _ = referee.report(Event::Snapshot { path: &path, pass, seconds });
            Ok(())
        })
    }

    fn write(&mut self, path: &Path, training: &TrainingRecord) -> Result<()> {
        let vocabulary = self.corpus.vocabulary()?;
        let priors = self.priors();
        let frame = Frame {
            words: self.topics.words(),
            alpha: &priors.alpha,
            beta: priors.beta,
            vocabulary: vocabulary.as_ref(),
            training,
        };
        let Training { updater, topics, .. } = self;
        frame.save(path, |w, row| updater.topic_row(topics, w, row))
    }
}

/// Hands over documents with their names and labels.
struct DocumentTopics<'a> {
    reader: BlockReader<'a>,
    corpus: &'a Corpus,
    alpha: &'a [f32],
    alpha_sum: f64,
    /// Documents of the block whose names and labels are at hand.
    block: Range<u64>,
    names: Vocabulary,
    labels: Vocabulary,
    proportions: Vec<f32>,
}

impl<'a> DocumentTopics<'a> {
    fn new(corpus: &'a Corpus, alpha: &'a [f32]) -> DocumentTopics<'a> {
        DocumentTopics {
            reader: corpus.reader(),
            corpus,
            alpha,
            alpha_sum: alpha.iter().map(|&a| f64::from(a)).sum(),
            block: 0..0,
            names: Vocabulary::new(),
            labels: Vocabulary::new(),
            proportions: Vec::new(),
        }
    }

    /// Hands over the documents that have no words: the store does not visit them.
    fn without_words(&mut self, each: &mut EachMixture<'_>) -> Result<()> {
        let theta = vec![0.0; self.alpha.len()];
        let (mut buffer, mut lengths) = (Vec::new(), Vec::new());
        for block in 0..self.corpus.blocks() {
            self.corpus.block_lengths(block, &mut buffer, &mut lengths)?;
            let empty = self.corpus.block_documents(block).zip(&lengths).filter(|(_, length)| **length == 0);
            for (number, _) in empty {
                self.one(number, Document { words: &[], counts: &[] }, &theta, each)?;
            }
        }
        Ok(())
    }

    fn one(
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
            self.block = self.corpus.block_documents(block);
        }
        let at = (number - self.block.start) as u32;
        let tokens = document.tokens();
        // Not the number of tokens: with some algorithms theta is only close to it.
        let total = theta.iter().map(|&n| f64::from(n)).sum::<f64>() + self.alpha_sum;
        self.proportions.clear();
        let counts = theta.iter().zip(self.alpha);
        self.proportions.extend(counts.map(|(&n, &a)| ((f64::from(n) + f64::from(a)) / total) as f32));
        each(&Mixture {
            number,
            name: self.names.get(at).unwrap_or_default(),
            label: self.labels.get(at).unwrap_or_default(),
            document,
            tokens,
            tokens_unknown: 0,
            theta,
            proportions: &self.proportions,
        })
    }
}

fn collect_theta(store: &mut Store<'_>, corpus: &Corpus, topics: u32) -> Result<Vec<f32>> {
    let mut all = vec![0.0; corpus.shape().documents as usize * topics as usize];
    store.for_each(false, |d, _, theta| {
        let start = d as usize * topics as usize;
        all[start..start + topics as usize].copy_from_slice(theta);
        Ok(())
    })?;
    Ok(all)
}
