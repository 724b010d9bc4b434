//! A journal's objects in a bucket.
//!
//! Keys are `PREFIX/.journal/JJJJ/NUMBER.rwj` for objects, `PREFIX/.journal/JJJJ/merged/NUMBER.rwj` for merged ones,
//! and `PREFIX/.journal/JJJJ/snapshots/NUMBER.rws` for snapshots, with the parts of large ones in
//! `NUMBER.PART-CHECKSUM.rwp`. JJJJ is the journal's number, from 0; NUMBER has 20 digits, and a snapshot's is that of
//! the object after it. No topic's name begins with a dot. A key of an object's number that ends in `.accept` is a
//! person's: it gives up the object, and those after it that are missing too.

use super::DELETES_MAX;
use super::bucket::Bucket;
use super::date::DateSlot;
use super::failed::Failed;
use super::hedge::{self, Kind};
use super::layout::{self, Laid};
use super::probe::Probe;
use super::readers::Readers;
use crate::limits::{ID_READS_MAX, INDEX_BYTES_GUESS, READ_AHEAD_BYTES_MAX, READ_AHEAD_CACHE_PART, RESEND_AFTER};
use crate::store::cache::{Cache, CacheError, CopyName, Remote};
use crate::store::{Dated, Mappings, Prefetched, Store, StoredIndex};
use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::future::{BoxFuture, try_join};
use object_store::path::Path;
use object_store::{ObjectMeta, PutMode, PutOptions, PutPayload};
use rawline_journal::{
    FoundId, Garbage, HEADER_BYTES, Header, Id, Index, Key, Listing, ObjectError, PartitionId, Place, PutResult,
    SnapshotName, Source,
};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Ending of keys by which a person gives up objects that are missing.
const ACCEPT: &str = "accept";

/// A journal in a bucket.
#[derive(Clone)]
pub(super) struct S3Store {
    /// Its number among the storage's journals.
    pub(super) number: u32,
    pub(super) bucket: Arc<Bucket>,
    pub(super) cache: Cache,
    /// What is stored for them is kept in the cache.
    pub(super) readers: Arc<Readers>,
    /// Nothing is stored or deleted before it has passed.
    pub(super) probe: Probe,
    /// What the broker's card waits for, and callers that want a store that is ready.
    pub(super) card_probe: Probe,
    pub(super) laid: Laid,
    /// Whether the bucket's dates correct this machine's clock.
    pub(super) has_clock: bool,
}

impl S3Store {
    /// A key in the journal's folder.
    fn path(&self, name: std::fmt::Arguments<'_>) -> Result<Path, StoreError> {
        self.bucket.path(&format!(".journal/{:04}{name}", self.number))
    }

    /// The key of an object.
    pub(super) fn object_path(&self, source: Source) -> Result<Path, StoreError> {
        match source {
            Source::Journal(number) => self.path(format_args!("/{number:020}.rwj")),
            Source::Merged(number) => self.path(format_args!("/merged/{number:020}.rwj")),
        }
    }

    /// The name of the local copy of the object that has a piece.
    pub(super) fn copy_of(&self, place: Place) -> CopyName {
        CopyName::journal(self.number, place.source, place.tag)
    }

    fn snapshot_path(&self, name: SnapshotName) -> Result<Path, StoreError> {
        self.path(format_args!("/snapshots/{name}"))
    }

    /// All keys of snapshots, in a listing without anything else.
    async fn list_snapshots(&self) -> Result<Dated<Listing>, StoreError> {
        let folder = self.path(format_args!("/snapshots"))?;
        let Dated { found: keys, date } = self.bucket.list(&folder, None).await?;
        let mut found = Listing::default();
        for meta in keys {
            let name = meta.location.filename().and_then(SnapshotName::parse);
            if let Some((name, created)) = name.zip(u64::try_from(meta.last_modified.timestamp()).ok()) {
                found.add_snapshot(name, created);
            }
        }
        Ok(Dated { found, date })
    }

    /// Stores an object under a key that doesn't exist. A PUT that takes too long is sent a second time.
    async fn put(&self, path: &Path, parts: &[Bytes]) -> PutResult {
        let header = stored_header(parts);
        let send = || self.put_once(path, parts.iter().cloned().collect());
        hedge::put(&self.bucket.hedges, header.object_bytes, send, || self.find_id(path, header.link.id)).await
    }

