//! The options of a training as data: one declaration per option.
//!
//! A row of the table below declares an option completely: its name, type, help text, default, the
//! algorithms it applies to, the range of its values, and whether the result depends on it.
//! Everything else is derived from the row: the fields of [`Settings`], the methods of
//! [`Trainer`](crate::Trainer), the flags of the program and their help, the checks, the identity
//! of a checkpoint, the metadata of a model and the table of a report. To add an option, add its
//! row and use its value.
//!
//! The module must not know what the options do, or how a caller spells them. Options for resources
//! (threads, memory, folders) and options that are lists (seed words, start, order) are set on the
//! trainer itself.
//!
//! Start reading at the table, `settings! { … }`. The types of the values are in `value`.

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
    /// Options that define the model.
    Model,
    /// Options of the training run.
    Training,
    /// Options that few users need.
    Expert,
    /// Options for tests, which are not listed in help texts.
    Hidden,
}

/// Declaration of an option: one row of the table.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Setting {
    /// Name, in snake case.
    pub name: &'static str,
    /// Help text, without a full stop at the end.
    pub about: &'static str,
    /// Placeholder for the value in help texts, such as `N`.
    pub value: &'static str,
    /// Heading under which the option is listed.
    pub group: Group,
    /// Default as text; empty if there is none.
    pub default: &'static str,
    /// Algorithms that the option applies to; empty for all.
    pub only: &'static [Algorithm],
    /// Smallest and largest valid value, for numeric options.
    pub range: Option<(f64, f64)>,
    /// Whether the result depends on the option. If so, it is part of a checkpoint's identity and
    /// of a model's metadata.
    pub recorded: bool,
    /// Remedy to suggest for an invalid value; may be empty.
    pub advice: &'static str,
    /// Possible values with their descriptions, if the option is a choice.
    pub choices: &'static [Choice],
    /// Whether the option is a switch, without a value.
    pub switch: bool,
}

impl Setting {
    /// Returns the option with this name.
    pub fn named(name: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// Returns the default of an option, if it is a number.
    pub fn default_number(name: &str) -> Option<f64> {
        Setting::named(name)?.default.parse().ok()
    }

    /// Describes the valid values.
    fn expected(&self) -> String {
        match self.range {
            Some((low, high)) if high < f64::MAX => format!("a number from {low} to {high}"),
            Some((low, _)) => format!("at least {low}"),
            None => "another value".to_owned(),
        }
    }

    /// Returns an error if the number is outside the range.
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
        $name:ident: $value_type:ty {
            value: $value:literal, group: $group:ident, recorded: $recorded:literal,
            default: $default:literal, only: [$($only:ident),*], range: $range:expr, advice: $advice:literal,
        }
    )*) => {
        /// Options of a training, each `None` unless it was set. The [table](SETTINGS) has their
        /// meanings and defaults.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct Settings {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$value_type>,
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
                choices: <$value_type as SettingValue>::CHOICES,
                switch: <$value_type as SettingValue>::SWITCH,
            },
        )*];

        impl Settings {
            /// Sets an option from its textual form.
            pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
                match name {
                    $(stringify!($name) => {
                        let setting = Setting::named(stringify!($name));
                        let parsed = <$value_type as SettingValue>::parse(text);
                        if let Some(setting) = setting {
                            // A number that the type cannot hold is out of range, too.
                            let number = parsed.as_ref().map_or_else(|_| text.parse().ok(), SettingValue::number);
                            setting.check_range(number)?;
                        }
                        let value =
                            parsed.map_err(|expected| Error::parse(stringify!($name), text, expected))?;
                        self.$name = Some(value);
                        Ok(())
                    })*
                    _ => Err(Error::out_of_range("settings", name, "the name of a setting")),
                }
            }

            /// Returns a copy without the options that do not affect the result.
            #[must_use]
            pub fn recorded(&self) -> Settings {
                Settings { $($name: self.$name.clone().filter(|_| $recorded)),* }
            }

            /// Calls `each(option, number, value)` for every option that is set. `number` is `None`
            /// unless the value has a range.
            fn for_each_given(&self, mut each: impl FnMut(&'static Setting, Option<f64>, Value)) {
                let mut all = SETTINGS.iter();
                $(
                    if let (Some(setting), Some(value)) = (all.next(), &self.$name) {
                        each(setting, SettingValue::number(value), SettingValue::to_json(value));
                    }
                )*
            }

            /// Calls `each(option, value)` for every option, with its default if it is not set.
            fn for_each_value(&self, mut each: impl FnMut(&'static Setting, Value)) {
                let mut all = SETTINGS.iter();
                $(
                    if let Some(setting) = all.next() {
                        let value = self.$name.clone().or_else(|| <$value_type>::parse(setting.default).ok());
                        each(setting, value.map_or(Value::Null, |value| SettingValue::to_json(&value)));
                    }
                )*
            }
        }

        /// Declares a builder method for every option.
        macro_rules! setting_methods {
            () => {
                $(
                    $(#[doc = $doc])+
                    #[must_use]
                    pub fn $name(mut self, value: $value_type) -> Self {
                        self.settings.$name = Some(value);
                        self
                    }
                )*
            };
        }
        pub(crate) use setting_methods;
    };
}

