//! Figures of a model: its top words, its training perplexity and the map of its topics.

use tinylda::Model;
use tinylda::format::counted;
use tinylda::model::WordRanking;
use tinylda::progress::ProgressCallback;

use super::map::{MapBox, TopicDisc, TopicMapLayout};
use super::{Anchor, Axis, Colour, Drawing, Figure, Panel, Series, Shape, Text, text, width};
use crate::settled::SettledPerplexity;

/// Number of words that label a topic on the map.
const LABEL_WORDS: usize = 3;
/// Name of the series with the perplexities of all passes, which determines its style.
const EACH_PASS: &str = "each pass";
/// Maximum number of characters drawn per word.
const MAX_WORD_LENGTH: usize = 24;

pub(super) const BLUE: Colour = Colour(0, 114, 178);
pub(super) const LIGHT: Colour = Colour(0xb8, 0xd8, 0xec);
const GREY: Colour = Colour(0x80, 0x80, 0x80);

/// Draws a bar chart of the `words` top words of each chosen topic, all with the same scale.
///
/// Topics that the model does not have are omitted.
pub fn topics(model: &Model, chosen: &[u32], words: usize, heading: &str) -> Drawing {
    const EDGE: f64 = 16.0;
    const LINE: f64 = 16.0;
    const SIZE: f64 = 11.0;
    const BAR: f64 = 110.0;
    let all = model.top_words(words);
    let lists: Vec<(u32, Vec<(String, f64)>)> = chosen
        .iter()
        .filter(|&&k| k < model.topics())
        .map(|&k| {
            let list = all[k as usize].iter();
            let word = |w: u32| model.word_name(w).chars().take(MAX_WORD_LENGTH).collect::<String>();
            (k, list.map(|w| (word(w.word), w.probability)).collect())
        })
        .collect();
    let names = lists.iter().flat_map(|(_, list)| list).map(|(word, _)| width(word, SIZE, false));
    let names = names.fold(40.0, f64::max) + 8.0;
    let most = lists.iter().flat_map(|(_, list)| list).map(|(_, p)| *p).fold(f64::MIN_POSITIVE, f64::max);
    let columns = lists.len().clamp(1, 4);
    let (panel, block) = (names + BAR + 52.0, (words as f64 + 2.5) * LINE);
    let rows = lists.len().div_ceil(columns);
    let mut shapes = vec![Shape::Text(Text { bold: true, ..text((EDGE, 28.0), heading, 15.0) })];
    for (i, (k, list)) in lists.iter().enumerate() {
        let x = EDGE + (i % columns) as f64 * panel;
        let mut y = 58.0 + (i / columns) as f64 * block;
        let name = model.topic_name(*k).map_or_else(String::new, |name| {
            format!(": {}", name.chars().take(MAX_WORD_LENGTH).collect::<String>())
        });
        let share = format!("Topic {k}{name}, {:.1}%", 100.0 * model.share(*k));
        shapes.push(Shape::Text(Text { bold: true, ..text((x, y), &share, SIZE + 1.0) }));
        for (word, p) in list {
            y += LINE;
            let name = text((x + names - 6.0, y + 2.0), word, SIZE);
            shapes.push(Shape::Text(Text { anchor: Anchor::End, ..name }));
            let long = (p / most * BAR).max(0.5);
            shapes.push(Shape::Rectangle { at: (x + names, y - 8.0), size: (long, LINE - 5.0), fill: BLUE });
            let value = text((x + names + long + 4.0, y + 2.0), &format!("{p:.3}"), SIZE - 2.0);
            shapes.push(Shape::Text(Text { colour: GREY, ..value }));
        }
    }
    let wide = (EDGE * 2.0 + columns as f64 * panel).max(width(heading, 15.0, true) + 2.0 * EDGE);
    Drawing { width: wide, height: 58.0 + rows as f64 * block, shapes }
}

