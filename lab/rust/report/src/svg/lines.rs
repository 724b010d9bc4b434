//! A panel of lines: each row's amount over the message's size; a format's best row is drawn strongly and named.

use super::axes::{Axes, BOTTOM, HEIGHT};
use super::{Drawing, PANEL_WIDTH, Scale};
use crate::figure::{Figure, Row};
use crate::{formats, text};
use std::collections::{BTreeMap, HashMap};

const LEFT: f64 = 44.0;
const RIGHT: f64 = 112.0;
/// Of the piece of line before a name.
const KEY: f64 = 16.0;
/// Between two names at the right; the page's script uses it to space the visible ones.
const NAME_STEP: f64 = 12.5;
/// Of the lowest name.
const FLOOR: f64 = BOTTOM - 2.0;

/// One language's rows over the sizes of one case.
#[derive(Debug)]
pub struct Lines<'f> {
    /// The panel's name.
    pub title: &'f str,
    /// Figures of any number of rows and sizes.
    pub figures: &'f [&'f Figure],
    /// The message's size.
    pub across: Scale,
    /// The amounts.
    pub up: Scale,
    /// Whether the amounts are times, else bytes.
    pub is_time: bool,
}

/// A row's points, ascending by size: size in bytes and figure.
type Points<'f> = Vec<(f64, &'f Figure)>;

impl Lines<'_> {
    /// The panel.
    pub fn draw(&self) -> Drawing {
        let mut rows: BTreeMap<&Row, Points<'_>> = BTreeMap::new();
        for figure in self.figures {
            let Some(size) = text::size_bytes(&figure.setting.size) else { continue };
            rows.entry(&figure.row).or_default().push((size, figure));
        }
        rows.values_mut().for_each(|points| points.sort_by(|one, other| one.0.total_cmp(&other.0)));
        let best = best_of_formats(&rows);
        let axes = self.axes();
        let mut body = axes.frame(self.title, "less is better", self.is_time, "the message as JSON");
        let mut names: Vec<(f64, &str)> = Vec::new();
        // Strong lines last, so that they are on top.
        for strong in [false, true] {
            for (row, points) in rows.iter().filter(|(row, _)| best.contains_key(**row) == strong) {
                body.push_str(&self.line(row, points, strong));
                if let Some((_, last)) = points.last().filter(|_| strong) {
                    names.push((axes.y(last.value), &row.format));
                }
            }
        }
        names.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (y, (from, format)) in spaced(&names).into_iter().zip(&names) {
            // From the line's end to a sample of the line, whose dashes identify it if the color doesn't.
            let (end, key) = (PANEL_WIDTH - RIGHT + 1.0, PANEL_WIDTH - RIGHT + 8.0);
            body.push_str(&format!(
                "<g class=\"label f-{class}\" data-format=\"{format}\" data-end=\"{from:.1}\" data-at=\"{y:.1}\">\
                 <path class=\"lead\" d=\"M{end:.0} {from:.1}L{key:.0} {y:.1}\"/>\
                 <g><path class=\"line\" stroke-dasharray=\"{dashes}\" d=\"M{key:.0} {y:.1}h{KEY}\"/>\
                 <text x=\"{x:.0}\" y=\"{:.1}\">{name}</text></g></g>",
                y + 4.0,
                class = formats::class(format),
                format = text::escape(format),
                dashes = formats::dashes(format),
                x = key + KEY + 4.0,
                name = text::escape(&text::short(formats::short_name(format), 16)),
            ));
        }
        Drawing {
            title: self.title.to_owned(),
            description: format!("{}: {}.", self.title, described(&rows, &best, self.is_time)),
            width: PANEL_WIDTH,
            height: HEIGHT,
            data: format!("data-step=\"{NAME_STEP}\" data-floor=\"{FLOOR}\""),
            body,
        }
    }

    fn line(&self, row: &Row, points: &Points<'_>, strong: bool) -> String {
        let mut path = String::new();
        let mut marks = String::new();
        let axes = self.axes();
        for (index, (size, figure)) in points.iter().enumerate() {
            let (x, y) = (axes.x(*size), axes.y(figure.value));
            path.push_str(&format!("{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' }));
            if strong {
                marks.push_str(&format!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>"));
            }
        }
        let ends: Vec<String> = [points.first(), points.last()]
            .into_iter()
            .flatten()
            .map(|(size, figure)| format!("{} at {}", text::amount(figure.value, self.is_time), text::bytes(*size)))
            .collect();
        format!(
            "<g class=\"series f-{}{}\" data-format=\"{}\"><title>{}</title><path class=\"line\" \
             stroke-dasharray=\"{}\" d=\"{path}\"/>{marks}</g>",
            formats::class(&row.format),
            if strong { "" } else { " faint" },
            text::escape(&row.format),
            text::escape(&format!("{}, {}: {}", formats::name(&row.format), row.name(), ends.join(", "))),
            formats::dashes(&row.format),
        )
    }

    fn axes(&self) -> Axes {
        Axes { left: LEFT, right: RIGHT, across: self.across, up: self.up }
    }
}

/// For each format the row that is best at its largest size; a row with a caveat only if the format has no other.
fn best_of_formats<'f>(rows: &BTreeMap<&'f Row, Points<'f>>) -> HashMap<&'f Row, f64> {
    let mut best: BTreeMap<&str, (&'f Row, (bool, f64, f64))> = BTreeMap::new();
    for (row, points) in rows {
        let Some((size, figure)) = points.last() else { continue };
        let rank = (row.caveat(figure.setting.operation).is_some(), -size, figure.value);
        if best.get(row.format.as_str()).is_none_or(|(_, other)| rank < *other) {
            best.insert(&row.format, (*row, rank));
        }
    }
    best.into_values().map(|(row, (_, _, value))| (row, value)).collect()
}

fn described(rows: &BTreeMap<&Row, Points<'_>>, best: &HashMap<&Row, f64>, is_time: bool) -> String {
    let of_row = |(row, points): (&&Row, &Points<'_>)| {
        let (first, last) = (points.first()?, points.last()?);
        Some(format!(
            "{} by {} from {} at {} to {} at {}",
            formats::name(&row.format),
            row.name(),
            text::amount(first.1.value, is_time),
            text::bytes(first.0),
            text::amount(last.1.value, is_time),
            text::bytes(last.0),
        ))
    };
    let said: Vec<String> = rows.iter().filter(|(row, _)| best.contains_key(**row)).filter_map(of_row).collect();
    said.join("; ")
}

/// The positions of names whose lines end at these heights, ascending: moved apart, and up where they would leave the
/// panel.
fn spaced(names: &[(f64, &str)]) -> Vec<f64> {
    let mut places: Vec<f64> = Vec::with_capacity(names.len());
    for (wanted, _) in names {
        places.push(places.last().map_or(*wanted, |last| wanted.max(last + NAME_STEP)));
    }
    let mut floor = FLOOR;
    for place in places.iter_mut().rev() {
        *place = place.min(floor);
        floor = *place - NAME_STEP;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_distance_and_stay_inside() {
        let names = [(298.0, "a"), (299.0, "b"), (300.0, "c")];
        let places = spaced(&names);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= NAME_STEP - 1e-9));
        assert!(places.iter().all(|place| *place <= BOTTOM));
    }
}