/// Default absolute convergence tolerance, from the paper: training has converged when the
/// perplexity changes by less than this in a pass.
pub const TOLERANCE: f64 = 1.0;
/// Default convergence tolerance of `tbp`, relative to the perplexity. It is small enough that
/// another pass gains almost nothing.
pub const RELATIVE_TOLERANCE: f64 = 1.5e-4;
/// Number of passes before which training never converges: from a random start, the perplexity may
/// hardly change for some passes before it falls.
pub const MIN_PASSES: u32 = 10;

/// Range of alpha and beta in which the products of an update stay within the range of 32-bit
/// floats.
const PRIOR: Option<(f64, f64)> = Some((1e-9, 1e6));
/// Range of counts, which are at least one.
const COUNT: Option<(f64, f64)> = Some((1.0, u32::MAX as f64));

settings! {
    /// Training algorithm
    algorithm: Algorithm {
        value: "NAME", group: Model, recorded: true, default: "tbp", only: [], range: None, advice: "",
    }
    /// Number of topics
    topics: u32 {
        value: "K", group: Model, recorded: true, default: "", only: [], range: COUNT,
        advice: "100 is a good first choice",
    }
    /// Dirichlet prior of the topic distribution of a document, per topic
    alpha: f64 {
        value: "X", group: Model, recorded: true, default: "2/K", only: [], range: PRIOR,
        advice: "the paper uses 2/K for alpha and 0.01 for beta",
    }
    /// Dirichlet prior of the word distribution of a topic, per word
    beta: f64 {
        value: "X", group: Model, recorded: true, default: "0.01", only: [], range: PRIOR,
        advice: "the paper uses 2/K for alpha and 0.01 for beta",
    }
    /// Learn alpha (one value per topic) and beta from the documents, starting from the given or
    /// default values
    optimize: bool {
        value: "", group: Model, recorded: true, default: "false",
        only: [Tbp, Stbp, Atbp, Bp, Abp, Gibbs], range: None, advice: "",
    }
    /// Random seed: the same seed gives the same model, byte for byte
    seed: u64 {
        value: "SEED", group: Training, recorded: true, default: "1", only: [], range: None, advice: "",
    }
    /// Maximum number of passes over the corpus
    passes: u32 {
        value: "N", group: Training, recorded: true, default: "500", only: [], range: COUNT,
        advice: "200 passes are usually enough",
    }
    /// Convergence tolerance: stop when the training perplexity changes by less than this per pass
    /// (tbp, gibbs and ovb compare rounds of five passes), but not before pass 10; 0 disables
    tolerance: f64 {
        value: "TOL", group: Training, recorded: true, default: "1.5e-4 relative for tbp, 1 absolute otherwise", only: [],
        range: Some((0.0, f64::MAX)), advice: "use 0 to disable early stopping",
    }
    /// Weight of a seed word in its topic, as a multiple of its frequency in the corpus
    seed_weight: f64 {
        value: "X", group: Model, recorded: true, default: "1", only: [Tbp], range: Some((1e-6, 1e6)),
        advice: "1 doubles the weight of a seed word, which is usually enough",
    }
    /// Messages to subtract from the counts before an update
    exclude: Exclude {
        value: "WHAT", group: Expert, recorded: true, default: "own", only: [Tbp], range: None, advice: "",
    }
    /// Maximum number of active topics per document: auto, all or a number
    active: Active {
        value: "auto|all|N", group: Expert, recorded: true, default: "auto", only: [Tbp], range: None, advice: "",
    }
    /// Per-document state to keep between passes; none takes much less disk space but is less
    /// accurate
    document_state: DocumentState {
        value: "WHAT", group: Expert, recorded: true, default: "keep", only: [Tbp], range: None, advice: "",
    }
    /// Number of corpus pieces to process between two updates of the topics
    step: u64 {
        value: "N", group: Expert, recorded: true, default: "1", only: [Tbp], range: COUNT, advice: "",
    }
    /// Maximum number of updates of a document between two updates of the topics
    inner: u32 {
        value: "N", group: Expert, recorded: true, default: "1 for vb, 100 with digamma both and for ovb",
        only: [Vb, Ovb], range: COUNT, advice: "",
    }
    /// Parameters to apply the digamma function to
    digamma: Digamma {
        value: "WHAT", group: Expert, recorded: true, default: "theta", only: [Vb], range: None, advice: "",
    }
    /// Number of documents per batch
    batch: u64 {
        value: "N", group: Expert, recorded: true, default: "1024", only: [Ovb], range: Some((1.0, 1e15)), advice: "",
    }
    /// Offset tau0 of the learning rate (tau0 + batches)^-kappa
    tau0: f64 {
        value: "X", group: Expert, recorded: true, default: "1024", only: [Ovb], range: Some((0.0, 1e12)),
        advice: "the paper uses 1024",
    }
    /// Exponent kappa of the learning rate (tau0 + batches)^-kappa
    kappa: f64 {
        value: "X", group: Expert, recorded: true, default: "0.5", only: [Ovb], range: Some((0.0, 1.0)),
        advice: "the paper uses 0.5",
    }
    /// Number of passes before the first sample
    burn_in: u32 {
        value: "N", group: Expert, recorded: true, default: "half of the passes", only: [Gibbs], range: None, advice: "",
    }
    /// Number of samples to average, taken evenly after the burn-in; more than one disables early
    /// stopping
    samples: u32 {
        value: "N", group: Expert, recorded: true, default: "1", only: [Gibbs], range: COUNT, advice: "",
    }
    /// Instruction set of the compute kernels; does not affect the result
    instructions: Instructions {
        value: "SET", group: Hidden, recorded: false, default: "", only: [], range: None, advice: "",
    }
}

