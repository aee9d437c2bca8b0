//! Outlines of the font Noto Sans: the width of a text and the paths of its letters.

use ttf_parser::{Face, OutlineBuilder};

/// Parses the font.
fn face(bold: bool) -> Option<Face<'static>> {
    Face::parse(if bold { notosans::BOLD_TTF } else { notosans::REGULAR_TTF }, 0).ok()
}

/// Returns the width of a text at a font size.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let Some(face) = face(bold) else { return text.chars().count() as f64 * size * 0.55 };
    let units: u32 = text.chars().map(|c| u32::from(advance(&face, c))).sum();
    f64::from(units) * size / f64::from(face.units_per_em().max(1))
}

/// Returns the advance width of a letter in font units.
fn advance(face: &Face<'_>, letter: char) -> u16 {
    // A letter that is missing in the font is drawn as an empty box.
    face.glyph_hor_advance(face.glyph_index(letter).unwrap_or_default()).unwrap_or(0)
}

/// Returns the outline of a text that begins at (x, y); `None` if it is empty.
pub(super) fn outline(text: &str, size: f64, bold: bool, x: f64, y: f64) -> Option<tiny_skia::Path> {
    let face = face(bold)?;
    let scale = size as f32 / f32::from(face.units_per_em().max(1));
    let mut pen = GlyphPen { path: tiny_skia::PathBuilder::new(), scale, x: x as f32, y: y as f32 };
    for letter in text.chars() {
        face.outline_glyph(face.glyph_index(letter).unwrap_or_default(), &mut pen);
        pen.x += f32::from(advance(&face, letter)) * scale;
    }
    pen.path.finish()
}

/// Collects the outlines of glyphs, scaled and moved to their position.
struct GlyphPen {
    path: tiny_skia::PathBuilder,
    scale: f32,
    x: f32,
    y: f32,
}

impl GlyphPen {
    /// Converts font coordinates, with y upwards, to picture coordinates, with y downwards.
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for GlyphPen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }
    fn close(&mut self) {
        self.path.close();
    }
}
