//! Human-readable tables.

use std::fmt::Write;

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Aligned columns with a head.
pub fn table<const COLUMNS: usize>(head: [(&str, Align); COLUMNS], rows: Vec<[String; COLUMNS]>) -> String {
    let rows: Vec<[String; COLUMNS]> = std::iter::once(head.map(|(name, _)| name.to_owned())).chain(rows).collect();
    let mut widths = [0; COLUMNS];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((cell, width), (_, align)) in row.iter().zip(widths).zip(head) {
            // Writing to a string can't fail.
            let _ = match align {
                Align::Left => write!(line, "{cell:width$}  "),
                Align::Right => write!(line, "{cell:>width$}  "),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
