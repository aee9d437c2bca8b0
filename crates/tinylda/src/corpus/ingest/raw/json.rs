//! Splits JSON text into records and finds the field with the text.
//!
//! Start with [`JsonSplitter`]. It follows brackets and strings only, needs no more memory than a
//! record, and leaves the content of records to the parser in `records`.

use std::ops::Range;

use serde_json::Value;

use crate::corpus::ingest::options::text_name_rank;
use crate::error::{Remedy, Template};

/// Maximum number of records that are inspected to find the fields.
const MAX_SAMPLED_RECORDS: usize = 50;
/// Maximum number of fields that are collected.
const MAX_FIELDS: usize = 200;

/// Part of a JSON text that contains the records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum JsonEnvelope {
    /// Records follow one another.
    #[default]
    Values,
    /// Records are the elements of an array.
    Array,
    /// Records are the elements of an array, which is the member with this name of one object. The
    /// name is as it appears in the text.
    Member(String),
}

/// State of a [`JsonSplitter`] between two records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SplitState {
    /// Before the first value.
    Start,
    /// Between the elements of the array of records.
    InArray,
    /// Between the members of the object before the array.
    InObject,
    /// Between the members of the object after the array.
    InRest,
    /// After the array or the object.
    End,
}

/// Error in the structure of a JSON text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JsonSyntaxError {
    /// Position in the bytes.
    pub(crate) at: usize,
    pub(crate) found: String,
    pub(crate) expected: &'static str,
}

/// Splitter of a JSON text into records.
#[derive(Debug, Clone)]
pub(crate) struct JsonSplitter {
    envelope: JsonEnvelope,
    state: SplitState,
}

impl JsonSplitter {
    pub(crate) fn new(envelope: JsonEnvelope) -> JsonSplitter {
        JsonSplitter { envelope, state: SplitState::Start }
    }

    /// Appends the positions of the complete records in `bytes`, which follow those of the previous
    /// call. Returns the number of bytes that are used up; the next call begins with the others.
    /// `last` is set if the text ends with these bytes.
    pub(crate) fn split(
        &mut self,
        bytes: &[u8],
        last: bool,
        records: &mut Vec<Range<usize>>,
    ) -> Result<usize, JsonSyntaxError> {
        let mut at = 0;
        loop {
            let separators: &[u8] = match self.state {
                SplitState::Start if self.envelope == JsonEnvelope::Values => b" \t\r\n,\x1e",
                SplitState::InArray | SplitState::InObject | SplitState::InRest => b" \t\r\n,",
                SplitState::Start | SplitState::End => b" \t\r\n\x1e",
            };
            at += bytes[at..].iter().take_while(|b| separators.contains(b)).count();
            let Some(&next) = bytes.get(at) else {
                return if last { self.check_end(at).map(|()| at) } else { Ok(at) };
            };
            let step = match (self.state, next) {
                (SplitState::Start, b'}' | b']') if self.envelope == JsonEnvelope::Values => {
                    return Err(syntax_error(bytes, at, "a record"));
                }
                (SplitState::Start, _) if self.envelope == JsonEnvelope::Values => {
                    take_record(bytes, at, last, records)?
                }
                // Another array may follow the first one.
                (SplitState::Start | SplitState::End, b'[') if self.envelope == JsonEnvelope::Array => {
                    self.state = SplitState::InArray;
                    Some(at + 1)
                }
                (SplitState::Start, b'{') => {
                    self.state = SplitState::InObject;
                    Some(at + 1)
                }
                (SplitState::InArray, b']') => {
                    self.state = match self.envelope {
                        JsonEnvelope::Member(_) => SplitState::InRest,
                        _ => SplitState::End,
                    };
                    Some(at + 1)
                }
                (SplitState::InArray, b'}') => return Err(syntax_error(bytes, at, "a record or ]")),
                (SplitState::InArray, _) => take_record(bytes, at, last, records)?,
                (SplitState::InObject | SplitState::InRest, b'}') => {
                    self.state = SplitState::End;
                    Some(at + 1)
                }
                (SplitState::InObject | SplitState::InRest, b'"') => self.take_member(bytes, at, last)?,
                (SplitState::InObject | SplitState::InRest, _) => {
                    return Err(syntax_error(bytes, at, "the name of a member"));
                }
                (SplitState::Start, _) => return Err(syntax_error(bytes, at, "an array or an object")),
                (SplitState::End, _) => return Err(syntax_error(bytes, at, "the end of the file")),
            };
            match step {
                Some(next) => at = next,
                None => return Ok(at),
            }
        }
    }

