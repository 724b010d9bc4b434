//! Checks a storage from end to end without changing it, whether or not a broker runs on it: what it says of itself,
//! its snapshots, its chain of objects, and every checksum. `journal.rs` checks a journal, `intact.rs` the batches.

mod intact;
mod journal;

use crate::meter::Meter;
use crate::store::Storage;
use crate::store_error::StoreError;
use futures_util::future::BoxFuture;
pub(crate) use intact::{Unreadable, unreadable};

/// One result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether it is as it should be.
    pub level: Level,
    /// What was checked: a word or two.
    pub subject: String,
    /// The result, and what to do if it isn't as it should be.
    pub text: String,
}

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Nothing is lost, and an operator should know it.
    Warning,
    /// Records are lost or can't be read, or a broker doesn't start.
    Failed,
}

impl Level {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Warning => "warning",
            Level::Failed => "failed",
        }
    }
}

impl Finding {
    /// As it should be.
    pub fn ok(subject: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding { level: Level::Ok, subject: subject.into(), text: text.into() }
    }

    /// An operator should know it.
    pub fn warning(subject: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding { level: Level::Warning, ..Finding::ok(subject, text) }
    }

    /// Not as it should be.
    pub fn failed(subject: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding { level: Level::Failed, ..Finding::ok(subject, text) }
    }
}

/// Opens the storage once more, as it is now.
pub type Reopen<'a> = dyn Fn() -> BoxFuture<'a, Result<Storage, StoreError>> + Send + Sync + 'a;

/// Checks all journals of a storage. `now_us` is this machine's time in microseconds since the Unix epoch. `reopen`:
/// of what a running broker has deleted since, nothing is missed.
pub async fn check(storage: &Storage, reopen: &Reopen<'_>, now_us: u64, meter: &Meter) -> Vec<Finding> {
    let mut findings = Vec::new();
    for number in 0..storage.journals.len() {
        let name = if storage.journals.len() == 1 { "journal".to_owned() } else { format!("journal {number}") };
        findings.extend(journal::check(storage, reopen, number, &name, now_us, meter).await);
    }
    findings
}
