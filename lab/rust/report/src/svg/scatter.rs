//! A panel of points: bytes across, time up; the rows that none beats in both are joined.

use super::axes::{Axes, BOTTOM, HEIGHT, TOP};
use super::{Drawing, PANEL_WIDTH, Scale};
use crate::figure::Figure;
use crate::{formats, text};
use std::collections::BTreeMap;

const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;

/// One language's rows in one setting.
#[derive(Debug)]
pub struct Scatter<'f> {
    /// The panel's name.
    pub title: &'f str,
    /// A figure and its row's bytes.
    pub points: &'f [(&'f Figure, f64)],
    /// Bytes.
    pub across: Scale,
    /// Time.
    pub up: Scale,
}

impl Scatter<'_> {
    /// The panel.
    pub fn draw(&self) -> Drawing {
        let axes = Axes { left: LEFT, right: RIGHT, across: self.across, up: self.up };
        let mut body = axes.frame(self.title, "bottom left is best", true, "bytes a message");
        let front = front(self.points);
        let mut path = String::new();
        for (figure, bytes) in &front {
            let command = if path.is_empty() { 'M' } else { 'L' };
            path.push_str(&format!("{command}{:.1} {:.1}", axes.x(*bytes), axes.y(figure.value)));
        }
        body.push_str(&format!("<path class=\"front\" d=\"{path}\"/>"));
        let best = best_of_formats(self.points);
        let mut taken: Vec<Place> =
            best.iter().map(|(figure, bytes)| dot(axes.x(*bytes), axes.y(figure.value))).collect();
        for (figure, bytes) in self.points {
            let is_best = best.iter().any(|(other, _)| std::ptr::eq(*other, *figure));
            let (x, y) = (axes.x(*bytes), axes.y(figure.value));
            let name = formats::name(&figure.row.format);
            let mark = if is_best {
                let label = short_name(&figure.row.format);
                let mark = format!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>");
                match place(x, y, &label, &taken) {
                    Some(place) => {
                        let text = format!(
                            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                            place.left,
                            place.bottom - 3.0,
                            text::escape(&label)
                        );
                        taken.push(place);
                        mark + &text
                    }
                    None => mark,
                }
            } else {
                format!("<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>")
            };
            let title = format!("{name}, {}: {}, {}", figure.row.name(), text::bytes(*bytes), text::time(figure.value));
            body.push_str(&format!(
                "<g class=\"point f-{}\" data-format=\"{}\"><title>{}</title>{mark}</g>",
                formats::class(&figure.row.format),
                text::escape(&figure.row.format),
                text::escape(&title)
            ));
        }
        let said: Vec<String> = front
            .iter()
            .map(|(figure, bytes)| {
                let name = formats::name(&figure.row.format);
                format!("{name} by {} ({}, {})", figure.row.name(), text::bytes(*bytes), text::time(figure.value))
            })
            .collect();
        Drawing {
            title: self.title.to_owned(),
            description: format!("{}: no row is both smaller and faster than {}.", self.title, said.join("; ")),
            width: PANEL_WIDTH,
            height: HEIGHT,
            data: String::new(),
            body,
        }
    }
}

/// The points that no other beats in bytes and in time, ascending by bytes.
pub fn front<'f>(points: &[(&'f Figure, f64)]) -> Vec<(&'f Figure, f64)> {
    let mut sorted: Vec<(&Figure, f64)> = points.to_vec();
    sorted.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.value.total_cmp(&other.0.value)));
    let mut fastest = f64::INFINITY;
    sorted.retain(|(figure, _)| {
        let is_faster = figure.value < fastest;
        fastest = fastest.min(figure.value);
        is_faster
    });
    sorted
}

/// Of each format the fastest row: it is the one with a name.
fn best_of_formats<'f>(points: &[(&'f Figure, f64)]) -> Vec<(&'f Figure, f64)> {
    let mut best: BTreeMap<&str, (&Figure, f64)> = BTreeMap::new();
    for (figure, bytes) in points {
        if best.get(figure.row.format.as_str()).is_none_or(|(other, _)| figure.value < other.value) {
            best.insert(&figure.row.format, (figure, *bytes));
        }
    }
    best.into_values().collect()
}

fn short_name(format: &str) -> String {
    let name = formats::name(format);
    text::short(name, 20)
}

fn dot(x: f64, y: f64) -> Place {
    Place { left: x - 4.5, right: x + 4.5, top: y - 4.5, bottom: y + 4.5 }
}

/// A box that a mark or a name takes.
#[derive(Debug, Clone, Copy)]
struct Place {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Place {
    fn overlaps(&self, other: &Place) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// The first free place for a name around its point, if there is one.
fn place(x: f64, y: f64, label: &str, taken: &[Place]) -> Option<Place> {
    let width = label.chars().count() as f64 * 6.1;
    let right = |shift: f64| (x + 7.0, y + shift);
    let left = |shift: f64| (x - 7.0 - width, y + shift);
    let around = [right(0.0), left(0.0), right(-10.0), right(10.0), left(-10.0), left(10.0)];
    let above = [(x - width / 2.0, y - 13.0), (x - width / 2.0, y + 13.0)];
    around
        .into_iter()
        .chain(above)
        .map(|(begin, middle)| Place { left: begin, right: begin + width, top: middle - 7.0, bottom: middle + 7.0 })
        .filter(|place| place.left >= LEFT && place.right <= PANEL_WIDTH && place.top >= TOP && place.bottom <= BOTTOM)
        .find(|place| !taken.iter().any(|other| other.overlaps(place)))
}