    /// Returns whether the next value of the text is a record.
    fn is_before_record(&self) -> bool {
        match self.state {
            SplitState::Start => self.envelope == JsonEnvelope::Values,
            SplitState::InArray => true,
            SplitState::InObject | SplitState::InRest | SplitState::End => false,
        }
    }

    /// Refuses a text that ends in the middle of an array or an object.
    fn check_end(&self, at: usize) -> Result<(), JsonSyntaxError> {
        let expected = match self.state {
            SplitState::InArray => "] at the end of the array",
            SplitState::InObject | SplitState::InRest => "} at the end of the object",
            SplitState::Start | SplitState::End => return Ok(()),
        };
        Err(JsonSyntaxError { at, found: "the end of the file".into(), expected })
    }

    /// Reads the member at `at` of the object around the array of records: skips it, or enters the
    /// array. Returns the position after it; `None` if it is not complete yet.
    fn take_member(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<usize>, JsonSyntaxError> {
        let incomplete = |expected| {
            if last {
                Err(JsonSyntaxError { at, found: "the end of the file".into(), expected })
            } else {
                Ok(None)
            }
        };
        let Some(end) = string_end(bytes, at) else { return incomplete("the name of a member") };
        let name = &bytes[at + 1..end - 1];
        let colon = skip_space(bytes, end);
        match bytes.get(colon) {
            None => return incomplete("a colon"),
            Some(b':') => {}
            Some(_) => return Err(syntax_error(bytes, colon, "a colon")),
        }
        let value = skip_space(bytes, colon + 1);
        let Some(&first) = bytes.get(value) else { return incomplete("a value") };
        if b"}],:".contains(&first) {
            return Err(syntax_error(bytes, value, "a value"));
        }
        let is_wanted = self.state == SplitState::InObject
            && matches!(&self.envelope, JsonEnvelope::Member(wanted) if wanted.as_bytes() == name);
        if is_wanted && first == b'[' {
            self.state = SplitState::InArray;
            return Ok(Some(value + 1));
        }
        let end = value_end(bytes, value, last);
        if end.is_some() { Ok(end) } else { incomplete("a complete JSON value") }
    }
}

/// Adds the record at `at`. Returns its end; `None` if it is not complete yet.
fn take_record(
    bytes: &[u8],
    at: usize,
    last: bool,
    records: &mut Vec<Range<usize>>,
) -> Result<Option<usize>, JsonSyntaxError> {
    if bytes[at] == b'[' {
        return Err(syntax_error(bytes, at, "an object or a string instead of a list"));
    }
    if bytes[at] == b'/' {
        return Err(syntax_error(bytes, at, "a record (JSON has no comments)"));
    }
    let end = value_end(bytes, at, last);
    if end.is_none() && last {
        return Err(JsonSyntaxError {
            at,
            found: "a record without its end".into(),
            expected: "a complete JSON value",
        });
    }
    records.extend(end.map(|end| at..end));
    Ok(end)
}

/// Returns whether a text contains the end of its first record. `lines` is set if every line is a
/// record, and `fields` are the fields with the text, if they are known.
pub(crate) fn has_complete_record(start: &[u8], fields: &[String], lines: bool) -> bool {
    if lines {
        return memchr::memchr(b'\n', start.trim_ascii_start()).is_some();
    }
    let mut records = Vec::new();
    // Errors are reported when the records are read.
    let split = JsonSplitter::new(find_envelope(start, fields)).split(start, false, &mut records);
    split.is_err() || !records.is_empty()
}

/// Returns the position of the next record from `at` on, in bytes that begin and end with a record
/// that [`JsonSplitter`] found.
pub(crate) fn next_record(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let is_separator = |b: &&u8| b.is_ascii_whitespace() || b",[]\x1e".contains(b);
    let start = at + bytes.get(at..)?.iter().take_while(is_separator).count();
    value_end(bytes, start, true).map(|end| start..end)
}

fn syntax_error(bytes: &[u8], at: usize, expected: &'static str) -> JsonSyntaxError {
    let end = bytes.len().min(at + 20);
    JsonSyntaxError { at, found: crate::corpus::ingest::lines::quoted(&bytes[at..end]), expected }
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take_while(|b| b.is_ascii_whitespace()).count()
}

/// Returns the position after the string that begins with the quote at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut from = at + 1;
    loop {
        let found = from + memchr::memchr2(b'"', b'\\', bytes.get(from..)?)?;
        if bytes[found] == b'"' {
            return Some(found + 1);
        }
        from = found + 2;
    }
}

