//! Every limit and default of the client, each with its reason. Their relations are asserted at the end.

use rawline_contract::subscription::CURSOR_BYTES_MAX;
use std::time::Duration;

/// Maximum time to open a connection: a broker that is up accepts within a round trip, even on the other side of the
/// world.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time of a request, in addition to the time that a read lets the broker wait: a commit to S3 takes a fraction
/// of it.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of idle connections: a process rarely has this many requests in flight.
pub(crate) const CONNECTIONS_IDLE_MAX: usize = 64;

/// How long connections beyond the maximum stay open for another request. If many tasks opened a connection for every
/// request, the system would soon run out of ports, because it keeps the port of a closed connection for a minute.
pub(crate) const CONNECTION_UNUSED_MAX: Duration = Duration::from_secs(1);

/// Maximum time to open a connection to the owner of a journal, or to a broker of the client's zone. If the network
/// drops packets to it, an append or a read waits this long, once in [`OWNER_UNREACHABLE_FOR`]. Afterwards another
/// broker forwards appends, and serves reads.
pub(crate) const OWNER_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Time without attempts to connect to the owner of a journal after one has failed: the address that it advertises to
/// other brokers may be unreachable from here.
pub(crate) const OWNER_UNREACHABLE_FOR: Duration = Duration::from_secs(30);

/// How long a request is without a response before the broker is asked whether it lives, in addition to the time that a
/// read lets it wait: a commit to S3 takes a fraction of it, so that the question is seldom asked.
pub(crate) const RESPONSE_PATIENCE: Duration = Duration::from_secs(2);

/// Maximum time of the question whether a broker lives. With the time before it, the 5 seconds after which the other
/// brokers take over from one that doesn't respond: until then they would still forward requests to it.
pub(crate) const QUESTION_WAIT: Duration = Duration::from_secs(3);

/// How often a broker is asked whether it lives.
pub(crate) const QUESTION_INTERVAL: Duration = Duration::from_secs(2);

/// How long other brokers are tried before one that didn't respond.
pub(crate) const SILENT_AVOIDED_FOR: Duration = OWNER_UNREACHABLE_FOR;

/// How often a subscription that is being opened follows the name of a broker in its zone: brokers that see different
/// ones could send it back and forth.
pub(crate) const NEARER_MOVES_MAX: u32 = 2;

/// Maximum number of owners of journals that a client has connections to.
pub(crate) const OWNERS_MAX: usize = 64;

/// Maximum number of topics whose owners a client knows, and of partitions that it reads in its zone: about a megabyte.
pub(crate) const OWNERS_TOPICS_MAX: usize = 10_000;

/// Maximum size of the response to a read in bytes: twice the broker's limit, so that a single batch beyond that limit
/// is still accepted.
pub(crate) const READ_RESPONSE_BYTES_MAX: u64 = 128 << 20;

/// Maximum size of a response without batches in bytes: a page of topics has up to 8 MB.
pub(crate) const TEXT_BYTES_MAX: u64 = 32 << 20;

/// Maximum size of the message of a rejected request in bytes.
pub(crate) const REFUSAL_BYTES_MAX: u64 = 64 << 10;

/// Maximum size of an append that shares a connection, its head included, in bytes: the broker's limit for appends that
/// it stores together.
pub(crate) const SHARED_REQUEST_BYTES_MAX: usize = (8 << 10) - 1;

/// Maximum number of requests in flight on a shared connection; the next one goes to another connection.
pub(crate) const SHARED_REQUESTS_MAX: usize = 64;

/// Maximum size of the requests in flight on a shared connection in bytes.
pub(crate) const SHARED_BYTES_MAX: usize = 64 << 10;

/// Number of appends of a producer that a partition remembers: it recognizes these when they are sent again.
pub(crate) const REMEMBERED_MAX: u64 = 5;

/// How long the first request may be in flight on a connection that another one joins. Responses arrive in order: when
/// one is slow, because a bucket stores it or the disk stalls, later requests are faster on another connection.
pub(crate) const SHARED_WAIT_MAX: Duration = Duration::from_millis(20);

/// How often a request whose connection closes before it is written is moved to another connection: a server that does
/// this every time is not a broker.
pub(crate) const MOVES_MAX: usize = 8;

/// Size of hyper's receive buffer in bytes: enough for the head of a response and a short body. Long bodies bypass it.
pub(crate) const HEAD_BYTES: usize = 16 << 10;

/// Size of the pieces in which a long body is received, in bytes: a piece's checksum is computed while it is in the
/// second-level cache.
pub(crate) const PIECE_BYTES: usize = 128 << 10;

/// Size of the records at which a producer completes a batch, in bytes: the cost of a request is then negligible.
pub(crate) const BATCH_BYTES: usize = 1 << 20;

/// Batches end on a multiple of this many bytes; see `docs/format.md`.
pub(crate) const ALIGNMENT: usize = 8;

/// Maximum number of records in a producer's batch: the broker's default limit.
pub(crate) const BATCH_RECORDS_MAX: u32 = 1 << 20;

/// The longest time that an incomplete batch waits for more records, unless the caller chooses: as many records as
/// arrive within it make the cost of a request negligible, and a person doesn't notice it.
pub(crate) const LINGER_MAX: Duration = Duration::from_millis(5);

/// Maximum size of the records that a producer holds, in bytes.
pub(crate) const BUFFER_BYTES: usize = 32 << 20;

