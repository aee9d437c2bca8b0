//! Exports a model in MALLET's file formats, as of version 2.0.8 and later.
//!
//! ```text
//! topic-keys.txt          k \t alpha[k] \t the top words, a space after each
//! topic-word-weights.txt  k \t word \t phi[w,k] + beta                     K*W lines
//! word-topic-counts.txt   w word k:count k:count ...                       largest first
//! doc-topics.txt          d \t name \t p(0|d) \t ... \t p(K-1|d)           from 0, no header
//! doc-metadata.tsv        document from 1, name, labels, date, with a header; not MALLET's
//! state.gz                #doc source pos typeindex type topic, #alpha : ..., #beta : ...,
//!                         then a line per token
//! ```
//!
//! MALLET's counts are integers, those of phi are not: `word-topic-counts` contains phi rounded so
//! that the counts of a word still add up to its tokens (the largest remainders are rounded up).
//! The topic of each token in the state is sampled from p(k|w,d), which is proportional to
//! p(w|k) p(k|d), with random numbers that depend on (seed, document): the state is that of one
//! more iteration of Gibbs sampling. The tokens of a document are in the order of word ids, since
//! a corpus does not record another order.
//!
//! Start reading at [`save_mallet`].

use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{ExportFolder, PathWriter, push_float};
use crate::corpus::metadata_table;
use crate::error::{Error, Result};
use crate::infer::{Mixture, Mixtures, push_field};
use crate::model::Model;
use crate::numbers::{push_number, push_share};
use crate::progress::ProgressCallback;
use crate::random::{Purpose, Random};
use crate::table::TableFormat;

/// Options of the export to MALLET's formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalletOptions {
    /// Number of words per topic in `topic-keys.txt`.
    pub words: usize,
    /// Seed of the topics that are sampled for `state.gz`.
    pub seed: u64,
}

/// Writes the files of the model, and those of the documents if there are any, to a folder. Returns
/// the paths of the files.
pub fn save_mallet(
    model: &Model,
    mixtures: Option<&Mixtures<'_>>,
    to: impl AsRef<Path>,
    settings: &MalletOptions,
    progress: ProgressCallback<'_>,
) -> Result<Vec<PathBuf>> {
    let mut files = ExportFolder::create(to.as_ref())?;
    files.write("topic-keys.txt", |out| topic_keys(model, settings.words, out))?;
    files.write("topic-word-weights.txt", |out| topic_word_weights(model, out))?;
    files.write("word-topic-counts.txt", |out| word_topic_counts(model, out))?;
    if let Some(mixtures) = mixtures {
        let corpus = mixtures.corpus();
        if corpus.has_labels() || corpus.has_dates() {
            let path = files.path("doc-metadata.tsv");
            let table = metadata_table(corpus, &path, TableFormat::Tsv, progress)?;
            files.add_table(path, table)?;
        }
        files.write("doc-topics.txt", |out| doc_topics(mixtures, out, progress))?;
        files.write("state.gz", |out| state(mixtures, settings.seed, out, progress))?;
    }
    files.commit()
}

/// Appends a word as one field of a line with space-separated fields: whitespace and control
/// characters become underscores.
fn push_word(out: &mut Vec<u8>, word: &str) {
    let mut buffer = [0; 4];
    for c in word.chars() {
        let c = if c.is_whitespace() || c.is_control() { '_' } else { c };
        out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    }
}

/// Writes `topic-keys.txt`.
fn topic_keys(model: &Model, words: usize, out: &mut PathWriter<'_>) -> Result<()> {
    let mut line = Vec::new();
    for ((k, words), &alpha) in (0..).zip(model.top_words(words)).zip(model.alpha()) {
        push_number(&mut line, k);
        line.push(b'\t');
        push_float(&mut line, alpha);
        line.push(b'\t');
        for word in words {
            push_word(&mut line, &model.word_name(word.word));
            line.push(b' ');
        }
        line.push(b'\n');
    }
    out.write(&line)
}

/// Writes `topic-word-weights.txt`.
fn topic_word_weights(model: &Model, out: &mut PathWriter<'_>) -> Result<()> {
    let mut lines = Vec::new();
    for k in 0..model.topics() {
        for w in 0..model.words() {
            push_number(&mut lines, u64::from(k));
            lines.push(b'\t');
            push_word(&mut lines, &model.word_name(w));
            lines.push(b'\t');
            push_float(&mut lines, model.phi(w)[k as usize] + model.beta());
            lines.push(b'\n');
            out.flush_if_large(&mut lines)?;
        }
    }
    out.write(&lines)
}

/// Rounds the counts of a word to integers that add up to the rounded sum: all are rounded down,
/// then those with the largest remainders up. Returns (topic, count) pairs, largest count first.
fn round_counts(phi: &[f32]) -> Vec<(u32, u64)> {
    let total = phi.iter().map(|&n| f64::from(n)).sum::<f64>().round() as u64;
    let mut all: Vec<(u32, u64, f32)> =
        (0..).zip(phi).filter(|&(_, &n)| n > 0.0).map(|(k, &n)| (k, n.floor() as u64, n.fract())).collect();
    let left = total.saturating_sub(all.iter().map(|&(_, n, _)| n).sum()) as usize;
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    all.iter_mut().take(left).for_each(|(_, n, _)| *n += 1);
    let mut counts: Vec<(u32, u64)> =
        all.into_iter().map(|(k, n, _)| (k, n)).filter(|&(_, n)| n > 0).collect();
    counts.sort_by_key(|&(k, n)| (std::cmp::Reverse(n), k));
    counts
}

