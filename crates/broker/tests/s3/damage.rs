//! Objects that were damaged or replaced in the bucket.

use crate::machine::{Machine, flip_byte, key};
use rawline_broker::Kind;
use rawline_testkit::s3_server::bucket;
use rawline_testkit::stores::{RUN, create, create_some, object_of};
use std::fs;

#[tokio::test]
async fn a_damaged_object_is_never_served() {
    let bucket = bucket().await;
    let objects = create_some(&Machine::new(&bucket).await.store, 3).await;
    let (machine, file) = (Machine::new(&bucket).await, bucket.file(&key(1)));
    // In the index. What readers find in batches is theirs to report.
    for position in [0, 20, 70, 130] {
        flip_byte(&file, position);
        let error = machine.read(&objects[0]).await.unwrap_err();
        assert_eq!(error.kind, Kind::TellHuman, "{error}");
        assert!(error.message.contains(&key(1)) && error.message.contains("restore it"), "{error}");
        assert_eq!(machine.copies().len(), 0);
        flip_byte(&file, position);
    }
    // Another object under its name, sound in itself.
    fs::write(&file, &objects[1].bytes).unwrap();
    assert!(machine.read(&objects[0]).await.is_err());
    fs::write(&file, &objects[0].bytes[..100]).unwrap();
    assert!(machine.read(&objects[0]).await.unwrap_err().message.contains("it has 100 bytes"));
    fs::remove_file(&file).unwrap();
    assert!(machine.read(&objects[0]).await.unwrap_err().message.contains("is gone"));
    fs::write(&file, &objects[0].bytes).unwrap();
    assert_eq!(machine.read(&objects[0]).await.unwrap(), objects[0].batches);
}

#[tokio::test]
async fn a_bucket_that_was_emptied_and_filled_again_is_not_read_from_old_copies() {
    let bucket = bucket().await;
    let machine = Machine::new(&bucket).await;
    let (old, new) = (object_of(RUN, 1, 1, 3, 30), object_of(RUN + 1, 1, 1, 3, 30));
    create(&machine.store, &old).await;
    assert_eq!(machine.read(&old).await.unwrap(), old.batches);
    fs::remove_dir_all(bucket.file("some")).unwrap();
    create(&Machine::new(&bucket).await.store, &new).await;
    let machine = machine.again(&bucket, bucket.address).await;
    assert_eq!(machine.read(&new).await.unwrap(), new.batches);
}
