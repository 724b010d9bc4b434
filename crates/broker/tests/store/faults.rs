//! Stores that fail: full ones, and requests that have no effect. What failed changes nothing, and can be done again.

use crate::{has, listed};
use rawline_broker::Kind;
use rawline_broker::store::cache::Cache;
use rawline_broker::store::disk::{self, Device, Durability, Options, System};
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::store::{Storage, StoreError};
use rawline_journal::{Garbage, PutResult, SnapshotName, Source};
use rawline_testkit::http::{Act, Proxy, Request};
use rawline_testkit::s3_server::{Bucket, bucket, variables};
use rawline_testkit::stores::{Object, RUN, SEGMENT_BYTES, assert_holds, create, create_some, object_of};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// What a storage doesn't do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    CreatesObjects,
    CreatesSnapshots,
    Deletes,
}

/// What fails now.
type Failing = Arc<Mutex<Option<Fault>>>;

/// A disk on which something fails.
struct Disk(Failing);

impl Disk {
    fn check(&self, fault: Fault) -> io::Result<()> {
        let fails = *self.0.lock().unwrap() == Some(fault);
        if fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Device for Disk {
    fn allocate(&self, file: &File, range: Range<u64>) -> io::Result<()> {
        self.check(Fault::CreatesObjects)?;
        System.allocate(file, range)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(Fault::CreatesSnapshots)?;
        System.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check(Fault::Deletes)?;
        System.remove(path)
    }
}

/// What a proxy does with a request to a bucket where something fails.
fn act(failing: &Failing, request: &Request) -> Act {
    let is_meant = match *failing.lock().unwrap() {
        Some(Fault::CreatesObjects) => request.method == "PUT" && request.target.contains(".rwj"),
        Some(Fault::CreatesSnapshots) => request.method == "PUT" && request.target.contains(".rws"),
        Some(Fault::Deletes) => request.method == "DELETE" || request.method == "POST",
        None => false,
    };
    if is_meant { Act::Refuse("403 Forbidden", "AccessDenied") } else { Act::Forward }
}

/// Where a storage is that can fail, and what it says then.
struct Frail {
    name: &'static str,
    storage: Storage,
    failing: Failing,
    /// What becomes of an object that isn't stored. The response to a request to a bucket may have been lost.
    refused: PutResult,
    _kept: (Option<TempDir>, Option<(Bucket, Proxy)>),
}

async fn frail() -> Vec<Frail> {
    let (dir, failing) = (tempfile::tempdir().unwrap(), Failing::default());
    let options = Options { durability: Durability::Fsync, segment_bytes: SEGMENT_BYTES };
    let storage = disk::open_on(dir.path(), options, Arc::new(Disk(failing.clone()))).unwrap();
    let on_disk = Frail { name: "disk", storage, failing, refused: PutResult::NotStored, _kept: (Some(dir), None) };

    let (bucket, failing) = (bucket().await, Failing::default());
    let now = failing.clone();
    let proxy = Proxy::start(bucket.address, move |request| act(&now, request)).await;
    let cache = Cache::open(bucket.cache_dir(), 1 << 20).unwrap();
    let config = S3Config::new(&format!("s3://{}/topics", bucket.name), cache).unwrap();
    let retry_budget = Duration::from_millis(100);
    let config = S3Config { variables: variables(proxy.address), retry_budget, has_clock: false, ..config };
    let storage = s3::open(config).await.unwrap();
    let kept = (None, Some((bucket, proxy)));
    vec![on_disk, Frail { name: "s3", storage, failing, refused: PutResult::Unknown, _kept: kept }]
}

impl Frail {
    fn fail(&self, fault: Option<Fault>) {
        *self.failing.lock().unwrap() = fault;
    }
}

/// Larger than a segment, so that a directory has to allocate room for it.
fn large(number: u64) -> Object {
    object_of(RUN, number, 1, 1, 2 * SEGMENT_BYTES as usize)
}

#[tokio::test]
async fn an_object_that_was_not_stored_leaves_its_number_to_another() {
    for frail in frail().await {
        let store = &**frail.storage.journal();
        let mut objects = create_some(&frail.storage, 3).await;
        frail.fail(Some(Fault::CreatesObjects));
        for _ in 0..2 {
            assert_eq!(store.create(Source::Journal(4), large(4).parts()).await, frail.refused, "{}", frail.name);
        }
        assert_holds(&frail.storage, &objects, frail.name).await;
        let says_why = store.refusal().is_some();
        assert_eq!(says_why, frail.refused == PutResult::NotStored, "{}: only then is it known", frail.name);
        frail.fail(None);
        objects.push(large(4));
        create(&frail.storage, &objects[3]).await;
        assert!(store.refusal().is_none() && store.failure().is_none(), "{}", frail.name);
        assert_holds(&frail.storage, &objects, frail.name).await;
    }
}

#[tokio::test]
async fn a_storage_in_memory_takes_no_more_records_than_it_has_room_for() {
    let storage = Storage::in_memory(64 << 10);
    let store = &**storage.journal();
    let mut objects = Vec::new();
    loop {
        let object = large(objects.len() as u64 + 1);
        match store.create(object.source(), object.parts()).await {
            PutResult::Created { .. } => objects.push(object),
            refused => break assert_eq!(refused, PutResult::NotStored),
        }
    }
    assert!(objects.len() > 3, "{}", objects.len());
    let refusal = store.refusal().unwrap();
    assert!(refusal.kind == Kind::Wait && refusal.message.contains("is full"), "{refusal}");
    assert_holds(&storage, &objects, "memory").await;
    // What is deleted makes room, and the number is free.
    store.delete(Garbage { objects: vec![1], ..Garbage::default() }).await.unwrap();
    objects.push(large(objects.len() as u64 + 1));
    create(&storage, objects.last().unwrap()).await;
    assert!(store.refusal().is_none());
    assert_holds(&storage, &objects[1..], "memory").await;
}

fn assert_says_what_to_do(result: Result<impl std::fmt::Debug, StoreError>, name: &str) {
    let error = result.unwrap_err();
    assert!(!error.is_gone && !error.is_damaged && !error.message.is_empty(), "{name}: {error}");
}

#[tokio::test]
async fn a_snapshot_that_was_not_stored_is_not_there() {
    for frail in frail().await {
        let store = &**frail.storage.journal();
        store.create_snapshot(SnapshotName::root(2), "two".into()).await.unwrap();
        frail.fail(Some(Fault::CreatesSnapshots));
        assert_says_what_to_do(store.create_snapshot(SnapshotName::root(3), "three".into()).await, frail.name);
        assert_eq!(store.snapshot(SnapshotName::root(3)).await.unwrap(), None, "{}", frail.name);
        assert_eq!(store.newest_snapshot().await.unwrap().found, Some("two".into()), "{}", frail.name);
        frail.fail(None);
        store.create_snapshot(SnapshotName::root(3), "three".into()).await.unwrap();
        assert_eq!(store.newest_snapshot().await.unwrap().found, Some("three".into()), "{}", frail.name);
    }
}

#[tokio::test]
async fn what_could_not_be_deleted_is_deleted_later() {
    for frail in frail().await {
        let store = &**frail.storage.journal();
        let objects = create_some(&frail.storage, 60).await;
        store.create_snapshot(SnapshotName::root(2), "old".into()).await.unwrap();
        store.create_snapshot(SnapshotName::root(61), "new".into()).await.unwrap();
        let garbage =
            || Garbage { objects: (1..=40).collect(), merged: Vec::new(), snapshots: vec![SnapshotName::root(2)] };
        frail.fail(Some(Fault::Deletes));
        assert_says_what_to_do(store.delete(garbage()).await, frail.name);
        for object in &objects[40..] {
            assert_eq!(object.read(store).await.unwrap(), object.batches, "{}", frail.name);
        }
        frail.fail(None);
        store.delete(garbage()).await.unwrap();
        assert_eq!(store.snapshot(SnapshotName::root(2)).await.unwrap(), None, "{}", frail.name);
        assert!(!has(store, Source::Journal(1)).await, "{}", frail.name);
        let left = listed(store).await;
        assert!(left.len() < 40 && left.ends_with(&[59, 60]), "{}: {left:?}", frail.name);
    }
}
