//! Styles of series, the same in all figures: each algorithm has its own colour, dashes and marker.

use super::{Shape, Stroke};

/// Colour with its red, green and blue part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colour(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Colour {
    /// Returns this colour, darkened if necessary for text on white.
    pub(crate) fn for_text(self) -> Colour {
        let Colour(r, g, b) = self;
        let light = 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
        let factor = (110.0 / light.max(1.0)).min(1.0);
        let dim = |part: u8| (f64::from(part) * factor) as u8;
        Colour(dim(r), dim(g), dim(b))
    }
}

/// Marker of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Disc,
    Circle,
    Square,
    HollowSquare,
    Up,
    Down,
    Diamond,
    Cross,
    Plus,
    Star,
}

/// Style of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Style {
    pub(crate) colour: Colour,
    pub(crate) dash: &'static [f64],
    pub(crate) marker: Marker,
    pub(crate) width: f64,
    /// Whether the series is drawn after the others.
    pub(crate) on_top: bool,
    /// Whether a line connects the points.
    pub(crate) joined: bool,
}

impl Style {
    /// Returns the style of the line.
    pub(crate) fn stroke(&self) -> Stroke {
        Stroke { colour: self.colour, width: self.width, dash: self.dash }
    }

    /// Returns the marker at a point.
    pub(crate) fn marker_at(&self, at: (f64, f64)) -> Shape {
        let size = match (self.on_top, self.joined) {
            // A single point on top of another one.
            (true, false) => 6.4,
            (true, true) => 4.2,
            _ => 3.6,
        };
        Shape::Marker { at, marker: self.marker, size, colour: self.colour }
    }
}

const SOLID: &[f64] = &[];

/// Returns the style of a series by its name.
///
/// The colours are those of Okabe and Ito, which colour-blind people can distinguish, with a darker
/// yellow for white paper and an additional grey.
pub(crate) fn style(name: &str) -> Style {
    let plain =
        |colour, dash, marker| Style { colour, dash, marker, width: 1.6, on_top: false, joined: true };
    let (vermilion, blue, sky) = (Colour(213, 94, 0), Colour(0, 114, 178), Colour(86, 180, 233));
    let (black, grey, green) = (Colour(0, 0, 0), Colour(72, 72, 72), Colour(0, 158, 115));
    let light = Colour(0xc8, 0xc8, 0xc8);
    let (purple, orange, yellow) = (Colour(204, 121, 167), Colour(230, 159, 0), Colour(164, 146, 20));
    match name {
        "tbp" => Style { width: 3.0, on_top: true, ..plain(vermilion, SOLID, Marker::Disc) },
        "stbp" => plain(sky, &[7.0, 3.0], Marker::Down),
        "atbp" => plain(blue, &[12.0, 3.0], Marker::Up),
        "bp" => plain(black, SOLID, Marker::Square),
        "abp" => plain(grey, &[4.0, 3.0], Marker::HollowSquare),
        "gibbs" => plain(green, &[8.0, 3.0, 2.0, 3.0], Marker::Diamond),
        "vb" => plain(purple, &[2.0, 2.5], Marker::Cross),
        "ovb" => plain(orange, &[10.0, 3.0, 2.0, 3.0, 2.0, 3.0], Marker::Plus),
        "nmf" => plain(yellow, &[5.0, 2.0, 1.5, 2.0], Marker::Star),
        // Series of `sweep`.
        "mean" => Style { width: 2.4, ..plain(blue, SOLID, Marker::Disc) },
        "each pass" => Style { joined: false, ..plain(light, SOLID, Marker::Disc) },
        "each run" => Style { joined: false, ..plain(grey, SOLID, Marker::Circle) },
        "best K" => {
            Style { width: 4.0, on_top: true, joined: false, ..plain(vermilion, SOLID, Marker::Diamond) }
        }
        // An unknown name has a style that depends only on the name.
        other => {
            let sum = other.bytes().fold(7u32, |sum, b| sum.wrapping_mul(31).wrapping_add(u32::from(b)));
            let pick = sum as usize;
            let colours = [grey, blue, green, purple, orange, black];
            let dashes: [&'static [f64]; 3] = [&[1.5, 3.0], &[6.0, 2.0, 6.0, 6.0], &[3.0, 6.0]];
            plain(colours[pick % colours.len()], dashes[pick / 7 % 3], Marker::Circle)
        }
    }
}

/// Marker as straight lines.
pub(super) enum MarkerShape {
    Filled(Vec<(f64, f64)>),
    /// Outline with a white interior.
    Hollow(Vec<(f64, f64)>),
    Strokes(Vec<((f64, f64), (f64, f64))>),
}

impl Marker {
    /// Returns the corners of the marker around a point; discs and circles are drawn separately.
    pub(super) fn corners(self, (x, y): (f64, f64), size: f64) -> MarkerShape {
        let around = |list: &[(f64, f64)]| list.iter().map(|&(a, b)| (x + a * size, y + b * size)).collect();
        let cross = |s: f64| {
            let s = s * size;
            vec![((x - s, y - s), (x + s, y + s)), ((x - s, y + s), (x + s, y - s))]
        };
        let plus = |s: f64| {
            let s = s * size;
            vec![((x - s, y), (x + s, y)), ((x, y - s), (x, y + s))]
        };
        let square = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)];
        match self {
            Marker::Disc | Marker::Circle | Marker::Square => MarkerShape::Filled(around(&square)),
            Marker::HollowSquare => MarkerShape::Hollow(around(&square)),
            Marker::Up => MarkerShape::Filled(around(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)])),
            Marker::Down => MarkerShape::Filled(around(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)])),
            Marker::Diamond => {
                MarkerShape::Filled(around(&[(0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)]))
            }
            Marker::Cross => MarkerShape::Strokes(cross(0.95)),
            Marker::Plus => MarkerShape::Strokes(plus(1.25)),
            Marker::Star => MarkerShape::Strokes([cross(0.8), plus(1.15)].concat()),
        }
    }
}
