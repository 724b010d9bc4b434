//! Makes sure that a store honors the condition that commits rest on.

use super::bucket::Bucket;
use super::connect::{Words, words};
use super::failed::Failed;
use super::tries::Tries;
use crate::store_error::StoreError;
use crate::tasks;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, join, join_all};
use object_store::PutPayload;
use object_store::path::Path;
use std::sync::Arc;

/// Prefix of the probe's keys; no topic's name begins with a dot.
const PROBES: &str = ".rawline-probe";
/// Number of keys that are raced for, and of writers per key. Stores that check first and then write, without a lock,
/// let several win nearly every time.
const RACES: u64 = 3;
const RACERS: u64 = 8;
/// More bytes than a probe stores.
const PROBE_BYTES_MAX: u64 = 64;

/// A probe that runs while the bucket is read already.
#[derive(Clone)]
pub(super) struct Probe(Shared<BoxFuture<'static, Result<(), StoreError>>>);

impl Probe {
    /// Starts to probe a bucket.
    pub fn start(bucket: Arc<Bucket>) -> Probe {
        let probing = tasks::spawn(async move { bucket.probe().await });
        let ended = probing.map(|ended| {
            let failed =
                |_| StoreError::human("the check of the bucket has stopped after an internal error; please report it");
            ended.map_err(failed).flatten()
        });
        Probe(ended.boxed().shared())
    }

    /// A result without a probe: the store isn't written to by callers that need one that has passed.
    pub fn decided(result: Result<(), StoreError>) -> Probe {
        Probe(std::future::ready(result).boxed().shared())
    }

    /// Waits for its result. Nothing may be stored before it is known that the store keeps the condition.
    pub async fn passed(&self) -> Result<(), StoreError> {
        self.0.clone().await
    }
}

impl Bucket {
    /// Makes sure that the store creates an object only if it doesn't exist, also when many try at once.
    async fn probe(&self) -> Result<(), StoreError> {
        let lone = self.probe_path()?;
        let races: Result<Vec<Path>, StoreError> = (0..RACES).map(|_| self.probe_path()).collect();
        let races = races?;
        let raced = join_all(races.iter().map(|path| self.probe_race(path)));
        let (probed, raced) = join(self.probe_lone(&lone), raced).await;
        let probed = probed.and(raced.into_iter().collect());
        let paths: Vec<Path> = std::iter::once(lone).chain(races).collect();
        if let Err(failed) = self.delete(&paths).await
            && probed.is_ok()
        {
            let error = self.explain("delete", &Path::from(PROBES), &failed);
            tracing::warn!(
                %error,
                "some bytes of the probe stay in the bucket; delete the keys that begin with {PROBES}"
            );
        }
        probed
    }

    async fn probe_lone(&self, path: &Path) -> Result<(), StoreError> {
        let mut tries = Tries::at_start(self);
        loop {
            match self.create(path, PutPayload::from_static(b"first")).await {
                // The response to an earlier try may have been lost.
                Ok(_) | Err(Failed::Exists { .. }) => break,
                Err(failed) => tries.again(failed).await.map_err(|failed| self.explain("store", path, &failed))?,
            }
        }
        let mut tries = Tries::at_start(self);
        loop {
            match self.create(path, PutPayload::from_static(b"second")).await {
                Ok(_) => return Err(self.refuse("overwrote an existing object")),
                Err(Failed::Exists { .. }) => break,
                Err(failed) => tries.again(failed).await.map_err(|failed| self.explain("store", path, &failed))?,
            }
        }
        match self.front(path, PROBE_BYTES_MAX).await?.as_deref() {
            Some(b"first") => Ok(()),
            Some(_) => Err(self.refuse("said that an object exists and overwrote it nevertheless")),
            None => Err(self.refuse("said that it had stored an object and does not have it")),
        }
    }

    async fn probe_race(&self, path: &Path) -> Result<(), StoreError> {
        let racers = (0..RACERS).map(|racer| async move {
            let payload = Bytes::copy_from_slice(&racer.to_le_bytes());
            let mut tries = Tries::at_start(self);
            let mut is_clear = true;
            loop {
                match self.create(path, payload.clone().into()).await {
                    Ok(_) => return Ok((payload, Raced::Won)),
                    Err(Failed::Exists { in_progress: false }) => {
                        return Ok((payload, if is_clear { Raced::Lost } else { Raced::Unclear }));
                    }
                    Err(failed) => {
                        is_clear &= matches!(failed, Failed::Exists { .. });
                        tries.again(failed).await.map_err(|failed| self.explain("store", path, &failed))?;
                    }
                }
            }
        });
        let ended: Result<Vec<(Bytes, Raced)>, StoreError> = join_all(racers).await.into_iter().collect();
        let ended = ended?;
        let Some(stored) = self.front(path, PROBE_BYTES_MAX).await? else {
            return Err(self.refuse("said that it had stored an object and does not have it"));
        };
        let has_won = |(payload, raced): &&(Bytes, Raced)| match raced {
            Raced::Won => true,
            Raced::Lost => false,
            Raced::Unclear => *payload == stored,
        };
        let winners: Vec<&Bytes> = ended.iter().filter(has_won).map(|(payload, _)| payload).collect();
        match winners.as_slice() {
            [winner] if **winner == stored => Ok(()),
            [] | [_] => Err(self.refuse("kept another object than that of the writer it acknowledged")),
            many => Err(self.refuse(&format!(
                "acknowledged {} of {RACERS} writers that tried at once to create the same object",
                many.len()
            ))),
        }
    }

    fn refuse(&self, done: &str) -> StoreError {
        let Words { server, condition, instead, .. } = words(self.address.service);
        StoreError::human(format!(
            "the {server} at {} does not honor the condition \"{condition}\": it {done}. Two brokers on it could \
             overwrite each other's records, so Rawline does not use it. Use {instead}",
            self.endpoint
        ))
    }

    #[expect(clippy::disallowed_methods, reason = "a name that no other broker uses; nothing depends on its value")]
    fn probe_path(&self) -> Result<Path, StoreError> {
        self.path(&format!("{PROBES}/{:032x}", rand::random::<u128>()))
    }
}

/// The result of one writer of the probe.
enum Raced {
    Won,
    Lost,
    /// A response was lost before it learned that the object exists, which may then be its own.
    Unclear,
}
