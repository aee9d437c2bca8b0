//! The two tables of a model: words by topics, and documents by topics.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::{file, folder, push_float};
use crate::error::Result;
use crate::infer::Mixtures;
use crate::model::Model;
use crate::numbers::{push_number, push_share};

/// Writes `topic-word.csv` (a line per word: p(w|k) of every topic) into a folder, and `doc-topic.csv` (a line per document: number from 1,
/// name, tokens, p(k|d) of every topic) where there are documents. Returns their names.
pub fn save_csv(
    model: &Model,
    mixtures: Option<&Mixtures<'_>>,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Vec<PathBuf>> {
    folder(to)?;
    let topics: String = (0..model.topics()).map(|k| format!(",topic_{k}")).collect();
    let mut files = vec![file(to, "topic-word.csv", |out| {
        let mut lines = format!("word{topics}\n").into_bytes();
        for w in 0..model.words() {
            push_quoted(&mut lines, &model.word_name(w));
            for p in model.probabilities(w) {
                lines.push(b',');
                push_float(&mut lines, p as f32);
            }
            lines.push(b'\n');
            out.drain(&mut lines)?;
        }
        out.put(&lines)
    })?];
    if let Some(mixtures) = mixtures {
        files.push(file(to, "doc-topic.csv", |out| {
            out.put(format!("document,name,tokens{topics}\n").as_bytes())?;
            mixtures.each(
                |mixture, lines: &mut Vec<u8>| {
                    push_number(lines, mixture.number + 1);
                    lines.push(b',');
                    push_quoted(lines, mixture.name);
                    lines.push(b',');
                    push_number(lines, mixture.tokens);
                    for &p in mixture.proportions {
                        lines.push(b',');
                        push_share(lines, p);
                    }
                    lines.push(b'\n');
                    Ok(())
                },
                |lines| out.put(&lines),
                progress,
            )
        })?);
    }
    Ok(files)
}

/// A text as a field: in quotes where it must be (RFC 4180).
fn push_quoted(out: &mut Vec<u8>, text: &str) {
    if text.contains(['"', ',', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_quoted_where_they_must_be() {
        for (text, field) in [("a b", "a b"), ("a,b", "\"a,b\""), ("say \"x\"", "\"say \"\"x\"\"\""), ("", "")] {
            let mut out = Vec::new();
            super::push_quoted(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), field);
        }
    }
}