/// Maximum size of a producer's request in bytes: about what a broker collects for one commit.
pub(crate) const REQUEST_BYTES_MAX: usize = 8 << 20;

/// Maximum number of partitions whose open batches keep their buffers when they are empty: with many partitions, these
/// would take more memory than the records.
pub(crate) const OPEN_BATCHES_KEPT_MAX: usize = 16;

/// Maximum number of a producer's requests in flight, to all partitions: each takes a connection.
pub(crate) const REQUESTS_IN_FLIGHT_MAX: usize = 64;

/// How long a producer relies on a number of partitions: topics get more of them seldom.
pub(crate) const PARTITIONS_READ_INTERVAL: Duration = Duration::from_secs(300);

/// Maximum number of a consumer's reads in flight: each takes a connection, and the broker serves about 900 that wait.
pub(crate) const READS_IN_FLIGHT_MAX: usize = 16;

/// Minimum size of one read of a consumer of several partitions, in bytes, unless the whole is smaller.
pub(crate) const PARTITION_READ_BYTES_MIN: u64 = 64 << 10;

/// How often a consumer that reads more partitions than it has reads in flight asks which of them have records.
pub(crate) const OFFSETS_READ_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum size of one read of a consumer in bytes. Two reads are held in memory.
pub(crate) const CONSUMER_READ_BYTES: u64 = 4 << 20;

/// How long a subscription hears nothing from the broker before it connects again: the broker says something every
/// 15 s.
pub(crate) const SUBSCRIPTION_SILENCE_MAX: Duration = Duration::from_secs(60);

/// Maximum size of a subscription's control message in bytes: twice that of a cursor.
pub(crate) const CONTROL_MESSAGE_BYTES_MAX: u64 = 2 * CURSOR_BYTES_MAX as u64;

/// How long a broker may say nothing to a subscription, in addition to [`RESPONSE_PATIENCE`], before it is asked
/// whether it lives: it says something every 15 s.
pub(crate) const SUBSCRIPTION_PATIENCE: Duration = Duration::from_secs(18);

/// Size of the buffer of a subscription's connection in bytes: many short messages are received at once.
pub(crate) const SUBSCRIPTION_READ_BYTES: usize = 64 << 10;

/// How often a member of a group commits the offsets of processed records: as many records are read again after a crash
/// as are read within it.
pub(crate) const COMMIT_INTERVAL: Duration = Duration::from_secs(5);

/// The longest time that a member of a group processes records before it is assumed to hang.
pub(crate) const POLL_INTERVAL_MAX: Duration = Duration::from_secs(300);

/// Heartbeats in the time after which a silent member of a group is gone: a few may get lost, and a member learns soon
/// that others have joined.
pub(crate) const SESSION_HEARTBEATS: u32 = 10;

/// The first wait before a retry.
pub(crate) const RETRY_WAIT_MIN: Duration = Duration::from_millis(50);

/// The longest wait before a retry.
pub(crate) const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);

/// How long a request is retried: by then, a restarted broker is back, and the retries of many clients have spread out.
pub(crate) const RETRY_FOR: Duration = Duration::from_secs(30);

const _: () = assert!(SUBSCRIPTION_READ_BYTES < PIECE_BYTES, "the rest of a long message is received into its buffer");
const _: () = assert!(
    RESPONSE_PATIENCE.as_millis() + QUESTION_WAIT.as_millis() < REQUEST_TIMEOUT.as_millis() / 2,
    "a request to a silent broker is retried at another one in time"
);
const _: () = assert!(SUBSCRIPTION_PATIENCE.as_millis() > 15_000, "the broker says something in between");
const _: () = assert!(
    SUBSCRIPTION_PATIENCE.as_millis() + QUESTION_WAIT.as_millis() < SUBSCRIPTION_SILENCE_MAX.as_millis(),
    "a subscription to a silent broker is retried at another one in time"
);
const _: () = assert!(HEAD_BYTES < PIECE_BYTES, "when a body leaves hyper, most of it is still to be received");
const _: () = assert!(SHARED_REQUEST_BYTES_MAX < SHARED_BYTES_MAX, "several requests share a connection");
const _: () = assert!(REFUSAL_BYTES_MAX < TEXT_BYTES_MAX, "an error's message is shorter than other texts");
const _: () = assert!(BATCH_BYTES <= BUFFER_BYTES / 4, "batches are gathered while others are in flight");
const _: () = assert!(REQUEST_BYTES_MAX <= BUFFER_BYTES / 2, "the next request is gathered while one is in flight");
const _: () = assert!(BATCH_BYTES + BATCH_RECORDS_MAX as usize * 4 < REQUEST_BYTES_MAX, "a full batch fits a request");
const _: () = assert!(CONSUMER_READ_BYTES <= READ_RESPONSE_BYTES_MAX / 4, "a read fits, with a compressed batch more");
const _: () = assert!(REQUESTS_IN_FLIGHT_MAX <= CONNECTIONS_IDLE_MAX, "their connections are used again");
const _: () = assert!(RETRY_WAIT_MIN.as_millis() * 2 <= RETRY_WAIT_MAX.as_millis(), "waits grow");
const _: () = assert!(RETRY_WAIT_MAX.as_millis() * 4 <= RETRY_FOR.as_millis(), "several attempts are made");
const _: () = assert!(CONNECT_TIMEOUT.as_millis() < REQUEST_TIMEOUT.as_millis(), "a slow connect is reported as such");
