//! Draws a drawing as PNG.

use anyhow::Context;
use tiny_skia::{
    FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke as Pencil, StrokeDash, Transform,
};

use super::style::MarkerShape;
use super::{Anchor, Colour, Drawing, Marker, Shape, Stroke, Text, WHITE, font};

/// Returns a drawing as a PNG file, with `scale` pixels per unit.
pub(super) fn png(drawing: &Drawing, scale: f64) -> anyhow::Result<Vec<u8>> {
    let size = |length: f64| (length * scale).ceil() as u32;
    let mut pixels = Pixmap::new(size(drawing.width), size(drawing.height))
        .context("the picture is empty or too large")?;
    pixels.fill(tiny_skia::Color::WHITE);
    let mut canvas = Canvas { pixels, scale: scale as f32 };
    for shape in &drawing.shapes {
        match shape {
            Shape::Lines { points, stroke } => canvas.lines(points, stroke),
            Shape::Marker { at, marker, size, colour } => canvas.marker(*at, *marker, *size, *colour),
            Shape::Rectangle { at, size, fill } => {
                let rect = Rect::from_xywh(at.0 as f32, at.1 as f32, size.0 as f32, size.1 as f32);
                canvas.fill(rect.map(PathBuilder::from_rect), *fill, Transform::identity());
            }
            Shape::Text(text) => canvas.text(text),
        }
    }
    canvas.pixels.encode_png().context("cannot encode the PNG")
}

/// Picture that shapes are drawn on.
struct Canvas {
    pixels: Pixmap,
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

impl Canvas {
    /// Fills a path, transformed by `before` and scaled; an empty path is ignored.
    fn fill(&mut self, path: Option<Path>, colour: Colour, before: Transform) {
        let Some(path) = path else { return };
        let transform = before.post_scale(self.scale, self.scale);
        self.pixels.fill_path(&path, &paint(colour), FillRule::Winding, transform, None);
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
        self.pixels.stroke_path(&path, &paint(stroke.colour), &pencil, transform, None);
    }

    fn lines(&mut self, points: &[(f64, f64)], stroke: &Stroke) {
        self.stroke(polygon(points, false), stroke);
    }

    fn marker(&mut self, at: (f64, f64), marker: Marker, size: f64, colour: Colour) {
        let outline = Stroke { colour, width: 1.4, dash: &[] };
        if matches!(marker, Marker::Disc | Marker::Circle) {
            let circle = PathBuilder::from_circle(at.0 as f32, at.1 as f32, size as f32);
            let inside = if marker == Marker::Disc { colour } else { WHITE };
            self.fill(circle.clone(), inside, Transform::identity());
            if marker == Marker::Circle {
                self.stroke(circle, &outline);
            }
            return;
        }
        match marker.corners(at, size) {
            MarkerShape::Filled(points) => self.fill(polygon(&points, true), colour, Transform::identity()),
            MarkerShape::Hollow(points) => {
                self.fill(polygon(&points, true), WHITE, Transform::identity());
                self.stroke(polygon(&points, true), &outline);
            }
            MarkerShape::Strokes(all) => {
                for (from, to) in all {
                    self.lines(&[from, to], &Stroke { width: 1.6, ..outline });
                }
            }
        }
    }

    fn text(&mut self, text: &Text) {
        let width = font::width(&text.content, text.size, text.bold);
        let back = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        // The text is drawn at (0, 0), rotated, and moved to its position.
        let path = font::outline(&text.content, text.size, text.bold, -back, 0.0);
        let turn = if text.rotated { Transform::from_rotate(-90.0) } else { Transform::identity() };
        self.fill(path, text.colour, turn.post_translate(text.at.0 as f32, text.at.1 as f32));
    }
}
