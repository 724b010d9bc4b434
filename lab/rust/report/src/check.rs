//! One line of `conformance.jsonl`, and what follows from all of them: which rows may be shown.

use crate::figure::Row;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether a reader found the case's messages in what a writer wrote.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Check {
    /// Who wrote the bytes.
    pub writer: Party,
    /// Who read them.
    pub reader: Party,
    /// The wire format.
    pub format: String,
    /// Which messages.
    pub case: String,
    /// How large they are.
    pub size: String,
    /// Whether all were equal.
    pub ok: bool,
    /// What was not.
    pub error: String,
    /// The run it belongs to, if it says so.
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

/// What a row's checks of one case say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Checks it passed as reader.
    pub read: u32,
    /// Checks that failed with it as reader or writer; the first one's words.
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
    /// What follows from these checks.
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

    /// Why the row must not be shown in the case; nothing if it may.
    pub fn refusal(&self, row: &Row, case: &str) -> Option<String> {
        match self.standings.get(&(row.clone(), case.to_owned())) {
            None => Some("not checked: nobody's bytes were read by it".to_owned()),
            Some(Standing { failed: Some(why), .. }) => Some(why.clone()),
            Some(Standing { read: 0, .. }) => Some("not checked: nobody's bytes were read by it".to_owned()),
            Some(_) => None,
        }
    }
}
