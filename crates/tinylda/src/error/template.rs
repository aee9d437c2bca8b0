//! Message texts that refer to parameters by name.
//!
//! The library does not know how its caller spells a parameter: the program has `--memory 2GiB`,
//! Python has `memory="2GiB"`. A [`Template`] therefore keeps references apart from text, and
//! whoever prints a message supplies the spelling.

use std::fmt;

/// Function that spells a parameter the caller's way, given its name and the proposed value, if
/// any.
pub type ParameterSpelling<'a> = &'a dyn Fn(&str, Option<&str>) -> String;

/// What the user can do about an error. May be empty.
pub type Remedy = Template;

/// A text with references to parameters.
///
/// It is created from a string in which `{name}` refers to a parameter and `{name=value}` proposes
/// a value for it. A name consists of lower-case letters, digits and underscores and begins with a
/// letter; a value is not empty and contains no braces. Everything else, other braces included, is
/// text. Text that comes from the user is added with [`text`](Template::text) and
/// [`parameter`](Template::parameter), which do not interpret it.
///
/// ```
/// use tinylda::error::Template;
///
/// let remedy = Template::from("use {memory=2GiB} or fewer {topics}");
/// assert_eq!(remedy.to_string(), "use `memory=2GiB` or fewer `topics`");
/// let proposed: Vec<_> = remedy.suggestions().collect();
/// assert_eq!(proposed, [("memory", Some("2GiB")), ("topics", None)]);
/// let python = |name: &str, value: Option<&str>| match value {
///     Some(value) => format!("{name}={value:?}"),
///     None => name.to_owned(),
/// };
/// assert_eq!(remedy.render(&python), "use memory=\"2GiB\" or fewer topics");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

/// A part of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    /// Text that is printed unchanged.
    Text(String),
    /// Reference to a parameter, with the proposed value, if any.
    Parameter { name: String, value: Option<String> },
}

impl Template {
    /// Appends text without interpreting it.
    #[must_use]
    pub fn text(mut self, text: impl AsRef<str>) -> Template {
        let text = text.as_ref();
        match self.parts.last_mut() {
            Some(TemplatePart::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.parts.push(TemplatePart::Text(text.to_owned())),
        }
        self
    }

    /// Appends a reference to a parameter, with the proposed value, if any.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: Option<&str>) -> Template {
        self.parts.push(TemplatePart::Parameter { name: name.to_owned(), value: value.map(str::to_owned) });
        self
    }

    /// Appends another template.
    #[must_use]
    pub fn then(self, other: impl Into<Template>) -> Template {
        other.into().parts.into_iter().fold(self, |all, part| match part {
            TemplatePart::Text(text) => all.text(text),
            TemplatePart::Parameter { name, value } => all.parameter(&name, value.as_deref()),
        })
    }

    /// Returns whether the template is empty.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the parameters that the text refers to, in order, with the proposed values.
    pub fn suggestions(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Text(_) => None,
            TemplatePart::Parameter { name, value } => Some((name.as_str(), value.as_deref())),
        })
    }

    /// Returns the text with every parameter spelled the caller's way.
    pub fn render(&self, spelling: ParameterSpelling<'_>) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::Parameter { name, value } => out.push_str(&spelling(name, value.as_deref())),
            }
        }
        out
    }

    /// Returns the parameter's name if the template consists of a single reference.
    pub(crate) fn as_parameter(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [TemplatePart::Parameter { name, .. }] => Some(name),
            _ => None,
        }
    }

    /// Returns whether the text begins with an upper-case letter, like a sentence.
    pub(crate) fn is_sentence(&self) -> bool {
        matches!(self.parts.first(), Some(TemplatePart::Text(text)) if text.starts_with(char::is_uppercase))
    }
}

impl From<&str> for Template {
    fn from(text: &str) -> Template {
        let mut all = Template::default();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            all = all.text(&rest[..open]);
            rest = &rest[open..];
            if let Some((name, value, length)) = marker(rest) {
                all = all.parameter(name, value);
                rest = &rest[length..];
            } else {
                all = all.text("{");
                rest = &rest[1..];
            }
        }
        all.text(rest)
    }
}

impl From<String> for Template {
    fn from(text: String) -> Template {
        Template::from(text.as_str())
    }
}

impl From<&String> for Template {
    fn from(text: &String) -> Template {
        Template::from(text.as_str())
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&quoted))
    }
}

/// Spells a parameter the library's way: `` `memory=2GiB` ``.
pub(crate) fn quoted(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("`{name}={value}`"),
        None => format!("`{name}`"),
    }
}

/// Returns whether `text` can be the name of a parameter.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Parses the marker that `text` begins with. Returns its name, its value and its length in bytes.
fn marker(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let inner = &text[1..=text.find('}')?];
    let inner = &inner[..inner.len() - 1];
    let (name, value) = match inner.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (inner, None),
    };
    let proper = is_name(name) && value.is_none_or(|value| !value.is_empty() && !value.contains('{'));
    proper.then_some((name, value, inner.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_become_parameters() {
        for (text, shown) in [
            ("{memory}", "`memory`"),
            ("use {memory=2GiB}, or {tau0}", "use `memory=2GiB`, or `tau0`"),
            ("{a}{b=c=d}", "`a``b=c=d`"),
            ("{text_field=a.b NAME}", "`text_field=a.b NAME`"),
        ] {
            assert_eq!(Template::from(text).to_string(), shown, "{text}");
        }
    }

    #[test]
    fn other_braces_are_text() {
        for text in
            ["", "{", "}", "{}", "{A}", "{1a}", "{a b}", "{a=}", "{a={}", "{\"a\":1}", "{é}", "{a", "a}b"]
        {
            let template = Template::from(text);
            assert_eq!(template.suggestions().count(), 0, "{text}");
            assert_eq!(template.to_string(), text);
        }
        // Braces inside other braces are interpreted separately.
        assert_eq!(Template::from("{ {seed} }").to_string(), "{ `seed` }");
        assert!(Template::from("").is_empty());
    }

    #[test]
    fn text_of_the_user_is_not_interpreted() {
        let template =
            Template::from("one of ").text("{memory}").then(", or {seed}").parameter("glob", Some("{a}"));
        assert_eq!(template.to_string(), "one of {memory}, or `seed``glob={a}`");
        assert_eq!(template.suggestions().collect::<Vec<_>>(), [("seed", None), ("glob", Some("{a}"))]);
    }

    #[test]
    fn the_caller_spells_parameters() {
        let options = |name: &str, value: Option<&str>| format!("/{name}:{}", value.unwrap_or("X"));
        assert_eq!(Template::from("{seed=1} and {beta}").render(&options), "/seed:1 and /beta:X");
    }
}
