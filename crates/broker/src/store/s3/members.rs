//! The cards of the brokers on a bucket: `PREFIX/.brokers/ID.json`.

use super::bucket::Bucket;
use super::probe::Probe;
use crate::store::Dated;
use crate::store::members::{BrokerId, MemberStore};
use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use object_store::path::Path;
use object_store::{ObjectMeta, PutOptions};
use std::sync::Arc;
use std::time::Duration;

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
        let Dated { found, date } = self.bucket.get_once(&self.path(id)?, None).await?;
        Ok(found.map(|(card, stored)| (card, Duration::from_secs(date.saturating_sub(stored)))))
    }

    async fn list_all(&self) -> Result<Vec<BrokerId>, StoreError> {
        let folder = self.bucket.path(FOLDER)?;
        let id = |meta: &ObjectMeta| meta.location.filename()?.strip_suffix(".json")?.parse().ok();
        Ok(self.bucket.list(&folder, None).await?.found.iter().filter_map(id).collect())
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
