//! The metrics of the server, and `/metrics`, which returns them and the broker's in Prometheus' text format.

use crate::http::routes;
use crate::http::tally::Tallying;
use http::StatusCode;
use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use rawline_broker::CommitCounts;
use rawline_broker::pool::Pool;
use std::sync::OnceLock;
use std::time::Duration;

/// Bounds of time histograms in seconds: from a tenth of an append to a long poll.
pub(crate) const SECONDS: &[f64] =
    &[0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];

/// Bounds of size histograms in bytes.
const BYTES: &[f64] =
    &[256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 10485760.0, 67108864.0];

/// One second of requests to a busy broker takes a megabyte until it is summed up.
const TIDY_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct HttpMetrics {
    handle: PrometheusHandle,
    records_in: Counter,
    bytes_in: Counter,
    records_out: Counter,
    bytes_out: Counter,
    /// Of subscriptions.
    pub subscriptions: SubscriptionMetrics,
    verbs: Vec<Verb>,
}

/// The metrics of subscriptions.
pub(crate) struct SubscriptionMetrics {
    open: Gauge,
    records: Counter,
    bytes: Counter,
    skipped: Counter,
    disconnected: Counter,
}

/// A subscription that is open until this is dropped.
pub(crate) struct SubscriberGuard(Gauge);

impl SubscriptionMetrics {
    fn new() -> Self {
        SubscriptionMetrics {
            open: gauge!("rawline_subscriptions"),
            records: counter!("rawline_subscription_records_total"),
            bytes: counter!("rawline_subscription_bytes_total"),
            skipped: counter!("rawline_subscription_skipped_records_total"),
            disconnected: counter!("rawline_subscription_slow_total"),
        }
    }

    /// A subscription begins.
    pub fn begin(&self) -> SubscriberGuard {
        self.open.increment(1.0);
        SubscriberGuard(self.open.clone())
    }

    pub fn delivered(&self, records: u64, bytes: u64) {
        self.records.increment(records);
        self.bytes.increment(bytes);
    }

    pub fn skipped(&self, records: u64) {
        self.skipped.increment(records);
    }

    /// A subscription ends because its subscriber is too slow.
    pub fn disconnected(&self) {
        self.disconnected.increment(1);
    }
}

impl Drop for SubscriberGuard {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// The metrics of the requests with one label. Finding one by its labels costs more than counting.
struct Verb {
    label: &'static str,
    seconds: Histogram,
    /// By status; each exists once it is not 0.
    requests: [(&'static str, OnceLock<Counter>); 4],
}

/// The process' one recorder.
fn recorder() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    let install = || {
        let builder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), SECONDS)
            .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("commit_bytes".into()), BYTES));
        // This fails only for an empty list of bounds.
        let recorder = builder.unwrap_or_default().build_recorder();
        let handle = recorder.handle();
        if metrics::set_global_recorder(Tallying(recorder)).is_err() {
            tracing::warn!("the process has another metrics recorder; /metrics will be empty");
        }
        describe();
        handle
    };
    HANDLE.get_or_init(install).clone()
}

/// Installs the recorder, so that nothing is lost that is counted before the first request.
pub fn install() {
    recorder();
}

fn describe() {
    describe_counter!("rawline_append_records_total", "Records received in checked batches");
    describe_counter!("rawline_append_bytes_total", "Bytes received in checked batches");
    describe_counter!("rawline_read_records_total", "Records returned");
    describe_counter!("rawline_read_bytes_total", "Bytes of responses that return records");
    describe_gauge!("rawline_subscriptions", "Open subscriptions");
    describe_counter!("rawline_subscription_records_total", "Records delivered to subscriptions");
    describe_counter!("rawline_subscription_bytes_total", "Bytes delivered to subscriptions");
    describe_counter!(
        "rawline_subscription_skipped_records_total",
        "Records that subscriptions were not sent, because they were deleted before or the subscriber was too slow"
    );
    describe_counter!("rawline_subscription_slow_total", "Subscriptions ended because the subscriber was too slow");
    describe_counter!("rawline_deleted_records_total", "Records deleted from the fronts of topics");
    describe_counter!("rawline_deleted_bytes_total", "Bytes of objects deleted from the fronts of topics");
    describe_gauge!("rawline_start_time_seconds", "When the broker began to serve, in seconds since the Unix epoch");
    describe_counter!("rawline_bucket_requests_total", "Requests sent to the bucket, by operation");
    describe_counter!("rawline_bucket_sent_bytes_total", "Bytes of requests to the bucket");
    describe_counter!("rawline_bucket_received_bytes_total", "Bytes of responses from the bucket");
    describe_histogram!("rawline_commit_bytes", "Size of an object in bytes");
    describe_histogram!("rawline_commit_seconds", "From the first batch of a commit to the store's response");
    describe_counter!("rawline_http_requests_total", "Requests, by verb and status");
    describe_histogram!("rawline_http_request_seconds", "From the head of a request to that of its response, by verb");
    describe_gauge!("rawline_memory_bytes", "Memory of connections and the buffer pool in bytes");
    describe_gauge!("rawline_pool_bytes", "Size of the buffer pool in bytes");
    describe_gauge!("rawline_pool_free_bytes", "Bytes of the buffer pool that are not reserved");
}