/// Returns the position after the value that begins at `at`; `None` if it is not complete. Brackets
/// are counted, whatever their kind is.
fn value_end(bytes: &[u8], at: usize, last: bool) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b'{' | b'[' => {
            let (mut depth, mut next) = (0u64, at);
            loop {
                match bytes.get(next)? {
                    b'"' => {
                        next = string_end(bytes, next)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                next += 1;
                if depth == 0 {
                    return Some(next);
                }
            }
        }
        _ => {
            let ends = |b: &u8| b.is_ascii_whitespace() || b",]}[{\"\x1e".contains(b);
            let length = bytes[at..].iter().position(ends);
            // A character that cannot be part of a value is a record of its own, which the parser
            // refuses.
            length.map(|length| at + length.max(1)).or(last.then_some(bytes.len()))
        }
    }
}

/// Returns whether a text begins with a JSON array of objects or strings.
pub(crate) fn is_json_array(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let Some(inside) = start.strip_prefix(b"[") else { return false };
    let inside = inside.trim_ascii_start();
    match inside.first() {
        Some(b'{') => matches!(inside[1..].trim_ascii_start().first(), Some(b'"' | b'}')),
        Some(b'[') => matches!(inside[1..].trim_ascii_start().first(), Some(b'"' | b'{')),
        Some(b'"') => match string_end(inside, 0) {
            Some(end) => matches!(inside[end..].trim_ascii_start().first(), Some(b',' | b']')),
            // The first string is longer than the inspected bytes.
            None => inside.len() > 1 << 16,
        },
        Some(b']') => inside[1..].trim_ascii().is_empty(),
        _ => false,
    }
}

/// Returns whether a text begins with a JSON object.
pub(crate) fn is_json_object(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let Some(inside) = start.strip_prefix(b"{") else { return false };
    let inside = inside.trim_ascii_start();
    match inside.first() {
        Some(b'"') => string_end(inside, 0)
            .is_some_and(|end| matches!(inside[end..].trim_ascii_start().first(), Some(b':'))),
        Some(b'}') => true,
        _ => false,
    }
}

/// Returns whether a text consists of one JSON object.
pub(crate) fn is_one_object(text: &[u8]) -> bool {
    text.starts_with(b"{") && value_end(text, 0, true) == Some(text.len())
}

/// Finds the records of a JSON text that begins with `start`. `fields` are the fields with the
/// text, if they are known.
pub(crate) fn find_envelope(start: &[u8], fields: &[String]) -> JsonEnvelope {
    let start = start.trim_ascii_start();
    if start.starts_with(b"[") {
        return JsonEnvelope::Array;
    }
    if !start.starts_with(b"{") {
        return JsonEnvelope::Values;
    }
    if value_end(start, 0, false).is_some_and(|end| !start[end..].trim_ascii().is_empty()) {
        return JsonEnvelope::Values;
    }
    let members = object_members(start);
    let is_field = |name: &str| match fields {
        [] => text_name_rank(name).is_some(),
        given => given.iter().any(|path| path.split('.').next() == Some(name)),
    };
    let arrays = |first: u8| {
        let mut found = members.iter().filter(move |(_, value)| begins_array(value, first));
        let only = found.next();
        only.filter(|_| found.next().is_none())
    };
    // An object with the text is a record itself, unless the text is about a list of texts.
    let mut texts = members
        .iter()
        .filter(|(name, value)| is_field(name) && (!fields.is_empty() || value.starts_with(b"\"")));
    if let Some((first, _)) = texts.next() {
        let is_remark = fields.is_empty() && is_remark_name(first) && texts.next().is_none();
        let list = arrays(b'{').filter(|(_, value)| is_remark && has_text_member(value));
        return list.map_or(JsonEnvelope::Values, |(name, _)| JsonEnvelope::Member(name.clone()));
    }
    let has_text = |(_, value): &&(String, &[u8])| !is_prose(&members) || has_text_member(value);
    let has_strings = || members.iter().any(|(_, value)| value.starts_with(b"\""));
    let member = arrays(b'{').filter(has_text);
    let member = member.or_else(|| arrays(b'"').filter(|(name, _)| !has_strings() || is_list_name(name)));
    member.map_or(JsonEnvelope::Values, |(name, _)| JsonEnvelope::Member(name.clone()))
}