    /// Whether the object that exists is the one with this id. A bucket that is busy refuses some reads too, and the
    /// other requests of the PUT may take long.
    async fn find_id(&self, path: &Path, id: Id) -> FoundId {
        for _ in 0..ID_READS_MAX {
            match self.bucket.get_once_as(Kind::GetId, path, Some(0..HEADER_BYTES as u64)).await {
                Ok(Dated { found, date }) => {
                    return match found.map(|(bytes, created)| (Header::parse(&bytes), created)) {
                        Some((Ok(header), created)) if header.link.id == id => FoundId::Own { created, date },
                        Some((Ok(_), _)) => FoundId::Other,
                        Some((Err(_), _)) | None => FoundId::Unknown,
                    };
                }
                Err(error) => tracing::debug!(%error, "can't read which object exists"),
            }
            sleep(RESEND_AFTER).await;
        }
        tracing::warn!(key = self.bucket.url(path), "can't read which object exists; its PUT is retried");
        FoundId::Unknown
    }

    /// Creates a key that doesn't exist. One request.
    async fn put_once(&self, path: &Path, payload: PutPayload) -> PutResult {
        let slot = DateSlot::default();
        let options = PutOptions { mode: PutMode::Create, extensions: slot.extensions(), ..PutOptions::default() };
        let failed = match self.bucket.put(path, payload, options).await {
            Ok(_) => match slot.date() {
                Some(date) => return PutResult::Created { date },
                None => {
                    let key = self.bucket.url(path);
                    tracing::error!(
                        key,
                        "the bucket's responses have no Date, which Rawline needs; use a server or a proxy that \
                         sends this header"
                    );
                    return PutResult::Unknown;
                }
            },
            Err(failed) => failed,
        };
        if let Failed::Exists { in_progress: false } = failed {
            return PutResult::Exists;
        }
        self.bucket.put_failed(&self.bucket.explain("store", path, &failed));
        PutResult::Unknown
    }

    /// Keeps a local copy of an object that was just stored, if it is likely to be read.
    fn keep(&self, parts: Vec<Bytes>) {
        let header = stored_header(&parts);
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        assert_eq!(bytes, header.object_bytes, "the parts of journal object {}", header.link.number);
        if header.batches > 0 && self.readers.want(&header, || stored_index(&parts)) {
            self.cache.put(CopyName::journal(self.number, header.source(), header.link.id.tag()), parts);
        }
    }

    /// Bytes of a key; `None` if there is no such key.
    pub(super) async fn get(&self, path: &Path, range: Option<Range<u64>>) -> Result<Dated<Option<Bytes>>, StoreError> {
        let Dated { found, date } = self.bucket.get_once(path, range).await?;
        Ok(Dated { found: found.map(|(bytes, _)| bytes), date })
    }

    /// Bytes of an object that is there.
    async fn copied(&self, path: &Path, place: Place, range: Range<u64>) -> Result<Bytes, CacheError> {
        let wanted = range.end - range.start;
        let bytes = self.cache.get(&self.remote(path, place), range).await?;
        assert_eq!(bytes.len() as u64, wanted, "the cache returned other bytes of {place:?}");
        Ok(bytes)
    }

    /// An object for the cache.
    fn remote(&self, path: &Path, place: Place) -> Remote {
        let (bucket, path, bytes) = (self.bucket.clone(), path.clone(), u64::from(place.object_bytes));
        Remote::new(self.copy_of(place), bytes, move |thread, range, sink| {
            let (bucket, path) = (bucket.clone(), path.clone());
            Box::pin(async move { bucket.fetch(thread, &path, bytes, range, sink).await })
        })
    }

    /// The entries of a piece, from the bucket if the copy of the object hasn't them.
    async fn read_entries(&self, path: &Path, place: Place) -> Result<Bytes, CacheError> {
        let (range, name) = (place.entries(), self.copy_of(place));
        if !self.cache.has(&name, &range) {
            if let Some(entries) = self.cache.entries(&name, range.start) {
                return Ok(entries);
            }
            let found = self.get(path, Some(range.clone())).await?.found;
            if let Some(entries) = found.filter(|bytes| bytes.len() as u64 == range.end - range.start) {
                self.cache.keep_entries(&name, range.start, entries.clone());
                return Ok(entries);
            }
        }
        // Without the object, this says so.
        self.copied(path, place, range).await
    }

    async fn read_index(&self, source: Source) -> Result<Dated<Option<StoredIndex>>, StoreError> {
        let path = self.object_path(source)?;
        let mut front = self.bucket.get_once(&path, Some(0..INDEX_BYTES_GUESS)).await?;
        loop {
            let Dated { found, date } = front;
            let Some((bytes, created)) = found else { return Ok(Dated { found: None, date }) };
            match Index::parse(&bytes) {
                Ok(index) => return Ok(Dated { found: Some(StoredIndex { index, created }), date }),
                Err(ObjectError::Truncated { have, need }) if need > have && have >= INDEX_BYTES_GUESS => {
                    front = self.bucket.get_once(&path, Some(0..need)).await?;
                }
                Err(error) => {
                    let url = self.bucket.url(&path);
                    return Err(StoreError::human(format!("{url} is damaged: {error}; restore it from a copy")));
                }
            }
        }
    }

