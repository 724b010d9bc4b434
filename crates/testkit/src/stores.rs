//! Every store, each with a way to close and open it again, and objects of a journal to put in.

use crate::cloud_bucket::CloudBucket;
use crate::{azure_server, batches, gcs_server, s3_server};
use bytes::Bytes;
use rawline_batch::{Batch as ParsedBatch, Codec, Limits};
use rawline_broker::store::cache::Cache;
use rawline_broker::store::disk::{self, Durability, Options};
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::store::{MemoryStore, Storage, Store, StoreError};
use rawline_journal::{
    Batch, BatchKind, Header, Id, Index, Link, PartitionId, Piece, Place, Section, Source, build_index,
};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// Segments this short take a few objects of a test.
pub const SEGMENT_BYTES: u64 = 4096;

/// Few enough that a cache of the S3 store has to evict some.
const S3_CACHE_BYTES: u64 = 256 << 10;

/// More than a test appends.
const MEMORY_BYTES: u64 = 1 << 30;

/// The place of one kind of store's objects during a test.
pub struct Home {
    pub name: &'static str,
    kind: Kind,
}

enum Kind {
    Memory(Arc<MemoryStore>),
    Disk(TempDir, Durability),
    S3(s3_server::Bucket),
    Cloud(CloudBucket),
}

impl Home {
    /// Opens the store. An earlier opened store must have been dropped.
    pub async fn open(&self) -> Storage {
        match &self.kind {
            // Its objects live as long as the place, as those of a bucket do.
            Kind::Memory(journal) => Storage::new(journal.clone()),
            Kind::Disk(dir, durability) => {
                let options = Options { durability: *durability, segment_bytes: SEGMENT_BYTES };
                disk::open_with(dir.path(), options).unwrap()
            }
            // Every time with an empty cache, like a new machine.
            Kind::S3(bucket) => {
                let cache = Cache::open(bucket.cache_dir(), S3_CACHE_BYTES).unwrap();
                let config = S3Config::new(&format!("s3://{}/topics", bucket.name), cache).unwrap();
                let config = S3Config { variables: bucket.variables(), has_clock: false, ..config };
                s3::open(config).await.unwrap()
            }
            Kind::Cloud(bucket) => {
                let cache = Cache::open(bucket.cache_dir(), S3_CACHE_BYTES).unwrap();
                let config = S3Config::new(&format!("{}/topics", bucket.url), cache).unwrap();
                let config = S3Config { variables: bucket.variables.clone(), has_clock: false, ..config };
                s3::open(config).await.unwrap()
            }
        }
    }

    /// The folder that has its files, if others can reach them.
    pub fn dir(&self) -> Option<PathBuf> {
        match &self.kind {
            Kind::Disk(dir, _) => Some(dir.path().to_owned()),
            Kind::S3(bucket) => Some(bucket.file("topics")),
            Kind::Memory(_) | Kind::Cloud(_) => None,
        }
    }

    /// Flips a bit of the first byte of this text in the file that has it. False if there is no such file.
    pub fn flip(&self, text: &[u8]) -> bool {
        let mut folders: Vec<PathBuf> = self.dir().into_iter().collect();
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = std::fs::read(&path).unwrap();
                if let Some(at) = bytes.windows(text.len()).position(|found| found == text) {
                    // In place: a store may have the file mapped.
                    let file = File::options().write(true).open(path).unwrap();
                    file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
                    return true;
                }
            }
        }
        false
    }

    /// Whether several brokers may have it open at once; a directory and memory have one owner.
    pub fn is_shared(&self) -> bool {
        matches!(self.kind, Kind::S3(_) | Kind::Cloud(_))
    }
}

/// An empty storage in memory.
pub fn in_memory() -> Storage {
    Storage::in_memory(MEMORY_BYTES)
}

/// A new, empty place for each store.
pub async fn places() -> Vec<Home> {
    let disk = |durability| Kind::Disk(tempfile::tempdir().unwrap(), durability);
    vec![
        Home { name: "memory", kind: Kind::Memory(Arc::new(MemoryStore::of_one(MEMORY_BYTES))) },
        Home { name: "disk, fsync", kind: disk(Durability::Fsync) },
        Home { name: "disk, page cache", kind: disk(Durability::PageCache) },
        Home { name: "s3", kind: Kind::S3(s3_server::bucket().await) },
    ]
}

/// The same with buckets of the other services, and a directory bucket. Their servers are slower, so few tests use
/// them.
pub async fn places_and_clouds() -> Vec<Home> {
    let mut places = places().await;
    places.push(Home { name: "s3 express", kind: Kind::S3(s3_server::directory_bucket().await) });
    places.push(Home { name: "gs", kind: Kind::Cloud(gcs_server::bucket().await) });
    places.push(Home { name: "az", kind: Kind::Cloud(azure_server::bucket().await) });
    places
}

