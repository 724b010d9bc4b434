//! What the servers of a broker count, for `/metrics` and `/stats`: one [`ServerMetrics`] for both protocols.

pub(crate) mod groups;
mod kafka_errors;
mod process;
mod subscriptions;
mod traffic;

pub(crate) use subscriptions::SubscriberGuard;
pub(crate) use traffic::{Metered, Protocol, Verb};

use http::StatusCode;
use kafka_errors::KafkaErrors;
use rawline_broker::metrics::{Gauge, MICROSECONDS, Sharded, TIME_BOUNDS, TIMES, Text, Values, families};
use rawline_kafka::Api as KafkaApi;
use std::sync::Arc;
use std::time::Duration;
use subscriptions::SubscriptionMetrics;
use traffic::{ALWAYS_SHOWN, Flow, Traffic};

/// What was built, for `rawline_build_info`.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// The version of the program.
    pub version: &'static str,
    /// The commit that it was built from.
    pub commit: &'static str,
    /// Its features.
    pub features: &'static str,
}

impl Default for Build {
    fn default() -> Build {
        Build { version: env!("CARGO_PKG_VERSION"), commit: "unknown", features: "" }
    }
}

/// The counters of a broker's servers.
#[derive(Debug)]
pub struct ServerMetrics {
    traffic: Box<Sharded<Traffic>>,
    pub(crate) subscriptions: SubscriptionMetrics,
    kafka_errors: KafkaErrors,
    /// By protocol.
    connections: [Arc<Gauge>; Protocol::COUNT],
}

/// A connection that is open until this is dropped.
pub(crate) struct OpenConnection(Arc<Gauge>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.decrement();
    }
}

impl Default for ServerMetrics {
    fn default() -> ServerMetrics {
        ServerMetrics {
            traffic: Sharded::new(Traffic::new),
            subscriptions: SubscriptionMetrics::default(),
            kafka_errors: KafkaErrors::default(),
            connections: Default::default(),
        }
    }
}

impl ServerMetrics {
    /// A connection begins to use this protocol.
    pub(crate) fn open(&self, protocol: Protocol) -> OpenConnection {
        let open = protocol.of(&self.connections);
        open.increment();
        OpenConnection(open.clone())
    }

    /// Records were received in valid batches.
    pub(crate) fn received(&self, protocol: Protocol, records: u64, bytes: u64) {
        protocol.of(&self.traffic.own().received).add(records, bytes);
    }

    /// Records are returned.
    pub(crate) fn returned(&self, protocol: Protocol, records: u64, bytes: u64) {
        protocol.of(&self.traffic.own().returned).add(records, bytes);
    }

    /// A request over HTTP has its response.
    pub(crate) fn responded(&self, verb: Verb, status: StatusCode, took: Duration) {
        self.traffic.own().responded(verb, status, took);
    }

    /// A request of Kafka's protocol has its response, with this error, which is 0 without one.
    pub(crate) fn responded_kafka(&self, api: KafkaApi, error: i16, took: Duration) {
        self.traffic.own().kafka(api).record_time(took);
        if error != 0 {
            self.kafka_errors.add(api, error);
        }
    }

    /// A request was refused or delayed because its key has used its quota.
    pub(crate) fn exceeded(&self, protocol: Protocol, operation: Metered) {
        self.traffic.own().exceeded(protocol, operation).add(1);
    }

    /// Records and bytes that were received and returned, over all protocols.
    pub(crate) fn totals(&self) -> [u64; 4] {
        let sum = |of: fn(&Traffic) -> &[Flow; Protocol::COUNT], part: fn(&Flow) -> u64| {
            self.traffic.all().flat_map(of).map(part).sum()
        };
        [
            sum(|traffic| &traffic.received, Flow::records),
            sum(|traffic| &traffic.received, Flow::bytes),
            sum(|traffic| &traffic.returned, Flow::records),
            sum(|traffic| &traffic.returned, Flow::bytes),
        ]
    }

    /// Adds all of it.
    pub(crate) fn render(&self, text: &mut Text) {
        self.render_flows(text);
        self.render_http(text);
        self.render_kafka(text);
        let open = Protocol::CONNECTED.map(|protocol| ([protocol.name()], protocol.of(&self.connections).get()));
        text.gauges(&families::CONNECTIONS, open);
        let exceeded = Protocol::ALL.into_iter().flat_map(|protocol| {
            Metered::ALL.map(|operation| {
                let count: u64 = self.traffic.all().map(|traffic| traffic.exceeded(protocol, operation).get()).sum();
                ([protocol.name(), operation.name()], count)
            })
        });
        text.counters(&families::QUOTA_EXCEEDED, exceeded);
        self.subscriptions.render(text);
    }

