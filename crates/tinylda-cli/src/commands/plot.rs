//! `tinylda plot`: draws figures of a model.

use std::path::Path;

use serde_json::json;
use tinylda::format::human_bytes;
use tinylda::{Error, Model};

use super::report::title;
use super::{check_output, infer, path_string, print};
use crate::args::{self, PlotKind};
use crate::plot::{
    Anchor, Axis, Colour, Drawing, Figure, Marker, Panel, Series, Shape, Stroke, Text, png, svg, text, width,
};
use crate::progress::{Ui, Unit};

/// Pixels per unit of a drawing.
const PNG_SCALE: f64 = 2.0;
/// Number of topics that are drawn by default.
const DEFAULT_TOPICS: usize = 12;
/// Maximum number of characters drawn per word.
const MAX_WORD_LENGTH: usize = 24;

const BLUE: Colour = Colour(0, 114, 178);
const LIGHT: Colour = Colour(0xb8, 0xd8, 0xec);
const GREY: Colour = Colour(0x80, 0x80, 0x80);

pub(crate) fn run(a: &args::PlotArgs, ui: Ui) -> anyhow::Result<()> {
    let as_png = as_png(&a.output)?;
    check_output("-o", &a.output, &[Some(a.model.as_path())])?;
    if !a.topics.is_empty() && a.what != PlotKind::Topics {
        return Err(Error::only_with("topics", ["{what=topics}"]).into());
    }
    tinylda::files::check_writable(&a.output)?;
    let model = Model::load(&a.model)?;
    let heading = a.title.clone().unwrap_or_else(|| title(&model, &a.model));
    let drawing = match a.what {
        PlotKind::Topics => topics(&model, &chosen_topics(a, &model)?, a.top as usize, &heading),
        PlotKind::Perplexity => perplexity(&model, &heading),
        PlotKind::Map => map(&model, &heading, ui)?,
    };
    let bytes = if as_png { png(&drawing, PNG_SCALE)? } else { svg(&drawing).into_bytes() };
    tinylda::files::write_file(&a.output, &bytes)?;
    let value = json!({ "file": path_string(&a.output), "bytes": bytes.len() });
    print(a.json, &value, &format!("{}: {}\n", a.output.display(), human_bytes(bytes.len() as u64)))
}

/// Returns whether the output is a PNG file, by its suffix.
fn as_png(output: &Path) -> anyhow::Result<bool> {
    let ending = output.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "png" => Ok(true),
        "svg" => Ok(false),
        _ => Err(Error::out_of_range("output", output.display(), "a name that ends in .svg or .png").into()),
    }
}

/// Returns the requested topics, or the most prevalent ones.
fn chosen_topics(a: &args::PlotArgs, model: &Model) -> anyhow::Result<Vec<u32>> {
    if let Some(bad) = a.topics.iter().find(|&&k| k >= model.topics()) {
        let expected = format!("numbers from 0 to {}", model.topics() - 1);
        return Err(Error::out_of_range("topics", bad, expected)
            .with_remedy("`tinylda topics` shows the topics with their numbers")
            .into());
    }
    if !a.topics.is_empty() {
        return Ok(a.topics.clone());
    }
    let mut all: Vec<u32> = (0..model.topics()).collect();
    all.sort_by(|&a, &b| model.share(b).total_cmp(&model.share(a)));
    all.truncate(DEFAULT_TOPICS);
    Ok(all)
}

/// Draws a bar chart of the top words of each topic, all with the same scale.
fn topics(model: &Model, chosen: &[u32], words: usize, heading: &str) -> Drawing {
    const EDGE: f64 = 16.0;
    const LINE: f64 = 16.0;
    const SIZE: f64 = 11.0;
    const BAR: f64 = 110.0;
    let all = model.top_words(words);
    let lists: Vec<(u32, Vec<(String, f64)>)> = chosen
        .iter()
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
        let share = format!("Topic {k}, {:.1}%", 100.0 * model.share(*k));
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
fn perplexity(model: &Model, heading: &str) -> Drawing {
    let training = model.training();
    let points = training.history.iter().map(|&(pass, perplexity)| (f64::from(pass), perplexity)).collect();
    let panel = Panel {
        title: format!("{} topics", model.topics()),
        x: Axis::new("passes", false),
        y: Axis::new("training perplexity", false),
        series: vec![Series { name: training.algorithm.clone(), points }],
    };
    Figure { title: heading.into(), columns: 1, panels: vec![panel] }.draw()
}

/// Draws the map of topics: discs with an area proportional to the prevalence, largest at the
/// bottom.
fn map(model: &Model, heading: &str, ui: Ui) -> anyhow::Result<Drawing> {
    const SIDE: f64 = 640.0;
    const EDGE: f64 = 60.0;
    const TOP: f64 = 44.0;
    let bar = ui.bar("map of topics", Unit::Plain);
    let found = tinylda::report::topic_map(model, infer::thread_count(None), &mut |p| bar.update(p))?;
    bar.finish();
    let ends = |axis: &[f64]| {
        let low = axis.iter().copied().fold(f64::INFINITY, f64::min);
        (low, axis.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let (x, y) = (ends(&found.x), ends(&found.y));
    // Both axes have the same scale, since the map shows distances.
    let span = (x.1 - x.0).max(y.1 - y.0).max(1e-9);
    let scale = (SIDE - 2.0 * EDGE) / span;
    let middle = (f64::midpoint(x.0, x.1), f64::midpoint(y.0, y.1));
    let place =
        |a: f64, b: f64| (SIDE / 2.0 + (a - middle.0) * scale, TOP + SIDE / 2.0 - (b - middle.1) * scale);
    let mut shapes = vec![Shape::Text(Text { bold: true, ..text((16.0, 28.0), heading, 15.0) })];
    let axes = Stroke { colour: Colour(0xe0, 0xe0, 0xe0), width: 1.0, dash: &[] };
    let zero = place(0.0, 0.0);
    for points in [vec![(16.0, zero.1), (SIDE - 16.0, zero.1)], vec![(zero.0, TOP), (zero.0, TOP + SIDE)]] {
        shapes.push(Shape::Lines { points, stroke: axes });
    }
    let mut order: Vec<u32> = (0..model.topics()).collect();
    order.sort_by(|&a, &b| model.share(b).total_cmp(&model.share(a)));
    // All discs together cover a seventh of the square; the numbers are drawn on top.
    let area = SIDE * SIDE / 7.0 / std::f64::consts::PI;
    let mut numbers = Vec::new();
    for k in order {
        let at = place(found.x[k as usize], found.y[k as usize]);
        let radius = (model.share(k) * area).sqrt().clamp(2.0, EDGE - 4.0);
        let disc = |size, colour| Shape::Marker { at, marker: Marker::Disc, size, colour };
        shapes.extend([disc(radius, BLUE), disc((radius - 1.0).max(0.5), LIGHT)]);
        let size = (radius * 0.9).clamp(6.0, 12.0);
        let number = text((at.0, at.1 + size * 0.36), &k.to_string(), size);
        numbers.push(Shape::Text(Text { anchor: Anchor::Middle, ..number }));
    }
    shapes.extend(numbers);
    let note = "Principal coordinates of the Jensen-Shannon divergences between topics";
    let note = Text { colour: GREY, ..text((16.0, TOP + SIDE + 18.0), note, 11.0) };
    shapes.push(Shape::Text(note));
    let wide = SIDE.max(width(heading, 15.0, true) + 32.0);
    Ok(Drawing { width: wide, height: TOP + SIDE + 30.0, shapes })
}
