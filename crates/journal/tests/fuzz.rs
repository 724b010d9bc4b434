//! The fuzzer's body on seeded bytes: a second's worth of what `fuzz/` runs for hours. `RAWLINE_SEED` chooses the run.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // A test.

mod bodies;

use rawline_journal::{Batch, BatchKind, Control, HEADER_BYTES, Id, Link, PartitionId, Section, build_index};

const ROUNDS: usize = 20_000;

/// The index of an object with as many sections and batches as asked for.
fn index(sections: u64, batches: u32) -> Vec<u8> {
    let kinds = [BatchKind::Rawline, BatchKind::Kafka];
    let batch = |number: u32| Batch {
        kind: kinds[number as usize % 2],
        records: number + 1,
        bytes: 72 + number * 8,
        crc32c: number,
        continues: false,
        producer: None,
        max_timestamp_us: 7_000_000,
        transaction: None,
    };
    let batches: Vec<Batch> = (0..batches).map(batch).collect();
    let section = |topic| Section { partition: PartitionId { topic, number: 0 }, first_offset: topic * 10 };
    let sections: Vec<_> = (1..=sections).map(|topic| (section(topic), &batches[..])).collect();
    let link = Link { number: 1, id: Id { run: 2, commit: 1 }, prev: Id::ROOT, in_flight: 0 };
    let control = Control::Create { topic: 1, name: "t".into(), partitions: 1, settings: [].into() };
    build_index(link, 5, &[control], &sections)
}

#[test]
fn any_bytes() {
    let mut random = random();
    for _ in 0..ROUNDS {
        let input: Vec<u8> = (0..random.usize(0..4 * HEADER_BYTES)).map(|_| random.u8(..)).collect();
        bodies::object(&input);
    }
}

#[test]
fn indexes_with_changed_bytes() {
    let mut random = random();
    for _ in 0..ROUNDS {
        let mut bytes = index(random.u64(0..4), random.u32(1..4));
        for _ in 0..random.usize(0..3) {
            let position = random.usize(0..bytes.len());
            bytes[position] = random.u8(..);
        }
        bodies::object(&bytes);
    }
}

fn random() -> fastrand::Rng {
    #[allow(clippy::disallowed_methods)] // A test's settings come from the environment.
    let seed = std::env::var("RAWLINE_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    println!("RAWLINE_SEED={seed}");
    fastrand::Rng::with_seed(seed)
}