/// Returns whether a value begins like an array whose elements begin with `first`.
fn begins_array(value: &[u8], first: u8) -> bool {
    value.strip_prefix(b"[").is_some_and(|inside| inside.trim_ascii_start().first() == Some(&first))
}

/// Returns whether one of the members is a string of several words.
fn is_prose(members: &[(String, &[u8])]) -> bool {
    const MIN_BLANKS: usize = 4;
    members.iter().any(|(_, value)| {
        let end = string_end(value, 0).unwrap_or(value.len());
        value.starts_with(b"\"") && memchr::memchr_iter(b' ', &value[..end]).count() >= MIN_BLANKS
    })
}

/// Returns whether the first object of an array has a member with a usual name for the text.
fn has_text_member(array: &[u8]) -> bool {
    let object = bytes_of(array, 1).trim_ascii_start();
    let is_text =
        |(name, value): &(String, &[u8])| text_name_rank(name).is_some() && value.starts_with(b"\"");
    object_members(object).iter().any(is_text)
}

/// Returns whether a member of this name is a remark about a list of texts beside it.
fn is_remark_name(name: &str) -> bool {
    const REMARKS: [&str; 7] = ["comment", "comments", "description", "note", "notes", "remarks", "summary"];
    REMARKS.contains(&name.to_lowercase().as_str())
}

/// Returns whether a member of this name usually is a list of texts.
fn is_list_name(name: &str) -> bool {
    let name = name.to_lowercase();
    let plural = name.strip_suffix('s').is_some_and(|one| text_name_rank(one).is_some());
    plural || matches!(name.as_str(), "data" | "docs" | "items" | "records" | "results" | "rows" | "stories")
}

/// Shape of a JSON text that does not consist of records.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JsonShape {
    /// Names of columns and lists of values, as pandas writes with `orient="split"`.
    Split,
    /// Object of objects, as pandas writes by default.
    Objects,
    /// The records are in an array inside of an object of the object, with this path.
    Nested(String),
}

impl JsonShape {
    /// Finds the shape of a text that begins with `start`; `None` if it may consist of records.
    pub(crate) fn find(start: &[u8]) -> Option<JsonShape> {
        let start = start.trim_ascii_start();
        let several = || value_end(start, 0, false).is_some_and(|end| !start[end..].trim_ascii().is_empty());
        if !start.starts_with(b"{") || several() {
            return None;
        }
        let members = object_members(start);
        let value = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
        let rows = value("data").map_or_else(
            || value("index").is_some_and(|index| index.starts_with(b"[")),
            |data| begins_array(data, b'['),
        );
        if rows && value("columns").is_some_and(|columns| columns.starts_with(b"[")) {
            return Some(JsonShape::Split);
        }
        let is_object = |value: &[u8]| value.starts_with(b"{");
        for (name, value) in members.iter().filter(|(_, value)| is_object(value)) {
            let inside = object_members(value);
            if let Some((inner, _)) = inside.iter().find(|(_, value)| begins_array(value, b'{')) {
                return Some(JsonShape::Nested(format!("{name}.{inner}")));
            }
        }
        let objects = !members.is_empty() && members.iter().all(|(_, value)| is_object(value));
        objects.then_some(JsonShape::Objects)
    }

    /// Returns what the text is.
    pub(crate) fn found(&self) -> String {
        match self {
            JsonShape::Split => "an object with the names and the values of columns apart".into(),
            JsonShape::Objects => "an object of objects".into(),
            JsonShape::Nested(path) => format!("an object with the records inside of {path:?}"),
        }
    }

