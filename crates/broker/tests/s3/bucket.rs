//! What the store keeps in a bucket: keys, prefixes, listings, deletion from the front.

use crate::http::{Act, Proxy};
use crate::machine::{CACHE_BYTES, Machine, first, key};
use rawline_broker::store::{Listed, Store};
use rawline_testkit::s3_server::bucket;
use rawline_testkit::stores::{assert_holds, at, bytes_of, commit_some, object};
use std::fs;
use std::sync::Arc;

#[tokio::test]
async fn a_bucket_is_enough() {
    let bucket = bucket().await;
    let objects = commit_some(&Machine::new(&bucket).await.store, "t", 5).await;
    assert_eq!(fs::read(bucket.file(&key(3))).unwrap(), bytes_of(&objects[1]));

    let other = Machine::new(&bucket).await;
    assert_eq!(other.store.topics().await.unwrap(), ["t"]);
    assert_holds(&other.store, "t", &objects, "s3").await;
    let listed = other.list().await;
    assert!(listed[..4].iter().all(|listed| listed.known.is_none()), "only the newest object's header is read");
    assert_eq!(listed[4].known.unwrap().next_offset, 15);
    assert_eq!(other.store.list("t", 4).await.unwrap(), listed[2..]);
    assert_eq!(other.store.list("t", 13).await.unwrap(), []);
    assert_eq!(other.store.list("none", 0).await.unwrap(), []);
    assert_eq!(other.store.get("t", at(&listed[2]), 70..90).await.unwrap(), bytes_of(&objects[2])[70..90]);
    // The probe leaves nothing in the bucket.
    let probes = fs::read_dir(bucket.file("some/prefix/.rawline-probe"));
    assert!(probes.map_or(true, |mut files| files.next().is_none()));
}

#[tokio::test]
async fn a_bucket_without_prefix_holds_topics_at_its_root() {
    let bucket = bucket().await;
    let machine = Machine::with(&bucket, CACHE_BYTES, |config| config.address.prefix.clear()).await;
    let objects = commit_some(&machine.store, "t", 2).await;
    assert!(bucket.file("t/00000000000000000003.rwl").is_file());
    assert_eq!(machine.store.topics().await.unwrap(), ["t"]);
    assert_holds(&machine.store, "t", &objects, "s3").await;
}

#[tokio::test]
async fn topics_are_told_apart_by_whole_names() {
    let bucket = bucket().await;
    let store = Arc::new(Machine::new(&bucket).await);
    for topic in ["t", "t2", "t.x", "T"] {
        store.store.commit(topic, object(0, 1, 3)).await.unwrap();
    }
    let mut topics = store.store.topics().await.unwrap();
    topics.sort();
    assert_eq!(topics, ["T", "t", "t.x", "t2"]);
    assert_eq!(store.list().await.len(), 1);
}

#[tokio::test]
async fn lists_of_several_pages_are_whole() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let newest = object(5000, 1, 3);
    machine.store.commit("t", newest).await.unwrap();
    for first_offset in 0..2100 {
        fs::write(bucket.file(&key(first_offset)), b"not read, only listed").unwrap();
    }
    let expected: Vec<u64> = (0..2100).chain([5000]).collect();
    let offsets = |listed: Vec<Listed>| listed.iter().map(|listed| listed.first_offset).collect::<Vec<_>>();
    assert_eq!(offsets(machine.list().await), expected);
    assert_eq!(offsets(machine.store.list("t", 1999).await.unwrap()), expected[1999..]);
}

#[tokio::test]
async fn a_truncated_listing_does_not_make_a_topic_shorter() {
    let bucket = bucket().await;
    let objects = commit_some(&Machine::new(&bucket).await.store, "t", 6).await;
    // One listing ends early, and one has nothing at all.
    for dropped in [2, 6] {
        let rule = first(1, |request| request.target.contains("list-type"), Act::DropKeys(dropped));
        let proxy = Proxy::start(bucket.address, rule).await;
        let machine = Machine::through(&bucket, proxy.address).await;
        assert_holds(&machine.store, "t", &objects, &format!("{dropped} dropped")).await;
    }
}

#[tokio::test]
async fn keys_that_are_not_ours_are_left_alone() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let objects = commit_some(&machine.store, "t", 3).await;
    let strange =
        ["3.rwl", "00000000000000000003.rwl.bak", "+0000000000000000007.rwl", "99999999999999999999.rwl", "x/y", "zz"];
    for name in strange {
        let file = bucket.file("some/prefix/t").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, b"?").unwrap();
    }
    assert_holds(&machine.store, "t", &objects, "s3").await;
    machine.store.delete_before("t", 9).await.unwrap();
    assert!(strange.iter().all(|name| bucket.file("some/prefix/t").join(name).is_file()));
}

#[tokio::test]
async fn deleting_the_front_deletes_objects_and_copies_and_keeps_the_newest() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let objects = commit_some(&machine.store, "t", 4).await;
    assert_holds(&machine.store, "t", &objects, "s3").await;
    assert_eq!(machine.store.delete_before("t", 5).await.unwrap(), 3);
    assert!(!bucket.file(&key(0)).exists() && bucket.file(&key(3)).exists());
    assert_eq!(machine.copies().len(), 3);
    assert_eq!(machine.store.delete_before("t", 100).await.unwrap(), 9);
    assert_holds(&machine.store, "t", &objects[3..], "s3").await;
    assert_eq!(machine.copies().len(), 1);
    assert_eq!(machine.store.delete_before("none", 7).await.unwrap(), 7);
}
