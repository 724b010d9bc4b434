//! Every store, each with a way to close and open it again, and objects to put in.

use crate::cloud_bucket::CloudBucket;
use crate::{azure_server, gcs_server, s3_server};
use rawline_batch::{Builder, Checker, Codec, Limits};
use rawline_broker::object::{Object, Stamp};
use rawline_broker::store::cache::Cache;
use rawline_broker::store::disk::{DiskStore, Durability, Options};
use rawline_broker::store::memory::MemoryStore;
use rawline_broker::store::s3::{Layout, S3Config, S3Store};
use rawline_broker::store::{Listed, ObjectAt, OnlyJournal, Store};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Segments this short take a few objects of a test.
pub const SEGMENT_BYTES: u64 = 4096;

/// Few enough that a cache of the S3 store has to evict some.
const S3_CACHE_BYTES: u64 = 256 << 10;

/// Where one kind of store keeps its objects for the time of a test.
pub struct Place {
    pub name: &'static str,
    kind: Kind,
}

enum Kind {
    Memory(Arc<MemoryStore>),
    Disk(TempDir, Durability, Layout),
    S3(s3_server::Bucket, Layout),
    /// With a journal, as every new storage.
    Cloud(CloudBucket),
}

impl Place {
    /// Opens the store. What was opened before must have been dropped.
    pub async fn open(&self) -> Arc<dyn Store> {
        match &self.kind {
            // Its objects live as long as the place, as those of a bucket do.
            Kind::Memory(store) => store.clone(),
            Kind::Disk(dir, durability, layout) => {
                let (durability, new_layout) = (*durability, *layout);
                let options = Options { durability, segment_bytes: SEGMENT_BYTES, new_layout };
                Arc::new(DiskStore::open_with(dir.path(), options).unwrap())
            }
            // Every time with an empty cache, like a new machine.
            Kind::S3(bucket, layout) => {
                let cache = Cache::open(bucket.cache_dir(), S3_CACHE_BYTES).unwrap();
                let mut config = S3Config::new(&format!("s3://{}/topics", bucket.name), cache).unwrap();
                (config.variables, config.new_layout) = (bucket.variables(), *layout);
                config.has_clock = false;
                Arc::new(S3Store::open(config).await.unwrap())
            }
            Kind::Cloud(bucket) => {
                let cache = Cache::open(bucket.cache_dir(), S3_CACHE_BYTES).unwrap();
                let config = S3Config::new(&format!("{}/topics", bucket.url), cache).unwrap();
                let config = S3Config { variables: bucket.variables.clone(), has_clock: false, ..config };
                Arc::new(S3Store::open(config).await.unwrap())
            }
        }
    }
}

impl Place {
    /// How much room its files take up on disk, those of the test S3 server included; 0 where there are none.
    pub fn allocated_bytes(&self) -> u64 {
        match &self.kind {
            Kind::Memory(_) | Kind::Cloud(_) => 0,
            Kind::Disk(dir, ..) => allocated_bytes(dir.path()),
            Kind::S3(bucket, _) => allocated_bytes(&bucket.file("")),
        }
    }

    /// Whether all topics are in one journal. If not, each has its own objects and settings.
    pub fn is_journal(&self) -> bool {
        let layout = match self.kind {
            Kind::Memory(_) => Layout::Topics,
            Kind::Disk(_, _, layout) | Kind::S3(_, layout) => layout,
            Kind::Cloud(_) => Layout::Journal,
        };
        layout == Layout::Journal
    }

    /// Whether the store takes objects of single topics, though there is a journal in a bucket.
    pub fn takes_objects(&self) -> bool {
        !matches!(self.kind, Kind::Disk(_, _, Layout::Journal))
    }

    /// Whether topics can have several partitions here.
    pub fn has_partitions(&self) -> bool {
        !matches!(self.kind, Kind::S3(_, Layout::Topics))
    }

    /// Whether several brokers may have it open at once; a directory has one owner.
    pub fn is_shared(&self) -> bool {
        !matches!(self.kind, Kind::Disk(..))
    }
}

/// An empty storage in memory.
pub fn in_memory() -> Arc<dyn Store> {
    Arc::new(OnlyJournal::in_memory(1 << 30))
}

/// Blocks that are allocated for the files below `dir`, in bytes.
fn allocated_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.is_dir() {
            true => allocated_bytes(&path),
            // A file may be deleted meanwhile.
            false => path.metadata().map_or(0, |metadata| metadata.blocks() * 512),
        })
        .sum()
}

/// Those where each topic has its own objects and settings.
pub async fn places_of_topics() -> Vec<Place> {
    places().await.into_iter().filter(|place| !place.is_journal()).collect()
}

/// Those that take objects of single topics.
pub async fn places_of_objects() -> Vec<Place> {
    places().await.into_iter().filter(Place::takes_objects).collect()
}

