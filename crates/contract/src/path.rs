//! The paths of the API.

/// Append and read records.
pub const RECORDS: &str = "/records";
/// Read one record.
pub const RECORD: &str = "/record";
/// One topic: its extent and its settings; create and delete it.
pub const TOPIC: &str = "/topic";
/// Delete records from a topic's front.
pub const TRIM: &str = "/trim";
/// Open a new instance of a named producer.
pub const PRODUCER: &str = "/producer";
/// All topics.
pub const TOPICS: &str = "/topics";
/// Find an offset by time.
pub const OFFSET: &str = "/offset";
/// Search records by their contents.
pub const SEARCH: &str = "/search";
/// All groups of consumers.
pub const GROUPS: &str = "/groups";
/// One group: its members and its offsets; commit offsets, and delete them.
pub const GROUP: &str = "/group";
/// One member of a group: join, send heartbeats, leave.
pub const MEMBER: &str = "/member";
/// Records as they are stored, as server-sent events or over a WebSocket.
pub const SUBSCRIBE: &str = "/subscribe";
/// The WebSocket of Zeek's Broker.
pub const ZEEK: &str = "/v1/messages/json";
/// Create a ticket, which opens subscriptions instead of a key.
pub const TICKET: &str = "/ticket";
/// How busy the broker was during the last hour.
pub const STATS: &str = "/stats";
/// The topics that have measurements.
pub const MEASUREMENTS: &str = "/measurements";
/// The metrics of a topic's measurements.
pub const MEASUREMENT_METRICS: &str = "/measurements/metrics";
/// The tags of series, and their values.
pub const MEASUREMENT_TAGS: &str = "/measurements/tags";
/// The values of series over time.
pub const MEASUREMENT_QUERY: &str = "/measurements/query";
/// The brokers on the storage.
pub const BROKERS: &str = "/brokers";
/// The first step by which two brokers recognize each other on a connection.
pub const BROKER_HELLO: &str = "/brokers/hello";
/// The second step.
pub const BROKER_PROOF: &str = "/brokers/proof";
/// Changes of a broker's journals: from one broker to another.
pub const BROKER_CHANGES: &str = "/brokers/changes";
/// The files of the console, each below this path.
pub const CONSOLE: &str = "/console/";
/// Whether the broker works.
pub const HEALTH: &str = "/health";
/// Metrics for Prometheus.
pub const METRICS: &str = "/metrics";
/// The API as an OpenAPI document.
pub const OPENAPI: &str = "/openapi.json";
/// A short overview of the API.
pub const WELCOME: &str = "/";
