//! The map of topics: discs that do not overlap, with their numbers and top words.
//!
//! The positions are the principal coordinates of the distances between topics. Every disc has its
//! number inside, or below if the disc is too small. Discs with their numbers that overlap are
//! moved apart, and those that still overlap move to the nearest free place, so every topic has a
//! number that can be read. Words are placed where they cover nothing, the most prevalent topics
//! first. Start with [`TopicMapLayout::draw`].

use std::collections::HashMap;

use super::model::{BLUE, LIGHT};
use super::{Anchor, Colour, Marker, Shape, Text, text, width};

/// Font size of labels.
const SIZE: f64 = 11.0;
/// Smallest and largest font size of numbers.
const NUMBER_SIZES: (f64, f64) = (7.0, 13.0);
/// Height of a digit, as a multiple of the font size.
const DIGIT_HEIGHT: f64 = 0.75;
/// Distance between two discs, and between a disc and its label.
const GAP: f64 = 2.0;
/// Distance between a disc and the number below it.
const NUMBER_GAP: f64 = 1.0;
/// Maximum number of topics that get words, the most prevalent first.
const MAX_LABELS: usize = 300;
/// Maximum number of comparisons of two discs while discs are moved apart.
const MAX_COMPARISONS: usize = 100_000_000;
/// Maximum number of rounds in which discs are moved apart.
const MAX_ROUNDS: usize = 300;
/// Distance between two places that are tried for a disc.
const PLACE_STEP: f64 = 4.0;

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
        let centre = disc.centre();
        let (x, y) = (centre.0.clamp(self.left, self.right), centre.1.clamp(self.top, self.bottom));
        (x - centre.0).hypot(y - centre.1) < disc.radius
    }
}

/// A topic on the map: a disc with its number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TopicDisc {
    topic: u32,
    /// Centre of the circle around the disc and its number.
    x: f64,
    y: f64,
    /// Radius of the circle around the disc and its number.
    reach: f64,
    /// Radius of the disc.
    radius: f64,
    /// Font size of the number.
    size: f64,
    /// Whether the number is inside the disc, and not below it.
    inside: bool,
    /// Name of the topic, or its top words, most important first. A label has as many of them as
    /// fit.
    words: Vec<String>,
}

impl TopicDisc {
    /// Creates the disc of a topic at a position.
    pub(super) fn new(topic: u32, (x, y): (f64, f64), radius: f64, words: Vec<String>) -> TopicDisc {
        let mut disc = TopicDisc { topic, x, y, reach: radius, radius, size: 0.0, inside: true, words };
        disc.size = (radius * 0.9).clamp(NUMBER_SIZES.0, NUMBER_SIZES.1);
        let (w, h) = disc.number_extent();
        disc.inside = (w / 2.0).hypot(h / 2.0) <= radius - 1.0;
        if !disc.inside {
            disc.size = NUMBER_SIZES.0;
            disc.reach = (disc.number_extent().0 / 2.0).hypot(disc.height() / 2.0);
        }
        disc
    }

    /// Returns the width and height of the number.
    fn number_extent(&self) -> (f64, f64) {
        (width(&self.topic.to_string(), self.size, true), self.size * DIGIT_HEIGHT)
    }

    /// Returns the height of the disc with its number.
    fn height(&self) -> f64 {
        let below = if self.inside { 0.0 } else { NUMBER_GAP + self.number_extent().1 };
        2.0 * self.radius + below
    }

    /// Returns the centre of the disc.
    fn centre(&self) -> (f64, f64) {
        (self.x, self.y - self.height() / 2.0 + self.radius)
    }

    /// Returns the number and its rectangle.
    fn number(&self) -> (Text, MapBox) {
        let (w, h) = self.number_extent();
        let bottom = self.y + if self.inside { h } else { self.height() } / 2.0;
        let number = text((self.x, bottom), &self.topic.to_string(), self.size);
        let (left, right) = (self.x - w / 2.0, self.x + w / 2.0);
        let area = MapBox { left, right, top: bottom - h, bottom };
        (Text { anchor: Anchor::Middle, bold: true, ..number }, area)
    }

    /// Returns by how much the disc and another one, with their numbers, are too near.
    fn overlap(&self, other: &TopicDisc) -> f64 {
        self.reach + other.reach + GAP - (self.x - other.x).hypot(self.y - other.y)
    }
}

/// Discs, the largest first, and the field in which they are drawn.
#[derive(Debug, Clone)]
pub(super) struct TopicMapLayout {
    pub(super) discs: Vec<TopicDisc>,
    pub(super) field: MapBox,
}

