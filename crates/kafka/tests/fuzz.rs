//! The fuzzer's body on seeded bytes: a second's worth of what `fuzz/` runs for hours.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // A test.

mod bodies;
mod support;

use fastrand::Rng;
use rawline_kafka::Api;
use support::vectors;

const ROUNDS: usize = 20_000;

#[test]
fn any_bytes() {
    let mut random = Rng::with_seed(1);
    for _ in 0..ROUNDS {
        let mut input = vec![0; random.usize(..100)];
        random.fill(&mut input);
        let mask = [0xff, 0x0f, 0x03][random.usize(..3)];
        input.iter_mut().skip(2).for_each(|byte| *byte &= mask);
        bodies::read(&input);
    }
}

#[test]
fn valid_messages_changed() {
    let mut random = Rng::with_seed(2);
    for (number, api) in Api::ALL.iter().enumerate() {
        for vector in vectors(api.name()) {
            let version = vector.versions[0] - api.versions().start();
            let input = [&[number as u8, version as u8], vector.bytes.as_slice()].concat();
            bodies::read(&input);
            for _ in 0..20 {
                let mut changed = input.clone();
                for _ in 0..random.usize(1..4) {
                    let place = random.usize(..changed.len());
                    changed[place] = if random.bool() { random.u8(..) } else { random.u8(..4) };
                }
                bodies::read(&changed);
            }
        }
    }
}

#[test]
fn messages_of_authentication_changed() {
    let mut random = Rng::with_seed(3);
    for message in ["\0user\0secret", "n,a=me,n=me,r=fyko+d2l,x=y", "c=biws,r=fyko+d2l3rfcNHYJ,x=y,p=v0X8v3Bz2T0="] {
        bodies::authenticate(message.as_bytes());
        for _ in 0..ROUNDS {
            let mut changed = message.as_bytes().to_vec();
            for _ in 0..random.usize(1..4) {
                let place = random.usize(..changed.len());
                match random.u8(..3) {
                    0 => changed[place] = random.u8(..),
                    1 => changed.truncate(place + 1),
                    _ => changed.insert(place, b",=\0nm"[random.usize(..5)]),
                }
            }
            bodies::authenticate(&changed);
        }
    }
}
