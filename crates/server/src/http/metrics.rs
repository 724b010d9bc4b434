//! The server's metrics, and `/metrics`, which returns these and the broker's in Prometheus' text format.

use crate::http::routes;
use http::StatusCode;
use rawline_broker::metrics::{Counter, Gauge, Histogram, METRICS, MICROSECONDS, TIME_BOUNDS, TIMES, Text};
use rawline_broker::pool::Pool;
use std::sync::Arc;
use std::time::Duration;

/// The metrics of a server.
#[derive(Default)]
pub(crate) struct HttpMetrics {
    started_us: u64,
    pub records_in: Counter,
    pub bytes_in: Counter,
    pub records_out: Counter,
    pub bytes_out: Counter,
    pub subscriptions: SubscriptionMetrics,
    verbs: Vec<Verb>,
}

/// The metrics of subscriptions.
#[derive(Default)]
pub(crate) struct SubscriptionMetrics {
    open: Arc<Gauge>,
    records: Counter,
    bytes: Counter,
    skipped: Counter,
    disconnected: Counter,
}

/// A subscription that is open until this is dropped.
pub(crate) struct SubscriberGuard(Arc<Gauge>);

impl SubscriptionMetrics {
    /// A subscription begins.
    pub fn begin(&self) -> SubscriberGuard {
        self.open.increment();
        SubscriberGuard(self.open.clone())
    }

    pub fn delivered(&self, records: u64, bytes: u64) {
        self.records.add(records);
        self.bytes.add(bytes);
    }

    pub fn skipped(&self, records: u64) {
        self.skipped.add(records);
    }

    /// A subscription ends because its subscriber is too slow.
    pub fn disconnected(&self) {
        self.disconnected.add(1);
    }

    fn render(&self, text: &mut Text) {
        text.gauge("rawline_subscriptions", "Open subscriptions", self.open.get());
        let help = "Records delivered to subscriptions";
        text.counter("rawline_subscription_records_total", help, self.records.get());
        let help = "Bytes delivered to subscriptions";
        text.counter("rawline_subscription_bytes_total", help, self.bytes.get());
        let help = "Records not sent to subscriptions: deleted before, or the subscriber was too slow";
        text.counter("rawline_subscription_skipped_records_total", help, self.skipped.get());
        let help = "Subscriptions ended because the subscriber was too slow";
        text.counter("rawline_subscription_slow_total", help, self.disconnected.get());
    }
}

impl Drop for SubscriberGuard {
    fn drop(&mut self) {
        self.0.decrement();
    }
}

/// The metrics of the requests with one label.
struct Verb {
    label: &'static str,
    seconds: Histogram<TIMES>,
    /// By status; each is shown once it is not 0.
    requests: [(&'static str, Counter); 4],
}

impl HttpMetrics {
    /// Of a server that begins at this time, in microseconds since the Unix epoch.
    pub fn new(started_us: u64) -> Self {
        let verbs = routes::labels().into_iter().map(Verb::new).collect();
        HttpMetrics { started_us, verbs, ..HttpMetrics::default() }
    }

    pub fn received(&self, records: u64, bytes: u64) {
        self.records_in.add(records);
        self.bytes_in.add(bytes);
    }

    pub fn returned(&self, records: u64, bytes: u64) {
        self.records_out.add(records);
        self.bytes_out.add(bytes);
    }

    pub fn responded(&self, verb: &'static str, status: StatusCode, took: Duration) {
        let known = self.verbs.iter().find(|known| known.label == verb);
        let Some(Verb { seconds, requests, .. }) = known else { unreachable!("{verb} is no route's label") };
        let status = status_label(status);
        let Some((_, requests)) = requests.iter().find(|(label, _)| *label == status) else {
            unreachable!("requests with status {status} are not counted")
        };
        requests.add(1);
        seconds.record_time(took);
    }

    /// All metrics as text.
    pub fn render(&self, pool: &Pool, memory_bytes: u64) -> String {
        let mut text = Text::default();
        let help = "When the broker began to serve, in seconds since the Unix epoch";
        text.gauge("rawline_start_time_seconds", help, self.started_us as f64 / 1e6);
        text.gauge("rawline_memory_bytes", "Memory of connections and the buffer pool in bytes", memory_bytes);
        text.gauge("rawline_pool_bytes", "Size of the buffer pool in bytes", pool.bytes());
        text.gauge("rawline_pool_free_bytes", "Bytes of the buffer pool that are not reserved", pool.bytes_free());
        let help = "Records received in checked batches";
        text.counter("rawline_append_records_total", help, self.records_in.get());
        text.counter("rawline_append_bytes_total", "Bytes received in checked batches", self.bytes_in.get());
        text.counter("rawline_read_records_total", "Records returned", self.records_out.get());
        let help = "Bytes of responses that return records";
        text.counter("rawline_read_bytes_total", help, self.bytes_out.get());
        self.subscriptions.render(&mut text);
        self.render_verbs(&mut text);
        METRICS.render(&mut text);
        text.into_string()
    }

    fn render_verbs(&self, text: &mut Text) {
        let statuses = |verb: &'static str| {
            move |(status, count): &(_, Counter)| ([("verb", verb), ("status", *status)], count.get())
        };
        let requests = self.verbs.iter().flat_map(|verb| verb.requests.iter().map(statuses(verb.label)));
        let requests: Vec<_> = requests.filter(|(_, count)| *count > 0).collect();
        let series = requests.iter().map(|(labels, count)| (&labels[..], *count));
        text.counters("rawline_http_requests_total", "Requests, by verb and status", series);
        let labels: Vec<_> = self.verbs.iter().map(|verb| [("verb", verb.label)]).collect();
        let series = labels.iter().zip(&self.verbs).map(|(labels, verb)| (&labels[..], &verb.seconds));
        let help = "Time from a request's head to its response's head, by verb";
        text.histograms("rawline_http_request_seconds", help, MICROSECONDS, series);
    }
}

impl Verb {
    fn new(label: &'static str) -> Verb {
        let requests = ["2xx", "503", "4xx", "5xx"].map(|status| (status, Counter::new()));
        Verb { label, seconds: Histogram::new(&TIME_BOUNDS), requests }
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