/// Writes `word-topic-counts.txt`.
fn word_topic_counts(model: &Model, out: &mut PathWriter<'_>) -> Result<()> {
    let mut lines = Vec::new();
    for w in 0..model.words() {
        push_number(&mut lines, u64::from(w));
        lines.push(b' ');
        push_word(&mut lines, &model.word_name(w));
        for (k, n) in round_counts(model.phi(w)) {
            lines.push(b' ');
            push_number(&mut lines, u64::from(k));
            lines.push(b':');
            push_number(&mut lines, n);
        }
        lines.push(b'\n');
        out.flush_if_large(&mut lines)?;
    }
    out.write(&lines)
}

/// Appends the name of a document, or its number from 1 if it has none.
fn push_name(out: &mut Vec<u8>, mixture: &Mixture<'_>) {
    if mixture.name.trim().is_empty() {
        push_number(out, mixture.number + 1);
    } else {
        push_field(out, mixture.name);
    }
}

/// Writes `doc-topics.txt`.
fn doc_topics(
    mixtures: &Mixtures<'_>,
    out: &mut PathWriter<'_>,
    progress: ProgressCallback<'_>,
) -> Result<()> {
    mixtures.for_each(
        |mixture, lines: &mut Vec<u8>| {
            push_number(lines, mixture.number);
            lines.push(b'\t');
            push_name(lines, mixture);
            for &p in mixture.proportions {
                lines.push(b'\t');
                push_share(lines, p);
            }
            lines.push(b'\n');
            Ok(())
        },
        |lines| out.write(&lines),
        progress,
    )
}

/// Writes `state.gz`.
fn state(
    mixtures: &Mixtures<'_>,
    seed: u64,
    out: &mut PathWriter<'_>,
    progress: ProgressCallback<'_>,
) -> Result<()> {
    let model = mixtures.model();
    let path = out.path;
    let mut zip = GzEncoder::new(&mut out.out, Compression::new(6));
    let mut zipped = PathWriter { out: &mut zip, path };
    let mut head = b"#doc source pos typeindex type topic\n#alpha : ".to_vec();
    for &alpha in model.alpha() {
        push_float(&mut head, alpha);
        head.push(b' ');
    }
    head.extend_from_slice(b"\n#beta : ");
    push_float(&mut head, model.beta());
    head.push(b'\n');
    zipped.write(&head)?;
    mixtures.for_each(
        |mixture, lines: &mut Vec<u8>| {
            push_token_lines(model, mixture, seed, lines);
            Ok(())
        },
        |lines| zipped.write(&lines),
        progress,
    )?;
    zip.finish().map(drop).map_err(Error::io("write", path))
}

/// Appends a line for every token of a document, with a sampled topic.
fn push_token_lines(model: &Model, mixture: &Mixture<'_>, seed: u64, lines: &mut Vec<u8>) {
    let mut random = Random::new(seed, Purpose::MalletState, mixture.number);
    let mut sums = vec![0f64; mixture.proportions.len()];
    let mut position = 0;
    let mut start = Vec::new();
    push_number(&mut start, mixture.number);
    start.push(b' ');
    if mixture.name.trim().is_empty() {
        push_number(&mut start, mixture.number + 1);
    } else {
        push_word(&mut start, mixture.name);
    }
    start.push(b' ');
    for (&w, &x) in mixture.document.words.iter().zip(mixture.document.counts) {
        let mut sum = 0.0;
        for ((to, p), &share) in sums.iter_mut().zip(model.probabilities(w)).zip(mixture.proportions) {
            sum += p * f64::from(share);
            *to = sum;
        }
        for _ in 0..x {
            let drawn = random.unit() * sum;
            let k = sums.partition_point(|&s| s <= drawn).min(sums.len() - 1);
            lines.extend_from_slice(&start);
            push_number(lines, position);
            lines.push(b' ');
            push_number(lines, u64::from(w));
            lines.push(b' ');
            push_word(lines, &model.word_name(w));
            lines.push(b' ');
            push_number(lines, k as u64);
            lines.push(b'\n');
            position += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_counts_add_up_to_the_sum() {
        assert_eq!(round_counts(&[0.4, 2.3, 0.0, 1.3]), [(1, 2), (0, 1), (3, 1)]);
        assert_eq!(round_counts(&[0.0, 5.0]), [(1, 5)]);
        assert_eq!(round_counts(&[0.0, 0.0]), []);
        for phi in [vec![0.3f32; 10], vec![1.5, 2.5, 3.5], vec![1e6 + 0.25, 0.75]] {
            let sum: f64 = phi.iter().map(|&n| f64::from(n)).sum();
            assert_eq!(round_counts(&phi).iter().map(|&(_, n)| n).sum::<u64>(), sum.round() as u64);
        }
    }

    #[test]
    fn words_stay_one_field() {
        let mut out = Vec::new();
        push_word(&mut out, "new york\tcity\u{a0}é");
        assert_eq!(String::from_utf8(out).unwrap(), "new_york_city_é");
    }
}
