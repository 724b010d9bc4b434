//! The frame of a panel with two scales: title, ticks, grid and axis label, and the positions of amounts.

use super::{PANEL_WIDTH, Scale};
use crate::text;

/// Where the scales' field begins and ends, in pixels from the panel's top.
pub const TOP: f64 = 26.0;
/// See [`TOP`].
pub const BOTTOM: f64 = 300.0;
/// Of the panel, including what is below the field.
pub const HEIGHT: f64 = 334.0;

/// Two scales and the margins.
#[derive(Debug, Clone, Copy)]
pub struct Axes {
    /// For the labels of the scale that goes up, in pixels.
    pub left: f64,
    /// Right margin, in pixels.
    pub right: f64,
    /// Bytes.
    pub across: Scale,
    /// Times or bytes.
    pub up: Scale,
}

impl Axes {
    /// The title, the scales and their names.
    pub fn frame(&self, title: &str, note: &str, up_is_time: bool, across_name: &str) -> String {
        let mut body = format!("<text class=\"head\" x=\"0\" y=\"14\">{}</text>", text::escape(title));
        body.push_str(&format!(
            "<text class=\"quiet end\" x=\"{PANEL_WIDTH}\" y=\"14\">{note} · both scales log</text>"
        ));
        let mut grid = String::new();
        for tick in self.up.ticks(7) {
            let y = self.y(tick);
            grid.push_str(&format!("M{} {y:.1}H{:.0}", self.left, PANEL_WIDTH - self.right));
            let (x, label) = (self.left - 4.0, text::tick(tick, up_is_time));
            body.push_str(&format!("<text class=\"quiet end\" x=\"{x:.0}\" y=\"{:.1}\">{label}</text>", y + 4.0));
        }
        for tick in self.across.ticks(6) {
            let x = self.x(tick);
            grid.push_str(&format!("M{x:.1} {TOP}V{BOTTOM}"));
            let label = text::tick(tick, false);
            body.push_str(&format!(
                "<text class=\"quiet middle\" x=\"{x:.1}\" y=\"{:.0}\">{label}</text>",
                BOTTOM + 14.0
            ));
        }
        body.push_str(&format!("<path class=\"rule\" d=\"{grid}\"/>"));
        let (x, y) = ((self.left + PANEL_WIDTH - self.right) / 2.0, BOTTOM + 29.0);
        body.push_str(&format!("<text class=\"quiet middle\" x=\"{x:.0}\" y=\"{y:.0}\">{across_name}</text>"));
        body
    }

    /// From the panel's left, in pixels.
    pub fn x(&self, amount: f64) -> f64 {
        self.left + self.across.share(amount) * (PANEL_WIDTH - self.right - self.left)
    }

    /// From the panel's top, in pixels.
    pub fn y(&self, amount: f64) -> f64 {
        BOTTOM - self.up.share(amount) * (BOTTOM - TOP)
    }
}