impl HttpMetrics {
    pub fn new() -> Self {
        let handle = recorder();
        HttpMetrics {
            handle,
            records_in: counter!("rawline_append_records_total"),
            bytes_in: counter!("rawline_append_bytes_total"),
            records_out: counter!("rawline_read_records_total"),
            bytes_out: counter!("rawline_read_bytes_total"),
            subscriptions: SubscriptionMetrics::new(),
            verbs: routes::labels().into_iter().map(Verb::new).collect(),
        }
    }

    pub fn received(&self, records: u64, bytes: u64) {
        self.records_in.increment(records);
        self.bytes_in.increment(bytes);
    }

    pub fn returned(&self, records: u64, bytes: u64) {
        self.records_out.increment(records);
        self.bytes_out.increment(bytes);
    }

    /// The broker begins to serve at this time, in microseconds since the Unix epoch.
    pub fn started(&self, now_us: u64) {
        gauge!("rawline_start_time_seconds").set(now_us as f64 / 1e6);
    }

    pub fn responded(&self, verb: &'static str, status: StatusCode, took: Duration) {
        let known = self.verbs.iter().find(|known| known.label == verb);
        let Some(Verb { seconds, requests, .. }) = known else { unreachable!("{verb} is no route's label") };
        let status = status_label(status);
        let Some((_, requests)) = requests.iter().find(|(label, _)| *label == status) else {
            unreachable!("requests with status {status} are not counted")
        };
        let first = || counter!("rawline_http_requests_total", "verb" => verb, "status" => status);
        requests.get_or_init(first).increment(1);
        seconds.record(took.as_secs_f64());
    }

    /// Sums up histograms regularly, until aborted: otherwise they keep every value until the next `/metrics`.
    pub fn tidy(&self) -> tokio::task::AbortHandle {
        let handle = self.handle.clone();
        #[expect(clippy::disallowed_methods, reason = "runs as long as the server")]
        let tidying = tokio::spawn(async move {
            loop {
                tokio::time::sleep(TIDY_EVERY).await;
                handle.run_upkeep();
            }
        });
        tidying.abort_handle()
    }

    /// The metrics of the process as text, without those by topic.
    pub fn text(&self) -> String {
        self.handle.run_upkeep();
        self.handle.render()
    }

    pub fn render(&self, pool: &Pool, memory_bytes: u64) -> String {
        gauge!("rawline_memory_bytes").set(memory_bytes as f64);
        gauge!("rawline_pool_bytes").set(pool.bytes() as f64);
        gauge!("rawline_pool_free_bytes").set(pool.bytes_free() as f64);
        let mut text = self.text();
        commits(&mut text, &rawline_broker::commit_counts());
        text
    }
}

/// Adds the counters by topic. The recorder would keep those of deleted topics.
fn commits(text: &mut String, topics: &[CommitCounts]) {
    type Count = fn(&CommitCounts) -> u64;
    let counters: [(&str, &str, Count); 3] = [
        ("rawline_commit_records_total", "Records stored, by topic", |topic| topic.records),
        ("rawline_commit_bytes_total", "Bytes stored, by topic", |topic| topic.bytes),
        ("rawline_commit_failures_total", "Commits that failed in the store, by topic", |topic| topic.failures),
    ];
    for (name, help, count) in counters.into_iter().filter(|_| !topics.is_empty()) {
        text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} counter\n"));
        for counts in topics {
            // Names of topics have no character that a label would have to escape.
            text.push_str(&format!("{name}{{topic=\"{}\"}} {}\n", counts.topic, count(counts)));
        }
        text.push('\n');
    }
}

impl Verb {
    fn new(label: &'static str) -> Verb {
        let seconds = histogram!("rawline_http_request_seconds", "verb" => label);
        Verb { label, seconds, requests: ["2xx", "503", "4xx", "5xx"].map(|status| (status, OnceLock::new())) }
    }
}

fn status_label(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200..300 => "2xx",
        503 => "503",
        400..500 => "4xx",
        _ => "5xx",
    }
}