/// The run of a broker that objects come from unless a test says otherwise.
pub const RUN: u64 = 0x5eed;

/// The only partition of these objects.
const PARTITION: PartitionId = PartitionId { topic: 1, number: 0 };

/// An object of a journal with one piece.
#[derive(Clone)]
pub struct Object {
    pub number: u64,
    pub piece: Piece,
    /// The bytes of the whole object.
    pub bytes: Bytes,
    /// The batches of the piece.
    pub batches: Bytes,
}

/// The object with this number: of `batches` batches of `records` records each, which begin at 1,000 times the number.
pub fn object(number: u64, batches: u32, records: u32) -> Object {
    object_of(RUN, number, batches, records, 20)
}

/// The same of another run, with records of about `record_bytes` bytes.
pub fn object_of(run: u64, number: u64, batches: u32, records: u32, record_bytes: usize) -> Object {
    let first_offset = number * 1000;
    let record = |offset: u64| {
        let mut record = format!("record {offset} of {run} ").into_bytes();
        record.resize(record_bytes.max(record.len()), b'.');
        record
    };
    let offsets = |batch: u32| (0..records).map(move |n| first_offset + u64::from(batch * records + n));
    let batches: Vec<Vec<u8>> = (0..batches)
        .map(|batch| batches::batch(Codec::None, &offsets(batch).map(record).collect::<Vec<_>>()))
        .collect();
    let described: Vec<Batch> = batches
        .iter()
        .map(|bytes| Batch {
            kind: BatchKind::Rawline,
            records,
            bytes: bytes.len() as u32,
            crc32c: ParsedBatch::parse(bytes, &Limits::FORMAT).unwrap().header().crc32c,
            continues: false,
            producer: None,
            max_timestamp_us: 0,
            transaction: None,
        })
        .collect();
    let prev = if number == 1 { Id::ROOT } else { Id { run, commit: number - 1 } };
    let link = Link { number, id: Id { run, commit: number }, prev, in_flight: 0 };
    let section = Section { partition: PARTITION, first_offset };
    let index = build_index(link, 5, &[], &[(section, &described)]);
    let (_, piece, _) = Index::parse(&index).unwrap().pieces().next().unwrap();
    let batches = Bytes::from(batches.concat());
    let bytes = Bytes::from([&index[..], &batches].concat());
    Object { number, piece, bytes, batches }
}

impl Object {
    pub fn source(&self) -> Source {
        Source::Journal(self.number)
    }

    /// Where its batches are.
    pub fn place(&self) -> Place {
        self.piece.place
    }

    /// Its batches, as a store has them.
    pub async fn read(&self, store: &dyn Store) -> Result<Bytes, StoreError> {
        store.bytes(self.place(), self.place().batches()).await
    }

    /// In pieces whose borders respect nothing but the index, as they come from a socket.
    pub fn parts(&self) -> Vec<Bytes> {
        let index_bytes = self.bytes.len() - self.batches.len();
        let pieces = (0..self.batches.len()).step_by(77);
        let pieces = pieces.map(|at| self.batches.slice(at..(at + 77).min(self.batches.len())));
        std::iter::once(self.bytes.slice(..index_bytes)).chain(pieces).collect()
    }
}

/// Creates an object in a storage's journal, which must not have it.
pub async fn create(storage: &Storage, object: &Object) {
    let created = storage.journal().create(object.source(), object.parts()).await;
    assert!(created.created().is_some(), "object {}: {created:?}", object.number);
}

/// Creates objects of three records each, from number 1 on; gives them.
pub async fn create_some(storage: &Storage, count: u64) -> Vec<Object> {
    let objects: Vec<_> = (1..=count).map(|number| object(number, 1, 3)).collect();
    for object in &objects {
        create(storage, object).await;
    }
    objects
}

/// Checks that the storage's journal has these objects with all bytes of their pieces, and none after them.
pub async fn assert_holds(storage: &Storage, objects: &[Object], name: &str) {
    let journal = storage.journal();
    for object in objects {
        let index = journal.index(object.source()).await.unwrap().found.unwrap().index;
        assert_eq!(index.header, Header::parse(&object.bytes).unwrap(), "{name}");
        let bytes = object.read(&**journal).await.unwrap();
        assert_eq!(bytes, object.batches, "{name}: object {}", object.number);
    }
    let next = objects.last().map_or(1, |object| object.number + 1);
    assert_eq!(journal.index(Source::Journal(next)).await.unwrap().found, None, "{name}: object {next}");
}
