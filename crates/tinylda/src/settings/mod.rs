//! The settings of a training as data: one declaration per option.
//!
//! A row of the table below is all that is written down about an option: its name, type, default, the algorithms it applies to,
//! the range of its values, and its documentation. Everything else is derived from it: the fields of [`Settings`], the methods
//! of [`Trainer`](crate::Trainer), the flags of the program and their help, the checks, the identity of a checkpoint, the
//! metadata of a model and the table of a report. Adding an option takes its row and its use.
//!
//! What only says where and how fast a training runs (memory, threads, folders) and what is a list (seed words, a start, an
//! order) is set on the trainer itself.

mod value;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
pub use crate::simd::Instructions;
pub(crate) use value::SettingValue;
pub use value::{Active, Algorithm, Choice, Digamma, DocumentState, Exclude};

/// Heading under which an option is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// What the model is.
    Model,
    /// How it is trained.
    Training,
    /// Options that few users need.
    Expert,
    /// Options for tests, which are not listed.
    Hidden,
}

/// What is declared about an option.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Setting {
    /// The name, in snake case.
    pub name: &'static str,
    /// What it means: a help text, without a full stop at the end.
    pub about: &'static str,
    /// Placeholder of its value, such as `N`.
    pub value: &'static str,
    /// Heading.
    pub group: Group,
    /// The default as text; empty where there is none.
    pub default: &'static str,
    /// The algorithms it applies to; empty for all.
    pub only: &'static [Algorithm],
    /// Smallest and largest value of a number.
    pub range: Option<(f64, f64)>,
    /// Whether the result depends on it, so that it is part of a checkpoint's identity and of a model's metadata.
    pub recorded: bool,
    /// What to do about a wrong value.
    pub advice: &'static str,
    /// The possible values and what they mean, where it is a choice.
    pub choices: &'static [Choice],
    /// Whether it is a switch, without a value.
    pub switch: bool,
}

impl Setting {
    /// Finds an option by its name.
    pub fn named(name: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// The default as a number, where it is one.
    pub fn default_number(name: &str) -> Option<f64> {
        Setting::named(name)?.default.parse().ok()
    }

    /// The possible values in words.
    fn expected(&self) -> String {
        match self.range {
            Some((low, high)) if high < f64::MAX => format!("a number from {low} to {high}"),
            Some((low, _)) => format!("at least {low}"),
            None => "another value".to_owned(),
        }
    }

    /// Refuses a number outside of the range.
    fn check_range(&self, number: Option<f64>) -> Result<()> {
        match (self.range, number) {
            (Some((low, high)), Some(n)) if !(low..=high).contains(&n) => {
                Err(Error::out_of_range(self.name, format!("{n:?}").trim_end_matches(".0"), self.expected())
                    .with_remedy(self.advice))
            }
            _ => Ok(()),
        }
    }
}

macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ty {
            value: $value:literal, group: $group:ident, recorded: $recorded:literal,
            default: $default:literal, only: [$($only:ident),*], range: $range:expr, advice: $advice:literal,
        }
    )*) => {
        /// The options of a training that were given; see the [table](SETTINGS) for their meaning and defaults.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct Settings {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )*
        }

        /// All options, in the order in which they are listed.
        pub const SETTINGS: &[Setting] = &[$(
            Setting {
                name: stringify!($name),
                about: concat!($($doc, "\n"),+),
                value: $value,
                group: Group::$group,
                default: $default,
                only: &[$(Algorithm::$only),*],
                range: $range,
                recorded: $recorded,
                advice: $advice,
                choices: <$type as SettingValue>::CHOICES,
                switch: <$type as SettingValue>::SWITCH,
            },
        )*];

        impl Settings {
            /// Sets an option from text, as a user writes it.
            pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
                match name {
                    $(stringify!($name) => {
                        let value = <$type as SettingValue>::parse(text)
                            .map_err(|expected| Error::parse(stringify!($name), text, expected))?;
                        if let Some(setting) = Setting::named(stringify!($name)) {
                            setting.check_range(SettingValue::number(&value))?;
                        }
                        self.$name = Some(value);
                        Ok(())
                    })*
                    _ => Err(Error::out_of_range("settings", name, "the name of a setting")),
                }
            }

            /// Calls `each(option, number, value)` for every option that is given; `number` where it is one.
            fn for_each_given(&self, mut each: impl FnMut(&'static Setting, Option<f64>, Value)) {
                let mut all = SETTINGS.iter();
                $(
                    if let (Some(setting), Some(value)) = (all.next(), &self.$name) {
                        each(setting, SettingValue::number(value), SettingValue::to_json(value));
                    }
                )*
            }

            /// Calls `each(option, value)` for every option, with its default where it is not given.
            fn for_each_value(&self, mut each: impl FnMut(&'static Setting, Value)) {
                let mut all = SETTINGS.iter();
                $(
                    if let Some(setting) = all.next() {
                        let value = self.$name.clone().or_else(|| <$type>::parse(setting.default).ok());
                        each(setting, value.map_or(Value::Null, |value| SettingValue::to_json(&value)));
                    }
                )*
            }
        }

        /// Declares a method for every option, which sets it.
        macro_rules! setting_methods {
            () => {
                $(
                    $(#[doc = $doc])+
                    #[must_use]
                    pub fn $name(mut self, value: $type) -> Self {
                        self.settings.$name = Some(value);
                        self
                    }
                )*
            };
        }
        pub(crate) use setting_methods;
    };
}

