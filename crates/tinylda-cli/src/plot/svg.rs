//! Writes a drawing as SVG. Texts remain texts.

use std::fmt::Write;

use super::{Anchor, Colour, Drawing, Marker, Shape, Stroke, Text};

/// Appends to a string. Writing to a string cannot fail, so the result is ignored.
macro_rules! put {
    ($out:expr, $($rest:tt)*) => { let _ = write!($out, $($rest)*); };
}

/// Returns a drawing as an SVG file.
pub(super) fn svg(drawing: &Drawing) -> String {
    let (width, height) = (number(drawing.width.ceil()), number(drawing.height.ceil()));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Noto Sans, DejaVu Sans, Helvetica, Arial, sans-serif\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for shape in &drawing.shapes {
        match shape {
            Shape::Lines { points, stroke } => lines(&mut out, points, stroke, false),
            Shape::Marker { at, marker, size, colour } => {
                marker_shape(&mut out, *at, *marker, *size, *colour);
            }
            Shape::Rectangle { at, size, fill } => {
                let (x, y, w, h) = (number(at.0), number(at.1), number(size.0), number(size.1));
                put!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{}\"/>", hex(*fill));
            }
            Shape::Text(text) => text_element(&mut out, text),
        }
        out.push('\n');
    }
    out.push_str("</svg>\n");
    out
}

fn hex(Colour(r, g, b): Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Formats a coordinate with two decimals, which is finer than any screen.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn list(points: &[(f64, f64)]) -> String {
    points.iter().map(|&(x, y)| format!("{},{}", number(x), number(y))).collect::<Vec<_>>().join(" ")
}

fn lines(out: &mut String, points: &[(f64, f64)], stroke: &Stroke, closed: bool) {
    let tag = if closed { "polygon" } else { "polyline" };
    put!(
        out,
        "<{tag} points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"",
        list(points),
        hex(stroke.colour),
        number(stroke.width)
    );
    if !stroke.dash.is_empty() {
        let dash: Vec<String> = stroke.dash.iter().map(|&d| number(d)).collect();
        put!(out, " stroke-dasharray=\"{}\"", dash.join(" "));
    }
    out.push_str("/>");
}

fn marker_shape(out: &mut String, at: (f64, f64), marker: Marker, size: f64, colour: Colour) {
    if matches!(marker, Marker::Disc | Marker::Circle) {
        let look = if marker == Marker::Disc {
            format!("fill=\"{}\"", hex(colour))
        } else {
            format!("fill=\"#ffffff\" stroke=\"{}\" stroke-width=\"1.4\"", hex(colour))
        };
        put!(out, "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {look}/>", number(at.0), number(at.1), number(size));
        return;
    }
    let thin = Stroke { colour, width: 1.6, dash: &[] };
    match marker.corners(at, size) {
        super::style::MarkerShape::Filled(points) => {
            put!(out, "<polygon points=\"{}\" fill=\"{}\"/>", list(&points), hex(colour));
        }
        super::style::MarkerShape::Hollow(points) => {
            put!(
                out,
                "<polygon points=\"{}\" fill=\"#ffffff\" stroke=\"{}\" stroke-width=\"1.4\"/>",
                list(&points),
                hex(colour)
            );
        }
        super::style::MarkerShape::Strokes(all) => {
            for (from, to) in all {
                lines(out, &[from, to], &thin, false);
            }
        }
    }
}

fn text_element(out: &mut String, text: &Text) {
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y) = (number(text.at.0), number(text.at.1));
    put!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\"", number(text.size));
    put!(out, " fill=\"{}\"", hex(text.colour));
    if text.bold {
        out.push_str(" font-weight=\"bold\"");
    }
    if text.rotated {
        put!(out, " transform=\"rotate(-90 {x} {y})\"");
    }
    out.push('>');
    for letter in text.content.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            // XML cannot represent these characters.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out.push_str("</text>");
}
