//! Lists a topic's objects: keys, and the header of the newest one.

use super::S3Store;
use super::bucket::tag;
use super::failed::Failed;
use crate::limits::FOREIGN_KEYS_LOGGED_MAX;
use crate::object::ObjectError;
use crate::store::cache::CacheError;
use crate::store::{Known, Listed, Location, SETTINGS_NAME, StoreError};
use futures_util::StreamExt;
use object_store::path::Path;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::PoisonError;
use tokio::time::timeout;

/// How often a listing is repeated because its newest object was deleted meanwhile.
const LISTS_AGAIN_MAX: usize = 3;

impl S3Store {
    /// Lists a topic's objects from an offset on. The newest one's header says where the topic continues; no object may
    /// be there, or the listing was truncated and is continued.
    pub(super) async fn list_from(&self, topic: &str, from: u64) -> Result<Vec<Listed>, StoreError> {
        let (mut listed, mut vanished) = (self.list_keys(topic, from..u64::MAX).await?, 0);
        loop {
            let newest = listed.pop();
            let next_offset = match newest {
                None => from,
                Some(Listed { known: Some(known), .. }) => known.next_offset,
                Some(newest) => match self.look_at(topic, newest.first_offset).await? {
                    Some(found) if found.bytes == newest.bytes => {
                        listed.push(Listed { known: found.known, ..newest });
                        continue;
                    }
                    Some(_) => {
                        let path = self.bucket.object_path(topic, newest.first_offset)?;
                        return Err(self.newest_damaged(&path, &ObjectError::Header));
                    }
                    // Another broker deletes from the front: what was the newest no longer exists, so list again.
                    None if vanished < LISTS_AGAIN_MAX => {
                        (listed, vanished) = (self.list_keys(topic, from..u64::MAX).await?, vanished + 1);
                        continue;
                    }
                    None => {
                        let url = self.bucket.url(&self.bucket.object_path(topic, newest.first_offset)?);
                        return Err(StoreError::wait(format!("{url} is listed but can't be read; retry")));
                    }
                },
            };
            listed.extend(newest);
            match self.look_at(topic, next_offset).await? {
                None => {
                    if let Some(newest) = listed.last() {
                        self.saw_newest(topic, newest.first_offset, newest.location.tag());
                    }
                    return Ok(listed);
                }
                Some(unlisted) => {
                    tracing::warn!(
                        topic,
                        offset = next_offset,
                        "the bucket's listing ended before this object; listing on"
                    );
                    let after = unlisted.known.map_or(next_offset + 1, |known| known.next_offset);
                    listed.push(unlisted);
                    listed.extend(self.list_keys(topic, after..u64::MAX).await?);
                }
            }
        }
    }

    /// The object at an offset, by its header; `None` if it doesn't exist.
    async fn look_at(&self, topic: &str, first_offset: u64) -> Result<Option<Listed>, StoreError> {
        let path = self.bucket.object_path(topic, first_offset)?;
        match self.bucket.index(&path).await {
            Ok(Some((header, _, tag))) if header.first_offset == first_offset => Ok(Some(Listed {
                first_offset,
                location: Location::Key { tag },
                bytes: header.object_bytes,
                known: Some(Known { next_offset: header.next_offset(), appended_us: header.appended_us }),
            })),
            Ok(Some(_)) => Err(self.newest_damaged(&path, &ObjectError::Header)),
            Ok(None) => Ok(None),
            Err(CacheError::Damaged(error)) => Err(self.newest_damaged(&path, &error)),
            Err(error) => Err(self.bucket.unreadable(&path, error)),
        }
    }

    /// The newest object says where the topic continues. Nothing can be appended at its place, nor safely elsewhere.
    fn newest_damaged(&self, path: &Path, error: &ObjectError) -> StoreError {
        StoreError::human(format!(
            "{} is its topic's newest object and is damaged: {error}; its place is taken, so the topic can't continue: \
             restore the object from a copy, or move it away if its records may be lost, then restart the broker",
            self.bucket.url(path)
        ))
    }

    /// The topic's objects that begin at `offsets.start` or later. It may leave out those after the first that begins
    /// at `offsets.end` or later.
    pub(super) async fn list_keys(&self, topic: &str, offsets: Range<u64>) -> Result<Vec<Listed>, StoreError> {
        let dir = self.bucket.topic_path(topic)?;
        // Keys come in order, except from the buckets of S3 Express.
        let is_sorted = !self.bucket.address.bucket.ends_with("--x-s3");
        let mut after = match offsets.start.checked_sub(1) {
            Some(before) => Some(self.bucket.object_path(topic, before)?),
            None => None,
        };
        let mut found = BTreeMap::new();
        let mut tries = self.bucket.tries();
        loop {
            let mut pages = match &after {
                Some(after) => self.bucket.store.list_with_offset(Some(&dir), after),
                None => self.bucket.store.list(Some(&dir)),
            };
            let failed = loop {
                let key = match timeout(self.bucket.request_timeout, pages.next()).await {
                    Ok(None) => return Ok(found.into_values().collect()),
                    Ok(Some(Ok(key))) => key,
                    Ok(Some(Err(error))) => break Failed::from(error),
                    Err(_) => break Failed::TimedOut,
                };
                if let Some(listed) = self.listed(topic, &key)
                    && listed.first_offset >= offsets.start
                {
                    found.insert(listed.first_offset, listed);
                    if is_sorted && listed.first_offset >= offsets.end {
                        return Ok(found.into_values().collect());
                    }
                    if is_sorted {
                        after = Some(key.location);
                    }
                }
            };
            tries.again(failed).await.map_err(|failed| self.bucket.explain("list", &dir, &failed))?;
        }
    }

    fn listed(&self, topic: &str, key: &object_store::ObjectMeta) -> Option<Listed> {
        let first_offset = key.location.filename().and_then(parse_key);
        let is_ours = |offset: &u64| self.bucket.object_path(topic, *offset).is_ok_and(|path| path == key.location);
        let Some(first_offset) = first_offset.filter(is_ours) else {
            if key.location.filename() == Some(SETTINGS_NAME) {
                return None;
            }
            self.log_foreign(&key.location);
            return None;
        };
        let location = Location::Key { tag: tag(key.e_tag.as_deref()) };
        Some(Listed { first_offset, location, bytes: key.size, known: None })
    }

    fn log_foreign(&self, key: &Path) {
        let mut logged = self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < FOREIGN_KEYS_LOGGED_MAX && logged.insert(key.to_string()) {
            let url = self.bucket.url(key);
            tracing::warn!(key = url, "not an object of Rawline; ignored");
        }
    }
}

/// The first offset of the object with this file name, if it is an object's.
pub(super) fn parse_key(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".rwl")?;
    let sound = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if sound { digits.parse().ok() } else { None }
}
