//! The constants of a storage in a bucket: `PREFIX/storage.json`.

use super::S3Config;
use super::bucket::Bucket;
use super::failed::Failed;
use super::probe::Probe;
use super::tries::Tries;
use crate::limits::{DELETION_DELAY, DELETION_DELAY_MIN};
use crate::storage_id::StorageId;
use crate::store::Purpose;
use crate::store_error::{Setting, StoreError};
use bytes::Bytes;
use object_store::path::Path;
use rawline_journal::JOURNALS_MAX;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// Name of the key.
const STORAGE: &str = "storage.json";

/// The format that this version writes.
const FORMAT: u32 = 1;

/// The constants of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Laid {
    /// Minimum time to keep unreferenced objects. All brokers must agree on it.
    pub deletion_delay: Duration,
    /// Number of journals. All brokers must agree on it too.
    pub journals: u32,
    /// What tells the storage from others.
    pub id: StorageId,
    /// The storage of which it is a backup, if it is one.
    pub backup_of: Option<StorageId>,
}

/// The content of the key. An unknown member may change the rules, so it is refused.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Storage {
    format: u32,
    journals: u32,
    #[serde(default = "hour")]
    deletion_delay_s: u64,
    id: StorageId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backup_of: Option<StorageId>,
}

/// What applies to a storage that doesn't say it.
fn hour() -> u64 {
    3600
}

/// The requested constants: a new storage gets them, an existing one must have them.
#[derive(Clone, Copy)]
struct Asked {
    deletion_delay: Option<Duration>,
    journals: Option<u32>,
    purpose: Purpose,
}

impl Asked {
    fn of(config: &S3Config) -> Asked {
        Asked { deletion_delay: config.deletion_delay, journals: config.journals, purpose: config.purpose }
    }
}

/// What the storage says. One that says nothing gets what the configuration says. Nothing is stored before the probe
/// has passed.
pub(super) async fn find_or_decide(bucket: &Bucket, probe: &Probe, config: &S3Config) -> Result<Laid, StoreError> {
    let asked = Asked::of(config);
    let path = bucket.path(STORAGE)?;
    if let Some(content) = bucket.small(&path).await? {
        return check(bucket, &path, &content, asked);
    }
    let journals = asked.journals.unwrap_or(1);
    if !(1..=JOURNALS_MAX).contains(&journals) {
        let message = format!("a storage can't have {journals} journals; use 1 to {JOURNALS_MAX}");
        return Err(StoreError::human(message).about(Setting::Journals));
    }
    let delay = asked.deletion_delay.unwrap_or(DELETION_DELAY);
    if delay < DELETION_DELAY_MIN || delay.subsec_nanos() > 0 {
        let least = DELETION_DELAY_MIN.as_secs();
        let message = format!("a deletion delay of {delay:?} is impossible; use whole seconds, at least {least}");
        return Err(StoreError::human(message).about(Setting::DeletionDelay));
    }
    let (id, backup_of) = (StorageId::draw(), asked.purpose.backup_of());
    let storage = Storage { format: FORMAT, journals, deletion_delay_s: delay.as_secs(), id, backup_of };
    let content = serde_json::to_string(&storage).map_err(|error| StoreError::human(error.to_string()))?;
    probe.passed().await?;
    let mut tries = Tries::at_start(bucket);
    loop {
        match bucket.create(&path, Bytes::from(content.clone()).into()).await {
            Ok(_) => return Ok(Laid { deletion_delay: delay, journals, id, backup_of }),
            // Another broker starts at the same time, or the response to an earlier try was lost.
            Err(Failed::Exists { in_progress: false }) => {
                let found = bucket.small(&path).await?;
                let gone = || StoreError::wait(format!("{} was created and deleted again; retry", bucket.url(&path)));
                return check(bucket, &path, &found.ok_or_else(gone)?, asked);
            }
            Err(failed) => tries.again(failed).await.map_err(|failed| bucket.explain("store", &path, &failed))?,
        }
    }
}

/// The constants of an existing storage in which nothing is changed.
pub(super) async fn find(bucket: &Bucket, config: &S3Config) -> Result<Laid, StoreError> {
    let path = bucket.path(STORAGE)?;
    match bucket.small(&path).await? {
        Some(content) => check(bucket, &path, &content, Asked::of(config)),
        None if config.purpose == Purpose::View => {
            Err(StoreError::human(format!("there is no {}: no storage has this URL; check it", bucket.url(&path))))
        }
        None => Err(StoreError::human(format!(
            "there is no {}: a read-only broker follows a storage that others write; start one that \
             isn't read-only first",
            bucket.url(&path)
        ))),
    }
}

fn check(bucket: &Bucket, path: &Path, content: &[u8], asked: Asked) -> Result<Laid, StoreError> {
    let url = bucket.url(path);
    let found: Value = serde_json::from_slice(content).map_err(|error| {
        StoreError::human(format!("{url} doesn't say how the storage is laid out: {error}; restore it from a copy"))
    })?;
    let other = || {
        StoreError::human(format!(
            "{url} says {found}; this version reads storages of format {FORMAT} with 1 to {JOURNALS_MAX} journals: use \
             the version that wrote it, or a newer one"
        ))
    };
    let storage: Storage = serde_json::from_value(found.clone()).map_err(|_| other())?;
    let Storage { format, journals, deletion_delay_s, id, backup_of } = storage;
    let deletion_delay = Duration::from_secs(deletion_delay_s);
    if format != FORMAT || !(1..=JOURNALS_MAX).contains(&journals) || deletion_delay < DELETION_DELAY_MIN {
        return Err(other());
    }
    asked.purpose.check(&bucket.url(path).trim_end_matches(STORAGE), backup_of)?;
    if let Some(asked) = asked.journals.filter(|asked| *asked != journals) {
        let message = format!(
            "the storage was created with {journals} journal{}, which can't change: each topic is in the one that its \
             name says; omit the number of {asked}, or use another storage",
            if journals == 1 { "" } else { "s" }
        );
        return Err(StoreError::human(message).about(Setting::Journals));
    }
    match asked.deletion_delay.filter(|asked| *asked != deletion_delay) {
        None => Ok(Laid { deletion_delay, journals, id, backup_of }),
        Some(asked) => Err(StoreError::human(format!(
            "the storage was created with a deletion delay of {deletion_delay:?}, which can't change: brokers that \
             disagree on it could lose records; omit the delay of {asked:?}, or use another storage"
        ))
        .about(Setting::DeletionDelay)),
    }
}

/// Why a storage isn't any more as it was when it was opened, as far as its key says. One request.
pub(super) async fn changed(bucket: &Bucket, laid: Laid) -> Result<Option<StoreError>, StoreError> {
    let path = bucket.path(STORAGE)?;
    let found = bucket.get_once(&path, None).await?.found.map(|(content, _)| content);
    let asked = Asked { deletion_delay: None, journals: None, purpose: Purpose::View };
    let why = match found.map(|content| check(bucket, &path, &content, asked)) {
        Some(Ok(found)) if found == laid => return Ok(None),
        Some(Ok(_)) => format!("{} says other things than before", bucket.url(&path)),
        Some(Err(error)) => error.message,
        None => format!("{} is gone", bucket.url(&path)),
    };
    Ok(Some(StoreError::human(format!(
        "the storage was changed while the broker was running: {why}. Nothing more is stored; restore the storage from \
         a copy, or restart the broker to use it as it is now"
    ))))
}
