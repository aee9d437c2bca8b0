//! Reads reference texts for coherence: a file with a document per line, whose words are in order.
//!
//! Start reading at [`LineBatches`]. This module must not know how texts are tokenized or counted.

use crate::corpus::ingest::input::Input;
use crate::corpus::ingest::lines::{LineReader, ReadProgress};
use crate::error::Result;

/// Approximate size of a batch in bytes.
const BATCH_BYTES: usize = 1 << 18;

/// A batch of lines, the unit of work of a thread.
#[derive(Debug, Default)]
pub(super) struct LineBatch {
    text: String,
    ends: Vec<usize>,
}

impl LineBatch {
    /// Iterates over the lines, including empty ones.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }
}

/// Reads the lines of a file in batches.
pub(super) struct LineBatches<'p> {
    lines: LineReader<'p>,
}

impl<'p> LineBatches<'p> {
    pub(super) fn new(input: Input, progress: ReadProgress<'p>) -> LineBatches<'p> {
        LineBatches { lines: LineReader::with_progress(input, progress) }
    }

    /// Returns the next batch, or `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<LineBatch>> {
        let mut batch = LineBatch::default();
        while batch.text.len() + batch.ends.len() < BATCH_BYTES {
            if !self.lines.advance()? {
                break;
            }
            let text = self.lines.utf8()?;
            if memchr::memchr(0, text.as_bytes()).is_some() {
                return Err(self.lines.line_error(
                    "a zero byte".into(),
                    "text".into(),
                    "this seems to be a binary file; give text, one document per line, or a corpus file",
                ));
            }
            batch.text.push_str(text);
            batch.ends.push(batch.text.len());
        }
        Ok((!batch.ends.is_empty()).then_some(batch))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;

    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<Vec<String>> {
        let input = Input::new(Box::new(std::io::Cursor::new(bytes.to_vec())), Path::new("x"), None)?;
        let mut progress = |_, _| ControlFlow::Continue(());
        let mut batches = LineBatches::new(input, &mut progress);
        let mut lines = Vec::new();
        while let Some(batch) = batches.next()? {
            lines.extend(batch.lines().map(str::to_owned));
        }
        Ok(lines)
    }

    #[test]
    fn bad_texts_are_refused_with_their_line() {
        assert!(read(b"a\n\xff\n").unwrap_err().to_string().contains("line 2"));
        assert!(read(b"a\nb\nc\0\n").unwrap_err().to_string().contains("line 3"));
    }

    proptest! {
        #[test]
        fn lines_come_back(lines in prop::collection::vec("[a-z \u{e4}]{0,9}", 0..40), copies in 1usize..4) {
            // Several copies of a long line span more than one batch.
            let mut lines = lines;
            lines.extend(std::iter::repeat_n("word ".repeat(20_000), copies));
            let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            prop_assert_eq!(read(text.as_bytes()).unwrap(), lines);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
        }
    }
}