/// Returns the given value, or the default from the table.
fn value<T: SettingValue + Default>(given: Option<&T>, name: &str) -> T {
    let default = || T::parse(Setting::named(name)?.default).ok();
    given.cloned().or_else(default).unwrap_or_default()
}

/// Values of options, with their defaults applied.
impl Settings {
    /// Returns the algorithm.
    pub(crate) fn chosen_algorithm(&self) -> Algorithm {
        value(self.algorithm.as_ref(), "algorithm")
    }

    /// Returns the number of topics; 0 if it is not set.
    pub(crate) fn topic_count(&self) -> u32 {
        self.topics.unwrap_or(0)
    }

    /// Returns alpha per topic; 2/K if it is not set.
    pub(crate) fn alpha_value(&self) -> f64 {
        self.alpha.unwrap_or(2.0 / f64::from(self.topic_count().max(1)))
    }

    /// Returns beta per word.
    pub(crate) fn beta_value(&self) -> f64 {
        value(self.beta.as_ref(), "beta")
    }

    /// Returns the random seed.
    pub(crate) fn seed_value(&self) -> u64 {
        value(self.seed.as_ref(), "seed")
    }

    /// Returns the maximum number of passes.
    pub(crate) fn max_passes(&self) -> u32 {
        value(self.passes.as_ref(), "passes")
    }