impl TopicMapLayout {
    /// Draws the discs, their numbers and their words. The field becomes higher if there are too
    /// many discs for it.
    pub(super) fn draw(&mut self, shapes: &mut Vec<Shape>) {
        self.separate();
        self.resolve();
        for disc in &self.discs {
            let at = disc.centre();
            let circle = |size, colour| Shape::Marker { at, marker: Marker::Disc, size, colour };
            shapes.extend([circle(disc.radius, BLUE), circle((disc.radius - 1.0).max(0.5), LIGHT)]);
        }
        shapes.extend(self.labels().into_iter().map(|(text, _)| Shape::Text(text)));
    }

    /// Moves overlapping discs apart, and all discs into the field.
    fn separate(&mut self) {
        let count = self.discs.len().max(1);
        let rounds = (MAX_COMPARISONS / (count * count)).min(MAX_ROUNDS);
        for _ in 0..rounds {
            let mut moved = false;
            for i in 1..self.discs.len() {
                for j in 0..i {
                    moved |= self.separate_pair(i, j);
                }
            }
            self.clamp();
            if !moved {
                break;
            }
        }
        self.clamp();
    }

    /// Moves all discs into the field.
    fn clamp(&mut self) {
        for disc in &mut self.discs {
            let clamp = |value: f64, low: f64, high: f64| value.max(low).min(high.max(low));
            let r = disc.reach;
            disc.x = clamp(disc.x, self.field.left + r, self.field.right - r);
            disc.y = clamp(disc.y, self.field.top + r, self.field.bottom - r);
        }
    }

    /// Moves two discs apart if they overlap, the smaller one farther. Returns whether they did.
    fn separate_pair(&mut self, i: usize, j: usize) -> bool {
        let (a, b) = (&self.discs[i], &self.discs[j]);
        let overlap = a.overlap(b);
        if overlap <= 1e-6 {
            return false;
        }
        let (mut dx, mut dy) = (a.x - b.x, a.y - b.y);
        let mut distance = dx.hypot(dy);
        if distance < 1e-9 {
            // Discs at the same point move in different directions.
            let angle = (i * 7 + j) as f64;
            (dx, dy, distance) = (angle.cos(), angle.sin(), 1.0);
        }
        let (x, y) = (dx / distance * overlap, dy / distance * overlap);
        let share = b.reach / (a.reach + b.reach);
        let (a, b) = (share, 1.0 - share);
        (self.discs[i].x, self.discs[i].y) = (self.discs[i].x + a * x, self.discs[i].y + a * y);
        (self.discs[j].x, self.discs[j].y) = (self.discs[j].x - b * x, self.discs[j].y - b * y);
        true
    }

    /// Moves every disc that overlaps a larger one to the nearest free place. The field becomes
    /// higher if there is none.
    fn resolve(&mut self) {
        let mut fixed = FixedDiscs::new(self.discs.iter().map(|disc| disc.reach).fold(1.0, f64::max));
        for i in 0..self.discs.len() {
            while !fixed.is_free(&self.discs, &self.discs[i]) {
                let disc = &self.discs[i];
                if let Some((x, y)) = fixed.nearest_place(&self.discs, disc, &self.field) {
                    (self.discs[i].x, self.discs[i].y) = (x, y);
                    break;
                }
                self.field.bottom += 2.0 * disc.reach + GAP + PLACE_STEP;
            }
            fixed.add(&self.discs[i], i);
        }
    }

    /// Places the numbers and words. Returns them with their rectangles.
    fn labels(&self) -> Vec<(Text, MapBox)> {
        let mut placed: Vec<(Text, MapBox)> = self.discs.iter().map(TopicDisc::number).collect();
        for disc in self.discs.iter().take(MAX_LABELS) {
            placed.extend(self.label(disc, &placed));
        }
        placed
    }

