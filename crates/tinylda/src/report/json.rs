//! Writes JSON that can be embedded in an HTML page: numbers are short, and characters that could
//! end the `script` element are escaped.

use std::fmt::Write;

/// Builds a JSON text. Writing to a string cannot fail, so that results of `write!` are ignored.
#[derive(Debug, Default)]
pub(super) struct JsonWriter {
    out: String,
}

impl JsonWriter {
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Appends text without escaping.
    pub(super) fn raw(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Appends `"name":`, preceded by a comma unless it is the first key of its object.
    pub(super) fn key(&mut self, name: &str) {
        if !self.out.ends_with(['{', '[']) && !self.out.is_empty() {
            self.out.push(',');
        }
        let _ = write!(self.out, "\"{name}\":");
    }

    /// Appends a string.
    pub(super) fn text(&mut self, text: &str) {
        let quoted = serde_json::Value::from(text).to_string();
        for c in quoted.chars() {
            if matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
                let _ = write!(self.out, "\\u{:04x}", u32::from(c));
            } else {
                self.out.push(c);
            }
        }
    }

    /// Appends a number with at most `digits` significant digits. NaN and infinities become null.
    pub(super) fn number(&mut self, value: f64, digits: usize) {
        if !value.is_finite() {
            self.out.push_str("null");
            return;
        }
        let short: f64 = format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
        // Turn -0 into 0.
        let short = if short == 0.0 { 0.0 } else { short };
        let (plain, powers) = (short.to_string(), format!("{short:e}"));
        self.out.push_str(if plain.len() <= powers.len() { &plain } else { &powers });
    }

    /// Appends an array whose elements are written by `one`.
    pub(super) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut one: impl FnMut(&mut JsonWriter, T),
    ) {
        self.out.push('[');
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            one(self, item);
        }
        self.out.push(']');
    }

    /// Appends an array of numbers with four significant digits.
    pub(super) fn numbers(&mut self, values: impl IntoIterator<Item = f64>) {
        self.list(values, |json, value| json.number(value, 4));
    }

    /// Appends an array of integers.
    pub(super) fn wholes(&mut self, values: impl IntoIterator<Item = u64>) {
        self.list(values, |json, value| {
            let _ = write!(json.out, "{value}");
        });
    }

    /// Appends an array of strings.
    pub(super) fn texts<T: AsRef<str>>(&mut self, values: impl IntoIterator<Item = T>) {
        self.list(values, |json, value| json.text(value.as_ref()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_texts_are_harmless() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (0.123_456, "0.1235"),
            (1.234_56e-7, "1.235e-7"),
            (-2_345_678.0, "-2346000"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
        ] {
            let mut json = JsonWriter::default();
            json.number(value, 4);
            assert_eq!(json.finish(), text);
        }
        let hostile = "</script><!--&\u{2028}\"\\\u{0}\n";
        let mut json = JsonWriter::default();
        json.text(hostile);
        let text = json.finish();
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\n']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }
}
