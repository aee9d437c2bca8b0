//! After the last pass: the model, in memory or in a file.

use std::path::Path;

use super::{Each, Training};
use crate::algo::Active;
use crate::corpus::Corpus;
use crate::counts::Slot;
use crate::error::Result;
use crate::kernel::flat_mut;
use crate::model::{CorpusName, Frame, Model, Settings};
use crate::store::Store;
use crate::topics::{Matrix, Topics};
use crate::train::{Event, Summary, Trained};

impl Training<'_> {
    /// What is known of the training at its end.
    pub(super) fn end(&self) -> Result<(Settings, Summary)> {
        let Training { trainer, position, .. } = self;
        let train_perplexity = position.history.last().map_or(f64::NAN, |&(_, p)| p);
        let small = trainer.algorithm.small_messages();
        let (_, _, active_topics) = position.passes.last().copied().unwrap_or_default();
        let settings = Settings {
            algorithm: trainer.algorithm.name().into(),
            exclude: small.then(|| if trainer.exclude { "own" } else { "none" }.into()),
            active: (small && trainer.active != Active::Auto).then(|| trainer.active.to_string()),
            digamma: (trainer.special.digamma_of_both == Some(true)).then(|| "both".into()),
            theta: trainer.recompute.then(|| "recompute".into()),
            optimize: trainer.optimize,
            topic_names: trainer
                .seeds
                .as_ref()
                .map_or_else(Vec::new, |seeds| seeds.names().map(|(k, name)| (k, name.to_owned())).collect()),
            seed_weight: trainer.seeds.as_ref().map(|_| trainer.seed_weight),
            seed: trainer.seed,
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
            seconds: self.clock.seconds(),
            active_topics,
            message_bytes: position.message_bytes,
            stop: self.stop,
        };
        Ok((settings, summary))
    }

    /// The model in memory.
    pub(in super::super) fn into_model(mut self, keep_theta: bool) -> Result<Trained> {
        let (settings, summary) = self.end()?;
        let (corpus, (alpha, beta)) = (self.corpus, self.priors());
        let theta = if keep_theta {
            Some(collect_theta(&mut self.store, corpus, self.trainer.topics)?)
        } else {
            None
        };
        let Training { mut topics, mut sweep, mut store, folder, .. } = self;
        // What is kept of documents makes room for phi in its last form.
        store.empty();
        sweep.finish();
        let (mut slot, count) = (Slot::default(), topics.count as usize);
        if sweep.own_phi() && !self.trainer.algorithm.small_messages() {
            // Row by row in place.
            let mut row = vec![0f32; count];
            for w in 0..topics.words() {
                sweep.phi(&topics, w, &mut slot, &mut row)?;
                flat_mut(topics.phi.row_mut(w))[..count].copy_from_slice(&row);
            }
        } else if sweep.own_phi() {
            topics.phi = Matrix::of_rows(topics.words(), topics.count, |w, row| {
                sweep.phi(&topics, w, &mut slot, &mut row[..count])
            })?;
        }
        drop(sweep);
        // A sweep may have done without alpha and beta.
        let mut whole = Topics::without_phi(topics.words(), topics.count, &alpha, beta);
        whole.phi = topics.phi;
        let model = Model::new(whole, alpha, corpus.vocabulary()?, settings);
        store.let_go();
        if let Some(folder) = folder {
            folder.remove();
        }
        Ok(Trained { model, theta, summary })
    }

    /// The model in a file. Where it cannot be written the training is kept in a checkpoint.
    pub(in super::super) fn into_file(mut self, path: &Path, each: &mut Each<'_>) -> Result<Summary> {
        let (settings, summary) = self.end()?;
        self.sweep.finish();
        let _ = each(Event::Writing(path));
        if let Err(error) = self.write(path, &settings) {
            // There may be no room for that either; why the model could not be written is what counts.
            let _ = self.save(each);
            return Err(error);
        }
        self.store.let_go();
        if let Some(folder) = &self.folder {
            folder.remove();
        }
        Ok(summary)
    }

    pub(super) fn write(&self, path: &Path, settings: &Settings) -> Result<()> {
        let vocabulary = self.corpus.vocabulary()?;
        let (alpha, beta) = self.priors();
        let frame = Frame {
            words: self.topics.words(),
            alpha: &alpha,
            beta,
            vocabulary: vocabulary.as_ref(),
            settings,
        };
        let mut slot = Slot::default();
        frame.save(path, |w, row| self.sweep.phi(&self.topics, w, &mut slot, row))
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
