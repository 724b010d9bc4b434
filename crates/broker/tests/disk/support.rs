//! Directories with known content, and what damages or examines them.

use rawline_broker::object::Object;
use rawline_broker::store::Store;
use rawline_broker::store::disk::{DiskStore, Durability, Options};
use rawline_broker::store::s3::Layout;
use rawline_testkit::stores::{SEGMENT_BYTES, WRITER_ID, assert_holds, commit_some, object_of};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A topic of four objects in one segment that no broker has closed, and a place to put damaged copies of it.
pub struct Unclosed {
    pub segment: Vec<u8>,
    pub objects: Vec<Object>,
    /// Where the last object begins, and its end.
    pub last: std::ops::Range<usize>,
}

impl Unclosed {
    pub async fn new() -> Unclosed {
        let dir = tempfile::tempdir().unwrap();
        let store = small(dir.path(), Durability::Fsync);
        let objects = commit_some(&store, "t", 4).await;
        drop(store);
        let lengths: Vec<_> = objects.iter().map(|object| object.header.object_bytes as usize).collect();
        let end = lengths.iter().sum::<usize>();
        let segment = fs::read(segment_file(dir.path(), 0)).unwrap();
        assert_eq!(segment.len() as u64, SEGMENT_BYTES);
        assert!(!dir.path().join("topics/t").join(format!("{:020}.idx", 0)).exists());
        Unclosed { segment, objects, last: end - lengths[3]..end }
    }

    /// Opens a directory whose segment is `segment`; checks that it holds the first `whole` objects, that a commit
    /// after them works, and that all of it is there when opened again.
    pub async fn check(&self, segment: &[u8], whole: usize, durability: Durability, what: &str) {
        let dir = tempfile::tempdir().unwrap();
        put_segment(dir.path(), 0, segment);
        let mut objects = self.objects[..whole].to_vec();
        let store = small(dir.path(), durability);
        assert_holds(&store, "t", &objects, what).await;
        let next = objects.last().map_or(0, |object| object.header.next_offset());
        // From another run, and of another length than what it replaces.
        let object = object_of(next, 1, 2, 33, WRITER_ID + 1);
        store.commit("t", object.clone()).await.unwrap();
        objects.push(object);
        assert_holds(&store, "t", &objects, what).await;
        drop(store);
        assert_holds(&small(dir.path(), durability), "t", &objects, what).await;
    }
}

/// A log for each topic, in segments of this length, as earlier versions created them.
pub fn segments(segment_bytes: u64) -> Options {
    Options { durability: Durability::Fsync, segment_bytes, new_layout: Layout::Topics }
}

/// A directory with short segments, so that a few objects fill several.
pub fn small(dir: &Path, durability: Durability) -> DiskStore {
    DiskStore::open_with(dir, Options { durability, ..segments(SEGMENT_BYTES) }).unwrap()
}

pub fn segment_file(dir: &Path, first_offset: u64) -> PathBuf {
    dir.join(format!("topics/t/{first_offset:020}.seg"))
}

pub fn put_segment(dir: &Path, first_offset: u64, bytes: &[u8]) {
    fs::create_dir_all(dir.join("topics/t")).unwrap();
    let file = File::create(segment_file(dir, first_offset)).unwrap();
    file.write_all_at(bytes, 0).unwrap();
}

/// The files with this ending, in order.
pub fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    paths
}

/// This test program again, running one of its ignored tests over `dir`.
pub fn child(test: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.env("RAWLINE_TEST_CHILD_DIR", dir);
    command
}

pub fn child_dir() -> Option<PathBuf> {
    std::env::var_os("RAWLINE_TEST_CHILD_DIR").map(PathBuf::from)
}

/// Runs an ignored test in a file system of this size, which it fills. Fails if it doesn't say that the disk was full.
pub fn fill_a_disk(test: &str, size: &str) {
    let dir = tempfile::tempdir().unwrap();
    // A separate file system, so small that it is soon full. It needs user namespaces, which not every machine allows.
    let mount = r#"mount -t tmpfs -o size="$SIZE" tmpfs "$RAWLINE_TEST_CHILD_DIR" || exit 77; exec "$0" "$@""#;
    let child = child(test, dir.path());
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount]);
    command.arg(child.get_program()).args(child.get_args());
    command.env("RAWLINE_TEST_CHILD_DIR", dir.path()).env("SIZE", size);
    let Ok(output) = command.output() else { return eprintln!("skipped: no unshare") };
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || stderr.contains("unshare:") {
        return eprintln!("skipped: no separate file system: {stderr}");
    }
    assert!(output.status.success() && stdout.contains("the disk was full"), "{stdout}{stderr}");
}

/// Runs an ignored test as a separate process. It has to pass.
pub fn assert_passes(mut child: Command) {
    let output = child.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}

pub fn limit_files(current: u64, maximum: u64) {
    setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: Some(maximum) }).unwrap();
}

/// Makes the child a user whom permissions bind, and the directory that user's. False if this user can't do that.
pub fn as_nobody(child: &mut Command, dir: &Path) -> bool {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    std::os::unix::fs::chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut is_runnable = Command::new(child.get_program());
    match is_runnable.arg("--list").uid(NOBODY).stdout(Stdio::null()).status() {
        Ok(_) => {
            child.uid(NOBODY);
            true
        }
        Err(error) => {
            eprintln!("skipped: this program can't be run by another user: {error}");
            false
        }
    }
}