    /// Returns how to convert the text.
    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            JsonShape::Split => "with pandas, write it with orient=\"records\"".into(),
            JsonShape::Objects => Remedy::from(
                "with pandas, write it with orient=\"records\"; if the objects are records, use jq '.[]'; \
                 if this is one document, set {text_field}",
            ),
            JsonShape::Nested(path) => Remedy::from(
                Template::from("extract the records, for instance with jq '.").text(path).text("[]'"),
            ),
        }
    }
}

/// Returns the names and the values of the members of the object that `start` begins with, as far
/// as they are there.
fn object_members(start: &[u8]) -> Vec<(String, &[u8])> {
    let mut members = Vec::new();
    let mut at = 1;
    while members.len() < MAX_FIELDS {
        at += bytes_of(start, at).iter().take_while(|b| b.is_ascii_whitespace() || **b == b',').count();
        if start.get(at) != Some(&b'"') {
            break;
        }
        let Some(end) = string_end(start, at) else { break };
        let name = String::from_utf8_lossy(&start[at + 1..end - 1]).into_owned();
        let colon = skip_space(start, end);
        let value = skip_space(start, colon + 1);
        if start.get(colon) != Some(&b':') || value >= start.len() {
            break;
        }
        members.push((name, &start[value..]));
        match value_end(start, value, false) {
            Some(end) if end > value => at = end,
            _ => break,
        }
    }
    members
}

fn bytes_of(bytes: &[u8], from: usize) -> &[u8] {
    bytes.get(from..).unwrap_or_default()
}

/// Fields of the first records of a JSON text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonSample {
    /// Paths of the fields in order of appearance, and whether one of their values is text.
    pub(crate) fields: Vec<(String, bool)>,
    /// Number of records that are objects.
    pub(crate) objects: usize,
    /// Number of records that are strings.
    pub(crate) strings: usize,
    /// Number of records that are neither.
    pub(crate) others: usize,
    /// Number of records that cannot be parsed.
    damaged: usize,
    /// Whether only the beginning of the first record was inspected, so that fields may be missing.
    pub(crate) partial: bool,
}

impl JsonSample {
    /// Reads the first records of a text that begins with `start`. `whole` is set if the text ends
    /// with these bytes, and `lines` if every line is a record.
    pub(crate) fn read(start: &[u8], whole: bool, envelope: &JsonEnvelope, lines: bool) -> JsonSample {
        let mut records = Vec::new();
        // Position of the record after the complete ones.
        let mut rest = 0;
        if lines {
            for line in start.split_inclusive(|&b| b == b'\n').take(2 * MAX_SAMPLED_RECORDS) {
                if !whole && !line.ends_with(b"\n") {
                    break;
                }
                if !line.trim_ascii().is_empty() {
                    records.push(rest..rest + line.len());
                }
                rest += line.len();
            }
        } else {
            let mut splitter = JsonSplitter::new(envelope.clone());
            // Errors are reported when the records are read.
            rest = splitter.split(start, false, &mut records).unwrap_or(start.len());
            if splitter.is_before_record() {
                rest += bytes_of(start, rest).iter().take_while(|b| b.is_ascii_whitespace()).count();
            } else {
                rest = start.len();
            }
            if records.is_empty() && whole {
                let _ = JsonSplitter::new(envelope.clone()).split(start, true, &mut records);
            }
        }
        let mut sample = JsonSample::default();
        for record in records.into_iter().take(MAX_SAMPLED_RECORDS) {
            match serde_json::from_slice(&start[record]) {
                Ok(Value::Object(map)) => {
                    sample.objects += 1;
                    for (name, value) in &map {
                        sample.add(name, value, 0);
                    }
                }
                Ok(Value::String(_)) => sample.strings += 1,
                Ok(_) => sample.others += 1,
                Err(_) => sample.damaged += 1,
            }
        }
        if sample.objects + sample.strings + sample.others + sample.damaged == 0 && !whole {
            sample.partial = true;
            sample.add_incomplete(bytes_of(start, rest));
        }
        sample
    }

