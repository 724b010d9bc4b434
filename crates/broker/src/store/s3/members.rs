//! The cards of the brokers on a bucket: `PREFIX/.brokers/ID.json`.

use super::bucket::Bucket;
use super::date::DateSlot;
use super::failed::Failed;
use super::probe::Probe;
use crate::cluster::{BrokerId, MemberStore};
use crate::store::StoreError;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore, PutOptions};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const FOLDER: &str = ".brokers";

/// Cards in a bucket.
#[derive(Clone)]
pub(super) struct S3Members {
    bucket: Arc<Bucket>,
    /// Nothing is stored before it has passed.
    probe: Probe,
}

impl S3Members {
    pub(super) fn new(bucket: Arc<Bucket>, probe: Probe) -> S3Members {
        S3Members { bucket, probe }
    }

    fn path(&self, id: BrokerId) -> Result<Path, StoreError> {
        self.bucket.path(&format!("{FOLDER}/{id}.json"))
    }

    async fn read(&self, id: BrokerId) -> Result<Option<(Bytes, Duration)>, StoreError> {
        let (path, slot) = (self.path(id)?, DateSlot::default());
        let options = GetOptions { extensions: slot.extensions(), ..GetOptions::default() };
        let get = async {
            let got = self.bucket.store.get_opts(&path, options).await?;
            let stored = got.meta.last_modified.timestamp();
            Ok::<_, object_store::Error>((got.bytes().await?, stored))
        };
        let failed = match timeout(self.bucket.request_timeout, get).await {
            Ok(Ok((bytes, stored))) => {
                let no_date = || StoreError::human(format!("the response for {} has no Date", self.bucket.url(&path)));
                let date = slot.date().ok_or_else(no_date)?;
                let age = u64::try_from(stored).map_or(date, |stored| date.saturating_sub(stored));
                return Ok(Some((bytes, Duration::from_secs(age))));
            }
            Ok(Err(error)) => Failed::from(error),
            Err(_) => Failed::TimedOut,
        };
        if failed.is_missing_object() { Ok(None) } else { Err(self.bucket.explain("read", &path, &failed)) }
    }

    async fn list_all(&self) -> Result<Vec<BrokerId>, StoreError> {
        let folder = self.bucket.path(FOLDER)?;
        let failed =
            match timeout(self.bucket.request_timeout, self.bucket.store.list_with_delimiter(Some(&folder))).await {
                Ok(Ok(listed)) => {
                    let id = |meta: &ObjectMeta| meta.location.filename()?.strip_suffix(".json")?.parse().ok();
                    return Ok(listed.objects.iter().filter_map(id).collect());
                }
                Ok(Err(error)) => Failed::from(error),
                Err(_) => Failed::TimedOut,
            };
        Err(self.bucket.explain("list", &folder, &failed))
    }
}

impl MemberStore for S3Members {
    fn put(&self, id: BrokerId, card: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        let this = self.clone();
        Box::pin(async move {
            this.probe.passed().await?;
            let path = this.path(id)?;
            match this.bucket.put(&path, card.into(), PutOptions::default()).await {
                Ok(_) => Ok(()),
                Err(failed) => Err(this.bucket.explain("store", &path, &failed)),
            }
        })
    }

    fn get(&self, id: BrokerId) -> BoxFuture<'static, Result<Option<(Bytes, Duration)>, StoreError>> {
        let this = self.clone();
        Box::pin(async move { this.read(id).await })
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<BrokerId>, StoreError>> {
        let this = self.clone();
        Box::pin(async move { this.list_all().await })
    }

    fn delete(&self, id: BrokerId) -> BoxFuture<'static, Result<(), StoreError>> {
        let this = self.clone();
        Box::pin(async move {
            let path = this.path(id)?;
            match this.bucket.delete(&[path]).await {
                Ok(_) => Ok(()),
                Err(failed) => Err(this.bucket.explain("delete from", &this.bucket.path(FOLDER)?, &failed)),
            }
        })
    }
}
