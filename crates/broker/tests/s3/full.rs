//! Reads where the cache's disk takes nothing.

use crate::cache::is_fetch;
use crate::machine::Machine;
use futures_util::future::join_all;
use rawline_testkit::child::{child_dir, fill_a_disk};
use rawline_testkit::http::{Act, Proxy};
use rawline_testkit::s3_server::{Bucket, bucket};
use rawline_testkit::stores::{Object, RUN, create, object_of};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Readers that want the same at the same time.
const READERS: usize = 32;

async fn stored(bucket: &Bucket, objects: impl Iterator<Item = u64>) -> Vec<Object> {
    let objects: Vec<Object> = objects.map(|number| object_of(RUN, number, 4, 100, 5000)).collect();
    let other = Machine::new(bucket).await;
    for object in &objects {
        create(&other.store, object).await;
    }
    objects
}

fn gets(proxy: &Proxy) -> usize {
    proxy.requests.lock().unwrap().iter().filter(|request| is_fetch(request)).count()
}

/// Reads an object by many readers at once. Returns the number of GETs that it took.
async fn read_by_all(machine: &Machine, proxy: &Proxy, object: &Object) -> usize {
    let before = gets(proxy);
    let read = join_all((0..READERS).map(|_| machine.read(object))).await;
    assert!(read.into_iter().all(|read| read.unwrap() == object.batches));
    gets(proxy) - before
}

#[tokio::test]
async fn readers_of_a_range_share_its_gets_where_no_copy_can_be_created() {
    let bucket = bucket().await;
    let objects = stored(&bucket, 1..=2).await;
    let proxy = Proxy::start(bucket.address, |_| Act::Delay(Duration::from_millis(20))).await;
    let machine = Machine::through(&bucket, proxy.address).await;
    // A file where the journal's folder should be stands for a disk that takes nothing.
    fs::write(machine.dir.join("objects/.journal"), b"").unwrap();
    for object in objects.iter().chain(&objects) {
        let gets = read_by_all(&machine, &proxy, object).await;
        assert!((1..=2).contains(&gets), "{gets} GETs: of the front, and of the batches");
    }
    assert_eq!(machine.cache.bytes(), 0, "room that is not used is given back");
}

#[test]
fn a_full_disk_of_the_cache_costs_few_downloads() {
    fill_a_disk("full::child_reads_on_a_full_disk", "5m");
}

#[tokio::test]
#[ignore = "run by another test, on a small file system"]
async fn child_reads_on_a_full_disk() {
    let Some(dir) = child_dir() else { return };
    let bucket = bucket().await;
    let objects = stored(&bucket, 1..=8).await;
    let proxy = Proxy::start(bucket.address, |_| Act::Delay(Duration::from_millis(20))).await;
    let machine = Machine::on(&bucket, proxy.address, dir.join("cache")).await;
    // Older copies make room for new ones, and nothing is fetched again for that.
    for object in &objects {
        let gets = read_by_all(&machine, &proxy, object).await;
        assert!((1..=2).contains(&gets), "{gets} GETs");
        assert_eq!(read_by_all(&machine, &proxy, object).await, 0, "the newest copy is kept");
    }
    assert!(machine.cache.bytes() < 5 << 20, "{} bytes on a disk of 5 MiB", machine.cache.bytes());
    // Another program takes all that there is, and all that copies leave.
    let filler = dir.join("filler");
    for object in objects.iter().chain(&objects) {
        fill(&filler);
        let gets = read_by_all(&machine, &proxy, object).await;
        assert!(gets <= 4, "{gets} GETs: of the front and the batches, for the disk and for memory");
    }
    println!("the disk was full");
    fs::remove_file(&filler).unwrap();
    while read_by_all(&machine, &proxy, &objects[0]).await > 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Makes a file as large as the disk allows.
fn fill(path: &Path) {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
}
