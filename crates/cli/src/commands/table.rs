//! Human-readable tables.

use std::fmt::Write;
use std::io::IsTerminal;

/// Minimum width to which a column is cut.
const CUT_WIDTH_MIN: usize = 12;

/// Between two columns.
const GAP: &str = "  ";

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
    /// To the left; cut where a row is too wide.
    Name,
}

/// Number of columns of the terminal on stdout; `None` if stdout isn't a terminal.
pub fn terminal_width() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    terminal_size::terminal_size_of(stdout).map(|(width, _)| usize::from(width.0))
}

/// Aligned columns with a head. Names are cut if a row is wider than `width`.
pub fn table<const COLUMNS: usize>(
    head: [(&str, Align); COLUMNS],
    rows: Vec<[String; COLUMNS]>,
    width: Option<usize>,
) -> String {
    let rows: Vec<[String; COLUMNS]> = std::iter::once(head.map(|(name, _)| name.to_owned())).chain(rows).collect();
    let mut widths = [0; COLUMNS];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    if let Some(width) = width {
        cut(&mut widths, head.map(|(_, align)| align), width);
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((cell, width), (_, align)) in row.iter().zip(widths).zip(head) {
            let cell = shortened(cell, width);
            // Writing to a string can't fail.
            let _ = match align {
                Align::Left | Align::Name => write!(line, "{cell:width$}{GAP}"),
                Align::Right => write!(line, "{cell:>width$}{GAP}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Narrows the widest columns of names until a row has this width, or all are as narrow as they can be.
fn cut<const COLUMNS: usize>(widths: &mut [usize; COLUMNS], aligns: [Align; COLUMNS], width: usize) {
    let all = |widths: &[usize; COLUMNS]| widths.iter().sum::<usize>() + GAP.len() * COLUMNS.saturating_sub(1);
    loop {
        let excess = all(widths).saturating_sub(width);
        let names = widths.iter_mut().zip(aligns).filter(|(_, align)| *align == Align::Name);
        let Some(widest) = names.map(|(width, _)| width).max() else { return };
        if excess == 0 || *widest <= CUT_WIDTH_MIN {
            return;
        }
        *widest -= 1;
    }
}

/// The text in at most this many characters.
pub fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_nothing_else() {
        let head = [("TOPIC", Align::Name), ("RECORDS", Align::Right), ("TIME", Align::Left)];
        let rows = |name: &str| vec![[name.to_owned(), "1234567890".to_owned(), "2026-11-21T09:07:46.489Z".to_owned()]];
        let long = "a-name-of-more-than-thirty-letters";
        let text = |name: &str, width| table(head, rows(name), width);
        assert!(text(long, None).lines().any(|line| line.starts_with(long)));
        let cut = text(long, Some(60));
        assert_eq!(cut.lines().map(|line| line.chars().count()).max(), Some(60), "{cut}");
        assert!(cut.contains("a-name-of-more-than-t…  1234567890  2026-11-21T09:07:46.489Z"), "{cut}");
        let narrow = text(long, Some(5));
        assert!(narrow.contains("a-name-of-m…  1234567890  2026-11-21T09:07:46.489Z"), "{narrow}");
        assert_eq!(text("short", Some(200)), text("short", None));
    }
}
