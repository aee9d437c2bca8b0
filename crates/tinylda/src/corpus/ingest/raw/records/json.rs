//! JSON values as records.

use super::{JsonFields, Record, RecordReader};
use crate::corpus::TextPlace;
use crate::corpus::ingest::lines::quoted;
use crate::corpus::ingest::raw::json::next_record;
use crate::corpus::ingest::raw::source::TextSpan;
use crate::error::{Error, Remedy, Result, Template};

impl RecordReader {
    pub(super) fn for_each_value(
        &self,
        json: &JsonFields,
        bytes: &[u8],
        span: &TextSpan,
        each: &mut dyn FnMut(Record<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        let (mut at, mut line) = (0, span.line);
        while let Some(record) = next_record(bytes, at) {
            line += memchr::memchr_iter(b'\n', &bytes[at..record.start]).count() as u64;
            let value = &bytes[record.clone()];
            let place = TextPlace {
                source: span.source,
                offset: span.offset + record.start as u64,
                length: value.len() as u32,
            };
            let mut replaced = false;
            if let Some(record) = self.parse_json(json, value, line, place, &mut replaced)? {
                each(record, replaced)?;
            }
            line += memchr::memchr_iter(b'\n', value).count() as u64;
            at = record.end;
        }
        Ok(())
    }

    /// Parses a JSON record. Returns `None` for a record without text, which is counted.
    pub(super) fn parse_json<'a>(
        &self,
        json: &JsonFields,
        bytes: &'a [u8],
        line: u64,
        place: TextPlace,
        replaced: &mut bool,
    ) -> Result<Option<Record<'a>>> {
        let text = self.text(bytes, line, replaced)?;
        let mut value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| self.json_error(json, &text, line, &e))?;
        let find = |path: &str| path.split('.').try_fold(&value, member);
        let Some(found) = self.json_text(json, &value, &find, line)? else {
            self.tally.records_without_text.add(1, line);
            return Ok(None);
        };
        let others = json.id.iter().chain(&json.labels).chain(&json.date);
        if others.clone().any(|path| find(path).is_none()) {
            self.tally.missing_fields.add(1, line);
        }
        for path in others {
            self.check_no_object(find(path), path, line)?;
        }
        let short = |path: &str| {
            let mut out = String::new();
            if let Some(found) = find(path) {
                push_text(found, &mut out);
            }
            out
        };
        let labels = |path: &String| {
            let mut labels = Vec::new();
            let list = find(path).map_or(&[][..], |found| match found {
                serde_json::Value::Array(list) => &list[..],
                one => std::slice::from_ref(one),
            });
            for value in list {
                let mut label = String::new();
                push_text(value, &mut label);
                self.push_labels(label.into(), &mut labels);
            }
            labels
        };
        let name = json.id.as_deref().map(|path| short(path).into());
        let labels = json.labels.iter().map(labels).collect();
        let date = json.date.as_deref().map(|path| self.date(&short(path), line)).transpose()?;
        let text = match found {
            JsonText::Joined(text) => text,
            JsonText::Field(path) => take_string(&mut value, path),
        };
        Ok(Some(Record { name, labels, date, text: text.into(), place, checksum: crc32fast::hash(bytes) }))
    }

    /// Returns the error for a record, beginning on `line`, that is not valid JSON.
    fn json_error(&self, json: &JsonFields, text: &str, line: u64, error: &serde_json::Error) -> Error {
        let before = error.line().saturating_sub(1);
        let line_start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
        let at = (line_start + error.column().saturating_sub(1)).min(text.len());
        if let Some(JsonProblem { found, expected, remedy }) = JsonProblem::find(error, text.as_bytes(), at) {
            let found = format!("{found} at byte {} of the record", at + 1);
            return self.line_error(line + before as u64, found, expected, remedy);
        }
        let remedy = match json.envelope {
            None => "give one complete object per line, or use {format=json} if objects span several lines",
            Some(_) => "correct the file; jq shows where it is damaged",
        };
        self.line_error(line, format!("{} ({error})", quoted(text.as_bytes())), "a JSON object", remedy)
    }

    /// Counts the objects in a field with a name, labels or a date, which are left out. Refuses
    /// them if the reader is strict.
    fn check_no_object(&self, value: Option<&serde_json::Value>, path: &str, line: u64) -> Result<()> {
        let objects = match value {
            Some(serde_json::Value::Object(_)) => 1,
            Some(serde_json::Value::Array(list)) => {
                list.iter().filter(|value| value.is_object()).count() as u64
            }
            _ => 0,
        };
        if objects > 0 && self.strict {
            return Err(self.line_error(
                line,
                format!("an object in the field {path:?}"),
                "text, or a list of texts",
                "continue into the object with a dot",
            ));
        }
        self.tally.object_values.add(objects, line);
        Ok(())
    }

    /// Returns the text of a JSON record: the record itself if it is a string, else its text
    /// fields. Returns `None` if it has none of them.
    fn json_text<'v, 'p>(
        &self,
        json: &'p JsonFields,
        value: &'v serde_json::Value,
        find: &dyn Fn(&str) -> Option<&'v serde_json::Value>,
        line: u64,
    ) -> Result<Option<JsonText<'p>>> {
        if value.is_string() {
            return Ok(Some(JsonText::Field(None)));
        }
        if let [path] = &json.text[..]
            && find(path).is_some_and(serde_json::Value::is_string)
        {
            return Ok(Some(JsonText::Field(Some(path))));
        }
        let (mut all, mut any) = (String::new(), false);
        for path in &json.text {
            let Some(found) = find(path) else { continue };
            any = true;
            if !all.is_empty() {
                all.push(' ');
            }
            if !push_text(found, &mut all) {
                return Err(self.line_error(
                    line,
                    format!("an object in the field {path:?}"),
                    "text, or a list of texts",
                    Remedy::from("continue into the object with a dot: ")
                        .parameter("text_field", Some(&format!("{path}.NAME"))),
                ));
            }
        }
        if !any && self.strict {
            let found = match value {
                serde_json::Value::Object(map) => {
                    let names = map.keys().take(40).map(String::as_str).collect::<Vec<_>>();
                    format!("the fields {}", names.join(", "))
                }
                _ => "a value that is not an object".into(),
            };
            let expected = Template::default().text(format!("the field {:?}", json.text.join("\" or \"")));
            let remedy = "name the field with {text_field}, or omit {strict} to skip such records";
            return Err(self.line_error(line, found, expected, remedy));
        }
        Ok(any.then_some(JsonText::Joined(all)))
    }
}

