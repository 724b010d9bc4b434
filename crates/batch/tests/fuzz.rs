//! The fuzzers' bodies on seeded bytes: a second's worth of what `fuzz/` runs for hours. `RAWLINE_SEED` chooses the
//! run.

mod bodies;
mod support;

use fastrand::Rng;

const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };

#[test]
fn any_bytes() {
    let mut random = Rng::with_seed(support::seed());
    for _ in 0..ROUNDS {
        let mut input = vec![0; random.usize(..300)];
        random.fill(&mut input);
        bodies::parse(&input);
        // With a batch's first bytes in front, so that more than the magic is looked at.
        let header = support::small();
        for (to, from) in input.iter_mut().zip(header.iter().take(random.usize(..=60))) {
            *to = *from;
        }
        bodies::parse(&input);
    }
}

#[test]
fn valid_batches_changed() {
    let mut random = Rng::with_seed(support::seed());
    for _ in 0..ROUNDS {
        let mut input = vec![0; 8 + 3 * random.usize(..6)];
        random.fill(&mut input);
        bodies::mutate(&input);
    }
}

#[test]
fn any_bytes_as_record_batches() {
    let mut random = Rng::with_seed(support::seed());
    for _ in 0..ROUNDS / 4 {
        let mut input = vec![0; random.usize(..300)];
        random.fill(&mut input);
        bodies::record_batches(&input);
        // With the header of a batch in front, and the beginning of its records, so that more is looked at.
        let codec = bodies::record_batch::CODECS[random.usize(..bodies::record_batch::CODECS.len())];
        let (header, section) = bodies::record_batch::sample(codec, &mut random);
        let start = header.encode().into_iter().chain(section).take(61 + random.usize(..=40));
        for (to, from) in input.iter_mut().zip(start) {
            *to = from;
        }
        bodies::record_batches(&input);
    }
}

#[test]
fn valid_record_batches_changed() {
    let mut random = Rng::with_seed(support::seed());
    for _ in 0..ROUNDS / 2 {
        let mut input = vec![0; 8 + 3 * random.usize(..6)];
        random.fill(&mut input);
        bodies::record_batch::mutate(&input);
    }
}
