//! `rawline backup`, `restore` and `doctor`, on directories and on a real S3 server, with and without a broker.

// Clippy recognizes tests only by their attribute; these are their helpers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use rawline_testkit::s3_server::{Bucket, bucket};
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use support::{Broker, RAWLINE, broker, rawline, run};

/// `rawline` with the variables of a bucket, which needn't be used.
fn command(bucket: &Bucket, args: &[&str]) -> Output {
    let mut command = rawline("http://127.0.0.1:1", args);
    command.envs(bucket.variables());
    run(command, b"")
}

fn succeeds(bucket: &Bucket, args: &[&str]) -> String {
    let output = command(bucket, args);
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "rawline {args:?}: {}: {stdout}{stderr}", output.status);
    stdout
}

/// The stdout and stderr of a command that fails.
fn fails(bucket: &Bucket, args: &[&str], code: i32) -> (String, String) {
    let output = command(bucket, args);
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(code), "rawline {args:?}: {stdout}{stderr}");
    (stdout, stderr)
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

fn on(bucket: &Bucket, storage: &str) -> Broker {
    let cache = bucket.cache_dir();
    let flags = ["--storage", storage, "--cache-dir", cache.to_str().unwrap()];
    Broker::start_with(RAWLINE, &flags, bucket.variables())
}

/// Topics of each kind, and a group that has read a part of one.
fn fill(broker: &Broker) {
    let lines = |range: std::ops::Range<u32>| range.map(|n| format!("{n}\n")).collect::<String>().into_bytes();
    broker.run(&["produce", "numbers"], &lines(0..20_000));
    broker.run(&["topic", "create", "parts", "--partitions", "3"], b"");
    broker.run(&["produce", "parts", "--partition", "2"], &lines(0..500));
    broker.run(&["produce", "keyed", "--key-separator", ":", "--header", "source=test"], b"a:1\nb:2\na:3\n");
    broker.run(&["topic", "set", "keyed", "--retain-hours", "5"], b"");
    for n in 0..20 {
        broker.run(&["produce", "small"], format!("small {n}\n").as_bytes());
    }
    broker.run(&["consume", "numbers", "--group", "readers", "--max-records", "1234"], b"");
    broker.run(&["topic", "trim", "numbers", "--before", "100", "--yes"], b"");
}

/// Everything that a client sees of a broker.
fn contents(broker: &Broker) -> String {
    let read = |args: &[&str]| String::from_utf8(broker.run(args, b"").stdout).unwrap();
    let mut all = String::new();
    let topics: Value = serde_json::from_str(&read(&["topics", "--json"])).unwrap();
    for topic in topics.as_array().unwrap() {
        let name = topic["name"].as_str().unwrap();
        let shown: Value = serde_json::from_str(&read(&["topic", "show", name, "--json"])).unwrap();
        let settings = ["topic_id", "retain_hours", "partitions", "first_offset", "next_offset"];
        settings.iter().for_each(|setting| all += &format!("{name} {setting} {}\n", shown[setting]));
        for partition in 0..topic["partitions"].as_u64().unwrap() {
            let partition = partition.to_string();
            all += &read(&["consume", name, "--partition", &partition, "--format", "json"]);
        }
    }
    all + &read(&["group", "show", "readers", "--json"])
}

fn assert_same(found: &str, expected: &str) {
    let other = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(found == expected, "{} bytes for {}: {other:?}", found.len(), expected.len());
}

