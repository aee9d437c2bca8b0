//! The map of topics: discs that do not overlap, with their numbers and top words.
//!
//! The positions are the principal coordinates of the distances between topics. Discs that overlap
//! are moved apart. Labels are placed where they cover nothing, the most prevalent topics first;
//! a label without space is omitted. Start with [`TopicMapLayout::draw`].

use crate::plot::{Anchor, Colour, Marker, Shape, Text, text, width};

use super::{BLUE, GREY, LIGHT};

/// Font size of labels.
const SIZE: f64 = 11.0;
/// Distance between two discs, and between a disc and its label.
const GAP: f64 = 2.0;
/// Maximum number of topics that get a label, the most prevalent first.
const MAX_LABELS: usize = 300;
/// Maximum number of comparisons of two discs while discs are moved apart.
const MAX_COMPARISONS: usize = 100_000_000;
/// Maximum number of rounds in which discs are moved apart.
const MAX_ROUNDS: usize = 300;

/// Rectangle by its left, upper, right and lower edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MapBox {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl MapBox {
    fn contains(&self, other: &MapBox) -> bool {
        other.left >= self.left
            && other.right <= self.right
            && other.top >= self.top
            && other.bottom <= self.bottom
    }

    fn overlaps(&self, other: &MapBox) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Returns whether the rectangle covers a part of a disc.
    fn covers(&self, disc: &TopicDisc) -> bool {
        let (x, y) = (disc.x.clamp(self.left, self.right), disc.y.clamp(self.top, self.bottom));
        (x - disc.x).hypot(y - disc.y) < disc.radius
    }
}

/// A topic on the map.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TopicDisc {
    pub(super) topic: u32,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) radius: f64,
    /// Name of the topic, or its top words, most important first. A label has as many of them as
    /// fit.
    pub(super) words: Vec<String>,
}

/// Discs, the largest first, and the field in which they are drawn.
#[derive(Debug, Clone)]
pub(super) struct TopicMapLayout {
    pub(super) discs: Vec<TopicDisc>,
    pub(super) field: MapBox,
}

impl TopicMapLayout {
    /// Draws the discs and their labels. Returns the number of topics without a label.
    pub(super) fn draw(&mut self, shapes: &mut Vec<Shape>) -> usize {
        self.separate();
        for disc in &self.discs {
            let at = (disc.x, disc.y);
            let circle = |size, colour| Shape::Marker { at, marker: Marker::Disc, size, colour };
            shapes.extend([circle(disc.radius, BLUE), circle((disc.radius - 1.0).max(0.5), LIGHT)]);
        }
        let (texts, missing) = self.labels();
        shapes.extend(texts.into_iter().map(|(text, _)| Shape::Text(text)));
        missing
    }

    /// Moves overlapping discs apart, and all discs into the field.
    fn separate(&mut self) {
        let count = self.discs.len().max(1);
        let rounds = (MAX_COMPARISONS / (count * count)).clamp(2, MAX_ROUNDS);
        for _ in 0..rounds {
            let mut moved = false;
            for i in 1..self.discs.len() {
                for j in 0..i {
                    moved |= self.separate_pair(i, j);
                }
            }
            for disc in &mut self.discs {
                let clamp = |value: f64, low: f64, high: f64| value.max(low).min(high.max(low));
                let r = disc.radius;
                disc.x = clamp(disc.x, self.field.left + r, self.field.right - r);
                disc.y = clamp(disc.y, self.field.top + r, self.field.bottom - r);
            }
            if !moved {
                break;
            }
        }
    }

    /// Moves two discs apart if they overlap, the smaller one farther. Returns whether they did.
    fn separate_pair(&mut self, i: usize, j: usize) -> bool {
        let (a, b) = (&self.discs[i], &self.discs[j]);
        let (mut dx, mut dy) = (a.x - b.x, a.y - b.y);
        let (mut distance, wanted) = (dx.hypot(dy), a.radius + b.radius + GAP);
        if distance >= wanted - 1e-6 {
            return false;
        }
        if distance < 1e-9 {
            // Discs at the same point move in different directions.
            let angle = (i * 7 + j) as f64;
            (dx, dy, distance) = (angle.cos(), angle.sin(), 1.0);
        }
        let overlap = wanted - (a.x - b.x).hypot(a.y - b.y);
        let (x, y) = (dx / distance * overlap, dy / distance * overlap);
        let share = b.radius / (a.radius + b.radius);
        let (a, b) = (share, 1.0 - share);
        (self.discs[i].x, self.discs[i].y) = (self.discs[i].x + a * x, self.discs[i].y + a * y);
        (self.discs[j].x, self.discs[j].y) = (self.discs[j].x - b * x, self.discs[j].y - b * y);
        true
    }

