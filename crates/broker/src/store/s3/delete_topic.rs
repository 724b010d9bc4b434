//! Deletes a topic in the bucket: its settings are replaced by a marker, its objects are deleted, and then the marker.
//!
//! Whoever creates a topic of the same name waits until the marker is gone. Then nobody may delete objects any more:
//! the new ones have the same keys. So the marker names the one store that deletes, and a store looks at it between a
//! listing and each deletion. A store that finds the marker of another, which may have crashed, puts its own in its
//! place and waits until a request that the other may have sent before has ended.

use super::{DELETES_MAX, S3Store};
use crate::Settings;
use crate::store::StoreError;
use std::sync::PoisonError;
use tokio::time::sleep;

/// A name for a store in markers.
#[expect(clippy::disallowed_methods, reason = "a name that no other broker uses; nothing depends on its value")]
pub(super) fn new_deleter() -> String {
    format!("{:016x}", rand::random::<u64>())
}

impl S3Store {
    pub(super) async fn mark_topic(&self, topic: &str) -> Result<(), StoreError> {
        let path = self.bucket.settings_path(topic)?;
        let stored = self.bucket.small(&path).await?;
        // Another broker may be deleting it: its marker is taken over when objects are deleted.
        if stored.and_then(|(stored, _)| Settings::deleted_by(&stored)).is_none() {
            self.bucket.replace(&path, Settings::deleted(&self.deleter)).await?;
        }
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).remove(topic);
        Ok(())
    }

    pub(super) async fn delete_marked(&self, topic: &str) -> Result<(), StoreError> {
        if !self.take_over(topic).await? {
            return Ok(());
        }
        loop {
            let listed = self.list_keys(topic, 0..u64::MAX).await?;
            if listed.is_empty() {
                break;
            }
            for page in listed.chunks(DELETES_MAX) {
                self.check_deleter(topic).await?;
                self.delete_all(topic, page).await?;
            }
        }
        self.check_deleter(topic).await?;
        self.delete_keys(topic, &[self.bucket.settings_path(topic)?]).await
    }

    /// Makes this store the one that deletes the topic. False if another has deleted it.
    async fn take_over(&self, topic: &str) -> Result<bool, StoreError> {
        let path = self.bucket.settings_path(topic)?;
        loop {
            let Some((stored, version)) = self.bucket.small(&path).await? else { return Ok(false) };
            match (Settings::deleted_by(&stored), version) {
                (None, _) => return Ok(false),
                (Some(deleter), _) if deleter == self.deleter => return Ok(true),
                (Some(deleter), Some(version)) => {
                    let marker = Settings::deleted(&self.deleter);
                    if self.bucket.replace_if(&path, marker, version).await? {
                        tracing::info!(topic, deleter, "continuing a deletion that another run of a broker began");
                        sleep(self.bucket.request_timeout).await;
                        return Ok(true);
                    }
                }
                (Some(_), None) => {
                    let url = self.bucket.url(&path);
                    return Err(StoreError::human(format!("{url} has no ETag, which a deletion needs; delete it")));
                }
            }
        }
    }

    /// Fails if another store deletes the topic now, or has deleted it.
    async fn check_deleter(&self, topic: &str) -> Result<(), StoreError> {
        let path = self.bucket.settings_path(topic)?;
        let deleter = self.bucket.small(&path).await?.and_then(|(stored, _)| Settings::deleted_by(&stored));
        if deleter.as_ref() == Some(&self.deleter) {
            return Ok(());
        }
        Err(StoreError::wait(format!("another broker has taken over the deletion of topic {topic}; retry later")))
    }
}
