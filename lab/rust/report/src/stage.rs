//! The charts: one panel per language, on one scale.

use crate::figure::{Figure, Operation, Setting};
use crate::report::{Report, size_place};
use crate::svg::{Bars, Drawing, Lines, Scale, Scatter};
use crate::text;

/// A chart: its name in files and addresses, its title, and a panel for each language.
#[derive(Debug)]
pub struct Chart {
    /// `zeek-base-decode`, unique.
    pub name: String,
    /// Its title.
    pub title: String,
    /// A language and its panel.
    pub panels: Vec<(String, Drawing)>,
}

impl Chart {
    /// All panels side by side, as one picture.
    pub fn picture(&self) -> String {
        let panels: Vec<&Drawing> = self.panels.iter().map(|(_, drawing)| drawing).collect();
        Drawing::side_by_side(&self.title, &panels).stand_alone()
    }
}

/// The name of a setting's chart.
pub fn setting_name(setting: &Setting) -> String {
    let Setting { case, size, messages, operation, threads } = setting;
    let mut name = format!("{case}-{size}-{}", operation.key());
    if messages == "one" {
        name.push_str("-one");
    }
    if *threads > 1 {
        name.push_str(&format!("-t{threads}"));
    }
    name
}

/// The title of a setting's chart.
fn setting_title(setting: &Setting) -> String {
    let Setting { case, size, messages, operation, threads } = setting;
    let mut title = format!("{}, {}", text::case(case), operation.title());
    if size != "base" {
        title.push_str(&format!(", messages of {}", text::size(size)));
    }
    if messages == "one" {
        title.push_str(", one message repeated");
    }
    if *threads > 1 {
        title.push_str(&format!(", {threads} threads"));
    }
    title
}

/// The panel of each language that has one. `draw` gets the language and its title.
fn panels(report: &Report, draw: impl Fn(&str, &str) -> Option<Drawing>) -> Vec<(String, Drawing)> {
    let panel = |language: String| draw(&language, &text::language(&language)).map(|drawing| (language, drawing));
    report.languages().into_iter().filter_map(panel).collect()
}

/// Bars of each row in a setting.
pub fn bars(report: &Report, setting: &Setting) -> Chart {
    let is_time = setting.operation.is_time();
    let scale = Scale::fit(report.of(setting).flat_map(|figure| [figure.low, figure.high]));
    let panels = panels(report, |language, title| {
        let figures: Vec<&Figure> = report.of(setting).filter(|figure| figure.row.language == language).collect();
        (!figures.is_empty()).then(|| Bars { title, figures: &figures, scale, is_time }.draw())
    });
    Chart { name: setting_name(setting), title: setting_title(setting), panels }
}

/// Each row's cost over the messages' size, of one case and operation. None if fewer than two sizes were measured.
pub fn growth(report: &Report, case: &str, operation: Operation) -> Option<Chart> {
    let of_growth = |figure: &&Figure| {
        let Setting { case: other, size, messages, operation: what, threads } = &figure.setting;
        other == case && *what == operation && messages == "varied" && *threads == 1 && text::size_bytes(size).is_some()
    };
    let mut sizes: Vec<f64> =
        report.figures.iter().filter(of_growth).map(|figure| size_place(&figure.setting.size)).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < 2 {
        return None;
    }
    let across = Scale::logarithmic(sizes.iter().copied())?;
    let up = Scale::logarithmic(report.figures.iter().filter(of_growth).flat_map(|figure| [figure.low, figure.high]))?;
    let panels = panels(report, |language, title| {
        let figures: Vec<&Figure> =
            report.figures.iter().filter(of_growth).filter(|figure| figure.row.language == language).collect();
        let lines = Lines { title, figures: &figures, across, up, is_time: operation.is_time() };
        (!figures.is_empty()).then(|| lines.draw())
    });
    let name = format!("{case}-growth-{}", operation.key());
    Some(Chart { name, title: format!("{}, {} over the message's size", text::case(case), operation.title()), panels })
}

/// Size against time of each row, in one setting. None if no size is known.
pub fn scatter(report: &Report, setting: &Setting) -> Option<Chart> {
    let points: Vec<(&Figure, f64)> = report
        .of(setting)
        .filter_map(|figure| Some((figure, report.bytes(&figure.row, &setting.case, &setting.size)?)))
        .collect();
    let across = Scale::logarithmic(points.iter().map(|(_, bytes)| *bytes))?;
    let up = Scale::logarithmic(points.iter().map(|(figure, _)| figure.value))?;
    let panels = panels(report, |language, title| {
        let points: Vec<(&Figure, f64)> =
            points.iter().filter(|(figure, _)| figure.row.language == language).copied().collect();
        (!points.is_empty()).then(|| Scatter { title, points: &points, across, up }.draw())
    });
    let name = format!("scatter-{}", setting_name(setting));
    Some(Chart { name, title: format!("{}: bytes against time", setting_title(setting)), panels })
}
