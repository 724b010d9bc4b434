//! Outcomes of reading bytes with another schema than they were written with, recorded and compared with the expected
//! ones.

use crate::formats::Format;
use crate::shapes::{GRADE_DEFAULT, Shape};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes from before the change, read after it.
pub const OLD_TO_NEW: &str = "old bytes, new schema";
/// Bytes from after the change, read by a reader that hasn't changed.
pub const NEW_TO_OLD: &str = "new bytes, old schema";

/// One format's outcomes, collected so that a test reports all unexpected ones.
pub struct Outcomes {
    expected: Value,
    unexpected: Vec<String>,
}

impl Outcomes {
    pub fn new() -> Outcomes {
        let text = std::fs::read(evolution().join("expected.json")).unwrap_or_default();
        Outcomes { expected: serde_json::from_slice(&text).unwrap_or_default(), unexpected: Vec::new() }
    }

    /// Writes with one schema, reads with the other, and records the outcome. `renamed` is the reader's and the
    /// writer's name of one field.
    pub fn add<F: Format, W: Shape, R: Shape>(
        &mut self,
        change: &str,
        direction: &str,
        message: &W,
        renamed: Option<(&str, &str)>,
        note: &str,
    ) {
        let bytes = F::write(message).expect("a message is written by its own schema");
        let own: W = F::read::<W, W>(&bytes).expect("a message is read by its own schema");
        let written = fields(&own);
        assert_eq!(written, fields(message), "{} doesn't read back what it wrote", F::NAME);
        let (outcome, error) = match F::read::<W, R>(&bytes) {
            Ok(read) => (classify(&written, &fields(&read), renamed), String::new()),
            Err(error) => ("error", error),
        };
        record(F::NAME, F::LIBRARY, change, direction, outcome, note, &error);
        let found = self.expected_of(F::NAME, change, direction);
        if found.as_deref() != Some(outcome) {
            let expected = found.unwrap_or("nothing".to_owned());
            self.unexpected.push(format!("{}: {change}, {direction}: {outcome}, expected {expected} {error}", F::NAME));
        }
    }

    /// Fails if an outcome is unexpected, unless outcomes are accepted.
    pub fn check(self) {
        if std::env::var_os("EVOLUTION_ACCEPT").is_none() {
            assert!(self.unexpected.is_empty(), "different from expected.json:\n{}", self.unexpected.join("\n"));
        }
    }

    fn expected_of(&self, format: &str, change: &str, direction: &str) -> Option<String> {
        let outcomes = self.expected.get("outcomes")?.as_array()?;
        let found = outcomes.iter().find(|outcome| {
            let is = |key: &str, text: &str| outcome.get(key).and_then(Value::as_str) == Some(text);
            is("format", format) && is("change", change) && is("direction", direction)
        })?;
        found.get("outcome")?.as_str().map(str::to_owned)
    }
}

impl Default for Outcomes {
    fn default() -> Self {
        Outcomes::new()
    }
}

/// The worst outcome of the fields that the reader has.
fn classify(written: &Map<String, Value>, read: &Map<String, Value>, renamed: Option<(&str, &str)>) -> &'static str {
    let mut worst = 0;
    for (name, value) in read {
        let source = renamed.filter(|(reader, _)| reader == name).map_or(name.as_str(), |(_, writer)| writer);
        let defaulted = value.is_null() || value.as_i64() == Some(i64::from(GRADE_DEFAULT));
        let empty = value.as_str() == Some("") || value.as_f64() == Some(0.0);
        worst = worst.max(match written.get(source).filter(|value| !value.is_null()) {
            Some(source) if equal(source, value) => 0,
            Some(_) if defaulted => 2,
            // No format here fills in a zero or an empty string: one in place of a written value is a misread value.
            Some(_) => 3,
            None if defaulted || empty => 1,
            None => 3,
        });
    }
    ["same", "default", "lost", "wrong"][worst]
}

fn equal(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && one.as_f64() == other.as_f64())
}

fn fields<S: Shape>(message: &S) -> Map<String, Value> {
    match serde_json::to_value(message) {
        Ok(Value::Object(fields)) => fields,
        other => panic!("a shape is a record: {other:?}"),
    }
}

fn record(format: &str, library: &str, change: &str, direction: &str, outcome: &str, note: &str, error: &str) {
    let line = json!({
        "format": format, "library": library, "change": change, "direction": direction,
        "outcome": outcome, "note": note, "error": error,
    });
    let directory = evolution().join("../out");
    std::fs::create_dir_all(&directory).expect("lab/out can be made");
    let path = directory.join("evolution.jsonl");
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    // One write per line, because other tests append to the same file.
    file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
        .expect("lab/out/evolution.jsonl can be written");
}

fn evolution() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evolution")
}
