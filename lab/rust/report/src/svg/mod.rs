//! Draws charts as plain SVG, for the page and the documentation.
//!
//! Marks have classes and no colors; [`style`] gives a stand-alone picture its colors, light and dark, and the page has
//! the same in its style sheet.

mod axes;
mod bars;
mod lines;
mod scale;
mod scatter;

pub use bars::Bars;
pub use lines::Lines;
pub use scale::Scale;
pub use scatter::Scatter;

use crate::formats::COLOURS;
use crate::text::escape;

/// A panel's width, in pixels at full size; a phone shows one panel, a desk three side by side.
pub const PANEL_WIDTH: f64 = 340.0;
const GAP: f64 = 24.0;

/// Colors of everything but marks.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    /// The background.
    pub background: &'static str,
    /// Text.
    pub ink: &'static str,
    /// Secondary text.
    pub quiet: &'static str,
    /// Lines of scales.
    pub rule: &'static str,
}

/// On white.
pub const LIGHT: Theme = Theme { background: "#ffffff", ink: "#1b1f23", quiet: "#5a6470", rule: "#dfe3e8" };
/// On near black.
pub const DARK: Theme = Theme { background: "#14171a", ink: "#e8eaed", quiet: "#a3adb8", rule: "#333a42" };

/// A drawing of a known size.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// Its title.
    pub title: String,
    /// A sentence that describes it for screen readers.
    pub description: String,
    /// In pixels.
    pub width: f64,
    /// In pixels.
    pub height: f64,
    /// Attributes for the page's script.
    pub data: String,
    /// The marks.
    pub body: String,
}

impl Drawing {
    /// As an element of a page that has the style.
    pub fn inline(&self) -> String {
        let Drawing { title, description, width, height, data, body } = self;
        format!(
            "<svg class=\"chart\" role=\"img\" aria-label=\"{}. {}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             {data}>{body}</svg>",
            escape(title),
            escape(description),
        )
    }

    /// As a stand-alone picture, in the reader's light or dark theme.
    pub fn stand_alone(&self) -> String {
        let Drawing { title, description, width, height, body, .. } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n<title>{}</title>\n<desc>{}</desc>\n<style>{}</style>\n\
             <rect class=\"background\" width=\"100%\" height=\"100%\"/>\n{body}\n</svg>\n",
            escape(title),
            escape(description),
            style(),
        )
    }

    /// Drawings side by side under one title.
    pub fn side_by_side(title: &str, drawings: &[&Drawing]) -> Drawing {
        const HEAD: f64 = 34.0;
        let mut body = format!("<text class=\"title\" x=\"{GAP}\" y=\"22\">{}</text>", escape(title));
        let mut left = GAP;
        let mut height: f64 = 0.0;
        for drawing in drawings {
            body.push_str(&format!("\n<g transform=\"translate({left:.0},{HEAD})\">{}</g>", drawing.body));
            left += drawing.width + GAP;
            height = height.max(drawing.height);
        }
        let descriptions: Vec<&str> = drawings.iter().map(|drawing| drawing.description.as_str()).collect();
        Drawing {
            title: title.to_owned(),
            description: descriptions.join(" "),
            width: left.max(PANEL_WIDTH + 2.0 * GAP),
            height: HEAD + height + 10.0,
            data: String::new(),
            body,
        }
    }
}

/// The rules that every chart needs, whatever its colors are.
pub const SHAPES: &str = "\
text{font:11px system-ui,-apple-system,'Segoe UI','Noto Sans','DejaVu Sans',sans-serif}\
.title{font-size:14px;font-weight:600}.head{font-size:13px;font-weight:600}.name{font-weight:600}\
.end{text-anchor:end}.middle{text-anchor:middle}.rule{stroke-width:1;fill:none}\
.bar{fill:currentColor}.pale{fill:currentColor;opacity:.28}.dot{fill:currentColor}\
.ring{fill:none;stroke:currentColor;stroke-width:1.5;opacity:.6}\
.line{fill:none;stroke:currentColor;stroke-width:2}.lead{fill:none;stroke:currentColor;stroke-width:.8;opacity:.6}\
.halo{paint-order:stroke;stroke-width:3;stroke-linejoin:round}.faint{opacity:.3}.faint .line{stroke-width:1.2}\
.front{fill:none;stroke-width:1.2;stroke-dasharray:4 3}.whisker{fill:none;stroke-width:1.3}";

/// The style of a stand-alone picture. Colors are literal, because not every SVG viewer knows variables.
fn style() -> String {
    let theme = |theme: Theme| {
        format!(
            ".background{{fill:{}}}text{{fill:{}}}.quiet{{fill:{}}}.rule{{stroke:{}}}\
             .front,.whisker{{stroke:{}}}.halo{{stroke:{}}}",
            theme.background, theme.ink, theme.quiet, theme.rule, theme.ink, theme.background
        )
    };
    let colours: String = COLOURS.iter().map(|(class, colour)| format!(".f-{class}{{color:{colour}}}")).collect();
    format!("{SHAPES}{}{colours}@media(prefers-color-scheme:dark){{{}}}", theme(LIGHT), theme(DARK))
}

/// The page's part of the style: the same colors as variables, which the page's theme sets.
pub fn page_style() -> String {
    let colours: String = COLOURS.iter().map(|(class, colour)| format!(".f-{class}{{color:{colour}}}")).collect();
    let theme = |theme: Theme| {
        format!("--background:{};--ink:{};--quiet:{};--rule:{};", theme.background, theme.ink, theme.quiet, theme.rule)
    };
    format!(
        ":root{{color-scheme:light dark;{light}}}\
         @media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\
         :root[data-theme=light]{{color-scheme:light}}:root[data-theme=dark]{{color-scheme:dark;{dark}}}\
         svg.chart text{{fill:var(--ink)}}svg.chart .quiet{{fill:var(--quiet)}}svg.chart .rule{{stroke:var(--rule)}}\
         svg.chart .front,svg.chart .whisker{{stroke:var(--ink)}}svg.chart \
         .halo{{stroke:var(--background)}}{colours}{SHAPES}",
        light = theme(LIGHT),
        dark = theme(DARK),
    )
}
