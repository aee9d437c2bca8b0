//! Identity of a training: everything that its result depends on. It decides whether a checkpoint
//! or a finished model belongs to a training.
//!
//! The module must not know where an identity is stored. Start reading at [`Trainer::identity`].

use std::path::Path;

use serde_json::Value;

use super::Trainer;
use super::update::BaseModel;
use crate::algorithms::tbp::seed_words::Seeds;
use crate::corpus::Corpus;
use crate::error::{Error, Result, Template, is_name};
use crate::model::{ModelSize, TrainingRecord};
use crate::settings::{Algorithm, Settings};

/// Every setting that the result of a training depends on, by name. Settings whose difference
/// explains other differences come first. A name is that of a parameter, or a phrase for something
/// else, which may refer to parameters as templates do.
pub(crate) type Identity = Vec<(String, Value)>;

/// A setting that differs between two identities.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The setting: a parameter or a phrase.
    pub(crate) setting: Template,
    /// Its earlier value; `None` if it was not set.
    pub(crate) found: Option<String>,
    /// Its value in this run; `None` if it is not set.
    pub(crate) wanted: Option<String>,
}

/// Returns the first setting of `wanted` that `found` has with another value or not at all.
pub(crate) fn first_difference(found: &Identity, wanted: &Identity) -> Option<Difference> {
    wanted.iter().find_map(|(name, wanted)| {
        let found = found.iter().find(|(other, _)| other == name).map_or(&Value::Null, |(_, value)| value);
        (found != wanted).then(|| Difference {
            setting: if is_name(name) {
                Template::default().parameter(name, None)
            } else {
                Template::from(name)
            },
            found: shown(found),
            wanted: shown(wanted),
        })
    })
}

/// Formats a value as a user would write it; `None` if the setting is not set.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Bool(false) => None,
        other => Some(other.to_string()),
    }
}

/// Returns the options that the result depends on, with defaults applied.
fn settings_identity(settings: &Settings) -> impl Iterator<Item = (String, Value)> {
    let alpha = settings.alpha_value();
    settings.identity().into_iter().map(move |(name, value)| {
        // The default of alpha depends on the number of topics.
        let value = if name == "alpha" { alpha.into() } else { value };
        (name.to_owned(), value)
    })
}

impl Trainer {
    /// Returns every setting that the result depends on.
    pub(super) fn identity(&self, corpus: &Corpus) -> Identity {
        let mut all = vec![corpus_identity(corpus.content_id().into())];
        all.extend(self.identity_without_corpus());
        all
    }

    /// Returns every setting that the result depends on, except the corpus.
    fn identity_without_corpus(&self) -> Identity {
        let mut all: Identity = settings_identity(&self.settings).collect();
        let given = self.checksums();
        for name in LISTS {
            let sum = given.iter().find(|(other, _)| other == name).map(|(_, sum)| sum.as_str());
            all.push((format!("{{{name}}} checksum"), sum.into()));
        }
        all.extend(update_identity(self.base.as_ref().map(BaseModel::identity)));
        all
    }

    /// Returns the checksums of the lists that were given: seed words, start and order.
    pub(super) fn checksums(&self) -> Vec<(String, String)> {
        let sum = |numbers: &mut dyn Iterator<Item = u64>| {
            let mut crc = crc32fast::Hasher::new();
            numbers.for_each(|number| crc.update(&number.to_le_bytes()));
            format!("{:08x}", crc.finalize())
        };
        let sums = [
            self.seeds.as_ref().map(Seeds::sum),
            self.start.as_ref().map(|all| sum(&mut all.iter().map(|&k| u64::from(k)))),
            self.order.as_ref().map(|all| sum(&mut all.iter().copied())),
        ];
        LISTS.iter().zip(sums).filter_map(|(name, sum)| Some(((*name).to_owned(), sum?))).collect()
    }

    /// Checks that a model file is the result of this training, without loading the model. The
    /// error names the first setting that differs.
    pub fn check_result(&self, corpus: &Corpus, model: impl AsRef<Path>) -> Result<()> {
        self.check_record(Some(corpus), model.as_ref())
    }

    /// Checks that a model file is the result of a training with these settings, on any corpus. The
    /// error names the first setting that differs.
    ///
    /// A caller that has to create the corpus first can find errors before that work.
    /// [`check_result`](Trainer::check_result) includes these checks.
    pub fn check_result_settings(&self, model: impl AsRef<Path>) -> Result<()> {
        self.check_record(None, model.as_ref())
    }

    fn check_record(&self, corpus: Option<&Corpus>, path: &Path) -> Result<()> {
        let mut record = TrainingRecord::of_file(path)?;
        // Models of early versions do not record the number of topics.
        record.settings.topics.get_or_insert(ModelSize::of_file(path)?.topics);
        let mut wanted =
            corpus.map_or_else(|| self.identity_without_corpus(), |corpus| self.identity(corpus));
        if record.checksums.is_empty() && !record.topic_names.is_empty() {
            // Models of early versions do not tell which seed words they were trained with.
            wanted.retain(|(name, _)| name != "{seeds} checksum");
        }
        match first_difference(&identity_of_record(&record, corpus), &wanted) {
            None => Ok(()),
            Some(Difference { setting, found, wanted }) => {
                Err(Error::ModelMismatch { path: path.to_path_buf(), setting, found, wanted })
            }
        }
    }
}

/// Names of the options that are lists.
const LISTS: [&str; 3] = ["seeds", "start", "order"];

/// Returns the entry of an identity for a corpus.
fn corpus_identity(id: Value) -> (String, Value) {
    ("corpus checksum".to_owned(), id)
}

/// Returns the identity of the training that a model came from. The corpus is that of the new
/// training, or none to leave it out.
fn identity_of_record(record: &TrainingRecord, corpus: Option<&Corpus>) -> Identity {
    let id = |corpus: &Corpus| {
        if record.corpus.matches(corpus) { corpus.content_id() } else { record.corpus.id().to_owned() }
    };
    let mut all: Identity = corpus.map(|corpus| corpus_identity(id(corpus).into())).into_iter().collect();
    let mut settings = record.settings.clone();
    settings.seed = Some(record.seed);
    settings.algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == record.algorithm);
    all.extend(settings_identity(&settings));
    for (name, sum) in &record.checksums {
        all.push((format!("{{{name}}} checksum"), sum.as_str().into()));
    }
    let update = record.update.as_ref().map(|update| (update.model.as_str(), update.weight));
    all.extend(update_identity(update));
    all
}

/// Returns the entries of an identity for the checksum and the weight of a model that is updated.
fn update_identity(base: Option<(&str, f64)>) -> [(String, Value); 2] {
    let (model, weight) = base.unzip();
    [("checksum of the model to update".to_owned(), model.into()), ("weight".to_owned(), weight.into())]
}
