//! Clitics: parts of a token before or after an apostrophe that are not part of the word.
//!
//! Start with [`Clitics`].

/// Rules of a language for apostrophes inside tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApostropheRule {
    /// The possessive at the end is dropped: `god's` becomes `god`.
    Possessive,
    /// Elided words before the apostrophe are dropped: `l'eau` becomes `eau`.
    Elision,
    /// Endings after the apostrophe are dropped: `istanbul'da` becomes `istanbul`.
    Suffix,
}

/// Elided words, without their apostrophe.
const ELIDED: [&str; 46] = [
    "l", "d", "j", "m", "n", "s", "t", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "quelqu", "presqu",
    "entr", "un", "dell", "nell", "all", "dall", "sull", "coll", "quest", "quell", "gl", "anch", "com",
    "dov", "cos", "sant", "bell", "tutt", "mezz", "v", "senz", "ch", "pel", "quant", "nessun", "ciascun",
    "alcun", "vent", "trent", "grand", "buon",
];

/// Words of French whose apostrophe is part of them.
const WHOLE: [&str; 4] = ["aujourd'hui", "entr'acte", "grand'mère", "grand'père"];

/// Rules for clitics of the languages of a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Clitics {
    rules: Vec<ApostropheRule>,
}

impl Clitics {
    /// Returns the rules of these languages.
    pub(super) fn new(languages: &[String]) -> Clitics {
        let mut rules = Vec::new();
        for language in languages {
            let rule = match language.as_str() {
                "en" => ApostropheRule::Possessive,
                "fr" | "it" | "ca" => ApostropheRule::Elision,
                "tr" | "az" => ApostropheRule::Suffix,
                _ => continue,
            };
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        Clitics { rules }
    }

    /// Returns the word in a token without its clitics.
    pub(super) fn strip<'a>(&self, token: &'a str) -> &'a str {
        if self.rules.is_empty() || !token.contains('\'') {
            return token;
        }
        let stripped = self.rules.iter().fold(token, |token, rule| match rule {
            ApostropheRule::Possessive => token.strip_suffix("'s").unwrap_or(token),
            ApostropheRule::Elision if WHOLE.contains(&token) => token,
            ApostropheRule::Elision => match token.split_once('\'') {
                Some((before, after)) if ELIDED.iter().any(|e| e.eq_ignore_ascii_case(before)) => after,
                _ => token,
            },
            ApostropheRule::Suffix => token.split_once('\'').map_or(token, |(before, _)| before),
        });
        if stripped.is_empty() { token } else { stripped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clitics_of_languages() {
        for (language, token, word) in [
            ("en", "god's", "god"),
            ("en", "don't", "don't"),
            ("en", "o'brien", "o'brien"),
            ("fr", "l'eau", "eau"),
            ("fr", "qu'il", "il"),
            ("fr", "aujourd'hui", "aujourd'hui"),
            ("it", "dell'arte", "arte"),
            ("tr", "istanbul'da", "istanbul"),
            ("de", "god's", "god's"),
        ] {
            assert_eq!(Clitics::new(&[language.into()]).strip(token), word, "{language}");
        }
        assert_eq!(Clitics::new(&["fr".into(), "en".into()]).strip("l'homme's"), "homme");
        assert_eq!(Clitics::default().strip("god's"), "god's");
    }
}