    fn render_flows(&self, text: &mut Text) {
        let sums = |protocols: &'static [Protocol],
                    of: fn(&Traffic) -> &[Flow; Protocol::COUNT],
                    part: fn(&Flow) -> u64| {
            let sum = move |protocol: Protocol| self.traffic.all().map(|traffic| part(protocol.of(of(traffic)))).sum();
            protocols.iter().map(move |protocol| ([protocol.name()], sum(*protocol))).collect::<Vec<([_; 1], u64)>>()
        };
        text.counters(&families::APPEND_RECORDS, sums(&Protocol::APPENDS, |traffic| &traffic.received, Flow::records));
        text.counters(&families::APPEND_BYTES, sums(&Protocol::APPENDS, |traffic| &traffic.received, Flow::bytes));
        let errors = |verbs: &[Verb], api| {
            let http: u64 = verbs.iter().map(|verb| self.http_errors(*verb)).sum();
            [([Protocol::Http.name()], http), ([Protocol::Kafka.name()], self.kafka_errors.of(api))]
        };
        let seconds = |verbs: &[Verb], api| {
            let of_verbs = self.traffic.all().flat_map(|traffic| verbs.iter().map(|verb| traffic.seconds(*verb)));
            [
                ([Protocol::Http.name()], Values::of(&TIME_BOUNDS, of_verbs)),
                ([Protocol::Kafka.name()], self.kafka_seconds(api)),
            ]
        };
        text.counters(&families::APPEND_ERRORS, errors(&[Verb::Append], KafkaApi::Produce));
        text.histograms(&families::APPEND_SECONDS, MICROSECONDS, seconds(&[Verb::Append], KafkaApi::Produce));
        text.counters(&families::READ_RECORDS, sums(&Protocol::ALL, |traffic| &traffic.returned, Flow::records));
        text.counters(&families::READ_BYTES, sums(&Protocol::ALL, |traffic| &traffic.returned, Flow::bytes));
        text.counters(&families::READ_ERRORS, errors(&[Verb::Read, Verb::ReadOne], KafkaApi::Fetch));
        let reads = seconds(&[Verb::Read, Verb::ReadOne], KafkaApi::Fetch);
        text.histograms(&families::READ_SECONDS, MICROSECONDS, reads);
    }

    fn http_errors(&self, verb: Verb) -> u64 {
        self.traffic
            .all()
            .flat_map(|traffic| traffic.statuses(verb))
            .filter(|(status, _)| *status != "2xx")
            .map(|(_, count)| count)
            .sum()
    }

    fn render_http(&self, text: &mut Text) {
        let requests = Verb::ALL.into_iter().flat_map(|verb| {
            traffic::STATUSES.map(|status| {
                let of_status = |traffic: &Traffic| traffic.statuses(verb).find(|(found, _)| *found == status);
                let count: u64 = self.traffic.all().filter_map(of_status).map(|(_, count)| count).sum();
                ([verb.name(), status], count)
            })
        });
        text.counters(&families::HTTP_REQUESTS, requests);
        let seconds = Verb::ALL.map(|verb| {
            let of_verb = self.traffic.all().map(|traffic| traffic.seconds(verb));
            ([verb.name()], Values::of(&TIME_BOUNDS, of_verb))
        });
        text.histograms(&families::HTTP_SECONDS, MICROSECONDS, seconds);
    }

    /// Of the APIs that were used: most have one client, or none.
    fn render_kafka(&self, text: &mut Text) {
        let used = KafkaApi::ALL.iter().map(|api| (*api, self.kafka_seconds(*api)));
        let used: Vec<_> = used.filter(|(api, seconds)| seconds.count > 0 || ALWAYS_SHOWN.contains(api)).collect();
        text.counters(&families::KAFKA_REQUESTS, used.iter().map(|(api, seconds)| ([api.name()], seconds.count)));
        self.kafka_errors.render(text);
        let seconds = used.into_iter().map(|(api, seconds)| ([api.name()], seconds));
        text.histograms(&families::KAFKA_SECONDS, MICROSECONDS, seconds);
    }

    fn kafka_seconds(&self, api: KafkaApi) -> Values<TIMES> {
        Values::of(&TIME_BOUNDS, self.traffic.all().map(|traffic| traffic.kafka(api)))
    }
}

/// Adds what is known of the process.
pub(crate) fn render_process(text: &mut Text) {
    process::render(text);
}