    /// Returns the weight of seed words.
    pub(crate) fn seed_weight_value(&self) -> f64 {
        value(self.seed_weight.as_ref(), "seed_weight")
    }

    /// Returns whether alpha and beta are learned.
    pub(crate) fn optimizes(&self) -> bool {
        value(self.optimize.as_ref(), "optimize")
    }

    /// Returns whether no per-document state is kept between passes.
    pub(crate) fn is_stateless(&self) -> bool {
        value(self.document_state.as_ref(), "document_state") == DocumentState::None
    }

    /// Returns the messages to subtract from the counts before an update.
    pub(crate) fn excluded(&self) -> Exclude {
        value(self.exclude.as_ref(), "exclude")
    }

    /// Returns the maximum number of active topics per document.
    pub(crate) fn active_topics(&self) -> Active {
        value(self.active.as_ref(), "active")
    }

    /// Returns the number of pieces between two updates of the topics.
    pub(crate) fn step_pieces(&self) -> u64 {
        value(self.step.as_ref(), "step")
    }

    /// Returns the parameters that the digamma function is applied to.
    pub(crate) fn digamma_parameters(&self) -> Digamma {
        value(self.digamma.as_ref(), "digamma")
    }

    /// Returns the number of documents per batch.
    pub(crate) fn batch_documents(&self) -> u64 {
        value(self.batch.as_ref(), "batch")
    }

    /// Returns the offset tau0 of the learning rate.
    pub(crate) fn tau0_value(&self) -> f64 {
        value(self.tau0.as_ref(), "tau0")
    }

    /// Returns the exponent kappa of the learning rate.
    pub(crate) fn kappa_value(&self) -> f64 {
        value(self.kappa.as_ref(), "kappa")
    }

    /// Returns the number of samples to average.
    pub(crate) fn sample_count(&self) -> u32 {
        value(self.samples.as_ref(), "samples")
    }
}

impl Settings {
    /// Returns an error if an option does not apply to the algorithm or a number is out of range.
    pub(crate) fn check(&self) -> Result<()> {
        let algorithm = self.chosen_algorithm();
        let mut result = Ok(());
        self.for_each_given(|setting, number, value| {
            let applies = setting.only.is_empty() || setting.only.contains(&algorithm);
            // A switch that is off has no effect, so it is allowed everywhere.
            if result.is_ok() && !applies && value != Value::Bool(false) {
                result = Err(only_with(setting.name, setting.only));
            }
            if result.is_ok() {
                result = setting.check_range(number);
            }
        });
        result
    }

    /// Returns the options that apply and that the result depends on, by name, with defaults
    /// applied. Two training runs on the same corpus with the same identity give the same model.
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

    /// Returns the options that are set and that the result depends on, by name and as text.
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

    /// Returns whether no option is set.
    pub fn is_empty(&self) -> bool {
        *self == Settings::default()
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

    /// Every default that is a plain value can be parsed and is in range.
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
            ("passes", "4294967296", "`passes` must be a number from 1 to 4294967295, not 4294967296"),
            ("passes", "2.5", "invalid value \"2.5\" for `passes`: expected a whole number"),
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

    /// Setting an option to its default does not change the identity, and neither does an option
    /// that does not affect the result.
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

    /// A model records the options that its result depends on, and no others.
    #[test]
    fn recorded_options_follow_the_table() {
        let mut settings = Settings::default();
        settings.set("kappa", "0.7").unwrap();
        let without = settings.clone();
        settings.set("instructions", "plain").unwrap();
        assert_eq!(settings.recorded(), without);
        assert!(SETTINGS.iter().all(|setting| setting.recorded == (setting.name != "instructions")));
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
