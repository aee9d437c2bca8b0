//! Detection of the format of records by the first lines of an input.

use crate::corpus::ingest::Format;
use crate::corpus::ingest::raw::json::{
    JsonEnvelope, find_envelope, is_json_array, is_json_object, is_one_object,
};
use crate::corpus::ingest::raw::table::detect_table;

/// Detects the format of records, and the delimiter of a table. `whole` is set if the input ends
/// with these bytes.
pub(crate) fn detect_records(start: &[u8], whole: bool) -> (Format, Option<u8>) {
    const MAX_JUDGED_LINES: usize = 20;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let mut lines: Vec<&[u8]> = start
        .split_inclusive(|&b| b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .take(MAX_JUDGED_LINES)
        .collect();
    // The last line may be incomplete.
    if !whole && lines.len() > 1 {
        lines.pop_if(|last| !last.ends_with(b"\n"));
    }
    let all =
        |test: &dyn Fn(&[u8]) -> bool| !lines.is_empty() && lines.iter().all(|line| test(line.trim_ascii()));
    if is_json_array(start) {
        return (Format::Json, None);
    }
    if is_json_object(start) {
        let is_object = |line: &&[u8]| is_one_object(line.trim_ascii());
        let objects = lines.iter().filter(|line| is_object(line)).count();
        // Most lines decide, so that a damaged line is reported by its number.
        let is_lines = lines.first().is_some_and(is_object)
            && 2 * objects >= lines.len()
            && (lines.len() > 1 || !is_envelope(start));
        return (if is_lines { Format::JsonLines } else { Format::Json }, None);
    }
    let vowpal = |line: &[u8]| {
        memchr::memchr(b'|', line).is_some_and(|bar| {
            let head = &line[..bar];
            head.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty()).all(|part| {
                part.starts_with(b"'")
                    || std::str::from_utf8(part).is_ok_and(|text| text.parse::<f64>().is_ok())
            })
        })
    };
    if all(&vowpal) {
        return (Format::VowpalWabbit, None);
    }
    match detect_table(start, whole) {
        Some(delimiter) => (Format::Csv, Some(delimiter)),
        None => (Format::Text, None),
    }
}

/// Returns whether a text is one object with an array of records.
fn is_envelope(start: &[u8]) -> bool {
    matches!(find_envelope(start, &[]), JsonEnvelope::Member(_))
}