    /// Places the numbers and labels. Returns them with their rectangles, and the number of topics
    /// that have neither.
    fn labels(&self) -> (Vec<(Text, MapBox)>, usize) {
        let mut placed: Vec<(Text, MapBox)> = Vec::new();
        // A number inside its disc covers nothing else, so all of them come first.
        let mut inside = vec![false; self.discs.len()];
        for (disc, inside) in self.discs.iter().zip(&mut inside) {
            let number = disc.topic.to_string();
            let size = (disc.radius * 0.9).clamp(7.0, 13.0);
            let (w, h) = (width(&number, size, true), size * 0.75);
            *inside = (w / 2.0).hypot(h / 2.0) <= disc.radius - 1.0;
            if *inside {
                let at = (disc.x, disc.y + h / 2.0);
                let text = Text { anchor: Anchor::Middle, bold: true, ..text(at, &number, size) };
                let area = MapBox {
                    left: disc.x - w / 2.0,
                    right: disc.x + w / 2.0,
                    top: disc.y - h / 2.0,
                    bottom: disc.y + h / 2.0,
                };
                placed.push((text, area));
            }
        }
        let mut missing = 0;
        for (i, (disc, inside)) in self.discs.iter().zip(inside).enumerate() {
            let label = if i < MAX_LABELS { self.label(disc, inside, &placed) } else { None };
            missing += usize::from(label.is_none() && !inside);
            placed.extend(label);
        }
        (placed, missing)
    }

    /// Returns the label of a disc with as many words as fit, at the first free place beside it.
    fn label(&self, disc: &TopicDisc, inside: bool, placed: &[(Text, MapBox)]) -> Option<(Text, MapBox)> {
        let number = if inside { String::new() } else { disc.topic.to_string() };
        let least = usize::from(inside);
        for count in (least..=disc.words.len()).rev() {
            let mut parts = vec![number.clone()];
            parts.extend(disc.words[..count].iter().cloned());
            parts.retain(|part| !part.is_empty());
            let label = parts.join(" ");
            let (w, h) = (width(&label, SIZE, false), SIZE);
            let beside = disc.radius + GAP;
            let places = [
                (disc.x - w / 2.0, disc.y + beside),
                (disc.x - w / 2.0, disc.y - beside - h),
                (disc.x + beside, disc.y - h / 2.0),
                (disc.x - beside - w, disc.y - h / 2.0),
            ];
            for (left, top) in places {
                let area = MapBox { left, top, right: left + w, bottom: top + h };
                let free = self.field.contains(&area)
                    && !placed.iter().any(|(_, other)| other.overlaps(&area))
                    && !self.discs.iter().any(|other| area.covers(other));
                if free {
                    let at = (left, top + SIZE * 0.8);
                    return Some((Text { colour: Colour(0x33, 0x33, 0x33), ..text(at, &label, SIZE) }, area));
                }
            }
        }
        None
    }
}

/// Returns the note about topics without a label.
pub(super) fn missing_note(missing: usize) -> Option<Text> {
    let topics = tinylda::format::counted(missing as u64, "topic");
    let note = format!("{topics} without a label for lack of space; `tinylda topics` lists all");
    (missing > 0).then(|| Text { colour: GREY, ..text((0.0, 0.0), &note, SIZE) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(count: u32, at: impl Fn(u32) -> (f64, f64)) -> TopicMapLayout {
        let disc = |k: u32| {
            let (x, y) = at(k);
            let words = ["harbour", "government", "of"].map(str::to_owned).to_vec();
            TopicDisc {
                topic: k,
                x,
                y,
                radius: (2000.0 / f64::from(k + 1) / f64::from(count)).clamp(2.0, 50.0),
                words,
            }
        };
        let field = MapBox { left: 10.0, top: 40.0, right: 890.0, bottom: 690.0 };
        TopicMapLayout { discs: (0..count).map(disc).collect(), field }
    }

    #[test]
    fn u17_discs_and_labels_of_the_map_do_not_overlap() {
        let scatter = |k: u32| {
            let angle = f64::from(k) * 2.4;
            (450.0 + 20.0 * angle.cos(), 360.0 + 20.0 * angle.sin())
        };
        for mut layout in
            [layout(20, scatter), layout(50, |_| (450.0, 360.0)), layout(1, scatter), layout(0, scatter)]
        {
            layout.separate();
            for (i, a) in layout.discs.iter().enumerate() {
                for b in &layout.discs[..i] {
                    let distance = (a.x - b.x).hypot(a.y - b.y);
                    assert!(distance > a.radius + b.radius - 0.5, "{a:?} {b:?}");
                }
            }
            let (labels, missing) = layout.labels();
            for (i, (text, area)) in labels.iter().enumerate() {
                assert!(layout.field.contains(area), "{text:?}");
                for (other, taken) in &labels[..i] {
                    assert!(!area.overlaps(taken), "{text:?} {other:?}");
                }
            }
            // Of 20 topics or fewer, nearly all have a number. Where 50 topics crowd around one
            // point, many have no place for it, and the caller reports how many.
            if layout.discs.len() <= 20 {
                assert!(5 * missing <= layout.discs.len(), "{missing}");
            }
            let words = labels.iter().filter(|(text, _)| text.content.contains("harbour")).count();
            assert!(layout.discs.is_empty() || words > 0);
        }
    }
}
