//! The fuzzers' bodies on seeded bytes. `RAWLINE_SEED` chooses the run.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod bodies;

use fastrand::Rng;

const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };

#[test]
fn any_bytes() {
    let mut random = random();
    for _ in 0..ROUNDS {
        // Mostly small numbers, which are tags and sizes.
        let length = random.usize(..60);
        let input: Vec<u8> =
            (0..length).map(|_| if random.u8(..8) == 0 { random.u8(..) } else { random.u8(..16) }).collect();
        bodies::agree(&input);
    }
}

#[test]
fn containers_of_reals() {
    let mut random = random();
    let reals = ["8000000000000000", "0000000000000000", "ffffffffffffffff", "7ff8000000000000", "3ff0000000000000"];
    for _ in 0..ROUNDS {
        let count = random.u8(..4);
        let mut input = vec![[0x0c, 0x0d, 0x0e][random.usize(..3)], count];
        for _ in 0..count * 2 {
            let real = u64::from_str_radix(reals[random.usize(..reals.len())], 16).unwrap();
            if random.bool() {
                input.extend([0x0e, 1]);
            }
            input.push(4);
            input.extend(real.to_be_bytes());
        }
        bodies::agree(&input);
        input.truncate(2 + usize::from(count) * 9);
        bodies::agree(&input);
    }
}

#[test]
fn valid_values_changed() {
    let mut random = random();
    for _ in 0..ROUNDS {
        let mut input = vec![0; 1 + 3 * random.usize(..4)];
        random.fill(&mut input);
        bodies::mutate(&input);
    }
}

fn random() -> Rng {
    #[allow(clippy::disallowed_methods)] // A test's settings come from the environment.
    let seed = std::env::var("RAWLINE_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    println!("RAWLINE_SEED={seed}");
    Rng::with_seed(seed)
}