/// Value that other programs write and that is not valid JSON.
struct JsonProblem {
    found: String,
    expected: &'static str,
    remedy: &'static str,
}

impl JsonProblem {
    /// Names what is wrong in a record at a position, if it is known.
    fn find(error: &serde_json::Error, record: &[u8], at: usize) -> Option<JsonProblem> {
        let message = error.to_string();
        // The position is that of the first wrong byte, or of the last one that was read.
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || b"+-._".contains(b);
        let start = at - record[..at].iter().rev().take_while(|b| is_word(b)).count();
        let end = at + record[at..].iter().take_while(|b| is_word(b)).count();
        let word = String::from_utf8_lossy(&record[start..end]);
        let problem = |found: String, expected, remedy| Some(JsonProblem { found, expected, remedy });
        if message.contains("surrogate") || message.contains("unexpected end of hex escape") {
            return problem(
                "half of a surrogate pair (\\ud800 to \\udfff)".into(),
                "a pair of surrogates, or another character",
                "replace it, for instance by \\ufffd",
            );
        }
        if message.contains("number out of range") {
            return problem(
                format!("the number {word}"),
                "a number below 1e308",
                "correct the number, or write it as a string",
            );
        }
        let name = word.trim_start_matches('-');
        if let Some(name) = ["NaN", "nan", "Infinity", "inf", "None", "True", "False", "undefined"]
            .into_iter()
            .find(|&known| known == name)
        {
            return problem(
                format!("{name}, which is no value of JSON,"),
                "a JSON value",
                "write null, true or false instead; in Python, json.dumps(..., allow_nan=False) finds NaN",
            );
        }
        if record.get(at) == Some(&b'\'') {
            let remedy = "write the file with a JSON library, in Python with json.dumps instead of str";
            return problem("a single quote".into(), "a double quote", remedy);
        }
        if record.get(at) == Some(&b'/') {
            return problem("a comment".into(), "a JSON value", "remove the comments");
        }
        None
    }
}

/// Text of a JSON record.
enum JsonText<'p> {
    /// String in the field with this path, or the record itself.
    Field(Option<&'p str>),
    /// Text that was put together from other values.
    Joined(String),
}

/// Returns the member of a value with this name or index.
fn member<'v>(value: &'v serde_json::Value, key: &str) -> Option<&'v serde_json::Value> {
    match value {
        serde_json::Value::Array(list) => key.parse().ok().and_then(|i: usize| list.get(i)),
        other => other.get(key),
    }
}

/// Takes the string in the field with this path out of a value, so that a long text is not copied.
fn take_string(value: &mut serde_json::Value, path: Option<&str>) -> String {
    let keys = path.into_iter().flat_map(|path| path.split('.'));
    let found = keys.into_iter().try_fold(value, |at, key| match at {
        serde_json::Value::Array(list) => key.parse().ok().and_then(|i: usize| list.get_mut(i)),
        other => other.get_mut(key),
    });
    match found {
        Some(serde_json::Value::String(text)) => std::mem::take(text),
        _ => String::new(),
    }
}

/// Appends a text, a number or a list of them to `out`, and nothing for null. Returns false for
/// objects.
fn push_text(value: &serde_json::Value, out: &mut String) -> bool {
    use serde_json::Value;
    match value {
        Value::Null => {}
        Value::String(text) => out.push_str(text),
        Value::Array(list) => {
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                if !push_text(item, out) {
                    return false;
                }
            }
        }
        Value::Object(_) => return false,
        other => out.push_str(&other.to_string()),
    }
    true
}
