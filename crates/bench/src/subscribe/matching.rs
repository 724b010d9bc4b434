//! How long it takes to find the subscriptions of a topic, without a broker: the search, and a commit, whose
//! topic remembers the result until a subscription begins or ends.

use rawline_broker::TopicId;
use rawline_broker::notify::{Matching, Registered, Registry, Subject, Wanted};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// Number of topics that are looked for.
const TOPICS: usize = 10_000;

/// How often each is looked for.
const ROUNDS: usize = 100;

/// What searches and commits cost.
#[derive(Debug, Serialize)]
pub(super) struct Search {
    pub prefixes: usize,
    pub searches_per_second: f64,
    /// Of topics that remember.
    pub commits_per_second: f64,
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
    let commits_per_second = commits(&all, &topics);
    println!(
        "  {prefixes:>6} prefixes: {:.1} million searches/s, {matches} matches; {:.1} million commits/s",
        searches_per_second / 1e6,
        commits_per_second / 1e6
    );
    Search { prefixes, searches_per_second, commits_per_second, matches }
}

/// How many commits per second, to these topics in turns, find the subscriptions to the prefixes and note the commit
/// for each that matches.
fn commits(prefixes: &[String], topics: &[String]) -> f64 {
    let registry = Arc::new(Registry::default());
    let wanted = |prefix: &String| Wanted { names: Vec::new(), prefixes: vec![prefix.clone()] };
    let _subscriptions: Vec<Registered> = prefixes.iter().map(|prefix| registry.register(wanted(prefix))).collect();
    let subject = |topic: &String| registry.subject(topic.as_str(), TopicId::derived(0, topic));
    let subjects: Vec<Arc<Subject>> = topics.iter().map(subject).collect();
    let commit = || subjects.iter().for_each(|subject| subject.committed(0, 0));
    commit();
    let began = Instant::now();
    (0..ROUNDS).for_each(|_| commit());
    (ROUNDS * TOPICS) as f64 / began.elapsed().as_secs_f64()
}

/// A prefix such as `zeek.dns.sensor-17.`.
fn prefix(random: &mut fastrand::Rng, count: usize) -> String {
    const SITES: [&str; 5] = ["zeek", "plant", "shop", "metrics", "audit"];
    const KINDS: [&str; 7] = ["event", "log", "conn", "dns", "http", "orders", "line"];
    let [site, kind] = [&SITES[..], &KINDS[..]].map(|words| random.choice(words).copied().unwrap_or_default());
    format!("{site}.{kind}.sensor-{}.", random.usize(..2 * count))
}
