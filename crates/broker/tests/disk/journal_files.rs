//! The files of a journal in a directory: segments, the lock, files of others, and a process's limit on open files.

use crate::journal::{append, broker, options, records};
use crate::support::{as_nobody, files, limit_files};
use rawline_broker::store::disk::{self, Durability};
use rawline_broker::{Broker, Kind, Partition, ReadError, ReadRequest};
use rawline_testkit::child::{assert_passes, child, child_dir};
use rustix::process::{Resource, getrlimit};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A journal with segments of one or two records of a test.
async fn small(dir: &Path, durability: Durability) -> Broker {
    broker(disk::open_with(dir, options(durability, 4096)).unwrap()).await
}

fn record(number: usize) -> String {
    format!("{number}: {}", "x".repeat(3000))
}

async fn append_some(partition: &Partition, numbers: std::ops::Range<usize>) {
    for number in numbers {
        append(partition, &record(number)).await.unwrap();
    }
}

async fn assert_holds(broker: &Broker, count: usize, what: &str) -> Arc<Partition> {
    let partition = broker.partition("t", 0).await.unwrap();
    let expected: Vec<_> = (0..count).map(record).collect();
    assert!(records(&partition).await == expected, "{what}");
    partition
}

#[tokio::test]
async fn a_journals_directory_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let first = small(dir.path(), Durability::Fsync).await;
    let refused = disk::open(dir.path(), Durability::Fsync).err().unwrap();
    assert_eq!(refused.kind, Kind::TellHuman);
    assert!(refused.message.contains(&dir.path().display().to_string()), "{refused}");
    first.close().await;
    small(dir.path(), Durability::Fsync).await.close().await;
}

#[tokio::test]
async fn cold_bytes_of_a_journal_are_read_from_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let broker = small(dir.path(), Durability::Fsync).await;
    append_some(&broker.partition_or_create("t", 0).await.unwrap(), 0..20).await;
    for path in files(&dir.path().join("journal"), "seg") {
        // The page cache drops what is on the disk and not mapped.
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
    for what in ["cold", "warm"] {
        assert_holds(&broker, 20, what).await;
    }
    broker.close().await;
}

#[tokio::test]
async fn files_of_others_next_to_a_journal_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let first = small(dir.path(), Durability::PageCache).await;
    append_some(&first.partition_or_create("t", 0).await.unwrap(), 0..20).await;
    first.close().await;
    let journal = dir.path().join("journal");
    let others: Vec<_> = ["", "merged", "snapshots"]
        .iter()
        .flat_map(|folder| {
            let names = ["notes.txt", "1.seg", "0000000000000000000x.seg", "00000000000000000001.seg~", "x.rws"];
            names.map(|name| journal.join(folder).join(name))
        })
        .collect();
    others.iter().for_each(|path| fs::write(path, b"not yours").unwrap());
    let again = small(dir.path(), Durability::PageCache).await;
    let partition = assert_holds(&again, 20, "among others' files").await;
    append_some(&partition, 20..30).await;
    drop(partition);
    assert_holds(&again, 30, "appended").await;
    again.close().await;
    others.iter().for_each(|path| assert_eq!(fs::read(path).unwrap(), b"not yours", "{}", path.display()));
}

