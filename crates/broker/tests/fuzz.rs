//! The fuzzer's body on seeded bytes. `RAWLINE_SEED` chooses the run.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod bodies;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use rawline_broker::object::HEADER_BYTES;
use rawline_testkit::stores::{bytes_of, object};

const ROUNDS: usize = 2_000;

#[test]
fn any_bytes() {
    let mut random = random();
    for _ in 0..ROUNDS {
        let mut input = vec![0; random.random_range(0..4 * HEADER_BYTES)];
        random.fill_bytes(&mut input);
        // A count of batches that the bytes may have room for.
        if let Some(batches) = input.get_mut(20..24) {
            batches.copy_from_slice(&random.random_range(0..4u32).to_le_bytes());
        }
        bodies::object(&input);
    }
}

#[test]
fn batches_become_objects() {
    let mut random = random();
    for _ in 0..ROUNDS {
        let object = object(random.random_range(0..1000), random.random_range(1..4), random.random_range(1..5));
        let bytes = bytes_of(&object);
        bodies::object(&bytes[object.header.index_bytes()..]);
    }
}

#[test]
fn objects_with_changed_bytes() {
    let mut random = random();
    for _ in 0..ROUNDS {
        let mut bytes = bytes_of(&object(random.random_range(0..1000), random.random_range(1..4), 3));
        for _ in 0..random.random_range(0..3) {
            let position = random.random_range(0..bytes.len());
            bytes[position] = random.random();
        }
        bodies::object(&bytes);
    }
}

fn random() -> StdRng {
    #[allow(clippy::disallowed_methods)] // A test's settings come from the environment.
    let seed = std::env::var("RAWLINE_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    println!("RAWLINE_SEED={seed}");
    StdRng::seed_from_u64(seed)
}
