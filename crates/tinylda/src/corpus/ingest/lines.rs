//! Fast reading of lines and parsing of numbers in text files.
//!
//! Start with [`LineReader`], which knows the number of the current line for error messages. The
//! meaning of the fields is left to the readers of the formats.

use std::ops::ControlFlow;

use super::input::Input;
use super::sorter::{CountMemory, CountSizes};
use crate::error::{Error, Position, Result};

/// Callback with the number of bytes read from the input file and the total, if known. It may
/// request a stop.
pub(crate) type ReadProgress<'p> = &'p mut dyn FnMut(u64, Option<u64>) -> ControlFlow<()>;

/// Maximum length of a line in bytes. A line must fit in memory, and a file without line ends must
/// not take all of it.
const MAX_LINE_BYTES: usize = 256 << 20;
const INITIAL_BUFFER_BYTES: usize = 1 << 18;

/// Reader of an input line by line.
pub(crate) struct LineReader<'p> {
    input: Input,
    progress: Option<ReadProgress<'p>>,
    buffer: Vec<u8>,
    filled: usize,
    start: usize,
    end: usize,
    next: usize,
    number: u64,
    at_end: bool,
    memory: Option<CountMemory>,
}

impl<'p> LineReader<'p> {
    pub(crate) fn new(input: Input) -> LineReader<'p> {
        LineReader {
            input,
            progress: None,
            buffer: vec![0; INITIAL_BUFFER_BYTES],
            filled: 0,
            start: 0,
            end: 0,
            next: 0,
            number: 0,
            at_end: false,
            memory: None,
        }
    }

    /// Limits the memory that a line and its entries may take.
    pub(crate) fn limit_memory(&mut self, memory: Option<CountMemory>) {
        self.memory = memory;
    }

    pub(crate) fn with_progress(input: Input, progress: ReadProgress<'p>) -> LineReader<'p> {
        LineReader { progress: Some(progress), ..LineReader::new(input) }
    }

    /// Returns the path of the input.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.input.path
    }

    /// Returns the number of the current line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the current line without its line end.
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Advances to the next line; returns false at the end of the input.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        let mut searched = self.next;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                let end = searched + found;
                self.set_line(end, end + 1);
                return Ok(true);
            }
            if self.at_end {
                if self.next == self.filled {
                    return Ok(false);
                }
                self.set_line(self.filled, self.filled);
                return Ok(true);
            }
            searched = self.filled - self.next;
            self.refill()?;
        }
    }

    /// Returns the buffered bytes after the current line: complete lines, and possibly the
    /// beginning of one.
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.next..self.filled]
    }

    /// Skips the next line. `bytes` is its length, including the line end, which the caller found
    /// in [`unread`](LineReader::unread).
    #[inline]
    pub(crate) fn skip_line(&mut self, bytes: usize) {
        self.next += bytes;
        self.number += 1;
    }

    fn set_line(&mut self, end: usize, next: usize) {
        self.start = self.next;
        self.end = end;
        self.next = next;
        self.number += 1;
        if self.end > self.start && self.buffer[self.end - 1] == b'\r' {
            self.end -= 1;
        }
        if self.number == 1 && self.line().starts_with(b"\xef\xbb\xbf") {
            self.start += 3;
        }
    }

    /// Moves the unread bytes to the front of the buffer and reads more bytes after them.
    fn refill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.next..self.filled, 0);
        self.filled -= self.next;
        self.next = 0;
        if self.filled == self.buffer.len() {
            if self.filled >= MAX_LINE_BYTES {
                self.number += 1;
                return Err(self.line_error(
                    "a line longer than 256 MiB".into(),
                    "one document or entry per line".into(),
                    "check that the file has line ends and the format is right",
                ));
            }
            self.check_line()?;
            self.buffer.resize(self.filled * 2, 0);
        }
        let n = self.input.read(&mut self.buffer[self.filled..])?;
        self.at_end = n == 0;
        self.filled += n;
        let (consumed, total) = (self.input.consumed(), self.input.total);
        if let Some(progress) = &mut self.progress
            && progress(consumed, total).is_break()
        {
            return Err(Error::Interrupted);
        }
        Ok(())
    }

    /// Refuses a line that is longer than the buffer if there is not enough memory for it. Its
    /// length is then found by reading it to its end.
    fn check_line(&mut self) -> Result<()> {
        let Some(memory) = self.memory else { return Ok(()) };
        let fits = |line: u64| memory.check(CountSizes { line, ..CountSizes::default() });
        if fits(2 * self.filled as u64).is_ok() {
            return Ok(());
        }
        let mut length = self.filled as u64;
        loop {
            let n = self.input.read(&mut self.buffer)?;
            match memchr::memchr(b'\n', &self.buffer[..n]) {
                Some(at) => length += at as u64,
                None => length += n as u64,
            }
            if n == 0 || self.buffer[..n].contains(&b'\n') || length > MAX_LINE_BYTES as u64 {
                return fits(length.next_power_of_two());
            }
        }
    }

    /// Advances to the next line that is not blank; returns false at the end of the input.
    pub(crate) fn advance_to_text(&mut self) -> Result<bool> {
        while self.advance()? {
            if !self.line().trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the current line as text; fails if it is not UTF-8.
    pub(crate) fn utf8(&self) -> Result<&str> {
        std::str::from_utf8(self.line()).map_err(|e| {
            self.line_error(
                format!("bytes that are not UTF-8, from byte {} of the line", e.valid_up_to() + 1),
                "UTF-8 text".into(),
                "convert the file to UTF-8, for instance with iconv",
            )
        })
    }

    /// Creates an error about the current line.
    pub(crate) fn line_error(&self, found: String, expected: String, remedy: &str) -> Error {
        Error::Input {
            path: self.input.path.clone(),
            position: Position::Line(self.number),
            found,
            expected: expected.into(),
            remedy: remedy.into(),
        }
    }

    /// Creates an error about the whole input.
    pub(crate) fn file_error(&self, found: String, expected: String, remedy: &str) -> Error {
        Error::Input {
            path: self.input.path.clone(),
            position: Position::Whole,
            found,
            expected: expected.into(),
            remedy: remedy.into(),
        }
    }
}

/// Formats bytes of an input for a message: quoted, truncated and on one line.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    const MAX_QUOTED_BYTES: usize = 60;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_QUOTED_BYTES)]);
    format!("{text:?}{}", if bytes.len() > MAX_QUOTED_BYTES { "…" } else { "" })
}

