//! Opens a bucket.

use super::S3Config;
use super::bucket::Bucket;
use super::journal::S3Store;
use super::layout::{find, find_or_decide};
use super::members::S3Members;
use super::probe::Probe;
use super::readers::Readers;
use crate::store::{MemberStore, Storage, Store, StoreError};
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Opens the bucket and makes sure that it keeps the condition that commits rest on.
pub async fn open(config: S3Config) -> Result<Storage, StoreError> {
    let storage = open_early(config).await?;
    storage.journal().ready().await?;
    Ok(storage)
}

/// Opens the bucket so that it can be read while the condition is still being checked, which takes several round
/// trips. A journal's objects wait for it. Boxed, so that its code is compiled in this crate only.
pub fn open_early(config: S3Config) -> BoxFuture<'static, Result<Storage, StoreError>> {
    Box::pin(look(config))
}

/// Makes sure that the bucket creates an object only if it doesn't exist, and that objects can be stored and deleted.
/// The storage needn't exist.
pub fn probe(config: S3Config) -> BoxFuture<'static, Result<(), StoreError>> {
    Box::pin(async move {
        let bucket = Arc::new(Bucket::new(&config)?);
        bucket.check_credentials().await?;
        Probe::start(bucket).passed().await
    })
}

async fn look(config: S3Config) -> Result<Storage, StoreError> {
    let bucket = Arc::new(Bucket::new(&config)?);
    bucket.check_credentials().await?;
    let (laid, probe, card_probe) = if config.is_read_only {
        let laid = find(&bucket, &config).await?;
        let refusal = "the bucket is opened to read only, and nothing is stored in it";
        // A card is replaced without a condition.
        (laid, Probe::decided(Err(StoreError::human(refusal))), Probe::decided(Ok(())))
    } else {
        let probe = Probe::start(bucket.clone());
        match find_or_decide(&bucket, &probe, &config).await {
            Ok(laid) => (laid, probe.clone(), probe),
            // If the probe fails too, its error says more: it asks for more.
            Err(error) => return Err(probe.passed().await.err().unwrap_or(error)),
        }
    };
    let journal = |number| {
        Arc::new(S3Store {
            number,
            bucket: bucket.clone(),
            cache: config.cache.clone(),
            readers: Arc::new(Readers::new()),
            probe: probe.clone(),
            card_probe: card_probe.clone(),
            laid,
            has_clock: config.has_clock,
        }) as Arc<dyn Store>
    };
    let journals = (0..laid.journals).map(journal).collect();
    let members = Some(Arc::new(S3Members::new(bucket.clone(), card_probe.clone())) as Arc<dyn MemberStore>);
    Ok(Storage { id: laid.id, backup_of: laid.backup_of, journals, members, _lock: None })
}