    /// Adds the fields of the first record, which begins with `start`, if it is too long to be
    /// complete there.
    fn add_incomplete(&mut self, start: &[u8]) {
        let start = start.trim_ascii_start();
        if !start.starts_with(b"{") {
            return;
        }
        for (name, value) in object_members(start) {
            let is_text = value.starts_with(b"\"");
            self.add(&name, &if is_text { Value::String(String::new()) } else { Value::Null }, 0);
            self.objects = 1;
        }
    }

    /// Adds a field, and the fields of its objects down to the third level.
    fn add(&mut self, path: &str, value: &Value, depth: usize) {
        if let Value::Object(map) = value
            && depth < 2
            && !map.is_empty()
        {
            for (name, value) in map {
                self.add(&format!("{path}.{name}"), value, depth + 1);
            }
            return;
        }
        let text = match value {
            Value::String(_) => true,
            Value::Array(list) => list.first().is_some_and(Value::is_string),
            _ => false,
        };
        if let Some((_, is_text)) = self.fields.iter_mut().find(|(known, _)| known == path) {
            *is_text |= text;
        } else if self.fields.len() < MAX_FIELDS {
            self.fields.push((path.into(), text));
        }
    }

    /// Returns the field that usually contains the text, or the only field of complete records.
    pub(crate) fn text_field(&self) -> Option<&str> {
        let usual = self
            .fields
            .iter()
            .filter(|(_, is_text)| *is_text)
            .filter_map(|(name, _)| {
                let depth = name.matches('.').count();
                text_name_rank(name).map(|rank| ((depth, rank), name))
            })
            .min_by_key(|(rank, _)| *rank);
        match (&self.fields[..], usual) {
            (_, Some((_, name))) => Some(name),
            ([(only, true)], None) if !self.partial => Some(only),
            _ => None,
        }
    }

    /// Returns whether all records of a text that was read completely are objects in the sample.
    pub(crate) fn is_complete(&self) -> bool {
        let rest = self.strings + self.others + self.damaged;
        (1..MAX_SAMPLED_RECORDS).contains(&self.objects) && rest == 0
    }

