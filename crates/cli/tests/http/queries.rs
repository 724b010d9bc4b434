//! Queries of measurements are limited: in number, in time, and to clients that wait for them. A source of the test's
//! own takes as long as the test wants.

use crate::broker::{InProcess, pause};
use crate::client::*;
use futures_util::FutureExt;
use rawline_server::http::HttpConfig;
use rawline_server::{Answering, Kind, Measurements, MeasurementsError, Question};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Responds to `fast` with its metrics, and to `full` with the error of a full storage; never responds to others.
#[derive(Debug, Default)]
struct Source {
    running: Arc<AtomicUsize>,
}

/// Counts a query until it is dropped.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Measurements for Source {
    fn topics(&self) -> Answering<'_, Vec<String>> {
        std::future::ready(Ok(vec!["fast".to_owned()])).boxed_local()
    }

    fn answer<'a>(&'a self, question: &'a Question) -> Answering<'a, String> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let running = Running(self.running.clone());
        async move {
            let _running = running;
            match question {
                Question::Metrics { topic, search } if topic == "fast" => Ok(json!({"search": search}).to_string()),
                Question::Metrics { topic, .. } if topic == "full" => {
                    Err(MeasurementsError::Store { kind: Kind::Wait, reason: "the storage is full".to_owned() })
                }
                Question::Metrics { topic, .. } if topic == "large" => Ok("x".repeat(9 << 20)),
                _ => std::future::pending().await,
            }
        }
        .boxed_local()
    }
}

fn served(query_time: Duration) -> (InProcess, Arc<AtomicUsize>) {
    let source = Source::default();
    let running = source.running.clone();
    let config = HttpConfig {
        measurements: Some(Arc::new(source)),
        query_time,
        pool_wait: Duration::from_millis(50),
        ..HttpConfig::default()
    };
    (InProcess::start(config, 32 << 20), running)
}

fn metrics(topic: &str) -> Vec<u8> {
    request("GET", &format!("/measurements/metrics?topic-name={topic}&search=a%2Cb"), &[], b"")
}

fn wait_for(running: &AtomicUsize, count: usize) {
    while running.load(Ordering::SeqCst) != count {
        pause();
    }
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_query_that_takes_too_long_ends_with_an_error() {
    let (served, running) = served(Duration::from_millis(20));
    let answer = exchange(served.address, &metrics("slow"));
    answer.assert_error(400, "query_slow");
    assert_eq!(running.load(Ordering::SeqCst), 0, "it doesn't run on");
    assert_eq!(exchange(served.address, &metrics("fast")).json(), json!({"search": "a,b"}));
}

#[test]
fn only_so_many_queries_run_at_once() {
    let (served, running) = served(HOUR);
    let mut busy: Vec<Connection> = (0..2).map(|_| Connection::open(served.address)).collect();
    busy.iter_mut().for_each(|connection| connection.send(&metrics("slow")));
    wait_for(&running, 2);
    let refused = exchange(served.address, &metrics("fast"));
    refused.assert_error(503, "queries_too_many");
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Whose client is gone makes room, and so does its memory.
    drop(busy);
    wait_for(&running, 0);
    while exchange(served.address, &metrics("fast")).status != 200 {
        pause();
    }
    while served.pool.bytes_free() != served.pool.bytes() {
        pause();
    }
}

#[test]
fn failures_and_large_answers_have_codes() {
    let (served, _) = served(HOUR);
    exchange(served.address, &metrics("full")).assert_error(503, "store_unavailable");
    // A quarter of the pool.
    exchange(served.address, &metrics("large")).assert_error(400, "measurements_too_many");
    let overview = exchange(served.address, &request("GET", "/measurements", &[], b""));
    assert_eq!(overview.json(), json!({"is_available": true, "topics": ["fast"]}));
}
