//! Languages and their stemmers. Start with [`stemmer`].

use crate::error::{Error, Result};

/// Codes and names of the languages that have a stemmer.
pub(super) const STEMMERS: [(&str, &str, rust_stemmers::Algorithm); 18] = {
    use rust_stemmers::Algorithm as A;
    [
        ("ar", "arabic", A::Arabic),
        ("da", "danish", A::Danish),
        ("nl", "dutch", A::Dutch),
        ("en", "english", A::English),
        ("fi", "finnish", A::Finnish),
        ("fr", "french", A::French),
        ("de", "german", A::German),
        ("el", "greek", A::Greek),
        ("hu", "hungarian", A::Hungarian),
        ("it", "italian", A::Italian),
        ("no", "norwegian", A::Norwegian),
        ("pt", "portuguese", A::Portuguese),
        ("ro", "romanian", A::Romanian),
        ("ru", "russian", A::Russian),
        ("es", "spanish", A::Spanish),
        ("sv", "swedish", A::Swedish),
        ("ta", "tamil", A::Tamil),
        ("tr", "turkish", A::Turkish),
    ]
};

/// Returns the code of a language that is given by code or English name.
pub(crate) fn language_code(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    STEMMERS.iter().find(|(_, full, _)| *full == lower).map_or(lower, |(code, _, _)| (*code).into())
}

/// Returns the stemmer of a language.
pub(super) fn stemmer(language: &str) -> Result<rust_stemmers::Stemmer> {
    let code = language_code(language);
    let found = STEMMERS.iter().find(|(known, _, _)| *known == code);
    let (_, _, algorithm) = found.ok_or_else(|| {
        let known = format!("one of {}", STEMMERS.map(|(code, _, _)| code).join(", "));
        Error::out_of_range("stem", format!("{language:?}"), known)
    })?;
    Ok(rust_stemmers::Stemmer::create(*algorithm))
}