    /// Returns the words of a disc, as many as fit, at the first free place beside it.
    fn label(&self, disc: &TopicDisc, placed: &[(Text, MapBox)]) -> Option<(Text, MapBox)> {
        for count in (1..=disc.words.len()).rev() {
            let label = disc.words[..count].join(" ");
            let (w, h) = (width(&label, SIZE, false), SIZE);
            let beside = disc.reach + GAP;
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

/// Discs that have their final place, by the cells of a square grid.
struct FixedDiscs {
    cell: f64,
    cells: HashMap<(i64, i64), Vec<usize>>,
}

impl FixedDiscs {
    /// Creates an empty grid for discs of at most the given reach.
    fn new(reach: f64) -> FixedDiscs {
        FixedDiscs { cell: 2.0 * reach + GAP, cells: HashMap::new() }
    }

    fn cell_of(&self, x: f64, y: f64) -> (i64, i64) {
        ((x / self.cell).floor() as i64, (y / self.cell).floor() as i64)
    }

    fn add(&mut self, disc: &TopicDisc, number: usize) {
        self.cells.entry(self.cell_of(disc.x, disc.y)).or_default().push(number);
    }

    /// Returns whether a disc overlaps none of the discs in the grid.
    fn is_free(&self, discs: &[TopicDisc], disc: &TopicDisc) -> bool {
        let (column, row) = self.cell_of(disc.x, disc.y);
        let around = (column - 1..=column + 1).flat_map(|x| (row - 1..=row + 1).map(move |y| (x, y)));
        let mut near = around.filter_map(|cell| self.cells.get(&cell)).flatten();
        near.all(|&other| disc.overlap(&discs[other]) < 0.01)
    }

    /// Returns the nearest free place for a disc in the field, searched on squares around it.
    fn nearest_place(&self, discs: &[TopicDisc], disc: &TopicDisc, field: &MapBox) -> Option<(f64, f64)> {
        let r = disc.reach;
        let rings = ((field.right - field.left).max(field.bottom - field.top) / PLACE_STEP).ceil() as i32;
        let mut tried = disc.clone();
        for ring in 1..=rings {
            let mut best: Option<(f64, f64, f64)> = None;
            for (column, row) in ring_places(ring) {
                let (dx, dy) = (f64::from(column) * PLACE_STEP, f64::from(row) * PLACE_STEP);
                (tried.x, tried.y) = (disc.x + dx, disc.y + dy);
                let area =
                    MapBox { left: tried.x - r, right: tried.x + r, top: tried.y - r, bottom: tried.y + r };
                let distance = dx.hypot(dy);
                let nearer = best.is_none_or(|(least, ..)| distance < least);
                if nearer && field.contains(&area) && self.is_free(discs, &tried) {
                    best = Some((distance, tried.x, tried.y));
                }
            }
            if let Some((_, x, y)) = best {
                return Some((x, y));
            }
        }
        None
    }
}

/// Iterates over the places on the edge of a square around the origin.
fn ring_places(ring: i32) -> impl Iterator<Item = (i32, i32)> {
    let sides = (-ring..=ring).flat_map(move |at| [(at, -ring), (at, ring)]);
    sides.chain((1 - ring..ring).flat_map(move |at| [(-ring, at), (ring, at)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(count: u32, at: impl Fn(u32) -> (f64, f64)) -> TopicMapLayout {
        let disc = |k: u32| {
            let radius = (2000.0 / f64::from(k + 1) / f64::from(count)).clamp(2.0, 50.0);
            TopicDisc::new(k, at(k), radius, ["harbour", "government", "of"].map(str::to_owned).to_vec())
        };
        let field = MapBox { left: 10.0, top: 40.0, right: 890.0, bottom: 690.0 };
        TopicMapLayout { discs: (0..count).map(disc).collect(), field }
    }

    #[test]
    fn u17_every_topic_of_the_map_has_a_number_and_nothing_overlaps() {
        let scatter = |k: u32| {
            let angle = f64::from(k) * 2.4;
            (450.0 + 20.0 * angle.cos(), 360.0 + 20.0 * angle.sin())
        };
        let point = |_| (450.0, 360.0);
        let corner = |_| (890.0, 690.0);
        for mut layout in [
            layout(20, scatter),
            layout(50, point),
            layout(50, corner),
            layout(300, scatter),
            // More topics than the field has space for.
            layout(3000, point),
            layout(1, scatter),
            layout(0, scatter),
        ] {
            let mut shapes = Vec::new();
            layout.draw(&mut shapes);
            for (i, a) in layout.discs.iter().enumerate() {
                for b in &layout.discs[..i] {
                    let ((ax, ay), (bx, by)) = (a.centre(), b.centre());
                    assert!((ax - bx).hypot(ay - by) > a.radius + b.radius, "{a:?} {b:?}");
                }
            }
            let labels = layout.labels();
            for (i, (text, area)) in labels.iter().enumerate() {
                assert!(layout.field.contains(area), "{text:?}");
                for (other, taken) in &labels[..i] {
                    assert!(!area.overlaps(taken), "{text:?} {other:?}");
                }
            }
            let texts: Vec<&str> = shapes
                .iter()
                .filter_map(|shape| match shape {
                    Shape::Text(text) => Some(text.content.as_str()),
                    _ => None,
                })
                .collect();
            for disc in &layout.discs {
                assert!(texts.contains(&disc.topic.to_string().as_str()), "no number for {}", disc.topic);
            }
            let words = texts.iter().filter(|text| text.contains("harbour")).count();
            // Numbers take precedence: among thousands of topics there is no space for words.
            let topics = layout.discs.len();
            assert!(topics == 0 || topics > 1000 || words > 0, "{topics} topics");
        }
    }
}
