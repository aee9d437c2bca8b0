//! Texts with their order, for coherence: a file with a document per line.

use crate::corpus::ingest::input::Input;
use crate::corpus::ingest::lines::{Lines, ReadProgress};
use crate::error::Result;

/// Bytes of text that are handed to a thread at a time.
const BATCH: usize = 1 << 18;

/// Some lines.
#[derive(Debug, Default)]
pub(super) struct Batch {
    text: String,
    ends: Vec<usize>,
}

impl Batch {
    /// Each line, empty ones too.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }
}

/// The lines of a file in batches.
pub(super) struct Batches<'p> {
    lines: Lines<'p>,
}

impl<'p> Batches<'p> {
    pub(super) fn new(input: Input, progress: ReadProgress<'p>) -> Batches<'p> {
        Batches { lines: Lines::with_progress(input, progress) }
    }

    /// The next lines; nothing at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Batch>> {
        let mut batch = Batch::default();
        while batch.text.len() + batch.ends.len() < BATCH {
            if !self.lines.advance()? {
                break;
            }
            let text = self.lines.utf8()?;
            if memchr::memchr(0, text.as_bytes()).is_some() {
                return Err(self.lines.bad(
                    "a zero byte".into(),
                    "text".into(),
                    "This seems to be a binary file: give text, one document per line, or a corpus file.",
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
        let mut go_on = |_, _| ControlFlow::Continue(());
        let mut batches = Batches::new(input, &mut go_on);
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
            // Many copies of a long line go over several batches.
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
