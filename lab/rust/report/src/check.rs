//! One line of `conformance.jsonl`, and which rows may be shown because of them.

use crate::figure::Row;
use crate::formats;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a reader found the case's messages in what a writer wrote.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Check {
    /// The writer.
    pub writer: Party,
    /// The reader.
    pub reader: Party,
    /// The wire format.
    pub format: String,
    /// Which messages.
    pub case: String,
    /// How large they are.
    pub size: String,
    /// Whether all were equal.
    pub ok: bool,
    /// The difference.
    pub error: String,
    /// The run, if the line has it.
    pub run: String,
}

/// A library used in one way, in one language.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Party {
    /// `rust`, `java` or `python`.
    pub language: String,
    /// The library.
    pub library: String,
    /// Empty if used as documented.
    pub variant: String,
}

impl Party {
    /// As a row of a format.
    pub fn row(&self, format: &str) -> Row {
        Row {
            language: self.language.clone(),
            format: format.to_owned(),
            library: self.library.clone(),
            variant: self.variant.clone(),
        }
    }
}

/// The checks of a row in one case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Passed checks as reader.
    pub read: u32,
    /// The error of the first failed check as reader or writer.
    pub failed: Option<String>,
}

/// The standing of every row in every case. A later check of the same pair replaces an earlier one.
#[derive(Debug, Default)]
pub struct Conformance {
    standings: BTreeMap<(Row, String), Standing>,
    /// Passed and failed checks of writers' language, readers' language and format.
    pub matrix: BTreeMap<(String, String, String), (u32, u32)>,
}

impl Conformance {
    /// Evaluates these checks.
    pub fn new(checks: &[Check]) -> Conformance {
        let mut latest = BTreeMap::new();
        for check in checks {
            let pair = (&check.writer, &check.reader, &check.format, &check.case, &check.size);
            latest.insert(pair, check);
        }
        let mut conformance = Conformance::default();
        for check in latest.into_values() {
            let Check { writer, reader, format, case, size, ok, error, .. } = check;
            let pair = (writer.language.clone(), reader.language.clone(), format.clone());
            let (passed, failed) = conformance.matrix.entry(pair).or_default();
            *(if *ok { passed } else { failed }) += 1;
            let standing = conformance.standings.entry((reader.row(format), case.clone())).or_default();
            if *ok {
                standing.read += 1;
                continue;
            }
            let names = |party: &Party| format!("{} ({})", party.row(format).name(), party.language);
            let why = format!("{} reads what {} wrote ({size}): {error}", names(reader), names(writer));
            standing.failed.get_or_insert_with(|| why.clone());
            let standing = conformance.standings.entry((writer.row(format), case.clone())).or_default();
            standing.failed.get_or_insert(why);
        }
        conformance
    }

    /// The checked pairs of the writer's and the reader's language.
    pub fn pairs(&self) -> BTreeSet<(&String, &String)> {
        self.matrix.keys().map(|(writer, reader, _)| (writer, reader)).collect()
    }

    /// The checked formats, in the order in which they are shown.
    pub fn formats(&self) -> Vec<&String> {
        let formats: BTreeSet<&String> = self.matrix.keys().map(|(_, _, format)| format).collect();
        let mut formats: Vec<&String> = formats.into_iter().collect();
        formats.sort_by_key(|format| formats::place(format));
        formats
    }

    /// Why the row must not be shown in the case; None if it may.
    pub fn refusal(&self, row: &Row, case: &str) -> Option<String> {
        match self.standings.get(&(row.clone(), case.to_owned())) {
            Some(Standing { failed: Some(why), .. }) => Some(why.clone()),
            None | Some(Standing { read: 0, .. }) => Some("not checked: it read no file".to_owned()),
            Some(_) => None,
        }
    }
}
