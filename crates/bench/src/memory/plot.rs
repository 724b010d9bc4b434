//! The curve of a run as SVG: memory over time, with the budget.

use super::samples::Sample;
use std::fmt::Write;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 54.0;
const MB: f64 = 1e6;

/// Marks on the axis of memory.
const MARKS: usize = 6;

/// A curve: its label, its color, and its value in bytes.
struct Curve {
    label: &'static str,
    color: &'static str,
    bytes: fn(&Sample) -> Option<u64>,
}

/// Colors of Okabe and Ito, which nearly everyone can distinguish.
const CURVES: [Curve; 4] = [
    Curve { label: "resident", color: "#009e73", bytes: |sample| Some(sample.resident_bytes()) },
    Curve { label: "anonymous", color: "#0072b2", bytes: |sample| Some(sample.memory.anonymous_bytes) },
    Curve { label: "mapped files", color: "#e69f00", bytes: |sample| Some(sample.memory.file_bytes) },
    Curve { label: "pool in use", color: "#cc79a7", bytes: |sample| sample.pool_used_bytes },
];

/// Draws the samples. `bound_bytes` is the maximum of anonymous memory.
pub fn svg(title: &str, samples: &[Sample], budget_bytes: u64, bound_bytes: u64) -> String {
    let seconds = samples.last().map_or(1.0, |sample| sample.second).max(1.0);
    let highest = CURVES.iter().flat_map(|curve| samples.iter().filter_map(curve.bytes)).max().unwrap_or(0);
    let step = step(highest.max(bound_bytes) as f64 / MB);
    let top_mb = step * ((highest.max(bound_bytes) as f64 / MB / step).ceil() + 0.5);
    let x = |second: f64| LEFT + second / seconds * (WIDTH - LEFT - RIGHT);
    let y = |mb: f64| HEIGHT - BOTTOM - mb / top_mb * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"14\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    text(&mut svg, (LEFT, 30.0), "start", "font-size=\"18\" fill=\"#222222\"", title);
    let mut mark = 0.0;
    while mark <= top_mb {
        line(&mut svg, [(LEFT, y(mark)), (WIDTH - RIGHT, y(mark))], "#e4e4e4", "");
        text(&mut svg, (LEFT - 8.0, y(mark) + 5.0), "end", "fill=\"#666666\"", &format!("{mark:.0}"));
        mark += step;
    }
    text(&mut svg, (LEFT - 8.0, TOP - 8.0), "end", "fill=\"#666666\"", "MB");
    for quarter in 0..=4 {
        let second = seconds * f64::from(quarter) / 4.0;
        text(&mut svg, (x(second), HEIGHT - BOTTOM + 22.0), "middle", "fill=\"#666666\"", &format!("{second:.0} s"));
    }
    for (bytes, label) in [(budget_bytes, "--memory"), (bound_bytes, "--memory + 64 MB")] {
        let at = y(bytes as f64 / MB);
        line(&mut svg, [(LEFT, at), (WIDTH - RIGHT, at)], "#999999", " stroke-dasharray=\"6 4\"");
        text(&mut svg, (WIDTH - RIGHT - 4.0, at - 5.0), "end", "fill=\"#666666\"", label);
    }
    for (number, curve) in CURVES.iter().enumerate() {
        let points =
            samples.iter().filter_map(|sample| Some((x(sample.second), y((curve.bytes)(sample)? as f64 / MB))));
        let points = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ");
        let color = curve.color;
        // Writing to a String can't fail.
        let _ = writeln!(svg, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>");
        let at = LEFT + number as f64 * 150.0;
        line(&mut svg, [(at, 54.0), (at + 24.0, 54.0)], color, " stroke-width=\"3\"");
        text(&mut svg, (at + 32.0, 59.0), "start", "fill=\"#222222\"", curve.label);
    }
    svg.push_str("</svg>\n");
    svg
}

/// A round distance of marks.
fn step(highest: f64) -> f64 {
    let least = highest / MARKS as f64;
    let power = 10f64.powf(least.max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}

fn line(svg: &mut String, [from, to]: [(f64, f64); 2], color: &str, more: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ =
        writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\"{more}/>");
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, more: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        for (highest, expected) in [(5.0, 1.0), (70.0, 20.0), (333.0, 100.0), (400.0, 100.0), (3100.0, 1000.0)] {
            assert_eq!(step(highest), expected, "{highest}");
        }
    }
}
