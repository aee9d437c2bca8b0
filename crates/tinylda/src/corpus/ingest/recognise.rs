//! Which format a file is in, from its first lines.
//!
//! Most lines decide, not all of them: a file of numbers with a bad line among the first should be told so by its own
//! reader, and not be taken for text.

use super::Format;
use super::lines::{fields, whole_number};

/// Lines that are looked at.
const LINES: usize = 50;

fn numeric(field: &[u8]) -> bool {
    std::str::from_utf8(field).is_ok_and(|s| s.parse::<f64>().is_ok())
}

/// `12:…`, whatever stands behind the colon.
fn pair(field: &[u8]) -> bool {
    memchr::memchr(b':', field)
        .is_some_and(|at| whole_number(&field[..at]).is_some() || &field[..at] == b"qid")
}

/// At least half.
fn most(lines: &[&[&[u8]]], test: impl Fn(&[&[u8]]) -> bool) -> bool {
    2 * lines.iter().filter(|line| test(line)).count() >= lines.len()
}

/// The format of a file that begins so. Text is what is left when nothing else fits.
pub(super) fn recognise(start: &[u8]) -> Format {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    // Only whole lines can be judged, unless there is but one.
    let whole = memchr::memrchr(b'\n', start).map_or(start, |end| &start[..end]);
    let split: Vec<Vec<&[u8]>> = whole
        .split(|&b| b == b'\n')
        .map(|line| fields(line).collect::<Vec<_>>())
        .filter(|line| !line.is_empty())
        .take(LINES)
        .collect();
    let lines: Vec<&[&[u8]]> = split.iter().map(Vec::as_slice).collect();
    let Some(first) = lines.first() else { return Format::Text };
    let banner = first[0].to_ascii_lowercase();
    if banner.starts_with(b"%") && memchr::memmem::find(&banner, b"matrixmarket").is_some() {
        return Format::MatrixMarket;
    }
    let (head, entries) = lines.split_at(lines.len().min(3));
    let header = head.iter().filter(|line| line.len() == 1 && numeric(line[0])).count();
    let triples = most(entries, |line| line.len() == 3 && line.iter().all(|field| numeric(field)));
    if triples && (header == 3 || header == 2 && !entries.is_empty()) {
        return Format::Uci;
    }
    let documents: Vec<&[&[u8]]> = lines
        .iter()
        .map(|line| &line[..line.iter().position(|field| field.starts_with(b"#")).unwrap_or(line.len())])
        .filter(|line| !line.is_empty())
        .collect();
    let pairs = most(&documents, |line| numeric(line[0]) && line[1..].iter().all(|field| pair(field)));
    if documents.is_empty() || !pairs || !documents.iter().any(|line| line.len() > 1) {
        return Format::Text;
    }
    let counted = most(&documents, |line| whole_number(line[0]) == Some(line.len() as u64 - 1));
    if counted { Format::LdaC } else { Format::SvmLight }
}
