//! Objects that were damaged or replaced in the bucket.

use crate::machine::{Machine, flip_byte, key};
use rawline_broker::Kind;
use rawline_broker::store::Store;
use rawline_testkit::s3_server::bucket;
use rawline_testkit::stores::{at, bytes_of, commit_some, object_of};
use std::fs;

#[tokio::test]
async fn a_damaged_object_is_never_served() {
    let bucket = bucket().await;
    let objects = commit_some(&Machine::new(&bucket).await.store, "t", 3).await;
    let machine = Machine::new(&bucket).await;
    let listed = machine.list().await;
    let last = objects[0].header.object_bytes - 9;
    for position in [0, 20, 70, 130, last] {
        flip_byte(&bucket.file(&key(0)), position);
        let error = machine.read(&listed[0]).await.unwrap_err();
        assert_eq!(error.kind, Kind::TellHuman, "{error}");
        assert!(error.message.contains(&key(0)) && error.message.contains("restore it"), "{error}");
        let header = machine.store.get("t", at(&listed[0]), 0..64).await;
        assert_eq!(header.is_err(), position < 88, "a header is served only with the index that vouches for it");
        assert_eq!(machine.copies().len(), 0);
        flip_byte(&bucket.file(&key(0)), position);
    }
    // Another object under its name, sound in itself.
    fs::write(bucket.file(&key(0)), bytes_of(&objects[1])).unwrap();
    assert!(machine.read(&listed[0]).await.is_err());
    fs::write(bucket.file(&key(0)), &bytes_of(&objects[0])[..100]).unwrap();
    assert!(machine.read(&listed[0]).await.unwrap_err().message.contains("it has 100 bytes"));
    fs::remove_file(bucket.file(&key(0))).unwrap();
    assert!(machine.read(&listed[0]).await.unwrap_err().message.contains("is gone"));
    fs::write(bucket.file(&key(0)), bytes_of(&objects[0])).unwrap();
    assert_eq!(machine.read(&listed[0]).await.unwrap(), bytes_of(&objects[0]));
}

#[tokio::test]
async fn a_topic_whose_newest_object_is_damaged_does_not_open() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    commit_some(&machine.store, "t", 3).await;
    let whole = fs::read(bucket.file(&key(6))).unwrap();
    for damage in [b"".as_slice(), b"?", &whole[..100], &[whole.as_slice(), b"more"].concat()] {
        fs::write(bucket.file(&key(6)), damage).unwrap();
        let error = machine.store.list("t", 0).await.unwrap_err();
        assert!(error.kind == Kind::TellHuman && error.message.contains(&key(6)), "{error}");
    }
    fs::write(bucket.file(&key(6)), whole).unwrap();
    assert_eq!(machine.list().await.len(), 3);
}

#[tokio::test]
async fn a_bucket_that_was_emptied_and_filled_again_is_not_read_from_old_copies() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let old = object_of(0, 1, 3, 20, 1);
    machine.store.commit("t", old.clone()).await.unwrap();
    assert_eq!(machine.read(&machine.list().await[0]).await.unwrap(), bytes_of(&old));
    fs::remove_dir_all(bucket.file("some")).unwrap();
    let new = object_of(0, 1, 3, 20, 2);
    Machine::new(&bucket).await.store.commit("t", new.clone()).await.unwrap();
    let machine = machine.again(&bucket, bucket.address).await;
    assert_eq!(machine.read(&machine.list().await[0]).await.unwrap(), bytes_of(&new));
}