/// Absolute convergence tolerance of the paper: training has converged when the perplexity changes by less than this in a pass.
pub const TOLERANCE: f64 = 1.0;
/// Relative convergence tolerance of `tbp`, which goes on to where another pass gains next to nothing.
pub const RELATIVE_TOLERANCE: f64 = 5e-5;
/// From a random start the perplexity may stand nearly still before it falls, so training does not converge before this pass.
pub const LEAST_PASSES: u32 = 10;

/// Within these bounds the products of an update stay inside the range of 32-bit floats.
const PRIOR: Option<(f64, f64)> = Some((1e-9, 1e6));
/// A whole number of at least one.
const COUNT: Option<(f64, f64)> = Some((1.0, u32::MAX as f64));

settings! {
    /// Update rule
    algorithm: Algorithm {
        value: "NAME", group: Model, recorded: true, default: "tbp", only: [], range: None, advice: "",
    }
    /// Number of topics
    topics: u32 {
        value: "K", group: Model, recorded: true, default: "", only: [], range: COUNT,
        advice: "100 is a good first choice",
    }
    /// Dirichlet parameter of a document's topics, per topic
    alpha: f64 {
        value: "X", group: Model, recorded: true, default: "2/K", only: [], range: PRIOR,
        advice: "the paper uses 2/K for alpha and 0.01 for beta",
    }
    /// Dirichlet parameter of a topic's words, per word
    beta: f64 {
        value: "X", group: Model, recorded: true, default: "0.01", only: [], range: PRIOR,
        advice: "the paper uses 2/K for alpha and 0.01 for beta",
    }
    /// Learn alpha (one per topic) and beta from the documents, starting from the given or default values
    optimize: bool {
        value: "", group: Model, recorded: true, default: "false",
        only: [Tbp, Stbp, Atbp, Bp, Abp, Gibbs], range: None, advice: "",
    }
    /// Random seed: the same seed gives the same model, byte for byte
    seed: u64 {
        value: "N", group: Training, recorded: true, default: "1", only: [], range: None, advice: "",
    }
    /// Largest number of passes over the corpus
    passes: u32 {
        value: "N", group: Training, recorded: true, default: "500", only: [], range: COUNT,
        advice: "200 passes are usually enough",
    }
    /// Convergence tolerance: stop when the training perplexity changes by less than this per pass, not before pass 10; 0
    /// disables
    tolerance: f64 {
        value: "TOL", group: Training, recorded: true, default: "5e-5 relative for tbp, 1 absolute otherwise", only: [],
        range: Some((0.0, f64::MAX)), advice: "0 means never to stop before the last pass",
    }
    /// Weight of a seed word in its topic, as a multiple of its frequency in the corpus
    seed_weight: f64 {
        value: "X", group: Model, recorded: true, default: "1", only: [Tbp], range: Some((1e-6, 1e6)),
        advice: "1 doubles the weight of a seed word and is usually enough",
    }
    /// Messages that are subtracted before an update
    exclude: Exclude {
        value: "WHAT", group: Expert, recorded: true, default: "own", only: [Tbp], range: None, advice: "",
    }
    /// Largest number of topics that a document may use: auto, all or a number
    active: Active {
        value: "auto|all|N", group: Expert, recorded: true, default: "auto", only: [Tbp], range: None, advice: "",
    }
    /// What is kept of documents between two passes; none needs little disk and costs accuracy
    document_state: DocumentState {
        value: "WHAT", group: Expert, recorded: true, default: "keep", only: [Tbp], range: None, advice: "",
    }
    /// Number of pieces whose documents are updated against the same topics before the topics follow
    step: u64 {
        value: "N", group: Expert, recorded: true, default: "1", only: [Tbp], range: COUNT, advice: "",
    }
    /// Largest number of updates of a document before the topics follow
    inner: u32 {
        value: "N", group: Expert, recorded: true, default: "1 for vb, 100 with digamma both and for ovb",
        only: [Vb, Ovb], range: COUNT, advice: "",
    }
    /// What the digamma function is applied to
    digamma: Digamma {
        value: "WHAT", group: Expert, recorded: true, default: "theta", only: [Vb], range: None, advice: "",
    }
    /// Documents per batch
    batch: u64 {
        value: "N", group: Expert, recorded: true, default: "1024", only: [Ovb], range: Some((1.0, 1e15)), advice: "",
    }
    /// tau0 of the learning rate (tau0 + batches)^-kappa
    tau0: f64 {
        value: "X", group: Expert, recorded: true, default: "1024", only: [Ovb], range: Some((0.0, 1e12)),
        advice: "the paper uses 1024",
    }
    /// kappa of the learning rate (tau0 + batches)^-kappa
    kappa: f64 {
        value: "X", group: Expert, recorded: true, default: "0.5", only: [Ovb], range: Some((0.0, 1.0)),
        advice: "the paper uses 0.5",
    }
    /// Passes before the first sample
    burn_in: u32 {
        value: "N", group: Expert, recorded: true, default: "half of the passes", only: [Gibbs], range: None, advice: "",
    }
    /// Number of samples whose mean the topics are, taken evenly after the burn-in; more than one makes all passes
    samples: u32 {
        value: "N", group: Expert, recorded: true, default: "1", only: [Gibbs], range: COUNT, advice: "",
    }
    /// Instruction set of the kernels; the result does not depend on it
    instructions: Instructions {
        value: "SET", group: Hidden, recorded: false, default: "", only: [], range: None, advice: "",
    }
}

