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
