//! The data as JSON that can stand in a page: numbers short, and no character that could end its element.

use std::fmt::Write;

/// JSON as it grows. Writing to a string cannot fail.
#[derive(Debug, Default)]
pub(super) struct Json {
    out: String,
}

impl Json {
    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// `"name":`, after a comma where something stands before it.
    pub(super) fn key(&mut self, name: &str) {
        if !self.out.ends_with(['{', '[']) && !self.out.is_empty() {
            self.out.push(',');
        }
        let _ = write!(self.out, "\"{name}\":");
    }

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

    /// With so many significant digits; what is no number is null.
    pub(super) fn number(&mut self, value: f64, digits: usize) {
        if !value.is_finite() {
            self.out.push_str("null");
            return;
        }
        let short: f64 = format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
        // Not -0, which nobody wants to read.
        let short = if short == 0.0 { 0.0 } else { short };
        let (plain, powers) = (short.to_string(), format!("{short:e}"));
        self.out.push_str(if plain.len() <= powers.len() { &plain } else { &powers });
    }

    pub(super) fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut one: impl FnMut(&mut Json, T)) {
        self.out.push('[');
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            one(self, item);
        }
        self.out.push(']');
    }

    /// Numbers with four digits.
    pub(super) fn numbers(&mut self, values: impl IntoIterator<Item = f64>) {
        self.list(values, |json, value| json.number(value, 4));
    }

    /// Whole numbers.
    pub(super) fn wholes(&mut self, values: impl IntoIterator<Item = u64>) {
        self.list(values, |json, value| {
            let _ = write!(json.out, "{value}");
        });
    }

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
            let mut json = Json::default();
            json.number(value, 4);
            assert_eq!(json.finish(), text);
        }
        let hostile = "</script><!--&\u{2028}\"\\\u{0}\n";
        let mut json = Json::default();
        json.text(hostile);
        let text = json.finish();
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\n']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }
}
