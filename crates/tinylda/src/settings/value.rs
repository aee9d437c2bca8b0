//! The types of values that options have, and how they are written.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::simd::Instructions;

/// A possible value and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// How it is written.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// A type of values of options.
pub(crate) trait SettingValue: Clone + Sized {
    /// The possible values, where they are few.
    const CHOICES: &'static [Choice] = &[];
    /// Whether an option of this type is a switch.
    const SWITCH: bool = false;

    /// Parses a value; the error is what was expected.
    fn parse(text: &str) -> Result<Self, String>;

    /// The value as a number, where it has a range.
    fn number(&self) -> Option<f64> {
        None
    }

    /// The value in files.
    fn to_json(&self) -> Value;
}

/// Declares an option's type whose values are few: how they are written, and what they mean.
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
            /// Every value.
            pub const ALL: [$type; [$($name),*].len()] = [$($type::$variant),*];

            /// How the value is written.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }

            /// What the value means, in one line.
            pub fn about(self) -> &'static str {
                match self { $($type::$variant => $about),* }
            }

            /// Finds a value by how it is written.
            pub fn named(name: &str) -> Option<$type> {
                $type::ALL.into_iter().find(|value| value.name() == name)
            }
        }
        by_name!($type, [$($name, $about;)*]);
    };
}

/// Makes a type with `name` and `named` the type of an option.
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

/// A list of names as in "own or none".
fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

choice! {
    /// The algorithms.
    pub enum Algorithm {
        #[default]
        Tbp = "tbp", "Ours: belief propagation with messages of a few bytes, few topics per document";
        Stbp = "stbp", "Synchronous tiny belief propagation (the paper's sTBP)";
        Atbp = "atbp", "Asynchronous tiny belief propagation (the paper's aTBP); one thread";
        Bp = "bp", "Synchronous belief propagation: K numbers are kept for every non-zero";
        Abp = "abp", "Asynchronous belief propagation; one thread";
        Gibbs = "gibbs", "Collapsed Gibbs sampling: a label for every token";
        Vb = "vb", "Variational Bayes";
        Ovb = "ovb", "Online variational Bayes: batches of documents, each looked at once a pass";
        Nmf = "nmf", "Non-negative matrix factorisation with the Kullback-Leibler divergence";
    }
}

choice! {
    /// Messages that `tbp` subtracts from phi and theta before it updates one.
    pub enum Exclude {
        #[default]
        Own = "own", "The word's own message, as belief propagation has it";
        None = "none", "Nothing, as the paper's TBP has it";
    }
}

choice! {
    /// What is kept of documents between two passes.
    pub enum DocumentState {
        #[default]
        Keep = "keep", "Its messages";
        None = "none", "Nothing: it is inferred again in every pass";
    }
}

choice! {
    /// What variational Bayes applies the digamma function to.
    pub enum Digamma {
        #[default]
        Theta = "theta", "A document's topics, as in the paper";
        Both = "both", "A document's topics and the topics' words, as in Blei's and Hoffman's variational Bayes";
    }
}

impl Instructions {
    /// How the value is written.
    pub fn name(self) -> &'static str {
        match self {
            Instructions::Plain => "plain",
            Instructions::Avx2 => "avx2",
            Instructions::Avx512 => "avx512",
        }
    }

    /// Finds a value by how it is written.
    pub fn named(name: &str) -> Option<Instructions> {
        [Instructions::Plain, Instructions::Avx2, Instructions::Avx512]
            .into_iter()
            .find(|instructions| instructions.name() == name)
    }
}

by_name!(Instructions, ["plain", "Portable code"; "avx2", "AVX2, FMA and F16C"; "avx512", "AVX-512F";]);

/// Limit on the number of topics that a document may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Active {
    /// As many as it needs.
    #[default]
    Auto,
    /// As many as it can have: messages are quantized as finely as they are stored, from the first pass on.
    All,
    /// At most this many.
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
