//! Outcomes of schema changes: a table of the evolution tests' expectations.

use crate::formats;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// A table: one row per format, one column per change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evolution {
    /// The columns' names.
    pub changes: Vec<String>,
    /// A format and its cell for each change: the result of a new reader of old bytes / an old reader from new bytes.
    pub rows: Vec<(String, Vec<String>)>,
    /// The meaning of the words in the cells.
    pub meanings: Vec<(String, Value)>,
    /// A format and its notes.
    pub notes: Vec<(String, Vec<String>)>,
}

impl Evolution {
    /// The file's table; None if the file doesn't exist.
    pub fn read(path: &Path) -> Result<Option<Evolution>, String> {
        let failed = |why: String| format!("{}: {why}", path.display());
        let json = match std::fs::read(path) {
            Ok(json) => json,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.to_string())),
        };
        let json: Value = serde_json::from_slice(&json).map_err(|error| failed(error.to_string()))?;
        Evolution::of_json(&json).map(Some).map_err(failed)
    }

    fn of_json(json: &Value) -> Result<Evolution, String> {
        let file: File = File::deserialize(json).map_err(|error| error.to_string())?;
        let changes = file.changes.iter().map(|change| change.change.clone()).collect();
        let mut table = Evolution { changes, ..Evolution::default() };
        let mut notes: Vec<(String, String, Vec<String>)> = Vec::new();
        for outcome in &file.outcomes {
            let Some(column) = table.changes.iter().position(|known| *known == outcome.change) else {
                return Err(format!("{:?} isn't among its changes", outcome.change));
            };
            if !table.rows.iter().any(|(known, _)| *known == outcome.format) {
                table.rows.push((outcome.format.clone(), vec![String::new(); table.changes.len()]));
            }
            let row = table.rows.iter_mut().find(|(known, _)| *known == outcome.format);
            let cell = row.and_then(|(_, cells)| cells.get_mut(column));
            if let Some(cell) = cell {
                *cell = joined(cell, outcome);
            }
            if !outcome.note.is_empty() {
                match notes.iter_mut().find(|(format, note, _)| *format == outcome.format && *note == outcome.note) {
                    Some((_, _, changes)) if changes.contains(&outcome.change) => {}
                    Some((_, _, changes)) => changes.push(outcome.change.clone()),
                    None => notes.push((outcome.format.clone(), outcome.note.clone(), vec![outcome.change.clone()])),
                }
            }
        }
        table.rows.sort_by_key(|(format, _)| formats::place(format));
        table.meanings = file.meanings.into_iter().collect();
        for (format, _) in &table.rows {
            let said: Vec<String> = notes
                .iter()
                .filter(|(of_format, _, _)| of_format == format)
                .map(|(_, note, changes)| format!("{}: {note}", changes.join(", ")))
                .collect();
            if !said.is_empty() {
                table.notes.push((format.clone(), said));
            }
        }
        Ok(table)
    }
}

/// The file, as the tests compare with it.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    meanings: serde_json::Map<String, Value>,
    changes: Vec<Change>,
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Change {
    change: String,
}

#[derive(Deserialize)]
struct Outcome {
    format: String,
    change: String,
    #[serde(default)]
    direction: String,
    outcome: String,
    #[serde(default)]
    note: String,
}

/// A cell with a further outcome: new readers of old bytes come first.
fn joined(cell: &str, outcome: &Outcome) -> String {
    let said = &outcome.outcome;
    if cell.is_empty() {
        // If a change has only one direction, the other has a dash.
        return if outcome.direction.starts_with("new bytes") {
            format!("– / {said}")
        } else {
            format!("{said} / –")
        };
    }
    let (old, new) = cell.split_once(" / ").unwrap_or((cell, "–"));
    if outcome.direction.starts_with("new bytes") { format!("{old} / {said}") } else { format!("{said} / {new}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_directions_are_in_one_cell_and_notes_below() {
        let table = Evolution::of_json(&json!({
            "meanings": {"same": "nothing is lost"},
            "changes": [{"change": "field added", "what": "…"}, {"change": "widened", "what": "…"}],
            "outcomes": [
                {"format": "sbe", "change": "field added", "direction": "new bytes, old schema",
                 "outcome": "same", "note": "at the end"},
                {"format": "sbe", "change": "field added", "direction": "old bytes, new schema",
                 "outcome": "default", "note": "at the end"},
                {"format": "json", "change": "widened", "direction": "new bytes, old schema", "outcome": "error"},
            ],
        }))
        .unwrap();
        let row = |format: &str| table.rows.iter().find(|(key, _)| key == format).unwrap().1.clone();
        assert_eq!(row("sbe"), ["default / same", ""]);
        assert_eq!(row("json"), ["", "– / error"]);
        assert_eq!(table.rows[0].0, "json");
        assert_eq!(table.notes, [("sbe".to_owned(), vec!["field added: at the end".to_owned()])]);
    }

    #[test]
    fn an_unlisted_change_is_reported() {
        let outcomes = json!({"changes": [], "outcomes": [{"format": "a", "change": "b", "outcome": "same"}]});
        assert!(Evolution::of_json(&outcomes).unwrap_err().contains("\"b\""));
    }
}
