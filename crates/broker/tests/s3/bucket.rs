//! What the store keeps in a bucket: keys and prefixes.

use crate::machine::{CACHE_BYTES, Machine, key};
use rawline_testkit::s3_server::buckets;
use rawline_testkit::stores::{assert_holds, create_some};
use std::fs;

#[tokio::test]
async fn a_bucket_is_enough() {
    for bucket in buckets().await {
        let objects = create_some(&Machine::new(&bucket).await.store, 5).await;
        assert_eq!(fs::read(bucket.file(&key(2))).unwrap(), objects[1].bytes);
        assert_holds(&Machine::new(&bucket).await.store, &objects, "s3").await;
        // The probe leaves nothing in the bucket.
        let probes = fs::read_dir(bucket.file("some/prefix/.rawline-probe"));
        assert!(probes.map_or(true, |mut files| files.next().is_none()));
    }
}

#[tokio::test]
async fn a_bucket_without_prefix_holds_the_storage_at_its_root() {
    for bucket in buckets().await {
        let machine = Machine::with(&bucket, CACHE_BYTES, |config| config.address.prefix.clear()).await;
        let objects = create_some(&machine.store, 2).await;
        assert!(bucket.file("storage.json").is_file());
        assert!(bucket.file(".journal/0000/00000000000000000002.rwj").is_file());
        assert_holds(&machine.store, &objects, "s3").await;
    }
}

#[tokio::test]
async fn lists_of_several_pages_are_whole() {
    for bucket in buckets().await {
        let machine = Machine::new(&bucket).await;
        let objects = create_some(&machine.store, 1).await;
        let folder = bucket.file("some/prefix/.journal/0000");
        for number in 2..=2500 {
            fs::write(folder.join(format!("{number:020}.rwj")), &objects[0].bytes).unwrap();
        }
        fs::write(folder.join("notes.txt"), b"not ours").unwrap();
        let listed = machine.store.journal().list().await.unwrap().found.objects;
        assert_eq!(listed.len(), 2500);
        let from = machine.store.journal().list_from(2400).await.unwrap().objects;
        let mut from: Vec<u64> = from.iter().map(|key| key.number).collect();
        from.sort_unstable();
        assert_eq!(from, (2400..=2500).collect::<Vec<_>>());
    }
}