/// Draws the training perplexity against passes.
pub fn perplexity(model: &Model, heading: &str) -> Drawing {
    let training = model.training();
    let points: Vec<(f64, f64)> =
        training.history.iter().map(|&(pass, perplexity)| (f64::from(pass), perplexity)).collect();
    let mut settled = SettledPerplexity::new(&training.algorithm);
    let line = points.iter().map(|&(pass, perplexity)| (pass, settled.push(perplexity))).collect();
    let mut series = Vec::new();
    let mut label = "passes";
    if settled.oscillates() {
        label = "passes (line: lowest of the last five; dots: each pass)";
        series.push(Series { name: EACH_PASS.into(), points });
    }
    series.push(Series { name: training.algorithm.clone(), points: line });
    let panel = Panel {
        title: counted(model.topics().into(), "topic"),
        x: Axis::new(label, false),
        y: Axis::new("training perplexity", false),
        series,
    };
    Figure { title: heading.into(), columns: 1, panels: vec![panel] }.draw()
}

/// Returns the name of a topic, or else its most relevant words.
fn label_words(model: &Model) -> tinylda::Result<Vec<Vec<String>>> {
    let ranked = model.ranked_words(WordRanking::Relevance(WordRanking::RELEVANCE), LABEL_WORDS)?;
    let word = |w: u32| model.word_name(w).chars().take(MAX_WORD_LENGTH).collect::<String>();
    Ok((0..)
        .zip(ranked)
        .map(|(k, words)| match model.topic_name(k) {
            Some(name) => vec![name.chars().take(2 * MAX_WORD_LENGTH).collect()],
            None => words.iter().map(|w| word(w.word)).collect(),
        })
        .collect())
}

/// Draws the map of topics: discs with an area proportional to the prevalence, each with its
/// number. `progress` can cancel.
pub fn topic_map(
    model: &Model,
    heading: &str,
    threads: usize,
    progress: ProgressCallback<'_>,
) -> tinylda::Result<Drawing> {
    const FIELD: (f64, f64) = (880.0, 640.0);
    const EDGE: f64 = 60.0;
    const TOP: f64 = 44.0;
    let found = tinylda::report::topic_map(model, threads, progress)?;
    let ends = |axis: &[f64]| {
        let low = axis.iter().copied().fold(f64::INFINITY, f64::min);
        (low, axis.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let (x, y) = (ends(&found.x), ends(&found.y));
    // Both axes have the same scale, since the map shows distances.
    let scale =
        ((FIELD.0 - 2.0 * EDGE) / (x.1 - x.0).max(1e-9)).min((FIELD.1 - 2.0 * EDGE) / (y.1 - y.0).max(1e-9));
    let middle = (f64::midpoint(x.0, x.1), f64::midpoint(y.0, y.1));
    let place = |a: f64, b: f64| {
        (FIELD.0 / 2.0 + (a - middle.0) * scale, TOP + FIELD.1 / 2.0 - (b - middle.1) * scale)
    };
    let mut shapes = vec![Shape::Text(Text { bold: true, ..text((16.0, 28.0), heading, 15.0) })];
    let mut order: Vec<u32> = (0..model.topics()).collect();
    order.sort_by(|&a, &b| model.share(b).total_cmp(&model.share(a)));
    // All discs together cover a ninth of the field, which leaves space for the labels.
    let area = FIELD.0 * FIELD.1 / 9.0 / std::f64::consts::PI;
    let mut words = label_words(model)?;
    let discs = order.into_iter().map(|k| {
        let at = place(found.x[k as usize], found.y[k as usize]);
        let radius = (model.share(k) * area).sqrt().clamp(2.0, EDGE - 4.0);
        TopicDisc::new(k, at, radius, std::mem::take(&mut words[k as usize]))
    });
    let field = MapBox { left: 8.0, top: TOP, right: FIELD.0 - 8.0, bottom: TOP + FIELD.1 };
    let mut layout = TopicMapLayout { discs: discs.collect(), field };
    layout.draw(&mut shapes);
    let bottom = layout.field.bottom;
    let note = "Similar topics are near each other: principal coordinates of the Jensen-Shannon divergences, \
                overlapping discs moved apart";
    shapes.push(Shape::Text(Text { colour: GREY, ..text((16.0, bottom + 18.0), note, 11.0) }));
    let wide = FIELD.0.max(width(heading, 15.0, true) + 32.0);
    Ok(Drawing { width: wide, height: bottom + 44.0, shapes })
}