/// A new, empty place for each store.
pub async fn places() -> Vec<Place> {
    let disk = |durability| Kind::Disk(tempfile::tempdir().unwrap(), durability, Layout::Topics);
    let journal = |durability| Kind::Disk(tempfile::tempdir().unwrap(), durability, Layout::Journal);
    vec![
        Place { name: "memory", kind: Kind::Memory(Arc::new(MemoryStore::new())) },
        Place { name: "disk, fsync", kind: disk(Durability::Fsync) },
        Place { name: "disk, page cache", kind: disk(Durability::PageCache) },
        Place { name: "disk, a journal, fsync", kind: journal(Durability::Fsync) },
        Place { name: "disk, a journal, page cache", kind: journal(Durability::PageCache) },
        Place { name: "s3, a journal", kind: Kind::S3(s3_server::bucket().await, Layout::Journal) },
        Place { name: "s3, objects of topics", kind: Kind::S3(s3_server::bucket().await, Layout::Topics) },
    ]
}

/// The same with buckets of the other services. Their servers are slower, so few tests use them.
pub async fn places_and_clouds() -> Vec<Place> {
    let mut places = places().await;
    places.push(Place { name: "gs", kind: Kind::Cloud(gcs_server::bucket().await) });
    places.push(Place { name: "az", kind: Kind::Cloud(azure_server::bucket().await) });
    places
}

/// The run of a broker that objects come from unless a test says otherwise.
pub const WRITER_ID: u64 = 0x5eed;

/// An object of `batches` batches of `records` records each, every one told from the others by its bytes.
pub fn object(first_offset: u64, batches: u32, records: u32) -> Object {
    object_of(first_offset, batches, records, 20, WRITER_ID)
}

/// The same with records of about `record_bytes` bytes, from the run `writer_id`. It says that all before it was
/// confirmed.
pub fn object_of(first_offset: u64, batches: u32, records: u32, record_bytes: usize, writer_id: u64) -> Object {
    let stamp = Stamp {
        first_offset,
        appended_us: 2_000_000 + first_offset,
        writer_id,
        commit: first_offset,
        confirmed_next_offset: Some(first_offset),
    };
    stamped(stamp, batches, records, record_bytes)
}

/// The same with a given stamp.
pub fn stamped(stamp: Stamp, batches: u32, records: u32, record_bytes: usize) -> Object {
    let first_offset = stamp.first_offset;
    let mut builder = Builder::new(Codec::None, Limits::default());
    let mut bytes = Vec::new();
    for batch in 0..batches {
        for record in 0..records {
            let offset = first_offset + u64::from(batch * records + record);
            let mut record = format!("record {offset} ").into_bytes();
            record.resize(record_bytes.max(record.len()), b'.');
            builder.push(&record).unwrap();
        }
        builder.finish_into(1_000_000 + first_offset, 7, 1, &mut bytes).unwrap();
    }
    let mut checker = Checker::new(Limits::default());
    checker.push(&bytes).unwrap();
    let metas = checker.finish().unwrap();
    // In pieces whose borders respect nothing, as they come from a socket.
    let whole = bytes::Bytes::from(bytes);
    let parts: Vec<_> = (0..whole.len()).step_by(77).map(|at| whole.slice(at..(at + 77).min(whole.len()))).collect();
    Object::build(stamp, metas.into_iter(), &parts)
}

/// All bytes of an object.
pub fn bytes_of(object: &Object) -> Vec<u8> {
    object.parts.concat()
}

/// Names a listed object to its store.
pub fn at(listed: &Listed) -> ObjectAt {
    ObjectAt { first_offset: listed.first_offset, location: listed.location, bytes: listed.bytes }
}

/// Commits objects of three records each from offset 0 on; gives them.
pub async fn commit_some(store: &dyn Store, topic: &str, count: u64) -> Vec<Object> {
    let objects: Vec<_> = (0..count).map(|number| object(number * 3, 1, 3)).collect();
    for object in &objects {
        store.commit(topic, object.clone()).await.unwrap();
    }
    objects
}

/// Checks that the topic holds exactly these objects from the first one's offset on, and all their bytes.
pub async fn assert_holds(store: &dyn Store, topic: &str, objects: &[Object], name: &str) {
    let from = objects.first().map_or(0, |object| object.header.first_offset);
    let listed = store.list(topic, from).await.unwrap();
    let offsets: Vec<_> = listed.iter().map(|listed| listed.first_offset).collect();
    let expected: Vec<_> = objects.iter().map(|object| object.header.first_offset).collect();
    assert_eq!(offsets, expected, "{name}");
    for (listed, object) in listed.iter().zip(objects) {
        assert_eq!(listed.bytes, object.header.object_bytes, "{name}");
        if let Some(known) = listed.known {
            assert_eq!(known.next_offset, object.header.next_offset(), "{name}");
            assert_eq!(known.appended_us, object.header.appended_us, "{name}");
        }
        let bytes = store.get(topic, at(listed), 0..listed.bytes).await.unwrap();
        assert_eq!(bytes, bytes_of(object), "{name}: the object at offset {}", listed.first_offset);
    }
}
