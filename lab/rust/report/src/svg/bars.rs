//! A panel of bars: a row's name and figure, and under them its bar with the interval as a whisker.

use super::{Drawing, PANEL_WIDTH, Scale};
use crate::figure::Figure;
use crate::{formats, text};

/// Height of a row; the page's script packs rows by it.
const ROW: f64 = 27.0;
/// Where the first row begins.
const HEAD: f64 = 40.0;
const BAR: f64 = 8.0;

/// One language's rows in one setting.
#[derive(Debug)]
pub struct Bars<'f> {
    /// The panel's name.
    pub title: &'f str,
    /// Ascending.
    pub figures: &'f [&'f Figure],
    /// The scale, the same for all panels of the chart.
    pub scale: Scale,
    /// Whether the amounts are times, else bytes.
    pub is_time: bool,
}

impl Bars<'_> {
    /// The panel.
    pub fn draw(&self) -> Drawing {
        let height = HEAD + ROW * self.figures.len() as f64;
        let mut body = format!("<text class=\"head\" x=\"0\" y=\"14\">{}</text>", text::escape(self.title));
        let kind = if self.scale.is_logarithmic() { "log scale" } else { "from zero" };
        body.push_str(&format!(
            "<text class=\"quiet end\" x=\"{PANEL_WIDTH}\" y=\"14\">less is better · {kind}</text>"
        ));
        let mut grid = String::new();
        for tick in self.scale.ticks(5) {
            let x = self.x(tick);
            grid.push_str(&format!("M{x:.1} {:.0}V{height:.0}", HEAD - 6.0));
            let label = text::tick(tick, self.is_time);
            let anchor = match x {
                x if x < 20.0 => "",
                x if x > PANEL_WIDTH - 20.0 => " end",
                _ => " middle",
            };
            body.push_str(&format!("<text class=\"quiet{anchor}\" x=\"{x:.1}\" y=\"30\">{label}</text>"));
        }
        body.push_str(&format!("<path class=\"rule grid\" d=\"{grid}\"/>"));
        for (index, figure) in self.figures.iter().enumerate() {
            body.push_str(&self.row(figure, HEAD + ROW * index as f64));
        }
        let describe = |figure: &&Figure| {
            let format = formats::name(&figure.row.format);
            format!("{format} by {}: {}", figure.row.name(), text::amount(figure.value, self.is_time))
        };
        let described: Vec<String> = self.figures.iter().map(describe).collect();
        Drawing {
            title: self.title.to_owned(),
            description: format!("{}: {}.", self.title, described.join("; ")),
            width: PANEL_WIDTH,
            height,
            data: format!("data-head=\"{HEAD}\" data-row=\"{ROW}\""),
            body,
        }
    }

    fn row(&self, figure: &Figure, top: f64) -> String {
        let Figure { row, value, low, high, version, .. } = figure;
        let format = formats::name(&row.format);
        let spread = text::spread(*value, *low, *high).unwrap_or_default();
        let amount = text::amount(*value, self.is_time);
        // A character is 6 pixels wide, those of the format a little more.
        let room = 50_usize.saturating_sub(format.len() + amount.len() + spread.len());
        let mut library = if row.library == row.format { row.variant.clone() } else { row.name() };
        let caveat = row.caveat(figure.setting.operation);
        if caveat.is_some() {
            library.push_str(" †");
        }
        let (begin, end) = (self.x(0.0), self.x(*value));
        let middle = BAR / 2.0 + 16.0;
        let bar = if self.scale.is_logarithmic() { "pale" } else { "bar" };
        let mut marks =
            format!("<rect class=\"{bar}\" x=\"{begin:.1}\" y=\"16\" width=\"{:.1}\" height=\"{BAR}\"/>", end - begin);
        if self.scale.is_logarithmic() {
            marks.push_str(&format!("<circle class=\"dot\" cx=\"{end:.1}\" cy=\"{middle:.1}\" r=\"4\"/>"));
        }
        if !spread.is_empty() {
            let (low, high) = (self.x(*low), self.x(*high));
            let (top, bottom) = (middle - 4.0, middle + 4.0);
            marks.push_str(&format!(
                "<path class=\"whisker\" d=\"M{low:.1} {top:.0}V{bottom:.0}M{low:.1} {middle:.0}H{high:.1}M{high:.1} \
                 {top:.0}V{bottom:.0}\"/>"
            ));
        }
        format!(
            "<g class=\"row f-{class}\" data-format=\"{key}\" \
             transform=\"translate(0,{top:.0})\"><title>{title}</title>\
             <text x=\"0\" y=\"12\"><tspan class=\"name\">{format}</tspan> <tspan \
             class=\"quiet\">{library}</tspan></text>\
             <text class=\"end\" x=\"{PANEL_WIDTH}\" y=\"12\">{amount} <tspan \
             class=\"quiet\">{spread}</tspan></text>{marks}</g>",
            class = formats::class(&row.format),
            key = text::escape(&row.format),
            title = text::escape(&format!(
                "{format}, {} {version}: {amount} {spread}{}",
                row.name(),
                caveat.map_or(String::new(), |caveat| format!(" († {caveat})"))
            )),
            format = text::escape(format),
            library = text::escape(&text::short(&library, room)),
        )
    }

    fn x(&self, amount: f64) -> f64 {
        self.scale.share(amount) * PANEL_WIDTH
    }
}
