//! `GET /stats`: how busy the broker was during the last hour, in steps of ten seconds.
//!
//! Every ten seconds the broker reads what `tally.rs` has counted, and keeps the difference. The hour takes the same
//! memory from the start.

use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::render;
use crate::http::response::ApiResponse;
use crate::http::steps::Step;
use crate::http::tally::{self, Tally};
use crate::net::peer::Peer;
use http::{HeaderValue, header};
use rawline_broker::metrics::{MICROSECONDS, TIME_BOUNDS, TIMES};
use rawline_contract::timestamp;
use serde::{Serialize, Serializer};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// Short enough to see a burst, long enough that an hour is a small response.
const STEP: Duration = Duration::from_secs(10);

/// The counters since the process started, and the current gauges.
#[derive(Debug, Clone, PartialEq)]
struct Reading {
    at: Instant,
    tally: Tally,
    pool_used_bytes: u64,
    connections: u64,
    waits: u64,
}

/// Adds a step every ten seconds, as long as it is polled.
pub(crate) async fn sample(api: &Api) {
    let mut before = read(api);
    let mut ticks = interval_at(before.at + STEP, STEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let now = read(api);
        api.stats.push(step(&before, &now, api.clock.now_us()));
        before = now;
    }
}

/// The current counters and gauges.
fn read(api: &Api) -> Reading {
    Reading {
        at: Instant::now(),
        tally: tally::read(&api.metrics),
        pool_used_bytes: api.pool.bytes() - api.pool.bytes_free(),
        connections: (api.config.connections_max - api.crowd.free_places().min(api.config.connections_max)) as u64,
        waits: (api.waits_max - api.waits.available_permits().min(api.waits_max)) as u64,
    }
}

/// The difference between two readings.
fn step(before: &Reading, now: &Reading, end_us: u64) -> Step {
    let Tally { mut counters, mut commits, commits_all } = now.tally;
    for (counter, before) in counters.iter_mut().zip(before.tally.counters) {
        *counter = counter.saturating_sub(before);
    }
    for (bucket, before) in commits.iter_mut().zip(before.tally.commits) {
        *bucket = bucket.saturating_sub(before);
    }
    let commits_all = commits_all.saturating_sub(before.tally.commits_all);
    Step {
        end_us,
        took: now.at - before.at,
        counters,
        commits: commits_all,
        commit_p50_seconds: quantile(&commits, commits_all, 0.5),
        commit_p99_seconds: quantile(&commits, commits_all, 0.99),
        pool_used_bytes: now.pool_used_bytes,
        connections: now.connections,
        waits: now.waits,
    }
}

/// A quantile in seconds, as Prometheus estimates it: durations are spread evenly between two bounds. Above the highest
/// bound nothing is known but that. `None` without commits.
fn quantile(commits: &[u64; TIMES], all: u64, quantile: f64) -> Option<f64> {
    if all == 0 {
        return None;
    }
    let rank = quantile * all as f64;
    let (mut lower, mut below) = (0.0, 0);
    for (bound, &count) in TIME_BOUNDS.iter().zip(commits) {
        let upper = *bound as f64 / MICROSECONDS;
        if count as f64 >= rank {
            return Some(lower + (upper - lower) * (rank - below as f64) / (count - below) as f64);
        }
        (lower, below) = (upper, count);
    }
    Some(lower)
}

/// The response: a list for each member of a step, so that an hour has few names.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    started_at: jiff::Timestamp,
    memory_bytes: u64,
    pool_bytes: u64,
    connections_max: usize,
    topics: usize,
    failed_topics: usize,
    step_seconds: u64,
    steps: Lists<'a>,
}

struct Lists<'a>(&'a [Step]);

impl Serialize for Lists<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        let steps = self.0;
        let integers = |of: fn(&Step) -> u64| steps.iter().map(of).collect::<Vec<_>>();
        map.serialize_entry("end_ms", &integers(|step| step.end_us / 1000))?;
        map.serialize_entry("took_ms", &integers(|step| step.took.as_millis() as u64))?;
        for (index, name) in tally::names().enumerate() {
            let counts = steps.iter().filter_map(|step| step.counters.get(index));
            map.serialize_entry(name, &counts.collect::<Vec<_>>())?;
        }
        map.serialize_entry("commits", &integers(|step| step.commits))?;
        let seconds = |of: fn(&Step) -> Option<f64>| steps.iter().map(of).collect::<Vec<_>>();
        map.serialize_entry("commit_p50_seconds", &seconds(|step| step.commit_p50_seconds))?;
        map.serialize_entry("commit_p99_seconds", &seconds(|step| step.commit_p99_seconds))?;
        map.serialize_entry("pool_used_bytes", &integers(|step| step.pool_used_bytes))?;
        map.serialize_entry("connections", &integers(|step| step.connections))?;
        map.serialize_entry("waits", &integers(|step| step.waits))?;
        map.end()
    }
}

/// The last hour.
pub(crate) async fn stats(api: &Api, peer: &Peer) -> Result<ApiResponse, ApiError> {
    let steps = api.stats.all();
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        started_at: timestamp(api.started_us),
        memory_bytes: api.config.memory_bytes,
        pool_bytes: api.pool.bytes(),
        connections_max: api.config.connections_max,
        topics: api.broker.topics_count(),
        failed_topics: api.broker.failed_topics().len(),
        step_seconds: STEP.as_secs(),
        steps: Lists(&steps),
    };
    let mut response = render::value(api, peer, &report).await?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::steps::{STEPS_MAX, Stats};
    use crate::http::tally::COUNTERS_LEN;

    #[test]
    fn quantiles_lie_between_the_bounds_of_their_bucket() {
        let quantile = |counts: &[(usize, u64)], of| {
            let mut commits = [0; TIMES];
            for &(from, count) in counts {
                commits[from..].iter_mut().for_each(|bucket| *bucket += count);
            }
            quantile(&commits, counts.iter().map(|(_, count)| count).sum(), of)
        };
        assert_eq!(quantile(&[], 0.5), None);
        // Between 1 and 2 ms.
        let one = quantile(&[(4, 100)], 0.5).unwrap();
        assert!((one - 0.0015).abs() < 1e-9, "{one}");
        let two = [(4, 90), (7, 10)];
        assert!(quantile(&two, 0.5).unwrap() < 0.002);
        let p99 = quantile(&two, 0.99).unwrap();
        assert!(0.01 < p99 && p99 < 0.02, "{p99}");
        assert_eq!(quantile(&[(TIMES, 1)], 0.5), Some(30.0), "above the highest bound");
    }

    #[test]
    fn a_step_is_the_difference_of_two_readings_and_an_hour_of_them_is_kept() {
        let at = Instant::now();
        let reading = |seconds: u64, count: u64| Reading {
            at: at + Duration::from_secs(seconds),
            tally: Tally { counters: [count; COUNTERS_LEN], commits: [count; TIMES], commits_all: count },
            pool_used_bytes: count,
            connections: 1,
            waits: 0,
        };
        let stats = Stats::new();
        for number in 0..=STEPS_MAX as u64 {
            stats.push(step(&reading(number * 10, number), &reading(number * 10 + 10, number + 3), number));
        }
        let steps = stats.all();
        assert_eq!((steps.len(), steps[0].end_us), (STEPS_MAX, 1));
        let last = steps.last().unwrap();
        assert_eq!((last.counters, last.commits, last.took), ([3; COUNTERS_LEN], 3, STEP));
        assert_eq!(last.pool_used_bytes, STEPS_MAX as u64 + 3);
    }
}
