//! Fills the documentation's tables, and draws the charts that it shows: prose is written by hand, figures are not.

use crate::article::Article;
use crate::report::Report;
use crate::tables;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- lab:table ";
const END: &str = "<!-- /lab:table -->";

/// Why the documentation was not changed.
#[derive(Debug, thiserror::Error)]
pub enum DocsError {
    /// A file can't be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A marker names an unknown table.
    #[error("line {line}: {why}")]
    Marker {
        /// Counted from 1.
        line: usize,
        /// The error.
        why: String,
    },
}

/// Fills the tables of `document` and writes the charts that it links to in its folder. Returns the names of charts
/// that nothing was measured for; their files are kept.
pub fn fill(document: &Path, report: &Report, article: &Article) -> Result<Vec<String>, DocsError> {
    let failed = |path: &Path, source| DocsError::File { path: path.to_owned(), source };
    let text = std::fs::read_to_string(document).map_err(|error| failed(document, error))?;
    let filled = fill_text(&text, report, article)?;
    let folder = document.with_extension("");
    std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut missing = Vec::new();
    for name in pictures(&filled, &folder_name) {
        match tables::picture(&name, report) {
            Some(picture) => {
                let path = folder.join(format!("{name}.svg"));
                std::fs::write(&path, picture).map_err(|error| failed(&path, error))?;
            }
            None => missing.push(name),
        }
    }
    if filled != text {
        std::fs::write(document, filled).map_err(|error| failed(document, error))?;
    }
    Ok(missing)
}

/// The text with each table between its markers replaced.
fn fill_text(text: &str, report: &Report, article: &Article) -> Result<String, DocsError> {
    let mut filled = String::with_capacity(text.len());
    let mut open: Option<usize> = None;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        if let Some(name) = line.strip_prefix(BEGIN) {
            if let Some(line) = open {
                return Err(DocsError::Marker { line, why: format!("this table does not end: write {END} after it") });
            }
            let name = name.trim_end().trim_end_matches("-->").trim();
            let table =
                tables::table(name, report, article).map_err(|why| DocsError::Marker { line: line_number, why })?;
            filled.push_str(&format!("{line}\n{table}{END}\n"));
            open = Some(line_number);
        } else if line.trim_end() == END {
            if open.take().is_none() {
                return Err(DocsError::Marker { line: line_number, why: "no table begins before this".to_owned() });
            }
        } else if open.is_none() {
            filled.push_str(line);
            filled.push('\n');
        }
    }
    match open {
        Some(line) => Err(DocsError::Marker { line, why: format!("this table does not end: write {END} after it") }),
        None => Ok(filled),
    }
}

/// The names of the pictures in the folder that the text links to.
fn pictures(text: &str, folder: &str) -> Vec<String> {
    let mut names = Vec::new();
    for link in text.split(&format!("]({folder}/")).skip(1) {
        if let Some((name, _)) = link.split_once(".svg)") {
            let is_name = name.chars().all(|character| character.is_ascii_alphanumeric() || character == '-');
            if is_name && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_stays_and_tables_are_replaced() {
        let text = "# Title\n\n<!-- lab:table refused -->\nold\n<!-- /lab:table -->\n\nprose\n";
        let filled = fill_text(text, &Report::default(), &Article::default()).unwrap();
        assert!(filled.starts_with("# Title\n\n<!-- lab:table refused -->\nEvery row"), "{filled}");
        assert!(filled.ends_with("<!-- /lab:table -->\n\nprose\n") && !filled.contains("old"), "{filled}");
        assert_eq!(fill_text(&filled, &Report::default(), &Article::default()).unwrap(), filled);
    }

    #[test]
    fn an_unknown_marker_is_reported_with_its_line() {
        let fill = |text| fill_text(text, &Report::default(), &Article::default()).unwrap_err().to_string();
        assert!(fill("a\n<!-- lab:table nonsense -->\n<!-- /lab:table -->\n").starts_with("line 2: there is no table"));
        assert!(fill("<!-- lab:table refused -->\nrows\n").starts_with("line 1: this table does not end"));
        assert!(fill("a\n<!-- /lab:table -->\n").starts_with("line 2: no table begins"));
    }

    #[test]
    fn pictures_are_those_that_the_text_shows() {
        let text = "![a](wire-formats/zeek-base-encode.svg) ![b](wire-formats/../x.svg) [c](other/d.svg)";
        assert_eq!(pictures(text, "wire-formats"), ["zeek-base-encode"]);
    }
}
