//! What a killed process, a full disk and other limits of a process leave of a directory.

use crate::support::{as_nobody, assert_passes, child, child_dir, files, fill_a_disk, limit_files, segments, small};
use rawline_broker::Kind;
use rawline_broker::store::disk::{DiskStore, Durability};
use rawline_broker::store::{CommitError, Store};
use rawline_testkit::stores::{WRITER_ID, assert_holds, at, bytes_of, object_of};
use rustix::process::{Resource, getrlimit};
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[tokio::test]
async fn a_kill_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for commits in [1, 7, 40, 100, 13] {
        let mut child =
            child("process::child_commits_until_killed", dir.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let next_of = |line: String| line.strip_prefix("acknowledged ")?.parse::<u64>().ok();
        for _ in 0..commits {
            acknowledged = lines.by_ref().find_map(next_of).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it had answered before it died counts too.
        acknowledged = lines.filter_map(next_of).last().unwrap_or(acknowledged);

        let store = small(dir.path(), Durability::Fsync);
        let listed = store.list("t", 0).await.unwrap();
        let mut next = 0;
        for listed in &listed {
            assert_eq!(listed.first_offset, next);
            let bytes = store.get("t", at(listed), 0..listed.bytes).await.unwrap();
            let header = rawline_broker::object::verify(&bytes).unwrap();
            next = header.next_offset();
            assert_eq!(bytes, bytes_of(&object_of(listed.first_offset, 1, 3, 100, header.writer_id)));
        }
        assert!(next >= acknowledged, "{next} recovered, {acknowledged} acknowledged");
    }
    assert!(files(&dir.path().join("topics/t"), "seg").len() > 5);
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_commits_until_killed() {
    let Some(dir) = child_dir() else { return };
    let store = small(&dir, Durability::Fsync);
    let mut next = store.list("t", 0).await.unwrap().last().map_or(0, |listed| listed.known.unwrap().next_offset);
    let writer_id = u64::from(std::process::id());
    loop {
        let object = object_of(next, 1, 3, 100, writer_id);
        store.commit("t", object.clone()).await.unwrap();
        next = object.header.next_offset();
        // One write a line, straight to the pipe.
        std::io::stdout().write_all(format!("acknowledged {next}\n").as_bytes()).unwrap();
    }
}

#[tokio::test]
async fn a_full_disk_passes() {
    fill_a_disk("process::child_fills_its_disk", "1m");
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_fills_its_disk() {
    let Some(dir) = child_dir() else { return };
    let options = segments(64 << 10);
    let store = DiskStore::open_with(&dir, options).unwrap();
    let mut objects = Vec::new();
    let mut next = 0;
    let error = loop {
        let object = object_of(next, 1, 3, 3000, WRITER_ID);
        match store.commit("t", object.clone()).await {
            Ok(_) => {}
            Err(CommitError::Store(error)) => break error,
            Err(error) => panic!("{error}"),
        }
        next = object.header.next_offset();
        objects.push(object);
        assert!(objects.len() < 1000, "the disk does not fill");
    };
    assert_eq!(error.kind, Kind::Wait, "{error}");
    assert!(error.message.contains("free disk space"), "{error}");
    assert!(objects.len() > 20);
    assert_holds(&store, "t", &objects, "when full").await;
    assert!(store.commit("t", object_of(next, 1, 3, 3000, WRITER_ID)).await.is_err(), "still full");

    // A start with a full disk works, and so does reading.
    drop(store);
    let store = DiskStore::open_with(&dir, options).unwrap();
    assert_holds(&store, "t", &objects, "opened when full").await;

    let left = store.delete_before("t", next / 2).await.unwrap();
    assert!(left > 0);
    objects.retain(|object| object.header.first_offset >= left);
    let object = object_of(next, 2, 2, 2000, WRITER_ID + 1);
    store.commit("t", object.clone()).await.unwrap();
    objects.push(object);
    assert_holds(&store, "t", &objects, "after space was freed").await;
    drop(store);
    assert_holds(&DiskStore::open_with(&dir, options).unwrap(), "t", &objects, "opened again").await;
    println!("the disk was full");
}

#[tokio::test]
async fn any_number_of_segments_and_topics_needs_few_files() {
    let dir = tempfile::tempdir().unwrap();
    assert_passes(child("process::child_has_few_files", dir.path()));
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_has_few_files() {
    let Some(dir) = child_dir() else { return };
    limit_files(64, 64);
    let store = small(&dir, Durability::Fsync);
    // A segment each.
    let objects: Vec<_> = (0..200).map(|number| object_of(number, 1, 1, 3000, WRITER_ID)).collect();
    for object in &objects {
        store.commit("t", object.clone()).await.unwrap();
    }
    let topics: Vec<_> = (0..100).map(|number| format!("topic-{number}")).collect();
    for first_offset in 0..2 {
        for topic in &topics {
            store.commit(topic, object_of(first_offset, 1, 1, 30, WRITER_ID)).await.unwrap();
        }
    }
    assert_holds(&store, "t", &objects, "read by the run that wrote it").await;
    drop(store);
    let store = small(&dir, Durability::Fsync);
    assert_holds(&store, "t", &objects, "read by another run").await;
    for topic in &topics {
        let held = [object_of(0, 1, 1, 30, WRITER_ID), object_of(1, 1, 1, 30, WRITER_ID)];
        assert_holds(&store, topic, &held, topic).await;
        store.commit(topic, object_of(2, 1, 1, 30, WRITER_ID + 1)).await.unwrap();
    }
}

#[tokio::test]
async fn a_process_without_files_left_asks_to_wait() {
    let dir = tempfile::tempdir().unwrap();
    assert_passes(child("process::child_runs_out_of_files", dir.path()));
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_runs_out_of_files() {
    let Some(dir) = child_dir() else { return };
    limit_files(64, 64);
    let store = small(&dir, Durability::Fsync);
    store.commit("open", object_of(0, 1, 1, 30, WRITER_ID)).await.unwrap();
    let mut others = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        others.push(file);
    }
    store.commit("open", object_of(1, 1, 1, 30, WRITER_ID)).await.unwrap();
    let refused = store.commit("new", object_of(0, 1, 1, 30, WRITER_ID)).await;
    let Err(CommitError::Store(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.kind, Kind::Wait, "{error}");
    assert!(error.message.contains("raise the number of files"), "{error}");
    drop(others);
    store.commit("new", object_of(0, 1, 1, 30, WRITER_ID)).await.unwrap();
}

#[tokio::test]
async fn a_store_may_open_as_many_files_as_the_system_allows() {
    let dir = tempfile::tempdir().unwrap();
    assert_passes(child("process::child_raises_its_limit", dir.path()));
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_raises_its_limit() {
    let Some(dir) = child_dir() else { return };
    let maximum = getrlimit(Resource::Nofile).maximum.unwrap_or(4096).min(4096);
    limit_files(50, maximum);
    let _store = small(&dir, Durability::Fsync);
    assert_eq!(getrlimit(Resource::Nofile).current, Some(maximum));
}

#[tokio::test]
async fn a_topic_whose_name_is_not_durable_takes_no_commit() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = child("process::child_cannot_sync_a_name", dir.path());
    if as_nobody(&mut child, dir.path()) {
        assert_passes(child);
    }
}

#[tokio::test]
#[ignore = "runs as a separate process, started by another test"]
async fn child_cannot_sync_a_name() {
    let Some(dir) = child_dir() else { return };
    let store = small(&dir, Durability::Fsync);
    let topics = dir.join("topics");
    // Names can be created in it, and it can't be opened to be synced.
    fs::set_permissions(&topics, Permissions::from_mode(0o300)).unwrap();
    for _ in 0..3 {
        let refused = store.commit("t", object_of(0, 1, 1, 30, WRITER_ID)).await;
        assert!(refused.is_err(), "nobody has synced the directory of the topic");
        assert_eq!(store.list("t", 0).await.unwrap(), []);
        assert!(store.put_settings("t", b"{}".to_vec().into()).await.is_err());
    }
    fs::set_permissions(&topics, Permissions::from_mode(0o700)).unwrap();
    store.commit("t", object_of(0, 1, 1, 30, WRITER_ID)).await.unwrap();
}
