//! The search for the subscriptions that match a topic, without a broker.

use rawline_broker::subscriptions::Matching;
use serde::Serialize;
use std::time::Instant;

/// Number of topics that are looked for.
const TOPICS: usize = 10_000;

/// How often each is looked for.
const ROUNDS: usize = 100;

/// What a search cost.
#[derive(Debug, Serialize)]
pub(super) struct Search {
    pub prefixes: usize,
    pub searches_per_second: f64,
    /// Number of matches of all topics.
    matches: u64,
}

/// Looks for topics among this many prefixes, a half of which match one.
pub(super) fn measure(prefixes: usize, seed: u64) -> Search {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut matching = Matching::default();
    let all: Vec<String> = (0..prefixes).map(|_| prefix(&mut random, prefixes)).collect();
    all.iter().enumerate().for_each(|(number, prefix)| matching.add_prefix(prefix, number));
    let topic = |number: usize| match number % 2 {
        0 => format!("{}dns", all.get(random.usize(..prefixes)).map_or("", String::as_str)),
        _ => format!("{}http", prefix(&mut random, prefixes)),
    };
    let topics: Vec<String> = (0..TOPICS).map(topic).collect();
    let mut matches = 0u64;
    let began = Instant::now();
    for _ in 0..ROUNDS {
        topics.iter().for_each(|topic| matching.each(topic, |_| matches += 1));
    }
    let searches_per_second = (ROUNDS * TOPICS) as f64 / began.elapsed().as_secs_f64();
    println!("  {prefixes:>6} prefixes: {:.1} million searches/s, {matches} matches", searches_per_second / 1e6);
    Search { prefixes, searches_per_second, matches }
}

/// A prefix such as `zeek.dns.sensor-17.`.
fn prefix(random: &mut fastrand::Rng, count: usize) -> String {
    const SITES: [&str; 5] = ["zeek", "plant", "shop", "metrics", "audit"];
    const KINDS: [&str; 7] = ["event", "log", "conn", "dns", "http", "orders", "line"];
    let [site, kind] = [&SITES[..], &KINDS[..]].map(|words| random.choice(words).copied().unwrap_or_default());
    format!("{site}.{kind}.sensor-{}.", random.usize(..2 * count))
}
