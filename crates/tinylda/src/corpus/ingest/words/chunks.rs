//! Division of long texts into chunks that are tokenized one after the other, so that the copies of
//! a text in normal form stay small.
//!
//! The tokens of the chunks are those of the whole text. Chunks end after whitespace. Text without
//! whitespace (Chinese, Japanese) is cut after punctuation, if no rule of the splitter looks beyond
//! it. Start with [`chunks`].

use super::scripts::is_han;
use super::segment::is_blank;

/// Length in bytes up to which a text is not cut.
pub(crate) const CHUNK_BYTES: usize = 1 << 15;

/// Where a text may be cut without a change of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkRule {
    /// Nowhere.
    Nowhere,
    /// At ASCII whitespace.
    Whitespace,
    /// At ASCII whitespace, and after punctuation in long runs of characters without whitespace.
    Punctuation,
}

/// Kind of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkKind {
    /// Text that ends with whitespace or with the text.
    Text,
    /// First part of a run of characters without whitespace that has this length in bytes.
    RunStart(usize),
    /// Further part of such a run.
    RunPart,
}

/// Part of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenizerChunk<'a> {
    pub(super) text: &'a str,
    pub(super) kind: ChunkKind,
    /// Text from the start of the chunk to the end of the text.
    pub(super) from: &'a str,
    /// Whether the chunk is the first one of its text.
    pub(super) is_first: bool,
    rule: ChunkRule,
    size: usize,
}

impl<'a> TokenizerChunk<'a> {
    /// Returns a text as a single chunk.
    pub(super) fn whole(text: &'a str) -> TokenizerChunk<'a> {
        let (kind, rule) = (ChunkKind::Text, ChunkRule::Nowhere);
        TokenizerChunk { text, kind, from: text, is_first: true, rule, size: CHUNK_BYTES }
    }

    /// Returns the parts of the run that this chunk begins.
    pub(super) fn run_parts(&self) -> impl Iterator<Item = &'a str> {
        let (mut run, size) = (self.run(), self.size);
        std::iter::from_fn(move || {
            let (part, rest) = run.split_at_checked(part_length(run.as_bytes(), size))?;
            run = rest;
            (!part.is_empty()).then_some(part)
        })
    }

    fn run(&self) -> &'a str {
        match self.kind {
            ChunkKind::RunStart(length) => self.from.get(..length).unwrap_or_default(),
            _ => self.text,
        }
    }

    /// Returns the chunks after this one, which ends with whitespace or with the text.
    pub(super) fn following(&self) -> impl Iterator<Item = &'a str> {
        let rest = self.from.get(self.text.len()..).unwrap_or_default();
        chunks_of_size(rest, self.rule, self.size).map(|chunk| chunk.text)
    }
}

/// Characters after which a run without whitespace can be cut. The first three begin with the same
/// byte.
const CUTS: [&[u8]; 4] = ["\u{3000}".as_bytes(), "、".as_bytes(), "。".as_bytes(), "，".as_bytes()];
/// Length of each of these characters in bytes.
const CUT_BYTES: usize = 3;

/// Returns whether a text begins with a letter that does not combine with punctuation before it: a
/// Latin letter, a Chinese character or Kana. A digit may continue a number.
fn starts_with_letter(text: &[u8]) -> bool {
    let Some(&first) = text.first() else { return false };
    let width = match first {
        0xe3..=0xef => 3,
        0xf0.. => 4,
        _ => return first.is_ascii_alphabetic(),
    };
    let first = text.get(..width).and_then(|c| std::str::from_utf8(c).ok()?.chars().next());
    first.is_some_and(|c| is_han(c) || matches!(c, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}'))
}

/// Returns the length of the first part of a run: up to the last cut in its first `size` bytes, or
/// the first cut after them.
fn part_length(run: &[u8], size: usize) -> usize {
    if run.len() <= size {
        return run.len();
    }
    let is_cut = |at: &usize| {
        let (cut, after) = run[*at..].split_at_checked(CUT_BYTES).unwrap_or_default();
        CUTS.contains(&cut) && starts_with_letter(after)
    };
    let candidates = |part| memchr::memchr2_iter(CUTS[0][0], CUTS[3][0], part);
    let last = candidates(&run[..size]).rev().find(is_cut);
    let next = || candidates(&run[size..]).map(|at| size + at).find(is_cut);
    last.or_else(next).map_or(run.len(), |at| at + CUT_BYTES)
}

/// Returns whether a run can be cut: rules for addresses look at the run as a whole.
fn is_divisible(run: &[u8], size: usize) -> bool {
    part_length(run, size) < run.len()
        && memchr::memchr(b'@', run).is_none()
        && memchr::memmem::find(run, b"://").is_none()
}

/// Lengths and kinds of the chunks of a text.
struct ChunkLengths<'a> {
    rest: &'a [u8],
    rule: ChunkRule,
    size: usize,
    /// Number of bytes that are left of a run that is cut.
    run: usize,
    done: bool,
}

