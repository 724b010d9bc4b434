//! Where a directory keeps the partitions of a topic.

use crate::support::small;
use rawline_broker::store::Store;
use rawline_broker::store::disk::Durability;
use rawline_broker::{Broker, Config, SystemClock};
use rawline_testkit::batches::{batch, received};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All files below a directory, by their paths in it.
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { left.push(path) } else { found.push(path.strip_prefix(dir).unwrap().to_owned()) }
        }
    }
    found.sort();
    found
}

async fn open(dir: &Path) -> Broker {
    let store: Arc<dyn Store> = Arc::new(small(dir, Durability::Fsync));
    Broker::open(store, Arc::new(SystemClock), Config::new(1)).await.unwrap()
}

async fn append(broker: &Broker, number: u64) -> u64 {
    let partition = broker.partition("t", number).await.unwrap();
    let appended = partition.append(received(&batch(rawline_batch::Codec::None, &[b"record".to_vec()]))).await;
    appended.unwrap().next_offset
}

#[tokio::test]
async fn partitions_lie_in_the_directory_of_their_topic_once_they_have_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let topics = dir.path().join("topics");
    let broker = open(dir.path()).await;
    let partitions = serde_json::from_value(json!({ "partitions": 12 })).unwrap();
    broker.create_topic("t", partitions).await.unwrap();
    assert_eq!(broker.topic("t").await.unwrap().all_offsets().await.unwrap(), vec![0..0; 12]);
    let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
    let (settings, segment) = ("t/settings.json", "00000000000000000000.seg");
    assert_eq!(files_below(&topics), paths(&[settings]), "idle partitions have no file");
    assert_eq!(std::fs::read_to_string(topics.join(settings)).unwrap(), r#"{"partitions":12}"#);
    assert_eq!(append(&broker, 11).await, 1);
    let eleventh = format!("t/partitions/11/{segment}");
    assert_eq!(files_below(&topics), paths(&[&eleventh, settings]));
    assert_eq!(append(&broker, 0).await, 1);
    assert_eq!(files_below(&topics), paths(&[&format!("t/{segment}"), &eleventh, settings]));
    broker.partition("t", 11).await.unwrap().trim(1).await.unwrap();
    let trimmed = std::fs::read_to_string(topics.join("t/partitions/11/settings.json")).unwrap();
    assert_eq!(trimmed, r#"{"first_offset":1}"#);
    broker.close().await;
    let broker = open(dir.path()).await;
    assert_eq!((append(&broker, 11).await, append(&broker, 0).await), (2, 2));
    // The deletion is one rename, whatever partitions were opened, and leaves nothing.
    broker.delete_topic("t").await.unwrap();
    assert_eq!(files_below(&topics), paths(&[]));
    assert_eq!(std::fs::read_dir(&topics).unwrap().count(), 0);
}

/// A directory of a version without partitions is one of topics with one partition, to which more can be added.
#[tokio::test]
async fn a_directory_without_partitions_opens_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let objects = rawline_testkit::stores::commit_some(&small(dir.path(), Durability::Fsync), "t", 40).await;
    let records = objects.last().unwrap().header.next_offset();
    std::fs::write(dir.path().join("topics/t/settings.json"), r#"{"first_offset":7,"payload":"value"}"#).unwrap();
    let broker = open(dir.path()).await;
    let topic = broker.topic("t").await.unwrap();
    assert_eq!((topic.partitions(), topic.offsets()), (1, 7..records));
    topic.change_settings(serde_json::from_value(json!({ "partitions": 2 })).unwrap()).await.unwrap();
    assert_eq!((append(&broker, 0).await, append(&broker, 1).await), (records + 1, 1));
    assert_eq!(topic.all_offsets().await.unwrap(), [7..records + 1, 0..1]);
}

/// What the directory of a partition has, besides its records, may come from anybody.
#[tokio::test]
async fn a_partition_that_cannot_be_recovered_leaves_the_others_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let broker = open(dir.path()).await;
    let partitions = serde_json::from_value(json!({ "partitions": 3 })).unwrap();
    broker.create_topic("t", partitions).await.unwrap();
    for number in 0..3 {
        append(&broker, number).await;
    }
    broker.close().await;
    let settings = |number: u32| dir.path().join(format!("topics/t/partitions/{number}/settings.json"));
    std::fs::write(settings(1), r#"{"first_offset":"x"}"#).unwrap();
    // Nobody reads this.
    std::fs::write(settings(2), r#"{"partitions":7}"#).unwrap();
    let broker = open(dir.path()).await;
    let error = broker.partition("t", 1).await.err().unwrap().to_string();
    assert!(error.contains("t/1") && error.contains("first_offset"), "{error}");
    assert_eq!((append(&broker, 0).await, append(&broker, 2).await), (2, 2));
    let topic = broker.topic("t").await.unwrap();
    assert!(topic.all_offsets().await.is_err());
    topic.open_partitions().await;
    assert_eq!((topic.partitions(), topic.summary().objects), (3, 4));
    std::fs::remove_file(settings(1)).unwrap();
    assert_eq!(append(&broker, 1).await, 2);
}

/// A topic whose number of partitions can't be known isn't served: keys would lead to other partitions.
#[tokio::test]
async fn a_damaged_number_of_partitions_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).await);
    std::fs::create_dir(dir.path().join("topics/t")).unwrap();
    std::fs::write(dir.path().join("topics/t/settings.json"), r#"{"partitions":"four"}"#).unwrap();
    let broker = open(dir.path()).await;
    let error = broker.topic("t").await.err().unwrap().to_string();
    assert!(error.contains("settings.json") && error.contains("1 to 1024"), "{error}");
}
