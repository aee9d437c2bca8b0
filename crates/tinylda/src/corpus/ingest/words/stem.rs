//! Stemmers of languages. Start with [`stemmer`].

use super::language::language_code;
use crate::error::{Error, Result};

/// Codes of the languages that have a stemmer.
pub(super) const STEMMERS: [(&str, rust_stemmers::Algorithm); 18] = {
    use rust_stemmers::Algorithm as A;
    [
        ("ar", A::Arabic),
        ("da", A::Danish),
        ("nl", A::Dutch),
        ("en", A::English),
        ("fi", A::Finnish),
        ("fr", A::French),
        ("de", A::German),
        ("el", A::Greek),
        ("hu", A::Hungarian),
        ("it", A::Italian),
        ("no", A::Norwegian),
        ("pt", A::Portuguese),
        ("ro", A::Romanian),
        ("ru", A::Russian),
        ("es", A::Spanish),
        ("sv", A::Swedish),
        ("ta", A::Tamil),
        ("tr", A::Turkish),
    ]
};

/// Returns the stemmer of a language.
pub(super) fn stemmer(language: &str) -> Result<rust_stemmers::Stemmer> {
    let code = language_code(language);
    let found = STEMMERS.iter().find(|(known, _)| *known == code);
    let (_, algorithm) = found.ok_or_else(|| {
        let known = format!("one of {}", STEMMERS.map(|(code, _)| code).join(", "));
        Error::out_of_range("stem", format!("{language:?}"), known)
    })?;
    Ok(rust_stemmers::Stemmer::create(*algorithm))
}
