//! The fuzzers' bodies on seeded bytes. `RAWLINE_SEED` chooses the run.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod bodies;

use fastrand::Rng;

const ROUNDS: usize = if cfg!(miri) { 20 } else { 5_000 };

#[test]
fn any_bytes() {
    let mut random = random();
    for _ in 0..ROUNDS {
        let length = random.usize(..40);
        let mut input: Vec<u8> =
            (0..length).map(|_| if random.u8(..8) == 0 { random.u8(..) } else { random.u8(..16) }).collect();
        if let Some(choice) = input.first_mut() {
            *choice = random.u8(..);
        }
        bodies::decode(&input);
    }
}

#[test]
fn random_messages_are_read_as_apache_avro_reads_them() {
    let mut random = random();
    for _ in 0..ROUNDS {
        bodies::differential(&random.u64(..).to_le_bytes());
    }
}

#[test]
fn changed_messages_are_read_as_apache_avro_reads_them() {
    let mut random = random();
    for _ in 0..ROUNDS {
        let mut input = vec![0; 8 + 3 * random.usize(1..4)];
        random.fill(&mut input);
        bodies::differential(&input);
    }
}

fn random() -> Rng {
    #[allow(clippy::disallowed_methods)] // A test's settings come from the environment.
    let seed = std::env::var("RAWLINE_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    println!("RAWLINE_SEED={seed}");
    Rng::with_seed(seed)
}