/// Bits that a disk flips in a sealed segment cost the records in that place only.
#[tokio::test]
async fn a_damaged_piece_of_a_journal_costs_its_records_only() {
    let dir = tempfile::tempdir().unwrap();
    let first = small(dir.path(), Durability::Fsync).await;
    append_some(&first.partition_or_create("t", 0).await.unwrap(), 0..20).await;
    first.close().await;
    // The last byte that isn't padding is of a record.
    let segment = &files(&dir.path().join("journal"), "seg")[7];
    let bytes = fs::read(segment).unwrap();
    let position = bytes.iter().rposition(|byte| *byte == b'x').unwrap();
    File::options().write(true).open(segment).unwrap().write_all_at(b"y", position as u64).unwrap();

    let broker = small(dir.path(), Durability::Fsync).await;
    let partition = broker.partition("t", 0).await.unwrap();
    assert_eq!(partition.offsets(), 0..20);
    let mut damaged = Vec::new();
    for offset in 0..20 {
        let request = ReadRequest { offset, records_max: 1, bytes_max: 0, wait: Duration::ZERO, verify: true };
        match partition.read(&request).await {
            Ok(read) => assert_eq!((read.first_offset, read.end_offset), (offset, offset + 1)),
            Err(ReadError::Damaged { first_offset, .. }) => damaged.push(first_offset),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(damaged.len(), 1, "{damaged:?}");
    assert_eq!(append(&partition, "one more").await.unwrap(), 20);
    drop(partition);
    broker.close().await;
}

#[tokio::test]
async fn any_number_of_segments_of_a_journal_needs_few_files() {
    let dir = tempfile::tempdir().unwrap();
    assert_passes(child("journal_files::child_has_few_files", dir.path()));
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_has_few_files() {
    let Some(dir) = child_dir() else { return };
    limit_files(64, 64);
    let first = small(&dir, Durability::PageCache).await;
    append_some(&first.partition_or_create("t", 0).await.unwrap(), 0..200).await;
    assert!(files(&dir.join("journal"), "seg").len() >= 200);
    assert_holds(&first, 200, "read by the run that wrote it").await;
    first.close().await;
    let again = small(&dir, Durability::PageCache).await;
    let partition = assert_holds(&again, 200, "read by another run").await;
    append_some(&partition, 200..210).await;
    drop(partition);
    again.close().await;
}

#[tokio::test]
async fn a_journal_without_files_left_asks_to_wait() {
    let dir = tempfile::tempdir().unwrap();
    assert_passes(child("journal_files::child_runs_out_of_files", dir.path()));
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_runs_out_of_files() {
    let Some(dir) = child_dir() else { return };
    limit_files(64, 64);
    let broker = broker(disk::open_with(&dir, options(Durability::PageCache, 16 << 10)).unwrap()).await;
    let partition = broker.partition_or_create("t", 0).await.unwrap();
    append_some(&partition, 0..1).await;
    let mut others = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        others.push(file);
    }
    // What fits into the open segment.
    append_some(&partition, 1..2).await;
    let mut stored = 2;
    let error = loop {
        match append(&partition, &record(stored)).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 10, "a segment was created without a file");
    };
    assert_eq!(error.kind(), Kind::Wait, "{error}");
    assert!(error.to_string().contains("raise the number of files"), "{error}");
    drop(others);
    while append(&partition, &record(stored)).await.is_err() {}
    assert_holds(&broker, stored + 1, "with files again").await;
    drop(partition);
    broker.close().await;
}

#[tokio::test]
async fn a_segment_whose_name_is_not_durable_takes_no_record() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = child("journal_files::child_cannot_sync_a_name", dir.path());
    if as_nobody(&mut child, dir.path()) {
        assert_passes(child);
    }
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_cannot_sync_a_name() {
    let Some(dir) = child_dir() else { return };
    let broker = small(&dir, Durability::Fsync).await;
    let partition = broker.partition_or_create("t", 0).await.unwrap();
    append_some(&partition, 0..1).await;
    let journal = dir.join("journal");
    // Names can be created in it, and it can't be opened to be synced.
    fs::set_permissions(&journal, Permissions::from_mode(0o300)).unwrap();
    for _ in 0..3 {
        let refused = append(&partition, &record(1)).await.unwrap_err();
        assert!(refused.to_string().contains("journal"), "the name of the segment isn't synced: {refused}");
        assert_eq!(partition.offsets(), 0..1);
    }
    fs::set_permissions(&journal, Permissions::from_mode(0o700)).unwrap();
    while append(&partition, &record(1)).await.is_err() {}
    assert_holds(&broker, 2, "with the permission again").await;
    drop(partition);
    broker.close().await;
}

#[tokio::test]
async fn a_store_may_open_as_many_files_as_the_system_allows() {
    let dir = tempfile::tempdir().unwrap();
    assert_passes(child("journal_files::child_raises_its_limit", dir.path()));
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_raises_its_limit() {
    let Some(dir) = child_dir() else { return };
    let maximum = getrlimit(Resource::Nofile).maximum.unwrap_or(4096).min(4096);
    limit_files(50, maximum);
    let _store = disk::open(&dir, Durability::Fsync).unwrap();
    assert_eq!(getrlimit(Resource::Nofile).current, Some(maximum));
}