impl Iterator for ChunkLengths<'_> {
    type Item = (usize, ChunkKind);

    fn next(&mut self) -> Option<(usize, ChunkKind)> {
        if self.done {
            return None;
        }
        let (length, kind) = if self.run > 0 {
            (part_length(&self.rest[..self.run], self.size), ChunkKind::RunPart)
        } else {
            self.next_text()
        };
        self.run = match kind {
            ChunkKind::Text => 0,
            ChunkKind::RunStart(run) => run - length,
            ChunkKind::RunPart => self.run - length,
        };
        self.rest = &self.rest[length..];
        self.done = self.rest.is_empty();
        Some((length, kind))
    }
}

impl ChunkLengths<'_> {
    /// Returns the next chunk outside of a run that is cut: the text as a whole if it is short,
    /// otherwise up to the last line end or whitespace in its first bytes.
    fn next_text(&self) -> (usize, ChunkKind) {
        let text = self.rest;
        if self.rule == ChunkRule::Nowhere || text.len() <= self.size {
            return (text.len(), ChunkKind::Text);
        }
        let head = &text[..self.size];
        let last = memchr::memrchr2(b'\n', b'\r', head)
            .or_else(|| memchr::memrchr2(b' ', b'\t', head))
            .or_else(|| memchr::memrchr2(0x0b, 0x0c, head));
        if let Some(at) = last {
            return (at + 1, ChunkKind::Text);
        }
        let run = text[self.size..].iter().position(|&b| is_blank(b)).map_or(text.len(), |n| self.size + n);
        if self.rule == ChunkRule::Punctuation && is_divisible(&text[..run], self.size) {
            return (part_length(&text[..run], self.size), ChunkKind::RunStart(run));
        }
        // The whitespace after the run belongs to the chunk.
        (text.len().min(run + 1), ChunkKind::Text)
    }
}

fn chunk_lengths(text: &[u8], rule: ChunkRule, size: usize) -> ChunkLengths<'_> {
    ChunkLengths { rest: text, rule, size, run: 0, done: false }
}

/// Returns the length in bytes of the longest chunk of a text.
pub(crate) fn longest_chunk(text: &[u8], rule: ChunkRule) -> usize {
    chunk_lengths(text, rule, CHUNK_BYTES).map(|(length, _)| length).max().unwrap_or(0)
}

/// Returns the text in chunks, at least one. Their tokens in order are those of the text.
pub(crate) fn chunks(text: &str, rule: ChunkRule) -> impl Iterator<Item = TokenizerChunk<'_>> {
    chunks_of_size(text, rule, CHUNK_BYTES)
}

/// Returns the text in chunks of about `size` bytes.
pub(super) fn chunks_of_size(
    text: &str,
    rule: ChunkRule,
    size: usize,
) -> impl Iterator<Item = TokenizerChunk<'_>> {
    let mut from = text;
    chunk_lengths(text.as_bytes(), rule, size).enumerate().map(move |(i, (length, kind))| {
        let (chunk, rest) = from.split_at_checked(length).unwrap_or((from, ""));
        let chunk = TokenizerChunk { text: chunk, kind, from, is_first: i == 0, rule, size };
        from = rest;
        chunk
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chunks_make_up_the_text(
            parts in prop::collection::vec("[a-z]{0,9}|漢字。|。|，|\u{3000}|[é😀 \n@]", 0..60),
            times in 1usize..900,
        ) {
            let text = parts.concat().repeat(times);
            for rule in [ChunkRule::Nowhere, ChunkRule::Whitespace, ChunkRule::Punctuation] {
                let all: Vec<_> = chunks(&text, rule).collect();
                prop_assert_eq!(all.iter().map(|chunk| chunk.text).collect::<String>(), text.clone());
                prop_assert!(all.iter().all(|chunk| chunk.text.len() <= longest_chunk(text.as_bytes(), rule)));
                prop_assert!(rule != ChunkRule::Nowhere || all.len() == 1);
            }
        }
    }

    #[test]
    fn runs_are_cut_after_punctuation_and_elsewhere_not() {
        let cut = |text: &str, rule| {
            chunks_of_size(text, rule, 12).map(|chunk| chunk.text.to_owned()).collect::<Vec<_>>()
        };
        let text = "漢字。漢字、漢字，123，456。end";
        assert_eq!(cut(text, ChunkRule::Punctuation), ["漢字。", "漢字、", "漢字，123，456。", "end"]);
        assert_eq!(cut(text, ChunkRule::Whitespace), [text]);
        let address = "漢字。漢字、漢字，a@b";
        assert_eq!(cut(address, ChunkRule::Punctuation), [address]);
        assert_eq!(
            cut("one two three\nfour five", ChunkRule::Whitespace),
            ["one two ", "three\n", "four five"]
        );
    }
}
