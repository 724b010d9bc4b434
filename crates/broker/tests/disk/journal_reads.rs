//! Reads of many small objects in the journal of a directory.

use crate::journal::{append, broker, options};
use rawline_broker::limits::READ_OBJECTS_MAX;
use rawline_broker::store::disk::{self, Durability};
use rawline_broker::{Kind, Partition, Piece, ReadAnswer, ReadError, ReadRequest};
use rawline_testkit::batches::records_of;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Fewer than are merged.
const OBJECTS: u64 = 900;

fn text(number: u64) -> String {
    format!("record number {number:05}, {}", "-".repeat(number as usize % 90))
}

/// A partition of objects of one record each, in several segments.
async fn partition(dir: &Path) -> Arc<Partition> {
    let store = disk::open_with(dir, options(Durability::PageCache, 64 << 10)).unwrap();
    let broker = broker(store).await;
    let partition = broker.partition_or_create("t", 0).await.unwrap();
    for number in 0..OBJECTS {
        assert_eq!(append(&partition, &text(number)).await.unwrap(), number);
    }
    partition
}

fn request(offset: u64, records_max: u64, bytes_max: u64) -> ReadRequest {
    ReadRequest { offset, records_max, bytes_max, wait: Duration::ZERO, verify: false }
}

fn texts(answer: &ReadAnswer) -> Vec<String> {
    let batches = answer.pieces.iter().map(|piece| match piece {
        Piece::Whole(batches) => batches,
        Piece::Slice { .. } => panic!("{piece:?}"),
    });
    batches.flat_map(|batches| records_of(batches)).map(|record| String::from_utf8(record).unwrap()).collect()
}

/// Flips a bit of this record in the segment that holds it.
fn flip(dir: &Path, number: u64) {
    let text = text(number).into_bytes();
    let segments = crate::support::files(&dir.join("journal"), "seg");
    let found = segments.iter().find_map(|path| {
        let bytes = std::fs::read(path).unwrap();
        let at = bytes.windows(text.len()).position(|window| window == text)?;
        Some((path, at, bytes[at]))
    });
    let (path, at, byte) = found.unwrap();
    File::options().write(true).open(path).unwrap().write_all_at(&[byte ^ 1], at as u64).unwrap();
}

#[tokio::test]
async fn one_read_takes_small_objects_within_its_limits() {
    let dir = tempfile::tempdir().unwrap();
    let partition = partition(dir.path()).await;
    // When they are first read they are verified, then they aren't.
    for round in ["first", "second"] {
        let all = partition.read(&request(0, 0, 0)).await.unwrap();
        assert_eq!((all.first_offset, all.end_offset, all.next_offset), (0, OBJECTS, OBJECTS), "{round}");
        assert_eq!(texts(&all), (0..OBJECTS).map(text).collect::<Vec<_>>(), "{round}");
    }
    for (offset, records_max) in [(0, 1), (3, 2), (5, 512), (5, 513), (100, 700), (OBJECTS - 1, 5)] {
        let read = partition.read(&request(offset, records_max, 0)).await.unwrap();
        let end = OBJECTS.min(offset + records_max);
        assert_eq!((read.first_offset, read.end_offset), (offset, end));
        assert_eq!(texts(&read), (offset..end).map(text).collect::<Vec<_>>());
    }
    for bytes_max in [1, 100, 1000, 20_000] {
        let read = partition.read(&request(7, 0, bytes_max)).await.unwrap();
        let texts = texts(&read);
        let bytes: usize = texts.iter().map(String::len).sum();
        assert!(read.end_offset == 8 || bytes as u64 <= bytes_max, "{bytes} bytes of at most {bytes_max}");
        // A batch's padding counts, and the next record doesn't fit.
        assert!((bytes + 8 * texts.len() + 130) as u64 > bytes_max, "{bytes} bytes of at most {bytes_max}");
    }
}

#[tokio::test]
async fn damage_ends_a_run_of_small_objects() {
    let dir = tempfile::tempdir().unwrap();
    let partition = partition(dir.path()).await;
    flip(dir.path(), 300);
    let read = partition.read(&request(0, 0, 0)).await.unwrap();
    assert_eq!(read.end_offset, 300, "what precedes the damage is served");
    assert_eq!(texts(&read), (0..300).map(text).collect::<Vec<_>>());
    let error = partition.read(&request(300, 0, 0)).await.unwrap_err();
    assert!(matches!(error, ReadError::Damaged { first_offset: 300, .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::TellHuman);
    assert_eq!(partition.read(&request(301, 0, 0)).await.unwrap().end_offset, OBJECTS);
    // After the first read, batches have their checksums with them; who takes them apart has them verified again.
    flip(dir.path(), 500);
    assert_eq!(partition.read(&request(301, 0, 0)).await.unwrap().end_offset, OBJECTS);
    let verified = ReadRequest { verify: true, ..request(301, 0, 0) };
    assert_eq!(partition.read(&verified).await.unwrap().end_offset, 500);
}

#[tokio::test]
async fn records_that_are_trimmed_are_in_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let partition = partition(dir.path()).await;
    partition.trim(450).await.unwrap();
    let error = partition.read(&request(449, 0, 0)).await.unwrap_err();
    assert!(matches!(error, ReadError::Deleted { offset: 449, first_offset: 450 }), "{error:?}");
    assert_eq!(partition.read(&request(450, 0, 0)).await.unwrap().end_offset, OBJECTS);
}

const _: () = assert!(OBJECTS < READ_OBJECTS_MAX as u64, "one read visits them all");