    /// Returns whether a record has a field, or an object or list with this path.
    pub(crate) fn has_field(&self, path: &str) -> bool {
        // Elements of lists are addressed by their numbers and are not collected.
        let is_in = |known: &str| {
            known == path
                || known.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))
                || path.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'))
        };
        self.fields.iter().any(|(known, _)| is_in(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str, envelope: JsonEnvelope, step: usize) -> Result<Vec<String>, JsonSyntaxError> {
        let mut splitter = JsonSplitter::new(envelope);
        let (mut buffer, mut all) = (Vec::new(), Vec::new());
        let mut parts = text.as_bytes().chunks(step).peekable();
        loop {
            buffer.extend_from_slice(parts.next().unwrap_or_default());
            let last = parts.peek().is_none();
            let mut records = Vec::new();
            let used = splitter.split(&buffer, last, &mut records)?;
            all.extend(records.iter().map(|r| String::from_utf8_lossy(&buffer[r.clone()]).into_owned()));
            if let (Some(first), Some(last)) = (records.first(), records.last()) {
                let bytes = &buffer[first.start..last.end];
                let (mut at, mut again) = (0, 0);
                while let Some(record) = next_record(bytes, at) {
                    at = record.end;
                    again += 1;
                }
                assert_eq!(again, records.len(), "{text}");
            }
            buffer.drain(..used);
            if last {
                return Ok(all);
            }
        }
    }

    #[test]
    fn every_shape_is_split() {
        let member = || JsonEnvelope::Member("data".into());
        for (text, envelope, records) in [
            ("{\"a\":1}\n{\"b\":\"}\"}", JsonEnvelope::Values, vec!["{\"a\":1}", "{\"b\":\"}\"}"]),
            (
                "{\n \"a\": [1, {}]\n}{} \"s\" 12",
                JsonEnvelope::Values,
                vec!["{\n \"a\": [1, {}]\n}", "{}", "\"s\"", "12"],
            ),
            ("\x1e{}\n\x1e{}\n", JsonEnvelope::Values, vec!["{}", "{}"]),
            (
                " [ {\"a\":\"\\\"]\"} , \"x, y\",3]\n",
                JsonEnvelope::Array,
                vec!["{\"a\":\"\\\"]\"}", "\"x, y\"", "3"],
            ),
            ("[]", JsonEnvelope::Array, vec![]),
            ("[{}]\n[{}]", JsonEnvelope::Array, vec!["{}", "{}"]),
            ("{\"n\":2,\"data\":[{},{}],\"meta\":{\"data\":[1]}}", member(), vec!["{}", "{}"]),
            ("{\"data\":[]}", member(), vec![]),
            ("", JsonEnvelope::Values, vec![]),
        ] {
            for step in [1, 2, 5, 1000] {
                assert_eq!(split(text, envelope.clone(), step).unwrap(), records, "{text} {step}");
            }
        }
    }

    #[test]
    fn broken_structures_are_refused() {
        let member = || JsonEnvelope::Member("data".into());
        for (text, envelope, at, expected) in [
            ("[{}", JsonEnvelope::Array, 3, "] at the end"),
            ("[{}, {\"a", JsonEnvelope::Array, 5, "a complete JSON value"),
            ("[{}] x", JsonEnvelope::Array, 5, "the end of the file"),
            ("{}]", JsonEnvelope::Values, 2, "a record"),
            ("{}\n// x\n{}", JsonEnvelope::Values, 3, "no comments"),
            ("[{}, [1]]", JsonEnvelope::Array, 5, "instead of a list"),
            ("{\"data\":[{}]", member(), 12, "} at the end"),
            ("{\"data\" [{}]", member(), 8, "a colon"),
            ("{\"x\":}", member(), 5, "a value"),
        ] {
            let error = split(text, envelope, 1000).unwrap_err();
            assert!(error.at == at && error.expected.contains(expected), "{text}: {error:?}");
        }
    }

    #[test]
    fn envelopes() {
        let member = |name: &str| JsonEnvelope::Member(name.into());
        for (text, envelope) in [
            ("[{\"a\":1}]", JsonEnvelope::Array),
            ("{\"text\":\"a\"}", JsonEnvelope::Values),
            ("{\"a\":1}{\"a\":2}", JsonEnvelope::Values),
            ("{\"total\":2,\"docs\":[{\"text\":\"a\"}]}", member("docs")),
            ("{\"docs\":[{\"text\":\"a", member("docs")),
            ("{\"texts\":[\"a\"]}", member("texts")),
            ("{\"text\":\"a\",\"authors\":[{\"name\":\"b\"}]}", JsonEnvelope::Values),
            ("{\"a\":[{}],\"b\":[{}]}", JsonEnvelope::Values),
            ("{\"title\":\"a\",\"keywords\":[\"b\"],\"story_full\":\"c\"}", JsonEnvelope::Values),
            ("{\"language\":\"en\",\"texts\":[\"a\"]}", member("texts")),
            ("{\"x\":\"a b c d e f\",\"authors\":[{\"name\":\"b\"}]}", JsonEnvelope::Values),
            ("{\"x\":\"a b c d e f\",\"rows\":[{\"text\":\"b\"}]}", member("rows")),
            ("{\"note\":\"a b c d e f\",\"docs\":[{\"text\":\"b\"}]}", member("docs")),
            ("{\"note\":\"a\",\"text\":\"b\",\"docs\":[{\"text\":\"b\"}]}", JsonEnvelope::Values),
            ("{\"note\":\"a\",\"authors\":[{\"name\":\"b\"}]}", JsonEnvelope::Values),
        ] {
            assert_eq!(find_envelope(text.as_bytes(), &[]), envelope, "{text}");
        }
        let given = ["words".to_owned()];
        assert_eq!(find_envelope(b"{\"words\":[\"a\",\"b\"]}", &given), JsonEnvelope::Values);
    }

    #[test]
    fn shapes_without_records() {
        for (text, shape) in [
            ("{\"columns\":[\"id\"],\"index\":[0],\"data\":[[0]]}", Some(JsonShape::Split)),
            ("{\"columns\":[\"id\"],\"data\":[{\"text\":\"a\"}]}", None),
            ("{\"text\":{\"0\":\"a\",\"1\":\"b\"}}", Some(JsonShape::Objects)),
            ("{\"took\":1,\"hits\":{\"hits\":[{\"a\":1}]}}", Some(JsonShape::Nested("hits.hits".into()))),
            ("{\"a\":{\"b\":1}}\n{\"a\":{\"b\":1}}", None),
            ("{\"text\":\"a\"}", None),
            ("{}", None),
            ("[]", None),
        ] {
            assert_eq!(JsonShape::find(text.as_bytes()), shape, "{text}");
        }
    }

    #[test]
    fn json_is_told_from_prose() {
        for text in ["[{\"a\":1}]", "[ \"a\", \"b\"]", "[\"a\"]", "[]", "[[\"a\"]]", " [\n{}\n]"] {
            assert!(is_json_array(text.as_bytes()), "{text}");
        }
        for text in ["[1] Smith", "[Music]", "[\"Hello,\" he said]", "[", "[x", "[] and more"] {
            assert!(!is_json_array(text.as_bytes()), "{text}");
        }
        for (text, is_object) in [
            ("{\"a\": 1}", true),
            ("{\n  \"a\"\n:", true),
            ("{}", true),
            ("{a}", false),
            ("{\"a\", b}", false),
        ] {
            assert_eq!(is_json_object(text.as_bytes()), is_object, "{text}");
        }
    }

    #[test]
    fn fields_are_collected() {
        let text = b"[{\"id\":1,\"a\":{\"body\":\"x\"}},{\"id\":2,\"Review\":\"y\"}]";
        let sample = JsonSample::read(text, true, &JsonEnvelope::Array, false);
        let mut names: Vec<&str> = sample.fields.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["Review", "a.body", "id"]);
        assert_eq!(sample.text_field(), Some("Review"));
        assert!(sample.has_field("a.body") && sample.has_field("a") && !sample.has_field("b"));
        let only = JsonSample::read(b"{\"x\":\"y\"}\n", true, &JsonEnvelope::Values, true);
        assert_eq!(only.text_field(), Some("x"));
    }

    #[test]
    fn a_record_that_is_cut_is_a_partial_sample() {
        for (text, envelope, lines) in [
            ("{\"raw\":\"x y", JsonEnvelope::Values, false),
            ("{\"raw\":\"x y", JsonEnvelope::Values, true),
            (" [ {\"raw\":\"x y", JsonEnvelope::Array, false),
            ("{\"n\":1,\"docs\":[ {\"raw\":\"x y", JsonEnvelope::Member("docs".into()), false),
        ] {
            let sample = JsonSample::read(text.as_bytes(), false, &envelope, lines);
            assert!(sample.partial && sample.text_field().is_none(), "{text}");
            assert_eq!(sample.fields, [("raw".to_owned(), true)], "{text}");
            assert!(!has_complete_record(text.as_bytes(), &[], lines), "{text}");
        }
        let known = JsonSample::read(b"{\"raw\":\"x\",\"text\":\"y", false, &JsonEnvelope::Values, false);
        assert_eq!(known.text_field(), Some("text"));
        // What precedes the records is no field of theirs.
        let before = JsonSample::read(b"{\"n\":\"x", false, &JsonEnvelope::Member("docs".into()), false);
        assert!(before.partial && before.fields.is_empty());
        for (text, lines) in [("{\"a\":1}\n", true), ("[{\"a\":1},", false), ("{\"docs\":[{\"a\":1}", false)]
        {
            assert!(has_complete_record(text.as_bytes(), &[], lines), "{text}");
        }
    }

    proptest! {
        /// Any text is split or refused, in the same way however it arrives.
        #[test]
        fn any_text_is_split_or_refused(text in "[\\[\\]{}\",: \\\\a1\n]{0,40}", step in 1usize..6) {
            for envelope in [JsonEnvelope::Values, JsonEnvelope::Array, JsonEnvelope::Member("a".into())] {
                let whole = split(&text, envelope.clone(), 1000);
                let parts = split(&text, envelope.clone(), step);
                prop_assert_eq!(whole.is_ok(), parts.is_ok());
                if let (Ok(whole), Ok(parts)) = (whole, parts) {
                    prop_assert_eq!(whole, parts);
                }
                for whole in [true, false] {
                    JsonSample::read(text.as_bytes(), whole, &envelope, false);
                    JsonSample::read(text.as_bytes(), whole, &envelope, true);
                }
            }
            find_envelope(text.as_bytes(), &[]);
            JsonShape::find(text.as_bytes());
        }
    }
}
