//! A full disk, and failing syncs, as producers and operators see them.

use crate::support::{append_head, connect, exchange, failed_journals, get};
use bytes::Bytes;
use rawline_broker::store::Storage;
use rawline_broker::store::disk::{self, Device, Durability, Options, System, Work};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A disk with switches.
#[derive(Default)]
struct Faulty {
    is_full: AtomicBool,
    fails_syncs: AtomicBool,
    fails_writes: AtomicBool,
    writes: AtomicU64,
}

impl Faulty {
    fn set(&self, switch: &AtomicBool, on: bool) {
        switch.store(on, Ordering::SeqCst);
    }
}

/// The disk, as a store holds it.
struct Held(Arc<Faulty>);

impl Device for Held {
    fn allocate(&self, file: &File, range: Range<u64>) -> io::Result<()> {
        if self.0.is_full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        System.allocate(file, range)
    }

    fn write(&self, file: &File, parts: &[Bytes], position: u64) -> io::Result<()> {
        self.0.writes.fetch_add(1, Ordering::SeqCst);
        if self.0.fails_writes.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(5));
        }
        System.write(file, parts, position)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        if self.0.fails_syncs.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(5));
        }
        System.sync(file)
    }

    /// At once, also the zeros that a journal writes ahead of its commits: nothing is written after a response.
    fn run(&self, work: Work) {
        work();
    }
}

fn store(dir: &Path, disk: &Arc<Faulty>) -> Storage {
    let options = Options { durability: Durability::Fsync, segment_bytes: 1 << 20 };
    disk::open_on(dir, options, Arc::new(Held(disk.clone()))).unwrap()
}

/// Opens a directory again; the broker before may still be ending.
async fn reopen(dir: &Path) -> Storage {
    loop {
        match disk::open(dir, Durability::Fsync) {
            Ok(store) => return store,
            Err(error) => assert!(error.message.contains("in use"), "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

async fn serve(store: Storage) -> Served {
    Served::on(store, HttpConfig::default(), 128 << 20).await
}

async fn append(server: &Served, record: &str) -> (u16, String) {
    let head = append_head(record.len());
    exchange(&mut connect(server).await, &[head.as_bytes(), record.as_bytes()]).await.unwrap()
}

async fn ask(server: &Served, target: &str) -> (u16, String) {
    exchange(&mut connect(server).await, &[get(target).as_bytes()]).await.unwrap()
}

async fn record(server: &Served, offset: u64) -> Option<String> {
    let (status, text) = ask(server, &format!("/record?topic-name=t&offset={offset}")).await;
    (status == 200).then(|| text.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_asks_producers_to_wait_and_passes() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Arc::new(Faulty::default()));
    let server = serve(store(dir.path(), &disk)).await;
    assert_eq!(append(&server, "one").await.0, 201);
    disk.set(&disk.is_full, true);
    for _ in 0..3 {
        // Longer than the allocated part.
        let (status, text) = append(&server, &"x".repeat(1 << 20)).await;
        assert_eq!(status, 503, "{text}");
        assert!(text.contains("\"store_unavailable\"") && text.contains("retry-after: "), "{text}");
        assert!(text.contains("free disk space") && text.contains("nothing of it was stored"), "{text}");
    }
    assert_eq!(record(&server, 0).await.as_deref(), Some("one"));
    assert!(ask(&server, "/health").await.1.ends_with("ok\n"));
    disk.set(&disk.is_full, false);
    let large = "y".repeat(1 << 20);
    assert_eq!(append(&server, &large).await.0, 201);
    assert_eq!(record(&server, 1).await, Some(large));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_write_is_not_stored_and_says_what_to_check() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Arc::new(Faulty::default()));
    let server = serve(store(dir.path(), &disk)).await;
    assert_eq!(append(&server, "one").await.0, 201);
    disk.set(&disk.fails_writes, true);
    for _ in 0..3 {
        let (status, text) = append(&server, "two").await;
        assert_eq!(status, 500, "{text}");
        assert!(text.contains("check the disk"), "{text}");
    }
    disk.set(&disk.fails_writes, false);
    // A journal may still be resolving the outcome of the last one.
    while append(&server, "three").await.0 != 201 {}
    assert_eq!(record(&server, 1).await.as_deref(), Some("three"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failed_sync_nothing_is_appended_until_a_restart() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Arc::new(Faulty::default()));
    let server = serve(store(dir.path(), &disk)).await;
    assert_eq!(append(&server, "one").await.0, 201);
    let before = failed_journals(&server).await;
    disk.set(&disk.fails_syncs, true);
    let refused = |(status, text): (u16, String)| {
        assert_eq!(status, 500, "{text}");
        assert!(text.contains("\"store_failed\"") && !text.contains("retry-after"), "{text}");
        assert!(text.contains("until the broker is restarted"), "{text}");
    };
    refused(append(&server, "two").await);
    // The kernel may have marked the pages as clean: successful syncs prove nothing.
    disk.set(&disk.fails_syncs, false);
    let writes = disk.writes.load(Ordering::SeqCst);
    for _ in 0..3 {
        refused(append(&server, "three").await);
    }
    assert_eq!(disk.writes.load(Ordering::SeqCst), writes, "something was written");
    assert_eq!(record(&server, 0).await.as_deref(), Some("one"));
    assert_eq!(record(&server, 1).await, None);
    assert!(ask(&server, "/health").await.1.contains("1 topics have failed"), "all topics share the journal");
    assert!(failed_journals(&server).await > before);
    drop(server);
    let server = serve(reopen(dir.path()).await).await;
    // The appends of the failed sync may be stored or not.
    let second = record(&server, 1).await;
    assert!(second.is_none() || second.as_deref() == Some("two"), "{second:?}");
    let next = 1 + u64::from(second.is_some());
    assert_eq!(append(&server, "four").await.0, 201);
    assert_eq!(record(&server, next).await.as_deref(), Some("four"));
    assert_eq!(record(&server, 0).await.as_deref(), Some("one"));
}
