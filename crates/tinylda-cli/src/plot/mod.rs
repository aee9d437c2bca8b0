//! Plots: line charts in several panels with one legend, and drawings of text.
//!
//! A `Figure` is laid out once, as a [`Drawing`]: a list of lines, markers, rectangles and texts.
//! `svg` and `png` draw such a list and know nothing about axes. Nothing depends on the fonts of
//! the system: the texts of a PNG are drawn with Noto Sans, which is part of the program. Only
//! `model` and `map` know about models.
//!
//! Other front ends use [`topics`], [`perplexity`] and [`topic_map`], and write the [`Drawing`] as
//! SVG or PNG.

mod axis;
mod font;
mod map;
mod model;
mod png;
mod style;
mod svg;

pub(crate) use font::width;
pub use model::{perplexity, topic_map, topics};
pub(crate) use style::{Colour, Marker, style};

use axis::Scale;

/// Panels with a common legend.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figure {
    pub(crate) title: String,
    /// Number of panels per row.
    pub(crate) columns: usize,
    pub(crate) panels: Vec<Panel>,
}

/// One pair of axes with its series.
#[derive(Debug, Clone, Default)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

/// Label and kind of an axis.
#[derive(Debug, Clone, Default)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) log: bool,
}

impl Axis {
    pub(crate) fn new(label: &str, log: bool) -> Axis {
        Axis { label: label.to_owned(), log }
    }
}

/// Points in the order in which a line connects them. The name determines the style.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Shapes in the order in which they are drawn, with the size of the picture.
#[derive(Debug, Clone, Default)]
pub struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
}

impl Drawing {
    /// Returns the drawing as an SVG file.
    pub fn svg(&self) -> String {
        svg::svg(self)
    }

    /// Returns the drawing as a PNG file, with `scale` pixels per unit. An empty or very large
    /// picture is an error.
    pub fn png(&self, scale: f64) -> anyhow::Result<Vec<u8>> {
        png::png(self, scale)
    }
}

/// Style of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub(crate) dash: &'static [f64],
}

/// Part of a text that is at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Text, positioned at its baseline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    pub(crate) at: (f64, f64),
    pub(crate) content: String,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) colour: Colour,
    pub(crate) bold: bool,
    /// Whether the text is rotated to read upwards.
    pub(crate) rotated: bool,
}

/// Element of a drawing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Lines { points: Vec<(f64, f64)>, stroke: Stroke },
    Marker { at: (f64, f64), marker: Marker, size: f64, colour: Colour },
    Rectangle { at: (f64, f64), size: (f64, f64), fill: Colour },
    Text(Text),
}

pub(crate) const BLACK: Colour = Colour(0x1a, 0x1a, 0x1a);
pub(crate) const WHITE: Colour = Colour(0xff, 0xff, 0xff);
const GREY: Colour = Colour(0x55, 0x55, 0x55);
const GRID: Colour = Colour(0xe6, 0xe6, 0xe6);

/// Width and height of a panel with its labels.
const PANEL: (f64, f64) = (400.0, 300.0);
/// Margins around the axes of a panel: left, right, above, below.
const MARGINS: (f64, f64, f64, f64) = (70.0, 16.0, 32.0, 50.0);
/// Margin around the figure.
const EDGE: f64 = 10.0;
/// Height of the title.
const TITLE: f64 = 34.0;
/// Height of a row of the legend.
const LEGEND_ROW: f64 = 22.0;
/// Length of a sample line in the legend.
const LEGEND_SAMPLE: f64 = 36.0;
/// Distance between two entries of the legend.
const LEGEND_GAP: f64 = 22.0;
/// Font size of tick labels.
const SMALL: f64 = 11.0;
/// Font size of axis labels and of the legend.
const NORMAL: f64 = 12.0;

/// Returns a black text that begins at `at`.
pub(crate) fn text(at: (f64, f64), words: &str, size: f64) -> Text {
    Text {
        at,
        content: words.to_owned(),
        size,
        anchor: Anchor::Start,
        colour: BLACK,
        bold: false,
        rotated: false,
    }
}

impl Figure {
    /// Lays out the figure.
    pub(crate) fn draw(&self) -> Drawing {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let rows = self.panels.len().div_ceil(columns);
        let width = (columns as f64 * PANEL.0).max(width(&self.title, 15.0, true)) + 2.0 * EDGE;
        let mut shapes = vec![Shape::Text(Text {
            anchor: Anchor::Middle,
            bold: true,
            ..text((width / 2.0, EDGE + 16.0), &self.title, 15.0)
        })];
        for (i, panel) in self.panels.iter().enumerate() {
            let at =
                (EDGE + (i % columns) as f64 * PANEL.0, EDGE + TITLE - 8.0 + (i / columns) as f64 * PANEL.1);
            panel.draw(at, &mut shapes);
        }
        let top = EDGE + TITLE + rows as f64 * PANEL.1;
        let bottom = self.legend(width, top, &mut shapes);
        Drawing { width, height: bottom + EDGE, shapes }
    }

