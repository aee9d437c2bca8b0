//! A drawing as PNG.

use anyhow::Context;
use tiny_skia::{
    FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke as Pencil, StrokeDash, Transform,
};

use super::style::Corners;
use super::{Anchor, Colour, Drawing, Marker, Shape, Stroke, Text, WHITE, font};

/// Draws so many pixels for every unit.
pub(crate) fn png(drawing: &Drawing, scale: f64) -> anyhow::Result<Vec<u8>> {
    let pixels = |length: f64| (length * scale).ceil() as u32;
    let mut canvas = Pixmap::new(pixels(drawing.width), pixels(drawing.height))
        .context("a picture must have a size that fits in memory")?;
    canvas.fill(tiny_skia::Color::WHITE);
    let mut hand = Hand { canvas, scale: scale as f32 };
    for shape in &drawing.shapes {
        match shape {
            Shape::Lines { points, stroke } => hand.lines(points, stroke),
            Shape::Marker { at, marker, size, colour } => hand.mark(*at, *marker, *size, *colour),
            Shape::Rectangle { at, size, fill } => {
                let rect = Rect::from_xywh(at.0 as f32, at.1 as f32, size.0 as f32, size.1 as f32);
                hand.fill(rect.map(PathBuilder::from_rect), *fill, Transform::identity());
            }
            Shape::Text(text) => hand.words(text),
        }
    }
    hand.canvas.encode_png().context("cannot make a PNG")
}

struct Hand {
    canvas: Pixmap,
    scale: f32,
}

fn paint(Colour(r, g, b): Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, 255);
    paint.anti_alias = true;
    paint
}

fn polygon(points: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        if i == 0 { path.move_to(x as f32, y as f32) } else { path.line_to(x as f32, y as f32) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

impl Hand {
    /// A path that there is nothing of is not drawn.
    fn fill(&mut self, path: Option<Path>, colour: Colour, before: Transform) {
        let Some(path) = path else { return };
        let transform = before.post_scale(self.scale, self.scale);
        self.canvas.fill_path(&path, &paint(colour), FillRule::Winding, transform, None);
    }

    fn stroke(&mut self, path: Option<Path>, stroke: &Stroke) {
        let Some(path) = path else { return };
        let dash = stroke.dash.iter().map(|&d| d as f32).collect();
        let pencil = Pencil {
            width: stroke.width as f32,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(dash, 0.0),
            ..Pencil::default()
        };
        let transform = Transform::from_scale(self.scale, self.scale);
        self.canvas.stroke_path(&path, &paint(stroke.colour), &pencil, transform, None);
    }

    fn lines(&mut self, points: &[(f64, f64)], stroke: &Stroke) {
        self.stroke(polygon(points, false), stroke);
    }

    fn mark(&mut self, at: (f64, f64), marker: Marker, size: f64, colour: Colour) {
        let outline = Stroke { colour, width: 1.4, dash: &[] };
        if matches!(marker, Marker::Disc | Marker::Circle) {
            let circle = PathBuilder::from_circle(at.0 as f32, at.1 as f32, size as f32);
            let within = if marker == Marker::Disc { colour } else { WHITE };
            self.fill(circle.clone(), within, Transform::identity());
            if marker == Marker::Circle {
                self.stroke(circle, &outline);
            }
            return;
        }
        match marker.corners(at, size) {
            Corners::Filled(points) => self.fill(polygon(&points, true), colour, Transform::identity()),
            Corners::Hollow(points) => {
                self.fill(polygon(&points, true), WHITE, Transform::identity());
                self.stroke(polygon(&points, true), &outline);
            }
            Corners::Strokes(all) => {
                for (from, to) in all {
                    self.lines(&[from, to], &Stroke { width: 1.6, ..outline });
                }
            }
        }
    }

    fn words(&mut self, text: &Text) {
        let width = font::width(&text.words, text.size, text.bold);
        let back = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        // Around (0, 0), then turned, then to its place.
        let path = font::outline(&text.words, text.size, text.bold, -back, 0.0);
        let turn = if text.turned { Transform::from_rotate(-90.0) } else { Transform::identity() };
        self.fill(path, text.colour, turn.post_translate(text.at.0 as f32, text.at.1 as f32));
    }
}