    async fn read_newest_snapshot(&self) -> Result<Dated<Option<Bytes>>, StoreError> {
        let listed = self.list_snapshots().await?;
        let found = match listed.found.snapshots.iter().map(|key| key.number).max() {
            Some(newest) => self.get(&self.snapshot_path(SnapshotName::root(newest))?, None).await?.found,
            None => None,
        };
        Ok(Dated { found, date: listed.date })
    }

    /// The key by which a person gives up an object and the missing ones after it.
    fn accept_path(&self, source: Source) -> Result<Path, StoreError> {
        match source {
            Source::Journal(number) => self.path(format_args!("/{number:020}.{ACCEPT}")),
            Source::Merged(number) => self.path(format_args!("/merged/{number:020}.{ACCEPT}")),
        }
    }

    async fn list_objects_from(&self, number: u64) -> Result<Listing, StoreError> {
        let before = self.object_path(Source::Journal(number.saturating_sub(1)))?;
        let listed = self.list_folder("", ".rwj", Some(&before)).await?;
        let (mut objects, given_up) = listed.found;
        objects.retain(|key| key.number >= number);
        Ok(Listing { objects, given_up: given_up.into_iter().map(Source::Journal).collect(), ..Listing::default() })
    }

    async fn list_all(&self) -> Result<Dated<Listing>, StoreError> {
        let snapshots = self.list_snapshots().await?;
        let objects = self.list_folder("", ".rwj", None);
        let (objects, merged) = try_join(objects, self.list_folder("/merged", ".rwj", None)).await?;
        // The date of the first listing counts for all: by it, keys only seem younger.
        let Dated { found: snapshots, date } = snapshots;
        let ((objects, given_up), (merged, merged_given_up)) = (objects.found, merged.found);
        let given_up = given_up.into_iter().map(Source::Journal);
        let given_up = given_up.chain(merged_given_up.into_iter().map(Source::Merged)).collect();
        Ok(Dated { found: Listing { objects, merged, given_up, ..snapshots }, date })
    }

    /// The keys of a folder whose names are a number and an ending, and the numbers that a person has given up. Those
    /// up to the key `after` may be missing.
    async fn list_folder(
        &self,
        folder: &str,
        ending: &str,
        after: Option<&Path>,
    ) -> Result<Dated<(Vec<Key>, Vec<u64>)>, StoreError> {
        let folder = self.path(format_args!("{folder}"))?;
        let Dated { found, date } = self.bucket.list(&folder, after).await?;
        let keys = found.iter().filter_map(|meta| key_of(meta, ending)).collect();
        Ok(Dated { found: (keys, found.iter().filter_map(mark_of).collect()), date })
    }

    async fn delete_all(&self, garbage: &Garbage) -> Result<(), StoreError> {
        let objects = garbage.objects.iter().map(|number| Source::Journal(*number));
        let merged = garbage.merged.iter().map(|number| Source::Merged(*number));
        let objects = objects.chain(merged).map(|source| self.object_path(source));
        let snapshot_path = |name: &SnapshotName| self.snapshot_path(*name);
        // One request deletes in any order, and the roots go before the parts.
        let (roots, parts) = garbage.snapshots.split_at(garbage.snapshots.partition_point(SnapshotName::is_root));
        let paths: Vec<Path> = objects.chain(roots.iter().map(snapshot_path)).collect::<Result<_, _>>()?;
        let parts: Vec<Path> = parts.iter().map(snapshot_path).collect::<Result<_, _>>()?;
        for paths in paths.chunks(DELETES_MAX).chain(parts.chunks(DELETES_MAX)) {
            let deleted = self.bucket.delete(paths).await;
            let folder = self.path(format_args!(""))?;
            deleted.map_err(|failed| self.bucket.explain("delete from", &folder, &failed))?;
        }
        Ok(())
    }
}

/// The header of an object that is stored or being stored.
fn stored_header(parts: &[Bytes]) -> Header {
    match parts.first().map(|index| Header::parse(index)) {
        Some(Ok(header)) => header,
        other => unreachable!("what is stored has no header: {other:?}"),
    }
}

/// The index of the same.
fn stored_index(parts: &[Bytes]) -> Index {
    match parts.first().map(|index| Index::parse(index)) {
        Some(Ok(index)) => index,
        other => unreachable!("what is stored has no index: {other:?}"),
    }
}

/// A key whose name is a number and this ending.
fn key_of(meta: &ObjectMeta, ending: &str) -> Option<Key> {
    let number = meta.location.filename()?.strip_suffix(ending)?.parse().ok()?;
    let created = u64::try_from(meta.last_modified.timestamp()).ok()?;
    Some(Key { number, created })
}