#[tokio::test]
async fn a_backup_of_a_running_broker_becomes_the_same_storage_again() {
    let bucket = bucket().await;
    let source = broker(&[]);
    fill(&source);
    let (storage, backup) = (source.directory().to_str().unwrap(), format!("s3://{}/backups/events", bucket.name));
    let back_up = || succeeds(&bucket, &["backup", &backup, "--storage", storage, "--json"]);
    let first: Value = serde_json::from_str(&back_up()).unwrap();
    assert_eq!((&first[0]["is_new"], &first[0]["objects"]), (&true.into(), &1.into()), "{first}");
    let before = contents(&source);
    source.run(&["produce", "small"], b"one more\n");
    let second: Value = serde_json::from_str(&back_up()).unwrap();
    let bytes = |run: &Value| run[0]["copied_bytes"].as_u64().unwrap();
    assert!(bytes(&first) > 100_000 && (1..1_000).contains(&bytes(&second)), "{first} {second}");
    let third: Value = serde_json::from_str(&back_up()).unwrap();
    assert_eq!((&third[0]["is_new"], bytes(&third)), (&false.into(), 0), "{third}");
    let points: Vec<String> = succeeds(&bucket, &["restore", &backup, "--list"]).lines().map(str::to_owned).collect();
    assert_eq!(points, [&first, &second].map(|run| run[0]["newest"].as_str().unwrap()));
    succeeds(&bucket, &["doctor", "--storage", &backup]);

    // On a directory, at the first point.
    let dir = tempfile::tempdir().unwrap();
    let restored = dir.path().join("new").to_str().unwrap().to_owned();
    succeeds(&bucket, &["restore", &backup, "--storage", &restored, "--at", &points[0]]);
    succeeds(&bucket, &["doctor", "--storage", &restored]);
    assert_same(&contents(&broker(&["--storage", &restored])), &before);
    // In a bucket, at the newest one; it continues, and so does the group.
    let moved = format!("s3://{}/moved", bucket.name);
    succeeds(&bucket, &["restore", &backup, "--storage", &moved]);
    let served = on(&bucket, &moved);
    assert_same(&contents(&served), &contents(&source));
    for broker in [&served, &source] {
        broker.run(&["produce", "numbers"], b"more\n");
        let read = broker.run(&["consume", "numbers", "--group", "readers", "--max-records", "2"], b"");
        assert_eq!(String::from_utf8(read.stdout).unwrap(), "1234\n1235\n");
    }
    drop(served);
    succeeds(&bucket, &["doctor", "--storage", &moved]);

    let (_, error) = fails(&bucket, &["restore", &backup, "--storage", &moved], 1);
    assert!(error.contains("isn't empty"), "{error}");
    let (_, error) = fails(&bucket, &["restore", &backup, "--storage", &restored, "--at", "2001-01-01"], 1);
    assert!(error.contains("isn't empty") || error.contains("--list"), "{error}");
    let (_, error) = fails(&bucket, &["backup", &backup, "--storage", &moved], 1);
    assert!(error.contains("is a backup of another storage"), "{error}");
    let (_, error) = fails(&bucket, &["backup", &moved, "--storage", storage], 1);
    assert!(error.contains("storage of brokers and no backup"), "{error}");
    let (_, error) = fails(&bucket, &["serve", "--storage", &backup, "--listen", "127.0.0.1:0"], 1);
    assert!(error.contains("rawline restore"), "{error}");
    let (_, error) = fails(&bucket, &["backup", "s3://x/y", "--storage", "memory:"], 2);
    assert!(error.contains("in memory"), "{error}");
    let (_, error) = fails(&bucket, &["backup", &restored, "--storage", "does-not-exist"], 1);
    assert!(error.contains("there is no storage in"), "{error}");
}

#[tokio::test]
async fn a_storage_moves_from_a_directory_to_a_bucket_and_back() {
    let bucket = bucket().await;
    let mut source = broker(&[]);
    fill(&source);
    let expected = contents(&source);
    // Without a last snapshot.
    source.kill();
    let storage = source.directory().to_str().unwrap();
    let moved = format!("s3://{}/moved", bucket.name);
    succeeds(&bucket, &["restore", storage, "--storage", &moved]);
    let served = on(&bucket, &moved);
    assert_same(&contents(&served), &expected);
    drop(served);
    let dir = tempfile::tempdir().unwrap();
    let back = dir.path().join("back").to_str().unwrap().to_owned();
    succeeds(&bucket, &["restore", &moved, "--storage", &back]);
    assert_same(&contents(&broker(&["--storage", &back])), &expected);
}

#[tokio::test]
async fn a_bucket_with_several_journals_is_copied_while_its_broker_runs() {
    let bucket = bucket().await;
    let (storage, backup) = (format!("s3://{}/events", bucket.name), format!("s3://{}/backup", bucket.name));
    let cache = bucket.cache_dir();
    let flags = ["--storage", &storage, "--cache-dir", cache.to_str().unwrap(), "--journals", "3"];
    let source = Broker::start_with(RAWLINE, &[&flags[..], &["--batch-wait", "1ms"]].concat(), bucket.variables());
    fill(&source);
    succeeds(&bucket, &["backup", &backup, "--storage", &storage]);
    source.run(&["produce", "small"], b"one more\n");
    succeeds(&bucket, &["backup", &backup, "--storage", &storage, "--keep", "1"]);
    let restored = format!("s3://{}/restored", bucket.name);
    succeeds(&bucket, &["restore", &backup, "--storage", &restored]);
    assert_same(&contents(&on(&bucket, &restored)), &contents(&source));
    let findings = succeeds(&bucket, &["doctor", "--storage", &storage]);
    assert!(findings.contains("journal 2: chain"), "{findings}");
    let dir = tempfile::tempdir().unwrap();
    let (_, error) = fails(&bucket, &["backup", dir.path().to_str().unwrap(), "--storage", &storage], 1);
    assert!(error.contains("a directory has one journal"), "{error}");
}