/// A given value, or the default of the table.
fn value<T: SettingValue + Default>(given: Option<&T>, name: &str) -> T {
    let default = || T::parse(Setting::named(name)?.default).ok();
    given.cloned().or_else(default).unwrap_or_default()
}

/// Values with their defaults.
impl Settings {
    pub(crate) fn chosen_algorithm(&self) -> Algorithm {
        self.algorithm.unwrap_or_default()
    }

    /// K; 0 where it is not given.
    pub(crate) fn topic_count(&self) -> u32 {
        self.topics.unwrap_or(0)
    }

    pub(crate) fn alpha_value(&self) -> f64 {
        self.alpha.unwrap_or(2.0 / f64::from(self.topic_count().max(1)))
    }

    pub(crate) fn beta_value(&self) -> f64 {
        value(self.beta.as_ref(), "beta")
    }

    pub(crate) fn seed_value(&self) -> u64 {
        value(self.seed.as_ref(), "seed")
    }

    pub(crate) fn max_passes(&self) -> u32 {
        value(self.passes.as_ref(), "passes")
    }

    pub(crate) fn seed_weight_value(&self) -> f64 {
        value(self.seed_weight.as_ref(), "seed_weight")
    }

    /// Whether alpha and beta are learned.
    pub(crate) fn optimizes(&self) -> bool {
        self.optimize == Some(true)
    }

    /// Whether nothing is kept of documents between two passes.
    pub(crate) fn is_stateless(&self) -> bool {
        self.document_state == Some(DocumentState::None)
    }
}

