//! Compares the topics of different algorithms by their top words.

use tinylda::eval::best_matching;

use super::runs::{RunKind, SMALL_TOPIC_COUNT};
use super::{Experiments, figures};
use crate::plot::{Drawing, Shape, Text, style, text, width};

/// Words of a topic and their probabilities.
pub(super) type WordProbabilities = Vec<(String, f64)>;

/// Number of words shown per topic.
const SHOWN: usize = 10;
/// Maximum number of characters shown per word.
const LONGEST: usize = 30;

/// Returns the topics of every algorithm that has a result, in the order of the most similar topics
/// of the first algorithm.
pub(super) fn matched_topics(all: &Experiments) -> Vec<(&'static str, Vec<WordProbabilities>)> {
    let Some(data) = all.words_corpus.map(|at| &all.corpora[at]) else { return Vec::new() };
    let mut found: Vec<(&'static str, Vec<WordProbabilities>)> = Vec::new();
    for &algorithm in &all.setup.algorithms {
        let record = all.record(RunKind::Train, &data.name, algorithm, SMALL_TOPIC_COUNT);
        let Some(topics) = record.and_then(|r| r.outcome.as_ref()).map(|o| &o.topics) else { continue };
        let topics = match found.first() {
            Some((_, first)) => best_match(first, topics).into_iter().map(|k| topics[k].clone()).collect(),
            None => topics.clone(),
        };
        found.push((algorithm.name(), topics));
    }
    found
}

/// Returns the cosine similarity of two topics.
fn cosine(a: &WordProbabilities, b: &WordProbabilities) -> f64 {
    let of: std::collections::HashMap<&str, f64> = b.iter().map(|(word, p)| (word.as_str(), *p)).collect();
    let product: f64 = a.iter().filter_map(|(word, p)| Some(p * of.get(word.as_str())?)).sum();
    let length = |topic: &WordProbabilities| topic.iter().map(|(_, p)| p * p).sum::<f64>().sqrt();
    product / (length(a) * length(b)).max(f64::MIN_POSITIVE)
}

/// Matches every topic of `first` with one of `others`, so that the sum of similarities is largest.
fn best_match(first: &[WordProbabilities], others: &[WordProbabilities]) -> Vec<usize> {
    let n = first.len().min(others.len());
    best_matching(n, &mut |i, row| {
        row.iter_mut().zip(others).for_each(|(value, other)| *value = cosine(&first[i], other));
    })
}

/// Returns the words of a topic that are shown.
pub(super) fn top_words(topic: &WordProbabilities) -> Vec<String> {
    // A word may be as long as a line of the input.
    topic.iter().take(SHOWN).map(|(word, _)| word.chars().take(LONGEST).collect()).collect()
}

/// Draws one block per topic, with one line per algorithm in its colour.
pub(super) fn drawing(title: &str, matched: &[(&'static str, Vec<WordProbabilities>)]) -> Drawing {
    const LINE: f64 = 16.0;
    const SIZE: f64 = 11.5;
    const COLUMNS: usize = 2;
    let topics = matched.iter().map(|(_, topics)| topics.len()).max().unwrap_or(0);
    let rows = topics.div_ceil(COLUMNS);
    let names = matched.iter().map(|(name, _)| width(name, SIZE, true)).fold(0.0, f64::max) + 10.0;
    let line = |topic: &WordProbabilities| top_words(topic).join("  ");
    let longest = matched.iter().flat_map(|(_, topics)| topics).map(|t| width(&line(t), SIZE, false));
    let column = names + longest.fold(300.0, f64::max) + 30.0;
    let block = (matched.len() as f64 + 1.9) * LINE;
    let mut shapes = vec![Shape::Text(Text { bold: true, ..text((16.0, 28.0), title, 15.0) })];
    for k in 0..topics {
        let (x, mut y) = (16.0 + (k / rows) as f64 * column, 58.0 + (k % rows) as f64 * block);
        let heading = format!("Topic {}", k + 1);
        shapes.push(Shape::Text(Text { bold: true, ..text((x, y), &heading, SIZE) }));
        let rule = (column - 30.0, 1.0);
        shapes.push(Shape::Rectangle { at: (x, y + 4.0), size: rule, fill: figures::RULE });
        for (name, topics) in matched {
            y += LINE;
            let colour = style(name).colour.for_text();
            shapes.push(Shape::Text(Text { colour, bold: true, ..text((x, y + 3.0), name, SIZE) }));
            let words = topics.get(k).map(line).unwrap_or_default();
            shapes.push(Shape::Text(Text { colour, ..text((x + names, y + 3.0), &words, SIZE) }));
        }
    }
    let width = (16.0 + column * COLUMNS as f64).max(width(title, 15.0, true) + 32.0);
    Drawing { width, height: 58.0 + rows as f64 * block, shapes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_topics_are_matched() {
        let topic = |words: &str| -> WordProbabilities {
            words.split(' ').enumerate().map(|(i, w)| (w.to_owned(), 1.0 / (i + 1) as f64)).collect()
        };
        let first = [topic("a b c"), topic("d e f"), topic("g h i")];
        let others = [topic("h g x"), topic("c b a"), topic("d e a")];
        assert_eq!(best_match(&first, &others), [1, 2, 0]);
        assert!((cosine(&first[0], &first[0]) - 1.0).abs() < 1e-12);
        assert!(best_match(&[], &[]).is_empty());
        let drawing = drawing("words", &[("tbp", first.to_vec()), ("bp", others.to_vec())]);
        assert!(drawing.width > 300.0 && drawing.shapes.len() > 12);
    }
}
