//! Types of option values and their textual and JSON forms.
//!
//! The module must not know which options exist (that is the table in `settings`) or what a value
//! does. Start reading at [`SettingValue`].

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::simd::Instructions;

/// A possible value of an option, with its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The value as text.
    pub name: &'static str,
    /// One-line description of the value.
    pub about: &'static str,
}

/// A type that an option can have.
pub(crate) trait SettingValue: Clone + Sized {
    /// Possible values, if there are only a few.
    const CHOICES: &'static [Choice] = &[];
    /// Whether an option of this type is a switch, without a value.
    const SWITCH: bool = false;

    /// Parses a value. The error describes what was expected.
    fn parse(text: &str) -> Result<Self, String>;

    /// Returns the value as a number, if it has a range.
    fn number(&self) -> Option<f64> {
        None
    }

    /// Returns the value as it is stored in files.
    fn to_json(&self) -> Value;
}

/// Declares an enum as the type of an option. Each variant has a textual form and a description.
macro_rules! choice {
    ($(#[$attribute:meta])* $visibility:vis enum $type:ident { $($(#[$of_variant:meta])* $variant:ident = $name:literal, $about:literal;)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        $visibility enum $type {
            $(
                #[doc = $about]
                $(#[$of_variant])*
                $variant,
            )*
        }

        impl $type {
            /// All values.
            pub const ALL: [$type; [$($name),*].len()] = [$($type::$variant),*];

            /// Returns the value as text.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }

            /// Returns a one-line description of the value.
            pub fn about(self) -> &'static str {
                match self { $($type::$variant => $about),* }
            }

            /// Parses a value.
            pub fn named(name: &str) -> Option<$type> {
                $type::ALL.into_iter().find(|value| value.name() == name)
            }
        }
        by_name!($type, [$($name, $about;)*]);
    };
}

/// Implements [`SettingValue`] and serde for a type with `name` and `named`.
macro_rules! by_name {
    ($type:ident, [$($name:literal, $about:expr;)*]) => {
        impl SettingValue for $type {
            const CHOICES: &'static [Choice] = &[$(Choice { name: $name, about: $about }),*];

            fn parse(text: &str) -> Result<$type, String> {
                $type::named(text).ok_or_else(|| one_of(&[$($name),*]))
            }

            fn to_json(&self) -> Value {
                self.name().into()
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let name = String::deserialize(deserializer)?;
                $type::named(&name).ok_or_else(|| D::Error::custom(format!("unknown value {name:?}")))
            }
        }
    };
}

/// Joins names into a phrase such as "own or none".
fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

choice! {
    /// Training algorithm.
    pub enum Algorithm {
        #[default]
        Tbp = "tbp", "Sparse belief propagation with quantized messages and few active topics per document";
        Stbp = "stbp", "Synchronous tiny belief propagation (the paper's sTBP)";
        Atbp = "atbp", "Asynchronous tiny belief propagation (the paper's aTBP); one thread";
        Bp = "bp", "Synchronous belief propagation; keeps K numbers per non-zero";
        Abp = "abp", "Asynchronous belief propagation; one thread";
        Gibbs = "gibbs", "Collapsed Gibbs sampling; keeps a label per token";
        Vb = "vb", "Variational Bayes";
        Ovb = "ovb", "Online variational Bayes on batches of documents, each visited once per pass";
        Nmf = "nmf", "Non-negative matrix factorization with the Kullback-Leibler divergence";
    }
}

choice! {
    /// Messages that `tbp` subtracts from phi and theta before it updates a message.
    pub enum Exclude {
        #[default]
        Own = "own", "The message being updated, as in belief propagation";
        None = "none", "None, as in the paper's TBP";
    }
}

choice! {
    /// Per-document state that `tbp` keeps between passes.
    pub enum DocumentState {
        #[default]
        Keep = "keep", "Keep the messages of every document";
        None = "none", "Keep nothing; infer every document again in each pass";
    }
}

choice! {
    /// Parameters that variational Bayes applies the digamma function to.
    pub enum Digamma {
        #[default]
        Theta = "theta", "The topic distributions of documents, as in the paper";
        Both = "both", "The topic distributions of documents and the word distributions of topics, as in Blei et al. and Hoffman et al.";
    }
}

impl Instructions {
    /// Returns the value as text.
    pub fn name(self) -> &'static str {
        match self {
            Instructions::Plain => "plain",
            Instructions::Avx2 => "avx2",
            Instructions::Avx512 => "avx512",
        }
    }

    /// Parses a value.
    pub fn named(name: &str) -> Option<Instructions> {
        [Instructions::Plain, Instructions::Avx2, Instructions::Avx512]
            .into_iter()
            .find(|instructions| instructions.name() == name)
    }
}

by_name!(Instructions, ["plain", "Portable code"; "avx2", "AVX2, FMA and F16C"; "avx512", "AVX-512F and AVX-512BW";]);

/// Maximum number of active topics per document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Active {
    /// No fixed limit: a document uses as many topics as it needs.
    #[default]
    Auto,
    /// As many topics as possible: messages are quantized at the storage precision from the first
    /// pass on.
    All,
    /// At most this many topics.
    AtMost(u32),
}

impl std::fmt::Display for Active {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Active::Auto => f.write_str("auto"),
            Active::All => f.write_str("all"),
            Active::AtMost(n) => write!(f, "{n}"),
        }
    }
}

impl SettingValue for Active {
    fn parse(text: &str) -> Result<Active, String> {
        match text {
            "auto" => Ok(Active::Auto),
            "all" => Ok(Active::All),
            number => match number.parse() {
                Ok(n) if n > 0 => Ok(Active::AtMost(n)),
                _ => Err("auto, all or a whole number of at least 1".into()),
            },
        }
    }

    fn to_json(&self) -> Value {
        self.to_string().into()
    }
}

impl Serialize for Active {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Active {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Active, D::Error> {
        Active::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl SettingValue for bool {
    const SWITCH: bool = true;

    fn parse(text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| "true or false".to_owned())
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl SettingValue for $type {
            fn parse(text: &str) -> Result<$type, String> {
                let most = <$type>::MAX;
                text.trim().parse().map_err(|_| format!("a whole number from 0 to {most}"))
            }

            #[allow(clippy::cast_lossless, reason = "one body for both types")]
            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }

            fn to_json(&self) -> Value {
                (*self).into()
            }
        }
    )*};
}

whole_numbers!(u32, u64);

impl SettingValue for f64 {
    fn parse(text: &str) -> Result<f64, String> {
        let number = text.trim().parse().ok().filter(|number: &f64| !number.is_nan());
        number.ok_or_else(|| "a number".to_owned())
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}
