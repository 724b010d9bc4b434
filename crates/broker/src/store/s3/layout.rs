//! How a storage in a bucket is laid out: `PREFIX/storage.json` says so from the first start on.

use super::bucket::Bucket;
use super::failed::Failed;
use super::listing::parse_key;
use crate::store::{SETTINGS_NAME, StoreError};
use bytes::Bytes;
use futures_util::StreamExt;
use object_store::path::Path;
use serde_json::{Value, json};
use tokio::time::timeout;

/// Name of the key.
const STORAGE: &str = "storage.json";

/// The format that this version writes.
const FORMAT: u32 = 2;

/// The number of journals in a storage.
const JOURNALS: u32 = 1;

/// Number of keys of a folder that are looked at to see whether it is a topic's: one page of a listing.
const KEYS_MAX: usize = 1000;

/// Where the records of a storage in a bucket are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One journal has all topics' records.
    Journal,
    /// Each topic has its own objects: what earlier versions write.
    Topics,
}

/// The storage's layout. An empty storage gets `new`.
pub(super) async fn find_or_decide(bucket: &Bucket, new: Layout) -> Result<Layout, StoreError> {
    let path = bucket.path(STORAGE)?;
    if let Some((content, _)) = bucket.small(&path).await? {
        return check(bucket, &path, &content);
    }
    if new == Layout::Topics || has_topics(bucket).await? {
        return Ok(Layout::Topics);
    }
    let content = json!({ "format": FORMAT, "journals": JOURNALS }).to_string();
    let mut tries = bucket.tries();
    loop {
        match bucket.create(&path, Bytes::from(content.clone()).into()).await {
            Ok(_) => return Ok(Layout::Journal),
            // Another broker starts at the same time, or the response to an earlier try was lost.
            Err(Failed::Exists { in_progress: false }) => {
                let found = bucket.small(&path).await?;
                let gone = || StoreError::wait(format!("{} was created and deleted again; retry", bucket.url(&path)));
                return check(bucket, &path, &found.ok_or_else(gone)?.0);
            }
            Err(failed) => tries.again(failed).await.map_err(|failed| bucket.explain("store", &path, &failed))?,
        }
    }
}

fn check(bucket: &Bucket, path: &Path, content: &[u8]) -> Result<Layout, StoreError> {
    let url = bucket.url(path);
    let found: Value = serde_json::from_slice(content).map_err(|error| {
        StoreError::human(format!("{url} doesn't say how the storage is laid out: {error}; restore it from a copy"))
    })?;
    if found.get("format") == Some(&FORMAT.into()) && found.get("journals") == Some(&JOURNALS.into()) {
        return Ok(Layout::Journal);
    }
    Err(StoreError::human(format!(
        "{url} says {found}; this version reads storages of format {FORMAT} with {JOURNALS} journal: use the version \
         that wrote it, or a newer one"
    )))
}

/// Whether an earlier version has stored a topic here. Others' folders don't count.
async fn has_topics(bucket: &Bucket) -> Result<bool, StoreError> {
    for name in bucket.topics().await? {
        let folder = bucket.topic_path(&name)?;
        let mut keys = bucket.s3.list(Some(&folder)).take(KEYS_MAX);
        loop {
            let failed = match timeout(bucket.request_timeout, keys.next()).await {
                Ok(None) => break,
                Ok(Some(Ok(key))) if is_topics(&folder, &key.location) => return Ok(true),
                Ok(Some(Ok(_))) => continue,
                Ok(Some(Err(error))) => Failed::from(error),
                Err(_) => Failed::TimedOut,
            };
            return Err(bucket.explain("list", &folder, &failed));
        }
    }
    Ok(false)
}

/// Whether a key in a folder is one that a topic has.
fn is_topics(folder: &Path, key: &Path) -> bool {
    let Some(mut parts) = key.prefix_match(folder) else { return false };
    let (Some(name), None) = (parts.next(), parts.next()) else { return false };
    name.as_ref() == SETTINGS_NAME || parse_key(name.as_ref()).is_some()
}