    /// Draws the legend of all series that have a visible point. Returns its lower end.
    fn legend(&self, width: f64, top: f64, shapes: &mut Vec<Shape>) -> f64 {
        let mut names: Vec<&str> = Vec::new();
        for panel in &self.panels {
            let seen = panel.series.iter().filter(|s| !panel.visible(s).is_empty());
            for name in seen.map(|s| s.name.as_str()) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let entry_width = |name: &str| LEGEND_SAMPLE + 7.0 + font::width(name, NORMAL, false) + LEGEND_GAP;
        let mut rows: Vec<(f64, Vec<&str>)> = Vec::new();
        for name in names {
            match rows.last_mut() {
                Some((sum, row)) if *sum + entry_width(name) <= width - 2.0 * EDGE => {
                    *sum += entry_width(name);
                    row.push(name);
                }
                _ => rows.push((entry_width(name), vec![name])),
            }
        }
        let mut y = top;
        for (sum, row) in rows {
            let mut x = f64::midpoint(width - sum, LEGEND_GAP).max(EDGE);
            for name in row {
                let style = style(name);
                let line = vec![(x, y + 8.0), (x + LEGEND_SAMPLE, y + 8.0)];
                if style.joined {
                    shapes.push(Shape::Lines { points: line, stroke: style.stroke() });
                }
                shapes.push(style.marker_at((x + LEGEND_SAMPLE / 2.0, y + 8.0)));
                shapes.push(Shape::Text(text((x + LEGEND_SAMPLE + 7.0, y + 12.0), name, NORMAL)));
                x += entry_width(name);
            }
            y += LEGEND_ROW;
        }
        y
    }
}

impl Panel {
    /// Returns the points that can be shown.
    fn visible(&self, series: &Series) -> Vec<(f64, f64)> {
        let shown = |v: f64, axis: &Axis| v.is_finite() && (!axis.log || v > 0.0);
        series.points.iter().copied().filter(|&(x, y)| shown(x, &self.x) && shown(y, &self.y)).collect()
    }

    fn draw(&self, at: (f64, f64), shapes: &mut Vec<Shape>) {
        let (left, right, above, below) = MARGINS;
        let (x0, x1) = (at.0 + left, at.0 + PANEL.0 - right);
        let (y0, y1) = (at.1 + PANEL.1 - below, at.1 + above);
        let points: Vec<Vec<(f64, f64)>> = self.series.iter().map(|s| self.visible(s)).collect();
        let all = || points.iter().flatten();
        let x = Scale::new(all().map(|p| p.0).collect(), self.x.log, true, (x0, x1));
        let y = Scale::new(all().map(|p| p.1).collect(), self.y.log, false, (y0, y1));
        let line = |from, to, colour, width| Shape::Lines {
            points: vec![from, to],
            stroke: Stroke { colour, width, dash: &[] },
        };
        let label = |at, words: &str, size, anchor, colour| {
            Shape::Text(Text { anchor, colour, ..text(at, words, size) })
        };
        for &(value, ref name) in x.ticks() {
            let place = x.coordinate(value);
            shapes.push(line((place, y0), (place, y1), GRID, 1.0));
            shapes.push(line((place, y0), (place, y0 + 4.0), GREY, 1.0));
            shapes.push(label((place, y0 + 17.0), name, SMALL, Anchor::Middle, GREY));
        }
        for &(value, ref name) in y.ticks() {
            let place = y.coordinate(value);
            shapes.push(line((x0, place), (x1, place), GRID, 1.0));
            shapes.push(line((x0 - 4.0, place), (x0, place), GREY, 1.0));
            shapes.push(label((x0 - 7.0, place + 4.0), name, SMALL, Anchor::End, GREY));
        }
        shapes.push(line((x0, y0), (x1, y0), GREY, 1.0));
        shapes.push(line((x0, y0), (x0, y1), GREY, 1.0));
        let middle = f64::midpoint(x0, x1);
        shapes.push(Shape::Text(Text {
            anchor: Anchor::Middle,
            bold: true,
            ..text((middle, y1 - 10.0), &self.title, 13.0)
        }));
        shapes.push(label((middle, y0 + 36.0), &self.x.label, NORMAL, Anchor::Middle, BLACK));
        shapes.push(Shape::Text(Text {
            anchor: Anchor::Middle,
            rotated: true,
            ..text((at.0 + 14.0, f64::midpoint(y0, y1)), &self.y.label, NORMAL)
        }));
        if all().next().is_none() {
            let place = (middle, f64::midpoint(y0, y1));
            shapes.push(label(place, "no data", NORMAL, Anchor::Middle, GREY));
        }
        // Shapes that are drawn last are on top.
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by_key(|&i| style(&self.series[i].name).on_top);
        for (nth, i) in order.into_iter().enumerate() {
            let style = style(&self.series[i].name);
            let placed: Vec<(f64, f64)> =
                points[i].iter().map(|p| (x.coordinate(p.0), y.coordinate(p.1))).collect();
            // Markers on many points would hide the line, so only some points are marked, at
            // different positions for each line.
            let every = if placed.len() > 20 && style.joined { placed.len().div_ceil(8) } else { 1 };
            let marked = placed.iter().copied().skip((nth * 3) % every).step_by(every);
            let markers: Vec<Shape> = marked.map(|at| style.marker_at(at)).collect();
            if placed.len() > 1 && style.joined {
                shapes.push(Shape::Lines { points: placed, stroke: style.stroke() });
            }
            shapes.extend(markers);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn figure() -> Figure {
        let series = |name: &str, points: &[(f64, f64)]| Series { name: name.into(), points: points.into() };
        let panel = |title: &str, log| Panel {
            title: title.into(),
            x: Axis::new("K", false),
            y: Axis::new("time <s> & \"more\"", log),
            series: vec![
                series("tbp", &[(100.0, 1.0), (300.0, 2.0), (500.0, 40.0)]),
                series("<&\"'>\u{1}", &[(100.0, 0.0), (300.0, 0.5), (500.0, f64::NAN), (700.0, 3.0)]),
                series("empty", &[]),
                series("one", &[(900.0, 1234.0)]),
                series("infinite", &[(900.0, f64::INFINITY), (f64::NEG_INFINITY, 1.0)]),
            ],
        };
        let nothing = Panel { title: "nothing".into(), ..Panel::default() };
        Figure {
            title: "hostile </text> & names".into(),
            columns: 2,
            panels: vec![panel("linear", false), panel("log", true), nothing],
        }
    }

    /// Checks that all tags are closed and that there is no stray `<` or `&`.
    fn assert_well_formed(text: &str) {
        let mut open: Vec<String> = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('<') {
            let words = &rest[..at];
            assert!(!words.contains('>'), "{words}");
            for part in words.split('&').skip(1) {
                assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|e| part.starts_with(e)), "{part}");
            }
            let end = at + rest[at..].find('>').unwrap();
            let tag = &rest[at + 1..end];
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            assert!(!tag.contains('<') && !tag.contains("NaN") && !tag.contains("inf"), "{tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(tag.split(' ').next().unwrap().to_owned());
            }
            rest = &rest[end + 1..];
        }
        assert!(open.is_empty() && !text.contains('\u{1}'));
    }