impl Settings {
    /// Refuses options of other algorithms and numbers out of range.
    pub(crate) fn check(&self) -> Result<()> {
        let algorithm = self.chosen_algorithm();
        let mut result = Ok(());
        self.for_each_given(|setting, number, value| {
            let applies = setting.only.is_empty() || setting.only.contains(&algorithm);
            // A switch that is off changes nothing.
            if result.is_ok() && !applies && value != Value::Bool(false) {
                result = Err(only_with(setting.name, setting.only));
            }
            if result.is_ok() {
                result = setting.check_range(number);
            }
        });
        result
    }

    /// The options that the result depends on and that apply, by name, with defaults where they are not given: what makes two
    /// trainings the same.
    pub(crate) fn identity(&self) -> Vec<(&'static str, Value)> {
        let algorithm = self.chosen_algorithm();
        let mut all = Vec::new();
        self.for_each_value(|setting, value| {
            if setting.recorded && (setting.only.is_empty() || setting.only.contains(&algorithm)) {
                all.push((setting.name, value));
            }
        });
        all
    }

    /// The options that were given and that the result depends on, by name and as text.
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        self.for_each_given(|setting, _, value| {
            if setting.recorded {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                all.push((setting.name, text));
            }
        });
        all
    }

    /// Whether no option is given.
    pub fn is_empty(&self) -> bool {
        *self == Settings::default()
    }

    /// The same options without those that do not change the result.
    #[must_use]
    pub fn recorded(&self) -> Settings {
        Settings { instructions: None, ..self.clone() }
    }
}

/// Returns the error that a parameter is only valid with certain algorithms.
pub(crate) fn only_with(name: &'static str, algorithms: &[Algorithm]) -> Error {
    let with = algorithms.iter().map(|algorithm| format!("{{algorithm={}}}", algorithm.name()));
    Error::only_with(name, with.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every default that is a value can be parsed, and is in range.
    #[test]
    fn defaults_are_values() {
        for setting in SETTINGS.iter().filter(|setting| !setting.default.contains(' ')) {
            if setting.default.is_empty() || setting.default == "2/K" {
                continue;
            }
            Settings::default().set(setting.name, setting.default).unwrap();
        }
    }

    #[test]
    fn wrong_values_are_refused() {
        let mut settings = Settings::default();
        for (name, text, expected) in [
            ("alpha", "0", "`alpha` must be a number from 0.000000001 to 1000000, not 0"),
            ("alpha", "x", "invalid value \"x\" for `alpha`: expected a number"),
            ("topics", "0", "`topics` must be a number from 1 to 4294967295, not 0"),
            ("exclude", "all", "invalid value \"all\" for `exclude`: expected own or none"),
            (
                "active",
                "0",
                "invalid value \"0\" for `active`: expected auto, all or a whole number of at least 1",
            ),
            ("nothing", "1", "`settings` must be the name of a setting, not nothing"),
        ] {
            let message = settings.set(name, text).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
        settings.set("kappa", "0.7").unwrap();
        assert_eq!(settings.check().unwrap_err().to_string(), "`kappa` is only valid with `algorithm=ovb`");
        settings.set("algorithm", "ovb").unwrap();
        settings.check().unwrap();
    }

    /// An option that is given as its default is the same training; one that does not change the result is no part of it.
    #[test]
    fn identity_knows_defaults() {
        let mut settings = Settings::default();
        let before = settings.identity();
        settings.set("passes", "500").unwrap();
        settings.set("instructions", "plain").unwrap();
        assert_eq!(settings.identity(), before);
        settings.set("passes", "499").unwrap();
        assert_ne!(settings.identity(), before);
        assert!(before.iter().all(|(name, _)| *name != "kappa"));
    }

    #[test]
    fn settings_survive_json() {
        let mut settings = Settings::default();
        for (name, text) in
            [("algorithm", "vb"), ("digamma", "both"), ("alpha", "0.25"), ("optimize", "true")]
        {
            settings.set(name, text).unwrap();
        }
        let json = serde_json::to_string(&settings).unwrap();
        assert_eq!(json, r#"{"algorithm":"vb","alpha":0.25,"optimize":true,"digamma":"both"}"#);
        assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
    }
}