/// The files below a folder whose names end so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Flips a bit of the file where it has this text.
fn flip(path: &Path, text: &[u8]) {
    let bytes = std::fs::read(path).unwrap();
    let at = bytes.windows(text.len()).position(|found| found == text).unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
}

/// The results that aren't ok.
fn bad(bucket: &Bucket, storage: &str) -> Vec<(String, String)> {
    let (found, _) = fails(bucket, &["doctor", "--storage", storage, "--json"], 1);
    let found: Vec<Value> = serde_json::from_str(&found).unwrap();
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    found
        .iter()
        .filter(|finding| finding["result"] == "failed")
        .map(|finding| (text(finding, "check"), text(finding, "text")))
        .collect()
}

#[tokio::test]
async fn the_doctor_names_what_is_damaged() {
    let bucket = bucket().await;
    let mut source = broker(&[]);
    fill(&source);
    let storage = source.directory().to_str().unwrap().to_owned();
    let found = succeeds(&bucket, &["doctor", "--storage", &storage]);
    assert!(found.contains("a broker runs on it"), "{found}");
    source.kill();
    let found = succeeds(&bucket, &["doctor", "--storage", &storage]);
    assert!(!found.contains("a broker runs on it"), "{found}");

    // A batch, in a directory and in a bucket.
    let segment = files(source.directory(), ".seg").remove(0);
    flip(&segment, b"small 7");
    let [(check, text)] = &bad(&bucket, &storage)[..] else { panic!("one batch is damaged") };
    assert!(check == "journal: records" && text.contains("small, partition 0, offsets 7 to 7"), "{check}: {text}");
    let error = fails(&bucket, &["backup", &format!("s3://{}/b", bucket.name), "--storage", &storage], 1).1;
    assert!(error.contains("damaged"), "{error}");
    flip(&segment, b"rmall 7");
    let moved = format!("s3://{}/moved", bucket.name);
    succeeds(&bucket, &["restore", &storage, "--storage", &moved]);
    let object = files(&bucket.file("moved"), ".rwj").remove(0);
    flip(&object, b"small 7");
    let [(_, text)] = &bad(&bucket, &moved)[..] else { panic!("one batch is damaged") };
    assert!(text.contains("small, partition 0, offsets 0 to 19") && text.contains("merged/0"), "{text}");
    flip(&object, b"rmall 7");
    succeeds(&bucket, &["doctor", "--storage", &moved, "--no-probe"]);

    // Objects that are gone: one that a snapshot refers to, one of the chain, the snapshot.
    let kept = object.with_extension("kept");
    std::fs::rename(&object, &kept).unwrap();
    let found = bad(&bucket, &moved);
    assert!(found.iter().any(|(_, text)| text.contains("numbers, partition 0, offsets 100")), "{found:?}");
    std::fs::rename(&kept, &object).unwrap();
    let served = on(&bucket, &moved);
    (0..12).for_each(|n| drop(served.run(&["produce", "small"], format!("later {n}\n").as_bytes())));
    drop(served);
    let objects = files(&bucket.file("moved/.journal/0000"), ".rwj");
    let [.., lost, _, _, _, _, _, _, _, _, _, merged] = &objects[..] else { panic!("{objects:?}") };
    assert!(merged.to_str().unwrap().contains("merged"));
    std::fs::rename(lost, lost.with_extension("kept")).unwrap();
    let found = bad(&bucket, &moved);
    assert!(found.iter().any(|(check, _)| check == "journal: chain"), "{found:?}");
    std::fs::rename(lost.with_extension("kept"), lost).unwrap();
    let snapshot = files(&bucket.file("moved"), ".rws").remove(0);
    let bytes = std::fs::read(&snapshot).unwrap();
    std::fs::write(&snapshot, &bytes[..bytes.len() - 8]).unwrap();
    let found = bad(&bucket, &moved);
    assert!(found.iter().any(|(check, _)| check == "journal: snapshot"), "{found:?}");

    // A segment with an object that is damaged and was acknowledged, and a directory that has no storage.
    flip(&segment, b"RAWJ");
    let found = bad(&bucket, &storage);
    assert!(found.iter().any(|(check, text)| check == "storage" && text.contains("damaged at byte")), "{found:?}");
    let found = bad(&bucket, "does-not-exist");
    assert!(found[0].1.contains("there is no storage in"), "{found:?}");
}
