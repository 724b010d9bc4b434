//! How a storage in a bucket is laid out: `PREFIX/storage.json` says so from the first start on.

use super::S3Config;
use super::bucket::Bucket;
use super::failed::Failed;
use super::listing::parse_key;
use super::probe::Probe;
use crate::limits::{DELETION_DELAY, DELETION_DELAY_MIN};
use crate::storage_id::StorageId;
use crate::store::{SETTINGS_NAME, Setting, StoreError};
use bytes::Bytes;
use futures_util::StreamExt;
use object_store::path::Path;
use rawline_journal::JOURNALS_MAX;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// Name of the key.
const STORAGE: &str = "storage.json";

/// The format that this version writes.
const FORMAT: u32 = 2;

/// Number of keys of a folder that are looked at to see whether it is a topic's: one page of a listing.
const KEYS_MAX: usize = 1000;

/// Where the records of a storage in a bucket are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Journals have all topics' records.
    Journal,
    /// Each topic has its own objects: what earlier versions write.
    Topics,
}

/// How a storage is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Laid {
    /// As [`Layout::Journal`].
    Journal {
        /// How long objects that nobody needs stay. All brokers must agree on it.
        deletion_delay: Duration,
        /// Number of journals. All brokers must agree on it too.
        journals: u32,
        /// What tells the storage from others, if it says so.
        id: Option<StorageId>,
    },
    /// As [`Layout::Topics`].
    Topics,
}

/// What the key says. A member that this version doesn't know may change what is safe, so it is refused.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Storage {
    format: u32,
    journals: u32,
    #[serde(default = "hour")]
    deletion_delay_s: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<StorageId>,
}

/// What applies to a storage that doesn't say it.
fn hour() -> u64 {
    3600
}

/// What is asked of a storage: what one that is created now gets, and one that exists must have.
#[derive(Clone, Copy)]
struct Asked {
    deletion_delay: Option<Duration>,
    journals: Option<u32>,
}

impl Asked {
    fn of(config: &S3Config) -> Asked {
        Asked { deletion_delay: config.deletion_delay, journals: config.journals }
    }
}

/// The storage's layout. An empty storage gets what the configuration says. Nothing is stored before the probe has
/// passed.
pub(super) async fn find_or_decide(bucket: &Bucket, probe: &Probe, config: &S3Config) -> Result<Laid, StoreError> {
    let asked = Asked::of(config);
    let path = bucket.path(STORAGE)?;
    if let Some((content, _)) = bucket.small(&path).await? {
        return check(bucket, &path, &content, asked);
    }
    if config.new_layout == Layout::Topics || has_topics(bucket).await? {
        return without_journal(asked);
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
    let id = Some(StorageId::draw());
    let storage = Storage { format: FORMAT, journals, deletion_delay_s: delay.as_secs(), id };
    let content = serde_json::to_string(&storage).map_err(|error| StoreError::human(error.to_string()))?;
    probe.passed().await?;
    let mut tries = bucket.tries();
    loop {
        match bucket.create(&path, Bytes::from(content.clone()).into()).await {
            Ok(_) => return Ok(Laid::Journal { deletion_delay: delay, journals, id }),
            // Another broker starts at the same time, or the response to an earlier try was lost.
            Err(Failed::Exists { in_progress: false }) => {
                let found = bucket.small(&path).await?;
                let gone = || StoreError::wait(format!("{} was created and deleted again; retry", bucket.url(&path)));
                return check(bucket, &path, &found.ok_or_else(gone)?.0, asked);
            }
            Err(failed) => tries.again(failed).await.map_err(|failed| bucket.explain("store", &path, &failed))?,
        }
    }
}

/// A storage of an earlier version.
fn without_journal(asked: Asked) -> Result<Laid, StoreError> {
    if asked.deletion_delay.is_some() {
        let message = "the storage has no journal, so its objects are deleted at once; don't set a deletion delay";
        return Err(StoreError::human(message).about(Setting::DeletionDelay));
    }
    if asked.journals.is_some() {
        let message = "an earlier version has created the storage, which has no journal; omit the number of journals, \
                       or use another storage";
        return Err(StoreError::human(message).about(Setting::Journals));
    }
    Ok(Laid::Topics)
}

/// The layout of a storage that exists and has a journal, which a broker that stores nothing follows.
pub(super) async fn find_journal(bucket: &Bucket, config: &S3Config) -> Result<Laid, StoreError> {
    let path = bucket.path(STORAGE)?;
    match bucket.small(&path).await? {
        Some((content, _)) => check(bucket, &path, &content, Asked::of(config)),
        None => Err(StoreError::human(format!(
            "there is no {}: a read-only broker follows a storage with a journal, which others write; start one that \
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
    let Storage { format, journals, deletion_delay_s, id } = storage;
    let deletion_delay = Duration::from_secs(deletion_delay_s);
    if format != FORMAT || !(1..=JOURNALS_MAX).contains(&journals) || deletion_delay < DELETION_DELAY_MIN {
        return Err(other());
    }
    if let Some(asked) = asked.journals.filter(|asked| *asked != journals) {
        let message = format!(
            "the storage was created with {journals} journal{}, which can't change: each topic is in the one that its \
             name says; omit the number of {asked}, or use another storage",
            if journals == 1 { "" } else { "s" }
        );
        return Err(StoreError::human(message).about(Setting::Journals));
    }
    match asked.deletion_delay.filter(|asked| *asked != deletion_delay) {
        None => Ok(Laid::Journal { deletion_delay, journals, id }),
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
    let asked = Asked { deletion_delay: None, journals: None };
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

/// Whether an earlier version has stored a topic here. Others' folders don't count.
async fn has_topics(bucket: &Bucket) -> Result<bool, StoreError> {
    for name in bucket.topics().await? {
        let folder = bucket.topic_path(&name)?;
        let mut tries = bucket.tries();
        let is_topic = loop {
            match has_topics_key(bucket, &folder).await {
                Ok(is_topic) => break is_topic,
                Err(failed) => tries.again(failed).await.map_err(|failed| bucket.explain("list", &folder, &failed))?,
            }
        };
        if is_topic {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether one of a folder's first keys is one that a topic has.
async fn has_topics_key(bucket: &Bucket, folder: &Path) -> Result<bool, Failed> {
    let mut keys = bucket.store.list(Some(folder)).take(KEYS_MAX);
    loop {
        match timeout(bucket.request_timeout, keys.next()).await {
            Ok(None) => return Ok(false),
            Ok(Some(Ok(key))) if is_topics(folder, &key.location) => return Ok(true),
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(error))) => return Err(Failed::from(error)),
            Err(_) => return Err(Failed::TimedOut),
        }
    }
}

/// Whether a key in a folder is one that a topic has.
fn is_topics(folder: &Path, key: &Path) -> bool {
    let Some(mut parts) = key.prefix_match(folder) else { return false };
    let (Some(name), None) = (parts.next(), parts.next()) else { return false };
    name.as_ref() == SETTINGS_NAME || parse_key(name.as_ref()).is_some()
}