/// Parses a decimal number at the beginning of `bytes` and returns it with the remaining bytes;
/// `None` if there is no digit or the number exceeds 64 bits.
#[inline]
pub(crate) fn leading_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut n = 0;
    while let Some(&b) = bytes.get(n) {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        // Eighteen digits cannot overflow; longer numbers, such as zero-padded headers, need
        // checked arithmetic.
        value = if n < 18 {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
        n += 1;
    }
    (n > 0).then(|| (value, &bytes[n..]))
}

#[inline]
pub(crate) fn skip_blanks(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    bytes
}

/// Parses a field that consists of a decimal number only.
pub(crate) fn whole_number(field: &[u8]) -> Option<u64> {
    match leading_number(field)? {
        (value, []) => Some(value),
        _ => None,
    }
}

/// Returns the whitespace-separated fields of a line.
pub(crate) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// Parses a count: a whole number from 0 to 2^32-1, also written as `3.0` or `3e0` if `reals` is
/// set. The error describes what was found instead.
#[inline]
pub(crate) fn parse_count(field: &[u8], reals: bool) -> std::result::Result<u32, String> {
    if let Some(value) = whole_number(field) {
        return u32::try_from(value).map_err(|_| format!("the count {value}, which is too large"));
    }
    let text = quoted(field);
    match std::str::from_utf8(field).ok().and_then(|s| s.parse::<f64>().ok()) {
        Some(v) if v.is_nan() => Err(format!("the count {text}, which is not a number")),
        Some(v) if v < 0.0 => Err(format!("the negative count {text}")),
        Some(v) if v > f64::from(u32::MAX) => Err(format!("the count {text}, which is too large")),
        Some(v) if v.fract() != 0.0 => Err(format!("the fractional count {text}")),
        Some(v) if reals => Ok(v as u32),
        _ => Err(format!("{text} instead of a count")),
    }
}

pub(crate) const COUNT_EXPECTED: &str = "a whole number from 1 to 4294967295";
pub(crate) const COUNT_REMEDY: &str =
    "give raw counts instead of weights such as tf-idf, or round them first";

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn lines_of(bytes: &'static [u8]) -> Vec<String> {
        let mut lines = LineReader::new(Input::new(Box::new(bytes), Path::new("x"), None).unwrap());
        let mut all = Vec::new();
        while lines.advance().unwrap() {
            all.push(lines.utf8().unwrap().to_string());
        }
        all
    }

    #[test]
    fn lines_end_as_files_do() {
        assert_eq!(lines_of(b""), [""; 0]);
        assert_eq!(lines_of(b"a"), ["a"]);
        assert_eq!(lines_of(b"a\n"), ["a"]);
        assert_eq!(lines_of(b"\xef\xbb\xbfa\r\n\nb\n"), ["a", "", "b"]);
    }

    #[test]
    fn numbers() {
        assert_eq!(whole_number(b"000000000000000000000000042"), Some(42));
        assert_eq!(whole_number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole_number(b"18446744073709551616"), None);
        assert_eq!(whole_number(b""), None);
        assert_eq!(whole_number(b"-1"), None);
        assert_eq!(parse_count(b"3", false), Ok(3));
        assert_eq!(parse_count(b"3.0", true), Ok(3));
        for bad in [b"3.0".as_slice(), b"x", b""] {
            assert!(parse_count(bad, false).is_err());
        }
        for bad in [b"-3".as_slice(), b"2.5", b"nan", b"inf", b"4294967296", b"1e300"] {
            assert!(parse_count(bad, true).is_err());
        }
    }
}
