//! A panel of points: bytes across, time up; the rows that no other row beats in both are joined.

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
        let whole: Vec<(&Figure, f64)> = self
            .points
            .iter()
            .filter(|(figure, _)| figure.row.caveat(figure.setting.operation).is_none())
            .copied()
            .collect();
        let front = front(&whole);
        let mut path = String::new();
        for (figure, bytes) in &front {
            let command = if path.is_empty() { 'M' } else { 'L' };
            path.push_str(&format!("{command}{:.1} {:.1}", axes.x(*bytes), axes.y(figure.value)));
        }
        body.push_str(&format!("<path class=\"front\" d=\"{path}\"/>"));
        let best = best_of_formats(self.points);
        let dots = |points: &[(&Figure, f64)]| -> Vec<Place> {
            points.iter().map(|(figure, bytes)| dot(axes.x(*bytes), axes.y(figure.value))).collect()
        };
        let all_dots = dots(self.points);
        let mut taken = dots(&best);
        // Below all marks, so that no mark covers a name.
        let mut labels = String::new();
        for (figure, bytes) in self.points {
            let is_best = best.iter().any(|(other, _)| std::ptr::eq(*other, *figure));
            let (x, y) = (axes.x(*bytes), axes.y(figure.value));
            let name = formats::name(&figure.row.format);
            let (class, format) = (formats::class(&figure.row.format), text::escape(&figure.row.format));
            let mark = if is_best {
                let label = short_name(&figure.row.format);
                // Over a ring rather than nowhere.
                let clear: Vec<Place> = taken.iter().chain(&all_dots).copied().collect();
                if let Some(place) = place(x, y, &label, &clear).or_else(|| place(x, y, &label, &taken)) {
                    labels.push_str(&format!(
                        "<g class=\"f-{class}\" data-format=\"{format}\">{}<text class=\"halo {}\" x=\"{:.1}\" \
                         y=\"{:.1}\">{}</text></g>",
                        lead(x, y, &place),
                        place.anchor,
                        place.x,
                        place.bottom - 3.0,
                        text::escape(&label)
                    ));
                    taken.push(place);
                }
                format!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>")
            } else {
                format!("<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>")
            };
            let title = format!("{name}, {}: {}, {}", figure.row.name(), text::bytes(*bytes), text::time(figure.value));
            body.push_str(&format!(
                "<g class=\"point{} f-{class}\" data-format=\"{format}\"><title>{}</title>{mark}</g>",
                if figure.row.caveat(figure.setting.operation).is_some() { " part" } else { "" },
                text::escape(&title)
            ));
        }
        body.push_str(&labels);
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

/// For each format the fastest row without a caveat, or the fastest if all have one: it is the named one.
fn best_of_formats<'f>(points: &[(&'f Figure, f64)]) -> Vec<(&'f Figure, f64)> {
    let mut best: BTreeMap<&str, (&Figure, f64)> = BTreeMap::new();
    for (figure, bytes) in points {
        let rank = |figure: &Figure| (figure.row.caveat(figure.setting.operation).is_some(), figure.value);
        if best.get(figure.row.format.as_str()).is_none_or(|(other, _)| rank(figure) < rank(other)) {
            best.insert(&figure.row.format, (figure, *bytes));
        }
    }
    best.into_values().collect()
}

fn short_name(format: &str) -> String {
    text::short(formats::short_name(format), 20)
}

fn dot(x: f64, y: f64) -> Place {
    Place { left: x - 5.5, right: x + 5.5, top: y - 4.5, bottom: y + 4.5, anchor: "middle", x }
}

/// A box that a mark or a name takes.
#[derive(Debug, Clone, Copy)]
struct Place {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// The name's class: which of its ends, or its middle, is at `x`.
    anchor: &'static str,
    x: f64,
}

impl Place {
    fn overlaps(&self, other: &Place) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// A line from a mark to its name, if the name is so far away that another mark may be nearer.
fn lead(x: f64, y: f64, place: &Place) -> String {
    let middle = (place.top + place.bottom) / 2.0;
    if (middle - y).abs() < 15.0 {
        return String::new();
    }
    format!("<path class=\"lead\" d=\"M{x:.1} {y:.1}L{:.1} {middle:.1}\"/>", place.x - 1.0)
}

/// The first free place for a name around its point, if there is one.
fn place(x: f64, y: f64, label: &str, taken: &[Place]) -> Option<Place> {
    // As wide as the widest of the fonts that may be used.
    let width = label.chars().count() as f64 * 6.6;
    let places = [
        ("", 7.0, 0.0),
        ("end", -7.0, 0.0),
        ("", 7.0, -10.0),
        ("", 7.0, 10.0),
        ("end", -7.0, -10.0),
        ("end", -7.0, 10.0),
        ("middle", 0.0, -13.0),
        ("middle", 0.0, 13.0),
        ("", 12.0, -20.0),
        ("", 12.0, 20.0),
    ];
    places
        .into_iter()
        .map(|(anchor, across, up)| {
            let (x, middle) = (x + across, y + up);
            let left = match anchor {
                "end" => x - width,
                "middle" => x - width / 2.0,
                _ => x,
            };
            Place { left, right: left + width, top: middle - 7.0, bottom: middle + 7.0, anchor, x }
        })
        .filter(|place| place.left >= LEFT && place.right <= PANEL_WIDTH && place.top >= TOP && place.bottom <= BOTTOM)
        .find(|place| !taken.iter().any(|other| other.overlaps(place)))
}
