//! Measures the store on a local directory by itself.
//!
//! `cargo run --release -p rawline-broker --example measure_disk [DIR]`

#![allow(clippy::disallowed_methods)] // A measurement, on an idle machine.

use bytes::Bytes;
use rawline_batch::{Builder, Checker, Codec, Limits};
use rawline_broker::object::{Object, Stamp};
use rawline_broker::store::disk::{DiskStore, Durability};
use rawline_broker::store::{Listed, ObjectAt, Store};
use std::path::Path;
use std::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome {
    let parent = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let parent = Path::new(&parent);
    for durability in [Durability::PageCache, Durability::Fsync] {
        throughput(parent, durability).await?;
    }
    for durability in [Durability::PageCache, Durability::Fsync] {
        latency(parent, durability).await?;
    }
    for record_bytes in [100, 1024, 25_000] {
        recovery(parent, record_bytes).await?;
    }
    reading(parent).await
}

/// Objects of 10 MiB in pieces of 64 KiB, as they come from the pool.
async fn throughput(parent: &Path, durability: Durability) -> Outcome {
    let dir = tempfile::tempdir_in(parent)?;
    let store = DiskStore::open(dir.path(), durability)?;
    let (count, template) = (160u64, object(0, 10 << 10, 1024)?);
    for round in 0..4 {
        let began = Instant::now();
        for number in 0..count {
            let first_offset = (round * count + number) * u64::from(template.header.records);
            store.commit("t", stamped(&template, first_offset)?).await?;
        }
        let bytes = count * template.header.object_bytes;
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "commit 10 MiB, {durability:?}, round {round}: {:.2} GB/s, {:.2} ms each",
            bytes as f64 / seconds / 1e9,
            seconds * 1e3 / count as f64
        );
        store.delete_before("t", (round + 1) * count * u64::from(template.header.records)).await?;
    }
    Ok(())
}

async fn latency(parent: &Path, durability: Durability) -> Outcome {
    let dir = tempfile::tempdir_in(parent)?;
    let store = DiskStore::open(dir.path(), durability)?;
    let template = object(0, 1, 1024)?;
    let mut microseconds = Vec::new();
    for number in 0..2000 {
        let object = stamped(&template, number)?;
        let began = Instant::now();
        store.commit("t", object).await?;
        microseconds.push(began.elapsed().as_micros());
        // 500 a second, as a lone producer would.
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    percentiles(&format!("commit 1 KiB, {durability:?}"), microseconds);
    Ok(())
}

async fn recovery(parent: &Path, record_bytes: usize) -> Outcome {
    let dir = tempfile::tempdir_in(parent)?;
    let store = DiskStore::open(dir.path(), Durability::PageCache)?;
    let template = object(0, 1, record_bytes)?;
    for number in 0..10_000 {
        store.commit("t", stamped(&template, number)?).await?;
    }
    drop(store);
    for start in ["the newest segment walked", "all segments sealed"] {
        let began = Instant::now();
        let store = DiskStore::open(dir.path(), Durability::PageCache)?;
        let topics = store.topics().await?.len();
        let objects = store.list("t", 0).await?.len();
        println!(
            "start with {topics} topic, {objects} objects of {} bytes, {start}: {:.1} ms",
            template.header.object_bytes,
            began.elapsed().as_secs_f64() * 1e3
        );
    }
    Ok(())
}

async fn reading(parent: &Path) -> Outcome {
    let dir = tempfile::tempdir_in(parent)?;
    let store = DiskStore::open(dir.path(), Durability::PageCache)?;
    let template = object(0, 10 << 10, 1024)?;
    for number in 0..20 {
        store.commit("t", stamped(&template, number * u64::from(template.header.records))?).await?;
    }
    let listed = store.list("t", 0).await?;
    for (what, touch) in [("never touched", false), ("never touched, then read", true), ("touched before", false)] {
        let mut nanoseconds = Vec::new();
        let mut sum = 0u64;
        for listed in &listed {
            for megabyte in 0..10 {
                let range = megabyte << 20..(megabyte + 1) << 20;
                let began = Instant::now();
                let bytes = store.get("t", at(listed), range).await?;
                nanoseconds.push(began.elapsed().as_nanos());
                if touch {
                    sum += bytes.iter().step_by(4096).map(|&byte| u64::from(byte)).sum::<u64>();
                }
            }
        }
        nanoseconds.sort_unstable();
        let at = |share: usize| nanoseconds.get(nanoseconds.len() * share / 100).copied().unwrap_or(0);
        println!("get 1 MiB, {what}: p50 {} ns, p99 {} ns (check {sum})", at(50), at(99));
    }
    Ok(())
}

fn percentiles(what: &str, mut microseconds: Vec<u128>) {
    microseconds.sort_unstable();
    let at = |share: usize| microseconds.get(microseconds.len() * share / 1000).copied().unwrap_or(0);
    println!("{what}: p50 {} us, p90 {} us, p99 {} us, p99.9 {} us", at(500), at(900), at(990), at(999));
}

fn at(listed: &Listed) -> ObjectAt {
    ObjectAt { first_offset: listed.first_offset, location: listed.location, bytes: listed.bytes }
}

/// One batch of `records` records, in pieces of 64 KiB.
fn object(first_offset: u64, records: u32, record_bytes: usize) -> Outcome<Object> {
    let mut builder = Builder::new(Codec::None, Limits::default());
    let record: Vec<u8> = (0..record_bytes).map(|i| i as u8).collect();
    for _ in 0..records {
        builder.push(&record)?;
    }
    let mut bytes = Vec::new();
    builder.finish_into(1, 0, 0, &mut bytes)?;
    let whole = Bytes::from(bytes);
    let parts: Vec<_> =
        (0..whole.len()).step_by(64 << 10).map(|i| whole.slice(i..(i + (64 << 10)).min(whole.len()))).collect();
    build(first_offset, &parts)
}

/// The same object at another offset.
fn stamped(template: &Object, first_offset: u64) -> Outcome<Object> {
    let mut object = template.clone();
    // Only the index changes: a header over the same batch.
    let front = build_front(template, first_offset)?;
    object.header = front.header;
    if let (Some(to), Some(from)) = (object.parts.first_mut(), front.parts.into_iter().next()) {
        *to = from;
    }
    Ok(object)
}

fn build(first_offset: u64, parts: &[Bytes]) -> Outcome<Object> {
    let mut checker = Checker::new(Limits::default());
    for part in parts {
        checker.push(part)?;
    }
    let stamp = Stamp { first_offset, appended_us: 1, writer_id: 1, commit: 0, confirmed_next_offset: None };
    Ok(Object::build(stamp, checker.finish()?.into_iter(), parts))
}

fn build_front(template: &Object, first_offset: u64) -> Outcome<Object> {
    let index = template.parts.first().ok_or("no index")?;
    let entry = rawline_broker::object::ObjectIndex::parse(index)?.entries.first().copied().ok_or("no batch")?;
    let meta = rawline_batch::BatchMeta {
        position: 0,
        bytes: (entry.range().end - entry.range().start) as u32,
        records: entry.records(),
        raw_bytes: 0,
        crc32c: entry.crc32c(),
        producer_id: 0,
        sequence: 0,
        codec: Codec::None,
    };
    let stamp = Stamp { first_offset, appended_us: 1, writer_id: 1, commit: 0, confirmed_next_offset: None };
    let batches = template.parts.split_first().ok_or("no parts")?.1;
    Ok(Object::build(stamp, std::iter::once(meta), batches))
}