/// The number in the name of a key by which a person gives up objects.
fn mark_of(meta: &ObjectMeta) -> Option<u64> {
    meta.location.filename()?.strip_suffix(ACCEPT)?.strip_suffix('.')?.parse().ok()
}

impl Store for S3Store {
    fn deletion_delay(&self) -> Duration {
        self.laid.deletion_delay
    }

    fn has_clock(&self) -> bool {
        self.has_clock
    }

    fn ready(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        let probe = self.card_probe.clone();
        Box::pin(async move { probe.passed().await })
    }

    fn spared(&self, objects: u32) {
        self.bucket.hedges.spared(objects);
    }

    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        let this = self.clone();
        Box::pin(async move {
            let path = match this.object_path(source) {
                Ok(path) => path,
                Err(error) => unreachable!("the key of {source:?}: {error}"),
            };
            if let Err(error) = this.probe.passed().await {
                tracing::warn!(%error, "nothing is stored in this bucket");
                return PutResult::Unknown;
            }
            let put = this.put(&path, &parts).await;
            if put.created().is_some() {
                this.keep(parts);
            }
            put
        })
    }

    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        let this = self.clone();
        Box::pin(async move { this.read_index(source).await })
    }

    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        let this = self.clone();
        Box::pin(async move {
            let path = this.object_path(place.source)?;
            let read = this.copied(&path, place, range).await;
            read.map_err(|error| this.bucket.unreadable(&path, error))
        })
    }

    fn entries(&self, place: Place) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        let this = self.clone();
        Box::pin(async move {
            let path = this.object_path(place.source)?;
            let read = this.read_entries(&path, place).await;
            read.map_err(|error| this.bucket.unreadable(&path, error))
        })
    }

    fn is_verified(&self, place: Place, bytes: &[u8], offset: u64) -> bool {
        self.cache.is_verified(&self.copy_of(place), bytes, offset)
    }

    fn set_verified(&self, place: Place, bytes: &[u8]) {
        self.cache.set_verified(&self.copy_of(place), bytes);
    }

    fn ahead_bytes_max(&self) -> u64 {
        READ_AHEAD_BYTES_MAX.min(self.cache.bytes_max() / READ_AHEAD_CACHE_PART)
    }

    fn prefetch(&self, place: Place, range: Range<u64>) -> Prefetched {
        match self.object_path(place.source) {
            Ok(_) if self.cache.has(&self.copy_of(place), &range) => Prefetched::Here,
            Ok(path) => self.cache.prefetch(self.remote(&path, place), range),
            Err(_) => Prefetched::Refused,
        }
    }

    fn note_reader(&self, partition: PartitionId) {
        self.readers.note(partition);
    }

    fn mappings(&self) -> Option<Arc<Mappings>> {
        Some(self.cache.mappings())
    }

    fn discard(&self, place: Place) -> BoxFuture<'static, bool> {
        let (cache, copy) = (self.cache.clone(), self.copy_of(place));
        Box::pin(async move { cache.remove(copy).await })
    }

    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        let this = self.clone();
        Box::pin(async move { Ok(this.get(&this.snapshot_path(name)?, None).await?.found) })
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        let this = self.clone();
        Box::pin(async move { this.read_newest_snapshot().await })
    }

    fn create_snapshot(&self, name: SnapshotName, bytes: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        let this = self.clone();
        Box::pin(async move {
            this.probe.passed().await?;
            let path = this.snapshot_path(name)?;
            match this.bucket.create(&path, bytes.into()).await {
                Ok(_) | Err(Failed::Exists { .. }) => Ok(()),
                Err(failed) => Err(this.bucket.explain("store", &path, &failed)),
            }
        })
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        let this = self.clone();
        Box::pin(async move { this.list_all().await })
    }

    fn list_from(&self, number: u64) -> BoxFuture<'static, Result<Listing, StoreError>> {
        let this = self.clone();
        Box::pin(async move { this.list_objects_from(number).await })
    }

    fn changed(&self) -> BoxFuture<'static, Result<Option<StoreError>, StoreError>> {
        let this = self.clone();
        Box::pin(async move { layout::changed(&this.bucket, this.laid).await })
    }

    fn name_of(&self, source: Source) -> String {
        self.object_path(source).map_or_else(|error| error.message, |path| self.bucket.url(&path))
    }

    fn give_up_hint(&self, source: Source) -> String {
        match self.accept_path(source) {
            Ok(path) => self.bucket.hint_to_create(&path),
            Err(error) => error.message,
        }
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        let this = self.clone();
        Box::pin(async move {
            this.probe.passed().await?;
            this.delete_all(&garbage).await?;
            Ok((garbage.objects.len() + garbage.merged.len()) as u64)
        })
    }
}
