//! Requests, records and bytes, counted by each thread.

use http::StatusCode;
use rawline_broker::metrics::{Counter, Histogram, TIME_BOUNDS, TIMES};
use rawline_kafka::Api as KafkaApi;
use std::time::Duration;

/// The label `protocol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Kafka,
    /// Subscriptions over server-sent events.
    Sse,
    /// Subscriptions over a WebSocket.
    WebSocket,
    /// Zeek's WebSocket.
    Zeek,
}

impl Protocol {
    pub const COUNT: usize = 5;
    pub const ALL: [Protocol; Protocol::COUNT] =
        [Protocol::Http, Protocol::Kafka, Protocol::Sse, Protocol::WebSocket, Protocol::Zeek];
    /// Those of appends.
    pub const APPENDS: [Protocol; 3] = [Protocol::Http, Protocol::Kafka, Protocol::Zeek];
    /// Those of connections: one over HTTP becomes one of a WebSocket, whatever is said on it.
    pub const CONNECTED: [Protocol; 3] = [Protocol::Http, Protocol::Kafka, Protocol::WebSocket];

    pub fn name(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::Kafka => "kafka",
            Protocol::Sse => "sse",
            Protocol::WebSocket => "websocket",
            Protocol::Zeek => "zeek",
        }
    }

    /// The protocol's part.
    pub fn of<T>(self, all: &[T; Protocol::COUNT]) -> &T {
        let [http, kafka, sse, websocket, zeek] = all;
        match self {
            Protocol::Http => http,
            Protocol::Kafka => kafka,
            Protocol::Sse => sse,
            Protocol::WebSocket => websocket,
            Protocol::Zeek => zeek,
        }
    }
}

/// The label `operation` of quotas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metered {
    Append,
    Read,
}

impl Metered {
    pub const ALL: [Metered; 2] = [Metered::Append, Metered::Read];

    pub fn name(self) -> &'static str {
        match self {
            Metered::Append => "append",
            Metered::Read => "read",
        }
    }
}

/// The label `verb` of requests over HTTP: a closed list, so that requests can't create series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Append,
    Read,
    ReadOne,
    Topics,
    Groups,
    Subscribe,
    /// Also of requests that have no route.
    Other,
}

impl Verb {
    const COUNT: usize = 7;
    pub const ALL: [Verb; Verb::COUNT] =
        [Verb::Append, Verb::Read, Verb::ReadOne, Verb::Topics, Verb::Groups, Verb::Subscribe, Verb::Other];

    pub fn name(self) -> &'static str {
        match self {
            Verb::Append => "append",
            Verb::Read => "read",
            Verb::ReadOne => "read_one",
            Verb::Topics => "topics",
            Verb::Groups => "groups",
            Verb::Subscribe => "subscribe",
            Verb::Other => "other",
        }
    }
}

/// The label `status` of requests over HTTP.
pub(super) const STATUSES: [&str; 4] = ["2xx", "4xx", "5xx", "503"];

fn place_of(status: StatusCode) -> usize {
    match status.as_u16() {
        200..300 => 0,
        400..500 => 1,
        503 => 3,
        _ => 2,
    }
}

/// The APIs that are shown before they are used: those of records.
pub(super) const ALWAYS_SHOWN: [KafkaApi; 2] = [KafkaApi::Produce, KafkaApi::Fetch];

/// Records and their bytes.
#[derive(Debug, Default)]
pub(super) struct Flow {
    records: Counter,
    bytes: Counter,
}

impl Flow {
    pub fn add(&self, records: u64, bytes: u64) {
        self.records.add(records);
        self.bytes.add(bytes);
    }

    pub fn records(&self) -> u64 {
        self.records.get()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}

/// The requests over HTTP with one verb.
#[derive(Debug)]
struct OfVerb {
    seconds: Histogram<TIMES>,
    /// In the order of [`STATUSES`].
    statuses: [Counter; 4],
}

/// The counters of one thread.
#[derive(Debug)]
pub(super) struct Traffic {
    pub received: [Flow; Protocol::COUNT],
    pub returned: [Flow; Protocol::COUNT],
    /// In the order of [`Verb::ALL`].
    http: [OfVerb; Verb::COUNT],
    /// In the order of [`KafkaApi::ALL`].
    kafka: [Histogram<TIMES>; KafkaApi::ALL.len()],
    /// By operation.
    exceeded: [[Counter; Protocol::COUNT]; 2],
}

impl Traffic {
    pub fn new() -> Traffic {
        let of_verb = |_| OfVerb { seconds: Histogram::new(&TIME_BOUNDS), statuses: Default::default() };
        Traffic {
            received: Default::default(),
            returned: Default::default(),
            http: std::array::from_fn(of_verb),
            kafka: std::array::from_fn(|_| Histogram::new(&TIME_BOUNDS)),
            exceeded: Default::default(),
        }
    }

    fn verb(&self, verb: Verb) -> &OfVerb {
        match self.http.get(verb as usize) {
            Some(found) => found,
            None => unreachable!("{verb:?} has no counters"),
        }
    }

    pub fn responded(&self, verb: Verb, status: StatusCode, took: Duration) {
        let OfVerb { seconds, statuses } = self.verb(verb);
        let Some(count) = statuses.get(place_of(status)) else { unreachable!("{status} isn't counted") };
        count.add(1);
        seconds.record_time(took);
    }

    pub fn seconds(&self, verb: Verb) -> &Histogram<TIMES> {
        &self.verb(verb).seconds
    }

    /// Requests by status.
    pub fn statuses(&self, verb: Verb) -> impl Iterator<Item = (&'static str, u64)> {
        STATUSES.into_iter().zip(self.verb(verb).statuses.iter().map(Counter::get))
    }

    /// The durations of an API's requests.
    pub fn kafka(&self, api: KafkaApi) -> &Histogram<TIMES> {
        match self.kafka.get(api.place()) {
            Some(found) => found,
            None => unreachable!("{api:?} has no counters"),
        }
    }

    /// Requests that met a quota.
    pub fn exceeded(&self, protocol: Protocol, operation: Metered) -> &Counter {
        let [appends, reads] = &self.exceeded;
        protocol.of(match operation {
            Metered::Append => appends,
            Metered::Read => reads,
        })
    }
}