    #[test]
    fn hostile_names_are_escaped() {
        let text = figure().draw().svg();
        assert_well_formed(&text);
        assert!(text.contains("&lt;&amp;&quot;") && text.contains("&lt;/text&gt;"));
        assert!(text.contains("no data"));
    }

    #[test]
    fn invisible_points_are_omitted() {
        let figure = figure();
        let names = |drawing: &Drawing| -> Vec<String> {
            let texts = drawing.shapes.iter().filter_map(|shape| match shape {
                Shape::Text(text) => Some(text.content.clone()),
                _ => None,
            });
            texts.collect()
        };
        let shown = names(&figure.draw());
        assert!(shown.contains(&"one".to_owned()));
        assert!(!shown.contains(&"empty".to_owned()) && !shown.contains(&"infinite".to_owned()));
        let [linear, log] = [&figure.panels[0], &figure.panels[1]];
        assert_eq!(linear.visible(&linear.series[1]), [(100.0, 0.0), (300.0, 0.5), (700.0, 3.0)]);
        assert_eq!(log.visible(&log.series[1]), [(300.0, 0.5), (700.0, 3.0)]);
        for shape in figure.draw().shapes {
            if let Shape::Lines { points, .. } = shape {
                assert!(points.iter().all(|p| p.0.is_finite() && p.1.is_finite()));
            }
        }
        // An empty figure is a valid picture.
        assert_well_formed(&Figure::default().draw().svg());
    }

    #[test]
    fn picture_has_the_expected_size() {
        let drawing = figure().draw();
        let bytes = drawing.png(2.0).unwrap();
        let picture = tiny_skia::Pixmap::decode_png(&bytes).unwrap();
        let (width, height) = ((drawing.width * 2.0).ceil() as u32, (drawing.height * 2.0).ceil() as u32);
        assert_eq!((picture.width(), picture.height()), (width, height));
        // The background is white, and something is drawn on it.
        assert_eq!(picture.pixel(0, 0).map(|p| (p.red(), p.green(), p.blue())), Some((255, 255, 255)));
        assert!(picture.pixels().iter().any(|p| p.red() < 64));
        assert!(Drawing::default().png(2.0).is_err());
    }

    #[test]
    fn algorithms_differ_without_colour() {
        let names = ["tbp", "stbp", "atbp", "bp", "abp", "gibbs", "vb", "ovb", "nmf"];
        for (i, a) in names.iter().enumerate() {
            for b in &names[..i] {
                let (a, b) = (style(a), style(b));
                assert!(a.colour != b.colour && a.marker != b.marker);
                assert!(a.dash != b.dash || a.width.to_bits() != b.width.to_bits());
            }
        }
    }
}
